//! Writes TIFF 6.0 and BigTIFF: every type of sample as it is, any number of channels, every frame as a page. Strips are
//! compressed on all cores and written as they come; the directories stand at the end, when it is known where strips lie.
//! <https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf>, <https://www.awaresystems.be/imaging/tiff/bigtiff.html>

use super::super::write::{BAND, FOLDER, details, folder, folder_note, image, is_folder, row_bytes, rows};
use super::encode::{Codec, predict};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{ImageInfo, Kind, Pixels, Sample};
use crate::data::format::{
    ArrayPictures, CHANNELS, Files, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, WriteTo,
    Writer, loss, note,
};
use crate::data::scan::put;
use rayon::prelude::*;
use std::io::SeekFrom;
use std::ops::Range;

const FRAME: OptionSpec =
    OptionSpec::new("frame", "Which frame is written, from 0; all: each as a page").default("all");
const COMPRESSION: OptionSpec = OptionSpec::new("compression", "How strips are compressed")
    .one_of("deflate", &["none", "lzw", "deflate", "packbits", "zstd"]);
const PREDICTOR: OptionSpec = OptionSpec::new(
    "predictor",
    "Whether differences of neighbours are compressed instead of samples; auto: where it makes files smaller",
)
.one_of("auto", &["auto", "none", "horizontal", "float"]);
const BIG: OptionSpec = OptionSpec::new("bigtiff", "Offsets of 64 bits; auto: where 4 GiB might not do")
    .one_of("auto", &["auto", "yes", "no"]);

/// The writer.
pub(in crate::formats::media::image) const WRITER: Writer = Writer {
    metadata: Metadata::Own,
    pictures: ArrayPictures {
        samples: &[
            Sample::U8,
            Sample::U16,
            Sample::U32,
            Sample::U64,
            Sample::I8,
            Sample::I16,
            Sample::I32,
            Sample::I64,
            Sample::F16,
            Sample::F32,
            Sample::F64,
            Sample::C64,
            Sample::C128,
        ],
        frames: true,
    },
    options: &[FRAME, FOLDER, CHANNELS, COMPRESSION, PREDICTOR, BIG],
    check,
    write: WriteTo::Either { is_folder, file: write, folder: write_folder },
    ..Writer::new(&[Kind::Image], losses, write)
};

/// Bytes of samples in a strip, about.
const STRIP: u64 = 256 << 10;
/// Pages that every reader here and elsewhere follows.
const PAGES: u64 = 10_000;
/// The texts that have a field: what the reader calls them, and the tag.
const TEXTS: [(&str, u16); 9] = [
    ("document", 269),
    ("description", 270),
    ("make", 271),
    ("model", 272),
    ("software", 305),
    ("date", 306),
    ("artist", 315),
    ("XMP", 700),
    ("copyright", 33_432),
];
/// The longest text.
const LONGEST: usize = 60 << 10;

fn check(payload: &Payload) -> Result<()> {
    let info = image(payload)?.info();
    let most = u64::from(u32::MAX);
    if info.width > most || info.height > most {
        let size = format!("{} × {}", info.width, info.height);
        return Err(Error::unsupported(format!("TIFF: a picture of {size} pixels")));
    }
    if info.channels == 0 || info.channels > u32::from(u16::MAX) {
        return Err(Error::unsupported(format!("TIFF: {} channels", info.channels)));
    }
    Ok(())
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(image) = image(payload) else { return Vec::new() };
    let info = image.info();
    let mut losses = Vec::new();
    let one = options.get(FRAME.name).is_some_and(|frame| frame != FRAME.default) && !is_folder(options);
    if one && info.frames > 1 {
        losses.push(loss(LossKind::Type, format!("one frame of {} is written", info.frames)));
    }
    if info.frames > PAGES && !one && !is_folder(options) {
        let what = format!("programs may show the first {PAGES} pages only");
        losses.push(note(LossKind::Type, what).if_any());
    }
    let is_part = info.frames > 1 && (one || is_folder(options));
    let is_plain = options.get(COMPRESSION.name) == Some("none") || info.frames <= 1;
    let holds = Described { frames: !is_part, plain: is_plain };
    losses.extend(payload.kept_texts(|name, value| text_field(name, value, holds).is_some()));
    losses.extend(details(info));
    losses.extend(folder_note(options));
    losses
}

