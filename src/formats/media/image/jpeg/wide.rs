//! What the crates do not decode: sequential and progressive JPEG with 12 bits a sample (T.81, SOF1 and SOF2), and lossless
//! JPEG with 2 to 16 (SOF3, annex H), Huffman-coded, as medicine and raw photographs have them. Of 8 bits, too, where samples have to be
//! those of libjpeg to the last bit: its inverse transform in whole numbers, its way of filling in samples of colour.

mod bits;
mod progressive;
mod transform;

use super::super::picture::blank;
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use bits::{Bits, Huffman};
use transform::{both, put, wider};

/// The order in which coefficients of a block are coded (T.81, figure A.6).
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

#[derive(Clone, Default)]
struct Component {
    id: u8,
    h: usize,
    v: usize,
    table: usize,
    /// Samples a row, and rows, of whole blocks.
    wide: usize,
    high: usize,
    samples: Vec<u16>,
    /// Coefficients of its blocks, row by row, while scans of a progressive frame add to them.
    blocks: Vec<[i32; 64]>,
}

#[derive(Default)]
struct Decoder {
    lossless: bool,
    progressive: bool,
    precision: u32,
    width: usize,
    height: usize,
    components: Vec<Component>,
    quantisation: [Vec<u16>; 4],
    dc: [Huffman; 4],
    ac: [Huffman; 4],
    interval: usize,
}

fn malformed(what: &str, at: usize) -> Error {
    Error::malformed(format!("JPEG: {what}")).at(at as u64)
}

/// Whether this decoder takes a frame header of this kind with so many bits.
pub(in super::super) fn takes(kind: u8, precision: u8) -> bool {
    match kind {
        0xc0 | 0xc1 => matches!(precision, 8 | 12),
        0xc2 => precision == 12,
        0xc3 => (2..=16).contains(&precision),
        _ => false,
    }
}

/// The components as they are stored: bytes of up to 8 bits a sample, two bytes of more.
///
/// # Errors
/// `Malformed` for damage, unless `partial`; `Unsupported` for other processes; `Limit` for too many pixels.
pub(in super::super) fn decode(task: &Task, bytes: &[u8], partial: bool) -> Result<Pixels> {
    let mut decoder = Decoder::default();
    match decoder.run(task, bytes) {
        Err(error) if error.is_cancelled() || !partial || decoder.components.is_empty() => Err(error),
        _ => {
            decoder.transform(task)?;
            decoder.pixels()
        }
    }
}

impl Decoder {
    fn run(&mut self, task: &Task, bytes: &[u8]) -> Result<()> {
        let mut at = 0usize;
        let mut scans = 0;
        loop {
            task.check()?;
            let Some(found) = memchr::memchr(0xff, bytes.get(at..).unwrap_or_default()) else { break };
            at += found;
            let Some(&marker) = bytes.get(at + 1) else { break };
            at += 1;
            if matches!(marker, 0 | 1 | 0xff | 0xd0..=0xd8) {
                at += usize::from(marker != 0xff);
                continue;
            }
            if marker == 0xd9 {
                return match scans {
                    0 => Err(malformed("it ends without a scan", at)),
                    _ => Ok(()),
                };
            }
            at += 1;
            let len = bytes.get(at..at + 2).and_then(|len| len.first_chunk::<2>());
            let len = usize::from(u16::from_be_bytes(*len.ok_or_else(|| malformed("it is cut off", at))?));
            let end = (at + len.max(2)).min(bytes.len());
            let body = bytes.get(at + 2..end).unwrap_or_default();
            match marker {
                0xc4 => self.huffman(body, at)?,
                0xdb => self.quantisation(body),
                0xdd => self.interval = crate::bytes::numbers::be::<u16>(body, 0).unwrap_or(0).into(),
                0xc0..=0xc3 if self.components.is_empty() => self.frame(marker, body, at)?,
                0xc0..=0xcf if !matches!(marker, 0xc8 | 0xcc) => {
                    return Err(Error::unsupported("JPEG of another process than sequential or lossless"));
                }
                0xda => {
                    at = self.scan(task, body, bytes, end)?;
                    scans += 1;
                    continue;
                }
                _ => {}
            }
            at = end;
        }
        match scans {
            0 => Err(malformed("it ends without a scan", at)),
            _ => Ok(()),
        }
    }

