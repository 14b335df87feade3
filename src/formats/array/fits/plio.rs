//! PLIO_1: lists of lines of IRAF's pixel masks, 16-bit words of an operation and its number.
//! <https://fits.gsfc.nasa.gov/registry/tilecompression.html>.

use crate::bytes::error::{Error, Result};

/// Decodes `count` pixels from big-endian words.
pub(super) fn decode(input: &[u8], count: usize) -> Result<Vec<i32>> {
    let words: Vec<i32> =
        input.as_chunks::<2>().0.iter().map(|b| i32::from(i16::from_be_bytes(*b))).collect();
    let word =
        |n: usize| words.get(n).copied().ok_or_else(|| Error::malformed("PLIO data: its head is cut off"));
    // Two forms of the head: with a length of one word, or of two.
    let (length, first) = match word(2)? {
        length if length > 0 => (length as usize, 3),
        _ => ((word(4)? as usize) << 15 | word(3)? as usize & 0x7fff, word(1)? as usize),
    };
    let list = words.get(first..length.min(words.len()).max(first.min(words.len())));
    let list = list.ok_or_else(|| Error::malformed("PLIO data: its list lies outside of it"))?;
    let mut out: Vec<i32> = Vec::with_capacity(count);
    let mut value = 1i32;
    let mut skip = false;
    for (n, &word) in list.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        let (operation, number) = (word >> 12 & 15, word & 0xfff);
        let room = count.saturating_sub(out.len());
        let run = (number as usize).min(room);
        match operation {
            // So many zeros; so many of the value; zeros with the value at their end.
            0 => out.extend(std::iter::repeat_n(0, run)),
            4 => out.extend(std::iter::repeat_n(value, run)),
            5 => {
                out.extend(std::iter::repeat_n(0, run));
                if let Some(last) = out.last_mut().filter(|_| run == number as usize && run > 0) {
                    *last = value;
                }
            }
            1 => {
                value = list.get(n + 1).copied().unwrap_or(0) << 12 | number;
                skip = true;
            }
            2 => value = value.wrapping_add(number),
            3 => value = value.wrapping_sub(number),
            6 | 7 => {
                value = if operation == 6 { value.wrapping_add(number) } else { value.wrapping_sub(number) };
                if room > 0 {
                    out.push(value);
                }
            }
            other => return Err(Error::malformed(format!("PLIO data: {other} is no operation"))),
        }
        if out.len() >= count {
            break;
        }
    }
    out.resize(count, 0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation() {
        let words: [u16; 10] = [0, 0, 10, 3, 0x1005, 0x0001, 0x4002, 0x6001, 0x5003, 0x7002];
        // The head says three words of head; set the value to 4101, two of it, one more, zeros and the value.
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
        assert_eq!(decode(&bytes, 10).unwrap(), [0, 0, 0, 4101, 4101, 4102, 0, 0, 4102, 4100]);
        assert!(decode(&bytes[..4], 10).is_err());
    }
}
