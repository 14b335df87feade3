//! What the first members of an archive and some from all over it tell: whether they are samples at all, which fields
//! these have, and of which types.

use super::member::{Member, header_in, member};
use super::samples::field_name;
use crate::bytes::archive::tar::{BLOCK, Kind};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::Columns;
use crate::engines::records::Window;
use arrow::datatypes::{DataType, Field};
use std::collections::HashMap;

/// Members that are looked at when an archive is opened, and bytes of one that is decompressed for that.
const MEMBERS: usize = 2_048;
const BYTES: u64 = 8 << 20;
/// Places all over an archive that are looked at for further fields, bytes of each that a header is looked for in, and
/// members that are looked at there.
const PLACES: u64 = 8;
const PLACE: usize = 128 << 10;
const BEHIND: usize = 64;
/// The most fields that become columns.
const FIELDS: usize = 1_024;
/// Values of a field that are looked at for its type, and the longest of them.
const VALUES: usize = 16;
const LONGEST: u64 = 64 << 10;

/// Fields that the library decodes as integers.
const INTEGERS: &[&str] = &["cls", "cls2", "class", "count", "index", "inx", "id"];
/// Fields that it decodes as text, and JSON, which is text too.
const TEXTS: &[&str] = &["txt", "text", "transcript", "json", "jsn", "caption", "lang", "prompt", "label"];
/// Extensions of what is no text, whatever its first bytes look like.
const BINARY: &[&str] = &[
    "png",
    "jpg",
    "jpeg",
    "webp",
    "gif",
    "bmp",
    "tif",
    "tiff",
    "ppm",
    "pgm",
    "pbm",
    "pnm",
    "exr",
    "tga",
    "avif",
    "jp2",
    "img",
    "wav",
    "mp3",
    "flac",
    "ogg",
    "opus",
    "m4a",
    "mp4",
    "mov",
    "avi",
    "mkv",
    "webm",
    "mjpeg",
    "h264",
    "npy",
    "npz",
    "ten",
    "tb",
    "mp",
    "msg",
    "pyd",
    "pickle",
    "pkl",
    "pth",
    "pt",
    "cbor",
    "bin",
    "dcm",
    "nii",
    "gz",
    "zst",
    "bz2",
    "xz",
    "lz4",
    "h5",
    "safetensors",
    "parquet",
    "ply",
    "pcd",
    "mask",
    "seg",
];
/// The name of the column of keys.
pub(super) const KEY: &str = "key";

/// What was found.
#[derive(Default)]
pub(super) struct Survey {
    /// The fields, in the order of their first appearance.
    fields: Vec<Seen>,
    places: HashMap<String, usize>,
    /// The fields of each key of the first members, by their numbers.
    keys: HashMap<String, Vec<usize>>,
    /// Files without a key, and other members that no sample has.
    strangers: usize,
    files: usize,
    /// Whether a key comes again behind others, with a field that it has not, and with one that it has.
    is_apart: bool,
    repeated: bool,
    /// Whether these were all members.
    pub(super) complete: bool,
    /// Whether any name leads out of the archive.
    leads_out: bool,
}

/// A field.
struct Seen {
    name: String,
    values: usize,
    integers: bool,
    texts: bool,
}

/// The last extension of a field: what its payload is.
fn extension(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or_default()
}

/// Whether the payloads of data sets have such names.
fn is_payload(field: &str) -> bool {
    let known = [INTEGERS, TEXTS, BINARY];
    known.iter().any(|list| list.contains(&extension(field)))
}

impl Survey {
    /// Looks at an archive.
    ///
    /// # Errors
    /// `Cancelled`; failures to read.
    pub(super) fn of(task: &Task, source: &Source) -> Result<Survey> {
        let mut survey = Survey::default();
        let end = survey.begin(task, source)?;
        if !survey.complete
            && source.is_random_access()
            && let Some(len) = source.known_len()
        {
            survey.spread(task, source, end, len)?;
        }
        Ok(survey)
    }

    /// The first members; where they end.
    fn begin(&mut self, task: &Task, source: &Source) -> Result<u64> {
        let (mut window, mut at, mut last) = (Window::new(task, source), 0, String::new());
        for n in 0..MEMBERS {
            if n % 256 == 0 {
                task.check()?;
            }
            if !source.is_random_access() && at > BYTES {
                return Ok(at);
            }
            let found = match member(&mut window, at).unless_cancelled()? {
                Ok(Some(found)) => found,
                Ok(None) => {
                    self.complete = true;
                    return Ok(at);
                }
                Err(_) => match super::member::next_header(&mut window, at.saturating_add(BLOCK))? {
                    Some(next) => {
                        at = next;
                        continue;
                    }
                    None => {
                        self.complete = true;
                        return Ok(at);
                    }
                },
            };
            at = found.end;
            self.take(&mut window, &found, &mut last)?;
        }
        Ok(at)
    }

    /// Takes in one of the first members, behind one of the key `last`.
    fn take(&mut self, window: &mut Window, found: &Member, last: &mut String) -> Result<()> {
        let is_file = matches!(found.kind, Kind::File | Kind::Sparse);
        self.files += usize::from(is_file);
        self.leads_out |= found.path.starts_with('/') || found.path.split('/').any(|part| part == "..");
        let Some((key, _)) = found.place() else {
            self.strangers += usize::from(is_file && !found.path.starts_with("__"));
            return Ok(());
        };
        let Some(field) = self.look(window, found)? else { return Ok(()) };
        match self.keys.get_mut(key) {
            Some(fields) => {
                let new = !fields.contains(&field);
                if last != key {
                    self.is_apart |= new;
                    self.repeated |= !new;
                }
                if new {
                    fields.push(field);
                }
            }
            None => {
                self.keys.insert(key.to_owned(), vec![field]);
            }
        }
        key.clone_into(last);
        Ok(())
    }

