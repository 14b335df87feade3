//! DICOM objects: PS3.10 files, and data sets without their preamble, of every transfer syntax that a decoder in Rust
//! reads. <https://dicom.nema.org/medical/dicom/current/output/html/part05.html>
//!
//! Opening walks the heads of the data elements; values are read when they are shown, frames when they are looked at.
//! Pixels are delivered as they are stored; the window and the rescale that an object names stand beside them
//! ([`ImageInfo::window`], [`ImageInfo::scaling`]). A folder of slices is one volume for each series ([`series`]).

mod elements;
mod pixels;
mod series;
mod text;

use super::picture::{self, Header};
use crate::bytes::codec::decompress::prefix;
use crate::bytes::codec::inflater::Inflater;
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::axes::Heading;
use crate::data::content::array::{Axis, Scaling};
use crate::data::content::{Content, ImageInfo};
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::picture_metadata::PROFILE;
use crate::engines::pieces::pieces;
use elements::{Coding, Element, Tag, Walk, name, name_of_uid};
use pixels::{Frames, Layout, Packing, Palette, Places};
use std::sync::Arc;
use text::Repertoire;

pub(super) use series::{open as open_series, sniff as sniff_series};

/// What data sets are compressed with as a whole.
const DEFLATED: &str = "1.2.840.10008.1.2.1.99";
const IMPLICIT: &str = "1.2.840.10008.1.2";
const BIG_ENDIAN: &str = "1.2.840.10008.1.2.2";
/// The tag of pixels of integers,
const PIXELS: Tag = (0x7fe0, 0x0010);
/// and those of floats of 32 and 64 bits.
const FLOATS: [(Tag, u32); 2] = [((0x7fe0, 0x0008), 32), ((0x7fe0, 0x0009), 64)];

/// The magic stands behind a preamble of 128 bytes. Old objects have none: the first elements of group 2 or 8, and the
/// extension, must do.
pub(super) fn sniff(head: &Head) -> Match {
    if head.first.get(128..132) == Some(b"DICM") {
        return Match::Yes;
    }
    let first = head.first.first_chunk::<8>();
    let begins = first.is_some_and(|first| {
        let group = u16::from_le_bytes([first[0], first[1]]);
        let element = u16::from_le_bytes([first[2], first[3]]);
        let written = first[4].is_ascii_uppercase() && first[5].is_ascii_uppercase();
        let short = u32::from_le_bytes([first[4], first[5], first[6], first[7]]) < 256;
        let big = written && first[..3] == [0, 8, 0] && first[3] < 0x20;
        big || matches!(group, 2 | 8) && element < 0x20 && (written || short)
    });
    match begins && head.has_extension(super::DICOM.extensions) {
        true => Match::Maybe,
        false => Match::No,
    }
}

/// Opens an object.
pub(super) fn open(opening: &Opening) -> Result<Node> {
    Object::read(opening.task, opening.source)?.node(opening.task, opening.source)
}

/// A data set whose elements are known.
struct Object {
    /// The bytes that places are in: those of the file, or the inflated ones.
    source: Source,
    meta: Vec<Element>,
    elements: Vec<Element>,
    coding: Coding,
    syntax: String,
    repertoire: Repertoire,
    problem: Option<Error>,
}

