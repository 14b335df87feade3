//! A huge pickle, of which parts are made when somebody looks: where its memo stands at which place of the file, by
//! which any part can be run alone, and what it takes from the memo be found.

use super::machine::{Machine, Pickle};
use super::names::Report;
use super::opcode::{End, Op, Opcodes, Span};
use super::opcode_scan::OpcodeScan;
use super::span_stack::{Entry, Made, SpanStack};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes between places of which the memo's count is kept, and bytes gone over before others get their turn.
pub(super) const STRIDE: u64 = 1 << 16;
pub(super) const TURN: u64 = 1 << 20;
/// Bytes after which what was found is told again.
const SAID: u64 = 32 << 20;
/// Bytes of the file that are held for the walk over its opcodes.
const WINDOW: usize = 1 << 20;
const FIRST: usize = 1 << 13;
/// Opcodes of a value from elsewhere up to which it is made at each place that holds it.
const SMALL: u64 = 1 << 14;
/// Opcodes behind a value from elsewhere in which something has to be added to it, else it is not known where it ends.
const NEAR: u64 = 1 << 12;
/// Kept places of the memo before that of a value at which a walk may begin.
const BACK: usize = 64;
/// Values from elsewhere whose places are remembered.
const REMEMBERED: usize = 1 << 16;

/// The bytes of a huge pickle, and what is known of it by now.
pub(super) struct HugePickle {
    pub(super) bytes: Bytes,
    pub(super) source: Source,
    /// Where it begins.
    pub(super) start: u64,
    /// Whether its bytes come through a window rather than by the map: what is gone over once needs no memory then.
    windowed: bool,
    scan: Mutex<OpcodeScan>,
    pub(super) index: RwLock<Index>,
    remembered: Mutex<HashMap<u64, Known>>,
    told: RwLock<Told>,
}

/// What the walk over all opcodes found by now, for who does not wait.
#[derive(Clone, Default)]
pub(super) struct Told {
    pub(super) report: Arc<Report>,
    pub(super) fault: Option<Error>,
    pub(super) done: bool,
    pub(super) at: u64,
    /// Whether the pickle has an end mark.
    pub(super) whole: bool,
    pub(super) persistent: u64,
    pub(super) opcodes: u64,
    report_at: u64,
}

/// What is known of the pickle as far as it was gone over.
#[derive(Default)]
pub(super) struct Index {
    pub(super) checks: Vec<Check>,
    /// The number of the memo's first place.
    pub(super) first: u64,
    /// Where joblib's arrays end, by where they begin.
    pub(super) inlines: HashMap<u64, u64>,
    /// A place of the memo was filled out of order.
    pub(super) disorder: bool,
    pub(super) reached: u64,
}

/// So many places of the memo are filled here.
#[derive(Clone, Copy)]
pub(super) struct Check {
    pub(super) at: u64,
    pub(super) memo: u64,
}

/// What lies in a place of the memo.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    /// A piece of the file that makes it, and how many places of the memo are filled before.
    Piece {
        start: u64,
        end: u64,
        memo: u64,
    },
    /// It begins here; it is large, or holds who asks.
    Elsewhere(u64, Made),
    Nothing,
}

