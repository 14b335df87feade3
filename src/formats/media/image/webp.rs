//! WebP (RFC 9649). <https://developers.google.com/speed/webp/docs/riff_container>
//!
//! Opening walks the RIFF chunks; the `image-webp` crate decodes and composes animations.

use super::exif;
use super::picture::{self, Codec, Header, Player, blank, bytes_at};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use bytes::Bytes;
use image_webp::{DecodingError, WebPDecoder};
use std::io::{BufRead, Cursor, Seek};

/// Chunks that are walked at open.
const CHUNKS: usize = 1 << 20;
/// Bytes of metadata that are read.
const METADATA: u64 = 1 << 20;

/// Walks the chunks.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let mut walk = Walk::default();
    walk.run(opening.task, opening.source)?;
    let mut header = walk.header;
    if header.info.width == 0 {
        return Err(Error::malformed("WebP: it has no picture (no VP8, VP8L or VP8X chunk)").at(12));
    }
    let coding = match (walk.lossy, walk.lossless) {
        (true, true) => "lossy and lossless",
        (true, false) => "lossy (VP8)",
        (false, true) => "lossless (VP8L)",
        (false, false) => "none",
    };
    header.detail("coding", coding);
    match walk.profile {
        Some(profile) => header.profile(profile),
        None => header.detail("ICC profile", "no"),
    }
    let info = &mut header.info;
    info.alpha = walk.alpha;
    (info.channels, info.bits, info.sample) = (3 + u32::from(walk.alpha), 8, Sample::U8);
    info.frames = walk.frames.max(1);
    if walk.frames > 1 {
        header.detail("duration", format!("{} s", walk.milliseconds as f64 / 1000.0));
    }
    picture::node(opening.source, header, WebP { animated: walk.animated })
}

#[derive(Default)]
struct Walk {
    header: Header,
    extended: bool,
    animated: bool,
    alpha: bool,
    lossy: bool,
    lossless: bool,
    profile: Option<Bytes>,
    frames: u64,
    milliseconds: u64,
}

impl Walk {
    fn run(&mut self, task: &Task, source: &Source) -> Result<()> {
        let head = source.read_up_to(task, 0, 12)?;
        let size = bytes_at(&head, 4).map_or(0, |b| u64::from(u32::from_le_bytes(b)));
        let (promised, len) = (size + 8, source.len(task)?);
        if promised > len {
            let what = format!("WebP: it promises {promised} bytes, {len} are there; it may be cut off");
            self.header.problem = Some(Error::malformed(what).at(4));
        }
        let end = promised.min(len);
        let mut at = 12;
        for number in 0..CHUNKS {
            if number % 1024 == 0 {
                task.check()?;
            }
            if at + 8 > end {
                return Ok(());
            }
            let head = source.read_up_to(task, at, 8)?;
            let (Some(kind), Some(size)) = (bytes_at::<4>(&head, 0), bytes_at(&head, 4)) else {
                return Ok(());
            };
            let size = u64::from(u32::from_le_bytes(size));
            let wanted = match &kind {
                b"EXIF" | b"XMP " | b"ICCP" => size.min(METADATA),
                _ => size.min(32),
            };
            let bytes = source.read_up_to(task, at + 8, wanted as usize)?;
            self.chunk(&kind, &bytes, at)?;
            at += 8 + size + (size & 1);
        }
        Ok(())
    }

