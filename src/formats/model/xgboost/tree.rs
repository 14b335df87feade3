//! One tree: its nodes as lists, as JSON and UBJSON have them, and the rows that they make.
//! The lists are those of `RegTree`: children, or -1 for a leaf; the index of the feature and the threshold of a split, which of
//! a leaf is its value; the reduction of the loss and the sum of the hessians. A split of categories lists those that go to
//! the right child.

use super::document::integer;
use super::text;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{be, le};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::graph::Attribute;
use crate::data::dtype::DType;
use crate::data::node::Value;
use crate::engines::records::Window;
use crate::engines::trees::drawing::{self, Step, TreeGraph, float32, listed};
use crate::engines::trees::{Tree, Trees, reachable};
use crate::engines::ubjson;
use arrow::array::{
    ArrayRef, Float32Array, Float32Builder, Int32Array, Int32Builder, Int64Array, ListBuilder, StringBuilder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The largest tree, in bytes.
const LARGEST: u64 = limits::CHUNK;

/// How trees are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Objects in an array of JSON.
    Json,
    /// Objects in an array of UBJSON.
    Ubjson,
    /// Records of the old binary format up to this place.
    Binary(u64),
}

/// The trees of a model.
pub struct XgbTrees {
    schema: SchemaRef,
    place: Place,
    /// The names of the features; others are `f0`, `f1`, ….
    names: Arc<[String]>,
    /// The output that each tree is of, where there are several.
    groups: Option<Arc<[i64]>>,
    /// How many values a leaf has.
    width: usize,
}

impl XgbTrees {
    /// Trees whose leaves have `width` values.
    pub fn new(place: Place, names: Arc<[String]>, groups: Option<Arc<[i64]>>, width: usize) -> Self {
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let float = |name: &str| Field::new(name, DataType::Float32, true);
        let list = |kind| DataType::List(Arc::new(Field::new_list_field(kind, true)));
        let leaf = if width > 1 { list(DataType::Float32) } else { DataType::Float32 };
        let mut fields = vec![
            Field::new("Tree", DataType::Int64, false),
            Field::new("Node", DataType::Int64, false),
            text("ID"),
            text("Feature"),
            float("Split"),
            text("Yes"),
            text("No"),
            text("Missing"),
            float("Gain"),
            float("Cover"),
            Field::new("Category", list(DataType::Int32), true),
            Field::new("Depth", DataType::Int32, false),
            Field::new("Leaf", leaf, true),
        ];
        if groups.is_some() {
            fields.push(Field::new("Group", DataType::Int64, true));
        }
        XgbTrees { schema: Arc::new(Schema::new(fields)), place, names, groups, width }
    }

    /// The name of a feature.
    pub fn name(&self, feature: usize) -> Cow<'_, str> {
        match self.names.get(feature) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("f{feature}")),
        }
    }

    /// The nodes of a tree.
    ///
    /// # Errors
    /// What is wrong with the tree.
    pub fn nodes(&self, task: &Task, source: &Source, span: &Range<u64>) -> Result<Nodes> {
        limits::check(span.end.saturating_sub(span.start), LARGEST, "a tree")?;
        let bytes = source.read(task, span.clone())?;
        match self.place {
            Place::Json => Lists::of_json(&bytes)?.nodes(),
            Place::Ubjson => Lists::of_ubjson(task, &Source::memory("tree", bytes))?.nodes(),
            Place::Binary(_) => super::binary::nodes(&bytes),
        }
    }
}

