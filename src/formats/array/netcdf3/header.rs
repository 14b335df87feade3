//! The header: dimensions, attributes and variables, all big-endian, names and values padded to four bytes.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::DType;
use crate::data::node::Value;
use bytes::Bytes;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// NetCDF's own limit of a variable's dimensions.
const DIMENSIONS: u64 = 1024;
/// How much is read at a time.
const STEP: usize = 64 << 10;

/// The types of attributes that hold numbers.
pub(super) type Types = BTreeMap<String, DType>;

/// What the header says.
pub(super) struct Header {
    /// 1, 2 or 5.
    pub version: u8,
    /// How many records there are; `None` where the writer did not know.
    pub records: Option<u64>,
    pub dimensions: Vec<Dimension>,
    pub attributes: Vec<(String, Value)>,
    pub attribute_types: Types,
    pub variables: Vec<Variable>,
    /// Why variables after the last one here could not be read.
    pub problem: Option<Error>,
}

pub(super) struct Dimension {
    pub name: String,
    /// 0 is the record dimension.
    pub len: u64,
}

pub(super) struct Variable {
    pub name: String,
    /// Indices of dimensions, slowest first.
    pub dimensions: Vec<u64>,
    pub attributes: Vec<(String, Value)>,
    pub attribute_types: Types,
    pub kind: Kind,
    /// Where its values begin.
    pub begin: u64,
    /// Where it stands in the header.
    pub at: u64,
}

/// NetCDF's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Byte,
    Char,
    Short,
    Int,
    Float,
    Double,
    UByte,
    UShort,
    UInt,
    Int64,
    UInt64,
}

impl Kind {
    fn new(number: u64, version: u8) -> Option<Self> {
        use Kind::*;
        const ALL: [Kind; 11] = [Byte, Char, Short, Int, Float, Double, UByte, UShort, UInt, Int64, UInt64];
        let known = if version == 5 { 11 } else { 6 };
        let at = usize::try_from(number).ok()?.checked_sub(1).filter(|at| *at < known)?;
        ALL.get(at).copied()
    }

    pub(super) fn dtype(self) -> DType {
        match self {
            Kind::Byte => DType::I8,
            Kind::Char | Kind::UByte => DType::U8,
            Kind::Short => DType::I16,
            Kind::Int => DType::I32,
            Kind::Float => DType::F32,
            Kind::Double => DType::F64,
            Kind::UShort => DType::U16,
            Kind::UInt => DType::U32,
            Kind::Int64 => DType::I64,
            Kind::UInt64 => DType::U64,
        }
    }
}

/// Reads the header. An error in the list of variables keeps those before it.
pub(super) fn read(task: &Task, source: &Source) -> Result<Header> {
    let mut cursor = Cursor { task, source, at: 0, block: Bytes::new(), version: 0 };
    let magic = cursor.take(4, "the magic")?;
    cursor.version = magic.get(3).copied().unwrap_or(0);
    let version = cursor.version;
    let missing = if version == 5 { u64::MAX } else { u64::from(u32::MAX) };
    let records = Some(cursor.number("the number of records")?).filter(|n| *n != missing);
    let mut dimensions = Vec::new();
    for _ in 0..cursor.list(10, "dimensions")? {
        dimensions.push(Dimension { name: cursor.name()?, len: cursor.number("a dimension's length")? });
    }
    let (attributes, attribute_types) = attributes(&mut cursor)?;
    let mut variables = Vec::new();
    let mut problem = None;
    for _ in 0..cursor.list(11, "variables")? {
        match variable(&mut cursor).unless_cancelled()? {
            Ok(variable) => variables.push(variable),
            Err(error) => {
                problem = Some(error);
                break;
            }
        }
    }
    Ok(Header { version, records, dimensions, attributes, attribute_types, variables, problem })
}

fn variable(cursor: &mut Cursor<'_>) -> Result<Variable> {
    let at = cursor.at;
    let name = cursor.name()?;
    let rank = cursor.number("a variable's rank")?;
    if rank > DIMENSIONS {
        let what = format!("variable {name:?} has {rank} dimensions, the limit is {DIMENSIONS}");
        return Err(Error::limit(what).at(at));
    }
    let mut dimensions = Vec::new();
    for _ in 0..rank {
        dimensions.push(cursor.number("a dimension of a variable")?);
    }
    let (attributes, attribute_types) = attributes(cursor)?;
    let kind = cursor.kind()?;
    // The size that is stored here overflows for large variables; the shape says it better.
    cursor.number("a variable's size")?;
    let begin = if cursor.version == 1 {
        cursor.u32("where values begin")?.into()
    } else {
        cursor.u64("where values begin")?
    };
    Ok(Variable { name, dimensions, attributes, attribute_types, kind, begin, at })
}

fn attributes(cursor: &mut Cursor<'_>) -> Result<(Vec<(String, Value)>, Types)> {
    let (mut all, mut types) = (Vec::new(), Types::new());
    for _ in 0..cursor.list(12, "attributes")? {
        let name = cursor.name()?;
        let kind = cursor.kind()?;
        let count = cursor.number("the length of an attribute")?;
        let bytes = cursor.padded(count, kind.dtype().size(), "an attribute's value")?;
        if kind != Kind::Char {
            types.insert(name.clone(), kind.dtype());
        }
        all.push((name, value(kind, &bytes)));
    }
    Ok((all, types))
}

