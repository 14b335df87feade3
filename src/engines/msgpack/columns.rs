//! Objects as rows: maps that share their keys have a column for each, other objects one column. Types are found from the
//! first objects. What does not fit later is null, and named; bytes and nested values keep what they are.

use super::text;
use super::token::{self, Token, token};
use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::engines::records::container::{Builder, Columns, Container, Record};
use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Float32Builder, Float64Builder, Int64Builder, NullArray,
    StringBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// Objects that are looked at, and the bytes of them.
const SAMPLE: u64 = 1_000;
const BYTES: u64 = 8 << 20;
/// The most columns.
const COLUMNS: usize = 2_000;
/// Integers up to this are exact as floats.
const EXACT: u64 = 1 << 53;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nil,
    Bool,
    Int,
    /// Some are beyond 63 bits.
    Uint,
    Float32,
    Float64,
    Text,
    Bytes,
    Time,
    /// Written as JSON.
    Json,
}

impl Kind {
    fn of(found: Token, body: &[u8]) -> Kind {
        match found {
            Token::Nil => Kind::Nil,
            Token::Bool(_) => Kind::Bool,
            Token::Uint(value) if i64::try_from(value).is_err() => Kind::Uint,
            Token::Int(_) | Token::Uint(_) => Kind::Int,
            Token::Float32(_) => Kind::Float32,
            Token::Float64(_) => Kind::Float64,
            Token::Str(_) if std::str::from_utf8(body).is_ok() => Kind::Text,
            Token::Str(_) | Token::Bin(_) => Kind::Bytes,
            Token::Ext(-1, _) if nanoseconds(body).is_some() => Kind::Time,
            Token::Ext(..) | Token::Array(_) | Token::Map(_) => Kind::Json,
        }
    }

    /// What holds both, where that loses nothing.
    fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (a, b) if a == b => a,
            (Kind::Nil, other) | (other, Kind::Nil) => other,
            (Kind::Float32 | Kind::Float64 | Kind::Int, Kind::Float32 | Kind::Float64 | Kind::Int) => {
                Kind::Float64
            }
            (Kind::Text, Kind::Bytes) | (Kind::Bytes, Kind::Text) => Kind::Bytes,
            // Those below zero are found when they are read.
            (Kind::Int, Kind::Uint) | (Kind::Uint, Kind::Int) => Kind::Uint,
            _ => Kind::Json,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Nil => DataType::Null,
            Kind::Bool => DataType::Boolean,
            Kind::Int => DataType::Int64,
            Kind::Uint => DataType::UInt64,
            Kind::Float32 => DataType::Float32,
            Kind::Float64 => DataType::Float64,
            Kind::Text | Kind::Json => DataType::Utf8,
            Kind::Bytes => DataType::Binary,
            Kind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("+00:00".into())),
        }
    }
}

fn nanoseconds(body: &[u8]) -> Option<i64> {
    let (seconds, nanos) = text::stamp(body)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(i64::from(nanos))
}

/// The value at `at`: its token, its body, and where it ends.
fn value(bytes: &[u8], at: usize) -> Option<(Token, &[u8], usize)> {
    let (found, head) = token(bytes.get(at..)?).ok()?;
    let start = at + head;
    let body = bytes.get(start..start.checked_add(usize::try_from(found.body()).ok()?)?)?;
    Some((found, body, start))
}

/// The keys of a map that are texts, and where their values begin; `None` where it is no such map.
fn pairs(bytes: &[u8]) -> Option<Vec<(&[u8], usize)>> {
    let (Token::Map(count), _, mut at) = value(bytes, 0)? else { return None };
    let mut pairs = Vec::with_capacity(count.min(COLUMNS as u64) as usize);
    for _ in 0..count {
        let (Token::Str(_), key, start) = value(bytes, at)? else { return None };
        at = start + key.len();
        pairs.push((key, at));
        at = token::end(bytes, at)?;
    }
    Some(pairs)
}

/// The first objects; fewer where they are large.
fn sample(task: &Task, objects: &dyn Container) -> Result<Vec<Record>> {
    let (mut sample, mut bytes) = (Vec::<Record>::new(), 0_u64);
    while (sample.len() as u64) < SAMPLE && bytes < BYTES {
        let at = sample.len() as u64;
        // As many again, as long as those are small.
        let more = objects.records(task, at..(at * 2).clamp(at + 1, SAMPLE))?;
        if more.is_empty() {
            break;
        }
        bytes = more.iter().fold(bytes, |bytes, record| bytes.saturating_add(record.len));
        sample.extend(more);
    }
    sample.retain(|record| record.number == 0 || record.len <= BYTES);
    Ok(sample)
}

/// The columns of objects.
pub struct ObjectColumns {
    objects: Arc<dyn Container>,
    schema: SchemaRef,
    kinds: Vec<Kind>,
    /// The number of a key's column; `None` where the objects are no maps.
    keys: Option<HashMap<Vec<u8>, usize>>,
    seen: u64,
}

