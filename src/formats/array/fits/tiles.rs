//! Images that are compressed in tiles: a binary table outside, one tile a row.
//! <https://fits.gsfc.nasa.gov/registry/tilecompression.html>.
//!
//! Floats may be quantised before: to integers with a scale and a zero for each tile. With dithering a
//! number that is made up by a known generator was added to each before it was rounded.

use super::binary::Binary;
use super::column::{Column, Element};
use super::header::Header;
use super::image::{Pixels, facts, shape, turn_sign};
use super::{hcompress, plio, rice};
use crate::bytes::codec::gzip;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::chunked::{Chunked, Chunks, chunk_bytes};
use crate::data::content::Content;
use crate::data::dtype::{ByteOrder, DType};
use crate::data::node::{Node, Value};
use crate::data::region::Region;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// Numbers of the dithering's sequence.
const RANDOM: usize = 10_000;
/// The integer that stands for exactly zero in the second kind of dithering.
const ZERO: i64 = -2_147_483_646;

#[derive(Clone, Copy, PartialEq)]
enum Codec {
    Rice { block: usize, size: u32 },
    Gzip { shuffled: bool },
    Plio,
    Hcompress { smooth: bool },
    None,
}

#[derive(Clone, Copy, PartialEq)]
enum Dither {
    None,
    First,
    Second,
}

/// The tiles of an image.
struct Tiles {
    table: Binary,
    codec: Codec,
    /// Columns of the table: the compressed tiles, those that gzip took instead, and those left as they are.
    compressed: Option<Column>,
    gzip: Option<Column>,
    raw: Option<Column>,
    scale: Option<Number>,
    zero: Option<Number>,
    blank: Option<Number>,
    dither: Dither,
    seed: u64,
    shape: Vec<u64>,
    tile: Vec<u64>,
    stored: DType,
    turned: bool,
}

/// A number that may be another one in each row.
enum Number {
    All(f64),
    Each(Column),
}

/// Gives a node the image.
pub(super) fn fill(source: &Source, header: &Header, bytes: u64, node: &mut Node) -> Result<()> {
    node.attributes = attributes(header);
    let (table, problem) = Binary::new(source, header, bytes)?;
    node.problem = problem;
    let shape = shape(header, "ZNAXIS")?;
    let pixels =
        Pixels::new(header, "ZBITPIX", if header.get("ZBLANK").is_some() { "ZBLANK" } else { "BLANK" })?;
    let name = header.text("ZCMPTYPE").unwrap_or_default().trim().to_owned();
    let tile = tile_shape(header, &shape)?;
    let find = |name: &str| table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name)).cloned();
    let number = |name: &str| find(name).map(Number::Each).or_else(|| header.float(name).map(Number::All));
    let quantised = header.text("ZQUANTIZ").unwrap_or("NO_DITHER").trim().to_owned();
    let dither = match quantised.as_str() {
        "SUBTRACTIVE_DITHER_1" => Dither::First,
        "SUBTRACTIVE_DITHER_2" => Dither::Second,
        _ => Dither::None,
    };
    let float = pixels.stored.is_float() && quantised != "NONE";
    let tiles = Tiles {
        codec: codec(header, &name)?,
        compressed: find("COMPRESSED_DATA"),
        gzip: find("GZIP_COMPRESSED_DATA"),
        raw: find("UNCOMPRESSED_DATA"),
        scale: number("ZSCALE").filter(|_| float),
        zero: number("ZZERO").filter(|_| float),
        blank: number("ZBLANK").or_else(|| header.float("BLANK").map(Number::All)),
        dither,
        seed: header.count("ZDITHER0", 1)?.max(1),
        shape: shape.clone(),
        tile: tile.clone(),
        stored: pixels.stored.clone(),
        turned: pixels.stored != pixels.dtype,
        table,
    };
    let mut facts = facts(header, shape.len(), pixels.scaling);
    facts.codecs = vec![name];
    facts.bytes_stored = Some(bytes);
    if float && tiles.scale.is_some() {
        facts.details.push(("quantised".to_owned(), quantised));
    }
    let array = Chunked::new(pixels.dtype, shape, tile, Vec::new(), Arc::new(tiles))?.facts(facts);
    node.content = Some(Content::Array(Arc::new(array)));
    Ok(())
}

