//! TIFF 6.0 and BigTIFF. <https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf>,
//! <https://www.awaresystems.be/imaging/tiff/bigtiff.html>
//!
//! Opening follows the chain of directories ([`ifd`]); pages ([`page`]) are read by the strips or tiles that
//! a rectangle needs ([`chunk`]), with samples of every width and kind. Pages of one size are frames; pages that differ
//! are pictures of their own.

mod chunk;
mod encode;
mod exif_block;
mod fax;
mod ifd;
mod lerc;
mod logluv;
mod lzw;
mod meaning;
mod old_jpeg;
mod page;
mod rendering;
#[cfg(test)]
mod tests;
mod thunder;
pub(super) mod write;

pub(super) use chunk::pack_bits;

use super::picture::{self, Codec, Header, blank, check_pixels};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::image::orientation;
use crate::data::content::{Pixels, Rect};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::engines::picture_metadata::{self, PROFILE};
use ifd::{Directory, Order};
use page::{Compression, Page};
use parking_lot::Mutex;
use rayon::prelude::*;
use rendering::{Rendering, seen_as, shown, to_be_seen};
use std::sync::Arc;

/// Pixels up to which a page is decoded whole, and kept, when a part of it is asked for.
const WHOLE: u64 = 16 << 20;
/// Characters of one field that are kept.
const LONGEST: usize = 64 << 10;

/// Sub-directories of one page that are followed.
const LEVELS: usize = 64;

/// A page with its smaller versions.
struct Leaf<'a> {
    page: Page,
    directory: &'a Directory,
    levels: Vec<Page>,
}

/// Follows the directories.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let chain = ifd::chain(task, source)?;
    let mut pages: Vec<Leaf<'_>> = Vec::new();
    let mut problem = chain.problem;
    for directory in &chain.directories {
        match Page::read(task, source, chain.order, directory).unless_cancelled()? {
            Ok(page) => {
                // A smaller version follows the page that it is of.
                if let Some(last) = pages.last_mut().filter(|last| is_level(last, &page)) {
                    last.levels.push(page);
                    continue;
                }
                let levels = sub_levels(task, source, chain.order, directory, &page)?;
                pages.push(Leaf { page, directory, levels });
            }
            Err(error) => {
                problem.get_or_insert(error);
            }
        }
    }
    let Some(first) = pages.first() else {
        return Err(problem.unwrap_or_else(|| Error::malformed("TIFF: it has no page")));
    };
    let stacks = meaning::stacks(task, source, chain.order, first.directory)?;
    if let ([stack], [only]) = (stacks.as_slice(), pages.as_slice())
        && stack.pages() > 1
        && only.page.compression == Compression::None
        && only.levels.is_empty()
    {
        // ImageJ writes one directory for a stack.
        let at = places(task, source, chain.order, &only.page)?.first().map_or(0, |(at, _)| *at);
        let all = meaning::following(&only.page, stack.pages(), source.len(task)?, at);
        if all.len() as u64 == stack.pages() {
            let directory = only.directory;
            pages = all.into_iter().map(|page| Leaf { page, directory, levels: Vec::new() }).collect();
        }
    }
    let whole: u64 = stacks.iter().map(meaning::Stack::pages).sum();
    if stacks.len() > 1 && whole == pages.len() as u64 {
        let mut nodes = Vec::new();
        let mut rest = pages.as_slice();
        for (n, stack) in stacks.iter().enumerate() {
            let (some, others) = rest.split_at((stack.pages() as usize).min(rest.len()));
            rest = others;
            let mut made = node(task, source, chain.order, some, Some(stack), None)?;
            made.name = if stack.name.is_empty() { n.to_string() } else { stack.name.clone() };
            nodes.push(made);
        }
        let mut root = Node::new(source.name(), "file").separator("/").listed(nodes);
        root.problem = problem;
        return Ok(root);
    }
    let alike = |leaf: &Leaf<'_>| {
        let kind = |page: &Page| {
            (page.width, page.height, page.bits, page.sample, page.channels, page.photometric, page.mask)
        };
        pages.first().is_some_and(|first| kind(&leaf.page) == kind(&first.page))
    };
    if pages.iter().all(alike) {
        return node(task, source, chain.order, &pages, stacks.first(), problem);
    }
    let mut nodes: Vec<Node> = Vec::new();
    for (n, one) in pages.iter().enumerate() {
        let mut made = node(task, source, chain.order, std::slice::from_ref(one), None, None)?;
        made.name = n.to_string();
        made.label = match (one.page.reduced, one.page.mask) {
            (_, true) => "mask",
            (true, _) => "reduced page",
            _ => "page",
        };
        nodes.push(made);
    }
    let mut root = Node::new(source.name(), "file").separator("").listed(nodes);
    root.problem = problem;
    Ok(root)
}

