//! The sparse index: where large containers begin and end, and in each of them a checkpoint every 64 KiB.
//! Small containers are not in it; their end is found by a scan of at most that much. It grows as far as
//! somebody asks, by all cores where that is far ([`super::build`]), and takes about 16 bytes for each 64 KiB
//! of the file.

use super::build::{self, Builder, Found, SEGMENT, STEP};
use super::stage::{self, Closing, State};
use super::walk::{Walk, shown, space};
use super::window::Window;
use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::delimited::encoding::{self, Detected};
use crate::engines::delimited::index::fill;
use crate::engines::delimited::ordered;
use encoding_rs::UTF_8;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// The most containers that are kept; with more, those that end later are found by scanning.
const MOST: usize = 1 << 20;
/// Pieces that are gone over before the other cores are called.
const ALONE: usize = 4;
/// Bytes of the beginning that tell the encoding.
const HEAD: usize = 4 << 10;

/// A JSON text in a source.
pub struct Document {
    source: Source,
    start: u64,
    /// The encoding of the file, where it is not UTF-8: places are then those in the text as UTF-8.
    foreign: Option<String>,
    index: Mutex<Known>,
    segment: u64,
    building: Mutex<Builder>,
    top: OnceLock<u64>,
    /// Whether what stands behind the end was looked at.
    ended: AtomicBool,
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
    children: Option<u64>,
    marks: Vec<Mark>,
}

struct Known {
    large: BTreeMap<u64, Large>,
    /// Everything before was seen.
    frontier: u64,
    /// Where it ended: the end of the text, or what breaks it.
    done: Option<u64>,
    /// What is wrong first, and where.
    problem: Option<(u64, Error)>,
    /// Containers that were open then, in order.
    open: Vec<u64>,
    /// The first lost comma of containers, by the place of the child behind it.
    lost: BTreeMap<u64, u64>,
    /// The first of all, by its container, before it has its sentence.
    nameless: Option<(u64, u64)>,
}

impl Document {
    /// The text in `source`. Reads its first bytes: UTF-8, unless a mark or zeros tell UTF-16 or UTF-32.
    pub fn new(task: &Task, source: &Source) -> Result<Document> {
        let first = source.read_up_to(task, 0, HEAD)?;
        let found = encoding::detect(&first);
        let wide = found.encoding.is_wide();
        // JSON is UTF-8 where nothing says otherwise (RFC 8259, section 8.1).
        let detected =
            if wide || found.mark > 0 { found } else { Detected { encoding: UTF_8.into(), mark: 0 } };
        let (view, start, _) = encoding::ascii_view(source, detected)?;
        let foreign = wide.then(|| found.encoding.name());
        Ok(Document::of(view, start, foreign))
    }

