//! Writes OpenEXR: one part of scan lines with half, float or 32-bit whole samples, the channels Y, RGB or RGBA. Blocks
//! are compressed on all cores by the `exr` crate. <https://openexr.com/en/latest/OpenEXRFileLayout.html>

use super::pnm::single;
use super::{
    Colours, FOLDER, FRAME, Holds, bands, details, folder_note, frame, image, is_folder, recoloured,
};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{ImageInfo, Kind, Pixels, Sample};
use crate::data::format::{
    ArrayPictures, CHANNELS, Files, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, WriteTo,
    Writer, loss, note, unturned,
};
use exr::block::chunk::Chunk;
use exr::block::writer::ChunksWriter;
use exr::block::{BlockIndex, UncompressedBlock};
use exr::compression::Compression;
use exr::error::Error as Failure;
use exr::math::Vec2;
use exr::meta::BlockDescription;
use exr::meta::attribute::{AttributeValue, ChannelDescription, LineOrder, SampleType, Text};
use exr::meta::header::{Header, standard_names};
use half::f16;
use rayon::prelude::*;

const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How blocks are compressed; all of them keep every bit")
        .one_of("zip", &["none", "rle", "zips", "zip", "piz"]);
const SCALE: OptionSpec = OptionSpec::new(
    "scale",
    "Whether whole numbers of 8 and 16 bits stay the numbers that they are, or become 0 to 1 (unit)",
)
.one_of("no", &["no", "unit"]);

/// The writer.
pub(in crate::formats::media::image) const WRITER: Writer = Writer {
    metadata: Metadata::Own,
    pictures: ArrayPictures { samples: &[Sample::F16, Sample::F32, Sample::U32], frames: false },
    options: &[FRAME, FOLDER, CHANNELS, COMPRESSION, SCALE],
    check: |payload| {
        HOLDS.check(payload)?;
        if matches!(image(payload)?.info().sample, Sample::C64 | Sample::C128) {
            return Err(Error::unsupported("OpenEXR has no complex samples"));
        }
        Ok(())
    },
    write: WriteTo::Either { is_folder, file: write, folder },
    ..Writer::new(&[Kind::Image], losses, write)
};

const HOLDS: Holds = Holds {
    name: "OpenEXR",
    colours: &[Colours::Grey, Colours::Rgb, Colours::Rgba],
    bits: 16,
    side: 1 << 30,
    turned: false,
};

/// What samples become: the type in the file, and whether whole numbers become 0 to 1.
fn made_of(sample: Sample, options: &Options) -> (SampleType, bool) {
    let is_unit = options.get(SCALE.name) == Some("unit");
    match sample {
        Sample::F16 => (SampleType::F16, false),
        Sample::U32 => (SampleType::U32, false),
        Sample::U8 | Sample::U16 if is_unit => (SampleType::F32, true),
        Sample::U8 | Sample::I8 => (SampleType::F16, false),
        _ => (SampleType::F32, false),
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let info = image.info();
    // Frames and colours are lost as everywhere, samples are not.
    let of_bytes = ImageInfo { sample: Sample::U8, details: Vec::new(), orientation: None, ..info.clone() };
    let mut losses = HOLDS.losses(&of_bytes, options);
    let (word, numbers) = (info.sample.dtype(), "of the same numbers");
    losses.extend(match (info.sample, made_of(info.sample, options)) {
        (Sample::F16 | Sample::F32 | Sample::U32, _) => None,
        (_, (_, true)) => {
            Some(loss(LossKind::Type, format!("{word} samples become floats from 0 to 1, as asked for")))
        }
        (Sample::U8 | Sample::I8, _) => {
            Some(note(LossKind::Type, format!("{word} samples become float16 ones {numbers}")))
        }
        (Sample::U16 | Sample::I16, _) => {
            Some(note(LossKind::Type, format!("{word} samples become float32 ones {numbers}")))
        }
        _ => {
            let what = format!("{word} samples become float32 ones, of about seven digits");
            Some(loss(LossKind::Type, what))
        }
    });
    losses.extend(payload.kept_texts(|name, value| name == WINDOW || told(name, value).is_some()));
    let what = "the file says that all of the picture is displayed";
    losses.push(note(LossKind::Attribute, what).of(WINDOW).if_any());
    losses.extend(unturned(info));
    losses.extend(details(info));
    losses.extend(folder_note(options));
    losses
}

/// A name and a text as OpenEXR has them: a name in ASCII that is none of its own, a text in UTF-8.
fn told(name: &str, value: &str) -> Option<(Text, Text)> {
    let is_own = standard_names::ALL.contains(&name.as_bytes()) && !OWN_TEXTS.contains(&name);
    let fits = (1..=255).contains(&name.len()) && name.is_ascii() && !name.contains('\0') && !is_own;
    if !fits || name == WINDOW {
        return None;
    }
    Some((Text::new_or_none(name)?, Text::from_slice_unchecked(value.as_bytes())))
}

/// What the reader calls the window that every file says.
const WINDOW: &str = "display window";
/// Standard attributes that are texts.
const OWN_TEXTS: [&str; 3] = ["owner", "comments", "software"];

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    write_frame(task, payload, options, frame(image(payload)?.info(), options)?, sink)
}

fn folder(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    let info = image(payload)?.info();
    super::folder(task, info, "exr", files, &|task, frame, sink| {
        write_frame(task, payload, options, frame, sink)
    })
}

