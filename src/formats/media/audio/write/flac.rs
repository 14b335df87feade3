//! Writes FLAC (RFC 9639): whole samples of 8 to 24 bits in frames of 4096, which the `flacenc` crate encodes; those of some
//! seconds side by side, so that memory stays bounded. The header, tags and checksums are this file's.
//! <https://www.rfc-editor.org/rfc/rfc9639>

use super::{RATE, Told};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::array::{Array, read};
use crate::data::content::{Kind, Sample};
use crate::data::dtype::DType;
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::region::{Region, Span};
use crate::data::scan::put;
use flacenc::bitsink::ByteSink;
use flacenc::component::{BitRepr, StreamInfo};
use flacenc::config::Encoder;
use flacenc::error::{Verified, Verify};
use flacenc::source::{Context, Fill, FrameBuf};
use rayon::prelude::*;
use std::io::SeekFrom;

const BITS: OptionSpec = OptionSpec::new(
    "bits",
    "Bits of a sample; auto: those that the sound has, 24 of floats and of longer whole numbers",
)
.one_of("auto", &["auto", "8", "16", "24"]);

/// The writer.
pub(in crate::formats::media::audio) const WRITER: Writer = Writer {
    metadata: Metadata::Own,
    sounds: true,
    options: &[RATE, BITS],
    check,
    ..Writer::new(&[Kind::Array], losses, write)
};

/// Frames (samples of all channels at one time) in a frame of FLAC.
const BLOCK: usize = 4096;
/// So many of them are encoded side by side.
const AT_ONCE: u64 = 64;
/// The highest rate: what 20 bits hold.
const RATE_MOST: u32 = (1 << 20) - 1;
/// The most channels.
const CHANNELS: u64 = 8;
/// The most samples of a channel: what 36 bits hold.
const FRAMES: u64 = (1 << 36) - 1;

fn check(payload: &Payload) -> Result<()> {
    let told = Told::of(payload)?;
    made(&told, &Options::default())?;
    if told.channels > CHANNELS {
        let what = format!("FLAC has at most {CHANNELS} channels, the sound has {}", told.channels);
        return Err(Error::unsupported(what));
    }
    match told.frames {
        0 => Err(Error::unsupported("FLAC: a sound without a sample")),
        n if n > FRAMES => Err(Error::unsupported(format!("FLAC: {n} samples; it has at most 2^36"))),
        _ => Ok(()),
    }
}

/// How elements become samples.
#[derive(Clone, Copy)]
struct Made {
    /// Bits of a sample in the file.
    bits: u32,
    /// Bits at the lower end that are left out.
    cut: u32,
}

fn made(told: &Told, options: &Options) -> Result<Made> {
    let asked: Option<u32> = options.choice(&BITS)?.parse().ok();
    match told.dtype {
        DType::F16 | DType::F32 | DType::F64 => return Ok(Made { bits: asked.unwrap_or(24), cut: 0 }),
        DType::U8 | DType::I8 | DType::I16 | DType::I32 => {}
        ref other => {
            let what = format!("FLAC has no samples of {other}: it has whole numbers of up to 24 bits");
            return Err(Error::unsupported(what));
        }
    }
    let full = told.full();
    let own = [8, 12, 16, 20].into_iter().find(|bits| full <= *bits).unwrap_or(24);
    let bits = asked.unwrap_or(own);
    if bits > own {
        return Err(Error::unsupported(format!("bits={bits}: the samples have {own}")));
    }
    Ok(Made { bits, cut: full.saturating_sub(bits) })
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(told) = Told::of(payload) else { return Vec::new() };
    let Ok(made) = made(&told, options) else { return Vec::new() };
    let mut losses = told.losses(payload, options);
    let (bits, dtype) = (made.bits, &told.dtype);
    if dtype.is_float() {
        let what =
            format!("{dtype} samples become {bits}-bit ones: -1 to 1 is scaled, the rest cut, NaN becomes 0");
        losses.push(loss(LossKind::Type, what));
    } else if made.cut > 0 {
        let what = format!("the lowest {} bits of the samples are not kept: {bits} are written", made.cut);
        losses.push(loss(LossKind::Precision, what).if_any());
    }
    losses.extend(told.quieter(bits));
    let read_as = if bits <= 16 { DType::I16 } else { DType::I32 };
    if !dtype.is_float() && *dtype != read_as {
        let what = match dtype {
            DType::U8 => format!("unsigned bytes become signed samples of {bits} bits: 128 becomes 0"),
            _ => format!("{dtype} samples become samples of {bits} bits"),
        };
        losses.push(note(LossKind::Type, what));
    }
    losses.extend(payload.kept_texts(|name, value| tag(name, value).is_some()));
    losses
}

