//! The files of ggml before GGUF: *ggml* without a version (LLaMA's first, whisper.cpp's, GPT-2's, GPT-J's, GPT-NeoX's),
//! *GGMF*, *GGJT* 1 to 3 and adapters of LoRA (*GGLA*). A magic, hyperparameters, a vocabulary, then each tensor behind its
//! own header; in GGJT and GGLA tensors begin at multiples of 32. There is no word for the kind of model: what fits is
//! found by trying.
//! <https://github.com/ggml-org/llama.cpp/blob/dadbed9/llama.cpp> (`llama_file_loader`),
//! <https://github.com/ggml-org/whisper.cpp/blob/master/models/convert-pt-to-ggml.py>
//!
//! Blocks changed twice: neighbours lay in one byte until GGJT 1, and scales were float32 until GGJT 2.
//! <https://github.com/ggml-org/llama.cpp/pull/1405>, <https://github.com/ggml-org/llama.cpp/pull/1508>

mod layout;

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::data::content::{Content, Kind};
use crate::data::dtype::DType;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::Magic;
use crate::engines::ggml::{Type, Vocabulary};
use crate::engines::modules::{self, Leaf};
use layout::Model;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor. Most of these files are called `.bin`, as many others are.
pub static FORMAT: Format = Format {
    extensions: &["ggml"],
    magic: &[
        Magic::at(0, layout::GGML),
        Magic::at(0, layout::GGMF),
        Magic::at(0, layout::GGJT),
        Magic::at(0, layout::GGLA),
    ],
    reads: &[Kind::Array, Kind::Table],
    holds_weights: true,
    ..Format::new("ggml", "GGML", open)
};

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let model = layout::read(task, source)?;
    let mut root = Node::new("", "file").read_as("variant", model.variant);
    if let Some(version) = model.version {
        root.reader.push(("version".to_owned(), version.to_string().into()));
    }
    for (name, value) in &model.parameters {
        root.attribute_types.insert((*name).to_owned(), DType::I32);
        root.attributes.push(((*name).to_owned(), serde_json::json!(value).into()));
    }
    let after = beside(source, &model)?;
    root.problem = model.problem;
    let leaf = |entry| Tensor { entry, source: source.clone() };
    Ok(modules::tree(root, model.tensors.into_iter().map(leaf).collect(), after))
}

/// The vocabulary, and the filters of a model of speech.
fn beside(source: &Source, model: &Model) -> Result<Vec<Arc<Node>>> {
    let mut nodes = Vec::new();
    if let Some(texts) = &model.vocabulary {
        let tokens = Vocabulary::new(texts.clone(), "token").numbered();
        let tokens = if model.scored { tokens.scored() } else { tokens };
        let node = Node::new("vocabulary", "vocabulary").content(Content::Table(Arc::new(tokens)));
        nodes.push(Arc::new(node));
    }
    if let Some((at, shape)) = &model.filters {
        let kind = Type::Plain(DType::F32);
        let (array, missing) = kind.array(source, *at, shape.clone(), false, &[])?;
        let mut node = Node::new("mel_filters", "array").content(Content::Array(array));
        node.problem = missing;
        nodes.push(Arc::new(node));
    }
    Ok(nodes)
}

/// A tensor's header.
struct Entry {
    name: String,
    /// The slowest side first.
    shape: Vec<u64>,
    kind: Type,
    span: Range<u64>,
}

struct Tensor {
    entry: Entry,
    source: Source,
}

impl Leaf for Tensor {
    fn name(&self) -> &str {
        &self.entry.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, "tensor");
        let Entry { shape, kind, span, .. } = &self.entry;
        node.span = Some(span.clone());
        let details = [("bytes in the file", format!("{} to {}", span.start, span.end))];
        match kind.array(&self.source, span.start, shape.clone(), false, &details) {
            Ok((array, missing)) => {
                node.content = Some(Content::Array(array));
                node.problem = missing;
            }
            Err(error) => node.problem = Some(error.at(span.start)),
        }
        node
    }
}

#[cfg(test)]
mod tests;
