//! How two arrays of one shape differ, in one pass over both.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides::unravel;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::region::{Region, pieces};
use rayon::prelude::*;

/// Bytes of the wider elements that are compared at a time.
const PIECE: u64 = 1 << 20;

/// How two arrays differ. Elements count as equal where both are the same number or both are NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Elements of each.
    pub count: u64,
    /// Elements that are not equal.
    pub differing: u64,
    /// The index of the first of these.
    pub first: Option<Vec<u64>>,
    /// The largest magnitude of a difference between finite elements, and its index.
    pub largest: Option<(f64, Vec<u64>)>,
    /// Pairs of which one or both are not finite; they are in none of the numbers below.
    pub not_finite: u64,
    /// The sum of the squares of the differences.
    squares: f64,
    /// Of the one, the other, and their products.
    norms: [f64; 3],
}

impl Difference {
    /// The root of the mean of the squares of the differences.
    pub fn rms(&self) -> Option<f64> {
        let finite = self.count.saturating_sub(self.not_finite);
        (finite > 0).then(|| (self.squares / finite as f64).sqrt())
    }

    /// The norm of the difference as a part of the norm of the first array.
    pub fn relative(&self) -> Option<f64> {
        (self.norms[0] > 0.0).then(|| (self.squares / self.norms[0]).sqrt())
    }

    /// The cosine of the angle between both, taken as vectors.
    pub fn cosine(&self) -> Option<f64> {
        let [one, other, both] = self.norms;
        (one > 0.0 && other > 0.0).then(|| both / (one.sqrt() * other.sqrt()))
    }

    /// Takes in what lies behind it.
    fn merge(mut self, after: Difference) -> Difference {
        self.differing += after.differing;
        self.not_finite += after.not_finite;
        self.first = self.first.or(after.first);
        let is_larger = |one: &(f64, Vec<u64>)| self.largest.as_ref().is_none_or(|known| one.0 > known.0);
        if let Some(larger) = after.largest.filter(is_larger) {
            self.largest = Some(larger);
        }
        self.squares += after.squares;
        self.norms.iter_mut().zip(after.norms).for_each(|(sum, more)| *sum += more);
        self
    }
}

/// Compares two arrays of numbers, on all cores.
///
/// # Errors
/// `Unsupported` where the shapes differ or the elements are no real numbers; those of reading; `Cancelled`.
pub fn difference(task: &Task, one: &dyn Array, other: &dyn Array) -> Result<Difference> {
    if one.shape() != other.shape() {
        let shapes = [one, other].map(|array| crate::bytes::display::shape(array.shape()));
        return Err(Error::unsupported(format!("a comparison of {} with {}", shapes[0], shapes[1])));
    }
    for array in [one, other] {
        if !array.dtype().is_real() {
            return Err(Error::unsupported(format!(
                "a comparison of elements of the type {}",
                array.dtype()
            )));
        }
    }
    let size = one.dtype().size().max(other.dtype().size()).max(1);
    let shape = one.shape();
    task.set_total(limits::bytes(shape, one.dtype().size())?);
    let regions: Vec<Region> = pieces(shape, PIECE / size).collect();
    let parts: Vec<Difference> =
        regions.par_iter().map(|region| of_region(task, one, other, region)).collect::<Result<_>>()?;
    let total = parts.into_iter().fold(Difference::default(), Difference::merge);
    Ok(Difference { count: limits::elements(shape)?, ..total })
}

fn of_region(task: &Task, one: &dyn Array, other: &dyn Array, region: &Region) -> Result<Difference> {
    task.check()?;
    let values = |array: &dyn Array| -> Result<Vec<f64>> {
        let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
        let mut buffer = vec![0; limits::check(bytes, limits::CHUNK, "a part of the array")?];
        array.read(task, region, &mut buffer)?;
        let mut values = Vec::new();
        array.dtype().decode(&buffer, &mut values);
        Ok(values)
    };
    let (a, b) = (values(one)?, values(other)?);
    let index = |at: usize| -> Vec<u64> {
        let inside = unravel(at as u64, &region.shape());
        region.0.iter().zip(inside).map(|(span, n)| span.index(n)).collect()
    };
    let mut found = Difference::default();
    let mut largest: Option<(f64, usize)> = None;
    for (at, (a, b)) in a.iter().zip(&b).enumerate() {
        if !(a == b || a.is_nan() && b.is_nan()) {
            found.differing += 1;
            if found.first.is_none() {
                found.first = Some(index(at));
            }
        }
        if !a.is_finite() || !b.is_finite() {
            found.not_finite += 1;
            continue;
        }
        let gap = (a - b).abs();
        if largest.is_none_or(|(known, _)| gap > known) {
            largest = Some((gap, at));
        }
        found.squares += gap * gap;
        found.norms[0] += a * a;
        found.norms[1] += b * b;
        found.norms[2] += a * b;
    }
    found.largest = largest.map(|(gap, at)| (gap, index(at)));
    task.advance(limits::bytes(&region.shape(), one.dtype().size())?)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;

    fn array(dtype: DType, bytes: Vec<u8>, shape: &[u64]) -> Plain {
        Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap()
    }

    fn floats(values: &[f32]) -> Plain {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        array(DType::F32, bytes, &[2, values.len() as u64 / 2])
    }

    #[test]
    fn numbers_of_a_difference() {
        let one = floats(&[1.0, 2.0, f32::NAN, 4.0, f32::INFINITY, 6.0]);
        let other = floats(&[1.0, 2.5, f32::NAN, 1.0, 5.0, 6.0]);
        let found = difference(&Task::new(), &one, &other).unwrap();
        assert_eq!((found.count, found.differing, found.not_finite), (6, 3, 2));
        assert_eq!((found.first.clone(), found.largest.clone()), (Some(vec![0, 1]), Some((3.0, vec![1, 0]))));
        // Of the pairs (1, 1), (2, 2.5), (4, 1), (6, 6).
        assert!((found.rms().unwrap() - (9.25f64 / 4.0).sqrt()).abs() < 1e-12);
        assert!((found.relative().unwrap() - (9.25f64 / 57.0).sqrt()).abs() < 1e-12);
        let cosine = 46.0 / (57f64.sqrt() * 44.25f64.sqrt());
        assert!((found.cosine().unwrap() - cosine).abs() < 1e-12);
    }

    #[test]
    fn types_may_differ_and_shapes_may_not() {
        let one = array(DType::U8, vec![1, 2, 3, 4], &[2, 2]);
        let other = floats(&[1.0, 2.0, 3.0, 4.0]);
        let found = difference(&Task::new(), &one, &other).unwrap();
        assert_eq!((found.differing, found.largest.unwrap().0, found.first), (0, 0.0, None));
        let wide = array(DType::U8, vec![1, 2, 3, 4], &[4]);
        assert!(difference(&Task::new(), &one, &wide).is_err());
        let text = array(DType::Bytes(2), vec![0; 8], &[2, 2]);
        assert!(difference(&Task::new(), &one, &text).is_err());
    }

    #[test]
    fn pieces_are_put_together_in_order() {
        let values: Vec<f32> = (0..1_000_000).map(|n| n as f32).collect();
        let mut changed = values.clone();
        changed[700_000] += 64.0;
        changed[900_000] -= 32.0;
        let found = difference(&Task::new(), &floats(&values), &floats(&changed)).unwrap();
        assert_eq!((found.differing, found.first), (2, Some(vec![1, 200_000])));
        assert_eq!(found.largest, Some((64.0, vec![1, 200_000])));
    }
}
