//! Elements of version 5: a tag with a type and a length, then data; and the head of a matrix element.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::ordered;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::DType;

/// The type of a compressed element.
pub(super) const COMPRESSED: u32 = 15;
/// The type of a matrix: everything but plain data is one.
pub(super) const MATRIX: u32 = 14;
/// Longer names than this have no good reason.
const NAME: u64 = 64 << 10;
/// More dimensions than this have none either.
const DIMENSIONS: u64 = 1024;

/// An element's tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub kind: u32,
    /// Where the data begin.
    pub at: u64,
    pub bytes: u64,
    /// Where the next element begins.
    pub end: u64,
}

impl Tag {
    /// The tag at `at`, of an element that must begin before `within`.
    pub(super) fn read(task: &Task, source: &Source, big: bool, at: u64, within: u64) -> Result<Self> {
        let cut = |there: usize| {
            let what = "element: the file ends within its tag; it may be cut off";
            Error::malformed(what).at(at.saturating_add(there as u64))
        };
        if at.saturating_add(8) > within {
            return Err(cut(0));
        }
        let bytes = source.read_up_to(task, at, 8)?;
        let [first, second] = [0, 4].map(|at| ordered::<u32>(big, &bytes, at));
        let (Some(first), Some(second)) = (first, second) else {
            return Err(cut(bytes.len()));
        };
        let small = first >> 16;
        if small != 0 {
            if small > 4 {
                let what = format!("element: a short one cannot hold {small} bytes");
                return Err(Error::malformed(what).at(at));
            }
            return Ok(Tag { kind: first & 0xffff, at: at + 4, bytes: small.into(), end: at + 8 });
        }
        let bytes = second.into();
        let data = at + 8;
        let padding = if matches!(first, MATRIX | COMPRESSED) { 0 } else { u64::wrapping_neg(bytes) % 8 };
        Ok(Tag { kind: first, at: data, bytes, end: data.saturating_add(bytes).saturating_add(padding) })
    }

    /// The data, which must be short.
    pub(super) fn data(&self, task: &Task, source: &Source, limit: u64, what: &str) -> Result<bytes::Bytes> {
        limits::check(self.bytes, limit, what).map_err(|e| e.at(self.at))?;
        source.read(task, self.at..self.at.saturating_add(self.bytes))
    }

    /// The numbers of a short integer element.
    fn integers(&self, task: &Task, source: &Source, big: bool, what: &str) -> Result<Vec<i64>> {
        let Some(dtype) = stored(self.kind).filter(|dtype| !dtype.is_float()) else {
            let what = format!("element: {what} are of type {}, which is no integer", self.kind);
            return Err(Error::malformed(what).at(self.at));
        };
        let mut data = self.data(task, source, DIMENSIONS * 8, what)?.to_vec();
        data.truncate(data.len() / dtype.size() as usize * dtype.size() as usize);
        if big {
            crate::data::dtype::ByteOrder::Big.to_little(&dtype, &mut data)?;
        }
        let mut out = Vec::new();
        dtype.decode(&data, &mut out);
        Ok(out.into_iter().map(|number| number as i64).collect())
    }
}

/// The type of the numbers of a data element; characters are the integers that code them.
pub(super) fn stored(kind: u32) -> Option<DType> {
    Some(match kind {
        1 => DType::I8,
        2 | 16 => DType::U8,
        3 => DType::I16,
        4 | 17 => DType::U16,
        5 => DType::I32,
        6 | 18 => DType::U32,
        7 => DType::F32,
        9 => DType::F64,
        12 => DType::I64,
        13 => DType::U64,
        _ => return None,
    })
}

/// MATLAB's classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Cell,
    Struct,
    Object,
    Char,
    Sparse,
    /// Numbers of a type.
    Number(&'static str),
    Function,
    Opaque,
}

