//! What in a statement an error of the engine is about, where the engine itself does not say it: the
//! statement is looked through for the expression that fits the engine's words and the columns' types.

use super::fault::{Mistake, between};
use super::statement::one;
use crate::bytes::display::arrow_type;
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, Expr, LimitClause, OrderByKind, Query, Select, Spanned, Statement,
    Value, Visit, Visitor, visit_expressions,
};
use datafusion::sql::sqlparser::tokenizer::Span;
use std::ops::ControlFlow;

/// A statement and the columns of the tables that it reads.
pub(super) struct Ground<'a> {
    pub(super) sql: &'a str,
    pub(super) schemas: &'a [SchemaRef],
}

/// A sentence, and of which expression it is.
type Blame = (String, Span);

impl Ground<'_> {
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
        let text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        self.column(expr).filter(|field| text(field.data_type()))
    }
}

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

/// Where a text stands in the statement.
fn place_of(statement: &Statement, text: &str) -> Option<Span> {
    first(statement, |expr| literal(expr).filter(|(t, _)| *t == text).map(|(_, span)| span))
}

/// A mistake that shows only when values are computed: a text that is no number, a division by zero.
pub(super) fn of_values(ground: &Ground<'_>, text: &str) -> Mistake {
    let Ok(statement) = one(ground.sql) else { return Mistake::new(text) };
    let found = unfit_value(ground, &statement, text)
        .or_else(|| division(&statement, text))
        .or_else(|| overflow(&statement, text))
        .or_else(|| subquery(&statement, text))
        .or_else(|| field(ground, &statement, text))
        .or_else(|| pattern(&statement, text))
        .or_else(|| of_function(&statement, text));
    if let Some((message, span)) = found {
        return Mistake::new(message).over(ground.sql, span);
    }
    let words = without_insides(text);
    let words = ["cast error: ", "compute error: ", "parser error: ", "execution error: "]
        .iter()
        .fold(words, |words, prefix| words.strip_prefix(prefix).unwrap_or(words));
    let mistake = Mistake::new(words);
    // What it quotes may stand in the statement.
    let quoted = [between(words, '\''), between(words, '"')];
    match quoted.iter().flatten().find_map(|text| place_of(&statement, text)) {
        Some(span) => mistake.over(ground.sql, span),
        None => mistake,
    }
}

/// `Cannot cast string 'x' to value of Int64 type`, `Can't cast value 300 to type Int8`.
fn unfit_value(ground: &Ground<'_>, statement: &Statement, text: &str) -> Option<Blame> {
    let (value, wanted) = match text.split_once("annot cast string '") {
        Some((_, rest)) => rest.rsplit_once("' to value of ")?,
        None => text.split_once("an't cast value ")?.1.rsplit_once(" to type ")?,
    };
    let wanted = wanted.trim_end_matches(" type");
    let wanted: Option<DataType> = wanted.parse().ok();
    let shown = wanted.as_ref().map_or_else(|| "a value of that type".to_owned(), arrow_type);
    if let Some(span) = place_of(statement, value) {
        return Some((format!("the text '{value}' cannot be read as {shown}"), span));
    }
    let message = |of: &str| {
        format!("the value {value:?}{of} cannot be read as {shown}; TRY_CAST gives null for such values")
    };
    let cast = |same: bool| {
        first(statement, |expr| match expr {
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
                let name = data_type.to_string().to_uppercase();
                let is = !same || wanted.as_ref().is_some_and(|wanted| sql_names(wanted).contains(&&*name));
                is.then(|| (message(""), expr.span()))
            }
            _ => None,
        })
    };
    let compared = || {
        first(statement, |expr| {
            let sides: Vec<&Expr> = match expr {
                Expr::BinaryOp { left, op, right } if !joins(op) => vec![left, right],
                Expr::InList { expr, list, .. } => std::iter::once(expr.as_ref()).chain(list).collect(),
                Expr::Between { expr, low, high, .. } => vec![expr, low, high],
                _ => return None,
            };
            let column = sides.iter().find_map(|side| ground.text_column(side))?;
            let other = sides.iter().any(|side| !ground.is_text(side));
            other.then(|| (message(&format!(" of the text column {}", column.name())), expr.span()))
        })
    };
    cast(true).or_else(compared).or_else(|| cast(false))
}

/// Whether an operator takes conditions or texts.
fn joins(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::StringConcat)
}

/// What statements call a type.
fn sql_names(data_type: &DataType) -> &'static [&'static str] {
    match data_type {
        DataType::Int8 => &["TINYINT"],
        DataType::Int16 => &["SMALLINT"],
        DataType::Int32 => &["INT", "INTEGER"],
        DataType::Int64 => &["BIGINT"],
        DataType::Float32 => &["REAL", "FLOAT"],
        DataType::Float64 => &["DOUBLE", "DOUBLE PRECISION"],
        DataType::Boolean => &["BOOLEAN", "BOOL"],
        DataType::Date32 => &["DATE"],
        DataType::Timestamp(..) => &["TIMESTAMP"],
        _ => &[],
    }
}

