//! What only reading tells of a column: how long its texts and lists are, whether there are nulls, and which number none of
//! its cells is, so that it can mean null.

use super::cells::leaf;
use super::column::{Cell, Column, Element};
use crate::bytes::error::{Error, Result};
use crate::data::adapt::{NullRule, cell_bytes};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;

/// So many integers at either end of the range are watched, one of which may come to mean null.
const WATCHED: i128 = 128;

/// What was found of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Whether an integer is null.
    pub nulls: bool,
    /// The most bytes of a text, elements of a list.
    pub longest: u64,
    /// Bytes of all texts or lists.
    pub total: u64,
    /// Whether a text has other characters than ASCII's.
    pub is_wide: bool,
    /// Which integers at the ends of the range are cells.
    seen: Vec<bool>,
}

/// Whether anything is to be measured of a column; `has_nulls` says that null cells are possible.
pub(super) fn is_open(column: &Column, has_nulls: bool) -> bool {
    match &column.cell {
        Cell::Text | Cell::Binary | Cell::List(_) => true,
        Cell::Fixed(element, shape) => element.range().is_some() && (has_nulls || !shape.is_empty()),
    }
}

impl Measured {
    /// What is found in some cells.
    ///
    /// # Errors
    /// `Bug` for cells of another type.
    pub(super) fn of(column: &Column, cells: &ArrayRef) -> Result<Self> {
        let mut found = Measured::default();
        match &column.cell {
            Cell::Text => {
                let texts = cells.as_string_opt::<i32>().ok_or_else(|| Error::bug("texts that are none"))?;
                for text in texts.iter().flatten() {
                    found.longest = found.longest.max(text.len() as u64);
                    found.total += text.len() as u64;
                    found.is_wide |= !text.is_ascii();
                }
            }
            Cell::Binary => {
                let all = cells.as_binary_opt::<i32>().ok_or_else(|| Error::bug("bytes that are none"))?;
                for bytes in all.iter().flatten() {
                    found.longest = found.longest.max(bytes.len() as u64);
                    found.total += bytes.len() as u64;
                }
            }
            Cell::List(element) => {
                let lists = cells.as_list_opt::<i32>().ok_or_else(|| Error::bug("lists that are none"))?;
                for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
                    let count = lists.value_length(row) as u64;
                    found.longest = found.longest.max(count);
                    found.total += count * element.size() as u64;
                }
                // Elements that no list has are looked at, too: nothing is lost by that.
                found.integers(element, lists.values(), lists.values().logical_nulls())?;
            }
            Cell::Fixed(element, _) => {
                let (leaf, nulls) = leaf(cells)?;
                found.integers(element, &leaf, nulls)?;
            }
        }
        Ok(found)
    }

    fn integers(&mut self, element: &Element, leaf: &ArrayRef, nulls: Option<NullBuffer>) -> Result<()> {
        let (Element::Number(dtype), Some((low, high))) = (element, element.range()) else { return Ok(()) };
        if leaf.as_fixed_size_binary_opt().is_some() {
            return Ok(());
        }
        self.nulls |= nulls.as_ref().is_some_and(|nulls| nulls.null_count() > 0);
        self.seen.resize(2 * WATCHED as usize, false);
        let rule = NullRule::default();
        rule.fill(true);
        let bytes = cell_bytes(leaf, dtype, &rule)?;
        let mut row = 0;
        dtype.integers(&bytes, |value| {
            let place = match (value - low, high - value) {
                (from, _) if from < WATCHED => Some(from),
                (_, to) if to < WATCHED => Some(WATCHED + to),
                _ => None,
            };
            let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            row += 1;
            if let Some(seen) = place.filter(|_| is_valid).and_then(|at| self.seen.get_mut(at as usize)) {
                *seen = true;
            }
        });
        Ok(())
    }

    /// Both together.
    pub(super) fn join(&mut self, other: Measured) {
        self.nulls |= other.nulls;
        self.is_wide |= other.is_wide;
        self.longest = self.longest.max(other.longest);
        self.total = self.total.saturating_add(other.total);
        if self.seen.len() < other.seen.len() {
            self.seen.resize(other.seen.len(), false);
        }
        self.seen.iter_mut().zip(other.seen).for_each(|(all, one)| *all |= one);
    }

    /// The integer that means null, where there are nulls.
    ///
    /// # Errors
    /// `Unsupported` where every number that is looked at is a cell.
    pub(super) fn null(&self, element: &Element) -> Result<Option<i128>> {
        let Some((low, high)) = element.range().filter(|_| self.nulls) else { return Ok(None) };
        let place = (0..2 * WATCHED).find(|at| self.seen.get(*at as usize) == Some(&false));
        let place = place.ok_or_else(|| {
            Error::unsupported(
                "no number is left that could mean null: all at the ends of its range are cells",
            )
        })?;
        Ok(Some(if place < WATCHED { low + place } else { high - (place - WATCHED) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dtype::DType;
    use arrow::array::{Int16Array, StringArray, UInt8Array};
    use arrow::datatypes::{DataType, Field};
    use std::sync::Arc;

    #[test]
    fn null_is_a_number_that_no_cell_is() {
        let column = Column::plan(&Field::new("x", DataType::UInt8, true));
        let of = |cells: Vec<Option<u8>>| {
            let found = Measured::of(&column, &(Arc::new(UInt8Array::from(cells)) as ArrayRef)).unwrap();
            found.null(&Element::Number(DType::U8))
        };
        assert_eq!(of(vec![Some(0), Some(3)]).unwrap(), None);
        assert_eq!(of(vec![Some(0), None, Some(2)]).unwrap(), Some(1));
        let all = (0..=255).map(Some).chain([None]).collect();
        assert!(of(all).is_err());
        let most = (0..=254).map(Some).chain([None]).collect();
        assert_eq!(of(most).unwrap(), Some(255));
    }

    #[test]
    fn parts_are_joined() {
        let texts = Column::plan(&Field::new("x", DataType::Utf8, true));
        let of = |cells: &[&str]| {
            Measured::of(&texts, &(Arc::new(StringArray::from(cells.to_vec())) as ArrayRef)).unwrap()
        };
        let mut all = of(&["a", "größe"]);
        all.join(of(&["abc"]));
        assert_eq!((all.longest, all.total), (7, 11));
        let numbers = Column::plan(&Field::new("x", DataType::Int16, true));
        let of = |cells: Vec<Option<i16>>| {
            Measured::of(&numbers, &(Arc::new(Int16Array::from(cells)) as ArrayRef)).unwrap()
        };
        let mut all = of(vec![Some(i16::MIN)]);
        all.join(of(vec![None]));
        assert_eq!(all.null(&Element::Number(DType::I16)).unwrap(), Some(i128::from(i16::MIN) + 1));
    }
}
