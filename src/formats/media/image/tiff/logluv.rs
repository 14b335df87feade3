//! SGI's LogLuv: luminance on a logarithmic scale and colour as CIE (u\', v\'), as floats. <http://www.anyhere.com/gward/pixformat/tiffluv.html>
//!
//! Luminance alone gives one channel; with colour it gives linear RGB of the primaries of Rec. 709. Colour takes 16 bits of
//! each pixel in runs, or 14 bits beside 10 of luminance in three bytes.

mod cells;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

/// Steps of colour in one unit of u\' and v\'.
const UV_SCALE: f64 = 410.0;
/// CIE (u\', v\') of neutral colours.
const NEUTRAL: (f64, f64) = (0.210_526_316, 0.473_684_211);

/// The samples of a chunk.
pub(super) fn decode(stored: &[u8], packed: bool, channels: u64, width: u64, rows: u64) -> Result<Vec<u8>> {
    let bytes = limits::bytes(&[width, rows, channels], 4)?;
    let mut out = limits::buffer(bytes, "a strip or tile")?;
    // Luminance alone is coded in runs under either name.
    if packed && channels == 3 {
        return three_bytes(stored, out);
    }
    let (width, channels) = (width as usize, channels as usize);
    // Bytes of equal weight lie together, row by row, the highest first.
    let weights = if channels == 1 { 2 } else { 4 };
    let mut rest = stored;
    let mut row = vec![0u32; width];
    for line in out.chunks_exact_mut((width * channels * 4).max(1)) {
        row.fill(0);
        for weight in (0..weights).rev() {
            rest = runs(rest, &mut row, weight * 8)?;
        }
        for (value, place) in row.iter().zip(line.chunks_exact_mut(channels * 4)) {
            let colours = if channels == 1 { [luminance(*value), 0.0, 0.0] } else { colour(*value) };
            for (colour, place) in colours.iter().zip(place.as_chunks_mut::<4>().0) {
                *place = (*colour as f32).to_le_bytes();
            }
        }
    }
    Ok(out)
}

/// Pixels of 10 bits of luminance and 14 of colour, the highest first.
fn three_bytes(stored: &[u8], mut out: Vec<u8>) -> Result<Vec<u8>> {
    let places = out.as_chunks_mut::<12>().0;
    let pixels = stored.as_chunks::<3>().0;
    if pixels.len() < places.len() {
        return Err(ends());
    }
    for ([high, middle, low], place) in pixels.iter().zip(places) {
        let code = u32::from_be_bytes([0, *high, *middle, *low]);
        let (level, cell) = (code >> 14, code & 0x3fff);
        let y = if level == 0 { 0.0 } else { ((f64::from(level) + 0.5) / 64.0 - 12.0).exp2() };
        let colours = rgb(y, cells::middle(cell).unwrap_or(NEUTRAL));
        for (colour, place) in colours.iter().zip(place.as_chunks_mut::<4>().0) {
            *place = (*colour as f32).to_le_bytes();
        }
    }
    Ok(out)
}

fn ends() -> Error {
    Error::malformed("TIFF: LogLuv data end early; the file may be cut off")
}

/// Adds the bytes of one weight; what follows them.
fn runs<'a>(mut rest: &'a [u8], row: &mut [u32], shift: u32) -> Result<&'a [u8]> {
    let mut at = 0;
    while at < row.len() {
        let (&count, after) = rest.split_first().ok_or_else(ends)?;
        let (bytes, same): (&[u8], usize) = match count {
            128.. => (after.get(..1).ok_or_else(ends)?, usize::from(count) + 2 - 128),
            _ => (after.get(..usize::from(count)).ok_or_else(ends)?, 1),
        };
        for byte in bytes {
            let places = row.iter_mut().skip(at).take(same);
            places.for_each(|value| *value |= u32::from(*byte) << shift);
            at += same;
        }
        rest = after.get(bytes.len()..).unwrap_or_default();
    }
    Ok(rest)
}