/// What descriptions for programs say of a file, which must be so.
#[derive(Clone, Copy)]
struct Described {
    /// Whether it has all frames.
    frames: bool,
    /// Whether their samples lie one after the other.
    plain: bool,
}

/// The field of an attribute.
fn text_field(name: &str, value: &str, holds: Described) -> Option<Field> {
    let (_, tag) = TEXTS.iter().find(|(known, _)| *known == name)?;
    // ImageJ takes all frames from behind the first directory; OME's XML says where each of them is.
    let is_so = match value {
        imagej if imagej.starts_with("ImageJ=") => holds.frames && holds.plain,
        ome if ome.starts_with("<?xml") && ome.contains("<OME") => holds.frames,
        _ => true,
    };
    let fits = is_so && value.len() <= LONGEST && !value.contains('\0');
    fits.then(|| match tag {
        700 => Field { tag: *tag, kind: 1, count: value.len() as u64, bytes: value.as_bytes().to_vec() },
        _ => {
            let bytes = [value.as_bytes(), &[0]].concat();
            Field { tag: *tag, kind: 2, count: bytes.len() as u64, bytes }
        }
    })
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let info = image(payload)?.info();
    let frames = match options.get(FRAME.name).unwrap_or(FRAME.default) {
        "all" => 0..info.frames.max(1),
        _ => {
            let what = format!("there are {} frames; all writes each as a page", info.frames);
            let one = options.number(&FRAME, &what, |&n: &u64| n < info.frames.max(1))?;
            one..one + 1
        }
    };
    write_pages(task, payload, options, frames, sink)
}

fn write_folder(task: &Task, payload: &Payload, options: &Options, files: &mut dyn Files) -> Result<()> {
    folder(task, image(payload)?.info(), "tif", files, &|task, frame, sink| {
        write_pages(task, payload, options, frame..frame + 1, sink)
    })
}

/// How strips are made of a picture.
struct Layout {
    codec: Codec,
    predictor: u16,
    sample: Sample,
    channels: usize,
    /// Bytes of a row.
    row: usize,
    /// Rows of a strip.
    rows: u64,
    height: u64,
    is_big: bool,
}

impl Layout {
    fn of(info: &ImageInfo, options: &Options, frames: u64) -> Result<Self> {
        let codec = Codec::of(options.choice(&COMPRESSION)?);
        let is_complex = matches!(info.sample, Sample::C64 | Sample::C128);
        let predictor = match options.choice(&PREDICTOR)? {
            "horizontal" if is_complex => {
                return Err(Error::unsupported("predictor=horizontal: complex samples have none"));
            }
            "float" if is_complex || !info.sample.is_float() => {
                let what = format!("predictor=float: samples are {}", info.sample.dtype());
                return Err(Error::unsupported(what));
            }
            // Nothing is to be gained where bytes stay as they are; runs of differences are no shorter.
            _ if matches!(codec, Codec::None) => 1,
            "horizontal" => 2,
            "float" => 3,
            "none" => 1,
            _ if is_complex || codec == Codec::PackBits => 1,
            _ if info.sample.is_float() => 3,
            _ => 2,
        };
        let row = row_bytes(info);
        let rows = (STRIP / row).clamp(1, info.height.max(1));
        let strips = info.height.div_ceil(rows.max(1)).saturating_mul(frames);
        let raw = row.saturating_mul(info.height).saturating_mul(frames);
        // Compression may make random data a little longer; a page has a directory, a strip two numbers in it.
        let most = raw
            .saturating_add(raw / 32)
            .saturating_add(strips.saturating_mul(80))
            .saturating_add(frames.saturating_mul(512))
            .saturating_add(1 << 20);
        let is_big = match options.choice(&BIG)? {
            "yes" => true,
            "no" => false,
            _ => most > u64::from(u32::MAX),
        };
        Ok(Layout {
            codec,
            predictor,
            sample: info.sample,
            channels: info.channels as usize,
            row: crate::bytes::limits::check(row, crate::bytes::limits::CHUNK, "a row")?,
            rows,
            height: info.height,
            is_big,
        })
    }

