//! AVIF (<https://aomediacodec.github.io/av1-avif/>): still pictures of AV1 in boxes of HEIF (ISO 23008-12), with alpha and
//! in tiles; and sequences of them as animations.
//!
//! Samples are turned to RGB by the matrix that the file names. How the picture is to be turned is told, not done.

use super::av1::{Decoder, Frame};
use super::exif;
use super::picture::{self, Codec, Header, Player, blank};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::boxes::{self, Atom, find};
use crate::engines::isobmff::{self, Meta, Property};
use std::ops::Range;

/// The brands of a file type box that say AVIF, still and as a sequence.
const BRANDS: [&[u8]; 2] = [b"avif", b"avis"];

/// A file type box with one of the brands, the first or among those that are compatible.
pub(super) fn sniff(head: &Head) -> Match {
    match isobmff::brands(&head.first).any(|brand| BRANDS.contains(&brand)) {
        true => Match::Yes,
        false => Match::No,
    }
}

/// Reads the boxes.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let all = boxes::list(task, source, 0..source.len(task)?)?;
    let cut = all.iter().find(|one| one.is_cut).map(|one| {
        Error::malformed(format!("AVIF: the box {} reaches beyond the file; it may be cut off", one.name()))
            .at(one.start)
    });
    let mut header = Header { problem: cut, ..Header::default() };
    let meta = match find(&all, b"meta") {
        Some(meta) => Some(Meta::read(task, source, meta)?),
        None => None,
    };
    let animation = frames(task, source, &all)?.filter(|frames| frames.samples.len() > 1);
    let item = meta.as_ref().map(|meta| still(meta, &mut header)).transpose();
    let (item, alpha) = match (item, &animation) {
        (Ok(Some(found)), _) => found,
        (Err(error), None) => return Err(error),
        (_, Some(frames)) => {
            (header.info.width, header.info.height) = frames.sides;
            (header.info.bits, header.info.channels) = (8, 3);
            (Parts::default(), None)
        }
        (Ok(None), None) => return Err(Error::malformed("AVIF: the file has neither items nor a track")),
    };
    if let Some(meta) = &meta {
        metadata(task, source, meta, &mut header)?;
    }
    header.info.alpha = alpha.is_some() && animation.is_none();
    header.info.sample = if header.info.bits > 8 { Sample::U16 } else { Sample::U8 };
    header.info.channels = if header.info.alpha { 4 } else { 3 };
    header.info.frames = 1;
    if let Some(frames) = &animation {
        header.info.frames = frames.samples.len() as u64;
        header.info.frame_times = frames.times.clone();
    }
    picture::node(source, header, Avif { item, alpha, animation })
}

/// The coded pictures that make one: a tile each.
#[derive(Clone, Debug, Default)]
struct Parts {
    width: u64,
    height: u64,
    /// Tiles across.
    across: u64,
    tiles: Vec<Vec<Range<u64>>>,
}

/// The primary item, and the one that is its alpha.
fn still(meta: &Meta, header: &mut Header) -> Result<(Parts, Option<Parts>)> {
    let primary = meta.primary.ok_or_else(|| Error::malformed("AVIF: no item is the primary one"))?;
    let parts = parts(meta, primary)?;
    let info = &mut header.info;
    (info.width, info.height) = (parts.width, parts.height);
    info.bits = 8;
    let shown = match meta.references(primary, b"dimg").first() {
        Some(tile) => *tile,
        None => primary,
    };
    for property in meta.properties(shown).chain(meta.properties(primary)) {
        match property {
            Property::Bits(bits) => info.bits = u32::from(*bits),
            Property::Av1(configuration) => {
                let flags = configuration.get(2).copied().unwrap_or(0);
                info.bits = match (flags & 0x40 != 0, flags & 0x20 != 0) {
                    (true, true) => 12,
                    (true, false) => 10,
                    _ => 8,
                };
                let words = match flags >> 2 & 7 {
                    4..=7 => "4:0:0",
                    3 => "4:2:0",
                    2 => "4:2:2",
                    _ => "4:4:4",
                };
                if header.info.details.iter().all(|(name, _)| name != "chroma subsampling") {
                    header.info.details.push(("chroma subsampling".to_owned(), words.to_owned()));
                }
                break;
            }
            _ => {}
        }
    }
    let (mut turns, mut mirror) = (0, None);
    for property in meta.properties(primary) {
        match property {
            Property::Rotation(quarters) => turns = *quarters,
            Property::Mirror(axis) => mirror = Some(*axis),
            Property::Profile => header.detail("ICC profile", "yes"),
            Property::Colours(primaries, transfer, matrix) => {
                header.detail(
                    "colour primaries, transfer, matrix",
                    format!("{primaries}, {transfer}, {matrix}"),
                );
            }
            _ => {}
        }
    }
    header.info.orientation = isobmff::orientation(turns, mirror);
    let alpha = meta.alpha_of(primary);
    let alpha = alpha.map(|item| self::parts(meta, item)).transpose()?;
    if parts.tiles.len() > 1 {
        header.detail("tiles", parts.tiles.len().to_string());
    }
    Ok((parts, alpha))
}

