//! RICE_1: differences of neighbours, in blocks with a split of their own. Each block begins with the number
//! of low bits that are written as they are; the rest of a difference is so many zeros and a one.
//! <https://fits.gsfc.nasa.gov/registry/tilecompression.html>; R. F. Rice, P. Yeh and W. Miller 1993.

use crate::bytes::error::{Error, Result};

/// Decodes `count` pixels of `size` bytes each (1, 2 or 4), in blocks of `block` pixels.
pub(super) fn decode(input: &[u8], count: usize, block: usize, size: u32) -> Result<Vec<i32>> {
    // Bits of a block's split, the split that means "as they are", and bits of a pixel.
    let (split_bits, plain, bits) = match size {
        1 => (3, 6, 8),
        2 => (4, 14, 16),
        4 => (5, 25, 32),
        other => return Err(Error::malformed(format!("Rice data: pixels of {other} bytes"))),
    };
    if block == 0 {
        return Err(Error::malformed("Rice data: blocks of no pixels"));
    }
    let mut stream = Bits { input, at: 0, held: 0, left: 0 };
    let mut last = stream.take(bits)?;
    let mut out = Vec::with_capacity(count);
    while out.len() < count {
        let split = stream.take(split_bits)?;
        for _ in 0..block.min(count - out.len()) {
            let difference = match split {
                0 => 0,
                split if split == plain + 1 => stream.take(bits)?,
                split if split > plain + 1 => {
                    return Err(Error::malformed(format!("Rice data: a split of {} bits", split - 1)));
                }
                split => {
                    let high = u64::from(stream.zeros()?) << (split - 1);
                    // What a pixel is wide bounds the zeros, not a word of the machine: without low bits a
                    // difference of 50 is 100 of them.
                    u32::try_from(high).map_err(|_| wide())? | stream.take(split - 1)?
                }
            };
            // The sign is the lowest bit.
            let signed = if difference & 1 == 1 { !(difference >> 1) } else { difference >> 1 };
            last = last.wrapping_add(signed);
            out.push(match size {
                1 => i32::from(last as u8),
                2 => i32::from(last as i16),
                _ => last as i32,
            });
        }
    }
    Ok(out)
}

/// Encodes pixels of `size` bytes (1, 2 or 4), little-endian, in blocks of `block` pixels: each block with the split
/// that its mean difference asks for.
pub(super) fn encode(pixels: &[u8], block: usize, size: usize) -> Vec<u8> {
    let (split_bits, plain, bits) = match size {
        1 => (3, 6, 8),
        2 => (4, 14, 16),
        _ => (5, 25, 32),
    };
    let mask = u32::MAX >> (32 - bits);
    let mut out = Writer { bytes: Vec::with_capacity(pixels.len() / 2 + 16), held: 0, count: 0 };
    let value = |pixel: &[u8]| pixel.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
    let mut last = pixels.get(..size).map_or(0, value);
    out.put(last, bits);
    let mut differences = Vec::with_capacity(block);
    for part in pixels.chunks(block.max(1) * size.max(1)) {
        differences.clear();
        for pixel in part.chunks_exact(size.max(1)) {
            let next = value(pixel);
            // Within the width of a pixel, then the sign as the lowest bit.
            let shift = 32 - bits;
            let signed = ((next.wrapping_sub(last) << shift) as i32) >> shift;
            differences.push(((signed << 1) ^ (signed >> 31)) as u32 & mask);
            last = next;
        }
        let (count, sum) = (differences.len() as u64, differences.iter().map(|d| u64::from(*d)).sum::<u64>());
        let mean = sum.saturating_sub(count / 2 + 1) / count.max(1);
        let split = 64 - (mean >> 1).leading_zeros();
        if sum == 0 {
            out.put(0, split_bits);
        } else if split >= plain {
            out.put(plain + 1, split_bits);
            differences.iter().for_each(|difference| out.put(*difference, bits));
        } else {
            out.put(split + 1, split_bits);
            for difference in &differences {
                out.zeros(difference >> split);
                out.put(1 << split | difference & ((1 << split) - 1), split + 1);
            }
        }
    }
    out.finish()
}

/// Bits on their way into bytes.
struct Writer {
    bytes: Vec<u8>,
    /// Bits that are no byte yet, and how many.
    held: u64,
    count: u32,
}

impl Writer {
    /// The low bits of a value, at most 32.
    fn put(&mut self, value: u32, bits: u32) {
        self.held = self.held << bits | u64::from(value) & ((1 << bits) - 1);
        self.count += bits;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.held >> self.count) as u8);
        }
    }

    fn zeros(&mut self, mut count: u32) {
        while count > 0 {
            let now = count.min(24);
            self.put(0, now);
            count -= now;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        self.bytes
    }
}

/// Bits, the highest of each byte first.
pub(super) struct Bits<'a> {
    pub input: &'a [u8],
    pub at: usize,
    pub held: u64,
    /// How many of the held bits are not taken yet.
    pub left: u32,
}

