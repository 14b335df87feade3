//! `GraphProto`, `FunctionProto`, `NodeProto`: the graph that they describe.

use super::tensor::Tensor;
use super::{Place, infer, pair, types};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Builder, Dimension, Graph, Operation, Port, scope};
use crate::engines::protobuf::{Field, Part, Value as Wire};
use std::collections::HashMap;
use std::sync::Arc;

/// The most tensors of a graph.
const TENSORS: usize = 1 << 24;
/// How deep graphs may lie in graphs.
const DEPTH: usize = 24;

/// A graph and what lies beside its nodes.
#[derive(Default)]
pub(super) struct Made {
    pub(super) graph: Graph,
    pub(super) initializers: Vec<Tensor>,
    /// Tensors that stand in attributes, by their names in the tree.
    pub(super) constants: Vec<(String, Tensor)>,
    pub(super) sparse: Vec<Sparse>,
    /// The bodies of nodes, by their names in the tree.
    pub(super) subgraphs: Vec<(String, Made)>,
    /// The first thing that is wrong with it; what could be read is there.
    pub(super) problem: Option<Error>,
    pub(super) remarks: Vec<String>,
}

/// A `SparseTensorProto`.
#[derive(Default)]
pub(super) struct Sparse {
    pub(super) name: String,
    pub(super) shape: Vec<u64>,
    pub(super) values: Option<Tensor>,
    pub(super) indices: Option<Tensor>,
}

/// Makes the graphs of one model.
pub(super) struct Maker<'a> {
    place: Place<'a>,
    /// The functions by domain and name: their paths in the tree.
    functions: HashMap<(String, String), Arc<str>>,
    /// Operators' names and such, each once.
    texts: HashMap<String, Arc<str>>,
    depth: usize,
}

/// The graph while it is made.
struct Draft<'p> {
    builder: Builder,
    made: Made,
    /// The path of its node in the tree; empty for the main graph.
    path: &'p str,
}

impl Draft<'_> {
    /// The path of something below the graph.
    fn below(&self, name: &str) -> Arc<str> {
        match self.path {
            "" => name.into(),
            path => format!("{path}/{name}").into(),
        }
    }

    /// Tells a value that it is a tensor of the tree.
    fn weight(&mut self, name: &str, tensor: &Tensor, path: Arc<str>) -> Result<()> {
        let id = self.builder.value(name)?;
        if let Some(value) = self.builder.describe(id) {
            value.dtype = Some(tensor.type_name().into());
            value.shape = Some(tensor.shape.iter().map(|length| Dimension::Fixed(*length)).collect());
            (value.weight, value.elements) = (Some(path), tensor.elements());
        }
        Ok(())
    }
}

