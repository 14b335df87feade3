//! CCITT fax: groups 3 and 4 (ITU-T T.4 and T.6) and the run lengths of TIFF 6.0, section 10. White is zero, as the codes
//! have it; what that means says the page.

use std::sync::LazyLock;

/// Codes of white runs of 0 to 63 pixels, then of 64, 128 and so on up to 2,560 (T.4, tables 2 and 3).
const WHITE: &str = "00110101 000111 0111 1000 1011 1100 1110 1111 10011 10100 00111 01000 001000 000011 110100 110101 101010 \
     101011 0100111 0001100 0001000 0010111 0000011 0000100 0101000 0101011 0010011 0100100 0011000 00000010 \
     00000011 00011010 00011011 00010010 00010011 00010100 00010101 00010110 00010111 00101000 00101001 \
     00101010 00101011 00101100 00101101 00000100 00000101 00001010 00001011 01010010 01010011 01010100 \
     01010101 00100100 00100101 01011000 01011001 01011010 01011011 01001010 01001011 00110010 00110011 \
     00110100 11011 10010 010111 0110111 00110110 00110111 01100100 01100101 01101000 01100111 011001100 \
     011001101 011010010 011010011 011010100 011010101 011010110 011010111 011011000 011011001 011011010 \
     011011011 010011000 010011001 010011010 011000 010011011 00000001000 00000001100 00000001101 000000010010 \
     000000010011 000000010100 000000010101 000000010110 000000010111 000000011100 000000011101 000000011110 \
     000000011111";
/// Codes of black runs of the same lengths.
const BLACK: &str = "0000110111 010 11 10 011 0011 0010 00011 000101 000100 0000100 0000101 0000111 00000100 00000111 000011000 \
     0000010111 0000011000 0000001000 00001100111 00001101000 00001101100 00000110111 00000101000 00000010111 \
     00000011000 000011001010 000011001011 000011001100 000011001101 000001101000 000001101001 000001101010 \
     000001101011 000011010010 000011010011 000011010100 000011010101 000011010110 000011010111 000001101100 \
     000001101101 000011011010 000011011011 000001010100 000001010101 000001010110 000001010111 000001100100 \
     000001100101 000001010010 000001010011 000000100100 000000110111 000000111000 000000100111 000000101000 \
     000001011000 000001011001 000000101011 000000101100 000001011010 000001100110 000001100111 0000001111 \
     000011001000 000011001001 000001011011 000000110011 000000110100 000000110101 0000001101100 0000001101101 \
     0000001001010 0000001001011 0000001001100 0000001001101 0000001110010 0000001110011 0000001110100 \
     0000001110101 0000001110110 0000001110111 0000001010010 0000001010011 0000001010100 0000001010101 \
     0000001011010 0000001011011 0000001100100 0000001100101 00000001000 00000001100 00000001101 000000010010 \
     000000010011 000000010100 000000010101 000000010110 000000010111 000000011100 000000011101 000000011110 \
     000000011111";

/// Bits of the longest code.
const LONGEST: u32 = 13;

/// How rows are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Run lengths, rows beginning at whole bytes.
    Runs,
    /// Group 3: rows behind marks; some may refer to the row above.
    Group3 { two_dimensional: bool },
    /// Group 4: each row refers to the one above.
    Group4,
}

/// By the next 13 bits: the length of the code and of the run; no length where there is no code.
type Codes = Vec<(u8, u16)>;

static CODES: LazyLock<[Codes; 2]> = LazyLock::new(|| [codes(WHITE), codes(BLACK)]);

fn codes(text: &str) -> Codes {
    let mut table = vec![(0, 0); 1 << LONGEST];
    for (n, code) in text.split_ascii_whitespace().enumerate() {
        let run = if n < 64 { n } else { (n - 63) * 64 };
        let (bits, len) = (usize::from_str_radix(code, 2).unwrap_or(0), code.len() as u32);
        let unused = LONGEST.saturating_sub(len);
        let places = table.get_mut(bits << unused..(bits + 1) << unused).unwrap_or_default();
        places.fill((len as u8, run as u16));
    }
    table
}

struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// The next `n` bits, up to 24; zeros beyond the end.
    fn peek(&self, n: u32) -> u32 {
        let byte = |k: usize| self.data.get(self.at / 8 + k).copied().map_or(0, u32::from);
        let four = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
        (four << (self.at % 8)) >> (32 - n)
    }

    fn is_over(&self) -> bool {
        self.at >= self.data.len() * 8
    }

    /// A run of one colour; `None` where no code stands.
    fn run(&mut self, black: bool) -> Option<usize> {
        let codes = CODES.get(usize::from(black))?;
        let mut whole = 0;
        loop {
            let (len, run) = codes.get(self.peek(LONGEST) as usize).copied()?;
            if len == 0 || self.is_over() {
                return None;
            }
            self.at += usize::from(len);
            whole += usize::from(run);
            if run < 64 {
                return Some(whole);
            }
        }
    }

    /// Passes a mark of the end of a row with what fills up before it; whether there was one.
    fn passes_mark(&mut self) -> bool {
        let mut at = self.at;
        let end = self.data.len() * 8;
        let bit = |at: usize| self.data.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
        while at < end && bit(at) == 0 {
            at += 1;
        }
        let is_mark = at < end && at - self.at >= 11;
        if is_mark {
            self.at = at + 1;
        }
        is_mark
    }
}

/// Decodes rows of `width` pixels, a bit each, rows beginning at whole bytes; as many as there are, up to `rows`.
pub(super) fn decode(data: &[u8], scheme: Scheme, width: usize, rows: usize) -> Vec<u8> {
    let mut bits = Bits { data, at: 0 };
    let bytes = width.div_ceil(8);
    let mut out: Vec<u8> = Vec::new();
    // Where colours change, in the row above.
    let mut above: Vec<usize> = Vec::new();
    for _ in 0..rows {
        if bits.is_over() {
            break;
        }
        let mut row = Vec::new();
        let whole = match scheme {
            Scheme::Runs => {
                bits.at = bits.at.next_multiple_of(8);
                runs(&mut bits, width, &mut row)
            }
            Scheme::Group3 { two_dimensional } => {
                let mut marks = 0;
                let mut refers = false;
                while bits.passes_mark() {
                    marks += 1;
                    if two_dimensional {
                        refers = bits.peek(1) == 0;
                        bits.at += 1;
                    }
                    // Six marks end the page.
                    if marks == 6 {
                        return out;
                    }
                }
                match refers {
                    true => changes(&mut bits, &above, width, &mut row),
                    false => runs(&mut bits, width, &mut row),
                }
            }
            Scheme::Group4 => {
                if bits.peek(24) == 0x00_1001 {
                    break;
                }
                changes(&mut bits, &above, width, &mut row)
            }
        };
        // Of a damaged row the rest stays white; group 3 finds the next mark again.
        if !whole && (row.is_empty() || scheme == Scheme::Group4) && bits.is_over() {
            break;
        }
        let start = out.len();
        out.resize(start + bytes, 0);
        if let Some(line) = out.get_mut(start..) {
            paint(line, &row, width);
        }
        if !whole && scheme != (Scheme::Group3 { two_dimensional: false }) {
            break;
        }
        if !whole && !skip_to_mark(&mut bits) {
            break;
        }
        above = row;
    }
    out
}

/// Goes to the next mark of a row's end.
fn skip_to_mark(bits: &mut Bits<'_>) -> bool {
    while !bits.is_over() {
        if bits.peek(12) == 1 {
            return true;
        }
        bits.at += 1;
    }
    false
}

