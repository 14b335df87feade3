//! The sparse index: where large containers begin and end, and in each of them a checkpoint every 64 KiB.
//! Small containers are not in it; their end is found by a scan of at most that much. It grows as far as
//! somebody asks and takes about 16 bytes for each 64 KiB of the file.

use super::stage::{self, BLOCK, State};
use crate::error::{Error, Result};
use crate::lines::encoding::{self, Detected};
use crate::lines::index::fill;
use crate::source::Source;
use crate::task::Task;
use encoding_rs::UTF_8;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes between two checkpoints; containers below this size have none.
const STEP: u64 = 64 << 10;
/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// The most containers that are kept; with more, those that end later are found by scanning.
const MOST: usize = 1 << 20;
/// The deepest nesting that is followed; each level takes 32 bytes of memory.
const DEEPEST: usize = 4 << 20;
/// Bytes of the beginning that tell the encoding.
const HEAD: usize = 4 << 10;

/// A JSON text in a source.
pub struct Document {
    source: Source,
    start: u64,
    /// The encoding of the file, where it is not UTF-8: places are then those in the text as UTF-8.
    foreign: Option<String>,
    index: Mutex<Known>,
    building: Mutex<Builder>,
}

/// A place for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: u64,
    /// Character in the line, from 1.
    pub column: u64,
}

/// How a container ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Behind its closing bracket.
    At(u64),
    /// It is not closed: the text ends, or breaks, here.
    Broken(u64),
}

impl End {
    /// The place.
    pub fn place(self) -> u64 {
        match self {
            End::At(at) | End::Broken(at) => at,
        }
    }
}

/// A place inside a container: behind a comma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The child that begins here.
    pub child: u64,
    /// The byte.
    pub at: u64,
}

/// What is known of a large container.
#[derive(Clone, Debug, Default)]
struct Large {
    end: Option<u64>,
    marks: Vec<Mark>,
}

struct Known {
    large: BTreeMap<u64, Large>,
    /// Everything before was seen.
    frontier: u64,
    /// Where it ended: the end of the text, or what breaks it.
    done: Option<u64>,
    problem: Option<Error>,
    /// Containers that were open then, in order.
    open: Vec<u64>,
}

/// The machine that makes it grow.
struct Builder {
    at: u64,
    state: State,
    stack: Vec<Frame>,
}

/// A container that is open.
struct Frame {
    start: u64,
    commas: u64,
    /// Its last mark, or its start; the lowest bit of `object` tells brackets apart.
    last: u64,
    object: bool,
}

impl Document {
    /// The text in `source`. Reads its first bytes: UTF-8, unless a mark or zeros tell UTF-16 or UTF-32.
    pub fn new(task: &Task, source: &Source) -> Result<Document> {
        let first = source.read_up_to(task, 0, HEAD)?;
        let (view, start, foreign) = match encoding::utf32(&first) {
            Some(big) => {
                let name = if big { "utf-32be" } else { "utf-32le" };
                (encoding::utf32_view(source, big)?, 0, Some(name.to_owned()))
            }
            None => {
                let found = encoding::detect(&first);
                let wide = found.encoding.name().starts_with("UTF-16");
                // JSON is UTF-8 where nothing says otherwise (RFC 8259, section 8.1).
                let detected =
                    if wide || found.mark > 0 { found } else { Detected { encoding: UTF_8, mark: 0 } };
                let (view, start, _) = encoding::ascii_view(source, detected)?;
                (view, start, wide.then(|| encoding::name(found.encoding)))
            }
        };
        Ok(Document::of(view, start, foreign))
    }

    fn of(source: Source, start: u64, foreign: Option<String>) -> Document {
        let known =
            Known { large: BTreeMap::new(), frontier: start, done: None, problem: None, open: Vec::new() };
        let builder = Builder { at: start, state: State::default(), stack: Vec::new() };
        Document { source, start, foreign, index: Mutex::new(known), building: Mutex::new(builder) }
    }

    /// The text as UTF-8.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the text begins, behind a byte order mark.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Whether the file is in another encoding than UTF-8, so that places are not bytes of the file.
    pub fn is_foreign(&self) -> bool {
        self.foreign.is_some()
    }

    /// The encoding's name, where it is not UTF-8.
    pub fn encoding(&self) -> Option<&str> {
        self.foreign.as_deref()
    }

