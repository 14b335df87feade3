//! An adapter: small matrices that change the weights of a base model.
//! <https://huggingface.co/docs/peft/developer_guides/checkpoint>
//!
//! Of LoRA the rank, the scaling and the shapes of each module stand in a table; where a base model is found whose
//! tensors they fit, its changed weights stand below `merged` under the names that they have there.

use super::base::{self, Candidate};
use super::lora::{self, Module};
use super::merged::{Form, Merged};
use super::weights::{self, Weights};
use super::{ADAPTER, Folder, assembled, beside, configured};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Array, Content};
use crate::data::node::Node;
use crate::engines::modules::{self, Leaf};
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The most models that are named where none fits.
const FAILED: usize = 3;

/// Opens an adapter's folder.
pub(super) fn open(task: &Task, folder: &Folder) -> Result<Node> {
    let mut root = Node::new(folder.source.name(), "adapter");
    let config = configured(task, folder, ADAPTER, &mut root)?;
    let own: Vec<_> =
        folder.entries.iter().filter(|entry| entry.name.starts_with("adapter_")).cloned().collect();
    let weights = Weights::among(&own);
    let mut before = Vec::new();
    if let Some(weights) = weights.as_ref().filter(|_| is_lora(&config)) {
        let adapter =
            Arc::new(Adapter { path: folder.path.clone(), weights: weights.clone(), config: config.clone() });
        let name = config.get("base_model_name_or_path").and_then(Json::as_str).unwrap_or_default();
        let bases = base::candidates(task, &folder.path, name)?;
        if bases.is_empty() {
            root.remarks.push(match name {
                "" => "no base model was found near the adapter: nothing is merged".to_owned(),
                name => format!("its base model {name} was not found near the adapter: nothing is merged"),
            });
        }
        let of_modules = adapter.clone();
        before.push(Node::new("lora", "modules").deferred_leaf(move |task| of_modules.table(task)));
        if !bases.is_empty() {
            let mut merged =
                Node::deferred("merged", "merged weights", move |task| adapter.merged(task, &bases));
            merged.derived = true;
            before.push(merged);
        }
    }
    before.extend(beside(task, folder, &mut root)?);
    assembled(task, folder, root, before, weights)
}

/// Whether it is a LoRA, the only kind of adapters that is merged here.
fn is_lora(config: &Map<String, Json>) -> bool {
    config.get("peft_type").and_then(Json::as_str).is_none_or(|kind| kind.eq_ignore_ascii_case("lora"))
}

/// The files of an adapter.
struct Adapter {
    path: PathBuf,
    weights: Weights,
    config: Map<String, Json>,
}

impl Adapter {
    fn modules(&self, task: &Task) -> Result<(Vec<Module>, Vec<lora::Saved>)> {
        let root = self.weights.open(task, &self.path)?;
        lora::modules(weights::arrays(task, &root)?, &self.config)
    }

