//! The dialect: delimiter, quote, line ends, comment lines before the table, header or not — read off
//! a sample, each changeable by an option.

use super::delimiter;
use super::record::{self, Field, Step};
use super::values::Values;
use crate::bytes::error::{Error, Result};
use crate::data::format::{OptionSpec, Options};
use crate::data::infer::{self, Guess};
use crate::engines::delimited::{Ends, Rules, encoding};
use encoding_rs::Encoding;
use std::ops::Range;

/// Which delimiter.
pub(super) const DELIMITER: OptionSpec = OptionSpec::new(
    "delimiter",
    "what stands between fields: one character, or comma, semicolon, tab, pipe, space",
)
.default("auto");
/// Which quote.
pub(super) const QUOTE: OptionSpec =
    OptionSpec::new("quote", "what stands around fields that hold delimiters: one character, or none")
        .default("auto");
/// Header or not.
pub(super) const HEADER: OptionSpec = OptionSpec::new("header", "whether the first row names the columns")
    .one_of("auto", &["auto", "yes", "no"]);
/// Which encoding.
pub(super) const ENCODING: OptionSpec = OptionSpec::new(
    "encoding",
    "how characters are stored: utf-8, utf-16le, utf-32le, windows-1252, shift_jis …",
)
.default("auto");

/// How many lines stand before the table.
pub(super) const SKIP: OptionSpec =
    OptionSpec::new("skip", "how many lines before the table are skipped").default("0");
/// What comment lines before the table begin with.
pub(super) const COMMENT: OptionSpec =
    OptionSpec::new("comment", "what comment lines before the table begin with: one character, or none")
        .default("#");

/// How a text is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) rules: Rules,
    pub(super) header: bool,
    /// Bytes before the first row: lines that are skipped, and comments.
    pub(super) skip: usize,
    /// How many lines are skipped because somebody said so.
    pub(super) skipped: usize,
    /// How many comment lines these are.
    pub(super) comments: usize,
    /// The kinds of line ends that the first records have: LF, CR LF, CR.
    pub(super) ends: Vec<&'static str>,
}

/// Reads the dialect off `sample`; `whole` says that it is the whole text.
pub(super) fn detect(
    sample: &[u8],
    whole: bool,
    tab_first: bool,
    text: &'static Encoding,
    options: &Options,
) -> Result<Dialect> {
    let quote = quote_option(options)?;
    let delimiter = delimiter_option(options)?;
    let values = Values::of(options, text)?;
    let skipped = options.number(&SKIP, "it is a number of lines", |_: &usize| true)?;
    let before = Ends::Any.split(sample).take(skipped).map(<[u8]>::len).sum::<usize>();
    let sample = sample.get(before..).unwrap_or_default();
    let comment = comment_option(options)?;
    let lines = comment.map_or(Vec::new(), |comment| comment_lines(sample, comment));
    let from = |at: usize| sample.get(at..).unwrap_or_default();
    let body = from(lines.last().map_or(0, |line| line.end));
    let usual = if tab_first { b'\t' } else { b',' };
    let delimiter = delimiter.unwrap_or_else(|| delimiter::best(body, whole, usual, quote).unwrap_or(usual));
    let rules = delimiter::rules(body, whole, delimiter, quote);
    let below = header(body, &rules, whole, text, &values);
    let named = lines.last().filter(|_| comment == Some(b'#'));
    let named = named.filter(|line| names_columns(from(line.start), &rules, whole, below));
    let skip = named.map_or(sample.len() - body.len(), |line| line.start);
    let header = match options.choice(&HEADER)? {
        "yes" => true,
        "no" => false,
        _ => named.is_some() || below != Header::None,
    };
    // Blank ones among them are skipped as well.
    let comments = Ends::Any.split(sample.get(..skip).unwrap_or_default()).count();
    let ends = line_ends(from(skip), &rules, whole);
    Ok(Dialect { rules, header, skip: before + skip, skipped, comments, ends })
}

/// The kinds of line ends of the first records, the first one first.
fn line_ends(body: &[u8], rules: &Rules, whole: bool) -> Vec<&'static str> {
    let (mut at, mut fields, mut found) = (0, Vec::new(), Vec::new());
    for _ in 0..delimiter::JUDGED {
        let Step::Record(after) = record::next(body, at, rules, whole, &mut fields) else { break };
        let kind = match (body.get(after - 1), body.get(after)) {
            (Some(b'\r'), Some(b'\n')) => "CR LF",
            (Some(b'\r'), _) => "CR",
            (Some(b'\n'), _) => "LF",
            _ => break,
        };
        if !found.contains(&kind) {
            found.push(kind);
        }
        at = after;
    }
    found
}

