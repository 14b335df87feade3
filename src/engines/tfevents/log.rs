//! The records of the event files of one run: which values there are, and where.

use super::event::{Data, Event, Metadata, Value, What};
use super::kind::Kind;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Formats;
use crate::data::node::Findings;
use crate::engines::protobuf::Part;
use crate::engines::records::tfrecord::{self, HEAD, TAIL, TfRecords};
use crate::engines::records::{Frame, Framing, Window};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are gone through while nobody else is let in.
const SLICE: u64 = 1 << 20;
/// Bytes of a run that are gone through when it is opened.
const EAGER: u64 = 512 << 10;
/// The most tags; names come from a file.
const TAGS: usize = 100_000;
/// Tags that have close marks, and those of each.
const CLOSE: (usize, usize) = (4_096, 512);
/// Marks of each tag beyond these.
const WIDE: usize = 32;
/// Marks of the table of all scalars, and of that of all records.
const MANY: usize = 1 << 16;
/// Problems that are kept.
const PROBLEMS: usize = 20;
/// The most members that are no values (graphs, run metadata), and bytes of hyper-parameters.
const MEMBERS: usize = 10_000;
const HPARAMS: usize = 16 << 20;

/// The event files of a run, in the order of time, and what is known of them.
pub(super) struct Log {
    pub(super) formats: Formats,
    pub(super) files: Vec<Source>,
    state: Mutex<State>,
}

/// Where a record begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) at: u64,
}

/// The rows of a table, and where every so many of them are.
#[derive(Clone)]
pub(super) struct Marks {
    kept: Vec<(u64, Place)>,
    every: u64,
    /// Records with rows.
    seen: u64,
    /// The last of them.
    last: Option<Place>,
    pub(super) rows: u64,
}

impl Default for Marks {
    fn default() -> Self {
        Marks { kept: Vec::new(), every: 1, seen: 0, last: None, rows: 0 }
    }
}

impl Marks {
    /// Adds rows that a record has; `most` marks are kept.
    pub(super) fn push(&mut self, place: Place, rows: u64, most: usize) {
        if rows == 0 {
            return;
        }
        // Rows are counted from where their record begins.
        if self.last.replace(place) == Some(place) {
            self.rows = self.rows.saturating_add(rows);
            return;
        }
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() >= most {
                let mut n = 0;
                self.kept.retain(|_| {
                    n += 1;
                    n % 2 == 1
                });
                self.every = self.every.saturating_mul(2);
            }
            if self.seen.is_multiple_of(self.every) {
                self.kept.push((self.rows, place));
            }
        }
        self.seen += 1;
        self.rows = self.rows.saturating_add(rows);
    }

    /// The last mark at or before a row: its first row and its place.
    pub(super) fn before(&self, row: u64) -> (u64, Place) {
        let at = self.kept.partition_point(|(first, _)| *first <= row).saturating_sub(1);
        self.kept.get(at).copied().unwrap_or_default()
    }
}

/// What is known of the values of one tag.
#[derive(Default)]
pub(super) struct Series {
    pub(super) marks: Marks,
    pub(super) values: u64,
    pub(super) steps: (i64, i64),
    pub(super) about: Arc<About>,
}

/// What the first value of a tag says of it.
#[derive(Default)]
pub(super) struct About {
    pub(super) plugin: String,
    pub(super) display_name: String,
    pub(super) description: String,
}

/// A message of the file that is no value of a summary: a graph, metadata of a run of one.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) step: i64,
    pub(super) wall_time: f64,
    pub(super) file: usize,
    pub(super) span: Range<u64>,
}

/// What the records that were gone through hold.
#[derive(Default)]
pub(super) struct State {
    /// Where to go on.
    next: Place,
    pub(super) ended: bool,
    pub(super) bytes: u64,
    /// The kind of each tag of tensors, as its first value says.
    tags: Arc<HashMap<Vec<u8>, Kind>>,
    /// The values of each tag, and which they are: in order, and as the file spells them.
    series: Vec<Series>,
    by_name: BTreeMap<(Kind, String), usize>,
    by_tag: [HashMap<Vec<u8>, usize>; Kind::COUNT],
    pub(super) scalars: Marks,
    pub(super) records: Marks,
    pub(super) graphs: Vec<Member>,
    pub(super) run_metadata: Vec<Member>,
    /// What the plugin *hparams* keeps: tag and message.
    pub(super) hparams: Vec<(String, Vec<u8>)>,
    hparams_bytes: usize,
    pub(super) version: Option<String>,
    pub(super) writer: Option<String>,
    pub(super) times: Option<(f64, f64)>,
    problems: Vec<Error>,
    problem_count: u64,
    remarks: Vec<String>,
    many_tags: bool,
}

