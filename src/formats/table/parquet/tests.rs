use super::*;
use crate::bytes::task::Task;
use crate::data::content::table::read_each;
use crate::data::content::{Rows, Table};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::formats::open;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/parquet")).join(name)
}

fn opened(name: &str) -> Result<Document> {
    open(&Task::new(), &fixture(name), &Options::default())
}

fn table(name: &str) -> Arc<dyn Table> {
    match opened(name).unwrap().root.content.clone() {
        Some(Content::Table(table)) => table,
        _ => panic!("{name} is no table"),
    }
}

fn all_columns(table: &dyn Table) -> Vec<usize> {
    (0..table.schema().fields().len()).collect()
}

/// The files of the folder itself, which all must open and read.
fn whole_files() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(fixture(""))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".parquet"))
        .collect();
    names.sort();
    assert!(names.len() > 20);
    names
}

#[test]
fn any_window_equals_its_part_of_the_whole() {
    let task = Task::new();
    for name in whole_files() {
        let table = table(&name);
        let (total, columns) = (table.rows().number(), all_columns(&*table));
        let whole = table.read(&task, 0..total, &columns).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(whole.num_rows() as u64, total, "{name}");
        for start in (0..total).step_by((total as usize / 7).max(1)) {
            let end = (start + 13).min(total);
            for _again in 0..2 {
                let part = table.read(&task, start..end, &columns).unwrap();
                assert_eq!(part, whole.slice(start as usize, (end - start) as usize), "{name} {start}");
            }
        }
    }
}

#[test]
fn a_scan_by_steps_covers_every_row_once() {
    let task = Task::new();
    for name in whole_files() {
        let (table, mut at) = (table(&name), 0);
        let total = table.rows().number();
        while at < total {
            let end = at + table.scan_step(at);
            at += table.read(&task, at..end, &[]).unwrap().num_rows() as u64;
        }
        assert_eq!(at, total, "{name}");
    }
}

#[test]
fn columns_come_in_the_order_asked_for() {
    let table = table("names_twice.parquet");
    let columns = all_columns(&*table);
    let reversed: Vec<usize> = columns.iter().rev().copied().collect();
    let batch = table.read(&Task::new(), 0..3, &reversed).unwrap();
    let straight = table.read(&Task::new(), 0..3, &columns).unwrap();
    for (n, &column) in reversed.iter().enumerate() {
        assert_eq!(batch.column(n), straight.column(column));
    }
}

#[test]
fn malformed_files_say_what_is_wrong() {
    for (name, word) in [
        ("cut_in_footer", "cut off"),
        ("magic_only", "cut off"),
        ("both_magics_only", "does not fit"),
        ("footer_length_huge", "does not fit"),
        ("footer_length_zero", "does not fit"),
        ("encrypted_footer", "encrypted footer"),
        ("footer_garbage", "malformed"),
    ] {
        let error =
            opened(&format!("malformed/{name}.parquet")).err().unwrap_or_else(|| panic!("{name} opened"));
        assert!(error.to_string().contains(word), "{name}: {error}");
    }
}

#[test]
fn a_broken_column_leaves_its_neighbours() {
    let table = table("malformed/one_bad_column.parquet");
    let columns = all_columns(&*table);
    let total = table.rows().number();
    let each = read_each(&*table, &Task::new(), 0..total, &columns).unwrap();
    let bad: Vec<usize> = columns.iter().copied().filter(|&c| each[c].is_err()).collect();
    assert_eq!(bad.len(), 1, "{each:?}");
}

#[test]
fn a_broken_row_group_leaves_the_others() {
    let table = table("malformed/one_bad_row_group.parquet");
    let columns = all_columns(&*table);
    let layout = table.layout();
    let reads =
        layout.blocks.iter().map(|b| table.read(&Task::new(), b.first..b.first + b.count, &columns).is_ok());
    assert_eq!(reads.filter(|ok| !ok).count(), 1);
}

#[test]
fn facts_and_statistics_come_from_the_footer() {
    let table = table("row_groups_5.parquet");
    assert_eq!(table.facts().row_groups, Some(5));
    assert_eq!(table.layout().blocks.len(), 5);
    let statistics = table.statistics(0).unwrap();
    assert_eq!(statistics.null_count(), Some(0));
    assert!(statistics.min_text().is_some() && statistics.max_text().is_some());
    assert!(matches!(table.rows(), Rows::Exact(_)));
}

