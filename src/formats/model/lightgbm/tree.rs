//! One tree: lines with a list each. Inner nodes and leaves are counted apart; a child below zero is a leaf, `-1 - number`. The
//! bits of a decision's type say whether it compares categories, where missing values go and what counts as missing.
//! Categories are bits of words in `cat_threshold`, of which `cat_boundaries` says where those of a split begin.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::graph::Attribute;
use crate::data::node::Value;
use crate::engines::records::Window;
use crate::engines::trees::drawing::{self, Step, TreeGraph, float32, listed};
use crate::engines::trees::{Tree, Trees, reachable};
use arrow::array::{
    ArrayRef, Float32Builder, Float64Builder, Int64Array, Int64Builder, ListBuilder, StringBuilder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The largest tree, in bytes.
const LARGEST: usize = 256 << 20;
/// The most categories that a split can list.
const CATEGORIES: usize = 1 << 20;

/// The parts of a list.
pub(super) fn split(list: &str) -> impl Iterator<Item = &str> {
    list.split(' ').filter(|part| !part.is_empty())
}

/// The trees of a model.
pub(super) struct LgbTrees {
    schema: SchemaRef,
    names: Arc<[String]>,
    is_linear: bool,
    /// How many trees an iteration makes: one a class.
    classes: u64,
}

impl LgbTrees {
    /// Trees over features of these names, `classes` of them an iteration.
    pub(super) fn new(names: Arc<[String]>, is_linear: bool, classes: u64) -> Self {
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        let double = |name: &str| Field::new(name, DataType::Float64, true);
        let list = |kind| DataType::List(Arc::new(Field::new_list_field(kind, true)));
        let mut fields = vec![
            Field::new("tree_index", DataType::Int64, false),
            Field::new("node_depth", DataType::Int64, false),
            text("node_index"),
            text("left_child"),
            text("right_child"),
            text("parent_index"),
            text("split_feature"),
            Field::new("split_gain", DataType::Float32, true),
            double("threshold"),
            text("decision_type"),
            text("missing_direction"),
            text("missing_type"),
            double("value"),
            double("weight"),
            Field::new("count", DataType::Int64, true),
            Field::new("categories", list(DataType::Int64), true),
        ];
        if is_linear {
            fields.push(double("leaf_const"));
            fields.push(Field::new("leaf_features", list(DataType::Utf8), true));
            fields.push(Field::new("leaf_coeff", list(DataType::Float64), true));
        }
        LgbTrees { schema: Arc::new(Schema::new(fields)), names, is_linear, classes }
    }
}

/// The block of the tree at `at` or behind the blank lines there, and its rows; `None` where the trees end.
pub(super) fn next(window: &mut Window, mut at: u64) -> Result<Option<(Range<u64>, u64)>> {
    loop {
        let blank = window.get(at, 16)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        at += blank as u64;
        if blank < 16 {
            break;
        }
    }
    if window.get(at, 5)? != b"Tree=" {
        let is_end = window.get(at, 12)? == b"end of trees";
        let wrong = Error::malformed("trees: a tree or their end is expected").at(at);
        return if is_end { Ok(None) } else { Err(wrong) };
    }
    let mut most = 16 << 10;
    let len = loop {
        window.task.check()?;
        let bytes = window.get(at, most)?;
        let ends = ["\nTree=", "\nend of trees"];
        let end = ends.iter().filter_map(|end| memchr::memmem::find(bytes, end.as_bytes())).min();
        match end {
            Some(end) => break end + 1,
            None if bytes.len() < most => {
                return Err(Error::malformed("tree: the file ends inside of it; it may be cut off").at(at));
            }
            None => most = limits::check(most as u64 * 4, LARGEST as u64, "a tree")?,
        }
    };
    let bytes = window.get(at, len)?;
    let leaves = memchr::memmem::find(bytes, b"\nnum_leaves=").and_then(|place| {
        let rest = bytes.get(place + 12..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(rest.get(..digits)?).ok()?.parse::<u64>().ok()
    });
    let wrong = || Error::malformed("tree: it does not say how many leaves it has").at(at);
    // A leaf takes some letters.
    let leaves = leaves.filter(|leaves| (1..=len as u64).contains(leaves)).ok_or_else(wrong)?;
    Ok(Some((at..at + len as u64, 2 * leaves - 1)))
}

/// The lists of a tree.
#[derive(Default)]
pub(super) struct Parsed {
    leaves: usize,
    features: Vec<usize>,
    gains: Vec<f32>,
    thresholds: Vec<f64>,
    decisions: Vec<u8>,
    left: Vec<i64>,
    right: Vec<i64>,
    leaf: [Vec<f64>; 3],
    internal: [Vec<f64>; 3],
    boundaries: Vec<usize>,
    words: Vec<u32>,
    constants: Vec<f64>,
    counts: Vec<usize>,
    used: Vec<usize>,
    coefficients: Vec<f64>,
}

impl Parsed {
    /// The tree of these bytes.
    pub(super) fn read(task: &Task, source: &Source, span: &Range<u64>) -> Result<Parsed> {
        let bytes = source.read(task, span.clone())?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: HashMap<&str, &str> =
            text.lines().filter_map(|line| line.trim_end().split_once('=')).collect();
        fn list<T: std::str::FromStr>(lines: &HashMap<&str, &str>, name: &str) -> Result<Vec<T>> {
            let one = |part: &str| {
                let shown: String = part.chars().take(40).collect();
                part.parse().map_err(|_| Error::malformed(format!("{name}: {shown:?} is no number")))
            };
            split(lines.get(name).copied().unwrap_or_default()).map(one).collect()
        }
        let floats = |name: &str| list::<f64>(&lines, name);
        let leaves = list::<usize>(&lines, "num_leaves")?.first().copied().unwrap_or(0);
        let tree = Parsed {
            leaves,
            features: list(&lines, "split_feature")?,
            gains: list(&lines, "split_gain")?,
            thresholds: floats("threshold")?,
            decisions: list(&lines, "decision_type")?,
            left: list(&lines, "left_child")?,
            right: list(&lines, "right_child")?,
            leaf: [floats("leaf_value")?, floats("leaf_weight")?, floats("leaf_count")?],
            internal: [floats("internal_value")?, floats("internal_weight")?, floats("internal_count")?],
            boundaries: list(&lines, "cat_boundaries")?,
            words: list(&lines, "cat_threshold")?,
            constants: floats("leaf_const")?,
            counts: list(&lines, "num_features")?,
            used: list(&lines, "leaf_features")?,
            coefficients: floats("leaf_coeff")?,
        };
        let inner = leaves.saturating_sub(1);
        let lens = [tree.features.len(), tree.thresholds.len(), tree.left.len(), tree.right.len()];
        if tree.leaf[0].len() < leaves || lens.iter().any(|len| *len < inner) {
            return Err(Error::malformed(format!("lists: they are too short for {leaves} leaves")));
        }
        Ok(tree)
    }

    /// The feature and the gain of every split.
    pub(super) fn splits(&self) -> impl Iterator<Item = (usize, f32)> {
        self.features.iter().copied().zip(self.gains.iter().copied()).take(self.leaves.saturating_sub(1))
    }

    /// The children of a node: inner nodes are counted first, leaves behind them.
    fn children(&self, node: usize) -> Result<Option<[usize; 2]>> {
        let inner = self.leaves - 1;
        let (Some(left), Some(right)) = (self.left.get(node), self.right.get(node)) else { return Ok(None) };
        if node >= inner {
            return Ok(None);
        }
        let child = |child: i64| {
            let found = if child < 0 {
                usize::try_from(-1 - child).ok().map(|leaf| leaf + inner)
            } else {
                usize::try_from(child).ok().filter(|child| *child < inner)
            };
            found.ok_or_else(|| Error::malformed(format!("node {node}: it has the child {child}")))
        };
        // What comes out first is what was put in last.
        Ok(Some([child(*right)?, child(*left)?]))
    }

    /// What the library calls a node: `0-S1` is a split, `0-L1` a leaf.
    fn id(&self, tree: u64, node: usize) -> String {
        match node.checked_sub(self.leaves.saturating_sub(1)) {
            Some(leaf) => format!("{tree}-L{leaf}"),
            None => format!("{tree}-S{node}"),
        }
    }

    /// Where the coefficients of each leaf begin.
    fn starts(&self) -> Vec<usize> {
        let mut starts = vec![0usize];
        for count in &self.counts {
            starts.push(starts.last().copied().unwrap_or(0).saturating_add(*count));
        }
        starts
    }

    fn is_categorical(&self, node: usize) -> bool {
        self.decisions.get(node).is_some_and(|bits| bits & 1 == 1)
    }

    /// The categories that go to the left.
    fn categories(&self, node: usize) -> Result<Vec<i64>> {
        let words = || {
            let place = *self.thresholds.get(node)? as usize;
            let (start, end) = (*self.boundaries.get(place)?, *self.boundaries.get(place + 1)?);
            self.words.get(start..end).filter(|words| words.len() * 32 <= CATEGORIES)
        };
        let words =
            words().ok_or_else(|| Error::malformed(format!("node {node}: its categories are not there")))?;
        let bits = words.iter().enumerate().flat_map(|(n, word)| {
            (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| n as i64 * 32 + bit)
        });
        Ok(bits.collect())
    }
}

/// What counts as missing, by the bits of a decision.
fn missing_type(bits: u8) -> &'static str {
    match bits >> 2 & 3 {
        1 => "Zero",
        2 => "NaN",
        _ => "None",
    }
}

/// The linear model of a leaf.
struct LeafModel {
    constant: f64,
    features: Vec<String>,
    coefficients: Vec<f64>,
}

impl LeafModel {
    /// As people write it: `0.5 + 2 · age`.
    fn text(&self) -> String {
        /// Terms that are written out.
        const SHOWN: usize = 4;
        let mut text = cell::float64(self.constant);
        for (coefficient, feature) in self.coefficients.iter().zip(&self.features).take(SHOWN) {
            let sign = if coefficient.is_sign_negative() { '-' } else { '+' };
            text.push_str(&format!(" {sign} {} · {feature}", cell::float64(coefficient.abs())));
        }
        match self.coefficients.len().saturating_sub(SHOWN) {
            0 => text,
            more => format!("{text} + … {more} more"),
        }
    }

    fn attributes(self) -> [(&'static str, Attribute); 3] {
        [
            ("leaf_const", Attribute::Float(self.constant)),
            ("leaf_features", Attribute::Texts(self.features)),
            ("leaf_coeff", Attribute::Floats(self.coefficients)),
        ]
    }
}

/// The columns that are being made.
#[derive(Default)]
struct Rows {
    texts: [StringBuilder; 8],
    gain: Float32Builder,
    floats: [Float64Builder; 3],
    count: Int64Builder,
    categories: ListBuilder<Int64Builder>,
}

impl Trees for LgbTrees {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&self, window: &mut Window, at: u64) -> Result<Option<(Range<u64>, u64)>> {
        next(window, at)
    }

    fn read(&self, task: &Task, source: &Source, tree: &Tree) -> Result<Vec<ArrayRef>> {
        let parsed = Parsed::read(task, source, &tree.span)?;
        let inner = parsed.leaves.saturating_sub(1);
        let order = reachable(parsed.leaves + inner, |node| parsed.children(node))?;
        let mut parents: HashMap<usize, usize> = HashMap::new();
        for (node, _) in &order {
            for child in parsed.children(*node)?.into_iter().flatten() {
                parents.insert(child, *node);
            }
        }
        let mut rows = Rows::default();
        for (node, _) in &order {
            self.row(tree.number, *node, &parsed, parents.get(node).copied(), &mut rows)?;
        }
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_value(tree.number.cast_signed(), order.len())),
            Arc::new(Int64Array::from_iter_values(order.iter().map(|(_, depth)| i64::from(*depth) + 1))),
        ];
        let Rows { texts, mut gain, floats, mut count, mut categories } = rows;
        let texts = texts.map(|mut builder| Arc::new(builder.finish()) as ArrayRef);
        let [threshold, value, weight] = floats.map(|mut builder| Arc::new(builder.finish()) as ArrayRef);
        let (names, rest) = texts.split_at(5);
        columns.extend_from_slice(names);
        columns.extend([Arc::new(gain.finish()) as ArrayRef, threshold]);
        columns.extend_from_slice(rest);
        columns.extend([value, weight, Arc::new(count.finish()) as ArrayRef, Arc::new(categories.finish())]);
        if self.is_linear {
            columns.extend(self.linear(&parsed, &order));
        }
        Ok(columns)
    }

    fn draw(&self, task: &Task, source: &Source, tree: &Tree) -> Result<TreeGraph> {
        let parsed = Parsed::read(task, source, &tree.span)?;
        let inner = parsed.leaves.saturating_sub(1);
        let order = reachable(parsed.leaves + inner, |node| parsed.children(node))?;
        let linear = if self.is_linear { Some(parsed.starts()) } else { None };
        drawing::draw(task, format!("tree {}", tree.number), order, |node| {
            self.step(tree.number, &parsed, linear.as_deref(), node)
        })
    }

    fn about(&self, number: u64) -> Vec<(String, Value)> {
        match number.checked_rem(self.classes) {
            Some(class) if self.classes > 1 => vec![("class".to_owned(), class.to_string().into())],
            _ => Vec::new(),
        }
    }
}

