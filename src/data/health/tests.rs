use super::*;
use crate::bytes::source::Source;
use crate::data::content::Content;
use crate::data::content::array::Plain;
use crate::data::node::Node;

/// Numbers like weights: normal, with this standard deviation.
fn weights(count: usize, std: f32, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    // Irwin and Hall: twelve uniform ones less six.
    (0..count).map(|_| ((0..12).map(|_| uniform()).sum::<f32>() - 6.0) * std).collect()
}

/// A tensor of this type.
fn leaf(name: &str, dtype: DType, shape: &[u64], values: &[f32]) -> Node {
    let bytes: Vec<u8> = match dtype {
        DType::F16 => values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect(),
        DType::BF16 => values.iter().flat_map(|&v| half::bf16::from_f32(v).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|&v| v.to_le_bytes()).collect(),
    };
    let plain = Plain::new(Source::memory(name, bytes), 0, dtype, shape.to_vec()).unwrap();
    Node::new(name, "tensor").content(Content::Array(Arc::new(plain)))
}

/// A model of eight layers without anything wrong.
fn clean(dtype: &DType) -> Vec<(String, Vec<u64>, Vec<f32>, DType)> {
    let layer = |n: u64| {
        let name = |part: &str| format!("layers.{n}.{part}.weight");
        [
            (name("attn"), vec![64, 48], weights(64 * 48, 0.02, 3 * n + 1), dtype.clone()),
            (name("mlp"), vec![96, 64], weights(96 * 64, 0.02, 3 * n + 2), dtype.clone()),
        ]
    };
    (0..8).flat_map(layer).collect()
}

fn health(tensors: &[(String, Vec<u64>, Vec<f32>, DType)]) -> Health {
    let leaves = tensors.iter().map(|(name, shape, values, dtype)| leaf(name, dtype.clone(), shape, values));
    let root = Arc::new(Node::new("model", "file").separator("").listed(leaves.collect()));
    of_node(&Task::new(), &root, "").unwrap()
}

/// What is found after a change to one tensor, without what is a note of all models like it.
fn found(dtype: &DType, which: usize, change: impl FnOnce(&mut Vec<f32>)) -> Vec<Finding> {
    let mut tensors = clean(dtype);
    change(&mut tensors[which].2);
    health(&tensors).findings
}

#[track_caller]
fn only(findings: &[Finding], check: Check, path: &str, count: u64, first: Option<Vec<u64>>) {
    let [finding] = findings else { panic!("{findings:#?}") };
    assert_eq!(
        (finding.check, finding.path.as_str(), finding.count),
        (check, path, count),
        "{}",
        finding.message
    );
    assert_eq!(finding.first, first, "{}", finding.message);
}

#[test]
fn a_clean_model_has_no_findings() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        assert_eq!(health(&clean(&dtype)).findings, Vec::new(), "{dtype}");
    }
}

#[test]
fn what_is_planted_is_found_at_its_index() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (which, at) in [(0, 0), (5, 777), (15, 64 * 96 - 1)] {
            let (path, shape, ..) = clean(&dtype).swap_remove(which);
            let place = Some(vec![at as u64 / shape[1], at as u64 % shape[1]]);
            let nan = found(&dtype, which, |values| values[at] = f32::NAN);
            only(&nan, Check::Nan, &path, 1, place.clone());
            let inf = found(&dtype, which, |values| values[at] = f32::NEG_INFINITY);
            only(&inf, Check::Inf, &path, 1, place.clone());
            let far = found(&dtype, which, |values| values[at] = -3.0);
            only(&far, Check::Outliers, &path, 1, place.clone());
            let most = float_range(&dtype).0.unwrap() as f32;
            let saturated = found(&dtype, which, |values| values[at] = most);
            assert!(
                saturated.iter().any(|f| f.check == Check::Saturated && f.first == place),
                "{saturated:#?}"
            );
        }
    }
}

#[test]
fn rows_columns_and_whole_tensors() {
    let row = found(&DType::F32, 2, |values| values[5 * 48..7 * 48].fill(0.0));
    only(&row, Check::DeadRows, "layers.1.attn.weight", 2, Some(vec![5, 0]));
    assert_eq!(row[0].message, "2 rows of zeros: 5 to 6");
    let column = found(&DType::BF16, 2, |values| values.chunks_mut(48).for_each(|row| row[47] = -0.0));
    only(&column, Check::DeadColumns, "layers.1.attn.weight", 1, Some(vec![0, 47]));
    let zero = found(&DType::F16, 3, |values| values.fill(0.0));
    only(&zero, Check::Zero, "layers.1.mlp.weight", 96 * 64, None);
    let constant = found(&DType::F32, 3, |values| values.fill(0.02));
    only(&constant, Check::Constant, "layers.1.mlp.weight", 96 * 64, None);
    let exploded = found(&DType::BF16, 6, |values| values.iter_mut().for_each(|value| *value *= 8.0));
    only(&exploded, Check::Norm, "layers.3.attn.weight", 1, None);
    let small =
        found(&DType::F32, 6, |values| values.iter_mut().skip(9).step_by(20).for_each(|v| *v = 1e-39));
    only(&small, Check::Denormal, "layers.3.attn.weight", 154, Some(vec![0, 9]));
}

