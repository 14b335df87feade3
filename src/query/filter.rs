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

/// Whether a number that a statement writes plainly, and so reads as a double, is that very number beside decimals of
/// this type. DataFusion compares them as decimals with 15 digits behind the point (`coerce_numeric_type_to_decimal128`),
/// and with room for 20 before it where integers stand in the same list.
fn is_the_same_decimal(text: &str, precision: u8, scale: i8) -> bool {
    const BEHIND: usize = 15;
    const BEFORE: i16 = 20;
    let (before, after) = (i16::from(precision) - i16::from(scale), i16::from(scale));
    if before.max(BEFORE) + after.max(BEHIND as i16) > i16::from(arrow::datatypes::DECIMAL128_MAX_PRECISION) {
        return false;
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let exact = (part.len() <= BEHIND).then(|| format!("{whole}{part:0<BEHIND$}").parse::<i128>().ok());
    let read = text.parse::<f64>().map(|double| (double * 10_f64.powi(BEHIND as i32)).round() as i128);
    is_number(text) && exact.flatten().is_some() && exact.flatten() == read.ok()
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
                (Some(Type::Decimal128(..)), Type::Decimal128(digits, scale))
                    if is_the_same_decimal(text, digits, scale) =>
                {
                    text.to_owned()
                }
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
mod tests;
