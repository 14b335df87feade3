//! JPEG (ITU-T T.81, JFIF in T.871). <https://www.w3.org/Graphics/JPEG/itu-t81.pdf>
//!
//! Opening walks the marker segments up to the first scan; zune-jpeg decodes what nearly all files are, and
//! jpeg-decoder what zune-jpeg takes wrongly: sequential files whose components come in several scans, and
//! sampling factors of which the first component's are not the largest or that are no powers of two. Both hand
//! out the components as they are stored. What colours they are is told as libjpeg does it, and the way to RGB
//! is libjpeg's, in its fixed-point numbers, so that pictures without chroma subsampling differ from libjpeg's
//! only where the inverse transform does.

mod wide;

use super::exif;
use super::picture::{self, Codec, Header, blank, bytes_at, latin1};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::picture_metadata::photoshop;
use bytes::Bytes;
use std::borrow::Cow;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Marker segments that are looked at before the first scan.
const SEGMENTS: usize = 10_000;
/// Bytes by which the search for the end marker steps back through the file.
const STEP: u64 = 1 << 20;

/// Reads the marker segments.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut walk = Walk::default();
    let scan = walk.run(task, &|at, len| source.read_up_to(task, at, len))?;
    let coding = walk.coding();
    let Some(frame) = walk.frame.take() else {
        return Err(Error::malformed("JPEG: it ends or its scan begins before a frame header (SOF)").at(scan));
    };
    let mut header = walk.header;
    describe(&mut header, &frame, coding.colours);
    if coding.apart {
        header.detail("scans", "one for each component, or some of them");
    }
    match joined(walk.profile) {
        Some(profile) => header.profile(profile),
        None => header.detail("ICC profile", "no"),
    }
    if !walk.extended.is_empty() {
        header.blocks.xmp.push(walk.extended.into());
    }
    header.blocks.iptc = photoshop(&walk.photoshop).map(Bytes::copy_from_slice);
    if frame.refusal().is_some() && frame.is_wide() && frame.sampling.len() != 2 {
        header.info.sample = if frame.precision > 8 { Sample::U16 } else { Sample::U8 };
        let bits = (frame.kind != 0xc3).then_some(frame.precision);
        return picture::node(source, header, Wide { coding, bits });
    }
    if let Some(refusal) = frame.refusal() {
        header.info.sample = if frame.precision > 8 { Sample::U16 } else { Sample::U8 };
        header.problem = Some(Error::unsupported(refusal.clone()).at(frame.at));
        return picture::node(source, header, Refused { refusal, at: frame.at });
    }
    if header.problem.is_none() && !ends(task, source, scan)? {
        let what = "JPEG: its end marker (EOI) is missing; the file may be cut off";
        header.problem = Some(Error::malformed(what).at(source.len(task)?));
    }
    picture::node(source, header, Jpeg { coding, sides: (frame.width, frame.height) })
}

/// A frame header.
struct Frame {
    kind: u8,
    precision: u8,
    width: u16,
    height: u16,
    /// (horizontal, vertical) sampling of each component.
    sampling: Vec<(u8, u8)>,
    /// What each component is called.
    ids: Vec<u8>,
    at: u64,
}

impl Frame {
    /// What no decoder here reads, by its name in the standard.
    fn refusal(&self) -> Option<String> {
        let process = self.process();
        match self.kind {
            0xc0..=0xc2 if self.precision != 8 => {
                Some(format!("{process} JPEG with {} bits a sample", self.precision))
            }
            0xc0..=0xc2 => match self.sampling.len() {
                1 | 3 | 4 => None,
                n => Some(format!("JPEG with {n} components")),
            },
            _ => Some(format!("{process} JPEG")),
        }
    }

    /// Whether it is read by [`wide`] although no crate does.
    fn is_wide(&self) -> bool {
        wide::takes(self.kind, self.precision) && matches!(self.sampling.len(), 1..=4)
    }

    fn process(&self) -> &'static str {
        match self.kind {
            0xc0 => "baseline",
            0xc1 => "extended sequential",
            0xc2 => "progressive",
            0xc3 => "lossless",
            0xc5..=0xc7 => "hierarchical",
            0xc9 | 0xca => "arithmetic-coded",
            0xcb => "lossless arithmetic-coded",
            _ => "hierarchical arithmetic-coded",
        }
    }
}

