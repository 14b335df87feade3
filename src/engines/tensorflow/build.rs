//! The graph that a GraphDef or a FunctionDef describes.
//!
//! Nodes name what they take by the node that makes it: `x` is its first output, `x:1` the second, `^x` says that `x` runs
//! before. In functions it is `x:output:0`, by the operator's own name for the output, or the name of an argument.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/node_def.proto>

use super::attribute;
use super::constants::Weight;
use super::messages::{self, FunctionDef, NodeDef, TensorInfo};
use super::tensor::Tensor;
use super::types;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Builder, Dimension, Graph, Operation, Port, ValueId, scope};
use crate::engines::protobuf::{Part, Value as Wire};
use std::collections::HashMap;
use std::sync::Arc;

/// How deep functions are followed into each other.
const DEPTH: usize = 32;
/// The most nodes of a graph with all that its subgraphs hold, each as often as it is one.
const NESTED: u64 = 1 << 20;
/// The most outputs of a node of which type and shape are looked up.
const DESCRIBED: usize = 1 << 10;
/// Operators whose functions are their bodies.
const WITH_BODIES: &[&str] = &["If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase"];
/// Operators that make nothing.
const WITHOUT_OUTPUT: &[&str] = &[
    "NoOp",
    "Assert",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "SaveV2",
    "Save",
    "MergeV2Checkpoints",
    "LookupTableImportV2",
    "InitializeTableV2",
    "InitializeTableFromTextFileV2",
];
/// Operators whose attribute `T` is the type of their first output.
const SAME_TYPE: &str = "Identity StopGradient MatMul BatchMatMul BatchMatMulV2 Conv2D Conv3D DepthwiseConv2dNative BiasAdd Relu \
    Relu6 LeakyRelu Elu Selu Sigmoid Tanh Softmax LogSoftmax Softplus Add AddV2 AddN Sub Mul Div RealDiv \
    FloorDiv FloorMod Maximum Minimum Neg Exp Log Sqrt Rsqrt Square Pow Abs Erf Mean Sum Max Min Prod \
    MaxPool AvgPool Reshape Transpose Squeeze ExpandDims ConcatV2 Concat Pack Unpack Split SplitV \
    StridedSlice Slice Pad PadV2 MirrorPad Tile Fill FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 \
    ResizeNearestNeighbor Select SelectV2 ClipByValue Einsum Reverse ReverseV2 GatherNd Assign";
/// Operators whose output is true or false.
const TRUTH: &str = "Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot Any All IsNan IsInf \
    IsFinite VarIsInitializedOp IsVariableInitialized";

/// Whether a list of words has one.
fn has(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// What the graph of a model refers to.
pub struct Context<'a> {
    /// Permission to go on.
    pub task: &'a Task,
    /// Weights by the names of the variables.
    pub variables: &'a HashMap<String, Weight>,
    /// Weights by the names of the nodes that are handles of variables, which are surer.
    pub handles: HashMap<String, Weight>,
    /// What the paths of functions begin with.
    pub functions: String,
}

/// What a graph or the body of a function is made of.
pub struct Body<'a> {
    /// The nodes.
    pub nodes: &'a [NodeDef<'a>],
    /// The weights that nodes make, by their numbers.
    pub weights: HashMap<usize, Weight>,
    /// The function whose body it is.
    pub function: Option<&'a FunctionDef<'a>>,
    /// What goes into a graph and what comes out of it, where a signature says it.
    pub signature: Option<(&'a [TensorInfo], &'a [TensorInfo])>,
}

/// A tensor as a node names it.
pub(super) struct Reference<'a> {
    /// The node that makes it, or the argument that it is.
    pub(super) producer: &'a str,
    port: &'a str,
    /// Which of the outputs of its name it is.
    pub(super) index: u64,
    value: &'a str,
    is_control: bool,
}

