//! Records with an `IRHeader`: `flag` (how many labels follow; none: the label is in the header), `label`, `id`, `id2`,
//! then the labels, then the payload.
//! <https://github.com/apache/mxnet/blob/v1.x/src/io/image_recordio.h>
//!
//! Labels of detection say themselves how long they are: the first number is the width of what stands before the objects,
//! the second the width of an object, which is its class and its box (left, top, right, bottom, as shares of the picture),
//! and perhaps more.

use super::sidecar::Sidecars;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Content;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use crate::engines::protobuf::Part;
use crate::engines::records::container::{Builder, Columns, Problems, Record, is_few};
use crate::engines::records::recordio::HEAD;
use arrow::array::{
    ArrayRef, BinaryBuilder, Float32Builder, ListBuilder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use std::sync::Arc;

/// Bytes of the header.
const HEADER: usize = 24;
/// Numbers that ids are not beyond: what has larger ones is something else.
const IDS: u64 = 1 << 48;
/// The most labels of a record.
const LABELS: u32 = 1 << 20;

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Header<'a> {
    flag: u32,
    label: f32,
    id: u64,
    id2: u64,
    /// The labels behind the header.
    labels: &'a [[u8; 4]],
    payload: &'a [u8],
}

impl<'a> Header<'a> {
    fn parse(record: &'a [u8]) -> Result<Header<'a>> {
        let short = || Error::malformed("RecordIO: a record is shorter than its header says");
        let (head, rest) = record.split_at_checked(HEADER).ok_or_else(short)?;
        let flag: u32 = le(head, 0).ok_or_else(short)?;
        let size = usize::try_from(u64::from(flag) * 4).map_err(|_| short())?;
        let (labels, payload) = rest.split_at_checked(size).ok_or_else(short)?;
        Ok(Header {
            flag,
            label: le(head, 4).ok_or_else(short)?,
            id: le(head, 8).ok_or_else(short)?,
            id2: le(head, 16).ok_or_else(short)?,
            labels: labels.as_chunks().0,
            payload,
        })
    }

    fn labels(&self) -> impl ExactSizeIterator<Item = f32> + '_ {
        self.labels.iter().map(|bytes| f32::from_le_bytes(*bytes))
    }

    /// Whether it looks like one: numbers that people use.
    fn is_plausible(&self) -> bool {
        let fits = |label: f32| label.is_finite() && (label == 0.0 || (1e-9..1e12).contains(&label.abs()));
        self.flag <= LABELS && self.id < IDS && self.id2 < IDS && fits(self.label) && self.labels().all(fits)
    }

    /// Where the objects of a label of detection begin, and how many numbers each has.
    fn objects(&self) -> Option<(usize, usize)> {
        let whole = |at: usize| {
            let value = f32::from_le_bytes(*self.labels.get(at)?);
            (value.fract() == 0.0 && (0.0..1e4).contains(&value)).then_some(value as usize)
        };
        let (start, width) = (whole(0)?, whole(1)?);
        let rest = self.labels.len().checked_sub(start)?;
        (start >= 2 && width >= 5 && rest.is_multiple_of(width)).then_some((start, width))
    }
}

/// What the headers of a sample of records have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whether some have labels behind the header.
    many: bool,
    /// Whether those are of detection.
    objects: bool,
}

