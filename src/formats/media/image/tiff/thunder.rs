//! ThunderScan's compression of greys of 4 bits: runs, differences to the pixel before, and pixels as they are. Each byte
//! says in its upper two bits which of these it holds. (It is described in the header of libtiff's codec alone.)

/// Differences of two bits; the third is none.
const SMALL: [Option<u8>; 4] = [Some(0), Some(1), None, Some(15)];
/// Differences of three bits; the fifth is none.
const LARGE: [Option<u8>; 8] = [Some(0), Some(1), Some(2), Some(3), None, Some(13), Some(14), Some(15)];

/// Rows of pixels of 4 bits, each from a whole byte on. What is not there stays zero.
pub(super) fn decode(stored: &[u8], width: usize, rows: usize) -> Vec<u8> {
    let row = width.div_ceil(2);
    let mut out = vec![0; row.saturating_mul(rows)];
    let mut codes = stored.iter();
    for line in out.chunks_exact_mut(row.max(1)) {
        let (mut at, mut last) = (0, 0u8);
        let mut put = |value: u8, times: usize, at: &mut usize| {
            for n in *at..(*at + times).min(width) {
                if let Some(place) = line.get_mut(n / 2) {
                    *place |= if n % 2 == 0 { value << 4 } else { value };
                }
            }
            *at += times;
        };
        while at < width {
            let Some(code) = codes.next() else { return out };
            let bits = usize::from(*code);
            match code >> 6 {
                0 => put(last, bits & 0x3f, &mut at),
                1 => {
                    for shift in [4, 2, 0] {
                        if let Some(Some(step)) = SMALL.get(bits >> shift & 3) {
                            last = (last + step) & 15;
                            put(last, 1, &mut at);
                        }
                    }
                }
                2 => {
                    for shift in [3, 0] {
                        if let Some(Some(step)) = LARGE.get(bits >> shift & 7) {
                            last = (last + step) & 15;
                            put(last, 1, &mut at);
                        }
                    }
                }
                _ => {
                    last = code & 15;
                    put(last, 1, &mut at);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_differences_and_pixels() {
        // 9; two more of it; +1 and −1; +3 and −2.
        let codes = [0b11_001001, 0b00_000010, 0b01_01_10_11, 0b10_011_110];
        assert_eq!(decode(&codes, 7, 1), [0x99, 0x9a, 0x9c, 0xa0]);
        // The next row begins with zero; what lacks is zero.
        assert_eq!(decode(&[0b11_000101, 0b00_000001, 0b00_000001], 2, 2), [0x55, 0]);
    }
}
