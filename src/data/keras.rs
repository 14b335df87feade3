//! Keras models: the layers that a configuration names, as a table and as a [`graph`], and weights in the order of the layers. The same
//! configuration stands in `.keras` archives, in HDF5 files of whole models and in `model.to_json()`.
//! <https://keras.io/guides/serialization_and_saving/>

pub mod graph;

use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::node::{Children, Listing, Node, Value};
use arrow::array::{
    ArrayRef, BooleanArray, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder,
};
use arrow::datatypes::{DataType, Field, Schema};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// How deep models may lie in models.
const LEVELS: usize = 16;

/// A layer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name, behind those of the models that it lies in.
    pub name: String,
    /// Its class.
    pub class: String,
    /// How deep the model lies that it is of; 0 is the model itself.
    pub level: usize,
    /// The layers that feed it.
    pub inputs: Vec<String>,
    /// Whether training changes it.
    pub trainable: Option<bool>,
    /// The type that it computes in.
    pub dtype: Option<String>,
    /// The shape that it was built for; a length that is not fixed is null.
    pub built: Option<String>,
    /// Its settings.
    pub config: Json,
}

/// The layers of a model, those of models in it behind these. None where this is no configuration of a model.
pub fn layers(config: &Json) -> Vec<Layer> {
    let mut found = Vec::new();
    add(config, "", 0, &mut found);
    found
}

/// The list of layers of a model's configuration. Early versions of Keras have it in place of the settings.
fn list(config: &Json) -> Option<&Vec<Json>> {
    let inner = config.get("config")?;
    inner.get("layers").unwrap_or(inner).as_array()
}

fn add(config: &Json, within: &str, level: usize, found: &mut Vec<Layer>) {
    let is_sequence = config.get("class_name").and_then(Json::as_str) == Some("Sequential");
    let mut before: Option<String> = None;
    for layer in list(config).into_iter().flatten() {
        let settings = layer.get("config").cloned().unwrap_or(Json::Null);
        let text = |from: &Json, name: &str| from.get(name).and_then(Json::as_str).map(str::to_owned);
        let Some(class) = text(layer, "class_name") else { continue };
        let own = text(&settings, "name").or_else(|| text(layer, "name")).unwrap_or_default();
        let name = if within.is_empty() { own.clone() } else { format!("{within}/{own}") };
        let mut inputs = Vec::new();
        history(layer.get("inbound_nodes").unwrap_or(&Json::Null), 0, &mut inputs);
        if inputs.is_empty() && is_sequence {
            inputs.extend(before.take());
        }
        before = Some(own);
        let policy = settings.get("dtype").and_then(|dtype| dtype.get("config"));
        let built = layer.get("build_config").and_then(|build| build.get("input_shape"));
        let built =
            built.or_else(|| settings.get("batch_shape").or_else(|| settings.get("batch_input_shape")));
        let is_model = list(layer).is_some() && level + 1 < LEVELS;
        found.push(Layer {
            class,
            level,
            inputs,
            trainable: settings.get("trainable").and_then(Json::as_bool),
            dtype: policy.and_then(|policy| text(policy, "name")).or_else(|| text(&settings, "dtype")),
            built: built.filter(|built| !built.is_null()).map(Json::to_string),
            config: if is_model { Json::Null } else { settings },
            name: name.clone(),
        });
        if is_model {
            add(layer, &name, level + 1, found);
        }
    }
}

/// The names of the layers that the calls of a layer take their tensors from: Keras 3 writes tensors with their history, Keras 2
/// lists of a name and numbers.
fn history(json: &Json, depth: usize, found: &mut Vec<String>) {
    let mut name = |name: &str| {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    };
    match json {
        _ if depth > limits::DEPTH => {}
        Json::Object(object) => {
            match object.get("keras_history").and_then(|history| history.get(0)?.as_str()) {
                Some(from) => name(from),
                None => object.values().for_each(|inner| history(inner, depth + 1, found)),
            }
        }
        Json::Array(items) => match items.as_slice() {
            [Json::String(from), Json::Number(_), Json::Number(_), ..] => name(from),
            items => items.iter().for_each(|inner| history(inner, depth + 1, found)),
        },
        _ => {}
    }
}

