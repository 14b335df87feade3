//! A mapped file that may change under us, without the process dying of it: `guard` sees to that where the system lets
//! others make a mapped file shorter. Windows does not.

#[cfg(unix)]
mod guard;

use super::Growth;
use crate::bytes::error::{Error, Result};
use crate::bytes::system::{self, FileIdentity};
use crate::bytes::task::Task;
use bytes::Bytes;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// An open file: mapped for views, and by descriptor for copies.
pub(super) struct MappedFile {
    file: File,
    identity: FileIdentity,
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
    known: parking_lot::Mutex<Option<FileIdentity>>,
}

/// Bytes at the beginning and at the end by which a file is known again.
const ENDS: u64 = 1 << 10;

impl MappedFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| super::not_opened(e, path))?;
        Self::of(file).map_err(|e| e.in_file(path.display()))
    }

    fn of(file: File) -> Result<Self> {
        let identity = FileIdentity::of(&file)?;
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
            match system::read_more(&self.file, &mut out, at) {
                Ok(0) => return Err(changed()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        out.truncate(want);
        Ok(out)
    }

    /// A copy through the kernel.
    pub(super) fn copy(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.check()?;
        system::read_exact_at(&self.file, out, offset).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => changed(),
            _ => e.into(),
        })
    }

    fn check(&self) -> Result<()> {
        let torn = self.map.as_ref().is_some_and(|m| m.torn());
        if torn {
            return Err(changed());
        }
        let now = FileIdentity::of(&self.file)?;
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
        system::read_exact_at(&self.file, &mut first, 0)?;
        system::read_exact_at(&self.file, &mut last, self.identity.size - len as u64)?;
        Ok((first, last))
    }

    /// Whether it has changed in the way that it may.
    pub(super) fn has_grown(&self) -> bool {
        FileIdentity::of(&self.file).is_ok_and(|now| now != self.identity && self.has_grown_to(now))
    }

    /// Whether it is that file.
    pub(super) fn is(&self, device: u64, inode: u64) -> bool {
        (self.identity.device, self.identity.inode) == (device, inode)
    }

    /// Whether the file as it is now is the one that was opened, changed in the way that it may.
    fn has_grown_to(&self, now: FileIdentity) -> bool {
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

/// A memory map, and what guards it.
struct Map {
    /// Before the map, so that it goes first.
    #[cfg(unix)]
    guard: guard::Guard,
    map: memmap2::Mmap,
}

impl Map {
    fn new(file: &File) -> Result<Self> {
        #[cfg(unix)]
        guard::install();
        // SAFETY: the map is read-only and only handed out as bytes. Another process may change the
        // file: its bytes may then change, which our parsers must and do survive (they check every
        // size), and a shrunken file is caught by the guard.
        #[allow(clippy::disallowed_methods)]
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Map {
            #[cfg(unix)]
            guard: guard::Guard::new(&map),
            map,
        })
    }

    /// Whether something was read that is not there any more.
    #[cfg(unix)]
    fn torn(&self) -> bool {
        self.guard.torn()
    }

    /// A mapped file stays as long as it is.
    #[cfg(not(unix))]
    fn torn(&self) -> bool {
        false
    }
}

struct MapOwner(Arc<Map>);

impl AsRef<[u8]> for MapOwner {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}
