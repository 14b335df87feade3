//! Where the pictures of a document lie: in its folder or the one above, there or in a folder that is called as the usual
//! ones are (`images`, `train2017`), or in any other that has the first of them.

use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use std::path::{Path, PathBuf};

/// Folders that are looked into.
const FOLDERS: usize = 64;

/// Where they are.
#[derive(Default)]
pub(super) struct Found {
    /// The folder that paths start from; `None` where the document lies in none.
    pub(super) folder: Option<PathBuf>,
    /// What stands before the name of each picture.
    pub(super) prefix: String,
    /// What stands before the name of each mask of segments.
    pub(super) masks: Option<String>,
    /// Whether any was found.
    pub(super) any: bool,
}

/// Looks for the pictures of these names.
pub(super) fn find(task: &Task, source: &Source, names: &[String]) -> Result<Found> {
    let Some(own) = source.path().and_then(Path::parent) else { return Ok(Found::default()) };
    let own = if own.as_os_str().is_empty() { Path::new(".") } else { own };
    let stem = source.name().split('.').next().unwrap_or_default();
    let above = std::path::absolute(own).ok().and_then(|own| own.parent().map(Path::to_owned));
    let mut found = Found { folder: Some(own.to_owned()), ..Found::default() };
    let own_name =
        std::path::absolute(own).ok().and_then(|own| Some(own.file_name()?.to_string_lossy().into_owned()));
    // The usual places of both before any other folder.
    let both = [Some(own.to_owned()), above];
    for (folder, usual) in
        both.iter().map(|folder| (folder, true)).chain(both.iter().map(|folder| (folder, false)))
    {
        let Some(folder) = folder else { continue };
        let Ok(open) = Source::open(task, folder).unless_cancelled()? else { continue };
        let prefix = match usual {
            true => usual_prefix(&open, stem, names),
            false => any_prefix(task, &open, names)?,
        };
        let Some(prefix) = prefix else { continue };
        (found.prefix, found.any, found.folder) = (prefix, true, Some(folder.clone()));
        break;
    }
    if stem.contains("panoptic") {
        let is_here = found.folder.as_deref() == Some(own);
        let before = match (is_here, own_name) {
            (false, Some(name)) => format!("{name}/"),
            _ => String::new(),
        };
        found.masks = Some(format!("{before}{stem}/"));
    }
    Ok(found)
}

/// Whether one of the pictures is there.
fn has(folder: &Source, prefix: &str, names: &[String]) -> bool {
    names.iter().any(|name| folder.size_of(&format!("{prefix}{name}")).is_ok())
}

/// What stands before the names of pictures where they lie in a folder that is called as usual.
fn usual_prefix(folder: &Source, stem: &str, names: &[String]) -> Option<String> {
    // instances_train2017 goes with train2017.
    let last = stem.rsplit('_').next().unwrap_or_default();
    let set = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let usual = [
        String::new(),
        "images/".to_owned(),
        format!("{last}/"),
        format!("images/{last}/"),
        format!("{set}/"),
        format!("images/{set}/"),
        "data/".to_owned(),
        "JPEGImages/".to_owned(),
        "img/".to_owned(),
    ];
    usual.into_iter().find(|prefix| has(folder, prefix, names))
}

/// The same of any folder, but those of segments.
fn any_prefix(task: &Task, folder: &Source, names: &[String]) -> Result<Option<String>> {
    let Ok(entries) = folder.some_entries(task, FOLDERS).unless_cancelled()? else { return Ok(None) };
    let folders = entries.into_iter().filter(|entry| entry.is_folder && !entry.name.contains("panoptic"));
    Ok(folders.map(|entry| format!("{}/", entry.name)).find(|prefix| has(folder, prefix, names)))
}
