//! Headers, footers and blocks of single formats: numbers in them become hostile, lengths and checksums around them
//! are made anew.

use super::layers::within;
use super::words::{hostile, is_text, number, word};
use crate::fixtures::Random;
use std::io::{Read, Write};

/// A number of seven bits a byte.
fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn read_varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (n, byte) in bytes.get(at..)?.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * n as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, at + n + 1));
        }
    }
    None
}

fn zigzag(value: u64) -> u64 {
    (value << 1) ^ ((value as i64) >> 63) as u64
}

/// The places of integers in a structure of Thrift's compact protocol, and its end.
fn thrift(bytes: &[u8], at: usize, found: &mut Vec<(usize, usize)>, depth: usize) -> Option<usize> {
    fn value(
        bytes: &[u8],
        at: usize,
        kind: u8,
        found: &mut Vec<(usize, usize)>,
        depth: usize,
    ) -> Option<usize> {
        match kind {
            1 | 2 => Some(at),
            3 => Some(at + 1),
            4..=6 => {
                let (_, end) = read_varint(bytes, at)?;
                found.push((at, end));
                Some(end)
            }
            7 => Some(at + 8),
            8 => {
                let (len, end) = read_varint(bytes, at)?;
                found.push((at, end));
                end.checked_add(len as usize).filter(|end| *end <= bytes.len())
            }
            9 | 10 => {
                let head = *bytes.get(at)?;
                let (count, mut at) = match head >> 4 {
                    15 => {
                        found.push((at + 1, read_varint(bytes, at + 1)?.1));
                        read_varint(bytes, at + 1)?
                    }
                    short => (u64::from(short), at + 1),
                };
                for _ in 0..count {
                    at = match head & 15 {
                        1 | 2 => at + 1,
                        kind => value(bytes, at, kind, found, depth)?,
                    };
                }
                Some(at)
            }
            12 => thrift(bytes, at, found, depth.checked_sub(1)?),
            _ => None,
        }
    }
    let mut at = at;
    loop {
        let head = *bytes.get(at)?;
        at += 1;
        if head == 0 {
            return Some(at);
        }
        if head >> 4 == 0 {
            at = read_varint(bytes, at)?.1;
        }
        at = value(bytes, at, head & 15, found, depth)?;
    }
}

/// Replaces one of the varints at `places`.
fn exchange(bytes: &[u8], places: &[(usize, usize)], random: &mut Random) -> Option<Vec<u8>> {
    let &(start, end) = places.get(random.below(places.len()))?;
    let value = hostile(bytes.len(), random);
    let value = if random.below(2) == 0 { zigzag(value) } else { value };
    Some([&bytes[..start], &varint(value), &bytes[end..]].concat())
}

/// Parquet: a number in the footer, or in the header of a page whose length stays the same.
pub(super) fn parquet(bytes: &[u8], random: &mut Random, _: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"PAR1") || !bytes.ends_with(b"PAR1") || bytes.len() < 16 {
        return None;
    }
    let tail = bytes.len() - 8;
    let len = u32::from_le_bytes(*bytes[tail..].first_chunk()?) as usize;
    let start = tail.checked_sub(len)?;
    let footer = &bytes[start..tail];
    if random.below(3) == 0 {
        // The first page begins behind the magic; others are found where a header can be read.
        let at = 4 + if random.below(2) == 0 { 0 } else { random.below(start.max(5) - 4) };
        let mut places = Vec::new();
        thrift(&bytes[..start], at, &mut places, 4)?;
        let mut out = bytes.to_vec();
        for _ in 0..8 {
            let &(from, to) = places.get(random.below(places.len()))?;
            let new = varint(hostile(bytes.len(), random) & ((1u64 << (7 * (to - from)).min(63)) - 1));
            if new.len() == to - from {
                out[from..to].copy_from_slice(&new);
                return Some(out);
            }
        }
        return None;
    }
    let mut places = Vec::new();
    thrift(footer, 0, &mut places, 40)?;
    let mut changed = exchange(footer, &places, random)?;
    if random.below(4) == 0 {
        let mut places = Vec::new();
        if thrift(&changed, 0, &mut places, 40).is_some() {
            changed = exchange(&changed, &places, random)?;
        }
    }
    let len = (changed.len() as u32).to_le_bytes();
    Some([&bytes[..start], &changed, &len, b"PAR1"].concat())
}

fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    flate2::read::DeflateDecoder::new(bytes).take(16 << 20).read_to_end(&mut out).ok()?;
    Some(out)
}

fn deflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).ok()?;
    out.finish().ok()
}

