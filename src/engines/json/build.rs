//! How the sparse index is made: piece after piece from the front, or by segments on every core.
//!
//! A segment's scan begins with a guess: whether its first byte stands inside a string. The containers that
//! are open there are not known yet, so what it finds of them (commas, closing brackets) is kept in order and
//! settled when the segments are joined. A guess that was wrong, which the state at the end of the segment
//! before tells, costs another scan of the segment and nothing else.

use super::index::Mark;
use super::stage::{self, BLOCK, Masks, State};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::json::token as text;
use crate::engines::delimited::index::fill;
use std::ops::Range;

/// Bytes between two checkpoints; containers below this size have none.
pub(super) const STEP: u64 = 64 << 10;
/// Bytes of a segment: whole blocks.
pub(super) const SEGMENT: u64 = 4 << 20;
/// Bytes of it that are read at a time: they stay in the processor's cache.
const PIECE: u64 = 256 << 10;
/// The deepest nesting that is followed; each level takes 32 bytes of memory.
const DEEPEST: usize = 4 << 20;
/// A segment with more brackets that close or open nothing in it is left to the scan from the front.
const LOOSE: usize = 1 << 12;
/// Lost commas that are kept of a segment, and of what is scanned from the front.
const LOST: usize = 1 << 12;
/// Bytes that the guess looks at.
const GUESSED: usize = 4 << 10;
/// Bytes of backslashes that are followed back.
const BACKSLASHES: u64 = 64;

/// What breaks the nesting, and where.
pub(super) type StructureError = (u64, Error);

/// What was found.
pub(super) enum Found {
    /// A checkpoint in the container that begins at this byte.
    Mark(u64, Mark),
    /// A large container ended.
    End {
        start: u64,
        end: u64,
        /// How many children, where that is certain.
        children: Option<u64>,
    },
    /// In a segment: a checkpoint, unless another one is near, in the innermost container that was open before;
    /// children are counted from the segment's begin, or from where the last one that was open there ended.
    Outer(Mark),
    /// In the container that begins at `start` no comma stands between the child before and the one that
    /// begins with the bracket at `at`.
    Lost { start: u64, at: u64 },
    /// The same in a segment, in the innermost container that was open before.
    OuterLost(u64),
    /// In a segment: the innermost container that was open before ends behind this byte.
    Close { at: u64, commas: u64, object: bool, filled: Option<bool> },
}

/// A container that is open.
pub(super) struct Frame {
    pub(super) start: u64,
    commas: u64,
    /// Its last mark, or its start.
    last: u64,
    object: bool,
}

/// The machine that goes over the bytes.
pub(super) struct Builder {
    pub(super) at: u64,
    state: State,
    pub(super) stack: Vec<Frame>,
    /// One where a closing bracket was the last of commas and brackets, else zero.
    behind: u64,
    /// How many lost commas were kept, and the container of the last one.
    noted: usize,
    noted_in: Option<(u64, usize)>,
    /// In a segment: the lowest frame stands for containers that were open before.
    loose: bool,
    closed: usize,
}

/// What a segment's scan found.
pub(super) struct Segment {
    pub(super) range: Range<u64>,
    /// The guess.
    begin: State,
    /// Where its first bracket or comma is, if that is an opening bracket.
    opens: Option<u64>,
    /// The state at its end, and the frames; `None` where it has to be scanned anew.
    end: Option<(State, Vec<Frame>)>,
    behind: u64,
    found: Vec<Found>,
}

impl Builder {
    /// At the beginning of a text.
    pub(super) fn new(at: u64) -> Builder {
        Builder {
            at,
            state: State::default(),
            stack: Vec::new(),
            behind: 0,
            noted: 0,
            noted_in: None,
            loose: false,
            closed: 0,
        }
    }

