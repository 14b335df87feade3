//! The points of a picture of the curves of one tag: what lies in sight, smoothed, at most a few for each column of
//! pixels.

use super::smooth::smoothed;
use super::{Point, Series, Tag};
use crate::bytes::error::Result;
use crate::bytes::task::Task;

/// What runs along x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Across {
    /// The step.
    #[default]
    Step,
    /// Seconds since the run began.
    Relative,
    /// Seconds since 1970.
    Wall,
}

/// How curves are looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// What runs along x.
    pub across: Across,
    /// Whether heights are logarithms (to 10); values that have none are left out and counted.
    pub log: bool,
    /// How much is smoothed, see [`smoothed`].
    pub weight: f64,
    /// Whether the heights in sight are chosen without the lowest and the highest twentieth of the values.
    pub ignore_outliers: bool,
    /// The part of x that is in sight; all of it.
    pub sight: Option<(f64, f64)>,
    /// Columns of pixels.
    pub width: usize,
    /// Runs that are not drawn, by their places.
    pub hidden: Vec<usize>,
}

/// A point of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotPoint {
    /// Along x.
    pub x: f64,
    /// The height: of the value, or its logarithm.
    pub y: f64,
    /// Which point of the series it is.
    pub at: usize,
}

/// One curve in a picture.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The place of its run.
    pub run: usize,
    /// Its place among the series of the tag.
    pub series: usize,
    /// The values, in lines that are broken where there is none, and where x goes back.
    pub raw: Vec<Vec<PlotPoint>>,
    /// The smoothed values in the same way; empty without smoothing.
    pub smooth: Vec<Vec<PlotPoint>>,
}

/// A picture of the curves of one tag.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The curves.
    pub drawn: Vec<Drawn>,
    /// The least and the greatest x of all curves that are drawn, in sight or not.
    pub x: (f64, f64),
    /// The heights in sight.
    pub y: (f64, f64),
    /// Values that are NaN, infinite, and not above 0 where heights are logarithms; of all that is drawn.
    pub left_out: [u64; 3],
    /// How many values a point stands for where not all could be kept; else 1.
    pub every: usize,
}

/// Where a point lies along x.
pub fn place(point: &Point, series: &Series, across: Across) -> f64 {
    match across {
        Across::Step => point.step as f64,
        Across::Relative => point.wall_time - series.start,
        Across::Wall => point.wall_time,
    }
}

/// The picture of a tag. It has at most [`PER_COLUMN`] points for each curve and column of pixels.
///
/// # Errors
/// `Cancelled`.
pub fn picture(task: &Task, tag: &Tag, look: &Look) -> Result<Picture> {
    let shown = || tag.series.iter().enumerate().filter(|(_, series)| !look.hidden.contains(&series.run));
    let mut picture = Picture { every: 1, ..Picture::default() };
    let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
    for (_, series) in shown() {
        task.check()?;
        picture.left_out[0] += series.nan;
        picture.left_out[1] += series.infinite;
        picture.every = picture.every.max(series.every);
        for point in &series.points {
            let x = place(point, series, look.across);
            if x.is_finite() {
                (left, right) = (left.min(x), right.max(x));
            }
        }
    }
    picture.x = if left <= right { (left, right) } else { (0.0, 1.0) };
    let sight = look.sight.unwrap_or(picture.x);
    let mut heights = Vec::new();
    for (n, series) in shown() {
        task.check()?;
        let values = || series.points.iter().map(|point| point.value);
        let line = |heights_of: &dyn Fn(usize) -> f64| Line { series, look, sight }.broken(heights_of);
        let height = |value: f64| if look.log { logarithm(value) } else { value };
        let raw = line(&|at| series.points.get(at).map_or(f64::NAN, |point| height(point.value)));
        let smooth = if look.weight > 0.0 {
            let smooth = smoothed(values(), look.weight);
            line(&|at| smooth.get(at).map_or(f64::NAN, |value| height(*value)))
        } else {
            Vec::new()
        };
        if look.log {
            picture.left_out[2] += values().filter(|value| *value <= 0.0).count() as u64;
        }
        let is_seen = |point: &&Point| {
            let x = place(point, series, look.across);
            sight.0 <= x && x <= sight.1
        };
        let seen = series.points.iter().filter(is_seen).map(|point| height(point.value));
        heights.extend(seen.filter(|y| y.is_finite()));
        picture.drawn.push(Drawn { run: series.run, series: n, raw, smooth });
    }
    picture.y = span(&mut heights, look.ignore_outliers);
    Ok(picture)
}

/// The logarithm to 10; NaN for what has none.
fn logarithm(value: f64) -> f64 {
    if value > 0.0 { value.log10() } else { f64::NAN }
}

