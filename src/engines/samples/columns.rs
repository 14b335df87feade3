//! Columns without structs at their tops, and in few types: single values, lists of them, arrays of one shape.

use crate::bytes::error::{Error, Result};
use crate::engines::json::value_text;
use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, RecordBatch, StructArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, Schema, UInt64Type};
use std::ops::Range;
use std::sync::Arc;

/// How deep structs are opened.
const DEPTH: usize = 16;

/// A column of a table, or a field of one that is a struct.
#[derive(Clone, Debug)]
pub struct Flat {
    /// The name of the column, and of the fields that lead to it, with a dot between them.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether there may be nulls.
    pub nullable: bool,
    /// The number of the column.
    pub column: usize,
    /// The fields that lead to it.
    path: Vec<usize>,
}

/// The columns of a schema; of structs their fields. The bytes of a file that lie in a struct with its path, as Hugging
/// Face's pictures and sounds do, are called as the column is.
pub fn flat(schema: &Schema, separator: char) -> Vec<Flat> {
    let mut all = Vec::new();
    for (column, field) in schema.fields().iter().enumerate() {
        let top = Flat {
            name: field.name().clone(),
            data_type: field.data_type().clone(),
            nullable: field.is_nullable(),
            column,
            path: Vec::new(),
        };
        open(top, separator, 0, &mut all);
    }
    all
}

fn open(flat: Flat, separator: char, depth: usize, all: &mut Vec<Flat>) {
    let DataType::Struct(fields) = &flat.data_type else {
        all.push(flat);
        return;
    };
    if fields.is_empty() || depth > DEPTH {
        all.push(flat);
        return;
    }
    let is_file = is_file(&flat.data_type);
    for (n, field) in fields.iter().enumerate() {
        let name = match is_file && field.name() == "bytes" {
            true => flat.name.clone(),
            false => format!("{}{separator}{}", flat.name, field.name()),
        };
        let path = flat.path.iter().copied().chain([n]).collect();
        let nullable = flat.nullable || field.is_nullable();
        let inner = Flat { name, data_type: field.data_type().clone(), nullable, column: flat.column, path };
        open(inner, separator, depth + 1, all);
    }
}

/// Whether a type is that of a file: its bytes and its path.
pub fn is_file(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else { return false };
    let named = |name: &str, test: &dyn Fn(&DataType) -> bool| {
        fields.iter().any(|field| field.name() == name && test(field.data_type()))
    };
    fields.len() == 2
        && named("bytes", &|kind| Leaf::of(kind) == Leaf::Bytes)
        && named("path", &|kind| Leaf::of(kind) == Leaf::Text)
}

impl Flat {
    /// The same of a table in which the column has another number.
    pub fn at(self, column: usize) -> Flat {
        Flat { column, ..self }
    }

    /// Its cells in a batch of the table. A field of a struct that is null is null.
    ///
    /// # Errors
    /// `Bug` for a batch of another table.
    pub fn cells(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let wrong = || Error::bug(format!("the column {:?} is not in a batch", self.name));
        let mut array = batch.columns().get(self.column).cloned().ok_or_else(wrong)?;
        for field in &self.path {
            let parent = array.as_any().downcast_ref::<StructArray>().ok_or_else(wrong)?;
            let child = parent.columns().get(*field).ok_or_else(wrong)?;
            let nulls = NullBuffer::union(parent.nulls(), child.nulls());
            array = match parent.nulls() {
                Some(_) if *child.data_type() != DataType::Null => {
                    make_array(child.to_data().into_builder().nulls(nulls).build()?)
                }
                _ => child.clone(),
            };
        }
        Ok(array)
    }
}

/// What single values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Nothing.
    Null,
    /// Truth values.
    Bool,
    /// Integers of up to 64 bits with a sign.
    Int,
    /// Integers of 64 bits without a sign.
    Uint,
    /// Floats of up to 32 bits.
    Float,
    /// Floats of 64 bits.
    Double,
    /// Texts.
    Text,
    /// Bytes.
    Bytes,
    /// All else, as text: as in cells, lists and objects as JSON.
    Other,
}

