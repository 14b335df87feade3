//! Linux, macOS and their relatives.

use super::FileIdentity;
use rustix::fs::{CWD, FlockOperation, RenameFlags, StatVfs};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io::Result;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

impl FileIdentity {
    /// Of an open file.
    pub(crate) fn of(file: &File) -> Result<Self> {
        file.metadata().map(|meta| Self::from(&meta))
    }

    /// Of what a path leads to.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        std::fs::metadata(path).map(|meta| Self::from(&meta))
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(meta: &Metadata) -> Self {
        FileIdentity {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
        }
    }
}

/// Reads into what a vector has room for, which is not filled with zeros first; how many bytes there were.
pub(crate) fn read_more(file: &File, out: &mut Vec<u8>, at: u64) -> Result<usize> {
    Ok(rustix::io::pread(file, rustix::buffer::spare_capacity(out), at)?)
}

/// Fills `out` from a place in a file.
pub(crate) fn read_exact_at(file: &File, out: &mut [u8], at: u64) -> Result<()> {
    file.read_exact_at(out, at)
}

/// Writes all of `bytes` at a place in a file.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> Result<()> {
    file.write_all_at(bytes, at)
}

/// Shows others that a file or a folder is in use, as long as it is open; whether nobody else does.
pub(crate) fn lock(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// What keeps a file or a folder from others as long as it lives.
pub(crate) type FileLock = File;

/// Opens and locks what nobody else holds.
pub(crate) fn hold(path: &Path) -> Option<FileLock> {
    File::open(path).ok().filter(lock)
}

/// Renames, but never over what is there already.
pub(crate) fn rename_new(from: &Path, to: &Path) -> Result<()> {
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// Whether [`rename_new`] failed because the system, or this file system, does not do that.
pub(crate) fn has_no_rename_new(error: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP))
}

/// Sees to it that the names in a folder are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes a folder that nobody else may look into.
pub(crate) fn create_private_folder(path: &Path) -> Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

/// Makes a file without a name, or one whose name is gone at once, as `path`.
pub(crate) fn create_nameless(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(target_os = "linux")]
    if let Some(folder) = path.parent()
        && let Ok(file) = options.clone().custom_flags(libc::O_TMPFILE).open(folder)
    {
        return Ok(file);
    }
    // File systems that have no nameless files: make one and take its name away.
    let file = options.create_new(true).mode(0o600).open(path)?;
    let _ = std::fs::remove_file(path);
    Ok(file)
}

/// Free bytes for us on the disk of a folder, where that can be known.
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(free)
}

/// The same for the disk of an open file.
pub(crate) fn free_space_of(file: &File) -> Option<u64> {
    rustix::fs::fstatvfs(file).ok().map(free)
}

fn free(disk: StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

/// Whether a path names another machine: no path does here.
pub(crate) fn is_elsewhere(_path: &Path) -> bool {
    false
}

/// Whether there is a process of this number.
pub(crate) fn is_alive(process: i32) -> bool {
    let Some(pid) = rustix::process::Pid::from_raw(process) else { return true };
    !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH))
}

/// The bytes of a name or a path.
pub(crate) fn name_bytes(name: &OsStr) -> &[u8] {
    name.as_bytes()
}

/// The name or the path of these bytes.
pub(crate) fn name_of(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// Bytes of memory of this machine.
#[cfg(target_os = "linux")]
pub(crate) fn memory() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}

/// Bytes of memory of this machine.
#[cfg(not(target_os = "linux"))]
pub(crate) fn memory() -> u64 {
    // SAFETY: sysconf(3) takes no pointers.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page).unwrap_or(0))
}
