//! Types and shapes of values that the file leaves open, concluded node by node where an operator is simple:
//! <https://onnx.ai/onnx/operators/>, <https://onnx.ai/onnx/repo-docs/ShapeInference.html>. What is not known stays open;
//! nothing is guessed. Small tensors of whole numbers, as shapes are calculated with, are followed with their values.

mod bodies;
mod layout;
mod literal;
mod operators;
mod values;
mod windows;

pub(super) use literal::{Literal, MOST};

use super::graph::PartialGraph;
use super::tensor::Files;
use super::types;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Dimension, Operation, ValueId};
use Dimension::{Fixed, Open};
use literal::Item;
use operators::{COMPARED, JOINED, REDUCED, SAME};
use std::sync::Arc;

type Shape = Vec<Dimension>;

/// Type and shape of one output.
#[derive(Clone, Default)]
pub(super) struct Output {
    pub(super) dtype: Option<Arc<str>>,
    pub(super) shape: Option<Shape>,
    /// Its values.
    pub(super) literal: Option<Literal>,
}

impl Output {
    fn of(dtype: &str, shape: Option<Shape>) -> Output {
        Output { dtype: Some(dtype.into()), shape, literal: None }
    }
}

/// One node, and what was concluded before it.
pub(super) struct Step<'a> {
    pub(super) graph: &'a PartialGraph<'a>,
    pub(super) node: &'a Operation,
    pub(super) task: &'a Task,
    pub(super) files: &'a Files,
}