/// Avro: the values of a block, below its codec; the block's size is made anew, now and then its count hostile.
pub(super) fn avro(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    let head = bytes.strip_prefix(b"Obj\x01")?;
    let codec = ["deflate", "snappy", "zstandard", "bzip2", "xz"]
        .into_iter()
        .find(|codec| head.windows(codec.len()).any(|w| w == codec.as_bytes()))
        .unwrap_or("null");
    let mark = bytes.last_chunk::<16>()?;
    let first = bytes.windows(16).position(|w| w == mark)? + 16;
    let mut blocks = Vec::new();
    let mut at = first;
    while at < bytes.len() {
        let (_, size_at) = read_varint(bytes, at)?;
        let (size, data) = read_varint(bytes, size_at)?;
        let end = data.checked_add((size >> 1) as usize)?;
        blocks.push((at, size_at, data, end));
        at = end.checked_add(16)?;
    }
    let &(at, size_at, data, end) = blocks.get(random.below(blocks.len()))?;
    let stored = bytes.get(data..end)?;
    let changed = match codec {
        "deflate" => deflate(&within(&inflate(stored)?, random, 0))?,
        "snappy" => {
            let inner =
                snap::raw::Decoder::new().decompress_vec(stored.get(..stored.len().checked_sub(4)?)?).ok()?;
            let inner = within(&inner, random, 0);
            let sum = crc32fast::hash(&inner).to_be_bytes();
            [snap::raw::Encoder::new().compress_vec(&inner).ok()?, sum.to_vec()].concat()
        }
        _ => within(stored, random, depth),
    };
    let count = match random.below(5) {
        0 => varint(zigzag(hostile(bytes.len(), random))),
        _ => bytes[at..size_at].to_vec(),
    };
    let size = varint(zigzag(changed.len() as u64));
    Some([&bytes[..at], &count, &size, &changed, &bytes[end..]].concat())
}

/// The places of numbers and lengths in a message of protocol buffers, those in messages within it too.
fn proto(bytes: &[u8], base: usize, found: &mut Vec<(usize, usize)>, depth: usize) -> Option<()> {
    let mut at = 0;
    let mut here = Vec::new();
    while at < bytes.len() {
        let (key, next) = read_varint(bytes, at)?;
        at = match key & 7 {
            0 => {
                let (_, end) = read_varint(bytes, next)?;
                here.push((base + next, base + end));
                end
            }
            1 => next + 8,
            2 => {
                let (len, start) = read_varint(bytes, next)?;
                let end = start.checked_add(len as usize).filter(|end| *end <= bytes.len())?;
                here.push((base + next, base + start));
                if depth > 0 {
                    let _ = proto(&bytes[start..end], base + start, &mut here, depth - 1);
                }
                end
            }
            5 => next + 4,
            _ => return None,
        };
    }
    found.append(&mut here);
    Some(())
}

/// ORC: a number in the footer, below its compression; the lengths in the postscript are made anew.
pub(super) fn orc(bytes: &[u8], random: &mut Random, _: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"ORC") {
        return None;
    }
    let script_len = usize::from(*bytes.last()?);
    let script_at = bytes.len().checked_sub(1 + script_len)?;
    let script = &bytes[script_at..bytes.len() - 1];
    // Its first field is the length of the footer, its second the kind of compression.
    let (1, (len, after)) = (script.first()? >> 3, read_varint(script, 1)?) else { return None };
    let kind = if script.get(after) == Some(&0x10) { *script.get(after + 1)? } else { 0 };
    let start = script_at.checked_sub(len as usize)?;
    let stored = &bytes[start..script_at];
    let footer = match kind {
        0 => stored.to_vec(),
        _ => {
            let (mut out, mut rest) = (Vec::new(), stored);
            while let Some((head, after)) = rest.split_first_chunk::<3>() {
                let word = u32::from_le_bytes([head[0], head[1], head[2], 0]);
                let data = after.get(..(word >> 1) as usize)?;
                match (word & 1, kind) {
                    (1, _) => out.extend_from_slice(data),
                    (_, 1) => out.extend(inflate(data)?),
                    (_, 2) => out.extend(snap::raw::Decoder::new().decompress_vec(data).ok()?),
                    (_, 5) => out.extend(zstd::decode_all(data).ok()?),
                    _ => return None,
                }
                rest = &after[data.len()..];
            }
            out
        }
    };
    let mut places = Vec::new();
    proto(&footer, 0, &mut places, 6)?;
    let changed = exchange(&footer, &places, random)?;
    let stored = match kind {
        0 => changed,
        // As it is, in a piece that says so.
        _ => {
            let word = ((changed.len() as u32) << 1 | 1).to_le_bytes();
            [&word[..3], &changed].concat()
        }
    };
    let script = [&[script[0]][..], &varint(stored.len() as u64), &script[after..]].concat();
    Some([&bytes[..start], &stored, &script, &[script.len() as u8]].concat())
}

