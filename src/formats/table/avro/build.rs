//! Values as Arrow arrays.

use super::decode::Cursor;
use super::schema::{Decimal, Meaning, Type};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use arrow::array::{ArrayData, ArrayRef, BooleanBufferBuilder, NullBufferBuilder, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, IntervalMonthDayNano, i256};
use serde_json::{Map, Value as Json, json};

/// A column that grows by one value at a time.
pub(super) struct Builder {
    data_type: DataType,
    nulls: NullBufferBuilder,
    values: Values,
}

enum Values {
    Null,
    Bits(BooleanBufferBuilder),
    /// Values of so many bytes, one after the other.
    Fixed(usize, Vec<u8>),
    /// Texts or bytes: where each ends, and all of them.
    Bytes(Vec<i32>, Vec<u8>),
    List(Vec<i32>, Box<Builder>),
    /// Keys and values.
    Map(Vec<i32>, Box<Builder>, Box<Builder>),
    Struct(Vec<Builder>),
    /// Which branch, and where in it.
    Union(Vec<i8>, Vec<i32>, Vec<Builder>),
}

impl Builder {
    pub(super) fn new(of: &Type) -> Result<Builder> {
        let data_type = of.arrow()?;
        let of = of.nullable().unwrap_or(of);
        let boxed = |one: &Type| Builder::new(one).map(Box::new);
        let values = match of {
            Type::Null => Values::Null,
            Type::Boolean => Values::Bits(BooleanBufferBuilder::new(0)),
            Type::Array(item) => Values::List(vec![0], boxed(item)?),
            Type::Map(value) => Values::Map(vec![0], boxed(&Type::String)?, boxed(value)?),
            Type::Pairs(key, value) => Values::Map(vec![0], boxed(key)?, boxed(value)?),
            Type::Record(fields) => {
                Values::Struct(fields.types.iter().map(Builder::new).collect::<Result<_>>()?)
            }
            Type::Union(branches) => {
                let branches = branches.iter().map(Builder::new).collect::<Result<_>>()?;
                Values::Union(Vec::new(), Vec::new(), branches)
            }
            _ => match data_type.primitive_width() {
                Some(width) => Values::Fixed(width, Vec::new()),
                None => match &data_type {
                    DataType::FixedSizeBinary(width) => Values::Fixed(*width as usize, Vec::new()),
                    _ => Values::Bytes(vec![0], Vec::new()),
                },
            },
        };
        Ok(Builder { data_type, nulls: NullBufferBuilder::new(0), values })
    }

