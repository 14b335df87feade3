//! The opcodes that most of a huge pickle is made of, taken in one loop without making steps of them: numbers, short
//! texts, small containers. Whatever else comes, or looks as if somebody had to look at it, ends the loop.

use super::span_stack::{Entry, Made, Marked, NAMELESS, SpanStack};

/// Bytes of an opcode with its number.
const LONGEST: usize = 10;

/// What the loop may pass.
pub(super) struct CommonOpcodes<'a> {
    /// It ends here, at the latest.
    pub(super) stop: usize,
    /// So many marks have to lie on the stack where something is taken from it.
    pub(super) marks: usize,
    /// What lies in the first places of the memo: those that hold names are not passed.
    pub(super) low: &'a [u32],
    /// Nothing is taken from the memo.
    pub(super) careful: bool,
    /// Values that begin before this place are not put into the memo.
    pub(super) inner: u64,
}

impl SpanStack {
    /// Goes on from `at` of `bytes`, which stand at `base` in the file; where it ended.
    pub(super) fn common(
        &mut self,
        bytes: &[u8],
        base: u64,
        mut at: usize,
        common: &CommonOpcodes<'_>,
    ) -> usize {
        while at < common.stop && !self.is_full() {
            let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LONGEST>()) else {
                return at;
            };
            let [op, a, b, c, d, e, ..] = *chunk;
            let here = base + at as u64;
            let taken = match op {
                b'K' => self.plain(here, Made::Plain, 2),
                b'N' | 0x88 | 0x89 | b')' => self.plain(here, Made::Plain, 1),
                b'M' => self.plain(here, Made::Plain, 3),
                b'J' => self.plain(here, Made::Plain, 5),
                b'G' => self.plain(here, Made::Plain, 9),
                b']' => self.plain(here, Made::List, 1),
                b'}' => self.plain(here, Made::Dict, 1),
                0x8f => self.plain(here, Made::Set, 1),
                0x8c => self.word(here, a == 0 || harmless(b), 2 + usize::from(a), bytes.len() - at),
                b'X' => {
                    let len = u32::from_le_bytes([a, b, c, d]) as usize;
                    self.word(here, len == 0 || harmless(e), len.saturating_add(5), bytes.len() - at)
                }
                b'(' => {
                    let (depth, memo, ops) = (self.stack.len(), self.memo, self.ops);
                    self.marks.push(Marked { depth, at: here, memo, ops });
                    1
                }
                0x94 => self.filled(self.memo, common, 1),
                b'q' => self.filled(a.into(), common, 2),
                b'r' => self.filled(u32::from_le_bytes([a, b, c, d]).into(), common, 5),
                b'h' => self.got(here, a.into(), common, 2),
                b'j' => self.got(here, u32::from_le_bytes([a, b, c, d]), common, 5),
                _ if self.marks.len() < common.marks => 0,
                b'e' | b'u' | 0x90 => self.batch(),
                b't' => self.tuple(here),
                b'a' => self.adds(1),
                b's' => self.adds(2),
                0x85..=0x87 => self.tuple_of(here, op - 0x84),
                _ => 0,
            };
            if taken == 0 {
                return at;
            }
            self.ops += 1;
            at += taken;
        }
        at
    }

    #[inline]
    fn plain(&mut self, start: u64, made: Made, len: usize) -> usize {
        let (memo, ops) = (self.memo, self.ops);
        self.stack.push(Entry { start, made_at: start, memo, ops, made, tag: NAMELESS });
        len
    }

    #[inline]
    fn word(&mut self, start: u64, harmless: bool, len: usize, left: usize) -> usize {
        if harmless && len <= left { self.plain(start, Made::Plain, len) } else { 0 }
    }

    #[inline]
    fn filled(&mut self, place: u64, common: &CommonOpcodes<'_>, len: usize) -> usize {
        let floor = self.marks.last().map_or(0, |mark| mark.depth);
        let Some(top) = self.stack.last().filter(|_| self.stack.len() > floor) else { return 0 };
        let next = self.first.is_some_and(|first| first + self.memo == place);
        if !next || top.made == Made::Global || common.inner > top.start {
            return 0;
        }
        self.memo += 1;
        len
    }

    #[inline]
    fn got(&mut self, start: u64, place: u32, common: &CommonOpcodes<'_>, len: usize) -> usize {
        let first = self.first.unwrap_or(u64::MAX);
        let there = u64::from(place) >= first && u64::from(place) < first + self.memo;
        let plain = common.low.get(place as usize).is_none_or(|name| *name == NAMELESS);
        if !there || !plain || common.careful {
            return 0;
        }
        let (memo, ops) = (self.memo, self.ops);
        self.stack.push(Entry { start, made_at: start, memo, ops, made: Made::Got, tag: place });
        len
    }

    /// Everything since the mark is added to what lies below it.
    #[inline]
    fn batch(&mut self) -> usize {
        let [.., below, mark] = self.marks.as_slice() else { return 0 };
        let (depth, floor) = (mark.depth, below.depth);
        let target = depth.checked_sub(1).filter(|target| *target >= floor);
        let Some(entry) = target.and_then(|target| self.stack.get(target)) else { return 0 };
        if entry.made == Made::Global {
            return 0;
        }
        self.stack.truncate(depth);
        self.marks.pop();
        1
    }

    #[inline]
    fn tuple(&mut self, at: u64) -> usize {
        let Some(mark) = self.marks.pop() else { return 0 };
        self.stack.truncate(mark.depth);
        let Marked { at: start, memo, ops, .. } = mark;
        self.stack.push(Entry { start, made_at: at, memo, ops, made: Made::Tuple, tag: NAMELESS });
        1
    }

    /// The last ones are added to what lies below them.
    #[inline]
    fn adds(&mut self, count: usize) -> usize {
        let floor = self.marks.last().map_or(0, |mark| mark.depth);
        let target = self.stack.len().checked_sub(count + 1).filter(|target| *target >= floor);
        let Some(target) = target else { return 0 };
        if self.stack.get(target).is_none_or(|entry| entry.made == Made::Global) {
            return 0;
        }
        self.stack.truncate(target + 1);
        1
    }

    #[inline]
    fn tuple_of(&mut self, at: u64, count: u8) -> usize {
        let floor = self.marks.last().map_or(0, |mark| mark.depth);
        let first = self.stack.len().checked_sub(count.into()).filter(|first| *first >= floor);
        let Some(entry) = first.and_then(|first| self.stack.get_mut(first)) else { return 0 };
        if entry.made == Made::Unknown {
            return 0;
        }
        (entry.made, entry.made_at, entry.tag) = (Made::TupleOf(count), at, NAMELESS);
        let len = self.stack.len() - usize::from(count) + 1;
        self.stack.truncate(len);
        1
    }
}

/// Whether a text that begins so does not stand for bytes of a pickle.
fn harmless(first: u8) -> bool {
    !matches!(first, 0x80 | 0xc2 | b'\\' | b'\'' | b'"')
}
