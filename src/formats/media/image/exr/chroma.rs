//! Luminance and chroma: pictures whose colours are stored as Y, RY = (R - Y) / Y and BY = (B - Y) / Y, these for every
//! second pixel each way. <https://openexr.com/en/latest/TechnicalIntroduction.html#luminance-chroma-images>

use super::super::picture::{Codec, blank};
use super::Exr;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Rect, Sample};
use exr::meta::attribute::Chromaticities;

/// The shares of red, green and blue in luminance of Rec. 709, which are meant where nothing else is said.
const REC_709: [f32; 3] = [0.2126, 0.7152, 0.0722];
/// What of the samples one, three, five … places away a sample between is made of, on either side: OpenEXR's filter.
const FILTER: [f32; 7] = [0.627123, -0.186077, 0.087929, -0.043159, 0.019597, -0.007540, 0.002128];

/// The colours that Y, RY and BY are.
pub(super) struct Luminance {
    pub(super) y: Exr,
    pub(super) chroma: [Exr; 2],
    pub(super) alpha: Option<Exr>,
    /// The shares of red, green and blue in Y.
    pub(super) shares: [f32; 3],
}

/// The shares of the primaries in luminance, from where they lie in the CIE xy diagram.
pub(super) fn shares(told: Option<&Chromaticities>) -> [f32; 3] {
    let Some(told) = told else { return REC_709 };
    let place = |at: exr::math::Vec2<f32>| {
        [f64::from(at.0), f64::from(at.1), 1.0 - f64::from(at.0) - f64::from(at.1)]
    };
    let [r, g, b, w] = [told.red, told.green, told.blue, told.white].map(place);
    let triple = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| {
        let [a0, a1, a2] = a;
        let ([b0, b1, b2], [c0, c1, c2]) = (b, c);
        a0 * (b1 * c2 - b2 * c1) - a1 * (b0 * c2 - b2 * c0) + a2 * (b0 * c1 - b1 * c0)
    };
    // Amounts of the primaries whose sum is white, of which each has so much luminance.
    let whole = triple(r, g, b);
    let amounts = [triple(w, g, b), triple(r, w, b), triple(r, g, w)];
    let luminances = [r, g, b].map(|[_, y, _]| y);
    let mut shares = [0f64; 3];
    for ((share, amount), y) in shares.iter_mut().zip(amounts).zip(luminances) {
        *share = amount / whole * y;
    }
    let sum: f64 = shares.iter().sum();
    let shares = shares.map(|share| (share / sum) as f32);
    let usable =
        shares.iter().all(|share| share.is_finite()) && shares.get(1).is_some_and(|g| g.abs() > 1e-4);
    if usable { shares } else { REC_709 }
}

/// Every sample of a line of which each second one is known, from the first on; beyond its ends the last ones go on.
fn between(known: &[f32], out: &mut [f32]) {
    let at = |n: isize| {
        let last = known.len() as isize - 1;
        known.get(n.clamp(0, last.max(0)) as usize).copied().unwrap_or(0.0)
    };
    for (n, place) in out.iter_mut().enumerate() {
        let here = (n / 2) as isize;
        *place = match n % 2 {
            0 => at(here),
            _ => {
                let taps = FILTER.iter().zip(0..);
                taps.map(|(share, away)| share * (at(here - away) + at(here + 1 + away))).sum()
            }
        };
    }
}

/// A plane with a sample for each pixel, from one with a sample for every second pixel each way.
fn doubled(known: &[f32], (width, height): (usize, usize)) -> Vec<f32> {
    let narrow = width.div_ceil(2).max(1);
    let rows = height.div_ceil(2);
    // Lines first, then columns.
    let mut wide = vec![0f32; width * rows];
    for (line, out) in known.chunks_exact(narrow).zip(wide.chunks_exact_mut(width.max(1))) {
        between(line, out);
    }
    let mut whole = vec![0f32; width * height];
    let (mut column, mut tall) = (vec![0f32; rows], vec![0f32; height]);
    for x in 0..width {
        for (place, value) in column.iter_mut().zip(wide.iter().skip(x).step_by(width)) {
            *place = *value;
        }
        between(&column, &mut tall);
        for (place, value) in whole.iter_mut().skip(x).step_by(width).zip(&tall) {
            *place = *value;
        }
    }
    whole
}

