//! `GraphProto`, `FunctionProto`, `NodeProto`: the graph that they describe.

use super::attribute::AttributeProto;
use super::infer::{Literal, Output, Step};
use super::sparse::SparseTensor;
use super::tensor::{Files, Tensor};
use super::{pair, types};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::graph::{
    Attribute, Builder, Dimension, Graph, Operation, Port, Value, ValueId, scope,
};
use crate::engines::protobuf::{Field, Part, Value as Wire};
use std::collections::HashMap;
use std::sync::Arc;

/// The most tensors of a graph.
const TENSORS: usize = 1 << 24;
/// How deep graphs may lie in graphs.
const DEPTH: usize = 24;
/// The most bytes of functions that are gone through for the types of what calls of them give.
const CALLED: usize = 1 << 25;
/// As many bytes a node counts as, beside its own.
const CALLED_NODE: usize = 512;
/// The most elements of small tensors that are followed in a graph.
const FOLLOWED: usize = 1 << 18;
/// The most dimensions of a shape that is concluded.
const RANK: usize = 64;

/// A graph and what lies beside its nodes.
#[derive(Default)]
pub(super) struct ModelGraph {
    pub(super) graph: Arc<Graph>,
    pub(super) initializers: Vec<Tensor>,
    /// Tensors that stand in attributes, by their names in the tree.
    pub(super) constants: Vec<(String, Tensor)>,
    pub(super) sparse: Vec<SparseTensor>,
    /// The bodies of nodes, by their names in the tree.
    pub(super) subgraphs: Vec<(String, ModelGraph)>,
    /// The first thing that is wrong with it; what could be read is there.
    pub(super) problem: Option<Error>,
    pub(super) remarks: Vec<String>,
}

/// A function of the model: an operator that is made of others.
struct Function<'a> {
    /// Its path in the tree.
    path: Arc<str>,
    part: Part<'a>,
}

/// Reads the graphs of one model.
pub(super) struct GraphReader<'a> {
    task: &'a Task,
    files: Arc<Files>,
    /// By domain and name.
    functions: HashMap<(String, String), Function<'a>>,
    /// Operators' names and such, each once.
    texts: HashMap<String, Arc<str>>,
    depth: usize,
    /// How many bytes of functions may still be gone through for calls of them.
    left: usize,
}

/// A graph while it is read.
#[derive(Default)]
pub(super) struct PartialGraph<'p> {
    builder: Builder,
    read: ModelGraph,
    /// The path of its node in the tree; empty for the main graph.
    path: &'p str,
    /// The graph around it, whose values it may use.
    outer: Option<&'p PartialGraph<'p>>,
    /// The attributes of the call of a function.
    bindings: Option<HashMap<String, Attribute>>,
    /// Which values are tensors of the file: whether among the constants, and the number there.
    tensors: HashMap<ValueId, (bool, usize)>,
    /// Values that were followed from node to node.
    literals: HashMap<ValueId, Literal>,
    /// Elements of all of them.
    followed: usize,
}

impl<'p> PartialGraph<'p> {
    fn new(path: &'p str, outer: Option<&'p PartialGraph<'p>>) -> Self {
        PartialGraph { path, outer, ..PartialGraph::default() }
    }

    /// The path of something below the graph.
    fn below(&self, name: &str) -> Arc<str> {
        match self.path {
            "" => name.into(),
            path => format!("{path}/{name}").into(),
        }
    }

    /// What is known of a value so far.
    pub(super) fn value(&self, id: ValueId) -> Option<&Value> {
        self.builder.peek(id)
    }

    fn tensor(&self, id: ValueId) -> Option<&Tensor> {
        match *self.tensors.get(&id)? {
            (true, number) => self.read.constants.get(number).map(|(_, tensor)| tensor),
            (false, number) => self.read.initializers.get(number),
        }
    }

    /// The tensor in an attribute of the node that was read last, by its path.
    pub(super) fn constant(&self, path: &str) -> Option<&Tensor> {
        let (name, tensor) = self.read.constants.last()?;
        path.ends_with(name.as_str()).then_some(tensor)
    }

