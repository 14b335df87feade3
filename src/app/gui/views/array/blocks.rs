//! Elements of a slice in memory, as the grid of numbers shows them, and those that were looked at or will be.

use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::dtype::DType;
use gander::data::plane::{Slice, Window};
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
        Ok(Block { slice, window, values, gaps })
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
            Values::Bytes(raw) => raw.len(),
            Values::Texts(texts) => texts.bytes(),
        })
    }
}
