//! OpenEXR: parts of channels of half, float or 32-bit whole numbers, in blocks of lines or in tiles.
//! <https://openexr.com/en/latest/OpenEXRFileLayout.html>
//!
//! The `exr` crate reads the headers and undoes the compression of one block at a time; which blocks are
//! read, and that they are no larger than their file and the limits, is decided here. Red, green, blue and
//! alpha of a layer make one picture; every other channel is a picture of its own. Channels may have a sample for
//! several pixels; luminance and chroma ([`chroma`]) are a picture in colours, too.

mod chroma;

use super::picture::{self, Codec, Header, blank, check_pixels};
use crate::bytes::error::{Error, Result};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::limits;
use crate::bytes::numbers::{le, le_or_zero};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Rect, Sample};
use crate::data::format::Opening;
use crate::data::node::Node;
use chroma::Luminance;
use exr::block::UncompressedBlock;
use exr::block::chunk::{
    Chunk, CompressedBlock, CompressedScanLineBlock, CompressedTileBlock, TileCoordinates,
};
use exr::compression::Compression;
use exr::math::Vec2;
use exr::meta::attribute::{ChannelDescription, SampleType};
use exr::meta::header::Header as Part;
use exr::meta::{BlockDescription, MetaData};
use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

/// Pixels up to which a picture is decoded whole, and kept, when a part of it is asked for.
const WHOLE: u64 = 16 << 20;

/// Reads the headers.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut reader = source.reader(task);
    let meta = MetaData::read_from_buffered(Counted { inner: &mut reader }, false).map_err(refused)?;
    let tables = reader.position();
    let file = Arc::new(File { multipart: meta.requirements.is_multilayer(), meta, tables });
    let mut nodes = Vec::new();
    for number in 0..file.meta.headers.len() {
        pictures(task, source, &file, number, &mut nodes)?;
    }
    if nodes.is_empty() {
        return Err(Error::malformed("OpenEXR: it has no channels"));
    }
    let mut root = nodes.remove(0);
    root.name = source.name().to_owned();
    Ok(if nodes.is_empty() { root } else { root.listed(nodes) })
}

/// A reader that hands on what it is asked for and no more, so that its position tells where headers end.
struct Counted<'a, R> {
    inner: &'a mut R,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.inner.read(out)
    }
}

fn refused(error: exr::error::Error) -> Error {
    match error {
        exr::error::Error::NotSupported(what) => Error::unsupported(format!("OpenEXR: {what}")),
        exr::error::Error::Io(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::malformed("OpenEXR: it ends too early; it may be cut off")
        }
        exr::error::Error::Io(io) => io.into(),
        exr::error::Error::Invalid(what) => Error::malformed(format!("OpenEXR: {what}")),
        exr::error::Error::Aborted => Error::cancelled(),
    }
}

/// The headers, and where the tables of block offsets begin.
struct File {
    meta: MetaData,
    multipart: bool,
    tables: u64,
}

impl File {
    fn part(&self, number: usize) -> Result<&Part> {
        self.meta.headers.get(number).ok_or_else(|| Error::bug("an OpenEXR part that does not exist"))
    }

    /// Where a part's table of offsets begins.
    fn table(&self, number: usize) -> Option<u64> {
        let before = self.meta.headers.get(..number)?;
        before
            .iter()
            .try_fold(self.tables, |at, part| at.checked_add((part.chunk_count as u64).checked_mul(8)?))
    }
}

