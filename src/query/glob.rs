//! Patterns of file names: `*`, `?`, `[a-z]` within a name, `**` for any folders.

use super::catalog::folder;
use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use glob::Pattern;
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
    let pattern = compiled(&name)?;
    for entry in &entries {
        let hidden = entry.name.starts_with('.') && !name.starts_with('.');
        // Only the last part may be a file.
        let fits = entry.is_folder || rest.is_empty();
        if !hidden && fits && pattern.matches(&entry.name) {
            walk(task, at.join(OsStr::new(&entry.name)), rest, deep, found)?;
        }
    }
    Ok(())
}

/// A pattern of one name: a bracket without its end is a letter, `[^` is `[!`, several stars are one.
fn compiled(pattern: &str) -> Result<Pattern> {
    let mut text = pattern.replace("[^", "[!");
    while text.contains("**") {
        text = text.replace("**", "*");
    }
    Pattern::new(&text)
        .or_else(|_| Pattern::new(&text.replace('[', "[[]")))
        .map_err(|e| Error::unsupported(format!("the pattern {pattern:?}: {}", e.msg)))
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
            ("[^a]**", "bx"),
        ];
        let no = [("*.csv", "a.csv.gz"), ("a?c", "ac"), ("[a-c]*", "delta"), ("[!a]x", "ax"), ("", "a")];
        assert!(yes.iter().all(|(p, n)| compiled(p).unwrap().matches(n)));
        assert!(no.iter().all(|(p, n)| !compiled(p).unwrap().matches(n)));
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
