//! What MATLAB's files of any version share.

use crate::bytes::strides;

/// What follows a name in the path of what lies below it: `s.a`, `c{1}`, `s(2)`.
pub const BOUNDARIES: &[char] = &['.', '{', '(', '/'];

/// The place of an element in MATLAB's notation: `3`, or `2,1` where there are rows and columns.
pub fn place(index: u64, shape: &[u64]) -> String {
    if shape.iter().filter(|side| **side != 1).count() < 2 {
        return (index + 1).to_string();
    }
    // The first dimension is the fastest.
    let sides: Vec<u64> = shape.iter().rev().copied().collect();
    let places = strides::unravel(index, &sides);
    places.iter().rev().map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(",")
}
