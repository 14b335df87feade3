//! WAV and Wave64: chunks of a name and a size; `fmt ` says what the samples of `data` are.

use super::adpcm;
use super::cue_points::CuePoints;
use super::pcm::{Coding, Samples, chapters};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::{le, ordered};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::Head;
use crate::engines::sounds;
use std::ops::Range;

/// A file has no more chunks than so many that are looked at.
const CHUNKS: usize = 10_000;
/// A text of a `LIST` is not read beyond so many bytes.
pub(super) const TEXTS: u64 = 1 << 20;

/// What the texts of an `INFO` list are called in words.
pub(super) const INFO: [(&[u8; 4], &str); 12] = [
    (b"INAM", "title"),
    (b"IART", "artist"),
    (b"IPRD", "album"),
    (b"ICMT", "comment"),
    (b"ICOP", "copyright"),
    (b"ICRD", "date"),
    (b"IGNR", "genre"),
    (b"ISFT", "software"),
    (b"IENG", "engineer"),
    (b"IKEY", "keywords"),
    (b"ISBJ", "subject"),
    (b"ITRK", "track"),
];

/// Whether a file begins as WAV does.
pub(super) fn is_wav(head: &Head) -> bool {
    let begins = [b"RIFF", b"RIFX", b"RF64", b"BW64"].iter().any(|sign| head.first.starts_with(*sign));
    begins && head.first.get(8..12) == Some(b"WAVE")
}

/// What `fmt ` says.
pub(super) struct Layout {
    tag: u16,
    pub(super) channels: u16,
    pub(super) rate: u32,
    /// Bytes of a frame, or of a block of them.
    pub(super) block: u16,
    pub(super) bits: u16,
}

impl Layout {
    fn parse(bytes: &[u8], big: bool, at: u64) -> Result<Self> {
        let short = || Error::malformed("the chunk that describes the samples is too short").at(at);
        let number = |at: usize| ordered::<u16>(big, bytes, at).ok_or_else(short);
        let rate = ordered::<u32>(big, bytes, 4).ok_or_else(short)?;
        let (mut tag, channels, block, bits) = (number(0)?, number(2)?, number(12)?, number(14).unwrap_or(8));
        // WAVE_FORMAT_EXTENSIBLE: the code stands in the first bytes of a GUID.
        if tag == 0xfffe {
            tag = number(24)?;
        }
        Ok(Layout { tag, channels, rate, block, bits })
    }

    /// How one sample is coded; `None` for what is decoded by packets.
    fn coding(&self) -> Option<Coding> {
        Some(match self.tag {
            1 if self.width() == 1 => Coding::Unsigned,
            1 => Coding::Signed,
            3 => Coding::Float,
            6 => Coding::ALaw,
            7 => Coding::MuLaw,
            _ => return None,
        })
    }

    /// Bytes of a sample.
    fn width(&self) -> u64 {
        let by_bits = u64::from(self.bits).div_ceil(8);
        match u64::from(self.block).checked_div(u64::from(self.channels)) {
            Some(width) if (1..=8).contains(&width) && width >= by_bits => width,
            _ => by_bits,
        }
    }
}

/// What is found on a way over the chunks.
#[derive(Default)]
struct Found {
    layout: Option<Layout>,
    data: Option<Range<u64>>,
    texts: Vec<(String, String)>,
    remarks: Vec<String>,
    cue_points: CuePoints,
    /// The size of `data` that `ds64` says.
    size: Option<u64>,
}

/// Opens a WAV.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let big = opening.head.first.starts_with(b"RIFX");
    let mut found = Found::default();
    let mut at = 12u64;
    for _ in 0..CHUNKS {
        task.check()?;
        let head = source.read_up_to(task, at, 8)?;
        let (Some(name), Some(size)) = (head.get(..4), ordered::<u32>(big, &head, 4)) else { break };
        let (start, mut size) = (at.saturating_add(8), u64::from(size));
        match name {
            b"ds64" => {
                found.size = le(&source.read_up_to(task, start.saturating_add(8), 8)?, 0);
            }
            b"fmt " => {
                found.layout =
                    Some(Layout::parse(&source.read_up_to(task, start, size.min(64) as usize)?, big, at)?);
            }
            b"bext" => {
                let len = size.min(TEXTS) as usize;
                found.texts.extend(broadcast(&source.read_up_to(task, start, len)?));
            }
            b"LIST" => {
                let bytes = source.read_up_to(task, start, size.min(TEXTS) as usize)?;
                found.texts.extend(texts(&bytes));
                found.cue_points.texts(&bytes, big);
            }
            b"cue " => {
                found.cue_points.places(&source.read_up_to(task, start, size.min(TEXTS) as usize)?, big);
            }
            b"data" if found.data.is_none() => {
                size = data_size(size, &mut found, start, source, task)?;
                found.data = Some(start..start.saturating_add(size));
            }
            _ => {}
        }
        at = start.saturating_add(size).saturating_add(size & 1);
    }
    found.node(task, source, big)
}

