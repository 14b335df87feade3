//! The points of a plot, read by a job.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Table;
use gander::data::stats::{Binning, Counter};

use super::axis::{Scale, is_number};

/// The most rows of a plot.
const MOST: u64 = 50_000;
/// Of more rows so many runs are read, evenly spread.
const RUNS: u64 = 50;
/// The bars of a histogram.
const BINS: usize = 40;
/// Values that get a colour of their own.
const COLOURS: usize = 12;

/// Which columns.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct PlotSpec {
    /// None for the number of the row.
    pub(super) x: Option<usize>,
    pub(super) y: usize,
    /// The column whose values have colours.
    pub(super) by: Option<usize>,
    /// The values of `y` are counted.
    pub(super) histogram: bool,
}

/// Points of one colour.
pub(super) struct Group {
    /// Empty where there is only one.
    pub(super) name: String,
    pub(super) points: Vec<[f64; 2]>,
}

/// What is plotted.
pub(super) struct Series {
    pub(super) spec: PlotSpec,
    pub(super) groups: Vec<Group>,
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// The room of a bar.
    pub(super) step: f64,
    /// Rows that were looked at.
    pub(super) rows: u64,
    /// Rows without a value.
    pub(super) skipped: u64,
    /// Values of the colour that have none.
    pub(super) more: usize,
}

impl Series {
    /// How many points there are.
    pub(super) fn points(&self) -> usize {
        self.groups.iter().map(|group| group.points.len()).sum()
    }

    /// The least and the greatest x.
    pub(super) fn span(&self) -> (f64, f64) {
        let all = self.groups.iter().flat_map(|group| &group.points);
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[0]), high.max(p[0])))
    }
}

/// Reads the points of `rows` rows.
pub(super) fn read(task: &Task, table: &dyn Table, spec: &PlotSpec, rows: u64) -> Result<Series> {
    let columns: Vec<usize> = [Some(spec.y), spec.x, spec.by].into_iter().flatten().collect();
    let fields = table.schema().fields();
    let kind = |column: usize| -> Result<DataType> {
        let field = fields.get(column).ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
        Ok(field.data_type().clone())
    };
    let y_scale = Scale::of(&kind(spec.y)?);
    let x_kind = spec.x.map(kind).transpose()?;
    let by_name = x_kind.as_ref().is_some_and(|kind| !is_number(kind));
    let mut taken = Taken { one_place: spec.by.is_some(), ..Taken::default() };
    for run in runs(rows) {
        task.check()?;
        let batch = table.read(task, run.clone(), &columns)?;
        let column = |n: usize| batch.columns().get(n).cloned();
        let ys = floats(&column(0).ok_or_else(|| Error::bug("a plot without values"))?)?;
        let xs = if spec.x.is_some() { column(1) } else { None };
        let by = spec.by.and_then(|_| column(columns.len() - 1));
        let numbers = match (&xs, by_name) {
            (Some(xs), false) => Some(floats(xs)?),
            _ => None,
        };
        for (n, &y) in ys.iter().enumerate() {
            let name = |array: &Option<ArrayRef>| {
                array.as_ref().map(|array| cell::text(array.as_ref(), n).unwrap_or_else(|| "null".to_owned()))
            };
            let x = match (&numbers, by_name) {
                (Some(numbers), _) => numbers.get(n).copied().unwrap_or(f64::NAN),
                (None, true) => taken.place(name(&xs).unwrap_or_default()),
                (None, false) => (run.start + n as u64) as f64,
            };
            taken.point(name(&by), [x, y]);
        }
    }
    let x = match (x_kind, by_name) {
        (Some(_), true) => Scale::Names(Arc::new(std::mem::take(&mut taken.names))),
        (Some(kind), false) => Scale::of(&kind),
        (None, _) => Scale::Number { whole: true },
    };
    Ok(if spec.histogram { counted(spec, &taken, y_scale) } else { taken.done(spec, x, y_scale) })
}

/// The rows that are looked at.
fn runs(rows: u64) -> Vec<std::ops::Range<u64>> {
    if rows <= MOST {
        return std::iter::once(0..rows).collect();
    }
    let len = MOST / RUNS;
    (0..RUNS).map(|run| (rows - len) / (RUNS - 1) * run).map(|start| start..start + len).collect()
}

/// What was read so far.
#[derive(Default)]
struct Taken {
    groups: Vec<Group>,
    known: HashMap<String, usize>,
    /// Names along x.
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// The same name stands at the same place, not at the next one.
    one_place: bool,
    rows: u64,
    skipped: u64,
    more: std::collections::HashSet<String>,
}

impl Taken {
    /// Where a name stands along x.
    fn place(&mut self, name: String) -> f64 {
        if self.one_place
            && let Some(place) = self.places.get(&name)
        {
            return *place as f64;
        }
        self.places.insert(name.clone(), self.names.len());
        self.names.push(name);
        (self.names.len() - 1) as f64
    }

    fn point(&mut self, by: Option<String>, point: [f64; 2]) {
        self.rows += 1;
        if !point[0].is_finite() || !point[1].is_finite() {
            self.skipped += 1;
            return;
        }
        let name = by.unwrap_or_default();
        let group = match self.known.get(&name) {
            Some(group) => *group,
            None if self.groups.len() < COLOURS => {
                self.known.insert(name.clone(), self.groups.len());
                self.groups.push(Group { name, points: Vec::new() });
                self.groups.len() - 1
            }
            None => {
                self.more.insert(name);
                return;
            }
        };
        if let Some(group) = self.groups.get_mut(group) {
            group.points.push(point);
        }
    }