impl Shape {
    /// Of records that have headers, all but few of them; `None` where they have none.
    pub(super) fn of(records: &[Bytes]) -> Option<Shape> {
        let mut shape = Shape { many: false, objects: true };
        let mut strangers = 0;
        for record in records {
            let Some(header) = Header::parse(record).ok().filter(Header::is_plausible) else {
                strangers += 1;
                continue;
            };
            shape.many |= header.flag > 0;
            shape.objects &= header.objects().is_some();
        }
        is_few(strangers, records.len() as u64).then_some(shape)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Key,
    Flag,
    Label,
    Labels,
    Classes,
    Boxes,
    Id,
    Id2,
    File,
    Payload,
}

/// Headers and payloads as columns.
pub(super) struct ImageColumns {
    schema: SchemaRef,
    of: Vec<Column>,
    side: Sidecars,
    problems: Arc<Problems>,
}

impl ImageColumns {
    pub(super) fn new(shape: Shape, side: Sidecars, problems: Arc<Problems>) -> Self {
        let list = |inner: DataType| DataType::new_list(inner, true);
        let numbers = || list(DataType::Float32);
        let all = [
            (side.keys.is_some(), Column::Key, "key", DataType::Utf8),
            (true, Column::Flag, "flag", DataType::UInt32),
            (!shape.many, Column::Label, "label", DataType::Float32),
            (shape.many, Column::Labels, "label", numbers()),
            (shape.objects, Column::Classes, "objects.class", numbers()),
            (shape.objects, Column::Boxes, "objects.bbox", list(numbers())),
            (true, Column::Id, "id", DataType::UInt64),
            (true, Column::Id2, "id2", DataType::UInt64),
            (side.files.is_some(), Column::File, "file", DataType::Utf8),
            (true, Column::Payload, "payload", DataType::Binary),
        ];
        let there = all.into_iter().filter(|(there, ..)| *there);
        let (of, fields): (Vec<Column>, Vec<Field>) =
            there.map(|(_, column, name, kind)| (column, Field::new(name, kind, true))).unzip();
        ImageColumns { schema: Arc::new(Schema::new(fields)), of, side, problems }
    }
}

impl Columns for ImageColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn wants_payloads(&self, columns: &[usize]) -> bool {
        columns.iter().any(|column| self.of.get(*column) != Some(&Column::Key))
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let made = |column: &usize| {
            let of = self.of.get(*column).copied();
            let of = of.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
            Ok((of, Made::new(of)))
        };
        let made = columns.iter().map(made).collect::<Result<_>>()?;
        Ok(Box::new(ImageBuilder { of: self, made }))
    }
}

struct ImageBuilder<'a> {
    of: &'a ImageColumns,
    made: Vec<(Column, Made)>,
}

enum Made {
    Text(StringBuilder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    Float(Float32Builder),
    Floats(ListBuilder<Float32Builder>),
    Boxes(ListBuilder<ListBuilder<Float32Builder>>),
    Bytes(BinaryBuilder),
}

impl Made {
    fn new(of: Column) -> Made {
        match of {
            Column::Key | Column::File => Made::Text(StringBuilder::new()),
            Column::Flag => Made::U32(UInt32Builder::new()),
            Column::Id | Column::Id2 => Made::U64(UInt64Builder::new()),
            Column::Label => Made::Float(Float32Builder::new()),
            Column::Labels | Column::Classes => Made::Floats(ListBuilder::new(Float32Builder::new())),
            Column::Boxes => Made::Boxes(ListBuilder::new(ListBuilder::new(Float32Builder::new()))),
            Column::Payload => Made::Bytes(BinaryBuilder::new()),
        }
    }

    fn null(&mut self) {
        match self {
            Made::Text(builder) => builder.append_null(),
            Made::U32(builder) => builder.append_null(),
            Made::U64(builder) => builder.append_null(),
            Made::Float(builder) => builder.append_null(),
            Made::Floats(builder) => builder.append_null(),
            Made::Boxes(builder) => builder.append_null(),
            Made::Bytes(builder) => builder.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Made::Text(mut builder) => Arc::new(builder.finish()),
            Made::U32(mut builder) => Arc::new(builder.finish()),
            Made::U64(mut builder) => Arc::new(builder.finish()),
            Made::Float(mut builder) => Arc::new(builder.finish()),
            Made::Floats(mut builder) => Arc::new(builder.finish()),
            Made::Boxes(mut builder) => Arc::new(builder.finish()),
            Made::Bytes(mut builder) => Arc::new(builder.finish()),
        }
    }

