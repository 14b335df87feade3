//! What is known of a table before its rows are read: samples from the beginning and from places
//! further on give encoding, dialect, columns, types, and how long a row is.

use super::delimiter;
use super::dialect::{self, Dialect};
use super::record::{self, Field, Step};
use super::values::Values;
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::data::content::table::Columns;
use crate::data::format::Opening;
use crate::data::infer::Guess;
use crate::engines::delimited::{Rules, encoding, resync};
use bytes::Bytes;
use encoding_rs::Encoding;

/// Bytes of the beginning that are looked at.
const HEAD: usize = 256 << 10;
/// The most, where the first rows are very long.
const HEAD_MOST: usize = 16 << 20;
/// Rows that make a sample.
const ENOUGH: usize = 10;
/// Places further on that are looked at, and bytes of each.
const PLACES: u64 = 8;
const PLACE: usize = 32 << 10;

/// What samples tell of a table.
pub(super) struct Sample {
    /// The bytes, as a text whose delimiters and line ends are single bytes.
    pub(super) view: Source,
    /// Where the first record begins.
    pub(super) start: u64,
    /// The encoding of the view.
    pub(super) encoding: &'static Encoding,
    /// The encoding of the file, in words.
    pub(super) encoding_name: String,
    /// Whether there is a byte order mark.
    pub(super) mark: bool,
    pub(super) dialect: Dialect,
    pub(super) values: Values,
    pub(super) columns: Columns,
    /// Whether the sample is the whole text.
    pub(super) whole: bool,
    /// Bytes of an average row.
    pub(super) row_bytes: f64,
    /// The number of fields that rows should have: the header's, or else the most frequent one.
    pub(super) usual: usize,
    /// Rows that were looked at, and how many of them have another number of fields.
    pub(super) rows: u64,
    pub(super) ragged: u64,
}

impl Sample {
    /// Reads samples and draws conclusions.
    pub(super) fn take(opening: &Opening) -> Result<Sample> {
        let (task, source, options) = (opening.task, opening.source, opening.options);
        let first = source.read_up_to(task, 0, HEAD)?;
        let further = further(opening)?;
        let all: Vec<u8> = std::iter::once(&first).chain(&further).flat_map(|b| b.iter().copied()).collect();
        let detected = encoding::choose(options.get(dialect::ENCODING.name), &all)?;
        let (view, start, text) = encoding::ascii_view(source, detected)?;
        let values = Values::of(options, text)?;
        let tab_first = opening.head.has_extension(&["tsv", "tab"]);
        let mut size = HEAD;
        loop {
            let bytes = view.read_up_to(task, start, size)?;
            let whole = bytes.len() < size;
            let dialect = dialect::detect(&bytes, whole, tab_first, text, options)?;
            let body = bytes.slice(dialect.skip.min(bytes.len())..);
            let rows = delimiter::Shape::of(&body, &dialect.rules, whole).rows;
            if !whole && rows < ENOUGH && size < HEAD_MOST {
                size *= 8;
                continue;
            }
            let mut look = Look::new(dialect.rules, text, &values);
            look.piece(&body, whole, dialect.header);
            // Pieces of UTF-16 and UTF-32 are none of the view.
            if !whole && view.is_random_access() {
                further.iter().enumerate().for_each(|(i, piece)| look.place(piece, i + 1 == further.len()));
            }
            let start = start + dialect.skip as u64;
            let found = look.conclude(dialect.header)?;
            return Ok(Sample {
                view,
                start,
                encoding: text,
                encoding_name: detected.encoding.name(),
                mark: detected.mark > 0,
                dialect,
                columns: found.columns,
                values,
                whole,
                row_bytes: found.row_bytes,
                usual: found.usual,
                rows: found.rows,
                ragged: found.ragged,
            });
        }
    }
}

/// Pieces from places further on, the last one up to the end, where they cost nothing to reach.
fn further(opening: &Opening) -> Result<Vec<Bytes>> {
    let source = opening.source;
    let Some(len) = source.known_len().filter(|&len| source.is_random_access() && len > HEAD as u64) else {
        return Ok(Vec::new());
    };
    let last = len.saturating_sub(PLACE as u64).max(HEAD as u64);
    let space = last - HEAD as u64;
    let mut pieces = Vec::new();
    for i in 1..=PLACES {
        let at = HEAD as u64 + (u128::from(space) * u128::from(i) / u128::from(PLACES)) as u64;
        pieces.push(source.read_up_to(opening.task, at, PLACE)?);
    }
    Ok(pieces)
}