    fn done(mut self, spec: &PlotSpec, x: Scale, y: Scale) -> Series {
        if self.known.len() > 1 {
            self.groups.sort_by(|a, b| a.name.cmp(&b.name));
        }
        // A line goes from left to right, whatever the order of the rows.
        if spec.x.is_some() && !matches!(x, Scale::Names(_)) {
            self.groups.iter_mut().for_each(|g| g.points.sort_by(|a, b| a[0].total_cmp(&b[0])));
        }
        let step = match x {
            Scale::Names(_) => 1.0,
            _ => least_gap(&self.groups),
        };
        Series {
            spec: spec.clone(),
            groups: self.groups,
            x,
            y,
            step,
            rows: self.rows,
            skipped: self.skipped,
            more: self.more.len(),
        }
    }
}

/// The least distance between two different places.
fn least_gap(groups: &[Group]) -> f64 {
    let mut xs: Vec<f64> = groups.iter().flat_map(|group| group.points.iter().map(|p| p[0])).collect();
    xs.sort_by(f64::total_cmp);
    let gaps = xs.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    let least = gaps.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 1.0 }
}

/// How many values lie in each of some steps.
fn counted(spec: &PlotSpec, taken: &Taken, scale: Scale) -> Series {
    let values = || taken.groups.iter().flat_map(|group| group.points.iter().map(|p| p[1]));
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    // Few whole numbers get a bar each, in whose middle they stand.
    let whole = matches!(scale, Scale::Number { whole: true });
    let (low, high, bins) = match high - low {
        span if whole && span < BINS as f64 => (low - 0.5, high + 0.5, span as usize + 1),
        span if span > 0.0 => (low, high, BINS),
        _ => (low - 0.5, low + 0.5, 1),
    };
    let mut counter = Counter::of_numbers(low, high, Binning::Exactly(bins));
    counter.add(&values().collect::<Vec<_>>(), 1);
    let counted = counter.finish();
    let step = (high - low) / bins as f64;
    let middle = |n: usize| low + step * (n as f64 + 0.5);
    let points = counted.counts.iter().enumerate().map(|(n, &count)| [middle(n), count as f64]).collect();
    let any = taken.rows > taken.skipped;
    Series {
        spec: spec.clone(),
        groups: if any { vec![Group { name: String::new(), points }] } else { Vec::new() },
        x: scale,
        y: Scale::Number { whole: true },
        step,
        rows: taken.rows,
        skipped: taken.skipped,
        more: 0,
    }
}

/// The numbers of a column; NaN for those that are missing.
fn floats(array: &ArrayRef) -> Result<Vec<f64>> {
    let whole = match array.data_type() {
        DataType::Date32 | DataType::Time32(_) => arrow::compute::cast(array, &DataType::Int32)?,
        kind if kind.is_temporal() => arrow::compute::cast(array, &DataType::Int64)?,
        _ => array.clone(),
    };
    let floats = arrow::compute::cast(&whole, &DataType::Float64)?;
    Ok(floats.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)).collect())
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
    use gander::data::content::table::MemoryTable;

    use super::*;

    fn table() -> MemoryTable {
        let batch = RecordBatch::try_from_iter([
            ("zone", Arc::new(StringArray::from(vec![Some("b"), Some("a"), None, Some("b")])) as ArrayRef),
            ("fare", Arc::new(Float64Array::from(vec![Some(3.0), Some(1.0), Some(2.0), None]))),
            ("n", Arc::new(Int64Array::from(vec![4, 2, 2, 5]))),
        ]);
        MemoryTable::new(batch.unwrap())
    }

    fn plotted(x: Option<usize>, y: usize, by: Option<usize>, histogram: bool) -> Series {
        read(&Task::new(), &table(), &PlotSpec { x, y, by, histogram }, 4).unwrap()
    }

    #[test]
    fn names_are_places_and_missing_values_are_left_out() {
        let series = plotted(Some(0), 1, None, false);
        assert_eq!((series.points(), series.skipped), (3, 1));
        assert_eq!(series.groups[0].points, [[0.0, 3.0], [1.0, 1.0], [2.0, 2.0]]);
        assert_eq!(series.x.text(2.0), "null");
    }

    #[test]
    fn colours_part_the_points_and_places_are_shared() {
        let series = plotted(Some(2), 1, Some(0), false);
        let names: Vec<&str> = series.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "null"]);
        assert_eq!(series.step, 2.0);
        let series = plotted(Some(0), 2, Some(0), false);
        assert_eq!(series.groups[1].points, [[0.0, 4.0], [0.0, 5.0]], "both b at one place");
    }

    #[test]
    fn whole_numbers_get_a_bar_each() {
        let series = plotted(None, 2, None, true);
        assert_eq!(series.groups[0].points, [[2.0, 2.0], [3.0, 0.0], [4.0, 1.0], [5.0, 1.0]]);
    }

    #[test]
    fn a_sample_is_spread_over_all_rows() {
        let runs = runs(20_000_000);
        assert_eq!(runs.iter().map(|run| run.end - run.start).sum::<u64>(), MOST);
        assert!(runs.last().unwrap().end > 19_900_000 && runs.iter().all(|run| run.end <= 20_000_000));
    }
}
