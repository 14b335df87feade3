//! Images in compressed tiles: a binary table with a row for each tile. Integers are compressed without loss, floats by
//! gzip as they are, without quantisation. FITS 4.0, section 10.

use super::super::rice;
use super::cards::Cards;
use super::image::Pixels;
use super::unit::Data;
use crate::bytes::codec::shuffle::shuffle;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::chunked::write::each_chunk;
use crate::data::content::array;
use crate::data::dtype::swap_bytes;
use crate::data::region::Region;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Pixels of a block of Rice's.
const BLOCK: usize = 32;
/// About how many bytes a tile has that nobody chose.
const TILE: u64 = 256 << 10;

/// How tiles are compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    pub method: Method,
    pub level: u32,
    /// The sides of a tile, the slowest first, where they were chosen.
    pub tile: Option<Vec<u64>>,
}

/// The algorithms that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Rice,
    Gzip,
    /// Bytes sorted by their places before.
    Shuffled,
}

impl Packing {
    /// The method for an image: Rice's takes integers of 32 bits at most.
    fn method(&self, pixels: &Pixels) -> Method {
        match self.method {
            Method::Rice if !matches!(pixels.bits, 8 | 16 | 32) => Method::Shuffled,
            method => method,
        }
    }

    /// The sides of a tile.
    ///
    /// # Errors
    /// `Unsupported` for a chosen tile of other dimensions.
    pub(super) fn tile(&self, pixels: &Pixels) -> Result<Vec<u64>> {
        let shape = pixels.shape();
        match &self.tile {
            Some(tile) if tile.len() == shape.len() => {
                let tile: Vec<u64> =
                    tile.iter().zip(&shape).map(|(side, len)| *side.min(&(*len).max(1))).collect();
                limits::check(limits::bytes(&tile, pixels.size() as u64)?, limits::CHUNK / 4, "a tile")?;
                Ok(tile)
            }
            Some(tile) => Err(Error::unsupported(format!(
                "tile={tile:?} of {} dimensions for an array of {}",
                tile.len(),
                shape.len()
            ))),
            None => Ok(rows(&shape, (TILE / pixels.size().max(1) as u64).max(1))),
        }
    }

    /// The cards of the table and of the image in it; `heap` and `longest` are the bytes of all tiles and of the
    /// longest one.
    pub(super) fn cards(&self, pixels: &Pixels, heap: u64, longest: u64) -> Result<Cards> {
        let (tile, shape) = (self.tile(pixels)?, pixels.shape());
        let mut cards = Cards::default();
        let wide = is_wide(pixels);
        cards.say("XTENSION", "BINTABLE", "compressed image");
        cards.say("BITPIX", 8, "");
        cards.say("NAXIS", 2, "");
        cards.say("NAXIS1", if wide { 16 } else { 8 }, "bytes of a row");
        cards.say("NAXIS2", count(&shape, &tile)?, "tiles");
        cards.say("PCOUNT", heap, "bytes of the heap");
        cards.say("GCOUNT", 1, "");
        cards.say("TFIELDS", 1, "");
        cards.say("TTYPE1", "COMPRESSED_DATA", "");
        cards.say("TFORM1", format!("1{}B({longest})", if wide { 'Q' } else { 'P' }), "");
        cards.say("ZIMAGE", true, "");
        cards.say("ZTENSION", "IMAGE", "");
        cards.say("ZBITPIX", pixels.bits, "");
        pixels.put_sides("ZNAXIS", &mut cards);
        cards.say("ZPCOUNT", 0, "");
        cards.say("ZGCOUNT", 1, "");
        for (n, side) in tile.iter().rev().enumerate() {
            cards.say(&format!("ZTILE{}", n + 1), *side, "");
        }
        match self.method(pixels) {
            Method::Rice => {
                cards.say("ZCMPTYPE", "RICE_1", "");
                cards.say("ZNAME1", "BLOCKSIZE", "");
                cards.say("ZVAL1", BLOCK as u64, "");
                cards.say("ZNAME2", "BYTEPIX", "");
                cards.say("ZVAL2", pixels.size() as u64, "");
            }
            Method::Gzip => cards.say("ZCMPTYPE", "GZIP_1", ""),
            Method::Shuffled => cards.say("ZCMPTYPE", "GZIP_2", ""),
        }
        if pixels.bits < 0 {
            cards.say("ZQUANTIZ", "NONE", "floats are not rounded");
        }
        Ok(cards)
    }

