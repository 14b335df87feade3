//! What is wrong with a statement, in words and with its place.

use super::blame::{self, Ground};
use crate::bytes::error::Error;
use arrow::error::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::Span;
use std::fmt;
use std::ops::Range;

/// Where in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The bytes of the statement.
    pub bytes: Range<usize>,
}

/// A mistake in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// A sentence.
    pub message: String,
    /// Where, if that is known.
    pub place: Option<Place>,
    /// The line with carets below the place; empty without one.
    pub context: String,
}

impl Mistake {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Mistake { message: message.into(), place: None, context: String::new() }
    }

    /// At a line and a column (in characters), both from 1, up to the end of the word there.
    pub(super) fn at(self, sql: &str, line: u64, column: u64) -> Self {
        let (line, column) = (line.max(1) as usize, column.max(1) as usize);
        let Some(start) = sql.split('\n').take(line - 1).map(|l| l.len() + 1).reduce(|a, b| a + b) else {
            return self.in_line(sql, 1, 0, column, None);
        };
        self.in_line(sql, line, start, column, None)
    }

    /// The same as a mistake of the text that stands behind `head`, whole lines.
    pub(super) fn behind(mut self, head: &str) -> Self {
        let moved = |place: Place| {
            let start = place.bytes.start.checked_sub(head.len())?;
            let line = place.line.saturating_sub(head.matches('\n').count()).max(1);
            Some(Place { line, bytes: start..place.bytes.end.saturating_sub(head.len()), ..place })
        };
        self.place = self.place.take().and_then(moved);
        if self.place.is_none() {
            self.context.clear();
        }
        self
    }

    /// The same as a mistake of `whole`, in which its text begins at a byte.
    pub(super) fn within(self, whole: &str, start: usize) -> Self {
        let Some(place) = &self.place else { return self };
        let before = whole.get(..start + place.bytes.start).unwrap_or(whole);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.at(whole, line as u64, column as u64)
    }

    /// At an expression, as far as it stands in one line; nowhere for one that is not in the text.
    pub(super) fn over(self, sql: &str, span: Span) -> Self {
        if span.start.line == 0 {
            return self;
        }
        let (line, column) = (span.start.line as usize, span.start.column.max(1) as usize);
        let start: usize = sql.split('\n').take(line - 1).map(|l| l.len() + 1).sum();
        let end = (span.end.line == span.start.line).then_some(span.end.column as usize);
        self.in_line(sql, line, start, column, end.filter(|end| *end > column))
    }

    /// At a column of a line that begins at the byte `start`: up to the column `end`, or the end of the word.
    fn in_line(mut self, sql: &str, line: usize, start: usize, column: usize, end: Option<usize>) -> Self {
        let text = sql.get(start..).unwrap_or_default().split('\n').next().unwrap_or_default();
        let text = text.trim_end_matches('\r');
        let before = text.char_indices().nth(column - 1).map_or(text.len(), |(at, _)| at);
        let rest = text.get(before..).unwrap_or_default();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let long = match rest.chars().next() {
            Some(_) if let Some(end) = end => {
                rest.char_indices().nth(end - column).map_or(rest.len(), |(at, _)| at)
            }
            Some(quote @ ('"' | '\'' | '`')) => {
                rest.char_indices().skip(1).find(|(_, c)| *c == quote).map_or(1, |(at, _)| at + 1)
            }
            Some(first) if word(first) => rest.find(|c: char| !word(c)).unwrap_or(rest.len()),
            Some(first) => first.len_utf8(),
            None => 0,
        };
        let begin = start + before;
        self.place = Some(Place { line, column, bytes: begin..begin + long });
        // Tabs stay tabs, so that the carets stand below their word.
        let blank: String = text.chars().take(column - 1).map(|c| if c == '\t' { c } else { ' ' }).collect();
        let carets = rest.get(..long).map_or(1, |w| w.chars().count()).max(1);
        self.context = format!("{text}\n{blank}{}", "^".repeat(carets));
        self
    }

    /// At the first place where `word` stands in the statement, alone or in quotes.
    pub(super) fn at_word(self, sql: &str, word: &str) -> Self {
        let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let folded = sql.to_ascii_lowercase();
        let wanted = word.to_ascii_lowercase();
        if wanted.is_empty() {
            return self;
        }
        let alone = |at: &usize| {
            let after = folded.get(at + wanted.len()..).unwrap_or_default();
            let before = folded.get(..*at).unwrap_or_default();
            !letter(before.chars().next_back()) && !letter(after.chars().next())
        };
        let Some(at) = folded.match_indices(&wanted).map(|(at, _)| at).find(alone) else { return self };
        let before = sql.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.at(sql, line as u64, column as u64)
    }
}

