//! Bloscpack: a file of Blosc chunks of bytes, with JSON about them; most hold a NumPy array. A header of 32
//! bytes, metadata, the places of the chunks, the chunks, each with a checksum behind it.
//! <https://github.com/Blosc/bloscpack/blob/master/header_rfc.rst>
//!
//! Blizzard's textures have the same extension, but not the magic. What is no NumPy array is opened as the
//! file that was packed; a pickle, as `blosc.pack_array` makes them, is shown without being loaded. Bare Blosc
//! chunks are read too: they have no magic, but their own length in the header.

mod header;
#[cfg(test)]
mod tests;
mod write;

use crate::bytes::codec::{blosc, checksum};
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use crate::data::chunked::{Chunked, Chunks};
use crate::data::content::array::Plain;
use crate::data::content::{Array, ArrayFacts, Block, Content, Kind, Layout};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::region::{Region, Span};
use crate::data::sniff::{Head, Magic, Match};
use crate::formats::ALL;
use bytes::Bytes;
use header::{Check, Header, Numpy};
use std::sync::{Arc, OnceLock};

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["blp", "blosc"],
    magic: &[Magic::at(0, header::MAGIC)],
    sniff: Some(sniff),
    reads: &[Kind::Array, Kind::Bytes],
    targets: &[Target::new("bloscpack", "Bloscpack", &["blp"], &write::WRITER)],
    ..Format::new("bloscpack", "Bloscpack", open)
};

fn sniff(head: &Head) -> Match {
    match head.starts_with(header::MAGIC) || bare(&head.first, head.len).is_some() {
        true => Match::Yes,
        false => Match::No,
    }
}

/// The header of a Blosc chunk that is all of a file of `len` bytes.
fn bare(first: &[u8], len: Option<u64>) -> Option<blosc::Header> {
    // Versions of Blosc 1 and 2 and of the codecs' formats.
    let (1..=6, Some(1..=2)) = (*first.first()?, first.get(1)) else { return None };
    let head = blosc::Header::read(first).ok()?;
    let fits = len == Some(head.stored as u64) && head.size > 0 && head.size >= head.typesize;
    fits.then_some(head)
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let header = match bare(&opening.head.first, source.known_len()) {
        Some(head) if !opening.head.starts_with(header::MAGIC) => Header::bare(head.size as u64),
        _ => Header::read(task, source)?,
    };
    let file = Arc::new(File::new(source.clone(), header));
    let problem = file.missing(task)?;
    let whole = file.header.size()?;
    let codecs = file.codecs(task);
    let numpy = file.header.numpy();
    let chunk = vec![file.header.chunk.max(1)];
    let bytes = Arc::new(Chunked::new(DType::U8, vec![whole], chunk, vec![], file.clone())?);
    let inner = source.stream(inner_name(source.name()), Arc::new(Unpacked(bytes.clone())))?;
    let mut node = match numpy {
        Some(Ok(numpy)) => match array(&inner, numpy, &file, &bytes, codecs) {
            Ok(array) => Node::new(source.name(), "array").content(Content::Array(Arc::new(array))),
            Err(error) => Node::new(source.name(), "bytes").content(Content::Bytes(inner)).problem(error),
        },
        Some(Err(error)) => Node::new(source.name(), "bytes").content(Content::Bytes(inner)).problem(error),
        None => packed_file(opening, inner)?,
    };
    node.remarks.extend(file.header.remarks());
    let mut attributes = std::mem::take(&mut node.attributes);
    let (mut described, own) = file.header.attributes();
    node.attributes = own;
    described.insert(0, ("checksum".to_owned(), file.header.checksum().into()));
    node.reader.splice(0..0, described);
    node.attributes.append(&mut attributes);
    node.problem = problem.or(node.problem);
    Ok(node)
}

/// The file that was packed, by what it is itself.
fn packed_file(opening: &Opening, inner: Source) -> Result<Node> {
    let mut options = opening.options.clone();
    options.0.remove("format");
    let mut node = ALL.unwrapped(opening.task, opening.source.name(), "bytes", &inner, &options)?;
    node.span = None;
    Ok(node)
}

