//! Curves: numbers that a training run logs while it goes on, by tag and step, of one or several runs. What the columns
//! of a table are to them ([`Presentation`]), the values themselves ([`read`]), smoothing ([`smooth`]) and the points of
//! a picture ([`plot`]).

pub mod histograms;
pub mod plot;
pub mod smooth;
#[cfg(test)]
mod tests;

use crate::bytes::cache::Reservation;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Rows, Table};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use std::collections::HashMap;
use std::sync::Arc;

/// How the table of a node is looked at first, where that is not as rows: what its columns are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presentation {
    /// Curves over steps.
    Curves(CurveColumns),
    /// The distribution of something, step by step.
    Histograms(histograms::HistogramColumns),
}

/// Which columns of a table hold curves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurveColumns {
    /// A row is one value.
    Rows {
        /// The name of the run; without it all rows are of one.
        run: Option<usize>,
        /// The name of what was measured; without it all rows are of one.
        tag: Option<usize>,
        /// The step.
        step: usize,
        /// Seconds since 1970.
        wall_time: Option<usize>,
        /// Seconds since the run began.
        relative_time: Option<usize>,
        /// The value.
        value: usize,
    },
    /// A row is what was logged at one step: a column for each tag, which is called as the column is.
    Columns {
        /// The step.
        step: usize,
        /// The values.
        values: Vec<usize>,
    },
}

/// The most points that are kept of all curves together; of more the least and the greatest of each bucket are.
pub const POINTS: usize = 4 << 20;
/// The most curves; names come from a file.
const SERIES: usize = 100_000;
/// Rows that are read at once.
const STEP: u64 = 65_536;
/// The bytes of a kept point.
const POINT: usize = 24;

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The step.
    pub step: i64,
    /// Seconds since 1970; NaN where nobody wrote them down.
    pub wall_time: f64,
    /// The value.
    pub value: f64,
}

/// What one run logged of one tag, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The place of its run in [`Curves::runs`].
    pub run: usize,
    /// The points; of very many the least and the greatest of each `2 × every`.
    pub points: Vec<Point>,
    /// How many values a kept point stands for.
    pub every: usize,
    /// When the run began, in seconds since 1970; NaN where that is not known.
    pub start: f64,
    /// How many values there are.
    pub count: u64,
    /// How many of them are NaN, or missing.
    pub nan: u64,
    /// How many are infinite.
    pub infinite: u64,
    bucket: Option<Bucket>,
}

/// A bucket of values that is not at its end: the least and the greatest, each with its place, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    low: (usize, Point),
    high: (usize, Point),
    seen: usize,
}

/// The curves of one tag.
#[derive(Clone, Debug, Default)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// One for each run that has it.
    pub series: Vec<Series>,
}

/// The curves of a table.
#[derive(Debug, Default)]
pub struct Curves {
    /// By name, in natural order; those of columns in the order of these.
    pub tags: Vec<Arc<Tag>>,
    /// The runs, in the order of the table; one without a name where the table names none.
    pub runs: Vec<String>,
    /// Rows that were read.
    pub rows: u64,
    /// Whether that is all of them.
    pub whole: bool,
    /// Whether values have times.
    pub timed: bool,
    /// Values of curves that were too many to be kept.
    pub left_out: u64,
    _memory: Reservation,
}

impl Series {
    fn push(&mut self, point: Point) {
        self.count += 1;
        self.nan += u64::from(point.value.is_nan());
        self.infinite += u64::from(point.value.is_infinite());
        if self.every <= 1 {
            self.points.push(point);
            return;
        }
        if !point.value.is_finite() {
            return;
        }
        let new = Bucket { low: (0, point), high: (0, point), seen: 0 };
        let mut bucket = self.bucket.take().unwrap_or(new);
        if point.value < bucket.low.1.value {
            bucket.low = (bucket.seen, point);
        }
        if point.value > bucket.high.1.value {
            bucket.high = (bucket.seen, point);
        }
        bucket.seen += 1;
        if bucket.seen < 2 * self.every {
            self.bucket = Some(bucket);
        } else {
            self.points.extend(in_order(bucket.low, bucket.high));
        }
    }

    /// Keeps half of the points: the least and the greatest of each four.
    fn thin(&mut self) {
        let finite: Vec<Point> =
            self.points.iter().filter(|point| point.value.is_finite()).copied().collect();
        let halved = finite.chunks(4).flat_map(|four| {
            let places = || four.iter().copied().enumerate();
            let least = places().min_by(|a, b| a.1.value.total_cmp(&b.1.value));
            let greatest = places().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
            least.zip(greatest).into_iter().flat_map(|(least, greatest)| in_order(least, greatest))
        });
        self.points = halved.collect();
        self.every = self.every.max(1) * 2;
    }

    /// With what is not at the end of its bucket.
    fn ended(mut self) -> Self {
        if let Some(Bucket { low, high, .. }) = self.bucket.take() {
            self.points.extend(in_order(low, high));
        }
        self
    }
}

