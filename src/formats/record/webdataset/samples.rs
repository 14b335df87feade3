//! The samples of an archive: members that follow each other and have the same key; or, where the members of samples lie
//! apart, all members of a key.

use super::member::{Member, header_in, member, next_header};
use crate::bytes::archive::tar::BLOCK;
use crate::bytes::cache::Reservation;
use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Rows};
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use crate::engines::records::container::{
    Container, Each, Framed, Problems, Record, RecordFraming, key_text,
};
use crate::engines::records::{Frame, Framing, Window};
use crate::formats::ALL;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

/// The most members of one sample.
const MEMBERS: usize = 4_096;
/// The most members that are put together by their keys where those of a sample lie apart.
const APART: usize = 8 << 20;
/// The most samples whose keys are kept to be found.
const KEYS: u64 = 32 << 20;
/// Samples that are looked at together.
const STEP: u64 = 1 << 14;
/// Members between two looks at the task.
const CHECK: usize = 1_024;

/// Samples as frames: members of one key that follow each other.
pub(super) struct Samples {
    /// Where broken headers within a sample are said.
    problems: Arc<Problems>,
}

impl Framing for Samples {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        let mut sample: Option<(String, Range<u64>, usize)> = None;
        let mut next = at;
        loop {
            let found = match member(window, next) {
                Err(error) if error.is_cancelled() || sample.is_none() => return Err(error),
                // A sample goes on behind a broken header of its own; where nothing follows the next look says so.
                Err(error) => match next_header(window, next.saturating_add(BLOCK))? {
                    Some(behind) => {
                        self.problems.add(error);
                        next = behind;
                        continue;
                    }
                    None => break,
                },
                Ok(None) => break,
                Ok(Some(found)) => found,
            };
            if let Some(problem) = found.problem.as_ref().filter(|_| found.place().is_some()) {
                self.problems.add(problem.clone());
            }
            match (found.place(), &mut sample) {
                (None, None) => return Ok(Some(Frame { span: at..found.end, records: 0, end: found.end })),
                (None, Some(_)) => {}
                (Some((key, _)), None) => sample = Some((key.to_owned(), found.begin..found.end, 1)),
                (Some((key, _)), Some((known, span, members))) if key == known && *members < MEMBERS => {
                    span.end = found.end;
                    *members += 1;
                    if members.is_multiple_of(CHECK) {
                        window.task.check()?;
                    }
                }
                (Some(_), Some(_)) => break,
            }
            next = found.end;
        }
        Ok(sample.map(|(_, span, _)| Frame { span, records: 1, end: next }))
    }

    fn resume(&self, window: &mut Window, at: u64) -> Result<Option<u64>> {
        next_header(window, at.saturating_add(BLOCK))
    }
}

impl RecordFraming for Samples {
    fn payload<'w>(
        &self,
        window: &'w mut Window<'_>,
        frame: &Range<u64>,
        scratch: &'w mut Vec<u8>,
    ) -> Result<&'w [u8]> {
        scratch.clear();
        for member in members(window, frame)? {
            append(window, &member, scratch)?;
        }
        Ok(scratch)
    }

    fn len(&self, window: &mut Window<'_>, frame: &Range<u64>) -> Result<u64> {
        Ok(members(window, frame)?.iter().fold(0, |all, member| all.saturating_add(member.size)))
    }

    /// The second key: where that begins a sample does for sure.
    fn first_in(&self, part: &[u8]) -> Option<usize> {
        let (task, mut at) = (Task::new(), header_in(part)? as u64);
        let source = Source::memory("", Bytes::copy_from_slice(part));
        let mut window = Window::new(&task, &source);
        let mut before: Option<String> = None;
        while let Ok(Some(found)) = member(&mut window, at) {
            if let Some((key, _)) = found.place() {
                if before.as_deref().is_some_and(|before| before != key) {
                    return usize::try_from(found.begin).ok();
                }
                before = Some(key.to_owned());
            }
            at = found.end;
        }
        None
    }
}

/// Adds the bytes of a member.
fn append(window: &Window, member: &Member, out: &mut Vec<u8>) -> Result<()> {
    if let Some(problem) = &member.problem {
        return Err(problem.clone());
    }
    let begin = out.len();
    limits::check(member.size.saturating_add(begin as u64), limits::CHUNK, "a sample")?;
    out.extend_from_slice(&window.source.read(window.task, member.data..member.data + member.size)?);
    Ok(())
}

