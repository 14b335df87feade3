//! Small files that ask for very much: what is said of them is bounded in time and memory. They are made here.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Sides of the pictures.
const SIDE: u32 = 20_000;
/// The longest that an answer takes, in a build for tests on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the program says of a file with so many megabytes of memory, as JSON.
fn said(command: &str, path: &Path, megabytes: u64) -> Value {
    let line = format!("ulimit -d {}; exec \"$0\" \"$@\"", megabytes << 10);
    let began = Instant::now();
    let mut shell = Command::new("sh");
    let out = shell
        .args(["-c", &line, env!("CARGO_BIN_EXE_gander"), command])
        .arg(path)
        .arg("--json")
        .output()
        .unwrap();
    let took = began.elapsed();
    let errors = String::from_utf8_lossy(&out.stderr);
    println!("{command} {}: {took:?}", path.display());
    assert!(matches!(out.status.code(), Some(0 | 1)), "{}: {errors}", out.status);
    assert!(took < PATIENCE, "{command} took {took:?}");
    serde_json::from_slice(&out.stdout).unwrap()
}

/// A deflated stream of so many bytes of one value.
fn deflated(len: u64, value: u8) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(1));
    let part = vec![value; 1 << 20];
    let mut left = len;
    while left > 0 {
        let some = left.min(part.len() as u64);
        encoder.write_all(&part[..some as usize]).unwrap();
        left -= some;
    }
    encoder.finish().unwrap()
}

/// A directory of TIFF with one strip, and where the next one is.
fn directory(sides: [u32; 2], samples: u32, compression: u32, strip: [u32; 2], next: u32) -> Vec<u8> {
    let fields = [
        (256, sides[0]),
        (257, sides[1]),
        (258, 8),
        (259, compression),
        (262, if samples == 3 { 2 } else { 1 }),
        (273, strip[0]),
        (277, samples),
        (278, sides[1]),
        (279, strip[1]),
    ];
    let mut out = (fields.len() as u16).to_le_bytes().to_vec();
    for (tag, value) in fields {
        out.extend([&u16::to_le_bytes(tag)[..], &[4, 0, 1, 0, 0, 0], &value.to_le_bytes()].concat());
    }
    out.extend(next.to_le_bytes());
    out
}

#[test]
fn a_tiff_of_a_million_directories_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directories.tif");
    let len = directory([4, 4], 1, 1, [8, 16], 0).len() as u32;
    let mut bytes = [&b"II*\0"[..], &24u32.to_le_bytes(), &[7; 16]].concat();
    for n in 1..=1_000_000u32 {
        let next = if n == 1_000_000 { 0 } else { 24 + n * len };
        bytes.extend(directory([4, 4], 1, 1, [8, 16], next));
    }
    std::fs::write(&path, bytes).unwrap();
    let tree = said("tree", &path, 512);
    let root = &tree["root"];
    assert_eq!(root["image"]["frames"], 10_000, "{root}");
    assert!(root["problem"].to_string().contains("more than 10000 pages"), "{root}");
}

#[test]
fn pictures_of_400_megapixels_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let (png, tiff) = (folder.path().join("large.png"), folder.path().join("large.tif"));
    // Rows of PNG begin with a filter: none, which is zero as the pixels are.
    let pixels = deflated(u64::from(SIDE) * (u64::from(SIDE) * 3 + 1), 0);
    let chunk = |kind: &[u8; 4], body: &[u8]| {
        let inner = [&kind[..], body].concat();
        [&(body.len() as u32).to_be_bytes()[..], &inner, &crc32fast::hash(&inner).to_be_bytes()].concat()
    };
    let sides = SIDE.to_be_bytes();
    let header = chunk(b"IHDR", &[&sides[..], &sides, &[8, 2, 0, 0, 0]].concat());
    let all = [&b"\x89PNG\r\n\x1a\n"[..], &header, &chunk(b"IDAT", &pixels), &chunk(b"IEND", &[])].concat();
    std::fs::write(&png, all).unwrap();
    let strip = deflated(u64::from(SIDE) * u64::from(SIDE) * 3, 0);
    let at = 8 + directory([0; 2], 3, 8, [0; 2], 0).len() as u32;
    let first = directory([SIDE; 2], 3, 8, [at, strip.len() as u32], 0);
    std::fs::write(&tiff, [&b"II*\0\x08\0\0\0"[..], &first, &strip].concat()).unwrap();
    for path in [&png, &tiff] {
        let tree = said("tree", path, 512);
        assert_eq!(tree["root"]["image"]["width"], SIDE, "{tree}");
        let stats = said("stats", path, 3_072);
        let node = stats["nodes"].get(0).unwrap_or(&stats);
        let is_limit = node["error"]["kind"] == "limit" || stats["error"]["kind"] == "limit";
        assert!(is_limit || node["channels"].to_string().contains("max"), "{stats}");
    }
}

#[test]
fn columns_are_counted_in_groups_where_there_are_very_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.csv");
    let row = |cell: &dyn Fn(usize) -> String| (0..100_000).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let text = row(&|n| format!("c{n}")) + &row(&|n| (n % 10).to_string()) + &row(&|n| (n % 7).to_string());
    std::fs::write(&path, text).unwrap();
    let stats = said("stats", &path, 320);
    let columns = stats["nodes"][0]["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 100_000);
    let last = &columns[99_999];
    assert_eq!(
        (&last["name"], &last["min"], &last["max"]),
        (&"c99999".into(), &4.into(), &9.into()),
        "{last}"
    );
}