    /// Adds what a record's header has for the column; whether it fits.
    fn add(&mut self, of: Column, header: &Header) -> bool {
        match (self, of) {
            (Made::U32(builder), _) => builder.append_value(header.flag),
            (Made::U64(builder), Column::Id) => builder.append_value(header.id),
            (Made::U64(builder), _) => builder.append_value(header.id2),
            // The label of several is not the header's.
            (Made::Float(builder), _) if header.flag > 0 => {
                builder.append_null();
                return false;
            }
            (Made::Float(builder), _) => builder.append_value(header.label),
            (Made::Floats(builder), Column::Classes) => match header.objects() {
                Some((start, width)) => {
                    builder.values().extend(header.labels().skip(start).step_by(width).map(Some));
                    builder.append(true);
                }
                None => {
                    builder.append_null();
                    return false;
                }
            },
            (Made::Floats(builder), _) => {
                match header.flag {
                    0 => builder.values().append_value(header.label),
                    _ => builder.values().extend(header.labels().map(Some)),
                }
                builder.append(true);
            }
            (Made::Boxes(builder), _) => match header.objects() {
                Some((start, width)) => {
                    let objects = header.labels.get(start..).unwrap_or_default();
                    for object in objects.chunks_exact(width) {
                        let sides = object.iter().skip(1).take(4).map(|side| Some(f32::from_le_bytes(*side)));
                        builder.values().values().extend(sides);
                        builder.values().append(true);
                    }
                    builder.append(true);
                }
                None => {
                    builder.append_null();
                    return false;
                }
            },
            (Made::Bytes(builder), _) => builder.append_value(header.payload),
            (Made::Text(builder), _) => builder.append_null(),
        }
        true
    }
}

impl Builder for ImageBuilder<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        let header = payload.map(Header::parse);
        if let Some(Err(error)) = &header {
            self.of.problems.add(error.clone().at(record.span.start));
        }
        let header = header.and_then(Result::ok);
        let mut fits = true;
        for (column, made) in &mut self.made {
            let side = &self.of.side;
            match (&mut *made, &*column, &header) {
                (Made::Text(builder), Column::Key, _) => {
                    let at = record.span.start.saturating_sub(HEAD);
                    builder.append_option(side.keys.as_ref().and_then(|keys| keys.get(&at)));
                }
                (Made::Text(builder), Column::File, Some(header)) => {
                    builder.append_option(side.files.as_ref().and_then(|files| files.get(&header.id)));
                }
                (made, column, Some(header)) => fits &= made.add(*column, header),
                (made, _, None) => made.null(),
            }
        }
        if !fits {
            let what =
                "RecordIO: its labels are not like those of the first records; they are below its node";
            let what = Error::malformed(what).of(&format!("record {}", record.number));
            self.of.problems.add(what.at(record.span.start));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        Ok(self.made.into_iter().map(|(_, made)| made.finish()).collect())
    }
}

/// A record as a node: header, labels, and the payload as what it is.
pub(super) fn node(formats: Formats, name: &str, source: &Source, record: Part) -> Result<Node> {
    let header = Header::parse(record.bytes()).map_err(|error| error.at(record.span().start))?;
    let value = |name: &str, value: String| Node::new(name, "field").value(value);
    let mut children = vec![value("flag", header.flag.to_string())];
    let start = record.span().start + HEADER as u64;
    let behind = start + u64::from(header.flag) * 4;
    children.push(match header.flag {
        0 => value("label", cell::float32(header.label)),
        count => {
            let array = Plain::new(source.clone(), start, DType::F32, vec![u64::from(count)])?;
            Node::new("label", "field").content(Content::Array(Arc::new(array)))
        }
    });
    children.push(value("id", header.id.to_string()));
    children.push(value("id2", header.id2.to_string()));
    let end = record.span().end;
    let payload = match header.payload.is_empty() {
        true => Node::new("payload", "payload").remark("it is empty (0 bytes)"),
        false => {
            let source = source.clone();
            let make = move |_: &Task| source.member("payload", behind..end);
            formats.nested("payload", "payload", Options::default(), make)
        }
    };
    children.push(payload);
    Ok(Node::new(name, "record").listed(children))
}
