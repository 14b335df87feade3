//! The first stage: strings, brackets and commas of 64 bytes at a time, as bit masks (the idea is of Langdale
//! and Lemire, *Parsing gigabytes of JSON per second*, <https://arxiv.org/abs/1902.08318>). AVX2, or SSE2 with
//! carry-less multiplication, where the processor has them; else a scalar twin that gives the same masks.
//!
//! Comments (`//`, `/* */`) are seen too: blocks with a slash outside of strings go byte by byte.

use std::sync::OnceLock;

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
    /// Whether the place is inside a string.
    pub fn is_in_string(&self) -> bool {
        self.inside != 0
    }

    /// Whether the place is inside a comment that needs an end.
    pub fn is_in_comment(&self) -> bool {
        matches!(self.comment, Comment::Block | Comment::Star)
    }
}

/// One step over a block.
pub type Step = fn(&mut State, &[u8; BLOCK]) -> Masks;

/// The quickest step that this processor has.
pub fn step() -> Step {
    static STEP: OnceLock<Step> = OnceLock::new();
    *STEP.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("pclmulqdq") {
                return x86::avx2;
            }
            if std::is_x86_feature_detected!("sse2") && std::is_x86_feature_detected!("pclmulqdq") {
                return x86::sse2;
            }
        }
        plain
    })
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

/// The step without special instructions.
pub fn plain(state: &mut State, block: &[u8; BLOCK]) -> Masks {
    let mut bits = Bits::default();
    for (at, byte) in block.iter().enumerate() {
        let bit = 1u64 << at;
        match byte {
            b'"' => bits.quote |= bit,
            b'\\' => bits.backslash |= bit,
            b'{' | b'[' => bits.open |= bit,
            b'}' | b']' => bits.close |= bit,
            b',' => bits.comma |= bit,
            b'/' => bits.slash |= bit,
            _ => {}
        }
    }
    resolve(state, bits, block, parity)
}

/// The definition, byte by byte; for blocks with comments.
pub fn bytewise(state: &mut State, block: &[u8; BLOCK]) -> Masks {
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
                state.comment = Comment::Line;
                continue;
            }
            (Comment::Slash, b'*') => {
                state.comment = Comment::Block;
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
    use super::{BLOCK, Bits, Masks, State, resolve};
    use std::arch::x86_64::*;

    /// The step with AVX2.
    pub(super) fn avx2(state: &mut State, block: &[u8; BLOCK]) -> Masks {
        // SAFETY: `super::step` gives this function out only where the processor has AVX2 and PCLMULQDQ.
        unsafe { by_avx2(state, block) }
    }

    /// The step with SSE2.
    pub(super) fn sse2(state: &mut State, block: &[u8; BLOCK]) -> Masks {
        // SAFETY: `super::step` gives this function out only where the processor has SSE2 and PCLMULQDQ.
        unsafe { by_sse2(state, block) }
    }

    #[target_feature(enable = "avx2,pclmulqdq")]
    fn by_avx2(state: &mut State, block: &[u8; BLOCK]) -> Masks {
        let mut bits = Bits::default();
        for half in 0..2 {
            // SAFETY: the block has 64 bytes, of which 32 are read from 0 and from 32; no alignment is needed.
            let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().add(half * 32).cast()) };
            let equal = |bytes: __m256i, byte: u8| {
                let found = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8));
                u64::from(_mm256_movemask_epi8(found) as u32) << (half * 32)
            };
            // Square and curly brackets differ by this bit alone.
            let curly = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
            bits.quote |= equal(bytes, b'"');
            bits.backslash |= equal(bytes, b'\\');
            bits.open |= equal(curly, b'{');
            bits.close |= equal(curly, b'}');
            bits.comma |= equal(bytes, b',');
            bits.slash |= equal(bytes, b'/');
        }
        resolve(state, bits, block, |quotes| parity(quotes))
    }

    #[target_feature(enable = "sse2,pclmulqdq")]
    fn by_sse2(state: &mut State, block: &[u8; BLOCK]) -> Masks {
        let mut bits = Bits::default();
        for part in 0..4 {
            // SAFETY: the block has 64 bytes, of which 16 are read from 0, 16, 32 and 48; no alignment is needed.
            let bytes = unsafe { _mm_loadu_si128(block.as_ptr().add(part * 16).cast()) };
            let equal = |bytes: __m128i, byte: u8| {
                let found = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
                u64::from(_mm_movemask_epi8(found) as u16) << (part * 16)
            };
            let curly = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
            bits.quote |= equal(bytes, b'"');
            bits.backslash |= equal(bytes, b'\\');
            bits.open |= equal(curly, b'{');
            bits.close |= equal(curly, b'}');
            bits.comma |= equal(bytes, b',');
            bits.slash |= equal(bytes, b'/');
        }
        resolve(state, bits, block, |quotes| parity(quotes))
    }

    /// The parity of all bits up to each: a product with all ones without carries.
    #[target_feature(enable = "sse2,pclmulqdq")]
    fn parity(bits: u64) -> u64 {
        let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits as i64), _mm_set1_epi8(-1));
        _mm_cvtsi128_si64(product) as u64
    }
}

