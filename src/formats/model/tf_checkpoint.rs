//! TensorFlow checkpoints: a table (`NAME.index`) of tensors whose values lie in `NAME.data-00000-of-00001` and so on, with
//! the graph in `NAME.meta` where TensorFlow 1 wrote it; or, in their first version, one table with the values in it. A text
//! file `checkpoint` names the latest one of a folder.
//! <https://www.tensorflow.org/guide/checkpoint>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/util/tensor_bundle/tensor_bundle.cc>
//!
//! Any file of a checkpoint and its folder open as all of it; of a folder with several checkpoints the latest one stands at the
//! root, the others behind its tensors.

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::protobuf::{Part, text};
use crate::engines::shards;
use crate::engines::tensorflow::bundle::{self, Bundle, File, file_of, prefixes};
use crate::engines::tensorflow::document;
use crate::engines::tensorflow::messages::MetaGraph;
use crate::engines::tensorflow::table;
use std::path::Path;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["index"],
    reads: &[Kind::Array, Kind::Graph],
    sniff: Some(sniff),
    holds_weights: true,
    ..Format::new("tf_checkpoint", "TensorFlow checkpoint", open)
};

/// The text file that names the latest checkpoint of a folder.
const STATE: &str = "checkpoint";
/// What it begins with.
const LATEST: &str = "model_checkpoint_path";
/// The most bytes of it.
const SMALL: usize = 1 << 20;

/// The fields of that file: <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/training/checkpoint_state.proto>.
static CHECKPOINT_STATE: text::Message =
    text::Message(&[(LATEST, 1, text::Kind::Bytes), ("all_model_checkpoint_paths", 2, text::Kind::Bytes)]);

fn sniff(head: &Head) -> Match {
    let answer = |fits: bool| if fits { Match::Yes } else { Match::No };
    if head.is_folder {
        // With folders or event files in it, it is more than checkpoints: a training run.
        let is_more = |entry: &Entry| entry.is_folder || entry.name.contains("tfevents");
        let belongs = |entry: &&Entry| entry.name == STATE || file_of(&entry.name).is_some();
        let count = head.entries.iter().filter(belongs).count();
        let has_state = head.entries.iter().any(|entry| entry.name == STATE);
        let has_some = has_state || !prefixes(&head.entries).is_empty() && count * 2 >= head.entries.len();
        return answer(has_some && !head.entries.iter().any(is_more));
    }
    if head.ends_with(table::MARK) {
        let named = matches!(file_of(&head.name), Some((_, File::Index)));
        return answer(named || bundle::begins(&head.first));
    }
    let is_data = matches!(file_of(&head.name), Some((_, File::Data(..))));
    answer(is_data || head.name == STATE && text::first_name(&head.first) == Some(LATEST))
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    if source.is_folder() {
        return folder(task, Node::new("", "folder"), source, &opening.head.entries, true);
    }
    if opening.head.ends_with(table::MARK) {
        return whole(task, Node::new("", "file"), source, Vec::new());
    }
    if let Some((prefix, File::Data(..))) = file_of(source.name()) {
        return match source.sibling(task, &format!("{prefix}.index")) {
            Ok(index) => whole(task, Node::new("", "file"), &index, Vec::new()),
            Err(_) => {
                Err(Error::other_format(format!("values of a checkpoint without its table {prefix}.index")))
            }
        };
    }
    let parent = source.path().and_then(Path::parent);
    let parent = parent.map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let Some(parent) = parent else { return Err(Error::other_format("")) };
    let parent = Source::open(task, parent)?;
    let entries = parent.entries(task)?;
    folder(task, Node::new("", "file"), &parent, &entries, false)
}

/// The name of the latest checkpoint, by the file that says it.
fn latest(task: &Task, folder: &Source) -> Result<Option<String>> {
    let Ok(source) = folder.child(task, STATE) else { return Ok(None) };
    let read =
        source.read_up_to(task, 0, SMALL).and_then(|bytes| text::encode(task, &bytes, &CHECKPOINT_STATE));
    let Ok((message, _)) = read.unless_cancelled()? else { return Ok(None) };
    let mut fields = Part::decoded(&message).fields().map_while(Result::ok);
    let path = fields.find(|field| field.number == 1).map(|field| field.value.text());
    // It may be the path on the machine that wrote it.
    Ok(path.and_then(|path| path.rsplit(['/', '\\']).next().map(str::to_owned)))
}

/// The checkpoints of a folder.
fn folder(
    task: &Task,
    mut root: Node,
    folder: &Source,
    entries: &[Entry],
    with_others: bool,
) -> Result<Node> {
    let found = prefixes(entries);
    let latest = latest(task, folder)?;
    let chosen = latest.as_deref().filter(|latest| found.contains(latest)).or_else(|| found.last().copied());
    let Some(chosen) = chosen else { return first_version(task, root, folder, latest) };
    if let Some(latest) = latest.as_deref().filter(|latest| *latest != chosen) {
        root.remarks.push(format!("the latest checkpoint is {latest}, which is not there; this is {chosen}"));
    }
    root = root.read_as("checkpoint", chosen);
    let index = folder.child(task, &format!("{chosen}.index"))?;
    let mut after = Vec::new();
    let others: Vec<&str> = found.iter().copied().filter(|prefix| *prefix != chosen).collect();
    if let (false, Some(path)) = (others.is_empty(), folder.path()) {
        let nested = |prefix: &str| {
            let path = path.join(format!("{prefix}.index"));
            let make = move |task: &Task| Source::open(task, &path);
            crate::formats::ALL.nested(prefix, "checkpoint", Options::default(), make)
        };
        after.push(
            Node::new("other checkpoints", "checkpoints").listed(others.into_iter().map(nested).collect()),
        );
    }
    if let (true, Some(path)) = (with_others, folder.path()) {
        let belongs =
            |name: &str| name == STATE || file_of(name).is_some_and(|(prefix, _)| found.contains(&prefix));
        let files = shards::others(crate::formats::ALL, path, entries, belongs);
        after.extend(files.iter().map(|node| (**node).clone()));
    }
    whole(task, root, &index, after)
}

/// A checkpoint of the first version that the file of a folder names.
fn first_version(task: &Task, root: Node, folder: &Source, latest: Option<String>) -> Result<Node> {
    let named = latest.and_then(|name| folder.child(task, &name).ok());
    match named {
        Some(source) if !source.is_folder() => whole(task, root, &source, Vec::new()),
        _ => Err(Error::other_format("")),
    }
}

/// A checkpoint with its graph, where there is one.
fn whole(task: &Task, mut root: Node, table: &Source, after: Vec<Node>) -> Result<Node> {
    let bundle = Bundle::open(task, table)?;
    let prefix = table.name().strip_suffix(".index").unwrap_or(table.name());
    let Ok(meta) = table.sibling(task, &format!("{prefix}.meta")) else {
        return document::model(task, root, None, Some(bundle), after);
    };
    let messages = match document::binary(task, &meta).unless_cancelled()? {
        Ok(messages) => messages,
        Err(error) => {
            document::blame(&mut root, error.of(meta.name()));
            return document::model(task, root, None, Some(bundle), after);
        }
    };
    let graph = MetaGraph::parse(task, messages.whole())?;
    if !graph.has_graph {
        let problem = graph.problem.unwrap_or_else(|| Error::malformed("there is no graph in it"));
        document::blame(&mut root, problem.of(meta.name()));
        return document::model(task, root, None, Some(bundle), after);
    }
    document::model(task, root, Some((&messages, vec![graph])), Some(bundle), after)
}

#[cfg(test)]
mod tests;
