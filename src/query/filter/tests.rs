//! What filters write, and that it finds what it was written for.

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
    assert_eq!(sql("s", Test::Equals("it's".into())), "s = 'it''s'");
    assert_eq!(sql("d", Test::Equals("2024-01-31".into())), "d = '2024-01-31'");
    let range = Test::Between { low: Some("0.5".into()), high: None, closed: false };
    assert_eq!(sql("f", range.clone()), "f >= CAST(0.5 AS REAL) AND NOT isnan(f)");
    assert_eq!(Condition::new("f", range).words(), "f ≥ 0.5");
    let some = Test::In(vec![Some("x".into()), None]);
    assert_eq!(sql("s", some.clone()), "s IN ('x') OR s IS NULL");
    assert_eq!(Condition::new("s", some).words(), "s in x, null");
    let filter =
        Filter { conditions: vec![Condition::new("s", Test::Null)], expression: "f > 1 -- x".into() };
    assert_eq!(filter.sql(&schema).unwrap(), "s IS NULL AND (f > 1 -- x\n)");
    assert_eq!(Filter::default().sql(&schema), None);
    let sort = Sort { nulls_first: true, ..Sort::by("s", Order::Descending) };
    assert_eq!(sort.sql(), "s DESC NULLS FIRST");
    assert_eq!(Sort::by("s", Order::Ascending).sql(), "s");
}

#[test]
fn numbers_are_written_as_exactly_as_they_are_typed() {
    let written = |text: &str, of: &DataType| Asked::new(String::new(), of).value(text);
    let integers = |text: &str| written(text, &DataType::UInt64);
    assert_eq!(integers("18446744073709551615"), "18446744073709551615");
    assert_eq!(integers("-7"), "-7");
    assert_eq!(integers("2.5"), "2.5");
    assert_eq!(integers("1e300"), "1e300");
    assert_eq!(integers("inf"), "CAST('inf' AS DOUBLE)");
    let (single, double) = (DataType::Float32, DataType::Float64);
    assert_eq!(written("16.49", &double), "16.49");
    assert_eq!(written("-1.5e-05", &double), "-1.5e-05");
    assert_eq!(written("-inf", &double), "arrow_cast('-inf', 'Float64')");
    assert_eq!(written("0.1", &single), "CAST(0.1 AS REAL)");
    let beyond = "arrow_cast('-9223372036854775809', 'Decimal128(20, 0)')";
    assert_eq!(integers("-9223372036854775809"), beyond);
    let price = DataType::Decimal128(10, 2);
    assert_eq!(written("1.20000", &price), "1.20000");
    assert_eq!((written("1.205", &price), written("-0.07", &price)), ("1.205".into(), "-0.07".into()));
    // As a double it would be another number.
    assert_eq!(written("12345678.91", &price), "CAST('12345678.91' AS DECIMAL(10, 2))");
    // There is no room for all digits of the column beside 15 behind the point.
    assert_eq!(written("1.2", &DataType::Decimal128(38, 10)), "CAST('1.2' AS DECIMAL(38, 10))");
    assert_eq!(written("12345678901", &price), "12345678901");
    let wide = DataType::Decimal128(38, 2);
    assert_eq!(written("-.125", &wide), "arrow_cast('-.125', 'Decimal256(39, 3)')");
    assert_eq!(written("x", &wide), "arrow_cast('x', 'Decimal128(38, 2)')");
    assert_eq!(written("-1", &DataType::Decimal64(9, 0)), "arrow_cast('-1', 'Decimal64(9, 0)')");
}

#[test]
fn names_have_quotes_only_where_they_need_them() {
    for bare in ["fare", "PassengerId", "_x1", "name", "value", "year"] {
        assert_eq!(identifier(bare), bare);
    }
    let others = ["two words", "1st", "größe", "", "a.b", "select", "FROM", "order", "left", "null", "true"];
    for other in others.into_iter().chain(["current_date", "array", "case", "interval", "not", "user", "end"])
    {
        assert_eq!(identifier(other), quoted(other));
    }
}

