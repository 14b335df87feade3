use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::content::Array;
use crate::data::content::array::read;
use crate::data::format::Options;
use crate::data::open::Document;
use crate::data::region::Region;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/");

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default())
}

fn array(document: &Document) -> Arc<dyn Array> {
    let Some(Content::Array(array)) = &document.root.content else { panic!("{:?}", document.root.problem) };
    array.clone()
}

/// The elements of a slice, as texts.
fn texts(array: &dyn Array, slice: &str) -> Vec<String> {
    let region = Region::parse(slice, array.shape()).unwrap().0;
    let bytes = read(array, &Task::new(), &region).unwrap();
    let size = array.dtype().size() as usize;
    bytes.chunks(size).map(|element| crate::data::cell::element(array.dtype(), element)).collect()
}

fn attribute(document: &Document, name: &str) -> String {
    let found = document.root.shown_attributes().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("{name}")).1.to_string()
}

#[test]
fn indices_are_those_of_nibabel() {
    for kind in ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8"] {
        let file = opened(&format!("nifti/{kind}.nii")).unwrap();
        let array = array(&file);
        assert_eq!(array.shape(), [3, 4, 2], "{kind}");
        assert_eq!(texts(&*array, "1, 2:, :"), ["12", "13", "14", "15"], "{kind}");
    }
    assert_eq!(texts(&*array(&opened("nifti/f8.nii").unwrap()), "2, 3, 1"), ["23.0"]);
    assert_eq!(array(&opened("nifti/c8.nii").unwrap()).dtype(), &DType::C64);
    let big = opened("nifti/big_endian.nii").unwrap();
    assert_eq!(texts(&*array(&big), "1, 2, :"), ["12.0", "13.0"]);
    assert_eq!(
        array(&opened("nifti/colours.nii").unwrap()).dtype().to_string(),
        "struct<R: uint8, G: uint8, B: uint8>"
    );
}

#[test]
fn scale_axes_and_place() {
    for name in ["nifti/scaled.nii", "nifti/packed.nii.gz"] {
        let file = opened(name).unwrap();
        let array = array(&file);
        let facts = array.facts();
        let scaling = facts.scaling.unwrap();
        assert_eq!((scaling.scale, scaling.offset), (0.5, -10.0));
        let [x, _, z, t] = facts.axes.as_slice() else { panic!("{:?}", facts.axes) };
        assert_eq!((x.name.as_str(), x.regular, x.unit.as_deref()), ("x", Some((-10.0, 2.0)), Some("mm")));
        assert_eq!((z.regular, t.regular), (Some((-30.0, 3.0)), Some((0.0, 2.5))));
        assert_eq!((t.name.as_str(), t.unit.as_deref()), ("t", Some("s")));
        assert_eq!(attribute(&file, "descrip"), "four frames of time");
    }
    let slant = array(&opened("nifti/version_2.nii").unwrap()).facts();
    assert_eq!(slant.axes.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["i", "j", "k"]);
    let qform = opened("nifti/qform.nii").unwrap();
    assert!(attribute(&qform, "affine").starts_with("[[-1.99937589976"), "{}", attribute(&qform, "affine"));
    assert_eq!(attribute(&qform, "affine from"), "qform");
}

/// The volume of u1.nii as if its voxels lay so in space.
fn placed(codes: &str) -> Arc<dyn Array> {
    let mut bytes = std::fs::read(format!("{FIXTURES}nifti/u1.nii")).unwrap();
    let mut rows = [[0f32; 4]; 3];
    for (index, code) in codes.chars().enumerate() {
        let way = "RASLPI".find(code).unwrap();
        rows[way % 3][index] = if way < 3 { 2.0 } else { -2.0 };
    }
    bytes[252..256].copy_from_slice(&[0, 0, 1, 0]);
    let srow: Vec<u8> = rows.iter().flatten().flat_map(|step| step.to_le_bytes()).collect();
    bytes[280..328].copy_from_slice(&srow);
    let source = crate::bytes::source::Source::memory("a.nii", bytes);
    array(&crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap())
}

