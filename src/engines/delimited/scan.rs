//! The scanner: counts record ends at the speed of memory, 64 bytes at a time.
//!
//! A quote opens a quoted field only where a field begins (RFC 4180, <https://www.rfc-editor.org/rfc/rfc4180>);
//! elsewhere it is text. So two scans that start with different beliefs — inside or outside quotes —
//! soon agree, which is what makes the parallel index cheap: a block without quotes is counted for
//! both beliefs by its bit masks alone.

/// Which bytes end a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// LF. A CR right before it belongs to the end, any other is text.
    LineFeed,
    /// LF, CR LF and CR, even in one text.
    Any,
}

impl Ends {
    /// Whether this byte ends a line. That of a CR LF is the CR; the LF behind it ends nothing more.
    pub fn contains(self, byte: u8) -> bool {
        byte == b'\n' || byte == b'\r' && self == Ends::Any
    }

    /// The lines of `bytes`, each with its end.
    pub fn split(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            let length = self.find(rest).map_or(rest.len(), |end| {
                let pair = rest.get(end..end + 2) == Some(b"\r\n");
                end + 1 + usize::from(pair)
            });
            let (line, behind) = rest.split_at(length);
            rest = behind;
            (!line.is_empty()).then_some(line)
        })
    }

    /// A line without its end.
    pub fn strip(self, line: &[u8]) -> &[u8] {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if self == Ends::Any { text.strip_suffix(b"\r").unwrap_or(text) } else { text }
    }

    /// The first byte that ends a line.
    pub fn find(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Ends::LineFeed => memchr::memchr(b'\n', bytes),
            Ends::Any => memchr::memchr2(b'\n', b'\r', bytes),
        }
    }
}

/// What ends a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Which bytes end a line.
    pub ends: Ends,
    /// The quote, if there is one: line ends inside quotes end nothing.
    pub quote: Option<u8>,
    /// The delimiter before a quote that opens; without quotes of no meaning.
    pub delimiter: u8,
    /// Whether a space may stand between a delimiter and a quote that opens.
    pub padded: bool,
    /// Whether several delimiters in a row are one, and those at the beginning and end of a line none.
    pub runs: bool,
    /// Whether an empty line is a record (a line of text) or nothing (a table).
    pub blanks: bool,
    /// Whether a line of nothing but spaces and tabs is empty too.
    pub spaces: bool,
}

impl Rules {
    /// Comma-separated values (RFC 4180); empty lines are no records.
    pub const CSV: Rules = Rules {
        ends: Ends::Any,
        quote: Some(b'"'),
        delimiter: b',',
        padded: false,
        runs: false,
        blanks: false,
        spaces: false,
    };

    /// Lines of plain text.
    pub fn text() -> Self {
        Rules {
            ends: Ends::Any,
            quote: None,
            delimiter: 0,
            padded: false,
            runs: false,
            blanks: true,
            spaces: false,
        }
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
    pub fn start() -> Self {
        Scan { state: State::Out, ended: 0, before: [b'\n'; 2], filled: false }
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
                _ if opens(rules, self.before) => State::In,
                other => other,
            };
        }
        let ends = rules.ends.contains(byte);
        if self.state == State::Out && ends && !self.ends_nothing(rules, byte) {
            self.ended += 1;
        }
        if rules.spaces {
            self.filled = !ends && (self.filled || !is_space(byte));
        }
        self.before = [self.before[1], byte];
    }

    /// Whether the line end `byte` ends no record: that of a blank line, where these are none, or the
    /// second half of a CR LF.
    fn ends_nothing(&self, rules: &Rules, byte: u8) -> bool {
        match rules.ends {
            _ if rules.blanks => rules.ends == Ends::Any && byte == b'\n' && self.before[1] == b'\r',
            _ if rules.spaces => !self.filled,
            Ends::Any => matches!(self.before[1], b'\n' | b'\r'),
            Ends::LineFeed => self.before[1] == b'\n' || self.before == *b"\n\r",
        }
    }

    /// Whether the record that is open at the end of the file counts as one.
    pub fn open_record(&self, rules: &Rules) -> bool {
        let open =
            if rules.spaces && !rules.blanks { self.filled } else { !rules.ends.contains(self.before[1]) };
        open || self.state == State::In
    }
}