    /// Writes all tiles: their descriptors, and behind them what they refer to. Bytes of the heap and of its longest
    /// tile.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub(super) fn put(&self, task: &Task, pixels: &Pixels, data: &mut Data<'_>) -> Result<(u64, u64)> {
        let (tile, shape, method) = (self.tile(pixels)?, pixels.shape(), self.method(pixels));
        let wide = is_wide(pixels);
        let bytes = limits::bytes(&[count(&shape, &tile)?], if wide { 16 } else { 8 })?;
        let mut descriptors = Vec::with_capacity(limits::check(bytes, limits::CHUNK, "the list of tiles")?);
        data.seek(bytes)?;
        let (mut heap, mut longest) = (0u64, 0u64);
        let pixels_of = |index: &[u64]| -> Result<Vec<u8>> {
            // An image of one pixel may be an array without dimensions.
            let rank = pixels.array.shape().len();
            let region = Region::of_part(
                index.get(..rank).unwrap_or_default(),
                tile.get(..rank).unwrap_or_default(),
                pixels.array.shape(),
            );
            let mut raw = array::read(pixels.array.as_ref(), task, &region)?;
            pixels.stored(&mut raw);
            self.compressed(raw, method, pixels.size())
        };
        let mut put = |packed: &[u8]| -> Result<()> {
            let len = packed.len() as u64;
            match wide {
                true => descriptors.extend([len.to_be_bytes(), heap.to_be_bytes()].concat()),
                false => {
                    descriptors.extend([(len as u32).to_be_bytes(), (heap as u32).to_be_bytes()].concat())
                }
            }
            heap += len;
            longest = longest.max(len);
            data.put(packed)
        };
        if pixels.array.shape().is_empty() {
            put(&pixels_of(&[])?)?;
        } else {
            each_chunk(task, pixels.array.as_ref(), &tile, pixels_of, |_, packed| put(&packed))?;
        }
        data.seek(0)?;
        data.put(&descriptors)?;
        Ok((heap, longest))
    }

    /// The bytes of a tile, from little-endian stored pixels.
    fn compressed(&self, mut raw: Vec<u8>, method: Method, size: usize) -> Result<Vec<u8>> {
        if method == Method::Rice {
            return Ok(rice::encode(&raw, BLOCK, size));
        }
        swap_bytes(&mut raw, size);
        if method == Method::Shuffled && size > 1 {
            raw = shuffle(&raw, size);
        }
        let mut encoder =
            GzEncoder::new(Vec::with_capacity(raw.len() / 2 + 64), Compression::new(self.level));
        encoder.write_all(&raw)?;
        Ok(encoder.finish()?)
    }
}

/// Whole rows of about `most` pixels, as many as fit.
fn rows(shape: &[u64], most: u64) -> Vec<u64> {
    let (mut tile, mut left) = (vec![1; shape.len()], most.max(1));
    for (side, len) in tile.iter_mut().zip(shape).rev() {
        *side = (*len).min(left).max(1);
        left /= *side;
        if *side < *len {
            break;
        }
    }
    tile
}

/// How many tiles there are.
fn count(shape: &[u64], tile: &[u64]) -> Result<u64> {
    limits::elements(&strides::counts(shape, tile))
}

/// Whether places in the heap may not fit into 31 bits: compression may add a little to what it cannot compress.
fn is_wide(pixels: &Pixels) -> bool {
    let bytes = limits::bytes(&pixels.shape(), pixels.size() as u64).unwrap_or(u64::MAX);
    bytes > (1 << 30) + (1 << 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_rows_that_lie_together() {
        assert_eq!(rows(&[100, 200, 50], 1000), [1, 20, 50]);
        assert_eq!(rows(&[3, 200, 50], 1 << 20), [3, 200, 50]);
        assert_eq!(rows(&[10, 5000], 1000), [1, 1000]);
        assert_eq!(rows(&[0, 7], 1000), [1, 7]);
    }
}