/// The pictures of a part.
fn pictures(
    task: &Task,
    source: &Source,
    file: &Arc<File>,
    number: usize,
    nodes: &mut Vec<Node>,
) -> Result<()> {
    task.check()?;
    let part = file.part(number)?;
    let channels = &part.channels.list;
    let names: Vec<String> = channels.iter().map(|channel| channel.name.to_string()).collect();
    let problem = judge(source, file, number).err();
    let layer = part.own_attributes.layer_name.as_ref().map(ToString::to_string);
    if problem.is_none() {
        colours(source, file, number, &names, nodes)?;
    }
    let sampled: Vec<(u64, u64)> = channels.iter().map(sampling).collect();
    for group in groups(&names, &sampled) {
        let mut header = Header::default();
        let types: Vec<SampleType> =
            group.iter().filter_map(|&n| channels.get(n)).map(|channel| channel.sample_type).collect();
        let first = types.first().copied().unwrap_or(SampleType::F32);
        let sample = match first {
            _ if types.iter().any(|&t| t != first) => Sample::F32,
            SampleType::F16 => Sample::F16,
            SampleType::F32 => Sample::F32,
            SampleType::U32 => Sample::U32,
        };
        let info = &mut header.info;
        let sampling = group.first().and_then(|&n| sampled.get(n)).copied().unwrap_or((1, 1));
        info.width = part.layer_size.0 as u64 / sampling.0;
        info.height = part.layer_size.1 as u64 / sampling.1;
        (info.channels, info.sample, info.alpha) = (group.len() as u32, sample, group.len() == 4);
        info.bits = sample.size() as u32 * 8;
        let told: Vec<&str> = group.iter().filter_map(|&n| names.get(n)).map(String::as_str).collect();
        header.detail("channels", told.join(", "));
        if sampling != (1, 1) {
            header.detail("a sample for", format!("{} × {} pixels", sampling.0, sampling.1));
        }
        describe(&mut header, part, nodes.is_empty());
        header.problem.clone_from(&problem);
        let codec = Exr { file: file.clone(), part: number, channels: group.clone(), sampling, sample };
        let mut node = picture::node(source, header, codec)?;
        let short = joined(&told);
        node.name = match &layer {
            Some(layer) => format!("{layer}.{short}"),
            None => short,
        };
        nodes.push(node);
    }
    Ok(())
}

/// The picture in colours that the luminance and chroma of a part are, without a layer's name before them.
fn colours(
    source: &Source,
    file: &Arc<File>,
    number: usize,
    names: &[String],
    nodes: &mut Vec<Node>,
) -> Result<()> {
    let part = file.part(number)?;
    let channel = |name: &str| -> Option<Exr> {
        let n = names.iter().position(|known| known == name)?;
        let channel = part.channels.list.get(n)?;
        let sample = match channel.sample_type {
            SampleType::F16 => Sample::F16,
            SampleType::F32 => Sample::F32,
            SampleType::U32 => return None,
        };
        Some(Exr { file: file.clone(), part: number, channels: vec![n], sampling: sampling(channel), sample })
    };
    let (Some(y), Some(ry), Some(by)) = (channel("Y"), channel("RY"), channel("BY")) else { return Ok(()) };
    let is_even = |one: &Exr| matches!(one.sampling, (1, 1) | (2, 2));
    if y.sampling != (1, 1) || !is_even(&ry) || !is_even(&by) {
        return Ok(());
    }
    let alpha = channel("A").filter(|alpha| alpha.sampling == (1, 1));
    let mut header = Header::default();
    let info = &mut header.info;
    (info.width, info.height) = (part.layer_size.0 as u64, part.layer_size.1 as u64);
    (info.sample, info.bits, info.alpha) = (Sample::F32, y.sample.size() as u32 * 8, alpha.is_some());
    info.channels = if info.alpha { 4 } else { 3 };
    header.detail("channels", "Y, RY, BY: luminance and chroma, shown as red, green and blue");
    describe(&mut header, part, nodes.is_empty());
    let shares = chroma::shares(part.shared_attributes.chromaticities.as_ref());
    let mut node = picture::node(source, header, Luminance { y, chroma: [ry, by], alpha, shares })?;
    let layer = part.own_attributes.layer_name.as_ref().map(ToString::to_string);
    node.name = layer.map_or_else(|| "RGB".to_owned(), |layer| format!("{layer}.RGB"));
    nodes.push(node);
    Ok(())
}

/// What channels of one layer are called together: the layer's name, and the letter of each (`diffuse.RGB`).
fn joined(names: &[&str]) -> String {
    let layer = names.first().and_then(|name| name.rfind('.')).map_or(0, |dot| dot + 1);
    let letters = names.iter().map(|name| name.get(layer..).unwrap_or(name));
    let layer = names.first().and_then(|name| name.get(..layer)).unwrap_or_default();
    std::iter::once(layer).chain(letters).collect()
}

/// For how many pixels across and down a channel has a sample.
fn sampling(channel: &ChannelDescription) -> (u64, u64) {
    (channel.sampling.0.max(1) as u64, channel.sampling.1.max(1) as u64)
}

