//! Where the pages of a column chunk end: their headers, one after the other.
//!
//! Some writers give a chunk a size that is not its pages'; the crate reads on behind the last page then, or
//! not to it. Definition: `PageHeader` in
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use super::thrift::{BYTE, FALSE, I64, STRUCT, Thrift};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;

/// The most bytes of a page's header, with its statistics.
const HEADER: usize = 64 << 10;
/// Bytes that the values of a chunk have on the average where a page may be one of them alone.
const LARGE: u64 = 1 << 20;

/// The bytes that the pages of a chunk take, up to the one that its last value is in.
///
/// # Errors
/// `Malformed` where there is no page, or fewer values than the chunk has.
pub(super) fn extent(task: &Task, source: &Source, chunk: &ColumnChunkMetaData, end: u64) -> Result<u64> {
    let mut walk = PageHeaders::new(source, chunk, end)?;
    let start = walk.at;
    while walk.next(task)?.is_some() {}
    Ok(walk.at - start)
}

/// The headers of a chunk's pages, up to the one that its last value is in.
struct PageHeaders<'a> {
    window: Window<'a>,
    /// Where the next header is.
    at: u64,
    /// Values of the chunk that are in pages from there on.
    left: i64,
}

impl<'a> PageHeaders<'a> {
    fn new(source: &'a Source, chunk: &ColumnChunkMetaData, end: u64) -> Result<PageHeaders<'a>> {
        let data = chunk.data_page_offset();
        let start = chunk.dictionary_page_offset().map_or(data, |dictionary| dictionary.min(data));
        let at = u64::try_from(start).map_err(|_| wrong())?;
        Ok(PageHeaders { window: Window::new(source, end, at), at, left: chunk.num_values() })
    }

    /// The next header; `None` behind the last value.
    fn next(&mut self, task: &Task) -> Result<Option<Header>> {
        if self.left <= 0 {
            return Ok(None);
        }
        task.check()?;
        let (page, len) = self.window.header(task, self.at)?;
        let size = page.stored.and_then(|size| u64::try_from(size).ok()).ok_or_else(wrong)?;
        self.at = len
            .checked_add(size)
            .and_then(|len| self.at.checked_add(len))
            .filter(|&at| at <= self.window.end)
            .ok_or_else(wrong)?;
        self.left = self.left.saturating_sub(i64::try_from(page.values).unwrap_or(i64::MAX));
        Ok(Some(page))
    }
}

fn wrong() -> Error {
    Error::malformed("a page's header")
}

/// Whether the values of a chunk are so large on the average that [`check_values`] may refuse it, by what the footer says.
pub(super) fn has_huge(chunk: &ColumnChunkMetaData) -> bool {
    let count = u64::try_from(chunk.num_values()).unwrap_or(0).max(1);
    is_large(chunk) && raw(chunk) / count >= LARGE
}

/// Whether there is room in a chunk for a page that is refused.
fn is_large(chunk: &ColumnChunkMetaData) -> bool {
    raw(chunk) > limits::VALUE
}

/// Bytes of a chunk when decompressed, as the footer says.
fn raw(chunk: &ColumnChunkMetaData) -> u64 {
    u64::try_from(chunk.uncompressed_size()).unwrap_or(0)
}

/// Refuses a chunk that has a page of few and huge values: such a page is held in whole, with the values and their copy.
/// Chunks that are smaller than that are not walked.
///
/// # Errors
/// `Limit` where a page is beyond [`limits::VALUE`] and its values are large.
pub(super) fn check_values(
    task: &Task,
    source: &Source,
    chunk: &ColumnChunkMetaData,
    end: u64,
) -> Result<()> {
    if !is_large(chunk) {
        return Ok(());
    }
    let mut walk = PageHeaders::new(source, chunk, end)?;
    while let Some(page) = walk.next(task)? {
        let is_huge = page.kind == Kind::Dictionary || page.raw / page.values.max(1) > limits::VALUE / 8;
        if is_huge {
            limits::check(page.raw, limits::VALUE, "a page of a few huge values")?;
        }
    }
    Ok(())
}

/// The bytes around a header: many short pages lie in one window, which is read once.
pub(super) struct Window<'a> {
    source: &'a Source,
    /// Where the file ends.
    end: u64,
    /// Where the bytes begin.
    start: u64,
    bytes: Bytes,
}

impl<'a> Window<'a> {
    /// Headers of `source`, which ends at `end`; the first one asked for is at `start`.
    pub(super) fn new(source: &'a Source, end: u64, start: u64) -> Self {
        Window { source, end, start, bytes: Bytes::new() }
    }

