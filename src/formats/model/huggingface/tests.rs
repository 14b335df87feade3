use super::*;
use crate::data::cell;
use crate::data::content::{Array, array};
use crate::data::region::{Region, Span};
use proptest::prelude::*;

fn open_path(path: &Path) -> (&'static str, Arc<Node>) {
    let document = crate::formats::open(&Task::new(), path, &Options::default()).unwrap();
    (document.format.id, document.root)
}

fn root(name: &str) -> Arc<Node> {
    let path = format!("{}/fixtures/huggingface/{name}", env!("CARGO_MANIFEST_DIR"));
    let (id, root) = open_path(path.as_ref());
    assert_eq!(id, "huggingface", "{name}");
    root
}

fn at(root: &Arc<Node>, path: &str) -> Arc<Node> {
    root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"))
}

fn array_of(node: &Node) -> Arc<dyn Array> {
    match &node.content {
        Some(Content::Array(array)) => array.clone(),
        _ => panic!("{} is no array: {:?}", node.name, node.problem),
    }
}

fn numbers(array: &dyn Array, region: &Region) -> Vec<f64> {
    let bytes = array::read(array, &Task::new(), region).unwrap();
    let mut values = Vec::new();
    array.dtype().decode(&bytes, &mut values);
    values
}

fn rows(node: &Node) -> Vec<Vec<String>> {
    let Some(Content::Table(table)) = &node.content else {
        panic!("{} is no table: {:?}", node.name, node.problem)
    };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let count = table.count(&Task::new()).unwrap();
    let batch = table.read(&Task::new(), 0..count, &columns).unwrap();
    let row = |row: usize| batch.columns().iter().map(|c| cell::text(c, row).unwrap_or_default()).collect();
    (0..batch.num_rows()).map(row).collect()
}

fn names(node: &Arc<Node>) -> Vec<String> {
    node.child_page(&Task::new(), 0..100).unwrap().iter().map(|node| node.name.clone()).collect()
}

