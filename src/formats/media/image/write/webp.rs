//! Writes WebP (RFC 9649), lossless (VP8L), by the `image-webp` crate.
//! <https://developers.google.com/speed/webp/docs/riff_container>

use super::{Colours, FOLDER, FRAME, Holds, exif, exif_losses, folder_note, frame, image, is_folder, whole};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Kind, Sample};
use crate::data::format::{
    ArrayPictures, CHANNELS, Files, Loss, Metadata, Options, Payload, Sink, WriteTo, Writer,
};
use image_webp::{ColorType, EncodingError, WebPEncoder};

/// The writer.
pub(in crate::formats::media::image) const WRITER: Writer = Writer {
    metadata: Metadata::Own,
    pictures: ArrayPictures { samples: &[Sample::U8], frames: false },
    options: &[FRAME, FOLDER, CHANNELS],
    check: |payload| HOLDS.check(payload),
    write: WriteTo::Either { is_folder, file: write, folder },
    ..Writer::new(&[Kind::Image], losses, write)
};

const HOLDS: Holds =
    Holds { name: "WebP", colours: &[Colours::Rgb, Colours::Rgba], bits: 8, side: 16_383, turned: true };

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let mut losses = HOLDS.losses(image.info(), options);
    losses.extend(exif_losses(payload, image.info(), |_, _| false));
    losses.extend(folder_note(options));
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    write_frame(task, payload, frame(image(payload)?.info(), options)?, sink)
}

fn folder(task: &Task, payload: &Payload, _options: &Options, files: &mut dyn Files) -> Result<()> {
    let info = image(payload)?.info();
    super::folder(task, info, "webp", files, &|task, frame, sink| write_frame(task, payload, frame, sink))
}

fn write_frame(task: &Task, payload: &Payload, frame: u64, sink: &mut dyn Sink) -> Result<()> {
    let info = image(payload)?.info();
    let (width, height) = HOLDS.sides(info)?;
    let colours = match HOLDS.colours(info)? {
        Colours::Rgb => ColorType::Rgb8,
        _ => ColorType::Rgba8,
    };
    let pixels = whole(task, payload, frame, &HOLDS)?;
    let mut encoder = WebPEncoder::new(sink);
    if let Some(block) = exif(info) {
        encoder.set_exif_metadata(block);
    }
    encoder.encode(&pixels, width, height, colours).map_err(|error| match error {
        EncodingError::IoError(io) => io.into(),
        other => Error::unsupported(format!("WebP: {other}")),
    })
}
