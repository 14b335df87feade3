//! Where a cell lies in the file: its row group and column chunk by the footer, its page by the offset index or by the
//! headers of the pages before it, and its bytes in the decoded page where the encoding gives each value a place of its
//! own (`PLAIN`, dictionaries, runs of booleans); of one that is stored as a difference, or whose bytes are apart, its own
//! bits and the other parts that it is made of.
//!
//! Definition: <https://parquet.apache.org/docs/file-format/data-pages/>,
//! <https://github.com/apache/parquet-format/blob/master/Encodings.md>.

use super::deltas::{self, Delta};
use super::pages::{Header, Kind, Window};
use super::values::{self, Hybrid};
use crate::bytes::codec::{decompress, gzip, lz4, lz4_frame::Lz4, snappy, zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{be, le};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::location::{BytePlace, Location, Owner, Within};
use bytes::Bytes;
use parquet::basic::{Compression, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::ops::Range;

/// A column chunk: one leaf of the schema in one row group.
pub(super) struct Chunk<'a> {
    pub(super) source: &'a Source,
    /// Where the file ends.
    pub(super) end: u64,
    pub(super) metadata: &'a ParquetMetaData,
    pub(super) group: usize,
    /// The leaf's number among all leaves.
    pub(super) leaf: usize,
    pub(super) chunk: &'a ColumnChunkMetaData,
}

/// A page of a column chunk.
#[derive(Clone)]
struct Page {
    /// Where its header begins, and where that ends and its data begin.
    start: u64,
    body: u64,
    header: Header,
    /// Values in the pages before it.
    before: u64,
}

impl Page {
    fn end(&self) -> u64 {
        self.body.saturating_add(self.header.size)
    }
}

impl Chunk<'_> {
    /// The bytes of the chunk, its dictionary included.
    pub(super) fn range(&self) -> Range<u64> {
        let data = self.chunk.data_page_offset();
        let start = self
            .chunk
            .dictionary_page_offset()
            .filter(|at| *at > 0)
            .map_or(data, |dictionary| dictionary.min(data));
        let start = u64::try_from(start).unwrap_or(0);
        let size = u64::try_from(self.chunk.compressed_size()).unwrap_or(0);
        start..start.saturating_add(size).min(self.end.max(start))
    }

    fn name(&self) -> String {
        format!("row group {}, column {:?}", self.group, self.chunk.column_path().string())
    }

    fn codec(&self) -> Option<String> {
        let word = |codec: Compression| format!("{codec:?}").split('(').next().unwrap_or_default().to_owned();
        Some(self.chunk.compression()).filter(|codec| *codec != Compression::UNCOMPRESSED).map(word)
    }

    /// The whole chunk, where no page of it can be told.
    pub(super) fn location(&self) -> Location {
        let mut location = Location::new(self.source.clone(), self.range(), "column chunk", self.name());
        location.codecs = self.codec().into_iter().collect();
        let words: Vec<String> = self.chunk.encodings().map(|encoding| encoding.to_string()).collect();
        location.encoding(words.join(", "))
    }

    /// Where the cell of the row `row` of the row group lies, of a column without lists.
    pub(super) fn cell(&self, task: &Task, row: u64) -> Result<Location> {
        let mut dictionary = None;
        let found = self.pages(task, Some(row), |page| {
            if page.header.kind == Kind::Dictionary {
                dictionary = Some(page.clone());
            }
            page.header.is_data() && (page.before..page.before + page.header.values).contains(&row)
        })?;
        let Some(page) = found else { return Ok(self.location()) };
        if dictionary.is_none() && page.header.is_dictionary() {
            dictionary = self.dictionary(task)?;
        }
        let location = self.page(&page);
        let within = row - page.before;
        match self.placed(task, &location, &page, dictionary.as_ref(), within)? {
            Some(placed) => Ok(placed),
            None => Ok(location),
        }
    }

    /// The chunk's dictionary page.
    fn dictionary(&self, task: &Task) -> Result<Option<Page>> {
        self.pages(task, None, |page| page.header.kind == Kind::Dictionary)
    }

    /// The first page that is `wanted`; with `row`, the offset index leads near to it.
    fn pages(
        &self,
        task: &Task,
        row: Option<u64>,
        mut wanted: impl FnMut(&Page) -> bool,
    ) -> Result<Option<Page>> {
        let range = self.range();
        let mut window = Window::new(self.source, range.end.min(self.end), range.start);
        let (mut at, mut before) = row.and_then(|row| self.near(row)).unwrap_or((range.start, 0));
        while at < range.end {
            task.check()?;
            let (header, len) = window.header(task, at)?;
            let page = Page { start: at, body: at.saturating_add(len), header, before };
            if wanted(&page) {
                return Ok(Some(page));
            }
            if page.end() <= at {
                break;
            }
            at = page.end();
            before = before.saturating_add(if page.header.is_data() { page.header.values } else { 0 });
        }
        Ok(None)
    }

    /// Where the offset index says that the page of a row begins, and its first row.
    fn near(&self, row: u64) -> Option<(u64, u64)> {
        let index = self.metadata.offset_index()?.get(self.group)?.get(self.leaf)?.page_locations();
        let next =
            index.partition_point(|page| u64::try_from(page.first_row_index).is_ok_and(|first| first <= row));
        let page = index.get(next.checked_sub(1)?)?;
        let at = u64::try_from(page.offset).ok().filter(|at| self.range().contains(at))?;
        Some((at, u64::try_from(page.first_row_index).ok()?))
    }

    /// A page as a unit: the bytes behind its header, and how these are decoded.
    fn page(&self, page: &Page) -> Location {
        let header = Location::new(self.source.clone(), page.start..page.body, "page header", "");
        let unit = if page.header.kind == Kind::Dictionary { "dictionary page" } else { "page" };
        let location = Location::new(self.source.clone(), page.body..page.end(), unit, self.name());
        let location = location.encoding(page.header.encoding_word()).part("page header", header);
        let Some(codec) = self.codec().filter(|_| page.header.compressed) else { return location };
        let (how, levels) = (self.chunk.compression(), page.header.levels);
        let most = page.header.raw;
        location.decoded_by(vec![codec], move |_, bytes| decoded(how, bytes, levels, most))
    }

    /// The place of value `n` of a page in the decoded page; `None` where the encoding gives it none.
    fn placed(
        &self,
        task: &Task,
        location: &Location,
        page: &Page,
        dictionary: Option<&Page>,
        n: u64,
    ) -> Result<Option<Location>> {
        let descr = self.chunk.column_descr();
        let (Ok(most), Ok(0)) = (u16::try_from(descr.max_def_level()), u16::try_from(descr.max_rep_level()))
        else {
            return Ok(None);
        };
        let bytes = location.decoded(task)?;
        let Some((levels, start)) = values::levels(&bytes, &page.header, most) else { return Ok(None) };
        let Some((before, is_there)) = values::present(levels, most, n, page.header.values) else {
            return Ok(None);
        };
        if !is_there {
            return Ok(Some(location.clone().absent()));
        }
        let body = bytes.get(start..).unwrap_or_default();
        let moved = |within: Within| Within {
            bytes: within.bytes.start + start as u64..within.bytes.end + start as u64,
            ..within
        };
        let physical = (descr.physical_type(), u64::try_from(descr.type_length()).unwrap_or(0));
        if page.header.is_dictionary() {
            let (Some((&width, runs)), Some(dictionary)) = (body.split_first(), dictionary) else {
                return Ok(None);
            };
            let Some((key, bits)) = Hybrid::new(runs, u32::from(width)).entry(before) else {
                return Ok(None);
            };
            let keys = location.clone().within(moved(Within::of_bits(bits.start + 8..bits.end + 8)));
            let values = self.page(dictionary);
            let entry = values::plain(&values.decoded(task)?, physical, key);
            return Ok(Some(match entry {
                Some(entry) => keys.part("dictionary entry", values.within(entry)),
                None => keys,
            }));
        }
        let within = match page.header.encoding {
            values::PLAIN => values::plain(body, physical, before),
            values::RLE => {
                let runs = body.get(4..).unwrap_or_default();
                Hybrid::new(runs, 1)
                    .entry(before)
                    .map(|(_, bits)| Within::of_bits(bits.start + 32..bits.end + 32))
            }
            encoding => return Ok(spread(location, encoding, body, physical, before, moved)),
        };
        Ok(within.map(|within| location.clone().within(moved(within))))
    }

    /// The page that a byte of the chunk lies in, and its first row in the row group where that is known.
    pub(super) fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<(Location, Option<u64>)>> {
        if byte.within(self.source, &self.range()).is_none() {
            return Ok(None);
        }
        let found =
            self.pages(task, None, |page| byte.within(self.source, &(page.start..page.end())).is_some())?;
        let Some(page) = found else { return Ok(Some((self.location(), None))) };
        let is_flat = self.chunk.column_descr().max_rep_level() == 0;
        Ok(Some((self.page(&page), is_flat.then_some(page.before))))
    }
}

