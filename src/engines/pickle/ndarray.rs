//! NumPy's arrays in a pickle: `_reconstruct` and a state of (version, shape, type, Fortran order, data), or
//! `_frombuffer` with the data in front.
//! <https://numpy.org/doc/stable/reference/generated/numpy.ndarray.__reduce__.html>

use super::machine::{Id, Inlined, Pickle, Piece, Value};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::content::array::Plain;
use crate::data::dtype::numpy::literal::{Literal, Value as Python};
use crate::data::dtype::numpy::{self, Described};
use crate::data::dtype::{DType, Mini};
use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::compute::{cast, concat};
use arrow::datatypes::DataType;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// Modules that NumPy's functions for pickles are in.
const MULTIARRAY: [&str; 3] =
    ["numpy.core.multiarray", "numpy._core.multiarray", "numpy.core._multiarray_umath"];
const NUMERIC: [&str; 2] = ["numpy.core.numeric", "numpy._core.numeric"];
const MASKED: [&str; 1] = ["numpy.ma.core"];
/// The most bytes of all texts of a column, which can hold less than twice as many.
pub(super) const TEXTS: u64 = limits::CHUNK;

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

/// The elements of an array as they stand in the pickle.
pub(super) enum Stored {
    /// Objects, in C order: a list.
    Objects(Id),
    /// Bytes as the type says.
    Bytes(Bytes),
    /// The same as a text, a character a byte: protocols before 3 as Python 3 writes them.
    Latin(Piece),
}

/// An array whose elements were not looked at.
pub(super) struct Found {
    pub(super) shape: Vec<u64>,
    pub(super) described: Described,
    pub(super) fortran: bool,
    pub(super) stored: Stored,
}

impl Ndarray {
    /// The array that `id` is; `None` where it is none that is understood.
    pub fn of(pickle: &Pickle, id: Id) -> Option<Ndarray> {
        let Found { shape, described, fortran, stored } = pickle.found(id)?;
        let elements = match stored {
            Stored::Objects(list) => Elements::Objects(pickle.items_of(list)?.to_vec()),
            Stored::Bytes(bytes) => Elements::Bytes(bytes),
            Stored::Latin(piece) => Elements::Bytes(latin(pickle.bytes(piece))?.into()),
        };
        Some(Ndarray { shape, described, fortran, elements })
    }
}

impl Pickle {
    /// The array that `id` is.
    pub(super) fn found(&self, id: Id) -> Option<Found> {
        let Value::Object(object) = self.value(id) else { return None };
        if self.is(object.class, &MULTIARRAY, "_reconstruct")
            || self.is(object.class, &MASKED, "_mareconstruct")
        {
            return self.reconstructed(object.state?);
        }
        if self.is(object.class, &NUMERIC, "_frombuffer") {
            let [data, dtype, shape, order] = *self.tuple(object.arguments)?.first_chunk()?;
            let described = self.described(dtype)?;
            let fortran = self.text(order) == Some("F");
            return Some(Found { shape: self.shape(shape)?, described, fortran, stored: self.stored(data)? });
        }
        if self.wrapper(id).is_some() {
            return self.unwrapped(id, object.state?);
        }
        None
    }

    /// The list of the elements of an array of objects.
    pub(super) fn objects(&self, id: Id) -> Option<Id> {
        match self.found(id)?.stored {
            Stored::Objects(list) => Some(list),
            _ => None,
        }
    }

    /// What a wrapper of joblib stands for.
    fn unwrapped(&self, id: Id, state: Id) -> Option<Found> {
        let span = match self.facts.inlined.get(&id)? {
            Inlined::Value(root) => return self.found(*root),
            Inlined::Bytes(span) => span,
        };
        let described = self.described(self.entry(state, "dtype")?)?;
        let shape = self.shape(self.entry(state, "shape")?)?;
        let fortran = self.entry(state, "order").is_some_and(|order| self.text(order) == Some("F"));
        let stored = Stored::Bytes(self.bytes.slice(span.start as usize..span.end as usize));
        Some(Found { shape, described, fortran, stored })
    }

