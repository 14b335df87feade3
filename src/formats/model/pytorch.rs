//! PyTorch: `.pt`, `.pth`, `.bin`, `.ckpt`. A pickle of any objects, in which tensors are calls that name their storage,
//! shape and strides; and the storages, as plain bytes. Nothing of it is called: tensors are slices of the file.
//! <https://docs.pytorch.org/docs/stable/notes/serialization.html>
//!
//! | part | what it reads |
//! |---|---|
//! | `archive` | the container of today, a ZIP archive |
//! | `legacy` | those before: pickles with storages behind them, and a tar |
//! | `export` | exported programs (`.pt2`), whose tensors are described in JSON |
//! | `distributed` | checkpoints of `torch.distributed`: a folder, tensors in pieces |
//! | `rebuild` | what the calls say of a tensor |
//! | `script` | the code of TorchScript as graphs |
//! | `survey` | the storages of a pickle, and who shares them |
//! | `storage`, `types` | storages by their keys, the types of their elements |
//! | `array`, `sparse` | tensors as arrays |
//! | `values` | modules, dicts of tensors and everything else as nodes |

mod archive;
mod array;
mod distributed;
mod export;
mod legacy;
mod rebuild;
mod script;
mod sparse;
mod storage;
mod survey;
mod types;
mod values;

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::node::{Children, Listing, Node, page_of};
use crate::data::sniff::{Head, Match};
use crate::engines::pickle::Values;
use crate::engines::shards::{Shard, Shards};
use archive::{Container, Loaded};
use std::ops::Range;
use std::sync::Arc;

/// The descriptor of a file, of any container, or of any file of a sharded model.
pub static FORMAT: Format = Format {
    extensions: &["pt", "pth", "ckpt", "pytorch", "bin.index.json"],
    sniff: Some(sniff),
    reads: &[Kind::Array],
    holds_weights: true,
    framework: Some("pt"),
    ..Format::new("pytorch", "PyTorch checkpoint", open)
};

/// The descriptor of TorchScript's archives, those for phones included.
pub static SCRIPT: Format = Format {
    extensions: &["ptl", "torchscript", "pt", "pth"],
    sniff: Some(sniff_archive),
    reads: &[Kind::Graph, Kind::Array],
    holds_weights: true,
    framework: Some("pt"),
    ..Format::new("torchscript", "TorchScript module", open_script)
};

/// The descriptor of exported programs.
pub static EXPORTED: Format = Format {
    extensions: &["pt2"],
    sniff: Some(sniff_archive),
    reads: &[Kind::Graph, Kind::Array],
    holds_weights: true,
    framework: Some("pt"),
    ..Format::new("torch_export", "PyTorch exported program", open_exported)
};

/// The descriptor of a folder that holds one sharded model.
pub static SHARDED: Format = Format {
    sniff: Some(|head| SHARDS.sniff_folder(head)),
    reads: &[Kind::Array],
    holds_weights: true,
    framework: Some("pt"),
    ..Format::new("pytorch_sharded", "Sharded PyTorch model", |opening| {
        SHARDS.open_folder(opening, crate::formats::ALL)
    })
};

/// The descriptor of a folder that holds a checkpoint of `torch.distributed`.
pub static DISTRIBUTED: Format = Format {
    sniff: Some(distributed::sniff),
    reads: &[Kind::Array],
    holds_weights: true,
    framework: Some("pt"),
    ..Format::new("torch_distributed", "Distributed PyTorch checkpoint", distributed::open)
};

/// How shards are called, and what they hold.
static SHARDS: Shards<values::Entry> =
    Shards { end: ".bin", read: shard, absent: values::Entry::absent, derived: |_, _, _| Ok(Vec::new()) };

/// A member that all of PyTorch's archives have, below their folder.
const SIGNS: [&str; 8] = [
    "data.pkl",
    "constants.pkl",
    "version",
    "byteorder",
    ".format_version",
    ".data/serialization_id",
    ".data/version",
    "archive_format",
];