impl Trees for XgbTrees {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&self, window: &mut Window, at: u64) -> Result<Option<(Range<u64>, u64)>> {
        match self.place {
            Place::Json => {
                let at = text::space(window, at)?;
                match text::peek(window, at)? {
                    Some(b'{') => {}
                    Some(b']') => return Ok(None),
                    _ => return Err(Error::malformed("trees: a tree or the end of the list is expected")),
                }
                let end = text::skip(window, at)?;
                limits::check(end - at, LARGEST, "a tree")?;
                let bytes = window.source.read(window.task, at..end)?;
                let count = |name: &str| json_count(&bytes, name);
                rows(at..end, count("num_nodes"), count("num_deleted")).map(Some)
            }
            Place::Ubjson => {
                if window.get(at, 1)?.first() != Some(&b'{') {
                    return Ok(None);
                }
                let mut here = at;
                let Some(mut members) = ubjson::Members::of(window, &mut here)? else { return Ok(None) };
                let (mut nodes, mut deleted) = (None, None);
                while let Some(name) = members.next(window, &mut here)? {
                    if name == "tree_param" {
                        let (param, end) = ubjson::value(window, here)?;
                        let count = |name: &str| param.get(name).and_then(integer);
                        (nodes, deleted, here) = (count("num_nodes"), count("num_deleted"), end);
                    } else {
                        here = ubjson::skip(window, here)?;
                    }
                }
                rows(at..here, nodes, deleted).map(Some)
            }
            Place::Binary(end) => super::binary::next(window, at, end),
        }
    }

    fn read(&self, task: &Task, source: &Source, tree: &Tree) -> Result<Vec<ArrayRef>> {
        let nodes = self.nodes(task, source, &tree.span)?;
        let mut order = nodes.reachable()?;
        order.sort_unstable();
        let id = |node: i64| format!("{}-{node}", tree.number);
        let (mut ids, mut features) = (StringBuilder::new(), StringBuilder::new());
        let [mut yes, mut no, mut missing] = [(); 3].map(|()| StringBuilder::new());
        let [mut split, mut gain] = [(); 2].map(|()| Float32Builder::new());
        let mut category = ListBuilder::new(Int32Builder::new());
        for (node, _) in &order {
            ids.append_value(id(*node as i64));
            let Some([left, right]) = nodes.children(*node)? else {
                features.append_value("Leaf");
                for builder in [&mut yes, &mut no, &mut missing] {
                    builder.append_null();
                }
                split.append_null();
                gain.append_null();
                category.append_null();
                continue;
            };
            let (left, right) = (left as i64, right as i64);
            features.append_value(self.name(nodes.feature(*node)));
            missing.append_value(id(if nodes.default_left(*node) { left } else { right }));
            gain.append_option(nodes.gain.get(*node).copied());
            // Categories that are listed go to the right.
            let chosen = nodes.categories.get(node);
            let (to_yes, to_no) = if chosen.is_some() { (right, left) } else { (left, right) };
            yes.append_value(id(to_yes));
            no.append_value(id(to_no));
            split.append_option(nodes.value.get(*node).copied().filter(|_| chosen.is_none()));
            category.append_option(chosen.map(|list| list.iter().map(|n| Some(*n))));
        }
        let cover = order.iter().map(|(node, _)| nodes.cover.get(*node).copied());
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_value(tree.number.cast_signed(), order.len())),
            Arc::new(Int64Array::from_iter_values(order.iter().map(|(node, _)| *node as i64))),
            Arc::new(ids.finish()),
            Arc::new(features.finish()),
            Arc::new(split.finish()),
            Arc::new(yes.finish()),
            Arc::new(no.finish()),
            Arc::new(missing.finish()),
            Arc::new(gain.finish()),
            Arc::new(Float32Array::from_iter(cover)),
            Arc::new(category.finish()),
            Arc::new(Int32Array::from_iter_values(order.iter().map(|(_, depth)| depth.cast_signed()))),
            self.leaves(&nodes, &order)?,
        ];
        if let Some(groups) = &self.groups {
            let group = usize::try_from(tree.number).ok().and_then(|number| groups.get(number)).copied();
            columns.push(Arc::new(Int64Array::from(vec![group; order.len()])));
        }
        Ok(columns)
    }

    fn draw(&self, task: &Task, source: &Source, tree: &Tree) -> Result<TreeGraph> {
        let nodes = self.nodes(task, source, &tree.span)?;
        let mut order = nodes.reachable()?;
        order.sort_unstable();
        drawing::draw(task, format!("tree {}", tree.number), order, |node| self.step(&nodes, node))
    }

    fn about(&self, number: u64) -> Vec<(String, Value)> {
        let group = |groups: &Arc<[i64]>| groups.get(usize::try_from(number).ok()?).copied();
        let group = self.groups.as_ref().and_then(group);
        group.map(|group| ("group".to_owned(), group.to_string().into())).into_iter().collect()
    }
}

