//! The delimiter: each that may be is tried on a sample, with each quote, and the one wins under which the
//! text is most like a table — as many fields in each row and in the header, cells that are values, quotes
//! that open and close at the borders of fields.

use super::record::{self, Field, Step};
use crate::data::infer::cells;
use crate::data::infer::{self, Guess};
use crate::engines::delimited::{Ends, Rules};

/// Delimiters that are tried, the usual one first; and how much a table of them is worth. Those at the end
/// stand in texts that are no tables.
const DELIMITERS: [(u8, f64); 10] = [
    (b',', 1.0),
    (b'\t', 1.0),
    (b';', 1.0),
    (b'|', 1.0),
    (0x01, 0.9),
    (0x1f, 0.9),
    (b'^', 0.7),
    (b'#', 0.7),
    (b'~', 0.7),
    (b' ', 0.5),
];
/// Whether a delimiter is one that hardly stands in texts that are no tables.
pub(super) fn is_usual(delimiter: u8) -> bool {
    DELIMITERS.contains(&(delimiter, 1.0))
}

/// Records of the sample that decide.
pub(super) const JUDGED: usize = 400;
/// Bytes of them.
const SEEN: usize = 1 << 20;
/// Cells of them whose type is looked at.
const TYPED: usize = 4_000;
/// What a delimiter must be worth.
const LEAST: f64 = 0.05;

/// The rules of a text whose fields stand between `delimiter`s; its quote, unless that is given, whether spaces
/// stand before quotes, and whether several spaces are one delimiter, are read off `sample`.
pub(super) fn rules(sample: &[u8], whole: bool, delimiter: u8, quote: Option<Option<u8>>) -> Rules {
    let rules = single(sample, whole, delimiter, quote);
    if delimiter != b' ' || memchr::memmem::find(sample, b"  ").is_none() {
        return rules;
    }
    // Columns that are aligned.
    let runs = Rules { runs: true, ..rules };
    if Shape::of(sample, &runs, whole).worth() >= Shape::of(sample, &rules, whole).worth() {
        runs
    } else {
        rules
    }
}

/// The same, with every delimiter for itself.
fn single(sample: &[u8], whole: bool, delimiter: u8, quote: Option<Option<u8>>) -> Rules {
    let plain = Rules { quote: None, delimiter, ..Rules::CSV };
    let found = |quote| quoting(sample, whole, Rules { quote: Some(quote), ..plain });
    match quote {
        Some(None) => plain,
        Some(Some(quote)) => found(quote).rules,
        None => {
            let double = found(b'"');
            let single = if double.proper > 0 { double } else { found(b'\'') };
            match () {
                _ if double.proper > 0 => double.rules,
                // Apostrophes are quotes where they close every field that they open.
                _ if single.proper > 1 && single.odd == 0 => single.rules,
                _ if double.odd > 0 => plain,
                _ => double.rules,
            }
        }
    }
}

/// How a quote is used.
#[derive(Clone, Copy)]
struct Quoting {
    rules: Rules,
    /// Fields that open with the quote and close with it.
    proper: usize,
    /// Fields that open with it and go on behind it, or never close.
    odd: usize,
}

/// How the quote of `rules` is used, with a space before it if more fields close so.
fn quoting(sample: &[u8], whole: bool, rules: Rules) -> Quoting {
    let close = quotes(sample, &rules, whole);
    let spaced = Rules { padded: true, ..rules };
    let padded = if rules.delimiter == b' ' {
        Quoting { rules: spaced, proper: 0, odd: 0 }
    } else {
        quotes(sample, &spaced, whole)
    };
    if padded.proper > close.proper && padded.odd <= close.odd { padded } else { close }
}

fn quotes(sample: &[u8], rules: &Rules, whole: bool) -> Quoting {
    let mut found = Quoting { rules: *rules, proper: 0, odd: 0 };
    let Some(quote) = rules.quote.filter(|quote| memchr::memchr(*quote, sample).is_some()) else {
        return found;
    };
    each(sample, rules, whole, |fields| {
        for field in fields.iter().filter(|field| field.quoted) {
            let raw = sample.get(field.start..field.end).unwrap_or_default();
            if is_closed(raw, quote) { found.proper += 1 } else { found.odd += 1 }
        }
    });
    found
}

