//! A pivot as SQL.

use super::super::filter::{Asked, Test};
use super::super::{names, quoted};
use super::{Aggregate, By, Key, Measure, plain, plain_number};
use arrow::datatypes::DataType;

/// Of a longer value so many characters become a column's name.
const NAME: usize = 60;

/// A key as the statement computes it.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    /// What it is called.
    name: String,
    /// What rows are grouped by.
    group: String,
    /// What is shown of it.
    shown: String,
}

impl Expression {
    /// Bins are `width` wide.
    pub(super) fn new(key: &Key, data_type: &DataType, width: f64) -> Self {
        let place = quoted(&key.column);
        let truncated = |part: &str| format!("date_trunc('{part}', {place})");
        let (group, shown) = match key.by {
            By::Value => (place.clone(), place.clone()),
            By::Year => {
                let year = format!("date_part('year', {place})");
                (year.clone(), year)
            }
            By::Quarter => (truncated("quarter"), format!("CAST({} AS DATE)", truncated("quarter"))),
            By::Month => (truncated("month"), format!("to_char({}, '%Y-%m')", truncated("month"))),
            By::Day if matches!(data_type, DataType::Date32) => (place.clone(), place.clone()),
            By::Day => (truncated("day"), format!("CAST({} AS DATE)", truncated("day"))),
            By::Hour => (truncated("hour"), truncated("hour")),
            By::Bins(_) => {
                let bin = bin(&number(&place, data_type), width, plain(data_type).is_integer());
                (bin.clone(), bin)
            }
        };
        let name = match key.by {
            By::Value => key.column.clone(),
            By::Bins(_) => format!("{} (bins of {})", key.column, plain_number(width)),
            by => format!("{} ({})", key.column, by.words()),
        };
        Expression { name, group, shown }
    }
}

/// A column as a floating point number.
fn number(place: &str, data_type: &DataType) -> String {
    match data_type {
        DataType::Float64 => place.to_owned(),
        _ => format!("CAST({place} AS DOUBLE)"),
    }
}

/// The lower end of the bin in which a number lies.
fn bin(number: &str, width: f64, whole: bool) -> String {
    let parts = (1.0 / width).round();
    // Tenths and hundredths are divided by a whole number, so that 3 of them are 0.3.
    let bin = if width < 1.0 && (parts * width - 1.0).abs() < 1e-9 {
        format!("floor({number} * {parts:?}) / {parts:?}")
    } else {
        format!("floor({number} / {width:?}) * {width:?}")
    };
    if whole && width.fract() == 0.0 { format!("CAST({bin} AS BIGINT)") } else { bin }
}

/// The statement for the least and the largest number.
pub(super) fn ends(column: &str, data_type: &DataType, from: &str, condition: Option<&str>) -> String {
    let place = quoted(column);
    let number = number(&place, data_type);
    let mut conditions: Vec<String> = condition.map(|c| format!("({c}\n)")).into_iter().collect();
    if matches!(plain(data_type), DataType::Float16 | DataType::Float32 | DataType::Float64) {
        // Neither NaN nor infinite.
        conditions.push(format!("abs({number}) < 1e308"));
    }
    format!("SELECT min({number}), max({number})\nFROM {from}{}", filtered(&conditions))
}

/// The statement for the most frequent values, sorted by value: the value, what is shown of it, and how many
/// different ones there are in all.
pub(super) fn frequent(key: &Expression, from: &str, condition: Option<&str>, most: usize) -> String {
    let conditions: Vec<String> = condition.map(str::to_owned).into_iter().collect();
    let (group, shown) = (&key.group, &key.shown);
    format!(
        "SELECT k, s, c FROM (\n  SELECT {group} AS k, {shown} AS s, count(*) AS n, count(*) OVER () AS c\n  \
         FROM {from}{}\n  GROUP BY {group}\n  ORDER BY n DESC, k ASC NULLS LAST\n  LIMIT {most}\n)\nORDER \
         BY k ASC NULLS LAST",
        filtered(&conditions)
    )
}

fn filtered(conditions: &[String]) -> String {
    if conditions.is_empty() { String::new() } else { format!("\nWHERE {}", conditions.join(" AND ")) }
}

/// What is computed, as SQL; for a column of this type.
pub(super) fn measure(measure: &Measure, data_type: Option<&DataType>) -> String {
    let (Some(column), Some(data_type)) = (&measure.column, data_type) else { return "count(*)".to_owned() };
    let kind = plain(data_type);
    let place = match kind == data_type {
        true => quoted(column),
        // The engine computes with values, not with their places in a dictionary.
        false => format!("arrow_cast({}, '{kind}')", quoted(column)),
    };
    let counted = if *kind == DataType::Boolean { format!("CAST({place} AS INT)") } else { place.clone() };
    match measure.aggregate {
        Aggregate::Count => format!("count({place})"),
        Aggregate::Distinct => format!("count(DISTINCT {place})"),
        // The engine's sum of large integers would begin anew at the other end.
        Aggregate::Sum if matches!(kind, DataType::Int64 | DataType::UInt64) => {
            format!("sum(CAST({place} AS DECIMAL(38, 0)))")
        }
        Aggregate::Sum => format!("sum({counted})"),
        Aggregate::Mean => format!("avg({counted})"),
        Aggregate::Min => format!("min({place})"),
        Aggregate::Max => format!("max({place})"),
        // Of two whole numbers in the middle the engine would give a whole one.
        Aggregate::Median if kind.is_integer() => format!("median(CAST({place} AS DOUBLE))"),
        Aggregate::Median => format!("median({place})"),
        Aggregate::Std => format!("stddev({place})"),
    }
}

