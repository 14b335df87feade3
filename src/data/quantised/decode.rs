//! What the bits of ggml's blocks stand for: each element is `scale × level`, or that plus an offset, in float32 and in
//! this order of operations, as `ggml-quants.c` and gguf-py have it:
//! <https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c>,
//! <https://github.com/ggml-org/llama.cpp/blob/master/gguf-py/gguf/quants.py>.

#![allow(
    clippy::indexing_slicing,
    reason = "blocks are arrays of a fixed size, and every index is smaller by the layout; a test decodes blocks of random bytes of each kind"
)]

use super::Quant;
use super::codebook;
use crate::data::dtype::Blocks;
use half::f16;

/// What takes the elements of blocks, in their order.
pub(super) trait Sink {
    /// Elements that are `scale × level`.
    fn scaled<const N: usize>(&mut self, scale: f32, levels: [f32; N]);
    /// Elements that are `scale × level + offset`.
    fn shifted<const N: usize>(&mut self, scale: f32, offset: f32, levels: [f32; N]);
}

/// Values, as the bytes of little-endian float32.
pub(super) struct Values<'a>(pub(super) &'a mut [[u8; 4]]);

impl<'a> Values<'a> {
    #[inline(always)]
    fn next<const N: usize>(&mut self) -> Option<&'a mut [[u8; 4]; N]> {
        let (first, rest) = std::mem::take(&mut self.0).split_first_chunk_mut::<N>()?;
        self.0 = rest;
        Some(first)
    }
}

impl Sink for Values<'_> {
    #[inline(always)]
    fn scaled<const N: usize>(&mut self, scale: f32, levels: [f32; N]) {
        let Some(out) = self.next::<N>() else { return };
        for (out, level) in out.iter_mut().zip(levels) {
            *out = (scale * level).to_le_bytes();
        }
    }

    #[inline(always)]
    fn shifted<const N: usize>(&mut self, scale: f32, offset: f32, levels: [f32; N]) {
        let Some(out) = self.next::<N>() else { return };
        for (out, level) in out.iter_mut().zip(levels) {
            *out = (scale * level + offset).to_le_bytes();
        }
    }
}

impl Sink for Vec<Quant> {
    fn scaled<const N: usize>(&mut self, scale: f32, levels: [f32; N]) {
        self.extend(levels.map(|level| Quant { level, scale, offset: None }));
    }

    fn shifted<const N: usize>(&mut self, scale: f32, offset: f32, levels: [f32; N]) {
        self.extend(levels.map(|level| Quant { level, scale, offset: Some(offset) }));
    }
}

