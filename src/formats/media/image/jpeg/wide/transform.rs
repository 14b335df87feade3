//! From coefficients to samples, and from fewer samples to all: in whole numbers, with the rounding of libjpeg.

use super::Component;

/// Twice as many samples across, each nearer to its own than to its neighbour's by three to one (libjpeg's
/// `h2v1_fancy_upsample`).
pub(super) fn wider(row: &[u16]) -> Vec<u16> {
    let at = |n: usize| u32::from(row.get(n).copied().unwrap_or(0));
    let last = row.len().saturating_sub(1);
    let mut out = Vec::with_capacity(row.len() * 2);
    for n in 0..row.len() {
        let own = at(n) * 3;
        out.push(if n == 0 { at(0) as u16 } else { ((own + at(n - 1) + 1) >> 2) as u16 });
        out.push(if n == last { at(n) as u16 } else { ((own + at(n + 1) + 2) >> 2) as u16 });
    }
    out
}

/// The same across and down (`h2v2_fancy_upsample`): from a row and the one that lies nearer.
pub(super) fn both(own: &[u16], near: &[u16]) -> Vec<u16> {
    let sum = |n: usize| {
        let at = |row: &[u16]| u32::from(row.get(n).copied().unwrap_or(0));
        at(own) * 3 + at(near)
    };
    let last = own.len().saturating_sub(1);
    let mut out = Vec::with_capacity(own.len() * 2);
    for n in 0..own.len() {
        let this = sum(n);
        out.push(if n == 0 {
            ((this * 4 + 8) >> 4) as u16
        } else {
            ((this * 3 + sum(n - 1) + 8) >> 4) as u16
        });
        out.push(if n == last {
            ((this * 4 + 7) >> 4) as u16
        } else {
            ((this * 3 + sum(n + 1) + 7) >> 4) as u16
        });
    }
    out
}

/// The inverse transform of a block (T.81, A.3.3), put where it lies: in whole numbers with the rounding of libjpeg's
/// `jpeg_idct_islow`.
pub(super) fn put(component: &mut Component, bx: usize, by: usize, block: &[i32; 64], precision: u32) {
    // Bits that the first pass keeps, of which there is room for fewer where samples have more.
    let kept = if precision > 8 { 1 } else { 2 };
    let mut work = [0i32; 64];
    for x in 0..8 {
        let column: [i32; 8] = std::array::from_fn(|y| block.get(y * 8 + x).copied().unwrap_or(0));
        for (y, value) in transformed(column, 13 - kept).into_iter().enumerate() {
            if let Some(place) = work.get_mut(y * 8 + x) {
                *place = value;
            }
        }
    }
    let (middle, most) = (1i32 << (precision - 1), (1i32 << precision) - 1);
    for (y, row) in work.as_chunks::<8>().0.iter().enumerate() {
        let start = (by * 8 + y) * component.wide + bx * 8;
        let Some(places) = component.samples.get_mut(start..start + 8) else { continue };
        for (place, value) in places.iter_mut().zip(transformed(*row, 13 + kept + 3)) {
            *place = value.saturating_add(middle).clamp(0, most) as u16;
        }
    }
}

/// One dimension of the transform: constants are scaled by 2^13, results are shifted back by `shift` with rounding.
fn transformed(input: [i32; 8], shift: u32) -> [i32; 8] {
    let [i0, i1, i2, i3, i4, i5, i6, i7] = input.map(i64::from);
    let z1 = (i2 + i6) * 4_433;
    let (tmp2, tmp3) = (z1 - i6 * 15_137, z1 + i2 * 6_270);
    let (tmp0, tmp1) = ((i0 + i4) << 13, (i0 - i4) << 13);
    let (even0, even3) = (tmp0 + tmp3, tmp0 - tmp3);
    let (even1, even2) = (tmp1 + tmp2, tmp1 - tmp2);
    let z5 = (i7 + i3 + i5 + i1) * 9_633;
    let (z1, z2) = ((i7 + i1) * -7_373, (i5 + i3) * -20_995);
    let (z3, z4) = ((i7 + i3) * -16_069 + z5, (i5 + i1) * -3_196 + z5);
    let odd0 = i7 * 2_446 + z1 + z3;
    let odd1 = i5 * 16_819 + z2 + z4;
    let odd2 = i3 * 25_172 + z2 + z3;
    let odd3 = i1 * 12_299 + z1 + z4;
    let half = 1i64 << (shift - 1);
    let back = |value: i64| ((value + half) >> shift) as i32;
    [
        back(even0 + odd3),
        back(even1 + odd2),
        back(even2 + odd1),
        back(even3 + odd0),
        back(even3 - odd0),
        back(even2 - odd1),
        back(even1 - odd2),
        back(even0 - odd3),
    ]
}
