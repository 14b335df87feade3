//! FITS, the format of astronomy: header-data units (HDUs) of 2880-byte blocks — images of up to 999
//! dimensions, tables in ASCII or binary, and images compressed in tiles, which are tables outside.
//! <https://fits.gsfc.nasa.gov/fits_standard.html>.
//!
//! Numbers are big-endian and the first axis is the fastest: shapes are given the other way round, as NumPy
//! and Astropy do. Integers without a sign are stored with an offset, and are given as what they are.

mod ascii;
mod binary;
mod column;
mod hcompress;
mod header;
mod image;
mod plio;
mod rice;
mod rows;
mod sky;
mod tiles;
mod wcs;
mod write;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Children, Listing, Node};
use crate::data::sniff::Magic;
use header::{BLOCK, Header};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["fits", "fit", "fts", "fz"],
    mime: &["application/fits", "image/fits"],
    magic: &[Magic::at(0, b"SIMPLE  =")],
    reads: &[Kind::Array, Kind::Table],
    targets: &[Target::new("fits", "FITS", &["fits", "fit", "fts"], &write::WRITER)],
    ..Format::new("fits", "FITS", open)
};

/// In a compressed file, units beyond this byte are looked for when somebody lists them.
const NEAR: u64 = 32 << 20;
/// Data of up to this many bytes are checked against their checksum when the file is opened.
const CHECKED: u64 = 256 << 10;

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let units = Units { source: source.clone(), state: Mutex::new(State::default()) };
    let mut state = State::default();
    let most = if source.is_random_access() { u64::MAX } else { NEAR };
    units.walk(task, &mut state, u64::MAX, most)?;
    if state.done {
        let mut nodes = state.nodes;
        let problem = state.problem;
        if nodes.is_empty() {
            return Err(problem.unwrap_or_else(|| Error::malformed("FITS: there is nothing in it")));
        }
        if nodes.len() == 1 {
            let mut root = (*nodes.remove(0)).clone();
            if root.problem.is_none() {
                root.problem = problem;
            }
            return Ok(root);
        }
        let mut root = Node::new("", "file");
        root.problem = problem;
        root.children = Children::Listed(Arc::new(nodes));
        return Ok(root);
    }
    *units.state.lock() = state;
    Ok(Node::new("", "file").lazy(units))
}

/// The units of a file, found one after the other.
struct Units {
    source: Source,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    nodes: Vec<Arc<Node>>,
    names: std::collections::HashMap<String, u32>,
    /// Where the next unit begins.
    next: u64,
    done: bool,
    problem: Option<Error>,
}

impl Units {
    /// Goes on until `count` units are known or the next one begins beyond byte `most`.
    fn walk(&self, task: &Task, state: &mut State, count: u64, most: u64) -> Result<()> {
        while !state.done && (state.nodes.len() as u64) < count && state.next <= most {
            task.check()?;
            if state.nodes.len() as u64 >= limits::LISTED {
                state.problem = Some(Error::limit(format!("more than {} units", limits::LISTED)));
                state.done = true;
                break;
            }
            let at = state.next;
            let head = self.source.read_up_to(task, at, 80)?;
            let known = head.starts_with(b"XTENSION") || head.starts_with(b"SIMPLE  =");
            if !known {
                state.done = true;
                // The standard allows anything behind the last unit; padding is nothing to speak of.
                let blank = head.iter().all(|b| *b == 0 || *b == b' ');
                if state.nodes.is_empty() || !blank {
                    let what = if state.nodes.is_empty() { "it begins" } else { "something follows" };
                    let what = format!("FITS: {what} that is no header");
                    state.problem = Some(Error::malformed(what).at(at));
                }
                break;
            }
            match unit(task, &self.source, at, state.nodes.len()).unless_cancelled()? {
                Ok((mut node, next)) => {
                    let times = state.names.entry(node.name.clone()).or_insert(0);
                    *times += 1;
                    if *times > 1 {
                        node.name = format!("{} ({times})", node.name);
                    }
                    if self.source.known_len().is_some_and(|len| next > len) {
                        state.done = true;
                    }
                    state.nodes.push(Arc::new(node));
                    state.next = next;
                }
                Err(error) => {
                    state.problem = Some(error);
                    state.done = true;
                }
            }
        }
        Ok(())
    }
}

