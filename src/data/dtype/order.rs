//! Byte orders of elements as they are stored, and the way to the little-endian ones that arrays deliver.

use super::DType;
use crate::bytes::error::{Error, Result};

/// Which parts of an element are stored big-endian.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Little-endian, or of single bytes.
    #[default]
    Little,
    /// All of it.
    Big,
    /// For each field of a record.
    Fields(Vec<ByteOrder>),
}

impl ByteOrder {
    /// Big or little.
    pub fn big(big: bool) -> Self {
        if big { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// Turns big-endian parts of elements little-endian, in place.
    ///
    /// # Errors
    /// `Malformed` for a field that reaches beyond its element.
    pub fn to_little(&self, dtype: &DType, bytes: &mut [u8]) -> Result<()> {
        if let Some(width) = self.width(dtype) {
            swap_bytes(bytes, width);
            return Ok(());
        }
        let DType::Struct(record) = dtype else {
            return Err(Error::bug("byte orders of fields without fields"));
        };
        let mut parts = Vec::with_capacity(record.fields.len());
        for (n, field) in record.fields.iter().enumerate() {
            let end = field.offset.checked_add(field.bytes()?).filter(|&end| end <= record.size);
            let end = end.ok_or_else(|| {
                Error::malformed(format!("dtype: field {:?} reaches beyond its element", field.name))
            })?;
            let order = self.of_field(n);
            if *order != ByteOrder::Little {
                parts.push((field.offset as usize..end as usize, &field.dtype, order));
            }
        }
        for element in bytes.chunks_exact_mut(usize::try_from(record.size).unwrap_or(usize::MAX).max(1)) {
            for (range, dtype, order) in &parts {
                order.to_little(dtype, element.get_mut(range.clone()).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// The order of the n-th field of a record.
    fn of_field(&self, n: usize) -> &ByteOrder {
        match self {
            ByteOrder::Fields(orders) => orders.get(n).unwrap_or(&ByteOrder::Little),
            whole => whole,
        }
    }

    /// How many bytes are turned together, where that is the same all over an element; 1 where none are.
    fn width(&self, dtype: &DType) -> Option<usize> {
        let record = match (self, dtype) {
            (ByteOrder::Little, _) => return Some(1),
            (_, DType::Struct(record)) => record,
            (ByteOrder::Big, dtype) => return Some(dtype.swap_unit()),
            (ByteOrder::Fields(_), _) => return None,
        };
        let (mut at, mut width) = (0, None);
        for (n, field) in record.fields.iter().enumerate() {
            let one = self.of_field(n).width(&field.dtype)?;
            if field.offset != at || width.is_some_and(|width| width != one) {
                return None;
            }
            width = Some(one);
            at += field.bytes().ok()?;
        }
        width.filter(|_| at == record.size)
    }

    /// The word for the inspector, where the order matters.
    pub fn word(&self, dtype: &DType) -> Option<&'static str> {
        let matters = dtype.swap_unit() > 1;
        match self {
            ByteOrder::Fields(_) => Some("mixed"),
            ByteOrder::Big => (matters || dtype.record().is_some()).then_some("big"),
            ByteOrder::Little => matters.then_some("little"),
        }
    }
}

/// Turns the bytes of each `width` around, in place; what is left over at the end stays.
pub fn swap_bytes(bytes: &mut [u8], width: usize) {
    // As numbers, which the compiler turns many at a time.
    macro_rules! each {
        ($ty:ty, $n:literal) => {
            bytes.as_chunks_mut::<$n>().0.iter_mut().for_each(|b| *b = <$ty>::from_le_bytes(*b).to_be_bytes())
        };
    }
    match width {
        0 | 1 => {}
        2 => each!(u16, 2),
        4 => each!(u32, 4),
        8 => each!(u64, 8),
        16 => each!(u128, 16),
        width => bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dtype::{Field, Record};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Types with their stored orders: numbers, texts, records of them with gaps and with records inside.
    fn types() -> impl Strategy<Value = (DType, ByteOrder)> {
        let plain = prop_oneof![
            Just(DType::U8),
            Just(DType::I16),
            Just(DType::F32),
            Just(DType::F64),
            Just(DType::C32),
            Just(DType::C64),
            Just(DType::C128),
            Just(DType::Bytes(3)),
            Just(DType::Str(2)),
            Just(DType::Long(crate::data::dtype::Long::X87(16))),
        ];
        let leaf = (plain, any::<bool>()).prop_map(|(dtype, big)| (dtype, ByteOrder::big(big)));
        leaf.prop_recursive(3, 12, 4, |inner| {
            let field = (inner, prop::collection::vec(0u64..3, 0..2), 0u64..3);
            (prop::collection::vec(field, 1..4), any::<bool>()).prop_map(|(parts, together)| {
                let (mut fields, mut orders, mut size) = (Vec::new(), Vec::new(), 0);
                for (n, ((dtype, order), shape, gap)) in parts.into_iter().enumerate() {
                    let field = Field { name: n.to_string(), dtype, shape, offset: size + gap };
                    size = field.offset + field.bytes().unwrap();
                    fields.push(field);
                    orders.push(order);
                }
                let order = if together { ByteOrder::Big } else { ByteOrder::Fields(orders) };
                (DType::Struct(Arc::new(Record { fields, size })), order)
            })
        })
    }

    /// The plain way: where each byte of an element comes from.
    fn sources(dtype: &DType, order: &ByteOrder, start: usize, out: &mut Vec<usize>) {
        match dtype {
            DType::Struct(record) => {
                for (n, field) in record.fields.iter().enumerate() {
                    let count = field.bytes().unwrap().checked_div(field.dtype.size()).unwrap_or(0);
                    for k in 0..count {
                        let at = start + (field.offset + k * field.dtype.size()) as usize;
                        sources(&field.dtype, order.of_field(n), at, out);
                    }
                }
            }
            dtype if *order == ByteOrder::Big && dtype.swap_unit() > 1 => {
                for at in (start..start + dtype.size() as usize).step_by(dtype.swap_unit()) {
                    out.get_mut(at..at + dtype.swap_unit()).unwrap().reverse();
                }
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn what_is_big_endian_is_turned_and_nothing_else((dtype, order) in types(), count in 0usize..4) {
            let size = dtype.size() as usize;
            let stored: Vec<u8> = (0..size * count).map(|n| (n % 251) as u8).collect();
            let mut wanted = Vec::new();
            for element in stored.chunks(size.max(1)) {
                let mut places: Vec<usize> = (0..size).collect();
                sources(&dtype, &order, 0, &mut places);
                wanted.extend(places.iter().map(|at| element[*at]));
            }
            let mut got = stored;
            order.to_little(&dtype, &mut got).unwrap();
            prop_assert_eq!(got, wanted);
        }

        #[test]
        fn bytes_swapped_twice_are_the_same(bytes in prop::collection::vec(any::<u8>(), 0..100), width in 0usize..20) {
            let mut twice = bytes.clone();
            swap_bytes(&mut twice, width);
            let whole = bytes.len() / width.max(1) * width.max(1);
            let each = bytes[..whole].chunks(width.max(1)).flat_map(|part| part.iter().rev().copied());
            prop_assert_eq!(&twice, &each.chain(bytes[whole..].iter().copied()).collect::<Vec<u8>>());
            swap_bytes(&mut twice, width);
            prop_assert_eq!(twice, bytes);
        }
    }

    #[test]
    fn a_field_beyond_its_element_is_an_error() {
        let field = Field { name: "x".to_owned(), dtype: DType::F64, shape: vec![2], offset: 4 };
        let dtype = DType::Struct(Arc::new(Record { fields: vec![field], size: 16 }));
        assert!(ByteOrder::Big.to_little(&dtype, &mut [0; 16]).is_err());
        assert!(ByteOrder::Fields(Vec::new()).to_little(&DType::F64, &mut [0; 8]).is_err());
    }
}
