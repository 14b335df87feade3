use super::*;
use crate::content::table::read_each;
use crate::content::{Rows, Table};
use crate::format::Options;
use crate::open::{Document, open};
use crate::task::Task;
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
    assert_eq!(statistics.nulls, Some(0));
    assert!(statistics.min.is_some() && statistics.max.is_some());
    assert!(matches!(table.rows(), Rows::Exact(_)));
}

#[test]
fn hostile_footers_are_stopped_before_the_crate_sees_them() {
    // field 2: a list of one struct whose field 5 (children, i32) is 2^30
    let schema = [0x29, 0x1c, 0x55, 0x80, 0x80, 0x80, 0x80, 0x08, 0x00, 0x00];
    assert!(footer::check(&schema).unwrap_err().to_string().contains("children"));
    // field 4: a list of 2^28 structs
    let groups = [0x49, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00];
    assert!(footer::check(&groups).is_err());
}

#[test]
fn odd_list_types_are_told_from_the_error() {
    // 3 is a byte, 4, 5 and 6 are integers of 16, 32 and 64 bits, 12 is a struct
    let said = |wanted: &str, found: &str| {
        footer::wrong_list(&format!("x: Expected list element type of {wanted} but got {found}"))
    };
    assert_eq!(said("Struct", "Byte"), Some((12, 3)));
    assert_eq!(said("I64", "I16"), Some((6, 4)));
    assert_eq!(said("Struct", "I16"), None);
    assert_eq!(said("I32", "I64"), None);
}

proptest::proptest! {
    #[test]
    fn the_walk_over_a_footer_always_ends(bytes: Vec<u8>) {
        let _ = footer::check(&bytes);
    }
}

#[test]
fn versions_of_writers() {
    assert_eq!(footer::version("parquet-mr version 1.2.8 (build 1f5d2a)"), [1, 2, 8]);
    assert_eq!(footer::version("parquet-mr version 1.12.0-2018 (build)"), [1, 12, 0]);
    assert_eq!(footer::version("parquet-mr"), [0, 0, 0]);
}
