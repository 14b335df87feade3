use super::*;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Rows, Table};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::formats::open_source;
use arrow::array::*;
use arrow::datatypes::{Field, Schema};
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")).join(name)
}

fn opened(name: &str) -> Result<Document> {
    crate::formats::open(&Task::new(), &folder(name), &Options::default())
}

fn table_of(document: &Document) -> Arc<dyn Table> {
    match document.root.content.clone() {
        Some(Content::Table(table)) => table,
        _ => panic!("{:?} is no table", document.source),
    }
}

fn table(name: &str) -> Arc<dyn Table> {
    table_of(&opened(name).unwrap())
}

fn in_memory(name: &str, bytes: Vec<u8>) -> Arc<dyn Table> {
    let source = Source::memory(name, bytes);
    table_of(&open_source(&Task::new(), &source, &Options::default()).unwrap())
}

fn all_columns(table: &dyn Table) -> Vec<usize> {
    (0..table.schema().fields().len()).collect()
}

fn whole(table: &dyn Table) -> RecordBatch {
    let task = Task::new();
    let total = table.count(&task).unwrap();
    table.read(&task, 0..total, &all_columns(table)).unwrap()
}

fn texts(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let row = |row| batch.columns().iter().map(|c| crate::data::cell::text(c.as_ref(), row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

fn whole_files() -> Vec<String> {
    let mut names = Vec::new();
    for id in ["arrow", "feather"] {
        for entry in std::fs::read_dir(folder(id)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.contains(".arrow") || name.ends_with(".feather") {
                names.push(format!("{id}/{name}"));
            }
        }
    }
    assert!(names.len() > 30);
    names
}

#[test]
fn any_window_equals_its_part_of_the_whole() {
    let task = Task::new();
    for name in whole_files() {
        let table = table(&name);
        let all = texts(&whole(&*table));
        let columns = all_columns(&*table);
        for start in 0..all.len() {
            let end = (start + 5).min(all.len());
            let part = table
                .read(&task, start as u64..end as u64, &columns)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(texts(&part), all[start..end], "{name} {start}");
        }
    }
}

#[test]
fn the_same_rows_in_every_container_and_codec() {
    let plain = texts(&whole(&*table("arrow/codec_none.arrow")));
    assert_eq!(plain.len(), 40);
    for name in
        ["codec_none.arrows", "codec_lz4.arrow", "codec_lz4.arrows", "codec_zstd.arrow", "codec_zstd.arrows"]
    {
        assert_eq!(texts(&whole(&*table(&format!("arrow/{name}")))), plain, "{name}");
    }
    assert_eq!(texts(&whole(&*table("arrow/nested.arrow"))), texts(&whole(&*table("arrow/nested.arrows"))));
    let feather = texts(&whole(&*table("feather/v2_lz4.feather")));
    assert_eq!(texts(&whole(&*table("feather/v1.feather"))), feather);
}

#[test]
fn record_batches_are_the_layout() {
    let table = table("arrow/sixty_four_rows.arrow");
    let layout = table.layout();
    assert_eq!(layout.unit, "record batch");
    let rows: Vec<(u64, u64)> = layout.blocks.iter().map(|b| (b.first, b.count)).collect();
    assert_eq!(rows, [(0, 20), (20, 20), (40, 20), (60, 4)]);
    assert_eq!(table.facts().row_groups, Some(4));
}

#[test]
fn dictionaries_grow_and_are_replaced_in_a_stream() {
    for name in ["arrow/dictionary_delta.arrows", "arrow/dictionary_replaced.arrows"] {
        let rows = texts(&whole(&*table(name)));
        let values: Vec<&str> = rows.iter().filter_map(|r| r[0].as_deref()).collect();
        assert_eq!(values, ["a", "b", "c", "a"], "{name}");
    }
}

#[test]
fn metadata_stands_in_file_order() {
    let document = opened("arrow/metadata.arrow").unwrap();
    let names: Vec<&str> = document.root.attributes.iter().map(|(k, _)| k.as_str()).collect();
    assert_eq!(names, ["author", "naïve"]);
    let uuid = table("arrow/extension_types.arrow").facts().columns[0].clone();
    assert!(uuid.contains(&("extension type".to_owned(), "arrow.uuid".to_owned())), "{uuid:?}");
}

#[test]
fn metadata_of_other_bytes_is_hexadecimal() {
    let metadata = [("key".to_owned(), "not UTF-8 soon".to_owned())].into();
    let schema = Schema::new(vec![Field::new("a", arrow::datatypes::DataType::Int8, true)]);
    let schema = Arc::new(schema.with_metadata(metadata));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int8Array::from(vec![1]))]).unwrap();
    for stream in [false, true] {
        let mut bytes = Vec::new();
        if stream {
            StreamWriter::try_new(&mut bytes, &schema).unwrap().write(&batch).unwrap();
        } else {
            let mut writer = FileWriter::try_new(&mut bytes, &schema).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        while let Some(at) = bytes.windows(14).position(|w| w == b"not UTF-8 soon") {
            bytes[at..at + 3].fill(0xff);
        }
        let source = Source::memory("x", bytes);
        let document = open_source(&Task::new(), &source, &Options::default()).unwrap();
        let hex = Value::Text("0xffffff205554462d3820736f6f6e".to_owned());
        assert_eq!(document.root.attributes, [("key".to_owned(), hex)]);
        assert_eq!(texts(&whole(&*table_of(&document))), [[Some("1".to_owned())]]);
    }
}

#[test]
fn malformed_files_say_what_is_wrong() {
    for (name, word) in [
        ("arrow/malformed/magic_only.arrow", "cut off"),
        ("feather/malformed/v1_cut_in_data.feather", "cut off"),
        ("feather/malformed/v1_cut_in_footer.feather", "cut off"),
        ("feather/malformed/v1_footer_length_huge.feather", "does not fit"),
        ("feather/malformed/v1_magic_only.feather", "cut off"),
    ] {
        let error = opened(name).err().unwrap_or_else(|| panic!("{name} opened"));
        assert!(error.to_string().contains(word), "{name}: {error}");
    }
}

#[test]
fn without_its_footer_a_file_is_walked() {
    let whole_rows = texts(&whole(&*table("arrow/codec_none.arrow")));
    for name in
        ["cut_in_footer", "tail_magic", "footer_length_huge", "footer_length_negative", "footer_garbage"]
    {
        let document = opened(&format!("arrow/malformed/{name}.arrow")).unwrap();
        assert!(document.root.problem.is_some(), "{name}");
        assert_eq!(texts(&whole(&*table_of(&document))), whole_rows, "{name}");
    }
    let cut = opened("arrow/malformed/cut_in_second_batch.arrows").unwrap();
    assert!(cut.root.problem.as_ref().unwrap().message().contains("cut off"));
    assert_eq!(table_of(&cut).rows(), Rows::Exact(16));
}

#[test]
fn a_broken_column_leaves_its_neighbours() {
    for name in ["offsets_decreasing", "offsets_beyond_values", "bad_lz4", "uncompressed_length_huge"] {
        let table = table(&format!("arrow/malformed/{name}.arrow"));
        let columns = all_columns(&*table);
        let total = table.rows().number();
        let each = crate::data::content::table::read_each(&*table, &Task::new(), 0..total, &columns).unwrap();
        assert_eq!(each.iter().filter(|column| column.is_err()).count(), 1, "{name}");
    }
}

/// One column of each kind that a window cuts in its own way, in two batches.
fn batches() -> Vec<RecordBatch> {
    let batch = |from: i32| {
        let numbers = Int32Array::from_iter((from..from + 50).map(|i| (i % 7 != 0).then_some(i)));
        let flags = BooleanArray::from_iter((from..from + 50).map(|i| (i % 5 != 0).then_some(i % 2 == 0)));
        let names =
            StringArray::from_iter((from..from + 50).map(|i| (i % 3 != 0).then(|| format!("name {i}"))));
        let views = StringViewArray::from_iter(
            (from..from + 50).map(|i| (i % 4 != 0).then(|| "x".repeat(i as usize % 30))),
        );
        let keys = Int8Array::from_iter((from..from + 50).map(|i| (i % 6 != 0).then_some((i % 3) as i8)));
        let words = DictionaryArray::new(keys, Arc::new(StringArray::from(vec!["a", "b", "c"])));
        let lists = ListArray::from_iter_primitive::<arrow::datatypes::Int16Type, _, _>(
            (from..from + 50).map(|i| (i % 9 != 0).then(|| (0..i as i16 % 4).map(Some).collect::<Vec<_>>())),
        );
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("numbers", Arc::new(numbers)),
            ("flags", Arc::new(flags)),
            ("names", Arc::new(names)),
            ("views", Arc::new(views)),
            ("words", Arc::new(words)),
            ("lists", Arc::new(lists)),
        ];
        let fields: Vec<Field> =
            columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, a)| a).collect())
            .unwrap()
    };
    vec![batch(1), batch(51)]
}

