//! Blosc 2's contiguous frames: chunks, their places, and what is said about them. HDF5's filter 32026 stores
//! each of its chunks as one, mostly with the `b2nd` layer of n-dimensional arrays.
//! <https://github.com/Blosc/c-blosc2/blob/main/README_CFRAME_FORMAT.rst>
//! <https://github.com/Blosc/c-blosc2/blob/main/README_B2ND_METALAYER.rst>

use super::{blosc, cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{be, be_unsigned};
use crate::bytes::strides;

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
    pub shape: Vec<u64>,
    /// Those of a chunk.
    pub chunk: Vec<u64>,
    /// Those of a block.
    pub block: Vec<u64>,
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
        let mut sides = |bytes: usize| -> Option<Vec<u64>> {
            at += 1;
            let mut out = Vec::with_capacity(rank);
            for _ in 0..rank {
                let field = layer.get(at + 1..)?.get(..bytes)?;
                out.push(be_unsigned(field));
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
    let product = |sides: &[u64]| usize::try_from(limits::bytes(sides, frame.typesize as u64).ok()?).ok();
    let size = product(&shape.shape).filter(|&n| n <= most).ok_or_else(|| too_much("Blosc2 frame", most))?;
    let mut out = limits::buffer(size as u64, "Blosc2 frame")?;
    if size == 0 {
        return Ok(out);
    }
    let chunks = strides::counts(&shape.shape, &shape.chunk);
    let blocks = strides::counts(&shape.chunk, &shape.block);
    let block_bytes = product(&shape.block).ok_or_else(|| sizes("Blosc2 frame"))?;
    let chunk_bytes = limits::bytes(&blocks, block_bytes as u64);
    if limits::elements(&chunks).ok() != Some(places.len() as u64)
        || chunk_bytes.ok() != Some(frame.chunk as u64)
    {
        return Err(sizes("Blosc2 frame"));
    }
    for (n, &place) in places.iter().enumerate() {
        let chunk = frame.chunk_at(input, place, frame.chunk)?;
        let chunk_at = strides::unravel(n as u64, &chunks);
        for (m, block) in chunk.chunks_exact(block_bytes).enumerate() {
            let block_at = strides::unravel(m as u64, &blocks);
            let sides = shape.chunk.iter().zip(&shape.block);
            let start = chunk_at
                .iter()
                .zip(&block_at)
                .zip(sides)
                .map(|((c, b), (chunk, block))| c * chunk + b * block);
            // What of a block is padding beyond its chunk falls to chunks that follow, which write over it.
            let start: Vec<u64> = start.collect();
            strides::paste(block, &shape.block, &mut out, &shape.shape, &start, frame.typesize);
        }
    }
    Ok(out)
}
