//! What the writers of pictures share: frames by bands of rows, samples of fewer bits, the colours that a format has,
//! and what is said of all that it has not. Each format's writer is a file of this folder.

pub(super) mod avif;
pub(super) mod bmp;
pub(super) mod exr;
pub(super) mod jpeg;
pub(super) mod png;
pub(super) mod pnm;
pub(super) mod webp;

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Image, ImageInfo, Pixels, Rect, Sample};
use crate::data::format::{Data, Files, Loss, LossKind, OptionSpec, Options, Payload, Sink};
use crate::data::format::{loss, note, unturned};
use rayon::prelude::*;
use std::io::{Cursor, Write};
use std::sync::Arc;

/// Which frame a format of one picture gets.
pub(super) const FRAME: OptionSpec = OptionSpec::new("frame", "Which frame is written, from 0").default("0");
/// A file for each frame.
pub(super) const FOLDER: OptionSpec =
    OptionSpec::new("folder", "A folder with a numbered file for each frame, instead of one file")
        .one_of("no", &["no", "yes"]);

/// About how many bytes of pixels are read at once.
pub(super) const BAND: u64 = 16 << 20;

/// The image of a payload for a writer of pictures.
pub(super) fn image(payload: &Payload) -> Result<&Arc<dyn Image>> {
    match &payload.data {
        Data::Image(image) => Ok(image),
        _ => Err(Error::bug("the writer of pictures was given something else")),
    }
}

/// The frame that is asked for.
pub(super) fn frame(info: &ImageInfo, options: &Options) -> Result<u64> {
    let what = format!("there are {} frames", info.frames);
    options.number(&FRAME, &what, |&n| n < info.frames.max(1))
}

/// Whether a folder of all frames is asked for.
pub(super) fn is_folder(options: &Options) -> bool {
    options.get(FOLDER.name) == Some("yes")
}

/// Reads some rows of a frame, all of them as wide as the first frame is.
pub(super) fn rows(task: &Task, image: &dyn Image, frame: u64, y: u64, rows: u64) -> Result<Pixels> {
    let info = image.info();
    let rect = Rect { x: 0, y, width: info.width, height: rows };
    let pixels = image.read(task, frame, 0, rect)?;
    let is_alike = (pixels.width, pixels.height, pixels.channels, pixels.sample)
        == (info.width, rows, info.channels, info.sample);
    match is_alike {
        true => Ok(pixels),
        false => Err(Error::unsupported(format!("frame {frame} has another size than the first"))),
    }
}

/// Bytes of a row as it is read.
pub(super) fn row_bytes(info: &ImageInfo) -> u64 {
    info.width.saturating_mul(u64::from(info.channels) * info.sample.size() as u64).max(1)
}

/// Hands over the rows of a frame in bands of some megabytes, each a multiple of `step` rows but for the last; from
/// below if `upwards`. The next band is read while one is taken. Reports progress in rows.
///
/// # Errors
/// Those of the image and of `each`.
pub(super) fn bands(
    task: &Task,
    image: &dyn Image,
    frame: u64,
    (step, upwards): (u64, bool),
    each: &mut dyn FnMut(Pixels) -> Result<()>,
) -> Result<()> {
    let info = image.info();
    let (height, step) = (info.height, step.max(1));
    let most = ((BAND / row_bytes(info)) / step).max(1).saturating_mul(step);
    let count = height.div_ceil(most);
    let read = |n: u64| {
        let n = if upwards { count - 1 - n } else { n };
        let y = n * most;
        rows(task, image, frame, y, most.min(height - y))
    };
    let mut next = if count > 0 { Some(read(0)?) } else { None };
    let mut n = 0;
    while let Some(band) = next {
        n += 1;
        let rows = band.height;
        let mut ahead = Ok(None);
        let taken = rayon::in_place_scope(|scope| {
            if n < count {
                scope.spawn(|_| ahead = read(n).map(Some));
            }
            each(band)
        });
        taken?;
        next = ahead?;
        task.advance(rows)?;
    }
    Ok(())
}