/// The members of the sample that lies here: those of the first one's key.
fn members(window: &mut Window, span: &Range<u64>) -> Result<Vec<Member>> {
    let (mut all, mut at): (Vec<Member>, u64) = (Vec::new(), span.start);
    while at < span.end {
        let found = match member(window, at).unless_cancelled()? {
            Ok(Some(found)) => found,
            Ok(None) => break,
            // It was said when the sample was found.
            Err(_) => match next_header(window, at.saturating_add(BLOCK))? {
                Some(behind) => {
                    at = behind;
                    continue;
                }
                None => break,
            },
        };
        at = found.end;
        let of = all.first().and_then(Member::place);
        if let Some((key, _)) = found.place()
            && of.is_none_or(|(known, _)| known == key)
        {
            all.push(found);
        }
    }
    Ok(all)
}

/// Where the members of samples begin that lie apart.
struct Apart {
    /// By sample.
    begins: Vec<u64>,
    /// The number of the first member of each sample.
    starts: Vec<u32>,
    _reservation: Reservation,
}

impl Apart {
    fn of(&self, sample: u64) -> &[u64] {
        let number = |n: u64| self.starts.get(usize::try_from(n).ok()?).map(|start| *start as usize);
        let (Some(start), end) = (number(sample), number(sample.saturating_add(1))) else { return &[] };
        self.begins.get(start..end.unwrap_or(self.begins.len())).unwrap_or_default()
    }

    fn len(&self) -> u64 {
        self.starts.len() as u64
    }

    /// Goes through the archive.
    fn read(task: &Task, source: &Source, problems: &Problems) -> Result<Apart> {
        if let Some(len) = source.known_len() {
            task.set_total(len);
        }
        let (mut window, hasher) = (Window::new(task, source), RandomState::new());
        let (mut known, mut placed, mut at): (HashMap<u64, u32>, Vec<(u32, u64)>, u64) =
            (HashMap::new(), Vec::new(), 0);
        let mut looked = 0_usize;
        loop {
            looked += 1;
            if looked.is_multiple_of(CHECK) {
                task.check()?;
                task.reached(at);
            }
            match member(&mut window, at).unless_cancelled()? {
                Ok(None) => break,
                Ok(Some(found)) => {
                    if let Some((key, _)) = found.place() {
                        if let Some(problem) = &found.problem {
                            problems.add(problem.clone());
                        }
                        if placed.len() >= APART {
                            let most = display::count(APART as u64);
                            let what = format!(
                                "WebDataset: the members of samples lie apart; those behind the first {most} are left out"
                            );
                            problems.add(Error::limit(what).at(at));
                            break;
                        }
                        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                        placed.push((*known.entry(hasher.hash_one(key)).or_insert(next), found.begin));
                    }
                    at = found.end.max(at.saturating_add(1));
                }
                Err(error) => {
                    problems.add(error);
                    match next_header(&mut window, at.saturating_add(BLOCK))? {
                        Some(next) => at = next,
                        None => break,
                    }
                }
            }
        }
        placed.sort_by_key(|(sample, _)| *sample);
        let mut starts = Vec::with_capacity(known.len());
        for (n, (sample, _)) in placed.iter().enumerate() {
            if *sample as usize == starts.len() {
                starts.push(n as u32);
            }
        }
        let begins: Vec<u64> = placed.iter().map(|(_, begin)| *begin).collect();
        let reservation = Reservation::new(begins.len() * 8 + starts.len() * 4);
        Ok(Apart { begins, starts, _reservation: reservation })
    }
}

/// Where samples are by their keys.
struct Keys {
    /// Hashes of keys with numbers of samples, in order.
    sorted: Vec<(u32, u32)>,
    hasher: RandomState,
    _reservation: Reservation,
}

/// An archive of samples.
pub(super) struct Shard {
    framed: Framed<Samples>,
    /// Where the members of samples lie apart, how many samples there are at least.
    is_apart: Option<u64>,
    apart: Mutex<Option<Arc<Apart>>>,
    keys: Mutex<Option<Arc<Keys>>>,
}

