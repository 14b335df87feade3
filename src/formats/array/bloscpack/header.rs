//! The header, the metadata, and what they say of a NumPy array.

use crate::bytes::codec::deflate;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le_or_zero;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::numpy::literal::{self, Literal, Value as Python};
use crate::data::dtype::numpy::{self, Described};
use crate::data::node::Value;
use serde_json::Value as Json;

/// The magic number.
pub(super) const MAGIC: &[u8] = b"blpk";
/// Bytes of the header, and of the one of the metadata.
pub(super) const HEADER: u64 = 32;
/// The version of the format that is read; earlier ones were of test releases.
pub(super) const VERSION: u8 = 3;
/// What kind of metadata they are: eight bytes.
pub(super) const JSON: &[u8] = b"JSON\0\0\0\0";
/// What the metadata say of an array.
const DESCRIPTION: [&str; 4] = ["dtype", "shape", "order", "container"];
/// The least that a chunk takes in the file.
const LEAST: u64 = 16;

/// What stands behind each chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    None,
    Adler32,
    Crc32,
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Check {
    const ALL: [(Check, &'static str, u64); 9] = [
        (Check::None, "none", 0),
        (Check::Adler32, "adler32", 4),
        (Check::Crc32, "crc32", 4),
        (Check::Md5, "md5", 16),
        (Check::Sha1, "sha1", 20),
        (Check::Sha224, "sha224", 28),
        (Check::Sha256, "sha256", 32),
        (Check::Sha384, "sha384", 48),
        (Check::Sha512, "sha512", 64),
    ];

    fn new(code: u8) -> Result<Check> {
        let known = Self::ALL.get(usize::from(code)).map(|(check, _, _)| *check);
        known.ok_or_else(|| Error::malformed(format!("header: checksums of kind {code}")))
    }

    /// The one of a word.
    pub(super) fn of_word(word: &str) -> Option<Check> {
        Self::ALL.iter().find(|(_, known, _)| *known == word).map(|(check, _, _)| *check)
    }

    /// Its number in the header.
    pub(super) fn code(self) -> u8 {
        Self::ALL.iter().position(|(check, _, _)| *check == self).unwrap_or(0) as u8
    }

    pub(super) fn word(self) -> &'static str {
        Self::ALL.iter().find(|(check, _, _)| *check == self).map_or("", |(_, word, _)| word)
    }

    /// Bytes of the checksum.
    pub(super) fn size(self) -> u64 {
        Self::ALL.iter().find(|(check, _, _)| *check == self).map_or(0, |(_, _, size)| *size)
    }
}

/// What stands before the chunks.
pub(super) struct Header {
    pub(super) check: Check,
    /// Bytes of a chunk, unpacked; of the last one.
    pub(super) chunk: u64,
    last: u64,
    /// How many chunks.
    pub(super) count: u64,
    /// Where the places of the chunks are listed.
    pub(super) offsets: Option<u64>,
    /// Where the first chunk lies, if nothing is wrong.
    pub(super) data: u64,
    metadata: Option<Json>,
    problem: Option<String>,
}

/// An array, as the metadata describe it.
pub(super) struct Numpy {
    pub(super) described: Described,
    pub(super) shape: Vec<u64>,
    pub(super) fortran: bool,
}