/// A luminance of 16 bits, the highest of them its sign.
fn luminance(value: u32) -> f64 {
    let code = value & 0x7fff;
    if code == 0 {
        return 0.0;
    }
    let size = ((f64::from(code) + 0.5) / 256.0 - 64.0).exp2();
    if value & 0x8000 == 0 { size } else { -size }
}

fn colour(value: u32) -> [f64; 3] {
    let part = |bits: u32| (f64::from(bits & 0xff) + 0.5) / UV_SCALE;
    rgb(luminance(value >> 16), (part(value >> 8), part(value)))
}

/// The linear colours of a luminance at (u\', v\').
fn rgb(y: f64, (u, v): (f64, f64)) -> [f64; 3] {
    if y <= 0.0 {
        return [0.0; 3];
    }
    let scale = 1.0 / (6.0 * u - 16.0 * v + 12.0);
    let (x, small_y) = (9.0 * u * scale, 4.0 * v * scale);
    let (cie_x, cie_z) = (x / small_y * y, (1.0 - x - small_y) / small_y * y);
    // From CIE XYZ to the primaries of Rec. 709 with an even white, as libtiff has it.
    [
        2.690 * cie_x - 1.276 * y - 0.414 * cie_z,
        -1.022 * cie_x + 1.978 * y + 0.044 * cie_z,
        0.061 * cie_x - 0.224 * y + 1.163 * cie_z,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luminance_is_logarithmic() {
        assert_eq!(luminance(0), 0.0);
        // 2^0 lies at 64 × 256.
        assert!((luminance(64 << 8) - 1.0).abs() < 0.002);
        assert!((luminance(0x8000 | 66 << 8) + 4.0).abs() < 0.01);
    }

    #[test]
    fn neutral_colours_are_grey() {
        let (u, v) = ((NEUTRAL.0 * UV_SCALE) as u32, (NEUTRAL.1 * UV_SCALE) as u32);
        let [r, g, b] = colour((64 << 8) << 16 | u << 8 | v);
        assert!((r - 1.0).abs() < 0.03 && (g - 1.0).abs() < 0.03 && (b - 1.0).abs() < 0.03, "{r} {g} {b}");
    }

    #[test]
    fn three_bytes_have_ten_bits_of_luminance() {
        let floats = |out: Vec<u8>| -> Vec<f32> {
            out.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        };
        // Black, a code beyond the cells, and the 9,000th cell at the luminance 2^(0.5 / 64).
        let codes = [9000u32, 768 << 14 | 16_300, 768 << 14 | 9000];
        let stored: Vec<u8> = codes.iter().flat_map(|code| code.to_be_bytes()[1..].to_vec()).collect();
        let seen = floats(decode(&stored, true, 3, 3, 1).unwrap());
        assert_eq!(seen[..3], [0.0; 3]);
        assert!(seen[3..6].iter().all(|colour| (colour - 1.0).abs() < 0.02), "{seen:?}");
        // CIE XYZ of the last, as libtiff gives it.
        let (x, y, z) = (2.565770, 1.005430, 1.654738);
        let wanted = [
            2.690 * x - 1.276 * y - 0.414 * z,
            -1.022 * x + 1.978 * y + 0.044 * z,
            0.061 * x - 0.224 * y + 1.163 * z,
        ];
        for (colour, wanted) in seen[6..].iter().zip(wanted) {
            assert!((f64::from(*colour) - wanted).abs() < 1e-4, "{seen:?} {wanted}");
        }
        assert!(decode(&stored[..8], true, 3, 3, 1).is_err());
    }

    #[test]
    fn runs_and_literals() {
        let mut row = [0; 5];
        let rest = runs(&[129, 7, 2, 1, 2, 9], &mut row, 8).unwrap();
        assert_eq!((row, rest), ([7 << 8, 7 << 8, 7 << 8, 1 << 8, 2 << 8], &[9][..]));
        assert!(runs(&[129], &mut row, 0).is_err());
    }
}