fn written(stream: bool, options: IpcWriteOptions) -> Vec<u8> {
    let (batches, mut out) = (batches(), Vec::new());
    if stream {
        let mut writer = StreamWriter::try_new_with_options(&mut out, &batches[0].schema(), options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = FileWriter::try_new_with_options(&mut out, &batches[0].schema(), options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
    out
}

#[test]
fn every_window_over_a_border_of_batches() {
    let expected: Vec<_> = batches().iter().flat_map(texts).collect();
    for stream in [false, true] {
        let table = in_memory("x", written(stream, IpcWriteOptions::default()));
        for start in 30..60u64 {
            for len in [1, 9, 40] {
                let batch = table.read(&Task::new(), start..start + len, &[5, 4, 3, 2, 1, 0]).unwrap();
                let straight: Vec<Vec<_>> =
                    texts(&batch).into_iter().map(|r| r.into_iter().rev().collect()).collect();
                assert_eq!(straight, expected[start as usize..(start + len) as usize], "{start} {len}");
            }
        }
    }
}

/// A stream or file of one batch of three rows, whose header then claims `rows`.
fn claiming(rows: u64, column: ArrayRef, stream: bool) -> Vec<u8> {
    assert_eq!(column.len(), 3);
    let schema = Arc::new(Schema::new(vec![Field::new("x", column.data_type().clone(), true)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
    let mut bytes = Vec::new();
    if stream {
        StreamWriter::try_new(&mut bytes, &schema).unwrap().write(&batch).unwrap();
    } else {
        let mut writer = FileWriter::try_new(&mut bytes, &schema).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(8).position(|w| w == 3u64.to_le_bytes()) {
        bytes[at + found..at + found + 8].copy_from_slice(&rows.to_le_bytes());
        at += found + 8;
    }
    bytes
}

#[test]
fn rows_that_no_buffer_has_room_for_are_not_believed() {
    let columns: [ArrayRef; 4] = [
        Arc::new(Int64Array::from(vec![7, 8, 9])),
        Arc::new(BooleanArray::from(vec![true, false, true])),
        Arc::new(StringArray::from(vec!["a", "b", "c"])),
        Arc::new(FixedSizeListArray::new_null(
            Arc::new(Field::new("i", arrow::datatypes::DataType::Int8, true)),
            2,
            3,
        )),
    ];
    for (stream, column) in
        [true, false].into_iter().flat_map(|s| columns.iter().map(move |c| (s, c.clone())))
    {
        let source = Source::memory("x", claiming(10u64.pow(17), column, stream));
        let document = open_source(&Task::new(), &source, &Options::default()).unwrap();
        let table = table_of(&document);
        assert_eq!(table.count(&Task::new()).unwrap(), 0);
        let said = document.root.problem.is_some() || !document.root.remarks.is_empty();
        assert!(said, "stream: {stream}");
    }
}

#[test]
fn nulls_alone_cost_nothing_however_many() {
    let rows = 10u64.pow(17);
    for stream in [true, false] {
        let table = in_memory("x", claiming(rows, Arc::new(NullArray::new(3)), stream));
        assert_eq!(table.rows(), Rows::Exact(rows));
        let statistics = crate::data::stats::table(&*table, &Task::new(), &[0]).unwrap();
        assert_eq!(statistics.columns[0].as_ref().unwrap().nulls, rows);
        assert_eq!(table.read(&Task::new(), rows - 2..rows, &[0]).unwrap().num_rows(), 2);
        assert_eq!(table.read(&Task::new(), 0..rows, &[0]).unwrap().num_rows() as u64, rows);
    }
}

#[test]
fn opening_reads_headers_only() {
    let bytes = written(false, IpcWriteOptions::default());
    let mut broken = bytes.clone();
    // Everything of the bodies' values may be lost: the tree stays.
    let at = broken.windows(7).position(|w| w == b"name 11").unwrap();
    broken[at..at + 7].fill(0xff);
    let (table, other) = (in_memory("x", broken), in_memory("x", bytes));
    assert_eq!(table.schema(), other.schema());
    assert!(table.read(&Task::new(), 0..50, &[2]).is_err(), "no UTF-8");
    assert!(table.read(&Task::new(), 60..90, &[2]).is_ok(), "other rows stay readable");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]
    #[test]
    fn flipped_bytes_end_in_errors_not_panics(
        stream: bool,
        flips in proptest::collection::vec((0usize..20_000, 0u8..=255), 1..6),
    ) {
        let mut bytes = written(stream, IpcWriteOptions::default());
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let source = Source::memory("x.arrow", bytes);
        if let Ok(document) = open_source(&Task::new(), &source, &Options::default())
            && let Some(Content::Table(table)) = &document.root.content
        {
            let rows = table.rows().number();
            for column in all_columns(&**table) {
                for range in [0..rows.min(100), rows.saturating_sub(20)..rows] {
                    if let Err(error) = table.read(&Task::new(), range, &[column]) {
                        proptest::prop_assert_ne!(error.kind(), crate::bytes::error::ErrorKind::Bug, "{}", error);
                    }
                }
            }
        }
    }
}

#[test]
fn rows_without_bytes_cost_nothing_however_many() {
    let task = Task::new();
    let many = 1usize << 50;
    let of = |len: usize, nulls: Option<arrow::buffer::NullBuffer>| -> ArrayRef {
        let inner: ArrayRef = Arc::new(StructArray::new_empty_fields(len, None));
        let field = Field::new("x", inner.data_type().clone(), true);
        Arc::new(StructArray::new(vec![field].into(), vec![inner], nulls))
    };
    let stream = |columns: &[ArrayRef]| {
        let batch = |array: &ArrayRef| RecordBatch::try_from_iter([("a", array.clone())]).unwrap();
        let schema = Schema::new(vec![Field::new("a", columns[0].data_type().clone(), true)]);
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &schema).unwrap();
        columns.iter().for_each(|array| writer.write(&batch(array)).unwrap());
        writer.finish().unwrap();
        drop(writer);
        in_memory("x.arrows", bytes)
    };
    let table = stream(&[of(many, None), of(3, Some(vec![true, false, true].into())), of(many, None)]);
    let rows = 2 * many as u64 + 3;
    assert_eq!(table.count(&task).unwrap(), rows);
    let alike = |at: u64| table.equal_rows(&task, at).unwrap();
    assert_eq!([alike(5), alike(many as u64), alike(rows - 2), alike(rows)], [many as u64 - 5, 0, 2, 0]);
    let stats = crate::data::stats::table(&*table, &task, &[0]).unwrap();
    assert_eq!((stats.rows, stats.columns[0].as_ref().unwrap().nulls), (rows, 1));
    let numbers: ArrayRef = Arc::new(Int8Array::from(vec![7; 9]));
    assert_eq!(stream(&[numbers]).equal_rows(&task, 0).unwrap(), 0);
}
