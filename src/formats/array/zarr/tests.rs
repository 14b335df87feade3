//! Whole stores of `fixtures/zarr`: values by their checksums, what is said of each broken node.

mod judge;

use super::{json, meta};
use crate::bytes::task::Task;
use crate::data::content::image::Rect;
use crate::data::content::{Array, Content, array};
use crate::data::format::Options;
use crate::data::node::{Node, Value};
use crate::data::open::{Document, walk};
use crate::data::region::{Region, Span};
use crate::engines::pickle::Verdict;
use arrow::array::{Array as _, ArrayRef, AsArray};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const STORES: [&str; 15] = [
    "numbers_v2.zarr.zip",
    "numbers_v3.zarr.zip",
    "v2_codecs.zarr.zip",
    "v2_objects.zarr.zip",
    "v3_codecs.zarr.zip",
    "v3_types.zarr.zip",
    "sharded.zarr",
    "uneven.zarr.zip",
    "climate_v2.zarr",
    "climate_v3.zarr",
    "image_v05.ome.zarr",
    "image_v04.ome.zarr.zip",
    "plate.ome.zarr.zip",
    "implicit.zarr",
    "one_folder_down.zip",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/zarr").join(name)
}

fn opened(name: &str) -> Document {
    let document = crate::open(&Task::new(), &fixture(name), &Options::default()).unwrap();
    assert_eq!((document.format.id, document.remarks.len()), ("zarr", 0), "{name}: {:?}", document.remarks);
    document
}

fn nodes(document: &Document) -> Vec<(String, Arc<Node>)> {
    let mut all = Vec::new();
    let mut visit = |node: &Arc<Node>, path: &str, _| {
        all.push((path.to_owned(), node.clone()));
        Ok(true)
    };
    walk(&Task::new(), &document.root, "", 20, &mut visit).unwrap();
    all
}

fn attribute(node: &Node, name: &str) -> Option<serde_json::Value> {
    node.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| match value {
        Value::Text(text) => text.clone().into(),
        Value::Json(json) => json.clone(),
    })
}

fn find(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path} is not there"))
}

fn array_of(node: &Node) -> Arc<dyn Array> {
    match &node.content {
        Some(Content::Array(array)) => array.clone(),
        _ => panic!("{} is no array: {:?}", node.name, node.problem),
    }
}

fn bytes(array: &dyn Array) -> crate::bytes::error::Result<Vec<u8>> {
    array::read(array, &Task::new(), &Region::all(array.shape()))
}

/// The elements as texts, as `show` gives them.
fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    if let Some(texts) = column.as_string_opt::<i32>() {
        return texts.iter().map(|text| text.map(str::to_owned)).collect();
    }
    if let Some(values) = column.as_binary_opt::<i32>() {
        let hex = |b: &[u8]| format!("0x{}", b.iter().map(|b| format!("{b:02x}")).collect::<String>());
        return values.iter().map(|value| value.map(hex)).collect();
    }
    let lists = column.as_list::<i32>();
    let list = |n| lists.value(n).as_primitive::<arrow::datatypes::Int32Type>().values().to_vec();
    (0..lists.len()).map(|n| Some(format!("{:?}", list(n)).replace(' ', ""))).collect()
}

