//! A turn by quarters and a mirror: how a plane is seen.

use serde::{Deserialize, Serialize};

/// A turn by quarters and a mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Orientation {
    /// Quarters clockwise, after the mirror.
    pub quarters: u8,
    /// Left and right are swapped first.
    pub mirror: bool,
}

impl Orientation {
    /// The one that brings a picture the right way up of which the file says one of eight numbers, as the tag
    /// *Orientation* of TIFF 6.0 and EXIF 2.32 has them; as stored for other numbers.
    pub fn of_exif(number: u32) -> Self {
        let (mirror, quarters) = match number {
            2 => (true, 0),
            3 => (false, 2),
            4 => (true, 2),
            5 => (true, 3),
            6 => (false, 1),
            7 => (true, 1),
            8 => (false, 3),
            _ => (false, 0),
        };
        Orientation { quarters, mirror }
    }

    /// A quarter clockwise.
    pub fn clockwise(&mut self) {
        self.quarters = (self.quarters + 1) % 4;
    }

    /// A quarter the other way.
    pub fn back(&mut self) {
        self.quarters = (self.quarters + 3) % 4;
    }

    /// Left and right swapped, as seen.
    pub fn flip_horizontal(&mut self) {
        self.mirror = !self.mirror;
        self.quarters = (4 - self.quarters % 4) % 4;
    }

    /// Top and bottom swapped, as seen.
    pub fn flip_vertical(&mut self) {
        self.flip_horizontal();
        self.quarters = (self.quarters + 2) % 4;
    }

    /// This one, and then another.
    pub fn then(mut self, next: Orientation) -> Orientation {
        if next.mirror {
            self.flip_horizontal();
        }
        self.quarters = (self.quarters + next.quarters) % 4;
        self
    }

    /// The size as seen.
    pub fn size<T: Copy>(self, size: [T; 2]) -> [T; 2] {
        if self.quarters % 2 == 1 { [size[1], size[0]] } else { size }
    }

    /// Where a point of a plane of this size is seen.
    pub fn forward(self, size: [f64; 2], [x, y]: [f64; 2]) -> [f64; 2] {
        let [w, h] = size;
        let x = if self.mirror { w - x } else { x };
        match self.quarters % 4 {
            0 => [x, y],
            1 => [h - y, x],
            2 => [w - x, h - y],
            _ => [y, w - x],
        }
    }

    /// The point of the plane that is seen there.
    pub fn inverse(self, size: [f64; 2], [x, y]: [f64; 2]) -> [f64; 2] {
        let [w, h] = size;
        let [x, y] = match self.quarters % 4 {
            0 => [x, y],
            1 => [y, h - x],
            2 => [w - x, h - y],
            _ => [w - y, x],
        };
        [if self.mirror { w - x } else { x }, y]
    }

    /// A step across and down the screen as one of the plane.
    pub fn step(self, [across, down]: [i64; 2]) -> [i64; 2] {
        let [x, y] = match self.quarters % 4 {
            0 => [across, down],
            1 => [down, -across],
            2 => [-across, -down],
            _ => [-down, across],
        };
        [if self.mirror { -x } else { x }, y]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orientations_of_exif_bring_the_first_pixel_where_they_say() {
        // Where the stored upper left corner is seen: EXIF 2.32, table of tag 274.
        let corners = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0], [1, 0], [1, 1], [0, 1]];
        for (number, corner) in (1..).zip(corners) {
            let orientation = Orientation::of_exif(number);
            let seen = orientation.forward([1.0, 1.0], [0.0, 0.0]).map(|at| at as i32);
            assert_eq!(seen, corner, "{number}");
            assert_eq!(orientation.quarters % 2 == 1, number > 4, "{number}");
        }
    }

    #[test]
    fn flips_are_what_is_seen() {
        let mut turn = Orientation::default();
        turn.clockwise();
        turn.flip_horizontal();
        // Turned clockwise the first row stands at the right; flipped it stands at the left.
        assert_eq!(turn.forward([80.0, 30.0], [0.0, 0.0]), [0.0, 0.0]);
        turn.flip_vertical();
        assert_eq!(turn.forward([80.0, 30.0], [0.0, 0.0]), [0.0, 80.0]);
    }

    #[test]
    fn one_after_the_other_is_both() {
        let all = || (0..8u8).map(|n| Orientation { quarters: n % 4, mirror: n > 3 });
        let size = [80.0, 30.0];
        for first in all() {
            for next in all() {
                let both = first.then(next);
                for point in [[3.0, 4.0], [70.0, 29.0]] {
                    let step = next.forward(first.size(size), first.forward(size, point));
                    assert_eq!(both.forward(size, point), step, "{first:?} {next:?}");
                    assert_eq!(both.inverse(size, step), point);
                }
            }
            // A step to the right is one where the screen goes to the right.
            let [x, y] = first.step([1, 0]);
            let (from, to) = ([10.0, 10.0], [10.0 + x as f64, 10.0 + y as f64]);
            let (from, to) = (first.forward(size, from), first.forward(size, to));
            assert_eq!([to[0] - from[0], to[1] - from[1]], [1.0, 0.0], "{first:?}");
        }
    }
}
