//! EXIF of a picture: its fields as attributes, its orientation.

use super::picture::Header;
use crate::data::content::image::orientation;
use crate::engines::picture_metadata::exif;
use ::exif::{In, Tag};
use bytes::Bytes;

/// Adds what an EXIF block (a TIFF structure) says. What cannot be parsed becomes a remark: the
/// pixels do not depend on it.
pub(super) fn add(header: &mut Header, block: &[u8]) {
    let parsed = match exif::parsed(block) {
        Ok((parsed, wrong)) => {
            header.remarks.extend(wrong);
            parsed
        }
        Err(error) => {
            header.remarks.push(error.message().to_owned());
            return;
        }
    };
    if let Some(field) = parsed.get_field(Tag::Orientation, In::PRIMARY)
        && let Some(value) = field.value.get_uint(0)
    {
        header.info.orientation = Some(value);
        header.detail("EXIF orientation", orientation(value));
    }
    for field in parsed.fields().take(exif::MOST) {
        let prefix = if field.ifd_num == In::PRIMARY { "exif" } else { "exif thumbnail" };
        if let Some(value) = exif::words(field, Some(&parsed)) {
            header.attribute(format!("{prefix} {}", field.tag), value);
        }
    }
    header.blocks.exif.get_or_insert_with(|| Bytes::copy_from_slice(block));
}
