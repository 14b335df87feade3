//! Group by and pivot: rows of a table brought together by what they have alike, one column's values side by
//! side, and numbers computed of each group. It is a statement like any other: it can be shown, changed
//! and run elsewhere, and its result is a table.
//!
//! What a statement has to know before — how wide bins are, which values stand side by side — is asked of
//! the table first; [`Resolved`] is the pivot with that known.

mod resolved;
#[cfg(test)]
mod tests;

use super::catalog::TypeOverrides;
use super::diagnostic::{Failure, SqlDiagnostic};
use super::filter::Filter;
use super::plan::Only;
use super::result::QueryResult;
use super::{Engine, provider};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::Typed;
use crate::data::cell;
use crate::data::content::Table;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
pub use resolved::Resolved;
use resolved::{Expression, Side};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Values that stand side by side, where nothing else is said.
pub const SIDE_BY_SIDE: usize = 12;
/// At most so many.
const MOST: usize = 500;
/// About how many bins there are where their width is not said.
const BINS: f64 = 20.0;

/// What of a column's values makes a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum By {
    /// Each value.
    #[default]
    Value,
    /// The year of a date.
    Year,
    /// The quarter, by its first day.
    Quarter,
    /// The month of a year.
    Month,
    /// The day.
    Day,
    /// The hour of a day.
    Hour,
    /// Bins of numbers of this width; without one, of a round width that gives about twenty.
    Bins(Option<f64>),
}

impl By {
    /// All, in the order in which they are offered.
    const ALL: [By; 7] = [By::Value, By::Year, By::Quarter, By::Month, By::Day, By::Hour, By::Bins(None)];

    /// What it is called: `month`.
    pub fn words(self) -> String {
        match self {
            By::Value => "each value".to_owned(),
            By::Year => "year".to_owned(),
            By::Quarter => "quarter".to_owned(),
            By::Month => "month".to_owned(),
            By::Day => "day".to_owned(),
            By::Hour => "hour".to_owned(),
            By::Bins(None) => "bins".to_owned(),
            By::Bins(Some(width)) => format!("bins of {}", plain_number(width)),
        }
    }

    /// What columns of a type can be grouped by; nothing for lists, structs and the like.
    pub fn of(data_type: &DataType) -> Vec<By> {
        let data_type = plain(data_type);
        let fits = |by: &By| match by {
            By::Value => !data_type.is_nested() && !matches!(data_type, DataType::Union(..)),
            By::Year | By::Quarter | By::Month | By::Day => {
                matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
            }
            By::Hour => matches!(data_type, DataType::Timestamp(..)),
            By::Bins(_) => data_type.is_numeric(),
        };
        By::ALL.into_iter().filter(fits).collect()
    }
}

/// A column, and how it is grouped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// The column as queries call it ([`super::column_names`]).
    pub column: String,
    /// What makes a group.
    pub by: By,
}

/// What is computed of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Aggregate {
    /// Rows, or cells that are not null.
    Count,
    /// Different values.
    Distinct,
    /// The sum; of truth values how many are true.
    Sum,
    /// The mean; of truth values the share that is true.
    Mean,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The value in the middle.
    Median,
    /// The standard deviation of a sample.
    Std,
}

impl Aggregate {
    /// All of them.
    const ALL: [Aggregate; 8] = [
        Aggregate::Count,
        Aggregate::Distinct,
        Aggregate::Sum,
        Aggregate::Mean,
        Aggregate::Min,
        Aggregate::Max,
        Aggregate::Median,
        Aggregate::Std,
    ];

    /// What it is called.
    pub fn words(self) -> &'static str {
        match self {
            Aggregate::Count => "count",
            Aggregate::Distinct => "count distinct",
            Aggregate::Sum => "sum",
            Aggregate::Mean => "mean",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::Median => "median",
            Aggregate::Std => "std",
        }
    }

    /// What can be computed of columns of a type.
    pub fn of(data_type: &DataType) -> Vec<Aggregate> {
        let data_type = plain(data_type);
        let fits = |aggregate: &Aggregate| match aggregate {
            Aggregate::Count => true,
            Aggregate::Distinct | Aggregate::Min | Aggregate::Max => {
                !data_type.is_nested() && !matches!(data_type, DataType::Union(..))
            }
            Aggregate::Sum | Aggregate::Mean => data_type.is_numeric() || *data_type == DataType::Boolean,
            Aggregate::Median | Aggregate::Std => data_type.is_numeric(),
        };
        Aggregate::ALL.into_iter().filter(fits).collect()
    }
}

/// A number of each group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// How it is computed.
    pub aggregate: Aggregate,
    /// Of which column; without one, rows are counted.
    pub column: Option<String>,
}

impl Measure {
    /// How many rows.
    pub fn rows() -> Self {
        Measure { aggregate: Aggregate::Count, column: None }
    }