/// The layers as a table.
///
/// # Errors
/// `Bug` only.
pub fn table(layers: &[Layer]) -> Result<MemoryTable> {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let names = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
    let fields = vec![
        Field::new("index", DataType::Int64, false),
        text("layer"),
        text("class"),
        Field::new("inputs", names, true),
        text("input_shape"),
        text("dtype"),
        Field::new("trainable", DataType::Boolean, true),
        text("weights"),
        text("config"),
    ];
    let mut inputs = ListBuilder::new(StringBuilder::new());
    for layer in layers {
        inputs.append_value(layer.inputs.iter().map(Some));
    }
    let places = places(layers);
    let config = |layer: &Layer| (!layer.config.is_null()).then(|| layer.config.to_string());
    let texts = |of: &dyn Fn(&Layer) -> Option<String>| -> ArrayRef {
        Arc::new(StringArray::from_iter(layers.iter().map(of)))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(0..layers.len() as i64)),
        texts(&|layer| Some(layer.name.clone())),
        texts(&|layer| Some(layer.class.clone())),
        Arc::new(inputs.finish()),
        texts(&|layer| layer.built.clone()),
        texts(&|layer| layer.dtype.clone()),
        Arc::new(BooleanArray::from_iter(layers.iter().map(|layer| layer.trainable))),
        Arc::new(StringArray::from_iter(places)),
        texts(&config),
    ];
    Ok(MemoryTable::new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?))
}

/// The group of each layer of the model itself in a file of weights of Keras 3: its class in lower case, with a number from
/// the second on.
fn places(layers: &[Layer]) -> Vec<Option<String>> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let place = |layer: &Layer| {
        if layer.level > 0 {
            return None;
        }
        let class = snake(&layer.class);
        let count = counts.entry(class.clone()).and_modify(|count| *count += 1).or_insert(0);
        Some(if *count == 0 { format!("layers/{class}") } else { format!("layers/{class}_{count}") })
    };
    layers.iter().map(place).collect()
}