/// The lines that begin with `comment` before one that does not, if there is one, with their ends; blank lines among
/// them are none.
fn comment_lines(sample: &[u8], comment: u8) -> Vec<Range<usize>> {
    let (mut at, mut lines) = (0, Vec::new());
    loop {
        let rest = sample.get(at..).unwrap_or_default();
        at += rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        if sample.get(at) != Some(&comment) {
            break;
        }
        let rest = sample.get(at..).unwrap_or_default();
        let Some(end) = Ends::Any.find(rest) else { return Vec::new() };
        let pair = rest.get(end..end + 2) == Some(b"\r\n");
        lines.push(at..at + end + 1 + usize::from(pair));
        at = lines.last().map_or(at, |line| line.end);
    }
    if at >= sample.len() { Vec::new() } else { lines }
}

/// Whether the `#` that `text` begins with belongs to the name of its first column (`#chrom`, `#,name`,
/// `# id;value`): the line has as many fields as the one below, which is no header itself.
fn names_columns(text: &[u8], rules: &Rules, whole: bool, below: Header) -> bool {
    let (mut fields, mut next) = (Vec::new(), Vec::new());
    let Step::Record(after) = record::next(text, 0, rules, whole, &mut fields) else { return false };
    record::next(text, after, rules, whole, &mut next);
    let spaced = matches!(text, [b'#', b' ' | b'#', ..]) && rules.delimiter != b' ';
    fields.len() > 1
        && fields.len() == next.len()
        && below != Header::OverValues
        && (!spaced || below == Header::None)
}

/// What is said for the first row's being a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    /// Nothing: it is data.
    None,
    /// It is text, as everything is.
    OverTexts,
    /// It is text above values of other types.
    OverValues,
}

/// Whether the first row names the columns: its cells are text where the column below is typed, or
/// everything is text. Typed cells in typed columns are data.
fn header(sample: &[u8], rules: &Rules, whole: bool, text: &'static Encoding, values: &Values) -> Header {
    let (mut at, mut fields) = (0, Vec::new());
    let mut first: Vec<String> = Vec::new();
    let mut columns: Vec<Guess> = Vec::new();
    let mut rows = 0;
    while rows < 1_000
        && let Step::Record(after) = record::next(sample, at, rules, whole, &mut fields)
    {
        let cell = |field: &Field| {
            let plain = record::unquote(sample, field, rules.quote);
            encoding::decode(text, &values.plain(&plain)).into_owned()
        };
        if rows == 0 {
            first = fields.iter().map(cell).collect();
            columns = vec![Guess::new(); first.len()];
        } else {
            columns.iter_mut().zip(&fields).for_each(|(guess, field)| guess.see(&cell(field)));
        }
        at = after;
        rows += 1;
    }
    let typed_cell = |name: &String| infer::is_typed(name);
    let named_columns = first.iter().zip(&columns).filter(|(name, _)| !name.trim().is_empty());
    let text_over_typed = named_columns.filter(|(name, guess)| guess.is_typed() && !typed_cell(name)).count();
    if text_over_typed > 0 {
        return Header::OverValues;
    }
    match first.iter().any(typed_cell) {
        true if rows > 1 && years_over_other(&first, &columns) => Header::OverValues,
        true => Header::None,
        // Nothing but text: names do not come back as data.
        false => Header::OverTexts,
    }
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
        && first.first().is_some_and(|name| !infer::is_typed(name))
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

fn comment_option(options: &Options) -> Result<Option<u8>> {
    match options.choice(&COMMENT)? {
        "none" | "" => Ok(None),
        value => one_byte(&COMMENT, value).map(Some),
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
    fn lines_before_the_table_are_skipped_where_that_is_said() {
        let with = |text: &str, list: &[(&str, &str)]| {
            let mut options = Options::default();
            list.iter().for_each(|(name, value)| options.set(name, *value));
            let found = detect(text.as_bytes(), true, false, encoding_rs::UTF_8, &options);
            found.map(|d| (text[d.skip..].to_owned(), d.rules.delimiter, d.header))
        };
        let report = "Report; of, May\r\n\r\na;b\r\n1,5;2\r\n";
        assert_eq!(with(report, &[("skip", "2")]).unwrap(), ("a;b\r\n1,5;2\r\n".into(), b';', true));
        assert_eq!(with("% x\n% y\na,b\n1,2\n", &[("comment", "%")]).unwrap().0, "a,b\n1,2\n");
        assert_eq!(with("# x\na,b\n1,2\n", &[("comment", "none")]).unwrap().0, "# x\na,b\n1,2\n");
        assert!(!with("1,5;2,5\n3,5;4,5\n", &[("decimal", "comma")]).unwrap().2, "numbers are no names");
        assert_eq!(with("a,b\n", &[("skip", "9")]).unwrap().0, "");
        assert!(with("a,b\n", &[("skip", "-1")]).is_err() && with("a,b\n", &[("comment", "//")]).is_err());
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
