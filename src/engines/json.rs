//! JSON as bytes (<https://www.rfc-editor.org/rfc/rfc8259>): neutral ground between JSON documents, JSON Lines and
//! other formats that hold JSON.
//!
//! A document of any size is never parsed as a whole. [`stage`] finds strings and brackets 64 bytes at a time;
//! [`index`] makes of them a sparse index (checkpoints in containers that are large, nothing for the rest) that
//! grows as far as somebody asks, on all cores; [`walk`] lists the children of a container from a checkpoint on; [`check`]
//! goes over everything and says what is wrong and where; [`text`] makes values of texts; [`elements`],
//! [`record`] and [`shape`] make rows and columns of objects.
//!
//! What common writers add to the grammar is read and remarked upon: comments, commas before a closing
//! bracket, `NaN` and `Infinity`.

mod build;
pub mod check;
pub(crate) mod column_text;
pub mod elements;
pub mod index;
pub mod late_fields;
pub mod record;
pub mod shape;
pub mod stage;
pub mod value_text;
pub mod walk;
mod window;
pub mod write;

pub use index::{Document, Place};
pub use walk::{Child, Kind, Walk};
