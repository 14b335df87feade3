//! Pyramids of waveforms that are kept on disk: for a file as it was when the pyramid was made.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, OnceLock};
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

/// Which sound a pyramid is of, as it was when it was first asked for.
#[derive(Clone)]
pub(super) struct WaveformKey {
    /// The file, where it is one.
    file: Option<PathBuf>,
    /// The path of the sound in it.
    node: String,
    name: Arc<OnceLock<Option<String>>>,
}

impl WaveformKey {
    pub(super) fn of(target: &Target) -> Self {
        WaveformKey::new(target.document.source.path().map(PathBuf::from), target.path.clone())
    }

    fn new(file: Option<PathBuf>, node: String) -> Self {
        WaveformKey { file, node, name: Arc::default() }
    }

    /// What the pyramid is kept as.
    fn name(&self) -> Option<&str> {
        self.name.get_or_init(|| self.name_now()).as_deref()
    }

    /// A name that is another one when the file was changed.
    fn name_now(&self) -> Option<String> {
        let file = fs::canonicalize(self.file.as_ref()?).ok()?;
        let facts = fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
        let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let words = format!("{}\0{}\0{}\0{changed}", file.display(), self.node, facts.len());
        Some(format!("{:032x}", xxh3_128(words.as_bytes())))
    }
}

/// The pyramid of a sound: the one that is kept, else one that is made.
pub(super) fn peaks(
    key: &WaveformKey,
    array: &dyn Array,
    task: &Task,
    show: &mut dyn FnMut(&Peaks),
) -> Result<Peaks> {
    let kept = CACHE.as_ref().and_then(|cache| kept(cache, key, array, task));
    kept.map_or_else(|| Peaks::build(array, task, show), Ok)
}

/// Keeps a pyramid, if it is not there already as it is.
pub(super) fn keep(key: &WaveformKey, peaks: &Peaks, task: &Task) {
    if let Some(cache) = CACHE.as_ref() {
        keep_in(cache, key, peaks, task);
    }
}

fn kept(cache: &FileCache, key: &WaveformKey, array: &dyn Array, task: &Task) -> Option<Peaks> {
    let (frames, channels) = sound::sides(array);
    Peaks::from_bytes(&cache.read(task, key.name()?, sound::KEPT)?, frames, channels)
}

fn keep_in(cache: &FileCache, key: &WaveformKey, peaks: &Peaks, task: &Task) {
    // Not for a file that is another one by now.
    if let Some(name) = key.name()
        && key.name_now().as_deref() == Some(name)
        && let Some(bytes) = peaks.to_bytes()
        && cache.read(task, name, sound::KEPT).as_deref() != Some(&bytes[..])
    {
        cache.keep(name, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gander::data::content::Content;
    use gander::data::format::Options;

    #[test]
    fn a_pyramid_is_there_until_the_file_changes() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let file = folder.path().join("a.wav");
        fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/wav/pcm_16.wav"), &file).unwrap();
        let document = gander::formats::open(&task, &file, &Options::default()).unwrap();
        let Some(Content::Array(array)) = &document.root.content else { panic!("no sound") };
        let key = |node: &str| WaveformKey::new(Some(file.clone()), node.to_owned());
        let cache = FileCache::new(folder.path(), VERSION, 1 << 20);
        assert!(kept(&cache, &key("/"), array.as_ref(), &task).is_none());
        let peaks = Peaks::build(array.as_ref(), &task, &mut |_| ()).unwrap();
        keep_in(&cache, &key("/"), &peaks, &task);
        let read = kept(&cache, &key("/"), array.as_ref(), &task).unwrap();
        assert_eq!(read.columns(0, 0.0..400.0, 10), peaks.columns(0, 0.0..400.0, 10));
        assert!(kept(&cache, &key("/other"), array.as_ref(), &task).is_none());
        // What is damaged is made again.
        cache.keep(key("/").name().unwrap(), b"no pyramid");
        assert!(kept(&cache, &key("/"), array.as_ref(), &task).is_none());
        keep_in(&cache, &key("/"), &peaks, &task);
        let before = key("/");
        assert!(kept(&cache, &before, array.as_ref(), &task).is_some());
        fs::OpenOptions::new().append(true).open(&file).and_then(|file| file.set_len(2_000)).unwrap();
        assert!(kept(&cache, &key("/"), array.as_ref(), &task).is_none());
        // What was made of the file as it was is not kept for what it is now.
        keep_in(&cache, &before, &peaks, &task);
        assert!(kept(&cache, &key("/"), array.as_ref(), &task).is_none());
    }
}
