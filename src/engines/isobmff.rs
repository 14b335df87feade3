//! What boxes of the ISO base media file format say: items of HEIF and their properties ([`Meta`]), movies with their
//! tracks and samples ([`movie`]). ISO 14496-12, ISO 23008-12; <https://mp4ra.org/>

pub mod movie;
mod samples;
pub mod tiles;

pub use samples::Samples;

use super::boxes::{self, Atom, find};
use super::picture_metadata::PROFILE;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{be, be_unsigned};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// Items of one file.
const ITEMS: usize = 1 << 16;

/// The brands of a file type box at the start of a file: the major one, then those that are compatible.
pub fn brands(first: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_type = first.get(4..8) == Some(b"ftyp");
    let len = be::<u32>(first, 0).unwrap_or(0) as usize;
    let body = if is_type { first.get(8..len.min(first.len())).unwrap_or_default() } else { &[] };
    // Behind the major brand stands its version.
    body.chunks_exact(4).enumerate().filter(|(n, _)| *n != 1).map(|(_, brand)| brand)
}

/// The orientation of EXIF of a picture that is turned counter-clockwise by so many quarters and then mirrored: about the
/// vertical axis (1 in HEIF: left and right change places) or the horizontal one (0).
pub fn orientation(quarters: u8, mirror: Option<u8>) -> Option<u32> {
    Some(match (quarters % 4, mirror) {
        (0, None) => return None,
        (1, None) => 8,
        (2, None) => 3,
        (_, None) => 6,
        (0, Some(1)) | (2, Some(0)) => 2,
        (0, Some(_)) | (2, Some(_)) => 4,
        (1, Some(1)) | (3, Some(0)) => 5,
        _ => 7,
    })
}

/// The bytes of several places one after the other.
///
/// # Errors
/// `Limit` for more than `most`, and those of reading.
pub fn joined(task: &Task, source: &Source, places: &[Range<u64>], most: u64) -> Result<Bytes> {
    let len =
        places.iter().fold(0u64, |len, place| len.saturating_add(place.end.saturating_sub(place.start)));
    limits::check(len, most, "an item")?;
    if let [place] = places {
        return source.read(task, place.clone());
    }
    let mut whole = Vec::new();
    for place in places {
        whole.extend_from_slice(&source.read(task, place.clone())?);
    }
    Ok(whole.into())
}

/// The part of a picture of these sides that an aperture shows (ISO 14496-12, 12.1.4): left, top, width and height.
pub fn aperture(fractions: &[i32; 8], sides: (u64, u64)) -> Option<(u64, u64, u64, u64)> {
    let [width, width_of, height, height_of, x, x_of, y, y_of] = fractions.map(f64::from);
    let part = |n: f64, of: f64| if of == 0.0 { f64::NAN } else { n / of };
    let (width, height) = (part(width, width_of), part(height, height_of));
    let left = part(x, x_of) + (sides.0 as f64 - 1.0) / 2.0 - (width - 1.0) / 2.0;
    let top = part(y, y_of) + (sides.1 as f64 - 1.0) / 2.0 - (height - 1.0) / 2.0;
    let fits = left >= 0.0 && top >= 0.0 && width >= 1.0 && height >= 1.0;
    let inside = left + width <= sides.0 as f64 + 0.5 && top + height <= sides.1 as f64 + 0.5;
    (fits && inside).then_some((left as u64, top as u64, width as u64, height as u64))
}

/// What is said of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// Width and height.
    Size(u32, u32),
    /// Bits of each channel; those of the first.
    Bits(u8),
    /// The configuration of AV1.
    Av1(Bytes),
    /// What configures the decoder of HEVC or AVC.
    Configuration(Bytes),
    /// Turned counter-clockwise by quarters.
    Rotation(u8),
    /// The part that is shown: width, height and the offset of its middle, as fractions; see [`aperture`].
    Aperture([i32; 8]),
    /// Mirrored about an axis.
    Mirror(u8),
    /// What auxiliary picture this is.
    Auxiliary(String),
    /// Primaries, transfer and matrix by their numbers in H.273.
    Colours(u16, u16, u16),
    /// An ICC profile.
    Profile(Bytes),
    /// Anything else, by its type.
    Other([u8; 4]),
}