/// The cards of the image inside: those of the table outside are left out.
pub(super) fn attributes(header: &Header) -> Vec<(String, Value)> {
    const OUTSIDE: [&str; 9] =
        ["XTENSION", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT", "TFIELDS", "ZIMAGE"];
    let numbered = |name: &str, prefixes: &[&str]| {
        let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
        prefixes.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(digits))
    };
    let inside = |(name, value): (String, Value)| {
        if let Some(original) = name.strip_prefix('Z').filter(|rest| {
            matches!(*rest, "SIMPLE" | "EXTEND" | "BITPIX" | "NAXIS" | "PCOUNT" | "GCOUNT" | "TENSION")
                || numbered(rest, &["NAXIS"])
        }) {
            return Some((original.to_owned(), value));
        }
        let outside = OUTSIDE.contains(&name.as_str())
            || numbered(&name, &["TTYPE", "TFORM", "ZTILE", "ZNAME", "ZVAL"]);
        (!outside).then_some((name, value))
    };
    header.attributes().into_iter().filter_map(inside).collect()
}

/// A tile is a row of the image where the header says nothing.
fn tile_shape(header: &Header, shape: &[u64]) -> Result<Vec<u64>> {
    let axes = shape.len() as u64;
    let mut tile = Vec::new();
    for n in (1..=axes).rev() {
        let side = shape.get((axes - n) as usize).copied().unwrap_or(1);
        let default = if n == 1 { side } else { 1 };
        tile.push(header.count(&format!("ZTILE{n}"), default)?.min(side).max(1));
    }
    Ok(tile)
}

fn codec(header: &Header, name: &str) -> Result<Codec> {
    let parameter = |name: &str| {
        let at =
            (1..=99).find(|n| header.text(&format!("ZNAME{n}")).is_some_and(|found| found.trim() == name))?;
        header.float(&format!("ZVAL{at}"))
    };
    Ok(match name {
        "RICE_1" | "RICE_ONE" => {
            // Four bytes where nothing is said, whatever the image's own pixels are.
            let size = parameter("BYTEPIX").unwrap_or(4.0) as u32;
            Codec::Rice { block: parameter("BLOCKSIZE").unwrap_or(32.0) as usize, size }
        }
        "GZIP_1" => Codec::Gzip { shuffled: false },
        "GZIP_2" => Codec::Gzip { shuffled: true },
        "PLIO_1" => Codec::Plio,
        "HCOMPRESS_1" => Codec::Hcompress { smooth: parameter("SMOOTH").is_some_and(|smooth| smooth != 0.0) },
        "NOCOMPRESS" => Codec::None,
        other => return Err(Error::unsupported(format!("tiles that are compressed with {other:?}"))),
    })
}

/// What a tile decodes to.
enum Decoded {
    Integers(Vec<i64>),
    /// Little-endian numbers of a type.
    Numbers(DType, Vec<u8>),
}

impl Tiles {
    /// The number of the row of a tile: the first axis of FITS goes fastest, which is the last one here.
    fn row(&self, index: &[u64]) -> u64 {
        strides::ravel(index, &strides::counts(&self.shape, &self.tile))
    }

    /// Pixels of a tile; at the edges there are fewer.
    fn pixels(&self, index: &[u64]) -> Result<usize> {
        let cut = Region::of_part(index, &self.tile, &self.shape).shape();
        chunk_bytes(&DType::I64, &cut).map(|bytes| bytes / 8)
    }