/// What components are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colours {
    Grey,
    Rgb,
    YCbCr,
    Cmyk,
    /// The complement of cyan, magenta and yellow as YCbCr, and black.
    Ycck,
}

/// How the components are stored.
#[derive(Clone, Copy, Debug)]
struct Coding {
    colours: Colours,
    /// Adobe writes CMYK with 255 for no ink.
    inverted: bool,
    /// The components come in several scans although the file is sequential.
    apart: bool,
    /// Sampling factors that zune-jpeg takes wrongly.
    uneven: bool,
    /// Where Adobe's segment is.
    adobe: Option<u64>,
}

#[derive(Default)]
struct Walk {
    header: Header,
    frame: Option<Frame>,
    /// Whether JFIF's segment is there.
    jfif: bool,
    /// Where Adobe's segment is, and its transform byte unless it ends before.
    adobe: Option<(u64, Option<u8>)>,
    /// Pieces of a profile, each with its number.
    profile: Vec<(u8, Bytes)>,
    /// Further XMP, in pieces that follow each other.
    extended: Vec<u8>,
    /// Adobe's resources, in pieces that follow each other.
    photoshop: Vec<u8>,
    /// The components of the first scan.
    scanned: Option<u8>,
}

impl Walk {
    /// The rules of libjpeg: JFIF is YCbCr whatever Adobe says, and of three components any transform but none
    /// is YCbCr.
    fn coding(&self) -> Coding {
        let (ids, sampling) = match &self.frame {
            Some(frame) => (frame.ids.as_slice(), frame.sampling.as_slice()),
            None => Default::default(),
        };
        let transform = self.adobe.and_then(|(_, transform)| transform);
        let colours = match (ids, transform) {
            ([_], _) => Colours::Grey,
            ([_, _, _, _], None | Some(0)) => Colours::Cmyk,
            ([_, _, _, _], Some(_)) => Colours::Ycck,
            (_, Some(0)) if !self.jfif => Colours::Rgb,
            ([b'R', b'G', b'B'], None) if !self.jfif => Colours::Rgb,
            _ => Colours::YCbCr,
        };
        let sequential = self.frame.as_ref().is_some_and(|frame| matches!(frame.kind, 0xc0 | 0xc1));
        let apart = self.scanned.is_some_and(|count| usize::from(count) < ids.len());
        let first = sampling.first().copied().unwrap_or((1, 1));
        let even = |&(h, v): &(u8, u8)| {
            [h, v].iter().all(|n| matches!(n, 1 | 2 | 4)) && h <= first.0 && v <= first.1
        };
        Coding {
            colours,
            inverted: self.adobe.is_some(),
            apart: sequential && apart,
            uneven: sampling.len() > 1 && !sampling.iter().all(even),
            adobe: self.adobe.map(|(at, _)| at),
        }
    }

    /// Walks up to the first scan; where that begins. `read` gives up to so many bytes from a place on.
    fn run(&mut self, task: &Task, read: &dyn Fn(u64, usize) -> Result<Bytes>) -> Result<u64> {
        let mut at = 2u64;
        for _ in 0..SEGMENTS {
            task.check()?;
            let head = read(at, 4)?;
            let Some(&[0xff, marker]) = head.first_chunk() else {
                if head.len() < 2 {
                    self.cut(at);
                    return Ok(at);
                }
                // Decoders skip stray bytes between segments; so does this walk.
                at += 1;
                continue;
            };
            match marker {
                0xff => at += 1,
                0x01 | 0xd0..=0xd8 => at += 2,
                0xd9 => return Ok(at),
                0xda => {
                    self.scanned = read(at + 4, 1)?.first().copied();
                    return Ok(at);
                }
                _ => {
                    let Some(len) = bytes_at(&head, 2).map(u16::from_be_bytes) else {
                        self.cut(at);
                        return Ok(at);
                    };
                    let body = read(at + 4, usize::from(len.saturating_sub(2)))?;
                    self.segment(marker, &body, at)?;
                    at += 2 + u64::from(len.max(2));
                }
            }
        }
        Err(Error::limit(format!("JPEG: more than {SEGMENTS} segments before its pixels")))
    }

