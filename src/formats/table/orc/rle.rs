//! Run length encodings: of bytes, of booleans, of integers in both versions.
//!
//! Specification: <https://orc.apache.org/specification/ORCv1/#run-length-encoding>. Sums wrap, as they do
//! in the writers.

use super::stream::Stream;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::zigzag;
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;

/// Bytes in runs.
#[derive(Clone)]
pub(super) struct ByteRuns {
    pub(super) stream: Stream,
    /// Values left of the run.
    left: usize,
    /// The value of a run of equal ones.
    same: Option<u8>,
}

impl ByteRuns {
    pub(super) fn new(stream: Stream) -> ByteRuns {
        ByteRuns { stream, left: 0, same: None }
    }

    fn run(&mut self) -> Result<()> {
        let control = self.stream.byte()?;
        if control < 0x80 {
            self.left = usize::from(control) + 3;
            self.same = Some(self.stream.byte()?);
        } else {
            self.left = 0x100 - usize::from(control);
            self.same = None;
        }
        Ok(())
    }

    /// Adds the next `count` values to `out`.
    pub(super) fn read(&mut self, mut count: usize, out: &mut Vec<u8>) -> Result<()> {
        while count > 0 {
            if self.left == 0 {
                self.run()?;
            }
            let part = self.left.min(count);
            match self.same {
                Some(byte) => out.resize(out.len() + part, byte),
                None => self.stream.read(part, out)?,
            }
            self.left -= part;
            count -= part;
        }
        Ok(())
    }

    /// The next value.
    fn byte(&mut self) -> Result<u8> {
        if self.left == 0 {
            self.run()?;
        }
        self.left -= 1;
        self.same.map_or_else(|| self.stream.byte(), Ok)
    }
}

/// Booleans: bytes in runs, the highest bit first.
#[derive(Clone)]
pub(super) struct Booleans {
    pub(super) bytes: ByteRuns,
    byte: u8,
    /// How many of its bits are left.
    bits: u32,
}

impl Booleans {
    pub(super) fn new(stream: Stream) -> Booleans {
        Booleans { bytes: ByteRuns::new(stream), byte: 0, bits: 0 }
    }

    /// The next `count` values.
    pub(super) fn read(&mut self, count: usize) -> Result<BooleanBuffer> {
        let mut out = BooleanBufferBuilder::new(count);
        let mut left = count;
        while left > 0 {
            if self.bits == 0 {
                self.byte = self.bytes.byte()?;
                self.bits = 8;
            }
            let part = left.min(self.bits as usize);
            // The bits in Arrow's order, from the lowest on.
            let byte = self.byte.reverse_bits() >> (8 - self.bits);
            if part == 8 {
                out.append_packed_range(0..8, &[byte]);
            } else {
                out.append_packed_range(0..part, &[byte]);
            }
            self.bits -= part as u32;
            left -= part;
        }
        Ok(out.finish())
    }
}

/// Integers in runs.
#[derive(Clone)]
pub(super) struct Integers {
    pub(super) stream: Stream,
    signed: bool,
    v2: bool,
    /// The run that is read now, and where in it.
    run: Vec<i64>,
    at: usize,
    scratch: Vec<u8>,
}

impl Integers {
    /// Integers of a stream; `v2` in the second version of the encoding.
    pub(super) fn new(stream: Stream, signed: bool, v2: bool) -> Integers {
        Integers { stream, signed, v2, run: Vec::new(), at: 0, scratch: Vec::new() }
    }

    /// Calls `each` with the next `count` values, a part of them at a time.
    pub(super) fn each(&mut self, mut count: usize, mut each: impl FnMut(&[i64])) -> Result<()> {
        while count > 0 {
            if self.at >= self.run.len() {
                self.fill()?;
            }
            let end = self.run.len().min(self.at + count);
            let part = self.run.get(self.at..end).unwrap_or_default();
            each(part);
            count -= part.len();
            self.at = end;
        }
        Ok(())
    }

    /// The next `count` values.
    pub(super) fn read(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut out = Vec::new();
        self.each(count, |part| out.extend_from_slice(part))?;
        Ok(out)
    }

    /// The values up to the end of the stream, a run at a time; `None` at the end.
    pub(super) fn next_run(&mut self) -> Result<Option<&[i64]>> {
        if self.stream.is_at_end()? {
            return Ok(None);
        }
        self.fill()?;
        self.at = self.run.len();
        Ok(Some(&self.run))
    }

    /// Decodes the next run.
    fn fill(&mut self) -> Result<()> {
        self.run.clear();
        self.at = 0;
        if self.v2 { self.second() } else { self.first() }
    }

    fn whole(&mut self) -> Result<i64> {
        let value = self.stream.varint()?;
        Ok(if self.signed { zigzag(value) } else { value as i64 })
    }

