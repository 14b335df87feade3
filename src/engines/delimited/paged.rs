//! Rows of a text by range: through the sparse index, near a place that is not indexed yet, or from
//! the end of the file. What a record is, is the format's ([`Records`]).

use super::index::fill;
use super::resync::{self, Begin};
use super::{Index, Rules};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Rows;
use std::ops::Range;

/// The longest record that is read, in bytes: a quote that is never closed makes the rest of a file
/// one record.
const RECORD: usize = 64 << 20;
/// Searching through so much takes a tenth of a second.
const FAR: f64 = (256 << 20) as f64;
/// The most that is read to find the last rows without counting all.
const TAIL: u64 = 64 << 20;
/// The most that is read for certainty about quotes.
const CERTAIN: u64 = 4 << 20;

/// Bytes that a step of a whole scan takes, about.
const STEP: f64 = (32 << 20) as f64;
/// What was found at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A record; the next one begins here.
    Record(usize),
    /// The bytes end before the record does; it begins here (behind blank lines).
    Partial(usize),
    /// Only blank lines, or nothing, up to the end of the bytes.
    End,
    /// No records follow, whatever the bytes behind are.
    Stop,
}

/// Splits a text into records and keeps those that are wanted.
pub trait Records {
    /// The bytes that follow begin at this place of the text.
    fn begin(&mut self, _place: u64) {}

    /// Finds the record at `at`; `last` says that the file ends with `bytes`.
    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step;

    /// Keeps the record that was found just now, in the same bytes. An error without a place gets the
    /// byte where the record begins.
    fn keep(&mut self, bytes: &[u8]) -> Result<()>;

    /// How well the records from `at` on fit the table (0 to 1), where quotes leave a doubt.
    fn fit(&self, bytes: &[u8], at: usize) -> f64;
}

/// [`Records::split`] where every line is a record: `found` gets its place, without the line end. Rules
/// with `blanks` keep empty lines.
pub fn line(rules: &Rules, bytes: &[u8], mut at: usize, last: bool, found: &mut Range<usize>) -> Step {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = rules.ends.find(rest);
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
        let empty =
            text.is_empty() || end.is_some() && text == b"\r" || rules.spaces && text.iter().all(space);
        let blank = empty && (!rules.blanks || rest.is_empty());
        match (end, blank) {
            (Some(end), true) => at += end + 1,
            (Some(end), false) => {
                *found = at..at + end;
                // The second half of a CR LF would be a blank line, where these count.
                let pair = rules.blanks && rest.get(end..end + 2) == Some(b"\r\n");
                return Step::Record(at + end + 1 + usize::from(pair));
            }
            (None, true) if last || rest.is_empty() => return Step::End,
            (None, _) if last => {
                *found = at..bytes.len();
                return Step::Record(bytes.len());
            }
            (None, _) => return Step::Partial(at),
        }
    }
}

/// Rows of a text.
pub struct Paged {
    index: Index,
    /// Records before the first row: 1 with a header.
    before: u64,
    row_bytes: f64,
    /// Rows that were seen in samples.
    seen: u64,
    /// Rows that begin so many bytes behind what is indexed are estimated rather than searched.
    far: f64,
}

impl Paged {
    /// The rows of `source` from byte `start` on, `before` records left out. `row_bytes` is a row's
    /// average length, `seen` how many rows are there at least.
    pub fn new(source: Source, rules: Rules, start: u64, before: u64, row_bytes: f64, seen: u64) -> Self {
        let index = Index::new(source, rules, start);
        Paged { index, before, row_bytes: row_bytes.max(1.0), seen, far: FAR }
    }

    /// What ends a record.
    pub fn rules(&self) -> &Rules {
        self.index.rules()
    }

    /// What the rows lie in.
    pub fn source(&self) -> &Source {
        self.index.source()
    }

    /// Learns exactly where the row `row` begins.
    ///
    /// # Errors
    /// What reading on to it gives.
    pub fn settle(&self, task: &Task, row: u64) -> Result<()> {
        self.index.locate(task, row.saturating_add(self.before)).map(drop)
    }

    /// Whether a quote is known to be open at the end of the file.
    pub fn is_unclosed(&self) -> bool {
        self.index.total().is_some_and(|total| total.unclosed)
    }