    fn frame(&mut self, kind: u8, body: &[u8], at: usize) -> Result<()> {
        let short = || malformed("its frame header is too short", at);
        let &[precision, a, b, c, d, count] = body.first_chunk().ok_or_else(short)?;
        if !takes(kind, precision) && (kind, precision) != (0xc2, 8) {
            return Err(Error::unsupported(format!(
                "JPEG of process {kind:02x} with {precision} bits a sample"
            )));
        }
        (self.lossless, self.progressive, self.precision) = (kind == 0xc3, kind == 0xc2, precision.into());
        self.height = u16::from_be_bytes([a, b]).into();
        self.width = u16::from_be_bytes([c, d]).into();
        let listed = body.get(6..).unwrap_or_default().as_chunks::<3>().0;
        if self.width == 0 || self.height == 0 || count == 0 || count > 4 || listed.len() < count.into() {
            return Err(malformed("its frame header makes no sense", at));
        }
        blank(self.width as u64, self.height as u64, count.into(), Sample::U16, false)?;
        let mut components: Vec<Component> = listed
            .iter()
            .take(count.into())
            .map(|c| {
                let (h, v) = (usize::from(c[1] >> 4), usize::from(c[1] & 15));
                Component { id: c[0], h, v, table: usize::from(c[2] & 3), ..Component::default() }
            })
            .collect();
        if components.iter().any(|c| !(1..=4).contains(&c.h) || !(1..=4).contains(&c.v)) {
            return Err(malformed("a component's sampling is none", at));
        }
        if components.len() == 1 {
            components.iter_mut().for_each(|c| (c.h, c.v) = (1, 1));
        }
        let (most_h, most_v) = most(&components);
        let block = if self.lossless { 1 } else { 8 };
        let across = self.width.div_ceil(block * most_h);
        let down = self.height.div_ceil(block * most_v);
        for c in &mut components {
            (c.wide, c.high) = (across * c.h * block, down * c.v * block);
            let size = c.wide as u64 * c.high as u64;
            let size = crate::bytes::limits::check(size, crate::bytes::limits::CHUNK / 2, "a component")?;
            crate::bytes::limits::zeroed(size * 2, "a component")?;
            c.samples = vec![0; size];
            if self.progressive {
                let bytes =
                    crate::bytes::limits::check(size as u64 * 4, crate::bytes::limits::CHUNK, "a component")?;
                crate::bytes::limits::zeroed(bytes, "a component")?;
                c.blocks = vec![[0; 64]; size / 64];
            }
        }
        self.components = components;
        Ok(())
    }

    fn huffman(&mut self, mut body: &[u8], at: usize) -> Result<()> {
        while let Some((&kind, rest)) = body.split_first() {
            let counts = rest.get(..16).ok_or_else(|| malformed("a table is too short", at))?;
            let total: usize = counts.iter().map(|n| usize::from(*n)).sum();
            let values = rest.get(16..16 + total).ok_or_else(|| malformed("a table is too short", at))?;
            let tables = if kind >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            if let Some(table) = tables.get_mut(usize::from(kind & 15)) {
                *table = Huffman::of(counts, values);
            }
            body = rest.get(16 + total..).unwrap_or_default();
        }
        Ok(())
    }

    fn quantisation(&mut self, mut body: &[u8]) {
        while let Some((&kind, rest)) = body.split_first() {
            let wide = usize::from(kind >> 4 != 0) + 1;
            let number = |b: &[u8]| b.iter().fold(0u16, |n, b| n << 8 | u16::from(*b));
            let Some(table) = rest.get(..64 * wide) else { return };
            if let Some(place) = self.quantisation.get_mut(usize::from(kind & 15)) {
                *place = table.chunks_exact(wide).map(number).collect();
            }
            body = rest.get(64 * wide..).unwrap_or_default();
        }
    }

    /// Decodes a scan; where it ends.
    fn scan(&mut self, task: &Task, body: &[u8], bytes: &[u8], at: usize) -> Result<usize> {
        let wrong = || malformed("a scan header makes no sense", at);
        let (&count, rest) = body.split_first().ok_or_else(wrong)?;
        let count = usize::from(count);
        let listed = rest.get(..count * 2).unwrap_or_default().as_chunks::<2>().0;
        let mut parts = Vec::new();
        for &[id, tables] in listed {
            let n = self.components.iter().position(|c| c.id == id).ok_or_else(wrong)?;
            parts.push((n, usize::from(tables >> 4) & 3, usize::from(tables & 3)));
        }
        let &[first, last, low] = rest.get(count * 2..).and_then(|b| b.first_chunk()).ok_or_else(wrong)?;
        if parts.is_empty() || self.components.is_empty() {
            return Err(wrong());
        }
        let mut bits = Bits::new(bytes, at);
        match self.lossless {
            _ if self.progressive => {
                let band = progressive::Band::new(first, last, low).ok_or_else(wrong)?;
                self.refine(task, &parts, &mut bits, &band)?;
            }
            true => self.lossless(task, &parts, &mut bits, first, u32::from(low & 15))?,
            false => self.sequential(task, &parts, &mut bits)?,
        }
        Ok(bits.at)
    }