    /// The header at `at`, and how many bytes it takes.
    pub(super) fn header(&mut self, task: &Task, at: u64) -> Result<(Header, u64)> {
        let inside = at.checked_sub(self.start).and_then(|n| self.bytes.get(usize::try_from(n).ok()?..));
        if let Some(bytes) = inside.filter(|bytes| !bytes.is_empty()) {
            let mut thrift = Thrift::new(bytes);
            // What is cut off by the end of the window is read anew.
            if let Ok(page) = header(&mut thrift) {
                return Ok((page, thrift.at as u64));
            }
        }
        let room = self.end.checked_sub(at).filter(|&room| room > 0);
        let room = room.ok_or_else(wrong)?;
        self.start = at;
        self.bytes = self.source.read_up_to(task, at, HEADER.min(usize::try_from(room).unwrap_or(HEADER)))?;
        let mut thrift = Thrift::new(&self.bytes);
        let page = header(&mut thrift)?;
        Ok((page, thrift.at as u64))
    }
}

/// What sort a page is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    DataV2,
    Dictionary,
    /// An index, or what a later version knows.
    #[default]
    Other,
}

/// What is needed of a page's header.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Bytes behind the header; `None` in a header that does not say it.
    stored: Option<i64>,
    /// The same as a number that can be one.
    pub(super) size: u64,
    /// Bytes when decompressed.
    pub(super) raw: u64,
    /// Values of a data page, nulls included; those of a dictionary count as none.
    pub(super) values: u64,
    /// The number of the encoding of the values.
    pub(super) encoding: i64,
    /// That of the definition levels, in pages of the first version.
    pub(super) level_encoding: i64,
    /// Bytes of the levels of a page of the second version, and of these those of the definition levels.
    pub(super) levels: u64,
    pub(super) definition: u64,
    /// Whether the column's codec was applied.
    pub(super) compressed: bool,
}

impl Header {
    /// Whether it has values of the column.
    pub(super) fn is_data(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::DataV2)
    }

    /// Whether its values are keys of the dictionary.
    pub(super) fn is_dictionary(&self) -> bool {
        self.is_data() && matches!(self.encoding, 2 | 8)
    }

    /// The encoding in the specification's words.
    pub(super) fn encoding_word(&self) -> String {
        let word = match self.encoding {
            0 => "PLAIN",
            2 => "PLAIN_DICTIONARY",
            3 => "RLE",
            4 => "BIT_PACKED",
            5 => "DELTA_BINARY_PACKED",
            6 => "DELTA_LENGTH_BYTE_ARRAY",
            7 => "DELTA_BYTE_ARRAY",
            8 => "RLE_DICTIONARY",
            9 => "BYTE_STREAM_SPLIT",
            other => return format!("encoding {other}"),
        };
        word.to_owned()
    }
}

fn header(thrift: &mut Thrift) -> Result<Header> {
    let mut page = Header {
        kind: Kind::Other,
        stored: None,
        size: 0,
        raw: 0,
        values: 0,
        encoding: 0,
        level_encoding: 0,
        levels: 0,
        definition: 0,
        compressed: true,
    };
    let size = |number: i64| u64::try_from(number).unwrap_or(0);
    let mut id = 0;
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (2, BYTE..=I64) => page.raw = size(thrift.integer(kind)?),
            (3, BYTE..=I64) => page.stored = Some(thrift.integer(kind)?),
            (5 | 7 | 8, STRUCT) => {
                page.kind = match id {
                    5 => Kind::Data,
                    7 => Kind::Dictionary,
                    _ => Kind::DataV2,
                };
                inner(thrift, &mut page)?;
            }
            _ => thrift.skip(kind, 0)?,
        }
    }
    page.size = page.stored.map_or(0, size);
    if page.kind == Kind::Dictionary {
        page.values = 0;
    }
    Ok(page)
}

