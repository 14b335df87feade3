//! The messages of graphs: GraphDef, NodeDef, FunctionDef, MetaGraphDef, SignatureDef. What is broken in one leaves the
//! others as they are.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/graph.proto>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/function.proto>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/meta_graph.proto>

use super::types;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::graph::Dimension;
use crate::engines::protobuf::{Field, Part, Value as Wire};

/// The most dimensions of a shape.
const DIMENSIONS: usize = 254;

/// A node of a graph or a function.
#[derive(Debug)]
pub struct NodeDef<'a> {
    /// Its name.
    pub name: String,
    /// The operation.
    pub op: String,
    /// What it takes: `x`, `x:1`, `^x`; in functions `x:output:0`.
    pub inputs: Vec<String>,
    /// The device that it is placed on; empty where none is said.
    pub device: String,
    /// Names and values (`AttrValue`) of its attributes.
    pub attributes: Vec<(String, Part<'a>)>,
}

/// What goes into a function or comes out of it.
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// The number of its type; 0 where an attribute says it.
    pub dtype: u64,
}

/// A function.
#[derive(Debug)]
pub struct FunctionDef<'a> {
    /// Its name.
    pub name: String,
    /// What goes in.
    pub inputs: Vec<Argument>,
    /// What comes out.
    pub outputs: Vec<Argument>,
    /// The tensor of the body that an output is, by the output's name.
    pub returns: Vec<(String, String)>,
    /// Attributes of inputs, by their numbers.
    pub input_attributes: Vec<(u64, String, Part<'a>)>,
    /// Its own attributes.
    pub attributes: Vec<(String, Part<'a>)>,
    /// The body.
    pub nodes: Vec<NodeDef<'a>>,
    /// What is wrong with it.
    pub problem: Option<Error>,
}

/// A graph with its functions.
#[derive(Debug, Default)]
pub struct GraphDef<'a> {
    /// The nodes.
    pub nodes: Vec<NodeDef<'a>>,
    /// The functions.
    pub functions: Vec<FunctionDef<'a>>,
    /// Functions and those that are their gradients.
    pub gradients: Vec<(String, String)>,
    /// Names and texts of what it says of itself: versions.
    pub about: Vec<(String, String)>,
    /// What is wrong with it.
    pub problem: Option<Error>,
    /// How many fields were no field of a graph.
    pub strange: u64,
}

/// A tensor that goes into a signature or comes out of it.
#[derive(Debug)]
pub struct TensorInfo {
    /// The signature's name for it.
    pub key: String,
    /// The tensor: `x:0`.
    pub tensor: String,
    /// The number of its type.
    pub dtype: u64,
    /// Its shape; `None` where that is open.
    pub shape: Option<Vec<Dimension>>,
}

/// A signature: what a graph is asked for.
#[derive(Debug)]
pub struct Signature {
    /// Its name.
    pub key: String,
    /// What goes in.
    pub inputs: Vec<TensorInfo>,
    /// What comes out.
    pub outputs: Vec<TensorInfo>,
    /// How it is called: `tensorflow/serving/predict`.
    pub method: String,
}

/// A graph with what a program needs to run it.
#[derive(Debug, Default)]
pub struct MetaGraph<'a> {
    /// What it is for: `serve`, `train`.
    pub tags: Vec<String>,
    /// The graph.
    pub graph: GraphDef<'a>,
    /// Its signatures.
    pub signatures: Vec<Signature>,
    /// Names and texts of what it says of itself.
    pub about: Vec<(String, String)>,
    /// Collections: names, and how many items each has.
    pub collections: Vec<(String, u64)>,
    /// Files that it reads: their names.
    pub assets: Vec<String>,
    /// The objects that it was made of (`SavedObjectGraph`).
    pub objects: Option<Part<'a>>,
    /// What is wrong with it.
    pub problem: Option<Error>,
    /// Whether there was a graph in it.
    pub has_graph: bool,
    /// How many fields were no field of a meta graph.
    pub strange: u64,
}