/// A class's name as Keras writes it in lower case: `Conv2D` is `conv2d`, `InputLayer` `input_layer`.
fn snake(class: &str) -> String {
    let letters: Vec<char> = class.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut name = String::new();
    for (n, letter) in letters.iter().enumerate() {
        let before = n.checked_sub(1).and_then(|n| letters.get(n));
        let next_is_small = letters.get(n + 1).is_some_and(|next| next.is_ascii_lowercase());
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| before.is_ascii_lowercase() || next_is_small && *before != '_');
        if begins {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// The node of the table of layers; `None` where there are none.
///
/// # Errors
/// `Bug` only.
pub fn node(layers: &[Layer]) -> Result<Option<Node>> {
    if layers.is_empty() {
        return Ok(None);
    }
    Ok(Some(Node::new("layers", "table").content(Content::Table(Arc::new(table(layers)?)))))
}

/// Gives the root of a model what its attribute `model_config` says: the table of its layers, before its other children.
///
/// # Errors
/// `Bug` only.
pub fn complete(root: &mut Node) -> Result<()> {
    let config = root.attributes.iter().find(|(name, _)| name == "model_config").map(|(_, value)| value);
    let config = match config {
        Some(Value::Text(text)) => serde_json::from_str(text).ok(),
        Some(Value::Json(json)) => Some(json.clone()),
        None => None,
    };
    let Some(config) = config else { return Ok(()) };
    if let Children::Lazy(list) = &root.children
        && let Some(layers) = node(&layers(&config))?
    {
        let weights = list.clone();
        let graph = graph_node(config, move |task, place| {
            let Some(group) = weights.find(task, WEIGHTS)? else { return Ok(Vec::new()) };
            // Layers of a model in it lie in the group of that model, by names that may begin with its own again.
            let outer = place.name.split('/').next().unwrap_or_default();
            let inner = (outer != place.name).then(|| format!("/{outer}/{}", place.name));
            for path in inner.into_iter().chain([format!("/{}", place.name)]) {
                if let Some(layer) = group.find(task, &path)? {
                    return graph::arrays(task, &layer, &format!("/{WEIGHTS}{path}"));
                }
            }
            Ok(Vec::new())
        });
        let first = vec![Arc::new(layers), Arc::new(graph)];
        root.children = Children::Lazy(Arc::new(WithLayers { first, list: list.clone() }));
    }
    Ok(())
}

/// The group of weights of an HDF5 file of a whole model.
const WEIGHTS: &str = "model_weights";

/// The node of the graph of a configuration, which is made when somebody looks at it: then `weights` tells the arrays of the
/// layers. Where they cannot be read the graph has none, and a remark.
pub fn graph_node(
    config: Json,
    weights: impl Fn(&Task, graph::Place<'_>) -> Result<Vec<graph::Weight>> + Send + Sync + 'static,
) -> Node {
    Node::new("graph", "graph").deferred_leaf(move |task| {
        let mut problem: Option<Error> = None;
        let mut known = |place: graph::Place<'_>| match weights(task, place).unless_cancelled()? {
            Ok(found) => Ok(found),
            Err(error) => {
                problem.get_or_insert(error);
                Ok(Vec::new())
            }
        };
        let drawn = graph::graph(task, &config, &mut known)?;
        let node = Node::new("graph", "graph");
        let node = match drawn {
            Some(drawn) => node.content(Content::Graph(Arc::new(drawn))),
            None => node.remark("the configuration names no layers"),
        };
        Ok(match problem {
            Some(problem) => node.remark(format!("weights could not be read: {}", problem.message())),
            None => node,
        })
    })
}

/// The children of a group in the order of the names in its attribute `layer_names`, as HDF5 files of whole models have it.
pub fn order(node: &mut Node) {
    let names = node.attributes.iter().find(|(name, _)| name == "layer_names").map(|(_, value)| value);
    let Some(Value::Json(Json::Array(names))) = names else { return };
    let names = names.iter().filter_map(Json::as_str).map(str::to_owned).collect();
    sort(node, names);
}

/// The root of a file of weights of Keras 3 with its group of layers in their order.
pub fn in_order(mut root: Node, layers: &[Layer]) -> Node {
    let name = |place: &String| place.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<String> = places(layers).iter().flatten().map(name).collect();
    if let Children::Lazy(list) = root.children {
        root.children = Children::Lazy(Arc::new(Weights { list, names }));
    }
    root
}

fn sort(node: &mut Node, names: Vec<String>) {
    if let Children::Lazy(list) = &node.children {
        let ranks = names.into_iter().zip(0..).collect();
        node.children = Children::Lazy(Arc::new(Ordered { list: list.clone(), ranks }));
    }
}

/// The table of layers and their graph, then the children of the file.
struct WithLayers {
    first: Vec<Arc<Node>>,
    list: Arc<dyn Listing>,
}

impl Listing for WithLayers {
    fn count(&self) -> Option<u64> {
        self.list.count().map(|count| count.saturating_add(self.first.len() as u64))
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let before = self.first.len() as u64;
        let rest = range.start.saturating_sub(before)..range.end.saturating_sub(before);
        let (start, end) = (range.start.min(before) as usize, range.end.min(before) as usize);
        let mut page = self.first.get(start..end).unwrap_or_default().to_vec();
        page.extend(self.list.page(task, rest)?);
        Ok(page)
    }

    fn boundaries(&self) -> &'static [char] {
        self.list.boundaries()
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        // What the file itself has under this name goes first.
        let found = self.list.find(task, name)?;
        Ok(found.or_else(|| self.first.iter().find(|first| first.name == name).cloned()))
    }
}

/// The groups of a file of weights, of which that of the layers is put in order.
struct Weights {
    list: Arc<dyn Listing>,
    names: Vec<String>,
}

impl Weights {
    fn sorted(&self, node: Arc<Node>) -> Arc<Node> {
        if !["layers", "_layer_checkpoint_dependencies"].contains(&node.name.as_str()) {
            return node;
        }
        let mut node = Arc::unwrap_or_clone(node);
        sort(&mut node, self.names.clone());
        Arc::new(node)
    }
}

impl Listing for Weights {
    fn count(&self) -> Option<u64> {
        self.list.count()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        Ok(self.list.page(task, range)?.into_iter().map(|node| self.sorted(node)).collect())
    }

    fn boundaries(&self) -> &'static [char] {
        self.list.boundaries()
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(self.list.find(task, name)?.map(|node| self.sorted(node)))
    }
}

