//! Writes WAV: samples as the elements are — bytes, whole numbers of 16, 24 and 32 bits, floats of 32 and 64 —, RF64 where
//! 4 GiB do not do. <https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/WAVE/WAVE.html>, EBU Tech 3306

use super::super::riff::{INFO, TEXTS};
use super::{RATE, Told};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::dtype::DType;
use crate::data::format::{Loss, LossKind, Metadata, Options, Payload, Sink, Writer, note};
use crate::data::scan::{array_bytes, elements, put};
use half::f16;

/// The writer.
pub(in crate::formats::media::audio) const WRITER: Writer = Writer {
    metadata: Metadata::Own,
    sounds: true,
    options: &[RATE],
    check: |payload| {
        let told = Told::of(payload)?;
        let coding = Coding::of(&told)?;
        limits::bytes(&[told.frames, told.channels], u64::from(coding.width()))?;
        coding.block(&told).map(drop)
    },
    ..Writer::new(&[Kind::Array], losses, write)
};

/// The rest of the GUID of a format of samples, behind its number.
const GUID: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

/// How samples are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    /// Bytes about 128; of signed ones 128 more.
    Bytes { signed: bool },
    /// Whole numbers of so many bytes, which elements have or a byte more.
    Whole(u16),
    /// Floats; halves become floats of 32 bits.
    Float { width: u16, half: bool },
}

impl Coding {
    fn of(told: &Told) -> Result<Self> {
        Ok(match told.dtype {
            DType::U8 => Coding::Bytes { signed: false },
            DType::I8 => Coding::Bytes { signed: true },
            DType::I16 => Coding::Whole(2),
            DType::I32 if told.full() <= 24 => Coding::Whole(3),
            DType::I32 => Coding::Whole(4),
            DType::F16 => Coding::Float { width: 4, half: true },
            DType::F32 => Coding::Float { width: 4, half: false },
            DType::F64 => Coding::Float { width: 8, half: false },
            ref other => {
                let what = format!("WAV has no samples of {other}: it has uint8, int16, int32 and floats");
                return Err(Error::unsupported(what));
            }
        })
    }

    /// Bytes of a sample.
    fn width(self) -> u16 {
        match self {
            Coding::Bytes { .. } => 1,
            Coding::Whole(width) | Coding::Float { width, .. } => width,
        }
    }

    /// Bytes of a frame.
    fn block(self, told: &Told) -> Result<u16> {
        let bytes = told.channels.saturating_mul(u64::from(self.width()));
        u16::try_from(bytes)
            .map_err(|_| Error::unsupported(format!("WAV: {} channels in one frame", told.channels)))
    }

    /// Elements as they are written.
    fn samples(self, elements: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        match self {
            Coding::Bytes { signed: true } => out.extend(elements.iter().map(|byte| byte ^ 0x80)),
            Coding::Float { half: true, .. } => {
                let halves = elements.as_chunks::<2>().0.iter();
                out.extend(halves.flat_map(|half| f16::from_le_bytes(*half).to_f32().to_le_bytes()));
            }
            Coding::Whole(3) => {
                for bytes in elements.as_chunks::<4>().0 {
                    let value = i32::from_le_bytes(*bytes);
                    if value << 8 >> 8 != value {
                        let what = format!("the sample {value} does not fit the 24 bits that its sound has");
                        return Err(Error::unsupported(what));
                    }
                    out.extend(bytes.iter().take(3));
                }
            }
            _ => out.extend_from_slice(elements),
        }
        Ok(())
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(told) = Told::of(payload) else { return Vec::new() };
    let Ok(coding) = Coding::of(&told) else { return Vec::new() };
    let mut losses = told.losses(payload, options);
    losses.extend(match coding {
        Coding::Bytes { signed: true } => {
            Some(note(LossKind::Type, "signed bytes become unsigned ones: 0 becomes 128"))
        }
        Coding::Float { half: true, .. } => {
            Some(note(LossKind::Type, "float16 samples become float32 ones of the same numbers"))
        }
        _ => told.quieter(u32::from(coding.width()) * 8),
    });
    losses.extend(payload.kept_texts(|name, value| info(name, value).is_some()));
    losses
}

/// The chunk of a text.
fn info(name: &str, value: &str) -> Option<&'static [u8; 4]> {
    let (id, _) = INFO.iter().find(|(_, word)| *word == name)?;
    (!value.contains('\0') && (value.len() as u64) < TEXTS / 16).then_some(*id)
}

/// The chunk of all texts; empty without texts.
fn texts(payload: &Payload) -> Vec<u8> {
    let mut list = b"INFO".to_vec();
    for (name, value) in &payload.attributes.list {
        let text = value.to_string();
        let Some(id) = info(name, &text) else { continue };
        list.extend_from_slice(id);
        list.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
        list.extend_from_slice(text.as_bytes());
        list.push(0);
        list.resize(list.len().next_multiple_of(2), 0);
    }
    match list.len() {
        4 => Vec::new(),
        len => [&b"LIST"[..], &(len as u32).to_le_bytes(), &list].concat(),
    }
}