/// Whether a byte may stand in a line that counts as empty.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Whether a quote behind these bytes opens a field.
fn opens(rules: &Rules, before: Before) -> bool {
    let borders = |byte: u8| byte == rules.delimiter || rules.ends.contains(byte);
    borders(before[1]) || rules.padded && before[1] == b' ' && borders(before[0])
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
        let filled = rules.spaces && !rules.ends.contains(before[1]);
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
        let quote = rules.quote.unwrap_or(b'\n');
        let (blocks, rest) = bytes.as_chunks::<64>();
        let mut before = self.out.before;
        for block in blocks {
            let (feeds, quotes, returns) = masks(block, quote);
            let quotes = if rules.quote.is_some() { quotes } else { 0 };
            let counted = counted(rules, feeds, returns, before);
            if quotes == 0 {
                let n = u64::from(counted.count_ones());
                self.out.plain(n);
                self.within.plain(n);
            } else {
                let same = self.out.state == self.within.state;
                let ended = self.out.ended;
                self.out.quoted(rules, block, counted, quotes, before);
                if same {
                    self.within.state = self.out.state;
                    self.within.ended += self.out.ended - ended;
                } else {
                    self.within.quoted(rules, block, counted, quotes, before);
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
    #[allow(
        clippy::indexing_slicing,
        reason = "a next quote at 64 or behind it has returned before its place is used"
    )]
    fn quoted(&mut self, rules: &Rules, block: &[u8; 64], ends: u64, quotes: u64, before: Before) {
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
            let previous = match next as usize {
                0 => before,
                1 => [before[1], block[0]],
                next => [block[next - 2], block[next - 1]],
            };
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

/// Which of the line feeds and carriage returns in a block end a record where they stand outside of quotes.
#[inline]
fn counted(rules: &Rules, feeds: u64, returns: u64, before: Before) -> u64 {
    let after = |mask: u64, byte: bool| mask << 1 | u64::from(byte);
    let after_return = after(returns, before[1] == b'\r');
    let after_feed = after(feeds, before[1] == b'\n');
    match (rules.ends, rules.blanks) {
        (Ends::LineFeed, true) => feeds,
        (Ends::LineFeed, false) => {
            let after_both = after(returns & after_feed, before == *b"\n\r");
            feeds & !(after_feed | after_both)
        }
        (Ends::Any, true) => returns | feeds & !after_return,
        (Ends::Any, false) => (feeds | returns) & !(after_feed | after_return),
    }
}

/// The places of line feeds, quotes and carriage returns in a block.
#[cfg(target_arch = "x86_64")]
#[inline]
fn masks(block: &[u8; 64], quote: u8) -> (u64, u64, u64) {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let (mut feeds, mut quotes, mut returns) = (0u64, 0u64, 0u64);
    for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: SSE2 belongs to every x86-64; the load takes 16 bytes without alignment, and
        // `part` has 16.
        unsafe {
            let bytes = _mm_loadu_si128(part.as_ptr().cast());
            let find = |byte: u8| {
                let mask = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8)));
                u64::from(mask as u32) << (16 * i)
            };
            feeds |= find(b'\n');
            quotes |= find(quote);
            returns |= find(b'\r');
        }
    }
    (feeds, quotes, returns)
}

