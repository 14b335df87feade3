//! TensorFlow.js: a model as JSON (`model.json`) with its weights in files beside it, which are cut into shards.
//! <https://www.tensorflow.org/js/guide/save_load>,
//! <https://github.com/tensorflow/tfjs/blob/master/tfjs-core/src/io/types.ts>
//!
//! Two kinds of models are written: graph models, whose topology is a GraphDef of TensorFlow in the JSON of Protocol
//! Buffers, and layers models, whose topology is Keras's. The weights of each group of the manifest lie one after the
//! other in the files of the group. Quantised ones are what they stand for, with the stored ones below them.

mod shards;
mod weights;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::graph::{Dimension, Value as GraphValue};
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::keras;
use crate::data::node::{Node, Value};
use crate::data::sniff::{Head, Match};
use crate::engines::modules::{self, Leaf as _};
use crate::engines::protobuf::{Part, json};
use crate::engines::tensorflow::constants::{Messages, Weight};
use crate::engines::tensorflow::document::{self, blame};
use crate::engines::tensorflow::messages::{GraphDef, Signature};
use crate::engines::tensorflow::schema;
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use weights::Stored;

/// The descriptor.
pub static FORMAT: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Graph, Kind::Array, Kind::Table],
    holds_weights: true,
    ..Format::new("tfjs", "TensorFlow.js model", open)
};

/// Members of the object that no other format has.
const TOPOLOGY: &str = "modelTopology";
const MANIFEST: &str = "weightsManifest";
/// Fields of a GraphDef that hold bytes.
const BYTES: &[&str] = &["s", "tensor_content", "string_val"];
/// A graph that fills tables before the model runs.
const INITIALIZER: &str = "modelInitializer";

/// The description in the folder of a model, and what the names of its files of weights begin with.
const DESCRIPTION: &str = "model.json";
const SHARDS: &str = "group1-shard1of";

/// An object with a topology, a manifest, or the name of one of the two kinds; a folder with such an object and
/// shards.
fn sniff(head: &Head) -> Match {
    if head.is_folder {
        let has = |fits: &dyn Fn(&str) -> bool| {
            head.entries.iter().any(|entry| !entry.is_folder && fits(&entry.name))
        };
        let is_model = has(&|name| name == DESCRIPTION) && has(&|name| name.starts_with(SHARDS));
        return if is_model { Match::Yes } else { Match::No };
    }
    let Some(json) = head.json() else { return Match::No };
    let has = |name: &str| json.names.iter().any(|known| known == name);
    if has(TOPOLOGY) || has(MANIFEST) {
        return Match::Yes;
    }
    // The topology may begin behind the head.
    let kind = |name: &str| memchr::memmem::find(&head.first, format!("\"{name}\"").as_bytes()).is_some();
    let is_cut = !json.is_whole && has("format") && (has("generatedBy") || has("convertedBy"));
    if is_cut && (kind("graph-model") || kind("layers-model")) { Match::Yes } else { Match::No }
}

/// A model while it is read.
struct Model<'a> {
    task: &'a Task,
    root: Node,
    weights: Vec<Stored>,
    after: Vec<Node>,
}

fn open(opening: &Opening) -> Result<Node> {
    let task = opening.task;
    let source = match opening.source.is_folder() {
        true => opening.source.child(task, DESCRIPTION)?,
        false => opening.source.clone(),
    };
    let source = &source;
    let json = document(task, source)?;
    let mut model =
        Model { task, root: Node::new("", "file").separator(""), weights: Vec::new(), after: Vec::new() };
    model.describe(&json);
    if let Some(manifest) = json.get(MANIFEST).filter(|manifest| !manifest.is_null()) {
        model.manifest(source, manifest)?;
    }
    if let Some(topology) = json.get(TOPOLOGY).filter(|topology| !topology.is_null()) {
        let is_graph = match json.get("format").and_then(Json::as_str) {
            Some("graph-model") => true,
            Some("layers-model") => false,
            _ => topology.get("node").is_some(),
        };
        let drawn = if is_graph { model.graph(&json, topology) } else { model.layers(topology) };
        if let Err(error) = drawn.unless_cancelled()? {
            blame(&mut model.root, error.of(TOPOLOGY));
        }
    }
    if let Some(graph) = json.get(INITIALIZER).filter(|graph| graph.is_object()) {
        let drawn = model.initializer(&json, graph).unless_cancelled()?;
        if let Err(error) = drawn {
            blame(&mut model.root, error.of(INITIALIZER));
        }
    }
    let Model { root, weights, after, .. } = model;
    Ok(modules::tree_by(root, weights, after.into_iter().map(Arc::new).collect(), "/"))
}

/// The whole document.
fn document(task: &Task, source: &Source) -> Result<Json> {
    let len = source.len(task)?;
    limits::check(len, limits::HEADER, "the description of a model")?;
    let text = source.read(task, 0..len)?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let json: Json =
        serde_json::from_slice(text).map_err(|error| Error::malformed(format!("JSON: {error}")))?;
    if !json.is_object() {
        return Err(Error::malformed("a model that is no object"));
    }
    Ok(json)
}

