//! Windows.

use super::FileIdentity;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Component, Path, PathBuf, Prefix};
use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, WAIT_OBJECT_0};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_TEMPORARY, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_DELETE_ON_CLOSE, GetDiskFreeSpaceExW, GetFileInformationByHandle, GetFinalPathNameByHandleW,
    MOVEFILE_WRITE_THROUGH, MoveFileExW,
};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_SYNCHRONIZE, WaitForSingleObject};

/// The longest path in units of UTF-16, with its end.
const LONGEST: usize = 32_768;

impl FileIdentity {
    /// Of an open file.
    pub(crate) fn of(file: &File) -> Result<Self> {
        let mut info = BY_HANDLE_FILE_INFORMATION::default();
        // SAFETY: an open handle, and a place for the answer.
        done(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) })?;
        let both = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let time = info.ftLastWriteTime;
        Ok(FileIdentity {
            device: u64::from(info.dwVolumeSerialNumber),
            inode: both(info.nFileIndexHigh, info.nFileIndexLow),
            size: both(info.nFileSizeHigh, info.nFileSizeLow),
            mtime: (i64::from(time.dwHighDateTime), i64::from(time.dwLowDateTime)),
        })
    }

    /// Of what a path leads to.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        // No right but that to ask; the flag lets folders be opened, too.
        let mut options = OpenOptions::new();
        options.access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        Self::of(&options.open(path)?)
    }
}

/// Reads into what a vector has room for; how many bytes there were.
pub(crate) fn read_more(file: &File, out: &mut Vec<u8>, at: u64) -> Result<usize> {
    let len = out.len();
    out.resize(out.capacity(), 0);
    let read = read_at(file, out.get_mut(len..).unwrap_or_default(), at);
    out.truncate(len + read.as_ref().copied().unwrap_or(0));
    read
}

/// Reads at a place in a file; at its end there are no bytes.
fn read_at(file: &File, out: &mut [u8], at: u64) -> Result<usize> {
    file.seek_read(out, at)
}

/// Fills `out` from a place in a file.
pub(crate) fn read_exact_at(file: &File, mut out: &mut [u8], mut at: u64) -> Result<()> {
    while !out.is_empty() {
        match read_at(file, out, at) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                out = out.get_mut(n..).unwrap_or_default();
                at += n as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all of `bytes` at a place in a file.
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => {
                bytes = bytes.get(n..).unwrap_or_default();
                at += n as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Nothing: locks keep others from reading and writing here, also libraries in this process that open the file by its
/// name. Whether a file is in use is told by its process alone.
pub(crate) fn lock(_file: &File) -> bool {
    true
}

/// What keeps a file or a folder from others: nothing, see [`lock`].
pub(crate) struct FileLock;

/// Holds what is there.
pub(crate) fn hold(path: &Path) -> Option<FileLock> {
    path.exists().then_some(FileLock)
}

/// Renames, but never over what is there already.
pub(crate) fn rename_new(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: two texts that end with zero.
    done(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_WRITE_THROUGH) })
}

/// Whether [`rename_new`] failed because this system does not do that: every file system does.
pub(crate) fn has_no_rename_new(_error: &Error) -> bool {
    false
}

/// Nothing: a folder has no bytes of its own that could be waited for.
pub(crate) fn sync_folder(_folder: &Path) -> Result<()> {
    Ok(())
}

/// Makes a folder. The user's folder of temporary files, where such lie, is nobody else's.
pub(crate) fn create_private_folder(path: &Path) -> Result<()> {
    std::fs::create_dir(path)
}

/// Makes a file that is gone when it is closed, however the process ends.
pub(crate) fn create_nameless(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.attributes(FILE_ATTRIBUTE_TEMPORARY).custom_flags(FILE_FLAG_DELETE_ON_CLOSE).open(path)
}

/// Free bytes for us on the disk of a folder, where that can be known.
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    let (folder, mut free) = (wide(folder), 0);
    let none = std::ptr::null_mut();
    // SAFETY: a text that ends with zero, and a place for one number; those that are not wanted are null.
    done(unsafe { GetDiskFreeSpaceExW(folder.as_ptr(), &raw mut free, none, none) }).ok()?;
    Some(free)
}

/// The same for the disk of an open file.
pub(crate) fn free_space_of(file: &File) -> Option<u64> {
    free_space(path_of(file)?.parent()?)
}

/// Where an open file lies.
fn path_of(file: &File) -> Option<PathBuf> {
    let mut path = vec![0; LONGEST];
    // SAFETY: an open handle, and as many places as are named.
    let len =
        unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), LONGEST as u32, 0) };
    let path = path.get(..len as usize).filter(|path| !path.is_empty())?;
    Some(PathBuf::from(OsString::from_wide(path)))
}

/// Whether a path names another machine, which would be asked by looking at it, or a device.
pub(crate) fn is_elsewhere(path: &Path) -> bool {
    let Some(Component::Prefix(prefix)) = path.components().next() else { return false };
    !matches!(prefix.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_))
}

/// Whether there is a process of this number.
pub(crate) fn is_alive(process: i32) -> bool {
    // SAFETY: no pointers.
    let handle = unsafe { OpenProcess(PROCESS_SYNCHRONIZE, 0, process.unsigned_abs()) };
    if handle.is_null() {
        return Error::last_os_error().raw_os_error() == Some(ERROR_ACCESS_DENIED as i32);
    }
    // SAFETY: it was opened just now, and nobody else has it.
    let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
    // One that has ended stays as long as somebody has a handle of it.
    // SAFETY: an open handle.
    let ended = unsafe { WaitForSingleObject(handle.as_raw_handle(), 0) } == WAIT_OBJECT_0;
    !ended
}

/// The bytes of a name or a path, as UTF-8 but for lone surrogates.
pub(crate) fn name_bytes(name: &OsStr) -> &[u8] {
    name.as_encoded_bytes()
}

/// The name or the path of these bytes; what is no UTF-8 in them is replaced.
pub(crate) fn name_of(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Bytes of memory of this machine.
pub(crate) fn memory() -> u64 {
    let length = size_of::<MEMORYSTATUSEX>() as u32;
    let mut status = MEMORYSTATUSEX { dwLength: length, ..Default::default() };
    // SAFETY: a place for the answer, which says how large it is.
    match done(unsafe { GlobalMemoryStatusEx(&raw mut status) }) {
        Ok(()) => status.ullTotalPhys,
        Err(_) => 0,
    }
}

/// A path as the system takes it: UTF-16 that ends with zero.
fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

/// What a call says: anything but zero is success.
pub(crate) fn done(answer: i32) -> Result<()> {
    if answer != 0 { Ok(()) } else { Err(Error::last_os_error()) }
}
