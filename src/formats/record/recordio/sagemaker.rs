//! SageMaker's records: features and labels by name, each a tensor of floats or integers — dense, or the values that are
//! not zero with their places (`keys`) — or bytes; and texts that say more.
//! <https://github.com/aws/sagemaker-python-sdk/blob/master/src/sagemaker/amazon/record_pb2.py>,
//! <https://docs.aws.amazon.com/sagemaker/latest/dg/cdf-training.html>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::content::Content;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use crate::engines::protobuf::{Field as WireField, Part, Value};
use crate::engines::records::container::{Builder, Columns, Problems, Record, is_few};
use arrow::array::{
    Array, ArrayBuilder, ArrayRef, BinaryBuilder, Float32Builder, Float64Builder, Int32Builder, ListArray,
    StringBuilder, StructArray, UInt64Builder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;
use std::sync::Arc;

/// The most columns: names come from the file.
const COLUMNS: usize = 10_000;

/// What a tensor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float32,
    Float64,
    Int32,
    Bytes,
}

impl Kind {
    fn of(number: u32) -> Option<Kind> {
        match number {
            2 => Some(Kind::Float32),
            3 => Some(Kind::Float64),
            7 => Some(Kind::Int32),
            9 => Some(Kind::Bytes),
            _ => None,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Float32 => DataType::Float32,
            Kind::Float64 => DataType::Float64,
            Kind::Int32 => DataType::Int32,
            Kind::Bytes => DataType::Binary,
        }
    }
}

/// A tensor: its values as they lie in the message.
#[derive(Clone, Debug)]
struct Tensor<'a> {
    kind: Kind,
    values: Vec<Value<'a>>,
    keys: Vec<u64>,
    shape: Vec<u64>,
}

/// Numbers of a repeated field, packed or not.
fn numbers(value: Value, to: &mut Vec<u64>) -> Result<()> {
    match value {
        Value::Varint(value) => to.push(value),
        Value::Bytes(packed) => {
            for value in packed.varints() {
                to.push(value?);
            }
        }
        _ => {}
    }
    Ok(())
}

