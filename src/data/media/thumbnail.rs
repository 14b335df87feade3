//! A payload as a small picture: images reduced by means of rectangles and turned the right way up, arrays as heat maps or
//! curves, sounds as waveforms. What a decoder can give with fewer pixels for less work is taken from it.

use super::Payload;
use crate::bytes::cache::Reservation;
use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ArrayImage, is_picture};
use crate::data::content::array::Sound;
use crate::data::content::{Array, Content, Image, Pixels, Rect, Sample, array};
use crate::data::dtype::DType;
use crate::data::format::{Formats, Options};
use crate::data::numbers::{ComplexPart, NonFinite, has_numbers, numbers};
use crate::data::open::Document;
use crate::data::plane::color::{ColorMap, non_finite_color};
use crate::data::region::{Region, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// Bytes of decoded pixels that a small picture may be made of.
const DECODED: u64 = 512 << 20;
/// Elements of an array that a small picture may be made of.
const ELEMENTS: u64 = 16 << 20;

/// Pixels of 8-bit RGBA, not premultiplied, rows top-down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `width × height × 4` bytes.
    pub rgba: Vec<u8>,
}

/// A payload at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The picture; `None` for what has none: JSON, pickles, sounds too long to be decoded.
    pub picture: Option<Picture>,
    /// Width and height of an image as it is shown, the right way up.
    pub size: Option<(u64, u64)>,
    /// What it is: `JPEG 500×375`, `float32 [128, 128]`.
    pub words: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// Why a part of it is missing, where only a part can be decoded.
    pub problem: Option<String>,
}

/// A payload as a picture of at most `side` pixels each way; smaller images stay as large as they are.
///
/// # Errors
/// `Cancelled`; why the payload cannot be decoded.
pub fn thumbnail(task: &Task, formats: Formats, payload: &Payload, side: u32) -> Result<Preview> {
    let side = u64::from(side.max(1));
    match payload {
        Payload::Array(array) => of_array(task, array, side),
        Payload::File(source) => {
            let bytes = source.len(task)?;
            let document = formats.open_source(task, source, &Options::default())?;
            Ok(Preview { bytes, ..of_document(task, &document, side)? })
        }
    }
}

/// Width and height of an image, the right way up, without its pixels; `None` for what is no image.
///
/// # Errors
/// `Cancelled`.
pub fn size(task: &Task, formats: Formats, source: &Source) -> Result<Option<(u64, u64)>> {
    let opened = formats.open_source(task, source, &Options::default()).unless_cancelled()?;
    Ok(opened.ok().and_then(|document| match &document.root.content {
        Some(Content::Image(image)) => Some(shown_size(image.as_ref())),
        _ => None,
    }))
}

/// Width and height of an image when it is turned the right way up.
pub fn shown_size(image: &dyn Image) -> (u64, u64) {
    let info = image.info();
    match info.orientation {
        Some(5..=8) => (info.height, info.width),
        _ => (info.width, info.height),
    }
}

fn of_document(task: &Task, document: &Document, side: u64) -> Result<Preview> {
    let node = document.root.resolved(task)?;
    let name = node.formats.last().unwrap_or(&document.format).name;
    match &node.content {
        Some(Content::Image(image)) => {
            let (width, height) = shown_size(image.as_ref());
            let picture = of_image(task, image.as_ref(), side)?;
            let words = format!("{name} {width}×{height}");
            let problem = node.problem.as_ref().map(|problem| problem.message());
            Ok(Preview { picture: Some(picture), size: Some((width, height)), words, bytes: 0, problem })
        }
        Some(Content::Array(array)) => {
            let preview = of_array(task, array, side)?;
            let problem = node.problem.as_ref().map(|problem| problem.message());
            let words = match array.facts().sound {
                Some(sound) => format!("{} {}", document.format.id.to_uppercase(), length(array, &sound)),
                None => preview.words,
            };
            Ok(Preview { words, problem, ..preview })
        }
        _ => match &node.problem {
            Some(problem) => Err(problem.clone()),
            None => {
                Ok(Preview { picture: None, size: None, words: name.to_owned(), bytes: 0, problem: None })
            }
        },
    }
}

