use super::*;
use crate::data::content::table::{Columns, MemoryTable};
use crate::query::{Condition, Settings, Test};
use arrow::array::*;
use arrow::datatypes::*;
use std::collections::BTreeMap;

fn engine() -> Engine {
    Engine::new(Settings { memory: 64 << 20, threads: 2, ..Settings::default() }, Vec::new())
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Arc<dyn Table> {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    Arc::new(MemoryTable::new(RecordBatch::try_from_iter_with_nullable(columns).unwrap()))
}

fn key(column: &str, by: By) -> Key {
    Key { column: column.to_owned(), by }
}

fn measure(aggregate: Aggregate, column: &str) -> Measure {
    Measure { aggregate, column: Some(column.to_owned()) }
}

/// The result as lines of texts, names first.
fn lines(table: &Arc<dyn Table>, filter: &Filter, pivot: &Pivot) -> Vec<String> {
    let (engine, task) = (engine(), Task::new());
    let made = pivoted(&engine, &task, table, filter, pivot).unwrap_or_else(|failure| panic!("{failure}"));
    let schema = made.answer.schema().clone();
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    let rows = made.answer.read(&task, 0..made.answer.rows().number(), &columns).unwrap();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let line = |row| {
        let cell = |c: &ArrayRef| cell::text(c.as_ref(), row).unwrap_or_else(|| "null".to_owned());
        rows.columns().iter().map(cell).collect::<Vec<_>>().join(" | ")
    };
    let mut out = vec![names.join(" | ")];
    out.extend((0..rows.num_rows()).map(line));
    let totals = made.totals(&engine, &task).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(totals.len(), names.len());
    out.push(totals.into_iter().map(|t| t.unwrap_or_else(|| "-".to_owned())).collect::<Vec<_>>().join(" | "));
    out
}

fn trips() -> Arc<dyn Table> {
    let day = 86_400_000_000i64;
    table(vec![
        (
            "pay",
            Arc::new(StringArray::from(vec![
                Some("card"),
                Some("cash"),
                Some("card"),
                None,
                Some("it's"),
                Some(""),
            ])),
        ),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(0),
                Some(day),
                Some(40 * day),
                Some(400 * day),
                None,
                Some(40 * day + 3_600_000_000),
            ])),
        ),
        (
            "fare",
            Arc::new(Float64Array::from(vec![
                Some(2.5),
                Some(4.0),
                Some(0.1),
                Some(f64::NAN),
                None,
                Some(9.9),
            ])),
        ),
        ("n", Arc::new(Int64Array::from(vec![i64::MAX, 1, i64::MAX, 3, 4, 5]))),
        (
            "ok",
            Arc::new(BooleanArray::from(vec![
                Some(true),
                Some(false),
                Some(true),
                None,
                Some(true),
                Some(false),
            ])),
        ),
    ])
}

#[test]
fn rows_in_groups_with_every_aggregate() {
    let pivot = Pivot {
        rows: vec![key("at", By::Year)],
        values: vec![
            Measure::rows(),
            measure(Aggregate::Count, "fare"),
            measure(Aggregate::Distinct, "pay"),
            measure(Aggregate::Sum, "n"),
            measure(Aggregate::Mean, "ok"),
            measure(Aggregate::Min, "pay"),
            measure(Aggregate::Median, "n"),
        ],
        ..Pivot::default()
    };
    // Sums beyond 64 bits are exact; medians of whole numbers are not rounded.
    assert_eq!(
        lines(&trips(), &Filter::default(), &pivot),
        [
            "at (year) | rows | count(fare) | distinct(pay) | sum(n) | mean(ok) | min(pay) | median(n)",
            "1970 | 4 | 4 | 3 | 18446744073709551620 | 0.5 |  | 4.611686018427388e18",
            "1971 | 1 | 1 | 0 | 3 | null | null | 3.0",
            "null | 1 | 0 | 1 | 4 | 1.0 | it's | 4.0",
            "- | 6 | 5 | 4 | 18446744073709551627 | 0.6 |  | 4.5",
        ]
    );
}

#[test]
fn values_stand_side_by_side() {
    let mut pivot = Pivot {
        rows: vec![key("at", By::Month)],
        across: Some(key("pay", By::Value)),
        values: vec![measure(Aggregate::Sum, "fare")],
        most: None,
    };
    let filter = Filter { conditions: vec![Condition::new("fare", Test::NotNan)], expression: String::new() };
    assert_eq!(
        lines(&trips(), &filter, &pivot),
        [
            "at (month) | '' | card | cash | total",
            "1970-01 | null | 2.5 | 4.0 | 6.5",
            "1970-02 | 9.9 | 0.1 | null | 10.0",
            "- | 9.9 | 2.6 | 4.0 | 16.5",
        ]
    );
    // The most frequent one and all others; several values have their names in the columns'.
    pivot.values = vec![Measure::rows(), measure(Aggregate::Max, "n")];
    pivot.most = Some(1);
    pivot.rows.clear();
    let made = pivoted(&engine(), &Task::new(), &trips(), &Filter::default(), &pivot).unwrap();
    assert!(made.resolved.remark().is_some_and(|remark| remark.contains("pay has 5 different values")));
    let names = "card · rows | card · max(n) | other · rows | other · max(n) | total · rows | total · max(n)";
    let row = "2 | 9223372036854775807 | 4 | 5 | 6 | 9223372036854775807";
    assert_eq!(lines(&trips(), &Filter::default(), &pivot), [names, row, row]);
}

