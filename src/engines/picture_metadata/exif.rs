//! EXIF (CIPA DC-008): its directories as nodes, its fields as their attributes, by kamadak-exif.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::image::orientation;
use crate::data::node::Node;
use ::exif::{Context, Exif, Field, In, Reader, Tag, Value};
use bytes::Bytes;

/// Fields of one file that are listed.
pub const MOST: usize = 512;
/// Characters of one value that are kept.
const LONGEST: usize = 1_000;

/// What a block holds, and what is wrong with it where only a part of it can be read.
///
/// # Errors
/// `Malformed` where nothing of it can be read.
pub fn parsed(block: &[u8]) -> Result<(Exif, Option<String>)> {
    let block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
    let mut reader = Reader::new();
    reader.continue_on_error(true);
    let mut wrong = None;
    let parsed = reader.read_raw(block.to_vec()).or_else(|error| {
        error.distill_partial_result(|errors| {
            wrong = errors.first().map(|first| format!("EXIF is damaged: {first}"));
        })
    });
    match parsed {
        Ok(parsed) => Ok((parsed, wrong)),
        Err(error) => Err(Error::malformed(format!("EXIF cannot be read: {error}"))),
    }
}

/// The value of a field in words; `None` for one that says nothing.
pub fn words(field: &Field, of: Option<&Exif>) -> Option<String> {
    let value = match (&field.value, field.tag) {
        (_, Tag::MakerNote | Tag::UserComment) => bytes_of(&field.value),
        (Value::Short(values), Tag::Orientation) => orientation(u32::from(*values.first()?)),
        _ => match of {
            Some(exif) => field.display_value().with_unit(exif).to_string(),
            None => field.display_value().to_string(),
        },
    };
    Some(cut(value))
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

/// What the directory of a field is called.
fn directory(field: &Field) -> &'static str {
    match (field.ifd_num, field.tag.context()) {
        (In::THUMBNAIL, _) => "Thumbnail",
        (_, Context::Exif) => "Photo",
        (_, Context::Gps) => "GPS",
        (_, Context::Interop) => "Interoperability",
        _ => "Image",
    }
}

/// Directories of fields as nodes below `root`.
pub fn tree<'a>(root: Node, fields: impl Iterator<Item = &'a Field>, of: Option<&Exif>) -> Node {
    let mut groups: Vec<Node> = Vec::new();
    for field in fields.take(MOST) {
        let Some(value) = words(field, of) else { continue };
        let name = directory(field);
        let at = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            groups.push(Node::new(name, "directory"));
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.attributes.push((field.tag.to_string(), value.into()));
        }
    }
    root.listed(groups)
}

/// The tree of a block.
pub(super) fn node(_task: &Task, block: &Bytes) -> Result<Node> {
    let (exif, wrong) = parsed(block)?;
    let mut node = tree(Node::new("EXIF", "metadata"), exif.fields(), Some(&exif));
    node.remarks.extend(wrong);
    Ok(node)
}