impl<'a> Maker<'a> {
    pub(super) fn new(task: &'a Task, source: &'a Source, functions: &[Part]) -> Result<Self> {
        let mut maker = Maker {
            place: Place { task, source },
            functions: HashMap::new(),
            texts: HashMap::new(),
            depth: 0,
        };
        for part in functions {
            let key = named(*part)?;
            let path = format!("functions/{}", path_of(&key)).into();
            maker.functions.insert(key, path);
        }
        Ok(maker)
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
    pub(super) fn graph(&mut self, part: Part, path: &str) -> Result<Made> {
        self.deeper(|maker| {
            let mut draft = Draft { builder: Builder::default(), made: Made::default(), path };
            let filled = maker.fill(part, &mut draft).unless_cancelled()?;
            draft.made.problem = draft.made.problem.take().or(filled.err());
            Ok(maker.finish(draft))
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

    fn finish(&self, draft: Draft) -> Made {
        let mut made = draft.made;
        made.graph = draft.builder.finish();
        let known: HashMap<&str, &Tensor> = {
            let constants = made.constants.iter().map(|(name, tensor)| (name.as_str(), tensor));
            let own = made.initializers.iter().map(|tensor| (tensor.name.as_str(), tensor));
            constants.chain(own).collect()
        };
        let integers = |name: &str| known.get(name)?.small_integers(self.place.task, self.place.source);
        infer::shapes(&mut made.graph, &integers);
        made
    }

    fn fill(&mut self, part: Part, draft: &mut Draft) -> Result<()> {
        let (mut nodes, mut values, mut name) = (Vec::new(), Vec::new(), String::new());
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => nodes.push(value.part()),
                2 => name = value.text(),
                5 => {
                    let tensor = match Tensor::parse(value.part()) {
                        Ok(tensor) => tensor,
                        Err(error) => {
                            draft.made.problem.get_or_insert(error);
                            continue;
                        }
                    };
                    let path = draft.below(&tensor.name);
                    draft.weight(&tensor.name, &tensor, path)?;
                    if draft.made.initializers.len() >= TENSORS {
                        return Err(Error::limit(format!("more than {TENSORS} tensors")));
                    }
                    draft.made.initializers.push(tensor);
                }
                11..=13 => values.push((number, value.part())),
                15 => draft.made.sparse.push(sparse(value.part())?),
                _ => {}
            }
        }
        draft.builder.rename(name);
        for (number, part) in values {
            self.value(number, part, draft)?;
        }
        for (number, part) in nodes.into_iter().enumerate() {
            if number % 1_024 == 0 {
                self.place.task.check()?;
            }
            self.node(part, number, draft)?;
        }
        Ok(())
    }

    /// A `ValueInfoProto`: an input, an output or what is known of a value between.
    fn value(&mut self, number: u32, part: Part, draft: &mut Draft) -> Result<()> {
        let (mut name, mut found) = (String::new(), types::Type::default());
        for field in part.fields() {
            let field = field?;
            match field.number {
                1 => name = field.value.text(),
                2 => found = types::parse(field.value.part())?,
                _ => {}
            }
        }
        let id = draft.builder.value(&name)?;
        if let Some(value) = draft.builder.describe(id) {
            value.dtype = found.dtype.or(value.dtype.take());
            value.shape = found.shape.or(value.shape.take());
        }
        match number {
            11 => draft.builder.input(id),
            12 => draft.builder.output(id),
            _ => {}
        }
        Ok(())
    }

    fn node(&mut self, part: Part, number: usize, draft: &mut Draft) -> Result<()> {
        let mut node = Operation::default();
        let (mut attributes, mut scopes, mut outputs) = (Vec::new(), None, Vec::new());
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => node.inputs.push(port(value, draft)?),
                2 => {
                    outputs.push(value.text());
                    node.outputs.push(port(value, draft)?);
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
        node.function = self.functions.get(&key).cloned();
        let own = match (&*node.name, outputs.first()) {
            ("", Some(output)) => output.clone(),
            ("", None) => format!("{} {number}", node.operator),
            (name, _) => name.to_owned(),
        };
        for part in attributes {
            self.attribute(part, &own, &outputs, &mut node, draft)?;
        }
        draft.builder.node(node)
    }

    fn attribute(
        &mut self,
        part: Part,
        own: &str,
        outputs: &[String],
        node: &mut Operation,
        draft: &mut Draft,
    ) -> Result<()> {
        let raw = Raw::parse(part)?;
        let name = self.text(raw.name.clone());
        for (n, part) in raw.tensors.iter().enumerate() {
            let tensor = Tensor::parse(*part)?;
            let output = outputs.first().filter(|_| &*node.operator == "Constant" && raw.name == "value");
            let place = match output {
                Some(output) => output.clone(),
                None if n == 0 => format!("{own}.{name}"),
                None => format!("{own}.{name}.{n}"),
            };
            let path = draft.below(&format!("constants/{place}"));
            let what = format!("{} {}", tensor.type_name(), crate::bytes::display::shape(&tensor.shape));
            if let Some(output) = output {
                draft.weight(output, &tensor, path.clone())?;
            }
            node.attributes.push((name.clone(), Attribute::Tensor(Some(path), what)));
            draft.made.constants.push((place, tensor));
        }
        for (n, part) in raw.graphs.iter().enumerate() {
            let called = if n == 0 { format!("{own}.{name}") } else { format!("{own}.{name}.{n}") };
            let path = draft.below(&format!("subgraphs/{called}"));
            let made = self.graph(*part, &path)?;
            let what = crate::bytes::display::plural(made.graph.nodes().len() as u64, "node");
            node.attributes.push((name.clone(), Attribute::Graph(format!("graph of {what}"))));
            node.subgraphs.push((name.clone(), Arc::new(made.graph.clone())));
            draft.made.subgraphs.push((called, made));
        }
        if let Some(value) = raw.value() {
            node.attributes.push((name, value));
        }
        Ok(())
    }

    /// A `FunctionProto`: its name in the tree, and its body.
    ///
    /// # Errors
    /// As [`graph`](Self::graph).
    pub(super) fn function(&mut self, part: Part) -> Result<(String, Made)> {
        let name = path_of(&named(part)?);
        let path = format!("functions/{name}");
        self.deeper(|maker| {
            let mut draft = Draft { builder: Builder::new(name.clone()), made: Made::default(), path: &path };
            let filled = maker.body(part, &mut draft).unless_cancelled()?;
            draft.made.problem = draft.made.problem.take().or(filled.err());
            Ok((name, maker.finish(draft)))
        })
    }

    fn body(&mut self, part: Part, draft: &mut Draft) -> Result<()> {
        let mut nodes = Vec::new();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                4 => {
                    let id = draft.builder.value(&value.text())?;
                    draft.builder.input(id);
                }
                5 => {
                    let id = draft.builder.value(&value.text())?;
                    draft.builder.output(id);
                }
                7 => nodes.push(value.part()),
                12 => self.value(13, value.part(), draft)?,
                _ => {}
            }
        }
        for (number, part) in nodes.into_iter().enumerate() {
            self.node(part, number, draft)?;
        }
        Ok(())
    }
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

fn port(value: Wire, draft: &mut Draft) -> Result<Port> {
    let name = value.text();
    // An empty name is an optional value that is not there.
    let value = (!name.is_empty()).then(|| draft.builder.value(&name)).transpose()?;
    Ok(Port { value, ..Port::default() })
}

fn sparse(part: Part) -> Result<Sparse> {
    let mut sparse = Sparse::default();
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        match (number, value) {
            (1, value) => sparse.values = Some(Tensor::parse(value.part())?),
            (2, value) => sparse.indices = Some(Tensor::parse(value.part())?),
            (3, Wire::Bytes(part)) => {
                for length in part.varints() {
                    sparse.shape.push(length?);
                }
            }
            (3, value) => sparse.shape.push(value.uint()),
            _ => {}
        }
    }
    sparse.name = sparse.values.as_ref().map_or(String::new(), |values| values.name.clone());
    Ok(sparse)
}

/// The fields of an `AttributeProto`.
#[derive(Default)]
struct Raw<'a> {
    name: String,
    kind: u64,
    float: Option<f64>,
    int: Option<i64>,
    text: Option<String>,
    floats: Vec<f64>,
    ints: Vec<i64>,
    texts: Vec<String>,
    tensors: Vec<Part<'a>>,
    graphs: Vec<Part<'a>>,
    reference: Option<String>,
    types: Vec<String>,
}

