//! Boxes of the ISO base media file format (ISO 14496-12): MP4, QuickTime, AVIF, HEIF. A box has a size, a type of four
//! characters and a body, which may be boxes again. <https://mp4ra.org/>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;

/// Boxes beside each other that are walked.
const MOST: usize = 1 << 20;

/// A box: its type and where its body lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// Its type.
    pub kind: [u8; 4],
    /// Where it begins,
    pub start: u64,
    /// and where its body lies; the end is within its parent.
    pub body: Range<u64>,
    /// Whether it says that it is longer than its parent.
    pub is_cut: bool,
}

impl Atom {
    /// The bytes of its body, where that is a header: up to [`limits::HEADER`].
    ///
    /// # Errors
    /// `Limit` for more, and those of reading.
    pub fn read(&self, task: &Task, source: &Source) -> Result<Bytes> {
        let len = self.body.end - self.body.start;
        limits::check(len, limits::HEADER, &format!("the box {}", self.name()))
            .map_err(|error| error.at(self.start))?;
        source.read(task, self.body.clone())
    }

    /// Its type as text.
    pub fn name(&self) -> String {
        self.kind.iter().map(|byte| char::from(*byte)).collect()
    }

    /// The boxes in its body behind so many bytes.
    ///
    /// # Errors
    /// As [`list`].
    pub fn children(&self, task: &Task, source: &Source, skip: u64) -> Result<Vec<Atom>> {
        list(task, source, self.body.start.saturating_add(skip).min(self.body.end)..self.body.end)
    }
}

/// The boxes that lie in a range, one after the other; one that says more than is there is the last.
///
/// # Errors
/// Those of reading; `Limit` for more than a million.
pub fn list(task: &Task, source: &Source, range: Range<u64>) -> Result<Vec<Atom>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while range.end.saturating_sub(at) >= 8 {
        if found.len().is_multiple_of(256) {
            task.check()?;
        }
        let head = source.read_up_to(task, at, 16)?;
        let (Some(size), Some(kind)) = (be::<u32>(&head, 0), head.get(4..8)) else { break };
        let kind = *kind.first_chunk().unwrap_or(&[0; 4]);
        let (skip, size) = match size {
            // Up to the end.
            0 => (8, range.end - at),
            1 => (16, be::<u64>(&head, 8).unwrap_or(0)),
            size => (8, u64::from(size)),
        };
        if size < skip {
            break;
        }
        let end = at.saturating_add(size);
        let body = (at + skip).min(range.end)..end.min(range.end);
        found.push(Atom { kind, start: at, body, is_cut: end > range.end });
        if found.len() > MOST {
            return Err(Error::limit(format!("more than {MOST} boxes beside each other")).at(at));
        }
        at = end;
    }
    Ok(found)
}

/// The first box of a type.
pub fn find<'a>(boxes: &'a [Atom], kind: &[u8; 4]) -> Option<&'a Atom> {
    boxes.iter().find(|one| one.kind == *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_all_kinds() {
        let bytes = [
            &b"\0\0\0\x0cabcdbody"[..],
            b"\0\0\0\x01long\0\0\0\0\0\0\0\x12xy",
            b"\0\0\0\0rest",
            b"to the end",
        ]
        .concat();
        let (task, source) = (Task::new(), Source::memory("boxes", bytes.clone()));
        let boxes = list(&task, &source, 0..bytes.len() as u64).unwrap();
        let names: Vec<String> = boxes.iter().map(Atom::name).collect();
        assert_eq!(names, ["abcd", "long", "rest"]);
        assert_eq!(boxes[1].read(&task, &source).unwrap().as_ref(), b"xy");
        assert_eq!(boxes[2].read(&task, &source).unwrap().as_ref(), b"to the end");
        assert!(!boxes[2].is_cut);
        let cut = list(&task, &source, 0..10).unwrap();
        assert!(cut[0].is_cut && cut[0].body == (8..10));
    }
}
