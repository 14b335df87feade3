//! Containers of records: what TFRecord, RecordIO, LMDB, FFCV, streams of MessagePack and WebDataset have in common.
//!
//! A [`Container`] finds its records by number, without reading them, and reads their payloads. From that come
//! - a [`RecordList`]: the records as children of a node, each opened when somebody looks into it, as what it is;
//! - [`Payloads`]: the statistics of kind `records`, over the bytes of all payloads;
//! - a [`RecordTable`]: a table whose columns [`Columns`] make out of payloads; [`PlainColumns`] where records have no
//!   fields in common: number, key, length and payload;
//! - [`Problems`]: the records that cannot be read, each named once.
//!
//! [`Framed`] is the container of records in frames that an [`Index`](super::Index) finds; others implement the trait.
//! [`node`] puts all of it together.

mod framed;
mod list;
mod problems;
mod statistics;
mod table;

pub use framed::{Framed, PayloadKind, RecordFraming};
pub use list::RecordList;
pub use problems::{FileProblems, Problems};
pub use statistics::Payloads;
pub use table::{Builder, Columns, PlainColumns, RecordTable};

use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Rows};
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// The longest payload, in bytes, that is looked at as a whole before it is opened, where its container has a checksum
/// of it.
const CHECKED: u64 = 64 << 20;

/// A record: which, and where its payload lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number in the container, from 0 on.
    pub number: u64,
    /// Its key, where the container has keys.
    pub key: Option<Bytes>,
    /// Where its payload lies in the container's bytes: from its first byte to its last one.
    pub span: Range<u64>,
    /// Bytes of its payload; fewer than the span has, where other bytes stand in between.
    pub len: u64,
}

impl Record {
    /// Whether its payload lies in one piece.
    pub fn is_whole(&self) -> bool {
        self.span.end.checked_sub(self.span.start) == Some(self.len)
    }
}

/// What is done with a record and its payload, or why that cannot be read.
pub type Each<'a> = dyn FnMut(&Record, Result<&[u8]>) -> Result<()> + 'a;

/// Records by number.
pub trait Container: Send + Sync + 'static {
    /// The bytes that the spans of records are places in.
    fn source(&self) -> &Source;

    /// Those that payloads are opened with.
    fn formats(&self) -> Formats;

    /// How many records there are, as far as that is known now. Waits for nobody.
    fn rows(&self) -> Rows;

    /// Counts the records, with progress.
    ///
    /// # Errors
    /// `Cancelled`, after which another call goes on; failures to read. Broken records are no errors.
    fn measure(&self, task: &Task) -> Result<u64>;

    /// The records `range`, cut to what is there, in order. Finds them where they are not known yet; reads no payloads.
    ///
    /// # Errors
    /// As [`measure`](Container::measure).
    fn records(&self, task: &Task, range: Range<u64>) -> Result<Vec<Record>>;

    /// Gives `each` the payloads of records, in their order, or why one of them cannot be read: its checksum is wrong.
    ///
    /// # Errors
    /// `Cancelled`; those of `each`.
    fn read(&self, task: &Task, records: &[Record], each: &mut Each<'_>) -> Result<()>;

    /// About how many bytes a record has.
    fn average(&self) -> u64;

    /// Those that cannot be read, as far as they were found.
    fn problems(&self) -> &Arc<Problems>;

    /// Whether records have keys.
    fn has_keys(&self) -> bool {
        false
    }

    /// The name of a record among the children: its key as text, or its number.
    fn name(&self, record: &Record) -> String {
        record.key.as_deref().map_or_else(|| record.number.to_string(), key_text)
    }

    /// The record of this name. The default takes it for a number: containers with keys look for them.
    ///
    /// # Errors
    /// As [`measure`](Container::measure).
    fn find(&self, task: &Task, name: &str) -> Result<Option<Record>> {
        let is_plain = name == "0" || !name.starts_with(['0', '+']);
        let Some(number) = name.parse::<u64>().ok().filter(|_| is_plain) else { return Ok(None) };
        Ok(self.records(task, number..number.saturating_add(1))?.pop())
    }

    /// A record as a node: what its payload is, by the one door. Containers whose payloads are messages of a known kind
    /// show their fields instead.
    ///
    /// # Errors
    /// `Cancelled`; failures to read.
    fn node(&self, task: &Task, record: &Record) -> Result<Node> {
        let payload = payload(self, task, record)?;
        payload.open(task, self.formats(), self.name(record))
    }
}

