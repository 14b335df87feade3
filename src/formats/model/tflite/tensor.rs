//! Tensors: their types and shapes, how they are quantised or sparse, where their values lie, and their nodes.

use super::model::{Model, Place};
use super::values::Texts;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::content::array::{Array, ArrayFacts, Plain, Scaling};
use crate::data::content::graph::Dimension;
use crate::data::content::{Content, graph};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::engines::bits::Bits;
use crate::engines::flatbuffer::Table;
use crate::engines::modules::Leaf;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// How values of a type lie in a buffer.
#[derive(Clone, Copy)]
enum Storage {
    /// As NumPy's or ml_dtypes' type of this name.
    Plain,
    /// As whole numbers of so many bits, with a sign or without.
    Packed(u32, bool),
    /// As texts.
    Texts,
    /// They do not.
    Nowhere,
}

/// The types of `TensorType`, by their numbers.
const TYPES: &[(&str, Storage)] = &[
    ("float32", Storage::Plain),
    ("float16", Storage::Plain),
    ("int32", Storage::Plain),
    ("uint8", Storage::Plain),
    ("int64", Storage::Plain),
    ("str", Storage::Texts),
    ("bool", Storage::Plain),
    ("int16", Storage::Plain),
    ("complex64", Storage::Plain),
    ("int8", Storage::Plain),
    ("float64", Storage::Plain),
    ("complex128", Storage::Plain),
    ("uint64", Storage::Plain),
    ("resource", Storage::Nowhere),
    ("variant", Storage::Nowhere),
    ("uint32", Storage::Plain),
    ("uint16", Storage::Plain),
    ("int4", Storage::Packed(4, true)),
    ("bfloat16", Storage::Plain),
    ("int2", Storage::Packed(2, true)),
    ("uint4", Storage::Packed(4, false)),
    ("float8_e4m3fn", Storage::Plain),
    ("float8_e5m2", Storage::Plain),
];

fn kind(code: i8) -> Option<(&'static str, Storage)> {
    TYPES.get(usize::try_from(code).ok()?).copied()
}

/// The name of a type.
pub(super) fn type_name(code: i8) -> String {
    kind(code).map_or_else(|| format!("type {code}"), |(name, _)| name.to_owned())
}

/// What quantised values stand for: `scale × (stored - zero point)`, of all of them or by their places along an axis.
#[derive(Debug, Default)]
struct Quantisation {
    low: Vec<f32>,
    high: Vec<f32>,
    scales: Vec<f32>,
    zeros: Vec<i64>,
    axis: i32,
    /// What holds instead, where the model says so.
    details: Option<Json>,
}

impl Quantisation {
    fn read(table: &Table) -> Result<Quantisation> {
        let tensors = |details: &Table| -> Result<(i32, i32, i32)> {
            Ok((details.number(0, 0)?, details.number(1, 0)?, details.number(2, 0)?))
        };
        let details = table.table(5)?.map(|details| -> Result<Json> {
            Ok(match table.number::<u8>(4, 0)? {
                1 => json!({"kind": "custom", "bytes": details.vector(0, 1)?.map_or(0, |bytes| bytes.len())}),
                2 => {
                    let (scales, zeros, block) = tensors(&details)?;
                    json!({"kind": "blockwise", "scales": scales, "zero_points": zeros, "block_size": block})
                }
                3 => {
                    let ((scales, zeros, block), axes) = (tensors(&details)?, details.numbers::<i32>(3)?);
                    json!({"kind": "multi-axis", "scales": scales, "zero_points": zeros, "block_size": block,
                        "quantized_dimensions": axes})
                }
                other => json!({"kind": format!("number {other}")}),
            })
        });
        Ok(Quantisation {
            low: table.numbers(0)?,
            high: table.numbers(1)?,
            scales: table.numbers(2)?,
            zeros: table.numbers(3)?,
            axis: table.number(6, 0)?,
            details: details.transpose()?,
        })
    }