/// The size of the samples, where a header of 32 bits does not hold it or was never finished.
fn data_size(said: u64, found: &mut Found, start: u64, source: &Source, task: &Task) -> Result<u64> {
    let unknown = said == u64::from(u32::MAX);
    if let Some(size) = found.size.filter(|size| unknown && *size != u64::MAX) {
        return Ok(size);
    }
    let rest = source.len(task)?.saturating_sub(start);
    // Programs that write into a pipe, or were stopped, leave 0 or all ones; chunks may still follow an empty one.
    let next = source.read_up_to(task, start, 4)?;
    let is_name = next.len() == 4 && next.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ');
    if !unknown && (said > 0 || rest == 0 || is_name) {
        return Ok(said);
    }
    found.remarks.push(format!(
        "the size of the samples was never written ({said}): all of the {rest} bytes to the end are taken"
    ));
    Ok(rest)
}

/// The texts of the chunk of broadcasters (EBU Tech 3285).
fn broadcast(bytes: &[u8]) -> Vec<(String, String)> {
    const FIELDS: [(&str, Range<usize>); 5] = [
        ("description", 0..256),
        ("originator", 256..288),
        ("originator reference", 288..320),
        ("date", 320..330),
        ("time", 330..338),
    ];
    let text = |bytes: &[u8]| {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).trim().to_owned()
    };
    let part = |range: Range<usize>| text(bytes.get(range).unwrap_or_default());
    let mut found: Vec<(String, String)> =
        FIELDS.into_iter().map(|(name, range)| (name.to_owned(), part(range))).collect();
    if let Some(first) = le::<u64>(bytes, 338).filter(|first| *first > 0) {
        found.push(("first frame since midnight".to_owned(), first.to_string()));
    }
    found.push(("coding history".to_owned(), text(bytes.get(602..).unwrap_or_default())));
    found.retain(|(_, text)| !text.is_empty());
    found
}

/// The texts of a list of the kind `INFO`.
fn texts(bytes: &[u8]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    if !bytes.starts_with(b"INFO") {
        return out;
    }
    let mut at = 4usize;
    while let (Some(name), Some(size)) = (bytes.get(at..at + 4), le::<u32>(bytes, at + 4)) {
        let start = at + 8;
        let end = start.saturating_add(size as usize).min(bytes.len());
        let value = bytes.get(start..end).unwrap_or_default();
        let text = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
        let known =
            INFO.iter().find(|(known, _)| known.as_slice() == name).map(|(_, word)| (*word).to_owned());
        out.push((known.unwrap_or_else(|| String::from_utf8_lossy(name).into_owned()), text));
        at = end + (end - start) % 2;
    }
    out
}

impl Found {
    fn node(self, task: &Task, source: &Source, big: bool) -> Result<Node> {
        let missing = |what: &str| Error::malformed(format!("the file has no chunk {what}")).at(12);
        let Some(layout) = self.layout else {
            let lost = missing("that describes the samples");
            // What it says of itself is still known.
            if self.texts.is_empty() {
                return Err(lost);
            }
            let node = Node::new("", "audio").problem(lost);
            return Ok(self.texts.into_iter().fold(node, |node, (name, text)| node.attribute(name, text)));
        };
        // Without samples it is still known what they would be.
        let lost = self.data.is_none().then(|| missing("of samples"));
        if let (0x11, Some(data), false) = (layout.tag, &self.data, big) {
            let chapters = chapters(&self.cue_points.all(), layout.rate);
            let mut node = adpcm::node(task, source, &layout, data.clone(), chapters)?;
            node.remarks.extend(self.remarks);
            return Ok(self.texts.into_iter().fold(node, |node, (name, text)| node.attribute(name, text)));
        }
        let data = self.data.unwrap_or(0..0);
        let Some(coding) = layout.coding() else {
            if let Some(lost) = lost {
                return Err(lost);
            }
            let known = sounds::TrackHints {
                chapters: chapters(&self.cue_points.all(), layout.rate),
                ..sounds::TrackHints::default()
            };
            let mut node = sounds::node(task, source, crate::formats::ALL, &known)?;
            node.remarks.extend(self.remarks);
            return Ok(node);
        };
        let samples = Samples {
            coding,
            rate: layout.rate,
            channels: u64::from(layout.channels),
            bits: u32::from(layout.bits),
            width: layout.width(),
            big,
            data,
            frames: None,
            markers: self.cue_points.all(),
        };
        let mut node = samples.node(task, source)?;
        node.problem = node.problem.or(lost);
        for (name, text) in self.texts {
            node = node.attribute(name, text);
        }
        node.remarks.extend(self.remarks);
        Ok(node)
    }
}

/// Opens a Wave64.
pub(super) fn open_w64(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut found = Found::default();
    let mut at = 40u64;
    for _ in 0..CHUNKS {
        task.check()?;
        let head = source.read_up_to(task, at, 24)?;
        let (Some(name), Some(size)) = (head.get(..4), le::<u64>(&head, 16)) else { break };
        // The size counts the head of the chunk.
        let Some(size) = size.checked_sub(24) else {
            found.remarks.push(format!(
                "the chunk at byte {at} is shorter than its own head; nothing after it is read"
            ));
            break;
        };
        let start = at.saturating_add(24);
        match name {
            b"fmt " => {
                let bytes = source.read_up_to(task, start, size.min(64) as usize)?;
                found.layout = Some(Layout::parse(&bytes, false, at)?);
            }
            b"data" if found.data.is_none() => found.data = Some(start..start.saturating_add(size)),
            _ => {}
        }
        at = start.saturating_add(size).checked_next_multiple_of(8).unwrap_or(u64::MAX);
    }
    found.node(task, source, false)
}
