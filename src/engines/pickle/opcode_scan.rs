//! The walk over all opcodes of a huge pickle, a turn at a time: what it would import and call, how its memo fills.
//! Values are made only of what is suspect, so its memory does not grow with the file.

use super::common_opcodes::CommonOpcodes;
use super::frame::Frame;
use super::huge::{Check, Feed, HugePickle, STRIDE, added, broken};
use super::inline::{CLASS, JOBLIB, literal};
use super::machine::Pickle;
use super::names::{CALL, CALLS, Report, Verdict, inner, is_plain};
use super::opcode::{Op, Span};
use super::span_stack::{Entry, Made, NAMELESS, SpanStack};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Values that are made of a call, of a name.
const CALLED: usize = 1 << 16;
const NAMED: usize = 1 << 12;
/// Bytes of the two words of a name.
const WORDS: u64 = 1 << 20;
/// Different names that are told apart.
const NAMES: usize = 1 << 18;
/// Places of the memo that are remembered for what lies in them.
const PLACES: usize = 1 << 20;
/// The first places, in which most names lie, are a list.
const LOW: usize = 1 << 16;
/// Values of a pickle with joblib's arrays, read as `pickle.load` would.
const LITERAL: usize = 1 << 20;

/// How far the walk is, and what was found.
pub(super) struct OpcodeScan {
    start: u64,
    at: u64,
    spans: SpanStack,
    frame: Frame,
    feed: Feed,
    checked: u64,
    /// All names, and whether each is known to make plain data and whether it is joblib's wrapper.
    names: Vec<(String, String)>,
    kinds: Vec<(bool, bool)>,
    numbers: HashMap<(String, String), u32>,
    /// What lies in places of the memo: names, and what may be a pickle within the pickle.
    low: Vec<u32>,
    globals: HashMap<u64, u32>,
    inner: HashSet<u64>,
    /// Where something last was that may be a pickle within the pickle.
    last_inner: Option<u64>,
    report: Report,
    /// Calls of what is not the name of anything.
    nameless: Vec<String>,
    persistent: u64,
    inlined: bool,
    done: bool,
    /// The end mark was met. What follows is looked into then, also where no value lies before it.
    ended: bool,
    fault: Option<Error>,
}

impl OpcodeScan {
    pub(super) fn new(start: u64) -> OpcodeScan {
        OpcodeScan {
            start,
            at: start,
            spans: SpanStack::default(),
            frame: Frame::default(),
            feed: Feed::default(),
            checked: start,
            names: Vec::new(),
            kinds: Vec::new(),
            numbers: HashMap::new(),
            low: Vec::new(),
            globals: HashMap::new(),
            inner: HashSet::new(),
            last_inner: None,
            report: Report::default(),
            nameless: Vec::new(),
            persistent: 0,
            inlined: false,
            done: false,
            ended: false,
            fault: None,
        }
    }

    /// Where it goes on; behind the end mark where it is done.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Opcodes that it went over.
    pub(super) fn opcodes(&self) -> u64 {
        self.spans.ops
    }

    /// Whether the pickle has an end mark.
    pub(super) fn is_whole(&self) -> bool {
        self.ended
    }

    pub(super) fn persistent(&self) -> u64 {
        self.persistent
    }

    /// What was found by now; where not all was gone over it says so.
    pub(super) fn report(&self, len: u64) -> Report {
        let mut report = self.report.clone();
        if !report.effects.is_empty() {
            let room = CALLS.saturating_sub(report.calls.len());
            report.calls.extend(self.nameless.iter().take(room).cloned());
        }
        if let Some(fault) = &self.fault {
            report.incomplete(fault.clone());
        }
        if !self.done {
            let (seen, all) = (crate::bytes::display::bytes(self.at), crate::bytes::display::bytes(len));
            let why = format!("not all of it was looked into yet: {seen} of {all}");
            report.incomplete(Error::limit(why));
        }
        report
    }

    /// Goes on up to `to`, or to the end.
    ///
    /// # Errors
    /// `Cancelled`, those of reading.
    pub(super) fn advance(&mut self, task: &Task, huge: &Arc<HugePickle>, to: u64) -> Result<()> {
        let mut steps = 0u32;
        while !self.done && self.at < to {
            if steps.is_multiple_of(1 << 14) {
                task.check()?;
            }
            steps = steps.wrapping_add(1);
            self.pass_common(huge, to);
            if self.at < to {
                self.step(task, huge)?;
            }
        }
        Ok(())
    }

