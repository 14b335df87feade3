//! Blosc 2's contiguous frames: chunks, their places, and what is said about them. HDF5's filter 32026 stores
//! each of its chunks as one, mostly with the `b2nd` layer of n-dimensional arrays.
//! <https://github.com/Blosc/c-blosc2/blob/main/README_CFRAME_FORMAT.rst>
//! <https://github.com/Blosc/c-blosc2/blob/main/README_B2ND_METALAYER.rst>

use super::{blosc, cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{be, be_unsigned};

/// The most dimensions of an array.
const DIMENSIONS: usize = 16;
/// Where the layers' names begin in the header.
const LAYERS: usize = 0x5e;

/// What a frame's header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of an element.
    pub typesize: usize,
    /// Bytes of all elements, padding of an array's blocks with them.
    pub size: usize,
    /// Bytes of a decoded chunk.
    pub chunk: usize,
    /// The n-dimensional array that it holds, if it is one.
    pub array: Option<Shape>,
    header: usize,
    stored: usize,
}

/// An array in chunks, which are in blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Elements along each dimension.
    pub shape: Vec<usize>,
    /// Those of a chunk.
    pub chunk: Vec<usize>,
    /// Those of a block.
    pub block: Vec<usize>,
    /// NumPy's word for the type, where it is given.
    pub dtype: String,
}

/// Whether these bytes begin a frame.
pub fn is_frame(input: &[u8]) -> bool {
    input.get(2..10) == Some(b"b2frame\0")
}

impl Frame {
    /// Reads a frame's header.
    ///
    /// # Errors
    /// `Malformed` where it is none, `Unsupported` for frames that lie in a folder.
    pub fn read(input: &[u8]) -> Result<Frame> {
        if !is_frame(input) {
            return Err(Error::malformed("Blosc2 frame: it does not begin with b2frame"));
        }
        let number = |at: usize, bytes: usize| -> Result<usize> {
            let field =
                input.get(at..).and_then(|b| b.get(..bytes)).ok_or_else(|| cut_off("Blosc2 frame"))?;
            let value = be_unsigned(field);
            usize::try_from(value).ok().filter(|&n| n < 1 << 62).ok_or_else(|| sizes("Blosc2 frame"))
        };
        if input.get(0x1a).is_some_and(|kind| kind & 15 != 0) {
            return Err(Error::unsupported("Blosc2 frame: one whose chunks are files of their own"));
        }
        let header = number(0x0b, 4)?;
        let mut frame = Frame {
            typesize: number(0x30, 4)?,
            size: number(0x1e, 8)?,
            chunk: number(0x3a, 4)?,
            array: None,
            header,
            stored: number(0x27, 8)?,
        };
        let head = input.get(..header).ok_or_else(|| cut_off("Blosc2 frame"))?;
        if let Some(layer) = layer(head, b"b2nd").or_else(|| layer(head, b"caterva")) {
            frame.array = Some(Shape::read(layer)?);
        }
        Ok(frame)
    }

    /// The places of the chunks, counted from the header's end; negative ones stand for special values.
    fn places(&self, input: &[u8]) -> Result<Vec<i64>> {
        let count = if self.chunk == 0 { 0 } else { self.size.div_ceil(self.chunk) };
        if count == 0 {
            return Ok(Vec::new());
        }
        let index = self.header.checked_add(self.stored).and_then(|at| input.get(at..));
        let bytes = blosc::decode(index.ok_or_else(|| cut_off("Blosc2 frame"))?, count.saturating_mul(8))?;
        let places: Vec<i64> = bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect();
        if places.len() == count { Ok(places) } else { Err(sizes("Blosc2 frame")) }
    }

    /// The decoded chunk at a place; `len` bytes are its own.
    fn chunk_at(&self, input: &[u8], place: i64, len: usize) -> Result<Vec<u8>> {
        if let Ok(place) = usize::try_from(place) {
            let at = self.header.checked_add(place).and_then(|at| input.get(at..));
            return blosc::decode(at.ok_or_else(|| cut_off("Blosc2 frame"))?, len);
        }
        let mut out = limits::buffer(len as u64, "Blosc2 frame")?;
        if place >> 56 & 2 != 0 {
            match self.typesize {
                4 => out.as_chunks_mut::<4>().0.fill(f32::NAN.to_le_bytes()),
                8 => out.as_chunks_mut::<8>().0.fill(f64::NAN.to_le_bytes()),
                _ => return Err(Error::malformed("Blosc2 frame: not-a-number of a type that is no float")),
            }
        }
        Ok(out)
    }
}

fn sizes(what: &str) -> Error {
    Error::malformed(format!("{what}: its sizes are impossible"))
}

/// The content of the header's layer of this name.
fn layer<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let count = be::<u16>(head, LAYERS - 2)?;
    let mut at = LAYERS;
    for _ in 0..count {
        let len = usize::from(head.get(at)? & 31);
        let here = head.get(at + 1..at + 1 + len)?;
        let place = be::<u32>(head, at + 2 + len)? as usize;
        if here == name {
            // 0xc6, four bytes of length, the content.
            let len = be::<u32>(head, place.checked_add(1)?)? as usize;
            return head.get(place + 5..)?.get(..len);
        }
        at += len + 6;
    }
    None
}

impl Shape {
    fn read(layer: &[u8]) -> Result<Shape> {
        Self::parse(layer).ok_or_else(|| Error::malformed("Blosc2 frame: its array layer is damaged"))
    }

