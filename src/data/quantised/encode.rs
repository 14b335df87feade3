//! Values as blocks: the kinds of 32 elements that need no more than their block to be made. The arithmetic is that of
//! gguf-py, step by step, so that the bits are the same, also of zeros, ties, infinities and NaN:
//! <https://github.com/ggml-org/llama.cpp/blob/master/gguf-py/gguf/quants.py>

use crate::data::dtype::Blocks;
use half::f16;

/// The elements of a block.
const SIDE: usize = 32;

/// Appends the block that 32 values become.
pub type Encoder = fn(&[f32; SIDE], &mut Vec<u8>);

/// What makes blocks of this kind; `None` for kinds that are only read.
pub fn encoder(kind: Blocks) -> Option<Encoder> {
    Some(match kind {
        Blocks::Q8_0 => q8_0,
        Blocks::Q4_0 => q4_0,
        Blocks::Q4_1 => q4_1,
        Blocks::Q5_0 => q5_0,
        Blocks::Q5_1 => q5_1,
        _ => return None,
    })
}

/// `1 / d`, and zero of zero.
fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// The low byte of the whole part, as C's conversions have it on x86; zero of what is no number or too large.
fn low_byte(value: f32) -> u8 {
    if value.abs() < 2_147_483_648.0 { value as i32 as u8 } else { 0 }
}

/// Appends a scale.
fn push_half(value: f32, out: &mut Vec<u8>) {
    out.extend(f16::from_f32(value).to_le_bytes());
}

/// The value that is furthest from zero, of equal ones the first; the first NaN if there is one.
fn furthest(values: &[f32; SIDE]) -> f32 {
    // The bits of floats without their signs are in the order of their sizes, infinity and NaN at the end.
    const SIGNLESS: u32 = 0x7fff_ffff;
    const INFINITE: u32 = 0x7f80_0000;
    let most = values.iter().map(|v| v.to_bits() & SIGNLESS).fold(0, u32::max);
    let is_it = |v: &&f32| match most > INFINITE {
        true => v.is_nan(),
        false => v.to_bits() & SIGNLESS == most,
    };
    values.iter().find(is_it).copied().unwrap_or(0.0)
}

/// The NaN that the largest of values is where one is NaN, whatever bits that one has: those that NumPy gives it depend
/// on the machine and on the place in the block.
const NAN: f32 = f32::from_bits(0x7fc0_0000);

/// The least and the largest value; NaN where one is NaN.
fn extremes(values: &[f32; SIDE]) -> (f32, f32) {
    if values.iter().any(|v| v.is_nan()) {
        return (NAN, NAN);
    }
    let least = values.iter().copied().fold(f32::INFINITY, |a, b| if b < a { b } else { a });
    let most = values.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    (least, most)
}

/// Two elements a byte, the first half of the block in the low bits.
fn push_nibbles(levels: &[u8; SIDE], out: &mut Vec<u8>) {
    let (low, high) = levels.split_at(SIDE / 2);
    out.extend(low.iter().zip(high).map(|(low, high)| (low & 0x0f) | (high << 4)));
}

/// The fifth bits, then the other four.
fn push_fives(levels: &[u8; SIDE], out: &mut Vec<u8>) {
    let fifth = levels.iter().enumerate().fold(0u32, |all, (n, level)| all | u32::from(level >> 4 & 1) << n);
    out.extend(fifth.to_le_bytes());
    push_nibbles(levels, out);
}

fn q8_0(values: &[f32; SIDE], out: &mut Vec<u8>) {
    /// Sums with it are whole numbers.
    const WHOLE: f32 = 8_388_608.0;
    let most = furthest(values).abs();
    let most = if most.is_nan() { NAN } else { most };
    let d = most / 127.0;
    let id = inverse(d);
    push_half(d, out);
    if !(id.is_finite() && most.is_finite()) {
        // Products are infinite or no numbers, or zero.
        return out.extend(values.iter().map(|v| low_byte((v * id).round())));
    }
    // Ties go away from zero. Products are at most a little over 127.
    out.extend(values.iter().map(|v| {
        let n = v * id;
        let size = n.abs();
        let even = (size + WHOLE) - WHOLE;
        let whole = if size - even == 0.5 { even + 1.0 } else { even };
        (if n < 0.0 { -whole } else { whole }) as i32 as u8
    }));
}