    fn of(source: Source, start: u64, foreign: Option<String>) -> Document {
        let known = Known {
            large: BTreeMap::new(),
            frontier: start,
            done: None,
            problem: None,
            open: Vec::new(),
            lost: BTreeMap::new(),
            nameless: None,
        };
        Document {
            source,
            start,
            foreign,
            index: Mutex::new(known),
            segment: SEGMENT,
            building: Mutex::new(Builder::new(start)),
            top: OnceLock::new(),
            ended: AtomicBool::new(false),
        }
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

    /// What is wrong first, as far as the index has come and readers have told ([`Document::note`]).
    pub fn problem(&self) -> Option<Error> {
        self.index.lock().problem.as_ref().map(|(_, problem)| problem.clone())
    }

    /// The same where it lies in these bytes.
    pub fn problem_in(&self, range: std::ops::Range<u64>) -> Option<Error> {
        let known = self.index.lock();
        known.problem.as_ref().filter(|(at, _)| range.contains(at)).map(|(_, problem)| problem.clone())
    }

    /// Keeps what a reader found wrong at a byte, if nothing before it is.
    pub fn note(&self, at: u64, problem: Error) {
        self.index.lock().note(at, problem);
    }

    /// What is wrong in the container at `start` from a mark on, up to the child that begins at `until` at most.
    pub(super) fn wrong(
        &self,
        task: &Task,
        start: u64,
        mark: Mark,
        until: u64,
    ) -> Result<Option<(u64, Error)>> {
        let mut walk = Walk::behind(task, self, start, mark)?;
        while walk.place() <= until {
            match walk.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) if error.is_cancelled() || error.kind() == ErrorKind::Io => return Err(error),
                Err(error) => return Ok(Some((walk.place(), error))),
            }
        }
        Ok(None)
    }

    /// Where the value begins that the document is.
    fn top(&self, task: &Task) -> Result<u64> {
        if let Some(&top) = self.top.get() {
            return Ok(top);
        }
        let mut window = Window::new(task, &self.source, self.start);
        space(&mut window)?;
        Ok(*self.top.get_or_init(|| window.place()))
    }

    /// Gives what the index found beside its way a sentence: the first lost comma, and what stands behind the
    /// end.
    fn tell(&self, task: &Task) -> Result<()> {
        let nameless = self.index.lock().nameless.take();
        if let Some((start, at)) = nameless {
            let mark = self.index.lock().mark_before(start, at);
            match self.wrong(task, start, mark, at) {
                Ok(Some((at, problem))) => self.note(at, problem),
                Ok(None) => self.note(at, self.malformed(task, "a comma is missing before this", at)),
                Err(error) => {
                    self.index.lock().nameless = nameless;
                    return Err(error);
                }
            }
        }
        if self.ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Some(End::At(end)) = self.known_end(self.top(task)?) else { return Ok(()) };
        let mut window = Window::new(task, &self.source, end);
        space(&mut window)?;
        if let Some(byte) = window.peek()? {
            let words = format!("{} stands behind the end", shown(byte));
            self.note(window.place(), self.malformed(task, &words, window.place()));
        }
        self.ended.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Where the container that begins at `start` ends.
    pub fn end(&self, task: &Task, start: u64) -> Result<End> {
        if let Some(end) = self.known_end(start) {
            return Ok(end);
        }
        if let Some(end) = self.near_end(task, start)? {
            return Ok(end);
        }
        self.grow(task, &|known| known.done.is_some() || known.end(start).is_some())?;
        match self.known_end(start) {
            Some(end) => Ok(end),
            None => self.scan_end(task, start),
        }
    }

    /// The end of a container that is not large.
    fn near_end(&self, task: &Task, start: u64) -> Result<Option<End>> {
        let near = self.source.read_up_to(task, start, 2 * STEP as usize)?;
        let broken = (near.len() < 2 * STEP as usize).then_some(End::Broken(start + near.len() as u64));
        Ok(stage::container(&near).map(|len| End::At(start + len as u64)).or(broken))
    }

    /// The same, as far as that is known already.
    pub fn known_end(&self, start: u64) -> Option<End> {
        let known = self.index.lock();
        match (known.end(start), known.done) {
            (Some(end), _) => Some(End::At(end)),
            (None, Some(done)) if known.open.binary_search(&start).is_ok() => Some(End::Broken(done)),
            _ => None,
        }
    }

    /// The end of a container that the index has no place for.
    fn scan_end(&self, task: &Task, start: u64) -> Result<End> {
        let (mut state, mut closing) = (State::default(), Closing::default());
        let (mut buffer, mut at) = (Vec::new(), start);
        loop {
            let n = fill(&self.source, task, at, &mut buffer, PIECE)?;
            stage::scan(&mut state, buffer.get(..n).unwrap_or_default(), &mut closing);
            if let Some(end) = closing.end {
                return Ok(End::At(at + end.min(n) as u64));
            }
            at += n as u64;
            if n < PIECE {
                return Ok(End::Broken(at));
            }
        }
    }

    /// The last mark at or before child `child` of the container that begins at `start`; makes the index grow
    /// as far as needed. The container's own first child where there is none.
    ///
    /// No mark behind a lost comma is given, since commas are what the children are counted by.
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
        let lost = known.lost.get(&start).copied().unwrap_or(u64::MAX);
        Ok(known.last(start, |mark| mark.child <= child && mark.at < lost))
    }

    /// The last mark of a container as far as the index has come, and whether the container has ended before
    /// its frontier.
    pub fn last_mark(&self, start: u64) -> (Mark, bool) {
        let known = self.index.lock();
        let ended = known.done.is_some() || known.end(start).is_some();
        let lost = known.lost.get(&start).copied().unwrap_or(u64::MAX);
        (known.mark_before(start, lost), ended)
    }

    /// The first child of a container that has no comma before it, as far as the index has come.
    pub fn lost(&self, start: u64) -> Option<u64> {
        self.index.lock().lost.get(&start).copied()
    }

    /// How many children the large container at `start` has, as far as the index has come; and how many it has
    /// at least.
    pub fn children(&self, start: u64) -> (Option<u64>, u64) {
        let known = self.index.lock();
        let lost = known.lost.get(&start).copied();
        let marked = known.mark_before(start, lost.unwrap_or(u64::MAX)).child;
        let counted = known.large.get(&start).and_then(|large| large.children);
        (counted.filter(|_| lost.is_none()), marked)
    }

    /// Makes the index grow to the end of the container at `start`, if that is large, with progress.
    pub fn finish(&self, task: &Task, start: u64) -> Result<()> {
        if self.known_end(start).is_some() || self.near_end(task, start)?.is_some() {
            return Ok(());
        }
        let frontier = self.frontier().0;
        task.set_total(self.source.known_len().unwrap_or(0).saturating_sub(frontier));
        self.grow(task, &|known| known.done.is_some() || known.end(start).is_some())
    }

    /// Makes the index grow to the end of the text.
    #[cfg(test)]
    fn whole(&self, task: &Task) -> Result<()> {
        self.grow(task, &|known| known.done.is_some())
    }

    fn grow(&self, task: &Task, enough: &(dyn Fn(&Known) -> bool + Sync)) -> Result<()> {
        self.build(task, enough)?;
        self.tell(task)
    }

    fn build(&self, task: &Task, enough: &(dyn Fn(&Known) -> bool + Sync)) -> Result<()> {
        let mut builder = loop {
            if enough(&self.index.lock()) {
                return Ok(());
            }
            task.check()?;
            if let Some(guard) = self.building.try_lock_for(Duration::from_millis(20)) {
                break guard;
            }
        };
        let (mut buffer, mut pieces) = (Vec::new(), 0);
        while !enough(&self.index.lock()) {
            if pieces == ALONE {
                self.grow_by_segments(task, &mut builder, enough)?;
            } else {
                self.grow_by(task, &mut builder, PIECE as u64, &mut buffer)?;
            }
            pieces += 1;
        }
        Ok(())
    }

    /// Goes over the next `most` bytes; fewer are the end of the text.
    fn grow_by(&self, task: &Task, builder: &mut Builder, most: u64, buffer: &mut Vec<u8>) -> Result<()> {
        task.check()?;
        let n = fill(&self.source, task, builder.at, buffer, most as usize)?;
        let mut found = Vec::new();
        let stopped = builder.feed(buffer.get(..n).unwrap_or_default(), &mut found);
        self.publish(builder, found, stopped, (n as u64) < most);
        task.advance(n as u64)
    }

    /// The same for all that follows, by all cores. What cannot be read by segments is left.
    fn grow_by_segments(
        &self,
        task: &Task,
        builder: &mut Builder,
        enough: &(dyn Fn(&Known) -> bool + Sync),
    ) -> Result<()> {
        let from = builder.at;
        let rest = self.source.known_len().filter(|_| self.source.is_random_access());
        let count = rest.unwrap_or(0).saturating_sub(from) / self.segment;
        let work = |n: usize, buffer: &mut Vec<u8>| {
            let start = from + n as u64 * self.segment;
            build::segment(task, &self.source, start..start + self.segment, buffer)
        };
        ordered::run(count as usize, work, |mut segment| {
            let range = segment.range.clone();
            match builder.join(&mut segment) {
                Some(found) => {
                    self.publish(builder, found, Ok(()), false);
                    task.advance(range.end - range.start)?;
                }
                None => {
                    let mut buffer = Vec::new();
                    while builder.at < range.end && self.index.lock().done.is_none() {
                        let most = (range.end - builder.at).min(PIECE as u64);
                        self.grow_by(task, builder, most, &mut buffer)?;
                    }
                }
            }
            Ok(!enough(&self.index.lock()))
        })
    }

    /// Makes known what was found up to where the builder is. `ended`: that is the end of the text.
    fn publish(
        &self,
        builder: &Builder,
        found: Vec<Found>,
        stopped: std::result::Result<(), build::StructureError>,
        ended: bool,
    ) {
        let mut known = self.index.lock();
        for found in found {
            known.take(found);
        }
        known.frontier = builder.at;
        if stopped.is_err() || ended {
            known.open = builder.stack.iter().map(|frame| frame.start).collect();
        }
        if let Err((at, problem)) = stopped {
            known.done = Some(at);
            known.note(at, self.located(problem, at));
        } else if ended {
            known.done = Some(builder.at);
            if let Some(problem) = builder.open_at_end() {
                known.note(builder.at, self.located(problem, builder.at));
            }
        }
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

    /// The last mark of a container that is like this, its own first child without one.
    fn last(&self, start: u64, is_before: impl Fn(&Mark) -> bool) -> Mark {
        let marks = self.large.get(&start).map_or(&[][..], |large| &large.marks);
        let behind = marks.partition_point(is_before);
        let mark = behind.checked_sub(1).and_then(|n| marks.get(n)).copied();
        mark.unwrap_or(Mark { child: 0, at: start + 1 })
    }

    fn mark_before(&self, start: u64, at: u64) -> Mark {
        self.last(start, |mark| mark.at < at)
    }

    fn note(&mut self, at: u64, problem: Error) {
        if self.problem.as_ref().is_none_or(|(known, _)| at < *known) {
            self.problem = Some((at, problem));
        }
    }

    fn take(&mut self, found: Found) {
        let room = self.large.len() < MOST;
        match found {
            Found::Mark(start, mark) if room || self.large.contains_key(&start) => {
                self.large.entry(start).or_default().marks.push(mark);
            }
            Found::End { start, end, children } if room || self.large.contains_key(&start) => {
                let large = self.large.entry(start).or_default();
                (large.end, large.children) = (Some(end), children);
            }
            Found::Lost { start, at } if self.lost.len() < MOST => {
                if self.lost.is_empty() {
                    self.nameless = Some((start, at));
                }
                self.lost.entry(start).or_insert(at);
            }
            _ => {}
        }
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

    #[test]
    fn a_lost_comma_and_what_stands_behind_the_end_are_found() {
        let task = Task::new();
        // Around the borders of blocks and segments, and at two depths.
        for (shift, bare) in [(0, true), (17, false), (63, true)] {
            let item = |n: usize| format!("{{\"n\": {n:06}, \"l\": [{{}}, {{}}]}}");
            let items: Vec<String> = (0..250_000).map(item).collect();
            let text = format!("{}{{\"a\": [{}], \"b\": 1}}", " ".repeat(shift), items.join(", "));
            let at = text.find(&item(220_000)).unwrap() as u64;
            let comma = if bare { at as usize - 2 } else { at as usize - 8 };
            let mut broken = text.clone();
            broken.replace_range(comma..=comma, " ");
            for segment in [64 * 1_000, u64::MAX] {
                let mut whole = document(&text);
                whole.segment = segment;
                whole.whole(&task).unwrap();
                assert!(whole.problem().is_none(), "{:?}", whole.problem());
                let mut document = document(&broken);
                document.segment = segment;
                document.whole(&task).unwrap();
                let problem = document.problem().unwrap().to_string();
                let place = format!(
                    "is expected, not '{{', in line 1, column {}",
                    if bare { at + 1 } else { comma as u64 + 3 }
                );
                assert!(problem.contains(&place), "{shift} {segment}: {problem} {place}");
                let array = text.find('[').unwrap() as u64;
                assert_eq!(document.known_end(shift as u64), Some(End::At(text.len() as u64)));
                assert_eq!(document.lost(array).is_some(), bare);
                let mark = document.mark(&task, array, 240_000).unwrap();
                assert!(if bare { mark.at < at } else { mark.at > at });
            }
        }
        let tail = document(&format!("[{}1] // fine\n x", "[1],".repeat(60_000)));
        tail.whole(&task).unwrap();
        assert!(
            tail.problem().unwrap().to_string().contains("'x' stands behind the end, in line 2, column 2")
        );
        let fine = document(&format!("[{}1] // fine\n ", "[1],".repeat(60_000)));
        fine.whole(&task).unwrap();
        assert!(fine.problem().is_none());
    }

    /// A container with lists, objects and strings that hold brackets, quotes and escapes; about `size` bytes.
    fn grown(random: &mut dyn FnMut(u64) -> u64, size: usize, object: bool, out: &mut String) {
        let begin = out.len();
        out.push(if object { '{' } else { '[' });
        let mut first = true;
        while out.len() - begin < size {
            out.push_str(if first { " " } else { ", " });
            first = false;
            if object {
                out.push_str("\"k\": ");
            }
            match random(9) {
                0 => {
                    let (part, object) = (random(1 + size as u64 / 2) as usize, random(2) == 0);
                    grown(random, part, object, out);
                }
                1 => out.push_str("\"}\\\\\\\", [{\""),
                2 => out.push_str(&format!("\"{}\"", "\\\\".repeat(random(90) as usize))),
                3 => out.push_str(&format!("\"{}\"", "words, and: more ".repeat(random(400) as usize))),
                4 => out.push_str(&format!("\"{}\"", "{\\\"a\\\": [1, 2]}, ".repeat(random(400) as usize))),
                _ => out.push_str(&random(1_000_000).to_string()),
            }
        }
        out.push_str(if object { "}" } else { " \n]" });
    }

    /// Byte by byte: the large containers with their ends and the places behind their commas.
    fn plainly(text: &str) -> BTreeMap<u64, (u64, Vec<u64>)> {
        let (mut large, mut open, mut inside, mut escaped) = (BTreeMap::new(), Vec::new(), false, false);
        for (at, byte) in text.bytes().enumerate() {
            let was = std::mem::take(&mut escaped);
            match byte {
                b'\\' => escaped = !was,
                b'"' if !was => inside = !inside,
                b'{' | b'[' if !inside => open.push((at as u64, Vec::new())),
                b',' if !inside => open.last_mut().unwrap().1.push(at as u64 + 1),
                b'}' | b']' if !inside => {
                    let (start, commas): (u64, Vec<u64>) = open.pop().unwrap();
                    if at as u64 - start >= STEP {
                        large.insert(start, (at as u64 + 1, commas));
                    }
                }
                _ => {}
            }
        }
        large
    }

    #[test]
    fn segments_give_what_one_scan_gives() {
        for seed in 0..12u64 {
            let mut state = seed;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below.max(1)
            };
            let mut text = String::new();
            grown(&mut random, 9 << 20, seed % 2 == 0, &mut text);
            let mut document = document(&text);
            document.segment = 64 * (1_000 + random(3_000));
            document.whole(&Task::new()).unwrap();
            assert_eq!(document.frontier(), (text.len() as u64, true));
            let (known, expected) = (document.index.lock(), plainly(&text));
            assert!(known.problem.is_none() && expected.len() > 3, "seed {seed}");
            let ended: Vec<u64> =
                known.large.iter().filter(|(_, l)| l.end.is_some()).map(|(s, _)| *s).collect();
            assert_eq!(ended, expected.keys().copied().collect::<Vec<_>>(), "seed {seed}");
            for (start, (end, commas)) in &expected {
                let large = &known.large[start];
                assert_eq!(large.end, Some(*end));
                assert_eq!(large.children, Some(commas.len() as u64 + 1), "seed {seed}, {start}");
                for mark in &large.marks {
                    assert_eq!(commas.get(mark.child as usize - 1), Some(&mark.at), "seed {seed}, {start}");
                }
                // No long way from one mark to the next, but for long children.
                let places: Vec<u64> =
                    [*start].into_iter().chain(large.marks.iter().map(|m| m.at)).chain([*end]).collect();
                for pair in places.windows(2) {
                    let between = commas.iter().filter(|c| **c > pair[0] && **c < pair[1]);
                    let first = between.clone().find(|c| **c > pair[0] + 2 * STEP + document.segment);
                    assert!(first.is_none(), "seed {seed}: {pair:?} without a mark");
                }
            }
        }
    }

    #[test]
    fn segments_with_comments_and_breaks_give_what_one_scan_gives() {
        let item = "{\"n\": [1, 2], // it's \"]\"\n \"t\": \"a // b\"},\n";
        let commented = format!("[{}1,]", item.repeat(200_000));
        let mut broken = format!("[{}]", "[1,\"x\"],".repeat(900_000));
        broken.replace_range(7_000_000..7_000_007, "}}}}}}}");
        let closing = format!("{}{}", "[".repeat(5_000_000), "]".repeat(5_000_001));
        for (n, text) in [commented, broken, closing].iter().enumerate() {
            let (mut by_segments, mut alone) = (document(text), document(text));
            by_segments.segment = 64 * 2_345;
            alone.segment = u64::MAX;
            let outcome = |document: &Document| {
                document.whole(&Task::new()).unwrap();
                let known = document.index.lock();
                let ends: Vec<_> = known.large.iter().map(|(at, l)| (*at, l.end)).collect();
                (
                    known.done,
                    known.problem.as_ref().map(|(_, problem)| problem.to_string()),
                    known.open.clone(),
                    ends,
                )
            };
            assert_eq!(outcome(&by_segments), outcome(&alone), "{n}");
            assert_eq!(outcome(&alone).1.is_some(), n > 0);
            assert_eq!(by_segments.children(0).0, None);
        }
    }
}