/// Tiles of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Tiles down and across.
    pub rows: u64,
    /// See `rows`.
    pub columns: u64,
    /// Pixels of the whole.
    pub width: u64,
    /// See `width`.
    pub height: u64,
}

#[derive(Clone, Debug, Default)]
struct Item {
    kind: [u8; 4],
    places: Vec<Range<u64>>,
    /// Numbers of its properties, from 1 on.
    properties: Vec<usize>,
}

/// The items of a file.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// The item that is shown.
    pub primary: Option<u32>,
    items: BTreeMap<u32, Item>,
    properties: Vec<Property>,
    /// From, kind, to.
    references: Vec<(u32, [u8; 4], Vec<u32>)>,
    /// Bodies of grids, by their items.
    grids: BTreeMap<u32, Bytes>,
}

fn wrong(what: impl std::fmt::Display, at: u64) -> Error {
    Error::malformed(format!("HEIF: {what}")).at(at)
}

impl Meta {
    /// Reads the box *meta*.
    ///
    /// # Errors
    /// `Malformed` for boxes that end early; those of reading.
    pub fn read(task: &Task, source: &Source, meta: &Atom) -> Result<Self> {
        let parts = meta.children(task, source, 4)?;
        let mut found = Meta::default();
        let body = |kind: &[u8; 4]| find(&parts, kind).map(|one| one.read(task, source)).transpose();
        if let Some(bytes) = body(b"pitm")? {
            found.primary = match bytes.first() {
                Some(0) => be::<u16>(&bytes, 4).map(u32::from),
                _ => be::<u32>(&bytes, 4),
            };
        }
        if let Some(info) = find(&parts, b"iinf") {
            let wide =
                source.read_up_to(task, info.body.start, 1)?.first().is_some_and(|version| *version > 0);
            for entry in info.children(task, source, if wide { 8 } else { 6 })? {
                if entry.kind == *b"infe" {
                    let bytes = source.read_up_to(task, entry.body.start, 16)?;
                    found.describe(&bytes);
                }
                if found.items.len() > ITEMS {
                    return Err(Error::limit(format!("HEIF: more than {ITEMS} items")));
                }
            }
        }
        let data = find(&parts, b"idat").map(|one| one.body.clone());
        if let Some(one) = find(&parts, b"iloc") {
            found.locate(&one.read(task, source)?, data, one.start)?;
        }
        if let Some(one) = find(&parts, b"iprp") {
            let below = one.children(task, source, 0)?;
            if let Some(all) = find(&below, b"ipco") {
                for property in all.children(task, source, 0)? {
                    let most = if property.kind == *b"colr" { PROFILE } else { 4_096 };
                    let len = (property.body.end - property.body.start).min(most) as usize;
                    let bytes = source.read_up_to(task, property.body.start, len)?;
                    found.properties.push(self::property(property.kind, bytes.get(..len).unwrap_or(&bytes)));
                }
            }
            for one in below.iter().filter(|one| one.kind == *b"ipma") {
                found.associate(&one.read(task, source)?);
            }
        }
        if let Some(one) = find(&parts, b"iref") {
            let wide =
                source.read_up_to(task, one.body.start, 1)?.first().is_some_and(|version| *version > 0);
            for reference in one.children(task, source, 4)? {
                found.refer(reference.kind, &reference.read(task, source)?, wide);
            }
        }
        for (id, item) in found.items.iter().filter(|(_, item)| item.kind == *b"grid") {
            found.grids.insert(*id, joined(task, source, &item.places, 64)?);
        }
        Ok(found)
    }

    fn describe(&mut self, bytes: &[u8]) {
        let version = bytes.first().copied().unwrap_or(0);
        let (id, at) = match version {
            3 => (be::<u32>(bytes, 4), 10),
            _ => (be::<u16>(bytes, 4).map(u32::from), 8),
        };
        let kind = bytes.get(at..at + 4).and_then(|kind| kind.first_chunk().copied());
        if let (Some(id), Some(kind), 2..) = (id, kind, version) {
            self.items.entry(id).or_default().kind = kind;
        }
    }

