use super::*;
use crate::data::cell;
use crate::data::open::{Document, table_of};
use proptest::prelude::*;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/yolo")).join(name);
    let document = crate::formats::open(&Task::new(), &path, &Options::default()).unwrap();
    assert_eq!(document.format.id, "yolo", "{name}");
    document
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
fn boxes_splits_and_names() {
    let document = opened("boxes");
    assert_eq!(column(&document, "image"), ["images/train/a.png", "images/train/b.png", "images/val/c.png"]);
    assert_eq!(column(&document, "split"), ["train", "train", "val"]);
    let objects = column(&document, "objects");
    assert_eq!(numbers(&objects[0][0]["bbox"]), [0.5, 0.5, 0.25, 0.5]);
    assert_eq!(
        (objects[0][1]["category"].as_str(), objects[2][0]["confidence"].as_str()),
        (Some("duck"), Some("0.875"))
    );
    assert_eq!(objects[1].as_array().unwrap().len(), 0);
    let table = table_of(&document).unwrap();
    let n = table.schema().index_of("objects").unwrap();
    let place = crate::data::media::Place::of_node(&document.source, "", &document.root);
    let media =
        crate::data::media::find(&Task::new(), crate::formats::ALL, table.as_ref(), &[], &place).unwrap();
    let boxes = media.boxes.unwrap();
    let batch = table.read(&Task::new(), 0..1, &[n]).unwrap();
    assert_eq!(boxes.of(batch.columns(), 0, (20, 10))[0].corners, [0.375, 0.25, 0.625, 0.75]);
}

#[test]
fn outlines_key_points_and_other_layouts() {
    let objects = column(&opened("segments"), "objects");
    assert_eq!(numbers(&objects[0][1]["segmentation"][0]).len(), 8);
    assert_eq!(numbers(&objects[0][1]["bbox"]), [0.5, 0.5, 0.5, 0.5]);
    let objects = column(&opened("pose"), "objects");
    assert_eq!(numbers(&objects[0][0]["keypoints"]), [0.25, 0.25, 2.0, 0.5, 0.5, 1.0, 0.0, 0.0, 0.0]);
    let document = opened("by_split");
    assert_eq!(column(&document, "image"), ["train/images/train.png", "valid/images/valid.png"]);
    assert_eq!(column(&document, "objects")[1][0]["category"], "duck");
    assert_eq!(column(&opened("darknet"), "objects")[0][0]["category"], "goose");
}

#[test]
fn wrong_lines_are_said_and_the_others_read() {
    let document = opened("malformed/odd");
    assert_eq!(column(&document, "objects")[0].as_array().unwrap().len(), 2);
    assert_eq!(column(&document, "problem")[0], "line 2: something is no number");
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in "[0-9.x \\n-]{0,60}", count in 0_usize..4) {
        let description = Description { key_points: Some((count, 3)), ..Description::default() };
        let _ = labels::objects(&text, &description);
    }
}
