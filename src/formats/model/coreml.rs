//! Core ML: models of Apple's devices. A file (`.mlmodel`) is one message of Protocol Buffers; a package
//! (`.mlpackage`) is a folder with such a file, the weights of an ML program beside it, and a `Manifest.json` that
//! names it.
//! <https://apple.github.io/coremltools/mlmodel/index.html>,
//! <https://github.com/apple/coremltools/tree/main/mlmodel/format>
//!
//! Every type of model is shown: pipelines with their members, neural networks and ML programs as graphs with their
//! weights, ensembles of trees as tables and graphs, all others by their parameters. Quantised weights are what they
//! stand for, with what is stored below them or beside.
//!
//! | part | holds |
//! |---|---|
//! | `model` | a model of any type, what it says of itself |
//! | `schema` | the messages by name |
//! | `network`, `weights` | neural networks |
//! | `program`, `types`, `value`, `constexpr`, `blob` | ML programs |
//! | `trees`, `features`, `params` | ensembles of trees; parameters of any other type |
//! | `numbers`, `packed`, `stand` | arrays |

mod blob;
mod constexpr;
mod features;
mod json;
mod model;
mod network;
mod numbers;
mod packed;
mod params;
mod program;
mod schema;
mod stand;
mod trees;
mod types;
mod value;
mod weights;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::modules;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use serde_json::Value as Json;
use std::sync::Arc;

/// The descriptor of files.
pub static FORMAT: Format = Format {
    extensions: &["mlmodel"],
    sniff: Some(sniff),
    reads: &[Kind::Graph, Kind::Array, Kind::Table],
    holds_weights: true,
    ..Format::new("coreml", "Core ML model", open)
};

/// The descriptor of packages.
pub static PACKAGE: Format = Format {
    extensions: &["mlpackage"],
    sniff: Some(sniff_package),
    reads: &[Kind::Graph, Kind::Array, Kind::Table],
    holds_weights: true,
    ..Format::new("mlpackage", "Core ML package", open_package)
};

/// The words for nodes.
mod label {
    pub(super) const CONSTANT: &str = "constant";
    pub(super) const FUNCTION: &str = "function";
    pub(super) const GROUP: &str = "group";
    pub(super) const MODEL: &str = "model";
    pub(super) const PARAMETER: &str = "parameter";
    pub(super) const STORED: &str = "stored";
    pub(super) const WEIGHT: &str = "weight";
}

/// The file of a package that names the others, and its folder of them.
const MANIFEST: &str = "Manifest.json";
const DATA: &str = "Data";
/// The highest version of the specification that is taken for one.
const VERSION_MOST: u64 = 100;
/// The largest message: more than Protocol Buffers have.
const LARGEST: u64 = 2 << 30;

/// A version, then a description whose features have names and types; then a type of model.
fn sniff(head: &Head) -> Match {
    if head.is_folder || head.is_text() {
        return Match::No;
    }
    let is_called = head.has_extension(FORMAT.extensions);
    let (mut version, mut described) = (false, false);
    for field in Part::new(&head.first, 0).fields() {
        match field {
            Ok(Field { number: 1, value: Wire::Varint(number), .. }) => {
                version = (1..=VERSION_MOST).contains(&number);
            }
            Ok(Field { number: 2, value: Wire::Bytes(part), .. }) => {
                described = is_description(part.bytes(), false);
                if !described && !is_called {
                    return Match::No;
                }
            }
            Ok(Field { number: 10, value: Wire::Varint(_), .. }) => {}
            Ok(Field { number: 200.., value: Wire::Bytes(_), .. }) => {}
            Ok(_) => return Match::No,
            // What it is goes beyond the head, mostly.
            Err(_) => {
                described |= described_in(&head.first).is_some_and(|part| is_description(part, true));
                break;
            }
        }
    }
    if version && (described || is_called) { Match::Yes } else { Match::No }
}

/// The beginning of a description that is cut off at the end of the head, behind the version.
fn described_in(head: &[u8]) -> Option<&[u8]> {
    let rest = head.strip_prefix(&[0x08])?;
    let (_, taken) = crate::bytes::numbers::leb128(rest)?;
    let rest = rest.get(taken..)?.strip_prefix(&[0x12])?;
    let (len, taken) = crate::bytes::numbers::leb128(rest)?;
    let rest = rest.get(taken..)?;
    Some(usize::try_from(len).ok().and_then(|len| rest.get(..len)).unwrap_or(rest))
}