impl Leaf {
    /// That of a type.
    pub fn of(data_type: &DataType) -> Leaf {
        match data_type {
            DataType::Null => Leaf::Null,
            DataType::Boolean => Leaf::Bool,
            DataType::UInt64 => Leaf::Uint,
            kind if kind.is_integer() => Leaf::Int,
            DataType::Float16 | DataType::Float32 => Leaf::Float,
            DataType::Float64 => Leaf::Double,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Leaf::Text,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Leaf::Bytes,
            DataType::Dictionary(_, values) => Leaf::of(values),
            DataType::RunEndEncoded(_, values) => Leaf::of(values.data_type()),
            _ => Leaf::Other,
        }
    }

    /// The type in which its values are given.
    fn data_type(self) -> DataType {
        match self {
            Leaf::Null => DataType::Null,
            Leaf::Bool => DataType::Boolean,
            Leaf::Int => DataType::Int64,
            Leaf::Uint => DataType::UInt64,
            Leaf::Float => DataType::Float32,
            Leaf::Double => DataType::Float64,
            Leaf::Text | Leaf::Other => DataType::LargeUtf8,
            Leaf::Bytes => DataType::LargeBinary,
        }
    }
}

/// What the cells of a column are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One value.
    Single(Leaf),
    /// As many values as each has.
    List(Leaf),
    /// Values of one shape.
    Fixed(Vec<usize>, Leaf),
}

impl Form {
    /// That of a type. Lists of lists of any length are JSON.
    pub fn of(data_type: &DataType) -> Form {
        let single = Form::Single(Leaf::of(data_type));
        match data_type {
            DataType::List(item) | DataType::LargeList(item) => match Leaf::of(item.data_type()) {
                Leaf::Other | Leaf::Null => single,
                leaf => Form::List(leaf),
            },
            DataType::FixedSizeList(..) => {
                let (mut shape, mut kind) = (Vec::new(), data_type);
                while let DataType::FixedSizeList(item, len) = kind {
                    shape.push((*len).max(0) as usize);
                    kind = item.data_type();
                }
                match Leaf::of(kind) {
                    Leaf::Other | Leaf::Null => single,
                    _ if shape.contains(&0) => single,
                    leaf => Form::Fixed(shape, leaf),
                }
            }
            _ => single,
        }
    }

    /// The values at the bottom.
    pub fn leaf(&self) -> Leaf {
        match self {
            Form::Single(leaf) | Form::List(leaf) | Form::Fixed(_, leaf) => *leaf,
        }
    }
}

/// The cells of a column in a batch.
pub struct Column {
    /// What they are.
    pub form: Form,
    /// All values, of the type of their leaf.
    pub values: ArrayRef,
    nulls: Option<NullBuffer>,
    /// Where lists begin and end in the values.
    offsets: Option<Vec<usize>>,
    /// Values of a cell of one shape.
    each: usize,
}

impl Column {
    /// Cells of any type. `name` is for errors.
    ///
    /// # Errors
    /// `Unsupported` for nulls within lists.
    pub fn new(name: &str, array: &ArrayRef) -> Result<Column> {
        let form = Form::of(array.data_type());
        let (mut values, mut nulls, mut offsets, mut each) = (array.clone(), array.nulls().cloned(), None, 1);
        match &form {
            Form::Single(_) => nulls = None,
            Form::List(_) => {
                let (all, ends): (ArrayRef, Vec<usize>) = match array.data_type() {
                    DataType::LargeList(_) => {
                        let list = array.as_list::<i64>();
                        (list.values().clone(), list.offsets().iter().map(|at| *at as usize).collect())
                    }
                    _ => {
                        let list = array.as_list::<i32>();
                        (list.values().clone(), list.offsets().iter().map(|at| *at as usize).collect())
                    }
                };
                let (first, last) = (ends.first().copied().unwrap_or(0), ends.last().copied().unwrap_or(0));
                values = all.slice(first, last - first);
                offsets = Some(ends.into_iter().map(|at| at - first).collect());
            }
            Form::Fixed(shape, _) => {
                each = shape.iter().product();
                for level in 0..shape.len() {
                    if level > 0 {
                        whole(name, &values, nulls.as_ref(), shape.get(..level).unwrap_or_default())?;
                    }
                    values = values.as_fixed_size_list().values().clone();
                }
            }
        }
        let values = leaf(form.leaf(), &values).map_err(|error| error.of(&format!("column {name:?}")))?;
        let column = Column { form, values, nulls, offsets, each };
        if !matches!(column.form, Form::Single(_)) && column.values.null_count() > 0 {
            let within = |row: usize| {
                let range = column.range(row);
                range.is_some_and(|range| range.into_iter().any(|at| column.values.is_null(at)))
            };
            if (0..array.len()).any(within) {
                return Err(nothing(name));
            }
        }
        Ok(column)
    }

