//! The inputs that the fuzz targets begin with: our fixtures, each behind the byte that names its format.

#[path = "../fuzz/src/lib.rs"]
#[allow(
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the library of the fuzz targets, which reads as these tests do"
)]
mod targets;

use crate::fixtures::{files, root};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use targets::families::{FAMILIES, formats, selector};

/// Formats of folders that may be packed, too: their content tells what they are.
const PACKED: [&str; 2] = ["zarr", "tf_checkpoint"];

/// Larger inputs make a fuzzer slow, and what is beyond them is values.
const LARGEST: usize = 64 << 10;

/// The fixtures of a format that are single files, the broken ones too.
fn seeds(format: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for folder in [root().join(format), root().join(format).join("malformed")] {
        let there = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_seed = |path: &PathBuf| {
            path.is_file() && !path.ends_with("golden.txt") && path.extension() != Some("py".as_ref())
        };
        out.extend(there.filter(is_seed));
    }
    out.sort();
    out
}

/// A folder as a ZIP archive whose members are stored.
fn archive(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    files(folder, true, &mut all);
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for path in all {
        let name = path.strip_prefix(folder.parent().unwrap()).unwrap().to_string_lossy().into_owned();
        writer.start_file(name, stored).unwrap();
        writer.write_all(&fs::read(path).unwrap()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn every_format_of_a_file_is_in_one_family() {
    let mut wrong = Vec::new();
    for format in gander::formats::FORMATS {
        let count = FAMILIES.iter().filter(|(_, formats)| formats.contains(&format.id)).count();
        if count > 1 || count == 0 && !seeds(format.id).is_empty() && !PACKED.contains(&format.id) {
            wrong.push(format!("{}: in {count} families", format.id));
        }
    }
    let unknown =
        FAMILIES.iter().flat_map(|(_, formats)| *formats).filter(|id| gander::formats::by_id(id).is_none());
    wrong.extend(unknown.map(|id| format!("{id}: there is no such format")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn targets_open_their_seeds() {
    let all: Vec<(&str, u8, PathBuf)> = FAMILIES
        .iter()
        .flat_map(|(family, ids)| ids.iter().map(move |id| (*family, *id)))
        .flat_map(|(family, id)| {
            seeds(id).into_iter().map(move |path| (family, selector(family, id).unwrap(), path))
        })
        .filter(|(.., path)| path.metadata().is_ok_and(|about| about.len() <= LARGEST as u64))
        .collect();
    assert!(all.len() > 1_000, "{} seeds", all.len());
    // What is a bug in a reader panics.
    all.par_iter().for_each(|(family, selector, path)| {
        targets::open(family, &[&[*selector], fs::read(path).unwrap().as_slice()].concat());
    });
}

/// Writes the seeds of all targets into the folder `GANDER_SEEDS`, a folder a target.
#[test]
#[ignore = "writes files for the fuzz targets"]
fn seeds_are_written() {
    let to = PathBuf::from(std::env::var_os("GANDER_SEEDS").expect("GANDER_SEEDS names the folder"));
    let write = |family: &str, name: &str, selector: u8, bytes: &[u8]| {
        if bytes.len() <= LARGEST {
            let folder = to.join(family);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(name), [&[selector], bytes].concat()).unwrap();
        }
    };
    let single: BTreeSet<&str> = FAMILIES.iter().flat_map(|(_, formats)| formats.iter().copied()).collect();
    for (family, ids) in FAMILIES {
        for id in *ids {
            for path in seeds(id) {
                let name = format!("{id}-{}", path.file_name().unwrap().to_string_lossy());
                write(family, &name, selector(family, id).unwrap(), &fs::read(path).unwrap());
            }
        }
    }
    // What is a folder goes in as an archive, whose content then tells what it is.
    let family = "containers";
    let by_content = u8::try_from(formats(family).len()).unwrap();
    for format in gander::formats::FORMATS.iter().filter(|format| !single.contains(format.id)) {
        for path in seeds(format.id) {
            let name = format!("{}-{}", format.id, path.file_name().unwrap().to_string_lossy());
            write(family, &name, by_content, &fs::read(path).unwrap());
        }
        let there =
            fs::read_dir(root().join(format.id)).into_iter().flatten().flatten().map(|entry| entry.path());
        for folder in there
            .filter(|path| path.is_dir() && !path.ends_with("malformed") && !path.ends_with("__pycache__"))
        {
            let name = format!("{}-{}", format.id, folder.file_name().unwrap().to_string_lossy());
            write(family, &name, by_content, &archive(&folder));
        }
    }
}