/// Two points as they follow each other, by their places; one where they are the same.
fn in_order(a: (usize, Point), b: (usize, Point)) -> impl Iterator<Item = Point> {
    let (first, second) = if b.0 < a.0 { (b, a) } else { (a, b) };
    std::iter::once(first.1).chain((first.0 != second.0).then_some(second.1))
}

/// Reads all curves of a table. `show` is given what there is now and then, the more seldom the more there is.
///
/// Memory: [`POINTS`] points, whatever the table has.
///
/// # Errors
/// Those of the table; `Bug` for columns that it does not have; `Cancelled`.
pub fn read(
    task: &Task,
    table: &dyn Table,
    columns: &CurveColumns,
    show: &mut dyn FnMut(Curves),
) -> Result<Curves> {
    let mut reading = Reading::of(table, columns)?;
    if let Rows::Exact(rows) = table.rows() {
        task.set_total(rows);
    }
    let picked = reading.columns();
    let (mut at, mut next) = (0_u64, STEP);
    loop {
        task.check()?;
        let batch = table.read(task, at..at.saturating_add(STEP), &picked)?;
        let rows = batch.num_rows() as u64;
        reading.take(&batch)?;
        at += rows;
        task.advance(rows)?;
        if rows < STEP {
            return Ok(reading.curves(at, true));
        }
        if at >= next {
            show(reading.clone().curves(at, false));
            next = next.saturating_mul(4);
        }
    }
}

/// What was read so far.
#[derive(Clone)]
struct Reading {
    columns: CurveColumns,
    tags: Vec<Tag>,
    runs: Vec<String>,
    tag_places: HashMap<String, usize>,
    run_places: HashMap<String, usize>,
    /// The series of a run and a tag: its place among those of the tag.
    places: HashMap<(usize, usize), usize>,
    kept: usize,
    /// The most that are kept: [`POINTS`].
    most: usize,
    /// How many values a kept point stands for.
    every: usize,
    timed: bool,
    left_out: u64,
}

impl Reading {
    fn of(table: &dyn Table, columns: &CurveColumns) -> Result<Self> {
        let mut reading = Reading {
            columns: columns.clone(),
            tags: Vec::new(),
            runs: Vec::new(),
            tag_places: HashMap::new(),
            run_places: HashMap::new(),
            places: HashMap::new(),
            kept: 0,
            most: POINTS,
            every: 1,
            timed: false,
            left_out: 0,
        };
        let fields = table.schema().fields();
        if let Some(column) = reading.columns().into_iter().find(|column| *column >= fields.len()) {
            return Err(Error::bug(format!("curves in column {column} of {}", fields.len())));
        }
        if let CurveColumns::Columns { values, .. } = columns {
            for column in values {
                let name = fields.get(*column).map_or(String::new(), |field| field.name().clone());
                reading.tags.push(Tag { name, series: Vec::new() });
            }
        }
        Ok(reading)
    }

