//! A unit on its way into the file: its header, which is written again once the sums are known, and its data.

use super::super::header::BLOCK;
use super::cards::Cards;
use super::checksum::Sum;
use crate::bytes::error::{Error, Result};
use crate::data::format::Sink;
use crate::data::scan::put;
use std::io::SeekFrom;

/// The data of a unit: bytes at places, with their sum.
pub(super) struct Data<'a> {
    sink: &'a mut dyn Sink,
    /// Where the data begin in the file.
    start: u64,
    /// Where the next byte goes, from there.
    at: u64,
    /// Bytes up to the end of what was written.
    end: u64,
    sum: Sum,
}

impl Data<'_> {
    /// Writes bytes behind the last ones.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        put(self.sink, bytes)?;
        self.sum.add(self.at, bytes);
        self.at += bytes.len() as u64;
        self.end = self.end.max(self.at);
        Ok(())
    }

    /// Goes on at another place of the data.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn seek(&mut self, at: u64) -> Result<()> {
        if at != self.at {
            self.sink.seek(SeekFrom::Start(self.start + at))?;
            self.at = at;
        }
        Ok(())
    }
}

/// Writes a unit: `cards` is its header, or one of the same length where only the data tell all of it; `data` writes the
/// data and gives the header.
///
/// # Errors
/// Those of writing and of `data`.
pub(super) fn write(
    sink: &mut dyn Sink,
    cards: &Cards,
    data: impl FnOnce(&mut Data<'_>) -> Result<Cards>,
) -> Result<()> {
    let begin = sink.stream_position()?;
    let summed = |cards: &Cards, data: &str, unit: &str| {
        let mut all = cards.clone();
        all.say("DATASUM", data, "sum of the data");
        all.say("CHECKSUM", unit, "");
        all.bytes()
    };
    let zeros = "0000000000000000";
    let first = summed(cards, "0", zeros);
    put(sink, &first)?;
    let start = begin + first.len() as u64;
    let mut out = Data { sink: &mut *sink, start, at: 0, end: 0, sum: Sum::default() };
    let cards = data(&mut out)?;
    let (end, sum) = (out.end, out.sum);
    out.seek(end)?;
    let padding = vec![0; (end.next_multiple_of(BLOCK) - end) as usize];
    put(sink, &padding)?;
    let text = sum.value().to_string();
    let mut whole = Sum::default();
    let open = summed(&cards, &text, zeros);
    if open.len() != first.len() {
        return Err(Error::bug("FITS: a header that changed its length"));
    }
    whole.add(0, &open);
    let closed = summed(&cards, &text, &whole.with(sum).text());
    sink.seek(SeekFrom::Start(begin))?;
    put(sink, &closed)?;
    sink.seek(SeekFrom::End(0))?;
    Ok(())
}