impl<'a> Tensor<'a> {
    /// The tensor of a `Value`; `None` where none is set.
    fn parse(part: Part<'a>) -> Result<Option<Tensor<'a>>> {
        let mut found: Option<Tensor> = None;
        for field in part.fields() {
            let WireField { number, value, .. } = field?;
            let (Some(kind), Value::Bytes(message)) = (Kind::of(number), value) else { continue };
            let mut tensor = Tensor { kind, values: Vec::new(), keys: Vec::new(), shape: Vec::new() };
            for field in message.fields() {
                let WireField { number, value, .. } = field?;
                match number {
                    1 => tensor.values.push(value),
                    2 if kind != Kind::Bytes => numbers(value, &mut tensor.keys)?,
                    3 if kind != Kind::Bytes => numbers(value, &mut tensor.shape)?,
                    _ => {}
                }
            }
            found = Some(tensor);
        }
        Ok(found)
    }

    /// Its values, little-endian, and how many; those of bytes are not among them.
    fn elements(&self) -> Result<(Vec<u8>, u64)> {
        let mut out = Vec::new();
        let size = if self.kind == Kind::Float64 { 8 } else { 4 };
        for value in &self.values {
            match (self.kind, value) {
                (Kind::Int32, value) => {
                    let mut integers = Vec::new();
                    numbers(*value, &mut integers)?;
                    integers.iter().for_each(|value| out.extend((*value as i32).to_le_bytes()));
                }
                (_, Value::Fixed32(bytes)) if size == 4 => out.extend(bytes),
                (_, Value::Fixed64(bytes)) if size == 8 => out.extend(bytes),
                (_, Value::Bytes(packed)) => out.extend_from_slice(packed.bytes()),
                _ => {}
            }
        }
        if out.len() % size != 0 {
            return Err(Error::malformed("SageMaker's record: packed numbers end in the middle of one"));
        }
        let count = (out.len() / size) as u64;
        Ok((out, count))
    }

    fn texts(&self) -> impl Iterator<Item = Part<'a>> + '_ {
        self.values.iter().filter_map(|value| match value {
            Value::Bytes(part) => Some(*part),
            _ => None,
        })
    }

    fn count(&self) -> Result<u64> {
        match self.kind {
            Kind::Bytes => Ok(self.texts().count() as u64),
            _ => Ok(self.elements()?.1),
        }
    }
}

/// A field of a record.
enum Entry<'a> {
    /// A feature (1) or a label (2), by its name.
    Tensor(u32, &'a [u8], Part<'a>),
    /// `uid` (3), `metadata` (4), `configuration` (5).
    Text(u32, Part<'a>),
}

/// Gives the fields of a record; whether it has no others, and all are what they should be.
fn entries<'a>(record: Part<'a>, mut each: impl FnMut(Entry<'a>) -> Result<()>) -> Result<bool> {
    let mut known = true;
    for field in record.fields() {
        let WireField { number, value, .. } = field?;
        match (number, value) {
            (1 | 2, Value::Bytes(entry)) => {
                let (mut name, mut tensor) = (&[][..], Part::decoded(&[]));
                for field in entry.fields() {
                    match field? {
                        WireField { number: 1, value: Value::Bytes(part), .. } => name = part.bytes(),
                        WireField { number: 2, value: Value::Bytes(part), .. } => tensor = part,
                        _ => known = false,
                    }
                }
                known &= tensor.fields().all(|field| {
                    field.is_ok_and(|field| {
                        Kind::of(field.number).is_some() && matches!(field.value, Value::Bytes(_))
                    })
                });
                known &= std::str::from_utf8(name).is_ok();
                each(Entry::Tensor(number, name, tensor))?;
            }
            (3..=5, Value::Bytes(text)) => {
                known &= std::str::from_utf8(text.bytes()).is_ok();
                each(Entry::Text(number, text))?;
            }
            _ => known = false,
        }
    }
    Ok(known)
}

/// A column: which field it is.
#[derive(Clone, Debug)]
struct Column {
    number: u32,
    name: Vec<u8>,
    /// `None` for texts.
    kind: Option<Kind>,
    sparse: bool,
    single: bool,
}

impl Column {
    fn title(&self) -> String {
        let word = match self.number {
            1 => "features",
            2 => "label",
            3 => "uid",
            4 => "metadata",
            _ => "configuration",
        };
        // What the libraries call the only tensor.
        match self.kind {
            Some(_) if self.name != b"values" => {
                format!("{word}.{}", String::from_utf8_lossy(&self.name))
            }
            _ => word.to_owned(),
        }
    }

    /// Whether its cells are values, not lists of them.
    fn is_single(&self) -> bool {
        self.kind.is_none() || (self.single && !self.sparse)
    }

