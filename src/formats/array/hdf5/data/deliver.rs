//! From elements as a file stores them to elements as arrays deliver them: little-endian, in the types of
//! [`DType`]. Most are copied as they are or turned; bits at odd places, foreign floats and text padding are
//! taken apart here. Elements that hold places in heaps have no delivered bytes: see [`super::column`].

use super::super::datatype::{Class, Datatype, Fixed, Float, Normalization, Order, Padding, Reference};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::adapt;
use crate::data::dtype::{ByteOrder, DType, Field, Long, Mini, Record, TimeBase, TimeUnit, Variable};
use crate::data::location::Location;
use arrow::datatypes::{DataType, Field as ArrowField, Fields};
use bytes::{Bytes, BytesMut};
use std::sync::Arc;

/// How the stored elements of one type are delivered.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// What is delivered.
    pub dtype: DType,
    /// Further dimensions of the array, behind those of its dataspace: a datatype that is itself an array.
    pub dims: Vec<u64>,
    /// The names of values of an enumeration.
    pub names: Vec<(i64, String)>,
    /// The stored byte order, where it matters.
    pub order: Option<&'static str>,
    /// Bytes of one stored element, `dims` not counted in.
    size: usize,
    how: How,
}

/// The way of one element.
#[derive(Clone, Debug, PartialEq)]
enum How {
    /// As it is.
    Same,
    /// The bytes of each number turned.
    Turn,
    /// Some bits of an integer, into so many bytes.
    Bits(Fixed, usize),
    /// A float of another layout, into so many bytes.
    Float(Float, usize),
    /// Seconds and microseconds in 32 bits each, as PyTables alone writes times, into seconds.
    Time(Order),
    /// Text, what is behind its end set to zero.
    Text(Padding),
    /// The members of a record, each from and to its place.
    Record(Vec<Part>),
    /// So many of these.
    Many(usize, Box<Delivery>),
    /// Not in bytes at all.
    Never,
}

/// A member of a record.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    from: usize,
    to: usize,
    len: usize,
    way: Delivery,
}

impl PartialEq for Delivery {
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.dims == other.dims && self.how == other.how
    }
}

impl Delivery {
    /// How elements of `datatype` are delivered.
    ///
    /// # Errors
    /// `Limit` for elements that are too large to be one.
    pub fn new(datatype: &Datatype) -> Result<Self> {
        if let Class::Array { base, dims } = &datatype.class {
            let inner = Self::new(base)?;
            let dims = dims.iter().chain(&inner.dims).copied().collect();
            return Ok(Delivery { dims, ..inner });
        }
        let size = limits::check(datatype.size, limits::CHUNK, "an element")?;
        let plain = |dtype, order: Order| {
            let turn = order == Order::Big && size > 1;
            let how = if turn { How::Turn } else { How::Same };
            Delivery { how, ..Self::of(dtype, size) }.ordered(order)
        };
        Ok(match &datatype.class {
            Class::Fixed(fixed) | Class::Bitfield(fixed) => Self::fixed(*fixed, size),
            Class::Float(float) => Self::float(float, size),
            Class::Time { order, .. } => match size {
                4 => plain(DType::I32, *order),
                8 => Delivery { how: How::Time(*order), ..Self::of(DType::F64, size) }.ordered(*order),
                _ => plain(void(size), Order::Little),
            },
            Class::String { padding, .. } => {
                Delivery { how: How::Text(*padding), ..Self::of(text(size), size) }
            }
            Class::Opaque { tag } => Self::opaque(tag, size),
            Class::Compound(_) => Self::record(datatype, size)?,
            Class::Enum(names) => Self::named(datatype, &names.base, size)?,
            Class::Complex { base } => Self::complex(base, size)?,
            Class::Array { .. } => Self::of(void(size), size),
            Class::Reference(_) | Class::Vlen(_) => Self::variable(datatype)?,
        })
    }

