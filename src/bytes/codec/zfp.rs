//! ZFP: numbers in blocks of 4ᵈ, each with a common exponent, decorrelated and stored bit plane by bit plane, as
//! many planes as the mode allows. Decodes what the HDF5 filter 32013 and numcodecs' `zfpy` write: one to three dimensions of
//! 32- or 64-bit integers and floats, by rate, precision or accuracy.
//!
//! The algorithm: <https://zfp.readthedocs.io/en/latest/algorithm.html>; the header, which stands before the data or in
//! the filter's client data: <https://h5z-zfp.readthedocs.io/en/latest/hdf5_chunking.html>.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

/// Bytes of the magic number and the version of the codec.
const MAGIC: &[u8; 3] = b"zfp";

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Header {
    kind: Kind,
    /// The fastest dimension first.
    shape: Vec<usize>,
    /// Bits of a block, at least and at most.
    bits: (u64, u64),
    /// Bit planes of a block at most.
    planes: u32,
    /// The exponent of the lowest bit plane that is stored.
    lowest: i32,
}

/// The types of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    I32,
    I64,
    F32,
    F64,
}

impl Kind {
    /// Bits of the integers that the block is made of.
    fn bits(self) -> u32 {
        if matches!(self, Kind::I32 | Kind::F32) { 32 } else { 64 }
    }
}

/// Bits from the lowest of each byte upwards.
struct Bits<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl Bits<'_> {
    fn one(&mut self) -> bool {
        let byte = usize::try_from(self.at / 8).ok().and_then(|at| self.bytes.get(at)).copied().unwrap_or(0);
        let bit = byte >> (self.at % 8) & 1;
        self.at += 1;
        bit == 1
    }

    fn many(&mut self, count: u32) -> u64 {
        (0..count).fold(0, |value, n| value | u64::from(self.one()) << n)
    }
}

impl Header {
    /// Takes the filter's client data apart: a word of versions, then ZFP's own header.
    fn of_client(client: &[u32]) -> Result<Header> {
        let bytes: Vec<u8> = client.iter().skip(1).flat_map(|word| word.to_le_bytes()).collect();
        Header::read(&mut Bits { bytes: &bytes, at: 0 })
    }

    /// Reads the header at the start of `bits`, which then stand behind it.
    fn read(bits: &mut Bits) -> Result<Header> {
        if !bits.bytes.starts_with(MAGIC) || bits.bytes.len() < 12 {
            return Err(Error::malformed("ZFP data: there is no header"));
        }
        bits.at = 32;
        let mut meta = bits.many(52);
        let mut take = |count: u32| {
            let value = meta & ((1 << count) - 1);
            meta >>= count;
            value
        };
        let kind = match take(2) {
            0 => Kind::I32,
            1 => Kind::I64,
            2 => Kind::F32,
            _ => Kind::F64,
        };
        let rank = take(2) + 1;
        if rank == 4 {
            return Err(Error::unsupported("ZFP in four dimensions"));
        }
        let width = if rank == 1 { 48 } else { 48 / rank as u32 };
        let shape = (0..rank).map(|_| take(width) as usize + 1).collect();
        let mode = bits.many(12);
        let (range, planes, lowest) = match mode {
            0..2048 => ((mode + 1, mode + 1), 64, -1074),
            2048..2176 => ((1, u64::MAX), (mode - 2047) as u32, -1074),
            2176 => return Err(Error::unsupported("ZFP in its reversible mode")),
            2177..4095 => ((1, u64::MAX), 64, mode as i32 - 1074 - 2177),
            _ => {
                let (least, most) = (bits.many(15) + 1, bits.many(15) + 1);
                ((least, most), bits.many(7) as u32 + 1, bits.many(15) as i32 - 16495)
            }
        };
        if lowest < -1074 {
            return Err(Error::unsupported("ZFP in its reversible mode"));
        }
        Ok(Header { kind, shape, bits: range, planes, lowest })
    }
}

