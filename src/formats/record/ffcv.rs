//! FFCV's beton: a training set in one file, made to be read at random. A head, the fields, a row for each sample — numbers
//! themselves, of all else a place in the file — pages of data, and a table that says how long each piece of data is.
//! <https://docs.ffcv.io/>; the layout is that of `types.py`, `writer.py` and `fields` in <https://github.com/libffcv/ffcv>.

mod header;
mod samples;
#[cfg(test)]
mod tests;
mod write;

use crate::bytes::error::Result;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Children, Node};
use crate::data::sniff::{Head, Match};
use header::Header;
use samples::{Below, Beton, SampleTable, Statistics};
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["beton"],
    sniff: Some(sniff),
    targets: &[Target::new("ffcv", "FFCV beton", &["beton"], &write::WRITER)],
    reads: &[Kind::Table, Kind::Image, Kind::Array, Kind::Bytes],
    ..Format::new("ffcv", "FFCV beton", open)
};

fn sniff(head: &Head) -> Match {
    if head.is_folder {
        return Match::No;
    }
    match header::looks(&head.first, head.len) {
        (_, true) => Match::Yes,
        (true, _) if head.has_extension(FORMAT.extensions) => Match::Yes,
        _ => Match::No,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let header = Header::read(task, source)?;
    let len = source.len(task)?;
    let mut node = Node::new(source.name(), "beton").read_as("page size", header.page.to_string());
    node.length = Some(header.rows);
    node.problem = header.problem(len);
    let beton = Arc::new(Beton::new(source.clone(), header, len));
    let findings = beton.problems.clone();
    let node =
        node.lazy(Below(beton.clone())).parts().statistics(Statistics(beton.clone())).findings(findings);
    let is_empty = beton.header.rows == 0;
    let mut node = node.content(Content::Table(Arc::new(SampleTable(beton))));
    if is_empty {
        node.children = Children::None;
    }
    Ok(node)
}
