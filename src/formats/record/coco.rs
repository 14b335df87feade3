//! COCO's annotations: a JSON document of images, of objects on them — boxes, polygons, masks as lengths of runs, key points —
//! or captions, and of categories; panoptic ones have segments in a picture beside it.
//! <https://cocodataset.org/#format-data>, <https://github.com/cocodataset/cocoapi>
//!
//! A row is an image, in the order of the file. The images are listed as far as rows are asked for; the annotations are gone
//! over once, when somebody asks for objects: of each only its image and its place are kept. The lists of the document stay
//! below as they are in any JSON document. The pictures are looked for in the folder of the document and in the one above it.

mod annotation;
mod index;
mod place;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Options};
use crate::data::json::{self, Kind as JsonKind};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::annotations::{Column, ImageTable, ObjectField};
use crate::engines::json::{Child, Document, Walk};
use index::Images;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["json"],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group, Kind::Text],
    ..Format::new("coco", "COCO annotations", open)
};

/// Members of a document.
const MEMBERS: [&str; 6] = ["info", "licenses", "images", "annotations", "categories", "type"];
/// In a document up to this many bytes all members are found when it is opened, in larger ones those near the beginning.
const WHOLE: u64 = 64 << 20;
/// Members at the top that are looked at.
const MOST: u64 = 1_000;
/// Bytes of the first image that are looked at.
const FIRST: usize = 64 << 10;

/// What an object has.
const FIELDS: &[ObjectField] = &[
    ObjectField::Id,
    ObjectField::CategoryId,
    ObjectField::Category,
    ObjectField::Bbox,
    ObjectField::Area,
    ObjectField::IsCrowd,
    ObjectField::Segmentation,
    ObjectField::Mask,
    ObjectField::KeyPoints,
    ObjectField::Skeleton,
];
/// How boxes are written.
const BOXES: &str = "xywh";

fn sniff(head: &Head) -> Match {
    if head.is_folder || !(head.has_extension(FORMAT.extensions) || head.first.starts_with(b"{")) {
        return Match::No;
    }
    let Some(beginning) = head.json().filter(|json| json.kind == JsonKind::Object) else { return Match::No };
    let has = |name: &str| beginning.names.iter().any(|known| known == name);
    let known = MEMBERS.iter().filter(|name| has(name)).count();
    // Where the first list is long, it is all that is seen.
    let may_be = has("images") && known > 1
        || !beginning.is_whole && (has("images") || has("annotations") || known > 1);
    if may_be { Match::Yes } else { Match::No }
}

/// Where the lists of a document are, as far as they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    images: Option<Range<u64>>,
    annotations: Option<Range<u64>>,
    categories: Option<Range<u64>>,
    /// Whether others of the members are there.
    others: bool,
    /// Whether all members were looked at.
    whole: bool,
}

impl Lists {
    /// Looks for them; `near` stops at a list whose end is far.
    fn find(task: &Task, document: &Document, near: bool) -> Result<Lists> {
        let mut lists = Lists::default();
        let mut walk = Walk::new(task, document, document.start(), 0)?;
        if near {
            walk = walk.nearby();
        }
        while walk.position() < MOST {
            let Some(child) = walk.next().unless_cancelled()?.unwrap_or_default() else {
                lists.whole = !walk.is_far();
                break;
            };
            lists.take(child);
            if near && walk.is_far() {
                break;
            }
        }
        Ok(lists)
    }

    fn take(&mut self, child: Child) {
        let is_list = child.kind == JsonKind::Array;
        match child.name.as_deref() {
            Some("images") if is_list => self.images = Some(child.span),
            Some("annotations") if is_list => self.annotations = Some(child.span),
            Some("categories") if is_list => self.categories = Some(child.span),
            Some(name) => self.others |= MEMBERS.contains(&name),
            None => {}
        }
    }
}

/// The first element of a list, as text, if it is a whole object of a usual size.
fn first_object(task: &Task, document: &Document, list: &Range<u64>) -> Result<Option<String>> {
    let mut walk = Walk::new(task, document, list.start, 0)?.nearby();
    let Ok(Some(child)) = walk.next().unless_cancelled()? else { return Ok(None) };
    if child.kind != JsonKind::Object || child.span.end.saturating_sub(child.span.start) > FIRST as u64 {
        return Ok(None);
    }
    let bytes = document.source().read(task, child.span)?;
    Ok(String::from_utf8(bytes.to_vec()).ok())
}

/// Whether the lists are those of such a document.
fn is_one(task: &Task, document: &Document, lists: &Lists) -> Result<bool> {
    let Some(images) = &lists.images else { return Ok(false) };
    let Some(first) = first_object(task, document, images)? else { return Ok(false) };
    let fields = json::object(&first).unwrap_or_default();
    let has = |name: &str| fields.iter().any(|(known, _)| known == name);
    let sized = has("width") && has("height");
    let linked = match &lists.annotations {
        Some(list) => match first_object(task, document, list)? {
            Some(first) => {
                json::object(&first).unwrap_or_default().iter().any(|(name, _)| name == "image_id")
            }
            None => false,
        },
        None => false,
    };
    Ok(has("id") && has("file_name") && (linked || sized && (lists.others || lists.categories.is_some())))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let document = Arc::new(Document::new(task, source)?);
    let is_large = source.known_len().is_none_or(|len| len > WHOLE);
    let mut lists = Lists::find(task, &document, is_large)?;
    if lists.images.is_none() && !lists.whole {
        lists = Lists::find(task, &document, false)?;
    }
    if !is_one(task, &document, &lists)? {
        return Err(Error::other_format(""));
    }
    let inner = as_json(task, source)?;
    let mut root = Node::new(source.name(), "annotations");
    root.children = inner.children.clone();
    root.statistics = inner.statistics.clone();
    root.findings = inner.findings.clone();
    root.problem = inner.problem.clone();
    root.reader = inner.reader.clone();
    let images = Arc::new(Images::new(document, lists)?);
    let names = images.names(task)?;
    let found = place::find(task, source, &names)?;
    if !found.any {
        root.remarks
            .push("no picture of it was found: not in the folder of the file, nor beside it".to_owned());
    }
    images.lie_in(found.prefix, found.masks.clone());
    root.media_folder = found.folder;
    let mut columns = vec![Column::Id, Column::Image, Column::Width, Column::Height, Column::Objects];
    match &found.masks {
        Some(_) => columns.push(Column::Mask("mask")),
        None => columns.push(Column::Captions),
    }
    let table = ImageTable::new(images, columns, FIELDS.to_vec(), BOXES);
    Ok(root.content(Content::Table(Arc::new(table))))
}

/// The document as any other JSON document: its lists, what is wrong with it, its statistics.
fn as_json(task: &Task, source: &Source) -> Result<Arc<Node>> {
    let mut options = Options::default();
    options.set("format", "json");
    Ok(crate::formats::ALL.open_source(task, source, &options)?.root)
}
