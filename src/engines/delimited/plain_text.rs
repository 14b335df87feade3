//! Text of a source: a sparse index of line starts that grows as far as it was read.

use super::encoding::{self, Charset, Detected};
use super::{Index, Rules};
use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::text::{LONGEST, Line};
use crate::data::content::{Rows, Text};
use encoding_rs::Encoding;
use std::ops::Range;
use std::sync::OnceLock;

/// Bytes of the beginning that tell how lines end and how long they are.
const SAMPLE: usize = 64 << 10;
/// Bytes that are read at a time.
const WINDOW: usize = 256 << 10;

/// A text of any size. Lines are found when they are asked for; a sparse index of line starts grows
/// as far as it was read.
pub struct PlainText {
    source: Source,
    encoding: Charset,
    /// Made by the first read.
    lines: OnceLock<Lines>,
}

/// The lines of a text.
struct Lines {
    index: Index,
    /// What the index's source is in: UTF-8 for UTF-16 and UTF-32.
    encoding: &'static Encoding,
    line_bytes: f64,
}

impl PlainText {
    /// Text in `source`, in `encoding`. A byte order mark of it is no part of the text.
    pub fn new(source: Source, encoding: impl Into<Charset>) -> Self {
        PlainText { source, encoding: encoding.into(), lines: OnceLock::new() }
    }

    fn scan(
        &self,
        task: &Task,
        start: u64,
        sizes: Sizes,
        each: &mut dyn FnMut(Line) -> Result<bool>,
    ) -> Result<()> {
        let lines = self.prepared(task)?;
        let Some(mut at) = lines.index.locate(task, start)? else { return Ok(()) };
        let source = lines.index.source();
        let mut line = Growing { longest: sizes.longest, ..Growing::default() };
        let (mut bytes, mut returned) = (0u64, false);
        loop {
            task.check()?;
            let piece = source.read_up_to(task, at, sizes.window)?;
            let mut rest: &[u8] = &piece;
            while let Some(n) = memchr::memchr2(b'\n', b'\r', rest) {
                let (part, after) = rest.split_at(n);
                // The LF of a CR LF ends nothing more.
                let pair = returned && n == 0 && after.starts_with(b"\n");
                line.add(part);
                if !pair && !each(line.take(lines.encoding))? {
                    return Ok(());
                }
                returned = after.starts_with(b"\r");
                rest = after.get(1..).unwrap_or_default();
            }
            returned &= rest.is_empty();
            line.add(rest);
            bytes += piece.len() as u64;
            limits::check(bytes, sizes.most, "the text of these lines")?;
            at += piece.len() as u64;
            if piece.len() < sizes.window {
                break;
            }
        }
        if line.begun {
            each(line.take(lines.encoding))?;
        }
        Ok(())
    }

    fn prepared(&self, task: &Task) -> Result<&Lines> {
        if let Some(lines) = self.lines.get() {
            return Ok(lines);
        }
        // A mark and the character behind it, which tells UTF-32 from UTF-16.
        let first = self.source.read_up_to(task, 0, 8)?;
        let detected = Detected { encoding: self.encoding, mark: self.encoding.mark(&first) };
        let (view, start, encoding) = encoding::ascii_view(&self.source, detected)?;
        let sample = view.read_up_to(task, start, SAMPLE)?;
        // Those of CR LF once.
        let (feeds, returns) = (memchr::memchr_iter(b'\n', &sample), memchr::memchr_iter(b'\r', &sample));
        let ends = feeds.count().max(returns.count());
        let lines = Lines {
            index: Index::new(view, Rules::text(), start),
            encoding,
            line_bytes: (sample.len() as f64 / ends.max(1) as f64).max(1.0),
        };
        Ok(self.lines.get_or_init(|| lines))
    }
}

impl Text for PlainText {
    fn source(&self) -> &Source {
        &self.source
    }

    fn encoding(&self) -> String {
        self.encoding.name()
    }

    fn lines(&self) -> Rows {
        let Some(lines) = self.lines.get() else { return Rows::AtLeast(0) };
        if let Some(total) = lines.index.total() {
            return Rows::Exact(total.records);
        }
        let (known, at) = lines.index.known();
        match lines.index.source().known_len() {
            Some(len) => {
                let rest = (len.saturating_sub(at) as f64 / lines.line_bytes) as u64;
                Rows::About { rows: known.saturating_add(rest), known }
            }
            None => Rows::AtLeast(known),
        }
    }

    fn beginnings(&self, task: &Task, range: Range<u64>) -> Result<Vec<Line>> {
        let lines = self.prepared(task)?;
        let most = range.end.saturating_sub(range.start);
        let mut found = Vec::new();
        if most == 0 {
            return Ok(found);
        }
        let window = (most as f64 * lines.line_bytes) as usize;
        let window = window.saturating_add(4 << 10).min(WINDOW);
        let sizes = Sizes { longest: LONGEST, window, most: limits::READ };
        self.scan(task, range.start, sizes, &mut |line| {
            found.push(line);
            Ok((found.len() as u64) < most)
        })?;
        Ok(found)
    }

    fn each(
        &self,
        task: &Task,
        start: u64,
        longest: usize,
        each: &mut dyn FnMut(u64, Line) -> Result<bool>,
    ) -> Result<()> {
        let sizes = Sizes { longest, window: WINDOW, most: u64::MAX };
        let mut number = start;
        self.scan(task, start, sizes, &mut |line| {
            let goes_on = each(number, line);
            number += 1;
            goes_on
        })
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.prepared(task)?.index.count(task)
    }

