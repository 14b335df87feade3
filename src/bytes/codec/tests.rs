//! Chunks that the reference codecs wrote (`fixtures/codec/make.py`); and damage to each of them.

use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::numbers::le;
use std::path::Path;

/// A fixture: `CODEC--CASE_NUMBERS.LENGTH-WIDTH`.
struct Case {
    name: String,
    codec: String,
    /// The filter's client data, where the name has it.
    numbers: Vec<u32>,
    packed: Vec<u8>,
    expected: Vec<u8>,
    width: usize,
}

/// The bytes that `make.py` packed.
fn data(length: usize, width: usize) -> Vec<u8> {
    let value = |i: u64| ((i * i) >> 6) % 1009 + i / 7;
    let all = (0..=(length / width) as u64).flat_map(|i| value(i).to_le_bytes()[..width].to_vec());
    all.take(length).collect()
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/codec");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((codec, rest)) = name.split_once("--") else { continue };
        let (case, sizes) = rest.rsplit_once('.').unwrap();
        let (length, width) = sizes.split_once('-').unwrap();
        let (length, width): (usize, usize) = (length.parse().unwrap(), width.parse().unwrap());
        let numbers = case.split('_').skip(1).map(|n| n.parse().unwrap()).collect();
        let bytes = std::fs::read(entry.path()).unwrap();
        let (packed, expected) = match width {
            // What was packed stands in the file as well.
            0 if codec != "frame" => {
                let len = le::<u32>(&bytes, 0).unwrap() as usize;
                (bytes[4..4 + len].to_vec(), bytes[4 + len..].to_vec())
            }
            0 => (bytes, vec![0; length]),
            _ => (bytes, data(length, width)),
        };
        assert_eq!(expected.len(), length, "{name}");
        cases.push(Case { codec: codec.to_owned(), name, numbers, packed, expected, width });
    }
    assert!(cases.len() > 80, "the fixtures are not all there");
    cases
}

fn decode(case: &Case, packed: &[u8], most: usize) -> Result<Vec<u8>> {
    use bitshuffle::Inner;
    match case.codec.as_str() {
        "blosc" => blosc::decode(packed, most),
        "frame" => blosc2::decode(packed, most),
        "bitshuffle" => {
            let inner = [("plain", Inner::None), ("lz4", Inner::Lz4), ("zstd", Inner::Zstd)];
            let (_, inner) = inner.into_iter().find(|(word, _)| case.name.contains(word)).unwrap();
            bitshuffle::hdf5(packed, case.width, 0, inner, most)
        }
        "lz4hdf5" => lz4::hdf5(packed, most),
        "lzf" => lzf::decode(packed, most),
        "bzip2" => bzip2::decode(packed, most),
        "gzip" => gzip::gzip(packed, most),
        "zlib" => deflate::zlib(packed, most),
        "zstd" => zstd::decode(packed, most),
        "lzma" if case.name.contains("raw-") => {
            let filter = |id, value| lzma::Filter { id, value, literals: (3, 0, 2) };
            let delta = [filter(3, 4), filter(lzma::LZMA2, 1 << 16)];
            let one = [filter(lzma::LZMA1, 1 << 16)];
            lzma::raw(packed, if case.name.contains("delta") { &delta } else { &one }, most)
        }
        "lzma" => lzma::decode(packed, most),
        "scaleoffset" => scaleoffset::decode(packed, &case.numbers, most),
        "nbit" => nbit::decode(packed, &case.numbers, most),
        "szip" => szip::hdf5(packed, &case.numbers, most),
        other => panic!("{other}"),
    }
}

#[test]
fn what_reference_codecs_wrote() {
    let mut wrong = Vec::new();
    for case in cases() {
        match decode(&case, &case.packed, case.expected.len()) {
            Ok(bytes) if bytes == case.expected => {}
            Ok(bytes) => {
                let at = bytes.iter().zip(&case.expected).position(|(a, b)| a != b);
                wrong.push(format!("{}: {} bytes, different from {at:?}", case.name, bytes.len()));
            }
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
        // With more room than needed it is the same; with less an error.
        if decode(&case, &case.packed, case.expected.len() + 1000).ok().as_ref() != Some(&case.expected) {
            wrong.push(format!("{} with more room", case.name));
        }
        if decode(&case, &case.packed, case.expected.len() - 1).is_ok() {
            wrong.push(format!("{} with less room", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn damage_is_an_error_or_other_bytes() {
    let mut seed = 7u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n.max(1)
    };
    for case in cases() {
        let most = case.expected.len();
        let check = |bytes: &[u8]| match decode(&case, bytes, most) {
            Ok(out) => assert!(out.len() <= most, "{}", case.name),
            Err(error) => assert_ne!(error.kind(), ErrorKind::Bug, "{}: {error}", case.name),
        };
        for n in 0..40 {
            check(&case.packed[..case.packed.len() * n / 40]);
        }
        for round in 0..120 {
            let mut bytes = case.packed.clone();
            for _ in 0..=round % 4 {
                let reach = if round % 2 == 0 { bytes.len().min(64) } else { bytes.len() };
                bytes[below(reach)] ^= 1 << below(8);
            }
            check(&bytes);
        }
    }
}
