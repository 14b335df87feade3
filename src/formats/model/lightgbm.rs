//! LightGBM models, the text that `Booster.save_model` writes: lines `name=value` about the model, then the trees — each a
//! block of such lines with a list to a line —, then how often features were used, the parameters of the training and the
//! categories of pandas' columns.
//! <https://lightgbm.readthedocs.io/en/stable/pythonapi/lightgbm.Booster.html#lightgbm.Booster.save_model>; the names are those of
//! <https://github.com/microsoft/LightGBM/blob/v4.6.0/src/boosting/gbdt_model_text.cpp> and `src/io/tree.cpp` there.
//!
//! The trees are one table with the columns of `Booster.trees_to_dataframe`, read by pages (see [`crate::engines::trees`]);
//! the categories of a split, there a text in `threshold`, are a list in a column of their own. Below the table each tree is a
//! graph, which is made when somebody looks at it.

mod tree;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening};
use crate::data::node::{Findings, Node};
use crate::data::sniff::{Head, Match};
use crate::engines::trees::{Forest, LateTable};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;
use tree::{LgbTrees, split};

/// The descriptor.
pub static FORMAT: Format = Format {
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Graph],
    ..Format::new("lightgbm", "LightGBM model", open)
};

/// A file up to this many bytes is gone through when it is opened.
const WHOLE: u64 = 8 << 20;
/// Bytes at the end of a large file in which what follows the trees is looked for.
const TAIL: u64 = 4 << 20;

/// The first line, and lines that follow it in every version.
fn sniff(head: &Head) -> Match {
    let line =
        |rest: &[u8]| rest.strip_prefix(b"\n").or_else(|| rest.strip_prefix(b"\r\n")).map(<[u8]>::to_vec);
    let Some(rest) = head.first.strip_prefix(b"tree").and_then(line) else { return Match::No };
    let is_one = !head.is_folder && (rest.starts_with(b"version=v") || rest.starts_with(b"num_class="));
    if is_one { Match::Yes } else { Match::No }
}

/// What stands before the trees.
struct Header {
    /// Names and values, in order; flags have no value.
    fields: Vec<(String, String)>,
    /// Where the first tree begins.
    trees: u64,
}

