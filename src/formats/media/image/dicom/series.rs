//! A folder of DICOM objects: the slices of each series as one volume, in the order of their places along the normal
//! of the slices, else of their instance numbers.

use super::super::picture::check_pixels;
use super::pixels::{Frames, Layout};
use super::{Object, Placement, heading};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::chunked::{Chunked, Chunks};
use crate::data::content::array::{Axis, Scaling};
use crate::data::content::{ArrayFacts, Content};
use crate::data::dtype::DType;
use crate::data::format::Opening;
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use bytes::Bytes;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files of one folder that are looked at.
const FILES: usize = 20_000;

/// A folder most of whose files are objects by their names, or that has a directory of them.
pub(in super::super) fn sniff(head: &Head) -> Match {
    if !head.is_folder {
        return Match::No;
    }
    let files = || head.entries.iter().filter(|entry| !entry.is_folder);
    let named = files().filter(|entry| is_named(&entry.name)).count();
    match named >= 2 && named * 2 > files().count() {
        true => Match::Yes,
        false => Match::No,
    }
}

fn is_named(name: &str) -> bool {
    crate::data::sniff::has_extension(name, super::super::DICOM.extensions)
}

/// A file whose pixels are a slice.
#[derive(Clone)]
struct Slice {
    file: String,
    layout: Layout,
    /// Along the normal, in millimetres.
    place: Option<f64>,
    position: [f64; 3],
    instance: f64,
    scaling: Option<Scaling>,
    window: Option<(f64, f64)>,
    placement: Option<Placement>,
    /// Millimetres from row to row, and from column to column.
    spacing: Vec<f64>,
}

/// What the slices of one volume share.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    series: String,
    rows: u64,
    columns: u64,
    /// Samples, bits, sign, floats.
    kind: (u64, u32, bool, bool),
    /// Directions in hundredths, so that rounding does not part slices.
    directions: Vec<i64>,
}

struct Series {
    slices: Vec<Slice>,
    attributes: Vec<(String, String)>,
    name: String,
}

/// Opens a folder.
pub(in super::super) fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let mut found: BTreeMap<Key, Series> = BTreeMap::new();
    let mut others: Vec<Node> = Vec::new();
    let mut remarks = Vec::new();
    let mut files: Vec<&str> = opening
        .head
        .entries
        .iter()
        .filter(|entry| !entry.is_folder)
        .map(|entry| entry.name.as_str())
        .collect();
    if files.len() > FILES {
        remarks.push(format!("the folder has more than {FILES} files; these were looked at"));
        files.truncate(FILES);
    }
    let look = |name: &&str| {
        task.check()?;
        if !is_named(name) && !is_object(task, folder, name)? {
            return Ok(None);
        }
        let read = folder.child(task, name).and_then(|file| member(task, &file, name));
        read.unless_cancelled().map(Some)
    };
    let looked: Vec<_> = files.par_iter().map(look).collect::<Result<_>>()?;
    let mut count = 0;
    for (name, read) in files.into_iter().zip(looked) {
        let Some(read) = read else { continue };
        match read {
            Ok(Some((key, slice, name, attributes))) => {
                count += 1;
                let series =
                    found.entry(key).or_insert_with(|| Series { slices: Vec::new(), attributes, name });
                series.slices.push(slice);
            }
            Ok(None) => others.push(file_node(folder, name)),
            Err(error) => {
                let node = file_node(folder, name);
                others.push(node.problem(error));
            }
        }
    }
    if found.is_empty() && others.is_empty() {
        return Err(Error::other_format("no file of the folder is a DICOM object"));
    }
    let mut volumes: Vec<Node> = Vec::new();
    for (key, series) in found {
        volumes.push(volume(folder, &key, series)?);
    }
    let mut root = match (volumes.len(), others.is_empty()) {
        (1, true) => {
            let mut only = volumes.remove(0);
            only.name = folder.name().to_owned();
            only
        }
        _ => {
            volumes.extend(others);
            Node::new(folder.name(), "folder").listed(volumes)
        }
    };
    root.reader.push(("slices".to_owned(), count.to_string().into()));
    root.remarks.extend(remarks);
    Ok(root.separator("/"))
}

fn is_object(task: &Task, folder: &Source, name: &str) -> Result<bool> {
    let read = folder.child(task, name).and_then(|file| file.read_up_to(task, 128, 4));
    Ok(read.unless_cancelled()?.is_ok_and(|magic| magic.as_ref() == b"DICM"))
}

