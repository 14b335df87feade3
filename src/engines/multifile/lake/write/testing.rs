//! What the tests of both table formats do with what is written.

use crate::convert::{self, Consent, Done, Item, Selection, Target};
use crate::data::cell;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Content, Table};
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::Document;
use crate::formats::open_source;
use crate::{Result, Source, Task};
use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) type Rows = Vec<Vec<Option<String>>>;

fn plan(id: &str, batch: &RecordBatch, set: &[(&str, &str)]) -> Result<convert::Plan> {
    let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch.clone()));
    let items = [Item::new("in", Content::Table(table), Default::default())];
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    convert::plan(&items, Target::by_id(id).unwrap(), &options, &Selection::default())
}

pub(crate) fn create(id: &str, batch: &RecordBatch, set: &[(&str, &str)], path: &Path) -> Result<Done> {
    plan(id, batch, set)?.run(&Task::new(), path, Consent { lose: true, overwrite: false })
}

pub(crate) fn append(id: &str, batch: &RecordBatch, set: &[(&str, &str)], path: &Path) -> Result<Done> {
    plan(id, batch, set)?.append(&Task::new(), path, Consent { lose: true, overwrite: false })
}

pub(crate) fn opened(path: &Path) -> Document {
    let task = Task::new();
    open_source(&task, &Source::open(&task, path).unwrap(), &Options::default()).unwrap()
}

/// The cells of all columns, a row each.
pub(crate) fn rows_of(node: &Node) -> Rows {
    assert!(node.problem.is_none(), "{:?}", node.problem);
    let Some(Content::Table(table)) = &node.content else { panic!("no table") };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let count = table.count(&Task::new()).unwrap();
    cells(&table.read(&Task::new(), 0..count, &columns).unwrap())
}

pub(crate) fn rows(path: &Path) -> Rows {
    rows_of(&opened(path).root)
}

pub(crate) fn sorted(mut rows: Rows) -> Rows {
    rows.sort();
    rows
}

pub(crate) fn cells(batch: &RecordBatch) -> Rows {
    let row = |n: usize| batch.columns().iter().map(|column| cell::text(column.as_ref(), n)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Rows of numbers and names.
pub(crate) fn geese(first: i64, count: i64) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count));
    let names = (first..first + count).map(|n| if n % 5 == 4 { None } else { Some(format!("goose {n}")) });
    let names: ArrayRef = Arc::new(names.collect::<StringArray>());
    let ponds = (first..first + count).map(|n| [Some("north/1"), Some("ü=%"), None][n as usize % 3]);
    let ponds: ArrayRef = Arc::new(ponds.collect::<StringArray>());
    RecordBatch::try_from_iter_with_nullable([
        ("id", ids, false),
        ("name", names, true),
        ("pond", ponds, true),
    ])
    .unwrap()
}

/// All files below a folder, the hidden ones too.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { all.extend(files(&entry)) } else { all.push(entry) }
    }
    all.sort();
    all
}

/// Tables of columns of several types.
pub(crate) fn tables() -> impl Strategy<Value = RecordBatch> {
    let row = (
        any::<Option<i16>>(),
        any::<Option<u64>>(),
        any::<Option<f64>>(),
        any::<Option<String>>(),
        prop::option::of(prop::collection::vec(any::<Option<i32>>(), 0..4)),
        prop::option::of(-2_000_000_000_000_000i64..2_000_000_000_000_000),
        (any::<Option<bool>>(), any::<bool>()),
    );
    prop::collection::vec(row, 0..40).prop_map(|rows| {
        let small: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int16Array>());
        let large: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<UInt64Array>());
        let float: ArrayRef = Arc::new(rows.iter().map(|row| row.2).collect::<Float64Array>());
        let text: ArrayRef = Arc::new(rows.iter().map(|row| row.3.clone()).collect::<StringArray>());
        let lists = rows.iter().map(|row| row.4.clone());
        let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        let times = rows.iter().map(|row| row.5).collect::<TimestampMicrosecondArray>();
        let zoned: ArrayRef = Arc::new(times.clone().with_timezone("UTC"));
        let flags: ArrayRef = Arc::new(rows.iter().map(|row| row.6.0).collect::<BooleanArray>());
        let fields = Fields::from(vec![
            Field::new("flag", DataType::Boolean, true),
            Field::new("time", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        ]);
        let nulls: NullBuffer = rows.iter().map(|row| row.6.1).collect();
        let inner: Vec<ArrayRef> = vec![flags.clone(), Arc::new(times)];
        let nested: ArrayRef =
            Arc::new(StructArray::try_new_with_length(fields, inner, Some(nulls), rows.len()).unwrap());
        RecordBatch::try_from_iter_with_nullable([
            ("small", small, true),
            ("large", large, true),
            ("float, with a comma", float, true),
            ("text", text, true),
            ("list", list, true),
            ("zoned", zoned, true),
            ("flag", flags, true),
            ("nested", nested, true),
        ])
        .unwrap()
    })
}

