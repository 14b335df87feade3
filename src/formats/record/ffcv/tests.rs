//! Fields as the writer was given them; damaged files and what is said of them.

use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::{Content, Rows, Table};
use crate::data::format::Options;
use crate::data::node::Node;
use crate::{Result, open};
use std::path::PathBuf;
use std::sync::Arc;

fn opened(name: &str) -> Result<Arc<Node>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/ffcv").join(name);
    let document = open(&Task::new(), &path, &Options::default())?;
    assert_eq!(document.format.id, "ffcv", "{name}");
    Ok(document.root)
}

fn table(node: &Node) -> &Arc<dyn Table> {
    let Some(Content::Table(table)) = &node.content else { panic!("no table") };
    table
}

fn cells(node: &Node, row: u64) -> Vec<Option<String>> {
    let table = table(node);
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), row..row + 1, &columns).unwrap();
    batch.columns().iter().map(|column| cell::shown(column.as_ref(), 0)).collect()
}

#[test]
fn every_field_has_its_type_and_its_values() {
    let root = opened("every.beton").unwrap();
    let described: Vec<String> =
        table(&root).described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    let wanted = [
        "image: binary",
        "blob: binary",
        "x: double",
        "meta: string",
        "id: int64",
        "matrix: fixed_size_list<item: fixed_size_list<item: float>[3]>[2]",
        "t: fixed_size_list<item: int16>[4]",
        "sixteen_letters_: fixed_size_list<item: uint16>[2]",
    ];
    assert_eq!(described, wanted);
    let row = cells(&root, 3);
    let row: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect();
    // A picture as samples begins with a head that says its size.
    assert!(row[0].starts_with("0x50360a3920350a3235350a"), "{}", row[0]);
    assert_eq!(row[1..5], ["0x000102", "0.75", "{\"n\": 3, \"\\u00fc\": [null]}", "-3"]);
    assert_eq!(row[6..], ["[0,3,6,9]", "[3,500]"]);
    assert!(cells(&root, 0)[0].as_ref().unwrap().starts_with("0xffd8ff"));
}

#[test]
fn samples_open_as_what_they_hold() {
    let root = opened("every.beton").unwrap();
    let task = Task::new();
    let kinds = ["image", "blob", "x", "matrix", "t"].map(|name| {
        let node = root.find(&task, &format!("/1/{name}")).unwrap().unwrap();
        assert!(node.problem.is_none(), "{name}: {:?}", node.problem);
        node.kind().word()
    });
    assert_eq!(kinds, ["image", "bytes", "group", "array", "array"]);
    let Some(Content::Image(image)) = &root.find(&task, "/1/image").unwrap().unwrap().content else {
        panic!()
    };
    assert_eq!((image.info().width, image.info().height), (7, 5));
    assert_eq!(root.find(&task, "/2/image").unwrap().unwrap().formats[0].id, "jpeg");
    assert_eq!(root.find(&task, "/2/meta/n").unwrap().unwrap().value.as_deref(), Some("2"));
    assert_eq!(root.find(&task, "/3/id").unwrap().unwrap().value.as_deref(), Some("-3"));
    assert!(root.find(&task, "/4").unwrap().is_none());
}

#[test]
fn damage_is_named_and_its_neighbours_are_there() {
    let says = |name: &str| match opened(&format!("malformed/{name}.beton")) {
        Ok(root) => {
            drop((cells(&root, 0), cells(&root, 1)));
            root.problem_now().map_or_else(String::new, |error| error.message())
        }
        Err(error) => error.message(),
    };
    assert!(says("samples_2_60").contains("1152921504606846976 samples"), "{}", says("samples_2_60"));
    assert!(says("version_9").contains("version 9"), "{}", says("version_9"));
    assert!(says("type_unknown").contains("unknown type 99"), "{}", says("type_unknown"));
    assert!(says("type_own").contains("of the writer's own"), "{}", says("type_own"));
    assert!(says("no_fields").contains("0 fields"), "{}", says("no_fields"));
    assert!(says("fields_65535").contains("65535 fields"), "{}", says("fields_65535"));
    assert!(says("table_beyond").contains("table of allocations"), "{}", says("table_beyond"));
    assert!(says("image_beyond").contains("sample 1"), "{}", says("image_beyond"));
    assert!(says("mode_9").contains("mode 9"), "{}", says("mode_9"));
    assert!(
        says("shape_2_62").contains("overflow") || says("shape_2_62").contains("limit"),
        "{}",
        says("shape_2_62")
    );
    assert!(says("dtype_odd").contains("type of its elements"), "{}", says("dtype_odd"));
    let rows = opened("malformed/cut_rows.beton").unwrap();
    assert_eq!(table(&rows).rows(), Rows::Exact(55));
    let broken = opened("malformed/mode_9.beton").unwrap();
    assert_eq!(cells(&broken, 0)[1].as_deref(), Some("0"));
    assert!(cells(&broken, 1)[0].is_some());
}