fn division(statement: &Statement, text: &str) -> Option<Blame> {
    if !text.to_lowercase().contains("divide by zero") {
        return None;
    }
    let zero = |expr: &Expr| matches!(expr, Expr::Value(v) if v.value.to_string() == "0");
    let divisor = |certain: bool| {
        first(statement, |expr| match expr {
            Expr::BinaryOp { left: _, op: BinaryOperator::Divide | BinaryOperator::Modulo, right } => {
                let is = if certain { zero(right) } else { !matches!(right.as_ref(), Expr::Value(_)) };
                is.then(|| right.span())
            }
            _ => None,
        })
    };
    let span = divisor(true).or_else(|| divisor(false))?;
    Some(("divide by zero: whole numbers have no such quotient; NULLIF(x, 0) makes it null".to_owned(), span))
}

/// `Overflow happened on: 9 * 9`.
fn overflow(statement: &Statement, text: &str) -> Option<Blame> {
    let what = text.split_once("verflow happened on: ")?.1.trim();
    let sign = what.split_whitespace().nth(1)?;
    let is = |expr: &Expr| match expr {
        Expr::BinaryOp { op, .. } if op.to_string() == sign => Some(expr.span()),
        _ => None,
    };
    Some((format!("{what} is too large for its type; cast to a wider one before"), first(statement, is)?))
}

fn subquery(statement: &Statement, text: &str) -> Option<Blame> {
    let is = |expr: &Expr| match expr {
        Expr::Subquery(query) => Some(query.span()),
        _ => None,
    };
    if !text.to_lowercase().contains("scalar subquery returned more than one row") {
        return None;
    }
    Some(("this subquery gives several rows where one value is needed".to_owned(), first(statement, is)?))
}

/// A field of a column that has none: `name.x`.
fn field(ground: &Ground<'_>, statement: &Statement, text: &str) -> Option<Blame> {
    if !text.contains("cannot access field") {
        return None;
    }
    first(statement, |expr| {
        let (column, inner) = match expr {
            Expr::CompoundIdentifier(parts) => {
                let behind = parts.windows(2).find_map(|pair| match pair {
                    [column, inner] => ground.named(&column.value).zip(Some(&inner.value)),
                    _ => None,
                })?;
                (behind.0, format!(" {:?}", behind.1))
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                let inner = match access_chain.first()? {
                    AccessExpr::Dot(Expr::Identifier(ident)) => format!(" {:?}", ident.value),
                    _ => String::new(),
                };
                (ground.column(root)?, inner)
            }
            _ => return None,
        };
        (!column.data_type().is_nested()).then(|| {
            let what = format!("{} is of type {}", column.name(), arrow_type(column.data_type()));
            (format!("{what} and has no field{inner}"), expr.span())
        })
    })
}

/// A regular expression that is none.
fn pattern(statement: &Statement, text: &str) -> Option<Blame> {
    let (_, rest) = text.split_once("regex parse error:")?;
    let pattern = rest.lines().map(str::trim).find(|line| !line.is_empty())?;
    let why = rest.lines().find_map(|line| line.trim().strip_prefix("error: "))?;
    Some((format!("the regular expression {pattern:?}: {why}"), place_of(statement, pattern)?))
}

/// Words by which errors of functions are known, and how the functions' names begin.
const FUNCTIONS: [(&str, &str); 5] = [
    ("square root", "sqrt"),
    ("logarithm", "l"),
    ("parsing timestamp", "to_timestamp"),
    ("parsing date", "to_date"),
    ("factorial", "factorial"),
];

fn of_function(statement: &Statement, text: &str) -> Option<Blame> {
    let folded = text.to_lowercase();
    let (_, begin) = FUNCTIONS.iter().find(|(words, _)| folded.contains(words))?;
    let span = first(statement, |expr| match expr {
        Expr::Function(call) if call.name.to_string().to_lowercase().starts_with(begin) => Some(expr.span()),
        _ => None,
    })?;
    let words = text.rsplit_once("rror: ").map_or(text, |(_, words)| words);
    Some((words.to_owned(), span))
}

/// A mistake that the engine finds in planning and gives no place, by its words.
pub(super) fn of_plan(ground: &Ground<'_>, text: &str) -> Option<Mistake> {
    let statement = one(ground.sql).ok()?;
    let found = aggregate(&statement, text)
        .or_else(|| limit(&statement, text))
        .or_else(|| condition(ground, &statement, text))
        .or_else(|| order(&statement, text));
    found.map(|(message, span)| Mistake::new(message).over(ground.sql, span))
}