    /// How the records of a table are delivered: as columns where a member is text, so that it is shown as
    /// text and not as bytes.
    ///
    /// # Errors
    /// As [`Delivery::new`].
    pub fn of_rows(datatype: &Datatype) -> Result<Self> {
        let is_record = matches!(datatype.class, Class::Compound(_));
        if is_record && by_columns(datatype) { Self::variable(datatype) } else { Self::new(datatype) }
    }

    fn of(dtype: DType, size: usize) -> Self {
        Delivery { dtype, dims: Vec::new(), names: Vec::new(), order: None, size, how: How::Same }
    }

    fn ordered(mut self, order: Order) -> Self {
        if self.size > 1 {
            self.order = Some(match order {
                Order::Little => "little",
                Order::Big => "big",
                Order::Vax => "VAX",
            });
        }
        self
    }

    fn fixed(fixed: Fixed, size: usize) -> Self {
        let whole = fixed.offset == 0 && usize::from(fixed.precision) == size * 8;
        let (dtype, out) = match (size, fixed.signed) {
            (1, true) => (DType::I8, 1),
            (1, false) => (DType::U8, 1),
            (2, true) => (DType::I16, 2),
            (2, false) => (DType::U16, 2),
            (3 | 4, true) => (DType::I32, 4),
            (3 | 4, false) => (DType::U32, 4),
            (5..=8, true) => (DType::I64, 8),
            (5..=8, false) => (DType::U64, 8),
            _ => return Self::of(void(size), size).ordered(fixed.order),
        };
        let how = match (whole && out == size, fixed.order) {
            (true, Order::Big) if size > 1 => How::Turn,
            (true, Order::Little | Order::Big) => How::Same,
            _ => How::Bits(fixed, out),
        };
        Delivery { how, ..Self::of(dtype, size) }.ordered(fixed.order)
    }

    fn float(float: &Float, size: usize) -> Self {
        let straight = matches!(float.order, Order::Little | Order::Big);
        let known = if straight { known_float(float, size) } else { None };
        let made = match known {
            Some(dtype) => {
                let how = if float.order == Order::Big && size > 1 { How::Turn } else { How::Same };
                Delivery { how, ..Self::of(dtype, size) }
            }
            None if size > 16 || float.exponent_bits > 32 || float.mantissa_bits > 64 => {
                Self::of(void(size), size)
            }
            None => {
                let usual = usual_bias(float.exponent_bits);
                let narrow = float.exponent_bits <= 8 && float.mantissa_bits <= 23 && float.bias == usual;
                let (dtype, out) = if narrow { (DType::F32, 4) } else { (DType::F64, 8) };
                Delivery { how: How::Float(*float, out), ..Self::of(dtype, size) }
            }
        };
        made.ordered(float.order)
    }

    /// Opaque bytes; h5py keeps NumPy's times in them and says so in the tag.
    fn opaque(tag: &str, size: usize) -> Self {
        if tag.strip_prefix("NUMPY:|S").is_some_and(|n| n.parse() == Ok(size)) {
            return Self::of(text(size), size);
        }
        let time = tag.strip_prefix("NUMPY:").filter(|_| size == 8).and_then(numpy_time);
        match time {
            Some((dtype, big)) => {
                let how = if big { How::Turn } else { How::Same };
                let order = if big { Order::Big } else { Order::Little };
                Delivery { how, ..Self::of(dtype, size) }.ordered(order)
            }
            None => Self::of(void(size), size),
        }
    }

    fn named(datatype: &Datatype, base: &Datatype, size: usize) -> Result<Self> {
        let inner = Self::new(base)?;
        if inner.dtype.is_variable() || inner.size != size || !inner.dims.is_empty() {
            return Ok(Self::of(void(size), size));
        }
        let Class::Enum(list) = &datatype.class else { return Ok(inner) };
        let value = |bytes: &Bytes| {
            let mut out = Vec::new();
            inner.one(bytes, &mut out);
            signed(&inner.dtype, &out)
        };
        let names: Vec<(i64, String)> =
            list.members.iter().filter_map(|(name, bytes)| Some((value(bytes)?, name.clone()))).collect();
        // h5py and HDF5's own Java tools spell booleans like this.
        let is_bool = size == 1
            && names.len() == 2
            && names.iter().all(|(value, name)| matches!((value, name.as_str()), (0, "FALSE") | (1, "TRUE")));
        Ok(if is_bool { Self::of(DType::Bool, 1) } else { Delivery { names, ..inner } })
    }

