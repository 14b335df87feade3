//! Patterns of file names: `*`, `?`, `[a-z]` within a name, `**` for any folders.

use super::catalog::folder;
use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The most files of one pattern.
const FILES: usize = 100_000;
/// How deep `**` goes.
const DEEP: usize = 16;

/// Whether a path has signs of a pattern.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The files that match, in natural order. Names that begin with a dot only match a pattern that does.
pub(super) fn files(task: &Task, pattern: &Path) -> Result<Vec<PathBuf>> {
    let parts: Vec<Component> = pattern.components().collect();
    let mut found = Vec::new();
    walk(task, PathBuf::new(), &parts, 0, &mut found)?;
    found.sort_by(|a, b| natural_order(&a.to_string_lossy(), &b.to_string_lossy()));
    found.dedup();
    Ok(found)
}

fn walk(task: &Task, at: PathBuf, parts: &[Component], deep: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    task.check()?;
    let Some((first, rest)) = parts.split_first() else {
        if found.len() >= FILES {
            return Err(Error::limit(format!("a pattern of more than {FILES} files")));
        }
        found.push(at);
        return Ok(());
    };
    let name = match first {
        Component::Normal(name) if is_pattern(&name.to_string_lossy()) => name.to_string_lossy(),
        other => {
            let next = at.join(other.as_os_str());
            return if next.exists() { walk(task, next, rest, deep, found) } else { Ok(()) };
        }
    };
    let Some(source) = folder(task, &at) else { return Ok(()) };
    let entries = source.entries(task)?;
    if name == "**" {
        walk(task, at.clone(), rest, deep, found)?;
        for entry in entries.iter().filter(|e| e.is_folder && !e.name.starts_with('.') && deep < DEEP) {
            walk(task, at.join(&entry.name), parts, deep + 1, found)?;
        }
        return Ok(());
    }
    for entry in &entries {
        let hidden = entry.name.starts_with('.') && !name.starts_with('.');
        // Only the last part may be a file.
        let fits = entry.is_folder || rest.is_empty();
        if !hidden && fits && matches(&name, &entry.name) {
            walk(task, at.join(OsStr::new(&entry.name)), rest, deep, found)?;
        }
    }
    Ok(())
}

/// Whether a name fits a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where the last star stood, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while let Some(&letter) = name.get(n) {
        let one = match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => set(&pattern, p, letter),
            Some(c) => (*c == letter).then_some(p + 1),
            None => None,
        };
        match (one, star) {
            (Some(next), _) => {
                p = next;
                n += 1;
            }
            (None, Some((at, taken))) => {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
            (None, None) => return false,
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// Behind a set `[abc]`, `[a-z]`, `[!a]` at `at` if the letter is in it; a bracket without its end is a
/// letter.
fn set(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    let Some(end) = pattern.iter().skip(at + 2).position(|c| *c == ']').map(|n| at + 2 + n) else {
        return (letter == '[').then_some(at + 1);
    };
    let not = matches!(pattern.get(at + 1), Some('!' | '^'));
    let mut inside = pattern.get(at + 1 + usize::from(not)..end).unwrap_or_default();
    let mut has = false;
    loop {
        inside = match inside {
            [low, '-', high, rest @ ..] => {
                has |= (*low..=*high).contains(&letter);
                rest
            }
            [one, rest @ ..] => {
                has |= *one == letter;
                rest
            }
            [] => break,
        };
    }
    (has != not).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let yes = [
            ("*.csv", "a.csv"),
            ("a?c", "abc"),
            ("[a-c]*", "beta"),
            ("[!a]x", "bx"),
            ("*", ""),
            ("a*b*c", "aXbYbc"),
            ("[", "["),
        ];
        let no = [("*.csv", "a.csv.gz"), ("a?c", "ac"), ("[a-c]*", "delta"), ("[!a]x", "ax"), ("", "a")];
        assert!(yes.iter().all(|(p, n)| matches(p, n)));
        assert!(no.iter().all(|(p, n)| !matches(p, n)));
    }

    #[test]
    fn files_below_folders() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "a\n1\n").unwrap();
        };
        ["x/p10.csv", "x/p9.csv", "x/y/q.csv", "x/.h.csv", "x/n.txt"].into_iter().for_each(put);
        let names = |pattern: &str| {
            let found = files(&Task::new(), &folder.path().join(pattern)).unwrap();
            found.iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("x/*.csv"), ["p9.csv", "p10.csv"]);
        assert_eq!(names("**/*.csv"), ["p9.csv", "p10.csv", "q.csv"]);
        assert_eq!(names("?/y/*"), ["q.csv"]);
    }
}