impl fmt::Display for Mistake {
    /// `line 1, column 8: there is no column "x"`, then the line with carets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => {
                write!(f, "line {}, column {}: {}\n{}", place.line, place.column, self.message, self.context)
            }
            None => f.write_str(&self.message),
        }
    }
}

/// Why a statement gives no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The statement is wrong.
    Sql(Box<Mistake>),
    /// Something could not be read or computed.
    Run(Error),
}

impl Failure {
    /// See [`Mistake::behind`].
    pub(super) fn behind(self, head: &str) -> Self {
        match self {
            Failure::Sql(mistake) => mistake.behind(head).into(),
            other => other,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Sql(mistake) => mistake.fmt(f),
            Failure::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Run(error)
    }
}

impl From<Mistake> for Failure {
    fn from(mistake: Mistake) -> Self {
        Failure::Sql(Box::new(mistake))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sql(mistake) => Error::unsupported(format!("query: {}", mistake.message)),
            Failure::Run(error) => error,
        }
    }
}

/// The parser's error: its sentence ends with ` at Line: 1, Column: 8`.
pub(super) fn of_parser(sql: &str, error: &ParserError) -> Mistake {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.clone(),
        ParserError::RecursionLimitExceeded => {
            return Mistake::new("the statement nests deeper than 50 levels");
        }
    };
    let (what, place) = match text.rsplit_once(" at Line: ") {
        Some((what, place)) => (what, place.split_once(", Column: ")),
        None => (text.as_str(), None),
    };
    let place = place.and_then(|(line, column)| Some((line.parse().ok()?, column.trim().parse().ok()?)));
    let what = blame::without_insides(what);
    let what = what.strip_prefix("Expected: ").map_or_else(
        || lowered(what),
        |rest| {
            let (wanted, found) = rest.split_once(", found: ").unwrap_or((rest, ""));
            match found {
                "" | "EOF" => format!("the statement ends where {wanted} is expected"),
                found => format!("{found} stands where {wanted} is expected"),
            }
        },
    );
    let mistake = Mistake::new(what);
    match place {
        Some((0, _)) | None => mistake.at_end(sql),
        Some((line, column)) => mistake.at(sql, line, column),
    }
}

impl Mistake {
    fn at_end(self, sql: &str) -> Self {
        let text = sql.trim_end();
        let line = text.matches('\n').count() + 1;
        let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.at(sql, line as u64, column as u64)
    }
}

/// An error of planning.
pub(super) fn of_planner(ground: &Ground<'_>, error: DataFusionError) -> Failure {
    let sql = ground.sql;
    let span = error.diagnostic().and_then(|d| d.span);
    let placed = |mistake: Mistake, word: &str| match span {
        Some(span) if span.start.line > 0 => mistake.at(sql, span.start.line, span.start.column),
        _ => mistake.at_word(sql, word),
    };
    match error.find_root() {
        DataFusionError::SQL(parser, _) => of_parser(sql, parser).into(),
        DataFusionError::SchemaError(schema, _) => {
            let (message, word) = schema_words(schema);
            placed(Mistake::new(message), &word).into()
        }
        _ if let Some((call, takes)) = unfit_call(&error.strip_backtrace()) => {
            let name = call.split('(').next().unwrap_or_default();
            placed(Mistake::new(format!("no function fits {call}; there is {takes}")), name).into()
        }
        DataFusionError::Plan(text) | DataFusionError::NotImplemented(text) => {
            let text = plainly(text);
            if let Some(mistake) = blame::of_plan(ground, &text) {
                return mistake.into();
            }
            if let Some((message, column)) = blame::ungrouped(&text) {
                return placed(Mistake::new(message), &column).into();
            }
            let word = between(&text, '\'').or_else(|| between(&text, '"')).unwrap_or_default();
            let short = blame::without_insides(&text);
            let message = blame::of_syntax(short).unwrap_or_else(|| short.to_owned());
            placed(Mistake::new(message), word).into()
        }
        _ => match of_work(ground, error) {
            Failure::Run(error) if error.kind() == crate::bytes::error::ErrorKind::Unsupported => {
                let text = error.message();
                Mistake::new(text.strip_prefix("unsupported: ").unwrap_or(&text)).into()
            }
            failure => failure,
        },
    }
}

