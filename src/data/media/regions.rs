//! Boxes and key points of a row: lists of four numbers, structs of named sides, columns of each side; lists of pairs.
//!
//! No file says in which order the four numbers stand and whether they are pixels or shares of the sides, so that a
//! sample tells: what lies in its picture. COCO, and what is made of it, has left, top, width, height
//! (<https://cocodataset.org/#format-data>); torchvision and Pascal VOC two corners; TensorFlow two corners, rows first, in
//! shares (<https://www.tensorflow.org/datasets/api_docs/python/tfds/features/BBoxFeature>); YOLO the middle, width and height.

use super::Sizes;
use super::features::Feature;
use super::shapes::RunLengths;
use crate::data::cell;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Fields};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::sync::Arc;

/// Of a row so many are looked at.
const MOST: usize = 512;
/// Lists may lie so deep in each other.
const DEPTH: usize = 8;

/// The order of the four numbers of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxFormat {
    /// Left, top, width, height.
    #[default]
    Xywh,
    /// Left, top, right, bottom.
    Xyxy,
    /// Top, left, bottom, right.
    Yxyx,
    /// The middle from the left and from the top, width, height.
    Cxcywh,
}

impl BoxFormat {
    /// All of them, in words.
    pub const ALL: [(BoxFormat, &str); 4] = [
        (BoxFormat::Xywh, "left, top, width, height"),
        (BoxFormat::Xyxy, "left, top, right, bottom"),
        (BoxFormat::Yxyx, "top, left, bottom, right"),
        (BoxFormat::Cxcywh, "middle x, middle y, width, height"),
    ];

    /// Left, top, right, bottom.
    pub fn corners(self, [a, b, c, d]: [f64; 4]) -> [f64; 4] {
        match self {
            BoxFormat::Xywh => [a, b, a + c, b + d],
            BoxFormat::Xyxy => [a, b, c, d],
            BoxFormat::Yxyx => [b, a, d, c],
            BoxFormat::Cxcywh => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
        }
    }
}

/// Where the boxes of a table are.
#[derive(Clone, Debug, PartialEq)]
pub struct Boxes {
    /// One column of boxes, or four of one side each: left, top, right, bottom.
    pub columns: Vec<usize>,
    /// The order of the four numbers.
    pub format: BoxFormat,
    /// Whether they are shares of the sides and not pixels.
    pub normalised: bool,
    /// The names of the classes of boxes.
    pub names: Arc<[String]>,
}

/// A box on a picture, with the shapes in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Left, top, right, bottom, as shares of the sides of the picture.
    pub corners: [f64; 4],
    /// What is in it.
    pub label: Option<String>,
    /// Its outlines: points as shares of the sides.
    pub polygons: Vec<Vec<[f64; 2]>>,
    /// Its pixels.
    pub mask: Option<RunLengths>,
    /// Its key points that are there, as shares of the sides.
    pub points: Vec<[f64; 2]>,
    /// Lines between its key points.
    pub lines: Vec<[[f64; 2]; 2]>,
}

/// The key in a field's metadata that says how its boxes are written: `xywh`, `xyxy`, `yxyx` or `cxcywh`, and behind a
/// space `normalised` where they and the shapes beside them are shares of the sides.
pub const BOXES_KEY: &str = "boxes";

/// What a field's metadata says of its boxes.
fn stated(field: &arrow::datatypes::Field) -> Option<(BoxFormat, bool)> {
    let mut words = field.metadata().get(BOXES_KEY)?.split(' ');
    let format = match words.next()? {
        "xywh" => BoxFormat::Xywh,
        "xyxy" => BoxFormat::Xyxy,
        "yxyx" => BoxFormat::Yxyx,
        "cxcywh" => BoxFormat::Cxcywh,
        _ => return None,
    };
    Some((format, words.next() == Some("normalised")))
}

/// Where key points are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPoints {
    /// Their column.
    pub column: usize,
    /// Whether they are shares of the sides and not pixels.
    pub normalised: bool,
}

