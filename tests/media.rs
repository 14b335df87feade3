//! Pictures and sounds that were written, and what they were written from: the numbers of their samples.

use super::roundtrip::{both, bytes_of};
use gander::Task;
use gander::convert::{Item, Plan, Target};
use gander::data::adapt::{ArrayImage, ImageArray};
use gander::data::content::{Array, Content, Sample};
use gander::data::dtype::DType;
use gander::data::format::{ArrayPictures, CHANNELS, Loss, LossKind, Options};
use gander::data::region::{Region, Span};
use std::sync::Arc;

/// The numbers of pictures or of a sound: frames, pixels of a frame, channels.
struct Numbers {
    frames: usize,
    pixels: usize,
    channels: usize,
    dtype: DType,
    bytes: Vec<u8>,
}

impl Numbers {
    fn of(content: &Content, is_sound: bool) -> Option<Self> {
        let array: Arc<dyn Array> = match content {
            Content::Array(array) if !is_sound => {
                const ALL: [Sample; 13] = [
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
                ];
                let takes = ArrayPictures { samples: &ALL, frames: true };
                let image = ArrayImage::of(array.clone(), takes, CHANNELS.default).ok()?;
                return Numbers::of(&Content::Image(Arc::new(image)), false);
            }
            Content::Array(array) => array.clone(),
            Content::Image(image) => Arc::new(ImageArray::new(image.clone())),
            _ => return None,
        };
        let shape = array.shape();
        let (frames, pixels, channels) = match content {
            Content::Image(image) => {
                let info = image.info();
                (info.frames, info.width * info.height, u64::from(info.channels))
            }
            _ => (1, *shape.first()?, shape.get(1).copied().unwrap_or(1)),
        };
        let bytes = bytes_of(array.as_ref())?;
        let dtype = array.dtype().clone();
        let [frames, pixels, channels] = [frames, pixels, channels].map(|n| n as usize);
        Some(Numbers { frames, pixels, channels, dtype, bytes })
    }

    fn values(&self) -> Option<Vec<f64>> {
        let all = [
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
        ];
        let sample = all.into_iter().find(|sample| sample.dtype() == self.dtype)?;
        self.bytes.chunks_exact(sample.size()).map(|bytes| sample.number(bytes)).collect()
    }
}

/// Pictures and sounds: the bytes where types and channels are the same, else the numbers; a lossy format is near.
pub(crate) fn compare(items: &[Item], plan: &Plan, target: &Target, back: &[Item]) -> Result<usize, String> {
    let ([from], [to]) = (items, back) else { return Err("several things came back".to_owned()) };
    let is_harmless = |loss: &Loss| match loss.kind {
        LossKind::Type => loss.what.starts_with("one frame of") || loss.what.contains("which nothing says"),
        LossKind::Precision => target.id == "jpeg",
        LossKind::Metadata => true,
        _ => false,
    };
    let (from, to) = (&from.content, &to.content);
    if plan.losses.iter().any(|loss| loss.serious && !is_harmless(loss)) || matches!(from, Content::Table(_))
    {
        return Ok(0);
    }
    let is_sound = target.writer.sounds;
    let read = both(Numbers::of(from, is_sound), Numbers::of(to, is_sound), target.name)?;
    let Some((mut from, to)) = read else { return Ok(0) };
    if target.id != "tiff" {
        from.bytes.truncate(from.bytes.len() / from.frames);
        from.frames = 1;
    }
    if (from.frames, from.pixels) != (to.frames, to.pixels) {
        return Err(format!("{} × {} pixels, not {} × {}", to.frames, to.pixels, from.frames, from.pixels));
    }
    let is_exact = target.id != "jpeg";
    if is_exact && (from.channels, &from.dtype) == (to.channels, &to.dtype) {
        return if from.bytes == to.bytes { Ok(1) } else { Err("the samples differ".to_owned()) };
    }
    let (Some(mut values), Some(back)) = (from.values(), to.values()) else {
        return Err(format!("{} became {}", from.dtype, to.dtype));
    };
    if is_sound {
        // Unsigned bytes are about 128.
        let middle = match (&from.dtype, &to.dtype) {
            (DType::U8, DType::I16) => -128.0,
            (DType::I8, DType::U8) => 128.0,
            _ => 0.0,
        };
        values.iter_mut().for_each(|value| *value += middle);
    }
    let grey = |pixel: &[f64]| [&[pixel[0]; 3][..], &pixel[1..]].concat();
    let values: Vec<f64> = match (from.channels, to.channels) {
        (a, b) if a == b => values,
        (1, 3) | (2, 4) => values.chunks(from.channels).flat_map(grey).collect(),
        (a, b) => return Err(format!("{a} channels became {b}")),
    };
    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    if is_exact {
        let is_same = values.len() == back.len() && values.iter().zip(&back).all(same);
        return if is_same { Ok(1) } else { Err("the numbers differ".to_owned()) };
    }
    let off = values.iter().zip(&back).map(|(a, b)| (a - b).abs()).sum::<f64>() / values.len().max(1) as f64;
    if off < 16.0 { Ok(1) } else { Err(format!("samples are off by {off}")) }
}