#[test]
fn what_concerns_several_tensors() {
    let mut twice = clean(&DType::F32);
    twice[4].2 = twice[0].2.clone();
    let twice = health(&twice).findings;
    only(&twice, Check::Duplicate, "layers.0.attn.weight", 2, None);
    assert!(twice[0].message.ends_with("layers.2.attn.weight"));
    let mut mixed = clean(&DType::BF16);
    mixed[1].3 = DType::F32;
    let mixed = health(&mixed).findings;
    only(&mixed, Check::Dtypes, "", 1, None);
    assert_eq!(mixed[0].message, "bfloat16 15 tensors, float32 1 tensor");
}

#[test]
fn tensors_that_lie_in_the_same_bytes_are_tied() {
    let values = weights(64, 1.0, 1);
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let source = Source::memory("model", bytes);
    let leaf = |name: &str| {
        let plain = Plain::new(source.clone(), 0, DType::F32, vec![8, 8]).unwrap();
        Node::new(name, "tensor").content(Content::Array(Arc::new(plain)))
    };
    let root = Arc::new(Node::new("m", "file").separator("").listed(vec![leaf("embed"), leaf("head")]));
    only(&of_node(&Task::new(), &root, "").unwrap().findings, Check::Tied, "embed", 2, None);
}

#[test]
fn what_is_wrong_with_places_is_told_by_its_kind() {
    let wrong = |name: &str, defect| {
        Node::new(name, "tensor").problem(Error::malformed("header: x").with_defect(defect))
    };
    let nodes = vec![
        wrong("a", Defect::Truncated),
        wrong("b", Defect::Overlap),
        Node::new("c", "tensor").problem(Error::malformed("another thing")),
        wrong("d", Defect::Shards),
    ];
    let root = Arc::new(Node::new("m", "file").separator("").listed(nodes));
    let found = of_node(&Task::new(), &root, "").unwrap().findings;
    let told: Vec<_> = found.iter().map(|f| (f.check, f.path.as_str())).collect();
    assert_eq!(told, [(Check::Overlap, "b"), (Check::Truncated, "a"), (Check::Shards, "d")]);
}

#[test]
fn integers_and_masks_are_not_judged() {
    let mask: Vec<f32> = vec![0.0; 4096];
    let mut tensors = clean(&DType::F32);
    tensors.push(("mask".to_owned(), vec![64, 64], mask, DType::I32));
    assert_eq!(health(&tensors).findings, Vec::new());
}

/// A model of a layer as Llama has them, with a configuration.
fn configured(config: serde_json::Value, change: impl Fn(&mut Vec<(String, Vec<u64>)>)) -> Vec<Finding> {
    let mut shapes: Vec<(String, Vec<u64>)> = [
        ("model.embed_tokens.weight", vec![40, 16]),
        ("model.layers.0.self_attn.q_proj.weight", vec![16, 16]),
        ("model.layers.0.self_attn.k_proj.weight", vec![8, 16]),
        ("model.layers.0.mlp.down_proj.weight", vec![16, 24]),
        ("model.norm.weight", vec![16]),
    ]
    .map(|(name, shape)| (name.to_owned(), shape))
    .into();
    change(&mut shapes);
    let leaves = shapes.iter().enumerate().map(|(n, (name, shape))| {
        let count = shape.iter().product::<u64>() as usize;
        leaf(name, DType::F32, shape, &weights(count, 0.02, n as u64 + 1))
    });
    let mut root = Node::new("model", "model").separator("").listed(leaves.collect());
    for (name, value) in config.as_object().unwrap() {
        root.attributes.push((name.clone(), value.clone().into()));
    }
    let health = of_node(&Task::new(), &Arc::new(root), "").unwrap();
    health.findings.into_iter().filter(|finding| finding.check == Check::Shape).collect()
}

#[test]
fn shapes_are_held_against_the_configuration() {
    let config = serde_json::json!({
        "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 40,
    });
    assert_eq!(configured(config.clone(), |_| ()), []);
    let found = configured(config.clone(), |shapes| shapes[2].1 = vec![16, 16]);
    only(&found, Check::Shape, "model.layers.0.self_attn.k_proj.weight", 1, None);
    assert_eq!(
        found[0].message,
        "its shape is 16×16, the configuration says 8×16 (num_key_value_heads × hidden_size / \
         num_attention_heads, hidden_size)"
    );
    let found = configured(config.clone(), |shapes| shapes[0].1 = vec![41, 16]);
    only(&found, Check::Shape, "model.embed_tokens.weight", 1, None);
    let mut more = config.clone();
    more["num_hidden_layers"] = 3.into();
    let found = configured(more, |_| ());
    only(&found, Check::Shape, "", 2, None);
    // Of what is not known nothing is said.
    let mut other = config;
    other["model_type"] = "mixtral".into();
    assert_eq!(configured(other, |shapes| shapes[0].1 = vec![41, 16]), []);
}

#[test]
fn the_keys_of_gguf_are_a_configuration() {
    let rename = |shapes: &mut Vec<(String, Vec<u64>)>| {
        let names = ["token_embd", "blk.0.attn_q", "blk.0.attn_k", "blk.0.ffn_down", "output_norm"];
        for (one, name) in shapes.iter_mut().zip(names) {
            one.0 = format!("{name}.weight");
        }
    };
    let config = serde_json::json!({
        "general.architecture": "llama", "llama.embedding_length": 16, "llama.feed_forward_length": 24,
        "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2, "llama.block_count": 1,
        "tokenizer.ggml.tokens": vec!["x"; 40],
    });
    assert_eq!(configured(config.clone(), rename), []);
    let found = configured(config, |shapes| {
        rename(shapes);
        shapes[4].1 = vec![17];
    });
    only(&found, Check::Shape, "output_norm.weight", 1, None);
}
