//! Arrays in MessagePack: what Flax writes as an extension, and what msgpack-numpy writes as a map. Their elements are a slice of
//! the file.
//! <https://github.com/google/flax/blob/main/flax/serialization.py>, <https://github.com/lebedov/msgpack-numpy>

use crate::bytes::error::{Error, Result};
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use crate::data::adapt::ArrayTable;
use crate::data::content::array::Plain;
use crate::data::content::{Array, Content};
use crate::data::dtype::numpy::literal::{Literal, Value};
use crate::data::dtype::numpy::{Described, describe};
use crate::data::dtype::{ByteOrder, DType};
use crate::data::node::Node;
use crate::engines::msgpack::token::{self, Token};
use crate::engines::records::Window;
use std::ops::Range;
use std::sync::Arc;

/// Flax's type of an extension that is an array,
pub(super) const ARRAY: i8 = 1;
/// a complex number,
pub(super) const COMPLEX: i8 = 2;
/// or a NumPy scalar.
pub(super) const SCALAR: i8 = 3;
/// The most dimensions.
const DIMENSIONS: u64 = 64;
/// The longest name of a type.
const NAME: u64 = 64 << 10;

/// An array in a file.
#[derive(Debug)]
pub(super) struct Found {
    described: Described,
    shape: Vec<u64>,
    data: Range<u64>,
}

impl Found {
    /// Its node.
    pub(super) fn node(self, source: &Source, name: &str) -> Node {
        let node = Node::new(name, "numpy.ndarray").span(self.data.clone());
        match self.content(source) {
            Ok((content, remarks)) => Node { remarks, ..node.content(content) },
            Err(error) => node.problem(error),
        }
    }

    fn content(self, source: &Source) -> Result<(Content, Vec<String>)> {
        let Found { described, shape, data } = self;
        if described.object {
            return Err(Error::unsupported("an array of Python objects").at(data.start));
        }
        let need = crate::bytes::limits::bytes(&shape, described.dtype.size())?;
        if need != data.end - data.start {
            let (there, dtype) = (data.end - data.start, &described.dtype);
            let what = format!("array: shape {shape:?} of {dtype} needs {need} bytes, it has {there}");
            return Err(Error::malformed(what).at(data.start));
        }
        let is_table = matches!(described.dtype, DType::Struct(_)) && shape.len() == 1;
        let plain =
            Plain::new(source.clone(), data.start, described.dtype, shape)?.byte_order(described.order);
        let array: Arc<dyn Array> = Arc::new(plain);
        let content = match is_table {
            true => Content::Table(Arc::new(ArrayTable::new("", array)?)),
            false => Content::Array(array),
        };
        Ok((content, described.remarks))
    }
}

/// The text or the bytes at `at`, which is moved behind them.
fn bytes(window: &mut Window<'_>, at: &mut u64) -> Option<Vec<u8>> {
    let (Token::Str(len) | Token::Bin(len), body) = token::read(window, *at).ok()? else { return None };
    if len > NAME {
        return None;
    }
    let found = window.get(body, len as usize).ok()?.to_vec();
    *at = body + len;
    Some(found)
}

fn text(window: &mut Window<'_>, at: &mut u64) -> Option<String> {
    String::from_utf8(bytes(window, at)?).ok()
}

/// The integers of the array at `at`, which is moved behind it.
fn shape(window: &mut Window<'_>, at: &mut u64) -> Option<Vec<u64>> {
    let (Token::Array(count), body) = token::read(window, *at).ok()? else { return None };
    if count > DIMENSIONS {
        return None;
    }
    *at = body;
    let mut shape = Vec::new();
    for _ in 0..count {
        let (found, behind) = token::read(window, *at).ok()?;
        shape.push(match found {
            Token::Uint(side) => side,
            Token::Int(side) => u64::try_from(side).ok()?,
            _ => return None,
        });
        *at = behind;
    }
    Some(shape)
}

