//! What a graph costs to run: multiply-accumulate operations (MACs) node by node, from the shapes of its values.
//!
//! One MAC is a product that is added to a sum: half of what is counted as FLOPs elsewhere. Convolutions, products of
//! matrices, recurrent layers and attention have them; pools, activations, normalisations, sums and whatever only moves
//! elements have none. Biases are not counted. Operators are known by the names that ONNX, TensorFlow, TensorFlow Lite,
//! PyTorch, OpenVINO and MXNet have for them, whose weights lie each in their own order of axes. A node whose shapes are
//! not known, whose operator is not known or that runs other graphs has no number; none is guessed.
//!
//! Where the first dimension of what is handed in is open (the batch, mostly), the count is that of one of it. Any other
//! open dimension makes the number unknown.

mod free;

use crate::data::content::graph::{Attribute, Dimension, Graph, Operation, ValueId};
use std::collections::HashMap;
use std::sync::Arc;

/// The MACs of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Macs {
    /// By node; `None` where it is not known.
    pub nodes: Vec<Option<u64>>,
    /// Whether they are those of one of a batch whose size is open.
    pub is_per_sample: bool,
}

impl Macs {
    /// The sum of those that are known.
    pub fn sum(&self) -> u64 {
        self.nodes.iter().flatten().fold(0, |sum, macs| sum.saturating_add(*macs))
    }

    /// How many nodes are not in the sum.
    pub fn unknown(&self) -> u64 {
        self.nodes.iter().filter(|macs| macs.is_none()).count() as u64
    }
}

/// Counts the MACs of each node.
pub fn macs(graph: &Graph) -> Macs {
    let mut counter = Counter::new(graph);
    let mut found = Macs::default();
    let mut names: HashMap<&str, Name> = HashMap::new();
    for node in graph.nodes() {
        let name = &*names.entry(&node.operator).or_insert_with(|| Name::of(&node.operator));
        counter.follow(node, name);
        counter.used = false;
        let macs = counter.node(node, name);
        found.is_per_sample |= counter.used && macs.is_some_and(|macs| macs > 0);
        found.nodes.push(macs);
    }
    found
}

/// The name of an operator.
struct Name {
    /// As it is spelled; PyTorch's without their namespace and overload: `aten::linear` and
    /// `torch.ops.aten.linear.default` are `linear`.
    own: String,
    /// Whether it is PyTorch's.
    is_aten: bool,
    kind: Kind,
}

/// What an operator without products does.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Its output begins with the first dimension of its input.
    Keeps,
    /// It keeps the elements and changes the shape.
    Reshapes,
    /// It changes the order of the axes.
    Transposes,
    /// It makes one of all elements along some axes: what is open behind it was open before.
    Reduces,
    /// It puts inputs one behind the other along an axis.
    Concatenates,
    /// Anything else.
    Free,
    /// It has products, or is not known.
    Other,
}

impl Name {
    fn of(operator: &str) -> Name {
        let aten = operator.split_once("aten::").or_else(|| operator.split_once("aten."));
        let own = match aten {
            Some((_, rest)) => rest.split(['.', ' ']).next().unwrap_or_default(),
            None => operator,
        };
        // Without capitals and underlines, with which formats differ: `MAX_POOL_2D` and `MaxPool2D`.
        let plain: String = own.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
        let kind = match plain.as_str() {
            "transpose" | "permute" => Kind::Transposes,
            "mean" | "sum" | "all" | "any" | "argmax" | "argmin" => Kind::Reduces,
            name if name.starts_with("reduce") => Kind::Reduces,
            "concat" | "concatenation" => Kind::Concatenates,
            name if free::KEEPS.contains(&name) => Kind::Keeps,
            name if free::RESHAPES.contains(&name) => Kind::Reshapes,
            name if free::OTHERS.contains(&name) => Kind::Free,
            _ => Kind::Other,
        };
        Name { own: own.to_owned(), is_aten: aten.is_some(), kind }
    }
}

struct Counter<'a> {
    graph: &'a Graph,
    /// The name of the open dimension that counts as one.
    batch: Option<Arc<str>>,
    /// By value: whether its first dimension is open and that of what is handed in.
    leads: Vec<bool>,
    /// Whether the dimension that counts as one was met.
    used: bool,
}