#[test]
fn every_array_has_the_checksum_that_zarr_python_gave() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for store in STORES {
        for (path, node) in nodes(&opened(store)) {
            let Some(want) = attribute(&node, "crc32").and_then(|crc| crc.as_u64()) else { continue };
            compared += 1;
            match bytes(array_of(&node).as_ref()) {
                Ok(bytes) if u64::from(crc32fast::hash(&bytes)) == want => {}
                Ok(_) => wrong.push(format!("{store}#{path}: another checksum")),
                Err(error) => wrong.push(format!("{store}#{path}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 150, "{compared}");
}

#[test]
fn elements_without_a_size() {
    let mut compared = 0;
    for (path, node) in STORES.iter().flat_map(|store| nodes(&opened(store))) {
        let Some(want) = attribute(&node, "texts") else { continue };
        let array = array_of(&node);
        assert!(array.dtype().is_variable(), "{path}");
        let column = array.column(&Task::new(), &Region::all(array.shape())).unwrap();
        let got: Vec<serde_json::Value> = texts(&column).into_iter().map(serde_json::Value::from).collect();
        assert_eq!(serde_json::Value::from(got), want, "{path}");
        compared += 1;
    }
    assert_eq!(compared, 9);
    let (region, _) = Region::parse("1:, :", &[2, 2]).unwrap();
    let array = array_of(&find(&opened("v2_objects.zarr.zip"), "/vlen_utf8_2d"));
    let part = texts(&array.column(&Task::new(), &region).unwrap());
    assert_eq!(part.iter().flatten().collect::<Vec<_>>(), ["naïve 東京", "duck"]);
}

#[test]
fn pickles_are_shown_and_never_loaded() {
    let node = find(&opened("v2_objects.zarr.zip"), "/pickle");
    assert_eq!(node.security.as_ref().unwrap().verdict, Verdict::Safe);
    let array = array_of(&node);
    let column = texts(&array.column(&Task::new(), &Region::all(array.shape())).unwrap());
    assert_eq!(column, [Some("{'a': 1}".to_owned()), Some("[1, 2]".to_owned()), None]);
    let node = find(&opened("malformed/v2.zarr.zip"), "/pickle");
    assert_eq!(node.security.as_ref().unwrap().verdict, Verdict::Dangerous);
    let column = texts(&array_of(&node).column(&Task::new(), &Region::all(&[1])).unwrap());
    assert_eq!(column, [Some("posix.system('true')".to_owned())]);
}

#[test]
fn anndata_is_tables_and_matrices() {
    let document = opened("anndata.zarr.zip");
    let task = Task::new();
    for path in ["/X", "/layers/columns"] {
        let array = array_of(&find(&document, path));
        assert_eq!(array.shape(), [3, 4], "{path}");
        let mut values = Vec::new();
        array.dtype().decode(&bytes(array.as_ref()).unwrap(), &mut values);
        assert_eq!(values, [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0], "{path}");
    }
    let obs = find(&document, "/obs");
    assert_eq!(obs.label, "dataframe");
    let Some(Content::Table(table)) = &obs.content else { panic!("{:?}", obs.problem) };
    let batch = table.read(&task, 1..3, &[0, 1, 2]).unwrap();
    let cell = |column: usize, row: usize| crate::data::cell::text(batch.column(column).as_ref(), row);
    let rows = (0..2).map(|row| (0..3).map(|column| cell(column, row)).collect::<Vec<_>>());
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [vec![some("c1"), None, some("6")], vec![some("c2"), some("B"), some("7")]]
    );
}

#[test]
fn regions_are_parts_of_the_whole() {
    let task = Task::new();
    for path in ["/at_end", "/sparse", "/nested", "/transposed", "/turned_outside", "/compressed_as_a_whole"]
    {
        let array = array_of(&find(&opened("sharded.zarr"), path));
        let whole = bytes(array.as_ref()).unwrap();
        for slice in ["3:17:2, 4:29:3", "20, :", ":, 7", "5:5", "23:, 29:"] {
            let (region, _) = Region::parse(slice, array.shape()).unwrap();
            let plain = array::Plain::new(
                crate::bytes::source::Source::memory("whole", whole.clone()),
                0,
                array.dtype().clone(),
                array.shape().to_vec(),
            );
            let want = array::read(&plain.unwrap(), &task, &region).unwrap();
            assert_eq!(array::read(array.as_ref(), &task, &region).unwrap(), want, "{path} {slice}");
        }
    }
    let array = array_of(&find(&opened("uneven.zarr.zip"), "/rectilinear"));
    let (region, _) = Region::parse("1::2, 1::2", array.shape()).unwrap();
    let read = array::read(array.as_ref(), &task, &region).unwrap();
    let numbers: Vec<i16> = read.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b)).collect();
    assert_eq!(numbers, [8, 10, 0, 22, 24, 0]);
}

#[test]
fn facts_of_chunks_and_shards() {
    let sharded = opened("sharded.zarr");
    let facts = array_of(&find(&sharded, "/nested")).facts();
    assert_eq!(facts.chunks, Some(vec![2, 5]));
    assert!(facts.details.contains(&("shards".to_owned(), "8 × 15".to_owned())), "{:?}", facts.details);
    assert_eq!(facts.codecs, ["sharding", "sharding", "bytes", "zstd"]);
    let layout = array_of(&find(&sharded, "/sparse")).layout(&Task::new()).unwrap();
    let missing = layout.blocks.iter().filter(|block| block.missing).count();
    assert_eq!((layout.unit, layout.grid.as_slice(), missing), ("shard", &[2, 2][..], 3));
    let codecs = opened("v2_codecs.zarr.zip");
    let layout = array_of(&find(&codecs, "/missing_nan")).layout(&Task::new()).unwrap();
    assert_eq!((layout.unit, layout.grid.as_slice()), ("chunk", &[3, 2][..]));
    assert_eq!(
        layout.blocks.iter().map(|b| b.missing).collect::<Vec<_>>(),
        [true, true, false, false, false, false]
    );
    let facts = array_of(&find(&codecs, "/type_f4_big")).facts();
    assert_eq!(facts.byte_order, Some("big"));
    assert_eq!(array_of(&find(&codecs, "/blosc_lz4")).facts().codecs, ["blosc (lz4)"]);
}

#[test]
fn climate_data_have_axes_times_and_scaling() {
    for store in ["climate_v2.zarr", "climate_v3.zarr"] {
        let document = opened(store);
        let names: Vec<String> = nodes(&document).into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, ["", "/air", "/lat", "/lon", "/time"], "{store}");
        let facts = array_of(&find(&document, "/air")).facts();
        assert_eq!(facts.unit.as_deref(), Some("K"));
        let axes: Vec<&str> = facts.axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(axes, ["time", "lat", "lon"]);
        let time = &facts.axes[0];
        assert_eq!(time.times.as_ref().unwrap().text(18.0).as_deref(), Some("2024-01-31T18:00:00"));
        assert_eq!(time.coordinate.as_ref().unwrap().shape(), [4]);
        assert_eq!(facts.axes[1].unit.as_deref(), Some("degrees_north"));
        let scaling = facts.scaling.unwrap();
        assert_eq!(
            (scaling.scale, scaling.offset, scaling.fill.as_slice()),
            (0.5, 200.0, &[-1.0][..]),
            "{store}"
        );
    }
    assert_eq!(nodes(&opened("one_folder_down.zip"))[2].0, "/climate.zarr/air");
}

