//! Filters and sorting as a view edits them — a condition on a column each, all of them to hold — and the
//! SQL text that they are.

use super::clauses::alternatives;
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_IDENTIFIER,
    RESERVED_FOR_TABLE_ALIAS,
};
use datafusion::sql::sqlparser::parser::Parser;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A column's name as a statement writes it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name of a column or table as a person writes it: without quotes where a statement reads it as that name
/// all the same. Case is no reason for them: names are taken as they stand where they are there in this case.
pub fn identifier(name: &str) -> String {
    if is_bare(name) { name.to_owned() } else { quoted(name) }
}

/// Words that begin or join conditions: the parser takes some of them for names where nothing else fits.
const WORDS: [&str; 19] = [
    "all", "and", "any", "between", "case", "distinct", "else", "exists", "ilike", "in", "is", "like", "not",
    "or", "some", "then", "when", "cast", "xor",
];

/// Whether a name without quotes is read as a name wherever one may stand.
fn is_bare(name: &str) -> bool {
    let mut bytes = name.bytes();
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_word =
        bytes.next().is_some_and(is_first) && bytes.all(|byte| is_first(byte) || byte.is_ascii_digit());
    let reserved = || {
        if WORDS.iter().any(|word| word.eq_ignore_ascii_case(name)) {
            return true;
        }
        let word = ALL_KEYWORDS.iter().position(|word| word.eq_ignore_ascii_case(name));
        let word = word.and_then(|at| ALL_KEYWORDS_INDEX.get(at));
        let lists = [RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS, RESERVED_FOR_IDENTIFIER];
        word.is_some_and(|word| lists.iter().any(|list| list.contains(word)))
    };
    // What the parser knows as a function, a literal or the beginning of one (`current_date`, `array['x']`).
    let read = |text: String| {
        let parsed =
            Parser::new(&GenericDialect {}).try_with_sql(&text).and_then(|mut parser| parser.parse_expr());
        match parsed {
            Ok(Expr::BinaryOp { left, .. }) => is_name(&left, name),
            Ok(Expr::CompoundFieldAccess { root, .. }) => is_name(&root, name),
            _ => false,
        }
    };
    is_word && !reserved() && read(format!("{name} = 1")) && read(format!("{name}['x']"))
}

fn is_name(expression: &Expr, name: &str) -> bool {
    matches!(expression, Expr::Identifier(ident) if ident.value == name)
}

/// A text as a statement writes it.
pub fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// What a cell is asked. Values are texts as [`crate::data::cell::text`] gives them; they are compared in the
/// column's own type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Test {
    /// The cell is this.
    Equals(String),
    /// The cell is something else; null is.
    Differs(String),
    /// The cell is one of these; `None` is null.
    In(Vec<Option<String>>),
    /// The text has this in it, whatever the case if `fold`.
    Contains {
        /// What is looked for.
        text: String,
        /// Capital and small letters are the same.
        fold: bool,
    },
    /// The text begins so.
    Starts(String),
    /// The text ends so.
    Ends(String),
    /// A part of the text matches a regular expression.
    Matches(String),
    /// The cell lies between two values; a missing end is open. The upper one counts if `closed`.
    Between {
        /// The lowest value that fits.
        low: Option<String>,
        /// The highest value.
        high: Option<String>,
        /// Whether `high` itself fits.
        closed: bool,
    },
    /// The cell is null.
    Null,
    /// The cell is not null.
    NotNull,
    /// The cell is not a number.
    Nan,
    /// The cell is a number, or infinite: neither null nor NaN.
    NotNan,
    /// The list has at least and at most so many elements.
    Length(Option<u64>, Option<u64>),
    /// The list has this element.
    Has(String),
}

/// How the values of a column are written and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Float,
    Text,
    Truth,
    /// Dates, times, decimals: by a cast of the text.
    Cast,
    Binary,
    List,
}

/// A test of a column, or of a field inside one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The column's name, as the query room calls it (see [`super::Registered`]).
    pub column: String,
    /// Names of fields from the column's structs inwards.
    pub fields: Vec<String>,
    /// What is asked.
    pub test: Test,
}

