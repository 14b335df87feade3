//! NeXus: which dataset of a file is the one to be plotted, and what its axes are. A file's attributes name it
//! from the root on (`default`, then `signal` and `axes` of the group that holds the data); older files mark the
//! dataset itself (`signal=1`, with `axes` beside it, or `axis=1` at those that are its axes).
//! <https://manual.nexusformat.org/datarules.html#find-the-plottable-data>

use super::conventions;
use super::file_index::FileIndex;
use super::members;
use super::object::{Object, kind};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::cf;
use crate::data::node::Value;
use std::sync::Arc;

/// The members of a group that are looked at for marks.
const LOOKED_AT: u64 = 256;
/// The groups that a default may lead through.
const STEPS: usize = 8;

/// What a group plots.
pub(super) struct Plot {
    /// The dataset's name.
    pub(super) signal: String,
    /// The names of its axes; empty where nothing is said.
    pub(super) axes: Vec<String>,
}

/// A member of a group with its attributes.
struct Member {
    name: String,
    attributes: Vec<(String, Value)>,
    is_dataset: bool,
}

/// What the group at `address` plots, which has these attributes.
///
/// # Errors
/// Only a cancellation.
pub(super) fn plot(
    task: &Task,
    book: &Arc<FileIndex>,
    address: u64,
    attributes: &[(String, Value)],
) -> Result<Option<Plot>> {
    if let Some((signal, axes)) = conventions::signal(attributes) {
        return Ok(Some(Plot { signal, axes }));
    }
    if cf::text(attributes, "NX_class").as_deref() != Some("NXdata") {
        return Ok(None);
    }
    let members = members(task, book, address)?;
    let marked = |member: &&Member| cf::numbers(&member.attributes, "signal").first() == Some(&1.0);
    let Some(member) = members.iter().filter(|member| member.is_dataset).find(marked) else {
        return Ok(None);
    };
    let mut axes = conventions::axes(&member.attributes);
    if axes.is_empty() {
        let numbered = |member: &Member| {
            let number = cf::numbers(&member.attributes, "axis").first().copied()?;
            // Of several for one dimension the primary one.
            let primary = cf::numbers(&member.attributes, "primary").first() != Some(&1.0);
            Some((number as u64, primary, member.name.clone()))
        };
        let mut found: Vec<_> = members.iter().filter_map(numbered).filter(|(n, ..)| *n > 0).collect();
        found.sort();
        found.dedup_by_key(|(n, ..)| *n);
        let last = found.last().map_or(0, |(n, ..)| (*n).min(LOOKED_AT));
        let name = |n| {
            found.iter().find(|(axis, ..)| *axis == n).map_or(".", |(_, _, name)| name.as_str()).to_owned()
        };
        axes = (1..=last).map(name).collect();
    }
    Ok(Some(Plot { signal: member.name.clone(), axes }))
}

/// The path of the dataset that a file asks to begin with; `None` where it is no NeXus file, or names none.
///
/// # Errors
/// Only a cancellation.
pub(super) fn start(task: &Task, book: &Arc<FileIndex>, root: &[(String, Value)]) -> Result<Option<String>> {
    if !["NX_class", "NeXus_version", "default"].iter().any(|name| cf::text(root, name).is_some()) {
        return Ok(None);
    }
    let (mut address, mut path, mut attributes) = (book.root(), String::new(), root.to_vec());
    for _ in 0..STEPS {
        let plot = plot(task, book, address, &attributes)?;
        let found = match plot.map(|plot| plot.signal).or_else(|| cf::text(&attributes, "default")) {
            Some(name) => Some(name),
            // Without a name it is the first group of the class that is expected here.
            None => {
                let wanted = |member: &Member| {
                    let class = cf::text(&member.attributes, "NX_class");
                    !member.is_dataset && matches!(class.as_deref(), Some("NXentry" | "NXdata"))
                };
                members(task, book, address)?.into_iter().find(wanted).map(|member| member.name)
            }
        };
        let Some(name) = found else { return Ok(None) };
        let place = book
            .follow(task, address, &name)
            .unless_cancelled()?
            .ok()
            .flatten()
            .filter(|place| Arc::ptr_eq(&place.book, book));
        let Some(place) = place else { return Ok(None) };
        path = match name.strip_prefix('/') {
            Some(name) => format!("/{name}"),
            None => format!("{path}/{name}"),
        };
        let Some(member) = member(task, book, place.address, &name)? else { return Ok(None) };
        if member.is_dataset {
            return Ok(Some(path));
        }
        (address, attributes) = (place.address, member.attributes);
    }
    Ok(None)
}

/// The object at `address` with its attributes; `None` for one that cannot be read.
fn member(task: &Task, book: &Arc<FileIndex>, address: u64, name: &str) -> Result<Option<Member>> {
    let read = || -> Result<Member> {
        let object = Object::read(book.file(), task, address)?;
        let attributes = members::attributes(task, book, &object)?;
        let is_dataset = object.find(kind::LAYOUT).is_some();
        Ok(Member { name: name.to_owned(), attributes, is_dataset })
    };
    Ok(read().unless_cancelled()?.ok())
}

/// The first members of a group.
fn members(task: &Task, book: &Arc<FileIndex>, address: u64) -> Result<Vec<Member>> {
    let links = book
        .links(task, address)
        .and_then(|links| links.map_or(Ok(Vec::new()), |links| links.page(task, 0..LOOKED_AT)))
        .unless_cancelled()?
        .unwrap_or_default();
    let mut found = Vec::new();
    for link in links {
        let place = book
            .follow(task, address, &link.name)
            .unless_cancelled()?
            .ok()
            .flatten()
            .filter(|place| Arc::ptr_eq(&place.book, book));
        if let Some(place) = place {
            found.extend(member(task, book, place.address, &link.name)?);
        }
    }
    Ok(found)
}
