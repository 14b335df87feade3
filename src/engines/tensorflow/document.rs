//! A model as a tree: its graph at the root, below it the variables by their names, then the constants and the functions
//! of the graph, further graphs, the objects of Python, and the files beside it.

use super::build::{Body, Context, Library};
use super::bundle::{Bundle, Stored};
use super::constants::{self, Constant, Messages, Weight};
use super::messages::{GraphDef, MetaGraph, Signature, TensorInfo};
use super::objects::Objects;
use super::{attribute, restored, schema};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::Graph;
use crate::data::node::{Node, Value};
use crate::engines::modules::{self, Leaf as _};
use crate::engines::protobuf::text;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// The largest message: more than Protocol Buffers have.
const LARGEST: u64 = 2 << 30;
/// Constants and functions lie in groups of these names.
const CONSTANTS: &str = "constants";
const FUNCTIONS: &str = "functions";
/// The group of the meta graphs behind the first one.
const META_GRAPHS: &str = "meta graphs";

/// What the message of a text file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A GraphDef.
    Graph,
    /// A MetaGraphDef.
    Meta,
    /// A SavedModel.
    Saved,
}

/// What a text begins to be, by the name of its first field.
pub fn text_kind(first: &[u8]) -> Option<TextKind> {
    Some(match text::first_name(first)? {
        "node" | "library" | "versions" => TextKind::Graph,
        "meta_info_def" | "graph_def" => TextKind::Meta,
        "saved_model_schema_version" | "meta_graphs" => TextKind::Saved,
        _ => return None,
    })
}

/// The message that a file is.
///
/// # Errors
/// `Cancelled`, `Limit`, failures to read.
pub fn binary(task: &Task, source: &Source) -> Result<Messages> {
    let len = source.len(task)?;
    limits::check(len, LARGEST, "a message")?;
    Ok(Messages { source: source.clone(), bytes: source.read(task, 0..len)?, is_file: true })
}

/// The message that a text file says, and what is wrong with the text.
///
/// # Errors
/// `Cancelled`, `Limit`, failures to read.
pub fn textual(task: &Task, source: &Source, kind: TextKind) -> Result<(Messages, Option<Error>)> {
    let len = source.len(task)?;
    limits::check(len, text::LARGEST, "a text")?;
    let message = match kind {
        TextKind::Graph => &schema::GRAPH_DEF,
        TextKind::Meta => &schema::META_GRAPH_DEF,
        TextKind::Saved => &schema::SAVED_MODEL,
    };
    let (bytes, problem) = text::encode(task, &source.read(task, 0..len)?, message)?;
    let bytes = bytes::Bytes::from(bytes);
    let source = Source::memory(source.name(), bytes.clone());
    Ok((Messages { source, bytes, is_file: false }, problem))
}

/// Adds a problem to a node: the first one, the others as remarks.
pub fn blame(node: &mut Node, problem: Error) {
    match &node.problem {
        None => node.problem = Some(problem),
        Some(_) => node.remarks.push(problem.message()),
    }
}

/// A graph with what lies beside it in its message.
struct GraphParts {
    graph: Graph,
    constants: Vec<Constant>,
    functions: Option<Node>,
}

/// Draws a graph and its functions. `prefix` is what the paths of its parts begin with, `constants_at` what those of its
/// constants do.
fn drawn(
    task: &Task,
    messages: &Messages,
    def: &GraphDef,
    signature: Option<&Signature>,
    variables: &HashMap<String, Weight>,
    (prefix, constants_at): (&str, &str),
    stored: Option<&HashMap<String, Weight>>,
) -> Result<GraphParts> {
    let functions_at = format!("{prefix}{FUNCTIONS}/");
    let keys = if variables.is_empty() { HashMap::new() } else { restored::keys(task, def)? };
    let handle = |(name, key): (String, String)| Some((name, variables.get(&key)?.clone()));
    let handles = keys.into_iter().filter_map(handle).collect();
    let context = Context { task, variables, handles, functions: functions_at.clone() };
    let (mut of_functions, mut weights) = (Vec::new(), Vec::new());
    for function in &def.functions {
        task.check()?;
        let at = format!("{functions_at}{}/", function.name);
        let (constants, found) = match stored {
            Some(stored) => (Vec::new(), constants::named(&function.nodes, stored)),
            None => constants::of(&function.nodes, messages, &at),
        };
        of_functions.push(constants);
        weights.push(found);
    }
    let mut library = Library::new(&def.functions, weights);
    let (constants, weights) = match stored {
        Some(stored) => (Vec::new(), constants::named(&def.nodes, stored)),
        None => constants::of(&def.nodes, messages, constants_at),
    };
    let ends =
        |infos: &Signature| -> bool { infos.inputs.iter().chain(&infos.outputs).any(|info| info.dtype != 0) };
    let signature = signature.filter(|signature| ends(signature));
    let signature: Option<(&[TensorInfo], &[TensorInfo])> =
        signature.map(|signature| (signature.inputs.as_slice(), signature.outputs.as_slice()));
    let body = Body { nodes: &def.nodes, weights, function: None, signature };
    let (graph, _) = library.graph(&context, "", &body, 0)?;
    let mut nodes = Vec::new();
    for (n, (function, constants)) in def.functions.iter().zip(of_functions).enumerate() {
        let mut node = Node::new(function.name.as_str(), "function");
        node.problem.clone_from(&function.problem);
        for (name, part) in &function.attributes {
            if let Ok(value) = attribute::value(*part, None) {
                node = node.attribute(name.as_str(), value.to_string());
            }
        }
        if let Some((graph, _)) = library.function(&context, n, 0)? {
            node = node.content(Content::Graph(graph));
        }
        nodes.push(if constants.is_empty() {
            node
        } else {
            modules::tree_by(node, constants, Vec::new(), "/")
        });
    }
    let functions = (!nodes.is_empty()).then(|| Node::new(FUNCTIONS, "functions").listed(nodes));
    Ok(GraphParts { graph, constants, functions })
}