/// Channels that make a picture together: R, G, B and A of a layer, with samples for the same pixels; others stand alone.
fn groups(names: &[String], sampled: &[(u64, u64)]) -> Vec<Vec<usize>> {
    let find = |name: String| names.iter().position(|n| *n == name);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut taken = vec![false; names.len()];
    for name in names {
        let prefix = name.rfind('.').and_then(|at| name.get(..=at)).unwrap_or_default();
        let colours: Option<Vec<usize>> =
            ["R", "G", "B"].map(|c| find(format!("{prefix}{c}"))).into_iter().collect();
        let Some(mut colours) = colours else { continue };
        colours.extend(find(format!("{prefix}A")));
        let same = colours.windows(2).all(|pair| match *pair {
            [a, b] => sampled.get(a) == sampled.get(b),
            _ => true,
        });
        if same && colours.iter().all(|&n| taken.get(n) == Some(&false)) {
            colours.iter().for_each(|&n| {
                if let Some(place) = taken.get_mut(n) {
                    *place = true
                }
            });
            groups.push(colours);
        }
    }
    // The layer without a name first, then single channels.
    groups.sort_by_key(|group| {
        group.first().and_then(|&n| names.get(n)).is_some_and(|name| name.contains('.'))
    });
    groups.extend(taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(n, _)| vec![n]));
    groups
}

/// What cannot be read of a part, and what is not there.
fn judge(source: &Source, file: &File, number: usize) -> Result<()> {
    let part = file.part(number)?;
    if part.deep {
        return Err(Error::unsupported("OpenEXR: deep data, with several samples in one pixel"));
    }
    let (size, at) = (part.layer_size, part.own_attributes.layer_position);
    for (x, y) in part.channels.list.iter().map(sampling).filter(|sampling| *sampling != (1, 1)) {
        let divides = |of: u64, size: usize, at: i32| {
            (size as u64).is_multiple_of(of) && i64::from(at).rem_euclid(of.min(1 << 32) as i64) == 0
        };
        if !divides(x, size.0, at.0) || !divides(y, size.1, at.1) {
            let what = format!(
                "OpenEXR: a channel with a sample for {x} × {y} pixels, which do not divide its sides"
            );
            return Err(Error::malformed(what));
        }
        // The decoder of B44 counts the blocks of such channels wrongly; what others give was not held against OpenEXR.
        let known = [
            Compression::Uncompressed,
            Compression::RLE,
            Compression::ZIP1,
            Compression::ZIP16,
            Compression::PIZ,
        ];
        if !known.contains(&part.compression) {
            let what = format!("OpenEXR: {} of channels with fewer samples than pixels", part.compression);
            return Err(Error::unsupported(what));
        }
        if matches!(part.blocks, BlockDescription::Tiles(_)) {
            return Err(Error::unsupported("OpenEXR: tiles of channels with fewer samples than pixels"));
        }
    }
    let Vec2(width, rows) = part.max_block_pixel_size();
    let area = (width as u64).saturating_mul(rows as u64);
    limits::check(area.saturating_mul(pixel_bytes(part)), limits::CHUNK, "a block of lines or tile")?;
    let table = file.table(number).and_then(|at| at.checked_add((part.chunk_count as u64).checked_mul(8)?));
    if let Some(len) = source.known_len()
        && table.is_none_or(|end| end > len)
    {
        let what =
            format!("OpenEXR: its {} blocks have no room in the file; it may be cut off", part.chunk_count);
        return Err(Error::malformed(what).at(file.tables));
    }
    Ok(())
}

/// Bytes of one pixel of all channels.
fn pixel_bytes(part: &Part) -> u64 {
    part.channels.list.iter().map(|channel| channel.sample_type.bytes_per_sample() as u64).sum()
}

/// Bytes of a line of a channel; none where it has no samples in the line `y`, counted from the first of the part.
fn line_bytes(channel: &ChannelDescription, width: u64, y: u64) -> u64 {
    let (across, down) = sampling(channel);
    match y % down {
        0 => width / across * channel.sample_type.bytes_per_sample() as u64,
        _ => 0,
    }
}