#[test]
fn pyramids_are_images_with_levels() {
    let task = Task::new();
    let document = opened("image_v05.ome.zarr");
    let Some(Content::Image(image)) = &document.root.content else { panic!("no image") };
    let info = image.info();
    assert_eq!(
        (info.levels.as_slice(), info.frames, info.channels),
        (&[(48, 32), (24, 16), (12, 8)][..], 2, 1)
    );
    // Each axis that frames go through, and the pixels' size.
    let lens: Vec<_> = info.frame_axes.iter().map(|(len, axis)| (*len, axis.name.as_str())).collect();
    assert_eq!(lens, [(2, "c"), (1, "z")]);
    let names = info.frame_axes[0].1.coordinate.as_ref().unwrap();
    let letters = array::read(&**names, &task, &Region::all(&[2])).unwrap();
    let text = |n: usize| {
        crate::data::cell::element(names.dtype(), &letters[n * letters.len() / 2..][..letters.len() / 2])
    };
    assert_eq!((text(0).as_str(), text(1).as_str()), ("DAPI", "GFP"));
    let [rows, columns] = &info.sides;
    assert_eq!((rows.name.as_str(), columns.name.as_str(), columns.regular), ("y", "x", Some((0.0, 0.5))));
    assert_eq!(columns.unit.as_deref(), Some("micrometer"));
    let level = array_of(&find(&document, "/1"));
    let facts = level.facts();
    assert_eq!(facts.axes[2].regular, Some((0.0, 1.0)));
    assert_eq!(facts.axes[3].unit.as_deref(), Some("micrometer"));
    let pixels = image.read(&task, 1, 1, Rect { x: 3, y: 2, width: 5, height: 40 }).unwrap();
    let (region, _) = Region::parse("1, 0, 2:, 3:8", level.shape()).unwrap();
    assert_eq!((pixels.width, pixels.height), (5, 14));
    assert_eq!(pixels.data, array::read(level.as_ref(), &task, &region).unwrap());
    assert!(image.read(&task, 2, 0, Rect::all(1, 1)).is_err());

    let document = opened("image_v04.ome.zarr.zip");
    let Some(Content::Image(image)) = &document.root.content else { panic!("no image") };
    assert_eq!((image.info().channels, image.info().frames), (3, 1));
    let pixels = image.read(&task, 0, 0, Rect::all(48, 32)).unwrap();
    let planes = bytes(array_of(&find(&document, "/0")).as_ref()).unwrap();
    let at = |c: usize, y: usize, x: usize| planes[(c * 32 + y) * 48 + x];
    let want: Vec<u8> = (0..32 * 48 * 3).map(|n| at(n % 3, n / 3 / 48, n / 3 % 48)).collect();
    assert_eq!(pixels.data, want);
    assert_eq!(find(&document, "/labels/birds").label, "label image");
    let plate = opened("plate.ome.zarr.zip");
    assert_eq!(
        (plate.root.label, find(&plate, "/A/1").label, find(&plate, "/A/1/0").label),
        ("plate", "well", "image")
    );
}