/// The places of line feeds, quotes and carriage returns in a block.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn masks(block: &[u8; 64], quote: u8) -> (u64, u64, u64) {
    let find =
        |byte: u8| block.iter().enumerate().fold(0u64, |mask, (i, &b)| mask | u64::from(b == byte) << i);
    (find(b'\n'), find(quote), find(b'\r'))
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
        let rules = Rules {
            ends: Ends::LineFeed,
            quote: Some(b'"'),
            delimiter: b',',
            padded: false,
            runs: false,
            blanks: false,
            spaces: false,
        };
        let ended = |text: &str| bytewise(&rules, Scan::start(), text.as_bytes()).ended;
        assert_eq!(ended("a,b\n\n\r\n1,2\r\n"), 2);
        assert_eq!(ended("a,\"x\ny\"\n\"p\"\"\n\",1\n"), 2);
        assert_eq!(ended("5\" pipe,x\nab\"cd,y\n"), 2);
        assert_eq!(ended("\"\n\n\"\n"), 1);
        assert_eq!(ended(" \n1\n"), 2);
        let any = Rules { ends: Ends::Any, ..rules };
        let ended = |rules: &Rules, text: &str| bytewise(rules, Scan::start(), text.as_bytes()).ended;
        assert_eq!(ended(&any, "a,b\r1,2\r\r\r3,4\n5,\"x\r\n\ry\"\r\n"), 4);
        assert_eq!(ended(&Rules::text(), "a\r\r\nb\n\n\rc\r\n"), 6);
        let spaces = Rules { spaces: true, ..rules };
        assert_eq!(bytewise(&spaces, Scan::start(), b" \n1 \n \t\r\n2\n").ended, 2);
    }

    #[test]
    fn lines_of_bytes() {
        let lines = |ends: Ends, text: &'static str| {
            ends.split(text.as_bytes())
                .map(|line| std::str::from_utf8(ends.strip(line)).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(Ends::Any, "a\r\nb\r\rc\n\nd"), ["a", "b", "", "c", "", "d"]);
        assert_eq!(lines(Ends::LineFeed, "a\r\nb\rc\n"), ["a\r", "b\rc"]);
    }

    proptest! {
        #[test]
        fn blocks_agree_with_single_bytes(
            text in prop::collection::vec(prop::sample::select(b"\"\",\n\n\r  ab".to_vec()), 0..400),
            split in 0usize..400, blanks: bool, spaces: bool, quoted: bool, inside: bool, any: bool, padded: bool,
        ) {
            let ends = if any { Ends::Any } else { Ends::LineFeed };
            let rules = Rules { ends, quote: quoted.then_some(b'"'), delimiter: b',', padded, runs: false, blanks, spaces };
            let begin = if inside && quoted { Scan { state: State::In, ..Scan::start() } } else { Scan::start() };
            let slow = bytewise(&rules, begin, &text);
            let mut fast = begin;
            let (left, right) = text.split_at(split.min(text.len()));
            fast.feed(&rules, left);
            fast.feed(&rules, right);
            prop_assert_eq!(fast, slow);
            let mut pair = Pair { out: Scan::start(), within: Scan { state: State::In, ..Scan::start() } };
            pair.feed(&rules, &text);
            if quoted {
                prop_assert_eq!(pair.within, bytewise(&rules, Scan { state: State::In, ..Scan::start() }, &text));
            }
        }

        #[test]
        fn find_stops_right_after_the_end(text in prop::collection::vec(prop::sample::select(b"\",\n\rab".to_vec()), 0..300), any: bool) {
            let ends = if any { Ends::Any } else { Ends::LineFeed };
            let rules = Rules { ends, quote: Some(b'"'), delimiter: b',', padded: false, runs: false, blanks: false, spaces: false };
            let total = bytewise(&rules, Scan::start(), &text).ended;
            for target in 1..=total {
                let mut scan = Scan::start();
                let at = scan.find(&rules, &text, target).unwrap();
                prop_assert!(ends.contains(text[at - 1]));
                prop_assert_eq!(bytewise(&rules, Scan::start(), &text[..at]).ended, target);
                prop_assert_eq!(bytewise(&rules, Scan::start(), &text[..at - 1]).ended, target - 1);
            }
            prop_assert!(Scan::start().find(&rules, &text, total + 1).is_none());
        }
    }
}
