//! The affine matrix: from indices to places in space.

use crate::data::axes::Heading;

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

impl Affine {
    /// The direction of space that each index leads along most, and whether forward: as nibabel's `io_orientation`, of
    /// the rotation that is closest to the matrix; each direction is given once, the clearest first. `None` where an
    /// index leads nowhere.
    pub(super) fn headings(&self) -> [Option<Heading>; 3] {
        let column = |n: usize| self.0.map(|row| row.get(n).copied().unwrap_or(0.0));
        let unit = [0, 1, 2].map(|n| {
            let column = column(n);
            let length = column.iter().map(|step| step * step).sum::<f64>().sqrt();
            column.map(|step| if length > 0.0 && length.is_finite() { step / length } else { 0.0 })
        });
        let turned = closest_rotation(unit);
        let strength = |column: &[f64; 3]| column.iter().fold(0.0f64, |most, step| most.max(step.abs()));
        let mut order = [0usize, 1, 2];
        let strengths = turned.map(|column| strength(&column));
        order.sort_by(|a, b| {
            let of = |n: &usize| strengths.get(*n).copied().unwrap_or(0.0);
            of(b).total_cmp(&of(a))
        });
        let (mut found, mut free) = ([None; 3], [true; 3]);
        for index in order {
            let Some(column) = turned.get(index) else { continue };
            let ways =
                column.iter().zip(free).enumerate().filter(|(_, (step, free))| *free && step.abs() > 1e-8);
            let best = ways.max_by(|(a, (x, _)), (b, (y, _))| x.abs().total_cmp(&y.abs()).then(b.cmp(a)));
            let Some((direction, (step, _))) = best else { continue };
            if let (Some(found), Some(free)) = (found.get_mut(index), free.get_mut(direction)) {
                (*found, *free) = (Heading::in_body(direction, *step > 0.0), false);
            }
        }
        found
    }
}

/// The orthogonal matrix closest to one given by its columns (its polar decomposition, by Newton's iteration); the
/// matrix itself where it has no inverse.
fn closest_rotation(columns: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let cross = |[a, b, c]: [f64; 3], [x, y, z]: [f64; 3]| [b * z - c * y, c * x - a * z, a * y - b * x];
    let mut now = columns;
    for _ in 0..50 {
        let [x, y, z] = now;
        let volume: f64 = x.iter().zip(cross(y, z)).map(|(a, b)| a * b).sum();
        if volume.abs() < 1e-9 || !volume.is_finite() {
            return columns;
        }
        // The columns of the inverse, transposed.
        let inverse = [cross(y, z), cross(z, x), cross(x, y)];
        for (column, inverse) in now.iter_mut().zip(inverse) {
            for (step, inverse) in column.iter_mut().zip(inverse) {
                *step = (*step + inverse / volume) / 2.0;
            }
        }
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_those_of_nibabel() {
        // nibabel.aff2axcodes of random rotations, half of them sheared, and of two that have ties.
        let known: [([[f64; 3]; 3], &str); 16] = [
            ([[-3.02, -0.51, -0.83], [1.58, -2.48, -0.29], [-2.08, -1.15, 0.99]], "LPS"),
            ([[-0.67, 2.69, 0.05], [-1.21, -1.83, -0.16], [-0.44, -1.69, 0.75]], "PRS"),
            ([[-0.25, -0.78, -2.82], [-0.91, -0.9, 1.54], [-0.93, 1.1, -0.74]], "IPL"),
            ([[-0.05, 0.57, 2.35], [0.37, -3.55, 0.83], [1.86, 1.28, 0.16]], "SPR"),
            ([[-1.69, 0.08, -2.71], [3.27, -1.04, -1.32], [-0.92, -3.83, 0.3]], "AIL"),
            ([[-0.94, 0.14, 1.11], [1.11, -0.18, 1.74], [1.24, 0.47, 0.07]], "LSA"),
            ([[-0.86, -1.17, 1.16], [0.29, -0.88, -1.65], [3.41, -0.22, 0.43]], "SLP"),
            ([[-2.07, -0.21, -2.94], [1.44, -1.46, -0.8], [-2.44, -0.82, 1.35]], "IPL"),
            ([[-1.17, -0.85, -3.32], [-2.46, -0.78, 1.76], [-0.95, 3.04, -0.47]], "PSL"),
            ([[-0.02, 1.41, -0.51], [-1.61, -0.1, 0.0], [-0.05, 1.73, 0.45]], "PSL"),
            ([[-0.19, -3.64, -0.49], [2.69, 0.42, -0.75], [1.56, -1.17, 1.24]], "ALS"),
            ([[-0.91, 0.62, 1.51], [0.08, -2.65, 1.23], [0.74, 0.94, 1.25]], "LPS"),
            ([[-1.03, 2.72, 2.19], [-2.08, -2.3, 0.51], [1.18, -1.68, 2.83]], "PRS"),
            ([[-2.23, 0.16, 0.05], [-0.42, -0.61, 1.69], [0.12, 0.59, 2.77]], "LPS"),
            ([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 2.0]], "RPS"),
            ([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], "PSR"),
        ];
        for (rows, codes) in known {
            let affine = Affine(rows.map(|[i, j, k]| [i, j, k, 0.0]));
            let found: String =
                affine.headings().iter().flatten().map(|heading| format!("{heading:?}").remove(0)).collect();
            assert_eq!(found, codes, "{rows:?}");
        }
        // A slice without thickness leads nowhere along its third index.
        let flat = Affine([[1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0; 4]]);
        assert_eq!(flat.headings(), [Some(Heading::Right), Some(Heading::Posterior), None]);
        assert_eq!(Affine([[f64::NAN; 4]; 3]).headings(), [None; 3]);
    }

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
