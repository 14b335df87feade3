//! ggml's codebook types: groups of 8 or 4 neighbours are lines of a grid, with signs apart.
//! <https://github.com/ggml-org/llama.cpp/pull/4773>

#![allow(
    clippy::indexing_slicing,
    reason = "blocks are arrays of a fixed size, lines of a grid have as many bits as it has lines; a test decodes blocks of random bytes of each kind"
)]

use super::decode::{Sink, half};
use super::grids;
use half::f16;

/// The magnitudes of the types of 2 bits,
const TWO: [f32; 4] = [8.0, 25.0, 43.0, 0.0];
/// of `iq3_xxs`,
const THREE: [f32; 8] = [4.0, 12.0, 20.0, 28.0, 36.0, 44.0, 52.0, 62.0];
/// and the values of those of one bit.
const ONE: [f32; 4] = [-1.0, 0.0, 1.0, 0.0];
/// What the values of one bit lie beside the grid.
const DELTA: f32 = 0.125;

/// Eight signs from 7 bits: the eighth makes the number of minus signs even.
fn even(signs: u32) -> u8 {
    let signs = (signs & 127) as u8;
    signs | (signs.count_ones() as u8 & 1) << 7
}

#[inline(always)]
fn sign(signs: u8, n: usize) -> f32 {
    if signs >> n & 1 == 1 { -1.0 } else { 1.0 }
}

/// Eight neighbours from a line of 2 bits each.
#[inline(always)]
fn eight(line: u16, signs: u8) -> [f32; 8] {
    std::array::from_fn(|n| TWO[usize::from(line >> (2 * n) & 3)] * sign(signs, n))
}

/// Eight neighbours from two lines of 4 bits each.
#[inline(always)]
fn twice_four(lines: [u16; 2], signs: u8, magnitude: impl Fn(u16) -> f32) -> [f32; 8] {
    std::array::from_fn(|n| magnitude(lines[n / 4] >> (4 * (n % 4)) & 15) * sign(signs, n))
}

fn word(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

fn short(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

/// A scale of 4 bits of one of 16 groups.
fn nibble(b: &[u8], group: usize) -> f32 {
    f32::from(b[group / 2] >> (group % 2 * 4) & 15)
}

/// 32 elements: four lines, then four times 7 bits of signs and 4 bits of scale.
pub(super) fn iq2_xxs<K: Sink>(b: &[u8; 66], sink: &mut K) {
    let scale = half(b, 0);
    for group in 0..8 {
        let (lines, rest) = (&b[2 + group * 8..][..4], word(b, 6 + group * 8));
        let scale = scale * (0.5 + (rest >> 28) as f32) * 0.25;
        for (n, line) in lines.iter().enumerate() {
            sink.scaled::<8>(scale, eight(grids::IQ2_XXS[usize::from(*line)], even(rest >> (7 * n))));
        }
    }
}

pub(super) fn iq2_xs<K: Sink>(b: &[u8; 74], sink: &mut K) {
    let scale = half(b, 0);
    for n in 0..32 {
        let bits = short(b, 2 + 2 * n);
        let scale = scale * (0.5 + nibble(&b[66..], n / 2)) * 0.25;
        let line = grids::IQ2_XS[usize::from(bits & 511)];
        sink.scaled::<8>(scale, eight(line, even(u32::from(bits >> 9))));
    }
}

pub(super) fn iq2_s<K: Sink>(b: &[u8; 82], sink: &mut K) {
    let scale = half(b, 0);
    for n in 0..32 {
        let scale = scale * (0.5 + nibble(&b[74..], n / 2)) * 0.25;
        let line = usize::from(b[2 + n]) | usize::from(b[66 + n / 4] >> (n % 4 * 2) & 3) << 8;
        sink.scaled::<8>(scale, eight(grids::IQ2_S[line], b[34 + n]));
    }
}

pub(super) fn iq3_xxs<K: Sink>(b: &[u8; 98], sink: &mut K) {
    let scale = half(b, 0);
    for group in 0..8 {
        let rest = word(b, 66 + group * 4);
        let scale = scale * (0.5 + (rest >> 28) as f32) * 0.5;
        for n in 0..4 {
            let at = 2 + group * 8 + n * 2;
            let lines = [b[at], b[at + 1]].map(|line| grids::IQ3_XXS[usize::from(line)]);
            let magnitude = |place: u16| THREE[usize::from(place & 7)];
            sink.scaled::<8>(scale, twice_four(lines, even(rest >> (7 * n)), magnitude));
        }
    }
}

pub(super) fn iq3_s<K: Sink>(b: &[u8; 110], sink: &mut K) {
    let scale = half(b, 0);
    for n in 0..32 {
        let scale = scale * (1.0 + 2.0 * nibble(&b[106..], n / 4));
        let line = |k: usize| {
            let ninth = usize::from(b[66 + k / 8] >> (k % 8) & 1);
            grids::IQ3_S[usize::from(b[2 + k]) | ninth << 8]
        };
        let lines = [line(2 * n), line(2 * n + 1)];
        sink.scaled::<8>(scale, twice_four(lines, b[74 + n], |place| f32::from(2 * (place & 7) + 1)));
    }
}

/// Eight neighbours of −1, 0 and 1, a little beside.
#[inline(always)]
fn ternary(line: usize, delta: f32) -> [f32; 8] {
    let line = grids::IQ1_S[line];
    std::array::from_fn(|n| ONE[usize::from(line >> (2 * n) & 3)] + delta)
}

pub(super) fn iq1_s<K: Sink>(b: &[u8; 50], sink: &mut K) {
    let scale = half(b, 0);
    for group in 0..8 {
        let high = short(b, 34 + group * 2);
        let scale = scale * f32::from(2 * (high >> 12 & 7) + 1);
        let delta = if high & 0x8000 == 0 { DELTA } else { -DELTA };
        for n in 0..4 {
            let line = usize::from(b[2 + group * 4 + n]) | usize::from(high >> (3 * n) & 7) << 8;
            sink.scaled::<8>(scale, ternary(line, delta));
        }
    }
}

/// Its half lies in the high bits of its four groups of scales.
pub(super) fn iq1_m<K: Sink>(b: &[u8; 56], sink: &mut K) {
    let scales: [u16; 4] = std::array::from_fn(|n| short(b, 48 + 2 * n));
    let bits = scales[0] >> 12 | scales[1] >> 8 & 0x00f0 | scales[2] >> 4 & 0x0f00 | scales[3] & 0xf000;
    let scale = f16::from_bits(bits).to_f32();
    for n in 0..32 {
        let scale = scale * f32::from(2 * (scales[n / 8] >> (n / 2 % 4 * 3) & 7) + 1);
        let high = b[32 + n / 2] >> (n % 2 * 4);
        let delta = if high & 8 == 0 { DELTA } else { -DELTA };
        sink.scaled::<8>(scale, ternary(usize::from(b[n]) | usize::from(high & 7) << 8, delta));
    }
}
