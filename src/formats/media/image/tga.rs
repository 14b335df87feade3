//! Truevision TGA 1 and 2. <https://www.dca.fee.unicamp.br/~martino/disciplinas/ia978/tgaffs.pdf>
//!
//! The header tells all that is needed; pixels are read row by row, run lengths may go on from one row to the
//! next. Whether a fourth byte is an alpha is told by the number of attribute bits (field 5.6), and by the
//! attributes' type where version 2's extension area has one: without them the picture is opaque, whatever
//! stands in these bytes. The attribute bit of pixels of 16 bits is no alpha.

use super::picture::{self, Codec, Header, blank, bytes_at, latin1};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;

/// Bytes of the header, and of the footer of version 2.
const HEAD: usize = 18;
const FOOTER: u64 = 26;
/// What the footer ends with.
const SIGNATURE: &[u8] = b"TRUEVISION-XFILE.\0";
/// Where the extension area has the attributes' type.
const ATTRIBUTES: u64 = 494;

/// How colours are stored.
#[derive(Clone, Copy, PartialEq)]
enum Colours {
    /// Indices into a map.
    Mapped,
    True,
    Grey,
}

/// What the header says.
struct Tga {
    width: u64,
    height: u64,
    colours: Colours,
    runs: bool,
    /// Bytes of a stored pixel.
    pixel: usize,
    /// Bytes of a colour: of the pixel itself, or of an entry of the map.
    colour: usize,
    /// The first index of the map, and its entries.
    first: usize,
    map: Vec<u8>,
    /// Where the pixels begin.
    start: u64,
    /// Whether rows go from right to left, and from the top down.
    left: bool,
    down: bool,
    /// Whether the last byte of a colour is its alpha.
    alpha: bool,
}

/// Reads the header and the colour map.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut header = Header::default();
    let tga = Tga::read(task, source, &mut header)?;
    let info = &mut header.info;
    (info.width, info.height) = (tga.width, tga.height);
    (info.channels, info.sample, info.alpha) = (tga.channels(), Sample::U8, tga.alpha);
    info.bits = if tga.colour == 2 && tga.colours != Colours::Grey { 5 } else { 8 };
    let words = match tga.colours {
        Colours::Mapped => "palette",
        Colours::True => "true colour",
        Colours::Grey => "grey",
    };
    header.detail("colour type", words);
    header.detail("compression", if tga.runs { "run lengths" } else { "none" });
    picture::node(source, header, tga)
}

impl Tga {
    fn read(task: &Task, source: &Source, header: &mut Header) -> Result<Self> {
        let head = source.read_up_to(task, 0, HEAD)?;
        let short = || Error::malformed("TGA: it ends within its header; the file may be cut off");
        let number = |at: usize| bytes_at(&head, at).map(u16::from_le_bytes).ok_or_else(short);
        let byte = |at: usize| head.get(at).copied().ok_or_else(short);
        let (kind, depth, flags) = (byte(2)?, byte(16)?, byte(17)?);
        let (width, height) = (u64::from(number(12)?), u64::from(number(14)?));
        if width == 0 || height == 0 {
            return Err(Error::malformed(format!("TGA: an image of {width} × {height} pixels")));
        }
        let colours = match kind & !8 {
            1 => Colours::Mapped,
            2 => Colours::True,
            3 => Colours::Grey,
            _ => return Err(Error::unsupported(format!("TGA: images of the type {kind}")).at(2)),
        };
        let wide = if colours == Colours::Mapped { byte(7)? } else { depth };
        let colour = match (colours, wide) {
            (Colours::Grey, 8) => 1,
            (Colours::Grey, 16) => 2,
            (Colours::Mapped | Colours::True, 15 | 16) => 2,
            (Colours::Mapped | Colours::True, 24) => 3,
            (Colours::Mapped | Colours::True, 32) => 4,
            _ => return Err(Error::unsupported(format!("TGA: colours of {wide} bits")).at(16)),
        };
        let pixel = match (colours, depth) {
            (Colours::Mapped, 8) => 1,
            (Colours::Mapped, 15 | 16) => 2,
            (Colours::Mapped, _) => {
                return Err(Error::unsupported(format!("TGA: indices of {depth} bits")).at(16));
            }
            _ => colour,
        };
        let id = u64::from(byte(0)?);
        if id > 0 {
            let text = source.read_up_to(task, HEAD as u64, id as usize)?;
            header.attribute("id", latin1(&text).trim_end_matches('\0'));
        }
        let map_at = HEAD as u64 + id;
        let (has_map, first, entries) = (byte(1)? == 1, number(3)?, number(5)?);
        let map_bytes = if has_map { usize::from(byte(7)?).div_ceil(8) * usize::from(entries) } else { 0 };
        let start = map_at + map_bytes as u64;
        let mut map = Vec::new();
        if colours == Colours::Mapped {
            if !has_map {
                return Err(Error::malformed("TGA: indices without a colour map").at(1));
            }
            map = source.read_up_to(task, map_at, map_bytes)?.to_vec();
            if map.len() < map_bytes {
                return Err(short());
            }
        }
        let said = flags & 15 > 0 && attributes(task, source)? != Some(0);
        let alpha = said && (colour == 4 || colours == Colours::Grey && colour == 2);
        let (left, down) = (flags & 0x10 > 0, flags & 0x20 > 0);
        let runs = kind & 8 > 0;
        Ok(Tga {
            width,
            height,
            colours,
            runs,
            pixel,
            colour,
            first: first.into(),
            map,
            start,
            left,
            down,
            alpha,
        })
    }