    /// The values of a small tensor of whole numbers.
    pub(super) fn literal(&self, id: ValueId, task: &Task, files: &Files) -> Option<Literal> {
        match self.literals.get(&id) {
            Some(literal) => Some(literal.clone()),
            None => self.tensor(id)?.literal(task, files),
        }
    }

    /// The values of a small tensor of floats.
    pub(super) fn floats(&self, id: ValueId, task: &Task, files: &Files) -> Option<Vec<f64>> {
        self.tensor(id)?.floats(task, files)
    }

    /// Tells a value that it is a tensor of the tree.
    fn weight(&mut self, name: &str, dtype: String, shape: &[u64], path: Arc<str>) -> Result<ValueId> {
        let id = self.builder.value(name)?;
        if let Some(value) = self.builder.describe(id) {
            value.dtype = Some(dtype.into());
            value.shape = Some(shape.iter().map(|length| Dimension::Fixed(*length)).collect());
            (value.weight, value.elements) = (Some(path), crate::bytes::limits::elements(shape).ok());
        }
        Ok(id)
    }

    fn follow(&mut self, id: ValueId, literal: Literal) {
        self.followed = self.followed.saturating_add(literal.items.len().max(1));
        if self.followed <= FOLLOWED {
            self.literals.insert(id, literal);
        }
    }

    /// Adds what was concluded of a value. What the file says of it stays.
    fn conclude(&mut self, id: ValueId, output: Output) {
        if let Some(literal) = output.literal {
            self.follow(id, literal);
        }
        let shape = output.shape.filter(|shape| shape.len() <= RANK);
        let Some(value) = self.builder.describe(id) else { return };
        if value.dtype.is_none() && output.dtype.is_some() {
            (value.dtype, value.is_inferred) = (output.dtype, true);
        }
        if value.shape.is_none() && shape.is_some() {
            (value.shape, value.is_inferred) = (shape, true);
        }
    }
}

