//! What is written is read back by our own reader and by libhdf5.

use crate::convert::{self, Consent, Item, Selection, Target};
use crate::data::adapt::ArrayView;
use crate::data::cell;
use crate::data::content::array::{Axis, Plain, read};
use crate::data::content::table::MemoryTable;
use crate::data::content::{Array, ArrayFacts, Content};
use crate::data::dtype::{DType, TimeBase, TimeUnit};
use crate::data::format::{Attributes, Loss, Options};
use crate::data::node::Node;
use crate::data::region::Region;
use crate::engines::variables::Reversed;
use crate::{Document, Result, Source, Task};
use arrow::array::{ArrayRef, BooleanArray, Float32Array, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

fn written(items: &[Item], id: &str, set: &[(&str, &str)], out: &Path) -> Result<(Document, Vec<Loss>)> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    let plan = convert::plan(items, Target::by_id(id).unwrap(), &options, &Selection::default())?;
    plan.run(&Task::new(), out, Consent { overwrite: true, lose: true })?;
    let document = crate::open(&Task::new(), out, &Options::default())?;
    assert_eq!((document.format.id, &document.root.problem.is_none()), (id, &true));
    Ok((document, plan.losses))
}

fn array(dtype: DType, shape: &[u64], axes: &[&str], bytes: Vec<u8>) -> Arc<dyn Array> {
    let axes = axes.iter().map(|name| Axis { name: (*name).to_owned(), ..Axis::default() }).collect();
    let plain = Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap();
    Arc::new(plain.with_facts(ArrayFacts { axes, ..ArrayFacts::default() }))
}

fn item(name: &str, array: Arc<dyn Array>) -> Item {
    Item::new(name, Content::Array(array), Attributes::default())
}

fn at(document: &Document, path: &str) -> Arc<Node> {
    let node = document.root.find(&Task::new(), path).unwrap();
    let node = node.unwrap_or_else(|| panic!("{path} is not there"));
    assert!(node.problem.is_none(), "{path}: {:?}", node.problem);
    node
}

fn back(document: &Document, path: &str) -> Arc<dyn Array> {
    match &at(document, path).content {
        Some(Content::Array(array)) => array.clone(),
        _ => panic!("{path} is no array"),
    }
}

fn bytes(array: &dyn Array) -> Vec<u8> {
    read(array, &Task::new(), &Region::all(array.shape())).unwrap()
}

fn texts(array: &dyn Array) -> Vec<String> {
    let column = array.column(&Task::new(), &Region::all(array.shape())).unwrap();
    (0..column.len()).map(|row| cell::text(column.as_ref(), row).unwrap_or_default()).collect()
}

fn numbers(count: u64, size: u64, seed: u64) -> Vec<u8> {
    let mixed = |n: u64| (((n / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed)) >> 40) as u8;
    (0..count * size).map(mixed).collect()
}

/// A complex number in the words of a column.
fn complex(real: &str, imaginary: &str) -> String {
    format!("{{\"real\":\"{real}\",\"imaginary\":\"{imaginary}\"}}")
}

