//! Keras models of version 3: a ZIP archive of `metadata.json` (versions), `config.json` (layers, how the model was
//! compiled) and `model.weights.h5`, with assets where layers have some.
//! <https://keras.io/guides/serialization_and_saving/>
//!
//! The layers are a table and a graph; the members are opened as what they are, the weights with their layers in the order of
//! the configuration. Models in one HDF5 file (`.h5`) are a convention of that format (see [`crate::data::keras`], which
//! both share).

use crate::bytes::archive::zip::{Archive, Member};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Options};
use crate::data::keras::{self, Layer};
use crate::data::node::Node;
use crate::data::sniff::zip::Document;
use crate::data::sniff::{Head, Match};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["keras"],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Graph, Kind::Array],
    holds_weights: true,
    ..Format::new("keras", "Keras model", open)
};

const CONFIG: &str = "config.json";
const METADATA: &str = "metadata.json";
const WEIGHTS: &str = "model.weights.h5";

fn sniff(head: &Head) -> Match {
    let Some(zip) = head.zip().filter(|_| !head.is_folder) else { return Match::No };
    let is_called = head.has_extension(FORMAT.extensions) && zip.names().any(|name| name == METADATA);
    if zip.document == Some(Document::Keras) || is_called { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let task = opening.task;
    let archive = Archive::open(task, opening.source)?;
    let mut root = Node::new("", "Keras model").separator("");
    root.problem.clone_from(&archive.problem);
    if let Some(Value::Object(metadata)) = document(task, &archive, METADATA, &mut root)? {
        for (name, value) in metadata {
            root = root.attribute(name, value);
        }
    }
    let (mut layers, mut graph) = (Vec::new(), None);
    if let Some(config) = document(task, &archive, CONFIG, &mut root)? {
        layers = keras::layers(&config);
        describe(&mut root, &config);
        graph = (!layers.is_empty()).then(|| self::graph(config, &archive, opening.options));
    }
    let table = keras::node(&layers)?;
    let layers: Arc<[Layer]> = layers.into();
    let files = archive.members.iter().filter(|member| !member.is_folder());
    let members = files.map(|member| node(&archive, member, opening.options, &layers));
    Ok(root.listed(table.into_iter().chain(graph).chain(members).collect()))
}

/// The graph of the configuration, with the weights that lie in the groups of its layers.
fn graph(config: Value, archive: &Archive, options: &Options) -> Node {
    let Some(member) = archive.members.iter().find(|member| member.name == WEIGHTS).cloned() else {
        return keras::graph_node(config, |_, _| Ok(Vec::new()));
    };
    let (archive, options, opened) = (archive.clone(), options.below(WEIGHTS), Mutex::new(None));
    keras::graph_node(config, move |task, place| {
        let known = opened.lock().clone();
        let root: Arc<Node> = match known {
            Some(root) => root,
            None => {
                let source = archive.read(task, &member)?;
                let root = Arc::new(crate::formats::ALL.nested_now(
                    task,
                    source.name(),
                    "file",
                    &source,
                    &options,
                )?);
                *opened.lock() = Some(root.clone());
                root
            }
        };
        let path = format!("{}{}", root.separator, place.group);
        match root.find(task, &path)? {
            Some(layer) => keras::graph::arrays(task, &layer, &format!("{WEIGHTS}{path}")),
            None => Ok(Vec::new()),
        }
    })
}

/// A member that is JSON; what is wrong with it is the root's problem.
fn document(task: &Task, archive: &Archive, name: &str, root: &mut Node) -> Result<Option<Value>> {
    let Some(member) = archive.members.iter().find(|member| member.name == name) else {
        root.remarks.push(format!("it has no {name}"));
        return Ok(None);
    };
    let read = || -> Result<Value> {
        limits::check(member.size, limits::HEADER, name)?;
        let source = archive.read(task, member)?;
        let bytes = source.read(task, 0..member.size)?;
        serde_json::from_slice(&bytes).map_err(|error| Error::malformed(format!("{name}: {error}")))
    };
    match read().unless_cancelled()? {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            root.problem.get_or_insert(error);
            Ok(None)
        }
    }
}

/// What the configuration says of the model as a whole.
fn describe(root: &mut Node, config: &Value) {
    let mut add = |name: &str, value: Option<&Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            root.attributes.push((name.to_owned(), value.clone().into()));
        }
    };
    add("class_name", config.get("class_name"));
    add("name", config.get("config").and_then(|inner| inner.get("name")));
    for name in ["module", "registered_name", "build_config", "compile_config"] {
        add(name, config.get(name));
    }
    let inner = config.get("config");
    for name in ["input_layers", "output_layers"] {
        add(name, inner.and_then(|inner| inner.get(name)));
    }
}

/// A member, opened when somebody looks into it.
fn node(archive: &Archive, member: &Member, options: &Options, layers: &Arc<[Layer]>) -> Node {
    let (name, label) = (member.name.clone(), "member");
    let options = options.below(&name);
    let (archive, member, layers) = (archive.clone(), member.clone(), layers.clone());
    if !name.ends_with(".h5") {
        return crate::formats::ALL.nested(name, label, options, move |task| archive.read(task, &member));
    }
    Node::deferred(name, label, move |task| {
        let source = archive.read(task, &member)?;
        let root = crate::formats::ALL.nested_now(task, source.name(), "file", &source, &options)?;
        Ok(keras::in_order(root, &layers))
    })
}

#[cfg(test)]
mod tests;
