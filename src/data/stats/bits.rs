//! How much of their type floats use: exponents, bits of the mantissa, narrower types that hold the same values; and the
//! sum of their magnitudes.
//!
//! Every float of up to 64 bits is a double exactly, whose leading and lowest set bits tell all of this. One pass, on all
//! cores, in the pieces of [`tensor`](super::tensor::tensor).

use super::tensor;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::dtype::{DType, Mini};
use crate::data::region::Region;
use rayon::prelude::*;

/// Pieces that one worker takes at least.
const PIECES_EACH: usize = 4;
/// Exponents that doubles have, subnormal ones included: −1074 to 1023.
const EXPONENTS: usize = 1074 + 1024;
const LEAST: i32 = -1074;

/// A layout of floats, as IEEE 754 has them but for the largest value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Format {
    /// Stored bits of the mantissa.
    mantissa: i32,
    /// The exponent of the least normal number.
    least: i32,
    /// The largest finite value.
    most: f64,
}

/// Narrower types that values may fit, the widest first.
const NARROW: [(DType, Format); 5] = [
    (DType::F32, Format { mantissa: 23, least: -126, most: f32::MAX as f64 }),
    (DType::BF16, Format { mantissa: 7, least: -126, most: 3.389_531_389_251_535_5e38 }),
    (DType::F16, Format { mantissa: 10, least: -14, most: 65504.0 }),
    (DType::Mini(Mini::F8E5M2), Format { mantissa: 2, least: -14, most: 57344.0 }),
    (DType::Mini(Mini::F8E4M3FN), Format { mantissa: 3, least: -6, most: 448.0 }),
];

/// How much of their type the elements of an array use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitUse {
    /// Finite elements.
    pub finite: u64,
    /// Those that are zero.
    pub zeros: u64,
    /// The sum of the magnitudes of all finite elements: their L1 norm.
    pub magnitudes: f64,
    /// The stored bits of the type's mantissa: 23 of float32.
    pub mantissa: u32,
    /// How many of these, from the highest on, are needed for all elements: the others are zero in each.
    pub used: u32,
    /// Powers of two between which elements lie, in ascending order, and how many each has: those with
    /// 2^e ≤ |x| < 2^(e+1). Zeros have none.
    pub exponents: Vec<(i32, u64)>,
    /// Of narrower types of floats, the widest first, how many of the finite elements they hold exactly.
    pub narrow: Vec<(DType, u64)>,
}

impl BitUse {
    /// The types of the fewest bits that hold every finite element exactly, of those narrower than the array's own:
    /// bfloat16 and float16 may both.
    pub fn fits(&self) -> Vec<&DType> {
        let all = |(_, count): &&(DType, u64)| *count == self.finite && self.finite > self.zeros;
        let fitting = || self.narrow.iter().filter(all).map(|(dtype, _)| dtype);
        let least = fitting().map(DType::bits).min();
        fitting().filter(|dtype| Some(dtype.bits()) == least).collect()
    }
}

/// The layout of a type of floats; `None` for others.
fn format(dtype: &DType) -> Option<Format> {
    let of = |mantissa, least| Some(Format { mantissa, least, most: f64::INFINITY });
    match dtype {
        DType::F64 => of(52, -1022),
        // What blocks stand for is delivered as float32.
        DType::F32 | DType::Blocks(_) => of(23, -126),
        DType::BF16 => of(7, -126),
        DType::F16 => of(10, -14),
        DType::Mini(kind) => match kind {
            Mini::F8E4M3FN | Mini::F8E4M3 => of(3, -6),
            Mini::F8E5M2 => of(2, -14),
            Mini::F8E4M3FNUZ => of(3, -7),
            Mini::F8E5M2FNUZ => of(2, -15),
            Mini::F8E4M3B11FNUZ => of(3, -10),
            Mini::F8E3M4 => of(4, -2),
            Mini::F8E8M0 => of(0, -127),
            Mini::F6E2M3 => of(3, 0),
            Mini::F6E3M2 => of(2, -2),
            Mini::F4E2M1 => of(1, 0),
        },
        _ => None,
    }
}

/// Whether [`bit_use`] goes through elements of this type.
pub fn has_bit_use(dtype: &DType) -> bool {
    format(dtype).is_some()
}