    fn complex(base: &Datatype, size: usize) -> Result<Self> {
        let part = Self::new(base)?;
        let dtype = match (&part.dtype, &part.how) {
            (DType::F32, How::Same | How::Turn) if size == 8 => DType::C64,
            (DType::F64, How::Same | How::Turn) if size == 16 => DType::C128,
            _ => return Self::pair(&part, size),
        };
        Ok(Delivery { how: part.how, order: part.order, ..Self::of(dtype, size) })
    }

    /// A complex number of parts that NumPy has no complex type of: a record of two.
    fn pair(part: &Delivery, size: usize) -> Result<Self> {
        let width = part.dtype.size();
        let field = |name: &str, offset| Field {
            name: name.to_owned(),
            dtype: part.dtype.clone(),
            shape: Vec::new(),
            offset,
        };
        let fields = vec![field("real", 0), field("imaginary", width)];
        let dtype = DType::Struct(Arc::new(Record { fields, size: 2 * width }));
        let half = |from, to| Part { from, to, len: part.size, way: part.clone() };
        let parts = vec![half(0, 0), half(part.size, width as usize)];
        Ok(Delivery { how: How::Record(parts), order: part.order, ..Self::of(dtype, size) })
    }

    fn record(datatype: &Datatype, size: usize) -> Result<Self> {
        let Class::Compound(members) = &datatype.class else { return Err(Error::bug("no record")) };
        if datatype.has_places() {
            return Self::variable(datatype);
        }
        let ways: Vec<Delivery> = members.iter().map(|m| Self::new(&m.datatype)).collect::<Result<_>>()?;
        if let [(real, a), (imaginary, b)] = members.iter().zip(&ways).collect::<Vec<_>>().as_slice()
            && (real.name.as_str(), imaginary.name.as_str()) == ("r", "i")
            && a == b
            && (real.offset, imaginary.offset) == (0, a.size as u64)
            && a.dims.is_empty()
            && size == 2 * a.size
            && matches!(a.how, How::Same | How::Turn)
            && let Some(dtype) = complex_of(&a.dtype)
        {
            return Ok(Delivery { how: a.how.clone(), order: a.order, ..Self::of(dtype, size) });
        }
        let order = ways.iter().find_map(|way| way.order);
        // Where every member stays as it is, the whole element does, gaps included.
        let same = ways.iter().all(|way| way.how == How::Same);
        let (mut fields, mut parts, mut packed) = (Vec::new(), Vec::new(), 0u64);
        for (member, way) in members.iter().zip(ways) {
            let len = limits::check(member.datatype.size, limits::CHUNK, "a member")?;
            let offset = if same { member.offset } else { packed };
            let bytes = limits::bytes(&way.dims, way.dtype.size())?;
            packed = packed.saturating_add(bytes);
            fields.push(Field {
                name: member.name.clone(),
                dtype: way.dtype.clone(),
                shape: way.dims.clone(),
                offset,
            });
            let (from, to) = (member.offset as usize, offset as usize);
            parts.push(Part { from, to, len, way: way.many(len) });
        }
        let whole = if same { size as u64 } else { packed };
        limits::check(whole, limits::CHUNK, "an element")?;
        let dtype = DType::Struct(Arc::new(Record { fields, size: whole }));
        let how = if same { How::Same } else { How::Record(parts) };
        Ok(Delivery { how, order, ..Self::of(dtype, size) })
    }

    /// This way for all the elements of a member that is `len` bytes long.
    fn many(self, len: usize) -> Delivery {
        match len.checked_div(self.size) {
            Some(count) if count != 1 && self.how != How::Same => {
                Delivery { how: How::Many(count, Box::new(self.clone())), size: len, ..self }
            }
            _ => Delivery { size: len, ..self },
        }
    }