    fn chunk(&mut self, kind: &[u8; 4], bytes: &[u8], at: u64) -> Result<()> {
        match kind {
            b"VP8X" => {
                let Some(&[flags, _, _, _, a, b, c, d, e, f]) = bytes.first_chunk() else {
                    return Err(Error::malformed("WebP: its VP8X chunk is too short").at(at));
                };
                self.extended = true;
                self.alpha = flags & 0x10 != 0;
                self.animated = flags & 0x02 != 0;
                self.size(u64::from(u32::from_le_bytes([a, b, c, 0])) + 1, three([d, e, f]) + 1);
            }
            b"VP8 " => {
                self.lossy = true;
                let side = |at: usize| bytes_at(bytes, at).map(|b| u64::from(u16::from_le_bytes(b) & 0x3fff));
                if let (Some(width), Some(height)) = (side(6), side(8)) {
                    self.size(width, height);
                }
            }
            b"VP8L" => {
                self.lossless = true;
                if let Some(bits) = bytes_at(bytes, 1).map(u32::from_le_bytes) {
                    self.size(u64::from(bits & 0x3fff) + 1, u64::from(bits >> 14 & 0x3fff) + 1);
                    self.alpha |= !self.extended && bits >> 28 & 1 == 1;
                }
            }
            b"ANMF" => {
                self.frames += 1;
                self.milliseconds += bytes_at(bytes, 12).map_or(0, three);
                self.lossy |= bytes.get(16..20).is_some_and(|k| k == b"VP8 " || k == b"ALPH");
                self.lossless |= bytes.get(16..20) == Some(b"VP8L");
            }
            b"ANIM" => {
                if let Some(times) = bytes_at(bytes, 4).map(u16::from_le_bytes) {
                    let words = if times == 0 { "for ever".to_owned() } else { format!("{times} times") };
                    self.header.detail("repeats", words);
                }
            }
            b"ICCP" => self.profile = Some(Bytes::copy_from_slice(bytes)),
            b"EXIF" => exif::add(&mut self.header, bytes),
            b"XMP " => self.header.xmp(bytes),
            _ => {}
        }
        Ok(())
    }

    /// The first chunk that tells a size tells the picture's.
    fn size(&mut self, width: u64, height: u64) {
        let info = &mut self.header.info;
        if info.width == 0 {
            (info.width, info.height) = (width, height);
        }
    }
}

/// A number of three bytes.
fn three([a, b, c]: [u8; 3]) -> u64 {
    u64::from(u32::from_le_bytes([a, b, c, 0]))
}

struct WebP {
    animated: bool,
}

fn decoder<R: BufRead + Seek>(input: R) -> Result<WebPDecoder<R>> {
    let mut decoder = WebPDecoder::new(input).map_err(refused)?;
    decoder.set_memory_limit(limits::CHUNK as usize);
    Ok(decoder)
}

fn canvas<R: BufRead + Seek>(decoder: &WebPDecoder<R>) -> Result<Pixels> {
    let ((width, height), alpha) = (decoder.dimensions(), decoder.has_alpha());
    blank(width.into(), height.into(), 3 + u32::from(alpha), Sample::U8, alpha)
}

impl Codec for WebP {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let mut decoder = decoder(source.reader(task))?;
        let mut pixels = canvas(&decoder)?;
        match decoder.read_image(&mut pixels.data) {
            Err(error) if !partial => Err(refused(error)),
            _ => task.check().map(|()| pixels),
        }
    }

    fn play(&self, task: &Task, source: &Source, _partial: bool) -> Result<Option<Box<dyn Player>>> {
        if !self.animated {
            return Ok(None);
        }
        let bytes = source.read(task, 0..source.len(task)?)?;
        let mut decoder = decoder(Cursor::new(bytes))?;
        if !decoder.is_animated() {
            return Ok(None);
        }
        let (width, height) = decoder.dimensions();
        picture::check_canvas(width.into(), height.into(), 4)?;
        // Players start from nothing, whatever colour the file suggests to put behind.
        decoder.set_background_color([0; 4]).map_err(refused)?;
        Ok(Some(Box::new(Animation(decoder))))
    }
}

struct Animation(WebPDecoder<Cursor<Bytes>>);

impl Player for Animation {
    fn next(&mut self, task: &Task) -> Result<Pixels> {
        let mut pixels = canvas(&self.0)?;
        self.0.read_frame(&mut pixels.data).map_err(refused)?;
        task.check().map(|()| pixels)
    }
}

fn refused(error: DecodingError) -> Error {
    match error {
        DecodingError::IoError(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::malformed("WebP: its pixels end too early")
        }
        DecodingError::IoError(io) => io.into(),
        DecodingError::MemoryLimitExceeded | DecodingError::ImageTooLarge => {
            Error::limit("WebP: decoding it needs too much memory")
        }
        DecodingError::UnsupportedFeature(what) => Error::unsupported(format!("WebP: {what}")),
        other => Error::malformed(format!("WebP: {other}")),
    }
}