    /// The modules as a table.
    fn table(&self, task: &Task) -> Result<Node> {
        let (modules, saved) = self.modules(task)?;
        let text = |of: &dyn Fn(&Module) -> String| -> ArrayRef {
            Arc::new(modules.iter().map(|module| Some(of(module))).collect::<StringArray>())
        };
        let number = |of: &dyn Fn(&Module) -> Option<u64>| -> ArrayRef {
            let cells = modules.iter().map(|module| of(module).and_then(|n| i64::try_from(n).ok()));
            Arc::new(cells.collect::<Int64Array>())
        };
        let shape = |array: &Arc<dyn Array>| crate::bytes::display::shape(array.shape());
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("module", text(&|module| module.name.clone())),
            ("kind", text(&|module| module.kind().to_owned())),
            ("rank", number(&|module| module.rank())),
            ("alpha", Arc::new(modules.iter().map(|m| Some(m.alpha)).collect::<Float64Array>())),
            ("scaling", Arc::new(modules.iter().map(|m| Some(m.scaling)).collect::<Float64Array>())),
            ("dora", Arc::new(modules.iter().map(|m| Some(m.magnitude.is_some())).collect::<BooleanArray>())),
            ("a", text(&|module| shape(&module.a))),
            ("b", text(&|module| shape(&module.b))),
            ("dtype", text(&|module| module.a.dtype().to_string())),
            ("parameters", number(&|module| module.parameters())),
        ];
        let table = MemoryTable::new(RecordBatch::try_from_iter(columns)?);
        let mut node = Node::new("lora", "modules").content(Content::Table(Arc::new(table)));
        if !saved.is_empty() {
            let names: Vec<&str> = saved.iter().map(|saved| saved.name.as_str()).collect();
            node = node.remark(format!("saved whole, in place of the base model's: {}", names.join(", ")));
        }
        Ok(node)
    }

    /// The changed weights of the first base model that the modules fit.
    fn merged(&self, task: &Task, bases: &[Candidate]) -> Result<Node> {
        let (modules, saved) = self.modules(task)?;
        let mut failed = Vec::new();
        for base in bases {
            task.check()?;
            match self.merged_with(task, base, &modules, &saved) {
                Err(error) if error.is_cancelled() => return Err(error),
                Ok(node) => return Ok(node),
                Err(error) => {
                    failed.push(format!("{}: {}", base::relative(&self.path, &base.path), error.what()));
                }
            }
        }
        let more = failed.len().saturating_sub(FAILED);
        failed.truncate(FAILED);
        if more > 0 {
            failed.push(format!("and {more} more"));
        }
        Err(Error::unsupported(format!("no model near the adapter fits it: {}", failed.join("; "))))
    }

    fn merged_with(
        &self,
        task: &Task,
        candidate: &Candidate,
        modules: &[Module],
        saved: &[lora::Saved],
    ) -> Result<Node> {
        let root = candidate.weights.open(task, &candidate.path)?;
        let base = Names::new(weights::arrays(task, &root)?);
        let transposed = self.config.get("fan_in_fan_out").and_then(Json::as_bool).unwrap_or(false);
        let (mut leaves, mut left_out) = (Vec::new(), Vec::new());
        for module in modules {
            let Some((name, array)) = base.weight_of(&module.name) else {
                left_out.push(format!("{}: the base model has no such module", module.name));
                continue;
            };
            match Merged::new(array.clone(), module, Form::of(module, array.shape(), transposed)) {
                Ok(merged) => leaves.push(Changed {
                    name: name.clone(),
                    label: "merged tensor",
                    array: Arc::new(merged),
                }),
                Err(error) => left_out.push(format!("{}: {}", module.name, error.what())),
            }
        }
        if leaves.is_empty() {
            let first =
                left_out.into_iter().next().unwrap_or_else(|| "the adapter changes no module".to_owned());
            return Err(Error::unsupported(first));
        }
        for one in saved {
            let name = base.find(&one.name).map_or_else(|| one.name.clone(), |(name, _)| name.clone());
            leaves.push(Changed { name, label: "saved tensor", array: one.array.clone() });
        }
        // Two adapters of one module are none that can be told apart.
        leaves.sort_by(|a, b| a.name.cmp(&b.name));
        leaves.dedup_by(|a, b| a.name == b.name);
        let path = base::relative(&self.path, &candidate.path);
        if !candidate.is_named {
            let name = self.config.get("base_model_name_or_path").and_then(Json::as_str).unwrap_or_default();
            let what = if name.is_empty() { "does not name its base" } else { "names another base" };
            left_out.insert(
                0,
                format!("the adapter {what}: {path} lies near and fits, but may be another model"),
            );
        }
        let biased = modules.iter().filter(|module| module.has_bias);
        left_out.extend(
            biased.map(|module| format!("{}: the bias of its second matrix is not merged", module.name)),
        );
        let mut node = Node::new("merged", "merged weights").read_as("base", path);
        node.derived = true;
        node = node.read_as("formula", "W + scaling · B · A");
        node.remarks = left_out;
        Ok(modules::tree(node, leaves, Vec::new()).separator("/"))
    }
}

/// A weight of the base model as the adapter makes it.
struct Changed {
    name: String,
    label: &'static str,
    array: Arc<dyn Array>,
}

impl Leaf for Changed {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        Node::new(name, self.label).content(Content::Array(self.array.clone()))
    }
}

/// The tensors of a base model by name.
struct Names {
    arrays: Vec<(String, Arc<dyn Array>)>,
    by_name: HashMap<String, usize>,
}

impl Names {
    fn new(arrays: Vec<(String, Arc<dyn Array>)>) -> Self {
        let by_name = arrays.iter().enumerate().map(|(n, (name, _))| (name.clone(), n)).collect();
        Names { arrays, by_name }
    }

    /// The weight of a module.
    fn weight_of(&self, module: &str) -> Option<&(String, Arc<dyn Array>)> {
        self.find(&format!("{module}.weight")).or_else(|| self.find(module))
    }

    /// A tensor of this name; or, since a model may have been saved with a head or without (`transformer.h.0` and
    /// `h.0`), the only one whose name ends with it, or that it ends with.
    fn find(&self, name: &str) -> Option<&(String, Arc<dyn Array>)> {
        let exact = self.by_name.get(name).and_then(|n| self.arrays.get(*n));
        if exact.is_some() {
            return exact;
        }
        let mut ends = self.arrays.iter().filter(|(known, _)| {
            let ends =
                |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('.'));
            known.contains('.') && (ends(known, name) || ends(name, known))
        });
        ends.next().filter(|_| ends.next().is_none())
    }
}
