//! Grids in n dimensions: which cell has which number, and elements at regular distances, copied from one order of axes
//! into another: C, Fortran, any other, with gaps between rows. Distances are strides in bytes, as NumPy has them:
//! <https://numpy.org/doc/stable/reference/arrays.ndarray.html#internal-memory-layout-of-an-ndarray>.

/// One dimension of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// How many elements lie along it.
    pub count: u64,
    /// Bytes from one to the next where they come from.
    pub from: u64,
    /// Bytes from one to the next where they go to.
    pub to: u64,
}

/// Side of the squares in which two axes are walked together, so that what is near on either side stays in the
/// processor's cache; in elements.
const TILE: usize = 32;

/// The strides in bytes of elements of `size` bytes without gaps, whose axes stand in the order `axes`, the slowest
/// first; saturating, since an empty array may have huge sides.
pub fn dense(shape: &[u64], axes: &[usize], size: u64) -> Vec<u64> {
    let mut strides = vec![size; shape.len()];
    let mut product = size;
    for &axis in axes.iter().rev() {
        if let (Some(stride), Some(side)) = (strides.get_mut(axis), shape.get(axis)) {
            *stride = product;
            product = product.saturating_mul(*side);
        }
    }
    strides
}

/// How many parts of the sides `part` it takes along each dimension to cover `shape`.
pub fn counts(shape: &[u64], part: &[u64]) -> Vec<u64> {
    shape.iter().zip(part).map(|(len, side)| len.div_ceil((*side).max(1))).collect()
}

/// The coordinates of the `n`-th cell of `shape` in C order, as NumPy's `unravel_index`.
pub fn unravel(n: u64, shape: &[u64]) -> Vec<u64> {
    let (mut rest, mut index) = (n, shape.to_vec());
    for side in index.iter_mut().rev() {
        let len = (*side).max(1);
        (*side, rest) = (rest % len, rest / len);
    }
    index
}

/// The number of the cell at `index` of `shape` in C order, as NumPy's `ravel_multi_index`.
pub fn ravel(index: &[u64], shape: &[u64]) -> u64 {
    index.iter().zip(shape).fold(0, |n, (at, side)| n.wrapping_mul(*side).wrapping_add(*at))
}

/// The axes of C order, the slowest first.
pub fn c_order(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// The same copy in as few axes as possible, in the order of where the elements come from, the slowest first.
pub fn joined(axes: impl IntoIterator<Item = Axis>) -> Vec<Axis> {
    let mut axes: Vec<Axis> = axes.into_iter().filter(|axis| axis.count != 1).collect();
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.from));
    let mut joined: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes {
        let below = |stride: u64| stride.checked_mul(axis.count);
        match joined.last_mut() {
            Some(last) if below(axis.from) == Some(last.from) && below(axis.to) == Some(last.to) => {
                *last = Axis { count: last.count.saturating_mul(axis.count), ..axis };
            }
            _ => joined.push(axis),
        }
    }
    joined
}

/// The copy that brings a dense array into C order whose axes stand in the order `axes`, the slowest first; `None`
/// where nothing moves or `axes` is no permutation.
pub fn to_c_order(shape: &[u64], axes: &[usize], size: u64) -> Option<Vec<Axis>> {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if sorted != c_order(shape.len()) {
        return None;
    }
    let (from, to) = (dense(shape, axes, size), dense(shape, &sorted, size));
    let each = shape.iter().zip(from.iter().zip(&to));
    let axes = joined(each.map(|(&count, (&from, &to))| Axis { count, from, to }));
    axes.iter().any(|axis| axis.from != axis.to).then_some(axes)
}

/// Fills `out` with `element`, again and again.
pub fn fill(out: &mut [u8], element: &[u8]) {
    let first = element.first().copied().unwrap_or(0);
    match element.iter().all(|byte| *byte == first) {
        true => out.fill(first),
        false => out.chunks_exact_mut(element.len()).for_each(|place| place.copy_from_slice(element)),
    }
}

