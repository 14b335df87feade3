//! Which values are tables: arrays of objects; arrays of arrays and of scalars where they are long; and
//! objects that wrap one: GeoJSON (<https://www.rfc-editor.org/rfc/rfc7946>), pandas' `table` and `split`
//! orients, the data in a Vega or Vega-Lite specification (<https://vega.github.io/vega/docs/data/>,
//! <https://vega.github.io/vega-lite/docs/data.html>), COCO (<https://cocodataset.org/#format-data>), objects of
//! equally long arrays.

use super::columns;
use crate::bytes::display;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::{Content, Table};
use crate::engines::delimited::TextTable;
use crate::engines::json::elements::{self, Commas, Elements};
use crate::engines::json::index::Mark;
use crate::engines::json::late_fields::LateFields;
use crate::engines::json::record::{self, Columns, REST, Sample};
use crate::engines::json::{Child, Document, Kind, Walk};
use std::sync::Arc;

/// Bytes of an array's beginning that tell its columns, of the root and of others.
const ROOT: usize = 512 << 10;
const OTHER: usize = 64 << 10;
/// From so many bytes on an array of scalars or arrays below the root is a table too.
const LONG: u64 = 4 << 10;
/// Members of the root that are looked at for what it is.
const MEMBERS: usize = 1_000;
/// Datasets of a Vega specification that are looked at.
const DATASETS: u64 = 100;
/// Bytes of a name or of the address of a schema.
const SCHEMA: usize = 1_000;
/// Bytes of the members.
const FAR: u64 = 8 << 20;

/// A table that was found.
pub(super) struct Found {
    pub(super) content: Content,
    pub(super) remarks: Vec<String>,
    /// What is odd about its rows, as they are read.
    pub(super) met: Arc<LateFields>,
}

impl Found {
    /// With a sentence about which rows these are.
    fn said(mut self, words: impl Into<String>) -> Found {
        self.remarks.insert(0, words.into());
        self
    }
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
        let found = record::Split::split(&mut Commas::default(), &bytes, 0, last, &mut first);
        // A first element longer than what is looked at: a few times more, then it is no table.
        if matches!(found, crate::engines::delimited::Step::Partial(_)) && size < 64 * OTHER {
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
    let seen = start + 1 + sample.bytes;
    let pages = Elements::new(document.clone(), start, &sample);
    if sample.whole {
        pages.ended(task, Mark { child: 0, at: start + 1 }, sample.rows(), seen)?;
    }
    let met = Arc::new(LateFields::new(if sample.whole { u64::MAX } else { seen }, document.is_foreign()));
    let table = TextTable::new(pages, Columns::new(Commas::default(), &sample, met.clone()));
    Ok(Some(Found { content: Content::Table(Arc::new(table)), remarks: remarks(&sample), met }))
}

fn is_long(task: &Task, document: &Document, start: u64, long: u64) -> Result<bool> {
    let near = document.source().read_up_to(task, start, long as usize)?;
    Ok(near.len() as u64 == long && crate::engines::json::stage::container(&near).is_none())
}

fn remarks(sample: &Sample) -> Vec<String> {
    let bad = sample.first_bad.as_ref().map(|(place, error)| {
        let (count, first) = (display::plural(sample.bad, "element"), place - 1);
        format!("{count} cannot be read and stand in the column {REST}; the first is {first}: {error}")
    });
    let among = if sample.whole { "" } else { " of the first ones" };
    let twice = sample.twice_remark("element", among);
    bad.into_iter().chain(twice).chain(sample.mixed_remark(among)).collect()
}

/// The table inside an object that wraps one.
fn wrapped(task: &Task, document: &Arc<Document>, start: u64) -> Result<Option<Found>> {
    let (members, whole) = members(task, document, start)?;
    let member = |name: &str, kind: Kind| {
        members.iter().find(|child| child.name.as_deref() == Some(name) && child.kind == kind)
    };
    if let Some(features) = member("features", Kind::Array)
        && member("type", Kind::String).is_some_and(|kind| kind.value(40).0 == "FeatureCollection")
    {
        let sample = Sample { inner: Some("properties".to_owned()), ..Sample::default() };
        let found = array(task, document, features.span.start, ROOT, 0, sample)?;
        return Ok(found.map(|found| found.said("GeoJSON: the rows are its features")));
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
        return Ok(found.map(|found| found.said(words)));
    }
    if let Some(found) = vega(task, document, &members)? {
        return Ok(Some(found));
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
        return Ok(found.map(|found| found.said("the rows are those of data/values")));
    }
    if whole { columns::of(task, document, &members) } else { Ok(None) }
}

/// The first table in a Vega specification: of `data`, a list of named ones, or of `datasets`, where Vega-Lite
/// (as Altair writes it) names the one that `data` is.
fn vega(task: &Task, document: &Arc<Document>, members: &[Child]) -> Result<Option<Found>> {
    let member = |name: &str| members.iter().find(|child| child.name.as_deref() == Some(name));
    let says_so = member("$schema").is_some_and(|schema| schema.value(SCHEMA).0.contains("/vega"));
    let draws = ["mark", "marks", "layer", "hconcat", "vconcat", "concat"];
    if !says_so && draws.iter().all(|name| member(name).is_none()) {
        return Ok(None);
    }
    let rows = |start: u64| array(task, document, start, ROOT, 0, Sample::default());
    let data = member("data");
    if let Some(data) = data.filter(|data| data.kind == Kind::Array) {
        let mut walk = Walk::new(task, document, data.span.start, 0)?.nearby();
        while let (true, Ok(Some(child))) = (walk.position() < DATASETS, walk.next()) {
            if child.kind == Kind::Object
                && let Some(values) = inner(task, document, child.span.start, "values")?
                && let Some(found) = rows(values.span.start)?
            {
                return Ok(Some(
                    found.said(format!("Vega: the rows are those of data/{}/values", child.index)),
                ));
            }
        }
    }
    let Some(sets) = member("datasets").filter(|sets| sets.kind == Kind::Object) else { return Ok(None) };
    let used = match data.filter(|data| data.kind == Kind::Object) {
        Some(data) => self::members(task, document, data.span.start)?.0,
        None => Vec::new(),
    };
    let used =
        used.iter().find(|child| child.name.as_deref() == Some("name")).map(|name| name.value(SCHEMA).0);
    let mut sets = self::members(task, document, sets.span.start)?.0;
    sets.retain(|set| set.kind == Kind::Array);
    // The one that is drawn, else the first.
    sets.sort_by_key(|set| set.name != used);
    for set in sets {
        if let Some(found) = rows(set.span.start)? {
            let name = set.name.unwrap_or_default();
            return Ok(Some(found.said(format!("Vega: the rows are those of datasets/{name}"))));
        }
    }
    Ok(None)
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
        match walk.next().unless_cancelled()? {
            Ok(Some(child)) => members.push(child),
            Ok(None) => {
                let far = members.last().is_some_and(|last: &Child| last.span.end > walk.place());
                return Ok((members, !far));
            }
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