/// The delimiter under which `sample` is most like a table; `None` where no one makes it one. `usual` is
/// the one that the name promises.
pub(super) fn best(sample: &[u8], whole: bool, usual: u8, quote: Option<Option<u8>>) -> Option<u8> {
    let (sample, whole) = match sample.get(..SEEN) {
        // A piece of one row is the row.
        Some(begin) => (begin, Ends::Any.find(begin).is_none()),
        None => (sample, whole),
    };
    let place = |delimiter: u8| memchr::memchr(delimiter, sample);
    let earliest =
        DELIMITERS.iter().filter(|(byte, _)| is_usual(*byte)).filter_map(|(byte, _)| place(*byte)).min();
    let mut found = (None, LEAST);
    for (delimiter, weight) in DELIMITERS {
        let Some(at) = place(delimiter) else { continue };
        let rules = rules(sample, whole, delimiter, quote);
        let shape = Shape::of(sample, &rules, whole);
        let promised = if delimiter == usual { 1.02 } else { 1.0 };
        // In a single row the fields around a list stand before it.
        let outer = if shape.rows == 1 && Some(at) == earliest { 1.2 } else { 1.0 };
        let even = shape.worth() * weight * promised * outer;
        // The cells are looked at only where they may make it the best one.
        if even * width_bonus(shape.widest) <= found.1 {
            continue;
        }
        let cells = Cells::of(sample, &rules, whole, shape.remarks);
        // Few rows that are not even alike say little, unless their quotes stand beside the delimiter.
        let sure = if shape.is_sure() || cells.are_quoted(&shape) { 1.0 } else { 0.3 };
        let worth = even * sure * cells.worth(shape.rows);
        if worth > found.1 && (is_usual(delimiter) || is_clear(sample, &rules, whole, &shape, &cells)) {
            found = (Some(delimiter), worth);
        }
    }
    found.0
}

/// Whether rows are a table even if their delimiter is one that stands in texts: they are even and have several
/// fields, or are quoted.
fn is_clear(sample: &[u8], rules: &Rules, whole: bool, shape: &Shape, cells: &Cells) -> bool {
    let filled = cells.filled();
    let even = match rules.delimiter {
        b' ' if shape.share == 1.0 && shape.rows > 1 && has_numbers(sample, rules, whole) => filled > 1,
        b' ' => shape.share > 0.8 && filled > 2 && shape.rows > 3 && cells.values * 2 > cells.seen,
        _ if shape.share == 1.0 && shape.rows > 3 => filled > 1,
        _ => shape.share > 0.9 && shape.first == shape.fields && filled > 2 && shape.rows > 1,
    };
    even || cells.are_quoted(shape)
}

/// The numbers of fields of the first rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shape {
    /// The share of rows that have the usual number of fields.
    pub(super) share: f64,
    /// The usual number of fields.
    pub(super) fields: usize,
    /// Rows that were looked at. A last one that is cut does not count.
    pub(super) rows: usize,
    /// The fields of the first row, the last one and the widest one.
    first: usize,
    last: usize,
    widest: usize,
    /// How alike the rows of more than one field are, from 0 to 1: half of it is the chance that two rows have the
    /// same number of fields, half that they do and so has every row between them.
    even: f64,
    /// Whether lines that begin with `#` are no rows but comments among them.
    remarks: bool,
}

impl Shape {
    /// That of the first rows of `sample` under `rules`.
    pub(super) fn of(sample: &[u8], rules: &Rules, whole: bool) -> Shape {
        let (mut rows, mut remarks) = (Vec::new(), Vec::new());
        each(sample, rules, whole, |fields| match is_remark(sample, rules, fields) {
            true => remarks.push(fields.len()),
            false => rows.push(fields.len()),
        });
        // Unless most rows look like that.
        if rows.len() > remarks.len() {
            return Shape { remarks: true, ..Shape::of_widths(rows) };
        }
        rows.clear();
        each(sample, rules, whole, |fields| rows.push(fields.len()));
        Shape::of_widths(rows)
    }

