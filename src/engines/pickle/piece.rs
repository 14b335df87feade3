//! The machine on a piece of a huge pickle: what the piece takes from the memo is made where it was put there.

use super::huge::{HugePickle, Known};
use super::machine::{Machine, Value, pairs};
use super::span_stack::Made;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use std::sync::Arc;

/// Values from elsewhere that are made each in the other; what lies deeper is only named.
const FETCHED: usize = 32;

/// A piece of a huge pickle that is run alone.
#[derive(Clone)]
pub(super) struct Piecewise {
    pub(super) huge: Arc<HugePickle>,
    /// Where it ends.
    pub(super) until: usize,
    /// The place of the memo that is filled next.
    pub(super) next: u64,
    /// So many values from elsewhere are being made, each in the other.
    depth: usize,
}

impl Machine {
    /// It runs a piece of a huge pickle that ends at `until`, before which the memo's place `next` is still empty.
    pub(super) fn within(&mut self, huge: Arc<HugePickle>, until: usize, next: u64, most: usize) {
        self.most = most;
        self.piece = Some(Piecewise { huge, until, next, depth: 0 });
    }

    /// The value on top of the stack becomes that which the pickle makes.
    pub(super) fn take_last(&mut self) {
        self.pickle.root = self.stack.last().copied();
    }

    /// A dict or a list of what lies on the stack becomes what the pickle makes.
    pub(super) fn take_all(&mut self, entries: bool, base: u64) {
        let all = std::mem::take(&mut self.stack);
        let value = if entries { Value::Dict(pairs(&all)) } else { Value::List(all) };
        let root = self.add(value);
        self.pickle.root = Some(root);
        self.pickle.facts.base = base;
    }

    /// Takes what another run needs off the machine, and gives it back.
    pub(super) fn set_aside(&mut self) -> impl FnOnce(&mut Machine) + use<> {
        let (stack, marks) = (std::mem::take(&mut self.stack), std::mem::take(&mut self.marks));
        let (memo, piece) = (std::mem::take(&mut self.memo), self.piece.take());
        move |machine| {
            (machine.stack, machine.marks, machine.memo, machine.piece) = (stack, marks, memo, piece)
        }
    }

    /// Takes a value from a place of the memo that was filled outside of the piece that is run.
    pub(super) fn fetch(&mut self, task: &Task, place: u64, at: usize) -> Result<()> {
        let Some(piece) = self.piece.clone() else { return Ok(()) };
        let known = match place < piece.next {
            true => piece.huge.memoised(task, place, at as u64)?,
            false => Known::Nothing,
        };
        match known {
            Known::Nothing => {
                self.wrong("takes a value from an empty place of its memo", at);
                self.push(Value::Opaque);
            }
            Known::Piece { start, end, memo } if piece.depth < FETCHED => {
                let (stack, marks) = (std::mem::take(&mut self.stack), std::mem::take(&mut self.marks));
                let next = memo.saturating_add(piece.huge.index.read().first);
                let inner = Piecewise { until: end as usize, next, depth: piece.depth + 1, ..piece.clone() };
                self.piece = Some(inner);
                let done = self.run(task, start as usize);
                let made = self.stack.last().copied();
                (self.stack, self.marks, self.piece) = (stack, marks, Some(piece));
                done?;
                let made = made.unwrap_or_else(|| self.add(Value::Opaque));
                self.memo.insert(place, made);
                self.stack.push(made);
            }
            Known::Piece { start, .. } => self.elsewhere(place, start, Made::Unknown),
            Known::Elsewhere(start, made) => self.elsewhere(place, start, made),
        }
        Ok(())
    }

    fn elsewhere(&mut self, place: u64, start: u64, made: Made) {
        self.push(Value::Elsewhere(start, made.word()));
        if let Some(&id) = self.stack.last() {
            self.memo.insert(place, id);
        }
    }

    /// The place of the memo that is filled without a number.
    pub(super) fn next_place(&self) -> u64 {
        self.piece.as_ref().map_or(self.memo.len() as u64, |piece| piece.next)
    }

    pub(super) fn put(&mut self, place: u64, at: usize) {
        let last = self.last(at);
        self.memo.insert(place, last);
        if let Some(piece) = &mut self.piece {
            piece.next = piece.next.max(place.saturating_add(1));
        }
    }
}
