//! Graphs: operators and the tensors that flow between them, as a model's file describes a computation.
//!
//! A graph is eager structure without values: nodes and edges are a header of the file. Weights are array nodes of the
//! document, which a graph names by their paths. Terms are ONNX's (<https://onnx.ai/onnx/repo-docs/IR.html>): a node
//! applies an operator to its inputs and makes its outputs; a subgraph is the body of a node, a function the body of an
//! operator.

use crate::bytes::error::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Its name in the file.
    pub name: String,
    /// What is handed in.
    pub inputs: Vec<ValueId>,
    /// What comes out.
    pub outputs: Vec<ValueId>,
    /// Whether the names of values are what is to be read at its edges: the ways of a tree.
    pub names_are_labels: bool,
    /// The nodes, in the order of the file.
    nodes: Vec<Operation>,
    values: Vec<Value>,
    /// By value: the node that makes it.
    producers: Vec<Option<u32>>,
    /// By value: the nodes that take it.
    consumers: Vec<Vec<u32>>,
}

/// The number of a value in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(u32);

impl ValueId {
    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tensor between nodes.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// Its name in the file.
    pub name: Arc<str>,
    /// Its type in NumPy's words, or the field's own (`sequence(float32)`); `None` where the file does not say.
    pub dtype: Option<Arc<str>>,
    /// Its shape; `None` where the file leaves it open.
    pub shape: Option<Vec<Dimension>>,
    /// Whether type or shape were concluded and do not stand in the file.
    pub is_inferred: bool,
    /// The path of the array node of the document that it is, for weights and constants.
    pub weight: Option<Arc<str>>,
    /// Elements of that array.
    pub elements: Option<u64>,
}

impl Value {
    /// The shape as text: `[N, 3, 224, 224]`.
    pub fn shape_text(&self) -> Option<String> {
        let lengths: Vec<String> = self.shape.as_ref()?.iter().map(ToString::to_string).collect();
        Some(format!("[{}]", lengths.join(", ")))
    }
}

/// A length of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// It is fixed.
    Fixed(u64),
    /// It is open and has a name: equal names are equal lengths.
    Named(Arc<str>),
    /// It is open.
    Open,
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dimension::Fixed(length) => write!(f, "{length}"),
            Dimension::Named(name) => f.write_str(name),
            Dimension::Open => f.write_str("?"),
        }
    }
}

/// A node.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    /// Its name in the file; may be empty, and need not be unique.
    pub name: Arc<str>,
    /// The operator: `Conv`.
    pub operator: Arc<str>,
    /// Where the operator is defined: ONNX's domain; empty for the format's own.
    pub domain: Arc<str>,
    /// The modules or name scopes that it lies in, outermost first, with `/` between them; empty at the top.
    pub group: Arc<str>,
    /// What it takes.
    pub inputs: Vec<Port>,
    /// What it makes.
    pub outputs: Vec<Port>,
    /// Its attributes, in the order of the file.
    pub attributes: Vec<(Arc<str>, Attribute)>,
    /// Its bodies (branches, loops) by the attribute's name.
    pub subgraphs: Vec<(Arc<str>, Arc<Graph>)>,
    /// The path of the graph node of the document that the operator is a name for: a function.
    pub function: Option<Arc<str>>,
}

/// Where a value goes into a node or comes out of it.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// The operator's own name for it (`X`); empty where it has none.
    pub name: Arc<str>,
    /// The value; `None` for one that is optional and not there.
    pub value: Option<ValueId>,
    /// Whether nothing flows: the order of execution alone (TensorFlow's control inputs).
    pub is_control: bool,
}

impl Port {
    /// A port of a value.
    pub fn of(value: ValueId) -> Self {
        Port { value: Some(value), ..Port::default() }
    }
}

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Numbers.
    Floats(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
    /// A tensor: the path of its array node in the document, and what it is.
    Tensor(Option<Arc<str>>, String),
    /// A graph, which is one of the node's subgraphs.
    Graph(String),
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
            f.write_str("[")?;
            for (n, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if n == 0 { "" } else { ", " })?;
            }
            f.write_str("]")
        }
        match self {
            Attribute::Int(value) => write!(f, "{value}"),
            Attribute::Float(value) => write!(f, "{value}"),
            Attribute::Text(text) | Attribute::Tensor(_, text) | Attribute::Graph(text) => f.write_str(text),
            Attribute::Ints(items) => list(f, items),
            Attribute::Floats(items) => list(f, items),
            Attribute::Texts(items) => list(f, items),
        }
    }
}

