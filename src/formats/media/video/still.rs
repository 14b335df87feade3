//! The picture of a HEIC that is a grid of coded tiles.

use super::codecs;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Image, ImageInfo, Pixels, Rect, Sample};
use crate::data::node::Node;
use crate::engines::ffmpeg::Coding;
use crate::engines::isobmff::tiles::{self, Tiles};
use crate::engines::isobmff::{self, Meta, Property};
use std::sync::Arc;

/// Bytes of decoded pixels that are kept.
const KEPT: usize = 256 << 20;

/// Kinds of tiles that are decoded.
const KINDS: [&[u8; 4]; 5] = [b"hvc1", b"hev1", b"avc1", b"av01", b"jpeg"];

struct Grid {
    source: Source,
    tiles: Tiles,
    coding: Option<Coding>,
    codec: String,
    /// The part that is shown.
    shown: Option<Rect>,
    info: ImageInfo,
    kept: Cache<(), Arc<Pixels>>,
}

/// The node of the grid `id`.
///
/// # Errors
/// As [`Tiles::of`].
pub(super) fn node(source: &Source, meta: &Meta, id: u32) -> Result<Node> {
    let tiles = Tiles::of(meta, id, &KINDS)?;
    super::check_size(tiles.width, tiles.height)?;
    let first = tiles::coded(meta, id);
    let codec = codecs::of_description(&meta.kind(first).unwrap_or_default(), None);
    let private = meta.properties(first).find_map(|property| match property {
        Property::Configuration(bytes) | Property::Av1(bytes) => Some(bytes.to_vec()),
        _ => None,
    });
    let private = private.unwrap_or_default();
    let bits = codecs::bits(&codec, &private).max(8);
    let coding = codecs::coding(&codec, &private, tiles.tile);
    let (mut turns, mut mirror, mut shown, mut profile) = (0, None, None, Arc::default());
    for property in meta.properties(id).chain(meta.properties(first)) {
        match property {
            Property::Rotation(quarters) => turns = *quarters,
            Property::Mirror(axis) => mirror = Some(*axis),
            Property::Aperture(fractions) => {
                let part = isobmff::aperture(fractions, (tiles.width, tiles.height));
                shown = part.map(|(x, y, width, height)| Rect { x, y, width, height });
            }
            Property::Profile(bytes) => profile = Arc::from(bytes.as_ref()),
            _ => {}
        }
    }
    let (width, height) = shown.map_or((tiles.width, tiles.height), |part| (part.width, part.height));
    let info = ImageInfo {
        width,
        height,
        channels: 3,
        bits,
        sample: if bits > 8 { Sample::U16 } else { Sample::U8 },
        frames: 1,
        levels: vec![(width, height)],
        orientation: isobmff::orientation(turns, mirror),
        profile,
        details: vec![
            ("codec".to_owned(), codec.clone()),
            ("tiles".to_owned(), format!("{} of {} × {}", tiles.places.len(), tiles.tile.0, tiles.tile.1)),
        ],
        ..ImageInfo::default()
    };
    let source = source.clone();
    let grid = Grid { source, tiles, coding, codec, shown, info, kept: Cache::with_last(KEPT) };
    Ok(Node::new("", "image").content(Content::Image(Arc::new(grid))))
}

impl Grid {
    fn decode(&self, task: &Task) -> Result<Pixels> {
        let refused = || Error::unsupported(format!("tiles coded as {}, which is not decoded", self.codec));
        let coding = self.coding.as_ref().ok_or_else(refused)?;
        let layout = if self.info.sample == Sample::U8 { ("rgb24", 3) } else { ("rgb48le", 6) };
        let data = self.tiles.decode(task, &self.source, coding, layout)?;
        let (width, height) = (self.tiles.width, self.tiles.height);
        let pixels = Pixels { width, height, channels: 3, sample: self.info.sample, alpha: false, data };
        Ok(match self.shown {
            Some(part) => pixels.crop(part),
            None => pixels,
        })
    }
}

impl Image for Grid {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn read(&self, task: &Task, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        task.check()?;
        if frame > 0 || level > 0 {
            return Err(Error::bug(format!("frame {frame} at level {level} of a picture was asked for")));
        }
        let pixels = match self.kept.get(&()) {
            Some(pixels) => pixels,
            None => {
                let pixels = Arc::new(self.decode(task)?);
                self.kept.put((), pixels.clone(), pixels.data.len());
                pixels
            }
        };
        let all = rect.cut(pixels.width, pixels.height) == Rect::all(pixels.width, pixels.height);
        Ok(if all { (*pixels).clone() } else { pixels.crop(rect) })
    }
}