/// Bytes of a block.
fn block_bytes(part: &Part, place: Rect) -> u64 {
    let list = &part.channels.list;
    if list.iter().all(|channel| sampling(channel) == (1, 1)) {
        return place.width * place.height * pixel_bytes(part);
    }
    let lines = place.y..place.y + place.height;
    lines.flat_map(|y| list.iter().map(move |channel| line_bytes(channel, place.width, y))).sum()
}

fn describe(header: &mut Header, part: &Part, all: bool) {
    header.detail("compression", part.compression.to_string());
    match part.blocks {
        BlockDescription::ScanLines => header.detail("blocks", "lines"),
        BlockDescription::Tiles(tiles) => {
            header.detail("tiles", format!("{} × {}", tiles.tile_size.0, tiles.tile_size.1));
        }
    }
    if !all {
        return;
    }
    let window = part.shared_attributes.display_window;
    let (at, size) = (window.position, window.size);
    header.attribute("display window", format!("{} × {} at ({}, {})", size.0, size.1, at.0, at.1));
    let own = part.own_attributes.other.iter();
    let mut others: Vec<(String, String)> = own
        .chain(&part.shared_attributes.other)
        .map(|(name, value)| (name.to_string(), words(value)))
        .collect();
    let texts = [
        ("owner", &part.own_attributes.owner),
        ("comments", &part.own_attributes.comments),
        ("software", &part.own_attributes.software_name),
    ];
    for (name, text) in texts {
        others.extend(text.as_ref().map(|text| (name.to_owned(), spelled(text))));
    }
    others.sort();
    others.into_iter().for_each(|(name, value)| header.attribute(name, value));
}

/// A text: UTF-8 as newer programs write it, else ISO 8859-1.
fn spelled(text: &exr::meta::attribute::Text) -> String {
    let utf8 = std::str::from_utf8(text.as_slice()).map(str::to_owned);
    utf8.unwrap_or_else(|_| text.to_string())
}

/// An attribute's value.
fn words(value: &exr::meta::attribute::AttributeValue) -> String {
    use exr::meta::attribute::AttributeValue as V;
    match value {
        V::Text(text) => spelled(text),
        V::F32(n) => crate::data::cell::float32(*n),
        V::F64(n) => crate::data::cell::float64(*n),
        V::I32(n) => n.to_string(),
        other => {
            let text = format!("{other:?}");
            text.chars().take(1_000).collect()
        }
    }
}

/// Some channels of a part.
struct Exr {
    file: Arc<File>,
    part: usize,
    channels: Vec<usize>,
    /// For how many pixels across and down they have a sample.
    sampling: (u64, u64),
    sample: Sample,
}

/// A block: its place in the table, and the pixels that it has.
struct Block {
    index: u64,
    rect: Rect,
}

impl Exr {
    /// The blocks that touch `rect`.
    fn blocks(&self, part: &Part, rect: Rect) -> Vec<Block> {
        let (width, height) = (part.layer_size.0 as u64, part.layer_size.1 as u64);
        let Vec2(wide, high) = part.max_block_pixel_size();
        let (wide, high) = ((wide as u64).max(1), (high as u64).max(1));
        let across = width.div_ceil(wide);
        let mut blocks = Vec::new();
        if rect.width == 0 || rect.height == 0 {
            return blocks;
        }
        for row in rect.y / high..=(rect.y + rect.height - 1) / high {
            for column in rect.x / wide..=(rect.x + rect.width - 1) / wide {
                let place = Rect { x: column * wide, y: row * high, width: wide, height: high };
                // Blocks at the right and bottom have what is left.
                let cut =
                    Rect { width: wide.min(width - place.x), height: high.min(height - place.y), ..place };
                blocks.push(Block { index: row * across + column, rect: cut });
            }
        }
        blocks
    }