#[test]
fn several_conditions_have_brackets_only_where_they_would_fall_apart() {
    let schema = Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("fare", DataType::Float64, true),
        Field::new("s", DataType::Utf8, true),
    ]);
    let sql = |conditions: Vec<Condition>, expression: &str| {
        Filter { conditions, expression: expression.to_owned() }.sql(&schema).unwrap()
    };
    let some = || Condition::new("s", Test::In(vec![Some("x".into()), None]));
    let range = Test::Between { low: Some("16.49".into()), high: Some("20".into()), closed: false };
    let fare = || Condition::new("fare", range.clone());
    assert_eq!(sql(vec![fare()], ""), "fare >= 16.49 AND fare < 20");
    assert_eq!(sql(vec![some()], ""), "s IN ('x') OR s IS NULL");
    assert_eq!(sql(vec![], "n = 1 OR n = 2"), "n = 1 OR n = 2");
    assert_eq!(sql(vec![fare()], "n = 1 AND n < 2"), "fare >= 16.49 AND fare < 20 AND n = 1 AND n < 2");
    assert_eq!(
        sql(vec![some(), fare()], "n = 1 OR n = 2"),
        "(s IN ('x') OR s IS NULL) AND fare >= 16.49 AND fare < 20 AND (n = 1 OR n = 2)"
    );
    let text = |test: Test| Condition::new("s", test).sql(&schema);
    assert_eq!(text(Test::Contains { text: "it's".into(), fold: true }), "s ILIKE '%it''s%'");
    assert_eq!(text(Test::Starts("a".into())), "s LIKE 'a%'");
    assert_eq!(text(Test::Ends("100%".into())), "ends_with(s, '100%')");
    assert_eq!(Condition::new("n", Test::Ends("7".into())).sql(&schema), "CAST(n AS VARCHAR) LIKE '%7'");
}

/// A column of each kind, and null: every cell is found again by the condition that it is written as, alone and
/// beside others.
#[test]
fn every_value_is_found_by_what_is_written_for_it() {
    use arrow::array::*;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("f32", Arc::new(Float32Array::from(vec![0.1, -1.5e-7, 16_777_216.0]))),
        ("f64", Arc::new(Float64Array::from(vec![0.1, 0.123_456_789_012_345_67, -1e300]))),
        ("Words", Arc::new(StringArray::from(vec!["it's", "50%", "a_b\\c"]))),
        ("order", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("d32", Arc::new(Date32Array::from(vec![19_753, -1, 0]))),
        ("d64", Arc::new(Date64Array::from(vec![86_400_000 * 19_753, 0, -86_400_000]))),
        ("us", Arc::new(TimestampMicrosecondArray::from(vec![1_700_000_000_123_456, 0, -1]))),
        ("ns", Arc::new(TimestampNanosecondArray::from(vec![1_700_000_000_123_456_789, 0, -1]))),
        (
            "tz",
            Arc::new(TimestampMillisecondArray::from(vec![1_700_000_000_123, 0, -1]).with_timezone("+02:00")),
        ),
        ("t32", Arc::new(Time32SecondArray::from(vec![0, 3_600, 86_399]))),
        ("t64", Arc::new(Time64MicrosecondArray::from(vec![0, 3_600_000_001, 5]))),
        ("dec", Arc::new(Decimal128Array::from(vec![120, -5, 100]).with_precision_and_scale(10, 2).unwrap())),
        (
            "wide",
            Arc::new(Decimal128Array::from(vec![120, -5, 100]).with_precision_and_scale(38, 30).unwrap()),
        ),
        ("u64", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1]))),
        ("dict", Arc::new(DictionaryArray::<arrow::datatypes::Int8Type>::from_iter(["a", "b", "c"]))),
    ];
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let (engine, task) = (Engine::new(Settings::default(), Vec::new()), Task::new());
    let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch.clone()));
    let rows = |conditions: Vec<Condition>| {
        let filter = Filter { conditions, ..Filter::default() };
        let found = filtered(&engine, &task, &table, &filter, &[]);
        let found = found.unwrap_or_else(|failure| panic!("{:?}: {failure:?}", filter.sql(&batch.schema())));
        let count = found.count(&task).unwrap();
        found.numbers(&task, 0..count).unwrap()
    };
    let other = || Condition::new("Words", Test::In(vec![Some("it's".into()), Some("50%".into()), None]));
    for (name, column) in names.iter().zip(batch.columns()) {
        for row in 0..3u64 {
            let text = crate::data::cell::text(column.as_ref(), row as usize).unwrap();
            let again = (0..3).filter(|other| {
                crate::data::cell::text(column.as_ref(), *other as usize).as_deref() == Some(&text)
            });
            let same: Vec<u64> = again.collect();
            let equals = || Condition::new(*name, Test::Equals(text.clone()));
            assert_eq!(rows(vec![equals()]), same, "{name} {text}");
            let near: Vec<u64> = same.iter().copied().filter(|row| *row < 2).collect();
            assert_eq!(rows(vec![other(), equals()]), near, "{name} {text} beside another");
            assert_eq!(rows(vec![Condition::new(*name, Test::In(vec![Some(text.clone())]))]), same, "{name}");
            let rest: Vec<u64> = (0..3).filter(|row| !same.contains(row)).collect();
            assert_eq!(rows(vec![Condition::new(*name, Test::Differs(text.clone()))]), rest, "{name} {text}");
            if *name != "order" {
                let closed =
                    Test::Between { low: Some(text.clone()), high: Some(text.clone()), closed: true };
                assert_eq!(rows(vec![Condition::new(*name, closed)]), same, "{name} {text} as a range");
            }
        }
    }
    let words = |test: Test| rows(vec![Condition::new("Words", test)]);
    assert_eq!(words(Test::Contains { text: "IT'S".into(), fold: true }), [0]);
    assert_eq!(words(Test::Ends("0%".into())), [1]);
    assert_eq!(words(Test::Starts("a_".into())), [2]);
    assert_eq!(rows(vec![Condition::new("dict", Test::Starts("b".into()))]), [1]);
}

