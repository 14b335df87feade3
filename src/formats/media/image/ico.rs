//! Windows icons and cursors: a directory of pictures, each a PNG or a bitmap without its file's header.
//! <https://learn.microsoft.com/previous-versions/ms997538(v=msdn.10)>,
//! <https://learn.microsoft.com/windows/win32/gdi/bitmap-storage>
//!
//! The largest picture is shown, the one with the most bits of these. A bitmap is twice as high as its picture:
//! behind the colours stands a mask of one bit a pixel that says where the icon is transparent. Bitmaps with
//! 32 bits, or with a bit mask for it, have their own alpha, and the mask counts only where that is zero everywhere.

use super::picture::{self, Codec, Header, blank, bytes_at, check_pixels};
use super::{generic, png};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use image::codecs::bmp::BmpDecoder;
use std::io::Cursor;

/// Bytes of the head and of each entry of the directory.
const HEAD: u64 = 6;
const ENTRY: u64 = 16;
/// What a PNG begins with.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of the header of a bitmap that are looked at.
const BITMAP: usize = 40;

/// One entry of the directory.
struct Entry {
    width: u64,
    height: u64,
    bits: u16,
    /// Where its picture begins, and where the file ends: writers are wrong about sizes, while each picture tells
    /// its own.
    start: u64,
    end: u64,
}

/// Reads the directory and the header of the largest picture.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let (entries, mut problem) = directory(task, source)?;
    let mut order: Vec<&Entry> = entries.iter().collect();
    order.sort_by_key(|entry| std::cmp::Reverse((entry.width * entry.height, entry.bits)));
    let mut made = None;
    for entry in order {
        match one(task, source, entry).unless_cancelled()? {
            Ok(node) => {
                made = Some(node);
                break;
            }
            Err(error) => {
                problem.get_or_insert(error);
            }
        }
    }
    let Some(mut node) = made else {
        return Err(problem.unwrap_or_else(|| Error::malformed("ICO: its directory is empty").at(4)));
    };
    node.name = source.name().to_owned();
    if let Some(problem) = problem {
        node.problem.get_or_insert(problem);
    }
    if entries.len() > 1 {
        let sizes: Vec<String> = entries.iter().map(|e| format!("{}×{}", e.width, e.height)).collect();
        node.attributes.push(("sizes".to_owned(), sizes.join(", ").into()));
    }
    Ok(node)
}

/// The entries that lie in the file, and what is wrong with the others.
fn directory(task: &Task, source: &Source) -> Result<(Vec<Entry>, Option<Error>)> {
    let len = source.len(task)?;
    let head = source.read_up_to(task, 0, HEAD as usize)?;
    let count = bytes_at(&head, 4).map(u16::from_le_bytes).unwrap_or_default();
    let bytes = source.read_up_to(task, HEAD, usize::from(count) * ENTRY as usize)?;
    let mut problem = None;
    if (bytes.len() as u64) < u64::from(count) * ENTRY {
        let what = "ICO: its directory reaches beyond the file; it may be cut off";
        problem = Some(Error::malformed(what).at(len));
    }
    let mut entries = Vec::new();
    for (n, entry) in bytes.chunks_exact(ENTRY as usize).enumerate() {
        let number = |at: usize| bytes_at(entry, at).map(u32::from_le_bytes).unwrap_or_default();
        let side = |at: usize| match entry.get(at).copied().unwrap_or_default() {
            0 => 256,
            side => u64::from(side),
        };
        let (size, start) = (u64::from(number(8)), u64::from(number(12)));
        if size == 0 || start >= len {
            let what = format!("ICO: its picture {n} lies at byte {start}, beyond the file");
            problem.get_or_insert(Error::malformed(what).at(HEAD + n as u64 * ENTRY));
            continue;
        }
        let bits = bytes_at(entry, 6).map(u16::from_le_bytes).unwrap_or_default();
        entries.push(Entry { width: side(0), height: side(1), bits, start, end: len });
    }
    Ok((entries, problem))
}

