//! Elements without a fixed size: texts, bytes, lists, JSON, MessagePack, and pickles, which are never loaded.
//! <https://numcodecs.readthedocs.io/en/stable/other/vlen.html>

use super::dtype::{Element, variable};
use super::filters::Numbers;
use super::offsets::Offsets;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::dtype::DType;
use crate::engines::msgpack;
use crate::engines::pickle::Pickle;
use arrow::array::{Array as _, ArrayRef, BinaryArray, ListArray, StringArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field};
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

/// How elements without a size are stored.
#[derive(Clone, Debug)]
pub(super) enum Items {
    /// `vlen-utf8`.
    Texts,
    /// `vlen-bytes`.
    Bytes,
    /// `zarrs.vlen`: offsets beside the values.
    Offsets(Arc<Offsets>),
    /// `vlen-array`: lists of elements of one type.
    Lists(Element),
    /// `categorize`: numbers of labels, from 1; the labels.
    Labels(Numbers, Vec<String>),
    /// `json2`: a list of the elements, then their type and shape.
    Json,
    /// `msgpack2`: the same as MessagePack.
    MsgPack,
    /// `pickle`: an array of Python objects.
    Pickle,
}

impl Items {
    /// The type of the elements.
    pub(super) fn dtype(&self) -> DType {
        match self {
            Items::Texts | Items::Labels(..) => DType::text(),
            Items::Offsets(offsets) if offsets.are_texts => DType::text(),
            Items::Bytes | Items::Offsets(_) => variable("bytes", DataType::Binary),
            Items::Lists(element) => {
                let inner = adapt::column(&element.dtype, &[], &[], 0);
                let inner = inner.map_or(DataType::Binary, |column| column.data_type().clone());
                variable("object", DataType::List(list_field(inner)))
            }
            Items::Json | Items::MsgPack | Items::Pickle => variable("object", DataType::Utf8),
        }
    }

    /// The elements of one decoded chunk.
    pub(super) fn column(&self, task: &Task, bytes: &Bytes) -> Result<ArrayRef> {
        match self {
            Items::Texts => {
                let text = |part: &[u8]| match std::str::from_utf8(part) {
                    Ok(_) => Ok(()),
                    Err(_) => Err(Error::malformed("vlen-utf8: an element is no UTF-8")),
                };
                let (values, offsets) = parts(bytes, text)?;
                let column = StringArray::try_new(offsets, values.into(), None);
                Ok(Arc::new(column.map_err(|e| Error::malformed(format!("vlen-utf8: {e}")))?))
            }
            Items::Bytes => {
                let (values, offsets) = parts(bytes, |_| Ok(()))?;
                Ok(Arc::new(BinaryArray::try_new(offsets, values.into(), None)?))
            }
            Items::Offsets(offsets) => offsets.column(bytes),
            Items::Lists(element) => lists(element, bytes),
            Items::Labels(numbers, labels) => {
                let mut codes = Vec::new();
                let little = super::filters::cast(bytes.to_vec(), numbers, &numbers.little())?;
                numbers.dtype().decode(&little, &mut codes);
                let label = |code: &f64| match *code as usize {
                    0 => Some(""),
                    n => labels.get(n - 1).map_or(Some(""), |label| Some(label.as_str())),
                };
                Ok(Arc::new(codes.iter().map(label).collect::<StringArray>()))
            }
            Items::Json => {
                let value = super::json::parse("json2", bytes)?;
                objects("json2", value)
            }
            Items::MsgPack => {
                let wrong = || Error::malformed("msgpack2: the chunk is no whole value, or nests too deep");
                objects("msgpack2", msgpack::text::whole(bytes).ok_or_else(wrong)?)
            }
            Items::Pickle => Pickle::read(task, bytes, 0)?.cells(),
        }
    }

    /// What a missing element is, as a column of one row; `None` for null.
    pub(super) fn fill(&self, value: &Value) -> Option<ArrayRef> {
        match (self, value) {
            (Items::Texts | Items::Labels(..) | Items::Offsets(_), Value::String(text))
                if self.dtype() == DType::text() =>
            {
                Some(Arc::new(StringArray::from(vec![text.as_str()])))
            }
            (Items::Bytes | Items::Offsets(_), value @ (Value::String(_) | Value::Array(_))) => {
                let bytes = super::fill::raw(value)?;
                Some(Arc::new(BinaryArray::from(vec![bytes.as_slice()])))
            }
            (Items::Json | Items::MsgPack | Items::Pickle, value) if !value.is_null() => {
                Some(Arc::new(StringArray::from(vec![text_of(value)])))
            }
            _ => None,
        }
    }
}

fn list_field(inner: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(inner, true))
}

