//! The parameters of any model by the schema: single values are attributes, numbers and texts that repeat are arrays,
//! maps and lists of plain messages are tables, other messages are groups. So every type of model is shown, also
//! those that have no graph: linear models, support vectors, neighbours, vectorizers, encoders, text models.

use super::numbers::Numbers;
use super::schema::{self, Count, Field, Kind, Message};
use super::{json, label, trees};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Array, Content};
use crate::data::dtype::DType;
use crate::data::format::Options;
use crate::data::node::{Listing, Node, page_of};
use crate::engines::late_array::LateArray;
use crate::engines::protobuf::{Field as WireField, Part, Value as Wire};
use crate::engines::tensorflow::arrays::Strings;
use arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field as Column, Schema};
use std::ops::Range;
use std::sync::Arc;

/// The most rows of a table, texts of an array and rows of a matrix.
const ROWS: usize = 1 << 22;
/// How deep messages are followed to see whether they are plain.
const DEPTH: usize = 6;

/// A field with all that the message has of it.
struct Found<'a> {
    field: &'static Field,
    values: Vec<Wire<'a>>,
}

fn grouped<'a>(part: Part<'a>, message: &'static Message) -> Result<Vec<Found<'a>>> {
    let mut found: Vec<Found> = Vec::new();
    for field in part.fields() {
        let WireField { number, value, .. } = field?;
        if let Some(known) = found.iter_mut().find(|known| known.field.number == number) {
            known.values.push(value);
        } else if let Some(field) = message.field(number) {
            found.push(Found { field, values: vec![value] });
        }
    }
    Ok(found)
}

/// Whether a message holds single values alone, however deep. A setting of training with what it may be counts as one.
fn is_plain(message: &Message, depth: usize) -> bool {
    message.name.ends_with("Parameter")
        || depth < DEPTH
            && message.fields.iter().all(|field| match (field.count, field.kind) {
                (Count::One, Kind::Message(name)) => is_plain(schema::message(name), depth + 1),
                (Count::One, Kind::Bytes) => false,
                (count, _) => count == Count::One,
            })
}