#[test]
fn planes_are_seen_as_in_the_canonical_orientation() {
    use crate::data::axes::AxisCoordinates;
    use crate::data::content::{Image, Rect};
    use crate::data::plane::color::{ColorMap, HeatMapSpec, RenderSpec};
    use crate::data::plane::{Mapping, PaintedSlice};
    let mut seen = 0;
    for codes in ["RAS", "LPS", "LAS", "PIR", "SRA", "ILP", "ASL", "RIP"] {
        let array = placed(codes);
        let shape = array.shape().to_vec();
        let coordinates = AxisCoordinates::of(&Node::new("", "volume"), array.facts(), 3);
        assert!(coordinates.is_body(&shape), "{codes}");
        let mapping = Mapping::meant(&shape, coordinates.kinds());
        let slice = mapping.slice(false);
        // Right and left go across, front and back up and down, whatever the order of the indices.
        let along = |axis: Option<usize>| codes.chars().nth(axis.unwrap()).unwrap();
        assert!("RL".contains(along(slice.columns)) && "AP".contains(along(slice.rows)), "{codes}");
        for radiological in [false, true] {
            let turn = coordinates.facing(&slice).orientation(radiological);
            let letters = coordinates.facing(&slice).letters(turn).map(Option::unwrap).concat();
            assert_eq!(letters, if radiological { "RLAP" } else { "LRAP" }, "{codes}");
            let spec = RenderSpec::HeatMap(HeatMapSpec::default());
            let picture = PaintedSlice::new(array.clone(), slice.clone(), spec).seen(turn);
            let (width, height) = (picture.info().width, picture.info().height);
            let pixels = picture.read(&Task::new(), 0, 0, Rect::all(width, height)).unwrap();
            // As nibabel.as_closest_canonical has it: from left to right, from back to front.
            let index = |right: u64, front: u64| {
                let of = |code: char, (along, len): (u64, u64)| match code {
                    'R' | 'A' => along,
                    _ => len - 1 - along,
                };
                let at = |(axis, &len): (usize, &u64)| match codes.chars().nth(axis).unwrap() {
                    code @ ('R' | 'L') => of(code, (right, len)),
                    code @ ('A' | 'P') => of(code, (front, len)),
                    _ => 0,
                };
                shape.iter().enumerate().map(at).collect::<Vec<u64>>()
            };
            let value = |index: &[u64]| {
                let region =
                    Region(index.iter().map(|&at| crate::data::region::Span::range(at, 1)).collect());
                f64::from(read(&*array, &Task::new(), &region).unwrap()[0])
            };
            let all: Vec<f64> = (0..width)
                .flat_map(|x| (0..height).map(move |y| (x, y)))
                .map(|(x, y)| value(&index(x, y)))
                .collect();
            let (low, high) =
                all.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
            for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width / 2, height / 3)] {
                let right = if radiological { width - 1 - x } else { x };
                let wanted = (value(&index(right, height - 1 - y)) - low) / (high - low);
                let at = ((y * width + x) * 4) as usize;
                let color = ColorMap::default().at((wanted * 255.0).round() / 255.0);
                assert_eq!(pixels.data[at..at + 3], color, "{codes} {radiological} {x} {y}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 64);
    // Without a place in space there is no right and left.
    assert!(opened("nifti/analyze.hdr").is_ok_and(|file| array(&file).facts().axes[0].heading.is_none()));
}

#[test]
fn headers_beside_their_images() {
    for name in ["nifti/pair.img", "nifti/pair.hdr"] {
        let file = opened(name).unwrap();
        assert_eq!(texts(&*array(&file), "1, 2, :"), ["12.0", "13.0"], "{name}");
    }
    let analyze = opened("nifti/analyze.hdr").unwrap();
    assert_eq!(attribute(&analyze, "version"), "Analyze 7.5");
    assert_eq!(texts(&*array(&analyze), "1, 2, :"), ["12", "13"]);
    assert_eq!(
        attribute(&analyze, "affine"),
        "[[-2.0,0.0,0.0,2.0],[0.0,2.0,0.0,-3.0],[0.0,0.0,2.0,-1.0],[0.0,0.0,0.0,1.0]]"
    );
    let alone = opened("nifti/malformed/alone.hdr").unwrap();
    assert_eq!(alone.root.problem.as_ref().unwrap().kind(), ErrorKind::Io);
}

#[test]
fn headers_and_images_may_be_compressed() {
    let plain = texts(&*array(&opened("nifti/pair.hdr").unwrap()), "");
    for name in [
        "packed_header.hdr.gz",
        "packed_header.img",
        "packed_image.hdr",
        "packed_image.img.gz",
        "packed_both.hdr.gz",
        "packed_both.img.gz",
    ] {
        let file = opened(&format!("nifti/{name}")).unwrap();
        assert!(file.root.problem.is_none(), "{name}: {:?}", file.root.problem);
        assert_eq!(texts(&*array(&file), ""), plain, "{name}");
    }
    // Alone they have no neighbours, wherever they are.
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone.hdr.gz");
    std::fs::copy(format!("{FIXTURES}nifti/packed_both.hdr.gz"), &alone).unwrap();
    let alone = crate::open(&Task::new(), &alone, &Options::default()).unwrap();
    assert!(alone.root.problem.as_ref().unwrap().message().contains("is not beside it"));
    // With other endings, and with capitals.
    for (header, image) in [("HDR", "IMG.bz2"), ("hdr", "img.zst")] {
        let values = std::fs::read(format!("{FIXTURES}nifti/pair.img")).unwrap();
        let packed = match image.ends_with("zst") {
            true => zstd::encode_all(values.as_slice(), 1).unwrap(),
            false => {
                let mut encoder =
                    ::bzip2::read::BzEncoder::new(values.as_slice(), ::bzip2::Compression::fast());
                let mut out = Vec::new();
                std::io::Read::read_to_end(&mut encoder, &mut out).unwrap();
                out
            }
        };
        let place = folder.path().join(format!("other.{header}"));
        std::fs::copy(format!("{FIXTURES}nifti/pair.hdr"), &place).unwrap();
        std::fs::write(folder.path().join(format!("other.{image}")), packed).unwrap();
        let file = crate::open(&Task::new(), &place, &Options::default()).unwrap();
        assert_eq!(texts(&*array(&file), ""), plain, "{header} {image}");
    }
}

#[test]
fn extensions_are_children() {
    let file = opened("nifti/version_2.nii").unwrap();
    let child = file.root.find(&Task::new(), "/extension 1").unwrap().unwrap();
    assert_eq!(child.attributes[0].1.to_string(), "6: comment");
    let Some(Content::Bytes(bytes)) = &child.content else { panic!("no bytes") };
    assert!(bytes.read_up_to(&Task::new(), 0, 18).unwrap().starts_with(b"seen from the left"));
}

#[test]
fn freesurfers_volumes() {
    for (kind, value) in [("u1", "13"), ("i2", "13"), ("i4", "13"), ("f4", "13.0")] {
        let file = opened(&format!("mgh/{kind}.mgh")).unwrap();
        assert_eq!(texts(&*array(&file), "1, 2, 1"), [value]);
        let affine = "[[-2.0,0.0,0.0,0.0],[0.0,2.0,0.0,0.0],[0.0,0.0,2.5,0.0],[0.0,0.0,0.0,1.0]]";
        assert_eq!(attribute(&file, "affine"), affine);
    }
    let frames = opened("mgh/frames.mgh").unwrap();
    assert_eq!(array(&frames).shape(), [3, 2, 2, 2]);
    assert_eq!(
        attribute(&frames, "affine"),
        "[[-1.0,0.0,0.0,1.5],[0.0,0.0,-1.0,1.0],[0.0,1.0,0.0,-1.0],[0.0,0.0,0.0,1.0]]"
    );
}

#[test]
fn every_malformed_file_says_so() {
    for folder in ["nifti", "mgh"] {
        for entry in std::fs::read_dir(format!("{FIXTURES}{folder}/malformed")).unwrap().map(|e| e.unwrap()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            match crate::open(&Task::new(), &entry.path(), &Options::default()) {
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{error}");
                }
                Ok(document) => {
                    let root = &document.root;
                    let bytes = document.format.id == "bytes";
                    let said = root.problem.is_some() || !root.remarks.is_empty() || document.broken_promise;
                    assert!(said || bytes, "{name}");
                }
            }
        }
    }
    let cut = opened("nifti/malformed/cut_in_values.nii").unwrap();
    assert_eq!(array(&cut).shape(), [3, 4, 1]);
}
