//! What the fixtures hold, as `fixtures/hdf5/make.py` wrote it.

use crate::data::cell;
use crate::data::content::Content;
use crate::data::format::Options;
use crate::data::node::{Node, Value};
use crate::data::region::Region;
use crate::{Document, Task};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;

fn fixture(name: &str) -> Document {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/hdf5").join(name);
    crate::open(&Task::new(), &path, &Options::default()).unwrap()
}

fn at(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path} is not there"))
}

fn names(node: &Node) -> Vec<String> {
    node.child_page(&Task::new(), 0..1_000).unwrap().iter().map(|child| child.name.clone()).collect()
}

fn attribute(node: &Node, name: &str) -> Json {
    match node.attributes.iter().find(|(known, _)| known == name) {
        Some((_, Value::Json(json))) => json.clone(),
        Some((_, Value::Text(text))) => Json::String(text.clone()),
        None => panic!("{name} is not there"),
    }
}

/// The elements of an array, each as its text.
fn values(node: &Node) -> Vec<String> {
    let task = Task::new();
    let Some(Content::Array(array)) = &node.content else { panic!("{} is no array", node.name) };
    let column = array.column(&task, &Region::all(array.shape())).unwrap();
    (0..column.len()).map(|row| cell::text(column.as_ref(), row).unwrap_or_default()).collect()
}

/// All problems of a tree.
fn problems(document: &Document) -> Vec<String> {
    let mut found = Vec::new();
    crate::data::open::walk(&Task::new(), &document.root, "", 8, &mut |node, _, _| {
        found.extend(node.problem.as_ref().map(|problem| problem.message()));
        Ok(true)
    })
    .unwrap();
    found
}

#[test]
fn links_of_every_storage_come_in_order_and_are_found_by_name() {
    for version in ["earliest", "latest"] {
        for ordered in [false, true] {
            let name = format!("groups_{version}{}.h5", if ordered { "_ordered" } else { "" });
            let document = fixture(&name);
            let few = if ordered { ["z", "a", "m"] } else { ["a", "m", "z"] };
            assert_eq!(names(&at(&document, "/few")), few, "{name}");
            let many = at(&document, "/many");
            let listed = names(&many);
            assert_eq!(listed.len(), 41, "{name}");
            let second = if ordered { "link_07" } else { "link_01" };
            assert_eq!(listed[1], second, "{name}");
            assert_eq!(values(&at(&document, "/many/link_39")), ["1"], "{name}");
            assert_eq!(many.child_page(&Task::new(), 39..50).unwrap().len(), 2, "{name}");
            assert!(document.root.find(&Task::new(), "/many/link_40").unwrap().is_none());
            assert!(!at(&document, "/empty").has_children() && problems(&document).is_empty(), "{name}");
        }
    }
}

