//! CatBoost models, the binary format `.cbm`: the letters `CBM1`, the length of a FlatBuffer, and in it the features with
//! their borders, the splits of the trees, the values and weights of the leaves, and what the training noted; statistics of
//! categories may follow.
//! <https://catboost.ai/docs/en/concepts/python-reference_catboost_save_model>; the tables are those of
//! <https://github.com/catboost/catboost/tree/v1.2.7/catboost/libs/model/flatbuffers>.
//!
//! | part | what it does |
//! |---|---|
//! | [`flat`] | FlatBuffers by their places |
//! | [`model`] | features, and the conditions that splits number |
//! | [`tree`] | the trees as rows, and as graphs, which are made when somebody looks at them |
//! | [`importance`] | how much each feature changes predictions |

mod flat;
mod importance;
mod model;
mod tree;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Content, Kind, Table};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Magic, Match};
use crate::engines::records::Window;
use crate::engines::trees::Forest;
use flat::{Flat, Vector};
use model::Model;
use std::sync::Arc;
use tree::CatTrees;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["cbm"],
    magic: &[Magic::at(0, MARK)],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Array, Kind::Graph],
    ..Format::new("catboost", "CatBoost model", open)
};

const MARK: &[u8] = b"CBM1";
/// The name of the format in the buffer.
const VERSION: &str = "FlabuffersModel_v1";
/// Trees up to this many rows are gone through for the importance of features when the file is opened.
const EAGER: u64 = 1 << 18;

/// The mark, and a root table that can be.
fn sniff(head: &Head) -> Match {
    let root = le::<u32>(&head.first, 8).is_some_and(|root| (4..1 << 20).contains(&root));
    if !head.is_folder && head.starts_with(MARK) && root { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let len = source.len(task)?;
    let flat = Flat::new(Window::new(task, source), 8);
    let core = flat.root()?;
    let mut root = Node::new("", "CatBoost model");
    let version = core.text(0)?;
    if version != VERSION {
        return Err(Error::unsupported(format!("a CatBoost model of the format {version:?}")));
    }
    let size = le::<u32>(&opening.head.first, 4).unwrap_or(0);
    if u64::from(size) + 8 > len {
        let what =
            format!("model: it should have {} bytes and has {len}; it may be cut off", u64::from(size) + 8);
        root.problem = Some(Error::malformed(what));
    }
    for pair in core.tables(2)? {
        let (name, value) = (pair.text(0)?, pair.text(1)?);
        let json = serde_json::from_str::<serde_json::Value>(&value).ok().filter(|json| json.is_object());
        root = match json {
            Some(json) => root.attribute(name, json),
            None => root.attribute(name, value.trim()),
        };
    }
    let parts = core.texts(3)?;
    if !parts.is_empty() {
        root = root.attribute("model parts", serde_json::Value::from(parts));
    }
    let Some(trees) = core.table(1)? else { return Err(Error::malformed("model: it has no trees")) };
    let model = Model::read(&flat, trees)?;
    describe(&mut root, &model);
    children(task, source, root, model)
}

fn describe(root: &mut Node, model: &Model) {
    let float = crate::data::cell::float64;
    let mut add = |name: &str, value: String| root.attributes.push((name.to_owned(), value.into()));
    add("trees", model.sizes.len().to_string());
    add("approx_dimension", model.width.to_string());
    add("structure", if model.steps.is_empty() { "oblivious" } else { "non-symmetric" }.to_owned());
    add("scale", float(model.scale));
    let bias: Vec<String> = model.bias.iter().map(|bias| float(*bias)).collect();
    add("bias", bias.join(" "));
}

fn children(task: &Task, source: &Source, mut root: Node, model: Model) -> Result<Node> {
    let table = |name: &str, table: Arc<dyn Table>| Node::new(name, "table").content(Content::Table(table));
    let mut children = Vec::new();
    let features: Arc<dyn Table> = Arc::new(model.features_table()?);
    let arrays = [
        values(source, "leaf values", model.values, if model.width > 1 { Some(model.width) } else { None }),
        values(source, "leaf weights", model.weights, None),
    ];
    let model = Arc::new(model);
    // Trees are numbered, and looked up in the lists of the model.
    let forest = Forest::new(source.clone(), 0, None, CatTrees::new(model.clone()));
    let rows = forest.count(task)?;
    root.findings = Some(forest.clone());
    children.push(Forest::node(&forest));
    if model.has_weights() {
        let importance = Arc::new(importance::table(source, &model));
        if rows <= EAGER
            && let Err(error) = importance.count(task).unless_cancelled()?
        {
            root.problem.get_or_insert(error);
        }
        children.push(table("feature importance", importance));
    }
    children.push(table("features", features));
    children.extend(arrays.into_iter().flatten());
    Ok(root.listed(children))
}

/// An array of doubles in the file.
fn values(source: &Source, name: &str, vector: Vector, width: Option<usize>) -> Option<Node> {
    if vector.count == 0 {
        return None;
    }
    let shape = match width.map(|width| width as u64) {
        Some(width) if vector.count.is_multiple_of(width) => vec![vector.count / width, width],
        _ => vec![vector.count],
    };
    let node = Node::new(name, "array");
    Some(match Plain::new(source.clone(), vector.start, DType::F64, shape) {
        Ok(plain) => node.content(Content::Array(Arc::new(plain))),
        Err(error) => node.problem(error),
    })
}

#[cfg(test)]
mod tests;
