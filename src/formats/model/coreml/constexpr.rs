//! Operations of ML programs that make constants of others when a model is loaded: quantised, palettized and sparse
//! weights (`constexpr_…`).
//! <https://apple.github.io/coremltools/source/coremltools.converters.mil.mil.ops.defs.html>

use super::packed::Packed;
use super::stand::{Rule, Stands, numbers};
use super::types::{self, Type};
use super::value::{Constant, Context};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::adapt::MappedArray;
use crate::data::content::Array;
use crate::data::content::array::{Plain, read};
use crate::data::dtype::DType;
use crate::data::region::Region;
use crate::engines::late_array::LateArray;
use std::collections::HashMap;
use std::sync::Arc;

/// An operation and the constants that it takes.
pub(super) struct Constexpr {
    pub(super) operator: String,
    pub(super) parameters: HashMap<String, Arc<Constant>>,
    /// How deep such operations lie in it, itself included.
    depth: usize,
}

/// How deep such operations may lie in each other.
const DEPTH: usize = 4;

impl Constexpr {
    /// An operation on these constants.
    ///
    /// # Errors
    /// `Limit` where too many lie in each other.
    pub(super) fn new(operator: String, parameters: HashMap<String, Arc<Constant>>) -> Result<Constexpr> {
        let inner = parameters.values().filter_map(|constant| Some(constant.maker()?.depth)).max();
        let depth = 1 + inner.unwrap_or(0);
        if depth > DEPTH {
            return Err(Error::limit(format!("constants that are made of others, more than {DEPTH} deep")));
        }
        Ok(Constexpr { operator, parameters, depth })
    }

    fn get(&self, name: &str) -> Result<&Arc<Constant>> {
        let missing = || Error::malformed(format!("{}: it has no {name}", self.operator));
        self.parameters.get(name).ok_or_else(missing)
    }

    fn integer(&self, name: &str, task: &Task, context: &Arc<Context>) -> Result<i64> {
        let array = self.get(name)?.flat(task, context)?;
        let first = numbers(task, array.as_ref())?.first().copied();
        let value = first.ok_or_else(|| Error::malformed(format!("{}: {name} is empty", self.operator)))?;
        Ok(value as i64)
    }

    /// What it makes: its output of this number, which has this type and shape.
    pub(super) fn array(
        self: &Arc<Self>,
        task: &Task,
        context: &Arc<Context>,
        kind: &Type,
        shape: &[u64],
        output: usize,
    ) -> Result<Arc<dyn Array>> {
        let operator = self.operator.strip_prefix("constexpr_").unwrap_or(&self.operator);
        match operator {
            "affine_dequantize" => self.affine(task, context, kind, shape),
            "blockwise_shift_scale" => self.blockwise(task, context, kind, shape),
            "lut_to_dense" if !self.is_vector()? => self.table(task, context, kind, shape),
            "cast" => {
                let (dtype, ..) = types::element(kind.code)
                    .ok_or_else(|| Error::unsupported(format!("elements of {}", kind.word)))?;
                let inner = self.get("source_val")?.array(task, context)?;
                let inner = if inner.shape() == shape { inner } else { return Err(self.disagrees(shape)) };
                cast(inner, &dtype)
            }
            "lut_to_dense" | "sparse_to_dense" | "lut_to_sparse" | "sparse_blockwise_shift_scale" => {
                self.late(context, kind, shape, output)
            }
            _ => Err(Error::unsupported(format!("what {} makes", self.operator))),
        }
    }

    fn disagrees(&self, shape: &[u64]) -> Error {
        Error::malformed(format!("{}: what it takes does not fit shape {shape:?}", self.operator))
    }

    fn details(&self, bits: u32) -> Vec<(String, String)> {
        vec![("quantisation".to_owned(), format!("{}, {bits} bits", self.operator))]
    }

    fn bits(&self, name: &str) -> Result<u32> {
        Ok(types::element(self.get(name)?.kind.code).map_or(8, |(.., bits)| bits))
    }