impl XgbTrees {
    /// A node for the graph of its tree.
    fn step(&self, nodes: &Nodes, node: usize) -> Result<Step> {
        let mut attributes = vec![("node", Attribute::Int(node as i64))];
        let number = |list: &[f32]| list.get(node).copied().map(float32);
        attributes.extend(nodes.cover.get(node).map(|cover| ("cover", float32(*cover))));
        let Some([left, right]) = nodes.children(node)? else {
            let values = nodes.leaf(node, self.width).unwrap_or_default();
            let name = match values {
                [value] => cell::float32(*value),
                several => format!("[{}]", listed(several.iter().map(|value| cell::float32(*value)))),
            };
            if self.width > 1 {
                let values = values.iter().map(|value| cell::float32(*value).parse().unwrap_or(f64::NAN));
                attributes.push(("values", Attribute::Floats(values.collect())));
            }
            return Ok(Step { name, children: Vec::new(), attributes });
        };
        attributes.extend(number(&nodes.gain).map(|gain| ("gain", gain)));
        let feature = self.name(nodes.feature(node));
        let is_left = nodes.default_left(node);
        let (name, is_yes, [yes, no]) = match nodes.categories.get(&node) {
            // Categories that are listed go to the right.
            Some(categories) => {
                let all = categories.iter().map(|category| i64::from(*category)).collect();
                attributes.push(("categories", Attribute::Ints(all)));
                (format!("{feature} in {{{}}}", listed(categories.iter())), !is_left, [right, left])
            }
            None => {
                let threshold = nodes.value.get(node).copied().unwrap_or(f32::NAN);
                (format!("{feature} < {}", cell::float32(threshold)), is_left, [left, right])
            }
        };
        Ok(Step { name, children: drawing::branches(yes, no, Some(is_yes)), attributes })
    }

    /// The values of the leaves; null for other nodes.
    fn leaves(&self, nodes: &Nodes, order: &[(usize, u32)]) -> Result<ArrayRef> {
        let mut lists = ListBuilder::new(Float32Builder::new());
        let mut single = Float32Builder::new();
        for (node, _) in order {
            let value = match nodes.children(*node)? {
                Some(_) => None,
                None => nodes.leaf(*node, self.width),
            };
            if self.width > 1 {
                lists.append_option(value.map(|value| value.iter().map(|x| Some(*x))));
            } else {
                single.append_option(value.and_then(|value| value.first().copied()));
            }
        }
        Ok(if self.width > 1 { Arc::new(lists.finish()) } else { Arc::new(single.finish()) })
    }
}

/// The bytes of a tree with its rows: nodes that were pruned have none.
fn rows(span: Range<u64>, nodes: Option<u64>, deleted: Option<u64>) -> Result<(Range<u64>, u64)> {
    let nodes = nodes.ok_or_else(|| Error::malformed("tree: it does not say how many nodes it has"))?;
    let rows =
        nodes.checked_sub(deleted.unwrap_or(0)).filter(|rows| *rows > 0 && *rows <= span.end - span.start);
    let rows =
        rows.ok_or_else(|| Error::malformed(format!("tree: it cannot have {nodes} nodes")).at(span.start))?;
    Ok((span, rows))
}

/// The number behind a name in a tree's JSON.
fn json_count(bytes: &[u8], name: &str) -> Option<u64> {
    let at = memchr::memmem::rfind(bytes, format!("\"{name}\"").as_bytes())?;
    let rest = bytes.get(at + name.len() + 2..)?;
    let digits = rest.iter().skip_while(|byte| !byte.is_ascii_digit() && **byte != b'}');
    let digits: String =
        digits.take_while(|byte| byte.is_ascii_digit()).map(|byte| char::from(*byte)).collect();
    digits.parse().ok()
}

/// The nodes of a tree.
#[derive(Debug, Default)]
pub struct Nodes {
    /// The children of each node; -1 for none.
    pub left: Vec<i64>,
    /// The same of the other side.
    pub right: Vec<i64>,
    /// The feature that each node splits.
    pub features: Vec<i64>,
    /// Whether what is missing goes to the left, not 0.
    pub defaults: Vec<i64>,
    /// The threshold of a split; the value of a leaf.
    pub value: Vec<f32>,
    /// The reduction of the loss.
    pub gain: Vec<f32>,
    /// The sum of the hessians.
    pub cover: Vec<f32>,
    /// The categories of nodes that split such.
    pub categories: HashMap<usize, Vec<i32>>,
    /// The values of leaves that have several.
    pub vectors: Vec<f32>,
    /// Whether these stand by the number of the leaf, which is in place of its right child, rather than by that of the node.
    pub by_leaf: bool,
}

