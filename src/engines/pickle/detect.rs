//! Whether bytes are a pickle, told by their opcodes. From protocol 2 on a mark says so; older ones begin with any of
//! them, many of which are letters. So they are followed as Python would: each opcode needs what it takes to be on the
//! stack or in the memo, and arguments have to be what they say. Text fails at that within a few characters.

use super::is_pickle;
use super::machine::Pickle;
use super::names::{Report, examined};
use super::opcode::{End, Op, Opcodes, Span};
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::collections::HashSet;

/// Opcodes without a fault that are sign enough where the end is not seen, and where the last byte is the end mark.
const MANY: usize = 32;
const SOME: usize = 8;
/// Opcodes up to an end mark, where something follows it.
const LONE: usize = 12;
/// The same where they end at something that is no opcode.
const BROKEN: usize = 64;

/// Bytes that are looked through for what is called, in a file that is something else.
const DISGUISED: usize = 1 << 18;

/// What the first bytes of a file tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// It is a pickle.
    pub sure: bool,
    /// It is one if its name says so.
    pub likely: bool,
    /// joblib's wrapper around arrays is named in it.
    pub joblib: bool,
}

/// What the first bytes of a file tell, its length and its last byte where they are known.
pub fn beginning(first: &[u8], len: Option<u64>, last: Option<u8>) -> Beginning {
    let marked = matches!(first, [0x80, ..]);
    let mut walk = Walk::new(first);
    let (how, at) = walk.run();
    let whole = len == Some(first.len() as u64);
    let seen = first.get(..at).unwrap_or_default();
    let joblib = |bytes: &[u8]| memchr::memmem::find(bytes, b"joblib.numpy_pickle").is_some();
    let sure = match how {
        // What is imported and called is no text, whatever follows.
        How::Stopped if walk.calls > 0 => true,
        // Short ones are letters and a full stop too, so nothing may follow but another one.
        How::Stopped if !marked => {
            walk.opcodes >= LONE && walk.balanced() || whole && at == first.len() && walk.balanced()
        }
        How::Stopped => true,
        How::Cut => {
            walk.opcodes >= MANY || walk.opcodes >= SOME && last == Some(b'.') || whole && walk.opcodes >= 16
        }
        How::Unknown | How::Wrong => walk.opcodes >= BROKEN,
    };
    let sure = match marked {
        true => is_pickle(first, last) || matches!(first, [0x80, 2..=5, ..]) && sure,
        false => sure,
    };
    let likely = matches!(first, [0x80, _, ..])
        || walk.names > 0
        || how == How::Stopped && walk.opcodes > 1
        || walk.opcodes >= 3;
    // The first array stands soon behind the wrapper's name.
    Beginning { sure: sure || marked && joblib(seen), likely, joblib: (sure || likely) && joblib(first) }
}

/// What loading a file as a pickle would run that is recognised as something else: a picture, an archive, a text whose
/// first bytes are opcodes too. `None` where they are none, or make nothing but plain data.
///
/// # Errors
/// `Cancelled`.
pub fn disguised(task: &Task, source: &Source, first: &Bytes) -> Result<Option<Report>> {
    let mut walk = Walk::new(first);
    let (how, _) = walk.run();
    let calls = walk.calls > 0;
    // What is called may stand behind a long text.
    let bytes = match how {
        How::Cut if source.known_len() != Some(first.len() as u64) => {
            source.read_up_to(task, 0, DISGUISED)?
        }
        How::Stopped | How::Unknown | How::Wrong | How::Cut if calls => first.clone(),
        _ => return Ok(None),
    };
    let mut walk = Walk::new(&bytes);
    walk.run();
    if walk.calls == 0 {
        return Ok(None);
    }
    let report = examined(task, &Pickle::read(task, &bytes, 0)?, 0, 0)?;
    Ok(Some(report).filter(|report| !report.effects.is_empty()))
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// At the end mark.
    Stopped,
    /// At the end of the bytes.
    Cut,
    /// At a byte that is no opcode.
    Unknown,
    /// At an opcode that Python could not follow.
    Wrong,
}

struct Walk<'a> {
    first: &'a [u8],
    depth: usize,
    marks: Vec<usize>,
    memo: HashSet<u64>,
    opcodes: usize,
    names: usize,
    calls: usize,
}

impl<'a> Walk<'a> {
    fn new(first: &'a [u8]) -> Self {
        Walk { first, depth: 0, marks: Vec::new(), memo: HashSet::new(), opcodes: 0, names: 0, calls: 0 }
    }

