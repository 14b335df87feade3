//! Virtual datasets: elements that are those of other datasets, in this file or in files beside it. A list of
//! mappings says which selection of a source fills which selection of the virtual dataset; where no source is,
//! elements are the fill value. <https://support.hdfgroup.org/documentation/hdf5/latest/_v_d_s__u_g.html>

use super::super::file::File;
use super::super::message::HeapId;
use super::Names;
use super::selection::{Selection, Slab};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::strides::{self, Axis};
use crate::bytes::task::Task;
use crate::data::content::{Array, ArrayFacts, array};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use arrow::array::{ArrayRef, new_null_array};
use arrow::compute::interleave;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most sources that a pattern of names is followed to.
const MOST: u64 = 10_000;
/// The parts of one mapping that one read may consist of.
const PIECES: u64 = 1 << 20;
/// The mappings that the inspector lists.
const SHOWN: usize = 20;
/// The sources that are looked for at opening, to say which are missing, and how many of these are named.
const LOOKED_FOR: usize = 256;
const NAMED: usize = 8;

/// One mapping.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    /// The source's file; `.` is this one.
    file: String,
    /// The dataset in it.
    dataset: String,
    /// What is taken of the source.
    source: Selection,
    /// What it fills here.
    target: Selection,
}

/// The datasets of sources by file and name; `None` for those that are not there.
type Sources = HashMap<(String, String), Option<Arc<dyn Array>>>;

/// A virtual dataset.
pub(super) struct Virtual {
    dtype: DType,
    shape: Vec<u64>,
    /// One delivered element.
    fill: Vec<u8>,
    /// A column of one row, for elements without a size.
    fill_column: Option<ArrayRef>,
    mappings: Vec<Mapping>,
    /// The patterns of names of which no source is there.
    nowhere: Vec<(String, String)>,
    names: Arc<dyn Names>,
    sources: Mutex<Sources>,
    facts: ArrayFacts,
}

impl Virtual {
    /// The virtual dataset whose mappings are at `place`. `shape` is changed to what the sources give it where
    /// it has no end.
    ///
    /// # Errors
    /// `Malformed` where the mappings cannot be read.
    pub(super) fn new(
        (task, file, names): (&Task, &File, Arc<dyn Names>),
        place: HeapId,
        (dtype, shape, fill, fill_column): (DType, Vec<u64>, Vec<u8>, Option<ArrayRef>),
        mut facts: ArrayFacts,
    ) -> Result<Self> {
        let mappings = match place.address {
            None => Vec::new(),
            Some(_) => parse(file, &file.globals().object(file, task, place)?)?,
        };
        facts.details.push(("sources".to_owned(), mappings.len().to_string()));
        for mapping in mappings.iter().take(SHOWN) {
            let from = if mapping.file == "." { "" } else { mapping.file.as_str() };
            let text = format!("{from}#{}{}", mapping.dataset, mapping.source.text());
            facts.details.push((format!("from{}", mapping.target.text()), text));
        }
        let sources = Mutex::new(Sources::new());
        let nowhere = Vec::new();
        let mut set = Virtual { dtype, shape, fill, fill_column, mappings, nowhere, names, sources, facts };
        set.settle(task)?;
        Ok(set)
    }

