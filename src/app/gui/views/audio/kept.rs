//! Pyramids of waveforms that are kept on disk: for a file as it was when the pyramid was made.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

use gander::bytes::error::Result;
use gander::bytes::file_cache::FileCache;
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::sound::{self, Peaks};
use xxhash_rust::xxh3::xxh3_128;

use crate::gui::target::Target;

/// What is written is read again by this version only.
const VERSION: u32 = 1;
/// Bytes that all of them may take.
const STORED: u64 = 512 << 20;

/// In the folder for what can be made again.
static CACHE: LazyLock<Option<FileCache>> = LazyLock::new(|| {
    let folders = directories::ProjectDirs::from("", "", "gander")?;
    Some(FileCache::new(&folders.cache_dir().join("waveforms"), VERSION, STORED))
});

/// Which sound it is of.
#[derive(Clone)]
pub(super) struct Place {
    /// The file, where it is one.
    file: Option<PathBuf>,
    /// The path of the sound in it.
    node: String,
}

impl Place {
    pub(super) fn of(target: &Target) -> Self {
        Place { file: target.document.source.path().map(PathBuf::from), node: target.path.clone() }
    }

    /// A name that is another one when the file was changed.
    fn name(&self) -> Option<String> {
        let file = fs::canonicalize(self.file.as_ref()?).ok()?;
        let facts = fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
        let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let words = format!("{}\0{}\0{}\0{changed}", file.display(), self.node, facts.len());
        Some(format!("{:032x}", xxh3_128(words.as_bytes())))
    }
}

/// The pyramid of a sound: the one that is kept, else made and kept, where it has a place.
pub(super) fn peaks(
    place: Option<&Place>,
    array: &dyn Array,
    task: &Task,
    show: &mut dyn FnMut(&Peaks),
) -> Result<Peaks> {
    let name = place.and_then(Place::name);
    let Some((cache, name)) = CACHE.as_ref().zip(name) else { return Peaks::build(array, task, show) };
    let (frames, channels) = sound::sides(array);
    let kept = cache.read(task, &name, sound::KEPT);
    if let Some(peaks) = kept.and_then(|bytes| Peaks::from_bytes(&bytes, frames, channels)) {
        return Ok(peaks);
    }
    let peaks = Peaks::build(array, task, show)?;
    if let Some(bytes) = peaks.to_bytes() {
        cache.keep(&name, &bytes);
    }
    Ok(peaks)
}