    fn characters(&self, task: &Task) -> Result<u64> {
        let lines = self.prepared(task)?;
        let source = lines.index.source();
        let mut decoder = lines.encoding.new_decoder_without_bom_handling();
        let (mut at, mut count) = (lines.index.start(), 0u64);
        let mut text = String::with_capacity(3 * WINDOW + 16);
        loop {
            task.check()?;
            let piece = source.read_up_to(task, at, WINDOW)?;
            let last = piece.len() < WINDOW;
            text.clear();
            let _ = decoder.decode_to_string(&piece, &mut text, last);
            count += text.chars().filter(|c| !matches!(c, '\n' | '\r')).count() as u64;
            at += piece.len() as u64;
            if last {
                return Ok(count);
            }
        }
    }
}

/// How much is read of what, in bytes.
struct Sizes {
    /// Of a line.
    longest: usize,
    /// At a time.
    window: usize,
    /// Of all lines together; more is an error.
    most: u64,
}

/// A line as its pieces come in.
#[derive(Default)]
struct Growing {
    kept: Vec<u8>,
    longest: usize,
    left_out: u64,
    begun: bool,
}

impl Growing {
    fn add(&mut self, part: &[u8]) {
        self.begun |= !part.is_empty();
        let room = self.longest.saturating_sub(self.kept.len());
        let (kept, rest) = part.split_at(part.len().min(room));
        self.kept.extend_from_slice(kept);
        self.left_out += rest.len() as u64;
    }

    /// The line, and everything is as at the beginning.
    fn take(&mut self, encoding: &'static Encoding) -> Line {
        let mut kept: &[u8] = &self.kept;
        if self.left_out > 0 && encoding == encoding_rs::UTF_8 {
            // Not through the middle of a character.
            let whole = kept.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(0);
            self.left_out += (kept.len() - whole) as u64;
            kept = kept.get(..whole).unwrap_or_default();
        }
        let line = Line { text: encoding::decode(encoding, kept).into_owned(), left_out: self.left_out };
        self.kept.clear();
        (self.left_out, self.begun) = (0, false);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bytes: impl Into<bytes::Bytes>) -> PlainText {
        PlainText::new(Source::memory("t", bytes), encoding_rs::UTF_8)
    }

    #[test]
    fn lines_without_their_ends() {
        let task = Task::new();
        let all = |bytes: &'static [u8]| text(bytes).read(&task, 0..u64::MAX).unwrap();
        assert_eq!(all(b"a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(all(b"a\rb\r"), ["a", "b"]);
        assert_eq!(all(b"a\rb\n\rc\r\n\r\r\nd\r"), ["a", "b", "", "c", "", "", "d"]);
        assert_eq!(all(b"\xef\xbb\xbfa\n"), ["a"]);
        assert_eq!(all(b"\n"), [""]);
        let text = text(&b"a\r\nb\n\nc"[..]);
        assert_eq!(
            (text.lines(), text.count(&task).unwrap(), text.lines()),
            (Rows::AtLeast(0), 4, Rows::Exact(4))
        );
        assert_eq!(text.characters(&task).unwrap(), 3);
        assert_eq!(text.read(&task, 1..3).unwrap(), ["b", ""]);
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let long = "é".repeat(100_000) + "\nnext\n";
        let text = text(long);
        let task = Task::new();
        let lines = text.read(&task, 0..9).unwrap();
        assert!(
            lines[0].ends_with(" … [the line goes on for 134,466 bytes]"),
            "{}",
            &lines[0][lines[0].len() - 60..]
        );
        assert!(lines[0].starts_with("éé") && !lines[0].contains('\u{fffd}'));
        assert_eq!(lines[1], "next");
        assert_eq!(text.characters(&task).unwrap(), 100_004);
        assert_eq!(text.read(&task, 1..2).unwrap(), ["next"]);
        // Without the word on it, and as far as somebody asks.
        let line = text.beginnings(&task, 0..1).unwrap().remove(0);
        assert_eq!((line.left_out, line.text.chars().all(|c| c == 'é')), (134_466, true));
        let mut found = Vec::new();
        let mut add = |number, line: Line| {
            found.push((number, line.text.chars().count(), line.left_out));
            Ok(true)
        };
        text.each(&task, 0, 1 << 20, &mut add).unwrap();
        assert_eq!(found, [(0, 100_000, 0), (1, 4, 0)]);
    }

    proptest! {
        #[test]
        fn any_range_is_what_split_gives(words in prop::collection::vec(prop::sample::select(vec!["a", "\n", "é", "\r\n", "\r"]), 1..200), from in 0u64..60, most in 0u64..60) {
            let whole = words.concat();
            let ends = whole.replace("\r\n", "\n").replace('\r', "\n");
            let expected: Vec<&str> = ends.lines().collect();
            let text = text(whole.clone());
            let task = Task::new();
            let end = (from + most).min(expected.len() as u64);
            let part = &expected[from.min(end) as usize..end as usize];
            prop_assert_eq!(text.read(&task, from..from + most).unwrap(), part);
            prop_assert_eq!(text.count(&task).unwrap(), expected.len() as u64);
            prop_assert_eq!(text.characters(&task).unwrap(), expected.iter().map(|l| l.chars().count() as u64).sum::<u64>());
        }
    }
}
