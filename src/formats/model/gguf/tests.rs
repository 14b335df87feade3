use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::cell;
use crate::data::content::array::read;
use crate::data::dtype::{Blocks, DType};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::open_source;
use proptest::prelude::*;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/gguf/");

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default()).unwrap()
}

/// Every tensor's path, with its values or its problem.
fn tensors(document: &Document) -> Vec<(String, std::result::Result<Vec<f64>, String>)> {
    let task = Task::new();
    let mut found = Vec::new();
    crate::data::open::walk(&task, &document.root, "", 100, &mut |node, path, _| {
        if node.label == "tensor" {
            let values = match (&node.content, &node.problem) {
                (Some(Content::Array(array)), None) => {
                    let mut values = Vec::new();
                    read(&**array, &task, &Region::all(array.shape()))
                        .map(|bytes| array.dtype().decode(&bytes, &mut values))
                        .map(|()| values)
                        .map_err(|e| e.message())
                }
                (_, Some(problem)) => Err(problem.message()),
                _ => Err("no array".to_owned()),
            };
            found.push((path.to_owned(), values));
        }
        Ok(true)
    })
    .unwrap();
    found
}

fn content(document: &Document, path: &str) -> Content {
    let node = document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"));
    node.content.clone().unwrap_or_else(|| panic!("{path}: {:?}", node.problem))
}

/// The cells of some rows of a table.
fn cells(document: &Document, path: &str, rows: std::ops::Range<u64>) -> Vec<Vec<String>> {
    let Content::Table(table) = content(document, path) else { panic!("{path}") };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &columns).unwrap();
    let cell = |row, column| cell::text(batch.column(column).as_ref(), row).unwrap_or("null".to_owned());
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| cell(row, *column)).collect()).collect()
}

#[test]
fn metadata_are_attributes_of_their_types() {
    let document = opened("metadata.gguf");
    let root = &document.root;
    let get = |name: &str| root.attributes.iter().find(|(n, _)| n == name).unwrap().1.to_string();
    assert_eq!(get("general.architecture"), "llama");
    assert_eq!((get("of.u64"), get("of.i64")), (u64::MAX.to_string(), i64::MIN.to_string()));
    assert_eq!(
        (get("of.u8"), get("of.i8"), get("of.u16"), get("of.i32")),
        ("255".into(), "-128".into(), "65535".into(), i32::MIN.to_string())
    );
    assert_eq!((get("of.f32"), get("of.f64"), get("of.nan")), ("0.1".into(), "0.1".into(), "nan".into()));
    assert_eq!((get("of.true"), get("of.text")), ("true".into(), "ein Fuß, 東京\nline".into()));
    assert_eq!((get("of.ints"), get("of.lists")), ("[1,-2,3]".into(), "[[1,2],[3]]".into()));
    assert_eq!((get("of.bools"), get("of.texts")), ("[true,false]".into(), "[\"a\",\"\",\"ü\"]".into()));
    assert_eq!(root.attribute_types.get("of.f32"), Some(&DType::F32));
    assert_eq!(
        (get("of.many"), get("of.many_texts")),
        ("list of 1000 int32".into(), "list of 300 texts".into())
    );
    assert!(root.reader.contains(&("mostly".to_owned(), "Q4_K_M".into())));
    let Content::Array(many) = content(&document, "metadata/of.many") else { panic!() };
    let bytes = read(&*many, &Task::new(), &Region::all(many.shape())).unwrap();
    assert_eq!((many.shape(), &bytes[3996..]), (&[1000][..], &999i32.to_le_bytes()[..]));
    assert_eq!(
        cells(&document, "metadata/of.many_texts", 298..400),
        [["298", "label 298"], ["299", "label 299"]]
    );
}

#[test]
fn the_tokenizer_is_a_table() {
    let document = opened("tokenizer.gguf");
    let rows = cells(&document, "tokenizer/tokens", 0..6);
    assert_eq!(rows[0], ["0", "<unk>", "-0.0", "unknown"]);
    assert_eq!(rows[3], ["3", "<0x0A>", "-0.75", "byte"]);
    assert_eq!(rows[5], ["5", "▁naïve", "-1.25", "normal"]);
    assert_eq!(cells(&document, "tokenizer/tokens", 599..700), [["599", "tok589", "-149.75", "normal"]]);
    assert_eq!(cells(&document, "tokenizer/tokens", 255..258)[1], ["256", "tok246", "-64.0", "normal"]);
    assert_eq!(cells(&document, "tokenizer/merges", 69..70), [["69", "a b69"]]);
}

#[test]
fn every_type_is_read() {
    let document = opened("types.gguf");
    let found = tensors(&document);
    assert_eq!(found.len(), 9);
    assert!(found.iter().all(|(_, values)| values.is_ok()), "{found:?}");
    let Content::Array(array) = content(&document, "f16") else { panic!() };
    assert_eq!((array.dtype(), array.shape()), (&DType::F16, &[2, 3, 4][..]));
    let document = opened("blocks.gguf");
    let found = tensors(&document);
    assert!(found.len() > 20 && found.iter().all(|(_, values)| values.is_ok()), "{found:?}");
    let Content::Array(array) = content(&document, "blk.10.q4_k") else { panic!() };
    assert_eq!((array.dtype(), array.shape()), (&DType::Blocks(Blocks::Q4_K), &[2, 512][..]));
    // gguf-py has its scale and sum as float32.
    let Content::Array(array) = content(&document, "blk.7.q8_1") else { panic!() };
    assert_eq!(array.dtype(), &DType::Blocks(Blocks::Q8_1Wide));
}