    fn variable(datatype: &Datatype) -> Result<Self> {
        let arrow = arrow_of(datatype, 0)?;
        let (word, reference) = match &datatype.class {
            Class::Reference(kind) => (reference_word(*kind), true),
            Class::Vlen(vlen) if vlen.text.is_some() => ("str", false),
            _ => ("object", false),
        };
        let size = limits::check(datatype.size, limits::CHUNK, "an element")?;
        let dtype = DType::Variable(Arc::new(Variable { word: word.to_owned(), arrow, reference }));
        Ok(Delivery { how: How::Never, ..Self::of(dtype, size) })
    }

    /// Bytes of one stored element, `dims` not counted in.
    pub fn stored(&self) -> usize {
        self.size
    }

    /// A place of elements, with how these are stored.
    pub fn described(&self, location: Location) -> Location {
        location.encoding(self.word())
    }

    /// How elements are stored: their type and byte order.
    pub fn word(&self) -> String {
        let order = self.order.map(|order| format!(", {order}-endian")).unwrap_or_default();
        format!("{}{order}", self.dtype)
    }

    /// Whether stored bytes are delivered as they are.
    pub fn is_same(&self) -> bool {
        self.how == How::Same
    }

    /// Delivers whole elements; costs nothing where they stay as they are.
    ///
    /// # Errors
    /// `Limit` where the delivered elements would be too many bytes.
    pub fn deliver(&self, stored: Bytes) -> Result<Bytes> {
        match &self.how {
            How::Same => Ok(stored),
            How::Turn => {
                // In place where nobody else has the bytes: what a filter has just made.
                let mut out = stored.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
                ByteOrder::Big.to_little(&self.dtype, &mut out)?;
                Ok(out.freeze())
            }
            _ => {
                let count = stored.len() / self.size.max(1);
                let bytes = limits::bytes(&[count as u64], self.dtype.size())?;
                let mut out = Vec::new();
                let size = limits::check(bytes, limits::READ, "converted elements")?;
                out.try_reserve_exact(size)
                    .map_err(|_| Error::limit(format!("{size} bytes of converted elements")))?;
                stored.chunks_exact(self.size.max(1)).for_each(|element| self.one(element, &mut out));
                Ok(out.into())
            }
        }
    }

    /// Delivers one element.
    fn one(&self, stored: &[u8], out: &mut Vec<u8>) {
        match &self.how {
            How::Same | How::Never => out.extend_from_slice(stored),
            How::Turn => {
                let start = out.len();
                out.extend_from_slice(stored);
                // It cannot fail but for records, which are turned member by member.
                let _ = ByteOrder::Big.to_little(&self.dtype, out.get_mut(start..).unwrap_or_default());
            }
            How::Bits(fixed, size) => {
                let value = bits(stored, fixed.order, fixed.offset, fixed.precision, fixed.signed);
                out.extend_from_slice(value.to_le_bytes().get(..*size).unwrap_or_default());
            }
            How::Float(float, size) => {
                let value = foreign(stored, float);
                match size {
                    4 => out.extend_from_slice(&(value as f32).to_le_bytes()),
                    _ => out.extend_from_slice(&value.to_le_bytes()),
                }
            }
            How::Time(order) => {
                let both = bits(stored, *order, 0, 64, true) as i64;
                let seconds = 1e-6 * f64::from(both as i32) + (both >> 32) as f64;
                out.extend_from_slice(&seconds.to_le_bytes());
            }
            How::Text(padding) => {
                let end = text_end(stored, *padding);
                out.extend_from_slice(stored.get(..end).unwrap_or_default());
                out.resize(out.len() + stored.len() - end, 0);
            }
            How::Record(parts) => {
                for part in parts {
                    let member = part.from.checked_add(part.len).and_then(|end| stored.get(part.from..end));
                    part.way.one(member.unwrap_or_default(), out);
                }
            }
            How::Many(_, way) => stored.chunks_exact(way.size.max(1)).for_each(|part| way.one(part, out)),
        }
    }
}

