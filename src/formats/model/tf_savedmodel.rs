//! TensorFlow SavedModels: a folder with `saved_model.pb` (or `.pbtxt`), the graphs and functions; `variables/`, a
//! checkpoint; `assets/`, files that the graph reads; and `fingerprint.pb`.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/saved_model.proto>,
//! <https://www.tensorflow.org/guide/saved_model#the_savedmodel_format_on_disk>
//!
//! The folder and the file open as the same model. Variables stand at the root by the keys that the checkpoint has for them.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::protobuf::{Field, Part, Value as Wire};
use crate::engines::shards;
use crate::engines::tensorflow::bundle::Bundle;
use crate::engines::tensorflow::constants::Messages;
use crate::engines::tensorflow::document::{self, TextKind};
use crate::engines::tensorflow::messages::MetaGraph;
use serde_json::{Map, Value as Json};

/// The descriptor of the file.
pub static FORMAT: Format = Format {
    extensions: &["pb", "pbtxt"],
    reads: &[Kind::Graph, Kind::Array],
    sniff: Some(sniff),
    holds_weights: true,
    ..Format::new("tf_savedmodel", "TensorFlow SavedModel", open)
};

/// How the file of the graphs may be called.
const FILES: [&str; 2] = ["saved_model.pb", "saved_model.pbtxt"];
/// The checkpoint of the variables.
const VARIABLES: &str = "variables";
const INDEX: &str = "variables/variables.index";
const ASSETS: &str = "assets";
const FINGERPRINT: &str = "fingerprint.pb";
/// The most bytes of a fingerprint.
const SMALL: usize = 1 << 20;

fn sniff(head: &Head) -> Match {
    if head.is_folder {
        let is_there = |name: &str| head.entries.iter().any(|entry| !entry.is_folder && entry.name == name);
        return if FILES.into_iter().any(is_there) { Match::Yes } else { Match::No };
    }
    if head.is_text() && head.has_extension(&["pbtxt", "pb.txt"]) {
        let is_saved = document::text_kind(&head.first) == Some(TextKind::Saved);
        return if is_saved { Match::Yes } else { Match::No };
    }
    if is_message(&head.first) { Match::Yes } else { Match::No }
}

/// Whether a message begins with the version 1 and a meta graph, whose first field is what it says of itself.
fn is_message(first: &[u8]) -> bool {
    let Some(mut rest) = first.strip_prefix(&[0x08, 0x01, 0x12]) else { return false };
    let len = crate::engines::tensorflow::table::varint(&mut rest);
    len.is_some_and(|len| len > 2) && matches!(rest.first(), Some(0x0a | 0x12))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    if !source.is_folder() {
        let root = Node::new("", "file");
        let index = source.sibling(task, INDEX).ok();
        let fingerprint = source.sibling(task, FINGERPRINT).ok();
        return model(task, root, source, index, fingerprint, Vec::new());
    }
    let names = FILES.into_iter().find(|name| opening.head.entries.iter().any(|entry| entry.name == *name));
    let name = names.ok_or_else(|| Error::unsupported("a folder without a saved model"))?;
    let file = source.child(task, name)?;
    let after = match source.path() {
        Some(path) => {
            // A model without files of its own has an empty folder for them.
            let has_assets = source
                .child(task, ASSETS)
                .and_then(|assets| assets.entries(task))
                .is_ok_and(|all| !all.is_empty());
            let belongs = |name: &str| {
                FILES.contains(&name)
                    || [VARIABLES, FINGERPRINT].contains(&name)
                    || name == ASSETS && !has_assets
            };
            shards::others(crate::formats::ALL, path, &opening.head.entries, belongs)
        }
        None => Vec::new(),
    };
    let after = after.iter().map(|node| (**node).clone()).collect();
    let root = Node::new("", "folder");
    model(task, root, &file, source.child(task, INDEX).ok(), source.child(task, FINGERPRINT).ok(), after)
}

/// The model of a file and of what lies beside it.
fn model(
    task: &Task,
    mut root: Node,
    file: &Source,
    index: Option<Source>,
    fingerprint: Option<Source>,
    after: Vec<Node>,
) -> Result<Node> {
    let first = file.read_up_to(task, 0, crate::data::sniff::FIRST)?;
    let messages = match document::text_kind(&first) {
        Some(kind) => {
            let (messages, problem) = document::textual(task, file, kind)?;
            if let Some(problem) = problem {
                document::blame(&mut root, problem);
            }
            messages
        }
        None => document::binary(task, file)?,
    };
    let metas = meta_graphs(task, &mut root, &messages)?;
    if metas.is_empty() {
        let problem = root.problem.take();
        return Err(problem.unwrap_or_else(|| Error::malformed("a saved model without a graph")));
    }
    let bundle = match index {
        Some(index) => Some(variables(task, &index)?),
        None => {
            if metas.iter().any(|meta| meta.graph.nodes.iter().any(|node| node.op == "VarHandleOp")) {
                root.remarks.push(format!("its variables are not there: {INDEX}"));
            }
            None
        }
    };
    if let Some(source) = fingerprint {
        match self::fingerprint(task, &source).unless_cancelled()? {
            Ok(told) => root.attributes.push(("fingerprint".to_owned(), Json::Object(told).into())),
            Err(error) => document::blame(&mut root, error.of(FINGERPRINT)),
        }
    }
    document::model(task, root, Some((&messages, metas)), bundle, after)
}

/// The meta graphs, as far as they are whole.
fn meta_graphs<'a>(task: &Task, root: &mut Node, messages: &'a Messages) -> Result<Vec<MetaGraph<'a>>> {
    let mut metas = Vec::new();
    for field in messages.whole().fields() {
        match field {
            Ok(Field { number: 1, value, .. }) => {
                let version = value.uint().to_string();
                root.attributes.push(("saved_model_schema_version".to_owned(), version.into()));
            }
            Ok(Field { number: 2, value: Wire::Bytes(part), .. }) => {
                metas.push(MetaGraph::parse(task, part)?)
            }
            Ok(_) => {}
            Err(error) => document::blame(root, error),
        }
    }
    Ok(metas)
}

/// The checkpoint of the variables; what is wrong with it is a problem of it alone.
fn variables(task: &Task, index: &Source) -> Result<Bundle> {
    Ok(match Bundle::open(task, index).unless_cancelled()? {
        Ok(bundle) => bundle,
        Err(error) => Bundle { problems: vec![error.of("variables")], ..Bundle::default() },
    })
}

/// Reads a `FingerprintDef`: <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/fingerprint.proto>.
fn fingerprint(task: &Task, source: &Source) -> Result<Map<String, Json>> {
    let bytes = source.read_up_to(task, 0, SMALL)?;
    let mut told = Map::new();
    for field in Part::new(&bytes, 0).fields() {
        let Field { number, value, .. } = field?;
        let (name, text) = match number {
            1 => ("saved_model_checksum", value.uint().to_string()),
            2 => ("graph_def_program_hash", value.uint().to_string()),
            3 => ("signature_def_hash", value.uint().to_string()),
            4 => ("saved_object_graph_hash", value.uint().to_string()),
            5 => ("checkpoint_hash", value.uint().to_string()),
            7 => ("uuid", value.text()),
            _ => continue,
        };
        told.insert(name.to_owned(), text.into());
    }
    Ok(told)
}

#[cfg(test)]
mod tests;
