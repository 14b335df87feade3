//! Where voxels lie: the affine matrix that attributes name, moved along where only a part of the array is written; else
//! what the axes say; else the indices themselves.

use super::super::affine::Affine;
use super::fields::{list, number, text};
use crate::data::content::array::Axis;
use crate::data::format::Attributes;
use serde_json::Value as Json;

/// Three rows of an affine matrix.
type Rows = [[f64; 4]; 3];

/// What a header says of places.
pub(super) struct Space {
    /// The sign of the third axis in a quaternion, then the distances along the dimensions.
    pub zooms: [f64; 8],
    pub qform_code: i32,
    pub sform_code: i32,
    /// The quaternion without its real part, and the place of the first voxel.
    pub turn: [f64; 3],
    pub shift: [f64; 3],
    pub sform: Rows,
    pub time_offset: f64,
}

/// All numbers in lists of lists.
pub(super) fn numbers(json: &Json) -> Vec<f64> {
    match json {
        Json::Array(items) => items.iter().flat_map(numbers).collect(),
        other => other.as_f64().into_iter().collect(),
    }
}

/// The code of a matrix that is said to hold, where no other one is named: aligned with something.
const ALIGNED: i32 = 2;

impl Space {
    pub(super) fn new(attributes: &Attributes, axes: &[Axis], shape: &[u64]) -> Self {
        let regular = |n: usize| axes.get(n).and_then(|axis| axis.regular);
        let code = |name: &str| number(attributes, name).map_or(0, |code| code as i32);
        let mut space = Space {
            zooms: [1.0; 8],
            qform_code: 0,
            sform_code: 0,
            turn: [0.0; 3],
            shift: [0.0; 3],
            sform: [[0.0; 4]; 3],
            time_offset: number(attributes, "toffset").unwrap_or(0.0),
        };
        let told = list(attributes, "affine", 16).map(|flat| rows(&flat));
        let zooms = list(attributes, "zooms", shape.len());
        let Some(told) = told else {
            space.of_axes(axes, shape.len());
            return space;
        };
        for (to, from) in space.zooms.iter_mut().skip(1).zip(zooms.unwrap_or_default()) {
            *to = from;
        }
        // The third dimension may be one that the array has not.
        let affine = moved(told, &mut space.zooms, regular);
        let is_cut = affine != told;
        if let Some((start, step)) = regular(3) {
            space.time_offset = start;
            space.zooms[4] = step;
        }
        match text(attributes, "affine from").as_deref() {
            Some("zooms") if !is_cut => {}
            Some("qform") => space.of_quaternion(affine, code("qform_code").max(1)),
            _ => {
                space.sform = affine;
                space.sform_code = code("sform_code").max(1);
                if code("qform_code") > 0 {
                    let other = list(attributes, "qform", 16).map(|flat| rows(&flat));
                    space.of_quaternion(other.filter(|_| !is_cut).unwrap_or(affine), code("qform_code"));
                }
            }
        }
        space
    }

    /// Places along the axes, where these are a start and a step; the indices where they are not.
    fn of_axes(&mut self, axes: &[Axis], rank: usize) {
        self.sform_code = ALIGNED;
        for n in 0..rank.min(7) {
            let (start, step) = axes.get(n).and_then(|axis| axis.regular).unwrap_or((0.0, 1.0));
            if let Some(zoom) = self.zooms.get_mut(n + 1) {
                *zoom = step.abs();
            }
            if n == 3 {
                self.time_offset = start;
            }
            if let Some(row) = self.sform.get_mut(n) {
                if let Some(place) = row.get_mut(n) {
                    *place = step;
                }
                row[3] = start;
            }
        }
        for (n, row) in self.sform.iter_mut().enumerate().skip(rank) {
            if let Some(place) = row.get_mut(n) {
                *place = 1.0;
            }
        }
    }

    /// The matrix as a quaternion, as far as it is a rotation.
    fn of_quaternion(&mut self, affine: Rows, code: i32) {
        self.qform_code = code;
        self.shift = affine.map(|row| row[3]);
        let columns: [[f64; 3]; 3] =
            std::array::from_fn(|column| affine.map(|row| row.get(column).copied().unwrap_or(0.0)));
        let mut turned = columns.map(unit);
        let flip = determinant(&turned) < 0.0;
        if flip {
            turned[2] = turned[2].map(|value| -value);
        }
        self.zooms[0] = if flip { -1.0 } else { 1.0 };
        self.turn = quaternion(&orthogonal(turned));
    }
}

fn rows(flat: &[f64]) -> Rows {
    std::array::from_fn(|row| std::array::from_fn(|n| flat.get(row * 4 + n).copied().unwrap_or(0.0)))
}

