//! Values that cannot be computed: which expression of the statement it is.

use super::{Located, Scope, SqlDiagnostic, first, is_text, literal, sentence};
use crate::bytes::display::arrow_type;
use crate::query::statement::one;
use arrow::array::{Array, ArrayRef, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use datafusion::logical_expr::Operator;
use datafusion::sql::sqlparser::ast::{AccessExpr, BinaryOperator, CastKind, Expr, Spanned, Statement};
use std::mem::discriminant;
use std::sync::Arc;

/// An expression that could not be computed while a query ran.
#[derive(Clone, Debug)]
pub(in crate::query) struct ExpressionError {
    pub(in crate::query) cause: Cause,
    /// The engine's sentence.
    message: String,
}

/// What an expression could not do.
#[derive(Clone, Debug)]
pub(in crate::query) enum Cause {
    /// Make a value one of another type.
    Cast {
        /// The column whose values are cast, where it is one.
        column: Option<String>,
        /// The first value that does not fit.
        value: Option<String>,
        to: Option<DataType>,
    },
    /// Divide whole numbers by zero.
    DivideByZero,
    /// Hold a result in its type.
    Overflow(Option<Operator>),
    /// Call a function, which has these names.
    Call(Vec<String>),
    /// Take one value of a subquery, which has several rows.
    ManyRows,
    /// Something else.
    Other,
}

impl ExpressionError {
    /// What was wrong, and with which error of the engine.
    pub(in crate::query) fn new(cause: Cause, error: &DataFusionError) -> Self {
        let root = error.find_root();
        ExpressionError { cause: kind_of(root).unwrap_or(cause), message: sentence(root) }
    }

    /// A subquery with several rows where one value is needed.
    pub(in crate::query) fn many_rows() -> Self {
        let message = "a subquery gives several rows where one value is needed".to_owned();
        ExpressionError { cause: Cause::ManyRows, message }
    }

    /// What an error of the engine says of an expression by its kind; `None` for errors of other things.
    pub(super) fn of_engine(root: &DataFusionError) -> Option<Self> {
        let cause = match root {
            // Errors of other libraries that functions use, such as that for regular expressions.
            DataFusionError::Execution(_) | DataFusionError::External(_) => Cause::Other,
            DataFusionError::ArrowError(arrow, _) => match arrow.as_ref() {
                ArrowError::CastError(_) | ArrowError::ParseError(_) => {
                    Cause::Cast { column: None, value: None, to: None }
                }
                ArrowError::ComputeError(_) | ArrowError::ExternalError(_) => Cause::Other,
                _ => kind_of(root)?,
            },
            _ => return None,
        };
        Some(ExpressionError { cause, message: sentence(root) })
    }
}

/// What an error of arithmetic is by its own kind, but for the operator.
fn kind_of(root: &DataFusionError) -> Option<Cause> {
    let DataFusionError::ArrowError(arrow, _) = root else { return None };
    match arrow.as_ref() {
        ArrowError::DivideByZero => Some(Cause::DivideByZero),
        _ => None,
    }
}

/// Says what could not be computed, with its place in the statement.
pub(super) fn diagnosed(scope: &Scope<'_>, failed: &ExpressionError) -> SqlDiagnostic {
    let plain = || SqlDiagnostic::new(failed.message.clone());
    let Ok(statement) = one(scope.sql) else { return plain() };
    let found = match &failed.cause {
        Cause::Cast { column, value, to } => unfit_text(scope, &statement, value.as_deref())
            .or_else(|| unfit_value(scope, &statement, column.as_deref(), value.as_deref(), to.as_ref())),
        Cause::DivideByZero => division(&statement),
        Cause::Overflow(operator) => overflow(&statement, *operator, &failed.message),
        Cause::Call(names) => pattern(&statement)
            .or_else(|| field(scope, &statement))
            .or_else(|| call(&statement, names, &failed.message)),
        Cause::ManyRows => subquery(&statement),
        Cause::Other => pattern(&statement).or_else(|| field(scope, &statement)),
    };
    match found {
        Some((message, span)) => SqlDiagnostic::new(message).over(scope.sql, span),
        None => plain(),
    }
}

/// The sides of a comparison.
fn compared(expr: &Expr) -> Option<Vec<&Expr>> {
    Some(match expr {
        Expr::BinaryOp { left, op, right } if !joins(op) => vec![left, right],
        Expr::InList { expr, list, .. } => std::iter::once(expr.as_ref()).chain(list).collect(),
        Expr::Between { expr, low, high, .. } => vec![expr, low, high],
        _ => return None,
    })
}

/// Whether an operator takes conditions or texts.
fn joins(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::StringConcat)
}