/// The node of one picture.
fn one(task: &Task, source: &Source, entry: &Entry) -> Result<Node> {
    let inside = source.member(source.name(), entry.start..entry.end)?;
    if inside.read_up_to(task, 0, PNG.len())?.as_ref() == PNG {
        let mut node = png::whole(task, &inside)?;
        node.span = None;
        return Ok(node);
    }
    let bitmap = Bitmap::read(task, &inside).map_err(|error| error.at(entry.start))?;
    let mut header = Header::default();
    let info = &mut header.info;
    (info.width, info.height) = (bitmap.width, bitmap.height);
    (info.channels, info.sample, info.bits, info.alpha) = (4, Sample::U8, 8, true);
    header.detail("colour type", format!("bitmap of {} bits a pixel", bitmap.depth));
    if bitmap.needs() > entry.end - entry.start {
        let what = "ICO: the pixels of its picture reach beyond it; the file may be cut off";
        header.problem = Some(Error::malformed(what).at(entry.end));
    }
    let end = entry.start.saturating_add(bitmap.end()).min(entry.end);
    let mut node = picture::node(&inside, header, bitmap)?;
    node.span = Some(entry.start..end);
    Ok(node)
}

/// A bitmap with a mask behind it.
struct Bitmap {
    width: u64,
    height: u64,
    depth: u16,
    /// Whether the first row stored is the first one shown.
    down: bool,
    /// Where the colours begin.
    colours: u64,
    /// Whether the colours are compressed, so that no mask can be found behind them.
    packed: bool,
    /// Whether bit masks of colours stand in the header, of version 4 or 5.
    masks_in_header: bool,
}

impl Bitmap {
    fn read(task: &Task, source: &Source) -> Result<Self> {
        let head = source.read_up_to(task, 0, BITMAP)?;
        let number = |at: usize| bytes_at(&head, at).map(u32::from_le_bytes);
        let short = |at: usize| bytes_at(&head, at).map(u16::from_le_bytes);
        let malformed = |what: String| Error::malformed(format!("ICO: {what}"));
        let size = number(0).ok_or_else(|| malformed("a bitmap without a header".to_owned()))?;
        if !(BITMAP as u32..=1 << 10).contains(&size) {
            return Err(malformed(format!("a bitmap whose header has {size} bytes")));
        }
        let (Some(width), Some(height), Some(depth)) = (number(4), number(8), short(14)) else {
            return Err(malformed("the header of its bitmap is too short".to_owned()));
        };
        let (compression, used) = (number(16).unwrap_or_default(), number(32).unwrap_or_default());
        let (down, high) = ((height as i32) < 0, u64::from((height as i32).unsigned_abs()) / 2);
        if width == 0 || width > i32::MAX as u32 || high == 0 {
            return Err(malformed(format!("a bitmap of {width} × {high} pixels")));
        }
        check_pixels(u64::from(width), high)?;
        let palette = match (depth, used) {
            (1..=8, 0) => 1u64 << depth,
            (_, used) => u64::from(used),
        };
        let masks = if compression == 3 && size == BITMAP as u32 { 12 } else { 0 };
        let colours = u64::from(size) + masks + 4 * palette;
        let packed = !matches!(compression, 0 | 3);
        let masks_in_header = compression == 3 && matches!(size, 108 | 124);
        Ok(Bitmap { width: u64::from(width), height: high, depth, down, colours, packed, masks_in_header })
    }

    /// Bytes of a row of so many bits: rows begin at every fourth byte.
    fn row(&self, bits: u64) -> u64 {
        (self.width * bits).div_ceil(32) * 4
    }

    /// Where the colours end and the mask begins.
    fn mask(&self) -> u64 {
        self.colours.saturating_add(self.row(u64::from(self.depth)).saturating_mul(self.height))
    }

    /// Bytes without which colours would be missing.
    fn needs(&self) -> u64 {
        if self.packed { 0 } else { self.mask() }
    }

    /// Where the mask ends; compressed colours may be as long as they like.
    fn end(&self) -> u64 {
        if self.packed {
            u64::MAX
        } else {
            self.mask().saturating_add(self.row(1).saturating_mul(self.height))
        }
    }

    /// The row that is shown as the `y`-th.
    fn stored(&self, y: u64) -> u64 {
        if self.down { y } else { self.height - 1 - y }
    }

    /// The fourth byte of each pixel, where it may be an alpha.
    fn alpha(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.depth != 32 || self.packed {
            return None;
        }
        let row = self.row(32) as usize;
        let mut alpha = Vec::with_capacity((self.width * self.height) as usize);
        for y in 0..self.height {
            let start = self.colours as usize + self.stored(y) as usize * row;
            let line = bytes.get(start.min(bytes.len())..).unwrap_or_default();
            let pixels = (0..self.width as usize).map(|x| line.get(4 * x + 3).copied().unwrap_or_default());
            alpha.extend(pixels);
        }
        Some(alpha)
    }

