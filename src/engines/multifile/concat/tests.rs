use super::*;
use crate::data::content::table::MemoryTable;
use crate::engines::json::record::REST;
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type};
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
        .map(|row| batch.columns().iter().map(|c| crate::data::cell::text(c.as_ref(), row)).collect())
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

/// A struct of doubles in one row.
fn place(fields: &[(&str, f64)]) -> ArrayRef {
    let field = |(name, value): &(&str, f64)| -> (FieldRef, ArrayRef) {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![*value]));
        (Arc::new(Field::new(*name, DataType::Float64, true)), values)
    };
    Arc::new(StructArray::from(fields.iter().map(field).collect::<Vec<(FieldRef, ArrayRef)>>()))
}

#[test]
fn structs_fit_by_the_names_of_their_fields() {
    let parts = vec![
        part("a", vec![("pos", place(&[("lat", 1.0), ("lon", 2.0)]))], vec![]),
        part("b", vec![("pos", place(&[("lon", 20.0), ("alt", 30.0)]))], vec![]),
        part("c", vec![("pos", place(&[("lon", 200.0), ("lat", 100.0)]))], vec![]),
    ];
    let joined = tables(&Task::new(), parts, vec![]).unwrap();
    assert_eq!((joined.opened, joined.fitting), (3, 2));
    let said = "schema differs: b: pos is struct<lon: double, alt: double> instead of \
                struct<lat: double, lon: double>; it is left out of the table";
    assert_eq!(joined.differences, [said]);
    let batch = joined.table.read(&Task::new(), 0..9, &[0]).unwrap();
    let values = |name: &str| {
        let column = batch.column(0).as_struct().column_by_name(name).unwrap();
        column.as_primitive::<Float64Type>().values().to_vec()
    };
    assert_eq!((values("lat"), values("lon")), (vec![1.0, 100.0], vec![2.0, 200.0]));
}

#[test]
fn names_of_fields_count_inside_of_lists_maps_and_dictionaries() {
    let pair = |a: &str, b: &str| {
        let fields = [a, b].map(|name| Field::new(name, DataType::Int64, true));
        DataType::Struct(fields.to_vec().into())
    };
    let item = |name: &str, inner: DataType| Arc::new(Field::new(name, inner, true));
    let map = |entries: &str, key: &str, value: DataType| {
        let fields = vec![Field::new(key, DataType::Utf8, false), Field::new("value", value, true)];
        DataType::Map(Arc::new(Field::new(entries, DataType::Struct(fields.into()), false)), false)
    };
    let wrapped = |inner: DataType, other: bool| {
        [
            DataType::List(item(if other { "element" } else { "item" }, inner.clone())),
            DataType::FixedSizeList(item("item", inner.clone()), 2),
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(inner.clone())),
            if other { map("key_value", "k", inner.clone()) } else { map("entries", "key", inner.clone()) },
            DataType::Struct(vec![Field::new("inner", inner, true)].into()),
        ]
    };
    let ours = wrapped(pair("a", "b"), false);
    for (a, b) in ours.iter().zip(&wrapped(pair("b", "a"), true)) {
        assert_eq!(unify::types(a, b).as_ref(), Some(a));
    }
    for (a, b) in ours.iter().zip(&wrapped(pair("b", "c"), false)) {
        assert_eq!(unify::types(a, b), None);
    }
    // Of two fields of one name only their order tells which is which.
    assert_eq!(unify::types(&pair("a", "a"), &pair("a", "b")), None);
    assert!(unify::types(&pair("a", "a"), &pair("a", "a")).is_some());
}

#[test]
fn integers_become_doubles_where_these_hold_them() {
    let table = |id: i64| {
        let doubles: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(id)]));
        let parts = vec![part("a", vec![("id", doubles)], vec![]), part("b", vec![("id", ids)], vec![])];
        tables(&Task::new(), parts, vec![]).unwrap().table
    };
    for id in [5, 1 << 53, (1 << 53) + 2, -(1 << 60), i64::MIN] {
        let batch = table(id).read(&Task::new(), 0..9, &[0]).unwrap();
        let values = batch.column(0).as_primitive::<Float64Type>();
        assert_eq!((values.value(1), values.is_null(2), values.value(3)), (7.0, true, id as f64));
    }
    for id in [9_007_199_254_740_993, -9_007_199_254_740_993, i64::MAX] {
        let error = table(id).read(&Task::new(), 0..9, &[0]).unwrap_err().to_string();
        let words = format!("column \"id\": {id} is more than a double can hold exactly");
        assert!(error.starts_with("b: ") && error.contains(&words), "{error}");
    }
}

