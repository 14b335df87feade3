//! NetCDF classic: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit data). A header names dimensions,
//! attributes and variables; values follow, big-endian: first those of fixed size, then the records, in each
//! of which every variable along the record dimension has one row.
//! <https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html>,
//! <https://cdn.earthdata.nasa.gov/conduit/upload/496/ESDS-RFC-011v2.00.pdf>, and for CDF-5
//! <https://parallel-netcdf.github.io/doc/c-reference/pnetcdf-c/CDF_002d5-file-format-specification.html>.
//!
//! Rows are padded to four bytes, except where only one variable has records. A writer that streams leaves
//! the number of records open; the file's length tells it then. What the attributes mean stands in
//! [`crate::data::cf`].

mod data;
mod header;
mod write;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::cf;
use crate::data::content::array::{Axis, Plain};
use crate::data::content::{Array, ArrayFacts, Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Node, Value};
use crate::data::sniff::Magic;
use data::{Recorded, Texts};
use header::{Header, Kind as Type, Variable};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["nc", "cdf", "nc3", "netcdf"],
    mime: &["application/x-netcdf"],
    magic: &[Magic::at(0, b"CDF\x01"), Magic::at(0, b"CDF\x02"), Magic::at(0, b"CDF\x05")],
    reads: &[Kind::Array],
    targets: &[Target::new("netcdf3", "NetCDF classic", &["nc", "nc3", "cdf"], &write::WRITER)],
    ..Format::new("netcdf3", "NetCDF classic", open)
};

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let header = header::read(task, source)?;
    // A stream without a known length is only measured where the number of records depends on it.
    let len = match header.records {
        None => Some(source.len(task)?),
        Some(_) => source.known_len(),
    };
    let file = File::new(source, &header, len)?;
    let mut cut = 0;
    let mut children = Vec::new();
    for variable in &header.variables {
        task.check()?;
        let node = file.node(variable);
        cut += u64::from(node.problem.is_some());
        children.push(node);
    }
    let mut root = Node::new("", "file").listed(children);
    root.attributes = header.attributes.clone();
    root.attribute_types = header.attribute_types.clone();
    let sides = header.dimensions.iter().enumerate();
    let sides = sides.map(|(n, d)| (d.name.clone(), json!(file.side(n as u64).unwrap_or(d.len))));
    root.reader.push(("dimensions".to_owned(), Value::Json(Json::Object(sides.collect()))));
    let name = match header.version {
        1 => "CDF-1, classic",
        2 => "CDF-2, 64-bit offsets",
        _ => "CDF-5, 64-bit data",
    };
    root.reader.push(("file format".to_owned(), name.into()));
    if let Some(record) = file.record.and_then(|n| header.dimensions.get(n as usize)) {
        root.reader.push(("record dimension".to_owned(), record.name.clone().into()));
    }
    if header.records.is_none() {
        let what = "the writer left the number of records open; the file's length gives it";
        root.remarks.push(what.to_owned());
    }
    if cut > 0 {
        root.remarks.push(format!("{cut} of {} variables are damaged or cut off", header.variables.len()));
    }
    root.problem = header.problem.clone();
    Ok(root)
}

/// What holds for all variables.
struct File<'a> {
    source: &'a Source,
    header: &'a Header,
    len: Option<u64>,
    /// Which dimension counts the records.
    record: Option<u64>,
    /// How many records there are.
    records: u64,
    /// Bytes of one record.
    step: u64,
    /// The variables by name.
    names: HashMap<&'a str, &'a Variable>,
}

/// Where a variable's values lie, and how many of them.
struct Place {
    dimensions: Vec<String>,
    /// Cut to what is there.
    shape: Vec<u64>,
    /// Bytes from one index of the first dimension to the next.
    step: u64,
    recorded: bool,
    problem: Option<Error>,
}

