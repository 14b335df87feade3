//! Pixels of a DICOM object: where each frame lies, natively or in fragments, and how it is decoded
//! (PS3.5, section 8 and annex A).

use super::super::picture::{Codec, blank, check_pixels};
use super::super::{jpeg, jpeg2000, jpegls, jxl};
use super::elements::{Coding, Element, ITEM, SEQUENCE_END, Walk};
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Rect, Sample};
use bytes::Bytes;
use std::ops::Range;

/// Fragments of one object that are listed.
const FRAGMENTS: usize = 1 << 20;

/// What a pixel is (PS3.3, section C.7.6.3).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) samples: u64,
    /// Bits that a sample takes,
    pub(super) allocated: u32,
    /// those that it uses,
    pub(super) stored: u32,
    /// and the highest of them.
    pub(super) high: u32,
    pub(super) signed: bool,
    /// Floating point pixels, of `allocated` bits.
    pub(super) float: bool,
    /// Colours lie in planes.
    pub(super) planar: bool,
    pub(super) photometric: String,
    pub(super) frames: u64,
    /// Red, green and blue of each index from `first` on.
    pub(super) palette: Option<Palette>,
}

/// The colours of *PALETTE COLOR*.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Palette {
    pub(super) first: i64,
    pub(super) colours: Vec<[u8; 3]>,
}

/// How frames are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Native,
    /// Native pixels in fragments.
    Encapsulated,
    Rle,
    Jpeg,
    JpegLs,
    Jpeg2000,
    JpegXl,
    /// Streams of video.
    Video,
}

impl Packing {
    /// That of a transfer syntax; `None` for those that are not known.
    pub(super) fn of(syntax: &str) -> Option<Self> {
        let rest = syntax.strip_prefix("1.2.840.10008.1.2")?;
        Some(match rest {
            "" | ".1" | ".1.99" | ".2" => Packing::Native,
            ".1.98" => Packing::Encapsulated,
            ".5" => Packing::Rle,
            ".4.80" | ".4.81" => Packing::JpegLs,
            ".4.90" | ".4.91" | ".4.92" | ".4.93" | ".4.201" | ".4.202" | ".4.203" => Packing::Jpeg2000,
            ".4.110" | ".4.111" | ".4.112" => Packing::JpegXl,
            _ => {
                let process: u32 = rest.strip_prefix(".4.")?.split('.').next()?.parse().ok()?;
                match process {
                    50..=70 => Packing::Jpeg,
                    100..=108 => Packing::Video,
                    _ => return None,
                }
            }
        })
    }
}

impl Layout {
    /// The type of the samples that are delivered.
    pub(super) fn sample(&self) -> Result<Sample> {
        Ok(match (self.float, self.signed, self.allocated) {
            (true, _, 32) => Sample::F32,
            (true, _, 64) => Sample::F64,
            (false, _, 1) => Sample::U8,
            (false, false, 2..=8) => Sample::U8,
            (false, true, 2..=8) => Sample::I8,
            (false, false, 9..=16) => Sample::U16,
            (false, true, 9..=16) => Sample::I16,
            (false, false, 17..=32) => Sample::U32,
            (false, true, 17..=32) => Sample::I32,
            (false, false, 64) => Sample::U64,
            (false, true, 64) => Sample::I64,
            (_, _, bits) => return Err(Error::unsupported(format!("DICOM: samples of {bits} bits"))),
        })
    }

    /// Bits of a native frame.
    fn frame_bits(&self) -> Result<u64> {
        // Subsampled chroma: two pixels have four samples.
        let samples = if self.photometric == "YBR_FULL_422" { 2 } else { self.samples };
        limits::bytes(&[self.rows, self.columns, samples], self.allocated.into())
    }

    /// Whether the samples are turned or coloured to be seen.
    pub(super) fn is_rendered(&self) -> bool {
        self.is_inverted() || self.palette.is_some() && self.samples == 1 || self.is_chroma()
    }

    fn is_inverted(&self) -> bool {
        self.photometric == "MONOCHROME1" && self.samples == 1 && !self.float
    }

    fn is_chroma(&self) -> bool {
        self.photometric.starts_with("YBR_FULL") && self.samples == 3 && self.allocated == 8
    }