/// The name without `.blp`.
fn inner_name(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// The array in the unpacked bytes.
fn array(
    inner: &Source,
    numpy: Numpy,
    file: &Arc<File>,
    bytes: &Arc<Chunked>,
    codecs: Vec<String>,
) -> Result<Packed> {
    if numpy.described.object {
        return Err(Error::unsupported("an array of Python objects: its bytes are pointers"));
    }
    let dtype = numpy.described.dtype;
    let chunks = rows_of_chunk(&numpy.shape, &dtype, file.header.chunk).filter(|_| !numpy.fortran);
    let plain = Plain::new(inner.clone(), 0, dtype, numpy.shape)?
        .fortran(numpy.fortran)
        .byte_order(numpy.described.order);
    let facts = ArrayFacts {
        chunks,
        codecs,
        bytes_stored: inner.known_len().and(file.source.known_len()),
        ..plain.facts()
    };
    Ok(Packed { plain, facts, bytes: bytes.clone() })
}

/// A chunk of bytes as a chunk of the array, where it is whole rows.
fn rows_of_chunk(shape: &[u64], dtype: &DType, chunk: u64) -> Option<Vec<u64>> {
    let (&first, rest) = shape.split_first()?;
    let row = limits::bytes(rest, dtype.size()).ok().filter(|&row| row > 0 && chunk.is_multiple_of(row))?;
    let rows = (chunk / row).clamp(1, first.max(1));
    Some([&[rows], rest].concat())
}

/// The array of a bloscpack file.
struct Packed {
    plain: Plain,
    facts: ArrayFacts,
    bytes: Arc<Chunked>,
}

impl Array for Packed {
    fn dtype(&self) -> &DType {
        self.plain.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.plain.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.plain.read(task, region, out)
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        self.bytes.layout(task)
    }
}

/// The unpacked bytes.
struct Unpacked(Arc<Chunked>);

impl ReadAt for Unpacked {
    fn known_len(&self) -> Option<u64> {
        self.0.shape().first().copied()
    }

    fn len(&self, _: &Task) -> Result<u64> {
        Ok(self.known_len().unwrap_or(0))
    }

    fn read_at(&self, task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let left = self.known_len().unwrap_or(0).saturating_sub(offset);
        let count = left.min(out.len() as u64);
        let part = out.get_mut(..count as usize).unwrap_or_default();
        self.0.read(task, &Region(vec![Span::range(offset, count)]), part)?;
        Ok(count as usize)
    }
}

/// The file and where its chunks lie.
struct File {
    source: Source,
    header: Header,
    /// Where each chunk begins: from the file, or found by going from one to the next.
    places: OnceLock<Result<Vec<u64>>>,
}

impl File {
    fn new(source: Source, header: Header) -> Self {
        File { source, header, places: OnceLock::new() }
    }

    fn places(&self, task: &Task) -> Result<&[u64]> {
        if let Some(known) = self.places.get() {
            return known.as_ref().map(Vec::as_slice).map_err(Clone::clone);
        }
        let found = self.find(task).unless_cancelled()?;
        self.places.get_or_init(|| found).as_ref().map(Vec::as_slice).map_err(Clone::clone)
    }

    /// The places as the file lists them; else chunk after chunk, as far as there are any.
    fn find(&self, task: &Task) -> Result<Vec<u64>> {
        let count = self.header.count;
        if let Some(at) = self.header.offsets {
            let end = count.checked_mul(8).and_then(|bytes| at.checked_add(bytes));
            let table = self.source.read(task, at..end.ok_or_else(|| overflow("offsets"))?)?;
            return Ok(table.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect());
        }
        let mut places = Vec::new();
        let mut at = self.header.data;
        for _ in 0..count {
            task.check()?;
            let Ok(head) = self.chunk_header(task, at) else { break };
            places.push(at);
            at = at.saturating_add(head.stored as u64 + self.header.check.size());
        }
        Ok(places)
    }

    fn chunk_header(&self, task: &Task, at: u64) -> Result<blosc::Header> {
        let bytes = self.source.read_up_to(task, at, 32)?;
        blosc::Header::read(&bytes).map_err(|e| e.at(at))
    }

    /// What is wrong where chunks are not there, as far as a look at their places tells.
    fn missing(&self, task: &Task) -> Result<Option<Error>> {
        if self.header.offsets.is_none() {
            return Ok(None);
        }
        let places = match self.places(task).unless_cancelled()? {
            Ok(places) => places,
            Err(error) => return Ok(Some(error)),
        };
        let len = self.source.known_len().unwrap_or(u64::MAX);
        let is_whole = |place: u64| {
            let head = if place < len { self.chunk_header(task, place) } else { Err(overflow("chunk")) };
            head.is_ok_and(|head| place.saturating_add(head.stored as u64) <= len)
        };
        let outside = places.iter().filter(|&&place| place.saturating_add(16) > len).count();
        let there = places.len() - outside;
        // Of those that begin inside, the last one may be cut.
        let last = places.iter().copied().filter(|&place| place.saturating_add(16) <= len).max();
        let cut = usize::from(last.is_some_and(|place| !is_whole(place)));
        Ok((outside + cut > 0).then(|| {
            Error::malformed(format!(
                "file: {} of {} chunks are there; it may be cut off",
                there - cut,
                places.len()
            ))
        }))
    }

    /// How chunks are compressed, by the first one.
    fn codecs(&self, task: &Task) -> Vec<String> {
        let first = self.places(task).ok().and_then(|places| places.first().copied());
        let Some(Ok(head)) = first.map(|at| self.chunk_header(task, at)) else { return Vec::new() };
        head.filters().into_iter().chain([head.codec()]).map(str::to_owned).collect()
    }
}

fn overflow(what: &str) -> Error {
    Error::malformed(format!("{what}: it would lie beyond the end of the file"))
}

impl Chunks for File {
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let number = index.first().copied().unwrap_or(0);
        let places = self.places(task)?;
        let place = usize::try_from(number).ok().and_then(|n| places.get(n));
        let at = *place.ok_or_else(|| Error::malformed("file: the chunk is not there; it may be cut off"))?;
        let head = self.chunk_header(task, at)?;
        let most = limits::check(self.header.chunk.max(1), limits::CHUNK, "a chunk")?;
        let end = at.checked_add(head.stored as u64).ok_or_else(|| overflow("chunk"))?;
        let stored = self.source.read(task, at..end)?;
        if let Some(digest) = self.header.check.of(&stored) {
            let found = self.source.read(task, end..end + self.header.check.size())?;
            if *found != *digest {
                let kind = self.header.check.word();
                return Err(Error::malformed(format!("data: its {kind} checksum does not match")).at(at));
            }
        }
        blosc::decode(&stored, most).map(|out| Some(out.into())).map_err(|e| e.at(at))
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        let places = self.places(task)?;
        let mut blocks = Vec::with_capacity(places.len());
        for (n, &at) in places.iter().enumerate() {
            task.check()?;
            let first = n as u64 * self.header.chunk;
            let block = match self.chunk_header(task, at) {
                Ok(head) => Block {
                    first,
                    count: head.size as u64,
                    stored: head.stored as u64,
                    raw: head.size as u64,
                    ..Block::default()
                },
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(_) => Block { first, missing: true, ..Block::default() },
            };
            blocks.push(block);
        }
        Ok(Layout { unit: "chunk", blocks, ..Layout::default() })
    }
}

impl Check {
    /// The checksum of a chunk, where it can be computed.
    fn of(self, bytes: &[u8]) -> Option<Vec<u8>> {
        use sha2::Digest;
        Some(match self {
            Check::None | Check::Md5 | Check::Sha1 => return None,
            Check::Adler32 => checksum::adler32(bytes).to_le_bytes().to_vec(),
            Check::Crc32 => checksum::crc32(bytes).to_le_bytes().to_vec(),
            Check::Sha224 => sha2::Sha224::digest(bytes).to_vec(),
            Check::Sha256 => sha2::Sha256::digest(bytes).to_vec(),
            Check::Sha384 => sha2::Sha384::digest(bytes).to_vec(),
            Check::Sha512 => sha2::Sha512::digest(bytes).to_vec(),
        })
    }
}
