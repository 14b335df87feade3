use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::adapt::Managed;
use crate::data::content::{Image, ImageInfo, Pixels, Rect};
use crate::data::format::Options;
use crate::data::open::Document;
use crate::engines::ffmpeg;
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn image(document: &Document) -> Arc<dyn Image> {
    let Some(Content::Image(image)) = &document.root.content else { panic!("{:?}", document.root.problem) };
    image.clone()
}

fn info(name: &str) -> ImageInfo {
    image(&opened(name)).info().clone()
}

#[test]
fn containers_tell_the_same_without_a_decoder() {
    let cases = [
        ("mp4/h264.mp4", "h264", 12, 24.0, 2),
        ("mp4/h264_aac.mp4", "h264", 12, 24.0, 2),
        ("mp4/fragmented.mp4", "h264", 12, 24.0, 2),
        ("matroska/h264_opus.mkv", "h264", 12, 24.0, 2),
        ("mpegts/h264.ts", "h264", 12, 24.0, 2),
        ("mpegts/mpeg2_mp2.ts", "mpeg2video", 8, 24.0, 2),
        ("mp4/mpeg4.m4v", "mpeg4", 12, 24.0, 2),
        ("mp4/hevc_10.mp4", "hevc", 12, 24.0, 2),
        ("mp4/prores.mov", "prores", 3, 24.0, 3),
        ("matroska/ffv1.mkv", "ffv1", 3, 24.0, 1),
        ("matroska/vp9.webm", "vp9", 6, 24.0, 1),
        ("avi/mjpeg.avi", "mjpeg", 6, 24.0, 6),
        // One of its chunks is empty: that frame is not there, and the average is less.
        ("avi/mpeg4_mp3.avi", "mpeg4", 8, 24.0, 2),
    ];
    for (name, codec, frames, fps, keys) in cases {
        let info = info(name);
        let video = info.video.unwrap();
        assert_eq!((info.width, info.height, info.frames), (64, 48, frames), "{name}");
        assert_eq!((video.codec.as_str(), video.keys.len()), (codec, keys), "{name}");
        assert!((video.fps.unwrap() - fps).abs() < 0.5, "{name}: {:?}", video.fps);
        assert_eq!(video.keys[0], 0, "{name}");
    }
    assert_eq!(info("mp4/hevc_10.mp4").bits, 10);
    assert_eq!(info("mp4/odd_sides.mp4").width, 50);
}

#[test]
fn tracks_of_sound_are_children() {
    let task = Task::new();
    let names = [
        "mp4/h264_aac.mp4",
        "matroska/h264_opus.mkv",
        "avi/mpeg4_mp3.avi",
        "avi/mjpeg_pcm.avi",
        "mpegts/h264_aac.ts",
    ];
    for name in names {
        let children = opened(name).root.child_page(&task, 0..10).unwrap();
        let Some(Content::Array(sound)) = &children[0].content else {
            panic!("{name}: {:?}", children[0].problem)
        };
        let facts = sound.facts();
        assert_eq!(facts.sound.map(|sound| sound.rate), Some(48_000), "{name}");
        // Half a second, and what the coder adds.
        assert!((23_000..28_000).contains(&sound.shape()[0]), "{name}: {:?}", sound.shape());
        // A sine of 0.3, as it was given to the coders.
        let levels = crate::data::sound::Levels::measure(sound.as_ref(), &task).unwrap();
        assert!((0.25..0.45).contains(&levels.peaks[0]), "{name}: {:?}", levels.peaks);
    }
    let root = opened("mp4/h264.mp4").root;
    assert!(
        root.attributes.iter().any(|(name, value)| name == "title" && value.to_string() == "a goose walks")
    );
}

#[test]
fn a_grid_of_tiles_is_one_picture() {
    let document = opened("heic/grid.heic");
    let grid = image(&document);
    let info = grid.info();
    assert_eq!((info.width, info.height, info.channels), (150, 100, 3));
    let names: Vec<String> =
        document.root.child_page(&Task::new(), 0..10).unwrap().iter().map(|node| node.name.clone()).collect();
    assert_eq!(names, ["EXIF", "XMP", "ICC profile"]);
    let Some(pixels) = frame(grid.as_ref(), 0) else { return };
    assert_eq!((pixels.width, pixels.height), (150, 100));
    // Ramps of red across and of green down, over the borders of tiles.
    for (x, y) in [(2, 95), (63, 95), (64, 95), (127, 62), (128, 63), (128, 64), (149, 2)] {
        let red = pixels.sample(x, y, 0).unwrap() - x as f64 * 255.0 / 149.0;
        let green = pixels.sample(x, y, 1).unwrap() - y as f64 * 255.0 / 99.0;
        assert!(red.abs() < 16.0 && green.abs() < 16.0, "{x} {y}: off by {red} and {green}");
    }
}

#[test]
fn a_single_item_has_its_profile() {
    for name in ["heic/profile.heic", "avif/profile.avif"] {
        let document = opened(name);
        let seen = image(&document);
        assert_eq!(Managed::named(seen.info()).as_deref(), Some("Gander wide"), "{name}");
    }
}

#[test]
fn a_playlist_in_the_name_of_a_video_is_a_text() {
    let document = opened("mp4/malformed/playlist.mp4");
    assert_eq!(document.format.id, "text");
}

/// Pixels of a frame, where they can be decoded here.
fn frame(image: &dyn Image, n: u64) -> Option<Pixels> {
    match image.read(&Task::new(), n, 0, Rect::all(1000, 1000)) {
        Ok(pixels) => Some(pixels),
        Err(error) => {
            // Without the program that is what is said; with it every frame is decoded.
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(
                !ffmpeg::is_there() && error.message().contains("the package ffmpeg brings it"),
                "{error}"
            );
            None
        }
    }
}