    /// Samples of a pixel as they are seen.
    pub(super) fn seen_channels(&self) -> u32 {
        if self.palette.is_some() && self.samples == 1 { 3 } else { self.samples as u32 }
    }
}

/// Where frames lie.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// One after the other from here on.
    Native(Range<u64>),
    /// In fragments: those of each frame.
    Fragments(Vec<Vec<Range<u64>>>),
}

impl Places {
    /// The number of frames that are there.
    pub(super) fn count(&self, layout: &Layout) -> Result<u64> {
        Ok(match self {
            Places::Fragments(frames) => frames.len() as u64,
            Places::Native(range) => {
                let bits = layout.frame_bits()?.max(1);
                (range.end - range.start).saturating_mul(8) / bits
            }
        })
    }

    /// Finds the fragments of each frame: by the table of offsets where there is one, else by the beginnings of images.
    pub(super) fn encapsulated(
        walk: &Walk<'_>,
        element: &Element,
        frames: u64,
        extended: Option<Vec<u64>>,
        packing: Packing,
    ) -> Result<(Places, Option<Error>)> {
        let (task, source) = (walk.task, walk.source);
        let (mut at, end) = (element.value.start, element.value.end);
        let mut items: Vec<Range<u64>> = Vec::new();
        let mut problem = None;
        while at + 8 <= end {
            if items.len().is_multiple_of(1_024) {
                task.check()?;
            }
            let head = source.read_up_to(task, at, 8)?;
            let tag = le::<u16>(&head, 0).zip(le::<u16>(&head, 2));
            let len = u64::from(le::<u32>(&head, 4).unwrap_or(0));
            match tag {
                Some(ITEM) => {
                    let next = (at + 8).saturating_add(len);
                    if next > end {
                        let what =
                            "DICOM: a fragment of its pixels reaches beyond the file; it may be cut off";
                        problem = Some(Error::malformed(what).with_defect(Defect::Truncated).at(at));
                    }
                    items.push(at + 8..next.min(end));
                    at = next;
                }
                Some(SEQUENCE_END) => break,
                _ => {
                    let what = "DICOM: something else stands where a fragment of its pixels should";
                    problem = Some(Error::malformed(what).at(at));
                    break;
                }
            }
            if items.len() > FRAGMENTS {
                return Err(Error::limit(format!("DICOM: more than {FRAGMENTS} fragments of pixels")));
            }
        }
        if items.is_empty() {
            return Ok((Places::Fragments(Vec::new()), problem));
        }
        let table = items.remove(0);
        let base = table.end;
        let offsets: Vec<u64> = match extended {
            Some(offsets) => offsets,
            None => {
                let bytes = source.read_up_to(task, table.start, (table.end - table.start) as usize)?;
                bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b).into()).collect()
            }
        };
        let listed = by_offsets(&items, base, &offsets, frames);
        let places = match listed {
            Some(frames) => frames,
            None if frames <= 1 => vec![items],
            None if items.len() as u64 == frames => items.into_iter().map(|item| vec![item]).collect(),
            None => by_beginnings(walk, items, packing)?,
        };
        Ok((Places::Fragments(places), problem))
    }
}

/// Fragments of each frame by a table of offsets from `base`; `None` where it does not fit.
fn by_offsets(items: &[Range<u64>], base: u64, offsets: &[u64], frames: u64) -> Option<Vec<Vec<Range<u64>>>> {
    if offsets.is_empty() || offsets.len() as u64 != frames.max(1) || !offsets.is_sorted() {
        return None;
    }
    let mut out = vec![Vec::new(); offsets.len()];
    for item in items {
        // Offsets are those of the items' heads.
        let offset = (item.start - 8).checked_sub(base)?;
        let frame = offsets.partition_point(|from| *from <= offset).checked_sub(1)?;
        out.get_mut(frame)?.push(item.clone());
    }
    out.iter().all(|frame| !frame.is_empty()).then_some(out)
}