#[test]
fn a_sharded_model_is_one_model() {
    let root = root("llama");
    let parts = [
        "tokenizer",
        "chat_template",
        "lm_head",
        "model",
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    assert_eq!(names(&root), parts);
    assert_eq!(array_of(&at(&root, "model.layers.1.mlp.up_proj.weight")).shape(), [12, 8]);
    assert_eq!(array_of(&at(&root, "lm_head.weight")).dtype().to_string(), "bfloat16");
    let said = |name: &str| {
        root.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_string())
    };
    assert_eq!(said("model_type").as_deref(), Some("llama"));
    assert_eq!(said("architectures").as_deref(), Some(r#"["LlamaForCausalLM"]"#));
    let Some(Content::Text(template)) = &at(&root, "chat_template").content else { panic!() };
    assert!(template.read(&Task::new(), 0..1).unwrap()[0].starts_with("{% for message in messages %}<|"));
    assert!(root.problem.is_none() && root.remarks.is_empty());
    assert!(at(&root, "config.json").problem.is_none());
}

#[test]
fn vocabularies() {
    let llama = at(&root("llama"), "tokenizer");
    let said =
        |node: &Node, name: &str| node.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.to_string());
    assert_eq!(said(&llama, "type").as_deref(), Some("BPE"));
    assert_eq!(said(&llama, "normalizer").as_deref(), Some("NFC, Lowercase"));
    assert_eq!(said(&llama, "bos_token").as_deref(), Some("<s>"));
    let vocabulary = rows(&at(&llama, "/vocabulary"));
    assert_eq!(
        vocabulary.iter().map(|row| row[0].parse::<usize>().unwrap()).collect::<Vec<_>>(),
        (0..vocabulary.len()).collect::<Vec<_>>()
    );
    assert_eq!(vocabulary[1], ["1", "<s>", "added", "true"]);
    let last = vocabulary.len() - 1;
    assert_eq!(vocabulary[last][1..], ["goose", "added", "false"]);
    assert_eq!(vocabulary[last - 1][1..], ["<|user|>", "added", "true"]);
    assert_eq!(rows(&at(&llama, "/merges"))[0].len(), 3);
    assert_eq!(rows(&at(&llama, "/added_tokens")).len(), 5);

    let bert = rows(&at(&root("bert"), "tokenizer/vocabulary"));
    assert_eq!((bert.len(), &bert[9]), (12, &vec!["9".to_owned(), "naïve".to_owned()]));

    let clip = root("pipeline");
    assert_eq!(
        rows(&at(&clip, "/tokenizer/tokenizer/vocabulary")),
        [["0", "b"], ["1", "naïve"], ["2", "a</w>"], ["3", "ab</w>"]]
    );
    assert_eq!(rows(&at(&clip, "/tokenizer/tokenizer/merges")), [["0", "b", "a</w>"], ["1", "#", "b"]]);

    let pieces = at(&root("t5_tokenizer"), "/tokenizer");
    assert_eq!(said(&pieces, "type").as_deref(), Some("Unigram"));
    let pieces = rows(&at(&pieces, "/vocabulary"));
    assert_eq!(pieces[0], ["0", "<unk>", "0.0", "unknown", "true"]);
    assert_eq!(pieces[1][1..], ["<s>", "0.0", "control", "true"]);
    assert!(pieces[5][2].starts_with('-') && pieces[5][3] == "normal", "{:?}", pieces[5]);

    let ranks = rows(&at(&root("tiktoken"), "/tokenizer/vocabulary"));
    assert_eq!(ranks[3..], [["3", "0xff"], ["4", "東"], ["5", "ab"]]);
}

#[test]
fn pipelines_and_sentence_transformers() {
    let root_ = root("pipeline");
    assert_eq!(names(&root_), ["unet", "scheduler", "tokenizer", "model_index.json"]);
    assert_eq!(root_.remarks, ["its component vae (diffusers.AutoencoderKL) is not in the folder"]);
    assert_eq!(array_of(&at(&root_, "/unet/down_blocks.0.conv_in.weight")).shape(), [3, 4, 3, 3]);
    assert_eq!(
        at(&root_, "/unet").attributes[0],
        ("class".to_owned(), "diffusers.UNet2DConditionModel".into())
    );
    let sentences = root("sentence_transformer");
    assert_eq!(array_of(&at(&sentences, "pooler.dense.weight")).shape(), [8, 8]);
    assert_eq!(array_of(&at(&sentences, "2_Dense/linear.weight")).shape(), [4, 8]);
}

/// The merged weights of an adapter are those that PEFT merges: within a rounding of the base's type.
fn compared(name: &str) {
    let root = root(name);
    assert!(
        root.problem.is_none() && root.remarks.is_empty(),
        "{name}: {:?} {:?}",
        root.problem,
        root.remarks
    );
    let peft = at(&root, "merged_by_peft.safetensors");
    let mut compared = 0;
    let mut visit = |node: &Arc<Node>, path: &str, _: usize| {
        let Some(Content::Array(wanted)) = &node.content else { return Ok(true) };
        let path = path.trim_start_matches('/');
        let merged = array_of(&at(&root, &format!("merged/{path}")));
        assert_eq!((merged.shape(), merged.dtype()), (wanted.shape(), wanted.dtype()), "{name}: {path}");
        let all = Region::all(wanted.shape());
        let precision = match wanted.dtype().to_string().as_str() {
            "bfloat16" => 1.0 / 128.0,
            "float16" => 1.0 / 1024.0,
            _ => 1e-6,
        };
        for (merged, wanted) in numbers(merged.as_ref(), &all).iter().zip(numbers(wanted.as_ref(), &all)) {
            // PEFT rounds the product to the base's type before the sum: once more.
            let error = (merged - wanted).abs();
            assert!(error <= precision * (wanted.abs() + 0.05), "{name}: {path}: {merged} {wanted}");
        }
        compared += 1;
        Ok(true)
    };
    crate::data::open::walk_all(&Task::new(), &peft, "", 20, &mut visit).unwrap();
    assert!(compared > 0);
    let table = rows(&at(&root, "lora"));
    assert!(!table.is_empty());
}

#[test]
fn merged_weights_are_those_of_peft() {
    for name in [
        "llama_lora",
        "llama_dora",
        "gpt2_lora",
        "gpt2_dora",
        "convolutions_lora",
        "convolutions_dora",
        "cached/adapter",
    ] {
        compared(name);
    }
}

#[test]
fn modules_of_an_adapter() {
    let table = rows(&at(&root("llama_lora"), "lora"));
    assert_eq!(table.len(), 6);
    assert_eq!(
        table[0],
        [
            "model.layers.0.mlp.down_proj",
            "linear",
            "2",
            "3.0",
            "1.5",
            "false",
            "2×12",
            "8×2",
            "float32",
            "40"
        ]
    );
    assert_eq!(table[1][..5], ["model.layers.0.self_attn.k_proj", "linear", "1", "8.0", "8.0"]);
    let dora = rows(&at(&root("llama_dora"), "lora"));
    assert_eq!(dora[0][2..6], ["4", "2.0", "1.0", "true"]);
    let embedding = rows(&at(&root("gpt2_lora"), "lora"));
    assert!(embedding.iter().any(|row| row[1] == "embedding" && row[6] == "2×20"), "{embedding:?}");
    let convolutions = rows(&at(&root("convolutions_lora"), "lora"));
    assert!(convolutions.iter().any(|row| row[1] == "convolution"), "{convolutions:?}");
}

#[test]
fn an_adapter_without_its_base() {
    let root = root("alone/inside");
    assert_eq!(
        root.remarks,
        ["its base model example/none was not found near the adapter: nothing is merged"]
    );
    assert!(root.find(&Task::new(), "merged").unwrap().is_none());
    assert_eq!(rows(&at(&root, "lora")).len(), 3);
}

#[test]
fn another_base_that_fits_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/huggingface");
    for (from, to) in [("gpt2", "some_model"), ("gpt2_lora", "adapter")] {
        std::fs::create_dir(folder.path().join(to)).unwrap();
        for entry in std::fs::read_dir(fixtures.join(from)).unwrap().flatten() {
            std::fs::copy(entry.path(), folder.path().join(to).join(entry.file_name())).unwrap();
        }
    }
    let (_, root) = open_path(&folder.path().join("adapter"));
    let merged = at(&root, "merged");
    let wanted = "the adapter names another base: ../some_model lies near and fits, but may be another model";
    assert_eq!(merged.remarks, [wanted]);
    // The folder that has its name is taken, whatever else fits.
    std::fs::rename(folder.path().join("some_model"), folder.path().join("gpt2")).unwrap();
    let (_, root) = open_path(&folder.path().join("adapter"));
    assert!(at(&root, "merged").remarks.is_empty());
}