/// Four numbers as they stand, with the order where their names say it, and a label.
struct Raw {
    numbers: [f64; 4],
    format: Option<BoxFormat>,
    label: Option<Json>,
    shapes: Shapes,
}

/// What an object has beside its box, in the units of that.
#[derive(Default)]
struct Shapes {
    polygons: Vec<Vec<[f64; 2]>>,
    mask: Option<RunLengths>,
    /// Points, those that are not there too: lines name them by their numbers.
    points: Vec<Option<[f64; 2]>>,
    lines: Vec<[usize; 2]>,
}

impl Shapes {
    fn of(fields: &serde_json::Map<String, Json>) -> Shapes {
        let polygons = ["segmentation", "polygons"].iter().find_map(|name| fields.get(*name)?.as_array());
        let polygon = |json: &Json| Some(numbers(json)?.as_chunks::<2>().0.to_vec());
        let mask = fields.get("rle").and_then(|rle| {
            let size = numbers(rle.get("size")?)?;
            let [height, width] = size.as_slice() else { return None };
            RunLengths::from_text(*height as u32, *width as u32, rle.get("counts")?.as_str()?)
        });
        let points = fields.get("keypoints").and_then(numbers).unwrap_or_default();
        let there = |&[x, y, seen]: &[f64; 3]| (seen > 0.0).then_some([x, y]);
        let lines = fields.get("skeleton").and_then(numbers).unwrap_or_default();
        // Points are counted from 1 on.
        let number = |n: f64| (n as usize).wrapping_sub(1);
        Shapes {
            polygons: polygons.into_iter().flatten().take(MOST).filter_map(polygon).collect(),
            mask,
            points: points.as_chunks::<3>().0.iter().take(MOST).map(there).collect(),
            lines: lines.as_chunks::<2>().0.iter().take(MOST).map(|line| line.map(number)).collect(),
        }
    }
}

impl Boxes {
    /// The boxes of a row of a picture of this size; `arrays` are those of [`Boxes::columns`].
    pub fn of(&self, arrays: &[ArrayRef], row: usize, (width, height): (u64, u64)) -> Vec<Region> {
        let raw = raw(arrays, row);
        let (width, height) = match self.normalised {
            true => (1.0, 1.0),
            false => (width.max(1) as f64, height.max(1) as f64),
        };
        let region = |raw: Raw| {
            let [left, top, right, bottom] = raw.format.unwrap_or(self.format).corners(raw.numbers);
            let corners = [left / width, top / height, right / width, bottom / height];
            let label = raw.label.and_then(|label| self.label(&label));
            let share = |[x, y]: [f64; 2]| [x / width, y / height];
            let points: Vec<_> = raw.shapes.points.iter().map(|point| point.map(share)).collect();
            let line = |[a, b]: &[usize; 2]| Some([(*points.get(*a)?)?, (*points.get(*b)?)?]);
            let region = Region {
                corners,
                label,
                polygons: raw
                    .shapes
                    .polygons
                    .into_iter()
                    .map(|p| p.into_iter().map(share).collect())
                    .collect(),
                mask: raw.shapes.mask,
                lines: raw.shapes.lines.iter().filter_map(line).collect(),
                points: points.into_iter().flatten().collect(),
            };
            corners.iter().all(|side| side.is_finite()).then_some(region)
        };
        raw.into_iter().filter_map(region).collect()
    }

    fn label(&self, label: &Json) -> Option<String> {
        let name = label.as_u64().and_then(|n| self.names.get(usize::try_from(n).ok()?));
        match (name, label) {
            (Some(name), _) => Some(name.clone()),
            (None, Json::String(text)) => Some(text.clone()),
            (None, Json::Number(number)) => Some(number.to_string()),
            _ => None,
        }
    }
}

