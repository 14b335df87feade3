//! A tensor of a checkpoint, as a slice of the file that has its values.

use super::names;
use super::version1::Saved;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{ArrayFacts, Plain};
use crate::data::content::{Array, Content};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::data::region::Region;
use crate::engines::modules::Leaf;
use crate::engines::tensorflow::arrays::{Partitioned, Piece, Strings, kind_of_strings};
use crate::engines::tensorflow::table::{masked, varint};
use crate::engines::tensorflow::types;
use arrow::array::ArrayRef;
use bytes::Bytes;
use std::sync::Arc;

/// The number of the type of texts.
const STRING: u64 = 7;
/// Up to this many bytes of texts are looked at to tell whether they are some.
const LOOKED_AT: u64 = 64 << 10;
/// The most files of values.
const SHARDS: u64 = 1 << 12;

/// The files that have the values.
pub(super) struct Shards {
    files: Vec<(String, Result<Source>)>,
    is_big: bool,
}

impl Shards {
    /// The files beside a table.
    pub(super) fn of(task: &Task, index: &Source, count: u64, is_big: bool) -> Shards {
        let prefix = match names::file_of(index.name()) {
            Some((prefix, names::File::Index)) => prefix,
            _ => index.name(),
        };
        let count = count.clamp(1, SHARDS);
        let name = |n: u64| format!("{prefix}.data-{n:05}-of-{count:05}");
        let file = |name: String| {
            let source = index.sibling(task, &name);
            (name, source)
        };
        Shards { files: (0..count).map(name).map(file).collect(), is_big }
    }

    /// What is said of those that are not there.
    pub(super) fn missing(&self) -> Option<Error> {
        let missing: Vec<&str> =
            self.files.iter().filter(|(_, file)| file.is_err()).map(|(name, _)| name.as_str()).collect();
        let named = missing.get(..missing.len().min(5))?.join(", ");
        (!missing.is_empty()).then(|| {
            Error::io(format!(
                "{} of {} files of values are not there: {named}",
                missing.len(),
                self.files.len()
            ))
        })
    }

    fn get(&self, n: u64) -> Result<&Source> {
        let file = usize::try_from(n).ok().and_then(|n| self.files.get(n));
        let (_, source) = file.ok_or_else(|| Error::malformed(format!("there is no file {n} of values")))?;
        source.as_ref().map_err(Clone::clone)
    }
}

/// Where a tensor lies.
pub(super) enum Place {
    /// In a file of values.
    Shard { shards: Arc<Shards>, shard: u64, offset: u64, size: u64 },
    /// In parts: the first index and the length of each along each dimension.
    Parts(Vec<((Vec<u64>, Vec<u64>), Result<Place>)>),
    /// In the table itself.
    Saved(Arc<Saved>),
}

/// A tensor of a checkpoint.
pub struct Stored {
    name: String,
    dtype: u64,
    /// The length of each dimension.
    pub shape: Vec<u64>,
    place: Option<Place>,
    /// Whether texts are texts and not bytes.
    is_text: bool,
    problem: Option<Error>,
}

impl Stored {
    pub(super) fn new(name: &str, dtype: u64, shape: Vec<u64>, place: Place) -> Stored {
        Stored { name: name.to_owned(), dtype, shape, place: Some(place), is_text: false, problem: None }
    }

    pub(super) fn broken(name: &str, problem: Error) -> Stored {
        let problem = Some(problem);
        Stored { name: name.to_owned(), dtype: 0, shape: Vec::new(), place: None, is_text: false, problem }
    }