    fn samples(&self, task: &Task, source: &Source, rect: Rect, partial: bool) -> Result<Pixels> {
        judge(source, &self.file, self.part)?;
        let part = self.file.part(self.part)?;
        let (across, down) = self.sampling;
        let rect = rect.cut(part.layer_size.0 as u64 / across, part.layer_size.1 as u64 / down);
        check_pixels(rect.width, rect.height)?;
        // The pixels that its samples stand for.
        let Rect { x, y, width, height } = rect;
        let pixels_of = Rect { x: x * across, y: y * down, width: width * across, height: height * down };
        let channels = self.channels.len() as u32;
        let mut pixels = blank(rect.width, rect.height, channels, self.sample, channels == 4)?;
        for block in self.blocks(part, pixels_of) {
            task.check()?;
            match self.block(task, source, part, &block) {
                Ok(Some(data)) => self.paste(part, &mut pixels, rect, &block, &data),
                Ok(None) => {}
                Err(error) if error.is_cancelled() || !partial => return Err(error),
                Err(_) => {}
            }
        }
        Ok(pixels)
    }

    /// A block's samples: line by line, in each line channel by channel. `None` where it was never written.
    fn block(&self, task: &Task, source: &Source, part: &Part, block: &Block) -> Result<Option<Vec<u8>>> {
        let table =
            self.file.table(self.part).ok_or_else(|| Error::malformed("OpenEXR: its tables overflow"))?;
        if block.index >= part.chunk_count as u64 {
            return Err(Error::malformed(format!("OpenEXR: it has no block {}", block.index)));
        }
        let place = table + block.index * 8;
        let at = le_or_zero::<u64>(&source.read(task, place..place + 8)?, 0);
        if at == 0 {
            return Ok(None);
        }
        let number = |skip: u64| -> Result<i64> {
            let start = at
                .checked_add(skip)
                .ok_or_else(|| Error::malformed("OpenEXR: a block's offset overflows"))?;
            let bytes = source.read_up_to(task, start, 4)?;
            le::<i32>(&bytes, 0).map(i64::from).ok_or_else(|| {
                Error::malformed("OpenEXR: a block lies beyond the end; the file may be cut off").at(at)
            })
        };
        let mut skip = 0;
        if self.file.multipart {
            if number(0)? != self.part as i64 {
                return Err(Error::malformed("OpenEXR: a block belongs to another part").at(at));
            }
            skip = 4;
        }
        let wrong = || Error::malformed("OpenEXR: a block is not where its table says").at(at);
        let tiles = matches!(part.blocks, BlockDescription::Tiles(_));
        let Vec2(wide, high) = part.max_block_pixel_size();
        let (column, row) = (block.rect.x / (wide as u64).max(1), block.rect.y / (high as u64).max(1));
        let y = i64::from(part.own_attributes.layer_position.1) + block.rect.y as i64;
        let expected: &[i64] = if tiles { &[column as i64, row as i64, 0, 0] } else { &[y] };
        for &value in expected {
            if number(skip)? != value {
                return Err(wrong());
            }
            skip += 4;
        }
        let len = u64::try_from(number(skip)?).map_err(|_| wrong())?;
        let start = at + skip + 4;
        let raw = block_bytes(part, block.rect);
        limits::check(raw, limits::CHUNK, "a block of lines or tile")?;
        if len > raw.saturating_mul(2).saturating_add(4096) {
            let what = format!("OpenEXR: a block of {len} bytes for {raw} bytes of samples");
            return Err(Error::malformed(what).at(at));
        }
        let stored = source.read(task, start..start.saturating_add(len))?.to_vec();
        let compressed_block = match tiles {
            true => CompressedBlock::Tile(CompressedTileBlock {
                coordinates: TileCoordinates {
                    tile_index: Vec2(column as usize, row as usize),
                    level_index: Vec2(0, 0),
                },
                compressed_pixels_le: stored,
            }),
            false => CompressedBlock::ScanLine(CompressedScanLineBlock {
                y_coordinate: i32::try_from(y).map_err(|_| wrong())?,
                compressed_pixels_le: stored,
            }),
        };
        let chunk = Chunk { layer_index: self.part, compressed_block };
        let meta = self.meta(raw, block.rect)?;
        let data = catch_decoder_panic("a block", || {
            let block = UncompressedBlock::decompress_chunk(chunk, &meta, false);
            Ok(block.map_err(refused)?.data)
        });
        let data = data.map_err(|error| error.at(at))?;
        if data.len() as u64 != raw {
            let what = format!("OpenEXR: a block gives {} bytes, it should give {raw}", data.len());
            return Err(Error::malformed(what).at(at));
        }
        Ok(Some(data))
    }

