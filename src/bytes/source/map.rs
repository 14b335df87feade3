//! A mapped file that may change under us, without the process dying of it.
//!
//! Reading a mapped page beyond the file's end raises SIGBUS. A handler looks the address up in a
//! fixed, lock-free table of our maps; if it is ours, it puts zero pages over the rest of the map
//! and marks the map torn, which turns the read into an error. Other addresses go to the handler
//! that was there before. (mmap(2), sigaction(2); the table is fixed because a signal handler may
//! neither lock nor allocate.)

use super::Growth;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use bytes::Bytes;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// An open file: mapped for views, and by descriptor for copies.
pub(super) struct MappedFile {
    file: File,
    identity: Identity,
    map: Option<Arc<Map>>,
    /// The whole map as `Bytes`; empty for an empty file, which cannot be mapped.
    bytes: Bytes,
    growth: OnceLock<Growing>,
}

/// How a file may change, and by what it is known again.
struct Growing {
    growth: Growth,
    /// The first and the last bytes that were there.
    first: Vec<u8>,
    last: Vec<u8>,
    /// The state in which it was last looked at and found to be the same file.
    known: parking_lot::Mutex<Option<Identity>>,
}

/// Bytes at the beginning and at the end by which a file is known again.
const ENDS: u64 = 1 << 10;

/// What makes a file the one that was opened.
#[derive(PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    mtime: (i64, i64),
}

impl Identity {
    fn of(file: &File) -> Result<Self> {
        let meta = file.metadata()?;
        Ok(Identity {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
        })
    }
}

impl MappedFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| super::not_opened(e, path))?;
        Self::of(file).map_err(|e| e.in_file(path.display()))
    }

    fn of(file: File) -> Result<Self> {
        let identity = Identity::of(&file)?;
        let (map, bytes) = if identity.size == 0 {
            (None, Bytes::new())
        } else {
            let map = Arc::new(Map::new(&file)?);
            (Some(map.clone()), Bytes::from_owner(MapOwner(map)))
        };
        OPEN.lock().push((identity.device, identity.inode));
        Ok(MappedFile { file, identity, map, bytes, growth: OnceLock::new() })
    }

    pub(super) fn len(&self) -> u64 {
        self.identity.size
    }

    /// A view of the map. The range was checked against `len`.
    pub(super) fn bytes(&self, range: Range<u64>) -> Result<Bytes> {
        self.check()?;
        Ok(self.bytes.slice(range.start as usize..range.end as usize))
    }

    /// Copies a range that was checked against `len` in the kernel to where `to` stands; how many bytes the system did it
    /// with, none where it cannot.
    #[cfg(target_os = "linux")]
    pub(super) fn copy_to(&self, task: &Task, range: Range<u64>, to: &File) -> Result<u64> {
        /// Bytes between looks at the task.
        const STEP: u64 = 32 << 20;
        self.check()?;
        let mut at = range.start;
        while at < range.end {
            let step = usize::try_from(STEP.min(range.end - at)).unwrap_or(usize::MAX);
            // Whatever keeps it from going on, the copy by hand that follows meets it too, or does not.
            let Ok(copied) = rustix::fs::copy_file_range(&self.file, Some(&mut at.clone()), to, None, step)
            else {
                break;
            };
            if copied == 0 {
                break;
            }
            at += copied as u64;
            task.advance(copied as u64)?;
        }
        self.check()?;
        Ok(at - range.start)
    }

    /// There is no such call.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn copy_to(&self, _task: &Task, _range: Range<u64>, _to: &File) -> Result<u64> {
        Ok(0)
    }

    /// A copy of a range that was checked against `len`, in memory that is not filled with zeros first.
    pub(super) fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.check()?;
        let want = usize::try_from(range.end - range.start).map_err(|_| Error::bug("a read without end"))?;
        let mut out = Vec::with_capacity(want);
        while out.len() < want {
            let at = range.start + out.len() as u64;
            match rustix::io::pread(&self.file, rustix::buffer::spare_capacity(&mut out), at) {
                Ok(0) => return Err(changed()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(std::io::Error::from(error).into()),
            }
        }
        out.truncate(want);
        Ok(out)
    }

    /// A copy through the kernel.
    pub(super) fn copy(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.check()?;
        self.file.read_exact_at(out, offset).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => changed(),
            _ => e.into(),
        })
    }

    fn check(&self) -> Result<()> {
        let torn = self.map.as_ref().is_some_and(|m| m.torn());
        if torn {
            return Err(changed());
        }
        let now = Identity::of(&self.file)?;
        if now == self.identity || self.has_grown_to(now) { Ok(()) } else { Err(changed()) }
    }

    /// How the file may change.
    pub(super) fn growth(&self) -> Growth {
        self.growth.get().map_or(Growth::Fixed, |growing| growing.growth)
    }

    /// Says how the file may change; only once.
    pub(super) fn grows(&self, growth: Growth) -> Result<()> {
        if growth == Growth::Fixed || self.growth.get().is_some() {
            return Ok(());
        }
        let (first, last) = match growth {
            Growth::Appended => self.ends()?,
            Growth::Fixed | Growth::Live => Default::default(),
        };
        let growing = Growing { growth, first, last, known: parking_lot::Mutex::default() };
        let _ = self.growth.set(growing);
        Ok(())
    }

    /// The first and the last bytes of those that were there when it was opened.
    fn ends(&self) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
        let len = self.identity.size.min(ENDS) as usize;
        let (mut first, mut last) = (vec![0; len], vec![0; len]);
        self.file.read_exact_at(&mut first, 0)?;
        self.file.read_exact_at(&mut last, self.identity.size - len as u64)?;
        Ok((first, last))
    }

    /// Whether it has changed in the way that it may.
    pub(super) fn has_grown(&self) -> bool {
        Identity::of(&self.file).is_ok_and(|now| now != self.identity && self.has_grown_to(now))
    }

    /// Whether it is that file.
    pub(super) fn is(&self, device: u64, inode: u64) -> bool {
        (self.identity.device, self.identity.inode) == (device, inode)
    }

    /// Whether the file as it is now is the one that was opened, changed in the way that it may.
    fn has_grown_to(&self, now: Identity) -> bool {
        let Some(growing) = self.growth.get() else { return false };
        if now.size < self.identity.size {
            return false;
        }
        match growing.growth {
            Growth::Fixed => false,
            Growth::Live => true,
            // As many bytes as before are others, or were written once more.
            Growth::Appended if now.size == self.identity.size => false,
            Growth::Appended => {
                let mut known = growing.known.lock();
                if known.as_ref() == Some(&now) {
                    return true;
                }
                let is_same =
                    self.ends().is_ok_and(|(first, last)| first == growing.first && last == growing.last);
                if is_same {
                    *known = Some(now);
                }
                is_same
            }
        }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        let mut open = OPEN.lock();
        let this = (self.identity.device, self.identity.inode);
        if let Some(at) = open.iter().position(|file| *file == this) {
            open.swap_remove(at);
        }
    }
}

