//! Memory without a name that is passed from one process to another. Its seals
//! (<https://man7.org/linux/man-pages/man2/F_GET_SEALS.2const.html>) keep whoever made it from changing or shrinking it:
//! what was checked stays what it is, so whoever receives it need not copy it.

use crate::bytes::error::{Error, Result};
use bytes::Bytes;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;

/// All that keeps bytes as they are.
const SEALS: SealFlags =
    SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// A copy of bytes in sealed memory.
///
/// # Errors
/// What the system says where there is no memory for them.
pub fn sealed(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create("gander", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pwrite(&memory, rest, at as u64) {
            Ok(0) => return Err(std::io::Error::other("no memory for a message")),
            Ok(count) => at += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rustix::fs::fcntl_add_seals(&memory, SEALS)?;
    Ok(memory)
}

/// The first `len` bytes of sealed memory, as they lie there.
///
/// # Errors
/// `Malformed` for memory that is not sealed, for what is no memory, and for memory that is shorter; `Io` where it cannot be
/// mapped.
pub fn sealed_bytes(memory: &OwnedFd, len: u64) -> Result<Bytes> {
    let seals = rustix::fs::fcntl_get_seals(memory);
    if !seals.is_ok_and(|seals| seals.contains(SEALS)) {
        return Err(Error::malformed("a message lies in no memory that is sealed"));
    }
    let size = rustix::fs::fstat(memory).map_err(std::io::Error::from)?.st_size;
    let len = usize::try_from(len).ok().filter(|len| i64::try_from(*len).is_ok_and(|len| len <= size));
    let len = len.ok_or_else(|| Error::malformed("a message is shorter than it says"))?;
    // SAFETY: the seals keep all others from writing to it and from cutting it, and here it is only read.
    #[allow(clippy::disallowed_methods)]
    let map = unsafe { memmap2::MmapOptions::new().len(len).populate().map(memory)? };
    Ok(Bytes::from_owner(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_what_was_written_and_stays_so() {
        for len in [1usize, 4095, 4096, 100_000] {
            let bytes: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
            let memory = sealed(&bytes).unwrap();
            let mapped = sealed_bytes(&memory, len as u64).unwrap();
            assert_eq!(mapped, bytes);
            assert!(rustix::io::pwrite(&memory, b"x", 0).is_err());
            assert!(rustix::fs::ftruncate(&memory, 0).is_err());
            drop(memory);
            assert_eq!(mapped, bytes);
        }
    }

    #[test]
    fn memory_that_may_change_or_is_shorter_is_refused() {
        let memory = sealed(b"short").unwrap();
        assert!(sealed_bytes(&memory, 6).is_err());
        assert!(sealed_bytes(&memory, u64::MAX).is_err());
        let file: OwnedFd = tempfile::tempfile().unwrap().into();
        assert!(sealed_bytes(&file, 0).is_err());
        let open = rustix::fs::memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::io::pwrite(&open, b"open", 0).unwrap();
        rustix::fs::fcntl_add_seals(&open, SealFlags::SHRINK | SealFlags::GROW).unwrap();
        assert!(sealed_bytes(&open, 4).is_err());
    }
}
