//! NIfTI-1 and NIfTI-2: volumes of the brain and other images in three to seven dimensions, in one file
//! (`.nii`) or as a header and an image (`.hdr`, `.img`); Analyze 7.5, from which they come; and FreeSurfer's
//! MGH. <https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h>,
//! <https://nifti.nimh.nih.gov/pub/dist/doc/nifti2.h>,
//! <https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat>.
//!
//! The first index is the fastest in the file. Indices stand here as there, so an array is `[i, j, k, t]` as in
//! nibabel. Compressed volumes (`.nii.gz`, `.mgz`) come through the gzip reader; header and image of a pair may
//! each be compressed, together or alone.

mod affine;
mod header;
mod mgh;
mod write;

use crate::bytes::codec::{bzip2::Bzip2, gzip::Gzip, zstd::Zstd};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::stream::{Codec, Frames, Spooled};
use crate::bytes::task::Task;
use crate::data::content::array::{Axis, Plain, Scaling};
use crate::data::content::{Array, ArrayFacts, Content, Kind};
use crate::data::dtype::{DType, Field, Long, Record};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Magic, Match, has_extension};
use header::{Header, Version};
use serde_json::{Value as Json, json};
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["nii", "hdr", "img"],
    mime: &["application/x-nifti"],
    magic: &[
        Magic::at(344, b"n+1\0"),
        Magic::at(344, b"ni1\0"),
        Magic::at(4, b"n+2\0\r\n\x1a\n"),
        Magic::at(4, b"ni2\0\r\n\x1a\n"),
    ],
    sniff: Some(sniff),
    reads: &[Kind::Array],
    targets: &[Target::new("nifti", "NIfTI", &["nii", "nii.gz"], &write::WRITER)],
    ..Format::new("nifti", "NIfTI", open)
};
/// The descriptor.
pub static MGH: Format = Format {
    extensions: &["mgh"],
    sniff: Some(mgh::sniff),
    reads: &[Kind::Array],
    ..Format::new("mgh", "FreeSurfer volume", mgh::open)
};

fn sniff(head: &Head) -> Match {
    if FORMAT.magic.iter().any(|magic| magic.matches(head)) {
        return Match::Yes;
    }
    // An Analyze header has no magic, and an image not even a header: its name has to do.
    let analyze = head.has_extension(&["hdr", "img"]) && Header::parse(&head.first).is_ok();
    if analyze || head.has_extension(&["img"]) { Match::Maybe } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let has_header = Header::parse(&opening.head.first);
    if has_extension(source.name(), &["img"]) && has_header.as_ref().map_or(true, |h| !h.single) {
        let Some(beside) = neighbour(task, source, "hdr")? else {
            let node = Node::new("", "image").content(Content::Bytes(source.clone()));
            return Ok(node.remark("there is no header (.hdr) beside it that says what its bytes are"));
        };
        let header = Header::parse(&beside.read_up_to(task, 0, header::LONGEST)?)?;
        let mut node = volume(task, &header, source)?;
        node.remarks.push(format!("its header is {}", beside.name()));
        return Ok(node);
    }
    let header = has_header?;
    if header.single {
        let mut node = volume(task, &header, source)?;
        extensions(task, &header, source, header.offset, &mut node);
        return Ok(node);
    }
    let Some(image) = neighbour(task, source, "img")? else {
        let mut node = Node::new("", "header");
        describe(&header, &mut node);
        return Ok(node.problem(Error::io("the image (.img) that this header describes is not beside it")));
    };
    let mut node = volume(task, &header, &image)?;
    if let Some(len) = source.known_len() {
        extensions(task, &header, source, len, &mut node);
    }
    // The values lie in another file.
    node.span = None;
    node.remarks.push(format!("its values are in {}", image.name()));
    Ok(node)
}