    /// `scale × (quantized_data - zero_point)`, of all or along an axis.
    fn affine(
        &self,
        task: &Task,
        context: &Arc<Context>,
        kind: &Type,
        shape: &[u64],
    ) -> Result<Arc<dyn Array>> {
        let stored = self.get("quantized_data")?.flat(task, context)?;
        let (scale, zero) = (self.get("scale")?, self.parameters.get("zero_point"));
        let count = |constant: &Constant| constant.elements().unwrap_or(0);
        let many = count(scale).max(zero.map_or(0, |zero| count(zero)));
        let mut blocks = vec![1; shape.len()];
        if many > 1 {
            let axis = self.integer("axis", task, context)?;
            let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
            let side = usize::try_from(axis).ok().and_then(|axis| blocks.get_mut(axis));
            *side.ok_or_else(|| self.disagrees(shape))? = many;
        }
        let scale = repeated(task, scale.flat(task, context)?, many)?;
        let zero = zero.map(|zero| repeated(task, zero.flat(task, context)?, many)).transpose()?;
        let rule = Rule::Linear { scale, zero, offset: None };
        let bits = self.bits("quantized_data")?;
        let made = Stands::array(stored, shape.to_vec(), rule, blocks, bits, self.details(bits))?;
        narrowed(Arc::new(made), kind)
    }

    /// `scale × (data - offset)` by blocks.
    fn blockwise(
        &self,
        task: &Task,
        context: &Arc<Context>,
        kind: &Type,
        shape: &[u64],
    ) -> Result<Arc<dyn Array>> {
        let stored = self.get("data")?.flat(task, context)?;
        let scale = self.get("scale")?;
        let blocks = scale.shape.clone();
        let zero = self.parameters.get("offset").map(|offset| offset.flat(task, context)).transpose()?;
        let rule = Rule::Linear { scale: scale.flat(task, context)?, zero, offset: None };
        let bits = self.bits("data")?;
        let made = Stands::array(stored, shape.to_vec(), rule, blocks, bits, self.details(bits))?;
        narrowed(Arc::new(made), kind)
    }

    /// Whether the entries of a table are vectors.
    fn is_vector(&self) -> Result<bool> {
        let lut = &self.get("lut")?.shape;
        Ok(!self.parameters.contains_key("shape") && lut.last().is_some_and(|last| *last > 1))
    }

    /// Entries of a table, or of one for each block.
    fn table(
        &self,
        task: &Task,
        context: &Arc<Context>,
        kind: &Type,
        shape: &[u64],
    ) -> Result<Arc<dyn Array>> {
        let (indices, lut) = (self.get("indices")?, self.get("lut")?);
        let table = lut.flat(task, context)?;
        let elements = limits::elements(shape)?;
        let (stored, blocks, bits) = if self.parameters.contains_key("shape") {
            // Before iOS 18: indices of as many bits as the table needs, in bytes.
            let bits = lut.elements().unwrap_or(0).max(1).ilog2();
            let packed = Packed::new(
                indices.raw(task, context)?,
                vec![elements],
                bits.max(1),
                DType::U8,
                false,
                None,
            )?;
            let stored: Arc<dyn Array> = Arc::new(packed);
            (stored, vec![1; shape.len()], bits)
        } else {
            let blocks = lut.shape.get(..shape.len()).ok_or_else(|| self.disagrees(shape))?.to_vec();
            (indices.flat(task, context)?, blocks, self.bits("indices")?)
        };
        let rule = Rule::Table(table);
        let made = Stands::array(stored, shape.to_vec(), rule, blocks, bits, self.details(bits))?;
        narrowed(Arc::new(made), kind)
    }

