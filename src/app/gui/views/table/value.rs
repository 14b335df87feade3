//! One value of a table in full, as the cell inspector shows it: made by a job from the cell.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use egui::{Color32, ColorImage};
use gander::bytes::error::{Error, Result, UnlessCancelled};
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::{Content, Pixels, Rect, Table};
use serde_json::Value as Parsed;

use crate::gui::ui::json::Json;

/// A picture is shown in the panel below the grid, with at most so many pixels each way: of a larger one each pixel is
/// the mean of a square of its own.
const SHOWN: u64 = 2048;
/// Pixels that are decoded at a time.
const BAND: u64 = 4 << 20;

/// A value in full.
pub(super) struct Value {
    /// Its type.
    pub(super) type_text: String,
    /// How it can be looked at; the first is shown at first.
    pub(super) faces: Vec<Face>,
    /// What is copied.
    pub(super) text: Arc<str>,
    /// Words on its size.
    pub(super) size: String,
}

/// One way to look at a value.
pub(super) enum Face {
    /// Missing.
    Null,
    /// Text.
    Text(Arc<str>),
    /// A tree: a list, a struct, a map, or a text that holds JSON.
    Tree(Arc<Json>),
    /// Bytes.
    Hex(Vec<u8>),
    /// A picture, and words on it.
    Picture(Arc<ColorImage>, String),
    /// Why a picture cannot be shown.
    Problem(String),
    /// Bytes that are a file of a known format; its name and tree.
    Inside(String, Arc<Json>),
}

impl Face {
    /// The word on its button.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Face::Null => "Null",
            Face::Text(_) => "Text",
            Face::Tree(_) => "Tree",
            Face::Hex(_) => "Hex",
            Face::Picture(..) | Face::Problem(_) => "Image",
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
    let type_text = gander::bytes::display::short_arrow_type(table.column_type(column), 60);
    of(task, batch.column(0).as_ref(), 0, type_text)
}

fn of(task: &Task, array: &dyn Array, row: usize, type_text: String) -> Result<Value> {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        return Ok(Value { type_text, faces: vec![Face::Null], text: "".into(), size: String::new() });
    }
    if let Some(bytes) = bytes(array, row) {
        let mut faces = inside(task, bytes)?;
        faces.push(Face::Hex(bytes.to_vec()));
        let size = gander::bytes::display::bytes(bytes.len() as u64);
        return Ok(Value { type_text, faces, text: hex(bytes).into(), size });
    }
    if array.data_type().is_nested() {
        return nested(task, array, row, type_text);
    }
    let text: Arc<str> = match super::pages::string(array, row) {
        Some(text) => text.into(),
        None => cell::text(array, row).unwrap_or_default().into(),
    };
    let mut faces = Vec::new();
    faces.extend(Json::new(task, text.clone())?.map(|json| Face::Tree(Arc::new(json))));
    faces.push(Face::Text(lines(&text)));
    let characters = text.chars().count() as u64;
    let size =
        if characters > 40 { gander::bytes::display::plural(characters, "character") } else { String::new() };
    Ok(Value { type_text, faces, text, size })
}

fn nested(task: &Task, array: &dyn Array, row: usize, type_text: String) -> Result<Value> {
    let value = cell::shown_json(array, row);
    let mut faces = Vec::new();
    // A struct with bytes in it is how data sets hold pictures: {bytes, path}.
    if let Some(fields) = array.as_struct_opt() {
        for column in fields.columns() {
            if let Some(bytes) = bytes(column.as_ref(), row).filter(|bytes| !bytes.is_empty()) {
                faces.append(&mut inside(task, bytes)?);
            }
        }
    }
    let size = match &value {
        Parsed::Array(list) => gander::bytes::display::plural(list.len() as u64, "item"),
        Parsed::Object(map) => gander::bytes::display::plural(map.len() as u64, "field"),
        _ => String::new(),
    };
    let text: Arc<str> = serde_json::to_string_pretty(&value).unwrap_or_default().into();
    drop(value);
    faces.extend(Json::new(task, text.clone())?.map(|json| Face::Tree(Arc::new(json))));
    faces.push(Face::Text(text.clone()));
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

/// A text as it is shown: each line ends in one way.
fn lines(text: &Arc<str>) -> Arc<str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.clone() }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    let digit = |four: u8| char::from_digit(four.into(), 16).unwrap_or('0');
    bytes.iter().for_each(|byte| text.extend([digit(byte >> 4), digit(byte & 15)]));
    text
}

/// What the bytes are, if they are a file of a known format.
fn inside(task: &Task, bytes: &[u8]) -> Result<Vec<Face>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let source = Source::memory("value", bytes.to_vec());
    let Ok(document) = gander::formats::open_source(task, &source, &Default::default()).unless_cancelled()?
    else {
        return Ok(Vec::new());
    };
    let mut faces = Vec::new();
    match &document.root.content {
        Some(Content::Image(image)) => {
            let info = image.info();
            let mut words = format!("{} · {}×{}", document.format.name, info.width, info.height);
            faces.push(match picture(task, &**image).unless_cancelled()? {
                Ok((picture, step)) => {
                    if step > 1 {
                        words += &format!(" · a pixel here is the mean of {step}×{step}");
                    }
                    Face::Picture(Arc::new(picture), words)
                }
                Err(error) => Face::Problem(error.to_string()),
            });
        }
        Some(Content::Text(_)) => {
            let text: Arc<str> = String::from_utf8_lossy(bytes).into();
            faces.extend(Json::new(task, text.clone())?.map(|json| Face::Tree(Arc::new(json))));
            faces.push(Face::Text(lines(&text)));
        }
        Some(Content::Graph(_) | Content::Bytes(_)) => {}
        Some(Content::Table(_) | Content::Array(_)) | None => {
            let facts = document.root.shown_attributes().map(|(name, value)| {
                let value = match value {
                    gander::data::node::Value::Text(text) => Parsed::String(text.clone()),
                    gander::data::node::Value::Json(json) => json.clone(),
                };
                (name.clone(), value)
            });
            let facts = Json::of(task, &Parsed::Object(facts.collect()))?;
            let name = document.format.name.to_owned();
            faces.extend(facts.map(|facts| Face::Inside(name, Arc::new(facts))));
        }
    }
    Ok(faces)
}

