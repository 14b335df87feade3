//! Tensors as arrays: slices of their storages at any strides, elements that share bytes, what quantised ones stand for.

use super::rebuild::{Quantiser, Strided};
use super::storage::Stores;
use super::types::{Kind, Packed};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::adapt::MappedArray;
use crate::data::content::array::{Array, ArrayFacts, Plain, Scaling, read};
use crate::data::dtype::DType;
use crate::data::region::Region;
use crate::engines::bits::{Bits, Packing, Rows};
use std::ops::Range;
use std::sync::Arc;

/// Dimensions of one tensor, as NumPy limits them; PyTorch has the same limit for most of what it does.
pub(super) const DIMENSIONS: usize = 64;

/// A tensor as an array.
pub(super) struct Made {
    pub(super) array: Arc<dyn Array>,
    /// What is missing of it.
    pub(super) problem: Option<Error>,
    /// Where its bytes lie in the file, if they lie there in one piece.
    pub(super) span: Option<Range<u64>>,
}

/// The array that a tensor is. `more` are further lines on it.
///
/// # Errors
/// Where its storage is not there, or it reaches beyond it.
pub(super) fn strided(stores: &Stores, tensor: &Strided, more: Vec<(String, String)>) -> Result<Made> {
    let (shape, kind) = (&tensor.shape, &tensor.kind);
    let first = first_element(tensor)?;
    let stored = stores.get(&tensor.storage.key)?;
    let at = kind.bytes(first).ok_or_else(overflows)?;
    let source = stored.source.clone();
    let dense = is_dense(tensor);
    let span = span(tensor, stored, at).filter(|_| dense);
    let place = span.as_ref().map(|span| format!("{} to {}", span.start, span.end));
    let place = place.map(|place| ("bytes in the file".to_owned(), place));
    let facts = facts(stores, tensor, place.into_iter().chain(more).collect());
    let (plain, problem): (Arc<dyn Array>, _) = match kind.packed {
        Packed::Bits(_) | Packed::Pairs if !dense => {
            let what = format!("tensors of {} whose elements do not follow each other", kind.name());
            return Err(Error::unsupported(what));
        }
        Packed::Bits(bits) => {
            let packing = Packing { bits, dtype: DType::U8, rows: Rows::Padded };
            (Arc::new(Bits::packed(source, at, shape.clone(), packing, facts)?), None)
        }
        Packed::Pairs => {
            let pairs = shape.iter().copied().chain([2]).collect();
            let plain = Plain::cut(source, at, kind.dtype.clone(), pairs)?.with_facts(facts);
            let problem = plain.missing();
            (Arc::new(plain), problem)
        }
        Packed::No if dense => {
            let plain = Plain::cut(source, at, kind.dtype.clone(), shape.clone())?;
            let plain = plain.big_endian(stores.big_endian).with_facts(facts);
            let problem = plain.missing();
            (Arc::new(plain), problem)
        }
        Packed::No => {
            let size = kind.size();
            let bytes = tensor.strides.iter().map(|stride| stride.checked_mul(size)).collect::<Option<_>>();
            let bytes = bytes.ok_or_else(overflows)?;
            let plain = Plain::strided(source, at, kind.dtype.clone(), shape.clone(), bytes)?;
            (Arc::new(plain.big_endian(stores.big_endian).with_facts(facts)), None)
        }
    };
    // Of several files the node does not say which it is.
    let span = span.filter(|_| stores.file.is_none());
    Ok(Made { array: turned(tensor, plain), problem, span })
}

/// Where the bytes of a tensor whose elements follow each other lie in the file.
fn span(tensor: &Strided, stored: &super::storage::Stored, at: u64) -> Option<Range<u64>> {
    let elements = limits::elements(&tensor.shape).ok().filter(|elements| *elements > 0)?;
    if let Packed::Bits(_) = tensor.kind.packed {
        return None;
    }
    let start = stored.at?.checked_add(at)?;
    Some(start..start.checked_add(tensor.kind.bytes(elements)?)?)
}