impl Nodes {
    /// The two children of a node; `None` for a leaf.
    ///
    /// # Errors
    /// `Malformed` for a number that is none of a node.
    pub fn children(&self, node: usize) -> Result<Option<[usize; 2]>> {
        let (Some(left), Some(right)) = (self.left.get(node), self.right.get(node)) else {
            return Err(Error::malformed(format!("node {node}: there is no such node")));
        };
        if *left == -1 {
            return Ok(None);
        }
        match (usize::try_from(*left), usize::try_from(*right)) {
            (Ok(left), Ok(right)) => Ok(Some([left, right])),
            _ => Err(Error::malformed(format!("node {node}: its children are {left} and {right}"))),
        }
    }

    /// The nodes that are reached from the root, with their depths, in the order in which XGBoost visits them.
    ///
    /// # Errors
    /// `Malformed` where this is no tree.
    pub fn reachable(&self) -> Result<Vec<(usize, u32)>> {
        reachable(self.left.len(), |node| self.children(node))
    }

    /// The feature that a node splits.
    pub fn feature(&self, node: usize) -> usize {
        self.features.get(node).and_then(|feature| usize::try_from(*feature).ok()).unwrap_or(usize::MAX)
    }

    fn default_left(&self, node: usize) -> bool {
        self.defaults.get(node).is_some_and(|left| *left != 0)
    }

    /// The values of a leaf.
    fn leaf(&self, node: usize, width: usize) -> Option<&[f32]> {
        if self.vectors.is_empty() || width <= 1 {
            return self.value.get(node..node.checked_add(1)?);
        }
        let place = if self.by_leaf { usize::try_from(*self.right.get(node)?).ok()? } else { node };
        let start = place.checked_mul(width)?;
        self.vectors.get(start..start.checked_add(width)?)
    }
}

/// A list of a tree.
enum List {
    Integers(Vec<i64>),
    Floats(Vec<f32>),
}

/// The lists of a tree by name.
#[derive(Default)]
struct Lists(HashMap<String, List>);

/// The lists that hold floats.
const FLOATS: [&str; 5] = ["base_weights", "leaf_weights", "loss_changes", "split_conditions", "sum_hessian"];

impl Lists {
    fn of_json(bytes: &[u8]) -> Result<Lists> {
        let not_text = |_| Error::malformed("tree: it is not UTF-8");
        let text = simdutf8::compat::from_utf8(bytes).map_err(not_text)?;
        let fields =
            crate::data::json::object(text).ok_or_else(|| Error::malformed("tree: it is no object"))?;
        let mut lists = Lists::default();
        for (name, raw) in fields {
            let Some(inner) = raw.trim().strip_prefix('[').and_then(|raw| raw.strip_suffix(']')) else {
                continue;
            };
            let items = inner.split(',').map(str::trim).filter(|item| !item.is_empty());
            let wrong = |item: &str| {
                Error::malformed(format!("tree: {name} has {:?}", item.chars().take(40).collect::<String>()))
            };
            let list = if FLOATS.contains(&name.as_ref()) {
                List::Floats(items.map(|item| item.parse().map_err(|_| wrong(item))).collect::<Result<_>>()?)
            } else {
                let one = |item: &str| match item {
                    "true" => Ok(1),
                    "false" => Ok(0),
                    item => item.parse().map_err(|_| wrong(item)),
                };
                List::Integers(items.map(one).collect::<Result<_>>()?)
            };
            lists.0.insert(name.into_owned(), list);
        }
        Ok(lists)
    }

    fn of_ubjson(task: &Task, source: &Source) -> Result<Lists> {
        let (mut window, mut at) = (Window::new(task, source), 0);
        let mut lists = Lists::default();
        let Some(mut members) = ubjson::Members::of(&mut window, &mut at)? else {
            return Err(Error::malformed("tree: it is no object"));
        };
        while let Some(name) = members.next(&mut window, &mut at)? {
            if let Some(numbers) = ubjson::array(&mut window, at)? {
                let end = numbers.start + numbers.count * numbers.dtype.size();
                let bytes = source.read(task, numbers.start..end)?;
                lists.0.insert(name, decoded(&numbers.dtype, &bytes));
                at = end;
                continue;
            }
            let end = ubjson::skip(&mut window, at)?;
            if window.get(at, 1)? == b"[" {
                let (value, _) = ubjson::value(&mut window, at)?;
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let list = if FLOATS.contains(&name.as_str()) {
                    List::Floats(items.iter().map(|item| item.as_f64().unwrap_or(f64::NAN) as f32).collect())
                } else {
                    let one = |item: &serde_json::Value| item.as_i64().or(item.as_bool().map(i64::from));
                    List::Integers(items.iter().map(|item| one(item).unwrap_or(0)).collect())
                };
                lists.0.insert(name, list);
            }
            at = end;
        }
        Ok(lists)
    }

