//! What folders mean, from a bounded look at them.

use crate::bytes::display::natural_order;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::sniff::has_extension;
use crate::engines::annotations::folder::{Place, is_split};
use crate::engines::annotations::is_picture;
use std::collections::BTreeSet;

/// Names in a folder that are looked at.
const LOOK: usize = 48;
/// Folders that are looked into for what they hold.
const FOLDERS: usize = 12;
/// The most classes.
const CLASSES: usize = 100_000;
/// Files that lie beside the folders.
const BESIDE: &[&str] = &[
    "txt", "md", "json", "jsonl", "csv", "tsv", "parquet", "yaml", "yml", "xml", "html", "py", "pdf",
    "names", "ini",
];
/// Folders that are no classes, but what others are about.
const PARTS: &[&str] = &[
    "images",
    "image",
    "img",
    "imgs",
    "labels",
    "label",
    "masks",
    "mask",
    "annotations",
    "annotation",
    "jpegimages",
    "imagesets",
    "segmentationclass",
    "segmentationobject",
    "depth",
    "gt",
    "ground_truth",
    "groundtruth",
    "bbox",
    "boxes",
    "keypoints",
    "seg",
    "rgb",
    "left",
    "right",
    "input",
    "output",
    "inputs",
    "outputs",
    "thumbnails",
    "cache",
];

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// Folders of pictures.
    pub(super) places: Vec<Place>,
    /// The folders that metadata may lie in: the data set's, or those of the splits; with the split.
    pub(super) roots: Vec<Place>,
}

impl Layout {
    pub(super) fn has_labels(&self) -> bool {
        self.places.iter().any(|place| place.label.is_some())
    }

    pub(super) fn has_splits(&self) -> bool {
        self.places.iter().any(|place| place.split.is_some())
    }

    /// Whether the pictures lie in the folder itself.
    pub(super) fn is_flat(&self) -> bool {
        !self.has_labels() && !self.has_splits()
    }

    pub(super) fn classes(&self) -> BTreeSet<&str> {
        self.places.iter().filter_map(|place| place.label.as_deref()).collect()
    }
}

fn shown(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| !entry.name.starts_with('.') && entry.name != "__MACOSX")
}

/// Whether a file may lie beside pictures.
fn is_beside(name: &str) -> bool {
    has_extension(name, BESIDE) || !name.contains('.') || name == "Thumbs.db" || name == "desktop.ini"
}

/// Whether the names in a folder may be those of a data set: nothing is looked into.
pub(super) fn may_be(entries: &[Entry]) -> bool {
    let folders = shown(entries).filter(|entry| entry.is_folder).count();
    let has_metadata = shown(entries).any(|entry| super::metadata::is_metadata(&entry.name));
    let files = || shown(entries).filter(|entry| !entry.is_folder);
    let fits = |entry: &Entry| is_beside(&entry.name) || has_metadata && is_picture(&entry.name);
    let is_part = |entry: &Entry| entry.is_folder && PARTS.contains(&entry.name.to_lowercase().as_str());
    files().all(fits) && (has_metadata || !shown(entries).any(is_part)) && (folders > 0 || has_metadata)
}

/// What a few names of a folder tell.
#[derive(Debug, Default, PartialEq, Eq)]
struct Glance {
    pictures: usize,
    others: usize,
    folders: usize,
}

fn glance(task: &Task, root: &Source, path: &str) -> Result<Glance> {
    let mut glance = Glance::default();
    let Ok(folder) = root.child(task, path).unless_cancelled()? else { return Ok(glance) };
    let Ok(entries) = folder.some_entries(task, LOOK).unless_cancelled()? else { return Ok(glance) };
    for entry in shown(&entries) {
        match entry.is_folder {
            true => glance.folders += 1,
            false if is_picture(&entry.name) => glance.pictures += 1,
            false if super::metadata::is_metadata(&entry.name) => {}
            false => glance.others += 1,
        }
    }
    Ok(glance)
}

/// Whether all of some of these folders have pictures and nothing else to speak of.
fn are_classes(task: &Task, root: &Source, paths: &[String]) -> Result<bool> {
    let step = paths.len().div_ceil(FOLDERS).max(1);
    let mut seen = 0;
    for path in paths.iter().step_by(step) {
        let found = glance(task, root, path)?;
        if found == Glance::default() {
            continue;
        }
        if found.pictures == 0 || found.folders > 0 || found.others * 4 > found.pictures {
            return Ok(false);
        }
        seen += 1;
    }
    Ok(seen > 0)
}

fn folders(entries: &[Entry], before: &str) -> Vec<String> {
    let mut names: Vec<&str> =
        shown(entries).filter(|entry| entry.is_folder).map(|entry| entry.name.as_str()).collect();
    names.sort_by(|a, b| natural_order(a, b));
    names.truncate(CLASSES);
    names.into_iter().map(|name| format!("{before}{name}")).collect()
}

fn last(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// The layout of a folder; `None` where it is another's.
pub(super) fn find(task: &Task, root: &Source, entries: &[Entry]) -> Result<Option<Layout>> {
    let below = folders(entries, "");
    let has_metadata = shown(entries).any(|entry| super::metadata::is_metadata(&entry.name));
    if !below.is_empty() && below.iter().all(|name| is_split(name)) {
        return splits(task, root, &below);
    }
    let class = |path: &String| Place { label: Some(last(path)), path: path.clone(), split: None };
    let whole = vec![Place::default()];
    if below.len() > 1 && are_classes(task, root, &below)? {
        return Ok(Some(Layout { places: below.iter().map(class).collect(), roots: whole }));
    }
    let has_pictures = shown(entries).any(|entry| !entry.is_folder && is_picture(&entry.name));
    if has_metadata && (has_pictures || !below.is_empty()) {
        return Ok(Some(Layout { places: whole.clone(), roots: whole }));
    }
    Ok(None)
}

/// Folders of splits: of pictures, or of classes.
fn splits(task: &Task, root: &Source, names: &[String]) -> Result<Option<Layout>> {
    let mut layout = Layout::default();
    for name in names {
        let split = Some(name.clone());
        let found = glance(task, root, name)?;
        if found.folders == 0 {
            if found.pictures == 0 || found.others * 4 > found.pictures {
                return Ok(None);
            }
            layout.places.push(Place { path: name.clone(), label: None, split: split.clone() });
        } else {
            let Ok(folder) = root.child(task, name).unless_cancelled()? else { return Ok(None) };
            let Ok(entries) = folder.some_entries(task, CLASSES).unless_cancelled()? else { return Ok(None) };
            let classes = folders(&entries, &format!("{name}/"));
            let is_part = |path: &String| PARTS.contains(&last(path).to_lowercase().as_str());
            if classes.iter().any(is_part) || !are_classes(task, root, &classes)? {
                return Ok(None);
            }
            let class = |path: String| Place { label: Some(last(&path)), path, split: split.clone() };
            layout.places.extend(classes.into_iter().map(class));
        }
        layout.roots.push(Place { path: name.clone(), label: None, split });
    }
    // One folder of pictures is too little to go by.
    let is_thin = layout.places.len() < 2;
    let said = |place: &Place| Ok(super::metadata::beside(task, root, &place.path)?.is_some());
    let is_said = layout.roots.iter().map(said).collect::<Result<Vec<bool>>>()?.contains(&true);
    Ok((!is_thin || is_said).then_some(layout))
}
