//! The elements of an array as records: row n is element n, found through the sparse index.

use super::index::{Document, Mark};
use super::record::{Sample, Split};
use super::{stage, text};
use crate::content::Rows;
use crate::error::Result;
use crate::lines::Records;
use crate::lines::paged::{self, Step};
use crate::lines::table::Pages;
use crate::task::Task;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a step of a whole scan takes, about.
const STEP: f64 = (32 << 20) as f64;

/// Splits the inside of an array.
#[derive(Clone, Copy, Debug)]
pub struct Commas;

impl Split for Commas {
    fn split(&self, bytes: &[u8], at: usize, last: bool, found: &mut Range<usize>) -> Step {
        let begin = match gap(bytes, at) {
            Some(begin) => begin,
            // A comment that goes on behind the piece.
            None if last => return Step::Stop,
            None => return Step::Partial(at),
        };
        let rest = bytes.get(begin..).unwrap_or_default();
        let len = match rest.first() {
            None if last => return Step::Stop,
            None => return Step::Partial(begin),
            Some(b']' | b'}' | b':') => return Step::Stop,
            Some(b'{' | b'[') => stage::container(rest),
            Some(b'"') => text::string(rest),
            Some(_) => match text::word(rest) {
                0 => return Step::Stop,
                len if len == rest.len() => None,
                len => Some(len),
            },
        };
        match len {
            Some(len) => {
                *found = begin..begin + len;
                Step::Record(begin + len)
            }
            // What is cut off is the last record.
            None if last => {
                *found = begin..bytes.len();
                Step::Record(bytes.len())
            }
            None => Step::Partial(begin),
        }
    }
}

/// Behind white space, commas and comments; `None` where a comment does not end.
fn gap(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += text::space(bytes.get(at..).unwrap_or_default());
        let rest = bytes.get(at..).unwrap_or_default();
        at += match rest {
            [b',', ..] => 1,
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest)? + 1,
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/")? + 2,
            [b'/'] => return None,
            _ => return Some(at),
        };
    }
}

/// The elements of one array.
pub struct Elements {
    document: Arc<Document>,
    /// Where its bracket is.
    start: u64,
    row_bytes: f64,
    seen: u64,
    total: Mutex<Option<u64>>,
}

impl Elements {
    /// The elements of the array whose bracket is at `start`, with what its first ones told.
    pub fn new(document: Arc<Document>, start: u64, sample: &Sample) -> Elements {
        let total = Mutex::new(sample.whole.then(|| sample.rows()));
        Elements { document, start, row_bytes: sample.row_bytes(), seen: sample.rows(), total }
    }

    /// How many, if that was counted or the index tells it.
    fn total(&self) -> Option<u64> {
        self.total.lock().or_else(|| self.document.children(self.start).0)
    }

    fn gather<R: Records>(&self, task: &Task, from: Mark, rows: Range<u64>, records: &mut R) -> Result<()> {
        let skip = rows.start.saturating_sub(from.child);
        let most = rows.end.saturating_sub(rows.start).saturating_add(skip);
        let mut records = Behind { skip, records };
        paged::gather(task, self.document.source(), from.at, most, self.row_bytes, &mut records)
    }
}

impl Pages for Elements {
    fn rows(&self) -> Rows {
        if let Some(total) = self.total() {
            return Rows::Exact(total);
        }
        let (mark, _) = self.document.last_mark(self.start);
        let known = mark.child.max(self.seen);
        match self.document.source().known_len() {
            Some(len) => {
                let rest = (len.saturating_sub(mark.at) as f64 / self.row_bytes) as u64;
                Rows::About { rows: mark.child.saturating_add(rest).max(known), known }
            }
            None => Rows::AtLeast(known),
        }
    }

    fn count(&self, task: &Task) -> Result<u64> {
        if self.total().is_none() {
            self.document.finish(task, self.start)?;
        }
        if let Some(total) = self.total() {
            return Ok(total);
        }
        let (mark, _) = self.document.last_mark(self.start);
        let mut count = Count(0);
        self.gather(task, mark, mark.child..u64::MAX, &mut count)?;
        let total = mark.child + count.0;
        *self.total.lock() = Some(total);
        Ok(total)
    }

    fn scan_step(&self) -> u64 {
        ((STEP / self.row_bytes) as u64).clamp(1, 1 << 16)
    }

