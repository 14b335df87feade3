//! Summaries of a table in memory.

use super::*;
use crate::data::content::table::{Columns, MemoryTable};
use crate::data::stats::table::tests::Sparse;
use std::sync::Arc;

fn table() -> MemoryTable {
    let n = 10_000i64;
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n));
    let twice: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n).map(|i| -2 * i)));
    let float: ArrayRef = Arc::new(Float64Array::from_iter((0..n).map(|i| match i % 10 {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(-999.0),
        k => Some(20.0 + k as f64 / 10.0),
    })));
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..n).map(|i| ["red", "green", "red", "N/A"][i as usize % 4]),
    ));
    let one: ArrayRef = Arc::new(Int32Array::from_iter_values((0..n).map(|_| 7)));
    let date: ArrayRef = Arc::new(Date32Array::from_iter_values((0..n).map(|i| i as i32)));
    let columns = [
        ("id", ids.clone()),
        ("twice", twice),
        ("f", float),
        ("w", words),
        ("one", one),
        ("again", ids),
        ("d", date),
    ];
    MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap())
}

/// An estimate of the different values is never above how many there are.
#[test]
fn no_more_different_values_than_values() {
    // Other values each time, so that some estimates are above.
    for n in (8_000..20_000i64).step_by(500) {
        let value = |i: i64| (i % 5 > 0).then_some(n * 1_000_003 + i * 7);
        let ids: ArrayRef = Arc::new(Int64Array::from_iter((0..n).map(value)));
        let table = MemoryTable::new(RecordBatch::try_from_iter([("id", ids)]).unwrap());
        let all = exact(&table, &Task::new(), &[0]).unwrap();
        let column = all.columns[0].as_ref().unwrap();
        let Some(Distinct::About(different)) = column.distinct else { panic!("{:?}", column.distinct) };
        assert!(different <= column.rows - column.nulls, "{different} of {n}");
    }
}

#[test]
fn everything_of_every_column() {
    let all = exact(&table(), &Task::new(), &[0, 1, 2, 3, 4, 5, 6]).unwrap();
    let column = |i: usize| all.columns[i].as_ref().unwrap();
    assert_eq!(all.depth, Depth::Exact);
    let id = column(0);
    assert_eq!((id.min.as_deref(), id.max.as_deref(), id.mean), (Some("0"), Some("9999"), Some(4999.5)));
    let Some(Distinct::About(n)) = id.distinct else { panic!("{:?}", id.distinct) };
    assert!((9_800..10_200).contains(&n), "{n}");
    assert_eq!(id.histogram.as_ref().unwrap().counts.iter().sum::<u64>(), 10_000);
    let [_, q1, middle, ..] = id.quantiles.unwrap();
    assert!((q1 - 2_500.0).abs() < 2.0 && (middle - 5_000.0).abs() < 2.0);
    let f = column(2);
    assert_eq!((f.nulls, f.nan, f.max.as_deref()), (1_000, 1_000, Some("20.9")));
    assert_eq!(f.disguised, [("-999".to_owned(), 1_000)]);
    let w = column(3);
    assert_eq!(w.top, [("red".to_owned(), 5_000), ("green".to_owned(), 2_500), ("N/A".to_owned(), 2_500)]);
    assert_eq!(
        (w.disguised.as_slice(), w.lengths.map(|l| (l.0, l.1))),
        (&[("N/A".to_owned(), 2_500)][..], Some((3, 5)))
    );
    assert!(column(4).is_constant() && !id.is_constant());
    assert_eq!((column(5).same_as, column(1).same_as, column(4).same_as), (Some(0), None, None));
    assert_eq!(column(6).text_of(column(6).quantiles.unwrap()[2]).get(..4), Some("1983"));
}

#[test]
fn a_sample_says_that_it_is_one_and_a_small_table_is_exact() {
    let table = table();
    assert_eq!(sampled(&table, &Task::new(), &[0]).unwrap().depth, Depth::Exact);
    let rows = Arc::new(Int64Array::from_iter_values(0..100_000)) as ArrayRef;
    let large = MemoryTable::new(RecordBatch::try_from_iter([("n", rows)]).unwrap());
    let some = sampled(&large, &Task::new(), &[0]).unwrap();
    assert_eq!((some.depth, some.rows), (Depth::Sampled(20_000), 100_000));
}

/// Lists of two numbers a row, a struct of one of them, and lists of texts.
fn nested(add: f32) -> [ArrayRef; 3] {
    let numbers = |row: i32| vec![Some(row as f32), Some(row as f32 * 0.5 + add)];
    let lists = ListArray::from_iter_primitive::<Float32Type, _, _>((0..500).map(|r| Some(numbers(r))));
    let lists: ArrayRef = Arc::new(lists);
    let field = Arc::new(Field::new("inner", lists.data_type().clone(), true));
    let of: ArrayRef = Arc::new(StructArray::from(vec![(field, lists.clone())]));
    let mut texts = ListBuilder::new(StringBuilder::new());
    for row in 0..500 {
        texts.append_value([Some(format!("{row}")), None, Some(format!("{add}"))]);
    }
    [lists, of, Arc::new(texts.finish())]
}

