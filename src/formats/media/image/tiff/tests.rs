use super::*;
use crate::data::content::{Content, Sample};
use crate::data::format::Options;
use std::path::Path;

fn opened(name: &str) -> crate::data::open::Document {
    let path = format!("{}/fixtures/tiff/{name}.tif", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn pixels(name: &str) -> Pixels {
    let document = opened(name);
    let Some(Content::Image(image)) = &document.root.content else { panic!("{name}") };
    let info = image.info();
    let pixels = image.read(&Task::new(), 0, 0, Rect::all(info.width, info.height)).unwrap();
    assert_eq!((pixels.channels, pixels.sample), (info.channels, info.sample), "{name}");
    pixels
}

#[test]
fn layouts_and_codecs_give_the_same_picture() {
    let plain = pixels("rgb_8");
    assert_eq!(pixels("rgb_planar").data, plain.data);
    let coded = pixels("codec_lzw");
    for name in ["codec_deflate", "codec_packbits", "codec_zstd", "codec_lzma"] {
        assert_eq!(pixels(name).data, coded.data, "{name}");
    }
    assert_eq!(pixels("tiles_16").data, pixels("strips_of_4_rows").data);
    for (name, same) in
        [("lerc_deflate", "codec_deflate"), ("lerc_rgb_tiles", "tiles_16"), ("lerc_zstd", "predictor_2")]
    {
        assert_eq!(pixels(name).data, pixels(same).data, "{name}");
    }
    // Tiles whose places stand in the fields of strips.
    for name in ["tiles_in_fields_of_strips", "plain_tiles_in_fields_of_strips"] {
        assert!(opened(name).root.problem.is_none(), "{name}");
        assert_eq!(pixels(name).data, pixels("tiles_16").data, "{name}");
    }
}

#[test]
fn samples_of_every_kind() {
    let samples = [
        ("grey_int16", Sample::I16),
        ("grey_int32", Sample::I32),
        ("grey_uint32", Sample::U32),
        ("grey_float16", Sample::F16),
        ("grey_float32", Sample::F32),
        ("grey_float64", Sample::F64),
        ("grey_complex64", Sample::C64),
    ];
    for (name, sample) in samples {
        assert_eq!(pixels(name).sample, sample, "{name}");
    }
    assert_eq!(pixels("predictor_float").data.len(), 17 * 11 * 4);
    let plain: Vec<u8> = pixels("grey_float32").data;
    assert_eq!(pixels("predictor_float").data, plain);
    assert_eq!(pixels("bands_7").channels, 7);
}

#[test]
fn masks_of_lerc_are_not_a_number() {
    let (holes, whole) = (pixels("lerc_mask"), pixels("lerc_float"));
    for y in 0..11 {
        for x in 0..17 {
            let is_hole = (x, y) == (3, 2) || (5..9).contains(&x) && (4..6).contains(&y);
            let value = holes.sample(x, y, 0).unwrap();
            assert_eq!(value.is_nan(), is_hole, "{x} {y}: {value}");
            // What stands for NaN and infinity in the other.
            if !is_hole && ![(3, 2), (5, 4), (7, 6)].contains(&(x, y)) {
                assert_eq!(Some(value), whole.sample(x, y, 0), "{x} {y}");
            }
        }
    }
}

#[test]
fn samples_of_different_bits_are_widened() {
    let (thin, whole) = (pixels("bits_5_6_5"), pixels("rgb_8"));
    for (n, (seen, value)) in thin.data.iter().zip(&whole.data).enumerate() {
        let bits = if n % 3 == 1 { 6 } else { 5 };
        let kept = value >> (8 - bits);
        assert_eq!(*seen, kept << (8 - bits) | kept >> (2 * bits - 8), "sample {n}");
    }
}

#[test]
fn luminance_and_colour_are_floats() {
    for name in ["logluv_24", "logluv_32", "logl_16"] {
        assert!(opened(name).root.problem.is_none(), "{name}");
        let seen = pixels(name);
        assert_eq!((seen.sample, seen.channels), (Sample::F32, if name == "logl_16" { 1 } else { 3 }));
        // Luminance from the primaries: the middle row of the inverse of the matrix that they are made by.
        let y = |x, row| match seen.channels {
            1 => seen.sample(x, row, 0).unwrap(),
            _ => {
                let [r, g, b] = [0, 1, 2].map(|channel| seen.sample(x, row, channel).unwrap());
                0.2562 * r + 0.6783 * g + 0.0655 * b
            }
        };
        let power = |x: u64, row: u64| match name {
            "logluv_24" => ((x + row * 32) / 2) as f64 / 64.0 + 0.5 / 64.0 - 2.0,
            _ => ((x + row * 32) * 2) as f64 / 256.0 + 0.5 / 256.0 - 2.0,
        };
        for (x, row) in [(0, 0), (31, 3), (7, 9), (31, 15)] {
            let (seen, wanted) = (y(x, row), power(x, row).exp2());
            assert!((seen / wanted - 1.0).abs() < 0.01, "{name} {x} {row}: {seen}, {wanted}");
        }
    }
}

#[test]
fn pages_alike_are_frames_and_others_are_nodes() {
    let Some(Content::Image(image)) = &opened("pages_4").root.content else { panic!() };
    assert_eq!(image.info().frames, 4);
    let second = image.read(&Task::new(), 1, 0, Rect::all(16, 12)).unwrap();
    assert_ne!(second, image.read(&Task::new(), 0, 0, Rect::all(16, 12)).unwrap());
    assert_eq!(opened("pages_differ").root.child_count(), Some(3));
}

#[test]
fn parts_are_cut_from_chunks() {
    let document = opened("tiles_16");
    let Some(Content::Image(image)) = &document.root.content else { panic!() };
    let (task, whole) = (Task::new(), pixels("tiles_16"));
    let chain = ifd::chain(&task, &document.source).unwrap();
    let page = Page::read(&task, &document.source, chain.order, &chain.directories[0]).unwrap();
    let tiff = Tiff {
        order: chain.order,
        pages: vec![page],
        levels: vec![Vec::new()],
        partial: false,
        chunks: Cache::with_last(KEPT),
        places: Mutex::new(None),
    };
    for rect in [Rect { x: 3, y: 5, width: 30, height: 14 }, Rect { x: 39, y: 23, width: 1, height: 1 }] {
        assert_eq!(tiff.samples(&task, &document.source, (0, 0), rect).unwrap(), whole.crop(rect));
        assert_eq!(image.read(&task, 0, 0, rect).unwrap(), whole.crop(rect));
    }
}

#[test]
fn tiles_that_are_not_named_are_counted_without_going_through_them() {
    let (side, height) = (16u32, 1u32 << 16);
    let tile: Vec<u8> = (1..=255).chain([0]).collect();
    let fields = [
        (256, side),
        (257, height),
        (258, 8),
        (259, 1),
        (262, 1),
        (277, 1),
        (322, side),
        (323, side),
        (324, 8),
        (325, 256),
    ];
    let mut bytes =
        [&b"II*\0"[..], &264u32.to_le_bytes(), &tile, &(fields.len() as u16).to_le_bytes()].concat();
    for (tag, value) in fields {
        bytes.extend([&u16::to_le_bytes(tag)[..], &[4, 0, 1, 0, 0, 0], &u32::to_le_bytes(value)].concat());
    }
    bytes.extend([0; 4]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.tif");
    std::fs::write(&path, bytes).unwrap();
    let task = Task::new();
    let document = crate::open(&task, &path, &Options::default()).unwrap();
    assert!(
        document.root.problem.as_ref().unwrap().to_string().contains("4096 strips or tiles are needed, 1 ")
    );
    let Some(Content::Image(image)) = &document.root.content else { panic!() };
    let rows = |y| image.unstored_rows(&task, 0, y).unwrap();
    let height = u64::from(height);
    assert_eq!([rows(0), rows(15), rows(16), rows(100)], [0, 0, height - 16, height - 100]);
    let stats = crate::data::stats::image(image.as_ref(), &task).unwrap();
    let all = [tile, vec![0; (height as usize - 16) * 16]].concat();
    assert_eq!((stats.crc32, stats.channels[0].max), (crc32fast::hash(&all), Some(255.0)));
    assert_eq!(image.read(&task, 0, 0, Rect::all(16, height)).unwrap().data, all);
}