/// The colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colours {
    Grey,
    GreyAlpha,
    Rgb,
    Rgba,
}

impl Colours {
    /// Those of an image; an error for one of other channels, in the words of the format `name`.
    pub(super) fn of(info: &ImageInfo, name: &str) -> Result<Self> {
        match (info.channels, info.alpha) {
            (1, false) => Ok(Colours::Grey),
            (2, true) => Ok(Colours::GreyAlpha),
            (3, false) => Ok(Colours::Rgb),
            (4, true) => Ok(Colours::Rgba),
            (channels, alpha) => {
                let with = if alpha { "with" } else { "without" };
                Err(Error::unsupported(format!("{name}: a picture of {channels} channels {with} alpha")))
            }
        }
    }

    /// Samples of each pixel.
    pub(super) fn channels(self) -> usize {
        match self {
            Colours::Grey => 1,
            Colours::GreyAlpha => 2,
            Colours::Rgb => 3,
            Colours::Rgba => 4,
        }
    }

    pub(super) fn has_alpha(self) -> bool {
        matches!(self, Colours::GreyAlpha | Colours::Rgba)
    }

    pub(super) fn is_grey(self) -> bool {
        matches!(self, Colours::Grey | Colours::GreyAlpha)
    }
}

/// What a format of pictures has.
pub(super) struct Holds {
    /// Its name in errors.
    pub(super) name: &'static str,
    /// The colours that it has.
    pub(super) colours: &'static [Colours],
    /// Bits of its samples, which are whole and unsigned.
    pub(super) bits: u32,
    /// The longest side of a picture.
    pub(super) side: u64,
    /// Whether the orientation is written.
    pub(super) turned: bool,
}

impl Holds {
    /// The colours that are written for those of an image: its own, or with colours that say the same, or without alpha.
    ///
    /// # Errors
    /// `Unsupported` for channels that are no colours.
    pub(super) fn colours(&self, info: &ImageInfo) -> Result<Colours> {
        use Colours::{Grey, GreyAlpha, Rgb, Rgba};
        let own = Colours::of(info, self.name)?;
        let others: &[Colours] = match own {
            Grey => &[Grey, Rgb],
            GreyAlpha => &[GreyAlpha, Rgba, Grey, Rgb],
            Rgb => &[Rgb],
            Rgba => &[Rgba, Rgb],
        };
        let found = others.iter().find(|other| self.colours.contains(other)).copied();
        found.ok_or_else(|| Error::unsupported(format!("{} has no colours", self.name)))
    }

    /// Refuses pictures of other channels and of sides that the format has not.
    pub(super) fn check(&self, payload: &Payload) -> Result<()> {
        let info = image(payload)?.info();
        self.colours(info)?;
        self.sides(info).map(drop)
    }

    /// Width and height.
    pub(super) fn sides(&self, info: &ImageInfo) -> Result<(u32, u32)> {
        let side = |n: u64| u32::try_from(n).ok().filter(|_| n > 0 && n <= self.side);
        side(info.width).zip(side(info.height)).ok_or_else(|| {
            let (name, most) = (self.name, self.side);
            let size = format!("{} × {}", info.width, info.height);
            Error::unsupported(format!("{name}: a picture of {size} pixels; a side has at most {most}"))
        })
    }

    /// What is lost of frames, samples, colours, orientation and other metadata.
    pub(super) fn losses(&self, info: &ImageInfo, options: &Options) -> Vec<Loss> {
        let mut losses = Vec::new();
        if info.frames > 1 && !is_folder(options) {
            losses.push(loss(LossKind::Type, format!("one frame of {} is written", info.frames)));
        }
        losses.extend(self.sample_loss(info.sample));
        if let (Ok(own), Ok(made)) = (Colours::of(info, self.name), self.colours(info)) {
            if own.has_alpha() && !made.has_alpha() {
                losses.push(loss(LossKind::Type, format!("{} has no alpha: it is left out", self.name)));
            }
            if own.is_grey() && !made.is_grey() {
                losses.push(note(LossKind::Type, "grey becomes red, green and blue of the same value"));
            }
        }
        if !self.turned {
            losses.extend(unturned(info));
        }
        losses.extend(details(info));
        losses
    }