/// A record whose checksum is right.
pub(super) struct Record<'a> {
    pub(super) source: &'a Source,
    pub(super) part: Part<'a>,
    tags: &'a HashMap<Vec<u8>, Kind>,
}

impl<'a> Record<'a> {
    /// The event, if it is one.
    pub(super) fn event(&self) -> Option<Event<'a>> {
        Event::parse(self.part).ok().map(|(event, _)| event)
    }

    /// The values of the event that are known, with their kinds.
    pub(super) fn values(&self, event: &Event<'a>) -> impl Iterator<Item = (Kind, Value<'a>)> {
        let known = |value: Value<'a>| match value.data {
            Data::Tensor(_) if !self.tags.contains_key(value.tag) => None,
            _ => Some((kind_of(&value, self.tags)?, value)),
        };
        event.values().map_while(Result::ok).filter_map(known)
    }
}

/// What came next in the files.
enum Step {
    Frame(Frame),
    Broken(Error),
    Cut(u64),
    End,
}

/// The records of a file one after the other, those that are broken left out.
struct Walk<'a> {
    window: Window<'a>,
    at: u64,
}

impl<'a> Walk<'a> {
    fn new(task: &'a Task, source: &'a Source, at: u64) -> Self {
        Walk { window: Window::new(task, source), at }
    }

    /// The next frame; `at` is behind it then.
    fn step(&mut self) -> Result<Step> {
        let error = match TfRecords.frame(&mut self.window, self.at).unless_cancelled()? {
            Ok(None) => return Ok(Step::End),
            Ok(Some(frame)) => {
                self.at = frame.end;
                return Ok(Step::Frame(frame));
            }
            Err(error) => error,
        };
        let head = self.window.get(self.at, HEAD)?;
        if head.len() < HEAD || tfrecord::length(head).is_some() {
            return Ok(Step::Cut(self.at));
        }
        match TfRecords.resume(&mut self.window, self.at)? {
            Some(next) if next > self.at => self.at = next,
            _ => self.at = u64::MAX,
        }
        Ok(Step::Broken(error))
    }

    /// The bytes of a frame, if their checksum is right.
    fn payload(&mut self, frame: &Frame) -> Result<&[u8]> {
        let len = limits::check(frame.span.end - frame.span.start, limits::CHUNK, "a record")?;
        let all = self.window.get(frame.span.start, len + TAIL)?;
        match all.split_at_checked(len) {
            Some((record, sum)) if tfrecord::masked(record).to_le_bytes() == *sum => Ok(record),
            _ => {
                let what = "TFRecord: the checksum of a record is wrong";
                Err(Error::malformed(what).at(frame.span.start))
            }
        }
    }
}

impl Log {
    /// The log of these files, whose beginning is gone through at once.
    pub(super) fn open(task: &Task, formats: Formats, files: Vec<Source>) -> Result<Arc<Log>> {
        let log = Arc::new(Log { formats, files, state: Mutex::new(State::default()) });
        // An end of a file is one too: of several small files more than one is gone through.
        for _ in &log.files {
            let mut state = log.state.lock();
            if !state.ended && state.bytes < EAGER {
                log.slice(task, &mut state, EAGER)?;
            }
        }
        let mut state = log.state.lock();
        if state.next.file >= log.files.len() {
            state.ended = true;
        }
        drop(state);
        Ok(log)
    }