/// Whether a text can be read as a value of a type.
fn can_be(text: &str, data_type: &DataType) -> bool {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let options = CastOptions { safe: true, ..CastOptions::default() };
    cast_with_options(&texts, data_type, &options).is_ok_and(|cast| cast.is_valid(0))
}

/// A text in the statement that is compared with a column, or cast, and is no value of that type.
fn unfit_text(scope: &Scope<'_>, statement: &Statement, value: Option<&str>) -> Option<Located> {
    let said = |text: &str, to: &DataType| {
        format!("the text {} cannot be read as {}", crate::query::text_literal(text), arrow_type(to))
    };
    first(statement, |expr| {
        if let Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } = expr {
            let (text, span) = literal(expr)?;
            let to = types().find(|(_, names)| names.contains(&&*data_type.to_string().to_uppercase()))?.0;
            return (!can_be(text, &to)).then(|| (said(text, &to), span));
        }
        let sides = compared(expr)?;
        let column = sides.iter().find_map(|side| scope.column(side))?;
        let data_type = column.data_type();
        let unfit = |text: &str| match value {
            Some(value) => value == text,
            None => !can_be(text, data_type),
        };
        let texts = sides.iter().filter_map(|side| literal(side));
        let (text, span) = texts.filter(|_| !is_text(data_type)).find(|(text, _)| unfit(text))?;
        Some((said(text, data_type), span))
    })
}

/// A value of a column that is cast, or of a text column that is compared with something else.
fn unfit_value(
    scope: &Scope<'_>,
    statement: &Statement,
    column: Option<&str>,
    value: Option<&str>,
    to: Option<&DataType>,
) -> Option<Located> {
    let shown = to.map_or_else(|| "a value of that type".to_owned(), arrow_type);
    let value = value.map_or_else(|| "a value".to_owned(), |value| format!("the value {value:?}"));
    let message =
        |of: &str| format!("{value}{of} cannot be read as {shown}; TRY_CAST gives null for such values");
    let is = |data_type: &DataType| to.is_some_and(|to| discriminant(to) == discriminant(data_type));
    let names = types().find(|(data_type, _)| is(data_type)).map_or(&[][..], |(_, names)| names);
    let is_column = |expr: &Expr| {
        let name = scope.column(expr).map(|field| field.name().as_str());
        column.is_none() || name == column
    };
    let cast = |same: bool| {
        first(statement, |expr| match expr {
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
                let is = names.contains(&&*data_type.to_string().to_uppercase()) && is_column(expr);
                (is || !same).then(|| (message(""), expr.span()))
            }
            _ => None,
        })
    };
    let comparison = || {
        first(statement, |expr| {
            let sides = compared(expr)?;
            let text = sides.iter().find_map(|side| scope.text_column(side).filter(|_| is_column(side)))?;
            let other = sides.iter().any(|side| !scope.is_text(side));
            other.then(|| (message(&format!(" of the text column {}", text.name())), expr.span()))
        })
    };
    cast(true).or_else(comparison).or_else(|| cast(false))
}

/// Types, and what statements call them.
fn types() -> impl Iterator<Item = (DataType, &'static [&'static str])> {
    let all: [(DataType, &[&str]); 9] = [
        (DataType::Int8, &["TINYINT"]),
        (DataType::Int16, &["SMALLINT"]),
        (DataType::Int32, &["INT", "INTEGER"]),
        (DataType::Int64, &["BIGINT"]),
        (DataType::Float32, &["REAL", "FLOAT"]),
        (DataType::Float64, &["DOUBLE", "DOUBLE PRECISION"]),
        (DataType::Boolean, &["BOOLEAN", "BOOL"]),
        (DataType::Date32, &["DATE"]),
        (DataType::Timestamp(TimeUnit::Nanosecond, None), &["TIMESTAMP"]),
    ];
    all.into_iter()
}