    /// How many rows, as far as is known now.
    pub fn rows(&self) -> Rows {
        if let Some(total) = self.index.total() {
            return Rows::Exact(total.records.saturating_sub(self.before));
        }
        let (records, at) = self.index.known();
        let known = records.saturating_sub(self.before);
        match self.index.source().known_len() {
            Some(len) => {
                let rest = (len.saturating_sub(at) as f64 / self.row_bytes) as u64;
                Rows::About { rows: known.saturating_add(rest), known }
            }
            None => Rows::AtLeast(known.max(self.seen)),
        }
    }

    /// Counts all rows, with progress in bytes.
    pub fn count(&self, task: &Task) -> Result<u64> {
        Ok(self.index.count(task)?.saturating_sub(self.before))
    }

    /// How many rows a step of a whole scan takes: few where they are long.
    pub fn scan_step(&self) -> u64 {
        ((STEP / self.row_bytes) as u64).clamp(1, 1 << 16)
    }

    /// Keeps the rows `rows`, as far as they are there. With an estimated count, rows far behind the
    /// known ones are some that stand about there.
    pub fn read(&self, task: &Task, rows: Range<u64>, records: &mut impl Records) -> Result<()> {
        let most = rows.end.saturating_sub(rows.start);
        match self.place(task, rows.start, records)? {
            Some(at) if most > 0 => {
                gather(task, self.index.source(), at, most, self.row_bytes, records).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Keeps the last `count` rows; the index of the first one, if it is known.
    pub fn tail<R: Records>(
        &self,
        task: &Task,
        count: u64,
        make: &dyn Fn() -> Result<R>,
    ) -> Result<(Option<u64>, R)> {
        let source = self.index.source();
        if let Some(len) = source.known_len()
            && source.is_random_access()
            && self.index.total().is_none()
            && let Some(rows) = self.ending(task, len, count, make()?)?
        {
            return Ok((None, rows));
        }
        let total = self.count(task)?;
        let first = total.saturating_sub(count);
        let mut records = make()?;
        self.read(task, first..total, &mut records)?;
        Ok((Some(first), records))
    }

    /// The byte where row `row` begins, blank lines aside; `None` behind the last one.
    fn place(&self, task: &Task, row: u64, records: &dyn Records) -> Result<Option<u64>> {
        let record = row.saturating_add(self.before);
        let (known, at) = self.index.known();
        let ahead = record.saturating_sub(known) as f64 * self.row_bytes;
        let source = self.index.source();
        match source.known_len() {
            Some(len) if self.index.total().is_none() && ahead > self.far && source.is_random_access() => {
                self.near(task, at.saturating_add(ahead as u64), len, records)
            }
            _ => self.index.locate(task, record),
        }
    }

    /// A record's begin behind byte `at`.
    fn near(&self, task: &Task, at: u64, len: u64, records: &dyn Records) -> Result<Option<u64>> {
        if at >= len {
            return Ok(None);
        }
        let bytes = self.index.source().read_up_to(task, at, CERTAIN as usize / 4)?;
        let at_end = at + bytes.len() as u64 >= len;
        Ok(self.first(&bytes, at_end, records).map(|begin| at + begin.at as u64))
    }

    fn first(&self, bytes: &[u8], at_end: bool, records: &dyn Records) -> Option<Begin> {
        resync::first(self.index.rules(), bytes, at_end, &|at| records.fit(bytes, at))
    }

    /// The last `count` rows read from the end, if that is possible: a piece of the end long enough to
    /// hold them and to be certain about quotes.
    fn ending<R: Records>(&self, task: &Task, len: u64, count: u64, mut records: R) -> Result<Option<R>> {
        let wanted = (count as f64 * self.row_bytes * 1.5) as u64;
        let mut piece = wanted.saturating_add(64 << 10);
        while piece <= TAIL && len.saturating_sub(piece) > self.index.start() {
            let bytes = self.index.source().read(task, len - piece..len)?;
            if let Some(begin) = self.first(&bytes, true, &records)
                && (begin.sure || piece >= CERTAIN.max(wanted))
            {
                let mut begins = Vec::new();
                let mut at = begin.at;
                while let Step::Record(after) = records.split(&bytes, at, true) {
                    begins.push(at);
                    at = after;
                }
                if let Some(skipped) = (begins.len() as u64).checked_sub(count) {
                    records.begin(len - piece);
                    for &begin in begins.iter().skip(skipped as usize) {
                        records.split(&bytes, begin, true);
                        records.keep(&bytes).map_err(|error| error.at(len - piece + begin as u64))?;
                    }
                    return Ok(Some(records));
                }
            }
            piece = piece.saturating_mul(4);
        }
        Ok(None)
    }
}

/// Keeps up to `most` records of `source` from byte `at` on; `row_bytes` is about what one takes. Returns the
/// place behind the last one.
pub fn gather(
    task: &Task,
    source: &Source,
    at: u64,
    most: u64,
    row_bytes: f64,
    records: &mut impl Records,
) -> Result<u64> {
    let expected = (most as f64 * row_bytes * 1.1) as usize;
    let usual = expected.saturating_add(4 << 10).clamp(16 << 10, 4 << 20);
    let (mut place, mut window, mut kept) = (at, usual, 0);
    let mut buffer = Vec::new();
    while kept < most {
        // Copied, so that a scan of a whole file leaves none of its pages in the process.
        let filled = fill(source, task, place, &mut buffer, window)?;
        let bytes = buffer.get(..filled).unwrap_or_default();
        let last = filled < window;
        let mut at = 0;
        records.begin(place);
        while kept < most {
            match records.split(bytes, at, last) {
                Step::Record(after) => {
                    records.keep(bytes).map_err(|error| error.at(place + at as u64))?;
                    kept += 1;
                    at = after;
                }
                Step::Partial(begin) => {
                    at = begin;
                    break;
                }
                Step::End => {
                    at = bytes.len();
                    break;
                }
                Step::Stop => return Ok(place + at as u64),
            }
        }
        place += at as u64;
        if last {
            break;
        }
        // A record longer than the window: a wider one, for this record only.
        window = if at == 0 { window.saturating_mul(4) } else { usual };
        if window > 4 * RECORD {
            return Err(too_long(place));
        }
    }
    Ok(place)
}

fn too_long(place: u64) -> Error {
    Error::limit(format!(
        "a row of more than {RECORD} bytes; in a CSV its quote may not be closed, quote=none reads quotes as text"
    ))
    .at(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of two fields; keeps the first one.
    struct Firsts(Vec<String>, Range<usize>);

    impl Records for Firsts {
        fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
            let mut scan = crate::engines::delimited::scan::Scan::start();
            match scan.find(&RULES, &bytes[at..], 1) {
                Some(end) => {
                    self.1 = at..at + end;
                    Step::Record(at + end)
                }
                None if last => Step::End,
                None => Step::Partial(at),
            }
        }

        fn keep(&mut self, bytes: &[u8]) -> Result<()> {
            let text = String::from_utf8_lossy(&bytes[self.1.clone()]);
            self.0.push(text.split(',').next().unwrap().to_owned());
            Ok(())
        }

        fn fit(&self, bytes: &[u8], at: usize) -> f64 {
            f64::from(u8::from(bytes[at].is_ascii_digit()))
        }
    }

    const RULES: Rules = Rules::CSV;

    fn rows(quoted: u64) -> Paged {
        let cell =
            |i: u64| if i.is_multiple_of(quoted) { format!("\"line\n{i},\n\"") } else { "plain".to_owned() };
        let text: String = (0..5_000).map(|i| format!("{i},{}\n", cell(i))).collect();
        let source = Source::memory("t", text.clone());
        let row_bytes = text.len() as f64 / 5_000.0;
        Paged { far: 1_000.0, ..Paged::new(source, RULES, 0, 0, row_bytes, 0) }
    }

    #[test]
    fn rows_that_are_not_indexed_are_real_ones_from_about_there() {
        for quoted in [1, 2, 50, 10_000] {
            let paged = rows(quoted);
            let mut found = Firsts(Vec::new(), 0..0);
            paged.read(&Task::new(), 4_000..4_010, &mut found).unwrap();
            let first: u64 = found.0[0].parse().unwrap();
            assert!((3_600..4_400).contains(&first), "{first}");
            let expected: Vec<String> = (first..first + 10).map(|i| i.to_string()).collect();
            assert_eq!(found.0, expected);
            assert!(paged.rows().exact().is_none());
            assert_eq!(paged.count(&Task::new()).unwrap(), 5_000);
            let mut found = Firsts(Vec::new(), 0..0);
            paged.read(&Task::new(), 4_000..4_001, &mut found).unwrap();
            assert_eq!(found.0, ["4000"]);
        }
    }

    #[test]
    fn a_record_wider_than_the_window_is_read_whole() {
        let text = format!("1,a\n2,{}\n3,c\n", "x".repeat(300_000));
        let paged = Paged::new(Source::memory("t", text), RULES, 0, 0, 10.0, 0);
        let mut found = Firsts(Vec::new(), 0..0);
        paged.read(&Task::new(), 0..9, &mut found).unwrap();
        assert_eq!(found.0, ["1", "2", "3"]);
    }
}
