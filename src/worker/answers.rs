//! What a worker answers: each call is given to the method that it names.

use super::calls::{Call, Place};
use super::objects::{Object, Registry};
use super::server::{opened, refusals};
use super::wire::{Out, Wire};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::text::Line;
use crate::data::content::{Array, Image, Table, Text};
use crate::data::location::BytePlace;
use crate::data::node::{Listing, Node, Places};
use crate::data::region::Region;
use crate::data::stats::{self, summary};
use std::sync::Arc;

/// Lines that one answer has.
const LINES: usize = 4_096;
/// Bytes of lines that are enough for one answer.
const TEXT: usize = 1 << 20;
/// Bytes of one read of a source.
const READ: usize = 64 << 20;

/// Calls a method of an object; what it gives is written behind `out`.
pub(super) fn answer(
    object: &Object,
    call: Call,
    task: &Task,
    registry: &Registry,
    out: &mut Out<'_>,
) -> Result<()> {
    match (object, call) {
        (Object::Table(table), call) => of_table(table.as_ref(), call, task, registry, out)?,
        (Object::Array(array), call) => of_array(array.as_ref(), call, task, registry, out)?,
        (Object::Image(image), call) => of_image(image.as_ref(), call, task, out)?,
        (Object::Text(text), call) => of_text(text.as_ref(), call, task, out)?,
        (Object::Listing(list), call) => of_listing(list.as_ref(), call, task, out)?,
        (Object::Places(places), call) => of_places(places.as_ref(), call, task, registry, out)?,
        (Object::Source(source), call) => of_source(source, call, task, out)?,
        (Object::World(world), Call::WorldAt { index }) => world.at(&index).put(out),
        (Object::Findings(findings), Call::FindingsFinish) => findings.finish(task)?,
        (Object::Statistics(statistics), Call::StatisticsAll) => statistics.statistics(task)?.put(out),
        (Object::Versions(versions), Call::VersionsName { n }) => versions.name(n).put(out),
        (Object::Versions(versions), Call::VersionsAbout { n }) => versions.about(task, n)?.put(out),
        (Object::Location(location), Call::LocationDecoded) => location.decoded(task)?.put(out),
        _ => return Err(no_such()),
    }
    Ok(())
}

fn no_such() -> Error {
    Error::bug("a method was called that this has not")
}

/// The byte of a place.
fn byte(place: Place, task: &Task, registry: &Registry) -> Result<Option<BytePlace>> {
    Ok(match place {
        Place::Document { offset } => Some(BytePlace::new(registry.document(), offset)),
        Place::Path { path, offset } => Some(BytePlace::new(&Source::open(task, &path)?, offset)),
        Place::Kept { request, ordinal, offset } => match registry.get((request, ordinal)).as_deref() {
            Some(Object::Source(source)) => Some(BytePlace::new(source, offset)),
            _ => None,
        },
        Place::Unknown => None,
    })
}

fn of_table(
    table: &dyn Table,
    call: Call,
    task: &Task,
    registry: &Registry,
    out: &mut Out<'_>,
) -> Result<()> {
    match call {
        Call::TableRead { rows, columns } => table.read(task, rows, &columns)?.put(out),
        Call::TableCount => table.count(task)?.put(out),
        Call::TableTail { count, columns } => table.tail(task, count, &columns)?.put(out),
        Call::TableScanStep { at } => table.scan_step(at).put(out),
        Call::TableEqualRows { at } => table.equal_rows(task, at)?.put(out),
        Call::TableSample { most } => table.sample(task, most)?.put(out),
        Call::TableReadHeaders { most } => table.read_headers(task, most)?,
        Call::TableFacts => table.facts().put(out),
        Call::TableStatistics { column } => table.statistics(column).put(out),
        Call::TableLayout => table.layout().put(out),
        Call::TableRowRanges { columns, parts } => table.row_ranges(task, &columns, &parts)?.put(out),
        Call::TableParts { columns } => table.parts(&columns).put(out),
        Call::TableWithParts { parts } => table.with_parts(&parts).put(out),
        Call::TableLocation { row, column } => table.location(task, row, column)?.put(out),
        Call::TableOwner { byte: place } => match byte(place, task, registry)? {
            Some(byte) => table.owner(task, &byte)?.put(out),
            None => None::<crate::data::location::Owner>.put(out),
        },
        Call::TableStats { .. } | Call::TableSummaries { .. } | Call::TableHistograms { .. } => {
            passes_over(table, call, task, out)?;
        }
        _ => return Err(no_such()),
    }
    Ok(())
}

