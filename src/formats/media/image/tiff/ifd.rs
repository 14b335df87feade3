//! The directories of a TIFF: fields by their tags, classic with offsets of 32 bits and BigTIFF with 64.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use std::collections::BTreeSet;

/// Directories that are followed.
const DIRECTORIES: usize = 10_000;

/// How the numbers of a file are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) big_endian: bool,
    /// BigTIFF.
    pub(super) wide: bool,
}

impl Order {
    /// A number of up to eight bytes.
    pub(super) fn number(self, bytes: &[u8]) -> u64 {
        let add = |n: u64, &b: &u8| n << 8 | u64::from(b);
        match self.big_endian {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        }
    }
}

/// A field of a directory.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) tag: u16,
    kind: u16,
    pub(super) count: u64,
    /// Where its values lie.
    at: u64,
}

impl Field {
    /// Bytes of one value.
    fn size(&self) -> u64 {
        match self.kind {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16..=18 => 8,
            _ => 1,
        }
    }

    /// Its type, by its number.
    pub(super) fn kind(&self) -> u16 {
        self.kind
    }

    /// Bytes of all values.
    pub(super) fn len(&self) -> u64 {
        self.count.saturating_mul(self.size())
    }

    fn bytes(&self, task: &Task, source: &Source) -> Result<bytes::Bytes> {
        let len = self.count.saturating_mul(self.size());
        let what = || format!("the TIFF field {}", self.tag);
        limits::check(len, limits::HEADER, &what()).map_err(|error| error.at(self.at))?;
        source.read(task, self.at..self.at.saturating_add(len)).map_err(|error| error.at(self.at))
    }

    /// Its values as whole numbers that are not negative.
    pub(super) fn numbers(&self, task: &Task, source: &Source, order: Order) -> Result<Vec<u64>> {
        if !matches!(self.kind, 1 | 3 | 4 | 6 | 7 | 13 | 16 | 18) {
            let what = format!("TIFF: the field {} holds no whole numbers", self.tag);
            return Err(Error::malformed(what).at(self.at));
        }
        let bytes = self.bytes(task, source)?;
        Ok(bytes.chunks_exact(self.size() as usize).map(|b| order.number(b)).collect())
    }

    /// Its values as floats.
    pub(super) fn floats(&self, task: &Task, source: &Source, order: Order) -> Result<Vec<f64>> {
        let bytes = self.bytes(task, source)?;
        let one = |b: &[u8]| {
            let n = order.number(b);
            match self.kind {
                5 | 10 => b
                    .split_at_checked(4)
                    .map_or(0.0, |(a, b)| order.number(a) as f64 / order.number(b) as f64),
                11 => f32::from_bits(n as u32).into(),
                12 => f64::from_bits(n),
                _ => n as f64,
            }
        };
        Ok(bytes.chunks_exact(self.size() as usize).map(one).collect())
    }

    /// Its bytes as they are, for tables and texts.
    pub(super) fn raw(&self, task: &Task, source: &Source) -> Result<bytes::Bytes> {
        self.bytes(task, source)
    }

    /// Its values in words, cut after some.
    pub(super) fn words(&self, task: &Task, source: &Source, order: Order) -> Result<String> {
        const MOST: u64 = 64;
        if self.kind == 2 {
            let text = self.bytes(task, source)?;
            return Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned());
        }
        let first = Field { count: self.count.min(MOST), ..self.clone() };
        let bytes = first.bytes(task, source)?;
        let one = |b: &[u8]| {
            let n = order.number(b);
            let half = |part: &[u8]| order.number(part);
            match self.kind {
                5 | 10 => match b.split_at_checked(4) {
                    Some((a, b)) if self.kind == 5 => format!("{}/{}", half(a), half(b)),
                    Some((a, b)) => format!("{}/{}", half(a) as u32 as i32, half(b) as u32 as i32),
                    None => String::new(),
                },
                6 => (n as u8 as i8).to_string(),
                8 => (n as u16 as i16).to_string(),
                9 => (n as u32 as i32).to_string(),
                11 => crate::data::cell::float32(f32::from_bits(n as u32)),
                12 => crate::data::cell::float64(f64::from_bits(n)),
                17 => (n as i64).to_string(),
                _ => n.to_string(),
            }
        };
        let mut words: Vec<String> = bytes.chunks_exact(self.size() as usize).map(one).collect();
        if self.count > MOST {
            words.push(format!("… {} values", self.count));
        }
        Ok(words.join(", "))
    }
}