fn division(statement: &Statement) -> Option<Located> {
    let zero = |expr: &Expr| matches!(expr, Expr::Value(v) if v.value.to_string() == "0");
    let divisor = |certain: bool| {
        first(statement, |expr| match expr {
            Expr::BinaryOp { op: BinaryOperator::Divide | BinaryOperator::Modulo, right, .. } => {
                let is = if certain { zero(right) } else { !matches!(right.as_ref(), Expr::Value(_)) };
                is.then(|| right.span())
            }
            _ => None,
        })
    };
    let span = divisor(true).or_else(|| divisor(false))?;
    Some(("divide by zero: whole numbers have no such quotient; NULLIF(x, 0) makes it null".to_owned(), span))
}

fn overflow(statement: &Statement, operator: Option<Operator>, message: &str) -> Option<Located> {
    let is = |op: &BinaryOperator| match op {
        BinaryOperator::Plus => operator.is_none_or(|op| op == Operator::Plus),
        BinaryOperator::Minus => operator.is_none_or(|op| op == Operator::Minus),
        BinaryOperator::Multiply => operator.is_none_or(|op| op == Operator::Multiply),
        BinaryOperator::Divide => operator == Some(Operator::Divide),
        _ => false,
    };
    let span = first(statement, |expr| match expr {
        Expr::BinaryOp { op, .. } if is(op) => Some(expr.span()),
        _ => None,
    })?;
    Some((format!("{message}: the result is too large for its type; cast to a wider one before"), span))
}

fn subquery(statement: &Statement) -> Option<Located> {
    let span = first(statement, |expr| match expr {
        Expr::Subquery(query) => Some(query.span()),
        _ => None,
    })?;
    Some(("this subquery gives several rows where one value is needed".to_owned(), span))
}

/// A field of a column that has none: `name.x`.
pub(super) fn field(scope: &Scope<'_>, statement: &Statement) -> Option<Located> {
    first(statement, |expr| {
        let (column, inner) = match expr {
            Expr::CompoundIdentifier(parts) => {
                let behind = parts.windows(2).find_map(|pair| match pair {
                    [column, inner] => scope.named(&column.value).zip(Some(&inner.value)),
                    _ => None,
                })?;
                (behind.0, format!(" {:?}", behind.1))
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                let inner = match access_chain.first()? {
                    AccessExpr::Dot(Expr::Identifier(ident)) => format!(" {:?}", ident.value),
                    _ => String::new(),
                };
                (scope.column(root)?, inner)
            }
            _ => return None,
        };
        (!column.data_type().is_nested()).then(|| {
            let what = format!("{} is of type {}", column.name(), arrow_type(column.data_type()));
            (format!("{what} and has no field{inner}"), expr.span())
        })
    })
}

/// A regular expression that is none, as a text of the statement.
fn pattern(statement: &Statement) -> Option<Located> {
    use BinaryOperator::{PGRegexIMatch, PGRegexMatch, PGRegexNotIMatch, PGRegexNotMatch};
    let wrong = |expr: &Expr| {
        let (pattern, span) = literal(expr)?;
        let why = match regex_syntax::parse(pattern) {
            Err(regex_syntax::Error::Parse(error)) => error.kind().to_string(),
            Err(regex_syntax::Error::Translate(error)) => error.kind().to_string(),
            Err(other) => other.to_string(),
            // Sound, but too large.
            Ok(_) => regex::Regex::new(pattern).err()?.to_string(),
        };
        Some((format!("the regular expression {pattern:?}: {why}"), span))
    };
    first(statement, |expr| match expr {
        Expr::BinaryOp {
            op: PGRegexMatch | PGRegexIMatch | PGRegexNotMatch | PGRegexNotIMatch,
            right,
            ..
        } => wrong(right),
        Expr::Function(call) if call.name.to_string().to_lowercase().starts_with("regexp_") => {
            // The pattern is the second argument of each of them.
            super::arguments(call).nth(1).and_then(wrong)
        }
        _ => None,
    })
}

/// The call of a function.
fn call(statement: &Statement, names: &[String], message: &str) -> Option<Located> {
    let span = first(statement, |expr| match expr {
        Expr::Function(call) if names.contains(&call.name.to_string().to_lowercase()) => Some(expr.span()),
        _ => None,
    })?;
    Some((message.to_owned(), span))
}