    /// What is known now.
    pub(super) fn now(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Goes through all records.
    ///
    /// # Errors
    /// `Cancelled`, and failures to read; broken records are no errors.
    pub(super) fn finish(&self, task: &Task) -> Result<()> {
        self.until(task, |_| false)
    }

    /// Goes on through the records until it is enough, by parts, so that others see what is known meanwhile.
    pub(super) fn until(&self, task: &Task, mut enough: impl FnMut(&State) -> bool) -> Result<()> {
        let total: u64 = self.files.iter().filter_map(Source::known_len).sum();
        loop {
            task.check()?;
            let mut state = self.state.lock();
            if state.ended || enough(&state) {
                return Ok(());
            }
            self.slice(task, &mut state, SLICE)?;
            if total > EAGER {
                if task.progress().1 != total {
                    task.set_total(total);
                }
                let before: u64 = self.files.iter().take(state.next.file).filter_map(Source::known_len).sum();
                task.reached(before.saturating_add(state.next.at.min(total)).min(total));
            }
        }
    }

    /// Goes through about `most` bytes of one file.
    fn slice(&self, task: &Task, state: &mut State, most: u64) -> Result<()> {
        let Some(source) = self.files.get(state.next.file) else {
            state.ended = true;
            return Ok(());
        };
        let start = state.next.at;
        let mut walk = Walk::new(task, source, start);
        while state.next.at.saturating_sub(start) < most {
            let here = state.next;
            match walk.step()? {
                Step::End => {
                    state.next = Place { file: here.file + 1, at: 0 };
                    return Ok(());
                }
                Step::Cut(at) => {
                    let file = if self.files.len() > 1 { source.name() } else { "the file" };
                    state.remarks.push(format!(
                        "{file} ends within a record, at byte {at}: it is still being written or cut off"
                    ));
                    state.next = Place { file: here.file + 1, at: 0 };
                    return Ok(());
                }
                Step::Broken(error) => state.wrong(error, source, self.files.len()),
                // A large record waits until somebody asks for what is behind it.
                Step::Frame(frame) if most <= EAGER && frame.span.end - frame.span.start > most => {
                    return Ok(());
                }
                Step::Frame(frame) => match walk.payload(&frame).unless_cancelled()? {
                    Ok(record) => {
                        if let Err(error) = state.take(record, frame.span.start, here) {
                            state.wrong(error.of("event"), source, self.files.len());
                        }
                    }
                    Err(error) => state.wrong(error, source, self.files.len()),
                },
            }
            state.next.at = walk.at;
        }
        Ok(())
    }

    /// Goes through the records from `place` on, without those that are broken, until `each` has had enough.
    /// Records that are not known yet are none of them.
    pub(super) fn each(
        &self,
        task: &Task,
        place: Place,
        mut each: impl FnMut(Record) -> Result<bool>,
    ) -> Result<()> {
        let (tags, end, ended) = {
            let state = self.state.lock();
            (state.tags.clone(), state.next, state.ended)
        };
        let is_known = |here: Place| ended || (here.file, here.at) < (end.file, end.at);
        let mut start = place.at;
        for (file, source) in self.files.iter().enumerate().skip(place.file) {
            let mut walk = Walk::new(task, source, std::mem::take(&mut start));
            for n in 0_u64.. {
                if n.is_multiple_of(1024) {
                    task.check()?;
                }
                let here = Place { file, at: walk.at };
                if !is_known(here) {
                    return Ok(());
                }
                let frame = match walk.step()? {
                    Step::Frame(frame) => frame,
                    Step::Broken(_) => continue,
                    Step::Cut(_) | Step::End => break,
                };
                let Ok(record) = walk.payload(&frame).unless_cancelled()? else { continue };
                let part = Part::new(record, frame.span.start);
                if !each(Record { source, part, tags: &tags })? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl State {
    fn wrong(&mut self, error: Error, source: &Source, files: usize) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS {
            self.problems.push(if files > 1 { error.in_node(source.name()) } else { error });
        }
    }

    /// Takes in a record.
    fn take(&mut self, record: &[u8], start: u64, place: Place) -> Result<()> {
        self.bytes += record.len() as u64;
        self.records.push(place, 1, MANY);
        let (event, writer) = Event::parse(Part::new(record, start))?;
        if let Some(writer) = writer.and_then(|part| part.fields().flatten().find(|f| f.number == 1)) {
            self.writer.get_or_insert_with(|| writer.value.text());
        }
        // Times that are none would make all others far away.
        if event.wall_time > 0.0 {
            let (first, last) = self.times.unwrap_or((event.wall_time, event.wall_time));
            self.times = Some((first, last.max(event.wall_time)));
        }
        match event.what {
            What::FileVersion(text) => {
                let text = String::from_utf8_lossy(text.bytes()).into_owned();
                self.version.get_or_insert(text);
            }
            What::Graph(part) => self.member("graph_def", &event, part, place, false),
            What::MetaGraph(part) => self.member("meta_graph_def", &event, part, place, false),
            What::RunMetadata(part) => self.run_metadata(&event, part, place),
            _ => {}
        }
        for value in event.values() {
            self.value(&event, &value?, place);
        }
        Ok(())
    }

    fn member(&mut self, name: &str, event: &Event, part: Part, place: Place, of_run: bool) {
        let list = if of_run { &mut self.run_metadata } else { &mut self.graphs };
        if list.len() < MEMBERS {
            let (step, wall_time, file) = (event.step, event.wall_time, place.file);
            list.push(Member { name: name.to_owned(), step, wall_time, file, span: part.span() });
        }
    }

    fn run_metadata(&mut self, event: &Event, part: Part, place: Place) {
        let (mut tag, mut bytes) = (String::new(), None);
        for field in part.fields().flatten() {
            match field.number {
                1 => tag = field.value.text(),
                2 => bytes = Some(field.value.part()),
                _ => {}
            }
        }
        if let Some(bytes) = bytes {
            self.member(&tag, event, bytes, place, true);
        }
    }

    fn value(&mut self, event: &Event, value: &Value, place: Place) {
        let kind = match kind_of(value, &self.tags) {
            Some(kind) => kind,
            None => return,
        };
        let new = matches!(value.data, Data::Tensor(_) | Data::Nothing) && !self.tags.contains_key(value.tag);
        if new {
            if self.tags.len() >= TAGS {
                self.many_tags = true;
                return;
            }
            Arc::make_mut(&mut self.tags).insert(value.tag.to_vec(), kind);
        }
        if kind == Kind::HParams {
            self.hparams(value);
            return;
        }
        if kind == Kind::Scalars {
            self.scalars.push(place, 1, MANY);
        }
        let rows = kind.rows(value);
        let Some(series) = self.series_of(kind, value) else { return };
        let most = if series < CLOSE.0 { CLOSE.1 } else { WIDE };
        let Some(series) = self.series.get_mut(series) else { return };
        if series.values == 0 {
            series.steps = (event.step, event.step);
            series.about = Arc::new(value.metadata.as_ref().map_or_else(About::default, About::of));
        }
        series.values += 1;
        series.steps = (series.steps.0.min(event.step), series.steps.1.max(event.step));
        series.marks.push(place, rows, most);
    }

    /// The number of the series that a value belongs to, a new one where its tag is new.
    fn series_of(&mut self, kind: Kind, value: &Value) -> Option<usize> {
        let known = self.by_tag.get(kind as usize).and_then(|tags| tags.get(value.tag)).copied();
        if known.is_some() {
            return known;
        }
        if self.by_tag.iter().map(HashMap::len).sum::<usize>() >= TAGS {
            self.many_tags = true;
            return None;
        }
        // Tags that are no texts may become the same one.
        let name = String::from_utf8_lossy(value.tag).into_owned();
        let number = *self.by_name.entry((kind, name)).or_insert(self.series.len());
        if number == self.series.len() {
            self.series.push(Series::default());
        }
        self.by_tag.get_mut(kind as usize)?.insert(value.tag.to_vec(), number);
        Some(number)
    }

    fn hparams(&mut self, value: &Value) {
        let Some(metadata) = &value.metadata else { return };
        let content = metadata.content.bytes();
        if self.hparams_bytes.saturating_add(content.len()) <= HPARAMS {
            self.hparams_bytes += content.len();
            self.hparams.push((String::from_utf8_lossy(value.tag).into_owned(), content.to_vec()));
        }
    }

    /// All tags in order, with their values.
    pub(super) fn all(&self) -> impl Iterator<Item = (&(Kind, String), &Series)> {
        self.by_name.iter().filter_map(|(key, number)| Some((key, self.series.get(*number)?)))
    }

    /// The tags of a kind.
    pub(super) fn tags(&self, kind: Kind) -> impl Iterator<Item = (&String, &Series)> {
        let all = self.by_name.range((kind, String::new())..).take_while(move |((of, _), _)| *of == kind);
        all.filter_map(|((_, tag), number)| Some((tag, self.series.get(*number)?)))
    }

    /// The values of a tag.
    pub(super) fn of(&self, kind: Kind, tag: &str) -> Option<&Series> {
        self.by_name.get(&(kind, tag.to_owned())).and_then(|number| self.series.get(*number))
    }
}

impl About {
    fn of(metadata: &Metadata) -> About {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        About {
            plugin: text(metadata.plugin),
            display_name: text(metadata.display_name),
            description: text(metadata.description),
        }
    }
}

/// The kind of a value, with what the first value of its tag said; `None` for a value without data.
pub(super) fn kind_of(value: &Value, plugins: &HashMap<Vec<u8>, Kind>) -> Option<Kind> {
    match value.data {
        Data::Simple(_) => Some(Kind::Scalars),
        Data::Histogram(_) => Some(Kind::Histograms),
        Data::Image(_) => Some(Kind::Images),
        Data::Audio(_) => Some(Kind::Audio),
        Data::Tensor(_) => {
            let own = || Kind::of_plugin(value.metadata.as_ref());
            Some(plugins.get(value.tag).copied().unwrap_or_else(own))
        }
        // The plugin's messages are in its metadata, beside no value.
        Data::Nothing => Some(Kind::of_plugin(value.metadata.as_ref())).filter(|kind| *kind == Kind::HParams),
    }
}

impl Findings for Log {
    fn problem(&self) -> Option<Error> {
        self.state.lock().problems.first().cloned()
    }

    fn remarks(&self) -> Vec<String> {
        let state = self.state.lock();
        let mut remarks: Vec<String> = state.problems.iter().skip(1).map(Error::message).collect();
        let more = state.problem_count.saturating_sub(state.problems.len() as u64);
        if more > 0 {
            remarks.push(format!("{} more records are broken", crate::bytes::display::count(more)));
        }
        remarks.extend(state.remarks.iter().cloned());
        if state.many_tags {
            let most = crate::bytes::display::count(TAGS as u64);
            remarks.push(format!("there are more than {most} tags; the others are not listed"));
        }
        remarks
    }
}