/// Passes over all of a table.
fn passes_over(table: &dyn Table, call: Call, task: &Task, out: &mut Out<'_>) -> Result<()> {
    match call {
        Call::TableStats { columns } => stats::table(table, task, &columns)?.put(out),
        Call::TableSummaries { columns, exact: true } => summary::exact(table, task, &columns)?.put(out),
        Call::TableSummaries { columns, exact: false } => summary::sampled(table, task, &columns)?.put(out),
        Call::TableHistograms { columns, stats, binning } => {
            stats::histograms(table, task, &columns, &stats, binning)?.put(out);
        }
        _ => return Err(no_such()),
    }
    Ok(())
}

/// Room for the elements of a region at the end of an answer.
fn room<'a>(array: &dyn Array, region: &Region, out: &'a mut Out<'_>) -> Result<&'a mut [u8]> {
    region.check(array.shape())?;
    let bytes = limits::bytes(&region.shape(), array.dtype().size())?;
    let bytes = limits::check(bytes, limits::READ, "this part of the array")?;
    let at = out.bytes.len();
    out.bytes
        .try_reserve_exact(bytes)
        .map_err(|_| Error::limit(format!("the array needs {bytes} bytes of memory, which are not there")))?;
    out.bytes.resize(at + bytes, 0);
    out.bytes.get_mut(at..).ok_or_else(|| Error::bug("room that is not there"))
}

fn of_array(
    array: &dyn Array,
    call: Call,
    task: &Task,
    registry: &Registry,
    out: &mut Out<'_>,
) -> Result<()> {
    match call {
        Call::ArrayRead { region } => array.read(task, &region, room(array, &region, out)?)?,
        Call::ArrayUnstored { region } => array.unstored(task, &region)?.put(out),
        Call::ArrayStored => array.stored(task)?.put(out),
        Call::ArrayLocation { index } => array.location(task, &index)?.put(out),
        Call::ArrayOwner { byte: place } => match byte(place, task, registry)? {
            Some(byte) => array.owner(task, &byte)?.put(out),
            None => None::<crate::data::location::Owner>.put(out),
        },
        Call::ArrayStorage => array.storage().put(out),
        Call::ArrayVerbatim => array.verbatim().put(out),
        Call::ArrayChecksummed => array.checksummed().put(out),
        Call::ArrayFacts => array.facts().put(out),
        Call::ArrayColumn { region } => array.column(task, &region)?.put(out),
        Call::ArrayReadLenient { region } => {
            let mut elements = Out::new(None);
            let gaps = array.read_lenient(task, &region, room(array, &region, &mut elements)?)?;
            gaps.put(out);
            out.bytes.append(&mut elements.bytes);
        }
        Call::ArrayLayout => array.layout(task)?.put(out),
        Call::ArrayStats { bins, lenient: false } => stats::array(array, task, bins)?.put(out),
        Call::ArrayStats { bins, lenient: true } => stats::readable(array, task, bins)?.put(out),
        Call::ArrayTensor => stats::tensor::tensor(array, task)?.put(out),
        Call::ArrayPrefetch { region } => array.prefetch(task, &region),
        Call::QuantisedQuants { .. }
        | Call::QuantisedBlocks
        | Call::QuantisedBlock { .. }
        | Call::QuantisedCode { .. } => of_quantised(array, call, task, out)?,
        _ => return Err(no_such()),
    }
    Ok(())
}

