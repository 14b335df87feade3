//! How many cells an ODS sheet would take: its rows and cells are repeated by a number, so that a few bytes
//! may ask for billions of them.

use crate::error::{Error, Result};
use crate::source::Source;
use crate::task::Task;

/// The most cells that are unfolded.
const MOST: u64 = 20 << 20;
/// Bytes that are read at a time, and the longest tag that is looked at.
const PIECE: usize = 1 << 20;

/// Goes over the tags of `content.xml`.
///
/// # Errors
/// `Limit` where the cells that hold something are too many.
pub(super) fn check(task: &Task, content: &Source) -> Result<()> {
    let (mut at, mut count) = (0u64, Count::default());
    let mut kept: Vec<u8> = Vec::new();
    loop {
        let piece = content.read_up_to(task, at, PIECE)?;
        at += piece.len() as u64;
        let last = piece.len() < PIECE;
        kept.extend_from_slice(&piece);
        let mut done = 0;
        while let Some(begin) = memchr::memchr(b'<', kept.get(done..).unwrap_or_default()) {
            let rest = kept.get(done + begin..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'>', rest) else { break };
            count.tag(rest.get(1..end).unwrap_or_default())?;
            done += begin + end + 1;
        }
        kept.drain(..done);
        if kept.len() > 4 * PIECE {
            // Text without tags; the next one begins behind it.
            kept.clear();
        }
        if last {
            return Ok(());
        }
    }
}

#[derive(Default)]
struct Count {
    cells: u64,
    /// Of the row: how often it is repeated, its cells, those up to the last one that holds something.
    repeated: u64,
    row: u64,
    filled: u64,
}

impl Count {
    fn tag(&mut self, tag: &[u8]) -> Result<()> {
        if tag.starts_with(b"table:table-row") {
            let repeated = number(tag, b"table:number-rows-repeated=");
            (self.repeated, self.row, self.filled) = (repeated, 0, 0);
        } else if tag.starts_with(b"table:table-cell") || tag.starts_with(b"table:covered-table-cell") {
            self.row = self.row.saturating_add(number(tag, b"table:number-columns-repeated="));
            if !tag.ends_with(b"/") || memchr::memmem::find(tag, b"office:").is_some() {
                self.filled = self.row;
            }
        } else if tag.starts_with(b"/table:table-row") {
            self.cells = self.cells.saturating_add(self.filled.saturating_mul(self.repeated));
            if self.cells > MOST {
                return Err(Error::limit(format!(
                    "the sheets have {} cells, the limit is {MOST}",
                    self.cells
                )));
            }
        }
        Ok(())
    }
}

/// The number in an attribute; 1 without it.
fn number(tag: &[u8], attribute: &[u8]) -> u64 {
    let found = memchr::memmem::find(tag, attribute).map(|at| at + attribute.len() + 1);
    let digits = found.and_then(|at| tag.get(at..)).unwrap_or(b"1");
    let digits = digits.iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_hold_something_are_counted() {
        let of = |xml: &str| check(&Task::new(), &Source::memory("content.xml", xml.to_owned()));
        let row = |rows: u64, columns: u64, value: &str| {
            format!(
                "<table:table-row table:number-rows-repeated=\"{rows}\"><table:table-cell \
                 table:number-columns-repeated=\"{columns}\"{value}/></table:table-row>"
            )
        };
        assert!(of(&row(1_048_576, 16_384, "")).is_ok());
        assert!(of(&row(1_000, 1_000, " office:value=\"1\"")).is_ok());
        assert!(of(&row(1_048_576, 16_384, " office:value=\"1\"")).is_err());
        assert!(of(&row(u64::MAX, u64::MAX, " office:value=\"1\"")).is_err());
    }
}
