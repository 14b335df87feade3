//! The records of an XLS workbook ([MS-XLS]). calamine makes a whole rectangle of what is between the first and
//! the last cell of a sheet, as far apart as the file says that they are: that is looked for here first.
//!
//! Specification: <https://learn.microsoft.com/openspecs/office_file_formats/ms-xls/>

use crate::error::{Error, Result};
use crate::limits;
use crate::task::Task;

/// Bytes that a cell takes in memory.
const CELL: u64 = 32;

/// A record: its kind and its bytes (section 2.1.4).
type Record<'a> = (u16, &'a [u8]);

/// Whether the sheets of a workbook's stream are within limits.
///
/// # Errors
/// Where the cells of one are too far apart to be held in `most` bytes, or sheets lie in each other.
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
    for place in places {
        task.check()?;
        let Some(sheet) = stream.get(place..) else { continue };
        let (mut cells, mut nested) = (Extent::default(), 0u32);
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
            limits::check(cells.area().saturating_mul(CELL), most, "the cells of a sheet")?;
        }
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

/// The rows and columns between which cells lie, and those that the sheet says it has.
#[derive(Default)]
struct Extent {
    cells: Option<[(u64, u64); 2]>,
    said: u64,
}

impl Extent {
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
                self.cell(row, column);
                self.cell(row, last);
            }
            0x0203..=0x0205 | 0x00d6 | 0x027e | 0x00fd | 0x0006 => self.cell(row, column),
            _ => {}
        }
    }

    fn cell(&mut self, row: u64, column: u64) {
        let [rows, columns] = self.cells.get_or_insert([(row, row), (column, column)]);
        *rows = (rows.0.min(row), rows.1.max(row));
        *columns = (columns.0.min(column), columns.1.max(column));
    }

    fn area(&self) -> u64 {
        let cells =
            self.cells.map_or(0, |[rows, columns]| (rows.1 - rows.0 + 1) * (columns.1 - columns.0 + 1));
        cells.max(self.said)
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
        let head = record(0x0809, &[0; 4]);
        let bound = |place: u32| record(0x0085, &[&place.to_le_bytes()[..], &[0; 4]].concat());
        let start = head.len() + bound(0).len() + 4;
        [head.clone(), bound(start as u32), record(0x000a, &[]), head, sheet.concat(), record(0x000a, &[])]
            .concat()
    }

    #[test]
    fn a_cell_that_is_far_away_is_over_the_limit() {
        let cell = |row: u16, column: u16| {
            let place = [row.to_le_bytes(), column.to_le_bytes()].concat();
            record(0x0203, &[&place[..], &[0; 10]].concat())
        };
        let task = Task::new();
        check(&task, &stream(&[cell(3, 4), cell(500, 200)]), 4 << 20).unwrap();
        let error = check(&task, &stream(&[cell(0, 0), cell(65_535, 65_535)]), 1 << 30).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit, "{error}");
        let dimensions = [0u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        let dimensions = record(0x0200, &[&dimensions[..], &[0, 0, 255, 0, 0, 0]].concat());
        assert!(check(&task, &stream(&[dimensions]), 1 << 30).is_err());
    }

    #[test]
    fn a_sound_workbook_passes() {
        let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/xlsx/birds.xls")).unwrap();
        let stream = cfb::workbook(&Task::new(), &Source::memory("birds.xls", bytes)).unwrap();
        assert!(records(&stream).filter(|(kind, _)| *kind == 0x0085).count() > 0);
        check(&Task::new(), &stream, 1 << 20).unwrap();
    }
}