#[test]
fn both_byte_orders_are_the_same_model() {
    let (little, big) = (opened("little.gguf"), opened("big_endian.gguf"));
    assert_eq!(tensors(&little), tensors(&big));
    assert_eq!(tensors(&little).len(), 4);
    assert_eq!(cells(&little, "tokenizer/tokens", 0..9), cells(&big, "tokenizer/tokens", 0..9));
    assert_eq!(little.root.attributes, big.root.attributes);
    let output = tensors(&little)[2].1.clone().unwrap();
    assert!((output[0] + 2.0).abs() < 0.01 && (output[63] - 2.0).abs() < 0.01, "{output:?}");
}

#[test]
fn older_versions_are_read() {
    let document = opened("version_1.gguf");
    let found = tensors(&document);
    assert_eq!(found[0].1, Ok(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!(found[1].1, Ok(vec![0.0, 1.0, 2.0, 3.0]));
    assert!(document.root.attributes.contains(&("list".to_owned(), serde_json::json!([7, 8, 9]).into())));
    assert_eq!(tensors(&opened("version_2.gguf"))[0].1, Ok(vec![0.0, 1.0, 2.0, 3.0]));
}

#[test]
fn files_of_a_split_model_are_one_from_any_of_them() {
    let whole = tensors(&opened("split/model-00001-of-00003.gguf"));
    assert_eq!(whole.len(), 6);
    for (n, (name, values)) in whole.iter().enumerate() {
        assert_eq!((name.as_str(), values), (format!("blk.{n}.weight").as_str(), &Ok(vec![n as f64; 6])));
    }
    let last = opened("split/model-00003-of-00003.gguf");
    assert_eq!(tensors(&last), whole);
    assert!(last.root.attributes.contains(&("general.name".to_owned(), "in three files".into())));
    let folder = opened("split");
    assert_eq!((folder.format.id, tensors(&folder)), ("gguf_split", whole));
    assert!(opened("split_part_missing").root.problem.is_some());
    let document = opened("split_part_missing/model-00003-of-00003.gguf");
    let problem = document.root.problem.as_ref().unwrap().message();
    assert!(problem.contains("these are missing: model-00002-of-00003.gguf"), "{problem}");
    assert_eq!(tensors(&document).len(), 4);
}

/// The problem of a malformed file: of its root, or why it does not open.
fn said(name: &str) -> String {
    let path = format!("{FIXTURES}malformed/{name}.gguf");
    match crate::open(&Task::new(), Path::new(&path), &Options::default()) {
        Ok(document) => document.root.problem.as_ref().unwrap_or_else(|| panic!("{name}")).message(),
        Err(error) => error.message(),
    }
}

#[test]
fn every_malformed_file_says_so() {
    for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(|e| e.unwrap()) {
        match crate::open(&Task::new(), &entry.path(), &Options::default()) {
            // Of three bytes nobody knows what they were.
            Ok(document) if document.format.id == "text" => {}
            Ok(document) => assert!(document.root.problem.is_some(), "{:?}", entry.file_name()),
            Err(error) => assert_ne!(error.kind(), ErrorKind::Bug, "{error}"),
        }
    }
    assert!(said("keys_2pow63").contains("9223372036854775808 keys"));
    assert!(said("lists_deep").contains("more than 128 deep"));
    assert!(said("version_99").contains("version 99"));
    assert!(said("type_removed").contains("Q4_2"));
    assert!(said("alignment_3").contains("general.alignment"));
}

#[test]
fn a_broken_tensor_leaves_its_neighbours() {
    for (name, broken) in [
        ("sides_overflow", 1),
        ("type_unknown", 1),
        ("blocks_uneven", 1),
        ("beyond_file", 1),
        ("overlapping", 2),
        ("key_twice", 0),
    ] {
        let found = tensors(&opened(&format!("malformed/{name}.gguf")));
        assert_eq!(found.iter().filter(|(_, values)| values.is_err()).count(), broken, "{name}: {found:?}");
        assert_eq!(found.iter().filter(|(_, values)| values.is_ok()).count(), 1, "{name}: {found:?}");
    }
    // One tensor ends beyond the file, the one behind it lies there.
    let found = tensors(&opened("malformed/cut_in_blocks.gguf"));
    assert_eq!(found.iter().filter(|(_, values)| values.is_err()).count(), 2);
    let document = opened("malformed/value_type_unknown.gguf");
    assert!(document.root.attributes.iter().any(|(name, _)| name == "k"));
}

proptest! {
    #[test]
    fn no_header_makes_it_panic(changes in prop::collection::vec((0usize..900, any::<u8>()), 1..6), cut in 0usize..1500) {
        for name in ["metadata.gguf", "big_endian.gguf"] {
            let mut bytes = std::fs::read(format!("{FIXTURES}{name}")).unwrap();
            for (at, value) in &changes {
                bytes[*at % 700] = *value;
            }
            bytes.truncate(bytes.len() - cut / 2 % bytes.len());
            if let Ok(document) = open_source(&Task::new(), &Source::memory("x.gguf", bytes), &Options::default()) {
                tensors(&document);
            }
        }
    }
}