/// A tag as it is written: upper case, as most programs spell names.
fn tag(name: &str, value: &str) -> Option<String> {
    let fits = |byte: u8| (0x20..=0x7d).contains(&byte) && byte != b'=' && !byte.is_ascii_uppercase();
    let is_name = !name.is_empty() && name.bytes().all(fits) && name != "metadata_block_picture";
    (is_name && value.len() < 1 << 16).then(|| format!("{}={value}", name.to_uppercase()))
}

/// The block of tags, which is the last one before the frames.
fn tags(payload: &Payload) -> Result<Vec<u8>> {
    let list = &payload.attributes.list;
    let tags: Vec<String> = list.iter().filter_map(|(name, value)| tag(name, &value.to_string())).collect();
    let mut body = Vec::new();
    let text = |text: &str, body: &mut Vec<u8>| {
        body.extend_from_slice(&(text.len() as u32).to_le_bytes());
        body.extend_from_slice(text.as_bytes());
    };
    text(concat!("gander ", env!("CARGO_PKG_VERSION")), &mut body);
    body.extend_from_slice(&(tags.len() as u32).to_le_bytes());
    tags.iter().for_each(|tag| text(tag, &mut body));
    // The type 4 with the bit of the last block; lengths of blocks have 24 bits.
    if body.len() >= 1 << 24 {
        return Err(Error::unsupported("FLAC: its attributes take more than 16 MiB"));
    }
    Ok([&[0x84], (body.len() as u32).to_be_bytes().get(1..).unwrap_or_default(), &body[..]].concat())
}

/// What is known of the frames once they are written.
struct Sizes {
    least: u32,
    most: u32,
}

/// The first block: sizes of frames, the rate, channels, bits, how many samples, and their MD5.
fn stream_info(told: &Told, made: Made, rate: u32, sizes: &Sizes, md5: [u8; 16]) -> Vec<u8> {
    let block = (BLOCK as u16).to_be_bytes();
    let of_24 = |n: u32| n.to_be_bytes().get(1..).unwrap_or_default().to_vec();
    let packed = u64::from(rate) << 44
        | (told.channels - 1) << 41
        | u64::from(made.bits - 1) << 36
        | told.frames & FRAMES;
    [
        &b"fLaC\0\0\0\x22"[..],
        &block,
        &block,
        &of_24(sizes.least),
        &of_24(sizes.most),
        &packed.to_be_bytes(),
        &md5,
    ]
    .concat()
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let told = Told::of(payload)?;
    let made = made(&told, options)?;
    let (rate, _) = told.rate(payload, options)?;
    if rate > RATE_MOST {
        return Err(Error::unsupported(format!("FLAC: {rate} frames a second; it has at most {RATE_MOST}")));
    }
    let array = payload.array()?.as_ref();
    let channels = told.channels as usize;
    let coder = Coder::new(rate, channels, made.bits)?;
    let mut sizes = Sizes { least: 0x00ff_ffff, most: 0 };
    let mut sum = Context::new(made.bits as usize, channels);
    put(sink, &stream_info(&told, made, rate, &sizes, [0; 16]))?;
    put(sink, &tags(payload)?)?;
    task.set_total(told.frames);
    let step = BLOCK as u64 * AT_ONCE;
    let part = |from: u64| -> Result<Option<Vec<i32>>> {
        if from >= told.frames {
            return Ok(None);
        }
        task.check()?;
        samples(task, array, &told, made, Span::range(from, step.min(told.frames - from))).map(Some)
    };
    let (mut at, mut next) = (0, part(0)?);
    while let Some(current) = next {
        let first = at / BLOCK as u64;
        at += step;
        let encode = || rayon::join(|| coder.frames(&current, first), || add_up(&mut sum, &current));
        let ((made, added), ahead) = rayon::join(encode, || part(at));
        added?;
        for frame in made? {
            sizes.least = sizes.least.min(frame.len() as u32);
            sizes.most = sizes.most.max(frame.len() as u32);
            put(sink, &frame)?;
        }
        task.advance((current.len() / channels.max(1)) as u64)?;
        next = ahead?;
    }
    sink.seek(SeekFrom::Start(0))?;
    put(sink, &stream_info(&told, made, rate, &sizes, sum.md5_digest()))?;
    sink.seek(SeekFrom::End(0))?;
    Ok(())
}

