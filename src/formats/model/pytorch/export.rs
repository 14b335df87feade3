//! Exported programs (`torch.export.save`): an archive with `data/weights/` and `data/constants/`, whose tensors a JSON
//! file in each folder describes, `models/` with the graphs, and samples of inputs. Before 2.8 a ZIP archive of
//! checkpoints and `serialized_exported_program.json`, whose members are shown.
//! <https://docs.pytorch.org/docs/stable/export/pt2_archive.html>

mod graph;
#[cfg(test)]
mod tests;

use super::archive::{Container, load, part};
use super::array::{self, Made};
use super::rebuild::{Storage, Strided};
use super::storage::Stores;
use super::types;
use super::values;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::format::Options;
use crate::data::node::Node;
use crate::engines::bodies;
use crate::engines::modules::{self, Leaf};
use graph::Weights;
use serde_json::{Map, Value as Json};
use std::collections::HashSet;
use std::sync::Arc;

/// The folders of tensors, and what ends the name of the file that describes them.
const FOLDERS: [(&str, &str); 2] =
    [("data/weights/", "_weights_config.json"), ("data/constants/", "_constants_config.json")];

/// The program in the archives before 2.8.
pub(super) const OLD: &str = "serialized_exported_program.json";
/// Its checkpoints.
const OLD_STATES: [&str; 2] = ["serialized_state_dict.pt", "serialized_constants.pt"];
/// The folder of the graphs, from 2.8 on.
const MODELS: &str = "models/";

/// Opens a program.
pub(super) fn open(task: &Task, container: &Container) -> Result<Node> {
    let mut leaves: Vec<Tensor> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut problems = Vec::new();
    let mut taken = vec!["archive_format".to_owned()];
    for (folder, end) in FOLDERS {
        let whole = format!("{}{folder}", container.prefix);
        let names = container.archive.members.iter().filter_map(|member| member.name.strip_prefix(&whole));
        let configs: Vec<String> = names.filter(|name| name.ends_with(end)).map(str::to_owned).collect();
        for config in configs {
            let name = format!("{folder}{config}");
            match read(task, container, folder, &name).unless_cancelled()? {
                Ok(found) => {
                    // The names of several models may be the same; the first one's are shown, the files of all.
                    let mut is_new = |tensor: &Tensor| known.insert(tensor.name.clone());
                    leaves.extend(found.into_iter().filter(|tensor| is_new(tensor)));
                    taken.push(name);
                }
                Err(error) => problems.push(error.in_node(&name)),
            }
        }
    }
    let storages: Vec<&str> =
        if problems.is_empty() { vec!["data/weights/", "data/constants/"] } else { Vec::new() };
    let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
    let mut others = container.others(task, &storages, &taken)?;
    let mut root = Node::new("", "program");
    root.problem = problems.into_iter().next();
    let weights: Weights =
        leaves.iter().map(|tensor| (tensor.name.clone(), tensor.name.as_str().into())).collect();
    let folder = format!("{}{MODELS}", container.prefix);
    let names = container.archive.members.iter().filter_map(|member| member.name.strip_prefix(&folder));
    let names: Vec<String> = names.filter(|name| name.ends_with(".json")).map(str::to_owned).collect();
    let mut further = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let member = format!("{MODELS}{name}");
        if n == 0 {
            others.extend(draw(task, container, &mut root, &member, &weights)?);
            continue;
        }
        let mut node = Node::new(name.trim_end_matches(".json"), "program");
        let below = draw(task, container, &mut node, &member, &weights)?;
        further.push(super::with_after(node, below.into_iter().collect()));
    }
    if !further.is_empty() {
        others.push(Arc::new(Node::new("programs", "group").listed(further)));
    }
    Ok(modules::tree(root, leaves, others))
}

/// A program as it was saved before 2.8: the members, and the graph.
pub(super) fn open_old(task: &Task, container: &Container) -> Result<Node> {
    let mut root = Node::new("", "program").separator("");
    let mut members = container.others(task, &[], &[])?;
    let mut weights = Weights::new();
    for name in OLD_STATES.into_iter().filter(|name| container.has(name)) {
        if let Ok(names) = state_names(task, container, name).unless_cancelled()? {
            weights.extend(names);
        }
    }
    members.extend(draw(task, container, &mut root, OLD, &weights)?);
    Ok(super::with_after(root, members))
}

/// The tensors of a checkpoint in the archive, by their names: their paths in the document.
fn state_names(task: &Task, container: &Container, name: &str) -> Result<Weights> {
    let stored = part(task, container, name)?;
    let source = stored.source;
    let inner = Container::open(task, &source)?.ok_or_else(|| Error::malformed("no checkpoint"))?;
    let loaded = load(task, &inner.bytes(task, "data.pkl")?, inner.stores(task, "data/", "")?)?;
    let named = values::state(loaded.values.pickle()).unwrap_or_default();
    Ok(named.into_iter().map(|(key, _)| (key.clone(), format!("{name}/{key}").into())).collect())
}