    fn integers(&mut self, name: &str) -> Vec<i64> {
        match self.0.remove(name) {
            Some(List::Integers(list)) => list,
            Some(List::Floats(list)) => list.into_iter().map(|x| x as i64).collect(),
            None => Vec::new(),
        }
    }

    fn floats(&mut self, name: &str) -> Vec<f32> {
        match self.0.remove(name) {
            Some(List::Floats(list)) => list,
            Some(List::Integers(list)) => list.into_iter().map(|x| x as f32).collect(),
            None => Vec::new(),
        }
    }

    fn nodes(mut self) -> Result<Nodes> {
        let (left, right) = (self.integers("left_children"), self.integers("right_children"));
        if left.is_empty() || left.len() != right.len() {
            let (left, right) = (left.len(), right.len());
            return Err(Error::malformed(format!("tree: {left} left children and {right} right ones")));
        }
        let by_leaf = self.0.contains_key("leaf_weights");
        let categories = self.categories(left.len())?;
        let nodes = Nodes {
            features: self.integers("split_indices"),
            defaults: self.integers("default_left"),
            value: self.floats("split_conditions"),
            gain: self.floats("loss_changes"),
            cover: self.floats("sum_hessian"),
            vectors: self.floats(if by_leaf { "leaf_weights" } else { "base_weights" }),
            categories,
            by_leaf,
            left,
            right,
        };
        for (what, len) in [("features", nodes.features.len()), ("thresholds", nodes.value.len())] {
            if len < nodes.left.len() {
                return Err(Error::malformed(format!("tree: {} nodes and {len} {what}", nodes.left.len())));
            }
        }
        Ok(nodes)
    }

    /// The categories of each node that splits such.
    fn categories(&mut self, count: usize) -> Result<HashMap<usize, Vec<i32>>> {
        let (list, nodes) = (self.integers("categories"), self.integers("categories_nodes"));
        let (starts, sizes) = (self.integers("categories_segments"), self.integers("categories_sizes"));
        let mut found = HashMap::new();
        for ((node, start), size) in nodes.iter().zip(&starts).zip(&sizes) {
            let part = || {
                let start = usize::try_from(*start).ok()?;
                let end = start.checked_add(usize::try_from(*size).ok()?)?;
                let node = usize::try_from(*node).ok().filter(|node| *node < count)?;
                Some((node, list.get(start..end)?))
            };
            let wrong = || Error::malformed(format!("tree: the categories of node {node} are not there"));
            let (node, part) = part().ok_or_else(wrong)?;
            let part = part.iter().map(|category| i32::try_from(*category).unwrap_or(i32::MAX)).collect();
            found.insert(node, part);
        }
        Ok(found)
    }
}

/// Big-endian numbers of a type.
fn decoded(dtype: &DType, bytes: &[u8]) -> List {
    let size = dtype.size().max(1) as usize;
    let each = bytes.chunks_exact(size);
    match dtype {
        DType::F32 => List::Floats(each.filter_map(|x| be::<f32>(x, 0)).collect()),
        DType::F64 => List::Floats(each.filter_map(|x| be::<f64>(x, 0)).map(|x| x as f32).collect()),
        DType::U8 => List::Integers(bytes.iter().map(|x| i64::from(*x)).collect()),
        DType::I8 => List::Integers(bytes.iter().map(|x| i64::from(x.cast_signed())).collect()),
        DType::I16 => List::Integers(each.filter_map(|x| be::<i16>(x, 0)).map(i64::from).collect()),
        DType::I32 => List::Integers(each.filter_map(|x| be::<i32>(x, 0)).map(i64::from).collect()),
        _ => List::Integers(each.filter_map(|x| be::<i64>(x, 0)).collect()),
    }
}

/// Little-endian integers of four bytes, each `step` bytes further.
pub(super) fn integers(bytes: &[u8], start: usize, step: usize, count: usize) -> Vec<i64> {
    (0..count).filter_map(|n| le::<i32>(bytes, start + n * step)).map(i64::from).collect()
}
