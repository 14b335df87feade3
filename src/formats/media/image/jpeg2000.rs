//! JPEG 2000 (ITU-T T.800): code streams, and JP2 files with their boxes, by hayro-jpeg2000.
//! <https://www.itu.int/rec/T-REC-T.800>

use super::picture::{self, Codec, Header, blank};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::boxes;
use bytes::Bytes;
use hayro_jpeg2000::error::{DecodeError, FormatError, ValidationError};
use hayro_jpeg2000::{ColorSpace, DecodeSettings, DecoderContext, Image};

/// The markers that begin a code stream.
const CODE_STREAM: &[u8] = b"\xff\x4f\xff\x51";

/// Reads the boxes and the header of the code stream.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let len = source.len(task)?;
    let mut header = Header::default();
    let mut at = 0;
    if !opening.head.starts_with(CODE_STREAM) {
        let all = boxes::list(task, source, 0..len)?;
        for one in &all {
            match &one.kind {
                b"jp2h" => {
                    for part in one.children(task, source, 0)? {
                        if part.kind == *b"colr" {
                            let bytes = source.read_up_to(task, part.body.start, 7)?;
                            header.detail("colour specification", colour(&bytes));
                        }
                    }
                }
                b"xml " => {
                    let bytes = one.read(task, source)?;
                    header.attribute("XML", String::from_utf8_lossy(&bytes).into_owned());
                }
                b"jp2c" => {
                    at = one.body.start;
                    if one.is_cut {
                        let what = "JPEG 2000: its code stream reaches beyond the file; it may be cut off";
                        header.problem = Some(Error::malformed(what).at(one.start));
                    }
                }
                _ => {}
            }
        }
        if at == 0 {
            return Err(Error::malformed("JPEG 2000: the file has no code stream"));
        }
    }
    let size = Size::read(task, source, at)?;
    let info = &mut header.info;
    (info.width, info.height) = (size.width, size.height);
    (info.channels, info.bits, info.frames) = (size.channels, size.bits, 1);
    info.sample = sample(size.bits, size.signed);
    comments(task, source, size.end, &mut header)?;
    header.detail("tiles", format!("{} × {}", size.tile.0, size.tile.1));
    let whole = source.read(task, 0..limits::check(len, limits::CHUNK, "the file")? as u64)?;
    // Colours may stand for more or fewer channels than the code stream has: indices into a palette.
    match image(&whole) {
        Ok(image) => {
            // Where no component has a sample at each place of the reference grid, the picture is smaller than that.
            (header.info.width, header.info.height) = (image.width().into(), image.height().into());
            header.info.alpha = image.has_alpha();
            let colours = image.color_space().num_channels();
            header.info.channels = u32::from(colours) + u32::from(image.has_alpha());
            header.detail("colour type", words(image.color_space()));
        }
        Err(error) => {
            header.problem.get_or_insert(error);
        }
    }
    picture::node(source, header, Jpeg2000)
}

/// What *SIZ* says (A.5.1).
struct Size {
    width: u64,
    height: u64,
    tile: (u64, u64),
    channels: u32,
    bits: u32,
    signed: bool,
    /// Where the next marker is.
    end: u64,
}

impl Size {
    fn read(task: &Task, source: &Source, at: u64) -> Result<Self> {
        let bytes = source.read_up_to(task, at, 44)?;
        let short = || Error::malformed("JPEG 2000: the header of its code stream is cut off").at(at);
        if !bytes.starts_with(CODE_STREAM) {
            return Err(Error::malformed("JPEG 2000: its code stream does not begin as one").at(at));
        }
        let number = |n: usize| be::<u32>(&bytes, n).map(u64::from).ok_or_else(short);
        let len = u64::from(be::<u16>(&bytes, 4).ok_or_else(short)?);
        let (right, bottom, left, top) = (number(8)?, number(12)?, number(16)?, number(20)?);
        let depth = bytes.get(42).copied().ok_or_else(short)?;
        let channels = u32::from(be::<u16>(&bytes, 40).ok_or_else(short)?);
        if channels == 0 {
            return Err(Error::malformed("JPEG 2000: it has no components").at(at));
        }
        Ok(Size {
            width: right.saturating_sub(left),
            height: bottom.saturating_sub(top),
            tile: (number(24)?, number(28)?),
            channels,
            bits: u32::from(depth & 0x7f) + 1,
            signed: depth & 0x80 != 0,
            end: at + 4 + len,
        })
    }
}