/// The coded pictures of an item: itself, or the tiles of its grid.
fn parts(meta: &Meta, id: u32) -> Result<Parts> {
    let wrong = |what: String| Error::malformed(format!("AVIF: {what}"));
    let kind = meta.kind(id).ok_or_else(|| wrong(format!("item {id} is not described")))?;
    let size = meta.properties(id).find_map(|property| match property {
        Property::Size(width, height) => Some((u64::from(*width), u64::from(*height))),
        _ => None,
    });
    let (width, height) = size.ok_or_else(|| wrong(format!("item {id} has no size")))?;
    if &kind == b"grid" {
        let grid = meta.grid(id)?;
        let tiles = meta.references(id, b"dimg");
        if tiles.len() as u64 != grid.rows * grid.columns {
            return Err(wrong(format!(
                "a grid of {} × {} has {} tiles",
                grid.columns,
                grid.rows,
                tiles.len()
            )));
        }
        let tiles = tiles.iter().map(|tile| meta.places(*tile)).collect::<Result<_>>()?;
        return Ok(Parts { width: grid.width, height: grid.height, across: grid.columns, tiles });
    }
    if &kind != b"av01" {
        let name: String = kind.iter().map(|byte| char::from(*byte)).collect();
        return Err(Error::unsupported(format!("AVIF: an item of the type {name}")));
    }
    Ok(Parts { width, height, across: 1, tiles: vec![meta.places(id)?] })
}

fn metadata(task: &Task, source: &Source, meta: &Meta, header: &mut Header) -> Result<()> {
    for (id, kind) in meta.items() {
        let is_xmp = &kind == b"mime";
        if &kind != b"Exif" && !is_xmp {
            continue;
        }
        let Ok(places) = meta.places(id) else { continue };
        let bytes = isobmff::joined(task, source, &places, limits::HEADER)?;
        if is_xmp {
            header.attribute("XMP", String::from_utf8_lossy(&bytes).into_owned());
        } else {
            // Four bytes say where the TIFF header is.
            let skip = be::<u32>(&bytes, 0).unwrap_or(0) as usize;
            let told = header.info.orientation;
            exif::add(header, bytes.get(4 + skip..).unwrap_or_default());
            // Boxes count, not EXIF (ISO 23008-12, 6.5.10).
            header.info.orientation = told;
        }
    }
    Ok(())
}

/// The frames of a sequence.
struct Frames {
    samples: Vec<Range<u64>>,
    times: Vec<u32>,
    sides: (u64, u64),
}

/// The track of pictures; `None` where there is none.
fn frames(task: &Task, source: &Source, all: &[Atom]) -> Result<Option<Frames>> {
    let Some(movie) = find(all, b"moov") else { return Ok(None) };
    let movie = isobmff::movie::Movie::read(task, source, movie)?;
    let Some(track) = movie.tracks.iter().find(|track| &track.handler == b"pict") else { return Ok(None) };
    let scale = f64::from(track.timescale.max(1));
    let samples = track.samples(task, source)?;
    let times = samples
        .durations
        .iter()
        .map(|duration| (*duration as f64 * 1_000.0 / scale).round() as u32)
        .collect();
    Ok(Some(Frames { samples: samples.places, times, sides: (track.width, track.height) }))
}

