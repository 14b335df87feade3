use super::*;
use crate::content::table::MemoryTable;
use arrow::array::*;
use arrow::datatypes::{DataType, Field};
use std::sync::atomic::{AtomicUsize, Ordering};

fn part(name: &str, columns: Vec<(&str, ArrayRef)>, constants: Vec<ArrayRef>) -> Part {
    let table: Arc<dyn Table> = Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap()));
    Part { constants, ..Part::new(name, 0, Box::new(move |_| Ok(table.clone()))) }
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(table: &dyn Table, rows: Range<u64>) -> Vec<Vec<Option<String>>> {
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &columns).unwrap();
    (0..batch.num_rows())
        .map(|row| batch.columns().iter().map(|c| crate::cell::text(c.as_ref(), row)).collect())
        .collect()
}

#[test]
fn parts_follow_each_other() {
    let parts =
        (0..40).map(|n| part(&n.to_string(), vec![("a", ints(&[n * 3, n * 3 + 1, n * 3 + 2]))], vec![]));
    let joined = tables(&Task::new(), parts.collect(), vec![]).unwrap();
    assert_eq!(joined.table.rows(), Rows::Exact(120));
    assert!(joined.differences.is_empty());
    for start in 0..115 {
        let rows = texts(&*joined.table, start..start + 5);
        let expected: Vec<_> = (start..start + 5).map(|n| vec![Some(n.to_string())]).collect();
        assert_eq!(rows, expected);
    }
    assert_eq!(joined.table.layout().blocks[7].first, 21);
}

#[test]
fn columns_that_differ_are_fitted_and_named() {
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![3]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let parts = vec![
        part("first", vec![("a", narrow), ("b", text.clone())], vec![]),
        part("second", vec![("b", text.clone()), ("a", ints(&[1 << 40])), ("c", ints(&[0]))], vec![]),
        part("third", vec![("b", text.clone())], vec![]),
        part("fourth", vec![("a", text.clone()), ("b", text)], vec![]),
    ];
    let joined = tables(&Task::new(), parts, vec![]).unwrap();
    assert_eq!((joined.opened, joined.fitting), (4, 3));
    assert_eq!(joined.table.schema().field(0).data_type(), &DataType::Int64);
    assert!(joined.table.schema().field(0).is_nullable());
    let rows = texts(&*joined.table, 0..10);
    let a: Vec<Option<&str>> = rows.iter().map(|r| r[0].as_deref()).collect();
    assert_eq!(a, [Some("3"), Some("1099511627776"), None]);
    let said = joined.differences.join("\n");
    for words in [
        "schema differs: second: a is int64 instead of int32, both are read as int64; c is additional",
        "schema differs: third: a is missing",
        "fourth: a is string instead of int32; it is left out of the table",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn constants_are_columns() {
    let field = Arc::new(Field::new("year", DataType::Int32, true));
    let year = |year: Option<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(vec![year]))] };
    let parts = vec![
        part("x", vec![("a", ints(&[1, 2]))], year(Some(2023))),
        part("y", vec![("a", ints(&[3]))], year(None)),
    ];
    let joined = tables(&Task::new(), parts, vec![field]).unwrap();
    let rows = texts(&*joined.table, 1..3);
    assert_eq!(rows[0], [Some("2".to_owned()), Some("2023".to_owned())]);
    assert_eq!(rows[1], [Some("3".to_owned()), None]);
    let only = joined.table.read(&Task::new(), 0..3, &[1]).unwrap();
    assert_eq!(only.num_rows(), 3);
}

#[test]
fn a_part_that_does_not_open_leaves_the_others() {
    let broken = Part::new("broken", 0, Box::new(|_| Err(Error::malformed("footer: cut off"))));
    let parts =
        vec![part("a", vec![("a", ints(&[1]))], vec![]), broken, part("b", vec![("a", ints(&[2]))], vec![])];
    let joined = tables(&Task::new(), parts, vec![]).unwrap();
    assert_eq!(joined.table.rows(), Rows::Exact(2));
    assert!(joined.differences[0].contains("broken is left out"), "{:?}", joined.differences);
}

