//! The directories of EXIF and GPS of a page as a TIFF structure of their own, small enough to be read as a whole.

use super::ifd::{self, Directory, Field, Order};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;

/// Where directories of EXIF, GPS and of interoperability are pointed to from.
const POINTERS: [u16; 3] = [34665, 34853, 40965];
/// Fields of the page itself that EXIF has, too.
const OWN: [u16; 12] = [270, 271, 272, 274, 282, 283, 296, 305, 306, 315, 318, 33432];
/// Bytes of one value, and of the block.
const VALUE: u64 = 64 << 10;
const BLOCK: usize = 4 << 20;

/// The block; `None` where the page points to no such directory.
///
/// # Errors
/// `Cancelled`.
pub(super) fn block(task: &Task, source: &Source, order: Order, page: &Directory) -> Result<Option<Bytes>> {
    if POINTERS.iter().all(|tag| page.field(*tag).is_none()) {
        return Ok(None);
    }
    let mut out = match order.big_endian {
        true => b"MM\0\x2a\0\0\0\x08".to_vec(),
        false => b"II\x2a\0\x08\0\0\0".to_vec(),
    };
    let fields = page.fields.iter().filter(|field| OWN.contains(&field.tag) || POINTERS.contains(&field.tag));
    let fields: Vec<&Field> = fields.collect();
    directory(task, source, order, &fields, &mut out, 0)?;
    Ok(Some(out.into()))
}

/// Appends a directory with its values, and those that it points to.
fn directory(
    task: &Task,
    source: &Source,
    order: Order,
    fields: &[&Field],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<()> {
    let number = |value: u64, width: usize| -> Vec<u8> {
        let bytes = value.to_be_bytes();
        let mut bytes = bytes.get(8 - width..).unwrap_or_default().to_vec();
        if !order.big_endian {
            bytes.reverse();
        }
        bytes
    };
    // The fields of 64 bits are of BigTIFF alone.
    let fields: Vec<&&Field> = fields.iter().filter(|field| field.kind() <= 13).take(1_000).collect();
    let start = out.len();
    out.extend(number(fields.len() as u64, 2));
    out.resize(start + 2 + fields.len() * 12 + 4, 0);
    for (n, field) in fields.into_iter().enumerate() {
        let at = out.len();
        let is_pointer = POINTERS.contains(&field.tag);
        let (kind, count, value) = if is_pointer && depth < 2 {
            let below = field.numbers(task, source, order).unless_cancelled()?;
            let place = below.ok().and_then(|list| list.first().copied());
            let read = place.map(|place| ifd::directory(task, source, order, place).unless_cancelled());
            match read.transpose()? {
                Some(Ok((below, _))) => {
                    let fields: Vec<&Field> = below.fields.iter().collect();
                    directory(task, source, order, &fields, out, depth + 1)?;
                    (4, 1, number(at as u64, 4))
                }
                _ => (4, 1, number(0, 4)),
            }
        } else {
            let bytes = if field.len() > VALUE || out.len() > BLOCK {
                Bytes::new()
            } else {
                field.raw(task, source).unless_cancelled()?.unwrap_or_default()
            };
            let count = if bytes.is_empty() { 0 } else { field.count };
            match bytes.len() {
                ..=4 => (field.kind(), count, bytes.to_vec()),
                _ => {
                    out.extend_from_slice(&bytes);
                    out.resize(out.len().next_multiple_of(2), 0);
                    (field.kind(), count, number(at as u64, 4))
                }
            }
        };
        let mut entry =
            [number(field.tag.into(), 2), number(kind.into(), 2), number(count, 4), value].concat();
        entry.resize(12, 0);
        let place = start + 2 + n * 12;
        if let Some(place) = out.get_mut(place..place + 12) {
            place.copy_from_slice(&entry);
        }
    }
    Ok(())
}
