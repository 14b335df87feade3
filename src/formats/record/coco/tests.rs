use super::*;
use crate::data::cell;
use crate::data::open::{Document as Opened, table_of};
use std::path::Path;

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/coco")).join(name)
}

fn opened(name: &str) -> Opened {
    crate::formats::open(&Task::new(), &fixture(name), &Options::default()).unwrap()
}

/// A cell of the table at the root.
fn at(document: &Opened, column: &str, row: usize) -> serde_json::Value {
    let table = table_of(document).unwrap();
    let n = table.schema().index_of(column).unwrap();
    let batch = table.read(&Task::new(), row as u64..row as u64 + 1, &[n]).unwrap();
    cell::shown_json(batch.column(0).as_ref(), 0)
}

/// What pycocotools says of the same file stands in `expected.json`, written by make.py.
#[test]
fn objects_are_those_of_pycocotools() {
    let expected = std::fs::read(fixture("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
    let document = opened("annotations/instances_val.json");
    assert_eq!(document.format.id, "coco");
    let table = table_of(&document).unwrap();
    let images = expected.as_array().unwrap();
    assert_eq!(table.count(&Task::new()).unwrap(), images.len() as u64);
    for (row, image) in images.iter().enumerate() {
        assert_eq!(at(&document, "id", row), image["id"]);
        let objects = at(&document, "objects", row);
        let objects = objects.as_array().unwrap();
        let theirs = image["annotations"].as_array().unwrap();
        assert_eq!(objects.len(), theirs.len(), "image {row}");
        for (ours, theirs) in objects.iter().zip(theirs) {
            for name in ["id", "category_id", "category", "iscrowd"] {
                assert_eq!(ours[name], theirs[name], "{name}");
            }
            let number = |json: &serde_json::Value| json.as_f64().unwrap();
            assert_eq!(number(&ours["area"]), number(&theirs["area"]));
            assert_eq!(
                ours["bbox"].as_array().unwrap().iter().map(number).collect::<Vec<_>>(),
                theirs["bbox"].as_array().unwrap().iter().map(number).collect::<Vec<_>>()
            );
            if !theirs["rle"].is_null() {
                assert_eq!(ours["rle"]["counts"], theirs["rle"]["counts"]);
                let text = ours["rle"]["counts"].as_str().unwrap();
                let size: Vec<u32> = theirs["rle"]["size"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|n| n.as_u64().unwrap() as u32)
                    .collect();
                let mask = crate::data::media::shapes::RunLengths::from_text(size[0], size[1], text).unwrap();
                assert_eq!(mask.area(), theirs["rle_area"].as_u64().unwrap());
            }
        }
    }
}

#[test]
fn pictures_are_found_beside_the_folder_and_drawn_over() {
    let document = opened("annotations/instances_val.json");
    assert_eq!(at(&document, "image", 0), "val/one.png");
    let table = table_of(&document).unwrap();
    let place = crate::data::media::Place::of_node(&document.source, "", &document.root);
    let task = Task::new();
    assert!(place.open(&task, "val/one.png").unwrap().is_some());
    assert!(place.open(&task, "../coco.rs").unwrap().is_none());
    let media = crate::data::media::find(&task, crate::formats::ALL, table.as_ref(), &[], &place).unwrap();
    assert_eq!(media.columns.len(), 1);
    let boxes = media.boxes.unwrap();
    assert_eq!((boxes.format, boxes.normalised), (crate::data::media::BoxFormat::Xywh, false));
    let objects = table.schema().index_of("objects").unwrap();
    let batch = table.read(&task, 0..1, &[objects]).unwrap();
    let regions = boxes.of(batch.columns(), 0, (20, 10));
    assert_eq!(regions.len(), 3);
    assert_eq!(regions[0].label.as_deref(), Some("goose"));
    assert_eq!(regions[0].polygons.len(), 1);
    assert!(regions[1].mask.is_some() && regions[2].mask.is_some());
    let layer = crate::data::media::shapes::layer(&regions, 20, 10).unwrap();
    assert!(layer.rgba.iter().skip(3).step_by(4).any(|alpha| *alpha > 0));
}

#[test]
fn key_points_have_lines() {
    let document = opened("annotations/person_keypoints_val.json");
    let objects = at(&document, "objects", 0);
    assert_eq!(objects[0]["keypoints"].as_array().unwrap().len(), 9);
    let table = table_of(&document).unwrap();
    let n = table.schema().index_of("objects").unwrap();
    let batch = table.read(&Task::new(), 0..1, &[n]).unwrap();
    let boxes = crate::data::media::Boxes {
        columns: vec![n],
        format: crate::data::media::BoxFormat::Xywh,
        normalised: false,
        names: Arc::default(),
    };
    let regions = boxes.of(batch.columns(), 0, (20, 10));
    // The third is not there, and so is the line to it.
    assert_eq!((regions[0].points.len(), regions[0].lines.len()), (2, 1));
}

#[test]
fn captions_and_segments() {
    let document = opened("annotations/captions_val.json");
    assert_eq!(at(&document, "captions", 0), serde_json::json!(["a goose", "a white goose"]));
    let document = opened("annotations/panoptic_val.json");
    assert_eq!(at(&document, "mask", 0), "annotations/panoptic_val/one.png");
    assert_eq!(at(&document, "objects", 0).as_array().unwrap().len(), 2);
    let lists: Vec<String> =
        document.root.child_page(&Task::new(), 0..9).unwrap().iter().map(|n| n.name.clone()).collect();
    assert!(
        lists.contains(&"annotations".to_owned()) && lists.contains(&"categories".to_owned()),
        "{lists:?}"
    );
}

#[test]
fn the_image_of_an_annotation_is_found_fast_and_right() {
    let cases = [
        ("{\"image_id\": 17, \"a\": [1, 2]}", Some(17)),
        ("{\"a\": {\"image_id\": 3}, \"image_id\" :4}", Some(4)),
        ("{\"caption\": \"\\\"image_id\\\": 5,\", \"id\": 1}", None),
        ("{\"image_id\": 1.5e1}", Some(15)),
        ("{\"image_id\": -2}", Some(-2)),
        ("{\"id\": 1}", None),
        ("[1]", None),
    ];
    for (text, expected) in cases {
        assert_eq!(annotation::image_of(text), expected, "{text}");
    }
    let named = annotation::image_of("{\"image_id\": \"000a\"}");
    assert_eq!(named, Some(annotation::key("\"000a\"")));
}

#[test]
fn other_documents_are_none() {
    let texts = [
        "{\"images\": [1, 2], \"info\": {}}",
        "{\"images\": [{\"a\": 1}], \"annotations\": []}",
        "{\"images\": [], \"annotations\": [], \"categories\": []}",
        "{\"info\": {}, \"licenses\": []}",
        "[{\"images\": []}]",
    ];
    for text in texts {
        let source = Source::memory("a.json", text);
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
        assert_eq!(document.format.id, "json", "{text}");
    }
}

#[test]
fn a_document_that_is_cut_shows_what_is_there() {
    let whole = std::fs::read(fixture("annotations/instances_val.json")).unwrap();
    let at = whole.windows(13).position(|part| part == b"\"annotations\"").unwrap();
    let source = Source::memory("a.json", whole[..at + 400].to_vec());
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
    assert_eq!(document.format.id, "coco");
    assert!(document.root.problem.is_some());
    let table = table_of(&document).unwrap();
    assert_eq!(table.count(&Task::new()).unwrap(), 2);
    table.read(&Task::new(), 0..2, &[0, 1, 2, 3, 4]).unwrap();
}