/// An archive with a member that PyTorch's have, or that is called so. Whether it is one is seen when it is opened.
fn sniff_archive(head: &Head) -> Match {
    let Some(zip) = head.zip() else { return Match::No };
    let is_sign = |name: &str| {
        let below = name.split_once('/').map_or("", |(_, below)| below);
        SIGNS.contains(&below) || name == "data.pkl" || name == ".data/extern_modules"
    };
    let named = head.has_extension(&["pt", "pth", "ckpt", "bin", "pt2", "ptl", "torchscript"]);
    if named || zip.names().any(is_sign) { Match::Yes } else { Match::No }
}

fn sniff(head: &Head) -> Match {
    if head.is_folder {
        return Match::No;
    }
    let is_index = SHARDS.is_index(&head.name) && head.first.trim_ascii_start().starts_with(b"{");
    if is_index || legacy::is_legacy(head) || legacy::is_tar(head) {
        return Match::Yes;
    }
    sniff_archive(head)
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source, head) = (opening.task, opening.source, opening.head);
    if SHARDS.is_index(source.name()) {
        return SHARDS.open_index(task, source);
    }
    if legacy::is_tar(head) {
        return legacy::open_tar(task, source);
    }
    let is_legacy = legacy::is_legacy(head);
    let container = if is_legacy { None } else { Some(container(task, source)?) };
    if let Some(node) = SHARDS.open_shard(task, source)? {
        return Ok(node);
    }
    match container {
        None => legacy::open(task, source),
        Some(container) => open_archive(task, &container),
    }
}

/// The archive that a source is, or the answer that it is another's.
fn container(task: &Task, source: &Source) -> Result<Container> {
    Container::open(task, source)?.ok_or_else(|| Error::other_format(""))
}

/// An archive of any objects; packages of several pickles.
fn open_archive(task: &Task, container: &Container) -> Result<Node> {
    let report = container.report(task)?;
    let taken = ["data.pkl"];
    let mut root = match container.has("data.pkl") {
        true => main(task, container, &taken)?.0,
        false if container.has(".data/extern_modules") => {
            let root = Node::new("", "package").separator("");
            with_after(root, container.others(task, &[".data/"], &[])?)
        }
        false => {
            let root = Node::new("", "file").separator("");
            let root = root.problem(Error::malformed("archive: it has no data.pkl; its members are shown"));
            with_after(root, container.others(task, &[], &[])?)
        }
    };
    root = container.describe(task, root)?;
    Ok(root.python(report))
}

/// What the main pickle holds, then the members beside it; and its values, where it could be read.
fn main(task: &Task, container: &Container, taken: &[&str]) -> Result<(Node, Option<Values>)> {
    let Loaded { values, survey } = match container
        .bytes(task, "data.pkl")
        .and_then(|bytes| archive::load(task, &bytes, container.stores(task, "data/", "")?))
    {
        Ok(loaded) => loaded,
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => {
            let root = Node::new("", "file").separator("").problem(error);
            return Ok((with_after(root, container.others(task, &[], &[])?), None));
        }
    };
    let mut root = values.root("");
    let is_whole = values.pickle().root().is_some();
    let storages: &[&str] = if is_whole { &["data/", "constants/", "traced_inputs/"] } else { &[] };
    let stored = container.archive.members.iter().filter(|member| {
        let below = member.name.strip_prefix(container.prefix.as_str());
        below.is_some_and(|name| name.starts_with("data/") && !member.is_folder())
    });
    let unused = (stored.count() as u64).saturating_sub(survey.storages.len() as u64);
    if unused > 0 && is_whole {
        let count = crate::bytes::display::plural(unused, "storage");
        root.remarks.push(format!("{count} that nothing in its pickle refers to"));
    }
    Ok((with_after(root, container.others(task, storages, taken)?), Some(values)))
}

