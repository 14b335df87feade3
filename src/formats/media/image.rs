//! (being written)

use crate::error::{Error, Result};
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::sniff::{Head, Match};

/// The descriptor.
pub static PNG: Format =
    Format { extensions: &["png"], sniff: Some(sniff), ..Format::new("png", "PNG", open) };
/// The descriptor.
pub static JPEG: Format =
    Format { extensions: &["jpeg"], sniff: Some(sniff), ..Format::new("jpeg", "JPEG", open) };
/// The descriptor.
pub static WEBP: Format =
    Format { extensions: &["webp"], sniff: Some(sniff), ..Format::new("webp", "WEBP", open) };
/// The descriptor.
pub static GIF: Format =
    Format { extensions: &["gif"], sniff: Some(sniff), ..Format::new("gif", "GIF", open) };
/// The descriptor.
pub static BMP: Format =
    Format { extensions: &["bmp"], sniff: Some(sniff), ..Format::new("bmp", "BMP", open) };
/// The descriptor.
pub static TIFF: Format =
    Format { extensions: &["tiff"], sniff: Some(sniff), ..Format::new("tiff", "TIFF", open) };
/// The descriptor.
pub static PNM: Format =
    Format { extensions: &["ppm"], sniff: Some(sniff), ..Format::new("ppm", "PNM", open) };
/// The descriptor.
pub static QOI: Format =
    Format { extensions: &["qoi"], sniff: Some(sniff), ..Format::new("qoi", "QOI", open) };
/// The descriptor.
pub static HDR: Format =
    Format { extensions: &["hdr"], sniff: Some(sniff), ..Format::new("hdr", "HDR", open) };
/// The descriptor.
pub static EXR: Format =
    Format { extensions: &["exr"], sniff: Some(sniff), ..Format::new("exr", "EXR", open) };
/// The descriptor.
pub static ICO: Format =
    Format { extensions: &["ico"], sniff: Some(sniff), ..Format::new("ico", "ICO", open) };
/// The descriptor.
pub static TGA: Format =
    Format { extensions: &["tga"], sniff: Some(sniff), ..Format::new("tga", "TGA", open) };

fn sniff(_head: &Head) -> Match {
    Match::No
}

fn open(_opening: &Opening) -> Result<Node> {
    Err(Error::bug("being written"))
}
