//! Values as msgpack gives them; damaged files and what is said of them.

use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Content;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::Document;
use crate::engines::msgpack::text;
use crate::engines::msgpack::token::{self, Token};
use crate::engines::records::Window;
use crate::{Result, open};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn opened(name: &str) -> Result<Document> {
    open(&Task::new(), &path(name), &Options::default())
}

fn memory(name: &str, bytes: &[u8]) -> Result<Document> {
    crate::formats::open_source(&Task::new(), &Source::memory(name, bytes.to_vec()), &Options::default())
}

fn child(root: &Arc<Node>, name: &str) -> Arc<Node> {
    root.find(&Task::new(), name).unwrap().unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn every_type_has_its_value() {
    let root = opened("msgpack/every.msgpack").unwrap().root;
    assert_eq!((root.label, root.length), ("map", Some(36)));
    let value = |name: &str| child(&root, &format!("/{name}")).value.clone().unwrap_or_default();
    let facts = [
        ("nil", "nil"),
        ("truths/1", "false"),
        ("small", "7"),
        ("below", "-7"),
        ("u8", "200"),
        ("u16", "60000"),
        ("u32", "4000000000"),
        ("u64", "18000000000000000000"),
        ("i8", "-100"),
        ("i16", "-30000"),
        ("i32", "-2000000000"),
        ("i64", "-9000000000000000000"),
        ("f64", "0.1"),
        ("nan", "nan"),
        ("inf", "-inf"),
        ("str", "smørrebrød"),
        ("bin", "0x00ff"),
        ("list/1/0", "2"),
        ("list16/19", "19"),
        ("map/b/c", "nil"),
        ("map16/key16", "16"),
        ("ext", "0x010203"),
        ("time32", "2023-11-14T22:13:20+00:00"),
        ("time64", "2023-11-14T22:13:20.123456789+00:00"),
        ("time96", "1811-07-23T15:06:40.000000001+00:00"),
        ("7", "an integer as a key"),
        ("-1", "below"),
        ("null", "nil"),
        ("true", "a truth"),
        ("1.5", "a float"),
        ("bytes", "bytes"),
        ("[\"a\",1]", "a list as a key"),
    ];
    for (name, wanted) in facts {
        assert_eq!(value(name), wanted, "{name}");
    }
    assert!(value("str16").starts_with("yyy") && child(&root, "/str16").content.is_some());
    let labels = ["list", "map/a", "ext", "time96"].map(|name| child(&root, &format!("/{name}")).label);
    assert_eq!(labels, ["array", "map", "ext", "timestamp"]);
}

#[test]
fn single_objects_and_streams_are_told_apart() {
    let says = |name: &str| {
        let root = opened(&format!("msgpack/{name}")).unwrap().root;
        (root.label, root.length, root.kind().word())
    };
    assert_eq!(says("one_integer.mpk"), ("integer", None, "group"));
    assert_eq!(says("text.mp"), ("str", None, "text"));
    assert_eq!(says("float32.msgpack"), ("array", Some(2), "group"));
    assert_eq!(says("rows.msgpack"), ("array", Some(12), "table"));
    assert_eq!(says("stream.msgpack"), ("stream", Some(40), "table"));
    assert_eq!(says("stream_of_many.mpk"), ("stream", Some(6), "table"));
    assert_eq!(says("packed.msgpack.zlib"), ("map", Some(2), "group"));
}

#[test]
fn without_a_name_only_maps_of_names_are_told() {
    let format = |bytes: &[u8]| memory("file", bytes).unwrap().format.id;
    let map = |key: &[u8]| [&[0x82][..], key, b"\xa3two", b"\xa2id", b"\x93\x01\xff\xc3"].concat();
    assert_eq!(format(&map(b"\xa3one")), "msgpack");
    // Other keys are as likely as not random.
    for key in [&b"\xca\xff\xff\xff\xff"[..], b"\x4c", b"\xa0", b"\xa3\x01\x02\x03", b"\xa2\xff\xfe"] {
        assert_eq!(format(&map(key)), "bytes", "{key:x?}");
    }
}

#[test]
fn objects_with_keys_in_common_are_rows() {
    let document = opened("msgpack/stream.msgpack").unwrap();
    let Some(Content::Table(table)) = &document.root.content else { panic!("no table") };
    let described: Vec<String> =
        table.described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    let wanted = [
        "i: int64",
        "x: double",
        "name: string",
        "bytes: binary",
        "list: string",
        "on: bool",
        "at: timestamp[ns, tz=+00:00]",
        "large: uint64",
        "rare: int64",
    ];
    assert_eq!(described, wanted);
    let batch = table.read(&Task::new(), 21..22, &[0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let row: Vec<String> =
        batch.columns().iter().map(|column| cell::text(column, 0).unwrap_or_default()).collect();
    let wanted = [
        "21",
        "5.25",
        "name 21",
        "0x15",
        "[21,22]",
        "true",
        "2024-01-02T03:04:21+00:00",
        "9223372036854775829",
        "21",
    ];
    assert_eq!(row, wanted);
}

#[test]
fn what_does_not_fit_is_null_and_named() {
    let root = opened("msgpack/stream_drifts.msgpack").unwrap().root;
    let Some(Content::Table(table)) = &root.content else { panic!("no table") };
    let batch = table.read(&Task::new(), 1_199..1_201, &[0]).unwrap();
    let cells: Vec<Option<String>> = (0..2).map(|row| cell::text(batch.column(0), row)).collect();
    assert_eq!(cells, [Some("1199".to_owned()), None]);
    assert!(root.problem_now().unwrap().message().contains("object 1200: its \"a\""));
    assert!(root.remarks_now().iter().any(|remark| remark.contains("no \"b\"")));
}

/// An array's type, shape and elements as texts.
fn array(root: &Arc<Node>, name: &str) -> (String, Vec<u64>, Vec<String>) {
    let node = child(root, name);
    let Some(Content::Array(array)) = &node.content else { panic!("{name}: {:?}", node.problem) };
    let all = crate::data::region::Region::all(array.shape());
    let bytes = crate::data::content::array::read(array.as_ref(), &Task::new(), &all).unwrap();
    let size = array.dtype().size().max(1) as usize;
    let texts = bytes.chunks_exact(size).map(|element| cell::element(array.dtype(), element)).collect();
    (array.dtype().to_string(), array.shape().to_vec(), texts)
}

#[test]
fn arrays_of_numpy_are_slices_of_the_file() {
    let root = opened("msgpack/numpy.msgpack").unwrap().root;
    let (dtype, shape, elements) = array(&root, "/big");
    assert_eq!((dtype.as_str(), &shape[..], elements.join(" ").as_str()), ("int32", &[5][..], "0 1 2 3 4"));
    let (dtype, shape, elements) = array(&root, "/matrix");
    assert_eq!((dtype.as_str(), &shape[..], elements.len()), ("float32", &[3, 4][..], 12));
    assert_eq!(array(&root, "/fortran").2.join(" "), "0 1 2 3 4 5");
    assert_eq!(array(&root, "/empty").1, [0, 3]);
    assert_eq!(array(&root, "/texts").2, ["ab", "ü"]);
    assert_eq!(array(&root, "/scalar"), ("float16".to_owned(), vec![], vec!["1.5".to_owned()]));
    assert_eq!(child(&root, "/complex").value.as_deref(), Some("(1+2j)"));
    assert_eq!(child(&root, "/records").kind().word(), "table");
}

#[test]
fn checkpoints_of_flax_are_models() {
    let document = opened("flax/checkpoint.msgpack").unwrap();
    assert_eq!(document.format.id, "flax");
    let root = document.root;
    let (dtype, shape, elements) = array(&root, "/half");
    assert_eq!(
        (dtype.as_str(), &shape[..], elements.join(" ").as_str()),
        ("bfloat16", &[2, 3][..], "0.0 1.0 2.0 3.0 4.0 5.0")
    );
    assert_eq!(array(&root, "/params/Dense_1/kernel").1, [3, 4]);
    assert_eq!(child(&root, "/phase").value.as_deref(), Some("1.0-2.0j"));
    assert_eq!(array(&root, "/rate").2, ["0.5"]);
    let (_, shape, elements) = array(&opened("flax/chunked.msgpack").unwrap().root, "/large");
    assert_eq!((shape, elements.len(), elements[39].as_str()), (vec![5, 8], 40, "39.0"));
}

#[test]
fn what_is_hostile_ends_in_a_sentence() {
    let says = |name: &str| {
        let opened = opened(&format!("msgpack/malformed/{name}.msgpack"));
        let problem = opened.map_or_else(Some, |document| document.root.problem_now());
        problem.map_or_else(String::new, |error| error.message())
    };
    assert!(says("array_2_32").contains("4294967295"), "{}", says("array_2_32"));
    assert!(says("map_2_32").contains("can be there"), "{}", says("map_2_32"));
    assert!(says("bin_2_32").contains("2 can be there"), "{}", says("bin_2_32"));
    assert!(says("never_used").contains("0xc1"), "{}", says("never_used"));
    assert!(says("never_used_inside").contains("0xc1"), "{}", says("never_used_inside"));
    assert!(says("deep").contains("nests"), "{}", says("deep"));
    assert!(says("cut").contains("cut off"), "{}", says("cut"));
    assert!(says("cut_stream").contains("cut off"), "{}", says("cut_stream"));
    assert!(says("nothing_known_behind").contains("0xc1"), "{}", says("nothing_known_behind"));
    let cut = opened("msgpack/malformed/cut_stream.msgpack").unwrap().root;
    assert_eq!(cut.child_page(&Task::new(), 0..100).unwrap().len(), 39);
}

#[test]
fn texts_and_other_files_are_not_taken_for_it() {
    let id = |name: &str, bytes: &[u8]| memory(name, bytes).unwrap().format.id;
    assert_eq!(id("input.mp", b"beginfig(1);\ndraw (0,0)--(1,1);\nendfig;\nend\n"), "text");
    assert_eq!(id("a.bin", &[7; 100]), "bytes");
    assert_eq!(id("a", &[0x81, 0xa1, b'k', 0x92, 1, 0xc0]), "msgpack");
    assert_eq!(id("a", b"\x80\x04]\x94(K\x01K\x02e."), "pickle");
}

/// A value and its bytes.
fn values() -> impl Strategy<Value = Vec<u8>> {
    let scalar = prop_oneof![
        Just(vec![0xc0]),
        any::<bool>().prop_map(|value| vec![0xc2 + u8::from(value)]),
        any::<i64>().prop_map(|value| [&[0xd3][..], &value.to_be_bytes()].concat()),
        any::<f64>().prop_map(|value| [&[0xcb][..], &value.to_be_bytes()].concat()),
        "[a-zé]{0,8}".prop_map(|text| [&[0xa0 + text.len() as u8][..], text.as_bytes()].concat()),
        prop::collection::vec(any::<u8>(), 0..20)
            .prop_map(|bytes| [&[0xc4, bytes.len() as u8][..], &bytes].concat()),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..6)
            .prop_map(|items| [&[0x90 + items.len() as u8][..], &items.concat()].concat());
        let map = prop::collection::vec((inner.clone(), inner), 0..6).prop_map(|pairs| {
            let all: Vec<u8> = pairs.iter().flat_map(|(key, value)| [&key[..], value].concat()).collect();
            [&[0x80 + pairs.len() as u8][..], &all].concat()
        });
        prop_oneof![list, map]
    })
}

proptest! {
    #[test]
    fn values_end_where_they_end(value in values(), behind in prop::collection::vec(any::<u8>(), 0..9)) {
        let bytes = [&value[..], &behind].concat();
        prop_assert_eq!(token::end(&bytes, 0), Some(value.len()));
        let (task, source) = (Task::new(), Source::memory("a", bytes.clone()));
        let mut window = Window::new(&task, &source);
        prop_assert_eq!(token::skip_all(&mut window, 0).unwrap(), value.len() as u64);
        prop_assert_ne!(text::json(&bytes), serde_json::Value::String("…".to_owned()));
    }

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        let (task, source) = (Task::new(), Source::memory("a.msgpack", bytes.clone()));
        let mut window = Window::new(&task, &source);
        if let Ok(end) = token::skip_all(&mut window, 0) {
            prop_assert!(end <= bytes.len() as u64);
            prop_assert_eq!(token::end(&bytes, 0), Some(end as usize));
        }
        drop(memory("a.msgpack", &bytes));
    }

    #[test]
    fn heads_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        match token::token(&bytes) {
            Ok((found, head)) => prop_assert!(head <= bytes.len() && (found.values() == 0 || found.body() == 0)),
            Err(wrong) => prop_assert!(wrong == token::Wrong::Short || bytes[0] == 0xc1),
        }
        prop_assert_ne!(token::token(&[0xc0]), Ok((Token::Bool(false), 1)));
    }
}
