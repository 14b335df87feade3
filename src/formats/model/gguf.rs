//! GGUF: the files of llama.cpp and what is built on ggml. Four bytes, a version, keys with typed values, the tensors'
//! names, shapes, types and places, and their elements, of which most are quantised in blocks.
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>
//!
//! Opening reads the header only. Of long lists (a vocabulary of 256,000 tokens) the place of every so-many-th item is
//! kept; the tokenizer is a table that reads by range. Tensors are slices of the file. A model that is split into files
//! (`model-00001-of-00003.gguf`) opens as one from any of them, and from their folder.

mod header;
mod metadata;
mod split;
mod value;
pub mod write;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::Magic;
use crate::engines::modules::{self, Leaf};
use header::{Entry, Header, What};
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["gguf"],
    magic: &[Magic::at(0, MAGIC)],
    reads: &[Kind::Array, Kind::Table],
    holds_weights: true,
    targets: &[Target::new("gguf", "GGUF", &["gguf"], &write::WRITER)],
    ..Format::new("gguf", "GGUF", open)
};

/// The descriptor of folders that hold one model in several files.
pub static SPLIT: Format = Format {
    extensions: &[],
    sniff: Some(split::sniff_folder),
    reads: &[Kind::Array, Kind::Table],
    holds_weights: true,
    ..Format::new("gguf_split", "Split GGUF model", split::open_folder)
};

/// How a file begins.
const MAGIC: &[u8] = b"GGUF";

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    if let Some(node) = split::open(task, source)? {
        return Ok(node);
    }
    let header = header::read(task, source)?;
    tree(task, Node::new("", "file"), vec![(source.clone(), header)], Vec::new())
}

/// The tree of a model of one file, or of several of which the first tells about all; `others` follow its tensors.
fn tree(task: &Task, mut root: Node, files: Vec<(Source, Header)>, others: Vec<Arc<Node>>) -> Result<Node> {
    if let Some((source, first)) = files.first() {
        metadata::describe(&mut root, source, first);
    }
    let mut after = Vec::new();
    if let Some((source, first)) = files.first() {
        after = metadata::nodes(task, source, first)?;
    }
    let sources: Arc<[Source]> = files.iter().map(|(source, _)| source.clone()).collect();
    let several = files.len() > 1;
    let mut leaves: Vec<Tensor> = Vec::new();
    let mut names = std::collections::HashSet::new();
    for (file, (source, header)) in files.into_iter().enumerate() {
        let place = |error: Error| if several { error.in_node(source.name()) } else { error };
        header.problems.into_iter().for_each(|problem| blame(&mut root, place(problem)));
        for entry in header.tensors {
            if !names.insert(entry.name.clone()) {
                let what = format!("header: the tensor {:?} is there twice; the first one holds", entry.name);
                blame(&mut root, place(Error::malformed(what)));
                continue;
            }
            leaves.push(Tensor { entry, file, big: header.big, files: sources.clone() });
        }
    }
    let broken = leaves.iter().filter(|leaf| leaf.entry.problem.is_some()).count() as u64;
    if let Some(first) = leaves.iter().find_map(|leaf| leaf.entry.problem.as_ref())
        && root.problem.is_none()
    {
        let count = crate::bytes::display::plural(broken, "tensor");
        let what = format!("header: {count} with problems; the first: {}", first.what());
        root.problem = Some(Error::malformed(what).at(first.offset().unwrap_or(0)));
    }
    after.extend(others);
    Ok(modules::tree(root, leaves, after))
}

/// The first problem becomes the node's, the others remarks.
fn blame(node: &mut Node, problem: Error) {
    match &node.problem {
        None => node.problem = Some(problem),
        Some(_) => node.remarks.push(problem.message()),
    }
}

/// A tensor of a model of one or more files.
struct Tensor {
    entry: Entry,
    /// Which of the files it lies in.
    file: usize,
    big: bool,
    files: Arc<[Source]>,
}

impl Leaf for Tensor {
    fn name(&self) -> &str {
        &self.entry.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, "tensor");
        node.problem.clone_from(&self.entry.problem);
        let What::Array { kind, shape, span } = &self.entry.what else { return node };
        let Some(source) = self.files.get(self.file) else { return node };
        let mut details = vec![("bytes in the file", format!("{} to {}", span.start, span.end))];
        if self.files.len() > 1 {
            details.insert(0, ("file", source.name().to_owned()));
        } else {
            node.span = Some(span.clone());
        }
        match kind.array(source, span.start, shape.clone(), self.big, &details) {
            Ok((array, missing)) => {
                node.content = Some(Content::Array(array));
                node.problem = node.problem.or(missing);
            }
            Err(error) => {
                node.problem.get_or_insert(error);
            }
        }
        node
    }
}

#[cfg(test)]
mod tests;
