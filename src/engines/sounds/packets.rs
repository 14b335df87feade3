//! Sounds that are decoded packet by packet, by Symphonia ([`stream`]). What was decoded is kept in [`blocks`]. A block
//! that is not there is sought, several of them at once; where packets do not tell which frame they begin with, all
//! before it is decoded.

mod blocks;
mod stream;

use super::facts;
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{ArrayFacts, Sound};
use crate::data::content::{Content, Kind};
use crate::data::dtype::DType;
use crate::data::node::Node;
use blocks::{Packets, Told};
use std::sync::Arc;
use stream::{Stream, is_sound, word};
use symphonia::core::codecs::audio::well_known as codec;
use symphonia::core::meta::RawValue;

/// Bytes of packets that are counted where the file does not say how long the sound is.
const COUNTED: u64 = 512 << 10;
/// A text of the metadata is cut to so many characters.
const TEXT: usize = 4_000;

/// So many tracks of sound of one file are opened.
const TRACKS: usize = 16;

/// What keys of metadata are called in words.
const KEYS: [(&str, &str); 18] = [
    ("TIT2", "title"),
    ("TPE1", "artist"),
    ("TPE2", "album_artist"),
    ("TALB", "album"),
    ("TRCK", "track"),
    ("TDRC", "date"),
    ("TYER", "date"),
    ("TCON", "genre"),
    ("TCOP", "copyright"),
    ("COMM", "comment"),
    ("TSSE", "encoder"),
    ("\u{a9}nam", "title"),
    ("\u{a9}ART", "artist"),
    ("\u{a9}alb", "album"),
    ("\u{a9}day", "date"),
    ("\u{a9}gen", "genre"),
    ("\u{a9}cmt", "comment"),
    ("\u{a9}too", "encoder"),
];

/// The node of a sound that is decoded by packets. Where the file has several tracks of sound (Ogg), it is the first
/// one, and the others are its children.
///
/// # Errors
/// `Malformed` where the header cannot be read.
pub fn node(task: &Task, source: &Source) -> Result<Node> {
    let (mut first, tracks) = guarded(task, source, 0, None)?;
    let mut others = Vec::new();
    for nth in 1..tracks.min(TRACKS) {
        let read = track(task, source, nth, None).unless_cancelled()?;
        let mut other = read.unwrap_or_else(|error| Node::new("", "audio").problem(error));
        other.name = format!("audio {}", nth + 1);
        // Texts and bytes of the file stand at its root.
        other.attributes.clear();
        if other.kind() != Kind::Array {
            (other.content, other.label) = (None, "audio");
        }
        others.push(other);
    }
    if tracks > TRACKS {
        first.remarks.push(format!("{TRACKS} of {tracks} tracks of sound are shown"));
    }
    Ok(if others.is_empty() { first } else { first.listed(others) })
}

/// The node of the `nth` track of sound of a file that may have several. `seconds` is about how long it is, for
/// containers that do not say it of each track.
///
/// # Errors
/// `Malformed` where the header cannot be read.
pub fn track(task: &Task, source: &Source, nth: usize, seconds: Option<f64>) -> Result<Node> {
    Ok(guarded(task, source, nth, seconds)?.0)
}

/// The node of a file whose sound is refused by name: it still has its bytes.
pub fn refused(source: &Source, error: Error) -> Node {
    Node::new("", "file").content(Content::Bytes(source.clone())).problem(error)
}

/// The node of the `nth` track of sound, and how many there are.
fn guarded(task: &Task, source: &Source, nth: usize, seconds: Option<f64>) -> Result<(Node, usize)> {
    match catch_decoder_panic("the sound", || opened(task, source, nth, seconds)) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok((refused(source, error), 1)),
        other => other,
    }
}

