//! Where the messages are: the footer of a file, the walk along a stream, and the list of record
//! batches and dictionaries that both give.
//!
//! A batch's row count stands in its own header, so the headers of the first [`AT_OPEN`] batches are
//! read at open; a longer file or stream is walked on when somebody asks for later rows.

use super::batch::Batch;
use super::capacity;
use super::flat;
use super::schema::{self, Cursor, IpcSchema, Plan};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::sniff::{Head, Match};
use arrow::ipc;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many messages are walked at open.
const AT_OPEN: u64 = 10_000;
/// How many of them in any case,
const AT_LEAST: u64 = 64;
/// and how long the others may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// Four headers that take longer than this come from a cold disk.
const SLOW: Duration = Duration::from_millis(2);
/// How many of its headers are then fetched side by side.
const READERS: usize = 16;
/// How many bytes of a message are read at once; few have more metadata.
const HEADER: u64 = 4096;
/// The most texts of one message that may be no UTF-8.
const REPAIRS: usize = 100;
/// The most remarks about single batches.
const REMARKS: usize = 20;

/// What opening gives.
pub(super) struct Opened {
    pub(super) schema: IpcSchema,
    pub(super) index: Index,
    /// What a user should know.
    pub(super) remarks: Vec<String>,
    /// The container in words.
    pub(super) container: &'static str,
}

/// Where a batch's description is.
#[derive(Clone)]
pub(super) enum Header {
    /// In these bytes of the file: a flatbuffer message.
    Message(Range<u64>),
    /// Here: of formats that describe it in another way.
    Made(Arc<Batch>),
}

/// A record batch.
#[derive(Clone)]
pub(super) struct BatchAt {
    pub(super) header: Header,
    /// Its buffers.
    pub(super) body: Range<u64>,
    pub(super) rows: u64,
    /// Why its rows are not known.
    pub(super) problem: Option<Error>,
}

/// A dictionary, or an addition to it.
#[derive(Clone)]
pub(super) struct DictionaryAt {
    pub(super) header: Header,
    pub(super) body: Range<u64>,
    /// It is added to what was there before.
    pub(super) delta: bool,
    /// It holds from the batch of this number on.
    pub(super) from: usize,
}

/// What is known so far.
#[derive(Default)]
pub(super) struct Known {
    pub(super) batches: Vec<BatchAt>,
    /// The first row of each batch, and the end of the last.
    pub(super) starts: Vec<u64>,
    /// By their number, in file order.
    pub(super) dictionaries: HashMap<i64, Vec<DictionaryAt>>,
    pub(super) codecs: Vec<String>,
    /// There are no more messages.
    pub(super) complete: bool,
    /// Why the walk ended early.
    pub(super) broken: Option<Error>,
    remarks: Vec<String>,
    /// Columns that hold nulls although the schema says that they do not.
    nulls: Vec<usize>,
}

impl Known {
    /// Rows of the batches known so far.
    pub(super) fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }
}

impl Index {
    /// Fetches the headers of a file's batches side by side, if they come slowly: on a cold disk, one
    /// after the other would take a seek each.
    fn warm_up(&self, task: &Task, source: &Source) {
        let Walk::Blocks(blocks) = &*self.walk.lock() else { return };
        let places: Vec<u64> =
            blocks.as_slice().iter().take(AT_OPEN as usize).filter_map(|b| Some(b.place().ok()?.0)).collect();
        let touch = |place: &u64| drop(source.read_into(task, *place, &mut [0; 4]));
        let (probes, rest) = places.split_at(places.len().min(4));
        let begun = Instant::now();
        probes.iter().for_each(touch);
        if begun.elapsed() < SLOW || rest.is_empty() {
            return;
        }
        std::thread::scope(|scope| {
            for part in rest.chunks(rest.len().div_ceil(READERS)) {
                // A machine that cannot start a thread fetches them one after the other, later.
                let work = move || part.iter().for_each(touch);
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
        });
    }
}

/// The list of messages, which grows while they are walked along.
pub(super) struct Index {
    known: RwLock<Known>,
    walk: Mutex<Walk>,
    /// Columns without nulls by the schema, and their field node.
    without_nulls: Vec<(usize, usize)>,
    /// What the columns need of a batch's buffers.
    plans: Vec<Arc<Plan>>,
    old_unions: bool,
}

/// How the next message is found.
enum Walk {
    Blocks(std::vec::IntoIter<Block>),
    Stream { at: u64, len: Option<u64> },
}

/// A line of the footer.
#[derive(Clone, Copy)]
struct Block {
    offset: i64,
    metadata: i32,
    body: i64,
}

impl Block {
    fn of(block: &ipc::Block) -> Block {
        Block { offset: block.offset(), metadata: block.metaDataLength(), body: block.bodyLength() }
    }