/// An entry of a map: its key, and its value.
pub fn entry(part: Part) -> Result<(Wire, Wire)> {
    let empty = Wire::Bytes(Part::decoded(&[]));
    let (mut key, mut value) = (empty, empty);
    for field in part.fields() {
        match field? {
            Field { number: 1, value: found, .. } => key = found,
            Field { number: 2, value: found, .. } => value = found,
            _ => {}
        }
    }
    Ok((key, value))
}

/// An entry of a map whose keys are texts.
fn named(value: Wire) -> Result<(String, Part)> {
    let (key, value) = entry(value.part())?;
    Ok((key.text(), value.part()))
}

/// Adds an entry of a map from texts to messages.
fn push_named<'a>(value: Wire<'a>, to: &mut Vec<(String, Part<'a>)>) -> Result<()> {
    to.push(named(value)?);
    Ok(())
}

/// The lengths of a shape (`TensorShapeProto`); `None` where not even their number is known.
///
/// # Errors
/// `Malformed` where it is none.
pub fn shape(part: Part) -> Result<Option<Vec<Dimension>>> {
    let mut sides = Vec::new();
    for field in part.fields() {
        match field? {
            Field { number: 3, value, .. } if value.uint() != 0 => return Ok(None),
            Field { number: 2, value, at } => {
                let (mut size, mut name) = (0i64, String::new());
                for field in value.fields() {
                    match field? {
                        Field { number: 1, value, .. } => size = value.uint().cast_signed(),
                        Field { number: 2, value, .. } => name = value.text(),
                        _ => {}
                    }
                }
                if sides.len() == DIMENSIONS {
                    return Err(Error::malformed("a shape of very many dimensions").at(at));
                }
                sides.push(match u64::try_from(size) {
                    Ok(size) => Dimension::Fixed(size),
                    Err(_) if name.is_empty() => Dimension::Open,
                    Err(_) => Dimension::Named(name.into()),
                });
            }
            _ => {}
        }
    }
    Ok(Some(sides))
}