/// The end of fixed text in its bytes.
pub(super) fn text_end(stored: &[u8], padding: Padding) -> usize {
    match padding {
        Padding::NullTerminated => memchr::memchr(0, stored).unwrap_or(stored.len()),
        Padding::NullPadded => stored.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1),
        Padding::SpacePadded => stored.iter().rposition(|&byte| byte != b' ').map_or(0, |at| at + 1),
    }
}

/// Whether elements are given as columns: they hold places in heaps, or are records with text in them.
pub(super) fn by_columns(datatype: &Datatype) -> bool {
    let holds_text = |d: &Datatype| matches!(d.class, Class::String { .. });
    match &datatype.class {
        Class::Compound(members) => {
            members.iter().any(|m| holds_text(super::plain::element(&m.datatype)) || by_columns(&m.datatype))
        }
        Class::Array { base, .. } => by_columns(base),
        _ => datatype.has_places(),
    }
}

/// The Arrow type of a column of such elements.
pub(super) fn arrow_of(datatype: &Datatype, depth: usize) -> Result<DataType> {
    if depth > limits::DEPTH {
        return Err(Error::limit(format!("datatypes nest deeper than {}", limits::DEPTH)));
    }
    let item = |inner| Arc::new(ArrowField::new("item", inner, true));
    Ok(match &datatype.class {
        Class::Vlen(vlen) if vlen.text.is_some() => DataType::Utf8,
        Class::Vlen(vlen) => DataType::List(item(arrow_of(&vlen.base, depth + 1)?)),
        Class::Reference(_) => DataType::Utf8,
        Class::String { .. } => DataType::Utf8,
        Class::Array { base, dims } => {
            let list = |inner, &side: &u64| -> Result<DataType> {
                let side =
                    i32::try_from(side).map_err(|_| Error::limit(format!("lists of {side} elements")))?;
                Ok(DataType::FixedSizeList(item(inner), side))
            };
            dims.iter().rev().try_fold(arrow_of(base, depth + 1)?, list)?
        }
        Class::Compound(members) if by_columns(datatype) => {
            let field = |m: &super::super::datatype::Member| {
                Ok(ArrowField::new(&m.name, arrow_of(&m.datatype, depth + 1)?, true))
            };
            DataType::Struct(members.iter().map(field).collect::<Result<Fields>>()?)
        }
        _ => {
            let way = Delivery::new(datatype)?;
            adapt::arrow_of(&way.dtype).map_or(DataType::Binary, |(arrow, _)| arrow)
        }
    })
}

fn reference_word(kind: Reference) -> &'static str {
    match kind {
        Reference::Object | Reference::StandardObject => "reference",
        Reference::Region | Reference::StandardRegion => "region reference",
        Reference::StandardAttribute => "attribute reference",
    }
}

fn void(size: usize) -> DType {
    DType::Void(u32::try_from(size).unwrap_or(u32::MAX))
}

fn text(size: usize) -> DType {
    DType::Bytes(u32::try_from(size).unwrap_or(u32::MAX))
}

fn complex_of(part: &DType) -> Option<DType> {
    match part {
        DType::F32 => Some(DType::C64),
        DType::F64 => Some(DType::C128),
        _ => None,
    }
}

/// The bias that IEEE 754 gives an exponent of so many bits.
fn usual_bias(bits: u8) -> u32 {
    1u32.checked_shl(u32::from(bits).saturating_sub(1)).unwrap_or(1).saturating_sub(1)
}