#[test]
fn a_broken_node_is_named_and_its_neighbours_are_read() {
    // A part of each node's problem, or of the error of reading it.
    let said = [
        ("/no_json", "it is no JSON"),
        ("/no_type", "no \"node_type\""),
        ("/other_type", "\"planet\""),
        ("/future", "Zarr format 4"),
        ("/a_list", "not an object"),
        ("/chunk_of_zero", "side of 0"),
        ("/shape_overflows", "overflows"),
        ("/huge_chunk", "needs 8796093022208"),
        ("/negative", "no length"),
        ("/ranks", "chunks of [3] in an array of [3, 3]"),
        ("/unknown_codec", "\"https://example.org/nope\""),
        ("/unknown_filter", "\"zfp\""),
        ("/no_codecs", "none of them makes bytes"),
        ("/unknown_grid", "\"hexagonal\""),
        ("/transformer", "storage transformer"),
        ("/transpose_no_order", "no order of 2 dimensions"),
        ("/cut_chunk", "3 bytes"),
        ("/long_chunk", "100 bytes"),
        ("/bad_gzip", "chunk [0]"),
        ("/gzip_bomb", "more than the 8 bytes"),
        ("/bad_crc", "checksum"),
        ("/shard_beyond", "inner chunk 1 should have"),
        ("/shard_overlaps_index", "inner chunk 1 should have"),
        ("/shard_wrong_length", "1 bytes"),
        ("/shard_bad_crc", "checksum"),
        ("/shard_cut", "its index alone needs"),
        ("/shard_not_divided", "do not divide"),
        ("/shards_too_deep", "shards in shards"),
        ("/shard_huge_index", "a shard's index"),
    ];
    let document = opened("malformed/nodes.zarr.zip");
    for (path, part) in said {
        let node = find(&document, path);
        let read = || match &node.content {
            Some(Content::Array(array)) => {
                let spans = array
                    .shape()
                    .iter()
                    .map(|&len| crate::data::region::Span::range(0, len.min(4)))
                    .collect();
                array::read(array.as_ref(), &Task::new(), &Region(spans)).err()
            }
            _ => None,
        };
        let error = node.problem.clone().or_else(read).unwrap_or_else(|| panic!("{path} is fine"));
        assert!(error.message().contains(part), "{path}: {error}");
    }
    for path in ["/texts_lie", "/texts_no_utf8"] {
        let array = array_of(&find(&document, path));
        assert!(array.column(&Task::new(), &Region::all(array.shape())).is_err(), "{path}");
    }
    assert!(find(&document, "/fill_too_large").remarks.iter().any(|remark| remark.contains("300")));
    assert_eq!(bytes(array_of(&find(&document, "/good")).as_ref()).unwrap(), [1, 2, 3]);
    // The other inner chunks of a shard, and the other chunks of an array.
    let first = |path: &str, slice: &str| {
        let array = array_of(&find(&document, path));
        array::read(array.as_ref(), &Task::new(), &Region::parse(slice, array.shape()).unwrap().0).unwrap()
    };
    assert_eq!(first("/shard_beyond", ":2"), [1, 2]);
    assert_eq!(first("/bad_gzip", "2:"), [1, 0, 2, 0]);
}

