//! Avro schemas: from JSON to types, and what Arrow calls them (specification, *Schema Declaration*).

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use arrow::datatypes::UnionMode;
use arrow::datatypes::{
    DataType, Field, FieldRef, Fields as ArrowFields, IntervalUnit, TimeUnit, UnionFields,
};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

/// A type of values.
#[derive(Clone, Debug)]
pub(super) enum Type {
    Null,
    Boolean,
    /// An int, as Arrow calls what it means.
    Int(DataType),
    Long(DataType),
    Float,
    Double,
    Bytes(Option<Decimal>),
    String,
    Fixed(usize, Option<Meaning>),
    Enum(Arc<Vec<String>>),
    Record(Arc<Fields>),
    Array(Box<Type>),
    Map(Box<Type>),
    /// Keys that are no texts, and values: an array of records of both, with the logical type `map`.
    Pairs(Box<Type>, Box<Type>),
    Union(Vec<Type>),
    /// A record that this value is part of, again.
    Recursive(Whole),
}

impl Type {
    /// The fewest bytes that a value takes.
    pub(super) fn least(&self, depth: usize) -> u64 {
        match self {
            Type::Null | Type::Recursive(_) => 0,
            Type::Float => 4,
            Type::Double => 8,
            Type::Fixed(size, _) => *size as u64,
            Type::Record(fields) if depth < limits::DEPTH => {
                fields.types.iter().map(|of| of.least(depth + 1)).fold(0, u64::saturating_add)
            }
            Type::Record(_) => 0,
            _ => 1,
        }
    }
}

/// The fields of a record.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) name: String,
    pub(super) names: Vec<String>,
    pub(super) types: Vec<Type>,
}

/// Digits of a decimal: all, and after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal(pub(super) u8, pub(super) i8);

/// What fixed bytes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Decimal(Decimal),
    /// Months, days and milliseconds, three little-endian u32.
    Duration,
    /// A UUID, 16 bytes (RFC 4122).
    Uuid,
}

/// A record that is not complete yet where it is named.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole(Arc<OnceLock<Weak<Fields>>>);

impl Whole {
    pub(super) fn upgrade(&self) -> Result<Type> {
        let fields = self.0.get().and_then(Weak::upgrade);
        fields
            .map(Type::Record)
            .ok_or_else(|| Error::malformed("Avro schema: a type is named that has no definition"))
    }
}

/// Named types that were seen.
#[derive(Default)]
struct Names {
    known: HashMap<String, Type>,
    open: HashMap<String, Whole>,
}

/// The type of a schema.
pub(super) fn parse(json: &Json) -> Result<Type> {
    read(json, "", &mut Names::default(), 0)
}

/// The columns of the table: the fields of a record (`true`), or one of the values.
pub(super) fn columns(root: &Type) -> Result<(ArrowFields, bool)> {
    match root {
        Type::Record(fields) => Ok((arrow_fields(fields)?, true)),
        other => Ok((ArrowFields::from(vec![field("value", other)?]), false)),
    }
}

fn malformed(what: impl std::fmt::Display) -> Error {
    Error::malformed(format!("Avro schema: {what}"))
}

fn read(json: &Json, space: &str, names: &mut Names, depth: usize) -> Result<Type> {
    if depth > limits::DEPTH {
        return Err(Error::limit("Avro schema: it is nested too deep"));
    }
    match json {
        Json::String(word) => named(word, space, names),
        Json::Array(branches) => {
            let branches = branches.iter().map(|one| read(one, space, names, depth + 1));
            Ok(Type::Union(branches.collect::<Result<_>>()?))
        }
        Json::Object(_) => complex(json, space, names, depth),
        other => Err(malformed(format!("{other} is no type"))),
    }
}

fn named(word: &str, space: &str, names: &Names) -> Result<Type> {
    Ok(match word {
        "null" => Type::Null,
        "boolean" => Type::Boolean,
        "int" => Type::Int(DataType::Int32),
        "long" => Type::Long(DataType::Int64),
        "float" => Type::Float,
        "double" => Type::Double,
        "bytes" => Type::Bytes(None),
        "string" => Type::String,
        word => {
            let full = full_name(word, space);
            let found = [full.as_str(), word].into_iter().find_map(|name| {
                let open = names.open.get(name).cloned().map(Type::Recursive);
                open.or_else(|| names.known.get(name).cloned())
            });
            return found.ok_or_else(|| malformed(format!("the type {word:?} is not defined")));
        }
    })
}

fn full_name(name: &str, space: &str) -> String {
    if space.is_empty() || name.contains('.') { name.to_owned() } else { format!("{space}.{name}") }
}