/// safetensors: a number in the header, whose length is made anew.
pub(super) fn safetensors(bytes: &[u8], random: &mut Random, _: usize) -> Option<Vec<u8>> {
    let len = u64::from_le_bytes(*bytes.first_chunk()?);
    let end = usize::try_from(len).ok()?.checked_add(8)?;
    let header = bytes.get(8..end).filter(|header| header.starts_with(b"{") && is_text(header))?;
    let mut header = header.to_vec();
    number(&mut header, random);
    Some([&(header.len() as u64).to_le_bytes(), &header[..], &bytes[end..]].concat())
}

/// FITS: the number of a card, which stays 80 bytes long.
pub(super) fn fits(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"SIMPLE  =") {
        return None;
    }
    if random.below(5) == 0 && depth > 0 {
        return None;
    }
    let cards: Vec<usize> = (0..bytes.len() / 80)
        .map(|n| n * 80)
        .filter(|&at| {
            &bytes[at + 8..at + 10] == b"= " && bytes[at + 10..at + 30].iter().any(u8::is_ascii_digit)
        })
        .collect();
    let &at = cards.get(random.below(cards.len()))?;
    let text = match random.below(6) {
        0 => "-1".to_owned(),
        1 => "1E300".to_owned(),
        _ => hostile(bytes.len(), random).to_string(),
    };
    let mut out = bytes.to_vec();
    out[at + 10..at + 30].copy_from_slice(format!("{text:>20}").as_bytes());
    Some(out)
}

/// tar: the size or another number of an entry, and the checksum of its header; or what is in an entry.
pub(super) fn tar(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if bytes.get(257..262) != Some(b"ustar") {
        return None;
    }
    let octal = |at: usize| {
        let digits = bytes.get(at..at + 12)?.iter().skip_while(|b| **b == b' ');
        let digits = digits.take_while(|b| (b'0'..=b'7').contains(*b));
        Some(digits.fold(0usize, |value, digit| value << 3 | usize::from(digit - b'0')))
    };
    let mut entries = Vec::new();
    let mut at = 0;
    while bytes.get(at + 257..at + 262) == Some(b"ustar") {
        let size = octal(at + 124)?;
        entries.push((at, size));
        at = at.checked_add(512 + size.div_ceil(512) * 512)?;
    }
    let &(at, size) = entries.get(random.below(entries.len()))?;
    let mut out = bytes.to_vec();
    if random.below(2) == 0 && size > 0 {
        let mut inner = within(bytes.get(at + 512..at + 512 + size)?, random, depth);
        inner.resize(size, 0);
        out[at + 512..at + 512 + size].copy_from_slice(&inner);
        return Some(out);
    }
    let field = [124, 124, 136, 100][random.below(4)];
    let value = hostile(bytes.len(), random);
    match random.below(2) {
        0 => out[at + field..at + field + 11]
            .copy_from_slice(format!("{:011o}", value & 0o77777777777).as_bytes()),
        // A number of base 256.
        _ => {
            out[at + field..at + field + 4].copy_from_slice(&[0x80, 0, 0, 0]);
            out[at + field + 4..at + field + 12].copy_from_slice(&value.to_be_bytes());
        }
    }
    out[at + 148..at + 156].fill(b' ');
    let sum: u32 = out[at..at + 512].iter().map(|byte| u32::from(*byte)).sum();
    out[at + 148..at + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(out)
}

/// SQLite: the head of a page, a pointer to a cell, or the first bytes of one.
pub(super) fn sqlite(bytes: &[u8], random: &mut Random, _: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"SQLite format 3\0") {
        return None;
    }
    let size = usize::from(u16::from_be_bytes(*bytes[16..].first_chunk()?)).max(512);
    let page = random.below(bytes.len().div_ceil(size));
    let start = page * size;
    let head = start + if page == 0 { 100 } else { 0 };
    let mut out = bytes.to_vec();
    let short = |at: usize| Some(usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)));
    let (count, pointers) = (short(head + 3)?.min(size / 4), head + 8);
    match random.below(4) {
        0 => word(out.get_mut(head..head + 12)?, random),
        1 => word(out.get_mut(pointers..pointers + 2 * count.max(1))?, random),
        2 if page == 0 => word(&mut out[16..100], random),
        _ => {
            let cell = start + short(pointers + 2 * random.below(count))?;
            let new = varint(hostile(bytes.len(), random));
            let new: Vec<u8> = new.into_iter().rev().collect();
            let room = out.get_mut(cell..)?;
            let len = new.len().min(room.len());
            room[..len].copy_from_slice(&new[..len]);
        }
    }
    Some(out)
}