/// Rows as they are looked at.
struct Look<'a> {
    rules: Rules,
    text: &'static Encoding,
    values: &'a Values,
    names: Vec<String>,
    guesses: Vec<Guess>,
    /// How many rows have so many fields.
    lengths: std::collections::BTreeMap<usize, u64>,
    rows: u64,
    bytes: u64,
}

/// What came out.
struct Found {
    columns: Columns,
    row_bytes: f64,
    usual: usize,
    rows: u64,
    ragged: u64,
}

impl<'a> Look<'a> {
    fn new(rules: Rules, text: &'static Encoding, values: &'a Values) -> Self {
        Look {
            rules,
            text,
            values,
            names: Vec::new(),
            guesses: Vec::new(),
            lengths: Default::default(),
            rows: 0,
            bytes: 0,
        }
    }

    /// A piece that begins with a record, perhaps the header.
    fn piece(&mut self, bytes: &[u8], last: bool, header: bool) {
        let (mut at, mut fields) = (0, Vec::new());
        let mut header = header;
        while let Step::Record(after) = record::next(bytes, at, &self.rules, last, &mut fields) {
            if header {
                self.names = fields.iter().map(|field| self.cell(bytes, field)).collect();
                header = false;
            } else {
                self.row(bytes, &fields);
                self.bytes += (after - at) as u64;
            }
            at = after;
        }
    }

    fn row(&mut self, bytes: &[u8], fields: &[Field]) {
        self.rows += 1;
        *self.lengths.entry(fields.len()).or_default() += 1;
        if self.guesses.len() < fields.len() {
            self.guesses.resize(fields.len(), Guess::new());
        }
        for (i, field) in fields.iter().enumerate() {
            let plain = record::unquote(bytes, field, self.rules.quote);
            if self.values.is_null(&plain) {
                continue;
            }
            let cell = encoding::decode(self.text, &self.values.plain(&plain)).into_owned();
            if let Some(guess) = self.guesses.get_mut(i) {
                guess.see(&cell);
            }
        }
    }

    /// A piece from anywhere. Rows that look like no rows of this table are not counted.
    fn place(&mut self, bytes: &[u8], at_end: bool) {
        let width = self.guesses.len();
        let fit = |at: usize| share(bytes, at, &self.rules, width);
        let Some(begin) = resync::first(&self.rules, bytes, at_end, &fit) else { return };
        if !begin.sure && fit(begin.at) < 0.9 {
            return;
        }
        self.piece(bytes.get(begin.at..).unwrap_or_default(), at_end, false);
    }

    fn cell(&self, bytes: &[u8], field: &Field) -> String {
        encoding::decode(self.text, &record::unquote(bytes, field, self.rules.quote)).into_owned()
    }

    fn conclude(self, header: bool) -> Result<Found> {
        let frequent = self.lengths.iter().max_by_key(|(_, count)| **count).map_or(0, |(length, _)| *length);
        let usual = if header { self.names.len() } else { frequent };
        let columns = self.names.len().max(self.guesses.len());
        let name = |i: usize| self.names.get(i).cloned().unwrap_or_else(|| format!("column{i}"));
        self.values.check(&(0..columns).map(name).collect::<Vec<_>>())?;
        let field = |i: usize| {
            let name = name(i);
            if let Some(said) = self.values.type_of(&name) {
                return Columns::text(name, said);
            }
            let guess = self.guesses.get(i).map_or(arrow::datatypes::DataType::Utf8, Guess::data_type);
            Columns::text(name, guess)
        };
        let even = self.lengths.get(&usual).copied().unwrap_or(0);
        Ok(Found {
            columns: (0..columns).map(field).collect(),
            row_bytes: if self.rows == 0 { 64.0 } else { (self.bytes as f64 / self.rows as f64).max(1.0) },
            usual,
            rows: self.rows,
            ragged: self.rows - even,
        })
    }
}

/// The share of up to 50 records from `at` on that have `width` fields.
pub(super) fn share(bytes: &[u8], at: usize, rules: &Rules, width: usize) -> f64 {
    let (mut at, mut fields, mut rows, mut good) = (at, Vec::new(), 0, 0);
    while rows < 50
        && let Step::Record(after) = record::next(bytes, at, rules, false, &mut fields)
    {
        rows += 1;
        good += usize::from(fields.len() == width);
        at = after;
    }
    if rows == 0 { 0.0 } else { good as f64 / rows as f64 }
}