    /// Members from all over the rest of an archive.
    fn spread(&mut self, task: &Task, source: &Source, from: u64, len: u64) -> Result<()> {
        for n in 1..=PLACES {
            task.check()?;
            let step = len.saturating_sub(from) / (PLACES + 1);
            let place = (from + step * n) / BLOCK * BLOCK;
            let part = source.read_up_to(task, place, PLACE)?;
            let Some(at) = header_in(&part) else { continue };
            let (mut window, mut at) = (Window::new(task, source), place + at as u64);
            for _ in 0..BEHIND {
                match member(&mut window, at).unless_cancelled()? {
                    Ok(Some(found)) => {
                        at = found.end;
                        if found.place().is_some() {
                            self.look(&mut window, &found)?;
                        }
                    }
                    _ => break,
                }
            }
        }
        Ok(())
    }

    /// Takes in the field that a member is; its number.
    fn look(&mut self, window: &mut Window, found: &Member) -> Result<Option<usize>> {
        let Some((_, field)) = found.place() else { return Ok(None) };
        let name = field_name(field);
        let number = match self.places.get(&name) {
            Some(number) => *number,
            None if self.fields.len() >= FIELDS => return Ok(None),
            None => {
                let extension = extension(&name);
                let integers = INTEGERS.contains(&extension);
                let texts = !BINARY.contains(&extension);
                self.places.insert(name.clone(), self.fields.len());
                self.fields.push(Seen { name, values: 0, integers, texts });
                self.fields.len() - 1
            }
        };
        if let Some(seen) = self.fields.get_mut(number)
            && seen.texts
            && seen.values < VALUES
            && found.problem.is_none()
        {
            seen.values += 1;
            let most = found.size.min(LONGEST) as usize;
            let bytes = window.get(found.data, most)?;
            let text = text_of(bytes, found.size > LONGEST);
            seen.texts &= text.is_some();
            seen.integers &= text.is_some_and(|text| integer(text).is_some());
        }
        Ok(Some(number))
    }

    /// Whether there are samples at all.
    pub(super) fn has_samples(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether the members group as those of a data set do: most keys have several fields, or all have the same one, of
    /// the kinds that payloads have; and there is little else.
    pub(super) fn is_dataset(&self) -> bool {
        let keys = self.keys.len();
        if keys == 0 || self.leads_out || self.strangers * 10 > self.files {
            return false;
        }
        let several = self.keys.values().filter(|fields| fields.len() > 1).count();
        let payload = |field: &usize| self.fields.get(*field).is_some_and(|seen| is_payload(&seen.name));
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for field in self.keys.values().flatten() {
            *counts.entry(*field).or_default() += 1;
        }
        // A field that at least half of the samples have.
        let common = counts.iter().any(|(field, count)| count * 2 >= keys && payload(field));
        if several * 2 >= keys && common {
            return true;
        }
        let all_payload = self.keys.values().flatten().all(payload);
        let most = counts.values().copied().max().unwrap_or(0);
        if keys > 2 && all_payload && several == 0 && most * 10 >= keys * 9 {
            return true;
        }
        // Samples that lack fields: they are numbered at least.
        let numbered = self.keys.keys().all(|key| key.ends_with(|last: char| last.is_ascii_hexdigit()))
            && self.keys.keys().all(|key| key.contains(|digit: char| digit.is_ascii_digit()));
        keys > 1 && all_payload && numbered && counts.len() <= 16
    }

    /// Whether it may be one of several shards: all fields are of the kinds that payloads have.
    pub(super) fn is_likely(&self) -> bool {
        !self.leads_out && self.strangers == 0 && self.fields.iter().all(|seen| is_payload(&seen.name))
    }

    /// Whether the members of samples lie apart: keys come again with other fields, and none with the same.
    /// How many samples there are at least then.
    pub(super) fn apart(&self) -> Option<u64> {
        (self.is_apart && !self.repeated).then_some(self.keys.len() as u64)
    }

    /// Takes in what was found in another archive of the set.
    pub(super) fn merge(&mut self, other: Survey) {
        for seen in other.fields {
            let number = self.places.get(&seen.name).copied();
            if let Some(known) = number.and_then(|number| self.fields.get_mut(number)) {
                known.texts &= seen.texts;
                known.integers &= seen.integers;
                known.values += seen.values;
            } else if self.fields.len() < FIELDS {
                self.places.insert(seen.name.clone(), self.fields.len());
                self.fields.push(seen);
            }
        }
        self.complete &= other.complete;
    }

    /// The names of the fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|seen| seen.name.as_str())
    }

    /// The columns: the key, then the fields.
    pub(super) fn columns(&self) -> Columns {
        let column = |seen: &Seen| {
            let data_type = match (seen.texts, seen.integers && seen.values > 0) {
                (true, true) => DataType::Int64,
                (true, false) => DataType::Utf8,
                _ => DataType::Binary,
            };
            (Field::new(&seen.name, data_type, true), None)
        };
        let key = (Field::new(KEY, DataType::Utf8, true), None);
        std::iter::once(key).chain(self.fields.iter().map(column)).collect()
    }

    /// Where the columns of fields are.
    pub(super) fn places(&self) -> HashMap<String, usize> {
        self.places.iter().map(|(name, place)| (name.clone(), place + 1)).collect()
    }
}

/// Bytes as a text, where they are one; `cut` says that they may end within a character.
pub(super) fn text_of(bytes: &[u8], cut: bool) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if cut && error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let is_strange =
        |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}');
    (!text.chars().any(is_strange)).then_some(text)
}

/// A text as Python's `int` reads it.
pub(super) fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty();
    text.parse().ok().filter(|_| plain)
}