/// Conditions that all have to hold, and perhaps an expression written by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// The chips.
    pub conditions: Vec<Condition>,
    /// What stands behind WHERE, as typed; empty for nothing.
    pub expression: String,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Order {
    Ascending,
    Descending,
}

/// One key of a sort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sort {
    /// The column's name.
    pub column: String,
    /// Which way.
    pub order: Order,
    /// Where nulls go.
    pub nulls_first: bool,
    /// Whether `column` is no name but an expression, as SQL.
    #[serde(default)]
    pub expression: bool,
}

impl Sort {
    /// By a column, nulls last.
    pub fn by(column: impl Into<String>, order: Order) -> Self {
        Sort { column: column.into(), order, nulls_first: false, expression: false }
    }

    /// `a DESC`. What a statement means without a word is not said: ascending, nulls last either way.
    pub fn sql(&self) -> String {
        let way = if self.order == Order::Ascending { "" } else { " DESC" };
        let nulls = if self.nulls_first { " NULLS FIRST" } else { "" };
        let key = if self.expression { self.column.clone() } else { identifier(&self.column) };
        format!("{key}{way}{nulls}")
    }
}

impl Filter {
    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.expression.trim().is_empty()
    }

    /// What stands behind WHERE, for columns of these types; `None` where nothing is asked.
    pub fn sql(&self, schema: &arrow::datatypes::Schema) -> Option<String> {
        let mut parts: Vec<String> = self.conditions.iter().map(|c| c.sql(schema)).collect();
        let typed = self.expression.trim();
        if !typed.is_empty() {
            parts.push(typed.to_owned());
        }
        if parts.len() > 1 {
            parts.iter_mut().for_each(|part| *part = bracketed(part));
        }
        (!parts.is_empty()).then(|| parts.join(" AND "))
    }
}

/// A condition as it can stand beside others that have to hold too: in brackets where it would fall apart there.
fn bracketed(condition: &str) -> String {
    match alternatives(condition) {
        Some(false) => condition.to_owned(),
        Some(true) => format!("({condition})"),
        // On a line of its own, so that a comment in it ends before the bracket.
        None => format!("({condition}\n)"),
    }
}

impl Condition {
    /// A test of a whole column.
    pub fn new(column: impl Into<String>, test: Test) -> Self {
        Condition { column: column.into(), fields: Vec::new(), test }
    }

    /// The condition as SQL, for columns of these types.
    pub fn sql(&self, schema: &arrow::datatypes::Schema) -> String {
        let mut place = identifier(&self.column);
        let mut data_type = schema.field_with_name(&self.column).map(|f| f.data_type().clone()).ok();
        for name in &self.fields {
            place = format!("{place}[{}]", text_literal(name));
            data_type = match data_type {
                Some(arrow::datatypes::DataType::Struct(fields)) => {
                    fields.iter().find(|f| f.name() == name).map(|f| f.data_type().clone())
                }
                _ => None,
            };
        }
        let data_type = data_type.unwrap_or(arrow::datatypes::DataType::Utf8);
        Asked::new(place, &data_type).sql(&self.test)
    }

    /// The column and the fields inside it: `address.city`.
    pub fn place(&self) -> String {
        let names = std::iter::once(&self.column).chain(&self.fields);
        names.map(String::as_str).collect::<Vec<_>>().join(".")
    }

