//! SZIP, the adaptive entropy coder of CCSDS 121.0-B, as HDF5's filter 4 uses it: blocks of samples, each
//! coded in the way that fits it best, after a prediction by the neighbour.
//! <https://public.ccsds.org/Pubs/121x0b3.pdf>

use super::bits::Bits;
use super::shuffle::unshuffle;
use super::{cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;

/// Options of the filter: samples are big-endian; neighbours predict.
const MSB: u32 = 16;
const NEIGHBOURS: u32 = 32;
/// Blocks that a run of zero blocks stays within.
const SEGMENT: usize = 64;

/// How samples are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bits of a sample, at most 32.
    pub bits: u32,
    /// Samples of a block.
    pub block: usize,
    /// Blocks between two samples that are stored as they are.
    pub interval: usize,
    /// Whether samples are stored as the difference from their neighbour.
    pub predicted: bool,
    /// Whether they are delivered big-endian.
    pub big: bool,
}

impl Params {
    /// Bytes of a delivered sample.
    fn bytes(&self) -> usize {
        match self.bits {
            0..=8 => 1,
            9..=16 => 2,
            _ => 4,
        }
    }
}

/// HDF5's filter 4: four bytes with the decoded size, then the stream. The client data: options, samples of
/// a block, bits of a sample, samples of a line.
///
/// # Errors
/// `Malformed` for impossible client data, damage, or more than `most` bytes.
pub fn hdf5(input: &[u8], client: &[u32], most: usize) -> Result<Vec<u8>> {
    let &[options, block, bits, line, ..] = client else {
        return Err(Error::malformed("szip filter: its client data is too short"));
    };
    let size = le::<u32>(input, 0).ok_or_else(|| cut_off("szip data"))? as usize;
    if size > most {
        return Err(too_much("szip data", most));
    }
    let (block, line) = (block as usize, line as usize);
    let valid = (1..=64).contains(&bits) && (2..=256).contains(&block) && line > 0 && line <= 1 << 24;
    if !valid {
        return Err(Error::malformed(format!(
            "szip filter: {bits} bits, blocks of {block}, lines of {line}"
        )));
    }
    // Wide numbers are coded as their bytes, sorted as by a byte shuffle.
    let split = matches!(bits, 32 | 64);
    let params = Params {
        bits: if split { 8 } else { bits },
        block,
        interval: line.div_ceil(block),
        predicted: options & NEIGHBOURS != 0,
        big: options & MSB != 0,
    };
    if params.bits > 32 {
        return Err(Error::malformed(format!("szip filter: samples of {bits} bits")));
    }
    let data = input.get(4..).unwrap_or_default();
    let out = lines(data, &params, line, size)?;
    Ok(if split { unshuffle(&out, bits as usize / 8) } else { out })
}

/// Decodes lines of samples, each of which fills whole blocks.
fn lines(data: &[u8], params: &Params, line: usize, size: usize) -> Result<Vec<u8>> {
    let padded = params.interval * params.block;
    if padded == line {
        return decode(data, params, size);
    }
    let bytes = params.bytes();
    let count = (size / bytes).div_ceil(line);
    let whole = limits::bytes(&[count as u64, padded as u64], bytes as u64)?;
    let out = decode(data, params, limits::check(whole, limits::CHUNK, "szip data")?)?;
    let mut lines = Vec::with_capacity(size);
    for part in out.chunks(padded * bytes) {
        let left = (size - lines.len()).min(line * bytes);
        lines.extend_from_slice(part.get(..left).unwrap_or_default());
    }
    Ok(lines)
}

/// Decodes a bare stream to `size` bytes.
///
/// # Errors
/// `Malformed` where it ends before or is damaged.
pub fn decode(data: &[u8], params: &Params, size: usize) -> Result<Vec<u8>> {
    // A run of zero blocks takes few bits, but not none: 64 blocks in a byte at best.
    if size / (params.block * SEGMENT * 4).max(1) > data.len().saturating_mul(8) + 8 {
        return Err(Error::malformed(format!("szip data: {} bytes cannot hold {size}", data.len())));
    }
    let count = size / params.bytes();
    let mut decoder =
        Decoder { params, bits: Bits::new(data), out: Vec::with_capacity(params.interval * params.block) };
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| Error::limit(format!("szip data: no memory for {size} bytes")))?;
    let mut done = 0;
    while done < count {
        let most = (count - done).min(params.interval * params.block);
        decoder.interval(most).ok_or_else(|| cut_off("szip data"))?;
        for &sample in decoder.out.iter().take(most) {
            match (params.bytes(), params.big) {
                (1, _) => bytes.push(sample as u8),
                (2, true) => bytes.extend((sample as u16).to_be_bytes()),
                (2, false) => bytes.extend((sample as u16).to_le_bytes()),
                (_, true) => bytes.extend(sample.to_be_bytes()),
                (_, false) => bytes.extend(sample.to_le_bytes()),
            }
        }
        done += most;
    }
    bytes.resize(size, 0);
    Ok(bytes)
}