/// The bytes of `bytes` in blocks, the last one filled up with spaces.
pub fn blocks(bytes: &[u8], mut visit: impl FnMut(usize, &[u8; BLOCK]) -> bool) {
    let (whole, rest) = bytes.as_chunks::<BLOCK>();
    for (n, block) in whole.iter().enumerate() {
        if !visit(n * BLOCK, block) {
            return;
        }
    }
    if !rest.is_empty() {
        let mut block = [b' '; BLOCK];
        if let Some(part) = block.get_mut(..rest.len()) {
            part.copy_from_slice(rest);
        }
        visit(whole.len() * BLOCK, &block);
    }
}

/// The length of the container that `bytes` begin with, both brackets included; `None` if it does not end in
/// them.
pub fn container(bytes: &[u8]) -> Option<usize> {
    let (step, mut state, mut depth, mut end) = (step(), State::default(), 0u64, None);
    blocks(bytes, |at, block| {
        let masks = step(&mut state, block);
        let closing = u64::from(masks.close.count_ones());
        if closing < depth {
            depth = depth + u64::from(masks.open.count_ones()) - closing;
            return true;
        }
        let mut brackets = masks.open | masks.close;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            if masks.open & bit != 0 {
                depth += 1;
            } else {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    end = Some(at + bit.trailing_zeros() as usize + 1);
                    return false;
                }
            }
            brackets ^= bit;
        }
        true
    });
    end.filter(|&end| end <= bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(step: Step, bytes: &[u8]) -> (Vec<Masks>, State) {
        let (mut masks, mut state) = (Vec::new(), State::default());
        blocks(bytes, |_, block| {
            masks.push(step(&mut state, block));
            true
        });
        (masks, state)
    }

    #[cfg(target_arch = "x86_64")]
    fn steps() -> Vec<Step> {
        let mut steps: Vec<Step> = vec![plain];
        if std::is_x86_feature_detected!("pclmulqdq") {
            steps.push(x86::sse2);
            if std::is_x86_feature_detected!("avx2") {
                steps.push(x86::avx2);
            }
        }
        steps
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn steps() -> Vec<Step> {
        vec![plain]
    }

    proptest! {
        #[test]
        fn every_step_gives_the_same_masks(
            bytes in prop::collection::vec(prop::sample::select(b"\"\"\\\\{}[],,:/*\n a1\xff[{".to_vec()), 0..700),
        ) {
            let expected = run(bytewise, &bytes);
            for step in steps() {
                prop_assert_eq!(&run(step, &bytes), &expected);
            }
        }

        #[test]
        fn without_comments_too(
            bytes in prop::collection::vec(prop::sample::select(b"\"\\\\\\{}[],: a".to_vec()), 0..700),
        ) {
            let expected = run(bytewise, &bytes);
            for step in steps() {
                prop_assert_eq!(&run(step, &bytes), &expected);
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
