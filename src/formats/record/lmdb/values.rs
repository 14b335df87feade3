//! What the keys and values of a database are by convention, told by a sample of them: Caffe's `Datum` messages, texts,
//! integers, files of some format.

use super::layout::Db;
use super::store::Store;
use super::tree::Entry;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::is_picture;
use crate::data::content::array::{Plain, read};
use crate::data::content::{Array, Content, Image, ImageInfo, Pixels, Rect, Sample};
use crate::data::dtype::DType;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::region::{Region, Span};
use crate::engines::msgpack::{Token, token};
use crate::engines::pickle::{self, Report};
use crate::engines::protobuf::{Part, Value};
use crate::formats::{self, ALL};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Entries that are looked at at the beginning, and at the end.
const SAMPLE: u64 = 16;
/// Bytes of values that are looked at for texts, and places of a large store.
const TEXTS: u64 = 4 << 20;
const PLACES: u64 = 16;
/// Bytes of one value that are looked at.
const VALUE: u64 = 32 << 20;

/// What all values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing that they have in common, or files.
    Bytes,
    /// Texts.
    Text,
    /// Integers of the machine.
    Integer,
    /// Caffe's messages of an image and its label.
    Datum,
    /// Maps of MessagePack with texts as names.
    Maps,
}

/// What keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// Texts.
    Text,
    /// Integers of the machine.
    Integer,
    /// Bytes.
    Bytes,
}

/// What was found.
pub(super) struct Found {
    /// The values.
    pub(super) kind: Kind,
    /// The keys.
    pub(super) keys: Keys,
    /// What the values are, for people.
    pub(super) word: Option<String>,
    /// What the values that are pickles would import, as far as they were looked at; `None` where none is.
    pub(super) report: Option<Report>,
}

/// Looks at a sample of the entries.
///
/// # Errors
/// `Cancelled`; failures to read.
pub(super) fn look(task: &Task, store: &Store) -> Result<Found> {
    let rows = store.tree.known().0.max(store.tree.db.entries);
    let mut entries = store.entries(task, 0..SAMPLE.min(rows))?;
    let first_of_last = rows.saturating_sub(SAMPLE).max(SAMPLE);
    if first_of_last < rows {
        entries.extend(store.entries(task, first_of_last..rows)?);
    }
    let keys = match () {
        () if entries.is_empty() => Keys::Text,
        () if store.tree.db.is(Db::INTEGER_KEY)
            && entries.iter().all(|e| store.integer(&e.key).is_some()) =>
        {
            Keys::Integer
        }
        () if entries.iter().all(|entry| is_text(&entry.key)) => Keys::Text,
        () => Keys::Bytes,
    };
    let (kind, word) = values(task, store, &entries)?;
    let report = if kind == Kind::Bytes { report(task, store, &entries)? } else { None };
    Ok(Found { kind, keys, word, report })
}

/// What the values of the sample that are pickles would import; `None` where none is.
fn report(task: &Task, store: &Store, entries: &[Entry]) -> Result<Option<Report>> {
    let (mut report, mut looked_at) = (None::<Report>, 0_u64);
    for entry in entries {
        let first =
            entry.value.head(task, store.environment(), 1 << 10).unless_cancelled()?.unwrap_or_default();
        let beginning = pickle::beginning(&first, Some(entry.value.len()), None);
        if !(beginning.sure || beginning.likely && first.first() == Some(&0x80)) || entry.value.len() > VALUE
        {
            continue;
        }
        match entry.value.bytes(task, store.environment()).unless_cancelled()? {
            Ok(value) => report.get_or_insert_default().merge(pickle::examine(task, &value)?),
            Err(error) => report.get_or_insert_default().incomplete(error),
        }
        looked_at += 1;
    }
    let all = store.tree.db.entries;
    if let Some(report) = report.as_mut().filter(|_| looked_at < all) {
        report.incomplete(Error::limit(format!("{looked_at} of {all} values were looked into")));
    }
    Ok(report)
}

fn values(task: &Task, store: &Store, entries: &[Entry]) -> Result<(Kind, Option<String>)> {
    let bytes = (Kind::Bytes, None);
    if entries.is_empty() || entries.iter().any(|entry| entry.db.is_some()) {
        return Ok(bytes);
    }
    let integers = entries.iter().all(|entry| matches!(entry.value.len(), 4 | 8));
    if store.tree.db.is(Db::INTEGER_DUP) && integers {
        return Ok((Kind::Integer, Some("integers".to_owned())));
    }
    if entries.iter().all(|entry| entry.value.len() == 0) {
        return Ok(bytes);
    }
    let mut is_datum = true;
    for entry in entries.iter().filter(|entry| entry.value.len() > 0) {
        // Any of its fields may come first.
        let first = entry.value.head(task, store.environment(), 1).unless_cancelled()?;
        let begins =
            first.is_ok_and(|first| matches!(first.first(), Some(8 | 16 | 24 | 34 | 40 | 50 | 53 | 56)));
        if !begins || entry.value.len() > VALUE {
            is_datum = false;
            break;
        }
        let value = entry.value.bytes(task, store.environment()).unless_cancelled()?;
        is_datum &= value.is_ok_and(|value| Datum::read(&value).is_some_and(|datum| datum.is_sure()));
        if !is_datum {
            break;
        }
    }
    if is_datum {
        return Ok((Kind::Datum, Some("Caffe Datum".to_owned())));
    }
    if maps(task, store, entries)? {
        return Ok((Kind::Maps, Some("maps of MessagePack".to_owned())));
    }
    if texts(task, store, entries)? {
        return Ok((Kind::Text, Some("texts".to_owned())));
    }
    Ok((Kind::Bytes, format_of(task, store, entries)?))
}

