//! What Avro calls the types of Arrow: the type that a column is cast to before it is written, which is the one that it
//! is read as again, and its schema.

use super::schema::is_uuid;
use crate::data::format::LossKind;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::sync::Arc;

/// A type as Avro keeps it.
pub(super) struct Stored {
    pub(super) data_type: DataType,
    /// What values lose.
    pub(super) lost: Vec<(LossKind, &'static str)>,
}

impl From<DataType> for Stored {
    fn from(data_type: DataType) -> Self {
        Stored { data_type, lost: Vec::new() }
    }
}

impl Stored {
    fn text(kind: LossKind, what: &'static str) -> Self {
        Stored { data_type: DataType::Utf8, lost: vec![(kind, what)] }
    }

    /// Something around it.
    fn inside(self, around: impl FnOnce(DataType) -> DataType) -> Self {
        let is_text = self.lost.iter().any(|(kind, _)| *kind == LossKind::Type);
        // Arrow casts no union or interval inside of something: the whole becomes text.
        let data_type = if is_text { DataType::Utf8 } else { around(self.data_type) };
        Stored { data_type, lost: self.lost }
    }
}

/// The type that a column of this type is written as, and read as.
pub(super) fn stored(data_type: &DataType) -> Stored {
    use DataType as D;
    match data_type {
        D::Int8 | D::Int16 | D::UInt8 | D::UInt16 => D::Int32.into(),
        D::UInt32 => D::Int64.into(),
        D::UInt64 => D::Decimal128(20, 0).into(),
        D::Float16 => D::Float32.into(),
        D::Utf8 | D::LargeUtf8 | D::Utf8View => D::Utf8.into(),
        D::Binary | D::LargeBinary | D::BinaryView => D::Binary.into(),
        D::Date64 => D::Date32.into(),
        D::Time32(_) => D::Time32(TimeUnit::Millisecond).into(),
        D::Time64(TimeUnit::Nanosecond) => Stored {
            data_type: D::Time64(TimeUnit::Microsecond),
            lost: vec![(LossKind::Precision, "nanoseconds become microseconds")],
        },
        D::Timestamp(unit, zone) => timestamp(*unit, zone.as_deref()),
        D::Decimal32(digits, scale) | D::Decimal64(digits, scale) | D::Decimal128(digits, scale) => {
            decimal(*digits, *scale, D::Decimal128)
        }
        D::Decimal256(digits, scale) => {
            // Fewer digits are read as the narrower type.
            decimal(*digits, *scale, if *digits > 38 { D::Decimal256 } else { D::Decimal128 })
        }
        D::Duration(_) => Stored::text(LossKind::Type, "the duration is kept as text"),
        D::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano) => {
            Stored::text(LossKind::Type, "the interval is kept as text")
        }
        D::Union(_, _) => Stored::text(LossKind::Type, "the union is kept as text"),
        D::Dictionary(_, values) => stored(values),
        D::RunEndEncoded(_, values) => stored(values.data_type()),
        D::List(item)
        | D::LargeList(item)
        | D::ListView(item)
        | D::LargeListView(item)
        | D::FixedSizeList(item, _) => {
            let nullable = is_nullable(item);
            stored(item.data_type()).inside(|of| D::List(Arc::new(Field::new("item", of, nullable))))
        }
        D::Struct(fields) => record(fields),
        D::Map(entries, _) => map(entries),
        other => other.clone().into(),
    }
}

fn is_nullable(field: &Field) -> bool {
    field.is_nullable() || *field.data_type() == DataType::Null
}

fn timestamp(unit: TimeUnit, zone: Option<&str>) -> Stored {
    let unit = if unit == TimeUnit::Second { TimeUnit::Millisecond } else { unit };
    let of = |zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
    match zone {
        None | Some("UTC") => of(zone).into(),
        Some("+00:00" | "Z" | "Etc/UTC") => of(Some("UTC")).into(),
        Some(_) => Stored {
            data_type: of(Some("UTC")),
            lost: vec![(LossKind::Zone, "the time zone is lost, the moments stay: they are in UTC")],
        },
    }
}

fn decimal(digits: u8, scale: i8, of: fn(u8, i8) -> DataType) -> Stored {
    match u8::try_from(scale) {
        Ok(places) if places <= digits => of(digits, scale).into(),
        _ => Stored::text(LossKind::Type, "a decimal of such a scale is kept as text"),
    }
}

fn record(fields: &Fields) -> Stored {
    if fields.is_empty() {
        return Stored::text(LossKind::Type, "a struct without fields is kept as text");
    }
    let names = Names::of(fields.iter().map(|field| field.name().as_str()));
    let (mut inner, mut lost) = (Vec::new(), Vec::new());
    for (field, name) in fields.iter().zip(names.0) {
        let stored = stored(field.data_type());
        inner.push(Arc::new(Field::new(name, stored.data_type, is_nullable(field))));
        lost.extend(stored.lost);
    }
    let data_type = DataType::Struct(inner.into());
    Stored { data_type: data_type.clone(), lost }.inside(|_| data_type)
}