    /// Where the message starts, and its body.
    fn place(&self) -> Result<(u64, Range<u64>)> {
        let place = || {
            let offset = u64::try_from(self.offset).ok()?;
            let body = offset.checked_add(u64::try_from(self.metadata).ok()?)?;
            Some((offset, body..body.checked_add(u64::try_from(self.body).ok()?)?))
        };
        place().ok_or_else(|| {
            let Block { offset, metadata, body } = self;
            Error::malformed(format!("footer: a block at {offset} of {metadata} and {body} bytes"))
        })
    }
}

impl Index {
    fn new(schema: &IpcSchema, walk: Walk) -> Self {
        let mut at = Cursor::default();
        let mut without_nulls = Vec::new();
        for (column, plan) in schema.plans.iter().enumerate() {
            if !schema.schema.field(column).is_nullable() {
                without_nulls.push((column, at.node));
            }
            plan.skip(&mut at, &[], schema.old_unions);
        }
        let known = Known { starts: vec![0], ..Known::default() };
        let (plans, old_unions) = (schema.plans.clone(), schema.old_unions);
        Index { known: RwLock::new(known), walk: Mutex::new(walk), without_nulls, plans, old_unions }
    }

    /// An index of what is known in full.
    pub(super) fn whole(batch: BatchAt, dictionaries: HashMap<i64, Vec<DictionaryAt>>) -> Self {
        let starts = vec![0, batch.rows];
        let known = Known { batches: vec![batch], starts, dictionaries, complete: true, ..Known::default() };
        let walk = Mutex::new(Walk::Blocks(Vec::new().into_iter()));
        let (without_nulls, plans) = (Vec::new(), Vec::new());
        Index { known: RwLock::new(known), walk, without_nulls, plans, old_unions: false }
    }