    /// Finds the extent of dimensions without an end, and turns patterns of names into single mappings.
    fn settle(&mut self, task: &Task) -> Result<()> {
        let open = |m: &Mapping| matches!(&m.target, Selection::Regular(slabs) if slabs.iter().any(Slab::is_unlimited));
        if !self.mappings.iter().any(open) {
            return Ok(());
        }
        let (mut settled, mut nowhere) = (Vec::new(), Vec::new());
        let mut extents: Vec<u64> = vec![0; self.shape.len()];
        let mut is_open = vec![false; self.shape.len()];
        for mapping in std::mem::take(&mut self.mappings) {
            let Selection::Regular(slabs) = &mapping.target else {
                settled.push(mapping);
                continue;
            };
            let axis = slabs.iter().position(Slab::is_unlimited);
            for (n, slab) in slabs.iter().enumerate() {
                if Some(n) != axis
                    && let Some(extent) = extents.get_mut(n)
                {
                    *extent = (*extent).max(slab.extent_of(slab.len(u64::MAX)));
                }
            }
            let Some(axis) = axis else {
                settled.push(mapping);
                continue;
            };
            let Some(slab) = slabs.get(axis).copied() else { continue };
            let extent = if is_pattern(&mapping.file) || is_pattern(&mapping.dataset) {
                let before = settled.len();
                let extent = self.follow(task, &mapping, slabs, axis, &mut settled)?;
                if settled.len() == before {
                    nowhere.push((mapping.file.clone(), mapping.dataset.clone()));
                }
                extent
            } else {
                let source = self.source(task, &mapping.file, &mapping.dataset)?;
                let there = source.map_or(0, |source| open_len(&mapping.source, source.shape()));
                settled.push(mapping.clone());
                slab.extent_of(there)
            };
            if let (Some(most), Some(open)) = (extents.get_mut(axis), is_open.get_mut(axis)) {
                *most = (*most).max(extent);
                *open = true;
            }
        }
        self.mappings = settled;
        self.nowhere = nowhere;
        for ((len, extent), open) in self.shape.iter_mut().zip(extents).zip(is_open) {
            if open {
                *len = extent;
            }
        }
        limits::bytes(&self.shape, self.dtype.size())?;
        Ok(())
    }

    /// The sources of a pattern, one after the other until one is not there; the extent that they give.
    fn follow(
        &self,
        task: &Task,
        mapping: &Mapping,
        slabs: &[Slab],
        axis: usize,
        settled: &mut Vec<Mapping>,
    ) -> Result<u64> {
        let mut extent = 0;
        for n in 0..MOST {
            task.check()?;
            let (file, dataset) = (numbered(&mapping.file, n), numbered(&mapping.dataset, n));
            if self.source(task, &file, &dataset)?.is_none() {
                break;
            }
            let mut slabs = slabs.to_vec();
            if let Some(slab) = slabs.get_mut(axis) {
                slab.start = slab.start.saturating_add(n.saturating_mul(slab.stride));
                slab.count = 1;
                extent = slab.start.saturating_add(slab.block);
            }
            let target = Selection::Regular(slabs);
            settled.push(Mapping { file, dataset, source: mapping.source.clone(), target });
        }
        Ok(extent)
    }

    /// The source's array; `None` where it is not there or lies outside of this file's folder.
    fn source(&self, task: &Task, file: &str, dataset: &str) -> Result<Option<Arc<dyn Array>>> {
        let key = (file.to_owned(), dataset.to_owned());
        if let Some(known) = self.sources.lock().get(&key) {
            return Ok(known.clone());
        }
        let found = self.names.dataset(task, file, dataset)?;
        self.sources.lock().insert(key, found.clone());
        Ok(found)
    }

    /// What is to be said of sources that are not there: their elements are the fill value, as libhdf5 has it.
    ///
    /// # Errors
    /// Only a cancellation: a source that cannot be read says so when it is.
    pub(super) fn missing(&self, task: &Task) -> Result<Option<Error>> {
        let mut wanted: Vec<(&str, &str)> = Vec::new();
        let mut known = HashSet::new();
        for mapping in self.mappings.iter().filter(|mapping| mapping.target != Selection::None) {
            let name = (mapping.file.as_str(), mapping.dataset.as_str());
            if wanted.len() < LOOKED_FOR && known.insert(name) {
                wanted.push(name);
            }
        }
        let mut missing = Vec::new();
        let nowhere = self.nowhere.iter().map(|(file, dataset)| (file.as_str(), dataset.as_str()));
        for (file, dataset) in nowhere.chain(wanted.iter().copied()) {
            if let Ok(None) = self.source(task, file, dataset).unless_cancelled()? {
                missing.push(format!("{}#{dataset}", if file == "." { "" } else { file }));
            }
        }
        if missing.is_empty() {
            return Ok(None);
        }
        let (count, all) = (missing.len(), wanted.len() + self.nowhere.len());
        missing.truncate(NAMED);
        let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
        Ok(Some(Error::io(format!(
            "virtual dataset: {count} of {all} sources are not there, or lie outside of this file's folder: \
             {}{more}; their elements are shown as the fill value",
            missing.join(", ")
        ))))
    }