/// Whether all values of the sample are maps of MessagePack, and nothing else follows in them.
fn maps(task: &Task, store: &Store, entries: &[Entry]) -> Result<bool> {
    for entry in entries {
        let head = entry.value.head(task, store.environment(), 8).unless_cancelled()?.unwrap_or_default();
        if !matches!(token::token(&head), Ok((Token::Map(1..), _))) || entry.value.len() > VALUE {
            return Ok(false);
        }
        let value = entry.value.bytes(task, store.environment()).unless_cancelled()?;
        if !value.is_ok_and(|value| token::end(&value, 0) == Some(value.len())) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether values are texts: all of them where there are few, else those of the sample and some others.
fn texts(task: &Task, store: &Store, entries: &[Entry]) -> Result<bool> {
    let (known, ended) = store.tree.known();
    let is_small = |all: &[Entry]| all.iter().map(|entry| entry.value.len()).sum::<u64>() <= TEXTS;
    let are_texts = |all: &[Entry]| -> Result<bool> {
        for entry in all.iter().filter(|entry| entry.value.len() > 0) {
            let value = entry.value.bytes(task, store.environment()).unless_cancelled()?;
            if !value.is_ok_and(|value| is_text(&value)) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    if !is_small(entries) || !are_texts(entries)? {
        return Ok(false);
    }
    if ended {
        let all = store.entries(task, 0..known)?;
        if is_small(&all) {
            return are_texts(&all);
        }
    }
    for place in 1..PLACES {
        let start = known / PLACES * place;
        let more = store.entries(task, start..start.saturating_add(SAMPLE))?;
        if !is_small(&more) || !are_texts(&more)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether bytes are a text that can be shown.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let strange = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    std::str::from_utf8(bytes).is_ok_and(|text| !text.is_empty() && !text.chars().any(strange))
}

/// The name of the format that all of the sample have.
fn format_of(task: &Task, store: &Store, entries: &[Entry]) -> Result<Option<String>> {
    let mut found: Option<&'static str> = None;
    for entry in entries.iter().filter(|entry| entry.value.len() > 0).take(8) {
        let member = store.environment().source.member("value", entry.value.span.clone());
        let head = member.and_then(|source| formats::head(task, &source));
        let Ok(head) = head.unless_cancelled()? else { return Ok(None) };
        let format = formats::detect(&head).format;
        if format.takes_any || found.is_some_and(|name| name != format.name) {
            return Ok(None);
        }
        found = Some(format.name);
    }
    Ok(found.map(str::to_owned))
}

/// A message of an image and its label. <https://github.com/BVLC/caffe/blob/master/src/caffe/proto/caffe.proto>
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Datum {
    pub(super) channels: Option<i32>,
    pub(super) height: Option<i32>,
    pub(super) width: Option<i32>,
    /// Where the bytes lie in the message: channel by channel, or a compressed image.
    pub(super) data: Option<Range<usize>>,
    pub(super) label: Option<i32>,
    pub(super) floats: Vec<f32>,
    pub(super) encoded: Option<bool>,
}

impl Datum {
    /// The message that bytes are; `None` where they are none, or have other fields.
    pub(super) fn read(bytes: &[u8]) -> Option<Datum> {
        let mut datum = Datum::default();
        for field in Part::new(bytes, 0).fields() {
            let field = field.ok()?;
            match (field.number, field.value) {
                (1, Value::Varint(value)) => datum.channels = Some(value as i32),
                (2, Value::Varint(value)) => datum.height = Some(value as i32),
                (3, Value::Varint(value)) => datum.width = Some(value as i32),
                (4, Value::Bytes(part)) => {
                    datum.data = Some(part.span().start as usize..part.span().end as usize)
                }
                (5, Value::Varint(value)) => datum.label = Some(value as i32),
                (6, Value::Fixed32(value)) => datum.floats.push(f32::from_le_bytes(value)),
                (6, Value::Bytes(part)) => {
                    let numbers = part.bytes().chunks_exact(4);
                    let float = |four: &[u8]| four.try_into().map_or(0.0, f32::from_le_bytes);
                    datum.floats.extend(numbers.map(float));
                }
                (7, Value::Varint(value)) => datum.encoded = Some(value != 0),
                _ => return None,
            }
        }
        Some(datum)
    }

    /// Its sides, where it says all of them: channels, height, width.
    fn shape(&self) -> Option<[u64; 3]> {
        let side =
            |side: Option<i32>| side.and_then(|side| u64::try_from(side).ok()).filter(|side| *side > 0);
        Some([side(self.channels)?, side(self.height)?, side(self.width)?])
    }

    /// Whether its bytes are as many as its sides say, or say themselves what they are.
    fn is_sure(&self) -> bool {
        let count = self.shape().and_then(|shape| limits::elements(&shape).ok());
        let bytes = self.data.as_ref().map_or(0, |data| data.len() as u64);
        match self.encoded {
            Some(true) => bytes > 0,
            _ => count.is_some_and(|count| bytes == count || bytes == 0 && self.floats.len() as u64 == count),
        }
    }
}

/// The node of a message: the image or the array that it holds, with its label; `None` where it is none.
///
/// # Errors
/// `Cancelled`; failures to read.
pub(super) fn datum_node(task: &Task, source: &Source, name: &str) -> Result<Option<Node>> {
    let len = source.len(task)?;
    limits::check(len, limits::CHUNK, "a Datum")?;
    let bytes = source.read(task, 0..len)?;
    let Some(datum) = Datum::read(&bytes).filter(Datum::is_sure) else { return Ok(None) };
    let data = datum.data.clone().unwrap_or_default();
    let mut node = match (datum.encoded, datum.shape()) {
        (Some(true), _) => {
            let image = source.member(name, data.start as u64..data.end as u64)?;
            ALL.nested_now(task, name, "record", &image, &Options::default())?
        }
        (_, Some(shape)) if !data.is_empty() => {
            let plain = Plain::new(source.clone(), data.start as u64, DType::U8, shape.to_vec())?;
            pixels(name, Arc::new(plain))?
        }
        (_, Some(shape)) => {
            let bytes: Vec<u8> = datum.floats.iter().flat_map(|float| float.to_le_bytes()).collect();
            let floats = source.inflated(name, Bytes::from(bytes))?;
            let plain = Plain::new(floats, 0, DType::F32, shape.to_vec())?;
            Node::new(name, "Datum").content(Content::Array(Arc::new(plain)))
        }
        _ => return Ok(None),
    };
    let numbers = [
        ("label", datum.label),
        ("channels", datum.channels),
        ("height", datum.height),
        ("width", datum.width),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            node.attributes.push((name.to_owned(), serde_json::Value::from(number).into()));
        }
    }
    Ok(Some(node))
}

/// Bytes in planes as an image, where they can be one, and as an array.
fn pixels(name: &str, planes: Arc<dyn Array>) -> Result<Node> {
    let data = Node::new("data", "array").content(Content::Array(planes.clone()));
    let &[channels, height, width] = planes.shape() else { return Ok(data) };
    if !is_picture(&DType::U8, &[height, width, channels]) {
        return Ok(Node { name: name.to_owned(), ..data });
    }
    let image = Planes::new(planes)?;
    let node = Node::new(name, "Datum").content(Content::Image(Arc::new(image))).listed(vec![data]);
    Ok(match channels {
        3 => node.remark("its planes are taken for blue, green and red, as Caffe's own tools write them"),
        _ => node,
    })
}

/// Planes as an image. Three are blue, green and red.
struct Planes {
    planes: Arc<dyn Array>,
    info: ImageInfo,
}

impl Planes {
    fn new(planes: Arc<dyn Array>) -> Result<Self> {
        let &[channels, height, width] = planes.shape() else {
            return Err(Error::bug("planes of another shape"));
        };
        let info = ImageInfo {
            width,
            height,
            channels: channels as u32,
            bits: 8,
            sample: Sample::U8,
            alpha: channels == 2 || channels == 4,
            frames: 1,
            levels: vec![(width, height)],
            ..ImageInfo::default()
        };
        Ok(Planes { planes, info })
    }
}

impl Image for Planes {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, _frame: u64, _level: u32, rect: Rect) -> Result<Pixels> {
        let ImageInfo { channels, sample, alpha, width, height, .. } = self.info;
        let rect = rect.cut(width, height);
        let spans = [
            Span::all(u64::from(channels)),
            Span::range(rect.y, rect.height),
            Span::range(rect.x, rect.width),
        ];
        let planes = read(self.planes.as_ref(), task, &Region(spans.to_vec()))?;
        let count = (rect.width * rect.height) as usize;
        let channels_in = channels as usize;
        let mut data = vec![0; planes.len()];
        for (n, plane) in planes.chunks_exact(count.max(1)).enumerate() {
            let at = if channels == 3 { 2 - n.min(2) } else { n };
            for (pixel, value) in data.chunks_exact_mut(channels_in).zip(plane) {
                if let Some(sample) = pixel.get_mut(at) {
                    *sample = *value;
                }
            }
        }
        Ok(Pixels { width: rect.width, height: rect.height, channels, sample, alpha, data })
    }
}