struct Avif {
    item: Parts,
    alpha: Option<Parts>,
    animation: Option<Frames>,
}

impl Codec for Avif {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, _partial: bool) -> Result<Pixels> {
        let whole = assembled(task, source, &self.item)?;
        let alpha = self.alpha.as_ref().map(|parts| assembled(task, source, parts)).transpose()?;
        to_rgb(&whole, alpha.as_ref())
    }

    fn play(&self, _task: &Task, source: &Source, _partial: bool) -> Result<Option<Box<dyn Player>>> {
        let Some(animation) = &self.animation else { return Ok(None) };
        let samples = animation.samples.clone();
        Ok(Some(Box::new(Sequence { source: source.clone(), samples, at: 0, decoder: Decoder::new()? })))
    }
}

struct Sequence {
    source: Source,
    samples: Vec<Range<u64>>,
    at: usize,
    decoder: Decoder,
}

impl Player for Sequence {
    fn next(&mut self, task: &Task) -> Result<Pixels> {
        let none = || Error::malformed("AVIF: the sequence ends early");
        let place = self.samples.get(self.at).cloned().ok_or_else(none)?;
        self.at += 1;
        limits::check(place.end - place.start, limits::CHUNK, "a frame of AV1")?;
        let bytes = self.source.read(task, place)?;
        let frame = self.decoder.decode(task, &bytes)?.pop().ok_or_else(none)?;
        to_rgb(&frame, None)
    }
}

/// Decodes the tiles of a picture and puts them together.
fn assembled(task: &Task, source: &Source, parts: &Parts) -> Result<Frame> {
    picture::check_pixels(parts.width, parts.height)?;
    let mut whole: Option<Frame> = None;
    for (n, places) in parts.tiles.iter().enumerate() {
        let bytes = isobmff::joined(task, source, places, limits::CHUNK)?;
        let none = || Error::malformed("AVIF: an item gives no frame");
        let frame = Decoder::new()?.decode(task, &bytes)?.into_iter().next().ok_or_else(none)?;
        if parts.tiles.len() == 1 {
            return Ok(frame);
        }
        let whole = whole.get_or_insert_with(|| Frame {
            width: parts.width as usize,
            height: parts.height as usize,
            planes: Default::default(),
            ..frame
        });
        if (frame.bits, frame.subsampling) != (whole.bits, whole.subsampling) {
            return Err(Error::malformed("AVIF: the tiles of a picture are not of one kind"));
        }
        let (x, y) = (n as u64 % parts.across.max(1), n as u64 / parts.across.max(1));
        place(whole, &frame, x as usize * frame.width, y as usize * frame.height)?;
    }
    whole.ok_or_else(|| Error::malformed("AVIF: a picture without tiles"))
}

/// Copies a tile to where it belongs.
fn place(whole: &mut Frame, tile: &Frame, left: usize, top: usize) -> Result<()> {
    let (h, v) = whole.subsampling.unwrap_or((1, 1));
    for n in 0..if whole.subsampling.is_some() { 3 } else { 1 } {
        let (h, v) = if n == 0 { (1, 1) } else { (h, v) };
        let (across, down) = (whole.width.div_ceil(h), whole.height.div_ceil(v));
        let (wide, left, top) = (tile.width.div_ceil(h), left / h, top / v);
        let (Some(to), Some(from)) = (whole.planes.get_mut(n), tile.planes.get(n)) else { break };
        if to.is_empty() {
            limits::zeroed(across * down * 2, "the decoded image")?;
            *to = vec![0; across * down];
        }
        for (row, line) in from.chunks_exact(wide.max(1)).enumerate() {
            let count = wide.min(across.saturating_sub(left));
            let at = (top + row) * across + left;
            if let (true, Some(place), Some(line)) =
                (top + row < down, to.get_mut(at..at + count), line.get(..count))
            {
                place.copy_from_slice(line);
            }
        }
    }
    Ok(())
}