    /// The parts of `region` that a mapping fills.
    fn pieces(&self, source: &dyn Array, mapping: &Mapping, region: &Region) -> Result<Vec<Piece>> {
        let slabs = (mapping.target.slabs(&self.shape), mapping.source.slabs(source.shape()));
        if let (Some(target), Some(from)) = slabs
            && let Some(pieces) = self.by_axes(&target, &from, source.shape(), region)
        {
            return Ok(pieces);
        }
        let (to, from) = (mapping.target.listed(&self.shape)?, mapping.source.listed(source.shape())?);
        let mut pieces = Vec::new();
        for (to, from) in to.into_iter().zip(from) {
            if let Some(out) = place(to, &self.shape, region) {
                let spans =
                    strides::unravel(from, source.shape()).into_iter().map(|at| Span::range(at, 1)).collect();
                let out = out.into_iter().map(|at| Span::range(at, 1)).collect();
                join(&mut pieces, Piece { from: Region(spans), out });
            }
        }
        Ok(pieces)
    }

    /// The parts where each dimension of the target is one of the source, but for those of length one.
    fn by_axes(&self, target: &[Slab], from: &[Slab], source: &[u64], region: &Region) -> Option<Vec<Piece>> {
        let lens = |slabs: &[Slab], shape: &[u64]| -> Vec<u64> {
            slabs.iter().zip(shape).map(|(slab, &len)| slab.len(len)).collect()
        };
        let (to_lens, from_lens) = (lens(target, &self.shape), lens(from, source));
        let long = |lens: &[u64], slabs: &[Slab]| -> Vec<usize> {
            let both = lens.iter().zip(slabs).enumerate();
            both.filter(|(_, (len, slab))| **len != 1 || slab.is_unlimited()).map(|(n, _)| n).collect()
        };
        let (to_axes, from_axes) = (long(&to_lens, target), long(&from_lens, from));
        let alike = |(&a, &b): (&usize, &usize)| {
            to_lens.get(a) == from_lens.get(b) || target.get(a).is_some_and(Slab::is_unlimited)
        };
        if to_axes.len() != from_axes.len() || !to_axes.iter().zip(&from_axes).all(alike) {
            return None;
        }
        // Along each dimension: runs of indices that are evenly spaced here and there.
        let mut runs: Vec<Vec<Run>> = Vec::with_capacity(target.len());
        for (axis, slab) in target.iter().enumerate() {
            let partner = to_axes.iter().position(|&a| a == axis).and_then(|n| from_axes.get(n));
            let (most, other) = match partner {
                Some(&b) => ((*to_lens.get(axis)?).min(*from_lens.get(b)?), Some(from.get(b)?)),
                None => (1, None),
            };
            runs.push(runs_of(slab, other, most, region.0.get(axis)?));
        }
        let counts: Vec<u64> = runs.iter().map(|runs| runs.len() as u64).collect();
        let count = limits::elements(&counts).ok().filter(|count| *count <= PIECES)?;
        let piece = |n: u64| {
            let chosen = strides::unravel(n, &counts).into_iter().zip(&runs);
            let chosen: Vec<Run> =
                chosen.map(|(n, runs)| runs.get(n as usize).copied()).collect::<Option<_>>()?;
            let mut spans: Vec<Span> = from.iter().map(|slab| Span::range(slab.start, 1)).collect();
            for (&a, &b) in to_axes.iter().zip(&from_axes) {
                let run = chosen.get(a)?;
                *spans.get_mut(b)? = Span { start: run.from.0, count: run.count, step: run.from.1 };
            }
            let out = chosen.iter().map(|run| Span { start: run.out.0, count: run.count, step: run.out.1 });
            Some(Piece { from: Region(spans), out: out.collect() })
        };
        (0..count).map(piece).collect()
    }

