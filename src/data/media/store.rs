//! Small pictures that are kept on disk: by the hash of the payload that they were made of, so that none is ever out of
//! date, and of the same payload in two files there is one.

use super::Payload;
use super::thumbnail::{Picture, Preview, thumbnail};
use crate::bytes::error::Result;
use crate::bytes::file_cache::FileCache;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Formats;
use serde_json::{Value as Json, json};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

/// What is written is read again by this version only: another way of making pictures counts up.
const VERSION: u32 = 1;
/// Payloads that are larger are not hashed.
const HASHED: u64 = 64 << 20;
/// The longer side of pictures that are kept.
const SIDE: u64 = 2048;

/// A folder of small pictures.
#[derive(Debug)]
pub struct ThumbnailStore(FileCache);

impl ThumbnailStore {
    /// A store in this folder, which is made when the first picture is kept, of about so many bytes at most.
    pub fn new(folder: &Path, most: u64) -> Self {
        ThumbnailStore(FileCache::new(folder, VERSION, most))
    }

    /// What [`thumbnail`] gives, from the store where it is there, else kept in it. What the disk does not take or give
    /// is made anew, without a word.
    ///
    /// # Errors
    /// Those of [`thumbnail`].
    pub fn thumbnail(&self, task: &Task, formats: Formats, payload: &Payload, side: u32) -> Result<Preview> {
        let Payload::File(source) = payload else { return thumbnail(task, formats, payload, side) };
        let Some(name) = name(task, source, side)? else {
            return thumbnail(task, formats, payload, side);
        };
        if let Some(preview) = self.0.read(task, &name, HASHED).and_then(|bytes| decoded(&bytes)) {
            return Ok(preview);
        }
        let preview = thumbnail(task, formats, payload, side)?;
        if let Some(bytes) = encoded(&preview) {
            self.0.keep(&name, &bytes);
        }
        Ok(preview)
    }
}

/// What the picture of a payload is called in the store; `None` for large ones.
fn name(task: &Task, source: &Source, side: u32) -> Result<Option<String>> {
    let len = source.len(task)?;
    if len > HASHED {
        return Ok(None);
    }
    let hash = format!("{:032x}", xxh3_128(&source.read(task, 0..len)?));
    // What a file is may be told by its name.
    let extension = source.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    let word: String = extension.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    Ok(Some(format!("{hash}-{side}-{}", word.to_ascii_lowercase())))
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
    use std::fs;
    use std::path::PathBuf;

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
        let kept_picture = || decoded(&fs::read(&kept[0]).unwrap());
        assert_eq!(kept_picture().as_ref(), Some(&made));
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
        assert_eq!(kept_picture(), Some(made));
    }
}