impl<'a> File<'a> {
    fn new(source: &'a Source, header: &'a Header, len: Option<u64>) -> Result<Self> {
        let record = header.dimensions.iter().position(|d| d.len == 0).map(|n| n as u64);
        let names = header.variables.iter().map(|v| (v.name.as_str(), v)).collect();
        let records = header.records.unwrap_or(0);
        let mut file = File { source, header, len, record, records, step: 0, names };
        let recorded: Vec<&Variable> = header.variables.iter().filter(|v| file.is_recorded(v)).collect();
        for variable in &recorded {
            // A variable that is broken in itself says so at its own node.
            let row = file.row(variable).unwrap_or(0);
            let padded = if recorded.len() == 1 { Some(row) } else { row.checked_next_multiple_of(4) };
            let step = padded.and_then(|row| file.step.checked_add(row));
            file.step = step.ok_or_else(|| {
                Error::malformed(format!("header: a record with {:?} overflows 64 bits", variable.name))
                    .at(variable.at)
            })?;
        }
        if let (None, Some(len), Some(first)) = (header.records, len, recorded.iter().map(|v| v.begin).min())
        {
            file.records = len.saturating_sub(first).checked_div(file.step).unwrap_or(0);
        }
        Ok(file)
    }

    fn is_recorded(&self, variable: &Variable) -> bool {
        self.record.is_some() && variable.dimensions.first().copied() == self.record
    }

    /// The length of a dimension, records counted.
    fn side(&self, dimension: u64) -> Option<u64> {
        if Some(dimension) == self.record {
            return Some(self.records);
        }
        let dimension = usize::try_from(dimension).ok()?;
        self.header.dimensions.get(dimension).map(|d| d.len)
    }

    fn name_of(&self, dimension: u64) -> &str {
        let dimension = usize::try_from(dimension).unwrap_or(usize::MAX);
        self.header.dimensions.get(dimension).map_or("", |d| d.name.as_str())
    }

    /// The lengths of a variable's dimensions.
    fn shape(&self, variable: &Variable) -> Result<Vec<u64>> {
        let side = |&dimension: &u64| {
            self.side(dimension).ok_or_else(|| {
                let (name, there) = (&variable.name, self.header.dimensions.len());
                let what = format!("header: {name:?} lies along dimension {dimension} of {there}");
                Error::malformed(what).at(variable.at)
            })
        };
        variable.dimensions.iter().map(side).collect()
    }

    /// Bytes of one index of the first dimension; of the whole for a scalar.
    fn row(&self, variable: &Variable) -> Result<u64> {
        let shape = self.shape(variable)?;
        let inner = shape.get(1..).unwrap_or_default();
        limits::bytes(inner, variable.kind.dtype().size()).map_err(|e| e.at(variable.at))
    }

    fn place(&self, variable: &Variable) -> Result<Place> {
        let mut shape = self.shape(variable)?;
        let recorded = self.is_recorded(variable);
        let misplaced = variable.dimensions.iter().skip(1).any(|d| Some(*d) == self.record);
        if misplaced {
            let what = format!("header: {:?} has the record dimension behind others", variable.name);
            return Err(Error::malformed(what).at(variable.at));
        }
        let row = self.row(variable)?;
        let step = if recorded { self.step } else { row };
        let rows = shape.first().copied().unwrap_or(1);
        let there = match self.len {
            Some(len) => rows_within(len.saturating_sub(variable.begin), rows, row, step),
            None => rows,
        };
        let mut problem = None;
        if there < rows {
            let what = format!("variable: {there} of {rows} rows are there; the file may be cut off");
            let error = Error::malformed(what).at(variable.begin);
            if shape.is_empty() || there == 0 {
                return Err(error);
            }
            problem = Some(error);
            if let Some(first) = shape.first_mut() {
                *first = there;
            }
        }
        let dimensions = variable.dimensions.iter().map(|d| self.name_of(*d).to_owned()).collect();
        Ok(Place { dimensions, shape, step, recorded, problem })
    }

    /// The array of a variable, with facts.
    fn array(&self, variable: &Variable, place: &Place, facts: ArrayFacts) -> Result<Arc<dyn Array>> {
        let dtype = stored_type(variable);
        let (source, shape) = (self.source.clone(), place.shape.clone());
        let characters = variable.kind == Type::Char;
        let own = if characters { ArrayFacts::default() } else { facts.clone() };
        let array: Arc<dyn Array> = if place.recorded {
            Arc::new(Recorded::new(source, dtype, shape, (variable.begin, place.step), own)?)
        } else {
            Arc::new(Plain::new(source, variable.begin, dtype, shape)?.big_endian(true).with_facts(own))
        };
        if !characters {
            return Ok(array);
        }
        Ok(Arc::new(Texts::new(array, self.is_text(variable, place), facts)))
    }