impl ObjectColumns {
    /// The columns of objects that are maps with keys in common; of others, if `any`, one column of values.
    ///
    /// # Errors
    /// `Cancelled`; failures to read.
    pub fn find(task: &Task, objects: &Arc<dyn Container>, any: bool) -> Result<Option<ObjectColumns>> {
        let sample = sample(task, objects.as_ref())?;
        let seen = sample.len() as u64;
        let (mut names, mut all, mut kind, mut are_maps) = (Vec::new(), HashMap::new(), Kind::Nil, seen > 0);
        let mut fields = 0_usize;
        objects.read(task, &sample, &mut |_, payload| {
            let Ok(payload) = payload.unless_cancelled()? else { return Ok(()) };
            if let Some((found, body, _)) = value(payload, 0) {
                kind = kind.and(Kind::of(found, body));
            }
            let Some(pairs) = pairs(payload).filter(|_| are_maps) else {
                are_maps = false;
                return Ok(());
            };
            fields += pairs.len();
            for (key, at) in pairs {
                let n = *all.entry(key.to_vec()).or_insert_with(|| {
                    names.push((String::from_utf8_lossy(key).into_owned(), Kind::Nil));
                    names.len() - 1
                });
                if let (Some((found, body, _)), Some((_, kind))) = (value(payload, at), names.get_mut(n)) {
                    *kind = kind.and(Kind::of(found, body));
                }
            }
            // Keys that are never the same are no columns.
            are_maps = names.len() <= COLUMNS;
            Ok(())
        })?;
        // Half of the fields of all rows are there.
        let in_common = are_maps && !names.is_empty() && fields * 2 >= names.len() * seen as usize;
        if !in_common && !any {
            return Ok(None);
        }
        let keys = in_common.then_some(all);
        if !in_common {
            names = vec![("value".to_owned(), kind)];
        }
        let field = |(name, kind): &(String, Kind)| Field::new(name, kind.data_type(), true);
        let schema = Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>()));
        let kinds = names.into_iter().map(|(_, kind)| kind).collect();
        Ok(Some(ObjectColumns { objects: objects.clone(), schema, kinds, keys, seen }))
    }

    fn says(&self, record: &Record, what: &str) {
        let error = Error::malformed(format!("MessagePack: object {}: {what}", self.objects.name(record)));
        self.objects.problems().add(error.at(record.span.start));
    }
}

impl Columns for ObjectColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let made = |column: &usize| {
            let kind = self.kinds.get(*column).copied();
            let kind = kind.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
            Ok((*column, ColumnBuilder::new(kind)))
        };
        let made: Vec<(usize, ColumnBuilder)> = columns.iter().map(made).collect::<Result<_>>()?;
        Ok(Box::new(ObjectBuilder { columns: self, places: vec![None; self.kinds.len()], made }))
    }
}

struct ObjectBuilder<'a> {
    columns: &'a ObjectColumns,
    /// Where the value of each column begins in the object.
    places: Vec<Option<usize>>,
    made: Vec<(usize, ColumnBuilder)>,
}

enum ColumnBuilder {
    Nil(usize),
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Uint(UInt64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Time(TimestampNanosecondBuilder),
    Json(StringBuilder),
}

impl ObjectBuilder<'_> {
    /// Finds the values of an object.
    fn place(&mut self, record: &Record, payload: &[u8]) {
        self.places.iter_mut().for_each(|place| *place = None);
        let Some(keys) = &self.columns.keys else {
            if let Some(place) = self.places.first_mut() {
                *place = Some(0);
            }
            return;
        };
        let Some(pairs) = pairs(payload) else {
            self.columns.says(record, "it is no map of names as the others are");
            return;
        };
        for (key, at) in pairs {
            match keys.get(key).and_then(|n| self.places.get_mut(*n)) {
                Some(place) => *place = Some(at),
                None => {
                    let (seen, name) = (display::count(self.columns.seen), String::from_utf8_lossy(key));
                    let what = format!("the first {seen} objects have no {name:?}; it has no column");
                    self.columns.objects.problems().remark(what);
                }
            }
        }
    }
}

impl Builder for ObjectBuilder<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        let payload = payload.unwrap_or_default();
        match payload.is_empty() {
            true => self.places.iter_mut().for_each(|place| *place = None),
            false => self.place(record, payload),
        }
        for (column, made) in &mut self.made {
            let at = self.places.get(*column).copied().flatten();
            let found = at.and_then(|at| value(payload, at).map(|found| (at, found)));
            let found = found.filter(|(_, (found, ..))| *found != Token::Nil);
            let fits = match found {
                Some((at, (found, body, _))) => made.push(found, body, payload.get(at..).unwrap_or_default()),
                None => {
                    made.null();
                    true
                }
            };
            if !fits {
                let name = self.columns.schema.fields().get(*column).map_or("", |field| field.name());
                self.columns
                    .says(record, &format!("its {name:?} is of another type than in the first objects"));
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        Ok(self.made.into_iter().map(|(_, made)| made.finish()).collect())
    }
}

