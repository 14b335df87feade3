//! `Source`: named bytes to read by ranges — a mapped file, memory, a slice of another source, a
//! decompressed stream — or a folder of them.
//!
//! Nothing else in the library opens or maps files. Reads return owned [`Bytes`], so results never borrow a file, and up
//! to [`OWNED`] bytes they are copies through the kernel: drawing them meets no page fault, they are no zeros where the
//! file shrinks, and no mapped pages stay behind in the process' resident memory. The exception are larger reads of
//! a mapped file, which are slices of its map: the buffers of large scans, which nobody draws. Before each read the file's identity (device, inode, size, mtime) is
//! compared with what it was at open; a file that shrinks *during* a read of the map is caught by
//! [`map`]'s guard. Both end in an error that says so, not in a crash or in mixed data.

mod beneath;
mod braces;
mod folder;
mod growth;
mod map;
mod reader;
#[cfg(target_os = "linux")]
mod sealed;

pub use beneath::FileBeneath;
pub use folder::Folder;
pub use growth::Growth;
pub use map::is_open;
pub use reader::Reader;
#[cfg(target_os = "linux")]
pub use sealed::{sealed, sealed_bytes};

use crate::bytes::error::{Error, Result};
use crate::bytes::guard::{guarded, known};
use crate::bytes::limits;
use crate::bytes::task::Task;
use bytes::Bytes;
use map::MappedFile;
use parking_lot::Mutex;
use std::any::Any;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Named bytes, or a folder. Cheap to clone.
#[derive(Clone)]
pub struct Source(Arc<Inner>);

struct Inner {
    name: String,
    path: Option<PathBuf>,
    /// The file that all of this was decompressed from.
    packed: Option<PathBuf>,
    depth: u32,
    backing: Backing,
    /// The bytes that it was decompressed from, where those are in one piece.
    origin: Option<Packed>,
}

/// Bytes that others were decompressed from.
#[derive(Clone)]
pub struct Packed {
    /// What they lie in.
    pub source: Source,
    /// Where in it.
    pub range: Range<u64>,
    /// What they were packed with: `deflate`, `gzip`, `UTF-16LE`.
    pub codec: String,
}

enum Backing {
    File(MappedFile),
    Memory(Bytes),
    Slice {
        parent: Source,
        start: u64,
        len: u64,
    },
    Stream(Arc<dyn ReadAt>),
    Folder,
    /// Of a folder these files alone.
    Files(Vec<String>),
}

/// Bytes that are made on demand: a decompressed stream with an index.
pub trait ReadAt: Send + Sync {
    /// The length in bytes if it is known without work.
    fn known_len(&self) -> Option<u64>;
    /// The length in bytes; may read the whole stream once.
    fn len(&self, task: &Task) -> Result<u64>;
    /// Fills `out` from `offset`; fewer bytes only at the end of the stream. Returns how many.
    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize>;
    /// Itself, for who made it and wants to know it again.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// Bytes that are made on demand, with a guard around what makes them.
struct GuardedStream(Arc<dyn ReadAt>);

impl ReadAt for GuardedStream {
    fn known_len(&self) -> Option<u64> {
        known(None, || self.0.known_len())
    }

