//! What is wrong with a statement: a sentence and its place.
//!
//! The engine's errors are told apart by their kinds, their spans and, where values are computed, by the expression
//! that failed; never by their sentences, which are shown as they are where nothing better is known. [`planning`]
//! looks a statement through for what the planner refuses, [`values`] for the expression that could not be computed.

mod planning;
mod values;

pub(super) use values::{Cause, ExpressionError};

use crate::bytes::error::{Error, ErrorKind};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::execution::context::SessionState;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, Visit, visit_expressions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{
    Location, Span, Token, TokenWithSpan, Tokenizer, TokenizerError,
};
use std::fmt;
use std::ops::ControlFlow;
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
pub struct SqlDiagnostic {
    /// A sentence.
    pub message: String,
    /// Where, if that is known.
    pub place: Option<Place>,
    /// The line with carets below the place; empty without one.
    pub context: String,
}

impl SqlDiagnostic {
    pub(super) fn new(message: impl Into<String>) -> Self {
        SqlDiagnostic { message: message.into(), place: None, context: String::new() }
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

impl fmt::Display for SqlDiagnostic {
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

/// A statement and the columns of the tables that it reads: what names in it mean.
pub(super) struct Scope<'a> {
    pub(super) sql: &'a str,
    pub(super) schemas: &'a [SchemaRef],
}

impl Scope<'_> {
    /// The column that an expression is.
    fn column(&self, expr: &Expr) -> Option<&FieldRef> {
        let name = match expr {
            Expr::Identifier(ident) => &ident.value,
            Expr::CompoundIdentifier(parts) => &parts.last()?.value,
            Expr::Nested(inner) => return self.column(inner),
            _ => return None,
        };
        self.named(name)
    }

    fn named(&self, name: &str) -> Option<&FieldRef> {
        let fields = || self.schemas.iter().flat_map(|schema| schema.fields());
        fields().find(|f| f.name() == name).or_else(|| {
            let name = name.to_lowercase();
            fields().find(|f| f.name().to_lowercase() == name)
        })
    }

    /// Whether an expression is a text or a column of texts.
    fn is_text(&self, expr: &Expr) -> bool {
        literal(expr).is_some() || self.text_column(expr).is_some()
    }

    fn text_column(&self, expr: &Expr) -> Option<&FieldRef> {
        self.column(expr).filter(|field| is_text(field.data_type()))
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// What is wrong, and the expression that it is about.
type Located = (String, Span);

/// A text in quotes.
fn literal(expr: &Expr) -> Option<(&str, Span)> {
    let value = match expr {
        Expr::Value(value) => value,
        Expr::TypedString(typed) => &typed.value,
        _ => return None,
    };
    match &value.value {
        Value::SingleQuotedString(text) => Some((text.as_str(), value.span)),
        _ => None,
    }
}

/// The first expression that `wanted` gives something for.
fn first<T>(of: &impl Visit, mut wanted: impl FnMut(&Expr) -> Option<T>) -> Option<T> {
    visit_expressions(of, |expr| wanted(expr).map_or(ControlFlow::Continue(()), ControlFlow::Break))
        .break_value()
}

/// The arguments of a call.
fn arguments(call: &Function) -> impl Iterator<Item = &Expr> {
    let list = match &call.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

/// Why a statement gives no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The statement is wrong.
    Sql(Box<SqlDiagnostic>),
    /// Something could not be read or computed.
    Run(Error),
}

impl Failure {
    /// See [`SqlDiagnostic::behind`].
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

impl From<SqlDiagnostic> for Failure {
    fn from(mistake: SqlDiagnostic) -> Self {
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

/// Parses the tokens of a statement by `parse`.
///
/// # Errors
/// The parser's sentence, at the token that it is about.
pub(super) fn parsed<T>(
    sql: &str,
    tokens: &[TokenWithSpan],
    parse: impl Fn(&mut Parser) -> Result<T, ParserError>,
) -> Result<T, SqlDiagnostic> {
    let dialect = GenericDialect {};
    let run = |tokens: &[TokenWithSpan]| {
        let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens.to_vec());
        parse(&mut parser).map_err(|error| (error, parser.index()))
    };
    run(tokens).map_err(|(error, index)| {
        let text = match &error {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
            ParserError::RecursionLimitExceeded => {
                return SqlDiagnostic::new("the statement nests deeper than 50 levels");
            }
        };
        // The parser does not say which token does not fit: the last one that it took, or the one behind it. Where it
        // never saw the one behind, the error is the same with another one there.
        let before = tokens.get(..index).unwrap_or(tokens);
        let nowhere = Location::new(u64::MAX, 1);
        let other = TokenWithSpan::new(Token::EOF, Span::new(nowhere, nowhere));
        let is_last = run(&[before, &[other]].concat()).is_err_and(|(again, _)| again == error);
        let solid = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
        let found = match is_last {
            true => before.iter().rev().find(solid),
            false => tokens.get(index..).and_then(|rest| rest.iter().find(solid)),
        };
        let Some(found) = found.filter(|found| found.token != Token::EOF) else {
            let text = without_place(text, Location::empty());
            return SqlDiagnostic::new(format!("the statement ends where something is missing: {text}"))
                .at_end(sql);
        };
        let start = found.span.start;
        SqlDiagnostic::new(without_place(text, start)).at(sql, start.line, start.column)
    })
}

/// The tokens of a statement.
///
/// # Errors
/// What is no token, such as a text without its last quote.
pub(super) fn tokens(sql: &str) -> Result<Vec<TokenWithSpan>, SqlDiagnostic> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location();
    tokens.map_err(|TokenizerError { message, location }| {
        SqlDiagnostic::new(message).at(sql, location.line, location.column)
    })
}

/// The parser's sentence without the place behind it, which is shown by carets.
fn without_place(text: &str, place: Location) -> String {
    lowered(text.strip_suffix(&place.to_string()).unwrap_or(text))
}

impl SqlDiagnostic {
    fn at_end(self, sql: &str) -> Self {
        let text = sql.trim_end();
        let line = text.matches('\n').count() + 1;
        let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.at(sql, line as u64, column as u64)
    }
}

/// An error of planning, in a session in which expressions can be planned.
pub(super) fn of_planner(scope: &Scope<'_>, session: &SessionState, error: DataFusionError) -> Failure {
    let sql = scope.sql;
    let span = error.diagnostic().and_then(|d| d.span).filter(|span| span.start.line > 0);
    let placed = |diagnostic: SqlDiagnostic| match span {
        Some(span) => diagnostic.at(sql, span.start.line, span.start.column),
        None => diagnostic,
    };
    match error.find_root() {
        DataFusionError::SchemaError(schema, _) => {
            let (message, column) = schema_words(schema);
            let diagnostic = placed(SqlDiagnostic::new(message));
            if diagnostic.place.is_none() { diagnostic.at_word(sql, &column) } else { diagnostic }.into()
        }
        DataFusionError::Plan(text) | DataFusionError::NotImplemented(text) => {
            let found = planning::diagnosed(scope, session);
            found.unwrap_or_else(|| placed(SqlDiagnostic::new(lowered(text)))).into()
        }
        root => {
            let text = sentence(root);
            match of_work(scope, error, None) {
                Failure::Run(error) if error.kind() == ErrorKind::Unsupported => {
                    placed(SqlDiagnostic::new(text)).into()
                }
                failure => failure,
            }
        }
    }
}

/// An error while a query runs, and the expression that `failed` first, if one did: that is an error of the
/// statement. What is broken in a file comes as an error of our own.
pub(super) fn of_work(
    scope: &Scope<'_>,
    error: DataFusionError,
    failed: Option<&ExpressionError>,
) -> Failure {
    if ours(&error).is_some() {
        return of_run(error).into();
    }
    let of_values = match error.find_root() {
        DataFusionError::ResourcesExhausted(_)
        | DataFusionError::IoError(_)
        | DataFusionError::ExecutionJoin(_) => None,
        root => failed.cloned().or_else(|| ExpressionError::of_engine(root)),
    };
    match of_values {
        Some(failed) => values::diagnosed(scope, &failed).into(),
        None => of_run(error).into(),
    }
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

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !chars.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// The engine's own sentence of an error, without the name of the error's kind before it.
fn sentence(error: &DataFusionError) -> String {
    match error {
        DataFusionError::Execution(text)
        | DataFusionError::Plan(text)
        | DataFusionError::NotImplemented(text)
        | DataFusionError::Configuration(text)
        | DataFusionError::Internal(text) => lowered(text),
        DataFusionError::ArrowError(arrow, _) => match arrow.as_ref() {
            ArrowError::CastError(text)
            | ArrowError::ParseError(text)
            | ArrowError::ComputeError(text)
            | ArrowError::InvalidArgumentError(text)
            | ArrowError::ArithmeticOverflow(text) => lowered(text),
            ArrowError::ExternalError(inner) => lowered(&inner.to_string()),
            other => lowered(&other.to_string()),
        },
        DataFusionError::External(inner) => lowered(&inner.to_string()),
        other => lowered(&other.strip_backtrace()),
    }
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
        root @ (DataFusionError::ArrowError(..) | DataFusionError::Execution(_)) => {
            Error::malformed(format!("value: {}", sentence(root)))
        }
        DataFusionError::ParquetError(parquet) => Error::malformed(format!("Parquet data: {parquet}")),
        DataFusionError::IoError(io) => Error::io(lowered(&io.to_string())),
        DataFusionError::ExecutionJoin(join) if join.is_cancelled() => Error::cancelled(),
        DataFusionError::Internal(text) => Error::bug(format!("the query engine: {}", lowered(text))),
        other => Error::unsupported(format!("query: {}", sentence(other))),
    }
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
        let mistake = SqlDiagnostic::new("x").at("SELECT a,\n  größe FROM t", 2, 3);
        assert_eq!(mistake.context, "  größe FROM t\n  ^^^^^");
        assert_eq!(mistake.place, Some(Place { line: 2, column: 3, bytes: 12..19 }));
        let word = SqlDiagnostic::new("x").at_word("SELECT ab, b FROM t", "b");
        assert_eq!(word.place.unwrap().column, 12);
    }

    #[test]
    fn names_that_were_mistyped() {
        assert_eq!(nearest("prise", ["id", "price", "name"].into_iter()), Some("price"));
        assert_eq!(nearest("zzz", ["id", "price"].into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