/// Decodes a chunk by the HDF5 filter's client data; elements are little-endian.
///
/// # Errors
/// `Malformed` for client data without a header, data that is cut off or more than `most` bytes; `Unsupported`
/// for the reversible mode and for four dimensions.
pub fn decode(input: &[u8], client: &[u32], most: usize) -> Result<Vec<u8>> {
    blocks(&mut Bits { bytes: input, at: 0 }, &Header::of_client(client)?, most)
}

/// Decodes a stream that begins with its header; elements are little-endian.
///
/// # Errors
/// As [`decode`].
pub fn stream(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut bits = Bits { bytes: input, at: 0 };
    let header = Header::read(&mut bits)?;
    blocks(&mut bits, &header, most)
}

/// The elements of all blocks.
fn blocks(bits: &mut Bits, header: &Header, most: usize) -> Result<Vec<u8>> {
    let size = header.kind.bits() as usize / 8;
    let elements = header.shape.iter().try_fold(size, |n, side| n.checked_mul(*side));
    let total = elements.filter(|n| *n <= most).ok_or_else(|| super::too_much("ZFP data", most))?;
    let mut out = limits::buffer(total as u64, "ZFP data")?;
    let rank = header.shape.len();
    let order = order(rank);
    let counts: Vec<usize> = header.shape.iter().map(|side| side.div_ceil(4)).collect();
    let mut block = vec![0u64; order.len()];
    for n in 0..counts.iter().product::<usize>() {
        if bits.at > (bits.bytes.len() as u64).saturating_mul(8) {
            return Err(super::cut_off("ZFP data"));
        }
        let scale = one_block(bits, header, &order, &mut block);
        let mut rest = n;
        let corner: Vec<usize> = counts
            .iter()
            .map(|count| {
                let at = rest % count * 4;
                rest /= count;
                at
            })
            .collect();
        place(header, &corner, &block, scale, &mut out);
    }
    Ok(out)
}

/// Decodes one block into `block`; the common exponent of floats, `None` where all are zero.
fn one_block(bits: &mut Bits, header: &Header, order: &[usize], block: &mut [u64]) -> Option<i32> {
    let start = bits.at;
    let (least, most) = header.bits;
    let is_float = matches!(header.kind, Kind::F32 | Kind::F64);
    block.fill(0);
    let mut exponent = Some(0);
    let mut planes = header.planes;
    if is_float {
        let (width, bias) = if header.kind == Kind::F32 { (8, 127) } else { (11, 1023) };
        exponent = bits.one().then(|| bits.many(width) as i32 - bias);
        let room = exponent.map_or(0, |e| e - header.lowest + 2 * (header.shape.len() as i32 + 1));
        planes = planes.min(room.max(0) as u32);
    }
    if exponent.is_some() {
        let room = most.saturating_sub(bits.at - start);
        bit_planes(bits, header.kind.bits(), planes, room, order, block);
        transform(header.kind.bits(), header.shape.len(), block);
    }
    // A block takes as many bits as it must, whether they are used or not.
    bits.at = bits.at.max(start.saturating_add(least));
    exponent
}

/// The bit planes from the highest down: of the elements that had a bit before each its bit, of the others in
/// runs of zeros. Then from negabinary to two's complement.
fn bit_planes(bits: &mut Bits, width: u32, planes: u32, room: u64, order: &[usize], block: &mut [u64]) {
    let mut room = room;
    let mut seen = 0;
    let take = |bits: &mut Bits, room: &mut u64| {
        *room -= 1;
        bits.one()
    };
    for plane in (width.saturating_sub(planes)..width).rev() {
        if room == 0 || bits.at / 8 > bits.bytes.len() as u64 {
            break;
        }
        let set = |block: &mut [u64], n: usize| {
            if let Some(value) = order.get(n).and_then(|at| block.get_mut(*at)) {
                *value |= 1 << plane;
            }
        };
        let known = (seen as u64).min(room) as usize;
        for n in 0..known {
            if take(bits, &mut room) {
                set(block, n);
            }
        }
        while seen < order.len() && room > 0 && take(bits, &mut room) {
            // Somewhere behind is another one; the last element's place needs no bit.
            while seen < order.len() - 1 && room > 0 && !take(bits, &mut room) {
                seen += 1;
            }
            set(block, seen);
            seen += 1;
        }
    }
    let mask = 0xaaaa_aaaa_aaaa_aaaa_u64 >> (64 - width);
    for value in block {
        let number = (*value ^ mask).wrapping_sub(mask);
        *value = if width == 32 { number as u32 as i32 as i64 as u64 } else { number };
    }
}

