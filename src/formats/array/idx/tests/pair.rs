use crate::bytes::task::Task;
use crate::data::content::{Content, Rows, Table};
use crate::data::format::Options;
use crate::data::open::Document;
use std::path::Path;
use std::sync::Arc;

fn fixture(name: &str) -> Document {
    let path = format!("{}/fixtures/idx_set/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn table(document: &Document, path: &str) -> Arc<dyn Table> {
    match &document.root.find(&Task::new(), path).unwrap().unwrap().content {
        Some(Content::Table(table)) => table.clone(),
        _ => panic!("{path} is no table"),
    }
}

fn row(table: &dyn Table, row: u64) -> Vec<String> {
    let batch = table.read(&Task::new(), row..row + 1, &[0, 1]).unwrap();
    batch.columns().iter().map(|column| crate::data::cell::shown(column, 0).unwrap()).collect()
}

#[test]
fn a_folder_is_a_table_of_each_pair() {
    let document = fixture("both");
    assert_eq!((document.format.id, document.root.child_count()), ("idx_set", Some(2)));
    let train = table(&document, "/train");
    assert_eq!(train.rows(), Rows::Exact(5));
    // `P5`, the sides, then the pixels: picture 2 begins with 24.
    assert_eq!(row(&*train, 2), ["2", "0x50350a3420330a3235350a18191a1b1c1d1e1f20212223"]);
    assert_eq!(table(&document, "/test").rows(), Rows::Exact(2));
}

#[test]
fn compressed_pairs_are_read() {
    let document = fixture("packed");
    assert_eq!(document.format.id, "idx_set");
    let table = table(&document, "");
    assert_eq!((table.rows(), row(&*table, 1)[0].as_str()), (Rows::Exact(3), "1"));
    assert_eq!(document.root.remarks.len(), 1);
}

#[test]
fn labels_beside_pictures_are_a_table_below_them() {
    let document = fixture("both/train-images-idx3-ubyte");
    assert_eq!(document.format.id, "idx");
    assert_eq!(row(&*table(&document, "/samples"), 4)[0], "4");
}
