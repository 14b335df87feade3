//! Bytes that lie in pieces in a file as a source of their own: the packets of a sound between those of pictures, with what
//! its format is begun with before them; a stream in fragments; a file with some bytes replaced.

use crate::bytes::error::{Error, Result};
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use std::ops::Range;
use std::sync::Arc;

/// The bytes.
struct Pieces {
    source: Source,
    head: Vec<u8>,
    /// Where each piece begins in the whole, and where it lies in the file.
    pieces: Vec<(u64, Range<u64>)>,
    len: u64,
}

/// A source with `head`, and then what lies in `places` of another. `name` ends as files of that format do.
///
/// # Errors
/// `Limit` where the source lies too deep in others.
pub fn pieces(
    source: &Source,
    name: &str,
    head: Vec<u8>,
    places: impl Iterator<Item = Range<u64>>,
) -> Result<Source> {
    let mut len = head.len() as u64;
    let mut pieces = Vec::new();
    for place in places.filter(|place| place.end > place.start) {
        let begin = len;
        len = len.saturating_add(place.end - place.start);
        pieces.push((begin, place));
    }
    source.stream(name, Arc::new(Pieces { source: source.clone(), head, pieces, len }))
}

impl ReadAt for Pieces {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn len(&self, _task: &Task) -> Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        if let Some(rest) = usize::try_from(offset).ok().and_then(|at| self.head.get(at..)) {
            filled = rest.len().min(out.len());
            if let (Some(to), Some(from)) = (out.get_mut(..filled), rest.get(..filled)) {
                to.copy_from_slice(from);
            }
        }
        let mut at = offset.saturating_add(filled as u64);
        let mut next = self.pieces.partition_point(|(begin, _)| *begin <= at).saturating_sub(1);
        while filled < out.len()
            && let Some((begin, place)) = self.pieces.get(next)
        {
            let start = place.start.saturating_add(at.saturating_sub(*begin)).min(place.end);
            let count = ((place.end - start) as usize).min(out.len() - filled);
            let part = out
                .get_mut(filled..filled + count)
                .ok_or_else(|| Error::bug("a piece that is longer than what it goes to"))?;
            let read = self.source.read_up_to(task, start, count)?;
            let there = read.len().min(count);
            if let (Some(to), Some(from)) = (part.get_mut(..there), read.get(..there)) {
                to.copy_from_slice(from);
            }
            filled += there;
            if there < count {
                // The file ends within this piece.
                break;
            }
            at = at.saturating_add(count as u64);
            next += 1;
        }
        Ok(filled)
    }
}

/// The bytes of a file, some of them replaced.
struct Patched {
    source: Source,
    /// Where each begins, in order, and what stands there.
    patches: Vec<(u64, Vec<u8>)>,
}

/// A source as another one, but for the bytes at these places, which are in order and do not overlap.
///
/// # Errors
/// `Limit` where the source lies too deep in others.
pub fn patched(source: &Source, patches: Vec<(u64, Vec<u8>)>) -> Result<Source> {
    source.stream(source.name(), Arc::new(Patched { source: source.clone(), patches }))
}

impl ReadAt for Patched {
    fn known_len(&self) -> Option<u64> {
        self.source.known_len()
    }

    fn len(&self, task: &Task) -> Result<u64> {
        self.source.len(task)
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let read = self.source.read_up_to(task, offset, out.len())?;
        let filled = read.len().min(out.len());
        let (Some(out), Some(read)) = (out.get_mut(..filled), read.get(..filled)) else { return Ok(0) };
        out.copy_from_slice(read);
        let end = offset.saturating_add(filled as u64);
        let first = self.patches.partition_point(|(at, bytes)| at + bytes.len() as u64 <= offset);
        for (at, bytes) in self.patches.iter().skip(first).take_while(|(at, _)| *at < end) {
            let from = offset.max(*at);
            let bytes = bytes.iter().skip((from - at) as usize);
            out.iter_mut().skip((from - offset) as usize).zip(bytes).for_each(|(to, from)| *to = *from);
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_seen_from_wherever_one_reads() {
        let file = Source::memory("film", b"0123456789".to_vec());
        let (task, expected) = (Task::new(), b"0AB3456CD9");
        let patched = patched(&file, vec![(1, b"AB".to_vec()), (7, b"CD".to_vec())]).unwrap();
        for start in 0..10 {
            for end in start..=10 {
                let read = patched.read(&task, start..end).unwrap();
                assert_eq!(read.as_ref(), &expected[start as usize..end as usize]);
            }
        }
    }

    #[test]
    fn pieces_are_read_across_their_borders() {
        let file = Source::memory("film", b"0123456789abcdefghij".to_vec());
        let task = Task::new();
        let places = [2..5, 7..7, 10..14, 18..25];
        let sound = pieces(&file, "a.wav", b"RIFF".to_vec(), places.into_iter()).unwrap();
        assert_eq!(sound.len(&task).unwrap(), 4 + 3 + 4 + 7);
        assert_eq!(sound.read_up_to(&task, 0, 100).unwrap(), &b"RIFF234abcdij"[..]);
        assert_eq!(sound.read(&task, 3..9).unwrap(), &b"F234ab"[..]);
        assert_eq!(sound.read(&task, 6..8).unwrap(), &b"4a"[..]);
    }
}
