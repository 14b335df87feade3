//! The first stage: strings, brackets and commas of 64 bytes at a time, as bit masks (the idea is of Langdale
//! and Lemire, *Parsing gigabytes of JSON per second*, <https://arxiv.org/abs/1902.08318>). AVX2, or SSE4.2,
//! with carry-less multiplication, where the processor has them; else a scalar twin that gives the same masks.
//! What looks at the masks is compiled for each of them too, so that it counts bits by one instruction.
//!
//! Comments (`//`, `/* */`) are seen too: blocks with a slash outside of strings go byte by byte.

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// What stands in a block outside of strings and comments; bit n is byte n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    /// `{` and `[`.
    pub open: u64,
    /// `}` and `]`.
    pub close: u64,
    /// `,`.
    pub comma: u64,
}

/// What the bytes so far mean for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// All ones inside a string.
    inside: u64,
    /// Whether the next byte is escaped.
    escaped: bool,
    comment: Comment,
    /// Whether there was a comment so far.
    commented: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Comment {
    #[default]
    None,
    /// A slash that may begin one.
    Slash,
    Line,
    Block,
    /// A star in a block comment.
    Star,
}

impl State {
    /// Outside of comments: inside a string or not, behind a backslash or not.
    pub fn new(in_string: bool, escaped: bool) -> State {
        State { inside: if in_string { u64::MAX } else { 0 }, escaped, ..State::default() }
    }

    /// Whether both mean the same for what comes next.
    pub fn is_like(&self, other: &State) -> bool {
        (self.inside, self.escaped, self.comment) == (other.inside, other.escaped, other.comment)
    }

    /// Whether there was a comment so far.
    pub fn is_commented(&self) -> bool {
        self.commented
    }

    /// Takes over that there was a comment before.
    pub fn behind(self, before: &State) -> State {
        State { commented: self.commented || before.commented, ..self }
    }

    /// Whether the place is inside a string.
    pub fn is_in_string(&self) -> bool {
        self.inside != 0
    }

    /// Whether the place is inside a comment that needs an end.
    pub fn is_in_comment(&self) -> bool {
        matches!(self.comment, Comment::Block | Comment::Star)
    }
}

/// Looks at the masks of block after block. Made to be compiled into the loop over them, with its instructions:
/// implementations say `#[inline(always)]`, which a closure cannot.
pub trait Visit {
    /// The masks of the block at `offset`; whether to go on.
    fn block(&mut self, offset: usize, masks: Masks) -> bool;
}

/// Goes over `bytes` in blocks, the last one filled up with spaces.
pub fn scan(state: &mut State, bytes: &[u8], visit: &mut impl Visit) {
    #[cfg(target_arch = "x86_64")]
    match x86::level() {
        // SAFETY: the processor has the instructions of a level that `x86::level` gives.
        x86::Level::Avx2 => return unsafe { x86::avx2(state, bytes, visit) },
        // SAFETY: as above.
        x86::Level::Sse => return unsafe { x86::sse(state, bytes, visit) },
        x86::Level::Less => {}
    }
    each(bytes, visit, |block| plain(state, block));
}

