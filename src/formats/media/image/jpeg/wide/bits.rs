//! Huffman tables and the bits of scans (T.81, annexes C and F).

/// A Huffman table, by the lengths of its codes (T.81, annex F.2.2.3).
#[derive(Clone, Default)]
pub(super) struct Huffman {
    /// The largest code of each length, shifted to 16 bits, and where its values begin less its first code.
    limits: Vec<(u32, i32)>,
    values: Vec<u8>,
}

impl Huffman {
    pub(super) fn of(counts: &[u8], values: &[u8]) -> Self {
        let (mut code, mut first) = (0u32, 0i32);
        let mut limits = Vec::with_capacity(16);
        for (n, count) in counts.iter().enumerate() {
            let offset = first - code as i32;
            code += u32::from(*count);
            first += i32::from(*count);
            limits.push((code << (15 - n.min(15)), offset));
            code <<= 1;
        }
        Huffman { limits, values: values.to_vec() }
    }
}

/// Bits of a scan, without the stuffed zeros.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    pub(super) at: usize,
    held: u64,
    count: u32,
    /// Bits beyond the end that were read as zeros.
    beyond: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8], at: usize) -> Self {
        Bits { data, at, held: 0, count: 0, beyond: 0 }
    }

    fn fill(&mut self) {
        while self.count <= 48 {
            let byte = match (self.data.get(self.at), self.data.get(self.at + 1)) {
                (Some(0xff), Some(0)) => {
                    self.at += 2;
                    0xff
                }
                // A marker: nothing of this interval follows.
                (Some(0xff), _) | (None, _) => {
                    self.beyond += 8;
                    0
                }
                (Some(byte), _) => {
                    self.at += 1;
                    *byte
                }
            };
            self.held = self.held << 8 | u64::from(byte);
            self.count += 8;
        }
    }

    fn peek16(&mut self) -> u32 {
        if self.count < 16 {
            self.fill();
        }
        (self.held >> (self.count - 16)) as u32 & 0xffff
    }

    pub(super) fn bits(&mut self, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        let value = self.peek16() >> (16 - n);
        self.count -= n;
        value
    }

    pub(super) fn is_over(&self) -> bool {
        self.beyond > self.count + 64
    }

    pub(super) fn code(&mut self, table: &Huffman) -> Option<u8> {
        let code = self.peek16();
        for (n, (limit, offset)) in table.limits.iter().enumerate() {
            if code < *limit {
                self.count -= n as u32 + 1;
                let index = (code >> (15 - n)) as i32 + offset;
                return table.values.get(usize::try_from(index).ok()?).copied();
            }
        }
        None
    }

    /// A number of `n` bits whose highest tells the sign (T.81, F.2.2.1).
    pub(super) fn signed(&mut self, n: u32) -> i32 {
        if n == 0 {
            return 0;
        }
        let value = self.bits(n) as i32;
        if value < 1 << (n - 1) { value - (1 << n) + 1 } else { value }
    }

    /// Goes to behind the next restart marker.
    pub(super) fn restart(&mut self) {
        (self.held, self.count, self.beyond) = (0, 0, 0);
        while let Some([a, b]) = self.data.get(self.at..self.at + 2).and_then(|pair| pair.first_chunk::<2>())
        {
            if *a == 0xff && (0xd0..=0xd7).contains(b) {
                self.at += 2;
                return;
            }
            // Another marker ends the scan.
            if *a == 0xff && !matches!(b, 0 | 0xff) {
                return;
            }
            self.at += 1;
        }
    }
}
