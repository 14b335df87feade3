//! TIFF's LZW: codes of 9 to 12 bits, highest bit first, whose width grows one code early; and the way of
//! old writers, lowest bit first, without that.

/// The clear code and the end code.
const CLEAR: usize = 256;
const END: usize = 257;

/// Decodes up to `most` bytes; what there is where the data are broken or end early.
pub(super) fn decode(data: &[u8], most: usize) -> Vec<u8> {
    // Old streams begin with a clear code whose low bits come first.
    let old = data.first() == Some(&0) && data.get(1).is_some_and(|b| b & 1 == 1);
    let mut bits = Bits { data, at: 0, old };
    let early = usize::from(!old);
    let mut out: Vec<u8> = Vec::new();
    // Each entry is a stretch of the output: where it starts and how long it is.
    let mut table: Vec<(usize, usize)> = Vec::with_capacity(4096);
    let mut width = 9;
    let mut before: Option<(usize, usize)> = None;
    while out.len() < most {
        let Some(code) = bits.next(width) else { break };
        match code {
            CLEAR => {
                table.clear();
                width = 9;
                before = None;
                continue;
            }
            END => break,
            _ => {}
        }
        let start = out.len();
        if code < 256 {
            out.push(code as u8);
        } else {
            // A code that is just being made is the one before with its own first byte behind it.
            let stretch = match (table.get(code - 258), before) {
                (Some(&stretch), _) => stretch,
                (None, Some((from, len))) if code - 258 == table.len() => (from, len + 1),
                _ => break,
            };
            for n in stretch.0..stretch.0 + stretch.1 {
                let Some(&byte) = out.get(n) else { break };
                out.push(byte);
            }
        }
        if let Some((from, len)) = before
            && table.len() < 4096 - 258
        {
            table.push((from, len + 1));
        }
        before = Some((start, out.len() - start));
        width = match table.len() + 258 + early {
            0..=511 => 9,
            512..=1023 => 10,
            1024..=2047 => 11,
            _ => 12,
        };
    }
    out.truncate(most);
    out
}

struct Bits<'a> {
    data: &'a [u8],
    /// In bits.
    at: usize,
    old: bool,
}

impl Bits<'_> {
    fn next(&mut self, width: usize) -> Option<usize> {
        let (byte, shift) = (self.at / 8, self.at % 8);
        if self.at + width > self.data.len() * 8 {
            return None;
        }
        self.at += width;
        let get = |n: usize| self.data.get(byte + n).copied().map_or(0, usize::from);
        let mask = (1 << width) - 1;
        Some(match self.old {
            true => (get(0) | get(1) << 8 | get(2) << 16) >> shift & mask,
            false => (get(0) << 16 | get(1) << 8 | get(2)) >> (24 - shift - width) & mask,
        })
    }
}
