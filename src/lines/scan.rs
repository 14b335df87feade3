//! The scanner: counts record ends at the speed of memory, 64 bytes at a time.
//!
//! A quote opens a quoted field only where a field begins (RFC 4180, <https://www.rfc-editor.org/rfc/rfc4180>);
//! elsewhere it is text. So two scans that start with different beliefs — inside or outside quotes —
//! soon agree, which is what makes the parallel index cheap: a block without quotes is counted for
//! both beliefs by its bit masks alone.

/// What ends a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The byte that ends a line: `\n`, or `\r` for files of old Macs.
    pub end: u8,
    /// The quote, if there is one: line ends inside quotes end nothing.
    pub quote: Option<u8>,
    /// The delimiter before a quote that opens; without quotes of no meaning.
    pub delimiter: u8,
    /// Whether an empty line is a record (a line of text) or nothing (a table).
    pub blanks: bool,
    /// Whether a line of nothing but spaces and tabs is empty too.
    pub spaces: bool,
}

impl Rules {
    /// Lines of plain text.
    pub fn text(end: u8) -> Self {
        Rules { end, quote: None, delimiter: 0, blanks: true, spaces: false }
    }
}

/// Where the scanner is with respect to quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Outside of quotes.
    Out,
    /// Inside of quotes.
    In,
    /// The last byte was a quote inside of quotes: the next one decides whether it closed them.
    Closing,
}

/// The two bytes before a place, newest last: what a quote or a line end there means.
pub type Before = [u8; 2];

/// A scan in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Where it is with respect to quotes.
    pub state: State,
    /// Records that ended so far.
    pub ended: u64,
    /// The last two bytes.
    pub before: Before,
    /// Whether the line so far holds more than spaces; kept only where the rules ask for it.
    pub filled: bool,
}

impl Scan {
    /// A scan at the beginning of a record.
    pub fn start(rules: &Rules) -> Self {
        Scan { state: State::Out, ended: 0, before: [rules.end; 2], filled: false }
    }

    /// Goes over `bytes`.
    pub fn feed(&mut self, rules: &Rules, bytes: &[u8]) {
        let mut pair = Pair { out: *self, within: *self };
        pair.feed(rules, bytes);
        *self = pair.out;
    }

    /// Goes on until `ended` reaches `target`; returns the offset just after that record's end, or
    /// `None` if `bytes` end before.
    pub fn find(&mut self, rules: &Rules, bytes: &[u8], target: u64) -> Option<usize> {
        let mut at = 0;
        for block in bytes.chunks(64) {
            let before = *self;
            self.feed(rules, block);
            if self.ended >= target {
                *self = before;
                for (i, &byte) in block.iter().enumerate() {
                    self.step(rules, byte);
                    if self.ended >= target {
                        return Some(at + i + 1);
                    }
                }
            }
            at += block.len();
        }
        None
    }

    /// Goes over one byte: the definition that the block code must agree with.
    pub fn step(&mut self, rules: &Rules, byte: u8) {
        let is_quote = Some(byte) == rules.quote;
        if self.state == State::Closing {
            self.state = if is_quote { State::In } else { State::Out };
        } else if is_quote {
            self.state = match self.state {
                State::In => State::Closing,
                _ if opens(rules, self.before[1]) => State::In,
                other => other,
            };
        }
        if self.state == State::Out && byte == rules.end && (rules.blanks || !self.blank(rules)) {
            self.ended += 1;
        }
        if rules.spaces {
            self.filled = byte != rules.end && (self.filled || !is_space(byte));
        }
        self.before = [self.before[1], byte];
    }

    /// Whether a line that ended here would be blank.
    fn blank(&self, rules: &Rules) -> bool {
        if rules.spaces {
            return !self.filled;
        }
        self.before[1] == rules.end || self.before == [rules.end, b'\r']
    }

    /// Whether the record that is open at the end of the file counts as one.
    pub fn open_record(&self, rules: &Rules) -> bool {
        let open = if rules.spaces && !rules.blanks { self.filled } else { self.before[1] != rules.end };
        open || self.state == State::In
    }
}

