//! Messages of Protocol Buffers whose schema nobody knows, as a tree of their fields: each by its number, with what its
//! wire type tells. Bytes are a text where they can be printed, a message where they read as one to their end, else what
//! they are by the one door.
//! <https://protobuf.dev/programming-guides/encoding/>

use crate::bytes::error::Result;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use crate::engines::protobuf::{Field, Part, Value};
use std::collections::HashMap;
use std::ops::Range;

/// The most fields of a message that become nodes.
const NODES: usize = 10_000;
/// The longest text that is a value, in bytes.
const TEXT: usize = 1 << 10;

/// Whether bytes read as a message to their end, its fields with numbers that people use.
pub fn is_message(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && Part::decoded(bytes).fields().all(|field| field.is_ok_and(|field| field.number <= 1 << 15))
}

/// The message in `span` of `source` as a node with its fields below it.
///
/// # Errors
/// `Cancelled`; failures to read; `Malformed` where it is no message.
pub fn message(
    task: &Task,
    formats: Formats,
    name: &str,
    label: &'static str,
    source: &Source,
    span: Range<u64>,
) -> Result<Node> {
    limits::check(span.end.saturating_sub(span.start), limits::CHUNK, "a message")?;
    let bytes = source.read(task, span.clone())?;
    let mut fields = Vec::new();
    for field in Part::new(&bytes, span.start).fields().take(NODES + 1) {
        fields.push(field?);
    }
    let more = fields.len() > NODES;
    fields.truncate(NODES);
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for field in &fields {
        *counts.entry(field.number).or_default() += 1;
    }
    let mut met: HashMap<u32, usize> = HashMap::new();
    let mut children = Vec::new();
    for field in fields {
        task.check()?;
        let nth = met.entry(field.number).or_default();
        let name = match counts.get(&field.number) {
            Some(1) => field.number.to_string(),
            _ => format!("{}[{nth}]", field.number),
        };
        *nth += 1;
        children.push(node(formats, &name, source, &field));
    }
    let node = Node::new(name, label).listed(children);
    Ok(if more { node.remark(format!("only the first {NODES} fields are shown")) } else { node })
}

fn node(formats: Formats, name: &str, source: &Source, field: &Field) -> Node {
    match field.value {
        Value::Varint(value) => {
            let signed = value.cast_signed();
            let text = if signed < 0 { format!("{value} ({signed})") } else { value.to_string() };
            Node::new(name, "varint").value(text)
        }
        Value::Fixed64(bytes) => {
            let (float, integer) = (f64::from_le_bytes(bytes), i64::from_le_bytes(bytes));
            Node::new(name, "fixed64").value(format!("{} ({integer})", cell::float64(float)))
        }
        Value::Fixed32(bytes) => {
            let (float, integer) = (f32::from_le_bytes(bytes), i32::from_le_bytes(bytes));
            Node::new(name, "fixed32").value(format!("{} ({integer})", cell::float32(float)))
        }
        Value::Group(part) => inner(formats, name, "group", source, part.span()),
        Value::Bytes(part) => bytes(formats, name, source, part),
    }
}

fn inner(formats: Formats, name: &str, label: &'static str, source: &Source, span: Range<u64>) -> Node {
    let (source, own, place) = (source.clone(), name.to_owned(), span.clone());
    let is_placed = source.path().is_some();
    let node =
        Node::deferred(name, label, move |task| message(task, formats, &own, label, &source, place.clone()));
    if is_placed { node.span(span) } else { node }
}

fn bytes(formats: Formats, name: &str, source: &Source, part: Part) -> Node {
    let bytes = part.bytes();
    let strange = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains(strange));
    match text {
        Some(text) if bytes.len() <= TEXT => Node::new(name, "bytes").value(text),
        None if is_message(bytes) => inner(formats, name, "message", source, part.span()),
        _ => {
            let (source, span, member) = (source.clone(), part.span(), name.to_owned());
            let make = move |_: &Task| source.member(member.as_str(), span.clone());
            formats.nested(name, "bytes", Options::default(), make)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn fields_are_told_by_their_wire_types() {
        // 1: 150; 2: "testing"; 3: {1: 150}; 4: 1.5 as a double; 5: 1.5 as a float; 1: -1; 6: bytes.
        let mut bytes = b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01".to_vec();
        bytes.push(0x21);
        bytes.extend(1.5f64.to_le_bytes());
        bytes.push(0x2d);
        bytes.extend(1.5f32.to_le_bytes());
        bytes.extend(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x32\x02\xff\x00");
        let task = Task::new();
        let source = Source::memory("m", bytes.clone());
        let end = bytes.len() as u64;
        let root = message(&task, crate::formats::ALL, "m", "message", &source, 0..end).unwrap();
        let root = Arc::new(root);
        let value = |path: &str| root.find(&task, path).unwrap().unwrap().value.clone().unwrap_or_default();
        assert_eq!(
            ["/1[0]", "/1[1]", "/2", "/3/1", "/4", "/5"].map(value),
            [
                "150",
                "18446744073709551615 (-1)",
                "testing",
                "150",
                "1.5 (4609434218613702656)",
                "1.5 (1069547520)"
            ]
        );
        assert_eq!(root.find(&task, "/6").unwrap().unwrap().kind().word(), "bytes");
        assert!(message(&task, crate::formats::ALL, "m", "message", &source, 0..5).is_err());
    }
}
