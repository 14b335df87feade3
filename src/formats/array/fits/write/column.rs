//! Columns of tables: what cells of an Arrow type become in a binary table. FITS 4.0, section 7.3.

use crate::bytes::display;
use crate::data::adapt::is_text;
use crate::data::dtype::DType;
use crate::data::format::{Loss, LossKind, note};
use arrow::datatypes::{DataType, Field};

/// What an element of a cell is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Element {
    /// `T`, `F` or zero for null.
    Logical,
    /// A number; the type may be stored with an offset.
    Number(DType),
    /// Two floats.
    Complex(DType),
}

impl Element {
    /// Its letter in a form.
    pub(super) fn letter(&self) -> char {
        match self {
            Element::Logical => 'L',
            Element::Number(dtype) | Element::Complex(dtype) => match dtype {
                DType::I8 | DType::U8 => 'B',
                DType::I16 | DType::U16 => 'I',
                DType::I32 | DType::U32 => 'J',
                DType::I64 | DType::U64 => 'K',
                DType::F32 => 'E',
                DType::C64 => 'C',
                DType::C128 => 'M',
                _ => 'D',
            },
        }
    }

    /// Bytes of one.
    pub(super) fn size(&self) -> usize {
        match self {
            Element::Logical => 1,
            Element::Number(dtype) | Element::Complex(dtype) => dtype.size() as usize,
        }
    }

    /// The offset by which integers are stored with the other sign.
    pub(super) fn zero(&self) -> Option<&'static str> {
        match self {
            Element::Number(DType::I8) => Some("-128"),
            Element::Number(DType::U16) => Some("32768"),
            Element::Number(DType::U32) => Some("2147483648"),
            Element::Number(DType::U64) => Some("9223372036854775808"),
            _ => None,
        }
    }

    /// A type that holds these integers without an offset. The mark of null is a stored number, which readers compare
    /// with what the offset made of it, so columns with nulls have none.
    pub(super) fn wider(&self) -> Option<Element> {
        let Element::Number(dtype) = self else { return None };
        Some(Element::Number(match dtype {
            DType::I8 => DType::I16,
            DType::U16 => DType::I32,
            DType::U32 => DType::I64,
            _ => return None,
        }))
    }

    /// The least and the greatest integer; `None` for others.
    pub(super) fn range(&self) -> Option<(i128, i128)> {
        let Element::Number(dtype) = self else { return None };
        let bits = dtype.size() as u32 * 8;
        match dtype {
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Some((0, (1 << bits) - 1)),
            _ => None,
        }
    }

    /// An integer as it is stored.
    pub(super) fn stored(&self, value: i128) -> i128 {
        value - self.zero().and_then(|zero| zero.parse::<i128>().ok()).unwrap_or(0)
    }
}

/// What a cell is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// Elements of a shape, the slowest dimension first.
    Fixed(Element, Vec<u64>),
    /// Elements of any number.
    List(Element),
    /// A text.
    Text,
    /// Bytes of any number.
    Binary,
}

/// A column on its way into a table.
pub(super) struct Column {
    pub cell: Cell,
    /// The Arrow type that cells are read as.
    pub data_type: DataType,
    pub losses: Vec<Loss>,
}

/// What an element of this type is, if it is one.
fn element(data_type: &DataType) -> Option<Element> {
    if *data_type == DataType::Boolean {
        return Some(Element::Logical);
    }
    if let Some(parts) = complex(data_type) {
        return Some(Element::Complex(parts));
    }
    DType::number(data_type).filter(|dtype| *dtype != DType::F16).map(Element::Number)
}

/// The complex type of a struct of two floats, real and imaginary.
fn complex(data_type: &DataType) -> Option<DType> {
    let DataType::Struct(fields) = data_type else { return None };
    let [real, imaginary] = fields.iter().as_slice() else { return None };
    let is_pair = real.name() == "real" && imaginary.name() == "imaginary";
    match (is_pair, real.data_type(), imaginary.data_type()) {
        (true, DataType::Float32, DataType::Float32) => Some(DType::C64),
        (true, DataType::Float64, DataType::Float64) => Some(DType::C128),
        _ => None,
    }
}