/// The part of a header that is its kind's.
fn inner(thrift: &mut Thrift, page: &mut Header) -> Result<()> {
    let second = page.kind == Kind::DataV2;
    let size = |number: i64| u64::try_from(number).unwrap_or(0);
    let mut id = 0;
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (1, BYTE..=I64) => page.values = size(thrift.integer(kind)?),
            (2, BYTE..=I64) if !second => page.encoding = thrift.integer(kind)?,
            (4, BYTE..=I64) if second => page.encoding = thrift.integer(kind)?,
            (3, BYTE..=I64) if page.kind == Kind::Data => page.level_encoding = thrift.integer(kind)?,
            (5, BYTE..=I64) if second => {
                page.definition = size(thrift.integer(kind)?);
                page.levels = page.levels.saturating_add(page.definition);
            }
            (6, BYTE..=I64) if second => {
                page.levels = page.levels.saturating_add(size(thrift.integer(kind)?))
            }
            (7, FALSE) if second => page.compressed = false,
            _ => thrift.skip(kind, 0)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::thrift::{I32, put_field, put_integer};
    use super::*;
    use crate::bytes::source::ReadAt;
    use parquet::basic::Type;
    use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type as SchemaType};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Bytes that count how often they are read.
    struct Counted(Vec<u8>, Arc<AtomicUsize>);

    impl ReadAt for Counted {
        fn known_len(&self) -> Option<u64> {
            Some(self.0.len() as u64)
        }
        fn len(&self, _: &Task) -> Result<u64> {
            Ok(self.0.len() as u64)
        }
        fn read_at(&self, _: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let from = self.0.get(offset as usize..).unwrap_or_default();
            let part = from.get(..out.len()).unwrap_or(from);
            out[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }

    /// A page: PageHeader {3: size, 5: DataPageHeader {1: values}}, and its bytes.
    fn page(values: i64, size: usize) -> Vec<u8> {
        compressed(values, size, size as u64)
    }

    /// The same of a page that is `raw` bytes when decompressed, which its header has as field 2.
    fn compressed(values: i64, size: usize, raw: u64) -> Vec<u8> {
        let (mut out, mut last) = (Vec::new(), 0);
        put_field(&mut out, 2, &mut last, I32);
        put_integer(&mut out, raw as i64);
        put_field(&mut out, 3, &mut last, I32);
        put_integer(&mut out, size as i64);
        put_field(&mut out, 5, &mut last, STRUCT);
        put_field(&mut out, 1, &mut 0, I32);
        put_integer(&mut out, values);
        out.extend([0, 0]);
        out.resize(out.len() + size, 0xee);
        out
    }

    /// A chunk of so many values in `raw` bytes that begins at byte 4.
    fn chunk(values: i64, raw: u64) -> ColumnChunkMetaData {
        let leaf = SchemaType::primitive_type_builder("x", Type::BYTE_ARRAY).build().unwrap();
        let column = Arc::new(ColumnDescriptor::new(Arc::new(leaf), 0, 0, ColumnPath::new(Vec::new())));
        let chunk = ColumnChunkMetaData::builder(column).set_num_values(values).set_data_page_offset(4);
        chunk.set_total_uncompressed_size(raw as i64).build().unwrap()
    }

    #[test]
    fn a_page_of_two_huge_values_is_refused() {
        let check = |pages: &[u8], chunk: &ColumnChunkMetaData| {
            let whole = [b"PAR1", pages].concat();
            let len = whole.len() as u64;
            check_values(&Task::new(), &Source::memory("x", whole), chunk, len)
        };
        let most = limits::VALUE;
        check(&compressed(2, 3, most), &chunk(2, most + 100)).unwrap();
        let error = check(&compressed(2, 3, most + 1), &chunk(2, most + 100)).unwrap_err();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Limit, "{error}");
        // Large pages of many small values are read by parts, and chunks of small values by others, too.
        check(&compressed(1 << 20, 3, most + 1), &chunk(1 << 20, most + 100)).unwrap();
        check(&[], &chunk(2, most)).unwrap();
        assert!(has_huge(&chunk(2, most + 1)) && !has_huge(&chunk(1 << 20, most + 1)));
    }

    /// The extent of a chunk of so many values that begins at byte 4, and how often its bytes were read.
    fn extent_of(bytes: &[u8], values: i64) -> (Result<u64>, usize) {
        let whole = [b"PAR1", bytes].concat();
        let (len, reads) = (whole.len() as u64, Arc::new(AtomicUsize::new(0)));
        let source = Source::memory("x", Vec::new());
        let source = source.stream("x", Arc::new(Counted(whole, reads.clone()))).unwrap();
        let found = extent(&Task::new(), &source, &chunk(values, 0), len);
        (found, reads.load(Ordering::Relaxed))
    }

    #[test]
    fn many_short_pages_are_read_together() {
        let pages = page(1, 3).repeat(100_000);
        let (extent, reads) = extent_of(&pages, 100_000);
        assert_eq!(extent.unwrap(), pages.len() as u64);
        assert!(reads <= pages.len() / HEADER + 2, "{reads} reads of {} bytes", pages.len());
        assert!(extent_of(&pages, 100_001).0.is_err(), "one value is missing");
    }

    proptest::proptest! {
        #[test]
        fn an_extent_is_that_of_its_pages(
            pages in proptest::collection::vec((1i64..1000, 0usize..40_000), 1..40),
            behind in 0usize..100,
        ) {
            let mut bytes: Vec<u8> = pages.iter().flat_map(|(values, size)| page(*values, *size)).collect();
            let len = bytes.len() as u64;
            bytes.resize(bytes.len() + behind, 0x15);
            let (extent, _) = extent_of(&bytes, pages.iter().map(|(values, _)| values).sum());
            proptest::prop_assert_eq!(extent.unwrap(), len);
        }

        #[test]
        fn a_walk_over_any_bytes_ends(bytes: Vec<u8>, values: i64) {
            let _ = extent_of(&bytes, values);
        }
    }
}
