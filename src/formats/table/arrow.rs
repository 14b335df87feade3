//! Apache Arrow IPC, as a file and as a stream, and Feather: version 1 has a layout of its own,
//! version 2 is an IPC file under another extension.
//!
//! Opening reads the footer (files) or the messages' headers (streams), never a record batch's body;
//! of a batch only the buffers of the rows and columns that are looked at are touched, as zero-copy
//! slices of the map where they are not compressed. Specifications:
//! <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>,
//! <https://github.com/wesm/feather/blob/master/doc/FORMAT.md>.

mod batch;
mod capacity;
mod decode;
mod feather;
mod flat;
mod index;
mod place;
mod schema;
mod table;
pub mod write;

#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::{Node, Value};
use crate::data::sniff::{Head, Magic, Match};
use index::Opened;
use std::sync::Arc;

/// The first and last bytes of an IPC file.
const MAGIC: &[u8] = b"ARROW1";

/// Arrow IPC files and streams.
pub static FORMAT: Format = Format {
    targets: &[
        Target::new("arrow", "Arrow IPC file", &["arrow", "ipc"], &write::WRITER),
        Target {
            presets: &[("container", "stream")],
            ..Target::new("arrow-stream", "Arrow IPC stream", &["arrows"], &write::WRITER)
        },
    ],
    extensions: &["arrow", "arrows", "ipc", "arrow_file"],
    mime: &["application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"],
    magic: &[Magic::at(0, MAGIC)],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    ..Format::new("arrow", "Arrow IPC", open)
};

/// Feather files of both versions.
pub static FEATHER: Format = Format {
    targets: &[Target::new("feather", "Feather", &["feather"], &write::WRITER)],
    extensions: &["feather"],
    magic: &[Magic::at(0, feather::MAGIC)],
    sniff: Some(sniff_feather),
    reads: &[Kind::Table],
    ..Format::new("feather", "Feather", open_feather)
};

fn sniff(head: &Head) -> Match {
    // Feather's second version is told apart by its name only.
    if head.has_extension(FEATHER.extensions) || head.is_folder {
        return Match::No;
    }
    if head.starts_with(MAGIC) { Match::Yes } else { index::looks_like_a_stream(head) }
}

fn sniff_feather(head: &Head) -> Match {
    let second = head.starts_with(MAGIC) && head.has_extension(FEATHER.extensions);
    if second || head.starts_with(feather::MAGIC) { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    if source.read_up_to(task, 0, MAGIC.len())?.as_ref() != MAGIC {
        let opened = index::stream(task, source, 0)?;
        return node(opening, opened, None);
    }
    match index::file(task, source).unless_cancelled()? {
        Ok(opened) => node(opening, opened, None),
        // The messages of a file follow its magic as in a stream: they are found without a footer.
        Err(error) => match index::stream(task, source, 8).unless_cancelled()? {
            Ok(opened) => node(opening, opened, Some(error)),
            Err(_) => Err(error),
        },
    }
}

fn open_feather(opening: &Opening) -> Result<Node> {
    if opening.head.starts_with(MAGIC) {
        return open(opening);
    }
    let opened = feather::open(opening.task, opening.source)?;
    node(opening, opened, None)
}

/// The node of an opened file; `problem` is why it could only be read in part.
fn node(opening: &Opening, opened: Opened, problem: Option<Error>) -> Result<Node> {
    let mut node = Node::new(opening.source.name(), "file");
    node.attributes = opened.schema.attributes.iter().map(|(k, v)| (k.clone(), value(v))).collect();
    node.remarks.clone_from(&opened.remarks);
    if problem.is_some() {
        node.remarks.push("the record batches were found by walking from the start".to_owned());
    }
    let table = table::IpcTable::new(opening.source.clone(), opened);
    node.problem = problem.or_else(|| table.broken());
    Ok(node.content(Content::Table(Arc::new(table))))
}

/// A metadata value; what is JSON (pandas, Hugging Face) becomes JSON.
fn value(text: &str) -> Value {
    if text.starts_with(['{', '['])
        && let Ok(json) = serde_json::from_str::<serde_json::Value>(text)
    {
        return Value::Json(json);
    }
    text.into()
}