impl KeyPoints {
    /// The points of a row of a picture of this size, as shares of its sides; those that are marked as not there are
    /// left out.
    pub fn of(&self, array: &ArrayRef, row: usize, (width, height): (u64, u64)) -> Vec<[f64; 2]> {
        if row >= array.len() || array.is_null(row) {
            return Vec::new();
        }
        let (width, height) = match self.normalised {
            true => (1.0, 1.0),
            false => (width.max(1) as f64, height.max(1) as f64),
        };
        let points = points(&cell::shown_json(array.as_ref(), row), 0);
        points.into_iter().take(MOST).map(|[x, y]| [x / width, y / height]).collect()
    }
}

fn numbers(json: &Json) -> Option<Vec<f64>> {
    let list = json.as_array().filter(|list| !list.is_empty())?;
    list.iter().map(Json::as_f64).collect()
}

fn points(json: &Json, depth: usize) -> Vec<[f64; 2]> {
    if let Some(flat) = numbers(json) {
        // x, y and whether it is there (0), hidden (1) or seen (2).
        return match flat.len() {
            2 => flat.as_chunks::<2>().0.to_vec(),
            len if len % 3 == 0
                && flat.chunks_exact(3).all(|p| matches!(p, [_, _, v] if [0.0, 1.0, 2.0].contains(v))) =>
            {
                let seen = flat.as_chunks::<3>().0.iter().filter(|[_, _, v]| *v > 0.0);
                seen.map(|[x, y, _]| [*x, *y]).collect()
            }
            len if len % 2 == 0 => flat.as_chunks::<2>().0.to_vec(),
            _ => Vec::new(),
        };
    }
    let list = json.as_array().filter(|_| depth < DEPTH);
    list.into_iter().flatten().take(MOST).flat_map(|part| points(part, depth + 1)).collect()
}

/// The boxes of a row as they stand.
fn raw(arrays: &[ArrayRef], row: usize) -> Vec<Raw> {
    let json = |array: &ArrayRef| match row < array.len() && array.is_valid(row) {
        true => cell::shown_json(array.as_ref(), row),
        false => Json::Null,
    };
    let mut out = Vec::new();
    match arrays {
        [one] => of_json(&json(one), 0, &mut out),
        [left, top, right, bottom] => {
            let sides = [left, top, right, bottom].map(|side| {
                let json = json(side);
                numbers(&json).unwrap_or_else(|| json.as_f64().into_iter().collect())
            });
            let [left, top, right, bottom] = &sides;
            for (((left, top), right), bottom) in left.iter().zip(top).zip(right).zip(bottom).take(MOST) {
                let numbers = [*left, *top, *right, *bottom];
                out.push(Raw {
                    numbers,
                    format: Some(BoxFormat::Xyxy),
                    label: None,
                    shapes: Shapes::default(),
                });
            }
        }
        _ => {}
    }
    out
}

/// The names of fields that hold the numbers of boxes.
const BOXES: [&str; 7] = ["bbox", "bboxes", "box", "boxes", "bounding_box", "bounding_boxes", "xywh"];
/// The names of fields that hold boxes with other things.
const OBJECTS: [&str; 5] = ["objects", "annotations", "detections", "instances", "faces"];
/// The names of fields that say what is in a box.
const LABELS: [&str; 8] =
    ["category", "label", "class", "category_id", "labels", "categories", "class_id", "name"];

fn of_json(json: &Json, depth: usize, out: &mut Vec<Raw>) {
    if depth > DEPTH || out.len() >= MOST {
        return;
    }
    match json {
        Json::Array(list) => {
            if let Some(flat) = numbers(json) {
                let boxes = flat.as_chunks::<4>().0.iter().take(MOST);
                if flat.len() % 4 == 0 {
                    out.extend(boxes.map(|&numbers| Raw {
                        numbers,
                        format: None,
                        label: None,
                        shapes: Shapes::default(),
                    }));
                }
                return;
            }
            list.iter().for_each(|item| of_json(item, depth + 1, out));
        }
        Json::Object(fields) => {
            if let Some((numbers, format)) = sides(fields) {
                let (label, shapes) = (label(fields).cloned(), Shapes::of(fields));
                out.push(Raw { numbers, format: Some(format), label, shapes });
                return;
            }
            let first = out.len();
            for (_, value) in fields.iter().filter(|(name, _)| BOXES.contains(&name.to_lowercase().as_str()))
            {
                of_json(value, depth + 1, out);
            }
            // One label for one box, a list of them for a list of boxes.
            let added = out.get_mut(first..).unwrap_or_default();
            if let [one] = added {
                one.shapes = Shapes::of(fields);
            }
            match label(fields) {
                Some(Json::Array(labels)) => {
                    added.iter_mut().zip(labels).for_each(|(one, label)| one.label = Some(label.clone()));
                }
                Some(label) => added.iter_mut().for_each(|one| one.label = Some(label.clone())),
                None => {}
            }
        }
        _ => {}
    }
}