/// Some frames of an array as samples, interleaved.
fn samples(task: &Task, array: &dyn Array, told: &Told, made: Made, frames: Span) -> Result<Vec<i32>> {
    let mut spans = vec![frames];
    if !told.is_plain {
        spans.push(Span::all(told.channels));
    }
    let bytes = read(array, task, &Region(spans))?;
    let most = f64::from(1_u32 << (made.bits - 1));
    let float = |sample: Sample| -> Vec<i32> {
        let scaled = |bytes: &[u8]| {
            let value = sample.number(bytes).unwrap_or_default() * most;
            // NaN becomes zero.
            value.round().clamp(-most, most - 1.0) as i32
        };
        bytes.chunks_exact(sample.size()).map(scaled).collect()
    };
    let whole: Vec<i32> = match told.dtype {
        DType::U8 => bytes.iter().map(|byte| i32::from(*byte) - 128).collect(),
        DType::I8 => bytes.iter().map(|byte| i32::from(*byte as i8)).collect(),
        DType::I16 => bytes.as_chunks::<2>().0.iter().map(|b| i32::from(i16::from_le_bytes(*b))).collect(),
        DType::I32 => bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect(),
        DType::F16 => return Ok(float(Sample::F16)),
        DType::F32 => return Ok(float(Sample::F32)),
        DType::F64 => return Ok(float(Sample::F64)),
        _ => return Err(Error::bug("samples of a type that was refused")),
    };
    Ok(if made.cut == 0 { whole } else { whole.into_iter().map(|sample| sample >> made.cut).collect() })
}

/// Adds samples to the sum over all of them: as whole bytes, little-endian.
fn add_up(sum: &mut Context, samples: &[i32]) -> Result<()> {
    let size = sum.bytes_per_sample();
    let bytes: Vec<u8> =
        samples.iter().flat_map(|sample| sample.to_le_bytes().into_iter().take(size)).collect();
    sum.fill_le_bytes(&bytes, size).map_err(|error| Error::bug(format!("FLAC: {error}")))
}

/// Encodes frames.
struct Coder {
    config: Verified<Encoder>,
    /// Samples as they are: for noise, which prediction makes longer.
    verbatim: Verified<Encoder>,
    info: StreamInfo,
    channels: usize,
    /// The rate stands in the header of the file alone: frames have no code for it.
    is_unusual: bool,
}

impl Coder {
    fn new(rate: u32, channels: usize, bits: u32) -> Result<Self> {
        const USUAL: [u32; 10] =
            [8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000, 11_025];
        let failed = |what: String| Error::unsupported(format!("FLAC: {what}"));
        let is_unusual = !USUAL.contains(&rate);
        // Any rate that stands in a frame as a code will do: it is taken out again.
        let stands = if is_unusual { 48_000 } else { rate };
        let mut info = StreamInfo::new(stands as usize, channels, bits as usize)
            .map_err(|error| failed(error.to_string()))?;
        info.set_block_sizes(BLOCK, BLOCK).map_err(|error| failed(error.to_string()))?;
        let verified =
            |config: Encoder| config.into_verified().map_err(|(_, error)| failed(error.to_string()));
        let mut verbatim = Encoder::default();
        verbatim.subframe_coding.use_fixed = false;
        verbatim.subframe_coding.use_lpc = false;
        let (config, verbatim) = (verified(Encoder::default())?, verified(verbatim)?);
        Ok(Coder { config, verbatim, info, channels, is_unusual })
    }

    /// The frames of some samples, of which the first has a number.
    fn frames(&self, samples: &[i32], first: u64) -> Result<Vec<Vec<u8>>> {
        let block = BLOCK * self.channels;
        samples.par_chunks(block).enumerate().map(|(n, some)| self.frame(some, first as usize + n)).collect()
    }