    /// A few words for a chip: `price ≥ 3`, `name contains "x"`.
    pub fn words(&self) -> String {
        let name = self.place();
        let bound = |text: &Option<String>| text.clone().unwrap_or_default();
        match &self.test {
            Test::Equals(v) => format!("{name} = {v}"),
            Test::Differs(v) => format!("{name} ≠ {v}"),
            Test::In(values) => {
                let mut shown: Vec<&str> =
                    values.iter().take(3).map(|v| v.as_deref().unwrap_or("null")).collect();
                if values.len() > 3 {
                    shown.push("…");
                }
                format!("{name} in {}", shown.join(", "))
            }
            Test::Contains { text, fold: true } => format!("{name} contains {text:?}"),
            Test::Contains { text, .. } => format!("{name} contains {text:?} in this case"),
            Test::Starts(text) => format!("{name} starts with {text:?}"),
            Test::Ends(text) => format!("{name} ends with {text:?}"),
            Test::Matches(text) => format!("{name} matches /{text}/"),
            Test::Between { low: Some(low), high: None, .. } => format!("{name} ≥ {low}"),
            Test::Between { low: None, high, closed } => {
                format!("{name} {} {}", if *closed { "≤" } else { "<" }, bound(high))
            }
            Test::Between { low, high, closed } => {
                format!("{} ≤ {name} {} {}", bound(low), if *closed { "≤" } else { "<" }, bound(high))
            }
            Test::Null => format!("{name} is null"),
            Test::NotNull => format!("{name} is not null"),
            Test::Nan => format!("{name} is NaN"),
            Test::NotNan => format!("{name} is a number"),
            Test::Length(low, high) => match (low, high) {
                (Some(a), Some(b)) if a == b => format!("{name} has {a} elements"),
                (Some(a), Some(b)) => format!("{name} has {a} to {b} elements"),
                (Some(a), None) => format!("{name} has at least {a} elements"),
                (None, Some(b)) => format!("{name} has at most {b} elements"),
                (None, None) => name,
            },
            Test::Has(value) => format!("{name} has {value}"),
        }
    }
}

fn kind_of(data_type: &arrow::datatypes::DataType) -> Kind {
    use arrow::datatypes::DataType as Type;
    match data_type {
        Type::Dictionary(_, inner) => kind_of(inner),
        Type::RunEndEncoded(_, inner) => kind_of(inner.data_type()),
        Type::Utf8 | Type::LargeUtf8 | Type::Utf8View => Kind::Text,
        Type::Boolean => Kind::Truth,
        Type::Float16 | Type::Float32 | Type::Float64 => Kind::Float,
        t if t.is_integer() => Kind::Number,
        Type::Binary | Type::LargeBinary | Type::BinaryView | Type::FixedSizeBinary(_) => Kind::Binary,
        Type::List(_)
        | Type::LargeList(_)
        | Type::FixedSizeList(..)
        | Type::ListView(_)
        | Type::LargeListView(_) => Kind::List,
        _ => Kind::Cast,
    }
}

/// Digits before and after the point that hold every integer of a column.
const INTEGER: (i16, i16) = (20, 0);
/// Below it doubles tell integers from each other and from what lies between them.
const TOLD_APART: f64 = 9_007_199_254_740_992.0;

/// The narrowest decimals that have a number and beside it all values of so many digits before and after the
/// point; `None` where the text is no plain number, or too long for decimals.
fn decimals(text: &str, (before, after): (i16, i16)) -> Option<arrow::datatypes::DataType> {
    use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType as Type};
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_plain || whole.len() + part.len() == 0 {
        return None;
    }
    let len = |digits: &str| i16::try_from(digits.len()).ok();
    let before = len(whole.trim_start_matches('0'))?.max(before);
    let after = len(part.trim_end_matches('0'))?.max(after).max(0);
    let precision = u8::try_from(before.checked_add(after)?.max(1)).ok()?;
    let scale = i8::try_from(after).ok()?;
    if precision <= DECIMAL128_MAX_PRECISION {
        return Some(Type::Decimal128(precision, scale));
    }
    (precision <= DECIMAL256_MAX_PRECISION).then_some(Type::Decimal256(precision, scale))
}

/// Whether a text is a number as statements write it: digits, perhaps with a point and an exponent.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(n, e)| (n, Some(e)));
    let (whole, part) = number.split_once('.').map_or((number, None), |(w, p)| (w, Some(p)));
    digits(whole)
        && part.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

/// Whether a number is the same single where a statement reads it as a double first.
fn is_the_same_single(text: &str) -> bool {
    matches!((text.parse::<f64>(), text.parse::<f32>()), (Ok(double), Ok(single)) if double as f32 == single)
}

/// A place in a row, and how its values are written.
pub(super) struct Asked {
    place: String,
    kind: Kind,
    data_type: arrow::datatypes::DataType,
}

impl Asked {
    /// A place, which may be any expression of this type.
    pub(super) fn new(place: String, data_type: &arrow::datatypes::DataType) -> Self {
        Asked { place, kind: kind_of(data_type), data_type: data_type.clone() }
    }

