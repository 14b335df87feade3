//! Curves against values written out here.

use super::histograms::{BUCKETS, HistogramColumns};
use super::plot::{Across, Look, PER_COLUMN, picture};
use super::smooth::smoothed;
use super::*;
use crate::data::content::table::MemoryTable;
use arrow::array::{ArrayRef, Float64Array, Int64Array};

fn table(columns: Vec<(&str, ArrayRef)>) -> MemoryTable {
    MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap())
}

fn texts_of(of: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(of.to_vec()))
}

fn ints(of: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(of))
}

fn reals(of: impl IntoIterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(of))
}

const ROWS: CurveColumns = CurveColumns::Rows {
    run: Some(0),
    tag: Some(1),
    step: 2,
    wall_time: Some(3),
    relative_time: Some(4),
    value: 5,
};

fn curves() -> Curves {
    let table = table(vec![
        ("run", texts_of(&["b", "b", "b", "a", "a"])),
        ("tag", texts_of(&["loss/10", "loss/2", "loss/10", "loss/2", "loss/2"])),
        ("step", ints([1, 1, 2, 5, 7])),
        ("wall_time", reals([1000.0, 1000.5, 1002.0, 2001.0, 2003.0])),
        ("relative_time", reals([0.0, 0.5, 2.0, 1.0, 3.0])),
        ("value", reals([4.0, 0.5, 2.0, f64::NAN, -1.0])),
    ]);
    read(&Task::new(), &table, &ROWS, &mut |_| {}).unwrap()
}

fn look() -> Look {
    Look {
        across: Across::Step,
        log: false,
        weight: 0.0,
        ignore_outliers: false,
        sight: None,
        width: 100,
        hidden: Vec::new(),
    }
}

fn one(values: impl IntoIterator<Item = f64>) -> Tag {
    let points: Vec<Point> = values
        .into_iter()
        .enumerate()
        .map(|(step, value)| Point { step: step as i64, wall_time: f64::NAN, value })
        .collect();
    let count = points.len() as u64;
    Tag { name: "t".to_owned(), series: vec![Series { points, count, every: 1, ..Series::default() }] }
}

#[test]
fn rows_are_parted_by_tag_and_run() {
    let curves = curves();
    assert_eq!((curves.rows, curves.whole, curves.timed), (5, true, true));
    assert_eq!(curves.runs, ["b", "a"]);
    let names: Vec<&str> = curves.tags.iter().map(|tag| tag.name.as_str()).collect();
    assert_eq!(names, ["loss/2", "loss/10"], "in natural order");
    let [b, a] = curves.tags[0].series.as_slice() else { panic!("two runs") };
    assert_eq!((b.run, b.points[0].step, b.points[0].value, b.start), (0, 1, 0.5, 1000.0));
    assert_eq!((a.run, a.count, a.nan, a.infinite, a.start), (1, 2, 1, 0, 2000.0));
    assert_eq!(a.points[1], Point { step: 7, wall_time: 2003.0, value: -1.0 });
}

#[test]
fn columns_are_tags_and_what_was_not_logged_is_no_value() {
    let loss: ArrayRef = Arc::new(Float64Array::from(vec![Some(3.0), None, Some(1.0)]));
    let table = table(vec![
        ("epoch", reals([0.5, 1.0, 1.5])),
        ("loss", loss),
        ("step", ints([10, 20, 30])),
        ("note", texts_of(&["x", "y", "z"])),
        ("lr", reals([0.1, 0.2, 0.3])),
    ]);
    let columns = CurveColumns::of_columns(&table, "step", &["epoch"]).unwrap();
    assert_eq!(columns, CurveColumns::Columns { step: 2, values: vec![1, 4] });
    let curves = read(&Task::new(), &table, &columns, &mut |_| {}).unwrap();
    let points = |n: usize| -> Vec<(i64, f64)> {
        curves.tags[n].series[0].points.iter().map(|point| (point.step, point.value)).collect()
    };
    assert_eq!((points(0), curves.timed), (vec![(10, 3.0), (30, 1.0)], false));
    assert_eq!(points(1), [(10, 0.1), (20, 0.2), (30, 0.3)]);
    assert_eq!(CurveColumns::of_columns(&table, "steps", &[]), None);
}

#[test]
fn smoothing_is_the_debiased_moving_average() {
    // The definition, written out: each value weighs `w` times as much as the one after it.
    let (values, weight) = ([3.0, -1.0, 4.0, 1.5, f64::NAN, 9.0], 0.6_f64);
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let average = |n: usize| {
        let weights = (0..=n).map(|k| weight.powi((n - k) as i32));
        let sum: f64 = weights.clone().zip(&finite).map(|(weight, value)| weight * value).sum();
        sum / weights.sum::<f64>()
    };
    let smooth = smoothed(values.iter().copied(), weight);
    for (at, n) in [(0, 0), (1, 1), (2, 2), (3, 3), (5, 4)] {
        assert!((smooth[at] - average(n)).abs() < 1e-12, "{at}: {} is not {}", smooth[at], average(n));
    }
    assert!(smooth[4].is_nan(), "NaN stays and counts for nothing");
    assert_eq!(smoothed(values[..3].iter().copied(), 0.0), values[..3]);
    assert_eq!(smoothed([0.1; 5].into_iter(), 0.9), [0.1; 5], "equal values stay exactly so");
    assert!(smoothed(values[..4].iter().copied(), 7.0).iter().all(|value| value.is_finite()));
}

