//! PNG and animated PNG. <https://www.w3.org/TR/png-3/>
//!
//! Opening walks the chunks by their eight-byte heads; pixels are decoded by the `png` crate.

use super::exif;
use super::picture::{self, Codec, Header, Player, blank, bytes_at, latin1};
use crate::bytes::codec::{decompress::prefix, inflater::Inflater};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::dtype::swap_bytes;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::picture_metadata::PROFILE;
use bytes::Bytes;
use png::{BlendOp, ColorType, DisposeOp};
use std::io::Cursor;

/// Chunks that are walked at open.
const CHUNKS: usize = 1 << 20;
/// Bytes of one metadata chunk that are read, and that a compressed text may have.
const TEXT: u64 = 1 << 20;

/// Reads the chunks' heads and the metadata.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    whole(opening.task, opening.source)
}

/// The node of a source that is a PNG.
pub(super) fn whole(task: &Task, source: &Source) -> Result<Node> {
    let mut walk = Walk::default();
    walk.run(task, source)?;
    let header = walk.finish()?;
    picture::node(source, header, Png)
}

/// What the walk over the chunks has seen.
#[derive(Default)]
struct Walk {
    header: Header,
    colour: u8,
    interlaced: bool,
    transparency: bool,
    palette: Option<u64>,
    profile: Option<Bytes>,
    pixels: bool,
    /// acTL's frame count, fcTL chunks seen, and whether the first came before the first IDAT.
    promised: Option<u64>,
    controls: u64,
    still_plays: bool,
}

impl Walk {
    fn run(&mut self, task: &Task, source: &Source) -> Result<()> {
        let mut at = 8u64;
        for number in 0..CHUNKS {
            if number % 1024 == 0 {
                task.check()?;
            }
            let head = source.read_up_to(task, at, 8)?;
            let (Some(len), Some(kind)) = (bytes_at::<4>(&head, 0), bytes_at::<4>(&head, 4)) else {
                self.cut(at);
                return Ok(());
            };
            let len = u64::from(u32::from_be_bytes(len));
            if number == 0 && &kind != b"IHDR" {
                return Err(Error::malformed("PNG: its first chunk is not IHDR").at(at));
            }
            let data = at + 8;
            let wanted = if matters(&kind) { len.min(TEXT) } else { 0 };
            let bytes = source.read_up_to(task, data, wanted as usize)?;
            if (bytes.len() as u64) < wanted {
                self.cut(at);
                return Ok(());
            }
            if !self.chunk(&kind, len, &bytes, at)? {
                return Ok(());
            }
            at = data + len + 4;
        }
        self.header.remarks.push(format!("only the first {CHUNKS} chunks were looked at"));
        Ok(())
    }

    fn cut(&mut self, at: u64) {
        let what = "PNG: it ends before its IEND chunk; the file may be cut off";
        self.header.problem.get_or_insert_with(|| Error::malformed(what).at(at));
    }

    /// Takes one chunk; whether more may follow.
    fn chunk(&mut self, kind: &[u8; 4], len: u64, bytes: &[u8], at: u64) -> Result<bool> {
        match kind {
            b"IHDR" => self.ihdr(bytes, at)?,
            b"PLTE" => self.palette = Some(len / 3),
            b"tRNS" => self.transparency = true,
            b"IDAT" => self.pixels = true,
            b"acTL" => self.promised = bytes_at(bytes, 0).map(|b| u64::from(u32::from_be_bytes(b))),
            b"fcTL" => {
                self.still_plays |= self.controls == 0 && !self.pixels;
                self.controls += 1;
            }
            b"IEND" => return Ok(false),
            _ => self.metadata(kind, bytes),
        }
        Ok(true)
    }

    fn ihdr(&mut self, bytes: &[u8], at: u64) -> Result<()> {
        let Some(&[a, b, c, d, e, f, g, h, bits, colour, _, _, interlace]) = bytes.first_chunk() else {
            return Err(Error::malformed("PNG: its IHDR chunk is too short").at(at));
        };
        let (width, height) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        let depths: &[u8] = match colour {
            0 => &[1, 2, 4, 8, 16],
            3 => &[1, 2, 4, 8],
            2 | 4 | 6 => &[8, 16],
            _ => return Err(Error::malformed(format!("PNG: colour type {colour} does not exist")).at(at)),
        };
        if !depths.contains(&bits) {
            let what = format!("PNG: {bits} bits with colour type {colour} do not exist");
            return Err(Error::malformed(what).at(at));
        }
        if width == 0 || height == 0 || width > i32::MAX as u32 || height > i32::MAX as u32 {
            return Err(Error::malformed(format!("PNG: an image of {width} × {height} pixels")).at(at));
        }
        (self.colour, self.interlaced) = (colour, interlace == 1);
        let info = &mut self.header.info;
        (info.width, info.height, info.bits) = (width.into(), height.into(), bits.into());
        Ok(())
    }