    fn of_widths(mut widths: Vec<usize>) -> Shape {
        let rows = widths.len();
        let (Some(&first), Some(&last)) = (widths.first(), widths.last()) else { return Shape::default() };
        // The squares of the shares of rows that follow each other, of more than one field.
        let alike = |widths: &[usize]| -> f64 {
            let groups = widths.chunk_by(|a, b| a == b).filter(|group| group.first().is_some_and(|n| *n > 1));
            groups.map(|group| (group.len() as f64 / rows as f64).powi(2)).sum()
        };
        let in_order = alike(&widths);
        widths.sort_unstable();
        let even = (in_order + alike(&widths)) / 2.0;
        let (mut fields, mut most) = (0, 0);
        for group in widths.chunk_by(|a, b| a == b) {
            if group.len() >= most {
                (fields, most) = (group.first().copied().unwrap_or(0), group.len());
            }
        }
        let (share, widest) = (most as f64 / rows as f64, widths.last().copied().unwrap_or(0));
        Shape { share, fields, rows, first, last, widest, even, remarks: false }
    }

    /// How much of a table it is, from 0 to 1.
    fn worth(&self) -> f64 {
        // A delimiter that splits rows splits the header, too, unless text stands above the table; and a table
        // goes on to the end of the text more often than not.
        let header = match self.first {
            n if n == self.fields => 1.0,
            1 => 0.7,
            _ => 0.8,
        };
        let end = match self.last {
            n if n == self.fields => 1.0,
            1 => 0.6,
            _ => 0.8,
        };
        self.even * header * end
    }

    /// Whether all rows are alike, or enough of them.
    fn is_sure(&self) -> bool {
        let usual = (self.share * self.rows as f64).round() as usize;
        self.share == 1.0 || usual * self.fields.saturating_sub(1) >= 4
    }
}

/// Goes over the first rows.
fn each(sample: &[u8], rules: &Rules, whole: bool, mut each: impl FnMut(&[Field])) {
    let (mut at, mut fields) = (0, Vec::new());
    for _ in 0..JUDGED {
        let Step::Record(after) = record::next(sample, at, rules, whole, &mut fields) else { return };
        each(&fields);
        at = after;
    }
}

/// Whether a row may be a comment.
fn is_remark(sample: &[u8], rules: &Rules, fields: &[Field]) -> bool {
    rules.delimiter != b'#' && fields.first().and_then(|field| sample.get(field.start)) == Some(&b'#')
}

/// Many columns are less likely by chance than few.
fn width_bonus(columns: usize) -> f64 {
    1.0 + (columns.clamp(1, 50) as f64).ln() / 10.0
}

/// Whether a column is typed in every row but the first.
pub(super) fn has_numbers(sample: &[u8], rules: &Rules, whole: bool) -> bool {
    let mut columns: Option<Vec<Guess>> = None;
    each(sample, rules, whole, |fields| match &mut columns {
        None => columns = Some(vec![Guess::new(); fields.len()]),
        Some(columns) => {
            for (guess, field) in columns.iter_mut().zip(fields) {
                guess.see(&String::from_utf8_lossy(&record::unquote(sample, field, rules.quote)));
            }
        }
    });
    columns.is_some_and(|columns| columns.iter().any(|guess| guess.seen() && guess.is_number()))
}

/// What the cells are.
#[derive(Default)]
struct Cells {
    /// Which columns have cells that are not empty.
    columns: Vec<bool>,
    /// Cells that are not empty, and what they are worth together.
    seen: usize,
    sum: f64,
    /// Numbers, dates and the like among them.
    values: usize,
    /// Quotes, and those that open or close a field or stand doubled within.
    quotes: usize,
    proper: usize,
    /// Rows in which a quote stands beside a delimiter.
    quoted_rows: usize,
}

