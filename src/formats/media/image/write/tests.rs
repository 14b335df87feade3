//! The writers of pictures: what has a place comes back as it was, what has none is said.

use super::testing::{array, back, pixels, there_and_back, written};
use super::*;
use crate::data::adapt::ImageArray;
use crate::data::content::{Array, Content, array as arrays};
use crate::data::dtype::DType;
use crate::data::format::{WriteTo, Writer};
use crate::data::region::Region;
use half::f16;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn options(set: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    options
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whole_samples_come_back(
        target in prop::sample::select(vec!["png", "pam", "ppm", "pgm", "bmp", "webp"]),
        height in 1u64..70,
        width in 1u64..70,
        channels in 1u64..5,
        wide: bool,
        seed: u8,
        flat: bool,
    ) {
        let (writer, channels): (&Writer, u64) = match target {
            "png" => (&png::WRITER, channels),
            "pam" => (&pnm::PAM, channels),
            "ppm" => (&pnm::PPM, 3),
            "pgm" => (&pnm::PGM, 1),
            "bmp" => (&bmp::WRITER, 3 + channels % 2),
            _ => (&webp::WRITER, 3 + channels % 2),
        };
        let is_wide = wide && writer.pictures.samples.contains(&Sample::U16);
        let dtype = if is_wide { DType::U16 } else { DType::U8 };
        there_and_back(writer, &[], "a", &array(&dtype, &[1, height, width, channels], seed, flat))?;
    }

    #[test]
    fn floats_come_back(
        dtype in prop::sample::select(vec![DType::F16, DType::F32, DType::U32]),
        height in 1u64..70,
        width in 1u64..70,
        channels in prop::sample::select(vec![1u64, 3, 4]),
        compression in prop::sample::select(vec!["none", "rle", "zips", "zip", "piz"]),
        seed: u8,
        flat: bool,
    ) {
        let set = [("compression", compression)];
        let payload = array(&dtype, &[1, height, width, channels], seed, flat);
        there_and_back(&exr::WRITER, &set, "a.exr", &payload)?;
        if dtype == DType::F32 && channels < 4 {
            there_and_back(&pnm::PFM, &[], "a.pfm", &payload)?;
        }
    }
}

/// Samples as numbers.
fn numbers(payload: &Payload, writer: &Writer, set: &[(&str, &str)], name: &str) -> (u32, Vec<f64>) {
    let (_, image) = back(name, written(writer, set, payload).unwrap());
    let read = pixels(image.as_ref(), 0);
    let size = read.sample.size();
    (read.channels, read.data.chunks_exact(size).filter_map(|bytes| read.sample.number(bytes)).collect())
}

#[test]
fn what_a_format_has_not_becomes_what_it_has() {
    let grey = array(&DType::U8, &[1, 1, 2, 1], 0, false);
    let own = numbers(&grey, &png::WRITER, &[], "a.png").1;
    let spread: Vec<f64> = own.iter().flat_map(|sample| [*sample; 3]).collect();
    for (writer, name) in [(&pnm::PPM, "a.ppm"), (&webp::WRITER, "a.webp"), (&bmp::WRITER, "a.bmp")] {
        assert_eq!(numbers(&grey, writer, &[], name), (3, spread.clone()), "{name}");
    }
    // Numbers stay numbers in floats, unless they are to become 0 to 1.
    assert_eq!(numbers(&grey, &exr::WRITER, &[], "a.exr"), (1, own.clone()));
    assert_eq!(numbers(&grey, &pnm::PFM, &[], "a.pfm"), (1, own.clone()));
    let unit: Vec<f64> = own.iter().map(|sample| f64::from((sample / 255.0) as f32)).collect();
    assert_eq!(numbers(&grey, &exr::WRITER, &[("scale", "unit")], "a.exr"), (1, unit));
    // Alpha goes only where the loss says so.
    let seen = array(&DType::U8, &[1, 1, 2, 4], 0, false);
    let all = numbers(&seen, &png::WRITER, &[], "a.png").1;
    let without = [&all[..3], &all[4..7]].concat();
    assert_eq!(numbers(&seen, &pnm::PPM, &[], "a.ppm"), (3, without));
    let losses = (pnm::PPM.losses)(&seen, &Options::default());
    assert!(losses.iter().any(|loss| loss.serious && loss.what.contains("alpha")), "{losses:?}");
    // The same for samples.
    for dtype in [DType::U32, DType::F32, DType::I8, DType::C64] {
        let other = array(&dtype, &[1, 2, 2, 1], 0, false);
        for writer in [&png::WRITER, &jpeg::WRITER, &webp::WRITER, &bmp::WRITER, &pnm::PGM, &avif::WRITER] {
            assert!((writer.losses)(&other, &Options::default()).iter().any(|loss| loss.serious), "{dtype}");
        }
    }
    assert!((pnm::PGM.check)(&seen).is_err());
    assert!((png::WRITER.check)(&array(&DType::U8, &[1, 2, 2, 7], 0, false)).is_err());
    assert!((exr::WRITER.check)(&array(&DType::C64, &[1, 2, 2, 1], 0, false)).is_err());
}

#[test]
fn narrow_samples_are_the_highest_bits_and_floats_are_cut() {
    assert_eq!(sixteen(Sample::U32, &[1, 2, 3, 4]), [4, 3]);
    assert_eq!(sixteen(Sample::I16, &[1, 0x80]), [0, 1]);
    assert_eq!(sixteen(Sample::I8, &[0]), [0x80, 0x80]);
    let floats: Vec<u8> = [-1.0, 0.5, 2.0].iter().flat_map(|n| f16::from_f64(*n).to_le_bytes()).collect();
    assert_eq!(eight_bits(Sample::F16, floats), [0, 128, 255]);
    assert_eq!(eight_bits(Sample::U16, vec![1, 2, 3, 4]), [2, 4]);
}

