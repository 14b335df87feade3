//! `Datatype`: the type of elements as the file has it (message 0x0003, HDF5 File Format Specification,
//! section IV.A.2.d): eleven classes, nested in each other, of any size, order and precision.

use super::file::Cursor;
use super::message::{RANK, text, unknown};
use crate::bytes::error::Result;
use crate::bytes::limits;
use bytes::Bytes;
use std::sync::Arc;

/// The type of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datatype {
    /// Bytes of one stored element.
    pub size: u64,
    /// What they are.
    pub class: Class,
}

/// The order of a number's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
    /// VAX floats: pairs of bytes, each little-endian, the most significant pair first.
    Vax,
}

/// The classes of datatypes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// 0: an integer.
    Fixed(Fixed),
    /// 1: a float.
    Float(Float),
    /// 2: a time. No library writes it; its bits are delivered as they are.
    Time {
        /// The order of its bytes.
        order: Order,
        /// Significant bits.
        precision: u16,
    },
    /// 3: text of a fixed length.
    String {
        /// How it is filled up.
        padding: Padding,
        /// Its encoding.
        charset: Charset,
    },
    /// 4: bits, numbered from the least significant.
    Bitfield(Fixed),
    /// 5: bytes that only a tag describes.
    Opaque {
        /// The tag, without padding.
        tag: String,
    },
    /// 6: named members.
    Compound(Arc<Vec<Member>>),
    /// 7: the place of an object or of a part of a dataset.
    Reference(Reference),
    /// 8: integers with names.
    Enum(Arc<Enumeration>),
    /// 9: a sequence or text of any length: four bytes of length, then a place in a global heap
    /// ([`HeapId`](super::message::HeapId): an address and four bytes of index).
    Vlen(Arc<Vlen>),
    /// 10: an array of a fixed shape.
    Array {
        /// The type of its elements.
        base: Arc<Datatype>,
        /// Its shape, slowest first.
        dims: Vec<u64>,
    },
    /// 11: a complex number: real and imaginary part, one after the other.
    Complex {
        /// The type of both parts.
        base: Arc<Datatype>,
    },
}

/// An integer or bits: `precision` bits from bit `offset` on; all others are padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The order of its bytes.
    pub order: Order,
    /// Whether its top bit is a sign (two's complement).
    pub signed: bool,
    /// The lowest significant bit, counted after the bytes were put in little-endian order.
    pub offset: u16,
    /// How many bits are significant.
    pub precision: u16,
}

/// A float: where sign, exponent and mantissa lie, counted after the bytes were put in little-endian order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Float {
    /// The order of its bytes.
    pub order: Order,
    /// The lowest significant bit.
    pub offset: u16,
    /// How many bits are significant.
    pub precision: u16,
    /// The bit of the sign.
    pub sign: u8,
    /// The lowest bit of the exponent.
    pub exponent: u8,
    /// How many bits it has.
    pub exponent_bits: u8,
    /// What is subtracted from it.
    pub bias: u32,
    /// The lowest bit of the mantissa.
    pub mantissa: u8,
    /// How many bits it has.
    pub mantissa_bits: u8,
    /// Whether its top bit is stored.
    pub normalization: Normalization,
}

/// The top bit of a float's mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// It may be anything.
    None,
    /// It is stored and always set (x87).
    Set,
    /// It is set and not stored (IEEE 754).
    Implied,
}

/// How fixed text is filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// It ends at the first zero byte.
    NullTerminated,
    /// Zero bytes follow it.
    NullPadded,
    /// Spaces follow it, as in Fortran.
    SpacePadded,
}

/// The encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// ASCII; in practice any single-byte encoding or UTF-8.
    Ascii,
    /// UTF-8.
    Utf8,
}

/// A member of a compound type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Where it starts in the element.
    pub offset: u64,
    /// Its type.
    pub datatype: Datatype,
}

/// What a reference names and how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The address of an object header.
    Object,
    /// A global heap object (address and index) with the object's address and a selection.
    Region,
    /// HDF5 1.12's references: a type, flags and a token, or a length and a global heap object where they
    /// do not fit into the element.
    StandardObject,
    /// The same to a part of a dataset.
    StandardRegion,
    /// The same to an attribute.
    StandardAttribute,
}

/// Names of integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumeration {
    /// The integers' type.
    pub base: Datatype,
    /// Each name with its value as stored.
    pub members: Vec<(String, Bytes)>,
}

/// A sequence or text of any length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlen {
    /// The type of the sequence's elements; one byte for text.
    pub base: Datatype,
    /// The padding and encoding where it is text, not a sequence.
    pub text: Option<(Padding, Charset)>,
}

/// The members of a compound or enumeration that are allowed.
const MEMBERS: usize = 65_536;

