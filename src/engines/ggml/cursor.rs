//! Reading a header number by number.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{Number, ordered};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;

/// Bytes that are read at a time at most, and at first: headers are short or long, and between them may lie gigabytes.
const WINDOW: usize = 1 << 20;
const FIRST: usize = 16 << 10;

/// A place in a source, from which numbers and texts are read on.
pub struct Cursor<'a> {
    task: &'a Task,
    source: &'a Source,
    /// Whether numbers are big-endian.
    pub big: bool,
    at: u64,
    window: Bytes,
    /// Where the window begins.
    start: u64,
    /// How many bytes the next window has.
    next: usize,
}

impl<'a> Cursor<'a> {
    /// At byte `at` of `source`.
    pub fn new(task: &'a Task, source: &'a Source, at: u64, big: bool) -> Self {
        Cursor { task, source, big, at, window: Bytes::new(), start: at, next: FIRST }
    }

    /// The next byte's offset.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Moves to a byte.
    pub fn go(&mut self, at: u64) {
        self.at = at;
    }

    /// How many bytes follow, where the length of the source is known.
    pub fn left(&self) -> Option<u64> {
        Some(self.source.known_len()?.saturating_sub(self.at))
    }

    /// That `count` things of at least `size` bytes may follow.
    ///
    /// # Errors
    /// `Malformed` where the file is too short for them.
    pub fn fit(&self, count: u64, size: u64, what: &str) -> Result<()> {
        let fits = self.left().is_none_or(|left| count.checked_mul(size).is_some_and(|bytes| bytes <= left));
        if fits {
            return Ok(());
        }
        let left = self.left().unwrap_or(0);
        Err(Error::malformed(format!("header: {count} {what} do not fit into the {left} bytes that follow"))
            .at(self.at))
    }

    /// The next bytes, of which there are not many.
    ///
    /// # Errors
    /// `Malformed` where the file ends before them; `Limit` for very many.
    pub fn take(&mut self, count: u64) -> Result<Bytes> {
        limits::check(count, limits::HEADER, "a part of the header").map_err(|error| error.at(self.at))?;
        let inside = |window: &Bytes, start: u64| {
            let from = usize::try_from(self.at.checked_sub(start)?).ok()?;
            let to = from.checked_add(count as usize)?;
            (to <= window.len()).then(|| window.slice(from..to))
        };
        if let Some(bytes) = inside(&self.window, self.start) {
            self.at += count;
            return Ok(bytes);
        }
        self.task.check()?;
        let is_near = self.at <= self.start.saturating_add(self.window.len() as u64);
        self.next = if is_near { self.next } else { FIRST };
        self.window = self.source.read_up_to(self.task, self.at, self.next.max(count as usize))?;
        self.next = (self.next * 2).min(WINDOW);
        self.start = self.at;
        let Some(bytes) = inside(&self.window, self.start) else {
            let there = self.window.len();
            let what =
                format!("header: it needs {count} bytes here, {there} are there; the file may be cut off");
            return Err(Error::malformed(what).at(self.at));
        };
        self.at += count;
        Ok(bytes)
    }

    /// The next number.
    ///
    /// # Errors
    /// As [`Cursor::take`].
    pub fn number<N: Number>(&mut self) -> Result<N> {
        let bytes = self.take(size_of::<N>() as u64)?;
        ordered(self.big, &bytes, 0).ok_or_else(|| Error::bug("a number of the header is not there"))
    }

    /// The next text, behind its length of 4 or 8 bytes; what is no UTF-8 is replaced.
    ///
    /// # Errors
    /// As [`Cursor::take`].
    pub fn text(&mut self, width: u64) -> Result<String> {
        let bytes = self.bytes(width)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The bytes of the next text.
    ///
    /// # Errors
    /// As [`Cursor::take`].
    pub fn bytes(&mut self, width: u64) -> Result<Bytes> {
        let at = self.at;
        let length = self.length(width)?;
        self.fit(length, 1, "bytes of a text").map_err(|error| error.at(at))?;
        self.take(length)
    }

    /// A length of 4 or 8 bytes.
    ///
    /// # Errors
    /// As [`Cursor::take`].
    pub fn length(&mut self, width: u64) -> Result<u64> {
        if width == 4 { Ok(u64::from(self.number::<u32>()?)) } else { self.number::<u64>() }
    }
}

impl Cursor<'_> {
    /// Goes over `count` texts, each with `trailer` bytes behind it; where every `step`-th begins.
    ///
    /// # Errors
    /// `Malformed` where the file ends before they do.
    pub fn skip_texts(&mut self, count: u64, width: u64, trailer: u64, step: u64) -> Result<Vec<u64>> {
        self.fit(count, width + trailer, "texts")?;
        let mut marks = Vec::new();
        for n in 0..count {
            if n % step.max(1) == 0 {
                marks.push(self.at);
            }
            let begin = self.at;
            let length = match self.near(width as usize) {
                // Most lengths lie in the window: no copy, no count of references.
                Some(bytes) if width == 4 => u64::from(ordered::<u32>(self.big, bytes, 0).unwrap_or(0)),
                Some(bytes) => ordered::<u64>(self.big, bytes, 0).unwrap_or(0),
                None => {
                    let length = self.length(width)?;
                    self.at = begin;
                    length
                }
            };
            let end = begin.checked_add(width + trailer).and_then(|at| at.checked_add(length));
            let known = self.source.known_len();
            let fits = end.filter(|end| known.is_none_or(|len| *end <= len));
            let Some(end) = fits else {
                let what = format!("header: text {n} of {count} has {length} bytes, which are not there");
                return Err(Error::malformed(what).at(begin));
            };
            self.at = end;
        }
        Ok(marks)
    }

    /// The next bytes, if they lie in the window.
    fn near(&self, count: usize) -> Option<&[u8]> {
        let from = usize::try_from(self.at.checked_sub(self.start)?).ok()?;
        self.window.get(from..from.checked_add(count)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_skipped_across_windows() {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for n in 0..5000usize {
            places.push(bytes.len() as u64);
            bytes.extend((n as u64 % 700).to_be_bytes());
            bytes.extend(std::iter::repeat_n(b'x', n % 700));
            bytes.push(7);
        }
        let (source, task) = (Source::memory("a", bytes), Task::new());
        let mut cursor = Cursor::new(&task, &source, 0, true);
        let marks = cursor.skip_texts(5000, 8, 1, 100).unwrap();
        assert_eq!(marks, places.iter().copied().step_by(100).collect::<Vec<_>>());
        assert_eq!(cursor.left(), Some(0));
        let mut cursor = Cursor::new(&task, &source, 0, true);
        assert!(cursor.skip_texts(5001, 8, 1, 100).is_err());
        assert!(Cursor::new(&task, &source, 0, true).skip_texts(u64::MAX, 8, 1, 1).is_err());
        assert!(Cursor::new(&task, &source, 0, false).skip_texts(2000, 8, 1, 1).is_err());
    }

    #[test]
    fn numbers_and_texts_are_read_on() {
        let (source, task) = (Source::memory("a", b"\x02\0\0\0hi\0\0\x80\x3f".to_vec()), Task::new());
        let mut cursor = Cursor::new(&task, &source, 0, false);
        assert_eq!((cursor.text(4).unwrap().as_str(), cursor.number::<f32>().unwrap()), ("hi", 1.0));
        assert!(cursor.number::<u8>().is_err());
    }
}