#[test]
fn hostile_footers_are_stopped_before_the_crate_sees_them() {
    // field 2: a list of one struct whose field 5 (children, i32) is 2^30
    let schema = [0x29, 0x1c, 0x55, 0x80, 0x80, 0x80, 0x80, 0x08, 0x00, 0x00];
    assert!(repair::footer(&schema, &mut Vec::new()).unwrap_err().to_string().contains("children"));
    // field 4: a list of 2^28 structs
    let groups = [0x49, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00];
    assert!(repair::footer(&groups, &mut Vec::new()).is_err());
}

#[test]
fn repairs_leave_sound_footers_as_they_are() {
    // The same rows and types as without them.
    for name in ["all_types", "nested", "row_groups_5", "wide_60", "uuid", "decimals_as_integers"] {
        let file = std::fs::read(fixture(&format!("{name}.parquet"))).unwrap();
        let size = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
        let bytes = &file[file.len() - 8 - size..file.len() - 8];
        let mut remarks = Vec::new();
        let corrected = repair::footer(bytes, &mut remarks).unwrap().bytes;
        assert!(remarks.is_empty(), "{name}: {remarks:?}");
        let parse =
            |bytes: &[u8]| parquet::file::metadata::ParquetMetaDataReader::decode_metadata(bytes).unwrap();
        let (plain, corrected) = (parse(bytes), parse(&corrected));
        assert_eq!(plain.file_metadata(), corrected.file_metadata(), "{name}");
        for (a, b) in plain.row_groups().iter().zip(corrected.row_groups()) {
            for (a, b) in a.columns().iter().zip(b.columns()) {
                assert_eq!(a.statistics(), b.statistics(), "{name}");
                assert_eq!(a.byte_range(), b.byte_range(), "{name}");
                assert!(a.encodings().eq(b.encodings()), "{name}");
            }
        }
    }
}

/// A file with an integer of 64 bits of its footer replaced: the one that stands before the field `after`.
fn replaced(name: &str, after: u8, old: i64, new: i64) -> Arc<dyn Table> {
    let mut bytes = std::fs::read(fixture(name)).unwrap();
    let number = |value: i64| {
        let mut out = vec![0x16];
        thrift::put_integer(&mut out, value);
        out.push(after);
        out
    };
    let (old, new) = (number(old), number(new));
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(&old)).collect();
    let [at] = places[..] else { panic!("{name}: {places:?}") };
    bytes.splice(at..at + old.len(), new.iter().copied());
    let size_at = bytes.len() - 8;
    let size = u32::from_le_bytes(bytes[size_at..size_at + 4].try_into().unwrap());
    let size = size + new.len() as u32 - old.len() as u32;
    bytes[size_at..size_at + 4].copy_from_slice(&size.to_le_bytes());
    let source = crate::bytes::source::Source::memory("x.parquet", bytes);
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
    match document.root.content.clone() {
        Some(Content::Table(table)) => table,
        _ => panic!("{name} is no table"),
    }
}

#[test]
fn a_footer_that_counts_no_rows_has_those_of_its_row_groups() {
    let plain = table("one_column.parquet");
    let rows = plain.rows().number();
    // num_rows stands before the list of row groups
    let odd = replaced("one_column.parquet", 0x19, rows as i64, 0);
    assert_eq!(odd.rows(), Rows::Exact(rows));
    assert_eq!(
        odd.read(&Task::new(), 0..rows, &[0]).unwrap(),
        plain.read(&Task::new(), 0..rows, &[0]).unwrap()
    );
}

#[test]
fn rows_that_a_file_has_no_room_for_are_refused() {
    let path = fixture("one_column.parquet");
    let metadata = parquet::file::metadata::ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::from(std::fs::read(path).unwrap()))
        .unwrap();
    let mut builder = metadata.clone().into_builder();
    for group in builder.take_row_groups() {
        builder = builder.add_row_group(group.into_builder().set_num_rows(1 << 50).build().unwrap());
    }
    let odd = builder.build();
    assert!(table::starts(&metadata, 1 << 10).is_ok());
    assert!(table::starts(&odd, 1 << 10).unwrap_err().to_string().contains("rows"));
}