fn of_quantised(array: &dyn Array, call: Call, task: &Task, out: &mut Out<'_>) -> Result<()> {
    let quantised = array.quantised().ok_or_else(no_such)?;
    match call {
        Call::QuantisedQuants { region } => quantised.quants(task, &region)?.put(out),
        Call::QuantisedBlocks => quantised.blocks().put(out),
        Call::QuantisedBlock { index } => quantised.block(task, &index)?.put(out),
        Call::QuantisedCode { index } => quantised.code(task, &index)?.put(out),
        _ => return Err(no_such()),
    }
    Ok(())
}

fn of_image(image: &dyn Image, call: Call, task: &Task, out: &mut Out<'_>) -> Result<()> {
    match call {
        Call::ImageRead { frame, level, rect } => image.read(task, frame, level, rect)?.put(out),
        Call::ImageReduced { frame, width, height } => image.reduced(task, frame, width, height)?.put(out),
        Call::ImageStored { frame, rect } => image.stored(task, frame, rect)?.put(out),
        Call::ImageUnstoredRows { frame, y } => image.unstored_rows(task, frame, y)?.put(out),
        _ => return Err(no_such()),
    }
    Ok(())
}

fn of_text(text: &dyn Text, call: Call, task: &Task, out: &mut Out<'_>) -> Result<()> {
    match call {
        Call::TextBeginnings { range } => text.beginnings(task, range)?.put(out),
        Call::TextEach { start, longest } => {
            let (mut lines, mut bytes, mut whole): (Vec<(u64, Line)>, usize, bool) = (Vec::new(), 0, true);
            text.each(task, start, longest, &mut |number, line| {
                bytes += line.text.len();
                lines.push((number, line));
                whole = bytes < TEXT && lines.len() < LINES;
                Ok(whole)
            })?;
            (lines, whole).put(out);
        }
        Call::TextCount => text.count(task)?.put(out),
        Call::TextCharacters => text.characters(task)?.put(out),
        Call::TextRead { range } => text.read(task, range)?.put(out),
        _ => return Err(no_such()),
    }
    Ok(())
}

fn of_listing(list: &dyn Listing, call: Call, task: &Task, out: &mut Out<'_>) -> Result<()> {
    match call {
        Call::ListingPage { range } => list.page(task, range)?.put(out),
        Call::ListingSoon { range } => list.soon(task, range)?.put(out),
        Call::ListingMeasure => list.measure(task)?,
        Call::ListingResolve => said(list.resolve(task)?).put(out),
        Call::ListingFind { name } => list.find(task, &name)?.put(out),
        _ => return Err(no_such()),
    }
    Ok(())
}

/// A node with what was refused to its reader.
fn said(node: Option<Arc<Node>>) -> Option<Arc<Node>> {
    let (node, refused) = (node?, refusals());
    Some(match refused {
        Some(refused) => Arc::new(node.as_ref().clone().remark(refused)),
        None => node,
    })
}

fn of_places(
    places: &dyn Places,
    call: Call,
    task: &Task,
    registry: &Registry,
    out: &mut Out<'_>,
) -> Result<()> {
    match call {
        Call::PlacesLocation => places.location(task)?.put(out),
        Call::PlacesAttribute { name } => places.attribute(task, &name)?.put(out),
        Call::PlacesOwner { byte: place } => match byte(place, task, registry)? {
            Some(byte) => places.owner(task, &byte)?.put(out),
            None => None::<(String, crate::data::location::Location)>.put(out),
        },
        _ => return Err(no_such()),
    }
    Ok(())
}

fn of_source(source: &Source, call: Call, task: &Task, out: &mut Out<'_>) -> Result<()> {
    match call {
        Call::SourceLen => source.len(task)?.put(out),
        Call::SourceRead { offset, count } => source.read_up_to(task, offset, count.min(READ))?.put(out),
        Call::SourceOpen { options } => opened(task, source, &options)?.put(out),
        _ => return Err(no_such()),
    }
    Ok(())
}