impl Datatype {
    /// Parses a datatype message or a type inside another.
    ///
    /// # Errors
    /// `Malformed` where it reaches beyond its bytes, nests deeper than [`limits::DEPTH`] or holds members
    /// that lie outside of it; `Unsupported` for classes and versions that nobody has described.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        Self::nested(cursor, 0)
    }

    fn nested(cursor: &mut Cursor<'_>, depth: usize) -> Result<Self> {
        if depth > limits::DEPTH / 4 {
            return Err(cursor.error(format!("types nest deeper than {}", limits::DEPTH / 4)));
        }
        let first = cursor.u8()?;
        let (version, class) = (first >> 4, first & 15);
        if !(1..=5).contains(&version) {
            return Err(unknown("datatype", version, cursor));
        }
        let bits = cursor.uint(3)? as u32;
        let size = u64::from(cursor.u32()?);
        let head = Head { version, bits, size, depth };
        let class = match class {
            0 => Class::Fixed(head.fixed(cursor, bits >> 3 & 1 == 1)?),
            1 => Class::Float(head.float(cursor)?),
            2 => Class::Time { order: head.order(), precision: cursor.u16()? },
            3 => Class::String { padding: padding(bits & 15), charset: charset(bits >> 4 & 15) },
            4 => Class::Bitfield(head.fixed(cursor, false)?),
            5 => Class::Opaque { tag: text(cursor.bytes((bits & 0xff) as usize)?) },
            6 => Class::Compound(Arc::new(head.members(cursor)?)),
            7 => Class::Reference(reference(bits, cursor)?),
            8 => Class::Enum(Arc::new(head.enumeration(cursor)?)),
            9 => {
                let base = Self::nested(cursor, depth + 1)?;
                let text = (bits & 15 == 1).then(|| (padding(bits >> 4 & 15), charset(bits >> 8 & 15)));
                Class::Vlen(Arc::new(Vlen { base, text }))
            }
            10 => head.array(cursor)?,
            11 => Class::Complex { base: Arc::new(Self::nested(cursor, depth + 1)?) },
            other => return Err(cursor.error(format!("there is no datatype class {other}"))),
        };
        let datatype = Datatype { size, class };
        datatype.check(cursor)?;
        Ok(datatype)
    }

    /// Parts of an element lie inside of it, and it has bytes at all.
    fn check(&self, cursor: &Cursor<'_>) -> Result<()> {
        let inner = match &self.class {
            Class::Array { base, dims } => limits::bytes(dims, base.size)?,
            Class::Complex { base } => base.size.saturating_mul(2),
            Class::Enum(names) => names.base.size,
            Class::Compound(members) => {
                let end = |m: &Member| m.offset.saturating_add(m.datatype.size);
                members.iter().map(end).max().unwrap_or(0)
            }
            _ => 0,
        };
        if inner > self.size {
            return Err(cursor.error(format!("parts of {inner} bytes in an element of {}", self.size)));
        }
        let bits = match &self.class {
            Class::Fixed(fixed) | Class::Bitfield(fixed) => {
                u64::from(fixed.offset) + u64::from(fixed.precision)
            }
            Class::Float(float) => u64::from(float.offset) + u64::from(float.precision),
            _ => 0,
        };
        if self.size == 0 || bits > self.size * 8 {
            return Err(cursor.error(format!("{bits} bits in an element of {} bytes", self.size)));
        }
        Ok(())
    }

    /// Whether elements hold places in global heaps, so that their bytes are no values.
    pub fn has_places(&self) -> bool {
        match &self.class {
            Class::Vlen(_) | Class::Reference(_) => true,
            Class::Compound(members) => members.iter().any(|member| member.datatype.has_places()),
            Class::Array { base, .. } => base.has_places(),
            _ => false,
        }
    }
}

/// The common start of all classes.
struct Head {
    version: u8,
    bits: u32,
    size: u64,
    depth: usize,
}

impl Head {
    fn order(&self) -> Order {
        if self.bits & 1 == 1 { Order::Big } else { Order::Little }
    }

    fn fixed(&self, cursor: &mut Cursor<'_>, signed: bool) -> Result<Fixed> {
        Ok(Fixed { order: self.order(), signed, offset: cursor.u16()?, precision: cursor.u16()? })
    }