    /// A strip as it is stored.
    fn strip(&self, samples: &[u8]) -> Result<Vec<u8>> {
        let mut data = samples.to_vec();
        predict(self.predictor, self.sample, self.channels, self.row, &mut data);
        self.codec.encode(data, self.row)
    }
}

/// Some rows of a frame that are read at once.
struct Part {
    frame: u64,
    rows: Range<u64>,
}

/// The parts of all frames: some megabytes each, of whole strips.
fn parts(layout: &Layout, frames: Range<u64>) -> impl Iterator<Item = Part> + use<> {
    let strips = (BAND / (layout.rows * layout.row as u64).max(1)).max(1);
    let (most, height) = (strips.saturating_mul(layout.rows), layout.height);
    frames.flat_map(move |frame| {
        (0..height.div_ceil(most)).map(move |n| {
            let y = n * most;
            Part { frame, rows: y..y.saturating_add(most).min(height) }
        })
    })
}

fn write_pages(
    task: &Task,
    payload: &Payload,
    options: &Options,
    frames: Range<u64>,
    sink: &mut dyn Sink,
) -> Result<()> {
    let image = image(payload)?.as_ref();
    let info = image.info();
    let layout = Layout::of(info, options, frames.end - frames.start)?;
    task.set_total(info.height.saturating_mul(frames.end - frames.start));
    let head: &[u8] = match layout.is_big {
        true => b"II+\0\x08\0\0\0\0\0\0\0\0\0\0\0",
        false => b"II*\0\0\0\0\0",
    };
    put(sink, head)?;
    let mut out = Out { sink, at: head.len() as u64, is_big: layout.is_big };
    let mut strips: Vec<(u64, u64)> = Vec::new();
    let mut all = parts(&layout, frames.clone());
    // Small pages are read together; one thread reads them, in their order, as animations are played.
    let mut window = || -> Vec<Part> {
        let (mut some, mut bytes) = (Vec::new(), 0);
        for part in all.by_ref() {
            bytes += (part.rows.end - part.rows.start) * layout.row as u64;
            some.push(part);
            if bytes >= BAND {
                break;
            }
        }
        some
    };
    let read = |parts: Vec<Part>| -> Result<Vec<Pixels>> {
        let each =
            |part: &Part| rows(task, image, part.frame, part.rows.start, part.rows.end - part.rows.start);
        parts.iter().map(each).collect()
    };
    let mut next = read(window())?;
    while !next.is_empty() {
        let current = std::mem::take(&mut next);
        let parts = window();
        let (made, ahead) = rayon::join(|| encoded(&layout, &current), || read(parts));
        for strip in made? {
            strips.push((out.at, strip.len() as u64));
            out.write(&strip)?;
        }
        task.advance(current.iter().map(|pixels| pixels.height).sum())?;
        next = ahead?;
    }
    directories(task, payload, &layout, (frames, &strips), &mut out)
}

/// The strips of some pixels.
fn encoded(layout: &Layout, pixels: &[Pixels]) -> Result<Vec<Vec<u8>>> {
    let bytes = (layout.rows as usize).saturating_mul(layout.row).max(1);
    let strips: Vec<&[u8]> = pixels.iter().flat_map(|pixels| pixels.data.chunks(bytes)).collect();
    strips.par_iter().map(|strip| layout.strip(strip)).collect()
}

/// A file that is written from its start to its end.
struct Out<'a> {
    sink: &'a mut dyn Sink,
    at: u64,
    is_big: bool,
}

impl Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        put(self.sink, bytes)?;
        self.at += bytes.len() as u64;
        if !self.is_big && self.at > u64::from(u32::MAX) {
            return Err(Error::unsupported("TIFF: the file is longer than 4 GiB, which bigtiff=yes writes"));
        }
        Ok(())
    }

    /// Offsets are even.
    fn align(&mut self) -> Result<()> {
        let odd = (self.at % 2) as usize;
        self.write([0].get(..odd).unwrap_or_default())
    }
}

