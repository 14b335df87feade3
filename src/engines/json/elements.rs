//! The elements of an array as records: row n is element n, found through the sparse index.

use super::index::{Document, Mark};
use super::record::{Sample, Split};
use super::stage;
use super::walk::space;
use super::window::Window;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use crate::data::json::token as text;
use crate::engines::delimited::Records;
use crate::engines::delimited::paged::{self, Step};
use crate::engines::delimited::table::Pages;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a step of a whole scan takes, about.
const STEP: f64 = (32 << 20) as f64;

/// Splits the inside of an array. Stops at its end, and where a comma is missing or stands for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Commas {
    /// Whether a comma has to stand before the next element.
    due: bool,
}

impl Split for Commas {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool, found: &mut Range<usize>) -> Step {
        let (begin, comma) = match gap(bytes, at, self.due) {
            Some(gap) => gap,
            // A comment that goes on behind the piece.
            None if last => return Step::Stop,
            None => return Step::Partial(at),
        };
        let rest = bytes.get(begin..).unwrap_or_default();
        let len = match rest.first() {
            None if last => return Step::Stop,
            None => {
                self.due &= !comma;
                return Step::Partial(begin);
            }
            Some(b']' | b'}' | b':' | b',') => return Step::Stop,
            Some(_) if self.due && !comma => return Step::Stop,
            Some(b'{' | b'[') => stage::container(rest),
            Some(b'"') => text::string(rest),
            Some(_) => match text::word(rest) {
                0 => return Step::Stop,
                len if len == rest.len() => None,
                len => Some(len),
            },
        };
        // What is cut off is the last record.
        let len = len.or_else(|| last.then_some(rest.len()));
        self.due = len.is_some();
        match len {
            Some(len) => {
                *found = begin..begin + len;
                Step::Record(begin + len)
            }
            None => Step::Partial(begin),
        }
    }
}

/// Behind white space, comments and the comma that is due, and whether there was one; `None` where a comment
/// does not end.
fn gap(bytes: &[u8], mut at: usize, due: bool) -> Option<(usize, bool)> {
    let mut comma = false;
    loop {
        at += text::space(bytes.get(at..).unwrap_or_default());
        let rest = bytes.get(at..).unwrap_or_default();
        at += match rest {
            [b',', ..] if due && !comma => {
                comma = true;
                1
            }
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest)? + 1,
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/")? + 2,
            [b'/'] => return None,
            _ => return Some((at, comma)),
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
        let mut records = Behind { skip, seen: 0, records };
        let end = paged::gather(task, self.document.source(), from.at, most, self.row_bytes, &mut records)?;
        let seen = records.seen;
        if seen < most { self.ended(task, from, from.child.saturating_add(seen), end) } else { Ok(()) }
    }

    /// Looks at what stands behind the last element, of `total`, that a read from the mark `from` on found:
    /// unless it is the array's end, these are all that there are, and why is told.
    pub fn ended(&self, task: &Task, from: Mark, total: u64, at: u64) -> Result<()> {
        let mut window = Window::new(task, self.document.source(), at);
        space(&mut window)?;
        if window.peek()? == Some(b',') {
            window.skip(1);
            space(&mut window)?;
        }
        if window.peek()? == Some(b']') {
            return Ok(());
        }
        if let Some((at, problem)) = self.document.wrong(task, self.start, from, at)? {
            self.document.note(at, problem);
            let mut known = self.total.lock();
            *known = Some(known.map_or(total, |known| known.min(total)));
        }
        Ok(())
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
        let mut count = Count::default();
        self.gather(task, mark, mark.child..u64::MAX, &mut count)?;
        let total = mark.child + count.rows;
        *self.total.lock() = Some(total);
        Ok(total)
    }

    fn scan_step(&self) -> u64 {
        ((STEP / self.row_bytes) as u64).clamp(1, 1 << 16)
    }

    fn source(&self) -> &Source {
        self.document.source()
    }

    fn read<R: Records>(&self, task: &Task, rows: Range<u64>, records: &mut R) -> Result<()> {
        let rows = rows.start..rows.end.min(self.total().unwrap_or(u64::MAX));
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
    /// All that there were, those left out too.
    seen: u64,
    records: &'a mut R,
}

impl<R: Records> Records for Behind<'_, R> {
    fn begin(&mut self, place: u64) {
        self.records.begin(place);
    }

    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        self.records.split(bytes, at, last)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        self.seen += 1;
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
#[derive(Default)]
struct Count {
    rows: u64,
    commas: Commas,
}

impl Records for Count {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        self.commas.split(bytes, at, last, &mut (0..0))
    }

    fn keep(&mut self, _bytes: &[u8]) -> Result<()> {
        self.rows += 1;
        Ok(())
    }

    fn fit(&self, _bytes: &[u8], _at: usize) -> f64 {
        1.0
    }
}