/// An image reduced to at most `side` pixels each way.
fn of_image(task: &Task, image: &dyn Image, side: u64) -> Result<Picture> {
    let info = image.info();
    let longest = info.width.max(info.height).max(1);
    let small = |length: u64| (length.saturating_mul(side) / longest).clamp(1, length.max(1));
    let target =
        if longest > side { (small(info.width), small(info.height)) } else { (info.width, info.height) };
    // The coarsest level that is fine enough.
    let fine = |size: &(u64, u64)| size.0 >= target.0 && size.1 >= target.1;
    let level = info.levels.iter().rposition(fine).unwrap_or(0);
    let (width, height) = info.levels.get(level).copied().unwrap_or((info.width, info.height));
    let reduced = match level {
        0 => image.reduced(task, 0, target.0, target.1)?,
        _ => None,
    };
    let pixels = match reduced {
        Some(pixels) => pixels,
        None => {
            let pixel = u64::from(info.channels.max(1)) * info.sample.size() as u64;
            let bytes = limits::bytes(&[width, height], pixel)?;
            limits::check(bytes, DECODED, "the pixels of the picture")?;
            // In use until the small picture is made.
            let _held = Reservation::new(bytes as usize);
            image.read(task, 0, level as u32, Rect::all(width, height))?
        }
    };
    task.check()?;
    Ok(turned(shrunk(&pixels, target)?, info.orientation.unwrap_or(1)))
}

/// Each pixel is the mean of those that it stands for, weighted by their alpha.
fn shrunk(pixels: &Pixels, (width, height): (u64, u64)) -> Result<Picture> {
    let alpha = pixels.alpha && pixels.channels > 1;
    let bytes = match (pixels.sample, pixels.channels, alpha) {
        (Sample::U8, 3, false) | (Sample::U8, 4, true) => Cow::Borrowed(pixels.data.as_slice()),
        _ => Cow::Owned(pixels.to_rgb8()),
    };
    let size = if alpha { 4 } else { 3 };
    let (from_width, from_height) = (pixels.width as usize, pixels.height as usize);
    if bytes.len() != from_width * from_height * size || bytes.is_empty() {
        return Err(Error::malformed(format!("{} bytes for {from_width}×{from_height} pixels", bytes.len())));
    }
    let (width, height) =
        ((width as usize).min(from_width).max(1), (height as usize).min(from_height).max(1));
    let edge = |at: usize, to: usize, from: usize| at * from / to;
    let mut rgba = Vec::with_capacity(width * height * 4);
    let mut sums = vec![[0u64; 5]; width];
    for y in 0..height {
        sums.fill([0; 5]);
        let (top, bottom) = (edge(y, height, from_height), edge(y + 1, height, from_height));
        for row in top..bottom.max(top + 1) {
            let line = bytes.get(row * from_width * size..(row + 1) * from_width * size).unwrap_or_default();
            for (x, sum) in sums.iter_mut().enumerate() {
                let (first, end) = (edge(x, width, from_width), edge(x + 1, width, from_width));
                let part = line.get(first * size..end.max(first + 1) * size).unwrap_or_default();
                add(sum, part, alpha);
            }
        }
        rgba.extend(sums.iter().flat_map(|sum| mean(sum, alpha)));
    }
    Ok(Picture { width, height, rgba })
}

/// Adds pixels: colours times alpha, alpha, count.
fn add([r, g, b, a, n]: &mut [u64; 5], part: &[u8], alpha: bool) {
    match alpha {
        true => {
            for &[red, green, blue, weight] in part.as_chunks::<4>().0 {
                let weight = u64::from(weight);
                *r += u64::from(red) * weight;
                *g += u64::from(green) * weight;
                *b += u64::from(blue) * weight;
                *a += weight;
                *n += 1;
            }
        }
        false => {
            for &[red, green, blue] in part.as_chunks::<3>().0 {
                *r += u64::from(red);
                *g += u64::from(green);
                *b += u64::from(blue);
                *n += 1;
            }
        }
    }
}

fn mean([r, g, b, a, n]: &[u64; 5], alpha: bool) -> [u8; 4] {
    let weight = if alpha { *a } else { *n }.max(1);
    let part = |sum: &u64| ((sum + weight / 2) / weight).min(255) as u8;
    let count = (*n).max(1);
    let clear = if alpha { ((a + count / 2) / count).min(255) as u8 } else { 255 };
    [part(r), part(g), part(b), clear]
}