    /// The headers for the decoder of a block: it takes the size of a block for that of its pixels with all channels, which
    /// is not so where these have fewer samples. What it is told then gives the size that it is.
    fn meta(&self, raw: u64, place: Rect) -> Result<Cow<'_, MetaData>> {
        let area = (place.width * place.height).max(1);
        if raw == area * pixel_bytes(self.file.part(self.part)?) {
            return Ok(Cow::Borrowed(&self.file.meta));
        }
        if raw == 0 || !raw.is_multiple_of(area) {
            let what = "OpenEXR: blocks of channels with fewer samples than pixels that are no whole number of bytes a pixel";
            return Err(Error::unsupported(what));
        }
        let mut meta = self.file.meta.clone();
        if let Some(part) = meta.headers.get_mut(self.part) {
            part.channels.bytes_per_pixel = (raw / area) as usize;
        }
        Ok(Cow::Owned(meta))
    }

    /// Copies what a block has of `rect`, which counts samples.
    fn paste(&self, part: &Part, pixels: &mut Pixels, rect: Rect, block: &Block, data: &[u8]) {
        let place = block.rect;
        let (across, down) = self.sampling;
        let left = rect.x.max(place.x.div_ceil(across));
        let right = (rect.x + rect.width).min((place.x + place.width).div_ceil(across));
        let (size, count) = (self.sample.size(), self.channels.len());
        let mut line = 0;
        for y in place.y..place.y + place.height {
            for (n, channel) in part.channels.list.iter().enumerate() {
                let start = line;
                line += line_bytes(channel, place.width, y) as usize;
                let inside = y.is_multiple_of(down) && (rect.y..rect.y + rect.height).contains(&(y / down));
                let Some(k) = self.channels.iter().position(|own| *own == n).filter(|_| inside) else {
                    continue;
                };
                let stored = channel.sample_type.bytes_per_sample();
                let from = start + left.saturating_sub(place.x.div_ceil(across)) as usize * stored;
                let end = from + right.saturating_sub(left) as usize * stored;
                let Some(from) = data.get(from..end) else { continue };
                let to = ((y / down - rect.y) * rect.width + (left - rect.x)) as usize * count * size;
                let Some(to) = pixels.data.get_mut(to..) else { continue };
                for (pixel, sample) in to.chunks_exact_mut(count * size).zip(from.chunks_exact(stored)) {
                    if let Some(out) = pixel.get_mut(k * size..(k + 1) * size) {
                        put(out, channel.sample_type, sample);
                    }
                }
            }
        }
    }
}

/// One sample, little-endian, as it is or as an f32 where channels differ. The crate gives it in the
/// machine's order.
fn put(out: &mut [u8], kind: SampleType, sample: &[u8]) {
    if out.len() == sample.len() {
        out.copy_from_slice(sample);
        if cfg!(target_endian = "big") {
            out.reverse();
        }
        return;
    }
    let value = match (kind, sample.first_chunk::<2>()) {
        (SampleType::F16, Some(bytes)) => half::f16::from_ne_bytes(*bytes).to_f32(),
        _ => 0.0,
    };
    out.copy_from_slice(value.to_le_bytes().get(..out.len()).unwrap_or_default());
}

impl Codec for Exr {
    fn frame(&self, task: &Task, source: &Source, _frame: u64, partial: bool) -> Result<Pixels> {
        self.samples(task, source, Rect::all(u64::MAX, u64::MAX), partial)
    }

