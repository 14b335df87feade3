//! A sound that is being decoded, by Symphonia: its packets, and what they hold.

use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::source::{Reader, Source};
use crate::bytes::task::Task;
use crate::engines::sounds::flac32::WideFlacDecoder;
use crate::engines::sounds::opus::OpusDecoder;
use std::io::{self, Read, Seek, SeekFrom};
use symphonia::core::audio::GenericAudioBufferRef;
use symphonia::core::codecs::audio::well_known as codec;
use symphonia::core::codecs::audio::{AudioCodecId, AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as Failure;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::well_known::FORMAT_ID_OGG;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;

/// So many packets in a row may be broken before the rest is given up.
const BROKEN: usize = 1_000;

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
pub(super) struct Stream {
    pub(super) format: Box<dyn FormatReader>,
    pub(super) decoder: Box<dyn AudioDecoder>,
    pub(super) track: u32,
    /// The frame that the next decoded one is.
    pub(super) at: u64,
    /// Decoded bytes of the frames before `at` that nobody has taken yet: packets do not end where blocks do.
    pub(super) left: Vec<u8>,
}

/// What is known of a sound before it is decoded.
pub(super) struct Header {
    pub(super) params: AudioCodecParameters,
    pub(super) frames: Option<u64>,
    /// Whether a time stamp counts frames.
    pub(super) counts: bool,
    /// Whether a place is found without what lies before it.
    pub(super) seeks: bool,
    /// Frames in a tick of time stamps.
    pub(super) scale: f64,
}

impl Stream {
    /// The `nth` track of sound.
    pub(super) fn open(task: &Task, source: &Source, nth: usize) -> Result<(Stream, Header)> {
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
        let track = format.tracks().iter().filter(is_sound).nth(nth).ok_or_else(none)?;
        let params = track.codec_params.as_ref().and_then(|params| params.audio()).ok_or_else(none)?.clone();
        let per_second = params.sample_rate.unwrap_or(0);
        let counts =
            track.time_base.is_some_and(|base| base.numer.get() == 1 && base.denom.get() == per_second);
        // Symphonia's reader of Ogg looks for ever at a packet of another track that comes first after a seek.
        let is_mixed = format.format_info().format == FORMAT_ID_OGG && format.tracks().len() > 1;
        let seeks = counts && !is_mixed;
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
        let wide = match params.codec {
            codec::CODEC_ID_FLAC => WideFlacDecoder::new(&params)?,
            _ => None,
        };
        let decoder: Box<dyn AudioDecoder> = if let Some(decoder) = wide {
            Box::new(decoder)
        } else if params.codec == codec::CODEC_ID_OPUS {
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
            Stream { format, decoder, track, at: 0, left: Vec::new() },
            Header { params, frames, counts, seeks, scale },
        ))
    }

    /// The next packet of the track; `None` at the end.
    pub(super) fn packet(&mut self) -> Result<Option<Packet>> {
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
    pub(super) fn decode(
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

/// Whether a track holds sound.
pub(super) fn is_sound(track: &&Track) -> bool {
    track.track_type() == Some(TrackType::Audio)
}

fn copy(decoded: &GenericAudioBufferRef<'_>, out: &mut Vec<i32>, floats: Option<&mut Vec<f32>>) {
    match floats {
        Some(floats) => decoded.copy_to_vec_interleaved(floats),
        None => decoded.copy_to_vec_interleaved(out),
    }
}

/// The word for a codec.
pub(super) fn word(id: AudioCodecId) -> String {
    CODECS
        .iter()
        .find(|(known, _)| *known == id)
        .map_or_else(|| id.to_string(), |(_, word)| (*word).to_owned())
}