fn overflows() -> Error {
    Error::malformed("tensor: the place of its bytes overflows 64 bits")
}

/// The number of the first element in the storage of the key, if all of them lie in the storage.
fn first_element(tensor: &Strided) -> Result<u64> {
    let (shape, strides, storage) = (&tensor.shape, &tensor.strides, &tensor.storage);
    if shape.len() > DIMENSIONS {
        let what = format!("a tensor of {} dimensions, the limit is {DIMENSIONS}", shape.len());
        return Err(Error::limit(what));
    }
    if shape.len() != strides.len() {
        let what = format!("tensor: {} strides for the shape {shape:?}", strides.len());
        return Err(Error::malformed(what));
    }
    let elements = limits::elements(shape)?;
    let last = shape.iter().zip(strides).try_fold(tensor.offset, |at, (side, stride)| {
        side.saturating_sub(1).checked_mul(*stride).and_then(|along| at.checked_add(along))
    });
    // A storage without a type counts bytes.
    let size = tensor.kind.size().checked_div(storage.kind.size()).unwrap_or(1).max(1);
    let there = storage.elements / size;
    // Of elements that share a byte a storage has more than bytes; what it lacks is seen when they are read.
    let beyond = !matches!(tensor.kind.packed, Packed::Bits(_)) && last.is_none_or(|last| last >= there);
    if elements > 0 && beyond {
        let what = format!(
            "tensor: shape {shape:?} with the strides {strides:?} from element {} on reaches beyond its storage, \
             which has {there} elements",
            tensor.offset
        );
        return Err(Error::malformed(what));
    }
    let offset = match tensor.kind.packed {
        Packed::Bits(bits) => tensor.offset / u64::from(8 / bits),
        Packed::No | Packed::Pairs => tensor.offset,
    };
    offset.checked_add(storage.start).ok_or_else(overflows)
}

/// Whether the elements follow each other in C order. Strides of sides of one say nothing.
fn is_dense(tensor: &Strided) -> bool {
    let axes = strides::c_order(tensor.shape.len());
    let dense = strides::dense(&tensor.shape, &axes, 1);
    let each = tensor.shape.iter().zip(tensor.strides.iter().zip(&dense));
    tensor.shape.contains(&0) || each.clone().all(|(side, (have, want))| *side == 1 || have == want)
}

/// What is known of a tensor beside its elements.
fn facts(stores: &Stores, tensor: &Strided, more: Vec<(String, String)>) -> ArrayFacts {
    let storage = &tensor.storage;
    let mut details = Vec::new();
    let mut say = |name: &str, value: String| details.push((name.to_owned(), value));
    if let Some(file) = &stores.file {
        say("file", file.clone());
    }
    let elements = crate::bytes::display::count(storage.elements);
    say("storage", format!("{}, {elements} × {}", stores.name(&storage.key), storage.kind.name()));
    if tensor.offset > 0 {
        say("storage offset", tensor.offset.to_string());
    }
    if !is_dense(tensor) {
        say("strides", format!("{:?}", tensor.strides));
    }
    if storage.location != "cpu" {
        say("device", storage.location.clone());
    }
    let scaling = match &tensor.quantiser {
        Some(Quantiser::Tensor { scale, zero }) => {
            say("quantised", format!("(stored − {zero}) × {scale}"));
            Some(Scaling { scale: *scale, offset: 0.0 - zero * scale, fill: Vec::new(), valid: None })
        }
        Some(Quantiser::Channel { axis, .. }) => {
            say("quantised", format!("(stored − zero point) × scale, of each index of axis {axis}"));
            None
        }
        None => None,
    };
    details.extend(more);
    ArrayFacts { word: tensor.kind.word, scaling, details, ..ArrayFacts::default() }
}