/// The values that stand side by side.
pub(super) struct Side {
    pub(super) key: Expression,
    pub(super) data_type: DataType,
    /// The value, and what is shown of it; null is none.
    pub(super) values: Vec<(Option<String>, Option<String>)>,
    /// How many different ones there are.
    pub(super) all: u64,
}

impl Side {
    /// Names and conditions: one for each value, one for all others.
    fn cells(&self) -> Vec<(String, String)> {
        let asked = Asked::new(self.key.group.clone(), &self.data_type);
        let test = |value: &Option<String>| match value {
            None => Test::Null,
            Some(text) if text == "nan" && self.data_type.is_floating() => Test::Nan,
            Some(text) => Test::Equals(text.clone()),
        };
        let mut cells = Vec::with_capacity(self.values.len() + 1);
        for (value, shown) in &self.values {
            cells.push((name(shown.as_deref()), asked.sql(&test(value))));
        }
        if self.all > self.values.len() as u64 {
            cells.push(("other".to_owned(), self.others(&asked, test)));
        }
        cells
    }

    /// The condition that a value is none of those.
    fn others(&self, asked: &Asked, test: impl Fn(&Option<String>) -> Test) -> String {
        let tests: Vec<Test> = self.values.iter().map(|(value, _)| test(value)).collect();
        let plain = tests.iter().filter_map(|test| match test {
            Test::Equals(text) => Some(Some(text.clone())),
            _ => None,
        });
        let among = asked.sql(&Test::In(plain.collect()));
        let mut parts = Vec::new();
        let null = asked.sql(&Test::Null);
        match tests.contains(&Test::Null) {
            true => parts.push(format!("NOT ({null})")),
            false => parts.push(format!("({null} OR NOT ({among}))")),
        }
        if tests.contains(&Test::Null) {
            parts.push(format!("NOT ({among})"));
        }
        if tests.contains(&Test::Nan) {
            parts.push(format!("NOT coalesce({}, FALSE)", asked.sql(&Test::Nan)));
        }
        parts.join(" AND ")
    }
}

/// A value as the name of a column.
fn name(value: Option<&str>) -> String {
    let Some(value) = value else { return "null".to_owned() };
    if value.trim().is_empty() {
        return format!("'{value}'");
    }
    let clean = value.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut name: String = clean.take(NAME).collect();
    if value.chars().nth(NAME).is_some() {
        name.push('…');
    }
    name
}

/// A pivot of which all is known.
#[derive(Clone, Debug)]
pub struct Resolved {
    rows: Vec<Expression>,
    /// Names and expressions of all columns behind those of the groups.
    columns: Vec<(String, String)>,
    condition: Option<String>,
    remark: Option<String>,
}

impl Resolved {
    pub(super) fn new(
        rows: Vec<Expression>,
        side: Option<Side>,
        measures: &[(String, String)],
        condition: Option<String>,
    ) -> Self {
        let mut columns = Vec::new();
        let mut remark = None;
        if let Some(side) = &side {
            let all = [("total".to_owned(), String::new())];
            let cells = side.cells();
            for (cell, condition) in cells.iter().chain(if cells.len() > 1 { &all[..] } else { &[] }) {
                for (name, sql) in measures {
                    let name = if measures.len() == 1 { cell.clone() } else { format!("{cell} · {name}") };
                    let sql = match condition.is_empty() {
                        true => sql.clone(),
                        false => format!("{sql} FILTER (WHERE {condition})"),
                    };
                    columns.push((name, sql));
                }
            }
            let shown = side.values.len();
            remark = (side.all > shown as u64).then(|| {
                let all = crate::bytes::display::count(side.all);
                format!(
                    "{} has {all} different values: the {shown} most frequent stand side by side, the rest is \"other\"",
                    side.key.name
                )
            });
        } else {
            columns.extend(measures.iter().cloned());
        }
        Resolved { rows, columns, condition, remark }.with_names()
    }

    /// Gives every column a name of its own.
    fn with_names(mut self) -> Self {
        let all =
            self.rows.iter().map(|row| row.name.as_str()).chain(self.columns.iter().map(|c| c.0.as_str()));
        let mut unique = names::unique(all).into_iter();
        let mut take = |name: &mut String| *name = unique.next().unwrap_or_default();
        self.rows.iter_mut().for_each(|row| take(&mut row.name));
        self.columns.iter_mut().for_each(|column| take(&mut column.0));
        self
    }

    /// How many columns name the groups: the first ones.
    pub fn groups(&self) -> usize {
        self.rows.len()
    }

    /// What a person should know of the result.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// The statement over the table called `from` (in quotes, where it needs them).
    pub fn sql(&self, from: &str) -> String {
        let mut sql = self.select(&self.rows, from);
        if !self.rows.is_empty() {
            let groups: Vec<&str> = self.rows.iter().map(|row| row.group.as_str()).collect();
            let order: Vec<String> = (1..=groups.len()).map(|n| format!("{n} ASC NULLS LAST")).collect();
            sql = format!("{sql}\nGROUP BY {}\nORDER BY {}", groups.join(", "), order.join(", "));
        }
        sql
    }

    /// The statement for all rows together.
    pub(super) fn totals(&self, from: &str) -> String {
        self.select(&[], from)
    }

    fn select(&self, rows: &[Expression], from: &str) -> String {
        let rows = rows.iter().map(|row| (&row.name, &row.shown));
        let columns = self.columns.iter().map(|(name, sql)| (name, sql));
        let one = |(name, sql): (&String, &String)| match quoted(name) == *sql {
            true => sql.clone(),
            false => format!("{sql} AS {}", quoted(name)),
        };
        let all: Vec<String> = rows.chain(columns).map(one).collect();
        let condition: Vec<String> = self.condition.clone().into_iter().collect();
        format!("SELECT\n  {}\nFROM {from}{}", all.join(",\n  "), filtered(&condition))
    }
}
