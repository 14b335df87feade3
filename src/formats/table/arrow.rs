//! (being written)

use crate::error::{Error, Result};
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::sniff::{Head, Match};

/// The descriptor.
pub static FORMAT: Format =
    Format { extensions: &["arrow"], sniff: Some(sniff), ..Format::new("arrow", "Arrow IPC", open) };
/// The descriptor.
pub static FEATHER: Format =
    Format { extensions: &["feather"], sniff: Some(sniff), ..Format::new("feather", "Feather V1", open) };

fn sniff(_head: &Head) -> Match {
    Match::No
}

fn open(_opening: &Opening) -> Result<Node> {
    Err(Error::bug("being written"))
}