fn label(fields: &serde_json::Map<String, Json>) -> Option<&Json> {
    LABELS.iter().find_map(|name| fields.get(*name).filter(|label| !label.is_null()))
}

/// The sides of a box by their names.
fn sides(fields: &serde_json::Map<String, Json>) -> Option<([f64; 4], BoxFormat)> {
    const SIDES: [([&str; 4], BoxFormat); 6] = [
        (["x", "y", "w", "h"], BoxFormat::Xywh),
        (["x", "y", "width", "height"], BoxFormat::Xywh),
        (["left", "top", "width", "height"], BoxFormat::Xywh),
        (["xmin", "ymin", "xmax", "ymax"], BoxFormat::Xyxy),
        (["x1", "y1", "x2", "y2"], BoxFormat::Xyxy),
        (["left", "top", "right", "bottom"], BoxFormat::Xyxy),
    ];
    let number = |name: &str| fields.get(name).and_then(Json::as_f64);
    SIDES
        .iter()
        .find_map(|([a, b, c, d], format)| Some(([number(a)?, number(b)?, number(c)?, number(d)?], *format)))
}

/// The columns that may hold boxes and key points, by their names and types.
#[derive(Default)]
pub(super) struct Candidates {
    boxes: Vec<Vec<usize>>,
    /// What the fields themselves say of their boxes, by column.
    stated: Vec<(usize, (BoxFormat, bool))>,
    key_points: Option<usize>,
}

impl Candidates {
    pub(super) fn of(fields: &Fields) -> Candidates {
        let stated: Vec<(usize, (BoxFormat, bool))> =
            fields.iter().enumerate().filter_map(|(n, field)| Some((n, stated(field)?))).collect();
        let mut found = Candidates { stated, ..Candidates::default() };
        found.boxes.extend(found.stated.iter().map(|(column, _)| vec![*column]));
        found.boxes.extend(four(fields));
        found.boxes.extend(named(fields, &BOXES).map(|column| vec![column]));
        let objects = |field: &&arrow::datatypes::FieldRef| {
            let last = super::parts(field.name()).pop().unwrap_or_default();
            OBJECTS.contains(&last.as_str()) && holds_boxes(field.data_type())
        };
        found.boxes.extend(fields.iter().position(|field| objects(&field)).map(|column| vec![column]));
        found.key_points =
            named(fields, &["keypoints", "key_points", "landmarks", "points", "joints", "kpts"]);
        found
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.boxes.iter().flatten().copied().chain(self.key_points)
    }

    /// What of them there is, by values of rows whose pictures have these sizes.
    pub(super) fn settle<'a>(
        self,
        said: &[(String, Feature)],
        column: impl Fn(usize) -> Option<&'a ArrayRef>,
        sizes: &Sizes,
    ) -> (Option<Boxes>, Option<KeyPoints>) {
        let stated = self.stated;
        let boxes = self.boxes.into_iter().find_map(|columns| {
            let is_stated = |(column, _): &&(usize, _)| columns == [*column];
            if let Some((_, (format, normalised))) = stated.iter().find(is_stated).copied() {
                return Some(Boxes { columns, format, normalised, names: Arc::default() });
            }
            let arrays: Vec<ArrayRef> = columns.iter().map(|n| column(*n).cloned()).collect::<Option<_>>()?;
            let names = said.iter().filter_map(|(name, feature)| {
                let within = BOXES.contains(&name.as_str()) || OBJECTS.contains(&name.as_str());
                within.then(|| LABELS.iter().find_map(|name| feature.field(name)?.names().cloned()))?
            });
            settled(columns, &arrays, sizes, names.into_iter().next().unwrap_or_default())
        });
        let key_points = self.key_points.and_then(|place| {
            let array = column(place)?;
            let all = (0..array.len()).filter(|row| array.is_valid(*row));
            let all: Vec<[f64; 2]> =
                all.flat_map(|row| points(&cell::shown_json(array.as_ref(), row), 0)).collect();
            let normalised = all.iter().flatten().all(|side| *side <= 1.5);
            (!all.is_empty()).then_some(KeyPoints { column: place, normalised })
        });
        (boxes, key_points)
    }
}

