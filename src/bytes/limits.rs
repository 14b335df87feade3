//! What a file may demand. Every size, count and depth that was read from a file passes through
//! here before anything is allocated, so that no file can eat the machine's memory.

use crate::bytes::error::{Error, Result};

/// The largest header (JSON, Thrift, text) that is parsed, in bytes. safetensors' own limit.
pub const HEADER: u64 = 100 << 20;
/// The largest single allocation for decoded data (a chunk, a page, an inflated member), in bytes.
pub const CHUNK: u64 = 1 << 30;
/// The largest result of one read that a view or a command may ask for, in bytes.
pub const READ: u64 = 2 << 30;
/// The largest value of a column of bytes that is decoded where its page has only few of them, in bytes: the page, the
/// value and its copy in a batch are held at the same time, and stay below [`READ`] together.
pub const VALUE: u64 = 512 << 20;
/// How deep files may lie inside files (an archive in an archive …).
pub const NESTING: u32 = 4;
/// How deep JSON, schemas and headers may nest.
pub const DEPTH: usize = 128;
/// The largest image, in pixels, that is decoded at once.
pub const PIXELS: u64 = 512 << 20;
/// The most children of a node that are listed at once; more of them are paged.
pub const LISTED: u64 = 10_000;
/// The most children that `tree` prints for one node (CLI.md).
pub const PRINTED: u64 = 1_000;
/// The most nodes that a walk over a whole tree visits: statistics of all that is in a file, its conversion.
pub const WALKED: u64 = 1_000_000;
/// The most bytes that a decompressor may give for each byte of a whole stream (deflate's own bound
/// is 1032); beyond it a stream is taken for a bomb.
pub const RATIO: u64 = 1_100;

/// `size` as `usize`, if it is at most `limit`; else an error that names `what` and both numbers.
pub fn check(size: u64, limit: u64, what: &str) -> Result<usize> {
    match usize::try_from(size) {
        Ok(fits) if size <= limit => Ok(fits),
        _ => Err(Error::limit(format!("{what} would take {size} bytes, the limit is {limit}"))),
    }
}

/// A zeroed buffer of `size` bytes for `what`, at most [`CHUNK`] and only if the memory is there.
pub fn buffer(size: u64, what: &str) -> Result<Vec<u8>> {
    zeroed(check(size, CHUNK, what)?, what)
}

/// A zeroed buffer of `size` bytes, or an error where the memory is not there.
pub fn zeroed(size: usize, what: &str) -> Result<Vec<u8>> {
    // Asked for first, so that too much is an error and no abort; then taken anew, since fresh zeros come
    // from the system without a write and take no memory until they are used.
    let mut probe: Vec<u8> = Vec::new();
    probe
        .try_reserve_exact(size)
        .map_err(|_| Error::limit(format!("{what} needs {size} bytes of memory, which are not there")))?;
    // Without this the optimiser may leave the question out.
    drop(std::hint::black_box(probe));
    Ok(vec![0; size])
}

/// The product of `shape`, checked: hostile shapes overflow.
pub fn elements(shape: &[u64]) -> Result<u64> {
    // A zero anywhere makes an empty array, however large the other sides are.
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1u64, |product, &side| product.checked_mul(side))
        .ok_or_else(|| Error::malformed(format!("shape {shape:?}: its product overflows 64 bits")))
}

/// `elements(shape) × size`, checked.
pub fn bytes(shape: &[u64], size: u64) -> Result<u64> {
    elements(shape)?
        .checked_mul(size)
        .ok_or_else(|| Error::malformed(format!("shape {shape:?}: its bytes overflow 64 bits")))
}