#[test]
fn a_picture_has_few_points_and_keeps_the_extremes() {
    let spike = |n: usize| if n == 500_000 { 1e6 } else { (n as f64 / 1e4).sin() };
    let tag = one((0..1_000_000).map(spike));
    let picture = picture(&Task::new(), &tag, &Look { weight: 0.9, ..look() }).unwrap();
    let points = |lines: &[Vec<plot::PlotPoint>]| lines.iter().map(Vec::len).sum::<usize>();
    let drawn = &picture.drawn[0];
    assert!(points(&drawn.raw) <= PER_COLUMN * 100 && points(&drawn.raw) > 150);
    assert!(points(&drawn.smooth) <= PER_COLUMN * 100);
    assert!(drawn.raw[0].iter().any(|point| point.at == 500_000 && point.y == 1e6));
    assert_eq!(picture.x, (0.0, 999_999.0));
    assert!(picture.y.1 > 1e6);
    let calm = plot::picture(&Task::new(), &tag, &Look { ignore_outliers: true, ..look() }).unwrap();
    assert!(calm.y.1 < 1.2 && calm.y.0 > -1.2, "{:?}", calm.y);
}

#[test]
fn lines_break_where_there_is_no_value_and_where_steps_go_back() {
    let mut tag = one([1.0, 2.0, f64::NAN, f64::INFINITY, 5.0, 6.0]);
    (tag.series[0].nan, tag.series[0].infinite) = (1, 1);
    let lines = |tag: &Tag, look: &Look| -> Vec<Vec<(f64, f64)>> {
        let picture = picture(&Task::new(), tag, look).unwrap();
        let line = |line: &Vec<plot::PlotPoint>| line.iter().map(|point| (point.x, point.y)).collect();
        picture.drawn[0].raw.iter().map(line).collect()
    };
    assert_eq!(lines(&tag, &look()), [vec![(0.0, 1.0), (1.0, 2.0)], vec![(4.0, 5.0), (5.0, 6.0)]]);
    assert_eq!(picture(&Task::new(), &tag, &look()).unwrap().left_out, [1, 1, 0]);
    let mut restarted = one([1.0, 2.0, 3.0]);
    restarted.series[0].points[2].step = 0;
    assert_eq!(lines(&restarted, &look()).len(), 2);
    // A line goes on beyond what is in sight.
    let sight = Look { sight: Some((2.5, 3.5)), ..look() };
    let inside = lines(&one((0..10).map(f64::from)), &sight);
    assert_eq!(inside, [vec![(2.0, 2.0), (3.0, 3.0), (4.0, 4.0)]]);
    let log = Look { log: true, ..look() };
    assert_eq!(lines(&one([10.0, 0.0, 1000.0]), &log), [vec![(0.0, 1.0)], vec![(2.0, 3.0)]]);
    assert_eq!(picture(&Task::new(), &one([1.0, 0.0, -2.0]), &log).unwrap().left_out, [0, 0, 2]);
}

#[test]
fn times_run_along_x() {
    let curves = curves();
    let xs = |across: Across| -> Vec<f64> {
        let picture = picture(&Task::new(), &curves.tags[1], &Look { across, ..look() }).unwrap();
        picture.drawn[0].raw.iter().flatten().map(|point| point.x).collect()
    };
    assert_eq!((xs(Across::Step), xs(Across::Relative)), (vec![1.0, 2.0], vec![0.0, 2.0]));
    assert_eq!(xs(Across::Wall), [1000.0, 1002.0]);
    let hidden = Look { hidden: vec![0], ..look() };
    assert!(picture(&Task::new(), &curves.tags[1], &hidden).unwrap().drawn.is_empty());
}

#[test]
fn of_very_many_points_the_extremes_are_kept() {
    let values: Vec<f64> = (0..100_000).map(|n| ((n * 7_919) % 10_007) as f64).collect();
    let table = table(vec![("step", ints(0..100_000)), ("value", reals(values.iter().copied()))]);
    let columns =
        CurveColumns::Rows { run: None, tag: None, step: 0, wall_time: None, relative_time: None, value: 1 };
    let mut reading = Reading::of(&table, &columns).unwrap();
    reading.most = 1_000;
    reading.take(&table.read(&Task::new(), 0..100_000, &[0, 1]).unwrap()).unwrap();
    let curves = reading.curves(100_000, true);
    let series = &curves.tags[0].series[0];
    assert!(series.points.len() <= 1_000 + 2, "{}", series.points.len());
    assert!(series.every >= 100 && series.count == 100_000);
    let kept = |pick: fn(f64, f64) -> f64, from: f64| series.points.iter().map(|p| p.value).fold(from, pick);
    assert_eq!((kept(f64::min, f64::MAX), kept(f64::max, f64::MIN)), (0.0, 10_006.0));
    assert!(series.points.windows(2).all(|two| two[0].step < two[1].step), "in their order");
    for point in &series.points {
        assert_eq!(values[point.step as usize], point.value);
    }
}

#[test]
fn histograms_are_spread_over_common_buckets() {
    let (least, most) = (f64::MIN, f64::MAX);
    let table = table(vec![
        ("step", ints([0, 0, 5, 5, 5])),
        ("left", reals([0.0, 1.0, least, 0.0, 96.0])),
        ("right", reals([1.0, 2.0, 0.0, 96.0, most])),
        ("count", reals([3.0, 5.0, 2.0, 96.0, 7.0])),
    ]);
    let columns = HistogramColumns { step: 0, left: 1, right: 2, count: 3 };
    let heat = histograms::read(&Task::new(), &table, &columns).unwrap();
    assert_eq!((heat.steps.as_slice(), heat.range, heat.every), ([0, 5].as_slice(), (0.0, 96.0), 1));
    assert_eq!((heat.column(0)[0], heat.column(0)[1], heat.column(0)[2]), (3.0, 5.0, 0.0));
    let second = heat.column(1);
    assert_eq!((second[0], second[1], second[BUCKETS - 1]), (3.0, 1.0, 8.0));
    assert_eq!(second.iter().sum::<f64>(), 105.0);
}
