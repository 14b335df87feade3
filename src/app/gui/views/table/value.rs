//! One value of a table in full, as the cell inspector shows it: made by a job from the cell.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use egui::ColorImage;
use gander::cell;
use gander::content::{Content, Rect, Table};
use gander::error::{Error, Result};
use gander::source::Source;
use gander::task::Task;
use serde_json::Value as Json;

/// Longer texts are not looked at as JSON.
const JSON: usize = 16 << 20;
/// Pictures are shown up to this many pixels; larger ones by a smaller level, where they have one.
const PIXELS: u64 = 32 << 20;

/// A value in full.
pub(super) struct Value {
    /// Its type.
    pub(super) type_text: String,
    /// How it can be looked at; the first is shown at first.
    pub(super) faces: Vec<Face>,
    /// What is copied.
    pub(super) text: String,
    /// Words on its size.
    pub(super) size: String,
}

/// One way to look at a value.
pub(super) enum Face {
    /// Missing.
    Null,
    /// Text, in lines.
    Text(Vec<String>),
    /// A tree: a list, a struct, a map, or a text that holds JSON.
    Tree(Json),
    /// Bytes.
    Hex(Vec<u8>),
    /// A picture, and words on it.
    Picture(Arc<ColorImage>, String),
    /// Bytes that are a file of a known format; its name and tree.
    Inside(String, Json),
}

impl Face {
    /// The word on its button.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Face::Null => "Null",
            Face::Text(_) => "Text",
            Face::Tree(_) => "Tree",
            Face::Hex(_) => "Hex",
            Face::Picture(..) => "Image",
            Face::Inside(..) => "Content",
        }
    }
}

/// Reads a cell and makes its faces.
pub(super) fn read(table: &dyn Table, task: &Task, row: u64, column: usize) -> Result<Value> {
    let batch = table.read(task, row..row + 1, &[column])?;
    if batch.num_rows() == 0 || batch.num_columns() == 0 {
        return Err(Error::malformed(format!("row {row} is not there")));
    }
    let field = batch.schema().field(0).clone();
    let type_text = gander::display::column_type(&field);
    of(task, batch.column(0).as_ref(), 0, type_text)
}

fn of(task: &Task, array: &dyn Array, row: usize, type_text: String) -> Result<Value> {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        return Ok(Value { type_text, faces: vec![Face::Null], text: String::new(), size: String::new() });
    }
    if let Some(bytes) = bytes(array, row) {
        let mut faces = inside(task, bytes)?;
        faces.push(Face::Hex(bytes.to_vec()));
        let size = gander::display::bytes(bytes.len() as u64);
        return Ok(Value { type_text, faces, text: hex(bytes), size });
    }
    if array.data_type().is_nested() {
        return nested(task, array, row, type_text);
    }
    let text = match super::pages::string(array, row) {
        Some(text) => text.to_owned(),
        None => cell::text(array, row).unwrap_or_default(),
    };
    let mut faces = Vec::new();
    if let Some(json) = json(&text) {
        faces.push(Face::Tree(json));
    }
    faces.push(Face::Text(lines(&text)));
    let characters = text.chars().count() as u64;
    let size = if characters > 40 { gander::display::plural(characters, "character") } else { String::new() };
    Ok(Value { type_text, faces, text, size })
}

fn nested(task: &Task, array: &dyn Array, row: usize, type_text: String) -> Result<Value> {
    let json = cell::shown_json(array, row);
    let mut faces = Vec::new();
    // A struct with bytes in it is how data sets hold pictures: {bytes, path}.
    if let Some(fields) = array.as_struct_opt() {
        for column in fields.columns() {
            if let Some(bytes) = bytes(column.as_ref(), row).filter(|bytes| !bytes.is_empty()) {
                faces.append(&mut inside(task, bytes)?);
            }
        }
    }
    let text = serde_json::to_string_pretty(&json).unwrap_or_default();
    let size = match &json {
        Json::Array(list) => gander::display::plural(list.len() as u64, "item"),
        Json::Object(map) => gander::display::plural(map.len() as u64, "field"),
        _ => String::new(),
    };
    faces.push(Face::Tree(json));
    faces.push(Face::Text(lines(&text)));
    Ok(Value { type_text, faces, text, size })
}

fn bytes(array: &dyn Array, row: usize) -> Option<&[u8]> {
    match array.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            if array.is_null(row) {
                None
            } else {
                cell::binary(array, row)
            }
        }
        _ => None,
    }
}

