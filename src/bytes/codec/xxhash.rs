//! xxHash of 32 bits: the checksum of LZ4's framings.
//! <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>

const P: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];

/// xxHash of 32 bits over bytes that come in parts.
pub struct Xxh32 {
    seed: u32,
    lanes: [u32; 4],
    rest: Vec<u8>,
    len: u32,
    long: bool,
}

impl Xxh32 {
    /// A hash of nothing so far.
    pub fn new(seed: u32) -> Self {
        let lanes =
            [P[0].wrapping_add(P[1]), P[1], 0, P[0].wrapping_neg()].map(|lane| seed.wrapping_add(lane));
        Xxh32 { seed, lanes, rest: Vec::with_capacity(16), len: 0, long: false }
    }

    fn stripe(&mut self, stripe: &[u8]) {
        for (lane, word) in self.lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
            *lane = lane
                .wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P[1]))
                .rotate_left(13)
                .wrapping_mul(P[0]);
        }
        self.long = true;
    }

    /// Adds bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.len = self.len.wrapping_add(bytes.len() as u32);
        if !self.rest.is_empty() {
            let (fill, after) = bytes.split_at((16 - self.rest.len()).min(bytes.len()));
            self.rest.extend_from_slice(fill);
            bytes = after;
            if self.rest.len() < 16 {
                return;
            }
            let rest = std::mem::take(&mut self.rest);
            self.stripe(&rest);
        }
        let (stripes, rest) = bytes.as_chunks::<16>();
        for stripe in stripes {
            self.stripe(stripe);
        }
        self.rest.extend_from_slice(rest);
    }

    /// The hash of all bytes so far.
    pub fn finish(&self) -> u32 {
        let [a, b, c, d] = self.lanes;
        let mut hash = match self.long {
            true => a
                .rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18)),
            false => self.seed.wrapping_add(P[4]),
        };
        hash = hash.wrapping_add(self.len);
        let (words, bytes) = self.rest.as_chunks::<4>();
        for word in words {
            hash = hash
                .wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P[2]))
                .rotate_left(17)
                .wrapping_mul(P[3]);
        }
        for &byte in bytes {
            hash = hash.wrapping_add(u32::from(byte).wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
        }
        hash = (hash ^ hash >> 15).wrapping_mul(P[1]);
        hash = (hash ^ hash >> 13).wrapping_mul(P[2]);
        hash ^ hash >> 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8], seed: u32) -> u32 {
        let mut hash = Xxh32::new(seed);
        hash.update(bytes);
        hash.finish()
    }

    #[test]
    fn the_checksum_has_its_published_values() {
        assert_eq!(hash(b"", 0), 0x02cc_5d05);
        assert_eq!(hash(b"a", 0), 0x550d_7456);
        assert_eq!(hash(b"Nobody inspects the spammish repetition", 0), 0xe229_3b2f);
        assert_eq!(hash(b"", 0x9747_b28c), 0x8d3b_42d8);
        assert_eq!(hash(b"Nobody inspects the spammish repetition", 0x9747_b28c), 0x70b9_1719);
        let mut parts = Xxh32::new(0);
        for part in b"Nobody inspects the spammish repetition".chunks(7) {
            parts.update(part);
        }
        assert_eq!(parts.finish(), 0xe229_3b2f);
    }
}
