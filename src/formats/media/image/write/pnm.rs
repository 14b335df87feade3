//! Writes Netpbm's formats: PGM (`P5`), PPM (`P6`) and PAM (`P7`) with 8 and 16 bits a sample, PFM (`Pf`, `PF`) with
//! floats of 32 bits, the bottom row first. <https://netpbm.sourceforge.net/doc/>

use super::{Colours, FOLDER, FRAME, Holds, bands, details, folder_note, frame, image, is_folder};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{ImageInfo, Kind, Sample};
use crate::data::format::{
    ArrayPictures, CHANNELS, Files, Loss, LossKind, Options, Payload, Sink, WriteTo, Writer, loss, note,
    unturned,
};
use crate::data::scan::put;
use half::f16;

/// PPM: colours, to which grey becomes.
pub(in crate::formats::media::image) const PPM: Writer = Writer {
    options: &[FRAME, FOLDER, CHANNELS],
    check: |payload| HOLDS_PPM.check(payload),
    write: WriteTo::Either {
        is_folder,
        file: |task, payload, options, sink| one(&HOLDS_PPM, task, payload, options, sink),
        folder: |task, payload, _, files| all(&HOLDS_PPM, "ppm", task, payload, files),
    },
    ..Writer::new(
        &[Kind::Image],
        |payload, options| losses(&HOLDS_PPM, payload, options),
        |task, payload, options, sink| one(&HOLDS_PPM, task, payload, options, sink),
    )
};
/// PGM: grey.
pub(in crate::formats::media::image) const PGM: Writer = Writer {
    check: |payload| {
        let colours = Colours::of(image(payload)?.info(), "PGM")?;
        if !colours.is_grey() {
            return Err(Error::unsupported("PGM holds grey pictures; PPM holds colours"));
        }
        HOLDS_PGM.check(payload)
    },
    losses: |payload, options| losses(&HOLDS_PGM, payload, options),
    write: WriteTo::Either {
        is_folder,
        file: |task, payload, options, sink| one(&HOLDS_PGM, task, payload, options, sink),
        folder: |task, payload, _, files| all(&HOLDS_PGM, "pgm", task, payload, files),
    },
    ..PPM
};
/// PAM: grey and colours, with and without alpha.
pub(in crate::formats::media::image) const PAM: Writer = Writer {
    check: |payload| HOLDS_PAM.check(payload),
    losses: |payload, options| losses(&HOLDS_PAM, payload, options),
    write: WriteTo::Either {
        is_folder,
        file: |task, payload, options, sink| one(&HOLDS_PAM, task, payload, options, sink),
        folder: |task, payload, _, files| all(&HOLDS_PAM, "pam", task, payload, files),
    },
    ..PPM
};
/// PFM: grey and colours of floats.
pub(in crate::formats::media::image) const PFM: Writer = Writer {
    pictures: ArrayPictures { samples: &[Sample::F32, Sample::F16], frames: false },
    check: |payload| {
        let info = image(payload)?.info();
        float_loss(info.sample)?;
        HOLDS_PFM.check(payload)
    },
    losses: float_losses,
    write: WriteTo::Either {
        is_folder,
        file: |task, payload, options, sink| {
            floats(task, payload, frame(image(payload)?.info(), options)?, sink)
        },
        folder: |task, payload, _, files| {
            super::folder(task, image(payload)?.info(), "pfm", files, &|task, frame, sink| {
                floats(task, payload, frame, sink)
            })
        },
    },
    ..PPM
};

const HOLDS_PPM: Holds =
    Holds { name: "PPM", colours: &[Colours::Rgb], bits: 16, side: i32::MAX as u64, turned: false };
const HOLDS_PGM: Holds = Holds { name: "PGM", colours: &[Colours::Grey], ..HOLDS_PPM };
const HOLDS_PAM: Holds = Holds {
    name: "PAM",
    colours: &[Colours::Grey, Colours::GreyAlpha, Colours::Rgb, Colours::Rgba],
    ..HOLDS_PPM
};
const HOLDS_PFM: Holds = Holds { name: "PFM", colours: &[Colours::Grey, Colours::Rgb], ..HOLDS_PPM };

fn losses(holds: &Holds, payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let mut losses = holds.losses(image.info(), options);
    losses.extend(folder_note(options));
    losses
}