/// Whether a byte may stand in a line that counts as empty.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn opens(rules: &Rules, before: u8) -> bool {
    before == rules.delimiter || before == rules.end
}

/// Two scans over the same bytes that began with different beliefs: outside and inside of quotes.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Began outside of quotes.
    pub out: Scan,
    /// Began inside of quotes.
    pub within: Scan,
}

impl Pair {
    /// Both beliefs after the bytes `before`; where spaces matter, the last one is no space.
    pub fn after(rules: &Rules, before: Before) -> Self {
        let filled = rules.spaces && before[1] != rules.end;
        Pair {
            out: Scan { state: State::Out, ended: 0, before, filled },
            within: Scan { state: State::In, ended: 0, before, filled },
        }
    }

    /// Goes over `bytes` with both.
    pub fn feed(&mut self, rules: &Rules, bytes: &[u8]) {
        if rules.spaces {
            for &byte in bytes {
                self.out.step(rules, byte);
                self.within.step(rules, byte);
            }
            return;
        }
        let quote = rules.quote.unwrap_or(rules.end);
        let (blocks, rest) = bytes.as_chunks::<64>();
        let mut before = self.out.before;
        for block in blocks {
            let (ends, quotes, returns) = masks(block, rules.end, quote, !rules.blanks);
            let quotes = if rules.quote.is_some() { quotes } else { 0 };
            let counted =
                if rules.blanks { ends } else { ends & !blank_ends(ends, returns, before, rules.end) };
            if quotes == 0 {
                let n = u64::from(counted.count_ones());
                self.out.plain(n);
                self.within.plain(n);
            } else {
                let same = self.out.state == self.within.state;
                let ended = self.out.ended;
                self.out.quoted(rules, block, counted, quotes, before[1]);
                if same {
                    self.within.state = self.out.state;
                    self.within.ended += self.out.ended - ended;
                } else {
                    self.within.quoted(rules, block, counted, quotes, before[1]);
                }
            }
            before = [block[62], block[63]];
        }
        self.out.before = before;
        self.within.before = before;
        for &byte in rest {
            self.out.step(rules, byte);
            self.within.step(rules, byte);
        }
    }
}

impl Scan {
    /// A block without quotes that has `n` ends.
    #[inline]
    fn plain(&mut self, n: u64) {
        match self.state {
            State::In => {}
            _ => {
                self.state = State::Out;
                self.ended += n;
            }
        }
    }

    /// A block with quotes: from quote to quote.
    fn quoted(&mut self, rules: &Rules, block: &[u8; 64], ends: u64, quotes: u64, before: u8) {
        let mut at = 0u32;
        loop {
            let left = if at < 64 { quotes & (u64::MAX << at) } else { 0 };
            let next = left.trailing_zeros();
            if self.state == State::Closing && at < 64 {
                if next == at {
                    self.state = State::In;
                    at += 1;
                    continue;
                }
                self.state = State::Out;
            }
            if self.state == State::Out {
                self.ended += u64::from((ends & bits(at, next)).count_ones());
            }
            if next >= 64 {
                return;
            }
            let previous = if next == 0 { before } else { block[next as usize - 1] };
            self.state = match self.state {
                State::In => State::Closing,
                _ if opens(rules, previous) => State::In,
                other => other,
            };
            at = next + 1;
        }
    }
}

/// The bits from `from` up to before `to`.
fn bits(from: u32, to: u32) -> u64 {
    let below = |n: u32| if n >= 64 { u64::MAX } else { (1u64 << n) - 1 };
    below(to) & !below(from)
}

/// Ends of blank lines: right after an end, or after an end and a carriage return.
#[inline]
fn blank_ends(ends: u64, returns: u64, before: Before, end: u8) -> u64 {
    let last = u64::from(before[1] == end);
    let after_end = ends << 1 | last;
    let last_return = u64::from(before[1] == b'\r' && before[0] == end);
    let after_both = (returns & after_end) << 1 | last_return;
    ends & (after_end | after_both)
}

