//! Elements of a slice in memory, as the grid of numbers shows them, and those that were looked at or will be.

use std::sync::Arc;

use gander::bytes::cache::Cache;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::dtype::DType;
use gander::data::plane::{Slice, Window};
use gander::data::region::Span;

use super::texts::Texts;

/// Which elements: of a slice, a window.
pub(super) type Key = (Slice, Window);

/// Bytes of blocks that are kept.
const KEPT: usize = 16 << 20;

/// Blocks that were looked at or will be.
#[derive(Clone)]
pub(super) struct Kept(Arc<Cache<Key, Arc<Block>>>);

impl Default for Kept {
    fn default() -> Self {
        Kept(Arc::new(Cache::new(KEPT)))
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

    /// Reads what is not kept, and keeps it if it is whole.
    pub(super) fn get(kept: &Kept, array: &dyn Array, task: &Task, key: &Key) -> Result<Arc<Self>> {
        if let Some(block) = kept.0.get(key) {
            return Ok(block);
        }
        let block = Arc::new(Block::read(array, task, key.0.clone(), key.1)?);
        if block.gaps.is_empty() {
            let bytes = match &block.values {
                Values::Bytes(raw) => raw.len(),
                Values::Texts(texts) => texts.bytes(),
            };
            kept.0.put(key.clone(), block.clone(), bytes);
        }
        Ok(block)
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
