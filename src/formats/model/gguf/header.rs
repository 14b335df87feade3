//! The header: keys and values, then the tensors. A header that breaks off gives what came before the break; each tensor
//! is judged on its own.

use super::MAGIC;
use super::value::{self, Value};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::Blocks;
use crate::engines::ggml::{Cursor, Type, type_of};
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Where tensors begin, if no key says otherwise: at multiples of it.
pub(super) const ALIGNMENT: u64 = 32;
/// Dimensions of one tensor. ggml has four.
const DIMENSIONS: u32 = 64;

/// What a file's header says.
pub(super) struct Header {
    pub(super) version: u32,
    /// Whether its numbers are big-endian.
    pub(super) big: bool,
    /// What tensors are aligned to; `None` where a key says what cannot be.
    pub(super) alignment: Option<u64>,
    /// In the order of the file.
    pub(super) values: Vec<(String, Value)>,
    /// Where the value of each key begins, with its type.
    pub(super) places: HashMap<String, u64>,
    pub(super) tensors: Vec<Entry>,
    /// What is wrong with the file as a whole.
    pub(super) problems: Vec<Error>,
}

/// A tensor of the header.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) what: What,
    pub(super) problem: Option<Error>,
}

/// What an entry stands for.
pub(super) enum What {
    /// A tensor at its place in the file, the slowest side of its shape first.
    Array { kind: Type, shape: Vec<u64>, span: Range<u64> },
    /// Nothing that can be shown.
    Nothing,
}

/// An entry as it is read: its place is counted from the end of the header.
struct Raw {
    name: String,
    shape: Vec<u64>,
    kind: u32,
    offset: u64,
    /// Where the entry stands.
    at: u64,
}

impl Header {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value of a key that is a whole number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Value::Number(number, _) => number.as_u64(),
            _ => None,
        }
    }
}

/// Reads a file's header and judges its tensors.
///
/// # Errors
/// Where there is not one whole key or tensor, and for versions that are not known.
pub(super) fn read(task: &Task, source: &Source) -> Result<Header> {
    let mut cursor = Cursor::new(task, source, 0, false);
    if cursor.take(4)?.as_ref() != MAGIC {
        return Err(Error::malformed("header: it does not begin with GGUF").at(0));
    }
    let mut version: u32 = cursor.number()?;
    // Versions are small: what has only high bits was written by a machine of the other byte order.
    if version & 0xffff == 0 {
        cursor.big = true;
        version = version.swap_bytes();
    }
    if !(1..=3).contains(&version) {
        let what = format!("GGUF of version {version}; 1 to 3 are known");
        return Err(Error::unsupported(what).at(4));
    }
    let width = if version == 1 { 4 } else { 8 };
    let mut header = Header {
        version,
        big: cursor.big,
        alignment: Some(ALIGNMENT),
        values: Vec::new(),
        places: HashMap::new(),
        tensors: Vec::new(),
        problems: Vec::new(),
    };
    let (mut raw, mut broken) = (Vec::new(), false);
    match parts(&mut cursor, source, width, &mut header, &mut raw).unless_cancelled()? {
        Err(error) if header.values.is_empty() && raw.is_empty() => return Err(error),
        Err(error) => {
            broken = true;
            // Before what came of reading on although the counts cannot be.
            header.problems.insert(0, error);
        }
        Ok(()) => {}
    }
    header.align();
    let data = header.alignment.and_then(|alignment| cursor.at().checked_next_multiple_of(alignment));
    // Where the header breaks off, nobody knows where the tensors begin.
    let data = data.filter(|_| !broken);
    header.place(source, data, raw);
    Ok(header)
}

/// Keys and values, then tensors.
fn parts(
    cursor: &mut Cursor,
    source: &Source,
    width: u64,
    header: &mut Header,
    raw: &mut Vec<Raw>,
) -> Result<()> {
    let (tensors, keys) = (cursor.length(width)?, cursor.length(width)?);
    // A key, a type, a value; a name, dimensions, a type, an offset. What is there of too many is read.
    let fit = cursor
        .fit(keys, width + 5, "keys with values")
        .and_then(|()| cursor.fit(tensors, width + 16, "tensors"));
    let read = items(cursor, source, width, (keys, tensors), header, raw);
    if read.as_ref().is_err_and(Error::is_cancelled) { read } else { fit.and(read) }
}

/// So many keys with values, and so many tensors.
fn items(
    cursor: &mut Cursor,
    source: &Source,
    width: u64,
    (keys, tensors): (u64, u64),
    header: &mut Header,
    raw: &mut Vec<Raw>,
) -> Result<()> {
    let mut names = HashSet::new();
    for _ in 0..keys {
        let at = cursor.at();
        let name = cursor.text(width)?;
        let place = cursor.at();
        let kind = cursor.number()?;
        let value =
            value::read(cursor, source, kind, width).map_err(|error| error.of(&format!("key {name:?}")))?;
        if names.insert(name.clone()) {
            header.places.insert(name.clone(), place);
            header.values.push((name, value));
        } else {
            let what = format!("header: the key {name:?} is there twice; the first value holds");
            header.problems.push(Error::malformed(what).at(at));
        }
    }
    for _ in 0..tensors {
        raw.push(tensor(cursor, width)?);
    }
    Ok(())
}