/// Levels around a middle, of which the value that is furthest from zero is the lowest.
fn around(values: &[f32; SIDE], middle: f32, out: &mut Vec<u8>) -> [u8; SIDE] {
    let d = furthest(values) / -middle;
    let id = inverse(d);
    push_half(d, out);
    let (middle, most) = (middle + 0.5, (2.0 * middle) as u8 - 1);
    values.map(|v| low_byte(v * id + middle).min(most))
}

fn q4_0(values: &[f32; SIDE], out: &mut Vec<u8>) {
    let levels = around(values, 8.0, out);
    push_nibbles(&levels, out);
}

fn q5_0(values: &[f32; SIDE], out: &mut Vec<u8>) {
    let levels = around(values, 16.0, out);
    push_fives(&levels, out);
}

/// Levels from the least value to the largest.
fn between(values: &[f32; SIDE], most: u8, out: &mut Vec<u8>) -> [u8; SIDE] {
    let (least, largest) = extremes(values);
    let span = match least == largest && least.is_infinite() {
        // The NaN that x86 makes of it.
        true => f32::from_bits(0xffc0_0000),
        false => largest - least,
    };
    let d = span / f32::from(most);
    let id = inverse(d);
    push_half(d, out);
    push_half(least, out);
    values.map(|v| low_byte((v - least) * id + 0.5).min(most))
}

fn q4_1(values: &[f32; SIDE], out: &mut Vec<u8>) {
    let levels = between(values, 15, out);
    push_nibbles(&levels, out);
}

fn q5_1(values: &[f32; SIDE], out: &mut Vec<u8>) {
    let levels = between(values, 31, out);
    push_fives(&levels, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(kind: Blocks, values: [f32; SIDE]) -> Vec<u8> {
        let mut out = Vec::new();
        encoder(kind).unwrap()(&values, &mut out);
        assert_eq!(out.len(), kind.bytes());
        out
    }

    #[test]
    fn values_that_blocks_have_are_kept() {
        for kind in [Blocks::Q8_0, Blocks::Q4_0, Blocks::Q4_1, Blocks::Q5_0, Blocks::Q5_1] {
            let least = match kind {
                Blocks::Q8_0 => -127.0,
                Blocks::Q4_0 => -8.0,
                Blocks::Q5_0 => -16.0,
                _ => 0.0,
            };
            let count = if matches!(kind, Blocks::Q4_0 | Blocks::Q4_1) { 16 } else { 32 };
            let values: [f32; SIDE] = std::array::from_fn(|n| least + (n % count) as f32);
            let mut back = vec![0; SIDE * 4];
            crate::data::quantised::decode(kind, &made(kind, values), &mut back);
            let back: Vec<f32> = back.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            assert_eq!(back, values, "{}", kind.name());
        }
    }

    #[test]
    fn zeros_ties_and_what_is_no_number() {
        assert!(made(Blocks::Q8_0, [0.0; SIDE]).iter().all(|b| *b == 0));
        // The middle of four bits is eight.
        assert_eq!(made(Blocks::Q4_0, [0.0; SIDE])[2..], [0x88; 16]);
        let mut ties = [0.5f32; SIDE];
        (ties[0], ties[1], ties[2]) = (127.0, -0.5, 1.5);
        assert_eq!(made(Blocks::Q8_0, ties)[2..6], [127, 255, 2, 1]);
        let nan = made(Blocks::Q8_0, [f32::NAN; SIDE]);
        assert!(f16::from_le_bytes([nan[0], nan[1]]).is_nan() && nan[2..].iter().all(|b| *b == 0));
        let mut infinite = [1.0; SIDE];
        infinite[3] = f32::INFINITY;
        assert_eq!(made(Blocks::Q8_0, infinite)[..2], f16::INFINITY.to_le_bytes());
    }
}
