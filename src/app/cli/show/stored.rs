//! `gander show --where` and `--byte`: where in the file a value lies, and what a byte belongs to.

use super::Out;
use gander::bytes::display;
use gander::bytes::source::{Packed, Source};
use gander::data::content::Content;
use gander::data::location::{self, BytePlace, Location};
use gander::data::node::Node;
use gander::{Document, Error, Task};
use serde_json::{Value as Json, json};
use std::ops::Range;
use std::sync::Arc;

/// What is asked for.
pub(super) enum Place {
    Cell(u64, usize),
    Element(Vec<u64>),
    Attribute(String),
    Node,
    Byte,
}

impl Place {
    /// The place that a text names in a node.
    ///
    /// # Errors
    /// What is to be said where it names none.
    pub(super) fn of(text: &str, node: &Node) -> Result<Place, String> {
        if text == "node" {
            return Ok(Place::Node);
        }
        if let Some(name) = text.strip_prefix('@') {
            let is_there = node.attributes.iter().any(|(own, _)| own == name);
            return match is_there {
                true => Ok(Place::Attribute(name.to_owned())),
                false => Err(format!("--where {text}: there is no such attribute")),
            };
        }
        let wrong = |what: &str| format!("--where {text}: {what}");
        match &node.content {
            Some(Content::Table(table)) => {
                let (row, column) = text.split_once(',').ok_or_else(|| wrong("a cell is ROW,COLUMN"))?;
                let row = row.trim().parse().map_err(|_| wrong("the row is a number, from 0 on"))?;
                let fields = table.schema().fields();
                let named = fields.iter().position(|field| field.name() == column);
                let numbered = column.trim().parse().ok().filter(|column| *column < fields.len());
                Ok(Place::Cell(row, named.or(numbered).ok_or_else(|| wrong("there is no such column"))?))
            }
            Some(Content::Array(array)) => {
                let index = text.split(',').map(str::trim).filter(|index| !index.is_empty());
                let index: Result<Vec<u64>, _> = index.map(str::parse).collect();
                let index = index.map_err(|_| wrong("an element is its indices with commas between them"))?;
                let shape = array.shape();
                let inside =
                    index.len() == shape.len() && index.iter().zip(shape).all(|(at, side)| at < side);
                match inside {
                    true => Ok(Place::Element(index)),
                    false => Err(wrong(&format!("the shape is {}", display::shape(shape)))),
                }
            }
            _ => Err(wrong("what is shown is no table and no array; `node` asks for all of it")),
        }
    }
}

/// An offset as it is typed.
///
/// # Errors
/// What is to be said where it is none.
pub(super) fn offset(text: &str) -> Result<u64, String> {
    let hex = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16));
    hex.unwrap_or_else(|| text.parse()).map_err(|_| format!("--byte {text}: it is no offset"))
}

/// Prints where it is.
///
/// # Errors
/// What reading gives; `Unsupported` where it is not told.
pub(super) fn show(
    task: &Task,
    (document, node): (&Document, &Arc<Node>),
    place: &Place,
    offset: u64,
    as_json: bool,
    out: &mut Out,
) -> Result<(), Error> {
    let found = match (place, &node.content) {
        (Place::Cell(row, column), Some(Content::Table(table))) => table.location(task, *row, *column)?,
        (Place::Element(index), Some(Content::Array(array))) => array.location(task, index)?,
        (Place::Attribute(name), _) => match &node.places {
            Some(places) => places.attribute(task, name)?,
            None => None,
        },
        (Place::Byte, _) => return owner(task, (document, node), offset, as_json, out),
        _ => match &node.places {
            Some(places) => places.location(task)?,
            None => None,
        },
    };
    let location =
        found.ok_or_else(|| Error::unsupported("where this lies in the file is not told by its format"))?;
    out.put(&if as_json { format!("{}\n", whole(&location)) } else { text(&location) });
    Ok(())
}

