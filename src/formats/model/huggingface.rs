//! The folder of a model as Hugging Face's libraries save it: weights with a `config.json`, a tokenizer, a chat
//! template; an adapter; the components of a pipeline. <https://huggingface.co/docs/transformers/models>,
//! <https://huggingface.co/docs/diffusers/using-diffusers/loading>, <https://huggingface.co/docs/peft/developer_guides/checkpoint>,
//! <https://sbert.net/docs/package_reference/sentence_transformer/models.html>
//!
//! The weights — one file, or shards with their index — are one model, whose tensors stand below the folder's node under
//! their own names; they are opened by whatever format they have. The vocabulary is a table. An adapter shows what it
//! does to which module, and, where its base model lies near, the merged weights as arrays that are computed as
//! they are read ([`merged`]). Folders of a hub cache (`models--org--name`) open as their snapshot.

mod adapter;
mod base;
mod lora;
mod merged;
mod sentencepiece;
mod tokenizer;
mod weights;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, OptionSpec, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::PlainText;
use crate::engines::joined::joined;
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weights::Weights;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Array, Kind::Table, Kind::Text],
    options: &[FOLDERS],
    holds_weights: true,
    ..Format::new("huggingface", "Hugging Face model folder", open)
};

/// Whether all of the folder is shown.
const FOLDERS: OptionSpec =
    OptionSpec::new("folders", "whether the folders in it are listed").one_of("yes", &["yes", "no"]);

const CONFIG: &str = "config.json";
const ADAPTER: &str = "adapter_config.json";
const PIPELINE: &str = "model_index.json";
const MODULES: &str = "modules.json";
/// Entries of a configuration that tell that it is a model's.
const KEYS: &[&str] = &[
    "architectures",
    "model_type",
    "_class_name",
    "_diffusers_version",
    "auto_map",
    "transformers_version",
    "hidden_size",
    "vocab_size",
    "n_embd",
];
/// The most components of a pipeline.
const COMPONENTS: usize = 100;
/// The most entries of a configuration that are shown as attributes.
const ATTRIBUTES: usize = 500;

/// Whether a folder has a file of this name.
fn has(entries: &[Entry], name: &str) -> bool {
    entries.iter().any(|entry| !entry.is_folder && entry.name == name)
}

/// Whether it is a folder of a hub cache: blobs, and snapshots that link to them.
fn is_cache(head: &Head) -> bool {
    let folder = |name: &str| head.entries.iter().any(|entry| entry.is_folder && entry.name == name);
    head.name.starts_with("models--") && folder("snapshots")
}

fn sniff(head: &Head) -> Match {
    let entries = &head.entries;
    let has = |name: &str| has(entries, name);
    let is_model = has(PIPELINE)
        || has(ADAPTER)
        || has(MODULES) && has("config_sentence_transformers.json")
        || has(CONFIG) && (Weights::among(entries).is_some() || tokenizer::has_own(entries))
        || tokenizer::is_alone(entries)
        || is_cache(head);
    if head.is_folder && is_model { Match::Yes } else { Match::No }
}

/// A model's folder.
struct Folder {
    source: Source,
    path: PathBuf,
    entries: Vec<Entry>,
}

impl Folder {
    fn of(source: &Source, entries: &[Entry]) -> Result<Folder> {
        let path = source.path().ok_or_else(|| Error::bug("a folder without a path"))?.to_owned();
        Ok(Folder { source: source.clone(), path, entries: entries.to_vec() })
    }

    fn has(&self, name: &str) -> bool {
        has(&self.entries, name)
    }

    /// A file in it. Links are followed, since caches consist of them.
    fn file(&self, task: &Task, name: &str) -> Result<Source> {
        file(task, &self.path, name)
    }

    /// The object that a JSON file of it holds; `None` where there is no such file.
    fn json(&self, task: &Task, name: &str) -> Result<Option<Map<String, Json>>> {
        if !self.has(name) {
            return Ok(None);
        }
        match read_json(task, &self.file(task, name)?)? {
            Json::Object(object) => Ok(Some(object)),
            _ => Err(Error::malformed(format!("{name}: it is no object"))),
        }
    }