/// Whole blocks into `sink`; what is left over at the end is not looked at.
pub(super) fn blocks<K: Sink>(kind: Blocks, bytes: &[u8], sink: &mut K) {
    match kind {
        Blocks::Q1_0 => each(bytes, sink, q1_0),
        Blocks::Q4_0 => each(bytes, sink, |b: &[u8; 18], sink| q4_0(half(b, 0), &b[2..], sink)),
        Blocks::Q4_0Wide => each(bytes, sink, |b: &[u8; 20], sink| q4_0(single(b, 0), &b[4..], sink)),
        Blocks::Q4_1 => each(bytes, sink, |b: &[u8; 20], sink| q4_1(half(b, 0), half(b, 2), &b[4..], sink)),
        Blocks::Q4_1Wide => {
            each(bytes, sink, |b: &[u8; 24], sink| q4_1(single(b, 0), single(b, 4), &b[8..], sink));
        }
        Blocks::Q5_0 => each(bytes, sink, q5_0),
        Blocks::Q5_1 => each(bytes, sink, q5_1),
        Blocks::Q8_0 => each(bytes, sink, |b: &[u8; 34], sink| signed::<32, _>(half(b, 0), &b[2..], sink)),
        Blocks::Q8_0Wide => {
            each(bytes, sink, |b: &[u8; 36], sink| signed::<32, _>(single(b, 0), &b[4..], sink));
        }
        Blocks::Q8_1 => each(bytes, sink, |b: &[u8; 36], sink| signed::<32, _>(half(b, 0), &b[4..], sink)),
        Blocks::Q8_1Wide => {
            each(bytes, sink, |b: &[u8; 40], sink| signed::<32, _>(single(b, 0), &b[8..], sink));
        }
        Blocks::Q4_0Pairs => each(bytes, sink, |b: &[u8; 20], sink| {
            sink.scaled::<32>(single(b, 0), centred(8, |n| pairs(&b[4..], n)));
        }),
        Blocks::Q4_1Pairs => each(bytes, sink, |b: &[u8; 24], sink| {
            sink.shifted::<32>(single(b, 0), single(b, 4), levels(|n| pairs(&b[8..], n)));
        }),
        Blocks::Q4_2 => each(bytes, sink, |b: &[u8; 10], sink| {
            sink.scaled::<16>(half(b, 0), centred(8, |n| pairs(&b[2..], n)));
        }),
        Blocks::Q4_3 => each(bytes, sink, |b: &[u8; 12], sink| {
            sink.shifted::<16>(half(b, 0), half(b, 2), levels(|n| pairs(&b[4..], n)));
        }),
        Blocks::Q5_0Pairs => each(bytes, sink, |b: &[u8; 22], sink| {
            let high = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
            sink.scaled::<32>(half(b, 0), centred(16, |n| pairs(&b[6..], n) | fifth(high, n)));
        }),
        Blocks::Q5_1Pairs => each(bytes, sink, |b: &[u8; 24], sink| {
            let high = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
            sink.shifted::<32>(half(b, 0), half(b, 2), levels(|n| pairs(&b[8..], n) | fifth(high, n)));
        }),
        Blocks::Q2_K => each(bytes, sink, q2_k),
        Blocks::Q3_K => each(bytes, sink, q3_k),
        Blocks::Q4_K => each(bytes, sink, q4_k),
        Blocks::Q5_K => each(bytes, sink, q5_k),
        Blocks::Q6_K => each(bytes, sink, q6_k),
        Blocks::Q8_K => {
            each(bytes, sink, |b: &[u8; 292], sink| signed::<256, _>(single(b, 0), &b[4..], sink))
        }
        Blocks::IQ1_S => each(bytes, sink, codebook::iq1_s),
        Blocks::IQ1_M => each(bytes, sink, codebook::iq1_m),
        Blocks::IQ2_XXS => each(bytes, sink, codebook::iq2_xxs),
        Blocks::IQ2_XS => each(bytes, sink, codebook::iq2_xs),
        Blocks::IQ2_S => each(bytes, sink, codebook::iq2_s),
        Blocks::IQ3_XXS => each(bytes, sink, codebook::iq3_xxs),
        Blocks::IQ3_S => each(bytes, sink, codebook::iq3_s),
        Blocks::IQ4_NL => each(bytes, sink, iq4_nl),
        Blocks::IQ4_XS => each(bytes, sink, iq4_xs),
        Blocks::TQ1_0 => each(bytes, sink, tq1_0),
        Blocks::TQ2_0 => each(bytes, sink, tq2_0),
        Blocks::MXFP4 => each(bytes, sink, mxfp4),
        Blocks::NVFP4 => each(bytes, sink, nvfp4),
    }
}

#[inline(always)]
fn each<const N: usize, K: Sink>(bytes: &[u8], sink: &mut K, decode: impl Fn(&[u8; N], &mut K)) {
    bytes.as_chunks::<N>().0.iter().for_each(|block| decode(block, sink));
}

/// The half at a byte.
#[inline(always)]
pub(super) fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