    /// A value of the column's type as SQL: as a person writes it where a statement reads it as that very value.
    fn value(&self, text: &str) -> String {
        use arrow::datatypes::DataType as Type;
        let literal = text_literal(text);
        let cast = |to: &Type| format!("arrow_cast({literal}, {})", text_literal(&to.to_string()));
        let is_integer = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        match self.kind {
            Kind::Text => literal,
            Kind::Number if is_integer => text.to_owned(),
            Kind::Truth if text.eq_ignore_ascii_case("true") => "TRUE".to_owned(),
            Kind::Truth if text.eq_ignore_ascii_case("false") => "FALSE".to_owned(),
            Kind::Binary => match text.strip_prefix("0x") {
                Some(hex) => format!("decode({}, 'hex')", text_literal(hex)),
                None => format!("CAST({literal} AS BYTEA)"),
            },
            Kind::Float => match self.plain() {
                Type::Float64 if is_number(text) => text.to_owned(),
                // A double beside it would not be the number that the column holds.
                Type::Float32 if is_number(text) && is_the_same_single(text) => {
                    format!("CAST({text} AS REAL)")
                }
                plain => cast(&plain),
            },
            Kind::Number => match (text.parse::<f64>(), decimals(text, INTEGER)) {
                (Ok(number), exact) if number.abs() < TOLD_APART || exact.is_none() => {
                    match is_number(text) {
                        true => text.to_owned(),
                        false => format!("CAST({literal} AS DOUBLE)"),
                    }
                }
                (_, exact) => cast(&exact.unwrap_or_else(|| self.plain())),
            },
            _ => match (self.decimal(text), self.plain()) {
                // Between these and integers nothing is rounded, and there is room for both.
                (Some(Type::Decimal128(_, ..=18)), _) if is_integer => text.to_owned(),
                (Some(Type::Decimal128(digits, scale)), _) => {
                    format!("CAST({literal} AS DECIMAL({digits}, {scale}))")
                }
                (Some(decimal), _) => cast(&decimal),
                // Beside a date or time a text is one.
                (
                    None,
                    Type::Date32 | Type::Date64 | Type::Timestamp(..) | Type::Time32(_) | Type::Time64(_),
                ) => literal,
                (None, plain) => cast(&plain),
            },
        }
    }

    /// For a column of decimals the type in which the text is compared: the column's own would round a longer
    /// one, and has no place for a larger one.
    fn decimal(&self, text: &str) -> Option<arrow::datatypes::DataType> {
        use arrow::datatypes::DataType as Type;
        let own = self.plain();
        let (Type::Decimal32(precision, scale)
        | Type::Decimal64(precision, scale)
        | Type::Decimal128(precision, scale)
        | Type::Decimal256(precision, scale)) = own
        else {
            return None;
        };
        let digits = (i16::from(precision) - i16::from(scale), i16::from(scale));
        let wanted = decimals(text, digits)?;
        let fits = match wanted {
            Type::Decimal128(p, s) | Type::Decimal256(p, s) => (p, s) == (precision, scale),
            _ => false,
        };
        Some(if fits { own } else { wanted })
    }

    fn plain(&self) -> arrow::datatypes::DataType {
        match &self.data_type {
            arrow::datatypes::DataType::Dictionary(_, inner) => inner.as_ref().clone(),
            other => other.clone(),
        }
    }

    /// The cell as text, for tests of texts.
    fn text(&self) -> String {
        if self.kind == Kind::Text { self.place.clone() } else { format!("CAST({} AS VARCHAR)", self.place) }
    }