    fn cut(&mut self, at: u64) {
        self.header.problem = Some(Error::malformed("JPEG: it ends before its pixels").at(at));
    }

    fn segment(&mut self, marker: u8, body: &[u8], at: u64) -> Result<()> {
        match marker {
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) && self.frame.is_none() => {
                self.frame = Some(frame(marker, body, at)?);
            }
            0xe0 if body.starts_with(b"JFIF\0") => {
                self.jfif = true;
                if let (Some(&unit), Some(x), Some(y)) = (body.get(7), bytes_at(body, 8), bytes_at(body, 10))
                {
                    let (x, y) = (u16::from_be_bytes(x), u16::from_be_bytes(y));
                    let unit = ["(aspect only)", "dots/inch", "dots/cm"].get(usize::from(unit));
                    let unit = unit.copied().unwrap_or("");
                    self.header.attribute("pixel density", format!("{x} × {y} {unit}"));
                }
            }
            0xe1 if body.starts_with(b"Exif\0\0") => exif::add(&mut self.header, body),
            0xe1 => {
                if let Some(text) = body.strip_prefix(b"http://ns.adobe.com/xap/1.0/\0") {
                    self.header.xmp(text);
                } else if let Some(part) = body.strip_prefix(b"http://ns.adobe.com/xmp/extension/\0") {
                    // Behind a digest, the length of all and the place of this piece.
                    self.extended.extend_from_slice(part.get(40..).unwrap_or_default());
                }
            }
            0xe2 if body.starts_with(b"ICC_PROFILE\0") => {
                let number = body.get(12).copied().unwrap_or(1);
                self.profile.push((number, Bytes::copy_from_slice(body.get(14..).unwrap_or_default())));
            }
            0xed => {
                if let Some(part) = body.strip_prefix(b"Photoshop 3.0\0") {
                    self.photoshop.extend_from_slice(part);
                }
            }
            0xee if body.starts_with(b"Adobe") => {
                self.adobe = Some((at, body.get(11).copied()));
            }
            0xfe => {
                let text = String::from_utf8(body.to_vec()).unwrap_or_else(|_| latin1(body));
                self.header.attribute("comment", text.trim_end_matches('\0'));
            }
            0xdd => {
                if let Some(rows) = bytes_at(body, 0).map(u16::from_be_bytes).filter(|&n| n > 0) {
                    self.header.detail("restart interval", format!("{rows} blocks"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The pieces of a profile in their order.
fn joined(mut pieces: Vec<(u8, Bytes)>) -> Option<Bytes> {
    pieces.sort_by_key(|(number, _)| *number);
    match pieces.as_slice() {
        [] => None,
        [(_, whole)] => Some(whole.clone()),
        _ => Some(pieces.iter().flat_map(|(_, piece)| piece.iter().copied()).collect()),
    }
}

fn frame(kind: u8, body: &[u8], at: u64) -> Result<Frame> {
    let Some(&[precision, a, b, c, d, count]) = body.first_chunk() else {
        return Err(Error::malformed("JPEG: its frame header is too short").at(at));
    };
    let components = body.get(6..).unwrap_or_default().as_chunks::<3>().0;
    let components = components.get(..components.len().min(count.into())).unwrap_or_default();
    let sampling = components.iter().map(|c| (c[1] >> 4, c[1] & 15)).collect();
    let ids = components.iter().map(|c| c[0]).collect();
    let (height, width) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    if width == 0 || height == 0 {
        return Err(Error::malformed(format!("JPEG: an image of {width} × {height} pixels")).at(at));
    }
    Ok(Frame { kind, precision, width, height, sampling, ids, at })
}

fn describe(header: &mut Header, frame: &Frame, colours: Colours) {
    header.detail("process", frame.process());
    let colours = match colours {
        _ if !matches!(frame.sampling.len(), 1 | 3 | 4) => "unknown",
        Colours::Grey => "grey",
        Colours::Rgb => "RGB",
        Colours::YCbCr => "YCbCr",
        Colours::Cmyk => "CMYK",
        Colours::Ycck => "YCCK",
    };
    header.detail("colour type", colours);
    if let (3 | 4, Some(&(h, v))) = (frame.sampling.len(), frame.sampling.first()) {
        let chroma = frame.sampling.get(1).copied().unwrap_or((1, 1));
        let words = match (h, v, chroma) {
            (1, 1, (1, 1)) => "4:4:4".to_owned(),
            (2, 1, (1, 1)) => "4:2:2".to_owned(),
            (2, 2, (1, 1)) => "4:2:0".to_owned(),
            (1, 2, (1, 1)) => "4:4:0".to_owned(),
            (4, 1, (1, 1)) => "4:1:1".to_owned(),
            _ => frame.sampling.iter().map(|(h, v)| format!("{h}×{v}")).collect::<Vec<_>>().join(", "),
        };
        header.detail("chroma subsampling", words);
    }
    let info = &mut header.info;
    (info.width, info.height) = (frame.width.into(), frame.height.into());
    info.channels = if frame.sampling.len() == 1 { 1 } else { 3 };
    info.bits = frame.precision.into();
    info.sample = Sample::U8;
    info.frames = 1;
}

/// Whether an end marker follows the scan's start at `scan`. Looked for from the end, where it is.
fn ends(task: &Task, source: &Source, scan: u64) -> Result<bool> {
    let mut end = source.len(task)?;
    while end > scan {
        task.check()?;
        // Pieces overlap by a byte, so that a marker on their border is seen.
        let start = end.saturating_sub(STEP).max(scan);
        let bytes = source.read(task, start..end)?;
        if memchr::memmem::rfind(&bytes, &[0xff, 0xd9]).is_some() {
            return Ok(true);
        }
        end = if start == scan { scan } else { start + 1 };
    }
    Ok(false)
}

/// A JPEG whose pixels no decoder here reads.
struct Refused {
    refusal: String,
    at: u64,
}

impl Codec for Refused {
    fn frame(&self, _task: &Task, _source: &Source, _frame: u64, _partial: bool) -> Result<Pixels> {
        Err(Error::unsupported(self.refusal.clone()).at(self.at))
    }
}

/// A lossless JPEG, or one of 12 bits a sample.
struct Wide {
    coding: Coding,
    /// Bits of a sample, where it is not lossless.
    bits: Option<u8>,
}

impl Codec for Wide {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let bytes = source.read(task, 0..source.len(task)?)?;
        let raw = wide::decode(task, &bytes, partial)?;
        match (raw.sample, self.coding.colours, self.bits) {
            // Lossless ones are stored in the colours that they have.
            (Sample::U8, Colours::YCbCr, _) if raw.channels == 3 => Ok(raw),
            (Sample::U8, ..) => Ok(Jpeg { coding: self.coding, sides: (0, 0) }.coloured(raw)),
            (Sample::U16, _, Some(bits)) => Ok(self.deep(raw, (1 << bits) - 1)),
            _ => Ok(raw),
        }
    }
}

impl Wide {
    /// Components of two bytes as colours, up to `most`.
    fn deep(&self, raw: Pixels, most: i32) -> Pixels {
        let words = raw.data.as_chunks::<2>().0.iter().map(|word| i32::from(u16::from_le_bytes(*word)));
        let words: Vec<i32> = words.collect();
        let colours = self.coding.colours;
        let pixels: Vec<[i32; 3]> = match colours {
            Colours::YCbCr => words.as_chunks::<3>().0.iter().map(|pixel| rgb(*pixel, most)).collect(),
            Colours::Cmyk | Colours::Ycck => {
                let light = |&[a, b, c, k]: &[i32; 4]| {
                    let ink = [a, b, c];
                    let ink = if colours == Colours::Ycck { rgb(ink, most).map(|v| most - v) } else { ink };
                    let (ink, k) =
                        if self.coding.inverted { (ink.map(|v| most - v), most - k) } else { (ink, k) };
                    ink.map(|v| (most - v).max(0) * (most - k).max(0) / most)
                };
                words.as_chunks::<4>().0.iter().map(light).collect()
            }
            Colours::Grey | Colours::Rgb => return raw,
        };
        let data = pixels.iter().flatten().flat_map(|value| (*value as u16).to_le_bytes()).collect();
        Pixels { channels: 3, data, ..raw }
    }
}

struct Jpeg {
    coding: Coding,
    /// Width and height.
    sides: (u16, u16),
}

impl Codec for Jpeg {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let bytes = source.read(task, 0..source.len(task)?)?;
        Ok(self.coloured(decode(task, &bytes, self.coding, partial)?))
    }

    /// With 1, 2 or 4 of the 8 frequencies of each block, as libjpeg does it: where half of the sides is enough.
    fn reduced(
        &self,
        task: &Task,
        source: &Source,
        _frame: u64,
        (width, height): (u64, u64),
        partial: bool,
    ) -> Result<Option<Pixels>> {
        let sides = u16::try_from(width).ok().zip(u16::try_from(height).ok());
        let large = |long: u16, short: u64| u64::from(long) >= short.saturating_mul(2);
        let is_large = large(self.sides.0, width) && large(self.sides.1, height);
        let Some(sides) = sides.filter(|_| is_large && !partial && !self.coding.uneven) else {
            return Ok(None);
        };
        let bytes = source.read(task, 0..source.len(task)?)?;
        let raw = rare(&without_adobe(&bytes, self.coding), Some(sides));
        task.check()?;
        // What that decoder does not take is decoded as a whole.
        Ok(raw.ok().map(|raw| self.coloured(raw)))
    }
}

impl Jpeg {
    /// Components as colours.
    fn coloured(&self, mut raw: Pixels) -> Pixels {
        if raw.channels > 1 {
            raw.channels = 3;
        }
        match self.coding.colours {
            Colours::YCbCr => raw.data.as_chunks_mut::<3>().0.iter_mut().for_each(to_rgb),
            colours @ (Colours::Cmyk | Colours::Ycck) => {
                raw.data = inks(&raw.data, colours == Colours::Ycck, self.coding.inverted);
            }
            Colours::Grey | Colours::Rgb => {}
        }
        raw
    }
}

/// The components of a JPEG in another file as they are stored.
///
/// # Errors
/// `Unsupported` for processes that are not read, by their names; `Malformed` for damage.
pub(super) fn components(task: &Task, bytes: &[u8], partial: bool) -> Result<Pixels> {
    let mut walk = Walk::default();
    let part = |at: u64, len: usize| {
        let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        Ok(Bytes::copy_from_slice(rest.get(..len).unwrap_or(rest)))
    };
    walk.run(task, &part)?;
    if let Some(refusal) = walk.frame.as_ref().and_then(Frame::refusal) {
        return Err(Error::unsupported(refusal));
    }
    decode(task, bytes, walk.coding(), partial)
}

/// The components of a JPEG of any process that is read, with up to 16 bits a sample, as they are stored.
///
/// # Errors
/// As [`components`].
pub(super) fn samples(task: &Task, bytes: &[u8], partial: bool) -> Result<Pixels> {
    let mut walk = Walk::default();
    let part = |at: u64, len: usize| {
        let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        Ok(Bytes::copy_from_slice(rest.get(..len).unwrap_or(rest)))
    };
    walk.run(task, &part)?;
    match &walk.frame {
        // Sequential ones to libjpeg's last bit: who reads these compares numbers.
        Some(frame) if frame.is_wide() => wide::decode(task, bytes, partial),
        _ => components(task, bytes, partial),
    }
}

/// The components as they are stored.
fn decode(task: &Task, bytes: &[u8], coding: Coding, partial: bool) -> Result<Pixels> {
    let bytes = &without_adobe(bytes, coding);
    let raw = if coding.apart || coding.uneven { rare(bytes, None)? } else { usual(task, bytes, partial)? };
    task.check()?;
    Ok(raw)
}

/// What the components are was told already; both decoders would judge by Adobe's segment alone.
fn without_adobe(bytes: &[u8], coding: Coding) -> Cow<'_, [u8]> {
    match coding.adobe.and_then(|at| usize::try_from(at).ok()) {
        Some(at) => {
            let mut without = bytes.to_vec();
            without.get_mut(at + 4..at + 9).into_iter().for_each(|name| name.fill(b' '));
            without.into()
        }
        None => bytes.into(),
    }
}

/// By zune-jpeg.
fn usual(task: &Task, bytes: &[u8], partial: bool) -> Result<Pixels> {
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX));
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(refused)?;
    let space = decoder.input_colorspace().unwrap_or(ColorSpace::Unknown);
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let mut raw = blank(width as u64, height as u64, space.num_components() as u32, Sample::U8, false)?;
    if let Err(error) = decoder.decode_into(&mut raw.data) {
        task.check()?;
        if !partial {
            return Err(refused(error));
        }
    }
    Ok(raw)
}

/// By jpeg-decoder; with about so many columns and rows at least, where fewer are enough.
fn rare(bytes: &[u8], sides: Option<(u16, u16)>) -> Result<Pixels> {
    use jpeg_decoder::{ColorTransform, Decoder, Error as Fault};
    let refused = |error: Fault| match error {
        Fault::Unsupported(what) => Error::unsupported(format!("JPEG: {what:?}")),
        Fault::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::malformed("JPEG: its pixels end too early; the file may be cut off")
        }
        other => Error::malformed(format!("JPEG: {other}")),
    };
    let mut decoder = Decoder::new(bytes);
    decoder.set_max_decoding_buffer_size(limits::CHUNK as usize);
    decoder.read_info().map_err(refused)?;
    let info = decoder.info().ok_or_else(|| Error::malformed("JPEG: it has no frame header"))?;
    let channels = info.pixel_format.pixel_bytes() as u32;
    // No conversion of three components; of four each is turned over, which is undone below.
    match channels {
        3 => decoder.set_color_transform(ColorTransform::RGB),
        4 => decoder.set_color_transform(ColorTransform::CMYK),
        _ => {}
    }
    let (width, height) = match sides {
        Some((width, height)) => decoder.scale(width, height).map_err(refused)?,
        None => (info.width, info.height),
    };
    let mut raw = blank(width.into(), height.into(), channels, Sample::U8, false)?;
    let data = decoder.decode().map_err(refused)?;
    if data.len() != raw.data.len() {
        return Err(Error::bug("a decoder's size is not its pixels'"));
    }
    raw.data = data;
    if channels == 4 {
        raw.data.iter_mut().for_each(|value| *value = 255 - *value);
    }
    Ok(raw)
}