/// Types that all of the targets keep as they are.
fn dtype() -> impl Strategy<Value = DType> {
    prop_oneof![
        Just(DType::I8),
        Just(DType::U8),
        Just(DType::I16),
        Just(DType::U16),
        Just(DType::I32),
        Just(DType::U32),
        Just(DType::I64),
        Just(DType::U64),
        Just(DType::F32),
        Just(DType::F64),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn arrays_of_any_shape_read_back(
        dtype in dtype(),
        axes in prop::collection::vec((prop_oneof![Just(""), Just("x"), Just("a"), Just("t")], 0u64..7), 0..4),
        seed in any::<u64>(),
        filters in (0usize..3, any::<bool>(), any::<bool>()),
        chunk in prop::option::of(1u64..5),
        libver in prop_oneof![Just("earliest"), Just("v108"), Just("v110"), Just("latest")],
        grows in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let shape: Vec<u64> = axes.iter().map(|(_, len)| *len).collect();
        let names: Vec<&str> = axes.iter().map(|(name, _)| *name).collect();
        let data = numbers(shape.iter().product(), dtype.size(), seed);
        let from = array(dtype.clone(), &shape, &names, data.clone());
        let items = [item("g/a", from.clone())];
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let chunks = chunk.filter(|_| !shape.is_empty()).map_or("auto".to_owned(), |side| vec![side.to_string(); shape.len()].join(","));
        let set = [
            ("compression", ["gzip", "zstd", "none"][filters.0]),
            ("shuffle", yes(filters.1)),
            ("fletcher32", yes(filters.2)),
            ("chunks", chunks.as_str()),
            ("libver", libver),
        ];
        let (document, _) = written(&items, "hdf5", &set, &folder.path().join("a.h5")).unwrap();
        let to = back(&document, "/g/a");
        prop_assert_eq!((to.dtype(), to.shape(), bytes(to.as_ref())), (&dtype, shape.as_slice(), data.clone()));
        let four = [&set[..4], &[("unlimited", if grows { "t,dim_0" } else { "" })][..]].concat();
        let (document, _) = written(&items, "netcdf4", &four, &folder.path().join("a.nc")).unwrap();
        let to = back(&document, "/g/a");
        prop_assert_eq!((to.dtype(), to.shape(), bytes(to.as_ref())), (&dtype, shape.as_slice(), data));
        prop_assert!(to.facts().axes.iter().all(|axis| !axis.name.is_empty()));
        let (document, _) = written(&items, "mat73", &[], &folder.path().join("a.mat")).unwrap();
        let to = back(&document, "/g/a");
        let turned = Reversed::new(from);
        prop_assert_eq!(to.dtype(), &dtype);
        if shape.len() > 1 {
            prop_assert_eq!(to.shape(), turned.shape());
        }
        prop_assert_eq!(bytes(to.as_ref()), bytes(&turned));
    }
}

#[test]
fn zstd_and_checksums_are_filters_that_libhdf5_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let items = [item("a", array(DType::I32, &[300, 70], &[], numbers(21_000, 4, 1)))];
    let set = [("compression", "zstd"), ("level", "19"), ("fletcher32", "yes"), ("chunks", "100,50")];
    written(&items, "hdf5", &set, &path).unwrap();
    let file = hdf5::File::with_options().with_fapl(|p| p.file_locking(false)).open(&path).unwrap();
    let dataset = file.dataset("a").unwrap();
    let ids: Vec<i32> = dataset.filters().iter().map(|filter| filter.id()).collect();
    assert_eq!((ids, dataset.chunk()), (vec![2, 32_015, 3], Some(vec![100, 50])));
    for (name, value) in [("level", "23"), ("level", "x"), ("chunks", "4,4,4"), ("compression", "lzf")] {
        let set = [("compression", "zstd"), (name, value)];
        assert!(written(&items, "hdf5", &set, &path).is_err(), "{name}={value}");
    }
}

/// A table of all that a cell may be.
fn table() -> Item {
    let n: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let s: ArrayRef = Arc::new(StringArray::from(vec!["a", "", "é"]));
    let b: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let f: ArrayRef = Arc::new(Float32Array::from(vec![Some(0.5), None, Some(-1.0)]));
    let batch = RecordBatch::try_from_iter([("n", n), ("s/s", s), ("b", b), ("f f", f)]).unwrap();
    Item::new("t", Content::Table(Arc::new(MemoryTable::new(batch))), Attributes::default())
}