    /// Finds out whether texts are some, by their beginning; whether anything was read for it.
    pub(super) fn look(&mut self, task: &Task) -> Result<bool> {
        let Some(Place::Shard { shards, shard, offset, size }) = &self.place else { return Ok(false) };
        if self.dtype != STRING || self.name == super::OBJECTS {
            return Ok(false);
        }
        let (Ok(count), Ok(source)) = (limits::elements(&self.shape), shards.get(*shard)) else {
            return Ok(false);
        };
        let seen = source.read_up_to(task, *offset, (*size).min(LOOKED_AT) as usize).unless_cancelled()?;
        let Ok(seen) = seen else { return Ok(true) };
        let mut rest = seen.get(..).unwrap_or_default();
        for _ in 0..count {
            if varint(&mut rest).is_none() {
                return Ok(true);
            }
        }
        let texts = rest.get(4..).unwrap_or_default();
        let is_strange = |byte: &u8| *byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r');
        let is_utf8 = match std::str::from_utf8(texts) {
            Ok(_) => true,
            // The last character is not seen whole.
            Err(error) => error.error_len().is_none() && *size > LOOKED_AT,
        };
        self.is_text = is_utf8 && !texts.iter().any(is_strange);
        Ok(true)
    }

    /// The only element of a tensor of bytes.
    pub(super) fn single(&self, task: &Task) -> Result<Bytes> {
        match self.content_at(self.place.as_ref(), &self.shape)? {
            Some(Content::Array(_)) if self.dtype == STRING && self.shape.is_empty() => {}
            _ => return Err(Error::malformed("it is no single string")),
        }
        let Some(Place::Shard { shards, shard, offset, size }) = &self.place else {
            return Err(Error::malformed("it is no single string"));
        };
        limits::check(*size, limits::HEADER, "the objects of a checkpoint")?;
        let texts = Texts::read(task, shards.get(*shard)?, *offset, *size, 1)?;
        texts.into_iter().next().map(Bytes::from).ok_or_else(|| Error::malformed("it is no single string"))
    }

    /// The array at a place, of this shape.
    fn content_at(&self, place: Option<&Place>, shape: &[u64]) -> Result<Option<Content>> {
        let Some(place) = place else { return Ok(None) };
        let Place::Shard { shards, shard, offset, size } = place else {
            return Ok(self.array_at(place, shape)?.map(Content::Array));
        };
        if self.dtype == STRING || types::dtype(self.dtype).is_some() {
            return Ok(self.array_at(place, shape)?.map(Content::Array));
        }
        // Variants and handles: messages of their own.
        let source = shards.get(*shard)?;
        let end = offset.checked_add(*size).ok_or_else(|| Error::malformed("values beyond 64 bits"))?;
        Ok(Some(Content::Bytes(source.member(self.name.as_str(), *offset..end)?)))
    }

    fn array_at(&self, place: &Place, shape: &[u64]) -> Result<Option<Arc<dyn Array>>> {
        let dtype = types::dtype(self.dtype);
        Ok(Some(match (place, dtype) {
            (Place::Saved(saved), _) => saved.clone(),
            (Place::Shard { shards, shard, offset, size }, None) if self.dtype == STRING => {
                let source = shards.get(*shard)?.clone();
                let dtype = kind_of_strings(self.is_text);
                Arc::new(Texts { source, offset: *offset, size: *size, dtype, shape: shape.to_vec() })
            }
            (Place::Shard { shards, shard, offset, size }, Some(dtype)) => {
                let needed = limits::bytes(shape, dtype.size())?;
                if needed != *size {
                    let what =
                        format!("shape {shape:?} of {dtype} needs {needed} bytes, the table says {size}");
                    return Err(Error::malformed(what));
                }
                let source = shards.get(*shard)?.clone();
                let file = source.name().to_owned();
                let plain = Plain::cut(source, *offset, dtype, shape.to_vec())?.big_endian(shards.is_big);
                let plain = plain.detail("file", file);
                let end = offset.saturating_add(*size);
                Arc::new(plain.detail("bytes in the file", format!("{offset} to {end}")))
            }
            (Place::Parts(parts), Some(dtype)) => {
                let piece = |((start, sides), place): &((Vec<u64>, Vec<u64>), Result<Place>)| {
                    let array =
                        place.as_ref().map_err(Clone::clone).and_then(|place| self.array_at(place, sides));
                    let missing = || Error::malformed("a part without values");
                    let array = array.and_then(|array| array.ok_or_else(missing));
                    Piece { start: start.clone(), sides: sides.clone(), array }
                };
                Arc::new(Partitioned::new(dtype, shape.to_vec(), parts.iter().map(piece).collect()))
            }
            _ => return Ok(None),
        }))
    }