impl Object {
    fn read(task: &Task, source: &Source) -> Result<Self> {
        let head = source.read_up_to(task, 0, 134)?;
        let start = if head.get(128..132) == Some(b"DICM") { 132 } else { 0 };
        let mut walk = Walk::new(task, source)?;
        let len = source.len(task)?;
        let (meta, end) = match head.get(start as usize..) {
            Some([2, 0, ..]) => walk.elements(start..len, Coding::EXPLICIT, &|tag| tag.0 != 2)?,
            // Old writers leave the header out.
            _ => (Vec::new(), start),
        };
        let texts = Repertoire::default();
        let uid = |element: &Element| walk.words(element, &texts);
        let syntax = meta.iter().find(|element| element.tag == (2, 0x10)).map(uid).transpose()?;
        let syntax = syntax.map(|text| text.split(' ').next().unwrap_or_default().to_owned());
        let mut problem = walk.problem.take();
        let mut source = source.clone();
        let (mut from, mut to) = (end, len);
        let syntax = match syntax {
            Some(syntax) => syntax,
            // Without a header: representations are there or not.
            None => {
                let first = source.read_up_to(task, end, 6)?;
                let written = first.get(4..6).is_some_and(|vr| vr.iter().all(u8::is_ascii_uppercase));
                // The first group is 8, or another of one byte.
                let big = first.first() == Some(&0) && first.get(1).is_some_and(|group| *group != 0);
                match (written, big) {
                    (true, true) => BIG_ENDIAN,
                    (true, false) => "1.2.840.10008.1.2.1",
                    _ => IMPLICIT,
                }
                .to_owned()
            }
        };
        if syntax == DEFLATED {
            let stored = source.read(task, end..len)?;
            let most = limits::CHUNK as usize;
            let (bytes, done) = prefix(&mut Inflater::new(false)?, &stored, most, "DICOM: its data set");
            if let Err(error) = done {
                task.check()?;
                problem.get_or_insert(error.at(end));
            }
            (from, to) = (0, bytes.len() as u64);
            source = source.inflated(source.name(), bytes.into())?;
        }
        let coding = match syntax.as_str() {
            IMPLICIT => Coding::IMPLICIT,
            BIG_ENDIAN => Coding { explicit: true, big: true },
            _ => Coding::EXPLICIT,
        };
        let mut walk = Walk::new(task, &source)?;
        let (mut elements, _) = walk.elements(from..to, coding, &|_| false)?;
        problem = problem.or(walk.problem.take());
        if elements.is_empty() {
            let what = "DICOM: it has no data elements; the file may be cut off";
            let none = problem.take().unwrap_or_else(|| Error::malformed(what).at(from));
            if meta.is_empty() {
                return Err(none);
            }
            problem = Some(none);
        }
        let mut object = Object {
            repertoire: Repertoire::default(),
            source: source.clone(),
            meta,
            elements: Vec::new(),
            coding,
            syntax,
            problem,
        };
        std::mem::swap(&mut object.elements, &mut elements);
        if let Some(charset) = object.text(task, (0x0008, 0x0005))? {
            object.repertoire = Repertoire::of(&charset);
        }
        object.mend_signs(task)?;
        Ok(object)
    }

    /// *US or SS*: what pixels are decides, where nothing is written.
    fn mend_signs(&mut self, task: &Task) -> Result<()> {
        const EITHER: [Tag; 5] = [(0x28, 0x106), (0x28, 0x107), (0x28, 0x108), (0x28, 0x109), (0x28, 0x120)];
        if self.coding.explicit || self.number(task, (0x28, 0x103))? != Some(1.0) {
            return Ok(());
        }
        for element in self.elements.iter_mut().filter(|element| EITHER.contains(&element.tag)) {
            element.vr = *b"SS";
        }
        Ok(())
    }

    fn element(&self, tag: Tag) -> Option<&Element> {
        self.elements.iter().find(|element| element.tag == tag)
    }