    fn channels(&self) -> u32 {
        if self.colours == Colours::Grey { 1 + u32::from(self.alpha) } else { 3 + u32::from(self.alpha) }
    }

    /// The pixels as they are stored; fewer where the file ends.
    fn stored(&self, task: &Task, source: &Source) -> Result<Vec<u8>> {
        let bytes = limits::bytes(&[self.width, self.height], self.pixel as u64)?;
        let wanted = limits::check(bytes, limits::CHUNK, "the pixels of a TGA")?;
        if !self.runs {
            return Ok(source.read_up_to(task, self.start, wanted)?.to_vec());
        }
        let rest = source.len(task)?.saturating_sub(self.start);
        // The longest there can be: a byte before each pixel.
        let most = (bytes + bytes / self.pixel as u64).min(rest);
        let packed = source.read_up_to(task, self.start, most as usize)?;
        let mut out = Vec::with_capacity(wanted.min(packed.len().saturating_mul(128)));
        let mut left: &[u8] = &packed;
        while out.len() < wanted {
            let Some((&count, after)) = left.split_first() else { break };
            let pixels = usize::from(count & 0x7f) + 1;
            let len = if count & 0x80 > 0 { self.pixel } else { pixels * self.pixel };
            let len = len.min(after.len());
            let (data, behind) = after.split_at(len);
            left = behind;
            match count & 0x80 > 0 && data.len() == self.pixel {
                true => (0..pixels).for_each(|_| out.extend_from_slice(data)),
                false => out.extend_from_slice(data),
            }
        }
        out.truncate(wanted);
        Ok(out)
    }

    /// The colour of a stored pixel, blue first; `None` for an index that the map lacks.
    fn colour<'a>(&'a self, pixel: &'a [u8]) -> Option<&'a [u8]> {
        if self.colours != Colours::Mapped {
            return Some(pixel);
        }
        let index = pixel.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
        let at = index.checked_sub(self.first)? * self.colour;
        self.map.get(at..at + self.colour)
    }
}

impl Codec for Tga {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let channels = self.channels() as usize;
        let mut pixels = blank(self.width, self.height, self.channels(), Sample::U8, self.alpha)?;
        let stored = self.stored(task, source)?;
        let wanted = pixels.data.len() / channels.max(1) * self.pixel;
        if stored.len() < wanted && !partial {
            let what = "TGA: its pixels end too early; the file may be cut off";
            return Err(Error::malformed(what).at(source.len(task)?));
        }
        let row = (self.width as usize).max(1);
        let lines = stored.chunks(row * self.pixel);
        for (y, line) in lines.enumerate() {
            if y % 256 == 0 {
                task.check()?;
            }
            let shown = if self.down { y } else { (self.height as usize).saturating_sub(y + 1) };
            let at = shown * row * channels;
            let Some(out) = pixels.data.get_mut(at..at + row * channels) else { continue };
            for (x, pixel) in line.chunks_exact(self.pixel).enumerate() {
                let place = if self.left { row - 1 - x } else { x };
                let Some(out) = out.get_mut(place * channels..(place + 1) * channels) else { continue };
                let Some(colour) = self.colour(pixel) else {
                    if partial {
                        continue;
                    }
                    return Err(Error::malformed("TGA: an index beyond its colour map").at(self.start));
                };
                show(colour, self.colours == Colours::Grey, out);
            }
        }
        Ok(pixels)
    }
}

/// A stored colour as it is shown: red first, five bits as eight.
fn show(colour: &[u8], grey: bool, out: &mut [u8]) {
    match *colour {
        [low, high] if !grey => {
            let value = u16::from_le_bytes([low, high]);
            let five = |shift: u16| ((u32::from(value >> shift & 31) * 255 + 15) / 31) as u8;
            out.copy_from_slice(&[five(10), five(5), five(0)]);
        }
        [blue, green, red, ..] => {
            let all = [red, green, blue, colour.get(3).copied().unwrap_or(255)];
            out.iter_mut().zip(all).for_each(|(out, value)| *out = value);
        }
        _ => out.iter_mut().zip(colour).for_each(|(out, &value)| *out = value),
    }
}

