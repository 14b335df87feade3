//! Shapes against the model's configuration: what its sizes say of the tensors whose names are known. Two kinds are
//! known: `config.json` of Hugging Face's Transformers
//! (<https://huggingface.co/docs/transformers/main_classes/configuration>) and the keys of GGUF
//! (<https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#llm>).
//!
//! Only architectures whose layers are all alike are looked at; of others nothing is said.

use super::{Check, Finding};
use crate::bytes::display;
use crate::data::node::{Node, Value};
use crate::data::parameters::Tensor;
use std::collections::BTreeSet;

/// A size that the configuration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// Features between layers.
    Hidden,
    /// Tokens.
    Vocabulary,
    /// Features of all query heads together.
    Queries,
    /// Features of all heads of keys, or of values.
    Keys,
    /// Features inside the feed-forward part.
    Inner,
    /// Positions.
    Positions,
    /// Queries, keys and values in one matrix of as many features as there are between layers.
    Fused,
}

use Size::{Fused, Hidden, Inner, Keys, Positions, Queries, Vocabulary};

/// The ends of names, and the shapes of what has them.
type Shapes = &'static [(&'static str, &'static [Size])];

/// Llama, and what is built like it.
const LLAMA: Shapes = &[
    ("embed_tokens.weight", &[Vocabulary, Hidden]),
    ("lm_head.weight", &[Vocabulary, Hidden]),
    ("self_attn.q_proj.weight", &[Queries, Hidden]),
    ("self_attn.k_proj.weight", &[Keys, Hidden]),
    ("self_attn.v_proj.weight", &[Keys, Hidden]),
    ("self_attn.o_proj.weight", &[Hidden, Queries]),
    ("self_attn.q_proj.bias", &[Queries]),
    ("self_attn.k_proj.bias", &[Keys]),
    ("self_attn.v_proj.bias", &[Keys]),
    ("mlp.gate_proj.weight", &[Inner, Hidden]),
    ("mlp.up_proj.weight", &[Inner, Hidden]),
    ("mlp.down_proj.weight", &[Hidden, Inner]),
    ("input_layernorm.weight", &[Hidden]),
    ("post_attention_layernorm.weight", &[Hidden]),
    ("model.norm.weight", &[Hidden]),
];

/// BERT and RoBERTa.
const BERT: Shapes = &[
    ("embeddings.word_embeddings.weight", &[Vocabulary, Hidden]),
    ("embeddings.position_embeddings.weight", &[Positions, Hidden]),
    ("attention.self.query.weight", &[Hidden, Hidden]),
    ("attention.self.key.weight", &[Hidden, Hidden]),
    ("attention.self.value.weight", &[Hidden, Hidden]),
    ("attention.output.dense.weight", &[Hidden, Hidden]),
    ("intermediate.dense.weight", &[Inner, Hidden]),
    ("output.dense.weight", &[Hidden, Inner]),
    ("pooler.dense.weight", &[Hidden, Hidden]),
];

/// GPT-2, whose matrices stand the other way round.
const GPT2: Shapes = &[
    ("wte.weight", &[Vocabulary, Hidden]),
    ("wpe.weight", &[Positions, Hidden]),
    ("attn.c_attn.weight", &[Hidden, Fused]),
    ("attn.c_attn.bias", &[Fused]),
    ("attn.c_proj.weight", &[Hidden, Hidden]),
    ("mlp.c_fc.weight", &[Hidden, Inner]),
    ("mlp.c_proj.weight", &[Inner, Hidden]),
];

/// Llama and what is built like it, as GGUF names it.
const GGUF: Shapes = &[
    ("token_embd.weight", &[Vocabulary, Hidden]),
    ("output.weight", &[Vocabulary, Hidden]),
    ("attn_q.weight", &[Queries, Hidden]),
    ("attn_k.weight", &[Keys, Hidden]),
    ("attn_v.weight", &[Keys, Hidden]),
    ("attn_output.weight", &[Hidden, Queries]),
    ("ffn_gate.weight", &[Inner, Hidden]),
    ("ffn_up.weight", &[Inner, Hidden]),
    ("ffn_down.weight", &[Hidden, Inner]),
    ("attn_norm.weight", &[Hidden]),
    ("ffn_norm.weight", &[Hidden]),
    ("output_norm.weight", &[Hidden]),
];

