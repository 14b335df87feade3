//! RecordIO files: the records of MXNet's data sets, as a rule pictures with an `IRHeader` of labels before them, and of
//! Amazon SageMaker's, which are messages of Protocol Buffers.
//! <https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/mxnet/recordio/index.html>,
//! <https://docs.aws.amazon.com/sagemaker/latest/dg/cdf-training.html>. The framing is
//! [`recordio`](crate::engines::records::recordio).
//!
//! A sample of the records tells which of these they are, or neither. `NAME.idx` beside `NAME.rec` says the key and the
//! place of each record, `NAME.lst` the file that each was made of; both are texts.

mod image;
mod sagemaker;
mod sidecar;
#[cfg(test)]
mod tests;
mod write;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Growth;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Rows, Table};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::protobuf::Part;
use crate::engines::records::container::{
    self, Container, Framed, PayloadKind, PlainColumns, Record, RecordTable,
};
use crate::engines::records::recordio::{self, RecordIo};
use crate::formats::ALL;
use bytes::Bytes;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &["rec", "recordio"],
    sniff: Some(sniff),
    targets: &[Target::new("recordio", "RecordIO", &["rec"], &write::WRITER)],
    may_be_empty: true,
    reads: &[Kind::Table, Kind::Image, Kind::Bytes],
    ..Format::new("recordio", "RecordIO", open)
};

/// Records that are looked for when a file is opened.
const EAGER: u64 = 256;
/// Bytes of them that are looked at, and the fewest of them.
const LOOKED: u64 = 256 << 10;
const FEWEST: usize = 4;

/// The number that stands before each record, or the name.
fn sniff(head: &Head) -> Match {
    match recordio::begins(&head.first) {
        _ if head.is_folder => Match::No,
        true => Match::Yes,
        // Whatever follows the number, or does not.
        false if head.first.starts_with(&recordio::MAGIC) && head.has_extension(FORMAT.extensions) => {
            Match::Yes
        }
        false => Match::Maybe,
    }
}

/// What the payloads of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payloads {
    /// An `IRHeader` and a payload of its own.
    Images,
    /// SageMaker's messages.
    Messages,
}

impl PayloadKind for Payloads {
    fn node(
        &self,
        _task: &Task,
        container: &dyn Container,
        record: &Record,
        payload: &Bytes,
    ) -> Result<Option<Node>> {
        let (source, start) = container::located(container, record, payload)?;
        let (name, part) = (container.name(record), Part::new(payload, start));
        match self {
            Payloads::Images => image::node(ALL, &name, &source, part).map(Some),
            Payloads::Messages => sagemaker::node(ALL, &name, &source, part).map(Some),
        }
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let records = Arc::new(Framed::of_a_kind(source.clone(), ALL, RecordIo, 0));
    records.extend(task, EAGER, EAGER as usize)?;
    let none = records.rows().known() == 0;
    if let (true, Some(problem)) = (none, records.problems().first()) {
        // Nothing but its name said so.
        let is_text = !opening.head.starts_with(&recordio::MAGIC) && opening.head.is_text();
        return Err(if is_text { Error::other_format("") } else { problem });
    }
    let first = looked_at(task, &records)?;
    let complete = matches!(records.rows(), Rows::Exact(count) if count == first.len() as u64);
    let side = sidecar::Sidecars::read(task, source, records.problems())?;
    let problems = records.problems().clone();
    let (kind, table): (_, Arc<dyn Table>) = if let Some(shape) = image::Shape::of(&first) {
        let columns = image::ImageColumns::new(shape, side, problems);
        let kind = (Payloads::Images, "IRHeader and payload");
        (Some(kind), Arc::new(RecordTable::new(records.clone(), columns)))
    } else if let Some(columns) = sagemaker::MessageColumns::of(&first, complete, problems) {
        let kind = (Payloads::Messages, "SageMaker's Record");
        (Some(kind), Arc::new(RecordTable::new(records.clone(), columns)))
    } else {
        (None, Arc::new(RecordTable::new(records.clone(), PlainColumns::new(false))))
    };
    let mut node = Node::new(source.name(), "file").content(Content::Table(table));
    if let Some((kind, word)) = kind {
        records.set_kind(kind);
        node = node.read_as("records", word);
    }
    Ok(container::node(node, &records))
}

/// The first records, for a look at what they are.
fn looked_at(task: &Task, records: &Framed<RecordIo, Payloads>) -> Result<Vec<Bytes>> {
    let found = records.records(task, 0..records.rows().known().min(EAGER))?;
    let (mut bytes, mut taken) = (0, 0);
    for record in &found {
        if taken >= FEWEST && bytes > LOOKED {
            break;
        }
        (bytes, taken) = (bytes + record.len, taken + 1);
    }
    let mut first = Vec::new();
    records.read(task, found.get(..taken).unwrap_or_default(), &mut |_, payload| {
        first.extend(payload.ok().map(Bytes::copy_from_slice));
        Ok(())
    })?;
    Ok(first)
}
