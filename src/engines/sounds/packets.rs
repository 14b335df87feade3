//! Sounds that are decoded packet by packet, by Symphonia. What was decoded is kept in blocks. A block that is not
//! there is sought; where packets do not tell which frame they begin with, all before it is decoded.

use super::facts;
use super::opus::OpusDecoder;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Defect, Error, ErrorKind, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::source::{Reader, Source};
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::{Array, ArrayFacts, Sound};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::data::region::Region;
use parking_lot::Mutex;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, LazyLock};
use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::codecs::audio::well_known as codec;
use symphonia::core::codecs::audio::{AudioCodecId, AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as Failure;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, SeekMode, SeekTo, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::{MetadataOptions, RawValue};
use symphonia::core::packet::Packet;
use symphonia::core::units::Timestamp;

/// So many frames are a block.
const BLOCK: u64 = 1 << 16;
/// Decoders need so many packets after a seek before what they give is what they would have given without it.
const WARM: usize = 12;
/// The same in frames, at least.
const BEFORE: u64 = 1 << 15;
/// So many packets in a row may be broken before the rest is given up.
const BROKEN: usize = 1_000;
/// Bytes of packets that are counted where the file does not say how long the sound is.
const COUNTED: u64 = 512 << 10;
/// A text of the metadata is cut to so many characters.
const TEXT: usize = 4_000;

/// Blocks of decoded samples, by sound and number.
static BLOCKS: LazyLock<Cache<(usize, u64), Arc<Vec<u8>>>> = LazyLock::new(|| Cache::passing(256 << 20));

/// The codecs that are read, and their words.
const CODECS: [(AudioCodecId, &str); 17] = [
    (codec::CODEC_ID_FLAC, "flac"),
    (codec::CODEC_ID_ALAC, "alac"),
    (codec::CODEC_ID_ADPCM_MS, "adpcm_ms"),
    (codec::CODEC_ID_ADPCM_IMA_WAV, "adpcm_ima_wav"),
    (codec::CODEC_ID_ADPCM_IMA_QT, "adpcm_ima_qt"),
    (codec::CODEC_ID_MP3, "mp3"),
    (codec::CODEC_ID_AAC, "aac"),
    (codec::CODEC_ID_VORBIS, "vorbis"),
    (codec::CODEC_ID_OPUS, "opus"),
    (codec::CODEC_ID_PCM_U8, "pcm_u8"),
    (codec::CODEC_ID_PCM_S16LE, "pcm_s16le"),
    (codec::CODEC_ID_PCM_S16BE, "pcm_s16be"),
    (codec::CODEC_ID_PCM_S24LE, "pcm_s24le"),
    (codec::CODEC_ID_PCM_S24BE, "pcm_s24be"),
    (codec::CODEC_ID_PCM_S32LE, "pcm_s32le"),
    (codec::CODEC_ID_PCM_F32LE, "pcm_f32le"),
    (codec::CODEC_ID_PCM_F64LE, "pcm_f64le"),
];

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

/// Bytes as Symphonia reads them.
struct Bytes {
    reader: Reader,
    len: Option<u64>,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reader.read(out)
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}

impl MediaSource for Bytes {
    fn is_seekable(&self) -> bool {
        true
    }

    fn byte_len(&self) -> Option<u64> {
        self.len
    }
}

/// What Symphonia says, in our words.
fn failed(failure: Failure) -> Error {
    match failure {
        Failure::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Error::malformed("the sound ends early; the file may be cut off").with_defect(Defect::Truncated)
        }
        Failure::IoError(error) => Error::io(error.to_string()),
        Failure::Unsupported(what) => {
            Error::unsupported(format!("the sound has a feature that is not read: {what}"))
        }
        Failure::LimitError(what) => Error::limit(format!("the sound asks for too much: {what}")),
        other => Error::malformed(format!("the sound: {other}")),
    }
}

/// A sound that is being decoded.
struct Stream {
    format: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    /// The frame that the next decoded one is.
    at: u64,
    /// Decoded bytes of the frames before `at` that nobody has taken yet: packets do not end where blocks do.
    left: Vec<u8>,
    /// What time stamps count from: that of frame 0. Known once a packet was decoded at a known place.
    origin: Option<i64>,
}

