//! Event files of TensorBoard: what a training run reports while it goes on — scalars, histograms, images, audio, texts,
//! hyper-parameters, graphs, tensors of any kind — as records of TFRecord's framing that hold `Event` messages.
//! <https://github.com/tensorflow/tensorboard/blob/master/docs/design/README.md>,
//! <https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto>
//!
//! TensorFlow 1 wrote a field of its own for each kind of value (`simple_value`, `histo`, `image`), TensorFlow 2 and
//! PyTorch write tensors and name the plugin that shows them; both are read. All that an event file holds is found by
//! one pass, in which both checksums of each record are looked at; it goes on when somebody asks for more, and keeps a
//! bounded number of places, from where rows are read again. Several event files are one run, in the order of their
//! names, which begin with their times; several runs are compared.

mod event;
mod hparams;
mod kind;
mod log;
mod table;
mod tree;

#[cfg(test)]
mod tests;

use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::format::Formats;
use crate::data::node::Node;
use crate::engines::protobuf::{Part, Value as Wire};
use crate::engines::records::tfrecord::{self, HEAD};
use crate::engines::tensorflow::tensor::Tensor;
use chrono::DateTime;
use event::{Event, What};
use log::Log;
use table::NamedLog;

/// A run: its name, and its event files in the order of time.
pub struct Run {
    /// The name, by which runs are compared.
    pub name: String,
    /// The event files.
    pub files: Vec<Source>,
}

/// Whether a name is one that TensorBoard takes for an event file: it has `tfevents` in it.
pub fn is_event_file(name: &str) -> bool {
    name.contains("tfevents")
}

/// Whether a file that begins like this is an event file: its first record, as far as it is seen, begins like an event
/// (the time, then a version, a step or a summary).
pub fn begins(first: &[u8]) -> bool {
    let Some(len) = tfrecord::length(first) else { return false };
    let rest = first.get(HEAD..).unwrap_or_default();
    let whole = usize::try_from(len).ok().and_then(|len| rest.get(..len));
    match whole {
        Some(record) => is_event(record),
        None => matches!(rest, [0x09, _, _, _, _, _, _, _, _, 0x10 | 0x1a | 0x22 | 0x2a | 0x4a, ..]),
    }
}

/// Whether a record is an event: the time and one more field that events have, of its wire type, and no other.
fn is_event(record: &[u8]) -> bool {
    let mut timed = false;
    for field in Part::decoded(record).fields() {
        let Ok(field) = field else { return false };
        match (field.number, field.value) {
            (1, Wire::Fixed64(_)) => timed = true,
            (2, Wire::Varint(_)) | (3..=10, Wire::Bytes(_)) => {}
            _ => return false,
        }
    }
    let parsed = Event::parse(Part::decoded(record));
    timed
        && parsed.is_ok_and(|(event, writer)| {
            !matches!(event.what, What::Nothing) || writer.is_some() || event.step != 0
        })
}

/// The tree of one run below `root`: what it holds by kind and tag. What is broken in the files is found in time.
///
/// # Errors
/// `Cancelled`, and failures to read.
pub fn run(task: &Task, formats: Formats, root: Node, files: Vec<Source>) -> Result<Node> {
    Ok(tree::of_run(root, &Log::open(task, formats, files)?))
}

/// The tree of several runs below `root`: the scalars of all of them in one table with a column for the run, their
/// hyper-parameters side by side, and each run as [`run`] shows it.
///
/// # Errors
/// As [`run`].
pub fn runs(task: &Task, formats: Formats, root: Node, runs: Vec<Run>) -> Result<Node> {
    let named = |run: Run| Ok(NamedLog { name: run.name, log: Log::open(task, formats, run.files)? });
    let runs: Vec<NamedLog> = runs.into_iter().map(named).collect::<Result<_>>()?;
    Ok(tree::of_runs(root, runs))
}

/// The node of a record that is a `TensorProto`: an array, or texts; `None` where it is none, or no whole one.
pub fn tensor_record(name: &str, source: &Source, record: Part) -> Option<Node> {
    let tensor = Tensor::whole(record)?;
    Some(tree::of_tensor(name.to_owned(), source, &tensor))
}

/// Seconds since 1970 as a time of the calendar; `None` for what is none.
fn time(seconds: f64) -> Option<String> {
    if !(seconds > 0.0 && seconds < 1e12) {
        return None;
    }
    let time = DateTime::from_timestamp_micros((seconds * 1e6) as i64)?;
    Some(time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true))
}