/// The records of a sample's bytes: the first elements behind an array's bracket. Sees at most `most` of them.
pub fn sample(bytes: &[u8], whole: bool, most: u64, mut sample: Sample) -> Sample {
    let (mut at, mut found, mut number, mut commas) = (0, 0..0, 0, Commas::default());
    let ended = loop {
        if number >= most {
            break false;
        }
        match commas.split(bytes, at, whole, &mut found) {
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
    use crate::bytes::source::Source;
    use crate::data::content::Table;
    use crate::engines::delimited::TextTable;
    use crate::engines::json::record::Columns;

    fn table(text: &str) -> TextTable<Columns<Commas>, Elements> {
        let document = Arc::new(Document::new(&Task::new(), &Source::memory("t", text.to_owned())).unwrap());
        let head = &text.as_bytes()[1..text.len().min(10_000)];
        let sample = sample(head, head.len() + 1 == text.len(), u64::MAX, Sample::default());
        TextTable::new(
            Elements::new(document, 0, &sample),
            Columns::new(Commas::default(), &sample, Arc::default()),
        )
    }

    #[test]
    fn any_row_of_a_long_array() {
        let item = |n: usize| format!("{{\"n\": {n}, \"t\": [{n}, \"]\"]}}");
        let text = format!("[{}]", (0..50_000).map(item).collect::<Vec<_>>().join(",\n "));
        let (table, task) = (table(&text), Task::new());
        assert!(matches!(table.rows(), Rows::About { rows: 45_000..65_000, .. }), "{:?}", table.rows());
        let n = |rows: Range<u64>| {
            let batch = table.read(&task, rows, &[0]).unwrap();
            let cell = |row| crate::data::cell::text(batch.column(0).as_ref(), row).unwrap();
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
    fn rows_end_where_a_comma_is_missing_and_the_place_is_told() {
        let item = |n: usize| format!("{{\"n\": {n}}}");
        let items = |range: Range<usize>| range.map(item).collect::<Vec<_>>().join(", ");
        let numbers = |range: Range<usize>| range.map(|n| n.to_string()).collect::<Vec<_>>().join(",\n");
        // Between objects, which the index sees, and between numbers, which only a reader does.
        let objects = format!("[{} {}]", items(0..30_000), items(30_000..90_000));
        let scalars = format!("[{} {}]", numbers(0..30_000), numbers(30_000..90_000));
        let twice = format!("[{},,{}]", numbers(0..30_000), numbers(30_000..90_000));
        for (text, counted, words) in [
            (objects, 30_000, "',' or ']' is expected, not '{', in line 1, column "),
            (scalars, 89_999, "',' or ']' is expected, not '3', in line 30000, column 7"),
            (twice, 90_001, "a value is expected, not ',', in line 30000, column 7"),
        ] {
            let (table, task) = (table(&text), Task::new());
            let read = |rows| table.read(&task, rows, &[0]).unwrap().num_rows();
            assert_eq!(read(29_990..30_010), 10, "{words}");
            assert_eq!((table.count(&task).unwrap(), read(60_000..60_010)), (30_000, 0), "{words}");
            let problem = table.pages().document.problem().map(|p| p.to_string()).unwrap_or_default();
            assert!(problem.contains(words), "{problem}");
            // Counted first: by commas, until the place is read.
            let again = self::table(&text);
            assert_eq!(again.count(&task).unwrap(), counted, "{words}");
            assert_eq!(again.read(&task, 29_990..30_010, &[0]).unwrap().num_rows(), 10);
            assert_eq!(again.rows(), Rows::Exact(30_000), "{words}");
        }
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