    /// What takes a look at all of it: made when somebody reads.
    fn late(
        self: &Arc<Self>,
        context: &Arc<Context>,
        kind: &Type,
        shape: &[u64],
        output: usize,
    ) -> Result<Arc<dyn Array>> {
        let (dtype, ..) = types::element(kind.code)
            .ok_or_else(|| Error::unsupported(format!("elements of {}", kind.word)))?;
        let elements = limits::elements(shape)?;
        limits::check(elements.saturating_mul(8), limits::CHUNK, "values that are made as a whole")?;
        let (this, context, element) = (self.clone(), context.clone(), dtype.clone());
        let (own, wanted) = (shape.to_vec(), elements);
        let make = move |task: &Task| {
            let values = this.values(task, &context, &own, output)?;
            if values.len() as u64 != wanted {
                let what = format!("{}: {} values for shape {own:?}", this.operator, values.len());
                return Err(Error::malformed(what));
            }
            let mut bytes = limits::buffer(wanted.saturating_mul(element.size()), "values")?;
            element.encode(&values, &mut bytes);
            Ok(bytes::Bytes::from(bytes))
        };
        Ok(Arc::new(LateArray::new(dtype, shape.to_vec(), make)))
    }

    fn values(&self, task: &Task, context: &Arc<Context>, shape: &[u64], output: usize) -> Result<Vec<f64>> {
        let all =
            |name: &str| -> Result<Vec<f64>> { numbers(task, self.get(name)?.flat(task, context)?.as_ref()) };
        match self.operator.as_str() {
            "constexpr_sparse_to_dense" => {
                let mask = match self.parameters.contains_key("shape") {
                    true => {
                        let bits = self.get("mask")?.raw(task, context)?;
                        let count = limits::elements(shape)?;
                        let mask = Packed::new(bits, vec![count], 1, DType::U8, false, None)?;
                        numbers(task, &mask)?
                    }
                    false => all("mask")?,
                };
                let mut values = all("nonzero_data")?.into_iter();
                Ok(mask
                    .iter()
                    .map(|bit| if *bit != 0.0 { values.next().unwrap_or(0.0) } else { 0.0 })
                    .collect())
            }
            "constexpr_lut_to_dense" => {
                let indices = all("indices")?;
                let places: Vec<u64> = (0..indices.len() as u64).collect();
                Ok(self.entries(task, context, &self.get("indices")?.shape, &places, &indices)?.0)
            }
            "constexpr_lut_to_sparse" => {
                let (mask, places) = chosen(all("indices_mask")?);
                let own = &self.get("indices_mask")?.shape;
                let indices = all("indices_nonzero_data")?;
                let (values, at) = self.entries(task, context, own, &places, &indices)?;
                if output > 0 {
                    return Ok(values);
                }
                let size = limits::elements(shape)? as usize;
                let mut expanded = vec![0.0; size.max(mask)];
                at.iter().for_each(|at| {
                    if let Some(bit) = expanded.get_mut(*at as usize) {
                        *bit = 1.0;
                    }
                });
                Ok(expanded)
            }
            _ => {
                let mask = all("data_mask")?;
                if output == 0 {
                    return Ok(mask);
                }
                let (_, places) = chosen(mask);
                let (own, blocks) = (&self.get("data_mask")?.shape, &self.get("scale")?.shape);
                let (data, scale) = (all("nonzero_data")?, all("scale")?);
                let offset = if self.parameters.contains_key("offset") { all("offset")? } else { Vec::new() };
                let each = places.iter().zip(data).map(|(place, value)| {
                    let block = block_of(*place, own, blocks);
                    let offset = offset.get(block).copied().unwrap_or(0.0);
                    scale.get(block).copied().unwrap_or(f64::NAN) * (value - offset)
                });
                Ok(each.collect())
            }
        }
    }

