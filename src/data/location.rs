//! Where a value lies in the bytes of a file: the stored unit that holds it (a page, a chunk, a record, a buffer), how
//! that is decoded, and where in the decoded unit the value stands; and back, from a byte to what it belongs to.
//!
//! A table tells it of a cell ([`Table::location`](crate::data::content::Table::location)), an array of an element
//! ([`Array::location`](crate::data::content::Array::location)). Where nothing is known they say `None`: values that a
//! reader makes up, or gathers from several places.
//!
//! A source may itself be what was decompressed from another one; [`Location::outer`] tells from which bytes.

mod search;

pub use search::{Found, find, find_in};

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{Packed, Source};
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Makes the decoded unit of the stored one.
type Decode = dyn Fn(&Task, Bytes) -> Result<Bytes> + Send + Sync;

/// Finds the other bytes that those of a value lead to.
type Follow = dyn Fn(&Task, &[u8]) -> Result<Option<Part>> + Send + Sync;

/// Where a value lies in the bytes of a file.
#[derive(Clone)]
pub struct Location {
    /// The bytes in which the unit lies.
    pub source: Source,
    /// Where in them the unit is.
    pub range: Range<u64>,
    /// What the format calls such a unit: `page`, `chunk`, `record`, `buffer`.
    pub unit: &'static str,
    /// Which one it is: `row group 2, column 5`, `[0, 3]`; may be empty.
    pub name: String,
    /// What was applied to the unit, in the order of writing; empty where it lies there as it is.
    pub codecs: Vec<String>,
    /// How values are written in the decoded unit, where the format has a word for it: `PLAIN`, `RLE_DICTIONARY`, `>f4`.
    pub encoding: Option<String>,
    /// Where the value stands in the decoded unit; `None` where that is not told.
    pub within: Option<Within>,
    /// Of a value that is a record: its fields in the order of the table's columns, where they are stored in another way
    /// than they are delivered.
    pub fields: Vec<FieldPlace>,
    /// Other bytes that the value is made of, or that say something of it.
    pub parts: Vec<Part>,
    /// Whether the file holds no bytes of the value itself: it is null, or the fill value of a chunk that is not there.
    pub absent: bool,
    decode: Option<Arc<Decode>>,
    /// Where fields hold places of other bytes: which field (0 of a value that is no record), and the way there.
    follows: Vec<(usize, Arc<Follow>)>,
}

/// A field of a stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// Its bytes, from the first one of the record on.
    pub bytes: Range<u64>,
    /// How it is written.
    pub encoding: String,
}

/// A part of a decoded unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// The bytes.
    pub bytes: Range<u64>,
    /// Which bits of them, counted from the lowest one of the first byte, where it is not all of them.
    pub bits: Option<Range<u64>>,
}

/// Bytes beside those of the value.
#[derive(Clone, Debug)]
pub struct Part {
    /// What they are: `validity bit`, `offsets`, `dictionary page`.
    pub what: &'static str,
    /// Where they lie.
    pub location: Location,
}

impl From<Range<u64>> for Within {
    fn from(bytes: Range<u64>) -> Self {
        Within { bytes, bits: None }
    }
}

impl Within {
    /// The bits `bits` of a unit, and the bytes that hold them.
    pub fn of_bits(bits: Range<u64>) -> Self {
        let bytes = bits.start / 8..bits.end.div_ceil(8);
        let first = bytes.start * 8;
        let bits = bits.start - first..bits.end - first;
        let whole = bits.start == 0 && bits.end.is_multiple_of(8);
        Within { bytes, bits: (!whole).then_some(bits) }
    }

    /// The number that these bits are in `bytes`, the lowest bit first; `None` for more than 64, and beyond the bytes.
    pub fn number(&self, bytes: &[u8]) -> Option<u64> {
        let part =
            bytes.get(usize::try_from(self.bytes.start).ok()?..usize::try_from(self.bytes.end).ok()?)?;
        let bits = self.bits.clone().unwrap_or(0..part.len() as u64 * 8);
        if bits.end.checked_sub(bits.start)? > 64 || bits.end > part.len() as u64 * 8 {
            return None;
        }
        let bit = |at: u64| part.get((at / 8) as usize).map_or(0, |byte| u64::from(byte >> (at % 8) & 1));
        Some(bits.clone().fold(0, |number, at| number | bit(at) << (at - bits.start)))
    }
}

impl Location {
    /// A unit that lies in `range` of `source` as it is; where in it the value stands is not told yet.
    pub fn new(source: Source, range: Range<u64>, unit: &'static str, name: impl Into<String>) -> Self {
        Location {
            source,
            range,
            unit,
            name: name.into(),
            codecs: Vec::new(),
            encoding: None,
            within: None,
            fields: Vec::new(),
            parts: Vec::new(),
            absent: false,
            decode: None,
            follows: Vec::new(),
        }
    }

    /// Of a value that is the place of other bytes, or of its field `field`: how these are found.
    pub fn leads(
        mut self,
        field: usize,
        follow: impl Fn(&Task, &[u8]) -> Result<Option<Part>> + Send + Sync + 'static,
    ) -> Self {
        self.follows.push((field, Arc::new(follow)));
        self
    }

