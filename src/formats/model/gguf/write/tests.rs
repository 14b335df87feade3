use super::*;
use crate::bytes::source::Source;
use crate::convert::{self, Consent, Item, Selection};
use crate::data::content::Content;
use crate::data::content::array::{Plain, read};
use crate::data::format::{Attributes, Data};
use crate::data::node;
use crate::data::region::Region;
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/gguf/");

fn plain(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Arc<dyn Array> {
    Arc::new(Plain::new(Source::memory("t", bytes), 0, dtype, shape.to_vec()).unwrap())
}

fn options(set: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    options
}

fn written(payload: &Payload, set: &[(&str, &str)]) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    write(&Task::new(), payload, &options(set), &mut out).unwrap();
    out.into_inner()
}

fn opened(bytes: Vec<u8>) -> crate::Document {
    let source = Source::memory("a.gguf", bytes);
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
    assert_eq!((document.format.id, &document.root.problem), ("gguf", &None));
    document
}

fn array_of(document: &crate::Document, name: &str) -> Arc<dyn Array> {
    let node = document.root.find(&Task::new(), name).unwrap().unwrap_or_else(|| panic!("{name}"));
    match &node.content {
        Some(Content::Array(array)) => array.clone(),
        _ => panic!("{name}: {:?}", node.problem),
    }
}

fn bytes_of(array: &dyn Array) -> Vec<u8> {
    read(array, &Task::new(), &Region::all(array.shape())).unwrap()
}

fn any_dtype() -> impl Strategy<Value = DType> {
    let written = vec![
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::Bool,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
    ];
    prop::sample::select(written)
}

proptest! {
    #[test]
    fn any_arrays_read_back_equal(
        parts in prop::collection::vec((any_dtype(), prop::collection::vec(0u64..5, 0..5), "[a-z_]{1,90}"), 1..6),
        seed: u8,
    ) {
        let arrays: Vec<(String, Arc<dyn Array>)> = parts.iter().map(|(dtype, shape, name)| {
            let len = dtype.size() * shape.iter().product::<u64>();
            let byte = |n: u64| (n as u8).wrapping_mul(31).wrapping_add(seed) & if *dtype == DType::Bool { 1 } else { 0x7f };
            (name.clone(), plain(dtype.clone(), shape, (0..len).map(byte).collect()))
        }).collect();
        let payload = Payload::plain(Data::Arrays(arrays.clone()));
        let document = opened(written(&payload, &[]));
        let (kept, others) = tensors(&payload, &Options::default()).unwrap();
        prop_assert_eq!(kept.len() + others.len(), arrays.len());
        for (_, tensor) in kept {
            let Type::Plain(dtype) = tensor.how.kind() else { panic!("blocks") };
            let back = array_of(&document, &tensor.name);
            prop_assert_eq!((back.dtype(), back.shape()), (&dtype, tensor.array.shape()));
            let raw = bytes_of(tensor.array.as_ref());
            let mut wanted = vec![0; raw.len() / tensor.array.dtype().size() as usize * dtype.size() as usize];
            tensor.array.dtype().cast(&dtype, &raw, &mut wanted);
            prop_assert_eq!(bytes_of(back.as_ref()), wanted);
        }
    }
}

#[test]
fn quantised_are_tensors_of_whole_rows_of_blocks() {
    let floats = |count: usize| (0..count).flat_map(|n| (n as f32 - 50.0).to_le_bytes()).collect::<Vec<u8>>();
    let halves = plain(DType::BF16, &[64], (0..128).map(|n| n as u8 & 0x3f).collect());
    let arrays = vec![
        ("matrix".to_owned(), plain(DType::F32, &[3, 64], floats(192))),
        ("experts".to_owned(), plain(DType::F32, &[2, 2, 32], floats(128))),
        ("odd".to_owned(), plain(DType::F32, &[3, 33], floats(99))),
        ("norm".to_owned(), halves),
        ("ids".to_owned(), plain(DType::I64, &[1, 32], vec![1; 256])),
    ];
    let payload = Payload::plain(Data::Arrays(arrays));
    for (kind, number) in FILE_TYPES {
        let set = [("quantize", kind.name()), ("arch", "llama")];
        let document = opened(written(&payload, &set));
        let dtype = |name: &str| array_of(&document, name).dtype().clone();
        assert_eq!((dtype("matrix"), dtype("experts")), (DType::Blocks(kind), DType::Blocks(kind)));
        assert_eq!((dtype("odd"), dtype("norm"), dtype("ids")), (DType::F32, DType::F32, DType::I64));
        let get = |name: &str| document.root.attributes.iter().find(|(known, _)| known == name).unwrap();
        assert_eq!(get("general.file_type").1.to_string(), number.to_string());
        assert_eq!(get("general.quantization_version").1.to_string(), "2");
        assert_eq!(get("general.architecture").1.to_string(), "llama");
        // What the blocks stand for is near.
        let bytes = bytes_of(array_of(&document, "matrix").as_ref());
        for (n, value) in bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).enumerate() {
            assert!((value - (n as f32 - 50.0)).abs() < 10.0, "{n}: {value}");
        }
        let said = losses(&payload, &options(&set));
        let serious = said.iter().filter(|loss| loss.serious).count();
        assert_eq!(serious, 2, "{said:?}");
    }
}

