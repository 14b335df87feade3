//! Deletion vectors: which rows of a file are deleted (PROTOCOL.md, *Deletion Vector Format*).

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{be, le};
use crate::bytes::task::Task;
use crate::engines::multifile::lake::Places;
use bytes::Bytes;
use roaring::RoaringTreemap;
use serde_json::Value as Json;

/// What a portable bitmap array starts with.
const MAGIC: u32 = 1_681_511_377;
/// How many characters a base-85 UUID has.
const UUID_LEN: usize = 20;
const Z85: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// Where a vector is.
#[derive(Clone, Debug)]
pub(super) struct Vector {
    storage: char,
    place: String,
    offset: u64,
    bytes: u64,
    /// How many rows it deletes.
    pub(super) cardinality: u64,
}

impl Vector {
    /// Reads the descriptor of an action.
    pub(super) fn parse(json: &Json) -> Result<Vector> {
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        let number = |key: &str| json.get(key).and_then(Json::as_u64);
        let storage = text("storageType").and_then(|text| text.chars().next());
        match (storage, text("pathOrInlineDv")) {
            (Some(storage), Some(place)) => Ok(Vector {
                storage,
                place: place.to_owned(),
                offset: number("offset").unwrap_or(0),
                bytes: number("sizeInBytes").unwrap_or(0),
                cardinality: number("cardinality").unwrap_or(0),
            }),
            _ => Err(Error::malformed("Delta log: a deletion vector without storageType or pathOrInlineDv")),
        }
    }

    /// Reads the positions.
    pub(super) fn read(&self, task: &Task, places: &Places) -> Result<RoaringTreemap> {
        let bitmap = match self.storage {
            'i' => parse(&z85(&self.place)?)?,
            'u' | 'p' => {
                let path = self.file(places)?;
                parse(&self.stored(task, places, &path).map_err(|e| e.in_file(&path))?)?
            }
            other => {
                return Err(Error::unsupported(format!(
                    "deletion vector: storage type {other:?} is unknown"
                )));
            }
        };
        if bitmap.len() != self.cardinality {
            return Err(Error::malformed(format!(
                "deletion vector: it has {} rows, the log says {}",
                bitmap.len(),
                self.cardinality
            )));
        }
        Ok(bitmap)
    }

    /// Its file below the table's folder.
    fn file(&self, places: &Places) -> Result<String> {
        if self.storage == 'p' {
            return places.relative(&self.place);
        }
        let split = self.place.len().checked_sub(UUID_LEN).filter(|&at| self.place.is_char_boundary(at));
        let split = split.ok_or_else(|| Error::malformed("deletion vector: its name is too short"))?;
        let (prefix, id) = self.place.split_at(split);
        let id = z85(id)?;
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default().to_owned();
        let uuid = [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-");
        let folder = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(format!("{folder}deletion_vector_{uuid}.bin"))
    }

    /// The bytes in a file: size, data, checksum, all big-endian around the data.
    fn stored(&self, task: &Task, places: &Places, path: &str) -> Result<Bytes> {
        let source = places.open(task, path)?;
        let size = limits::check(self.bytes, limits::CHUNK, "a deletion vector")? as u64;
        let wrong = |what: &str| Error::malformed(format!("deletion vector: {what}")).at(self.offset);
        let end = self.offset.checked_add(size + 8).ok_or_else(|| wrong("its place is beyond 64 bits"))?;
        let bytes = source.read(task, self.offset..end)?;
        if be::<u32>(&bytes, 0).map(u64::from) != Some(size) {
            return Err(wrong("its size in the file is not that of the log"));
        }
        let data = bytes.slice(4..4 + size as usize);
        if be(&bytes, 4 + size as usize) != Some(crc32fast::hash(&data)) {
            return Err(wrong("its checksum is wrong"));
        }
        Ok(data)
    }
}

/// A bitmap array: the magic number, then 32-bit bitmaps by the high half of the position.
pub(super) fn parse(bytes: &[u8]) -> Result<RoaringTreemap> {
    if le(bytes, 0) != Some(MAGIC) {
        return Err(Error::malformed("deletion vector: it does not start as a portable bitmap array"));
    }
    let data = bytes.get(4..).unwrap_or_default();
    RoaringTreemap::deserialize_from(data)
        .map_err(|e| Error::malformed(format!("deletion vector: its bitmap cannot be read: {e}")))
}

/// Base-85 text (ZeroMQ's Z85) as bytes.
fn z85(text: &str) -> Result<Vec<u8>> {
    let wrong = || Error::malformed("deletion vector: its text is no base 85");
    let mut bytes = Vec::with_capacity(text.len() / 5 * 4);
    for group in text.as_bytes().chunks(5) {
        let mut value = 0u32;
        for letter in group {
            let digit = Z85.iter().position(|known| known == letter).ok_or_else(wrong)?;
            value = value.checked_mul(85).and_then(|v| v.checked_add(digit as u32)).ok_or_else(wrong)?;
        }
        if group.len() != 5 {
            return Err(wrong());
        }
        bytes.extend(value.to_be_bytes());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_85_is_that_of_zeromq() {
        // The example of the specification, ZeroMQ RFC 32.
        assert_eq!(z85("HelloWorld").unwrap(), [0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]);
        assert!(z85("Hell").is_err() && z85("\"llo!").is_err());
    }

    #[test]
    fn inline_vectors_are_read() {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        let wanted: RoaringTreemap = [3u64, 4, 1 << 40].into_iter().collect();
        wanted.serialize_into(&mut bytes).unwrap();
        assert_eq!(parse(&bytes).unwrap(), wanted);
        assert!(parse(&bytes[..bytes.len() - 3]).is_err());
        assert!(parse(&bytes[1..]).is_err());
    }
}