#[test]
fn attributes_have_values_of_every_type() {
    for version in ["earliest", "latest"] {
        let document = fixture(&format!("attributes_{version}.h5"));
        let few = at(&document, "/few");
        for (name, value) in [
            ("int", json!(-1)),
            ("text", json!("grün")),
            ("bytes", json!("ascii")),
            ("matrix", json!([[0, 1, 2], [3, 4, 5]])),
            ("texts", json!(["a", "bb"])),
            ("flag", json!(true)),
            ("none", Json::Null),
            ("complex", json!("1.0+2.0j")),
            ("enum", json!("on")),
            ("reference", json!("/few")),
            ("nan", json!("nan")),
            ("zero_sized", json!([])),
            ("lists", json!([[0, 1], [0]])),
        ] {
            assert_eq!(attribute(&few, name), value, "{version}: {name}");
        }
        assert_eq!(attribute(&few, "float").to_string(), "0.1");
        assert_eq!(attribute(&few, "record").to_string(), r#"{"a":3,"b":0.5}"#);
        assert_eq!(attribute(&few, "many").as_array().unwrap().len(), 4_096);
        assert!(few.remarks.iter().any(|remark| remark.contains("many")), "{:?}", few.remarks);
        let many = at(&document, "/many");
        assert_eq!(many.attributes.len(), 31);
        assert_eq!(attribute(&many, "attribute_29"), json!(17));
        assert_eq!(attribute(&many, "large")[1_099], json!(1_099));
    }
}

#[test]
fn links_are_followed_inside_the_folder_and_end_in_circles() {
    let document = fixture("links.h5");
    for path in ["/hard", "/soft", "/data/relative", "/soft_group/x"] {
        assert_eq!(values(&at(&document, path)), ["0", "1", "2"], "{path}");
    }
    assert_eq!(values(&at(&document, "/external")).len(), 5);
    assert_eq!(values(&at(&document, "/external_root/inside/data")).len(), 5);
    let up = at(&document, "/data/up");
    assert!(up.remarks.iter().any(|remark| remark.contains("leads back to /")), "{:?}", up.remarks);
    assert!(names(&up).is_empty());
    let circle = at(&document, "/circle_a").problem.clone().unwrap();
    assert!(circle.message().contains("16 other links"), "{circle}");
    for path in ["/external_outside", "/external_missing"] {
        let node = at(&document, path);
        assert!(node.content.is_none() && node.remarks[0].contains("not there"), "{:?}", node.remarks);
    }
    assert!(at(&document, "/dangling").remarks[0].contains("nothing at the path"));
}

#[test]
fn shared_messages_and_compressed_heaps_read() {
    for name in ["shared_list.h5", "shared_btree.h5"] {
        let document = fixture(name);
        assert_eq!(problems(&document), [""; 0], "{name}");
        let dataset = at(&document, "/d2");
        assert_eq!(values(&dataset)[11], "11");
        assert_eq!(
            attribute(&dataset, "the same everywhere"),
            json!("a text that is long enough to be shared")
        );
        assert_eq!(attribute(&dataset, "number 9")[7], json!(63));
    }
    let document = fixture("heap_filtered.h5");
    assert_eq!(names(&at(&document, "/group")).len(), 60);
    assert_eq!(problems(&document), [""; 0]);
}

#[test]
fn dimension_scales_and_signals_have_axes() {
    let axes = |name: &str, path: &str| {
        let document = fixture(name);
        let Some(Content::Array(array)) = at(&document, path).content.clone() else { panic!("no array") };
        let axes = array.facts().axes;
        let told = |axis: crate::data::content::array::Axis| {
            let coordinate = axis.coordinate.map(|array| array.shape().to_vec());
            (axis.name, axis.unit.unwrap_or_default(), coordinate.unwrap_or_default())
        };
        axes.into_iter().map(told).collect::<Vec<_>>()
    };
    let text = |text: &str| text.to_owned();
    let expected = vec![(text("time"), text("s"), vec![4]), (text("wave"), text("nm"), vec![6])];
    assert_eq!(axes("scales.h5", "/group/spectra"), expected);
    assert_eq!(axes("scales.h5", "/labelled")[1].0, "column");
    let expected = vec![(text("x"), text("mm"), vec![2]), (text("y"), text(""), vec![3])];
    assert_eq!(axes("nexus.h5", "/entry/data/counts"), expected);
}

/// A text attribute, written by libhdf5.
fn mark(place: &hdf5::Location, name: &str, text: &str) {
    let text: hdf5::types::VarLenUnicode = text.parse().unwrap();
    place.new_attr::<hdf5::types::VarLenUnicode>().create(name).unwrap().write_scalar(&text).unwrap();
}

/// A file that libhdf5 writes.
fn written(fill: impl FnOnce(&hdf5::File)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nc");
    // Without locks: programs that other tests start meanwhile inherit the open file.
    let file = hdf5::File::with_options().with_fapl(|p| p.file_locking(false)).create(&path).unwrap();
    fill(&file);
    drop(file);
    (folder, path)
}

fn open(path: &std::path::Path) -> Document {
    crate::open(&Task::new(), path, &Options::default()).unwrap()
}

#[test]
fn of_a_file_that_is_cut_off_everything_that_is_there_is_shown() {
    let (_folder, path) = written(|file| {
        let values: Vec<f64> = (0..4_000).map(f64::from).collect();
        let shape = [40, 100];
        file.new_dataset::<f64>().shape(shape).create("x").unwrap().write_raw(&values).unwrap();
    });
    let span = at(&open(&path), "/x").span.clone().unwrap();
    let len = std::fs::metadata(&path).unwrap().len();
    assert!(span.end == len, "the values are the last: {span:?} of {len}");
    // Half of an element and twelve whole ones are missing.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len - 12 * 8 - 4).unwrap();
    let document = open(&path);
    let node = at(&document, "/x");
    assert!(node.problem.as_ref().unwrap().message().contains("may be cut off"));
    let Some(Content::Array(array)) = &node.content else { panic!("no array") };
    assert_eq!((array.shape(), array.dtype()), ([40, 100].as_slice(), &crate::data::dtype::DType::F64));
    let task = Task::new();
    let read = |slice: &str| {
        let region = Region::parse(slice, array.shape()).unwrap().0;
        crate::data::content::array::read(array.as_ref(), &task, &region)
    };
    assert_eq!(read("39, 86").unwrap(), 3_986f64.to_le_bytes());
    assert!(read("39, 87").is_err() && read(":, 99").is_err() && read("38, :").is_ok());
    let region = Region::parse("38:, ::29", array.shape()).unwrap().0;
    let mut out = vec![1; 64];
    let gaps = array.read_lenient(&task, &region, &mut out).unwrap();
    let numbers: Vec<f64> = out.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    assert_eq!(numbers, [3_800.0, 3_829.0, 3_858.0, 3_887.0, 3_900.0, 3_929.0, 3_958.0, 0.0]);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].part, Region::parse("1, 3", &[2, 4]).unwrap().0);
    // Where nothing of it is left it is still told what it was.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(span.start - 1).unwrap();
    let node = at(&open(&path), "/x");
    let Some(Content::Array(array)) = &node.content else { panic!("{:?}", node.problem) };
    assert_eq!(array.shape(), [40, 100]);
}