/// A row of runs; whether it is whole.
fn runs(bits: &mut Bits<'_>, width: usize, row: &mut Vec<usize>) -> bool {
    let (mut at, mut black) = (0, false);
    while at < width {
        let Some(run) = bits.run(black) else { return false };
        at = (at + run).min(width);
        row.push(at);
        black = !black;
    }
    true
}

/// A row of changes against the row above (T.4, 4.2); whether it is whole.
fn changes(bits: &mut Bits<'_>, above: &[usize], width: usize, row: &mut Vec<usize>) -> bool {
    let (mut at, mut black, mut seen) = (0usize, false, 0usize);
    let mut begun = false;
    while at < width {
        // The first change above that lies to the right and turns to the other colour; even ones turn to black.
        while seen > 0 && above.get(seen - 1).is_some_and(|change| *change > at) {
            seen -= 1;
        }
        while above.get(seen).is_some_and(|change| *change < at || *change == at && begun) {
            seen += 1;
        }
        if seen % 2 != usize::from(black) {
            seen += 1;
        }
        let b1 = above.get(seen).copied().unwrap_or(width);
        let next = bits.peek(7);
        let (len, shift) = match next {
            _ if next >> 6 == 1 => (1, Some(0)),
            _ if next >> 4 == 0b011 => (3, Some(1)),
            _ if next >> 4 == 0b010 => (3, Some(-1)),
            _ if next >> 4 == 0b001 => {
                bits.at += 3;
                let (Some(first), Some(second)) = (bits.run(black), bits.run(!black)) else { return false };
                at = (at + first).min(width);
                row.push(at);
                at = (at + second).min(width);
                row.push(at);
                begun = true;
                continue;
            }
            _ if next >> 3 == 0b0001 => {
                // The run goes on beyond the next two changes above.
                bits.at += 4;
                at = above.get(seen + 1).copied().unwrap_or(width);
                begun = true;
                continue;
            }
            _ if next >> 1 == 0b00_0011 => (6, Some(2)),
            _ if next >> 1 == 0b00_0010 => (6, Some(-2)),
            0b000_0011 => (7, Some(3)),
            0b000_0010 => (7, Some(-3)),
            _ => (0, None),
        };
        let Some(shift) = shift else { return false };
        if bits.is_over() {
            return false;
        }
        bits.at += len;
        let to = b1.saturating_add_signed(shift).min(width);
        if to < at {
            return false;
        }
        at = to;
        row.push(at);
        black = !black;
        begun = true;
    }
    true
}

/// Sets the bits of the black runs.
fn paint(line: &mut [u8], changes: &[usize], width: usize) {
    for pair in changes.chunks(2) {
        let (from, to) = (pair.first().copied().unwrap_or(width), pair.get(1).copied().unwrap_or(width));
        for at in from..to.min(width) {
            if let Some(byte) = line.get_mut(at / 8) {
                *byte |= 0x80 >> (at % 8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_are_complete() {
        for table in CODES.iter() {
            let runs: std::collections::BTreeSet<u16> =
                table.iter().filter(|(len, _)| *len > 0).map(|(_, run)| *run).collect();
            assert_eq!(runs.len(), 104);
        }
    }

    #[test]
    fn rows_of_runs() {
        // Three white, five black; then white alone.
        let data = [0b1000_0011, 0b1001_1000];
        assert_eq!(decode(&data, Scheme::Runs, 8, 2), [0b0001_1111, 0]);
    }

    proptest! {
        #[test]
        fn no_data_make_the_decoder_panic(
            data in prop::collection::vec(any::<u8>(), 0..300),
            width in 1usize..200,
            kind in 0usize..4,
        ) {
            let scheme = [
                Scheme::Runs,
                Scheme::Group3 { two_dimensional: false },
                Scheme::Group3 { two_dimensional: true },
                Scheme::Group4,
            ][kind];
            prop_assert!(decode(&data, scheme, width, 50).len() <= 50 * width.div_ceil(8));
        }
    }
}