impl<'a> Counter<'a> {
    fn new(graph: &'a Graph) -> Self {
        let first = |id: &ValueId| graph.value(*id)?.shape.as_ref()?.first().cloned();
        let firsts: Vec<(usize, Dimension)> =
            graph.inputs.iter().filter_map(|id| Some((id.index(), first(id)?))).collect();
        let batch = firsts.iter().find_map(|(_, first)| match first {
            Dimension::Named(name) => Some(name.clone()),
            _ => None,
        });
        let mut leads = vec![false; graph.values().len()];
        for (id, first) in firsts {
            if let (Some(lead), Dimension::Open) = (leads.get_mut(id), first) {
                *lead = true;
            }
        }
        Counter { graph, batch, leads, used: false }
    }

    /// Finds which outputs of a node begin with the open dimension of its inputs.
    fn follow(&mut self, node: &Operation, name: &Name) {
        let Some(from) = node.inputs.iter().filter_map(|port| port.value).find(|id| self.is_led(*id)) else {
            return;
        };
        for to in node.outputs.iter().filter_map(|port| port.value) {
            let keeps = match name.kind {
                Kind::Keeps => true,
                Kind::Free => false,
                Kind::Reduces => self.rest(from).is_some(),
                Kind::Concatenates => {
                    matches!(self.attribute(node, "axis"), Some(Attribute::Int(1..)))
                }
                Kind::Transposes => {
                    let order = self.ints(node, "perm").or_else(|| self.ints(node, "dims"));
                    order.is_some_and(|order| order.first() == Some(&0))
                }
                // All but the first hold as many elements as before: the first is the same.
                Kind::Reshapes => match (self.rest(from), self.rest(to)) {
                    (Some(from), Some(to)) => from == to,
                    _ => false,
                },
                Kind::Other => self.node(node, name).is_some_and(|macs| macs > 0),
            };
            let is_open = self.shape(to).is_some_and(|shape| matches!(shape.first(), Some(Dimension::Open)));
            if let Some(lead) = self.leads.get_mut(to.index()) {
                *lead |= keeps && is_open;
            }
        }
    }

    fn is_led(&self, id: ValueId) -> bool {
        self.leads.get(id.index()).copied().unwrap_or(false)
    }

