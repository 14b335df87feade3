//! The footer: found, bounded and checked before the Parquet crate parses it.
//!
//! The crate allocates row groups and schema children from counts in the file and walks nested
//! groups by recursion, so those counts are looked at first. The footer is Thrift's compact protocol:
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

use super::foreign;
use crate::error::{Error, Result};
use crate::limits;
use crate::open::distrusted;
use crate::source::{Reader, Source};
use crate::task::Task;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{Seek, SeekFrom};
use std::sync::Arc;

/// The first and last bytes of a file.
pub(super) const MAGIC: &[u8] = b"PAR1";
/// The same of a file whose footer is encrypted.
pub(super) const ENCRYPTED: &[u8] = b"PARE";
/// The most row groups: the format numbers them by 16-bit integers.
const ROW_GROUPS: u64 = 1 << 15;
/// The most lists of one footer whose type is set right.
const MENDED: usize = 256;
/// How many bytes a page's header has at most.
const LEFT_OUT: i64 = 100;

/// The longest piece that is copied out of the file rather than mapped, in bytes.
const COPIED: usize = 16 << 20;

/// A source as the Parquet crate wants it. Carries the task, so that a cancelled read stops at its
/// next page.
#[derive(Clone)]
pub(super) struct Chunks {
    pub(super) source: Source,
    pub(super) task: Task,
    pub(super) len: u64,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = Reader;

    fn get_read(&self, start: u64) -> Result<Reader, ParquetError> {
        let mut reader = self.source.reader(&self.task);
        reader.seek(SeekFrom::Start(start))?;
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let outer = |e| ParquetError::External(Box::new(e));
        let end = start.saturating_add(length as u64);
        // Pages are copied: of a map that is not in memory, the kernel would fetch megabytes around
        // each, and a scan would leave the whole file in the process' resident memory.
        if length > COPIED || end > self.len {
            return self.source.read(&self.task, start..end).map_err(outer);
        }
        let mut out = limits::buffer(length as u64, "a page").map_err(outer)?;
        self.source.read_into(&self.task, start, &mut out).map_err(outer)?;
        Ok(out.into())
    }
}

/// What the footer says.
pub(super) struct Footer {
    /// Metadata without page indexes, and the Arrow schema.
    pub(super) metadata: ArrowReaderMetadata,
    /// Whether the embedded Arrow schema was left aside, because it does not fit the columns.
    pub(super) plain_schema: bool,
    /// What a user should know.
    pub(super) remarks: Vec<String>,
    /// The file's length.
    pub(super) len: u64,
}

/// Reads and parses the footer of `source`.
///
/// # Errors
/// `Malformed` for a file that is cut off or whose footer does not parse; `Unsupported` for an
/// encrypted footer; `Limit` for one larger than [`limits::HEADER`].
pub(super) fn read(task: &Task, source: &Source) -> Result<Footer> {
    let len = source.len(task)?;
    let bytes = bytes(task, source, len)?;
    check(&bytes).map_err(|e| e.at(len - 8 - bytes.len() as u64))?;
    let start = len - 8 - bytes.len() as u64;
    let parsed = whole_chunks(decode(&bytes).map_err(|e| e.at(start))?, start)?;
    let parsed = Arc::new(parsed);
    let mut remarks = Vec::new();
    let (metadata, plain_schema) = match arrow_schema(parsed.clone(), false) {
        Ok(metadata) => (metadata, false),
        Err(error) => {
            let metadata = arrow_schema(parsed, true)?;
            remarks
                .push(format!("the Arrow schema inside does not fit the columns and is not used: {error}"));
            (metadata, true)
        }
    };
    let stated = metadata.metadata().file_metadata().num_rows();
    let sum: i128 = metadata.metadata().row_groups().iter().map(|g| i128::from(g.num_rows())).sum();
    if sum != i128::from(stated) {
        remarks.push(format!("the footer says {stated} rows, its row groups have {sum}"));
    }
    Ok(Footer { metadata, plain_schema, remarks, len })
}