    fn reconstructed(&self, state: Id) -> Option<Found> {
        let state = self.tuple(state)?;
        // The oldest states have no version in front, those of masked arrays a mask and a fill value behind.
        let (version, rest) = state.split_first()?;
        let rest = if matches!(self.value(*version), Value::Int(_)) { rest } else { state };
        let [shape, dtype, fortran, data] = *rest.first_chunk::<4>()?;
        let described = self.described(dtype)?;
        let fortran = matches!(self.value(fortran), Value::Bool(true) | Value::Int(1));
        let stored = match self.value(data) {
            Value::List(_) => Stored::Objects(data),
            _ => self.stored(data)?,
        };
        Some(Found { shape: self.shape(shape)?, described, fortran, stored })
    }

    /// The mask of a masked array, one byte an element, and what it is filled with.
    pub(super) fn mask(&self, id: Id) -> Option<(Id, Option<Id>)> {
        let Value::Object(object) = self.value(id) else { return None };
        if !self.is(object.class, &MASKED, "_mareconstruct") {
            return None;
        }
        let state = self.tuple(object.state?)?;
        Some((*state.get(5)?, state.get(6).copied()))
    }

    fn stored(&self, id: Id) -> Option<Stored> {
        let Value::Object(object) = self.value(id) else { return self.data(id).map(Stored::Bytes) };
        let text = match self.tuple(object.arguments) {
            Some([text, _]) if self.is(object.class, &["_codecs"], "encode") => self.value(*text),
            _ => return self.data(id).map(Stored::Bytes),
        };
        match text {
            Value::Text(piece) => Some(Stored::Latin(*piece)),
            _ => None,
        }
    }

