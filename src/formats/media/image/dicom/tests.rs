use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::content::{Image, Pixels, Rect, Sample, array};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn image(document: &Document) -> Arc<dyn Image> {
    let Some(Content::Image(image)) = &document.root.content else { panic!("{:?}", document.root.problem) };
    image.clone()
}

fn pixels(name: &str) -> Pixels {
    let image = image(&opened(&format!("dicom/{name}.dcm")));
    let pixels = image.read(&Task::new(), 0, 0, Rect::all(1000, 1000)).unwrap();
    assert_eq!((pixels.channels, pixels.sample), (image.info().channels, image.info().sample), "{name}");
    pixels
}

fn attribute(node: &Node, name: &str) -> String {
    let found = node.attributes.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_string()).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn every_way_of_writing_elements_gives_the_same_slice() {
    let plain = pixels("explicit");
    assert_eq!((plain.width, plain.height, plain.sample), (24, 16, Sample::I16));
    assert_eq!(plain.sample(0, 0, 0), Some(-1000.0));
    assert_eq!(plain.sample(23, 15, 0), Some(3095.0));
    for name in [
        "implicit",
        "big_endian",
        "deflated",
        "undefined_lengths",
        "no_header",
        "no_header_big_endian",
        "rle",
    ] {
        assert_eq!(pixels(name), plain, "{name}");
        let root = opened(&format!("dicom/{name}.dcm")).root;
        assert_eq!(attribute(&root, "(0010,0010) PatientName"), "Goose^Grey", "{name}");
        assert!(root.problem.is_none(), "{name}: {:?}", root.problem);
    }
}

#[test]
fn bytes_in_words_of_big_endian_are_swapped_across_frames() {
    let image = image(&opened("dicom/words_big_endian.dcm"));
    let read = |frame| image.read(&Task::new(), frame, 0, Rect::all(9, 9)).unwrap();
    let (first, second) = (read(0), read(1));
    // The second frame is the first with its rows from below.
    let rows: Vec<&[u8]> = first.data.chunks(9).rev().collect();
    assert_eq!((first.width, first.height, first.channels), (3, 3, 3));
    assert_eq!(second.data, rows.concat());
    assert!(first.data != second.data);
}

#[test]
fn codecs_without_loss_give_the_same_samples() {
    let plain = pixels("stored_12");
    assert_eq!(plain.sample, Sample::U16);
    for name in ["jpeg_lossless", "jpeg_ls", "jpeg_2000", "jpeg_xl"] {
        assert_eq!(pixels(name), plain, "{name}");
    }
    assert_eq!(pixels("jpeg_ls_rgb"), pixels("rgb"));
    assert_eq!(pixels("rgb_planar"), pixels("rgb"));
    assert_eq!(pixels("rle_rgb"), pixels("rgb"));
}

#[test]
fn codecs_with_loss_are_near() {
    let near = |name: &str, to: &Pixels, most: f64| {
        let found = pixels(name);
        for y in 0..to.height {
            for x in 0..to.width {
                let difference = found.sample(x, y, 0).unwrap() - to.sample(x, y, 0).unwrap();
                assert!(difference.abs() <= most, "{name}: {difference} at {x}, {y}");
            }
        }
    };
    near("jpeg_extended_12", &pixels("stored_12"), 160.0);
    let mut grey = pixels("white_is_zero");
    grey.data.iter_mut().for_each(|value| *value = 255 - *value);
    near("jpeg_ls_near", &grey, 3.0);
    near("jpeg_baseline", &grey, 12.0);
}

#[test]
fn what_pixels_mean_stands_beside_them() {
    let image = image(&opened("dicom/explicit.dcm"));
    let info = image.info();
    let scaling = info.scaling.clone().unwrap();
    assert_eq!((scaling.scale, scaling.offset), (2.0, -24.0));
    // Centre 40 and width 400 of rescaled values.
    assert_eq!(info.window, Some((-68.0, 131.5)));
    let steps = info.sides.clone().map(|side| side.regular);
    assert_eq!(steps, [Some((0.0, 0.5)), Some((0.0, 0.25))]);
}