#[test]
fn integers_without_a_sign_are_those_that_an_attribute_says() {
    let (_folder, path) = written(|file| {
        let x = file.new_dataset::<i16>().shape([3]).create("x").unwrap();
        x.write_raw(&[1i16, -1, -2]).unwrap();
        mark(&x, "_Unsigned", "true");
        x.new_attr::<i16>().create("_FillValue").unwrap().write_scalar(&-1i16).unwrap();
        x.new_attr::<f32>().create("scale_factor").unwrap().write_scalar(&0.5f32).unwrap();
    });
    let document = open(&path);
    assert_eq!(document.format.id, "netcdf4");
    let node = at(&document, "/x");
    assert_eq!(values(&node), ["1", "65535", "65534"]);
    let Some(Content::Array(array)) = &node.content else { panic!("no array") };
    let scaling = array.facts().scaling.unwrap();
    assert!(scaling.apply(65_535.0).is_nan() && scaling.apply(65_534.0) == 32_767.0);
    assert_eq!(node.remarks, [crate::data::cf::UNSIGNED]);
}

#[test]
fn sources_of_virtual_datasets_that_are_not_there_are_named() {
    assert!(at(&fixture("layouts.h5"), "/virtual").problem.is_none());
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("layouts.h5");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/hdf5/layouts.h5"), &alone).unwrap();
    let node = at(&open(&alone), "/virtual");
    let said = node.problem.as_ref().unwrap().message();
    assert!(said.contains("1 of 2 sources") && said.contains("links_target.h5#inside/data"), "{said}");
    assert_eq!(values(&node)[9..11], ["-1", "0"]);
}

#[test]
fn nexus_files_begin_with_their_signal() {
    assert_eq!(fixture("nexus.h5").root.start.as_deref(), Some("/entry/data/counts"));
    assert!(fixture("groups_latest.h5").root.start.is_none());
    // Older files mark the dataset, and name no group.
    let (_folder, path) = written(|file| {
        mark(file, "NeXus_version", "4.1.0");
        let entry = file.create_group("run").unwrap();
        mark(&entry, "NX_class", "NXentry");
        mark(&entry.create_group("aside").unwrap(), "NX_class", "NXuser");
        let data = entry.create_group("plot").unwrap();
        mark(&data, "NX_class", "NXdata");
        for (name, len) in [("angle", 2), ("energy", 3)] {
            let axis = data.new_dataset::<f64>().shape([len]).create(name).unwrap();
            axis.new_attr::<i32>().create("axis").unwrap().write_scalar(&(len as i32 - 1)).unwrap();
        }
        let counts = data.new_dataset::<i32>().shape([2, 3]).create("counts").unwrap();
        counts.new_attr::<i32>().create("signal").unwrap().write_scalar(&1).unwrap();
    });
    let document = open(&path);
    assert_eq!(document.root.start.as_deref(), Some("/run/plot/counts"));
    let Some(Content::Array(array)) = at(&document, "/run/plot/counts").content.clone() else { panic!() };
    let axes: Vec<String> = array.facts().axes.into_iter().map(|axis| axis.name).collect();
    assert_eq!(axes, ["angle", "energy"]);
}