    fn frame(&self, samples: &[i32], number: usize) -> Result<Vec<u8>> {
        let failed = |what: String| Error::unsupported(format!("FLAC: {what}"));
        let mut buffer =
            FrameBuf::with_size(self.channels, BLOCK).map_err(|error| failed(error.to_string()))?;
        buffer.fill_interleaved(samples).map_err(|error| failed(error.to_string()))?;
        let encode = |config: &Verified<Encoder>| {
            flacenc::encode_fixed_size_frame(config, &buffer, number, &self.info)
                .map_err(|error| failed(error.to_string()))
        };
        let mut frame = encode(&self.config)?;
        // The encoder's estimate of a prediction's length is wrong for noise of full scale: its frames can have megabytes.
        if frame.count_bits() > samples.len() * self.info.bits_per_sample() {
            let whole = encode(&self.verbatim)?;
            if whole.count_bits() < frame.count_bits() {
                frame = whole;
            }
        }
        let mut sink = ByteSink::with_capacity(frame.count_bits());
        frame.write(&mut sink).map_err(|error| failed(error.to_string()))?;
        let mut bytes = sink.into_inner();
        if self.is_unusual {
            without_rate(&mut bytes).ok_or_else(|| Error::bug("FLAC: a frame without a header"))?;
        }
        Ok(bytes)
    }
}

/// Takes the rate out of a frame (RFC 9639, section 9.1), and mends its checksums.
fn without_rate(frame: &mut [u8]) -> Option<()> {
    let code = frame.get_mut(2)?;
    let block = *code >> 4;
    *code &= 0xf0;
    // The number of the frame, coded as UTF-8 codes characters; then the number of samples where it has no code.
    let number = match frame.get(4)?.leading_ones() {
        0 => 1,
        ones => ones as usize,
    };
    let samples = match block {
        6 => 1,
        7 => 2,
        _ => 0,
    };
    let end = 4 + number + samples;
    let sum = crc8(frame.get(..end)?);
    *frame.get_mut(end)? = sum;
    let (body, last) = frame.split_last_chunk_mut::<2>()?;
    *last = crc16(body).to_be_bytes();
    Some(())
}

/// The checksum of headers: x⁸ + x² + x + 1.
fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum, _| if sum & 0x80 == 0 { sum << 1 } else { sum << 1 ^ 0x07 })
    })
}