#[test]
fn null_and_nan_have_columns_of_their_own() {
    for most in [None, Some(2), Some(3)] {
        let across = Pivot { across: Some(key("f", By::Value)), most, ..Pivot::default() };
        let values = vec![Some(1.5), None, Some(f64::NAN), Some(f64::NAN), None, Some(-0.5), Some(1.5)];
        let table = table(vec![("f", Arc::new(Float64Array::from(values.clone())) as ArrayRef)]);
        let found = lines(&table, &Filter::default(), &across);
        let counts: Vec<u64> = found[1].split(" | ").map(|n| n.parse().unwrap()).collect();
        // Whatever stands side by side: every row is counted once, and once in all.
        let (all, cells) = counts.split_last().unwrap();
        assert_eq!((*all, cells.iter().sum::<u64>()), (7, 7), "{found:?}");
    }
}

#[test]
fn numbers_in_bins_and_days_of_a_time_zone() {
    let zone: ArrayRef =
        Arc::new(TimestampSecondArray::from(vec![Some(0), Some(79_300), None]).with_timezone("+02:00"));
    let table = table(vec![
        ("at", zone),
        (
            "d",
            Arc::new(
                Decimal128Array::from(vec![Some(25), Some(31), Some(-5)])
                    .with_precision_and_scale(6, 2)
                    .unwrap(),
            ),
        ),
        ("i", Arc::new(Int32Array::from(vec![-7, 3, 12]))),
    ]);
    let of = |key: Key| {
        let pivot = Pivot { rows: vec![key], ..Pivot::default() };
        let found = lines(&table, &Filter::default(), &pivot);
        found[..found.len() - 1].join(", ")
    };
    assert_eq!(of(key("d", By::Bins(Some(0.1)))), "d (bins of 0.1) | rows, -0.1 | 1, 0.2 | 1, 0.3 | 1");
    assert_eq!(of(key("i", By::Bins(Some(5.0)))), "i (bins of 5) | rows, -10 | 1, 0 | 1, 10 | 1");
    assert_eq!(of(key("i", By::Bins(None))), "i (bins of 1) | rows, -7 | 1, 3 | 1, 12 | 1");
    // 22:01 in UTC is the next day there.
    assert_eq!(of(key("at", By::Day)), "at (day) | rows, 1970-01-01 | 1, 1970-01-02 | 1, null | 1");
    assert_eq!(
        (round_width(0.03, false), round_width(7.0, true), round_width(f64::NAN, true)),
        (0.05, 10.0, 1.0)
    );
    assert_eq!((round_width(2.0, false), round_width(1e-3, true)), (2.0, 1.0));
}

/// A text format's column whose guessed type does not hold half-way down.
#[test]
fn a_wrong_guess_is_asked_again() {
    let columns: Columns = std::iter::once(Columns::text("n", DataType::Int64)).collect();
    let cells: ArrayRef = Arc::new(StringArray::from(vec![Some("1"), Some("2"), Some("2.5"), None]));
    let table: Arc<dyn Table> = Arc::new(MemoryTable::of(columns, vec![cells]).unwrap());
    let engine = engine();
    assert_eq!(typed(&engine, &table).field(0).data_type(), &DataType::Int64);
    let pivot = Pivot { values: vec![measure(Aggregate::Sum, "n")], ..Pivot::default() };
    let task = Task::new();
    let made = pivoted(&engine, &task, &table, &Filter::default(), &pivot).unwrap();
    let cell = made.answer.read(&task, 0..1, &[0]).unwrap();
    assert_eq!(cell::text(cell.column(0).as_ref(), 0).unwrap(), "5.5");
    assert_eq!(typed(&engine, &table).field(0).data_type(), &DataType::Float64);
}

#[test]
fn what_columns_cannot_do_is_left_out() {
    let schema = trips().schema().clone();
    let mut pivot = Pivot {
        rows: vec![key("pay", By::Month), key("at", By::Month), key("gone", By::Value)],
        across: Some(key("fare", By::Bins(Some(3.0)))),
        values: vec![measure(Aggregate::Sum, "pay"), measure(Aggregate::Max, "pay"), Measure::rows()],
        most: None,
    };
    pivot.fit(&schema);
    assert_eq!(pivot.rows, [key("at", By::Month)]);
    assert!(pivot.across.is_some());
    assert_eq!(pivot.values, [measure(Aggregate::Max, "pay"), Measure::rows()]);
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int8, true)));
    assert_eq!((By::of(&list).len(), Aggregate::of(&list)), (0, vec![Aggregate::Count]));
}