/// Three rows of columns of every kind, the last of nulls.
fn every_kind() -> RecordBatch {
    use arrow::array::*;
    let list = ListArray::from_iter_primitive::<arrow::datatypes::Int64Type, _, _>(vec![
        Some(vec![Some(1), Some(2)]),
        Some(vec![]),
        None,
    ]);
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 9]));
    let point = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, true)), inner)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from(vec![Some(3), Some(5), None]))),
        ("fare", Arc::new(Float64Array::from(vec![Some(16.49), Some(f64::NAN), None]))),
        ("s", Arc::new(StringArray::from(vec![Some("it's"), Some("50%"), None]))),
        ("ok", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("day", Arc::new(Date32Array::from(vec![Some(19_753), Some(19_800), None]))),
        ("at", Arc::new(TimestampSecondArray::from(vec![Some(1_706_700_645), Some(0), None]))),
        ("clock", Arc::new(Time32SecondArray::from(vec![Some(0), Some(45_296), None]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(120), Some(-5), None])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        ("raw", Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), Some(b"a"), None]))),
        ("l", Arc::new(list)),
        ("p", Arc::new(point)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// A test of a column, what is written for it, and the rows of [`every_kind`] that it finds.
type Case = (&'static str, Test, String, Vec<u64>);

/// Every kind of test of texts, numbers and lists.
fn cases() -> Vec<Case> {
    let text = |text: &str| text.to_owned();
    let some = |values: &[&str]| values.iter().map(|value| Some(text(value))).collect::<Vec<_>>();
    let between = |low: Option<&str>, high: Option<&str>, closed| Test::Between {
        low: low.map(text),
        high: high.map(text),
        closed,
    };
    let contains = |what: &str, fold| Test::Contains { text: text(what), fold };
    let length = "coalesce(array_length(l), CASE WHEN l IS NULL THEN NULL ELSE 0 END)";
    vec![
        ("n", Test::Equals(text("3")), text("n = 3"), vec![0]),
        ("n", Test::Differs(text("3")), text("n IS DISTINCT FROM 3"), vec![1, 2]),
        ("n", Test::In(some(&["3", "5"])), text("n IN (3, 5)"), vec![0, 1]),
        ("n", Test::In(vec![None]), text("n IS NULL"), vec![2]),
        ("n", Test::In(vec![]), text("FALSE"), vec![]),
        ("n", between(Some("4"), None, true), text("n >= 4"), vec![1]),
        ("n", between(None, Some("5"), false), text("n < 5"), vec![0]),
        ("n", between(None, None, true), text("TRUE"), vec![0, 1, 2]),
        ("n", Test::Nan, text("FALSE"), vec![]),
        ("n", Test::NotNan, text("n IS NOT NULL"), vec![0, 1]),
        ("fare", Test::Equals(text("16.49")), text("fare = 16.49"), vec![0]),
        ("fare", between(Some("16.49"), None, true), text("fare >= 16.49 AND NOT isnan(fare)"), vec![0]),
        ("fare", Test::Nan, text("isnan(fare)"), vec![1]),
        ("fare", Test::NotNan, text("NOT isnan(fare)"), vec![0]),
        ("s", Test::Null, text("s IS NULL"), vec![2]),
        ("s", Test::NotNull, text("s IS NOT NULL"), vec![0, 1]),
        ("s", Test::Equals(text("it's")), text("s = 'it''s'"), vec![0]),
        ("s", contains("T'", true), text("s ILIKE '%T''%'"), vec![0]),
        ("s", contains("t'", false), text("s LIKE '%t''%'"), vec![0]),
        ("s", contains("0%", true), text("contains(lower(s), '0%')"), vec![1]),
        ("s", contains("0%", false), text("contains(s, '0%')"), vec![1]),
        ("s", Test::Starts(text("it")), text("s LIKE 'it%'"), vec![0]),
        ("s", Test::Starts(text("50%")), text("starts_with(s, '50%')"), vec![1]),
        ("s", Test::Ends(text("s")), text("s LIKE '%s'"), vec![0]),
        ("s", Test::Matches(text("^[0-9]+")), text("regexp_like(s, '^[0-9]+')"), vec![1]),
        (
            "s",
            Test::Length(Some(4), Some(5)),
            text("character_length(s) >= 4 AND character_length(s) <= 5"),
            vec![0],
        ),
        ("ok", Test::Equals(text("true")), text("ok = TRUE"), vec![0]),
        ("day", Test::Equals(text("2024-01-31")), text("day = '2024-01-31'"), vec![0]),
        (
            "day",
            between(Some("2024-01-01"), Some("2024-02-01"), false),
            text("day >= '2024-01-01' AND day < '2024-02-01'"),
            vec![0],
        ),
        ("at", Test::Equals(text("2024-01-31T11:30:45")), text("at = '2024-01-31T11:30:45'"), vec![0]),
        ("clock", between(Some("12:00:00"), None, true), text("clock >= '12:00:00'"), vec![1]),
        ("price", between(Some("1"), Some("1.20"), true), text("price >= 1 AND price <= 1.20"), vec![0]),
        ("raw", Test::Equals(text("0x00ff")), text("raw = decode('00ff', 'hex')"), vec![0]),
        ("l", Test::Has(text("2")), text("array_has(l, 2)"), vec![0]),
        ("l", Test::Length(Some(1), None), format!("{length} >= 1"), vec![0]),
        ("l", Test::Length(None, Some(0)), format!("{length} <= 0"), vec![1]),
    ]
}

#[test]
fn every_test_is_written_as_a_person_would_and_finds_its_rows() {
    let batch = every_kind();
    let (engine, task) = (Engine::new(Settings::default(), Vec::new()), Task::new());
    let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch.clone()));
    for (column, test, sql, rows) in cases() {
        let condition = Condition::new(column, test);
        assert_eq!(condition.sql(&batch.schema()), sql);
        let filter = Filter { conditions: vec![condition], ..Filter::default() };
        let found = filtered(&engine, &task, &table, &filter, &[]);
        let found = found.unwrap_or_else(|failure| panic!("{sql}: {failure:?}"));
        let count = found.count(&task).unwrap();
        assert_eq!(found.numbers(&task, 0..count).unwrap(), rows, "{sql}");
    }
    let field =
        Condition { fields: vec!["x".to_owned()], ..Condition::new("p", Test::Equals("8".to_owned())) };
    assert_eq!(field.sql(&batch.schema()), "p['x'] = 8");
    let filter = Filter { conditions: vec![field], ..Filter::default() };
    let found = filtered(&engine, &task, &table, &filter, &[]).unwrap();
    let count = found.count(&task).unwrap();
    assert_eq!(found.numbers(&task, 0..count).unwrap(), [1]);
}

#[test]
fn large_numbers_are_told_from_their_neighbours() {
    let prices = Decimal128Array::from(vec![100_i128, 101, -5, 0]).with_precision_and_scale(10, 2).unwrap();
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
