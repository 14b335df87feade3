//! Which files of a folder are the model's weights, and its tensors by name.

use super::{file, read_json};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Array, Content};
use crate::data::format::Options;
use crate::data::node::Node;
use crate::data::open::walk_all;
use crate::engines::modules::{self, Leaf};
use parking_lot::Mutex;
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How deep names nest.
const DEEP: usize = 64;

/// Names that weights usually have, the preferred one first; an index of shards before its shards.
const USUAL: &[&str] = &[
    "model.safetensors.index.json",
    "model.safetensors",
    "diffusion_pytorch_model.safetensors.index.json",
    "diffusion_pytorch_model.safetensors",
    "adapter_model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
    "diffusion_pytorch_model.bin",
    "adapter_model.bin",
];
/// Weights of other libraries, which are opened as files.
const OTHERS: &[&str] =
    &["tf_model.h5", "flax_model.msgpack", "model.onnx", "rust_model.ot", "openvino_model.bin"];

/// The file by which the weights are opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weights {
    name: String,
}

/// Whether a file is a shard: `model-00001-of-00003.safetensors`.
fn is_shard(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let Some((rest, total)) = stem.rsplit_once("-of-") else { return false };
    let digits = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = rest.rsplit_once('-').map_or("", |(_, number)| number);
    matches!(extension, "safetensors" | "bin") && digits(total) && digits(number)
}

impl Weights {
    /// The weights among a folder's files: by their usual names, else an index, the first shard, the only file.
    pub(super) fn among(entries: &[Entry]) -> Option<Weights> {
        let files = || entries.iter().filter(|entry| !entry.is_folder).map(|entry| entry.name.as_str());
        let usual = USUAL.iter().find(|usual| files().any(|name| name == **usual)).copied();
        let index = || {
            files()
                .find(|name| name.ends_with(".safetensors.index.json") || name.ends_with(".bin.index.json"))
        };
        let shard = || files().find(|name| is_shard(name));
        let only = |ending: &'static str| {
            let mut found = files().filter(move |name| name.ends_with(ending));
            found.next().filter(|_| found.next().is_none())
        };
        let other = || OTHERS.iter().find(|other| files().any(|name| name == **other)).copied();
        let name = usual.or_else(index).or_else(shard).or_else(|| only(".safetensors")).or_else(other)?;
        Some(Weights { name: name.to_owned() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether only a model's weights are called so.
    pub(super) fn has_usual_name(&self) -> bool {
        USUAL.contains(&self.name.as_str())
    }

    /// The files that the weights are, of those of the folder.
    pub(super) fn files(&self, entries: &[Entry]) -> Vec<String> {
        let ending = if self.name.contains(".safetensors") { ".safetensors" } else { ".bin" };
        let is_split = self.name.ends_with(".index.json") || is_shard(&self.name);
        let stem = match self.name.strip_suffix(&format!("{ending}.index.json")) {
            Some(stem) => stem,
            None => self
                .name
                .rsplit_once("-of-")
                .and_then(|(rest, _)| rest.rsplit_once('-'))
                .map_or("", |(s, _)| s),
        };
        let is_part = |name: &str| {
            name == self.name
                || is_split && is_shard(name) && name.ends_with(ending) && name.starts_with(stem)
                || is_split && name == format!("{stem}{ending}.index.json")
        };
        entries.iter().map(|entry| entry.name.clone()).filter(|name| is_part(name)).collect()
    }

    /// The root of the weights: the tensors below it, by name.
    pub(super) fn open(&self, task: &Task, folder: &Path) -> Result<Node> {
        let source = file(task, folder, &self.name)?;
        let document = crate::formats::ALL.open_source(task, &source, &Options::default())?;
        // An index that no format takes for one is read here.
        if document.format.id == "json" && self.name.ends_with(".index.json") {
            return indexed(task, folder, &source);
        }
        let mut node = (*document.root).clone();
        node.remarks.extend(document.remarks);
        Ok(node)
    }
}

/// The shards of an index, each opened once.
struct Shards {
    folder: PathBuf,
    open: Mutex<HashMap<String, Arc<Node>>>,
}

impl Shards {
    fn root(&self, task: &Task, name: &str) -> Result<Arc<Node>> {
        if let Some(root) = self.open.lock().get(name) {
            return Ok(root.clone());
        }
        let source = file(task, &self.folder, name)?;
        let root = crate::formats::ALL.open_source(task, &source, &Options::default())?.root;
        self.open.lock().insert(name.to_owned(), root.clone());
        Ok(root)
    }
}

/// A tensor of an index.
struct Indexed {
    name: String,
    file: String,
    shards: Arc<Shards>,
}

impl Leaf for Indexed {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        let (full, file, shards) = (self.name.clone(), self.file.clone(), self.shards.clone());
        Node::new(name, "tensor").deferred_leaf(move |task| {
            let found = shards.root(task, &file)?.find(task, &full)?;
            let found = found.map(|node| (*node).clone());
            Ok(found.unwrap_or_else(|| {
                let what = format!("model: the index puts it in {file}, where it is not found");
                Node::new(full.as_str(), "tensor").problem(Error::malformed(what))
            }))
        })
    }
}

/// The tensors of an index of shards. <https://huggingface.co/docs/transformers/big_models#sharded-checkpoints>
fn indexed(task: &Task, folder: &Path, source: &Source) -> Result<Node> {
    let json = read_json(task, source)?;
    let map = json.get("weight_map").and_then(Json::as_object);
    let map = map.ok_or_else(|| Error::malformed("index of the shards: it has no weight_map"))?;
    let shards = Arc::new(Shards { folder: folder.to_owned(), open: Mutex::new(HashMap::new()) });
    let leaf = |(name, file): (&String, &Json)| {
        let file = file.as_str()?.to_owned();
        Some(Indexed { name: name.clone(), file, shards: shards.clone() })
    };
    let leaves: Vec<Indexed> = map.iter().filter_map(leaf).collect();
    let mut root = Node::new("", "model");
    let files: BTreeSet<&str> = leaves.iter().map(|leaf| leaf.file.as_str()).collect();
    let missing: Vec<&str> = files.into_iter().filter(|file| !folder.join(file).exists()).collect();
    if !missing.is_empty() {
        let names = missing.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        root.problem =
            Some(Error::malformed(format!("model: of the shards in its index these are missing: {names}")));
    }
    if let Some(metadata) = json.get("metadata").and_then(Json::as_object) {
        root.attributes.extend(metadata.iter().map(|(name, value)| (name.clone(), value.clone().into())));
    }
    Ok(modules::tree(root, leaves, Vec::new()))
}

/// All arrays below the root of weights, by name.
pub(super) fn arrays(task: &Task, root: &Node) -> Result<Vec<(String, Arc<dyn Array>)>> {
    let mut arrays = Vec::new();
    let root = Arc::new(root.clone());
    walk_all(task, &root, "", DEEP, &mut |node, path, _| {
        if let Some(Content::Array(array)) = &node.content {
            arrays.push((path.trim_start_matches('/').to_owned(), array.clone()));
        }
        Ok(true)
    })?;
    Ok(arrays)
}