#[test]
fn colours_and_frames() {
    let palette = opened("dicom/palette.dcm");
    let seen = pixels("palette");
    assert_eq!((seen.channels, seen.sample), (3, Sample::U8));
    let stored = image(&palette).stored(&Task::new(), 0, Rect::all(24, 16)).unwrap().unwrap();
    assert!(stored.data.iter().all(|index| *index < 16));
    let frames = image(&opened("dicom/frames.dcm"));
    assert_eq!((frames.info().frames, frames.info().frame_times.first()), (5, Some(&40)));
    let at = |n: u64| frames.read(&Task::new(), n, 0, Rect::all(24, 16)).unwrap();
    assert_eq!(at(1).sample(3, 0, 0), at(0).sample(0, 0, 0));
    for name in ["frames_jpeg_ls", "frames_without_table"] {
        let frames = image(&opened(&format!("dicom/{name}.dcm")));
        let at = |n: u64| frames.read(&Task::new(), n, 0, Rect::all(24, 16)).unwrap();
        assert_eq!(at(2).sample(10, 3, 0), at(0).sample(0, 3, 0), "{name}");
    }
    let float = pixels("float");
    assert_eq!((float.sample, float.sample(0, 0, 0)), (Sample::F32, Some(-1.0)));
}

#[test]
fn sequences_and_overlays_are_children() {
    let task = Task::new();
    let root = Arc::new(opened("dicom/explicit.dcm").root.as_ref().clone());
    let item = root.find(&task, "(0008,1032) ProcedureCodeSequence/1").unwrap().unwrap();
    assert_eq!(attribute(&item, "(0008,0104) CodeMeaning"), "a look");
    let path = "(0008,1032) ProcedureCodeSequence/1/(0040,0440) ProtocolContextSequence/1";
    assert_eq!(attribute(&root.find(&task, path).unwrap().unwrap(), "(0008,0100) CodeValue"), "T-2");
    let children = opened("dicom/overlay.dcm").root.child_page(&task, 0..10).unwrap();
    let overlay = children.iter().find(|child| child.name == "overlay 1").unwrap();
    let Some(Content::Image(bits)) = &overlay.content else { panic!() };
    let bits = bits.read(&task, 0, 0, Rect::all(24, 16)).unwrap();
    assert!(bits.data.contains(&1) && bits.data.iter().all(|bit| *bit < 2));
    let named = opened("dicom/no_pixels.dcm").root;
    assert_eq!(attribute(&named, "(0010,0010) PatientName"), "Γκρίζα^Χήνα");
}

#[test]
fn slices_of_a_folder_are_a_volume_in_order() {
    let document = opened("dicom_series/axial");
    assert_eq!(document.format.id, "dicom_series");
    let Some(Content::Array(volume)) = &document.root.content else { panic!() };
    assert_eq!(volume.shape(), [4, 16, 24]);
    let facts = volume.facts();
    let axes: Vec<_> =
        facts.axes.iter().map(|axis| (axis.name.as_str(), axis.regular, axis.heading)).collect();
    assert_eq!(axes[0], ("z", Some((-2.5, 2.5)), Some(Heading::Superior)));
    assert_eq!(axes[1], ("y", Some((20.0, 0.5)), Some(Heading::Posterior)));
    assert_eq!(axes[2], ("x", Some((10.0, 0.25)), Some(Heading::Left)));
    assert_eq!(facts.scaling.map(|scaling| scaling.scale), Some(2.0));
    // The first of two windows, of values after the rescale.
    assert_eq!(facts.window, Some((-160.0, 239.0)));
    // Each slice is higher by ten times its place.
    let column = Region::parse("[:, 0, 0]", volume.shape()).unwrap().0;
    let values = array::read(volume.as_ref(), &Task::new(), &column).unwrap();
    let values: Vec<i16> = values.as_chunks::<2>().0.iter().map(|b| i16::from_le_bytes(*b)).collect();
    assert_eq!(values, [-1025, -1000, -975, -950]);
    assert_eq!(document.root.child_count(), Some(4));
}

#[test]
fn damage_is_said() {
    let problem = |name: &str| {
        let path = format!("{}/fixtures/dicom/malformed/{name}.dcm", env!("CARGO_MANIFEST_DIR"));
        match crate::open(&Task::new(), Path::new(&path), &Options::default()) {
            Ok(document) => document.root.problem.clone().unwrap_or_else(|| panic!("{name}")),
            Err(error) => error,
        }
    };
    assert!(problem("cut_in_pixels").message().contains("(7FE0,0010) PixelData says 768 bytes"));
    assert!(problem("rows_zero").message().contains("pixels of 0 rows"));
    assert_eq!(problem("bits_77").kind(), ErrorKind::Unsupported);
    assert_eq!(problem("deep_sequences").kind(), ErrorKind::Limit);
    assert!(problem("cut_in_header").message().contains("cut off"));
    let unknown = opened("dicom/unknown_syntax.dcm").root;
    assert!(unknown.problem.as_ref().unwrap().message().contains("1.2.840.10008.1.2.4.999"));
}
