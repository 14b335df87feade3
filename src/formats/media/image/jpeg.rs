//! JPEG (ITU-T T.81, JFIF in T.871). <https://www.w3.org/Graphics/JPEG/itu-t81.pdf>
//!
//! Opening walks the marker segments up to the first scan; zune-jpeg decodes. It hands out YCbCr,
//! CMYK and YCCK as they are: the way to RGB is libjpeg's, in its fixed-point numbers, so that
//! pictures without chroma subsampling differ from libjpeg's only where the inverse transform does.

use super::exif;
use super::picture::{self, Codec, Header, blank, bytes_at, latin1};
use crate::content::{Pixels, Sample};
use crate::error::{Error, Result};
use crate::format::Opening;
use crate::node::Node;
use crate::source::Source;
use crate::task::Task;
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
    let scan = walk.run(task, source)?;
    let Some(frame) = walk.frame.take() else {
        return Err(Error::malformed("JPEG: it ends or its scan begins before a frame header (SOF)").at(scan));
    };
    let mut header = walk.header;
    describe(&mut header, &frame, walk.adobe);
    header.detail("ICC profile", if walk.profile { "yes" } else { "no" });
    if let Some(refusal) = frame.refusal() {
        header.info.sample = if frame.precision > 8 { Sample::U16 } else { Sample::U8 };
        header.problem = Some(Error::unsupported(refusal.clone()).at(frame.at));
        return picture::node(source, header, Refused { refusal, at: frame.at });
    }
    if header.problem.is_none() && !ends(task, source, scan)? {
        let what = "JPEG: its end marker (EOI) is missing; the file may be cut off";
        header.problem = Some(Error::malformed(what).at(source.len(task)?));
    }
    let inverted = walk.adobe.is_some();
    picture::node(source, header, Jpeg { inverted })
}

/// A frame header.
struct Frame {
    kind: u8,
    precision: u8,
    width: u16,
    height: u16,
    /// (horizontal, vertical) sampling of each component.
    sampling: Vec<(u8, u8)>,
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

#[derive(Default)]
struct Walk {
    header: Header,
    frame: Option<Frame>,
    /// The transform byte of Adobe's segment.
    adobe: Option<u8>,
    profile: bool,
}

impl Walk {
    /// Walks up to the first scan; where that begins.
    fn run(&mut self, task: &Task, source: &Source) -> Result<u64> {
        let mut at = 2u64;
        for _ in 0..SEGMENTS {
            task.check()?;
            let head = source.read_up_to(task, at, 4)?;
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
                0xd9 | 0xda => return Ok(at),
                _ => {
                    let Some(len) = bytes_at(&head, 2).map(u16::from_be_bytes) else {
                        self.cut(at);
                        return Ok(at);
                    };
                    let body = source.read_up_to(task, at + 4, usize::from(len.saturating_sub(2)))?;
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
                    self.header.attribute("XMP", String::from_utf8_lossy(text).into_owned());
                }
            }
            0xe2 if body.starts_with(b"ICC_PROFILE\0") => self.profile = true,
            0xee if body.starts_with(b"Adobe") => self.adobe = body.get(11).copied(),
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

fn frame(kind: u8, body: &[u8], at: u64) -> Result<Frame> {
    let Some(&[precision, a, b, c, d, count]) = body.first_chunk() else {
        return Err(Error::malformed("JPEG: its frame header is too short").at(at));
    };
    let components = body.get(6..).unwrap_or_default().as_chunks::<3>().0;
    let sampling = components.iter().take(count.into()).map(|c| (c[1] >> 4, c[1] & 15)).collect();
    let (height, width) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    if width == 0 || height == 0 {
        return Err(Error::malformed(format!("JPEG: an image of {width} × {height} pixels")).at(at));
    }
    Ok(Frame { kind, precision, width, height, sampling, at })
}

fn describe(header: &mut Header, frame: &Frame, adobe: Option<u8>) {
    header.detail("process", frame.process());
    let colours = match (frame.sampling.len(), adobe) {
        (1, _) => "grey",
        (3, Some(0)) => "RGB",
        (3, _) => "YCbCr",
        (4, Some(2)) => "YCCK",
        (4, _) => "CMYK",
        _ => "unknown",
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

struct Jpeg {
    /// Adobe writes CMYK with 255 for no ink.
    inverted: bool,
}

impl Codec for Jpeg {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let bytes = source.read(task, 0..source.len(task)?)?;
        let (mut raw, space) = components(task, &bytes, partial)?;
        if raw.channels > 1 {
            raw.channels = 3;
        }
        match space {
            ColorSpace::YCbCr => raw.data.as_chunks_mut::<3>().0.iter_mut().for_each(to_rgb),
            ColorSpace::CMYK | ColorSpace::YCCK => {
                raw.data = inks(&raw.data, space == ColorSpace::YCCK, self.inverted);
            }
            _ => {}
        }
        Ok(raw)
    }
}

/// The components of a JPEG as they are stored, and what they are taken for.
pub(super) fn components(task: &Task, bytes: &[u8], partial: bool) -> Result<(Pixels, ColorSpace)> {
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
    task.check()?;
    Ok((raw, space))
}

/// YCbCr to RGB as in JFIF, in libjpeg's 16-bit fixed point with its rounding.
pub(super) fn to_rgb(pixel: &mut [u8; 3]) {
    let [y, cb, cr] = pixel.map(i32::from);
    let (cb, cr) = (cb - 128, cr - 128);
    let half = 1 << 15;
    let r = y + ((91_881 * cr + half) >> 16);
    let g = y + ((-22_554 * cb - 46_802 * cr + half) >> 16);
    let b = y + ((116_130 * cb + half) >> 16);
    *pixel = [r, g, b].map(|v| v.clamp(0, 255) as u8);
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