/// The picture the right way up, by its orientation (EXIF 2.32, 4.6.4).
fn turned(picture: Picture, orientation: u32) -> Picture {
    let (width, height) = (picture.width, picture.height);
    let (out_width, out_height) = if orientation > 4 { (height, width) } else { (width, height) };
    if !(2..=8).contains(&orientation) {
        return picture;
    }
    let pixels = picture.rgba.as_chunks::<4>().0;
    let mut rgba = Vec::with_capacity(picture.rgba.len());
    for y in 0..out_height {
        for x in 0..out_width {
            let (right, low) = (out_width - 1 - x, out_height - 1 - y);
            let (column, row) = match orientation {
                2 => (right, y),
                3 => (right, low),
                4 => (x, low),
                5 => (y, x),
                6 => (y, right),
                7 => (low, right),
                _ => (low, x),
            };
            rgba.extend_from_slice(pixels.get(row * width + column).unwrap_or(&[0; 4]));
        }
    }
    Picture { width: out_width, height: out_height, rgba }
}

/// An array as a picture: pixels where it can be one, else its last two axes as a heat map, one axis as a curve.
fn of_array(task: &Task, array: &Arc<dyn Array>, side: u64) -> Result<Preview> {
    let (dtype, shape) = (array.dtype(), array.shape());
    let words = format!("{} {}", array.facts().type_name(dtype), display::shape(shape));
    let bytes = limits::bytes(shape, dtype.size()).unwrap_or(0);
    let preview = |picture, size| Preview { picture, size, words: words.clone(), bytes, problem: None };
    let rank = shape.len();
    if array.facts().sound.is_some() {
        return Ok(preview(waveform(task, array.as_ref(), side as usize)?, None));
    }
    if is_picture(dtype, shape) && (rank == 3 || shape.iter().all(|side| *side > 1)) {
        let image = ArrayImage::new(array.clone())?;
        let picture = of_image(task, &image, side)?;
        return Ok(preview(Some(picture), Some((image.info().width, image.info().height))));
    }
    if !has_numbers(dtype) || shape.contains(&0) || rank == 0 {
        return Ok(preview(None, None));
    }
    let step = |length: u64| length.div_ceil(side).max(1);
    let span = |length: u64| Span { start: 0, count: length.div_ceil(step(length)), step: step(length) };
    let still = rank.saturating_sub(2);
    let region: Vec<Span> = shape
        .iter()
        .enumerate()
        .map(|(axis, &length)| match (axis < still, rank) {
            (true, _) => Span::range(0, 1),
            (false, 1) => Span::range(0, length.min(ELEMENTS)),
            (false, _) => span(length),
        })
        .collect();
    let sides: Vec<usize> = region.iter().skip(still).map(|span| span.count as usize).collect();
    let raw = array::read(array.as_ref(), task, &Region(region))?;
    let values = numbers(dtype, ComplexPart::default(), &raw);
    let picture = match sides.as_slice() {
        [rows, columns] => heat_map(&values, *columns, *rows),
        _ => curve(&values, side as usize),
    };
    Ok(preview(Some(picture), None))
}

/// How long a sound is, and its rate.
fn length(array: &Arc<dyn Array>, sound: &Sound) -> String {
    let frames = array.shape().first().copied().unwrap_or(0);
    match sound.rate {
        0 => display::plural(frames, "frame"),
        rate => format!("{:.2} s · {} Hz", frames as f64 / f64::from(rate), rate),
    }
}