/// Where the bytes at `at` lie, which is moved behind them.
fn data(window: &mut Window<'_>, at: &mut u64) -> Option<Range<u64>> {
    let (Token::Bin(len) | Token::Str(len), body) = token::read(window, *at).ok()? else { return None };
    *at = body + len;
    Some(body..*at)
}

/// The array that an extension of Flax holds: a list of shape, type and bytes.
pub(super) fn flax(window: &mut Window<'_>, mut at: u64) -> Option<Found> {
    let (Token::Array(3), body) = token::read(window, at).ok()? else { return None };
    at = body;
    let shape = shape(window, &mut at)?;
    let name = text(window, &mut at)?;
    let described = named(&name)?;
    Some(Found { described, shape, data: data(window, &mut at)? })
}

/// What msgpack-numpy makes a map of.
#[derive(Debug)]
pub(super) enum Numpy {
    /// An array; with no dimensions a scalar.
    Array(Found),
    /// Objects as a pickle.
    Objects(Range<u64>),
    /// A complex number's text.
    Complex(String),
}

/// What the map of `pairs` pairs is whose first key is at `at`; `None` where it is another one.
pub(super) fn numpy(window: &mut Window<'_>, mut at: u64, pairs: u64) -> Option<Numpy> {
    let (mut is_array, mut kind, mut described, mut sides, mut place) = (None, Vec::new(), None, None, None);
    let mut complex = None;
    for _ in 0..pairs.min(8) {
        match bytes(window, &mut at)?.as_slice() {
            b"nd" => {
                let (Token::Bool(value), behind) = token::read(window, at).ok()? else { return None };
                (is_array, at) = (Some(value), behind);
            }
            b"complex" => {
                let (Token::Bool(true), behind) = token::read(window, at).ok()? else { return None };
                (complex, at) = (Some(()), behind);
            }
            b"kind" => kind = bytes(window, &mut at)?,
            b"type" => described = Some(described_at(window, &mut at)?),
            b"shape" => sides = Some(shape(window, &mut at)?),
            b"data" => place = Some(data(window, &mut at)?),
            _ => return None,
        }
    }
    let place = place?;
    if complex.is_some() {
        let len = (place.end - place.start).min(NAME) as usize;
        let text = window.get(place.start, len).ok()?;
        return Some(Numpy::Complex(String::from_utf8_lossy(text).into_owned()));
    }
    if kind == b"O" {
        return Some(Numpy::Objects(place));
    }
    let shape = if is_array? { sides? } else { Vec::new() };
    Some(Numpy::Array(Found { described: described??, shape, data: place }))
}

/// A type: one word, or the fields of a record, each with its name, its type and perhaps a shape.
fn described_at(window: &mut Window<'_>, at: &mut u64) -> Option<Option<Described>> {
    let literal = literal(window, at, 8)?;
    Some(describe(&literal).ok())
}

/// A value as a literal of Python.
fn literal(window: &mut Window<'_>, at: &mut u64, deep: u8) -> Option<Literal> {
    let place = *at;
    let deep = deep.checked_sub(1)?;
    let (found, body) = token::read(window, *at).ok()?;
    let value = match found {
        Token::Str(_) | Token::Bin(_) => Value::Str(text(window, at)?),
        Token::Uint(number) => {
            *at = body;
            Value::Int(i128::from(number))
        }
        Token::Array(count) if count <= NAME => {
            *at = body;
            let items: Vec<Literal> = (0..count).map(|_| literal(window, at, deep)).collect::<Option<_>>()?;
            // Fields are pairs, and all of them are in a list.
            let is_field = items.first().is_some_and(|item| matches!(item.value, Value::Str(_)));
            let is_shape = items.first().is_some_and(|item| matches!(item.value, Value::Int(_)));
            if is_field || is_shape { Value::Tuple(items) } else { Value::List(items) }
        }
        _ => return None,
    };
    Some(Literal { value, at: place })
}