fn complex(json: &Json, space: &str, names: &mut Names, depth: usize) -> Result<Type> {
    let inner = |key: &str| json.get(key).ok_or_else(|| malformed(format!("a type has no {key:?}")));
    let kind = inner("type")?;
    let Some(word) = kind.as_str() else { return read(kind, space, names, depth + 1) };
    let logical = json.get("logicalType").and_then(Json::as_str).unwrap_or_default();
    match word {
        "array" => {
            let items = read(inner("items")?, space, names, depth + 1)?;
            Ok(pairs(&items).filter(|_| logical == "map").unwrap_or_else(|| Type::Array(Box::new(items))))
        }
        "map" => Ok(Type::Map(Box::new(read(inner("values")?, space, names, depth + 1)?))),
        "record" | "error" => record(json, space, names, depth),
        "enum" | "fixed" => {
            let made = if word == "enum" { symbols(json)? } else { fixed(json, logical)? };
            let name =
                json.get("name").and_then(Json::as_str).ok_or_else(|| malformed("a type has no name"))?;
            let space = json.get("namespace").and_then(Json::as_str).unwrap_or(space);
            names.known.insert(full_name(name, space), made.clone());
            Ok(made)
        }
        "int" => Ok(Type::Int(int(logical))),
        "long" => Ok(Type::Long(long(logical))),
        "bytes" if logical == "decimal" => Ok(Type::Bytes(decimal(json, u64::MAX))),
        word => named(word, space, names),
    }
}

/// Records of a key, which is always there, and a value, as Iceberg writes maps.
/// <https://iceberg.apache.org/spec/#avro>
fn pairs(items: &Type) -> Option<Type> {
    let Type::Record(fields) = items else { return None };
    let ([key, value], [first, second]) = (fields.types.as_slice(), fields.names.as_slice()) else {
        return None;
    };
    let is_map = first == "key" && second == "value" && !matches!(key, Type::Null | Type::Union(_));
    is_map.then(|| Type::Pairs(Box::new(key.clone()), Box::new(value.clone())))
}

fn record(json: &Json, space: &str, names: &mut Names, depth: usize) -> Result<Type> {
    let name = json.get("name").and_then(Json::as_str).unwrap_or("record");
    let space = match name.rsplit_once('.') {
        Some((space, _)) => space,
        None => json.get("namespace").and_then(Json::as_str).unwrap_or(space),
    };
    let full = full_name(name, space);
    let whole = Whole::default();
    names.open.insert(full.clone(), whole.clone());
    let list = json.get("fields").and_then(Json::as_array);
    let list = list.ok_or_else(|| malformed(format!("the record {name:?} has no fields")))?;
    let mut fields = Fields { name: name.to_owned(), names: Vec::new(), types: Vec::new() };
    for one in list {
        let field = one.get("name").and_then(Json::as_str).ok_or_else(|| malformed("a field has no name"))?;
        let of = one.get("type").ok_or_else(|| malformed(format!("the field {field:?} has no type")))?;
        // `{"name": "t", "type": "long", "logicalType": …}` is common, though the type should hold it.
        let of = match of.is_string() && one.get("logicalType").is_some() {
            true => complex(one, space, names, depth + 1)?,
            false => read(of, space, names, depth + 1)?,
        };
        fields.names.push(field.to_owned());
        fields.types.push(of);
    }
    let fields = Arc::new(fields);
    let _ = whole.0.set(Arc::downgrade(&fields));
    names.open.remove(&full);
    names.known.insert(full, Type::Record(fields.clone()));
    Ok(Type::Record(fields))
}

fn symbols(json: &Json) -> Result<Type> {
    let list =
        json.get("symbols").and_then(Json::as_array).ok_or_else(|| malformed("an enum has no symbols"))?;
    let symbols = list.iter().map(|one| one.as_str().unwrap_or_default().to_owned());
    Ok(Type::Enum(Arc::new(symbols.collect())))
}

fn fixed(json: &Json, logical: &str) -> Result<Type> {
    let size =
        json.get("size").and_then(Json::as_u64).ok_or_else(|| malformed("a fixed type has no size"))?;
    let size = limits::check(size, 1 << 24, "a fixed type")?;
    let meaning = match logical {
        "decimal" => decimal(json, size as u64).map(Meaning::Decimal),
        "duration" if size == 12 => Some(Meaning::Duration),
        "uuid" if size == 16 => Some(Meaning::Uuid),
        _ => None,
    };
    Ok(Type::Fixed(size, meaning))
}

/// A decimal that Arrow has; else the bytes stay bytes, as the specification asks for what is invalid.
fn decimal(json: &Json, size: u64) -> Option<Decimal> {
    let precision = u8::try_from(json.get("precision")?.as_u64()?).ok()?;
    let scale = i8::try_from(json.get("scale").and_then(Json::as_i64).unwrap_or(0)).ok()?;
    let fits = (1..=76).contains(&precision) && (0..=precision as i8).contains(&scale);
    (fits && (size <= 32 || size == u64::MAX)).then_some(Decimal(precision, scale))
}

fn int(logical: &str) -> DataType {
    match logical {
        "date" => DataType::Date32,
        "time-millis" => DataType::Time32(TimeUnit::Millisecond),
        _ => DataType::Int32,
    }
}