impl Header {
    /// Reads header and metadata.
    pub(super) fn read(task: &Task, source: &Source) -> Result<Header> {
        let bytes = source.read_up_to(task, 0, HEADER as usize)?;
        let Some(head) = bytes.first_chunk::<32>() else {
            let len = bytes.len();
            return Err(Error::malformed(format!(
                "header: {len} of its 32 bytes are there; the file may be cut off"
            )));
        };
        let [_, _, _, _, version, options, check, _, ..] = *head;
        if version != VERSION {
            return Err(
                Error::unsupported(format!("version {version} of the format; {VERSION} is read")).at(4)
            );
        }
        let [chunk, last] = [8, 12].map(|at| le_or_zero::<i32>(head, at));
        let [count, more] = [16, 24].map(|at| le_or_zero::<i64>(head, at));
        let mut header = Header {
            check: Check::new(check)?,
            chunk: u64::try_from(chunk).unwrap_or(0),
            last: u64::try_from(last).unwrap_or(0),
            count: u64::try_from(count).unwrap_or(u64::MAX),
            offsets: None,
            data: HEADER,
            metadata: None,
            problem: None,
        };
        if options & 2 != 0 {
            header.read_metadata(task, source)?;
        }
        header.place(source, options & 1 != 0, u64::try_from(more).unwrap_or(0))?;
        header.settle(task, source, chunk < 0 || last < 0 || count < 0)?;
        Ok(header)
    }

    /// What a bare Blosc chunk of `size` bytes, unpacked, would have: a file of one chunk.
    pub(super) fn bare(size: u64) -> Header {
        let (check, metadata, problem) = (Check::None, None, None);
        Header { check, chunk: size, last: size, count: 1, offsets: None, data: 0, metadata, problem }
    }