impl<'a> Reference<'a> {
    pub(super) fn of(text: &'a str, in_function: bool) -> Reference<'a> {
        if let Some(producer) = text.strip_prefix('^') {
            return Reference { producer, port: "", index: 0, value: text, is_control: true };
        }
        let number = |text: &str| text.parse::<u64>().ok();
        let (name, port) = match text.split_once(':') {
            Some(parts) if in_function => parts,
            _ => (text, ""),
        };
        let (producer, port, index) = match (in_function, port.rsplit_once(':'), text.rsplit_once(':')) {
            (true, Some((port, index)), _) => (name, port, number(index).unwrap_or(0)),
            (true, None, _) => (name, port, 0),
            (false, _, Some((name, index))) => match number(index) {
                Some(index) => (name, "", index),
                None => (text, "", 0),
            },
            (false, _, None) => (text, "", 0),
        };
        let value = if !in_function && index == 0 { producer } else { text };
        Reference { producer, port, index, value, is_control: false }
    }
}

/// An output that somebody asks for.
struct Output {
    id: ValueId,
    port: Arc<str>,
    index: u64,
    is_control: bool,
}

/// Makes one graph.
struct GraphBuilder<'a, 'b> {
    body: &'b Body<'a>,
    builder: Builder,
    by_name: HashMap<&'b str, usize>,
    /// What is asked for, by the numbers of the nodes.
    outputs: Vec<Vec<Output>>,
}

impl<'a, 'b> GraphBuilder<'a, 'b> {
    /// The value that a text names, known as an output of the node that makes it.
    fn value(&mut self, text: &str) -> Result<(ValueId, bool)> {
        let reference = Reference::of(text, self.body.function.is_some());
        if let Some(id) = self.builder.known(reference.value) {
            return Ok((id, reference.is_control));
        }
        let id = self.builder.value(reference.value)?;
        let producer = self.by_name.get(reference.producer).copied();
        if let Some(outputs) = producer.and_then(|n| self.outputs.get_mut(n)) {
            let Reference { port, index, is_control, .. } = reference;
            outputs.push(Output { id, port: port.into(), index, is_control });
        }
        Ok((id, reference.is_control))
    }

    /// What is handed in and what comes out, by the function's or the graph's signature.
    fn ends(&mut self) -> Result<()> {
        if let Some(function) = self.body.function {
            let mut shapes = argument_shapes(function);
            for (n, argument) in function.inputs.iter().enumerate() {
                let id = self.builder.value(&argument.name)?;
                let shape = shapes.remove(&(n as u64));
                self.describe(id, argument.dtype, shape, false);
                self.builder.input(id);
            }
            let returns: HashMap<&str, &str> =
                function.returns.iter().map(|(name, tensor)| (name.as_str(), tensor.as_str())).collect();
            for output in &function.outputs {
                let returned = returns.get(output.name.as_str()).copied();
                let (id, _) = self.value(returned.unwrap_or(&output.name))?;
                self.describe(id, output.dtype, None, false);
                self.builder.output(id);
            }
        }
        let (inputs, outputs) = self.body.signature.unwrap_or_default();
        for (infos, is_input) in [(inputs, true), (outputs, false)] {
            for info in infos.iter().filter(|info| info.dtype != 0) {
                let (id, _) = self.value(&info.tensor)?;
                self.describe(id, info.dtype, info.shape.clone(), false);
                if is_input { self.builder.input(id) } else { self.builder.output(id) }
            }
        }
        Ok(())
    }

    fn describe(&mut self, id: ValueId, dtype: u64, shape: Option<Vec<Dimension>>, is_inferred: bool) {
        let Some(value) = self.builder.describe(id) else { return };
        if value.dtype.is_none() && dtype != 0 {
            value.dtype = Some(types::word(dtype).into());
            value.is_inferred |= is_inferred;
        }
        if value.shape.is_none() && shape.is_some() {
            value.shape = shape;
        }
    }