    /// Whether it can be told at once that a mapping fills nothing of a region.
    fn is_beside(&self, mapping: &Mapping, region: &Region) -> bool {
        let Some(target) = mapping.target.slabs(&self.shape) else {
            return mapping.target == Selection::None;
        };
        target.iter().zip(&region.0).zip(&self.shape).any(|((slab, span), &len)| misses(slab, span, len))
    }

    /// Every part of a region with the source that fills it.
    fn parts(&self, task: &Task, region: &Region) -> Result<Vec<(Arc<dyn Array>, Vec<Piece>)>> {
        let mut parts = Vec::new();
        for mapping in &self.mappings {
            task.check()?;
            if self.is_beside(mapping, region) {
                continue;
            }
            let Some(source) = self.source(task, &mapping.file, &mapping.dataset)? else { continue };
            let pieces = self.pieces(source.as_ref(), mapping, region)?;
            if !pieces.is_empty() {
                parts.push((source, pieces));
            }
        }
        Ok(parts)
    }
}

/// Whether no index of the span is one of the slab.
fn misses(slab: &Slab, span: &Span, len: u64) -> bool {
    span.count == 0 || span.end() <= slab.start || span.start >= slab.extent_of(slab.len(len))
}

/// A part of a source and where it goes: as many elements, in C order.
#[derive(Clone, Debug)]
struct Piece {
    from: Region,
    out: Vec<Span>,
}

/// Indices that are evenly spaced in the source and in the result.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: (u64, u64),
    out: (u64, u64),
    count: u64,
}

/// The runs of one dimension: which indices of `span` the first `most` of `target` are, and which those of
/// `source`.
fn runs_of(target: &Slab, source: Option<&Slab>, most: u64, span: &Span) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for out in 0..span.count {
        let Some(number) = target.number(span.index(out)).filter(|&n| n < most) else { continue };
        let from = source.map_or(0, |slab| slab.index(number));
        match runs.last_mut() {
            Some(run) if run.count == 1 && from > run.from.0 => {
                (run.from.1, run.out.1, run.count) = (from - run.from.0, out - run.out.0, 2);
            }
            Some(run)
                if run.count > 1
                    && from == run.from.0.saturating_add(run.from.1.saturating_mul(run.count))
                    && out == run.out.0.saturating_add(run.out.1.saturating_mul(run.count)) =>
            {
                run.count += 1;
            }
            _ => runs.push(Run { from: (from, 1), out: (out, 1), count: 1 }),
        }
    }
    runs
}

/// The place of the element `number` of `shape` in the result of `region`, if it is in it.
fn place(number: u64, shape: &[u64], region: &Region) -> Option<Vec<u64>> {
    let within = |(at, span): (u64, &Span)| {
        let behind = at.checked_sub(span.start)?;
        (behind % span.step.max(1) == 0 && behind / span.step.max(1) < span.count)
            .then(|| behind / span.step.max(1))
    };
    strides::unravel(number, shape).into_iter().zip(&region.0).map(within).collect()
}

/// Adds a piece of one element; neighbours along the last dimension become one piece.
fn join(pieces: &mut Vec<Piece>, piece: Piece) {
    let next_to = |a: &[Span], b: &[Span]| -> bool {
        let Some((last_a, rest_a)) = a.split_last() else { return false };
        let Some((last_b, rest_b)) = b.split_last() else { return false };
        rest_a == rest_b && last_a.start + last_a.count == last_b.start
    };
    if let Some(last) = pieces.last_mut()
        && next_to(&last.from.0, &piece.from.0)
        && next_to(&last.out, &piece.out)
        && let (Some(from), Some(out)) = (last.from.0.last_mut(), last.out.last_mut())
    {
        from.count += 1;
        out.count += 1;
        return;
    }
    pieces.push(piece);
}