    /// A few words: `sum(fare)`.
    pub fn words(&self) -> String {
        match (&self.column, self.aggregate) {
            (None, _) => "rows".to_owned(),
            (Some(column), Aggregate::Distinct) => format!("distinct({column})"),
            (Some(column), aggregate) => format!("{}({column})", aggregate.words()),
        }
    }
}

/// What a table is grouped by, and what is computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pivot {
    /// Each group is a row of the result.
    pub rows: Vec<Key>,
    /// Its values stand side by side.
    pub across: Option<Key>,
    /// What is computed; nothing counts rows.
    pub values: Vec<Measure>,
    /// How many values stand side by side at most, the most frequent ones; the others are one more.
    pub most: Option<usize>,
}

impl Pivot {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.across.is_none() && self.values.is_empty()
    }

    /// Leaves out what columns of these names and types cannot do.
    pub fn fit(&mut self, schema: &SchemaRef) {
        let schema = provider::plain_schema(schema);
        let of = |name: &str| schema.field_with_name(name).ok().map(|field| field.data_type().clone());
        let same = |a: &By, b: &By| std::mem::discriminant(a) == std::mem::discriminant(b);
        let key =
            |key: &Key| of(&key.column).is_some_and(|kind| By::of(&kind).iter().any(|by| same(by, &key.by)));
        self.rows.retain(key);
        self.across = self.across.take().filter(key);
        self.values.retain(|measure| match &measure.column {
            None => true,
            Some(name) => of(name).is_some_and(|kind| Aggregate::of(&kind).contains(&measure.aggregate)),
        });
    }
}

/// The type of a dictionary's values, or the type itself.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// A table with its columns of text as the types that they were guessed to be: what pivots are made of.
pub fn typed(engine: &Engine, table: &Arc<dyn Table>) -> SchemaRef {
    provider::plain_schema(Asked::new(engine, table).table.schema())
}

/// A pivot's result.
pub struct Pivoted {
    /// The groups, sorted.
    pub answer: Arc<QueryResult>,
    /// What was asked.
    pub resolved: Resolved,
    table: Arc<dyn Table>,
}

/// Groups a table's rows that a filter lets through. Returns when the result is whole.
///
/// # Errors
/// A mistake in the filter's own expression; what reading the table gives; too little memory.
pub fn pivoted(
    engine: &Engine,
    task: &Task,
    table: &Arc<dyn Table>,
    filter: &Filter,
    pivot: &Pivot,
) -> Result<Pivoted, Failure> {
    again(engine, table, |asked| {
        let resolved = asked.resolved(engine, task, filter, pivot)?;
        let answer = asked.run(engine, task, &resolved.sql(TABLE))?;
        Ok(Pivoted { answer, resolved, table: table.clone() })
    })
}

impl Pivoted {
    /// The same numbers of all rows together, as texts: one for each column of the result, none for those
    /// that name the groups. A pass over the table of its own.
    ///
    /// # Errors
    /// As [`pivoted`].
    pub fn totals(&self, engine: &Engine, task: &Task) -> Result<Vec<Option<String>>, Failure> {
        let sql = self.resolved.totals(TABLE);
        let row = again(engine, &self.table, |asked| asked.one(engine, task, &sql))?;
        let names = self.resolved.groups();
        let cells = row.columns().iter().map(|column| cell::text(column.as_ref(), 0));
        Ok(std::iter::repeat_n(None, names).chain(cells).collect())
    }
}

/// How a statement over one table calls it.
const TABLE: &str = "\"table\"";

/// Why a step ended early.
enum StepError {
    /// A guessed type turned out wrong; the next one is wider.
    Again,
    Failed(Failure),
}

impl From<Failure> for StepError {
    fn from(failure: Failure) -> Self {
        StepError::Failed(failure)
    }
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        StepError::Failed(error.into())
    }
}

/// Does it until no guessed type is in the way.
fn again<T>(
    engine: &Engine,
    table: &Arc<dyn Table>,
    work: impl Fn(&Asked) -> Result<T, StepError>,
) -> Result<T, Failure> {
    loop {
        match work(&Asked::new(engine, table)) {
            Ok(done) => return Ok(done),
            Err(StepError::Again) => {}
            Err(StepError::Failed(failure)) => return Err(failure),
        }
    }
}

/// A table as the engine gets it.
struct Asked {
    table: Arc<dyn Table>,
    guessed: Option<(TypeOverrides, Arc<Typed>)>,
}

impl Asked {
    fn new(engine: &Engine, table: &Arc<dyn Table>) -> Self {
        if !table.is_inferred() {
            return Asked { table: table.clone(), guessed: None };
        }
        let guesses = engine.catalog.guesses(table);
        let typed = Arc::new(Typed::strict(table.clone(), &guesses.lock()));
        Asked { table: typed.clone(), guessed: Some((guesses, typed)) }
    }

