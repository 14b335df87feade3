//! Damaged JSON and JSON Lines: beyond what [`crate::mutations`] does to every format, with pieces of the
//! grammar, deep nesting, and documents that are long enough for an index by segments. It knows the same
//! `GANDER_MUTATIONS=N` and `GANDER_MUTATED=DIR`.

use crate::fixtures::{Random, files, root, survives};
use rayon::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How many of each format without being asked for more.
const USUAL: usize = 400;
/// One of so many is repeated until the index of the document has segments.
const LARGE: usize = 100;
/// What a mutated file may take; the tests are not optimised.
const SOON: Duration = Duration::from_secs(2);

/// What JSON is made of, and what is not JSON.
const PIECES: [&[u8]; 20] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\n",
    b"\0",
    b"\xff",
    b"//",
    b"/*",
    b"NaN",
    b"1e999999",
    b"-",
    b"\\ud800",
    b"{\"a\":[",
    b"\"a\":1,",
    b"123456789012345678901234567890",
];

fn mutated(bytes: &[u8], random: &mut Random, large: bool) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if large {
        let item = [bytes, b",\n"].concat();
        out = [b"[".to_vec(), item.repeat((5 << 20) / item.len().max(1) + 1), b"0]".to_vec()].concat();
    }
    for _ in 0..1 + random.below(4) {
        let at = random.below(out.len());
        let end = (at + 1 + random.below(40)).min(out.len());
        let piece = PIECES[random.below(PIECES.len())];
        match random.below(8) {
            0 => out[at] ^= 1 << random.below(8),
            1 => drop(out.splice(at..at, piece.iter().copied())),
            2 => drop(out.splice(at..end, piece.iter().copied())),
            3 => drop(out.drain(at..end)),
            4 => out.truncate(at),
            5 => {
                let part = out[at..end].to_vec();
                out.splice(at..at, part);
            }
            6 => {
                let many = piece.repeat(1 + random.below(3_000));
                out.splice(at..at, many);
            }
            _ => out.rotate_left(at),
        }
        if out.is_empty() {
            out.push(b' ');
        }
    }
    out
}

fn each_mutation(format: &str) {
    let count = std::env::var("GANDER_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(USUAL);
    let from = std::env::var_os("GANDER_MUTATED").map_or_else(root, PathBuf::from);
    let mut paths = Vec::new();
    files(&from.join(format), true, &mut paths);
    // What is packed is damaged before it comes to us: another format's test.
    let texts: Vec<(String, Vec<u8>)> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e.to_string_lossy().contains("js")))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .filter(|(_, bytes)| !bytes.is_empty() && bytes.len() < 1 << 20)
        .collect();
    assert!(texts.len() > 5, "{format}: {} files", texts.len());
    let wrong: Vec<String> = (0..count)
        .into_par_iter()
        .filter_map(|n| {
            let (name, bytes) = &texts[n % texts.len()];
            let mut random = Random(n as u64);
            let what = format!("mutation {n}");
            let damaged = mutated(bytes, &mut random, n % LARGE == LARGE - 1);
            let (begun, len) = (Instant::now(), damaged.len());
            let problem = survives(name, damaged, &what);
            let took = begun.elapsed();
            let slow = took > SOON * if len > 1 << 20 { 5 } else { 1 };
            problem.or(slow.then(|| format!("{name}, {what}: {len} bytes took {took:?}")))
        })
        .collect();
    eprintln!("{count} mutations of {} files of {format}", texts.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn mutated_json() {
    each_mutation("json");
}

#[test]
fn mutated_json_lines() {
    each_mutation("jsonl");
}
