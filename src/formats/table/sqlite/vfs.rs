//! A file system for SQLite (<https://www.sqlite.org/vfs.html>) over our sources: read-only, without locks,
//! shared memory or any file of its own. So databases inside archives open like those on disk, a write-ahead
//! log is honoured without its shared-memory file, and nothing is ever made beside the user's file.

use crate::bytes::error::Error;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use rusqlite::ffi;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The name under which SQLite knows it.
const NAME: &CStr = c"gander";
/// The ending of a write-ahead log's name.
const WAL: &str = "-wal";

/// The files of one database.
pub(super) struct Files {
    pub(super) main: Source,
    pub(super) wal: Option<Source>,
    /// How long the main file is said to be: pages that are cut off read as zeros, so that SQLite does not
    /// refuse the others.
    promised: Option<u64>,
    /// Who may read now, and what went wrong last.
    state: Mutex<State>,
}

struct State {
    task: Task,
    error: Option<Error>,
}

impl Files {
    pub(super) fn new(task: &Task, main: Source, wal: Option<Source>, promised: Option<u64>) -> Files {
        Files { main, wal, promised, state: Mutex::new(State { task: task.clone(), error: None }) }
    }

    /// From now on this task reads.
    pub(super) fn lend(&self, task: &Task) {
        *self.state.lock() = State { task: task.clone(), error: None };
    }

    /// What went wrong in reading since then.
    pub(super) fn error(&self) -> Option<Error> {
        self.state.lock().error.take()
    }

    fn task(&self) -> Task {
        self.state.lock().task.clone()
    }

    fn failed(&self, error: Error) -> c_int {
        self.state.lock().error.get_or_insert(error);
        ffi::SQLITE_IOERR_READ
    }
}

fn registry() -> &'static Mutex<HashMap<u64, Arc<Files>>> {
    static REGISTRY: OnceLock<Mutex<HashMap<u64, Arc<Files>>>> = OnceLock::new();
    REGISTRY.get_or_init(Mutex::default)
}

/// A name by which SQLite can open files, for as long as it is kept.
pub(super) struct Registered(u64);

impl Registered {
    pub(super) fn new(files: Arc<Files>) -> Registered {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        registry().lock().insert(number, files);
        Registered(number)
    }

    /// The path to open.
    pub(super) fn path(&self) -> String {
        format!("/gander/{}", self.0)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        registry().lock().remove(&self.0);
    }
}

/// The files that a path names, and which of them.
fn lookup(path: &str) -> Option<(Arc<Files>, &str)> {
    let rest = path.strip_prefix("/gander/")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, kind) = rest.split_at(digits);
    let files = registry().lock().get(&number.parse().ok()?).cloned()?;
    Some((files, kind))
}

/// The VFS's name, registered at the first call.
pub(super) fn name() -> &'static CStr {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let vfs = Box::new(ffi::sqlite3_vfs {
            iVersion: 1,
            szOsFile: size_of::<File>() as c_int,
            mxPathname: 64,
            pNext: std::ptr::null_mut(),
            zName: NAME.as_ptr(),
            pAppData: std::ptr::null_mut(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: None,
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        });
        // SAFETY: the structure lives as long as the process, as SQLite demands; its functions have the
        // signatures that the header gives.
        unsafe { ffi::sqlite3_vfs_register(Box::leak(vfs), 0) };
    });
    NAME
}

/// What SQLite keeps of an open file; it allocates the place for it.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    opened: *mut Opened,
}