    /// Outputs of a graph that nobody takes. Without a signature they come out, and placeholders are handed in.
    fn guessed_ends(&mut self) -> Result<()> {
        let body = self.body;
        if body.function.is_some() {
            return Ok(());
        }
        for (n, node) in body.nodes.iter().enumerate() {
            let is_taken = self.outputs.get(n).is_some_and(|outputs| !outputs.is_empty());
            let is_input = node.op.starts_with("Placeholder");
            if !is_input && (is_taken || WITHOUT_OUTPUT.contains(&node.op.as_str())) {
                continue;
            }
            let (id, _) = self.value(&node.name)?;
            if body.signature.is_some() {
                continue;
            }
            if is_input {
                self.builder.input(id);
            } else if node.op != "Const" {
                self.builder.output(id);
            }
        }
        Ok(())
    }
}

/// The shapes of a function's arguments, by their numbers, where attributes say them.
fn argument_shapes(function: &FunctionDef) -> HashMap<u64, Vec<Dimension>> {
    let told = function.input_attributes.iter().filter(|(_, name, _)| name == "_output_shapes");
    let shape = |(n, _, value): &(u64, String, Part)| {
        let list = value.fields().map_while(Result::ok).find(|field| field.number == 1)?;
        Some((*n, nth_shape(list.value, 0)?))
    };
    told.filter_map(shape).collect()
}

/// The n-th shape of a list.
fn nth_shape(list: Wire, n: u64) -> Option<Vec<Dimension>> {
    let mut shapes = list.fields().map_while(Result::ok).filter(|field| field.number == 7);
    messages::shape(shapes.nth(usize::try_from(n).ok()?)?.value.part()).ok()?
}

/// The n-th type of a list.
fn nth_type(list: Wire, n: u64) -> Option<u64> {
    let mut codes = Vec::new();
    for field in list.fields().map_while(Result::ok).filter(|field| field.number == 6) {
        match field.value {
            Wire::Bytes(part) => codes.extend(part.varints().map_while(Result::ok)),
            single => codes.push(single.uint()),
        }
    }
    codes.get(usize::try_from(n).ok()?).copied()
}

/// The type of an output, and whether it is concluded from what the operator does.
fn output_type(node: &NodeDef, n: u64) -> Option<(u64, bool)> {
    let single = |name: &str| node.field(name, 6).map(|value| value.uint());
    let listed = |name: &str| node.field(name, 1).and_then(|list| nth_type(list, n));
    match node.op.as_str() {
        "Const"
        | "Placeholder"
        | "PlaceholderWithDefault"
        | "PlaceholderV2"
        | "ReadVariableOp"
        | "VariableV2"
        | "Variable" => single("dtype").map(|code| (code, false)),
        "ResourceGather" => single("dtype").map(|code| (code, false)),
        "VarHandleOp" | "HashTableV2" | "MutableHashTableV2" => Some((20, true)),
        "Cast" => single("DstT").map(|code| (code, false)),
        "Shape" | "Size" => single("out_type").or(Some(3)).map(|code| (code, true)),
        "ArgMax" | "ArgMin" => single("output_type").map(|code| (code, false)),
        "GatherV2" | "Gather" => single("Tparams").map(|code| (code, false)),
        op if op.ends_with("PartitionedCall") || WITH_BODIES.contains(&op) => {
            listed("Tout").or_else(|| listed("T")).map(|code| (code, false))
        }
        "IteratorGetNext" => listed("output_types").map(|code| (code, false)),
        op if has(TRUTH, op) => Some((10, true)),
        op if has(SAME_TYPE, op) && (n == 0 || op.starts_with("Split") || op == "Unpack") => {
            single("T").map(|code| (code, true))
        }
        _ => None,
    }
}

/// The shape of an output, where the node says it.
fn output_shape(node: &NodeDef, n: u64) -> Option<Vec<Dimension>> {
    if let Some(list) = node.field("_output_shapes", 1) {
        return nth_shape(list, n);
    }
    match node.op.as_str() {
        "Const" => {
            let tensor = Tensor::parse(node.field("value", 8)?.part()).ok()?;
            Some(tensor.shape.iter().map(|side| Dimension::Fixed(*side)).collect())
        }
        "Placeholder" | "PlaceholderWithDefault" | "PlaceholderV2" | "VariableV2" | "Variable" => {
            let shape = messages::shape(node.field("shape", 7)?.part()).ok()??;
            // TensorFlow 1 wrote a scalar where nothing is known.
            let is_unsaid = shape.is_empty() && node.op == "Placeholder";
            (!is_unsaid).then_some(shape)
        }
        _ => None,
    }
}

/// The name of the variable that a node is a handle of.
fn variable_name<'a>(node: &'a NodeDef) -> Option<std::borrow::Cow<'a, str>> {
    if !matches!(node.op.as_str(), "VarHandleOp" | "VariableV2" | "Variable") {
        return None;
    }
    let shared = node.field("shared_name", 2).map(|value| value.text()).filter(|name| !name.is_empty());
    Some(shared.map_or(node.name.as_str().into(), Into::into))
}