    fn parse(layer: &[u8]) -> Option<Shape> {
        let rank = usize::from(*layer.get(2)?);
        if rank > DIMENSIONS {
            return None;
        }
        let mut at = 3;
        let mut sides = |bytes: usize| -> Option<Vec<usize>> {
            at += 1;
            let mut out = Vec::with_capacity(rank);
            for _ in 0..rank {
                let field = layer.get(at + 1..)?.get(..bytes)?;
                let value = be_unsigned(field);
                out.push(usize::try_from(value).ok()?);
                at += 1 + bytes;
            }
            Some(out)
        };
        let (shape, chunk, block) = (sides(8)?, sides(4)?, sides(4)?);
        let valid = shape.iter().zip(&chunk).zip(&block).all(|((_, c), b)| *b > 0 && *b <= *c);
        let dtype = (layer.get(at + 2..))
            .and_then(|rest| rest.split_first_chunk::<4>())
            .and_then(|(len, text)| text.get(..u32::from_be_bytes(*len) as usize))
            .map_or(String::new(), |text| String::from_utf8_lossy(text).into_owned());
        (valid || shape.contains(&0)).then_some(Shape { shape, chunk, block, dtype })
    }

    /// Chunks along each dimension, and blocks of a chunk.
    fn grids(&self) -> (Vec<usize>, Vec<usize>) {
        let chunks = self.shape.iter().zip(&self.chunk).map(|(len, side)| len.div_ceil((*side).max(1)));
        let blocks = self.chunk.iter().zip(&self.block).map(|(len, side)| len.div_ceil((*side).max(1)));
        (chunks.collect(), blocks.collect())
    }
}

/// Decodes a frame: an array's elements in C order, or all chunks one after the other.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes, `Unsupported` as [`blosc::decode`].
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let frame = Frame::read(input)?;
    let places = frame.places(input)?;
    if let Some(shape) = &frame.array {
        return array(&frame, shape, &places, input, most);
    }
    if frame.size > most {
        return Err(too_much("Blosc2 frame", most));
    }
    let mut out = Vec::new();
    for place in places {
        let len = frame.chunk.min(frame.size - out.len());
        let chunk = frame.chunk_at(input, place, len)?;
        if chunk.len() != len {
            return Err(sizes("Blosc2 frame"));
        }
        out.extend_from_slice(&chunk);
    }
    Ok(out)
}

/// An array's elements in C order.
fn array(frame: &Frame, shape: &Shape, places: &[i64], input: &[u8], most: usize) -> Result<Vec<u8>> {
    let product = |sides: &[usize]| sides.iter().try_fold(frame.typesize, |n, side| n.checked_mul(*side));
    let size = product(&shape.shape).filter(|&n| n <= most).ok_or_else(|| too_much("Blosc2 frame", most))?;
    let mut out = limits::buffer(size as u64, "Blosc2 frame")?;
    if size == 0 {
        return Ok(out);
    }
    let (chunks, blocks) = shape.grids();
    let count = chunks.iter().try_fold(1usize, |n, side| n.checked_mul(*side));
    let block_bytes = product(&shape.block).ok_or_else(|| sizes("Blosc2 frame"))?;
    if count != Some(places.len()) || block_bytes.checked_mul(blocks.iter().product()) != Some(frame.chunk) {
        return Err(sizes("Blosc2 frame"));
    }
    for (n, &place) in places.iter().enumerate() {
        let chunk = frame.chunk_at(input, place, frame.chunk)?;
        let corner: Vec<usize> =
            index(n, &chunks).iter().zip(&shape.chunk).map(|(i, side)| i * side).collect();
        for (m, block) in chunk.chunks_exact(block_bytes).enumerate() {
            let inner: Vec<usize> = index(m, &blocks).iter().zip(&shape.block).map(|(i, s)| i * s).collect();
            put(block, shape, &corner, &inner, &mut out, frame.typesize);
        }
    }
    Ok(out)
}

/// The coordinates of the n-th of a grid in C order.
fn index(n: usize, counts: &[usize]) -> Vec<usize> {
    let mut rest = n;
    let mut out: Vec<usize> = counts
        .iter()
        .rev()
        .map(|&count| {
            let here = rest % count.max(1);
            rest /= count.max(1);
            here
        })
        .collect();
    out.reverse();
    out
}

/// Copies what of a block lies in its chunk and in the array to its place.
fn put(block: &[u8], shape: &Shape, corner: &[usize], inner: &[usize], out: &mut [u8], size: usize) {
    let rank = shape.shape.len();
    // What is padding along a dimension: beyond the chunk, or beyond the array.
    let starts = || shape.shape.iter().zip(corner).zip(inner);
    let ends = starts().zip(shape.chunk.iter().zip(&shape.block)).map(
        |(((side, corner), inner), (chunk, block))| {
            let chunk_end = (*chunk).min(side.saturating_sub(*corner));
            (*block).min(chunk_end.saturating_sub(*inner))
        },
    );
    let ends: Vec<usize> = ends.collect();
    if ends.contains(&0) {
        return;
    }
    let (run, outer) = ends.split_last().map_or((1, &[][..]), |(last, outer)| (*last, outer));
    let rows: usize = outer.iter().product();
    for row in 0..rows {
        let mut at = index(row, outer);
        at.resize(rank, 0);
        let from = at.iter().zip(&shape.block).fold(0, |flat, (i, side)| flat * side + i);
        let to = starts()
            .zip(&at)
            .fold(0, |flat, (((side, corner), inner), at)| flat * side + corner + inner + at);
        let to = out.get_mut(to * size..).and_then(|rest| rest.get_mut(..run * size));
        let from = block.get(from * size..).and_then(|rest| rest.get(..run * size));
        if let (Some(to), Some(from)) = (to, from) {
            to.copy_from_slice(from);
        }
    }
}