/// The loop of every level: `step` makes masks of a block.
#[inline(always)]
fn each(bytes: &[u8], visit: &mut impl Visit, mut step: impl FnMut(&[u8; BLOCK]) -> Masks) {
    let (whole, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    if let Some(part) = last.get_mut(..rest.len()) {
        part.copy_from_slice(rest);
    }
    for n in 0..whole.len() + usize::from(!rest.is_empty()) {
        // One place for both, so that the visit is compiled once.
        if !visit.block(n * BLOCK, step(whole.get(n).unwrap_or(&last))) {
            return;
        }
    }
}

/// Where bytes of each meaning stand in a block, strings not yet told apart.
#[derive(Clone, Copy, Default)]
struct Bits {
    quote: u64,
    backslash: u64,
    open: u64,
    close: u64,
    comma: u64,
    slash: u64,
}

/// From bits to masks: escapes, then strings, then comments. `prefix` gives for each bit the parity of all
/// bits up to it.
#[inline(always)]
fn resolve(state: &mut State, bits: Bits, block: &[u8; BLOCK], prefix: impl Fn(u64) -> u64) -> Masks {
    if state.comment != Comment::None {
        return bytewise(state, block);
    }
    let mut escaped = u64::from(state.escaped);
    let mut carry = false;
    let mut left = bits.backslash & !escaped;
    while left != 0 {
        let at = left.trailing_zeros();
        let next = 2u64.checked_shl(at).unwrap_or(0);
        carry |= at == 63;
        escaped |= next;
        left &= left - 1;
        left &= !next;
    }
    let inside = prefix(bits.quote & !escaped) ^ state.inside;
    if bits.slash & !inside != 0 {
        return bytewise(state, block);
    }
    state.escaped = carry;
    state.inside = ((inside as i64) >> 63) as u64;
    Masks { open: bits.open & !inside, close: bits.close & !inside, comma: bits.comma & !inside }
}

/// The parity of all bits up to each.
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// The step without special instructions: eight bytes at a time.
fn plain(state: &mut State, block: &[u8; BLOCK]) -> Masks {
    let mut bits = Bits::default();
    for (n, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let curly = word | (0x20 * EACH);
        let equal = |word: u64, byte: u8| equal(word, byte) << (8 * n);
        bits.quote |= equal(word, b'"');
        bits.backslash |= equal(word, b'\\');
        bits.open |= equal(curly, b'{');
        bits.close |= equal(curly, b'}');
        bits.comma |= equal(word, b',');
        bits.slash |= equal(word, b'/');
    }
    resolve(state, bits, block, parity)
}

/// A one in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Which of eight bytes are this one, as eight bits.
fn equal(word: u64, byte: u8) -> u64 {
    let other = word ^ (u64::from(byte) * EACH);
    // The highest bit of each byte that differs; the sum of seven bits does not reach the next byte.
    let differs = ((other & (0x7f * EACH)) + 0x7f * EACH) | other;
    // From the eight highest bits to the lowest byte.
    (((!differs >> 7) & EACH).wrapping_mul(0x0102_0408_1020_4080)) >> 56
}

/// The definition, byte by byte; for blocks with comments.
#[cold]
fn bytewise(state: &mut State, block: &[u8; BLOCK]) -> Masks {
    let mut masks = Masks::default();
    for (at, &byte) in block.iter().enumerate() {
        match (state.comment, byte) {
            (Comment::Line, b'\n' | b'\r') => state.comment = Comment::None,
            (Comment::Line, _) => continue,
            (Comment::Block, b'*') | (Comment::Star, b'*') => {
                state.comment = Comment::Star;
                continue;
            }
            (Comment::Star, b'/') => {
                state.comment = Comment::None;
                continue;
            }
            (Comment::Block | Comment::Star, _) => {
                state.comment = Comment::Block;
                continue;
            }
            (Comment::Slash, b'/') => {
                (state.comment, state.commented) = (Comment::Line, true);
                continue;
            }
            (Comment::Slash, b'*') => {
                (state.comment, state.commented) = (Comment::Block, true);
                continue;
            }
            _ => state.comment = Comment::None,
        }
        let escaped = std::mem::take(&mut state.escaped);
        state.escaped = byte == b'\\' && !escaped;
        if state.inside != 0 {
            if byte == b'"' && !escaped {
                state.inside = 0;
            }
            continue;
        }
        let bit = 1u64 << at;
        match byte {
            b'"' if !escaped => state.inside = u64::MAX,
            b'{' | b'[' => masks.open |= bit,
            b'}' | b']' => masks.close |= bit,
            b',' => masks.comma |= bit,
            b'/' => state.comment = Comment::Slash,
            _ => {}
        }
    }
    masks
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, Bits, State, Visit, each, resolve};
    use std::arch::x86_64::*;
    use std::sync::OnceLock;

    /// Instructions that a processor has.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Level {
        Avx2,
        Sse,
        Less,
    }

    /// The best level of this one.
    pub(super) fn level() -> Level {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            let counts =
                std::is_x86_feature_detected!("popcnt") && std::is_x86_feature_detected!("pclmulqdq");
            let bits = std::is_x86_feature_detected!("bmi1") && std::is_x86_feature_detected!("bmi2");
            match counts {
                true if bits && std::is_x86_feature_detected!("avx2") => Level::Avx2,
                true if std::is_x86_feature_detected!("sse4.2") => Level::Sse,
                _ => Level::Less,
            }
        })
    }

    macro_rules! scan {
        ($name:ident, $features:literal, $lanes:literal, $vector:ty,
         $load:ident, $fill:ident, $equal:ident, $or:ident, $mask:ident as $word:ty) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name(state: &mut State, bytes: &[u8], visit: &mut impl Visit) {
                each(bytes, visit, |block: &[u8; BLOCK]| {
                    let mut bits = Bits::default();
                    for (n, lanes) in block.as_chunks::<$lanes>().0.iter().enumerate() {
                        // SAFETY: as many bytes are read as there are lanes; no alignment is needed.
                        let bytes = unsafe { $load(lanes.as_ptr().cast()) };
                        let equal = |bytes: $vector, byte: u8| {
                            let found = $mask($equal(bytes, $fill(byte as i8)));
                            u64::from(found as $word) << (n * $lanes)
                        };
                        // Square and curly brackets differ by this bit alone.
                        let curly = $or(bytes, $fill(0x20));
                        bits.quote |= equal(bytes, b'"');
                        bits.backslash |= equal(bytes, b'\\');
                        bits.open |= equal(curly, b'{');
                        bits.close |= equal(curly, b'}');
                        bits.comma |= equal(bytes, b',');
                        bits.slash |= equal(bytes, b'/');
                    }
                    resolve(state, bits, block, |quotes| {
                        // The parity of all bits up to each: a product with all ones without carries.
                        let quotes = _mm_set_epi64x(0, quotes as i64);
                        _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(quotes, _mm_set1_epi8(-1))) as u64
                    })
                });
            }
        };
    }

    scan!(
        avx2,
        "avx2,pclmulqdq,popcnt,bmi1,bmi2",
        32,
        __m256i,
        _mm256_loadu_si256,
        _mm256_set1_epi8,
        _mm256_cmpeq_epi8,
        _mm256_or_si256,
        _mm256_movemask_epi8 as u32
    );
    scan!(
        sse,
        "sse4.2,pclmulqdq,popcnt",
        16,
        __m128i,
        _mm_loadu_si128,
        _mm_set1_epi8,
        _mm_cmpeq_epi8,
        _mm_or_si128,
        _mm_movemask_epi8 as u16
    );
}

