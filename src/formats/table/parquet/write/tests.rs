use super::*;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::format::{Data, Files};
use crate::data::open::table_of;
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

fn table(columns: Vec<(&str, ArrayRef)>) -> Payload {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    Payload::plain(Data::Table(Arc::new(MemoryTable::new(batch))))
}

fn options(list: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    list.iter().for_each(|(name, value)| options.set(name, *value));
    options
}

fn bytes(payload: &Payload, list: &[(&str, &str)]) -> Result<Vec<u8>> {
    let mut out = Cursor::new(Vec::new());
    write(&Task::new(), payload, &options(list), &mut out)?;
    Ok(out.into_inner())
}

/// The files of a folder on the disk.
struct Disk(PathBuf);

struct DiskFile(std::fs::File);

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for DiskFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

impl Sink for DiskFile {}

impl Files for Disk {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        Ok(std::fs::write(self.0.join(path), bytes)?)
    }
    fn file(&mut self, path: &str) -> Result<Box<dyn Sink>> {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap())?;
        assert!(!path.exists(), "{}", path.display());
        Ok(Box::new(DiskFile(std::fs::File::create(path)?)))
    }
}

/// The cells of the folder's table, opened by ours: by names of columns, rows sorted.
fn rows_of(path: &Path, names: &[&str]) -> Vec<Vec<Option<String>>> {
    let task = Task::new();
    let document = crate::formats::open(&task, path, &Options::default()).unwrap();
    assert_eq!(document.format.id, "dataset");
    let table = table_of(&document).unwrap();
    let columns: Vec<usize> = names.iter().map(|name| table.schema().index_of(name).unwrap()).collect();
    let count = table.count(&task).unwrap();
    let batch = table.read(&task, 0..count, &columns).unwrap();
    let row = |row: usize| batch.columns().iter().map(|c| crate::data::cell::text(c.as_ref(), row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

fn in_folder(payload: &Payload, list: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    folder::write(&Task::new(), payload, &options(list), &mut Disk(folder.path().to_owned())).unwrap();
    folder
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn partitions_come_back(rows in prop::collection::vec((prop::option::of("[a-c/ %=é]{1,2}"), prop::option::of(0i64..4), any::<i64>()), 1..60)) {
        let texts: ArrayRef = Arc::new(rows.iter().map(|row| row.0.clone()).collect::<StringArray>());
        let keys: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)));
        let payload = table(vec![("t=x", texts), ("k", keys), ("v", values)]);
        let folder = in_folder(&payload, &[("partition_by", "t=x, k"), ("split_rows", "7")]);
        let mut read = rows_of(folder.path(), &["t=x", "k", "v"]);
        let text = |n: i64| n.to_string();
        let mut expected: Vec<Vec<Option<String>>> =
            rows.iter().map(|row| vec![row.0.clone(), row.1.map(text), Some(text(row.2))]).collect();
        read.sort();
        expected.sort();
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn parts_have_so_many_rows_and_stand_in_order() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..25_000));
    let payload = table(vec![("n", numbers)]);
    let folder = in_folder(&payload, &[("split_rows", "10000")]);
    let read = rows_of(folder.path(), &["n"]);
    assert!(read.iter().zip(0..).all(|(row, n)| row[0] == Some(n.to_string())) && read.len() == 25_000);
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["_SUCCESS", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]);
    assert_eq!(rows_of(in_folder(&payload, &[("split_rows", "99999")]).path(), &["n"]).len(), 25_000);
    let by_bytes = in_folder(&payload, &[("split_bytes", "1000"), ("dictionary", "no")]);
    assert_eq!(rows_of(by_bytes.path(), &["n"]), read);
    let none = table(vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..0))),
        ("k", Arc::new(Int64Array::from_iter_values(0..0))),
    ]);
    assert_eq!(rows_of(in_folder(&none, &[("split_rows", "9")]).path(), &["n"]).len(), 0);
    assert_eq!(rows_of(in_folder(&none, &[("partition_by", "k")]).path(), &["n"]).len(), 0);
}

#[test]
fn many_partitions_keep_few_files_open() {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..40_000).map(|n| n % 200)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..40_000));
    let folder = in_folder(&table(vec![("k", keys), ("v", values)]), &[("partition_by", "k")]);
    let mut read = rows_of(folder.path(), &["v", "k"]);
    read.sort_by_key(|row| row[0].clone().unwrap().parse::<i64>().unwrap());
    let is_right =
        |(row, n): (&Vec<Option<String>>, i64)| *row == [Some(n.to_string()), Some((n % 200).to_string())];
    assert!(read.len() == 40_000 && read.iter().zip(0..).all(is_right));
}

