//! Damaged documents of each format, whole folders too: an error or what is left, soon, and never memory
//! beyond the limits. Half of them are damaged as files get damaged, half below their compression and checksums
//! ([`layers`]). `GANDER_MUTATIONS=N` makes N of each format (20 without it), `GANDER_MUTATED=DIR`
//! takes the documents from another folder, which has one folder a format as `fixtures/` does.
//!
//! `tests/mutants.py` takes many through the command line, each process with limits of its own; what is damaged
//! below its layers is written for it by [`mutants_are_written`].

mod headers;
mod layers;
mod words;

use crate::fixtures::{Random, root};
use crate::reading::read_all;
use gander::bytes::limits;
use gander::data::format::Options;
use gander::{ErrorKind, Task};
use rayon::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The system's allocator, which remembers the largest piece that was asked for.
struct Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// No document as small as a fixture may take longer; many times what any does, since tests share a machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// What is reported as slow where somebody looks.
const SLOW: Duration = Duration::from_secs(2);
/// Larger files are left alone: thousands of copies of them take too long.
const LARGEST_FILE: u64 = 4 << 20;

/// The documents of a format: files and folders, without those that are broken already.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let there = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !name.ends_with(".py")
            && !["golden.txt", "malformed", "__pycache__", "public"].contains(&name.as_ref())
    };
    let mut all: Vec<PathBuf> = there.filter(wanted).filter(|path| size(path) <= LARGEST_FILE).collect();
    all.sort();
    all
}

fn parts(path: &Path, out: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        out.push(path.to_owned());
        return;
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path).unwrap().flatten().map(|e| e.path()).collect();
    entries.sort();
    entries.iter().for_each(|entry| parts(entry, out));
}

fn size(path: &Path) -> u64 {
    let mut all = Vec::new();
    parts(path, &mut all);
    all.iter().filter_map(|part| part.metadata().ok()).map(|m| m.len()).sum()
}

/// Damages bytes in one of the ways in which files get damaged.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let place = |random: &mut Random, len: usize| {
        let reach = if random.below(2) == 0 { len.min(512) } else { len };
        random.below(reach)
    };
    for _ in 0..=random.below(4) {
        let at = place(random, bytes.len());
        let end = (at + 1 + random.below(8)).min(bytes.len());
        match random.below(9) {
            0..=3 => bytes[at..end].iter_mut().take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
            4 => bytes[at..end].fill(0xff),
            5 => bytes[at..end].fill(0),
            6 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8),
            7 => bytes.splice(at..at, (0..end - at).map(|_| b'[')).for_each(drop),
            _ => drop(bytes.drain(at..end)),
        }
        if bytes.is_empty() {
            return;
        }
    }
    if random.below(8) == 0 {
        let keep = random.below(bytes.len());
        bytes.truncate(keep);
    }
}

/// Opens and reads a damaged copy; what was wrong with that, and how long it took.
fn survives(path: &Path) -> (Option<String>, Duration) {
    let began = Instant::now();
    let opened = gander::open(&Task::new(), path, &Options::default());
    let errors = match opened {
        Ok(document) => read_all(&document).unwrap_or_else(|error| vec![error]),
        Err(error) => vec![error],
    };
    let bug = errors.iter().find(|error| error.kind() == ErrorKind::Bug).map(ToString::to_string);
    (bug, began.elapsed())
}

/// A copy of a document in which one file can be exchanged.
struct Copy {
    path: PathBuf,
    parts: Vec<PathBuf>,
    _folder: tempfile::TempDir,
}

fn copy(document: &Path) -> Copy {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(document.file_name().unwrap());
    let mut originals = Vec::new();
    parts(document, &mut originals);
    let mut copies = Vec::new();
    for original in &originals {
        let inside = original.strip_prefix(document).unwrap();
        let to = if inside.as_os_str().is_empty() { path.clone() } else { path.join(inside) };
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(original, &to).unwrap();
        copies.push(to);
    }
    Copy { path, parts: copies, _folder: folder }
}