    /// Goes over the next bytes: whole blocks, unless the text ends with them. The error says what breaks the
    /// nesting, and where.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        found: &mut Vec<Found>,
    ) -> std::result::Result<(), StructureError> {
        let (mut state, known) = (self.state, found.len());
        let mut feeding = Feeding { builder: self, bytes, found, result: Ok(()) };
        stage::scan(&mut state, bytes, &mut feeding);
        let result = feeding.result;
        self.state = state;
        self.at += bytes.len() as u64;
        self.doubt(found.get_mut(known..).unwrap_or_default());
        result
    }

    /// Behind a comment nothing is certain of what stands before a bracket.
    fn doubt(&self, found: &mut [Found]) {
        if self.state.is_commented() {
            for found in found {
                match found {
                    Found::End { children, .. } => *children = None,
                    Found::Close { filled, .. } => *filled = None,
                    Found::Mark(..) | Found::Outer(_) | Found::Lost { .. } | Found::OuterLost(_) => {}
                }
            }
        }
    }

    /// `base` is the place of the first of `bytes`, `offset` that of the block in them.
    #[inline(always)]
    fn block(
        &mut self,
        base: u64,
        bytes: &[u8],
        offset: usize,
        masks: Masks,
        found: &mut Vec<Found>,
    ) -> std::result::Result<(), StructureError> {
        let lost = self.lost(masks);
        let mut commas = masks.comma;
        let mut brackets = masks.open | masks.close;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            brackets ^= bit;
            let before = commas & (bit - 1);
            if before != 0 {
                self.count(base + offset as u64, before, found);
                commas ^= before;
            }
            let place = offset + bit.trailing_zeros() as usize;
            let (at, byte) = (base + place as u64, bytes.get(place).copied().unwrap_or_default());
            if masks.open & bit != 0 {
                if lost & bit != 0 {
                    self.note(at, found);
                }
                if self.stack.len() >= DEEPEST {
                    return Err((at, Error::limit(format!("more than {DEEPEST} levels of JSON"))));
                }
                self.stack.push(Frame { start: at, commas: 0, last: at, object: byte == b'{' });
                continue;
            }
            let object = byte == b'}';
            match self.stack.pop() {
                Some(frame) if self.loose && self.stack.is_empty() => {
                    let filled = filled(bytes.get(..place).unwrap_or_default());
                    found.push(Found::Close { at, commas: frame.commas, object, filled });
                    self.closed += 1;
                    self.stack.push(Frame { commas: 0, last: 0, ..frame });
                }
                Some(frame) if frame.object == object => {
                    if at - frame.start >= STEP {
                        let filled = filled(bytes.get(..place).unwrap_or_default());
                        found.push(frame.end(at, frame.commas, filled));
                    }
                }
                Some(frame) => {
                    let words = closes(&frame, object);
                    self.stack.push(frame);
                    return Err((at, words));
                }
                None => {
                    return Err((
                        at,
                        Error::malformed(format!("JSON: {:?} closes nothing", char::from(byte))),
                    ));
                }
            }
        }
        if commas != 0 {
            self.count(base + offset as u64, commas, found);
        }
        Ok(())
    }

    /// The opening brackets that follow a closing one without a comma between them. A bit behind each closing
    /// bracket is added to ones where neither bracket nor comma is: it runs up to the next one of them.
    #[inline(always)]
    fn lost(&mut self, masks: Masks) -> u64 {
        let structure = masks.open | masks.close | masks.comma;
        let (run, over) = (masks.close << 1 | self.behind).overflowing_add(!structure);
        self.behind = masks.close >> 63 | u64::from(over);
        run & masks.open
    }

    /// Keeps a lost comma, the first of a container. What stands behind the end of the text is no child of
    /// anything.
    #[cold]
    fn note(&mut self, at: u64, found: &mut Vec<Found>) {
        let Some(frame) = self.stack.last() else { return };
        let container = Some((frame.start, self.closed));
        if self.noted_in == container || self.noted == LOST {
            return;
        }
        (self.noted, self.noted_in) = (self.noted + 1, container);
        let outer = self.loose && self.stack.len() == 1;
        found.push(if outer { Found::OuterLost(at) } else { Found::Lost { start: frame.start, at } });
    }

    /// Counts commas of the innermost container; one far from its last mark becomes a mark.
    #[inline(always)]
    fn count(&mut self, base: u64, commas: u64, found: &mut Vec<Found>) {
        let loose = self.loose && self.stack.len() == 1;
        let Some(frame) = self.stack.last_mut() else { return };
        if base + BLOCK as u64 >= frame.last + STEP {
            let at = base + u64::from(commas.trailing_zeros()) + 1;
            if at >= frame.last + STEP {
                frame.last = at;
                let mark = Mark { child: frame.commas + 1, at };
                found.push(if loose { Found::Outer(mark) } else { Found::Mark(frame.start, mark) });
            }
        }
        frame.commas += u64::from(commas.count_ones());
    }

    /// Joins the next segment. `None` where it has to be fed, since its guess was wrong or it breaks the
    /// nesting; else what it found.
    pub(super) fn join(&mut self, segment: &mut Segment) -> Option<Vec<Found>> {
        if self.at != segment.range.start || !self.state.is_like(&segment.begin) || !self.fits(segment) {
            return None;
        }
        let (state, frames) = segment.end.take()?;
        let mut found = Vec::with_capacity(segment.found.len());
        if let Some(at) = segment.opens.filter(|_| self.behind != 0) {
            self.note(at, &mut found);
        }
        self.behind = segment.behind;
        self.state = state.behind(&self.state);
        for event in segment.found.drain(..) {
            match event {
                Found::Outer(mark) => {
                    let Some(frame) = self.stack.last_mut() else { continue };
                    if mark.at >= frame.last + STEP {
                        frame.last = mark.at;
                        let child = frame.commas + mark.child;
                        found.push(Found::Mark(frame.start, Mark { child, at: mark.at }));
                    }
                }
                Found::Close { at, commas, filled, .. } => {
                    let Some(frame) = self.stack.pop() else { continue };
                    if at - frame.start >= STEP {
                        found.push(frame.end(at, frame.commas + commas, filled));
                    }
                }
                Found::OuterLost(at) => self.note(at, &mut found),
                inner @ (Found::End { .. } | Found::Mark(..) | Found::Lost { .. }) => found.push(inner),
            }
        }
        for (n, frame) in frames.into_iter().enumerate() {
            match self.stack.last_mut() {
                Some(outer) if n == 0 => outer.commas += frame.commas,
                None if n == 0 => {}
                _ => self.stack.push(frame),
            }
        }
        self.at = segment.range.end;
        self.doubt(&mut found);
        Some(found)
    }

    /// Whether a segment's closing brackets close what is open here.
    fn fits(&self, segment: &Segment) -> bool {
        let mut open = self.stack.iter().rev();
        let closed = segment.found.iter().all(|found| match found {
            Found::Close { object, .. } => open.next().is_some_and(|frame| frame.object == *object),
            _ => true,
        });
        let more = segment.end.as_ref().map_or(0, |(_, frames)| frames.len());
        closed && self.stack.len() + more <= DEEPEST
    }

    /// What is open, now that the text has ended.
    pub(super) fn open_at_end(&self) -> Option<Error> {
        let inside = match (self.stack.len(), &self.state) {
            (_, state) if state.is_in_string() => "a string".to_owned(),
            (_, state) if state.is_in_comment() => "a comment".to_owned(),
            (0, _) => return None,
            (1, _) => "a container".to_owned(),
            (n, _) => format!("{n} containers"),
        };
        Some(Error::malformed(format!("JSON: the text ends inside {inside}; it may be cut off")))
    }
}

