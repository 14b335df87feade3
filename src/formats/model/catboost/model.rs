//! What a model's tables say: its features, and the conditions that the splits of trees number one after the other — first
//! each border of each float feature, then those of estimated ones (of texts and embeddings), then each value of each one-hot
//! feature, then each border of each statistic of categories (CTR).

use super::flat::{Flat, Table, Vector};
use crate::bytes::error::{Error, Result};
use crate::data::content::table::MemoryTable;
use arrow::array::{
    ArrayRef, BooleanArray, Float32Builder, Int32Array, Int64Array, ListBuilder, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;

/// A feature of the data.
pub(super) struct Feature {
    pub(super) name: String,
    kind: &'static str,
    /// Its number among all features, and among those of its kind.
    pub(super) flat: i32,
    index: i32,
    borders: Vec<f32>,
    nan: Option<&'static str>,
    is_used: bool,
}

/// What a condition compares.
pub(super) enum Subject {
    /// A feature, by its place in the list of features.
    Feature(usize),
    /// A number made of other features, by its name; the places of these.
    Made(String, Vec<usize>),
}

/// A list of conditions that differ in the value that is compared with.
pub(super) struct Conditions {
    pub(super) subject: Subject,
    /// CatBoost's word for the kind of split.
    pub(super) kind: &'static str,
    /// The number of the first one.
    pub(super) first: usize,
    /// The borders that values lie above.
    pub(super) borders: Vec<f32>,
    /// The values, or hashes of them, that are equal.
    pub(super) values: Vec<String>,
}

impl Conditions {
    /// How many there are.
    fn count(&self) -> usize {
        self.borders.len().max(self.values.len())
    }
}

/// A model.
#[derive(Default)]
pub(super) struct Model {
    /// How many values a leaf has.
    pub(super) width: usize,
    /// The conditions of all trees, those of a level or a node each.
    pub(super) splits: Vec<i32>,
    /// How many conditions each tree has.
    pub(super) sizes: Vec<i32>,
    /// Where those of each tree begin.
    pub(super) starts: Vec<usize>,
    /// Where the leaves of each oblivious tree begin.
    pub(super) leaves: Vec<u64>,
    /// How far the children of each node are, for trees that are not oblivious: two numbers of 16 bits.
    pub(super) steps: Vec<u32>,
    /// The place of the values of each such node, where a tree ends there.
    pub(super) ends: Vec<u32>,
    pub(super) values: Vector,
    pub(super) weights: Vector,
    pub(super) features: Vec<Feature>,
    pub(super) conditions: Vec<Conditions>,
    pub(super) scale: f64,
    pub(super) bias: Vec<f64>,
}

/// The kinds of statistics of categories.
const CTRS: [&str; 6] =
    ["Borders", "Buckets", "BinarizedTargetMeanValue", "FloatTargetMeanValue", "Counter", "FeatureFreq"];

impl Model {
    /// The tables of `TObliviousTrees`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn read(flat: &Flat, trees: Table) -> Result<Model> {
        let mut model = Model {
            width: usize::try_from(trees.number::<i32>(0, 1)?.max(1)).unwrap_or(1),
            splits: trees.numbers(1)?,
            sizes: trees.numbers(2)?,
            values: trees.vector(8, 8)?,
            weights: trees.vector(9, 8)?,
            steps: flat.numbers(trees.vector(10, 4)?)?,
            ends: trees.numbers(11)?,
            scale: trees.number(14, 1.0)?,
            ..Model::default()
        };
        model.bias = trees.numbers(16)?;
        if model.bias.is_empty() {
            model.bias.push(trees.number(15, 0.0)?);
        }
        model.places()?;
        model.read_features(trees)?;
        model.read_conditions(trees)?;
        Ok(model)
    }

    /// Whether the weights of all leaves are there.
    pub(super) fn has_weights(&self) -> bool {
        self.weights.count > 0 && self.weights.count.checked_mul(self.width as u64) == Some(self.values.count)
    }

    /// Where the conditions and the leaves of each tree begin.
    fn places(&mut self) -> Result<()> {
        let (mut start, mut leaf) = (0usize, 0u64);
        for (n, size) in self.sizes.iter().enumerate() {
            let wrong = || Error::malformed(format!("tree {n}: it has {size} splits"));
            let count = usize::try_from(*size).map_err(|_| wrong())?;
            self.starts.push(start);
            self.leaves.push(leaf);
            start = start.checked_add(count).filter(|end| *end <= self.splits.len()).ok_or_else(wrong)?;
            if self.steps.is_empty() {
                // A level doubles the leaves; CatBoost's own limit is 16.
                leaf = 1u64
                    .checked_shl(u32::try_from(count).unwrap_or(64))
                    .filter(|_| count <= 32)
                    .and_then(|leaves| leaf.checked_add(leaves))
                    .ok_or_else(wrong)?;
            }
        }
        if self.steps.is_empty() && leaf.checked_mul(self.width as u64) != Some(self.values.count) {
            let there = self.values.count;
            return Err(Error::malformed(format!(
                "model: {leaf} leaves of {} values have {there} values",
                self.width
            )));
        }
        if !self.steps.is_empty()
            && (self.steps.len() != self.splits.len() || self.ends.len() != self.splits.len())
        {
            return Err(Error::malformed("model: its lists of nodes are not equally long"));
        }
        Ok(())
    }

    fn read_features(&mut self, trees: Table) -> Result<()> {
        for float in trees.tables(5)? {
            let nan = match float.number::<u8>(5, 0)? {
                1 => "AsFalse",
                2 => "AsTrue",
                _ => "AsIs",
            };
            let borders = float.numbers(3)?;
            self.features.push(Feature {
                name: float.text(4)?,
                kind: "Float",
                index: float.number(1, -1)?,
                flat: float.number(2, -1)?,
                is_used: !borders.is_empty(),
                borders,
                nan: Some(nan),
            });
        }
        for (field, kind, used) in [(4, "Categorical", 3), (12, "Text", 3), (18, "Embedding", 4)] {
            for other in trees.tables(field)? {
                self.features.push(Feature {
                    name: other.text(2)?,
                    kind,
                    index: other.number(0, -1)?,
                    flat: other.number(1, -1)?,
                    is_used: other.number::<u8>(used, 1)? != 0,
                    borders: Vec::new(),
                    nan: None,
                });
            }
        }
        for feature in &mut self.features {
            if feature.name.is_empty() {
                feature.name = feature.flat.to_string();
            }
        }
        Ok(())
    }

    /// The feature of a kind with a number.
    fn feature(&self, kind: &str, index: i32) -> Option<usize> {
        self.features.iter().position(|feature| feature.kind == kind && feature.index == index)
    }

    fn subject(&self, kind: &str, index: i32) -> Subject {
        let unknown = || Subject::Made(format!("{kind} feature {index}"), Vec::new());
        self.feature(kind, index).map_or_else(unknown, Subject::Feature)
    }

    fn read_conditions(&mut self, trees: Table) -> Result<()> {
        let mut all = Vec::new();
        for (place, feature) in
            self.features.iter().enumerate().filter(|(_, feature)| feature.kind == "Float")
        {
            all.push((Subject::Feature(place), "FloatFeature", feature.borders.clone(), Vec::new()));
        }
        for estimated in trees.tables(13)? {
            let source = estimated.number::<i32>(0, -1)?;
            let local = estimated.number::<i32>(2, -1)?;
            let place = self.feature("Text", source).or_else(|| self.feature("Embedding", source));
            let name = place.and_then(|place| self.features.get(place)).map_or("?", |feature| &feature.name);
            let subject = Subject::Made(format!("{name}:{local}"), place.into_iter().collect());
            all.push((subject, "EstimatedFeature", estimated.numbers(3)?, Vec::new()));
        }
        for one in trees.tables(6)? {
            let subject = self.subject("Categorical", one.number(0, -1)?);
            let mut values = one.texts(2)?;
            if values.is_empty() {
                // Only the hashes may be known.
                values = one.numbers::<i32>(1)?.iter().map(|hash| hash.cast_unsigned().to_string()).collect();
            }
            all.push((subject, "OneHotFeature", Vec::new(), values));
        }
        for ctr in trees.tables(7)? {
            all.push((self.ctr(ctr)?, "OnlineCtr", ctr.numbers(1)?, Vec::new()));
        }
        let mut first = 0usize;
        for (subject, kind, borders, values) in all {
            let conditions = Conditions { subject, kind, first, borders, values };
            first += conditions.count();
            self.conditions.push(conditions);
        }
        Ok(())
    }

    /// A statistic of categories: `{k, b > 0.5} Borders (prior 0.5/1)`.
    fn ctr(&self, feature: Table) -> Result<Subject> {
        let unknown = || Subject::Made("CTR".to_owned(), Vec::new());
        let Some(ctr) = feature.table(0)? else { return Ok(unknown()) };
        let Some(base) = ctr.table(0)? else { return Ok(unknown()) };
        let kind = CTRS.get(usize::from(base.number::<u8>(1, 0)?)).copied().unwrap_or("CTR");
        let (mut names, mut places) = (Vec::new(), Vec::new());
        if let Some(combination) = base.table(0)? {
            let mut add = |kind: &str, index: i32, condition: String| {
                let place = self.feature(kind, index);
                let name =
                    place.and_then(|place| self.features.get(place)).map_or("?", |feature| &feature.name);
                names.push(format!("{name}{condition}"));
                places.extend(place);
            };
            for index in combination.numbers::<i32>(0)? {
                add("Categorical", index, String::new());
            }
            for (field, kind) in [(1, "Float"), (2, "Categorical")] {
                let pairs = combination.vector(field, 8)?;
                let words = combination.pairs(pairs)?;
                for (index, word) in words {
                    let condition = match kind {
                        "Float" => format!(" > {}", crate::data::cell::float32(f32::from_bits(word))),
                        _ => format!(" = {word}"),
                    };
                    add(kind, index.cast_signed(), condition);
                }
            }
        }
        let (numerator, denominator) = (ctr.number::<f32>(2, 0.0)?, ctr.number::<f32>(3, 1.0)?);
        let name = format!("{{{}}} {kind} (prior {numerator}/{denominator})", names.join(", "));
        Ok(Subject::Made(name, places))
    }

    /// The list that a condition is in, and its place there.
    pub(super) fn condition(&self, number: i32) -> Result<(&Conditions, usize)> {
        let wrong = || Error::malformed(format!("split: there is no condition {number}"));
        let number = usize::try_from(number).map_err(|_| wrong())?;
        let place = self.conditions.partition_point(|list| list.first <= number);
        let mut lists = self.conditions.get(..place).unwrap_or_default().iter().rev();
        let list = lists.find(|list| list.count() > 0).filter(|list| number - list.first < list.count());
        let list = list.ok_or_else(wrong)?;
        Ok((list, number - list.first))
    }

    /// The name of what a condition compares.
    pub(super) fn name<'a>(&'a self, subject: &'a Subject) -> &'a str {
        match subject {
            Subject::Feature(place) => self.features.get(*place).map_or("", |feature| &feature.name),
            Subject::Made(name, _) => name,
        }
    }

    /// Whether a border lies below a value that is missing; `None` where a feature has none.
    pub(super) fn missing(&self, subject: &Subject) -> Option<bool> {
        let Subject::Feature(place) = subject else { return None };
        match self.features.get(*place)?.nan {
            Some("AsTrue") => Some(true),
            Some("AsFalse") => Some(false),
            _ => None,
        }
    }

    /// The features as a table, in the order of the data's columns.
    pub(super) fn features_table(&self) -> Result<MemoryTable> {
        let mut order: Vec<&Feature> = self.features.iter().collect();
        order.sort_by_key(|feature| feature.flat);
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Float32, true)));
        let fields = vec![
            Field::new("flat_index", DataType::Int32, false),
            Field::new("name", DataType::Utf8, false),
            Field::new("type", DataType::Utf8, false),
            Field::new("index", DataType::Int32, false),
            Field::new("used", DataType::Boolean, false),
            Field::new("nan_value_treatment", DataType::Utf8, true),
            Field::new("borders", DataType::Int64, true),
            Field::new("border_values", list, true),
        ];
        let mut borders = ListBuilder::new(Float32Builder::new());
        for feature in &order {
            let is_float = feature.kind == "Float";
            borders.append_option(is_float.then(|| feature.borders.iter().map(|border| Some(*border))));
        }
        let count = |feature: &&Feature| (feature.kind == "Float").then_some(feature.borders.len() as i64);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(order.iter().map(|feature| feature.flat))),
            Arc::new(StringArray::from_iter_values(order.iter().map(|feature| &feature.name))),
            Arc::new(StringArray::from_iter_values(order.iter().map(|feature| feature.kind))),
            Arc::new(Int32Array::from_iter_values(order.iter().map(|feature| feature.index))),
            Arc::new(BooleanArray::from_iter(order.iter().map(|feature| Some(feature.is_used)))),
            Arc::new(StringArray::from_iter(order.iter().map(|feature| feature.nan))),
            Arc::new(Int64Array::from_iter(order.iter().map(count))),
            Arc::new(borders.finish()),
        ];
        Ok(MemoryTable::new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?))
    }
}
