//! Apache ORC: columns in stripes, with an index and statistics. <https://orc.apache.org/specification/ORCv1/>
//!
//! Opening reads the footer; the rows are decoded when they are looked at, only the columns that are asked
//! for. Damage hides the rows and columns that it is in: the others stay readable.

mod column;
mod rle;
mod schema;
mod statistics;
mod stream;
mod table;
mod tail;
mod time;

#[cfg(test)]
mod made;
#[cfg(test)]
mod tests;

use crate::bytes::error::Result;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Magic, Match};
use std::sync::Arc;
use table::OrcTable;

/// ORC files.
pub static FORMAT: Format = Format {
    extensions: &["orc"],
    magic: &[Magic::at(0, b"ORC")],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    ..Format::new("orc", "Apache ORC", open)
};

/// Three letters are little: the end must say it too.
fn sniff(head: &Head) -> Match {
    match head.starts_with(b"ORC") {
        true if head.has_extension(&["orc"]) => Match::Yes,
        // The last byte is the length of the postscript, which ends in the magic letters.
        true if head.last.get(..head.last.len().saturating_sub(1)).is_some_and(|b| b.ends_with(b"ORC")) => {
            Match::Yes
        }
        _ => Match::No,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let table = OrcTable::open(opening.task, opening.source)?;
    let mut node = Node::new(opening.source.name(), "file");
    let tail = &table.tail;
    let mut put = |name: &str, text: String| node.reader.push((name.to_owned(), text.into()));
    put("compression", tail.packing.codec.name().to_owned());
    let version: Vec<String> = tail.version.iter().map(u32::to_string).collect();
    put("format version", version.join("."));
    if tail.row_index_stride > 0 {
        put("row index stride", tail.row_index_stride.to_string());
    }
    let mut put = |name: &str, text: String| node.attributes.push((name.to_owned(), text.into()));
    let mut own: Vec<_> = tail.metadata.iter().collect();
    own.sort();
    for (name, value) in own {
        put(name, String::from_utf8(value.clone()).unwrap_or_else(|_| crate::data::cell::hex(value)));
    }
    node.remarks.clone_from(&table.remarks);
    Ok(node.content(Content::Table(Arc::new(table))))
}