/// An edge: a value on its way from a node (or the graph's inputs) to a node (or the graph's outputs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The node that makes it; `None` where it is handed in.
    pub from: Option<u32>,
    /// The node that takes it; `None` where it leaves the graph.
    pub to: Option<u32>,
    /// What flows.
    pub value: ValueId,
}

impl Graph {
    /// The nodes, in the order of the file.
    pub fn nodes(&self) -> &[Operation] {
        &self.nodes
    }

    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// A value.
    pub fn value(&self, id: ValueId) -> Option<&Value> {
        self.values.get(id.index())
    }

    /// The number of the node that makes a value; `None` for inputs and weights.
    pub fn producer(&self, id: ValueId) -> Option<usize> {
        self.producers.get(id.index()).copied().flatten().map(|node| node as usize)
    }

    /// The numbers of the nodes that take a value, each once.
    pub fn consumers(&self, id: ValueId) -> &[u32] {
        self.consumers.get(id.index()).map_or(&[], Vec::as_slice)
    }

    /// How many nodes there are of each operator.
    pub fn operators(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for node in &self.nodes {
            *counts.entry(node.operator.as_ref()).or_default() += 1;
        }
        counts
    }

    /// The edges, in the order of the nodes that take them; those that leave the graph at the end. Weights are none.
    pub fn edges(&self) -> impl Iterator<Item = Edge> {
        let into = self.nodes.iter().enumerate().flat_map(|(to, node)| {
            let values = node.inputs.iter().filter_map(|port| port.value);
            values.map(move |value| (Some(to as u32), value))
        });
        let out = self.outputs.iter().map(|value| (None, *value));
        into.chain(out).filter_map(|(to, value)| {
            let from = self.producers.get(value.index()).copied().flatten();
            let is_weight = from.is_none() && self.value(value).is_some_and(|value| value.weight.is_some());
            (!is_weight).then_some(Edge { from, to, value })
        })
    }

    /// Elements of the weights that a node takes; saturating, since a file may say anything.
    pub fn parameters(&self, node: &Operation) -> u64 {
        let values = node.inputs.iter().filter_map(|port| self.value(port.value?));
        let elements = values.filter(|value| value.weight.is_some()).filter_map(|value| value.elements);
        elements.fold(0, u64::saturating_add)
    }

    /// Adds what was concluded of a value. What the file says of it stays.
    pub fn infer(&mut self, id: ValueId, dtype: Option<Arc<str>>, shape: Option<Vec<Dimension>>) {
        let Some(value) = self.values.get_mut(id.index()) else { return };
        if value.dtype.is_none() && dtype.is_some() {
            (value.dtype, value.is_inferred) = (dtype, true);
        }
        if value.shape.is_none() && shape.is_some() {
            (value.shape, value.is_inferred) = (shape, true);
        }
    }
}

/// The most nodes, and the most values, of a graph.
const MOST: usize = 1 << 24;

/// Makes a graph node by node; values are known by their names.
#[derive(Debug, Default)]
pub struct Builder {
    graph: Graph,
    names: HashMap<Arc<str>, ValueId>,
}

impl Builder {
    /// Begins a graph.
    pub fn new(name: impl Into<String>) -> Self {
        Builder { graph: Graph { name: name.into(), ..Graph::default() }, names: HashMap::new() }
    }

    /// Gives the graph its name.
    pub fn rename(&mut self, name: impl Into<String>) {
        self.graph.name = name.into();
    }

    /// Says that the names of values are to be read at the edges.
    pub fn label_edges(&mut self) {
        self.graph.names_are_labels = true;
    }