    /// Passes what nobody has to look at.
    fn pass_common(&mut self, huge: &HugePickle, to: u64) {
        let Some((bytes, base)) = self.feed.held(huge, self.at) else { return };
        let frame = self.frame.end_after(self.at);
        let stop = self.checked.min(to).min(frame.unwrap_or(u64::MAX));
        let common = CommonOpcodes {
            stop: stop.saturating_sub(base) as usize,
            marks: 0,
            low: &self.low,
            careful: self.spans.disorder || !self.globals.is_empty() || !self.inner.is_empty(),
            inner: self.last_inner.map_or(0, |inner| inner.saturating_add(1)),
        };
        let at = self.spans.common(bytes, base, self.at.saturating_sub(base) as usize, &common);
        self.at = base + at as u64;
        // The loop ends at the first opcode that does not begin in the frame.
        if frame.is_some_and(|end| end < self.at) {
            self.report.torn();
        }
    }

    fn step(&mut self, task: &Task, huge: &Arc<HugePickle>) -> Result<()> {
        let at = self.at;
        let (op, next) = match self.feed.next(task, huge, at)? {
            Ok(step) => step,
            Err(end) => {
                self.fault.get_or_insert(broken(end, at));
                return self.finish(task, huge);
            }
        };
        if self.frame.is_torn(&op, at, next) {
            self.report.torn();
        }
        if at >= self.checked && self.spans.place(&op).is_none() {
            let memo = self.spans.memo;
            let mut index = huge.index.write();
            index.checks.push(Check { at, memo });
            index.first = self.spans.first.unwrap_or(0);
            self.checked = at.saturating_add(STRIDE);
        }
        if op == Op::Stop {
            self.at = next;
            self.ended = true;
            if self.spans.top(0).is_none() {
                self.spans.err("takes a value from its empty stack", at);
            }
            return self.finish(task, huge);
        }
        let tag = self.tag(task, huge, &op, at..next)?;
        let rest = huge.bytes.get(next as usize..).unwrap_or_default();
        if tag.is_some_and(|tag| self.kind(tag).1) && !is_made_plainly(rest) {
            self.report.wrapped();
        }
        self.watch(task, huge, &op, tag, at..next)?;
        let wrapper = match op {
            Op::Build => {
                self.spans.top(1).filter(|entry| entry.made == Made::Object && self.kind(entry.tag).1)
            }
            _ => None,
        };
        let place = self.spans.place(&op);
        self.spans.step(&op, at, tag);
        if let Some(place) = place {
            self.fill(huge, place);
        }
        self.at = next;
        if let Some(wrapper) = wrapper {
            let (end, pickle) = huge.inlined(task, &wrapper, next)?;
            self.at = end;
            self.inlined |= end > next;
            self.whole(task, &pickle)?;
        }
        Ok(())
    }

    /// The number of the name in a place of the memo.
    fn global(&self, place: u64) -> Option<u32> {
        match self.low.get(usize::try_from(place).unwrap_or(usize::MAX)) {
            Some(number) => Some(*number).filter(|number| *number != NAMELESS),
            None if self.globals.is_empty() => None,
            None => self.globals.get(&place).copied(),
        }
    }

    /// A name's kind: whether it makes plain data, and whether it is joblib's wrapper.
    fn kind(&self, tag: u32) -> (bool, bool) {
        self.kinds.get(tag as usize).copied().unwrap_or((false, false))
    }

    /// The number of the name that an opcode asks for.
    fn tag(
        &mut self,
        task: &Task,
        huge: &Arc<HugePickle>,
        op: &Op,
        piece: Range<u64>,
    ) -> Result<Option<u32>> {
        let from = match op {
            Op::Get(place) => return Ok(self.global(*place)),
            Op::Extension(code) => {
                self.name("copyreg", &format!("extension {code}"));
                return Ok(None);
            }
            Op::NextBuffer => return Ok(None),
            Op::Persistent(_) | Op::PersistentOnStack => {
                self.persistent += 1;
                return Ok(None);
            }
            Op::Global(..) | Op::Inst(..) => (piece.start, self.spans.memo),
            Op::StackGlobal => {
                let Some((module, name)) = self.spans.top(1).zip(self.spans.top(0)) else {
                    return Ok(Some(self.name("?", "?")));
                };
                // Of a memo out of order nobody knows what lies where.
                let known = |entry: Entry| {
                    entry.made == Made::Plain || entry.made != Made::Unknown && !self.spans.disorder
                };
                if !known(module) || !known(name) || piece.end.saturating_sub(module.start) > WORDS {
                    return Ok(Some(self.name("?", "?")));
                }
                (module.start, module.memo)
            }
            _ => return Ok(None),
        };
        let most = if piece.end - from.0 > WORDS { 1 } else { NAMED };
        let machine = match op {
            // Its arguments lie before it.
            Op::Inst(..) => huge.run(task, piece, from.1, most)?,
            _ => huge.run(task, from.0..piece.end, from.1, most)?,
        };
        let last = machine.pickle.globals().last().cloned();
        let made = machine.stack.last().and_then(|id| machine.pickle.global(*id));
        let (module, name) = match (made, &last) {
            (Some((module, name)), _) => (module.to_owned(), name.to_owned()),
            (None, Some((module, name))) if matches!(op, Op::Inst(..)) => (module.clone(), name.clone()),
            _ => ("?".to_owned(), "?".to_owned()),
        };
        Ok(Some(self.name(&module, &name)))
    }