/// The float types that need no arithmetic.
fn known_float(float: &Float, size: usize) -> Option<DType> {
    let layout = (size, float.exponent_bits, float.mantissa_bits);
    let packed = float.offset == 0
        && float.mantissa == 0
        && float.exponent == float.mantissa_bits
        && u16::from(float.sign) == u16::from(float.exponent) + u16::from(float.exponent_bits)
        && float.bias == usual_bias(float.exponent_bits);
    if !packed {
        return None;
    }
    let implied = float.normalization == Normalization::Implied;
    match layout {
        (2, 5, 10) if implied => Some(DType::F16),
        (2, 8, 7) if implied => Some(DType::BF16),
        (4, 8, 23) if implied => Some(DType::F32),
        (8, 11, 52) if implied => Some(DType::F64),
        (1, 4, 3) if implied => Some(DType::Mini(Mini::F8E4M3FN)),
        (1, 5, 2) if implied => Some(DType::Mini(Mini::F8E5M2)),
        (1, 2, 3) if implied => Some(DType::Mini(Mini::F6E2M3)),
        (1, 3, 2) if implied => Some(DType::Mini(Mini::F6E3M2)),
        (1, 2, 1) if implied => Some(DType::Mini(Mini::F4E2M1)),
        (16, 15, 112) if implied => Some(DType::Long(Long::Quad)),
        (10 | 12 | 16, 15, 64) if !implied => Some(DType::Long(Long::X87(size as u32))),
        _ => None,
    }
}

/// The bytes of a number, least significant first.
fn ordered(stored: &[u8], order: Order) -> [u8; 16] {
    let mut bytes = [0; 16];
    let len = stored.len().min(16);
    for (n, byte) in bytes.iter_mut().take(len).enumerate() {
        let at = match order {
            Order::Little => n,
            Order::Big => len - 1 - n,
            Order::Vax => (len - 1 - n) ^ 1,
        };
        *byte = stored.get(at).copied().unwrap_or(0);
    }
    bytes
}

/// Some bits of a number, with its sign spread to all 64.
fn bits(stored: &[u8], order: Order, offset: u16, precision: u16, is_signed: bool) -> u64 {
    let all = u128::from_le_bytes(ordered(stored, order));
    let value = all.checked_shr(u32::from(offset)).unwrap_or(0) as u64;
    let unused = 64u32.saturating_sub(u32::from(precision)).min(63);
    if precision == 0 {
        return 0;
    }
    let top = value << unused;
    if is_signed { ((top as i64) >> unused) as u64 } else { top >> unused }
}

/// The value of a float of any layout. What is beyond 64 bits of mantissa was refused before.
fn foreign(stored: &[u8], float: &Float) -> f64 {
    let all = u128::from_le_bytes(ordered(stored, float.order));
    let part = |start: u8, bits: u8| {
        let mask = 1u128.checked_shl(u32::from(bits)).map_or(u128::MAX, |top| top - 1);
        all.checked_shr(u32::from(start)).unwrap_or(0) & mask
    };
    let negative = part(float.sign, 1) == 1;
    let (power, fraction) =
        (part(float.exponent, float.exponent_bits), part(float.mantissa, float.mantissa_bits));
    let ones = 1u128.checked_shl(u32::from(float.exponent_bits)).map_or(u128::MAX, |top| top - 1);
    let bits = i64::from(float.mantissa_bits);
    let implied = float.normalization == Normalization::Implied;
    // A stored top bit is the one before the point.
    let shift = if implied { bits } else { bits - 1 };
    let magnitude = if power == ones && float.exponent_bits > 0 {
        let tail = if implied { fraction } else { fraction & !(1u128 << (bits - 1).max(0)) };
        if tail == 0 { f64::INFINITY } else { f64::NAN }
    } else {
        let hidden = implied && power != 0;
        let mantissa = if hidden { fraction | 1u128 << bits } else { fraction };
        let exponent = (power.max(1) as i64).saturating_sub(i64::from(float.bias)).saturating_sub(shift);
        scaled(mantissa as f64, exponent)
    };
    if negative { -magnitude } else { magnitude }
}

/// `value × 2^exponent`, in steps, since the power alone may be beyond an f64.
fn scaled(value: f64, exponent: i64) -> f64 {
    let exponent = exponent.clamp(-3000, 3000) as i32;
    let half = exponent / 2;
    value * 2f64.powi(half) * 2f64.powi(exponent - half)
}