#[test]
fn a_cancelled_pivot_ends_and_mistakes_are_said() {
    let task = Task::new();
    task.cancel();
    let pivot = Pivot { rows: vec![key("pay", By::Value)], ..Pivot::default() };
    let ended = pivoted(&engine(), &task, &trips(), &Filter::default(), &pivot);
    assert!(matches!(ended, Err(Failure::Run(error)) if error.is_cancelled()));
    let filter = Filter { conditions: Vec::new(), expression: "farre > 1".to_owned() };
    let said = pivoted(&engine(), &Task::new(), &trips(), &filter, &pivot).err().unwrap().to_string();
    assert!(said.contains("did you mean \"fare\"?"), "{said}");
    let gone = Pivot { rows: vec![key("gone", By::Value)], ..Pivot::default() };
    assert!(pivoted(&engine(), &Task::new(), &trips(), &Filter::default(), &gone).is_err());
}

#[test]
fn the_statement_is_one_that_can_be_asked() {
    let engine = engine();
    let table = trips();
    engine.add_table("all trips", table.clone());
    let pivot = Pivot {
        rows: vec![key("at", By::Quarter), key("fare", By::Bins(Some(0.5)))],
        across: Some(key("at", By::Month)),
        values: vec![measure(Aggregate::Std, "n"), measure(Aggregate::Count, "fare")],
        most: Some(2),
    };
    let task = Task::new();
    let made = pivoted(&engine, &task, &table, &Filter::default(), &pivot).unwrap();
    let again = engine.run(&task, &made.resolved.sql("\"all trips\""), |_| {}).unwrap();
    assert_eq!(again.schema(), made.answer.schema());
    let columns: Vec<usize> = (0..again.schema().fields().len()).collect();
    let read = |answer: &QueryResult| answer.read(&task, 0..answer.rows().number(), &columns).unwrap();
    // NaN is a group of its own and equal to itself here.
    assert_eq!(format!("{:?}", read(&again)), format!("{:?}", read(&made.answer)));
}

/// Random tables against groups made by hand.
#[test]
fn random_tables_are_grouped_as_by_hand() {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for round in 0..20 {
        let rows = 1 + next(400) as usize;
        let texts: Vec<Option<String>> =
            (0..rows).map(|_| Some(next(9)).filter(|n| *n != 4).map(|n| format!("t{n}"))).collect();
        let sides: Vec<Option<i32>> =
            (0..rows).map(|_| Some(next(6) as i32 - 3).filter(|n| *n != 1)).collect();
        let numbers: Vec<Option<i32>> =
            (0..rows).map(|_| Some(next(50) as i32 - 20).filter(|n| n % 7 != 0)).collect();
        let table = table(vec![
            ("a", Arc::new(StringArray::from(texts.clone())) as ArrayRef),
            ("b", Arc::new(Int32Array::from(sides.clone()))),
            ("n", Arc::new(Int32Array::from(numbers.clone()))),
        ]);
        let most = 1 + round % 7;
        let pivot = Pivot {
            rows: vec![key("a", By::Value)],
            across: Some(key("b", By::Value)),
            values: vec![measure(Aggregate::Sum, "n")],
            most: Some(most),
        };
        let found = lines(&table, &Filter::default(), &pivot);
        let named = |side: &Option<i32>| side.map_or("null".to_owned(), |n| n.to_string());
        let mut sums: BTreeMap<(String, String), i64> = BTreeMap::new();
        let heads: Vec<&str> = found[0].split(" | ").collect();
        for ((text, side), number) in texts.iter().zip(&sides).zip(&numbers) {
            let Some(number) = number else { continue };
            let text = text.clone().unwrap_or_else(|| "null".to_owned());
            let side =
                Some(named(side)).filter(|s| heads.contains(&s.as_str())).unwrap_or("other".to_owned());
            for row in [text, "-".to_owned()] {
                for column in [side.clone(), "total".to_owned()] {
                    *sums.entry((row.clone(), column)).or_default() += i64::from(*number);
                }
            }
        }
        for line in &found[1..] {
            let cells: Vec<&str> = line.split(" | ").collect();
            for (head, cell) in heads.iter().zip(&cells).skip(1) {
                let by_hand = sums.get(&(cells[0].to_owned(), (*head).to_owned()));
                assert_eq!(*cell, by_hand.map_or("null".to_owned(), i64::to_string), "{head} of {line}");
            }
        }
    }
}
