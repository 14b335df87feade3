//! What a large value of a huge pickle holds, found by its opcodes: where each item, each key and each value lies. A
//! walk may begin at places that were kept, so that a page deep in a list does not need all that is before it.

use super::common_opcodes::CommonOpcodes;
use super::huge::{Feed, HugePickle, TURN, added};
use super::opcode::Op;
use super::span_stack::{Entry, Made, SpanStack};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use std::sync::Arc;

/// Children between kept places at first, and kept places at most: of more, every second one goes.
const APART: u64 = 1 << 10;
const KEPT: usize = 1 << 12;
/// Values on the stack up to which a place is kept.
const SHALLOW: usize = 1 << 8;
/// Values since a mark of which the first are given out before the opcode that takes them all, and so many of the last
/// that are not: an opcode in between may take them.
const LONG: usize = 1 << 13;
const LAST: usize = 1 << 7;

/// A value's piece of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    /// `u64::MAX` where it is not known.
    pub(super) end: u64,
    /// Places of the memo that are filled before.
    pub(super) memo: u64,
    /// Opcodes in it.
    pub(super) ops: u64,
    pub(super) made: Made,
    /// Where the opcode is that made it, if that is known.
    pub(super) made_at: Option<u64>,
}

/// Something that a value holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Item(Piece),
    Entry(Piece, Piece),
    /// What an object is filled with that is no dict.
    State(Piece),
}

/// A walk over the opcodes of a value, and how far it is.
#[derive(Clone)]
pub(super) struct Walk {
    spans: SpanStack,
    pub(super) at: u64,
    /// Children that were passed.
    pub(super) passed: u64,
    /// The object is made; what follows fills it.
    made: bool,
    pub(super) done: bool,
    made_at: u64,
    /// Up to here all opcodes were gone over, so that it is known what lies in the memo.
    ensured: u64,
}

impl Walk {
    /// Where the opcode is that made the object; what follows fills it.
    pub(super) fn made_at(&self) -> Option<u64> {
        self.made.then_some(self.made_at)
    }
}

/// What is known of the children of a value.
struct Kept {
    walks: Vec<Walk>,
    apart: u64,
    /// The walk that is farthest.
    farthest: Walk,
}

/// The children of a value.
pub(super) struct Parts {
    pub(super) huge: Arc<HugePickle>,
    pub(super) piece: Piece,
    kept: Mutex<Kept>,
}

impl Parts {
    pub(super) fn new(huge: Arc<HugePickle>, piece: Piece) -> Parts {
        let first = huge.index.read().first;
        let spans = SpanStack::within(piece.memo, first);
        let walk =
            Walk { spans, at: piece.start, passed: 0, made: false, done: false, made_at: 0, ensured: 0 };
        let kept = Kept { walks: vec![walk.clone()], apart: APART, farthest: walk };
        Parts { huge, piece, kept: Mutex::new(kept) }
    }

    /// How many children were passed by the farthest walk, and whether these are all.
    pub(super) fn seen(&self) -> (u64, bool) {
        let kept = self.kept.lock();
        (kept.farthest.passed, kept.farthest.done)
    }

    /// The nearest walk before a child.
    pub(super) fn before(&self, child: u64) -> Walk {
        let kept = self.kept.lock();
        if kept.farthest.passed <= child {
            return kept.farthest.clone();
        }
        let at = kept.walks.partition_point(|walk| walk.passed <= child);
        kept.walks.get(at.saturating_sub(1)).unwrap_or(&kept.farthest).clone()
    }

    /// Keeps how far a walk is.
    pub(super) fn keep(&self, walk: &Walk) {
        let mut kept = self.kept.lock();
        if walk.at > kept.farthest.at {
            kept.farthest = walk.clone();
        }
    }

    fn mark(&self, walk: &Walk) {
        let mut kept = self.kept.lock();
        let last = kept.walks.last().map_or(0, |last| last.passed);
        if walk.passed < last.saturating_add(kept.apart) || walk.spans.stack.len() > SHALLOW {
            return;
        }
        kept.walks.push(walk.clone());
        if kept.walks.len() > KEPT {
            let mut n = 0;
            kept.walks.retain(|_| {
                n += 1;
                n % 2 == 1
            });
            kept.apart *= 2;
        }
    }

