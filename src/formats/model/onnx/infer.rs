//! Types and shapes of values that the file leaves open, concluded node by node where an operator is simple:
//! <https://onnx.ai/onnx/operators/>. What is not known stays open; nothing is guessed.

use crate::data::content::graph::{Attribute, Dimension, Graph, Operation, ValueId};
use Dimension::{Fixed, Open};
use std::sync::Arc;

/// Whole numbers that a value is known to hold, by its name.
pub(super) type Integers<'a> = dyn Fn(&str) -> Option<Vec<i64>> + 'a;

type Shape = Vec<Dimension>;

/// Operators whose first output has the type and the shape of the first input.
const SAME: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "BitwiseNot",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "CumSum",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "MeanVarianceNormalization",
    "Mish",
    "Neg",
    "Not",
    "PRelu",
    "Reciprocal",
    "Relu",
    "Round",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Trilu",
];
/// Operators whose output has the type of the first input, and the shape of all of them by broadcasting.
const JOINED: &[&str] = &[
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Div",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "Pow",
    "Sub",
    "Sum",
    "Xor",
];
/// Operators that make one of all elements along some axes.
const REDUCED: &[&str] = &[
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
];

/// Type and shape of one output.
#[derive(Default)]
struct Output {
    dtype: Option<Arc<str>>,
    shape: Option<Shape>,
}

/// Adds what follows from the nodes, which stand in an order in which each takes what was made before.
pub(super) fn shapes(graph: &mut Graph, integers: &Integers) {
    for number in 0..graph.nodes().len() {
        let Some(node) = graph.nodes().get(number) else { return };
        let is_ours = matches!(&*node.domain, "" | "ai.onnx");
        let open = |id: &ValueId| {
            graph.value(*id).is_some_and(|value| value.shape.is_none() || value.dtype.is_none())
        };
        let outputs: Vec<Option<ValueId>> = node.outputs.iter().map(|port| port.value).collect();
        if !is_ours || !outputs.iter().flatten().any(open) {
            continue;
        }
        let found = Step { graph, node, integers }.outputs();
        for (id, output) in outputs.into_iter().zip(found) {
            if let Some(id) = id {
                graph.infer(id, output.dtype, output.shape);
            }
        }
    }
}

/// One node.
struct Step<'a> {
    graph: &'a Graph,
    node: &'a Operation,
    integers: &'a Integers<'a>,
}