/// The difference of channels of 32 bits has 33; the samples are those that `fixtures/wav/make.py` gave to the encoder.
#[test]
fn samples_of_32_bits_come_back_from_their_differences() {
    let lefts = (0..400u32).map(|n| n.wrapping_mul(2_654_435_761));
    has_frames("pcm_32.flac", lefts.map(|left| [left, !left]));
    let slope = |n: i64| ((n % 100 - 50).abs() - 25) * 200_000_000;
    let cut = |value: i64| value.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
    has_frames("clipped_32.flac", (0..400).map(|n| [cut(slope(n)), cut(slope(n + 10))]));
}

/// Whether a file of the fixtures has these frames of two channels.
fn has_frames(name: &str, frames: impl Iterator<Item = [u32; 2]>) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/flac").join(name);
    let task = Task::new();
    let document = gander::open(&task, &path, &Options::default()).unwrap();
    let Some(Content::Array(array)) = &document.root.content else { panic!("no sound") };
    assert_eq!(array.shape(), [400, 2]);
    let mut out = vec![0; 400 * 8];
    array.read(&task, &Region(vec![Span::all(400), Span::all(2)]), &mut out).unwrap();
    let wanted: Vec<u8> = frames.flatten().flat_map(u32::to_le_bytes).collect();
    assert!(out == wanted, "{name}");
}

/// Places of a coded sound are sought, several at once: whatever is read first, the samples are those that were coded.
#[test]
fn stretches_of_a_flac_are_its_samples() {
    const FRAMES: u64 = 600_000;
    let folder = tempfile::tempdir().unwrap();
    let (wav, flac) = (folder.path().join("noise.wav"), folder.path().join("noise.flac"));
    let mut state = 1u32;
    let mut samples = Vec::new();
    for n in 0..FRAMES as u32 * 2 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        samples.extend((((n / 300) as i16).wrapping_mul(97) / 4 + (state >> 26) as i16).to_le_bytes());
    }
    let format = [1u16.to_le_bytes(), 2u16.to_le_bytes()].concat();
    let rates = [48_000u32.to_le_bytes(), 192_000u32.to_le_bytes(), [4, 0, 16, 0]].concat();
    let len = samples.len() as u32;
    let head = [&b"RIFF"[..], &(len + 36).to_le_bytes(), b"WAVEfmt \x10\0\0\0", &format, &rates].concat();
    let bytes = [&head[..], b"data", &len.to_le_bytes(), &samples].concat();
    std::fs::write(&wav, bytes).unwrap();
    let mut convert = std::process::Command::new(env!("CARGO_BIN_EXE_gander"));
    assert!(convert.arg("convert").args([&wav, &flac]).output().unwrap().status.success());
    let task = Task::new();
    let read = |path: &std::path::Path, frames: Span| {
        let document = gander::open(&task, path, &Options::default()).unwrap();
        let Some(Content::Array(array)) = &document.root.content else { panic!("{path:?}") };
        assert_eq!(array.shape(), [FRAMES, 2]);
        let mut out = vec![0; frames.count as usize * 4];
        array.read(&task, &Region(vec![frames, Span::all(2)]), &mut out).unwrap();
        out
    };
    assert!(read(&wav, Span::all(FRAMES)) == samples);
    // All of it, from the middle, every 7th, and the end alone.
    let spans = [(0, FRAMES, 1), (250_001, 300_000, 1), (13, 80_000, 7), (FRAMES - 5, 5, 1)];
    for (start, count, step) in spans {
        let span = Span { start, count, step };
        assert!(read(&flac, span) == read(&wav, span), "{span:?}");
    }
    // One document, from the end to the beginning.
    let document = gander::open(&task, &flac, &Options::default()).unwrap();
    let Some(Content::Array(array)) = &document.root.content else { panic!() };
    for start in (0..FRAMES / 50_000).rev().map(|n| n * 50_000) {
        let mut out = vec![0; 200_000];
        array.read(&task, &Region(vec![Span::range(start, 50_000), Span::all(2)]), &mut out).unwrap();
        assert!(out == samples[start as usize * 4..][..200_000], "{start}");
    }
}