/// Fragments of each frame: one begins with the sign of an image.
fn by_beginnings(walk: &Walk<'_>, items: Vec<Range<u64>>, packing: Packing) -> Result<Vec<Vec<Range<u64>>>> {
    let mut out: Vec<Vec<Range<u64>>> = Vec::new();
    for item in items {
        walk.task.check()?;
        let first = walk.source.read_up_to(walk.task, item.start, 12)?;
        let begins = match packing {
            Packing::Jpeg | Packing::JpegLs => first.starts_with(b"\xff\xd8"),
            Packing::Jpeg2000 => first.starts_with(b"\xff\x4f\xff\x51") || first.starts_with(b"\0\0\0\x0cjP"),
            Packing::JpegXl => first.starts_with(b"\xff\x0a") || first.starts_with(b"\0\0\0\x0cJXL"),
            _ => true,
        };
        match out.last_mut() {
            Some(frame) if !begins => frame.push(item),
            _ => out.push(vec![item]),
        }
    }
    Ok(out)
}

/// The pixels of an object.
pub(super) struct Frames {
    pub(super) layout: Layout,
    pub(super) places: Places,
    pub(super) packing: Packing,
    pub(super) big: bool,
    /// Bytes of words of 16 bits are swapped in samples of a byte: OW in big-endian.
    pub(super) words: bool,
    /// Where the pixels really lie: in a data set that was inflated.
    pub(super) source: Source,
    pub(super) partial: bool,
}

impl Frames {
    /// The samples of a frame as they are stored.
    pub(super) fn samples(&self, task: &Task, frame: u64) -> Result<Pixels> {
        check_pixels(self.layout.columns, self.layout.rows)?;
        match &self.places {
            Places::Native(range) => self.native(task, range, frame),
            Places::Fragments(frames) => {
                let parts = usize::try_from(frame).ok().and_then(|n| frames.get(n));
                let missing = || Error::malformed(format!("DICOM: its frame {frame} has no fragments"));
                let parts = parts.ok_or_else(missing)?;
                let at = parts.first().map_or(0, |part| part.start);
                let bytes = self.joined(task, parts)?;
                self.decoded(task, &bytes).map_err(|error| error.at(at))
            }
        }
    }

    fn joined(&self, task: &Task, parts: &[Range<u64>]) -> Result<Bytes> {
        let len = parts.iter().fold(0u64, |all, part| all.saturating_add(part.end - part.start));
        limits::check(len, limits::CHUNK, "a frame")?;
        if let [part] = parts {
            return self.source.read(task, part.clone());
        }
        let mut whole = Vec::new();
        for part in parts {
            whole.extend_from_slice(&self.source.read(task, part.clone())?);
        }
        Ok(whole.into())
    }

    fn native(&self, task: &Task, range: &Range<u64>, frame: u64) -> Result<Pixels> {
        let bits = self.layout.frame_bits()?;
        let first = frame.saturating_mul(bits);
        let (from, to) = (first / 8, (first + bits).div_ceil(8));
        let size = limits::check(to - from, limits::CHUNK, "a frame")?;
        // Words of two bytes are whole in the file, also where a frame begins or ends within one.
        let swaps = self.words && self.layout.allocated == 8;
        let before = from % 2 * u64::from(swaps);
        let size = if swaps { (size + before as usize).next_multiple_of(2) } else { size };
        let start = range.start.saturating_add(from - before);
        let there = range.end.saturating_sub(start).min(size as u64);
        let mut bytes = self.source.read_up_to(task, start, there as usize)?;
        if bytes.len() < size {
            if !self.partial {
                let what =
                    format!("DICOM: frame {frame} should take {size} bytes, {} are there", bytes.len());
                return Err(Error::malformed(what).with_defect(Defect::Truncated).at(start));
            }
            let mut whole = limits::zeroed(size, "a frame")?;
            whole.get_mut(..bytes.len()).into_iter().for_each(|part| part.copy_from_slice(&bytes));
            bytes = whole.into();
        }
        if swaps {
            let mut whole = bytes.to_vec();
            whole.as_chunks_mut::<2>().0.iter_mut().for_each(|[a, b]| std::mem::swap(a, b));
            bytes = Bytes::from(whole).slice(before as usize..);
        }
        self.unpacked(&bytes, (first % 8) as usize, self.big)
    }