/// A tree of a GraphDef below `root`. Its constants are its weights.
///
/// # Errors
/// `Cancelled`, `Limit`; what is wrong with it where nothing of it can be shown.
pub fn graph(
    task: &Task,
    mut root: Node,
    messages: &Messages,
    def: GraphDef,
    after: Vec<Node>,
) -> Result<Node> {
    if let Some(problem) = def.problem.clone() {
        if def.nodes.is_empty() && def.functions.is_empty() {
            return Err(problem);
        }
        blame(&mut root, problem);
    }
    let about = def.about.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
    root.attributes.extend(about);
    let variables = HashMap::new();
    let drawn = drawn(task, messages, &def, None, &variables, ("", ""), None)?;
    let behind: Vec<Arc<Node>> = drawn.functions.into_iter().chain(after).map(Arc::new).collect();
    let root = root.content(Content::Graph(Arc::new(drawn.graph)));
    Ok(modules::tree_by(root.separator(""), drawn.constants, behind, "/"))
}

/// The graph and the functions of a GraphDef whose constants lie elsewhere, by the names of their nodes. The paths of the
/// functions begin with `prefix`.
///
/// # Errors
/// `Cancelled`, `Limit`.
pub fn with_weights(
    task: &Task,
    messages: &Messages,
    def: &GraphDef,
    signature: Option<&Signature>,
    stored: &HashMap<String, Weight>,
    prefix: &str,
) -> Result<(Graph, Option<Node>)> {
    let drawn = drawn(task, messages, def, signature, &HashMap::new(), (prefix, ""), Some(stored))?;
    Ok((drawn.graph, drawn.functions))
}

/// The signature that a graph is shown by: the usual one, or the first.
fn chosen(signatures: &[Signature]) -> Option<&Signature> {
    let usual = signatures.iter().find(|signature| signature.key == "serving_default");
    usual.or_else(|| signatures.iter().find(|signature| !signature.inputs.is_empty()))
}

/// Signatures as metadata.
pub fn signatures(all: &[Signature]) -> Json {
    let side = |infos: &[TensorInfo]| -> Json {
        let info = |info: &TensorInfo| {
            let shape = attribute::shape_text(info.shape.as_deref());
            let told = [("tensor", info.tensor.clone()), ("dtype", info.type_word()), ("shape", shape)];
            let told = told.into_iter().map(|(name, text)| (name.to_owned(), Json::from(text)));
            (info.key.clone(), Json::Object(told.collect()))
        };
        Json::Object(infos.iter().map(info).collect())
    };
    let signature = |signature: &Signature| {
        let mut told = Map::new();
        told.insert("inputs".to_owned(), side(&signature.inputs));
        told.insert("outputs".to_owned(), side(&signature.outputs));
        told.insert("method".to_owned(), signature.method.as_str().into());
        (signature.key.clone(), Json::Object(told))
    };
    Json::Object(all.iter().map(signature).collect())
}