    /// How far the index is, and whether that is all.
    pub fn frontier(&self) -> (u64, bool) {
        let known = self.index.lock();
        (known.frontier, known.done.is_some())
    }

    /// What breaks the nesting, as far as the index has come.
    pub fn problem(&self) -> Option<Error> {
        self.index.lock().problem.clone()
    }

    /// Where the container that begins at `start` ends.
    pub fn end(&self, task: &Task, start: u64) -> Result<End> {
        if let Some(end) = self.known_end(start) {
            return Ok(end);
        }
        let near = self.source.read_up_to(task, start, 2 * STEP as usize)?;
        if let Some(len) = stage::container(&near) {
            return Ok(End::At(start + len as u64));
        }
        if near.len() < 2 * STEP as usize {
            return Ok(End::Broken(start + near.len() as u64));
        }
        self.grow(task, &|known| known.done.is_some() || known.end(start).is_some())?;
        match self.known_end(start) {
            Some(end) => Ok(end),
            None => self.scan_end(task, start),
        }
    }

    fn known_end(&self, start: u64) -> Option<End> {
        let known = self.index.lock();
        match (known.end(start), known.done) {
            (Some(end), _) => Some(End::At(end)),
            (None, Some(done)) if known.open.binary_search(&start).is_ok() => Some(End::Broken(done)),
            _ => None,
        }
    }

    /// The end of a container that the index has no place for.
    fn scan_end(&self, task: &Task, start: u64) -> Result<End> {
        let (step, mut state, mut depth) = (stage::step(), State::default(), 0u64);
        let (mut buffer, mut at, mut end) = (Vec::new(), start, None);
        loop {
            let n = fill(&self.source, task, at, &mut buffer, PIECE)?;
            stage::blocks(buffer.get(..n).unwrap_or_default(), |offset, block| {
                let masks = step(&mut state, block);
                let mut brackets = masks.open | masks.close;
                while brackets != 0 && end.is_none() {
                    let bit = brackets & brackets.wrapping_neg();
                    brackets ^= bit;
                    depth = if masks.open & bit != 0 { depth + 1 } else { depth.saturating_sub(1) };
                    if depth == 0 {
                        end = Some(at + offset as u64 + u64::from(bit.trailing_zeros()) + 1);
                    }
                }
                end.is_none()
            });
            at += n as u64;
            match end {
                Some(end) => return Ok(End::At(end.min(at))),
                None if n < PIECE => return Ok(End::Broken(at)),
                None => {}
            }
        }
    }

    /// The last mark at or before child `child` of the container that begins at `start`; makes the index grow
    /// as far as needed. The container's own first child where there is none.
    pub fn mark(&self, task: &Task, start: u64, child: u64) -> Result<Mark> {
        let first = Mark { child: 0, at: start + 1 };
        // Children take two bytes at least, so near ones need no index.
        let near = child.saturating_mul(2) < STEP && !self.index.lock().large.contains_key(&start);
        if near || child == 0 {
            return Ok(first);
        }
        self.grow(task, &|known| {
            let passed = |large: &Large| large.marks.last().is_some_and(|mark| mark.child > child);
            match known.large.get(&start) {
                Some(large) => known.done.is_some() || large.end.is_some() || passed(large),
                // A small container never comes into the index.
                None => known.done.is_some() || known.frontier > start.saturating_add(4 * STEP),
            }
        })?;
        let known = self.index.lock();
        let marks = known.large.get(&start).map_or(&[][..], |large| &large.marks);
        let behind = marks.partition_point(|mark| mark.child <= child);
        Ok(behind.checked_sub(1).and_then(|n| marks.get(n)).copied().unwrap_or(first))
    }

    /// The last mark of a container as far as the index has come, and whether the container has ended before
    /// its frontier.
    pub fn last_mark(&self, start: u64) -> (Mark, bool) {
        let known = self.index.lock();
        let large = known.large.get(&start);
        let last = large.and_then(|large| large.marks.last().copied());
        let ended = known.done.is_some() || large.is_some_and(|large| large.end.is_some());
        (last.unwrap_or(Mark { child: 0, at: start + 1 }), ended)
    }