    /// Where the chunks and their places lie; no more of them than the file has room for.
    fn place(&mut self, source: &Source, listed: bool, more: u64) -> Result<()> {
        let room = source.known_len().unwrap_or(u64::MAX).saturating_sub(self.data);
        let each = if listed { 8 } else { LEAST };
        if self.count != u64::MAX && self.count.checked_mul(each).is_none_or(|bytes| bytes > room) {
            return Err(Error::malformed(format!(
                "header: {} chunks, but the file has {room} bytes for them",
                self.count
            ))
            .at(16));
        }
        if listed && self.count != u64::MAX {
            self.offsets = Some(self.data);
            let table = self.count.checked_add(more).and_then(|n| n.checked_mul(8));
            self.data = self.data.saturating_add(table.unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Fills in what was not known when the file was written, from the chunks' own headers.
    fn settle(&mut self, task: &Task, source: &Source, unknown: bool) -> Result<()> {
        if !unknown {
            return Ok(());
        }
        let (mut at, mut count) = (self.data, 0);
        while count < self.count {
            task.check()?;
            let bytes = source.read_up_to(task, at, 32)?;
            let Ok(head) = crate::bytes::codec::blosc::Header::read(&bytes) else { break };
            if count == 0 {
                self.chunk = head.size as u64;
            }
            self.last = head.size as u64;
            count += 1;
            at = at.saturating_add(head.stored as u64 + self.check.size());
        }
        self.count = count;
        Ok(())
    }

    /// Bytes of all chunks, unpacked.
    pub(super) fn size(&self) -> Result<u64> {
        if self.last > self.chunk {
            return Err(Error::malformed("header: its last chunk is larger than the others").at(12));
        }
        let before = self.count.saturating_sub(1).checked_mul(self.chunk);
        let last = if self.count == 0 { 0 } else { self.last };
        let size = before.and_then(|bytes| bytes.checked_add(last)).filter(|&size| size < 1 << 62);
        size.ok_or_else(|| {
            Error::malformed(format!("header: {} chunks of {} bytes", self.count, self.chunk)).at(8)
        })
    }

    fn read_metadata(&mut self, task: &Task, source: &Source) -> Result<()> {
        let start = self.data;
        let head = source.read(task, start..start + HEADER)?;
        let (kind, fields) = head.split_at_checked(8).unwrap_or((&[], &[]));
        let [_, check, codec, _, ..] = *fields else { return Ok(()) };
        let [size, room, stored] = [4, 8, 12].map(|at| u64::from(le_or_zero::<u32>(fields, at)));
        limits::check(size.max(stored), limits::HEADER, "the metadata")?;
        let begin = start + HEADER;
        let bytes = source.read(task, begin..begin + stored)?;
        self.data = begin + room.max(stored) + Check::new(check)?.size();
        let text = match codec {
            0 => bytes.to_vec(),
            1 => deflate::zlib(&bytes, size as usize).map_err(|e| e.at(begin))?,
            other => {
                return Err(Error::unsupported(format!("metadata compressed by codec {other}")).at(begin));
            }
        };
        if !kind.starts_with(b"JSON") {
            self.problem = Some(format!("metadata of kind {:?} are not read", String::from_utf8_lossy(kind)));
            return Ok(());
        }
        match serde_json::from_slice(&text) {
            Ok(json) => self.metadata = Some(json),
            Err(error) => self.problem = Some(format!("the metadata are no JSON: {error}")),
        }
        Ok(())
    }

    /// What there is to remark.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.problem.iter().cloned().collect();
        if matches!(self.check, Check::Md5 | Check::Sha1) {
            remarks.push(format!("checksums of kind {} are not checked", self.check.word()));
        }
        remarks
    }

    /// What the metadata say of an array, and the others.
    pub(super) fn attributes(&self) -> (Vec<(String, Value)>, Vec<(String, Value)>) {
        let is_numpy = self.is_numpy();
        match &self.metadata {
            Some(Json::Object(entries)) => {
                let all = entries.iter().map(|(k, v)| (k.clone(), Value::from(v.clone())));
                all.partition(|(key, _)| is_numpy && DESCRIPTION.contains(&key.as_str()))
            }
            Some(other) => (Vec::new(), vec![("metadata".to_owned(), other.clone().into())]),
            None => Default::default(),
        }
    }

    /// Whether the metadata describe an array.
    fn is_numpy(&self) -> bool {
        let container = self.metadata.as_ref().and_then(|metadata| metadata.get("container"));
        container.and_then(Json::as_str) == Some("numpy")
    }

    /// The word for the checksums of the chunks.
    pub(super) fn checksum(&self) -> &'static str {
        self.check.word()
    }

    /// The array, where the metadata describe one.
    pub(super) fn numpy(&self) -> Option<Result<Numpy>> {
        let metadata = self.metadata.as_ref()?.as_object().filter(|_| self.is_numpy())?;
        let get = |name: &str| {
            metadata.get(name).ok_or_else(|| Error::malformed(format!("metadata: there is no {name:?}")))
        };
        let described = get("dtype").and_then(|json| numpy::describe(&python(json)?));
        let shape = get("shape").and_then(|json| {
            let sides =
                json.as_array().map(|sides| sides.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>());
            sides.flatten().ok_or_else(|| Error::malformed(format!("metadata: the shape is {json}")))
        });
        let fortran = metadata.get("order").and_then(Json::as_str) == Some("F");
        Some(described.and_then(|described| Ok(Numpy { described, shape: shape?, fortran })))
    }
}

/// A type's description: a Python literal as text, or (older files) the word itself or nested lists.
fn python(json: &Json) -> Result<Literal> {
    let text = match json {
        Json::String(text) => text,
        other => return plain(other, 0),
    };
    match literal::parse(text, 0) {
        Ok(literal) => Ok(literal),
        Err(_) => Ok(Literal { at: 0, value: Python::Str(text.clone()) }),
    }
}

/// Lists of JSON as the tuples that they were: `[["a", "<f4"]]`.
fn plain(json: &Json, depth: usize) -> Result<Literal> {
    let wrong = || Error::malformed(format!("metadata: the dtype is {json}"));
    let value = match json {
        _ if depth > limits::DEPTH => return Err(wrong()),
        Json::String(text) => Python::Str(text.clone()),
        Json::Number(number) => Python::Int(number.as_i64().ok_or_else(wrong)?.into()),
        Json::Array(items) => {
            let inner = items.iter().map(|item| plain(item, depth + 1)).collect::<Result<Vec<_>>>()?;
            // A list of fields, each a list itself; a field or a shape is a tuple.
            match items.first() {
                Some(Json::Array(_)) => Python::List(inner),
                _ => Python::Tuple(inner),
            }
        }
        _ => return Err(wrong()),
    };
    Ok(Literal { at: 0, value })
}