    /// One step of a walk; what was found is added to `out`.
    ///
    /// # Errors
    /// `Cancelled`, those of reading.
    pub(super) fn step(
        &self,
        task: &Task,
        walk: &mut Walk,
        feed: &mut Feed,
        out: &mut Vec<Part>,
    ) -> Result<()> {
        self.pass_common(walk, feed);
        let at = walk.at;
        if at >= self.piece.end {
            walk.done = true;
            return Ok(());
        }
        if walk.spans.ops.is_multiple_of(1 << 14) {
            task.check()?;
        }
        if at >= walk.ensured {
            walk.ensured = at.saturating_add(TURN);
            self.huge.ensure(task, walk.ensured)?;
        }
        let (op, next) = match feed.next(task, &self.huge, at)? {
            Ok((Op::Stop, _)) | Err(_) => {
                self.rest(walk, at, out);
                walk.done = true;
                return Ok(());
            }
            Ok(step) => step,
        };
        let before = out.len();
        if let Some((first, pairs)) = self.takes(walk, &op, at) {
            give(walk, first, walk.spans.stack.len(), at, pairs, out);
        } else if op == Op::Build {
            self.state(walk, at, out);
        }
        walk.spans.step(&op, at, None);
        walk.at = next;
        if op == Op::Build
            && let Some(end) = self.huge.index.read().inlines.get(&next)
        {
            walk.at = *end;
        }
        self.formed(walk, at);
        self.long(walk, out);
        let given = (out.len() - before) as u64;
        if given > 0 {
            walk.passed += given;
            self.mark(walk);
        }
        Ok(())
    }

    /// Passes what lies in the children.
    fn pass_common(&self, walk: &mut Walk, feed: &Feed) {
        let Some((bytes, base)) = feed.held(&self.huge, walk.at) else { return };
        let stop = self.piece.end.min(walk.ensured).saturating_sub(base) as usize;
        // What is added to the value itself, or to its state, is added with one mark at most.
        let common = CommonOpcodes { stop, marks: 2, low: &[], careful: false, inner: 0 };
        let at = walk.spans.common(bytes, base, walk.at.saturating_sub(base) as usize, &common);
        walk.at = base + at as u64;
    }

    /// The first of the values on the stack that an opcode adds to the value, and whether they are pairs.
    fn takes(&self, walk: &Walk, op: &Op, at: u64) -> Option<(usize, bool)> {
        let SpanStack { stack, marks, .. } = &walk.spans;
        let here = self.piece.made_at.is_none_or(|made_at| made_at == at);
        let pairs = matches!(op, Op::SetItem | Op::SetItems | Op::Dict);
        match op {
            Op::TupleOf(count) => {
                let all = stack.len() == usize::from(*count) && marks.is_empty();
                (all && here && self.piece.made == Made::TupleOf(*count)).then_some((0, false))
            }
            Op::Tuple | Op::List | Op::FrozenSet | Op::Dict => {
                let [mark] = marks.as_slice() else { return None };
                let of = matches!(self.piece.made, Made::Tuple | Made::List | Made::FrozenSet | Made::Dict);
                (mark.depth == 0 && here && of).then_some((0, pairs))
            }
            Op::Build => None,
            _ => {
                let (target, first) = added(&walk.spans, op)?;
                let fills = match self.piece.made {
                    Made::Object => walk.made,
                    Made::List | Made::Dict | Made::Set => true,
                    _ => false,
                };
                let field = || {
                    let alone = marks.len() == usize::from(*op == Op::SetItems);
                    let dict = stack.get(1).is_some_and(|entry| entry.made == Made::Dict);
                    self.piece.made == Made::Object && target == 1 && pairs && alone && dict
                };
                (fills && (target == 0 || field())).then_some((first, pairs))
            }
        }
    }

    /// A state that is no dict.
    fn state(&self, walk: &Walk, at: u64, out: &mut Vec<Part>) {
        let fills = self.piece.made == Made::Object && walk.made;
        let (Some((0, first)), true) = (added(&walk.spans, &Op::Build), fills) else { return };
        if let Some(entry) = walk.spans.stack.get(first).filter(|entry| entry.made != Made::Dict) {
            out.push(Part::State(piece(walk, entry, None, at)));
        }
    }

