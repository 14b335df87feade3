//! safetensors: eight bytes that give the length of a header, the header — a JSON object that names each
//! tensor's type, shape and place — and the elements, little-endian, without gaps.
//! <https://github.com/huggingface/safetensors#format>
//!
//! Opening reads the header only; tensors are slices of the file. A model that is cut into shards
//! (`model-00001-of-00003.safetensors` and an index beside them) opens as one model from any of its files
//! and from its folder ([`Shards`]). Names with dots make a tree of [`modules`]. What quantised weights stand for lies
//! beside them ([`quantised`]).

mod header;
mod quantised;
mod types;
pub mod write;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::content::array::Plain;
use crate::data::content::{Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::modules::{self, Leaf};
use crate::engines::shards::{Shard, Shards};
use quantised::Part;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor: one file, or any file of a sharded model.
pub static FORMAT: Format = Format {
    targets: &[Target::new("safetensors", "safetensors", &["safetensors"], &write::WRITER)],
    extensions: &["safetensors", "safetensors.index.json"],
    sniff: Some(sniff),
    reads: &[Kind::Array],
    holds_weights: true,
    ..Format::new("safetensors", "safetensors", open)
};

/// The descriptor of a folder that holds one sharded model.
pub static SHARDED: Format = Format {
    extensions: &[],
    sniff: Some(|head| SHARDS.sniff_folder(head)),
    reads: &[Kind::Array],
    holds_weights: true,
    ..Format::new("safetensors_sharded", "Sharded safetensors model", |opening| {
        SHARDS.open_folder(opening, crate::formats::ALL)
    })
};

/// How shards are called, and what they hold.
static SHARDS: Shards<Part> = Shards {
    end: ".safetensors",
    read: |task, source| {
        let header = header::read(task, source)?;
        let tensor = |entry| Part::Stored(Tensor { entry, file: Some(source.clone()), is_shard: true });
        let tensors = header.tensors.into_iter().map(tensor).collect();
        Ok(Shard { tensors, metadata: header.metadata, problems: header.problems, report: None })
    },
    absent: |name, problem| {
        let entry = Entry { name, what: What::Nothing, problem: Some(problem) };
        Part::Stored(Tensor { entry, file: None, is_shard: true })
    },
    derived: quantised::derived,
};

/// A length that fits the file, then an object whose first key begins; or an index of such files.
fn sniff(head: &Head) -> Match {
    if head.is_folder {
        return Match::No;
    }
    if SHARDS.is_index(&head.name) && head.first.trim_ascii_start().starts_with(b"{") {
        return Match::Yes;
    }
    let Some((length, rest)) = head.first.split_first_chunk::<8>() else { return Match::Maybe };
    let length = u64::from_le_bytes(*length);
    let fits = (2..=limits::HEADER).contains(&length)
        && head.len.is_none_or(|len| length.checked_add(8).is_some_and(|end| end <= len));
    let object = rest.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    match object.and_then(<[u8]>::first) {
        Some(b'"' | b'}') if fits => Match::Yes,
        _ => Match::Maybe,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    if SHARDS.is_index(source.name()) {
        return SHARDS.open_index(task, source);
    }
    if let Some(node) = SHARDS.open_shard(task, source)? {
        return Ok(node);
    }
    let mut header = header::read(task, source)?;
    let tensors = std::mem::take(&mut header.tensors);
    let stored = |entry| Part::Stored(Tensor { entry, file: Some(source.clone()), is_shard: false });
    let mut leaves: Vec<Part> = tensors.into_iter().map(stored).collect();
    let mut root = Node::new("", "file").separator("");
    root.attributes.extend(header.metadata.into_iter().map(|(name, value)| (name, value.into())));
    blame(&mut root, header.problems);
    leaves.extend(quantised::derived(task, &leaves, &root.attributes)?);
    Ok(modules::tree(root, leaves, Vec::new()))
}

/// The first problem becomes the node's, the others remarks.
fn blame(node: &mut Node, problems: Vec<Error>) {
    for problem in problems {
        match &node.problem {
            None => node.problem = Some(problem),
            Some(_) => node.remarks.push(problem.message()),
        }
    }
}

/// What an entry of the header stands for.
#[derive(Clone, Debug)]
enum What {
    /// A tensor at its place in the file.
    Array { dtype: DType, shape: Vec<u64>, span: Range<u64> },
    /// A tensor of a type that is not known.
    Bytes { span: Range<u64> },
    /// Nothing that can be shown.
    Nothing,
}

/// An entry of the header.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    what: What,
    problem: Option<Error>,
}

/// A tensor of a model of one or more files.
struct Tensor {
    entry: Entry,
    /// The file that it lies in.
    file: Option<Source>,
    /// Whether that is one of several.
    is_shard: bool,
}

impl Tensor {
    fn content(&self) -> Result<Option<Content>> {
        let Some(source) = &self.file else { return Ok(None) };
        Ok(match &self.entry.what {
            What::Array { dtype, shape, span } => {
                let mut plain = Plain::new(source.clone(), span.start, dtype.clone(), shape.clone())?;
                if self.is_shard {
                    plain = plain.detail("file", source.name());
                }
                let plain = plain.detail("bytes in the file", format!("{} to {}", span.start, span.end));
                Some(Content::Array(Arc::new(plain)))
            }
            What::Bytes { span } if span.start < span.end => {
                Some(Content::Bytes(source.member(self.entry.name.as_str(), span.clone())?))
            }
            What::Bytes { .. } | What::Nothing => None,
        })
    }
}

impl Leaf for Tensor {
    fn name(&self) -> &str {
        &self.entry.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, "tensor");
        node.problem.clone_from(&self.entry.problem);
        if !self.is_shard
            && let What::Array { span, .. } | What::Bytes { span } = &self.entry.what
        {
            node.span = Some(span.clone());
        }
        match self.content() {
            Ok(content) => node.content = content,
            Err(error) => {
                node.problem.get_or_insert(error);
            }
        }
        node
    }
}

#[cfg(test)]
mod tests;