/// What `fmt ` says of samples, and `fact` of floats.
fn layout(told: &Told, coding: Coding, rate: u32) -> Result<Vec<u8>> {
    let block = coding.block(told)?;
    let tag: u16 = if matches!(coding, Coding::Float { .. }) { 3 } else { 1 };
    let bits = coding.width() * 8;
    let is_extended = told.channels > 2;
    let mut fmt = Vec::new();
    fmt.extend_from_slice(&if is_extended { 0xfffe_u16 } else { tag }.to_le_bytes());
    fmt.extend_from_slice(&(told.channels as u16).to_le_bytes());
    fmt.extend_from_slice(&rate.to_le_bytes());
    fmt.extend_from_slice(&rate.saturating_mul(u32::from(block)).to_le_bytes());
    fmt.extend_from_slice(&block.to_le_bytes());
    fmt.extend_from_slice(&bits.to_le_bytes());
    if is_extended {
        fmt.extend_from_slice(&22_u16.to_le_bytes());
        fmt.extend_from_slice(&bits.to_le_bytes());
        // Which speakers the channels are for is not known.
        fmt.extend_from_slice(&0_u32.to_le_bytes());
        fmt.extend_from_slice(&tag.to_le_bytes());
        fmt.extend_from_slice(&GUID);
    } else if tag != 1 {
        fmt.extend_from_slice(&0_u16.to_le_bytes());
    }
    let mut out = [&b"fmt "[..], &(fmt.len() as u32).to_le_bytes(), &fmt].concat();
    if tag != 1 {
        let frames = u32::try_from(told.frames).unwrap_or(u32::MAX);
        out.extend([&b"fact\x04\0\0\0"[..], &frames.to_le_bytes()].concat());
    }
    Ok(out)
}

