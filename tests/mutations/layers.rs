//! Damage below compression and checksums: a layer is undone, what lies in it is changed, and the layer is made
//! valid again, so that what reads it gets as far as the damage.

use super::words::{change, hostile, word};
use crate::fixtures::Random;
use gander::bytes::codec::checksum::{crc32c, lookup3};
use std::io::{Read, Write};

/// How deep layers are followed.
const DEEP: usize = 6;
/// The most bytes of a layer.
const MOST: u64 = 16 << 20;

/// Changes something within the innermost layers that are found.
pub(super) fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let changed = within(bytes, random, DEEP);
    *bytes = changed;
}

/// The bytes with something changed in them, in a layer of theirs where they have one.
pub(super) fn within(bytes: &[u8], random: &mut Random, depth: usize) -> Vec<u8> {
    // Now and then the layer itself: its own words and lengths.
    if depth > 0 && random.below(6) > 0 {
        for layer in LAYERS {
            if let Some(changed) = layer(bytes, random, depth - 1) {
                return changed;
            }
        }
    }
    let mut changed = bytes.to_vec();
    change(&mut changed, random);
    changed
}

/// Undoes a layer, has its inside changed and makes it again; `None` where it is not this layer.
type Layer = fn(&[u8], &mut Random, usize) -> Option<Vec<u8>>;

const LAYERS: &[Layer] = &[
    gzip,
    zstandard,
    xz,
    bzip2,
    lz4,
    zip,
    png,
    super::headers::parquet,
    super::headers::avro,
    super::headers::orc,
    super::headers::safetensors,
    super::headers::fits,
    super::headers::tar,
    super::headers::sqlite,
    hdf5,
    shard,
    embedded,
];

fn all(mut reader: impl Read) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    reader.by_ref().take(MOST).read_to_end(&mut out).ok()?;
    Some(out)
}

fn gzip(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return None;
    }
    let inner = within(&all(flate2::read::MultiGzDecoder::new(bytes))?, random, depth);
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(&inner).ok()?;
    out.finish().ok()
}

fn zstandard(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return None;
    }
    let inner = within(&all(zstd::Decoder::new(bytes).ok()?)?, random, depth);
    zstd::encode_all(&inner[..], 1).ok()
}

fn xz(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        return None;
    }
    let inner = within(&all(lzma_rust2::XzReader::new(bytes, true))?, random, depth);
    let mut out = lzma_rust2::XzWriter::new(vec![], lzma_rust2::XzOptions::with_preset(0)).ok()?;
    out.write_all(&inner).ok()?;
    out.finish().ok()
}

fn bzip2(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"BZh") {
        return None;
    }
    let inner = within(&all(::bzip2::read::MultiBzDecoder::new(bytes))?, random, depth);
    let mut out = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    out.write_all(&inner).ok()?;
    out.finish().ok()
}

fn lz4(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(&[4, 0x22, 0x4d, 0x18]) {
        return None;
    }
    let inner = within(&all(lz4_flex::frame::FrameDecoder::new(bytes))?, random, depth);
    let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
    out.write_all(&inner).ok()?;
    out.finish().ok()
}

fn little<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let part = bytes.get(at..at + N)?;
    Some(part.iter().rev().fold(0usize, |value, byte| value << 8 | usize::from(*byte)))
}

/// A member of an archive as its directory names it: the record, the name, the method, its content unpacked.
struct Member {
    record: Vec<u8>,
    name: Vec<u8>,
    method: usize,
    data: Vec<u8>,
}

fn members(bytes: &[u8]) -> Option<Vec<Member>> {
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06")?;
    let (count, mut at) = (little::<2>(bytes, end + 10)?, little::<4>(bytes, end + 16)?);
    let mut members = Vec::new();
    for _ in 0..count {
        let record = bytes.get(at..at + 46).filter(|record| record.starts_with(b"PK\x01\x02"))?;
        let lens = (little::<2>(record, 28)?, little::<2>(record, 30)?, little::<2>(record, 32)?);
        let (method, packed, local) =
            (little::<2>(record, 10)?, little::<4>(record, 20)?, little::<4>(record, 42)?);
        let start = local + 30 + little::<2>(bytes, local + 26)? + little::<2>(bytes, local + 28)?;
        let stored = bytes.get(start..start.checked_add(packed)?)?;
        let data = match method {
            0 => stored.to_vec(),
            8 => all(flate2::read::DeflateDecoder::new(stored))?,
            _ => return None,
        };
        let name = bytes.get(at + 46..at + 46 + lens.0)?.to_vec();
        members.push(Member { record: record.to_vec(), name, method, data });
        at += 46 + lens.0 + lens.1 + lens.2;
    }
    Some(members)
}