/// The file of the same name with another ending, decompressed where it is packed by itself.
fn neighbour(task: &Task, source: &Source, ending: &str) -> Result<Option<Source>> {
    type Make = fn() -> Result<Box<dyn Codec>>;
    const PACKED: [(&str, Make); 3] = [
        ("gz", || Ok(Box::new(Frames::new(Gzip::new(None)?)))),
        ("bz2", || Ok(Box::new(Frames::new(Bzip2::default())))),
        ("zst", || Ok(Box::new(Frames::new(Zstd::new()?)))),
    ];
    let stem = source.name().rsplit_once('.').map_or(source.name(), |(stem, _)| stem);
    let beside = |name: String| source.sibling(task, &name).unless_cancelled().map(Result::ok);
    for ending in [ending.to_owned(), ending.to_uppercase()] {
        if let Some(found) = beside(format!("{stem}.{ending}"))? {
            return Ok(Some(found));
        }
        for (packed, make) in PACKED {
            let Some(found) = beside(format!("{stem}.{ending}.{packed}"))? else { continue };
            let stream = Spooled::new(found.clone(), 0, Box::new(make));
            let stream = if packed == "gz" { stream.deflated() } else { stream };
            return found.stream(format!("{stem}.{ending}"), Arc::new(stream)).map(Some);
        }
    }
    Ok(None)
}

/// The node of a volume whose values lie in `source`.
fn volume(task: &Task, header: &Header, source: &Source) -> Result<Node> {
    let mut node = Node::new("", "volume");
    describe(header, &mut node);
    let mut dtype = match header.dtype() {
        Ok(dtype) => dtype,
        Err(error) => return Ok(node.content(Content::Bytes(source.clone())).problem(error)),
    };
    if dtype == DType::Long(Long::X87(16)) && !header.big {
        // The one type that only its elements tell.
        dtype = DType::Long(Long::guess(&source.read_up_to(task, header.offset, 1024)?));
    }
    let fields = Values { offset: header.offset, dtype, shape: header.shape.clone(), big: header.big };
    let facts = ArrayFacts { axes: axes(header), scaling: scaling(header), ..ArrayFacts::default() };
    fields.fill(source, facts, &mut node)?;
    Ok(node)
}

/// Where values lie and what they are.
struct Values {
    offset: u64,
    dtype: DType,
    shape: Vec<u64>,
    big: bool,
}

impl Values {
    /// Gives `node` its array; cut to what is there, and then with a problem.
    fn fill(self, source: &Source, facts: ArrayFacts, node: &mut Node) -> Result<()> {
        let (plain, problem) = match Plain::within(source.clone(), self.offset, self.dtype, self.shape, true)
        {
            Ok(found) => found,
            // The header is shown nevertheless.
            Err(error) => {
                node.problem = Some(error);
                return Ok(());
            }
        };
        node.problem = problem.or(node.problem.take());
        let stored = plain.facts().bytes_stored.unwrap_or(0);
        node.span = Some(self.offset..self.offset.saturating_add(stored));
        let plain = plain.with_facts(facts).big_endian(self.big);
        node.content = Some(Content::Array(Arc::new(plain)));
        Ok(())
    }
}

/// Records of fields of one type.
fn record(names: &[&str], dtype: DType) -> DType {
    let size = dtype.size();
    let field = |(n, name): (usize, &&str)| Field {
        name: (*name).to_owned(),
        dtype: dtype.clone(),
        shape: Vec::new(),
        offset: n as u64 * size,
    };
    let fields: Vec<Field> = names.iter().enumerate().map(field).collect();
    DType::Struct(Arc::new(Record { size: size * names.len() as u64, fields }))
}

fn scaling(header: &Header) -> Option<Scaling> {
    let (scale, offset) = (header.slope, header.intercept);
    let scale = if scale.is_finite() && scale != 0.0 { scale } else { return None };
    let offset = if offset.is_finite() { offset } else { 0.0 };
    let same = scale == 1.0 && offset == 0.0;
    (!same).then_some(Scaling { scale, offset, fill: Vec::new(), valid: None })
}