/// The least and the greatest height with some air, perhaps without the outer twentieths.
fn span(heights: &mut [f64], ignore_outliers: bool) -> (f64, f64) {
    // Of fewer values a twentieth is none.
    let (low, high) = if ignore_outliers && heights.len() >= 20 {
        match (quantile(heights, 0.05), quantile(heights, 0.95)) {
            (Some(low), Some(high)) => (low, high),
            _ => return (0.0, 1.0),
        }
    } else {
        let both = (f64::INFINITY, f64::NEG_INFINITY);
        heights.iter().fold(both, |(low, high), y| (low.min(*y), high.max(*y)))
    };
    if low > high {
        return (0.0, 1.0);
    }
    let air = if high > low { (high - low) * 0.05 } else { (low.abs() * 0.05).max(1e-12) };
    (low - air, high + air)
}

/// The value below which a share of them lies, between two of them in proportion. Reorders them.
fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    let place = values.len().checked_sub(1)? as f64 * share;
    let at = place.floor() as usize;
    let (_, below, above) = values.select_nth_unstable_by(at, f64::total_cmp);
    let below = *below;
    let above = above.iter().copied().fold(f64::INFINITY, f64::min);
    let above = if above.is_finite() { above } else { below };
    Some(below + (above - below) * place.fract())
}

/// Points of each curve for one column of pixels, at most.
pub const PER_COLUMN: usize = 4;

/// A curve that is being drawn.
struct Line<'a> {
    series: &'a Series,
    look: &'a Look,
    sight: (f64, f64),
}

/// What lies in one column of pixels of an unbroken line.
struct Column {
    n: i64,
    low: PlotPoint,
    high: PlotPoint,
}

impl Line<'_> {
    /// The points in sight and the nearest beside, in unbroken lines; `height` is that of a point.
    fn broken(&self, height: &dyn Fn(usize) -> f64) -> Vec<Vec<PlotPoint>> {
        let (left, right) = self.sight;
        let wide = (right - left).max(f64::MIN_POSITIVE) / self.look.width.max(1) as f64;
        let mut lines: Vec<Vec<Column>> = Vec::new();
        let mut before: Option<PlotPoint> = None;
        for (at, point) in self.series.points.iter().enumerate() {
            let x = place(point, self.series, self.look.across);
            let drawn = PlotPoint { x, y: height(at), at };
            if !drawn.x.is_finite() || !drawn.y.is_finite() {
                before = None;
                continue;
            }
            let goes_on = before.is_some_and(|before| before.x <= x);
            let last = before.replace(drawn);
            // What is out of sight on the same side as the point before it is seen by nobody; the last one before the
            // sight and the first one behind it are where the line comes from and goes to.
            let n = if x < left { -1 } else { ((x - left) / wide).min(1e9) as i64 };
            let n = if x > right { i64::from(u32::MAX) } else { n };
            let line = match lines.last_mut() {
                Some(line) if goes_on && last.is_some() => line,
                _ => {
                    lines.push(Vec::new());
                    match lines.last_mut() {
                        Some(line) => line,
                        None => continue,
                    }
                }
            };
            match line.last_mut() {
                Some(column) if column.n == n && n == -1 => (column.low, column.high) = (drawn, drawn),
                Some(column) if column.n == n && n == i64::from(u32::MAX) => {}
                Some(column) if column.n == n => {
                    if drawn.y < column.low.y {
                        column.low = drawn;
                    }
                    if drawn.y > column.high.y {
                        column.high = drawn;
                    }
                }
                _ => line.push(Column { n, low: drawn, high: drawn }),
            }
        }
        self.few(lines.into_iter().map(points_of).collect())
    }

    /// No more than may be drawn: lines that go back and forth all the time have many points in each column. Of their
    /// points every so manyth is left.
    fn few(&self, mut lines: Vec<Vec<PlotPoint>>) -> Vec<Vec<PlotPoint>> {
        let most = PER_COLUMN * self.look.width.max(16);
        let all: usize = lines.iter().map(Vec::len).sum();
        if all > most {
            let every = all.div_ceil(most);
            let mut n = 0_usize;
            for line in &mut lines {
                line.retain(|_| {
                    n += 1;
                    n.is_multiple_of(every)
                });
            }
        }
        lines.retain(|line| !line.is_empty());
        lines
    }
}

fn points_of(columns: Vec<Column>) -> Vec<PlotPoint> {
    let both = |column: Column| {
        let (low, high) = (column.low, column.high);
        let (first, second) = if high.at < low.at { (high, low) } else { (low, high) };
        std::iter::once(first).chain((first.at != second.at).then_some(second))
    };
    columns.into_iter().flat_map(both).collect()
}