#[test]
fn what_is_not_there_or_cannot_name_folders_is_said() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
    let payload = table(vec![("n", numbers)]);
    let folder = tempfile::tempdir().unwrap();
    let said = |list: &[(&str, &str)]| {
        let mut disk = Disk(folder.path().to_owned());
        folder::write(&Task::new(), &payload, &options(list), &mut disk).unwrap_err().to_string()
    };
    assert!(said(&[("partition_by", "x")]).contains("there is no such column; there are n"));
    assert!(said(&[("partition_by", "n")]).contains("no column is left"));
    assert!(said(&[("split_rows", "0")]).contains("split_rows=0: it is no number above 0"));
}

#[test]
fn the_order_of_rows_is_checked_and_said() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(3), Some(2), Some(2), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "a", "b", "a"]));
    let payload = table(vec![("n", numbers), ("t", texts)]);
    for sorted in ["n desc, t", "-n,t", "-n, t nulls first"] {
        let file = bytes(&payload, &[("sorted_by", sorted)]).unwrap();
        let reader = SerializedFileReader::new(::bytes::Bytes::from(file)).unwrap();
        let sorting = reader.metadata().row_group(0).sorting_columns().unwrap().clone();
        assert_eq!((sorting[0].column_idx, sorting[0].descending, sorting[0].nulls_first), (0, true, false));
        assert_eq!((sorting[1].column_idx, sorting[1].descending), (1, false));
    }
    let wrong = |sorted: &str| bytes(&payload, &[("sorted_by", sorted)]).unwrap_err().to_string();
    assert!(wrong("t").contains("row 3 stands before the row above it"), "{}", wrong("t"));
    assert!(wrong("n").contains("row 1 stands before"), "{}", wrong("n"));
    assert!(wrong("-n nulls first").contains("row 3 "), "{}", wrong("-n nulls first"));
    assert!(wrong("x").contains("there is no such column"));
}

#[test]
fn properties_are_those_that_are_asked_for() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..5_000).map(|n| n * 7)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..5_000).map(|n| format!("text {n}"))));
    let floats: ArrayRef = Arc::new(arrow::array::Float64Array::from_iter_values((0..5_000).map(f64::from)));
    let payload = table(vec![("n", numbers), ("t", texts), ("f", floats)]);
    let file = |list: &[(&str, &str)]| {
        let file = ::bytes::Bytes::from(bytes(&payload, list).unwrap());
        SerializedFileReader::new(file).unwrap()
    };
    let reader = file(&[("row_group_rows", "2000"), ("bloom_filter", "n, t"), ("statistics", "chunk")]);
    assert_eq!(reader.metadata().num_row_groups(), 3);
    let chunk = |n: usize| reader.metadata().row_group(0).column(n).clone();
    assert!(chunk(0).bloom_filter_offset().is_some() && chunk(1).bloom_filter_offset().is_some());
    assert!(chunk(2).bloom_filter_offset().is_none() && chunk(0).statistics().is_some());
    assert!(chunk(0).column_index_offset().is_none());
    assert!(file(&[]).metadata().row_group(0).column(0).column_index_offset().is_some());
    assert!(file(&[("statistics", "none")]).metadata().row_group(0).column(0).statistics().is_none());
    let encodings = |list: &[(&str, &str)]| -> Vec<String> {
        let reader = file(list);
        let columns = reader.metadata().row_group(0).columns().to_vec();
        columns.iter().map(|column| format!("{:?}", column.encodings().collect::<Vec<_>>())).collect()
    };
    let delta = encodings(&[("encoding", "delta")]);
    assert!(delta[0].contains("DELTA_BINARY_PACKED") && delta[1].contains("DELTA_BYTE_ARRAY"), "{delta:?}");
    assert!(encodings(&[("encoding", "byte_stream_split")])[2].contains("BYTE_STREAM_SPLIT"));
    assert!(!encodings(&[("dictionary", "no")])[0].contains("RLE_DICTIONARY"));
    assert_eq!(file(&[("version", "2.6")]).metadata().file_metadata().version(), 2);
    assert!(file(&[("row_group_bytes", "10000"), ("dictionary", "no")]).metadata().num_row_groups() > 1);
}

#[test]
fn whatever_the_options_the_rows_are_the_same() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..30_000).map(|n| n * n % 977)));
    let payload = table(vec![("n", numbers.clone())]);
    let lists: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("version", &["1.0", "2.6"][..]),
        ("encoding", &["auto", "plain", "delta", "byte_stream_split"][..]),
        ("compression", &["zstd", "snappy", "lz4", "gzip", "brotli", "none"][..]),
        ("page_rows", &["100"][..]),
        ("page_bytes", &["500"][..]),
        ("row_group_bytes", &["1000"][..]),
    ]);
    for (name, values) in lists {
        for value in values {
            let file = bytes(&payload, &[(name, value)]).unwrap();
            let source = crate::Source::memory("a.parquet", file);
            let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
            let Some(Content::Table(table)) = &document.root.content else { panic!() };
            let read = table.read(&Task::new(), 0..30_000, &[0]).unwrap();
            let same = read.column(0).as_primitive::<Int64Type>() == numbers.as_primitive::<Int64Type>();
            assert!(same, "{name}={value}");
        }
    }
}
