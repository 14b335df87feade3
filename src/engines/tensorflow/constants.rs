//! The tensors that stand in a graph itself: the values of its `Const` nodes. In frozen graphs they are the weights.

use super::messages::NodeDef;
use super::tensor::Tensor;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::node::Node;
use crate::engines::modules::Leaf;
use crate::engines::protobuf::Part;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The messages of a file: its bytes, and the source that they are of. Of a text that is the message that it says.
#[derive(Clone)]
pub struct Messages {
    /// What slices of it are slices of.
    pub source: Source,
    /// All of it.
    pub bytes: Bytes,
    /// Whether it lies in a file as it is, so that places mean something.
    pub is_file: bool,
}

impl Messages {
    /// The message that all of it is.
    pub fn whole(&self) -> Part<'_> {
        Part::new(&self.bytes, 0)
    }

    fn part(&self, span: &Range<u64>) -> Part<'_> {
        let (start, end) = (span.start as usize, span.end as usize);
        Part::new(self.bytes.get(start..end).unwrap_or_default(), span.start)
    }
}

/// A weight: the array node of the document that a value of a graph is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The node's path.
    pub path: Arc<str>,
    /// Its elements.
    pub elements: u64,
}

/// The value of a `Const` node, as a node of the document.
pub struct Constant {
    name: String,
    messages: Messages,
    /// Where the tensor's message lies.
    span: Range<u64>,
}

impl Leaf for Constant {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, "constant");
        if self.messages.is_file {
            node = node.span(self.span.clone());
        }
        let tensor = Tensor::parse(self.messages.part(&self.span));
        let content = tensor.and_then(|tensor| {
            node.type_name = super::types::own_word(tensor.code()).map(Into::into);
            tensor.content(&self.messages.source)
        });
        match content {
            Ok(content) => node.content = content,
            Err(error) => node.problem = Some(error),
        }
        node
    }
}

/// The constants of a graph's nodes, and the weights that they are, by the numbers of the nodes. `prefix` is what the
/// paths of the constants begin with.
pub fn of(nodes: &[NodeDef], messages: &Messages, prefix: &str) -> (Vec<Constant>, HashMap<usize, Weight>) {
    let (mut constants, mut weights, mut known) = (Vec::new(), HashMap::new(), HashSet::new());
    for (n, node) in nodes.iter().enumerate().filter(|(_, node)| node.op == "Const") {
        let Some(value) = node.field("value", 8) else { continue };
        let mut name = node.name.clone();
        for again in 2.. {
            if known.insert(name.clone()) {
                break;
            }
            name = format!("{} ({again})", node.name);
        }
        let tensor = Tensor::parse(value.part());
        if let Ok(tensor) = &tensor
            && (tensor.dtype().is_some() || tensor.is_text())
        {
            let elements = limits::elements(&tensor.shape).unwrap_or(0);
            weights.insert(n, Weight { path: format!("{prefix}{name}").into(), elements });
        }
        constants.push(Constant { name, messages: messages.clone(), span: value.part().span() });
    }
    (constants, weights)
}

/// The weights of `Const` nodes whose values lie elsewhere, by the numbers of the nodes.
pub fn named(nodes: &[NodeDef], stored: &HashMap<String, Weight>) -> HashMap<usize, Weight> {
    let constants = nodes.iter().enumerate().filter(|(_, node)| node.op == "Const");
    constants.filter_map(|(n, node)| Some((n, stored.get(&node.name)?.clone()))).collect()
}