    fn metadata(&mut self, kind: &[u8; 4], bytes: &[u8]) {
        let number = |at: usize| bytes_at(bytes, at).map(u32::from_be_bytes);
        let header = &mut self.header;
        match kind {
            b"gAMA" => {
                if let Some(gamma) = number(0) {
                    header.attribute("gamma", (f64::from(gamma) / 100_000.0).to_string());
                }
            }
            b"sRGB" => {
                let intents = ["perceptual", "relative colorimetric", "saturation", "absolute colorimetric"];
                let intent = bytes.first().and_then(|&b| intents.get(usize::from(b)));
                header.attribute("sRGB", intent.copied().unwrap_or("unknown intent"));
            }
            b"iCCP" => {
                let name = bytes.split(|&b| b == 0).next().unwrap_or_default();
                header.attribute("ICC profile", latin1(name));
                // Behind the name stands how it is compressed, which there is one way for.
                let packed = bytes.get(name.len() + 2..).unwrap_or_default();
                if let Ok(mut inflater) = Inflater::new(true) {
                    let (profile, done) = prefix(&mut inflater, packed, PROFILE as usize, "PNG: iCCP");
                    header.remarks.extend(done.err().map(|error| error.message().to_owned()));
                    self.profile = Some(profile.into());
                }
            }
            b"pHYs" => {
                if let (Some(x), Some(y)) = (number(0), number(4)) {
                    let unit = if bytes.get(8) == Some(&1) { "pixels/m" } else { "(aspect only)" };
                    header.attribute("pixel density", format!("{x} × {y} {unit}"));
                }
            }
            b"tIME" => {
                if let Some(&[high, low, month, day, hour, minute, second]) = bytes.first_chunk() {
                    let year = u16::from_be_bytes([high, low]);
                    let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
                    header.attribute("modified", text);
                }
            }
            b"eXIf" => exif::add(header, bytes),
            b"tEXt" | b"zTXt" | b"iTXt" => match text(kind, bytes) {
                Ok((keyword, text)) => {
                    if keyword == "XML:com.adobe.xmp" {
                        header.blocks.xmp.push(Bytes::copy_from_slice(text.as_bytes()));
                    }
                    header.attribute(keyword, text);
                }
                Err(what) => header.remarks.push(what),
            },
            _ => {}
        }
    }

    fn finish(mut self) -> Result<Header> {
        if self.colour == 3 && self.palette.is_none() {
            return Err(Error::malformed("PNG: an indexed image without a palette (PLTE)"));
        }
        if !self.pixels && self.header.problem.is_none() {
            self.header.problem = Some(Error::malformed("PNG: it has no pixels (no IDAT chunk)"));
        }
        let header = &mut self.header;
        let own_alpha = matches!(self.colour, 4 | 6);
        let word = ["grey", "", "RGB", "palette", "grey and alpha", "", "RGBA"];
        header.detail("colour type", word.get(usize::from(self.colour)).copied().unwrap_or_default());
        if let Some(colours) = self.palette.filter(|_| self.colour == 3) {
            header.detail("palette", format!("{colours} colours"));
        }
        if self.transparency && !own_alpha {
            header.detail("transparency", "tRNS");
        }
        header.detail("interlaced", if self.interlaced { "Adam7" } else { "no" });
        match self.profile.take() {
            Some(profile) => header.profile(profile),
            None => header.detail("ICC profile", "no"),
        }
        let info = &mut header.info;
        info.alpha = own_alpha || self.transparency;
        info.channels = if matches!(self.colour, 0 | 4) { 1 } else { 3 } + u32::from(info.alpha);
        info.sample = if info.bits == 16 { Sample::U16 } else { Sample::U8 };
        info.frames = 1;
        if let Some(promised) = self.promised {
            let seen = promised.min(self.controls);
            info.frames = (seen + u64::from(!self.still_plays)).max(1);
            if seen < promised {
                let what = format!("{promised} frames were promised, {seen} are there");
                header.remarks.push(what);
            }
        }
        Ok(self.header)
    }
}