    /// The columns that are read, in the order in which [`Reading::take`] finds them.
    fn columns(&self) -> Vec<usize> {
        match &self.columns {
            CurveColumns::Rows { run, tag, step, wall_time, relative_time, value } => {
                let optional = [*run, *tag, *wall_time, *relative_time];
                [*step, *value].into_iter().chain(optional.into_iter().flatten()).collect()
            }
            CurveColumns::Columns { step, values } => {
                std::iter::once(*step).chain(values.iter().copied()).collect()
            }
        }
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        match self.columns.clone() {
            CurveColumns::Rows { run, tag, wall_time, relative_time, .. } => {
                let mut rest = batch.columns().iter().skip(2);
                let mut next = |there: Option<usize>| there.and_then(|_| rest.next());
                let (run, tag) = (next(run), next(tag));
                let (wall, relative) = (next(wall_time), next(relative_time));
                self.take_rows(batch, [run, tag], [wall, relative])
            }
            CurveColumns::Columns { values, .. } => {
                let steps = whole(column(batch, 0)?)?;
                for place in 0..values.len() {
                    let values = floats(column(batch, place + 1)?)?;
                    for (step, value) in steps.iter().zip(values) {
                        // What was not logged at a step is no value of it.
                        if let (Some(step), Some(value)) = (step, value) {
                            self.push(0, place, Point { step: *step, wall_time: f64::NAN, value }, f64::NAN);
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn take_rows(
        &mut self,
        batch: &RecordBatch,
        names: [Option<&ArrayRef>; 2],
        times: [Option<&ArrayRef>; 2],
    ) -> Result<()> {
        let (steps, values) = (whole(column(batch, 0)?)?, floats(column(batch, 1)?)?);
        let [runs, tags] = names.map(|array| array.map(texts).transpose());
        let (runs, tags) = (runs?, tags?);
        let [walls, relatives] = times.map(|array| array.map(floats).transpose());
        let (walls, relatives) = (walls?, relatives?);
        let time = |of: &Option<Vec<Option<f64>>>, row: usize| {
            of.as_ref().and_then(|times| times.get(row).copied().flatten()).unwrap_or(f64::NAN)
        };
        for (row, (step, value)) in steps.iter().zip(values).enumerate() {
            let name = |of: &Option<StringArray>| match of {
                Some(names) if row < names.len() && names.is_valid(row) => names.value(row).to_owned(),
                _ => String::new(),
            };
            let Some(step) = *step else { continue };
            let (run, tag) = (self.run(&name(&runs)), self.tag(&name(&tags)));
            let wall_time = time(&walls, row);
            self.timed |= !wall_time.is_nan();
            let point = Point { step, wall_time, value: value.unwrap_or(f64::NAN) };
            self.push(run, tag, point, wall_time - time(&relatives, row));
        }
        Ok(())
    }

    fn run(&mut self, name: &str) -> usize {
        if let Some(place) = self.run_places.get(name) {
            return *place;
        }
        self.runs.push(name.to_owned());
        self.run_places.insert(name.to_owned(), self.runs.len() - 1);
        self.runs.len() - 1
    }

    fn tag(&mut self, name: &str) -> usize {
        if let Some(place) = self.tag_places.get(name) {
            return *place;
        }
        if self.tags.len() >= SERIES {
            return usize::MAX;
        }
        self.tags.push(Tag { name: name.to_owned(), series: Vec::new() });
        self.tag_places.insert(name.to_owned(), self.tags.len() - 1);
        self.tags.len() - 1
    }

    /// Adds a value; `start` is when its run began.
    fn push(&mut self, run: usize, tag: usize, point: Point, start: f64) {
        let (many, every) = (self.places.len(), self.every);
        let Some(of) = self.tags.get_mut(tag) else {
            self.left_out += 1;
            return;
        };
        let place = match self.places.get(&(run, tag)) {
            Some(place) => *place,
            None if many >= SERIES => {
                self.left_out += 1;
                return;
            }
            None => {
                let start = if start.is_nan() { point.wall_time } else { start };
                of.series.push(Series { run, start, every, ..Series::default() });
                self.places.insert((run, tag), of.series.len() - 1);
                of.series.len() - 1
            }
        };
        let Some(series) = of.series.get_mut(place) else { return };
        let before = series.points.len();
        series.push(point);
        self.kept += series.points.len() - before;
        if self.kept > self.most {
            self.every *= 2;
            self.kept = 0;
            for series in self.tags.iter_mut().flat_map(|tag| &mut tag.series) {
                series.thin();
                self.kept += series.points.len();
            }
        }
    }

    fn curves(mut self, rows: u64, whole: bool) -> Curves {
        if matches!(self.columns, CurveColumns::Rows { .. }) {
            self.tags.sort_by(|a, b| display::natural_order(&a.name, &b.name));
        }
        if self.runs.is_empty() {
            self.runs.push(String::new());
        }
        let tag = |mut tag: Tag| {
            tag.series = tag.series.into_iter().map(Series::ended).collect();
            tag.series.sort_by_key(|series| series.run);
            Arc::new(tag)
        };
        Curves {
            tags: self.tags.into_iter().filter(|tag| !tag.series.is_empty()).map(tag).collect(),
            runs: self.runs,
            rows,
            whole,
            timed: self.timed,
            left_out: self.left_out,
            _memory: Reservation::new(self.kept * POINT),
        }
    }
}

fn column(batch: &RecordBatch, n: usize) -> Result<&ArrayRef> {
    batch.columns().get(n).ok_or_else(|| Error::bug("a column of curves was not read"))
}

/// Steps; those that are not whole numbers by their whole part.
fn whole(array: &ArrayRef) -> Result<Vec<Option<i64>>> {
    if array.data_type().is_floating() {
        return Ok(floats(array)?.into_iter().map(|step| step.map(|step| step as i64)).collect());
    }
    Ok(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().iter().collect())
}

fn floats(array: &ArrayRef) -> Result<Vec<Option<f64>>> {
    Ok(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().iter().collect())
}

fn texts(array: &ArrayRef) -> Result<StringArray> {
    Ok(cast(array, &DataType::Utf8)?.as_string::<i32>().clone())
}

impl CurveColumns {
    /// The columns of a table of which each is a tag: all numbers but the step, which is called so in the format.
    /// `None` where there is no such step, or nothing beside it. `also` names other columns that say where a row
    /// stands, as an epoch does.
    pub fn of_columns(table: &dyn Table, step: &str, also: &[&str]) -> Option<Self> {
        let fields = table.schema().fields();
        let place = fields.iter().position(|field| field.name() == step && field.data_type().is_numeric())?;
        let is_tag = |(n, field): &(usize, &arrow::datatypes::FieldRef)| {
            *n != place && field.data_type().is_numeric() && !also.contains(&field.name().as_str())
        };
        let values: Vec<usize> = fields.iter().enumerate().filter(is_tag).map(|(n, _)| n).collect();
        (!values.is_empty()).then_some(CurveColumns::Columns { step: place, values })
    }
}