/// Comments between the headers of the code stream (A.9.2).
fn comments(task: &Task, source: &Source, mut at: u64, header: &mut Header) -> Result<()> {
    for _ in 0..1_000 {
        task.check()?;
        let head = source.read_up_to(task, at, 6)?;
        let (Some(marker), Some(len)) = (be::<u16>(&head, 0), be::<u16>(&head, 2)) else { return Ok(()) };
        // The first tile, or no marker.
        if marker == 0xff90 || marker < 0xff00 || len < 2 {
            return Ok(());
        }
        if marker == 0xff64 && be::<u16>(&head, 4) == Some(1) {
            let text = source.read_up_to(task, at + 6, usize::from(len).saturating_sub(4))?;
            header.attribute("comment", picture::latin1(&text));
        }
        at += 2 + u64::from(len);
    }
    Ok(())
}

fn colour(bytes: &[u8]) -> String {
    match (bytes.first(), be::<u32>(bytes, 3)) {
        (Some(1), Some(12)) => "CMYK".to_owned(),
        (Some(1), Some(14)) => "CIE L*a*b*".to_owned(),
        (Some(1), Some(16)) => "sRGB".to_owned(),
        (Some(1), Some(17)) => "grey".to_owned(),
        (Some(1), Some(18)) => "sYCC".to_owned(),
        (Some(1), Some(code)) => format!("enumerated {code}"),
        (Some(2 | 3), _) => "ICC profile".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn words(space: &ColorSpace) -> &'static str {
    match space {
        ColorSpace::Gray => "grey",
        ColorSpace::RGB => "RGB",
        ColorSpace::CMYK => "CMYK",
        ColorSpace::Unknown { .. } => "unknown",
        ColorSpace::Icc { .. } => "by its ICC profile",
    }
}

fn sample(bits: u32, signed: bool) -> Sample {
    match (bits, signed) {
        (..=8, false) => Sample::U8,
        (..=8, true) => Sample::I8,
        (9..=16, false) => Sample::U16,
        (9..=16, true) => Sample::I16,
        (_, false) => Sample::U32,
        (_, true) => Sample::I32,
    }
}

/// Bytes of the smallest tile: its header (A.4.2) and the marker before its data.
const LEAST_TILE: u64 = 14;

/// A picture of more tiles than the file has room for keeps the decoder busy for minutes (B.3 has the count).
fn check_tiles(bytes: &[u8]) -> Result<()> {
    let start = memchr::memmem::find(bytes, CODE_STREAM).unwrap_or(0);
    let number = |n: usize| be::<u32>(bytes, start + n).map_or(0, u64::from);
    let across = |end: usize, origin: usize, side: usize| match number(side) {
        0 => 0,
        side => number(end).saturating_sub(number(origin)).div_ceil(side),
    };
    let tiles = across(8, 32, 24).saturating_mul(across(12, 36, 28));
    if tiles > bytes.len() as u64 / LEAST_TILE {
        let what = format!("JPEG 2000: {tiles} tiles are more than the file has room for");
        return Err(Error::malformed(what).at(start as u64));
    }
    Ok(())
}

/// Refuses the block coder of part 15, which a marker behind the sizes tells (ISO 15444-15, A.3).
fn check_coder(bytes: &[u8]) -> Result<()> {
    let start = memchr::memmem::find(bytes, CODE_STREAM).unwrap_or(0);
    let sizes = be::<u16>(bytes, start + 4).map_or(0, usize::from);
    match be::<u16>(bytes, start + 4 + sizes) {
        Some(0xff50) => Err(Error::unsupported("High-Throughput JPEG 2000")),
        _ => Ok(()),
    }
}

fn image(bytes: &[u8]) -> Result<Image<'_>> {
    check_coder(bytes)?;
    check_tiles(bytes)?;
    crate::bytes::guard::catch_decoder_panic("the picture", || {
        Image::new(bytes, &DecodeSettings::default()).map_err(refused)
    })
}

/// What the decoder says, as an error of ours.
fn refused(error: DecodeError) -> Error {
    match error {
        DecodeError::Format(FormatError::Unsupported) => {
            Error::unsupported("JPEG 2000 in a colour space that is not decoded")
        }
        DecodeError::Validation(ValidationError::TooManyChannels) => {
            Error::unsupported("JPEG 2000 of more than 255 components")
        }
        error => Error::malformed(format!("JPEG 2000: {error}")),
    }
}

