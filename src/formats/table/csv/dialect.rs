//! The dialect: delimiter, quote, line ends, comment lines before the table, header or not — read off
//! a sample by how consistent the rows become, each changeable by an option.

use super::record::{self, Field, Step};
use crate::error::{Error, Result};
use crate::format::{OptionSpec, Options};
use crate::lines::types::{self, Guess};
use crate::lines::{Rules, encoding};
use encoding_rs::Encoding;

/// Which delimiter.
pub(super) const DELIMITER: OptionSpec = OptionSpec {
    name: "delimiter",
    help: "what stands between fields: one character, or comma, semicolon, tab, pipe, space",
    values: &[],
    default: "auto",
};
/// Which quote.
pub(super) const QUOTE: OptionSpec = OptionSpec {
    name: "quote",
    help: "what stands around fields that hold delimiters: one character, or none",
    values: &[],
    default: "auto",
};
/// Header or not.
pub(super) const HEADER: OptionSpec = OptionSpec {
    name: "header",
    help: "whether the first row names the columns",
    values: &["auto", "yes", "no"],
    default: "auto",
};
/// Which encoding.
pub(super) const ENCODING: OptionSpec = OptionSpec {
    name: "encoding",
    help: "how characters are stored: utf-8, utf-16le, windows-1252, shift_jis …",
    values: &[],
    default: "auto",
};

/// Delimiters that are tried, the usual one first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];
/// Records of the sample that decide on the delimiter.
const JUDGED: usize = 400;

/// How a text is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) rules: Rules,
    pub(super) header: bool,
    /// Bytes of comment lines before the first row.
    pub(super) skip: usize,
    /// How many comment lines these are.
    pub(super) comments: usize,
    /// Whether a carriage return stands before the first line's end.
    pub(super) returns: bool,
}

/// How well a delimiter fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// The share of rows that have the usual number of fields.
    pub(super) share: f64,
    /// The usual number of fields.
    pub(super) fields: usize,
    /// Rows that were looked at.
    pub(super) rows: usize,
}

/// Reads the dialect off `sample`; `whole` says that it is the whole text.
pub(super) fn detect(
    sample: &[u8],
    whole: bool,
    tab_first: bool,
    text: &'static Encoding,
    options: &Options,
) -> Result<Dialect> {
    let end = if sample.contains(&b'\n') || !sample.contains(&b'\r') { b'\n' } else { b'\r' };
    let quote = quote_option(options)?;
    let delimiter = delimiter_option(options)?;
    let (skip, comments) = comment_lines(sample, end);
    let body = sample.get(skip..).unwrap_or_default();
    let rules = |delimiter: u8| {
        let rules = Rules { end, quote: Some(b'"'), delimiter, blanks: false, spaces: false };
        Rules { quote: quote.unwrap_or_else(|| quote_of(body, &rules, whole)), ..rules }
    };
    let delimiter = delimiter.unwrap_or_else(|| {
        let candidates = DELIMITERS.map(|delimiter| (delimiter, score(body, &rules(delimiter), whole)));
        best(&candidates, tab_first)
            .unwrap_or_else(|| if spaced(body, &rules(b' '), whole) { b' ' } else { usual(tab_first) })
    });
    let rules = rules(delimiter);
    let header = match options.choice(&HEADER)? {
        "yes" => true,
        "no" => false,
        _ => has_header(body, &rules, whole, text),
    };
    let returns = end == b'\n'
        && memchr::memchr(end, body).is_some_and(|at| body.get(..at).is_some_and(|l| l.ends_with(b"\r")));
    Ok(Dialect { rules, header, skip, comments, returns })
}

fn usual(tab_first: bool) -> u8 {
    if tab_first { b'\t' } else { b',' }
}

/// The delimiter under which the rows are most consistent; `None` where no one splits them.
fn best(candidates: &[(u8, Score)], tab_first: bool) -> Option<u8> {
    let worth = |delimiter: u8, score: &Score| match score.fields {
        0 | 1 => 0.0,
        // Consistency decides; more fields and the extension's delimiter break ties.
        n => {
            let bonus = if delimiter == usual(tab_first) { 0.05 } else { 0.0 };
            score.share * score.share * (1.0 + (n.min(50) as f64).ln() / 10.0) + bonus
        }
    };
    let mut found = (None, 0.0);
    for (delimiter, score) in candidates {
        let worth = worth(*delimiter, score);
        if worth > found.1 {
            found = (Some(*delimiter), worth);
        }
    }
    found.0
}

/// Whether single spaces split the text into a table: every row alike, and numbers among them.
fn spaced(sample: &[u8], rules: &Rules, whole: bool) -> bool {
    let score = score(sample, rules, whole);
    score.fields > 1 && score.rows > 1 && score.share == 1.0 && has_numbers(sample, rules, whole)
}

