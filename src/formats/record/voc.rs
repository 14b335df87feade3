//! Pascal VOC's folders: `Annotations` with an XML document for each image, `JPEGImages` (or `images`), `ImageSets` with lists
//! of names for each split, and pictures that say of each pixel what it is (`SegmentationClass`, `SegmentationObject`).
//! <http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/devkit_doc.html>
//!
//! A row is an image. When the folder is opened names are listed; a document is read when its row is.

#[cfg(test)]
mod tests;

use crate::bytes::display::natural_order;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Rows};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::annotations::{
    Annotated, Column, ImageRow, ImageTable, Object, ObjectField, categories_node, is_picture, objects_node,
};
use crate::engines::xml::{self, Element};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("voc", "Pascal VOC folder", open)
};

/// What an object has.
const FIELDS: &[ObjectField] = &[
    ObjectField::Category,
    ObjectField::Bbox,
    ObjectField::Note("pose"),
    ObjectField::Truncated,
    ObjectField::Difficult,
    ObjectField::Occluded,
];
/// How boxes are written.
const BOXES: &str = "xyxy";
/// The most names of a folder.
const NAMES: usize = 1 << 22;
/// The longest document of an image and the longest list of a split, in bytes.
const DOCUMENT: u64 = 16 << 20;
/// Names that are looked at for what a folder holds.
const LOOK: usize = 64;

/// The folder of this name, in whatever case.
fn folder<'a>(entries: &'a [Entry], names: &[&str]) -> Option<&'a str> {
    let is = |entry: &&Entry| entry.is_folder && names.contains(&entry.name.to_lowercase().as_str());
    entries.iter().find(is).map(|entry| entry.name.as_str())
}

fn sniff(head: &Head) -> Match {
    let has = |names: &[&str]| folder(&head.entries, names).is_some();
    let is_one = head.is_folder && has(&["annotations"]) && has(&["jpegimages", "images", "imagesets"]);
    if is_one { Match::Yes } else { Match::No }
}

/// The images.
struct Images {
    root: Source,
    names: Vec<Named>,
}

/// What lies in the folders of an image.
#[derive(Default)]
struct Named {
    picture: Option<String>,
    /// What is said of it.
    document: Option<String>,
    split: Option<String>,
    mask: Option<String>,
    instances: Option<String>,
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let entries = &opening.head.entries;
    let Some(annotations) = folder(entries, &["annotations"]) else { return Err(Error::other_format("")) };
    let some = source.child(task, annotations)?.some_entries(task, LOOK)?;
    if !some.iter().any(|entry| entry.name.to_lowercase().ends_with(".xml")) {
        return Err(Error::other_format(""));
    }
    let names = names(task, source, entries, annotations)?;
    let has = |of: fn(&Named) -> bool| names.iter().any(of);
    let mut columns = vec![Column::Image];
    columns.extend(has(|named| named.split.is_some()).then_some(Column::Split));
    columns.extend([Column::Width, Column::Height, Column::Objects]);
    columns.extend(has(|named| named.mask.is_some()).then_some(Column::Mask("segmentation_class")));
    columns
        .extend(has(|named| named.instances.is_some()).then_some(Column::Instances("segmentation_object")));
    columns.push(Column::Problem);
    let images = Arc::new(Images { root: source.clone(), names });
    let mut children = vec![objects_node(&images, FIELDS, BOXES), categories_node(&images, Vec::new())];
    let shown = entries.iter().filter(|entry| !entry.name.starts_with('.'));
    children.extend(shown.map(|entry| entry_node(source, entry)));
    let table = ImageTable::new(images, columns, FIELDS.to_vec(), BOXES);
    let mut root = Node::new(source.name(), "annotations").content(Content::Table(Arc::new(table)));
    root = root.listed(children);
    Ok(root)
}