/// Copies `from`, a dense array of the shape `shape` with elements of `size` bytes, into `to`, one of the shape `whole`,
/// so that its first element comes to lie at `start`. What would lie beyond `whole` is left out.
pub fn paste(from: &[u8], shape: &[u64], to: &mut [u8], whole: &[u64], start: &[u64], size: usize) {
    let axes = c_order(whole.len());
    let (near, far) = (dense(shape, &axes, size as u64), dense(whole, &axes, size as u64));
    let first = start.iter().zip(&far).fold(0u64, |at, (n, step)| at.saturating_add(n.saturating_mul(*step)));
    let counts = shape.iter().zip(whole).zip(start).map(|((n, len), at)| (*n).min(len.saturating_sub(*at)));
    let each = counts.zip(near.iter().zip(&far));
    let axes = joined(each.map(|(count, (&from, &to))| Axis { count, from, to }));
    let to = usize::try_from(first).ok().and_then(|first| to.get_mut(first..));
    copy(from, to.unwrap_or_default(), &axes, size);
}

/// Copies elements of `size` bytes; `axes` as [`joined`] gives them. Elements that would lie beyond either side are
/// left out.
pub fn copy(from: &[u8], to: &mut [u8], axes: &[Axis], size: usize) {
    match size {
        1 => Copy::<1>(size).all(from, to, axes),
        2 => Copy::<2>(size).all(from, to, axes),
        3 => Copy::<3>(size).all(from, to, axes),
        4 => Copy::<4>(size).all(from, to, axes),
        8 => Copy::<8>(size).all(from, to, axes),
        16 => Copy::<16>(size).all(from, to, axes),
        _ => Copy::<0>(size).all(from, to, axes),
    }
}

/// A copy of elements of `N` bytes; 0 for any number, which is the field.
struct Copy<const N: usize>(usize);

impl<const N: usize> Copy<N> {
    fn all(&self, from: &[u8], to: &mut [u8], axes: &[Axis]) {
        // The axis that is near where elements come from, and the one that is near where they go.
        let (near, outer) = match axes {
            [] => return self.run(from, to, (1, self.0, self.0)),
            [one] => return self.run(from, to, distances(*one)),
            [outer @ .., near] => (distances(*near), outer),
        };
        let mut outer = outer.to_vec();
        let nearest = outer.iter().enumerate().min_by_key(|(_, axis)| axis.to).map(|(at, _)| at);
        let across = nearest.filter(|at| outer.get(*at).is_some_and(|axis| distance(axis.to) < near.2));
        let across = across.map(|at| distances(outer.remove(at)));
        walk(&outer, (0, 0), &mut |from_at, to_at| {
            let (from_at, to_at) = (distance(from_at), distance(to_at));
            let Some((columns, column_from, column_to)) = across else {
                return self.at(from, to, (from_at, to_at), near);
            };
            let (rows, row_from, row_to) = near;
            for (top, left) in tiles(rows, columns) {
                let count = TILE.min(columns - left);
                for row in top..rows.min(top + TILE) {
                    let place = (
                        from_at + row * row_from + left * column_from,
                        to_at + row * row_to + left * column_to,
                    );
                    self.at(from, to, place, (count, column_from, column_to));
                }
            }
        });
    }

    /// One axis from these places on.
    fn at(&self, from: &[u8], to: &mut [u8], at: (usize, usize), axis: (usize, usize, usize)) {
        if let (Some(from), Some(to)) = (from.get(at.0..), to.get_mut(at.1..)) {
            self.run(from, to, axis);
        }
    }

    fn run(&self, from: &[u8], to: &mut [u8], (count, from_step, to_step): (usize, usize, usize)) {
        let size = self.0;
        if from_step == size && to_step == size {
            let len = count.saturating_mul(size).min(from.len()).min(to.len());
            if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
                to.copy_from_slice(from);
            }
        } else if from_step < size {
            // Elements that share bytes: those of broadcast dimensions stand at one place.
            for (n, to) in to.chunks_mut(to_step.max(1)).take(count).enumerate() {
                let from = from.get(n.saturating_mul(from_step)..).and_then(|from| from.get(..size));
                if let (Some(to), Some(from)) = (to.get_mut(..size), from) {
                    to.copy_from_slice(from);
                }
            }
        } else if N > 0 && to_step == N {
            // The compiler knows the size: no call for each element.
            let to = to.as_chunks_mut::<N>().0.iter_mut().take(count);
            to.zip(from.chunks(from_step.max(1))).for_each(|(to, from)| {
                if let Some(from) = from.first_chunk::<N>() {
                    *to = *from;
                }
            });
        } else {
            let to = to.chunks_mut(to_step.max(1)).take(count);
            to.zip(from.chunks(from_step.max(1))).for_each(|(to, from)| {
                if let (Some(to), Some(from)) = (to.get_mut(..size), from.get(..size)) {
                    to.copy_from_slice(from);
                }
            });
        }
    }
}

