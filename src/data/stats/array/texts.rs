//! Elements without a fixed size: how many there are, and the checksum of their texts.

use super::super::blocks::Joined;
use super::{ArrayStats, PIECES, sparse};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::region::{Region, Span, pieces};

/// Elements that are read at a time.
const TEXTS: u64 = 16_384;

/// The count of such elements, and the checksum of their texts, each with a zero byte behind it.
pub(super) fn variable(array: &dyn Array, task: &Task) -> Result<ArrayStats> {
    let count = limits::elements(array.shape())?;
    let mut stats = ArrayStats { count, ..ArrayStats::default() };
    task.set_total(count);
    let mut crc = Joined::default();
    let add = |crc: &mut Joined, region: &Region| -> Result<()> {
        let column = array.column(task, region)?;
        let mut texts = crc32fast::Hasher::new();
        let mut bytes = 0u64;
        for row in 0..column.len() {
            let text = crate::data::cell::text(column.as_ref(), row).unwrap_or_default();
            texts.update(text.as_bytes());
            texts.update(&[0]);
            bytes += text.len() as u64 + 1;
        }
        crc.add(texts.finalize(), bytes, 1);
        task.advance(column.len() as u64)
    };
    // An element takes sixteen bytes at least when it is read.
    match sparse(array, task, count.saturating_mul(16))? {
        None => {
            if count / TEXTS > PIECES {
                return Err(Error::limit(format!(
                    "a pass over {}",
                    crate::bytes::display::plural(count, "text")
                )));
            }
            for region in pieces(array.shape(), TEXTS) {
                add(&mut crc, &region)?;
            }
        }
        Some((stored, _)) => {
            let text = stored.row.as_ref().and_then(|row| crate::data::cell::text(row.as_ref(), 0));
            let mut text = text.unwrap_or_default().into_bytes();
            text.push(0);
            let (same, bytes) = (crc32fast::hash(&text), text.len() as u64);
            let mut at = 0;
            for (start, region) in rows_in_order(&stored.regions, array.shape())? {
                crc.add(same, bytes, start.saturating_sub(at));
                at = start.saturating_add(region.elements()?);
                let lens = region.shape();
                for piece in pieces(&lens, TEXTS) {
                    let spans = region.0.iter().zip(&piece.0).map(|(span, part)| span.part(part));
                    add(&mut crc, &Region(spans.collect()))?;
                }
            }
            crc.add(same, bytes, count.saturating_sub(at));
        }
    }
    stats.crc32 = crc.0;
    Ok(stats)
}

/// The rows (runs along the last axis) of regions that do not overlap, in C order, each with the number of its
/// first element.
fn rows_in_order(regions: &[Region], shape: &[u64]) -> Result<Vec<(u64, Region)>> {
    /// Rows are kept in memory.
    const MOST: u64 = 1 << 20;
    let mut rows = Vec::new();
    for region in regions.iter().filter(|region| region.0.iter().all(|span| span.count > 0)) {
        let outer: Vec<u64> = region.shape().iter().rev().skip(1).rev().copied().collect();
        let count = limits::elements(&outer)?;
        if (rows.len() as u64).saturating_add(count) > MOST {
            return Err(Error::limit("the rows of the texts that are stored"));
        }
        for n in 0..count {
            let mut row = region.clone();
            for (span, at) in row.0.iter_mut().zip(strides::unravel(n, &outer)) {
                *span = Span::range(span.index(at), 1);
            }
            rows.push((strides::ravel(&row.start(), shape), row));
        }
    }
    rows.sort_by_key(|(start, _)| *start);
    Ok(rows)
}