/// Whether a page is a smaller version of another.
fn is_level(of: &Leaf<'_>, page: &Page) -> bool {
    let last = of.levels.last().unwrap_or(&of.page);
    let kind = |page: &Page| (page.bits, page.sample, page.channels, page.photometric, page.mask);
    page.reduced
        && !of.page.reduced
        && kind(page) == kind(&of.page)
        && page.width < last.width
        && page.height <= last.height
        && page.refusal.is_none()
}

/// The smaller versions that the sub-directories of a page are.
fn sub_levels(
    task: &Task,
    source: &Source,
    order: Order,
    directory: &Directory,
    page: &Page,
) -> Result<Vec<Page>> {
    let Some(field) = directory.field(330) else { return Ok(Vec::new()) };
    let Ok(offsets) = field.numbers(task, source, order).unless_cancelled()? else { return Ok(Vec::new()) };
    let mut leaf = Leaf { page: page.clone(), directory, levels: Vec::new() };
    for at in offsets.into_iter().take(LEVELS).filter(|at| *at != 0 && *at != directory.at) {
        let read = ifd::directory(task, source, order, at)
            .and_then(|(below, _)| Page::read(task, source, order, &below));
        if let Ok(mut below) = read.unless_cancelled()? {
            below.reduced = true;
            if is_level(&leaf, &below) {
                leaf.levels.push(below);
            }
        }
    }
    Ok(leaf.levels)
}

