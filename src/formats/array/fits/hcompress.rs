//! HCOMPRESS_1: the H-transform of a two-dimensional tile, its coefficients as bit planes in quadtrees.
//! R. L. White, *High-performance compression of astronomical images*, 1992;
//! <https://fits.gsfc.nasa.gov/registry/tilecompression.html>.
//!
//! The transform takes blocks of 2 × 2 pixels to their sum and three differences, and goes on with the sums.
//! Coefficients may have been divided by a scale; then the picture may be smoothed on the way back.

use super::rice::Bits;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

const MAGIC: [u8; 2] = [0xdd, 0x99];
/// No transform of pixels has larger coefficients; what is made of damaged ones is kept within.
const LARGEST: i64 = 1 << 50;

/// A tile of coefficients or pixels, rows one after the other.
struct Tile {
    values: Vec<i64>,
    rows: usize,
    columns: usize,
}

/// Decodes a tile of `count` pixels.
pub(super) fn decode(input: &[u8], count: usize, smooth: bool) -> Result<Vec<i64>> {
    let head = input
        .first_chunk::<25>()
        .ok_or_else(|| Error::malformed("H-compressed tile: its head is cut off"))?;
    if head[..2] != MAGIC {
        return Err(Error::malformed("H-compressed tile: it does not begin with its magic"));
    }
    let word = |bytes: &[u8]| bytes.iter().fold(0i32, |n, b| n << 8 | i32::from(*b));
    let (rows, columns, scale) = (word(&head[2..6]), word(&head[6..10]), word(&head[10..14]));
    let sum = head[14..22].iter().fold(0i64, |n, b| n << 8 | i64::from(*b));
    let size = (rows as u64).checked_mul(columns as u64);
    if rows <= 0 || columns <= 0 || size != Some(count as u64) {
        let what = format!("H-compressed tile: it is one of {rows} × {columns}, not of {count} pixels");
        return Err(Error::malformed(what));
    }
    limits::check(count as u64, limits::CHUNK / 8, "a tile")?;
    let (rows, columns) = (rows as usize, columns as usize);
    let mut tile = Tile { values: vec![0; count], rows, columns };
    let planes = [head[22], head[23], head[24]];
    if planes.iter().any(|planes| *planes > 48) {
        return Err(Error::malformed("H-compressed tile: it has more than 48 bit planes"));
    }
    planes_of(&mut tile, &mut Bits { input, at: 25, held: 0, left: 0 }, planes)?;
    if let Some(first) = tile.values.first_mut() {
        *first = sum;
    }
    let scaled = |value: i64| value.saturating_mul(i64::from(scale.max(1))).clamp(-LARGEST, LARGEST);
    tile.values.iter_mut().for_each(|value| *value = scaled(*value));
    tile.invert(if smooth { i64::from(scale) } else { 0 });
    Ok(tile.values)
}

/// The logarithm of the smallest power of two that is not less.
fn log2(n: usize) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// The four quadrants of coefficients, and then their signs.
fn planes_of(tile: &mut Tile, bits: &mut Bits<'_>, planes: [u8; 3]) -> Result<()> {
    let (rows, columns) = (tile.rows, tile.columns);
    let (top, left) = (rows.div_ceil(2), columns.div_ceil(2));
    let quadrants = [
        (0, 0, top, left, planes[0]),
        (0, left, top, columns / 2, planes[1]),
        (top, 0, rows / 2, left, planes[1]),
        (top, left, rows / 2, columns / 2, planes[2]),
    ];
    for (row, column, height, width, planes) in quadrants {
        for plane in (0..planes).rev() {
            let codes = match bits.take(4)? {
                0 => direct(bits, height, width)?,
                15 => quadtree(bits, height, width)?,
                _ => return Err(Error::malformed("H-compressed tile: a bit plane of an unknown form")),
            };
            tile.insert(&codes, (row, column), (height, width), plane);
        }
    }
    if bits.take(4)? != 0 {
        return Err(Error::malformed("H-compressed tile: its bit planes have no end"));
    }
    // Signs begin with a new byte.
    bits.left = 0;
    for value in tile.values.iter_mut().filter(|value| **value != 0) {
        if bits.take(1)? == 1 {
            *value = -*value;
        }
    }
    Ok(())
}

/// A bit plane as it is: four bits for each 2 × 2 block.
fn direct(bits: &mut Bits<'_>, height: usize, width: usize) -> Result<Vec<u8>> {
    (0..height.div_ceil(2) * width.div_ceil(2)).map(|_| bits.take(4).map(|code| code as u8)).collect()
}

