//! Quantised weights: several tensors that stand for one. They are told by their names, types and shapes, and by the
//! configuration beside the file. What they stand for is a node beside the stored ones: under the name that the weight had
//! where that is free, else below the stored tensor as `dequantized`.
//!
//! | layout | tensors | values |
//! |---|---|---|
//! | GPTQ <https://github.com/AutoGPTQ/AutoGPTQ> | `qweight`, `qzeros`, `scales`, `g_idx` | `scales × (q − (z + 1))`; `gptq_v2`: `q − z` |
//! | AWQ (GEMM) <https://github.com/casper-hansen/AutoAWQ> | `qweight`, `qzeros`, `scales` | `scales × (q − z)` |
//! | bitsandbytes <https://github.com/bitsandbytes-foundation/bitsandbytes> | `weight`, `absmax`, `quant_map`, `quant_state`; `SCB` | `quant_map[q] × absmax`; `SCB / 127 × q` |
//! | compressed-tensors <https://github.com/neuralmagic/compressed-tensors> | `weight_packed` or `weight`, `weight_scale`, `weight_zero_point`, `weight_global_scale` | `scale × (q − z)` |
//! | FP8, MXFP8 | `weight`, `weight_scale`, `weight_scale_inv`, `scale_weight` | `scale × w`, by row, by block or for all |
//! | NVFP4 (ModelOpt) | `weight`, `weight_scale`, `weight_scale_2` | `scale × scale_2 × w` |
//! | MXFP4 (gpt-oss) | `…_blocks`, `…_scales` | `2^(scale − 127) × w` |
//! | torchao <https://github.com/pytorch/ao> | `_weight_qdata`, `_weight_scale`, `_weight_zero_point` | `scale × (q − z)` |

mod layouts;
mod parts;

use super::Tensor;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::ArrayFacts;
use crate::data::node::{Node, Value};
use crate::data::quantised::{MadeArray, Recipe};
use crate::engines::modules::Leaf;
use parts::Parts;
use serde_json::Value as Json;
use std::sync::Arc;

/// The largest configuration that is looked at, in bytes.
const CONFIGURATION: u64 = 4 << 20;

/// A tensor of the file, or what several of them stand for.
pub(super) enum Part {
    /// A stored one.
    Stored(Tensor),
    /// One that is made of others.
    Dequantised { name: String, label: &'static str, array: Result<Arc<MadeArray>> },
}

/// What several tensors stand for.
struct Dequantised {
    /// The name of the weight.
    name: String,
    /// The layout.
    label: &'static str,
    shape: Vec<u64>,
    recipe: Box<dyn Recipe>,
    /// The layout with its numbers.
    about: String,
    /// The tensors that it is made of.
    of: Vec<String>,
}

/// What the configuration of a model says of its layout.
#[derive(Default)]
struct Configuration {
    /// GPTQ whose zero points are stored as they are.
    is_gptq_v2: bool,
    /// Rows and columns that share a scale.
    block: Option<(u64, u64)>,
}

impl Leaf for Part {
    fn name(&self) -> &str {
        match self {
            Part::Stored(tensor) => tensor.name(),
            Part::Dequantised { name, .. } => name,
        }
    }

    fn node(&self, name: &str) -> Node {
        match self {
            Part::Stored(tensor) => tensor.node(name),
            Part::Dequantised { label, array, .. } => {
                let mut node = Node::new(name, label);
                node.derived = true;
                match array {
                    Ok(array) => node.content = Some(Content::Array(array.clone())),
                    Err(error) => node.problem = Some(error.clone()),
                }
                node
            }
        }
    }
}

/// What quantised tensors stand for, beside those that are stored.
///
/// # Errors
/// `Cancelled`.
pub(super) fn derived(task: &Task, stored: &[Part], metadata: &[(String, Value)]) -> Result<Vec<Part>> {
    let parts = Parts::new(stored);
    let mut found = Vec::new();
    let mut configuration = None;
    for (n, part) in stored.iter().enumerate() {
        if n % 1024 == 0 {
            task.check()?;
        }
        if !layouts::may_be(&parts, part.name()) {
            continue;
        }
        let configuration = match &configuration {
            Some(configuration) => configuration,
            None => configuration.insert(configured(task, parts.file())?),
        };
        let made = layouts::find(task, &parts, part.name(), configuration, metadata).unless_cancelled()?;
        let part = match made {
            Ok(None) => continue,
            Ok(Some(made)) => made.part(&parts),
            Err(error) => {
                let name = free(&parts, part.name());
                Part::Dequantised { name, label: "quantised", array: Err(error) }
            }
        };
        found.push(part);
    }
    Ok(found)
}

/// A name for what a tensor stands for: its own, if no stored one has it.
fn free(parts: &Parts, name: &str) -> String {
    let mut name = name.to_owned();
    while parts.get(&name).is_some() {
        name += ".dequantized";
    }
    name
}

impl Dequantised {
    fn part(self, parts: &Parts) -> Part {
        let of: Vec<&str> = self.of.iter().map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
        let details = vec![("layout".to_owned(), self.about), ("made of".to_owned(), of.join(", "))];
        let bytes = self.of.iter().filter_map(|name| Some(parts.get(name)?.bytes())).sum();
        let facts = ArrayFacts { details, bytes_stored: Some(bytes), ..ArrayFacts::default() };
        let array = Ok(Arc::new(MadeArray::new(self.shape, self.recipe, facts)));
        Part::Dequantised { name: free(parts, &self.name), label: self.label, array }
    }
}

/// What `config.json` or `quantize_config.json` beside a file say.
fn configured(task: &Task, file: Option<&Source>) -> Result<Configuration> {
    let mut configuration = Configuration::default();
    let Some(file) = file.filter(|file| file.path().is_some()) else { return Ok(configuration) };
    for name in ["config.json", "quantize_config.json"] {
        let Ok(json) = beside(task, file, name).unless_cancelled()? else { continue };
        let said = json.get("quantization_config").unwrap_or(&json);
        let is_v2 = said.get("checkpoint_format").and_then(Json::as_str) == Some("gptq_v2");
        configuration.is_gptq_v2 |= is_v2;
        let block = said.get("weight_block_size").and_then(Json::as_array).map(Vec::as_slice);
        if let Some([rows, columns]) = block
            && let (Some(rows @ 1..), Some(columns @ 1..)) = (rows.as_u64(), columns.as_u64())
        {
            configuration.block = Some((rows, columns));
        }
    }
    Ok(configuration)
}

fn beside(task: &Task, file: &Source, name: &str) -> Result<Json> {
    let source = file.sibling(task, name)?;
    let len = source.len(task)?;
    crate::bytes::limits::check(len, CONFIGURATION, "the configuration")?;
    let text = source.read(task, 0..len)?;
    serde_json::from_slice(&text).map_err(|error| Error::malformed(format!("{name}: {error}")))
}

#[cfg(test)]
mod tests;
