//! AVI: lists and chunks of RIFF; frames by the index at the end (`idx1`), by those of OpenDML, or by walking the chunks.

use super::codecs;
use super::frames::{PACKETS, Packet, Track};
use super::{Movie, Sound};
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::ffmpeg::Coding;
use crate::engines::pieces::pieces;
use std::ops::Range;

/// Chunks that are walked.
const CHUNKS: usize = 20_000_000;
/// Streams of one file.
const STREAMS: usize = 100;

/// A chunk: its name and where its body lies.
struct Chunk {
    name: [u8; 4],
    body: Range<u64>,
}

/// The chunk at `at`, and where the next is.
fn chunk(task: &Task, source: &Source, at: u64, end: u64) -> Result<Option<(Chunk, u64)>> {
    let head = source.read_up_to(task, at, 8)?;
    let (Some(name), Some(size)) = (head.first_chunk::<4>(), le::<u32>(&head, 4)) else { return Ok(None) };
    if at + 8 > end {
        return Ok(None);
    }
    let start = at + 8;
    let stop = start.saturating_add(size.into());
    Ok(Some((Chunk { name: *name, body: start..stop.min(end) }, stop.saturating_add(u64::from(size & 1)))))
}

#[derive(Default)]
struct Stream {
    kind: [u8; 4],
    handler: [u8; 4],
    /// Frames in `rate / scale` of a second.
    scale: u32,
    rate: u32,
    length: u32,
    format: Vec<u8>,
    name: String,
    /// Indices of OpenDML: where they lie.
    indices: Vec<u64>,
}

#[derive(Default)]
struct File {
    streams: Vec<Stream>,
    /// Bodies of the lists of data.
    data: Vec<Range<u64>>,
    index: Option<Range<u64>>,
    texts: Vec<(String, String)>,
    walked: usize,
}

/// Reads the headers and the index.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let len = source.len(task)?;
    let mut file = File::default();
    let mut at = 0;
    let mut said = 0;
    // Files of more than 1 GB are several pieces of RIFF.
    while let Some((piece, next)) = chunk(task, source, at, len)? {
        if piece.name != *b"RIFF" {
            break;
        }
        said = next;
        file.list(task, source, piece.body.start.saturating_add(4)..piece.body.end, 0)?;
        at = next;
    }
    let mut movie = Movie::default();
    if said > len.saturating_add(1) {
        let what = format!("AVI: it says {said} bytes, {len} are there; the file may be cut off");
        movie.problem = Some(Error::malformed(what).with_defect(Defect::Truncated).at(len));
    }
    if file.streams.is_empty() {
        return Err(movie.problem.take().unwrap_or_else(|| Error::malformed("AVI: it has no stream")));
    }
    let packets = file.packets(task, source)?;
    for (stream, packets) in file.streams.into_iter().zip(packets) {
        match &stream.kind {
            b"vids" => movie.videos.push((stream.pictures(packets), stream.name, String::new())),
            b"auds" => movie.sounds.push(stream.sound(source, packets)?),
            _ => {}
        }
    }
    movie.texts = file.texts;
    movie.node(task, source)
}

impl File {
    fn list(&mut self, task: &Task, source: &Source, range: Range<u64>, depth: usize) -> Result<()> {
        let mut at = range.start;
        while let Some((one, next)) = chunk(task, source, at, range.end)? {
            self.walked += 1;
            if self.walked > CHUNKS || depth > 8 {
                return Err(Error::limit("AVI: too many chunks, or too deep in each other").at(at));
            }
            at = next;
            match &one.name {
                b"LIST" => {
                    let kind = source.read_up_to(task, one.body.start, 4)?;
                    let inner = one.body.start.saturating_add(4)..one.body.end;
                    match kind.as_ref() {
                        b"movi" => self.data.push(one.body.start..one.body.end),
                        b"strl" => {
                            if self.streams.len() >= STREAMS {
                                return Err(Error::limit(format!("AVI: more than {STREAMS} streams")));
                            }
                            self.streams.push(Stream::default());
                            self.list(task, source, inner, depth + 1)?;
                        }
                        b"hdrl" | b"INFO" | b"odml" => self.list(task, source, inner, depth + 1)?,
                        _ => {}
                    }
                }
                b"idx1" => self.index = Some(one.body),
                _ => {
                    let len = (one.body.end - one.body.start).min(1 << 16) as usize;
                    let bytes = source.read_up_to(task, one.body.start, len)?;
                    self.header(&one, &bytes);
                }
            }
        }
        Ok(())
    }