/// A directory: the fields of one page.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    pub(super) at: u64,
    pub(super) fields: Vec<Field>,
}

impl Directory {
    pub(super) fn field(&self, tag: u16) -> Option<&Field> {
        self.fields.iter().find(|field| field.tag == tag)
    }
}

/// What the header and the chain of directories say.
pub(super) struct Chain {
    pub(super) order: Order,
    pub(super) directories: Vec<Directory>,
    /// Why the chain was not followed to its end.
    pub(super) problem: Option<Error>,
}

/// Follows the chain.
pub(super) fn chain(task: &Task, source: &Source) -> Result<Chain> {
    let head = source.read_up_to(task, 0, 16)?;
    let big_endian = head.first() == Some(&b'M');
    let narrow = Order { big_endian, wide: false };
    let version = head.get(2..4).map(|b| narrow.number(b));
    let order = Order { big_endian, wide: version == Some(43) };
    let first = if order.wide { head.get(8..16) } else { head.get(4..8) };
    let Some(mut at) = first.map(|b| order.number(b)) else {
        return Err(Error::malformed("TIFF: it ends before the offset of its first directory").at(4));
    };
    let mut chain = Chain { order, directories: Vec::new(), problem: None };
    let mut seen = BTreeSet::new();
    while at != 0 {
        task.check()?;
        if !seen.insert(at) {
            let what = "TIFF: its chain of directories runs in a circle";
            chain.problem = Some(Error::malformed(what).at(at));
            break;
        }
        if chain.directories.len() >= DIRECTORIES {
            chain.problem =
                Some(Error::limit(format!("TIFF: more than {DIRECTORIES} pages; these are shown")));
            break;
        }
        match directory(task, source, order, at) {
            Ok((directory, next)) => {
                chain.directories.push(directory);
                at = next;
            }
            Err(error) if error.is_cancelled() || chain.directories.is_empty() => return Err(error),
            Err(error) => {
                chain.problem = Some(error);
                break;
            }
        }
    }
    if chain.directories.is_empty() {
        return Err(Error::malformed("TIFF: it has no directory").at(4));
    }
    Ok(chain)
}

/// A directory, and where the next one is.
pub(super) fn directory(task: &Task, source: &Source, order: Order, at: u64) -> Result<(Directory, u64)> {
    let (count_size, entry_size, offset_size) = if order.wide { (8, 20, 8) } else { (2, 12, 4) };
    let ends = || Error::malformed("TIFF: a directory reaches beyond the file; it may be cut off").at(at);
    let count = source.read_up_to(task, at, count_size)?;
    if count.len() < count_size {
        return Err(ends());
    }
    let count = order.number(&count);
    let start = at + count_size as u64;
    let len = count.checked_mul(entry_size).filter(|&len| len <= limits::HEADER).ok_or_else(ends)?;
    let end =
        start.checked_add(len).filter(|&end| source.known_len().is_none_or(|l| end <= l)).ok_or_else(ends)?;
    let bytes = source.read(task, start..end)?;
    let mut fields = Vec::new();
    for (n, entry) in bytes.chunks_exact(entry_size as usize).enumerate() {
        let part = |from: usize, to: usize| order.number(entry.get(from..to).unwrap_or_default());
        let place = if order.wide { 12 } else { 8 };
        let mut field = Field {
            tag: part(0, 2) as u16,
            kind: part(2, 4) as u16,
            count: part(4, place),
            at: part(place, place + offset_size),
        };
        if field.count.saturating_mul(field.size()) <= offset_size as u64 {
            // Short values lie in the entry itself.
            field.at = start + n as u64 * entry_size + place as u64;
        }
        fields.push(field);
    }
    let next = source.read_up_to(task, end, offset_size)?;
    // A file that ends here has no next directory.
    let next = if next.len() == offset_size { order.number(&next) } else { 0 };
    Ok((Directory { at, fields }, next))
}