    fn read<R: Records>(&self, task: &Task, rows: Range<u64>, records: &mut R) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mark = self.document.mark(task, self.start, rows.start)?;
        self.gather(task, mark, rows, records)
    }

    fn tail<R: Records>(
        &self,
        task: &Task,
        count: u64,
        make: &dyn Fn() -> Result<R>,
    ) -> Result<(Option<u64>, R)> {
        let total = self.count(task)?;
        let first = total.saturating_sub(count);
        let mut records = make()?;
        self.read(task, first..total, &mut records)?;
        Ok((Some(first), records))
    }
}

/// Leaves out the first records.
struct Behind<'a, R> {
    skip: u64,
    records: &'a mut R,
}

impl<R: Records> Records for Behind<'_, R> {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        self.records.split(bytes, at, last)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        self.records.keep(bytes)
    }

    fn fit(&self, bytes: &[u8], at: usize) -> f64 {
        self.records.fit(bytes, at)
    }
}

/// Counts and keeps nothing.
struct Count(u64);

impl Records for Count {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        Commas.split(bytes, at, last, &mut (0..0))
    }

    fn keep(&mut self, _bytes: &[u8]) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn fit(&self, _bytes: &[u8], _at: usize) -> f64 {
        1.0
    }
}

/// The records of a sample's bytes: the first elements behind an array's bracket. Sees at most `most` of them.
pub fn sample(bytes: &[u8], whole: bool, most: u64, mut sample: Sample) -> Sample {
    let (mut at, mut found, mut number) = (0, 0..0, 0);
    let ended = loop {
        if number >= most {
            break false;
        }
        match Commas.split(bytes, at, whole, &mut found) {
            Step::Record(after) => {
                number += 1;
                sample.see(bytes.get(found.clone()).unwrap_or_default(), number);
                at = after;
            }
            Step::Stop => break true,
            Step::Partial(_) | Step::End => break false,
        }
    };
    sample.whole = ended;
    sample.bytes = at as u64;
    sample.end();
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Table;
    use crate::json::record::Columns;
    use crate::lines::TextTable;
    use crate::source::Source;

    fn table(text: &str) -> TextTable<Columns<Commas>, Elements> {
        let document = Arc::new(Document::new(&Task::new(), &Source::memory("t", text.to_owned())).unwrap());
        let head = &text.as_bytes()[1..text.len().min(10_000)];
        let sample = sample(head, head.len() + 1 == text.len(), u64::MAX, Sample::default());
        TextTable::new(Elements::new(document, 0, &sample), Columns::new(Commas, &sample))
    }

    #[test]
    fn any_row_of_a_long_array() {
        let item = |n: usize| format!("{{\"n\": {n}, \"t\": [{n}, \"]\"]}}");
        let text = format!("[{}]", (0..50_000).map(item).collect::<Vec<_>>().join(",\n "));
        let (table, task) = (table(&text), Task::new());
        assert!(matches!(table.rows(), Rows::About { rows: 45_000..65_000, .. }), "{:?}", table.rows());
        let n = |rows: Range<u64>| {
            let batch = table.read(&task, rows, &[0]).unwrap();
            let cell = |row| crate::cell::text(batch.column(0).as_ref(), row).unwrap();
            (0..batch.num_rows()).map(cell).collect::<Vec<_>>()
        };
        assert_eq!(n(31_234..31_237), ["31234", "31235", "31236"]);
        assert_eq!(n(49_999..60_000), ["49999"]);
        assert_eq!(table.count(&task).unwrap(), 50_000);
        assert_eq!(n(0..50_000).len(), 50_000);
        let (first, tail) = table.tail(&task, 2, &[1]).unwrap();
        assert_eq!((first, tail.num_rows()), (Some(49_998), 2));
    }

    #[test]
    fn what_is_cut_or_broken_is_the_last_row() {
        let count = |text: &str| table(text).count(&Task::new()).unwrap();
        assert_eq!(count("[{\"a\": 1}, {\"a\": 2"), 2);
        assert_eq!(count("[{\"a\": 1}, {\"a\": 2},]"), 2);
        assert_eq!(count("[1, /* , 7 */ 2 // 3\n]"), 2);
        assert_eq!(count("[]"), 0);
    }
}