    /// An entry, opened when somebody looks into it.
    fn entry(&self, entry: &Entry) -> Node {
        let path = self.path.join(&entry.name);
        let label = if entry.is_folder { "folder" } else { "file" };
        let make = move |task: &Task| Source::open(task, &path);
        crate::formats::ALL.nested(entry.name.as_str(), label, Options::default(), make)
    }
}

/// A file by its name in a folder.
fn file(task: &Task, folder: &Path, name: &str) -> Result<Source> {
    if name.contains(['/', '\\']) || name == ".." || name == "." {
        return Source::open(task, folder)?.child(task, name);
    }
    Source::open(task, &folder.join(name))
}

/// The value that a JSON file holds.
fn read_json(task: &Task, source: &Source) -> Result<Json> {
    let bytes = read_all(task, source)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::malformed(format!("{}: {error}", source.name())))
}

/// All bytes of a file of metadata.
fn read_all(task: &Task, source: &Source) -> Result<bytes::Bytes> {
    let len = source.len(task)?;
    limits::check(len, limits::HEADER, source.name())?;
    source.read(task, 0..len)
}

fn open(opening: &Opening) -> Result<Node> {
    let task = opening.task;
    if is_cache(opening.head) {
        return snapshot(task, opening.source);
    }
    let mut folder = Folder::of(opening.source, &opening.head.entries)?;
    if opening.options.choice(&FOLDERS)? == "no" {
        folder.entries.retain(|entry| !entry.is_folder);
    }
    if folder.has(PIPELINE) {
        return pipeline(task, &folder);
    }
    if folder.has(ADAPTER) {
        return adapter::open(task, &folder);
    }
    model(task, &folder)
}

/// Takes in a configuration, or says what is wrong with it.
fn configured(task: &Task, folder: &Folder, name: &str, root: &mut Node) -> Result<Map<String, Json>> {
    match folder.json(task, name).unless_cancelled()? {
        Ok(config) => {
            let config = config.unwrap_or_default();
            let shown = config.iter().filter(|(_, value)| !value.is_null()).take(ATTRIBUTES);
            root.attributes.extend(shown.map(|(name, value)| (name.clone(), value.clone().into())));
            Ok(config)
        }
        Err(error) => {
            blame(root, error);
            Ok(Map::new())
        }
    }
}

/// The first problem becomes the node's, the others remarks.
fn blame(node: &mut Node, problem: Error) {
    match &node.problem {
        None => node.problem = Some(problem),
        Some(_) => node.remarks.push(problem.message()),
    }
}

/// A model, or a tokenizer alone.
fn model(task: &Task, folder: &Folder) -> Result<Node> {
    let mut root = Node::new(folder.source.name(), "model");
    let config = configured(task, folder, CONFIG, &mut root)?;
    let weights = Weights::among(&folder.entries);
    let known = KEYS.iter().any(|key| config.contains_key(*key));
    if let Some(weights) = &weights
        && folder.has(CONFIG)
        && root.problem.is_none()
        && !known
        && !weights.has_usual_name()
    {
        return Err(Error::other_format(""));
    }
    let before = beside(task, folder, &mut root)?;
    assembled(task, folder, root, before, weights)
}

/// The tokenizer and the chat templates.
fn beside(task: &Task, folder: &Folder, root: &mut Node) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    nodes.extend(tokenizer::node(&folder.path, &folder.entries));
    match chat_templates(task, folder).unless_cancelled()? {
        Ok(templates) => nodes.extend(templates),
        Err(error) => blame(root, error),
    }
    Ok(nodes)
}

/// The chat templates as texts: of a file of their own, or in the configuration of the tokenizer.
/// <https://huggingface.co/docs/transformers/chat_templating_writing>
fn chat_templates(task: &Task, folder: &Folder) -> Result<Vec<Node>> {
    let node = |name: String, text: String| {
        let source = Source::memory(name.as_str(), text);
        let text = PlainText::new(source, encoding_rs::UTF_8);
        Node::new(name, "chat template").content(Content::Text(Arc::new(text)))
    };
    if folder.has("chat_template.jinja") {
        let text = read_all(task, &folder.file(task, "chat_template.jinja")?)?;
        return Ok(vec![node("chat_template".to_owned(), String::from_utf8_lossy(&text).into_owned())]);
    }
    for name in ["chat_template.json", "tokenizer_config.json", "processor_config.json"] {
        let template = folder.json(task, name)?.and_then(|mut config| config.remove("chat_template"));
        match template {
            Some(Json::String(text)) => return Ok(vec![node("chat_template".to_owned(), text)]),
            Some(Json::Array(templates)) => {
                let named = |template: &Json| {
                    let text = |name: &str| Some(template.get(name)?.as_str()?.to_owned());
                    Some(node(format!("chat_template.{}", text("name")?), text("template")?))
                };
                return Ok(templates.iter().take(COMPONENTS).filter_map(named).collect());
            }
            _ => {}
        }
    }
    Ok(Vec::new())
}