    /// The items of a value that is a tuple.
    pub fn tuple(&self, id: Id) -> Option<&[Id]> {
        match self.value(id) {
            Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn shape(&self, id: Id) -> Option<Vec<u64>> {
        let side = |id: &Id| match self.value(*id) {
            Value::Int(side) => u64::try_from(*side).ok(),
            _ => None,
        };
        let shape = self.tuple(id)?.iter().map(side).collect::<Option<Vec<u64>>>()?;
        limits::elements(&shape).is_ok().then_some(shape)
    }

    /// Bytes that are stored as such, as Latin-1 or as a text of Python 2.
    pub(super) fn data(&self, id: Id) -> Option<Bytes> {
        match self.value(id) {
            Value::Bytes(piece) | Value::ByteArray(piece) | Value::Text(piece) => Some(self.shared(*piece)),
            Value::Object(object) if self.is(object.class, &["builtins", "__builtin__"], "bytearray") => {
                // `bytearray(b'…')`, and with a text in older protocols.
                match (self.tuple(object.arguments)?, self.tuple(object.arguments)?.first()) {
                    ([], _) => Some(Bytes::new()),
                    (_, Some(inner)) => match self.value(*inner) {
                        Value::Bytes(piece) | Value::ByteArray(piece) => Some(self.shared(*piece)),
                        Value::Text(piece) => latin(self.bytes(*piece)).map(Bytes::from),
                        _ => self.encoded(*inner).map(Bytes::from),
                    },
                    _ => None,
                }
            }
            _ => self.encoded(id).map(Bytes::from),
        }
    }

    /// `dtype('f8', False, True)` and its state: version, order, inner type, names, fields …
    pub(super) fn described(&self, id: Id) -> Option<Described> {
        self.extended(id).or_else(|| numpy::describe(&self.descr(id, 0)?).ok())
    }

    /// Types that are not NumPy's own: those of ml_dtypes, and texts of any length.
    fn extended(&self, id: Id) -> Option<Described> {
        let Value::Object(object) = self.value(id) else { return None };
        let word = "|O";
        let literal = |value| Literal { at: 0, value };
        let of = |dtype| {
            let mut described = numpy::describe(&literal(Python::Str("|u1".to_owned()))).ok()?;
            described.dtype = dtype;
            Some(described)
        };
        if self.is(object.class, &["numpy.dtypes"], "StringDType") {
            return numpy::describe(&literal(Python::Str(word.to_owned()))).ok();
        }
        let first = *self.tuple(object.arguments)?.first()?;
        let (module, name) = self.global(first)?;
        match (module, name) {
            ("ml_dtypes", "bfloat16") => of(DType::BF16),
            // An element takes a byte each, whatever it needs.
            ("ml_dtypes", "int4" | "int2") => of(DType::I8),
            ("ml_dtypes", "uint4" | "uint2") => of(DType::U8),
            ("ml_dtypes", name) => {
                let kind = Mini::ALL.into_iter().find(|kind| kind.name() == name)?;
                of(if kind.bits() == 8 { DType::Mini(kind) } else { DType::U8 })
            }
            _ => None,
        }
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
            // An array in a field is read with the field.
            let inner = state.get(2).is_none_or(|inner| matches!(self.value(*inner), Value::None));
            // The state is what NumPy goes by where it says another size than the word.
            let flexible =
                numpy::Word::parse(&word).filter(|word| matches!(word.letter, 'S' | 'a' | 'V' | 'U'));
            if let (Some(flexible), Some(Value::Int(size))) =
                (flexible, state.get(5).map(|id| self.value(*id)))
            {
                let each = if flexible.letter == 'U' { 4 } else { 1 };
                if *size >= 0 && flexible.size.map(|count| i64::from(count) * each) != Some(*size) {
                    return None;
                }
            }
            let unit = if word.starts_with(['M', 'm']) { self.unit(state) } else { String::new() };
            return inner.then(|| literal(Python::Str(format!("{}{word}{unit}", order.unwrap_or("|")))));
        };
        let Value::Dict(fields) = self.value(*state.get(4)?) else { return None };
        let (mut parts, mut at) = (Vec::with_capacity(names.len()), 0);
        let gap = |bytes: u64| {
            let word = literal(Python::Str(format!("|V{bytes}")));
            literal(Python::Tuple(vec![literal(Python::Str(String::new())), word]))
        };
        for name in names {
            let name = self.text(*name)?;
            let (_, field) = fields.iter().find(|(key, _)| self.text(*key) == Some(name))?;
            let [dtype, offset, ..] = self.tuple(*field)? else { return None };
            let Value::Int(offset) = self.value(*offset) else { return None };
            let offset = u64::try_from(*offset).ok()?;
            match offset.checked_sub(at)? {
                0 => {}
                bytes => parts.push(gap(bytes)),
            }
            let mut part = vec![literal(Python::Str(name.to_owned()))];
            match self.inner(*dtype) {
                Some((dtype, shape)) => {
                    let sides = self
                        .shape(shape)?
                        .into_iter()
                        .map(|side| literal(Python::Int(side.into())))
                        .collect();
                    part.extend([self.descr(dtype, depth + 1)?, literal(Python::Tuple(sides))]);
                }
                None => part.push(self.descr(*dtype, depth + 1)?),
            }
            let one = literal(Python::List(vec![literal(Python::Tuple(part.clone()))]));
            at = offset.checked_add(numpy::describe(&one).ok()?.dtype.size())?;
            parts.push(literal(Python::Tuple(part)));
        }
        // What the word says is all of it, with what is left behind the last field.
        let size: u64 = word.strip_prefix('V')?.parse().ok()?;
        match size.checked_sub(at)? {
            0 => {}
            bytes => parts.push(gap(bytes)),
        }
        Some(literal(Python::List(parts)))
    }

    /// The element type and the shape of an array that is a field.
    fn inner(&self, id: Id) -> Option<(Id, Id)> {
        let Value::Object(object) = self.value(id) else { return None };
        let state = self.tuple(object.state?)?;
        self.pair(*state.get(2)?)
    }

    /// The unit of times: `[25s]`.
    fn unit(&self, state: &[Id]) -> String {
        let found = || {
            let (_, unit) = self.pair(*state.get(8)?)?;
            let [word, count, ..] = self.tuple(unit)? else { return None };
            let word = match self.value(*word) {
                Value::Bytes(piece) | Value::Text(piece) => self.bytes(*piece).to_vec(),
                _ => self.encoded(*word)?,
            };
            let word = String::from_utf8(word).ok()?;
            match self.value(*count) {
                _ if word == "generic" => Some(String::new()),
                Value::Int(1) => Some(format!("[{word}]")),
                Value::Int(count) => Some(format!("[{count}{word}]")),
                _ => None,
            }
        };
        found().unwrap_or_default()
    }
}

/// The one element of a type, as Python writes it.
pub(super) fn scalar_text(described: &Described, data: &[u8]) -> Option<String> {
    let dtype = &described.dtype;
    if described.object || usize::try_from(dtype.size()).ok()? > data.len() {
        return None;
    }
    let mut bytes = data.to_vec();
    described.order.to_little(dtype, &mut bytes).ok()?;
    let text = crate::data::cell::element(dtype, &bytes);
    Some(match (dtype, text.as_str()) {
        (DType::Bool, "true") => "True".to_owned(),
        (DType::Bool, "false") => "False".to_owned(),
        _ => text,
    })
}

/// A text as bytes, a character each; `None` where a character is none.
fn latin(text: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(text).ok()?.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
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
        plain(Source::memory(name, bytes.clone()), 0, &self.described, &self.shape, self.fortran)
    }
}