    fn region(&self, task: &Task, source: &Source, _frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        let size = self.file.part(self.part)?.layer_size;
        if (size.0 as u64).saturating_mul(size.1 as u64) <= WHOLE {
            return Ok(None);
        }
        self.samples(task, source, rect, false).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::Content;
    use crate::data::format::Options;
    use std::path::Path;

    fn opened(name: &str) -> crate::data::open::Document {
        let path = format!("{}/fixtures/exr/{name}.exr", env!("CARGO_MANIFEST_DIR"));
        crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
    }

    #[test]
    fn channels_of_a_layer_have_its_name_once() {
        assert_eq!(joined(&["diffuse.R", "diffuse.G", "diffuse.B"]), "diffuse.RGB");
        assert_eq!(joined(&["R", "G", "B", "A"]), "RGBA");
        assert_eq!(joined(&["left.depth.Z"]), "left.depth.Z");
        assert_eq!(joined(&[]), "");
    }

    fn pixels(node: &Node) -> Pixels {
        let Some(Content::Image(image)) = &node.content else { panic!("{}", node.name) };
        let info = image.info();
        image.read(&Task::new(), 0, 0, Rect::all(info.width, info.height)).unwrap()
    }

    #[test]
    fn channels_of_every_kind() {
        let half = pixels(&opened("rgb_half").root);
        assert_eq!((half.width, half.height, half.channels, half.sample), (12, 9, 3, Sample::F16));
        assert!(half.sample(2, 1, 0).unwrap().is_nan());
        assert_eq!(half.sample(3, 2, 1), Some(f64::INFINITY));
        let float = pixels(&opened("rgb_float").root);
        let near = |a: f64, b: f64| (a - b).abs() <= b.abs() / 1000.0;
        assert!(near(half.sample(5, 5, 2).unwrap(), float.sample(5, 5, 2).unwrap()));
        assert_eq!(pixels(&opened("depth_float").root).sample(5, 5, 0), float.sample(5, 5, 2));
        let ids = pixels(&opened("ids_uint").root);
        assert_eq!((ids.sample, ids.sample(11, 8, 0)), (Sample::U32, Some(107.0 * 39_000_000.0)));
        let rgba = pixels(&opened("rgba_half").root);
        assert!(rgba.alpha && rgba.sample(11, 8, 3) == Some(1.0));
    }

    #[test]
    fn lossless_codecs_give_the_same() {
        let plain = pixels(&opened("codec_rle").root);
        for name in ["codec_zip", "codec_zips", "codec_piz"] {
            assert_eq!(pixels(&opened(name).root).data, plain.data, "{name}");
        }
    }

    #[test]
    fn luminance_and_chroma_are_colours() {
        let plain = opened("luminance_plain");
        let children = plain.root.child_page(&Task::new(), 0..10).unwrap();
        let names: Vec<&str> = children.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["BY", "RY", "Y"]);
        let (seen, by) = (pixels(&plain.root), pixels(&children[0]));
        assert_eq!((seen.width, seen.height, seen.channels, seen.sample), (40, 36, 3, Sample::F32));
        assert_eq!((by.width, by.height, by.sample), (20, 18, Sample::F16));
        // Ramps of red across and of green down, where chroma is known; that of the rest is between it.
        for (x, y) in [(8u64, 4u64), (10, 14), (20, 18), (30, 34), (31, 29), (33, 31)] {
            let wanted = [x as f64 / 39.0 * 255.0, y as f64 / 35.0 * 255.0].map(|v| 0.25 + v.floor() / 255.0);
            for (channel, wanted) in wanted.into_iter().enumerate() {
                let value = seen.sample(x, y, channel as u32).unwrap();
                assert!((value - wanted).abs() < 0.02, "{x} {y} {channel}: {value}, not {wanted}");
            }
        }
        for name in ["luminance_zips", "luminance_zip"] {
            let document = opened(name);
            assert_eq!(pixels(&document.root).data, seen.data, "{name}");
        }
        let problem = |name: &str| opened(name).root.problem.as_ref().unwrap().to_string();
        assert!(problem("malformed/luminance_of_b44").contains("of channels with fewer samples"));
        assert!(problem("malformed/samples_that_do_not_divide").contains("do not divide"));
        let across = opened("half_across");
        let other = across.root.child_page(&Task::new(), 0..1).unwrap();
        let (whole, other) = (pixels(&across.root), pixels(&other[0]));
        assert_eq!((whole.width, other.width, other.height), (40, 20, 36));
        assert!((whole.sample(6, 5, 0).unwrap() - other.sample(3, 5, 0).unwrap()).abs() < 1e-3);
    }

    #[test]
    fn further_channels_are_pictures_below() {
        let document = opened("layers");
        let children = document.root.child_page(&Task::new(), 0..10).unwrap();
        let names: Vec<&str> = children.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["depth.Z", "normal.X", "normal.Y"]);
        assert_eq!(pixels(&document.root).channels, 3);
        assert_eq!(pixels(&children[1]).sample, Sample::F32);
    }
}
