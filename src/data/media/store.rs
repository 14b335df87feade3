//! Small pictures that are kept on disk: by the hash of the payload that they were made of, so that none is ever out of
//! date, and of the same payload in two files there is one.

use super::Payload;
use super::thumbnail::{Picture, Preview, thumbnail};
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Formats;
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;
use xxhash_rust::xxh3::xxh3_128;

/// What is written is read again by this version only: another way of making pictures counts up.
const VERSION: u32 = 1;
/// Payloads that are larger are not hashed.
const HASHED: u64 = 64 << 20;
/// The longer side of pictures that are kept.
const SIDE: u64 = 2048;
/// The folder is looked through each time that so many bytes were added, and at first.
const CHECKED: u64 = 16 << 20;

/// A folder of small pictures.
#[derive(Debug)]
pub struct ThumbnailStore {
    folder: PathBuf,
    /// Bytes that it may take.
    most: u64,
    /// Bytes that may still be added before it is looked through.
    room: AtomicU64,
    /// Counts files that are being written.
    next: AtomicU64,
}

impl ThumbnailStore {
    /// A store in this folder, which is made when the first picture is kept, of about so many bytes at most.
    pub fn new(folder: &Path, most: u64) -> Self {
        let folder = folder.join(VERSION.to_string());
        ThumbnailStore { folder, most, room: AtomicU64::new(0), next: AtomicU64::new(0) }
    }

    /// What [`thumbnail`] gives, from the store where it is there, else kept in it. What the disk does not take or give
    /// is made anew, without a word.
    ///
    /// # Errors
    /// Those of [`thumbnail`].
    pub fn thumbnail(&self, task: &Task, formats: Formats, payload: &Payload, side: u32) -> Result<Preview> {
        let Payload::File(source) = payload else { return thumbnail(task, formats, payload, side) };
        let Some(path) = self.path(task, source, side)? else {
            return thumbnail(task, formats, payload, side);
        };
        if let Some(preview) = kept(task, &path) {
            return Ok(preview);
        }
        let preview = thumbnail(task, formats, payload, side)?;
        self.keep(&path, &preview);
        Ok(preview)
    }

    /// Where the picture of a payload is kept; `None` for large ones.
    fn path(&self, task: &Task, source: &Source, side: u32) -> Result<Option<PathBuf>> {
        let len = source.len(task)?;
        if len > HASHED {
            return Ok(None);
        }
        let hash = format!("{:032x}", xxh3_128(&source.read(task, 0..len)?));
        // What a file is may be told by its name.
        let extension = source.name().rsplit_once('.').map_or("", |(_, extension)| extension);
        let word: String = extension.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let first = hash.get(..2).unwrap_or_default();
        Ok(Some(self.folder.join(first).join(format!("{hash}-{side}-{}", word.to_ascii_lowercase()))))
    }

    fn keep(&self, path: &Path, preview: &Preview) {
        let Some(bytes) = encoded(preview) else { return };
        let is_full = self.room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(bytes.len() as u64));
        if is_full.is_err() {
            self.shrink();
            self.room.store(CHECKED, Relaxed);
        }
        let Some(folder) = path.parent() else { return };
        // Whole or not at all: others may read it meanwhile.
        let number = self.next.fetch_add(1, Relaxed);
        let part = folder.join(format!("part-{}-{number}", std::process::id()));
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&part, bytes))
            .and_then(|()| fs::rename(&part, path));
        if written.is_err() {
            drop(fs::remove_file(&part));
        }
    }

    /// Removes the oldest pictures, where there are too many.
    fn shrink(&self) {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        let facts = files.filter_map(|file| {
            let facts = file.metadata().ok()?;
            Some((facts.modified().unwrap_or(SystemTime::UNIX_EPOCH), facts.len(), file.path()))
        });
        let mut all: Vec<(SystemTime, u64, PathBuf)> = facts.collect();
        let mut bytes: u64 = all.iter().map(|(_, len, _)| len).sum();
        if bytes <= self.most {
            return;
        }
        all.sort();
        for (_, len, path) in all {
            if bytes <= self.most / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                bytes -= len;
            }
        }
    }
}

