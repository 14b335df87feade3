//! What is told of filtered and sorted tables is true of exactly their rows: the engine itself is asked the same.

use super::*;
use crate::data::cell;
use crate::data::content::table::MemoryTable;
use crate::data::stats::Distinct;
use crate::data::stats::summary::{Depth, Summaries, exact, sampled};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A table of `rows` rows in stretches of neighbours that are alike, as files have them.
fn made(rows: i64, stretch: i64, base: i64) -> Arc<dyn Table> {
    // Other numbers than those by which rows are chosen.
    let mixed = |n: i64| crate::data::content::sample::mixed(n as u64 ^ 0x00c0_ffee_0000_0000);
    let long = |n: i64| n / stretch;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values((0..rows).map(|n| base + n)))),
        ("big", Arc::new(UInt64Array::from_iter_values((0..rows).map(|n| u64::MAX - mixed(n) % 1_000)))),
        (
            "x",
            Arc::new(Float64Array::from_iter((0..rows).map(|n| match mixed(n) % 50 {
                0 => None,
                1 => Some(f64::NAN),
                other => Some(other as f64 / 8.0 + long(n) as f64),
            }))),
        ),
        (
            "k",
            Arc::new(Int64Array::from_iter(
                (0..rows).map(|n| (mixed(long(n)) % 20 > 0).then(|| mixed(n) as i64 % 100)),
            )),
        ),
        (
            "s",
            Arc::new(StringArray::from_iter((0..rows).map(|n| {
                (mixed(n * 3) % 45 > 0)
                    .then(|| ["red", "green", "blue", "grey"][(mixed(n * 7) % 16).isqrt() as usize])
            }))),
        ),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    Arc::new(MemoryTable::new(RecordBatch::try_from_iter_with_nullable(columns).unwrap()))
}

/// Conditions and keys.
fn asked() -> impl Strategy<Value = (Filter, Vec<Sort>)> {
    let condition = prop::sample::select(vec![
        "",
        "s = 'red'",
        "k < 30",
        "k IS NULL",
        "x > 4",
        "id % 7 = 3",
        "s IS NOT NULL AND big % 2 = 0",
        "k = 1000",
    ]);
    let keys =
        prop::collection::vec((prop::sample::select(vec!["id", "big", "x", "k", "s"]), any::<bool>()), 0..3);
    (condition, keys).prop_map(|(condition, keys)| {
        let filter = Filter { conditions: Vec::new(), expression: condition.to_owned() };
        let order = |up: bool| if up { Order::Ascending } else { Order::Descending };
        (filter, keys.into_iter().map(|(column, up)| Sort::by(column, order(up))).collect())
    })
}

fn engine_of(table: &Arc<dyn Table>) -> Engine {
    let engine = Engine::new(Settings { memory: 256 << 20, threads: 2, ..Settings::default() }, Vec::new());
    engine.add_table("t", table.clone());
    engine
}

fn answer(engine: &Engine, sql: &str) -> Vec<Vec<String>> {
    let task = Task::new();
    let answer = engine.run(&task, sql, |_| {}).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    let columns: Vec<usize> = (0..answer.schema().fields().len()).collect();
    let read = answer.read(&task, 0..answer.rows().number(), &columns).unwrap();
    let text = |column: &ArrayRef, row| cell::text(column.as_ref(), row).unwrap_or_default();
    (0..read.num_rows()).map(|row| read.columns().iter().map(|column| text(column, row)).collect()).collect()
}

/// The rows that a filter lets through, all of them, sorted.
fn all_of(engine: &Engine, table: &Arc<dyn Table>, filter: &Filter, sort: &[Sort]) -> Filtered {
    let task = Task::new();
    let rows = filtered(engine, &task, table, filter, sort).unwrap();
    rows.answer().wait(&task).unwrap();
    rows
}

/// What the engine says of a column of the rows.
fn from_of(filter: &Filter) -> String {
    match filter.expression.is_empty() {
        true => "t".to_owned(),
        false => format!("t WHERE {}", filter.expression),
    }
}