impl<'a> GraphReader<'a> {
    pub(super) fn new(task: &'a Task, files: Arc<Files>, functions: &[Part<'a>]) -> Result<Self> {
        let mut reader = GraphReader {
            task,
            files,
            functions: HashMap::new(),
            texts: HashMap::new(),
            depth: 0,
            left: CALLED,
        };
        for part in functions {
            let key = named(*part)?;
            let path = format!("functions/{}", path_of(&key)).into();
            reader.functions.insert(key, Function { path, part: *part });
        }
        Ok(reader)
    }

    fn text(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.texts.get(&text) {
            return known.clone();
        }
        let shared: Arc<str> = text.as_str().into();
        self.texts.insert(text, shared.clone());
        shared
    }

    /// A `GraphProto`. `path` is that of its node in the tree.
    ///
    /// # Errors
    /// That it was cancelled; `Limit`. What is malformed is the graph's problem.
    pub(super) fn graph(&mut self, part: Part, path: &str) -> Result<ModelGraph> {
        self.inner(part, path, None)
    }

    fn inner(&mut self, part: Part, path: &str, outer: Option<&PartialGraph>) -> Result<ModelGraph> {
        self.deeper(|reader| {
            let mut graph = PartialGraph::new(path, outer);
            let filled = reader.fill(part, &mut graph).unless_cancelled()?;
            Ok(finished(graph, filled.err()))
        })
    }

    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH {
            return Err(Error::limit(format!("graphs more than {DEPTH} deep in graphs")));
        }
        self.depth += 1;
        let made = run(self);
        self.depth -= 1;
        made
    }

    fn fill(&mut self, part: Part, graph: &mut PartialGraph) -> Result<()> {
        let (mut nodes, mut values, mut name) = (Vec::new(), Vec::new(), String::new());
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => nodes.push(value.part()),
                2 => name = value.text(),
                5 => initializer(value.part(), graph)?,
                11..=13 => values.push((number, value.part())),
                15 => {
                    let sparse = SparseTensor::parse(value.part())?;
                    let path = graph.below(&format!("sparse/{}", sparse.name));
                    if !sparse.name.is_empty() {
                        graph.weight(&sparse.name, sparse.type_name(), &sparse.shape, path)?;
                    }
                    graph.read.sparse.push(sparse);
                }
                _ => {}
            }
        }
        graph.builder.rename(name);
        for (number, part) in values {
            self.value(number, part, graph)?;
        }
        self.nodes(nodes, graph)
    }

    fn nodes(&mut self, nodes: Vec<Part>, graph: &mut PartialGraph) -> Result<()> {
        for (number, part) in nodes.into_iter().enumerate() {
            if number % 1_024 == 0 {
                self.task.check()?;
            }
            self.node(part, number, graph)?;
        }
        Ok(())
    }

    /// A `ValueInfoProto`: an input, an output or what is known of a value between.
    fn value(&mut self, number: u32, part: Part, graph: &mut PartialGraph) -> Result<()> {
        let (mut name, mut found) = (String::new(), types::Type::default());
        for field in part.fields() {
            let field = field?;
            match field.number {
                1 => name = field.value.text(),
                2 => found = types::parse(field.value.part())?,
                _ => {}
            }
        }
        let id = graph.builder.value(&name)?;
        if let Some(value) = graph.builder.describe(id) {
            value.dtype = found.dtype.or(value.dtype.take());
            value.shape = found.shape.or(value.shape.take());
        }
        match number {
            11 => graph.builder.input(id),
            12 => graph.builder.output(id),
            _ => {}
        }
        Ok(())
    }

    fn node(&mut self, part: Part, number: usize, graph: &mut PartialGraph) -> Result<()> {
        let mut node = Operation::default();
        let (mut attributes, mut scopes, mut outputs) = (Vec::new(), None, Vec::new());
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => node.inputs.push(self.taken(value, graph)?),
                2 => {
                    outputs.push(value.text());
                    node.outputs.push(port(value, graph)?);
                }
                3 => node.name = value.text().into(),
                4 => node.operator = self.text(value.text()),
                5 => attributes.push(value.part()),
                7 => node.domain = self.text(value.text()),
                9 => {
                    let (name, value) = pair(value.part())?;
                    if name == SCOPES {
                        scopes = Some(value);
                    }
                }
                _ => {}
            }
        }
        let group = scopes.as_deref().and_then(module).unwrap_or_else(|| scope(&node.name).to_owned());
        node.group = self.text(group);
        let key = (node.domain.to_string(), node.operator.to_string());
        let function = self.functions.get(&key).map(|function| (function.path.clone(), function.part));
        node.function = function.as_ref().map(|(path, _)| path.clone());
        let own = match (&*node.name, outputs.first()) {
            ("", Some(output)) => output.clone(),
            ("", None) => format!("{} {number}", node.operator),
            (name, _) => name.to_owned(),
        };
        let mut is_open = false;
        for part in attributes {
            is_open |= self.attribute(part, &own, &outputs, &mut node, graph)?;
        }
        // What an attribute is that a call of a function sets nobody knows here.
        if !is_open {
            let found = match function {
                Some((_, part)) => self.called(part, &node, graph).unless_cancelled()?.unwrap_or_default(),
                None => Step { graph, node: &node, task: self.task, files: &self.files }.outputs(),
            };
            for (port, output) in node.outputs.iter().zip(found) {
                if let Some(id) = port.value {
                    graph.conclude(id, output);
                }
            }
        }
        graph.builder.node(node)
    }

    /// What a node takes. A value that the graph does not have is that of a graph around it.
    fn taken(&self, value: Wire, graph: &mut PartialGraph) -> Result<Port> {
        let name = value.text();
        if name.is_empty() || graph.builder.known(&name).is_some() {
            return port(value, graph);
        }
        let mut around = graph.outer;
        while let Some(outer) = around {
            let Some(theirs) = outer.builder.known(&name) else {
                around = outer.outer;
                continue;
            };
            let literal = outer.literal(theirs, self.task, &self.files);
            let known = outer.value(theirs).cloned().unwrap_or_default();
            let id = graph.builder.value(&name)?;
            if let Some(value) = graph.builder.describe(id) {
                let is_typed = known.dtype.is_some() || known.shape.is_some();
                let is_inferred = known.is_inferred || (is_typed && known.weight.is_none());
                *value = Value { is_inferred, ..known };
            }
            if let Some(literal) = literal {
                graph.follow(id, literal);
            }
            return Ok(Port::of(id));
        }
        port(value, graph)
    }

    /// Adds an attribute to a node; whether it is one that a call of the function around the node sets.
    fn attribute(
        &mut self,
        part: Part,
        own: &str,
        outputs: &[String],
        node: &mut Operation,
        graph: &mut PartialGraph,
    ) -> Result<bool> {
        let proto = AttributeProto::parse(part)?;
        let name = self.text(proto.name.clone());
        for (n, part) in proto.tensors.iter().enumerate() {
            let tensor = Tensor::parse(*part)?;
            let output = outputs.first().filter(|_| &*node.operator == "Constant" && proto.name == "value");
            let place = match output {
                Some(output) => output.clone(),
                None if n == 0 => format!("{own}.{name}"),
                None => format!("{own}.{name}.{n}"),
            };
            let path = graph.below(&format!("constants/{place}"));
            let what = format!("{} {}", tensor.type_name(), crate::bytes::display::shape(&tensor.shape));
            if let Some(output) = output {
                let id = graph.weight(output, tensor.type_name(), &tensor.shape, path.clone())?;
                graph.tensors.insert(id, (true, graph.read.constants.len()));
            }
            node.attributes.push((name.clone(), Attribute::Tensor(Some(path), what)));
            graph.read.constants.push((place, tensor));
        }
        for (n, part) in proto.graphs.iter().enumerate() {
            let called = if n == 0 { format!("{own}.{name}") } else { format!("{own}.{name}.{n}") };
            let path = graph.below(&format!("subgraphs/{called}"));
            let body = self.inner(*part, &path, Some(&*graph))?;
            let what = crate::bytes::display::plural(body.graph.nodes().len() as u64, "node");
            node.attributes.push((name.clone(), Attribute::Graph(format!("graph of {what}"))));
            node.subgraphs.push((name.clone(), body.graph.clone()));
            graph.read.subgraphs.push((called, body));
        }
        if let Some(reference) = &proto.reference {
            match graph.bindings.as_ref().map(|bindings| bindings.get(reference).cloned()) {
                // The call leaves it at what it is by default.
                Some(None) => return Ok(false),
                Some(Some(value)) => {
                    node.attributes.push((name, value));
                    return Ok(false);
                }
                None => {}
            }
        }
        let is_open = proto.reference.is_some();
        if let Some(value) = proto.value() {
            node.attributes.push((name, value));
        }
        Ok(is_open)
    }

    /// A `FunctionProto`: its name in the tree, and its body.
    ///
    /// # Errors
    /// As [`graph`](Self::graph).
    pub(super) fn function(&mut self, part: Part) -> Result<(String, ModelGraph)> {
        let name = path_of(&named(part)?);
        let path = format!("functions/{name}");
        self.deeper(|reader| {
            let mut graph = PartialGraph::new(&path, None);
            graph.builder.rename(name.clone());
            let filled = reader.body(part, &mut graph).unless_cancelled()?;
            Ok((name, finished(graph, filled.err())))
        })
    }

    fn body(&mut self, part: Part, graph: &mut PartialGraph) -> Result<()> {
        let mut nodes = Vec::new();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                4 => {
                    let id = graph.builder.value(&value.text())?;
                    graph.builder.input(id);
                }
                5 => {
                    let id = graph.builder.value(&value.text())?;
                    graph.builder.output(id);
                }
                7 => nodes.push(value.part()),
                12 => self.value(13, value.part(), graph)?,
                _ => {}
            }
        }
        self.nodes(nodes, graph)
    }

    /// What a call of a function gives: its body is gone through with the types of what is handed in.
    fn called(&mut self, part: Part, node: &Operation, outer: &PartialGraph) -> Result<Vec<Output>> {
        let mut graph = PartialGraph::new("", None);
        let mut bindings: HashMap<String, Attribute> = HashMap::new();
        let (mut nodes, mut outputs, mut inputs) = (Vec::new(), Vec::new(), node.inputs.iter());
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                4 => {
                    let id = graph.builder.value(&value.text())?;
                    let Some(theirs) = inputs.next().and_then(|port| port.value) else { continue };
                    let literal = outer.literal(theirs, self.task, &self.files);
                    let known = outer.value(theirs).cloned().unwrap_or_default();
                    graph.conclude(id, Output { dtype: known.dtype, shape: known.shape, literal });
                }
                5 => outputs.push(graph.builder.value(&value.text())?),
                7 => nodes.push(value.part()),
                11 => {
                    let proto = AttributeProto::parse(value.part())?;
                    let name = proto.name.clone();
                    bindings.extend(proto.value().map(|value| (name, value)));
                }
                _ => {}
            }
        }
        bindings.extend(node.attributes.iter().map(|(name, value)| (name.to_string(), value.clone())));
        graph.bindings = Some(bindings);
        let work =
            nodes.len().saturating_add(1).saturating_mul(CALLED_NODE).saturating_add(part.bytes().len());
        let Some(left) = self.left.checked_sub(work) else { return Ok(Vec::new()) };
        self.left = left;
        self.deeper(|reader| reader.nodes(nodes, &mut graph))?;
        let output = |id: ValueId| {
            let value = graph.value(id).cloned().unwrap_or_default();
            let literal = graph.literal(id, self.task, &self.files);
            Output { dtype: value.dtype, shape: value.shape, literal }
        };
        Ok(outputs.into_iter().map(output).collect())
    }
}