fn long(logical: &str) -> DataType {
    let utc = || Some("UTC".into());
    match logical {
        "time-micros" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp-millis" => DataType::Timestamp(TimeUnit::Millisecond, utc()),
        "timestamp-micros" => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        "timestamp-nanos" => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        "local-timestamp-millis" => DataType::Timestamp(TimeUnit::Millisecond, None),
        "local-timestamp-micros" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "local-timestamp-nanos" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        _ => DataType::Int64,
    }
}

impl Type {
    /// The branch that is not null, of a union of null and one other.
    pub(super) fn nullable(&self) -> Option<&Type> {
        match self {
            Type::Union(branches) => match branches.as_slice() {
                [Type::Null, other] | [other, Type::Null] => Some(other),
                _ => None,
            },
            _ => None,
        }
    }

    /// The word for it, as a union names its branches.
    fn word(&self) -> String {
        match self {
            Type::Null => "null".to_owned(),
            Type::Boolean => "boolean".to_owned(),
            Type::Int(_) => "int".to_owned(),
            Type::Long(_) => "long".to_owned(),
            Type::Float => "float".to_owned(),
            Type::Double => "double".to_owned(),
            Type::Bytes(_) => "bytes".to_owned(),
            Type::String => "string".to_owned(),
            Type::Fixed(..) => "fixed".to_owned(),
            Type::Enum(_) => "enum".to_owned(),
            Type::Record(fields) => fields.name.clone(),
            Type::Array(_) | Type::Pairs(..) => "array".to_owned(),
            Type::Map(_) => "map".to_owned(),
            Type::Union(_) => "union".to_owned(),
            Type::Recursive(_) => "json".to_owned(),
        }
    }

    /// What Arrow calls it.
    pub(super) fn arrow(&self) -> Result<DataType> {
        if let Some(inner) = self.nullable() {
            return inner.arrow();
        }
        Ok(match self {
            Type::Null => DataType::Null,
            Type::Boolean => DataType::Boolean,
            Type::Int(data_type) | Type::Long(data_type) => data_type.clone(),
            Type::Float => DataType::Float32,
            Type::Double => DataType::Float64,
            Type::Bytes(None) => DataType::Binary,
            Type::Bytes(Some(decimal)) | Type::Fixed(_, Some(Meaning::Decimal(decimal))) => decimal.arrow(),
            // A value of a type within itself has no finite Arrow type: its JSON has.
            Type::String | Type::Enum(_) | Type::Recursive(_) => DataType::Utf8,
            Type::Fixed(_, Some(Meaning::Duration)) => DataType::Interval(IntervalUnit::MonthDayNano),
            Type::Fixed(size, None | Some(Meaning::Uuid)) => DataType::FixedSizeBinary(
                i32::try_from(*size).map_err(|_| malformed("a fixed type is too long"))?,
            ),
            Type::Record(fields) => DataType::Struct(arrow_fields(fields)?),
            Type::Array(item) => DataType::List(field("item", item)?),
            Type::Map(value) => map(DataType::Utf8, value)?,
            Type::Pairs(key, value) => map(key.arrow()?, value)?,
            Type::Union(branches) => {
                let fields =
                    branches.iter().map(|one| field(&one.word(), one)).collect::<Result<Vec<_>>>()?;
                limits::check(fields.len() as u64, 127, "the branches of a union")?;
                let ids = 0..fields.len() as i8;
                let fields = UnionFields::try_new(ids, fields).map_err(|e| malformed(e.to_string()))?;
                DataType::Union(fields, UnionMode::Dense)
            }
        })
    }
}

impl Decimal {
    fn arrow(self) -> DataType {
        match self.0 {
            0..=38 => DataType::Decimal128(self.0, self.1),
            _ => DataType::Decimal256(self.0, self.1),
        }
    }
}

fn map(key: DataType, value: &Type) -> Result<DataType> {
    let key = Arc::new(Field::new("key", key, false));
    let entries = DataType::Struct(ArrowFields::from(vec![key, field("value", value)?]));
    Ok(DataType::Map(Arc::new(Field::new("entries", entries, false)), false))
}

fn field(name: &str, of: &Type) -> Result<FieldRef> {
    let nullable = of.nullable().is_some() || matches!(of, Type::Null | Type::Union(_));
    let field = Field::new(name, of.arrow()?, nullable);
    let is_uuid = matches!(of.nullable().unwrap_or(of), Type::Fixed(_, Some(Meaning::Uuid)));
    // Arrow has the type of its bytes, and says in the metadata what they are.
    let metadata = [(EXTENSION, UUID), ("ARROW:extension:metadata", "")];
    let metadata = metadata.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Arc::new(if is_uuid { field.with_metadata(HashMap::from(metadata)) } else { field }))
}

/// Whether a column holds UUIDs (Arrow's canonical extension type).
pub(super) fn is_uuid(field: &Field) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(16)
        && field.metadata().get(EXTENSION).is_some_and(|name| name == UUID)
}

const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";

fn arrow_fields(fields: &Fields) -> Result<ArrowFields> {
    fields.names.iter().zip(&fields.types).map(|(name, of)| field(name, of)).collect()
}