    fn locate(&mut self, bytes: &[u8], data: Option<Range<u64>>, start: u64) -> Result<()> {
        let short = || wrong("the places of its items are cut off", start);
        let version = bytes.first().copied().ok_or_else(short)?;
        let sizes = be::<u16>(bytes, 4).ok_or_else(short)?;
        let size = |shift: u32| usize::from(sizes >> shift & 15);
        let (offset, length, base) = (size(12), size(8), size(4));
        let index = if version > 0 { size(0) } else { 0 };
        let mut at = 6;
        let mut next = |width: usize| -> Result<u64> {
            let part = bytes.get(at..at + width).filter(|_| width <= 8).ok_or_else(short)?;
            at += width;
            Ok(be_unsigned(part))
        };
        let id_width = if version < 2 { 2 } else { 4 };
        let count = next(id_width)?;
        for _ in 0..count {
            let id = next(id_width)? as u32;
            let method = if version > 0 { next(2)? & 15 } else { 0 };
            next(2)?;
            let base = next(base)?;
            let extents = next(2)?;
            let mut places = Vec::new();
            for _ in 0..extents {
                next(index)?;
                let (from, len) = (next(offset)?, next(length)?);
                let shift = match (method, &data) {
                    (1, Some(data)) => data.start,
                    _ => 0,
                };
                let from = base.saturating_add(from).saturating_add(shift);
                places.push(from..from.saturating_add(len));
            }
            if self.items.len() > ITEMS {
                return Err(Error::limit(format!("HEIF: more than {ITEMS} items")).at(start));
            }
            self.items.entry(id).or_default().places = places;
        }
        Ok(())
    }

    fn associate(&mut self, bytes: &[u8]) {
        let (Some(version), Some(flags)) = (bytes.first(), bytes.get(3)) else { return };
        let (id_width, wide) = (if *version == 0 { 2 } else { 4 }, flags & 1 == 1);
        let mut at = 8;
        for _ in 0..be::<u32>(bytes, 4).unwrap_or(0) {
            let Some(id) = bytes.get(at..at + id_width).map(|id| be_unsigned(id) as u32) else { return };
            let Some(count) = bytes.get(at + id_width).copied() else { return };
            at += id_width + 1;
            for _ in 0..count {
                let number = match wide {
                    true => be::<u16>(bytes, at).map(|number| usize::from(number & 0x7fff)),
                    false => bytes.get(at).map(|number| usize::from(number & 0x7f)),
                };
                let Some(number) = number else { return };
                at += if wide { 2 } else { 1 };
                if let Some(item) = self.items.get_mut(&id) {
                    item.properties.push(number);
                }
            }
        }
    }

    fn refer(&mut self, kind: [u8; 4], bytes: &[u8], wide: bool) {
        let width = if wide { 4 } else { 2 };
        let mut ids = bytes.get(..width).into_iter().map(be_unsigned);
        let Some(from) = ids.next() else { return };
        let count = usize::from(be::<u16>(bytes, width).unwrap_or(0));
        let to = bytes.get(width + 2..).unwrap_or_default().chunks_exact(width).take(count);
        self.references.push((from as u32, kind, to.map(|id| be_unsigned(id) as u32).collect()));
    }

    /// The type of an item.
    pub fn kind(&self, id: u32) -> Option<[u8; 4]> {
        self.items.get(&id).map(|item| item.kind)
    }

    /// All items with their types.
    pub fn items(&self) -> impl Iterator<Item = (u32, [u8; 4])> {
        self.items.iter().map(|(id, item)| (*id, item.kind))
    }

    /// Where the bytes of an item lie.
    ///
    /// # Errors
    /// `Malformed` where no place is named.
    pub fn places(&self, id: u32) -> Result<Vec<Range<u64>>> {
        let item = self.items.get(&id).filter(|item| !item.places.is_empty());
        item.map(|item| item.places.clone()).ok_or_else(|| wrong(format!("item {id} has no place"), 0))
    }

    /// What is said of an item.
    pub fn properties(&self, id: u32) -> impl Iterator<Item = &Property> {
        let numbers = self.items.get(&id).map_or(&[][..], |item| &item.properties);
        numbers.iter().filter_map(|number| self.properties.get(number.checked_sub(1)?))
    }

