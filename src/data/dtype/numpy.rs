//! NumPy's type descriptions, as NPY and bloscpack files have them: `'<f4'`, `'>M8[25s]'`, `[('x', '<i2'), ('', '|V2'), ('y', '<f8', (2, 3))]`.
//! <https://numpy.org/doc/stable/reference/arrays.interface.html#arrays-interface>

pub mod literal;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::dtype::{ByteOrder, DType, Field, Long, Record, TimeBase, TimeUnit};
use literal::{Literal, Value};
use std::sync::Arc;

/// A type together with what [`DType`] leaves out: byte orders, objects, what was not understood.
#[derive(Clone, Debug)]
pub struct Described {
    /// As delivered.
    pub dtype: DType,
    /// As stored.
    pub order: ByteOrder,
    /// Whether Python objects are in it: the data are a pickle then.
    pub object: bool,
    /// `float128 is shown as its bytes`.
    pub remarks: Vec<String>,
    /// Field names and their titles.
    pub titles: Vec<(String, String)>,
}

/// NumPy's own limit is 64 since version 2.
const DIMENSIONS: usize = 64;

impl Described {
    fn simple(dtype: DType, big: bool) -> Self {
        let order = if big && dtype.swap_unit() > 1 { ByteOrder::Big } else { ByteOrder::Little };
        Described { dtype, order, object: false, remarks: Vec::new(), titles: Vec::new() }
    }
}

/// The type that a header's `descr` describes.
///
/// # Errors
/// `Malformed` for what is no type.
pub fn describe(descr: &Literal) -> Result<Described> {
    match &descr.value {
        Value::Str(text) => simple(text, descr.at),
        Value::List(fields) => record(fields, descr.at),
        other => {
            Err(Error::malformed(format!("header: descr is {}, not a str or list", other.kind()))
                .at(descr.at))
        }
    }
}

/// A type in one word: `<f4`, `>M8[25s]`.
pub struct Word<'a> {
    /// Whether the highest byte is the first.
    pub big: bool,
    /// The kind.
    pub letter: char,
    /// Bytes of an element, or its characters.
    pub size: Option<u32>,
    unit: &'a str,
}

impl<'a> Word<'a> {
    /// The parts of a word; `None` for what is none.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (big, rest) = match text.strip_prefix('>') {
            Some(rest) => (true, rest),
            None => (false, text.trim_start_matches(['<', '|', '='])),
        };
        let mut chars = rest.chars();
        let (letter, rest) = (chars.next()?, chars.as_str());
        let (digits, unit) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
        let size = if digits.is_empty() { None } else { Some(digits.parse().ok()?) };
        (unit.is_empty() || matches!(letter, 'M' | 'm')).then_some(Word { big, letter, size, unit })
    }

    /// The type, where its elements mean the same wherever they were written.
    pub fn dtype(&self) -> Option<DType> {
        Some(match (self.letter, self.size) {
            ('?', None) | ('b', Some(1)) => DType::Bool,
            ('i', Some(1)) => DType::I8,
            ('i', Some(2)) => DType::I16,
            ('i', Some(4)) => DType::I32,
            ('i', Some(8)) => DType::I64,
            ('u', Some(1)) => DType::U8,
            ('u', Some(2)) => DType::U16,
            ('u', Some(4)) => DType::U32,
            ('u', Some(8)) => DType::U64,
            ('f', Some(2)) => DType::F16,
            ('f', Some(4)) => DType::F32,
            ('f', Some(8)) => DType::F64,
            // x87's 80 bits or IEEE's 128, as the writing machine had them: the file does not say which, the
            // elements do (`npy::array`).
            ('f', Some(n @ (10 | 12 | 16))) => DType::Long(Long::X87(n)),
            ('c', Some(8)) => DType::C64,
            ('c', Some(16)) => DType::C128,
            ('S' | 'a', Some(n)) => DType::Bytes(n),
            ('U', Some(n)) if n <= u32::MAX / 4 => DType::Str(n),
            ('V', Some(n)) => DType::Void(n),
            ('M', Some(8)) => DType::DateTime(time_unit(self.unit)?),
            ('m', Some(8)) => DType::TimeDelta(time_unit(self.unit)?),
            _ => return None,
        })
    }
}

fn simple(text: &str, at: u64) -> Result<Described> {
    let unknown = || Error::malformed(format!("header: the type {text:?} is unknown")).at(at);
    // NumPy takes the name for the letter.
    let text = if matches!(text, "object" | "object_") { "O" } else { text };
    let word = Word::parse(text).ok_or_else(unknown)?;
    if let Some(dtype) = word.dtype() {
        return Ok(Described::simple(dtype, word.big));
    }
    match (word.letter, word.size) {
        ('c', Some(n @ (20 | 24 | 32))) => Ok(opaque(n, &format!("complex{}", n * 8))),
        ('O', None | Some(4 | 8)) => {
            let mut described = Described::simple(DType::Void(word.size.unwrap_or(8)), false);
            described.object = true;
            Ok(described)
        }
        _ => Err(unknown()),
    }
}

fn opaque(size: u32, name: &str) -> Described {
    let mut described = Described::simple(DType::Void(size), false);
    described.remarks.push(format!("{name} differs from machine to machine; it is shown as its bytes"));
    described
}

