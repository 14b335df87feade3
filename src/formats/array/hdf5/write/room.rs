//! Room on the disk that is taken before a library writes which does not survive a lack of it.

use crate::bytes::error::Result;
#[cfg(unix)]
use crate::bytes::{display, error::Error};
#[cfg(unix)]
use std::os::fd::BorrowedFd;

/// Makes sure that a file can hold `size` bytes, without changing its length. Where the system cannot tell, nothing is
/// made sure of.
///
/// # Errors
/// `Io` where the disk is full or a file may not become so large.
///
/// # Safety
/// The descriptor must be open.
#[cfg(unix)]
pub(super) unsafe fn reserve(file: i32, size: u64) -> Result<()> {
    use rustix::process::{Resource, getrlimit};
    // SAFETY: the function's own.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    match getrlimit(Resource::Fsize).current {
        Some(limit) if size > limit => {
            let limit = display::bytes(limit);
            Err(Error::io(format!("no file may become larger than {limit} here (ulimit -f)")))
        }
        _ => taken(file, size),
    }
}

#[cfg(target_os = "linux")]
fn taken(file: BorrowedFd<'_>, size: u64) -> Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::{Errno, retry_on_intr};
    match retry_on_intr(|| fallocate(file, FallocateFlags::KEEP_SIZE, 0, size)) {
        Err(Errno::NOSPC | Errno::DQUOT) => Err(Error::io("the disk is full")),
        Err(Errno::FBIG) => Err(Error::io("no file may become so large here")),
        _ => Ok(()),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn taken(_: BorrowedFd<'_>, _: u64) -> Result<()> {
    Ok(())
}

/// Gives back what was taken beyond the end of a file.
///
/// # Safety
/// The descriptor must be open.
#[cfg(unix)]
pub(super) unsafe fn release(file: i32) {
    // SAFETY: the function's own.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    // A file that keeps more room than it needs is whole all the same.
    let _ = rustix::fs::fstat(file).and_then(|stat| rustix::fs::ftruncate(file, stat.st_size as u64));
}

/// Nothing is made sure of.
///
/// # Errors
/// None.
///
/// # Safety
/// Nothing is asked for.
#[cfg(not(unix))]
pub(super) unsafe fn reserve(_file: i32, _size: u64) -> Result<()> {
    Ok(())
}

/// Nothing was taken.
///
/// # Safety
/// Nothing is asked for.
#[cfg(not(unix))]
pub(super) unsafe fn release(_file: i32) {}
