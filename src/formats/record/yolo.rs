//! YOLO's folders: a text beside each picture — in `labels` where that is in `images` — with a line for each object: the number
//! of its class and its box, outline, corners or key points as shares of the sides; `data.yaml` (or `classes.txt`, `*.names`)
//! says the names of the classes. <https://docs.ultralytics.com/datasets/detect/>,
//! <https://docs.ultralytics.com/datasets/segment/>, <https://docs.ultralytics.com/datasets/pose/>,
//! <https://docs.ultralytics.com/datasets/obb/>
//!
//! A row is an image. Pictures are listed as far as rows are asked for, and a text is read when its row is.

mod labels;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Rows};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match, has_extension};
use crate::engines::annotations::folder::{Pictures, Place, is_split};
use crate::engines::annotations::{
    Annotated, Column, ImageRow, ImageTable, ObjectField, categories_node, is_picture, objects_node,
};
use crate::engines::yaml::{Scalar, Value, Yaml};
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("yolo", "YOLO folder", open)
};

/// What an object has.
const FIELDS: &[ObjectField] = &[
    ObjectField::CategoryId,
    ObjectField::Category,
    ObjectField::Bbox,
    ObjectField::Segmentation,
    ObjectField::KeyPoints,
    ObjectField::Note("confidence"),
];
/// How boxes are written.
const BOXES: &str = "cxcywh normalised";
/// The longest text of a picture, in bytes.
const LABELS: u64 = 16 << 20;
/// Names in a folder that are looked at, and pictures whose texts are, for what it is.
const LOOK: usize = 64;
const PICTURES: u64 = 200;
/// The most names of classes.
const CLASSES: usize = 1 << 20;

/// What the classes are called, and how key points are written.
#[derive(Clone, Debug, Default, PartialEq)]
struct Description {
    names: Vec<String>,
    /// How many key points there are, and how many numbers each has.
    key_points: Option<(usize, usize)>,
    /// Whether a file says so.
    found: bool,
}

fn is_named(name: &str) -> bool {
    has_extension(name, &["names"]) || ["classes.txt", "labels.txt", "obj.data"].contains(&name)
}

fn is_yaml(name: &str) -> bool {
    has_extension(name, &["yaml", "yml"])
}

fn sniff(head: &Head) -> Match {
    let has_folder =
        |is: &dyn Fn(&str) -> bool| head.entries.iter().any(|entry| entry.is_folder && is(&entry.name));
    let has_file =
        |is: &dyn Fn(&str) -> bool| head.entries.iter().any(|entry| !entry.is_folder && is(&entry.name));
    let paired = has_folder(&|name| name == "images") && has_folder(&|name| name == "labels");
    let said = has_file(&is_yaml) || has_file(&is_named);
    let split = said && has_folder(&is_split);
    let flat = has_file(&is_named) && (has_file(&is_picture) || has_folder(&|name| name.starts_with("obj_")));
    if head.is_folder && (paired || split || flat) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let entries = &opening.head.entries;
    let description = describe(task, source, entries)?;
    let places = places(task, source, entries)?;
    let has_splits = places.iter().any(|place| place.split.is_some());
    let pictures = Pictures::new(source.clone(), places);
    let images = Arc::new(Images { pictures, root: source.clone(), description });
    if !images.is_one(task)? {
        return Err(Error::other_format(""));
    }
    let mut columns = vec![Column::Image];
    columns.extend(has_splits.then_some(Column::Split));
    columns.extend([Column::Objects, Column::Problem]);
    let known = images.description.names.clone();
    let mut children = vec![objects_node(&images, FIELDS, BOXES), categories_node(&images, known)];
    let shown = entries.iter().filter(|entry| !entry.name.starts_with('.'));
    children.extend(shown.map(|entry| entry_node(source, entry)));
    let table = ImageTable::new(images, columns, FIELDS.to_vec(), BOXES);
    Ok(Node::new(source.name(), "annotations").content(Content::Table(Arc::new(table))).listed(children))
}

fn entry_node(source: &Source, entry: &Entry) -> Node {
    let (source, name) = (source.clone(), entry.name.clone());
    let label = if entry.is_folder { "folder" } else { "file" };
    crate::formats::ALL
        .nested(entry.name.as_str(), label, Options::default(), move |task| source.child(task, &name))
}

/// The text of a small file.
fn text(task: &Task, file: &Source) -> Result<String> {
    let len = file.len(task)?;
    limits::check(len, LABELS, file.name())?;
    Ok(String::from_utf8_lossy(&file.read(task, 0..len)?).into_owned())
}

/// What `data.yaml` or a list of names says.
fn describe(task: &Task, source: &Source, entries: &[Entry]) -> Result<Description> {
    let files = || entries.iter().filter(|entry| !entry.is_folder);
    for entry in files().filter(|entry| is_yaml(&entry.name)).take(LOOK) {
        let Ok(text) =
            source.child(task, &entry.name).and_then(|file| text(task, &file)).unless_cancelled()?
        else {
            continue;
        };
        let (yaml, _) = Yaml::load(task, &text)?;
        if let Some(found) = of_yaml(&yaml) {
            return Ok(found);
        }
    }
    for entry in files().filter(|entry| is_named(&entry.name) && entry.name != "obj.data") {
        let Ok(text) =
            source.child(task, &entry.name).and_then(|file| text(task, &file)).unless_cancelled()?
        else {
            continue;
        };
        let names = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(CLASSES);
        return Ok(Description { names: names.map(str::to_owned).collect(), key_points: None, found: true });
    }
    Ok(Description::default())
}