    /// Looks at what is known; for a moment only.
    pub(super) fn with<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read())
    }

    /// Walks on until row `row` is known, or to the end.
    pub(super) fn reach(&self, task: &Task, source: &Source, row: u64) -> Result<()> {
        let enough = |known: &Known| known.complete || known.rows() > row;
        if self.with(enough) {
            return Ok(());
        }
        self.walk(task, source, |_, known| !enough(known))
    }

    /// Walks on while `go_on` says so of the count of messages and of what is known.
    fn walk(&self, task: &Task, source: &Source, go_on: impl Fn(u64, &Known) -> bool) -> Result<()> {
        let mut walk = self.walk.lock();
        for n in 0.. {
            if !self.with(|known| go_on(n, known)) {
                break;
            }
            if n % 64 == 0 {
                task.check()?;
            }
            if let Err(error) = self.step(task, source, &mut walk).unless_cancelled()? {
                let mut known = self.known.write();
                known.complete = true;
                known.broken = Some(error);
            }
        }
        Ok(())
    }

    /// One message more. An error ends the walk.
    fn step(&self, task: &Task, source: &Source, walk: &mut Walk) -> Result<()> {
        match walk {
            Walk::Blocks(blocks) => {
                let Some(block) = blocks.next() else {
                    self.known.write().complete = true;
                    return Ok(());
                };
                let found = block.place().and_then(|(offset, body)| {
                    let message = message(task, source, offset)?.ok_or_else(|| nothing(offset))?;
                    self.add(source, &message, Some(body))
                });
                // The footer leads on to the next batch.
                if let Err(error) = found.unless_cancelled()? {
                    self.lost(error);
                }
                Ok(())
            }
            Walk::Stream { at, len } => {
                let Some(message) = message(task, source, *at)? else {
                    self.known.write().complete = true;
                    return Ok(());
                };
                let end = message.body.end;
                let whole = match *len {
                    Some(len) => end <= len,
                    None => end == 0 || source.read_up_to(task, end - 1, 1)?.len() == 1,
                };
                if !whole {
                    let number = self.with(|known| known.batches.len());
                    let what = format!("stream: it is cut off in message {number} (counted from 0)");
                    return Err(Error::malformed(what).at(*at));
                }
                let found = self.add(source, &message, None).map_err(|e| e.at(*at));
                *at = end;
                match found {
                    // A batch that is wrong in itself leaves the next one where it is.
                    Err(error) if message.is_batch() => {
                        self.lost(error);
                        Ok(())
                    }
                    other => other,
                }
            }
        }
    }

    /// Notes a record batch of a file that cannot be found.
    fn lost(&self, error: Error) {
        let mut known = self.known.write();
        let number = known.batches.len();
        if known.remarks.len() < REMARKS {
            known.remarks.push(format!("record batch {number} is left out: {}", error.message()));
        }
        let rows = known.rows();
        known.starts.push(rows);
        known.batches.push(BatchAt {
            header: Header::Message(0..0),
            body: 0..0,
            rows: 0,
            problem: Some(error),
        });
    }

    /// Adds a message's batch or dictionary; other messages are passed over.
    fn add(&self, source: &Source, found: &Message, body: Option<Range<u64>>) -> Result<()> {
        let body = body.unwrap_or(found.body.clone());
        let header = Header::Message(found.metadata.clone());
        let parsed = found.parse()?;
        if let Some(dictionary) = parsed.header_as_dictionary_batch() {
            let mut known = self.known.write();
            let from = known.batches.len();
            let place = DictionaryAt { header, body, delta: dictionary.isDelta(), from };
            known.dictionaries.entry(dictionary.id()).or_default().push(place);
            return Ok(());
        }
        let Some(batch) = parsed.header_as_record_batch() else {
            return match parsed.header_type() {
                ipc::MessageHeader::Schema => Err(Error::malformed("stream: a second schema inside it")),
                _ => Ok(()),
            };
        };
        let rows = u64::try_from(batch.length())
            .map_err(|_| Error::malformed(format!("record batch: it has {} rows", batch.length())))?;
        let there = body.end.min(source.known_len().unwrap_or(u64::MAX)).saturating_sub(body.start);
        let plans = self.plans.iter().map(AsRef::as_ref);
        if !capacity::holds(plans, &Batch::of(batch)?, there, self.old_unions, rows) {
            return Err(Error::malformed(format!(
                "record batch: it claims {rows} rows, which none of its columns has room for"
            )));
        }
        let mut known = self.known.write();
        let total = known.rows().checked_add(rows).filter(|&total| total <= i64::MAX as u64);
        let total =
            total.ok_or_else(|| Error::malformed("record batch: the rows of all overflow 63 bits"))?;
        if let Some(codec) = batch.compression().map(|c| super::batch::codec_name(c.codec()))
            && !known.codecs.iter().any(|c| c == codec)
        {
            known.codecs.push(codec.to_owned());
        }
        if let Some(nodes) = batch.nodes() {
            for &(column, node) in &self.without_nulls {
                if node < nodes.len() && nodes.get(node).null_count() > 0 && !known.nulls.contains(&column) {
                    known.nulls.push(column);
                }
            }
        }
        known.starts.push(total);
        known.batches.push(BatchAt { header, body, rows, problem: None });
        Ok(())
    }
}

/// A message: its flatbuffer, and where that and its body are.
pub(super) struct Message {
    bytes: Bytes,
    /// As in the file, where text in it is no UTF-8.
    original: Bytes,
    metadata: Range<u64>,
    body: Range<u64>,
}

impl Message {
    fn is_batch(&self) -> bool {
        self.parse().is_ok_and(|message| message.header_type() == ipc::MessageHeader::RecordBatch)
    }

    fn parse(&self) -> Result<ipc::Message<'_>> {
        parse(&self.bytes).map_err(|e| e.at(self.metadata.start))
    }
}

/// A message's flatbuffer, verified.
pub(super) fn parse(bytes: &[u8]) -> Result<ipc::Message<'_>> {
    ipc::root_as_message(bytes).map_err(|e| Error::malformed(format!("message: {}", first_line(&e))))
}

/// A flatbuffer in which all text is UTF-8. Writers put any bytes into metadata; the verifier takes
/// none but UTF-8, so others are replaced by question marks for it.
pub(super) fn repaired(
    bytes: Bytes,
    verify: impl Fn(&[u8]) -> Result<(), flatbuffers::InvalidFlatbuffer>,
) -> Bytes {
    let mut copy: Option<Vec<u8>> = None;
    for _ in 0..REPAIRS {
        let Err(flatbuffers::InvalidFlatbuffer::Utf8Error { range, .. }) =
            verify(copy.as_deref().unwrap_or(&bytes))
        else {
            break;
        };
        let text = copy.get_or_insert_with(|| bytes.to_vec()).get_mut(range);
        text.into_iter().flatten().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
    }
    copy.map_or(bytes, Bytes::from)
}

fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

fn nothing(at: u64) -> Error {
    Error::malformed("footer: there is no message where it points at").at(at)
}

