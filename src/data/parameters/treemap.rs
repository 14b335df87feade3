//! Groups of tensors as a treemap: rectangles in rectangles, their areas the parameters. Rows of tiles are squarified
//! (Bruls, Huizing and van Wijk, *Squarified Treemaps*, 2000, <https://doi.org/10.1007/978-3-7091-6783-0_4>).

use super::groups::Groups;

/// A rectangle: left, top, width, height.
pub type Area = [f32; 4];

/// A row of the groups, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// The row.
    pub row: usize,
    /// Its place.
    pub area: Area,
    /// Whether what lies in it has tiles of its own, drawn over this one; else it is to be filled.
    pub divided: bool,
    /// The height at its top that is left for its name; 0 where there is none.
    pub head: f32,
}

/// Smaller tiles are not divided.
const SMALL: f32 = 6.0;
/// The size from which a group has a head, and the height of that.
const HEADED: [f32; 2] = [72.0, 44.0];
const HEAD: f32 = 15.0;
/// Free on each side of a tile.
const GAP: f32 = 1.0;

/// Lays out all groups in an area, in at most `most` tiles; groups come before what lies in them.
pub fn tiles(groups: &Groups, area: Area, most: usize) -> Vec<Tile> {
    let mut out = Vec::new();
    let mut waiting = vec![(None, area)];
    while let Some((row, area)) = waiting.pop() {
        let mut children: Vec<usize> = groups.children(row).to_vec();
        let size = |row: &usize| groups.rows().get(*row).map_or(0, |row| row.parameters);
        children.retain(|row| size(row) > 0);
        children.sort_by_key(|row| std::cmp::Reverse(size(row)));
        let sizes: Vec<f64> = children.iter().map(|row| size(row) as f64).collect();
        for (child, area) in children.into_iter().zip(squarified(&sizes, area)) {
            if out.len() >= most {
                return out;
            }
            let [x, y, width, height] = area;
            let inner = [x + GAP, y + GAP, width - 2.0 * GAP, height - 2.0 * GAP];
            let is_group = !groups.children(Some(child)).is_empty();
            let divided = is_group && width.min(height) >= SMALL;
            let head = if divided && width >= HEADED[0] && height >= HEADED[1] { HEAD } else { 0.0 };
            out.push(Tile { row: child, area, divided, head });
            if divided {
                waiting.push((Some(child), [inner[0], inner[1] + head, inner[2], inner[3] - head]));
            }
        }
    }
    out
}

/// Divides an area into tiles of these sizes, which do not increase, each as near to a square as comes of rows.
pub fn squarified(sizes: &[f64], area: Area) -> Vec<Area> {
    let mut out = Vec::with_capacity(sizes.len());
    let [mut x, mut y, mut width, mut height] = area.map(f64::from);
    let mut left: f64 = sizes.iter().sum();
    let mut start = 0;
    while start < sizes.len() {
        let side = width.min(height);
        let scale = if left > 0.0 { width * height / left } else { 0.0 };
        let count = row_length(sizes.get(start..).unwrap_or_default(), side, scale);
        let row = sizes.get(start..start + count).unwrap_or_default();
        let sum: f64 = row.iter().sum();
        let depth = if side > 0.0 { (sum * scale / side).min(width.max(height)) } else { 0.0 };
        let across = width >= height;
        let mut at = if across { y } else { x };
        for size in row {
            let length = if sum > 0.0 { side * size / sum } else { 0.0 };
            let tile = if across { [x, at, depth, length] } else { [at, y, length, depth] };
            out.push(tile.map(|value| value as f32));
            at += length;
        }
        match across {
            true => (x, width) = (x + depth, (width - depth).max(0.0)),
            false => (y, height) = (y + depth, (height - depth).max(0.0)),
        }
        left -= sum;
        start += count;
    }
    out
}

/// How many of the sizes stand in one row along a side: as many as make its worst tile better.
fn row_length(sizes: &[f64], side: f64, scale: f64) -> usize {
    let (mut sum, mut worst) = (0.0, f64::INFINITY);
    let largest = sizes.first().copied().unwrap_or_default() * scale;
    for (n, size) in sizes.iter().enumerate() {
        sum += size * scale;
        let smallest = size * scale;
        let ratio = (side * side * largest / (sum * sum)).max(sum * sum / (side * side * smallest));
        if n > 0 && (ratio > worst || ratio.is_nan()) {
            return n;
        }
        worst = ratio;
    }
    sizes.len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_paper() {
        let tiles = squarified(&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], [0.0, 0.0, 6.0, 4.0]);
        let near = |a: Area, b: Area| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(near(tiles[0], [0.0, 0.0, 3.0, 2.0]), "{tiles:?}");
        assert!(near(tiles[1], [0.0, 2.0, 3.0, 2.0]), "{tiles:?}");
        // Then 4 and 3 side by side, above the rest.
        assert!(near(tiles[2], [3.0, 0.0, 12.0 / 7.0, 7.0 / 3.0]), "{tiles:?}");
        assert!(near(tiles[3], [3.0 + 12.0 / 7.0, 0.0, 9.0 / 7.0, 7.0 / 3.0]), "{tiles:?}");
    }

    proptest! {
        #[test]
        fn tiles_fill_the_area_and_do_not_overlap(
            mut sizes in proptest::collection::vec(0.01f64..1e9, 1..40),
            width in 1f32..2000.0,
            height in 1f32..2000.0,
        ) {
            sizes.sort_by(|a, b| b.total_cmp(a));
            let tiles = squarified(&sizes, [3.0, 5.0, width, height]);
            prop_assert_eq!(tiles.len(), sizes.len());
            let total: f64 = sizes.iter().sum();
            let whole = f64::from(width) * f64::from(height);
            for (n, ([x, y, w, h], size)) in tiles.iter().copied().zip(&sizes).enumerate() {
                let (area, wanted) = (f64::from(w) * f64::from(h), size / total * whole);
                prop_assert!((area - wanted).abs() <= 1e-3 * wanted + 1e-3 * whole.sqrt(), "{n}: {area} {wanted}");
                prop_assert!(x >= 2.99 && y >= 4.99 && x + w <= width + 3.1 && y + h <= height + 5.1);
            }
        }
    }
}