/// An error while a query runs. What goes wrong in computing is a mistake of the statement: what is broken in
/// a file comes as an error of our own.
pub(super) fn of_work(ground: &Ground<'_>, error: DataFusionError) -> Failure {
    match computing(&error) {
        Some(text) => blame::of_values(ground, &text).into(),
        None => of_run(error).into(),
    }
}

/// The words of an error of an expression.
fn computing(error: &DataFusionError) -> Option<String> {
    if ours(error).is_some() {
        return None;
    }
    match error.find_root() {
        DataFusionError::Execution(text) => Some(plainly(text)),
        DataFusionError::ArrowError(arrow, _) => match arrow.as_ref() {
            ArrowError::CastError(text)
            | ArrowError::ParseError(text)
            | ArrowError::ComputeError(text)
            | ArrowError::ArithmeticOverflow(text) => Some(plainly(text)),
            ArrowError::DivideByZero => Some("divide by zero".to_owned()),
            ArrowError::ExternalError(inner) => expression(inner.to_string()),
            ArrowError::ParquetError(text) => predicate(text),
            _ => None,
        },
        DataFusionError::ParquetError(parquet) => predicate(&parquet.to_string()),
        DataFusionError::External(inner) => expression(inner.to_string()),
        _ => None,
    }
}

/// The words of an error about a regular expression.
fn expression(text: String) -> Option<String> {
    if text.contains("regex parse error") { Some(text) } else { predicate(&text) }
}

/// The words of an error of a condition that the reader of Parquet files looks at. It shows the error as a
/// program would: `ArrowError(CastError("…"), Some(""))`.
fn predicate(text: &str) -> Option<String> {
    let (_, shown) = text.split_once("Error evaluating filter predicate: ")?;
    if shown.contains("DivideByZero") {
        return Some("divide by zero".to_owned());
    }
    let words = shown.split_once("(\"").and_then(|(_, rest)| rest.split_once("\")"));
    Some(words.map_or_else(|| plainly(shown), |(words, _)| plainly(&words.replace("\\\"", "\""))))
}

/// A call whose arguments fit no function of its name, and what would fit.
fn unfit_call(text: &str) -> Option<(String, String)> {
    let (_, rest) = text.split_once("No function matches the given name and argument types '")?;
    let (call, rest) = rest.split_once("'. ")?;
    let (_, takes) = rest.split_once("Candidate functions:")?;
    let takes: Vec<&str> = takes.lines().map(str::trim).filter(|line| !line.is_empty()).take(6).collect();
    Some((call.to_owned(), takes.join(", ")))
}

fn schema_words(error: &SchemaError) -> (String, String) {
    let shown = |column: &Column| match &column.relation {
        Some(relation) => format!("{}.{}", relation.table(), column.name),
        None => column.name.clone(),
    };
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let mut message = format!("there is no column {:?}", shown(field));
            // Columns of our own begin with a sign that no name has.
            let valid_fields: Vec<&Column> =
                valid_fields.iter().filter(|c| !c.name.starts_with('\u{1}')).collect();
            let near = valid_fields.iter().map(|c| c.name.as_str());
            if let Some(near) = nearest(&field.name, near) {
                message.push_str(&format!("; did you mean {near:?}?"));
            } else if !valid_fields.is_empty() {
                let mut names: Vec<String> = valid_fields.iter().take(20).map(|c| shown(c)).collect();
                names.dedup();
                let more = if valid_fields.len() > 20 { ", …" } else { "" };
                message.push_str(&format!("; there are {}{more}", names.join(", ")));
            }
            (message, field.name.clone())
        }
        SchemaError::AmbiguousReference { field } => (
            format!("several tables have a column {:?}; say which: table.{}", field.name, field.name),
            field.name.clone(),
        ),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            (format!("the column {name:?} is there twice; give one another name by AS"), name.clone())
        }
    }
}

