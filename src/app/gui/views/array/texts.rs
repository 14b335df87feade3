//! Elements without a fixed size — text of any length, lists, references, records of them — as cells of the
//! grid.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Array;
use gander::data::dtype::Variable;
use gander::data::plane::{Slice, Window};

use crate::gui::grid::{Cell, CellKind, Side};

/// Characters of a text that a cell keeps; the whole of it is shown when it is asked for.
const SHOWN: usize = 400;

/// A window of such elements.
pub(super) struct Texts {
    column: ArrayRef,
    /// A column of cells each field, or one.
    cells: Vec<Vec<Option<String>>>,
    kinds: Vec<CellKind>,
}

/// The fields of records: name, type, side.
pub(super) fn fields(kind: &Variable) -> Vec<(String, String, Side)> {
    let DataType::Struct(fields) = &kind.arrow else { return Vec::new() };
    let side = |kind: &DataType| if kind.is_numeric() { Side::Right } else { Side::Left };
    let head = |field: &Arc<arrow::datatypes::Field>| {
        (field.name().clone(), gander::bytes::display::arrow_type(field.data_type()), side(field.data_type()))
    };
    fields.iter().map(head).collect()
}

impl Texts {
    /// Reads a window of a slice.
    pub(super) fn read(array: &dyn Array, task: &Task, slice: &Slice, window: Window) -> Result<Self> {
        let column = slice.column(array, task, &window)?;
        let parts: Vec<ArrayRef> = match column.data_type() {
            DataType::Struct(_) if slice.width() <= 1 => column.as_struct().columns().to_vec(),
            _ => vec![column.clone()],
        };
        let mut cells = Vec::with_capacity(parts.len());
        for part in &parts {
            task.check()?;
            let bare = is_of_numbers(part.data_type());
            let text = |row| {
                let text = cell::text(&**part, row).map(cut)?;
                Some(if bare { text.replace('"', "").replace(',', ", ") } else { text })
            };
            cells.push((0..part.len()).map(text).collect());
        }
        let kinds = parts.iter().map(|part| kind_of(part.data_type())).collect();
        Ok(Texts { column, cells, kinds })
    }

    /// Bytes of its texts, about.
    pub(super) fn bytes(&self) -> usize {
        let cells = self.cells.iter().flatten().map(|cell| 24 + cell.as_ref().map_or(0, String::len));
        self.column.get_array_memory_size() + cells.sum::<usize>()
    }

    /// The n-th element of the window, or a field of it.
    pub(super) fn cell(&self, at: usize, field: Option<usize>) -> Option<Cell<'_>> {
        let field = field.unwrap_or(0);
        let text = self.cells.get(field)?.get(at)?;
        let kind = self.kinds.get(field)?.clone();
        Some(text.as_ref().map_or_else(Cell::null, |text| Cell::new(kind, text.as_str())))
    }

    /// All of its text; `None` for null.
    pub(super) fn whole(&self, at: usize, field: Option<usize>) -> Option<String> {
        match (field, self.column.as_struct_opt()) {
            (Some(field), Some(record)) => cell::text(&**record.columns().get(field)?, at),
            _ => cell::text(&*self.column, at),
        }
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// Whether these are lists of numbers, at any depth: their texts need no quotes to be told apart.
fn is_of_numbers(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let inner = item.data_type();
            inner.is_numeric() || matches!(inner, DataType::Boolean) || is_of_numbers(inner)
        }
        _ => false,
    }
}

fn kind_of(kind: &DataType) -> CellKind {
    match kind {
        DataType::Boolean => CellKind::Bool,
        DataType::Null => CellKind::Null,
        kind if kind.is_numeric() => CellKind::Number,
        kind if kind.is_temporal() => CellKind::Time,
        kind if kind.is_nested() => CellKind::Nested,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            CellKind::Binary
        }
        _ => CellKind::Text,
    }
}