fn one(holds: &Holds, task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    write(holds, task, payload, frame(image(payload)?.info(), options)?, sink)
}

fn all(holds: &Holds, extension: &str, task: &Task, payload: &Payload, files: &mut dyn Files) -> Result<()> {
    let info = image(payload)?.info();
    super::folder(task, info, extension, files, &|task, frame, sink| write(holds, task, payload, frame, sink))
}

fn write(holds: &Holds, task: &Task, payload: &Payload, frame: u64, sink: &mut dyn Sink) -> Result<()> {
    let image = image(payload)?;
    let info = image.info();
    let (width, height) = holds.sides(info)?;
    let colours = holds.colours(info)?;
    let most = if info.sample == Sample::U8 { 255 } else { 65_535 };
    let header = match (holds.name, colours) {
        ("PAM", _) => {
            let kind = match colours {
                Colours::Grey => "GRAYSCALE",
                Colours::GreyAlpha => "GRAYSCALE_ALPHA",
                Colours::Rgb => "RGB",
                Colours::Rgba => "RGB_ALPHA",
            };
            let depth = colours.channels();
            format!(
                "P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {depth}\nMAXVAL {most}\nTUPLTYPE {kind}\nENDHDR\n"
            )
        }
        (_, Colours::Grey) => format!("P5\n{width} {height}\n{most}\n"),
        _ => format!("P6\n{width} {height}\n{most}\n"),
    };
    put(sink, header.as_bytes())?;
    task.set_total(info.height);
    bands(task, image.as_ref(), frame, (1, false), &mut |band| put(sink, &holds.pixels(band)?))
}

/// What becomes of samples as floats of 32 bits.
fn float_loss(sample: Sample) -> Result<Option<Loss>> {
    match sample {
        Sample::F32 => Ok(None),
        Sample::F16 | Sample::U8 | Sample::U16 | Sample::I8 | Sample::I16 => {
            let what = format!("{} samples become float32 ones of the same numbers", sample.dtype());
            Ok(Some(note(LossKind::Type, what)))
        }
        Sample::F64 | Sample::U32 | Sample::U64 | Sample::I32 | Sample::I64 => {
            let what = format!("{} samples become float32 ones, of about seven digits", sample.dtype());
            Ok(Some(loss(LossKind::Type, what)))
        }
        Sample::C64 | Sample::C128 => Err(Error::unsupported("PFM has no complex samples")),
    }
}

fn float_losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let info = image.info();
    // Frames and colours are lost as everywhere, samples are not.
    let of_bytes = ImageInfo { sample: Sample::U8, details: Vec::new(), orientation: None, ..info.clone() };
    let mut losses = HOLDS_PFM.losses(&of_bytes, options);
    losses.extend(float_loss(info.sample).ok().flatten());
    losses.extend(unturned(info));
    losses.extend(details(info));
    losses.extend(folder_note(options));
    losses
}

fn floats(task: &Task, payload: &Payload, frame: u64, sink: &mut dyn Sink) -> Result<()> {
    let image = image(payload)?;
    let info = image.info();
    let (width, height) = HOLDS_PFM.sides(info)?;
    let (own, made) = (Colours::of(info, "PFM")?, HOLDS_PFM.colours(info)?);
    let kind = if made == Colours::Grey { "Pf" } else { "PF" };
    // A negative scale says little-endian.
    put(sink, format!("{kind}\n{width} {height}\n-1.0\n").as_bytes())?;
    task.set_total(info.height);
    let row = width as usize * made.channels() * 4;
    bands(task, image.as_ref(), frame, (1, true), &mut |band| {
        let data = super::recoloured(single(band.sample, band.data), 4, own, made);
        data.chunks_exact(row).rev().try_for_each(|line| put(sink, line))
    })
}

/// Samples as floats of 32 bits, little-endian.
pub(super) fn single(sample: Sample, data: Vec<u8>) -> Vec<u8> {
    match sample {
        Sample::F32 => data,
        // By way of doubles the bits of a NaN might change.
        Sample::F16 => {
            let halves = data.as_chunks::<2>().0;
            halves.iter().flat_map(|half| f16::from_le_bytes(*half).to_f32().to_le_bytes()).collect()
        }
        other => {
            let number = |bytes: &[u8]| (other.number(bytes).unwrap_or_default() as f32).to_le_bytes();
            data.chunks_exact(other.size()).flat_map(number).collect()
        }
    }
}
