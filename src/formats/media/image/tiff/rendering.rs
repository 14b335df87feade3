//! What is seen of stored samples: palettes, white as zero, inks, YCbCr and CIE L*a*b* as RGB.

use super::super::jpeg;
use super::super::picture::blank;
use super::page::{Compression, Page};
use crate::bytes::error::Result;
use crate::data::content::{Pixels, Sample};

/// Channels, samples and alpha of what is shown of a page.
pub(super) fn seen_as(page: &Page) -> (u32, Sample, bool) {
    let channels = page.channels.min(u64::from(u16::MAX)) as u32;
    match shown(page) {
        Rendering::Palette => (3, Sample::U8, false),
        Rendering::Inks => (3, page.sample, false),
        Rendering::Lab => (3, Sample::U8, false),
        _ => (channels, page.sample, page.alpha()),
    }
}

/// What is made of stored samples to be seen.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rendering {
    AsStored,
    /// Indices into a palette.
    Palette,
    /// White is zero, or fewer than 8 bits.
    Scaled,
    /// Cyan, magenta, yellow and black.
    Inks,
    /// YCbCr outside JPEG.
    Chroma,
    /// CIE L*a*b*.
    Lab,
}

/// Whether a codec gives RGB whatever colours it stores.
fn decodes_chroma(compression: Compression) -> bool {
    matches!(
        compression,
        Compression::Jpeg
            | Compression::OldJpeg
            | Compression::Webp
            | Compression::Jpeg2000
            | Compression::JpegXl
    )
}

pub(super) fn shown(page: &Page) -> Rendering {
    let whole = matches!(page.sample, Sample::U8 | Sample::U16);
    match page.photometric {
        3 if page.palette.is_some() && page.channels == 1 && whole => Rendering::Palette,
        0 if whole => Rendering::Scaled,
        5 if whole && page.channels >= 4 => Rendering::Inks,
        8 | 9 if whole && page.channels >= 3 => Rendering::Lab,
        6 if !decodes_chroma(page.compression) && page.sample == Sample::U8 && page.channels == 3 => {
            Rendering::Chroma
        }
        _ if page.sample == Sample::U8 && page.bits < 8 => Rendering::Scaled,
        _ => Rendering::AsStored,
    }
}

/// What is seen of stored samples.
pub(super) fn to_be_seen(page: &Page, mut pixels: Pixels) -> Result<Pixels> {
    let most = (1u32 << u32::from(page.bits.min(16))) - 1;
    match shown(page) {
        Rendering::AsStored => {}
        Rendering::Palette => {
            let palette = page.palette.as_deref().unwrap_or_default();
            let colours = palette.len() / 3;
            let mut seen = blank(pixels.width, pixels.height, 3, Sample::U8, false)?;
            let indices = pixels.data.chunks_exact(pixels.sample.size());
            for (rgb, index) in seen.data.as_chunks_mut::<3>().0.iter_mut().zip(indices) {
                let index = index.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
                *rgb =
                    std::array::from_fn(|c| palette.get(c * colours + index).map_or(0, |v| (v >> 8) as u8));
            }
            return Ok(seen);
        }
        Rendering::Scaled => {
            let turned = page.photometric == 0;
            let alpha = if page.alpha() { page.channels as usize - 1 } else { usize::MAX };
            let turn = |n: usize, value: u32| match turned && n % page.channels as usize != alpha {
                true => most.saturating_sub(value),
                false => value,
            };
            match page.sample {
                Sample::U8 => pixels.data.iter_mut().enumerate().for_each(|(n, b)| {
                    *b = (turn(n, u32::from(*b).min(most)) * 255 / most.max(1)) as u8;
                }),
                _ => pixels.data.as_chunks_mut::<2>().0.iter_mut().enumerate().for_each(|(n, b)| {
                    *b = (turn(n, u32::from(u16::from_le_bytes(*b))) as u16).to_le_bytes();
                }),
            }
        }
        Rendering::Inks => return inks(page, &pixels, most),
        Rendering::Lab => return lab(page, &pixels),
        Rendering::Chroma => {
            let samples = pixels.data.as_chunks_mut::<3>().0.iter_mut();
            match page.chroma {
                Some(chroma) => samples.for_each(|pixel| chroma.to_rgb(pixel)),
                None => samples.for_each(jpeg::to_rgb),
            }
        }
    }
    Ok(pixels)
}

/// CIE L*a*b* of D50 to sRGB, as the specification's section 23 has the samples.
fn lab(page: &Page, pixels: &Pixels) -> Result<Pixels> {
    let size = page.sample.size();
    let mut seen = blank(pixels.width, pixels.height, 3, Sample::U8, false)?;
    let unit = if size == 1 { 1.0 } else { 256.0 };
    for (rgb, pixel) in seen
        .data
        .as_chunks_mut::<3>()
        .0
        .iter_mut()
        .zip(pixels.data.chunks_exact(size * page.channels as usize))
    {
        let at = |n: usize| {
            page.sample.number(pixel.get(n * size..(n + 1) * size).unwrap_or_default()).unwrap_or(0.0) / unit
        };
        // Colours are signed, or lie about 128.
        let colour = |value: f64| match page.photometric {
            8 if value >= 128.0 => value - 256.0,
            8 => value,
            _ => value - 128.0,
        };
        let light = (at(0) * 100.0 / 255.0 + 16.0) / 116.0;
        let cube = |t: f64| {
            if t > 6.0 / 29.0 { t * t * t } else { 3.0 * (6.0f64 / 29.0).powi(2) * (t - 4.0 / 29.0) }
        };
        let x = 0.9642 * cube(light + colour(at(1)) / 500.0);
        let (y, z) = (cube(light), 0.8249 * cube(light - colour(at(2)) / 200.0));
        // From D50 to the primaries of sRGB, by Bradford's adaptation.
        let linear = [
            3.1338561 * x - 1.6168667 * y - 0.4906146 * z,
            -0.9787684 * x + 1.9161415 * y + 0.0334540 * z,
            0.0719453 * x - 0.2289914 * y + 1.4052427 * z,
        ];
        *rgb = linear.map(|c: f64| {
            let c = if c <= 0.0031308 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
            (c * 255.0).round().clamp(0.0, 255.0) as u8
        });
    }
    Ok(seen)
}

/// CMYK to RGB: black takes its share of what each ink leaves.
fn inks(page: &Page, pixels: &Pixels, most: u32) -> Result<Pixels> {
    let size = page.sample.size();
    let mut seen = blank(pixels.width, pixels.height, 3, page.sample, false)?;
    let out = seen.data.chunks_exact_mut(3 * size);
    for (rgb, ink) in out.zip(pixels.data.chunks_exact(size * pixels.channels as usize)) {
        let at = |n: usize| {
            let bytes = ink.get(n * size..(n + 1) * size).unwrap_or_default();
            bytes.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b))
        };
        let most = u64::from(most.max(1));
        let left = most.saturating_sub(at(3));
        for (n, sample) in rgb.chunks_exact_mut(size).enumerate() {
            let value = (most.saturating_sub(at(n)) * left + most / 2) / most;
            sample.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
        }
    }
    Ok(seen)
}