    /// The items that an item refers to in this way.
    pub fn references(&self, id: u32, kind: &[u8; 4]) -> Vec<u32> {
        let found = self.references.iter().filter(|(from, by, _)| *from == id && by == kind);
        found.flat_map(|(_, _, to)| to).copied().collect()
    }

    /// The item that is the alpha of another.
    pub fn alpha_of(&self, id: u32) -> Option<u32> {
        let auxiliary = self.references.iter().filter(|(_, by, to)| by == b"auxl" && to.contains(&id));
        auxiliary.map(|(from, ..)| *from).find(|from| {
            self.properties(*from).any(|property| match property {
                Property::Auxiliary(name) => name.ends_with("alpha") || name.ends_with("auxid:1"),
                _ => false,
            })
        })
    }

    /// What a grid says of itself.
    ///
    /// # Errors
    /// `Malformed` for one that is cut off.
    pub fn grid(&self, id: u32) -> Result<Grid> {
        let short = || wrong(format!("the grid {id} is cut off"), 0);
        let bytes = self.grids.get(&id).ok_or_else(short)?;
        let (flags, rows, columns) = match bytes.get(1..4) {
            Some(&[flags, rows, columns]) => (flags, rows, columns),
            _ => return Err(short()),
        };
        let (width, height) = match flags & 1 {
            0 => (be::<u16>(bytes, 4).map(u64::from), be::<u16>(bytes, 6).map(u64::from)),
            _ => (be::<u32>(bytes, 4).map(u64::from), be::<u32>(bytes, 8).map(u64::from)),
        };
        Ok(Grid {
            rows: u64::from(rows) + 1,
            columns: u64::from(columns) + 1,
            width: width.ok_or_else(short)?,
            height: height.ok_or_else(short)?,
        })
    }
}

fn property(kind: [u8; 4], bytes: &[u8]) -> Property {
    let other = Property::Other(kind);
    match &kind {
        b"ispe" => match (be(bytes, 4), be(bytes, 8)) {
            (Some(width), Some(height)) => Property::Size(width, height),
            _ => other,
        },
        b"pixi" => bytes.get(5).map_or(other, |bits| Property::Bits(*bits)),
        b"av1C" => Property::Av1(Bytes::copy_from_slice(bytes)),
        b"hvcC" | b"avcC" => Property::Configuration(Bytes::copy_from_slice(bytes)),
        b"clap" if bytes.len() >= 32 => {
            Property::Aperture(std::array::from_fn(|n| be(bytes, n * 4).unwrap_or(0)))
        }
        b"irot" => bytes.first().map_or(other, |turn| Property::Rotation(turn & 3)),
        b"imir" => bytes.first().map_or(other, |axis| Property::Mirror(axis & 1)),
        b"auxC" => {
            let name = bytes.get(4..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
            Property::Auxiliary(String::from_utf8_lossy(name).into_owned())
        }
        b"colr" => match (bytes.get(..4), be(bytes, 4), be(bytes, 6), be(bytes, 8)) {
            (Some(b"nclx"), Some(a), Some(b), Some(c)) => Property::Colours(a, b, c),
            (Some(b"prof" | b"rICC"), ..) => {
                Property::Profile(Bytes::copy_from_slice(bytes.get(4..).unwrap_or_default()))
            }
            _ => other,
        },
        _ => other,
    }
}

/// The boxes of a file, and the first that is cut off.
///
/// # Errors
/// As [`boxes::list`].
pub fn top(task: &Task, source: &Source) -> Result<Vec<Atom>> {
    boxes::list(task, source, 0..source.len(task)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brands_are_those_of_the_file_type() {
        let first = b"\0\0\0\x18ftypmif1\0\0\0\0avifmiafmore";
        let found: Vec<&[u8]> = brands(first).collect();
        assert_eq!(found, [&b"mif1"[..], b"avif", b"miaf"]);
        assert_eq!(brands(b"\0\0\0\x18free").count(), 0);
    }

    #[test]
    fn turns_and_mirrors_are_orientations() {
        let all = [
            (0, None),
            (0, Some(1)),
            (2, None),
            (0, Some(0)),
            (1, Some(1)),
            (3, None),
            (3, Some(1)),
            (1, None),
        ];
        let found: Vec<u32> =
            all.iter().map(|(turn, mirror)| orientation(*turn, *mirror).unwrap_or(1)).collect();
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