impl Piece {
    /// Where the piece begins in the result of the shape `shape`, and its axes, in elements.
    fn axes(&self, shape: &[u64]) -> (u64, Vec<Axis>) {
        let counts: Vec<u64> = self.out.iter().map(|span| span.count).collect();
        let order = strides::c_order(shape.len());
        let (near, far) = (strides::dense(&counts, &order, 1), strides::dense(shape, &order, 1));
        let each = self.out.iter().zip(near.iter().zip(&far));
        let first = each.clone().map(|(span, (_, to))| span.start * to).sum();
        let axis = |(span, (from, to)): (&Span, (&u64, &u64))| Axis {
            count: span.count,
            from: *from,
            to: span.step * to,
        };
        (first, strides::joined(each.map(axis)))
    }

    /// Copies the elements of the piece to their places in the result.
    fn scatter(&self, bytes: &[u8], shape: &[u64], out: &mut [u8], size: usize) {
        let (first, mut axes) = self.axes(shape);
        for axis in &mut axes {
            (axis.from, axis.to) = (axis.from * size as u64, axis.to * size as u64);
        }
        let out = out.get_mut(first as usize * size..).unwrap_or_default();
        strides::copy(bytes, out, &axes, size);
    }
}

impl Array for Virtual {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        let size = self.fill.len().max(1);
        strides::fill(out, &self.fill);
        let shape = region.shape();
        for (source, pieces) in self.parts(task, region)? {
            let source = in_type(source, &self.dtype)?;
            for piece in pieces {
                task.check()?;
                let bytes = array::read(source.as_ref(), task, &piece.from)?;
                piece.scatter(&bytes, &shape, out, size);
            }
        }
        Ok(())
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        let DType::Variable(kind) = &self.dtype else { return array::column_of_bytes(self, task, region) };
        region.check(&self.shape)?;
        let elements = limits::check(region.elements()?, limits::READ / 16, "elements of this part")?;
        let mut columns = vec![self.fill_column.clone().unwrap_or_else(|| new_null_array(&kind.arrow, 1))];
        let mut order = vec![(0usize, 0usize); elements];
        let shape = region.shape();
        for (source, pieces) in self.parts(task, region)? {
            if source.dtype() != &self.dtype {
                return Err(mismatch(source.dtype(), &self.dtype));
            }
            for piece in pieces {
                let number = columns.len();
                columns.push(source.column(task, &piece.from)?);
                let (first, axes) = piece.axes(&shape);
                strides::walk(&axes, (0, first), &mut |n, to| {
                    if let Some(place) = order.get_mut(to as usize) {
                        *place = (number, n as usize);
                    }
                });
            }
        }
        let columns: Vec<&dyn arrow::array::Array> = columns.iter().map(AsRef::as_ref).collect();
        Ok(interleave(&columns, &order)?)
    }

    fn unstored(&self, _task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        let empty = self.mappings.iter().all(|mapping| self.is_beside(mapping, region));
        Ok((empty && !self.dtype.is_variable()).then(|| self.fill.clone()))
    }

    fn stored(&self, _task: &Task) -> Result<Option<array::Stored>> {
        let mut boxes = Vec::new();
        for mapping in self.mappings.iter().filter(|mapping| mapping.target != Selection::None) {
            let Some(target) = mapping.target.slabs(&self.shape) else { return Ok(None) };
            let span = |(slab, &len): (&Slab, &u64)| {
                let end = slab.extent_of(slab.len(len)).min(len);
                Span::range(slab.start.min(end), end.saturating_sub(slab.start))
            };
            boxes.push(Region(target.iter().zip(&self.shape).map(span).collect()));
        }
        let element = (!self.dtype.is_variable()).then(|| self.fill.clone());
        let apart = Region::apart(boxes);
        Ok(apart.map(|regions| array::Stored { regions, element, row: self.fill_column.clone() }))
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

/// A source whose elements are of the wanted type, cast where they are other numbers.
fn in_type(source: Arc<dyn Array>, dtype: &DType) -> Result<Arc<dyn Array>> {
    if source.dtype() == dtype {
        return Ok(source);
    }
    if source.dtype().is_real() && dtype.is_real() {
        return Ok(Arc::new(super::numbers::numbers(source, dtype)));
    }
    Err(mismatch(source.dtype(), dtype))
}

fn mismatch(source: &DType, dtype: &DType) -> Error {
    Error::unsupported(format!("a virtual dataset of {dtype} with a source of {source}"))
}

/// How many indices a selection without an end takes of a source along its open dimension.
fn open_len(selection: &Selection, shape: &[u64]) -> u64 {
    match selection {
        Selection::Regular(slabs) => {
            let open = slabs.iter().zip(shape).find(|(slab, _)| slab.is_unlimited());
            open.map_or(0, |(slab, &len)| slab.len(len))
        }
        _ => 0,
    }
}

/// Whether a name has a place for the number of a block: `%b`.
fn is_pattern(name: &str) -> bool {
    numbered(name, 0) != numbered(name, 1)
}

/// A name with the number of a block in it: `%b` is the number, `%%` a percent sign.
fn numbered(name: &str, n: u64) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('%', Some('b')) => {
                rest.next();
                out.push_str(&n.to_string());
            }
            ('%', Some('%')) => {
                rest.next();
                out.push('%');
            }
            _ => out.push(c),
        }
    }
    out
}

