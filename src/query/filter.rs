//! Filters and sorting as a view edits them — a condition on a column each, all of them to hold — and the
//! SQL text that they are.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A column's name as a statement writes it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
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

    /// `"a" DESC NULLS LAST`.
    pub fn sql(&self) -> String {
        let way = if self.order == Order::Ascending { "ASC" } else { "DESC" };
        let nulls = if self.nulls_first { "FIRST" } else { "LAST" };
        let key = if self.expression { self.column.clone() } else { quoted(&self.column) };
        format!("{key} {way} NULLS {nulls}")
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
            // On a line of its own, so that a comment in it ends before the bracket.
            parts.push(if parts.is_empty() { typed.to_owned() } else { format!("({typed}\n)") });
        }
        (!parts.is_empty()).then(|| parts.join(" AND "))
    }
}

impl Condition {
    /// A test of a whole column.
    pub fn new(column: impl Into<String>, test: Test) -> Self {
        Condition { column: column.into(), fields: Vec::new(), test }
    }

    /// The condition as SQL, for columns of these types.
    pub fn sql(&self, schema: &arrow::datatypes::Schema) -> String {
        let mut place = quoted(&self.column);
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

    /// A value of the column's type as SQL.
    fn value(&self, text: &str) -> String {
        let literal = text_literal(text);
        let cast = |to: &arrow::datatypes::DataType| {
            format!("arrow_cast({literal}, {})", text_literal(&to.to_string()))
        };
        match self.kind {
            Kind::Text => literal,
            Kind::Number if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() => text.to_owned(),
            Kind::Truth if text.eq_ignore_ascii_case("true") => "TRUE".to_owned(),
            Kind::Truth if text.eq_ignore_ascii_case("false") => "FALSE".to_owned(),
            Kind::Binary => match text.strip_prefix("0x") {
                Some(hex) => format!("decode({}, 'hex')", text_literal(hex)),
                None => format!("CAST({literal} AS BYTEA)"),
            },
            Kind::Float => cast(&self.data_type),
            Kind::Number => match (text.parse::<f64>(), decimals(text, INTEGER)) {
                (Ok(number), exact) if number.abs() < TOLD_APART || exact.is_none() => {
                    format!("CAST({literal} AS DOUBLE)")
                }
                (_, exact) => cast(&exact.unwrap_or_else(|| self.plain())),
            },
            _ => cast(&self.decimal(text).unwrap_or_else(|| self.plain())),
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
                    (Some(known), Some(null)) => format!("({known} OR {null})"),
                    (Some(one), None) | (None, Some(one)) => one,
                    (None, None) => "FALSE".to_owned(),
                }
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
                format!("({place} IS NOT NULL AND NOT isnan({place}))")
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
        assert_eq!(sql("s", Test::Equals("it's".into())), "\"s\" = 'it''s'");
        assert_eq!(sql("d", Test::Equals("2024-01-31".into())), "\"d\" = arrow_cast('2024-01-31', 'Date32')");
        let range = Test::Between { low: Some("0.5".into()), high: None, closed: false };
        assert_eq!(sql("f", range.clone()), "\"f\" >= arrow_cast('0.5', 'Float32') AND NOT isnan(\"f\")");
        assert_eq!(Condition::new("f", range).words(), "f ≥ 0.5");
        let some = Test::In(vec![Some("x".into()), None]);
        assert_eq!(sql("s", some.clone()), "(\"s\" IN ('x') OR \"s\" IS NULL)");
        assert_eq!(Condition::new("s", some).words(), "s in x, null");
        let filter =
            Filter { conditions: vec![Condition::new("s", Test::Null)], expression: "f > 1 -- x".into() };
        assert_eq!(filter.sql(&schema).unwrap(), "\"s\" IS NULL AND (f > 1 -- x\n)");
        assert_eq!(Filter::default().sql(&schema), None);
        let sort = Sort { nulls_first: true, ..Sort::by("s", Order::Descending) };
        assert_eq!(sort.sql(), "\"s\" DESC NULLS FIRST");
    }

    #[test]
    fn numbers_are_written_as_exactly_as_they_are_typed() {
        let written = |text: &str, of: &DataType| Asked::new(String::new(), of).value(text);
        let integers = |text: &str| written(text, &DataType::UInt64);
        assert_eq!(integers("18446744073709551615"), "18446744073709551615");
        assert_eq!(integers("-7"), "-7");
        assert_eq!(integers("2.5"), "CAST('2.5' AS DOUBLE)");
        assert_eq!(integers("1e300"), "CAST('1e300' AS DOUBLE)");
        let beyond = "arrow_cast('-9223372036854775809', 'Decimal128(20, 0)')";
        assert_eq!(integers("-9223372036854775809"), beyond);
        let price = DataType::Decimal128(10, 2);
        assert_eq!(written("1.20000", &price), "arrow_cast('1.20000', 'Decimal128(10, 2)')");
        assert_eq!(written("1.205", &price), "arrow_cast('1.205', 'Decimal128(11, 3)')");
        assert_eq!(written("12345678901", &price), "arrow_cast('12345678901', 'Decimal128(13, 2)')");
        let wide = DataType::Decimal128(38, 2);
        assert_eq!(written("-.125", &wide), "arrow_cast('-.125', 'Decimal256(39, 3)')");
        assert_eq!(written("x", &wide), "arrow_cast('x', 'Decimal128(38, 2)')");
        assert_eq!(written("-1", &DataType::Decimal64(9, 0)), "arrow_cast('-1', 'Decimal64(9, 0)')");
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
