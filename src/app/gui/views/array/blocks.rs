//! Elements of a slice in memory, as the grid of numbers shows them, and those that were looked at or will be.

use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::dtype::DType;
use gander::data::plane::{Slice, Window};
use gander::data::quantised::{Code, Quant};
use gander::data::region::Span;

use super::loader::{SliceKey, SliceValue};
use super::texts::Texts;

/// Which elements: of a slice, a window.
pub(super) type Key = (Slice, Window);

impl SliceKey for Key {
    fn slice(&self) -> &Slice {
        &self.0
    }

    fn of(&self, slice: &Slice) -> Self {
        (slice.clone(), self.1)
    }
}

/// Elements in memory.
pub(super) struct Block {
    pub(super) slice: Slice,
    pub(super) window: Window,
    pub(super) values: Values,
    /// What the elements are made of, row by row, where the array is quantised.
    pub(super) stored: Vec<(Quant, Option<Code>)>,
    /// Parts that could not be read, in rows and columns of the window.
    pub(super) gaps: Vec<(Window, Error)>,
}

/// Elements as they were delivered.
pub(super) enum Values {
    Bytes(Vec<u8>),
    Texts(Texts),
}

impl Block {
    /// Reads a window of a slice.
    pub(super) fn read(array: &dyn Array, task: &Task, slice: Slice, window: Window) -> Result<Self> {
        let (values, gaps) = match array.dtype() {
            DType::Variable(_) => (Values::Texts(Texts::read(array, task, &slice, window)?), Vec::new()),
            _ => {
                let (raw, gaps) = slice.read_lenient(array, task, &window)?;
                (Values::Bytes(raw), gaps)
            }
        };
        let stored = stored(array, task, &slice, &window)?;
        Ok(Block { slice, window, values, stored, gaps })
    }

    /// What an element of the slice is made of, where the array is quantised.
    pub(super) fn stored(&self, row: u64, column: u64) -> Option<&(Quant, Option<Code>)> {
        self.stored.get(self.window.find(row, column)?)
    }

    /// Why an element of the slice could not be read, if it could not.
    pub(super) fn gap(&self, row: u64, column: u64) -> Option<&Error> {
        let row = row.checked_sub(self.window.rows.start)?;
        let column = column.checked_sub(self.window.columns.start)?;
        let within = |span: &Span, at: u64| at >= span.start && at < span.end();
        let gap = self.gaps.iter().find(|(gap, _)| within(&gap.rows, row) && within(&gap.columns, column));
        gap.map(|(_, error)| error)
    }
}

impl SliceValue for Block {
    fn kept_bytes(&self) -> Option<usize> {
        self.gaps.is_empty().then(|| match &self.values {
            Values::Bytes(raw) => raw.len() + self.stored.len() * size_of::<(Quant, Option<Code>)>(),
            Values::Texts(texts) => texts.bytes(),
        })
    }
}

/// The most elements of a window of which it is asked what they are made of.
const STORED: u64 = 1 << 15;

/// What the elements of a window are made of, row by row; nothing of arrays that are not quantised, and where a part cannot
/// be read.
fn stored(
    array: &dyn Array,
    task: &Task,
    slice: &Slice,
    window: &Window,
) -> Result<Vec<(Quant, Option<Code>)>> {
    let Some(quantised) = array.quantised().filter(|_| window.elements() <= STORED) else {
        return Ok(Vec::new());
    };
    let quants = match quantised.quants(task, &slice.region(window)) {
        Ok(quants) => quants,
        Err(error) if error.is_cancelled() => return Err(error),
        Err(_) => return Ok(Vec::new()),
    };
    let turned = slice.rows.zip(slice.columns).is_some_and(|(rows, columns)| rows > columns);
    let (height, width) = (window.rows.count, window.columns.count);
    let mut stored = Vec::with_capacity(quants.len());
    for n in 0..height * width {
        let (row, column) = (n / width, n % width);
        let at = if turned { column * height + row } else { n };
        let Some(quant) = quants.get(at as usize) else { return Ok(Vec::new()) };
        let index = slice.index(window.rows.index(row), window.columns.index(column));
        stored.push((*quant, quantised.code(task, &index)?));
    }
    Ok(stored)
}