/// The parts of a chunk — how many, then each with its length before it — as one buffer and where each ends.
fn parts(bytes: &[u8], check: impl Fn(&[u8]) -> Result<()>) -> Result<(Vec<u8>, OffsetBuffer<i32>)> {
    let cut = || Error::malformed("vlen: the elements end too early");
    let number = |at: usize| le::<u32>(bytes, at).map(|n| n as usize).ok_or_else(cut);
    let count = number(0)?;
    // Each element takes four bytes at least.
    if count > bytes.len() / 4 {
        return Err(cut());
    }
    i32::try_from(bytes.len()).map_err(|_| Error::limit("vlen: a chunk of more than 2 GB"))?;
    let mut values = Vec::with_capacity(bytes.len());
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(0i32);
    let mut at = 4;
    for _ in 0..count {
        let len = number(at)?;
        let part = (at + 4).checked_add(len).and_then(|end| bytes.get(at + 4..end)).ok_or_else(cut)?;
        check(part)?;
        values.extend_from_slice(part);
        offsets.push(values.len() as i32);
        at += 4 + len;
    }
    Ok((values, OffsetBuffer::new(ScalarBuffer::from(offsets))))
}

fn lists(element: &Element, bytes: &[u8]) -> Result<ArrayRef> {
    let size = limits::check(element.size(), limits::CHUNK, "an element")?.max(1);
    let whole = |part: &[u8]| match part.len() % size {
        0 => Ok(()),
        _ => Err(Error::malformed(format!("vlen-array: {} bytes are no whole {}", part.len(), element.word))),
    };
    let (mut values, offsets) = parts(bytes, whole)?;
    element.order.to_little(&element.dtype, &mut values)?;
    let count = values.len() / size;
    let inner = adapt::column(&element.dtype, &[], &values, count)?;
    let offsets: Vec<i32> = offsets.iter().map(|at| at / size as i32).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(ListArray::try_new(list_field(inner.data_type().clone()), offsets, inner, None)?))
}

/// The elements in front of the type and the shape, as texts.
fn objects(codec: &str, value: Value) -> Result<ArrayRef> {
    let Value::Array(mut list) = value else {
        return Err(Error::malformed(format!("{codec}: the chunk is no list")));
    };
    let levels = list.last().and_then(Value::as_array).map_or(1, Vec::len);
    list.truncate(list.len().saturating_sub(2));
    let mut texts = Vec::with_capacity(list.len());
    flatten(&list, levels, &mut texts);
    Ok(Arc::new(texts.into_iter().collect::<StringArray>()))
}

/// The elements of lists that lie `levels` deep, as many as the shape has dimensions.
fn flatten(list: &[Value], levels: usize, out: &mut Vec<Option<String>>) {
    for value in list {
        match value {
            Value::Array(inner) if levels > 1 => flatten(inner, levels - 1, out),
            value => out.push((!value.is_null()).then(|| text_of(value))),
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use arrow::datatypes::Int32Type;

    fn decoded(items: &Items, bytes: impl AsRef<[u8]>) -> Result<ArrayRef> {
        items.column(&Task::new(), &Bytes::copy_from_slice(bytes.as_ref()))
    }

    fn vlen(parts: &[&[u8]]) -> Vec<u8> {
        let mut out = (parts.len() as u32).to_le_bytes().to_vec();
        for part in parts {
            out.extend((part.len() as u32).to_le_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    #[test]
    fn texts_bytes_and_lists() {
        let column = decoded(&Items::Texts, vlen(&[b"goose", b"", "é".as_bytes()])).unwrap();
        let texts: Vec<_> = column.as_string::<i32>().iter().flatten().map(str::to_owned).collect();
        assert_eq!(texts, ["goose", "", "é"]);
        assert!(decoded(&Items::Texts, vlen(&[b"\xff"])).is_err());
        // The halves of one character in two elements.
        assert!(decoded(&Items::Texts, vlen(&[b"\xc3", b"\xa9"])).is_err());
        let element = super::super::dtype::of_typestr(">i4").unwrap();
        let items = Items::Lists(element);
        let column = decoded(&items, vlen(&[&[0, 0, 0, 1, 0, 0, 0, 2], &[]])).unwrap();
        assert_eq!(column.as_list::<i32>().value(0).as_primitive::<Int32Type>().values(), &[1, 2]);
        assert!(matches!(items.dtype(), DType::Variable(kind) if kind.arrow == *column.data_type()));
        assert!(decoded(&items, vlen(&[&[0, 0, 1]])).is_err());
    }

    #[test]
    fn cut_or_lying_counts_are_errors() {
        let whole = vlen(&[b"goose", b"duck"]);
        for cut in 0..whole.len() {
            assert!(decoded(&Items::Bytes, &whole[..cut]).is_err(), "{cut}");
        }
        assert!(decoded(&Items::Bytes, [0xff; 8]).is_err());
    }

    #[test]
    fn labels_and_objects() {
        let labels = Items::Labels(Numbers::parse("|u1").unwrap(), vec!["f".into(), "m".into()]);
        let column = decoded(&labels, [1, 2, 0]).unwrap();
        assert_eq!(column.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["f", "m", ""]);
        let column = decoded(&Items::Json, br#"[{"a": 1}, "x", null, "|O", [3]]"#).unwrap();
        let texts: Vec<_> = column.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some(r#"{"a":1}"#), Some("x"), None]);
    }
}
