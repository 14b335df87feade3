//! Strips from samples to the bytes that are stored: predictors and codecs.

use crate::bytes::error::{Error, Result};
use crate::data::content::Sample;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// How strips are compressed, and what is done to samples before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Lzw,
    PackBits,
    Deflate,
    Zstd,
}

impl Codec {
    /// The one of this name.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "none" => Codec::None,
            "lzw" => Codec::Lzw,
            "packbits" => Codec::PackBits,
            "zstd" => Codec::Zstd,
            _ => Codec::Deflate,
        }
    }

    /// Its number in the field *Compression*.
    pub(super) fn number(self) -> u16 {
        match self {
            Codec::None => 1,
            Codec::Lzw => 5,
            Codec::Deflate => 8,
            Codec::PackBits => 32_773,
            Codec::Zstd => 50_000,
        }
    }

    /// Compresses a strip; PackBits goes row by row.
    pub(super) fn encode(self, data: Vec<u8>, row: usize) -> Result<Vec<u8>> {
        Ok(match self {
            Codec::None => data,
            Codec::Lzw => lzw(&data),
            Codec::PackBits => {
                let mut out = Vec::with_capacity(data.len() + data.len() / 64 + 16);
                data.chunks(row.max(1)).for_each(|line| pack_bits(line, &mut out));
                out
            }
            Codec::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(&data)?;
                encoder.finish()?
            }
            Codec::Zstd => zstd::bulk::compress(&data, 3)
                .map_err(|error| Error::unsupported(format!("TIFF: zstd: {error}")))?,
        })
    }
}

/// What stands for a sample: itself, its difference from the one before of its channel (predictor 2), or that of its
/// bytes, those of equal weight together (predictor 3, TIFF Technical Note 3).
pub(super) fn predict(predictor: u16, sample: Sample, channels: usize, row: usize, data: &mut [u8]) {
    let size = sample.size();
    match predictor {
        2 => data.chunks_exact_mut(row.max(1)).for_each(|line| subtract(line, size, channels)),
        3 => {
            let mut planes = vec![0; row];
            for line in data.chunks_exact_mut(row.max(1)) {
                let count = line.len() / size;
                for (n, bytes) in line.chunks_exact(size).enumerate() {
                    // The highest byte comes first.
                    for (k, byte) in bytes.iter().rev().enumerate() {
                        if let Some(place) = planes.get_mut(k * count + n) {
                            *place = *byte;
                        }
                    }
                }
                line.copy_from_slice(&planes);
                subtract(line, 1, channels);
            }
        }
        _ => {}
    }
}

/// Takes from each number of a line the one `channels` before it.
fn subtract(line: &mut [u8], size: usize, channels: usize) {
    macro_rules! each {
        ($ty:ty, $n:literal) => {{
            let numbers = line.as_chunks_mut::<$n>().0;
            let mut at = numbers.len();
            while at > channels {
                at -= 1;
                let (Some(before), Some(here)) = (numbers.get(at - channels), numbers.get(at)) else {
                    return;
                };
                let difference = <$ty>::from_le_bytes(*here).wrapping_sub(<$ty>::from_le_bytes(*before));
                if let Some(place) = numbers.get_mut(at) {
                    *place = difference.to_le_bytes();
                }
            }
        }};
    }
    match size {
        1 => each!(u8, 1),
        2 => each!(u16, 2),
        4 => each!(u32, 4),
        _ => each!(u64, 8),
    }
}

/// Apple's PackBits (TIFF 6.0, section 9): runs and literals behind a signed count.
fn pack_bits(line: &[u8], out: &mut Vec<u8>) {
    let run = |at: usize| {
        let first = line.get(at);
        line.get(at..).unwrap_or_default().iter().take(128).take_while(|byte| Some(*byte) == first).count()
    };
    let mut at = 0;
    while at < line.len() {
        let same = run(at);
        if same >= 2 {
            out.push((1 - same as i16) as u8);
            out.extend(line.get(at));
            at += same;
            continue;
        }
        // Literals up to a run that is worth its two bytes.
        let start = at;
        while at < line.len() && at - start < 128 && run(at) < 3 {
            at += 1;
        }
        out.push((at - start - 1) as u8);
        out.extend_from_slice(line.get(start..at).unwrap_or_default());
    }
}

