//! A picture of HEIF that is one coded item or a grid of them (ISO 23008-12, 6.6.2.3), and how it is put together.

use super::{Meta, Property, joined};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::ffmpeg::{self, Coding, Decoder};
use std::ops::Range;

/// The coded pieces of a picture: a tile each, row by row.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    /// Pixels of the whole.
    pub width: u64,
    /// See `width`.
    pub height: u64,
    /// Tiles across.
    pub across: u64,
    /// Where the bytes of each lie.
    pub places: Vec<Vec<Range<u64>>>,
    /// Width and height of a tile.
    pub tile: (u64, u64),
}

/// The width and height that an item says it has.
///
/// # Errors
/// `Malformed` where it says none.
pub fn size(meta: &Meta, id: u32) -> Result<(u64, u64)> {
    let size = meta.properties(id).find_map(|property| match property {
        Property::Size(width, height) => Some((u64::from(*width), u64::from(*height))),
        _ => None,
    });
    size.filter(|(width, height)| *width > 0 && *height > 0)
        .ok_or_else(|| Error::malformed(format!("HEIF: item {id} has no size")))
}

/// The item that tells how a picture is coded: the first tile of a grid, else itself.
pub fn coded(meta: &Meta, id: u32) -> u32 {
    match meta.kind(id) {
        Some(kind) if kind == *b"grid" => meta.references(id, b"dimg").first().copied().unwrap_or(id),
        _ => id,
    }
}

impl Tiles {
    /// The pieces of an item, which are of one of these kinds.
    ///
    /// # Errors
    /// `Malformed` for items without a place or size and grids whose tiles are too few; `Unsupported` for other kinds.
    pub fn of(meta: &Meta, id: u32, kinds: &[&[u8; 4]]) -> Result<Tiles> {
        let wrong = |what: String| Error::malformed(format!("HEIF: {what}"));
        let kind = meta.kind(id).ok_or_else(|| wrong(format!("item {id} is not described")))?;
        let is_known = |kind: [u8; 4]| kinds.iter().any(|known| **known == kind);
        let other = |kind: [u8; 4]| {
            let name: String = kind.iter().map(|byte| char::from(*byte)).collect();
            Error::unsupported(format!("HEIF: an item of the type {name}"))
        };
        if &kind != b"grid" {
            if !is_known(kind) {
                return Err(other(kind));
            }
            let (width, height) = size(meta, id)?;
            let places = vec![meta.places(id)?];
            return Ok(Tiles { width, height, across: 1, places, tile: (width, height) });
        }
        let grid = meta.grid(id)?;
        let tiles = meta.references(id, b"dimg");
        if tiles.len() as u64 != grid.rows * grid.columns {
            let what = format!("a grid of {} × {} has {} tiles", grid.columns, grid.rows, tiles.len());
            return Err(wrong(what));
        }
        let first = *tiles.first().ok_or_else(|| wrong("a grid without tiles".to_owned()))?;
        if let Some(kind) = meta.kind(first).filter(|kind| !is_known(*kind)) {
            return Err(other(kind));
        }
        if grid.width == 0 || grid.height == 0 {
            return Err(wrong(format!("a grid of {} × {} pixels", grid.width, grid.height)));
        }
        Ok(Tiles {
            width: grid.width,
            height: grid.height,
            across: grid.columns,
            places: tiles.iter().map(|tile| meta.places(*tile)).collect::<Result<_>>()?,
            tile: size(meta, first)?,
        })
    }

    /// Decodes all tiles and puts them together: pixels of `pixel` bytes in the layout of ffmpeg. `coding` says how tiles
    /// of these sides are coded; all of them alike, by one decoder.
    ///
    /// # Errors
    /// As [`ffmpeg::still`].
    pub fn decode(
        &self,
        task: &Task,
        source: &Source,
        coding: &Coding,
        (layout, pixel): (&str, u64),
    ) -> Result<Vec<u8>> {
        let size = limits::bytes(&[self.width, self.height], pixel)?;
        if let [places] = self.places.as_slice() {
            let bytes = joined(task, source, places, limits::CHUNK)?;
            return ffmpeg::still(task, coding, &bytes, layout, size);
        }
        let mut whole = limits::buffer(size, "the decoded image")?;
        let (wide, high) = self.tile;
        let tile_size = limits::bytes(&[wide, high], pixel)?;
        let mut decoder = Decoder::start_stills(layout, limits::check(tile_size, limits::CHUNK, "a tile")?)?;
        decoder.put(ffmpeg::header(coding));
        let mut next = 0;
        let mut more = || -> Result<Option<Vec<u8>>> {
            let Some(places) = self.places.get(next) else { return Ok(None) };
            let bytes = joined(task, source, places, limits::CHUNK)?;
            next += 1;
            Ok(Some(ffmpeg::packet(&bytes, next as u64 - 1, true)))
        };
        let (row, tile_row) = ((self.width * pixel) as usize, (wide * pixel) as usize);
        for n in 0..self.places.len() as u64 {
            let none = || Error::malformed(format!("HEIF: the decoder gives no tile {n}"));
            let tile = decoder.frame(task, &mut more)?.ok_or_else(none)?;
            let (x, y) = (n % self.across.max(1) * wide, n / self.across.max(1) * high);
            let left = x.saturating_mul(pixel) as usize;
            let count = tile_row.min(row.saturating_sub(left));
            for (line, tile) in (y..self.height).zip(tile.chunks_exact(tile_row.max(1))) {
                let at = line as usize * row + left;
                if let (Some(place), Some(tile)) = (whole.get_mut(at..at + count), tile.get(..count)) {
                    place.copy_from_slice(tile);
                }
            }
        }
        Ok(whole)
    }
}