/// Decodes the footer. Some writers (fastparquet, Dremio) give lists an element type that the format
/// does not have there: any type for an empty list, 16-bit integers for wider ones, which are written
/// alike. The crate takes neither; the type is set right for it then.
fn decode(bytes: &[u8]) -> Result<ParquetMetaData> {
    let mut copy: Option<Vec<u8>> = None;
    let mut stripped = false;
    for _ in 0..MENDED {
        let now = copy.as_deref().unwrap_or(bytes);
        let error = match ParquetMetaDataReader::decode_metadata(now) {
            Ok(metadata) => return Ok(metadata),
            Err(error) => error,
        };
        let Some((wanted, found)) = wrong_list(&error.to_string()).filter(|_| stripped) else {
            // Once, without fields that only their writer knows.
            match foreign::without(now).ok().filter(|other| !stripped && other != now) {
                Some(other) => copy = Some(other),
                None if !stripped => {}
                None => return Err(error.into()),
            }
            stripped = true;
            continue;
        };
        let mut walk = Thrift::new(now);
        walk.skip(STRUCT, 0)?;
        let fits = |at: &usize| match now.get(*at) {
            Some(0) => found == BYTE,
            Some(header) => header & 0x0f == found && (header >> 4 == 0 || found == I16),
            None => false,
        };
        let Some(at) = walk.lists.into_iter().find(fits) else { return Err(error.into()) };
        let mended = copy.get_or_insert_with(|| bytes.to_vec());
        if let Some(header) = mended.get_mut(at) {
            *header = *header & 0xf0 | wanted;
        }
    }
    Err(Error::malformed("footer: too many of its lists have the wrong type"))
}

/// Column chunks with their whole sizes. Before version 1.2.9, parquet-mr left the header of the
/// dictionary page out of them (PARQUET-816): such a chunk is taken to reach to the next one, or to the
/// footer at `end`.
fn whole_chunks(metadata: ParquetMetaData, end: u64) -> Result<ParquetMetaData> {
    let by = metadata.file_metadata().created_by().unwrap_or_default();
    if !by.starts_with("parquet-mr") || version(by) >= [1, 2, 9] {
        return without_zero_offsets(metadata);
    }
    let start = |chunk: &ColumnChunkMetaData| {
        let data = chunk.data_page_offset();
        u64::try_from(chunk.dictionary_page_offset().map_or(data, |offset| offset.min(data))).ok()
    };
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let mut starts: Vec<u64> = chunks.filter_map(start).chain([end]).collect();
    starts.sort_unstable();
    let mut builder = metadata.into_builder();
    for group in builder.take_row_groups() {
        let mut columns = group.columns().to_vec();
        for chunk in &mut columns {
            let (Some(start), size) = (start(chunk), chunk.compressed_size()) else { continue };
            let next = starts.get(starts.partition_point(|&other| other <= start)).copied();
            let whole = next.and_then(|next| i64::try_from(next - start).ok());
            if let Some(whole) = whole.filter(|whole| (1..=LEFT_OUT).contains(&whole.saturating_sub(size))) {
                *chunk = chunk.clone().into_builder().set_total_compressed_size(whole).build()?;
            }
        }
        builder = builder.add_row_group(group.into_builder().set_column_metadata(columns).build()?);
    }
    Ok(builder.build())
}

/// Metadata in which a dictionary page at byte 0, where the magic is, is none: some writers put 0 there
/// for "before the data pages".
fn without_zero_offsets(metadata: ParquetMetaData) -> Result<ParquetMetaData> {
    let is_zero = |chunk: &ColumnChunkMetaData| chunk.dictionary_page_offset() == Some(0);
    if !metadata.row_groups().iter().flat_map(|group| group.columns()).any(is_zero) {
        return Ok(metadata);
    }
    let mut builder = metadata.into_builder();
    for group in builder.take_row_groups() {
        let mut columns = group.columns().to_vec();
        for chunk in columns.iter_mut().filter(|chunk| is_zero(chunk)) {
            *chunk = chunk.clone().into_builder().set_dictionary_page_offset(None).build()?;
        }
        builder = builder.add_row_group(group.into_builder().set_column_metadata(columns).build()?);
    }
    Ok(builder.build())
}