/// A sound as the reach of its samples over time, all channels in one, as high as its loudest sample. Of a long one each
/// part shows its beginning; `None` for a long one that would have to be decoded, and for one without samples.
fn waveform(task: &Task, array: &dyn Array, side: usize) -> Result<Option<Picture>> {
    let (frames, channels) =
        (array.shape().first().copied().unwrap_or(0), array.shape().get(1).copied().unwrap_or(1));
    let all = frames.saturating_mul(channels);
    let facts = array.facts();
    let is_long = all > ELEMENTS;
    if all == 0 || is_long && facts.codecs.iter().any(|codec| !codec.starts_with("pcm")) {
        return Ok(None);
    }
    let width = (side as u64).min(frames).max(1);
    let most = (ELEMENTS / width / channels.max(1)).max(1);
    let middle = if array.dtype() == &DType::U8 { 128.0 } else { 0.0 };
    let mut bars = Vec::with_capacity(side);
    for x in 0..width {
        task.check()?;
        let part = |x: u64| (u128::from(frames) * u128::from(x) / u128::from(width)) as u64;
        let count = (part(x + 1) - part(x)).clamp(1, most);
        let region = Region(vec![Span::range(part(x), count), Span::all(channels)]);
        let raw = array::read(array, task, &region)?;
        let (low, high) = ends(&numbers(array.dtype(), ComplexPart::default(), &raw));
        bars.push((low - middle, high - middle));
    }
    let loudest = bars.iter().flat_map(|(low, high)| [low.abs(), high.abs()]).filter(|end| end.is_finite());
    let reach = loudest.fold(0.0, f64::max);
    Ok(Some(painted(&bars, (-reach, reach), (side / 2).max(8))))
}

/// The ends of the finite values.
fn ends(values: &[f64]) -> (f64, f64) {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn heat_map(values: &[f64], width: usize, height: usize) -> Picture {
    let (low, high) = ends(values);
    let map = ColorMap::default();
    let color = |(at, value): (usize, &f64)| {
        let [r, g, b] = match NonFinite::of(*value) {
            Some(kind) => non_finite_color(kind, at % width.max(1) + at / width.max(1)),
            None if high > low => map.at((value - low) / (high - low)),
            None => map.at(0.5),
        };
        [r, g, b, 255]
    };
    Picture { width, height, rgba: values.iter().enumerate().flat_map(color).collect() }
}

/// The least and the greatest value of each part as a line from one to the other.
fn curve(values: &[f64], side: usize) -> Picture {
    let width = side.min(values.len()).max(1);
    let part = |x: usize| {
        let first = x * values.len() / width;
        let end = ((x + 1) * values.len() / width).max(first + 1);
        ends(values.get(first..end).unwrap_or_default())
    };
    let bars: Vec<(f64, f64)> = (0..width).map(part).collect();
    painted(&bars, ends(values), (side / 2).max(8))
}

/// Upright lines, each from its lesser end to its greater one, between the ends of the whole picture.
fn painted(bars: &[(f64, f64)], (low, high): (f64, f64), height: usize) -> Picture {
    let width = bars.len();
    let mut rgba = vec![0; width * height * 4];
    let [r, g, b] = ColorMap::default().at(0.45);
    let place = |value: f64| {
        let part = if high > low { (value - low) / (high - low) } else { 0.5 };
        ((1.0 - part) * (height - 1) as f64).round() as usize
    };
    for (x, (least, most)) in bars.iter().enumerate().filter(|(_, (least, most))| least <= most) {
        for y in place(*most)..=place(*least).min(height - 1) {
            if let Some(pixel) = rgba.get_mut((y * width + x) * 4..(y * width + x + 1) * 4) {
                pixel.copy_from_slice(&[r, g, b, 255]);
            }
        }
    }
    Picture { width, height, rgba }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_eight_orientations() {
        // 1 2 3
        // 4 5 6
        let rgba = (1..=6u8).flat_map(|value| [value, 0, 0, 255]).collect();
        let picture = Picture { width: 3, height: 2, rgba };
        let seen = |orientation| {
            let turned = turned(picture.clone(), orientation);
            let values: Vec<u8> = turned.rgba.iter().step_by(4).copied().collect();
            (turned.width, values)
        };
        assert_eq!(seen(1), (3, vec![1, 2, 3, 4, 5, 6]));
        assert_eq!(seen(2), (3, vec![3, 2, 1, 6, 5, 4]));
        assert_eq!(seen(3), (3, vec![6, 5, 4, 3, 2, 1]));
        assert_eq!(seen(4), (3, vec![4, 5, 6, 1, 2, 3]));
        assert_eq!(seen(5), (2, vec![1, 4, 2, 5, 3, 6]));
        assert_eq!(seen(6), (2, vec![4, 1, 5, 2, 6, 3]));
        assert_eq!(seen(7), (2, vec![6, 3, 5, 2, 4, 1]));
        assert_eq!(seen(8), (2, vec![3, 6, 2, 5, 1, 4]));
    }
}