/// What is written is read again as it was, whatever the values and partitions are.
pub(crate) fn round(id: &str, batch: &RecordBatch, partition: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let set = [("target_file_bytes", "2000"), ("partition_by", partition)];
    create(id, batch, &set, &path).unwrap();
    assert_eq!(opened(&path).format.id, id);
    match partition {
        "" => assert_eq!(rows(&path), cells(batch)),
        _ => assert_eq!(sorted(rows(&path)), sorted(cells(batch))),
    }
}

/// Two appends are there in full; what does not fit is refused, and leaves the table as it was.
pub(crate) fn appends(id: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let missing = append(id, &geese(0, 3), &[], &path).unwrap_err().to_string();
    assert!(missing.contains("nothing to add to"), "{missing}");
    create(id, &geese(0, 10), &[("partition_by", "pond")], &path).unwrap();
    let done = append(id, &geese(10, 5), &[], &path).unwrap();
    assert!(done.bytes > 500, "{done:?}");
    append(id, &geese(15, 5), &[("partition_by", "pond")], &path).unwrap();
    assert_eq!(sorted(rows(&path)), sorted(cells(&geese(0, 20))));
    // Fewer columns, narrower ones, in another order.
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![20]));
    let ponds: ArrayRef = Arc::new(StringViewArray::from(vec!["north/1"]));
    append(id, &RecordBatch::try_from_iter([("pond", ponds.clone()), ("id", narrow)]).unwrap(), &[], &path)
        .unwrap();
    let all = sorted(rows(&path));
    assert_eq!(all.len(), 21);
    assert!(all.contains(&vec![Some("20".to_owned()), None, Some("north/1".to_owned())]));
    let before = files(&path);
    let none: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    for (columns, partition, words) in [
        (vec![("id", texts.clone())], "", "it is string"),
        (vec![("id", none.clone())], "", "no nulls"),
        (vec![("name", texts.clone())], "", "no nulls"),
        (vec![("id", none), ("weight", texts)], "", "no such column"),
        (vec![("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef)], "name", "is partitioned by pond"),
    ] {
        let set = [("partition_by", partition)];
        let set = if partition.is_empty() { &[][..] } else { &set[..] };
        let error = append(id, &RecordBatch::try_from_iter(columns).unwrap(), set, &path).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(files(&path), before);
    }
    append(id, &geese(0, 0), &[], &path).unwrap();
    assert_eq!(rows(&path).len(), 21);
}

/// Several writers at once all end up in the table.
pub(crate) fn races(id: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    create(id, &geese(0, 4), &[], &path).unwrap();
    std::thread::scope(|scope| {
        for n in 1..=6 {
            let path = &path;
            scope.spawn(move || append(id, &geese(n * 4, 4), &[], path).unwrap());
        }
    });
    assert_eq!(sorted(rows(&path)), sorted(cells(&geese(0, 28))));
    let strange = files(&path).into_iter().filter(|path| path.to_string_lossy().contains("gander-"));
    assert_eq!(strange.count(), 0);
}

/// A process that ended between its data and its commit left the table as it was, and what it left is removed by the
/// next one; what the table speaks of stays, whatever a list says.
pub(crate) fn killed(id: &str, folder_of_data: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    create(id, &geese(0, 4), &[], &path).unwrap();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let hidden = path.join(format!(".append.gander-{}-0.tmp", child.id()));
    std::fs::create_dir(&hidden).unwrap();
    let relative = |path_: &PathBuf| path_.strip_prefix(&path).unwrap().to_string_lossy().into_owned();
    let mut list: Vec<String> = files(&path.join(folder_of_data)).iter().map(relative).collect();
    list.retain(|file| file.ends_with(".parquet"));
    assert_eq!(list.len(), 1);
    let left = format!("{folder_of_data}part-00000-left.parquet");
    std::fs::copy(path.join(&list[0]), path.join(&left)).unwrap();
    list.push(left.clone());
    std::fs::write(hidden.join("files"), list.join("\n") + "\n").unwrap();
    assert_eq!(rows(&path), cells(&geese(0, 4)));
    append(id, &geese(4, 4), &[], &path).unwrap();
    assert_eq!(sorted(rows(&path)), sorted(cells(&geese(0, 8))));
    assert!(!hidden.exists() && !path.join(left).exists());
}