#[test]
fn columns_of_tables_lie_along_rows() {
    let folder = tempfile::tempdir().unwrap();
    for unlimited in ["", "row"] {
        let path = folder.path().join("t.nc");
        let (document, losses) = written(&[table()], "netcdf4", &[("unlimited", unlimited)], &path).unwrap();
        let n = back(&document, "/n");
        assert_eq!(n.facts().axes[0].name, "row");
        assert_eq!(n.facts().scaling.unwrap().fill, [-9_223_372_036_854_775_806.0]);
        assert_eq!(texts(back(&document, "/s_s").as_ref()), ["a", "", "é"]);
        assert_eq!(texts(back(&document, "/f f").as_ref()), ["0.5", "nan", "-1.0"]);
        assert!(losses.iter().any(|loss| loss.subject == "s/s" && loss.what.contains("s_s")), "{losses:?}");
    }
    let path = folder.path().join("t.mat");
    assert!(written(&[table()], "mat73", &[], &path).is_err(), "a null integer");
    let (document, _) = written(&[table()], "mat73", &[("nulls", "fill")], &path).unwrap();
    assert_eq!(texts(back(&document, "/n").as_ref()), ["1", "0", "3"]);
    assert_eq!(
        (back(&document, "/b").dtype(), back(&document, "/b").shape()),
        (&DType::Bool, &[1u64, 3][..])
    );
    let Some(Content::Text(text)) = &at(&document, "/s_s{3}").content else { panic!("no text") };
    assert_eq!(text.read(&Task::new(), 0..1).unwrap(), ["é"]);
    let first = std::fs::read(&path).unwrap();
    assert!(first.starts_with(b"MATLAB 7.3 MAT-file") && &first[124..128] == b"\0\x02IM");
}

#[test]
fn dimensions_without_a_variable_and_variables_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let x = item("x", array(DType::F32, &[2], &["y"], numbers(2, 4, 1)));
    let y = item("y", array(DType::F64, &[2], &[], numbers(2, 8, 2)));
    let z = item("z", array(DType::I16, &[3, 2, 3], &["x", "y", ""], numbers(18, 2, 3)));
    let (document, losses) = written(&[x, y, z], "netcdf4", &[], &folder.path().join("a.nc")).unwrap();
    let axes = |path: &str| {
        back(&document, path).facts().axes.iter().map(|axis| axis.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (axes("/x"), axes("/y"), axes("/z")),
        (vec!["y".into()], vec!["y".into()], vec!["x".into(), "y".into(), "dim_0".into()])
    );
    assert!(back(&document, "/z").facts().axes[1].coordinate.is_some());
    assert!(losses.iter().any(|loss| loss.path == "z" && loss.what.contains("dim_0")), "{losses:?}");
    assert!(
        document
            .root
            .reader
            .iter()
            .any(|(name, by)| name == "written by" && by.to_string().contains("gander")),
        "{:?}",
        document.root.reader
    );
}

#[test]
fn arrays_that_lie_along_other_dimensions_than_their_name_are_no_scales_in_hdf5() {
    let folder = tempfile::tempdir().unwrap();
    // `x` lies along `y` and has its length: the dimension `x` has another array's name, and so has `y` then.
    let x = item("x", array(DType::F32, &[4], &["y"], numbers(4, 4, 1)));
    let y = item("y", array(DType::F64, &[4, 4], &["y", "x"], numbers(16, 8, 2)));
    let time = item("time", array(DType::I16, &[2], &["time"], numbers(2, 2, 3)));
    let mixed = item("mixed", array(DType::I16, &[2, 4], &["time", "x"], numbers(8, 2, 4)));
    let whole = item("whole", array(DType::I16, &[2], &["time"], numbers(2, 2, 5)));
    let out = folder.path().join("a.h5");
    let (document, losses) = written(&[x, y, time, mixed, whole], "hdf5", &[], &out).unwrap();
    assert!(losses.is_empty(), "{losses:?}");
    let axes = |path: &str| {
        back(&document, path).facts().axes.iter().map(|axis| axis.name.clone()).collect::<Vec<_>>()
    };
    for (path, names) in
        [("/x", &["y"][..]), ("/y", &["y", "x"]), ("/mixed", &["time", "x"]), ("/whole", &["time"])]
    {
        assert_eq!(axes(path), names, "{path}");
    }
    // By the name of its label, and by the scale.
    for path in ["/mixed", "/whole"] {
        assert!(back(&document, path).facts().axes[0].coordinate.is_some(), "{path}");
    }
    let bytes = std::fs::read(&out).unwrap();
    let count = |word: &[u8]| bytes.windows(word.len()).filter(|part| *part == word).count();
    assert_eq!((count(b"DIMENSION_SCALE"), count(b"DIMENSION_LABELS"), count(b"DIMENSION_LIST")), (1, 3, 1));
}

