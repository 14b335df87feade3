use super::*;
use crate::data::cell;
use crate::data::open::{Document, table_of};
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")).join(name);
    crate::formats::open(&Task::new(), &path, &Options::default()).unwrap()
}

fn column(document: &Document, name: &str) -> Vec<serde_json::Value> {
    let table = table_of(document).unwrap();
    let n = table.schema().index_of(name).unwrap();
    let batch = table.read(&Task::new(), 0..9, &[n]).unwrap();
    (0..batch.num_rows()).map(|row| cell::shown_json(batch.column(0).as_ref(), row)).collect()
}

fn numbers(json: &serde_json::Value) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

#[test]
fn shapes_of_each_kind() {
    let document = opened("labelme/pond.json");
    assert_eq!(document.format.id, "labelme");
    assert_eq!(column(&document, "image"), ["pond.png"]);
    let objects = &column(&document, "objects")[0];
    let kinds: Vec<&str> =
        objects.as_array().unwrap().iter().map(|one| one["shape_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["polygon", "rectangle", "circle", "point", "linestrip", "mask"]);
    assert_eq!(numbers(&objects[0]["bbox"]), [1.0, 2.0, 7.5, 6.25]);
    assert_eq!(numbers(&objects[1]["segmentation"][0]), [10.0, 1.0, 15.0, 1.0, 15.0, 8.0, 10.0, 8.0]);
    let circle = numbers(&objects[2]["bbox"]);
    assert!(circle.iter().zip([5.0, 0.0, 15.0, 10.0]).all(|(a, b)| (a - b).abs() < 1e-9), "{circle:?}");
    assert_eq!(numbers(&objects[3]["keypoints"]), [3.0, 4.0, 2.0]);
    let text = objects[5]["rle"]["counts"].as_str().unwrap();
    assert_eq!(RunLengths::from_text(10, 20, text).unwrap().area(), 4);
}

#[test]
fn a_picture_in_a_document_is_a_column() {
    let document = opened("labelme/inside.json");
    let table = table_of(&document).unwrap();
    let place = crate::data::media::Place::of_node(&document.source, "", &document.root);
    let media =
        crate::data::media::find(&Task::new(), crate::formats::ALL, table.as_ref(), &[], &place).unwrap();
    assert_eq!(media.columns[0].kind, crate::data::media::MediaKind::Image);
    assert!(media.boxes.is_some());
}

#[test]
fn a_folder_of_documents_is_one_table() {
    let document = opened("labelme_set/pond");
    assert_eq!(document.format.id, "labelme_set");
    assert_eq!(column(&document, "image"), ["a.png", "b.png", "c.png"]);
    let lengths: Vec<usize> =
        column(&document, "objects").iter().map(|all| all.as_array().unwrap().len()).collect();
    assert_eq!(lengths, [1, 2, 3]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), "{\"a\": 1}").unwrap();
    std::fs::write(folder.path().join("a.png"), "x").unwrap();
    let document = crate::formats::open(&Task::new(), folder.path(), &Options::default()).unwrap();
    assert_eq!(document.format.id, "folder");
}