/// How much of their type the elements use. Of arrays in quantised blocks: the float32 that they stand for.
///
/// # Errors
/// `Unsupported` for elements that are no real floats of up to 64 bits; those of reading; `Limit` for shapes that nothing
/// stands behind.
pub fn bit_use(array: &dyn Array, task: &Task) -> Result<BitUse> {
    let dtype = array.dtype();
    let Some(own) = format(dtype) else {
        return Err(Error::unsupported(format!("exponents and mantissas of elements of the type {dtype}")));
    };
    let regions = tensor::bands(array)?;
    task.set_total(limits::bytes(array.shape(), dtype.size())?);
    // Of each only those that leave something away.
    let narrow: Vec<&(DType, Format)> =
        NARROW.iter().filter(|(kind, _)| kind.bits() < dtype.bits()).collect();
    let formats: Vec<Format> = narrow.iter().map(|(_, format)| *format).collect();
    let passes: Vec<Pass> = regions
        .par_iter()
        .with_min_len(PIECES_EACH)
        .try_fold(
            || Pass::new(own, &formats),
            |mut pass, region| {
                pass.add(array, task, region)?;
                Ok(pass)
            },
        )
        .collect::<Result<_>>()?;
    let mut total = Pass::new(own, &formats);
    passes.into_iter().for_each(|pass| total.merge(&pass));
    let exponents = (LEAST..).zip(&total.exponents).filter(|(_, count)| **count > 0);
    Ok(BitUse {
        finite: total.finite,
        zeros: total.zeros,
        magnitudes: total.magnitudes,
        mantissa: own.mantissa as u32,
        used: total.used.max(0) as u32,
        exponents: exponents.map(|(exponent, count)| (exponent, *count)).collect(),
        narrow: narrow.iter().zip(&total.narrow).map(|((kind, _), count)| (kind.clone(), *count)).collect(),
    })
}

/// What some pieces tell.
struct Pass {
    own: Format,
    formats: Vec<Format>,
    buffer: Vec<u8>,
    values: Vec<f64>,
    finite: u64,
    zeros: u64,
    magnitudes: f64,
    used: i32,
    exponents: Vec<u64>,
    narrow: Vec<u64>,
}

impl Pass {
    fn new(own: Format, formats: &[Format]) -> Self {
        Pass {
            own,
            formats: formats.to_vec(),
            buffer: Vec::new(),
            values: Vec::new(),
            finite: 0,
            zeros: 0,
            magnitudes: 0.0,
            used: 0,
            exponents: vec![0; EXPONENTS],
            narrow: vec![0; formats.len()],
        }
    }

    /// Reads a piece and goes through it.
    fn add(&mut self, array: &dyn Array, task: &Task, region: &Region) -> Result<()> {
        task.check()?;
        let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(limits::check(bytes, limits::CHUNK, "a part of the tensor")?, 0);
        array.read(task, region, &mut buffer)?;
        task.advance(bytes)?;
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        array.dtype().decode(&buffer, &mut values);
        values.iter().for_each(|value| self.count(*value));
        (self.buffer, self.values) = (buffer, values);
        Ok(())
    }

    fn count(&mut self, value: f64) {
        let magnitude = value.abs();
        if !magnitude.is_finite() {
            return;
        }
        self.finite += 1;
        self.magnitudes += magnitude;
        if magnitude == 0.0 {
            self.zeros += 1;
            self.narrow.iter_mut().for_each(|count| *count += 1);
            return;
        }
        let (exponent, lowest) = ends(magnitude);
        if let Some(count) = self.exponents.get_mut((exponent - LEAST) as usize) {
            *count += 1;
        }
        self.used = self.used.max(exponent.max(self.own.least) - lowest);
        for (count, format) in self.narrow.iter_mut().zip(&self.formats) {
            let is_held = magnitude <= format.most && exponent.max(format.least) - lowest <= format.mantissa;
            *count += u64::from(is_held);
        }
    }

    fn merge(&mut self, other: &Pass) {
        self.finite += other.finite;
        self.zeros += other.zeros;
        self.magnitudes += other.magnitudes;
        self.used = self.used.max(other.used);
        self.exponents.iter_mut().zip(&other.exponents).for_each(|(count, more)| *count += more);
        self.narrow.iter_mut().zip(&other.narrow).for_each(|(count, more)| *count += more);
    }
}

