//! Where the base model of an adapter lies: the folder that its configuration names, a folder of that name near by, the
//! folder that the adapter lies in, or the only model beside it.

use super::weights::Weights;
use super::{CONFIG, PIPELINE, has};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::system;
use crate::bytes::task::Task;
use std::path::{Path, PathBuf};

/// The most folders beside an adapter that are looked into.
const BESIDE: usize = 200;

/// Whether a folder holds a model's weights, other than an adapter's.
fn weights(task: &Task, folder: &Path) -> Result<Option<Weights>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let listed = Source::open(task, folder).and_then(|source| source.entries(task));
    let Ok(entries) = listed.unless_cancelled()? else { return Ok(None) };
    if !has(&entries, CONFIG) || has(&entries, PIPELINE) {
        return Ok(None);
    }
    let entries: Vec<_> = entries.into_iter().filter(|entry| !entry.name.starts_with("adapter_")).collect();
    Ok(Weights::among(&entries))
}

/// The snapshot of a folder of a hub cache: the one that `refs/main` names, or the only one.
pub(super) fn snapshot(task: &Task, folder: &Path) -> Result<Option<PathBuf>> {
    let snapshots = folder.join("snapshots");
    if !snapshots.is_dir() {
        return Ok(None);
    }
    let source = Source::open(task, folder)?;
    if let Ok(reference) = source.child(task, "refs/main").unless_cancelled()? {
        let revision = reference.read_up_to(task, 0, 200)?;
        let revision = String::from_utf8_lossy(&revision).trim().to_owned();
        let is_plain = !revision.is_empty() && !revision.contains(['/', '\\']) && !revision.starts_with('.');
        if is_plain && snapshots.join(&revision).is_dir() {
            return Ok(Some(snapshots.join(revision)));
        }
    }
    let entries = Source::open(task, &snapshots)?.entries(task)?;
    Ok(entries.iter().rfind(|entry| entry.is_folder).map(|entry| snapshots.join(&entry.name)))
}

/// A folder that may hold the base model.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) weights: Weights,
    /// Whether it has the name that the adapter says.
    pub(super) is_named: bool,
}

/// The folders that may hold the base model, the likeliest first.
pub(super) fn candidates(task: &Task, adapter: &Path, name: &str) -> Result<Vec<Candidate>> {
    let adapter = std::fs::canonicalize(adapter).unwrap_or_else(|_| adapter.to_owned());
    let parents: Vec<&Path> = adapter.ancestors().take(4).collect();
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let cached = format!("models--{}", name.replace('/', "--"));
    let mut named = Vec::new();
    if !name.is_empty() {
        if Path::new(name).is_absolute() {
            named.push(PathBuf::from(name));
        }
        for parent in &parents {
            named.extend([name, last, cached.as_str()].map(|name| parent.join(name)));
            named.extend(parent.file_name().is_some_and(|own| own == last).then(|| parent.to_path_buf()));
        }
    }
    // Who opens an adapter has not asked for other machines to be asked.
    named.retain(|place| !system::is_elsewhere(place));
    let mut near = vec![adapter.clone(), adapter.join("base"), adapter.join("base_model")];
    if let Some(parent) = adapter.parent() {
        near.push(parent.to_owned());
        let beside = Source::open(task, parent).and_then(|source| source.entries(task));
        let beside = beside.unless_cancelled()?.unwrap_or_default();
        let folders = beside.into_iter().filter(|entry| entry.is_folder && !entry.name.starts_with('.'));
        near.extend(folders.take(BESIDE).map(|entry| parent.join(entry.name)));
    }
    let mut found: Vec<Candidate> = Vec::new();
    let places =
        named.into_iter().map(|place| (place, true)).chain(near.into_iter().map(|place| (place, false)));
    for (place, is_named) in places {
        let place = match snapshot(task, &place).unless_cancelled()? {
            Ok(Some(inner)) => inner,
            _ => place,
        };
        let path = std::fs::canonicalize(&place).unwrap_or(place);
        if found.iter().all(|known| known.path != path)
            && let Some(weights) = weights(task, &path)?
        {
            found.push(Candidate { path, weights, is_named });
        }
    }
    Ok(found)
}

/// The path that leads from one folder to another.
pub(super) fn relative(from: &Path, to: &Path) -> String {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (from, to) = (real(from), real(to));
    for (up, parent) in from.ancestors().take(5).enumerate() {
        if let Ok(rest) = to.strip_prefix(parent) {
            let steps = vec![".."; up].into_iter().map(str::to_owned);
            let parts = rest.iter().map(|part| part.to_string_lossy().into_owned());
            let path = steps.chain(parts).collect::<Vec<_>>().join("/");
            return if path.is_empty() { ".".to_owned() } else { path };
        }
    }
    to.display().to_string()
}