    /// What it says, by the schema's names.
    fn said(&self) -> Vec<(String, Json)> {
        // Through the shortest text, so that 0.1 stays 0.1.
        let number = |value: &f32| value.to_string().parse::<f64>().map_or(Json::Null, |value| json!(value));
        let floats = |list: &[f32]| one_or_all(list.iter().map(number).collect());
        let zeros = one_or_all(self.zeros.iter().map(|zero| json!(zero)).collect());
        let axis = if self.scales.len() > 1 { json!(self.axis) } else { Json::Null };
        let all = [
            ("scale", floats(&self.scales)),
            ("zero_point", zeros),
            ("quantized_dimension", axis),
            ("min", floats(&self.low)),
            ("max", floats(&self.high)),
            ("quantization_details", self.details.clone().unwrap_or_default()),
        ];
        let there = all.into_iter().filter(|(_, value)| !value.is_null());
        there.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The same where it is one for all values.
    fn scaling(&self) -> Option<Scaling> {
        let (&[scale], &[zero], None) = (self.scales.as_slice(), self.zeros.as_slice(), &self.details) else {
            return None;
        };
        let scale = f64::from(scale);
        let scaling = Scaling { scale, offset: -scale * zero as f64, fill: Vec::new(), valid: None };
        (scale.is_finite() && scale != 0.0).then_some(scaling)
    }
}

/// A tensor as the file describes it.
#[derive(Debug, Default)]
pub(super) struct Tensor {
    pub(super) name: String,
    code: i8,
    shape: Vec<i32>,
    /// The shape with -1 where a length is open; empty where it says nothing.
    signature: Vec<i32>,
    has_rank: bool,
    buffer: u32,
    external: u32,
    pub(super) is_variable: bool,
    /// What else is said of it: sparsity, what a variant holds.
    attributes: Vec<(String, Json)>,
    quantisation: Quantisation,
    /// Whether the values that are stored are not all of its values.
    is_sparse: bool,
    /// What could not be read of quantisation, sparsity and the like.
    pub(super) problem: Option<Error>,
}

impl Tensor {
    /// Reads the description of a tensor.
    pub(super) fn read(table: &Table) -> Result<Tensor> {
        let mut tensor = Tensor {
            shape: table.numbers(0)?,
            code: table.number(1, 0)?,
            buffer: table.number(2, 0)?,
            name: table.text(3)?.unwrap_or_default(),
            is_variable: table.flag(5, false)?,
            signature: table.numbers(7)?,
            has_rank: table.flag(8, false)?,
            external: table.number(10, 0)?,
            ..Tensor::default()
        };
        // What cannot be read of the rest hides nothing of this.
        tensor.problem = tensor.more(table).err();
        Ok(tensor)
    }

    fn more(&mut self, table: &Table) -> Result<()> {
        if let Some(sparsity) = table.table(6)? {
            self.sparsity(&sparsity)?;
        }
        if let Some(quantisation) = table.table(4)? {
            self.quantisation = Quantisation::read(&quantisation)?;
        }
        let variants = table.tables(9)?;
        for n in 0..variants.len() {
            let variant = variants.table(n)?;
            let shape: Vec<i32> = variant.numbers(0)?;
            let shape = if variant.flag(2, false)? { json!(shape) } else { Json::Null };
            self.say("variant_tensor", json!({"dtype": type_name(variant.number(1, 0)?), "shape": shape}));
        }
        Ok(())
    }

    fn say(&mut self, name: &str, value: Json) {
        self.attributes.push((name.to_owned(), value));
    }

    fn sparsity(&mut self, table: &Table) -> Result<()> {
        self.is_sparse = true;
        let (order, blocks): (Vec<i32>, Vec<i32>) = (table.numbers(0)?, table.numbers(1)?);
        let dimensions = table.tables(2)?;
        let mut listed = Vec::new();
        for n in 0..dimensions.len() {
            let dimension = dimensions.table(n)?;
            listed.push(if dimension.number::<i8>(0, 0)? == 0 {
                json!({"format": "DENSE", "dense_size": dimension.number::<i32>(1, 0)?})
            } else {
                let (segments, indices) = (index_count(&dimension, 2)?, index_count(&dimension, 4)?);
                json!({"format": "SPARSE_CSR", "array_segments": segments, "array_indices": indices})
            });
        }
        self.say("sparsity", json!({"traversal_order": order, "block_map": blocks, "dim_metadata": listed}));
        Ok(())
    }

    /// Its type and shape as those of a value of the graph. Where it is `ranked`, a scalar says that it has a rank, and
    /// what says nothing may have any.
    pub(super) fn describe(&self, value: &mut graph::Value, ranked: bool) {
        value.name = self.name.as_str().into();
        value.dtype = Some(type_name(self.code).into());
        let open = self.shape.is_empty() && self.signature.is_empty() && ranked && !self.has_rank;
        let lengths = if self.signature.is_empty() { &self.shape } else { &self.signature };
        let dimension = |length: &i32| u64::try_from(*length).map_or(Dimension::Open, Dimension::Fixed);
        value.shape = (!open).then(|| lengths.iter().map(dimension).collect());
    }

    /// Whether it says that its rank is known.
    pub(super) fn has_rank(&self) -> bool {
        self.has_rank
    }

    /// What tells it from others of its name.
    pub(super) fn key(&self) -> (String, u32, u32, i8, Vec<i32>) {
        (self.name.clone(), self.buffer, self.external, self.code, self.shape.clone())
    }