fn open_script(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let container = container(task, source)?;
    let is_script = container.has("constants.pkl") || container.has_folder("code/");
    if !is_script || !container.has("data.pkl") {
        return Err(Error::other_format(""));
    }
    let report = container.report(task)?;
    let (mut root, values) = main(task, &container, &["data.pkl", "constants.pkl"])?;
    let mut constants = None;
    if container.has("constants.pkl") {
        let stores = container.stores(task, "constants/", "")?;
        let loaded =
            container.bytes(task, "constants.pkl").and_then(|bytes| archive::load(task, &bytes, stores));
        let node = match loaded {
            Ok(loaded) => constants.insert(loaded.values).root("constants"),
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => Node::new("constants", "tuple").problem(error),
        };
        if node.problem.is_some() || node.has_children() {
            root = with_after(root, vec![Arc::new(node)]);
        }
    }
    if let Some(values) = values {
        let drawn = script::draw(task, container.clone(), values, constants)?;
        root = with_after(root, drawn.after);
        root.content = root.content.take().or(drawn.graph.map(Content::Graph));
        root.remarks.extend(drawn.remark);
    }
    let root = container.describe(task, root)?;
    Ok(root.python(report))
}

fn open_exported(opening: &Opening) -> Result<Node> {
    let container = container(opening.task, opening.source)?;
    if container.has(export::OLD) {
        let report = container.report(opening.task)?;
        let root = export::open_old(opening.task, &container)?;
        return Ok(container.describe(opening.task, root)?.python(report));
    }
    let format = container.bytes(opening.task, "archive_format").unwrap_or_default();
    if format.trim_ascii() != b"pt2" && !container.has_folder("data/weights/") {
        return Err(Error::other_format(""));
    }
    let report = container.report(opening.task)?;
    let root = export::open(opening.task, &container)?;
    let root = container.describe(opening.task, root)?;
    Ok(root.python(report))
}

/// What one shard of a model holds.
fn shard(task: &Task, source: &Source) -> Result<Shard<values::Entry>> {
    let file = Some(source.name().to_owned());
    let (loaded, report, problems) = match Container::open(task, source) {
        Ok(Some(container)) => {
            let mut stores = container.stores(task, "data/", "")?;
            stores.file = file;
            let bytes = container.bytes(task, "data.pkl")?;
            let problems = container.archive.problem.iter().cloned().collect();
            (archive::load(task, &bytes, stores)?, container.report(task)?, problems)
        }
        Err(error) if error.is_cancelled() => return Err(error),
        _ => legacy::load(task, source, file)?,
    };
    let pickle = loaded.values.pickle();
    let Some(entries) = values::state(pickle) else {
        let fault = pickle.fault().cloned();
        return Err(fault.unwrap_or_else(|| Error::malformed("model: a shard that holds no dict of tensors")));
    };
    let entry = |(name, id)| values::Entry::new(loaded.values.clone(), name, id);
    let tensors = entries.into_iter().map(entry).collect();
    Ok(Shard { tensors, metadata: Vec::new(), problems, report: Some(report) })
}

/// A node with further children behind those that it has.
fn with_after(mut node: Node, after: Vec<Arc<Node>>) -> Node {
    if after.is_empty() {
        return node;
    }
    match std::mem::replace(&mut node.children, Children::None) {
        Children::None => {
            node.children = Children::Listed(Arc::new(after));
            node
        }
        Children::Listed(list) => {
            let all = list.iter().cloned().chain(after).collect();
            node.children = Children::Listed(Arc::new(all));
            node
        }
        Children::Lazy(first) => node.lazy(Followed { first, after }),
    }
}

/// Children, and others behind them.
struct Followed {
    first: Arc<dyn Listing>,
    after: Vec<Arc<Node>>,
}

impl Listing for Followed {
    fn count(&self) -> Option<u64> {
        Some(self.first.count()? + self.after.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let first = self.first.count().unwrap_or(0);
        let mut nodes = Vec::new();
        if range.start < first {
            nodes = self.first.page(task, range.start..range.end.min(first))?;
            if (nodes.len() as u64) < range.end.min(first) - range.start {
                return Ok(nodes);
            }
        }
        let rest = range.start.max(first)..range.end.max(first);
        let behind =
            page_of(task, rest, self.count(), |n| Ok(self.after.get((n - first) as usize).cloned()))?;
        nodes.extend(behind);
        Ok(nodes)
    }

    fn find(&self, task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        match self.first.find(task, name)? {
            Some(found) => Ok(Some(found)),
            None => Ok(self.after.iter().find(|node| node.name == name).cloned()),
        }
    }
}