/// Elements at a place of a source.
fn plain(source: Source, at: u64, described: &Described, shape: &[u64], fortran: bool) -> Result<Plain> {
    if described.object {
        return Err(Error::unsupported("records of Python objects"));
    }
    Ok(Plain::new(source, at, described.dtype.clone(), shape.to_vec())?
        .fortran(fortran)
        .byte_order(described.order.clone()))
}

impl Found {
    /// The elements as an array: of the pickle's file where that is known and they lie there as they are.
    ///
    /// # Errors
    /// As [`Ndarray::plain`].
    pub(super) fn plain(&self, pickle: &Pickle, name: &str) -> Result<Plain> {
        let Found { shape, described, fortran, .. } = self;
        match &self.stored {
            Stored::Objects(_) => Err(Error::unsupported("an array of Python objects")),
            Stored::Bytes(bytes) => match (&pickle.facts.source, pickle.place(bytes)) {
                (Some((source, base)), Some(at)) => {
                    // What follows the elements in the file is not theirs.
                    let need = limits::bytes(shape, described.dtype.size())?;
                    if need > bytes.len() as u64 {
                        return plain(Source::memory(name, bytes.clone()), 0, described, shape, *fortran);
                    }
                    let at = base.saturating_add(at);
                    let array = plain(source.clone(), at, described, shape, *fortran)?;
                    Ok(array.detail("offset", at.to_string()))
                }
                _ => plain(Source::memory(name, bytes.clone()), 0, described, shape, *fortran),
            },
            Stored::Latin(piece) => {
                let len = limits::bytes(shape, described.dtype.size())?;
                let text = pickle.shared(*piece);
                // A character has one byte at least.
                if len > text.len() as u64 {
                    let there = text.len();
                    let what = format!("array: shape {shape:?} needs {len} bytes, at most {there} are there");
                    return Err(Error::malformed(what));
                }
                let stream = Arc::new(Latin { text, len, starts: OnceLock::new() });
                let source = Source::memory(name, Bytes::new()).stream(name, stream)?;
                plain(source, 0, described, shape, *fortran)
            }
        }
    }
}

/// Characters between places that are known.
const STEP: u64 = 1 << 16;

/// Bytes that are written as a text, a character each.
struct Latin {
    text: Bytes,
    len: u64,
    /// Where each [`STEP`]-th character begins.
    starts: OnceLock<Vec<usize>>,
}

impl ReadAt for Latin {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn len(&self, _task: &Task) -> Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        task.check()?;
        let wrong = || Error::malformed("pickle: bytes that are no Latin-1 text");
        let starts = self.starts.get_or_init(|| {
            let begins = |(_, b): &(usize, &u8)| **b & 0xc0 != 0x80;
            self.text.iter().enumerate().filter(begins).map(|(at, _)| at).step_by(STEP as usize).collect()
        });
        let Some(start) = usize::try_from(offset / STEP).ok().and_then(|n| starts.get(n)) else {
            return Ok(0);
        };
        let rest = self.text.get(*start..).unwrap_or_default();
        // Two bytes a character at most; more than are needed do not matter.
        let most = (offset % STEP).saturating_add(out.len() as u64).saturating_mul(2);
        let mut rest = rest.get(..usize::try_from(most).unwrap_or(usize::MAX)).unwrap_or(rest);
        if let Err(error) = std::str::from_utf8(rest) {
            rest = rest.get(..error.valid_up_to()).unwrap_or_default();
        }
        let text = std::str::from_utf8(rest).map_err(|_| wrong())?;
        let mut filled = 0;
        for (to, c) in out.iter_mut().zip(text.chars().skip((offset % STEP) as usize)) {
            *to = u8::try_from(u32::from(c)).map_err(|_| wrong())?;
            filled += 1;
        }
        Ok(filled)
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