/// The root with `before`, the tensors of the weights, and the other files of the folder below it.
fn assembled(
    task: &Task,
    folder: &Folder,
    mut root: Node,
    before: Vec<Node>,
    weights: Option<Weights>,
) -> Result<Node> {
    let mut used: Vec<String> = Vec::new();
    let mut inner = Node::new("weights", "weights");
    if let Some(weights) = &weights {
        match weights.open(task, &folder.path).unless_cancelled()? {
            Ok(node) if node.has_children() => {
                used = weights.files(&folder.entries);
                root.attributes.extend(node.attributes.iter().cloned());
                root.reader.push(("weights".to_owned(), weights.name().into()));
                root.remarks.extend(node.remarks.iter().cloned());
                if let Some(problem) = node.problem.clone() {
                    blame(&mut root, problem);
                }
                root.findings.clone_from(&node.findings);
                root.security.clone_from(&node.security);
                inner = node;
            }
            // What is no model to its reader stands among the files, where it says why.
            Ok(_) => {}
            Err(error) => blame(&mut root, error.in_node(weights.name())),
        }
    }
    let is_shown = |entry: &&Entry| !entry.name.starts_with('.') && !used.contains(&entry.name);
    let after = folder.entries.iter().filter(is_shown).map(|entry| folder.entry(entry)).collect();
    root.separator = if inner.has_children() { inner.separator } else { "/" };
    Ok(joined(root, before, inner, after))
}

/// A pipeline: its components as what they are.
fn pipeline(task: &Task, folder: &Folder) -> Result<Node> {
    let mut root = Node::new(folder.source.name(), "pipeline");
    let index = match folder.json(task, PIPELINE).unless_cancelled()? {
        Ok(index) => index.unwrap_or_default(),
        Err(error) => {
            blame(&mut root, error);
            Map::new()
        }
    };
    let mut components = Vec::new();
    for (name, value) in &index {
        let class = value.as_array().map(|parts| parts.iter().filter_map(Json::as_str).collect::<Vec<_>>());
        let entry = folder.entries.iter().find(|entry| entry.is_folder && entry.name == *name);
        match (class, entry) {
            (Some(class), Some(entry)) if components.len() < COMPONENTS => {
                components.push(folder.entry(entry).attribute("class", class.join(".")));
            }
            (Some(class), None) if !class.is_empty() => {
                let class = class.join(".");
                root.remarks.push(format!("its component {name} ({class}) is not in the folder"));
            }
            (Some(_), _) => {}
            (None, _) => root.attributes.push((name.clone(), value.clone().into())),
        }
    }
    let is_other = |entry: &&Entry| !entry.name.starts_with('.') && !index.contains_key(&entry.name);
    components.extend(folder.entries.iter().filter(is_other).map(|entry| folder.entry(entry)));
    Ok(root.listed(components))
}

/// The snapshot of a hub cache that its `refs/main` names, or the only one.
/// <https://huggingface.co/docs/huggingface_hub/guides/manage-cache>
fn snapshot(task: &Task, source: &Source) -> Result<Node> {
    let path = source.path().ok_or_else(|| Error::bug("a folder without a path"))?;
    let found = base::snapshot(task, path)?.ok_or_else(|| Error::other_format(""))?;
    let inner = Source::open(task, &found)?;
    let document = crate::formats::ALL.open_source(task, &inner, &Options::default())?;
    let revision = inner.name().to_owned();
    Ok((*document.root).clone().read_as("snapshot", revision))
}

#[cfg(test)]
mod tests;