    /// The entries of the table at `indices`, which lie at `places` of `shape`, and where they lie in what is made.
    /// Where the entries are vectors they follow each other along an axis; the values are in the order of their
    /// places.
    fn entries(
        &self,
        task: &Task,
        context: &Arc<Context>,
        shape: &[u64],
        places: &[u64],
        indices: &[f64],
    ) -> Result<(Vec<f64>, Vec<u64>)> {
        let lut = self.get("lut")?;
        let table = numbers(task, lut.flat(task, context)?.as_ref())?;
        let [blocks @ .., palettes, vector] = lut.shape.as_slice() else { return Err(self.disagrees(shape)) };
        let axis = match *vector > 1 {
            true => self.integer("vector_axis", task, context)?,
            false => 0,
        };
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
        let axis = usize::try_from(axis).ok().filter(|axis| *axis < shape.len().max(1));
        let axis = axis.ok_or_else(|| self.disagrees(shape))?;
        let mut wide = shape.to_vec();
        if let Some(side) = wide.get_mut(axis) {
            *side = side.saturating_mul(*vector);
        }
        limits::elements(&wide)?;
        let bytes =
            (places.len() as u64).saturating_mul(*vector).saturating_mul(size_of::<(u64, f64)>() as u64);
        limits::check(bytes, limits::CHUNK, "entries of a table")?;
        let mut found: Vec<(u64, f64)> = Vec::new();
        for (n, (place, entry)) in places.iter().zip(indices).enumerate() {
            if n % 65_536 == 0 {
                task.check()?;
            }
            let block = block_of(*place, shape, blocks) as u64;
            let first = block.wrapping_mul(*palettes).wrapping_add(*entry as u64).wrapping_mul(*vector);
            let index = strides::unravel(*place, shape);
            for k in 0..*vector {
                let mut index = index.clone();
                if let Some(at) = index.get_mut(axis) {
                    *at = at.wrapping_mul(*vector).wrapping_add(k);
                }
                let value = usize::try_from(first.wrapping_add(k)).ok().and_then(|at| table.get(at));
                let value = value.ok_or_else(|| Error::malformed("an index is beyond its table"))?;
                found.push((strides::ravel(&index, &wide), *value));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        Ok((found.iter().map(|(_, value)| *value).collect(), found.iter().map(|(place, _)| *place).collect()))
    }
}

/// How long a mask is, and the places where it is set.
fn chosen(mask: Vec<f64>) -> (usize, Vec<u64>) {
    let places = mask.iter().zip(0u64..).filter(|(bit, _)| **bit != 0.0).map(|(_, place)| place).collect();
    (mask.len(), places)
}

/// The block that an element belongs to.
fn block_of(place: u64, shape: &[u64], blocks: &[u64]) -> usize {
    let index = strides::unravel(place, shape);
    let block = index.iter().zip(shape).zip(blocks).fold(0u64, |n, ((at, side), count)| {
        n.wrapping_mul(*count).wrapping_add(at / (side / (*count).max(1)).max(1))
    });
    usize::try_from(block).unwrap_or(usize::MAX)
}

/// A single parameter as often as there are others.
fn repeated(task: &Task, array: Arc<dyn Array>, count: u64) -> Result<Arc<dyn Array>> {
    if array.shape() != [1] || count <= 1 {
        return Ok(array);
    }
    let one = read(array.as_ref(), task, &Region::all(&[1]))?;
    let dtype = array.dtype().clone();
    let bytes = one.repeat(limits::check(count, limits::HEADER, "parameters")?);
    Ok(Arc::new(Plain::new(Source::memory("parameters", bytes), 0, dtype, vec![count])?))
}

fn cast(array: Arc<dyn Array>, dtype: &DType) -> Result<Arc<dyn Array>> {
    if array.dtype() == dtype {
        return Ok(array);
    }
    let from = array.dtype().clone();
    let mapped = MappedArray::cast(array, dtype.clone());
    Ok(Arc::new(mapped.ok_or_else(|| Error::unsupported(format!("{from} as {dtype}")))?))
}

/// Values in the type that the program says.
fn narrowed(array: Arc<dyn Array>, kind: &Type) -> Result<Arc<dyn Array>> {
    let (dtype, ..) =
        types::element(kind.code).ok_or_else(|| Error::unsupported(format!("elements of {}", kind.word)))?;
    cast(array, &dtype)
}