/// Device and inode of every file that is open, so that no result is written over one.
static OPEN: parking_lot::Mutex<Vec<(u64, u64)>> = parking_lot::Mutex::new(Vec::new());

/// Whether the file with this device and inode is open as a source.
pub fn is_open(device: u64, inode: u64) -> bool {
    OPEN.lock().contains(&(device, inode))
}

fn changed() -> Error {
    Error::io("the file changed on disk since it was opened; reload it")
}

/// A memory map and its line in the table.
struct Map {
    map: memmap2::Mmap,
    line: Option<&'static Line>,
}

impl Map {
    fn new(file: &File) -> Result<Self> {
        install();
        // SAFETY: the map is read-only and only handed out as bytes. Another process may change the
        // file: its bytes may then change, which our parsers must and do survive (they check every
        // size), and a shrunken file is caught by the handler below.
        #[allow(clippy::disallowed_methods)]
        let map = unsafe { memmap2::Mmap::map(file)? };
        let start = map.as_ptr() as usize;
        let line = TABLE
            .iter()
            .find(|line| line.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        if let Some(line) = line {
            line.torn.store(false, Ordering::Relaxed);
            line.end.store(start + map.len(), Ordering::Relaxed);
            line.start.store(start, Ordering::Release);
        }
        Ok(Map { map, line })
    }

    fn torn(&self) -> bool {
        self.line.is_some_and(|line| line.torn.load(Ordering::Relaxed))
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if let Some(line) = self.line {
            line.end.store(0, Ordering::Relaxed);
            line.start.store(0, Ordering::Release);
        }
    }
}

struct MapOwner(Arc<Map>);

impl AsRef<[u8]> for MapOwner {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}

/// One map for the handler: `start` 0 is a free line, 1 one that is being filled.
struct Line {
    start: AtomicUsize,
    end: AtomicUsize,
    torn: AtomicBool,
}

static TABLE: [Line; 4096] =
    [const { Line { start: AtomicUsize::new(0), end: AtomicUsize::new(0), torn: AtomicBool::new(false) } };
        4096];

static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

fn install() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: plain calls of sigaction(2) with zeroed, then filled structures; the handler only
        // reads atomics and calls mmap(2).
        unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut previous);
            let _ = PREVIOUS.set(previous);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    });
}

extern "C" fn on_bus_error(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid siginfo for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    for line in &TABLE {
        let (start, end) = (line.start.load(Ordering::Acquire), line.end.load(Ordering::Relaxed));
        if start > 1 && (start..end).contains(&address) {
            line.torn.store(true, Ordering::Relaxed);
            let page = address & !0xfff;
            // SAFETY: replaces pages of our own read-only map by zero pages, which stay mapped until
            // the map is dropped; readers keep seeing valid memory.
            let done = unsafe {
                libc::mmap(
                    page as *mut libc::c_void,
                    end - page,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if done != libc::MAP_FAILED {
                return;
            }
        }
    }
    // Not ours: give the signal back; the faulting instruction runs again and meets that handler.
    if let Some(previous) = PREVIOUS.get() {
        // SAFETY: restores what sigaction(2) itself gave us.
        unsafe { libc::sigaction(libc::SIGBUS, previous, std::ptr::null_mut()) };
    }
}