/// A size by where it stands.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    size: u64,
    /// The key, or a product of keys.
    key: String,
}

/// What a configuration says of sizes.
struct Configuration {
    shapes: Shapes,
    /// What stands before the number of a layer.
    layer: &'static str,
    layers: Option<Known>,
    hidden: Option<Known>,
    vocabulary: Option<Known>,
    queries: Option<Known>,
    keys: Option<Known>,
    inner: Option<Known>,
    positions: Option<Known>,
}

/// Numbers among a node's attributes.
struct Attributes<'a>(&'a Node);

impl Attributes<'_> {
    fn text(&self, key: &str) -> Option<String> {
        match self.0.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value)? {
            Value::Text(text) => Some(text.clone()),
            Value::Json(serde_json::Value::Number(number)) => Some(number.to_string()),
            Value::Json(serde_json::Value::String(text)) => Some(text.clone()),
            Value::Json(_) => None,
        }
    }

    fn number(&self, key: &str) -> Option<Known> {
        let size = self.text(key)?.parse().ok().filter(|size| *size > 0)?;
        Some(Known { size, key: key.to_owned() })
    }

    /// How many elements a list has.
    fn length(&self, key: &str) -> Option<Known> {
        match self.0.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value)? {
            Value::Json(serde_json::Value::Array(list)) => {
                Some(Known { size: list.len() as u64, key: format!("{key}, its length") })
            }
            Value::Json(_) | Value::Text(_) => None,
        }
    }
}

fn product(a: Option<Known>, b: Option<Known>) -> Option<Known> {
    let (a, b) = (a?, b?);
    Some(Known { size: a.size.checked_mul(b.size)?, key: format!("{} × {}", a.key, b.key) })
}

fn times(times: u64, of: Option<Known>) -> Option<Known> {
    let of = of?;
    Some(Known { size: of.size.checked_mul(times)?, key: format!("{times} × {}", of.key) })
}

/// Of the features of all heads together those of some of them.
fn part(all: Option<Known>, heads: Option<&Known>, some: Option<Known>) -> Option<Known> {
    let (all, heads, some) = (all?, heads?, some?);
    let size = all.size.checked_div(heads.size).filter(|size| size * heads.size == all.size)?;
    Some(Known {
        size: size.checked_mul(some.size)?,
        key: format!("{} × {} / {}", some.key, all.key, heads.key),
    })
}

impl Configuration {
    /// What the attributes of a model's root say, where they are a configuration that is known.
    fn of(root: &Node) -> Option<Self> {
        let keys = Attributes(root);
        match keys.text("model_type") {
            Some(family) => Self::of_transformers(&keys, &family),
            None => Self::of_gguf(&keys, &keys.text("general.architecture")?),
        }
    }

    fn of_transformers(keys: &Attributes<'_>, family: &str) -> Option<Self> {
        let number = |key: &str| keys.number(key);
        let (shapes, layer) = match family {
            "llama" | "mistral" | "qwen2" | "qwen3" | "gemma" | "granite" | "olmo" => (LLAMA, "layers"),
            "bert" | "roberta" | "xlm-roberta" => (BERT, "layer"),
            "gpt2" => (GPT2, "h"),
            _ => return None,
        };
        let gpt2 = family == "gpt2";
        let hidden = number(if gpt2 { "n_embd" } else { "hidden_size" });
        let heads = number("num_attention_heads");
        let some = || number("num_key_value_heads").or_else(|| number("num_attention_heads"));
        let head = || number("head_dim");
        Some(Configuration {
            shapes,
            layer,
            layers: number(if gpt2 { "n_layer" } else { "num_hidden_layers" }),
            vocabulary: number("vocab_size"),
            queries: product(heads.clone(), head()).or_else(|| hidden.clone()),
            keys: product(some(), head()).or_else(|| part(hidden.clone(), heads.as_ref(), some())),
            inner: match gpt2 {
                true => number("n_inner").or_else(|| times(4, hidden.clone())),
                false => number("intermediate_size"),
            },
            positions: number(if gpt2 { "n_positions" } else { "max_position_embeddings" }),
            hidden,
        })
    }

