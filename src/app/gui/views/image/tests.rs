//! The image view in a harness.

use std::sync::Arc;
use std::time::Duration;

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::adapt::FrameArray;
use gander::data::content::array::Axis;
use gander::data::content::image::{FrameChannel, Image, ImageInfo, Pixels, Rect, Sample};
use gander::data::content::{Array, Content};
use gander::data::format::Options;
use gander::data::region::{Region, Span};

use super::super::harness::{ViewHarness, bench, frame_times, settle};

/// Frames of 16-bit RGBA; slow to decode.
struct Drawn {
    info: ImageInfo,
    delay: Duration,
}

fn drawn(width: u64, height: u64, frames: u64, delay: Duration) -> Arc<dyn Image> {
    let levels = vec![(width, height), (width / 2, height / 2), (width / 4, height / 4)];
    let info = ImageInfo {
        width,
        height,
        channels: 4,
        bits: 16,
        sample: Sample::U16,
        alpha: true,
        frames,
        levels,
        ..ImageInfo::default()
    };
    Arc::new(Drawn { info, delay })
}

impl Image for Drawn {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, _task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        std::thread::sleep(self.delay);
        let (width, height) = self.info.levels[level as usize];
        let rect = rect.cut(width, height);
        let mut data = Vec::new();
        for y in rect.y..rect.y + rect.height {
            for x in rect.x..rect.x + rect.width {
                for sample in [x << level, y << level, frame, 0xffff] {
                    data.extend((sample as u16).to_le_bytes());
                }
            }
        }
        let (width, height) = (rect.width, rect.height);
        Ok(Pixels { width, height, channels: 4, sample: Sample::U16, alpha: true, data })
    }
}

#[test]
fn pixels_under_the_pointer_and_frames() {
    let mut harness = bench("a.tif", Content::Image(drawn(64, 48, 3, Duration::ZERO)));
    settle(&mut harness);
    assert_eq!(harness.state().status.facts, "64 × 48 · 4 channels · 16 bits · 3 frames");
    let rect = harness.get_by(|node| node.role() == egui::accesskit::Role::Image).rect();
    harness.hover_at(rect.center() + egui::vec2(0.5, 0.5));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a.tif[0, 24, 32, :] = (32, 24, 0, 65535)");
    assert!(harness.state_mut().ask(&super::Request::GoTo("2".to_owned())));
    settle(&mut harness);
    assert_eq!(harness.state().status.under, "a.tif[2, 24, 32, :] = (32, 24, 2, 65535)");
}

/// The content of a document of the fixtures.
fn fixture(name: &str) -> Content {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let document =
        gander::formats::open(&Task::new(), std::path::Path::new(&path), &Options::default()).unwrap();
    document.root.content.clone().unwrap()
}

#[test]
fn each_axis_that_frames_go_through_has_its_own_slider() {
    let axis = |name: &str, unit: &str, step: f64| Axis {
        name: name.to_owned(),
        unit: Some(unit.to_owned()),
        regular: Some((0.0, step)),
        ..Axis::default()
    };
    let mut info = drawn(64, 48, 12, Duration::ZERO).info().clone();
    info.frame_axes = vec![(3, axis("t", "second", 2.5)), (4, axis("z", "micrometer", 5.0))];
    info.sides = [axis("y", "micrometer", 1.0), axis("x", "micrometer", 0.5)];
    let image: Arc<dyn Image> = Arc::new(Drawn { info, delay: Duration::ZERO });
    let mut harness = bench("a", Content::Image(image.clone()));
    settle(&mut harness);
    assert_eq!(harness.state().status.facts, "64 × 48 · 4 channels · 16 bits · 3 × t · 4 × z");
    // A body is opened in its middle, a film at its beginning.
    harness.get_by_label("t 0/3: 0 s");
    harness.get_by_label("z 2/4: 10 µm");
    assert!(harness.state_mut().ask(&super::Request::GoTo("1, 3, 24, 32".to_owned())));
    settle(&mut harness);
    let under = harness.state().status.under.clone();
    assert_eq!(under, "a[1, 3, 24, 32, :] = (32, 24, 7, 65535)  ·  t 2.5 s  z 15 µm  y 24 µm  x 16 µm");
    // Pixels are twice as high as wide.
    let kept = harness.state().view.save();
    let zoom = |n: usize| kept["picture"]["camera"]["zoom"][n].as_f64().unwrap();
    assert!((zoom(1) / zoom(0) - 2.0).abs() < 1e-9, "{kept}");
    // The session, and the number of a frame as before, go to the same place.
    let mut again = bench("a", Content::Image(image));
    again.state_mut().view.restore(&kept);
    settle(&mut again);
    again.get_by_label("z 3/4: 15 µm");
    assert!(again.state_mut().ask(&super::Request::GoTo("5".to_owned())));
    settle(&mut again);
    again.get_by_label("t 1/3: 2.5 s");
    again.get_by_label("z 1/4: 5 µm");
    assert!(!again.state_mut().ask(&super::Request::GoTo("3, 0, 24, 32".to_owned())));
}