/// A picture that changes slowly.
fn smooth(width: u64, height: u64, channels: u64) -> Payload {
    let sample = |n: u64| {
        let (pixel, c) = (n / channels, n % channels);
        let level = (pixel % width + (pixel / width) * (c + 1) / 2) % 510;
        level.min(510 - level) as u8
    };
    let bytes: Vec<u8> = (0..width * height * channels).map(sample).collect();
    let source = crate::Source::memory("a", bytes);
    let plain = arrays::Plain::new(source, 0, DType::U8, vec![height, width, channels]).unwrap();
    let image = crate::data::adapt::ArrayImage::new(Arc::new(plain)).unwrap();
    Payload::plain(Data::Image(Arc::new(image)))
}

#[test]
fn jpeg_is_near() {
    for channels in [1, 3] {
        for (width, height) in [(1, 1), (8, 8), (17, 11), (100, 90)] {
            let from = smooth(width, height, channels);
            let (_, to) = back("a.jpg", written(&jpeg::WRITER, &[("quality", "95")], &from).unwrap());
            let (from, to) = (pixels(image(&from).unwrap().as_ref(), 0), pixels(to.as_ref(), 0));
            assert_eq!(from.channels, to.channels);
            let off = from.data.iter().zip(&to.data).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(off <= Some(8), "{width} × {height} × {channels}: {off:?}");
        }
    }
    for quality in ["0", "101", "x"] {
        assert!(written(&jpeg::WRITER, &[("quality", quality)], &smooth(2, 2, 3)).is_err());
    }
    // A band holds some blocks of rows.
    let from = smooth(3000, 700, 3);
    let (_, to) = back("a.jpg", written(&jpeg::WRITER, &[], &from).unwrap());
    assert_eq!((to.info().width, to.info().height), (3000, 700));
}

#[test]
fn avif_is_made_of_all_depths() {
    for (dtype, channels, depth) in [(DType::U8, 3, "10"), (DType::U8, 4, "8"), (DType::U16, 1, "10")] {
        let payload = array(&dtype, &[1, 9, 13, channels], 1, true);
        let bytes = written(&avif::WRITER, &[("depth", depth), ("speed", "10")], &payload).unwrap();
        assert_eq!(&bytes[4..12], b"ftypavif");
    }
}

/// Files of a folder.
#[derive(Default)]
struct Kept(BTreeMap<String, Vec<u8>>);

impl Files for Kept {
    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        assert!(self.0.insert(path.to_owned(), bytes.to_vec()).is_none());
        Ok(())
    }
}

#[test]
fn frames_become_numbered_files() {
    let payload = array(&DType::U16, &[11, 3, 5, 1], 1, false);
    for (writer, extension) in [(&png::WRITER, "png"), (&super::super::tiff::write::WRITER, "tif")] {
        let WriteTo::Either { is_folder, folder, .. } = writer.write else { panic!() };
        let options = options(&[("folder", "yes")]);
        assert!(is_folder(&options) && !is_folder(&Options::default()));
        let mut files = Kept::default();
        folder(&Task::new(), &payload, &options, &mut files).unwrap();
        assert_eq!(files.0.len(), 11);
        for (n, (name, bytes)) in files.0.into_iter().enumerate() {
            assert_eq!(name, format!("data_{n:04}.{extension}"));
            let (_, one) = back(&name, bytes);
            let from = pixels(image(&payload).unwrap().as_ref(), n as u64);
            assert_eq!(pixels(one.as_ref(), 0).data, from.data);
        }
        let losses = (writer.losses)(&payload, &options);
        assert!(losses.iter().all(|loss| !loss.serious), "{losses:?}");
    }
    let losses = (png::WRITER.losses)(&payload, &Options::default());
    assert!(losses.iter().any(|loss| loss.serious && loss.what.contains("one frame of 11")), "{losses:?}");
}

#[test]
fn pictures_that_are_to_be_turned_stay_so() {
    let path = format!("{}/fixtures/jpeg/exif_orientation_6.jpg", env!("CARGO_MANIFEST_DIR"));
    let document = crate::open(&Task::new(), std::path::Path::new(&path), &Options::default()).unwrap();
    let Some(Content::Image(image)) = &document.root.content else { panic!() };
    let payload = Payload::plain(Data::Image(image.clone()));
    for (writer, name) in
        [(&jpeg::WRITER, "a.jpg"), (&webp::WRITER, "a.webp"), (&super::super::tiff::write::WRITER, "a.tif")]
    {
        let (_, back) = back(name, written(writer, &[], &payload).unwrap());
        assert_eq!(back.info().orientation, Some(6), "{name}");
    }
    let losses = (bmp::WRITER.losses)(&payload, &Options::default());
    assert!(losses.iter().any(|loss| loss.serious && loss.what.contains("orientation")), "{losses:?}");
}

#[test]
fn a_picture_of_many_bands() {
    // Bands of 16 MB, from above and from below.
    let payload = array(&DType::U8, &[1, 6000, 3000, 1], 7, false);
    let from = ImageArray::new(image(&payload).unwrap().clone());
    let from = arrays::read(&from, &Task::new(), &Region::all(from.shape())).unwrap();
    for (writer, name) in [(&pnm::PGM, "a.pgm"), (&bmp::WRITER, "a.bmp")] {
        let (_, image) = back(name, written(writer, &[], &payload).unwrap());
        let pixels = pixels(image.as_ref(), 0);
        let same =
            pixels.data.chunks_exact(pixels.channels as usize).map(|pixel| pixel[0]).eq(from.iter().copied());
        assert!(same, "{name}");
    }
}