    /// Whether the last dimension of characters counts those of a text, and is nothing else.
    fn is_text(&self, variable: &Variable, place: &Place) -> bool {
        match (variable.dimensions.last(), place.shape.last(), place.dimensions.last()) {
            (Some(last), Some(&len), Some(name)) => {
                let named = self.names.get(name.as_str());
                let axis = named.is_some_and(|v| v.name != variable.name);
                Some(*last) != self.record && !axis && len > 0 && len <= Texts::LONGEST
            }
            _ => false,
        }
    }

    /// Names of the dimensions that are left in the array.
    fn dimensions(&self, variable: &Variable, place: &Place) -> Vec<String> {
        let mut names = place.dimensions.clone();
        if variable.kind == Type::Char && self.is_text(variable, place) {
            names.pop();
        }
        names
    }

    /// The array of a variable that another one refers to: its axes have names only.
    fn found(&self, name: &str) -> Option<cf::Found> {
        let variable = self.names.get(name)?;
        let place = self.place(variable).ok()?;
        let axis = |name: String| Axis { name, ..Axis::default() };
        let axes = self.dimensions(variable, &place).into_iter().map(axis).collect();
        let facts = ArrayFacts { axes, ..ArrayFacts::default() };
        let array = self.array(variable, &place, facts).ok()?;
        Some(cf::Found { attributes: variable.attributes.clone(), array })
    }

    fn node(&self, variable: &Variable) -> Node {
        let mut node = Node::new(&variable.name, "variable");
        node.attributes = variable.attributes.clone();
        node.attribute_types = variable.attribute_types.clone();
        match self.content(variable) {
            Ok((array, problem)) => {
                node.content = Some(Content::Array(array));
                node.problem = problem;
            }
            Err(error) => node.problem = Some(error),
        }
        if let (Some(Content::Array(array)), false) = (&node.content, self.is_recorded(variable)) {
            let bytes = array.facts().bytes_stored.unwrap_or(0);
            node.span = Some(variable.begin..variable.begin.saturating_add(bytes));
        }
        if variable.kind == Type::Char {
            // What is given are texts already.
            let all = std::mem::take(&mut node.attributes);
            (node.reserved, node.attributes) = all.into_iter().partition(|(name, _)| name == "_Encoding");
        }
        if stored_type(variable) != variable.kind.dtype() {
            node.remarks.push(cf::UNSIGNED.to_owned());
        }
        node
    }

    fn content(&self, variable: &Variable) -> Result<(Arc<dyn Array>, Option<Error>)> {
        let place = self.place(variable)?;
        let names = self.dimensions(variable, &place);
        let shape = place.shape.get(..names.len()).unwrap_or_default();
        let described = cf::describe(
            cf::Variable {
                name: &variable.name,
                attributes: &variable.attributes,
                dtype: &if variable.kind == Type::Char { DType::Bytes(1) } else { stored_type(variable) },
                dimensions: &names,
                shape,
            },
            &|name| self.found(name),
        );
        let mut facts = ArrayFacts::default();
        described.add_to(&mut facts);
        Ok((self.array(variable, &place, facts)?, place.problem))
    }
}

/// The type of a variable's elements.
fn stored_type(variable: &Variable) -> DType {
    cf::stored_type(&variable.attributes, &variable.kind.dtype())
}

/// How many of `rows` rows of `row` bytes, `step` apart, lie within `len` bytes. The padding after the last
/// one need not be there.
fn rows_within(len: u64, rows: u64, row: u64, step: u64) -> u64 {
    if row == 0 || rows == 0 {
        return rows;
    }
    match len.checked_sub(row) {
        None => 0,
        Some(left) => (left.checked_div(step).unwrap_or(0) + 1).min(rows),
    }
}

#[cfg(test)]
mod tests;
