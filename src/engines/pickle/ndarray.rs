//! NumPy's arrays in a pickle: `_reconstruct` and a state of (version, shape, type, Fortran order, data), or
//! `_frombuffer` with the data in front.
//! <https://numpy.org/doc/stable/reference/generated/numpy.ndarray.__reduce__.html>

use super::machine::{Id, Object, Pickle, Value};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::adapt;
use crate::data::content::array::Plain;
use crate::data::dtype::numpy::literal::{Literal, Value as Python};
use crate::data::dtype::numpy::{self, Described};
use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::compute::{cast, concat};
use arrow::datatypes::DataType;
use bytes::Bytes;
use std::sync::Arc;

/// Modules that NumPy's functions for pickles are in.
const MULTIARRAY: [&str; 3] =
    ["numpy.core.multiarray", "numpy._core.multiarray", "numpy.core._multiarray_umath"];
const NUMERIC: [&str; 2] = ["numpy.core.numeric", "numpy._core.numeric"];
/// The most bytes of all texts of a column, which can hold less than twice as many.
const TEXTS: u64 = limits::CHUNK;

/// An array that a pickle would make.
#[derive(Clone, Debug)]
pub struct Ndarray {
    /// Its shape.
    pub shape: Vec<u64>,
    /// Its type.
    pub described: Described,
    /// Whether its bytes are in Fortran order. Lists never are.
    pub fortran: bool,
    /// Its elements.
    pub elements: Elements,
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub enum Elements {
    /// Objects, in C order.
    Objects(Vec<Id>),
    /// Bytes as the type says.
    Bytes(Bytes),
}

impl Ndarray {
    /// The array that `id` is; `None` where it is none that is understood.
    pub fn of(pickle: &Pickle, id: Id) -> Option<Ndarray> {
        let Value::Object(object) = pickle.value(id) else { return None };
        if pickle.is(object.class, &MULTIARRAY, "_reconstruct") {
            return pickle.reconstructed(object);
        }
        if pickle.is(object.class, &NUMERIC, "_frombuffer") {
            let [data, dtype, shape, order] = *pickle.tuple(object.arguments)?.first_chunk()?;
            let described = pickle.described(dtype)?;
            let fortran = pickle.text(order) == Some("F");
            let elements = Elements::Bytes(pickle.data(data)?);
            return Some(Ndarray { shape: pickle.shape(shape)?, described, fortran, elements });
        }
        None
    }
}

impl Pickle {
    fn reconstructed(&self, object: &Object) -> Option<Ndarray> {
        let state = self.tuple(object.state?)?;
        // The oldest states have no version in front.
        let [shape, dtype, fortran, data] = *state.last_chunk::<4>()?;
        let described = self.described(dtype)?;
        let fortran = matches!(self.value(fortran), Value::Bool(true) | Value::Int(1));
        let elements = match self.value(data) {
            Value::List(items) => Elements::Objects(items.clone()),
            _ => Elements::Bytes(self.data(data)?),
        };
        Some(Ndarray { shape: self.shape(shape)?, described, fortran, elements })
    }