struct Decoder<'a> {
    params: &'a Params,
    bits: Bits<'a>,
    /// The samples since the last one that is stored as it is.
    out: Vec<u32>,
}

impl Decoder<'_> {
    /// Decodes an interval, at least `most` samples of it.
    fn interval(&mut self, most: usize) -> Option<()> {
        self.out.clear();
        let mut block = 0;
        while self.out.len() < most && block < self.params.interval {
            block += self.block(block)?;
        }
        if self.params.predicted {
            self.undo_prediction();
        }
        (self.out.len() >= most).then_some(())
    }

    /// Decodes what begins at block `number` of the interval; returns how many blocks that were.
    fn block(&mut self, number: usize) -> Option<usize> {
        let (bits, size) = (self.params.bits, self.params.block);
        let width = match bits {
            0..=8 => 3,
            9..=16 => 4,
            _ => 5,
        };
        let option = self.bits.take(width)?;
        let reference = self.params.predicted && number == 0;
        if option == (1 << width) - 1 {
            for _ in 0..size {
                let sample = self.bits.take(bits)?;
                self.out.push(sample as u32);
            }
            return Some(1);
        }
        if option == 0 {
            return self.low_entropy(number, reference);
        }
        let start = self.out.len();
        let left = self.reference(reference)?;
        // First the upper parts, in unary, then the lower ones.
        let low = option as u32 - 1;
        for _ in 0..left {
            let high = u64::from(self.bits.zeros()?) << low;
            self.out.push(high as u32);
        }
        if low > 0 {
            for place in self.out.iter_mut().skip(start + size - left) {
                *place |= self.bits.take(low)? as u32;
            }
        }
        Some(1)
    }

    /// Takes the sample that is stored as it is, where there is one; returns how many others a block has.
    fn reference(&mut self, here: bool) -> Option<usize> {
        if here {
            let sample = self.bits.take(self.params.bits)?;
            self.out.push(sample as u32);
        }
        Some(self.params.block - usize::from(here))
    }

    /// Blocks of zeros, or pairs of small samples.
    fn low_entropy(&mut self, number: usize, reference: bool) -> Option<usize> {
        let pairs = self.bits.take(1)? == 1;
        let start = self.out.len();
        let left = self.reference(reference)?;
        if !pairs {
            let blocks = match self.bits.zeros()? as usize + 1 {
                // Five stands for all that are left of the segment.
                5 => (self.params.interval - number).min(SEGMENT - number % SEGMENT),
                n if n > 5 => n - 1,
                n => n,
            };
            let blocks = blocks.min(self.params.interval - number);
            self.out.resize(start + blocks * self.params.block, 0);
            return Some(blocks);
        }
        let end = self.out.len() + left;
        let mut first = reference;
        while self.out.len() < end {
            let code = self.bits.zeros()?;
            // Pairs are numbered along the diagonals of equal sums.
            let sum = ((f64::from(code) * 2.0 + 0.25).sqrt() - 0.5) as u32;
            let second = code.checked_sub(sum.checked_mul(sum + 1)? / 2)?;
            if !first {
                self.out.push(sum.checked_sub(second)?);
            }
            self.out.push(second);
            first = false;
        }
        self.out.truncate(end);
        Some(1)
    }

    /// Differences from the neighbour, mapped to numbers from 0 on, back to samples.
    fn undo_prediction(&mut self) {
        let top = (1u64 << self.params.bits) - 1;
        let mut samples = self.out.iter_mut();
        let Some(first) = samples.next() else { return };
        let mut last = u64::from(*first) & top;
        for place in samples {
            let mapped = u64::from(*place);
            let room = last.min(top - last);
            last = if mapped <= 2 * room {
                // Even ones up, odd ones down.
                if mapped & 1 == 0 { last + mapped / 2 } else { last.wrapping_sub(mapped.div_ceil(2)) }
            } else if room == last {
                mapped
            } else {
                top.wrapping_sub(mapped)
            } & top;
            *place = last as u32;
        }
    }
}