    /// Follows the opcodes. How that ended, and where.
    fn run(&mut self) -> (How, usize) {
        let mut opcodes = Opcodes { bytes: self.first, at: 0 };
        loop {
            let at = opcodes.at;
            let op = match opcodes.next() {
                Ok(Op::Stop) => {
                    let how = if self.depth > 0 { How::Stopped } else { How::Wrong };
                    return (how, opcodes.at);
                }
                Ok(op) => op,
                Err(End::Cut) => return (How::Cut, at),
                Err(End::Unknown(_)) => return (How::Unknown, at),
            };
            if self.step(op, self.first.get(at).copied().unwrap_or(0)).is_none() {
                return (How::Wrong, at);
            }
            self.opcodes += 1;
        }
    }

    fn balanced(&self) -> bool {
        self.depth == 1 && self.marks.is_empty()
    }

    /// Something is called: what was asked for by name, if anything was.
    fn called(&mut self) {
        self.calls += usize::from(self.names > 0);
    }

    fn text(&self, span: Span) -> &[u8] {
        span.of(self.first)
    }

    /// One step; `None` where it cannot be taken.
    fn step(&mut self, op: Op, opcode: u8) -> Option<()> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let takes = |walk: &mut Self, taken: usize, given: usize| {
            walk.depth = walk.depth.checked_sub(taken).filter(|depth| *depth >= floor)?.checked_add(given)?;
            Some(())
        };
        match op {
            Op::Stop => None,
            // Arguments that cannot be read become nothing.
            Op::Nothing | Op::Frame(_) => (opcode != b'p').then_some(()),
            Op::Opaque => None,
            Op::Mark => {
                self.marks.push(self.depth);
                Some(())
            }
            Op::Pop => match self.marks.last() {
                Some(mark) if *mark == self.depth => self.marks.pop().map(drop),
                _ => takes(self, 1, 0),
            },
            Op::PopMark => {
                self.depth = self.marks.pop()?;
                Some(())
            }
            Op::List | Op::Tuple | Op::Dict | Op::FrozenSet => {
                self.depth = self.marks.pop()? + 1;
                Some(())
            }
            Op::Obj => {
                self.called();
                let mark = self.marks.pop().filter(|mark| *mark < self.depth)?;
                self.depth = mark + 1;
                Some(())
            }
            Op::Inst(module, name) => {
                self.depth = self.marks.pop()? + 1;
                self.named(module, name)?;
                self.called();
                Some(())
            }
            Op::Appends | Op::AddItems | Op::SetItems => {
                self.depth = self.marks.pop().filter(|mark| *mark > 0)?;
                Some(())
            }
            Op::Append | Op::Build => takes(self, 2, 1),
            Op::SetItem => takes(self, 3, 1),
            Op::TupleOf(count) => takes(self, count.into(), 1),
            Op::StackGlobal => {
                self.names += 1;
                takes(self, 2, 1)
            }
            Op::Reduce | Op::NewObj => {
                self.called();
                takes(self, 2, 1)
            }
            Op::NewObjEx => {
                self.called();
                takes(self, 3, 1)
            }
            Op::Dup => takes(self, 1, 2),
            Op::PersistentOnStack => takes(self, 1, 1),
            Op::Get(place) => self.memo.contains(&place).then(|| self.depth += 1),
            Op::Put(place) => {
                self.memo.insert(place);
                (self.depth > floor).then_some(())
            }
            Op::Memoize => {
                self.memo.insert(self.memo.len() as u64);
                (self.depth > floor).then_some(())
            }
            Op::Global(module, name) => {
                self.depth += 1;
                self.named(module, name)
            }
            Op::Digits(_) | Op::Quoted(_) | Op::Persistent(_) => self.argument(op),
            _ => {
                self.depth += 1;
                Some(())
            }
        }
    }

    /// Arguments that have to be what they say: digits, a text in quotes, a name in plain letters.
    fn argument(&mut self, op: Op) -> Option<()> {
        let good = match op {
            Op::Digits(span) => {
                let digits = self.text(span).strip_suffix(b"L").unwrap_or(self.text(span));
                let digits = digits.strip_prefix(b"-").unwrap_or(digits);
                !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
            }
            Op::Quoted(span) => matches!(self.text(span), [b'\'', .., b'\''] | [b'"', .., b'"']),
            Op::Persistent(span) => self.text(span).iter().all(|b| (b' '..0x7f).contains(b)),
            _ => false,
        };
        good.then(|| self.depth += 1)
    }

    /// Module and name have to be words.
    fn named(&mut self, module: Span, name: Span) -> Option<()> {
        let word = |text: &[u8]| {
            !text.is_empty()
                && text
                    .iter()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'<' | b'>'))
        };
        self.names += usize::from(word(self.text(module)) && word(self.text(name)));
        (word(self.text(module)) && word(self.text(name))).then_some(())
    }
}