impl Step<'_> {
    fn outputs(&self) -> Vec<Output> {
        let first = self.dtype(0);
        let one = |shape: Option<Shape>| vec![Output { dtype: first.clone(), shape }];
        let of = |dtype: &str, shape: Option<Shape>| vec![Output { dtype: Some(dtype.into()), shape }];
        match &*self.node.operator {
            operator if SAME.contains(&operator) => one(self.shape(0)),
            operator if JOINED.contains(&operator) => one(self.broadcast()),
            operator if REDUCED.contains(&operator) => one(self.reduce()),
            "IsNaN" | "IsInf" => of("bool", self.shape(0)),
            "Cast" => vec![Output { dtype: self.cast(), shape: self.shape(0) }],
            "CastLike" => vec![Output { dtype: self.dtype(1), shape: self.shape(0) }],
            "QuantizeLinear" => vec![Output { dtype: self.dtype(2), shape: self.shape(0) }],
            "DequantizeLinear" => vec![Output { dtype: self.dtype(1), shape: self.shape(0) }],
            "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" => of("bool", self.broadcast()),
            "Where" => vec![Output { dtype: self.dtype(1), shape: self.broadcast() }],
            "Conv" => one(self.conv()),
            "MaxPool" | "AveragePool" | "LpPool" => one(self.pool()),
            "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => one(self.global_pool()),
            "MatMul" => one(self.matmul()),
            "Gemm" => one(self.gemm()),
            "Flatten" => one(self.flatten()),
            "Reshape" => one(self.reshape()),
            "Transpose" => one(self.transpose()),
            "Concat" => one(self.concat()),
            "Squeeze" => one(self.squeeze()),
            "Unsqueeze" => one(self.unsqueeze()),
            "ArgMax" | "ArgMin" => of("int64", self.arg()),
            "Shape" => of("int64", self.shape_of_shape()),
            "Size" => of("int64", Some(Vec::new())),
            "Gather" => one(self.gather()),
            "Split" => self.split(),
            "Slice" => one(self.slice()),
            "ConstantOfShape" => {
                let dtype = self.node.attributes.is_empty().then(|| "float32".into());
                vec![Output { dtype, shape: self.known(0) }]
            }
            "Expand" => one(self.expand()),
            "Pad" => one(self.pad()),
            "Tile" => one(self.tile()),
            "LSTM" | "GRU" | "RNN" => self.recurrent(),
            _ => Vec::new(),
        }
    }

    fn id(&self, input: usize) -> Option<ValueId> {
        self.node.inputs.get(input)?.value
    }

    fn dtype(&self, input: usize) -> Option<Arc<str>> {
        self.graph.value(self.id(input)?)?.dtype.clone()
    }

    fn shape(&self, input: usize) -> Option<Shape> {
        self.graph.value(self.id(input)?)?.shape.clone()
    }

    fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.node.attributes.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    fn int(&self, name: &str) -> Option<i64> {
        if let Some(Attribute::Int(value)) = self.attribute(name) { Some(*value) } else { None }
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        if let Some(Attribute::Ints(values)) = self.attribute(name) { Some(values.clone()) } else { None }
    }

    fn text(&self, name: &str) -> Option<&str> {
        if let Some(Attribute::Text(text)) = self.attribute(name) { Some(text) } else { None }
    }

    /// Numbers that are an attribute in older versions and an input in newer ones. `Err` where they are an input whose
    /// values are not known.
    fn numbers(&self, attribute: &str, input: usize) -> Result<Option<Vec<i64>>, ()> {
        if let Some(values) = self.ints(attribute) {
            return Ok(Some(values));
        }
        let Some(id) = self.id(input) else { return Ok(None) };
        let value = self.graph.value(id).ok_or(())?;
        value.weight.as_ref().and_then(|_| (self.integers)(&value.name)).map(Some).ok_or(())
    }

    fn cast(&self) -> Option<Arc<str>> {
        let code = u64::try_from(self.int("to")?).ok()?;
        Some(super::types::name(code).into())
    }

    /// NumPy's rule over all inputs. Before opset 7 the first input's shape was the result's, by an attribute.
    fn broadcast(&self) -> Option<Shape> {
        if self.attribute("broadcast").is_some() || self.attribute("axis").is_some() {
            return self.shape(0);
        }
        let mut result = Shape::new();
        for input in 0..self.node.inputs.len() {
            let shape = self.shape(input)?;
            let rank = result.len().max(shape.len());
            result =
                (0..rank).map(|at| joined(padded(&result, at, rank), padded(&shape, at, rank))).collect();
        }
        Some(result)
    }

    fn conv(&self) -> Option<Shape> {
        let (input, weight) = (self.shape(0)?, self.shape(1)?);
        let kernel: Vec<Dimension> = match self.ints("kernel_shape") {
            Some(kernel) => kernel.into_iter().map(fixed).collect(),
            None => weight.get(2..)?.to_vec(),
        };
        self.window(&input, weight.first()?.clone(), &kernel)
    }

    fn pool(&self) -> Option<Shape> {
        let input = self.shape(0)?;
        let kernel: Vec<Dimension> = self.ints("kernel_shape")?.into_iter().map(fixed).collect();
        self.window(&input, input.get(1)?.clone(), &kernel)
    }

    /// The lengths behind a window that moves over the spatial dimensions.
    fn window(&self, input: &[Dimension], channels: Dimension, kernel: &[Dimension]) -> Option<Shape> {
        let spatial = input.get(2..)?;
        if spatial.len() != kernel.len() {
            return None;
        }
        let each = |name: &str, default: i64| self.ints(name).unwrap_or_else(|| vec![default; spatial.len()]);
        let (strides, dilations) = (each("strides", 1), each("dilations", 1));
        let pads = self.ints("pads").unwrap_or_else(|| vec![0; 2 * spatial.len()]);
        let same = matches!(self.text("auto_pad"), Some("SAME_UPPER" | "SAME_LOWER"));
        let up = self.int("ceil_mode") == Some(1);
        let mut shape = vec![input.first()?.clone(), channels];
        for (n, (length, kernel)) in spatial.iter().zip(kernel).enumerate() {
            let (Fixed(length), Fixed(kernel)) = (length, kernel) else {
                shape.push(Open);
                continue;
            };
            let (length, kernel) = (i64::try_from(*length).ok()?, i64::try_from(*kernel).ok()?);
            let (stride, dilation) = (*strides.get(n)?, *dilations.get(n)?);
            let pad = pads.get(n)?.checked_add(*pads.get(n + spatial.len())?)?;
            if stride < 1 {
                return None;
            }
            if same {
                shape.push(fixed(length.checked_add(stride - 1)? / stride));
                continue;
            }
            let reach = dilation.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
            let free = length.checked_add(pad)?.checked_sub(reach)?;
            let steps =
                if up { free.checked_add(stride - 1)?.div_euclid(stride) } else { free.div_euclid(stride) };
            let mut count = steps + 1;
            // A window that would begin in the padding at the end is none.
            if up && (count - 1).checked_mul(stride)? >= length.checked_add(*pads.get(n)?)? {
                count -= 1;
            }
            shape.push(fixed(count));
        }
        Some(shape)
    }

    fn global_pool(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        Some(shape.into_iter().enumerate().map(|(n, length)| if n < 2 { length } else { Fixed(1) }).collect())
    }

    fn matmul(&self) -> Option<Shape> {
        let (mut a, mut b) = (self.shape(0)?, self.shape(1)?);
        let (one, other) = (a.len() == 1, b.len() == 1);
        if one {
            a.insert(0, Fixed(1));
        }
        if other {
            b.push(Fixed(1));
        }
        let (rows, columns) = (a.get(a.len().checked_sub(2)?)?.clone(), b.last()?.clone());
        let (lead, tail) = (a.get(..a.len() - 2)?, b.get(..b.len().checked_sub(2)?)?);
        let rank = lead.len().max(tail.len());
        let mut shape: Shape =
            (0..rank).map(|at| joined(padded(lead, at, rank), padded(tail, at, rank))).collect();
        if !one {
            shape.push(rows);
        }
        if !other {
            shape.push(columns);
        }
        Some(shape)
    }

    fn gemm(&self) -> Option<Shape> {
        let (a, b) = (self.shape(0)?, self.shape(1)?);
        let turned = |name: &str| self.int(name).unwrap_or(0) != 0;
        let rows = a.get(usize::from(turned("transA")))?.clone();
        Some(vec![rows, b.get(usize::from(!turned("transB")))?.clone()])
    }

    fn flatten(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let axis = self.int("axis").unwrap_or(1);
        let axis = if axis < 0 { axis.checked_add(shape.len() as i64)? } else { axis };
        let (before, after) = shape.split_at_checked(usize::try_from(axis).ok()?)?;
        Some(vec![product(before), product(after)])
    }

    fn reshape(&self) -> Option<Shape> {
        let wanted = self.numbers("shape", 1).ok()??;
        let from = self.shape(0);
        let keeps = self.int("allowzero").unwrap_or(0) == 0;
        let mut shape = Shape::new();
        for (n, length) in wanted.iter().enumerate() {
            shape.push(match length {
                0 if keeps => from.as_ref().and_then(|from| from.get(n).cloned()).unwrap_or(Open),
                -1 => Open,
                length => fixed(*length),
            });
        }
        // The length that is left to be concluded.
        if let (Some(place), Some(from)) = (wanted.iter().position(|length| *length == -1), from)
            && let Fixed(all) = product(&from)
            && let others =
                shape.iter().enumerate().filter(|(n, _)| *n != place).map(|(_, length)| length.clone())
            && let Fixed(others) = product(&others.collect::<Vec<_>>())
            && others > 0
            && all % others == 0
            && let Some(length) = shape.get_mut(place)
        {
            *length = Fixed(all / others);
        }
        Some(shape)
    }

    fn transpose(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        match self.ints("perm") {
            None => Some(shape.into_iter().rev().collect()),
            Some(order) if order.len() == shape.len() => {
                order.iter().map(|axis| shape.get(usize::try_from(*axis).ok()?).cloned()).collect()
            }
            Some(_) => None,
        }
    }

    fn concat(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let axis = place(self.int("axis").unwrap_or(1), shape.len())?;
        for input in 1..self.node.inputs.len() {
            let next = self.shape(input)?;
            if next.len() != shape.len() {
                return None;
            }
            for (n, (length, next)) in shape.iter_mut().zip(next).enumerate() {
                *length = match (&*length, next) {
                    (Fixed(a), Fixed(b)) if n == axis => Fixed(a.checked_add(b)?),
                    _ if n == axis => Open,
                    (Fixed(a), _) => Fixed(*a),
                    (_, Fixed(b)) => Fixed(b),
                    (a, b) if *a == b => b,
                    _ => Open,
                };
            }
        }
        Some(shape)
    }

    fn squeeze(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let axes = match self.numbers("axes", 1).ok()? {
            Some(axes) => places(&axes, shape.len())?,
            // Without axes all lengths of one go: they must all be known.
            None if shape.iter().all(|length| matches!(length, Fixed(_))) => {
                (0..shape.len()).filter(|n| shape.get(*n) == Some(&Fixed(1))).collect()
            }
            None => return None,
        };
        Some(
            shape
                .into_iter()
                .enumerate()
                .filter(|(n, _)| !axes.contains(n))
                .map(|(_, length)| length)
                .collect(),
        )
    }

    fn unsqueeze(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let axes = self.numbers("axes", 1).ok()??;
        let rank = shape.len() + axes.len();
        let axes = places(&axes, rank)?;
        let mut rest = shape.into_iter();
        (0..rank).map(|n| if axes.contains(&n) { Some(Fixed(1)) } else { rest.next() }).collect()
    }

    fn reduce(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let keep = self.int("keepdims").unwrap_or(1) != 0;
        let axes = match self.numbers("axes", 1).ok()?.filter(|axes| !axes.is_empty()) {
            Some(axes) => places(&axes, shape.len())?,
            None if self.int("noop_with_empty_axes") == Some(1) => return Some(shape),
            None => (0..shape.len()).collect(),
        };
        Some(reduced(shape, &axes, keep))
    }

    fn arg(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let axis = place(self.int("axis").unwrap_or(0), shape.len())?;
        Some(reduced(shape, &[axis], self.int("keepdims").unwrap_or(1) != 0))
    }

    fn shape_of_shape(&self) -> Option<Shape> {
        if self.attribute("start").is_some() || self.attribute("end").is_some() {
            return Some(vec![Open]);
        }
        Some(vec![Fixed(self.shape(0)?.len() as u64)])
    }

    fn gather(&self) -> Option<Shape> {
        let (shape, indices) = (self.shape(0)?, self.shape(1)?);
        let axis = place(self.int("axis").unwrap_or(0), shape.len())?;
        let (before, after) = shape.split_at_checked(axis)?;
        Some([before, &indices, after.get(1..)?].concat())
    }

    fn split(&self) -> Vec<Output> {
        let dtype = self.dtype(0);
        let count = self.node.outputs.len();
        let shapes = || -> Option<Vec<Shape>> {
            let shape = self.shape(0)?;
            let axis = place(self.int("axis").unwrap_or(0), shape.len())?;
            let lengths: Vec<Dimension> = match (self.numbers("split", 1).ok()?, shape.get(axis)?) {
                (Some(lengths), _) => lengths.into_iter().map(fixed).collect(),
                (None, Fixed(all)) => {
                    let part = all.div_ceil(count as u64);
                    (0..count as u64).map(|n| Fixed(part.min(all.saturating_sub(n * part)))).collect()
                }
                (None, _) => vec![Open; count],
            };
            let with = |length: Dimension| {
                let mut shape = shape.clone();
                shape.get_mut(axis).map(|place| *place = length)?;
                Some(shape)
            };
            lengths.into_iter().map(with).collect()
        };
        let shapes = shapes().unwrap_or_default();
        let output = |n: usize| Output { dtype: dtype.clone(), shape: shapes.get(n).cloned() };
        (0..count).map(output).collect()
    }

    /// A shape that an input spells.
    fn known(&self, input: usize) -> Option<Shape> {
        let lengths = self.numbers("", input).ok()??;
        Some(lengths.into_iter().map(fixed).collect())
    }

    fn expand(&self) -> Option<Shape> {
        let (from, to) = (self.shape(0)?, self.known(1)?);
        let rank = from.len().max(to.len());
        Some((0..rank).map(|at| joined(padded(&from, at, rank), padded(&to, at, rank))).collect())
    }

    /// What is added before and behind, of all axes or of those that are named.
    fn pad(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let pads = self.numbers("pads", 1).ok()??;
        let axes = match self.numbers("", 3).ok()? {
            Some(axes) => places(&axes, shape.len())?,
            None => (0..shape.len()).collect(),
        };
        for (n, axis) in axes.iter().enumerate() {
            let more = pads.get(n)?.checked_add(*pads.get(n + axes.len())?)?;
            let length = shape.get_mut(*axis)?;
            *length = match &*length {
                Fixed(length) => fixed(i64::try_from(*length).ok()?.checked_add(more)?),
                length if more == 0 => length.clone(),
                _ => Open,
            };
        }
        Some(shape)
    }

    fn tile(&self) -> Option<Shape> {
        let (shape, times) = (self.shape(0)?, self.known(1)?);
        let each = shape.into_iter().zip(times).map(|lengths| match lengths {
            (Fixed(length), Fixed(times)) => length.checked_mul(times).map(Fixed),
            _ => Some(Open),
        });
        each.collect()
    }

    /// Axes that are cut are known where begin, end and step are.
    fn slice(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let starts = self.numbers("starts", 1).ok()??;
        let ends = self.numbers("ends", 2).ok()??;
        let axes = match self.numbers("axes", 3).ok()? {
            Some(axes) => places(&axes, shape.len())?,
            None => (0..starts.len()).collect(),
        };
        let steps = self.numbers("", 4).ok()?.unwrap_or_else(|| vec![1; starts.len()]);
        for (n, axis) in axes.into_iter().enumerate() {
            let (start, end, step) = (*starts.get(n)?, *ends.get(n)?, *steps.get(n)?);
            let length = shape.get_mut(axis)?;
            *length = match length {
                Fixed(all) => fixed(cut(i64::try_from(*all).ok()?, start, end, step)?),
                _ => Open,
            };
        }
        Some(shape)
    }

    /// All steps, then the last state (and for LSTM the last cell).
    fn recurrent(&self) -> Vec<Output> {
        let dtype = self.dtype(0);
        let shapes = || -> Option<[Shape; 2]> {
            let input = self.shape(0)?;
            let hidden = fixed(self.int("hidden_size")?);
            let directions = Fixed(if self.text("direction") == Some("bidirectional") { 2 } else { 1 });
            let (first, second) = (input.first()?.clone(), input.get(1)?.clone());
            // By layout the batch comes first.
            Some(match self.int("layout").unwrap_or(0) {
                0 => [
                    vec![first, directions.clone(), second.clone(), hidden.clone()],
                    vec![directions, second, hidden],
                ],
                _ => [
                    vec![first.clone(), second, directions.clone(), hidden.clone()],
                    vec![first, directions, hidden],
                ],
            })
        };
        let Some([all, last]) = shapes() else { return Vec::new() };
        [all, last.clone(), last].map(|shape| Output { dtype: dtype.clone(), shape: Some(shape) }).into()
    }
}