    fn float(&self, cursor: &mut Cursor<'_>) -> Result<Float> {
        let order = match (self.bits & 1, self.bits >> 6 & 1) {
            (0, 0) => Order::Little,
            (1, 0) => Order::Big,
            (1, 1) => Order::Vax,
            _ => return Err(cursor.error("a float has no known byte order")),
        };
        let normalization = match self.bits >> 4 & 3 {
            0 => Normalization::None,
            1 => Normalization::Set,
            2 => Normalization::Implied,
            _ => return Err(cursor.error("a float's mantissa has no known form")),
        };
        let float = Float {
            order,
            offset: cursor.u16()?,
            precision: cursor.u16()?,
            sign: (self.bits >> 8 & 0xff) as u8,
            exponent: cursor.u8()?,
            exponent_bits: cursor.u8()?,
            mantissa: cursor.u8()?,
            mantissa_bits: cursor.u8()?,
            bias: cursor.u32()?,
            normalization,
        };
        let end = |start: u8, bits: u8| u64::from(start) + u64::from(bits);
        let top = end(float.exponent, float.exponent_bits).max(end(float.mantissa, float.mantissa_bits));
        if top.max(u64::from(float.sign) + 1) > self.size * 8 {
            return Err(cursor.error(format!("a float of {} bytes has its bit {top}", self.size)));
        }
        Ok(float)
    }

    fn members(&self, cursor: &mut Cursor<'_>) -> Result<Vec<Member>> {
        let count = (self.bits & 0xffff) as usize;
        let mut members = Vec::new();
        for _ in 0..count.min(MEMBERS) {
            members.push(self.member(cursor)?);
        }
        Ok(members)
    }

    fn member(&self, cursor: &mut Cursor<'_>) -> Result<Member> {
        let name = self.name(cursor)?;
        let offset =
            if self.version >= 3 { cursor.uint(width(self.size))? } else { u64::from(cursor.u32()?) };
        let dims = if self.version == 1 { old_dims(cursor)? } else { Vec::new() };
        let mut datatype = Datatype::nested(cursor, self.depth + 1)?;
        if !dims.is_empty() {
            let size = limits::bytes(&dims, datatype.size)?;
            datatype = Datatype { size, class: Class::Array { base: Arc::new(datatype), dims } };
        }
        Ok(Member { name, offset, datatype })
    }

    /// A name that ends with a zero byte, filled up to eight bytes before version 3.
    fn name(&self, cursor: &mut Cursor<'_>) -> Result<String> {
        let before = cursor.taken();
        let name = text(cursor.until_zero());
        let over = (cursor.taken() - before) % 8;
        if self.version < 3 && over > 0 {
            cursor.skip(8 - over)?;
        }
        Ok(name)
    }

    fn enumeration(&self, cursor: &mut Cursor<'_>) -> Result<Enumeration> {
        let base = Datatype::nested(cursor, self.depth + 1)?;
        let count = ((self.bits & 0xffff) as usize).min(MEMBERS);
        let mut names = Vec::new();
        for _ in 0..count {
            if cursor.left() == 0 {
                return Err(cursor.error(format!("{count} names are promised, {} are there", names.len())));
            }
            names.push(self.name(cursor)?);
        }
        let size = limits::check(base.size, 64, "a value of an enumeration")?;
        let value = |name| Ok((name, Bytes::copy_from_slice(cursor.bytes(size)?)));
        let members = names.into_iter().map(value).collect::<Result<_>>()?;
        Ok(Enumeration { base, members })
    }

    fn array(&self, cursor: &mut Cursor<'_>) -> Result<Class> {
        let rank = usize::from(cursor.u8()?);
        if rank > RANK {
            return Err(cursor.error(format!("an array of {rank} dimensions")));
        }
        if self.version < 3 {
            cursor.skip(3)?;
        }
        let dims = (0..rank).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
        if self.version < 3 {
            // A permutation of the dimensions that no library has ever used.
            cursor.skip(4 * rank)?;
        }
        let base = Arc::new(Datatype::nested(cursor, self.depth + 1)?);
        Ok(Class::Array { base, dims })
    }
}

/// Version 1's members have their own shape.
fn old_dims(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let rank = usize::from(cursor.u8()?);
    if rank > 4 {
        return Err(cursor.error(format!("a member of {rank} dimensions, 4 are allowed")));
    }
    cursor.skip(3 + 4 + 4)?;
    let mut dims = Vec::with_capacity(4);
    for _ in 0..4 {
        dims.push(u64::from(cursor.u32()?));
    }
    dims.truncate(rank);
    Ok(dims)
}

/// How many bytes hold any offset in an element of `size` bytes.
fn width(size: u64) -> usize {
    match size {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x100_0000 => 3,
        _ => 4,
    }
}

fn padding(bits: u32) -> Padding {
    match bits {
        0 => Padding::NullTerminated,
        2 => Padding::SpacePadded,
        _ => Padding::NullPadded,
    }
}

fn charset(bits: u32) -> Charset {
    if bits == 1 { Charset::Utf8 } else { Charset::Ascii }
}

fn reference(bits: u32, cursor: &Cursor<'_>) -> Result<Reference> {
    Ok(match bits & 15 {
        0 => Reference::Object,
        1 => Reference::Region,
        2 => Reference::StandardObject,
        3 => Reference::StandardRegion,
        4 => Reference::StandardAttribute,
        other => return Err(cursor.error(format!("there is no reference of kind {other}"))),
    })
}
