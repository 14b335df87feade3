//! Files made by hand, for tests: without compression, encoded directly in the first version.

use super::table::OrcTable;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;

/// Kinds of streams.
pub(super) const PRESENT: u64 = 0;
pub(super) const DATA: u64 = 1;
pub(super) const LENGTH: u64 = 2;
pub(super) const SECONDARY: u64 = 5;

/// A stripe: its rows, and streams as kind, type and bytes.
pub(super) type MadeStripe = (u64, Vec<(u64, u64, Vec<u8>)>);

pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

pub(super) fn zigzag(value: i64) -> Vec<u8> {
    varint((value << 1 ^ value >> 63) as u64)
}

/// A field of a message with a number.
pub(super) fn int(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

/// A field of a message with bytes.
pub(super) fn bytes(number: u64, value: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Unsigned integers that are not in a run.
pub(super) fn literals(numbers: &[u64]) -> Vec<u8> {
    let one = |part: &[u64]| {
        let numbers: Vec<u8> = part.iter().flat_map(|number| varint(*number)).collect();
        [vec![(0x100 - part.len()) as u8], numbers].concat()
    };
    numbers.chunks(128).flat_map(one).collect()
}

/// The same of signed ones.
pub(super) fn signed(numbers: &[i64]) -> Vec<u8> {
    literals(&numbers.iter().map(|value| (value << 1 ^ value >> 63) as u64).collect::<Vec<_>>())
}

/// A type of this kind above others; a struct's fields are called a, b, ….
pub(super) fn kind(number: u64, below: &[u64]) -> Vec<u8> {
    let names = (b'a'..).take(if number == 12 { below.len() } else { 0 });
    let below: Vec<u8> = below.iter().flat_map(|id| int(2, *id)).collect();
    [int(1, number), below, names.flat_map(|name| bytes(3, &[name])).collect()].concat()
}

/// A file of these types and stripes.
pub(super) fn file(types: &[Vec<u8>], stripes: &[MadeStripe], zone: &str) -> Vec<u8> {
    let mut out = b"ORC".to_vec();
    let mut tail = int(1, 3);
    let mut total = 0;
    for (rows, streams) in stripes {
        let start = out.len() as u64;
        let mut footer = Vec::new();
        for (kind, of, data) in streams {
            footer.extend(bytes(1, &[int(1, *kind), int(2, *of), int(3, data.len() as u64)].concat()));
            out.extend(data);
        }
        let data = out.len() as u64 - start;
        types.iter().for_each(|_| footer.extend(bytes(2, &int(1, 0))));
        footer.extend(bytes(3, zone.as_bytes()));
        let stripe = [int(1, start), int(2, 0), int(3, data), int(4, footer.len() as u64), int(5, *rows)];
        out.extend(footer);
        tail.extend(bytes(3, &stripe.concat()));
        total += rows;
    }
    types.iter().for_each(|of| tail.extend(bytes(4, of)));
    tail.extend(int(6, total));
    let end = [int(1, tail.len() as u64), int(2, 0), int(4, 0), int(4, 12), int(5, 0), bytes(8000, b"ORC")];
    let end = end.concat();
    out.extend(tail);
    out.extend(&end);
    out.push(end.len() as u8);
    out
}

/// The table of such a file.
pub(super) fn table(types: &[Vec<u8>], stripes: &[MadeStripe], zone: &str) -> Result<OrcTable> {
    OrcTable::open(&Task::new(), &Source::memory("x.orc", file(types, stripes, zone)))
}