/// Empties the table.
const CLEAR: u16 = 256;
/// Ends the data.
const END: u16 = 257;
/// Slots of the table of pairs, a power of two.
const SLOTS: usize = 1 << 14;

/// LZW (TIFF 6.0, section 13): codes of 9 to 12 bits, the highest bit first, which grow one code early.
fn lzw(data: &[u8]) -> Vec<u8> {
    let mut bits = Bits { out: Vec::with_capacity(data.len() / 2 + 16), held: 0, count: 0 };
    let mut table = Pairs::new();
    bits.put(CLEAR, 9);
    let mut bytes = data.iter().copied();
    let Some(first) = bytes.next() else {
        bits.put(END, 9);
        return bits.finish();
    };
    let (mut prefix, mut next, mut width) = (u16::from(first), 258_u16, 9_u32);
    for byte in bytes {
        match table.find(prefix, byte) {
            Ok(code) => prefix = code,
            Err(slot) => {
                bits.put(prefix, width);
                table.insert(slot, prefix, byte, next);
                next += 1;
                if next == 4094 {
                    bits.put(CLEAR, width);
                    table.0.fill((u32::MAX, 0));
                    (next, width) = (258, 9);
                } else if next >= 1 << width {
                    width += 1;
                }
                prefix = u16::from(byte);
            }
        }
    }
    bits.put(prefix, width);
    // Whoever reads adds an entry for the last code too.
    next += 1;
    if next >= 1 << width && width < 12 {
        width += 1;
    }
    bits.put(END, width);
    bits.finish()
}

/// The codes of strings, each of which is another one and a byte: an open table of hashes.
struct Pairs(Vec<(u32, u16)>);

impl Pairs {
    fn new() -> Self {
        Pairs(vec![(u32::MAX, 0); SLOTS])
    }

    /// The code of a string; else the slot where it belongs.
    fn find(&self, prefix: u16, byte: u8) -> std::result::Result<u16, usize> {
        let key = u32::from(prefix) << 8 | u32::from(byte);
        let mut slot = (key.wrapping_mul(0x9e37_79b1) >> 18) as usize % SLOTS;
        loop {
            match self.0.get(slot) {
                Some((known, code)) if *known == key => return Ok(*code),
                Some((u32::MAX, _)) | None => return Err(slot),
                Some(_) => slot = (slot + 1) % SLOTS,
            }
        }
    }

    fn insert(&mut self, slot: usize, prefix: u16, byte: u8, code: u16) {
        if let Some(place) = self.0.get_mut(slot) {
            *place = (u32::from(prefix) << 8 | u32::from(byte), code);
        }
    }
}

/// Bits, the highest first.
struct Bits {
    out: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    fn put(&mut self, code: u16, width: u32) {
        self.held = self.held << width | u32::from(code);
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.out.push((self.held >> self.count) as u8);
        }
        self.held &= (1 << self.count) - 1;
    }

    fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.out.push((self.held << (8 - self.count)) as u8);
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::super::lzw as reader;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packed_bits_are_apples() {
        let packed =
            [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let plain = [
            &[0xaa, 0xaa, 0xaa, 0x80, 0, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0, 0x2a, 0x22][..],
            &[0xaa; 10],
        ]
        .concat();
        let mut out = Vec::new();
        pack_bits(&plain, &mut out);
        assert_eq!(out, packed);
    }

    #[test]
    fn long_data_fill_the_table() {
        let mut state = 1u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 & 0x1f
        };
        for len in [0, 1, 2, 253, 254, 255, 256, 3836, 3837, 3838, 100_000] {
            let data: Vec<u8> = (0..len).map(|_| byte()).collect();
            assert_eq!(reader::decode(&lzw(&data), len), data, "{len}");
        }
    }

    proptest! {
        #[test]
        fn lzw_comes_back(data in prop::collection::vec(0u8..4, 0..5000)) {
            prop_assert_eq!(reader::decode(&lzw(&data), data.len()), data);
        }
    }
}