impl ColumnBuilder {
    fn new(kind: Kind) -> ColumnBuilder {
        match kind {
            Kind::Nil => ColumnBuilder::Nil(0),
            Kind::Bool => ColumnBuilder::Bool(BooleanBuilder::new()),
            Kind::Int => ColumnBuilder::Int(Int64Builder::new()),
            Kind::Uint => ColumnBuilder::Uint(UInt64Builder::new()),
            Kind::Float32 => ColumnBuilder::Float32(Float32Builder::new()),
            Kind::Float64 => ColumnBuilder::Float64(Float64Builder::new()),
            Kind::Text => ColumnBuilder::Text(StringBuilder::new()),
            Kind::Bytes => ColumnBuilder::Bytes(BinaryBuilder::new()),
            Kind::Time => ColumnBuilder::Time(TimestampNanosecondBuilder::new().with_timezone("+00:00")),
            Kind::Json => ColumnBuilder::Json(StringBuilder::new()),
        }
    }

    /// Adds a value; null where it does not fit, of which the answer tells.
    fn push(&mut self, found: Token, body: &[u8], whole: &[u8]) -> bool {
        match (&mut *self, found) {
            (ColumnBuilder::Bool(made), Token::Bool(value)) => made.append_value(value),
            (ColumnBuilder::Int(made), Token::Int(value)) => made.append_value(value),
            (ColumnBuilder::Int(made), Token::Uint(value)) if i64::try_from(value).is_ok() => {
                made.append_value(value.cast_signed());
            }
            (ColumnBuilder::Uint(made), Token::Uint(value)) => made.append_value(value),
            (ColumnBuilder::Uint(made), Token::Int(value)) if value >= 0 => {
                made.append_value(value.cast_unsigned())
            }
            (ColumnBuilder::Float32(made), Token::Float32(value)) => made.append_value(value),
            (ColumnBuilder::Float64(made), Token::Float32(value)) => made.append_value(f64::from(value)),
            (ColumnBuilder::Float64(made), Token::Float64(value)) => made.append_value(value),
            (ColumnBuilder::Float64(made), Token::Int(value)) if value.unsigned_abs() <= EXACT => {
                made.append_value(value as f64);
            }
            (ColumnBuilder::Float64(made), Token::Uint(value)) if value <= EXACT => {
                made.append_value(value as f64)
            }
            (ColumnBuilder::Text(made), Token::Str(_)) if std::str::from_utf8(body).is_ok() => {
                made.append_value(std::str::from_utf8(body).unwrap_or_default());
            }
            (ColumnBuilder::Bytes(made), Token::Str(_) | Token::Bin(_)) => made.append_value(body),
            (ColumnBuilder::Time(made), Token::Ext(-1, _)) => match nanoseconds(body) {
                Some(time) => made.append_value(time),
                None => {
                    made.append_null();
                    return false;
                }
            },
            (ColumnBuilder::Json(made), _) => match text::whole(whole) {
                Some(serde_json::Value::String(text)) => made.append_value(text),
                Some(other) => made.append_value(other.to_string()),
                None => {
                    made.append_null();
                    return false;
                }
            },
            _ => {
                self.null();
                return false;
            }
        }
        true
    }

    fn null(&mut self) {
        match self {
            ColumnBuilder::Nil(count) => *count += 1,
            ColumnBuilder::Bool(made) => made.append_null(),
            ColumnBuilder::Int(made) => made.append_null(),
            ColumnBuilder::Uint(made) => made.append_null(),
            ColumnBuilder::Float32(made) => made.append_null(),
            ColumnBuilder::Float64(made) => made.append_null(),
            ColumnBuilder::Text(made) | ColumnBuilder::Json(made) => made.append_null(),
            ColumnBuilder::Bytes(made) => made.append_null(),
            ColumnBuilder::Time(made) => made.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            ColumnBuilder::Nil(count) => Arc::new(NullArray::new(count)),
            ColumnBuilder::Bool(mut made) => Arc::new(made.finish()),
            ColumnBuilder::Int(mut made) => Arc::new(made.finish()),
            ColumnBuilder::Uint(mut made) => Arc::new(made.finish()),
            ColumnBuilder::Float32(mut made) => Arc::new(made.finish()),
            ColumnBuilder::Float64(mut made) => Arc::new(made.finish()),
            ColumnBuilder::Text(mut made) | ColumnBuilder::Json(mut made) => Arc::new(made.finish()),
            ColumnBuilder::Bytes(mut made) => Arc::new(made.finish()),
            ColumnBuilder::Time(mut made) => Arc::new(made.finish()),
        }
    }
}