impl Cells {
    /// Those of the first rows of `sample`; without `remarks`, if there are some.
    fn of(sample: &[u8], rules: &Rules, whole: bool, remarks: bool) -> Cells {
        let mut cells = Cells::default();
        each(sample, rules, whole, |fields| {
            if !remarks || !is_remark(sample, rules, fields) {
                cells.see(sample, fields, rules);
            }
        });
        cells
    }

    fn see(&mut self, sample: &[u8], fields: &[Field], rules: &Rules) {
        if self.columns.len() < fields.len() {
            self.columns.resize(fields.len(), false);
        }
        let mut beside = false;
        for (field, filled) in fields.iter().zip(&mut self.columns) {
            let raw = sample.get(field.start..field.end).unwrap_or_default();
            if raw.is_empty() {
                continue;
            }
            *filled = true;
            let quotes = memchr::memchr2_iter(b'"', b'\'', raw).count();
            self.quotes += quotes;
            let closed = field.quoted && is_closed(raw, rules.quote.unwrap_or_default());
            beside |= closed && fields.len() > 1;
            // Spaces around quotes make them no quotes, and still tell where the field is.
            let proper = closed || is_quoted(raw.trim_ascii());
            if proper {
                self.proper += quotes;
            }
            if self.seen < TYPED {
                let value = !proper && is_value(&String::from_utf8_lossy(raw));
                self.seen += 1;
                self.values += usize::from(value);
                self.sum += if proper || value { 1.0 } else { worth(raw) };
            }
        }
        self.quoted_rows += usize::from(beside);
    }

    /// Columns with cells that are not empty.
    fn filled(&self) -> usize {
        self.columns.iter().filter(|filled| **filled).count()
    }

    /// Whether quotes stand beside the delimiter in most rows.
    fn are_quoted(&self, shape: &Shape) -> bool {
        self.quoted_rows * 2 > shape.rows
    }

    /// How much like a table's they are.
    fn worth(&self, rows: usize) -> f64 {
        let typed = if self.seen == 0 { 0.5 } else { self.sum / self.seen as f64 };
        let proper = if self.quotes == 0 { 1.0 } else { 0.5 + 0.5 * self.proper as f64 / self.quotes as f64 };
        let wide = match self.filled() {
            0 | 1 => 0.7,
            // The delimiter of a list within a row may well split that row more often.
            _ if rows == 1 => 1.0,
            columns => width_bonus(columns),
        };
        typed * proper * wide
    }
}

/// Whether a field that begins with a quote ends with it, all others within being pairs.
fn is_closed(raw: &[u8], quote: u8) -> bool {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    raw.len() > 1 && raw.last() == Some(&quote) && memchr::memchr_iter(quote, inner).count().is_multiple_of(2)
}

/// Whether a text stands between two quotes.
fn is_quoted(text: &[u8]) -> bool {
    match text {
        [open @ (b'"' | b'\''), .., close] => open == close && is_closed(text, *open),
        _ => false,
    }
}

/// How much a cell of text is like one value, from 0 to 1.
fn worth(cell: &[u8]) -> f64 {
    let mut worth: f64 = 0.9;
    let bytes = cell.trim_ascii();
    for (i, byte) in bytes.iter().enumerate() {
        let left = match byte {
            b',' if bytes.get(i + 1) == Some(&b' ') => 0.7,
            b',' => 0.4,
            b';' | b'\t' | b'|' => 0.3,
            b'"' | b'#' | b'^' | b'~' => 0.6,
            _ => continue,
        };
        worth = worth.min(left);
    }
    worth
}

/// Whether a cell is nothing, a number, a date or a time, in any of the usual ways to write them.
fn is_value(cell: &str) -> bool {
    let cell = cell.trim();
    if cell.is_empty() {
        return true;
    }
    is_number(cell) || cells::is_missing(cell) || infer::is_typed(cell)
}