    fn sample_loss(&self, sample: Sample) -> Option<Loss> {
        let bits = self.bits;
        let what = match sample {
            Sample::U8 => return None,
            Sample::U16 if bits >= 16 => return None,
            Sample::F16 | Sample::F32 | Sample::F64 => {
                format!("float samples become {bits}-bit ones: 0 to 1 is scaled, the rest cut; NaN becomes 0")
            }
            Sample::I8 | Sample::I16 | Sample::I32 | Sample::I64 => {
                format!("signed samples become unsigned {bits}-bit ones: the lowest becomes black")
            }
            Sample::C64 | Sample::C128 => format!(
                "complex samples become their absolute values, of which 0 to 1 is scaled to {bits} bits, the rest cut; NaN becomes 0"
            ),
            wide => format!("{} samples become {bits}-bit ones", wide.dtype()),
        };
        Some(loss(LossKind::Type, what))
    }

    /// Pixels with the samples and colours that are written; 16-bit samples big-endian.
    pub(super) fn pixels(&self, pixels: Pixels) -> Result<Vec<u8>> {
        let info = ImageInfo { channels: pixels.channels, alpha: pixels.alpha, ..ImageInfo::default() };
        let (own, made) = (Colours::of(&info, self.name)?, self.colours(&info)?);
        let is_wide = self.bits >= 16 && pixels.sample != Sample::U8;
        let samples = match is_wide {
            true => sixteen_bits(pixels.sample, pixels.data),
            false => eight_bits(pixels.sample, pixels.data),
        };
        Ok(recoloured(samples, if is_wide { 2 } else { 1 }, own, made))
    }
}

/// What is said of metadata that only the inspector knows.
pub(super) fn details(info: &ImageInfo) -> Option<Loss> {
    let what = "colour profile, EXIF and other metadata of the picture are not kept";
    (!info.details.is_empty()).then(|| note(LossKind::Metadata, what).if_any())
}

/// Pixels of `own` colours as those of others that say the same or less.
pub(super) fn recoloured(data: Vec<u8>, size: usize, own: Colours, made: Colours) -> Vec<u8> {
    if own == made {
        return data;
    }
    let mut out = Vec::with_capacity(data.len() / own.channels() * made.channels());
    for pixel in data.chunks_exact(size * own.channels()) {
        let colours = if own.is_grey() { 1 } else { 3 };
        let (colour, alpha) = pixel.split_at_checked(size * colours).unwrap_or((pixel, &[]));
        for _ in 0..if own.is_grey() && !made.is_grey() { 3 } else { 1 } {
            out.extend_from_slice(colour);
        }
        if made.has_alpha() {
            out.extend_from_slice(alpha);
        }
    }
    out
}

/// Samples as 16 bits, big-endian: of integers the highest bits, of floats 0 to 1.
fn sixteen_bits(sample: Sample, mut data: Vec<u8>) -> Vec<u8> {
    if sample == Sample::U16 {
        crate::data::dtype::swap_bytes(&mut data, 2);
        return data;
    }
    data.chunks_exact(sample.size()).flat_map(|bytes| sixteen(sample, bytes)).collect()
}

/// Samples as bytes, by the same rules.
fn eight_bits(sample: Sample, data: Vec<u8>) -> Vec<u8> {
    match sample {
        Sample::U8 => data,
        float if float.is_float() => {
            let number = |bytes: &[u8]| float.number(bytes).unwrap_or_default().clamp(0.0, 1.0);
            data.chunks_exact(float.size()).map(|bytes| (number(bytes) * 255.0).round() as u8).collect()
        }
        whole => data.chunks_exact(whole.size()).map(|bytes| sixteen(whole, bytes)[0]).collect(),
    }
}

/// A sample as 16 bits, big-endian.
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