#[test]
fn old_stores_are_as_careful() {
    let said = [
        ("/unknown_dtype", "\"<i3\""),
        ("/unknown_compressor", "\"jpeg2k\""),
        ("/compressor_no_id", "has no id"),
        ("/objects_no_codec", "without a codec"),
        ("/pickle", "posix.system: dangerous"),
    ];
    let document = opened("malformed/v2.zarr.zip");
    for (path, part) in said {
        let problem = find(&document, path).problem.clone().unwrap_or_else(|| panic!("{path} is fine"));
        assert!(problem.message().contains(part), "{path}: {problem}");
    }
    assert!(bytes(array_of(&find(&document, "/blosc_bomb")).as_ref()).is_err());
    let nan = bytes(array_of(&find(&document, "/nan_without_quotes")).as_ref()).unwrap();
    assert_eq!(nan, [f64::NAN.to_le_bytes(); 2].concat());
    assert!(!find(&document, "/attributes_broken").remarks.is_empty());
    assert_eq!(bytes(array_of(&find(&document, "/good")).as_ref()).unwrap(), [3, 3]);
}

#[test]
fn names_that_climb_out_are_no_nodes() {
    let document = opened("malformed/climbing.zarr.zip");
    let names: Vec<String> = nodes(&document).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["", "/good"]);
    assert!(
        document.root.remarks.iter().any(|remark| remark.contains("leads out")),
        "{:?}",
        document.root.remarks
    );
}

#[test]
fn loops_of_links_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a.zarr");
    std::fs::create_dir_all(root.join("g")).unwrap();
    std::fs::write(root.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    std::os::unix::fs::symlink("..", root.join("g/up")).unwrap();
    std::os::unix::fs::symlink("/", root.join("out")).unwrap();
    let task = Task::new();
    let document = crate::open(&task, &root, &Options::default()).unwrap();
    let mut visited = 0;
    let mut visit = |_: &Arc<Node>, _: &str, _| {
        visited += 1;
        Ok(true)
    };
    let _ = walk(&task, &document.root, "", 100, &mut visit);
    assert!(visited < 10, "{visited}");
}

