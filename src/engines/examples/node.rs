//! A record as a node: its features, each as what it is.

use super::wire::{self, Feature, Kind, Named};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use crate::engines::protobuf::Part;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most features of a record, and features of a list, that become nodes.
const NODES: usize = 10_000;
/// The longest text that is a value, in bytes; longer ones, and documents, are opened.
const TEXT: usize = 256;

/// The record `part`, whose bytes are those of `source`, with a child for each feature: numbers are arrays, bytes what
/// they are by the one door.
///
/// # Errors
/// `Malformed` where it is no such message.
pub fn record_node(task: &Task, formats: Formats, name: &str, source: &Source, part: Part) -> Result<Node> {
    let mut found: BTreeMap<(String, bool), Part> = BTreeMap::new();
    let mut left = false;
    wire::features(part, |named| {
        let key = (String::from_utf8_lossy(named.name).into_owned(), named.is_list);
        left |= found.len() >= NODES && !found.contains_key(&key);
        if !left {
            // Of those of one name the last one counts.
            found.insert(key, named.part);
        }
        Ok(())
    })?;
    let mut children = Vec::new();
    for ((name, is_list), part) in found {
        task.check()?;
        let named = Named { name: name.as_bytes(), is_list, part };
        children.push(match child(task, formats, &name, source, &named).unless_cancelled()? {
            Ok(node) => node,
            Err(error) => Node::new(name, "feature").problem(error),
        });
    }
    children.sort_by(|a, b| crate::bytes::display::natural_order(&a.name, &b.name));
    let node = Node::new(name, "record").listed(children);
    Ok(if left { node.remark(format!("only the first {NODES} features are shown")) } else { node })
}

fn child(task: &Task, formats: Formats, name: &str, source: &Source, named: &Named) -> Result<Node> {
    if !named.is_list {
        return feature(formats, name, "feature", source, &Feature::parse(named.part)?);
    }
    let mut steps = Vec::new();
    for (n, part) in wire::listed(named.part).enumerate().take(NODES) {
        task.check()?;
        steps.push(feature(formats, &n.to_string(), "feature", source, &Feature::parse(part?)?)?);
    }
    let node = Node::new(name, "feature list").listed(steps);
    let more = wire::listed(named.part).nth(NODES).is_some();
    Ok(if more { node.remark(format!("only the first {NODES} steps are shown")) } else { node })
}

/// A feature as a node.
fn feature(
    formats: Formats,
    name: &str,
    label: &'static str,
    source: &Source,
    feature: &Feature,
) -> Result<Node> {
    let count = feature.count()?;
    limits::check(count.saturating_mul(8), limits::CHUNK, "a feature")?;
    match feature.kind {
        None => Ok(Node::new(name, label).value("unset")),
        Some(Kind::Int64) => {
            let (mut bytes, mut only) = (Vec::new(), 0);
            feature.integers(|value| {
                only = value;
                bytes.extend(value.to_le_bytes());
            })?;
            let only = (count == 1).then(|| only.to_string());
            numbers(Node::new(name, label), bytes, DType::I64, count, only)
        }
        Some(Kind::Float) => {
            let (mut bytes, mut only) = (Vec::new(), 0.0);
            feature.floats(|value| {
                only = value;
                bytes.extend(value.to_le_bytes());
            })?;
            let only = (count == 1).then(|| crate::data::cell::float32(only));
            numbers(Node::new(name, label), bytes, DType::F32, count, only)
        }
        Some(Kind::Bytes) => {
            let mut values: Vec<Part> = Vec::new();
            feature.bytes(|part| {
                if values.len() < NODES {
                    values.push(part);
                }
            })?;
            if let [only] = values.as_slice() {
                return Ok(payload(formats, name, label, source, *only));
            }
            let each = |(n, part): (usize, &Part)| payload(formats, &n.to_string(), "value", source, *part);
            let node = Node::new(name, label).listed(values.iter().enumerate().map(each).collect());
            let more = count > NODES as u64;
            Ok(if more { node.remark(format!("only the first {NODES} values are shown")) } else { node })
        }
    }
}

/// One number as a value, several as an array.
fn numbers(node: Node, bytes: Vec<u8>, dtype: DType, count: u64, only: Option<String>) -> Result<Node> {
    if let Some(value) = only {
        return Ok(node.value(value));
    }
    let array = Plain::new(Source::memory(node.name.as_str(), bytes), 0, dtype, vec![count])?;
    Ok(node.content(Content::Array(Arc::new(array))))
}

/// Bytes: a short text as a value, all else as what it is, opened when somebody looks.
fn payload(formats: Formats, name: &str, label: &'static str, source: &Source, part: Part) -> Node {
    let bytes = part.bytes();
    let is_document = matches!(bytes.first(), Some(b'{' | b'[' | b'<'));
    if bytes.len() <= TEXT && !is_document && super::survey::is_printable(bytes) {
        return Node::new(name, label).value(String::from_utf8_lossy(bytes));
    }
    let is_file = source.path().is_some();
    let (source, span, member) = (source.clone(), part.span(), name.to_owned());
    let node = formats.nested(name, label, Options::default(), move |_| {
        if span.is_empty() {
            return Err(Error::malformed("feature: it has no bytes"));
        }
        source.member(member.as_str(), span.clone())
    });
    if is_file { node.span(part.span()) } else { node }
}
