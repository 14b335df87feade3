//! Numbers of one type as numbers of another, as HDF5 converts them: what does not fit becomes the nearest
//! that does, fractions are cut off.

use crate::bytes::error::{Error, Result};
use crate::data::adapt::MappedArray;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::{DType, with_integer};
use std::sync::Arc;

/// `inner` in the type `dtype`; both are real.
pub(super) fn numbers(inner: Arc<dyn Array>, dtype: &DType) -> MappedArray {
    let (from, to) = (inner.dtype().clone(), dtype.clone());
    let change = |facts: &mut ArrayFacts| *facts = ArrayFacts::default();
    MappedArray::new(inner, dtype.clone(), change).converted(move |raw, out| convert(&from, &to, raw, out))
}

fn convert(from: &DType, to: &DType, raw: &[u8], out: &mut [u8]) -> Result<()> {
    let is_whole = with_integer!(to, T => {
        let mut places = out.as_chunks_mut::<{ size_of::<T>() }>().0.iter_mut();
        // Integers keep all of their digits.
        from.integers(raw, |value| {
            let nearest = value.clamp(T::MIN.into(), T::MAX.into()) as T;
            places.next().into_iter().for_each(|to| *to = nearest.to_le_bytes());
        })
    }, _ => false);
    let mut values = Vec::new();
    if !is_whole {
        from.decode(raw, &mut values);
    }
    match is_whole || to.encode(&values, out) {
        true => Ok(()),
        false => Err(Error::unsupported(format!("{from} as {to}"))),
    }
}
