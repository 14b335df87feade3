//! The schema message: fields and types from their flatbuffers, every word of them checked, and for
//! each column the plan of its buffers.
//!
//! Specification: <https://github.com/apache/arrow/blob/main/format/Schema.fbs>.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use arrow::datatypes::{
    DataType, Field, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit, UnionFields, UnionMode,
};
use arrow::ipc;
use std::collections::HashMap;
use std::sync::Arc;

/// What a schema message says.
pub(super) struct IpcSchema {
    /// Names and types.
    pub(super) schema: SchemaRef,
    /// For each column, where its values are found in a record batch.
    pub(super) plans: Vec<Arc<Plan>>,
    /// Key-value metadata in file order.
    pub(super) attributes: Vec<(String, String)>,
    /// Numbers are stored with the highest byte first.
    pub(super) big_endian: bool,
    /// Before version 5 of the metadata: unions have a validity bitmap.
    pub(super) old_unions: bool,
    /// The metadata's version in words.
    pub(super) version: &'static str,
}

/// The type of a field and of what lies below it, in the order of a batch's field nodes.
#[derive(Debug)]
pub(super) struct Plan {
    /// The type.
    pub(super) dtype: DataType,
    /// The dictionary's number, where values are looked up in one; its values' plan is then the only
    /// child and has no nodes or buffers in the batch itself.
    pub(super) dictionary: Option<i64>,
    /// What lies below.
    pub(super) children: Vec<Plan>,
}

/// A place in a batch's lists of field nodes, buffers and counts of view buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) node: usize,
    pub(super) buffer: usize,
    pub(super) views: usize,
}

impl Plan {
    /// A plan for a type without anything below.
    pub(super) fn flat(dtype: DataType) -> Plan {
        Plan { dtype, dictionary: None, children: Vec::new() }
    }

    /// Moves `at` behind this field; `views` are the batch's counts of view buffers.
    pub(super) fn skip(&self, at: &mut Cursor, views: &[u64], old_unions: bool) {
        at.node += 1;
        at.buffer += match &self.dtype {
            DataType::Null | DataType::RunEndEncoded(_, _) => 0,
            DataType::Struct(_) | DataType::FixedSizeList(_, _) => 1,
            DataType::Union(_, mode) => 1 + usize::from(*mode == UnionMode::Dense) + usize::from(old_unions),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
            DataType::ListView(_) | DataType::LargeListView(_) => 3,
            DataType::Utf8View | DataType::BinaryView => {
                let count = views.get(at.views).copied().unwrap_or(0);
                at.views += 1;
                usize::try_from(count).unwrap_or(usize::MAX / 4).saturating_add(2)
            }
            _ => 2,
        };
        if self.dictionary.is_none() {
            for child in &self.children {
                child.skip(at, views, old_unions);
            }
        }
    }
}

/// Reads a schema; `version` is the message's or footer's, `both` as for [`pairs`].
///
/// # Errors
/// `Malformed` for types that the format does not have, `Limit` for fields that nest too deeply.
pub(super) fn read(
    schema: ipc::Schema,
    version: ipc::MetadataVersion,
    both: (&[u8], &[u8]),
) -> Result<IpcSchema> {
    let mut fields = Vec::new();
    let mut plans = Vec::new();
    for field in schema.fields().into_iter().flatten() {
        let (field, plan) = read_field(field, both, 0)?;
        fields.push(Arc::new(field));
        plans.push(Arc::new(plan));
    }
    let mut attributes = Vec::new();
    pairs(schema.custom_metadata().into_iter().flatten(), both, &mut |key, value| {
        attributes.push((key, value))
    });
    let metadata: HashMap<String, String> = attributes.iter().cloned().collect();
    let (version, old) = match version {
        ipc::MetadataVersion::V1 => ("V1", true),
        ipc::MetadataVersion::V2 => ("V2", true),
        ipc::MetadataVersion::V3 => ("V3", true),
        ipc::MetadataVersion::V4 => ("V4", true),
        ipc::MetadataVersion::V5 => ("V5", false),
        other => return Err(Error::unsupported(format!("Arrow metadata of version {}", other.0))),
    };
    if version < "V4" {
        return Err(Error::unsupported(format!("Arrow metadata {version}, from before Arrow 0.8")));
    }
    Ok(IpcSchema {
        schema: Arc::new(Schema::new_with_metadata(Fields::from(fields), metadata)),
        plans,
        attributes,
        big_endian: schema.endianness() == ipc::Endianness::Big,
        old_unions: old,
        version,
    })
}

/// Each pair of metadata. `both` are the flatbuffer and the same as it stands in the file: text that
/// differs is no UTF-8 there and is given in hexadecimal.
pub(super) fn pairs<'a>(
    list: impl Iterator<Item = ipc::KeyValue<'a>>,
    both: (&[u8], &[u8]),
    each: &mut dyn FnMut(String, String),
) {
    let text = |text: Option<&str>| -> String {
        let text = text.unwrap_or_default();
        let at = (text.as_ptr() as usize).wrapping_sub(both.0.as_ptr() as usize);
        match both.1.get(at..at.saturating_add(text.len())) {
            Some(original) if original != text.as_bytes() => {
                let hex: String = original.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("0x{hex}")
            }
            _ => text.to_owned(),
        }
    };
    for pair in list {
        each(text(pair.key()), text(pair.value()));
    }
}