/// How many indices a slice takes, by NumPy's rules.
fn cut(length: i64, start: i64, end: i64, step: i64) -> Option<i64> {
    let from_end = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
    match step {
        1.. => {
            let (start, end) = (from_end(start).clamp(0, length), from_end(end).clamp(0, length));
            Some((end - start).max(0).div_euclid(step) + i64::from((end - start).max(0) % step != 0))
        }
        ..0 => {
            let (start, end) = (from_end(start).clamp(-1, length - 1), from_end(end).clamp(-1, length - 1));
            let (count, step) = ((start - end).max(0), step.checked_neg()?);
            Some(count / step + i64::from(count % step != 0))
        }
        0 => None,
    }
}

fn fixed(length: i64) -> Dimension {
    u64::try_from(length).map_or(Open, Fixed)
}

/// A length that two values share by broadcasting.
fn joined(a: Dimension, b: Dimension) -> Dimension {
    match (a, b) {
        (Fixed(1), other) | (other, Fixed(1)) => other,
        (Fixed(length), _) | (_, Fixed(length)) => Fixed(length),
        (a, b) if a == b => a,
        _ => Open,
    }
}

/// A length of a shape that is as long as `rank` by ones before it.
fn padded(shape: &[Dimension], at: usize, rank: usize) -> Dimension {
    (at + shape.len()).checked_sub(rank).and_then(|at| shape.get(at).cloned()).unwrap_or(Fixed(1))
}

fn product(lengths: &[Dimension]) -> Dimension {
    let mut product: u64 = 1;
    for length in lengths {
        match length {
            Fixed(length) => match product.checked_mul(*length) {
                Some(next) => product = next,
                None => return Open,
            },
            // A single open length with a name stays what it is.
            _ if lengths.len() == 1 => return length.clone(),
            _ => return Open,
        }
    }
    Fixed(product)
}

/// The place of an axis, which may count from the end.
fn place(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

fn places(axes: &[i64], rank: usize) -> Option<Vec<usize>> {
    axes.iter().map(|axis| place(*axis, rank)).collect()
}

fn reduced(shape: Shape, axes: &[usize], keep: bool) -> Shape {
    let each = shape.into_iter().enumerate();
    each.filter_map(|(n, length)| match axes.contains(&n) {
        true => keep.then_some(Fixed(1)),
        false => Some(length),
    })
    .collect()
}