    fn data_type(&self) -> DataType {
        let Some(kind) = self.kind else { return DataType::Utf8 };
        let list = DataType::new_list(kind.data_type(), true);
        match (self.sparse, self.single) {
            (true, _) => DataType::Struct(sparse_fields(list)),
            (false, true) => kind.data_type(),
            (false, false) => list,
        }
    }
}

fn sparse_fields(values: DataType) -> Fields {
    let places = || DataType::new_list(DataType::UInt64, true);
    let fields = [("keys", places()), ("values", values), ("shape", places())];
    fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect()
}

/// Features, labels and texts as columns.
pub(super) struct MessageColumns {
    schema: SchemaRef,
    columns: Vec<Column>,
    problems: Arc<Problems>,
}

impl MessageColumns {
    /// The columns of records such as these; `None` where more than few of them are no such messages.
    pub(super) fn of(records: &[Bytes], complete: bool, problems: Arc<Problems>) -> Option<Self> {
        let mut columns: Vec<Column> = Vec::new();
        let (mut tensors, mut strangers) = (0_usize, 0);
        for record in records {
            // Of what is something else nothing becomes a column.
            if !matches!(entries(Part::decoded(record), |_| Ok(())), Ok(true)) {
                strangers += 1;
                continue;
            }
            let known = entries(Part::decoded(record), |entry| {
                let (number, name, tensor) = match entry {
                    Entry::Text(number, _) => (number, &[][..], None),
                    Entry::Tensor(number, name, part) => match Tensor::parse(part)? {
                        Some(tensor) => (number, name, Some(tensor)),
                        None => return Ok(()),
                    },
                };
                tensors += usize::from(tensor.is_some());
                let count = tensor.as_ref().map_or(Ok(1), Tensor::count)?;
                let sparse = tensor.as_ref().is_some_and(|tensor| !tensor.keys.is_empty());
                let kind = tensor.map(|tensor| tensor.kind);
                let place = columns.iter().position(|column| column.number == number && column.name == name);
                if let Some(column) = place.and_then(|place| columns.get_mut(place)) {
                    let same = column.kind == kind;
                    column.sparse |= same && sparse;
                    column.single &= !same || count == 1;
                } else if columns.len() < COLUMNS {
                    let (name, single) = (name.to_vec(), count == 1);
                    columns.push(Column { number, name, kind, sparse, single });
                }
                Ok(())
            });
            strangers += u64::from(!matches!(known, Ok(true)));
        }
        if tensors == 0 || !is_few(strangers, records.len() as u64) {
            return None;
        }
        if !complete {
            // What only later records have is not lost.
            for number in 3..=5 {
                if columns.iter().all(|column| column.number != number) {
                    let (name, kind) = (Vec::new(), None);
                    columns.push(Column { number, name, kind, sparse: false, single: true });
                }
            }
        }
        columns.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
        let field = |column: &Column| Field::new(column.title(), column.data_type(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        Some(MessageColumns { schema, columns, problems })
    }
}

impl Columns for MessageColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let made = |column: &usize| {
            let of = self.columns.get(*column);
            of.map(|of| (*column, Made::new(of))).ok_or_else(|| Error::bug("there is no such column"))
        };
        Ok(Box::new(MessageBuilder {
            of: self,
            rows: 0,
            made: columns.iter().map(made).collect::<Result<_>>()?,
        }))
    }
}

/// Values without the lists around them.
enum Leaf {
    Float32(Float32Builder),
    Float64(Float64Builder),
    Int32(Int32Builder),
    Bytes(BinaryBuilder),
    Text(StringBuilder),
}

/// A column that is being made.
struct Made {
    leaf: Leaf,
    /// Where each row's values end, and whether there are any; of single values nothing.
    ends: Vec<usize>,
    valid: Vec<bool>,
    /// The places and the shapes of sparse ones.
    keys: (UInt64Builder, Vec<usize>),
    shape: (UInt64Builder, Vec<usize>),
}

impl Made {
    fn new(of: &Column) -> Made {
        let leaf = match of.kind {
            Some(Kind::Float32) => Leaf::Float32(Float32Builder::new()),
            Some(Kind::Float64) => Leaf::Float64(Float64Builder::new()),
            Some(Kind::Int32) => Leaf::Int32(Int32Builder::new()),
            Some(Kind::Bytes) => Leaf::Bytes(BinaryBuilder::new()),
            None => Leaf::Text(StringBuilder::new()),
        };
        let numbers = || (UInt64Builder::new(), Vec::new());
        Made { leaf, ends: Vec::new(), valid: Vec::new(), keys: numbers(), shape: numbers() }
    }

    fn values(&self) -> usize {
        match &self.leaf {
            Leaf::Float32(builder) => builder.len(),
            Leaf::Float64(builder) => builder.len(),
            Leaf::Int32(builder) => builder.len(),
            Leaf::Bytes(builder) => builder.len(),
            Leaf::Text(builder) => builder.len(),
        }
    }

    /// Ends a row; of single values one without a value gets a null.
    fn close(&mut self, valid: bool, single: bool) {
        if single && self.values() <= self.valid.len() {
            match &mut self.leaf {
                Leaf::Float32(builder) => builder.append_null(),
                Leaf::Float64(builder) => builder.append_null(),
                Leaf::Int32(builder) => builder.append_null(),
                Leaf::Bytes(builder) => builder.append_null(),
                Leaf::Text(builder) => builder.append_null(),
            }
        }
        self.valid.push(valid);
        self.ends.push(self.values());
        self.keys.1.push(self.keys.0.len());
        self.shape.1.push(self.shape.0.len());
    }