/// What is known of a sound before it is decoded.
struct Header {
    params: AudioCodecParameters,
    frames: Option<u64>,
    /// Whether a time stamp counts frames.
    counts: bool,
    /// Frames in a tick of time stamps.
    scale: f64,
}

impl Stream {
    /// The `nth` track of sound.
    fn open(task: &Task, source: &Source, nth: usize) -> Result<(Stream, Header)> {
        let len = source.len(task)?;
        // It lives longer than the task that asks for it.
        let bytes = Bytes { reader: source.reader(&Task::new()), len: Some(len) };
        let stream = MediaSourceStream::new(Box::new(bytes), Default::default());
        let mut hint = Hint::new();
        if let Some((_, extension)) = source.name().rsplit_once('.') {
            hint.with_extension(extension);
        }
        let format = symphonia::default::get_probe()
            .probe(&hint, stream, FormatOptions::default(), MetadataOptions::default())
            .map_err(failed)?;
        let none = || Error::unsupported("the file has no track of sound that is read");
        let is_sound =
            |track: &&symphonia::core::formats::Track| track.track_type() == Some(TrackType::Audio);
        let track = format.tracks().iter().filter(is_sound).nth(nth).ok_or_else(none)?;
        let params = track.codec_params.as_ref().and_then(|params| params.audio()).ok_or_else(none)?.clone();
        let per_second = params.sample_rate.unwrap_or(0);
        let counts =
            track.time_base.is_some_and(|base| base.numer.get() == 1 && base.denom.get() == per_second);
        // Where nobody wrote how long an MP3 is, its length is guessed from its first frame.
        let is_guess = params.codec == codec::CODEC_ID_MP3 && track.delay.is_none();
        let mut frames = track.num_frames.filter(|frames| *frames > 0 && !is_guess);
        // Containers that count milliseconds know it about.
        let scale = match track.time_base {
            Some(base) if !counts && per_second > 0 => {
                f64::from(base.numer.get()) * f64::from(per_second) / f64::from(base.denom.get())
            }
            _ => 1.0,
        };
        frames = frames.map(|frames| (frames as f64 * scale).round() as u64);
        let decoder: Box<dyn AudioDecoder> = if params.codec == codec::CODEC_ID_OPUS {
            let decoder = OpusDecoder::new(&params)?;
            frames = frames.map(|frames| frames.saturating_sub(decoder.skip()));
            Box::new(decoder)
        } else {
            symphonia::default::get_codecs()
                .make_audio_decoder(&params, &AudioDecoderOptions::default())
                .map_err(|failure| match failure {
                    Failure::Unsupported(_) => {
                        Error::unsupported(format!("sound coded as {}", word(params.codec)))
                    }
                    other => failed(other),
                })?
        };
        let track = track.id;
        Ok((
            Stream { format, decoder, track, at: 0, left: Vec::new(), origin: None },
            Header { params, frames, counts, scale },
        ))
    }

    /// The next packet of the track; `None` at the end.
    fn packet(&mut self) -> Result<Option<Packet>> {
        loop {
            match self.format.next_packet() {
                Ok(Some(packet)) if packet.track_id == self.track => return Ok(Some(packet)),
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                // Another stream follows in the same file; what is shown is the first one.
                Err(Failure::ResetRequired) => return Ok(None),
                Err(Failure::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(None);
                }
                Err(failure) => return Err(failed(failure)),
            }
        }
    }

    /// Decodes the next packet into `floats` where there is such a buffer, else into `out`, and gives it; `None` at the
    /// end. A broken packet is passed over.
    fn decode(
        &mut self,
        task: &Task,
        out: &mut Vec<i32>,
        floats: Option<&mut Vec<f32>>,
    ) -> Result<Option<Packet>> {
        let mut broken = 0;
        loop {
            task.check()?;
            let Some(packet) = self.packet()? else { return Ok(None) };
            match self.decoder.decode(&packet) {
                Ok(decoded) => {
                    copy(&decoded, out, floats);
                    return Ok(Some(packet));
                }
                Err(Failure::DecodeError(_) | Failure::IoError(_)) if broken < BROKEN => broken += 1,
                Err(failure) => return Err(failed(failure)),
            }
        }
    }
}