    fn header(&mut self, one: &Chunk, bytes: &[u8]) {
        let number = |at: usize| le::<u32>(bytes, at).unwrap_or(0);
        let four = |at: usize| {
            bytes.get(at..at + 4).and_then(|part| part.first_chunk().copied()).unwrap_or_default()
        };
        if one.name[0] == b'I' {
            let text = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
            let word = match &one.name {
                b"INAM" => "title",
                b"IART" => "artist",
                b"ICMT" => "comment",
                b"ICRD" => "date",
                b"ISFT" => "software",
                b"ICOP" => "copyright",
                b"IGNR" => "genre",
                _ => return,
            };
            self.texts.push((word.to_owned(), text));
            return;
        }
        let Some(stream) = self.streams.last_mut() else { return };
        match &one.name {
            b"strh" => {
                (stream.kind, stream.handler) = (four(0), four(4));
                (stream.scale, stream.rate, stream.length) = (number(20), number(24), number(32));
            }
            b"strf" => stream.format = bytes.to_vec(),
            b"strn" => stream.name = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned(),
            b"indx" if bytes.get(3) == Some(&0) => {
                let entries = bytes.get(24..).unwrap_or_default().as_chunks::<16>().0;
                let listed = number(4) as usize;
                let place = |entry: &[u8; 16]| le::<u64>(entry, 0).unwrap_or(0);
                stream.indices = entries.iter().take(listed).map(place).collect();
            }
            _ => {}
        }
    }

    /// The packets of each stream.
    fn packets(&self, task: &Task, source: &Source) -> Result<Vec<Vec<Packet>>> {
        let mut all: Vec<Vec<Packet>> = self.streams.iter().map(|_| Vec::new()).collect();
        if self.streams.iter().any(|stream| !stream.indices.is_empty()) {
            for (stream, packets) in self.streams.iter().zip(&mut all) {
                for place in &stream.indices {
                    standard_index(task, source, *place, packets)?;
                }
            }
            return Ok(all);
        }
        if let (Some(index), Some(data)) = (&self.index, self.data.first()) {
            self.old_index(task, source, index, data.start, &mut all)?;
        }
        if all.iter().all(Vec::is_empty) {
            for data in &self.data {
                self.walk(task, source, data.start.saturating_add(4)..data.end, &mut all)?;
            }
        }
        Ok(all)
    }

    fn old_index(
        &self,
        task: &Task,
        source: &Source,
        index: &Range<u64>,
        base: u64,
        all: &mut [Vec<Packet>],
    ) -> Result<()> {
        let bytes =
            source.read(task, index.start..index.end.min(index.start.saturating_add(CHUNKS as u64 * 16)))?;
        // Offsets count from the list of data, or from the start of the file.
        let first = u64::from(le::<u32>(&bytes, 8).unwrap_or(0));
        let base = if first >= base { 0 } else { base };
        for entry in bytes.as_chunks::<16>().0 {
            let Some(packets) = stream_of(entry).and_then(|n| all.get_mut(n)) else { continue };
            let flags = le::<u32>(entry, 4).unwrap_or(0);
            let start = base.saturating_add(le::<u32>(entry, 8).unwrap_or(0).into()).saturating_add(8);
            let len = u64::from(le::<u32>(entry, 12).unwrap_or(0));
            let place = start..start.saturating_add(len);
            packets.push(Packet { place, time: packets.len() as i64, key: flags & 0x10 != 0, hidden: false });
        }
        Ok(())
    }

    fn walk(&self, task: &Task, source: &Source, range: Range<u64>, all: &mut [Vec<Packet>]) -> Result<()> {
        let mut at = range.start;
        while let Some((one, next)) = chunk(task, source, at, range.end)? {
            task.check()?;
            // Records are lists of chunks.
            if one.name == *b"LIST" {
                at = one.body.start.saturating_add(4);
                continue;
            }
            if let Some(packets) = stream_of(&one.name).and_then(|n| all.get_mut(n)) {
                if packets.len() >= PACKETS {
                    return Err(Error::limit(format!("AVI: more than {PACKETS} frames")));
                }
                let key = packets.is_empty();
                packets.push(Packet { place: one.body, time: packets.len() as i64, key, hidden: false });
            }
            at = next;
        }
        Ok(())
    }
}

/// The number of the stream of a chunk of data (`00dc`).
fn stream_of(name: &[u8]) -> Option<usize> {
    let digit = |n: usize| name.get(n).and_then(|byte| char::from(*byte).to_digit(10));
    let is_data = matches!(name.get(2..4)?, b"dc" | b"db" | b"wb");
    is_data.then_some(())?;
    Some(digit(0)? as usize * 10 + digit(1)? as usize)
}