/// The inverse of the decorrelating transform, the slowest dimension first.
fn transform(width: u32, rank: usize, block: &mut [u64]) {
    for axis in (0..rank).rev() {
        let stride = 4usize.pow(axis as u32);
        for first in 0..block.len() {
            if (first / stride).is_multiple_of(4) {
                lift(width, first, stride, block);
            }
        }
    }
}

/// Four neighbours along one dimension.
fn lift(width: u32, first: usize, stride: usize, block: &mut [u64]) {
    let place = |n: usize| first + n * stride;
    // In the integers' own width: what overflows wraps around, shifts to the right keep the sign.
    let cut = |value: i64| if width == 32 { i64::from(value as i32) } else { value };
    let get = |block: &[u64], n: usize| block.get(place(n)).map_or(0, |value| *value as i64);
    let (mut x, mut y, mut z, mut w) = (get(block, 0), get(block, 1), get(block, 2), get(block, 3));
    y = cut(y.wrapping_add(w >> 1));
    w = cut(w.wrapping_sub(y >> 1));
    y = cut(y.wrapping_add(w));
    w = cut(w.wrapping_shl(1));
    w = cut(w.wrapping_sub(y));
    z = cut(z.wrapping_add(x));
    x = cut(x.wrapping_shl(1));
    x = cut(x.wrapping_sub(z));
    y = cut(y.wrapping_add(z));
    z = cut(z.wrapping_shl(1));
    z = cut(z.wrapping_sub(y));
    w = cut(w.wrapping_add(x));
    x = cut(x.wrapping_shl(1));
    x = cut(x.wrapping_sub(w));
    for (n, value) in [x, y, z, w].into_iter().enumerate() {
        if let Some(to) = block.get_mut(place(n)) {
            *to = value as u64;
        }
    }
}

/// Writes the part of a block that lies in the array.
fn place(header: &Header, corner: &[usize], block: &[u64], exponent: Option<i32>, out: &mut [u8]) {
    let size = header.kind.bits() as usize / 8;
    // The value of the lowest bit of the integers.
    let unit = exponent.map_or(0.0, |e| power(e - (header.kind.bits() as i32 - 2)));
    for (n, value) in block.iter().enumerate() {
        let (mut rest, mut at, mut stride, mut inside) = (n, 0, 1, true);
        for (start, side) in corner.iter().zip(&header.shape) {
            let here = start + rest % 4;
            inside &= here < *side;
            at += here * stride;
            stride *= side;
            rest /= 4;
        }
        let Some(to) = out.get_mut(at * size..(at + 1) * size).filter(|_| inside) else { continue };
        match header.kind {
            Kind::I32 => to.copy_from_slice(&(*value as i32).to_le_bytes()),
            Kind::I64 => to.copy_from_slice(&value.to_le_bytes()),
            Kind::F32 => to.copy_from_slice(&(unit as f32 * (*value as i32) as f32).to_le_bytes()),
            Kind::F64 => to.copy_from_slice(&(unit * (*value as i64) as f64).to_le_bytes()),
        }
    }
}

/// 2 to the power `n`, also where that is no normal number.
fn power(n: i32) -> f64 {
    let half = n / 2;
    2f64.powi(half) * 2f64.powi(n - half)
}