    /// Reads the next value.
    pub(super) fn read(&mut self, cursor: &mut Cursor, of: &Type, depth: usize) -> Result<()> {
        if depth > limits::DEPTH {
            return Err(Error::limit("Avro: values are nested too deep"));
        }
        let mut of = of;
        if of.nullable().is_some()
            && let Type::Union(branches) = of
        {
            let (_, branch) = cursor.branch(branches)?;
            if matches!(branch, Type::Null) {
                self.null();
                return Ok(());
            }
            of = branch;
        }
        self.nulls.append_non_null();
        match (&mut self.values, of) {
            (Values::Null, _) => {}
            (Values::Bits(bits), _) => bits.append(cursor.take(1)?.first().is_some_and(|b| *b != 0)),
            (Values::List(ends, child), Type::Array(item)) => {
                let count = cursor.items(|cursor| child.read(cursor, item, depth + 1))?;
                push_end(ends, count)?;
            }
            (Values::Map(ends, keys, child), Type::Map(value)) => {
                let count = cursor.items(|cursor| {
                    keys.read(cursor, &Type::String, depth + 1)?;
                    child.read(cursor, value, depth + 1)
                })?;
                push_end(ends, count)?;
            }
            (Values::Map(ends, keys, child), Type::Pairs(key, value)) => {
                let count = cursor.items(|cursor| {
                    keys.read(cursor, key, depth + 1)?;
                    child.read(cursor, value, depth + 1)
                })?;
                push_end(ends, count)?;
            }
            (Values::Struct(children), Type::Record(fields)) => {
                for (child, field) in children.iter_mut().zip(&fields.types) {
                    child.read(cursor, field, depth + 1)?;
                }
            }
            (Values::Union(ids, places, children), Type::Union(branches)) => {
                let (id, branch) = cursor.branch(branches)?;
                let child = children.get_mut(id).ok_or_else(|| Error::bug("a branch without values"))?;
                ids.push(id as i8);
                places.push(child.len() as i32);
                child.read(cursor, branch, depth + 1)?;
            }
            (Values::Fixed(width, bytes), of) => fixed(cursor, of, *width, bytes)?,
            (Values::Bytes(ends, bytes), of) => {
                let before = bytes.len();
                variable(cursor, of, bytes)?;
                push_end(ends, (bytes.len() - before) as u64)?;
            }
            _ => return Err(Error::bug("a value of another type than its column")),
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.nulls.len()
    }

    /// A value that is none.
    fn null(&mut self) {
        self.nulls.append_null();
        match &mut self.values {
            Values::Null => {}
            Values::Bits(bits) => bits.append(false),
            Values::Fixed(width, bytes) => bytes.resize(bytes.len() + *width, 0),
            Values::Bytes(ends, _) | Values::List(ends, _) | Values::Map(ends, ..) => {
                ends.push(ends.last().copied().unwrap_or(0));
            }
            Values::Struct(children) => children.iter_mut().for_each(Builder::null),
            // A union in a null struct: its first branch stands in for it.
            Values::Union(ids, places, children) => {
                if let Some(child) = children.first_mut() {
                    ids.push(0);
                    places.push(child.len() as i32);
                    child.null();
                }
            }
        }
    }

    /// The array.
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        let len = self.len();
        let nulls = self.nulls.finish();
        let of = |data_type: &DataType| ArrayData::builder(data_type.clone()).len(len);
        let builder = of(&self.data_type);
        let data = match self.values {
            Values::Null => of(&DataType::Null).build()?,
            Values::Bits(mut bits) => builder.nulls(nulls).add_buffer(bits.finish().into_inner()).build()?,
            Values::Fixed(_, bytes) => {
                // Aligned for its type, which the bytes alone are not.
                let buffer = Buffer::from_slice_ref(&bytes);
                builder.nulls(nulls).add_buffer(buffer).align_buffers(true).build()?
            }
            Values::Bytes(ends, bytes) => builder
                .nulls(nulls)
                .add_buffer(Buffer::from_vec(ends))
                .add_buffer(Buffer::from_vec(bytes))
                .build()?,
            Values::List(ends, child) => {
                let child = child.finish()?.to_data();
                builder.nulls(nulls).add_buffer(Buffer::from_vec(ends)).add_child_data(child).build()?
            }
            Values::Map(ends, keys, values) => {
                let DataType::Map(entries, _) = &self.data_type else {
                    return Err(Error::bug("a map without its type"));
                };
                let children = vec![keys.finish()?.to_data(), values.finish()?.to_data()];
                let count = children.first().map_or(0, ArrayData::len);
                let entries = ArrayData::builder(entries.data_type().clone())
                    .len(count)
                    .child_data(children)
                    .build()?;
                builder.nulls(nulls).add_buffer(Buffer::from_vec(ends)).add_child_data(entries).build()?
            }
            Values::Struct(children) => {
                let children =
                    children.into_iter().map(|c| Ok(c.finish()?.to_data())).collect::<Result<Vec<_>>>()?;
                builder.nulls(nulls).child_data(children).build()?
            }
            Values::Union(ids, places, children) => {
                let children =
                    children.into_iter().map(|c| Ok(c.finish()?.to_data())).collect::<Result<Vec<_>>>()?;
                builder
                    .add_buffer(Buffer::from_vec(ids))
                    .add_buffer(Buffer::from_vec(places))
                    .child_data(children)
                    .build()?
            }
        };
        Ok(make_array(data))
    }
}

/// The end of the next list or text.
fn push_end(ends: &mut Vec<i32>, more: u64) -> Result<()> {
    let end = ends.last().map_or(0, |end| i64::from(*end)).saturating_add_unsigned(more);
    ends.push(
        i32::try_from(end)
            .map_err(|_| Error::limit("Avro: more than 2 GB of values in one column of a block"))?,
    );
    Ok(())
}

