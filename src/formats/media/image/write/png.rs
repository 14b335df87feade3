//! Writes PNG: 8 and 16 bits a sample, grey or colour, with or without alpha; rows are read and written
//! in bands. Of several frames one, or each in a file of its own. <https://www.w3.org/TR/png-3/>

use super::{Colours, FOLDER, FRAME, Holds, bands, folder_note, frame, image, is_folder};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Kind, Sample};
use crate::data::format::{
    CHANNELS, Files, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, WriteTo, Writer, note,
};
use png::{BitDepth, ColorType, Compression, Encoder};
use std::io::Write;

const LEVEL: OptionSpec = OptionSpec::new("compression", "How hard to compress; the pixels are the same")
    .one_of("balanced", &["fast", "balanced", "high"]);

/// The writer.
pub(in crate::formats::media::image) const WRITER: Writer = Writer {
    metadata: Metadata::Texts,
    options: &[FRAME, FOLDER, CHANNELS, LEVEL],
    check: |payload| HOLDS.check(payload),
    write: WriteTo::Either { is_folder, file: write, folder },
    ..Writer::new(&[Kind::Image], losses, write)
};

const HOLDS: Holds = Holds {
    name: "PNG",
    colours: &[Colours::Grey, Colours::GreyAlpha, Colours::Rgb, Colours::Rgba],
    bits: 16,
    side: i32::MAX as u64,
    turned: false,
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let mut losses = HOLDS.losses(image.info(), options);
    for (name, value) in payload.attributes.list.iter().filter(|(name, _)| !is_keyword(name)) {
        let what =
            format!("PNG has no keyword of this name; its value is not kept ({})", short(&value.to_string()));
        losses.push(note(LossKind::Attribute, what).of(name));
    }
    losses.extend(folder_note(options));
    losses
}

/// The beginning of a value.
fn short(text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let frame = frame(image(payload)?.info(), options)?;
    write_frame(task, payload, options, frame, sink)
}

fn folder(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let info = image(payload)?.info();
    super::folder(task, info, "png", files, &|task, frame, sink| {
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
    let image = image(payload)?;
    let info = image.info();
    let (width, height) = HOLDS.sides(info)?;
    let mut encoder = Encoder::new(&mut *sink, width, height);
    encoder.set_color(match HOLDS.colours(info)? {
        Colours::Grey => ColorType::Grayscale,
        Colours::GreyAlpha => ColorType::GrayscaleAlpha,
        Colours::Rgb => ColorType::Rgb,
        Colours::Rgba => ColorType::Rgba,
    });
    encoder.set_depth(if info.sample == Sample::U8 { BitDepth::Eight } else { BitDepth::Sixteen });
    encoder.set_compression(match options.choice(&LEVEL)? {
        "fast" => Compression::Fast,
        "high" => Compression::High,
        _ => Compression::Balanced,
    });
    for (name, value) in &payload.attributes.list {
        // A keyword that PNG does not allow is left out, so it cannot fail here.
        if is_keyword(name) {
            encoder.add_itxt_chunk(name.clone(), value.to_string()).map_err(failed)?;
        }
    }
    task.set_total(info.height);
    let mut writer = encoder.write_header().map_err(failed)?;
    let mut stream = writer.stream_writer().map_err(failed)?;
    bands(task, image.as_ref(), frame, (1, false), &mut |band| Ok(stream.write_all(&HOLDS.pixels(band)?)?))?;
    stream.finish().map_err(failed)?;
    writer.finish().map_err(failed)
}

fn is_keyword(name: &str) -> bool {
    (1..80).contains(&name.len()) && name.bytes().all(|b| (32..127).contains(&b)) && name.trim() == name
}

fn failed(error: png::EncodingError) -> Error {
    match error {
        png::EncodingError::IoError(io) => io.into(),
        other => Error::unsupported(format!("PNG: {other}")),
    }
}