fn read_field(field: ipc::Field, both: (&[u8], &[u8]), depth: usize) -> Result<(Field, Plan)> {
    if depth > limits::DEPTH {
        return Err(Error::limit(format!("the schema nests deeper than {} levels", limits::DEPTH)));
    }
    let name = field.name().unwrap_or_default();
    let (dtype, children) =
        read_type(field, both, depth).map_err(|e| e.in_node(&format!("column {name:?}")))?;
    let mut plan = Plan { dtype, dictionary: None, children };
    if let Some(dictionary) = field.dictionary() {
        let keys = match dictionary.indexType() {
            Some(int) => integer(int)?,
            None => DataType::Int32,
        };
        let dtype = DataType::Dictionary(Box::new(keys), Box::new(plan.dtype.clone()));
        plan = Plan { dtype, dictionary: Some(dictionary.id()), children: vec![plan] };
    }
    let mut metadata = HashMap::new();
    pairs(field.custom_metadata().into_iter().flatten(), both, &mut |key, value| {
        drop(metadata.insert(key, value))
    });
    Ok((Field::new(name, plan.dtype.clone(), field.nullable()).with_metadata(metadata), plan))
}

fn wrong(what: impl std::fmt::Display) -> Error {
    Error::malformed(format!("schema: {what}"))
}

fn absent() -> Error {
    wrong("a type without its description")
}

fn integer(int: ipc::Int) -> Result<DataType> {
    Ok(match (int.bitWidth(), int.is_signed()) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (64, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (64, false) => DataType::UInt64,
        (bits, _) => return Err(wrong(format!("integers of {bits} bits"))),
    })
}

fn unit(unit: ipc::TimeUnit) -> Result<TimeUnit> {
    Ok(match unit {
        ipc::TimeUnit::SECOND => TimeUnit::Second,
        ipc::TimeUnit::MILLISECOND => TimeUnit::Millisecond,
        ipc::TimeUnit::MICROSECOND => TimeUnit::Microsecond,
        ipc::TimeUnit::NANOSECOND => TimeUnit::Nanosecond,
        other => return Err(wrong(format!("the time unit {}", other.0))),
    })
}

/// The type of a field, and the plans of what lies below.
fn read_type(field: ipc::Field, both: (&[u8], &[u8]), depth: usize) -> Result<(DataType, Vec<Plan>)> {
    let flat = match field.type_type() {
        ipc::Type::Null => DataType::Null,
        ipc::Type::Bool => DataType::Boolean,
        ipc::Type::Binary => DataType::Binary,
        ipc::Type::LargeBinary => DataType::LargeBinary,
        ipc::Type::BinaryView => DataType::BinaryView,
        ipc::Type::Utf8 => DataType::Utf8,
        ipc::Type::LargeUtf8 => DataType::LargeUtf8,
        ipc::Type::Utf8View => DataType::Utf8View,
        ipc::Type::Int => integer(field.type_as_int().ok_or_else(absent)?)?,
        ipc::Type::FloatingPoint => match field.type_as_floating_point().ok_or_else(absent)?.precision() {
            ipc::Precision::HALF => DataType::Float16,
            ipc::Precision::SINGLE => DataType::Float32,
            ipc::Precision::DOUBLE => DataType::Float64,
            other => return Err(wrong(format!("floats of precision {}", other.0))),
        },
        ipc::Type::FixedSizeBinary => {
            let width = field.type_as_fixed_size_binary().ok_or_else(absent)?.byteWidth();
            DataType::FixedSizeBinary(not_negative(width)?)
        }
        ipc::Type::Decimal => decimal(field.type_as_decimal().ok_or_else(absent)?)?,
        ipc::Type::Date
        | ipc::Type::Time
        | ipc::Type::Timestamp
        | ipc::Type::Interval
        | ipc::Type::Duration => time(field)?,
        _ => return nested(field, both, depth),
    };
    Ok((flat, Vec::new()))
}

fn not_negative(size: i32) -> Result<i32> {
    if size < 0 { Err(wrong(format!("a size of {size}"))) } else { Ok(size) }
}

fn decimal(decimal: ipc::Decimal) -> Result<DataType> {
    let (digits, scale) = (decimal.precision(), decimal.scale());
    let most = match decimal.bitWidth() {
        32 => 9,
        64 => 18,
        128 => 38,
        256 => 76,
        bits => return Err(wrong(format!("decimals of {bits} bits"))),
    };
    let fits =
        || Some((u8::try_from(digits).ok().filter(|d| (1..=most).contains(d))?, i8::try_from(scale).ok()?));
    let (digits, scale) =
        fits().ok_or_else(|| wrong(format!("a decimal of {digits} digits and scale {scale}")))?;
    Ok(match most {
        9 => DataType::Decimal32(digits, scale),
        18 => DataType::Decimal64(digits, scale),
        38 => DataType::Decimal128(digits, scale),
        _ => DataType::Decimal256(digits, scale),
    })
}