/// A bit plane as a quadtree: of each block it is written only where something in it is set.
fn quadtree(bits: &mut Bits<'_>, height: usize, width: usize) -> Result<Vec<u8>> {
    let levels = log2(height.max(width));
    let mut codes = vec![huffman(bits)?];
    for level in (1..levels).rev() {
        let (rows, columns) = (height.div_ceil(1 << level), width.div_ceil(1 << level));
        let mut finer = spread(&codes, rows, columns);
        for code in finer.iter_mut().rev().filter(|code| **code != 0) {
            *code = huffman(bits)?;
        }
        codes = finer;
    }
    Ok(codes)
}

/// Each code of four bits as 2 × 2 single ones.
fn spread(codes: &[u8], rows: usize, columns: usize) -> Vec<u8> {
    let across = columns.div_ceil(2);
    let code = |row: usize, column: usize| codes.get(row / 2 * across + column / 2).copied().unwrap_or(0);
    let bit = |row: usize, column: usize| code(row, column) >> (3 - (row % 2 * 2 + column % 2)) & 1;
    (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(|(r, c)| bit(r, c)).collect()
}

/// One of sixteen codes; the frequent ones are the short ones.
fn huffman(bits: &mut Bits<'_>) -> Result<u8> {
    let mut code = bits.take(3)?;
    if code < 4 {
        return Ok(1 << code);
    }
    code = code << 1 | bits.take(1)?;
    match code {
        8 => return Ok(3),
        9 => return Ok(5),
        10 => return Ok(10),
        11 => return Ok(12),
        12 => return Ok(15),
        _ => {}
    }
    code = code << 1 | bits.take(1)?;
    match code {
        26 => return Ok(6),
        27 => return Ok(7),
        28 => return Ok(9),
        29 => return Ok(11),
        30 => return Ok(13),
        _ => {}
    }
    Ok(if bits.take(1)? == 0 { 0 } else { 14 })
}

impl Tile {
    /// Sets the bits of one plane of a quadrant.
    fn insert(&mut self, codes: &[u8], at: (usize, usize), size: (usize, usize), plane: u8) {
        let bits = spread(codes, size.0, size.1);
        for (n, bit) in bits.iter().enumerate().filter(|(_, bit)| **bit != 0) {
            let place = (at.0 + n / size.1) * self.columns + at.1 + n % size.1;
            if let Some(value) = self.values.get_mut(place) {
                *value |= i64::from(*bit) << plane;
            }
        }
    }

    fn get(&self, place: usize) -> i64 {
        self.values.get(place).copied().unwrap_or(0)
    }

    fn set(&mut self, place: usize, value: i64) {
        if let Some(old) = self.values.get_mut(place) {
            *old = value.clamp(-LARGEST, LARGEST);
        }
    }

    /// The inverse transform, from the largest blocks to single pixels. With a scale the differences are
    /// smoothed on the way.
    fn invert(&mut self, smooth: i64) {
        let levels = log2(self.rows.max(self.columns));
        if levels == 0 {
            return;
        }
        let first = self.get(0);
        self.set(0, rounded(first, levels + 1));
        for level in (0..levels).rev() {
            let (rows, columns) = (self.rows.div_ceil(1 << level), self.columns.div_ceil(1 << level));
            for row in 0..rows {
                self.interleave(row * self.columns, columns, 1);
            }
            for column in 0..columns {
                self.interleave(column, rows, self.columns);
            }
            if smooth > 1 {
                self.smooth(rows, columns, smooth >> 1);
            }
            for row in (0..rows).step_by(2) {
                for column in (0..columns).step_by(2) {
                    self.block(row, column, (row + 1 < rows, column + 1 < columns), level);
                }
            }
        }
    }

    /// Brings the first half of a line to its even places and the second to its odd ones.
    fn interleave(&mut self, start: usize, count: usize, step: usize) {
        let line: Vec<i64> = (0..count).map(|n| self.get(start + n * step)).collect();
        let half = count.div_ceil(2);
        for n in 0..count {
            let from = if n % 2 == 0 { n / 2 } else { half + n / 2 };
            self.set(start + n * step, line.get(from).copied().unwrap_or(0));
        }
    }

    /// A block of 2 × 2, or what is inside the tile of it, from its sum and differences.
    fn block(&mut self, row: usize, column: usize, inside: (bool, bool), level: u32) {
        let shift = if level == 0 { 2 } else { 1 };
        let (low, next) = (1i64 << level, 1i64 << (level + 1));
        let at = row * self.columns + column;
        let below = at + self.columns;
        let sum = self.get(at);
        match inside {
            (true, true) => {
                let (x, y) = (rounded(self.get(below), level + 1), rounded(self.get(at + 1), level + 1));
                let both = if level == 0 { self.get(below + 1) } else { rounded(self.get(below + 1), level) };
                let bit = both & low;
                // The lowest bit was rounded away from zero; all four sums have the same.
                let exact = |value: i64| if value >= 0 { value - bit } else { value + bit };
                let (x, y) = (exact(x), exact(y));
                let carry = (both ^ x ^ y) & next;
                let sum = match (sum >= 0, bit == 0) {
                    (true, _) => sum + bit - carry,
                    (false, true) => sum + carry,
                    (false, false) => sum + bit - carry,
                };
                self.set(below + 1, (sum + x + y + both) >> shift);
                self.set(below, (sum + x - y - both) >> shift);
                self.set(at + 1, (sum - x + y - both) >> shift);
                self.set(at, (sum - x - y + both) >> shift);
            }
            (false, false) => self.set(at, sum >> shift),
            (down, _) => {
                let other = if down { below } else { at + 1 };
                let difference = rounded(self.get(other), level + 1);
                let carry = difference & next;
                let sum = if sum >= 0 { sum - carry } else { sum + carry };
                self.set(other, (sum + difference) >> shift);
                self.set(at, (sum - difference) >> shift);
            }
        }
    }

    /// Bends differences towards what the neighbours' sums suggest, by at most `most`.
    fn smooth(&mut self, rows: usize, columns: usize, most: i64) {
        let width = self.columns;
        let inner = |len: usize| (2..len.saturating_sub(2)).step_by(2);
        for row in inner(rows) {
            for column in (0..columns).step_by(2) {
                let at = row * width + column;
                self.bend(at, at + width, 2 * width, most);
            }
        }
        for row in (0..rows).step_by(2) {
            for column in inner(columns) {
                let at = row * width + column;
                self.bend(at, at + 1, 2, most);
            }
        }
        for row in inner(rows) {
            for column in inner(columns) {
                self.twist(row * width + column, most);
            }
        }
    }

    /// The slope at `slope` of the block at `at`, whose neighbours lie `step` away.
    fn bend(&mut self, at: usize, slope: usize, step: usize, most: i64) {
        let (before, here, after) = (self.get(at - step), self.get(at), self.get(at + step));
        let (up, down) = (after - here, here - before);
        let (high, low) = (up.min(down).max(0) << 2, up.max(down).min(0) << 2);
        if low < high {
            let wanted = (after - before).min(high).max(low) - (self.get(slope) << 3);
            let change = towards_zero(wanted, 3).clamp(-most, most);
            let old = self.get(slope);
            self.set(slope, old + change);
        }
    }

    /// The twist of a block: the difference of its slopes.
    fn twist(&mut self, at: usize, most: i64) {
        let width = self.columns;
        let (above, below) = (at - 2 * width, at + 2 * width);
        let (mm, mp) = (self.get(above - 2), self.get(above + 2));
        let (pm, pp) = (self.get(below - 2), self.get(below + 2));
        let here = self.get(at);
        let (x, y) = (self.get(at + width) << 1, self.get(at + 1) << 1);
        let bound = |pick: fn(i64, i64) -> i64, other: fn(i64, i64) -> i64| {
            let first = other(pick(pp - here, 0) - x - y, pick(here - pm, 0) + x - y);
            let second = other(pick(here - mp, 0) - x + y, pick(mm - here, 0) + x + y);
            other(first, second) << 4
        };
        let (high, low) = (bound(i64::max, i64::min), bound(i64::min, i64::max));
        if low < high {
            let old = self.get(at + width + 1);
            let wanted = (pp + mm - mp - pm).min(high).max(low) - (old << 6);
            self.set(at + width + 1, old + towards_zero(wanted, 6).clamp(-most, most));
        }
    }
}

/// Rounded to a multiple of 2 to the `bits`; half of it goes away from zero.
fn rounded(value: i64, bits: u32) -> i64 {
    let half = 1i64 << bits >> 1;
    let add = if value >= 0 { half } else { half - 1 };
    value.wrapping_add(add) & -(1i64 << bits)
}

/// Divided by 2 to the `bits`, towards zero.
fn towards_zero(value: i64, bits: u32) -> i64 {
    if value >= 0 { value >> bits } else { (value + (1 << bits) - 1) >> bits }
}