/// Dimensions by their names in the specification; those in space by their direction where the affine matrix
/// turns none into another.
fn axes(header: &Header) -> Vec<Axis> {
    const NAMES: [&str; 7] = ["i", "j", "k", "t", "u", "v", "w"];
    let affine = header.affine();
    // Without a place in space sides would only be guessed.
    let headings = if !header.is_placed() { [None; 3] } else { affine.headings() };
    let unit = |n: usize| if n < 3 { header.unit_of_space() } else { header.unit_of_time() };
    let axis = |n: usize| {
        let step = header.zooms.get(n).copied().unwrap_or(1.0);
        let along = (n < 3).then(|| affine.along(n)).flatten();
        let (name, regular) = match along {
            Some((direction, start, step)) => (["x", "y", "z"].get(direction).copied(), (start, step)),
            None if n == 3 => (NAMES.get(n).copied(), (header.time_offset, step)),
            None => (NAMES.get(n).copied(), (0.0, step)),
        };
        Axis {
            name: name.unwrap_or_default().to_owned(),
            unit: (n < 4).then(|| unit(n)).flatten().map(str::to_owned),
            regular: (n < 4 && regular.1 != 0.0).then_some(regular),
            heading: headings.get(n).copied().flatten(),
            ..Axis::default()
        }
    };
    (0..header.shape.len()).map(axis).collect()
}

/// What the header says, as attributes.
fn describe(header: &Header, node: &mut Node) {
    let version = match header.version {
        Version::Analyze => "Analyze 7.5",
        Version::One => "NIfTI-1",
        Version::Two => "NIfTI-2",
    };
    node.reader.push(("version".to_owned(), version.into()));
    let mut say = |name: &str, value: Json| node.attributes.push((name.to_owned(), value.into()));
    for (name, text) in &header.texts {
        if !text.is_empty() {
            say(name, text.clone().into());
        }
    }
    say("zooms", header.zooms.clone().into());
    if let Some(unit) = header.unit_of_space() {
        say("unit of space", unit.into());
    }
    if let Some(unit) = header.unit_of_time() {
        say("unit of time", unit.into());
    }
    say("affine", json!(header.affine().rows()));
    say("affine from", header.affine_from().into());
    if let Some(other) = header.other() {
        say("qform", json!(other.rows()));
    }
    for (name, number) in &header.numbers {
        if *number != 0.0 {
            say(name, crate::data::cell::float64(*number).parse::<f64>().map_or(Json::Null, |n| json!(n)));
        }
    }
    if scaling(header).is_some() {
        say("scl_slope", json!(header.slope));
        say("scl_inter", json!(header.intercept));
    }
    if header.intent != 0 {
        say("intent", header::intent(header.intent).into());
    }
    node.remarks.extend(header.remarks.iter().cloned());
}

/// The extensions between the header and `end`: their codes and texts as children.
fn extensions(task: &Task, header: &Header, source: &Source, end: u64, node: &mut Node) {
    match header::extensions(task, source, header, end) {
        Ok(list) if list.is_empty() => {}
        Ok(list) => {
            let child = |(n, (code, range)): (usize, (i32, Range<u64>))| {
                let name = format!("extension {}", n + 1);
                let mut child = Node::new(&name, "extension").attribute("code", header::extension(code));
                child.span = Some(range.clone());
                match source.member(name, range) {
                    Ok(bytes) => child.content(Content::Bytes(bytes)),
                    Err(error) => child.problem(error),
                }
            };
            let children: Vec<Node> = list.into_iter().enumerate().map(child).collect();
            let whole = std::mem::replace(node, Node::new("", "volume"));
            *node = whole.listed(children);
        }
        Err(error) => node.remarks.push(format!("its extensions cannot be read: {}", error.message())),
    }
}

#[cfg(test)]
mod tests;
