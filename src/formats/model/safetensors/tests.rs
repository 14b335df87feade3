use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::task::Task;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::open_source;
use proptest::prelude::*;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/safetensors/");

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default())
}

/// Every tensor's path, with its values or its problem.
fn tensors(document: &Document) -> Vec<(String, std::result::Result<Vec<u8>, String>)> {
    let task = Task::new();
    let mut found = Vec::new();
    crate::data::open::walk(&task, &document.root, "", 100, &mut |node, path, _| {
        if node.label == "tensor" {
            let values = match (&node.content, &node.problem) {
                (Some(Content::Array(array)), None) => {
                    read(&**array, &task, &Region::all(array.shape())).map_err(|e| e.message())
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

fn value(document: &Document, path: &str) -> Vec<u8> {
    let node = document.root.find(&Task::new(), path).unwrap().unwrap();
    let Some(Content::Array(array)) = &node.content else { panic!("{path}") };
    read(&**array, &Task::new(), &Region::all(array.shape())).unwrap()
}

#[test]
fn every_type_is_read() {
    let document = opened("all_dtypes.safetensors").unwrap();
    let found = tensors(&document);
    assert_eq!(found.len(), 22);
    assert!(found.iter().all(|(_, values)| values.is_ok()), "{found:?}");
    assert_eq!(value(&document, "t_f4")[..4], [0, 1, 2, 3]);
    assert_eq!(value(&document, "t_f6_e2m3")[60..66], [60, 61, 62, 63, 0, 1]);
    assert!(document.root.problem.is_none());
}

#[test]
fn names_keep_apart() {
    let document = opened("odd_names.safetensors").unwrap();
    let found = tensors(&document);
    assert_eq!(found.len(), 10, "{found:?}");
    for (n, path) in
        ["a", "a.b", "a..b", "a.", ".a", "with space", "naïve.重み", "a/b", "x#y"].iter().enumerate()
    {
        assert_eq!(value(&document, path), [n as u8], "{path}");
    }
}

#[test]
fn metadata_are_attributes() {
    let document = opened("metadata.safetensors").unwrap();
    assert_eq!(document.root.attributes.len(), 3);
    assert!(document.root.attributes.contains(&("note".to_owned(), "naïve café".into())));
}

#[test]
fn shards_are_one_model_from_any_file() {
    let whole = tensors(&opened("sharded").unwrap());
    assert_eq!(whole.len(), 37);
    assert!(whole.iter().all(|(_, values)| values.is_ok()));
    for file in ["model-00002-of-00003.safetensors", "model.safetensors.index.json"] {
        assert_eq!(tensors(&opened(&format!("sharded/{file}")).unwrap()), whole, "{file}");
    }
    let layers: Vec<&str> = whole.iter().filter_map(|(n, _)| n.strip_suffix(".norm.weight")).collect();
    assert_eq!(layers, ["layers.0", "layers.1", "layers.2", "layers.3", "layers.10"]);
}

#[test]
fn a_missing_shard_is_named() {
    for path in ["sharded_shard_missing", "sharded_shard_missing/model-00003-of-00003.safetensors"] {
        let document = opened(path).unwrap();
        let problem = document.root.problem.as_ref().unwrap().message();
        assert!(problem.contains("model-00002-of-00003.safetensors"), "{problem}");
        let found = tensors(&document);
        assert_eq!(found.len(), 37);
        let lost = found.iter().filter(|(_, values)| values.is_err()).count();
        assert!(lost > 5 && lost < 20, "{lost}");
    }
}

#[test]
fn shards_without_an_index_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    for n in [1, 3] {
        let name = format!("model-0000{n}-of-00003.safetensors");
        std::fs::copy(format!("{FIXTURES}sharded/{name}"), folder.path().join(name)).unwrap();
    }
    let document = crate::open(&Task::new(), folder.path(), &Options::default()).unwrap();
    assert_eq!(document.format.id, "safetensors_sharded");
    let problem = document.root.problem.as_ref().unwrap().message();
    assert!(problem.contains("of its 3 shards these are missing: 2"), "{problem}");
}

#[test]
fn an_index_leads_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let index = br#"{"weight_map": {"a": "../../secret.safetensors", "b": "/etc/passwd"}}"#;
    let path = folder.path().join("m.safetensors.index.json");
    std::fs::write(&path, index).unwrap();
    let document = crate::open(&Task::new(), &path, &Options::default()).unwrap();
    assert!(document.root.problem.is_some());
    assert!(tensors(&document).iter().all(|(_, values)| values.is_err()));
}

#[test]
fn every_malformed_file_says_so() {
    let mut quiet = Vec::new();
    for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(|e| e.unwrap()) {
        match crate::open(&Task::new(), &entry.path(), &Options::default()) {
            Ok(document) if document.root.problem.is_some() => {}
            Ok(_) => quiet.push(entry.file_name()),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{error}"),
        }
    }
    assert!(quiet.is_empty(), "{quiet:?}");
}

#[test]
fn a_broken_entry_leaves_its_neighbours() {
    for name in ["beyond_file", "offsets_reversed", "offsets_negative", "shape_not_the_size", "dtype_unknown"]
    {
        let found = tensors(&opened(&format!("malformed/{name}.safetensors")).unwrap());
        assert_eq!(found.iter().filter(|(_, values)| values.is_err()).count(), 1, "{name}: {found:?}");
        assert_eq!(found.len(), 2, "{name}");
    }
    let found = tensors(&opened("malformed/overlapping.safetensors").unwrap());
    let ok: Vec<&str> = found.iter().filter(|(_, v)| v.is_ok()).map(|(n, _)| n.as_str()).collect();
    assert_eq!(ok, ["c"]);
}

#[test]
fn a_header_that_breaks_off_gives_what_came_before() {
    let good = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dt"#;
    let mut bytes = (good.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(good.as_bytes());
    bytes.extend_from_slice(&[7, 8]);
    let document =
        open_source(&Task::new(), &Source::memory("x.safetensors", bytes), &Options::default()).unwrap();
    assert!(document.root.problem.is_some());
    assert_eq!(tensors(&document), [("a".to_owned(), Ok(vec![7, 8]))]);
}

proptest! {
    #[test]
    fn no_header_makes_it_panic(changes in prop::collection::vec((0usize..1500, any::<u8>()), 1..6), cut in 0usize..2000) {
        let mut bytes = std::fs::read(format!("{FIXTURES}all_dtypes.safetensors")).unwrap();
        for (at, value) in changes {
            bytes[at] = value;
        }
        bytes.truncate(bytes.len() - cut / 2);
        if let Ok(document) = open_source(&Task::new(), &Source::memory("x.safetensors", bytes), &Options::default()) {
            tensors(&document);
        }
    }
}