impl Model<'_> {
    /// What the model says of itself, but for its topology and its weights.
    fn describe(&mut self, json: &Json) {
        let skip = [TOPOLOGY, MANIFEST, INITIALIZER, "signature", "initializerSignature"];
        let all = json.as_object().into_iter().flatten();
        for (name, value) in all.filter(|(name, value)| !skip.contains(&name.as_str()) && !value.is_null()) {
            self.root.attributes.push((name.clone(), value.clone().into()));
        }
    }

    fn manifest(&mut self, source: &Source, manifest: &Json) -> Result<()> {
        let found = weights::manifest(self.task, source, manifest)?;
        for error in found.problems {
            blame(&mut self.root, error);
        }
        self.root.remarks.extend(found.remarks);
        self.weights = found.weights;
        Ok(())
    }

    /// The weights by their names.
    fn by_name(&self) -> HashMap<String, Weight> {
        let weight = |stored: &Stored| Weight { path: stored.path(), elements: stored.elements() };
        self.weights.iter().map(|stored| (stored.name().to_owned(), weight(stored))).collect()
    }

    /// A signature as JSON, whichever way its version of the converter wrote it.
    fn signature(&mut self, key: &str, json: Option<&Json>) -> Result<Option<Signature>> {
        let Some(json) = json.filter(|json| json.is_object()) else { return Ok(None) };
        let (bytes, problem) = json::encode(self.task, json, &schema::SIGNATURE_DEF, BYTES)?;
        if let Some(problem) = problem {
            blame(&mut self.root, problem.of(key));
        }
        Ok(Some(Signature::parse(key.to_owned(), Part::decoded(&bytes))?))
    }

    /// A GraphDef in JSON.
    fn graph_of(
        &mut self,
        topology: &Json,
        signature: Option<&Signature>,
        prefix: &str,
    ) -> Result<(crate::data::content::graph::Graph, Option<Node>)> {
        let (bytes, problem) = json::encode(self.task, topology, &schema::GRAPH_DEF, BYTES)?;
        let bytes = bytes::Bytes::from(bytes);
        let source = Source::memory("graph", bytes.clone());
        let messages = Messages { source, bytes, is_file: false };
        let def = GraphDef::parse(self.task, messages.whole())?;
        for problem in problem.into_iter().chain(def.problem.clone()) {
            blame(&mut self.root, problem);
        }
        if prefix.is_empty() {
            let about = def.about.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
            self.root.attributes.extend(about);
        }
        document::with_weights(self.task, &messages, &def, signature, &self.by_name(), prefix)
    }

    /// A graph model.
    fn graph(&mut self, json: &Json, topology: &Json) -> Result<()> {
        let within = json.get("userDefinedMetadata").and_then(|metadata| metadata.get("signature"));
        let signature = self.signature("serving_default", json.get("signature").or(within))?;
        if let Some(signature) = &signature {
            let told = document::signatures(std::slice::from_ref(signature));
            self.root.attributes.push(("signature".to_owned(), told.into()));
        }
        let (graph, functions) = self.graph_of(topology, signature.as_ref(), "")?;
        self.root.content = Some(Content::Graph(Arc::new(graph)));
        self.after.extend(functions);
        Ok(())
    }

    fn initializer(&mut self, json: &Json, graph: &Json) -> Result<()> {
        let signature = self.signature("initializer", json.get("initializerSignature"))?;
        let (graph, functions) = self.graph_of(graph, signature.as_ref(), &format!("{INITIALIZER}/"))?;
        let node = Node::new(INITIALIZER, "graph").content(Content::Graph(Arc::new(graph)));
        self.after.push(match functions {
            Some(functions) => node.listed(vec![functions]),
            None => node,
        });
        Ok(())
    }

    /// A layers model: its graph, and its layers as a table.
    fn layers(&mut self, topology: &Json) -> Result<()> {
        let all = topology.as_object().into_iter().flatten();
        for (name, value) in all.filter(|(name, _)| !["model_config", "config"].contains(&name.as_str())) {
            self.root.attributes.push((name.clone(), value.clone().into()));
        }
        let config = topology.get("model_config").unwrap_or(topology);
        let mut by_layer: BTreeMap<String, Vec<GraphValue>> = BTreeMap::new();
        for stored in self.weights.iter().filter(|stored| !stored.is_stored()) {
            let (layer, name) = stored.name().rsplit_once('/').unwrap_or(("", stored.name()));
            by_layer.entry(layer.to_owned()).or_default().push(GraphValue {
                name: name.into(),
                dtype: Some(stored.type_name().into()),
                shape: Some(stored.shape().iter().map(|side| Dimension::Fixed(*side)).collect()),
                weight: Some(stored.path()),
                elements: Some(stored.elements()),
                ..GraphValue::default()
            });
        }
        let mut known = |place: keras::graph::Place<'_>| Ok(of_layer(&by_layer, place.name));
        if let Some(graph) = keras::graph::graph(self.task, config, &mut known)? {
            self.root.content = Some(Content::Graph(Arc::new(graph)));
        } else {
            self.root.remarks.push("the topology names no layers".to_owned());
        }
        self.after.extend(keras::node(&keras::layers(config))?);
        Ok(())
    }
}

/// The weights of a layer: those under its name, and under those of parts of it (`lstm/lstm_cell`). A layer of a
/// model in the model may stand under its own name alone.
fn of_layer(all: &BTreeMap<String, Vec<GraphValue>>, name: &str) -> Vec<GraphValue> {
    let own = name.rsplit('/').next().unwrap_or(name);
    for name in [name, own] {
        let below = format!("{name}/");
        let range = all.range(name.to_owned()..).take_while(|(layer, _)| layer.starts_with(name));
        let found: Vec<GraphValue> = range
            .filter(|(layer, _)| *layer == name || layer.starts_with(&below))
            .flat_map(|(_, weights)| weights.iter().cloned())
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
