//! Writes AVIF: one picture of AV1, 8 or 10 bits, YCbCr of BT.601 without chroma subsampling, alpha beside it. The
//! `ravif` crate encodes. <https://aomediacodec.github.io/av1-avif/>

use super::{Colours, FOLDER, FRAME, Holds, folder_note, frame, image, is_folder, whole};
use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::task::Task;
use crate::data::content::{Kind, Sample};
use crate::data::format::{
    ArrayPictures, CHANNELS, Files, Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer,
    loss, note,
};
use crate::data::scan::put;
use ravif::{EncodedImage, Encoder, MatrixCoefficients, PixelRange};

const QUALITY: OptionSpec =
    OptionSpec::new("quality", "How near to the picture, from 1 to 100").default("80");
const SPEED: OptionSpec =
    OptionSpec::new("speed", "How fast, from 1 (smallest files) to 10 (fastest)").default("6");
const DEPTH: OptionSpec =
    OptionSpec::new("depth", "Bits of a sample in the file; 10 keeps more, also of pictures of 8 bits")
        .one_of("10", &["8", "10"]);

/// The writer.
pub(in crate::formats::media::image) const WRITER: Writer = Writer {
    pictures: ArrayPictures { samples: &[Sample::U8, Sample::U16], frames: false },
    options: &[FRAME, FOLDER, CHANNELS, QUALITY, SPEED, DEPTH],
    check: |payload| {
        HOLDS.check(payload)?;
        let info = image(payload)?.info();
        match info.width.saturating_mul(info.height) > PIXELS {
            true => {
                let size = format!("{} × {}", info.width, info.height);
                let what = format!("AVIF: a picture of {size} pixels; at most {PIXELS} are encoded at once");
                Err(Error::unsupported(what))
            }
            false => Ok(()),
        }
    },
    write: WriteTo::Either { is_folder, file: write, folder },
    ..Writer::new(&[Kind::Image], losses, write)
};

const HOLDS: Holds =
    Holds { name: "AVIF", colours: &[Colours::Rgb, Colours::Rgba], bits: 16, side: 65_535, turned: false };
/// The encoder holds all of a picture, several times: 8K is the most.
const PIXELS: u64 = 1 << 25;

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let info = image.info();
    let mut losses = HOLDS.losses(info, options);
    let of = |spec: &OptionSpec| options.get(spec.name).unwrap_or(spec.default).to_owned();
    let what = format!("pixels are near to what they were, not the same (quality {})", of(&QUALITY));
    losses.push(loss(LossKind::Precision, what).if_any());
    if info.sample != Sample::U8 {
        losses.push(loss(LossKind::Type, format!("samples become {}-bit ones", of(&DEPTH))));
    } else if of(&DEPTH) != "8" {
        losses.push(note(LossKind::Type, "8-bit samples become 10-bit ones, from 0 to 1023").if_any());
    }
    losses.extend(folder_note(options));
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    write_frame(task, payload, options, frame(image(payload)?.info(), options)?, sink)
}

fn folder(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let info = image(payload)?.info();
    super::folder(task, info, "avif", files, &|task, frame, sink| {
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
    let info = image(payload)?.info();
    let (width, height) = HOLDS.sides(info)?;
    let quality = options.number(&QUALITY, "it is a number from 1 to 100", |n| (1.0..=100.0).contains(n))?;
    let speed = options.number(&SPEED, "it is a number from 1 to 10", |n| (1..=10).contains(n))?;
    let depth: u8 = if options.choice(&DEPTH)? == "8" { 8 } else { 10 };
    let pixels = whole(task, payload, frame, &HOLDS)?;
    task.set_message("encoding AV1");
    let picture = Picture {
        pixels: &pixels,
        channels: HOLDS.colours(info)?.channels(),
        size: if info.sample == Sample::U8 { 1 } else { 2 },
        most: if depth == 8 { 255.0 } else { 1023.0 },
    };
    let encoder = Encoder::new().with_quality(quality).with_alpha_quality(quality).with_speed(speed);
    let sides = (width as usize, height as usize);
    // It may panic where it should refuse.
    let made = catch_decoder_panic("the picture", || picture.encoded(&encoder, sides, depth))?;
    task.check()?;
    put(sink, &made.avif_file)
}

/// Pixels on their way to the encoder.
struct Picture<'a> {
    pixels: &'a [u8],
    channels: usize,
    /// Bytes of a sample; two are big-endian.
    size: usize,
    /// What 1 becomes.
    most: f32,
}

impl Picture<'_> {
    fn encoded(&self, encoder: &Encoder, (width, height): (usize, usize), depth: u8) -> Result<EncodedImage> {
        let colours = || self.pixels.chunks_exact(self.channels * self.size).map(|pixel| self.colour(pixel));
        let alphas = (self.channels == 4).then(|| {
            let at = 3 * self.size;
            let alpha = move |pixel: &[u8]| self.sample(pixel, at).round();
            self.pixels.chunks_exact(self.channels * self.size).map(alpha)
        });
        let (range, matrix) = (PixelRange::Full, MatrixCoefficients::BT601);
        let made = match depth {
            8 => encoder.encode_raw_planes_8_bit(
                width,
                height,
                colours().map(|colour| colour.map(|sample| sample as u8)),
                alphas.map(|alphas| alphas.map(|alpha| alpha as u8)),
                range,
                matrix,
            ),
            _ => encoder.encode_raw_planes_10_bit(
                width,
                height,
                colours().map(|colour| colour.map(|sample| sample as u16)),
                alphas.map(|alphas| alphas.map(|alpha| alpha as u16)),
                range,
                matrix,
            ),
        };
        made.map_err(|error| Error::unsupported(format!("AVIF: {error}")))
    }

    /// The sample at a byte of a pixel, from 0 to `most`.
    fn sample(&self, pixel: &[u8], at: usize) -> f32 {
        let byte = |at: usize| f32::from(pixel.get(at).copied().unwrap_or(0));
        match self.size {
            1 => byte(at) / 255.0 * self.most,
            _ => (byte(at) * 256.0 + byte(at + 1)) / 65_535.0 * self.most,
        }
    }

    /// Luma and chroma of a pixel (ITU-R BT.601, full range), in whole numbers.
    fn colour(&self, pixel: &[u8]) -> [f32; 3] {
        let [r, g, b] = [0, 1, 2].map(|n| self.sample(pixel, n * self.size));
        let y = 0.299 * r + 0.587 * g + 0.114 * b;
        let middle = (self.most + 1.0) / 2.0;
        let chroma = |colour: f32, share: f32| (colour - y) / (2.0 * (1.0 - share)) + middle;
        [y, chroma(b, 0.114), chroma(r, 0.299)].map(|sample| sample.round().clamp(0.0, self.most))
    }
}