/// A file of the folder, opened when somebody looks.
fn file_node(folder: &Source, name: &str) -> Node {
    let (folder, file) = (folder.clone(), name.to_owned());
    Node::deferred(name, "file", move |task| {
        let source = folder.child(task, &file)?;
        Object::read(task, &source)?.node(task, &source)
    })
    .separator("/")
}

type Member = (Key, Slice, String, Vec<(String, String)>);

/// What a file is in its series; `None` where it is no slice.
fn member(task: &Task, file: &Source, name: &str) -> Result<Option<Member>> {
    let object = Object::read(task, file)?;
    let Some((layout, _)) = object.layout(task)? else { return Ok(None) };
    if layout.frames != 1 || !matches!(layout.samples, 1 | 3) {
        return Ok(None);
    }
    layout.sample()?;
    let orientation = object.numbers(task, (0x20, 0x37))?;
    let placement = Placement::of(&orientation);
    let position = object.numbers(task, (0x20, 0x32))?;
    let position = position.first_chunk::<3>().copied();
    let place = placement.as_ref().zip(position).map(|(placement, position)| {
        placement.normal().iter().zip(position).map(|(a, b)| a * b).sum::<f64>()
    });
    let text = |tag| object.text(task, tag).map(Option::unwrap_or_default);
    let key = Key {
        series: text((0x20, 0x0e))?,
        rows: layout.rows,
        columns: layout.columns,
        kind: (layout.samples, layout.allocated, layout.signed, layout.float),
        directions: orientation.iter().map(|n| (n * 100.0).round() as i64).collect(),
    };
    let (number, description) = (text((0x20, 0x11))?, text((0x08, 0x103e))?);
    let words: Vec<&str> =
        [number.as_str(), description.as_str()].into_iter().filter(|w| !w.is_empty()).collect();
    let title = if words.is_empty() { "series".to_owned() } else { words.join(" ") };
    let mut attributes = Vec::new();
    for tag in [
        (0x08, 0x60),
        (0x10, 0x10),
        (0x10, 0x20),
        (0x08, 0x20),
        (0x08, 0x1030),
        (0x08, 0x103e),
        (0x20, 0x0d),
        (0x20, 0x0e),
        (0x20, 0x37),
        (0x28, 0x30),
        (0x28, 0x1050),
        (0x28, 0x1051),
        (0x28, 0x1052),
        (0x28, 0x1053),
        (0x28, 0x1054),
    ] {
        let text = text(tag)?;
        if !text.is_empty() {
            attributes.push((super::name(tag), text));
        }
    }
    let slice = Slice {
        file: name.to_owned(),
        place,
        position: position.unwrap_or_default(),
        instance: object.number(task, (0x20, 0x13))?.unwrap_or(0.0),
        scaling: object.scaling(task)?,
        window: object.window(task)?.filter(|_| layout.samples == 1 && !layout.is_rendered()),
        spacing: object.numbers(task, (0x28, 0x30))?,
        placement,
        layout,
    };
    Ok(Some((key, slice, title, attributes)))
}

/// The node of the slices of a series.
fn volume(folder: &Source, key: &Key, mut series: Series) -> Result<Node> {
    let placed = series.slices.iter().all(|slice| slice.place.is_some());
    series.slices.sort_by(|a, b| match (a.place, b.place) {
        (Some(x), Some(y)) if placed => x.total_cmp(&y).then(a.instance.total_cmp(&b.instance)),
        _ => a.instance.total_cmp(&b.instance),
    });
    let Some(first) = series.slices.first().cloned() else {
        return Err(Error::bug("a series without slices"));
    };
    let mut node = Node::new(series.name.clone(), "series").separator("/");
    let scaling = first.scaling.clone();
    let same = series.slices.iter().all(|slice| slice.scaling == scaling);
    let dtype = if same { first.layout.sample()?.dtype() } else { DType::F32 };
    let places: Vec<f64> = series.slices.iter().filter_map(|slice| slice.place).collect();
    let step = step(&places, &mut node);
    let headings = first.placement.as_ref().map(Placement::headings).unwrap_or_default();
    let along = first.placement.as_ref().map(|p| [p.normal(), p.along_column, p.along_row]);
    let axis = |n: usize, step: Option<f64>| {
        let direction = along.as_ref().and_then(|along| along.get(n)).copied();
        let single = direction.and_then(|direction| single(direction, first.position));
        let names = ["z", "y", "x"];
        let (name, regular) = match (single, step) {
            (Some((k, start, sign)), Some(step)) => {
                (["x", "y", "z"].get(k).copied().unwrap_or_default(), Some((start, step * sign)))
            }
            (_, step) => (names.get(n).copied().unwrap_or_default(), step.map(|step| (0.0, step))),
        };
        Axis {
            name: name.to_owned(),
            unit: step.map(|_| "mm".to_owned()),
            regular,
            heading: match n {
                0 => first.placement.as_ref().filter(|_| placed).and_then(|p| heading(p.normal())),
                n => headings.get(n - 1).copied().flatten(),
            },
            ..Axis::default()
        }
    };
    let mut axes =
        vec![axis(0, step), axis(1, first.spacing.first().copied()), axis(2, first.spacing.get(1).copied())];
    let mut shape = vec![series.slices.len() as u64, key.rows, key.columns];
    if first.layout.samples > 1 {
        shape.push(first.layout.samples);
        axes.push(Axis { name: "channel".to_owned(), ..Axis::default() });
    }
    limits::elements(&shape)?;
    check_pixels(key.columns, key.rows)?;
    if !same {
        node.remarks.push("slices are rescaled each by its own factor: values are those after it".to_owned());
    }
    let files = series.slices.iter().map(|slice| file_node(folder, &slice.file)).collect();
    // Slices differ a little in what each asks for: a body is seen as its middle asks.
    let window = series.slices.get(series.slices.len() / 2).and_then(|slice| slice.window);
    let scaling = scaling.filter(|_| same);
    let facts = ArrayFacts { axes, scaling, window, ..ArrayFacts::default() };
    for (name, text) in series.attributes {
        node = node.attribute(name, text);
    }
    let chunk = [vec![1], shape.iter().skip(1).copied().collect()].concat();
    let slices = Slices { folder: folder.clone(), slices: series.slices, dtype: dtype.clone() };
    let array = Chunked::new(dtype, shape, chunk, Vec::new(), Arc::new(slices))?.facts(facts);
    Ok(node.content(Content::Array(Arc::new(array))).listed(files))
}