    fn number(&self, task: &Task, number: &Option<Number>, row: u64) -> Result<Option<f64>> {
        match number {
            None => Ok(None),
            Some(Number::All(value)) => Ok(Some(*value)),
            Some(Number::Each(column)) => {
                let Element::Number(dtype) = &column.element else { return Ok(None) };
                let mut bytes = self.table.cell(task, column, row)?.0.to_vec();
                ByteOrder::Big.to_little(dtype, &mut bytes)?;
                let mut values = Vec::new();
                dtype.decode(&bytes, &mut values);
                Ok(values.first().copied())
            }
        }
    }

    /// The cell of a tile in one of the columns, unless it is empty there.
    fn cell(&self, task: &Task, column: &Option<Column>, row: u64) -> Result<Option<(Bytes, Element)>> {
        let Some(column) = column else { return Ok(None) };
        let (bytes, _) = self.table.cell(task, column, row)?;
        Ok((!bytes.is_empty()).then(|| (bytes, column.element.clone())))
    }

    /// A tile that the image's own codec compressed.
    fn decode(&self, bytes: &[u8], count: usize, quantised: bool) -> Result<Decoded> {
        let wide = |values: Vec<i32>| Decoded::Integers(values.into_iter().map(i64::from).collect());
        Ok(match self.codec {
            Codec::Rice { block, size } => wide(rice::decode(bytes, count, block, size)?),
            Codec::Plio => wide(plio::decode(bytes, count)?),
            Codec::Hcompress { smooth } => Decoded::Integers(hcompress::decode(bytes, count, smooth)?),
            Codec::Gzip { shuffled } => self.inflated(bytes, count, shuffled, quantised)?,
            Codec::None => self.numbers(bytes.to_vec(), count, false, quantised)?,
        })
    }

    fn inflated(&self, bytes: &[u8], count: usize, shuffled: bool, quantised: bool) -> Result<Decoded> {
        let raw = gzip::gzip(bytes, count.saturating_mul(8))?;
        self.numbers(raw, count, shuffled, quantised)
    }

    /// Big-endian numbers; how wide they are is told by how many bytes there are.
    fn numbers(&self, mut raw: Vec<u8>, count: usize, shuffled: bool, quantised: bool) -> Result<Decoded> {
        let float = self.stored.is_float() && !quantised;
        let dtype = match (raw.len().checked_div(count), float) {
            (Some(1), false) => DType::U8,
            (Some(2), false) => DType::I16,
            (Some(4), false) => DType::I32,
            (Some(8), false) => DType::I64,
            (Some(4), true) => DType::F32,
            (Some(8), true) => DType::F64,
            _ => return Err(Error::malformed(format!("tile: {} bytes for {count} pixels", raw.len()))),
        };
        if shuffled {
            raw = crate::bytes::codec::shuffle::unshuffle(&raw, dtype.size() as usize);
        }
        ByteOrder::Big.to_little(&dtype, &mut raw)?;
        Ok(Decoded::Numbers(dtype, raw))
    }

    /// Numbers of a tile as stored pixels: integers in their width, floats with what quantising took.
    fn stored(
        &self,
        task: &Task,
        decoded: Decoded,
        row: u64,
        quantised: Option<(f64, f64)>,
    ) -> Result<Vec<u8>> {
        if let Decoded::Numbers(dtype, bytes) = decoded {
            if dtype == self.stored {
                return Ok(bytes);
            }
            if dtype.is_float() {
                let mut values = Vec::new();
                dtype.decode(&bytes, &mut values);
                return Ok(self.floats(values.into_iter()));
            }
            let mut values = Vec::new();
            dtype.decode(&bytes, &mut values);
            let integers = values.into_iter().map(|value| value as i64).collect();
            return self.stored(task, Decoded::Integers(integers), row, quantised);
        }
        let Decoded::Integers(values) = decoded else { return Ok(Vec::new()) };
        if !self.stored.is_float() {
            let size = self.stored.size() as usize;
            return Ok(values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(size)).collect());
        }
        let (scale, zero) = quantised.unwrap_or((1.0, 0.0));
        let blank = self.number(task, &self.blank, row)?.map(|blank| blank as i64);
        let mut random = Sequence::new(row, self.seed);
        let value = |stored: i64| {
            let shift = if self.dither == Dither::None { 0.0 } else { 0.5 - random.next() };
            match stored {
                stored if Some(stored) == blank => f64::NAN,
                ZERO if self.dither == Dither::Second => 0.0,
                stored => (stored as f64 + shift) * scale + zero,
            }
        };
        let values: Vec<f64> = values.into_iter().map(value).collect();
        Ok(self.floats(values.into_iter()))
    }

    fn floats(&self, values: impl Iterator<Item = f64>) -> Vec<u8> {
        match self.stored {
            DType::F32 => values.flat_map(|v| (v as f32).to_le_bytes()).collect(),
            _ => values.flat_map(f64::to_le_bytes).collect(),
        }
    }
}