impl Bits<'_> {
    fn fill(&mut self) -> Result<()> {
        let byte =
            self.input.get(self.at).ok_or_else(|| Error::malformed("compressed tile: it ends too early"))?;
        self.held = self.held << 8 | u64::from(*byte);
        self.at += 1;
        self.left += 8;
        Ok(())
    }

    /// The next `count` bits, at most 32.
    pub(super) fn take(&mut self, count: u32) -> Result<u32> {
        while self.left < count {
            self.fill()?;
        }
        self.left -= count;
        Ok((self.held >> self.left & ((1 << count) - 1)) as u32)
    }

    /// How many zeros come before the next one, which is taken too.
    fn zeros(&mut self) -> Result<u32> {
        let mut zeros = 0u32;
        loop {
            let rest = self.held & ((1 << self.left) - 1);
            if rest != 0 {
                let top = 63 - rest.leading_zeros();
                zeros = zeros.checked_add(self.left - 1 - top).ok_or_else(wide)?;
                self.left = top;
                return Ok(zeros);
            }
            zeros = zeros.checked_add(self.left).ok_or_else(wide)?;
            self.left = 0;
            self.fill()?;
        }
    }
}

fn wide() -> Error {
    Error::malformed("Rice data: a difference of more than 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block as encoders write it: the first pixel, the split, then each difference.
    fn packed(first: u32, size: u32, split: u32, differences: &[u32]) -> Vec<u8> {
        let field = [0, 3, 4, 0, 5][size as usize];
        let mut bits = format!("{first:0width$b}{:0field$b}", split + 1, width = 8 * size as usize);
        for &difference in differences {
            bits += &"0".repeat((difference >> split) as usize);
            bits += "1";
            let low = format!("{:032b}", difference & ((1 << split) - 1));
            bits += &low[32 - split as usize..];
        }
        bits += &"0".repeat(bits.len().next_multiple_of(8) - bits.len());
        (0..bits.len() / 8).map(|n| u8::from_str_radix(&bits[8 * n..8 * n + 8], 2).unwrap()).collect()
    }

    #[test]
    fn a_step_in_a_flat_row_is_a_long_run_of_zeros() {
        for (size, split, step) in
            [(1, 0, 50), (1, 1, 100), (2, 0, 16), (2, 0, 3_000), (2, 3, 9_999), (4, 0, 70_000)]
        {
            let mut differences = [0; 32];
            differences[7] = 2 * step;
            let decoded = decode(&packed(5, size, split, &differences), 32, 32, size).unwrap();
            let expected: Vec<i32> = (0..32).map(|n| if n < 7 { 5 } else { 5 + step as i32 }).collect();
            assert_eq!(decoded, expected, "{size} bytes, {split} low bits, a step of {step}");
        }
        // All that is left being zeros, no one ends the run.
        let cut = [packed(5, 2, 0, &[0]), vec![0; 4_000]].concat();
        assert!(decode(&cut, 32, 32, 2).is_err());
        let error = decode(&packed(0, 4, 24, &[0xff << 24, 0]), 2, 32, 4);
        assert_eq!(error.unwrap(), [2_139_095_040, 2_139_095_040]);
    }

    #[test]
    fn what_is_encoded_is_decoded_again() {
        let mut state = 7u32;
        for (size, bits) in [(1u32, 8u32), (2, 16), (4, 32)] {
            for noise in [0, 1, 4, bits / 2, bits - 1, bits] {
                for count in [1usize, 31, 32, 33, 1000] {
                    let mut pixel = || {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        if noise == 0 { 5 } else { state >> (32 - noise) }
                    };
                    let values: Vec<u32> = (0..count).map(|_| pixel()).collect();
                    let bytes: Vec<u8> =
                        values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(size as usize)).collect();
                    let packed = encode(&bytes, 32, size as usize);
                    let got = decode(&packed, count, 32, size).unwrap();
                    let wanted: Vec<i32> = values
                        .iter()
                        .map(|v| match size {
                            1 => i32::from(*v as u8),
                            2 => i32::from(*v as i16),
                            _ => *v as i32,
                        })
                        .collect();
                    assert_eq!(got, wanted, "{size} bytes, noise {noise}, {count} pixels");
                }
            }
        }
    }

    #[test]
    fn a_block_by_hand() {
        // First pixel 10; a split of one low bit (field 2); differences 0, +1, -2 are 0, 2, 3:
        // high part in zeros, a one, the low bit.
        let mut bits = format!("{:08b}{:03b}", 10, 2);
        for difference in [0u32, 2, 3] {
            bits += &"0".repeat((difference >> 1) as usize);
            bits += "1";
            bits += &(difference & 1).to_string();
        }
        while bits.len() % 8 != 0 {
            bits.push('0');
        }
        let bytes: Vec<u8> =
            (0..bits.len() / 8).map(|n| u8::from_str_radix(&bits[8 * n..8 * n + 8], 2).unwrap()).collect();
        assert_eq!(decode(&bytes, 3, 32, 1).unwrap(), [10, 11, 9]);
        assert!(decode(&bytes[..1], 3, 32, 1).is_err());
        assert_eq!(
            decode(&[0, 7, 0x30], 40, 32, 2).err().unwrap().message(),
            "malformed compressed tile: it ends too early"
        );
    }
}