/// What the extension area of version 2 says of the attribute bits: 0 for no alpha.
fn attributes(task: &Task, source: &Source) -> Result<Option<u8>> {
    let Some(at) = source.len(task)?.checked_sub(FOOTER) else { return Ok(None) };
    let footer = source.read_up_to(task, at, FOOTER as usize)?;
    let place = bytes_at(&footer, 0).map_or(0, u32::from_le_bytes);
    if place == 0 || !footer.ends_with(SIGNATURE) {
        return Ok(None);
    }
    Ok(source.read_up_to(task, u64::from(place) + ATTRIBUTES, 1)?.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::{Content, Rect};
    use crate::data::format::Options;

    /// A file of 2 × 1 pixels, from the top down.
    fn file(kind: u8, map: (u8, &[u8]), depth: u8, flags: u8, data: &[u8]) -> Vec<u8> {
        let entries = map.1.len() / usize::from(map.0.div_ceil(8)).max(1);
        let mut head = vec![0, u8::from(map.0 > 0), kind, 0, 0, entries as u8, 0, map.0, 0, 0, 0, 0];
        head.extend([2, 0, 1, 0, depth, flags | 0x20]);
        [&head[..], map.1, data].concat()
    }

    fn pixels(file: Vec<u8>) -> Result<Pixels> {
        let source = Source::memory("x.tga", file);
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default())?;
        assert_eq!(document.format.id, "tga");
        let Some(Content::Image(image)) = &document.root.content else { panic!() };
        let pixels = image.read(&Task::new(), 0, 0, Rect::all(2, 1))?;
        assert_eq!((pixels.channels, pixels.alpha), (image.info().channels, image.info().alpha));
        Ok(pixels)
    }

    #[test]
    fn attribute_bits_tell_what_is_alpha() {
        let data = [1, 2, 3, 4, 5, 6, 7, 0];
        let with = pixels(file(2, (0, &[]), 32, 8, &data)).unwrap();
        assert_eq!((with.alpha, with.data), (true, vec![3, 2, 1, 4, 7, 6, 5, 0]));
        for kind in [2, 10] {
            // The same as two pixels of a literal run.
            let data = if kind == 2 { data.to_vec() } else { [&[1][..], &data].concat() };
            let without = pixels(file(kind, (0, &[]), 32, 0, &data)).unwrap();
            assert_eq!((without.alpha, without.data), (false, vec![3, 2, 1, 7, 6, 5]));
        }
        let mapped = |flags| pixels(file(1, (32, &data), 8, flags, &[1, 0])).unwrap();
        assert_eq!((mapped(0).channels, mapped(0).data), (3, vec![7, 6, 5, 3, 2, 1]));
        assert_eq!((mapped(8).channels, mapped(8).data), (4, vec![7, 6, 5, 0, 3, 2, 1, 4]));
        let grey = |flags| pixels(file(3, (0, &[]), 16, flags, &[9, 1, 8, 2])).unwrap();
        assert_eq!((grey(0).data, grey(8).data), (vec![9, 8], vec![9, 1, 8, 2]));
    }

    #[test]
    fn the_extension_area_may_say_that_there_is_none() {
        for (kind, alpha) in [(0, false), (3, true), (4, true)] {
            let mut whole = file(2, (0, &[]), 32, 8, &[1, 2, 3, 4, 5, 6, 7, 0]);
            let place = whole.len() as u32;
            whole.extend(vec![0; ATTRIBUTES as usize]);
            whole.push(kind);
            whole.extend(place.to_le_bytes());
            whole.extend([0; 4]);
            whole.extend(SIGNATURE);
            assert_eq!(pixels(whole).unwrap().alpha, alpha, "{kind}");
        }
    }

    #[test]
    fn runs_and_directions_and_narrow_colours() {
        let run = pixels(file(10, (0, &[]), 24, 0, &[0x81, 1, 2, 3])).unwrap();
        assert_eq!(run.data, [3, 2, 1, 3, 2, 1]);
        let turned = pixels(file(2, (0, &[]), 24, 0x10, &[1, 2, 3, 4, 5, 6])).unwrap();
        assert_eq!(turned.data, [6, 5, 4, 3, 2, 1]);
        let narrow = pixels(file(2, (0, &[]), 16, 1, &[0x00, 0x7c, 0x3f, 0x80])).unwrap();
        assert_eq!(narrow.data, [255, 0, 0, 0, 8, 255]);
        let cut = pixels(file(2, (0, &[]), 24, 0, &[1, 2, 3, 4]));
        assert!(cut.unwrap_err().message().contains("too early"));
        assert!(pixels(file(1, (24, &[1, 2, 3]), 8, 0, &[0, 7])).is_err());
    }
}