/// A builder and the bytes that it goes over.
struct Feeding<'a> {
    builder: &'a mut Builder,
    bytes: &'a [u8],
    found: &'a mut Vec<Found>,
    result: std::result::Result<(), StructureError>,
}

impl stage::Visit for Feeding<'_> {
    #[inline(always)]
    fn block(&mut self, offset: usize, masks: Masks) -> bool {
        self.result = self.builder.block(self.builder.at, self.bytes, offset, masks, self.found);
        self.result.is_ok()
    }
}

impl Frame {
    /// It ends: `filled` says whether a value stands behind its last comma.
    fn end(&self, at: u64, commas: u64, filled: Option<bool>) -> Found {
        let children = filled.map(|filled| commas + u64::from(filled));
        Found::End { start: self.start, end: at + 1, children }
    }
}

fn closes(frame: &Frame, object: bool) -> Error {
    let (open, closing) = (if frame.object { '{' } else { '[' }, if object { '}' } else { ']' });
    Error::malformed(format!("JSON: {closing:?} closes a {open:?}"))
}

/// Whether a value stands between the last comma and a closing bracket, by what stands before the bracket;
/// `None` where only white space does.
#[cold]
fn filled(before: &[u8]) -> Option<bool> {
    let last = before.iter().rev().find(|byte| !text::is_space(**byte))?;
    Some(!matches!(last, b',' | b'[' | b'{'))
}