/// How often a column has a value.
fn equal(name: &str, from: &str, value: &str) -> String {
    let same = match value {
        "nan" => "isnan(v)".to_owned(),
        value => format!("cell_text(v) = '{value}'"),
    };
    format!("SELECT count(*) FROM (SELECT {name} AS v FROM {from}) WHERE {same}")
}

/// What was found in all rows is what the engine says of them.
fn check_exact(engine: &Engine, filter: &Filter, found: &Summaries) -> Result<(), TestCaseError> {
    let from = from_of(filter);
    let rows: u64 = answer(engine, &format!("SELECT count(*) FROM {from}"))[0][0].parse().unwrap();
    prop_assert_eq!(found.rows, rows);
    for summary in &found.columns {
        let summary = summary.as_ref().unwrap();
        let name = &summary.name;
        let said = answer(
            engine,
            &format!(
                "SELECT count(*) - count({name}), count(DISTINCT {name}), min(CASE WHEN CAST({name} AS VARCHAR) <> 'NaN'
                 THEN {name} END), max(CASE WHEN CAST({name} AS VARCHAR) <> 'NaN' THEN {name} END) FROM {from}"
            ),
        );
        prop_assert_eq!(summary.rows, rows);
        prop_assert_eq!(summary.nulls.to_string(), &*said[0][0], "nulls of {}", name);
        if let Some(Distinct::Exactly(count)) = summary.distinct {
            prop_assert_eq!(count.to_string(), &*said[0][1], "different values of {}", name);
        }
        prop_assert_eq!(summary.min.clone().unwrap_or_default(), &*said[0][2], "least of {}", name);
        prop_assert_eq!(summary.max.clone().unwrap_or_default(), &*said[0][3], "greatest of {}", name);
        if !summary.top_sampled {
            for (value, count) in &summary.top {
                let sql = equal(name, &from, value);
                prop_assert_eq!(&answer(engine, &sql)[0][0], &count.to_string(), "{} of {}", value, name);
            }
        }
        let Some(histogram) = &summary.histogram else { continue };
        let Some(edges) = &histogram.whole else { continue };
        for (bin, count) in histogram.counts.iter().enumerate().step_by(5) {
            let (low, high) = (edges[bin], edges[bin + 1] - 1);
            let sql = format!(
                "SELECT count(*) FROM (SELECT {name} AS v FROM {from}) WHERE v BETWEEN {low} AND {high}"
            );
            prop_assert_eq!(
                &answer(engine, &sql)[0][0],
                &count.to_string(),
                "{} from {} to {}",
                name,
                low,
                high
            );
        }
    }
    Ok(())
}

/// What a sample says of shares lies as near to the truth as that of rows that were drawn one by one: within five
/// times the standard deviation of such a share.
fn check_sampled(
    engine: &Engine,
    filter: &Filter,
    found: &Summaries,
    seen: u64,
) -> Result<(), TestCaseError> {
    let from = from_of(filter);
    let bound = |share: f64| 5.0 * (share * (1.0 - share) / seen as f64).sqrt() + 2.0 / seen as f64;
    for summary in &found.columns {
        let summary = summary.as_ref().unwrap();
        let name = &summary.name;
        let said = answer(engine, &format!("SELECT count(*), count(*) - count({name}) FROM {from}"));
        let (rows, nulls): (f64, f64) = (said[0][0].parse().unwrap(), said[0][1].parse().unwrap());
        prop_assert_eq!(summary.rows, seen);
        let (there, said) = (nulls / rows, summary.nulls as f64 / seen as f64);
        prop_assert!((there - said).abs() <= bound(there), "nulls of {}: {} and not {}", name, said, there);
        for (value, count) in summary.top.iter().filter(|_| !summary.top_sampled) {
            let sql = equal(name, &from, value);
            let there: f64 = answer(engine, &sql)[0][0].parse::<f64>().unwrap() / rows;
            let said = *count as f64 / seen as f64;
            // The most frequent of several values are more frequent than they are by chance.
            prop_assert!(
                (there - said).abs() <= 1.3 * bound(there),
                "{} of {}: {} and not {}",
                value,
                name,
                said,
                there
            );
        }
    }
    Ok(())
}

