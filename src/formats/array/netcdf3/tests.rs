use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::task::Task;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/netcdf3/");

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}.nc")), &Options::default())
}

fn node(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap()
}

fn array(document: &Document, path: &str) -> Arc<dyn Array> {
    let Some(Content::Array(array)) = &node(document, path).content else { panic!("{path}") };
    array.clone()
}

/// The values of a slice, as numbers.
fn numbers(array: &dyn Array, slice: &str) -> Vec<f64> {
    let region = Region::parse(slice, array.shape()).unwrap().0;
    let mut out = Vec::new();
    array.dtype().decode(&read(array, &Task::new(), &region).unwrap(), &mut out);
    out
}

fn texts(array: &dyn Array) -> Vec<String> {
    let bytes = read(array, &Task::new(), &Region::all(array.shape())).unwrap();
    let size = array.dtype().size() as usize;
    bytes.chunks(size).map(|element| crate::data::cell::element(array.dtype(), element)).collect()
}

#[test]
fn records_are_read_from_between_each_other() {
    for name in ["classic", "offset64", "data64", "streamed"] {
        let document = opened(name).unwrap();
        assert!(document.root.problem.is_none(), "{name}");
        assert_eq!(numbers(&*array(&document, "/time"), ":"), [0.0, 0.5, 1.0, 1.5, 2.0], "{name}");
        let snow = array(&document, "/snow");
        assert_eq!(snow.shape(), [5, 3]);
        assert_eq!(numbers(&*snow, "1:4:2, 0:2"), [1.0, 0.5, 3.0, 1.5]);
        assert_eq!(numbers(&*snow, "::2, 0"), [0.0, 2.0, 4.0]);
        assert_eq!(numbers(&*array(&document, "/kind"), ":"), [0.0, 1.0, 2.0, 0.0, 1.0]);
        assert_eq!(numbers(&*array(&document, "/t2m"), "0:2, 1, 1:3")[2], 31000.0);
        assert_eq!(numbers(&*array(&document, "/lon"), "1:3"), [60.0, 120.0]);
        assert_eq!(texts(&*array(&document, "/letter")), ["a", "b", "c", "d", "e"]);
    }
    let single = opened("single_byte_record").unwrap();
    assert_eq!(numbers(&*array(&single, "/v"), "6"), [18.0, 19.0, 20.0]);
}

#[test]
fn conventions_are_followed() {
    let document = opened("classic").unwrap();
    let facts = array(&document, "/t2m").facts();
    assert_eq!(facts.unit.as_deref(), Some("K"));
    let scaling = facts.scaling.unwrap();
    assert_eq!((scaling.scale, scaling.offset), (0.01, 273.15));
    assert!(scaling.apply(31000.0).is_nan() && scaling.apply(-32767.0).is_nan());
    let [time, lat, lon] = facts.axes.as_slice() else { panic!("{:?}", facts.axes) };
    assert_eq!((lat.unit.as_deref(), lon.name.as_str()), (Some("degrees_north"), "lon"));
    let stored = numbers(&**time.coordinate.as_ref().unwrap(), ":");
    let dates: Vec<String> = stored.iter().map(|n| time.times.as_ref().unwrap().text(*n).unwrap()).collect();
    assert_eq!(dates[..3], ["2000-02-28", "2000-02-28T12:00:00", "2000-03-01"]);
    assert!(array(&document, "/time").facts().times.is_some());
    let snow = array(&document, "/snow").facts();
    let names = snow.axes[1].coordinate.clone().unwrap();
    assert_eq!(texts(&*names), ["Nuuk", "Sisimiut", "Ilulissa"]);
    assert_eq!(snow.scaling.unwrap().fill, [f64::from(1e20f32), -9.0]);
    assert_eq!(array(&document, "/kind").facts().value_names[2], (2, "snow".to_owned()));
}

#[test]
fn every_type_and_its_attributes() {
    let document = opened("cdf5_types").unwrap();
    for (name, high) in [("u1", "255"), ("i8", "9223372036854775807"), ("u8", "18446744073709551615")] {
        let array = array(&document, &format!("/{name}"));
        assert_eq!(texts(&*array)[4], high);
        assert!(
            node(&document, &format!("/{name}")).attributes[0].1.to_string().ends_with(&format!("{high}]"))
        );
    }
    assert_eq!(texts(&*array(&document, "/f4"))[..4], ["0.1", "-0.0", "inf", "nan"]);
    assert_eq!(node(&document, "/f4").attributes[0].1.to_string(), r#"[0.1,"nan"]"#);
    let unsigned = array(&opened("unsigned").unwrap(), "/u");
    assert_eq!(numbers(&*unsigned, ":"), [0.0, 127.0, 128.0, 255.0]);
    assert_eq!(unsigned.facts().scaling.unwrap().fill, [255.0]);
    let none = opened("no_records").unwrap();
    assert_eq!(array(&none, "/v").shape(), [0]);
    assert_eq!(numbers(&*array(&none, "/s"), ""), [0.1]);
}

#[test]
fn what_is_there_of_a_cut_file_is_shown() {
    let cut = opened("malformed/cut_in_records").unwrap();
    let t2m = array(&cut, "/t2m");
    assert_eq!(t2m.shape(), [4, 4, 6]);
    assert!(node(&cut, "/t2m").problem.is_some());
    assert_eq!(numbers(&*t2m, "1, 1, 1"), [31000.0]);
    // Its coordinate is cut as well; where they differ in length there is none.
    let time = t2m.facts().axes[0].coordinate.as_ref().map(|c| c.shape().to_vec());
    assert!(time.is_none_or(|shape| shape == [4]));
    let header = opened("malformed/cut_in_variables").unwrap();
    assert!(header.root.problem.is_some());
    assert!(header.root.child_count().unwrap() >= 3);
    let promised = opened("malformed/more_records").unwrap();
    assert_eq!(array(&promised, "/kind").shape(), [5]);
    assert_eq!(array(&promised, "/lat").shape(), [4]);
}

#[test]
fn every_malformed_file_says_so() {
    for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(|e| e.unwrap()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        match crate::open(&Task::new(), &entry.path(), &Options::default()) {
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{error}"),
            Ok(document) => {
                let root = &document.root;
                let said = root.problem.is_some() || !root.remarks.is_empty() || document.broken_promise;
                assert!(said, "{name}");
            }
        }
    }
}
