//! LabelMe's documents: JSON of the shapes on one picture — polygons, rectangles, circles, points, lines, masks — with the
//! path of the picture or the picture itself; and folders of such documents.
//! <https://github.com/wkentaro/labelme>
//!
//! A document is a table of one row, a folder one of as many as it has documents; each is read when its row is.

#[cfg(test)]
mod tests;

use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Rect, Rows};
use crate::data::format::{Format, Opening, Options};
use crate::data::json::Kind as JsonKind;
use crate::data::media::shapes::RunLengths;
use crate::data::node::Node;
use crate::data::sniff::{Head, Match, has_extension};
use crate::engines::annotations::{
    Annotated, Column, ImageRow, ImageTable, Object, ObjectField, categories_node, is_picture, objects_node,
};
use base64::Engine as _;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["json"],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("labelme", "LabelMe annotations", open)
};

/// The descriptor of folders.
pub static SET: Format = Format {
    sniff: Some(sniff_set),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("labelme_set", "Folder of LabelMe annotations", open_set)
};

/// What an object has.
const FIELDS: &[ObjectField] = &[
    ObjectField::Id,
    ObjectField::Category,
    ObjectField::Shape,
    ObjectField::Bbox,
    ObjectField::Segmentation,
    ObjectField::Mask,
    ObjectField::KeyPoints,
    ObjectField::Note("description"),
];
/// How boxes are written.
const BOXES: &str = "xyxy";
/// Shapes of one document that are taken.
const SHAPES: usize = 100_000;
/// Corners of the outline of a circle.
const CORNERS: usize = 64;
/// Documents of a folder that are looked at for what it is.
const LOOK: usize = 8;
/// The largest mask, in pixels.
const MASK: u64 = 64 << 20;

/// Whether these are the names of a document's members.
fn is_one(names: &[String]) -> bool {
    let has = |name: &str| names.iter().any(|known| known == name);
    has("shapes")
        && ["imagePath", "imageData", "imageHeight", "flags", "version"].iter().any(|name| has(name))
}

fn sniff(head: &Head) -> Match {
    let document = head.json().filter(|json| json.kind == JsonKind::Object && !head.is_folder);
    if document.is_some_and(|json| is_one(&json.names)) { Match::Yes } else { Match::No }
}

fn is_document(entry: &Entry) -> bool {
    !entry.is_folder && !entry.name.starts_with('.') && has_extension(&entry.name, &["json"])
}

/// Documents beside pictures of the same names, or with the pictures in them; `open_set` looks into some.
fn sniff_set(head: &Head) -> Match {
    let shown = || head.entries.iter().filter(|entry| !entry.name.starts_with('.'));
    let fits = |entry: &Entry| {
        entry.is_folder || is_document(entry) || is_picture(&entry.name) || entry.name.ends_with(".txt")
    };
    let some = shown().filter(|entry| is_document(entry)).count() > 0;
    if head.is_folder && some && shown().all(fits) { Match::Yes } else { Match::No }
}

/// Whether a file of a folder is a document.
fn looks_like_one(task: &Task, folder: &Source, name: &str) -> Result<bool> {
    let Ok(file) = folder.child(task, name).unless_cancelled()? else { return Ok(false) };
    let Ok(head) = crate::formats::head(task, &file).unless_cancelled()? else { return Ok(false) };
    Ok(sniff(&head) == Match::Yes)
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let documents = Documents { place: Where::File(source.clone()), names: Vec::new() };
    let (row, has_data) = documents.row(task, 0, true)?;
    let mut options = Options::default();
    options.set("format", "json");
    let json = crate::formats::ALL.open_source(task, source, &options)?;
    let mut root = Node::new(source.name(), "annotations");
    root.children = json.root.children.clone();
    root.statistics = json.root.statistics.clone();
    root.findings = json.root.findings.clone();
    root.problem = json.root.problem.clone();
    if let Some(problem) = row.problem {
        root.problem.get_or_insert(Error::malformed(format!("LabelMe: {problem}")));
    }
    let picture = if has_data { Column::Bytes } else { Column::Image };
    let columns = vec![picture, Column::Width, Column::Height, Column::Objects];
    let table = ImageTable::new(Arc::new(documents), columns, FIELDS.to_vec(), BOXES);
    Ok(root.content(Content::Table(Arc::new(table))))
}