#[test]
fn frames_are_stepped_and_played_by_keys() {
    use egui::{Key, Modifiers};
    let mut harness = bench("a", Content::Image(drawn(64, 48, 30, Duration::ZERO)));
    settle(&mut harness);
    let frame = |harness: &Harness<'_, ViewHarness>| harness.state().view.save()["frame"].as_u64().unwrap();
    let keys = [
        (Modifiers::NONE, Key::CloseBracket, 1),
        (Modifiers::SHIFT, Key::CloseBracket, 11),
        (Modifiers::NONE, Key::OpenBracket, 10),
        (Modifiers::NONE, Key::PageDown, 11),
        (Modifiers::NONE, Key::PageUp, 10),
    ];
    for (modifiers, key, to) in keys {
        harness.key_press_modifiers(modifiers, key);
        settle(&mut harness);
        assert_eq!(frame(&harness), to, "{key:?}");
    }
    harness.key_press(Key::Space);
    let started = std::time::Instant::now();
    while frame(&harness) == 10 {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not play");
        harness.step();
        std::thread::sleep(Duration::from_millis(2));
    }
    harness.key_press(Key::Space);
    settle(&mut harness);
    let stands = frame(&harness);
    (0..30).for_each(|_| harness.step());
    assert_eq!(frame(&harness), stands, "it pauses");
}

#[test]
fn channels_of_a_microscope_have_their_names() {
    let mut harness = bench("a", fixture("zarr/image_v05.ome.zarr"));
    settle(&mut harness);
    // Alone, not with the others.
    harness.get_by_label("Composite").click();
    settle(&mut harness);
    assert_eq!(harness.state().status.facts, "48 × 32 · 1 sample · 16 bits · 2 × c · DAPI");
    harness.get_by_label("c 0/2: DAPI");
    assert!(harness.state_mut().ask(&super::Request::GoTo("1, 0, 16, 24".to_owned())));
    settle(&mut harness);
    harness.get_by_label("c 1/2: GFP");
    let under = harness.state().status.under.clone();
    assert!(under.starts_with("a[1, 0, 16, 24] = "), "{under}");
    assert!(under.ends_with("c GFP  z 0 µm  y 8 µm  x 12 µm"), "{under}");
}

#[test]
fn decoding_never_holds_up_a_frame() {
    let mut harness = bench("a.tif", Content::Image(drawn(640, 480, 1, Duration::from_secs(5))));
    for _ in 0..60 {
        harness.step();
        std::thread::sleep(Duration::from_millis(4));
    }
    harness.get_by_label_contains("Decoding the image");
    let (median, worst) = frame_times(&harness.state().frames);
    assert!(median < Duration::from_millis(16), "{median:?}");
    assert!(worst < Duration::from_secs(1), "{worst:?}");
}

#[test]
fn large_images_are_read_in_parts_from_the_level_that_is_fine_enough() {
    let side = 1 << 15;
    let frame = FrameArray::read(drawn(side, side, 1, Duration::ZERO), &Task::new(), 0).unwrap();
    let read = |rows: Span, columns: Span| {
        let region = Region(vec![Span::range(0, 1), rows, columns, Span::range(0, 2)]);
        let raw = gander::data::content::array::read(&frame, &Task::new(), &region).unwrap();
        let numbers: Vec<u16> = raw.as_chunks::<2>().0.iter().map(|&b| u16::from_le_bytes(b)).collect();
        numbers
    };
    assert_eq!(frame.shape(), [1, side, side, 4]);
    assert_eq!(read(Span::range(7, 1), Span::range(9, 2)), [9, 7, 10, 7]);
    let step = |start, count| Span { start, count, step: 4 };
    assert_eq!(read(step(400, 2), step(800, 2)), [800, 400, 804, 400, 800, 404, 804, 404]);
}