/// YCbCr to RGB as in JFIF, in libjpeg's 16-bit fixed point with its rounding.
pub(super) fn to_rgb(pixel: &mut [u8; 3]) {
    *pixel = rgb(pixel.map(i32::from), 255).map(|value| value as u8);
}

/// The same of numbers up to `most`.
fn rgb([y, cb, cr]: [i32; 3], most: i32) -> [i32; 3] {
    let middle = most / 2 + 1;
    let (cb, cr) = (cb - middle, cr - middle);
    let half = 1 << 15;
    let r = y + ((91_881 * cr + half) >> 16);
    let g = y + ((-22_554 * cb - 46_802 * cr + half) >> 16);
    let b = y + ((116_130 * cb + half) >> 16);
    [r, g, b].map(|value| value.clamp(0, most))
}

/// CMYK or YCCK to RGB: black takes its share of what each ink leaves.
fn inks(data: &[u8], ycck: bool, inverted: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() / 4 * 3);
    for &[a, b, c, k] in data.as_chunks::<4>().0 {
        let mut ink = [a, b, c];
        if ycck {
            // YCCK holds the complement of the inks as YCbCr; black is stored as it is.
            to_rgb(&mut ink);
            ink = ink.map(|v| 255 - v);
        }
        let (ink, k) = if inverted { (ink.map(|v| 255 - v), 255 - k) } else { (ink, k) };
        let left = i32::from(255 - k);
        out.extend(ink.map(|v| (left - multiply(i32::from(v), left)).clamp(0, 255) as u8));
    }
    out
}

/// `a × b / 255`, rounded.
pub(super) fn multiply(a: i32, b: i32) -> i32 {
    let product = a * b + 128;
    ((product >> 8) + product) >> 8
}

fn refused(error: DecodeErrors) -> Error {
    match error {
        DecodeErrors::Unsupported(what) => Error::unsupported(format!("JPEG: {what:?}")),
        DecodeErrors::LargeDimensions(_) => Error::limit("JPEG: its sides are too long"),
        other => Error::malformed(format!("JPEG: {other:?}")),
    }
}

#[cfg(test)]
mod tests;