/// What lies in a file of the store.
fn kept(task: &Task, path: &Path) -> Option<Preview> {
    let source = Source::open(task, path).ok()?;
    let len = source.len(task).ok().filter(|len| *len <= HASHED)?;
    decoded(&source.read(task, 0..len).ok()?)
}

/// A line of JSON, then the pixels, compressed; `None` for what has no picture.
fn encoded(preview: &Preview) -> Option<Vec<u8>> {
    let picture = preview.picture.as_ref()?;
    let head = json!({
        "width": picture.width,
        "height": picture.height,
        "size": preview.size,
        "words": preview.words,
        "bytes": preview.bytes,
        "problem": preview.problem,
    });
    let mut out = head.to_string().into_bytes();
    out.push(b'\n');
    out.extend(zstd::bulk::compress(&picture.rgba, 1).ok()?);
    Some(out)
}

/// What [`encoded`] made; `None` for anything else.
fn decoded(bytes: &[u8]) -> Option<Preview> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Json = serde_json::from_slice(bytes.get(..end)?).ok()?;
    let side = |name: &str| head.get(name)?.as_u64().filter(|side| (1..=SIDE).contains(side));
    let (width, height) = (side("width")? as usize, side("height")? as usize);
    let rgba = zstd::bulk::decompress(bytes.get(end + 1..)?, width * height * 4).ok()?;
    if rgba.len() != width * height * 4 {
        return None;
    }
    let size = match head.get("size")? {
        Json::Null => None,
        size => Some((size.get(0)?.as_u64()?, size.get(1)?.as_u64()?)),
    };
    Some(Preview {
        picture: Some(Picture { width, height, rgba }),
        size,
        words: head.get("words")?.as_str()?.to_owned(),
        bytes: head.get("bytes")?.as_u64()?,
        problem: head.get("problem")?.as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ALL;

    /// A picture of one colour.
    fn picture(red: u8) -> Payload {
        let mut bytes = b"P6\n40 20\n255\n".to_vec();
        bytes.extend([red, 0, 0].repeat(800));
        Payload::File(Source::memory("a.ppm", bytes))
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let inner =
            |folder: fs::DirEntry| fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        fs::read_dir(folder.join("1")).unwrap().flat_map(|folder| inner(folder.unwrap())).collect()
    }

    #[test]
    fn what_is_kept_is_what_was_made() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let store = ThumbnailStore::new(folder.path(), 1 << 20);
        let made = thumbnail(&task, ALL, &picture(9), 16).unwrap();
        assert_eq!(store.thumbnail(&task, ALL, &picture(9), 16).unwrap(), made);
        let kept = files(folder.path());
        assert_eq!(kept.len(), 1);
        assert_eq!(super::kept(&task, &kept[0]).as_ref(), Some(&made));
        assert_eq!(store.thumbnail(&task, ALL, &picture(9), 16).unwrap(), made);
        // Another payload and another size are others.
        assert_ne!(store.thumbnail(&task, ALL, &picture(200), 16).unwrap(), made);
        assert_eq!(store.thumbnail(&task, ALL, &picture(9), 8).unwrap().picture.unwrap().width, 8);
        assert_eq!(files(folder.path()).len(), 3);
        // What is damaged is made anew.
        for bytes in [&b""[..], b"{}\n", b"{\"width\":1}\n1", b"\xff\xff"] {
            fs::write(&kept[0], bytes).unwrap();
            assert_eq!(store.thumbnail(&task, ALL, &picture(9), 16).unwrap(), made);
        }
        assert_eq!(super::kept(&task, &kept[0]), Some(made));
    }

    #[test]
    fn the_oldest_go_first() {
        let (folder, task) = (tempfile::tempdir().unwrap(), Task::new());
        let store = ThumbnailStore::new(folder.path(), 1_000);
        for red in 0..20 {
            store.thumbnail(&task, ALL, &picture(red), 16).unwrap();
            store.room.store(0, Relaxed);
        }
        let bytes: u64 = files(folder.path()).iter().map(|file| fs::metadata(file).unwrap().len()).sum();
        assert!((1..=1_300).contains(&bytes), "{bytes}");
        let last = store.path(
            &task,
            &match picture(19) {
                Payload::File(source) => source,
                Payload::Array(_) => unreachable!(),
            },
            16,
        );
        assert!(last.unwrap().unwrap().exists());
    }
}
