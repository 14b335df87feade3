use super::*;
use crate::data::cell;
use crate::data::open::{Document, table_of};
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/voc")).join(name);
    crate::formats::open(&Task::new(), &path, &Options::default()).unwrap()
}

fn column(document: &Document, name: &str) -> Vec<serde_json::Value> {
    let table = table_of(document).unwrap();
    let n = table.schema().index_of(name).unwrap();
    let batch = table.read(&Task::new(), 0..9, &[n]).unwrap();
    (0..batch.num_rows()).map(|row| cell::shown_json(batch.column(0).as_ref(), row)).collect()
}

#[test]
fn images_objects_splits_and_masks() {
    let document = opened("geese");
    assert_eq!(document.format.id, "voc");
    assert_eq!(
        column(&document, "image"),
        ["JPEGImages/000001.jpg", "JPEGImages/000002.jpg", "JPEGImages/000010.jpg"]
    );
    assert_eq!(column(&document, "split"), ["train", "val", "train"]);
    assert_eq!(column(&document, "width")[0].to_string().trim_matches('"'), "20");
    assert_eq!(column(&document, "segmentation_class")[0], "SegmentationClass/000001.png");
    let objects = column(&document, "objects");
    let lengths: Vec<usize> = objects.iter().map(|all| all.as_array().unwrap().len()).collect();
    assert_eq!(lengths, [2, 1, 0]);
    assert_eq!(
        (&objects[0][1]["category"], &objects[1][0]["category"]),
        (&"duck".into(), &"canard d'été".into())
    );
    assert_eq!(objects[0][1]["bbox"][0].as_f64(), Some(12.5));
    let table = table_of(&document).unwrap();
    let place = crate::data::media::Place::of_node(&document.source, "", &document.root);
    let media =
        crate::data::media::find(&Task::new(), crate::formats::ALL, table.as_ref(), &[], &place).unwrap();
    let boxes = media.boxes.unwrap();
    assert_eq!(
        (boxes.format, boxes.normalised, media.mask.is_some()),
        (crate::data::media::BoxFormat::Xyxy, false, true)
    );
}

#[test]
fn all_objects_and_categories_are_tables() {
    let document = opened("geese");
    let table = |path: &str| {
        let node = document.root.find(&Task::new(), path).unwrap().unwrap();
        let Some(Content::Table(table)) = &node.content else { panic!("no table") };
        let batch = table.read(&Task::new(), 0..9, &[0, 1, 2]).unwrap();
        (0..batch.num_rows())
            .map(|row| {
                batch
                    .columns()
                    .iter()
                    .map(|c| cell::text(c.as_ref(), row).unwrap_or_default())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect::<Vec<_>>()
    };
    let objects = [
        "0 JPEGImages/000001.jpg goose",
        "0 JPEGImages/000001.jpg duck",
        "1 JPEGImages/000002.jpg canard d'été",
    ];
    assert_eq!(table("/annotations"), objects);
    assert_eq!(table("/categories"), ["goose 1 1", "duck 1 1", "canard d'été 1 1"]);
}

#[test]
fn a_broken_document_is_said_in_its_row() {
    let document = opened("malformed/geese");
    let problems = column(&document, "problem");
    assert!(problems[0].as_str().unwrap().contains("ends within"), "{problems:?}");
    assert!(problems[1].as_str().unwrap().contains("box"), "{problems:?}");
    let objects = column(&document, "objects");
    assert_eq!(
        (objects[0][0]["category"].as_str(), objects[2][0]["category"].as_str()),
        (Some("goose"), Some("&a11;"))
    );
}