fn tensor(cursor: &mut Cursor, width: u64) -> Result<Raw> {
    let at = cursor.at();
    let name = cursor.text(width)?;
    let dimensions: u32 = cursor.number()?;
    if dimensions > DIMENSIONS {
        let what =
            format!("header: the tensor {name:?} has {dimensions} dimensions, the limit is {DIMENSIONS}");
        return Err(Error::limit(what).at(at));
    }
    let sides: Result<Vec<u64>> = (0..dimensions).map(|_| cursor.length(width)).collect();
    // The fastest side stands first.
    let shape = sides?.into_iter().rev().collect();
    let (kind, offset) = (cursor.number()?, cursor.number()?);
    Ok(Raw { name, shape, kind, offset, at })
}

impl Header {
    /// What the tensors are aligned to.
    fn align(&mut self) {
        let Some(value) = self.get("general.alignment") else { return };
        let number = match value {
            Value::Number(Json::Number(number), _) => number.as_u64(),
            _ => None,
        };
        self.alignment = number.filter(|number| number.is_power_of_two());
        if self.alignment.is_none() {
            let what = "header: general.alignment is no power of two: where tensors lie is not known";
            self.problems.push(Error::malformed(what));
        }
    }

    /// Finds the tensors in the file.
    fn place(&mut self, source: &Source, data: Option<u64>, raw: Vec<Raw>) {
        let mut offsets: Vec<u64> = raw.iter().map(|raw| raw.offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        for raw in raw {
            let next = offsets.partition_point(|offset| *offset <= raw.offset);
            let room = offsets.get(next).map(|next| next - raw.offset);
            let (what, problem) = match self.find(source, data, &raw, room) {
                Ok((what, problem)) => (what, problem),
                Err(error) => (What::Nothing, Some(error)),
            };
            let problem = problem.map(|problem| problem.at(raw.at));
            self.tensors.push(Entry { name: raw.name, what, problem });
        }
        self.overlaps();
    }

    /// A tensor's place, and what is wrong with it although it can be shown. `room` is how far the next one begins
    /// behind it.
    fn find(
        &self,
        source: &Source,
        data: Option<u64>,
        raw: &Raw,
        room: Option<u64>,
    ) -> Result<(What, Option<Error>)> {
        let mut kind = type_of(raw.kind)?;
        let mut bytes = kind.bytes(&raw.shape)?;
        let Some(data) = data else {
            return Err(Error::malformed("tensor: where it lies is not known, since the header is broken"));
        };
        let alignment = self.alignment.unwrap_or(ALIGNMENT);
        if kind == Type::Blocks(Blocks::Q8_1) {
            let wide = Type::Blocks(Blocks::Q8_1Wide);
            let wide_bytes = wide.bytes(&raw.shape)?;
            // gguf-py and older ggml have its scale and sum as float32.
            let end = source.known_len().map(|len| len.saturating_sub(data).saturating_sub(raw.offset));
            if room
                .or(end)
                .is_some_and(|room| room >= wide_bytes && room < wide_bytes.saturating_add(alignment))
            {
                (kind, bytes) = (wide, wide_bytes);
            }
        }
        let start = data.checked_add(raw.offset);
        let span = start.and_then(|start| Some(start..start.checked_add(bytes)?));
        let Some(span) = span else {
            return Err(Error::malformed(format!(
                "tensor: its end overflows 64 bits (offset {})",
                raw.offset
            )));
        };
        if let Some(len) = source.known_len()
            && bytes > 0
            && span.start >= len
        {
            return Err(Error::malformed(format!(
                "tensor: its bytes {} to {} lie beyond the file, which has {len}; it may be cut off",
                span.start, span.end
            )));
        }
        let uneven = !raw.offset.is_multiple_of(alignment);
        let problem = uneven.then(|| {
            let what = format!("tensor: its offset {} is no multiple of {alignment}", raw.offset);
            Error::malformed(what)
        });
        let problem = problem.or_else(|| {
            let len = source.known_len().filter(|len| span.end > *len)?;
            let what = format!("tensor: it ends at {}, the file at {len}; it may be cut off", span.end);
            Some(Error::malformed(what))
        });
        Ok((What::Array { kind, shape: raw.shape.clone(), span }, problem))
    }

    /// Names tensors that share bytes.
    fn overlaps(&mut self) {
        let mut spans: Vec<(Range<u64>, usize)> = Vec::new();
        for (n, tensor) in self.tensors.iter().enumerate() {
            if let What::Array { span, .. } = &tensor.what
                && span.start < span.end
            {
                spans.push((span.clone(), n));
            }
        }
        spans.sort_by_key(|(span, n)| (span.start, span.end, *n));
        let mut last: Option<(u64, usize)> = None;
        let mut pairs = Vec::new();
        for (span, n) in spans {
            if let Some((end, other)) = last
                && span.start < end
            {
                pairs.push((other, n));
            }
            if last.is_none_or(|(end, _)| span.end >= end) {
                last = Some((span.end, n));
            }
        }
        for &(first, second) in &pairs {
            for (n, other) in [(first, second), (second, first)] {
                let other = self.tensors.get(other).map(|tensor| tensor.name.clone()).unwrap_or_default();
                if let Some(tensor) = self.tensors.get_mut(n) {
                    let what = format!("tensor: its bytes overlap those of {other:?}");
                    tensor.problem.get_or_insert_with(|| Error::malformed(what));
                }
            }
        }
    }
}
