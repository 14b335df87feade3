//! Which files a document's reader may open: its own, and what lies in their folder; of a folder that is opened all of
//! it. References that lead elsewhere are refused.

use super::calls::Spec;
use super::limits;
use std::path::{Path, PathBuf};

/// The files and folders that a worker may open, with what is below them; `more` beside the document's own.
pub(super) fn folders(spec: &Spec, more: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = own(spec);
    all.extend_from_slice(more);
    all
}

/// The folders of filters that the user gave libhdf5, and where it looks for them otherwise.
pub(super) fn plugins() -> Vec<PathBuf> {
    let named = std::env::var_os("HDF5_PLUGIN_PATH").filter(|named| !named.is_empty());
    let usual = || vec![PathBuf::from("/usr/local/hdf5/lib/plugin")];
    named.map_or_else(usual, |named| std::env::split_paths(&named).collect())
}

fn own(spec: &Spec) -> Vec<PathBuf> {
    let path = match spec {
        Spec::Path(path) | Spec::Part { path, .. } => path,
        Spec::Bytes { .. } => return Vec::new(),
        Spec::Several(paths) => {
            let mut all: Vec<PathBuf> =
                paths.iter().flat_map(|path| own(&Spec::Path(path.clone()))).collect();
            all.sort();
            all.dedup();
            return all;
        }
    };
    if path.is_dir() {
        return std::iter::once(path.clone()).chain(contents_of_snapshot(path)).collect();
    }
    let folder = own_folder(path);
    // The file itself, too: it may be a link that leads elsewhere.
    let mut granted = vec![path.clone()];
    granted.extend(contents_of_snapshot(&folder));
    if is_too_much(&folder) {
        granted.extend(files_in(&folder));
    } else {
        granted.push(folder);
    }
    granted
}

/// The folder that a file lies in.
fn own_folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}

/// How the folders of what a hub has begin.
const HUB: [&str; 3] = ["models--", "datasets--", "spaces--"];

/// Where the files of a model hub's snapshot are: `MODEL/snapshots/REVISION` has links into `MODEL/blobs`, which is as
/// much the document's own as the links are.
/// Layout: <https://huggingface.co/docs/huggingface_hub/guides/manage-cache>.
fn contents_of_snapshot(folder: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(folder).ok()?;
    let snapshots =
        real.ancestors().find(|above| above.file_name().is_some_and(|name| name == "snapshots"))?;
    let model = snapshots.parent()?;
    let name = model.file_name()?.to_str()?;
    let is_of_a_hub = HUB.iter().any(|kind| name.starts_with(kind));
    let contents = model.join("blobs");
    // A link would lead wherever it wants.
    let is_there = std::fs::symlink_metadata(&contents).is_ok_and(|meta| meta.is_dir());
    (is_of_a_hub && is_there).then_some(contents)
}

/// Whether a folder holds the life of a user rather than a data set: the root, the home folder, and what lies above it.
fn is_too_much(folder: &Path) -> bool {
    let Ok(real) = std::fs::canonicalize(folder) else { return false };
    let home = std::env::home_dir().and_then(|home| std::fs::canonicalize(home).ok());
    real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real))
}

/// The files of a folder, without those that are hidden and without what lies in folders.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_shown = |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(b".");
    let shown = entries.flatten().filter(|entry| is_shown(&entry.file_name()));
    let files = shown.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|entry| entry.path()).take(limits::FOLDER).collect()
}

/// Whether a path is one that the worker may open.
pub(super) fn covers(spec: &Spec, more: &[PathBuf], path: &Path) -> bool {
    let Ok(real) = std::fs::canonicalize(path) else { return false };
    folders(spec, more)
        .iter()
        .filter_map(|granted| std::fs::canonicalize(granted).ok())
        .any(|granted| real.starts_with(granted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_may_open_its_own_folder_and_nothing_above_it() {
        let root = tempfile::tempdir().unwrap();
        let set = root.path().join("set");
        std::fs::create_dir_all(set.join("inner")).unwrap();
        for name in ["a.bin", "inner/b.bin", "../secret"] {
            std::fs::write(set.join(name), b"x").unwrap();
        }
        std::os::unix::fs::symlink("../secret", set.join("out")).unwrap();
        let file = Spec::Path(set.join("a.bin"));
        for name in ["a.bin", "inner/b.bin", ".", "inner/../a.bin"] {
            assert!(covers(&file, &[], &set.join(name)), "{name}");
        }
        for name in ["../secret", "out", "..", "none", "/etc/passwd"] {
            assert!(!covers(&file, &[], &set.join(name)), "{name}");
        }
        assert!(covers(&Spec::Path(set.clone()), &[], &set.join("inner")));
        let bytes = Spec::Bytes { name: "cell".to_owned(), bytes: bytes::Bytes::new() };
        assert!(!covers(&bytes, &[], &set.join("a.bin")));
        assert!(covers(&bytes, std::slice::from_ref(&set), &set.join("a.bin")));
        // A link that was named by the user is one that leads where the user wants.
        let link = Spec::Path(set.join("out"));
        assert!(covers(&link, &[], &root.path().join("secret")) && !covers(&link, &[], root.path()));
    }

    #[test]
    fn a_snapshot_of_a_model_hub_may_read_what_it_links_to() {
        let root = tempfile::tempdir().unwrap();
        let model = root.path().join("models--a--b");
        let snapshot = model.join("snapshots/0123");
        std::fs::create_dir_all(snapshot.join("inner")).unwrap();
        std::fs::create_dir(model.join("blobs")).unwrap();
        std::fs::write(model.join("blobs/abc"), b"x").unwrap();
        std::fs::write(root.path().join("secret"), b"x").unwrap();
        std::os::unix::fs::symlink("../../blobs/abc", snapshot.join("model.bin")).unwrap();
        std::os::unix::fs::symlink("../../../blobs/abc", snapshot.join("inner/part.bin")).unwrap();
        std::os::unix::fs::symlink("../../../secret", snapshot.join("out")).unwrap();
        for name in ["", "model.bin", "inner/part.bin"] {
            let spec = Spec::Path(snapshot.join(name));
            assert!(covers(&spec, &[], &model.join("blobs/abc")), "{name}");
            assert!(!covers(&spec, &[], &root.path().join("secret")), "{name}");
        }
        // Folders of these names that are no hub's.
        let other = root.path().join("hub");
        std::fs::create_dir_all(other.join("snapshots/x")).unwrap();
        std::fs::create_dir(other.join("blobs")).unwrap();
        assert!(!covers(&Spec::Path(other.join("snapshots/x")), &[], &other.join("blobs")));
        // Contents that lie elsewhere are not the model's.
        std::fs::rename(model.join("blobs"), root.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", model.join("blobs")).unwrap();
        assert!(!covers(&Spec::Path(snapshot), &[], &root.path().join("elsewhere/abc")));
    }

    #[test]
    fn files_of_a_folder_that_is_too_much_are_let_in_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..limits::FOLDER + 5 {
            std::fs::File::create(folder.path().join(n.to_string())).unwrap();
        }
        std::fs::File::create(folder.path().join(".hidden")).unwrap();
        assert_eq!(files_in(folder.path()).len(), limits::FOLDER);
    }

    #[test]
    fn the_root_and_the_home_folder_are_too_much() {
        assert!(is_too_much(Path::new("/")));
        let home = std::env::home_dir().unwrap();
        assert!(is_too_much(&home) && !is_too_much(&home.join("no such folder")));
    }
}
