//! The matrices of a LoRA by module, and what they are scaled with.
//! <https://arxiv.org/abs/2106.09685>, rsLoRA <https://arxiv.org/abs/2312.03732>, DoRA <https://arxiv.org/abs/2402.09353>;
//! names and scaling as <https://github.com/huggingface/peft/blob/main/src/peft/tuners/lora/layer.py> has them.

use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::content::Array;
use regex::Regex;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// What an adapter does to one module of the base model.
pub(super) struct Module {
    /// Its name in the base model.
    pub(super) name: String,
    /// rank × inputs; of an embedding rank × entries; of a convolution rank × channels × kernel.
    pub(super) a: Arc<dyn Array>,
    /// outputs × rank; of a convolution with further sides of 1.
    pub(super) b: Arc<dyn Array>,
    /// The lengths of the merged rows, of DoRA.
    pub(super) magnitude: Option<Arc<dyn Array>>,
    pub(super) is_embedding: bool,
    /// Whether the second matrix has a bias.
    pub(super) has_bias: bool,
    pub(super) alpha: f64,
    pub(super) scaling: f64,
}

/// A tensor that the adapter has whole (`modules_to_save`).
pub(super) struct Saved {
    /// Its name in the base model.
    pub(super) name: String,
    pub(super) array: Arc<dyn Array>,
}

impl Module {
    /// The inner side of the product.
    pub(super) fn rank(&self) -> Option<u64> {
        self.a.shape().first().copied()
    }

    pub(super) fn kind(&self) -> &'static str {
        match (self.is_embedding, self.a.shape().len()) {
            (true, _) => "embedding",
            (false, 2) => "linear",
            (false, _) => "convolution",
        }
    }

    /// How many numbers the adapter has for it.
    pub(super) fn parameters(&self) -> Option<u64> {
        let count = |array: &Arc<dyn Array>| limits::elements(array.shape()).ok();
        let magnitude = self.magnitude.as_ref().map_or(Some(0), count)?;
        count(&self.a)?.checked_add(count(&self.b)?)?.checked_add(magnitude)
    }
}

/// A part of a module, by the name of its tensor.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    A,
    B,
    Magnitude,
    Other,
}

/// The module and the part that a tensor's name tells: `base_model.model.layers.0.q_proj.lora_A.weight`; an adapter's
/// own name may stand behind the word (`lora_A.default.weight`).
fn named(name: &str) -> Option<(&str, Part, bool)> {
    let words = [
        (".lora_A", Part::A, false),
        (".lora_B", Part::B, false),
        (".lora_embedding_A", Part::A, true),
        (".lora_embedding_B", Part::B, true),
        (".lora_magnitude_vector", Part::Magnitude, false),
        (".lora_", Part::Other, false),
    ];
    words.into_iter().find_map(|(word, part, is_embedding)| {
        let (module, rest) = name.rsplit_once(word)?;
        let fits = part == Part::Other || rest.is_empty() || rest.starts_with('.');
        // The bias of the second matrix is no matrix.
        let part = if rest.ends_with(".bias") { Part::Other } else { part };
        fits.then_some((module, part, is_embedding))
    })
}

/// A name in the base model.
fn in_base(name: &str) -> String {
    let name =
        name.strip_prefix("base_model.model.").or_else(|| name.strip_prefix("base_model.")).unwrap_or(name);
    name.replace(".base_layer", "")
}

/// The name in the base model of a tensor that was saved whole.
fn saved_name(name: &str) -> String {
    let name = in_base(name);
    match name.split_once(".modules_to_save.") {
        // The adapter's own name stands between, where it was not taken out.
        Some((module, rest)) => {
            let rest = rest.split_once('.').map_or(rest, |(_, rest)| rest);
            format!("{module}.{rest}")
        }
        None => name,
    }
}

/// The modules of an adapter in natural order, and the tensors that it has whole.
pub(super) fn modules(
    arrays: Vec<(String, Arc<dyn Array>)>,
    config: &Map<String, Json>,
) -> Result<(Vec<Module>, Vec<Saved>)> {
    #[derive(Default)]
    struct Parts {
        a: Option<Arc<dyn Array>>,
        b: Option<Arc<dyn Array>>,
        magnitude: Option<Arc<dyn Array>>,
        is_embedding: bool,
        has_bias: bool,
    }
    let mut parts: HashMap<String, Parts> = HashMap::new();
    let mut saved = Vec::new();
    for (name, array) in arrays {
        let Some((module, part, is_embedding)) = named(&name) else {
            saved.push(Saved { name: saved_name(&name), array });
            continue;
        };
        let entry = parts.entry(in_base(module)).or_default();
        entry.is_embedding |= is_embedding;
        entry.has_bias |= name.ends_with(".bias");
        match part {
            Part::A => entry.a = Some(array),
            Part::B => entry.b = Some(array),
            Part::Magnitude => entry.magnitude = Some(array),
            Part::Other => {}
        }
    }
    let scale = Scale::new(config);
    let mut modules = Vec::new();
    for (name, parts) in parts {
        let Parts { a: Some(a), b: Some(b), magnitude, is_embedding, has_bias } = parts else { continue };
        let rank = a.shape().first().copied().unwrap_or(0);
        let (alpha, scaling) = scale.of(&name, rank);
        modules.push(Module { name, a, b, magnitude, is_embedding, has_bias, alpha, scaling });
    }
    if modules.is_empty() {
        return Err(Error::unsupported("an adapter without matrices of LoRA"));
    }
    modules.sort_by(|a, b| natural_order(&a.name, &b.name));
    saved.sort_by(|a, b| natural_order(&a.name, &b.name));
    Ok((modules, saved))
}