/// A field of a directory; its values little-endian.
struct Field {
    tag: u16,
    kind: u16,
    count: u64,
    bytes: Vec<u8>,
}

impl Field {
    fn shorts(tag: u16, values: &[u16]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Field { tag, kind: 3, count: values.len() as u64, bytes }
    }

    fn long(tag: u16, value: u64) -> Self {
        Field { tag, kind: 4, count: 1, bytes: (value as u32).to_le_bytes().to_vec() }
    }

    /// Offsets and lengths.
    fn places(tag: u16, values: impl Iterator<Item = u64>, is_big: bool) -> Self {
        let mut field = Field { tag, kind: if is_big { 16 } else { 4 }, count: 0, bytes: Vec::new() };
        let size = if is_big { 8 } else { 4 };
        for value in values {
            field.count += 1;
            field.bytes.extend(value.to_le_bytes().iter().take(size));
        }
        field
    }
}

/// Writes the directories of all pages, and where the first one is.
fn directories(
    task: &Task,
    payload: &Payload,
    layout: &Layout,
    (frames, strips): (Range<u64>, &[(u64, u64)]),
    out: &mut Out<'_>,
) -> Result<()> {
    let info = image(payload)?.info();
    out.align()?;
    let first = out.at;
    let each = info.height.div_ceil(layout.rows.max(1)) as usize;
    let pages = frames.end - frames.start;
    let holds =
        Described { frames: pages == info.frames.max(1), plain: layout.codec == Codec::None || pages <= 1 };
    let list = &payload.attributes.list;
    let texts = || list.iter().filter_map(move |(name, value)| text_field(name, &value.to_string(), holds));
    for (page, strips) in (0..pages).zip(strips.chunks(each.max(1))) {
        task.check()?;
        let mut fields = fields(info, layout, strips);
        if page == 0 {
            fields.extend(texts());
        }
        if pages > 1 {
            fields.push(Field::long(254, 2));
        }
        fields.sort_by_key(|field| field.tag);
        let bytes = directory(&fields, out.at, out.is_big, page + 1 == pages);
        out.write(&bytes)?;
    }
    let at: u64 = if out.is_big { 8 } else { 4 };
    out.sink.seek(SeekFrom::Start(at))?;
    put(out.sink, first.to_le_bytes().get(..at as usize).unwrap_or_default())?;
    out.sink.seek(SeekFrom::End(0))?;
    Ok(())
}

/// The fields of a page.
fn fields(info: &ImageInfo, layout: &Layout, strips: &[(u64, u64)]) -> Vec<Field> {
    let channels = layout.channels;
    let (bits, format) = match info.sample {
        Sample::C64 | Sample::C128 => (info.sample.size() as u16 * 8, 6),
        Sample::F16 | Sample::F32 | Sample::F64 => (info.sample.size() as u16 * 8, 3),
        Sample::I8 | Sample::I16 | Sample::I32 | Sample::I64 => (info.sample.size() as u16 * 8, 2),
        _ => (info.sample.size() as u16 * 8, 1_u16),
    };
    let is_rgb = channels == 3 || channels == 4 && info.alpha;
    let colours = if is_rgb { 3 } else { 1 };
    let mut fields = vec![
        Field::long(256, info.width),
        Field::long(257, info.height),
        Field::shorts(258, &vec![bits; channels]),
        Field::shorts(259, &[layout.codec.number()]),
        Field::shorts(262, &[if is_rgb { 2 } else { 1 }]),
        Field::places(273, strips.iter().map(|(at, _)| *at), layout.is_big),
        Field::shorts(277, &[channels as u16]),
        Field::long(278, layout.rows),
        Field::places(279, strips.iter().map(|(_, len)| *len), layout.is_big),
        Field::shorts(339, &vec![format; channels]),
    ];
    if let Some(value) = info.orientation.filter(|value| (1..=8).contains(value)) {
        fields.push(Field::shorts(274, &[value as u16]));
    }
    if layout.predictor > 1 {
        fields.push(Field::shorts(317, &[layout.predictor]));
    }
    if channels > colours {
        // Alpha is the last channel, and not multiplied into the others; of more channels nothing is known.
        let kind = if info.alpha && channels == colours + 1 { 2 } else { 0 };
        fields.push(Field::shorts(338, &vec![kind; channels - colours]));
    }
    fields
}

