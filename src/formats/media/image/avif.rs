//! AVIF (<https://aomediacodec.github.io/av1-avif/>): still pictures of AV1 in boxes of HEIF (ISO 23008-12), with alpha and
//! in tiles; and sequences of them as animations.
//!
//! What the boxes say is read here; pixels are decoded by a process of its own ([`ffmpeg`]), since the decoder of AV1 in
//! Rust ends the program on damaged streams. How the picture is to be turned is told, not done.

use super::exif;
use super::picture::{self, Codec, Header, Player};
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
use crate::engines::ffmpeg::{self, Coding, Decoder};
use crate::engines::isobmff::tiles::{self, Tiles};
use crate::engines::isobmff::{self, Meta, Property};
use bytes::Bytes;
use std::ops::Range;

/// What AV1 is called in the container that the decoder is given.
const CODEC: &str = "V_AV1";
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
    let deep = header.info.bits > 8;
    picture::node(source, header, Avif { item, alpha, animation, deep })
}

/// The coded pieces of a picture, and how they are coded.
#[derive(Clone, Debug, Default)]
struct Parts {
    tiles: Tiles,
    /// What configures the decoder.
    configuration: Bytes,
}

/// The primary item, and the one that is its alpha.
fn still(meta: &Meta, header: &mut Header) -> Result<(Parts, Option<Parts>)> {
    let primary = meta.primary.ok_or_else(|| Error::malformed("AVIF: no item is the primary one"))?;
    let parts = parts(meta, primary)?;
    let info = &mut header.info;
    (info.width, info.height) = (parts.tiles.width, parts.tiles.height);
    info.bits = 8;
    let shown = tiles::coded(meta, primary);
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
            Property::Profile(profile) => header.profile(profile.clone()),
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
    if parts.tiles.places.len() > 1 {
        header.detail("tiles", parts.tiles.places.len().to_string());
    }
    Ok((parts, alpha))
}

/// The coded pieces of an item.
fn parts(meta: &Meta, id: u32) -> Result<Parts> {
    let tiles = Tiles::of(meta, id, &[b"av01"])?;
    Ok(Parts { tiles, configuration: configuration(meta, tiles::coded(meta, id)) })
}

/// What configures the decoder of an item.
fn configuration(meta: &Meta, id: u32) -> Bytes {
    let found = meta.properties(id).find_map(|property| match property {
        Property::Av1(bytes) => Some(bytes.clone()),
        _ => None,
    });
    found.unwrap_or_default()
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
            header.xmp(&bytes);
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
    /// What configures the decoder.
    configuration: Vec<u8>,
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
    let configuration = track.configured(b"av1C").map(|bytes| bytes.to_vec()).unwrap_or_default();
    Ok(Some(Frames { samples: samples.places, times, sides: (track.width, track.height), configuration }))
}

struct Avif {
    item: Parts,
    alpha: Option<Parts>,
    animation: Option<Frames>,
    /// More than 8 bits a sample.
    deep: bool,
}

impl Avif {
    /// What pixels are asked for, and the bytes of one.
    fn layout(&self, alpha: bool) -> (&'static str, u32) {
        match (self.deep, alpha) {
            (false, false) => ("rgb24", 3),
            (false, true) => ("gray", 1),
            (true, false) => ("rgb48le", 6),
            (true, true) => ("gray16le", 2),
        }
    }

    /// Decodes a picture.
    fn decoded(&self, task: &Task, source: &Source, parts: &Parts, alpha: bool) -> Result<Vec<u8>> {
        picture::check_pixels(parts.tiles.width, parts.tiles.height)?;
        let (layout, pixel) = self.layout(alpha);
        let (width, height) = parts.tiles.tile;
        let private = parts.configuration.to_vec();
        let coding = Coding { id: CODEC.to_owned(), private, width, height };
        parts.tiles.decode(task, source, &coding, (layout, pixel.into()))
    }

    fn pixels(&self, width: u64, height: u64, colours: Vec<u8>, alpha: Option<Vec<u8>>) -> Pixels {
        let sample = if self.deep { Sample::U16 } else { Sample::U8 };
        let Some(alpha) = alpha else {
            return Pixels { width, height, channels: 3, sample, alpha: false, data: colours };
        };
        let size = sample.size();
        let mut data = Vec::with_capacity(colours.len() + alpha.len());
        for (colour, alpha) in colours.chunks_exact(3 * size).zip(alpha.chunks_exact(size)) {
            data.extend_from_slice(colour);
            data.extend_from_slice(alpha);
        }
        Pixels { width, height, channels: 4, sample, alpha: true, data }
    }
}

impl Codec for Avif {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, _partial: bool) -> Result<Pixels> {
        let colours = self.decoded(task, source, &self.item, false)?;
        let alpha = self.alpha.as_ref().map(|parts| self.decoded(task, source, parts, true)).transpose()?;
        Ok(self.pixels(self.item.tiles.width, self.item.tiles.height, colours, alpha))
    }

    fn play(&self, _task: &Task, source: &Source, _partial: bool) -> Result<Option<Box<dyn Player>>> {
        let Some(animation) = &self.animation else { return Ok(None) };
        let (layout, pixel) = self.layout(false);
        let (width, height) = animation.sides;
        picture::check_pixels(width, height)?;
        let size = limits::bytes(&[width, height], pixel.into())?;
        let size = limits::check(size, limits::CHUNK, "a frame")?;
        let mut decoder = Decoder::start(layout, size)?;
        let private = animation.configuration.clone();
        decoder.put(ffmpeg::header(&Coding { id: CODEC.to_owned(), private, width, height }));
        let (source, samples) = (source.clone(), animation.samples.clone());
        let sample = if self.deep { Sample::U16 } else { Sample::U8 };
        Ok(Some(Box::new(Sequence { source, samples, at: 0, decoder, sides: (width, height), sample })))
    }
}

struct Sequence {
    source: Source,
    samples: Vec<Range<u64>>,
    at: usize,
    decoder: Decoder,
    sides: (u64, u64),
    sample: Sample,
}

impl Player for Sequence {
    fn next(&mut self, task: &Task) -> Result<Pixels> {
        let Sequence { source, samples, at, decoder, sides: (width, height), sample } = self;
        let mut more = || -> Result<Option<Vec<u8>>> {
            let Some(place) = samples.get(*at).cloned() else { return Ok(None) };
            limits::check(place.end.saturating_sub(place.start), limits::CHUNK, "a frame of AV1")?;
            let bytes = source.read(task, place)?;
            *at += 1;
            Ok(Some(ffmpeg::packet(&bytes, *at as u64 - 1, *at == 1)))
        };
        let none = || Error::malformed("AVIF: the sequence ends early");
        let data = decoder.frame(task, &mut more)?.ok_or_else(none)?;
        Ok(Pixels { width: *width, height: *height, channels: 3, sample: *sample, alpha: false, data })
    }
}