fn open_set(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let entries = &opening.head.entries;
    let mut names: Vec<String> =
        entries.iter().filter(|entry| is_document(entry)).map(|entry| entry.name.clone()).collect();
    names.sort_by(|a, b| natural_order(a, b));
    let step = names.len().div_ceil(LOOK).max(1);
    for name in names.iter().step_by(step) {
        if !looks_like_one(task, source, name)? {
            return Err(Error::other_format(""));
        }
    }
    let documents = Arc::new(Documents { place: Where::Folder(source.clone()), names });
    let (row, has_data) = documents.row(task, 0, true)?;
    let has_file = row.image.as_deref().is_some_and(|path| source.size_of(path).is_ok());
    let mut columns = vec![Column::Image];
    columns.extend((has_data && !has_file).then_some(Column::Bytes));
    columns.extend([Column::Width, Column::Height, Column::Objects, Column::Problem]);
    let mut children = vec![objects_node(&documents, FIELDS, BOXES), categories_node(&documents, Vec::new())];
    let shown = entries.iter().filter(|entry| !entry.name.starts_with('.'));
    children.extend(shown.map(|entry| entry_node(source, entry)));
    let table = ImageTable::new(documents, columns, FIELDS.to_vec(), BOXES);
    Ok(Node::new(source.name(), "annotations").content(Content::Table(Arc::new(table))).listed(children))
}

fn entry_node(source: &Source, entry: &Entry) -> Node {
    let (source, name) = (source.clone(), entry.name.clone());
    let label = if entry.is_folder { "folder" } else { "file" };
    crate::formats::ALL
        .nested(entry.name.as_str(), label, Options::default(), move |task| source.child(task, &name))
}

enum Where {
    File(Source),
    Folder(Source),
}

/// The documents.
struct Documents {
    place: Where,
    /// Their names in a folder.
    names: Vec<String>,
}

impl Documents {
    fn len(&self) -> usize {
        match &self.place {
            Where::File(_) => 1,
            Where::Folder(_) => self.names.len(),
        }
    }

    /// A row, and whether its document has the picture in it.
    fn row(&self, task: &Task, n: usize, objects: bool) -> Result<(ImageRow, bool)> {
        let read = || -> Result<Json> {
            let file = match &self.place {
                Where::File(file) => file.clone(),
                Where::Folder(folder) => folder.child(task, self.names.get(n).map_or("", String::as_str))?,
            };
            let len = file.len(task)?;
            limits::check(len, limits::HEADER, "the document")?;
            let bytes = file.read(task, 0..len)?;
            serde_json::from_slice(&bytes).map_err(|error| Error::malformed(format!("JSON: {error}")))
        };
        match read().unless_cancelled()? {
            Ok(json) => row(task, &json, objects),
            Err(error) => Ok((ImageRow { problem: Some(error.message()), ..ImageRow::default() }, false)),
        }
    }
}

fn row(task: &Task, json: &Json, objects: bool) -> Result<(ImageRow, bool)> {
    let text = |name: &str| json.get(name).and_then(Json::as_str);
    let side = |name: &str| json.get(name).and_then(Json::as_i64);
    let Some(shapes) = json.get("shapes").and_then(Json::as_array) else {
        return Ok((
            ImageRow { problem: Some("there is no list of shapes".to_owned()), ..ImageRow::default() },
            false,
        ));
    };
    let mut row = ImageRow {
        image: text("imagePath").map(|path| path.replace('\\', "/")),
        width: side("imageWidth"),
        height: side("imageHeight"),
        ..ImageRow::default()
    };
    if let Some(data) = text("imageData") {
        match base64::engine::general_purpose::STANDARD.decode(data) {
            Ok(bytes) => row.bytes = Some(bytes.into()),
            Err(error) => row.problem = Some(format!("imageData is no base 64: {error}")),
        }
    }
    for (n, shape) in shapes.iter().take(if objects { SHAPES } else { 0 }).enumerate() {
        task.check()?;
        match object(task, shape, (row.width, row.height))? {
            Some(object) => row.objects.push(object),
            None => drop(row.problem.get_or_insert_with(|| format!("shape {n} has no points"))),
        }
    }
    let has_data = row.bytes.is_some();
    Ok((row, has_data))
}

/// A shape; `None` where it has no points.
fn object(task: &Task, shape: &Json, size: (Option<i64>, Option<i64>)) -> Result<Option<Object>> {
    let text = |name: &str| shape.get(name).and_then(Json::as_str).map(str::to_owned);
    let point = |json: &Json| Some([json.get(0)?.as_f64()?, json.get(1)?.as_f64()?]);
    let points: Vec<[f64; 2]> =
        shape.get("points").and_then(Json::as_array).into_iter().flatten().filter_map(point).collect();
    if points.is_empty() {
        return Ok(None);
    }
    let kind = text("shape_type").unwrap_or_else(|| "polygon".to_owned());
    let mut object = Object {
        id: shape.get("group_id").and_then(Json::as_i64),
        category: text("label"),
        note: text("description").filter(|text| !text.is_empty()),
        ..Object::default()
    };
    let outline = match (kind.as_str(), points.as_slice()) {
        ("circle", [middle, edge, ..]) => circle(*middle, *edge),
        ("rectangle", [a, b]) => vec![*a, [b[0], a[1]], *b, [a[0], b[1]]],
        _ => points.clone(),
    };
    object.bbox = Some(around(&outline));
    match kind.as_str() {
        "point" | "points" => object.key_points = points.iter().flat_map(|[x, y]| [*x, *y, 2.0]).collect(),
        "line" | "linestrip" => {
            object.key_points = points.iter().flat_map(|[x, y]| [*x, *y, 2.0]).collect();
        }
        "mask" => object.mask = mask(task, shape, &points, size)?,
        _ => object.segmentation = vec![outline.into_iter().flatten().collect()],
    }
    object.shape = Some(kind);
    Ok(Some(object))
}

