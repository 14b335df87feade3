//! Shapes on pictures: masks as lengths of runs, polygons, and a layer of colours that both are painted into.
//!
//! Runs are COCO's: they go down the columns, the first one is of what is not in the mask, and as a text they are written in
//! 5 bits a character, from the fourth on as the difference to the run before the last.
//! <https://github.com/cocodataset/cocoapi/blob/master/common/maskApi.c>

use super::Picture;
use super::regions::Region;
use crate::bytes::limits;

/// The most runs of one mask.
const RUNS: usize = 1 << 22;
/// The most points of a polygon that are painted.
const POINTS: usize = 1 << 16;
/// How dense the colours of shapes are, of 255.
const ALPHA: u8 = 110;

/// A mask of a picture of `height × width` pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLengths {
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
    /// For each run, where it ends, in pixels from the top left downwards; those with odd numbers are in the mask.
    ends: Vec<u64>,
}

impl RunLengths {
    /// The mask of these lengths; `None` where they are not those of such a picture.
    pub fn of(height: u32, width: u32, lengths: impl Iterator<Item = u64>) -> Option<RunLengths> {
        let pixels = u64::from(height) * u64::from(width);
        if pixels > limits::PIXELS {
            return None;
        }
        let (mut ends, mut at) = (Vec::new(), 0_u64);
        for length in lengths {
            at = at.checked_add(length).filter(|at| *at <= pixels)?;
            ends.push(at);
            if ends.len() > RUNS {
                return None;
            }
        }
        (at == pixels || ends.is_empty()).then_some(RunLengths { height, width, ends })
    }

    /// The mask that a text of COCO's says; `None` for what is no such text.
    pub fn from_text(height: u32, width: u32, text: &str) -> Option<RunLengths> {
        let mut lengths: Vec<i64> = Vec::new();
        let mut bytes = text.bytes();
        while let Some(first) = bytes.next() {
            let (mut value, mut shift, mut byte) = (0_i64, 0_u32, first);
            loop {
                let part = i64::from(byte.checked_sub(48).filter(|part| *part < 64)?);
                value |= (part & 0x1f).checked_shl(shift)?;
                shift += 5;
                if part & 0x20 == 0 {
                    if part & 0x10 != 0 {
                        value |= (-1_i64).checked_shl(shift)?;
                    }
                    break;
                }
                // Lengths of pictures that there are have few bits.
                byte = bytes.next().filter(|_| shift < 45)?;
            }
            if lengths.len() > 2 {
                value = value.checked_add(*lengths.get(lengths.len() - 2)?)?;
            }
            lengths.push(value);
            if value < 0 || lengths.len() > RUNS {
                return None;
            }
        }
        RunLengths::of(height, width, lengths.into_iter().map(i64::cast_unsigned))
    }

    /// The lengths of the runs.
    pub fn lengths(&self) -> impl Iterator<Item = u64> {
        let before = std::iter::once(&0).chain(&self.ends);
        self.ends.iter().zip(before).map(|(end, start)| end - start)
    }

    /// COCO's text for it.
    pub fn text(&self) -> String {
        let lengths: Vec<i64> = self.lengths().map(u64::cast_signed).collect();
        let mut text = String::new();
        for (n, length) in lengths.iter().enumerate() {
            let before = if n > 2 { lengths.get(n - 2).copied().unwrap_or_default() } else { 0 };
            let mut value = length - before;
            loop {
                let part = (value & 0x1f) as u8;
                value >>= 5;
                let more = if part & 0x10 != 0 { value != -1 } else { value != 0 };
                text.push(char::from((part | if more { 0x20 } else { 0 }) + 48));
                if !more {
                    break;
                }
            }
        }
        text
    }

    /// Pixels in the mask.
    pub fn area(&self) -> u64 {
        self.lengths().skip(1).step_by(2).sum()
    }

    /// Whether a pixel is in the mask.
    fn holds(&self, x: u64, y: u64) -> bool {
        let at = x * u64::from(self.height) + y;
        self.ends.partition_point(|end| *end <= at) % 2 == 1 && at < self.ends.last().copied().unwrap_or(0)
    }
}

/// The shapes of regions as a layer of colours, clear where there are none; `None` where no region has a shape.
pub fn layer(regions: &[Region], width: usize, height: usize) -> Option<Picture> {
    let has_shape = |region: &Region| region.mask.is_some() || !region.polygons.is_empty();
    if width == 0 || height == 0 || !regions.iter().any(has_shape) {
        return None;
    }
    let mut picture = Picture { width, height, rgba: vec![0; width.checked_mul(height)?.checked_mul(4)?] };
    for (n, region) in regions.iter().enumerate().filter(|(_, region)| has_shape(region)) {
        let [r, g, b] = color(region.label.as_deref(), n);
        let ink = [r, g, b, ALPHA];
        if let Some(mask) = &region.mask {
            stamp(&mut picture, mask, ink);
        }
        fill(&mut picture, &region.polygons, ink);
    }
    Some(picture)
}

