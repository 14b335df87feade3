//! Bits of a buffer, from the highest of each byte on.

/// A place in a buffer.
pub(super) struct Bits<'a> {
    rest: &'a [u8],
    /// The next bits, from the top.
    window: u64,
    have: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bits { rest: bytes, window: 0, have: 0 }
    }

    /// Fills the window to at least 57 bits, or with all that is left.
    fn fill(&mut self) {
        if let Some(eight) = self.rest.first_chunk::<8>() {
            let take = (64 - self.have) / 8;
            self.window |= u64::from_be_bytes(*eight) >> self.have;
            // Bits of a byte that is not taken as a whole would be seen twice.
            self.have += take * 8;
            self.window &= !0u64.checked_shr(self.have).unwrap_or(0);
            self.rest = self.rest.get(take as usize..).unwrap_or_default();
            return;
        }
        while self.have <= 56 {
            let Some((&byte, rest)) = self.rest.split_first() else { return };
            self.window |= u64::from(byte) << (56 - self.have);
            self.have += 8;
            self.rest = rest;
        }
    }

    /// The next `count` bits, at most 56; `None` where the buffer ends before.
    pub(super) fn take(&mut self, count: u32) -> Option<u64> {
        if count == 0 {
            return Some(0);
        }
        if self.have < count {
            self.fill();
            if self.have < count {
                return None;
            }
        }
        let value = self.window >> (64 - count);
        self.window <<= count;
        self.have -= count;
        Some(value)
    }

    /// The next `count` bits, at most 128.
    pub(super) fn take_wide(&mut self, count: u32) -> Option<u128> {
        let mut value = 0u128;
        let mut left = count;
        while left > 0 {
            let now = left.min(32);
            value = value << now | u128::from(self.take(now)?);
            left -= now;
        }
        Some(value)
    }

    /// How many zeros come before the next one; both are taken.
    pub(super) fn zeros(&mut self) -> Option<u32> {
        let mut zeros = 0u32;
        loop {
            let here = self.window.leading_zeros();
            if here < self.have {
                self.window = self.window << here << 1;
                self.have -= here + 1;
                return zeros.checked_add(here);
            }
            zeros = zeros.checked_add(self.have)?;
            (self.window, self.have) = (0, 0);
            self.fill();
            if self.have == 0 {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_one_bit_after_the_other(bytes in prop::collection::vec(any::<u8>(), 0..40), counts in prop::collection::vec(0u32..57, 0..20)) {
            let all: Vec<u64> = bytes.iter().flat_map(|b| (0..8).rev().map(move |k| u64::from(b >> k & 1))).collect();
            let (mut bits, mut at) = (Bits::new(&bytes), 0);
            for count in counts {
                if count % 7 == 3 {
                    let expected = all[at..].iter().position(|b| *b == 1);
                    prop_assert_eq!(bits.zeros(), expected.map(|n| n as u32));
                    let Some(n) = expected else { return Ok(()) };
                    at += n + 1;
                    continue;
                }
                let expected = all.get(at..at + count as usize).map(|b| b.iter().fold(0, |n, b| n << 1 | b));
                prop_assert_eq!(bits.take(count), expected);
                if expected.is_none() { return Ok(()); }
                at += count as usize;
            }
        }
    }
}