/// A value of a fixed width, appended little-endian as Arrow has it.
fn fixed(cursor: &mut Cursor, of: &Type, width: usize, out: &mut Vec<u8>) -> Result<()> {
    match of {
        Type::Int(_) => {
            let value = cursor.long()?;
            let value =
                i32::try_from(value).map_err(|_| Error::malformed("Avro: an int has more than 32 bits"))?;
            out.extend(value.to_le_bytes());
        }
        Type::Long(_) => out.extend(cursor.long()?.to_le_bytes()),
        Type::Float | Type::Double => out.extend(cursor.take(width)?),
        Type::Fixed(len, Some(Meaning::Decimal(_))) => decimal(cursor.take(*len)?, width, out)?,
        Type::Bytes(Some(Decimal(..))) => decimal(cursor.bytes()?, width, out)?,
        Type::Fixed(len, Some(Meaning::Duration)) => {
            let bytes = cursor.take(*len)?;
            let part = |at: usize| {
                let four = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
                four.map_or(0, u32::from_le_bytes)
            };
            let interval = IntervalMonthDayNano {
                months: part(0) as i32,
                days: part(4) as i32,
                nanoseconds: i64::from(part(8)) * 1_000_000,
            };
            out.extend(interval.months.to_le_bytes());
            out.extend(interval.days.to_le_bytes());
            out.extend(interval.nanoseconds.to_le_bytes());
        }
        Type::Fixed(len, None | Some(Meaning::Uuid)) => out.extend(cursor.take(*len)?),
        _ => return Err(Error::bug("a value without a fixed width")),
    }
    Ok(())
}

/// A big-endian two's complement number as a little-endian one of `width` bytes.
fn decimal(bytes: &[u8], width: usize, out: &mut Vec<u8>) -> Result<()> {
    let sign = if bytes.first().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
    let extra = bytes.len().saturating_sub(width);
    if bytes.iter().take(extra).any(|b| *b != sign) {
        return Err(Error::malformed("Avro: a decimal has more digits than its type"));
    }
    let digits = bytes.get(extra..).unwrap_or_default();
    out.extend(digits.iter().rev());
    out.resize(out.len() + width - digits.len(), sign);
    Ok(())
}

/// A text or bytes.
fn variable(cursor: &mut Cursor, of: &Type, out: &mut Vec<u8>) -> Result<()> {
    match of {
        Type::Bytes(_) => out.extend(cursor.bytes()?),
        Type::String => out.extend(String::from_utf8_lossy(cursor.bytes()?).as_bytes()),
        Type::Enum(symbols) => {
            let symbol = usize::try_from(cursor.long()?).ok().and_then(|n| symbols.get(n));
            out.extend(
                symbol.ok_or_else(|| Error::malformed("Avro: an enum has no such symbol"))?.as_bytes(),
            );
        }
        Type::Recursive(_) => out.extend(as_json(cursor, of, 0)?.to_string().as_bytes()),
        _ => return Err(Error::bug("a value without text")),
    }
    Ok(())
}

/// A value of a recursive type as JSON.
fn as_json(cursor: &mut Cursor, of: &Type, depth: usize) -> Result<Json> {
    if depth > limits::DEPTH {
        return Err(Error::limit("Avro: values are nested too deep"));
    }
    Ok(match of {
        Type::Record(fields) => {
            let mut object = Map::new();
            for (name, one) in fields.names.iter().zip(&fields.types) {
                object.insert(name.clone(), as_json(cursor, one, depth + 1)?);
            }
            Json::Object(object)
        }
        Type::Recursive(whole) => {
            let whole = whole.upgrade()?;
            as_json(cursor, &whole, depth + 1)?
        }
        Type::Union(branches) => {
            let (_, branch) = cursor.branch(branches)?;
            as_json(cursor, branch, depth + 1)?
        }
        Type::Array(item) => {
            let mut items = Vec::new();
            cursor.items(|cursor| {
                items.push(as_json(cursor, item, depth + 1)?);
                Ok(())
            })?;
            Json::Array(items)
        }
        Type::Map(value) => {
            let mut object = Map::new();
            cursor.items(|cursor| {
                let key = String::from_utf8_lossy(cursor.bytes()?).into_owned();
                object.insert(key, as_json(cursor, value, depth + 1)?);
                Ok(())
            })?;
            Json::Object(object)
        }
        Type::Pairs(key, value) => {
            let mut items = Vec::new();
            cursor.items(|cursor| {
                let key = as_json(cursor, key, depth + 1)?;
                items.push(json!([key, as_json(cursor, value, depth + 1)?]));
                Ok(())
            })?;
            Json::Array(items)
        }
        Type::Null => Json::Null,
        Type::Boolean => json!(cursor.take(1)?.first().is_some_and(|b| *b != 0)),
        scalar => {
            let mut builder = Builder::new(scalar)?;
            builder.read(cursor, scalar, depth + 1)?;
            crate::data::cell::json(&builder.finish()?, 0)
        }
    })
}

/// The widest decimal that Arrow has, in bytes.
const _: () = assert!(size_of::<i256>() == 32);