#[test]
fn frames_are_the_same_in_any_order() {
    for name in ["mp4/h264.mp4", "matroska/vp9.webm", "avi/mpeg4_mp3.avi", "mpegts/h264.ts", "mp4/mpeg4.m4v"]
    {
        let forward = image(&opened(name));
        let count = forward.info().frames;
        let frames: Vec<Pixels> = (0..count).map_while(|n| frame(forward.as_ref(), n)).collect();
        if frames.is_empty() {
            return;
        }
        assert_eq!(frames.len() as u64, count, "{name}");
        assert!(frames.windows(2).all(|pair| pair[0] != pair[1]), "{name}: the picture moves");
        for n in [count - 1, 0, count / 2, count / 2 + 1, 1] {
            // Each time with nothing kept.
            let other = image(&opened(name));
            assert_eq!(frame(other.as_ref(), n).as_ref(), frames.get(n as usize), "{name}: frame {n}");
        }
    }
}

#[test]
fn a_decoder_outlives_the_thread_that_began_it() {
    let video = image(&opened("matroska/ffv1.mkv"));
    let first = std::thread::scope(|scope| scope.spawn(|| frame(video.as_ref(), 0)).join().unwrap());
    let second = frame(video.as_ref(), 1);
    assert_eq!(first.is_some(), second.is_some());
    assert!(first.is_none() || first != second, "the picture moves");
}

/// A video of which each frame is a JPEG of its own, with nothing around.
fn stills() -> Frames {
    let bytes = std::fs::read(format!("{}/fixtures/avi/mjpeg.avi", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let chunks = memchr::memmem::find_iter(&bytes, b"00dc").filter_map(|at| {
        let len = u32::from_le_bytes(*bytes.get(at + 4..)?.first_chunk()?) as usize;
        let data = bytes.get(at + 8..at + 8 + len)?;
        data.starts_with(&[0xff, 0xd8]).then_some(at as u64 + 8..(at + 8 + len) as u64)
    });
    let packet = |(n, place)| frames::Packet { place, time: n as i64, key: true, hidden: false };
    let packets: Vec<_> = chunks.enumerate().map(packet).collect();
    assert_eq!(packets.len(), 6);
    let track = Track {
        codec: "mjpeg".to_owned(),
        coding: codecs::coding("mjpeg", &[], (64, 48)),
        packets,
        timescale: 1.0,
        width: 64,
        height: 48,
        bits: 8,
        ..Track::default()
    };
    Frames::new(&Source::memory("mjpeg", bytes), track)
}

#[cfg(target_os = "linux")]
#[test]
fn a_decoder_waits_for_the_next_jump() {
    let forward = stills();
    let forward: Vec<_> = (0..6).map_while(|n| frame(&forward, n)).collect();
    if forward.is_empty() {
        return;
    }
    let frames = stills();
    let waiting = || {
        let started = std::time::Instant::now();
        loop {
            assert!(started.elapsed().as_secs() < 60, "no decoder waits");
            match frames.waiting() {
                Some(process) => break process,
                None => std::thread::sleep(std::time::Duration::from_millis(2)),
            }
        }
    };
    let seen = |n: usize| assert_eq!(frame(&frames, n as u64).as_ref(), Some(&forward[n]), "frame {n}");
    // Backwards each frame is a jump; one alone needs none that waits.
    seen(5);
    assert_eq!(frames.waiting(), None);
    seen(4);
    let process = waiting();
    seen(3);
    assert_eq!(frames.running(), Some(process));
    // One that somebody ended says nothing about the video.
    let process = waiting();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(process as i32).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    seen(2);
    let (process, last) = (waiting(), frames.running().unwrap());
    drop(frames);
    for process in [process, last] {
        assert!(!Path::new(&format!("/proc/{process}")).exists(), "a decoder outlives its video");
    }
}

#[test]
fn what_is_no_frame_is_an_error_and_reads_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.mp4");
    std::fs::copy(format!("{}/fixtures/mp4/h264.mp4", env!("CARGO_MANIFEST_DIR")), &secret).unwrap();
    // A playlist in each packet of a video.
    let list = format!("#EXTM3U\n#EXTINF:1,\nfile://{}\n#EXT-X-ENDLIST\n", secret.display());
    let place = 0..list.len() as u64;
    let packet = frames::Packet { place, key: true, ..frames::Packet::default() };
    for codec in ["mjpeg", "h264", "mpeg4"] {
        let track = Track {
            codec: codec.to_owned(),
            coding: codecs::coding(codec, &[], (64, 48)),
            packets: vec![packet.clone()],
            timescale: 1.0,
            width: 64,
            height: 48,
            bits: 8,
            ..Track::default()
        };
        let frames = Frames::new(&Source::memory("list", list.clone().into_bytes()), track);
        let error = frames.read(&Task::new(), 0, 0, Rect::all(64, 48)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported), "{codec}: {error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_process_outlives_who_waits_for_it() {
    let Ok(mut decoder) = ffmpeg::Decoder::start("rgb24", 64 * 48 * 3) else { return };
    let path = format!("/proc/{}", decoder.process());
    assert!(Path::new(&path).exists());
    // Nobody waits any more: the read ends, though no frame ever comes.
    let task = Task::new();
    task.cancel();
    let error = decoder.frame(&task, &mut || Ok(Some(vec![0; 16]))).unwrap_err();
    assert!(error.is_cancelled());
    drop(decoder);
    assert!(!Path::new(&path).exists());
}