#[test]
fn why_there_is_no_map_of_very_many_chunks_is_said() {
    let (_folder, path) = written(|file| {
        file.new_dataset::<u8>().shape([2_000_000]).chunk([1]).create("x").unwrap();
    });
    let Some(Content::Array(array)) = at(&open(&path), "/x").content.clone() else { panic!() };
    let said = array.layout(&Task::new()).unwrap_err().message();
    assert!(said.contains("2,000,000 chunks") && said.contains("1,048,576"), "{said}");
}

#[test]
fn user_blocks_other_sizes_and_living_writers() {
    let document = fixture("user_block.h5");
    assert_eq!(values(&at(&document, "/x")), ["0", "1", "2"]);
    assert!(document.root.remarks[0].contains("1024 bytes") && document.root.problem.is_none());
    assert_eq!(values(&at(&fixture("sizes_4.h5"), "/chunked"))[99], "99");
    let swmr = fixture("swmr.h5");
    assert!(swmr.root.remarks[0].contains("SWMR"), "{:?}", swmr.root.remarks);
    assert_eq!(values(&at(&swmr, "/x")).len(), 10);
}

#[test]
fn data_frames_are_tables_of_their_groups() {
    let document = fixture("anndata.h5ad");
    let Some(Content::Table(table)) = at(&document, "/obs").content.clone() else { panic!("no table") };
    let rows = table.read(&Task::new(), 0..3, &[0, 1, 2]).unwrap();
    let row = |n: usize| rows.columns().iter().map(|c| cell::text(c, n)).collect::<Vec<_>>();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(row(0), [text("c0"), text("T"), text("5")]);
    assert_eq!(row(1), [text("c1"), None, text("6")]);
}

#[test]
fn each_damage_has_its_sentence_and_hides_nothing_else() {
    for (name, sentence) in [
        ("checksum_object.h5", "object header: its checksum is wrong"),
        ("checksum_FRHP.h5", "fractal heap: its checksum is wrong"),
        ("checksum_FHDB.h5", "fractal heap block: its checksum is wrong"),
        ("checksum_BTHD.h5", "B-tree: its checksum is wrong"),
        ("checksum_BTLF.h5", "B-tree node: its checksum is wrong"),
        ("signature_SNOD.h5", "\"SNOD\" has to be"),
        ("signature_TREE.h5", "\"TREE\" has to be"),
        ("signature_HEAP.h5", "\"HEAP\" has to be"),
        ("circle_btree.h5", "at level 1 below level 1"),
        ("cut_in_half.h5", "it may be cut off"),
        ("root_beyond.h5", "the file ends at byte"),
    ] {
        let document = fixture(&format!("malformed/{name}"));
        let found = problems(&document);
        assert!(found.iter().any(|problem| problem.contains(sentence)), "{name}: {found:?}");
        if name.starts_with("signature") || name.starts_with("checksum_B") {
            assert_eq!(names(&at(&document, "/few")).len(), 3, "{name}");
        }
    }
    let superblock = fixture("malformed/checksum_superblock.h5");
    assert!(superblock.root.remarks.iter().any(|remark| remark.contains("checksum")));
}

#[test]
fn a_group_that_holds_itself_twice_over_ends() {
    let document = fixture("malformed/doubling.h5");
    let mut nodes = 0;
    crate::data::open::walk(&Task::new(), &document.root, "", usize::MAX, &mut |_, _, _| {
        nodes += 1;
        Ok(true)
    })
    .unwrap();
    assert!(nodes < 10_000, "{nodes}");
    let deep = "/a/b".repeat(12);
    assert!(document.root.find(&Task::new(), &deep).unwrap().is_some());
}

