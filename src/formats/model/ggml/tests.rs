use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::open_source;
use proptest::prelude::*;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/ggml/");

fn opened(name: &str) -> Document {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default()).unwrap()
}

fn values(document: &Document, path: &str) -> Vec<f64> {
    let node = document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"));
    let Some(Content::Array(array)) = &node.content else { panic!("{path}: {:?}", node.problem) };
    let mut values = Vec::new();
    let bytes = read(&**array, &Task::new(), &Region::all(array.shape())).unwrap();
    array.dtype().decode(&bytes, &mut values);
    values
}

fn variant(document: &Document) -> String {
    document.root.reader.iter().find(|(name, _)| name == "variant").unwrap().1.to_string()
}

#[test]
fn every_kind_of_file_has_the_same_weights() {
    for (name, said) in [
        ("llama.ggml", "ggml, LLaMA"),
        ("llama_ggmf.ggml", "GGMF"),
        ("llama_ggjt_1.ggml", "GGJT"),
        ("llama_ggjt_2.ggml", "GGJT"),
        ("llama_ggjt_3.ggml", "GGJT"),
        ("whisper.bin", "ggml, whisper.cpp"),
        ("gpt2.bin", "ggml, GPT-2"),
        ("gptj.bin", "ggml, GPT-J"),
        ("gptneox.bin", "ggml, GPT-NeoX"),
    ] {
        let document = opened(name);
        assert_eq!((variant(&document).as_str(), &document.root.problem), (said, &None), "{name}");
        assert_eq!(values(&document, "norm.weight"), [0.0, 1.0, 2.0, 3.0], "{name}");
        assert_eq!(values(&document, "layers.0.wq.weight"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "{name}");
        let level = |n: usize| (n % 16) as f64;
        let wanted: Vec<f64> = (0..64).map(|n| 0.5 * (level(n) - 8.0)).collect();
        assert_eq!(values(&document, "layers.0.w1.weight"), wanted, "{name}");
        let wanted: Vec<f64> = (0..32).map(|n| 0.5 * level(n) - 1.0).collect();
        assert_eq!(values(&document, "layers.0.w2.weight"), wanted, "{name}");
        let wanted: Vec<f64> = (-16..16).map(|n| 0.25 * f64::from(n)).collect();
        assert_eq!(values(&document, "layers.0.w3.weight"), wanted, "{name}");
        let node = document.root.find(&Task::new(), "vocabulary").unwrap().unwrap();
        let Some(Content::Table(table)) = &node.content else { panic!("{name}") };
        let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
        let batch = table.read(&Task::new(), 0..9, &columns).unwrap();
        assert_eq!(
            (batch.num_rows(), cell::text(batch.column(1).as_ref(), 2)),
            (5, Some("東京".into())),
            "{name}"
        );
        let score = columns.get(2).and_then(|_| cell::text(batch.column(2).as_ref(), 3));
        assert_eq!(score.as_deref(), name.contains("_gg").then_some("-1.5"), "{name}");
    }
}

#[test]
fn types_of_some_weeks_adapters_and_filters_are_read() {
    let document = opened("llama_ggjt_1_q4_2.ggml");
    let wanted: Vec<f64> = (0..16).map(|n| f64::from(if n % 2 == 0 { n / 2 } else { 0 }) - 8.0).collect();
    assert_eq!(values(&document, "q4_2"), wanted);
    let wanted: Vec<f64> = wanted.iter().map(|value| value + 10.0).collect();
    assert_eq!(values(&document, "q4_3"), wanted);
    let document = opened("lora.ggml");
    assert_eq!(values(&document, "layers.0.wq.weight.loraB")[7], 15.0);
    assert!(document.root.attributes.contains(&("alpha".to_owned(), serde_json::json!(8).into())));
    assert_eq!(values(&opened("whisper.bin"), "mel_filters")[14], 14.0);
}

#[test]
fn every_malformed_file_says_so() {
    for entry in std::fs::read_dir(format!("{FIXTURES}malformed")).unwrap().map(|e| e.unwrap()) {
        match crate::open(&Task::new(), &entry.path(), &Options::default()) {
            Ok(document) => assert!(document.root.problem.is_some(), "{:?}", entry.file_name()),
            Err(error) => assert_ne!(error.kind(), ErrorKind::Bug, "{error}"),
        }
    }
    let document = opened("malformed/cut_in_tensor.ggml");
    assert_eq!(values(&document, "norm.weight"), [0.0, 1.0, 2.0, 3.0]);
}

proptest! {
    #[test]
    fn no_header_makes_it_panic(changes in prop::collection::vec((0usize..370, any::<u8>()), 1..5), cut in 0usize..300) {
        for name in ["llama.ggml", "llama_ggjt_3.ggml", "whisper.bin"] {
            let mut bytes = std::fs::read(format!("{FIXTURES}{name}")).unwrap();
            for (at, value) in &changes {
                bytes[*at] = *value;
            }
            bytes.truncate(bytes.len() - cut / 4);
            drop(open_source(&Task::new(), &Source::memory("x.ggml", bytes), &Options::default()));
        }
    }
}
