//! Gander's library.

pub mod adapt;
pub mod cell;
pub mod container;
pub mod content;
pub mod convert;
pub mod display;
pub mod dtype;
pub mod error;
pub mod format;
pub mod formats;
pub mod jobs;
pub mod limits;
pub mod node;
pub mod open;
pub mod output;
pub mod region;
pub mod sniff;
pub mod source;
pub mod stats;
pub mod stream;
pub mod task;
pub mod write;

pub use error::{Error, ErrorKind, Result};
pub use open::{Document, open};
pub use source::Source;
pub use task::Task;