    pub(super) fn sql(&self, test: &Test) -> String {
        let place = &self.place;
        match test {
            Test::Equals(v) => format!("{place} = {}", self.value(v)),
            Test::Differs(v) => format!("{place} IS DISTINCT FROM {}", self.value(v)),
            Test::In(values) => {
                let known: Vec<String> = values.iter().flatten().map(|v| self.value(v)).collect();
                let null = values.iter().any(Option::is_none).then(|| format!("{place} IS NULL"));
                let known = (!known.is_empty()).then(|| format!("{place} IN ({})", known.join(", ")));
                match (known, null) {
                    (Some(known), Some(null)) => format!("{known} OR {null}"),
                    (Some(one), None) | (None, Some(one)) => one,
                    (None, None) => "FALSE".to_owned(),
                }
            }
            Test::Contains { text, fold: true } if self.has_pattern(text) => {
                format!("{} ILIKE {}", self.text(), text_literal(&format!("%{text}%")))
            }
            Test::Contains { text, .. } if self.has_pattern(text) => {
                format!("{} LIKE {}", self.text(), text_literal(&format!("%{text}%")))
            }
            Test::Starts(text) if self.has_pattern(text) => {
                format!("{} LIKE {}", self.text(), text_literal(&format!("{text}%")))
            }
            Test::Ends(text) if self.has_pattern(text) => {
                format!("{} LIKE {}", self.text(), text_literal(&format!("%{text}")))
            }
            Test::Contains { text, fold: true } => {
                format!("contains(lower({}), {})", self.text(), text_literal(&text.to_lowercase()))
            }
            Test::Contains { text, .. } => format!("contains({}, {})", self.text(), text_literal(text)),
            Test::Starts(text) => format!("starts_with({}, {})", self.text(), text_literal(text)),
            Test::Ends(text) => format!("ends_with({}, {})", self.text(), text_literal(text)),
            Test::Matches(text) => format!("regexp_like({}, {})", self.text(), text_literal(text)),
            Test::Between { low, high, closed } => self.between(low.as_deref(), high.as_deref(), *closed),
            Test::Null => format!("{place} IS NULL"),
            Test::NotNull => format!("{place} IS NOT NULL"),
            Test::Nan if self.kind == Kind::Float => format!("isnan({place})"),
            Test::Nan => "FALSE".to_owned(),
            Test::NotNan if self.kind == Kind::Float => {
                // Neither holds where it is null.
                format!("NOT isnan({place})")
            }
            Test::NotNan => format!("{place} IS NOT NULL"),
            Test::Length(low, high) => {
                let size = if self.kind == Kind::List {
                    // The length of an empty list is 0, which the engine calls null.
                    format!("coalesce(array_length({place}), CASE WHEN {place} IS NULL THEN NULL ELSE 0 END)")
                } else {
                    format!("character_length({})", self.text())
                };
                let mut parts = Vec::new();
                parts.extend(low.map(|n| format!("{size} >= {n}")));
                parts.extend(high.map(|n| format!("{size} <= {n}")));
                if parts.is_empty() { "TRUE".to_owned() } else { parts.join(" AND ") }
            }
            Test::Has(value) => {
                use arrow::datatypes::DataType as Type;
                let inner = match &self.data_type {
                    Type::List(f)
                    | Type::LargeList(f)
                    | Type::FixedSizeList(f, _)
                    | Type::ListView(f)
                    | Type::LargeListView(f) => f.data_type().clone(),
                    other => other.clone(),
                };
                let element = Asked { place: String::new(), kind: kind_of(&inner), data_type: inner };
                format!("array_has({place}, {})", element.value(value))
            }
        }
    }

    /// Whether a text in a pattern means itself, and the cell can be held against patterns.
    fn has_pattern(&self, text: &str) -> bool {
        let is_runs = matches!(self.data_type, arrow::datatypes::DataType::RunEndEncoded(..));
        !is_runs && !text.contains(['%', '_', '\\'])
    }