    /// With the bytes that the value leads to as a part of it, where it is the place of others.
    ///
    /// # Errors
    /// Only that the work was cancelled: of what cannot be read nothing is told.
    pub fn followed(mut self, task: &Task) -> Result<Self> {
        // Of a record not one field was chosen yet.
        if !self.fields.is_empty() || self.absent {
            return Ok(self);
        }
        for (_, follow) in std::mem::take(&mut self.follows) {
            let Ok(Some(bytes)) = self.value(task).unless_cancelled()? else { continue };
            self.parts.extend(follow(task, &bytes).unless_cancelled()?.ok().flatten());
        }
        Ok(self)
    }

    /// With where in the decoded unit the value stands.
    pub fn within(mut self, within: impl Into<Within>) -> Self {
        self.within = Some(within.into());
        self
    }

    /// Written with these codecs, which `decode` undoes.
    pub fn decoded_by(
        mut self,
        codecs: Vec<String>,
        decode: impl Fn(&Task, Bytes) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.codecs = codecs;
        self.decode = Some(Arc::new(decode));
        self
    }

    /// Of a value that is a record whose fields are told, the field `n`; `None` where they are not.
    pub fn nth_field(mut self, n: usize) -> Option<Self> {
        let field = self.fields.get(n)?.clone();
        let within = self.within.as_mut().filter(|within| within.bits.is_none())?;
        let start = within.bytes.start;
        within.bytes = start.saturating_add(field.bytes.start)..start.saturating_add(field.bytes.end);
        self.fields.clear();
        self.follows.retain(|(of, _)| *of == n);
        self.encoding = Some(field.encoding);
        Some(self)
    }

    /// Of a value that is a record of `size` bytes: the bytes `field` of it, where it is stored in as many bytes.
    pub fn field(mut self, size: u64, field: Range<u64>) -> Self {
        if let Some(within) = &mut self.within
            && within.bits.is_none()
            && within.bytes.end.saturating_sub(within.bytes.start) == size
        {
            let start = within.bytes.start;
            within.bytes = start.saturating_add(field.start)..start.saturating_add(field.end);
        }
        self
    }

    /// With another word for the unit.
    pub fn called(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// With the format's word for how values are written.
    pub fn encoding(mut self, encoding: impl Into<String>) -> Self {
        self.encoding = Some(encoding.into());
        self
    }

    /// The unit alone, without a value in it.
    pub fn of_unit(mut self) -> Self {
        self.within = None;
        self.parts.clear();
        self.follows.clear();
        self
    }

    /// With other bytes that the value is made of.
    pub fn part(mut self, what: &'static str, location: Location) -> Self {
        self.parts.push(Part { what, location });
        self
    }

    /// Of a value of which the file holds no bytes.
    pub fn absent(mut self) -> Self {
        self.absent = true;
        self.within = None;
        self
    }

    /// Whether another place is one in the same unit.
    pub fn is_beside(&self, other: &Location) -> bool {
        self.range == other.range && self.unit == other.unit && self.source.is(&other.source)
    }

    /// Whether the unit lies in the source as it is: no codec has to be undone.
    pub fn is_plain(&self) -> bool {
        self.decode.is_none()
    }

    /// Where the value itself lies in the source; `None` where it has to be decoded first, or is not told.
    pub fn exact(&self) -> Option<Range<u64>> {
        let within = self.within.as_ref().filter(|_| self.is_plain() && !self.absent)?;
        let at = |place: u64| self.range.start.checked_add(place);
        Some(at(within.bytes.start)?..at(within.bytes.end)?)
    }

    /// What to show of the source: the value where it lies there as it is, else the unit.
    pub fn shown(&self) -> Range<u64> {
        self.exact().unwrap_or_else(|| self.range.clone())
    }

    /// The file that `range` of the source lies in, and where in it: what a slice is a part of.
    pub fn base(&self, range: Range<u64>) -> (Source, Range<u64>) {
        self.source.base(range)
    }

    /// Of a source that was decompressed: what it was decompressed from.
    pub fn outer(&self) -> Option<Packed> {
        self.source.base(self.range.clone()).0.origin()
    }

    /// The decoded unit: the bytes that `within` counts in.
    ///
    /// # Errors
    /// What reading and decoding it give; `Limit` for a unit that is too long to be decoded.
    pub fn decoded(&self, task: &Task) -> Result<Bytes> {
        let len = self.range.end.saturating_sub(self.range.start);
        limits::check(len, limits::CHUNK, &format!("a stored {}", self.unit))?;
        let stored = self.source.read(task, self.range.clone())?;
        self.decode.as_ref().map_or(Ok(stored.clone()), |decode| decode(task, stored))
    }

    /// The bytes of the value in the decoded unit.
    ///
    /// # Errors
    /// As [`decoded`](Location::decoded); `Malformed` where the decoded unit ends before them.
    pub fn value(&self, task: &Task) -> Result<Option<Bytes>> {
        let Some(within) = &self.within else { return Ok(None) };
        if let Some(exact) = self.exact() {
            return self.source.read(task, exact).map(Some);
        }
        let decoded = self.decoded(task)?;
        let (start, end) = (within.bytes.start as usize, within.bytes.end as usize);
        if start > end || end > decoded.len() {
            let what =
                format!("{}: it decodes to {} bytes, the value ends at {end}", self.unit, decoded.len());
            return Err(Error::malformed(what).at(self.range.start));
        }
        Ok(Some(decoded.slice(start..end)))
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Location")
            .field("source", &self.source)
            .field("range", &self.range)
            .field("unit", &self.unit)
            .field("name", &self.name)
            .field("codecs", &self.codecs)
            .field("encoding", &self.encoding)
            .field("within", &self.within)
            .field("parts", &self.parts)
            .field("absent", &self.absent)
            .finish_non_exhaustive()
    }
}

/// A byte of a file, to ask what it belongs to.
#[derive(Clone, Debug)]
pub struct BytePlace {
    source: Source,
    offset: u64,
}

impl BytePlace {
    /// The byte at `offset` of `source`.
    pub fn new(source: &Source, offset: u64) -> Self {
        let (source, range) = source.base(offset..offset.saturating_add(1));
        BytePlace { source, offset: range.start }
    }