/// The place of value `n` of a page that stores differences or each byte apart; `moved` counts from the page's beginning.
fn spread(
    page: &Location,
    encoding: i64,
    body: &[u8],
    physical: (Type, u64),
    n: u64,
    moved: impl Fn(Within) -> Within,
) -> Option<Location> {
    let at = |within: Within| page.clone().of_unit().within(moved(within));
    let placed = |within: Within| page.clone().within(moved(within));
    match encoding {
        values::DELTA => {
            let entry = Delta::new(body)?.entry(n)?;
            let own = placed(Within::of_bits(entry.bits));
            Some(match entry.least {
                Some(least) => own.part("least difference of the block", at(least.into())),
                None => own,
            })
        }
        values::DELTA_LENGTH => deltas::lengths(body, n).map(placed),
        values::DELTA_PREFIX => {
            let (own, shared) = deltas::prefixed(body, n)?;
            Some(placed(own).part("length of what is the value before's", at(shared)))
        }
        values::STREAMS => {
            let mut bytes = deltas::streams(body, values::width(physical)?, n)?.into_iter();
            let first = placed(bytes.next()?);
            Some(bytes.fold(first, |location, byte| location.part("next byte of the value", at(byte))))
        }
        _ => None,
    }
}

/// What a byte that lies in `location` belongs to: a page whose first row is `row` of the table.
pub(super) fn owner(location: Location, row: u64, column: usize) -> Owner {
    Owner::of_row(location, row, Some(column), false)
}