/// Parts of three rows each that metadata knows, and how often one was opened.
fn lazy(count: i64) -> (Vec<Part>, Arc<AtomicUsize>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let part = |n: i64| {
        let opened = opened.clone();
        let open = move |_: &Task| {
            opened.fetch_add(1, Ordering::Relaxed);
            let values = ints(&[n * 3, n * 3 + 1, n * 3 + 2]);
            let table = MemoryTable::new(RecordBatch::try_from_iter_with_nullable([("a", values, true)])?);
            Ok(Arc::new(table) as Arc<dyn Table>)
        };
        let mut part = Part::new(format!("part {n}"), 0, Box::new(open));
        part.rows = Some(Rows::Exact(3));
        let bounds = move |_| {
            let (min, max) = (ints(&[n * 3]), ints(&[n * 3 + 2]));
            Some(Bounds { min, max, nulls: UInt64Array::from(vec![0]) })
        };
        part.bounds = Some(Box::new(bounds));
        part
    };
    ((0..count).map(part).collect(), opened)
}

#[test]
fn parts_that_are_known_are_opened_when_they_are_read() {
    let task = Task::new();
    let (parts, opened) = lazy(10_000);
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let joined = known(&task, &schema, parts, |n| n == 5_000).unwrap();
    assert_eq!((joined.opened, joined.fitting, joined.table.rows()), (17, 17, Rows::Exact(30_000)));
    assert_eq!(opened.load(Ordering::Relaxed), 17);
    assert_eq!(texts(&*joined.table, 29_998..29_999), [[Some("29998".to_owned())]]);
    assert_eq!(opened.load(Ordering::Relaxed), 18);
    // Of some parts alone the rows follow one another too.
    let said = joined.table.parts(&[0]).unwrap();
    assert_eq!(said.columns[0].max.as_primitive::<arrow::datatypes::Int64Type>().value(70), 212);
    let keep: Vec<bool> = (0..10_000).map(|n| n % 5_000 == 70).collect();
    let some = joined.table.only(&keep).unwrap();
    let values: Vec<String> = texts(&*some, 0..9).into_iter().map(|row| row[0].clone().unwrap()).collect();
    assert_eq!(values, ["210", "211", "212", "15210", "15211", "15212"]);
    assert_eq!(opened.load(Ordering::Relaxed), 20);
    let none = joined.table.only(&vec![false; 10_000]).unwrap();
    assert_eq!((none.rows(), texts(&*none, 0..9).len()), (Rows::Exact(0), 0));
}

#[test]
fn a_part_that_has_not_what_metadata_says_is_an_error_where_it_is_read() {
    let (mut parts, _) = lazy(30);
    parts[20].rows = Some(Rows::Exact(4));
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let table = known(&Task::new(), &schema, parts, |_| false).unwrap().table;
    assert_eq!(table.rows(), Rows::Exact(91));
    assert_eq!(texts(&*table, 57..60).len(), 3);
    let error = table.read(&Task::new(), 60..63, &[0]).unwrap_err().to_string();
    assert!(error.contains("it has 3 rows, the table's metadata says 4"), "{error}");
    assert_eq!(texts(&*table, 64..66)[0], [Some("63".to_owned())]);
}