#[test]
fn other_integers_and_floats_are_as_exact() {
    let fitted = |array: ArrayRef, to: DataType| {
        exact::fitted(&array, &Field::new("n", to, true)).map_err(|error| error.to_string())
    };
    let unsigned = |n: u64| -> ArrayRef { Arc::new(UInt64Array::from(vec![n])) };
    assert!(fitted(unsigned(1 << 63), DataType::Float64).is_ok());
    assert!(fitted(unsigned(u64::MAX), DataType::Float64).unwrap_err().contains("18446744073709551615 is"));
    let narrow = |n: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![n])) };
    assert!(fitted(narrow(1 << 24), DataType::Float32).is_ok());
    assert!(fitted(narrow((1 << 24) + 1), DataType::Float32).unwrap_err().contains("than a float can"));
    // A value of a dictionary that no row has is none of the column.
    let keys = |key: i32| -> ArrayRef {
        let values = ints(&[1, (1 << 53) + 1]);
        Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(vec![key]), values))
    };
    assert!(fitted(keys(0), DataType::Float64).is_ok());
    assert!(fitted(keys(1), DataType::Float64).is_err());
}

/// A part of texts whose types were inferred, as readers of JSON make it.
fn records(name: &str, columns: Vec<(&str, Vec<Option<&str>>)>) -> Part {
    let fields: Columns = columns.iter().map(|(name, _)| Columns::text(*name, DataType::Utf8)).collect();
    let array = |(_, cells): (&str, Vec<Option<&str>>)| Arc::new(StringArray::from(cells)) as ArrayRef;
    let arrays: Vec<ArrayRef> = columns.into_iter().map(array).collect();
    let table: Arc<dyn Table> = Arc::new(MemoryTable::of(fields, arrays).unwrap());
    Part::new(name, 0, Box::new(move |_| Ok(table.clone())))
}