impl Step<'_> {
    /// What follows for the outputs, in their order; fewer where nothing does.
    pub(super) fn outputs(&self) -> Vec<Output> {
        if !matches!(&*self.node.domain, "" | "ai.onnx") {
            return Vec::new();
        }
        let mut outputs = self.shapes();
        let literal = self.literals();
        if !literal.is_empty() && outputs.is_empty() {
            outputs = vec![Output::default(); literal.len()];
        }
        for (output, literal) in outputs.iter_mut().zip(literal) {
            output.literal = literal;
        }
        outputs
    }

    fn shapes(&self) -> Vec<Output> {
        let first = self.dtype(0);
        let typed =
            |dtype: Option<Arc<str>>, shape: Option<Shape>| vec![Output { dtype, shape, literal: None }];
        let one = |shape: Option<Shape>| typed(first.clone(), shape);
        let of = |dtype: &str, shape: Option<Shape>| vec![Output::of(dtype, shape)];
        match &*self.node.operator {
            operator if SAME.contains(&operator) => self.same(operator),
            operator if JOINED.contains(&operator) => one(self.broadcast()),
            operator if COMPARED.contains(&operator) => of("bool", self.broadcast()),
            operator if REDUCED.contains(&operator) => one(self.reduce()),
            "IsNaN" | "IsInf" => of("bool", self.shape(0)),
            "Cast" => typed(self.type_of("to", None), self.shape(0)),
            "CastLike" => typed(self.dtype(1), self.shape(0)),
            "QuantizeLinear" => {
                let default = if self.id(2).is_some() {
                    self.dtype(2)
                } else {
                    self.type_of("output_dtype", Some("uint8"))
                };
                typed(default, self.shape(0))
            }
            "DequantizeLinear" => {
                typed(self.type_of("output_dtype", None).or_else(|| self.dtype(1)), self.shape(0))
            }
            "DynamicQuantizeLinear" => {
                let scalar = Some(Shape::new());
                vec![
                    Output::of("uint8", self.shape(0)),
                    Output::of("float32", scalar.clone()),
                    Output::of("uint8", scalar),
                ]
            }
            "Where" => typed(self.dtype(1), self.broadcast()),
            "MatMul" => one(self.matmul(0, 1)),
            "MatMulInteger" => of("int32", self.matmul(0, 1)),
            "QLinearMatMul" => typed(self.dtype(7), self.matmul(0, 3)),
            "Gemm" => one(self.gemm()),
            "ArgMax" | "ArgMin" => of("int64", self.arg()),
            "Shape" => of("int64", self.shape_of_shape()),
            "Size" => of("int64", Some(Vec::new())),
            "Constant" => self.constant(),
            "ConstantOfShape" => {
                let dtype = match self.filling() {
                    Some(tensor) => tensor.type_name().into(),
                    None if self.node.attributes.is_empty() => "float32".into(),
                    None => return Vec::new(),
                };
                typed(Some(dtype), self.spelled(0))
            }
            "Range" => one(self.range()),
            "Einsum" => one(self.einsum()),
            "OneHot" => typed(self.dtype(2), self.one_hot()),
            "NonZero" => of("int64", self.shape(0).map(|shape| vec![Fixed(shape.len() as u64), Open])),
            "EyeLike" => typed(self.type_of("dtype", None).or(first), self.shape(0)),
            "RandomNormal" | "RandomUniform" => {
                let shape = self.ints("shape").map(|lengths| lengths.into_iter().map(fixed).collect());
                typed(self.type_of("dtype", Some("float32")), shape)
            }
            "RandomNormalLike" | "RandomUniformLike" | "Bernoulli" => {
                typed(self.type_of("dtype", None).or(first), self.shape(0))
            }
            "LSTM" | "GRU" | "RNN" => self.recurrent(),
            "Attention" => one(self.attention()),
            "If" => self.branches(),
            "Loop" => self.repeated(),
            operator => self.windowed(operator).or_else(|| self.laid_out(operator)).unwrap_or_default(),
        }
    }

    pub(super) fn id(&self, input: usize) -> Option<ValueId> {
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

    /// The element type that an attribute names by its code, or another where it is not there.
    fn type_of(&self, name: &str, default: Option<&str>) -> Option<Arc<str>> {
        match self.int(name).filter(|code| *code != 0) {
            Some(code) => Some(types::name(u64::try_from(code).ok()?).into()),
            None => default.map(Into::into),
        }
    }

    /// The values of an input, where they are known.
    pub(super) fn literal(&self, input: usize) -> Option<Literal> {
        self.graph.literal(self.id(input)?, self.task, self.files)
    }

    /// Numbers that are an attribute in older versions and an input in newer ones. `Err` where they are an input whose
    /// values are not known.
    fn numbers(&self, attribute: &str, input: usize) -> Result<Option<Vec<i64>>, ()> {
        if let Some(values) = self.ints(attribute) {
            return Ok(Some(values));
        }
        if self.id(input).is_none() {
            return Ok(None);
        }
        self.literal(input).and_then(|literal| literal.numbers()).map(Some).ok_or(())
    }

    /// A shape that an input spells; only its rank is known where its values are not.
    fn spelled(&self, input: usize) -> Option<Shape> {
        if let Some(literal) = self.literal(input) {
            return Some(literal.items.iter().map(Item::length).collect());
        }
        match self.shape(input)?.as_slice() {
            [Fixed(rank)] => open(*rank),
            _ => None,
        }
    }

    fn same(&self, operator: &str) -> Vec<Output> {
        let mut outputs = vec![Output { dtype: self.dtype(0), shape: self.shape(0), literal: None }];
        if operator == "Dropout" && self.node.outputs.len() > 1 {
            outputs.push(Output::of("bool", self.shape(0)));
        }
        outputs
    }

    /// NumPy's rule over all inputs. Before opset 7 the first input's shape was the result's, by an attribute.
    fn broadcast(&self) -> Option<Shape> {
        if self.attribute("broadcast").is_some() || self.attribute("axis").is_some() {
            return self.shape(0);
        }
        let mut result = Shape::new();
        for input in 0..self.node.inputs.len() {
            result = broadcast(&result, &self.shape(input)?);
        }
        Some(result)
    }

    fn matmul(&self, left: usize, right: usize) -> Option<Shape> {
        let (mut a, mut b) = (self.shape(left)?, self.shape(right)?);
        let (one, other) = (a.len() == 1, b.len() == 1);
        if one {
            a.insert(0, Fixed(1));
        }
        if other {
            b.push(Fixed(1));
        }
        let (rows, columns) = (a.get(a.len().checked_sub(2)?)?.clone(), b.last()?.clone());
        let (lead, tail) = (a.get(..a.len() - 2)?, b.get(..b.len().checked_sub(2)?)?);
        let mut shape = broadcast(lead, tail);
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

    fn reduce(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let keep = self.int("keepdims").unwrap_or(1) != 0;
        let axes = match self.numbers("axes", 1) {
            // Any of them may be one of the axes.
            Err(()) => return if keep { open(shape.len() as u64) } else { None },
            Ok(axes) => axes.filter(|axes| !axes.is_empty()),
        };
        let axes = match axes {
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

    /// The dimensions that a `Shape` node gives.
    fn part_of_shape(&self) -> Option<Shape> {
        let shape = self.shape(0)?;
        let rank = shape.len() as i64;
        let at = |name: &str, default: i64| {
            let at = self.int(name).unwrap_or(default);
            (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize
        };
        let (start, end) = (at("start", 0), at("end", rank));
        Some(shape.get(start..end.max(start))?.to_vec())
    }

    fn shape_of_shape(&self) -> Option<Shape> {
        Some(vec![self.part_of_shape().map_or(Open, |shape| Fixed(shape.len() as u64))])
    }

    /// What stands in one of several attributes; tensors were looked at where the node was read.
    fn constant(&self) -> Vec<Output> {
        let Some((name, value)) = self.node.attributes.first() else { return Vec::new() };
        let list = |length: usize| Some(vec![Fixed(length as u64)]);
        match (&**name, value) {
            ("value_int", Attribute::Int(_)) => vec![Output::of("int64", Some(Vec::new()))],
            ("value_float", Attribute::Float(_)) => vec![Output::of("float32", Some(Vec::new()))],
            ("value_string", Attribute::Text(_)) => vec![Output::of("str", Some(Vec::new()))],
            ("value_ints", Attribute::Ints(values)) => vec![Output::of("int64", list(values.len()))],
            ("value_floats", Attribute::Floats(values)) => vec![Output::of("float32", list(values.len()))],
            ("value_strings", Attribute::Texts(values)) => vec![Output::of("str", list(values.len()))],
            _ => Vec::new(),
        }
    }

    /// The tensor of `ConstantOfShape`.
    fn filling(&self) -> Option<&super::tensor::Tensor> {
        let Attribute::Tensor(Some(path), _) = self.attribute("value")? else { return None };
        self.graph.constant(path)
    }

    fn range(&self) -> Option<Shape> {
        let one = |input: usize| self.literal(input)?.number();
        let count = || {
            let (start, end, step) = (one(0)?, one(1)?, one(2)?);
            let (far, step) = if step < 0 {
                (start.checked_sub(end)?, step.checked_neg()?)
            } else {
                (end.checked_sub(start)?, step)
            };
            let far = far.max(0);
            Some(far.checked_div(step)? + i64::from(far.checked_rem(step)? != 0))
        };
        Some(vec![count().map_or(Open, fixed)])
    }

    /// Each index of the output has the length that it has in an operand.
    fn einsum(&self) -> Option<Shape> {
        let equation: String = self.text("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
        // A long one would be hostile: indices are letters.
        if equation.contains('.') || equation.len() > 256 {
            return None;
        }
        let (from, to) = match equation.split_once("->") {
            Some((from, to)) => (from, to.to_owned()),
            // Those that occur once, in the order of the alphabet.
            None => {
                let once = |c: &char| *c != ',' && equation.matches(*c).count() == 1;
                let mut to: Vec<char> = equation.chars().filter(once).collect();
                to.sort_unstable();
                (equation.as_str(), to.into_iter().collect())
            }
        };
        let mut lengths: Vec<(char, Dimension)> = Vec::new();
        for (input, operand) in from.split(',').enumerate() {
            let shape = self.shape(input)?;
            if shape.len() != operand.chars().count() {
                return None;
            }
            for (index, length) in operand.chars().zip(shape) {
                match lengths.iter_mut().find(|(known, _)| *known == index) {
                    Some((_, known)) => *known = joined(known.clone(), length),
                    None => lengths.push((index, length)),
                }
            }
        }
        let length = |index: char| Some(lengths.iter().find(|(known, _)| *known == index)?.1.clone());
        to.chars().map(length).collect()
    }

    fn one_hot(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let axis = place(self.int("axis").unwrap_or(-1), shape.len() + 1)?;
        let depth = self.literal(1).and_then(|depth| depth.number());
        shape.insert(axis, depth.map_or(Open, fixed));
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
        let output = |shape| Output { dtype: dtype.clone(), shape: Some(shape), literal: None };
        [all, last.clone(), last].map(output).into()
    }

    /// As many queries as there are, each as long as a value.
    fn attention(&self) -> Option<Shape> {
        let (queries, values) = (self.shape(0)?, self.shape(2)?);
        match (queries.as_slice(), values.as_slice()) {
            ([batch, heads, length, _], [_, _, _, width]) => {
                Some(vec![batch.clone(), heads.clone(), length.clone(), width.clone()])
            }
            ([batch, length, _], [_, _, Fixed(width)]) => {
                let heads = |name: &str| u64::try_from(self.int(name)?).ok();
                let all = width.checked_div(heads("kv_num_heads")?)?.checked_mul(heads("q_num_heads")?)?;
                Some(vec![batch.clone(), length.clone(), Fixed(all)])
            }
            _ => None,
        }
    }
}

fn fixed(length: i64) -> Dimension {
    u64::try_from(length).map_or(Open, Fixed)
}

/// A shape of which only the rank is known.
fn open(rank: u64) -> Option<Shape> {
    /// More than any array has.
    const MOST: u64 = 64;
    (rank <= MOST).then(|| vec![Open; rank as usize])
}

/// The shape of two by broadcasting.
fn broadcast(a: &[Dimension], b: &[Dimension]) -> Shape {
    let rank = a.len().max(b.len());
    (0..rank).map(|at| joined(padded(a, at, rank), padded(b, at, rank))).collect()
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
