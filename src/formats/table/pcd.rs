//! PCD: point clouds of the Point Cloud Library, versions .5 to .7. A header of text lines — `FIELDS` with
//! their `SIZE`, `TYPE` and `COUNT`, `WIDTH` and `HEIGHT`, `VIEWPOINT`, `POINTS`, `DATA` — and the points.
//! <https://pointclouds.org/documentation/tutorials/pcd_file_format.html>
//!
//! A cloud opens as a table: a row for each point, a column for each field, fields of a `COUNT` over 1 as
//! lists. The points are lines of text (`ascii`), packed records (`binary`) or the columns one after the
//! other, LZF-compressed as a whole (`binary_compressed`). Fields named `_` are padding and are left out.

mod ascii;
mod header;
mod planes;

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ArrayTable, arrow_of};
use crate::data::content::array::Plain;
use crate::data::content::{Content, Kind, Table};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use header::{Data, Header};
use planes::Planes;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["pcd"],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    ..Format::new("pcd", "PCD point cloud", open)
};

/// Lines of text are counted at open where they take no more than this.
const COUNTED: u64 = 512 << 10;

/// Sure by the comment that PCL writes first, or by `VERSION` and `FIELDS` as the first two entries.
fn sniff(head: &Head) -> Match {
    if head.starts_with(b"# .PCD") {
        return Match::Yes;
    }
    let mut entries =
        head.first.split(|&b| b == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let mut next = |words: &[&[u8]]| {
        entries
            .next()
            .is_some_and(|line| line.split(|&b| b == b' ').next().is_some_and(|w| words.contains(&w)))
    };
    if next(&[b"VERSION"]) && next(&[b"FIELDS", b"COLUMNS"]) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut header = header::read(task, source)?;
    let mut node = Node::new(source.name(), "point cloud");
    node.attributes = std::mem::take(&mut header.attributes);
    node.remarks = std::mem::take(&mut header.remarks);
    node.problem = header.problem.take();
    let (table, problem) = match header.data {
        Data::Ascii => ascii(task, source, &header)?,
        Data::Binary => binary(source, &header, &mut node)?,
        Data::Compressed => compressed(task, source, &header)?,
    };
    node.problem = node.problem.or(problem);
    Ok(node.content(Content::Table(table)))
}

/// A table, and what is wrong with a part of it.
type Opened = (Arc<dyn Table>, Option<Error>);

/// Lines of text.
fn ascii(task: &Task, source: &Source, header: &Header) -> Result<Opened> {
    let len = source.known_len().map(|len| len.saturating_sub(header.start));
    let table = ascii::lines(source.clone(), header, schema(header)?, len);
    let mut problem = None;
    if len.is_some_and(|len| len <= COUNTED) {
        let lines = table.count(task)?;
        if lines != header.points {
            let what = format!(
                "points: POINTS says {}, {} are there",
                header.points,
                display::plural(lines, "line")
            );
            problem = Some(Error::malformed(what).at(header.start));
        }
    }
    Ok((Arc::new(table), problem))
}

/// Packed records: those that are there, where the file is cut off.
fn binary(source: &Source, header: &Header, node: &mut Node) -> Result<Opened> {
    let size = header.record.size;
    let need = limits::bytes(&[header.points], size).map_err(|e| e.at(header.start))?;
    let (mut points, mut problem) = (header.points, None);
    if let Some(there) = source.known_len().map(|len| len.saturating_sub(header.start)) {
        if there < need {
            points = there / size.max(1);
            let what = format!(
                "points: {} of {size} bytes need {need} bytes, {there} are there; the file may be cut off, \
                 the first {} shown",
                display::plural(header.points, "point"),
                if points == 1 { "is".to_owned() } else { format!("{points} are") },
            );
            problem = Some(Error::malformed(what).at(header.start));
        } else if there > need {
            node.remarks.push(format!("{} bytes follow the points", there - need));
        }
    }
    node.span = Some(header.start..header.start.saturating_add(points.saturating_mul(size)));
    let records = DType::Struct(Arc::new(header.record.clone()));
    let array = Plain::new(source.clone(), header.start, records, vec![points])?;
    Ok((Arc::new(ArrayTable::new("", Arc::new(array))?), problem))
}

/// Compressed columns.
fn compressed(task: &Task, source: &Source, header: &Header) -> Result<Opened> {
    let planes = Planes::new(task, source.clone(), header, schema(header)?)?;
    let problem = planes.missing().map(|missing| {
        let what =
            format!("points: {missing} of their compressed bytes are missing; the file may be cut off");
        Error::malformed(what).at(header.start)
    });
    Ok((Arc::new(planes), problem))
}

/// The columns: as Arrow names them for records.
fn schema(header: &Header) -> Result<SchemaRef> {
    match arrow_of(&DType::Struct(Arc::new(header.record.clone()))) {
        Some((DataType::Struct(fields), _)) => Ok(Arc::new(Schema::new(fields))),
        _ => Err(Error::bug("a point cloud without an Arrow type")),
    }
}

#[cfg(test)]
mod tests;