    /// What is missing of its values.
    fn missing(&self) -> Option<Error> {
        let Some(Place::Shard { shards, shard, offset, size }) = &self.place else { return None };
        let len = shards.get(*shard).ok()?.known_len()?;
        let is_cut = offset.checked_add(*size).is_none_or(|end| end > len);
        is_cut.then(|| {
            Error::malformed(format!(
                "its values end at byte {}, the file has {len}",
                offset.saturating_add(*size)
            ))
        })
    }

    /// Its elements.
    pub fn elements(&self) -> u64 {
        limits::elements(&self.shape).unwrap_or(0)
    }
}

impl Leaf for Stored {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, "tensor");
        node.type_name = types::own_word(self.dtype).map(Into::into);
        node.problem.clone_from(&self.problem);
        match self.content_at(self.place.as_ref(), &self.shape) {
            Ok(content) => {
                node.content = content;
                if node.problem.is_none() {
                    node.problem = self.missing();
                }
            }
            Err(error) => {
                node.problem.get_or_insert(error);
            }
        }
        if node.content.is_none() && self.place.is_some() && node.problem.is_none() {
            node = node.value(format!("{} {:?}", types::word(self.dtype), self.shape));
        }
        node
    }
}

/// Texts of any length: the lengths of all, a checksum of them, then the texts.
struct Texts {
    source: Source,
    offset: u64,
    size: u64,
    dtype: DType,
    shape: Vec<u64>,
}

impl Texts {
    fn read(task: &Task, source: &Source, offset: u64, size: u64, count: u64) -> Result<Vec<Vec<u8>>> {
        let wrong = |what: &str| Error::malformed(what).at(offset);
        limits::check(size, limits::CHUNK, "the texts of a tensor")?;
        // Each has a length of at least one byte.
        if count > size {
            return Err(wrong("there are fewer texts than the shape says"));
        }
        let end = offset.checked_add(size).ok_or_else(|| wrong("texts beyond 64 bits"))?;
        let bytes = source.read(task, offset..end)?;
        let (mut rest, mut lengths, mut summed) = (bytes.get(..).unwrap_or_default(), Vec::new(), Vec::new());
        for _ in 0..count {
            let len = varint(&mut rest).ok_or_else(|| wrong("the lengths of texts"))?;
            // The checksum is over numbers of 32 bits where they fit, else of 64.
            match u32::try_from(len) {
                Ok(len) => summed.extend(len.to_le_bytes()),
                Err(_) => summed.extend(len.to_le_bytes()),
            }
            lengths.push(len);
        }
        if le::<u32>(rest, 0) != Some(masked(&summed)) {
            return Err(wrong("the lengths of texts do not have their checksum"));
        }
        rest = rest.get(4..).unwrap_or_default();
        let mut texts = Vec::with_capacity(lengths.len());
        for len in lengths {
            let parts = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
            let (text, after) = parts.ok_or_else(|| wrong("texts are longer than their room"))?;
            texts.push(text.to_vec());
            rest = after;
        }
        Ok(texts)
    }
}

impl Array for Texts {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::bug("texts have no bytes of a fixed size"))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let count = limits::elements(&self.shape)?;
        let texts = Texts::read(task, &self.source, self.offset, self.size, count)?;
        let is_text = self.dtype == DType::text();
        let strings = Strings::new(texts, self.shape.clone())?;
        if is_text && strings.dtype() != &self.dtype {
            return Err(Error::unsupported("not all of its texts are UTF-8").at(self.offset));
        }
        strings.column_as(task, region, is_text)
    }

    fn facts(&self) -> ArrayFacts {
        ArrayFacts { bytes_stored: Some(self.size), ..ArrayFacts::default() }
    }
}
