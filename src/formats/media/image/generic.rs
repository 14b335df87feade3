//! Formats that the `image` crate decodes and whose headers it reads in full: BMP, QOI, Radiance HDR.

use super::picture::{self, Codec, Header, blank};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{Reader, Source};
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use image::error::ImageError;
use image::{ColorType, ExtendedColorType, ImageDecoder, ImageFormat};

pub(super) fn open_bmp(opening: &Opening) -> Result<Node> {
    open(opening, ImageFormat::Bmp)
}
pub(super) fn open_pnm(opening: &Opening) -> Result<Node> {
    if opening.head.starts_with(b"PF") || opening.head.starts_with(b"Pf") {
        return super::pfm::open(opening);
    }
    open(opening, ImageFormat::Pnm)
}
pub(super) fn open_qoi(opening: &Opening) -> Result<Node> {
    open(opening, ImageFormat::Qoi)
}
pub(super) fn open_hdr(opening: &Opening) -> Result<Node> {
    open(opening, ImageFormat::Hdr)
}

fn open(opening: &Opening, format: ImageFormat) -> Result<Node> {
    let decoder = decoder(opening.task, opening.source, format)?;
    let mut header = Header::default();
    let (width, height) = decoder.dimensions();
    let (channels, sample, alpha) = layout(decoder.color_type())?;
    let info = &mut header.info;
    (info.width, info.height) = (width.into(), height.into());
    (info.channels, info.sample, info.alpha) = (channels, sample, alpha);
    info.bits = stored_bits(decoder.original_color_type()).unwrap_or(sample.size() as u32 * 8);
    header.detail("colour type", words(decoder.original_color_type()));
    picture::node(opening.source, header, Generic(format))
}

struct Generic(ImageFormat);

impl Codec for Generic {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        let decoder = decoder(task, source, self.0)?;
        let pixels = decode(decoder, partial);
        task.check()?;
        pixels
    }
}

/// A decoder of the `image` crate that has read its header.
fn decoder(task: &Task, source: &Source, format: ImageFormat) -> Result<Box<dyn ImageDecoder>> {
    let reader: Reader = source.reader(task);
    let mut limit = image::Limits::no_limits();
    limit.max_alloc = Some(limits::CHUNK);
    if format == ImageFormat::Hdr {
        // Both signatures of the format, and headers as they come.
        let mut decoder = image::codecs::hdr::HdrDecoder::new_nonstrict(reader).map_err(refused)?;
        decoder.set_limits(limit).map_err(refused)?;
        return Ok(Box::new(decoder));
    }
    if format == ImageFormat::Bmp && source.read_up_to(task, 0, 2)?.as_ref() != b"BM" {
        // A bitmap without the header of a file.
        let mut decoder = image::codecs::bmp::BmpDecoder::new_without_file_header(reader).map_err(refused)?;
        decoder.set_limits(limit).map_err(refused)?;
        return Ok(Box::new(decoder));
    }
    let mut reader = image::ImageReader::with_format(reader, format);
    reader.limits(limit);
    let decoder = reader.into_decoder().map_err(refused)?;
    Ok(Box::new(decoder))
}

/// All of a decoder's pixels.
pub(super) fn decode(decoder: impl ImageDecoder, partial: bool) -> Result<Pixels> {
    let (width, height) = decoder.dimensions();
    let (channels, sample, alpha) = layout(decoder.color_type())?;
    let mut pixels = blank(width.into(), height.into(), channels, sample, alpha)?;
    if pixels.data.len() as u64 != decoder.total_bytes() {
        return Err(Error::bug("a decoder's size is not its pixels'"));
    }
    match decoder.read_image(&mut pixels.data) {
        Err(error) if !partial => Err(refused(error)),
        _ => Ok(pixels),
    }
}

/// Channels, samples and alpha of what the crate delivers.
pub(super) fn layout(colour: ColorType) -> Result<(u32, Sample, bool)> {
    let sample = match colour {
        ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8 => Sample::U8,
        ColorType::L16 | ColorType::La16 | ColorType::Rgb16 | ColorType::Rgba16 => Sample::U16,
        ColorType::Rgb32F | ColorType::Rgba32F => Sample::F32,
        other => return Err(Error::unsupported(format!("pixels of the type {other:?}"))),
    };
    Ok((colour.channel_count().into(), sample, colour.has_alpha()))
}

/// Bits of a stored sample.
fn stored_bits(colour: ExtendedColorType) -> Option<u32> {
    match colour {
        ExtendedColorType::Unknown(_) => None,
        other => Some(u32::from(other.bits_per_pixel()) / u32::from(other.channel_count().max(1))),
    }
}

fn words(colour: ExtendedColorType) -> String {
    match colour {
        ExtendedColorType::Unknown(bits) => format!("{bits} bits a pixel"),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The crate's errors as ours.
pub(super) fn refused(error: ImageError) -> Error {
    match error {
        ImageError::IoError(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::malformed("image: its pixels end too early; the file may be cut off")
        }
        ImageError::IoError(io) => io.into(),
        ImageError::Limits(what) => Error::limit(format!("image: {what}")),
        ImageError::Unsupported(what) => Error::unsupported(what.to_string()),
        other => Error::malformed(format!("image: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::{Content, Rect};
    use crate::data::format::Options;
    use std::path::PathBuf;

    #[test]
    fn bitmaps_without_a_files_header() {
        let shown = |name: &str| {
            let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/bmp").join(name);
            let bytes = std::fs::read(&path).unwrap();
            // Its name is no part of what it is known by.
            let source = Source::memory("picture", bytes);
            let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
            assert_eq!(document.format.id, "bmp", "{name}");
            let Some(Content::Image(image)) = &document.root.content else { panic!("{name}") };
            let info = image.info();
            image.read(&Task::new(), 0, 0, Rect::all(info.width, info.height)).unwrap()
        };
        for name in ["rgb_24", "grey_8", "rgb_565", "rle_8", "top_down", "bilevel_1"] {
            assert_eq!(shown(&format!("clipboard_{name}.dib")), shown(&format!("{name}.bmp")), "{name}");
        }
    }
}