/// An attribute's value: text, a number, or an array of numbers.
fn value(kind: Kind, bytes: &[u8]) -> Value {
    if kind == Kind::Char {
        let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
        return Value::Text(text(bytes.get(..end).unwrap_or_default()));
    }
    macro_rules! each {
        ($ty:ty, $n:literal) => {
            bytes.as_chunks::<$n>().0.iter().map(|&b| Json::from(<$ty>::from_be_bytes(b))).collect()
        };
    }
    let mut list: Vec<Json> = match kind {
        Kind::Byte => each!(i8, 1),
        Kind::Char | Kind::UByte => each!(u8, 1),
        Kind::Short => each!(i16, 2),
        Kind::UShort => each!(u16, 2),
        Kind::Int => each!(i32, 4),
        Kind::UInt => each!(u32, 4),
        Kind::Int64 => each!(i64, 8),
        Kind::UInt64 => each!(u64, 8),
        Kind::Float => {
            let text = |&b: &[u8; 4]| float(&crate::data::cell::float32(f32::from_be_bytes(b)));
            bytes.as_chunks::<4>().0.iter().map(text).collect()
        }
        Kind::Double => {
            let text = |&b: &[u8; 8]| float(&crate::data::cell::float64(f64::from_be_bytes(b)));
            bytes.as_chunks::<8>().0.iter().map(text).collect()
        }
    };
    match list.len() {
        1 => list.remove(0).into(),
        _ => Value::Json(list.into()),
    }
}

/// A float by its shortest text, which for a narrow one is shorter than that of its double.
fn float(text: &str) -> Json {
    text.parse().ok().and_then(serde_json::Number::from_f64).map_or_else(|| text.into(), Json::Number)
}

/// UTF-8, or Latin-1 where it is none.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

/// Reads the header forwards, a block at a time.
struct Cursor<'a> {
    task: &'a Task,
    source: &'a Source,
    at: u64,
    block: Bytes,
    version: u8,
}

impl Cursor<'_> {
    fn take(&mut self, len: u64, what: &str) -> Result<Bytes> {
        let start = self.at;
        let len = limits::check(start.saturating_add(len), limits::HEADER, "the NetCDF header")
            .map_err(|e| e.at(start))?
            - start as usize;
        if self.block.len() < len {
            self.block = self.source.read_up_to(self.task, start, len.max(STEP))?;
        }
        if self.block.len() < len {
            let what = format!("header: it ends within {what}; the file may be cut off");
            return Err(Error::malformed(what).at(start + self.block.len() as u64));
        }
        self.at += len as u64;
        Ok(self.block.split_to(len))
    }

    fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(be(&self.take(4, what)?, 0).unwrap_or(0))
    }

    fn u64(&mut self, what: &str) -> Result<u64> {
        Ok(be(&self.take(8, what)?, 0).unwrap_or(0))
    }

    /// A count or length: as wide as the version says.
    fn number(&mut self, what: &str) -> Result<u64> {
        if self.version == 5 { self.u64(what) } else { self.u32(what).map(u64::from) }
    }

    fn kind(&mut self) -> Result<Kind> {
        let at = self.at;
        let number = self.u32("a type")?;
        Kind::new(number.into(), self.version).ok_or_else(|| {
            Error::malformed(format!("header: {number} is no type of NetCDF version {}", self.version)).at(at)
        })
    }

    /// The length of a list that starts with `tag`, or with zeros where there is none.
    fn list(&mut self, tag: u32, what: &str) -> Result<u64> {
        let at = self.at;
        let found = self.u32(what)?;
        let count = self.number(what)?;
        if found != tag && (found != 0 || count != 0) {
            let what = format!("header: a list of {what} should start with {tag}, not {found} and {count}");
            return Err(Error::malformed(what).at(at));
        }
        Ok(count)
    }

    fn name(&mut self) -> Result<String> {
        let count = self.number("the length of a name")?;
        // Some old writers counted the padding in.
        Ok(text(&self.padded(count, 1, "a name")?).trim_end_matches('\0').to_owned())
    }

    /// `count` elements of `size` bytes and the padding after them.
    fn padded(&mut self, count: u64, size: u64, what: &str) -> Result<Bytes> {
        let bytes = limits::bytes(&[count], size).map_err(|e| e.at(self.at))?;
        let value = self.take(bytes, what)?;
        self.take(bytes.wrapping_neg() % 4, what)?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_values() {
        assert_eq!(value(Kind::Char, b"K\0\0"), Value::Text("K".into()));
        assert_eq!(value(Kind::Short, &[0x80, 1]), Value::Json(Json::from(-32767)));
        assert_eq!(value(Kind::Byte, &[1, 255]), Value::Json(serde_json::json!([1, -1])));
        assert_eq!(value(Kind::Float, &0.01f32.to_be_bytes()).to_string(), "0.01");
        assert_eq!(value(Kind::Double, &f64::NAN.to_be_bytes()), Value::Text("nan".into()));
        assert_eq!(value(Kind::Double, &[]).to_string(), "[]");
        assert_eq!(text(&[b'a', 0xe9]), "aé");
    }
}