/// A whole frame as a format of whole pictures takes it: its pixels in memory, within the limits.
pub(super) fn whole(task: &Task, payload: &Payload, frame: u64, holds: &Holds) -> Result<Vec<u8>> {
    let image = image(payload)?;
    let info = image.info();
    let channels = holds.colours(info)?.channels() as u64;
    let size = if holds.bits >= 16 && info.sample != Sample::U8 { 2 } else { 1 };
    let bytes = limits::bytes(&[info.width, info.height, channels], size)?;
    let mut out = Vec::new();
    out.try_reserve_exact(limits::check(bytes, limits::READ, "the picture")?).map_err(|_| {
        Error::limit(format!("the picture needs {bytes} bytes of memory, which are not there"))
    })?;
    task.set_total(info.height);
    bands(task, image.as_ref(), frame, (1, false), &mut |band| {
        out.extend_from_slice(&holds.pixels(band)?);
        Ok(())
    })?;
    Ok(out)
}

/// Writes a numbered file for each frame. Small ones are made side by side; of large ones one at a time is made, and
/// streams.
pub(super) fn folder(
    task: &Task,
    info: &ImageInfo,
    extension: &str,
    files: &mut dyn Files,
    make: &(dyn Fn(&Task, u64, &mut dyn Sink) -> Result<()> + Sync),
) -> Result<()> {
    let frames = info.frames.max(1);
    let digits = (frames - 1).to_string().len().max(4);
    let stem = files.stem();
    let name = |frame: u64| format!("{stem}_{frame:0digits$}.{extension}");
    let bytes = row_bytes(info).saturating_mul(info.height);
    let at_once = (4 * BAND / bytes.max(1)).min(4 * rayon::current_num_threads() as u64);
    // How far each file is says nothing; how many there are does.
    task.set_total(frames);
    let mut next = 0;
    while next < frames {
        if at_once < 2 {
            let mut file = files.file(&name(next))?;
            make(&Task::new(), next, file.as_mut())?;
            file.flush()?;
            next += 1;
            task.advance(1)?;
            continue;
        }
        let some = next..(next + at_once).min(frames);
        let made: Vec<Vec<u8>> = some
            .clone()
            .into_par_iter()
            .map(|frame| {
                task.check()?;
                let mut out = Cursor::new(Vec::new());
                make(&Task::new(), frame, &mut out)?;
                Ok(out.into_inner())
            })
            .collect::<Result<_>>()?;
        for (frame, bytes) in some.clone().zip(made) {
            files.put(&name(frame), &bytes)?;
        }
        task.advance(some.end - some.start)?;
        next = some.end;
    }
    Ok(())
}

/// An EXIF block (CIPA DC-008: a TIFF structure) that says how a picture is turned.
pub(super) fn exif(info: &ImageInfo) -> Option<Vec<u8>> {
    let value = info.orientation.filter(|value| (1..=8).contains(value))?;
    let mut block = b"II*\0\x08\0\0\0\x01\0".to_vec();
    block.extend_from_slice(&0x0112_u16.to_le_bytes());
    block.extend_from_slice(&3_u16.to_le_bytes());
    block.extend_from_slice(&1_u32.to_le_bytes());
    block.extend_from_slice(&value.to_le_bytes());
    block.extend_from_slice(&[0; 4]);
    Some(block)
}

/// What the orientation in EXIF is called among the attributes.
const TURNED: &str = "exif Orientation";

/// What is said of attributes where the orientation has a place, in a block of EXIF, and what else `keeps` names.
pub(super) fn exif_losses(
    payload: &Payload,
    info: &ImageInfo,
    keeps: impl Fn(&str, &str) -> bool,
) -> Vec<Loss> {
    let block = exif(info);
    let is_own = |name: &str| block.is_some() && name == TURNED;
    let mut losses = payload.kept_texts(|name, value| is_own(name) || keeps(name, value));
    if block.is_some() {
        let what = "the orientation is kept as a field of EXIF";
        losses.push(note(LossKind::Attribute, what).of(TURNED).if_any());
    }
    losses
}

/// Losses for a frame of its own in a folder.
pub(super) fn folder_note(options: &Options) -> Option<Loss> {
    is_folder(options)
        .then(|| note(LossKind::Name, "files are called after the numbers of the frames").if_any())
}