/// Whether a column is typed in every row but the first.
pub(super) fn has_numbers(sample: &[u8], rules: &Rules, whole: bool) -> bool {
    let (mut at, mut fields) = (0, Vec::new());
    let mut columns: Vec<Guess> = Vec::new();
    let mut rows = 0;
    while rows < JUDGED
        && let Step::Record(after) = record::next(sample, at, rules, whole, &mut fields)
    {
        if rows == 0 {
            columns = vec![Guess::new(); fields.len()];
        } else {
            for (guess, field) in columns.iter_mut().zip(&fields) {
                guess.see(&String::from_utf8_lossy(&record::unquote(sample, field, rules.quote)));
            }
        }
        at = after;
        rows += 1;
    }
    columns.iter().any(|guess| guess.seen() && guess.is_number())
}

/// How consistent the rows are under `rules`. A last row that is cut does not count.
pub(super) fn score(sample: &[u8], rules: &Rules, whole: bool) -> Score {
    let mut counts: Vec<usize> = Vec::new();
    let (mut at, mut fields) = (0, Vec::new());
    while let Step::Record(after) = record::next(sample, at, rules, whole, &mut fields) {
        counts.push(fields.len());
        at = after;
        if counts.len() >= JUDGED {
            break;
        }
    }
    let rows = counts.len();
    counts.sort_unstable();
    let mut usual = (0, 0);
    for group in counts.chunk_by(|a, b| a == b) {
        if group.len() >= usual.1 {
            usual = (group.first().copied().unwrap_or(0), group.len());
        }
    }
    Score { share: if rows == 0 { 0.0 } else { usual.1 as f64 / rows as f64 }, fields: usual.0, rows }
}

/// Whether `"` quotes fields in this sample, or is only text: then no field closes as it should.
fn quote_of(sample: &[u8], rules: &Rules, whole: bool) -> Option<u8> {
    let quote = rules.quote?;
    let (mut at, mut fields, mut proper, mut odd) = (0, Vec::<Field>::new(), 0, 0);
    for _ in 0..JUDGED {
        let Step::Record(after) = record::next(sample, at, rules, whole, &mut fields) else { break };
        for field in fields.iter().filter(|field| field.quoted) {
            let raw = sample.get(field.start..field.end).unwrap_or_default();
            let closed = raw.len() > 1 && raw.last() == Some(&quote);
            let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
            let pairs = memchr::memchr_iter(quote, inner).count().is_multiple_of(2);
            if closed && pairs { proper += 1 } else { odd += 1 }
        }
        at = after;
    }
    if proper == 0 && odd > 0 { None } else { Some(quote) }
}

/// Lines that begin with `#` before a line that does not: their bytes and number.
fn comment_lines(sample: &[u8], end: u8) -> (usize, usize) {
    let (mut at, mut lines) = (0, 0);
    while sample.get(at) == Some(&b'#') {
        let Some(n) = memchr::memchr(end, sample.get(at..).unwrap_or_default()) else { return (0, 0) };
        // `#chrom<tab>start`: the header of a genomics table, not a comment.
        let line = sample.get(at..at + n).unwrap_or_default();
        if line.get(1).is_some_and(u8::is_ascii_alphanumeric)
            && (line.contains(&b'\t') || line.contains(&b','))
        {
            break;
        }
        at += n + 1;
        lines += 1;
    }
    if at >= sample.len() { (0, 0) } else { (at, lines) }
}

/// Whether the first row names the columns: its cells are text where the column below is typed, or
/// everything is text. Typed cells in typed columns are data.
fn has_header(sample: &[u8], rules: &Rules, whole: bool, text: &'static Encoding) -> bool {
    let (mut at, mut fields) = (0, Vec::new());
    let mut first: Vec<String> = Vec::new();
    let mut columns: Vec<Guess> = Vec::new();
    let mut rows = 0;
    while rows < 1_000
        && let Step::Record(after) = record::next(sample, at, rules, whole, &mut fields)
    {
        let cell =
            |field: &Field| encoding::decode(text, &record::unquote(sample, field, rules.quote)).into_owned();
        if rows == 0 {
            first = fields.iter().map(cell).collect();
            columns = vec![Guess::new(); first.len()];
        } else {
            columns.iter_mut().zip(&fields).for_each(|(guess, field)| guess.see(&cell(field)));
        }
        at = after;
        rows += 1;
    }
    let typed_cell = |name: &String| types::is_typed(name);
    let named_columns = first.iter().zip(&columns).filter(|(name, _)| !name.trim().is_empty());
    let text_over_typed = named_columns.filter(|(name, guess)| guess.is_typed() && !typed_cell(name)).count();
    if text_over_typed > 0 {
        return true;
    }
    if first.iter().any(typed_cell) {
        return rows > 1 && years_over_other(&first, &columns);
    }
    // Nothing but text: names do not come back as data.
    true
}