/// Whether bytes are a description: features with names and types, as far as they go.
fn is_description(bytes: &[u8], is_cut: bool) -> bool {
    let mut features = 0;
    for field in Part::new(bytes, 0).fields() {
        match field {
            Ok(Field { number: 1 | 10 | 13 | 50, value: Wire::Bytes(part), .. }) if is_feature(part) => {
                features += 1
            }
            Ok(Field { number: 11 | 12 | 20 | 21 | 100, value: Wire::Bytes(_), .. }) => {}
            Ok(_) => return false,
            Err(_) => return is_cut && features > 0,
        }
    }
    features > 0
}

/// Whether a message is the description of a feature: a name, perhaps a text, and a type that is one of those known.
fn is_feature(part: Part) -> bool {
    let (mut named, mut typed) = (false, false);
    for field in part.fields() {
        match field {
            Ok(Field { number: 1, value: Wire::Bytes(part), .. }) => {
                let text = std::str::from_utf8(part.bytes());
                named = text.is_ok_and(|name| !name.is_empty() && !name.contains(char::is_control));
            }
            Ok(Field { number: 2, value: Wire::Bytes(_), .. }) => {}
            Ok(Field { number: 3, value: Wire::Bytes(part), .. }) => {
                let known = |field: Result<Field>| {
                    field.is_ok_and(|field| {
                        matches!(field.number, 1..=8) && matches!(field.value, Wire::Bytes(_))
                            || field.number == 1_000
                    })
                };
                typed = part.fields().all(known);
            }
            _ => return false,
        }
    }
    named && typed
}

fn sniff_package(head: &Head) -> Match {
    let has = |name: &str, is_folder: bool| {
        head.entries.iter().any(|entry| entry.name == name && entry.is_folder == is_folder)
    };
    if head.is_folder && has(MANIFEST, false) && has(DATA, true) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    read(opening.task, opening.source, Node::new("", "file"))
}

/// Reads the model that a file is.
fn read(task: &Task, source: &Source, root: Node) -> Result<Node> {
    let len = source.len(task)?;
    limits::check(len, LARGEST, "a message")?;
    let bytes = source.read(task, 0..len)?;
    let shown = model::Reader { task, source }.model(Part::new(&bytes, 0), "", 0)?;
    Ok(shown.root(root))
}

fn open_package(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let manifest = folder.child(task, MANIFEST)?;
    let len = manifest.len(task)?;
    limits::check(len, limits::HEADER, MANIFEST)?;
    let text = manifest.read(task, 0..len)?;
    let manifest: Json =
        serde_json::from_slice(&text).map_err(|error| Error::malformed(format!("{MANIFEST}: {error}")))?;
    let items = manifest.get("itemInfoEntries").and_then(Json::as_object);
    let id = manifest.get("rootModelIdentifier").and_then(Json::as_str);
    let item = id.and_then(|id| items?.get(id));
    let path = item.and_then(|item| item.get("path")).and_then(Json::as_str);
    // Under another name a folder with such files need not be a package.
    let is_called = opening.head.has_extension(PACKAGE.extensions);
    let path = path.ok_or_else(|| match is_called {
        true => Error::malformed(format!("{MANIFEST}: it names no model")),
        false => Error::other_format(""),
    })?;
    let source = folder.child(task, &format!("{DATA}/{path}"))?;
    if source.is_folder() {
        return Err(Error::malformed(format!("{MANIFEST}: {path} is a folder")));
    }
    let mut root = Node::new("", "package").read_as("model", format!("{DATA}/{path}"));
    if let Some(version) = manifest.get("fileFormatVersion") {
        root = root.attribute("fileFormatVersion", version.clone());
    }
    read(task, &source, root)
}

/// An array below a model, by its name.
struct Leaf {
    name: String,
    make: Arc<dyn Fn(&str) -> Node + Send + Sync>,
}

impl Leaf {
    fn new(name: String, make: impl Fn(&str) -> Node + Send + Sync + 'static) -> Self {
        Leaf { name, make: Arc::new(make) }
    }

    /// Its node under its whole name.
    fn made(&self) -> Node {
        (self.make)(&self.name)
    }
}

impl modules::Leaf for Leaf {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        (self.make)(name)
    }
}

#[cfg(test)]
mod tests;
