use super::*;
use crate::content::table::MemoryTable;
use arrow::array::*;
use arrow::datatypes::{DataType, Field};

fn part(name: &str, columns: Vec<(&str, ArrayRef)>, constants: Vec<ArrayRef>) -> Part {
    let table: Arc<dyn Table> = Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap()));
    Part { name: name.to_owned(), bytes: 0, open: Box::new(move |_| Ok(table.clone())), constants }
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
    let broken = Part {
        name: "broken".to_owned(),
        bytes: 0,
        open: Box::new(|_| Err(Error::malformed("footer: cut off"))),
        constants: vec![],
    };
    let parts =
        vec![part("a", vec![("a", ints(&[1]))], vec![]), broken, part("b", vec![("a", ints(&[2]))], vec![])];
    let joined = tables(&Task::new(), parts, vec![]).unwrap();
    assert_eq!(joined.table.rows(), Rows::Exact(2));
    assert!(joined.differences[0].contains("broken is left out"), "{:?}", joined.differences);
}