    /// The items of a value that is a tuple.
    pub fn tuple(&self, id: Id) -> Option<&[Id]> {
        match self.value(id) {
            Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    fn shape(&self, id: Id) -> Option<Vec<u64>> {
        let side = |id: &Id| match self.value(*id) {
            Value::Int(side) => u64::try_from(*side).ok(),
            _ => None,
        };
        let shape = self.tuple(id)?.iter().map(side).collect::<Option<Vec<u64>>>()?;
        limits::elements(&shape).is_ok().then_some(shape)
    }

    /// Bytes that are stored as such, as Latin-1 or as a text of Python 2.
    fn data(&self, id: Id) -> Option<Bytes> {
        match self.value(id) {
            Value::Bytes(piece) | Value::ByteArray(piece) | Value::Text(piece) => Some(self.shared(*piece)),
            Value::Object(object) if self.encoded(id).is_none() => {
                // `bytearray(b'…')` and `pickle.PickleBuffer` of older protocols.
                let [inner] = self.tuple(object.arguments)? else { return None };
                let plain = self.is(object.class, &["builtins", "__builtin__"], "bytearray");
                plain.then(|| self.data(*inner)).flatten()
            }
            _ => self.encoded(id).map(Bytes::from),
        }
    }

    /// `dtype('f8', False, True)` and its state: version, order, inner type, names, fields …
    fn described(&self, id: Id) -> Option<Described> {
        numpy::describe(&self.descr(id, 0)?).ok()
    }

    fn descr(&self, id: Id, depth: usize) -> Option<Literal> {
        let literal = |value| Literal { at: 0, value };
        let Value::Object(object) = self.value(id) else { return None };
        if depth > 16 || !self.is(object.class, &["numpy"], "dtype") {
            return None;
        }
        let word = self.text(*self.tuple(object.arguments)?.first()?)?.to_owned();
        let state = object.state.and_then(|state| self.tuple(state)).unwrap_or_default();
        let order = state.get(1).and_then(|id| self.text(*id)).filter(|o| matches!(*o, "<" | ">" | "|"));
        let names = state.get(3).and_then(|names| self.tuple(*names)).filter(|names| !names.is_empty());
        let Some(names) = names else {
            // An array in a field, and times, have more in their states than is read here.
            let inner = state.get(2).is_none_or(|inner| matches!(self.value(*inner), Value::None));
            let plain = inner && !word.starts_with(['M', 'm', 'V']);
            return plain.then(|| literal(Python::Str(format!("{}{word}", order.unwrap_or("|")))));
        };
        let Value::Dict(fields) = self.value(*state.get(4)?) else { return None };
        let mut parts = Vec::with_capacity(names.len());
        for name in names {
            let name = self.text(*name)?;
            let (_, field) = fields.iter().find(|(key, _)| self.text(*key) == Some(name))?;
            let dtype = self.descr(*self.tuple(*field)?.first()?, depth + 1)?;
            parts.push(literal(Python::Tuple(vec![literal(Python::Str(name.to_owned())), dtype])));
        }
        // A record with gaps has another size than its fields together.
        let record = literal(Python::List(parts));
        let size = numpy::describe(&record).ok()?.dtype.size();
        (word == format!("V{size}")).then_some(record)
    }
}

impl Ndarray {
    /// The elements as texts, in C order: what a cell shows.
    ///
    /// # Errors
    /// `Malformed` where there are other elements than the shape has, `Unsupported` for elements in Fortran
    /// order, which arrays of objects never are in, `Limit` where the texts are too long together.
    pub fn texts(&self, pickle: &Pickle) -> Result<ArrayRef> {
        let count = limits::elements(&self.shape)?;
        let column: ArrayRef = match &self.elements {
            Elements::Objects(items) => Arc::new(texts(pickle, items, TEXTS)?),
            Elements::Bytes(_) if self.described.object => {
                return Err(Error::unsupported("pickle: objects as bytes"));
            }
            Elements::Bytes(_) if self.fortran && self.shape.len() > 1 => {
                return Err(Error::unsupported("pickle: a chunk of numbers in Fortran order"));
            }
            Elements::Bytes(bytes) => {
                let dtype = &self.described.dtype;
                let size = limits::check(dtype.size(), limits::CHUNK, "an element")?.max(1);
                let mut bytes = bytes.to_vec();
                self.described.order.to_little(dtype, &mut bytes)?;
                let values = adapt::column(dtype, &[], &bytes, bytes.len() / size)?;
                numbers(&values, TEXTS)?
            }
        };
        match column.len() as u64 == count {
            true => Ok(column),
            false => {
                let there = column.len();
                Err(Error::malformed(format!("pickle: an array of {there} elements, its shape has {count}")))
            }
        }
    }

    /// The array as content, where its elements are bytes in one piece.
    ///
    /// # Errors
    /// `Unsupported` for objects, `Malformed` where bytes are missing.
    pub fn plain(&self, name: &str) -> Result<Plain> {
        let Elements::Bytes(bytes) = &self.elements else {
            return Err(Error::unsupported("an array of Python objects"));
        };
        if self.described.object {
            return Err(Error::unsupported("records of Python objects"));
        }
        let source = Source::memory(name, bytes.clone());
        Ok(Plain::new(source, 0, self.described.dtype.clone(), self.shape.clone())?
            .fortran(self.fortran)
            .byte_order(self.described.order.clone()))
    }
}

/// Values as cells: texts as they are, `None` as null, everything else as Python writes it; `most` bytes in all.
/// A short pickle may have one long text as each of its elements.
///
/// # Errors
/// `Limit` where they are longer together.
pub(super) fn texts(pickle: &Pickle, items: &[Id], most: u64) -> Result<StringArray> {
    let (mut texts, mut total) = (StringBuilder::new(), 0);
    for &id in items {
        if matches!(pickle.value(id), Value::None) {
            texts.append_null();
            continue;
        }
        let text = pickle.show(id);
        total = within(total, text.len(), most)?;
        texts.append_value(&text);
    }
    Ok(texts.finish())
}

/// Numbers as cells, part by part, so that it is known of each whether there is room for it.
pub(super) fn numbers(values: &ArrayRef, most: u64) -> Result<ArrayRef> {
    const PART: usize = 1 << 20;
    if values.len() <= PART {
        return Ok(cast(values, &DataType::Utf8)?);
    }
    let (mut parts, mut total) = (Vec::new(), 0);
    for at in (0..values.len()).step_by(PART) {
        let part = cast(&values.slice(at, PART.min(values.len() - at)), &DataType::Utf8)?;
        let ends = part.as_string::<i32>().value_offsets();
        let len = ends.last().zip(ends.first()).map_or(0, |(end, start)| end - start);
        total = within(total, len as usize, most)?;
        parts.push(part);
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    Ok(concat(&parts)?)
}

/// The bytes of all texts with these, if they may be so many.
fn within(total: u64, more: usize, most: u64) -> Result<u64> {
    let total = total.saturating_add(more as u64);
    limits::check(total, most, "the text of these objects")?;
    Ok(total)
}

impl Pickle {
    /// The elements of an array of `count` objects as texts: the array that the pickle is, or the list that
    /// stands for one.
    ///
    /// # Errors
    /// `Malformed` where the pickle has no end or is something else, `Limit` where the texts are too long
    /// together.
    pub fn cells(&self) -> Result<ArrayRef> {
        let root = match (self.root(), self.fault()) {
            (Some(root), _) => root,
            (None, Some(fault)) => return Err(fault.clone()),
            (None, None) => return Err(Error::malformed("a pickle without an end")),
        };
        if let Some(array) = Ndarray::of(self, root) {
            return array.texts(self);
        }
        match self.value(root) {
            Value::List(items) | Value::Tuple(items) => Ok(Arc::new(texts(self, items, TEXTS)?)),
            _ => Ok(Arc::new(texts(self, &[root], TEXTS)?)),
        }
    }
}