fn owner(
    task: &Task,
    (document, node): (&Document, &Arc<Node>),
    offset: u64,
    as_json: bool,
    out: &mut Out,
) -> Result<(), Error> {
    if document.source.is_folder() {
        return Err(Error::unsupported("a byte of a folder: name a file in it"));
    }
    let found = location::find(task, node, &BytePlace::new(&document.source, offset))?;
    let Some(found) = found else {
        let words = format!("byte {offset}: it belongs to no value that the layout tells of");
        return Err(Error::unsupported(words));
    };
    let unit = found.owner.as_ref().map(|owner| &owner.unit).or(found.whole.as_ref());
    let (cell, element, exact) = match &found.owner {
        Some(owner) => (owner.cell, owner.element.clone(), owner.exact),
        None => (None, None, false),
    };
    if as_json {
        let (row, column) = (cell.map(|cell| cell.0), cell.and_then(|cell| cell.1));
        let json = json!({
            "byte": offset, "path": found.path, "row": row, "column": column, "element": element, "exact": exact,
            "unit": unit.map(whole),
        });
        out.put(&format!("{json}\n"));
        return Ok(());
    }
    let of = if exact { "" } else { ", or one behind it in its unit" };
    let mut lines = format!("byte: {offset} (0x{offset:x})\n");
    if !found.path.is_empty() {
        lines.push_str(&format!("node: {}\n", found.path));
    }
    if let Some((row, column)) = cell {
        let name = match (&found.node.content, column) {
            (Some(Content::Table(table)), Some(column)) => {
                table.schema().fields().get(column).map(|f| f.name().clone())
            }
            _ => None,
        };
        let column = name.map_or_else(String::new, |name| format!(", column {name:?}"));
        lines.push_str(&format!("cell: row {row}{column}{of}\n"));
    }
    if let Some(element) = element {
        lines.push_str(&format!("element: {element:?}{of}\n"));
    }
    out.put(&lines);
    out.put(&unit.map_or_else(String::new, text));
    Ok(())
}

/// What a source is called: its path, or its name where it lies in another one.
fn file(source: &Source) -> String {
    source.path().map_or_else(|| source.name().to_owned(), |path| path.display().to_string())
}

fn bytes(range: &Range<u64>) -> String {
    let len = range.end.saturating_sub(range.start);
    format!("{} to {} ({})", range.start, range.end, display::plural(len, "byte"))
}

/// For people.
fn text(location: &Location) -> String {
    let (source, range) = location.base(location.range.clone());
    let mut out = format!("file: {}\n", file(&source));
    let mut outer = location.outer();
    while let Some(Packed { source, range, codec }) = outer {
        let (base, range) = source.base(range);
        out.push_str(&format!("  decompressed ({codec}) from bytes {} of {}\n", bytes(&range), file(&base)));
        outer = base.origin();
    }
    let name = if location.name.is_empty() { String::new() } else { format!(" ({})", location.name) };
    out.push_str(&format!("{}{name}: {}\n", location.unit, bytes(&range)));
    if !location.codecs.is_empty() {
        out.push_str(&format!("codecs: {}\n", location.codecs.join(", ")));
    }
    if let Some(encoding) = location.encoding.as_ref().filter(|encoding| !encoding.is_empty()) {
        out.push_str(&format!("encoding: {encoding}\n"));
    }
    value("value", location, &mut out);
    for part in &location.parts {
        if part.location.is_beside(location) {
            value(part.what, &part.location, &mut out);
            continue;
        }
        let inner = text(&part.location);
        if part.what != part.location.unit {
            out.push_str(&format!("{}:\n", part.what));
        }
        inner
            .lines()
            .filter(|line| !line.starts_with("file: "))
            .for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    out
}

/// Where in its unit a value stands, which is called `what`.
fn value(what: &str, location: &Location, out: &mut String) {
    match (&location.within, location.exact()) {
        (_, Some(exact)) => out.push_str(&format!("{what}: {}\n", bytes(&location.base(exact).1))),
        (Some(within), None) => {
            out.push_str(&format!("{what}: {} of the decoded {}\n", bytes(&within.bytes), location.unit));
        }
        (None, None) if location.absent => out.push_str("value: no bytes of its own (null or fill value)\n"),
        (None, None) => {}
    }
    if let Some(bits) = location.within.as_ref().and_then(|within| within.bits.as_ref()) {
        out.push_str(&format!("bits: {} to {} of these bytes, the lowest first\n", bits.start, bits.end));
    }
}

/// For programs: as `CLI.md` says.
fn whole(location: &Location) -> Json {
    let (source, range) = location.base(location.range.clone());
    let span = |range: &Range<u64>| json!({ "offset": range.start, "length": range.end.saturating_sub(range.start) });
    let within = location.within.as_ref().map(|within| {
        let bits = within.bits.as_ref().map(|bits| [bits.start, bits.end]);
        json!({ "offset": within.bytes.start, "length": within.bytes.end - within.bytes.start, "bits": bits })
    });
    let outer = location.outer().map(|packed| {
        let (base, range) = packed.source.base(packed.range);
        json!({ "file": file(&base), "offset": range.start, "length": range.end - range.start, "codec": packed.codec })
    });
    let parts: Vec<Json> = location
        .parts
        .iter()
        .map(|part| {
            let mut inner = whole(&part.location);
            if let Some(object) = inner.as_object_mut() {
                object.insert("what".to_owned(), part.what.into());
            }
            inner
        })
        .collect();
    json!({
        "file": file(&source), "offset": range.start, "length": range.end.saturating_sub(range.start),
        "unit": location.unit, "name": location.name, "codecs": location.codecs, "encoding": location.encoding,
        "within": within, "value": location.exact().map(|exact| span(&location.base(exact).1)),
        "absent": location.absent, "outer": outer, "parts": parts,
    })
}
