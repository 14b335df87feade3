//! Chunks whose dimensions are stored in another order: Fortran order and the codec `transpose`.

/// A stored chunk, in the order in which its dimensions become the array's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transpose {
    /// For each delivered dimension: its length, and the distance of its elements in the stored chunk.
    axes: Vec<(usize, usize)>,
}

impl Transpose {
    /// `shape` is that of the delivered chunk; dimension `order[i]` of it is the stored dimension `i`. `None`
    /// where nothing moves, or `order` is no permutation.
    pub(super) fn new(shape: &[u64], order: &[usize]) -> Option<Self> {
        let mut axes: Vec<(usize, usize)> = shape.iter().map(|&len| (len as usize, 0)).collect();
        let mut stride = 1usize;
        for &axis in order.iter().rev() {
            let (len, distance) = axes.get_mut(axis)?;
            *distance = stride;
            stride = stride.saturating_mul(*len);
        }
        // A dimension of length one moves nothing.
        axes.retain(|(len, _)| *len != 1);
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (len, distance) in axes {
            match joined.last_mut() {
                Some(last) if last.1 == distance.saturating_mul(len) => *last = (last.0 * len, distance),
                _ => joined.push((len, distance)),
            }
        }
        let plain = matches!(joined.as_slice(), [] | [(_, 1)]);
        (!plain).then_some(Transpose { axes: joined })
    }

    /// The elements of `size` bytes of a stored chunk in the delivered order. The chunk has as many elements
    /// as the shape.
    pub(super) fn apply(&self, stored: &[u8], size: usize) -> Vec<u8> {
        let mut out = vec![0; stored.len()];
        match size {
            1 => self.moved::<1>(stored, &mut out),
            2 => self.moved::<2>(stored, &mut out),
            4 => self.moved::<4>(stored, &mut out),
            8 => self.moved::<8>(stored, &mut out),
            16 => self.moved::<16>(stored, &mut out),
            _ => self.each(|to, from, len, distance| {
                for n in 0..len {
                    let from = stored.get((from + n * distance) * size..).and_then(|b| b.get(..size));
                    let to = out.get_mut((to + n) * size..).and_then(|b| b.get_mut(..size));
                    if let (Some(from), Some(to)) = (from, to) {
                        to.copy_from_slice(from);
                    }
                }
            }),
        }
        out
    }

    fn moved<const N: usize>(&self, stored: &[u8], out: &mut [u8]) {
        let (from_all, to_all) = (stored.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
        self.each(|to, from, len, distance| {
            let (Some(to), Some(from)) = (to_all.get_mut(to..to + len), from_all.get(from..)) else { return };
            if distance == 1 {
                if let Some(from) = from.get(..len) {
                    to.copy_from_slice(from);
                }
            } else {
                to.iter_mut().zip(from.iter().step_by(distance)).for_each(|(to, from)| *to = *from);
            }
        });
    }

    /// Calls `run` with runs of the last dimension: their start in the result and in the chunk, their length,
    /// and the distance of their elements in the chunk. Where the last dimension is far apart in the chunk,
    /// it is walked in tiles together with the one that is near, so that both sides stay in the cache.
    fn each(&self, mut run: impl FnMut(usize, usize, usize, usize)) {
        const TILE: usize = 32;
        let Some((&(last, distance), outer)) = self.axes.split_last() else { return };
        // Distances in the result.
        let mut strides = vec![last; outer.len()];
        for axis in (0..outer.len().saturating_sub(1)).rev() {
            let next = strides.get(axis + 1).copied().unwrap_or(1);
            let len = outer.get(axis + 1).map_or(1, |axis| axis.0);
            if let Some(stride) = strides.get_mut(axis) {
                *stride = next.saturating_mul(len);
            }
        }
        let mut dims: Vec<(usize, usize, usize)> =
            outer.iter().zip(&strides).map(|(&(len, from), &to)| (len, from, to)).collect();
        if distance == 1 {
            walk(&dims, 0, 0, &mut |to, from| run(to, from, last, 1));
            return;
        }
        let near = dims.iter().position(|&(_, from, _)| from == 1);
        let near = near.map(|at| dims.remove(at));
        walk(&dims, 0, 0, &mut |to, from| {
            let (rows, _, row) = near.unwrap_or((1, 0, 0));
            for top in (0..rows).step_by(TILE) {
                for left in (0..last).step_by(TILE) {
                    for y in top..rows.min(top + TILE) {
                        let len = TILE.min(last - left);
                        run(to + y * row + left, from + y + left * distance, len, distance);
                    }
                }
            }
        });
    }
}

/// Every index of `dims` (length, distance in the chunk, distance in the result), the first one slowest.
fn walk(dims: &[(usize, usize, usize)], to: usize, from: usize, each: &mut dyn FnMut(usize, usize)) {
    match dims.split_first() {
        None => each(to, from),
        Some((&(len, in_chunk, in_result), rest)) => {
            for n in 0..len {
                walk(rest, to + n * in_result, from + n * in_chunk, each);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The plain way: each element by its index.
    fn expected(shape: &[usize], order: &[usize], stored: &[u16]) -> Vec<u16> {
        let mut strides = vec![0; shape.len()];
        let mut stride = 1;
        for &axis in order.iter().rev() {
            strides[axis] = stride;
            stride *= shape[axis];
        }
        let mut places = vec![0];
        for (axis, &len) in shape.iter().enumerate() {
            places = places
                .iter()
                .flat_map(|&at| (0..len).map(move |n| (at, n)))
                .map(|(at, n)| at + n * strides[axis])
                .collect();
        }
        places.into_iter().map(|at| stored[at]).collect()
    }

    proptest! {
        #[test]
        fn any_order_of_any_shape(shape in prop::collection::vec(1usize..40, 1..4), seed in 0usize..24) {
            let mut order: Vec<usize> = (0..shape.len()).collect();
            let mut rest = seed;
            for n in (1..order.len()).rev() {
                order.swap(n, rest % (n + 1));
                rest /= n + 1;
            }
            let count: usize = shape.iter().product();
            let stored: Vec<u16> = (0..count).map(|n| n as u16).collect();
            let bytes: Vec<u8> = stored.iter().flat_map(|n| n.to_le_bytes()).collect();
            let sides: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
            let got = match Transpose::new(&sides, &order) {
                Some(transpose) => transpose.apply(&bytes, 2),
                None => bytes,
            };
            let want: Vec<u8> = expected(&shape, &order, &stored).iter().flat_map(|n| n.to_le_bytes()).collect();
            prop_assert_eq!(got, want);
        }
    }
}
