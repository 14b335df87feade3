//! Numbers for formats that have only some of the types: each becomes the narrowest one that holds all its values, and
//! what is lost by that is said.

use crate::data::adapt::MappedArray;
use crate::data::content::Array;
use crate::data::dtype::{DType, TimeBase};
use crate::data::format::{Loss, LossKind, loss, note};
use std::sync::Arc;

/// The type among `has` that elements of a type are written as, and what is lost; `None` for elements that are no
/// numbers.
pub fn widened(dtype: &DType, has: &[DType]) -> Option<(DType, Vec<Loss>)> {
    if has.contains(dtype) {
        return Some((dtype.clone(), Vec::new()));
    }
    let becomes = |to: &DType| note(LossKind::Type, format!("{dtype} becomes {to}"));
    let (to, lost) = match dtype {
        DType::Bool => (DType::U8, vec![note(LossKind::Type, "truth values become uint8, 1 for true")]),
        DType::F16 | DType::BF16 | DType::Mini(_) | DType::Blocks(_) => {
            (DType::F32, vec![note(LossKind::Type, format!("{dtype} becomes float32, exactly"))])
        }
        DType::Long(_) => {
            let digits = loss(LossKind::Precision, "digits beyond those of float64 are not kept").if_any();
            (DType::F64, vec![becomes(&DType::F64), digits])
        }
        DType::C32 => (DType::C64, vec![note(LossKind::Type, "complex32 becomes complex64, exactly")]),
        DType::DateTime(unit) | DType::TimeDelta(unit) => {
            let since = if matches!(dtype, DType::DateTime(_)) { " since 1970" } else { "" };
            let what = match (unit.count, unit.base) {
                (_, TimeBase::Generic) => format!("{dtype} becomes int64: counts without a unit"),
                (1, base) => format!("{dtype} becomes int64: counts of {}{since}", base.word()),
                (count, base) => format!("{dtype} becomes int64: counts of {count} {}{since}", base.word()),
            };
            (DType::I64, vec![loss(LossKind::Scale, what)])
        }
        _ => return None,
    };
    has.contains(&to).then_some((to, lost))
}

/// The array with its elements as those of `to`, which [`widened`] named.
pub fn widen(array: Arc<dyn Array>, to: &DType) -> Arc<dyn Array> {
    let from = array.dtype().clone();
    if from == *to {
        return array;
    }
    let mapped = MappedArray::new(array, to.clone(), |facts| facts.word = None);
    if matches!(from, DType::Bool | DType::DateTime(_) | DType::TimeDelta(_)) {
        return Arc::new(mapped);
    }
    // Of complex numbers each part.
    let (stored, wide) = match from {
        DType::C32 => (DType::F16, DType::F32),
        other => (other, to.clone()),
    };
    Arc::new(mapped.converted(move |raw, out| {
        let mut values = Vec::with_capacity(raw.len() / stored.size().max(1) as usize);
        stored.decode(raw, &mut values);
        wide.encode(&values, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::bytes::task::Task;
    use crate::data::content::array::{Plain, read};
    use crate::data::dtype::TimeUnit;
    use crate::data::region::Region;

    #[test]
    fn narrow_types_become_the_next_ones() {
        let has = [DType::U8, DType::I64, DType::F32, DType::F64, DType::C64];
        let of = |dtype: DType, bytes: &[u8]| {
            let count = bytes.len() as u64 / dtype.size();
            let source = Source::memory("a", bytes.to_vec());
            let plain: Arc<dyn Array> = Arc::new(Plain::new(source, 0, dtype.clone(), vec![count]).unwrap());
            let (to, lost) = widened(&dtype, &has).unwrap();
            let wide = widen(plain, &to);
            assert_eq!(*wide.dtype(), to);
            (read(wide.as_ref(), &Task::new(), &Region::all(&[count])).unwrap(), lost.len())
        };
        assert_eq!(of(DType::Bool, &[1, 0]), (vec![1, 0], 1));
        assert_eq!(of(DType::BF16, &[0x80, 0x3f]), (1f32.to_le_bytes().to_vec(), 1));
        let halves = [half::f16::ONE.to_le_bytes(), half::f16::NEG_ONE.to_le_bytes()].concat();
        let wanted = [1f32.to_le_bytes(), (-1f32).to_le_bytes()].concat();
        assert_eq!(of(DType::C32, &halves), (wanted, 1));
        assert_eq!(of(DType::U8, &[7]), (vec![7], 0));
        let day = DType::DateTime(TimeUnit { count: 1, base: TimeBase::Day });
        let (_, lost) = widened(&day, &has).unwrap();
        assert!(lost[0].serious && lost[0].what.ends_with("counts of D since 1970"), "{lost:?}");
        assert!(widened(&DType::Str(3), &has).is_none());
    }
}
