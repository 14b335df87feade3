//! MXNet symbols: the graph of a network as JSON, as `Symbol.save`, Gluon's `export` and Module's checkpoints write it
//! (`-symbol.json`). Nodes name an operator (`null` for what is handed in: data, labels, parameters), their attributes as texts, and
//! their inputs as a node, one of its outputs and a version; `heads` are what comes out, `arg_nodes` the `null` nodes.
//! <https://mxnet.apache.org/versions/1.9.1/api/architecture/overview>; the writer is `SaveJSON` in
//! <https://github.com/apache/mxnet/blob/v1.x/3rdparty/tvm/nnvm/src/pass/saveload_json.cc>. TVM's graphs are of the same make, with the
//! types and shapes of all outputs among the attributes.
//!
//! The parameters of the first epoch (`-0000.params`), where they lie beside it, are opened with it, and the graph names
//! their arrays.

mod read;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use memchr::memmem::find;
use serde_json::Value as Json;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["json"],
    sniff: Some(sniff),
    reads: &[Kind::Graph, Kind::Array],
    holds_weights: true,
    ..Format::new("mxnet_symbol", "MXNet symbol", open)
};

/// How the files of a model end.
const SYMBOL: &str = "-symbol.json";
const PARAMETERS: &str = "-0000.params";

/// An object of nodes with operators, which ends with the nodes that come out.
fn sniff(head: &Head) -> Match {
    let Some(json) = head.json().filter(|_| !head.is_folder) else { return Match::No };
    let has = |name: &str| json.names.iter().any(|known| known == name);
    if json.is_whole {
        return if has("nodes") && has("arg_nodes") && has("heads") { Match::Yes } else { Match::No };
    }
    let nodes = json.names.first().is_some_and(|name| name == "nodes");
    let fields = ["\"op\"", "\"name\"", "\"inputs\""];
    let is_one = nodes && fields.iter().all(|field| find(&head.first, field.as_bytes()).is_some());
    // Of a stream the end is not seen.
    let ends =
        head.last.is_empty() || find(&head.last, b"\"heads\"").is_some() || head.name.ends_with(SYMBOL);
    if is_one && ends { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let len = limits::check(source.len(task)?, limits::HEADER, "a symbol")?;
    let bytes = source.read(task, 0..len as u64)?;
    let json: Json = serde_json::from_slice(&bytes)
        .map_err(|error| Error::malformed(format!("the symbol is no JSON: {error}")))?;
    let mut root = Node::new("", "symbol").separator("");
    describe(&mut root, &json);
    let parameters = parameters(task, source, opening.options)?;
    let mut arrays = read::Arrays { node: parameters.clone() };
    let (graph, problem) = read::graph(task, &json, &mut arrays)?;
    root.problem = problem;
    root.content = Some(Content::Graph(Arc::new(graph)));
    if let Some(parameters) = parameters {
        root = root.listed(vec![Arc::unwrap_or_clone(parameters)]);
    }
    Ok(root)
}

/// The attributes of the symbol as a whole: `["int", 10901]` is 10901.
fn describe(root: &mut Node, json: &Json) {
    let attributes = json.get("attrs").and_then(Json::as_object);
    for (name, value) in attributes.into_iter().flatten() {
        // Lists of types and shapes are those of values.
        let value = match value {
            Json::Array(typed) => match typed.as_slice() {
                [Json::String(kind), _] if kind.starts_with("list_") => continue,
                [Json::String(_), value] => value.clone(),
                _ => value.clone(),
            },
            value => value.clone(),
        };
        let version = value.as_u64().filter(|_| name == "mxnet_version");
        let value = version.map_or(value, |version| {
            format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100).into()
        });
        root.attributes.push((name.clone(), value.into()));
    }
}

/// The file of parameters beside a symbol, opened; `None` where there is none.
fn parameters(task: &Task, source: &Source, options: &Options) -> Result<Option<Arc<Node>>> {
    let Some(stem) = source.name().strip_suffix(SYMBOL).filter(|_| source.path().is_some()) else {
        return Ok(None);
    };
    let name = format!("{stem}{PARAMETERS}");
    let Ok(file) = source.sibling(task, &name).unless_cancelled()? else { return Ok(None) };
    if file.is_folder() {
        return Ok(None);
    }
    let opened = crate::formats::ALL.nested_now(task, &name, "parameters", &file, &options.below(&name));
    Ok(Some(Arc::new(match opened.unless_cancelled()? {
        Ok(node) => node,
        Err(problem) => Node::new(name, "parameters").problem(problem),
    })))
}
