//! Small helpers over bytes of a file: numbers of any size, bits of maps, blocks with a checksum.

use super::super::file::File;
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use bytes::Bytes;

/// A little-endian number; of more than eight bytes the first eight.
pub(super) fn uint(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).enumerate().fold(0, |value, (n, &byte)| value | u64::from(byte) << (8 * n))
}

/// The number of `size` bytes at `at`; zero where the bytes are not there.
pub(super) fn uint_at(bytes: &[u8], at: usize, size: usize) -> u64 {
    uint(bytes.get(at..at.saturating_add(size)).unwrap_or_default())
}

/// Whether an address says that nothing is there: all bits set.
pub(super) fn is_undefined(file: &File, address: u64) -> bool {
    let bits = (file.offset_size() * 8).min(64);
    address == u64::MAX >> (64 - bits.max(1))
}

/// Bit `n` of a map whose first bit is the highest one; unset beyond its end.
pub(super) fn bit(map: &[u8], n: u64) -> bool {
    let byte = usize::try_from(n / 8).ok().and_then(|at| map.get(at)).copied().unwrap_or(0);
    byte & (0x80 >> (n % 8)) != 0
}

/// The place of an address in the source, for error messages.
pub(super) fn place(file: &File, address: u64) -> u64 {
    file.position(address).unwrap_or(address)
}

/// The `size` bytes at `address`, which are followed by their checksum.
///
/// # Errors
/// `Malformed` where the checksum is another one or the bytes are not there.
pub(super) fn checked_block(task: &Task, file: &File, address: u64, size: u64, what: &str) -> Result<Bytes> {
    let bytes = file.read(task, address, size.saturating_add(4))?;
    let end = bytes.len().saturating_sub(4);
    if !checksum::lookup3_matches(&bytes) {
        return Err(Error::malformed(format!("HDF5 {what}: its checksum is wrong")).at(place(file, address)));
    }
    Ok(bytes.slice(..end))
}