/// The samples of a picture in JPEG 2000.
///
/// # Errors
/// `Malformed` for damage; `Limit` for too many pixels.
pub(super) fn samples(task: &Task, bytes: &[u8]) -> Result<Pixels> {
    let image = image(bytes)?;
    picture::check_pixels(image.width().into(), image.height().into())?;
    let start = if bytes.starts_with(CODE_STREAM) {
        0
    } else {
        memchr::memmem::find(bytes, CODE_STREAM).unwrap_or(0)
    };
    let signed = bytes.get(start + 42).is_some_and(|depth| depth & 0x80 != 0);
    task.check()?;
    let mut context = DecoderContext::default();
    let decoded = image.decode(&mut context);
    task.check()?;
    let decoded = decoded.map_err(refused)?;
    let parts = decoded.components();
    let bits = parts.iter().map(|part| u32::from(part.bit_depth())).max().unwrap_or(8);
    let (sample, count) = (sample(bits, signed), parts.len());
    let mut pixels =
        blank(image.width().into(), image.height().into(), count as u32, sample, image.has_alpha())?;
    let size = sample.size();
    for (n, part) in parts.iter().enumerate() {
        let places = pixels.data.chunks_exact_mut(size).skip(n).step_by(count.max(1));
        // Components of fewer bits fill the range of the others.
        let bits_of = u32::from(part.bit_depth());
        let scale = if bits_of == bits {
            1.0
        } else {
            (((1u64 << bits) - 1) as f32) / (((1u64 << bits_of) - 1) as f32)
        };
        // The decoder lifts signed samples by half of their range, as it must those without a sign (G.1.2).
        let lift = if signed { (1u64 << bits_of.saturating_sub(1)) as f32 } else { 0.0 };
        for (value, place) in part.samples().iter().zip(places) {
            let value = ((value - lift) * scale).round();
            let value = match signed {
                true => value as i64,
                false => (value.max(0.0) as i64).min((1i64 << bits) - 1),
            };
            place.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
        }
    }
    Ok(pixels)
}

struct Jpeg2000;

impl Codec for Jpeg2000 {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, _partial: bool) -> Result<Pixels> {
        let bytes: Bytes = source.read(task, 0..source.len(task)?)?;
        samples(task, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str) -> Vec<f64> {
        let path = format!("{}/fixtures/jp2/{name}", env!("CARGO_MANIFEST_DIR"));
        let bytes = Source::open(&Task::new(), std::path::Path::new(&path)).unwrap();
        let bytes = bytes.read_up_to(&Task::new(), 0, 1 << 20).unwrap();
        let pixels = samples(&Task::new(), &bytes).unwrap();
        (0..6).filter_map(|x| pixels.sample(x, 0, 0)).collect()
    }

    #[test]
    fn more_tiles_than_bytes_are_refused_at_once() {
        let mut bytes = CODE_STREAM.to_vec();
        bytes.resize(8, 0);
        for number in [29u32, 8_388_371, 0, 0, 29, 19, 0, 0] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.resize(936, 0);
        let error = image(&bytes).err().unwrap();
        assert!(error.to_string().contains("441494 tiles"), "{error}");
    }

    #[test]
    fn the_coder_of_part_15_is_named() {
        let path = format!("{}/fixtures/jp2/malformed/high_throughput.j2k", env!("CARGO_MANIFEST_DIR"));
        let error = image(&std::fs::read(path).unwrap()).err().unwrap();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Unsupported);
    }

    #[test]
    fn a_colour_space_that_is_not_decoded_is_named() {
        let path = format!("{}/fixtures/jp2/lossy.jp2", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = std::fs::read(path).unwrap();
        assert!(image(&bytes).is_ok());
        // sRGB becomes e-sYCC (T.801, table M.25).
        let at = memchr::memmem::find(&bytes, b"colr").unwrap() + 10;
        assert_eq!(std::mem::replace(&mut bytes[at], 24), 16);
        let error = image(&bytes).err().unwrap();
        assert_eq!(error.kind(), crate::bytes::error::ErrorKind::Unsupported);
        assert!(error.message().contains("colour space"), "{error}");
    }

    #[test]
    fn a_picture_may_be_smaller_than_its_grid() {
        assert_eq!(values("subsampled.j2k"), values("grey.j2k"));
        let path = format!("{}/fixtures/jp2/subsampled.j2k", env!("CARGO_MANIFEST_DIR"));
        let options = crate::data::format::Options::default();
        let document = crate::open(&Task::new(), path.as_ref(), &options).unwrap();
        let Some(crate::data::content::Content::Image(image)) = &document.root.content else {
            panic!("no image")
        };
        assert_eq!((image.info().width, image.info().height), (29, 19));
    }

    #[test]
    fn samples_have_their_sign() {
        // What OpenJPEG reads.
        assert_eq!(values("grey_signed.j2k"), [-2000.0, -1890.0, -1779.0, -1668.0, -1558.0, -1447.0]);
    }
}