/// The powers of two of the highest and of the lowest bit of a finite magnitude above zero.
fn ends(magnitude: f64) -> (i32, i32) {
    let bits = magnitude.to_bits();
    let (biased, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    // Subnormal ones have no bit before the point.
    let (whole, unit) = if biased == 0 { (fraction, LEAST) } else { (fraction | 1 << 52, biased - 1075) };
    (unit + 63 - whole.leading_zeros() as i32, unit + whole.trailing_zeros() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use half::{bf16, f16};
    use proptest::prelude::*;

    fn of(dtype: DType, bytes: Vec<u8>) -> BitUse {
        let count = bytes.len() as u64 / dtype.size();
        let array = Plain::new(Source::memory("x", bytes), 0, dtype, vec![count]).unwrap();
        bit_use(&array, &Task::new()).unwrap()
    }

    fn singles(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn floats_that_were_bfloat16_are_found() {
        let values: Vec<f32> = (1..2000).map(|n| bf16::from_f32(n as f32 * 0.37).to_f32()).collect();
        let got = of(DType::F32, singles(&values));
        assert_eq!((got.mantissa, got.used, got.finite), (23, 7, 1999));
        assert_eq!(got.fits(), [&DType::BF16, &DType::F16]);
        let large: Vec<f32> = values.iter().map(|value| value * 2f32.powi(60)).collect();
        assert_eq!(of(DType::F32, singles(&large)).fits(), [&DType::BF16]);
        let mut other = values.clone();
        other.push(1.0 + f32::EPSILON);
        let got = of(DType::F32, singles(&other));
        assert_eq!((got.used, got.fits()), (23, vec![]));
        assert_eq!(got.narrow[0], (DType::BF16, 1999));
    }

    #[test]
    fn exponents_are_powers_of_two() {
        let got = of(DType::F32, singles(&[0.0, 1.0, -1.5, 2.0, 0.25, f32::NAN, f32::INFINITY, 1e-45]));
        assert_eq!(got.exponents, [(-149, 1), (-2, 1), (0, 2), (1, 1)]);
        assert_eq!((got.finite, got.zeros, got.magnitudes), (6, 1, 4.75 + f64::from(1e-45f32)));
        // The least single is no half, and all of its mantissa is needed for it.
        assert_eq!((got.used, got.fits()), (23, vec![]));
    }

    proptest! {
        #[test]
        fn what_is_held_is_what_conversions_leave_as_it_is(bits in prop::collection::vec(any::<u32>(), 1..60)) {
            // Short mantissas too, as many random ones would be held by nothing.
            let values: Vec<f32> = bits.iter().flat_map(|bits| [*bits, bits & 0xffff_0000, bits & 0xbfff_e000 | 0x3000_0000])
                .map(f32::from_bits).collect();
            let got = of(DType::F32, singles(&values));
            let finite = || values.iter().copied().filter(|value| value.is_finite());
            let count = |held: &dyn Fn(f32) -> f32| finite().filter(|value| held(*value) == *value).count() as u64;
            prop_assert_eq!(got.narrow[0].1, count(&|value| bf16::from_f32(value).to_f32()));
            prop_assert_eq!(got.narrow[1].1, count(&|value| f16::from_f32(value).to_f32()));
            for (at, kind) in [(2, Mini::F8E5M2), (3, Mini::F8E4M3FN)] {
                let table = kind.table();
                let held = finite().filter(|value| table.contains(value)).count() as u64;
                prop_assert_eq!(got.narrow[at].1, held);
            }
            let unused = finite().fold(23, |least, value| (value.to_bits() & 0x7f_ffff).trailing_zeros().min(least));
            prop_assert_eq!(got.used, 23 - unused);
        }
    }

    #[test]
    fn every_type_needs_all_bits_for_all_of_its_values() {
        for kind in Mini::ALL {
            let patterns = (0..1u32 << kind.bits()).map(|bits| bits as u8).collect();
            let got = of(DType::Mini(kind), patterns);
            assert_eq!(got.used, got.mantissa, "{kind:?}");
            let finite = kind.table().iter().take(1 << kind.bits()).filter(|value| value.is_finite()).count();
            assert_eq!(got.finite, finite as u64, "{kind:?}");
        }
        let halves = of(DType::F16, (0..=u16::MAX).flat_map(u16::to_le_bytes).collect());
        assert_eq!((halves.used, halves.exponents.len()), (10, 40));
        let doubles = [0.1f64, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        let doubles = of(DType::F64, doubles);
        assert_eq!((doubles.used, doubles.fits()), (51, vec![]));
    }
}