    /// A name's number; it is judged the first time.
    fn name(&mut self, module: &str, name: &str) -> u32 {
        let key = (module.to_owned(), name.to_owned());
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.report.add(module, name);
        if self.names.len() >= NAMES {
            self.report.incomplete(Error::limit(format!("it asks for more than {NAMES} different names")));
            return NAMELESS;
        }
        let number = self.names.len() as u32;
        let joblib = JOBLIB.contains(&module) && name == CLASS;
        self.names.push(key.clone());
        self.kinds.push((is_plain(module, name), joblib));
        self.numbers.insert(key, number);
        number
    }

    /// A place of the memo was filled with what lies on top.
    fn fill(&mut self, huge: &Arc<HugePickle>, place: u64) {
        if self.spans.disorder {
            if !huge.index.read().disorder {
                huge.index.write().disorder = true;
                self.globals.clear();
                self.low.clear();
                let why = "a pickle whose memo is not filled in order: what it takes from there is not known";
                self.report.incomplete(Error::unsupported(why).at(self.at));
            }
            return;
        }
        let Some(top) = self.spans.top(0) else { return };
        if top.made == Made::Global && top.tag != NAMELESS {
            let near = usize::try_from(place).ok().filter(|place| *place < LOW);
            match near {
                Some(place) => {
                    self.low.resize(self.low.len().max(place + 1), NAMELESS);
                    if let Some(low) = self.low.get_mut(place) {
                        *low = top.tag;
                    }
                }
                None if self.globals.len() < PLACES => drop(self.globals.insert(place, top.tag)),
                None => {}
            }
        }
        if self.last_inner.is_some_and(|inner| inner >= top.start) {
            if self.inner.len() >= PLACES {
                self.report.incomplete(Error::limit(format!("more than {PLACES} pickles may lie in it")));
                return;
            }
            self.inner.insert(place);
        }
    }

    /// Looks at what is called, what is changed, and what may be a pickle within the pickle.
    fn watch(
        &mut self,
        task: &Task,
        huge: &Arc<HugePickle>,
        op: &Op,
        tag: Option<u32>,
        piece: Range<u64>,
    ) -> Result<()> {
        let class = match op {
            Op::Bytes(span) | Op::ByteArray(span) | Op::OldText(span) | Op::Text(span) => {
                self.may_be_pickle(huge, *span, piece.start);
                return Ok(());
            }
            Op::Escaped(span) | Op::Quoted(span) => {
                self.may_be_pickle(huge, *span, piece.start);
                return Ok(());
            }
            Op::Get(place) => {
                if !self.inner.is_empty() && self.inner.contains(place) {
                    self.last_inner = Some(piece.start);
                }
                return Ok(());
            }
            Op::Append | Op::Build | Op::SetItem | Op::Appends | Op::AddItems | Op::SetItems => {
                self.changed(op);
                return Ok(());
            }
            Op::Reduce | Op::NewObj => self.spans.top(1),
            Op::NewObjEx => self.spans.top(2),
            Op::Obj => self.spans.marks.last().and_then(|mark| self.spans.stack.get(mark.depth)).copied(),
            Op::Inst(..) if tag.is_some_and(|tag| self.kind(tag).0) => return Ok(()),
            Op::Inst(..) => None,
            _ => return Ok(()),
        };
        if class.is_some_and(|class| class.made == Made::Global && self.kind(class.tag).0) {
            return Ok(());
        }
        let mark = self.spans.marks.last().filter(|_| matches!(op, Op::Obj | Op::Inst(..)));
        let start = mark.map(|mark| mark.at).or(class.map(|class| class.start));
        let memo = class.map_or(self.spans.memo, |class| class.memo);
        let Some(start) = start else { return Ok(()) };
        self.called(task, huge, start..piece.end, memo, class.is_none_or(|class| class.made == Made::Global))
    }