/// A matrix for a part of the array: `regular` says where along each index the part begins and how it goes on.
fn moved(affine: Rows, zooms: &mut [f64; 8], regular: impl Fn(usize) -> Option<(f64, f64)>) -> Rows {
    let whole = Affine(affine);
    let mut out = affine;
    for n in 0..3 {
        let (Some((start, step)), Some(zoom)) = (regular(n), zooms.get(n + 1).copied()) else { continue };
        let (first, each) = whole.along(n).map_or((0.0, zoom), |(_, first, each)| (first, each));
        if each == 0.0 || (start, step) == (first, each) {
            continue;
        }
        let (index, factor) = ((start - first) / each, step / each);
        for (row, from) in out.iter_mut().zip(&affine) {
            let column = from.get(n).copied().unwrap_or(0.0);
            row[3] += column * index;
            if let Some(place) = row.get_mut(n) {
                *place = column * factor;
            }
        }
        if let Some(place) = zooms.get_mut(n + 1) {
            *place = zoom * factor.abs();
        }
    }
    out
}

fn unit(column: [f64; 3]) -> [f64; 3] {
    let length = column.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length > 0.0 { column.map(|value| value / length) } else { column }
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn determinant([a, b, c]: &[[f64; 3]; 3]) -> f64 {
    a.iter().zip(cross(b, c)).map(|(x, y)| x * y).sum()
}

/// The rotation that is nearest to three columns: the mean of the matrix and its inverse's transpose, again and again
/// (polar decomposition by Newton's method).
fn orthogonal(mut columns: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    for _ in 0..50 {
        let [a, b, c] = &columns;
        let volume = determinant(&columns);
        if volume.abs() < 1e-12 {
            return columns;
        }
        let inverse = [cross(b, c), cross(c, a), cross(a, b)].map(|column| column.map(|v| v / volume));
        let mut change = 0f64;
        for (column, other) in columns.iter_mut().zip(&inverse) {
            for (value, other) in column.iter_mut().zip(other) {
                let mean = (*value + other) / 2.0;
                change = change.max((mean - *value).abs());
                *value = mean;
            }
        }
        if change < 1e-15 {
            break;
        }
    }
    columns
}

/// The quaternion of a rotation, without its real part, which is not negative.
fn quaternion([x, y, z]: &[[f64; 3]; 3]) -> [f64; 3] {
    let trace = x[0] + y[1] + z[2] + 1.0;
    if trace > 0.5 {
        let a = trace.sqrt() / 2.0;
        return [(y[2] - z[1]) / (4.0 * a), (z[0] - x[2]) / (4.0 * a), (x[1] - y[0]) / (4.0 * a)];
    }
    let sides = [1.0 + x[0] - y[1] - z[2], 1.0 + y[1] - x[0] - z[2], 1.0 + z[2] - x[0] - y[1]];
    let (real, turn) = if sides[0] > 1.0 {
        let b = sides[0].sqrt() / 2.0;
        (y[2] - z[1], [b, (x[1] + y[0]) / (4.0 * b), (x[2] + z[0]) / (4.0 * b)])
    } else if sides[1] > 1.0 {
        let c = sides[1].sqrt() / 2.0;
        (z[0] - x[2], [(x[1] + y[0]) / (4.0 * c), c, (y[2] + z[1]) / (4.0 * c)])
    } else {
        let d = sides[2].sqrt() / 2.0;
        (x[1] - y[0], [(x[2] + z[0]) / (4.0 * d), (y[2] + z[1]) / (4.0 * d), d])
    };
    if real < 0.0 { turn.map(|value| -value) } else { turn }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quaternions_are_those_of_their_matrices(b in -1.0f64..1.0, c in -1.0f64..1.0, d in -1.0f64..1.0, flip: bool) {
            let length = (b * b + c * c + d * d).sqrt();
            // With a real part of its own.
            let shrink = if length > 1.0 { 0.99 / length } else { 1.0 };
            let turn = [b * shrink, c * shrink, d * shrink];
            let flip = if flip { -1.0 } else { 1.0 };
            let affine = Affine::of_quaternion(turn, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], flip, 1e-7);
            let mut space = Space {
                zooms: [1.0; 8],
                qform_code: 0,
                sform_code: 0,
                turn: [0.0; 3],
                shift: [0.0; 3],
                sform: [[0.0; 4]; 3],
                time_offset: 0.0,
            };
            space.of_quaternion(affine.0, 1);
            let back = Affine::of_quaternion(space.turn, [1.0, 2.0, 3.0], space.shift, space.zooms[0], 1e-7);
            for (a, b) in affine.0.iter().flatten().zip(back.0.iter().flatten()) {
                prop_assert!((a - b).abs() < 1e-6, "{affine:?} {back:?}");
            }
        }
    }

    #[test]
    fn a_part_of_an_array_keeps_its_place() {
        let affine = [[0.0, -2.0, 0.0, 10.0], [3.0, 0.0, 0.0, 20.0], [0.0, 0.0, 4.0, 30.0]];
        let mut zooms = [1.0, 3.0, 2.0, 4.0, 1.0, 1.0, 1.0, 1.0];
        // From the second index on, every third one.
        let along = |n: usize| [Some((23.0, 9.0)), Some((10.0, -2.0)), Some((30.0, 4.0))][n];
        let got = moved(affine, &mut zooms, along);
        assert_eq!(got, [[0.0, -2.0, 0.0, 10.0], [9.0, 0.0, 0.0, 23.0], [0.0, 0.0, 4.0, 30.0]]);
        assert_eq!(zooms[..4], [1.0, 9.0, 2.0, 4.0]);
    }
}