fn circle([x, y]: [f64; 2], edge: [f64; 2]) -> Vec<[f64; 2]> {
    let radius = (edge[0] - x).hypot(edge[1] - y);
    let corner = |n: usize| {
        let (sin, cos) = (n as f64 / CORNERS as f64 * std::f64::consts::TAU).sin_cos();
        [x + radius * cos, y + radius * sin]
    };
    (0..CORNERS).map(corner).collect()
}

/// Left, top, right and bottom of points.
fn around(points: &[[f64; 2]]) -> [f64; 4] {
    let start = [f64::MAX, f64::MAX, f64::MIN, f64::MIN];
    points.iter().fold(start, |[l, t, r, b], [x, y]| [l.min(*x), t.min(*y), r.max(*x), b.max(*y)])
}

/// The mask of a shape: a picture in base 64 that lies between its two points. `None` where it cannot be read.
fn mask(
    task: &Task,
    shape: &Json,
    points: &[[f64; 2]],
    (width, height): (Option<i64>, Option<i64>),
) -> Result<Option<RunLengths>> {
    let side = |side: Option<i64>| side.and_then(|side| u32::try_from(side).ok()).filter(|side| *side > 0);
    let (Some(width), Some(height)) = (side(width), side(height)) else { return Ok(None) };
    let decoded = shape.get("mask").and_then(Json::as_str);
    let decoded = decoded.and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    let (Some(bytes), Some([left, top])) = (decoded, points.first()) else { return Ok(None) };
    if u64::from(width) * u64::from(height) > MASK {
        return Ok(None);
    }
    let source = Source::memory("mask.png", bytes);
    let opened = crate::formats::ALL.open_source(task, &source, &Options::default()).unless_cancelled()?;
    let Ok(opened) = opened else { return Ok(None) };
    let Some(Content::Image(image)) = &opened.root.content else { return Ok(None) };
    let (inner_width, inner_height) = (image.info().width, image.info().height);
    if inner_width.saturating_mul(inner_height) > MASK {
        return Ok(None);
    }
    let read = image.read(task, 0, 0, Rect::all(inner_width, inner_height)).unless_cancelled()?;
    let Ok(pixels) = read else { return Ok(None) };
    let rgb = pixels.to_rgb8();
    let each = rgb.len() / (inner_width.saturating_mul(inner_height)).max(1) as usize;
    let (left, top) = (left.round().max(0.0) as u64, top.round().max(0.0) as u64);
    let (width_of, height_of) = (u64::from(width), u64::from(height));
    let is_in = |x: u64, y: u64| rgb.get((y * inner_width + x) as usize * each).is_some_and(|v| *v > 0);
    // Down each column of the inner picture; all that is around it is one run.
    let (mut runs, mut last, mut at, mut begun) = (Vec::new(), false, 0_u64, 0_u64);
    let mut turn = |is: bool, place: u64, last: &mut bool| {
        if is != *last {
            runs.push(place - begun);
            (*last, begun) = (is, place);
        }
    };
    for x in 0..inner_width.min(width_of.saturating_sub(left)) {
        task.check()?;
        let column = (left + x) * height_of;
        if column + top != at {
            turn(false, at, &mut last);
        }
        for y in 0..inner_height.min(height_of.saturating_sub(top)) {
            turn(is_in(x, y), column + top + y, &mut last);
            at = column + top + y + 1;
        }
    }
    if at < width_of * height_of {
        turn(false, at, &mut last);
    }
    runs.push(width_of * height_of - begun);
    Ok(RunLengths::of(height, width, runs.into_iter()))
}

impl Annotated for Documents {
    fn rows(&self) -> Rows {
        Rows::Exact(self.len() as u64)
    }

    fn sizes_are_annotations(&self) -> bool {
        true
    }

    fn count(&self, _task: &Task) -> Result<u64> {
        Ok(self.len() as u64)
    }

    fn images(&self, task: &Task, range: Range<u64>, objects: bool) -> Result<Vec<ImageRow>> {
        let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(self.len());
        let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
        let row = |n| task.check().and_then(|()| self.row(task, n, objects)).map(|(row, _)| row);
        (start..end).map(row).collect()
    }
}
