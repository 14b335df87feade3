use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::content::{Content, Rect, Sample};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::formats::open_source;
use std::io::Read as _;
use std::path::PathBuf;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/jpeg")
}

fn opened(bytes: Vec<u8>) -> Document {
    open_source(&Task::new(), &Source::memory("x.jpg", bytes), &Options::default()).unwrap()
}

fn pixels(document: &Document) -> Result<Pixels> {
    let Some(Content::Image(image)) = &document.root.content else { panic!("{:?}", document.root.problem) };
    image.read(&Task::new(), 0, 0, Rect::all(image.info().width, image.info().height))
}

fn detail(document: &Document, name: &str) -> Option<String> {
    let Some(Content::Image(image)) = &document.root.content else { panic!() };
    image.info().details.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
}

/// Each mosaic has a component's blocks in a scan of its own, or with others, and the reference's picture of it
/// is in `mosaics.raw`.
#[test]
fn scans_and_sampling_are_those_of_the_reference() {
    let packed = std::fs::read(fixtures().join("mosaics.raw")).unwrap();
    let mut expected = Vec::new();
    flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut expected).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".jpg") && (name.starts_with("mosaic_") || name.starts_with("adobe_")))
        .collect();
    names.sort();
    assert!(names.len() > 20);
    let mut rest = expected.as_slice();
    for name in names {
        let document = opened(std::fs::read(fixtures().join(&name)).unwrap());
        let pixels = pixels(&document).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((pixels.width, pixels.height, pixels.channels), (52, 43, 3), "{name}");
        let (want, left) = rest.split_at(pixels.data.len());
        rest = left;
        let worst = pixels.data.iter().zip(want).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(worst <= 6, "{name}: off by {worst}");
        assert_eq!(
            detail(&document, "scans").is_some(),
            !name.contains("_one") && name.starts_with('m'),
            "{name}"
        );
    }
    assert!(rest.is_empty());
}

/// Sequential and progressive frames of 12 bits hold the same coefficients.
#[test]
fn frames_of_12_bits_are_those_of_the_reference() {
    for (name, channels) in [("grey", 1), ("rgb", 3)] {
        let read = |kind: &str| {
            let bytes = std::fs::read(fixtures().join(format!("{kind}_12_{name}.jpg"))).unwrap();
            pixels(&opened(bytes)).unwrap()
        };
        let seen = read("progressive");
        assert_eq!((seen.width, seen.height, seen.channels, seen.sample), (45, 35, channels, Sample::U16));
        assert!(seen == read("sequential"), "{name}");
        let packed = std::fs::read(fixtures().join(format!("samples_12_{name}.raw"))).unwrap();
        let mut wanted = Vec::new();
        flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut wanted).unwrap();
        assert_eq!(seen.data.len(), wanted.len());
        let pairs = seen.data.as_chunks::<2>().0.iter().zip(wanted.as_chunks::<2>().0);
        let worst =
            pairs.map(|(a, b)| u16::from_le_bytes(*a).abs_diff(u16::from_le_bytes(*b))).max().unwrap();
        assert!(worst <= if channels == 1 { 2 } else { 24 }, "{name}: off by {worst} of 4095");
    }
}

