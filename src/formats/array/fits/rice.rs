//! RICE_1: differences of neighbours, in blocks with a split of their own. Each block begins with the number
//! of low bits that are written as they are; the rest of a difference is so many zeros and a one.
//! <https://fits.gsfc.nasa.gov/registry/tilecompression.html>; R. F. Rice, P. Yeh and W. Miller 1993.

use crate::error::{Error, Result};

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
                    let high = stream.zeros()?;
                    high << (split - 1) | stream.take(split - 1)?
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
        let mut zeros = 0;
        loop {
            let rest = self.held & ((1 << self.left) - 1);
            if rest != 0 {
                let top = 63 - rest.leading_zeros();
                zeros += self.left - 1 - top;
                self.left = top;
                // More do not fit into a pixel.
                return if zeros < 32 {
                    Ok(zeros)
                } else {
                    Err(Error::malformed("Rice data: a difference of more than 32 bits"))
                };
            }
            zeros += self.left;
            self.left = 0;
            if zeros > 64 {
                return Err(Error::malformed("Rice data: a difference of more than 32 bits"));
            }
            self.fill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