/// All that stands before `bytes` bytes of samples.
fn header(payload: &Payload, told: &Told, coding: Coding, rate: u32, bytes: u64) -> Result<Vec<u8>> {
    let chunks = [layout(told, coding, rate)?, texts(payload)].concat();
    let whole = (4 + chunks.len() as u64 + 8).saturating_add(bytes).saturating_add(bytes % 2);
    let mut out = Vec::new();
    if let (Ok(size), Ok(data)) = (u32::try_from(whole), u32::try_from(bytes)) {
        out.extend(
            [&b"RIFF"[..], &size.to_le_bytes(), b"WAVE", &chunks, b"data", &data.to_le_bytes()].concat(),
        );
        return Ok(out);
    }
    // The sizes of 64 bits stand in a chunk of their own.
    let size = whole.saturating_add(36);
    let sizes = [size, bytes, told.frames].map(u64::to_le_bytes).concat();
    let beyond = u32::MAX.to_le_bytes();
    out.extend([&b"RF64"[..], &beyond, b"WAVEds64\x1c\0\0\0", &sizes, &[0; 4]].concat());
    out.extend([&chunks[..], b"data", &beyond].concat());
    Ok(out)
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let told = Told::of(payload)?;
    let coding = Coding::of(&told)?;
    let (rate, _) = told.rate(payload, options)?;
    let array = payload.array()?;
    let bytes = limits::bytes(&[told.frames, told.channels], u64::from(coding.width()))?;
    put(sink, &header(payload, &told, coding, rate, bytes)?)?;
    task.set_total(array_bytes(array.as_ref())?);
    let mut out = Vec::new();
    elements(task, array.as_ref(), &mut |some| {
        coding.samples(some, &mut out)?;
        put(sink, &out)
    })?;
    put(sink, [0].get(..(bytes % 2) as usize).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::Content;
    use crate::data::content::array::{Array, Plain, read};
    use crate::data::format::Data;
    use crate::data::region::Region;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn payload(dtype: &DType, shape: &[u64], bytes: Vec<u8>, full: Option<u32>) -> Payload {
        let plain = Plain::new(Source::memory("a", bytes), 0, dtype.clone(), shape.to_vec()).unwrap();
        let sound =
            full.map(|full| crate::data::content::array::Sound { rate: 8000, full, ..Default::default() });
        let facts = crate::data::content::ArrayFacts { sound, ..Default::default() };
        Payload::plain(Data::Arrays(vec![("a".to_owned(), Arc::new(plain.with_facts(facts)))]))
    }

    fn written(payload: &Payload, set: &[(&str, &str)]) -> Vec<u8> {
        let mut options = Options::default();
        set.iter().for_each(|(name, value)| options.set(name, *value));
        (WRITER.check)(payload).unwrap();
        let mut out = std::io::Cursor::new(Vec::new());
        write(&Task::new(), payload, &options, &mut out).unwrap();
        out.into_inner()
    }

    fn back(bytes: Vec<u8>) -> (Arc<dyn Array>, Vec<(String, String)>) {
        let source = Source::memory("a.wav", bytes);
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
        assert_eq!(document.format.id, "wav");
        assert!(document.root.problem.is_none() && document.root.remarks.is_empty());
        let told = document.root.attributes.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let Some(Content::Array(array)) = &document.root.content else { panic!("no sound") };
        (array.clone(), told.collect())
    }

    fn all(array: &dyn Array) -> Vec<u8> {
        read(array, &Task::new(), &Region::all(array.shape())).unwrap()
    }

    proptest! {
        #[test]
        fn sounds_come_back(
            dtype in prop::sample::select(vec![DType::U8, DType::I16, DType::I32, DType::F32, DType::F64]),
            frames in 0u64..300,
            channels in 1u64..9,
            rate in 1u32..400_000,
            data in prop::collection::vec(any::<u8>(), 300 * 8 * 8),
        ) {
            let bytes = data[..(frames * channels * dtype.size()) as usize].to_vec();
            let from = payload(&dtype, &[frames, channels], bytes.clone(), None);
            let (array, _) = back(written(&from, &[("rate", &rate.to_string())]));
            prop_assert_eq!((array.dtype(), array.shape()), (&dtype, &[frames, channels][..]));
            prop_assert!(all(array.as_ref()) == bytes);
            let sound = array.facts().sound.unwrap();
            prop_assert_eq!((sound.rate, sound.full), (rate, dtype.size() as u32 * 8));
        }

        #[test]
        fn twenty_four_bits_are_three_bytes(values in prop::collection::vec(-(1i32 << 23)..1 << 23, 1..200)) {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let file = written(&payload(&DType::I32, &[values.len() as u64, 1], bytes.clone(), Some(24)), &[]);
            prop_assert_eq!(file.len(), 44 + (values.len() * 3).next_multiple_of(2));
            let (array, _) = back(file);
            prop_assert!(all(array.as_ref()) == bytes);
            prop_assert_eq!(array.facts().sound.unwrap().full, 24);
        }
    }

    #[test]
    fn samples_that_become_others() {
        let from = payload(&DType::I8, &[3], vec![0x80, 0, 0x7f], None);
        assert_eq!(all(back(written(&from, &[])).0.as_ref()), [0, 128, 255]);
        let halves: Vec<u8> = [0.5, -2.0].iter().flat_map(|n| f16::from_f32(*n).to_le_bytes()).collect();
        let from = payload(&DType::F16, &[2], halves, None);
        let floats: Vec<u8> = [0.5f32, -2.0].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(all(back(written(&from, &[])).0.as_ref()), floats);
        let from = payload(&DType::I32, &[1], (1i32 << 23).to_le_bytes().to_vec(), Some(24));
        let mut out = std::io::Cursor::new(Vec::new());
        let error = write(&Task::new(), &from, &Options::default(), &mut out).unwrap_err();
        assert!(error.to_string().contains("does not fit the 24 bits"), "{error}");
        assert!((WRITER.check)(&payload(&DType::U32, &[1], vec![0; 4], None)).is_err());
        assert!((WRITER.check)(&payload(&DType::U8, &[1, 33], vec![0; 33], None)).is_err());
    }

    #[test]
    fn texts_and_rates_of_attributes() {
        let mut from = payload(&DType::U8, &[3, 1], vec![1, 2, 3], None);
        from.attributes.list.push(("title".to_owned(), "é".into()));
        from.attributes.list.push(("sr".to_owned(), crate::data::node::Value::Json(16_000.into())));
        let (array, told) = back(written(&from, &[]));
        assert_eq!(told, [("title".to_owned(), "é".to_owned())]);
        assert_eq!(array.facts().sound.unwrap().rate, 16_000);
        assert_eq!(all(array.as_ref()), [1, 2, 3]);
    }

    #[test]
    fn beyond_four_gib_sizes_have_64_bits() {
        let frames = (1u64 << 32) + 10;
        let from = payload(&DType::U8, &[3, 1], vec![1, 2, 3], None);
        let told = Told { frames, ..Told::of(&from).unwrap() };
        let header = header(&from, &told, Coding::Bytes { signed: false }, 8000, frames).unwrap();
        // A file with a hole.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        std::fs::write(&path, &header).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(header.len() as u64 + frames).unwrap();
        let document = crate::open(&Task::new(), &path, &Options::default()).unwrap();
        assert!(document.root.problem.is_none(), "{:?}", document.root.problem);
        let Some(Content::Array(array)) = &document.root.content else { panic!("no sound") };
        assert_eq!(array.shape(), [frames, 1]);
    }
}