    /// Makes the index grow to the end of the container at `start` (to the end of the text where it is not
    /// large), with progress.
    pub fn finish(&self, task: &Task, start: u64) -> Result<()> {
        let frontier = self.frontier().0;
        task.expect(self.source.known_len().unwrap_or(0).saturating_sub(frontier));
        self.grow(task, &|known| known.done.is_some() || known.end(start).is_some())
    }

    fn grow(&self, task: &Task, enough: &dyn Fn(&Known) -> bool) -> Result<()> {
        let mut builder = loop {
            if enough(&self.index.lock()) {
                return Ok(());
            }
            task.check()?;
            if let Some(guard) = self.building.try_lock_for(Duration::from_millis(20)) {
                break guard;
            }
        };
        let mut buffer = Vec::new();
        while !enough(&self.index.lock()) {
            task.check()?;
            let n = fill(&self.source, task, builder.at, &mut buffer, PIECE)?;
            let mut found = Vec::new();
            let bytes = buffer.get(..n).unwrap_or_default();
            let stopped = builder.feed(bytes, &mut found);
            let mut known = self.index.lock();
            for found in found {
                known.take(found);
            }
            known.frontier = builder.at;
            if stopped.is_err() || n < PIECE {
                known.open = builder.stack.iter().map(|frame| frame.start).collect();
            }
            if let Err((at, problem)) = stopped {
                known.done = Some(at);
                known.problem = Some(self.located(problem, at));
            } else if n < PIECE {
                known.done = Some(builder.at);
                known.problem = builder.open_at_end().map(|problem| self.located(problem, builder.at));
            }
            drop(known);
            task.advance(n as u64)?;
        }
        Ok(())
    }

    /// An error with its byte, where bytes are those of the file.
    pub fn located(&self, error: Error, at: u64) -> Error {
        if self.is_foreign() { error } else { error.at(at) }
    }

    /// Line and column of a byte. Reads everything before it.
    pub fn place(&self, task: &Task, at: u64) -> Result<Place> {
        let (mut place, mut from, mut buffer) = (Place { line: 1, column: 1 }, self.start, Vec::new());
        let starts = |bytes: &[u8]| bytes.iter().filter(|b| **b & 0xc0 != 0x80).count() as u64;
        while from < at {
            let most = PIECE.min(usize::try_from(at - from).unwrap_or(PIECE));
            let n = fill(&self.source, task, from, &mut buffer, most)?;
            let bytes = buffer.get(..n).unwrap_or_default();
            let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
            if let Some(last) = memchr::memrchr(b'\n', bytes) {
                place = Place { line: place.line + lines, column: 1 };
                place.column += starts(bytes.get(last + 1..).unwrap_or_default());
            } else {
                place.column += starts(bytes);
            }
            from += n as u64;
            if n == 0 {
                break;
            }
        }
        Ok(place)
    }

    /// A malformed text: the sentence `what`, with line, column and byte.
    pub fn malformed(&self, task: &Task, what: &str, at: u64) -> Error {
        let words = match self.place(task, at) {
            Ok(place) => format!("JSON: {what}, in line {}, column {}", place.line, place.column),
            Err(error) if error.is_cancelled() => return error,
            Err(_) => format!("JSON: {what}"),
        };
        self.located(Error::malformed(words), at)
    }
}

impl Known {
    fn end(&self, start: u64) -> Option<u64> {
        self.large.get(&start).and_then(|large| large.end)
    }

    fn take(&mut self, found: Found) {
        let room = self.large.len() < MOST;
        match found {
            Found::Mark(start, mark) if room || self.large.contains_key(&start) => {
                self.large.entry(start).or_default().marks.push(mark);
            }
            Found::End(start, end) if room || self.large.contains_key(&start) => {
                self.large.entry(start).or_default().end = Some(end);
            }
            _ => {}
        }
    }
}

/// What a piece gave.
enum Found {
    Mark(u64, Mark),
    End(u64, u64),
}

impl Builder {
    /// Goes over the next bytes. The error says what breaks the nesting, and where.
    fn feed(&mut self, bytes: &[u8], found: &mut Vec<Found>) -> std::result::Result<(), (u64, Error)> {
        let step = stage::step();
        let (base, mut state, mut result) = (self.at, self.state, Ok(()));
        stage::blocks(bytes, |offset, block| {
            let masks = step(&mut state, block);
            result = self.block(base + offset as u64, block, masks, found);
            result.is_ok()
        });
        self.state = state;
        self.at = base + bytes.len() as u64;
        result
    }

