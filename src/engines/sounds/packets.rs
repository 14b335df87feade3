//! Sounds that are decoded packet by packet, by Symphonia ([`stream`]). What was decoded is kept in [`blocks`]. A block
//! that is not there is sought, several of them at once; where packets do not tell which frame they begin with, all
//! before it is decoded. What a sound says beside its samples are its [`metadata`].

mod blocks;
mod metadata;
mod stream;

use super::facts;
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{ArrayFacts, Chapter, Sound};
use crate::data::content::{Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::Formats;
use crate::data::node::Node;
use crate::engines::time_spans;
use blocks::{Packets, Told};
use metadata::Metadata;
use std::sync::Arc;
use stream::{Stream, is_sound, word};
use symphonia::core::codecs::audio::well_known as codec;

/// Bytes of packets that are counted where the file does not say how long the sound is.
const COUNTED: u64 = 512 << 10;
/// So many tracks of sound of one file are opened.
const TRACKS: usize = 16;

/// What is known of a track of sound before it is opened.
#[derive(Clone, Debug, Default)]
pub struct TrackHints {
    /// About how long it is, for containers that do not say it of each track.
    pub seconds: Option<f64>,
    /// Chapters that the container says in its own way.
    pub chapters: Arc<[Chapter]>,
}

/// A track that was opened, and what its file says beside it.
struct OpenedTrack {
    node: Node,
    /// How many tracks of sound there are.
    tracks: usize,
    chapters: Arc<[Chapter]>,
    pictures: Vec<Node>,
}

/// The node of a sound that is decoded by packets; chapters and pictures are its children. Where the file has several
/// tracks of sound (Ogg), it is the first one, and the others are its children, too.
///
/// # Errors
/// `Malformed` where the header cannot be read.
pub fn node(task: &Task, source: &Source, formats: Formats, known: &TrackHints) -> Result<Node> {
    let OpenedTrack { mut node, tracks, chapters, pictures } = guarded(task, source, formats, 0, known)?;
    let mut children = Vec::new();
    for nth in 1..tracks.min(TRACKS) {
        let read = track(task, source, nth, known).unless_cancelled()?;
        let mut other = read.unwrap_or_else(|error| Node::new("", "audio").problem(error));
        other.name = format!("audio {}", nth + 1);
        // Texts and bytes of the file stand at its root.
        other.attributes.clear();
        if other.kind() != Kind::Array {
            (other.content, other.label) = (None, "audio");
        }
        children.push(other);
    }
    if tracks > TRACKS {
        node.remarks.push(format!("{TRACKS} of {tracks} tracks of sound are shown"));
    }
    children.extend(time_spans::chapters_node(&chapters)?);
    children.extend(pictures);
    Ok(if children.is_empty() { node } else { node.listed(children) })
}

/// The node of the `nth` track of sound of a file that may have several, without children.
///
/// # Errors
/// `Malformed` where the header cannot be read.
pub fn track(task: &Task, source: &Source, nth: usize, known: &TrackHints) -> Result<Node> {
    Ok(guarded(task, source, Formats(&[]), nth, known)?.node)
}

/// The node of a file whose sound is refused by name: it still has its bytes.
pub fn refused(source: &Source, error: Error) -> Node {
    Node::new("", "file").content(Content::Bytes(source.clone())).problem(error)
}

fn guarded(
    task: &Task,
    source: &Source,
    formats: Formats,
    nth: usize,
    known: &TrackHints,
) -> Result<OpenedTrack> {
    match catch_decoder_panic("the sound", || opened(task, source, formats, nth, known)) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(OpenedTrack {
            node: refused(source, error),
            tracks: 1,
            chapters: known.chapters.clone(),
            pictures: Vec::new(),
        }),
        other => other,
    }
}

fn opened(
    task: &Task,
    source: &Source,
    formats: Formats,
    nth: usize,
    known: &TrackHints,
) -> Result<OpenedTrack> {
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
    let said = Metadata::read(&mut stream, formats);
    node.attributes = said.attributes;
    node.remarks = said.remarks;
    let chapters =
        if known.chapters.is_empty() { Chapter::in_order(said.chapters) } else { known.chapters.clone() };
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
    let about = known.seconds.filter(|seconds| *seconds > 0.0);
    let about = about.map(|seconds| (seconds * f64::from(spec.rate())).round() as u64);
    let frames = match header.frames.or(about) {
        Some(frames) => frames,
        None => counted(task, source, nth, &mut node)?,
    };
    let bits = params.bits_per_coded_sample.filter(|_| is_adpcm).or(bits);
    let sound =
        Sound { codec: word(params.codec), rate: spec.rate(), bits, full, chapters: chapters.clone() };
    let facts =
        ArrayFacts { bytes_stored: source.known_len(), codecs: vec![sound.codec.clone()], ..facts(&sound) };
    let (counts, seeks, shape) = (header.counts, header.seeks, vec![frames, channels]);
    let told = Told { nth, dtype, shape, full, counts, seeks, is_whole, facts };
    let node = node.content(Content::Array(Arc::new(Packets::new(source, told))));
    Ok(OpenedTrack { node, tracks, chapters, pictures: said.pictures })
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