#[test]
fn what_netcdf_has_not_becomes_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let half = item(
        "half",
        array(DType::F16, &[2], &[], [0x3c00u16, 0xc000].iter().flat_map(|n| n.to_le_bytes()).collect()),
    );
    let flag = item("flag", array(DType::Bool, &[2], &[], vec![1, 0]));
    let days = DType::DateTime(TimeUnit { count: 1, base: TimeBase::Week });
    let when = item("when", array(days, &[1], &[], 2i64.to_le_bytes().to_vec()));
    let z =
        item("z", array(DType::C128, &[1], &[], [1f64, 2.0].iter().flat_map(|n| n.to_le_bytes()).collect()));
    let (document, losses) =
        written(&[half, flag, when, z], "netcdf4", &[], &folder.path().join("a.nc")).unwrap();
    assert_eq!(texts(back(&document, "/half").as_ref()), ["1.0", "-2.0"]);
    assert_eq!(
        (back(&document, "/flag").dtype(), texts(back(&document, "/when").as_ref())),
        (&DType::I8, vec!["14".to_owned()])
    );
    let z = back(&document, "/z");
    assert_eq!((z.shape(), texts(z.as_ref())), (&[1u64, 2][..], vec!["1.0".to_owned(), "2.0".to_owned()]));
    for name in ["half", "flag", "when", "z"] {
        assert!(losses.iter().any(|loss| loss.path == name && !loss.serious), "{name}: {losses:?}");
    }
}

#[test]
fn matlab_has_complex_numbers_structs_and_rows() {
    let folder = tempfile::tempdir().unwrap();
    let z = item(
        "s/z",
        array(DType::C64, &[2], &[], [1f32, 2.0, 3.0, -4.0].iter().flat_map(|n| n.to_le_bytes()).collect()),
    );
    let none = item("s/none", array(DType::U8, &[0, 3], &[], Vec::new()));
    let words = item(
        "for",
        array(
            DType::Str(2),
            &[2, 2],
            &[],
            "a\0b\0cdd\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
        ),
    );
    let items = [z, none, words];
    let (document, losses) = written(&items, "mat73", &[], &folder.path().join("a.mat")).unwrap();
    let z = back(&document, "/s/z");
    assert_eq!(
        (z.dtype(), z.shape(), texts(z.as_ref())),
        (&DType::C64, &[2u64, 1][..], vec![complex("1.0", "2.0"), complex("3.0", "-4.0")])
    );
    assert_eq!(back(&document, "/s/none").shape(), [3, 0]);
    assert_eq!(at(&document, "/s").label, "struct");
    let word = |path: &str| {
        let Some(Content::Text(text)) = &at(&document, path).content else { panic!("no text") };
        text.read(&Task::new(), 0..1).unwrap().join("")
    };
    assert_eq!(["/xfor{1,1}", "/xfor{1,2}", "/xfor{2,1}", "/xfor{2,2}"].map(word), ["a", "b", "cd", "d"]);
    assert!(losses.iter().any(|loss| loss.path == "for" && loss.what.contains("xfor")));
    let column = [("oned_as", "column")];
    let (document, _) = written(&items[..1], "mat73", &column, &folder.path().join("b.mat")).unwrap();
    assert_eq!(back(&document, "/s/z").shape(), [1, 2]);
    let view: Arc<dyn Array> = Arc::new(ArrayView::parse(back(&document, "/s/z"), "0, 1").unwrap());
    assert_eq!(texts(view.as_ref()), [complex("3.0", "-4.0")]);
}