#[test]
fn what_components_are_is_told_as_libjpeg_does() {
    let colours = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(fixtures().join(name)).unwrap();
        edit(&mut bytes);
        detail(&opened(bytes), "colour type").unwrap()
    };
    for (transform, word) in [(0, "RGB"), (1, "YCbCr"), (2, "YCbCr"), (9, "YCbCr")] {
        let set = |bytes: &mut Vec<u8>| {
            let at = memchr::memmem::find(bytes, b"Adobe").unwrap();
            bytes[at + 11] = transform;
        };
        assert_eq!(colours("adobe_transform_0.jpg", &set), word, "{transform}");
    }
    // JFIF says YCbCr, whatever stands in Adobe's segment behind it.
    let both = |bytes: &mut Vec<u8>| {
        let adobe = std::fs::read(fixtures().join("adobe_transform_0.jpg")).unwrap();
        let at = memchr::memmem::find(&adobe, b"Adobe").unwrap() - 4;
        let segment = adobe[at..at + 16].to_vec();
        bytes.splice(20..20, segment);
    };
    assert_eq!(colours("rgb_444.jpg", &both), "YCbCr");
    let named = |bytes: &mut Vec<u8>| {
        let frame = memchr::memmem::find(bytes, &[0xff, 0xc0]).unwrap();
        (0..3).for_each(|n| bytes[frame + 10 + 3 * n] = b"RGB"[n]);
        let scan = memchr::memmem::find(bytes, &[0xff, 0xda]).unwrap();
        (0..3).for_each(|n| bytes[scan + 5 + 2 * n] = b"RGB"[n]);
    };
    assert_eq!(colours("mosaic_444_one.jpg", &named), "RGB");
    assert_eq!(colours("mosaic_444_one.jpg", &|_| {}), "YCbCr");
    assert_eq!(colours("mosaic_ycck_one.jpg", &|_| {}), "YCCK");
    assert_eq!(colours("cmyk.jpg", &|_| {}), "CMYK");
}

#[test]
fn other_processes_are_refused_by_their_names() {
    for (marker, word) in [
        (0xc5, "hierarchical JPEG"),
        (0xc9, "arithmetic-coded JPEG"),
        (0xca, "arithmetic-coded JPEG"),
        (0xcb, "lossless arithmetic-coded JPEG"),
    ] {
        let mut bytes = std::fs::read(fixtures().join("rgb_444.jpg")).unwrap();
        let frame = memchr::memmem::find(&bytes, &[0xff, 0xc0]).unwrap();
        bytes[frame + 1] = marker;
        let document = opened(bytes.clone());
        let problem = document.root.problem.clone().unwrap();
        assert!(problem.kind() == ErrorKind::Unsupported && problem.message().contains(word), "{problem}");
        assert_eq!(pixels(&document).unwrap_err().kind(), ErrorKind::Unsupported, "{word}");
        // The same within another file.
        let error = components(&Task::new(), &bytes, false).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.message().contains(word), "{error}");
    }
}

#[test]
fn scans_that_are_cut_off_say_so() {
    let bytes = std::fs::read(fixtures().join("mosaic_420_apart.jpg")).unwrap();
    let document = opened(bytes[..bytes.len() - 40].to_vec());
    assert!(document.root.problem.is_some());
    let scan = memchr::memmem::rfind(&bytes, &[0xff, 0xda]).unwrap();
    let missing = [&bytes[..scan], &[0xff, 0xd9]].concat();
    assert_eq!(pixels(&opened(missing)).unwrap_err().kind(), ErrorKind::Malformed);
}

/// Of 8 bits a crate decodes progressive frames, too; of more only this one does.
#[test]
fn progressive_frames_are_those_of_another_decoder() {
    let bytes = std::fs::read(fixtures().join("progressive.jpg")).unwrap();
    let task = Task::new();
    let (ours, other) = (wide::decode(&task, &bytes, false).unwrap(), usual(&task, &bytes, false).unwrap());
    assert_eq!((ours.width, ours.height, ours.channels), (other.width, other.height, other.channels));
    let differences: Vec<u8> = ours.data.iter().zip(&other.data).map(|(a, b)| a.abs_diff(*b)).collect();
    let mean = differences.iter().map(|d| f64::from(*d)).sum::<f64>() / differences.len() as f64;
    // Both fill in samples of colour between, each in its own way.
    assert!(mean < 0.5 && differences.iter().all(|d| *d < 24), "{mean}, {:?}", differences.iter().max());
    for len in (0..bytes.len()).step_by(7) {
        let cut = wide::decode(&task, &bytes[..len], true);
        assert!(
            cut.is_ok_and(|pixels| pixels.data.len() == ours.data.len()) || len < bytes.len() / 2,
            "{len}"
        );
    }
}
