//! Text: lines in some encoding, read by their numbers.

use super::Rows;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use std::ops::Range;

/// The longest part of a line that [`Text::read`] delivers, in bytes of the file.
pub const LONGEST: usize = 64 << 10;

/// Text of any size. Line ends are LF, CR LF and CR; lines are delivered without them, decoded.
pub trait Text: Send + Sync {
    /// The bytes.
    fn source(&self) -> &Source;

    /// The encoding's name, lower case: `utf-8`, `windows-1252`.
    fn encoding(&self) -> String;

    /// How many lines, as far as is known now.
    fn lines(&self) -> Rows;

    /// The lines `range` (cut to what is there), up to [`LONGEST`] bytes of each.
    ///
    /// # Errors
    /// Those of reading; `Limit` where they take more than [`READ`](crate::bytes::limits::READ) bytes.
    fn beginnings(&self, task: &Task, range: Range<u64>) -> Result<Vec<Line>>;

    /// Gives the lines from `start` on with their numbers, up to `longest` bytes of each, until `each` says
    /// that it wants no more. Only one of them is in memory at a time.
    ///
    /// # Errors
    /// Those of reading, and those of `each`.
    fn each(
        &self,
        task: &Task,
        start: u64,
        longest: usize,
        each: &mut dyn FnMut(u64, Line) -> Result<bool>,
    ) -> Result<()>;

    /// Counts the lines, with progress.
    fn count(&self, task: &Task) -> Result<u64>;

    /// Counts the characters, line ends left out; reads everything.
    fn characters(&self, task: &Task) -> Result<u64>;

    /// The lines `range` as texts. One over [`LONGEST`] bytes is cut and says how many are left out.
    ///
    /// # Errors
    /// As [`Text::beginnings`].
    fn read(&self, task: &Task, range: Range<u64>) -> Result<Vec<String>> {
        Ok(self.beginnings(task, range)?.into_iter().map(Line::noted).collect())
    }
}

/// A line, or the beginning of a long one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its text, without its end.
    pub text: String,
    /// How many bytes of it are left out behind that.
    pub left_out: u64,
}

impl Line {
    /// The text with a word on what is left out.
    fn noted(self) -> String {
        if self.left_out == 0 {
            return self.text;
        }
        let bytes = crate::bytes::display::count(self.left_out);
        format!("{} … [the line goes on for {bytes} bytes]", self.text)
    }
}