/// The functions of a model, and their graphs as they are made.
pub struct Library<'a> {
    functions: &'a [FunctionDef<'a>],
    by_name: HashMap<&'a str, usize>,
    /// Weights in the bodies.
    weights: Vec<HashMap<usize, Weight>>,
    made: Vec<State>,
}

/// How far a function is.
#[derive(Clone)]
enum State {
    Not,
    Begun,
    /// Its graph, and its nodes with all that its subgraphs hold.
    Built(Arc<Graph>, u64),
}

impl<'a> Library<'a> {
    /// The functions of a model with the weights of their bodies.
    pub fn new(functions: &'a [FunctionDef<'a>], weights: Vec<HashMap<usize, Weight>>) -> Self {
        let by_name = functions.iter().enumerate().map(|(n, function)| (function.name.as_str(), n)).collect();
        Library { functions, by_name, weights, made: vec![State::Not; functions.len()] }
    }

    /// The graph of a function; `None` where it is in itself, or too deep.
    ///
    /// # Errors
    /// `Cancelled`, `Limit`.
    pub fn function(
        &mut self,
        context: &Context,
        n: usize,
        depth: usize,
    ) -> Result<Option<(Arc<Graph>, u64)>> {
        match self.made.get(n) {
            Some(State::Built(graph, size)) => return Ok(Some((graph.clone(), *size))),
            Some(State::Not) if depth <= DEPTH => {}
            _ => return Ok(None),
        }
        let Some(function) = self.functions.get(n) else { return Ok(None) };
        if let Some(state) = self.made.get_mut(n) {
            *state = State::Begun;
        }
        let weights = self.weights.get_mut(n).map(std::mem::take).unwrap_or_default();
        let body = Body { nodes: &function.nodes, weights, function: Some(function), signature: None };
        let (graph, size) = self.graph(context, &function.name, &body, depth)?;
        let graph = Arc::new(graph);
        if let Some(state) = self.made.get_mut(n) {
            *state = State::Built(graph.clone(), size);
        }
        Ok(Some((graph, size)))
    }

    /// The graph of a body, and its nodes with all that its subgraphs hold.
    ///
    /// # Errors
    /// `Cancelled`, `Limit`.
    pub fn graph(
        &mut self,
        context: &Context,
        name: &str,
        body: &Body,
        depth: usize,
    ) -> Result<(Graph, u64)> {
        let mut by_name = HashMap::new();
        for (n, node) in body.nodes.iter().enumerate() {
            by_name.entry(node.name.as_str()).or_insert(n);
        }
        let outputs = body.nodes.iter().map(|_| Vec::new()).collect();
        let mut making = GraphBuilder { body, builder: Builder::new(name), by_name, outputs };
        making.ends()?;
        let mut inputs = Vec::with_capacity(body.nodes.len());
        for node in body.nodes {
            context.task.check()?;
            let mut ports = Vec::with_capacity(node.inputs.len());
            for input in &node.inputs {
                let (id, is_control) = making.value(input)?;
                ports.push(Port { is_control, ..Port::of(id) });
            }
            inputs.push(ports);
        }
        making.guessed_ends()?;
        let mut size = body.nodes.len() as u64;
        for ((n, node), inputs) in body.nodes.iter().enumerate().zip(inputs) {
            context.task.check()?;
            let mut operation = self.operation(context, node, body.weights.get(&n), depth, &mut size)?;
            operation.inputs = inputs;
            operation.outputs = making.ports(context, n, node);
            making.builder.node(operation)?;
        }
        Ok((making.builder.finish(), size))
    }

    /// A node without its inputs and outputs.
    fn operation(
        &mut self,
        context: &Context,
        node: &NodeDef,
        weight: Option<&Weight>,
        depth: usize,
        size: &mut u64,
    ) -> Result<Operation> {
        let mut operation = Operation {
            name: node.name.as_str().into(),
            operator: node.op.as_str().into(),
            group: scope(&node.name).into(),
            ..Operation::default()
        };
        let path = |name: &str| -> Arc<str> { format!("{}{name}", context.functions).into() };
        if self.by_name.contains_key(node.op.as_str()) {
            operation.function = Some(path(&node.op));
        }
        for (name, part) in &node.attributes {
            let name: Arc<str> = name.as_str().into();
            let mut value = attribute::value(*part, weight.map(|weight| &weight.path))
                .unwrap_or_else(|error| Attribute::Text(error.message()));
            let called = attribute::functions(*part);
            for (k, function) in called.iter().enumerate() {
                let Some(n) = self.by_name.get(function.as_str()).copied() else { continue };
                operation.function.get_or_insert_with(|| path(function));
                if !WITH_BODIES.contains(&node.op.as_str()) {
                    continue;
                }
                if let Some((graph, inner)) = self.function(context, n, depth + 1)?
                    && size.saturating_add(inner) <= NESTED
                {
                    *size += inner;
                    let label: Arc<str> =
                        if called.len() == 1 { name.clone() } else { format!("{name}[{k}]").into() };
                    operation.subgraphs.push((label, graph));
                    if called.len() == 1 {
                        value = Attribute::Graph(function.clone());
                    }
                }
            }
            operation.attributes.push((name, value));
        }
        if !node.device.is_empty() {
            operation.attributes.push(("device".into(), Attribute::Text(node.device.clone())));
        }
        Ok(operation)
    }
}