    /// Adds a row: a tensor. Whether it fits.
    fn tensor(&mut self, of: &Column, tensor: Option<&Tensor>) -> Result<bool> {
        let single = of.is_single();
        let Some(tensor) = tensor else {
            self.close(false, single);
            return Ok(true);
        };
        let fits = of.kind == Some(tensor.kind)
            && (of.sparse || tensor.keys.is_empty())
            && (!single || tensor.count()? == 1);
        if !fits {
            self.close(false, single);
            return Ok(false);
        }
        let bytes = if tensor.kind == Kind::Bytes { Vec::new() } else { tensor.elements()?.0 };
        let (fours, eights) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
        match &mut self.leaf {
            Leaf::Float32(to) => to.extend(fours.iter().map(|bytes| Some(f32::from_le_bytes(*bytes)))),
            Leaf::Float64(to) => to.extend(eights.iter().map(|bytes| Some(f64::from_le_bytes(*bytes)))),
            Leaf::Int32(to) => to.extend(fours.iter().map(|bytes| Some(i32::from_le_bytes(*bytes)))),
            Leaf::Bytes(to) => tensor.texts().for_each(|part| to.append_value(part.bytes())),
            Leaf::Text(_) => {}
        }
        if of.sparse {
            self.keys.0.append_slice(&tensor.keys);
            self.shape.0.append_slice(&tensor.shape);
        }
        self.close(true, single);
        Ok(true)
    }

    fn finish(self, of: &Column) -> Result<ArrayRef> {
        let values: ArrayRef = match self.leaf {
            Leaf::Float32(mut builder) => Arc::new(builder.finish()),
            Leaf::Float64(mut builder) => Arc::new(builder.finish()),
            Leaf::Int32(mut builder) => Arc::new(builder.finish()),
            Leaf::Bytes(mut builder) => Arc::new(builder.finish()),
            Leaf::Text(mut builder) => Arc::new(builder.finish()),
        };
        if of.is_single() {
            return Ok(values);
        }
        let nulls = Some(NullBuffer::from(self.valid)).filter(|nulls| nulls.null_count() > 0);
        let inner = if of.sparse { None } else { nulls.clone() };
        let values = list(values, &self.ends, inner)?;
        if !of.sparse {
            return Ok(values);
        }
        let (mut keys, mut shape) = (self.keys, self.shape);
        let keys = list(Arc::new(keys.0.finish()), &keys.1, None)?;
        let shape = list(Arc::new(shape.0.finish()), &shape.1, None)?;
        let fields = sparse_fields(values.data_type().clone());
        Ok(Arc::new(StructArray::try_new(fields, vec![keys, values, shape], nulls)?))
    }
}

/// Lists of values, each up to its end.
fn list(values: ArrayRef, ends: &[usize], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let end = |end: &usize| i32::try_from(*end).map_err(|_| Error::limit("a list of more than 2^31 values"));
    let offsets: Vec<i32> = std::iter::once(Ok(0)).chain(ends.iter().map(end)).collect::<Result<_>>()?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::new(offsets.into()), values, nulls)?))
}

struct MessageBuilder<'a> {
    of: &'a MessageColumns,
    rows: usize,
    made: Vec<(usize, Made)>,
}

impl MessageBuilder<'_> {
    /// Takes a record in; whether all of it has a column that fits.
    fn record(&mut self, part: Part) -> Result<bool> {
        let (mut tensors, mut texts, mut all) = (Vec::new(), Vec::new(), true);
        let known = entries(part, |entry| {
            match entry {
                Entry::Text(number, text) => texts.push((number, text)),
                Entry::Tensor(number, name, part) => {
                    all &= self.of.columns.iter().any(|of| of.number == number && of.name == name);
                    if let Some(tensor) = Tensor::parse(part)? {
                        // That its values can be read is known before any of them is taken.
                        tensor.count()?;
                        tensors.push((number, name, tensor));
                    }
                }
            }
            Ok(())
        })?;
        for (column, made) in &mut self.made {
            let Some(of) = self.of.columns.get(*column) else { continue };
            if of.kind.is_some() {
                let tensor =
                    tensors.iter().rev().find(|(number, name, _)| of.number == *number && of.name == *name);
                all &= made.tensor(of, tensor.map(|(.., tensor)| tensor))?;
            } else {
                let text = texts.iter().rev().find(|(number, _)| of.number == *number);
                if let (Leaf::Text(to), Some((_, text))) = (&mut made.leaf, text) {
                    to.append_value(String::from_utf8_lossy(text.bytes()));
                }
                made.close(text.is_some(), true);
            }
        }
        Ok(known && all)
    }
}

