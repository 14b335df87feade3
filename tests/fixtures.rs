//! What holds for every format, told by its fixtures: files in `fixtures/<id>/` are recognised, and neither
//! these, nor those in `malformed/`, nor what is left of them when they are cut or bits are turned, end in a
//! panic. A new format is held to it by its fixtures alone. Pictures are decoded by their own tests.

use gander::content::{Content, array};
use gander::format::{Format, Options};
use gander::formats::FORMATS;
use gander::node::Node;
use gander::open::{guarded, open_source};
use gander::region::Region;
use gander::{ErrorKind, Result, Source, Task};
use std::path::PathBuf;

/// The largest file that is damaged, in bytes, and how many of a format are.
const DAMAGED: (u64, usize) = (16 << 10, 8);
/// The largest array that is read.
const READ: u64 = 1 << 20;
/// Panics that damage causes inside of other crates and that end as `Bug`, by the format and words of the
/// panic. They are debts: a line goes when the format refuses such bytes before.
const DEBTS: [(&str, &str); 2] =
    [("parquet", "FloatingPoint type with precision of"), ("parquet", "num_bits <= size_of::<T>() * 8")];
/// Scripts and notes beside the fixtures.
const OTHERS: [&str; 3] = [".py", ".md", ".sh"];

/// The files right in `fixtures/<id>` or a folder of it, in the order of their names.
fn files(format: &Format, folder: &str) -> Vec<PathBuf> {
    let path = format!("{}/fixtures/{}/{folder}", env!("CARGO_MANIFEST_DIR"), format.id);
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let other = |path: &PathBuf| OTHERS.iter().any(|end| path.to_string_lossy().ends_with(end));
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file() && !other(path)).collect();
    files.sort();
    files
}

/// Reads some of what a node holds.
fn look(node: &Node) -> Result<()> {
    let task = Task::new();
    match &node.content {
        Some(Content::Table(table)) => {
            let columns: Vec<usize> = (0..table.schema().fields().len().min(50)).collect();
            table.read(&task, 0..50, &columns).map(|_| ())
        }
        Some(Content::Array(of)) => {
            let bytes = gander::limits::bytes(of.shape(), of.dtype().size())?;
            if bytes > READ {
                Ok(())
            } else {
                array::read(&**of, &task, &Region::all(of.shape())).map(|_| ())
            }
        }
        _ => Ok(()),
    }
}

/// What goes wrong with a source that must not; whatever is an honest error is none.
fn mistake(source: &Source) -> Option<String> {
    let task = Task::new();
    let opened = open_source(&task, source, &Options::default());
    let looked = opened.and_then(|document| {
        guarded(|| {
            let children = document.root.child_page(&task, 0..20)?;
            look(&document.root)?;
            children.iter().try_for_each(|child| look(&*child.resolved(&task)?))
        })
    });
    looked.err().filter(|error| error.kind() == ErrorKind::Bug).map(|error| error.to_string())
}

#[test]
fn fixtures_are_recognised() {
    let mut strange = Vec::new();
    for format in FORMATS {
        let all = files(format, "");
        let known = |path: &&PathBuf| {
            let document = gander::open(&Task::new(), path, &Options::default());
            document.is_ok_and(|document| document.format.id == format.id)
        };
        // Some folders have neighbours, which only look like the format.
        let count = all.iter().filter(known).count();
        if count * 2 < all.len() {
            strange.push(format!("{}: {count} of {} files", format.id, all.len()));
        }
    }
    assert!(strange.is_empty(), "{}", strange.join("\n"));
}

#[test]
fn no_fixture_is_a_mistake_of_ours() {
    let mut mistakes = Vec::new();
    for path in FORMATS.iter().flat_map(|format| [files(format, ""), files(format, "malformed")].concat()) {
        let found = Source::open(&Task::new(), &path).map_or_else(|e| Some(e.to_string()), |s| mistake(&s));
        mistakes.extend(found.map(|what| format!("{}: {what}", path.display())));
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn no_damage_is_a_mistake_of_ours() {
    let mut mistakes = Vec::new();
    for format in FORMATS {
        let small = |path: &PathBuf| path.metadata().is_ok_and(|meta| (1..DAMAGED.0).contains(&meta.len()));
        for path in files(format, "").into_iter().filter(small).take(DAMAGED.1) {
            let (name, bytes) = (path.file_name().unwrap().to_string_lossy(), std::fs::read(&path).unwrap());
            let mut damaged: Vec<(String, Vec<u8>)> = Vec::new();
            for part in 1..=4 {
                let len = bytes.len() * part / 5;
                damaged.push((format!("the first {len} bytes"), bytes[..len].to_vec()));
            }
            // Places all over the file, most of them near its ends, where headers are.
            for n in 0..8usize {
                let step = [1, 7, 30, bytes.len() / 3][n % 4] * (n + 1);
                let at = step % bytes.len();
                let at = if n < 4 { at } else { bytes.len() - 1 - at };
                let mut turned = bytes.clone();
                turned[at] ^= 1 << (n * 3 % 8);
                damaged.push((format!("a bit turned in byte {at}"), turned));
            }
            for (what, bytes) in damaged {
                let found = mistake(&Source::memory(name.as_ref(), bytes)).filter(|error| {
                    !DEBTS.iter().any(|(id, words)| *id == format.id && error.contains(words))
                });
                mistakes.extend(found.map(|error| format!("{}, {what}: {error}", path.display())));
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
