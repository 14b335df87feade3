//! The footer: found, bounded, repaired and checked before the Parquet crate parses it.

use super::repair;
use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::limits;
use crate::bytes::source::{Reader, Source};
use crate::bytes::task::Task;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
};
use parquet::file::reader::{ChunkReader, Length};
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// The first and last bytes of a file.
pub(super) const MAGIC: &[u8] = b"PAR1";
/// The same of a file whose footer is encrypted.
pub(super) const ENCRYPTED: &[u8] = b"PARE";
/// How many bytes a page's header has at most.
const LEFT_OUT: i64 = 100;

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

/// What the header of a page is read from. The crate skips what it does not know of a header without looking whether there
/// are bytes left: a list of two billion numbers would be skipped for an hour behind the end of the file.
pub(super) struct HeaderReader(Reader);

impl Read for HeaderReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(out)? {
            0 if !out.is_empty() => Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

impl ChunkReader for Chunks {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> Result<HeaderReader, ParquetError> {
        let mut reader = self.source.reader(&self.task);
        reader.seek(SeekFrom::Start(start))?;
        Ok(HeaderReader(reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let range = start..start.saturating_add(length as u64);
        self.source.read(&self.task, range).map_err(|error| ParquetError::External(Box::new(error)))
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
    /// The columns of the schema's leaves that are encrypted, by their numbers.
    pub(super) encrypted: BTreeSet<usize>,
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
    let start = len - 8 - bytes.len() as u64;
    let mut remarks = Vec::new();
    let (parsed, encrypted) = decode(&bytes, &mut remarks).map_err(|e| e.at(start))?;
    let (parsed, remark) = counted(whole_chunks(parsed, start)?);
    remarks.extend(remark);
    let parsed = Arc::new(parsed);
    let (metadata, plain_schema) = match arrow_schema(parsed.clone(), false) {
        Ok(metadata) => (metadata, false),
        Err(error) => {
            let metadata = arrow_schema(parsed, true)?;
            remarks
                .push(format!("the Arrow schema inside does not fit the columns and is not used: {error}"));
            (metadata, true)
        }
    };
    Ok(Footer { metadata, plain_schema, remarks, encrypted, len })
}

/// Decodes the footer, whose structures are made what the format's definition says of them first. Which columns are
/// encrypted is given besides: the crate that decodes does not know of it.
fn decode(bytes: &[u8], remarks: &mut Vec<String>) -> Result<(ParquetMetaData, BTreeSet<usize>)> {
    let repaired = repair::footer(bytes, remarks)?;
    let metadata =
        catch_decoder_panic("the footer", || Ok(ParquetMetaDataReader::decode_metadata(&repaired.bytes)?))?;
    Ok((metadata, repaired.encrypted))
}

/// Metadata with as many rows as its row groups have, and what the footer said instead.
fn counted(metadata: ParquetMetaData) -> (ParquetMetaData, Option<String>) {
    let file = metadata.file_metadata();
    let stated = file.num_rows();
    let sum: i128 = metadata.row_groups().iter().map(|g| i128::from(g.num_rows())).sum();
    let Some(rows) = i64::try_from(sum).ok().filter(|rows| *rows != stated) else { return (metadata, None) };
    let file = FileMetaData::new(
        file.version(),
        rows,
        file.created_by().map(ToOwned::to_owned),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let remark = format!("the footer says {stated} rows, its row groups have {rows}");
    (ParquetMetaData::new(file, metadata.row_groups().to_vec()), Some(remark))
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

/// The Arrow schema of the columns; with the one that the writer embedded, unless `plain`. The crate panics
/// on some embedded types that no writer makes.
fn arrow_schema(parsed: Arc<ParquetMetaData>, plain: bool) -> Result<ArrowReaderMetadata> {
    catch_decoder_panic("the schema", || Ok(ArrowReaderMetadata::try_new(parsed, options(plain))?))
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
