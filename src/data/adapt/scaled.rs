//! What stored values stand for, as an array of its own.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::array::{MissingRegion, Scaling};
use crate::data::content::{Array, ArrayFacts, array};
use crate::data::dtype::DType;
use crate::data::region::Region;
use std::sync::Arc;

/// What stored values stand for; NaN for missing ones.
pub struct ScaledArray {
    array: Arc<dyn Array>,
    scaling: Scaling,
    dtype: DType,
}

impl ScaledArray {
    /// The values of this array, if it has a scaling and holds real numbers.
    pub fn new(array: Arc<dyn Array>, scaling: Scaling) -> Option<Self> {
        let stored = array.dtype();
        if !stored.is_real() {
            return None;
        }
        // As xarray chooses: no more digits than the stored ones are worth.
        let few = matches!(
            stored,
            DType::Bool
                | DType::I8
                | DType::U8
                | DType::I16
                | DType::U16
                | DType::F16
                | DType::BF16
                | DType::F32
        );
        let few = few || matches!(stored, DType::Mini(_));
        let dtype = if few { DType::F32 } else { DType::F64 };
        Some(ScaledArray { array, scaling, dtype })
    }

    fn apply(&self, raw: &[u8], out: &mut [u8]) {
        let mut values = Vec::with_capacity(raw.len() / self.array.dtype().size().max(1) as usize);
        self.array.dtype().decode(raw, &mut values);
        let values = values.into_iter().map(|stored| self.scaling.apply(stored));
        match self.dtype {
            DType::F32 => {
                for (to, value) in out.as_chunks_mut::<4>().0.iter_mut().zip(values) {
                    *to = (value as f32).to_le_bytes();
                }
            }
            _ => {
                for (to, value) in out.as_chunks_mut::<8>().0.iter_mut().zip(values) {
                    *to = value.to_le_bytes();
                }
            }
        }
    }
}

impl Array for ScaledArray {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let raw = array::read(&*self.array, task, region)?;
        self.apply(&raw, out);
        Ok(())
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        let (raw, gaps) = array::read_lenient(&*self.array, task, region)?;
        self.apply(&raw, out);
        Ok(gaps)
    }

    fn facts(&self) -> ArrayFacts {
        ArrayFacts { scaling: None, bytes_stored: None, ..self.array.facts() }
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        self.array.prefetch(task, region);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;

    #[test]
    fn stored_values_become_what_they_mean() {
        let bytes: Vec<u8> = [100i16, -1, 27315].iter().flat_map(|v| v.to_le_bytes()).collect();
        let array: Arc<dyn Array> =
            Arc::new(Plain::new(Source::memory("a", bytes), 0, DType::I16, vec![3]).unwrap());
        let scaling = Scaling { scale: 0.01, offset: 0.0, fill: vec![-1.0], valid: None };
        assert_eq!(scaling.to_string(), "stored × 0.01; -1 missing");
        let scaled = ScaledArray::new(array, scaling).unwrap();
        let raw = array::read(&scaled, &Task::new(), &Region::all(&[3])).unwrap();
        let values: Vec<f32> = raw.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        assert!(values[0] == 1.0 && values[1].is_nan() && values[2] == 273.15);
    }
}