impl LgbTrees {
    /// The name of a feature.
    fn name(&self, feature: usize) -> String {
        self.names.get(feature).cloned().unwrap_or_else(|| format!("Column_{feature}"))
    }

    /// A node for the graph of its tree; `linear` says where the coefficients of each leaf begin.
    fn step(&self, tree: u64, parsed: &Parsed, linear: Option<&[usize]>, node: usize) -> Result<Step> {
        let children = parsed.children(node)?;
        let (of, at) = match children {
            Some(_) => (&parsed.internal, node),
            None => (&parsed.leaf, node - (parsed.leaves - 1)),
        };
        let [value, weight, count] = of.each_ref().map(|list| list.get(at).copied());
        let mut attributes = vec![("node", Attribute::Text(parsed.id(tree, node)))];
        attributes.extend(count.map(|count| ("count", Attribute::Int(count as i64))));
        attributes.extend(weight.map(|weight| ("weight", Attribute::Float(weight))));
        let Some([right, left]) = children else {
            let mut name = cell::float64(value.unwrap_or(f64::NAN));
            if let Some(model) = linear.and_then(|starts| self.leaf_model(parsed, starts, at)) {
                attributes.extend(value.map(|value| ("value", Attribute::Float(value))));
                name = model.text();
                attributes.extend(model.attributes());
            }
            return Ok(Step { name, children: Vec::new(), attributes });
        };
        attributes.extend(value.map(|value| ("value", Attribute::Float(value))));
        attributes.extend(parsed.gains.get(node).map(|gain| ("gain", float32(*gain))));
        let feature = self.name(parsed.features.get(node).copied().unwrap_or(usize::MAX));
        let bits = parsed.decisions.get(node).copied().unwrap_or(0);
        let name = if parsed.is_categorical(node) {
            let categories = parsed.categories(node)?;
            let name = format!("{feature} in {{{}}}", listed(categories.iter()));
            attributes.push(("categories", Attribute::Ints(categories)));
            name
        } else {
            format!("{feature} ≤ {}", cell::float64(parsed.thresholds.get(node).copied().unwrap_or(f64::NAN)))
        };
        let missing = missing_type(bits);
        if missing != "None" {
            attributes.push(("missing_type", Attribute::Text(missing.to_owned())));
        }
        let goes_left = (missing != "None").then_some(bits & 2 == 2);
        Ok(Step { name, children: drawing::branches(left, right, goes_left), attributes })
    }

