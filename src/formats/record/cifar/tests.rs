use super::*;
use crate::data::content::{Rows, Table};
use crate::data::format::Options;
use crate::data::open::Document;
use std::path::Path;

fn fixture(name: &str) -> Document {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn first(table: &dyn Table, row: u64) -> Vec<String> {
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), row..row + 1, &all).unwrap();
    batch.columns().iter().map(|column| crate::data::cell::shown(column, 0).unwrap()).collect()
}

#[test]
fn labels_and_pictures_are_columns() {
    let document = fixture("cifar/data_batch_1.bin");
    assert_eq!(document.format.id, "cifar");
    let table = crate::data::open::table_of(&document).unwrap();
    assert_eq!(table.rows(), Rows::Exact(3));
    let row = first(&*table, 1);
    assert_eq!(row[0], "8");
    // `P6`, the sides, then the pixels of the second picture: red 1, green 101, blue 201 and on.
    assert!(row[1].starts_with("0x50360a33322033320a3235350a0165c90266ca0367cb"), "{}", row[1]);
    let names: Vec<String> =
        document.root.child_page(&Task::new(), 0..9).unwrap().iter().map(|n| n.name.clone()).collect();
    assert_eq!(names, ["images", "labels"]);
}

#[test]
fn a_folder_is_a_table_of_each_split() {
    let document = fixture("cifar_set/ten");
    assert_eq!((document.format.id, document.root.child_count()), ("cifar_set", Some(2)));
    let find = |name: &str| document.root.find(&Task::new(), name).unwrap().unwrap();
    let Some(Content::Table(train)) = find("/train").content.clone() else { panic!() };
    assert_eq!(train.count(&Task::new()).unwrap(), 4);
    assert_eq!(first(&*train, 3)[0], "9");
    let said = &train.schema().metadata()["huggingface"];
    assert!(said.contains("airplane") && said.contains("ClassLabel"), "{said}");
    let document = fixture("cifar_set/hundred");
    let Some(Content::Table(test)) =
        document.root.find(&Task::new(), "/test").unwrap().unwrap().content.clone()
    else {
        panic!()
    };
    assert_eq!(first(&*test, 0)[..2], ["19", "99"]);
}

#[test]
fn what_is_cut_off_is_said() {
    let document = fixture("cifar/malformed/data_batch_2.bin");
    assert_eq!(document.root.problem.as_ref().unwrap().offset(), Some(2 * 3073));
    assert_eq!(crate::data::open::table_of(&document).unwrap().rows(), Rows::Exact(2));
}

#[test]
fn other_files_are_not_taken_for_pictures() {
    for (name, bytes) in
        [("x.bin", vec![11; 3073 * 2]), ("train.bin", vec![1; 5_000]), ("y.bin", vec![0; 3_000])]
    {
        let source = Source::memory(name, bytes);
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
        assert_ne!(document.format.id, "cifar", "{name}");
    }
}