/// Scans one segment, whatever stands before it.
pub(super) fn segment(
    task: &Task,
    source: &Source,
    range: Range<u64>,
    buffer: &mut Vec<u8>,
) -> Result<Segment> {
    let escaped = escaped(task, source, range.start)?;
    let (mut begin, mut found, mut at) = (State::default(), Vec::new(), range.start);
    let outer = Frame { start: range.start, commas: 0, last: 0, object: false };
    let mut builder = Builder { stack: vec![outer], loose: true, ..Builder::new(range.start) };
    let (mut broken, mut first) = (false, First::default());
    while at < range.end && !broken {
        let n = fill(source, task, at, buffer, (range.end - at).min(PIECE) as usize)?;
        let bytes = buffer.get(..n).filter(|bytes| !bytes.is_empty());
        let Some(bytes) = bytes else { break };
        if at == range.start {
            begin = State::new(guess(bytes, escaped), escaped);
            builder.state = begin;
            let mut state = begin;
            stage::scan(&mut state, bytes, &mut first);
        }
        broken = builder.feed(bytes, &mut found).is_err();
        broken |= builder.closed > LOOSE || builder.stack.len() > LOOSE;
        at += n as u64;
    }
    let (opens, behind) = (first.0.map(|offset| range.start + offset as u64), builder.behind);
    let end = (!broken && at == range.end).then_some((builder.state, builder.stack));
    Ok(Segment { range, begin, opens, end, behind, found })
}

/// Looks for the first bracket or comma, and keeps its place if it opens.
#[derive(Default)]
struct First(Option<usize>);

impl stage::Visit for First {
    #[inline(always)]
    fn block(&mut self, offset: usize, masks: Masks) -> bool {
        let structure = masks.open | masks.close | masks.comma;
        let opens = masks.open & structure & structure.wrapping_neg() != 0;
        self.0 = opens.then(|| offset + structure.trailing_zeros() as usize);
        structure == 0
    }
}

/// Whether the byte at `at` stands behind a backslash that is not escaped itself.
fn escaped(task: &Task, source: &Source, at: u64) -> Result<bool> {
    let from = at.saturating_sub(BACKSLASHES);
    let before = source.read(task, from..at)?;
    Ok(before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1)
}

/// Whether a text more likely begins inside of a string: by what would then stand outside of strings. Behind
/// a string comes a comma, a colon or a closing bracket; everywhere only what numbers and words are made of.
fn guess(bytes: &[u8], mut escaped: bool) -> bool {
    // What is odd if the bytes stand as they do here, and if they stand the other way round.
    let (mut odd, mut other) = (0u32, 0u32);
    let (mut turned, mut behind) = (false, false);
    for &byte in bytes.iter().take(GUESSED) {
        if std::mem::take(&mut escaped) {
            odd += 1;
            continue;
        }
        match byte {
            b'"' => {
                // Two quotes in a row are no end of a string and a beginning.
                odd += if behind { 8 } else { 0 };
                (odd, other) = (other, odd);
                (turned, behind) = (!turned, true);
            }
            b'\\' => {
                odd += if std::mem::take(&mut behind) { 8 } else { 1 };
                escaped = true;
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b',' | b':' | b']' | b'}' | b'/' => behind = false,
            _ if behind => {
                odd += 8;
                behind = false;
            }
            b'[' | b'{' | b'0'..=b'9' | b'+' | b'-' | b'.' => {}
            b'a' | b'e' | b'f' | b'i' | b'l' | b'n' | b'r' | b's' | b't' | b'u' | b'y' => {}
            b'E' | b'I' | b'N' => {}
            _ => odd += 1,
        }
    }
    if turned { other > odd } else { odd > other }
}