/// The first column of lists or structs that is called by one of these words.
fn named(fields: &Fields, words: &[&str]) -> Option<usize> {
    let fits = |name: &str| super::parts(name).last().is_some_and(|last| words.contains(&last.as_str()));
    fields.iter().position(|field| field.data_type().is_nested() && fits(field.name()))
}

/// Four columns of one side each: `image/object/bbox/xmin` and its like.
fn four(fields: &Fields) -> Option<Vec<usize>> {
    let place = |name: &str| fields.iter().position(|field| field.name() == name);
    fields.iter().find_map(|field| {
        let prefix = field.name().strip_suffix("xmin")?;
        ["xmin", "ymin", "xmax", "ymax"].iter().map(|side| place(&format!("{prefix}{side}"))).collect()
    })
}

/// Whether a struct, or a list of them, has a field for boxes.
fn holds_boxes(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            matches!(item.data_type(), DataType::Struct(_)) && holds_boxes(item.data_type())
        }
        DataType::Struct(fields) => {
            fields.iter().any(|field| BOXES.contains(&field.name().to_lowercase().as_str()))
        }
        _ => false,
    }
}

/// The boxes of these columns, in the order that fits the most of a sample; `None` where there are none.
fn settled(columns: Vec<usize>, arrays: &[ArrayRef], sizes: &Sizes, names: Arc<[String]>) -> Option<Boxes> {
    let rows = arrays.iter().map(|array| array.len()).min()?;
    let all: Vec<(usize, Raw)> =
        (0..rows).flat_map(|row| raw(arrays, row).into_iter().map(move |raw| (row, raw))).collect();
    if all.is_empty() {
        return None;
    }
    let largest = all.iter().flat_map(|(_, raw)| raw.numbers).fold(0.0, f64::max);
    let normalised = largest <= 1.5;
    let size = |row: usize| match normalised {
        true => Some((1.0, 1.0)),
        false => sizes.get(row).copied().flatten().map(|(width, height)| (width as f64, height as f64)),
    };
    let fits = |format: BoxFormat| {
        let inside = |(row, raw): &&(usize, Raw)| {
            let [left, top, right, bottom] = format.corners(raw.numbers);
            let slack = |side: f64| side * 1.02 + if normalised { 0.0 } else { 1.0 };
            let within = size(*row).is_none_or(|(width, height)| {
                right <= slack(width)
                    && bottom <= slack(height)
                    && left >= -slack(width) * 0.02 - 1e-9
                    && top >= -slack(height) * 0.02 - 1e-9
            });
            left < right && top < bottom && within
        };
        all.iter().filter(inside).count()
    };
    // Where several fit: pixels as COCO has them, shares by corners; a middle only where nothing else fits.
    let order = match normalised {
        false => [BoxFormat::Xywh, BoxFormat::Xyxy, BoxFormat::Yxyx, BoxFormat::Cxcywh],
        true => [BoxFormat::Xyxy, BoxFormat::Xywh, BoxFormat::Yxyx, BoxFormat::Cxcywh],
    };
    let most = order.into_iter().map(fits).max().unwrap_or_default();
    let format = order.into_iter().find(|format| fits(*format) == most).unwrap_or_default();
    Some(Boxes { columns, format, normalised, names })
}