/// A page behind its `levels` bytes of levels, which stay as they are; it decodes to `most` bytes with them.
fn decoded(codec: Compression, bytes: Bytes, levels: u64, most: u64) -> Result<Bytes> {
    let levels = usize::try_from(levels).ok().filter(|levels| *levels <= bytes.len());
    let levels = levels.ok_or_else(|| Error::malformed("page: its levels reach beyond it"))?;
    let most = limits::check(most, limits::CHUNK, "a page")?.saturating_sub(levels);
    let (levels, packed) = bytes.split_at(levels);
    if packed.is_empty() {
        return Ok(bytes.slice(..levels.len()));
    }
    let values = match codec {
        Compression::SNAPPY => snappy::decode(packed, most)?,
        Compression::GZIP(_) => gzip::gzip(packed, most)?,
        Compression::ZSTD(_) => zstd::decode(packed, most)?,
        Compression::LZ4_RAW => lz4::block(packed, most)?,
        Compression::LZ4 => hadoop_lz4(packed, most)?,
        Compression::BROTLI(_) => {
            let mut out = Vec::new();
            let read = std::io::Read::take(brotli::Decompressor::new(packed, 4 << 10), most as u64);
            std::io::copy(&mut { read }, &mut out)?;
            out
        }
        other => return Err(Error::unsupported(format!("pages compressed with {other:?}"))),
    };
    Ok([levels, &values].concat().into())
}

/// LZ4 as the codec of that number is written: blocks behind their sizes as Hadoop has them, a frame, or a bare block.
fn hadoop_lz4(packed: &[u8], most: usize) -> Result<Vec<u8>> {
    let (mut rest, mut out) = (packed, Vec::new());
    while let (Some(raw), Some(len)) = (be::<u32>(rest, 0), be::<u32>(rest, 4)) {
        let (Ok(raw), Ok(len)) = (usize::try_from(raw), usize::try_from(len)) else { break };
        let Some(block) = rest.get(8..8usize.saturating_add(len)).filter(|_| raw <= most - out.len()) else {
            break;
        };
        let Ok(part) = lz4::block(block, raw) else { break };
        out.extend(part);
        rest = rest.get(8 + len..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(out);
        }
    }
    if le::<u32>(packed, 0) == Some(0x184D_2204) {
        return decompress::whole(&mut Lz4::default(), packed, most, "LZ4 data");
    }
    lz4::block(packed, most)
}