/// ZIP: a member is changed; its checksum, its sizes and all offsets are made anew.
fn zip(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"PK\x03\x04") {
        return None;
    }
    let mut members = members(bytes)?;
    let chosen = random.below(members.len());
    let member = members.get_mut(chosen)?;
    member.data = within(&member.data, random, depth);
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in &members {
        let packed = match member.method {
            0 => member.data.clone(),
            _ => {
                let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
                writer.write_all(&member.data).ok()?;
                writer.finish().ok()?
            }
        };
        let offset = out.len() as u32;
        let crc = crc32fast::hash(&member.data).to_le_bytes();
        let sizes = [(packed.len() as u32).to_le_bytes(), (member.data.len() as u32).to_le_bytes()].concat();
        let name = (member.name.len() as u16).to_le_bytes();
        // Flags without "the sizes follow the data".
        let mut head = member.record[6..16].to_vec();
        head[2] &= !8;
        for part in [&b"PK\x03\x04"[..], &head, &crc, &sizes, &name, &[0, 0], &member.name, &packed] {
            out.extend_from_slice(part);
        }
        let (made, attributes) = (&member.record[4..6], &member.record[34..42]);
        let offset = offset.to_le_bytes();
        for part in
            [&b"PK\x01\x02"[..], made, &head, &crc, &sizes, &name, &[0; 4], attributes, &offset, &member.name]
        {
            directory.extend_from_slice(part);
        }
    }
    let count = (members.len() as u16).to_le_bytes();
    let place = [(directory.len() as u32).to_le_bytes(), (out.len() as u32).to_le_bytes()].concat();
    out.append(&mut directory);
    for part in [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &place, &[0, 0]] {
        out.extend_from_slice(part);
    }
    Some(out)
}

/// PNG: a chunk is changed, the pixels below their compression; its length and checksum are made anew.
fn png(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    let mut rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let mut chunks: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    while let Some((head, after)) = rest.split_at_checked(8) {
        let len = u32::from_be_bytes(*head.first_chunk()?) as usize;
        let data = after.get(..len)?;
        match chunks.last_mut() {
            // All pixels are one stream.
            Some((kind, before)) if kind == b"IDAT" && &head[4..] == b"IDAT" => {
                before.extend_from_slice(data)
            }
            _ => chunks.push((head[4..].to_vec(), data.to_vec())),
        }
        rest = after.get(len + 4..)?;
    }
    let chosen = random.below(chunks.len());
    let (kind, data) = chunks.get_mut(chosen)?;
    match kind.as_slice() {
        b"IHDR" | b"acTL" | b"fcTL" => word(data, random),
        _ => *data = within(data, random, depth),
    }
    let mut out = bytes[..8].to_vec();
    for (kind, data) in chunks {
        let body = [kind, data].concat();
        out.extend_from_slice(&(body.len() as u32 - 4).to_be_bytes());
        out.extend_from_slice(&body);
        out.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
    }
    Some(out)
}

/// What blocks of HDF5 that end in a checksum begin with.
const SIGNED: [&[u8]; 14] = [
    b"OHDR", b"OCHK", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB", b"EASB", b"EADB",
    b"FRHP", b"FHDB", b"\x89HDF",
];

/// HDF5: words in a block of metadata are changed, and its checksum is made anew.
fn hdf5(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    let base = bytes.windows(8).step_by(512).position(|w| w == b"\x89HDF\r\n\x1a\n")? * 512;
    if random.below(3) == 0 {
        return embedded(bytes, random, depth);
    }
    let starts: Vec<usize> =
        (base..bytes.len().saturating_sub(8)).filter(|&at| SIGNED.contains(&&bytes[at..at + 4])).collect();
    let start = *starts.get(random.below(starts.len()))?;
    // Where it ends is not written down everywhere; its checksum tells.
    let most = (bytes.len() - start).min(2048);
    let end = (8..most.saturating_sub(4)).find(|&len| {
        little::<4>(bytes, start + len) == Some(lookup3(&bytes[start..start + len], 0) as usize)
    })?;
    let mut out = bytes.to_vec();
    for _ in 0..=random.below(2) {
        word(&mut out[start + 4..start + end], random);
    }
    let sum = lookup3(&out[start..start + end], 0).to_le_bytes();
    out[start + end..start + end + 4].copy_from_slice(&sum);
    Some(out)
}