/// Gives a node the graph of a program and what it says of itself; the bodies of its nodes as a group. What is wrong with
/// the graph is a remark, since the tensors are there without it.
fn draw(
    task: &Task,
    container: &Container,
    node: &mut Node,
    member: &str,
    weights: &Weights,
) -> Result<Option<Arc<Node>>> {
    let made = container.bytes(task, member).and_then(|text| {
        limits::check(text.len() as u64, limits::HEADER, "a program")?;
        let json: Json =
            serde_json::from_slice(&text).map_err(|error| Error::malformed(format!("program: {error}")))?;
        graph::program(task, &json, weights)
    });
    let made = match made.unless_cancelled()? {
        Ok(made) => made,
        Err(error) => {
            node.remarks.push(format!("its graph could not be drawn: {}", error.in_node(member).message()));
            return Ok(None);
        }
    };
    node.attributes.extend(made.attributes.into_iter().map(|(name, value)| (name, value.into())));
    let graph = Arc::new(made.graph);
    let group = bodies::node(&graph).map(Arc::new);
    node.content = Some(Content::Graph(graph));
    Ok(group)
}

/// The tensors of one file of descriptions.
fn read(task: &Task, container: &Container, folder: &str, name: &str) -> Result<Vec<Tensor>> {
    let text = container.bytes(task, name)?;
    limits::check(text.len() as u64, limits::HEADER, "the description of the tensors")?;
    let json: Json = serde_json::from_slice(&text)
        .map_err(|error| Error::malformed(format!("description of the tensors: {error}")))?;
    let config = json.get("config").and_then(Json::as_object);
    let config = config.ok_or_else(|| Error::malformed("description of the tensors: it has no config"))?;
    let big_endian = container.is_big_endian(task)?;
    let mut tensors = Vec::with_capacity(config.len());
    for (name, entry) in config {
        task.check()?;
        let made = tensor(task, container, folder, entry, big_endian).unless_cancelled()?;
        tensors.push(Tensor { name: name.clone(), made });
    }
    Ok(tensors)
}

/// What an entry of the description is.
enum What {
    Tensor(Made, bool),
    /// A checkpoint of its own, or an object of the program's.
    File(Box<Node>),
}

struct Tensor {
    name: String,
    made: Result<What>,
}

fn tensor(task: &Task, container: &Container, folder: &str, entry: &Json, big_endian: bool) -> Result<What> {
    let wrong = |what: &str| Error::malformed(format!("tensor: its description has no {what}"));
    let path = entry.get("path_name").and_then(Json::as_str).ok_or_else(|| wrong("path_name"))?;
    let stored = part(task, container, &format!("{folder}{path}"))?;
    let is_parameter = entry.get("is_param").and_then(Json::as_bool).unwrap_or(false);
    let meta = entry.get("tensor_meta").and_then(Json::as_object);
    let pickled = entry.get("use_pickle").and_then(Json::as_bool).unwrap_or(false);
    let Some(meta) = meta.filter(|_| !pickled) else {
        let source = stored.source.clone();
        let open = move |_: &Task| Ok(source.clone());
        let node = crate::formats::ALL.nested(path, "tensor", Options::default(), open);
        return Ok(What::File(Box::new(node)));
    };
    let dtype = meta.get("dtype").and_then(Json::as_u64).ok_or_else(|| wrong("dtype"))?;
    let kind = types::numbered(dtype)
        .ok_or_else(|| Error::unsupported(format!("tensors of the type number {dtype}")))?;
    let len = stored.source.len(task)?;
    let device = meta.get("device");
    let index = device.and_then(|device| device.get("index")).and_then(Json::as_u64);
    let device = device.and_then(|device| device.get("type")).and_then(Json::as_str).unwrap_or("cpu");
    let storage = Storage {
        key: path.to_owned(),
        label: "storage",
        elements: len / kind.size().max(1),
        kind: kind.clone(),
        location: index.map_or_else(|| device.to_owned(), |index| format!("{device}:{index}")),
        start: 0,
    };
    let strided = Strided {
        kind,
        offset: number(meta.get("storage_offset")).ok_or_else(|| wrong("storage_offset"))?,
        shape: numbers(meta, "sizes").ok_or_else(|| wrong("sizes"))?,
        strides: numbers(meta, "strides").ok_or_else(|| wrong("strides"))?,
        quantiser: None,
        conjugate: false,
        negative: false,
        storage,
    };
    let mut stores = Stores { big_endian, folder: folder.to_owned(), ..Stores::default() };
    stores.put(path.to_owned(), Ok(stored));
    let requires_grad = meta.get("requires_grad").and_then(Json::as_bool).unwrap_or(false);
    let more = is_parameter.then(|| ("requires grad".to_owned(), requires_grad.to_string()));
    let made = array::strided(&stores, &strided, more.into_iter().collect())?;
    Ok(What::Tensor(made, is_parameter))
}

/// A number, as the description has it: alone, or as the only field of an object.
fn number(json: Option<&Json>) -> Option<u64> {
    let json = json?;
    json.as_u64().or_else(|| json.get("as_int")?.as_u64())
}

fn numbers(meta: &Map<String, Json>, name: &str) -> Option<Vec<u64>> {
    meta.get(name)?.as_array()?.iter().map(|item| number(Some(item))).collect()
}

impl Leaf for Tensor {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        match &self.made {
            Ok(What::Tensor(made, is_parameter)) => {
                let label = if *is_parameter { "torch.nn.Parameter" } else { "torch.Tensor" };
                let mut node = Node::new(name, label).content(Content::Array(Arc::clone(&made.array)));
                node.problem.clone_from(&made.problem);
                node.span.clone_from(&made.span);
                node
            }
            Ok(What::File(node)) => Node { name: name.to_owned(), ..Node::clone(node) },
            Err(error) => Node::new(name, "torch.Tensor").problem(error.clone()),
        }
    }
}