/// A file by way of the converter.
fn converted(name: &str, set: &[(&str, &str)]) -> (crate::Document, crate::Document, Vec<Loss>) {
    let task = Task::new();
    let path = format!("{FIXTURES}{name}");
    let from = crate::open(&task, Path::new(&path), &Options::default()).unwrap();
    let items: Vec<Item> = convert::gather(&task, &from.source, &from.root, "").unwrap();
    let target = convert::Target::by_id("gguf").unwrap();
    let plan = convert::plan(&items, target, &options(set), &Selection::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.gguf");
    plan.run(&task, &out, Consent { overwrite: false, lose: true }).unwrap();
    let back = crate::open(&task, &out, &Options::default()).unwrap();
    (from, back, plan.losses)
}

#[test]
fn keys_and_blocks_of_a_file_are_kept_to_the_bit() {
    for name in [
        "little.gguf",
        "blocks.gguf",
        "metadata.gguf",
        "tokenizer.gguf",
        "types.gguf",
        "version_1.gguf",
        "version_2.gguf",
        "big_endian.gguf",
    ] {
        let (from, back, losses) = converted(name, &[]);
        assert!(losses.iter().all(|loss| !loss.serious), "{name}: {losses:?}");
        for (key, value) in &from.root.attributes {
            let there = back.root.attributes.iter().find(|(known, _)| known == key);
            assert_eq!(there.map(|(_, value)| value), Some(value), "{name}: {key}");
        }
        let types = |document: &crate::Document| document.root.attribute_types.clone();
        let mut added = types(&back);
        added.retain(|key, _| types(&from).contains_key(key));
        assert_eq!(types(&from), added, "{name}");
        let task = Task::new();
        let mut compared = 0;
        crate::data::open::walk(&task, &from.root, "", 100, &mut |node, path, _| {
            if let (Some(Content::Array(array)), "tensor") = (&node.content, node.label) {
                let other = array_of(&back, path);
                let stored = |array: &dyn Array| {
                    let (source, span) = array.checksummed().or_else(|| array.storage()).unwrap();
                    source.read(&Task::new(), span).unwrap()
                };
                let is_known = !matches!(array.dtype(), DType::Blocks(Blocks::Q8_1Wide));
                if is_known && name != "big_endian.gguf" {
                    assert_eq!(other.dtype(), array.dtype(), "{name}: {path}");
                    assert_eq!(stored(array.as_ref()), stored(other.as_ref()), "{name}: {path}");
                }
                assert_eq!(bytes_of(array.as_ref()), bytes_of(other.as_ref()), "{name}: {path}");
                compared += 1;
            }
            Ok(true)
        })
        .unwrap();
        assert!(compared > 0 || matches!(name, "metadata.gguf" | "tokenizer.gguf"), "{name}");
    }
}

#[test]
fn blocks_become_others_where_that_is_asked_for() {
    let (_, back, losses) = converted("blocks.gguf", &[("dtype", "float16")]);
    let mut seen = 0;
    crate::data::open::walk(&Task::new(), &back.root, "", 100, &mut |node, _, _| {
        if let Some(Content::Array(array)) = &node.content {
            assert_eq!(array.dtype(), &DType::F16);
            seen += 1;
        }
        Ok(true)
    })
    .unwrap();
    assert!(seen > 5 && losses.iter().any(|loss| loss.serious && loss.kind == LossKind::Precision));
}

#[test]
fn attributes_are_values_of_their_types() {
    let mut attributes: Attributes = vec![
        ("text".to_owned(), node::Value::from("ein Fuß")),
        ("one".to_owned(), json!(1).into()),
        ("large".to_owned(), json!(u64::MAX).into()),
        ("half".to_owned(), json!(0.5).into()),
        ("yes".to_owned(), json!(true).into()),
        ("numbers".to_owned(), json!([1, 2, 3]).into()),
        ("mixed".to_owned(), json!([1, 2.5]).into()),
        ("texts".to_owned(), json!(["a", ""]).into()),
        ("lists".to_owned(), json!([[1, 2], [0.5]]).into()),
        ("empty".to_owned(), json!([]).into()),
        ("object".to_owned(), json!({"a": 1}).into()),
        ("several".to_owned(), json!([1, "a"]).into()),
        ("general.alignment".to_owned(), json!(64).into()),
        ("split.count".to_owned(), json!(2).into()),
    ]
    .into();
    attributes.types.insert("one".to_owned(), DType::U8);
    attributes.types.insert("half".to_owned(), DType::F32);
    attributes.types.insert("numbers".to_owned(), DType::I16);
    let arrays = [1u64, 3].map(|n| (n.to_string(), plain(DType::U8, &[n], vec![7; n as usize])));
    let payload = Payload { attributes, ..Payload::plain(Data::Arrays(arrays.to_vec())) };
    let bytes = written(&payload, &[]);
    assert!(bytes.len().is_multiple_of(64));
    let back = opened(bytes);
    let get = |name: &str| {
        back.root.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    for (name, value) in &payload.attributes.list {
        match name.as_str() {
            "object" | "several" => assert_eq!(get(name), Some(value.to_string().into()), "{name}"),
            "split.count" => assert_eq!(get(name), None),
            "mixed" => assert_eq!(get(name), Some(json!([1.0, 2.5]).into())),
            _ => assert_eq!(get(name).as_ref(), Some(value), "{name}"),
        }
    }
    assert_eq!(get("general.architecture"), Some("unknown".into()));
    let types = &back.root.attribute_types;
    assert_eq!((types.get("one"), types.get("half")), (Some(&DType::U8), Some(&DType::F32)));
    assert_eq!((types.get("numbers"), types.get("large")), (Some(&DType::I16), Some(&DType::U64)));
    let said: Vec<String> =
        losses(&payload, &Options::default()).into_iter().map(|loss| loss.subject).collect();
    for name in ["general.architecture", "object", "several", "split.count"] {
        assert!(said.iter().any(|said| said == name), "{name} of {said:?}");
    }
    assert!(!said.iter().any(|said| said == "lists"));
}

#[test]
fn what_gguf_has_not_is_said_and_long_names_are_cut() {
    let long = format!("{}.weight", "layer".repeat(20));
    let arrays = vec![
        ("five".to_owned(), plain(DType::U8, &[1, 1, 1, 1, 2], vec![1, 2])),
        ("text".to_owned(), plain(DType::Str(1), &[1], vec![65, 0, 0, 0])),
        ("large".to_owned(), plain(DType::U64, &[1], vec![255; 8])),
        (long.clone(), plain(DType::F32, &[1], vec![0; 4])),
    ];
    let payload = Payload::plain(Data::Arrays(arrays.clone()));
    let said = losses(&payload, &Options::default());
    let of = |name: &str| said.iter().find(|loss| loss.path == name).unwrap();
    assert!(of("five").serious && of("five").what.contains("5 dimensions"), "{said:?}");
    assert!(of("text").serious && of(&long).kind == LossKind::Name);
    let mut out = std::io::Cursor::new(Vec::new());
    let error = write(&Task::new(), &payload, &Options::default(), &mut out).unwrap_err();
    assert!(error.message().contains("beyond int64"), "{error}");
    let kept = Payload::plain(Data::Arrays(arrays[3..].to_vec()));
    let back = opened(written(&kept, &[]));
    let name = names::cut(&long, "", NAME);
    assert!(name.len() == NAME && name.ends_with("layer.weight"), "{name}");
    assert_eq!(array_of(&back, &name).shape(), [1]);
    assert!(check(&Payload::plain(Data::Arrays(arrays[..2].to_vec()))).is_err());
    assert!(check(&payload).is_ok());
}
