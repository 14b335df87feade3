use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::content::Content;
use crate::data::content::array::read;
use crate::data::dtype::DType;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::array::testing::{array, node, texts};
use std::io::Read as _;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/fits/");

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default())
}

/// All cells of a column.
fn cells(document: &Document, path: &str, column: &str) -> Vec<Option<String>> {
    let node = node(document, path);
    let Some(Content::Table(table)) = &node.content else { panic!("{path}: {:?}", node.problem) };
    let index = table.schema().index_of(column).unwrap();
    let batch = table.read(&Task::new(), 0..u64::MAX, &[index]).unwrap();
    (0..batch.num_rows()).map(|row| crate::data::cell::text(batch.column(0).as_ref(), row)).collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

#[test]
fn images_of_every_type() {
    let file = opened("images.fits").unwrap();
    assert_eq!(file.root.child_count(), Some(11));
    for (name, dtype) in [
        ("U1", "uint8"),
        ("I2", "int16"),
        ("I4", "int32"),
        ("I8", "int64"),
        ("F4", "float32"),
        ("F8", "float64"),
        ("U2", "uint16"),
        ("U4", "uint32"),
        ("U8", "uint64"),
        ("I1", "int8"),
    ] {
        let array = array(&file, &format!("/{name}"));
        assert_eq!((array.dtype().to_string().as_str(), array.shape()), (dtype, [3, 4, 5].as_slice()));
        let values: Vec<f64> = texts(&*array, "1, 2, 1:3").iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(values, [17.0, 24.0], "{name}");
        assert!(array.facts().scaling.is_none(), "{name}");
    }
}

#[test]
fn headers_say_what_values_and_axes_are() {
    for name in ["single.fits", "packed.fits.gz"] {
        let file = opened(name).unwrap();
        let facts = array(&file, "").facts();
        assert_eq!(facts.unit.as_deref(), Some("Jy/beam"));
        let [velocity, frequency] = facts.axes.as_slice() else { panic!("{:?}", facts.axes) };
        assert_eq!((velocity.name.as_str(), velocity.regular), ("VELO", Some((15.0, -10.0))));
        assert_eq!((frequency.unit.as_deref(), frequency.regular), (Some("Hz"), Some((1.4e9, 1e6))));
        let attribute = |name: &str| {
            let found = file.root.attributes.iter().find(|(key, _)| key == name);
            found.unwrap_or_else(|| panic!("{name}")).1.to_string()
        };
        assert_eq!(attribute("LONGTEXT"), "a text that does not fit into one card, ".repeat(3).trim_end());
        assert_eq!(attribute("ESO DET CHIP1 ID"), "ccd 1");
        assert_eq!(attribute("COMMENT").lines().map(str::trim).next_back(), Some("second"));
        assert!(file.root.remarks.iter().all(|remark| !remark.contains("SUM")), "{:?}", file.root.remarks);
    }
    let scaling = array(&opened("scaled.fits").unwrap(), "").facts().scaling.unwrap();
    assert_eq!((scaling.scale, scaling.offset, scaling.fill), (0.5, 10.0, vec![-1.0]));
    let facts = array(&opened("sky.fits").unwrap(), "").facts();
    let (sky, world) = (facts.axes, facts.world.unwrap());
    assert_eq!((sky[1].name.as_str(), sky[1].regular), ("RA", None));
    let [(ra, right, _), (dec, up, _)] = &world.at(&[0, 0])[..] else { panic!("two coordinates") };
    assert_eq!((ra.as_str(), dec.as_str()), ("RA", "DEC"));
    assert!((right - 10.101573814).abs() < 1e-8 && (up - 10.099984354).abs() < 1e-8, "{right} {up}");
}

#[test]
fn cells_of_every_form() {
    let file = opened("tables.fits").unwrap();
    let column = |name: &str| cells(&file, "/BINARY", name);
    assert_eq!(column("flag"), some(&["true", "false", "true", "false"]));
    assert_eq!(column("signed"), some(&["-128", "-1", "0", "127"]));
    assert_eq!(column("short"), [Some("1".into()), None, Some("3".into()), Some("4".into())]);
    assert_eq!(column("unsigned"), some(&["0", "1", "2147483648", "4294967295"]));
    assert_eq!(column("long")[3], Some(i64::MIN.to_string()));
    assert_eq!(column("float"), some(&["0.1", "nan", "inf", "-0.0"]));
    assert_eq!(column("complex")[0].as_deref(), Some(r#"{"real":"1.0","imaginary":"2.0"}"#));
    assert_eq!(column("scaled"), some(&["10.0", "10.5", "11.0", "5.0"]));
    assert_eq!(column("text"), some(&["one", "two  x", "", "Dreizehn"]));
    assert_eq!(column("texts")[3].as_deref(), Some(r#"["a","bb","ccc"]"#));
    assert_eq!(column("vector")[1].as_deref(), Some(r#"["3.0","4.0","5.0"]"#));
    assert_eq!(column("matrix")[1].as_deref(), Some(r#"[["6","7","8"],["9","10","11"]]"#));
    assert_eq!(column("empty")[1].as_deref(), Some("[]"));
    assert_eq!(column("list"), some(&["[]", r#"["0"]"#, r#"["0","1"]"#, r#"["0","1","2"]"#]));
    assert_eq!(column("wide")[3].as_deref(), Some(r#"["0.0"]"#));
    assert_eq!(column("note"), some(&["x", "", "a longer one", "z"]));
    let bits: Vec<bool> = serde_json::from_str::<Vec<String>>(column("bits")[0].as_deref().unwrap())
        .unwrap()
        .iter()
        .map(|bit| bit == "true")
        .collect();
    assert_eq!(bits.len(), 11);
    let text = |name: &str| cells(&file, "/ASCII", name);
    assert_eq!(text("name"), some(&["alpha", "beta", "gamma"]));
    assert_eq!(text("n"), [Some("1".into()), Some("22".into()), None]);
    assert_eq!(text("x"), some(&["0.125", "-2.5", "3.0"]));
    assert_eq!(text("d")[0].as_deref(), Some("1e100"));
    assert!(node(&file, "/BINARY").remarks.is_empty() && node(&file, "/ASCII").remarks.is_empty());
}

#[test]
fn random_groups_are_records() {
    let groups = array(&opened("groups.fits").unwrap(), "");
    assert_eq!((groups.shape(), groups.dtype().record().unwrap().fields.len()), ([2].as_slice(), 3));
    let bytes = read(&*groups, &Task::new(), &Region::all(groups.shape())).unwrap();
    let mut numbers = Vec::new();
    DType::F32.decode(&bytes, &mut numbers);
    assert_eq!(numbers[8..11], [2.0, 4.0, 6.0]);
}

/// Every compressed image of a file against what Astropy reads of it.
fn compare(name: &str) {
    let file = opened(&format!("{name}.fits")).unwrap();
    let packed = std::fs::read(format!("{FIXTURES}{name}.raw")).unwrap();
    let mut expected = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut expected).unwrap();
    let mut rest = expected.as_slice();
    let task = Task::new();
    for node in file.root.child_page(&task, 1..100).unwrap() {
        let Some(Content::Array(array)) = &node.content else { panic!("{}: {:?}", node.name, node.problem) };
        let got = read(&**array, &task, &Region::all(array.shape()))
            .unwrap_or_else(|e| panic!("{}: {e}", node.name));
        let (want, left) =
            rest.split_at_checked(got.len()).unwrap_or_else(|| panic!("{}: too long", node.name));
        rest = left;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        array.dtype().decode(&got, &mut a);
        array.dtype().decode(want, &mut b);
        let wrong = a.iter().zip(&b).position(|(a, b)| a != b && !(a.is_nan() && b.is_nan()));
        assert!(wrong.is_none(), "{}: {:?}", node.name, wrong.map(|n| (n, a[n], b[n], &a[..8], &b[..8])));
    }
    assert!(rest.is_empty());
}

#[test]
fn compressed_integers_are_those_of_astropy() {
    compare("compressed_integers");
}

#[test]
fn steps_in_flat_rows_are_those_of_astropy() {
    compare("compressed_steps");
}

#[test]
fn quantised_and_dithered_floats_are_those_of_astropy() {
    compare("compressed_floats");
}

#[test]
fn every_malformed_file_says_so() {
    let task = Task::new();
    for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(|e| e.unwrap()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let document = match crate::open(&task, &entry.path(), &Options::default()) {
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{error}");
                continue;
            }
            Ok(document) => document,
        };
        let mut said = false;
        crate::data::open::walk(&task, &document.root, "", 4, &mut |node, _, _| {
            said |= node.problem.is_some() || !node.remarks.is_empty();
            if let Some(Content::Array(array)) = &node.content {
                said |= read(&**array, &task, &Region::all(array.shape())).is_err();
            }
            Ok(true)
        })
        .unwrap();
        assert!(said, "{name}");
    }
}
