//! AIFF and AIFC: big-endian chunks; `COMM` says what the samples of `SSND` are.

use super::pcm::{Coding, Marker, Samples};
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::be;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::Head;
use crate::engines::time_spans::CHAPTERS;
use std::ops::Range;

/// A file has no more chunks than so many that are looked at.
const CHUNKS: usize = 10_000;
/// A text is not read beyond so many bytes.
const TEXT: u64 = 1 << 20;
/// Nor markers beyond so many.
const MARKERS: u64 = 4 << 20;

/// Whether a file begins as AIFF does.
pub(super) fn is_aiff(head: &Head) -> bool {
    head.first.starts_with(b"FORM") && matches!(head.first.get(8..12), Some(b"AIFF" | b"AIFC"))
}

/// What `COMM` says.
struct Common {
    channels: u64,
    frames: u64,
    bits: u32,
    rate: u32,
    coding: Coding,
    big: bool,
    width: u64,
}

impl Common {
    fn parse(bytes: &[u8], at: u64) -> Result<Self> {
        let short = || Error::malformed("the chunk that describes the samples is too short").at(at);
        let channels = be::<u16>(bytes, 0).ok_or_else(short)?.into();
        let frames = be::<u32>(bytes, 2).ok_or_else(short)?.into();
        let bits: u32 = be::<u16>(bytes, 6).ok_or_else(short)?.into();
        let rate = extended(bytes.get(8..18).ok_or_else(short)?);
        let by_bits = u64::from(bits).div_ceil(8);
        let (coding, big, width) = match bytes.get(18..22) {
            None | Some(b"NONE" | b"twos" | b"in24" | b"in32") => (Coding::Signed, true, by_bits),
            Some(b"sowt") => (Coding::Signed, false, by_bits),
            Some(b"raw ") => (Coding::Unsigned, true, by_bits),
            Some(b"fl32" | b"FL32") => (Coding::Float, true, 4),
            Some(b"fl64" | b"FL64") => (Coding::Float, true, 8),
            Some(b"alaw" | b"ALAW") => (Coding::ALaw, true, 1),
            Some(b"ulaw" | b"ULAW") => (Coding::MuLaw, true, 1),
            Some(other) => {
                let what = format!("AIFC with samples coded as {:?}", String::from_utf8_lossy(other));
                return Err(Error::unsupported(what).at(at));
            }
        };
        Ok(Common { channels, frames, bits, rate, coding, big, width })
    }
}

/// A number of 80 bits (IEEE 754 extended), as whole hertz.
fn extended(bytes: &[u8]) -> u32 {
    let exponent = i32::from(be::<u16>(bytes, 0).unwrap_or(0) & 0x7fff) - 16_383 - 63;
    let value = be::<u64>(bytes, 2).unwrap_or(0) as f64 * 2f64.powi(exponent);
    value.round() as u32
}

/// The places that have a name: number, frame, and a name whose length and characters take an even number of bytes.
fn read_markers(bytes: &[u8]) -> Vec<Marker> {
    let mut found = Vec::new();
    let mut at = 2;
    for _ in 0..usize::from(be::<u16>(bytes, 0).unwrap_or(0)).min(CHAPTERS) {
        let (Some(start), Some(len)) = (be::<u32>(bytes, at + 2), bytes.get(at + 6)) else { break };
        let len = usize::from(*len);
        let name = bytes.get(at + 7..).map_or(&[][..], |rest| rest.get(..len).unwrap_or(rest));
        let title = String::from_utf8_lossy(name).into_owned();
        found.push(Marker { start: start.into(), length: None, title });
        at += 7 + len + (len + 1) % 2;
    }
    found
}

/// Opens an AIFF.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let (mut common, mut data): (Option<Common>, Option<Range<u64>>) = (None, None);
    let (mut texts, mut markers) = (Vec::new(), Vec::new());
    let mut at = 12u64;
    for _ in 0..CHUNKS {
        task.check()?;
        let head = source.read_up_to(task, at, 8)?;
        let (Some(name), Some(size)) = (head.get(..4), be::<u32>(&head, 4)) else { break };
        let (start, size) = (at.saturating_add(8), u64::from(size));
        let word = match name {
            b"NAME" => Some("title"),
            b"AUTH" => Some("artist"),
            b"(c) " => Some("copyright"),
            b"ANNO" => Some("comment"),
            _ => None,
        };
        if let Some(word) = word {
            let bytes = source.read_up_to(task, start, size.min(TEXT) as usize)?;
            texts.push((word, String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()));
        }
        if name == b"MARK" && markers.is_empty() {
            markers = read_markers(&source.read_up_to(task, start, size.min(MARKERS) as usize)?);
        }
        if name == b"COMM" {
            common = Some(Common::parse(&source.read_up_to(task, start, size.min(64) as usize)?, at)?);
        }
        if name == b"SSND" && data.is_none() {
            let gap = be::<u32>(&source.read_up_to(task, start, 8)?, 0).unwrap_or(0);
            let first = start.saturating_add(8).saturating_add(gap.into());
            data = Some(first..start.saturating_add(size).max(first));
        }
        at = start.saturating_add(size).saturating_add(size & 1);
    }
    let missing = |what: &str| Error::malformed(format!("the file has no chunk {what}")).at(12);
    let common = common.ok_or_else(|| missing("that describes the samples"))?;
    let data = match data {
        Some(data) => data,
        None if common.frames == 0 => 0..0,
        None => return Err(missing("of samples")),
    };
    let Common { channels, frames, bits, rate, coding, big, width } = common;
    let samples = Samples { coding, rate, channels, bits, width, big, data, frames: Some(frames), markers };
    let mut node = samples.node(task, source)?;
    for (name, text) in texts {
        node = node.attribute(name, text);
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_have_names_of_any_length() {
        let bytes = b"\0\x03\0\x01\0\0\0\0\x04Head\0\0\x02\0\0\x1f\x40\x03One\0\x03\0\0\x20\0\0\0";
        let found: Vec<(u64, String)> =
            read_markers(bytes).into_iter().map(|mark| (mark.start, mark.title)).collect();
        let expected = [(0, "Head".to_owned()), (8_000, "One".to_owned()), (8_192, String::new())];
        assert_eq!(found, expected);
        for len in 0..bytes.len() {
            assert!(read_markers(&bytes[..len]).len() <= 3);
        }
    }

    #[test]
    fn rates_of_80_bits() {
        assert_eq!(extended(&[0x40, 0x0e, 0xac, 0x44, 0, 0, 0, 0, 0, 0]), 44_100);
        assert_eq!(extended(&[0x40, 0x0b, 0xfa, 0, 0, 0, 0, 0, 0, 0]), 8_000);
        assert_eq!(extended(&[0; 10]), 0);
    }
}