impl Shard {
    /// The samples of an archive; nothing is read yet. Where their members lie apart, it is told how many there are at least.
    pub(super) fn new(source: Source, is_apart: Option<u64>) -> Self {
        let problems = Arc::<Problems>::default();
        let framed =
            Framed::new(source, ALL, Samples { problems: problems.clone() }, 0).with_problems(problems);
        Shard { framed, is_apart, apart: Mutex::new(None), keys: Mutex::new(None) }
    }

    /// Finds so many samples, where that means no look at the whole archive.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn begin(&self, task: &Task, samples: u64) -> Result<()> {
        if self.is_apart.is_some() { Ok(()) } else { self.framed.extend(task, samples, samples as usize) }
    }

    fn apart(&self, task: &Task) -> Result<Arc<Apart>> {
        let mut kept = self.apart.lock();
        if let Some(apart) = &*kept {
            return Ok(apart.clone());
        }
        let apart = Arc::new(Apart::read(task, self.source(), self.problems())?);
        *kept = Some(apart.clone());
        Ok(apart)
    }

    /// The members of a sample, in the order of the file.
    ///
    /// # Errors
    /// `Cancelled`; failures to read.
    pub(super) fn members(&self, window: &mut Window, record: &Record) -> Result<Vec<Member>> {
        if self.is_apart.is_none() {
            return members(window, &record.span);
        }
        let apart = self.apart(window.task)?;
        let of = apart.of(record.number).iter().take(MEMBERS);
        Ok(of.map(|at| member(window, *at)).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    fn apart_record(&self, window: &mut Window, apart: &Apart, number: u64) -> Result<Record> {
        let members: Vec<Member> = apart
            .of(number)
            .iter()
            .filter_map(|at| member(window, *at).transpose())
            .collect::<Result<_>>()?;
        let start = members.iter().map(|member| member.begin).min().unwrap_or(0);
        let end = members.iter().map(|member| member.end).max().unwrap_or(0);
        let len = members.iter().fold(0_u64, |all, member| all.saturating_add(member.size));
        let key =
            members.first().and_then(Member::place).map(|(key, _)| Bytes::copy_from_slice(key.as_bytes()));
        Ok(Record { number, key, span: start..end, len })
    }

    /// The keys, read once; `None` where there are too many.
    fn keys(&self, task: &Task) -> Result<Option<Arc<Keys>>> {
        let mut kept = self.keys.lock();
        if let Some(keys) = &*kept {
            return Ok(Some(keys.clone()));
        }
        let count = self.measure(task)?;
        if count > KEYS {
            return Ok(None);
        }
        let (hasher, mut sorted, mut at) = (RandomState::new(), Vec::new(), 0);
        while at < count {
            task.check()?;
            let found = self.records(task, at..at.saturating_add(STEP))?;
            let Some(last) = found.last() else { break };
            at = last.number.saturating_add(1);
            let hash = |record: &Record| (hasher.hash_one(self.name(record)) as u32, record.number as u32);
            sorted.extend(found.iter().map(hash));
        }
        sorted.sort_unstable();
        let reservation = Reservation::new(sorted.len() * 8);
        let keys = Arc::new(Keys { sorted, hasher, _reservation: reservation });
        *kept = Some(keys.clone());
        Ok(Some(keys))
    }

    /// A member of a sample as a node, under this name.
    fn field(&self, member: &Member, name: &str) -> Node {
        let node = Node::new(name, "field");
        let source = self.source().clone();
        if let Some(problem) = &member.problem {
            let node = node.problem(problem.clone());
            // What is there of a member that is cut off can still be looked at.
            let end = source.known_len().filter(|end| *end > member.data && member.size > 0);
            let part = end.and_then(|end| source.member(name, member.data..end.min(member.end)).ok());
            return part.map_or(node.clone(), |part| node.content(Content::Bytes(part)));
        }
        let span = member.data..member.data.saturating_add(member.size);
        if span.is_empty() {
            let empty = Content::Bytes(Source::memory(name, &b""[..]));
            return node.content(empty).remark("it is empty (0 bytes)");
        }
        let file = member.path.rsplit('/').next().unwrap_or_default().to_owned();
        let range = span.clone();
        let nested = ALL
            .nested(name, "field", Options::default(), move |_| source.member(file.as_str(), range.clone()));
        if self.source().path().is_some() { nested.span(span) } else { nested }
    }
}

/// The name of a field: its extension in small letters.
pub(super) fn field_name(field: &str) -> String {
    field.to_lowercase()
}

impl Container for Shard {
    fn source(&self) -> &Source {
        self.framed.source()
    }

    fn formats(&self) -> Formats {
        ALL
    }

    fn rows(&self) -> Rows {
        if self.is_apart.is_none() {
            return self.framed.rows();
        }
        // While it is being made nobody waits.
        let apart = self.apart.try_lock().and_then(|apart| apart.clone());
        apart.map_or(Rows::AtLeast(self.is_apart.unwrap_or(1)), |apart| Rows::Exact(apart.len()))
    }

    fn measure(&self, task: &Task) -> Result<u64> {
        if self.is_apart.is_some() { Ok(self.apart(task)?.len()) } else { self.framed.measure(task) }
    }

    fn records(&self, task: &Task, range: Range<u64>) -> Result<Vec<Record>> {
        if self.is_apart.is_some() {
            let apart = self.apart(task)?;
            let mut window = Window::new(task, self.source());
            let wanted = range.start..range.end.min(apart.len());
            return wanted.map(|number| self.apart_record(&mut window, &apart, number)).collect();
        }
        let mut records = self.framed.records(task, range)?;
        let mut window = Window::new(task, self.source());
        for record in &mut records {
            let found = member(&mut window, record.span.start)?;
            let key = found.as_ref().and_then(Member::place).map(|(key, _)| key.as_bytes());
            record.key = key.map(Bytes::copy_from_slice);
        }
        Ok(records)
    }

    fn read(&self, task: &Task, records: &[Record], each: &mut Each<'_>) -> Result<()> {
        if self.is_apart.is_none() {
            return self.framed.read(task, records, each);
        }
        let mut window = Window::new(task, self.source());
        let mut bytes = Vec::new();
        for record in records {
            task.check()?;
            bytes.clear();
            let read = self.members(&mut window, record);
            let read = read.and_then(|all| all.iter().try_for_each(|one| append(&window, one, &mut bytes)));
            match read.unless_cancelled()? {
                Ok(()) => each(record, Ok(&bytes))?,
                Err(error) => each(record, Err(error))?,
            }
        }
        Ok(())
    }

    fn average(&self) -> u64 {
        if self.is_apart.is_none() {
            return self.framed.average();
        }
        let known = self.rows().known().max(1);
        self.source().known_len().unwrap_or(0) / known
    }

    fn problems(&self) -> &Arc<Problems> {
        self.framed.problems()
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Record>> {
        let Some(keys) = self.keys(task)? else {
            return self.search(task, name);
        };
        let hash = keys.hasher.hash_one(name) as u32;
        let first = keys.sorted.partition_point(|(known, _)| *known < hash);
        let same =
            keys.sorted.get(first..).unwrap_or_default().iter().take_while(|(known, _)| *known == hash);
        for (_, number) in same {
            let number = u64::from(*number);
            let found = self.records(task, number..number.saturating_add(1))?.pop();
            if let Some(record) = found.filter(|record| self.name(record) == name) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn node(&self, task: &Task, record: &Record) -> Result<Node> {
        let mut window = Window::new(task, self.source());
        let (mut seen, mut children): (HashMap<String, usize>, Vec<Node>) = (HashMap::new(), Vec::new());
        for member in self.members(&mut window, record)? {
            let Some((_, field)) = member.place() else { continue };
            let name = field_name(field);
            let times = seen.entry(name.clone()).or_default();
            *times += 1;
            let again = *times > 1;
            let shown = if again { format!("{name} ({times})") } else { name };
            let mut node = self.field(&member, &shown);
            if again {
                node = node.remark(
                    "the sample has this field more than once; the library webdataset refuses such archives",
                );
            }
            children.push(node);
        }
        Ok(Node::new(self.name(record), "sample").listed(children))
    }
}

impl Shard {
    /// The first sample of this key, looked for in all of them.
    fn search(&self, task: &Task, name: &str) -> Result<Option<Record>> {
        let mut at = 0;
        loop {
            task.check()?;
            let found = self.records(task, at..at.saturating_add(STEP))?;
            let Some(last) = found.last() else { return Ok(None) };
            at = last.number.saturating_add(1);
            let is_it = |record: &Record| record.key.as_deref().is_some_and(|key| key_text(key) == name);
            if let Some(record) = found.into_iter().find(is_it) {
                return Ok(Some(record));
            }
        }
    }
}