/// Children in another order than the file's: those with a rank first. Too many for one page stay as they are.
struct Ordered {
    list: Arc<dyn Listing>,
    ranks: HashMap<String, usize>,
}

impl Listing for Ordered {
    fn count(&self) -> Option<u64> {
        self.list.count()
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        if self.list.count().is_none_or(|count| count > limits::LISTED) {
            return self.list.page(task, range);
        }
        let mut all = self.list.page(task, 0..limits::LISTED)?;
        let rank = |node: &Node| self.ranks.get(&node.name).copied().unwrap_or(usize::MAX);
        all.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| natural_order(&a.name, &b.name)));
        let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(all.len());
        let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
        Ok(all.get(start..end).unwrap_or_default().to_vec())
    }

    fn boundaries(&self) -> &'static [char] {
        self.list.boundaries()
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        self.list.find(task, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::Table;

    #[test]
    fn classes_become_names_as_in_keras() {
        let names = [
            ("Conv2D", "conv2d"),
            ("InputLayer", "input_layer"),
            ("LSTM", "lstm"),
            ("GlobalAveragePooling2D", "global_average_pooling2d"),
            ("MultiHeadAttention", "multi_head_attention"),
            ("LSTMCell", "lstm_cell"),
            ("Conv1DTranspose", "conv1d_transpose"),
            ("PReLU", "p_re_lu"),
            ("ReLU", "re_lu"),
        ];
        for (class, name) in names {
            assert_eq!(snake(class), name, "{class}");
        }
    }

    #[test]
    fn layers_name_what_feeds_them() {
        let config = serde_json::json!({"class_name": "Functional", "config": {"layers": [
            {"class_name": "InputLayer", "config": {"name": "image", "batch_shape": [null, 4]}, "inbound_nodes": []},
            {"class_name": "Dense", "config": {"name": "a", "trainable": false, "dtype": {"config": {"name": "float16"}}},
             "inbound_nodes": [{"args": [{"config": {"keras_history": ["image", 0, 0]}}], "kwargs": {}}]},
            {"class_name": "Sequential", "config": {"name": "inner", "layers": [
                {"class_name": "Dense", "config": {"name": "b"}}, {"class_name": "ReLU", "config": {"name": "c"}}]},
             "inbound_nodes": [[["a", 0, 0, {}], ["image", 0, 0, {}]]]},
            {"class_name": "Dense", "config": {"name": "d"}}]}});
        let layers = layers(&config);
        let told: Vec<_> = layers.iter().map(|l| (l.name.as_str(), l.level, l.inputs.join(","))).collect();
        let want = [
            ("image", 0, ""),
            ("a", 0, "image"),
            ("inner", 0, "a,image"),
            ("inner/b", 1, ""),
            ("inner/c", 1, "b"),
            ("d", 0, ""),
        ];
        assert_eq!(told, want.map(|(name, level, inputs)| (name, level, inputs.to_owned())));
        assert_eq!((layers[1].dtype.as_deref(), layers[1].trainable), (Some("float16"), Some(false)));
        assert_eq!(layers[0].built.as_deref(), Some("[null,4]"));
        let places = places(&layers);
        assert_eq!(places[5].as_deref(), Some("layers/dense_1"));
        assert_eq!(table(&layers).unwrap().rows().number(), 6);
        assert!(self::layers(&serde_json::json!({"config": 3})).is_empty());
    }
}
