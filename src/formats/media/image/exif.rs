//! EXIF metadata (CIPA DC-008) as attributes, by kamadak-exif.

use super::picture::Header;
use crate::data::content::image::orientation;
use exif::{In, Tag, Value};

/// Fields of one file that are listed.
const MOST: usize = 512;
/// Characters of one value that are kept.
const LONGEST: usize = 1_000;

/// Adds what an EXIF block (a TIFF structure) says. What cannot be parsed becomes a remark: the
/// pixels do not depend on it.
pub(super) fn add(header: &mut Header, block: &[u8]) {
    let block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
    let mut reader = exif::Reader::new();
    reader.continue_on_error(true);
    let parsed = reader.read_raw(block.to_vec()).or_else(|error| {
        error.distill_partial_result(|errors| {
            header.remarks.extend(errors.first().map(|first| format!("EXIF is damaged: {first}")));
        })
    });
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            header.remarks.push(format!("EXIF cannot be read: {error}"));
            return;
        }
    };
    if let Some(field) = parsed.get_field(Tag::Orientation, In::PRIMARY)
        && let Some(value) = field.value.get_uint(0)
    {
        header.info.orientation = Some(value);
        header.detail("EXIF orientation", orientation(value));
    }
    for field in parsed.fields().take(MOST) {
        let prefix = if field.ifd_num == In::PRIMARY { "exif" } else { "exif thumbnail" };
        let value = match (&field.value, field.tag) {
            (_, Tag::MakerNote | Tag::UserComment) => bytes_of(&field.value),
            (Value::Short(values), Tag::Orientation) => match values.first() {
                Some(&value) => orientation(u32::from(value)),
                None => continue,
            },
            _ => field.display_value().with_unit(&parsed).to_string(),
        };
        header.attribute(format!("{prefix} {}", field.tag), cut(value));
    }
}

/// A block of bytes is told by its length, a comment in ASCII by its text.
fn bytes_of(value: &Value) -> String {
    match value {
        Value::Undefined(bytes, _) => match bytes.strip_prefix(b"ASCII\0\0\0") {
            Some(text) => String::from_utf8_lossy(text).trim_end_matches(['\0', ' ']).to_owned(),
            None => format!("{} bytes", bytes.len()),
        },
        _ => "bytes".to_owned(),
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