/// An array that Flax cut into pieces, since none may be larger than 1 GiB: a map of its shape and of the pieces, each an
/// array without a shape of its own.
///
/// `None` where the map of `pairs` pairs is another one.
pub(super) fn chunked(window: &mut Window<'_>, mut at: u64, pairs: u64) -> Option<Chunks> {
    if pairs != 3 || bytes(window, &mut at)? != MARK {
        return None;
    }
    at = token::read(window, at).ok()?.1;
    let (mut sides, mut pieces) = (None, Vec::new());
    for _ in 0..2 {
        let name = bytes(window, &mut at)?;
        let (Token::Map(count), body) = token::read(window, at).ok()? else { return None };
        at = body;
        let mut shape = Vec::new();
        for _ in 0..count {
            bytes(window, &mut at)?;
            let (found, behind) = token::read(window, at).ok()?;
            match (&name[..], found) {
                (b"shape", Token::Uint(side)) if shape.len() < DIMENSIONS as usize => shape.push(side),
                (b"chunks", Token::Ext(ARRAY, _)) => pieces.push(flax(window, behind)?),
                _ => return None,
            }
            at = behind + found.body();
        }
        if name == b"shape" {
            sides = Some(shape);
        }
    }
    let described = pieces.first()?.described.clone();
    if pieces.iter().any(|piece| piece.described.dtype != described.dtype) {
        return None;
    }
    Some(Chunks { described, shape: sides?, pieces: pieces.into_iter().map(|piece| piece.data).collect() })
}

/// The key that says an array was cut into pieces.
const MARK: &[u8] = b"__msgpack_chunked_array__";

/// An array in pieces.
pub(super) struct Chunks {
    described: Described,
    shape: Vec<u64>,
    pieces: Vec<Range<u64>>,
}

impl Chunks {
    /// Its node.
    pub(super) fn node(self, source: &Source, name: &str) -> Node {
        let node = Node::new(name, "numpy.ndarray").read_as("pieces", self.pieces.len().to_string());
        match self.whole(source, name) {
            Ok(found) => node.content(found),
            Err(error) => node.problem(error),
        }
    }

    fn whole(self, source: &Source, name: &str) -> Result<Content> {
        let mut len = 0_u64;
        let mut pieces = Vec::new();
        for piece in self.pieces {
            pieces.push((len, piece.start));
            len = len.saturating_add(piece.end - piece.start);
        }
        let joined = source.stream(name, Arc::new(Joined { source: source.clone(), pieces, len }))?;
        let plain = Plain::new(joined, 0, self.described.dtype, self.shape)?.byte_order(self.described.order);
        Ok(Content::Array(Arc::new(plain)))
    }
}

/// Pieces of a file as one: where each begins in the whole, and in the file.
struct Joined {
    source: Source,
    pieces: Vec<(u64, u64)>,
    len: u64,
}

impl ReadAt for Joined {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn len(&self, _task: &Task) -> Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let wanted = self.len.saturating_sub(offset).min(out.len() as u64) as usize;
        let mut done = 0;
        while done < wanted {
            let at = offset + done as u64;
            let n = self.pieces.partition_point(|(start, _)| *start <= at);
            let end = self.pieces.get(n).map_or(self.len, |(start, _)| *start);
            let Some((start, place)) = n.checked_sub(1).and_then(|n| self.pieces.get(n)) else { break };
            let count = ((end - at) as usize).min(wanted - done);
            let Some(part) = out.get_mut(done..done + count) else { break };
            self.source.read_into(task, place + (at - start), part)?;
            done += count;
        }
        Ok(done)
    }
}

/// A type by its name in NumPy's words, or ml_dtypes'.
fn named(name: &str) -> Option<Described> {
    let dtype = match name {
        // One byte an element, whatever its bits.
        "int4" => DType::I8,
        "uint4" => DType::U8,
        _ => match DType::of_name(name).filter(|dtype| dtype.bits() >= 8) {
            Some(dtype) => dtype,
            // As NumPy's arrays describe themselves.
            None => return described_word(name),
        },
    };
    let order = ByteOrder::Little;
    Some(Described { dtype, order, object: false, remarks: Vec::new(), titles: Vec::new() })
}

fn described_word(word: &str) -> Option<Described> {
    describe(&Literal { value: Value::Str(word.to_owned()), at: 0 }).ok()
}
