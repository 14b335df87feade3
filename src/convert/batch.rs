//! Many files to one target: where each of them goes.

use super::targets::Target;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The files in a folder that the sources become: none twice, none that is a source itself, and none that is `busy`. Each
/// source has with it the folders between `folder` and its file, which are empty as a rule.
pub fn places(
    folder: &Path,
    sources: &[(PathBuf, PathBuf)],
    target: &Target,
    busy: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let ending = target.extensions.first().copied().unwrap_or("out");
    let mut taken: HashSet<PathBuf> = sources.iter().map(|(file, _)| file.clone()).collect();
    let free = |(file, below): &(PathBuf, PathBuf)| {
        let stem = file.file_stem().map_or_else(|| "export".into(), |stem| stem.to_string_lossy());
        let names = (1u32..).map(|n| match n {
            1 => format!("{stem}.{ending}"),
            _ => format!("{stem}_{n}.{ending}"),
        });
        let path = names
            .map(|name| folder.join(below).join(name))
            .find(|path| !taken.contains(path) && !busy(path))
            .unwrap_or_default();
        taken.insert(path.clone());
        path
    };
    sources.iter().map(free).collect()
}

/// The files below a folder in the order of their names, each with the folders between, without what is hidden and
/// without following links.
///
/// # Errors
/// `Io`; `Limit` for more files or deeper folders than are converted at once.
pub fn files_below(folder: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), PathBuf::new(), 0usize)];
    while let Some((here, below, depth)) = open.pop() {
        let named = |error: std::io::Error| Error::from(error).in_file(here.display());
        for entry in std::fs::read_dir(&here).map_err(named)? {
            let entry = entry.map_err(named)?;
            let (name, kind) = (entry.file_name(), entry.file_type().map_err(named)?);
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() && depth < limits::DEPTH {
                open.push((entry.path(), below.join(&name), depth + 1));
            } else if kind.is_file() {
                found.push((entry.path(), below.clone()));
            }
            if found.len() as u64 > limits::WALKED {
                return Err(Error::limit("more files than are converted at once; name a folder in it")
                    .in_file(folder.display()));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_of_a_batch_replaces_another() {
        let files: Vec<(PathBuf, PathBuf)> =
            ["a/data.csv", "b/data.csv", "b/data.json", "out/x.jsonl", "out/x.parquet"]
                .map(|path| (PathBuf::from(path), PathBuf::new()))
                .into();
        let busy = |path: &Path| path == Path::new("out/data_2.parquet");
        let found = places(Path::new("out"), &files, Target::by_id("parquet").unwrap(), busy);
        let names = [
            "out/data.parquet",
            "out/data_3.parquet",
            "out/data_4.parquet",
            "out/x_2.parquet",
            "out/x_3.parquet",
        ];
        assert_eq!(found, names.map(PathBuf::from));
    }

    #[test]
    fn files_in_folders_keep_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        for name in ["x.csv", "a/y.csv", "a/b/x.csv", ".hidden"] {
            std::fs::write(folder.path().join(name), "n\n1\n").unwrap();
        }
        let found = files_below(folder.path()).unwrap();
        let below: Vec<&Path> = found.iter().map(|(_, below)| below.as_path()).collect();
        assert_eq!(below, [Path::new("a/b"), Path::new("a"), Path::new("")]);
        let to = places(Path::new("out"), &found, Target::by_id("npy").unwrap(), |_| false);
        assert_eq!(to, ["out/a/b/x.npy", "out/a/y.npy", "out/x.npy"].map(PathBuf::from));
    }
}