/// The only field of a message that wraps one, if that repeats.
fn wrapped(message: &'static Message) -> Option<&'static Field> {
    match message.fields.as_slice() {
        [only] if only.count != Count::One => Some(only),
        _ => None,
    }
}

/// Adds what a message says to a node: attributes, and what lies below it. Fields in `skip` are left out.
///
/// # Errors
/// `Malformed`; what was added before stays.
pub(super) fn fill(
    source: &Source,
    node: &mut Node,
    children: &mut Vec<Node>,
    part: Part,
    message: &'static Message,
    skip: &[u32],
) -> Result<()> {
    for found in grouped(part, message)? {
        if skip.contains(&found.field.number) {
            continue;
        }
        one(source, node, children, found.field.name, &found)?;
    }
    Ok(())
}

fn one(source: &Source, node: &mut Node, children: &mut Vec<Node>, name: &str, found: &Found) -> Result<()> {
    let (Found { field, values }, Some(last)) = (found, found.values.last().copied()) else { return Ok(()) };
    match (field.count, field.kind) {
        (Count::One, Kind::Message(of)) => {
            let message = schema::message(of);
            if is_plain(message, 0) {
                node.attributes.push((name.to_owned(), json::of(last.part(), message)?.into()));
                return Ok(());
            }
            if let Some(field) = wrapped(message) {
                let inner: Vec<Wire> = last
                    .part()
                    .fields()
                    .map(|field| field.map(|field| field.value))
                    .collect::<Result<_>>()?;
                return one(source, node, children, name, &Found { field, values: inner });
            }
            children.push(group(source, name, message, last.part().span()));
        }
        (Count::One, Kind::Bytes) => children.push(bytes(source, name, last.part())),
        (Count::One, kind) => node.attributes.push((name.to_owned(), scalar(last, kind).into())),
        (Count::Map, Kind::Message(of)) => {
            children.push(map(source, name, schema::message(of), values)?);
        }
        (Count::Map, _) => {}
        (Count::Many, Kind::Message(of)) => {
            children.push(messages(source, name, schema::message(of), values))
        }
        (Count::Many, Kind::Text) => children.push(texts(name, values)?),
        (Count::Many, kind) => {
            let mut numbers = Numbers::of(kind);
            values.iter().for_each(|value| numbers.push(*value));
            let count = numbers.count;
            children.push(array(name, numbers.array(source, vec![count], None)));
        }
    }
    Ok(())
}

fn scalar(value: Wire, kind: Kind) -> serde_json::Value {
    match (kind, value) {
        (Kind::Float, Wire::Fixed32(bytes)) => json::number(json::shortest(f32::from_le_bytes(bytes))),
        (Kind::Double, value) => value.double().map_or(serde_json::Value::Null, json::number),
        (Kind::Bool, value) => (value.uint() != 0).into(),
        (Kind::Text, value) => json::text(value).into(),
        (Kind::Enum(of), value) => schema::value_name(of, value.uint()).into(),
        (_, value) => value.uint().cast_signed().into(),
    }
}

fn array(name: &str, array: Result<Arc<dyn Array>>) -> Node {
    let node = Node::new(name, label::PARAMETER);
    match array {
        Ok(array) => node.content(Content::Array(array)),
        Err(error) => node.problem(error),
    }
}

fn texts(name: &str, values: &[Wire]) -> Result<Node> {
    limits::check(values.len() as u64, ROWS as u64, "texts of an array")?;
    let texts: Vec<Vec<u8>> = values.iter().map(|value| value.part().bytes().to_vec()).collect();
    let count = texts.len() as u64;
    let strings = Strings::new(texts, vec![count])?;
    Ok(Node::new(name, label::PARAMETER).content(Content::Array(Arc::new(strings))))
}

/// Bytes are opened as whatever they are.
fn bytes(source: &Source, name: &str, part: Part) -> Node {
    let (source, span, own) = (source.clone(), part.span(), name.to_owned());
    crate::formats::ALL
        .nested(name, "bytes", Options::default(), move |_| source.member(own.as_str(), span.clone()))
        .span(part.span())
}

/// A message as a group, read when somebody looks into it.
fn group(source: &Source, name: &str, message: &'static Message, span: Range<u64>) -> Node {
    let (source, own, place) = (source.clone(), name.to_owned(), span.clone());
    let node = Node::deferred(name, label::GROUP, move |task| {
        let bytes = source.read(task, place.clone())?;
        let (mut node, mut children) = (Node::new(own.as_str(), label::GROUP), Vec::new());
        let part = Part::new(&bytes, place.start);
        if let Err(error) = fill(&source, &mut node, &mut children, part, message, &[]).unless_cancelled()? {
            node.problem = Some(error);
        }
        Ok(node.listed(children))
    });
    node.span(span)
}

/// The type of a column that holds values of a kind; `None` where they are no single values.
fn column(kind: Kind) -> Option<DataType> {
    Some(match kind {
        Kind::Int => DataType::Int64,
        Kind::Bool => DataType::Boolean,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::Text | Kind::Enum(_) => DataType::Utf8,
        Kind::Message(_) | Kind::Bytes => return None,
    })
}

/// The values of a column, of rows that may have none.
fn cells(kind: Kind, values: Vec<Option<Wire>>) -> ArrayRef {
    let values = values.into_iter();
    let float = |value: Wire| if let Wire::Fixed32(bytes) = value { f32::from_le_bytes(bytes) } else { 0.0 };
    match kind {
        Kind::Int => {
            Arc::new(values.map(|v| Some(v.map_or(0, |v| v.uint().cast_signed()))).collect::<Int64Array>())
        }
        Kind::Bool => {
            Arc::new(values.map(|v| Some(v.is_some_and(|v| v.uint() != 0))).collect::<BooleanArray>())
        }
        Kind::Float => Arc::new(values.map(|v| Some(v.map_or(0.0, float))).collect::<Float32Array>()),
        Kind::Double => {
            let double = |v: Option<Wire>| Some(v.and_then(Wire::double).unwrap_or(0.0));
            Arc::new(values.map(double).collect::<Float64Array>())
        }
        Kind::Enum(of) => {
            let name = |v: Option<Wire>| Some(schema::value_name(of, v.map_or(0, Wire::uint)));
            Arc::new(values.map(name).collect::<StringArray>())
        }
        _ => Arc::new(values.map(|v| Some(v.map_or_else(String::new, Wire::text))).collect::<StringArray>()),
    }
}

/// Messages of single values as a table. A value that is not there is the default of its type, as the format wants
/// it.
fn table(
    task: &Task,
    source: &Source,
    message: &'static Message,
    spans: &[Range<u64>],
) -> Result<MemoryTable> {
    limits::check(spans.len() as u64, ROWS as u64, "rows of a table")?;
    let fields: Vec<(&Field, DataType)> =
        message.fields.iter().filter_map(|field| Some((field, column(field.kind)?))).collect();
    let start = spans.first().map_or(0, |span| span.start);
    let end = spans.last().map_or(0, |span| span.end);
    let bytes = source.read(task, start..end)?;
    let mut columns: Vec<Vec<Option<Wire>>> = vec![Vec::with_capacity(spans.len()); fields.len()];
    for (n, span) in spans.iter().enumerate() {
        if n % 1_024 == 0 {
            task.check()?;
        }
        let (from, to) = ((span.start - start) as usize, (span.end.max(span.start) - start) as usize);
        let part = Part::new(bytes.get(from..to).unwrap_or_default(), span.start);
        columns.iter_mut().for_each(|column| column.push(None));
        for field in part.fields() {
            let WireField { number, value, .. } = field?;
            let place = fields.iter().position(|(field, _)| field.number == number);
            if let Some(cell) = place.and_then(|n| columns.get_mut(n)).and_then(|column| column.last_mut()) {
                *cell = Some(value);
            }
        }
    }
    let schema = Schema::new(
        fields.iter().map(|(field, kind)| Column::new(field.name, kind.clone(), false)).collect::<Vec<_>>(),
    );
    let columns = fields.iter().zip(columns).map(|((field, _), values)| cells(field.kind, values)).collect();
    Ok(MemoryTable::new(RecordBatch::try_new(Arc::new(schema), columns)?))
}

/// A node of a table that is made when somebody looks.
fn table_node(source: &Source, name: &str, message: &'static Message, spans: Vec<Range<u64>>) -> Node {
    let (source, own) = (source.clone(), name.to_owned());
    Node::new(name, "table").deferred_leaf(move |task| {
        let table = table(task, &source, message, &spans)?;
        Ok(Node::new(own.as_str(), "table").content(Content::Table(Arc::new(table))))
    })
}

/// Where messages lie; what has another wire type is none, and lies nowhere.
fn spans(values: &[Wire]) -> Vec<Range<u64>> {
    let messages = values.iter().filter(|value| matches!(value, Wire::Bytes(_) | Wire::Group(_)));
    messages.map(|value| value.part().span()).collect()
}

/// A map: a table of keys and values, or a group of what its values are.
fn map(source: &Source, name: &str, entry: &'static Message, values: &[Wire]) -> Result<Node> {
    if entry.fields.iter().all(|field| column(field.kind).is_some()) {
        return Ok(table_node(source, name, entry, spans(values)));
    }
    let Some(Kind::Message(of)) = entry.field(2).map(|field| field.kind) else {
        return Err(Error::bug("a map of bytes"));
    };
    let message = schema::message(of);
    let (mut node, mut children) = (Node::new(name, label::GROUP), Vec::new());
    for value in values {
        let (key, inner) = crate::engines::tensorflow::messages::entry(value.part())?;
        let key = match key {
            Wire::Varint(number) => number.cast_signed().to_string(),
            text => text.text(),
        };
        if is_plain(message, 0) {
            node.attributes.push((key, json::of(inner.part(), message)?.into()));
        } else {
            children.push(group(source, &key, message, inner.part().span()));
        }
    }
    if !children.is_empty() {
        node = node.listed(children);
    }
    Ok(node)
}

/// Messages that repeat: the nodes of trees, a matrix, a table, or one group each.
fn messages(source: &Source, name: &str, message: &'static Message, values: &[Wire]) -> Node {
    let spans = spans(values);
    if message.name == trees::NODE {
        return trees::node(source, name, spans);
    }
    if let Some(field) = wrapped(message)
        && matches!(field.kind, Kind::Float | Kind::Double)
        && let Some(matrix) = matrix(source, field, values).transpose()
    {
        return array(name, matrix);
    }
    if message.fields.iter().all(|field| field.count == Count::One && column(field.kind).is_some()) {
        return table_node(source, name, message, spans);
    }
    Node::new(name, label::GROUP).lazy(Items { source: source.clone(), message, spans })
}

/// Lists of floats that are equally long, as one array; `None` where they are not.
fn matrix(source: &Source, field: &'static Field, values: &[Wire]) -> Result<Option<Arc<dyn Array>>> {
    let mut rows = Vec::with_capacity(values.len());
    for value in values {
        let mut numbers = Numbers::of(field.kind);
        for field in value.part().fields() {
            numbers.push(field?.value);
        }
        rows.push(numbers);
    }
    let Some(width) = rows.first().map(|row| row.count) else { return Ok(None) };
    if rows.iter().any(|row| row.count != width) {
        return Ok(None);
    }
    let shape = vec![rows.len() as u64, width];
    if let [only] = rows.as_slice() {
        return only.array(source, shape, None).map(Some);
    }
    let dtype = if field.kind == Kind::Float { DType::F32 } else { DType::F64 };
    limits::check(limits::bytes(&shape, dtype.size())?, limits::CHUNK, "a matrix")?;
    let (source, element) = (source.clone(), dtype.clone());
    let make = move |task: &Task| {
        let mut out = Vec::new();
        for row in &rows {
            task.check()?;
            let array = row.array(&source, vec![row.count], None)?;
            let all = crate::data::region::Region::all(array.shape());
            out.extend(crate::data::content::array::read(array.as_ref(), task, &all)?);
        }
        Ok(bytes::Bytes::from(out))
    };
    Ok(Some(Arc::new(LateArray::new(element, shape, make))))
}

/// Messages that are a group each.
struct Items {
    source: Source,
    message: &'static Message,
    spans: Vec<Range<u64>>,
}

impl Listing for Items {
    fn count(&self) -> Option<u64> {
        Some(self.spans.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| {
            let span = self.spans.get(n as usize).cloned();
            Ok(span.map(|span| Arc::new(group(&self.source, &n.to_string(), self.message, span))))
        })
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let place = name.parse::<usize>().ok().filter(|n| n.to_string() == name);
        let span = place.and_then(|n| self.spans.get(n)).cloned();
        Ok(span.map(|span| Arc::new(group(&self.source, name, self.message, span))))
    }
}
