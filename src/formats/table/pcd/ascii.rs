//! `ascii`: a line for each point, its values with spaces between. Read through the sparse index of lines.

use super::header::Header;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::adapt;
use crate::data::content::table::Columns;
use crate::data::dtype::{DType, Field, with_number};
use crate::engines::delimited::{Ends, Gather, Paged, RecordSchema, Records, Rules, Step, TextTable, paged};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use std::ops::Range;

/// Bytes of a value and the space behind it, where nothing better is known.
const VALUE: f64 = 9.0;
/// Lines of numbers; empty ones are none.
const RULES: Rules = Rules {
    ends: Ends::Any,
    quote: None,
    delimiter: b' ',
    padded: false,
    runs: false,
    blanks: false,
    spaces: true,
};

/// A table of lines.
pub(super) type Lines = TextTable<Points>;

/// The lines behind the header, in `len` bytes if that is known.
pub(super) fn lines(source: Source, header: &Header, schema: SchemaRef, len: Option<u64>) -> Lines {
    let shortest = header.line as f64 * 2.0;
    let row_bytes = match len {
        Some(len) if header.points > 0 => (len as f64 / header.points as f64).max(shortest),
        _ => header.line as f64 * VALUE,
    };
    let places = header.values.iter().map(|&first| first as usize);
    let fields = header.record.fields.iter().cloned().zip(places).collect();
    let rows = Paged::new(source, RULES, header.start, 0, row_bytes, 0);
    TextTable::new(rows, Points { columns: schema.into(), fields, line: header.line as usize })
}

/// How values of a line become columns.
pub(super) struct Points {
    columns: Columns,
    /// Each field, and which value of a line is its first.
    fields: Vec<(Field, usize)>,
    /// Values of a line.
    line: usize,
}

impl RecordSchema for Points {
    type Cells = Values;

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn cells(&self, columns: &[usize]) -> Result<Values> {
        let field = |&column: &usize| {
            self.fields
                .get(column)
                .cloned()
                .ok_or_else(|| Error::bug(format!("column {column} was asked for")))
        };
        let wanted = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        let columns = vec![Vec::new(); wanted.len()];
        Ok(Values { wanted, columns, line: self.line, record: 0..0, words: Vec::new(), rows: 0 })
    }
}

/// The values of the asked columns, as they are gathered.
pub(super) struct Values {
    wanted: Vec<(Field, usize)>,
    /// For each of them its elements, little-endian.
    columns: Vec<Vec<u8>>,
    line: usize,
    /// The line that was found last.
    record: Range<usize>,
    /// Where its values lie.
    words: Vec<Range<usize>>,
    rows: usize,
}

impl Records for Values {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        paged::line(&RULES, bytes, at, last, &mut self.record)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let text = bytes.get(self.record.clone()).unwrap_or_default();
        self.words.clear();
        let mut at = 0;
        for word in text.split(u8::is_ascii_whitespace) {
            if !word.is_empty() {
                self.words.push(at..at + word.len());
            }
            at += word.len() + 1;
        }
        if self.words.len() != self.line {
            let (found, line) = (self.words.len(), self.line);
            return Err(Error::malformed(format!("points: a line has {found} values, {line} make a point")));
        }
        let mut total = 0;
        for ((field, first), out) in self.wanted.iter().zip(&mut self.columns) {
            let count = field.shape.first().map_or(1, |&count| count as usize);
            for place in self.words.iter().skip(*first).take(count) {
                let word = text.get(place.clone()).unwrap_or_default();
                parse(&field.dtype, word, out).ok_or_else(|| {
                    let word = String::from_utf8_lossy(word.get(..40).unwrap_or(word)).into_owned();
                    Error::malformed(format!(
                        "points: {word:?} in field {:?} is no {}",
                        field.name, field.dtype
                    ))
                })?;
            }
            total += out.len() as u64;
        }
        self.rows += 1;
        limits::check(total, limits::READ, "the values of these points").map(|_| ())
    }

    fn fit(&self, _bytes: &[u8], _at: usize) -> f64 {
        1.0
    }
}

impl Gather for Values {
    fn finish(self) -> Result<(Vec<ArrayRef>, usize)> {
        let made = self.wanted.iter().zip(&self.columns);
        let arrays = made.map(|((f, _), bytes)| adapt::column(&f.dtype, &f.shape, bytes, self.rows));
        Ok((arrays.collect::<Result<_>>()?, self.rows))
    }
}

/// Appends the value of a word.
fn parse(dtype: &DType, word: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let word = std::str::from_utf8(word).ok()?;
    with_number!(dtype, T => out.extend_from_slice(&word.parse::<T>().ok()?.to_le_bytes()), _ => return None);
    Some(())
}