    /// Whether the value is made now, or gone.
    fn formed(&self, walk: &mut Walk, at: u64) {
        let SpanStack { stack, marks, wrong, .. } = &walk.spans;
        let before = walk.made;
        if let Some(made_at) = self.piece.made_at {
            walk.made |= at == made_at;
        } else if let ([entry], []) = (stack.as_slice(), marks.as_slice()) {
            walk.made |= entry.made == Made::Object && entry.made_at == at;
        }
        if walk.made && !before {
            walk.made_at = at;
        }
        // Of a value whose end is not known, something else was made, or it was taken.
        let open = self.piece.end == u64::MAX && walk.at > self.piece.start;
        let taken = wrong.is_some_and(|(what, _)| !what.contains("memo"));
        let other = match (self.piece.made, stack.first()) {
            (Made::List | Made::Dict | Made::Set, Some(low)) => low.made != self.piece.made,
            _ => false,
        };
        if open && (taken || other) {
            walk.done = true;
        }
    }

    /// Gives out the first of very many values since a mark.
    fn long(&self, walk: &mut Walk, out: &mut Vec<Part>) {
        let [mark] = walk.spans.marks.as_slice() else { return };
        let (first, len) = (mark.depth, walk.spans.stack.len());
        let (of, pairs) = match self.piece.made {
            Made::Tuple | Made::FrozenSet => (first == 0, false),
            Made::List | Made::Set => (first <= 1, false),
            Made::Dict => (first <= 1, true),
            _ => return,
        };
        if !of || len - first.min(len) < LONG {
            return;
        }
        let end = first + (len - first - LAST) / 2 * 2;
        let at = walk.spans.stack.get(end).map_or(walk.at, |entry| entry.start);
        give(walk, first, end, at, pairs, out);
        walk.spans.stack.drain(first..end);
    }

    /// What was not added yet where the pickle breaks off.
    fn rest(&self, walk: &mut Walk, at: u64, out: &mut Vec<Part>) {
        let before = out.len();
        for part in self.pending(walk, at) {
            out.push(part);
        }
        walk.passed += (out.len() - before) as u64;
    }

    /// What seems to be held by the value, but is not added yet; the last one of it may be in the making.
    pub(super) fn pending(&self, walk: &Walk, at: u64) -> Vec<Part> {
        let SpanStack { stack, marks, .. } = &walk.spans;
        let Some(mark) = marks.first() else { return Vec::new() };
        let field = mark.depth == 2 && stack.get(1).is_some_and(|entry| entry.made == Made::Dict);
        let (fits, pairs) = match self.piece.made {
            Made::Tuple | Made::FrozenSet => (mark.depth == 0, false),
            Made::List | Made::Set => (mark.depth == 1, false),
            Made::Dict => (mark.depth == 1, true),
            Made::Object => (walk.made && field, true),
            _ => (false, false),
        };
        let mut out = Vec::new();
        if fits {
            let end = marks.get(1).map_or(stack.len(), |next| next.depth.min(stack.len()));
            give(walk, mark.depth, end, at, pairs, &mut out);
        }
        out
    }
}

/// The piece of a value on the stack, which ends where the one above it begins.
fn piece(walk: &Walk, entry: &Entry, above: Option<&Entry>, at: u64) -> Piece {
    let (end, ops) = above.map_or((at, walk.spans.ops), |above| (above.start, above.ops));
    Piece {
        start: entry.start,
        end,
        memo: entry.memo,
        ops: ops.saturating_sub(entry.ops),
        made: entry.made,
        made_at: Some(entry.made_at),
    }
}

/// The values from `first` to `end` of the stack, the last of which ends at `at`.
fn give(walk: &Walk, first: usize, end: usize, at: u64, pairs: bool, out: &mut Vec<Part>) {
    let entries = walk.spans.stack.get(first..end).unwrap_or_default();
    let of = |n: usize| Some(piece(walk, entries.get(n)?, entries.get(n + 1), at));
    if pairs {
        let all = (0..entries.len() / 2).filter_map(|n| Some(Part::Entry(of(2 * n)?, of(2 * n + 1)?)));
        out.extend(all);
    } else {
        out.extend((0..entries.len()).filter_map(of).map(Part::Item));
    }
}