impl Class {
    fn new(number: u32) -> Option<Self> {
        Some(match number {
            1 => Class::Cell,
            2 => Class::Struct,
            3 => Class::Object,
            4 => Class::Char,
            5 => Class::Sparse,
            6 => Class::Number("double"),
            7 => Class::Number("single"),
            8 => Class::Number("int8"),
            9 => Class::Number("uint8"),
            10 => Class::Number("int16"),
            11 => Class::Number("uint16"),
            12 => Class::Number("int32"),
            13 => Class::Number("uint32"),
            14 => Class::Number("int64"),
            15 => Class::Number("uint64"),
            16 => Class::Function,
            17 => Class::Opaque,
            _ => return None,
        })
    }

    /// MATLAB's word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Class::Cell => "cell",
            Class::Struct => "struct",
            Class::Object | Class::Opaque => "object",
            Class::Char => "char",
            Class::Sparse => "sparse",
            Class::Number(word) => word,
            Class::Function => "function_handle",
        }
    }

    /// The type of its numbers.
    pub(super) fn dtype(self) -> DType {
        match self {
            Class::Number("single") => DType::F32,
            Class::Number("int8") => DType::I8,
            Class::Number("uint8") => DType::U8,
            Class::Number("int16") => DType::I16,
            Class::Number("uint16") => DType::U16,
            Class::Number("int32") => DType::I32,
            Class::Number("uint32") => DType::U32,
            Class::Number("int64") => DType::I64,
            Class::Number("uint64") => DType::U64,
            _ => DType::F64,
        }
    }
}

/// The head of a matrix element.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub class: Class,
    pub complex: bool,
    pub logical: bool,
    pub global: bool,
    /// The lengths of its dimensions, the fastest first: the order of MATLAB's indices.
    pub shape: Vec<u64>,
    pub name: String,
    /// Where what is behind the name begins.
    pub rest: u64,
    /// Where the element ends.
    pub end: u64,
}

impl Matrix {
    /// Reads the head of the matrix element `tag`; `None` for one without any content: an empty array.
    pub(super) fn read(task: &Task, source: &Source, big: bool, tag: &Tag) -> Result<Option<Self>> {
        if tag.kind != MATRIX {
            let what = format!("element: it is of type {}, not a matrix", tag.kind);
            return Err(Error::malformed(what).at(tag.at.saturating_sub(8)));
        }
        if tag.bytes == 0 {
            return Ok(None);
        }
        let end = tag.at.saturating_add(tag.bytes);
        let flags = Tag::read(task, source, big, tag.at, end)?;
        let words = flags.data(task, source, 64, "the flags of an array")?;
        let word = ordered::<u32>(big, &words, 0)
            .ok_or_else(|| Error::malformed("array: it has no flags").at(tag.at))?;
        let Some(class) = Class::new(word & 0xff) else {
            return Err(Error::malformed(format!("array: {} is no class of MATLAB", word & 0xff)).at(tag.at));
        };
        let mut matrix = Matrix {
            class,
            complex: word & 0x800 != 0,
            logical: word & 0x200 != 0,
            global: word & 0x400 != 0,
            shape: vec![1, 1],
            name: String::new(),
            rest: flags.end,
            end,
        };
        // An opaque object has no shape of its own.
        if class != Class::Opaque {
            let sides = Tag::read(task, source, big, matrix.rest, end)?;
            matrix.shape = shape(&sides.integers(task, source, big, "the dimensions")?, sides.at)?;
            matrix.rest = sides.end;
        }
        let name = Tag::read(task, source, big, matrix.rest, end)?;
        matrix.name = text(&name.data(task, source, NAME, "a name")?);
        matrix.rest = name.end;
        Ok(Some(matrix))
    }

    pub(super) fn elements(&self) -> Result<u64> {
        limits::elements(&self.shape)
    }
}

fn shape(sides: &[i64], at: u64) -> Result<Vec<u64>> {
    let wrong = |side: &i64| Error::malformed(format!("array: its shape has {side}")).at(at);
    let sides: Vec<u64> =
        sides.iter().map(|side| u64::try_from(*side).map_err(|_| wrong(side))).collect::<Result<_>>()?;
    if sides.len() < 2 {
        return Err(Error::malformed(format!("array: it has {} dimensions", sides.len())).at(at));
    }
    limits::elements(&sides).map_err(|error| error.at(at))?;
    Ok(sides)
}

/// A name, up to its first zero.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let bytes = bytes.get(..end).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}