/// The index at the end of a shard of Zarr: pairs of words and a CRC-32C.
fn shard(bytes: &[u8], random: &mut Random, _: usize) -> Option<Vec<u8>> {
    let body = bytes.len().checked_sub(4)?;
    let start = (1..=64)
        .map(|n| n * 16)
        .take_while(|len| *len <= body)
        .map(|len| body - len)
        .find(|&start| little::<4>(bytes, body) == Some(crc32c(&bytes[start..body]) as usize))?;
    let mut out = bytes.to_vec();
    let at = start + 8 * random.below((body - start) / 8);
    let value = hostile(bytes.len(), random);
    out[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let sum = crc32c(&out[start..body]).to_le_bytes();
    out[body..].copy_from_slice(&sum);
    Some(out)
}

/// A stream of zlib, gzip or Zstandard somewhere inside: changed, and packed again into the same room.
fn embedded(bytes: &[u8], random: &mut Random, depth: usize) -> Option<Vec<u8>> {
    let is_zlib = |w: &[u8]| w[0] == 0x78 && [1, 0x5e, 0x9c, 0xda].contains(&w[1]);
    let begins =
        |w: &[u8]| is_zlib(w) || w.starts_with(&[0x1f, 0x8b, 8]) || w.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let starts: Vec<usize> =
        bytes.windows(4).enumerate().filter(|(_, w)| begins(w)).map(|(at, _)| at).collect();
    for _ in 0..starts.len().min(4) {
        let start = starts[random.below(starts.len())];
        let rest = &bytes[start..];
        let (room, inner) = match rest[0] {
            0x78 => {
                let mut decoder = flate2::read::ZlibDecoder::new(rest);
                (all(&mut decoder).map(|inner| (decoder.total_in() as usize, inner))).unwrap_or_default()
            }
            0x1f => {
                let mut cursor = rest;
                let inner = all(flate2::bufread::GzDecoder::new(&mut cursor)).unwrap_or_default();
                (rest.len() - cursor.len(), inner)
            }
            _ => {
                let mut cursor = rest;
                let inner = zstd::Decoder::with_buffer(&mut cursor).ok().map(zstd::Decoder::single_frame);
                let inner = inner.and_then(all).unwrap_or_default();
                (rest.len() - cursor.len(), inner)
            }
        };
        if inner.is_empty() || room == 0 {
            continue;
        }
        for _ in 0..3 {
            let changed = within(&inner, random, depth.min(1));
            let packed = match rest[0] {
                0x78 => {
                    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
                    out.write_all(&changed).ok()?;
                    out.finish().ok()?
                }
                0x1f => {
                    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                    out.write_all(&changed).ok()?;
                    out.finish().ok()?
                }
                _ => zstd::encode_all(&changed[..], 19).ok()?,
            };
            if packed.len() <= room {
                let mut out = bytes.to_vec();
                out[start..start + room].fill(0);
                out[start..start + packed.len()].copy_from_slice(&packed);
                return Some(out);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(crate::fixtures::root().join(name)).unwrap()
    }

    /// Every round is another file, and the layer around the damage is one that its own library accepts.
    fn holds(bytes: &[u8], layer: Layer, valid: impl Fn(&[u8]) -> bool) {
        let mut different = 0;
        for round in 0..50 {
            let Some(changed) = layer(bytes, &mut Random(round * 7919), 0) else { continue };
            assert!(valid(&changed), "round {round}");
            different += u32::from(changed != bytes);
        }
        assert!(different > 25, "{different} of 50 were changed");
    }

    #[test]
    fn streams_are_valid_again() {
        let text = b"{\"shape\": [3, 4], \"offset\": 17}".repeat(20);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&text).unwrap();
        holds(&gz.finish().unwrap(), gzip, |b| all(flate2::read::MultiGzDecoder::new(b)).is_some());
        holds(&zstd::encode_all(&text[..], 1).unwrap(), zstandard, |b| zstd::decode_all(b).is_ok());
        // What is changed takes more room, which the stream in the middle does not have where it is packed tightly.
        let mut loose = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::none());
        loose.write_all(&text).unwrap();
        let inner = [b"head".to_vec(), loose.finish().unwrap(), b"tail".to_vec()].concat();
        holds(&inner, embedded, |b| b.len() == inner.len() && b.ends_with(b"tail"));
    }

    #[test]
    fn checksums_are_right_again() {
        holds(&fixture("png/rgb_8.png"), png, |bytes| {
            let mut rest = &bytes[8..];
            while let Some(head) = rest.first_chunk::<4>() {
                let len = u32::from_be_bytes(*head) as usize;
                let sum = u32::from_be_bytes(*rest[8 + len..].first_chunk().unwrap());
                if crc32fast::hash(&rest[4..8 + len]) != sum {
                    return false;
                }
                rest = &rest[12 + len..];
            }
            true
        });
        let block = [&b"OHDR"[..], &[2, 0, 9, 0, 1, 0, 40, 0, 0, 0, 16, 0]].concat();
        let sum = lookup3(&block, 0).to_le_bytes();
        let file = [b"\x89HDF\r\n\x1a\n".to_vec(), vec![0; 504], block, sum.to_vec(), vec![0; 32]].concat();
        let mut seen = 0;
        for round in 0..40 {
            let Some(changed) = hdf5(&file, &mut Random(round * 7919), 0) else { continue };
            seen += 1;
            assert_eq!(little::<4>(&changed, 528), Some(lookup3(&changed[512..528], 0) as usize));
        }
        assert!(seen > 5);
    }
}
