//! Writes JPEG (ITU-T T.81): baseline, 8 bits, grey or YCbCr without chroma subsampling, by the `image` crate, which
//! asks for eight rows of pixels after the other. <https://www.w3.org/Graphics/JPEG/itu-t81.pdf>

use super::{
    Colours, FOLDER, FRAME, Holds, exif, exif_losses, folder_note, frame, image, is_folder, row_bytes, rows,
};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Image, Kind, Sample};
use crate::data::format::{
    ArrayPictures, CHANNELS, Files, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, WriteTo,
    Writer, loss, note,
};
use image::codecs::jpeg::{JpegEncoder, PixelDensity, PixelDensityUnit};
use image::{GenericImageView, ImageEncoder, ImageError, Luma, Rgb};
use std::cell::RefCell;
use std::marker::PhantomData;

const QUALITY: OptionSpec =
    OptionSpec::new("quality", "How near to the picture, from 1 to 100, as libjpeg counts it").default("90");

/// The writer.
pub(in crate::formats::media::image) const WRITER: Writer = Writer {
    metadata: Metadata::Own,
    pictures: ArrayPictures { samples: &[Sample::U8], frames: false },
    options: &[FRAME, FOLDER, CHANNELS, QUALITY],
    check: |payload| HOLDS.check(payload),
    write: WriteTo::Either { is_folder, file: write, folder },
    ..Writer::new(&[Kind::Image], losses, write)
};

const HOLDS: Holds =
    Holds { name: "JPEG", colours: &[Colours::Grey, Colours::Rgb], bits: 8, side: 65_535, turned: true };
/// Rows of a block.
const BLOCK: u64 = 8;
/// Bytes of pixels that are read at once: a block of rows, or more of them where rows are short.
const BAND: u64 = 4 << 20;

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let info = image.info();
    let mut losses = HOLDS.losses(info, options);
    let quality = options.get(QUALITY.name).unwrap_or(QUALITY.default);
    let what = format!("pixels are near to what they were, not the same (quality {quality})");
    losses.push(loss(LossKind::Precision, what).if_any());
    if told_density(payload).is_none() {
        let what = "a pixel density of 1 × 1 without a unit is said";
        losses.push(note(LossKind::Attribute, what).of(DENSITY).if_any());
    }
    let keeps = |name: &str, value: &str| name == DENSITY && density(value).is_some();
    losses.extend(exif_losses(payload, info, keeps));
    losses.extend(folder_note(options));
    losses
}

/// What the reader calls the density of pixels.
const DENSITY: &str = "pixel density";

/// A density in the reader's words.
fn density(text: &str) -> Option<PixelDensity> {
    let (x, rest) = text.split_once(" × ")?;
    let (y, unit) = rest.split_once(' ')?;
    let unit = match unit {
        "(aspect only)" => PixelDensityUnit::PixelAspectRatio,
        "dots/inch" => PixelDensityUnit::Inches,
        "dots/cm" => PixelDensityUnit::Centimeters,
        _ => return None,
    };
    Some(PixelDensity { density: (x.parse().ok()?, y.parse().ok()?), unit })
}

/// The density that the attributes say.
fn told_density(payload: &Payload) -> Option<PixelDensity> {
    density(&payload.attributes.get(DENSITY)?.to_string())
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let frame = frame(image(payload)?.info(), options)?;
    write_frame(task, payload, options, frame, sink)
}

fn folder(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let info = image(payload)?.info();
    super::folder(task, info, "jpg", files, &|task, frame, sink| {
        write_frame(task, payload, options, frame, sink)
    })
}

fn write_frame(
    task: &Task,
    payload: &Payload,
    options: &Options,
    frame: u64,
    sink: &mut dyn Sink,
) -> Result<()> {
    let image = image(payload)?.as_ref();
    let info = image.info();
    HOLDS.sides(info)?;
    let quality = options.number(&QUALITY, "it is a number from 1 to 100", |n| (1..=100).contains(n))?;
    let mut encoder = JpegEncoder::new_with_quality(sink, quality);
    if let Some(density) = told_density(payload) {
        encoder.set_pixel_density(density);
    }
    if let Some(block) = exif(info) {
        encoder.set_exif_metadata(block).map_err(|what| Error::unsupported(format!("JPEG: {what}")))?;
    }
    task.set_total(info.height);
    let rows = (BAND / row_bytes(info) / BLOCK).max(1) * BLOCK;
    let view = View { task, image, frame, rows, band: RefCell::default() };
    let made = match HOLDS.colours(info)? {
        Colours::Grey => encoder.encode_image(&Of::<Luma<u8>>(&view, PhantomData)),
        _ => encoder.encode_image(&Of::<Rgb<u8>>(&view, PhantomData)),
    };
    // What could not be read comes first: the pixels that stood for it are of no use.
    if let Some(error) = view.band.into_inner().error {
        return Err(error);
    }
    made.map_err(|error| match error {
        ImageError::IoError(io) => io.into(),
        other => Error::unsupported(format!("JPEG: {other}")),
    })
}

/// A frame of which a band of rows is in memory: the encoder goes through it once, by blocks.
struct View<'a> {
    task: &'a Task,
    image: &'a dyn Image,
    frame: u64,
    /// Rows of a band.
    rows: u64,
    band: RefCell<Band>,
}

#[derive(Default)]
struct Band {
    /// The rows that are there: the first, and one beyond the last.
    from: u64,
    to: u64,
    data: Vec<u8>,
    error: Option<Error>,
}

impl View<'_> {
    /// The samples of a pixel; zeros where they cannot be read.
    fn pixel<const N: usize>(&self, x: u32, y: u32) -> [u8; N] {
        let (x, y) = (u64::from(x), u64::from(y));
        let mut band = self.band.borrow_mut();
        if band.error.is_some() {
            return [0; N];
        }
        if !(band.from..band.to).contains(&y) {
            let from = y - y % self.rows;
            let count = self.rows.min(self.image.info().height - from);
            let read = self
                .task
                .advance(band.to - band.from)
                .and_then(|()| rows(self.task, self.image, self.frame, from, count))
                .and_then(|pixels| HOLDS.pixels(pixels));
            match read {
                Ok(data) => (band.from, band.to, band.data) = (from, from + count, data),
                Err(error) => {
                    band.error = Some(error);
                    return [0; N];
                }
            }
        }
        let at = ((y - band.from) * self.image.info().width + x) as usize;
        band.data.as_chunks::<N>().0.get(at).copied().unwrap_or([0; N])
    }
}

/// The view with pixels of a type.
struct Of<'a, P>(&'a View<'a>, PhantomData<P>);

impl GenericImageView for Of<'_, Luma<u8>> {
    type Pixel = Luma<u8>;

    fn dimensions(&self) -> (u32, u32) {
        let info = self.0.image.info();
        (info.width as u32, info.height as u32)
    }

    fn get_pixel(&self, x: u32, y: u32) -> Luma<u8> {
        Luma(self.0.pixel(x, y))
    }
}

impl GenericImageView for Of<'_, Rgb<u8>> {
    type Pixel = Rgb<u8>;

    fn dimensions(&self) -> (u32, u32) {
        let info = self.0.image.info();
        (info.width as u32, info.height as u32)
    }

    fn get_pixel(&self, x: u32, y: u32) -> Rgb<u8> {
        Rgb(self.0.pixel(x, y))
    }
}
