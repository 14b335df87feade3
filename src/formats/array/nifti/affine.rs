//! The affine matrix: from indices to places in space.

/// Three rows of four numbers: place = M · index + shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Affine(pub [[f64; 4]; 3]);

impl Affine {
    /// From a quaternion without its real part, the lengths of voxels and the place of the first one.
    /// `flip` is 1, or -1 where the third axis is turned round; `least` is what rounding may leave where the
    /// real part is nothing.
    pub(super) fn of_quaternion(
        turn: [f64; 3],
        zooms: [f64; 3],
        shift: [f64; 3],
        flip: f64,
        least: f64,
    ) -> Self {
        let [b, c, d] = turn;
        let rest = 1.0 - (b * b + c * c + d * d);
        let a = if rest > least { rest.sqrt() } else { 0.0 };
        // Rounding may leave the length a little off one.
        let length = a * a + b * b + c * c + d * d;
        let twice = if length > 0.0 { 2.0 / length } else { 0.0 };
        let turned = [
            [1.0 - twice * (c * c + d * d), twice * (b * c - a * d), twice * (b * d + a * c)],
            [twice * (b * c + a * d), 1.0 - twice * (b * b + d * d), twice * (c * d - a * b)],
            [twice * (b * d - a * c), twice * (c * d + a * b), 1.0 - twice * (b * b + c * c)],
        ];
        let [x, y, z] = zooms;
        let row = |[a, b, c]: [f64; 3], shift: f64| [a * x, b * y, c * z * flip, shift];
        Affine([row(turned[0], shift[0]), row(turned[1], shift[1]), row(turned[2], shift[2])])
    }

    /// Voxels along the axes, the one at `middle` at the origin, the first axis turned round: what nibabel takes
    /// where the file says nothing.
    pub(super) fn of_zooms(middle: [f64; 3], zooms: [f64; 3]) -> Self {
        let [x, y, z] = [-zooms[0], zooms[1], zooms[2]];
        let [i, j, k] = middle;
        Affine([[x, 0.0, 0.0, -i * x], [0.0, y, 0.0, -j * y], [0.0, 0.0, z, -k * z]])
    }

    /// All four rows.
    pub(super) fn rows(&self) -> [[f64; 4]; 4] {
        let [x, y, z] = self.0;
        [x, y, z, [0.0, 0.0, 0.0, 1.0]]
    }

    /// The direction in space (0 to 2) that an index goes along alone, with start and step; `None` where it
    /// goes along none or not alone.
    pub(super) fn along(&self, index: usize) -> Option<(usize, f64, f64)> {
        let mut found = None;
        for (direction, row) in self.0.iter().enumerate() {
            let step = *row.get(index)?;
            if step == 0.0 {
                continue;
            }
            let others = row.iter().take(3).enumerate().any(|(n, step)| n != index && *step != 0.0);
            if others || found.is_some() || !step.is_finite() {
                return None;
            }
            found = Some((direction, row[3], step));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quaternions_turn() {
        let none = Affine::of_quaternion([0.0; 3], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], -1.0, 1e-7);
        assert_eq!(none.0, [[1.0, 0.0, 0.0, 4.0], [0.0, 2.0, 0.0, 5.0], [0.0, 0.0, -3.0, 6.0]]);
        assert_eq!(none.along(2), Some((2, 6.0, -3.0)));
        // A half turn about the third axis.
        let half = Affine::of_quaternion([0.0, 0.0, 1.0], [1.0; 3], [0.0; 3], 1.0, 1e-7);
        assert_eq!(half.0[0], [-1.0, 0.0, 0.0, 0.0]);
        let slant = Affine([[1.0, 0.1, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]);
        assert_eq!((slant.along(0), slant.along(2)), (None, Some((2, 0.0, 1.0))));
    }
}
