//! The bits that are stored for one element of a block, before they stand for a level.

#![allow(
    clippy::indexing_slicing,
    reason = "the block has the size of its kind, and every index is smaller by the layout; a test goes through all elements of blocks of each kind"
)]

use super::Code;
use crate::data::dtype::Blocks;

/// Where the bits of a kind lie.
enum Layout {
    /// A byte for each element, from here on.
    Bytes(usize),
    /// Low halves of 16 bytes, then their high halves.
    Halves(usize),
    /// Neighbours in one byte.
    Pairs(usize),
    /// The fifth bits in four bytes, then low and high halves.
    HalvesAndFifth(usize, usize),
    /// The fifth bits in four bytes, then neighbours in one byte.
    PairsAndFifth(usize, usize),
}

/// The bits of the n-th element of a block whose numbers are little-endian. `None` for kinds whose elements have no bits
/// of their own, but share the number of a line of a grid, or a byte of five digits.
pub(super) fn code(kind: Blocks, b: &[u8], n: usize) -> Option<Code> {
    use Layout::{Bytes, Halves, HalvesAndFifth, Pairs, PairsAndFifth};
    if b.len() != kind.bytes() || n >= kind.elements() {
        return None;
    }
    let layout = match kind {
        Blocks::Q4_0 | Blocks::IQ4_NL => Halves(2),
        Blocks::Q4_0Wide | Blocks::Q4_1 => Halves(4),
        Blocks::Q4_1Wide => Halves(8),
        Blocks::MXFP4 => Halves(1),
        Blocks::IQ4_XS => Halves(8 + n / 32 * 16),
        Blocks::Q5_0 => HalvesAndFifth(2, 6),
        Blocks::Q5_1 => HalvesAndFifth(4, 8),
        Blocks::Q8_0 => Bytes(2),
        Blocks::Q8_0Wide | Blocks::Q8_1 | Blocks::Q8_K => Bytes(4),
        Blocks::Q8_1Wide => Bytes(8),
        Blocks::Q4_0Pairs | Blocks::Q4_3 => Pairs(4),
        Blocks::Q4_1Pairs => Pairs(8),
        Blocks::Q4_2 => Pairs(2),
        Blocks::Q5_0Pairs => PairsAndFifth(2, 6),
        Blocks::Q5_1Pairs => PairsAndFifth(4, 8),
        Blocks::Q1_0 => return Some(Code { value: u32::from(b[2 + n / 8] >> (n % 8) & 1), bits: 1 }),
        Blocks::NVFP4 => {
            let byte = b[4 + n / 16 * 8 + n % 8];
            return Some(four(byte >> (n % 16 / 8 * 4) & 15));
        }
        Blocks::Q2_K | Blocks::Q3_K | Blocks::Q4_K | Blocks::Q5_K | Blocks::Q6_K | Blocks::TQ2_0 => {
            return Some(of_256(kind, b, n));
        }
        Blocks::TQ1_0
        | Blocks::IQ1_S
        | Blocks::IQ1_M
        | Blocks::IQ2_XXS
        | Blocks::IQ2_XS
        | Blocks::IQ2_S
        | Blocks::IQ3_XXS
        | Blocks::IQ3_S => return None,
    };
    let fifth = |at: usize| u32::from(b[at + n / 8] >> (n % 8) & 1) << 4;
    Some(match layout {
        Bytes(at) => Code { value: u32::from(b[at + n]), bits: 8 },
        Halves(at) => four(half(b, at, n)),
        Pairs(at) => four(pair(b, at, n)),
        HalvesAndFifth(high, at) => Code { value: u32::from(half(b, at, n)) | fifth(high), bits: 5 },
        PairsAndFifth(high, at) => Code { value: u32::from(pair(b, at, n)) | fifth(high), bits: 5 },
    })
}

fn four(bits: u8) -> Code {
    Code { value: u32::from(bits), bits: 4 }
}

/// One of 32 elements in the low halves of 16 bytes and then in their high ones.
fn half(b: &[u8], at: usize, n: usize) -> u8 {
    b[at + n % 16] >> (n % 32 / 16 * 4) & 15
}