impl<'a> NodeDef<'a> {
    fn parse(part: Part<'a>, problem: &mut Option<Error>) -> NodeDef<'a> {
        let mut node = NodeDef {
            name: String::new(),
            op: String::new(),
            inputs: Vec::new(),
            device: String::new(),
            attributes: Vec::new(),
        };
        if let Err(error) = node.fields(part) {
            let name = if node.name.is_empty() { "node".to_owned() } else { format!("node {}", node.name) };
            problem.get_or_insert(error.of(&name));
        }
        node
    }

    fn fields(&mut self, part: Part<'a>) -> Result<()> {
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => self.name = value.text(),
                2 => self.op = value.text(),
                3 => self.inputs.push(value.text()),
                4 => self.device = value.text(),
                5 => push_named(value, &mut self.attributes)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<Part<'a>> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// A field of an attribute's value.
    pub fn field(&self, name: &str, number: u32) -> Option<Wire<'a>> {
        let mut fields = self.attribute(name)?.fields().map_while(Result::ok);
        fields.find(|field| field.number == number).map(|field| field.value)
    }
}

/// The arguments and the name in an `OpDef`.
fn signature_of(part: Part, function: &mut FunctionDef) -> Result<()> {
    let argument = |value: Wire| -> Result<Argument> {
        let mut argument = Argument { name: String::new(), dtype: 0 };
        for field in value.fields() {
            match field? {
                Field { number: 1, value, .. } => argument.name = value.text(),
                Field { number: 3, value, .. } => argument.dtype = value.uint(),
                _ => {}
            }
        }
        Ok(argument)
    };
    for field in part.fields() {
        match field? {
            Field { number: 1, value, .. } => function.name = value.text(),
            Field { number: 2, value, .. } => function.inputs.push(argument(value)?),
            Field { number: 3, value, .. } => function.outputs.push(argument(value)?),
            _ => {}
        }
    }
    Ok(())
}

impl<'a> FunctionDef<'a> {
    fn parse(task: &Task, part: Part<'a>) -> Result<FunctionDef<'a>> {
        let mut function = FunctionDef {
            name: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            returns: Vec::new(),
            input_attributes: Vec::new(),
            attributes: Vec::new(),
            nodes: Vec::new(),
            problem: None,
        };
        match function.fields(task, part) {
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => drop(function.problem.get_or_insert(error)),
            Ok(()) => {}
        }
        Ok(function)
    }

    fn fields(&mut self, task: &Task, part: Part<'a>) -> Result<()> {
        for field in part.fields() {
            task.check()?;
            let Field { number, value, .. } = field?;
            match number {
                1 => signature_of(value.part(), self)?,
                3 => self.nodes.push(NodeDef::parse(value.part(), &mut self.problem)),
                4 => {
                    let (key, value) = named(value)?;
                    self.returns.push((key, String::from_utf8_lossy(value.bytes()).into_owned()));
                }
                5 => push_named(value, &mut self.attributes)?,
                7 => {
                    let (key, value) = entry(value.part())?;
                    for field in value.fields() {
                        let field = field?;
                        if field.number == 1 {
                            let (name, value) = named(field.value)?;
                            self.input_attributes.push((key.uint(), name, value));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> GraphDef<'a> {
    /// Reads a graph, as far as it is whole.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn parse(task: &Task, part: Part<'a>) -> Result<GraphDef<'a>> {
        let mut graph = GraphDef::default();
        match graph.fields(task, part) {
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => drop(graph.problem.get_or_insert(error)),
            Ok(()) => {}
        }
        Ok(graph)
    }

    /// Whether it reads as one: there are nodes or functions with names.
    pub fn is_likely(&self) -> bool {
        let named = self.nodes.iter().filter(|node| is_operation(&node.op)).count();
        let all = self.nodes.len();
        let has_functions = self.functions.iter().any(|function| !function.nodes.is_empty());
        (named > 0 && named == all || all == 0 && has_functions) && self.strange == 0
    }

    fn fields(&mut self, task: &Task, part: Part<'a>) -> Result<()> {
        for (n, field) in part.fields().enumerate() {
            if n % 256 == 0 {
                task.check()?;
            }
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, Wire::Bytes(node)) => self.nodes.push(NodeDef::parse(node, &mut self.problem)),
                (2, Wire::Bytes(library)) => self.library(task, library)?,
                (3, Wire::Varint(version)) => self.about.push(("version".to_owned(), version.to_string())),
                (4, Wire::Bytes(versions)) => versions_of(versions, &mut self.about)?,
                (5, Wire::Bytes(_)) => {}
                _ => self.strange += 1,
            }
        }
        Ok(())
    }

    fn library(&mut self, task: &Task, part: Part<'a>) -> Result<()> {
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => self.functions.push(FunctionDef::parse(task, value.part())?),
                2 => {
                    let (function, gradient) = entry(value.part())?;
                    self.gradients.push((function.text(), gradient.text()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a text could be the name of an operation.
fn is_operation(op: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '>' | '.' | '-' | '/');
    !op.is_empty() && op.len() < 256 && op.chars().all(fits)
}

/// What a `VersionDef` says.
fn versions_of(part: Part, about: &mut Vec<(String, String)>) -> Result<()> {
    for field in part.fields() {
        match field? {
            Field { number: 1, value, .. } => about.push(("producer".to_owned(), value.uint().to_string())),
            Field { number: 2, value, .. } => {
                about.push(("min_consumer".to_owned(), value.uint().to_string()))
            }
            _ => {}
        }
    }
    Ok(())
}

impl TensorInfo {
    fn parse(key: String, part: Part) -> Result<TensorInfo> {
        let mut info = TensorInfo { key, tensor: String::new(), dtype: 0, shape: None };
        for field in part.fields() {
            match field? {
                Field { number: 1, value, .. } => info.tensor = value.text(),
                Field { number: 2, value, .. } => info.dtype = value.uint(),
                Field { number: 3, value, .. } => info.shape = shape(value.part())?,
                // Sparse ones and those of several tensors: the names of their parts.
                Field { number: 4, value, .. } => {
                    let parts: Vec<String> =
                        value.fields().flatten().map(|field| field.value.text()).collect();
                    info.tensor = parts.join(", ");
                }
                Field { number: 5, value, .. } => {
                    let mut parts = Vec::new();
                    for field in value.fields() {
                        if let Field { number: 2, value, .. } = field? {
                            parts.push(TensorInfo::parse(String::new(), value.part())?.tensor);
                        }
                    }
                    info.tensor = parts.join(", ");
                }
                _ => {}
            }
        }
        Ok(info)
    }

    /// The word for its type.
    pub fn type_word(&self) -> String {
        types::word(self.dtype)
    }
}

impl Signature {
    /// Reads a signature.
    ///
    /// # Errors
    /// `Malformed`.
    pub fn parse(key: String, part: Part) -> Result<Signature> {
        let mut signature = Signature { key, inputs: Vec::new(), outputs: Vec::new(), method: String::new() };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 | 2 => {
                    let (key, value) = named(value)?;
                    let info = TensorInfo::parse(key, value)?;
                    let side = if number == 1 { &mut signature.inputs } else { &mut signature.outputs };
                    side.push(info);
                }
                3 => signature.method = value.text(),
                _ => {}
            }
        }
        Ok(signature)
    }
}

impl<'a> MetaGraph<'a> {
    /// Reads a meta graph, as far as it is whole.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn parse(task: &Task, part: Part<'a>) -> Result<MetaGraph<'a>> {
        let mut meta = MetaGraph::default();
        match meta.fields(task, part) {
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => drop(meta.problem.get_or_insert(error)),
            Ok(()) => {}
        }
        if let Some(error) = meta.graph.problem.take() {
            meta.problem.get_or_insert(error);
        }
        Ok(meta)
    }

    fn fields(&mut self, task: &Task, part: Part<'a>) -> Result<()> {
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, Wire::Bytes(info)) => self.info(info)?,
                (2, Wire::Bytes(graph)) => {
                    self.graph = GraphDef::parse(task, graph)?;
                    self.has_graph = true;
                }
                (3, Wire::Bytes(_)) => {}
                (4, Wire::Bytes(_)) => {
                    let (name, value) = named(value)?;
                    self.collections.push((name, items(value)?));
                }
                (5, Wire::Bytes(_)) => {
                    let (key, value) = named(value)?;
                    self.signatures.push(Signature::parse(key, value)?);
                }
                (6, Wire::Bytes(asset)) => {
                    let names = asset.fields().map_while(Result::ok).filter(|field| field.number == 2);
                    self.assets.extend(names.map(|field| field.value.text()));
                }
                (7, Wire::Bytes(objects)) => self.objects = Some(objects),
                _ => self.strange += 1,
            }
        }
        Ok(())
    }

    fn info(&mut self, part: Part) -> Result<()> {
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            let name = match number {
                1 => "meta_graph_version",
                5 => "tensorflow_version",
                6 => "tensorflow_git_version",
                4 => {
                    self.tags.push(value.text());
                    continue;
                }
                _ => continue,
            };
            self.about.push((name.to_owned(), value.text()));
        }
        Ok(())
    }
}

/// How many items a `CollectionDef` has.
fn items(part: Part) -> Result<u64> {
    let mut count = 0;
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        for item in value.fields() {
            count += match item?.value {
                // Numbers are packed.
                Wire::Bytes(numbers) if number == 3 => numbers.varints().count() as u64,
                Wire::Bytes(numbers) if number == 4 => numbers.bytes().len() as u64 / 4,
                _ => 1,
            };
        }
    }
    Ok(count)
}
