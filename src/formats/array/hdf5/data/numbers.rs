//! Numbers of one type as numbers of another, as HDF5 converts them: what does not fit becomes the nearest
//! that does, fractions are cut off.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, array};
use crate::data::dtype::DType;
use crate::data::region::Region;
use std::sync::Arc;

/// An array whose elements are delivered as another real type.
pub(super) struct Numbers {
    inner: Arc<dyn Array>,
    dtype: DType,
}

impl Numbers {
    /// `inner` in the type `dtype`; both are real.
    pub(super) fn new(inner: Arc<dyn Array>, dtype: DType) -> Self {
        Numbers { inner, dtype }
    }
}

impl Array for Numbers {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let bytes = array::read(self.inner.as_ref(), task, region)?;
        let sizes = (self.inner.dtype().size() as usize, self.dtype.size() as usize);
        if sizes.0 == 0 || sizes.1 == 0 {
            return Err(Error::bug("numbers without bytes"));
        }
        let pairs = bytes.chunks_exact(sizes.0).zip(out.chunks_exact_mut(sizes.1));
        if let Some(is_signed) = integer(self.inner.dtype())
            && let Some(to_signed) = integer(&self.dtype)
        {
            for (from, to) in pairs {
                clamp(whole(from, is_signed), to, to_signed);
            }
            return Ok(());
        }
        let mut value = Vec::with_capacity(1);
        for (from, to) in pairs {
            value.clear();
            self.inner.dtype().decode(from, &mut value);
            let value = value.first().copied().unwrap_or(f64::NAN);
            match (&self.dtype, integer(&self.dtype)) {
                (_, Some(to_signed)) => clamp(value as i128, to, to_signed),
                (DType::F64, _) => to.copy_from_slice(&value.to_le_bytes()),
                (DType::F32, _) => to.copy_from_slice(&(value as f32).to_le_bytes()),
                (DType::F16, _) => to.copy_from_slice(&half::f16::from_f64(value).to_le_bytes()),
                (DType::BF16, _) => to.copy_from_slice(&half::bf16::from_f64(value).to_le_bytes()),
                (other, _) => {
                    return Err(Error::unsupported(format!("{} as {other}", self.inner.dtype())));
                }
            }
        }
        Ok(())
    }
}

/// Whether an integer type has a sign.
fn integer(dtype: &DType) -> Option<bool> {
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => Some(true),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::Bool => Some(false),
        _ => None,
    }
}

fn whole(bytes: &[u8], is_signed: bool) -> i128 {
    let value = super::bytes::uint(bytes);
    let unused = 64 - 8 * (bytes.len().clamp(1, 8) as u32);
    if is_signed { i128::from(((value << unused) as i64) >> unused) } else { i128::from(value) }
}

fn clamp(value: i128, to: &mut [u8], is_signed: bool) {
    let bits = 8 * to.len() as u32;
    let (low, high) = match is_signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    let bytes = value.clamp(low, high).to_le_bytes();
    to.copy_from_slice(bytes.get(..to.len()).unwrap_or_default());
}