fn entry_node(source: &Source, entry: &Entry) -> Node {
    let (source, name) = (source.clone(), entry.name.clone());
    let label = if entry.is_folder { "folder" } else { "file" };
    crate::formats::ALL
        .nested(entry.name.as_str(), label, Options::default(), move |task| source.child(task, &name))
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The files of a folder of the data set, by their names without endings.
fn files(
    task: &Task,
    source: &Source,
    name: Option<&str>,
    is: fn(&str) -> bool,
) -> Result<HashMap<String, String>> {
    let Some(name) = name else { return Ok(HashMap::new()) };
    let Ok(folder) = source.child(task, name).unless_cancelled()? else { return Ok(HashMap::new()) };
    let found = folder.some_entries(task, NAMES)?.into_iter();
    let found = found.filter(|entry| !entry.is_folder && !entry.name.starts_with('.') && is(&entry.name));
    Ok(found.map(|entry| (stem(&entry.name).to_owned(), format!("{name}/{}", entry.name))).collect())
}

fn names(task: &Task, source: &Source, entries: &[Entry], annotations: &str) -> Result<Vec<Named>> {
    let is_document = |name: &str| name.to_lowercase().ends_with(".xml");
    let mut documents = files(task, source, Some(annotations), is_document)?;
    let mut pictures = files(task, source, folder(entries, &["jpegimages", "images"]), is_picture)?;
    let mut masks = files(task, source, folder(entries, &["segmentationclass"]), is_picture)?;
    let mut instances = files(task, source, folder(entries, &["segmentationobject"]), is_picture)?;
    let mut splits = splits(task, source, folder(entries, &["imagesets"]))?;
    let mut stems: Vec<String> = documents.keys().chain(pictures.keys()).cloned().collect();
    stems.sort_by(|a, b| natural_order(a, b));
    stems.dedup();
    let named = |stem: String| Named {
        picture: pictures.remove(&stem),
        document: documents.remove(&stem),
        split: splits.remove(&stem),
        mask: masks.remove(&stem),
        instances: instances.remove(&stem),
    };
    Ok(stems.into_iter().map(named).collect())
}

/// The split of each name: of the lists in `Main`, else of those in other folders of `ImageSets`, or in it.
fn splits(task: &Task, source: &Source, sets: Option<&str>) -> Result<HashMap<String, String>> {
    let mut found: HashMap<String, String> = HashMap::new();
    let Some(sets) = sets else { return Ok(found) };
    let folders = [format!("{sets}/Main"), format!("{sets}/Segmentation"), sets.to_owned()];
    for name in folders {
        let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for split in ["train", "val", "test", "trainval"] {
            let Ok(file) = source.child(task, &format!("{name}/{split}.txt")).unless_cancelled()? else {
                continue;
            };
            let len = file.len(task)?;
            limits::check(len, DOCUMENT, "the list of a split")?;
            let bytes = file.read(task, 0..len)?;
            let text = String::from_utf8_lossy(&bytes);
            // A number behind a name says whether a class is there.
            let names = text.lines().filter_map(|line| line.split_whitespace().next());
            lists.insert(split.to_owned(), names.map(str::to_owned).collect());
        }
        // `trainval` is the other two, and says something only of names that are in none.
        for split in ["train", "val", "test", "trainval"] {
            for name in lists.remove(split).unwrap_or_default() {
                match found.get_mut(&name) {
                    None => drop(found.insert(name, split.to_owned())),
                    Some(_) if split == "trainval" => {}
                    Some(known) if known != split => known.push_str(&format!(", {split}")),
                    Some(_) => {}
                }
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

impl Images {
    /// Takes in what the document of an image says.
    fn annotate(&self, task: &Task, path: &str, row: &mut ImageRow) -> Result<()> {
        let read = || -> Result<xml::Xml> {
            let file = self.root.child(task, path)?;
            let len = file.len(task)?;
            limits::check(len, DOCUMENT, "the document of an image")?;
            xml::parse(task, &xml::decoded(&file.read(task, 0..len)?))
        };
        let found = match read().unless_cancelled()? {
            Ok(found) => found,
            Err(error) => {
                row.problem = Some(error.message());
                return Ok(());
            }
        };
        row.problem = found.problem.map(|problem| problem.message());
        let Some(root) = found.root else { return Ok(()) };
        let number = |of: Option<&Element>, name: &str| of?.text_of(name)?.parse::<f64>().ok();
        let size = root.child("size");
        let side = |name: &str| number(size, name).filter(|side| *side > 0.0).map(|side| side as i64);
        (row.width, row.height) = (side("width"), side("height"));
        for object in root.all("object") {
            let flag = |name: &str| {
                object.text_of(name).map(|text| text != "0" && !text.eq_ignore_ascii_case("false"))
            };
            let side = |name: &str| number(object.child("bndbox"), name);
            let sides = [side("xmin"), side("ymin"), side("xmax"), side("ymax")];
            let [Some(left), Some(top), Some(right), Some(bottom)] = sides else {
                let line = object.line;
                row.problem.get_or_insert_with(|| format!("line {line}: an object has no whole box"));
                continue;
            };
            row.objects.push(Object {
                category: object.text_of("name").map(str::to_owned),
                bbox: Some([left, top, right, bottom]),
                note: object.text_of("pose").map(str::to_owned),
                truncated: flag("truncated"),
                difficult: flag("difficult"),
                occluded: flag("occluded"),
                ..Object::default()
            });
        }
        Ok(())
    }
}

impl Annotated for Images {
    fn rows(&self) -> Rows {
        Rows::Exact(self.names.len() as u64)
    }

    fn sizes_are_annotations(&self) -> bool {
        true
    }

    fn count(&self, _task: &Task) -> Result<u64> {
        Ok(self.names.len() as u64)
    }

    fn images(&self, task: &Task, range: Range<u64>, objects: bool) -> Result<Vec<ImageRow>> {
        let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(self.names.len());
        let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
        let mut rows = Vec::with_capacity(end - start);
        for named in self.names.get(start..end).unwrap_or_default() {
            task.check()?;
            let mut row = ImageRow {
                image: named.picture.clone(),
                split: named.split.clone(),
                mask: named.mask.clone(),
                instances: named.instances.clone(),
                ..ImageRow::default()
            };
            if let Some(document) = named.document.as_ref().filter(|_| objects) {
                self.annotate(task, document, &mut row)?;
            }
            rows.push(row);
        }
        Ok(rows)
    }
}