fn copy(decoded: &GenericAudioBufferRef<'_>, out: &mut Vec<i32>, floats: Option<&mut Vec<f32>>) {
    match floats {
        Some(floats) => decoded.copy_to_vec_interleaved(floats),
        None => decoded.copy_to_vec_interleaved(out),
    }
}

/// The word for a codec.
fn word(id: AudioCodecId) -> String {
    CODECS
        .iter()
        .find(|(known, _)| *known == id)
        .map_or_else(|| id.to_string(), |(_, word)| (*word).to_owned())
}

/// The node of a sound that is decoded by packets.
///
/// # Errors
/// `Malformed` where the header cannot be read.
pub fn node(task: &Task, source: &Source) -> Result<Node> {
    track(task, source, 0, None)
}

/// The node of the `nth` track of sound of a file that may have several. `seconds` is about how long it is, for
/// containers that do not say it of each track.
///
/// # Errors
/// `Malformed` where the header cannot be read.
pub fn track(task: &Task, source: &Source, nth: usize, seconds: Option<f64>) -> Result<Node> {
    match catch_decoder_panic("the decoder of sounds", || opened(task, source, nth, seconds)) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            Ok(Node::new("", "file").content(Content::Bytes(source.clone())).problem(error))
        }
        other => other,
    }
}

fn opened(task: &Task, source: &Source, nth: usize, seconds: Option<f64>) -> Result<Node> {
    let (mut stream, header) = Stream::open(task, source, nth)?;
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
    let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let (source, seeks) = (source.clone(), header.counts);
    let shape = vec![frames, channels];
    let array = Packets { id, source, nth, dtype, shape, full, seeks, facts, stream: Mutex::new(None) };
    Ok(node.content(Content::Array(Arc::new(array))))
}

/// Numbers of sounds, which are the keys of their blocks.
static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

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

/// Metadata: texts as attributes, pictures as nodes.
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

/// A sound that is decoded by packets.
struct Packets {
    id: usize,
    source: Source,
    /// Which track of sound.
    nth: usize,
    dtype: DType,
    shape: Vec<u64>,
    full: u32,
    /// Whether packets tell which frame they begin with.
    seeks: bool,
    facts: ArrayFacts,
    stream: Mutex<Option<Stream>>,
}

impl Packets {
    fn channels(&self) -> usize {
        self.shape.get(1).copied().unwrap_or(1) as usize
    }

    /// How many frames a stream has left.
    fn left(&self, stream: &Stream) -> u64 {
        stream.left.len() as u64 / (self.channels() as u64 * self.dtype.size()).max(1)
    }