/// A picture for the panel, and how many of its pixels each way are one there. The coarsest level that is fine enough
/// is read, by bands of rows.
fn picture(task: &Task, image: &dyn gander::data::content::Image) -> Result<(ColorImage, u64)> {
    let info = image.info();
    let fine = |size: &(u64, u64)| size.0.max(size.1) >= SHOWN;
    let level = info.levels.iter().rposition(fine).unwrap_or(0);
    let (width, height) = info.levels.get(level).copied().unwrap_or((info.width, info.height));
    let step = width.max(height).div_ceil(SHOWN).max(1);
    let size = [width.div_ceil(step) as usize, height.div_ceil(step) as usize];
    let rows = (BAND / width.max(1) / step).max(1) * step;
    let mut out = Vec::with_capacity(size[0] * size[1]);
    for y in (0..height).step_by(rows as usize) {
        task.check()?;
        let rect = Rect { x: 0, y, width, height: rows.min(height - y) };
        let band = colours(&image.read(task, 0, level as u32, rect)?)?;
        reduce(&band, step as usize, &mut out);
    }
    if out.len() != size[0] * size[1] {
        return Err(Error::malformed(format!("{} pixels of {} are there", out.len(), size[0] * size[1])));
    }
    Ok((ColorImage::new(size, out), step))
}

/// Pixels in the colours of the screen.
fn colours(pixels: &Pixels) -> Result<ColorImage> {
    let size = [pixels.width as usize, pixels.height as usize];
    let bytes = pixels.to_rgb8();
    let alpha = pixels.alpha && pixels.channels > 1;
    let channels = if alpha { 4 } else { 3 };
    if bytes.len() != size[0] * size[1] * channels {
        return Err(Error::malformed(format!("{} bytes for {}×{} pixels", bytes.len(), size[0], size[1])));
    }
    Ok(match alpha {
        true => ColorImage::from_rgba_unmultiplied(size, &bytes),
        false => ColorImage::from_rgb(size, &bytes),
    })
}

/// Appends the means of squares of `step` × `step` pixels, row by row; those at the right and lower edge may be
/// smaller. The colours carry their alpha, so that what is transparent does not shine through.
fn reduce(band: &ColorImage, step: usize, out: &mut Vec<Color32>) {
    if step <= 1 {
        out.extend_from_slice(&band.pixels);
        return;
    }
    for rows in band.pixels.chunks(band.width().max(1) * step) {
        let mut sums = vec![([0u64; 4], 0u64); band.width().div_ceil(step)];
        for row in rows.chunks(band.width().max(1)) {
            for (square, (sum, count)) in row.chunks(step).zip(&mut sums) {
                for pixel in square {
                    let parts = pixel.to_array();
                    sum.iter_mut().zip(parts).for_each(|(sum, part)| *sum += u64::from(part));
                }
                *count += square.len() as u64;
            }
        }
        out.extend(sums.into_iter().map(|(sum, count)| {
            let [r, g, b, a] = sum.map(|sum| ((sum + count / 2) / count.max(1)) as u8);
            Color32::from_rgba_premultiplied(r, g, b, a)
        }));
    }
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

    /// A picture of these sides whose left half is red and whose right half is clear.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let image = image::RgbaImage::from_fn(width, height, |x, _| {
            image::Rgba([255, 0, 0, if x < width / 2 { 255 } else { 0 }])
        });
        let mut png = Vec::new();
        image.write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png).unwrap();
        png
    }

    #[test]
    fn large_pictures_are_reduced_to_what_the_panel_shows() {
        for ((width, height), size, step) in [
            ((20_000, 1000), [2000, 100], 10),
            ((40_000, 50), [2000, 3], 20),
            ((3, 5000), [1, 1667], 3),
            ((2048, 2), [2048, 2], 1),
        ] {
            let bytes = BinaryArray::from_vec(vec![&png(width, height)]);
            let value = of(&Task::new(), &bytes, 0, String::new()).unwrap();
            let Face::Picture(picture, words) = &value.faces[0] else { panic!("no picture") };
            assert_eq!(picture.size, size);
            assert_eq!(words.contains("mean of"), step > 1, "{words}");
            let (first, last) = (picture.pixels[0], *picture.pixels.last().unwrap());
            if width > 3 {
                assert_eq!((first, last), (Color32::RED, Color32::TRANSPARENT));
            } else {
                // One of three pixels is red: the mean is a third of it.
                assert_eq!(first, Color32::from_rgba_premultiplied(85, 0, 0, 85));
            }
        }
    }

    #[test]
    fn a_picture_that_cannot_be_decoded_says_why() {
        let mut bytes = png(4, 4);
        let at = bytes.windows(4).position(|four| four == b"IDAT").unwrap();
        bytes[at + 6..at + 12].fill(0xff);
        let bytes = BinaryArray::from_vec(vec![&bytes]);
        let value = of(&Task::new(), &bytes, 0, String::new()).unwrap();
        assert!(matches!(&value.faces[0], Face::Problem(words) if !words.is_empty()));
    }
}