impl Luminance {
    /// The samples of a channel that has one for each pixel, or for every second one.
    fn plane(
        &self,
        task: &Task,
        source: &Source,
        channel: &Exr,
        sides: (usize, usize),
        partial: bool,
    ) -> Result<Vec<f32>> {
        let pixels = channel.samples(task, source, Rect::all(u64::MAX, u64::MAX), partial)?;
        let size = pixels.sample.size();
        let plane =
            pixels.data.chunks_exact(size).map(|bytes| pixels.sample.number(bytes).unwrap_or(0.0) as f32);
        let plane: Vec<f32> = plane.collect();
        task.check()?;
        match channel.sampling {
            (1, 1) => Ok(plane),
            _ => Ok(doubled(&plane, sides)),
        }
    }
}

impl Codec for Luminance {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let size = self.y.file.part(self.y.part)?.layer_size;
        let (width, height) = (size.0, size.1);
        let plane = |channel: &Exr| self.plane(task, source, channel, (width, height), partial);
        let [ry, by] = &self.chroma;
        let (y, ry, by) = (plane(&self.y)?, plane(ry)?, plane(by)?);
        let alpha = self.alpha.as_ref().map(plane).transpose()?;
        let channels = if alpha.is_some() { 4 } else { 3 };
        let mut pixels = blank(width as u64, height as u64, channels, Sample::F32, alpha.is_some())?;
        if [y.len(), ry.len(), by.len()] != [width * height; 3] {
            return Err(Error::bug("OpenEXR: a plane of another size than the picture"));
        }
        let [red_share, green_share, blue_share] = self.shares;
        let mut places = pixels.data.as_chunks_mut::<4>().0.iter_mut();
        let mut put = |value: f32| {
            if let Some(place) = places.next() {
                *place = value.to_le_bytes();
            }
        };
        let mut alpha = alpha.map(Vec::into_iter);
        for ((y, ry), by) in y.into_iter().zip(ry).zip(by) {
            let (red, blue) = ((ry + 1.0) * y, (by + 1.0) * y);
            let green = match ry == 0.0 && by == 0.0 {
                true => y,
                false => (y - red * red_share - blue * blue_share) / green_share,
            };
            [red, green, blue].into_iter().for_each(&mut put);
            if let Some(alpha) = &mut alpha {
                put(alpha.next().unwrap_or(1.0));
            }
        }
        Ok(pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exr::math::Vec2;

    #[test]
    fn shares_are_those_of_the_primaries() {
        let rec = Chromaticities {
            red: Vec2(0.64, 0.33),
            green: Vec2(0.3, 0.6),
            blue: Vec2(0.15, 0.06),
            white: Vec2(0.3127, 0.329),
        };
        let seen = shares(Some(&rec));
        assert!(seen.iter().zip(REC_709).all(|(a, b)| (a - b).abs() < 2e-4), "{seen:?}");
        let xyz = Chromaticities {
            red: Vec2(1.0, 0.0),
            green: Vec2(0.0, 1.0),
            blue: Vec2(0.0, 0.0),
            white: Vec2(1.0 / 3.0, 1.0 / 3.0),
        };
        assert!(shares(Some(&xyz)).iter().zip([0.0, 1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn what_lies_between_goes_through_what_is_known() {
        let known: Vec<f32> = (0..24).map(|n| (n as f32 / 3.0).sin()).collect();
        let mut out = vec![0.0; 48];
        between(&known, &mut out);
        for (n, value) in out.iter().enumerate().take(34).skip(14) {
            assert!((value - (n as f32 / 6.0).sin()).abs() < 2e-3, "{n}: {value}");
        }
        let flat = doubled(&[0.5; 12], (8, 6));
        assert!(flat.len() == 48 && flat.iter().all(|value| (value - 0.5).abs() < 1e-5));
    }
}