#[test]
fn a_chunk_reaches_as_far_as_its_pages() {
    let plain = table("no_page_index.parquet");
    let rows = plain.rows().number();
    let file = std::fs::read(fixture("no_page_index.parquet")).unwrap();
    let metadata = parquet::file::metadata::ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::from(file))
        .unwrap();
    let last = metadata.num_row_groups() - 1;
    let columns = metadata.row_group(last).columns();
    let (column, chunk) = columns.iter().enumerate().next_back().unwrap();
    let whole = plain.read(&Task::new(), 0..rows, &[column]).unwrap();
    for by in [-9, 5] {
        // total_compressed_size stands before the offset of the first page
        let size = chunk.compressed_size();
        let odd = replaced("no_page_index.parquet", 0x26, size, size + by);
        assert_eq!(odd.read(&Task::new(), 0..rows, &[column]).unwrap(), whole, "{by}");
    }
}

/// A file of five row groups of 20,000 rows of integers; the size of a chunk of the third is wrong by so many bytes.
fn with_wrong_size(by: i64) -> Vec<u8> {
    use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
    let values = |seed: i64| -> arrow::array::ArrayRef {
        Arc::new(arrow::array::Int64Array::from_iter_values((0..100_000).map(|n| n * seed % 99_991)))
    };
    let batch =
        arrow::array::RecordBatch::try_from_iter([("a", values(7919)), ("b", values(104_729))]).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(20_000))
        .set_offset_index_disabled(true)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let whole = bytes::Bytes::from(bytes.clone());
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&whole).unwrap();
    let mut builder = metadata.into_builder();
    for (n, group) in builder.take_row_groups().into_iter().enumerate() {
        let mut columns = group.columns().to_vec();
        if n == 2 {
            let size = columns[1].compressed_size() + by;
            columns[1] = columns[1].clone().into_builder().set_total_compressed_size(size).build().unwrap();
        }
        builder = builder.add_row_group(group.into_builder().set_column_metadata(columns).build().unwrap());
    }
    let size = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    bytes.truncate(bytes.len() - 8 - size);
    ParquetMetaDataWriter::new(&mut bytes, &builder.build()).finish().unwrap();
    bytes
}

#[test]
fn what_is_mended_is_mended_once() {
    let task = Task::new();
    let table_of = |by: i64| {
        let source = crate::bytes::source::Source::memory("x.parquet", with_wrong_size(by));
        table::ParquetTable::new(source.clone(), footer::read(&task, &source).unwrap()).unwrap()
    };
    let whole = table_of(0).read(&task, 0..100_000, &[0, 1]).unwrap();
    for by in [-9, 5] {
        let table = table_of(by);
        // Within the group, across its ends, and all.
        for rows in [45_000..45_010, 39_990..40_010, 50_000..95_000, 0..100_000, 59_999..60_001] {
            let part = table.read(&task, rows.clone(), &[0, 1]).unwrap();
            assert_eq!(
                part,
                whole.slice(rows.start as usize, (rows.end - rows.start) as usize),
                "{by} {rows:?}"
            );
        }
        let helps: Vec<_> = (0..5).map(|group| table.corrected().helps((1, group))).collect();
        assert_eq!(helps, [false, false, true, false, false], "{by}");
        assert!((0..5).all(|group| !table.corrected().helps((0, group))));
    }
}

#[test]
fn encrypted_columns_say_so_and_leave_the_others() {
    let task = Task::new();
    let source = crate::bytes::source::Source::memory("x.parquet", with_wrong_size(0));
    let mut footer = footer::read(&task, &source).unwrap();
    footer.encrypted.insert(1);
    let table = table::ParquetTable::new(source, footer).unwrap();
    let each = read_each(&table, &task, 0..10, &[0, 1]).unwrap();
    let error = each[1].as_ref().unwrap_err();
    assert!(each[0].is_ok() && error.kind() == crate::bytes::error::ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("encrypted") && error.message().contains("\"b\""), "{error}");
    assert!(table.native().is_none(), "no other reader is told to read it");
}

proptest::proptest! {
    #[test]
    fn the_walk_over_a_footer_always_ends(bytes: Vec<u8>) {
        let _ = repair::footer(&bytes, &mut Vec::new());
    }
}

#[test]
fn versions_of_writers() {
    assert_eq!(footer::version("parquet-mr version 1.2.8 (build 1f5d2a)"), [1, 2, 8]);
    assert_eq!(footer::version("parquet-mr version 1.12.0-2018 (build)"), [1, 12, 0]);
    assert_eq!(footer::version("parquet-mr"), [0, 0, 0]);
}
