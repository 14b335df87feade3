//! Bytes: what opens anything, as a hex dump.

pub mod write;

use crate::bytes::error::Result;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};

/// The descriptor. Last in the list.
pub static FORMAT: Format = Format {
    extensions: &["bin"],
    mime: &["application/octet-stream"],
    sniff: Some(sniff),
    takes_any: true,
    reads: &[Kind::Bytes],
    targets: &[Target::new("raw", "Raw bytes", &["bin", "raw", "dat"], &write::WRITER)],
    ..Format::new("bytes", "Bytes", open)
};

fn sniff(head: &Head) -> Match {
    if head.is_folder { Match::No } else { Match::Maybe }
}

fn open(opening: &Opening) -> Result<Node> {
    Ok(Node::new(opening.source.name(), "file").content(Content::Bytes(opening.source.clone())))
}