/// The distance from slice to slice, with a remark where it is not always the same.
fn step(places: &[f64], node: &mut Node) -> Option<f64> {
    let steps: Vec<f64> = places.windows(2).filter_map(|pair| Some(pair.last()? - pair.first()?)).collect();
    let mean = steps.iter().sum::<f64>() / steps.len().max(1) as f64;
    if steps.contains(&0.0) {
        node.remarks
            .push("several slices lie at one place: they are in the order of their numbers".to_owned());
    } else if let Some(odd) = steps.iter().find(|step| (**step - mean).abs() > 0.01 * mean.abs().max(0.01)) {
        node.remarks.push(format!(
            "slices are not evenly spaced: {odd:.3} mm beside {mean:.3} mm; some may be missing"
        ));
    }
    (mean > 0.0 && mean.is_finite()).then_some(mean)
}

/// The direction of space that a vector goes along alone, where it begins, and whether forward.
fn single(direction: [f64; 3], position: [f64; 3]) -> Option<(usize, f64, f64)> {
    let n = direction.iter().position(|n| n.abs() > 0.9999)?;
    let sign = direction.get(n).copied()?.signum();
    Some((n, position.get(n).copied()?, sign))
}

/// The slices of a volume, each a chunk of it.
struct Slices {
    folder: Source,
    slices: Vec<Slice>,
    dtype: DType,
}

impl Slices {
    fn decoded(&self, task: &Task, slice: &Slice) -> Result<Vec<u8>> {
        let file = self.folder.child(task, &slice.file)?;
        let object = Object::read(task, &file)?;
        let changed = || Error::malformed("the file changed since the folder was opened");
        let (layout, element) = object.layout(task)?.ok_or_else(changed)?;
        if layout != slice.layout {
            return Err(changed());
        }
        let (frames, _): (Frames, _) = object.frames(task, layout, &element)?;
        let pixels = frames.samples(task, 0)?;
        if self.dtype == pixels.sample.dtype() {
            return Ok(pixels.data);
        }
        let (scale, offset) = slice.scaling.as_ref().map_or((1.0, 0.0), |s| (s.scale, s.offset));
        let mut out = Vec::with_capacity(pixels.data.len() / pixels.sample.size() * 4);
        for value in pixels.data.chunks_exact(pixels.sample.size()) {
            let value = pixels.sample.number(value).unwrap_or(f64::NAN) * scale + offset;
            out.extend_from_slice(&(value as f32).to_le_bytes());
        }
        Ok(out)
    }
}

impl Chunks for Slices {
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let slice = index.first().and_then(|n| self.slices.get(usize::try_from(*n).ok()?));
        let slice = slice.ok_or_else(|| Error::bug("a slice that there is not"))?;
        let decoded = catch_decoder_panic("the slice", || self.decoded(task, slice));
        decoded.map(|data| Some(data.into())).map_err(|error| error.in_file(&slice.file))
    }
}