/// The checksum of frames: x¹⁶ + x¹⁵ + x² + 1.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        let sum = sum ^ u16::from(*byte) << 8;
        (0..8).fold(sum, |sum, _| if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x8005 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::{Plain, Sound};
    use crate::data::content::{ArrayFacts, Content};
    use crate::data::format::Data;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn payload(dtype: &DType, shape: &[u64], bytes: Vec<u8>, rate: u32, full: u32) -> Payload {
        let plain = Plain::new(Source::memory("a", bytes), 0, dtype.clone(), shape.to_vec()).unwrap();
        let sound = Sound { rate, full, ..Sound::default() };
        let facts = ArrayFacts { sound: Some(sound), ..ArrayFacts::default() };
        Payload::plain(Data::Arrays(vec![("a".to_owned(), Arc::new(plain.with_facts(facts)))]))
    }

    fn back(payload: &Payload, set: &[(&str, &str)]) -> (Arc<dyn Array>, Vec<i32>, Vec<(String, String)>) {
        let mut options = Options::default();
        set.iter().for_each(|(name, value)| options.set(name, *value));
        (WRITER.check)(payload).unwrap();
        let mut out = std::io::Cursor::new(Vec::new());
        write(&Task::new(), payload, &options, &mut out).unwrap();
        let source = Source::memory("a.flac", out.into_inner());
        let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
        assert_eq!(document.format.id, "flac");
        assert!(document.root.problem.is_none(), "{:?}", document.root.problem);
        let told = document.root.attributes.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let Some(Content::Array(array)) = &document.root.content else { panic!("no sound") };
        let bytes = read(array.as_ref(), &Task::new(), &Region::all(array.shape())).unwrap();
        let values = match array.dtype() {
            DType::I16 => {
                bytes.as_chunks::<2>().0.iter().map(|b| i32::from(i16::from_le_bytes(*b))).collect()
            }
            _ => bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect(),
        };
        (array.clone(), values, told.collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn sounds_come_back(
            bits in prop::sample::select(vec![8u32, 12, 16, 20, 24]),
            channels in 1u64..9,
            frames in prop::sample::select(vec![1u64, 2, 31, 4095, 4096, 4097, 9000]),
            rate in prop::sample::select(vec![8_000u32, 11_025, 44_100, 12_345, 192_000, 400_000]),
            noise in 1u32..20,
            seed: u32,
        ) {
            let mut state = seed;
            let values: Vec<i32> = (0..frames * channels).map(|n| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let half = f64::from(1_u32 << (bits - 1));
                let wave = (n as f64 * 0.01).sin() * half * 0.4;
                wave as i32 + (state as i32 >> (32 - bits)) / noise as i32 / 2
            }).collect();
            let dtype = if bits <= 16 { DType::I16 } else { DType::I32 };
            let bytes: Vec<u8> =
                values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(dtype.size() as usize)).collect();
            let from = payload(&dtype, &[frames, channels], bytes, rate, bits);
            let (array, read, _) = back(&from, &[]);
            prop_assert_eq!(array.shape(), &[frames, channels][..]);
            let sound = array.facts().sound.unwrap();
            prop_assert_eq!((sound.rate, sound.full), (rate, bits));
            prop_assert!(read == values);
        }
    }

    /// Noise of full scale takes no more than its samples do, but for the heads of frames.
    #[test]
    fn noise_is_written_as_it_is() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state as i32 >> 8
        };
        let values: Vec<i32> = (0..5 * 4097).map(|_| next()).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let from = payload(&DType::I32, &[4097, 5], bytes, 8000, 24);
        let mut out = std::io::Cursor::new(Vec::new());
        write(&Task::new(), &from, &Options::default(), &mut out).unwrap();
        let length = out.into_inner().len();
        assert!(length < values.len() * 3 + 300, "{length}");
        assert!(back(&from, &[]).1 == values);
    }

    #[test]
    fn others_become_whole_samples() {
        let floats = [0.5f32, -1.0, 1.0, f32::NAN, 2.0, -0.25];
        let bytes: Vec<u8> = floats.iter().flat_map(|n| n.to_le_bytes()).collect();
        let from = payload(&DType::F32, &[6, 1], bytes, 8000, 32);
        let full = 1 << 23;
        assert_eq!(back(&from, &[]).1, [full / 2, -full, full - 1, 0, full - 1, -full / 4]);
        assert_eq!(back(&from, &[("bits", "16")]).1, [16_384, -32_768, 32_767, 0, 32_767, -8192]);
        let from = payload(&DType::U8, &[3, 1], vec![0, 128, 255], 8000, 8);
        assert_eq!(back(&from, &[]).1, [-128, 0, 127]);
        let long = [i32::MIN, 256, i32::MAX];
        let bytes: Vec<u8> = long.iter().flat_map(|n| n.to_le_bytes()).collect();
        let from = payload(&DType::I32, &[3, 1], bytes, 8000, 32);
        assert!(losses(&from, &Options::default()).iter().any(|loss| loss.serious));
        assert_eq!(back(&from, &[]).1, [-full, 1, full - 1]);
        assert!((WRITER.check)(&payload(&DType::I16, &[3, 9], vec![0; 54], 8000, 16)).is_err());
        assert!((WRITER.check)(&payload(&DType::I16, &[0, 1], vec![], 8000, 16)).is_err());
        assert!((WRITER.check)(&payload(&DType::U16, &[1, 1], vec![0; 2], 8000, 16)).is_err());
    }

    #[test]
    fn tags_are_kept() {
        let mut from = payload(&DType::I16, &[2, 1], vec![1, 2, 3, 4], 8000, 16);
        from.attributes.list.push(("title".to_owned(), "é = ü".into()));
        from.attributes.list.push(("Upper".to_owned(), "gone".into()));
        let (_, _, told) = back(&from, &[]);
        assert_eq!(told, [("title".to_owned(), "é = ü".to_owned())]);
    }
}