#[test]
fn nested_columns_are_the_same_only_where_their_cells_are() {
    let ([a, s, t], [b, other, texts]) = (nested(0.0), nested(1.0));
    let columns =
        [("a", a.clone()), ("b", b), ("again", a), ("s", s.clone()), ("o", other), ("s2", s), ("t", t)];
    let columns = columns.into_iter().chain([("u", texts.clone()), ("u2", texts)]);
    let table = MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap());
    let all = exact(&table, &Task::new(), &[0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let same: Vec<Option<usize>> = all.columns.iter().map(|c| c.as_ref().unwrap().same_as).collect();
    assert_eq!(same, [None, None, Some(0), None, None, Some(3), None, None, Some(7)]);
}

#[test]
fn what_has_no_hash_and_what_does_not_fit_is_never_the_same() {
    let keys = || Int32Array::from_iter_values((0..100).map(|i| i % 7));
    let words = |first: &str| -> ArrayRef {
        let words: Vec<String> = (0..7).map(|i| format!("{first}{i}")).collect();
        let coded = DictionaryArray::<Int32Type>::new(keys(), Arc::new(StringArray::from(words)));
        let field = Arc::new(Field::new("x", coded.data_type().clone(), true));
        Arc::new(StructArray::from(vec![(field, Arc::new(coded) as ArrayRef)]))
    };
    let text = |odd: &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            (0..100).map(|i| if i == 50 { odd.into() } else { i.to_string() }),
        ))
    };
    let guessed = |name: &str| Columns::text(name, DataType::Int64);
    let arrays = vec![words("a"), words("b"), text("x"), text("y")];
    let field = |name: &str| (Field::new(name, arrays[0].data_type().clone(), true), None);
    let columns: Columns = [field("a"), field("b"), guessed("n"), guessed("m")].into_iter().collect();
    let table = MemoryTable::of(columns, arrays).unwrap();
    let all = exact(&table, &Task::new(), &[0, 1, 2, 3]).unwrap();
    assert!(all.columns.iter().all(|c| c.as_ref().unwrap().same_as.is_none()));
    assert_eq!(all.columns[2].as_ref().unwrap().unfit, 1);
}

#[test]
fn quantiles_of_many_rows_are_marked_as_estimates() {
    let of = |rows: i64| {
        let numbers = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
        let table = MemoryTable::new(RecordBatch::try_from_iter([("n", numbers)]).unwrap());
        exact(&table, &Task::new(), &[0]).unwrap().columns.remove(0).unwrap().quantiles_sampled
    };
    assert!(!of(10_000) && of(200_000));
}

#[test]
fn columns_that_go_together() {
    let found = correlation(&table(), &Task::new(), &[0, 1, 2, 3, 4]).unwrap();
    assert_eq!(found.columns, [0, 1, 2, 4]);
    assert!((found.values[0] - 1.0).abs() < 1e-9 && (found.values[1] + 1.0).abs() < 1e-9);
    assert!(found.values[3].is_nan());
}

#[test]
fn equal_rows_are_counted_at_once_however_many_they_are() {
    let schema = Arc::new(Schema::new(vec![Field::new("f", DataType::Float64, true)]));
    // The first row is null, of the others three are 10, 11 and 12, the rest 5.
    let rows = 1 << 60;
    let all = exact(&Sparse(schema, rows), &Task::new(), &[0]).unwrap();
    let column = all.columns[0].as_ref().unwrap();
    assert_eq!((column.rows, column.nulls, column.distinct), (rows, 1, Some(Distinct::Exactly(4))));
    assert_eq!((column.min.as_deref(), column.max.as_deref()), (Some("5.0"), Some("12.0")));
    assert_eq!((column.top[0].clone(), column.top.len()), (("5.0".to_owned(), rows - 4), 4));
    assert_eq!((column.mean, column.quantiles), (Some(5.0), Some([5.0; 5])));
    assert_eq!(column.histogram.as_ref().unwrap().counts.iter().sum::<u64>(), rows - 1);
}

#[test]
fn columns_in_groups_are_summarised_as_they_are_at_once() {
    let (table, columns) = (table(), [6, 5, 4, 3, 2, 1, 0]);
    let of = |most: u64| {
        let task = Task::new();
        let found = pass(&table, &task, &columns, 10_000, most).unwrap();
        let said: Vec<String> = found.into_iter().map(|column| format!("{:?}", column.unwrap())).collect();
        (said, task.progress())
    };
    let (whole, progress) = of(MOST);
    assert_eq!(progress, (10_000, 10_000));
    // Columns of different groups are seen to be the same, too.
    assert!(whole[6].contains("same_as: Some(1)"), "{}", whole[6]);
    for (most, passes) in [(0, 7), (kept_bytes(&DataType::Utf8, 10_000) + 1_000, 5)] {
        let (found, progress) = of(most);
        assert_eq!((found, progress), (whole.clone(), (passes * 10_000, passes * 10_000)));
    }
    let kept = |data_type: DataType| kept_bytes(&data_type, 1 << 40);
    assert!(kept(DataType::Boolean) < kept(DataType::Float64) && kept(DataType::Utf8) < 6 << 20);
}