/// The element and the shape of lists of a fixed length.
fn fixed(data_type: &DataType) -> Option<(Element, Vec<u64>)> {
    match data_type {
        DataType::FixedSizeList(item, len) => {
            let (element, mut shape) = fixed(item.data_type())?;
            shape.insert(0, u64::try_from(*len).ok()?);
            Some((element, shape))
        }
        DataType::FixedSizeBinary(len) => Some((Element::Number(DType::U8), vec![u64::try_from(*len).ok()?])),
        other => element(other).map(|element| (element, Vec::new())),
    }
}

impl Column {
    /// What a column becomes.
    pub(super) fn plan(field: &Field) -> Column {
        let data_type = field.data_type();
        let mut losses = Vec::new();
        let mut say = |kind: LossKind, what: String| losses.push(note(kind, what).of(field.name()));
        let (cell, to) = match data_type {
            DataType::Dictionary(_, values) => {
                say(LossKind::Type, "the dictionary encoding is lost, the values stay".to_owned());
                let inner = Column::plan(&field.clone().with_data_type(values.as_ref().clone()));
                return Column { losses: [losses, inner.losses].concat(), ..inner };
            }
            DataType::RunEndEncoded(_, values) => {
                say(LossKind::Type, "the runs are lost, the values stay".to_owned());
                let inner = Column::plan(&field.clone().with_data_type(values.data_type().clone()));
                return Column { losses: [losses, inner.losses].concat(), ..inner };
            }
            DataType::Float16 => {
                say(LossKind::Type, "float16 becomes float32, exactly".to_owned());
                (Cell::Fixed(Element::Number(DType::F32), Vec::new()), DataType::Float32)
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                say(LossKind::Type, "binary becomes lists of bytes".to_owned());
                (Cell::Binary, DataType::Binary)
            }
            DataType::List(item) | DataType::LargeList(item) if element(item.data_type()).is_some() => {
                let element = element(item.data_type()).unwrap_or(Element::Logical);
                if matches!(data_type, DataType::LargeList(_)) {
                    say(LossKind::Type, "large lists become lists".to_owned());
                }
                (Cell::List(element), DataType::List(item.clone()))
            }
            text if is_text(text) => (Cell::Text, DataType::Utf8),
            other => match fixed(other) {
                Some((element, shape)) => {
                    if matches!(other, DataType::FixedSizeBinary(_)) {
                        say(LossKind::Type, "binary of a fixed size becomes lists of bytes".to_owned());
                    }
                    (Cell::Fixed(element, shape), other.clone())
                }
                None => {
                    let kind = if other.is_nested() { LossKind::Nesting } else { LossKind::Type };
                    say(kind, format!("{} becomes text", display::arrow_type(other)));
                    (Cell::Text, DataType::Utf8)
                }
            },
        };
        Column { cell, data_type: to, losses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn cells_of_every_type() {
        let of = |data_type: DataType| Column::plan(&Field::new("x", data_type, true)).cell;
        let item = |data_type: DataType| Arc::new(Field::new("item", data_type, true));
        assert_eq!(of(DataType::UInt16), Cell::Fixed(Element::Number(DType::U16), vec![]));
        let matrix = DataType::FixedSizeList(item(DataType::FixedSizeList(item(DataType::Boolean), 3)), 2);
        assert_eq!(of(matrix), Cell::Fixed(Element::Logical, vec![2, 3]));
        assert_eq!(of(DataType::List(item(DataType::Float64))), Cell::List(Element::Number(DType::F64)));
        assert_eq!(of(DataType::List(item(DataType::Utf8))), Cell::Text);
        assert_eq!(of(DataType::Date32), Cell::Text);
        assert_eq!(Element::Number(DType::U16).stored(0), -32768);
        assert_eq!(Element::Number(DType::I8).range(), Some((-128, 127)));
        assert_eq!(Element::Number(DType::I8).stored(-128), 0);
        assert_eq!(Element::Number(DType::U64).range(), Some((0, u64::MAX.into())));
    }
}