fn single(block: &[u8], at: usize) -> f32 {
    f32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

#[inline(always)]
fn levels<const N: usize>(level: impl Fn(usize) -> u8) -> [f32; N] {
    std::array::from_fn(|n| f32::from(level(n)))
}

/// Levels of a type that counts from below zero.
#[inline(always)]
fn centred<const N: usize>(middle: i8, level: impl Fn(usize) -> u8) -> [f32; N] {
    std::array::from_fn(|n| f32::from(level(n) as i8 - middle))
}

fn q1_0<K: Sink>(b: &[u8; 18], sink: &mut K) {
    let bit = |n: usize| b[2 + n / 8] >> (n % 8) & 1;
    sink.scaled::<128>(half(b, 0), std::array::from_fn(|n| f32::from(bit(n) as i8 * 2 - 1)));
}

#[inline(always)]
fn q4_0<K: Sink>(scale: f32, qs: &[u8], sink: &mut K) {
    sink.scaled::<16>(scale, centred(8, |n| qs[n] & 15));
    sink.scaled::<16>(scale, centred(8, |n| qs[n] >> 4));
}

#[inline(always)]
fn q4_1<K: Sink>(scale: f32, least: f32, qs: &[u8], sink: &mut K) {
    sink.shifted::<16>(scale, least, levels(|n| qs[n] & 15));
    sink.shifted::<16>(scale, least, levels(|n| qs[n] >> 4));
}

/// Elements of 4 bits of which neighbours lie in one byte.
#[inline(always)]
fn pairs(qs: &[u8], n: usize) -> u8 {
    qs[n / 2] >> (n % 2 * 4) & 15
}

/// The fifth bits of 32 elements, one after the other.
#[inline(always)]
fn fifth(bits: u32, n: usize) -> u8 {
    ((bits >> n & 1) as u8) << 4
}

fn q5_0<K: Sink>(b: &[u8; 22], sink: &mut K) {
    let (scale, high, qs) = (half(b, 0), u32::from_le_bytes([b[2], b[3], b[4], b[5]]), &b[6..]);
    sink.scaled::<16>(scale, centred(16, |n| qs[n] & 15 | fifth(high, n)));
    sink.scaled::<16>(scale, centred(16, |n| qs[n] >> 4 | fifth(high, n + 16)));
}

fn q5_1<K: Sink>(b: &[u8; 24], sink: &mut K) {
    let (scale, least) = (half(b, 0), half(b, 2));
    let (high, qs) = (u32::from_le_bytes([b[4], b[5], b[6], b[7]]), &b[8..]);
    sink.shifted::<16>(scale, least, levels(|n| qs[n] & 15 | fifth(high, n)));
    sink.shifted::<16>(scale, least, levels(|n| qs[n] >> 4 | fifth(high, n + 16)));
}

#[inline(always)]
fn signed<const N: usize, K: Sink>(scale: f32, qs: &[u8], sink: &mut K) {
    sink.scaled::<N>(scale, std::array::from_fn(|n| f32::from(qs[n] as i8)));
}

/// Sixteen scales and minima of 4 bits, levels of 2 bits.
fn q2_k<K: Sink>(b: &[u8; 84], sink: &mut K) {
    let (scale, least) = (half(b, 80), half(b, 82));
    for group in 0..16 {
        // 128 elements lie in 32 bytes: 2 bits of each byte make 32 neighbours.
        let (first, shift) = (16 + group / 8 * 32 + group % 2 * 16, group / 2 % 4 * 2);
        let (scale, least) = (scale * f32::from(b[group] & 15), least * f32::from(b[group] >> 4));
        sink.shifted::<16>(scale, -least, levels(|n| b[first + n] >> shift & 3));
    }
}

/// Sixteen scales of 6 bits, levels of 2 bits and a third one apart, which means *not less 4*.
fn q3_k<K: Sink>(b: &[u8; 110], sink: &mut K) {
    let scale = half(b, 108);
    for group in 0..16 {
        let low = b[96 + group % 8] >> (group / 8 * 4) & 15;
        let high = b[104 + group % 4] >> (group / 4 * 2) & 3;
        let scale = scale * f32::from((low | high << 4) as i8 - 32);
        let (first, shift) = (32 + group / 8 * 32 + group % 2 * 16, group / 2 % 4 * 2);
        let (mask, bit) = (group % 2 * 16, group / 2);
        let level = |n: usize| (b[first + n] >> shift & 3) as i8 - ((!b[mask + n] >> bit & 1) << 2) as i8;
        sink.scaled::<16>(scale, std::array::from_fn(|n| f32::from(level(n))));
    }
}

/// The scale and the minimum of one of eight groups, of 6 bits each, from 12 bytes.
#[inline(always)]
fn scale_and_least(packed: &[u8], group: usize) -> (f32, f32) {
    let (scale, least) = if group < 4 {
        (packed[group] & 63, packed[group + 4] & 63)
    } else {
        let low = packed[group + 4];
        (low & 15 | packed[group - 4] >> 6 << 4, low >> 4 | packed[group] >> 6 << 4)
    };
    (f32::from(scale), f32::from(least))
}

fn q4_k<K: Sink>(b: &[u8; 144], sink: &mut K) {
    let (whole, offset) = (half(b, 0), half(b, 2));
    for pair in 0..4 {
        let qs = &b[16 + pair * 32..][..32];
        let (scale, least) = scale_and_least(&b[4..16], pair * 2);
        sink.shifted::<32>(whole * scale, -(offset * least), levels(|n| qs[n] & 15));
        let (scale, least) = scale_and_least(&b[4..16], pair * 2 + 1);
        sink.shifted::<32>(whole * scale, -(offset * least), levels(|n| qs[n] >> 4));
    }
}

fn q5_k<K: Sink>(b: &[u8; 176], sink: &mut K) {
    let (whole, offset, high) = (half(b, 0), half(b, 2), &b[16..48]);
    for pair in 0..4 {
        let qs = &b[48 + pair * 32..][..32];
        let (scale, least) = scale_and_least(&b[4..16], pair * 2);
        let level = |n: usize| qs[n] & 15 | (high[n] >> (pair * 2) & 1) << 4;
        sink.shifted::<32>(whole * scale, -(offset * least), levels(level));
        let (scale, least) = scale_and_least(&b[4..16], pair * 2 + 1);
        let level = |n: usize| qs[n] >> 4 | (high[n] >> (pair * 2 + 1) & 1) << 4;
        sink.shifted::<32>(whole * scale, -(offset * least), levels(level));
    }
}

fn q6_k<K: Sink>(b: &[u8; 210], sink: &mut K) {
    let scale = half(b, 208);
    for group in 0..16 {
        let (part, within) = (group / 8, group % 8);
        // 64 bytes hold the low bits of 128 elements, 32 bytes their high ones.
        let (low, shift) = (part * 64 + within % 4 * 16, within / 4 * 4);
        let (high, above) = (128 + part * 32 + within % 2 * 16, within / 2 * 2);
        let level = |n: usize| b[low + n] >> shift & 15 | (b[high + n] >> above & 3) << 4;
        sink.scaled::<16>(scale * f32::from(b[192 + group] as i8), centred(32, level));
    }
}

/// Five elements of three values a byte, as a fraction: each product with 3 gives the next one.
fn tq1_0<K: Sink>(b: &[u8; 54], sink: &mut K) {
    let scale = half(b, 52);
    let level = |byte: u8, power: u8| ((u16::from(byte.wrapping_mul(power)) * 3) >> 8) as u8;
    for power in [1, 3, 9, 27, 81] {
        sink.scaled::<32>(scale, centred(1, |n| level(b[n], power)));
    }
    for power in [1, 3, 9, 27, 81] {
        sink.scaled::<16>(scale, centred(1, |n| level(b[32 + n], power)));
    }
    for power in [1, 3, 9, 27] {
        sink.scaled::<4>(scale, centred(1, |n| level(b[48 + n], power)));
    }
}

fn tq2_0<K: Sink>(b: &[u8; 66], sink: &mut K) {
    let scale = half(b, 64);
    for group in 0..8 {
        let (first, shift) = (group / 4 * 32, group % 4 * 2);
        sink.scaled::<32>(scale, centred(1, |n| b[first + n] >> shift & 3));
    }
}

/// The sixteen levels of `iq4_nl` and `iq4_xs`.
const UNEVEN: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// Twice the values of E2M1, which are whole; their scales are halved.
const TWICE_E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Sixteen bytes of two elements each: low halves, then high ones.
#[inline(always)]
fn nibbles<K: Sink>(scale: f32, table: &[i8; 16], qs: &[u8], sink: &mut K) {
    sink.scaled::<16>(scale, std::array::from_fn(|n| f32::from(table[usize::from(qs[n] & 15)])));
    sink.scaled::<16>(scale, std::array::from_fn(|n| f32::from(table[usize::from(qs[n] >> 4)])));
}

fn iq4_nl<K: Sink>(b: &[u8; 18], sink: &mut K) {
    nibbles(half(b, 0), &UNEVEN, &b[2..], sink);
}

fn iq4_xs<K: Sink>(b: &[u8; 136], sink: &mut K) {
    let (scale, high) = (half(b, 0), u16::from_le_bytes([b[2], b[3]]));
    for group in 0..8 {
        let low = b[4 + group / 2] >> (group % 2 * 4) & 15;
        let bits = low | ((high >> (group * 2) & 3) as u8) << 4;
        nibbles(scale * f32::from(bits as i8 - 32), &UNEVEN, &b[8 + group * 16..], sink);
    }
}

fn mxfp4<K: Sink>(b: &[u8; 17], sink: &mut K) {
    // Half of 2^(e - 127), also where that is no normal number.
    let bits = if b[0] < 2 { 0x0020_0000 << b[0] } else { u32::from(b[0] - 1) << 23 };
    nibbles(f32::from_bits(bits), &TWICE_E2M1, &b[1..], sink);
}

fn nvfp4<K: Sink>(b: &[u8; 36], sink: &mut K) {
    for group in 0..4 {
        let qs = &b[4 + group * 8..][..8];
        let level = |bits: u8| f32::from(TWICE_E2M1[usize::from(bits)]);
        let scale = half_of_unsigned_e4m3(b[group]);
        sink.scaled::<8>(scale, std::array::from_fn(|n| level(qs[n] & 15)));
        sink.scaled::<8>(scale, std::array::from_fn(|n| level(qs[n] >> 4)));
    }
}

/// Half of a scale of E4M3, whose sign is not looked at; its NaN is zero.
fn half_of_unsigned_e4m3(bits: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f32::from(bits & 7));
    match (bits, exponent) {
        (0 | 0x7f, _) => 0.0,
        (_, 0) => mantissa * 2f32.powi(-10),
        _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 8),
    }
}