/// The name nearest to `wanted`, if one is near: a third of its letters may differ.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let long = wanted.chars().count();
    // Two letters changed places, which counts as two, in a word of four.
    let most = if long < 4 { 1 } else { (long / 3).max(2) };
    names
        .map(|name| (distance(&wanted, &name.to_lowercase()), name))
        .filter(|(far, _)| *far <= most)
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| name)
}

/// How many letters have to be put in, left out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(200).enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let best = (corner + usize::from(x != *y)).min(left + 1).min(*cell + 1);
            corner = *cell;
            *cell = best;
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

pub(super) fn between(text: &str, quote: char) -> Option<&str> {
    text.split(quote).nth(1)
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !chars.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// The engine's sentence without its prefixes and advice to its programmers.
fn plainly(text: &str) -> String {
    let mut text = text.trim();
    for prefix in ["Error during planning: ", "Execution error: ", "This feature is not implemented: "] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    let text = text.split("\nbacktrace").next().unwrap_or(text);
    let text = text.split("This was likely caused by a bug").next().unwrap_or(text);
    lowered(text.trim().trim_end_matches('.'))
}

/// An error while a query runs.
pub(super) fn of_run(error: DataFusionError) -> Error {
    if let Some(ours) = ours(&error) {
        return ours;
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(text) => {
            let first = text.lines().next().unwrap_or_default();
            Error::limit(format!("the memory for queries: {first}"))
        }
        DataFusionError::ArrowError(arrow, _) => value_error(&arrow.to_string()),
        DataFusionError::Execution(text) => value_error(text),
        DataFusionError::ParquetError(parquet) => Error::malformed(format!("Parquet data: {parquet}")),
        DataFusionError::IoError(io) => Error::io(lowered(&io.to_string())),
        DataFusionError::ExecutionJoin(join) if join.is_cancelled() => Error::cancelled(),
        DataFusionError::Internal(text) => Error::bug(format!("the query engine: {}", plainly(text))),
        other => Error::unsupported(format!("query: {}", plainly(&other.strip_backtrace()))),
    }
}

fn value_error(text: &str) -> Error {
    let text = plainly(text);
    Error::malformed(format!("value: {text}"))
}

/// Our own error inside the engine's.
fn ours(error: &DataFusionError) -> Option<Error> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    for _ in 0..32 {
        let now = at?;
        if let Some(ours) = now.downcast_ref::<Error>() {
            return Some(ours.clone());
        }
        at = match now.downcast_ref::<DataFusionError>() {
            Some(DataFusionError::External(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::ArrowError(inner, _)) => Some(inner.as_ref()),
            Some(DataFusionError::ParquetError(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner)) => {
                Some(inner.as_ref())
            }
            Some(DataFusionError::Shared(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::IoError(inner)) => inner.get_ref().map(|e| e as _),
            Some(_) => None,
            None => match now.downcast_ref::<arrow::error::ArrowError>() {
                Some(arrow::error::ArrowError::ExternalError(inner)) => Some(inner.as_ref()),
                Some(_) => None,
                None => match now.downcast_ref::<::parquet::errors::ParquetError>() {
                    Some(::parquet::errors::ParquetError::External(inner)) => Some(inner.as_ref()),
                    _ => now.source(),
                },
            },
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_lines_columns_and_carets() {
        let mistake = Mistake::new("x").at("SELECT a,\n  größe FROM t", 2, 3);
        assert_eq!(mistake.context, "  größe FROM t\n  ^^^^^");
        assert_eq!(mistake.place, Some(Place { line: 2, column: 3, bytes: 12..19 }));
        let word = Mistake::new("x").at_word("SELECT ab, b FROM t", "b");
        assert_eq!(word.place.unwrap().column, 12);
    }

    #[test]
    fn names_that_were_mistyped() {
        assert_eq!(nearest("prise", ["id", "price", "name"].into_iter()), Some("price"));
        assert_eq!(nearest("zzz", ["id", "price"].into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
