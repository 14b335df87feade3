//! The records of an XLS workbook ([MS-XLS]). calamine makes a whole rectangle of what is between the first and
//! the last cell of a sheet, as far apart as the file says that they are, another one of its formulas, and holds
//! those of all sheets at once: that is looked for here first.
//!
//! Specification: <https://learn.microsoft.com/openspecs/office_file_formats/ms-xls/>

use crate::error::{Error, Result};
use crate::limits;
use crate::task::Task;

/// Bytes that a cell takes in memory, and the text of a formula.
const CELL: u64 = 32;
const FORMULA: u64 = 24;

/// A record: its kind and its bytes (section 2.1.4).
type Record<'a> = (u16, &'a [u8]);

/// Whether the sheets of a workbook's stream are within limits.
///
/// # Errors
/// Where the cells of all together lie too far apart to be held in `most` bytes, or sheets lie in each other.
pub(super) fn check(task: &Task, stream: &[u8], most: u64) -> Result<()> {
    let mut places = Vec::new();
    for (kind, bytes) in records(stream) {
        match kind {
            // BoundSheet8: where the sheet begins.
            0x0085 => places.push(number(bytes, 0) as usize | (number(bytes, 2) as usize) << 16),
            // The end of what is about all sheets.
            0x000a => break,
            _ => {}
        }
    }
    // Sheets that lie apart are together no longer than the stream; some writers let a few share one.
    let mut left = stream.len().saturating_mul(4).saturating_add(1 << 20);
    // What the sheets before take; those that share their records take it once more each.
    let mut held = 0u64;
    for place in places {
        task.check()?;
        let Some(sheet) = stream.get(place..) else { continue };
        let (mut cells, mut nested) = (Cells::default(), 0u32);
        for (kind, bytes) in records(sheet) {
            left = left
                .checked_sub(bytes.len() + 4)
                .ok_or_else(|| Error::malformed("its sheets lie in each other"))?;
            match kind {
                0x0809 => nested += 1,
                0x000a if nested <= 1 => break,
                0x000a => nested -= 1,
                _ => cells.take(kind, bytes),
            }
            limits::check(held.saturating_add(cells.needed()), most, "the cells of the sheets")?;
        }
        held = held.saturating_add(cells.kept());
    }
    Ok(())
}

fn records(mut stream: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (kind, len) = (number(stream.get(..4)?, 0), usize::from(number(stream, 2)));
        let bytes = stream.get(4..4 + len)?;
        stream = stream.get(4 + len..)?;
        Some((kind, bytes))
    })
}

/// A little-endian number; 0 beyond the end.
fn number(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).map_or(0, u16::from_le_bytes)
}

/// Where the cells of a sheet lie, where its formulas do, and how many cells it says it has.
#[derive(Default)]
struct Cells {
    values: Extent,
    formulas: Extent,
    said: u64,
    /// The place of the last formula, of whose text a record of its own tells.
    last: (u64, u64),
}

impl Cells {
    fn take(&mut self, kind: u16, bytes: &[u8]) {
        let (row, column) = (u64::from(number(bytes, 0)), u64::from(number(bytes, 2)));
        match kind {
            // Dimensions: calamine makes room for so many cells.
            0x0200 if bytes.len() == 10 => {
                let across = u64::from(number(bytes, 6));
                self.said = u64::from(number(bytes, 2)).saturating_mul(across.max(1));
            }
            0x0200 => {
                let rows = u64::from(number(bytes, 4)) | u64::from(number(bytes, 6)) << 16;
                self.said = rows.saturating_mul(u64::from(number(bytes, 10)).max(1));
            }
            // MulRk: as many cells as its last column says.
            0x00bd => {
                let last = u64::from(number(bytes, bytes.len().saturating_sub(2)));
                self.values.cell(row, column);
                self.values.cell(row, last);
            }
            // Formula.
            0x0006 => {
                self.last = (row, column);
                self.values.cell(row, column);
                self.formulas.cell(row, column);
            }
            // String: without a formula before it calamine puts it into the first cell.
            0x0207 => self.values.cell(self.last.0, self.last.1),
            0x0203..=0x0205 | 0x00d6 | 0x027e | 0x00fd => self.values.cell(row, column),
            _ => {}
        }
    }

    /// Bytes that it takes while it is read: there is room for what the sheet says it has.
    fn needed(&self) -> u64 {
        self.kept().max(self.said.saturating_mul(CELL))
    }