/// Up to [`HEADER`] bytes from `at`. They are copied, not mapped: a page of the map that is not in
/// memory would bring its neighbours along, which are values.
fn start_of(task: &Task, source: &Source, at: u64) -> Result<Bytes> {
    let Some(len) = source.known_len().filter(|_| source.is_random_access()) else {
        return source.read_up_to(task, at, 8);
    };
    let mut head = vec![0; len.saturating_sub(at).min(HEADER) as usize];
    source.read_into(task, at, &mut head)?;
    Ok(head.into())
}

/// The message at `at`; `None` at the mark that ends a stream, and where the bytes end.
fn message(task: &Task, source: &Source, at: u64) -> Result<Option<Message>> {
    let head = start_of(task, source, at)?;
    if head.is_empty() {
        return Ok(None);
    }
    let word = |at: usize| le::<i32>(&head, at);
    // Since Arrow 0.15 the length follows a mark of four 0xff.
    let (size, prefix) = match word(0) {
        Some(-1) => (word(4), 8),
        first => (first, 4),
    };
    let Some(size) = size else {
        return Err(Error::malformed("stream: it is cut off in the length of a message").at(at));
    };
    if size == 0 {
        return Ok(None);
    }
    let Ok(size) = u64::try_from(size) else {
        return Err(Error::malformed(format!("message: its length is {size}")).at(at));
    };
    limits::check(size, limits::HEADER, "the metadata of a message").map_err(|e| e.at(at))?;
    let start = at.checked_add(prefix).ok_or_else(|| nothing(at))?;
    let metadata = start..start.saturating_add(size);
    let original = match usize::try_from(prefix + size) {
        Ok(end) if end <= head.len() => head.slice(prefix as usize..end),
        _ => source.read(task, metadata.clone()).map_err(|e| e.at(at))?,
    };
    let bytes = repaired(original.clone(), |bytes| ipc::root_as_message(bytes).map(drop));
    let body = u64::try_from(parse(&bytes).map_err(|e| e.at(at))?.bodyLength()).ok();
    let body = body.and_then(|len| Some(metadata.end..metadata.end.checked_add(len)?));
    let body = body.ok_or_else(|| Error::malformed("message: the length of its body").at(at))?;
    Ok(Some(Message { bytes, original, metadata, body }))
}

/// Opens a stream that starts at `start`.
///
/// # Errors
/// `Malformed` where there is no schema.
pub(super) fn stream(task: &Task, source: &Source, start: u64) -> Result<Opened> {
    let first = message(task, source, start)?;
    let first = first.ok_or_else(|| Error::malformed("stream: there is no schema").at(start))?;
    let parsed = first.parse()?;
    let Some(header) = parsed.header_as_schema() else {
        return Err(Error::malformed("stream: it does not start with a schema").at(start));
    };
    let schema = schema::read(header, parsed.version(), (&first.bytes, &first.original))?;
    let walk = Walk::Stream { at: first.body.end, len: source.known_len() };
    let container = if start == 0 { "IPC stream" } else { "IPC file" };
    begin(task, source, schema, Vec::new(), walk, container)
}

/// Opens a file by its footer.
///
/// # Errors
/// `Malformed` where there is no whole footer.
pub(super) fn file(task: &Task, source: &Source) -> Result<Opened> {
    let len = source.len(task)?;
    let short =
        || Error::malformed(format!("footer: the file has {len} bytes, too few for one; it is cut off"));
    let tail_at = len.checked_sub(10).filter(|&at| at >= 8).ok_or_else(short)?;
    let tail = source.read(task, tail_at..len)?;
    let (size, magic) = tail.split_at_checked(4).ok_or_else(short)?;
    if magic != super::MAGIC {
        let what = "footer: the file does not end with ARROW1; it is cut off, or still being written";
        return Err(Error::malformed(what).at(len - 6));
    }
    let size = i32::from_le_bytes(size.try_into().unwrap_or_default());
    let start = u64::try_from(size).ok().filter(|&size| size > 0).and_then(|size| tail_at.checked_sub(size));
    let Some(start) = start.filter(|&start| start >= 8) else {
        let what = format!("footer: its length, {size} bytes, does not fit a file of {len}");
        return Err(Error::malformed(what).at(tail_at));
    };
    limits::check(tail_at - start, limits::HEADER, "the footer")?;
    let original = source.read(task, start..tail_at)?;
    let bytes = repaired(original.clone(), |bytes| ipc::root_as_footer(bytes).map(drop));
    let footer = ipc::root_as_footer(&bytes)
        .map_err(|e| Error::malformed(format!("footer: {}", first_line(&e))).at(start))?;
    let header = footer.schema().ok_or_else(|| Error::malformed("footer: it has no schema").at(start))?;
    let both = (&bytes[..], &original[..]);
    let mut schema = schema::read(header, footer.version(), both)?;
    let metadata = footer.custom_metadata().into_iter().flatten();
    schema::pairs(metadata, both, &mut |key, value| schema.attributes.push((key, value)));
    let dictionaries: Vec<Block> = footer.dictionaries().into_iter().flatten().map(Block::of).collect();
    let batches: Vec<Block> = footer.recordBatches().into_iter().flatten().map(Block::of).collect();
    begin(task, source, schema, dictionaries, Walk::Blocks(batches.into_iter()), "IPC file")
}