impl GraphBuilder<'_, '_> {
    /// The outputs of a node, with what is known of them.
    fn ports(&mut self, context: &Context, n: usize, node: &NodeDef) -> Vec<Port> {
        let mut outputs = self.outputs.get_mut(n).map(std::mem::take).unwrap_or_default();
        outputs.sort_by(|a, b| (a.is_control, &a.port, a.index).cmp(&(b.is_control, &b.port, b.index)));
        let variable = variable_name(node).and_then(|name| {
            let handle = context.handles.get(&node.name).filter(|_| self.body.function.is_none());
            handle.or_else(|| context.variables.get(name.as_ref()))
        });
        let weight = self.body.weights.get(&n).or(variable);
        let data = outputs.iter().filter(|output| !output.is_control);
        for (id, index) in data.map(|output| (output.id, output.index)).take(DESCRIBED).collect::<Vec<_>>() {
            if let Some((code, is_inferred)) = output_type(node, index) {
                self.describe(id, code, None, is_inferred);
            }
            self.describe(id, 0, output_shape(node, index), false);
            if let (Some(weight), Some(value)) = (weight, self.builder.describe(id)) {
                value.weight = Some(weight.path.clone());
                value.elements = Some(weight.elements);
            }
        }
        let port = |output: Output| Port {
            name: output.port,
            value: Some(output.id),
            is_control: output.is_control,
        };
        outputs.into_iter().map(port).collect()
    }
}