/// The corners of all squares of `rows` × `columns`.
fn tiles(rows: usize, columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).step_by(TILE).flat_map(move |top| (0..columns).step_by(TILE).map(move |left| (top, left)))
}

fn distance(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn distances(axis: Axis) -> (usize, usize, usize) {
    (distance(axis.count), distance(axis.from), distance(axis.to))
}

/// Calls `each` with the two places of every index of `axes`, counted from `at`; the first axis is the slowest.
pub fn walk(axes: &[Axis], at: (u64, u64), each: &mut impl FnMut(u64, u64)) {
    match axes.split_first() {
        None => each(at.0, at.1),
        Some((axis, inner)) => {
            for n in 0..axis.count {
                let place = |at: u64, step: u64| at.saturating_add(n.saturating_mul(step));
                walk(inner, (place(at.0, axis.from), place(at.1, axis.to)), each);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A permutation of `0..count`, one of which each `seed` below its factorial names.
    pub(crate) fn order(count: usize, mut seed: usize) -> Vec<usize> {
        let mut order = c_order(count);
        for n in (1..count).rev() {
            order.swap(n, seed % (n + 1));
            seed /= n + 1;
        }
        order
    }

    proptest! {
        #[test]
        fn any_order_of_axes_becomes_c_order(
            shape in prop::collection::vec(1u64..40, 0..4), seed in 0usize..24, size in 1usize..18,
        ) {
            let order = order(shape.len(), seed);
            let strides = dense(&shape, &order, size as u64);
            let count: u64 = shape.iter().product();
            let stored: Vec<u8> = (0..count * size as u64).map(|n| (n % 251) as u8).collect();
            // The plain way: each element by its index.
            let mut places = vec![0u64];
            for (side, stride) in shape.iter().zip(&strides) {
                places = places.iter().flat_map(|at| (0..*side).map(move |n| at + n * stride)).collect();
            }
            let wanted: Vec<u8> = places.iter().flat_map(|at| stored[*at as usize..][..size].to_vec()).collect();
            let mut got = stored.clone();
            if let Some(axes) = to_c_order(&shape, &order, size as u64) {
                got.fill(0);
                copy(&stored, &mut got, &axes, size);
            }
            prop_assert_eq!(got, wanted);
        }

        #[test]
        fn nothing_outside_of_either_side_is_touched(
            axes in prop::collection::vec((0u64..50, 0u64..200, 1u64..200), 0..4), size in 1usize..18, len in 0usize..300,
        ) {
            let axes = joined(axes.into_iter().map(|(count, from, to)| Axis { count, from, to }));
            copy(&vec![1; len], &mut vec![0; 300 - len], &axes, size);
        }
    }

    proptest! {
        #[test]
        fn what_is_pasted_lies_where_it_should(
            sides in prop::collection::vec((1u64..6, 1u64..6, 0u64..6), 0..4), size in 1usize..5,
        ) {
            let side = |of: fn(&(u64, u64, u64)) -> u64| sides.iter().map(of).collect::<Vec<u64>>();
            let (shape, whole, start) = (side(|s| s.0), side(|s| s.1), side(|s| s.2));
            let count = |shape: &[u64]| shape.iter().product::<u64>();
            let from: Vec<u8> = (0..count(&shape) * size as u64).map(|n| (n % 250 + 1) as u8).collect();
            let mut got = vec![0; count(&whole) as usize * size];
            let mut wanted = got.clone();
            paste(&from, &shape, &mut got, &whole, &start, size);
            for n in 0..count(&shape) {
                let index = unravel(n, &shape);
                prop_assert_eq!(ravel(&index, &shape), n);
                let at: Vec<u64> = index.iter().zip(&start).map(|(n, start)| n + start).collect();
                if at.iter().zip(&whole).all(|(at, len)| at < len) {
                    let at = ravel(&at, &whole) as usize * size;
                    wanted[at..at + size].copy_from_slice(&from[n as usize * size..][..size]);
                }
            }
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn axes_that_are_no_permutation_are_refused() {
        assert!(to_c_order(&[2, 3], &[0, 0], 4).is_none() && to_c_order(&[2, 3], &[0, 2], 4).is_none());
        assert!(to_c_order(&[2, 3], &[0], 4).is_none());
        assert_eq!(to_c_order(&[2, 3], &[0, 1], 4), None, "nothing moves");
        assert_eq!(dense(&[2, 3, 4], &[2, 0, 1], 2), [6, 2, 12]);
    }
}