impl Header {
    fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads up to the first tree.
fn header(task: &Task, source: &Source) -> Result<Header> {
    let mut most = 64 << 10;
    loop {
        task.check()?;
        let bytes = source.read_up_to(task, 0, most)?;
        let ends = ["\nTree=", "\nend of trees"];
        let end = ends.iter().filter_map(|end| memchr::memmem::find(&bytes, end.as_bytes())).min();
        if end.is_none() && bytes.len() == most {
            most = limits::check(most as u64 * 8, limits::HEADER, "the header")?;
            continue;
        }
        let text =
            String::from_utf8_lossy(bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default()).into_owned();
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).skip(1);
        let fields = lines.map(|line| {
            let (name, value) = line.split_once('=').unwrap_or((line, "true"));
            (name.to_owned(), value.to_owned())
        });
        let fields = fields.collect();
        return match end {
            Some(end) => Ok(Header { fields, trees: end as u64 + 1 }),
            None => Err(Error::malformed("model: it has no trees; it may be cut off").at(bytes.len() as u64)),
        };
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let header = header(task, source)?;
    let names: Arc<[String]> =
        split(header.get("feature_names").unwrap_or_default()).map(str::to_owned).collect();
    let is_small = source.known_len().is_some_and(|len| len <= WHOLE);
    let promised = header.get("tree_sizes").map(|sizes| split(sizes).count() as u64);
    let classes = header.get("num_tree_per_iteration").and_then(|count| count.parse().ok()).unwrap_or(1);
    let trees = LgbTrees::new(names.clone(), is_linear(task, source, header.trees)?, classes);
    let forest = Forest::new(source.clone(), header.trees, promised, trees);
    let importance = Arc::new(importance(&forest, names.clone()));
    if is_small {
        forest.count(task)?;
    }
    let mut root = Node::new("", "LightGBM model");
    for (name, value) in &header.fields {
        // Those of every feature or tree are tables.
        if !["feature_names", "feature_infos", "tree_sizes", "monotone_constraints"].contains(&name.as_str())
        {
            root = root.attribute(name.clone(), value.as_str());
        }
    }
    tail(task, source, forest.end(), header.trees, &mut root)?;
    if forest.problem().is_some() {
        // It says more: what breaks the trees.
        root.problem = None;
    } else if is_small && let Err(error) = importance.count(task).unless_cancelled()? {
        root.problem.get_or_insert(error);
    }
    root.findings = Some(forest.clone());
    let table = |name: &str, table: Arc<dyn Table>| Node::new(name, "table").content(Content::Table(table));
    let mut children = vec![Forest::node(&forest), table("feature importance", importance)];
    if !names.is_empty() {
        children.push(table("features", Arc::new(features(&header, &names)?)));
    }
    Ok(root.listed(children))
}

/// Whether the leaves of the first tree are linear models.
fn is_linear(task: &Task, source: &Source, at: u64) -> Result<bool> {
    let mut window = crate::engines::records::Window::new(task, source);
    let Ok(Some((span, _))) = tree::next(&mut window, at).unless_cancelled()? else { return Ok(false) };
    let bytes = source.read(task, span)?;
    Ok(memchr::memmem::find(&bytes, b"\nis_linear=1").is_some())
}

/// What stands behind the trees, which end at `end` if that is known: parameters, pandas' categories.
fn tail(task: &Task, source: &Source, end: Option<u64>, trees: u64, root: &mut Node) -> Result<()> {
    let len = source.known_len();
    let start = match (end, len) {
        (Some(end), _) => end,
        (None, Some(len)) if source.is_random_access() => len.saturating_sub(TAIL).max(trees),
        _ => return Ok(()),
    };
    let bytes = source.read_up_to(task, start, TAIL as usize)?;
    let Some(at) = memchr::memmem::find(&bytes, b"end of trees") else {
        if len.is_some() && source.is_random_access() {
            let lost = Error::malformed("model: the end of the trees is not there; it may be cut off");
            root.problem = Some(lost.at(start + bytes.len() as u64));
        }
        return Ok(());
    };
    let text = String::from_utf8_lossy(bytes.get(at..).unwrap_or_default()).into_owned();
    let mut parameters = serde_json::Map::new();
    let mut within = false;
    for line in text.lines().map(str::trim_end) {
        if let Some(categories) = line.strip_prefix("pandas_categorical:") {
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(categories)
                && !value.is_null()
            {
                root.attributes.push(("pandas_categorical".to_owned(), value.into()));
            }
        } else if line == "parameters:" {
            within = true;
        } else if line == "end of parameters" {
            within = false;
        } else if let Some(inner) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'))
            && within
            && let Some((name, value)) = inner.split_once(':')
        {
            parameters.insert(name.to_owned(), value.trim().into());
        }
    }
    if !parameters.is_empty() {
        root.attributes.push(("parameters".to_owned(), serde_json::Value::from(parameters).into()));
    }
    Ok(())
}

/// The features: `feature_infos` has the range of a numerical one, the categories of others, `none` of one that was not used.
fn features(header: &Header, names: &[String]) -> Result<MemoryTable> {
    let infos: Vec<&str> = split(header.get("feature_infos").unwrap_or_default()).collect();
    let constraints: Vec<&str> = split(header.get("monotone_constraints").unwrap_or_default()).collect();
    let range = |n: usize| {
        let (low, high) = infos.get(n)?.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
        Some((low.parse::<f64>().ok()?, high.parse::<f64>().ok()?))
    };
    let kind = |n: usize| {
        Some(match *infos.get(n)? {
            "none" => "unused",
            info if info.starts_with('[') => "numerical",
            _ => "categorical",
        })
    };
    let all = || 0..names.len();
    let categories = all().map(|n| infos.get(n).filter(|_| kind(n) == Some("categorical")));
    let mut fields = vec![
        Field::new("index", DataType::Int64, false),
        Field::new("name", DataType::Utf8, false),
        Field::new("type", DataType::Utf8, true),
        Field::new("min", DataType::Float64, true),
        Field::new("max", DataType::Float64, true),
        Field::new("categories", DataType::Utf8, true),
    ];
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(all().map(|n| n as i64))),
        Arc::new(StringArray::from_iter_values(names)),
        Arc::new(StringArray::from_iter(all().map(kind))),
        Arc::new(Float64Array::from_iter(all().map(|n| range(n).map(|range| range.0)))),
        Arc::new(Float64Array::from_iter(all().map(|n| range(n).map(|range| range.1)))),
        Arc::new(StringArray::from_iter(categories)),
    ];
    if !constraints.is_empty() {
        fields.push(Field::new("monotone_constraint", DataType::Int64, true));
        let constraint = |n: usize| constraints.get(n)?.parse::<i64>().ok();
        columns.push(Arc::new(Int64Array::from_iter(all().map(constraint))));
    }
    Ok(MemoryTable::new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?))
}

/// What `Booster.feature_importance` gives for both types, of every feature: how many splits with a gain use it, and what
/// these gain together.
fn importance(forest: &Arc<Forest<LgbTrees>>, names: Arc<[String]>) -> LateTable {
    let schema = Arc::new(Schema::new(vec![
        Field::new("feature", DataType::Utf8, false),
        Field::new("split", DataType::Int64, false),
        Field::new("gain", DataType::Float64, false),
    ]));
    let (forest, columns) = (forest.clone(), schema.clone());
    LateTable::new(schema, move |task| {
        task.set_total(forest.source().known_len().unwrap_or(0));
        let mut scores = vec![(0i64, 0f64); names.len()];
        forest.visit(task, |_, tree| {
            let parsed = tree::Parsed::read(task, forest.source(), &tree.span)?;
            for (feature, gain) in parsed.splits() {
                if let Some(score) = scores.get_mut(feature).filter(|_| gain > 0.0) {
                    // The library holds gains as float32.
                    *score = (score.0 + 1, score.1 + f64::from(gain));
                }
            }
            Ok(())
        })?;
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(names.iter())),
            Arc::new(Int64Array::from_iter_values(scores.iter().map(|score| score.0))),
            Arc::new(Float64Array::from_iter_values(scores.iter().map(|score| score.1))),
        ];
        Ok(RecordBatch::try_new(columns.clone(), arrays)?)
    })
}

#[cfg(test)]
mod tests;
