//! Where the pages of a column chunk end: their headers, one after the other.
//!
//! Some writers give a chunk a size that is not its pages'; the crate reads on behind the last page then, or
//! not to it. Definition: `PageHeader` in
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use super::thrift::{BYTE, I64, STRUCT, Thrift};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use parquet::file::metadata::ColumnChunkMetaData;

/// The most bytes of a page's header, with its statistics.
const HEADER: usize = 64 << 10;

/// The bytes that the pages of a chunk take, up to the one that its last value is in.
///
/// # Errors
/// `Malformed` where there is no page, or fewer values than the chunk has.
pub(super) fn extent(task: &Task, source: &Source, chunk: &ColumnChunkMetaData, end: u64) -> Result<u64> {
    let data = chunk.data_page_offset();
    let start = chunk.dictionary_page_offset().map_or(data, |dictionary| dictionary.min(data));
    let wrong = || Error::malformed("a page's header");
    let start = u64::try_from(start).map_err(|_| wrong())?;
    let (mut at, mut left) = (start, chunk.num_values());
    while left > 0 {
        task.check()?;
        if at >= end {
            return Err(wrong());
        }
        let bytes = source.read_up_to(task, at, HEADER.min((end - at) as usize))?;
        let mut thrift = Thrift::new(&bytes);
        let page = header(&mut thrift)?;
        let size = u64::try_from(page.size).map_err(|_| wrong())?;
        at = at.checked_add(thrift.at as u64 + size).filter(|&at| at <= end).ok_or_else(wrong)?;
        left = left.saturating_sub(page.values.max(0));
    }
    Ok(at - start)
}

/// What is needed of a page's header.
#[derive(Default)]
struct Page {
    /// Bytes behind the header.
    size: i64,
    /// Values; none in a dictionary.
    values: i64,
}

fn header(thrift: &mut Thrift) -> Result<Page> {
    let (mut id, mut page) = (0, Page { size: -1, values: 0 });
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (3, BYTE..=I64) => page.size = thrift.integer(kind)?,
            // A data page of the first or of the second version.
            (5 | 8, STRUCT) => {
                let mut inner = 0;
                while let Some(kind) = thrift.field(&mut inner)? {
                    match (inner, kind) {
                        (1, BYTE..=I64) => page.values = thrift.integer(kind)?,
                        _ => thrift.skip(kind, 0)?,
                    }
                }
            }
            _ => thrift.skip(kind, 0)?,
        }
    }
    Ok(page)
}