/// The header of the only part, and bytes of a sample.
fn header(payload: &Payload, options: &Options) -> Result<(Header, usize)> {
    let info = image(payload)?.info();
    let (width, height) = HOLDS.sides(info)?;
    let (kind, _) = made_of(info.sample, options);
    // In the order of their names.
    let names: &[&str] = match HOLDS.colours(info)? {
        Colours::Grey | Colours::GreyAlpha => &["Y"],
        Colours::Rgb => &["B", "G", "R"],
        Colours::Rgba => &["A", "B", "G", "R"],
    };
    let text = |name: &str| Text::new_or_none(name).ok_or_else(|| Error::bug("a name that is no text"));
    let channel =
        |name: &&str| -> Result<ChannelDescription> { Ok(ChannelDescription::named(text(name)?, kind)) };
    let channels = names.iter().map(channel).collect::<Result<_>>()?;
    let compression = match options.choice(&COMPRESSION)? {
        "none" => Compression::Uncompressed,
        "rle" => Compression::RLE,
        "zips" => Compression::ZIP1,
        "piz" => Compression::PIZ,
        _ => Compression::ZIP16,
    };
    let size = Vec2(width as usize, height as usize);
    let mut header = Header::new(text("")?, size, channels).with_encoding(
        compression,
        BlockDescription::ScanLines,
        LineOrder::Increasing,
    );
    let own = &mut header.own_attributes;
    own.layer_name = None;
    for (name, value) in &payload.attributes.list {
        let Some((key, text)) = told(name, &value.to_string()) else { continue };
        match name.as_str() {
            "owner" => own.owner = Some(text),
            "comments" => own.comments = Some(text),
            "software" => own.software_name = Some(text),
            _ => drop(own.other.insert(key, AttributeValue::Text(text))),
        }
    }
    Ok((header, kind.bytes_per_sample()))
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
    let (header, size) = header(payload, options)?;
    let lines = header.max_block_pixel_size().1.max(1);
    task.set_total(info.height);
    // What this side finds; the crate hears only that it is to stop.
    let mut failed = None;
    let written = exr::block::write(sink, [header].into_iter().collect(), true, |meta, writer| {
        let mut number = 0;
        let mut take = |band: Pixels| -> Result<()> {
            let width = band.width as usize;
            let count = band.height as usize;
            let channels = HOLDS.colours(info)?.channels();
            let samples = samples(info, band, options)?;
            let block = |(n, rows): (usize, &[u8])| -> Result<Chunk> {
                let y = (number + n) * lines;
                let data = planes(rows, width, channels, size);
                let index = BlockIndex {
                    layer: 0,
                    pixel_position: Vec2(0, y),
                    pixel_size: Vec2(width, lines.min(rows.len() / (width * channels * size).max(1))),
                    level: Vec2(0, 0),
                };
                UncompressedBlock { index, data }.compress_to_chunk(&meta.headers).map_err(refused)
            };
            let bytes = (lines * width * channels * size).max(1);
            let chunks: Vec<Chunk> =
                samples.par_chunks(bytes).enumerate().map(block).collect::<Result<_>>()?;
            for (n, chunk) in chunks.into_iter().enumerate() {
                writer.write_chunk(number + n, chunk).map_err(refused)?;
            }
            number += count.div_ceil(lines);
            Ok(())
        };
        bands(task, image.as_ref(), frame, (lines as u64, false), &mut take).map_err(|error| {
            failed = Some(error);
            Failure::Aborted
        })
    });
    match (failed, written) {
        (Some(error), _) => Err(error),
        (None, written) => written.map_err(refused),
    }
}

fn refused(failure: Failure) -> Error {
    match failure {
        Failure::Io(io) => io.into(),
        Failure::Aborted => Error::cancelled(),
        Failure::NotSupported(what) | Failure::Invalid(what) => {
            Error::unsupported(format!("OpenEXR: {what}"))
        }
    }
}

/// Samples of a band as they are written, little-endian, with the colours that are written.
fn samples(info: &ImageInfo, band: Pixels, options: &Options) -> Result<Vec<u8>> {
    let (own, made) = (Colours::of(info, HOLDS.name)?, HOLDS.colours(info)?);
    let (kind, is_unit) = made_of(info.sample, options);
    let sample = band.sample;
    let data = match (sample, kind) {
        (Sample::F16 | Sample::U32, _) => band.data,
        (Sample::U8, SampleType::F16) => band.data.iter().flat_map(|n| f16::from(*n).to_le_bytes()).collect(),
        (_, SampleType::F16) => band.data.iter().flat_map(|n| f16::from(*n as i8).to_le_bytes()).collect(),
        _ if is_unit => {
            let most = if sample == Sample::U8 { 255.0 } else { 65_535.0 };
            let unit =
                |bytes: &[u8]| ((sample.number(bytes).unwrap_or_default() / most) as f32).to_le_bytes();
            band.data.chunks_exact(sample.size()).flat_map(unit).collect()
        }
        _ => single(sample, band.data),
    };
    Ok(recoloured(data, kind.bytes_per_sample(), own, made))
}

/// Rows with their channels apart, the last channel first (which is the order of the names), in the order of bytes of
/// this machine.
fn planes(rows: &[u8], width: usize, channels: usize, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.len());
    for row in rows.chunks_exact((width * channels * size).max(1)) {
        // R, G, B, A are written as A, B, G, R.
        for channel in (0..channels).rev() {
            for pixel in row.chunks_exact(channels * size) {
                let sample = pixel.get(channel * size..(channel + 1) * size).unwrap_or_default();
                if cfg!(target_endian = "big") {
                    out.extend(sample.iter().rev());
                } else {
                    out.extend_from_slice(sample);
                }
            }
        }
    }
    out
}