/// The places of line ends, quotes and (if asked for) carriage returns in a block.
#[cfg(target_arch = "x86_64")]
#[inline]
fn masks(block: &[u8; 64], end: u8, quote: u8, returns: bool) -> (u64, u64, u64) {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let (mut ends, mut quotes, mut carriage) = (0u64, 0u64, 0u64);
    for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: SSE2 belongs to every x86-64; the load takes 16 bytes without alignment, and
        // `part` has 16.
        unsafe {
            let bytes = _mm_loadu_si128(part.as_ptr().cast());
            let find = |byte: u8| {
                let mask = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8)));
                u64::from(mask as u32) << (16 * i)
            };
            ends |= find(end);
            quotes |= find(quote);
            if returns {
                carriage |= find(b'\r');
            }
        }
    }
    (ends, quotes, carriage)
}

/// The places of line ends, quotes and (if asked for) carriage returns in a block.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn masks(block: &[u8; 64], end: u8, quote: u8, returns: bool) -> (u64, u64, u64) {
    let find =
        |byte: u8| block.iter().enumerate().fold(0u64, |mask, (i, &b)| mask | u64::from(b == byte) << i);
    (find(end), find(quote), if returns { find(b'\r') } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytewise(rules: &Rules, mut scan: Scan, bytes: &[u8]) -> Scan {
        for &byte in bytes {
            scan.step(rules, byte);
        }
        scan
    }

    #[test]
    fn blank_lines_quotes_and_lone_quotes() {
        let rules = Rules { end: b'\n', quote: Some(b'"'), delimiter: b',', blanks: false, spaces: false };
        let ended = |text: &str| bytewise(&rules, Scan::start(&rules), text.as_bytes()).ended;
        assert_eq!(ended("a,b\n\n\r\n1,2\r\n"), 2);
        assert_eq!(ended("a,\"x\ny\"\n\"p\"\"\n\",1\n"), 2);
        assert_eq!(ended("5\" pipe,x\nab\"cd,y\n"), 2);
        assert_eq!(ended("\"\n\n\"\n"), 1);
        assert_eq!(ended(" \n1\n"), 2);
        let spaces = Rules { spaces: true, ..rules };
        assert_eq!(bytewise(&spaces, Scan::start(&spaces), b" \n1 \n \t\r\n2\n").ended, 2);
    }

    proptest! {
        #[test]
        fn blocks_agree_with_single_bytes(
            text in prop::collection::vec(prop::sample::select(b"\"\",\n\n\r ab".to_vec()), 0..400),
            split in 0usize..400, blanks: bool, spaces: bool, quoted: bool, inside: bool,
        ) {
            let rules = Rules { end: b'\n', quote: quoted.then_some(b'"'), delimiter: b',', blanks, spaces };
            let begin = if inside && quoted { Scan { state: State::In, ..Scan::start(&rules) } } else { Scan::start(&rules) };
            let slow = bytewise(&rules, begin, &text);
            let mut fast = begin;
            let (left, right) = text.split_at(split.min(text.len()));
            fast.feed(&rules, left);
            fast.feed(&rules, right);
            prop_assert_eq!(fast, slow);
            let mut pair = Pair { out: Scan::start(&rules), within: Scan { state: State::In, ..Scan::start(&rules) } };
            pair.feed(&rules, &text);
            if quoted {
                prop_assert_eq!(pair.within, bytewise(&rules, Scan { state: State::In, ..Scan::start(&rules) }, &text));
            }
        }

        #[test]
        fn find_stops_right_after_the_end(text in prop::collection::vec(prop::sample::select(b"\",\nab".to_vec()), 0..300)) {
            let rules = Rules { end: b'\n', quote: Some(b'"'), delimiter: b',', blanks: false, spaces: false };
            let total = bytewise(&rules, Scan::start(&rules), &text).ended;
            for target in 1..=total {
                let mut scan = Scan::start(&rules);
                let at = scan.find(&rules, &text, target).unwrap();
                prop_assert_eq!(text[at - 1], b'\n');
                prop_assert_eq!(bytewise(&rules, Scan::start(&rules), &text[..at]).ended, target);
                prop_assert_eq!(bytewise(&rules, Scan::start(&rules), &text[..at - 1]).ended, target - 1);
            }
            prop_assert!(Scan::start(&rules).find(&rules, &text, total + 1).is_none());
        }
    }
}