fn opened(task: &Task, source: &Source, nth: usize, seconds: Option<f64>) -> Result<(Node, usize)> {
    let (mut stream, header) = Stream::open(task, source, nth)?;
    let tracks = stream.format.tracks().iter().filter(is_sound).count();
    let params = &header.params;
    let is_whole = [codec::CODEC_ID_FLAC, codec::CODEC_ID_ALAC].contains(&params.codec);
    let is_adpcm = word(params.codec).starts_with("adpcm");
    let bits = params.bits_per_sample.filter(|bits| is_whole && (1..=32).contains(bits));
    let full = if is_adpcm { 16 } else { bits.unwrap_or(32) };
    let dtype = match full {
        _ if !is_whole && !is_adpcm => DType::F32,
        ..=16 => DType::I16,
        _ => DType::I32,
    };
    let mut node = Node::new("", "audio");
    describe(&mut stream, &mut node);
    let (mut samples, mut floats) = (Vec::new(), Vec::new());
    let first = stream.decode(task, &mut samples, Some(&mut floats))?;
    if first.is_none() {
        return Err(Error::malformed("the file holds no packet of sound"));
    }
    let spec = stream.decoder.last_decoded().spec().clone();
    let channels = spec.channels().count() as u64;
    if channels == 0 {
        return Err(Error::malformed("the sound has no channels"));
    }
    let about = seconds.filter(|seconds| *seconds > 0.0).map(|s| (s * f64::from(spec.rate())).round() as u64);
    let frames = match header.frames.or(about) {
        Some(frames) => frames,
        None => counted(task, source, nth, &mut node)?,
    };
    let coded = params.bits_per_coded_sample.filter(|_| is_adpcm).or(bits);
    let sound = Sound { codec: word(params.codec), rate: spec.rate(), bits: coded, full };
    let facts =
        ArrayFacts { bytes_stored: source.known_len(), codecs: vec![sound.codec.clone()], ..facts(&sound) };
    let (counts, seeks, shape) = (header.counts, header.seeks, vec![frames, channels]);
    let told = Told { nth, dtype, shape, full, counts, seeks, is_whole, facts };
    Ok((node.content(Content::Array(Arc::new(Packets::new(source, told)))), tracks))
}

/// How many frames there are, by a pass over the packets that decodes none; of a large file by its first ones.
fn counted(task: &Task, source: &Source, nth: usize, node: &mut Node) -> Result<u64> {
    let (mut stream, header) = Stream::open(task, source, nth)?;
    let (mut frames, mut bytes) = (0u64, 0u64);
    let len = source.len(task)?;
    loop {
        task.check()?;
        if bytes > COUNTED && len > 2 * COUNTED {
            node.remarks.push(
                "the file does not say how long the sound is: the number of frames is estimated from its first ones"
                    .to_owned(),
            );
            return Ok((frames as f64 * (len as f64 / bytes as f64)) as u64);
        }
        match stream.packet() {
            Ok(Some(packet)) => {
                frames = frames.saturating_add((packet.dur.get() as f64 * header.scale).round() as u64);
                bytes = bytes.saturating_add(packet.data.len() as u64);
            }
            Ok(None) => return Ok(frames),
            Err(error) => {
                node.problem = Some(error);
                return Ok(frames);
            }
        }
    }
}

/// Metadata: texts as attributes.
fn describe(stream: &mut Stream, node: &mut Node) {
    let mut metadata = stream.format.metadata();
    let Some(revision) = metadata.skip_to_latest() else { return };
    for tag in &revision.media.tags {
        let value = match &tag.raw.value {
            RawValue::String(text) => text.chars().take(TEXT).collect(),
            RawValue::StringList(list) => list.join("; ").chars().take(TEXT).collect(),
            RawValue::SignedInt(number) => number.to_string(),
            RawValue::UnsignedInt(number) => number.to_string(),
            RawValue::Float(number) => number.to_string(),
            RawValue::Boolean(flag) => flag.to_string(),
            _ => continue,
        };
        let known = KEYS.iter().find(|(key, _)| *key == tag.raw.key).map(|(_, word)| (*word).to_owned());
        let key = known.unwrap_or_else(|| tag.raw.key.to_lowercase());
        node.attributes.push((key, crate::data::node::Value::Text(value)));
    }
}