    /// Cells of any type as texts: what is nested as JSON.
    pub fn texts(array: &ArrayRef) -> Column {
        let texts = (0..array.len()).map(|row| value_text::whole(array.as_ref(), row));
        let values = Arc::new(texts.collect::<LargeStringArray>());
        Column { form: Form::Single(Leaf::Other), values, nulls: None, offsets: None, each: 1 }
    }

    /// Where the values of a row lie; `None` for null.
    pub fn range(&self, row: usize) -> Option<Range<usize>> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        match (&self.form, &self.offsets) {
            (Form::Single(Leaf::Null), _) => None,
            (Form::Single(_), _) => (!self.values.is_null(row)).then_some(row..row + 1),
            (Form::List(_), Some(offsets)) => Some(*offsets.get(row)?..*offsets.get(row + 1)?),
            _ => Some(row * self.each..(row + 1) * self.each),
        }
    }

    /// Appends numbers, little-endian, and truth values as a byte each; nothing of texts and bytes.
    pub fn elements(&self, range: Range<usize>, out: &mut Vec<u8>) {
        macro_rules! numbers {
            ($ty:ty) => {
                for value in self.values.as_primitive::<$ty>().values().get(range).unwrap_or_default() {
                    out.extend(value.to_le_bytes());
                }
            };
        }
        match self.form.leaf() {
            Leaf::Int => numbers!(Int64Type),
            Leaf::Uint => numbers!(UInt64Type),
            Leaf::Float => numbers!(Float32Type),
            Leaf::Double => numbers!(Float64Type),
            Leaf::Bool => {
                let values = self.values.as_boolean();
                range.for_each(|at| out.push(u8::from(values.value(at))));
            }
            Leaf::Null | Leaf::Text | Leaf::Bytes | Leaf::Other => {}
        }
    }

    /// The bytes of a row of texts or bytes; `None` for null.
    pub fn bytes(&self, row: usize) -> Option<&[u8]> {
        let at = self.range(row)?.start;
        bytes_at(self.values.as_ref(), at)
    }
}

/// The bytes of a value of a leaf that is text or bytes.
pub fn bytes_at(values: &dyn Array, at: usize) -> Option<&[u8]> {
    match values.data_type() {
        DataType::LargeUtf8 => Some(values.as_string::<i64>().value(at).as_bytes()),
        DataType::LargeBinary => Some(values.as_binary::<i64>().value(at)),
        _ => None,
    }
}

fn nothing(name: &str) -> Error {
    Error::unsupported(format!("column {name:?}: a list has a null in it, for which there is no place"))
}

/// That no list within arrays of one shape is null, but where all of the array is.
fn whole(name: &str, lists: &ArrayRef, nulls: Option<&NullBuffer>, above: &[usize]) -> Result<()> {
    if lists.null_count() == 0 {
        return Ok(());
    }
    let each: usize = above.iter().product::<usize>().max(1);
    let is_missing = |at: usize| lists.is_null(at) && !nulls.is_some_and(|nulls| nulls.is_null(at / each));
    if (0..lists.len()).any(is_missing) { Err(nothing(name)) } else { Ok(()) }
}

/// Values as those of a leaf.
fn leaf(leaf: Leaf, values: &ArrayRef) -> Result<ArrayRef> {
    if leaf == Leaf::Other {
        let texts = (0..values.len()).map(|row| value_text::whole(values.as_ref(), row));
        return Ok(Arc::new(texts.collect::<LargeStringArray>()));
    }
    let to = leaf.data_type();
    if *values.data_type() == to {
        return Ok(values.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    if let DataType::Dictionary(_, inner) = values.data_type() {
        let plain = cast_with_options(values, inner, &options)?;
        return Ok(cast_with_options(&plain, &to, &options)?);
    }
    Ok(cast_with_options(values, &to, &options)?)
}
