//! The pieces of a text of statements, and their colours.

use std::ops::Range;

use egui::text::{LayoutJob, TextFormat};

use crate::gui::theme::{Theme, mono_font};

/// The words of the language.
pub(super) const KEYWORDS: [&str; 80] = [
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
    "RECURSIVE",
    "LATERAL",
    "QUALIFY",
    "UNNEST",
    "SEMI",
    "ANTI",
    "NATURAL",
    "ESCAPE",
    "SIMILAR",
    "TO",
    "UNBOUNDED",
    "PRECEDING",
    "FOLLOWING",
    "CURRENT",
    "ROW",
    "WINDOW",
    "FETCH",
    "ONLY",
    "COLUMNS",
    "FUNCTIONS",
];

/// Whether a name has to stand in quotes because it is a word of the language.
pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(name))
}

/// A piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Keyword,
    Function,
    Text,
    Number,
    Comment,
    Other,
}

/// Cuts a statement into pieces that follow each other without gaps.
pub(super) fn pieces(text: &str) -> Vec<(Range<usize>, Piece)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let until = |end: Option<usize>| end.unwrap_or(rest.len());
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let (len, piece) = if rest.starts_with("--") {
            (until(rest.find('\n')), Piece::Comment)
        } else if let Some(inside) = rest.strip_prefix("/*") {
            (until(inside.find("*/").map(|at| at + 4)), Piece::Comment)
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

/// The text in colours, in lines of this width; what is `wrong` is underlined.
pub(crate) fn highlighted(text: &str, theme: &Theme, wrong: Option<Range<usize>>, width: f32) -> LayoutJob {
    let mut job = LayoutJob::default();
    job.wrap.max_width = width;
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
}