    fn first(&mut self) -> Result<()> {
        let control = self.stream.byte()?;
        if control >= 0x80 {
            for _ in 0..0x100 - usize::from(control) {
                let value = self.whole()?;
                self.run.push(value);
            }
            return Ok(());
        }
        let step = i64::from(self.stream.byte()? as i8);
        let mut value = self.whole()?;
        for _ in 0..usize::from(control) + 3 {
            self.run.push(value);
            value = value.wrapping_add(step);
        }
        Ok(())
    }

    fn second(&mut self) -> Result<()> {
        let head = self.stream.byte()?;
        match head >> 6 {
            0 => {
                let value = self.big_endian(usize::from(head >> 3 & 7) + 1)?;
                let value = if self.signed { zigzag(value) } else { value as i64 };
                self.run.resize(usize::from(head & 7) + 3, value);
                Ok(())
            }
            1 => {
                let count = self.count(head)?;
                let signed = self.signed;
                self.packed(count, width(head >> 1 & 31))?;
                if signed {
                    self.run.iter_mut().for_each(|value| *value = zigzag(*value as u64));
                }
                Ok(())
            }
            2 => self.patched(head),
            _ => self.deltas(head),
        }
    }

    /// How many values a run has: nine bits, from 1 on.
    fn count(&mut self, head: u8) -> Result<usize> {
        Ok((usize::from(head & 1) << 8 | usize::from(self.stream.byte()?)) + 1)
    }

    fn big_endian(&mut self, bytes: usize) -> Result<u64> {
        let mut value = 0;
        for _ in 0..bytes {
            value = value << 8 | u64::from(self.stream.byte()?);
        }
        Ok(value)
    }

    /// Adds `count` values of `width` bits to the run.
    fn packed(&mut self, count: usize, width: u32) -> Result<()> {
        self.scratch.clear();
        self.stream.read((count * width as usize).div_ceil(8), &mut self.scratch)?;
        let mask = u64::MAX >> (64 - width);
        let (mut pending, mut bits) = (0u128, 0);
        let mut bytes = self.scratch.iter();
        for _ in 0..count {
            while bits < width {
                pending = pending << 8 | u128::from(bytes.next().copied().unwrap_or(0));
                bits += 8;
            }
            bits -= width;
            self.run.push(((pending >> bits) as u64 & mask) as i64);
        }
        Ok(())
    }

    /// Differences to a base, of which the few that are wide have their high bits in a list of patches.
    fn patched(&mut self, head: u8) -> Result<()> {
        let narrow = width(head >> 1 & 31);
        let count = self.count(head)?;
        let (third, fourth) = (self.stream.byte()?, self.stream.byte()?);
        let bytes = usize::from(third >> 5) + 1;
        let patch = width(third & 31);
        let gap = u32::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 31);
        if patch + gap > 64 {
            return Err(Error::malformed(format!("a patch of {patch} bits with a gap of {gap}")));
        }
        // The base's highest bit is its sign.
        let magnitude = self.big_endian(bytes)?;
        let sign = 1u64 << (bytes * 8 - 1);
        let base = if magnitude & sign == 0 {
            magnitude as i64
        } else {
            ((magnitude & (sign - 1)) as i64).wrapping_neg()
        };
        self.packed(count, narrow)?;
        self.packed(patches, rounded(patch + gap))?;
        let list = self.run.split_off(count);
        let mut at = 0usize;
        for entry in list {
            let entry = entry as u64;
            let (skipped, high) = (entry >> patch, entry & (u64::MAX >> (64 - patch)));
            at += skipped as usize;
            // An entry without bits only leads on, over a gap that is too wide for one.
            if high == 0 {
                continue;
            }
            let value = self.run.get_mut(at);
            let value = value.ok_or_else(|| Error::malformed("a patch is behind the values of its run"))?;
            *value |= high.checked_shl(narrow).unwrap_or(0) as i64;
        }
        self.run.iter_mut().for_each(|value| *value = base.wrapping_add(*value));
        Ok(())
    }

    /// A first value, a first difference, and the sizes of further ones, which have the same sign.
    fn deltas(&mut self, head: u8) -> Result<()> {
        let code = head >> 1 & 31;
        let count = self.count(head)?;
        let mut value = self.whole()?;
        let step = zigzag(self.stream.varint()?);
        if code == 0 {
            for _ in 0..count {
                self.run.push(value);
                value = value.wrapping_add(step);
            }
            return Ok(());
        }
        self.packed(count.saturating_sub(2), width(code))?;
        let sizes = std::mem::take(&mut self.run);
        self.run.push(value);
        if count > 1 {
            value = value.wrapping_add(step);
            self.run.push(value);
        }
        for size in sizes {
            value = if step < 0 { value.wrapping_sub(size) } else { value.wrapping_add(size) };
            self.run.push(value);
        }
        Ok(())
    }
}

/// The width in bits that a code of five bits stands for.
fn width(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24..=27 => 26 + 2 * u32::from(code - 24),
        other => 40 + 8 * u32::from(other.min(31) - 28),
    }
}

/// The next width that has a code.
fn rounded(bits: u32) -> u32 {
    (0..32).map(width).find(|&width| width >= bits).unwrap_or(64)
}
