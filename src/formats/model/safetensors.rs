//! (being written)

use crate::error::{Error, Result};
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::sniff::{Head, Match};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["safetensors"],
    sniff: Some(sniff),
    ..Format::new("safetensors", "safetensors", open)
};
/// The descriptor.
pub static SHARDED: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    ..Format::new("safetensors_sharded", "Sharded safetensors model", open)
};

fn sniff(_head: &Head) -> Match {
    Match::No
}

fn open(_opening: &Opening) -> Result<Node> {
    Err(Error::bug("being written"))
}