/// Whether the walk looks into chunks of this kind.
fn matters(kind: &[u8; 4]) -> bool {
    let kinds: [&[u8; 4]; 11] =
        [b"IHDR", b"acTL", b"gAMA", b"sRGB", b"iCCP", b"pHYs", b"tIME", b"eXIf", b"tEXt", b"zTXt", b"iTXt"];
    kinds.contains(&kind)
}

/// Keyword and text of a text chunk; why it could not be read otherwise.
fn text(kind: &[u8; 4], bytes: &[u8]) -> std::result::Result<(String, String), String> {
    let mut parts = bytes.splitn(2, |&b| b == 0);
    let keyword = latin1(parts.next().unwrap_or_default());
    let rest = parts.next().ok_or_else(|| format!("a text chunk without text: {keyword:?}"))?;
    let text = match kind {
        b"tEXt" => latin1(rest),
        b"zTXt" => latin1(&inflated(rest.get(1..).unwrap_or_default(), &keyword)?),
        _ => {
            let compressed = rest.first() == Some(&1);
            // Language and translated keyword, each ended by a zero, come before the text.
            let text = rest.get(2..).unwrap_or_default().splitn(3, |&b| b == 0).nth(2).unwrap_or_default();
            let text = if compressed { inflated(text, &keyword)? } else { text.to_vec() };
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    Ok((keyword, text))
}

/// A zlib stream's content, if it is no longer than [`TEXT`].
fn inflated(bytes: &[u8], keyword: &str) -> std::result::Result<Vec<u8>, String> {
    let failed = |error: Error| format!("the text {keyword:?} cannot be inflated: {}", error.message());
    let mut inflater = Inflater::new(true).map_err(failed)?;
    match prefix(&mut inflater, bytes, TEXT as usize + 1, "zlib data") {
        (out, _) if out.len() as u64 > TEXT => {
            Err(format!("the text {keyword:?} is longer than {TEXT} bytes"))
        }
        (out, end) => end.map(|()| out).map_err(failed),
    }
}

struct Png;

impl Codec for Png {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let mut reader = reader(source.reader(task))?;
        read_still(task, &mut reader, partial)
    }

    fn play(&self, task: &Task, source: &Source, _partial: bool) -> Result<Option<Box<dyn Player>>> {
        let bytes = source.read(task, 0..source.len(task)?)?;
        let reader = reader(Cursor::new(bytes))?;
        if reader.info().animation_control.is_none() {
            return Ok(None);
        }
        Ok(Some(Box::new(Animation { reader, canvas: None, before: None })))
    }
}

fn reader<R: std::io::BufRead + std::io::Seek>(input: R) -> Result<png::Reader<R>> {
    let limits = png::Limits { bytes: limits::CHUNK as usize };
    let mut decoder = png::Decoder::new_with_limits(input, limits);
    decoder.set_transformations(png::Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.read_info().map_err(refused)
}

fn refused(error: png::DecodingError) -> Error {
    match error {
        png::DecodingError::IoError(io) => match io.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::malformed("PNG: its pixels end too early"),
            _ => io.into(),
        },
        png::DecodingError::LimitsExceeded => Error::limit("PNG: decoding it needs too much memory"),
        other => Error::malformed(format!("PNG: {other}")),
    }
}

/// The shape of what the decoder delivers.
fn layout<R: std::io::BufRead + std::io::Seek>(reader: &png::Reader<R>) -> (u32, Sample, bool) {
    let (colour, depth) = reader.output_color_type();
    let sample = if depth == png::BitDepth::Sixteen { Sample::U16 } else { Sample::U8 };
    let alpha = matches!(colour, ColorType::GrayscaleAlpha | ColorType::Rgba);
    (colour.samples() as u32, sample, alpha)
}

fn read_still<R: std::io::BufRead + std::io::Seek>(
    task: &Task,
    reader: &mut png::Reader<R>,
    partial: bool,
) -> Result<Pixels> {
    let (channels, sample, alpha) = layout(reader);
    let (width, height) = (reader.info().width, reader.info().height);
    let mut pixels = blank(width.into(), height.into(), channels, sample, alpha)?;
    if let Err(error) = reader.next_frame(&mut pixels.data) {
        task.check()?;
        if !partial {
            return Err(refused(error));
        }
    }
    if sample == Sample::U16 {
        swap_bytes(&mut pixels.data, 2);
    }
    Ok(pixels)
}

/// An APNG at some frame.
struct Animation {
    reader: png::Reader<Cursor<Bytes>>,
    canvas: Option<Pixels>,
    /// What the next frame must undo first.
    before: Option<(DisposeOp, Place, Option<Pixels>)>,
}

/// Where a frame lies on the canvas.
#[derive(Clone, Copy)]
struct Place {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl Player for Animation {
    fn next(&mut self, task: &Task) -> Result<Pixels> {
        let (channels, sample, alpha) = layout(&self.reader);
        let info = self.reader.info();
        let (width, height) = (u64::from(info.width), u64::from(info.height));
        let mut raw = blank(width, height, channels, sample, alpha)?;
        self.reader.next_frame(&mut raw.data).map_err(refused)?;
        task.check()?;
        if sample == Sample::U16 {
            swap_bytes(&mut raw.data, 2);
        }
        // A picture before the first frame control is shown where animations are not: it stands
        // alone and leaves nothing behind.
        let Some(control) = self.reader.info().frame_control else { return Ok(raw) };
        let place = Place {
            x: control.x_offset as usize,
            y: control.y_offset as usize,
            width: control.width as usize,
            height: control.height as usize,
        };
        let mut canvas = match self.canvas.take() {
            Some(canvas) => canvas,
            None => blank(width, height, channels, sample, alpha)?,
        };
        match self.before.take() {
            Some((DisposeOp::Background, place, _)) => clear(&mut canvas, place),
            Some((DisposeOp::Previous, _, Some(saved))) => canvas = saved,
            _ => {}
        }
        let saved = (control.dispose_op == DisposeOp::Previous).then(|| canvas.clone());
        draw(&mut canvas, &raw, place, control.blend_op == BlendOp::Over && alpha);
        self.before = Some((control.dispose_op, place, saved));
        self.canvas = Some(canvas.clone());
        Ok(canvas)
    }
}

fn clear(canvas: &mut Pixels, place: Place) {
    let pixel = canvas.channels as usize * canvas.sample.size();
    for row in canvas.data.chunks_exact_mut(canvas.width as usize * pixel).skip(place.y).take(place.height) {
        if let Some(part) = row.get_mut(place.x * pixel..(place.x + place.width) * pixel) {
            part.fill(0);
        }
    }
}

/// Puts a frame, whose rows lie at the start of `raw`, on the canvas.
fn draw(canvas: &mut Pixels, raw: &Pixels, place: Place, over: bool) {
    let size = canvas.sample.size();
    let pixel = canvas.channels as usize * size;
    let rows = raw.data.chunks_exact((place.width * pixel).max(1)).take(place.height);
    let lines = canvas.data.chunks_exact_mut(canvas.width as usize * pixel).skip(place.y);
    for (line, row) in lines.zip(rows) {
        let Some(line) = line.get_mut(place.x * pixel..(place.x + place.width) * pixel) else { continue };
        if !over {
            line.copy_from_slice(row);
            continue;
        }
        for (below, above) in line.chunks_exact_mut(pixel).zip(row.chunks_exact(pixel)) {
            blend(below, above, size);
        }
    }
}

/// One pixel over another, alpha last, not premultiplied (the specification's section on blending).
fn blend(below: &mut [u8], above: &[u8], size: usize) {
    let most = if size == 2 { 65535.0 } else { 255.0 };
    let get = |pixel: &[u8], channel: usize| match bytes_at::<2>(pixel, channel * 2) {
        Some(b) if size == 2 => f64::from(u16::from_le_bytes(b)) / most,
        _ => pixel.get(channel * size).map_or(0.0, |&b| f64::from(b) / most),
    };
    let last = (above.len() / size).saturating_sub(1);
    let (front, back) = (get(above, last), get(below, last));
    if front >= 1.0 || back <= 0.0 && front > 0.0 {
        below.copy_from_slice(above);
        return;
    }
    let alpha = front + back * (1.0 - front);
    if front <= 0.0 || alpha <= 0.0 {
        return;
    }
    for channel in 0..=last {
        let value = match channel == last {
            true => alpha,
            false => (get(above, channel) * front + get(below, channel) * back * (1.0 - front)) / alpha,
        };
        let bytes = ((value * most).round() as u16).to_le_bytes();
        let (start, n) = (channel * size, size.min(2));
        if let (Some(to), Some(from)) = (below.get_mut(start..start + n), bytes.get(..n)) {
            to.copy_from_slice(from);
        }
    }
}