    /// Samples of whole bytes, from the bits that the layout says.
    fn unpacked(&self, bytes: &[u8], skip: usize, big: bool) -> Result<Pixels> {
        let layout = &self.layout;
        let sample = layout.sample()?;
        let (width, height, channels) = (layout.columns, layout.rows, layout.samples as u32);
        let mut pixels = blank(width, height, channels, sample, false)?;
        let size = sample.size();
        if layout.allocated == 1 {
            for (n, place) in pixels.data.iter_mut().enumerate() {
                let at = skip + n;
                *place = bytes.get(at / 8).map_or(0, |byte| byte >> (at % 8) & 1);
            }
            return Ok(pixels);
        }
        if layout.photometric == "YBR_FULL_422" && layout.allocated == 8 && channels == 3 {
            let pairs = pixels.data.chunks_exact_mut(6);
            for (out, four) in pairs.zip(bytes.as_chunks::<4>().0) {
                let [a, b, cb, cr] = *four;
                out.copy_from_slice(&[a, cb, cr, b, cb, cr]);
            }
            return Ok(pixels);
        }
        if !layout.allocated.is_multiple_of(8) {
            let bits = layout.allocated;
            return Err(Error::unsupported(format!("DICOM: samples packed in {bits} bits")));
        }
        let width = layout.allocated as usize / 8;
        let plane = (layout.rows * layout.columns) as usize;
        let shift = (layout.high + 1).saturating_sub(layout.stored);
        for (n, place) in pixels.data.chunks_exact_mut(size).enumerate() {
            let n = match layout.planar && channels > 1 {
                true => n % channels as usize * plane + n / channels as usize,
                false => n,
            };
            let at = n * width;
            let Some(stored) = bytes.get(at..at + width) else { break };
            let mut value = match big {
                true => stored.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte)),
                false => stored.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)),
            };
            if !layout.float && layout.stored < layout.allocated {
                value = self.used(value >> shift);
            }
            place.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
        }
        Ok(pixels)
    }

    /// The bits of a sample that are used, with their sign.
    fn used(&self, value: u64) -> u64 {
        let unused = 64 - self.layout.stored.clamp(1, 64);
        match self.layout.signed {
            true => (((value << unused) as i64) >> unused) as u64,
            false => (value << unused) >> unused,
        }
    }

    /// A frame that is an image of its own.
    fn decoded(&self, task: &Task, bytes: &[u8]) -> Result<Pixels> {
        let layout = &self.layout;
        let pixels = match self.packing {
            Packing::Native | Packing::Encapsulated => return self.unpacked(bytes, 0, self.big),
            Packing::Rle => return self.rle(bytes),
            Packing::Jpeg => jpeg::samples(task, bytes, self.partial)?,
            Packing::JpegLs => jpegls::decode(task, bytes, self.partial)?.0,
            Packing::Jpeg2000 => jpeg2000::samples(task, bytes)?,
            Packing::JpegXl => jxl::samples(task, bytes)?,
            Packing::Video => {
                return Err(Error::unsupported("DICOM: pixels that are a stream of video"));
            }
        };
        let fits = pixels.width == layout.columns && pixels.height == layout.rows;
        if !fits || u64::from(pixels.channels) != layout.samples {
            return Err(Error::malformed(format!(
                "DICOM: an image of {} × {} × {} stands where {} × {} × {} pixels should",
                pixels.width, pixels.height, pixels.channels, layout.columns, layout.rows, layout.samples
            )));
        }
        self.fitted(pixels)
    }

    /// Decoded samples in the type that the object says.
    fn fitted(&self, pixels: Pixels) -> Result<Pixels> {
        let sample = self.layout.sample()?;
        if pixels.sample == sample {
            return Ok(pixels);
        }
        let mut out = blank(pixels.width, pixels.height, pixels.channels, sample, false)?;
        let (from, to) = (pixels.sample.size(), sample.size());
        for (value, place) in pixels.data.chunks_exact(from).zip(out.data.chunks_exact_mut(to)) {
            let value = value.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            let value = self.used(value).to_le_bytes();
            place.copy_from_slice(value.get(..to).unwrap_or_default());
        }
        Ok(out)
    }

    /// RLE: segments of PackBits, one a byte of each sample, the highest first (PS3.5, annex G).
    fn rle(&self, bytes: &[u8]) -> Result<Pixels> {
        let layout = &self.layout;
        let broken = |what: &str| Error::malformed(format!("DICOM: RLE: {what}"));
        let count = le::<u32>(bytes, 0).ok_or_else(|| broken("its header is cut off"))?;
        let plane = (layout.rows * layout.columns) as usize;
        if layout.allocated == 1 {
            return Err(Error::unsupported("DICOM: RLE of samples of one bit"));
        }
        let width = layout.allocated as usize / 8;
        if u64::from(count) != layout.samples * width as u64 || count > 15 {
            let wanted = layout.samples * width as u64;
            return Err(broken(&format!("{count} segments, {wanted} are needed")));
        }
        let size = limits::check(plane as u64 * u64::from(count), limits::CHUNK, "a frame")?;
        let mut whole = limits::zeroed(size, "a frame")?;
        let start = |n: u32| le::<u32>(bytes, 4 + n as usize * 4).map(|at| at as usize);
        for n in 0..count {
            let from = start(n).unwrap_or(usize::MAX);
            let to = start(n + 1).filter(|to| n + 1 < count && *to >= from).unwrap_or(bytes.len());
            let data =
                bytes.get(from..to.min(bytes.len())).ok_or_else(|| broken("a segment lies beyond it"))?;
            let made = super::super::tiff::pack_bits(data, plane);
            if made.len() < plane && !self.partial {
                let what = format!("segment {n} gives {} bytes, it should give {plane}", made.len());
                return Err(broken(&what));
            }
            let (sample, byte) = (n as usize / width, n as usize % width);
            // Little-endian samples, in planes.
            let places = whole.iter_mut().skip(sample * plane * width + (width - 1 - byte)).step_by(width);
            places.zip(made).for_each(|(place, byte)| *place = byte);
        }
        let planar = Layout { planar: layout.samples > 1, ..layout.clone() };
        let frames = Frames {
            layout: planar,
            places: Places::Fragments(Vec::new()),
            packing: Packing::Native,
            big: false,
            words: false,
            source: self.source.clone(),
            partial: self.partial,
        };
        frames.unpacked(&whole, 0, false)
    }

    /// What is seen of samples: white as zero turned, palettes and chroma as RGB.
    fn seen(&self, mut pixels: Pixels) -> Result<Pixels> {
        let layout = &self.layout;
        let (size, sample) = (pixels.sample.size(), pixels.sample);
        if layout.is_inverted() {
            // Over the range of the bits that are used: least and largest change places.
            for value in pixels.data.chunks_exact_mut(size) {
                let number = value.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
                let turned = self.used(!number).to_le_bytes();
                value.copy_from_slice(turned.get(..size).unwrap_or_default());
            }
            return Ok(pixels);
        }
        if let (Some(palette), 1) = (&layout.palette, layout.samples) {
            let mut seen = blank(pixels.width, pixels.height, 3, Sample::U8, false)?;
            let last = palette.colours.len().saturating_sub(1) as i64;
            for (rgb, index) in
                seen.data.as_chunks_mut::<3>().0.iter_mut().zip(pixels.data.chunks_exact(size))
            {
                let index = sample.number(index).unwrap_or(0.0) as i64;
                let index = (index - palette.first).clamp(0, last.max(0)) as usize;
                *rgb = palette.colours.get(index).copied().unwrap_or_default();
            }
            return Ok(seen);
        }
        let is_decoded = matches!(self.packing, Packing::Jpeg2000 | Packing::JpegXl);
        if layout.is_chroma() && !is_decoded {
            pixels.data.as_chunks_mut::<3>().0.iter_mut().for_each(jpeg::to_rgb);
        }
        Ok(pixels)
    }
}

impl Codec for Frames {
    fn frame(&self, task: &Task, _source: &Source, frame: u64, _partial: bool) -> Result<Pixels> {
        self.seen(self.samples(task, frame)?)
    }

    fn stored(&self, task: &Task, _source: &Source, frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        match self.layout.is_rendered() {
            true => self.samples(task, frame).map(|pixels| Some(pixels.crop(rect))),
            false => Ok(None),
        }
    }
}

/// Whether the native pixels of this element have the bytes of their words swapped.
pub(super) fn has_swapped_words(element: &Element, coding: Coding) -> bool {
    coding.big && element.vr == *b"OW"
}