fn of_yaml(yaml: &Yaml) -> Option<Description> {
    let root = *yaml.documents.first()?;
    let said = yaml.get(root, "names")?;
    let name = |place| yaml.scalar(place).map_or_else(String::new, |scalar| scalar.text());
    let names = match &yaml.item(said)?.value {
        Value::Sequence(all) => all.iter().take(CLASSES).map(|place| name(*place)).collect(),
        _ => {
            let mut numbered: Vec<(usize, String)> = Vec::new();
            for (key, place) in yaml.members(said)? {
                numbered.push((key.parse().ok().filter(|n| *n < CLASSES)?, name(place)));
            }
            let length = numbered.iter().map(|(n, _)| n + 1).max().unwrap_or(0);
            let mut names = vec![String::new(); length];
            for (n, name) in numbered {
                if let Some(place) = names.get_mut(n) {
                    *place = name;
                }
            }
            names
        }
    };
    let shape = yaml.get(root, "kpt_shape").and_then(|place| match &yaml.item(place)?.value {
        Value::Sequence(all) => Some(all.clone()),
        _ => None,
    });
    let number = |place| match yaml.scalar(place)? {
        Scalar::Int(digits) => digits.parse::<usize>().ok().filter(|n| *n < 10_000),
        _ => None,
    };
    let key_points = match shape.as_deref() {
        Some([count, each]) => number(*count).zip(number(*each)).filter(|(_, each)| [2, 3].contains(each)),
        _ => None,
    };
    Some(Description { names, key_points, found: true })
}

/// The folders of pictures.
fn places(task: &Task, source: &Source, entries: &[Entry]) -> Result<Vec<Place>> {
    let folder = |name: &str| entries.iter().any(|entry| entry.is_folder && entry.name == name);
    let place =
        |path: String, split: Option<&str>| Place { path, label: None, split: split.map(str::to_owned) };
    if folder("images") && folder("labels") {
        let inner = source.child(task, "images")?.some_entries(task, LOOK)?;
        let mut splits: Vec<&str> =
            inner.iter().filter(|entry| entry.is_folder).map(|entry| entry.name.as_str()).collect();
        splits.sort_by_key(|name| (!name.starts_with("train"), name.to_owned()));
        if !splits.is_empty() && splits.iter().all(|name| is_split(name)) {
            return Ok(splits.into_iter().map(|name| place(format!("images/{name}"), Some(name))).collect());
        }
        return Ok(vec![place("images".to_owned(), None)]);
    }
    let mut splits = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_folder && is_split(&entry.name)) {
        let path = format!("{}/images", entry.name);
        let inside = source.child(task, &path).unless_cancelled()?.is_ok_and(|source| source.is_folder());
        splits.push(place(if inside { path } else { entry.name.clone() }, Some(&entry.name)));
    }
    splits.sort_by_key(|place| (!place.path.starts_with("train"), place.path.clone()));
    if !splits.is_empty() {
        return Ok(splits);
    }
    let obj = entries.iter().filter(|entry| entry.is_folder && entry.name.starts_with("obj_"));
    let obj: Vec<Place> = obj.map(|entry| place(entry.name.clone(), None)).collect();
    Ok(if obj.is_empty() { vec![Place::default()] } else { obj })
}

/// The path of the text of a picture.
fn label_path(picture: &str) -> String {
    let stem = picture.rsplit_once('.').map_or(picture, |(stem, _)| stem);
    let moved = match stem.rsplit_once("/images/") {
        Some((before, after)) => format!("{before}/labels/{after}"),
        None => match stem.strip_prefix("images/") {
            Some(after) => format!("labels/{after}"),
            None => stem.to_owned(),
        },
    };
    format!("{moved}.txt")
}

/// The images.
struct Images {
    pictures: Pictures,
    root: Source,
    description: Description,
}

impl Images {
    /// Whether some of the first pictures have texts of the right kind.
    fn is_one(&self, task: &Task) -> Result<bool> {
        let rows = self.images(task, 0..PICTURES, true)?;
        let labelled = rows.iter().filter(|row| !row.objects.is_empty()).count();
        let wrong = rows.iter().filter(|row| row.problem.is_some()).count();
        Ok(labelled > 0 && wrong <= labelled)
    }
}

impl Annotated for Images {
    fn rows(&self) -> Rows {
        self.pictures.rows()
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.pictures.count(task)
    }

    fn images(&self, task: &Task, range: Range<u64>, objects: bool) -> Result<Vec<ImageRow>> {
        let mut rows = self.pictures.images(task, range, false)?;
        if !objects {
            return Ok(rows);
        }
        for row in &mut rows {
            task.check()?;
            let Some(picture) = &row.image else { continue };
            let path = label_path(picture);
            // A picture without a text has no objects.
            if self.root.size_of(&path).is_err() {
                continue;
            }
            let read = self.root.child(task, &path).and_then(|file| text(task, &file));
            match read.unless_cancelled()? {
                Ok(text) => (row.objects, row.problem) = labels::objects(&text, &self.description),
                Err(error) => row.problem = Some(error.message()),
            }
        }
        Ok(rows)
    }
}