impl<'a> Raw<'a> {
    fn parse(part: Part<'a>) -> Result<Self> {
        let mut raw = Raw::default();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => raw.name = value.text(),
                (2, Wire::Fixed32(bytes)) => raw.float = Some(shortest(bytes)),
                (3, value) => raw.int = Some(value.uint() as i64),
                (4, value) => raw.text = Some(value.text()),
                (5 | 10, value) => raw.tensors.push(value.part()),
                (6 | 11, value) => raw.graphs.push(value.part()),
                (7, Wire::Fixed32(bytes)) => raw.floats.push(shortest(bytes)),
                (7, value) => {
                    raw.floats.extend(value.part().bytes().as_chunks::<4>().0.iter().map(|b| shortest(*b)))
                }
                (8, Wire::Bytes(part)) => {
                    for value in part.varints() {
                        raw.ints.push(value? as i64);
                    }
                }
                (8, value) => raw.ints.push(value.uint() as i64),
                (9, value) => raw.texts.push(value.text()),
                (14 | 15, value) => {
                    raw.types.push(types::parse(value.part())?.dtype.unwrap_or_default().to_string());
                }
                (20, value) => raw.kind = value.uint(),
                (21, value) => raw.reference = Some(value.text()),
                _ => {}
            }
        }
        Ok(raw)
    }

    /// What it holds, but for tensors and graphs. Files without a kind are older than it: what is set counts then.
    fn value(self) -> Option<Attribute> {
        if let Some(name) = self.reference.filter(|name| !name.is_empty()) {
            return Some(Attribute::Text(format!("the function's {name}")));
        }
        Some(match self.kind {
            1 => Attribute::Float(self.float.unwrap_or(0.0)),
            2 => Attribute::Int(self.int.unwrap_or(0)),
            3 => Attribute::Text(self.text.unwrap_or_default()),
            6 => Attribute::Floats(self.floats),
            7 => Attribute::Ints(self.ints),
            8 => Attribute::Texts(self.texts),
            _ if !self.types.is_empty() => Attribute::Texts(self.types),
            4 | 5 | 9 | 10 => return None,
            _ => match (self.float, self.int, self.text) {
                (Some(value), _, _) => Attribute::Float(value),
                (_, Some(value), _) => Attribute::Int(value),
                (_, _, Some(text)) => Attribute::Text(text),
                _ if !self.floats.is_empty() => Attribute::Floats(self.floats),
                _ if !self.texts.is_empty() => Attribute::Texts(self.texts),
                _ if !self.ints.is_empty() => Attribute::Ints(self.ints),
                _ => return None,
            },
        })
    }
}

/// A float of 32 bits as the shortest number of 64 that reads the same: 0.1 rather than 0.10000000149.
fn shortest(bytes: [u8; 4]) -> f64 {
    let value = f32::from_le_bytes(bytes);
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}