    fn frames(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// One block, decoded.
    fn block(&self, task: &Task, number: u64) -> Result<Arc<Vec<u8>>> {
        let key = (self.id, number);
        if let Some(block) = BLOCKS.get(&key) {
            return Ok(block);
        }
        let mut kept = self.stream.lock();
        if let Some(block) = BLOCKS.peek(&key) {
            return Ok(block);
        }
        let from = number * BLOCK;
        let until = (from + BLOCK).min(self.frames());
        // A stream that failed is not used again.
        let mut stream = match kept.take() {
            Some(stream) if stream.at.checked_sub(self.left(&stream)) == Some(from) => stream,
            _ => catch_decoder_panic("the decoder of sounds", || self.sought(task, from))?,
        };
        let block =
            catch_decoder_panic("the decoder of sounds", || self.decoded(task, &mut stream, from, until))?;
        let block = Arc::new(block);
        BLOCKS.put(key, block.clone(), block.len());
        *kept = Some(stream);
        Ok(block)
    }

    /// A stream that stands at a frame at or before `from`.
    fn sought(&self, task: &Task, from: u64) -> Result<Stream> {
        let (mut stream, _) = Stream::open(task, &self.source, self.nth)?;
        if !self.seeks || from < 4 * BEFORE {
            return Ok(stream);
        }
        // Which time stamp frame 0 has, the first packets tell.
        let (mut at, mut samples, mut floats) = (0u64, Vec::new(), Vec::new());
        for _ in 0..WARM {
            let Some(packet) = stream.decode(task, &mut samples, Some(&mut floats))? else { break };
            if at > 0 {
                stream.origin = i64::try_from(at).ok().map(|at| packet.pts.get().saturating_sub(at));
            }
            at += (floats.len() / self.channels().max(1)) as u64;
        }
        let Some(origin) = stream.origin else { return Ok(Stream::open(task, &self.source, self.nth)?.0) };
        let wanted = i64::try_from(from - BEFORE).unwrap_or(0).saturating_add(origin);
        let to = SeekTo::Timestamp { ts: Timestamp::new(wanted), track_id: stream.track };
        if stream.format.seek(SeekMode::Accurate, to).is_err() {
            return Ok(Stream::open(task, &self.source, self.nth)?.0);
        }
        stream.decoder.reset();
        for _ in 0..WARM {
            let Some(packet) = stream.decode(task, &mut samples, Some(&mut floats))? else { break };
            let here = packet.pts.get().saturating_sub(origin);
            let decoded = (floats.len() / self.channels().max(1)) as u64;
            stream.at = u64::try_from(here).unwrap_or(0).saturating_add(decoded);
            if stream.at > from - BEFORE / 2 {
                break;
            }
        }
        match stream.at <= from {
            true => Ok(stream),
            false => Ok(Stream::open(task, &self.source, self.nth)?.0),
        }
    }

    /// The frames from `from` to `until`, from a stream that stands before them.
    fn decoded(&self, task: &Task, stream: &mut Stream, from: u64, until: u64) -> Result<Vec<u8>> {
        let channels = self.channels().max(1);
        let size = self.dtype.size() as usize;
        let whole = (until - from) as usize * channels * size;
        let mut out = std::mem::take(&mut stream.left);
        let (mut samples, mut floats) = (Vec::new(), Vec::new());
        while stream.at < until {
            let is_float = self.dtype.is_float();
            if stream.decode(task, &mut samples, is_float.then_some(&mut floats))?.is_none() {
                // Where only about is known how long it is, what lacks at the end is silence.
                let lacks = until.saturating_sub(stream.at);
                let rate = self.facts.sound.as_ref().map_or(0, |sound| u64::from(sound.rate));
                if !self.seeks && lacks <= rate / 2 && until == self.frames() {
                    out.resize(whole.max(out.len()), 0);
                    break;
                }
                let what = format!("the sound ends after {} of {} frames", stream.at, self.frames());
                return Err(Error::malformed(what).with_defect(Defect::Truncated));
            }
            if stream.decoder.last_decoded().spec().channels().count() != channels {
                return Err(Error::malformed("the number of channels changes within the sound"));
            }
            let some = if is_float { floats.len() } else { samples.len() } / channels;
            let skipped = from.saturating_sub(stream.at).min(some as u64) as usize;
            let part = skipped * channels..some * channels;
            for sample in floats.get(part.clone()).filter(|_| is_float).unwrap_or_default() {
                out.extend_from_slice(&sample.to_le_bytes());
            }
            for sample in samples.get(part).filter(|_| !is_float).unwrap_or_default() {
                // Symphonia's integers lie at the upper end of 32 bits.
                let value: i32 = sample >> (32 - self.full.clamp(1, 32));
                out.extend_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
            }
            stream.at += some as u64;
        }
        stream.left = out.split_off(whole.min(out.len()));
        Ok(out)
    }
}

impl Array for Packets {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let [frames, channels] = region.0.as_slice() else {
            return Err(Error::bug("a sound has frames and channels"));
        };
        let (size, frame) = (self.dtype.size() as usize, self.channels() * self.dtype.size() as usize);
        let mut places = out.chunks_exact_mut(size.max(1));
        let mut held: Option<(u64, Arc<Vec<u8>>)> = None;
        for n in 0..frames.count {
            let index = frames.index(n);
            let number = index / BLOCK;
            let block = match &held {
                Some((at, block)) if *at == number => block,
                _ => &held.insert((number, self.block(task, number)?)).1,
            };
            let start = (index % BLOCK) as usize * frame;
            for c in 0..channels.count {
                let at = start + channels.index(c) as usize * size;
                let sample = block.get(at..at + size);
                let sample = sample.ok_or_else(|| Error::malformed("the sound ends early"))?;
                if let Some(place) = places.next() {
                    place.copy_from_slice(sample);
                }
            }
        }
        Ok(())
    }
}