/// What does not depend on where a value stands. (Where bins of floats begin depends on the first of them.)
fn facts(found: &Summaries) -> Vec<String> {
    let one = |summary: &crate::bytes::error::Result<crate::data::stats::summary::Summary>| {
        let s = summary.as_ref().unwrap();
        // Of values that are equally frequent those come first that stand first.
        let top: Vec<u64> = s.top.iter().map(|(_, times)| *times).collect();
        format!(
            "{} {} {} {} {:?} {:?} {:?} {:?} {:?}",
            s.name,
            s.rows,
            s.nulls,
            s.nan,
            s.min,
            s.max,
            s.distinct,
            s.histogram.as_ref().filter(|histogram| histogram.whole.is_some()),
            top
        )
    };
    found.columns.iter().map(one).collect()
}

fn runs(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

#[test]
fn what_is_exact_is_what_the_engine_counts() {
    let bases = prop::sample::select(vec![0i64, (1 << 53) + 1, i64::MAX - 30_000]);
    let wishes = (1i64..22_000, 1i64..3_000, bases, asked());
    let tested = runs(24).run(&wishes, |(rows, stretch, base, (filter, sort))| {
        let table = made(rows, stretch, base);
        let (engine, task) = (engine_of(&table), Task::new());
        let rows = all_of(&engine, &table, &filter, &sort);
        let columns = [0, 1, 2, 3, 4];
        let found = exact(&rows, &task, &columns).unwrap();
        prop_assert_eq!(found.depth, Depth::Exact);
        check_exact(&engine, &filter, &found)?;
        let found = sampled(&rows, &task, &columns).unwrap();
        let all = found.rows <= 20_000;
        prop_assert_eq!(found.depth == Depth::Exact, all, "{:?} of {}", found.depth, found.rows);
        if all { check_exact(&engine, &filter, &found) } else { Ok(()) }
    });
    tested.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_sample_is_fair_and_the_same_in_any_order() {
    let wishes = (60_000i64..150_000, 1i64..40_000, asked());
    let tested = runs(8).run(&wishes, |(rows, stretch, (filter, sort))| {
        let table = made(rows, stretch, 0);
        let (engine, task) = (engine_of(&table), Task::new());
        let columns = [0, 1, 2, 3, 4];
        let found = sampled(&all_of(&engine, &table, &filter, &sort), &task, &columns).unwrap();
        match found.depth {
            Depth::Exact => check_exact(&engine, &filter, &found)?,
            Depth::Sampled(seen) => check_sampled(&engine, &filter, &found, seen)?,
        }
        let plain = sampled(&all_of(&engine, &table, &filter, &[]), &task, &columns).unwrap();
        prop_assert_eq!(facts(&plain), facts(&found));
        if filter.is_empty() {
            let whole = sampled(table.as_ref(), &task, &columns).unwrap();
            prop_assert_eq!(facts(&whole), facts(&found));
        }
        Ok(())
    });
    tested.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn what_is_not_all_there_is_not_told_as_all() {
    let table = made(50_000, 10, 0);
    let (engine, task) = (engine_of(&table), Task::new());
    let filter = Filter { conditions: Vec::new(), expression: "k < 30".to_owned() };
    let rows = filtered(&engine, &task, &table, &filter, &[]).unwrap();
    let _ = rows.answer().wait_for(&task, 1);
    rows.answer().cancel();
    if rows.rows().exact().is_none() {
        let found = sampled(&rows, &task, &[0]).unwrap();
        assert!(matches!(found.depth, Depth::Sampled(_)), "{:?}", found.depth);
    }
}
