//! Avro's bytes, as several formats write them: numbers and texts, and the container around records
//! (<https://avro.apache.org/docs/1.12.0/specification/>, *Binary encoding*, *Object Container Files*).

use xxhash_rust::xxh3::xxh3_128;

/// What a container file begins with.
pub const MAGIC: &[u8] = b"Obj\x01";

/// Appends a number: zigzag, seven bits a byte, the lowest first.
pub fn long(value: i64, out: &mut Vec<u8>) {
    let mut rest = (value << 1 ^ value >> 63) as u64;
    while rest > 0x7f {
        out.push(rest as u8 & 0x7f | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends bytes with their length.
pub fn bytes(value: &[u8], out: &mut Vec<u8>) {
    long(value.len() as i64, out);
    out.extend_from_slice(value);
}

/// A number in as few big-endian bytes as hold it with its sign; `digits` are its bytes, the highest first.
pub fn shortened(digits: &[u8]) -> &[u8] {
    let sign = if digits.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
    let is_spare =
        |pair: &&[u8]| matches!(pair, [first, second] if *first == sign && (second ^ sign) & 0x80 == 0);
    let spare = digits.windows(2).take_while(is_spare).count();
    digits.get(spare..).unwrap_or_default()
}

/// What stands before the blocks of a container, its metadata with `avro.schema` and `avro.codec` among them; and the
/// mark that stands behind each block.
pub fn head(pairs: &[(String, String)]) -> (Vec<u8>, [u8; 16]) {
    let mut out = MAGIC.to_vec();
    long(pairs.len() as i64, &mut out);
    for (name, value) in pairs {
        bytes(name.as_bytes(), &mut out);
        bytes(value.as_bytes(), &mut out);
    }
    out.push(0);
    let sync = xxh3_128(&out).to_be_bytes();
    out.extend_from_slice(&sync);
    (out, sync)
}

/// Appends a block of `count` records, whose bytes are compressed already.
pub fn block(count: usize, stored: &[u8], sync: &[u8; 16], out: &mut Vec<u8>) {
    long(count as i64, out);
    bytes(stored, out);
    out.extend_from_slice(sync);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        let coded = |value| {
            let mut out = Vec::new();
            long(value, &mut out);
            out
        };
        assert_eq!(
            [0, -1, 1, -2, 2, -64, 64].map(coded),
            [vec![0], vec![1], vec![2], vec![3], vec![4], vec![0x7f], vec![0x80, 1],]
        );
        assert_eq!(coded(i64::MIN), [[0xff; 9].as_slice(), &[1]].concat());
    }

    #[test]
    fn decimals_are_short() {
        let coded = |value: i128| shortened(&value.to_be_bytes()).to_vec();
        assert_eq!(
            [0, 1, 127, 128, -1, -128, -129].map(coded),
            [vec![0], vec![1], vec![127], vec![0, 128], vec![0xff], vec![0x80], vec![0xff, 0x7f]]
        );
    }
}
