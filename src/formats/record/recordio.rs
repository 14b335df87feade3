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

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Rows, Table};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::protobuf::Part;
use crate::engines::records::container::{
    self, Container, Framed, PlainColumns, Record, RecordFraming, RecordTable,
};
use crate::engines::records::recordio::{self, RecordIo};
use crate::engines::records::{Frame, Framing, Window};
use crate::formats::ALL;
use bytes::Bytes;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The descriptor.
pub static FORMAT: Format = Format {
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

/// What the records of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    /// An `IRHeader` and a payload.
    Images,
    /// SageMaker's messages.
    Messages,
    /// Anything.
    Unknown,
}

/// The framing, with what is known of the records.
pub(super) struct Frames {
    of: OnceLock<Records>,
}

impl Framing for Frames {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        RecordIo.frame(window, at)
    }

    fn resume(&self, window: &mut Window, at: u64) -> Result<Option<u64>> {
        RecordIo.resume(window, at)
    }
}

impl RecordFraming for Frames {
    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]> {
        RecordIo.payload(window, frame, scratch)
    }

    fn len(&self, window: &mut Window<'_>, frame: &Range<u64>) -> Result<u64> {
        RecordIo.len(window, frame)
    }

    fn node(&self, task: &Task, container: &Framed<Self>, record: &Record) -> Result<Option<Node>> {
        let of = self.of.get().copied().unwrap_or(Records::Unknown);
        if of == Records::Unknown {
            return Ok(None);
        }
        let mut payload = Bytes::new();
        container.read(task, std::slice::from_ref(record), &mut |_, read| {
            payload = read.map(Bytes::copy_from_slice).unwrap_or_default();
            Ok(())
        })?;
        let name = container.name(record);
        // Of a record in one piece, parts are slices of the file.
        let (source, start) = match record.is_whole() {
            true => (container.source().clone(), record.span.start),
            false => (container.source().inflated(name.as_str(), payload.clone())?, 0),
        };
        let part = Part::new(&payload, start);
        let made = match of {
            Records::Images => image::node(ALL, &name, &source, part),
            _ => sagemaker::node(ALL, &name, &source, part),
        };
        match made.unless_cancelled()? {
            Ok(node) => Ok(Some(node)),
            Err(problem) => {
                let payload = container::payload(container, task, record)?;
                Ok(Some(payload.open(task, ALL, name)?.problem(problem)))
            }
        }
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let frames = Frames { of: OnceLock::new() };
    let records = Arc::new(Framed::new(source.clone(), ALL, frames, 0));
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
    let (of, table): (Records, Arc<dyn Table>) = if let Some(shape) = image::Shape::of(&first) {
        let columns = image::ImageColumns::new(shape, side, problems);
        (Records::Images, Arc::new(RecordTable::new(records.clone(), columns)))
    } else if let Some(columns) = sagemaker::MessageColumns::of(&first, complete, problems) {
        (Records::Messages, Arc::new(RecordTable::new(records.clone(), columns)))
    } else {
        (Records::Unknown, Arc::new(RecordTable::new(records.clone(), PlainColumns::new(false))))
    };
    let _ = records.framing.of.set(of);
    let word = match of {
        Records::Images => Some("IRHeader and payload"),
        Records::Messages => Some("SageMaker's Record"),
        Records::Unknown => None,
    };
    let mut node = Node::new(source.name(), "file").content(Content::Table(table));
    if let Some(word) = word {
        node = node.read_as("records", word);
    }
    Ok(container::node(node, &records))
}

/// The first records, for a look at what they are.
fn looked_at(task: &Task, records: &Framed<Frames>) -> Result<Vec<Bytes>> {
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