/// The packets of a standard index of OpenDML.
fn standard_index(task: &Task, source: &Source, at: u64, packets: &mut Vec<Packet>) -> Result<()> {
    let head = source.read_up_to(task, at, 32)?;
    let (count, base) = (u64::from(le::<u32>(&head, 12).unwrap_or(0)), le::<u64>(&head, 20).unwrap_or(0));
    let len = source.len(task)?;
    let start = at.saturating_add(32);
    let end = start.saturating_add(count.saturating_mul(8)).min(len);
    if packets.len() as u64 + count > PACKETS as u64 || start > end {
        return Err(Error::malformed("AVI: an index lists more frames than there can be").at(at));
    }
    for entry in source.read(task, start..end)?.as_chunks::<8>().0 {
        let (offset, size) = (le::<u32>(entry, 0).unwrap_or(0), le::<u32>(entry, 4).unwrap_or(0));
        let from = base.saturating_add(offset.into());
        let place = from..from.saturating_add((size & 0x7fff_ffff).into());
        packets.push(Packet { place, time: packets.len() as i64, key: size >> 31 == 0, hidden: false });
    }
    Ok(())
}

impl Stream {
    fn pictures(&self, mut packets: Vec<Packet>) -> Track {
        let side = |at: usize| u64::from(le::<i32>(&self.format, at).unwrap_or(0).unsigned_abs());
        let code: [u8; 4] =
            self.format.get(16..20).and_then(|code| code.first_chunk().copied()).unwrap_or_default();
        let code = if code == [0; 4] && self.handler != [0; 4] && self.handler != *b"DIB " {
            self.handler
        } else {
            code
        };
        let codec = codecs::of_fourcc(code);
        let (width, height) = (side(4), side(8));
        // Whatever it is, the decoder knows it by the header of Windows.
        let coding = Coding { id: "V_MS/VFW/FOURCC".to_owned(), private: self.format.clone(), width, height };
        // Empty chunks repeat the frame before.
        packets.iter_mut().for_each(|packet| packet.hidden = packet.place.is_empty());
        if matches!(codec.as_str(), "mjpeg" | "rawvideo" | "huffyuv") {
            packets.iter_mut().for_each(|packet| packet.key = true);
        }
        let rate = f64::from(self.rate) / f64::from(self.scale.max(1));
        let seconds = (rate > 0.0).then(|| f64::from(self.length) / rate);
        Track {
            codec,
            coding: Some(coding),
            packets,
            timescale: if rate > 0.0 { rate } else { 25.0 },
            fps: (rate > 0.0).then_some(rate),
            width,
            height,
            bits: 8,
            seconds,
            ..Track::default()
        }
    }

    fn sound(&self, source: &Source, packets: Vec<Packet>) -> Result<Sound> {
        let number = |at: usize| u64::from(le::<u16>(&self.format, at).unwrap_or(0));
        let codec = match number(0) {
            1 => "pcm",
            2 => "adpcm_ms",
            3 => "pcm_f32le",
            0x11 => "adpcm_ima_wav",
            0x50 => "mp2",
            0x55 => "mp3",
            0xff => "aac",
            0x2000 => "ac3",
            _ => "unknown",
        };
        let places = packets.into_iter().map(|packet| packet.place);
        let own = match codec {
            "mp3" => Some(pieces(source, "sound.mp3", Vec::new(), places)?),
            "pcm" | "adpcm_ms" | "pcm_f32le" | "adpcm_ima_wav" => {
                let places: Vec<Range<u64>> = places.collect();
                let bytes: u64 = places.iter().map(|place| place.end.saturating_sub(place.start)).sum();
                let head = wave(&self.format, bytes);
                Some(pieces(source, "sound.wav", head, places.into_iter())?)
            }
            _ => None,
        };
        Ok(Sound {
            codec: codec.to_owned(),
            channels: number(2),
            rate: le::<u32>(&self.format, 4).unwrap_or(0).into(),
            bits: number(14),
            name: self.name.clone(),
            source: own,
            ..Sound::default()
        })
    }
}

/// What a WAV of this format begins with, up to its samples.
fn wave(format: &[u8], bytes: u64) -> Vec<u8> {
    let len = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    // Of what is longer than a WAV says, its reader goes on to the end.
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX - 1024);
    let filled = format.len().next_multiple_of(2);
    let all = bytes.saturating_add((filled + 20) as u32);
    let mut head = [&b"RIFF"[..], &all.to_le_bytes(), b"WAVEfmt ", &len(format.len()), format].concat();
    head.resize(20 + filled, 0);
    head.extend_from_slice(b"data");
    head.extend_from_slice(&bytes.to_le_bytes());
    head
}
