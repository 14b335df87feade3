//! Which values are tables: arrays of objects; arrays of arrays and of scalars where they are long; and
//! objects that wrap one: GeoJSON (<https://www.rfc-editor.org/rfc/rfc7946>), pandas' `table` and `split`
//! orients, the data in a Vega-Lite specification, COCO (<https://cocodataset.org/#format-data>), objects of
//! equally long arrays.

use super::columns;
use crate::content::{Content, Table};
use crate::display;
use crate::error::Result;
use crate::json::elements::{self, Commas, Elements};
use crate::json::record::{self, Columns, REST, Sample};
use crate::json::{Child, Document, Kind, Walk};
use crate::lines::TextTable;
use crate::task::Task;
use std::sync::Arc;

/// Bytes of an array's beginning that tell its columns, of the root and of others.
const ROOT: usize = 512 << 10;
const OTHER: usize = 64 << 10;
/// From so many bytes on an array of scalars or arrays below the root is a table too.
const LONG: u64 = 4 << 10;
/// Members of the root that are looked at for what it is.
const MEMBERS: usize = 1_000;
/// Bytes of them.
const FAR: u64 = 8 << 20;

/// A table that was found.
pub(super) struct Found {
    pub(super) content: Content,
    pub(super) remarks: Vec<String>,
}

/// The table that a document is as a whole.
pub(super) fn of_root(
    task: &Task,
    document: &Arc<Document>,
    start: u64,
    kind: Kind,
) -> Result<Option<Found>> {
    match kind {
        Kind::Array => array(task, document, start, ROOT, 0, Sample::default()),
        Kind::Object => wrapped(task, document, start),
        _ => Ok(None),
    }
}

/// The table that an array below the root is; it takes `len` bytes at most.
pub(super) fn of_array(task: &Task, document: &Arc<Document>, start: u64, len: u64) -> Result<Option<Found>> {
    let look = usize::try_from(len).map_or(OTHER, |len| len.clamp(2, OTHER));
    array(task, document, start, look, LONG, Sample::default())
}

fn array(
    task: &Task,
    document: &Arc<Document>,
    start: u64,
    look: usize,
    long: u64,
    mut sample: Sample,
) -> Result<Option<Found>> {
    let mut size = look;
    let source = document.source();
    let (bytes, last) = loop {
        let bytes = source.read_up_to(task, start + 1, size)?;
        let last = bytes.len() < size;
        let mut first = 0..0;
        let found = record::Split::split(&Commas, &bytes, 0, last, &mut first);
        // A first element longer than what is looked at: a few times more, then it is no table.
        if matches!(found, crate::lines::Step::Partial(_)) && size < 64 * OTHER {
            size *= 8;
            continue;
        }
        let kinds = bytes.get(first.start).copied();
        if matches!(kinds, None | Some(b']')) || first.is_empty() {
            return Ok(None);
        }
        if sample.shape.fields.is_empty() {
            sample.by_place = kinds == Some(b'[');
        }
        if kinds != Some(b'{') && long > 0 && !is_long(task, document, start, long)? {
            return Ok(None);
        }
        break (bytes, last);
    };
    let sample = elements::sample(&bytes, last, 20_000, sample);
    // Objects among other things are no table, but a list.
    let one_kind = sample.objects == 0 || sample.others == 0;
    if !one_kind || sample.rows() == 0 || sample.shape.fields.is_empty() {
        return Ok(None);
    }
    let remarks = remarks(&sample);
    let table =
        TextTable::new(Elements::new(document.clone(), start, &sample), Columns::new(Commas, &sample));
    Ok(Some(Found { content: Content::Table(Arc::new(table)), remarks }))
}

fn is_long(task: &Task, document: &Document, start: u64, long: u64) -> Result<bool> {
    let near = document.source().read_up_to(task, start, long as usize)?;
    Ok(near.len() as u64 == long && crate::json::stage::container(&near).is_none())
}

fn remarks(sample: &Sample) -> Vec<String> {
    let Some((place, error)) = &sample.first_bad else { return Vec::new() };
    let (count, first) = (display::plural(sample.bad, "element"), place - 1);
    vec![format!("{count} cannot be read and stand in the column {REST}; the first is {first}: {error}")]
}

