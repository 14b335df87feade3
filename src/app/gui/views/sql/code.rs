//! The colours of a statement, and the names that may complete a word.

use std::ops::Range;

use egui::text::{LayoutJob, TextFormat};
use gander::query::{Engine, Known, quoted};

use crate::gui::theme::{Theme, mono_font};

const KEYWORDS: [&str; 60] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "NULL",
    "LIKE",
    "ILIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "INNER",
    "OUTER",
    "CROSS",
    "ON",
    "USING",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "DISTINCT",
    "WITH",
    "VALUES",
    "ASC",
    "DESC",
    "NULLS",
    "FIRST",
    "LAST",
    "OVER",
    "PARTITION",
    "ROWS",
    "RANGE",
    "CAST",
    "EXISTS",
    "TRUE",
    "FALSE",
    "EXPLAIN",
    "ANALYZE",
    "DESCRIBE",
    "SHOW",
    "TABLES",
    "INTERVAL",
    "FILTER",
];
/// Names that are offered at once.
const OFFERED: usize = 10;

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Keyword,
    Function,
    Text,
    Number,
    Comment,
    Other,
}

/// Cuts a statement into pieces that follow each other without gaps.
fn pieces(text: &str) -> Vec<(Range<usize>, Piece)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let until = |end: Option<usize>| end.unwrap_or(rest.len());
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let (len, piece) = if rest.starts_with("--") {
            (until(rest.find('\n')), Piece::Comment)
        } else if rest.starts_with("/*") {
            (until(rest.find("*/").map(|at| at + 2)), Piece::Comment)
        } else if first == '\'' {
            (until(rest[1..].find('\'').map(|at| at + 2)), Piece::Text)
        } else if first == '"' {
            (until(rest[1..].find('"').map(|at| at + 2)), Piece::Other)
        } else if first.is_ascii_digit() {
            (until(rest.find(|c: char| !word(c) && c != '.')), Piece::Number)
        } else if word(first) {
            let len = until(rest.find(|c: char| !word(c)));
            let upper = rest[..len].to_uppercase();
            let piece = if KEYWORDS.contains(&upper.as_str()) {
                Piece::Keyword
            } else if rest[len..].trim_start().starts_with('(') {
                Piece::Function
            } else {
                Piece::Other
            };
            (len, piece)
        } else {
            (first.len_utf8(), Piece::Other)
        };
        out.push((start..start + len, piece));
        rest = &rest[len..];
    }
    out
}

/// The statement in colours; what is `wrong` is underlined.
pub(super) fn highlighted(text: &str, theme: &Theme, wrong: Option<Range<usize>>) -> LayoutJob {
    let mut job = LayoutJob::default();
    let wrong = wrong.unwrap_or(0..0);
    for (range, piece) in pieces(text) {
        let color = match piece {
            Piece::Keyword => theme.accent,
            Piece::Function => theme.warn,
            Piece::Text => theme.string,
            Piece::Number => theme.good,
            Piece::Comment => theme.dim,
            Piece::Other => theme.text,
        };
        let mut format = TextFormat { font_id: mono_font(), color, ..TextFormat::default() };
        if range.start < wrong.end && wrong.start < range.end {
            format.underline = egui::Stroke::new(1.5, theme.bad);
        }
        job.append(text.get(range).unwrap_or_default(), 0.0, format);
    }
    job
}

/// The letters of a name before the cursor (in characters), and the byte where they begin.
pub(super) fn word_before(text: &str, cursor: usize) -> Option<(usize, String)> {
    let end = text.char_indices().nth(cursor).map_or(text.len(), |(at, _)| at);
    let before = text.get(..end)?;
    let start = before
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    let word = before.get(start..)?;
    (!word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit())).then(|| (start, word.to_owned()))
}

/// Names that begin with a word: columns, tables, then keywords and functions.
pub(super) fn choices(word: &str, known: &[Known]) -> Vec<String> {
    let wanted = word.to_lowercase();
    let fits = |name: &str| name.to_lowercase().starts_with(&wanted) && name != word;
    // A name that is no plain word stands in quotes.
    let written = |name: &str| match name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => quoted(name),
    };
    let mut out: Vec<String> = Vec::new();
    let columns = known.iter().flat_map(|table| table.columns.iter().map(|(name, _)| name.as_str()));
    for name in columns.chain(known.iter().map(|table| table.name.as_str())).filter(|name| fits(name)) {
        let name = written(name);
        if !out.contains(&name) {
            out.push(name);
        }
        if out.len() >= OFFERED {
            return out;
        }
    }
    if wanted.chars().count() >= 2 {
        out.extend(
            KEYWORDS.iter().filter(|k| fits(k) && k.to_lowercase() != wanted).map(|k| (*k).to_owned()),
        );
        out.extend(Engine::functions().iter().filter(|f| fits(f)).take(OFFERED).map(|f| format!("{f}(")));
    }
    out.truncate(OFFERED);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_statement() {
        let text = "SELECT sum(\"a b\"), 'it' -- ü\nFROM t WHERE x > 1.5 /* open";
        let pieces = pieces(text);
        let joined: String = pieces.iter().map(|(range, _)| &text[range.clone()]).collect();
        assert_eq!(joined, text);
        let of = |word: &str| pieces.iter().find(|(r, _)| &text[r.clone()] == word).map(|(_, piece)| *piece);
        assert_eq!(
            (of("SELECT"), of("sum"), of("'it'")),
            (Some(Piece::Keyword), Some(Piece::Function), Some(Piece::Text))
        );
        assert_eq!(
            (of("1.5"), of("-- ü"), of("x")),
            (Some(Piece::Number), Some(Piece::Comment), Some(Piece::Other))
        );
    }

    #[test]
    fn words_are_completed_with_columns_first() {
        assert_eq!(word_before("SELECT grö", 10), Some((7, "grö".to_owned())));
        assert_eq!(word_before("SELECT ", 7), None);
        let known = [Known {
            name: "sales-1".to_owned(),
            columns: vec![("sum total".to_owned(), arrow::datatypes::DataType::Int64)],
            rows: gander::content::Rows::Exact(1),
        }];
        let found = choices("su", &known);
        assert_eq!(found.first().map(String::as_str), Some("\"sum total\""));
        assert!(found.contains(&"sum(".to_owned()), "{found:?}");
        assert_eq!(choices("sal", &known).first().map(String::as_str), Some("\"sales-1\""));
    }
}