    /// Runs a statement to its end.
    fn run(&self, engine: &Engine, task: &Task, sql: &str) -> Result<Arc<QueryResult>, StepError> {
        let only = Only { table: &self.table, row: None };
        let answer = Arc::new(engine.start_over(task, sql, only, self.guessed.clone())?);
        match answer.wait(task) {
            Ok(()) => Ok(answer),
            Err(error) if !error.is_cancelled() && answer.widen() => Err(StepError::Again),
            Err(error) => Err(error.into()),
        }
    }

    /// The rows of a small result.
    fn all(&self, engine: &Engine, task: &Task, sql: &str) -> Result<RecordBatch, StepError> {
        let answer = self.run(engine, task, sql)?;
        let columns: Vec<usize> = (0..answer.schema().fields().len()).collect();
        Ok(answer.read(task, 0..answer.rows().number(), &columns)?)
    }

    fn one(&self, engine: &Engine, task: &Task, sql: &str) -> Result<RecordBatch, StepError> {
        let rows = self.all(engine, task, sql)?;
        if rows.num_rows() != 1 {
            return Err(Error::bug(format!("an aggregate of {} rows", rows.num_rows())).into());
        }
        Ok(rows)
    }

    /// Asks for what the statement has to know.
    fn resolved(
        &self,
        engine: &Engine,
        task: &Task,
        filter: &Filter,
        pivot: &Pivot,
    ) -> Result<Resolved, StepError> {
        let schema = provider::plain_schema(self.table.schema());
        let condition = filter.sql(&schema);
        let find = |name: &str| {
            let field = schema.field_with_name(name).ok();
            let missing = || SqlDiagnostic::new(format!("there is no column {name:?} any more"));
            field.map(|field| field.data_type().clone()).ok_or_else(missing).map_err(Failure::from)
        };
        let mut made = Vec::new();
        for key in pivot.rows.iter().chain(&pivot.across) {
            let data_type = find(&key.column)?;
            let width = match key.by {
                By::Bins(None) => self.width(engine, task, key, &data_type, condition.as_deref())?,
                By::Bins(Some(width)) if width > 0.0 && width.is_finite() => width,
                _ => 1.0,
            };
            made.push(Expression::new(key, &data_type, width));
        }
        let across = pivot.across.as_ref().and_then(|_| made.pop());
        let counted = [Measure::rows()];
        let values = if pivot.values.is_empty() { &counted[..] } else { &pivot.values[..] };
        let mut measures = Vec::new();
        for measure in values {
            let data_type = measure.column.as_deref().map(find).transpose()?;
            measures.push((measure.words(), resolved::measure(measure, data_type.as_ref())));
        }
        let most = pivot.most.unwrap_or(SIDE_BY_SIDE).clamp(1, MOST);
        let side = match across {
            Some(key) => Some(self.side(engine, task, key, condition.as_deref(), most)?),
            None => None,
        };
        Ok(Resolved::new(made, side, &measures, condition))
    }

    /// A round width for bins.
    fn width(
        &self,
        engine: &Engine,
        task: &Task,
        key: &Key,
        data_type: &DataType,
        condition: Option<&str>,
    ) -> Result<f64, StepError> {
        let sql = resolved::ends(&key.column, data_type, TABLE, condition);
        let row = self.one(engine, task, &sql)?;
        let end = |at: usize| -> Option<f64> {
            cell::text(row.columns().get(at)?.as_ref(), 0)?.parse().ok().filter(|n: &f64| n.is_finite())
        };
        let span = end(1).zip(end(0)).map_or(0.0, |(high, low)| high - low);
        let whole = plain(data_type).is_integer();
        Ok(round_width(span / BINS, whole))
    }

    /// The values that stand side by side.
    fn side(
        &self,
        engine: &Engine,
        task: &Task,
        key: Expression,
        condition: Option<&str>,
        most: usize,
    ) -> Result<Side, StepError> {
        let found = self.all(engine, task, &resolved::frequent(&key, TABLE, condition, most))?;
        let columns = found.columns();
        let [keys, shown, count] = columns else {
            return Err(Error::bug("a list of values with other columns").into());
        };
        let text = |array: &arrow::array::ArrayRef, row| cell::text(array.as_ref(), row);
        let values = (0..found.num_rows()).map(|row| (text(keys, row), text(shown, row))).collect();
        let all = text(count, 0).and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(Side { key, data_type: keys.data_type().clone(), values, all })
    }
}

/// A number without an empty fraction.
fn plain_number(number: f64) -> String {
    let text = cell::float64(number);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The next round number from `width` on: 1, 2 or 5 times a power of ten.
fn round_width(width: f64, whole: bool) -> f64 {
    if !(width.is_finite() && width > 0.0) {
        return 1.0;
    }
    let power = 10f64.powi(width.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0];
    let round = steps.into_iter().map(|n| n * power).find(|n| *n >= width * 0.999_999).unwrap_or(power);
    if whole { round.max(1.0) } else { round }
}