fn begin(
    task: &Task,
    source: &Source,
    schema: IpcSchema,
    dictionaries: Vec<Block>,
    walk: Walk,
    container: &'static str,
) -> Result<Opened> {
    let index = Index::new(&schema, walk);
    let mut remarks = Vec::new();
    // A file's dictionaries hold for all of its batches, so all of them come first.
    for block in dictionaries {
        let found = block.place().and_then(|(offset, body)| {
            let message = message(task, source, offset)?.ok_or_else(|| nothing(offset))?;
            if message.parse()?.header_type() != ipc::MessageHeader::DictionaryBatch {
                return Err(Error::malformed("footer: a dictionary that is none").at(offset));
            }
            index.add(source, &message, Some(body))
        });
        match found.unless_cancelled()? {
            Err(error) if remarks.len() < REMARKS => {
                remarks.push(format!("a dictionary is left out: {}", error.message()));
            }
            _ => {}
        }
    }
    index.warm_up(task, source);
    let begun = Instant::now();
    index.walk(task, source, |n, known| {
        !known.complete && n < AT_OPEN && (n < AT_LEAST || begun.elapsed() < PATIENCE)
    })?;
    let (more, nulls) = index.with(|known| (known.remarks.clone(), known.nulls.clone()));
    remarks.extend(more);
    let schema = relaxed(schema, &nulls, &mut remarks);
    Ok(Opened { schema, index, remarks, container })
}

/// The schema, where columns may hold nulls if they do so.
fn relaxed(mut schema: IpcSchema, nulls: &[usize], remarks: &mut Vec<String>) -> IpcSchema {
    if nulls.is_empty() {
        return schema;
    }
    let mut fields: Vec<_> = schema.schema.fields().iter().cloned().collect();
    for &column in nulls {
        if let Some(field) = fields.get_mut(column) {
            if remarks.len() < REMARKS {
                let name = field.name();
                remarks.push(format!("column {name:?} has nulls, though the schema says that it has none"));
            }
            *field = Arc::new(field.as_ref().clone().with_nullable(true));
        }
    }
    let metadata = schema.schema.metadata().clone();
    schema.schema = Arc::new(arrow::datatypes::Schema::new_with_metadata(fields, metadata));
    schema
}

/// Whether a file starts like a stream: with a message that holds a schema.
pub(super) fn looks_like_a_stream(head: &Head) -> Match {
    let first = &head.first;
    let word = |at: usize| le::<i32>(first, at);
    let (size, start) = match word(0) {
        Some(-1) => (word(4), 8usize),
        size => (size, 4),
    };
    let Some(size) = size.and_then(|size| usize::try_from(size).ok()) else { return Match::No };
    // The shortest schema has more than 32 bytes; sizes are padded, with their prefix, to 8.
    if size < 32 || (size + start) % 8 != 0 || size as u64 > limits::HEADER {
        return Match::No;
    }
    if start + size <= first.len() {
        let bytes = first.slice(start..start + size);
        let bytes = repaired(bytes, |bytes| ipc::root_as_message(bytes).map(drop));
        let is_schema = ipc::root_as_message(&bytes).is_ok_and(|m| m.header_as_schema().is_some());
        return if is_schema { Match::Yes } else { Match::No };
    }
    // Longer than the head: the message's table stands at its start.
    let root = first.get(start..).ok_or(()).and_then(|bytes| flat::Table::root(bytes).map_err(drop));
    let Ok(root) = root else { return Match::No };
    let kind = (root.number::<i16>(0, 0), root.number::<u8>(1, 0));
    match kind {
        (Ok(3 | 4), Ok(1)) if start == 8 => Match::Yes,
        (Ok(3 | 4), Ok(1)) => Match::Maybe,
        _ => Match::No,
    }
}