    fn between(&self, low: Option<&str>, high: Option<&str>, closed: bool) -> String {
        let mut text = String::new();
        if let Some(low) = low {
            let _ = write!(text, "{} >= {}", self.place, self.value(low));
        }
        if let Some(high) = high {
            let and = if text.is_empty() { "" } else { " AND " };
            let sign = if closed { "<=" } else { "<" };
            let _ = write!(text, "{and}{} {sign} {}", self.place, self.value(high));
        }
        // NaN is greater than every number here; a range of numbers does not mean it.
        if self.kind == Kind::Float && low.is_some() && high.is_none() {
            let _ = write!(text, " AND NOT isnan({})", self.place);
        }
        if text.is_empty() { "TRUE".to_owned() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::task::Task;
    use crate::data::content::Table;
    use crate::data::content::table::MemoryTable;
    use crate::query::{Engine, Settings, filtered};
    use arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, UInt64Array};
    use arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;

    #[test]
    fn conditions_as_sql_and_as_words() {
        let schema = Schema::new(vec![
            Field::new("a\"b", DataType::Int32, true),
            Field::new("f", DataType::Float32, true),
            Field::new("s", DataType::Utf8, true),
            Field::new("d", DataType::Date32, true),
        ]);
        let sql = |column: &str, test: Test| Condition::new(column, test).sql(&schema);
        assert_eq!(sql("a\"b", Test::Equals("-3".into())), "\"a\"\"b\" = -3");
        assert_eq!(sql("s", Test::Equals("it's".into())), "s = 'it''s'");
        assert_eq!(sql("d", Test::Equals("2024-01-31".into())), "d = '2024-01-31'");
        let range = Test::Between { low: Some("0.5".into()), high: None, closed: false };
        assert_eq!(sql("f", range.clone()), "f >= CAST(0.5 AS REAL) AND NOT isnan(f)");
        assert_eq!(Condition::new("f", range).words(), "f ≥ 0.5");
        let some = Test::In(vec![Some("x".into()), None]);
        assert_eq!(sql("s", some.clone()), "s IN ('x') OR s IS NULL");
        assert_eq!(Condition::new("s", some).words(), "s in x, null");
        let filter =
            Filter { conditions: vec![Condition::new("s", Test::Null)], expression: "f > 1 -- x".into() };
        assert_eq!(filter.sql(&schema).unwrap(), "s IS NULL AND (f > 1 -- x\n)");
        assert_eq!(Filter::default().sql(&schema), None);
        let sort = Sort { nulls_first: true, ..Sort::by("s", Order::Descending) };
        assert_eq!(sort.sql(), "s DESC NULLS FIRST");
        assert_eq!(Sort::by("s", Order::Ascending).sql(), "s");
    }

    #[test]
    fn numbers_are_written_as_exactly_as_they_are_typed() {
        let written = |text: &str, of: &DataType| Asked::new(String::new(), of).value(text);
        let integers = |text: &str| written(text, &DataType::UInt64);
        assert_eq!(integers("18446744073709551615"), "18446744073709551615");
        assert_eq!(integers("-7"), "-7");
        assert_eq!(integers("2.5"), "2.5");
        assert_eq!(integers("1e300"), "1e300");
        assert_eq!(integers("inf"), "CAST('inf' AS DOUBLE)");
        let (single, double) = (DataType::Float32, DataType::Float64);
        assert_eq!(written("16.49", &double), "16.49");
        assert_eq!(written("-1.5e-05", &double), "-1.5e-05");
        assert_eq!(written("-inf", &double), "arrow_cast('-inf', 'Float64')");
        assert_eq!(written("0.1", &single), "CAST(0.1 AS REAL)");
        let beyond = "arrow_cast('-9223372036854775809', 'Decimal128(20, 0)')";
        assert_eq!(integers("-9223372036854775809"), beyond);
        let price = DataType::Decimal128(10, 2);
        assert_eq!(written("1.20000", &price), "CAST('1.20000' AS DECIMAL(10, 2))");
        assert_eq!(written("1.205", &price), "CAST('1.205' AS DECIMAL(11, 3))");
        assert_eq!(written("12345678901", &price), "12345678901");
        let wide = DataType::Decimal128(38, 2);
        assert_eq!(written("-.125", &wide), "arrow_cast('-.125', 'Decimal256(39, 3)')");
        assert_eq!(written("x", &wide), "arrow_cast('x', 'Decimal128(38, 2)')");
        assert_eq!(written("-1", &DataType::Decimal64(9, 0)), "arrow_cast('-1', 'Decimal64(9, 0)')");
    }

    #[test]
    fn names_have_quotes_only_where_they_need_them() {
        for bare in ["fare", "PassengerId", "_x1", "name", "value", "year"] {
            assert_eq!(identifier(bare), bare);
        }
        let others =
            ["two words", "1st", "größe", "", "a.b", "select", "FROM", "order", "left", "null", "true"];
        for other in
            others.into_iter().chain(["current_date", "array", "case", "interval", "not", "user", "end"])
        {
            assert_eq!(identifier(other), quoted(other));
        }
    }

    #[test]
    fn several_conditions_have_brackets_only_where_they_would_fall_apart() {
        let schema = Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("fare", DataType::Float64, true),
            Field::new("s", DataType::Utf8, true),
        ]);
        let sql = |conditions: Vec<Condition>, expression: &str| {
            Filter { conditions, expression: expression.to_owned() }.sql(&schema).unwrap()
        };
        let some = || Condition::new("s", Test::In(vec![Some("x".into()), None]));
        let range = Test::Between { low: Some("16.49".into()), high: Some("20".into()), closed: false };
        let fare = || Condition::new("fare", range.clone());
        assert_eq!(sql(vec![fare()], ""), "fare >= 16.49 AND fare < 20");
        assert_eq!(sql(vec![some()], ""), "s IN ('x') OR s IS NULL");
        assert_eq!(sql(vec![], "n = 1 OR n = 2"), "n = 1 OR n = 2");
        assert_eq!(sql(vec![fare()], "n = 1 AND n < 2"), "fare >= 16.49 AND fare < 20 AND n = 1 AND n < 2");
        assert_eq!(
            sql(vec![some(), fare()], "n = 1 OR n = 2"),
            "(s IN ('x') OR s IS NULL) AND fare >= 16.49 AND fare < 20 AND (n = 1 OR n = 2)"
        );
        let text = |test: Test| Condition::new("s", test).sql(&schema);
        assert_eq!(text(Test::Contains { text: "it's".into(), fold: true }), "s ILIKE '%it''s%'");
        assert_eq!(text(Test::Starts("a".into())), "s LIKE 'a%'");
        assert_eq!(text(Test::Ends("100%".into())), "ends_with(s, '100%')");
        assert_eq!(Condition::new("n", Test::Ends("7".into())).sql(&schema), "CAST(n AS VARCHAR) LIKE '%7'");
    }

    /// A column of each kind, and null: every cell is found again by the condition that it is written as, alone and
    /// beside others.
    #[test]
    fn every_value_is_found_by_what_is_written_for_it() {
        use arrow::array::*;
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("f32", Arc::new(Float32Array::from(vec![0.1, -1.5e-7, 16_777_216.0]))),
            ("f64", Arc::new(Float64Array::from(vec![0.1, 0.123_456_789_012_345_67, -1e300]))),
            ("Words", Arc::new(StringArray::from(vec!["it's", "50%", "a_b\\c"]))),
            ("order", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("d32", Arc::new(Date32Array::from(vec![19_753, -1, 0]))),
            ("d64", Arc::new(Date64Array::from(vec![86_400_000 * 19_753, 0, -86_400_000]))),
            ("us", Arc::new(TimestampMicrosecondArray::from(vec![1_700_000_000_123_456, 0, -1]))),
            ("ns", Arc::new(TimestampNanosecondArray::from(vec![1_700_000_000_123_456_789, 0, -1]))),
            (
                "tz",
                Arc::new(
                    TimestampMillisecondArray::from(vec![1_700_000_000_123, 0, -1]).with_timezone("+02:00"),
                ),
            ),
            ("t32", Arc::new(Time32SecondArray::from(vec![0, 3_600, 86_399]))),
            ("t64", Arc::new(Time64MicrosecondArray::from(vec![0, 3_600_000_001, 5]))),
            (
                "dec",
                Arc::new(Decimal128Array::from(vec![120, -5, 100]).with_precision_and_scale(10, 2).unwrap()),
            ),
            (
                "wide",
                Arc::new(Decimal128Array::from(vec![120, -5, 100]).with_precision_and_scale(38, 30).unwrap()),
            ),
            ("u64", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1]))),
            ("dict", Arc::new(DictionaryArray::<arrow::datatypes::Int8Type>::from_iter(["a", "b", "c"]))),
        ];
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let (engine, task) = (Engine::new(Settings::default(), Vec::new()), Task::new());
        let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch.clone()));
        let rows = |conditions: Vec<Condition>| {
            let filter = Filter { conditions, ..Filter::default() };
            let found = filtered(&engine, &task, &table, &filter, &[]);
            let found =
                found.unwrap_or_else(|failure| panic!("{:?}: {failure:?}", filter.sql(&batch.schema())));
            let count = found.count(&task).unwrap();
            found.numbers(&task, 0..count).unwrap()
        };
        let other = || Condition::new("Words", Test::In(vec![Some("it's".into()), Some("50%".into()), None]));
        for (name, column) in names.iter().zip(batch.columns()) {
            for row in 0..3u64 {
                let text = crate::data::cell::text(column.as_ref(), row as usize).unwrap();
                let again = (0..3).filter(|other| {
                    crate::data::cell::text(column.as_ref(), *other as usize).as_deref() == Some(&text)
                });
                let same: Vec<u64> = again.collect();
                let equals = || Condition::new(*name, Test::Equals(text.clone()));
                assert_eq!(rows(vec![equals()]), same, "{name} {text}");
                let near: Vec<u64> = same.iter().copied().filter(|row| *row < 2).collect();
                assert_eq!(rows(vec![other(), equals()]), near, "{name} {text} beside another");
                assert_eq!(
                    rows(vec![Condition::new(*name, Test::In(vec![Some(text.clone())]))]),
                    same,
                    "{name}"
                );
                let rest: Vec<u64> = (0..3).filter(|row| !same.contains(row)).collect();
                assert_eq!(
                    rows(vec![Condition::new(*name, Test::Differs(text.clone()))]),
                    rest,
                    "{name} {text}"
                );
                if *name != "order" {
                    let closed =
                        Test::Between { low: Some(text.clone()), high: Some(text.clone()), closed: true };
                    assert_eq!(rows(vec![Condition::new(*name, closed)]), same, "{name} {text} as a range");
                }
            }
        }
        let words = |test: Test| rows(vec![Condition::new("Words", test)]);
        assert_eq!(words(Test::Contains { text: "IT'S".into(), fold: true }), [0]);
        assert_eq!(words(Test::Ends("0%".into())), [1]);
        assert_eq!(words(Test::Starts("a_".into())), [2]);
        assert_eq!(rows(vec![Condition::new("dict", Test::Starts("b".into()))]), [1]);
    }

    #[test]
    fn large_numbers_are_told_from_their_neighbours() {
        let prices =
            Decimal128Array::from(vec![100_i128, 101, -5, 0]).with_precision_and_scale(10, 2).unwrap();
        let columns: [(&str, ArrayRef); 3] = [
            ("u", Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX - 1, 1 << 63, 3]))),
            ("i", Arc::new(Int64Array::from(vec![i64::MAX, i64::MIN, 0, 3]))),
            ("d", Arc::new(prices)),
        ];
        let table: Arc<dyn Table> = Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap()));
        let (engine, task) = (Engine::new(Settings::default(), Vec::new()), Task::new());
        let rows = |column: &str, test: Test| {
            let filter = Filter { conditions: vec![Condition::new(column, test)], ..Filter::default() };
            let found = filtered(&engine, &task, &table, &filter, &[]).unwrap();
            let count = found.count(&task).unwrap();
            found.numbers(&task, 0..count).unwrap()
        };
        let equals = |text: &str| Test::Equals(text.to_owned());
        let least = |text: &str| Test::Between { low: Some(text.to_owned()), high: None, closed: true };
        assert_eq!(rows("u", equals("18446744073709551615")), [0]);
        assert_eq!(rows("u", least("18446744073709551614")), [0, 1]);
        assert_eq!(rows("u", equals("18446744073709551616")), [0u64; 0]);
        assert_eq!(rows("u", Test::In(vec![Some("3".into()), Some("9223372036854775808".into())])), [2, 3]);
        assert_eq!(rows("i", equals("9223372036854775808")), [0u64; 0]);
        assert_eq!(rows("i", equals("-9223372036854775809")), [0u64; 0]);
        assert_eq!(rows("i", least("-9223372036854775809")), [0, 1, 2, 3]);
        assert_eq!(rows("d", equals("1.005")), [0u64; 0]);
        assert_eq!(rows("d", least("1.004")), [1]);
        let most = Test::Between { low: None, high: Some("100000000000".to_owned()), closed: true };
        assert_eq!(rows("d", most), [0, 1, 2, 3]);
    }
}