struct Opened {
    files: Arc<Files>,
    /// `None`: an empty file.
    source: Option<Source>,
    /// What the file's length is said to be at least.
    promised: Option<u64>,
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(lock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(sector_zero),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// Runs our code inside SQLite: a panic must not cross it.
fn guarded(work: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(ffi::SQLITE_IOERR)
}

/// The path at `name`.
///
/// # Safety
/// `name` is null or a C string that outlives the result.
unsafe fn path<'a>(name: *const c_char) -> Option<&'a str> {
    if name.is_null() {
        return None;
    }
    // SAFETY: by this function's contract.
    unsafe { CStr::from_ptr(name) }.to_str().ok()
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    _flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    guarded(|| {
        let file = file.cast::<File>();
        // SAFETY: SQLite gives szOsFile writable bytes; without methods it does not call close.
        unsafe { (*file).base.pMethods = std::ptr::null() };
        // SAFETY: the name is null or a C string (the header's contract of xOpen).
        let Some((files, kind)) = unsafe { path(name) }.and_then(lookup) else { return ffi::SQLITE_CANTOPEN };
        let source = match kind {
            "" => Some(files.main.clone()),
            // A database in WAL mode without a log: an empty one.
            WAL => files.wal.clone(),
            _ => return ffi::SQLITE_CANTOPEN,
        };
        let promised = files.promised.filter(|_| kind.is_empty());
        let opened = Box::into_raw(Box::new(Opened { files, source, promised }));
        // SAFETY: as above; out_flags is null or writable.
        unsafe {
            (*file).opened = opened;
            (*file).base.pMethods = &METHODS;
            if !out_flags.is_null() {
                *out_flags = ffi::SQLITE_OPEN_READONLY;
            }
        }
        ffi::SQLITE_OK
    })
}

/// What belongs to a file of ours.
///
/// # Safety
/// `file` was opened by [`open`] and not closed yet.
unsafe fn opened<'a>(file: *mut ffi::sqlite3_file) -> &'a Opened {
    // SAFETY: by this function's contract the pointer is the box of `open`.
    unsafe { &*(*file.cast::<File>()).opened }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    guarded(|| {
        let file = file.cast::<File>();
        // SAFETY: SQLite closes a file once, and uses it no more; the box is that of `open`.
        drop(unsafe { Box::from_raw((*file).opened) });
        ffi::SQLITE_OK
    })
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, out: *mut c_void, amount: c_int, at: i64) -> c_int {
    guarded(|| {
        let (Ok(amount), Ok(at)) = (usize::try_from(amount), u64::try_from(at)) else {
            return ffi::SQLITE_IOERR_READ;
        };
        // SAFETY: SQLite gives `amount` writable bytes; the file is open.
        let (out, opened) =
            unsafe { (std::slice::from_raw_parts_mut(out.cast::<u8>(), amount), opened(file)) };
        let Some(source) = &opened.source else {
            out.fill(0);
            return ffi::SQLITE_IOERR_SHORT_READ;
        };
        let task = opened.files.task();
        let len = match source.len(&task) {
            Ok(len) => len,
            Err(error) => return opened.files.failed(error),
        };
        let there = usize::try_from(len.saturating_sub(at)).unwrap_or(usize::MAX).min(amount);
        let (part, beyond) = out.split_at_mut(there);
        if !part.is_empty()
            && let Err(error) = source.read_into(&task, at, part)
        {
            return opened.files.failed(error);
        }
        beyond.fill(0);
        if there < amount { ffi::SQLITE_IOERR_SHORT_READ } else { ffi::SQLITE_OK }
    })
}

unsafe extern "C" fn write(
    _file: *mut ffi::sqlite3_file,
    _bytes: *const c_void,
    _amount: c_int,
    _at: i64,
) -> c_int {
    ffi::SQLITE_READONLY
}

unsafe extern "C" fn truncate(_file: *mut ffi::sqlite3_file, _size: i64) -> c_int {
    ffi::SQLITE_READONLY
}

unsafe extern "C" fn sync(_file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    guarded(|| {
        // SAFETY: the file is open.
        let opened = unsafe { opened(file) };
        let len = match &opened.source {
            None => Ok(0),
            Some(source) => source.len(&opened.files.task()),
        };
        match len.map(|len| len.max(opened.promised.unwrap_or(0))) {
            Ok(len) => {
                // SAFETY: `size` is writable (the header's contract of xFileSize).
                unsafe { *size = i64::try_from(len).unwrap_or(i64::MAX) };
                ffi::SQLITE_OK
            }
            Err(error) => opened.files.failed(error),
        }
    })
}

unsafe extern "C" fn lock(_file: *mut ffi::sqlite3_file, _level: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(_file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: `out` is writable (the header's contract).
    unsafe { *out = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_file: *mut ffi::sqlite3_file, _op: c_int, _arg: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn sector_zero(_file: *mut ffi::sqlite3_file) -> c_int {
    0
}

unsafe extern "C" fn delete(_vfs: *mut ffi::sqlite3_vfs, _name: *const c_char, _sync: c_int) -> c_int {
    ffi::SQLITE_READONLY
}

unsafe extern "C" fn access(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    guarded(|| {
        // SAFETY: the name is null or a C string; `out` is writable.
        let there = unsafe { path(name) }.and_then(lookup).is_some_and(|(files, kind)| match kind {
            "" => true,
            WAL => files.wal.is_some(),
            // A rollback journal would have to be played back, which is a write.
            _ => false,
        });
        // SAFETY: as above.
        unsafe { *out = c_int::from(there) };
        ffi::SQLITE_OK
    })
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    guarded(|| {
        // SAFETY: the name is null or a C string.
        let Some(path) = (unsafe { path(name) }) else { return ffi::SQLITE_CANTOPEN };
        let Ok(size) = usize::try_from(size) else { return ffi::SQLITE_CANTOPEN };
        if path.len() + 1 > size {
            return ffi::SQLITE_CANTOPEN;
        }
        // SAFETY: `out` has `size` bytes, more than the path and its zero take; they do not overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(path.as_ptr().cast(), out, path.len());
            *out.add(path.len()) = 0;
        }
        ffi::SQLITE_OK
    })
}

unsafe extern "C" fn randomness(_vfs: *mut ffi::sqlite3_vfs, amount: c_int, out: *mut c_char) -> c_int {
    // Read-only connections need none; temporary names are never made.
    // SAFETY: `out` has `amount` bytes.
    unsafe { std::ptr::write_bytes(out, 0x5a, usize::try_from(amount).unwrap_or(0)) };
    amount
}

unsafe extern "C" fn sleep(_vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    microseconds
}

unsafe extern "C" fn current_time(_vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0.0, |since| since.as_secs_f64() / 86_400.0);
    // The Julian day of 1970.
    // SAFETY: `out` is writable.
    unsafe { *out = 2_440_587.5 + days };
    ffi::SQLITE_OK
}