impl Chunks for Tiles {
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let (row, count) = (self.row(index), self.pixels(index)?);
        if row >= self.table.len() {
            return Err(Error::malformed(format!(
                "tile {row}: the table ends before it; the file may be cut off"
            )));
        }
        let scale = self.number(task, &self.scale, row)?;
        let zero = self.number(task, &self.zero, row)?.unwrap_or(0.0);
        let quantised = scale.filter(|scale| *scale != 0.0).map(|scale| (scale, zero));
        let decoded = if let Some((bytes, _)) = self.cell(task, &self.compressed, row)? {
            self.decode(&bytes, count, quantised.is_some())?
        } else if let Some((bytes, _)) = self.cell(task, &self.gzip, row)? {
            // Floats that could not be quantised.
            self.inflated(&bytes, count, false, false)?
        } else if let Some((bytes, Element::Number(dtype))) = self.cell(task, &self.raw, row)? {
            limits::check(bytes.len() as u64, limits::CHUNK, "a tile")?;
            let mut raw = bytes.to_vec();
            ByteOrder::Big.to_little(&dtype, &mut raw)?;
            Decoded::Numbers(dtype, raw)
        } else {
            return Ok(None);
        };
        let mut bytes = self.stored(task, decoded, row, quantised)?;
        if self.turned {
            turn_sign(&mut bytes, self.stored.size() as usize);
        }
        Ok(Some(bytes.into()))
    }
}

/// The numbers that dithering took, for one tile.
struct Sequence {
    row: usize,
    next: usize,
}

/// The first numbers of the generator of Park and Miller (1988), as 32-bit floats between 0 and 1.
fn randoms() -> &'static [f32] {
    static NUMBERS: OnceLock<Vec<f32>> = OnceLock::new();
    NUMBERS.get_or_init(|| {
        let mut seed = 1u64;
        let step = |_| {
            seed = seed * 16_807 % 2_147_483_647;
            (seed as f64 / 2_147_483_647.0) as f32
        };
        (0..RANDOM).map(step).collect()
    })
}

impl Sequence {
    fn new(row: u64, seed: u64) -> Self {
        let row = (row.wrapping_add(seed - 1) % RANDOM as u64) as usize;
        Sequence { row, next: Self::start(row) }
    }

    /// Where the sequence begins for a row: at the row's own number of the first five hundred.
    fn start(row: usize) -> usize {
        (randoms().get(row).copied().unwrap_or(0.0) * 500.0) as usize
    }

    fn next(&mut self) -> f64 {
        let value = randoms().get(self.next).copied().unwrap_or(0.0);
        self.next += 1;
        if self.next == RANDOM {
            self.row = (self.row + 1) % RANDOM;
            self.next = Self::start(self.row);
        }
        f64::from(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_one_of_the_standard() {
        // The seed after the last number: what the convention gives to check against.
        let last = (f64::from(*randoms().last().unwrap()) * 2_147_483_647.0).round();
        assert!((last - 1_043_618_065.0).abs() < 100.0, "{last}");
        assert_eq!(randoms().len(), RANDOM);
    }
}