    fn of_gguf(keys: &Attributes<'_>, family: &str) -> Option<Self> {
        if !matches!(family, "llama" | "qwen2" | "qwen3" | "gemma" | "granite" | "olmo") {
            return None;
        }
        let number = |key: &str| keys.number(&format!("{family}.{key}"));
        // Files without it are none that a program loads as a model.
        let hidden = Some(number("embedding_length")?);
        let heads = number("attention.head_count");
        let some = || number("attention.head_count_kv").or_else(|| number("attention.head_count"));
        let (key, value) = (number("attention.key_length"), number("attention.value_length"));
        let own = key.filter(|key| value.is_none_or(|value| value.size == key.size));
        Some(Configuration {
            shapes: GGUF,
            layer: "blk",
            layers: number("block_count"),
            vocabulary: keys.length("tokenizer.ggml.tokens").or_else(|| number("vocab_size")),
            queries: product(heads.clone(), own.clone()).or_else(|| hidden.clone()),
            keys: product(some(), own).or_else(|| part(hidden.clone(), heads.as_ref(), some())),
            inner: number("feed_forward_length"),
            positions: None,
            hidden,
        })
    }

    fn size(&self, size: Size) -> Option<Known> {
        match size {
            Hidden => self.hidden.clone(),
            Vocabulary => self.vocabulary.clone(),
            Queries => self.queries.clone(),
            Keys => self.keys.clone(),
            Inner => self.inner.clone(),
            Positions => self.positions.clone(),
            Fused => times(3, self.hidden.clone()),
        }
    }

    /// What is wrong with the shape of a tensor.
    fn misfit(&self, tensor: &Tensor) -> Option<Finding> {
        // Packed weights have other shapes than what they stand for.
        if !tensor.array.dtype().is_float() {
            return None;
        }
        let is_end = |end: &str| {
            let before = tensor.path.strip_suffix(end);
            before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '/']))
        };
        let (_, sizes) = self.shapes.iter().find(|(end, _)| is_end(end))?;
        let wanted: Vec<Known> = sizes.iter().map(|size| self.size(*size)).collect::<Option<_>>()?;
        let sides: Vec<u64> = wanted.iter().map(|known| known.size).collect();
        if sides == tensor.array.shape() {
            return None;
        }
        let keys: Vec<&str> = wanted.iter().map(|known| known.key.as_str()).collect();
        let message = format!(
            "its shape is {}, the configuration says {} ({})",
            display::shape(tensor.array.shape()),
            display::shape(&sides),
            keys.join(", ")
        );
        Some(Finding { check: Check::Shape, path: tensor.path.clone(), count: 1, first: None, message })
    }

    /// The layers that are missing.
    fn missing(&self, tensors: &[Tensor]) -> Option<Finding> {
        let layers = self.layers.as_ref()?;
        let number = |tensor: &Tensor| {
            let mut parts = tensor.path.split(['.', '/']);
            parts.find(|part| *part == self.layer)?;
            parts.next()?.parse::<u64>().ok()
        };
        let there: BTreeSet<u64> = tensors.iter().filter_map(number).collect();
        let (found, last) = (there.range(..layers.size).count() as u64, there.last().copied()?);
        if found == layers.size {
            return None;
        }
        let first = (0..layers.size).find(|n| !there.contains(n)).unwrap_or(last);
        let message = format!(
            "{} of {} missing: the configuration says so many ({}), the first one that is not there is {first}",
            display::count(layers.size - found),
            display::plural(layers.size, "layer"),
            layers.key
        );
        Some(Finding {
            check: Check::Shape,
            path: String::new(),
            count: layers.size - found,
            first: None,
            message,
        })
    }
}

/// Tensors whose shapes are not what the configuration among the attributes of the model's root says, and layers that
/// are missing.
pub(super) fn misfits(root: &Node, tensors: &[Tensor]) -> Vec<Finding> {
    let Some(configuration) = Configuration::of(root) else { return Vec::new() };
    let shapes = tensors.iter().filter_map(|tensor| configuration.misfit(tensor));
    shapes.chain(configuration.missing(tensors)).collect()
}