    /// Whether the mask leaves a pixel out; it may be missing.
    fn masked(&self, bytes: &[u8], x: u64, y: u64) -> bool {
        let at = self.mask() + self.stored(y) * self.row(1) + x / 8;
        let byte = usize::try_from(at).ok().and_then(|at| bytes.get(at));
        !self.packed && byte.is_some_and(|byte| byte >> (7 - x % 8) & 1 == 1)
    }
}

impl Codec for Bitmap {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let len = source.len(task)?.min(self.end());
        let len = limits::check(len, limits::CHUNK, "the bitmap of an icon")?;
        let bytes = source.read_up_to(task, 0, len)?;
        // The decoder is told the height without the mask.
        let mut plain = bytes.to_vec();
        if self.masks_in_header {
            // It passes over bit masks behind the header even where they stand in the header.
            let header = self.colours.min(plain.len() as u64) as usize;
            plain.splice(header..header, [0; 12]);
        }
        let height = self.height as i32 * if self.down { -1 } else { 1 };
        if let Some(field) = plain.get_mut(8..12) {
            field.copy_from_slice(&height.to_le_bytes());
        }
        let decoder = BmpDecoder::new_without_file_header(Cursor::new(plain)).map_err(generic::refused)?;
        let colours = generic::decode(decoder, partial)?;
        task.check()?;
        let channels = colours.channels as usize;
        let mut pixels = blank(self.width, self.height, 4, Sample::U8, true)?;
        let own = match channels {
            4 => Some(colours.data.as_chunks::<4>().0.iter().map(|colour| colour[3]).collect()),
            _ => self.alpha(&bytes),
        };
        let own = own.filter(|alpha: &Vec<u8>| alpha.iter().any(|&alpha| alpha > 0));
        let shown = pixels.data.as_chunks_mut::<4>().0.iter_mut();
        for ((n, out), colour) in shown.enumerate().zip(colours.data.chunks_exact(channels.max(1))) {
            let (x, y) = (n as u64 % self.width, n as u64 / self.width);
            let alpha = match &own {
                Some(own) => own.get(n).copied().unwrap_or(255),
                None => 255 * u8::from(!self.masked(&bytes, x, y)),
            };
            *out = match *colour {
                [grey] => [grey, grey, grey, alpha],
                [red, green, blue, ..] => [red, green, blue, alpha],
                _ => [0, 0, 0, alpha],
            };
        }
        Ok(pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::{Content, Rect};
    use crate::data::format::Options;

    /// An icon of these pictures: width, height, bits, bytes.
    fn icon(pictures: &[(u8, u8, u16, &[u8])]) -> Vec<u8> {
        let mut out = vec![0, 0, 1, 0];
        out.extend((pictures.len() as u16).to_le_bytes());
        let mut at = (HEAD + ENTRY * pictures.len() as u64) as u32;
        for (width, height, bits, bytes) in pictures {
            out.extend([*width, *height, 0, 0, 1, 0]);
            out.extend(bits.to_le_bytes());
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(at.to_le_bytes());
            at += bytes.len() as u32;
        }
        pictures.iter().for_each(|(_, _, _, bytes)| out.extend(*bytes));
        out
    }

    fn bitmap(width: i32, height: i32, depth: u16, rest: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(40u32.to_le_bytes());
        out.extend(width.to_le_bytes());
        out.extend((2 * height).to_le_bytes());
        out.extend(1u16.to_le_bytes());
        out.extend(depth.to_le_bytes());
        out.extend([0; 24]);
        out.extend(rest);
        out
    }

    fn small_png(colour: ::png::ColorType, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut out, 2, 1);
        encoder.set_color(colour);
        encoder.set_depth(::png::BitDepth::Eight);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        out
    }

