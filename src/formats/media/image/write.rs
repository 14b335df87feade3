//! Writes PNG: 8 and 16 bits a sample, grey or colour, with or without alpha; rows are read and written
//! in bands. <https://www.w3.org/TR/png-3/>

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Image, Kind, Rect, Sample};
use crate::data::dtype::swap_bytes;
use crate::data::format::{Data, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::format::{loss, note, unturned};
use png::{BitDepth, ColorType, Compression, Encoder};
use std::io::Write;
use std::sync::Arc;

const FRAME: OptionSpec = OptionSpec::new("frame", "Which frame is written, from 0").default("0");
const LEVEL: OptionSpec = OptionSpec::new("compression", "How hard to compress; the pixels are the same")
    .one_of("balanced", &["fast", "balanced", "high"]);

/// About how many bytes of pixels are read at once.
const BAND: u64 = 16 << 20;

/// The writer.
pub const WRITER: Writer = Writer {
    metadata: Metadata::Texts,
    options: &[FRAME, LEVEL],
    ..Writer::new(&[Kind::Image], losses, write)
};

fn image(payload: &Payload) -> Result<&Arc<dyn Image>> {
    match &payload.data {
        Data::Image(image) => Ok(image),
        _ => Err(Error::bug("the writer of pictures was given something else")),
    }
}

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let info = image.info();
    let mut losses = Vec::new();
    if info.frames > 1 {
        losses.push(loss(LossKind::Type, format!("one frame of {} is written", info.frames)));
    }
    let samples = match info.sample {
        Sample::F16 | Sample::F32 | Sample::F64 => {
            Some("float samples become 16-bit ones: 0 to 1 is scaled, the rest cut".to_owned())
        }
        Sample::U8 | Sample::U16 => None,
        Sample::I8 | Sample::I16 => {
            Some("signed samples become unsigned 16-bit ones: the lowest becomes black".to_owned())
        }
        Sample::C64 | Sample::C128 => Some("complex samples become their absolute values".to_owned()),
        wide => Some(format!("{} samples become 16-bit ones", wide.dtype())),
    };
    losses.extend(samples.map(|what| loss(LossKind::Type, what)));
    losses.extend(unturned(info));
    if !info.details.is_empty() {
        let what = "colour profile, EXIF and other metadata of the picture are not kept";
        losses.push(note(LossKind::Metadata, what).if_any());
    }
    for (name, value) in payload.attributes.list.iter().filter(|(name, _)| !is_keyword(name)) {
        let what =
            format!("PNG has no keyword of this name; its value is not kept ({})", short(&value.to_string()));
        losses.push(note(LossKind::Attribute, what).of(name));
    }
    losses
}

/// The beginning of a value.
fn short(text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

fn colour(channels: u32, alpha: bool) -> Result<ColorType> {
    match (channels, alpha) {
        (1, _) => Ok(ColorType::Grayscale),
        (2, true) => Ok(ColorType::GrayscaleAlpha),
        (3, _) => Ok(ColorType::Rgb),
        (4, true) => Ok(ColorType::Rgba),
        _ => Err(Error::unsupported(format!("a PNG of {channels} channels without alpha"))),
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let image = image(payload)?;
    let info = image.info();
    let what = format!("there are {} frames", info.frames);
    let frame: u64 = options.number(&FRAME, &what, |&n| n < info.frames.max(1))?;
    // A later frame may have another size than the first: ask for all that there is.
    let side = |n: u64| u32::try_from(n).ok().filter(|&n| n > 0 && n <= i32::MAX as u32);
    let row = info.width.saturating_mul(u64::from(info.channels) * info.sample.size() as u64);
    let band = (BAND / row.max(1)).clamp(1, info.height.max(1));
    let (Some(width), Some(height)) = (side(info.width), side(info.height)) else {
        return Err(Error::unsupported(format!("a PNG of {} × {} pixels", info.width, info.height)));
    };
    let wide = info.sample != Sample::U8;
    let mut encoder = Encoder::new(&mut *sink, width, height);
    encoder.set_color(colour(info.channels, info.alpha)?);
    encoder.set_depth(if wide { BitDepth::Sixteen } else { BitDepth::Eight });
    encoder.set_compression(match options.choice(&LEVEL)? {
        "fast" => Compression::Fast,
        "high" => Compression::High,
        _ => Compression::Balanced,
    });
    for (name, value) in &payload.attributes.list {
        // A keyword that PNG does not allow is left out below, so it cannot fail here.
        if is_keyword(name) {
            encoder.add_itxt_chunk(name.clone(), value.to_string()).map_err(failed)?;
        }
    }
    task.set_total(info.height);
    let mut writer = encoder.write_header().map_err(failed)?;
    let mut stream = writer.stream_writer().map_err(failed)?;
    let mut y = 0;
    while y < info.height {
        let rows = band.min(info.height - y);
        let rect = Rect { x: 0, y, width: info.width, height: rows };
        let pixels = image.read(task, frame, 0, rect)?;
        if (pixels.width, pixels.height, pixels.channels) != (info.width, rows, info.channels) {
            return Err(Error::unsupported(format!("frame {frame} has another size than the first")));
        }
        stream.write_all(&samples(pixels.sample, pixels.data)?)?;
        y += rows;
        task.advance(rows)?;
    }
    stream.finish().map_err(failed)?;
    writer.finish().map_err(failed)
}

fn is_keyword(name: &str) -> bool {
    (1..80).contains(&name.len()) && name.bytes().all(|b| (32..127).contains(&b)) && name.trim() == name
}

/// Samples as PNG has them: bytes, or 16 bits big-endian.
fn samples(sample: Sample, mut data: Vec<u8>) -> Result<Vec<u8>> {
    Ok(match sample {
        Sample::U8 => data,
        Sample::U16 => {
            swap_bytes(&mut data, 2);
            data
        }
        other => data.chunks_exact(other.size()).flat_map(|bytes| sixteen(other, bytes)).collect(),
    })
}

/// A sample as 16 bits, big-endian: of integers the highest bits, of floats 0 to 1.
fn sixteen(sample: Sample, bytes: &[u8]) -> [u8; 2] {
    if sample.is_float() {
        let value = sample.number(bytes).unwrap_or_default().clamp(0.0, 1.0);
        return ((value * 65_535.0).round() as u16).to_be_bytes();
    }
    let sign = if matches!(sample, Sample::I8 | Sample::I16 | Sample::I32 | Sample::I64) { 0x80 } else { 0 };
    match bytes {
        [one] => [one ^ sign; 2],
        [.., low, high] => [high ^ sign, *low],
        [] => [0; 2],
    }
}

fn failed(error: png::EncodingError) -> Error {
    match error {
        png::EncodingError::IoError(io) => io.into(),
        other => Error::unsupported(format!("PNG: {other}")),
    }
}