    fn len(&self, task: &Task) -> Result<u64> {
        guarded(|| self.0.len(task))
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        guarded(|| self.0.read_at(task, offset, out))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.0.as_any()
    }
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in its folder, without a path.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
    /// Its size in bytes; 0 for folders.
    pub bytes: u64,
}

/// Reads up to this many bytes are copied out of a mapped file. Page faults of the map cost as much as the copy or more,
/// and of a file that is not in memory they fetch megabytes around the page: summed by pieces, a cached file gave 4.8 GB/s
/// through the map, and copied 6 GB/s by pieces of 1 MB, 4.8 by 8 MB, 4.3 by 16 MB and 0.8 by 64 MB, where the
/// allocator gives memory back to the system each time.
pub const OWNED: u64 = 8 << 20;

/// The bounds to what this process may open, where there are any: none for those of the system, else files and folders with
/// what is below them.
static BOUNDS: OnceLock<Option<Vec<PathBuf>>> = OnceLock::new();

/// Says that from now on there are bounds to what this process may open: a file that may not be opened is refused then,
/// whatever its permissions are. The bounds are the system's, or else these files and folders with what is below them.
pub(crate) fn confine(bounds: Option<&[PathBuf]>) {
    let both = |place: &PathBuf| [std::path::absolute(place).ok(), std::fs::canonicalize(place).ok()];
    let _ = BOUNDS.set(bounds.map(|bounds| bounds.iter().flat_map(both).flatten().collect()));
}

/// Whether this process may open what a path leads to, as far as it is not the system that bounds it. Of a path that leads
/// elsewhere the system is not asked: it might ask another machine.
fn permitted(path: &Path) -> std::io::Result<()> {
    let Some(Some(bounds)) = BOUNDS.get() else { return Ok(()) };
    let within = |path: &Path| bounds.iter().any(|place| path.starts_with(place));
    let whole = std::path::absolute(path)?;
    // What is not there may be asked for, and some volumes cannot say where a path leads.
    let is_within = within(&whole) && std::fs::canonicalize(&whole).map_or(true, |real| within(&real));
    if is_within { Ok(()) } else { Err(std::io::ErrorKind::PermissionDenied.into()) }
}

/// What was refused so, the first few.
static REFUSED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How many of them are kept.
const REFUSALS: usize = 8;

/// The files and folders that this process may not open and was to, the first few, since this was asked last.
pub(crate) fn take_refused() -> Vec<PathBuf> {
    std::mem::take(&mut *REFUSED.lock())
}

/// An error of opening `path`.
fn not_opened(error: std::io::Error, path: &Path) -> Error {
    let error = match error.kind() {
        std::io::ErrorKind::PermissionDenied if BOUNDS.get().is_some() => {
            let mut refused = REFUSED.lock();
            if refused.len() < REFUSALS && !refused.iter().any(|known| known == path) {
                refused.push(path.to_owned());
            }
            Error::refused(
                "it lies outside of the document's folder, which is all that its reader may open; \
                 another folder can be allowed",
            )
        }
        _ => error.into(),
    };
    error.in_file(path.display())
}

impl Source {
    /// Opens a file or a folder. Files are opened read-only and mapped; nothing is read. A name in the notation of
    /// shells for several files (`train-{000000..000123}.tar`), where there is no file of just that name, is a folder in
    /// which nothing but these lies.
    pub fn open(_task: &Task, path: &Path) -> Result<Source> {
        let named = |e: std::io::Error| not_opened(e, path);
        permitted(path).map_err(named)?;
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) => return Source::several(path).ok_or_else(|| named(error)),
        };
        let backing = if meta.is_dir() {
            // Asking for the entries now turns "no permission" into an error at the door.
            std::fs::read_dir(path).map_err(named)?;
            Backing::Folder
        } else if meta.is_file() {
            Backing::File(MappedFile::open(path)?)
        } else {
            return Err(Error::unsupported("not a file or folder, but a device, socket or pipe")
                .in_file(path.display()));
        };
        let name = path
            .file_name()
            .or_else(|| path.components().next_back().map(Component::as_os_str))
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        Ok(Source(Arc::new(Inner {
            name,
            path: Some(path.to_owned()),
            packed: None,
            depth: 0,
            backing,
            origin: None,
        })))
    }

    /// The files that a name with braces stands for, where at least one is there.
    fn several(path: &Path) -> Option<Source> {
        let name = path.file_name()?.to_str()?;
        let names = braces::expanded(name)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !names.iter().any(|name| folder.join(name).is_file()) {
            return None;
        }
        let (name, path, backing) = (name.to_owned(), Some(folder.to_owned()), Backing::Files(names));
        Some(Source(Arc::new(Inner { name, path, packed: None, depth: 0, backing, origin: None })))
    }

    /// Bytes in memory under a name.
    pub fn memory(name: impl Into<String>, bytes: impl Into<Bytes>) -> Source {
        Source::made(name, 0, Backing::Memory(bytes.into()))
    }

    /// Bytes inside this source that are a thing of their own (a stored zip member). Counts as one
    /// level of nesting.
    pub fn member(&self, name: impl Into<String>, range: Range<u64>) -> Result<Source> {
        let (depth, start, len) = (self.deeper()?, range.start, self.within(&range)?);
        Ok(Source::made(name, depth, Backing::Slice { parent: self.clone(), start, len }))
    }

    /// Bytes that are made from this source on demand (a decompressed stream). One level of nesting.
    pub fn stream(&self, name: impl Into<String>, bytes: Arc<dyn ReadAt>) -> Result<Source> {
        let bytes = Arc::new(GuardedStream(bytes));
        Ok(Source::made(name, self.deeper()?, Backing::Stream(bytes)))
    }

    /// Bytes made from this source that are in memory now (an inflated zip member). One level.
    pub fn inflated(&self, name: impl Into<String>, bytes: Bytes) -> Result<Source> {
        Ok(Source::made(name, self.deeper()?, Backing::Memory(bytes)))
    }

    /// All of this source, decompressed on demand: the same file in another form, whose neighbours are this
    /// one's. One level of nesting.
    pub fn decompressed(&self, name: impl Into<String>, bytes: Arc<dyn ReadAt>) -> Result<Source> {
        let packed = self.0.path.clone().or_else(|| self.0.packed.clone());
        let (name, backing) = (name.into(), Backing::Stream(Arc::new(GuardedStream(bytes))));
        let depth = self.deeper()?;
        Ok(Source(Arc::new(Inner { name, path: None, packed, depth, backing, origin: None })))
    }

    fn made(name: impl Into<String>, depth: u32, backing: Backing) -> Source {
        Source(Arc::new(Inner { name: name.into(), path: None, packed: None, depth, backing, origin: None }))
    }

    /// This source, which was made just now and of which there is no other handle yet, with what it was decompressed
    /// from: the bytes `range` of `source`, packed with `codec`.
    pub fn unpacked_from(mut self, source: &Source, range: Range<u64>, codec: impl Into<String>) -> Source {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.origin = Some(Packed { source: source.clone(), range, codec: codec.into() });
        }
        self
    }

    /// The bytes that this source was decompressed from, where that is known.
    pub fn origin(&self) -> Option<Packed> {
        self.0.origin.clone()
    }

    fn deeper(&self) -> Result<u32> {
        if self.0.depth >= limits::NESTING {
            return Err(Error::limit(format!("{} files inside each other", self.0.depth + 1)));
        }
        Ok(self.0.depth + 1)
    }

    /// The name, without folders: what detection by extension looks at.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The path on disk; `None` for bytes inside other files.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// How many files this one lies inside of.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Whether this is a folder.
    pub fn is_folder(&self) -> bool {
        matches!(self.0.backing, Backing::Folder | Backing::Files(_))
    }

    /// Whether the bytes are made in order from earlier ones, so that several readers at once gain
    /// nothing.
    pub fn is_stream(&self) -> bool {
        match &self.0.backing {
            Backing::Stream(_) => true,
            Backing::Slice { parent, .. } => parent.is_stream(),
            _ => false,
        }
    }

    /// The length in bytes if no work is needed to know it. Folders have none.
    pub fn known_len(&self) -> Option<u64> {
        match &self.0.backing {
            Backing::File(file) => Some(file.len()),
            Backing::Memory(bytes) => Some(bytes.len() as u64),
            Backing::Slice { len, .. } => Some(*len),
            Backing::Stream(stream) => stream.known_len(),
            Backing::Folder | Backing::Files(_) => None,
        }
    }

    /// What makes the bytes, where it is a `T`.
    pub(crate) fn made_by<T: Any>(&self) -> Option<&T> {
        match &self.0.backing {
            Backing::Stream(stream) => stream.as_any()?.downcast_ref(),
            _ => None,
        }
    }

    /// Whether it is that source, and not another one of the same bytes.
    pub fn is(&self, other: &Source) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The file that the bytes are in as they are: its own, or that of what they are a slice of.
    fn file(&self) -> Option<&MappedFile> {
        match &self.0.backing {
            Backing::File(file) => Some(file),
            Backing::Slice { parent, .. } => parent.file(),
            Backing::Memory(_) | Backing::Stream(_) | Backing::Folder | Backing::Files(_) => None,
        }
    }

    /// Whether bytes near the end cost no more than those at the start: not so in streams, which
    /// are made from the front.
    pub fn is_random_access(&self) -> bool {
        match &self.0.backing {
            Backing::Stream(_) => false,
            Backing::Slice { parent, .. } => parent.is_random_access(),
            _ => true,
        }
    }

    /// The length in bytes; a stream may be read through once to know it.
    pub fn len(&self, task: &Task) -> Result<u64> {
        match &self.0.backing {
            Backing::Stream(stream) => stream.len(task),
            _ => self.known_len().ok_or_else(|| Error::bug("the length of a folder was asked for")),
        }
    }

    /// The bytes of `range`, all of them: an end beyond the file is a `Malformed` error, since some
    /// header promised those bytes. More than [`OWNED`] of a mapped file are a view of the map.
    pub fn read(&self, task: &Task, range: Range<u64>) -> Result<Bytes> {
        task.check()?;
        match &self.0.backing {
            Backing::Stream(stream) => {
                let want = range.end.checked_sub(range.start).ok_or_else(|| backwards(&range))?;
                let mut out = limits::buffer(want, "a read")?;
                let got = stream.read_at(task, range.start, &mut out)?;
                if (got as u64) < want {
                    return Err(ends(range.start + got as u64, &range));
                }
                Ok(out.into())
            }
            Backing::Slice { parent, start, .. } => {
                self.within(&range)?;
                parent.read(task, start + range.start..start + range.end)
            }
            Backing::Memory(bytes) => {
                self.within(&range)?;
                Ok(bytes.slice(range.start as usize..range.end as usize))
            }
            Backing::File(file) => {
                self.within(&range)?;
                if range.end - range.start > OWNED {
                    return file.bytes(range);
                }
                file.read(range).map(Bytes::from)
            }
            Backing::Folder | Backing::Files(_) => Err(Error::bug("bytes of a folder were asked for")),
        }
    }

    /// Up to `most` bytes from `offset`: fewer at the end, none beyond it.
    pub fn read_up_to(&self, task: &Task, offset: u64, most: usize) -> Result<Bytes> {
        if let Backing::Stream(stream) = &self.0.backing {
            let mut out = limits::buffer(most as u64, "a read")?;
            let got = stream.read_at(task, offset, &mut out)?;
            out.truncate(got);
            return Ok(out.into());
        }
        let len = self.len(task)?;
        let start = offset.min(len);
        self.read(task, start..start.saturating_add(most as u64).min(len))
    }

    /// Copies the bytes from `offset` into `out`, all of them, through the kernel rather than the
    /// map: for scans, whose pages should not stay in the process.
    pub fn read_into(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<()> {
        task.check()?;
        let range = offset..offset.saturating_add(out.len() as u64);
        match &self.0.backing {
            Backing::Stream(stream) => {
                let got = stream.read_at(task, offset, out)?;
                if got < out.len() { Err(ends(offset + got as u64, &range)) } else { Ok(()) }
            }
            Backing::Slice { parent, start, .. } => {
                self.within(&range)?;
                parent.read_into(task, start + offset, out)
            }
            Backing::Memory(bytes) => {
                self.within(&range)?;
                let part = bytes.get(range.start as usize..range.end as usize);
                out.copy_from_slice(part.ok_or_else(|| ends(bytes.len() as u64, &range))?);
                Ok(())
            }
            Backing::File(file) => {
                self.within(&range)?;
                file.copy(offset, out)
            }
            Backing::Folder | Backing::Files(_) => Err(Error::bug("bytes of a folder were asked for")),
        }
    }

    /// Copies the bytes of `range` in the kernel to where `file` stands, as many as the system does that with: none where
    /// they are in no file as they are, or the file system cannot. How many it were; reports progress in bytes.
    pub fn copy_to(&self, task: &Task, range: Range<u64>, file: &std::fs::File) -> Result<u64> {
        match &self.0.backing {
            Backing::Slice { parent, start, .. } => {
                self.within(&range)?;
                parent.copy_to(task, start + range.start..start + range.end, file)
            }
            Backing::File(from) => {
                self.within(&range)?;
                from.copy_to(task, range, file)
            }
            _ => Ok(0),
        }
    }

    /// What the bytes of `range` lie in as they are: the source that is no slice of another, and where in it.
    pub fn base(&self, range: Range<u64>) -> (Source, Range<u64>) {
        match &self.0.backing {
            Backing::Slice { parent, start, .. } => {
                let at = |at: u64| start.saturating_add(at);
                parent.base(at(range.start)..at(range.end))
            }
            _ => (self.clone(), range),
        }
    }

    /// `std::io` access to the bytes, for parsers that want a reader.
    pub fn reader(&self, task: &Task) -> Reader {
        Reader::new(self.clone(), task.clone())
    }

    /// The length of `range`, if it lies in this source.
    fn within(&self, range: &Range<u64>) -> Result<u64> {
        let want = range.end.checked_sub(range.start).ok_or_else(|| backwards(range))?;
        match self.known_len() {
            Some(len) if range.end > len => Err(ends(len, range)),
            _ => Ok(want),
        }
    }

    /// What is in this folder, in natural order (`part-2` before `part-10`).
    pub fn entries(&self, task: &Task) -> Result<Vec<Entry>> {
        let path = self.folder_path()?;
        let mut entries = Vec::new();
        if let Backing::Files(names) = &self.0.backing {
            for name in names {
                task.check()?;
                let meta = std::fs::metadata(path.join(name));
                // As a link that leads nowhere: it fails when it is opened.
                let is_folder = meta.as_ref().is_ok_and(|meta| meta.is_dir());
                let bytes = meta.map_or(0, |meta| if meta.is_dir() { 0 } else { meta.len() });
                entries.push(Entry { name: name.clone(), is_folder, bytes });
            }
            return Ok(entries);
        }
        for entry in std::fs::read_dir(path).map_err(|e| not_opened(e, path))? {
            task.check()?;
            let Ok(entry) = entry else { continue };
            // Follows links; a dangling one is listed as an empty file and fails when opened.
            let meta = std::fs::metadata(entry.path());
            let is_folder = meta.as_ref().is_ok_and(|m| m.is_dir());
            let bytes = meta.map_or(0, |m| if m.is_dir() { 0 } else { m.len() });
            entries.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), is_folder, bytes });
        }
        entries.sort_by(|a, b| crate::bytes::display::natural_order(&a.name, &b.name));
        Ok(entries)
    }

    /// Up to `most` of the names in this folder, in the order in which the system has them; sizes are not asked for, so that a
    /// large folder costs no more than a small one.
    pub fn some_entries(&self, task: &Task, most: usize) -> Result<Vec<Entry>> {
        let path = self.folder_path()?;
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).map_err(|e| not_opened(e, path))?.take(most) {
            if entries.len().is_multiple_of(1_024) {
                task.check()?;
            }
            let Ok(entry) = entry else { continue };
            let kind = entry.file_type();
            let is_folder = match kind {
                Ok(kind) if kind.is_symlink() => {
                    std::fs::metadata(entry.path()).is_ok_and(|meta| meta.is_dir())
                }
                Ok(kind) => kind.is_dir(),
                Err(_) => false,
            };
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_folder,
                bytes: 0,
            });
        }
        Ok(entries)
    }

    /// A file or folder in this folder. `name` may have folders (`a/b.npy`) but stays inside.
    pub fn child(&self, task: &Task, name: &str) -> Result<Source> {
        let path = self.folder_path()?;
        Source::open(task, &inside(path, name)?)
    }

    /// The size in bytes of a file in this folder, as [`Source::child`] would find it; nothing is opened.
    pub fn size_of(&self, name: &str) -> Result<u64> {
        let path = inside(self.folder_path()?, name)?;
        std::fs::metadata(&path).map(|meta| meta.len()).map_err(|e| Error::from(e).in_file(path.display()))
    }

    /// A file beside this one (another shard, an index). Never outside the file's own folder.
    pub fn sibling(&self, task: &Task, name: &str) -> Result<Source> {
        let path = self.0.path.as_deref().or(self.0.packed.as_deref());
        let path = path.ok_or_else(|| Error::unsupported("a file inside another has no neighbours"))?;
        let folder = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return Err(Error::io("this file lies in no folder")),
        };
        Source::open(task, &inside(folder, name)?)
    }

    fn folder_path(&self) -> Result<&Path> {
        match (&self.0.backing, self.path()) {
            (Backing::Folder | Backing::Files(_), Some(path)) => Ok(path),
            _ => Err(Error::bug("entries of a file were asked for")),
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({:?}, {:?} bytes)", self.0.name, self.known_len())
    }
}