    fn pixels(file: Vec<u8>) -> Result<Pixels> {
        let source = Source::memory("x.ico", file);
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default())?;
        assert_eq!((document.format.id, document.root.name.as_str()), ("ico", "x.ico"));
        let Some(Content::Image(image)) = &document.root.content else { panic!() };
        let info = image.info();
        let pixels = image.read(&Task::new(), 0, 0, Rect::all(info.width, info.height))?;
        assert_eq!((pixels.channels, pixels.alpha), (info.channels, info.alpha));
        Ok(pixels)
    }

    #[test]
    fn png_of_every_colour_type() {
        use ::png::ColorType::{Grayscale, GrayscaleAlpha, Rgb, Rgba};
        for (colour, data) in [
            (Grayscale, &[1, 2][..]),
            (GrayscaleAlpha, &[1, 2, 3, 4]),
            (Rgb, &[1, 2, 3, 4, 5, 6]),
            (Rgba, &[1, 2, 3, 4, 5, 6, 7, 8]),
        ] {
            // The directory may be wrong about the size.
            let file = icon(&[(9, 9, 32, &small_png(colour, data))]);
            let pixels = pixels(file).unwrap();
            assert_eq!((pixels.width, pixels.height, pixels.data.as_slice()), (2, 1, data), "{colour:?}");
        }
    }

    #[test]
    fn masks_and_alpha_of_bitmaps() {
        // Two rows from the bottom up; the mask leaves out the pixel at the bottom left.
        let mask = [0x80, 0, 0, 0, 0, 0, 0, 0];
        let deep = |alpha: u8| {
            let pixel = |n: u8| [n, n + 1, n + 2, alpha * n];
            let rows: Vec<u8> = [pixel(1), pixel(2), pixel(3), pixel(4)].concat();
            icon(&[(2, 2, 32, &bitmap(2, 2, 32, &[&rows[..], &mask].concat()))])
        };
        let shown = |alphas: [u8; 4]| {
            let colour = |n: u8, a: u8| [n + 2, n + 1, n, a];
            [colour(3, alphas[0]), colour(4, alphas[1]), colour(1, alphas[2]), colour(2, alphas[3])].concat()
        };
        assert_eq!(pixels(deep(10)).unwrap().data, shown([30, 40, 10, 20]));
        assert_eq!(pixels(deep(0)).unwrap().data, shown([255, 255, 0, 255]));
        let palette = [0, 0, 0, 0, 9, 8, 7, 0];
        let bits = [0x40, 0, 0, 0, 0x80, 0, 0, 0];
        let flat = bitmap(2, 2, 1, &[&palette[..], &bits, &mask].concat());
        let flat = pixels(icon(&[(2, 2, 1, &flat)])).unwrap();
        assert_eq!(flat.data, [[7, 8, 9, 255], [0, 0, 0, 255], [0, 0, 0, 0], [7, 8, 9, 255]].concat());
    }

    #[test]
    fn a_mask_counts_where_the_alpha_of_bit_masks_is_zero() {
        let mask = [0x80, 0, 0, 0, 0, 0, 0, 0];
        // Masks of red, green, blue and alpha in headers of versions 3, 4 and 5.
        let deep = |size: usize, alpha: u8| {
            let pixel = |n: u8| [n, n + 1, n + 2, alpha * n];
            let rows: Vec<u8> = [pixel(1), pixel(2), pixel(3), pixel(4)].concat();
            let masks = [0x00ff_0000u32, 0x0000_ff00, 0x0000_00ff, 0xff00_0000].map(u32::to_le_bytes);
            let mut header = bitmap(2, 2, 32, masks.as_flattened());
            header[0] = size as u8;
            header[16] = 3;
            header.resize(size, 0);
            icon(&[(2, 2, 32, &[&header[..], &rows, &mask].concat())])
        };
        let shown = |alphas: [u8; 4]| {
            let colour = |n: u8, a: u8| [n + 2, n + 1, n, a];
            [colour(3, alphas[0]), colour(4, alphas[1]), colour(1, alphas[2]), colour(2, alphas[3])].concat()
        };
        for size in [56, 108, 124] {
            assert_eq!(pixels(deep(size, 10)).unwrap().data, shown([30, 40, 10, 20]), "{size}");
            assert_eq!(pixels(deep(size, 0)).unwrap().data, shown([255, 255, 0, 255]), "{size}");
        }
    }

    #[test]
    fn the_largest_picture_that_is_there() {
        let (small, large) =
            (small_png(::png::ColorType::Grayscale, &[5, 6]), bitmap(1, 1, 24, &[1, 2, 3, 0, 0, 0, 0, 0]));
        let file = icon(&[(2, 1, 8, &small), (16, 16, 24, &large)]);
        assert_eq!(pixels(file.clone()).unwrap().data, [3, 2, 1, 255]);
        // Its place is beyond the file: the next one is shown, and that one is missing is said.
        let mut broken = file;
        broken[34..38].copy_from_slice(&u32::MAX.to_le_bytes());
        let source = Source::memory("x.ico", broken.clone());
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
        assert!(document.root.problem.is_some());
        assert_eq!(pixels(broken).unwrap().data, [5, 6]);
    }
}