/// A tensor of the graph. What is wrong with it is the graph's problem, and the others are there.
fn initializer(part: Part, graph: &mut PartialGraph) -> Result<()> {
    let tensor = match Tensor::parse(part) {
        Ok(tensor) => tensor,
        Err(error) => {
            graph.read.problem.get_or_insert(error);
            return Ok(());
        }
    };
    let number = graph.read.initializers.len();
    if number >= TENSORS {
        return Err(Error::limit(format!("more than {TENSORS} tensors")));
    }
    let path = graph.below(&tensor.name);
    let id = graph.weight(&tensor.name, tensor.type_name(), &tensor.shape, path)?;
    graph.tensors.insert(id, (false, number));
    graph.read.initializers.push(tensor);
    Ok(())
}

fn finished(graph: PartialGraph, problem: Option<Error>) -> ModelGraph {
    let mut read = graph.read;
    read.graph = Arc::new(graph.builder.finish());
    read.problem = read.problem.take().or(problem);
    read
}

/// Under which key PyTorch's exporter keeps the modules of a node.
const SCOPES: &str = "pkg.torch.onnx.name_scopes";

/// The module of a node from a list as Python prints it: `['', 'layers.0', 'layers.0.attn', 'linear']`. The last one is the
/// node itself.
fn module(list: &str) -> Option<String> {
    let names: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
    let (_, modules) = names.split_last()?;
    Some(modules.last().copied().unwrap_or_default().replace('.', "/"))
}

/// Domain and name of a function.
fn named(part: Part) -> Result<(String, String)> {
    let (mut domain, mut name) = (String::new(), String::new());
    for field in part.fields() {
        let field = field?;
        match field.number {
            1 => name = field.value.text(),
            10 => domain = field.value.text(),
            _ => {}
        }
    }
    Ok((domain, name))
}

fn path_of((domain, name): &(String, String)) -> String {
    if domain.is_empty() { name.clone() } else { format!("{domain}.{name}") }
}

fn port(value: Wire, graph: &mut PartialGraph) -> Result<Port> {
    let name = value.text();
    // An empty name is an optional value that is not there.
    let value = (!name.is_empty()).then(|| graph.builder.value(&name)).transpose()?;
    Ok(Port { value, ..Port::default() })
}