/// An integer that was delivered, as an i64 where it fits.
fn signed(dtype: &DType, bytes: &[u8]) -> Option<i64> {
    let mut found = None;
    dtype.integers(bytes, |value| found = i64::try_from(value).ok());
    found
}

/// NumPy's times: `<M8[s]`, `>m8[25us]`; with whether they are big-endian.
fn numpy_time(text: &str) -> Option<(DType, bool)> {
    let (order, rest) = text.split_at_checked(1)?;
    let (kind, unit) = rest.split_at_checked(2)?;
    let unit = unit.strip_prefix('[').and_then(|u| u.strip_suffix(']')).unwrap_or("generic");
    let digits = unit.find(|c: char| !c.is_ascii_digit())?;
    let (count, base) = unit.split_at_checked(digits)?;
    let count = if count.is_empty() { 1 } else { count.parse().ok()? };
    let unit = TimeUnit { count, base: TimeBase::parse(base)? };
    let dtype = match kind {
        "M8" => DType::DateTime(unit),
        "m8" => DType::TimeDelta(unit),
        _ => return None,
    };
    Some((dtype, order == ">"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(size: u64, order: Order, signed: bool, offset: u16, precision: u16) -> Datatype {
        Datatype { size, class: Class::Fixed(Fixed { order, signed, offset, precision }) }
    }

    fn deliver(datatype: &Datatype, stored: &[u8]) -> (DType, Vec<u8>) {
        let way = Delivery::new(datatype).unwrap();
        let bytes = way.deliver(Bytes::copy_from_slice(stored)).unwrap().to_vec();
        (way.dtype, bytes)
    }

    #[test]
    fn odd_integers() {
        let (dtype, bytes) = deliver(&fixed(2, Order::Little, true, 4, 5), &[0xff, 0x01, 0xf0, 0x00]);
        assert_eq!((dtype, bytes), (DType::I16, vec![0xff, 0xff, 0x0f, 0]));
        let (dtype, bytes) = deliver(&fixed(3, Order::Big, false, 0, 24), &[1, 2, 3]);
        assert_eq!((dtype, bytes), (DType::U32, vec![3, 2, 1, 0]));
        assert_eq!(deliver(&fixed(2, Order::Big, true, 0, 16), &[1, 2]).1, [2, 1]);
        assert!(Delivery::new(&fixed(8, Order::Little, true, 0, 64)).unwrap().is_same());
    }

    #[test]
    fn foreign_floats() {
        let vax = Float {
            order: Order::Vax,
            offset: 0,
            precision: 32,
            sign: 31,
            exponent: 23,
            exponent_bits: 8,
            bias: 129,
            mantissa: 0,
            mantissa_bits: 23,
            normalization: Normalization::Implied,
        };
        // 1.0 as a VAX F float: 0x4080 in its first word.
        let (dtype, bytes) = deliver(&Datatype { size: 4, class: Class::Float(vax) }, &[0x80, 0x40, 0, 0]);
        assert_eq!((dtype, bytes), (DType::F64, 1f64.to_le_bytes().to_vec()));
        let small = Float {
            order: Order::Little,
            precision: 12,
            sign: 11,
            exponent: 6,
            exponent_bits: 5,
            bias: 15,
            mantissa_bits: 6,
            ..vax
        };
        let two = (16u16 << 6 | 0b100000).to_le_bytes();
        let (dtype, bytes) = deliver(&Datatype { size: 2, class: Class::Float(small) }, &two);
        assert_eq!((dtype, bytes), (DType::F32, 3f32.to_le_bytes().to_vec()));
    }

    #[test]
    fn text_ends_where_its_padding_says() {
        assert_eq!(text_end(b"ab\0c", Padding::NullTerminated), 2);
        assert_eq!(text_end(b"a\0c\0", Padding::NullPadded), 3);
        assert_eq!(text_end(b"a c  ", Padding::SpacePadded), 3);
        assert_eq!(
            numpy_time("<M8[25us]").map(|(dtype, big)| (dtype.to_string(), big)).unwrap().0,
            "datetime64[25us]"
        );
        assert_eq!(numpy_time("<i8"), None);
    }
}