#[test]
fn integers_without_a_sign_are_those_that_an_attribute_says() {
    let document = |unsigned: serde_json::Value| {
        serde_json::json!({
            "zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "int16", "fill_value": -1,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
            "attributes": {"_Unsigned": unsigned, "_FillValue": -2, "scale_factor": 2}
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    std::fs::create_dir_all(store.join("c")).unwrap();
    std::fs::write(store.join("c/0"), [0, 1, 0xff, 0xff, 0xff, 0xfe]).unwrap();
    for (said, expected) in [
        ("true".into(), [1, 65_535, 65_534]),
        (true.into(), [1, 65_535, 65_534]),
        ("false".into(), [1, -1, -2]),
    ] {
        std::fs::write(store.join("zarr.json"), document(said).to_string()).unwrap();
        let document = crate::open(&Task::new(), &store, &Options::default()).unwrap();
        let array = array_of(&document.root);
        let bytes = array::read(array.as_ref(), &Task::new(), &Region::all(&[3])).unwrap();
        let mut numbers = Vec::new();
        array.dtype().decode(&bytes, &mut numbers);
        assert_eq!(numbers, expected.map(f64::from));
        assert!(array.facts().scaling.unwrap().apply(numbers[2]).is_nan());
    }
}

proptest! {
    /// Documents that were damaged are understood or refused.
    #[test]
    fn no_document_makes_it_panic(at in 0usize..2000, new: u8, more in 0usize..2000, other: u8) {
        let document = br#"{"shape":[10,20],"data_type":{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}},
            "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8,16]}},"chunk_key_encoding":{"name":"default"},
            "fill_value":0,"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[4,8],"codecs":
            [{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes"},{"name":"gzip"}],"index_codecs":
            [{"name":"bytes"},{"name":"crc32c"}]}}],"dimension_names":["a",null],"zarr_format":3,"node_type":"array"}"#;
        let mut document = document.to_vec();
        let len = document.len();
        document[at % len] = new;
        document[more % len] = other;
        if let Ok(value) = json::parse("zarr.json", &document) {
            let _ = meta::of_v3(&value);
        }
    }
}

/// A shape of 10^18 elements in a store of a few chunks: the names of the keys tell which are there.
#[test]
fn what_is_not_in_the_store_costs_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let v2 = |separator: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[1000000000,1000000000],"chunks":[2,3],"dtype":"|u1","compressor":null,
            "fill_value":5,"order":"C","filters":null,"dimension_separator":"{separator}"}}"#
        )
    };
    let v3 = |codecs: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[1000000000,1000000000],"data_type":"uint8",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,3]}}}},"fill_value":5,"attributes":{{}},
            "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"codecs":[{codecs}]}}"#
        )
    };
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let sharded = format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[1,3],"codecs":[{bytes}],
        "index_codecs":[{bytes}],"index_location":"end"}}}}"#
    );
    write("flat.zarr/.zarray", v2(".").as_bytes());
    write("flat.zarr/7.400000", &[1, 2, 3, 4, 0, 6]);
    write("flat.zarr/0.0.not_a_chunk", b"x");
    write("nested.zarr/.zarray", v2("/").as_bytes());
    write("nested.zarr/7/400000", &[1, 2, 3, 4, 0, 6]);
    write("third.zarr/zarr.json", v3(bytes).as_bytes());
    write("third.zarr/c/7/400000", &[1, 2, 3, 4, 0, 6]);
    // Of two inner chunks the second is missing.
    let index = [0u64, 3, u64::MAX, u64::MAX].map(u64::to_le_bytes).concat();
    write("shards.zarr/zarr.json", v3(&sharded).as_bytes());
    write("shards.zarr/c/7/400000", &[&[1, 2, 0][..], &index].concat());
    for (name, there, sum) in
        [("flat.zarr", 6, 16i64), ("nested.zarr", 6, 16), ("third.zarr", 6, 16), ("shards.zarr", 3, 3)]
    {
        let document = crate::open(&Task::new(), &folder.path().join(name), &Options::default()).unwrap();
        let array = array_of(&document.root);
        let stored = array.stored(&Task::new()).unwrap().unwrap();
        assert_eq!(stored.elements(), there, "{name}");
        let s = crate::data::stats::array(array.as_ref(), &Task::new(), None).unwrap();
        let all = 1_000_000_000_000_000_000u64;
        assert_eq!((s.count, s.zeros, s.min.as_deref()), (all, 1, Some("0")), "{name}");
        let wanted = 5.0 * (all - there) as f64 + sum as f64;
        assert!((s.sum.unwrap() / wanted - 1.0).abs() < 1e-12, "{name}");
        // A window over four million chunks, of which one is there.
        let window = Region(vec![Span::range(0, 2000), Span::range(1_200_000 - 3000, 6000)]);
        let mut out = vec![0; 2000 * 6000];
        array.read(&Task::new(), &window, &mut out).unwrap();
        let others = out.iter().filter(|byte| **byte != 5).count() as u64;
        assert_eq!((out[14 * 6000 + 3000], others), (1, there.min(6)), "{name}");
    }
}