/// The table inside an object that wraps one.
fn wrapped(task: &Task, document: &Arc<Document>, start: u64) -> Result<Option<Found>> {
    let (members, whole) = members(task, document, start)?;
    let member = |name: &str, kind: Kind| {
        members.iter().find(|child| child.name.as_deref() == Some(name) && child.kind == kind)
    };
    let named = |what: &str| vec![what.to_owned()];
    if let Some(features) = member("features", Kind::Array)
        && member("type", Kind::String).is_some_and(|kind| kind.value(40).0 == "FeatureCollection")
    {
        let sample = Sample { inner: Some("properties".to_owned()), ..Sample::default() };
        let found = array(task, document, features.span.start, ROOT, 0, sample)?;
        return Ok(found.map(|found| Found { remarks: named("GeoJSON: the rows are its features"), ..found }));
    }
    if let Some(images) = member("images", Kind::Array)
        && ["annotations", "categories", "licenses"].iter().any(|name| member(name, Kind::Array).is_some())
    {
        // Behind very many images the annotations are not looked for while the file opens.
        let (rows, words) = match member("annotations", Kind::Array) {
            Some(annotations) => (annotations, "COCO: the rows are its annotations"),
            None => (images, "COCO: the rows are its images"),
        };
        let found = array(task, document, rows.span.start, ROOT, 0, Sample::default())?;
        return Ok(found.map(|found| Found { remarks: named(words), ..found }));
    }
    let data = member("data", Kind::Array);
    if let (Some(data), Some(_)) = (data, member("schema", Kind::Object)) {
        return array(task, document, data.span.start, ROOT, 0, Sample::default());
    }
    if let (Some(data), Some(names)) = (data, member("columns", Kind::Array)) {
        return split(task, document, data.span.start, names);
    }
    if let Some(data) = member("data", Kind::Object)
        && let Some(values) = inner(task, document, data.span.start, "values")?
    {
        let found = array(task, document, values.span.start, ROOT, 0, Sample::default())?;
        return Ok(found.map(|found| Found { remarks: named("the rows are those of data/values"), ..found }));
    }
    if whole { columns::of(task, document, &members) } else { Ok(None) }
}

/// pandas' orient `split`: rows are lists, their names stand beside.
fn split(task: &Task, document: &Arc<Document>, start: u64, names: &Child) -> Result<Option<Found>> {
    let len = names.span.end - names.span.start;
    if len > ROOT as u64 {
        return Ok(None);
    }
    let raw = document.source().read(task, names.span.clone())?;
    let text = String::from_utf8_lossy(&raw);
    let Some(names) = record::elements(&text) else { return Ok(None) };
    let names: Vec<String> =
        names.into_iter().map(|raw| record::cell(raw).unwrap_or_default().into_owned()).collect();
    let sample = Sample { names, ..Sample::default() };
    array(task, document, start, ROOT, 0, sample)
}

/// The first members of an object, as far as they are found without a search through the whole file, and
/// whether these are all.
fn members(task: &Task, document: &Arc<Document>, start: u64) -> Result<(Vec<Child>, bool)> {
    let mut walk = Walk::new(task, document, start, 0)?.nearby();
    let mut members = Vec::new();
    while members.len() < MEMBERS && walk.place().saturating_sub(start) < FAR {
        match walk.next() {
            Ok(Some(child)) => members.push(child),
            Ok(None) => {
                let far = members.last().is_some_and(|last: &Child| last.span.end > walk.place());
                return Ok((members, !far));
            }
            Err(error) if error.is_cancelled() => return Err(error),
            Err(_) => break,
        }
    }
    Ok((members, false))
}

fn inner(task: &Task, document: &Arc<Document>, start: u64, name: &str) -> Result<Option<Child>> {
    let (members, _) = members(task, document, start)?;
    Ok(members.into_iter().find(|child| child.name.as_deref() == Some(name) && child.kind == Kind::Array))
}

/// A table as content.
pub(super) fn content(table: impl Table + 'static) -> Content {
    Content::Table(Arc::new(table))
}
