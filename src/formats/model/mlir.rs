//! MLIR as text: programs of StableHLO, as JAX (`jax.jit(f).lower(…).as_text()`, `jax.export`) and others print them, and
//! of other dialects. Operations are read in the generic and in the pretty form by what both have: results, a name,
//! operands, attributes, regions, types. <https://mlir.llvm.org/docs/LangRef/>,
//! <https://openxla.org/stablehlo/spec>
//!
//! The root is the graph of the function `main`, or of the first one; the others are nodes below it, as are the
//! regions of operations (branches, loops, reducers).

mod lex;
mod operation;
mod types;
mod words;

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::data::content::graph::Graph;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::bodies;
use memchr::memmem::find;
use operation::Reader;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["mlir", "stablehlo"],
    sniff: Some(sniff),
    reads: &[Kind::Graph],
    ..Format::new("mlir", "MLIR", open)
};

/// What the bytecode of MLIR begins with.
const BYTECODE: &[u8] = b"ML\xefR";
/// The largest source.
const LARGEST: u64 = 256 << 20;
/// The group of the functions that are not the main one.
const FUNCTIONS: &str = "functions";

fn sniff(head: &Head) -> Match {
    if head.is_folder {
        return Match::No;
    }
    if head.first.starts_with(BYTECODE) {
        return Match::Yes;
    }
    if !head.is_text() {
        return Match::No;
    }
    let has = |word: &[u8]| find(&head.first, word).is_some();
    let begins = |line: &[u8]| {
        [&b"module @"[..], b"module {", b"module attributes", b"\"builtin.module\"", b"builtin.module"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    // Names of locations and of attributes may stand before it.
    let mut lines = head.first.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let code = lines.find(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"//"));
    let is_module = code.is_some_and(begins) && (has(b"func.func") || has(b" = ") || has(b"{"));
    match (is_module, head.has_extension(FORMAT.extensions)) {
        (true, true) => Match::Yes,
        (true, false) if has(b"func.func") => Match::Yes,
        (false, true) if has(b"func.func") || has(b"%") => Match::Yes,
        _ => Match::No,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    if opening.head.first.starts_with(BYTECODE) {
        return Err(Error::unsupported(
            "MLIR's bytecode: print it as text (`mlir-opt`, `Exported.mlir_module()`)",
        ));
    }
    let len = source.len(task)?;
    limits::check(len, LARGEST, "the text of a program")?;
    let bytes = source.read(task, 0..len)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut reader = Reader::new(task, &text);
    let read = reader.file().unless_cancelled()?;
    let mut root = Node::new("", "module");
    root.problem = read.err();
    let program = reader.finish();
    if let Some(name) = program.name {
        root = root.attribute("sym_name", name);
    }
    let attributes = program.attributes.into_iter().filter(|(name, _)| &**name != "sym_name");
    for (name, value) in attributes {
        root = root.attribute(name.to_string(), value.to_string());
    }
    let mut functions = program.functions;
    let main = functions.iter().position(|(name, _)| name == "main").unwrap_or(0);
    let mut after = Vec::new();
    if main < functions.len() {
        let (_, graph) = functions.remove(main);
        let graph = Arc::new(graph);
        after.extend(bodies::node(&graph));
        root.content = Some(Content::Graph(graph));
    }
    if !functions.is_empty() {
        let nodes = functions.into_iter().map(|(name, graph)| function(name, graph)).collect();
        after.push(Node::new(FUNCTIONS, "group").listed(nodes));
    }
    Ok(if after.is_empty() { root } else { root.listed(after) })
}

fn function(name: String, graph: Graph) -> Node {
    let graph = Arc::new(graph);
    let below: Vec<Node> = bodies::node(&graph).into_iter().collect();
    let node = Node::new(name, "function").content(Content::Graph(graph));
    if below.is_empty() { node } else { node.listed(below) }
}
