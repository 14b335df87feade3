//! JPEG XL (ISO 18181): code streams and files of boxes, still and animated, by jxl-oxide.
//! <https://ds.jpeg.org/whitepapers/jpeg-xl-whitepaper.pdf>
//!
//! Colours are those that the file names; of pictures coded in XYB those that it suggests.

use super::exif;
use super::picture::{self, Codec, Header, blank};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::boxes;
use jxl_oxide::{AllocTracker, JxlImage, PixelFormat};
use parking_lot::Mutex;
use std::sync::Arc;

/// Bytes that a decoder may take.
const MEMORY: usize = 2 << 30;

/// Reads the headers.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut header = Header::default();
    let len = limits::check(source.len(task)?, limits::CHUNK, "the file")? as u64;
    if !opening.head.starts_with(b"\xff\x0a") {
        for one in boxes::list(task, source, 0..len)? {
            match &one.kind {
                b"Exif" => {
                    let bytes = one.read(task, source)?;
                    exif::add(&mut header, bytes.get(4..).unwrap_or_default());
                }
                b"xml " => {
                    let bytes = one.read(task, source)?;
                    header.attribute("XMP", String::from_utf8_lossy(&bytes).into_owned());
                }
                _ => {}
            }
        }
    }
    let bytes = source.read(task, 0..len)?;
    let image = read(&bytes)?;
    describe(&mut header, &image);
    if !image.is_loading_done() {
        let what = "JPEG XL: its last frame ends early; the file may be cut off";
        header.problem = Some(Error::malformed(what).at(len));
    }
    picture::node(source, header, Jxl { kept: Mutex::new(None) })
}

fn describe(header: &mut Header, image: &JxlImage) {
    let metadata = &image.image_header().metadata;
    let bits = metadata.bit_depth.bits_per_sample();
    let format = image.pixel_format();
    let info = &mut header.info;
    (info.width, info.height) = (image.width().into(), image.height().into());
    (info.bits, info.sample) = (bits, sample(image));
    (info.channels, info.alpha) = (channels(image), format.has_alpha());
    info.frames = image.num_loaded_keyframes().max(1) as u64;
    // The decoder turns pixels as the file says.
    info.orientation = None;
    if let Some(animation) = &metadata.animation {
        let tick = 1_000.0 * f64::from(animation.tps_denominator) / f64::from(animation.tps_numerator.max(1));
        let time = |n: usize| image.frame_header(n).map_or(0.0, |frame| f64::from(frame.duration) * tick);
        info.frame_times = (0..image.num_loaded_keyframes()).map(|n| time(n).round() as u32).collect();
    }
    let colours = match format {
        PixelFormat::Gray | PixelFormat::Graya => "grey",
        PixelFormat::Cmyk | PixelFormat::Cmyka => "CMYK",
        _ => "RGB",
    };
    header.detail("colour type", colours);
    header.detail("coded in XYB", if metadata.xyb_encoded { "yes" } else { "no" });
    header.detail("ICC profile", if image.original_icc().is_some() { "yes" } else { "no" });
    if let Some(animation) = &metadata.animation {
        let loops = animation.num_loops;
        header.detail("loops", if loops == 0 { "without end".to_owned() } else { loops.to_string() });
    }
}

fn channels(image: &JxlImage) -> u32 {
    image.pixel_format().channels() as u32
}

fn sample(image: &JxlImage) -> Sample {
    let depth = image.image_header().metadata.bit_depth;
    match depth {
        jxl_oxide::image::BitDepth::IntegerSample { bits_per_sample: ..=8 } => Sample::U8,
        jxl_oxide::image::BitDepth::IntegerSample { bits_per_sample: ..=16 } => Sample::U16,
        _ => Sample::F32,
    }
}

fn read(bytes: &[u8]) -> Result<JxlImage> {
    crate::bytes::guard::catch_decoder_panic("the picture", || {
        JxlImage::builder()
            .alloc_tracker(AllocTracker::with_limit(MEMORY))
            .read(bytes)
            .map_err(|error| Error::malformed(format!("JPEG XL: {error}")))
    })
}

/// The pixels of a frame.
fn frame(task: &Task, image: &JxlImage, number: u64) -> Result<Pixels> {
    picture::check_pixels(image.width().into(), image.height().into())?;
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let render = image.render_frame(number);
    task.check()?;
    let render = render.map_err(|error| Error::malformed(format!("JPEG XL: {error}")))?;
    let mut stream = render.stream();
    let (sample, alpha) = (sample(image), image.pixel_format().has_alpha());
    let mut pixels = blank(image.width().into(), image.height().into(), stream.channels(), sample, alpha)?;
    match sample {
        Sample::U8 => {
            stream.write_to_buffer(&mut pixels.data);
        }
        Sample::U16 => {
            let mut values = vec![0u16; pixels.data.len() / 2];
            stream.write_to_buffer(&mut values);
            let places = pixels.data.as_chunks_mut::<2>().0;
            places.iter_mut().zip(values).for_each(|(place, value)| *place = value.to_le_bytes());
        }
        _ => {
            let mut values = vec![0f32; pixels.data.len() / 4];
            stream.write_to_buffer(&mut values);
            let places = pixels.data.as_chunks_mut::<4>().0;
            places.iter_mut().zip(values).for_each(|(place, value)| *place = value.to_le_bytes());
        }
    }
    Ok(pixels)
}

/// The samples of a still picture in JPEG XL.
///
/// # Errors
/// `Malformed` for damage; `Limit` for too many pixels.
pub(super) fn samples(task: &Task, bytes: &[u8]) -> Result<Pixels> {
    frame(task, &read(bytes)?, 0)
}

struct Jxl {
    /// The file as it was parsed last.
    kept: Mutex<Option<Arc<JxlImage>>>,
}

impl Codec for Jxl {
    fn frame(&self, task: &Task, source: &Source, number: u64, _partial: bool) -> Result<Pixels> {
        let mut kept = self.kept.lock();
        let image = match kept.as_ref() {
            Some(image) => image.clone(),
            None => {
                let bytes = source.read(task, 0..source.len(task)?)?;
                kept.insert(Arc::new(read(&bytes)?)).clone()
            }
        };
        // A still picture is decoded once and kept as pixels.
        if image.num_loaded_keyframes() <= 1 {
            *kept = None;
        }
        drop(kept);
        frame(task, &image, number)
    }
}