/// A directory at an offset, with the values of its fields that do not fit into it behind; the next one follows.
fn directory(fields: &[Field], at: u64, is_big: bool, is_last: bool) -> Vec<u8> {
    let (count, entry, offset) = if is_big { (8, 20, 8) } else { (2, 12, 4) };
    let head = count + fields.len() * entry + offset;
    let mut out = (fields.len() as u64).to_le_bytes().get(..count).unwrap_or_default().to_vec();
    let mut behind: Vec<u8> = Vec::new();
    for field in fields {
        out.extend_from_slice(&field.tag.to_le_bytes());
        out.extend_from_slice(&field.kind.to_le_bytes());
        out.extend(field.count.to_le_bytes().iter().take(offset));
        if field.bytes.len() <= offset {
            out.extend_from_slice(&field.bytes);
            out.resize(out.len() + offset - field.bytes.len(), 0);
        } else {
            let place = at + (head + behind.len()) as u64;
            out.extend(place.to_le_bytes().iter().take(offset));
            behind.extend_from_slice(&field.bytes);
            behind.resize(behind.len().next_multiple_of(8), 0);
        }
    }
    let end = (head + behind.len()).next_multiple_of(2);
    let next = if is_last { 0 } else { at + end as u64 };
    out.extend(next.to_le_bytes().iter().take(offset));
    out.extend(behind);
    out.resize(end, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::write::testing::{array, back, there_and_back, written};
    use super::*;
    use crate::data::content::Rect;
    use crate::data::dtype::DType;
    use proptest::prelude::*;

    const ALL: [DType; 13] = [
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn stacks_of_any_samples_come_back(
            dtype in prop::sample::select(ALL.to_vec()),
            frames in 1u64..4,
            height in 1u64..40,
            width in 1u64..40,
            channels in 1u64..6,
            codec in prop::sample::select(vec!["none", "lzw", "deflate", "packbits", "zstd"]),
            predictor in prop::sample::select(vec!["auto", "none"]),
            big in prop::sample::select(vec!["auto", "yes", "no"]),
            seed: u8,
            flat: bool,
        ) {
            let set = [("compression", codec), ("predictor", predictor), ("bigtiff", big), ("channels", "last")];
            let shape = [frames, height, width, channels];
            there_and_back(&WRITER, &set, "a.tif", &array(&dtype, &shape, seed, flat))?;
        }
    }

    #[test]
    fn strips_and_rows_of_many_sizes() {
        // Several strips, the last one shorter; rows longer than a strip.
        for shape in [[1, 700, 500, 3], [1, 3, 100_000, 4], [300, 2, 3, 1]] {
            for codec in ["none", "lzw", "zstd"] {
                let set = [("compression", codec), ("channels", "last")];
                there_and_back(&WRITER, &set, "a.tif", &array(&DType::U16, &shape, 3, false)).unwrap();
            }
        }
    }

    #[test]
    fn a_frame_of_many_and_texts() {
        let mut payload = array(&DType::U8, &[3, 4, 5, 1], 1, false);
        payload.attributes.list.push(("description".to_owned(), "é, and more".into()));
        payload.attributes.list.push(("nothing".to_owned(), "x".into()));
        let bytes = written(&WRITER, &[("frame", "2"), ("channels", "last")], &payload).unwrap();
        let (document, image) = back("a.tif", bytes);
        assert_eq!(image.info().frames, 1);
        let Ok(from) = crate::formats::media::image::write::image(&payload) else { panic!() };
        let all = Rect::all(5, 4);
        let task = Task::new();
        assert_eq!(image.read(&task, 0, 0, all).unwrap(), from.read(&task, 2, 0, all).unwrap());
        let told: Vec<_> =
            document.root.attributes.iter().map(|(name, value)| (name.as_str(), value.to_string())).collect();
        assert_eq!(told, [("description", "é, and more".to_owned())]);
        assert!(written(&WRITER, &[("frame", "3")], &payload).is_err());
    }
}