/// The version in a writer's name; zeros where there is none.
pub(super) fn version(by: &str) -> [u32; 3] {
    let text = by.split_whitespace().skip_while(|word| *word != "version").nth(1).unwrap_or_default();
    let mut numbers = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

/// The type that the crate wanted of a list's elements and the one that it found, if that is what it
/// says, and if the one found is a type that no list of a footer has.
pub(super) fn wrong_list(message: &str) -> Option<(u8, u8)> {
    let (_, rest) = message.split_once("Expected list element type of ")?;
    let (wanted, found) = rest.split_once(" but got ")?;
    let number = |name: &str| {
        let names = ["Byte", "I16", "I32", "I64", "Double", "Binary", "List", "Set", "Map", "Struct"];
        names.iter().position(|n| name.trim_end_matches('.') == *n).and_then(|n| u8::try_from(n + 3).ok())
    };
    let (wanted, found) = (number(wanted)?, number(found)?);
    let integers = matches!(wanted, I32 | I64) && found == I16;
    (found == BYTE || integers).then_some((wanted, found))
}

/// The Arrow schema of the columns; with the one that the writer embedded, unless `plain`. The crate panics
/// on some embedded types that no writer makes.
fn arrow_schema(parsed: Arc<ParquetMetaData>, plain: bool) -> Result<ArrowReaderMetadata> {
    distrusted("the schema", || Ok(ArrowReaderMetadata::try_new(parsed, options(plain))?))
}

/// How Arrow metadata is made: with offset indexes once they are there, column indexes never (they
/// would only help filters).
pub(super) fn options(plain_schema: bool) -> ArrowReaderOptions {
    ArrowReaderOptions::new()
        .with_skip_arrow_metadata(plain_schema)
        .with_column_index_policy(PageIndexPolicy::Skip)
        .with_offset_index_policy(PageIndexPolicy::Optional)
}

/// The footer's bytes: everything between its length's start and the length itself.
fn bytes(task: &Task, source: &Source, len: u64) -> Result<Bytes> {
    if source.read_up_to(task, 0, 4)?.as_ref() == ENCRYPTED {
        return Err(encrypted());
    }
    if len < 12 {
        return Err(Error::malformed(format!(
            "footer: the file has {len} bytes, too few for one; it is cut off"
        )));
    }
    let tail = source.read(task, len - 8..len)?;
    let (size, magic) = tail.split_at(4);
    if magic == ENCRYPTED {
        return Err(encrypted());
    }
    if magic != MAGIC {
        return Err(Error::malformed(
            "footer: the file does not end with PAR1; it is cut off, or still being written",
        )
        .at(len - 4));
    }
    let size = u64::from(u32::from_le_bytes(size.try_into().unwrap_or_default()));
    let start = (len - 8).checked_sub(size).filter(|&start| start >= 4 && size > 0);
    let Some(start) = start else {
        return Err(Error::malformed(format!(
            "footer: its length, {size} bytes, does not fit a file of {len}"
        ))
        .at(len - 8));
    };
    limits::check(size, limits::HEADER, "the footer")?;
    source.read(task, start..len - 8)
}

fn encrypted() -> Error {
    Error::unsupported("Parquet with an encrypted footer; its columns cannot be listed without the key")
}

/// Checks the counts and the nesting that the crate trusts: schema children and row groups.
pub(super) fn check(bytes: &[u8]) -> Result<()> {
    let mut thrift = Thrift::new(bytes);
    let mut id = 0i64;
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (2, LIST) => check_schema(&mut thrift)?,
            (4, LIST) => {
                let (count, _) = thrift.list()?;
                if count > ROW_GROUPS {
                    return Err(Error::limit(format!(
                        "{count} row groups, the format has at most {ROW_GROUPS}"
                    )));
                }
                return Ok(());
            }
            _ => thrift.skip(kind, 0)?,
        }
    }
    Ok(())
}