    fn shape(&self, id: ValueId) -> Option<&'a [Dimension]> {
        self.graph.value(id)?.shape.as_deref()
    }

    /// The elements behind the first dimension.
    fn rest(&self, id: ValueId) -> Option<u64> {
        product(self.shape(id)?.get(1..)?)
    }

    /// All elements of a value, with the batch as one.
    fn elements(&mut self, id: ValueId) -> Option<u64> {
        let (mut all, mut open) = (1u64, 0);
        for (n, length) in self.shape(id)?.iter().enumerate() {
            match length {
                Dimension::Fixed(length) => all = all.checked_mul(*length)?,
                Dimension::Named(name) if Some(name) == self.batch.as_ref() => open += 1,
                Dimension::Open if n == 0 && self.is_led(id) => open += 1,
                _ => return None,
            }
        }
        self.used |= open > 0;
        (open <= 1).then_some(all)
    }

    fn input(&self, node: &Operation, place: usize) -> Option<ValueId> {
        node.inputs.iter().filter(|port| !port.is_control).nth(place)?.value
    }

    /// The elements of an output.
    fn out(&mut self, node: &Operation) -> Option<u64> {
        let id = node.outputs.first()?.value?;
        // A product makes its first dimension from what it takes, before its own output is known to.
        if node.inputs.first().and_then(|port| port.value).is_some_and(|first| self.is_led(first))
            && let Some(lead) = self.leads.get_mut(id.index())
        {
            *lead = true;
        }
        self.elements(id)
    }

    /// The product of some lengths of an input, which are all fixed.
    fn lengths(
        &self,
        node: &Operation,
        place: usize,
        range: impl Fn(&[Dimension]) -> Option<&[Dimension]>,
    ) -> Option<u64> {
        product(range(self.shape(self.input(node, place)?)?)?)
    }

    fn attribute<'n>(&self, node: &'n Operation, name: &str) -> Option<&'n Attribute> {
        node.attributes.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    fn ints(&self, node: &Operation, name: &str) -> Option<Vec<i64>> {
        match self.attribute(node, name)? {
            Attribute::Ints(list) => Some(list.clone()),
            _ => None,
        }
    }

    fn is_set(&self, node: &Operation, name: &str) -> bool {
        match self.attribute(node, name) {
            Some(Attribute::Int(value)) => *value != 0,
            Some(Attribute::Text(text)) => matches!(text.as_str(), "true" | "True" | "1"),
            _ => false,
        }
    }

    /// The MACs of a node.
    fn node(&mut self, node: &Operation, name: &Name) -> Option<u64> {
        let is_standard = matches!(&*node.domain, "" | "ai.onnx" | "com.microsoft" | "aten");
        if node.function.is_some() || !node.subgraphs.is_empty() || !is_standard {
            return None;
        }
        match name {
            Name { kind: Kind::Other, own, is_aten: true } => self.aten(node, own),
            Name { kind: Kind::Other, own, .. } => {
                self.convolution(node, own).or_else(|| self.product(node, own))
            }
            _ => Some(0),
        }
    }

    /// Convolutions: what comes out (or, of transposed ones, what goes in) times the weights of one of it.
    fn convolution(&mut self, node: &Operation, name: &str) -> Option<u64> {
        let one = match name {
            // Weights: out, in of a group, kernel.
            "Conv" | "FusedConv" | "ConvInteger" | "DeformConv" | "Convolution" | "CONV_2D" => {
                self.lengths(node, 1, |w| w.get(1..))?
            }
            "QLinearConv" => self.lengths(node, 3, |w| w.get(1..))?,
            // Group, out, in, kernel.
            "GroupConvolution" => self.lengths(node, 1, |w| w.get(2..))?,
            // Kernel, in of a group, out.
            "Conv1D" | "Conv2D" | "Conv3D" | "CONV_3D" => {
                self.lengths(node, 1, |w| w.split_last().map(|(_, rest)| rest))?
            }
            // Kernel, in, multiplier.
            "DepthwiseConv2dNative" => self.lengths(node, 1, |w| w.get(..2))?,
            // One, kernel, in times multiplier.
            "DEPTHWISE_CONV_2D" => self.lengths(node, 1, |w| w.get(1..3))?,
            _ => return self.transposed(node, name),
        };
        self.out(node)?.checked_mul(one)
    }

    fn transposed(&mut self, node: &Operation, name: &str) -> Option<u64> {
        let (input, one) = match name {
            // Weights: in, out of a group, kernel.
            "ConvTranspose" | "ConvolutionBackpropData" | "Deconvolution" => {
                (0, self.lengths(node, 1, |w| w.get(1..))?)
            }
            "GroupConvolutionBackpropData" => (0, self.lengths(node, 1, |w| w.get(2..))?),
            // Kernel, out, in; out, kernel, in: the second input. The third is what is convolved.
            "Conv2DBackpropInput" | "TRANSPOSE_CONV" => (2, self.lengths(node, 1, |w| w.get(..3))?),
            _ => return None,
        };
        let id = self.input(node, input)?;
        self.elements(id)?.checked_mul(one)
    }

    /// Products of matrices and what is made of them.
    fn product(&mut self, node: &Operation, name: &str) -> Option<u64> {
        let inner = match name {
            "MatMul" | "MatMulInteger" | "QLinearMatMul" | "FusedMatMul" | "BatchMatMul"
            | "BatchMatMulV2" | "BatchMatMulV3" | "BATCH_MATMUL" => {
                let turned = ["transpose_a", "transA", "adj_x"].iter().any(|name| self.is_set(node, name));
                self.lengths(
                    node,
                    0,
                    |a| if turned { second_last(a) } else { a.get(a.len().checked_sub(1)?..) },
                )?
            }
            "Gemm" => {
                let at = usize::from(!self.is_set(node, "transA"));
                self.lengths(node, 0, |a| a.get(at..at + 1))?
            }
            "FULLY_CONNECTED" | "FullyConnected" => self.lengths(node, 1, |w| w.get(1..2))?,
            "Dense" => self.lengths(node, 1, |w| w.get(..1))?,
            "MatMulNBits" => match self.attribute(node, "K")? {
                Attribute::Int(inner) => u64::try_from(*inner).ok()?,
                _ => return None,
            },
            "Attention" | "MultiHeadAttention" if node.inputs.len() >= 3 => return self.attention(node),
            "LSTM" | "GRU" | "RNN" => return self.recurrent(node, &[1, 2]),
            "UNIDIRECTIONAL_SEQUENCE_LSTM" => return self.recurrent(node, &[1, 2, 3, 4, 5, 6, 7, 8, 16]),
            "UNIDIRECTIONAL_SEQUENCE_RNN" => return self.recurrent(node, &[1, 2]),
            "Einsum" => return self.einsum(node),
            _ => return None,
        };
        if let Some(out) = self.out(node) {
            return out.checked_mul(inner);
        }
        // The shape of the output may not be known, or have names of its own, where those of what goes in are.
        let columns = match name {
            "FULLY_CONNECTED" | "FullyConnected" => self.lengths(node, 1, |w| w.get(..1))?,
            "Gemm" if !self.is_set(node, "transA") => {
                let at = usize::from(!self.is_set(node, "transB"));
                self.lengths(node, 1, |b| b.get(at..at + 1))?
            }
            "MatMul" if !["transpose_a", "transpose_b"].iter().any(|name| self.is_set(node, name)) => {
                self.lengths(node, 1, |b| if b.len() == 2 { b.get(1..) } else { None })?
            }
            _ => return None,
        };
        let rows = self.input(node, 0)?;
        self.elements(rows)?.checked_mul(columns)
    }

    /// PyTorch's. Its weights are out, in of a group, kernel; of transposed convolutions in, out of a group, kernel.
    fn aten(&mut self, node: &Operation, name: &str) -> Option<u64> {
        let last = |a: &'_ [Dimension]| -> Option<u64> { product(a.get(a.len().checked_sub(1)?..)?) };
        let inner = match name {
            "convolution" | "_convolution" if self.is_set(node, "transposed") => {
                return self.transposed(node, "ConvTranspose");
            }
            "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => {
                return self.transposed(node, "ConvTranspose");
            }
            "convolution" | "_convolution" | "conv1d" | "conv2d" | "conv3d" => {
                self.lengths(node, 1, |w| w.get(1..))?
            }
            "linear" => self.lengths(node, 1, |w| w.get(1..2))?,
            "mm" | "bmm" | "matmul" | "mv" => last(self.shape(self.input(node, 0)?)?)?,
            "addmm" | "baddbmm" | "addbmm" => last(self.shape(self.input(node, 1)?)?)?,
            "scaled_dot_product_attention"
            | "_scaled_dot_product_flash_attention_for_cpu"
            | "_scaled_dot_product_flash_attention"
            | "_scaled_dot_product_efficient_attention" => return self.attention(node),
            _ => return None,
        };
        self.out(node)?.checked_mul(inner)
    }

    /// Queries times keys, and the weights of them times values. The sequence is the last dimension but one.
    fn attention(&mut self, node: &Operation) -> Option<u64> {
        let length = self.lengths(node, 1, second_last)?;
        let queries = self.input(node, 0)?;
        self.elements(queries)?.checked_add(self.out(node)?)?.checked_mul(length)
    }

    /// Every weight once a step and sample; the first two dimensions are those, in one order or the other.
    fn recurrent(&mut self, node: &Operation, weights: &[usize]) -> Option<u64> {
        let input = self.input(node, 0)?;
        let width = product(self.shape(input)?.get(2..)?)?;
        let steps = self.elements(input)?.checked_div(width)?;
        let mut all = 0u64;
        for place in weights {
            // Those of gates that are tied together are not there.
            let Some(id) = self.input(node, *place) else { continue };
            all = all.checked_add(product(self.shape(id)?)?)?;
        }
        steps.checked_mul(all)
    }

    /// Two operands whose indices are single letters: the product of the lengths of all indices, where one is summed over.
    fn einsum(&mut self, node: &Operation) -> Option<u64> {
        let Attribute::Text(equation) = self.attribute(node, "equation")? else { return None };
        let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (from, to) = equation.split_once("->")?;
        let operands: Vec<&str> = from.split(',').collect();
        if equation.contains('.') || operands.len() != 2 {
            return None;
        }
        let mut lengths: HashMap<char, u64> = HashMap::new();
        for (place, operand) in operands.iter().enumerate() {
            let id = self.input(node, place)?;
            let shape = self.shape(id)?;
            let indices: Vec<char> = operand.chars().collect();
            if indices.len() != shape.len() {
                return None;
            }
            for (n, (index, length)) in indices.into_iter().zip(shape).enumerate() {
                let length = match length {
                    Dimension::Fixed(length) => *length,
                    Dimension::Named(name) if Some(name) == self.batch.as_ref() => 1,
                    Dimension::Open if n == 0 && self.is_led(id) => 1,
                    _ => return None,
                };
                self.used |= !matches!(shape.get(n), Some(Dimension::Fixed(_)));
                // An index of length one goes along with any other.
                lengths.entry(index).and_modify(|known| *known = length.max(*known)).or_insert(length);
            }
        }
        let is_summed = lengths.keys().any(|index| !to.contains(*index));
        if !is_summed {
            return Some(0);
        }
        lengths.values().try_fold(1u64, |all, length| all.checked_mul(*length))
    }
}

fn second_last(shape: &[Dimension]) -> Option<&[Dimension]> {
    let at = shape.len().checked_sub(2)?;
    shape.get(at..at + 1)
}

/// The product of lengths that are all fixed.
fn product(lengths: &[Dimension]) -> Option<u64> {
    lengths.iter().try_fold(1u64, |all, length| match length {
        Dimension::Fixed(length) => all.checked_mul(*length),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