/// `[ns]`, `[25s]`, or nothing.
fn time_unit(text: &str) -> Option<TimeUnit> {
    if text.is_empty() {
        return Some(TimeUnit { count: 1, base: TimeBase::Generic });
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let letters = inner.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = match inner.strip_suffix(letters)? {
        "" => 1,
        digits => digits.parse().ok().filter(|&count| count > 0)?,
    };
    Some(TimeUnit { count, base: TimeBase::parse(letters)? })
}

/// A list of fields.
fn record(fields: &[Literal], at: u64) -> Result<Described> {
    let mut all = Described::simple(DType::Void(0), false);
    let (mut parts, mut orders, mut size) = (Vec::new(), Vec::new(), 0u64);
    for item in fields {
        let (name, inner, shape) = field(item, &mut all.titles)?;
        let field = Field { name, dtype: inner.dtype, shape, offset: size };
        let too_large = || {
            Error::malformed(format!("header: with field {:?} an element is too large", field.name))
                .at(item.at)
        };
        let bytes = field.bytes().map_err(|_| too_large())?;
        size = size.checked_add(bytes).filter(|&size| size <= u64::from(u32::MAX)).ok_or_else(too_large)?;
        all.object |= inner.object;
        all.remarks.extend(inner.remarks.into_iter().map(|remark| format!("{}: {remark}", field.name)));
        all.titles.extend(inner.titles.into_iter().map(|(n, title)| (format!("{}.{n}", field.name), title)));
        // A gap for alignment is a nameless field of opaque bytes.
        if !(field.name.is_empty() && matches!(field.dtype, DType::Void(_))) {
            orders.push(inner.order);
            parts.push(field);
        }
    }
    if fields.is_empty() {
        return Err(Error::malformed("header: descr is an empty list: a type without fields").at(at));
    }
    all.order = together(&parts, orders);
    all.dtype = DType::Struct(Arc::new(Record { fields: parts, size }));
    Ok(all)
}

/// One order for all fields where they agree; single bytes agree with either.
fn together(fields: &[Field], orders: Vec<ByteOrder>) -> ByteOrder {
    let neutral = |field: &Field| field.dtype.swap_unit() <= 1 && !matches!(field.dtype, DType::Struct(_));
    if orders.iter().all(|order| *order == ByteOrder::Little) {
        return ByteOrder::Little;
    }
    if fields.iter().zip(&orders).all(|(field, order)| *order == ByteOrder::Big || neutral(field)) {
        return ByteOrder::Big;
    }
    ByteOrder::Fields(orders)
}

/// `(name, descr)`, `(name, descr, shape)`; the name may be `(title, name)`.
fn field(item: &Literal, titles: &mut Vec<(String, String)>) -> Result<(String, Described, Vec<u64>)> {
    let wrong = |what: &str, at: u64| Error::malformed(format!("header: {what}")).at(at);
    let Value::Tuple(parts) = &item.value else {
        return Err(wrong("a field is no tuple", item.at));
    };
    let (name, descr, shape) = match parts.as_slice() {
        [name, descr] => (name, descr, None),
        [name, descr, shape] => (name, descr, Some(shape)),
        _ => return Err(wrong("a field has not two or three parts", item.at)),
    };
    let text = |literal: &Literal| match &literal.value {
        Value::Str(text) => Ok(text.clone()),
        _ => Err(wrong("a field's name is no str", literal.at)),
    };
    let name = match &name.value {
        Value::Tuple(pair) => match pair.as_slice() {
            [title, name] => {
                let name = text(name)?;
                titles.push((name.clone(), text(title)?));
                name
            }
            _ => return Err(wrong("a field's name is no pair of title and name", name.at)),
        },
        _ => text(name)?,
    };
    let described = describe(descr)?;
    let shape = shape.map_or(Ok(Vec::new()), self::shape)?;
    limits::elements(&shape).map_err(|error| error.at(item.at))?;
    Ok((name, described, shape))
}
/// A shape: a tuple of lengths, or one length.
///
/// # Errors
/// `Malformed` for what is no shape, `Limit` for too many dimensions.
pub fn shape(literal: &Literal) -> Result<Vec<u64>> {
    let side = |item: &Literal| match item.value {
        Value::Int(side) if side < 0 => {
            Err(Error::malformed(format!("header: shape is negative ({side})")).at(item.at))
        }
        Value::Int(side) => u64::try_from(side)
            .map_err(|_| Error::malformed(format!("header: shape is too large ({side})")).at(item.at)),
        _ => {
            Err(Error::malformed(format!("header: shape has {}, not an int", item.value.kind())).at(item.at))
        }
    };
    let items = match &literal.value {
        Value::Tuple(items) => items.as_slice(),
        Value::Int(_) => std::slice::from_ref(literal),
        other => {
            return Err(
                Error::malformed(format!("header: shape is {}, not a tuple", other.kind())).at(literal.at)
            );
        }
    };
    if items.len() > DIMENSIONS {
        let what = format!("header: shape has {} dimensions, the limit is {DIMENSIONS}", items.len());
        return Err(Error::limit(what).at(literal.at));
    }
    items.iter().map(side).collect()
}