/// The schema is a list of elements in depth-first order, each with a count of children.
fn check_schema(thrift: &mut Thrift) -> Result<()> {
    let (count, kind) = thrift.list()?;
    let mut open: Vec<u64> = Vec::new();
    for n in 0..count {
        if kind != STRUCT {
            return Err(Error::malformed("footer: the schema is no list of elements"));
        }
        let children = children(thrift)?;
        if children > count - n {
            return Err(Error::malformed(format!(
                "footer: a schema element claims {children} children, {} elements follow",
                count - n - 1
            )));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(last) = open.last_mut() {
            *last -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > limits::DEPTH {
            return Err(Error::limit(format!("the schema nests deeper than {} levels", limits::DEPTH)));
        }
    }
    Ok(())
}

/// Field 5 of a schema element, the count of its children; reads past the element.
fn children(thrift: &mut Thrift) -> Result<u64> {
    let (mut id, mut children) = (0i64, 0);
    while let Some(kind) = thrift.field(&mut id)? {
        if id == 5 && kind == I32 {
            children = u64::try_from(thrift.zigzag()?)
                .map_err(|_| Error::malformed("footer: a negative count of schema children"))?;
        } else {
            thrift.skip(kind, 0)?;
        }
    }
    Ok(children)
}

const BYTE: u8 = 3;
const I16: u8 = 4;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// A reader of Thrift's compact protocol that only walks.
pub(super) struct Thrift<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Where the lists are that were met, as far as they are short or odd enough to matter.
    lists: Vec<usize>,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Thrift { bytes, at: 0, lists: Vec::new() }
    }

    fn ends(&self) -> Error {
        Error::malformed("footer: it ends in the middle of a field")
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.ends())?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::malformed("footer: an integer has more than 64 bits"))
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The next field's type; its number goes into `id`. `None` at the end of the struct.
    pub(super) fn field(&mut self, id: &mut i64) -> Result<Option<u8>> {
        let byte = self.byte()?;
        if byte & 0x0f == 0 {
            return Ok(None);
        }
        *id = match byte >> 4 {
            0 => self.zigzag()?,
            delta => id.saturating_add(i64::from(delta)),
        };
        Ok(Some(byte & 0x0f))
    }

    /// A list's count, at most what the remaining bytes can hold, and the type of its elements.
    pub(super) fn list(&mut self) -> Result<(u64, u8)> {
        let byte = self.byte()?;
        if byte >> 4 == 0 || byte & 0x0f == I16 {
            self.lists.push(self.at - 1);
        }
        let count = match byte >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(Error::malformed(format!(
                "footer: a list of {count} elements is longer than the footer"
            )));
        }
        Ok((count, byte & 0x0f))
    }

    fn advance(&mut self, bytes: u64) -> Result<()> {
        let end = usize::try_from(bytes).ok().and_then(|n| self.at.checked_add(n));
        self.at = end.filter(|&end| end <= self.bytes.len()).ok_or_else(|| self.ends())?;
        Ok(())
    }

    pub(super) fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > limits::DEPTH {
            return Err(Error::limit("the footer nests too deeply"));
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let len = self.varint()?;
                self.advance(len)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            11 => self.skip_map(depth),
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            other => Err(Error::malformed(format!("footer: a field of the unknown type {other}"))),
        }
    }

    /// An element of a list or map: booleans take a byte there.
    pub(super) fn skip_element(&mut self, kind: u8, depth: usize) -> Result<()> {
        if matches!(kind, 1 | 2) { self.advance(1) } else { self.skip(kind, depth) }
    }

    fn skip_map(&mut self, depth: usize) -> Result<()> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..count {
            self.skip_element(kinds >> 4, depth + 1)?;
            self.skip_element(kinds & 0x0f, depth + 1)?;
        }
        Ok(())
    }
}