impl Listing for Units {
    fn count(&self) -> Option<u64> {
        let state = self.state.lock();
        state.done.then_some(state.nodes.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let mut state = self.state.lock();
        self.walk(task, &mut state, range.end, u64::MAX)?;
        let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(state.nodes.len());
        let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
        match state.nodes.get(start..end) {
            Some([]) | None => state.problem.clone().filter(|_| range.start == 0).map_or(Ok(Vec::new()), Err),
            Some(nodes) => Ok(nodes.to_vec()),
        }
    }
}

/// The unit at `at`, the n-th of its file, and where the next one begins.
fn unit(task: &Task, source: &Source, at: u64, n: usize) -> Result<(Node, u64)> {
    let header = Header::read(task, source, at)?;
    let kind = header.text("XTENSION").map_or("", str::trim);
    let bytes = size(&header, kind)?;
    let end = header.data.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(BLOCK));
    let end = end.ok_or_else(|| Error::malformed("header: its data would end beyond 64 bits").at(at))?;
    let name = match header.text("EXTNAME") {
        Some(name) => name.trim().to_owned(),
        None if n == 0 => "PRIMARY".to_owned(),
        None => format!("HDU {n}"),
    };
    let label = match kind {
        "" if header.is_true("GROUPS") && header.integer("NAXIS1") == Some(0) => "random groups",
        "" => "primary",
        "IMAGE" | "IUEIMAGE" => "image",
        "TABLE" => "table",
        "BINTABLE" | "A3DTABLE" if header.is_true("ZIMAGE") => "compressed image",
        "BINTABLE" | "A3DTABLE" => "binary table",
        _ => "extension",
    };
    let mut node = Node::new(name, label);
    node.attributes = header.attributes();
    node.remarks.clone_from(&header.remarks);
    let filled = match label {
        "primary" | "image" => image::fill(source, &header, bytes, &mut node),
        "random groups" => image::groups(source, &header, &mut node),
        "table" => ascii::fill(source, &header, bytes, &mut node),
        "binary table" => binary::fill(source, &header, bytes, &mut node),
        "compressed image" => tiles::fill(source, &header, bytes, &mut node),
        _ => {
            node.remarks.push(format!("an extension of type {kind:?}, which is not known"));
            image::bytes(source, &header, bytes, &mut node)
        }
    };
    if let Err(error) = filled.unless_cancelled()? {
        node.problem = Some(error);
    }
    if bytes > 0 {
        node.span = Some(header.data..header.data.saturating_add(bytes));
    }
    checksum(task, source, &header, at..end, &mut node)?;
    Ok((node, end))
}

/// Bytes of a unit's data: |BITPIX| / 8 × GCOUNT × (PCOUNT + product of the axes).
fn size(header: &Header, kind: &str) -> Result<u64> {
    let bits = header.integer("BITPIX").unwrap_or(8);
    let (axes, groups) = (header.count("NAXIS", 0)?, kind.is_empty() && header.is_true("GROUPS"));
    if axes > 999 {
        return Err(
            Error::malformed(format!("header: NAXIS is {axes}; there are at most 999")).at(header.data)
        );
    }
    if axes == 0 {
        return Ok(0);
    }
    let mut sides = Vec::new();
    for n in 1..=axes {
        let side = header.count(&format!("NAXIS{n}"), 0)?;
        if !(groups && n == 1 && side == 0) {
            sides.push(side);
        }
    }
    let (parameters, count) = match kind.is_empty() && !groups {
        true => (0, 1),
        false => (header.count("PCOUNT", 0)?, header.count("GCOUNT", 1)?),
    };
    let elements = limits::elements(&sides).map_err(|e| e.at(header.data))?.checked_add(parameters);
    let bytes =
        elements.and_then(|n| n.checked_mul(count)).and_then(|n| n.checked_mul(bits.unsigned_abs() / 8));
    bytes.ok_or_else(|| Error::malformed("header: the size of its data overflows 64 bits").at(header.data))
}

/// Compares short data with the checksums in their header; what does not hold is a remark.
fn checksum(task: &Task, source: &Source, header: &Header, unit: Range<u64>, node: &mut Node) -> Result<()> {
    let whole = unit.end - unit.start;
    let promised = header.text("DATASUM").and_then(|text| text.trim().parse::<u32>().ok());
    let checked = header.text("CHECKSUM").is_some();
    let there = source.known_len().is_none_or(|len| unit.end <= len);
    if whole > CHECKED || !there || (promised.is_none() && !checked) {
        return Ok(());
    }
    let bytes = source.read_up_to(task, unit.start, whole as usize)?;
    let data = bytes.get((header.data - unit.start) as usize..).unwrap_or_default();
    if promised.is_some_and(|sum| sum != ones(data)) {
        node.remarks.push(format!("DATASUM does not hold: the data sum up to {}", ones(data)));
    }
    // The sum of the whole unit, with the text of CHECKSUM in it, is minus zero.
    if checked && !matches!(ones(&bytes), 0 | u32::MAX) {
        node.remarks.push("CHECKSUM does not hold: header or data were changed".to_owned());
    }
    Ok(())
}

/// The sum of 32-bit words with the carry added at the low end.
fn ones(bytes: &[u8]) -> u32 {
    let words = bytes.as_chunks::<4>().0.iter().map(|b| u64::from(u32::from_be_bytes(*b)));
    let mut sum: u64 = words.sum();
    while sum > u64::from(u32::MAX) {
        sum = (sum & 0xffff_ffff) + (sum >> 32);
    }
    sum as u32
}

#[cfg(test)]
mod tests;