/// A column that is not grouped by: a sentence, and the column.
pub(super) fn ungrouped(text: &str) -> Option<(String, String)> {
    let (_, rest) =
        text.split_once("column \"").filter(|_| text.contains("must appear in the GROUP BY clause"))?;
    let column = rest.split('"').next()?.rsplit('.').next()?.to_owned();
    let what = format!("{column:?} has to stand in GROUP BY or in an aggregate function, as max(…)");
    Some((what, column))
}

fn aggregate(statement: &Statement, text: &str) -> Option<Blame> {
    struct Look(Vec<String>);
    impl Visitor for Look {
        type Break = Blame;

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Blame> {
            let Some(condition) = &select.selection else { return ControlFlow::Continue(()) };
            let call = first(condition, |expr| match expr {
                Expr::Function(call) if self.0.contains(&call.name.to_string().to_lowercase()) => {
                    Some((call.name.to_string(), expr.span()))
                }
                _ => None,
            });
            call.map_or(ControlFlow::Continue(()), |(name, span)| {
                let what = format!("{name} is of many rows, WHERE looks at one: conditions on it stand");
                ControlFlow::Break((format!("{what} in HAVING, behind GROUP BY"), span))
            })
        }
    }
    if !text.contains("ggregate functions are not allowed in the WHERE") {
        return None;
    }
    statement.visit(&mut Look(super::plan::aggregates())).break_value()
}

/// `LIMIT 'x'`.
fn limit(statement: &Statement, text: &str) -> Option<Blame> {
    struct Look(bool);
    impl Visitor for Look {
        type Break = Blame;

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Blame> {
            let (limit, offset) = match &query.limit_clause {
                Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                    (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
                }
                Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
                None => (None, None),
            };
            let (word, given) = if self.0 { ("LIMIT", limit) } else { ("OFFSET", offset) };
            // A number is what it takes: another query has the mistake.
            let wrong =
                given.filter(|e| !matches!(e, Expr::Value(v) if matches!(v.value, Value::Number(..))));
            wrong.map_or(ControlFlow::Continue(()), |expr| {
                ControlFlow::Break((format!("{word} takes a whole number, not {expr}"), expr.span()))
            })
        }
    }
    if !text.contains("to be an integer or null") {
        return None;
    }
    statement.visit(&mut Look(text.contains("LIMIT"))).break_value()
}

/// `WHERE name`.
fn condition(ground: &Ground<'_>, statement: &Statement, text: &str) -> Option<Blame> {
    struct Look<'a>(&'a Ground<'a>);
    impl Visitor for Look<'_> {
        type Break = Blame;

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Blame> {
            for condition in select.selection.iter().chain(&select.having) {
                let column = self.0.column(condition).filter(|c| *c.data_type() != DataType::Boolean);
                if let Some(column) = column {
                    let what = format!("a condition is true or false; {} is of type", column.name());
                    return ControlFlow::Break((
                        format!("{what} {}", arrow_type(column.data_type())),
                        condition.span(),
                    ));
                }
            }
            ControlFlow::Continue(())
        }
    }
    if !text.contains("non-boolean predicate") {
        return None;
    }
    statement.visit(&mut Look(ground)).break_value()
}

/// `ORDER BY 5` of fewer columns.
fn order(statement: &Statement, text: &str) -> Option<Blame> {
    struct Look<'a>(&'a str, &'a str);
    impl Visitor for Look<'_> {
        type Break = Blame;

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Blame> {
            let keys = match query.order_by.as_ref().map(|order| &order.kind) {
                Some(OrderByKind::Expressions(keys)) => keys.as_slice(),
                _ => &[],
            };
            let key = keys.iter().find(|key| key.expr.to_string() == self.0);
            key.map_or(ControlFlow::Continue(()), |key| {
                let what = format!("there is no column {} to order by; the result has {}", self.0, self.1);
                ControlFlow::Break((what, key.expr.span()))
            })
        }
    }
    let (given, most) = text.split_once("out of bounds, specified: ")?.1.split_once(", max: ")?;
    statement.visit(&mut Look(given.trim(), most.trim())).break_value()
}

/// A sentence without what the parser shows of its own values: `… is not valid Substring { expr: … }`.
pub(super) fn without_insides(text: &str) -> &str {
    let Some((head, _)) = text.split_once(" { ") else { return text };
    let word = head.rfind(' ').map_or(0, |at| at + 1);
    let is_type = head.get(word..).is_some_and(|word| word.starts_with(char::is_uppercase));
    if is_type { head.get(..word).unwrap_or(head).trim_end() } else { text }
}

/// A better sentence for one that says nothing to those who write statements.
pub(super) fn of_syntax(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    text.starts_with("substring without for/from").then(|| {
        "substr takes a text and where to begin, and how many letters: substr(text, 2, 3)".to_owned()
    })
}
