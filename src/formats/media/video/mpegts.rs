//! MPEG transport streams (ISO 13818-1): packets of 188 bytes, of Blu-ray with four bytes before each. Tables say which
//! streams there are; a frame is one packet of an elementary stream, cut into the payloads of transport packets.
//!
//! Nothing in the file says where frames are, so opening goes through all packets, up to a bound.

use super::codecs;
use super::frames::{PACKETS, Packet, Track};
use super::{Movie, Sound};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::pieces::pieces;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Bytes of a packet.
const PACKET: u64 = 188;
/// Bytes that are gone through.
const MOST: u64 = 4 << 30;
/// Bytes that are read at once.
const STEP: u64 = 188 * 4_096;
/// Ticks in a second.
const CLOCK: f64 = 90_000.0;

/// Bytes before each packet, where several follow each other that begin with the sign.
fn spacing(first: &[u8]) -> Option<u64> {
    [0u64, 4].into_iter().find(|extra| {
        let step = (PACKET + extra) as usize;
        let signs: Vec<bool> =
            first.iter().skip(*extra as usize).step_by(step).take(5).map(|b| *b == 0x47).collect();
        signs.len() >= 3 && signs.iter().all(|sign| *sign)
    })
}

/// Packets at their distances.
pub(super) fn sniff(head: &Head) -> Match {
    if head.is_folder || head.is_text() {
        return Match::No;
    }
    if spacing(&head.first).is_some() { Match::Yes } else { Match::No }
}

#[derive(Default)]
struct Stream {
    kind: u8,
    language: String,
    packets: Vec<Packet>,
    more: HashMap<usize, Vec<Range<u64>>>,
    /// The first bytes of the first frames: they say how large pictures are.
    first: Vec<u8>,
}

#[derive(Default)]
struct Scan {
    /// Identifiers of tables of programs,
    tables: Vec<u16>,
    /// and of elementary streams.
    streams: BTreeMap<u16, Stream>,
}

/// Goes through the packets.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let none = || Error::malformed("MPEG-TS: its packets do not follow each other");
    let extra = spacing(&opening.head.first).ok_or_else(none)?;
    let len = source.len(task)?;
    let end = len.min(MOST);
    let mut scan = Scan::default();
    let step = PACKET + extra;
    let mut at = 0;
    task.set_total(end);
    while at < end {
        task.check()?;
        let count = (end - at).min(STEP / PACKET * step) as usize;
        let bytes = source.read_up_to(task, at, count)?;
        for (n, packet) in bytes.chunks_exact(step as usize).enumerate() {
            let start = at + n as u64 * step + extra;
            scan.packet(packet.get(extra as usize..).unwrap_or_default(), start)?;
        }
        at += count as u64;
        task.advance(count as u64)?;
    }
    let mut movie = Movie::default();
    if len > end {
        movie.remarks.push(format!("the first {end} of {len} bytes were gone through; more frames follow"));
    }
    if scan.streams.is_empty() {
        return Err(Error::malformed("MPEG-TS: no table names its streams"));
    }
    for (pid, stream) in scan.streams {
        stream.node(pid, source, &mut movie)?;
    }
    movie.node(task, source)
}

impl Scan {
    /// Takes a packet whose first byte lies at `start`.
    fn packet(&mut self, packet: &[u8], start: u64) -> Result<()> {
        let &[0x47, high, low, flags, ..] = packet else { return Ok(()) };
        let pid = u16::from(high & 0x1f) << 8 | u16::from(low);
        let begins = high & 0x40 != 0;
        let mut skip = 4;
        if flags & 0x20 != 0 {
            skip += 1 + usize::from(packet.get(4).copied().unwrap_or(0));
        }
        if flags & 0x10 == 0 || high & 0x80 != 0 {
            return Ok(());
        }
        let Some(payload) = packet.get(skip..) else { return Ok(()) };
        // Whether decoding can begin here, says a bit of the adaptation field.
        let random = flags & 0x20 != 0
            && packet.get(4) > Some(&0)
            && packet.get(5).is_some_and(|bits| bits & 0x40 != 0);
        if pid == 0 && begins {
            self.programs(payload);
        } else if begins && self.tables.contains(&pid) {
            self.streams(payload);
        } else if let Some(stream) = self.streams.get_mut(&pid) {
            let place = start + skip as u64..start + packet.len().min(PACKET as usize) as u64;
            stream.payload(payload, place, begins, random)?;
        }
        Ok(())
    }

    /// The table of programs.
    fn programs(&mut self, payload: &[u8]) {
        let Some(section) = section(payload) else { return };
        for entry in section.get(8..section.len().saturating_sub(4)).unwrap_or_default().as_chunks::<4>().0 {
            let (number, pid) = (be::<u16>(entry, 0), be::<u16>(entry, 2).unwrap_or(0) & 0x1fff);
            if number != Some(0) && !self.tables.contains(&pid) && self.tables.len() < 256 {
                self.tables.push(pid);
            }
        }
    }

    /// The table of the streams of a program.
    fn streams(&mut self, payload: &[u8]) {
        let Some(section) = section(payload) else { return };
        let skip = usize::from(be::<u16>(section, 10).unwrap_or(0) & 0xfff);
        let mut rest = section.get(12 + skip..section.len().saturating_sub(4)).unwrap_or_default();
        while let Some(&[kind, a, b, c, d]) = rest.first_chunk() {
            let pid = u16::from(a & 0x1f) << 8 | u16::from(b);
            let len = usize::from(c & 15) << 8 | usize::from(d);
            let descriptors = rest.get(5..5 + len).unwrap_or_default();
            if self.streams.len() < 256 {
                let stream = self.streams.entry(pid).or_default();
                stream.kind = kind;
                stream.describe(descriptors);
            }
            rest = rest.get(5 + len..).unwrap_or_default();
        }
    }
}