/// The mappings in a heap object.
fn parse(file: &File, bytes: &[u8]) -> Result<Vec<Mapping>> {
    let mut cursor = file.cursor("virtual dataset", 0, bytes);
    let version = cursor.u8()?;
    if version > 1 {
        return Err(Error::unsupported(format!("virtual datasets of version {version}")));
    }
    let count = cursor.size()?;
    let mut mappings: Vec<Mapping> = Vec::new();
    for _ in 0..count {
        if cursor.left() < 16 {
            return Err(cursor.error(format!("{count} mappings are promised, {} are there", mappings.len())));
        }
        let flags = if version == 1 { cursor.u8()? } else { 0 };
        let earlier = |cursor: &mut super::super::file::Cursor<'_>| -> Result<Mapping> {
            let n = cursor.size()?;
            let found = usize::try_from(n).ok().and_then(|n| mappings.get(n).cloned());
            found.ok_or_else(|| cursor.error(format!("there is no mapping {n} before this one")))
        };
        let name = |cursor: &mut super::super::file::Cursor<'_>| {
            String::from_utf8_lossy(cursor.until_zero()).into_owned()
        };
        let source_file = match flags {
            flags if flags & 4 > 0 => ".".to_owned(),
            flags if flags & 1 > 0 => earlier(&mut cursor)?.file,
            _ => name(&mut cursor),
        };
        let dataset = if flags & 2 > 0 { earlier(&mut cursor)?.dataset } else { name(&mut cursor) };
        let (source, target) = (Selection::parse(&mut cursor)?, Selection::parse(&mut cursor)?);
        mappings.push(Mapping { file: source_file, dataset, source, target });
    }
    Ok(mappings)
}

#[cfg(test)]
mod tests {
    use super::super::selection::UNLIMITED;
    use super::*;

    #[test]
    fn runs_are_evenly_spaced_on_both_sides() {
        let target = Slab { start: 1, stride: 3, count: 4, block: 1 };
        let runs = runs_of(&target, Some(&Slab::all(4)), 4, &Span::all(12));
        assert_eq!(runs.iter().map(|r| (r.from, r.out, r.count)).collect::<Vec<_>>(), [((0, 1), (1, 3), 4)]);
        let blocks = Slab { start: 0, stride: 4, count: UNLIMITED, block: 2 };
        let runs = runs_of(&blocks, Some(&Slab::all(9)), 3, &Span::all(12));
        let got: Vec<_> = runs.iter().map(|r| (r.from.0, r.out.0, r.count)).collect();
        assert_eq!(got, [(0, 0, 2), (2, 4, 1)]);
    }

    #[test]
    fn names_with_numbers() {
        assert_eq!(numbered("f-%b.h5", 12), "f-12.h5");
        assert_eq!(numbered("100%%", 1), "100%");
        assert!(is_pattern("a%b") && !is_pattern("a%%b") && !is_pattern("a"));
    }
}
