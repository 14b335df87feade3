//! (being written)

use crate::error::{Error, Result};
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::sniff::{Head, Match};

/// The descriptor.
pub static FORMAT: Format =
    Format { extensions: &[], sniff: Some(sniff), ..Format::new("folder", "Folder", open) };

fn sniff(_head: &Head) -> Match {
    Match::No
}

fn open(_opening: &Opening) -> Result<Node> {
    Err(Error::bug("being written"))
}