/// A section of a table that lies in one packet.
fn section(payload: &[u8]) -> Option<&[u8]> {
    let skip = 1 + usize::from(*payload.first()?);
    let len = usize::from(be::<u16>(payload, skip + 1)? & 0xfff);
    payload.get(skip..skip + 3 + len)
}

impl Stream {
    fn describe(&mut self, mut descriptors: &[u8]) {
        while let Some(&[tag, len]) = descriptors.first_chunk() {
            let body = descriptors.get(2..2 + usize::from(len)).unwrap_or_default();
            match tag {
                0x0a => {
                    self.language = String::from_utf8_lossy(body.get(..3).unwrap_or_default()).into_owned()
                }
                // Streams that private descriptors name.
                0x6a if self.kind == 6 => self.kind = 0x81,
                0x7a if self.kind == 6 => self.kind = 0x87,
                5 if body.starts_with(b"Opus") => self.kind = 0xf0,
                _ => {}
            }
            descriptors = descriptors.get(2 + usize::from(len)..).unwrap_or_default();
        }
    }

    fn codec(&self) -> &'static str {
        match self.kind {
            0x01 => "mpeg1video",
            0x02 => "mpeg2video",
            0x03 | 0x04 => "mp2",
            0x0f | 0x11 => "aac",
            0x10 => "mpeg4",
            0x1b => "h264",
            0x24 => "hevc",
            0x81 => "ac3",
            0x87 => "eac3",
            0xf0 => "opus",
            _ => "unknown",
        }
    }

    fn is_video(&self) -> bool {
        matches!(self.kind, 0x01 | 0x02 | 0x10 | 0x1b | 0x24)
    }

    fn payload(&mut self, payload: &[u8], mut place: Range<u64>, begins: bool, random: bool) -> Result<()> {
        let mut body = payload;
        if begins {
            if !payload.starts_with(&[0, 0, 1]) {
                return Ok(());
            }
            if self.packets.len() >= PACKETS {
                return Err(Error::limit(format!("MPEG-TS: more than {PACKETS} frames")));
            }
            let skip = 9 + usize::from(payload.get(8).copied().unwrap_or(0));
            let time = match payload.get(7).map(|flags| flags & 0x80) {
                Some(0x80) => payload.get(9..14).map(time),
                _ => None,
            };
            body = payload.get(skip..).unwrap_or_default();
            place.start = place.start.saturating_add(skip as u64).min(place.end);
            let time = time.or_else(|| self.packets.last().map(|packet| packet.time + 1)).unwrap_or(0);
            let key = random || self.is_key(body);
            self.packets.push(Packet { place, time, key, hidden: false });
        } else {
            let Some(number) = self.packets.len().checked_sub(1) else { return Ok(()) };
            self.more.entry(number).or_default().push(place);
        }
        if self.is_video() && self.first.len() < 16 << 10 {
            self.first.extend_from_slice(body);
        }
        Ok(())
    }

    /// Whether a frame begins with what decoding begins with.
    fn is_key(&self, body: &[u8]) -> bool {
        let units = body.windows(5).filter(|window| window.starts_with(&[0, 0, 1]));
        for unit in units.take(16) {
            let kind = unit.get(3).copied().unwrap_or(0);
            let found = match self.kind {
                0x1b => matches!(kind & 31, 5 | 7),
                0x24 => matches!(kind >> 1 & 63, 16..=21 | 32..=34),
                0x01 | 0x02 => kind == 0xb3,
                _ => kind == 0xb0 || kind == 0xb6 && unit.get(4).is_some_and(|bits| bits >> 6 == 0),
            };
            if found {
                return true;
            }
        }
        false
    }

    /// Its packets as a file of sound; `None` where nothing reads such.
    fn sound(&self, source: &Source) -> Result<Option<Source>> {
        // Layer II of MPEG audio has no decoder here.
        if self.kind != 0x0f {
            return Ok(None);
        }
        let rest = |n: usize| self.more.get(&n).into_iter().flatten().cloned();
        let packets = self.packets.iter().enumerate();
        let places = packets.flat_map(|(n, packet)| std::iter::once(packet.place.clone()).chain(rest(n)));
        pieces(source, "sound.aac", Vec::new(), places).map(Some)
    }

    fn node(self, pid: u16, source: &Source, movie: &mut Movie) -> Result<()> {
        let codec = self.codec().to_owned();
        let name = format!("stream 0x{pid:x}");
        if !self.is_video() {
            if matches!(self.kind, 0x03 | 0x04 | 0x0f | 0x11 | 0x81 | 0x87 | 0xf0) {
                let own = self.sound(source)?;
                let language = self.language;
                movie.sounds.push(Sound { codec, name, language, source: own, ..Sound::default() });
            }
            return Ok(());
        }
        let (width, height, bits) = super::bitstream::sides(&codec, &self.first).unwrap_or((0, 0, 8));
        let coding = codecs::coding(&codec, &[], (width, height));
        let track = Track {
            coding,
            codec,
            packets: self.packets,
            more: self.more,
            timescale: CLOCK,
            width,
            height,
            bits,
            ..Track::default()
        };
        movie.videos.push((track, name, self.language));
        Ok(())
    }
}

/// A time stamp of 33 bits.
fn time(bytes: &[u8]) -> i64 {
    let at = |n: usize| i64::from(bytes.get(n).copied().unwrap_or(0));
    (at(0) >> 1 & 7) << 30 | at(1) << 22 | (at(2) >> 1) << 15 | at(3) << 7 | at(4) >> 1
}
