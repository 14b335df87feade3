//! MXNet parameters: a list of arrays with or without names, as `mx.nd.save`, Gluon's `save_parameters` and Module's checkpoints
//! write it (`.params`). After a mark (0x112) and a reserved word come the count of arrays and the arrays, then the count of
//! names and the names; `arg:` and `aux:` before a name tell parameters from auxiliary states.
//! <https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/legacy/ndarray/ndarray.html#mxnet.ndarray.save>; the layout is that of
//! `NDArray::Save` in <https://github.com/apache/mxnet/blob/v1.x/src/ndarray/ndarray.cc>.
//!
//! | an array begins with | version |
//! |---|---|
//! | 0xf993fac9 | 2: a type of storage, 64-bit shapes; a shape without dimensions is no array |
//! | 0xf993faca | 3: the same with NumPy's shapes, where that is a scalar |
//! | 0xf993fac8 | 1: 64-bit shapes |
//! | the count of dimensions | before: 32-bit shapes |
//!
//! Tensors are slices of the file. Sparse ones (`row_sparse`, `csr`) are shown as the whole matrix, with what is stored below
//! them. (MXNet 2's `npx.savez` writes NPZ archives.)

mod entry;
mod sparse;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Magic, Match};
use crate::engines::modules::{self, Leaf};
use crate::engines::records::Window;
use entry::{Cursor, Entry};
use std::collections::HashSet;
use std::sync::Arc;

/// The list's mark and the reserved word.
const MARK: &[u8] = b"\x12\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["params"],
    magic: &[Magic::at(0, MARK)],
    reads: &[Kind::Array],
    sniff: Some(sniff),
    holds_weights: true,
    ..Format::new("mxnet_params", "MXNet parameters", open)
};

/// The most arrays, and the longest name.
const ARRAYS: u64 = limits::WALKED;
const NAME: u64 = 1 << 20;

fn sniff(head: &Head) -> Match {
    if !head.is_folder && head.starts_with(MARK) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut cursor = Cursor::new(Window::new(task, source), MARK.len() as u64);
    let mut root = Node::new("", "file").separator("");
    let mut entries = Vec::new();
    let mut names = Vec::new();
    let read = arrays(&mut cursor, &mut entries).and_then(|()| self::names(&mut cursor, &mut names));
    match read.unless_cancelled()? {
        Ok(()) if names.is_empty() || names.len() == entries.len() => {
            trailing(task, source, &cursor, &mut root)?
        }
        Ok(()) => {
            let what = format!("file: {} arrays have {} names", entries.len(), names.len());
            root.problem = Some(Error::malformed(what));
        }
        Err(error) if entries.is_empty() => return Err(error),
        Err(error) => root.problem = Some(error),
    }
    root.attributes.push(("arrays".to_owned(), entries.len().to_string().into()));
    let mut known = HashSet::new();
    let mut leaves = Vec::with_capacity(entries.len());
    for (n, entry) in entries.into_iter().enumerate() {
        let own = names.get(n).cloned().unwrap_or_else(|| n.to_string());
        let mut name = own.clone();
        for again in 2.. {
            if known.insert(name.clone()) {
                break;
            }
            name = format!("{own} ({again})");
        }
        leaves.push(Tensor { name, entry, source: source.clone() });
    }
    Ok(modules::tree(root, leaves, Vec::new()))
}

/// Reads where the arrays are, as far as they can be.
fn arrays(cursor: &mut Cursor, entries: &mut Vec<Entry>) -> Result<()> {
    let count = cursor.word("the count of arrays")?;
    bounded(count, "arrays")?;
    for n in 0..count {
        if n % 1024 == 0 {
            cursor.task().check()?;
        }
        let entry = Entry::read(cursor).map_err(|error| error.of(&format!("array {n}")))?;
        let is_cut = entry.is_cut;
        entries.push(entry);
        if is_cut {
            return Err(Error::malformed(format!(
                "array {n}: the file ends inside of it; it may be cut off"
            )));
        }
    }
    Ok(())
}

/// Refuses a count that no list has.
fn bounded(count: u64, what: &str) -> Result<()> {
    if count > ARRAYS {
        return Err(Error::limit(format!("a list of {count} {what}; up to {ARRAYS} are read")));
    }
    Ok(())
}

fn names(cursor: &mut Cursor, names: &mut Vec<String>) -> Result<()> {
    let count = cursor.word("the count of names")?;
    bounded(count, "names")?;
    for _ in 0..count {
        let len = cursor.word("a name")?;
        let bytes = cursor.take(limits::check(len, NAME, "a name")?, "a name")?;
        names.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    Ok(())
}

/// Remarks on what follows the names.
fn trailing(task: &Task, source: &Source, cursor: &Cursor, root: &mut Node) -> Result<()> {
    if source.is_random_access() {
        let rest = source.len(task)?.saturating_sub(cursor.at);
        if rest > 0 {
            root.remarks.push(format!("{} follow the names", crate::bytes::display::plural(rest, "byte")));
        }
    }
    Ok(())
}

/// An array under its name.
struct Tensor {
    name: String,
    entry: Entry,
    source: Source,
}

impl Leaf for Tensor {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, "tensor");
        if self.entry.context.0 != 1 {
            node = node.read_as("device", self.entry.device());
        }
        match self.entry.content(&self.source) {
            Ok(Some((content, parts))) => {
                node.content = Some(content);
                node.problem = self.entry.problem();
                if parts.is_empty() {
                    node.span = self.entry.data.as_ref().map(|data| data.span.clone());
                    return node;
                }
                node = node.read_as("storage", self.entry.storage());
                let problem = node.problem.take();
                let mut node = node.separator(".").listed(parts);
                node.problem = problem;
                node
            }
            Ok(None) => node.remark("it has no values: its shape was not known when it was saved"),
            Err(error) => node.problem(error),
        }
    }
}

/// The sparse matrix of these parts, for [`entry`].
type Shared = Arc<dyn crate::data::content::Array>;

#[cfg(test)]
mod tests;