impl HugePickle {
    /// Of the pickle at `start` of `bytes`, which are the whole of `source`.
    pub(super) fn new(source: &Source, bytes: &Bytes, start: u64) -> Arc<HugePickle> {
        let windowed = !source.is_stream() && bytes.len() as u64 > crate::bytes::source::OWNED;
        Arc::new(HugePickle {
            bytes: bytes.clone(),
            source: source.clone(),
            start,
            windowed,
            scan: Mutex::new(OpcodeScan::new(start)),
            index: RwLock::default(),
            remembered: Mutex::default(),
            told: RwLock::default(),
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Has all opcodes up to this place gone over, or all there are.
    ///
    /// # Errors
    /// `Cancelled`, those of reading.
    pub(super) fn ensure(self: &Arc<Self>, task: &Task, to: u64) -> Result<()> {
        while self.index.read().reached < to {
            let mut scan = self.scan.lock();
            if scan.is_done() {
                break;
            }
            let turn = scan.at().saturating_add(TURN).min(to);
            scan.advance(task, self, turn)?;
            self.tell(&scan);
            let mut index = self.index.write();
            index.reached = if scan.is_done() { u64::MAX } else { scan.at() };
        }
        Ok(())
    }

    /// Goes over opcodes until so many of them were seen; whether there are no more.
    ///
    /// # Errors
    /// `Cancelled`, those of reading.
    pub(super) fn glance(self: &Arc<Self>, task: &Task, opcodes: u64) -> Result<bool> {
        loop {
            let told = self.told();
            if told.done || told.opcodes >= opcodes {
                return Ok(told.done);
            }
            self.ensure(task, told.at.max(self.start).saturating_add(STRIDE))?;
        }
    }

    /// What was found by now.
    pub(super) fn told(&self) -> Told {
        self.told.read().clone()
    }

    fn tell(&self, scan: &OpcodeScan) {
        let (done, at) = (scan.is_done(), scan.at());
        let mut told = self.told.write();
        if done || at >= told.report_at.saturating_add(SAID) || told.report_at == 0 {
            told.report = Arc::new(scan.report(self.len()));
            told.report_at = at;
        }
        (told.done, told.at, told.fault) = (done, at, scan.fault());
        (told.whole, told.persistent, told.opcodes) = (scan.is_whole(), scan.persistent(), scan.opcodes());
    }

    /// Runs a piece of the pickle, before which so many places of the memo are filled: what it makes lies on the stack
    /// of the machine. It makes `most` values at most.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn run(
        self: &Arc<Self>,
        task: &Task,
        piece: Range<u64>,
        memo: u64,
        most: usize,
    ) -> Result<Machine> {
        let start = piece.start as usize;
        let mut machine = Machine::new(&self.bytes, start);
        machine.within(self.clone(), piece.end as usize, memo.saturating_add(self.index.read().first), most);
        machine.run(task, start)?;
        machine.pickle.facts.source = Some((self.source.clone(), 0));
        Ok(machine)
    }

    /// The same, as the pickle of one value.
    pub(super) fn value(
        self: &Arc<Self>,
        task: &Task,
        piece: Range<u64>,
        memo: u64,
        most: usize,
    ) -> Result<Pickle> {
        let mut machine = self.run(task, piece, memo, most)?;
        machine.take_last();
        Ok(machine.pickle)
    }

    /// What lies in a place of the memo, for who stands at `at`.
    ///
    /// # Errors
    /// `Cancelled`, those of reading.
    pub(super) fn memoised(&self, task: &Task, place: u64, at: u64) -> Result<Known> {
        let remembered = self.remembered.lock().get(&place).copied();
        let known = match remembered {
            Some(known) => known,
            None => {
                let known = self.find(task, place)?;
                let mut remembered = self.remembered.lock();
                if remembered.len() >= REMEMBERED {
                    remembered.clear();
                }
                remembered.insert(place, known);
                known
            }
        };
        Ok(match known {
            Known::Piece { start, end, .. } if end > at => Known::Elsewhere(start, Made::Unknown),
            known => known,
        })
    }

    fn find(&self, task: &Task, place: u64) -> Result<Known> {
        let (first, checks, disorder) = {
            let index = self.index.read();
            let filled = place.checked_sub(index.first);
            let near = filled.map_or(0, |filled| index.checks.partition_point(|check| check.memo <= filled));
            let checks: Vec<Check> =
                index.checks.get(near.saturating_sub(BACK)..near).unwrap_or_default().to_vec();
            (index.first, checks, index.disorder)
        };
        if disorder {
            return Ok(Known::Nothing);
        }
        let mut back = 0;
        while let Some(check) = checks.len().checked_sub(back + 1).and_then(|at| checks.get(at)) {
            if let Some((entry, next)) = self.filled(task, *check, first, place)? {
                let memo = entry.memo;
                return Ok(match self.closed(task, entry, next)? {
                    Some(end) if entry.made != Made::Unknown => {
                        Known::Piece { start: entry.start, end, memo }
                    }
                    _ => Known::Elsewhere(entry.start, entry.made),
                });
            }
            back = back * 2 + 1;
        }
        Ok(Known::Nothing)
    }

    /// The value that a place of the memo is filled with, by a walk from a kept place on, and where it goes on; `None`
    /// where the value began before.
    fn filled(&self, task: &Task, check: Check, first: u64, place: u64) -> Result<Option<(Entry, u64)>> {
        let mut spans = SpanStack::within(check.memo, first);
        let mut opcodes = Opcodes { bytes: &self.bytes, at: check.at as usize };
        loop {
            if spans.ops.is_multiple_of(SMALL) {
                task.check()?;
            }
            let at = opcodes.at as u64;
            let Ok(op) = opcodes.next() else { return Ok(None) };
            if op == Op::Stop || spans.memo.saturating_add(first) > place {
                return Ok(None);
            }
            if spans.place(&op) == Some(place) {
                let top = spans.top(0).filter(|entry| entry.made != Made::Unknown);
                return Ok(top.map(|entry| (entry, opcodes.at as u64)));
            }
            spans.step(&op, at, None);
            self.skip(&op, &mut opcodes);
        }
    }

    /// Skips the elements of joblib's arrays.
    fn skip(&self, op: &Op, opcodes: &mut Opcodes<'_>) {
        if *op == Op::Build
            && let Some(end) = self.index.read().inlines.get(&(opcodes.at as u64))
        {
            opcodes.at = *end as usize;
        }
    }

    /// Where a value ends that is complete, or may be added to, at `next`; `None` where that is far.
    fn closed(&self, task: &Task, entry: Entry, next: u64) -> Result<Option<u64>> {
        task.check()?;
        if !matches!(entry.made, Made::List | Made::Dict | Made::Set | Made::Object) {
            return Ok(Some(next));
        }
        let mut spans = SpanStack::within(0, 0);
        spans.stack.push(entry);
        let mut opcodes = Opcodes { bytes: &self.bytes, at: next as usize };
        let (mut end, mut since) = (next, 0);
        while spans.ops < SMALL && since < NEAR {
            let at = opcodes.at as u64;
            let Ok(op) = opcodes.next() else { return Ok(Some(end)) };
            let adds = op != Op::Stop && added(&spans, &op).is_some_and(|(target, _)| target == 0);
            spans.step(&op, at, None);
            spans.disorder = false;
            self.skip(&op, &mut opcodes);
            let there = spans.stack.first().is_some_and(|low| low.made_at == entry.made_at);
            let below = spans.wrong.is_some_and(|(what, _)| !what.contains("memo"));
            if !there || below || op == Op::Stop {
                return Ok(Some(end));
            }
            since += 1;
            if adds {
                (end, since) = (opcodes.at as u64, 0);
            }
        }
        Ok(None)
    }

    /// Where joblib's array behind a `BUILD` that ends at `next` ends, and the run that found it.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn inlined(
        self: &Arc<Self>,
        task: &Task,
        wrapper: &Entry,
        next: u64,
    ) -> Result<(u64, Pickle)> {
        let pickle = self.value(task, wrapper.start..next, wrapper.memo, super::machine::VALUES)?;
        let end = (pickle.end() as u64).max(next);
        if end > next {
            self.index.write().inlines.insert(next, end);
        }
        Ok((end, pickle))
    }
}

/// To which value on the stack an opcode adds something, and which is the first that it adds; `None` for opcodes that
/// add nothing, or to what is not there.
pub(super) fn added(spans: &SpanStack, op: &Op) -> Option<(usize, usize)> {
    let below = |count: usize| {
        let first = spans.stack.len().checked_sub(count)?;
        let floor = spans.marks.last().map_or(0, |mark| mark.depth);
        Some((first.checked_sub(1).filter(|target| *target >= floor)?, first))
    };
    match op {
        Op::Append | Op::Build => below(1),
        Op::SetItem => below(2),
        Op::Appends | Op::AddItems | Op::SetItems => {
            let depth = spans.marks.last()?.depth;
            let floor = spans.marks.iter().rev().nth(1).map_or(0, |mark| mark.depth);
            Some((depth.checked_sub(1).filter(|target| *target >= floor)?, depth))
        }
        _ => None,
    }
}

/// Gives out opcodes one after the other. Those of a mapped file come through a window of its own, so that what was
/// gone over does not stay in memory.
#[derive(Default)]
pub(super) struct Feed {
    window: Vec<u8>,
    base: u64,
    /// The last opcode was taken from the map: its argument is longer than the window.
    mapped: bool,
}

impl Feed {
    /// The opcode at `at`, and where the next one is.
    ///
    /// # Errors
    /// `Cancelled`, those of reading.
    pub(super) fn next(
        &mut self,
        task: &Task,
        huge: &HugePickle,
        at: u64,
    ) -> Result<std::result::Result<(Op, u64), End>> {
        self.mapped = !huge.windowed;
        while !self.mapped {
            let end = self.base.saturating_add(self.window.len() as u64);
            if at >= self.base && at < end {
                let mut opcodes = Opcodes { bytes: &self.window, at: (at - self.base) as usize };
                match opcodes.next() {
                    Err(End::Cut) if at == self.base && end < huge.len() && self.window.len() >= WINDOW => {
                        self.mapped = true;
                        continue;
                    }
                    Err(End::Cut) if end < huge.len() => {}
                    Err(end) => return Ok(Err(end)),
                    Ok(op) => return Ok(Ok((op, self.base + opcodes.at as u64))),
                }
            }
            // Behind a long argument only little is read: another one may follow.
            let near = at >= self.base && at <= end && !self.window.is_empty();
            let want = if near { (self.window.len() * 2).clamp(FIRST, WINDOW) } else { FIRST };
            let len = huge.len().saturating_sub(at).min(want as u64) as usize;
            if len == 0 {
                return Ok(Err(End::Cut));
            }
            self.window.resize(len, 0);
            self.base = at;
            if let Err(error) = huge.source.read_into(task, at, &mut self.window) {
                self.window.clear();
                return Err(error);
            }
        }
        let mut opcodes = Opcodes { bytes: &huge.bytes, at: at as usize };
        Ok(opcodes.next().map(|op| (op, opcodes.at as u64)))
    }

    /// The bytes that are at hand around `at`, and where they begin.
    pub(super) fn held<'a>(&'a self, huge: &'a HugePickle, at: u64) -> Option<(&'a [u8], u64)> {
        if !huge.windowed {
            return Some((&huge.bytes, 0));
        }
        let held = self.base..self.base.saturating_add(self.window.len() as u64);
        held.contains(&at).then_some((self.window.as_slice(), self.base))
    }

    /// The first bytes of the argument of the last opcode.
    pub(super) fn part<'a>(&'a self, huge: &'a HugePickle, span: Span) -> &'a [u8] {
        let all = span.of(if self.mapped { &huge.bytes } else { &self.window });
        all.get(..16).unwrap_or(all)
    }
}

/// What an opcode that cannot be read means for the pickle.
pub(super) fn broken(end: End, at: u64) -> Error {
    let what = match end {
        End::Cut => "a pickle that ends before its end mark; it may be cut off".to_owned(),
        End::Unknown(opcode) => format!("a pickle with the unknown opcode {opcode:#04x}"),
    };
    Error::malformed(what).at(at)
}
