//! Single elements of the lists: an image, an annotation, a category.

use crate::data::json::{self, cell};
use crate::data::media::shapes::RunLengths;
use crate::engines::annotations::Object;
use std::collections::HashMap;
use std::sync::Arc;

/// Polygons, and numbers of one of them, that are kept.
const MOST: usize = 1 << 20;

/// An image as the list has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Image {
    /// What annotations name it by.
    pub(super) key: i64,
    pub(super) id: Option<i64>,
    pub(super) file: Option<String>,
    pub(super) width: Option<i64>,
    pub(super) height: Option<i64>,
}

/// A number for an id: itself, or a hash of a text.
pub(super) fn key(raw: &str) -> i64 {
    match integer(raw) {
        Some(id) => id,
        None => xxhash_rust::xxh3::xxh3_64(cell(raw).unwrap_or_default().as_bytes()).cast_signed(),
    }
}

fn integer(raw: &str) -> Option<i64> {
    let exact = |number: &f64| number.fract() == 0.0 && number.abs() < 9e15;
    raw.parse().ok().or_else(|| raw.parse::<f64>().ok().filter(exact).map(|number| number as i64))
}

fn number(raw: &str) -> Option<f64> {
    raw.parse::<f64>().ok()
}

fn text(raw: &str) -> Option<String> {
    cell(raw).map(|text| text.into_owned())
}

fn numbers(raw: &str) -> Option<Vec<f64>> {
    json::elements(raw)?.into_iter().take(MOST).map(number).collect()
}

/// The image of an element; `None` for what is none.
pub(super) fn image(element: &str) -> Option<Image> {
    let mut image = Image { key: 0, id: None, file: None, width: None, height: None };
    for (name, raw) in json::object(element)? {
        match name.as_ref() {
            "id" => (image.key, image.id) = (key(raw), integer(raw)),
            "file_name" => image.file = text(raw),
            "width" => image.width = integer(raw),
            "height" => image.height = integer(raw),
            _ => {}
        }
    }
    Some(image)
}

/// The image that an annotation is of.
pub(super) fn image_of(element: &str) -> Option<i64> {
    if let Some(found) = only_number(element) {
        return Some(found);
    }
    let fields = json::object(element)?;
    fields.iter().find(|(name, _)| name == "image_id").map(|(_, raw)| key(raw))
}

/// The number behind the name, where that stands once and can be nothing else: most annotations are outlines, and nothing
/// of those has to be looked at.
fn only_number(element: &str) -> Option<i64> {
    const NAME: &str = "\"image_id\"";
    let mut places = memchr::memmem::find_iter(element.as_bytes(), NAME);
    let (at, None) = (places.next()?, places.next()) else { return None };
    if element.as_bytes().get(at.checked_sub(1)?) == Some(&b'\\') {
        return None;
    }
    let rest = element.get(at + NAME.len()..)?.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (digits, behind) = rest.split_at_checked(end)?;
    behind.trim_start().starts_with([',', '}']).then(|| digits.parse().ok())?
}

/// A category.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Category {
    pub(super) name: Option<String>,
    pub(super) skeleton: Arc<[i64]>,
}

/// The categories by their numbers.
pub(super) fn categories(list: &str) -> HashMap<i64, Category> {
    let mut found = HashMap::new();
    for element in json::elements(list).unwrap_or_default() {
        let Some(fields) = json::object(element) else { continue };
        let (mut id, mut category) = (None, Category::default());
        for (name, raw) in fields {
            match name.as_ref() {
                "id" => id = integer(raw),
                "name" => category.name = text(raw),
                "skeleton" => {
                    let lines = json::elements(raw).unwrap_or_default();
                    let ends = |line| json::elements(line).filter(|ends| ends.len() == 2);
                    let lines = lines.into_iter().filter_map(ends).flatten().filter_map(integer);
                    category.skeleton = lines.collect();
                }
                _ => {}
            }
        }
        found.extend(id.map(|id| (id, category)));
    }
    found
}

/// What an annotation says.
#[derive(Debug, Default)]
pub(super) struct Annotation {
    pub(super) objects: Vec<Object>,
    pub(super) caption: Option<String>,
    /// The picture of the segments.
    pub(super) file: Option<String>,
}

/// An annotation; `None` for what is none.
pub(super) fn annotation(element: &str, known: &HashMap<i64, Category>) -> Option<Annotation> {
    let fields = json::object(element)?;
    let get = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw);
    let mut made = Annotation { caption: get("caption").and_then(text), ..Annotation::default() };
    if let Some(segments) = get("segments_info").and_then(json::elements) {
        made.file = get("file_name").and_then(text);
        let objects = segments.into_iter().filter_map(|segment| object(&json::object(segment)?, known));
        made.objects = objects.collect();
        return Some(made);
    }
    if ["bbox", "segmentation", "keypoints", "category_id"].iter().any(|name| get(name).is_some()) {
        made.objects.extend(object(&fields, known));
    }
    Some(made)
}

fn object(fields: &json::Fields<'_>, known: &HashMap<i64, Category>) -> Option<Object> {
    let mut object = Object::default();
    for (name, raw) in fields {
        match name.as_ref() {
            "id" => object.id = integer(raw),
            "category_id" => object.category_id = integer(raw),
            "bbox" => object.bbox = numbers(raw).and_then(|sides| sides.try_into().ok()),
            "area" => object.area = number(raw),
            "iscrowd" => object.is_crowd = Some(*raw == "true" || integer(raw).is_some_and(|n| n != 0)),
            "keypoints" => object.key_points = numbers(raw).unwrap_or_default(),
            "segmentation" if raw.starts_with('{') => object.mask = mask(raw),
            "segmentation" => {
                let polygons = json::elements(raw).unwrap_or_default();
                object.segmentation = polygons.into_iter().take(MOST).filter_map(numbers).collect();
            }
            _ => {}
        }
    }
    if let Some(category) = object.category_id.and_then(|id| known.get(&id)) {
        object.category.clone_from(&category.name);
        if !object.key_points.is_empty() {
            object.skeleton = category.skeleton.clone();
        }
    }
    Some(object)
}

/// A mask: its size and the lengths of its runs, as numbers or as a text of them.
fn mask(raw: &str) -> Option<RunLengths> {
    let fields = json::object(raw)?;
    let get = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw);
    let size = json::elements(get("size")?)?;
    let [height, width] = size.as_slice() else { return None };
    let side = |raw: &str| integer(raw).and_then(|side| u32::try_from(side).ok());
    let (height, width, counts) = (side(height)?, side(width)?, get("counts")?);
    if counts.starts_with('"') {
        return RunLengths::from_text(height, width, &cell(counts)?);
    }
    let counts = json::elements(counts)?;
    let lengths: Option<Vec<u64>> = counts.into_iter().map(|raw| integer(raw)?.try_into().ok()).collect();
    RunLengths::of(height, width, lengths?.into_iter())
}