fn pair(b: &[u8], at: usize, n: usize) -> u8 {
    b[at + n / 2] >> (n % 2 * 4) & 15
}

/// Of the kinds whose blocks have 256 elements in groups of 16 or 32.
fn of_256(kind: Blocks, b: &[u8], n: usize) -> Code {
    let (group, within) = (n / 16, n % 16);
    let two = |first: usize| b[first + group / 8 * 32 + group % 2 * 16 + within] >> (group / 2 % 4 * 2) & 3;
    // 64 elements in 32 bytes: low halves, then high ones.
    let four = |first: usize| b[first + n / 64 * 32 + n % 32] >> (n % 64 / 32 * 4) & 15;
    let (value, bits) = match kind {
        Blocks::Q2_K => (two(16), 2),
        Blocks::Q3_K => (two(32) | (b[group % 2 * 16 + within] >> (group / 2) & 1) << 2, 3),
        Blocks::Q4_K => (four(16), 4),
        Blocks::Q5_K => (four(48) | (b[16 + n % 32] >> (n / 32) & 1) << 4, 5),
        Blocks::Q6_K => {
            let (part, inner) = (group / 8, group % 8);
            let low = b[part * 64 + inner % 4 * 16 + within] >> (inner / 4 * 4) & 15;
            let high = b[128 + part * 32 + inner % 2 * 16 + within] >> (inner / 2 * 2) & 3;
            (low | high << 4, 6)
        }
        // Of two bits, 128 elements in 32 bytes.
        _ => (b[n / 128 * 32 + n % 32] >> (n % 128 / 32 * 2) & 3, 2),
    };
    Code { value: u32::from(value), bits }
}

#[cfg(test)]
mod tests {
    use super::super::quants;
    use super::*;

    /// What bits stand for, by the tables and offsets of the kinds.
    fn level(kind: Blocks, code: u32) -> f32 {
        const E2M1: [f32; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];
        const UNEVEN: [f32; 16] = [
            -127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0,
            89.0, 113.0,
        ];
        match kind {
            Blocks::Q1_0 => code as f32 * 2.0 - 1.0,
            Blocks::Q4_0 | Blocks::Q4_0Wide | Blocks::Q4_0Pairs | Blocks::Q4_2 => code as f32 - 8.0,
            Blocks::Q5_0 | Blocks::Q5_0Pairs => code as f32 - 16.0,
            Blocks::Q3_K => code as f32 - 4.0,
            Blocks::Q6_K => code as f32 - 32.0,
            Blocks::TQ2_0 => code as f32 - 1.0,
            Blocks::Q8_0 | Blocks::Q8_0Wide | Blocks::Q8_1 | Blocks::Q8_1Wide | Blocks::Q8_K => {
                f32::from(code as u8 as i8)
            }
            Blocks::IQ4_NL | Blocks::IQ4_XS => UNEVEN[code as usize],
            Blocks::MXFP4 | Blocks::NVFP4 if code >= 8 => -E2M1[code as usize - 8],
            Blocks::MXFP4 | Blocks::NVFP4 => E2M1[code as usize],
            _ => code as f32,
        }
    }

    #[test]
    fn bits_stand_for_the_levels_that_are_decoded() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let mut without = Vec::new();
        for (kind, ..) in Blocks::ALL {
            let block: Vec<u8> = (0..kind.bytes()).map(|_| next()).collect();
            let levels = quants(kind, &block);
            assert_eq!(levels.len(), kind.elements(), "{kind:?}");
            for (n, quant) in levels.iter().enumerate() {
                let Some(code) = code(kind, &block, n) else {
                    without.push(kind);
                    break;
                };
                assert!(code.value < 1 << code.bits, "{kind:?} {n}");
                assert_eq!(level(kind, code.value), quant.level, "{kind:?} {n}");
            }
            assert_eq!(code(kind, &block, kind.elements()), None);
            assert_eq!(code(kind, &block[1..], 0), None);
        }
        assert_eq!(without.len(), 8, "{without:?}");
    }
}