fn json(text: &str) -> Option<Json> {
    let start = text.trim_start();
    let likely = start.starts_with('{') || start.starts_with('[');
    (likely && text.len() <= JSON).then(|| serde_json::from_str(text).ok()).flatten()
}

/// Lines of at most a few thousand characters, so that each can be drawn.
fn lines(text: &str) -> Vec<String> {
    const LONGEST: usize = 2000;
    let mut out = Vec::new();
    for line in text.split('\n') {
        let mut rest = line.trim_end_matches('\r');
        while let Some((at, _)) = rest.char_indices().nth(LONGEST) {
            out.push(rest[..at].to_owned());
            rest = &rest[at..];
        }
        out.push(rest.to_owned());
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the bytes are, if they are a file of a known format.
fn inside(task: &Task, bytes: &[u8]) -> Result<Vec<Face>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let source = Source::memory("value", bytes.to_vec());
    let document = match gander::open::open_source(task, &source, &Default::default()) {
        Ok(document) => document,
        Err(error) if error.is_cancelled() => return Err(error),
        Err(_) => return Ok(Vec::new()),
    };
    let mut faces = Vec::new();
    match &document.root.content {
        Some(Content::Image(image)) => {
            if let Ok(picture) = picture(task, &**image) {
                let info = image.info();
                let words = format!("{} · {}×{}", document.format.name, info.width, info.height);
                faces.push(Face::Picture(Arc::new(picture), words));
            }
        }
        Some(Content::Text(_)) => {
            let text = String::from_utf8_lossy(bytes);
            faces.extend(json(&text).map(Face::Tree));
            faces.push(Face::Text(lines(&text)));
        }
        Some(Content::Bytes(_)) => {}
        Some(Content::Table(_) | Content::Array(_)) | None => {
            let facts = document.root.shown_attributes().map(|(name, value)| {
                let value = match value {
                    gander::node::Value::Text(text) => Json::String(text.clone()),
                    gander::node::Value::Json(json) => json.clone(),
                };
                (name.clone(), value)
            });
            faces.push(Face::Inside(document.format.name.to_owned(), Json::Object(facts.collect())));
        }
    }
    Ok(faces)
}

fn picture(task: &Task, image: &dyn gander::content::Image) -> Result<ColorImage> {
    let info = image.info();
    let fits = |size: &(u64, u64)| size.0.saturating_mul(size.1) <= PIXELS;
    let level = info.levels.iter().position(fits).unwrap_or(info.levels.len().saturating_sub(1));
    let (width, height) = info.levels.get(level).copied().unwrap_or((info.width, info.height));
    if !fits(&(width, height)) {
        return Err(Error::limit(format!("a picture of {width}×{height} pixels")));
    }
    let pixels = image.read(task, 0, level as u32, Rect::all(width, height))?;
    let size = [pixels.width as usize, pixels.height as usize];
    let bytes = pixels.to_rgb8();
    let alpha = pixels.alpha && pixels.channels > 1;
    Ok(if alpha {
        ColorImage::from_rgba_unmultiplied(size, &bytes)
    } else {
        ColorImage::from_rgb(size, &bytes)
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryArray, StringArray, StructArray};
    use arrow::datatypes::Field;

    use super::*;

    fn words(array: &dyn Array) -> Vec<&'static str> {
        let value = of(&Task::new(), array, 0, String::new()).unwrap();
        value.faces.iter().map(Face::word).collect()
    }

    #[test]
    fn a_value_is_shown_as_what_it_is() {
        assert_eq!(words(&StringArray::from(vec!["plain"])), ["Text"]);
        assert_eq!(words(&StringArray::from(vec!["{\"a\": [1]}"])), ["Tree", "Text"]);
        assert_eq!(words(&StringArray::from(vec![None::<&str>])), ["Null"]);
        assert_eq!(*words(&BinaryArray::from_vec(vec![b"\x00\x01\x02"])).last().unwrap(), "Hex");
    }

    #[test]
    fn a_picture_in_a_struct_is_shown() {
        let mut png = Vec::new();
        let image = image::RgbImage::from_pixel(3, 2, image::Rgb([255, 0, 0]));
        image.write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png).unwrap();
        let bytes = Arc::new(BinaryArray::from_vec(vec![&png]));
        let path = Arc::new(StringArray::from(vec!["a.png"]));
        let both = StructArray::from(vec![
            (Arc::new(Field::new("bytes", DataType::Binary, true)), bytes as Arc<dyn Array>),
            (Arc::new(Field::new("path", DataType::Utf8, true)), path),
        ]);
        assert_eq!(words(&both), ["Image", "Tree", "Text"]);
    }
}