    /// How far behind the beginning of `range` of `source` it stands; `None` where it lies outside of it.
    pub fn within(&self, source: &Source, range: &Range<u64>) -> Option<u64> {
        let (base, range) = source.base(range.clone());
        let inside = range.contains(&self.offset) && self.is_in(&base);
        inside.then(|| self.offset - range.start)
    }

    /// Where it stands in `source`, which may be a slice; `None` where it is of another file.
    pub fn offset_in(&self, source: &Source) -> Option<u64> {
        let (base, start) = source.base(0..0);
        self.is_in(&base).then(|| self.offset.checked_sub(start.start)).flatten()
    }

    /// The source that it is a byte of, which is no slice of another, and where in it.
    pub(crate) fn base(&self) -> (&Source, u64) {
        (&self.source, self.offset)
    }

    /// The path of its file, where it is one on disk.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.source.path()
    }

    /// Whether it is a byte of that file: the same source, or one of the same path.
    fn is_in(&self, base: &Source) -> bool {
        base.is(&self.source) || base.path().is_some_and(|path| self.source.path() == Some(path))
    }
}

/// What a byte belongs to.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The stored unit that holds the byte, without where a value stands in it.
    pub unit: Location,
    /// The row and, where it is told, the column of the cell that begins at the byte or before; `None` for arrays.
    pub cell: Option<(u64, Option<usize>)>,
    /// The index of the element that the byte belongs to, or that is the first of the unit; `None` for tables.
    pub element: Option<Vec<u64>>,
    /// Whether the byte is known to be one of that cell's or element's own, and not only of its unit.
    pub exact: bool,
}

impl Owner {
    /// A byte in a unit of a table whose first row is `row`.
    pub fn of_row(unit: Location, row: u64, column: Option<usize>, exact: bool) -> Self {
        Owner { unit, cell: Some((row, column)), element: None, exact }
    }

    /// A byte in a unit of an array whose first element is `index`.
    pub fn of_element(unit: Location, index: Vec<u64>, exact: bool) -> Self {
        Owner { unit, cell: None, element: Some(index), exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_numbers() {
        let bytes = [0b1010_0000, 0b0000_0110];
        let within = Within::of_bits(5..11);
        assert_eq!((within.bytes.clone(), within.bits.clone()), (0..2, Some(5..11)));
        assert_eq!(within.number(&bytes), Some(0b110_101));
        assert_eq!(Within::of_bits(8..16), Within::from(1..2));
        assert_eq!(Within::of_bits(8..16).number(&bytes), Some(6));
        assert_eq!(Within::of_bits(9..20).number(&bytes), None);
    }

    #[test]
    fn a_byte_of_a_slice_is_one_of_the_file() {
        let file = Source::memory("f", vec![0; 100]);
        let slice = file.member("m", 40..60).unwrap();
        let byte = BytePlace::new(&slice, 3);
        assert_eq!(byte.offset_in(&file), Some(43));
        assert_eq!(byte.offset_in(&slice), Some(3));
        assert_eq!(byte.within(&file, &(41..44)), Some(2));
        assert_eq!(byte.within(&file, &(44..50)), None);
        assert_eq!(byte.offset_in(&Source::memory("f", vec![0; 100])), None);
    }

    #[test]
    fn a_unit_is_decoded_by_what_it_was_written_with() {
        let file = Source::memory("f", vec![1u8, 2, 3, 4]);
        let turned = |_: &Task, bytes: Bytes| Ok(bytes.iter().rev().copied().collect::<Vec<u8>>().into());
        let location = Location::new(file, 1..4, "chunk", "").decoded_by(vec!["turn".into()], turned);
        let task = Task::new();
        assert_eq!(location.clone().within(0..2).value(&task).unwrap().unwrap(), vec![4, 3]);
        assert_eq!(location.clone().within(0..2).exact(), None);
        assert!(location.within(2..4).value(&task).is_err());
    }
}
