//! Where decoded bytes and results of queries are kept: the first ones in memory, the rest in a temporary file without a
//! name, which the system removes when the process ends, however it ends.

use crate::bytes::cache::Reservation;
use crate::bytes::error::{Error, Result};
use crate::bytes::system;
use parking_lot::RwLock;
use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes stay in memory.
pub(super) const MEMORY: usize = 8 << 20;
/// How much disk is left free for others.
const RESERVE: u64 = 256 << 20;
/// At most this part of what was free at first is taken.
const SHARE: u64 = 2;
/// After how many written bytes the free space is looked at again.
const LOOK: u64 = 64 << 20;

/// Bytes that grow at the end and can be read anywhere, also while they grow.
pub(crate) struct Spool {
    /// What is kept, for errors.
    what: &'static str,
    memory: RwLock<(Vec<u8>, Reservation)>,
    file: OnceLock<File>,
    len: AtomicU64,
}

impl Spool {
    pub(crate) fn new(what: &'static str) -> Self {
        Spool { what, memory: RwLock::default(), file: OnceLock::new(), len: AtomicU64::new(0) }
    }

    /// How many bytes are there.
    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Adds bytes. One thread at a time may do that; the owner sees to it.
    pub(crate) fn push(&self, bytes: &[u8]) -> Result<()> {
        let len = self.len();
        let room = MEMORY.saturating_sub(usize::try_from(len).unwrap_or(usize::MAX));
        let (near, far) = bytes.split_at(room.min(bytes.len()));
        if !near.is_empty() {
            let (memory, reservation) = &mut *self.memory.write();
            memory.extend_from_slice(near);
            reservation.set(memory.len());
        }
        if !far.is_empty() {
            let at = (len + near.len() as u64) - MEMORY as u64;
            let file = self.file(at, far.len() as u64)?;
            system::write_all_at(file, far, at)?;
        }
        self.len.store(len + bytes.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Copies from `offset`; how many bytes were there.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let there = self.len().saturating_sub(offset);
        let want = out.len().min(usize::try_from(there).unwrap_or(usize::MAX));
        let out = out.get_mut(..want).unwrap_or_default();
        let mut done = 0;
        if offset < MEMORY as u64 {
            let memory = self.memory.read();
            let from = memory.0.get(offset as usize..).unwrap_or_default();
            done = from.len().min(want);
            if let (Some(to), Some(from)) = (out.get_mut(..done), from.get(..done)) {
                to.copy_from_slice(from);
            }
        }
        if done < want {
            let rest = out.get_mut(done..).unwrap_or_default();
            let file = self.file.get().ok_or_else(|| Error::bug("a spool without its file"))?;
            system::read_exact_at(file, rest, offset + done as u64 - MEMORY as u64)?;
        }
        Ok(want)
    }

    /// The file, with room for `more` bytes at `at`.
    fn file(&self, at: u64, more: u64) -> Result<&File> {
        let file = match self.file.get() {
            Some(file) => file,
            None => {
                let made = temporary(self.what)?;
                self.file.get_or_init(|| made)
            }
        };
        if at / LOOK != (at + more) / LOOK || at == 0 {
            // What is free now and what was written make what was free at first.
            let full = |free: u64| free < RESERVE + LOOK || at > free.saturating_add(at) / SHARE;
            if system::free_space_of(file).is_some_and(full) {
                return Err(Error::limit(format!(
                    "{} would take more than half of what is free for temporary files: {} bytes so far",
                    self.what,
                    self.len()
                )));
            }
        }
        Ok(file)
    }
}

/// Makes files for a process that may not.
type Asked = fn(&str) -> Result<File>;
static ASKED: OnceLock<Asked> = OnceLock::new();

/// From now on temporary files are asked for rather than made: this process may not make any.
pub(crate) fn ask_for_files(asked: Asked) {
    let _ = ASKED.set(asked);
}

/// A new file without a name. `/var/tmp` rather than `/tmp`, which is often memory. `what` is kept in it, for errors.
///
/// # Errors
/// What making it gives.
pub(crate) fn temporary(what: &str) -> Result<File> {
    if let Some(asked) = ASKED.get() {
        return asked(what);
    }
    let named = std::env::var_os("TMPDIR").map(PathBuf::from);
    let lasting = cfg!(unix).then(|| PathBuf::from("/var/tmp"));
    let folders = named.into_iter().chain(lasting).chain([std::env::temp_dir()]);
    let mut last = None;
    for folder in folders {
        let name = format!(".gander-{}-{:x}", std::process::id(), unique());
        match system::create_nameless(&folder.join(name)) {
            Ok(file) => return Ok(file),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map(|e| Error::from(e).message()).unwrap_or_default();
    Err(Error::io(format!("no temporary file for {what}: {why}")))
}

fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    NEXT.fetch_add(1, Ordering::Relaxed) << 48 ^ time.map_or(0, |t| t.as_nanos() as u64)
}