    /// Where its values lie; `None` for one that has none in the file.
    pub(super) fn place(&self, model: &Model) -> Option<Result<Place>> {
        if self.external != 0 {
            return Some(Ok(Place::External(self.external)));
        }
        if self.buffer == 0 {
            return None;
        }
        model.buffer(u64::from(self.buffer)).transpose()
    }
}

/// How many numbers a vector of indices has, of whichever width.
fn index_count(dimension: &Table, slot: usize) -> Result<u64> {
    let width = match dimension.number::<u8>(slot, 0)? {
        1 => 4,
        2 => 2,
        _ => 1,
    };
    let Some(list) = dimension.table(slot + 1)? else { return Ok(0) };
    Ok(list.vector(0, width)?.map_or(0, |list| list.len() as u64))
}

/// The only one, all of several, or nothing.
fn one_or_all(mut list: Vec<Json>) -> Json {
    match list.len() {
        0 | 1 => list.pop().unwrap_or_default(),
        _ => Json::Array(list),
    }
}

/// A tensor with values, under its name in the document.
pub(super) struct Weight {
    pub(super) name: String,
    pub(super) tensor: Arc<Tensor>,
    pub(super) place: Result<Place>,
    pub(super) source: Source,
    /// What is to be said where the values lie in another file.
    pub(super) external: Option<String>,
}

impl Weight {
    /// The shape of the array: that of the tensor, or the count of the values that a sparse one stores.
    fn shape(&self, span: &std::ops::Range<u64>) -> Result<Vec<u64>> {
        let shape = self.tensor.shape.iter().map(|length| u64::try_from(*length));
        let shape: Vec<u64> = shape.collect::<std::result::Result<_, _>>().map_err(|_| {
            Error::malformed(format!(
                "tensor: the shape {:?} of stored values has open lengths",
                self.tensor.shape
            ))
        })?;
        if !self.tensor.is_sparse {
            return Ok(shape);
        }
        let bits = match kind(self.tensor.code) {
            Some((name, Storage::Plain)) => DType::of_name(name).map_or(8, |dtype| dtype.bits()),
            Some((_, Storage::Packed(bits, _))) => u64::from(bits),
            _ => 8,
        };
        Ok(vec![(span.end - span.start).saturating_mul(8) / bits.max(1)])
    }

    /// Elements of the array, for the graph.
    pub(super) fn elements(&self) -> Option<u64> {
        match &self.place {
            Ok(Place::Here(span)) => limits::elements(&self.shape(span).ok()?).ok(),
            _ => limits::elements(
                &self.tensor.shape.iter().map(|n| u64::try_from(*n).ok()).collect::<Option<Vec<_>>>()?,
            )
            .ok(),
        }
    }

    fn array(&self, span: &std::ops::Range<u64>) -> Result<Arc<dyn Array>> {
        let shape = self.shape(span)?;
        let scaling = self.tensor.quantisation.scaling();
        let code = self.tensor.code;
        let (name, storage) = kind(code)
            .ok_or_else(|| Error::unsupported(format!("tensor: the type of number {code} is not known")))?;
        let needs = |bits: u64| -> Result<()> {
            let bits = u128::from(limits::elements(&shape)?) * u128::from(bits);
            let (needed, there) = (bits.div_ceil(8), span.end - span.start);
            if needed <= u128::from(there) {
                return Ok(());
            }
            let what =
                format!("tensor: shape {shape:?} of {name} needs {needed} bytes, its buffer has {there}");
            Err(Error::malformed(what).at(span.start))
        };
        Ok(match storage {
            Storage::Plain => {
                let dtype = DType::of_name(name).ok_or_else(|| Error::bug(format!("no type {name}")))?;
                needs(dtype.bits())?;
                let facts =
                    ArrayFacts { scaling: scaling.filter(|_| !dtype.is_float()), ..ArrayFacts::default() };
                Arc::new(Plain::new(self.source.clone(), span.start, dtype, shape)?.with_facts(facts))
            }
            Storage::Packed(bits, is_signed) => {
                needs(u64::from(bits))?;
                let facts = ArrayFacts { word: Some(name), scaling, ..ArrayFacts::default() };
                let dtype = if is_signed { DType::I8 } else { DType::U8 };
                let bits = Bits::new(self.source.clone(), span.start, shape, bits, dtype, facts)?;
                Arc::new(bits.checksum_as_stored())
            }
            Storage::Texts => Arc::new(Texts::new(self.source.clone(), span.clone(), shape)),
            Storage::Nowhere => {
                return Err(Error::malformed(format!("tensor: of the type {name} no values are stored")));
            }
        })
    }
}

impl Leaf for Weight {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, "tensor");
        for (name, value) in self.tensor.quantisation.said().into_iter().chain(self.tensor.attributes.clone())
        {
            node = node.attribute(name, value);
        }
        let signature = &self.tensor.signature;
        if !signature.is_empty() {
            node = node.attribute("shape_signature", json!(signature));
        }
        if self.tensor.is_variable {
            node = node.attribute("is_variable", "true");
        }
        if self.tensor.is_sparse {
            let shape = &self.tensor.shape;
            node =
                node.remark(format!("it is sparse: these are the values that are stored of shape {shape:?}"));
        }
        if let Some(remark) = &self.external {
            return node.remark(remark.clone());
        }
        match &self.place {
            Ok(Place::Here(span)) => match self.array(span) {
                Ok(array) => node.content(Content::Array(array)).span(span.clone()),
                Err(error) => node.problem(error).span(span.clone()),
            },
            Ok(Place::External(_)) => node,
            Err(error) => node.problem(error.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plain_type_is_one_of_arrays() {
        for (name, storage) in TYPES {
            assert!(!matches!(storage, Storage::Plain) || DType::of_name(name).is_some(), "{name}");
        }
        assert_eq!(DType::of_name("float8_e5m2"), Some(DType::Mini(crate::data::dtype::Mini::F8E5M2)));
    }
}