/// A part without a column `late`, and one with it.
fn late() -> [Part; 2] {
    let rests = vec![
        None,
        Some(r#"{"late":"x\ty","other":[1, 2]}"#),
        Some(r#"{"late":1,"late":{"z": 1}}"#),
        // A record that cannot be read, or a text: a rest has no field that has a column.
        Some(r#"{"id":4,"late":5}"#),
        Some("[6"),
    ];
    let ids = vec![Some("1"), Some("2"), Some("3"), None, None];
    [
        records("a", vec![("id", ids), (REST, rests)]),
        records("b", vec![("id", vec![Some("6")]), ("late", vec![Some("7")])]),
    ]
}

#[test]
fn fields_without_a_column_in_their_part_are_taken_out_of_its_rests() {
    let joined = join(&Task::new(), late().into(), vec![], Wanted::Seen).unwrap();
    assert_eq!(joined.differences, ["schema differs: b: late is additional"]);
    let expected = [
        [Some("1"), None, None],
        [Some("2"), Some(r#"{"other":[1, 2]}"#), Some("x\ty")],
        [Some("3"), None, Some(r#"{"z": 1}"#)],
        [None, Some(r#"{"id":4,"late":5}"#), None],
        [None, Some("[6"), None],
        [Some("6"), None, Some("7")],
    ];
    let expected = expected.map(|row| row.map(owned).to_vec());
    assert_eq!(texts(&*joined.table, 0..9), expected);
    for column in [1, 2] {
        let batch = joined.table.read(&Task::new(), 1..3, &[column]).unwrap();
        let cells = [0, 1].map(|row| crate::data::cell::text(batch.column(0).as_ref(), row));
        assert_eq!(cells, [expected[1][column].clone(), expected[2][column].clone()]);
    }
}

#[test]
fn rests_have_a_column_also_where_the_columns_are_those_of_the_first_part() {
    let [a, b] = late();
    let joined = tables(&Task::new(), vec![b, a], vec![]).unwrap();
    let names: Vec<&str> = joined.table.schema().fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["id", "late", REST]);
    assert_eq!(texts(&*joined.table, 2..3)[0][1..], [Some("x\ty"), Some(r#"{"other":[1, 2]}"#)].map(owned));
    let said = "schema differs: a: late is missing, but taken from the column … where a record has it";
    assert_eq!(joined.differences, [said]);
    // Whoever looks for values may not pass over them.
    let found = joined.table.row_ranges(&Task::new(), &[1], &[]).unwrap().unwrap();
    assert_eq!(found.columns[0].nulls.null_count(), 2);
    assert!(joined.table.statistics(1).is_none());
}

fn owned(cell: Option<&str>) -> Option<String> {
    cell.map(str::to_owned)
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
            Some(ColumnStatistics::new(min, max, UInt64Array::from(vec![0])))
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
    let some = joined.table.with_parts(&keep).unwrap();
    let values: Vec<String> = texts(&*some, 0..9).into_iter().map(|row| row[0].clone().unwrap()).collect();
    assert_eq!(values, ["210", "211", "212", "15210", "15211", "15212"]);
    assert_eq!(opened.load(Ordering::Relaxed), 20);
    let none = joined.table.with_parts(&vec![false; 10_000]).unwrap();
    assert_eq!((none.rows(), texts(&*none, 0..9).len()), (Rows::Exact(0), 0));
}

#[test]
fn steps_of_wide_parts_that_are_not_open_have_few_rows() {
    let step = |columns: usize| {
        let (mut parts, opened) = lazy(20);
        parts.iter_mut().for_each(|part| part.rows = Some(Rows::Exact(1 << 20)));
        let fields: Vec<Field> =
            (0..columns).map(|n| Field::new(n.to_string(), DataType::Int64, true)).collect();
        let table = known(&Task::new(), &Arc::new(Schema::new(fields)), parts, |_| false).unwrap().table;
        assert_eq!(opened.load(Ordering::Relaxed), 16);
        table.scan_step(table.rows().number() - (1 << 20))
    };
    assert_eq!((step(1), step(1 << 17)), (65_536, 64));
}

#[test]
fn of_many_parts_a_few_are_opened_for_the_columns() {
    let task = Task::new();
    let (mut parts, opened) = lazy(10_000);
    parts.iter_mut().for_each(|part| (part.rows, part.bounds) = (None, None));
    // One has a further column, one another type that does not fit; neither is among the first ones.
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    parts[40] = part("more", vec![("a", ints(&[7])), ("b", ints(&[8]))], vec![]);
    parts[41] = part("other", vec![("a", text)], vec![]);
    let joined = join(&task, parts, vec![], Wanted::Seen).unwrap();
    assert_eq!((joined.opened, opened.load(Ordering::Relaxed)), (SEEN, SEEN));
    let table = joined.table;
    assert_eq!(table.rows(), Rows::AtLeast(SEEN as u64 / 2 * 3));
    assert_eq!(texts(&*table, 0..20).len(), 20);
    assert_eq!(opened.load(Ordering::Relaxed), SEEN, "their rows are known and they are open");
    let _ = table.read(&task, 119..125, &[0]).unwrap();
    assert!(opened.load(Ordering::Relaxed) <= SEEN + STEP);
    let details = table.facts().details;
    let said: Vec<&str> = details.iter().map(|(_, text)| text.as_str()).collect();
    assert!(said.contains(&"schema differs: more: b is additional and not shown"), "{said:?}");
    assert!(said.iter().any(|text| text.contains("other: a is string instead of int64")), "{said:?}");
    // What headers say is learned where it is asked for; not of more parts than may be.
    table.read_headers(&task, 1_000).unwrap();
    assert!(opened.load(Ordering::Relaxed) <= SEEN + STEP);
    table.read_headers(&task, 10_000).unwrap();
    assert_eq!(table.rows(), Rows::Exact(9_998 * 3 + 1));
    assert_eq!(texts(&*table, 29_993..29_995), [[owned(Some("29998"))], [owned(Some("29999"))]]);
    let kept = opened.load(Ordering::Relaxed);
    assert!(kept <= 10_000 + 2, "{kept}");
}

#[test]
fn the_parts_opened_for_columns_are_the_first_and_some_of_the_rest() {
    for count in [0, 1, SEEN, WHOLE, WHOLE + 1, 1_000_000] {
        let seen = sample(count);
        assert_eq!(seen.len(), if count > WHOLE { SEEN } else { count });
        assert!(
            seen.is_sorted_by(|a, b| a < b)
                && seen.iter().take(SEEN / 2).eq(&(0..count.min(SEEN / 2)).collect::<Vec<_>>())
        );
        assert_eq!(seen.last().copied(), count.checked_sub(1));
    }
    // Whoever wants the columns of all has all of them opened.
    let (mut parts, opened) = lazy(200);
    parts.iter_mut().for_each(|part| (part.rows, part.bounds) = (None, None));
    parts[150] = part("more", vec![("a", ints(&[7])), ("b", ints(&[8]))], vec![]);
    let joined = join(&Task::new(), parts, vec![], Wanted::All).unwrap();
    assert_eq!((joined.opened, opened.load(Ordering::Relaxed)), (200, 199));
    assert_eq!(joined.table.schema().fields().len(), 2);
    assert_eq!(joined.table.rows(), Rows::Exact(598));
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
fn row_ranges_of_parts_have_their_constants() {
    let field = Arc::new(Field::new("year", DataType::Int32, true));
    let year = |year: Option<i32>| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(vec![year]))] };
    let parts = vec![
        part("x", vec![("a", ints(&[1, 2]))], year(Some(2023))),
        part("y", vec![("a", ints(&[3]))], year(None)),
    ];
    let table = tables(&Task::new(), parts, vec![field]).unwrap().table;
    let found = table.row_ranges(&Task::new(), &[1, 0], &[]).unwrap().unwrap();
    assert_eq!(found.rows, [0..2, 2..3]);
    assert_eq!(found.columns[0].min.as_primitive::<arrow::datatypes::Int32Type>().value(0), 2023);
    assert_eq!(found.columns[0].nulls, UInt64Array::from(vec![0, 1]));
    assert_eq!(found.columns[1].min.null_count(), 2);
    assert_eq!(
        table.row_ranges(&Task::new(), &[0], &[false, true]).unwrap().unwrap().rows,
        std::slice::from_ref(&(2..3))
    );
}

/// A table whose file says something of its only column.
struct Stated(MemoryTable, ColumnStatistics);

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
    fn statistics(&self, _column: usize) -> Option<ColumnStatistics> {
        Some(self.1.clone())
    }
}

fn ends(found: &ColumnStatistics) -> (String, String, Option<u64>) {
    (found.min_text().unwrap(), found.max_text().unwrap(), found.null_count())
}

#[test]
fn the_statistics_of_parts_are_merged() {
    // By metadata, without opening any.
    let (parts, _) = lazy(300);
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let said = known(&Task::new(), &schema, parts, |_| false).unwrap().table.statistics(0).unwrap();
    assert_eq!(ends(&said), ("0".to_owned(), "899".to_owned(), Some(0)));
    assert!(!said.exact, "metadata's ends may lie beyond the values");
    let (many, _) = lazy(1_000);
    assert!(known(&Task::new(), &schema, many, |_| false).unwrap().table.statistics(0).is_none());
    // By the files; numbers are compared as numbers, and as wide as the table's.
    let stated = |values: ArrayRef, min: i32, max: i32, nulls: Option<u64>| {
        let end = |end: i32| arrow::compute::cast(&Int32Array::from(vec![end]), values.data_type()).unwrap();
        let said = ColumnStatistics::new(end(min), end(max), vec![nulls].into());
        let said = ColumnStatistics { distinct: Some(1), ..said };
        let table =
            MemoryTable::new(RecordBatch::try_from_iter_with_nullable([("a", values, true)]).unwrap());
        let table: Arc<dyn Table> = Arc::new(Stated(table, said));
        Part::new("x", 0, Box::new(move |_| Ok(table.clone())))
    };
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![9, 12]));
    let parts = vec![stated(ints(&[100, 5]), 5, 100, Some(0)), stated(narrow.clone(), 9, 12, Some(0))];
    let said = tables(&Task::new(), parts, vec![]).unwrap().table.statistics(0).unwrap();
    assert_eq!(ends(&said), ("5".to_owned(), "100".to_owned(), Some(0)));
    assert!(said.exact && said.distinct.is_none());
    // One that does not count its nulls, one that says nothing at all, one without the column.
    let parts = vec![stated(ints(&[1]), 1, 1, Some(0)), stated(narrow, 9, 12, None)];
    assert_eq!(tables(&Task::new(), parts, vec![]).unwrap().table.statistics(0).unwrap().null_count(), None);
    let parts = vec![stated(ints(&[1]), 1, 1, Some(0)), part("silent", vec![("a", ints(&[3]))], vec![])];
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
    assert_eq!(ends(&said), ("987".to_owned(), "2023".to_owned(), Some(1)));
}
