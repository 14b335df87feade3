//! Where the texts of edges stand: beside their lines, on the side that the line turns to, and none on another.
use egui::{Align2, Pos2, Rect, pos2, vec2};
use std::collections::HashMap;

/// Width of a character and height of a line of the texts, in points.
const CHARACTER: [f32; 2] = [6.4, 14.0];
/// Between a line and its text.
const GAP: f32 = 6.0;
/// How far down a line its text may stand, as shares of the way; the first that is free is taken.
const SHARES: [f32; 5] = [0.5, 0.3, 0.7, 0.15, 0.85];
/// Beyond this many points below the beginning a line runs beside others; its text stands before.
const REACH: f32 = 80.0;
/// Side of the squares by which texts that lie near each other are found.
const CELL: f32 = 128.0;

/// The text of an edge, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct EdgeLabel {
    /// The end of the text that is at the line, at half of its height.
    pub(super) at: Pos2,
    /// Which end that is.
    pub(super) align: Align2,
    pub(super) text: String,
}

/// Places that are taken.
#[derive(Default)]
pub(super) struct Taken {
    cells: HashMap<[i32; 2], Vec<Rect>>,
}

impl Taken {
    /// The cells that a rectangle touches; texts are short, so that these are few.
    fn cells(rect: Rect) -> impl Iterator<Item = [i32; 2]> {
        let cell = |at: f32| (at / CELL).floor() as i32;
        let (left, right) = (cell(rect.left()), cell(rect.right()));
        (cell(rect.top())..=cell(rect.bottom())).flat_map(move |y| (left..=right).map(move |x| [x, y]))
    }

    fn is_free(&self, rect: Rect) -> bool {
        let taken = |cell| self.cells.get(&cell).into_iter().flatten().any(|other| other.intersects(rect));
        !Self::cells(rect).any(taken)
    }

    fn take(&mut self, rect: Rect) {
        for cell in Self::cells(rect) {
            self.cells.entry(cell).or_default().push(rect);
        }
    }

    /// Finds a place beside a line for its text; `None` where others stand at all of them.
    pub(super) fn place(&mut self, points: &[Pos2], text: String) -> Option<EdgeLabel> {
        let (first, last) = (points.first()?, points.last()?);
        let is_left = last.x < first.x - 1.0;
        let sides = if is_left {
            [Align2::RIGHT_CENTER, Align2::LEFT_CENTER]
        } else {
            [Align2::LEFT_CENTER, Align2::RIGHT_CENTER]
        };
        let size = vec2(text.chars().count() as f32 * CHARACTER[0], CHARACTER[1]);
        for align in sides {
            for share in SHARES {
                let on_line = beside(points, (last.y - first.y).clamp(0.0, REACH) * share);
                let gap = if align == Align2::RIGHT_CENTER { -GAP } else { GAP };
                let at = pos2(on_line.x + gap, on_line.y);
                let rect = align.anchor_size(at, size);
                if self.is_free(rect) {
                    self.take(rect);
                    return Some(EdgeLabel { at, align, text });
                }
            }
        }
        None
    }
}

/// The point of a line that lies so far below its beginning.
fn beside(points: &[Pos2], below: f32) -> Pos2 {
    let first = points.first().copied().unwrap_or_default();
    let y = first.y + below;
    let after = points.windows(2).find(|pair| pair[1].y >= y);
    let x = after.map_or(first.x, |pair| {
        let height = (pair[1].y - pair[0].y).max(f32::EPSILON);
        pair[0].x + (pair[1].x - pair[0].x) * ((y - pair[0].y) / height).clamp(0.0, 1.0)
    });
    pos2(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_two_ways_stand_beside_each_other() {
        let mut taken = Taken::default();
        let way = |x: f32| vec![pos2(100.0, 0.0), pos2(100.0 + x / 2.0, 20.0), pos2(100.0 + x, 40.0)];
        let left = taken.place(&way(-30.0), "petal width <= 0.8".into()).unwrap();
        let right = taken.place(&way(30.0), "petal width > 0.8".into()).unwrap();
        assert_eq!((left.align, right.align), (Align2::RIGHT_CENTER, Align2::LEFT_CENTER));
        assert!(left.at.x < 100.0 && right.at.x > 100.0);
        // The same way again finds another place, until there is none.
        let more: Vec<_> = (0..20).map_while(|_| taken.place(&way(30.0), "[?,10]".into())).collect();
        assert!(!more.is_empty() && more.len() < 20);
    }
}