/// With the signs that the tensor has and its storage has not.
fn turned(tensor: &Strided, array: Arc<dyn Array>) -> Arc<dyn Array> {
    let (conjugate, negative) = (tensor.conjugate, tensor.negative);
    let dtype = array.dtype().clone();
    // The sign of a float is the top bit of its last byte; of a complex number that of either part.
    let part = match dtype {
        DType::C32 | DType::C64 | DType::C128 => dtype.size() as usize / 2,
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => dtype.size() as usize,
        _ => return array,
    };
    if !conjugate && !negative {
        return array;
    }
    let complex = dtype.is_complex();
    let mapped = MappedArray::new(array, dtype, |_| {}).converted(move |raw, out| {
        out.copy_from_slice(raw);
        for (n, number) in out.chunks_exact_mut(part).enumerate() {
            let imaginary = complex && n % 2 == 1;
            if let (Some(last), true) = (number.last_mut(), negative ^ (conjugate && imaginary)) {
                *last ^= 0x80;
            }
        }
        Ok(())
    });
    Arc::new(mapped)
}

/// What the elements of a tensor stand for, whose scales and zero points differ along an axis.
pub(super) struct PerChannel {
    stored: Arc<dyn Array>,
    /// Scales and zero points, as many as the axis is long.
    scales: Arc<dyn Array>,
    zeros: Arc<dyn Array>,
    axis: usize,
}

impl PerChannel {
    /// The values of `stored`; `None` where scales and zero points do not fit its shape.
    pub(super) fn new(
        stored: Arc<dyn Array>,
        scales: Arc<dyn Array>,
        zeros: Arc<dyn Array>,
        axis: u64,
    ) -> Option<PerChannel> {
        let axis = usize::try_from(axis).ok()?;
        let length = [*stored.shape().get(axis)?];
        let fits = scales.shape() == length && zeros.shape() == length;
        let real = [&stored, &scales, &zeros].into_iter().all(|array| array.dtype().is_real());
        (fits && real).then_some(PerChannel { stored, scales, zeros, axis })
    }
}

impl Array for PerChannel {
    fn dtype(&self) -> &DType {
        &DType::F32
    }

    fn shape(&self) -> &[u64] {
        self.stored.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let numbers = |array: &dyn Array, region: &Region| -> Result<Vec<f64>> {
            let mut values = Vec::new();
            array.dtype().decode(&read(array, task, region)?, &mut values);
            Ok(values)
        };
        let along = Region(region.0.get(self.axis..=self.axis).unwrap_or_default().to_vec());
        let (scales, zeros) = (numbers(self.scales.as_ref(), &along)?, numbers(self.zeros.as_ref(), &along)?);
        let stored = numbers(self.stored.as_ref(), region)?;
        let inner: u64 = region.shape().get(self.axis + 1..).unwrap_or_default().iter().product();
        let (inner, count) = (inner.max(1) as usize, scales.len().max(1));
        for (n, (to, value)) in out.as_chunks_mut::<4>().0.iter_mut().zip(stored).enumerate() {
            let channel = n / inner % count;
            let (scale, zero) = (scales.get(channel), zeros.get(channel));
            let value = (value - zero.copied().unwrap_or(0.0)) * scale.copied().unwrap_or(1.0);
            *to = (value as f32).to_le_bytes();
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let details = vec![("values".to_owned(), "(stored − zero point) × scale".to_owned())];
        ArrayFacts { details, ..ArrayFacts::default() }
    }
}

/// A storage as one array.
///
/// # Errors
/// Where its bytes are not there.
pub(super) fn whole(stores: &Stores, key: &str, kind: &Kind, elements: u64) -> Result<Plain> {
    let stored = stores.get(key)?;
    // Elements that share a byte are shown as bytes here.
    let dtype = if kind.packed == Packed::No { kind.dtype.clone() } else { DType::U8 };
    let plain = Plain::cut(stored.source.clone(), 0, dtype, vec![elements])?;
    Ok(plain.big_endian(stores.big_endian))
}
