//! Hostile values where bytes look like a size, a count, an offset or a written number.

use crate::fixtures::Random;

/// Values on which arithmetic and allocations break.
const HOSTILE: [u64; 18] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 53) + 1,
    (1 << 60) + 7,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

/// A value on which arithmetic and allocations break, or one near the length.
pub(super) fn hostile(len: usize, random: &mut Random) -> u64 {
    match random.below(4) {
        0 => (len as u64)
            .wrapping_mul(random.below(3) as u64)
            .wrapping_add(random.below(9) as u64)
            .wrapping_sub(4),
        _ => HOSTILE[random.below(HOSTILE.len())],
    }
}

/// Whether bytes are mostly text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    let printable = head.iter().filter(|b| matches!(b, 0x20..=0x7e | b'\n' | b'\r' | b'\t' | 0x80..)).count();
    !head.is_empty() && printable * 20 > head.len() * 19
}

/// Changes one thing within bytes that have no inner layer.
pub(super) fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    match is_text(bytes) {
        true if random.below(4) > 0 => number(bytes, random),
        false if random.below(4) > 0 => word(bytes, random),
        _ => super::damage(bytes, random),
    }
}

/// Replaces a written number, or repeats what stands around one.
pub(super) fn number(bytes: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(bytes.len());
    let place = |from: usize| bytes[from..].iter().position(u8::is_ascii_digit).map(|at| from + at);
    let Some(at) = place(start).or_else(|| place(0)) else { return super::damage(bytes, random) };
    let first = bytes[..at].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |n| at + n);
    let long = "9".repeat([20, 40, 400][random.below(3)]);
    let new = match random.below(8) {
        0 => format!("-{}", hostile(bytes.len(), random)),
        1 => "1e308".to_owned(),
        2 => long,
        3 => String::new(),
        4 => "0".to_owned(),
        _ => hostile(bytes.len(), random).to_string(),
    };
    bytes.splice(first..end, new.into_bytes());
}

/// Replaces a word that looks like a size, a count or an offset: one that is not far beyond the length.
pub(super) fn word(bytes: &mut [u8], random: &mut Random) {
    let (len, width) = (bytes.len(), [2, 4, 4, 8][random.below(4)]);
    if len < width {
        return bytes.fill(0xff);
    }
    let big = random.below(2) == 0;
    let read = |at: usize| {
        let part = &bytes[at..at + width];
        let digits = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if big { part.iter().fold(0, digits) } else { part.iter().rev().fold(0, digits) }
    };
    let looks = |value: u64| value > 0 && value <= 2 * len as u64;
    // Headers are small and full of them; data is long and has some by chance.
    let reach = if random.below(2) == 0 { len.min(1024) } else { len };
    let first = random.below(reach);
    let found = (first..len - width + 1).chain(0..first.min(len - width + 1)).find(|&at| looks(read(at)));
    let at = found.unwrap_or(first.min(len - width));
    let value = hostile(len, random).to_le_bytes();
    let slots = bytes[at..at + width].iter_mut();
    match big {
        true => slots.rev().zip(value).for_each(|(slot, byte)| *slot = byte),
        false => slots.zip(value).for_each(|(slot, byte)| *slot = byte),
    }
}