/// What a meta graph says of itself, as attributes.
fn described(node: &mut Node, meta: &MetaGraph) {
    let mut add = |name: &str, value: Value| node.attributes.push((name.to_owned(), value));
    if !meta.tags.is_empty() {
        add("tags", Json::from(meta.tags.clone()).into());
    }
    for (name, text) in meta.about.iter().chain(&meta.graph.about).filter(|(_, text)| !text.is_empty()) {
        add(name, text.as_str().into());
    }
    if !meta.signatures.is_empty() {
        add("signatures", signatures(&meta.signatures).into());
    }
    if !meta.collections.is_empty() {
        let counts = meta.collections.iter().map(|(name, count)| (name.clone(), Json::from(*count)));
        add("collections", Json::Object(counts.collect()).into());
    }
    if !meta.assets.is_empty() {
        add("assets", Json::from(meta.assets.clone()).into());
    }
}

/// The weights of a checkpoint by the names of variables: their keys, and the full names that its objects tell.
fn by_names(bundle: &Bundle) -> HashMap<String, Weight> {
    let mut all = HashMap::new();
    for stored in &bundle.tensors {
        let weight = Weight { path: stored.name().into(), elements: stored.elements() };
        all.insert(stored.name().to_owned(), weight);
    }
    for (name, key) in bundle.objects.iter().flat_map(Objects::keys) {
        if let Some(weight) = all.get(key).cloned() {
            all.entry(name.clone()).or_insert(weight);
        }
    }
    all
}

/// A meta graph behind the first one.
fn further(
    task: &Task,
    messages: &Messages,
    meta: &MetaGraph,
    n: usize,
    weights: &HashMap<String, Weight>,
) -> Result<Node> {
    let tags = meta.tags.join(", ");
    let name = if tags.is_empty() { n.to_string() } else { format!("{n} {tags}") };
    let prefix = format!("{META_GRAPHS}/{name}/");
    let constants_at = format!("{prefix}{CONSTANTS}/");
    let drawn = drawn(
        task,
        messages,
        &meta.graph,
        chosen(&meta.signatures),
        weights,
        (&prefix, &constants_at),
        None,
    )?;
    let mut node = Node::new(name, "meta graph").content(Content::Graph(Arc::new(drawn.graph)));
    described(&mut node, meta);
    node.problem.clone_from(&meta.problem);
    let constants = group_of(drawn.constants);
    Ok(node.listed(constants.into_iter().chain(drawn.functions).collect()))
}

fn group_of(constants: Vec<Constant>) -> Option<Node> {
    let group = Node::new(CONSTANTS, "constants");
    (!constants.is_empty()).then(|| modules::tree_by(group, constants, Vec::new(), "/"))
}

/// A tree of meta graphs and of the checkpoint that has their variables, below `root`; either may be absent. `after`
/// stands behind all of it.
///
/// # Errors
/// `Cancelled`, `Limit`.
pub fn model(
    task: &Task,
    mut root: Node,
    graphs: Option<(&Messages, Vec<MetaGraph>)>,
    bundle: Option<Bundle>,
    after: Vec<Node>,
) -> Result<Node> {
    let weights = bundle.as_ref().map(by_names).unwrap_or_default();
    let mut behind = Vec::new();
    if let Some((messages, metas)) = graphs {
        let mut rest = Vec::new();
        for (n, meta) in metas.iter().enumerate() {
            task.check()?;
            if n > 0 {
                rest.push(further(task, messages, meta, n, &weights)?);
                continue;
            }
            let constants_at = format!("{CONSTANTS}/");
            let drawn = drawn(
                task,
                messages,
                &meta.graph,
                chosen(&meta.signatures),
                &weights,
                ("", &constants_at),
                None,
            )?;
            described(&mut root, meta);
            if let Some(problem) = meta.problem.clone() {
                blame(&mut root, problem);
            }
            root = root.content(Content::Graph(Arc::new(drawn.graph)));
            behind.extend(group_of(drawn.constants));
            behind.extend(drawn.functions);
        }
        if !rest.is_empty() {
            behind.push(Node::new(META_GRAPHS, "meta graphs").listed(rest));
        }
        let objects = metas.iter().find_map(|meta| meta.objects);
        if let Some(part) = objects {
            match Objects::saved(task, part).unless_cancelled()? {
                Ok(objects) => behind.extend(objects.tree("object graph")),
                Err(error) => blame(&mut root, error.of("object graph")),
            }
        }
    }
    let mut leaves: Vec<Stored> = Vec::new();
    if let Some(bundle) = bundle {
        let about = bundle.about.into_iter().map(|(name, text)| (name, text.into()));
        root.attributes.extend(about);
        for problem in bundle.problems {
            blame(&mut root, problem);
        }
        behind.extend(bundle.objects.and_then(|objects| objects.tree("checkpointed objects")));
        leaves = bundle.tensors;
    }
    let behind = behind.into_iter().chain(after).map(Arc::new).collect();
    Ok(modules::tree_by(root.separator(""), leaves, behind, "/"))
}