/// How products are scaled.
struct Scale {
    alpha: f64,
    /// Other alphas for modules whose names end so.
    patterns: Vec<(Regex, f64)>,
    rank: Option<f64>,
    rank_patterns: Vec<(Regex, f64)>,
    stabilised: bool,
}

impl Scale {
    fn new(config: &Map<String, Json>) -> Self {
        let number = |name: &str| config.get(name).and_then(Json::as_f64);
        let patterns = |name: &str| -> Vec<(Regex, f64)> {
            let object = config.get(name).and_then(Json::as_object);
            let pattern = |(key, value): (&String, &Json)| {
                // PEFT matches from the begin: anything up to a dot, then the pattern, to the end.
                let regex = Regex::new(&format!(r"^(?:(?:.*\.)?(?:{key}))$")).ok()?;
                Some((regex, value.as_f64()?))
            };
            object.into_iter().flatten().filter_map(pattern).collect()
        };
        Scale {
            alpha: number("lora_alpha").unwrap_or(1.0),
            patterns: patterns("alpha_pattern"),
            rank: number("r"),
            rank_patterns: patterns("rank_pattern"),
            stabilised: config.get("use_rslora").and_then(Json::as_bool).unwrap_or(false),
        }
    }

    /// Alpha and scaling of a module: alpha / rank, or alpha / √rank where that is rank-stabilised.
    fn of(&self, module: &str, rank: u64) -> (f64, f64) {
        let find = |patterns: &[(Regex, f64)]| {
            patterns.iter().find(|(pattern, _)| pattern.is_match(module)).map(|(_, value)| *value)
        };
        let alpha = find(&self.patterns).unwrap_or(self.alpha);
        let stated = find(&self.rank_patterns).or(self.rank).filter(|rank| *rank > 0.0);
        let rank = stated.unwrap_or(rank.max(1) as f64);
        (alpha, if self.stabilised { alpha / rank.sqrt() } else { alpha / rank })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tensors_tell_module_and_part() {
        let of = |name: &str| {
            named(name).map(|(module, part, embedding)| (in_base(module), part as u8, embedding))
        };
        assert_eq!(
            of("base_model.model.h.0.q.lora_A.weight"),
            Some(("h.0.q".to_owned(), Part::A as u8, false))
        );
        assert_eq!(
            of("base_model.model.h.0.q.lora_B.default.weight"),
            Some(("h.0.q".to_owned(), Part::B as u8, false))
        );
        assert_eq!(
            of("base_model.model.wte.lora_embedding_A"),
            Some(("wte".to_owned(), Part::A as u8, true))
        );
        assert_eq!(
            of("base_model.model.q.lora_magnitude_vector"),
            Some(("q".to_owned(), Part::Magnitude as u8, false))
        );
        assert_eq!(of("base_model.model.q.lora_B.bias"), Some(("q".to_owned(), Part::Other as u8, false)));
        assert_eq!(of("base_model.model.score.weight"), None);
        assert_eq!(saved_name("base_model.model.score.modules_to_save.default.weight"), "score.weight");
        assert_eq!(saved_name("base_model.model.embed.base_layer.weight"), "embed.weight");
    }

    #[test]
    fn scaling_follows_patterns() {
        let config = serde_json::json!({"r": 8, "lora_alpha": 16, "alpha_pattern": {"k_proj": 4, "layers.1.q": 2},
            "rank_pattern": {"v.*": 2}, "use_rslora": false});
        let scale = Scale::new(config.as_object().unwrap());
        assert_eq!(scale.of("layers.0.q", 8), (16.0, 2.0));
        assert_eq!(scale.of("layers.1.q", 8), (2.0, 0.25));
        assert_eq!(scale.of("layers.0.k_proj", 8), (4.0, 0.5));
        assert_eq!(scale.of("layers.0.my_k_proj", 8), (16.0, 2.0));
        assert_eq!(scale.of("layers.0.v_proj", 2), (16.0, 8.0));
        let config = serde_json::json!({"r": 16, "lora_alpha": 8, "use_rslora": true});
        assert_eq!(Scale::new(config.as_object().unwrap()).of("q", 16), (8.0, 2.0));
    }
}