    /// A call of what is not known to make plain data.
    fn called(
        &mut self,
        task: &Task,
        huge: &Arc<HugePickle>,
        piece: Range<u64>,
        memo: u64,
        named: bool,
    ) -> Result<()> {
        let listed = self.report.calls.len() + self.nameless.len() < CALLS;
        let holds = self.last_inner.is_some_and(|inner| inner >= piece.start);
        if !listed && !holds {
            return Ok(());
        }
        let pickle = huge.value(task, piece.clone(), memo, CALLED)?;
        if listed && let Some(root) = pickle.root() {
            let call = pickle.brief(root, CALL);
            if named { &mut self.report.calls } else { &mut self.nameless }.push(call);
        }
        if !holds {
            return Ok(());
        }
        if pickle.len() >= CALLED {
            let why = format!("a call with more than {CALLED} values, which may hold a pickle");
            self.report.incomplete(Error::limit(why).at(piece.start));
        }
        self.report.merge(inner(task, &pickle, 0)?);
        Ok(())
    }

    /// All that a part asks for that was made whole.
    fn whole(&mut self, task: &Task, pickle: &Pickle) -> Result<()> {
        for (module, name) in pickle.globals() {
            self.name(module, name);
        }
        let mut report = Report::of(pickle);
        report.calls.clear();
        if report.verdict != Verdict::Safe {
            report.merge(inner(task, pickle, 0)?);
        }
        self.report.merge(report);
        Ok(())
    }

    /// The first bytes of what may be a pickle: bytes, or a text that stands for bytes.
    fn may_be_pickle(&mut self, huge: &HugePickle, span: Span, at: u64) {
        let part = self.feed.part(huge, span);
        if matches!(
            part,
            [0x80, ..]
                | [0xc2, 0x80, ..]
                | [b'\\', b'u' | b'x' | b'U', ..]
                | [b'\'' | b'"', b'\\' | 0x80, ..]
        ) {
            self.last_inner = Some(at);
        }
    }

    /// What was imported is changed in place.
    fn changed(&mut self, op: &Op) {
        let target = added(&self.spans, op).and_then(|(target, _)| self.spans.stack.get(target));
        if let Some(target) = target.filter(|target| target.made == Made::Global) {
            let (module, name) = self.names.get(target.tag as usize).cloned().unwrap_or_default();
            self.report.changed(&module, &name);
        }
    }

    fn finish(&mut self, task: &Task, huge: &Arc<HugePickle>) -> Result<()> {
        if self.inlined {
            let (found, cut) = literal(task, &huge.bytes, self.start as usize, LITERAL)?;
            for (module, name) in found {
                self.name(&module, &name);
            }
            if cut {
                let why = "more of its arrays could be opcodes than was looked into";
                self.report.incomplete(Error::limit(why));
            }
        }
        if let Some((what, at)) = self.spans.wrong {
            self.fault.get_or_insert(Error::malformed(format!("a pickle that {what}")).at(at));
        }
        self.feed = Feed::default();
        self.done = true;
        let mut index = huge.index.write();
        index.first = self.spans.first.unwrap_or(0);
        Ok(())
    }

    /// What is wrong with the pickle, as far as it is known.
    pub(super) fn fault(&self) -> Option<Error> {
        self.fault.clone()
    }
}

/// Whether the opcodes behind the class of joblib's wrappers make one as joblib does: it is put into the memo, an object
/// is made of it without arguments and filled with a dict.
fn is_made_plainly(rest: &[u8]) -> bool {
    let Some(rest) = memoised(rest).strip_prefix(b")") else { return false };
    let Some(rest) = framed(rest).strip_prefix(&[0x81]) else { return false };
    memoised(rest).first() == Some(&b'}')
}

/// What follows the mark of a frame, where one is there.
fn framed(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(&[0x95]).and_then(|rest| rest.get(8..)).unwrap_or(rest)
}

/// What follows the opcode that puts a value into the memo, where one is there.
fn memoised(rest: &[u8]) -> &[u8] {
    framed(match framed(rest) {
        [0x94, rest @ ..] | [b'q', _, rest @ ..] | [b'r', _, _, _, _, rest @ ..] => rest,
        [b'p', rest @ ..] => {
            memchr::memchr(b'\n', rest).and_then(|end| rest.get(end + 1..)).unwrap_or_default()
        }
        rest => rest,
    })
}