/// `folder/name`, refused if `name` climbs out, by its parts or through a link.
fn inside(folder: &Path, name: &str) -> Result<PathBuf> {
    let relative = Path::new(name);
    let plain = relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !plain || name.is_empty() {
        return Err(Error::malformed(format!("file reference {name:?}: it leads out of its folder")));
    }
    let path = folder.join(relative);
    let real = |p: &Path| std::fs::canonicalize(p);
    match (real(folder), real(&path)) {
        (Ok(folder), Ok(file)) if !file.starts_with(&folder) => {
            Err(Error::malformed(format!("file reference {name:?}: a link leads out of its folder")))
        }
        _ => Ok(path),
    }
}

fn ends(len: u64, range: &Range<u64>) -> Error {
    Error::malformed(format!(
        "file: it ends at byte {len}, but bytes {} to {} are needed; it may be cut off",
        range.start, range.end
    ))
}

fn backwards(range: &Range<u64>) -> Error {
    Error::malformed(format!("range: it ends at {} before it starts at {}", range.end, range.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_reads_its_part_and_no_more() {
        let task = Task::new();
        let source = Source::memory("all", &b"0123456789"[..]);
        let part = source.member("part", 2..6).unwrap();
        assert_eq!(part.read(&task, 1..3).unwrap(), &b"34"[..]);
        assert!(part.read(&task, 1..5).is_err());
        assert_eq!(part.read_up_to(&task, 3, 100).unwrap(), &b"5"[..]);
        assert_eq!(part.read_up_to(&task, 9, 100).unwrap(), &b""[..]);
    }

    #[test]
    fn names_that_climb_out_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("secret");
        std::fs::write(&outside, b"x").unwrap();
        let inner = folder.path().join("data");
        std::fs::create_dir(&inner).unwrap();
        std::os::unix::fs::symlink(&outside, inner.join("link")).unwrap();
        let source = Source::open(&Task::new(), &inner).unwrap();
        for name in ["../secret", "/etc/passwd", "", "link", "a/../../secret"] {
            assert!(source.child(&Task::new(), name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_that_shrank_is_an_error_and_no_crash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, vec![7u8; OWNED as usize + 1]).unwrap();
        let task = Task::new();
        let source = Source::open(&task, &path).unwrap();
        let owned = source.read(&task, 0..OWNED).unwrap();
        let mapped = source.read(&task, 0..OWNED + 1).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
        assert!(source.read(&task, 0..1 << 20).unwrap_err().to_string().contains("changed"));
        assert!(owned.iter().all(|&byte| byte == 7));
        // What is a view of the map reads as zeros now, it does not kill the process.
        assert_eq!(mapped.iter().map(|&b| u64::from(b)).sum::<u64>() % 7, 0);
    }
}
