//! Pictures with what is said of them: a row an image — its file, its size, the objects on it with their boxes, outlines,
//! masks and key points — whatever format the annotations have.
//!
//! A format gives [`Annotated`]: its images by number. From that come an [`ImageTable`], whose column `objects` the gallery
//! draws over the pictures, and the tables of all objects and of the categories ([`objects_node`], [`categories_node`]),
//! which are made when somebody looks into them.
//!
//! [`folder`] finds the pictures of a folder.

pub mod folder;
mod object;
mod table;

pub use object::{Field as ObjectField, Object};
pub use table::{Annotated, Column, ImageRow, ImageTable, categories_node, objects_node};

/// Endings of the files of pictures.
pub const PICTURES: &[&str] = &[
    "jpg", "jpeg", "png", "bmp", "gif", "webp", "tif", "tiff", "ppm", "pgm", "pbm", "pnm", "jpe", "jfif",
    "qoi", "ico", "tga", "exr", "hdr", "avif", "jp2",
];

/// Whether a name is that of a picture.
pub fn is_picture(name: &str) -> bool {
    crate::data::sniff::has_extension(name, PICTURES)
}