/// Whether so few records of a sample are something else than the others that these are what the file has, and those are
/// broken.
pub fn is_few(strangers: u64, records: u64) -> bool {
    strangers.saturating_mul(10) <= records.saturating_add(9) && strangers.saturating_mul(2) < records
}

/// A key as text: as it is where all of it can be printed, else in hexadecimal.
pub fn key_text(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !key.is_empty() && !text.chars().any(char::is_control) => text.to_owned(),
        // Whole, since it is a name.
        _ => key.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
    }
}

/// The payload of a record as a source of its own.
pub struct Payload {
    /// Its bytes; a slice of the container's, where they lie in one piece.
    pub source: Option<Source>,
    /// What is wrong with them.
    pub problem: Option<Error>,
}

/// The payload of a record as a source of its own, named as the record is.
///
/// # Errors
/// `Cancelled`; nested too deep.
pub fn payload<C: Container + ?Sized>(container: &C, task: &Task, record: &Record) -> Result<Payload> {
    let name = container.name(record);
    let (mut bytes, mut problem) = (None, None);
    let whole = record.is_whole();
    if !whole || record.len <= CHECKED {
        let read = container.read(task, std::slice::from_ref(record), &mut |_, payload| {
            match payload.unless_cancelled()? {
                Ok(payload) if !whole => bytes = Some(Bytes::copy_from_slice(payload)),
                Ok(_) => {}
                Err(error) => problem = Some(error),
            }
            Ok(())
        });
        problem = problem.or(read.unless_cancelled()?.err());
    }
    let source = match bytes {
        Some(bytes) => Some(container.source().inflated(name, bytes)?),
        None if whole => match container.source().member(name, record.span.clone()) {
            Ok(source) => Some(source),
            Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
            Err(error) => {
                problem.get_or_insert(error);
                None
            }
        },
        None => None,
    };
    Ok(Payload { source, problem })
}

impl Payload {
    /// What it is, opened by the one door.
    ///
    /// # Errors
    /// `Cancelled`; failures to read.
    pub fn open(self, task: &Task, formats: Formats, name: String) -> Result<Node> {
        let mut node = match &self.source {
            // Nothing is no file of any format.
            Some(source) if source.known_len() == Some(0) => {
                Node::new(name, "record").content(Content::Bytes(source.clone()))
            }
            // What is broken is not taken for anything.
            Some(source) if self.problem.is_some() => {
                Node::new(name, "record").content(Content::Bytes(source.clone()))
            }
            Some(source) => formats.nested_now(task, &name, "record", source, &Options::default())?,
            None => Node::new(name, "record"),
        };
        if let Some(problem) = self.problem {
            node.problem = Some(problem);
        }
        Ok(node)
    }
}

/// Where the payload of a record begins, and in what: in the container's bytes where it lies in one piece, so that its
/// parts are slices of these; else in those that were put together, named as the record is.
///
/// # Errors
/// Nested too deep.
pub fn located(container: &dyn Container, record: &Record, payload: &Bytes) -> Result<(Source, u64)> {
    Ok(match record.is_whole() {
        true => (container.source().clone(), record.span.start),
        false => (container.source().inflated(container.name(record), payload.clone())?, 0),
    })
}

/// With the records of a container as children, its statistics and what is wrong with it.
pub fn node(node: Node, container: &Arc<impl Container>) -> Node {
    node.lazy(RecordList(container.clone()))
        .parts()
        .statistics(Payloads(container.clone()))
        .findings(container.problems().clone())
}

#[cfg(test)]
mod tests;