/// Digits with signs, points and commas: `1.234,50 €`, `-5 %`, `12:34:56`, `31.12.2024`.
fn is_number(cell: &str) -> bool {
    let bytes = cell
        .trim_matches(|c: char| matches!(c, '%' | '$' | '€' | '£' | ' ' | '+' | '-' | '(' | ')'))
        .as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let others = bytes
        .iter()
        .filter(|b| !b.is_ascii_digit())
        .all(|b| matches!(b, b'.' | b',' | b':' | b'/' | b'-' | b' '));
    let close =
        bytes.windows(2).all(|pair| matches!(pair, [a, b] if a.is_ascii_digit() || b.is_ascii_digit()));
    digits > 0
        && others
        && close
        && bytes.first().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'.' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<char> {
        best(text.as_bytes(), true, b',', None).map(char::from)
    }

    #[test]
    fn a_delimiter_explains_the_header_too() {
        assert_eq!(of("Preis;Währung\n0,50;€ 0,25\n1,50;€ 1,25\n"), Some(';'));
        assert_eq!(of("a;b\n1,5;2\n1,5;2\n1,5;2\n"), Some(';'));
        assert_eq!(of("x|when\n1,2|3:00\n4,5|6:00\n"), Some('|'));
        assert_eq!(of("name\tnote\na\tx, y\nb\tz, w\n"), Some('\t'));
    }

    #[test]
    fn cells_of_the_best_one_are_values() {
        assert_eq!(of("'Nero';£ 1,80;£ 9000,50\n'Hatch';£ 2,00;£ 100000,30\n"), Some(';'));
        assert_eq!(of("M113#1#a, b#x\nM114#2#c, d#y\n"), Some('#'));
        assert_eq!(of("a,b#1\nc,d#2\n"), Some(','));
        assert_eq!(of("1,Orange,K6CF|K6COV|K6MWT|K6NBR,5,K6QEH|K6SOA\n"), Some(','));
        // A last column of nothing is none.
        assert_eq!(of("1, I;\n2, L;\n3, V;\n"), Some(','));
    }

    #[test]
    fn quotes_stand_beside_the_delimiter() {
        assert_eq!(of("a \"b, c\" d\n1 \"e, f, g\" h i\n2 \"j\" k\n"), Some(' '));
        assert_eq!(of("\"a\"; \"b, c\"\n\"d\"; \"e, f\"; \"g\"\n"), Some(';'));
        let padded = rules(b"\"a\", \"b\nc\", 1\n", true, b',', None);
        assert!(padded.padded && !rules(b"\"a\",\"b\" , \"\n", true, b',', None).padded);
        assert_eq!(rules(b"'a','b''c'\n", true, b',', None).quote, Some(b'\''));
        assert_eq!(rules(b"'t is,rock 'n' roll\n", true, b',', None).quote, Some(b'"'));
        assert_eq!(rules(b"5,\"6\" by 7\n", true, b',', None).quote, None);
    }

    #[test]
    fn text_around_the_table() {
        assert_eq!(
            of("Report, of geese\nMade in 2024\n\nid;name;kg\n1;Ada;3,5\n2;Bo;4,25\n3;Cy;2,75\n"),
            Some(';')
        );
        assert_eq!(of("SEQUENTIAL\n# user, domain, password\nada;a.org;x=1\n"), Some(';'));
        assert_eq!(of("#f00;red\n#0f0;green\n#00f;blue\n"), Some(';'));
    }

    #[test]
    fn text_is_no_table() {
        assert_eq!(of("value\n1\n2\n"), None);
        assert_eq!(of("DELIVER IN PERSON\nTAKE BACK RETURN\n"), None);
        assert_eq!(of("# one\n\n# two\nx\n# three #\n"), None);
        assert_eq!(of("2024-01-31 12:00:00\n2024-01-31 12:00:01\n"), None);
        assert_eq!(of("C#\nF#\n"), None);
        assert_eq!(of(""), None);
    }
}