/// The places of coefficients in a block in the order in which they are stored: by the sum of their coordinates,
/// then by the sum of their squares; among equals as ZFP has it.
fn order(rank: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..4usize.pow(rank as u32)).collect();
    let coordinates =
        |place: usize| -> Vec<usize> { (0..rank).map(|axis| place / 4usize.pow(axis as u32) % 4).collect() };
    places.sort_by_cached_key(|place| {
        let all = coordinates(*place);
        let (sum, squares): (usize, usize) = (all.iter().sum(), all.iter().map(|c| c * c).sum());
        let mut sorted = all.clone();
        sorted.sort_unstable();
        let among = among_equals(&all, &sorted);
        (sum, squares, sorted, among)
    });
    places
}

/// The place among coefficients of the same coordinates in another order. One that differs from the others in one
/// coordinate only goes by where that is; of three different ones the largest goes by its axis and the next one
/// round in a circle; two dimensions count down.
fn among_equals(all: &[usize], sorted: &[usize]) -> (usize, usize) {
    let rank = all.len();
    let axis_of = |value: Option<&usize>| all.iter().position(|c| Some(c) == value).unwrap_or(0);
    let up = all.iter().fold(0, |n, c| n * 4 + c);
    match sorted {
        [_, _] => (0, usize::MAX - up),
        [a, rest @ ..] if rest.iter().all(|c| Some(c) == rest.first()) => (axis_of(Some(a)), 0),
        [rest @ .., z] if rest.iter().all(|c| Some(c) == rest.first()) => (axis_of(Some(z)), 0),
        [_, middle, high] => {
            let high = axis_of(Some(high));
            (high, (axis_of(Some(middle)) + rank - high) % rank)
        }
        _ => (0, up),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_three_dimensions() {
        let at = |x: usize, y: usize, z: usize| x + 4 * (y + 4 * z);
        let order = order(3);
        assert_eq!(order[..4], [at(0, 0, 0), at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)]);
        assert_eq!(order[4..7], [at(0, 1, 1), at(1, 0, 1), at(1, 1, 0)]);
        let six = [at(2, 1, 0), at(2, 0, 1), at(0, 2, 1), at(1, 2, 0), at(1, 0, 2), at(0, 1, 2)];
        assert_eq!(order[11..17], six);
        let late = [at(3, 2, 1), at(3, 1, 2), at(1, 3, 2), at(2, 3, 1), at(2, 1, 3), at(1, 2, 3)];
        assert_eq!(order[45..51], late);
        assert_eq!(order[60..], [at(2, 3, 3), at(3, 2, 3), at(3, 3, 2), at(3, 3, 3)]);
    }

    #[test]
    fn a_header_of_the_filter() {
        let header = Header::of_client(&[269_504_785, 91_252_346, 805_306_870, 267_386_881]).unwrap();
        assert_eq!((header.kind, header.shape, header.bits), (Kind::F32, vec![32, 20], (256, 256)));
        assert!(Header::of_client(&[1, 2, 3]).is_err());
    }

    #[test]
    fn a_header_before_the_data() {
        let client = [269_504_785, 91_252_346, 805_306_870, 267_386_881];
        let header: Vec<u8> = client[1..].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        let data: Vec<u8> = (0..1280).map(|n| (n * 7) as u8).collect();
        let whole = decode(&data, &client, 2560).unwrap();
        assert_eq!(stream(&[header.as_slice(), &data].concat(), 2560).unwrap(), whole);
        assert!(stream(&data, 2560).is_err() && stream(&header[..8], 2560).is_err());
    }

    #[test]
    fn damage_ends_in_errors_or_numbers() {
        let client = [269_504_785, 91_252_346, 805_306_870, 267_386_881];
        assert!(decode(&[0x5a; 700], &client, 20 * 32 * 4).is_err());
        assert!(decode(&[0x5a; 1280], &client, 100).is_err());
        assert_eq!(decode(&[0xff; 1280], &client, 20 * 32 * 4).unwrap().len(), 20 * 32 * 4);
    }
}