fn time(field: ipc::Field) -> Result<DataType> {
    Ok(match field.type_type() {
        ipc::Type::Date => match field.type_as_date().ok_or_else(absent)?.unit() {
            ipc::DateUnit::DAY => DataType::Date32,
            ipc::DateUnit::MILLISECOND => DataType::Date64,
            other => return Err(wrong(format!("the date unit {}", other.0))),
        },
        ipc::Type::Time => {
            let time = field.type_as_time().ok_or_else(absent)?;
            match (time.bitWidth(), unit(time.unit())?) {
                (32, unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => DataType::Time32(unit),
                (64, unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => DataType::Time64(unit),
                (bits, unit) => return Err(wrong(format!("times of {bits} bits in {unit:?}s"))),
            }
        }
        ipc::Type::Timestamp => {
            let stamp = field.type_as_timestamp().ok_or_else(absent)?;
            DataType::Timestamp(unit(stamp.unit())?, stamp.timezone().map(Into::into))
        }
        ipc::Type::Interval => match field.type_as_interval().ok_or_else(absent)?.unit() {
            ipc::IntervalUnit::YEAR_MONTH => DataType::Interval(IntervalUnit::YearMonth),
            ipc::IntervalUnit::DAY_TIME => DataType::Interval(IntervalUnit::DayTime),
            ipc::IntervalUnit::MONTH_DAY_NANO => DataType::Interval(IntervalUnit::MonthDayNano),
            other => return Err(wrong(format!("the interval unit {}", other.0))),
        },
        _ => DataType::Duration(unit(field.type_as_duration().ok_or_else(absent)?.unit())?),
    })
}

fn nested(field: ipc::Field, both: (&[u8], &[u8]), depth: usize) -> Result<(DataType, Vec<Plan>)> {
    let (mut fields, mut plans) = (Vec::new(), Vec::new());
    for child in field.children().into_iter().flatten() {
        let (child, plan) = read_field(child, both, depth + 1)?;
        fields.push(Arc::new(child));
        plans.push(plan);
    }
    let kind = field.type_type();
    let one = || match fields.as_slice() {
        [only] => Ok(only.clone()),
        several => Err(wrong(format!("a list of {} fields", several.len()))),
    };
    let dtype = match kind {
        ipc::Type::List => DataType::List(one()?),
        ipc::Type::LargeList => DataType::LargeList(one()?),
        ipc::Type::ListView => DataType::ListView(one()?),
        ipc::Type::LargeListView => DataType::LargeListView(one()?),
        ipc::Type::FixedSizeList => {
            let size = field.type_as_fixed_size_list().ok_or_else(absent)?.listSize();
            DataType::FixedSizeList(one()?, not_negative(size)?)
        }
        ipc::Type::Map => {
            let entries = one()?;
            if !matches!(entries.data_type(), DataType::Struct(pair) if pair.len() == 2) {
                return Err(wrong("a map whose entries are no pairs"));
            }
            DataType::Map(entries, field.type_as_map().ok_or_else(absent)?.keysSorted())
        }
        ipc::Type::Struct_ => DataType::Struct(Fields::from(fields)),
        ipc::Type::RunEndEncoded => match fields.as_slice() {
            [ends, values] => {
                if !matches!(ends.data_type(), DataType::Int16 | DataType::Int32 | DataType::Int64) {
                    return Err(wrong("run ends that are no integers"));
                }
                DataType::RunEndEncoded(ends.clone(), values.clone())
            }
            other => return Err(wrong(format!("run-end encoding with {} fields", other.len()))),
        },
        ipc::Type::Union => {
            let union = field.type_as_union().ok_or_else(absent)?;
            let mode = match union.mode() {
                ipc::UnionMode::Sparse => UnionMode::Sparse,
                ipc::UnionMode::Dense => UnionMode::Dense,
                other => return Err(wrong(format!("a union of mode {}", other.0))),
            };
            DataType::Union(union_fields(union, fields)?, mode)
        }
        other => return Err(Error::unsupported(format!("Arrow type number {}", other.0))),
    };
    Ok((dtype, plans))
}

fn union_fields(union: ipc::Union, fields: Vec<Arc<Field>>) -> Result<UnionFields> {
    let ids: Vec<i8> = match union.typeIds() {
        Some(ids) => ids
            .iter()
            .map(i8::try_from)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong("a union's type ids are too large"))?,
        None => (0..fields.len())
            .map(i8::try_from)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong("a union of too many types"))?,
    };
    if ids.len() != fields.len() || ids.iter().any(|id| *id < 0) {
        return Err(wrong(format!("a union of {} types with {} type ids", fields.len(), ids.len())));
    }
    UnionFields::try_new(ids, fields).map_err(|e| wrong(e.to_string()))
}