/// How much red and blue weigh in luminance, by the number of the matrix in H.273.
fn weights(matrix: u32) -> (f64, f64) {
    match matrix {
        1 => (0.2126, 0.0722),
        4 => (0.30, 0.11),
        7 => (0.212, 0.087),
        9 | 10 => (0.2627, 0.0593),
        _ => (0.299, 0.114),
    }
}

/// RGB of a frame, with alpha where there is a frame of it; 8 bits, or 16 of which the range is filled.
fn to_rgb(frame: &Frame, alpha: Option<&Frame>) -> Result<Pixels> {
    let sample = if frame.bits > 8 { Sample::U16 } else { Sample::U8 };
    let channels = if alpha.is_some() { 4 } else { 3 };
    let mut pixels = blank(frame.width as u64, frame.height as u64, channels, sample, alpha.is_some())?;
    let most = f64::from((1u32 << frame.bits) - 1);
    let unit = f64::from(1u32 << (frame.bits - 8));
    let (red, blue) = weights(frame.matrix);
    let green = 1.0 - red - blue;
    let (h, v) = frame.subsampling.unwrap_or((1, 1));
    let across = frame.width.div_ceil(h);
    let [luma, cb, cr] = &frame.planes;
    let at = |plane: &[u16], n: usize| f64::from(plane.get(n).copied().unwrap_or(0));
    let size = sample.size();
    let lines = pixels.data.chunks_exact_mut((frame.width * channels as usize * size).max(1));
    for (y, line) in lines.enumerate() {
        for (x, pixel) in line.chunks_exact_mut(channels as usize * size).enumerate() {
            let y_at = at(luma, y * frame.width + x);
            let n = y / v * across + x / h;
            let scaled = |value: f64, low: f64, range: f64| match frame.full_range {
                true => value,
                false => (value - low * unit) * most / (range * unit),
            };
            let light = scaled(y_at, 16.0, 219.0);
            let rgb = match (frame.subsampling, frame.matrix) {
                (None, _) => [light; 3],
                // Identity: green, blue and red.
                (_, 0) => [scaled(at(cr, n), 16.0, 219.0), light, scaled(at(cb, n), 16.0, 219.0)],
                _ => {
                    let middle = f64::from(1u32 << (frame.bits - 1));
                    let colour = |plane| {
                        let value = at(plane, n) - middle;
                        if frame.full_range { value } else { value * most / (224.0 * unit) }
                    };
                    let (u, v) = (colour(cb), colour(cr));
                    if frame.matrix == 8 {
                        [light - u + v, light + u, light - u - v]
                    } else {
                        let r = light + 2.0 * (1.0 - red) * v;
                        let b = light + 2.0 * (1.0 - blue) * u;
                        [r, (light - red * r - blue * b) / green, b]
                    }
                }
            };
            let opaque = alpha.map(|alpha| {
                let value = at(&alpha.planes[0], y * alpha.width + x);
                let value = if alpha.full_range { value } else { (value - 16.0) * 255.0 / 219.0 };
                value * most / f64::from((1u32 << alpha.bits) - 1)
            });
            for (value, place) in rgb.into_iter().chain(opaque).zip(pixel.chunks_exact_mut(size)) {
                // Of more than 8 bits the range of 16 is filled, as other readers do it.
                let value = if size == 1 { value } else { value * 65_535.0 / most };
                let value = value.round().clamp(0.0, if size == 1 { most } else { 65_535.0 }) as u16;
                place.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
            }
        }
    }
    Ok(pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_keep_greys() {
        for matrix in [1, 5, 6, 8, 9] {
            let frame = Frame {
                width: 2,
                height: 1,
                bits: 8,
                subsampling: Some((2, 2)),
                planes: [vec![16, 235], vec![128], vec![128]],
                matrix,
                full_range: false,
            };
            assert_eq!(to_rgb(&frame, None).unwrap().data, [0, 0, 0, 255, 255, 255], "{matrix}");
        }
    }
}
