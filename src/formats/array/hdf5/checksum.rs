//! Bob Jenkins' lookup3 hash, with which HDF5 protects its newer structures
//! (<http://burtleburtle.net/bob/c/lookup3.c>, public domain; `hashlittle` with an initial value of 0).

/// The checksum of `bytes`.
pub fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let mut state = [start; 3];
    let mut rest = bytes;
    // The last one to twelve bytes are mixed in another way than all before them.
    while rest.len() > 12 {
        let (block, after) = rest.split_at(12);
        add(&mut state, block);
        mix(&mut state);
        rest = after;
    }
    if !rest.is_empty() {
        add(&mut state, rest);
        last(&mut state);
    }
    state[2]
}

/// Whether the last four bytes are the checksum of all before them.
pub fn is_right(bytes: &[u8]) -> bool {
    let Some((covered, stored)) = bytes.split_last_chunk::<4>() else { return false };
    lookup3(covered) == u32::from_le_bytes(*stored)
}

/// Adds up to twelve bytes as three little-endian numbers; missing ones are zeros.
fn add(state: &mut [u32; 3], block: &[u8]) {
    for (n, byte) in block.iter().enumerate().take(12) {
        let value = &mut state[n / 4];
        *value = value.wrapping_add(u32::from(*byte) << (8 * (n % 4)));
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    *a = a.wrapping_sub(*c) ^ c.rotate_left(4);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(6);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(8);
    *b = b.wrapping_add(*a);
    *a = a.wrapping_sub(*c) ^ c.rotate_left(16);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(19);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(4);
    *b = b.wrapping_add(*a);
}

fn last([a, b, c]: &mut [u32; 3]) {
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
}

#[cfg(test)]
mod tests {
    use super::lookup3;

    #[test]
    fn known_hashes() {
        // From the comments of lookup3.c.
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
