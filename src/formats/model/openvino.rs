//! OpenVINO's intermediate representation: a model as XML — layers with ports, edges between them — and beside it a file of the same
//! name (`.bin`) with the values of the constants. Versions 10 and 11, and those before, whose layers have blobs of their own.
//! <https://docs.openvino.ai/2025/documentation/openvino-ir-format.html>
//!
//! Constants are slices of that file; layers with bodies (loops, branches) hold graphs. Without the file the graph is there
//! all the same.

mod read;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::modules::{self, Leaf};
use crate::engines::xml::{self, Element, LONGEST};
use memchr::memmem::find;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["xml"],
    sniff: Some(sniff),
    reads: &[Kind::Graph, Kind::Array],
    holds_weights: true,
    ..Format::new("openvino", "OpenVINO IR", open)
};

/// XML whose root element is a net of layers.
fn sniff(head: &Head) -> Match {
    if head.is_folder || !head.is_text() {
        return Match::No;
    }
    let is_net = xml::root_name(&xml::decoded(&head.first)) == Some("net");
    let has_layers = find(&head.first, b"<layers").is_some();
    if is_net && has_layers { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let len = limits::check(source.len(task)?, LONGEST, "a model's XML")?;
    let bytes = source.read_up_to(task, 0, len)?;
    let found = xml::parse(task, &xml::decoded(&bytes))?;
    let Some(net) = found.root else {
        return Err(found.problem.unwrap_or_else(|| Error::malformed("XML: there is no element")));
    };
    let mut root = Node::new("", "net").separator("");
    describe(&mut root, &net);
    let values = values(task, source, &mut root)?;
    let drawn = read::net(task, &net)?;
    let problem = found.problem.or(drawn.problem);
    if problem.is_some() {
        root.problem = problem;
    }
    root.content = Some(Content::Graph(Arc::new(drawn.graph)));
    let constant = |constant| Stored { constant, values: values.clone() };
    let leaves: Vec<Stored> = drawn.constants.into_iter().map(constant).collect();
    if leaves.is_empty() {
        return Ok(root);
    }
    Ok(modules::tree(root, leaves, Vec::new()))
}

/// The attributes of the net, and what its runtime information says in a word.
fn describe(root: &mut Node, net: &Element) {
    root.attributes =
        net.attributes.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    for info in
        net.child("rt_info").or_else(|| net.child("meta_data")).into_iter().flat_map(|info| &info.children)
    {
        // The latest writers give the name as an attribute.
        let name = info.attribute("name").unwrap_or(&info.name);
        if let Some(value) = info.attribute("value") {
            root.attributes.push((name.to_owned(), value.into()));
        }
        for inner in &info.children {
            if let Some(value) = inner.attribute("value") {
                let inner = inner.attribute("name").unwrap_or(&inner.name);
                root.attributes.push((format!("{name}.{inner}"), value.into()));
            }
        }
    }
}

/// The file of values beside a model; a remark where there is none.
fn values(task: &Task, source: &Source, root: &mut Node) -> Result<Option<Source>> {
    let stem = source.name().rsplit_once('.').map_or(source.name(), |(stem, _)| stem);
    let name = format!("{stem}.bin");
    if source.path().is_some()
        && let Ok(file) = source.sibling(task, &name).unless_cancelled()?
        && !file.is_folder()
    {
        return Ok(Some(file));
    }
    root.remarks.push(format!("{name}, which has the values of the constants, does not lie beside it"));
    Ok(None)
}

/// A constant of a model.
#[derive(Clone, Debug)]
struct Constant {
    name: String,
    /// Its type, and the word for it.
    dtype: Option<DType>,
    word: String,
    shape: Vec<u64>,
    offset: u64,
    size: u64,
}

/// A constant with the file of its values.
struct Stored {
    constant: Constant,
    values: Option<Source>,
}

impl Stored {
    fn content(&self, values: &Source) -> Result<Content> {
        let constant = &self.constant;
        let Some(dtype) = &constant.dtype else {
            let end = constant.offset.checked_add(constant.size);
            let end = end.ok_or_else(|| Error::malformed("its bytes end beyond 64 bits"))?;
            return Ok(Content::Bytes(values.member(&constant.name, constant.offset..end)?));
        };
        let bytes = limits::bytes(&constant.shape, dtype.size())?;
        if bytes != constant.size {
            let what = format!("{} bytes are stored, its shape and type take {bytes}", constant.size);
            return Err(Error::malformed(what));
        }
        let plain = Plain::new(values.clone(), constant.offset, dtype.clone(), constant.shape.clone())?;
        Ok(Content::Array(Arc::new(plain.detail("file", values.name()))))
    }
}

impl Leaf for Stored {
    fn name(&self) -> &str {
        &self.constant.name
    }

    fn node(&self, name: &str) -> Node {
        let node = Node::new(name, "constant");
        let node = match (&self.constant.dtype, self.constant.shape.as_slice()) {
            (None, shape) => {
                node.read_as("type", self.constant.word.as_str()).read_as("shape", format!("{shape:?}"))
            }
            _ => node,
        };
        match self.values.as_ref().map(|values| self.content(values)) {
            None => node.remark("its values are not there"),
            Some(Ok(content)) => node.content(content),
            Some(Err(problem)) => node.problem(problem),
        }
    }
}