    /// The value of a name, which is made where there is none yet.
    ///
    /// # Errors
    /// `Limit` where there are too many.
    pub fn value(&mut self, name: &str) -> Result<ValueId> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let name: Arc<str> = name.into();
        let id = self.unnamed(Value { name: name.clone(), ..Value::default() })?;
        self.names.insert(name, id);
        Ok(id)
    }

    /// The value of a name, where there is one.
    pub fn known(&self, name: &str) -> Option<ValueId> {
        self.names.get(name).copied()
    }

    /// Adds a value that is not looked up by its name.
    ///
    /// # Errors
    /// `Limit` where there are too many.
    pub fn unnamed(&mut self, value: Value) -> Result<ValueId> {
        let number = self.graph.values.len();
        if number >= MOST {
            return Err(Error::limit(format!("a graph of more than {MOST} values")));
        }
        self.graph.values.push(value);
        Ok(ValueId(number as u32))
    }

    /// What is known of a value so far.
    pub fn peek(&self, id: ValueId) -> Option<&Value> {
        self.graph.values.get(id.index())
    }

    /// What is known of a value, to be changed.
    pub fn describe(&mut self, id: ValueId) -> Option<&mut Value> {
        self.graph.values.get_mut(id.index())
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `Limit` where there are too many.
    pub fn node(&mut self, node: Operation) -> Result<()> {
        if self.graph.nodes.len() >= MOST {
            return Err(Error::limit(format!("a graph of more than {MOST} nodes")));
        }
        self.graph.nodes.push(node);
        Ok(())
    }

    /// Something that is handed in.
    pub fn input(&mut self, id: ValueId) {
        self.graph.inputs.push(id);
    }

    /// Something that comes out.
    pub fn output(&mut self, id: ValueId) {
        self.graph.outputs.push(id);
    }

    /// The graph. Where two nodes make one value, the first of them counts as its producer.
    pub fn finish(self) -> Graph {
        let mut graph = self.graph;
        graph.producers = vec![None; graph.values.len()];
        graph.consumers = vec![Vec::new(); graph.values.len()];
        for (number, node) in graph.nodes.iter().enumerate() {
            for value in node.outputs.iter().filter_map(|port| port.value) {
                if let Some(producer) = graph.producers.get_mut(value.index()) {
                    producer.get_or_insert(number as u32);
                }
            }
            for value in node.inputs.iter().filter_map(|port| port.value) {
                if let Some(list) = graph.consumers.get_mut(value.index())
                    && list.last() != Some(&(number as u32))
                {
                    list.push(number as u32);
                }
            }
        }
        graph
    }
}

/// The modules of a node that is named by its path, as exporters write it: `/layer2/0/conv1/Conv` lies in
/// `layer2/0/conv1`. Names without a `/` lie in none.
pub fn scope(name: &str) -> &str {
    let name = name.trim_start_matches('/');
    name.rsplit_once('/').map_or("", |(scope, _)| scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(operator: &str, inputs: &[ValueId], outputs: &[ValueId]) -> Operation {
        let ports = |ids: &[ValueId]| ids.iter().map(|id| Port::of(*id)).collect();
        Operation {
            operator: operator.into(),
            inputs: ports(inputs),
            outputs: ports(outputs),
            ..Operation::default()
        }
    }

    #[test]
    fn edges_go_from_who_makes_a_value_to_who_takes_it() {
        let mut builder = Builder::new("g");
        let [x, w, y, z] = ["x", "w", "y", "z"].map(|name| builder.value(name).unwrap());
        assert_eq!(builder.value("w").unwrap(), w);
        builder.describe(w).unwrap().weight = Some("w".into());
        builder.input(x);
        builder.output(z);
        builder.node(operation("MatMul", &[x, w], &[y])).unwrap();
        builder.node(operation("Mul", &[y, y], &[z])).unwrap();
        let graph = builder.finish();
        let edges: Vec<_> = graph.edges().map(|edge| (edge.from, edge.to, edge.value)).collect();
        let expected = [(None, Some(0), x), (Some(0), Some(1), y), (Some(0), Some(1), y), (Some(1), None, z)];
        assert_eq!(edges, expected);
        assert_eq!(graph.consumers(y), [1]);
        assert_eq!((graph.producer(z), graph.producer(x)), (Some(1), None));
        assert_eq!(graph.operators(), BTreeMap::from([("MatMul", 1), ("Mul", 1)]));
    }

    #[test]
    fn scopes_are_paths_before_the_last_part() {
        assert_eq!(scope("/layer2/0/conv1/Conv"), "layer2/0/conv1");
        assert_eq!((scope("Conv_3"), scope("/Conv"), scope("a/b")), ("", "", "a"));
    }
}