    /// The linear model of a leaf; `None` where it has no coefficients.
    fn leaf_model(&self, parsed: &Parsed, starts: &[usize], leaf: usize) -> Option<LeafModel> {
        let range = *starts.get(leaf)?..*starts.get(leaf + 1)?;
        let name = |feature: &usize| drawing::shortened(self.name(*feature));
        let features = parsed.used.get(range.clone())?.iter().map(name).collect();
        let coefficients: Vec<f64> = parsed.coefficients.get(range)?.to_vec();
        let constant = parsed.constants.get(leaf).copied()?;
        (!coefficients.is_empty()).then_some(LeafModel { constant, features, coefficients })
    }

    fn row(
        &self,
        tree: u64,
        node: usize,
        parsed: &Parsed,
        parent: Option<usize>,
        rows: &mut Rows,
    ) -> Result<()> {
        let inner = parsed.leaves - 1;
        let id = |node: usize| parsed.id(tree, node);
        let children = parsed.children(node)?;
        let is_categorical = children.is_some() && parsed.is_categorical(node);
        let bits = parsed.decisions.get(node).copied().unwrap_or(0);
        let split = children.is_some();
        let feature = parsed.features.get(node).filter(|_| split).map(|feature| self.name(*feature));
        let said = |text: &str| split.then(|| text.to_owned());
        let texts = [
            Some(id(node)),
            children.map(|[_, left]| id(left)),
            children.map(|[right, _]| id(right)),
            parent.map(id),
            feature,
            said(if is_categorical { "==" } else { "<=" }),
            said(if bits & 2 == 2 { "left" } else { "right" }),
            said(missing_type(bits)),
        ];
        for (builder, text) in rows.texts.iter_mut().zip(texts) {
            builder.append_option(text);
        }
        rows.gain.append_option(parsed.gains.get(node).copied().filter(|_| split));
        let (of, at) = if split { (&parsed.internal, node) } else { (&parsed.leaf, node - inner) };
        let [value, weight, count] = of.each_ref().map(|list| list.get(at).copied());
        let threshold = parsed.thresholds.get(node).copied().filter(|_| split && !is_categorical);
        for (builder, value) in rows.floats.iter_mut().zip([threshold, value, weight]) {
            builder.append_option(value);
        }
        rows.count.append_option(count.map(|count| count as i64));
        let categories = if is_categorical { Some(parsed.categories(node)?) } else { None };
        rows.categories.append_option(categories.map(|list| list.into_iter().map(Some)));
        Ok(())
    }

    /// The linear models of the leaves: a constant, and a coefficient for each of some features.
    fn linear(&self, parsed: &Parsed, order: &[(usize, u32)]) -> [ArrayRef; 3] {
        let inner = parsed.leaves - 1;
        let starts = parsed.starts();
        let mut constants = Float64Builder::new();
        let mut features = ListBuilder::new(StringBuilder::new());
        let mut coefficients = ListBuilder::new(Float64Builder::new());
        for (node, _) in order {
            let leaf = node.checked_sub(inner);
            constants.append_option(leaf.and_then(|leaf| parsed.constants.get(leaf)).copied());
            let range = leaf.and_then(|leaf| Some(*starts.get(leaf)?..*starts.get(leaf + 1)?));
            let name = |feature: &usize| Some(self.name(*feature));
            let used = range.clone().and_then(|range| parsed.used.get(range));
            features.append_option(used.map(|used| used.iter().map(name)));
            let factors = range.and_then(|range| parsed.coefficients.get(range));
            coefficients.append_option(factors.map(|factors| factors.iter().map(|factor| Some(*factor))));
        }
        [Arc::new(constants.finish()), Arc::new(features.finish()), Arc::new(coefficients.finish())]
    }
}