    /// Bytes that stay.
    fn kept(&self) -> u64 {
        let formulas = self.formulas.area().saturating_mul(FORMULA);
        self.values.area().saturating_mul(CELL).saturating_add(formulas)
    }
}

/// The rows and columns between which cells lie.
#[derive(Default)]
struct Extent(Option<[(u64, u64); 2]>);

impl Extent {
    fn cell(&mut self, row: u64, column: u64) {
        let [rows, columns] = self.0.get_or_insert([(row, row), (column, column)]);
        *rows = (rows.0.min(row), rows.1.max(row));
        *columns = (columns.0.min(column), columns.1.max(column));
    }

    fn area(&self) -> u64 {
        self.0.map_or(0, |[rows, columns]| (rows.1 - rows.0 + 1) * (columns.1 - columns.0 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::cfb;
    use super::*;
    use crate::source::Source;

    fn record(kind: u16, bytes: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &(bytes.len() as u16).to_le_bytes(), bytes].concat()
    }

    /// A stream with one sheet of these records.
    fn stream(sheet: &[Vec<u8>]) -> Vec<u8> {
        shared(1, sheet)
    }

    /// A stream with so many sheets that all have these records.
    fn shared(sheets: usize, sheet: &[Vec<u8>]) -> Vec<u8> {
        let head = record(0x0809, &[0; 4]);
        let bound = |place: u32| record(0x0085, &[&place.to_le_bytes()[..], &[0; 4]].concat());
        let start = head.len() + sheets * bound(0).len() + 4;
        let bounds = bound(start as u32).repeat(sheets);
        [head.clone(), bounds, record(0x000a, &[]), head, sheet.concat(), record(0x000a, &[])].concat()
    }

    /// A record of a value (`0x0203`) or a formula (`0x0006`) in this cell.
    fn at(kind: u16, row: u16, column: u16) -> Vec<u8> {
        let place = [row.to_le_bytes(), column.to_le_bytes()].concat();
        record(kind, &[&place[..], &[0; 10]].concat())
    }

    #[test]
    fn a_cell_that_is_far_away_is_over_the_limit() {
        let cell = |row, column| at(0x0203, row, column);
        let task = Task::new();
        check(&task, &stream(&[cell(3, 4), cell(500, 200)]), 4 << 20).unwrap();
        let error = check(&task, &stream(&[cell(0, 0), cell(65_535, 65_535)]), 1 << 30).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit, "{error}");
        let dimensions = [0u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        let dimensions = record(0x0200, &[&dimensions[..], &[0, 0, 255, 0, 0, 0]].concat());
        assert!(check(&task, &stream(&[dimensions]), 1 << 30).is_err());
        let text = record(0x0207, &[0; 3]);
        assert!(check(&task, &stream(&[cell(65_535, 65_535), text]), 1 << 30).is_err());
    }

    #[test]
    fn the_cells_and_formulas_of_all_sheets_are_counted_together() {
        // A million cells, of 32 bytes each.
        let (task, corners) = (Task::new(), [at(0x0203, 0, 0), at(0x0203, 999, 999)]);
        check(&task, &stream(&corners), 40_000_000).unwrap();
        check(&task, &shared(3, &corners), 100_000_000).unwrap();
        assert!(check(&task, &shared(3, &corners), 90_000_000).is_err());
        let formulas = [at(0x0006, 0, 0), at(0x0006, 999, 999)];
        check(&task, &stream(&formulas), 60_000_000).unwrap();
        assert!(check(&task, &stream(&formulas), 40_000_000).is_err());
        // What a sheet only says that it has is given back once it was read.
        let dimensions = [0u32.to_le_bytes(), 1_000_000u32.to_le_bytes()].concat();
        let dimensions = record(0x0200, &[&dimensions[..], &[0, 0, 1, 0, 0, 0]].concat());
        check(&task, &shared(3, &[dimensions]), 40_000_000).unwrap();
    }

    #[test]
    fn a_sound_workbook_passes() {
        let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/xlsx/birds.xls")).unwrap();
        let stream = cfb::workbook(&Task::new(), &Source::memory("birds.xls", bytes)).unwrap();
        assert!(records(&stream).filter(|(kind, _)| *kind == 0x0085).count() > 0);
        check(&Task::new(), &stream, 1 << 20).unwrap();
    }
}