/// A map whose keys are texts is Avro's; one of other keys an array of records of a key and a value, which says that it is
/// a map, as Iceberg writes them.
fn map(entries: &FieldRef) -> Stored {
    let DataType::Struct(fields) = entries.data_type() else {
        return Stored::text(LossKind::Type, "the map is kept as text");
    };
    let [key, value] = fields.iter().as_slice() else {
        return Stored::text(LossKind::Type, "the map is kept as text");
    };
    let of_key = stored(key.data_type());
    if of_key.lost.iter().any(|(kind, _)| *kind == LossKind::Type) {
        return Stored::text(LossKind::Type, "a map with such keys is kept as text");
    }
    let (nullable, lost) = (is_nullable(value), of_key.lost);
    let mut stored = stored(value.data_type()).inside(|of| {
        let pair = [Field::new("key", of_key.data_type, false), Field::new("value", of, nullable)];
        let entries = Field::new("entries", DataType::Struct(pair.into_iter().collect()), false);
        DataType::Map(Arc::new(entries), false)
    });
    stored.lost.extend(lost);
    stored
}

/// Names that Avro has: letters, digits and underscores, no digit first, each once (specification, *Names*).
pub(super) struct Names(pub(super) Vec<String>);

impl Names {
    /// Such names for these ones, in their order.
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let mut seen = HashSet::new();
        let legal = names.into_iter().map(|name| {
            let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            let mut legal: String = name.chars().map(letter).collect();
            if !legal.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                legal.insert(0, '_');
            }
            let mut unique = legal.clone();
            for n in 2u64.. {
                if seen.insert(unique.clone()) {
                    break;
                }
                unique = format!("{legal}_{n}");
            }
            unique
        });
        Names(legal.collect())
    }
}

/// The schema of a record of these columns.
pub(super) fn schema_of(name: &str, fields: &Fields) -> Json {
    let name = Names::of([name]).0.concat();
    record_schema(&name, fields)
}

fn record_schema(name: &str, fields: &Fields) -> Json {
    let names = Names::of(fields.iter().map(|field| field.name().as_str()));
    let of = |(field, column): (&FieldRef, &String)| {
        let schema = field_schema(&format!("{name}.{column}"), field);
        match field.name() == column {
            true => json!({ "name": column, "type": schema }),
            false => json!({ "name": column, "type": schema, "doc": field.name() }),
        }
    };
    let list: Vec<Json> = fields.iter().zip(&names.0).map(of).collect();
    json!({ "type": "record", "name": name, "fields": list })
}

/// The schema of a field of a type that [`stored`] gives; `name` is for what must have one, and is nowhere else.
fn field_schema(name: &str, field: &Field) -> Json {
    let mut of = type_schema(name, field.data_type());
    if let Some(fixed) = of.as_object_mut().filter(|_| is_uuid(field)) {
        fixed.insert("logicalType".to_owned(), json!("uuid"));
    }
    match field.is_nullable() && *field.data_type() != DataType::Null {
        true => json!(["null", of]),
        false => of,
    }
}

fn type_schema(name: &str, data_type: &DataType) -> Json {
    use DataType as D;
    let logical = |of: &str, word: String| json!({ "type": of, "logicalType": word });
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second | TimeUnit::Millisecond => "millis",
        TimeUnit::Microsecond => "micros",
        TimeUnit::Nanosecond => "nanos",
    };
    match data_type {
        D::Null => json!("null"),
        D::Boolean => json!("boolean"),
        D::Int32 => json!("int"),
        D::Int64 => json!("long"),
        D::Float32 => json!("float"),
        D::Float64 => json!("double"),
        D::Binary => json!("bytes"),
        D::FixedSizeBinary(size) => json!({ "type": "fixed", "name": name, "size": size }),
        D::Date32 => logical("int", "date".to_owned()),
        D::Time32(_) => logical("int", "time-millis".to_owned()),
        D::Time64(_) => logical("long", "time-micros".to_owned()),
        D::Timestamp(of, None) => logical("long", format!("local-timestamp-{}", unit(of))),
        D::Timestamp(of, Some(_)) => logical("long", format!("timestamp-{}", unit(of))),
        D::Decimal128(digits, scale) | D::Decimal256(digits, scale) => {
            json!({ "type": "bytes", "logicalType": "decimal", "precision": digits, "scale": scale })
        }
        D::List(item) => json!({ "type": "array", "items": field_schema(&format!("{name}.item"), item) }),
        D::Map(entries, _) => match entries.data_type() {
            D::Struct(pair) if pair.first().is_some_and(|key| *key.data_type() != D::Utf8) => {
                let items = record_schema(&format!("{name}.entry"), pair);
                json!({ "type": "array", "logicalType": "map", "items": items })
            }
            D::Struct(pair) => {
                let value = |value: &FieldRef| field_schema(&format!("{name}.value"), value);
                json!({ "type": "map", "values": pair.get(1).map_or(json!("null"), value) })
            }
            _ => json!({ "type": "map", "values": "null" }),
        },
        D::Struct(fields) => record_schema(name, fields),
        _ => json!("string"),
    }
}