impl Builder for MessageBuilder<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        self.rows += 1;
        let problem = match payload.map(|bytes| self.record(Part::new(bytes, record.span.start))) {
            Some(Ok(false)) => {
                let what =
                    "SageMaker's record: it has values that no column has, since the first records have not";
                Some(Error::malformed(what))
            }
            Some(Err(error)) if error.is_cancelled() => return Err(error),
            Some(Err(error)) => Some(error),
            Some(Ok(true)) | None => None,
        };
        if let Some(error) = problem {
            let error = error.of(&format!("record {}", record.number)).at(record.span.start);
            self.of.problems.add(error);
        }
        // What was not read is null.
        for (column, made) in &mut self.made {
            if made.valid.len() < self.rows {
                made.close(false, self.of.columns.get(*column).is_some_and(Column::is_single));
            }
            limits::check(made.values() as u64, limits::CHUNK / 8, "the values of a column")?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let of = self.of;
        let array = |(column, made): (usize, Made)| {
            let of = of.columns.get(column).ok_or_else(|| Error::bug("there is no such column"))?;
            made.finish(of)
        };
        self.made.into_iter().map(array).collect()
    }
}

/// A record as a node: each tensor as an array, bytes as what they are.
pub(super) fn node(formats: Formats, name: &str, source: &Source, record: Part) -> Result<Node> {
    let mut groups: [Vec<Node>; 2] = Default::default();
    let mut texts = Vec::new();
    entries(record, |entry| {
        match entry {
            Entry::Text(number, text) => {
                let word = ["uid", "metadata", "configuration"].get(number as usize - 3).copied();
                let text = String::from_utf8_lossy(text.bytes()).into_owned();
                texts.extend(word.map(|word| Node::new(word, "field").value(text)));
            }
            Entry::Tensor(number, name, part) => {
                let name = String::from_utf8_lossy(name).into_owned();
                let [features, labels] = &mut groups;
                let group = if number == 1 { features } else { labels };
                if let Some(tensor) = Tensor::parse(part)? {
                    group.push(tensor_node(formats, name, source, &tensor)?);
                }
            }
        }
        Ok(())
    })?;
    let [features, labels] = groups;
    let group = |name: &str, list: Vec<Node>| Node::new(name, "map").listed(list);
    let mut children = vec![group("features", features), group("label", labels)];
    children.append(&mut texts);
    Ok(Node::new(name, "record").listed(children))
}

fn tensor_node(formats: Formats, name: String, source: &Source, tensor: &Tensor) -> Result<Node> {
    let dtype = match tensor.kind {
        Kind::Float32 => DType::F32,
        Kind::Float64 => DType::F64,
        Kind::Int32 => DType::I32,
        Kind::Bytes => {
            let nested = |(n, part): (usize, Part)| {
                let (source, span) = (source.clone(), part.span());
                let make = move |_: &_| source.member("value", span.clone());
                formats.nested(n.to_string(), "value", Options::default(), make)
            };
            return Ok(Node::new(name, "bytes").listed(tensor.texts().enumerate().map(nested).collect()));
        }
    };
    let (bytes, count) = tensor.elements()?;
    // A dense tensor has as many values as its shape says, if it says one.
    let is_whole = tensor.keys.is_empty() && limits::elements(&tensor.shape).is_ok_and(|all| all == count);
    let shape = if is_whole && !tensor.shape.is_empty() { tensor.shape.clone() } else { vec![count] };
    let array = |bytes: Vec<u8>, dtype: DType, shape: Vec<u64>| {
        let array = Plain::new(Source::memory("tensor", bytes), 0, dtype, shape)?;
        Ok::<_, Error>(Content::Array(Arc::new(array)))
    };
    let node = Node::new(name, "tensor");
    if tensor.keys.is_empty() {
        return Ok(node.content(array(bytes, dtype, shape)?));
    }
    let integers = |numbers: &[u64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        array(bytes, DType::U64, vec![numbers.len() as u64])
    };
    let keys = Node::new("keys", "array").content(integers(&tensor.keys)?);
    let values = Node::new("values", "array").content(array(bytes, dtype, vec![count])?);
    let sides = Node::new("shape", "array").content(integers(&tensor.shape)?);
    Ok(node.listed(vec![keys, values, sides]))
}
