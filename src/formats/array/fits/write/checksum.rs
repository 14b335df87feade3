//! Checksums of units: `DATASUM` is the ones' complement sum of the 32-bit words of the data, `CHECKSUM` a text that makes
//! the sum of the whole unit minus zero. FITS 4.0, appendix J.

/// A sum of bytes by their places.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u32);

/// Adds with the carry at the low end.
fn plus(a: u32, b: u32) -> u32 {
    let (sum, carried) = a.overflowing_add(b);
    sum + u32::from(carried)
}

impl Sum {
    /// Adds bytes that begin at byte `at` of the data.
    pub(super) fn add(&mut self, at: u64, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
        let mut last = [0u8; 4];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        sum += u64::from(u32::from_be_bytes(last));
        while sum > u64::from(u32::MAX) {
            sum = (sum & 0xffff_ffff) + (sum >> 32);
        }
        // Bytes that do not begin with a word are a rotation of such that do.
        self.0 = plus(self.0, (sum as u32).rotate_right(8 * (at % 4) as u32));
    }

    /// The sum.
    pub(super) fn value(self) -> u32 {
        self.0
    }

    /// The sum of two.
    pub(super) fn with(self, other: Sum) -> Sum {
        Sum(plus(self.0, other.0))
    }

    /// The text for `CHECKSUM` where this is the sum of the unit with sixteen zeros as that text.
    pub(super) fn text(self) -> String {
        let value = !self.0;
        let mut out = [b'0'; 16];
        for (n, byte) in value.to_be_bytes().into_iter().enumerate() {
            let each = byte / 4 + b'0';
            let mut four = [each + byte % 4, each, each, each];
            // Letters and digits only: what one of a pair gives, the other takes.
            let is_other = |b: u8| (0x3a..=0x40).contains(&b) || (0x5b..=0x60).contains(&b);
            while four.iter().any(|b| is_other(*b)) {
                for pair in four.chunks_exact_mut(2) {
                    if pair.iter().any(|b| is_other(*b))
                        && let [first, second] = pair
                    {
                        *first += 1;
                        *second -= 1;
                    }
                }
            }
            for (place, character) in four.into_iter().enumerate() {
                if let Some(to) = out.get_mut(4 * place + n) {
                    *to = character;
                }
            }
        }
        // The text begins three bytes into a word of its card, its second character with the next one.
        out.rotate_right(1);
        out.iter().map(|b| char::from(*b)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_sum_up_to_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
            let cut = cut.min(bytes.len());
            let (mut whole, mut parts) = (Sum::default(), Sum::default());
            whole.add(0, &bytes);
            parts.add(cut as u64, &bytes[cut..]);
            parts.add(0, &bytes[..cut]);
            // Plus and minus zero are the same.
            prop_assert_eq!(whole.value() % u32::MAX, parts.value() % u32::MAX);
        }

        #[test]
        fn the_text_makes_the_sum_nothing(sum: u32) {
            let text = Sum(sum).text();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric()), "{text}");
            // As if the text stood in place of zeros, from the fourth byte of a word on.
            let (mut zeros, mut there) = (Sum::default(), Sum::default());
            zeros.add(3, &[b'0'; 16]);
            there.add(3, text.as_bytes());
            let rest = plus(sum, !zeros.value());
            prop_assert_eq!(plus(rest, there.value()) % u32::MAX, 0);
        }
    }
}