/// `year,2022,2023` above other numbers: years as names.
fn years_over_other(first: &[String], columns: &[Guess]) -> bool {
    let mut years: Vec<u32> = first
        .iter()
        .skip(1)
        .filter_map(|cell| cell.parse().ok())
        .filter(|y| (1900..2101).contains(y))
        .collect();
    let all = years.len() + 1 == first.len();
    years.windows(2).all(|pair| matches!(pair, [a, b] if a < b))
        && all
        && !years.is_empty()
        && first.first().is_some_and(|name| !types::is_typed(name))
        && columns.iter().skip(1).all(Guess::seen)
        && {
            years.dedup();
            years.len() + 1 == first.len()
        }
}

fn delimiter_option(options: &Options) -> Result<Option<u8>> {
    let value = options.choice(&DELIMITER)?;
    match value {
        "auto" => Ok(None),
        "comma" => Ok(Some(b',')),
        "semicolon" => Ok(Some(b';')),
        "tab" | "\\t" => Ok(Some(b'\t')),
        "pipe" => Ok(Some(b'|')),
        "space" => Ok(Some(b' ')),
        _ => one_byte(&DELIMITER, value).map(Some),
    }
}

/// `Some(None)`: no quotes.
fn quote_option(options: &Options) -> Result<Option<Option<u8>>> {
    match options.choice(&QUOTE)? {
        "auto" => Ok(None),
        "none" | "" => Ok(Some(None)),
        value => one_byte(&QUOTE, value).map(|byte| Some(Some(byte))),
    }
}

fn one_byte(spec: &OptionSpec, value: &str) -> Result<u8> {
    match value.as_bytes() {
        [byte] if !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => Err(Error::unsupported(format!("{}={value}: it is one character of ASCII", spec.name))),
    }
}

/// A byte in words, for the inspector.
pub(super) fn byte_name(byte: u8) -> String {
    match byte {
        b'\t' => "tab".to_owned(),
        b' ' => "space".to_owned(),
        byte if byte.is_ascii_graphic() => char::from(byte).to_string(),
        byte => format!("0x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (char, Option<char>, bool) {
        let found = detect(text.as_bytes(), true, false, encoding_rs::UTF_8, &Options::default()).unwrap();
        (found.rules.delimiter.into(), found.rules.quote.map(char::from), found.header)
    }

    #[test]
    fn delimiter_quote_and_header() {
        assert_eq!(of("a,b\n1,2\n"), (',', Some('"'), true));
        assert_eq!(of("ort;wert\nUlm;1,5\nBonn;-2,75\n"), (';', Some('"'), true));
        assert_eq!(of("1,2.5\n3,4.5\n"), (',', Some('"'), false));
        assert_eq!(of("goose,3,2024-01-31\nduck,4,2024-02-01\n"), (',', Some('"'), false));
        assert_eq!(of("name,city\nAda,London\n"), (',', Some('"'), true));
        assert_eq!(of("year,2022,2023\ngoose,1,2\nduck,3,4\n"), (',', Some('"'), true));
        assert_eq!(of("150,4,setosa\n5.1,3.5,0\n4.9,3.0,0\n"), (',', Some('"'), true));
        assert_eq!(of("id\tname\n1\tthe 6\" goose\n2\t\"quoted\" duck\n"), ('\t', None, true));
        assert_eq!(of("a,b\n1,\"open\n2,x\n3,y\n"), (',', None, true));
        assert_eq!(of("value\n1\n2\n"), (',', Some('"'), true));
        assert_eq!(of("1.5\n2.5\n"), (',', Some('"'), false));
        assert_eq!(of("a|b;c\n1|2\n5|6;7,8\n").0, '|');
    }

    #[test]
    fn comments_before_the_table_are_skipped() {
        let found = |text: &str| {
            let d = detect(text.as_bytes(), true, false, encoding_rs::UTF_8, &Options::default()).unwrap();
            (d.skip, d.comments)
        };
        assert_eq!(found("# made by hand\n# twice\na,b\n1,2\n"), (23, 2));
        assert_eq!(found("#chrom\tstart\nchr1\t5\n"), (0, 0));
        assert_eq!(found("# only this\n"), (0, 0));
    }

    #[test]
    fn options_are_obeyed_or_refused() {
        let with = |name: &str, value: &str| {
            let mut options = Options::default();
            options.set(name, value);
            detect(b"a;b,c\n1;2,3\n", true, false, encoding_rs::UTF_8, &options)
        };
        assert_eq!(with("delimiter", "semicolon").unwrap().rules.delimiter, b';');
        assert_eq!(with("quote", "none").unwrap().rules.quote, None);
        assert!(!with("header", "no").unwrap().header);
        assert!(with("header", "perhaps").is_err());
        assert!(with("delimiter", "ab").is_err());
    }
}
