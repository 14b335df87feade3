//! TFRecord: the records of TensorFlow's data sets, one after the other, each with two checksums; as a rule
//! `tf.train.Example` messages.
//! <https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>. The framing is
//! [`tfrecord`](crate::engines::records::tfrecord), messages become columns in [`examples`](crate::engines::examples).
//!
//! A file is recognised by its first record's length and the checksum of that, whatever its name: shards are called
//! `train-00000-of-00128`. Compression (GZIP, ZLIB) is around all of the file. Nothing says what the records are:
//! - `Example` and `SequenceExample` are a table of their features, found from a sample of the records: the first ones and
//!   others from all over the file;
//! - messages of a type that the user names, of a `.proto` file or a descriptor set, a table of its fields;
//! - all else is a table of payloads, and each record is what its bytes are: a tensor, a picture, the fields of a message.

mod features;
mod sample;
mod set;
mod write;

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Growth;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening, OptionSpec, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::examples::{ExampleColumns, Hints, Message, REST};
use crate::engines::protobuf::Part;
use crate::engines::protobuf::schema::{MessageColumns, Schema};
use crate::engines::protobuf::tree;
use crate::engines::records::container::{
    self, Container, Framed, PayloadKind, PlainColumns, Record, RecordTable,
};
use crate::engines::records::tfrecord::{TfRecords, length};
use crate::engines::tfevents;
use crate::formats::ALL;
use bytes::Bytes;
use std::sync::Arc;

pub use set::SET;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &["tfrecord", "tfrecords", "tfrec"],
    sniff: Some(sniff),
    may_be_empty: true,
    reads: &[Kind::Table, Kind::Array, Kind::Image, Kind::Text, Kind::Bytes],
    options: &[COLUMNS, SCHEMA, MESSAGE],
    targets: &[Target::new("tfrecord", "TFRecord", &["tfrecord", "tfrecords"], &write::WRITER)],
    ..Format::new("tfrecord", "TFRecord", open)
};

const COLUMNS: OptionSpec =
    OptionSpec::new("columns", "the features of examples are those of a sample of the records, or of all")
        .one_of("sample", &["sample", "all"]);
const SCHEMA: OptionSpec = OptionSpec::new(
    "proto",
    "a .proto file or a descriptor set (.desc, .pb) beside the file that has the type of the records",
);
const MESSAGE: OptionSpec = OptionSpec::new(
    "message",
    "the full name of the type of the records; that of the only message otherwise",
);

/// Records that are looked for when a file is opened.
const EAGER: u64 = 256;

/// The length of a record and its checksum: the first of the file is one, or the name says so. Event files, which have
/// the same framing, are asked before.
fn sniff(head: &Head) -> Match {
    match length(&head.first) {
        _ if head.is_folder => Match::No,
        Some(_) => Match::Yes,
        None => Match::Maybe,
    }
}

/// What the payloads of a file are.
enum Payloads {
    /// `Example` or `SequenceExample`.
    Examples,
    /// Of a type that the user named.
    Typed(Arc<Schema>),
    /// Anything.
    Unknown,
}

/// The records of a file.
type Records = Framed<TfRecords, Payloads>;

impl PayloadKind for Payloads {
    fn node(
        &self,
        task: &Task,
        container: &dyn Container,
        record: &Record,
        payload: &Bytes,
    ) -> Result<Option<Node>> {
        if payload.is_empty() {
            return Ok(None);
        }
        let (source, name) = (container.source(), container.name(record));
        let part = Part::new(payload, record.span.start);
        match self {
            Payloads::Examples => {
                crate::engines::examples::record_node(task, ALL, &name, source, part).map(Some)
            }
            Payloads::Typed(schema) => schema.node(ALL, &name, source, part).map(Some),
            Payloads::Unknown => unknown(task, &name, container, record, part),
        }
    }
}

/// A record of which nothing is known: what its bytes are by the one door, a tensor, or the fields of a message.
fn unknown(
    task: &Task,
    name: &str,
    container: &dyn Container,
    record: &Record,
    part: Part,
) -> Result<Option<Node>> {
    let source = container.source();
    if let Some(node) = tfevents::tensor_record(name, source, part) {
        return Ok(Some(node));
    }
    let node = container::payload(container, task, record)?.open(task, ALL, name.to_owned())?;
    // What no format knows for sure.
    let is_loose = node.formats.last().is_none_or(|format| format.takes_any);
    let is_text = matches!(node.content, Some(Content::Text(_)));
    match is_loose && !is_text && tree::is_message(part.bytes()) {
        true => tree::message(task, ALL, name, "message", source, record.span.clone()).map(Some),
        false => Ok(Some(node)),
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let records = Arc::new(Records::of_a_kind(source.clone(), ALL, TfRecords, 0));
    records.extend(task, EAGER, EAGER as usize)?;
    let none = records.rows().known() == 0;
    if let (true, Some(problem)) = (none, records.problems().first()) {
        // Nothing but its name said so.
        let is_text = length(&opening.head.first).is_none() && opening.head.is_text();
        return Err(if is_text { Error::other_format("") } else { problem });
    }
    let node = Node::new(source.name(), "file");
    let node = match opening.options.get(SCHEMA.name) {
        Some(path) => typed(opening, &records, node, path)?,
        None => untyped(opening, &records, node)?,
    };
    Ok(container::node(node, &records))
}

/// Records of a type that the user named.
fn typed(opening: &Opening, records: &Arc<Records>, node: Node, path: &str) -> Result<Node> {
    let schema = Schema::open(opening.task, opening.source, path, opening.options.get(MESSAGE.name))?;
    let schema = Arc::new(schema);
    let node = node.read_as("records", schema.message_name());
    let columns = MessageColumns::new(schema.clone(), records.problems().clone());
    records.set_kind(Payloads::Typed(schema));
    Ok(node.content(Content::Table(Arc::new(RecordTable::new(records.clone(), columns)))))
}

/// Records that say themselves what they are.
fn untyped(opening: &Opening, records: &Arc<Records>, mut node: Node) -> Result<Node> {
    let all = opening.options.choice(&COLUMNS)? == "all";
    let (survey, complete) = sample::survey(opening.task, records, all)?;
    let table: Arc<dyn Table> = match survey.message() {
        None => {
            records.set_kind(Payloads::Unknown);
            Arc::new(RecordTable::new(records.clone(), PlainColumns::new(false)))
        }
        Some(message) => {
            records.set_kind(Payloads::Examples);
            let word = match message {
                Message::Example => "tf.train.Example",
                Message::Sequence => "tf.train.SequenceExample",
            };
            node = node.read_as("records", word);
            let columns =
                ExampleColumns::new(&survey, complete, &Hints::default(), records.problems().clone());
            if columns.has_rest() {
                let count = crate::bytes::display::plural(survey.records, "record");
                node = node.remark(format!(
                    "the columns are those of a sample of {count}; what does not fit them stands in the column {REST}"
                ));
            }
            Arc::new(RecordTable::new(records.clone(), columns))
        }
    };
    Ok(node.content(Content::Table(table)))
}