/// The picture of pages that are alike.
fn node(
    task: &Task,
    source: &Source,
    order: Order,
    pages: &[Leaf<'_>],
    stack: Option<&meaning::Stack>,
    problem: Option<Error>,
) -> Result<Node> {
    let Some(Leaf { page: first, directory, levels }) = pages.first() else {
        return Err(Error::bug("a picture without pages"));
    };
    let mut header = Header::default();
    describe(&mut header, first);
    attributes(task, source, order, directory, &mut header)?;
    header.problem = problem;
    for leaf in pages {
        if header.problem.is_none() {
            header.problem = leaf.page.refusal.clone();
        }
    }
    let info = &mut header.info;
    (info.width, info.height, info.bits) = (first.width, first.height, first.bits.into());
    (info.channels, info.sample, info.alpha) = seen_as(first);
    (info.frames, info.planar) = (pages.len() as u64, first.planar);
    info.chunk = Some(first.chunk).filter(|(wide, high)| *wide > 0 && *high > 0);
    info.levels = vec![(first.width, first.height)];
    // Levels are those that every page has.
    let sides = |pages: &[Page]| pages.iter().map(|page| (page.width, page.height)).collect::<Vec<_>>();
    if pages.iter().all(|leaf| sides(&leaf.levels) == sides(levels)) {
        info.levels.extend(sides(levels));
    }
    let places_on_earth = meaning::geography(task, source, order, directory, info)?;
    if let Some(stack) = stack {
        stack.tell(info);
    }
    for (name, value) in places_on_earth {
        header.detail(&name, value);
    }
    if header.problem.is_none() && first.offsets.as_ref().is_some_and(|field| field.count <= 1 << 20) {
        header.problem = cut(task, source, order, first)?;
    }
    let partial = header.problem.is_some();
    let levels = pages.iter().map(|leaf| leaf.levels.clone()).collect();
    let pages = pages.iter().map(|leaf| leaf.page.clone()).collect();
    picture::node(
        source,
        header,
        Tiff { order, pages, levels, partial, chunks: Cache::with_last(KEPT), places: Mutex::new(None) },
    )
}

fn describe(header: &mut Header, page: &Page) {
    header.detail("colour type", page.colour_words());
    header.detail("compression", page.compression.words());
    if page.predictor > 1 {
        let words = if page.predictor == 2 { "differences" } else { "floating point differences" };
        header.detail("predictor", words);
    }
    let (width, rows) = page.chunk;
    match page.tiled {
        true => header.detail("tiles", format!("{width} × {rows}")),
        false => header.detail("strips", format!("{rows} rows each")),
    }
    if !page.mixed.is_empty() {
        let bits: Vec<String> = page.mixed.iter().map(u16::to_string).collect();
        header.detail("bits of a pixel's samples", bits.join(", "));
    }
    if page.channels > 1 {
        header.detail("planes", if page.planar { "apart" } else { "interleaved" });
    }
    if page.alpha() {
        let premultiplied = page.extra.first() == Some(&1);
        header.detail("alpha", if premultiplied { "premultiplied" } else { "not premultiplied" });
    }
}

/// The fields that are no layout: what the file says of itself.
fn attributes(
    task: &Task,
    source: &Source,
    order: Order,
    directory: &Directory,
    header: &mut Header,
) -> Result<()> {
    blocks(task, source, order, directory, header)?;
    for field in &directory.fields {
        let name = match field.tag {
            254..=259
            | 262
            | 266
            | 273
            | 277..=279
            | 284
            | 292
            | 317
            | 320..=325
            | 338
            | 339
            | 347
            | 512..=521
            | 530
            | 532
            | 33723
            | 34377
            | 34665
            | 34675
            | 34853
            | 40965
            | 50674 => {
                continue;
            }
            269 => "document".to_owned(),
            270 => "description".to_owned(),
            271 => "make".to_owned(),
            272 => "model".to_owned(),
            274 => "orientation".to_owned(),
            282 => "x resolution".to_owned(),
            283 => "y resolution".to_owned(),
            285 => "page".to_owned(),
            296 => "resolution unit".to_owned(),
            305 => "software".to_owned(),
            306 => "date".to_owned(),
            315 => "artist".to_owned(),
            330 => "sub-directories".to_owned(),
            700 => "XMP".to_owned(),
            33432 => "copyright".to_owned(),
            33550 => "ModelPixelScale".to_owned(),
            33922 => "ModelTiepoint".to_owned(),
            34264 => "ModelTransformation".to_owned(),
            34735 => "GeoKeyDirectory".to_owned(),
            34736 => "GeoDoubleParams".to_owned(),
            34737 => "GeoAsciiParams".to_owned(),
            42112 => "GDAL_METADATA".to_owned(),
            42113 => "GDAL_NODATA".to_owned(),
            tag => format!("tag {tag}"),
        };
        let words = match field.tag {
            700 => field.raw(task, source).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            _ => field.words(task, source, order),
        };
        match words.unless_cancelled()? {
            Ok(words) if field.tag == 274 => {
                header.info.orientation = words.parse().ok();
                header.detail("orientation", header.info.orientation.map_or(words, orientation));
            }
            Ok(words) => {
                let end = words.char_indices().nth(LONGEST).map_or(words.len(), |(at, _)| at);
                header.attribute(name, words.get(..end).unwrap_or_default());
            }
            Err(error) => {
                header.remarks.push(format!("the field {name} cannot be read: {}", error.message()))
            }
        }
    }
    Ok(())
}

/// EXIF, XMP, IPTC and a profile.
fn blocks(
    task: &Task,
    source: &Source,
    order: Order,
    directory: &Directory,
    header: &mut Header,
) -> Result<()> {
    let raw = |tag: u16| -> Result<Option<bytes::Bytes>> {
        let read = directory.field(tag).filter(|field| field.len() <= PROFILE);
        Ok(read.map(|field| field.raw(task, source).unless_cancelled()).transpose()?.and_then(Result::ok))
    };
    if let Some(profile) = raw(34675)? {
        header.profile(profile);
    }
    header.blocks.xmp.extend(raw(700)?);
    let photoshop = raw(34377)?;
    let within =
        photoshop.as_deref().and_then(picture_metadata::photoshop).map(bytes::Bytes::copy_from_slice);
    header.blocks.iptc = raw(33723)?.filter(|block| block.first() == Some(&0x1c)).or(within);
    header.blocks.exif = exif_block::block(task, source, order, directory)?;
    Ok(())
}

/// Whether chunks reach beyond the file, or are too few.
fn cut(task: &Task, source: &Source, order: Order, page: &Page) -> Result<Option<Error>> {
    let (Some(len), Some(field)) = (source.known_len(), &page.offsets) else { return Ok(None) };
    let places = match places(task, source, order, page).unless_cancelled()? {
        Ok(places) => places,
        Err(error) => return Ok(Some(error)),
    };
    let (across, down) = page.grid();
    let planes = if page.planar { page.channels } else { 1 };
    let wanted = across.saturating_mul(down).saturating_mul(planes);
    if (places.len() as u64) < wanted {
        let what = format!("TIFF: {wanted} strips or tiles are needed, {} are named", places.len());
        return Ok(Some(Error::malformed(what)));
    }
    let beyond = places.iter().filter(|(at, count)| at.saturating_add(*count) > len).count();
    let what = || {
        format!(
            "TIFF: {beyond} of its {} strips or tiles reach beyond the file; it may be cut off",
            field.count
        )
    };
    Ok((beyond > 0).then(|| Error::malformed(what()).at(len)))
}

/// Offset and length of each chunk.
fn places(task: &Task, source: &Source, order: Order, page: &Page) -> Result<Vec<(u64, u64)>> {
    let Some(field) = &page.offsets else { return Ok(Vec::new()) };
    let mut offsets = field.numbers(task, source, order)?;
    offsets.iter_mut().for_each(|at| *at = at.saturating_add(page.shift));
    let counts = match &page.counts {
        Some(field) => field.numbers(task, source, order)?,
        // Old writers leave them out where there is one strip, which goes on to the end.
        None => {
            let len = source.len(task)?;
            offsets.iter().map(|at| len.saturating_sub(*at)).collect()
        }
    };
    Ok(offsets.into_iter().zip(counts).collect())
}

/// Bytes of decoded strips and tiles that are kept: a rectangle begins and ends within them.
const KEPT: usize = 16 << 20;
/// The number of a page and of a level of it.
type Place = (u64, u32);
/// Offset and length of each chunk of a page.
type Places = Arc<Vec<(u64, u64)>>;

struct Tiff {
    order: Order,
    pages: Vec<Page>,
    /// Smaller versions of each page.
    levels: Vec<Vec<Page>>,
    partial: bool,
    /// The samples of strips and tiles, by page and number.
    chunks: Cache<(Place, u64), Arc<Vec<u8>>>,
    /// Of the page that was read last: a page of a million tiles is read by many rectangles.
    places: Mutex<Option<(Place, Places)>>,
}

impl Tiff {
    /// A page, or one of its smaller versions.
    fn page(&self, (frame, level): Place) -> Result<&Page> {
        let frame_at = usize::try_from(frame).ok();
        let page = match level.checked_sub(1) {
            None => frame_at.and_then(|n| self.pages.get(n)),
            Some(below) => frame_at.and_then(|n| self.levels.get(n)?.get(below as usize)),
        };
        page.ok_or_else(|| Error::bug(format!("page {frame} of a TIFF was asked for at level {level}")))
    }

    /// Where the chunks of a page lie.
    fn places(&self, task: &Task, source: &Source, frame: Place) -> Result<Places> {
        if let Some((_, places)) = self.places.lock().as_ref().filter(|(of, _)| *of == frame) {
            return Ok(places.clone());
        }
        let places = Arc::new(places(task, source, self.order, self.page(frame)?)?);
        *self.places.lock() = Some((frame, places.clone()));
        Ok(places)
    }

    /// The samples of `rect` as the file holds them.
    fn samples(&self, task: &Task, source: &Source, frame: Place, rect: Rect) -> Result<Pixels> {
        let page = self.page(frame)?;
        if let Some(refusal) = &page.refusal {
            return Err(refusal.clone());
        }
        let channels = page.channels as u32;
        check_pixels(rect.width, rect.height).map_err(|_| {
            let (side, most) = (rect.width, limits::PIXELS);
            Error::limit(format!("an image with rows of {side} pixels: {most} pixels are read at once"))
        })?;
        let mut pixels = blank(rect.width, rect.height, channels, page.sample, page.alpha())?;
        if rect.width == 0 || rect.height == 0 {
            return Ok(pixels);
        }
        let places = self.places(task, source, frame)?;
        let (across, down) = page.grid();
        let (wide, high) = page.chunk;
        let planes = if page.planar { page.channels } else { 1 };
        let (rows, columns) = (
            rect.y / high..=(rect.y + rect.height - 1) / high,
            rect.x / wide..=(rect.x + rect.width - 1) / wide,
        );
        for plane in 0..planes {
            for row in rows.clone() {
                // The chunks of a row are decoded on all cores.
                let chunk = |column: u64| -> Result<(u64, Option<Arc<Vec<u8>>>)> {
                    let number = (plane * down + row) * across + column;
                    let place = usize::try_from(number).ok().and_then(|n| places.get(n));
                    if place.is_none() && self.partial {
                        return Ok((column, None));
                    }
                    Ok((column, self.chunk(task, source, frame, number, row, place.copied())?))
                };
                let decoded: Vec<_> = match page.compression {
                    Compression::None => columns.clone().map(chunk).collect::<Result<_>>()?,
                    _ => columns.clone().into_par_iter().map(chunk).collect::<Result<_>>()?,
                };
                let channel = page.planar.then_some(plane as usize);
                for (column, data) in decoded {
                    if let Some(data) = data {
                        paste(&mut pixels, page, rect, (column * wide, row * high), channel, &data);
                    }
                }
            }
        }
        Ok(pixels)
    }

    /// The samples of one chunk; `None` where the file leaves it out.
    fn chunk(
        &self,
        task: &Task,
        source: &Source,
        frame: Place,
        number: u64,
        row: u64,
        place: Option<(u64, u64)>,
    ) -> Result<Option<Arc<Vec<u8>>>> {
        task.check()?;
        if let Some(data) = self.chunks.get(&(frame, number)) {
            return Ok(Some(data));
        }
        let page = self.page(frame)?;
        if page.compression == Compression::OldJpeg {
            let data = Arc::new(old_jpeg::decode(task, source, self.order, page, self.partial)?);
            self.chunks.put((frame, number), data.clone(), data.len());
            return Ok(Some(data));
        }
        let Some((at, count)) = place else {
            let what = format!("TIFF: its strip or tile {number} is not named");
            return if self.partial { Ok(None) } else { Err(Error::malformed(what)) };
        };
        if at == 0 || count == 0 {
            return Ok(None);
        }
        // The last strip has the rows that are left; tiles are whole.
        let rows = if page.tiled { page.chunk.1 } else { page.chunk.1.min(page.height - row * page.chunk.1) };
        let shape =
            chunk::Shape { width: page.chunk.0, rows, channels: if page.planar { 1 } else { page.channels } };
        let size = limits::check(count, limits::CHUNK, "a strip or tile").map_err(|error| error.at(at))?;
        let stored = source.read_up_to(task, at, size)?;
        if stored.len() < size && !self.partial {
            return Err(Error::malformed("TIFF: a strip or tile reaches beyond the file").at(at));
        }
        if stored.is_empty() {
            return Ok(None);
        }
        let decoded = chunk::decode(task, page, self.order, &stored, &shape, self.partial);
        let data = match decoded {
            Ok(data) => Arc::new(data),
            Err(error) if self.partial && !error.is_cancelled() => return Ok(None),
            Err(error) => return Err(error.at(at)),
        };
        self.chunks.put((frame, number), data.clone(), data.len());
        Ok(Some(data))
    }
}

impl Codec for Tiff {
    fn frame(&self, task: &Task, source: &Source, frame: u64, _partial: bool) -> Result<Pixels> {
        let page = self.page((frame, 0))?;
        let pixels = self.samples(task, source, (frame, 0), Rect::all(page.width, page.height))?;
        to_be_seen(page, pixels)
    }

    fn level(&self, task: &Task, source: &Source, frame: u64, level: u32, rect: Rect) -> Result<Pixels> {
        let page = self.page((frame, level))?;
        to_be_seen(page, self.samples(task, source, (frame, level), rect)?)
    }

    fn region(&self, task: &Task, source: &Source, frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        let page = self.page((frame, 0))?;
        if page.width.saturating_mul(page.height) <= WHOLE {
            return Ok(None);
        }
        to_be_seen(page, self.samples(task, source, (frame, 0), rect)?).map(Some)
    }

    fn stored(&self, task: &Task, source: &Source, frame: u64, rect: Rect) -> Result<Option<Pixels>> {
        match shown(self.page((frame, 0))?) {
            Rendering::AsStored => Ok(None),
            _ => self.samples(task, source, (frame, 0), rect).map(Some),
        }
    }

    fn unstored_rows(&self, task: &Task, source: &Source, frame: u64, y: u64) -> Result<u64> {
        let page = self.page((frame, 0))?;
        // Where nothing is left out, a chunk that is not named is an error, which reading it tells.
        if page.refusal.is_some() || y >= page.height {
            return Ok(0);
        }
        let places = self.places(task, source, (frame, 0))?;
        let (across, down) = page.grid();
        let planes = if page.planar { page.channels } else { 1 };
        let named = places.len() as u64;
        // Of a row of chunks, in one plane: those that are named, and whether there are others.
        let is_left_out = |start: u64| {
            let (from, to) = (start.min(named), (start + across).min(named));
            let listed = places.get(from as usize..to as usize).unwrap_or_default();
            (to == start + across || self.partial) && listed.iter().all(|(at, count)| *at == 0 || *count == 0)
        };
        let mut row = y / page.chunk.1;
        while row < down && (0..planes).all(|plane| is_left_out((plane * down + row) * across)) {
            task.check()?;
            // Behind the last chunk that is named there is nothing more to look at.
            row = if planes == 1 && row * across >= named { down } else { row + 1 };
        }
        Ok(row.saturating_mul(page.chunk.1).min(page.height).saturating_sub(y))
    }

    fn size(&self, frame: u64) -> Option<(u64, u64)> {
        self.page((frame, 0)).ok().map(|page| (page.width, page.height))
    }
}

/// Copies what a chunk at `corner` has of `rect`; `channel` is its plane's where planes lie apart.
fn paste(
    pixels: &mut Pixels,
    page: &Page,
    rect: Rect,
    corner: (u64, u64),
    channel: Option<usize>,
    data: &[u8],
) {
    let size = page.sample.size();
    let (wide, high) = page.chunk;
    let inside = if channel.is_some() { 1 } else { page.channels as usize };
    let (left, right) = (rect.x.max(corner.0), (rect.x + rect.width).min(corner.0.saturating_add(wide)));
    let (top, bottom) = (rect.y.max(corner.1), (rect.y + rect.height).min(corner.1.saturating_add(high)));
    let (row_in, row_out) =
        (wide as usize * inside * size, rect.width as usize * page.channels as usize * size);
    let count = right.saturating_sub(left) as usize;
    for y in top..bottom {
        let from = (y - corner.1) as usize * row_in + (left - corner.0) as usize * inside * size;
        let to = (y - rect.y) as usize * row_out + (left - rect.x) as usize * page.channels as usize * size;
        let Some(source) = data.get(from..from + count * inside * size) else { return };
        let Some(line) = pixels.data.get_mut(to..to + count * page.channels as usize * size) else { return };
        match channel {
            None => line.copy_from_slice(source),
            Some(channel) => {
                let places = line.chunks_exact_mut(page.channels as usize * size);
                for (pixel, sample) in places.zip(source.chunks_exact(size)) {
                    if let Some(place) = pixel.get_mut(channel * size..(channel + 1) * size) {
                        place.copy_from_slice(sample);
                    }
                }
            }
        }
    }
}