#[test]
fn variables_called_as_a_dimension_have_its_name() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/netcdf4/same_names.nc");
    let document = crate::open(&Task::new(), &path, &Options::default()).unwrap();
    let listed = names(&document.root);
    assert_eq!(listed, ["x", "y", "t", "u", "q", "inner"]);
    assert_eq!(document.root.child_count(), Some(6));
    // By pages of any size the same.
    for size in 1..7 {
        let page = |start: u64| document.root.child_page(&Task::new(), start..start + size).unwrap();
        let all: Vec<String> =
            (0..6).step_by(size as usize).flat_map(page).map(|child| child.name.clone()).collect();
        assert_eq!(all, listed, "{size}");
    }
    // What netCDF4-python reads of them.
    assert_eq!(values(&at(&document, "/x")), ["1.0", "2.0", "3.0", "4.0"]);
    assert_eq!(attribute(&at(&document, "/x"), "units"), json!("m"));
    assert_eq!(values(&at(&document, "/t")), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(values(&at(&document, "/q")), ["7.0"]);
    assert_eq!(values(&at(&document, "/inner/z")), ["7", "8", "9"]);
    assert_eq!(values(&at(&document, "/inner/x")), ["1", "2"]);
    assert_eq!(names(&at(&document, "/inner")), ["z", "x"]);
    let axes = |path: &str| -> Vec<String> {
        let Some(Content::Array(array)) = &at(&document, path).content else { panic!("{path}") };
        array.facts().axes.iter().map(|axis| axis.name.clone()).collect()
    };
    assert_eq!((axes("/x"), axes("/t")), (vec!["y".to_owned()], vec!["x".to_owned(), "t".to_owned()]));
    assert_eq!(
        (axes("/u"), axes("/y")),
        (vec!["x".to_owned(), "t".to_owned()], vec!["y".to_owned(), "x".to_owned()])
    );
    // As plain HDF5, which knows nothing of NetCDF, the links are what they are.
    let mut options = Options::default();
    options.set("format", "hdf5");
    let plain = crate::open(&Task::new(), &path, &options).unwrap();
    assert!(names(&plain.root).contains(&"_nc4_non_coord_x".to_owned()));
    assert_eq!(values(&at(&plain, "/x")).len(), 3);
}

/// Shapes of up to 10^18 elements of which a few chunks are stored: every index tells which, and a pass reads no
/// other.
#[test]
fn what_was_never_written_costs_no_pass() {
    let task = Task::new();
    for name in ["malformed/vast_old.h5", "malformed/vast_new.h5"] {
        let document = fixture(name);
        for path in ["/plane", "/grows", "/grows_twice"] {
            let node = at(&document, path);
            let Some(Content::Array(array)) = &node.content else { panic!("{path} is no array") };
            let stored = array.stored(&task).unwrap().unwrap();
            assert_eq!((stored.regions.len(), stored.elements()), (2, 20_000), "{name}{path}");
            let s = crate::data::stats::array(array.as_ref(), &task, Some(4)).unwrap();
            assert_eq!(s.count, array.shape().iter().product::<u64>(), "{name}{path}");
            assert_eq!((s.min.as_deref(), s.max.as_deref(), s.zeros), (Some("0.0"), Some("29.0"), 1));
            let histogram = s.histogram.unwrap();
            assert_eq!((histogram.counts.iter().sum::<u64>(), histogram.counts[3]), (s.count, 8));
        }
        let Some(Content::Table(table)) = &at(&document, "/table").content else { panic!("no table") };
        let s = crate::data::stats::table(table.as_ref(), &task, &[0, 1]).unwrap();
        let a = s.columns[0].as_ref().unwrap();
        assert_eq!((s.rows, a.sum, a.max.as_deref()), (1_000_000_000_000_000, Some(8.0), Some("7")));
        let Some(Content::Array(texts)) = &at(&document, "/texts").content else { panic!("no texts") };
        assert_eq!(
            crate::data::stats::array(texts.as_ref(), &task, None).unwrap().count,
            1_000_000_000_000_000
        );
        let Some(Content::Array(never)) = &at(&document, "/never").content else { panic!("no array") };
        let s = crate::data::stats::array(never.as_ref(), &task, None).unwrap();
        assert_eq!((s.count, s.min.as_deref(), s.sum), (1_000_000_000_000_000_000, Some("-3"), Some(-3e18)));
    }
    let document = fixture("malformed/vast_new.h5");
    let Some(Content::Array(array)) = &at(&document, "/virtual").content else { panic!("no array") };
    let s = crate::data::stats::array(array.as_ref(), &task, None).unwrap();
    assert_eq!(
        (s.count, s.min.as_deref(), s.max.as_deref()),
        (1_000_000_000_000_000, Some("-9.0"), Some("19.0"))
    );
}

#[test]
fn nothing_of_a_file_stays_once_its_tree_is_gone() {
    use super::conventions::Flavour;
    use super::file_index::FileIndex;
    use crate::bytes::source::Source;
    let task = Task::new();
    let mut count = 0;
    for folder in ["hdf5", "netcdf4"] {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let source = Source::memory(path.to_string_lossy().into_owned(), bytes);
            let Ok(index) = FileIndex::open(&task, &source, Flavour::NetCdf) else { continue };
            let root = Arc::new(super::tree::root(&task, &index).unwrap());
            crate::data::open::walk(&task, &root, "", usize::MAX, &mut |_, _, _| Ok(true)).unwrap();
            let seen = Arc::downgrade(&index);
            drop((root, index));
            assert!(seen.upgrade().is_none(), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 20, "{count} files");
}