/// The colour of a class: the same on every picture; of what has none, by its number.
pub fn color(label: Option<&str>, n: usize) -> [u8; 3] {
    let seed = label.map_or(n as u64, |label| u64::from(crc32fast::hash(label.as_bytes())));
    let turn = crate::data::content::sample::mixed(seed) % 1_000;
    let map = crate::data::plane::color::ColorMap::named("turbo").unwrap_or_default();
    map.at(0.08 + 0.84 * turn as f64 / 1_000.0)
}

fn stamp(picture: &mut Picture, mask: &RunLengths, ink: [u8; 4]) {
    let scale =
        |at: usize, small: usize, large: u32| (at as u64 * 2 + 1) * u64::from(large) / (small as u64 * 2);
    for (n, pixel) in picture.rgba.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (x, y) = (n % picture.width, n / picture.width);
        if mask.holds(scale(x, picture.width, mask.width), scale(y, picture.height, mask.height)) {
            *pixel = ink;
        }
    }
}

/// Fills what lies within an odd number of the lines of each polygon.
fn fill(picture: &mut Picture, polygons: &[Vec<[f64; 2]>], ink: [u8; 4]) {
    let (width, height) = (picture.width as f64, picture.height as f64);
    let mut crossings: Vec<f64> = Vec::new();
    for polygon in polygons.iter().filter(|polygon| (3..=POINTS).contains(&polygon.len())) {
        let next = || polygon.iter().cycle().skip(1);
        let ends =
            polygon.iter().fold((f64::MAX, f64::MIN), |(low, high), [_, y]| (low.min(*y), high.max(*y)));
        let first = (ends.0 * height).floor().clamp(0.0, height) as usize;
        let last = (ends.1 * height).ceil().clamp(0.0, height) as usize;
        for y in first..last {
            let line = (y as f64 + 0.5) / height;
            crossings.clear();
            for ([x0, y0], [x1, y1]) in polygon.iter().zip(next()) {
                if (*y0 <= line) != (*y1 <= line) {
                    crossings.push(x0 + (line - y0) / (y1 - y0) * (x1 - x0));
                }
            }
            crossings.sort_by(f64::total_cmp);
            for pair in crossings.as_chunks::<2>().0 {
                let edge = |x: f64| (x * width - 0.5).ceil().clamp(0.0, width) as usize;
                let row = y * picture.width;
                let pixels =
                    picture.rgba.as_chunks_mut::<4>().0.get_mut(row + edge(pair[0])..row + edge(pair[1]));
                pixels.into_iter().flatten().for_each(|pixel| *pixel = ink);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_texts_of_masks_are_those_of_pycocotools() {
        // mask.encode of a 4×5 picture with the columns 1 and 2, rows 1 to 3.
        let mask = RunLengths::of(4, 5, [5, 3, 1, 3, 8].into_iter()).unwrap();
        assert_eq!(mask.text(), "53107");
        assert_eq!(mask.area(), 6);
        assert_eq!(RunLengths::from_text(4, 5, "53107").unwrap(), mask);
        assert!(mask.holds(1, 1) && mask.holds(2, 3) && !mask.holds(0, 1) && !mask.holds(1, 0));
        for wrong in ["531", "5310N", "\u{7f}", "5310753107", "oooooooooooo"] {
            assert_eq!(RunLengths::from_text(4, 5, wrong), None, "{wrong}");
        }
        assert!(RunLengths::of(u32::MAX, u32::MAX, [1].into_iter()).is_none());
    }

    #[test]
    fn shapes_are_painted() {
        let square = vec![[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]];
        let mask = RunLengths::of(2, 2, [0, 1, 3].into_iter());
        let region = |polygons, mask| Region { polygons, mask, ..Region::default() };
        let seen = |region: Region| -> Vec<usize> {
            let picture = layer(&[region], 4, 4).unwrap();
            (0..16).filter(|n| picture.rgba[n * 4 + 3] > 0).collect()
        };
        assert_eq!(seen(region(vec![square], None)), [5, 6, 9, 10]);
        assert_eq!(seen(region(vec![], mask)), [0, 1, 4, 5]);
        assert_eq!(layer(&[region(vec![], None)], 4, 4), None);
    }

    proptest! {
        #[test]
        fn any_mask_is_written_and_read(lengths in prop::collection::vec(0_u64..5_000, 1..40)) {
            let width = u32::try_from(lengths.iter().sum::<u64>()).unwrap();
            let mask = RunLengths::of(1, width, lengths.iter().copied()).unwrap();
            prop_assert_eq!(RunLengths::from_text(1, width, &mask.text()).unwrap(), mask);
        }

        #[test]
        fn no_text_breaks_it(text in "[ -~]{0,40}", height in 0_u32..100, width in 0_u32..100) {
            let _ = RunLengths::from_text(height, width, &text);
        }
    }
}