#[test]
fn every_picture_of_the_fixtures_shows() {
    let mut seen = 0;
    for format in ["png", "gif", "tiff", "bmp", "webp", "jpeg", "hdr"] {
        let folder = format!("{}/fixtures/{format}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() {
                continue;
            }
            let Ok(document) = gander::formats::open(&Task::new(), &path, &Options::default()) else {
                continue;
            };
            let Some(Content::Image(image)) = document.root.content.clone() else { continue };
            let mut harness = bench("picture", Content::Image(image));
            settle(&mut harness);
            // One or the other: the picture, or words why there is none.
            let failed = harness.query_by_label_contains("could not be decoded").is_some();
            let shown = harness.query_by(|node| node.role() == egui::accesskit::Role::Image).is_some();
            assert!(failed != shown, "{path:?}");
            seen += usize::from(shown);
            harness.get_by_label("Histogram").click();
            settle(&mut harness);
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn frames_stand_as_long_as_the_file_says() {
    let Content::Image(image) = fixture("gif/animated.gif") else { panic!("no image") };
    assert_eq!(image.info().frame_times, [50, 100, 150, 200, 250]);
    let mut harness = bench("a", Content::Image(image));
    settle(&mut harness);
    harness.get_by_label_contains("Play ").click();
    harness.step();
    harness.step();
    harness.get_by_label_contains("Slices each second: 20");
    // What somebody chooses holds for all of them.
    harness.get_by_label_contains("Slices each second").click();
    harness.step();
    harness.step();
    harness.get_by_label("4/s").click();
    (0..60).for_each(|_| harness.step());
    harness.get_by_label_contains("Slices each second: 4/s");
}

#[test]
fn channels_are_laid_over_each_other() {
    let mut harness = bench("a", fixture("zarr/image_v05.ome.zarr"));
    settle(&mut harness);
    assert!(harness.state_mut().ask(&super::Request::GoTo("0, 0, 16, 24".to_owned())));
    settle(&mut harness);
    // The file describes them: they are together at first.
    harness.get_by_label_contains("2 of 2 channels");
    let under = |harness: &Harness<'_, ViewHarness>| harness.state().status.under.clone();
    // Red, green and blue instead of one number.
    assert!(under(&harness).starts_with("a[0, 0, 16, 24, :] = ("), "{}", under(&harness));
    assert!(!under(&harness).contains("DAPI"), "it is not of one channel: {}", under(&harness));
    harness.get_by_label("Composite").click();
    settle(&mut harness);
    assert!(under(&harness).starts_with("a[0, 0, 16, 24] = "), "{}", under(&harness));
    harness.get_by_label("Composite").click();
    settle(&mut harness);
    assert!(under(&harness).starts_with("a[0, 0, 16, 24, :] = ("), "{}", under(&harness));
    // A histogram counts one channel as it is stored.
    harness.get_by_label("Histogram").click();
    settle(&mut harness);
    let facts = harness.state().status.facts.clone();
    assert!(facts.ends_with("DAPI"), "{facts}");
    harness.get_by_label("Image").click();
    settle(&mut harness);
    // One that is gone to is shown alone.
    assert!(harness.state_mut().ask(&super::Request::GoTo("1, 0, 16, 24".to_owned())));
    settle(&mut harness);
    assert!(under(&harness).starts_with("a[1, 0, 16, 24] = "), "{}", under(&harness));
}

/// A picture of two channels, the second of which is damaged.
struct HalfBroken(ImageInfo);

impl Image for HalfBroken {
    fn info(&self) -> &ImageInfo {
        &self.0
    }

    fn read(&self, _task: &Task, frame: u64, _level: u32, _rect: Rect) -> Result<Pixels> {
        match frame {
            0 => {
                let data = (0..64).collect();
                Ok(Pixels { width: 8, height: 8, channels: 1, sample: Sample::U8, alpha: false, data })
            }
            _ => Err(Error::malformed("the second channel is damaged")),
        }
    }
}

#[test]
fn where_channels_cannot_be_laid_over_each_other_one_is_shown() {
    let shown = |name: &str| FrameChannel { name: name.to_owned(), shown: true, ..FrameChannel::default() };
    let info = ImageInfo {
        width: 8,
        height: 8,
        channels: 1,
        bits: 8,
        frames: 2,
        frame_axes: vec![(2, Axis { name: "c".to_owned(), ..Axis::default() })],
        frame_channels: vec![shown("good"), shown("bad")],
        levels: vec![(8, 8)],
        ..ImageInfo::default()
    };
    let mut harness = bench("a", Content::Image(Arc::new(HalfBroken(info))));
    settle(&mut harness);
    let facts = harness.state().status.facts.clone();
    assert!(facts.ends_with("good"), "{facts}");
    // Who asks for them is told why not.
    harness.get_by_label("Composite").click();
    settle(&mut harness);
    harness.get_by_label_contains("the second channel is damaged");
}

#[test]
fn colours_are_those_of_the_profile_unless_asked_otherwise() {
    let mut harness = bench("a", fixture("png/metadata_blocks.png"));
    settle(&mut harness);
    assert!(harness.state_mut().ask(&super::Request::GoTo("4, 6".to_owned())));
    settle(&mut harness);
    let converted = harness.state().status.under.clone();
    harness.get_by_label("Colour profile").click();
    settle(&mut harness);
    let stored = harness.state().status.under.clone();
    assert!(converted.starts_with("a[4, 6, :] = (") && stored.starts_with("a[4, 6, :] = ("), "{stored}");
    assert_ne!(converted, stored);
    let kept = harness.state().view.save();
    assert_eq!(kept["unmanaged"], true);
}

#[test]
fn one_channel_has_false_colours() {
    let mut harness = bench("a", fixture("png/grey_8.png"));
    settle(&mut harness);
    harness.get_by_label("False colours: grey").click();
    harness.step();
    harness.step();
    harness.get_by_label("magma").click();
    settle(&mut harness);
    assert_eq!(harness.state().view.save()["false_colours"], "magma");
    harness.get_by(|node| node.role() == egui::accesskit::Role::Image);
}