#[test]
fn stretches_of_parts_have_their_constants() {
    let field = Arc::new(Field::new("year", DataType::Int32, true));
    let year = |year: Option<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(vec![year]))] };
    let parts = vec![
        part("x", vec![("a", ints(&[1, 2]))], year(Some(2023))),
        part("y", vec![("a", ints(&[3]))], year(None)),
    ];
    let table = tables(&Task::new(), parts, vec![field]).unwrap().table;
    let found = table.stretches(&Task::new(), &[1, 0], &[]).unwrap().unwrap();
    assert_eq!(found.rows, [0..2, 2..3]);
    assert_eq!(found.columns[0].min.as_primitive::<arrow::datatypes::Int32Type>().value(0), 2023);
    assert_eq!(found.columns[0].nulls, UInt64Array::from(vec![0, 1]));
    assert_eq!(found.columns[1].min.null_count(), 2);
    assert_eq!(
        table.stretches(&Task::new(), &[0], &[false, true]).unwrap().unwrap().rows,
        std::slice::from_ref(&(2..3))
    );
}

/// A table whose file says something of its only column.
struct Stated(MemoryTable, StoredStatistics);

impl Table for Stated {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }
    fn rows(&self) -> Rows {
        self.0.rows()
    }
    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.0.read(task, rows, columns)
    }
    fn statistics(&self, _column: usize) -> Option<StoredStatistics> {
        Some(self.1.clone())
    }
}

#[test]
fn the_statistics_of_parts_are_merged() {
    // By metadata, without opening any.
    let (parts, _) = lazy(300);
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let said = known(&Task::new(), &schema, parts, |_| false).unwrap().table.statistics(0).unwrap();
    assert_eq!((said.min.as_deref(), said.max.as_deref(), said.nulls), (Some("0"), Some("899"), Some(0)));
    assert!(said.bounds, "metadata's ends may lie beyond the values");
    let (many, _) = lazy(1_000);
    assert!(known(&Task::new(), &schema, many, |_| false).unwrap().table.statistics(0).is_none());
    // By the files; numbers are compared as numbers, and as wide as the table's.
    let stated = |values: ArrayRef, min: &str, max: &str, nulls: Option<u64>| {
        let table =
            MemoryTable::new(RecordBatch::try_from_iter_with_nullable([("a", values, true)]).unwrap());
        let (min, max) = (Some(min.to_owned()), Some(max.to_owned()));
        let said = StoredStatistics { min, max, nulls, bounds: false, distinct: Some(1) };
        let table: Arc<dyn Table> = Arc::new(Stated(table, said));
        Part::new("x", 0, Box::new(move |_| Ok(table.clone())))
    };
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![9, 12]));
    let parts =
        vec![stated(ints(&[100, 5]), "5", "100", Some(0)), stated(narrow.clone(), "9", "12", Some(0))];
    let said = tables(&Task::new(), parts, vec![]).unwrap().table.statistics(0).unwrap();
    assert_eq!((said.min.as_deref(), said.max.as_deref(), said.nulls), (Some("5"), Some("100"), Some(0)));
    assert!(!said.bounds && said.distinct.is_none());
    // One that does not count its nulls, one that says nothing at all, one without the column.
    let parts = vec![stated(ints(&[1]), "1", "1", Some(0)), stated(narrow, "9", "12", None)];
    assert_eq!(tables(&Task::new(), parts, vec![]).unwrap().table.statistics(0).unwrap().nulls, None);
    let parts = vec![stated(ints(&[1]), "1", "1", Some(0)), part("silent", vec![("a", ints(&[3]))], vec![])];
    assert!(tables(&Task::new(), parts, vec![]).unwrap().table.statistics(0).is_none());
}

#[test]
fn constants_and_missing_columns_count_in_merged_statistics() {
    let field = Arc::new(Field::new("year", DataType::Int32, true));
    let year = |year: Option<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(vec![year]))] };
    let parts = vec![
        part("x", vec![("a", ints(&[1, 2]))], year(Some(2023))),
        part("y", vec![("a", ints(&[3]))], year(None)),
        part("z", vec![("a", ints(&[3]))], year(Some(987))),
    ];
    let said = tables(&Task::new(), parts, vec![field]).unwrap().table.statistics(1).unwrap();
    assert_eq!((said.min.as_deref(), said.max.as_deref(), said.nulls), (Some("987"), Some("2023"), Some(1)));
}