/// The length of the container that `bytes` begin with, both brackets included; `None` if it does not end in
/// them.
pub fn container(bytes: &[u8]) -> Option<usize> {
    let mut closing = Closing::default();
    scan(&mut State::default(), bytes, &mut closing);
    closing.end.filter(|&end| end <= bytes.len())
}

/// Looks for the place behind the bracket that closes the first one.
#[derive(Default)]
pub(super) struct Closing {
    depth: u64,
    /// The place.
    pub(super) end: Option<usize>,
}

impl Visit for Closing {
    #[inline(always)]
    fn block(&mut self, offset: usize, masks: Masks) -> bool {
        let closing = u64::from(masks.close.count_ones());
        if closing < self.depth {
            self.depth = self.depth + u64::from(masks.open.count_ones()) - closing;
            return true;
        }
        let mut brackets = masks.open | masks.close;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            if masks.open & bit != 0 {
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end = Some(offset + bit.trailing_zeros() as usize + 1);
                    return false;
                }
            }
            brackets ^= bit;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default, Debug, PartialEq)]
    struct Kept(Vec<Masks>);

    impl Visit for Kept {
        fn block(&mut self, _offset: usize, masks: Masks) -> bool {
            self.0.push(masks);
            true
        }
    }

    fn by(bytes: &[u8], step: fn(&mut State, &[u8; BLOCK]) -> Masks) -> (Kept, State) {
        let (mut kept, mut state) = (Kept::default(), State::default());
        each(bytes, &mut kept, |block| step(&mut state, block));
        (kept, state)
    }

    /// What every level makes of it that this processor has.
    fn all(bytes: &[u8]) -> Vec<(Kept, State)> {
        let mut all = vec![by(bytes, plain)];
        #[cfg(target_arch = "x86_64")]
        for level in [x86::Level::Avx2, x86::Level::Sse] {
            let (mut kept, mut state) = (Kept::default(), State::default());
            match (level, x86::level()) {
                // SAFETY: the processor has this level.
                (x86::Level::Avx2, x86::Level::Avx2) => unsafe { x86::avx2(&mut state, bytes, &mut kept) },
                // SAFETY: a processor that has the higher level has the lower one.
                (x86::Level::Sse, x86::Level::Avx2 | x86::Level::Sse) => unsafe {
                    x86::sse(&mut state, bytes, &mut kept)
                },
                _ => continue,
            }
            all.push((kept, state));
        }
        all
    }

    proptest! {
        #[test]
        fn every_level_gives_the_same_masks(
            bytes in prop::collection::vec(prop::sample::select(b"\"\"\\\\{}[],,:/*\n a1\xff[{".to_vec()), 0..700),
        ) {
            let expected = by(&bytes, bytewise);
            for found in all(&bytes) {
                prop_assert_eq!(&found, &expected);
            }
        }

        #[test]
        fn without_comments_too(
            bytes in prop::collection::vec(prop::sample::select(b"\"\\\\{}[],: a".to_vec()), 0..700),
        ) {
            let expected = by(&bytes, bytewise);
            for found in all(&bytes) {
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn containers_end_where_they_end() {
        assert_eq!(container(b"[]x"), Some(2));
        assert_eq!(container(b"{\"]}\\\"\": [1, {}]} "), Some(17));
        assert_eq!(container(b"[ // ]\n 1 /* ] */ ]"), Some(19));
        assert_eq!(container(b"[1, 2"), None);
        let long = format!("[{}]", "[[],{}],".repeat(100));
        assert_eq!(container(format!("{long} ]").as_bytes()), Some(long.len()));
        assert_eq!(container(&b"[".repeat(1_000_000)), None);
    }
}