    fn block(
        &mut self,
        base: u64,
        block: &[u8; BLOCK],
        masks: stage::Masks,
        found: &mut Vec<Found>,
    ) -> std::result::Result<(), (u64, Error)> {
        let mut commas = masks.comma;
        let mut brackets = masks.open | masks.close;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            brackets ^= bit;
            let before = commas & (bit - 1);
            if before != 0 {
                self.count(base, before, found);
                commas ^= before;
            }
            let place = bit.trailing_zeros();
            let at = base + u64::from(place);
            let byte = block.get(place as usize).copied().unwrap_or_default();
            if masks.open & bit != 0 {
                if self.stack.len() >= DEEPEST {
                    return Err((at, Error::limit(format!("more than {DEEPEST} levels of JSON"))));
                }
                self.stack.push(Frame { start: at, commas: 0, last: at, object: byte == b'{' });
                continue;
            }
            let Some(frame) = self.stack.pop() else {
                return Err((at, Error::malformed(format!("JSON: {:?} closes nothing", char::from(byte)))));
            };
            if frame.object != (byte == b'}') {
                let open = if frame.object { '{' } else { '[' };
                let words = format!("JSON: {:?} closes a {open:?}", char::from(byte));
                self.stack.push(frame);
                return Err((at, Error::malformed(words)));
            }
            if at - frame.start >= STEP {
                found.push(Found::End(frame.start, at + 1));
            }
        }
        if commas != 0 {
            self.count(base, commas, found);
        }
        Ok(())
    }

    /// Counts commas of the innermost container; one far from its last mark becomes a mark.
    #[inline]
    fn count(&mut self, base: u64, commas: u64, found: &mut Vec<Found>) {
        let Some(frame) = self.stack.last_mut() else { return };
        if base + BLOCK as u64 >= frame.last + STEP {
            let at = base + u64::from(commas.trailing_zeros()) + 1;
            if at >= frame.last + STEP {
                frame.last = at;
                found.push(Found::Mark(frame.start, Mark { child: frame.commas + 1, at }));
            }
        }
        frame.commas += u64::from(commas.count_ones());
    }

    fn open_at_end(&self) -> Option<Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::new(&Task::new(), &Source::memory("t", text.to_owned())).unwrap()
    }

    #[test]
    fn large_containers_have_marks_and_ends() {
        let item = |n: usize| format!("{{\"n\":{n},\"t\":[\"]\",{{}}]}}");
        let items: Vec<String> = (0..40_000).map(item).collect();
        let text = format!("{{\"a\": [{}], \"b\": 1}}", items.join(", "));
        let (document, task) = (document(&text), Task::new());
        let start = text.find('[').unwrap() as u64;
        assert_eq!(document.end(&task, 0).unwrap(), End::At(text.len() as u64));
        assert_eq!(document.end(&task, start).unwrap(), End::At(text.rfind(", \"b\"").unwrap() as u64));
        for child in [0, 1, 10_000, 39_999] {
            let mark = document.mark(&task, start, child).unwrap();
            assert!(mark.child <= child && child - mark.child < 4_000, "{mark:?}");
            let rest = &text[mark.at as usize..];
            assert!(rest.trim_start().starts_with(&item(mark.child as usize)), "{mark:?}");
        }
        assert!(document.last_mark(start).1);
        assert!(document.index.lock().large.len() == 2 && document.problem().is_none());
    }

    #[test]
    fn a_broken_nesting_has_its_place() {
        let task = Task::new();
        let text = format!("[{}[1}}", "[1],\n".repeat(60_000));
        let broken = document(&text);
        assert_eq!(broken.end(&task, 0).unwrap(), End::Broken(text.len() as u64 - 1));
        let problem = broken.problem().unwrap();
        assert_eq!(
            problem.to_string(),
            format!("malformed JSON: '}}' closes a '[' (at byte {})", text.len() - 1)
        );
        assert_eq!(broken.place(&task, text.len() as u64 - 1).unwrap(), Place { line: 60_001, column: 3 });
        let deep = document(&"[".repeat(1_000_000));
        assert_eq!(deep.end(&task, 0).unwrap(), End::Broken(1_000_000));
        assert!(deep.problem().unwrap().to_string().contains("1000000 containers"));
    }
}