/// `count` damaged forms of a document: what was wrong, the longest time and what took it.
fn of_document(document: &Path, count: usize) -> (Vec<String>, Duration) {
    let copy = copy(document);
    let mut longest = Duration::ZERO;
    let mut wrong = Vec::new();
    let name = document.file_name().unwrap().to_string_lossy();
    for round in 0..count {
        let mut random = Random(round as u64 * 7919 + size(document));
        random.below(2);
        let part = &copy.parts[random.below(copy.parts.len())];
        let whole = std::fs::read(part).unwrap();
        let mut bytes = whole.clone();
        if !bytes.is_empty() {
            match round % 2 {
                0 => damage(&mut bytes, &mut random),
                _ => layers::damage(&mut bytes, &mut random),
            }
        }
        // Never in place: what is mapped of the former round must not change under it.
        let exchanged = |bytes: &[u8]| {
            let beside = copy.path.with_extension("next");
            std::fs::write(&beside, bytes).unwrap();
            std::fs::rename(&beside, part).unwrap();
        };
        exchanged(&bytes);
        let (bug, took) = survives(&copy.path);
        exchanged(&whole);
        longest = longest.max(took);
        if took > SLOW && std::env::var_os("GANDER_MUTATIONS").is_some() {
            eprintln!("{name}, round {round}: {took:?}");
        }
        if took > PATIENCE {
            wrong.push(format!("{name}, round {round}: took {took:?}"));
        }
        wrong.extend(bug.map(|bug| format!("{name}, round {round}: {bug}")));
    }
    (wrong, longest)
}

#[test]
fn damaged_documents_end_soon_and_within_limits() {
    let asked = std::env::var("GANDER_MUTATIONS").ok().and_then(|text| text.parse::<usize>().ok());
    let from = std::env::var_os("GANDER_MUTATED").map_or_else(root, PathBuf::from);
    let mut formats: Vec<PathBuf> = std::fs::read_dir(from).unwrap().flatten().map(|e| e.path()).collect();
    formats.retain(|path| path.is_dir() && !path.ends_with("showcase"));
    formats.sort();
    let mut wrong = Vec::new();
    for folder in formats {
        let documents = documents(&folder);
        let each = asked.unwrap_or(20).div_ceil(documents.len().max(1));
        let began = Instant::now();
        let found: Vec<_> = documents.par_iter().map(|document| of_document(document, each)).collect();
        let longest = found.iter().map(|(_, longest)| *longest).max().unwrap_or_default();
        if asked.is_some() {
            let (count, name) = (each * documents.len(), folder.file_name().unwrap().to_string_lossy());
            let largest = LARGEST.load(Ordering::Relaxed) >> 20;
            eprintln!(
                "{name}: {count} in {:?}, the longest {longest:?}; largest piece of memory so far {largest} MiB",
                began.elapsed()
            );
        }
        wrong.extend(found.into_iter().flat_map(|(wrong, _)| wrong));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let largest = LARGEST.load(Ordering::Relaxed) as u64;
    assert!(largest <= limits::READ, "{largest} bytes were asked for at once");
}

/// Writes `GANDER_MUTATIONS` documents that are damaged below their layers into the folder `GANDER_MUTANTS`, from
/// `GANDER_SEED` on; all formats alike.
#[test]
#[ignore = "writes files for tests/mutants.py"]
fn mutants_are_written() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let to = PathBuf::from(std::env::var_os("GANDER_MUTANTS").expect("GANDER_MUTANTS names the folder"));
    let from = std::env::var_os("GANDER_MUTATED").map_or_else(root, PathBuf::from);
    let mut formats: Vec<PathBuf> = std::fs::read_dir(from).unwrap().flatten().map(|e| e.path()).collect();
    formats.retain(|path| path.is_dir() && !path.ends_with("showcase"));
    formats.sort();
    let formats: Vec<Vec<PathBuf>> = formats.iter().map(|folder| documents(folder)).collect();
    let formats: Vec<Vec<PathBuf>> = formats.into_iter().filter(|documents| !documents.is_empty()).collect();
    let (seed, count) = (number("GANDER_SEED").unwrap_or(0), number("GANDER_MUTATIONS").unwrap_or(100));
    (seed..seed + count).into_par_iter().for_each(|n| {
        let mut random = Random(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995);
        random.below(2);
        let documents = &formats[n as usize % formats.len()];
        let document = &documents[random.below(documents.len())];
        let path = to.join(format!("{n:06}-{}", document.file_name().unwrap().to_string_lossy()));
        let mut originals = Vec::new();
        parts(document, &mut originals);
        // A document of many files has one or some of them changed.
        let changed: Vec<usize> = (0..=random.below(2)).map(|_| random.below(originals.len())).collect();
        for (at, original) in originals.iter().enumerate() {
            let inside = original.strip_prefix(document).unwrap();
            let to = if inside.as_os_str().is_empty() { path.clone() } else { path.join(inside) };
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            let mut bytes = std::fs::read(original).unwrap();
            if changed.contains(&at) && !bytes.is_empty() {
                for _ in 0..=random.below(3) / 2 {
                    layers::damage(&mut bytes, &mut random);
                }
            }
            std::fs::write(to, bytes).unwrap();
        }
    });
}