#[test]
fn a_folder_of_the_hubs_cache_is_its_snapshot() {
    let root = root("cached/models--example--gpt2");
    assert_eq!(array_of(&at(&root, "transformer.wte.weight")).shape(), [20, 6]);
    assert!(
        root.reader
            .iter()
            .any(|(name, value)| name == "snapshot" && value.to_string().starts_with("0123456789"))
    );
}

#[test]
fn broken_parts_leave_the_others() {
    let said = |name: &str| {
        let root = root(&format!("malformed/{name}"));
        (root.problem.as_ref().map(Error::message).unwrap_or_default(), root)
    };
    let (problem, model) = said("config_not_json");
    assert!(problem.contains("config.json"), "{problem}");
    assert!(model.find(&Task::new(), "pooler.dense.weight").unwrap().is_some());
    assert!(said("config_a_list").0.contains("it is no object"));
    assert!(
        said("weights_cut").0.contains("cut off") || said("weights_cut").0.contains("beyond"),
        "{}",
        said("weights_cut").0
    );
    assert!(said("shard_missing").0.contains("missing"));
    assert!(said("pipeline_broken").0.contains("model_index.json"));
    for name in ["tokenizer_broken", "pieces_broken", "ranks_broken"] {
        let tokenizer = at(&said(name).1, "/tokenizer");
        assert!(tokenizer.problem.is_some() && tokenizer.content.is_none(), "{name}");
    }
    let merged = |name: &str| at(&said(name).1, "merged").problem.clone().map(|problem| problem.message());
    let other = merged("adapter_of_other_shape").unwrap();
    assert!(other.contains("no model near the adapter fits it"), "{other}");
    assert!(at(&said("adapter_without_matrices").1, "lora").problem.is_some());
    assert_eq!(rows(&at(&said("adapter_config_odd").1, "lora"))[0][3], "1.0");
}

proptest! {
    /// Any region of a merged weight is that part of all of it.
    #[test]
    fn regions_of_merged_weights(
        which in 0usize..5, starts in prop::collection::vec(0u64..8, 4), counts in prop::collection::vec(0u64..6, 4),
        steps in prop::collection::vec(1u64..4, 4),
    ) {
        let (name, path) = [
            ("llama_lora", "merged/model.layers.1.self_attn.q_proj.weight"),
            ("llama_dora", "merged/model.layers.1.mlp.up_proj.weight"),
            ("gpt2_lora", "merged/transformer.wte.weight"),
            ("gpt2_dora", "merged/transformer.h.0.attn.c_attn.weight"),
            ("convolutions_dora", "merged/image.weight"),
        ][which];
        let array = array_of(&at(&root(name), path));
        let shape = array.shape().to_vec();
        let all = numbers(array.as_ref(), &Region::all(&shape));
        let spans: Vec<Span> = shape.iter().enumerate().map(|(n, side)| {
            let (start, step) = (starts[n].min(*side), steps[n]);
            let most = (side - start).div_ceil(step);
            Span { start, count: counts[n].min(most), step }
        }).collect();
        let region = Region(spans);
        let mut wanted = Vec::new();
        for n in 0..region.elements().unwrap() {
            let place = crate::bytes::strides::unravel(n, &region.shape());
            let index = place.iter().zip(&region.0).zip(&shape).fold(0, |index, ((n, span), side)| index * side + span.index(*n));
            wanted.push(all[index as usize]);
        }
        prop_assert_eq!(numbers(array.as_ref(), &region), wanted);
    }

    #[test]
    fn any_ranks_and_lines_are_tokens_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = sentencepiece::pieces(&Task::new(), &bytes);
    }
}