    fn text(&self, task: &Task, tag: Tag) -> Result<Option<String>> {
        let Some(element) = self.element(tag) else { return Ok(None) };
        let walk = Walk::new(task, &self.source)?;
        let text = walk.words(element, &self.repertoire)?;
        Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    fn numbers(&self, task: &Task, tag: Tag) -> Result<Vec<f64>> {
        match self.element(tag) {
            Some(element) => Walk::new(task, &self.source)?.numbers(element),
            None => Ok(Vec::new()),
        }
    }

    fn number(&self, task: &Task, tag: Tag) -> Result<Option<f64>> {
        Ok(self.numbers(task, tag)?.first().copied())
    }

    /// What its pixels are; `None` where there are none.
    fn layout(&self, task: &Task) -> Result<Option<(Layout, Element)>> {
        let float = FLOATS.iter().find_map(|(tag, bits)| Some((self.element(*tag)?, *bits)));
        let Some(element) = self.element(PIXELS).or(float.map(|(element, _)| element)) else {
            return Ok(None);
        };
        let one = |element: u16, usual: f64| -> Result<u64> {
            Ok(self.number(task, (0x28, element))?.unwrap_or(usual).clamp(0.0, 4e9) as u64)
        };
        let allocated = match float {
            Some((_, bits)) if element.tag != PIXELS => bits,
            _ => one(0x100, 16.0)? as u32,
        };
        let stored = (one(0x101, allocated.into())? as u32).clamp(1, allocated.max(1));
        let layout = Layout {
            rows: one(0x10, 0.0)?,
            columns: one(0x11, 0.0)?,
            samples: one(0x02, 1.0)?,
            allocated,
            stored,
            high: (one(0x102, f64::from(stored) - 1.0)? as u32).clamp(stored - 1, allocated.max(1) - 1),
            signed: one(0x103, 0.0)? == 1,
            float: element.tag != PIXELS,
            planar: one(0x06, 0.0)? == 1,
            photometric: self.text(task, (0x28, 0x04))?.unwrap_or_else(|| "MONOCHROME2".to_owned()),
            frames: one(0x08, 1.0)?.max(1),
            palette: self.palette(task)?,
        };
        if layout.rows == 0 || layout.columns == 0 || !(1..=4).contains(&layout.samples) {
            let what = format!(
                "DICOM: pixels of {} rows, {} columns and {} samples",
                layout.rows, layout.columns, layout.samples
            );
            return Err(Error::malformed(what).at(element.value.start));
        }
        Ok(Some((layout, element.clone())))
    }

    fn palette(&self, task: &Task) -> Result<Option<Palette>> {
        let descriptor = self.numbers(task, (0x28, 0x1101))?;
        let &[count, first, bits] = descriptor.as_slice() else { return Ok(None) };
        let count = if count <= 0.0 { 65_536 } else { count as usize };
        let mut colours = vec![[0u8; 3]; count];
        for (channel, tag) in [0x1201, 0x1202, 0x1203].into_iter().enumerate() {
            let Some(element) = self.element((0x28, tag)) else { return Ok(None) };
            let walk = Walk::new(task, &self.source)?;
            let bytes = walk.bytes(element, 1 << 18)?;
            // Entries of 8 bits may be packed, or each be a word.
            let packed = bits <= 8.0 && bytes.len() <= count + 1;
            for (n, colour) in colours.iter_mut().enumerate() {
                let value = match packed {
                    true => bytes.get(n).copied(),
                    false => element
                        .coding
                        .u16(&bytes, n * 2)
                        .map(|value| if bits > 8.0 { (value >> 8) as u8 } else { value as u8 }),
                };
                if let Some(place) = colour.get_mut(channel) {
                    *place = value.unwrap_or(0);
                }
            }
        }
        // The first index is signed where pixels are.
        let signed = self.number(task, (0x28, 0x103))? == Some(1.0);
        let first = if signed { first as i32 as i16 as i64 } else { first as i64 };
        Ok(Some(Palette { first, colours }))
    }

    /// What stored values mean: the rescale of the modality.
    fn scaling(&self, task: &Task) -> Result<Option<Scaling>> {
        let slope = self.number(task, (0x28, 0x1053))?;
        let intercept = self.number(task, (0x28, 0x1052))?;
        let (scale, offset) = match (slope, intercept) {
            (None, None) => return Ok(None),
            (slope, intercept) => (slope.unwrap_or(1.0), intercept.unwrap_or(0.0)),
        };
        let fits = scale.is_finite() && scale != 0.0 && offset.is_finite();
        let scaling = Scaling { scale, offset, fill: Vec::new(), valid: None };
        Ok(Some(scaling).filter(|scaling| fits && !scaling.is_identity()))
    }

    /// The range of values, after the rescale of the modality, that the object asks to be seen.
    fn window(&self, task: &Task) -> Result<Option<(f64, f64)>> {
        let (centre, width) = (self.number(task, (0x28, 0x1050))?, self.number(task, (0x28, 0x1051))?);
        let (Some(centre), Some(width)) = (centre, width) else { return Ok(None) };
        if !(width >= 1.0 && width.is_finite() && centre.is_finite()) {
            return Ok(None);
        }
        // PS3.3, section C.11.2.1.2: from centre − 0.5 − (width − 1) / 2 on, over width − 1.
        let (low, high) = (centre - 0.5 - (width - 1.0) / 2.0, centre - 0.5 + (width - 1.0) / 2.0);
        Ok(Some((low, high)).filter(|_| low < high && low.is_finite() && high.is_finite()))
    }

    /// That range of stored values.
    fn stored_window(&self, task: &Task, scaling: Option<&Scaling>) -> Result<Option<(f64, f64)>> {
        let stored = |value: f64| scaling.map_or(value, |s| (value - s.offset) / s.scale);
        let ends = self.window(task)?.map(|(low, high)| (stored(low), stored(high)));
        Ok(ends.map(|(a, b)| (a.min(b), a.max(b))).filter(|(low, high)| low < high))
    }

    /// The axes of rows and columns, in millimetres. Single pictures stand as they are stored, as radiologists look at
    /// them: where rows and columns lead in a body only turns a volume.
    fn sides(&self, task: &Task) -> Result<[Axis; 2]> {
        let spacing = match self.numbers(task, (0x28, 0x30))? {
            spacing if spacing.len() >= 2 => spacing,
            _ => self.numbers(task, (0x18, 0x1164))?,
        };
        let axis = |name: &str, n: usize| {
            let step = spacing.get(n).copied().filter(|step| *step > 0.0 && step.is_finite());
            Axis {
                name: name.to_owned(),
                unit: step.map(|_| "mm".to_owned()),
                regular: step.map(|step| (0.0, step)),
                ..Axis::default()
            }
        };
        Ok([axis("row", 0), axis("column", 1)])
    }

    fn node(self, task: &Task, file: &Source) -> Result<Node> {
        let object = Arc::new(self);
        let mut node = match object.picture(task, file).unless_cancelled()? {
            Ok(Some(node)) => node,
            Ok(None) => Node::new(file.name(), "data set"),
            Err(error) => Node::new(file.name(), "data set").problem(error),
        };
        node.problem = node.problem.or_else(|| object.problem.clone());
        node.separator = "/";
        let syntax = match name_of_uid(&object.syntax) {
            Some(name) => format!("{} ({name})", object.syntax),
            None => object.syntax.clone(),
        };
        node.reader.push(("transfer syntax".to_owned(), syntax.into()));
        let mut children = Vec::new();
        let walk = Walk::new(task, &object.source)?;
        let meta = Walk::new(task, file)?;
        for element in object.meta.iter().filter(|element| !element.is_sequence()) {
            node = node.attribute(name(element.tag), meta.words(element, &object.repertoire)?);
        }
        for element in &object.elements {
            if element.is_sequence() {
                children.push(sequence(&object, element));
            } else if element.tag != PIXELS && FLOATS.iter().all(|(tag, _)| *tag != element.tag) {
                node = node.attribute(name(element.tag), walk.words(element, &object.repertoire)?);
            }
        }
        children.extend(object.overlays(task, file)?);
        children.extend(object.document(task)?);
        children.extend(object.video(task)?);
        Ok(if children.is_empty() { node } else { node.listed(children) })
    }

    fn picture(&self, task: &Task, file: &Source) -> Result<Option<Node>> {
        let Some((layout, element)) = self.layout(task)? else { return Ok(None) };
        let mut header = Header::default();
        let scaling = self.scaling(task)?;
        let info = &mut header.info;
        (info.width, info.height) = (layout.columns, layout.rows);
        (info.bits, info.frames) = (layout.stored, layout.frames);
        (info.channels, info.sample) = (layout.seen_channels(), layout.sample()?);
        if layout.seen_channels() != layout.samples as u32 {
            info.sample = crate::data::content::Sample::U8;
        }
        info.sides = self.sides(task)?;
        if layout.seen_channels() == 1 {
            info.window = self.stored_window(task, scaling.as_ref())?;
        }
        self.time_frames(task, info)?;
        header.detail("colour type", layout.photometric.clone());
        header.detail("bits allocated", layout.allocated.to_string());
        if let Some(scaling) = &scaling {
            let unit = self.text(task, (0x28, 0x1054))?.map(|unit| format!(" ({unit})")).unwrap_or_default();
            header.detail("rescale", format!("{scaling}{unit}"));
        }
        if let (Some(centre), Some(width)) =
            (self.text(task, (0x28, 0x1050))?, self.text(task, (0x28, 0x1051))?)
        {
            header.detail("window", format!("centre {centre}, width {width}"));
        }
        header.info.scaling = scaling;
        if let Some(element) = self.element((0x28, 0x2000))
            && let Ok(profile) = Walk::new(task, &self.source)?.bytes(element, PROFILE).unless_cancelled()?
        {
            header.profile(profile);
        }
        let (frames, problem) = self.frames(task, layout, &element)?;
        header.problem = problem;
        let node = picture::node(file, header, frames)?;
        Ok(Some(node.span(element.value)))
    }

    /// The pixels, and what is wrong with where they lie.
    fn frames(&self, task: &Task, layout: Layout, element: &Element) -> Result<(Frames, Option<Error>)> {
        let packing = Packing::of(&self.syntax);
        let mut problem = self.problem.clone();
        let packing = match packing {
            Some(Packing::Video) => {
                let name = name_of_uid(&self.syntax).unwrap_or(&self.syntax);
                let what = format!(
                    "DICOM: its pixels are a video ({name}), which stands below it as a file of its own"
                );
                problem.get_or_insert(Error::unsupported(what).at(element.value.start));
                Packing::Video
            }
            Some(packing) => packing,
            None if element.delimited => {
                let what = format!("DICOM: pixels of the transfer syntax {}", self.syntax);
                problem.get_or_insert(Error::unsupported(what).at(element.value.start));
                Packing::Video
            }
            None => Packing::Native,
        };
        let walk = Walk::new(task, &self.source)?;
        let places = match element.delimited {
            true => {
                let extended = self.element((0x7fe0, 0x0001)).map(|table| walk.bytes(table, limits::HEADER));
                let extended = extended.transpose()?.map(|bytes| {
                    bytes.as_chunks::<8>().0.iter().map(|offset| u64::from_le_bytes(*offset)).collect()
                });
                let (places, wrong) = Places::encapsulated(&walk, element, layout.frames, extended, packing)?;
                problem = problem.or(wrong);
                places
            }
            false => Places::Native(element.value.clone()),
        };
        let there = places.count(&layout)?;
        if there < layout.frames && packing != Packing::Video {
            let what =
                format!("DICOM: it should have {} frames, the pixels of {there} are there", layout.frames);
            problem.get_or_insert(Error::malformed(what).at(element.value.start));
        }
        let packing =
            if element.delimited && packing == Packing::Native { Packing::Encapsulated } else { packing };
        let frames = Frames {
            packing,
            places,
            big: self.coding.big && !element.delimited,
            words: pixels::has_swapped_words(element, self.coding),
            source: self.source.clone(),
            partial: problem.as_ref().is_some_and(|error| error.kind() != ErrorKind::Unsupported),
            layout,
        };
        Ok((frames, problem))
    }

    /// How long each frame stands.
    fn time_frames(&self, task: &Task, info: &mut ImageInfo) -> Result<()> {
        if info.frames < 2 || info.frames > 1 << 16 {
            return Ok(());
        }
        let time = self.number(task, (0x18, 0x1063))?.filter(|time| *time > 0.0);
        let rate = self.number(task, (0x18, 0x40))?.filter(|rate| *rate > 0.0).map(|rate| 1_000.0 / rate);
        if let Some(time) = time.or(rate).filter(|time| time.is_finite()) {
            info.frame_times = vec![time.round().clamp(1.0, 1e6) as u32; info.frames as usize];
        }
        Ok(())
    }

    /// Overlays: pictures of one bit in groups of their own.
    fn overlays(&self, task: &Task, file: &Source) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        for group in (0x6000..0x6020).step_by(2) {
            let Some(data) = self.element((group, 0x3000)) else { continue };
            let one = |element: u16, usual: f64| -> Result<u64> {
                Ok(self.number(task, (group, element))?.unwrap_or(usual).clamp(0.0, 65_535.0) as u64)
            };
            let (rows, columns) = (one(0x10, 0.0)?, one(0x11, 0.0)?);
            if one(0x100, 1.0)? != 1 || rows == 0 || columns == 0 {
                continue;
            }
            let layout = Layout {
                rows,
                columns,
                samples: 1,
                allocated: 1,
                stored: 1,
                photometric: "MONOCHROME2".to_owned(),
                frames: one(0x15, 1.0)?.max(1),
                ..Layout::default()
            };
            let mut header = Header::default();
            let info = &mut header.info;
            (info.width, info.height, info.bits, info.channels) = (columns, rows, 1, 1);
            info.frames = layout.frames;
            info.window = Some((0.0, 1.0));
            let frames = Frames {
                layout,
                places: Places::Native(data.value.clone()),
                packing: Packing::Native,
                big: false,
                words: pixels::has_swapped_words(data, self.coding),
                source: self.source.clone(),
                partial: false,
            };
            let mut node = picture::node(file, header, frames)?.span(data.value.clone());
            (node.name, node.label) = (format!("overlay {}", (group - 0x6000) / 2 + 1), "overlay");
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// A stream of video, whose fragments follow each other.
    fn video(&self, task: &Task) -> Result<Option<Node>> {
        let element = self.element(PIXELS).filter(|element| element.delimited);
        let (Some(element), Some(Packing::Video)) = (element, Packing::of(&self.syntax)) else {
            return Ok(None);
        };
        let walk = Walk::new(task, &self.source)?;
        let read = Places::encapsulated(&walk, element, 1, None, Packing::Video).unless_cancelled()?;
        let Ok((Places::Fragments(frames), _)) = read else { return Ok(None) };
        let stream = pieces(&self.source, "video", Vec::new(), frames.into_iter().flatten())?;
        Ok(Some(Node::new("video", "video").content(Content::Bytes(stream))))
    }

    /// A document that lies in the object: a PDF, for the most part.
    fn document(&self, task: &Task) -> Result<Option<Node>> {
        let Some(element) = self.element((0x42, 0x11)) else { return Ok(None) };
        let kind = self.text(task, (0x42, 0x12))?.unwrap_or_default();
        let name = format!("document{}", if kind == "application/pdf" { ".pdf" } else { "" });
        let member = self.source.member(name.clone(), element.value.clone())?;
        Ok(Some(Node::new(name, "document").content(Content::Bytes(member)).span(element.value.clone())))
    }
}

/// The node of a sequence: its items are read when somebody looks.
fn sequence(object: &Arc<Object>, element: &Element) -> Node {
    let (object, element) = (object.clone(), element.clone());
    let span = element.value.clone();
    Node::deferred(name(element.tag), "sequence", move |task| {
        let mut walk = Walk::new(task, &object.source)?;
        let items = walk.items(&element)?;
        let mut children = Vec::new();
        for (n, item) in items.into_iter().enumerate() {
            let (elements, _) = walk.elements(item.clone(), element.coding, &|_| false)?;
            let mut node = Node::new((n + 1).to_string(), "item").separator("/").span(item);
            let mut below = Vec::new();
            for element in &elements {
                match element.is_sequence() {
                    true => below.push(sequence(&object, element)),
                    false => {
                        node = node.attribute(name(element.tag), walk.words(element, &object.repertoire)?);
                    }
                }
            }
            children.push(if below.is_empty() { node } else { node.listed(below) });
        }
        let mut node = Node::new(name(element.tag), "sequence").separator("/").listed(children);
        node.problem = walk.problem;
        Ok(node)
    })
    .separator("/")
    .span(span)
}

/// How rows and columns lie in a body: *Image Orientation (Patient)*, in the directions of DICOM (left, posterior,
/// superior).
#[derive(Clone, Debug, PartialEq)]
struct Placement {
    /// Where growing columns lead,
    along_row: [f64; 3],
    /// and growing rows.
    along_column: [f64; 3],
}

impl Placement {
    fn of(numbers: &[f64]) -> Option<Self> {
        let &[a, b, c, d, e, f] = numbers.first_chunk()?;
        let fits = |direction: [f64; 3]| (direction.iter().map(|n| n * n).sum::<f64>() - 1.0).abs() < 0.01;
        (fits([a, b, c]) && fits([d, e, f]))
            .then_some(Placement { along_row: [a, b, c], along_column: [d, e, f] })
    }

    /// At right angles to rows and columns.
    fn normal(&self) -> [f64; 3] {
        let ([a, b, c], [d, e, f]) = (self.along_row, self.along_column);
        [b * f - c * e, c * d - a * f, a * e - b * d]
    }

    /// Where growing rows, growing columns, and growing slices along the normal lead.
    fn headings(&self) -> [Option<Heading>; 3] {
        [self.along_column, self.along_row, self.normal()].map(heading)
    }
}

/// The direction of a body that leads closest to one of DICOM's.
fn heading(direction: [f64; 3]) -> Option<Heading> {
    let [x, y, z] = direction;
    let ras = [-x, -y, z];
    let (n, most) = ras
        .into_iter()
        .enumerate()
        .max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
        .filter(|(_, n)| *n != 0.0)?;
    Heading::in_body(n, most > 0.0)
}

#[cfg(test)]
mod tests;