    /// Units of a scan: across and down, and how many blocks of each component are in one.
    fn units(&self, parts: &[(usize, usize, usize)], block: usize) -> (usize, usize, bool) {
        let (most_h, most_v) = most(&self.components);
        if let [(n, ..)] = parts
            && let Some(c) = self.components.get(*n)
        {
            // Of one component alone only the blocks that are seen are coded.
            let across = (self.width * c.h).div_ceil(most_h).div_ceil(block);
            let down = (self.height * c.v).div_ceil(most_v).div_ceil(block);
            return (across, down, true);
        }
        (self.width.div_ceil(block * most_h), self.height.div_ceil(block * most_v), false)
    }

    fn sequential(
        &mut self,
        task: &Task,
        parts: &[(usize, usize, usize)],
        bits: &mut Bits<'_>,
    ) -> Result<()> {
        let (across, down, alone) = self.units(parts, 8);
        let mut before = [0i32; 4];
        let mut unit = 0usize;
        for y in 0..down {
            task.check()?;
            for x in 0..across {
                if self.interval > 0 && unit > 0 && unit.is_multiple_of(self.interval) {
                    bits.restart();
                    before = [0; 4];
                }
                unit += 1;
                for &(n, dc, ac) in parts {
                    let Some(c) = self.components.get(n) else { continue };
                    let (h, v, table) = if alone { (1, 1, c.table) } else { (c.h, c.v, c.table) };
                    for k in 0..h * v {
                        let (bx, by) = (x * h + k % h, y * v + k / h);
                        let mut block = [0i32; 64];
                        self.block(bits, dc, ac, before.get_mut(n), &mut block, table)?;
                        if let Some(c) = self.components.get_mut(n) {
                            put(c, bx, by, &block, self.precision);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn block(
        &self,
        bits: &mut Bits<'_>,
        dc: usize,
        ac: usize,
        before: Option<&mut i32>,
        block: &mut [i32; 64],
        table: usize,
    ) -> Result<()> {
        let broken = |bits: &Bits<'_>| malformed("its pixels are damaged", bits.at);
        let none = Huffman::default();
        let (dc, ac) = (self.dc.get(dc).unwrap_or(&none), self.ac.get(ac).unwrap_or(&none));
        let quantiser = self.quantisation.get(table).filter(|table| table.len() == 64);
        let factor = |k: usize| quantiser.and_then(|table| table.get(k)).map_or(1, |n| i32::from(*n));
        if bits.is_over() {
            let what = malformed("its pixels end too early; the file may be cut off", bits.at);
            return Err(what.with_defect(Defect::Truncated));
        }
        let size = bits.code(dc).filter(|n| *n <= 16).ok_or_else(|| broken(bits))?;
        let before = before.ok_or_else(|| broken(bits))?;
        *before = before.wrapping_add(bits.signed(size.into()));
        block[0] = before.wrapping_mul(factor(0));
        let mut k = 1;
        while k < 64 {
            let code = bits.code(ac).ok_or_else(|| broken(bits))?;
            let (run, size) = (usize::from(code >> 4), u32::from(code & 15));
            if size == 0 {
                if run < 15 {
                    break;
                }
                k += 16;
                continue;
            }
            k += run;
            let value = bits.signed(size).wrapping_mul(factor(k));
            let place = ZIGZAG.get(k).ok_or_else(|| broken(bits))?;
            if let Some(place) = block.get_mut(usize::from(*place)) {
                *place = value;
            }
            k += 1;
        }
        Ok(())
    }

    fn lossless(
        &mut self,
        task: &Task,
        parts: &[(usize, usize, usize)],
        bits: &mut Bits<'_>,
        predictor: u8,
        low: u32,
    ) -> Result<()> {
        let (across, down, alone) = self.units(parts, 1);
        if predictor > 7 || low >= self.precision {
            return Err(malformed("a predictor that there is not", bits.at));
        }
        let none = Huffman::default();
        let start = 1i32 << (self.precision - low - 1);
        // Rows that begin an interval are predicted as the first one.
        let mut fresh = 0usize;
        let mut unit = 0usize;
        for y in 0..down {
            task.check()?;
            for x in 0..across {
                if self.interval > 0 && unit > 0 && unit.is_multiple_of(self.interval) {
                    bits.restart();
                    fresh = y;
                }
                let begins = self.interval > 0 && unit.is_multiple_of(self.interval) || unit == 0;
                unit += 1;
                for &(n, dc, _) in parts {
                    let table = self.dc.get(dc).unwrap_or(&none);
                    let Some(c) = self.components.get_mut(n) else { continue };
                    let (h, v) = if alone { (1, 1) } else { (c.h, c.v) };
                    for k in 0..h * v {
                        let (sx, sy) = (x * h + k % h, y * v + k / h);
                        let at = sy * c.wide + sx;
                        let sample = |at: Option<usize>| {
                            at.and_then(|at| c.samples.get(at)).map_or(0, |n| i32::from(*n))
                        };
                        let left = sample(at.checked_sub(1));
                        let above = sample(at.checked_sub(c.wide));
                        let corner = sample(at.checked_sub(c.wide + 1));
                        let guess = match predictor {
                            _ if begins && k == 0 => start,
                            _ if sy == fresh * v => left,
                            _ if sx == 0 => above,
                            0 => 0,
                            1 => left,
                            2 => above,
                            3 => corner,
                            4 => left + above - corner,
                            5 => left + ((above - corner) >> 1),
                            6 => above + ((left - corner) >> 1),
                            _ => (left + above) >> 1,
                        };
                        if bits.is_over() {
                            let what =
                                malformed("its pixels end too early; the file may be cut off", bits.at);
                            return Err(what.with_defect(Defect::Truncated));
                        }
                        let size = bits.code(table).filter(|n| *n <= 16);
                        let size = size.ok_or_else(|| malformed("its pixels are damaged", bits.at))?;
                        let difference = if size == 16 { 32_768 } else { bits.signed(size.into()) };
                        if let Some(place) = c.samples.get_mut(at) {
                            *place = (guess + difference) as u16;
                        }
                    }
                }
            }
        }
        if low > 0 {
            for &(n, ..) in parts {
                let samples = self.components.get_mut(n).map(|c| &mut c.samples);
                samples.into_iter().flatten().for_each(|sample| *sample <<= low);
            }
        }
        Ok(())
    }

    fn pixels(&self) -> Result<Pixels> {
        let sample = if self.precision <= 8 { Sample::U8 } else { Sample::U16 };
        let count = self.components.len();
        let mut pixels = blank(self.width as u64, self.height as u64, count as u32, sample, false)?;
        let size = sample.size();
        for (n, component) in self.components.iter().enumerate() {
            let plane = self.plane(component);
            let places = pixels.data.chunks_exact_mut(size).skip(n).step_by(count);
            for (value, place) in plane.iter().zip(places) {
                place.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
            }
        }
        Ok(pixels)
    }

    /// A component with a sample for each pixel.
    fn plane(&self, component: &Component) -> Vec<u16> {
        let (most_h, most_v) = most(&self.components);
        let (across, down) = (most_h / component.h, most_v / component.v);
        // Samples that are the picture's; what fills up blocks is not.
        let width = (self.width * component.h).div_ceil(most_h);
        let height = (self.height * component.v).div_ceil(most_v);
        let row = |y: usize| {
            let start = y.min(height.saturating_sub(1)) * component.wide;
            component.samples.get(start..start + width).unwrap_or_default()
        };
        let fills = !self.lossless && width > 2;
        let mut plane = Vec::with_capacity(self.width * self.height);
        for y in 0..self.height {
            let line: Vec<u16> = match (across, down) {
                (1, 1) => row(y).to_vec(),
                (2, 1) if fills => wider(row(y)),
                (2, 2) if fills => {
                    let near = if y % 2 == 0 { (y / 2).saturating_sub(1) } else { y / 2 + 1 };
                    both(row(y / 2), row(near))
                }
                (1, 2) if !self.lossless => {
                    let (near, bias) =
                        if y % 2 == 0 { ((y / 2).saturating_sub(1), 1) } else { (y / 2 + 1, 2) };
                    let pairs = row(y / 2).iter().zip(row(near));
                    pairs.map(|(a, b)| ((u32::from(*a) * 3 + u32::from(*b) + bias) >> 2) as u16).collect()
                }
                _ => {
                    let from = row(y * component.v / most_v);
                    let at = |x: usize| from.get(x * component.h / most_h).copied().unwrap_or(0);
                    (0..self.width).map(at).collect()
                }
            };
            plane.extend(line.iter().take(self.width));
            plane.resize((y + 1) * self.width, 0);
        }
        plane
    }
}

fn most(components: &[Component]) -> (usize, usize) {
    let h = components.iter().map(|c| c.h).max().unwrap_or(1);
    (h.max(1), components.iter().map(|c| c.v).max().unwrap_or(1).max(1))
}
