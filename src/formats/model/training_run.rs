//! The folder of a training run: checkpoints by step, what the trainer logged, TensorBoard's event files.
//!
//! Known by what is in it: checkpoints of Hugging Face's Trainer (`checkpoint-500/`,
//! <https://huggingface.co/docs/transformers/main_classes/trainer>), Accelerate, DeepSpeed (`global_step500/`,
//! <https://www.deepspeed.ai/getting-started/#model-checkpointing>), Megatron (`iter_0000500/`), Lightning
//! (`epoch=3-step=500.ckpt`, <https://lightning.ai/docs/pytorch/stable/common/checkpointing_basic.html>), TensorFlow
//! (`ckpt-5.index`, <https://www.tensorflow.org/guide/checkpoint>) and files with a step in their names; a
//! `trainer_state.json`; event files in it, or in the folders where they usually lie. The model in the folder, where
//! there is one, and all of its files stand below as what they are.

mod checkpoints;
mod search;

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Content, Kind};
use crate::data::curves::{CurveColumns, Presentation};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::joined::joined;
use crate::engines::tfevents;
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use search::Found;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Group, Kind::Table],
    ..Format::new("training_run", "Training run", open)
};

/// The longest state of a trainer that is read at once, in bytes.
const STATE: u64 = 64 << 20;
/// What the Trainer writes beside each checkpoint.
const TRAINER_STATE: &str = "trainer_state.json";
/// Folders in which event files usually lie.
const LOGS: &[&str] =
    &["runs", "logs", "log", "lightning_logs", "tb_logs", "tensorboard", "tb", "events", "logdir"];
/// Files that make a folder a model's.
const MODEL: &[&str] = &["config.json", "model_index.json", "adapter_config.json", "modules.json"];

/// The most folders beside each other that may all be runs.
const FOLDERS: usize = 1_000;

/// Whether names tell a run for sure, or only make it worth looking for event files: a little, or everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    None,
    /// There are only folders, as in what `tensorboard --logdir` is given.
    Folders,
    Perhaps,
    Sure,
}

fn sign(head: &Head) -> Sign {
    let has_model = head.entries.iter().any(|entry| MODEL.contains(&entry.name.as_str()));
    let mut sign = Sign::None;
    for entry in &head.entries {
        let name = entry.name.as_str();
        let is_version = name.strip_prefix("version_").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
        sign = sign.max(match entry.is_folder {
            false if tfevents::is_event_file(name) => Sign::Sure,
            false if name == TRAINER_STATE && !has_model => Sign::Sure,
            true if !has_model && (LOGS.contains(&name) || is_version) => Sign::Perhaps,
            true if !has_model && LOGS.contains(&head.name.as_str()) => Sign::Perhaps,
            _ => Sign::None,
        });
    }
    let seen = || head.entries.iter().filter(|entry| !entry.name.starts_with('.'));
    // `key=value` are the partitions of a table.
    let only_folders = seen().all(|entry| entry.is_folder && !entry.name.contains('='));
    if only_folders && (1..=FOLDERS).contains(&seen().count()) {
        sign = sign.max(Sign::Folders);
    }
    sign.max(checkpoints::sign(&head.entries))
}

fn sniff(head: &Head) -> Match {
    if head.is_folder && sign(head) > Sign::None { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let path = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?;
    if sign(opening.head) == Sign::Folders && !search::has_event_files(task, path)? {
        return Err(Error::other_format(""));
    }
    let found = search::search(task, folder)?;
    if found.runs.is_empty() && (found.checkpoints.is_empty() || sign(opening.head) < Sign::Sure) {
        let has_state = opening.head.entries.iter().any(|entry| entry.name == TRAINER_STATE);
        if !has_state {
            return Err(Error::other_format(""));
        }
    }
    let (before, after) = (own(path, opening, &found)?, behind(folder, opening, &found.others));
    let mut root = Node::new(folder.name(), "training run");
    if found.cut {
        root = root.remark(
            "only a part of the folder was searched for checkpoints and event files; it is very large",
        );
    }
    root.remarks.extend(found.remarks.iter().cloned());
    let (inner, has_one) = events(task, found)?;
    root.start.clone_from(&inner.start);
    if has_one {
        root.attributes.clone_from(&inner.attributes);
        root.findings.clone_from(&inner.findings);
    }
    Ok(joined(root, before, inner, after))
}

/// What the event files hold, and whether they are one run.
fn events(task: &Task, found: Found) -> Result<(Node, bool)> {
    let node = Node::new("events", "runs");
    let mut runs = found.runs;
    match runs.len() {
        0 => Ok((node, false)),
        1 => {
            let files = runs.pop().map_or_else(Vec::new, |run| run.files);
            Ok((tfevents::run(task, crate::formats::ALL, node, files)?, true))
        }
        _ => Ok((tfevents::runs(task, crate::formats::ALL, node, runs)?, false)),
    }
}

/// The checkpoints and the state of the trainer.
fn own(path: &Path, opening: &Opening, found: &Found) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    if !found.checkpoints.is_empty() {
        nodes.push(checkpoints::node(&found.checkpoints)?);
    }
    let own = opening.head.entries.iter().any(|entry| entry.name == TRAINER_STATE);
    let last = found.checkpoints.iter().rev().find(|checkpoint| checkpoint.has_state);
    let state = match (own, last) {
        (true, _) => Some(path.join(TRAINER_STATE)),
        (false, Some(checkpoint)) => Some(checkpoint.path.join(TRAINER_STATE)),
        (false, None) => None,
    };
    if let Some(state) = state {
        // Without event files the log of the trainer has the curves.
        if found.runs.is_empty() {
            let log = state.clone();
            nodes.push(Node::new("scalars", "tags").deferred_leaf(move |task| logged(task, &log)));
        }
        let log = state.clone();
        nodes.push(Node::new("log_history", "log").deferred_leaf(move |task| log_history(task, &log)));
        let make = move |task: &Task| Source::open(task, &state);
        nodes.push(crate::formats::ALL.nested("trainer_state", "state", Options::default(), make));
    }
    Ok(nodes)
}

/// What the trainer logged, as a table: a record every so many steps.
fn log_history(task: &Task, path: &Path) -> Result<Node> {
    let source = Source::open(task, path)?;
    let state =
        crate::formats::ALL.nested_now(task, "trainer_state", "state", &source, &Options::default())?;
    let state = Arc::new(state);
    let log = state.find(task, "/log_history")?;
    let mut node = Node::new("log_history", "log");
    match log.as_ref().and_then(|log| log.content.clone()) {
        Some(Content::Table(table)) => {
            let curves = CurveColumns::of_columns(&*table, "step", &["epoch"]);
            node = node.content(Content::Table(table)).presented(curves.map(Presentation::Curves));
        }
        _ => {
            node.problem = state.problem_now();
            if node.problem.is_none() {
                node.remarks.push("the trainer logged nothing".to_owned());
            }
        }
    }
    Ok(node)
}

/// The model that lies in the folder, and the files that are no part of anything else, by their paths.
fn behind(folder: &Source, opening: &Opening, others: &[(String, PathBuf)]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let has_model = opening.head.entries.iter().any(|entry| MODEL.contains(&entry.name.as_str()));
    if has_model {
        let mut options = Options::default();
        options.set("format", "huggingface");
        options.set("folders", "no");
        let folder = folder.clone();
        nodes.push(crate::formats::ALL.nested("model", "model", options, move |_| Ok(folder.clone())));
    }
    let file = |(name, path): &(String, PathBuf)| {
        let path = path.clone();
        crate::formats::ALL
            .nested(name.as_str(), "file", Options::default(), move |task| Source::open(task, &path))
    };
    // Those of the folder itself stand with the model.
    let is_beside = |(name, _): &&(String, PathBuf)| !has_model || name.contains('/');
    let files: Vec<Node> = others.iter().filter(is_beside).map(file).collect();
    if !files.is_empty() {
        nodes.push(Node::new("files", "files").listed(files));
    }
    nodes
}

/// The numbers that the trainer logged, a row each, as the scalars of event files stand: without times, which it does
/// not log.
fn logged(task: &Task, path: &Path) -> Result<Node> {
    let state = state_in(task, path)?;
    let (mut tags, mut steps, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let log = state.get("log_history").and_then(Json::as_array);
    for record in log.into_iter().flatten().filter_map(Json::as_object) {
        let step = record.get("step").and_then(Json::as_f64).map(|step| step as i64);
        for (name, value) in record.iter().filter(|(name, _)| !matches!(name.as_str(), "step" | "epoch")) {
            if let Some(value) = value.as_f64() {
                tags.push(name.clone());
                steps.push(step);
                values.push(value);
            }
        }
    }
    let nothing = || Arc::new(Float64Array::new_null(tags.len()));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("tag", Arc::new(StringArray::from_iter_values(&tags))),
        ("step", Arc::new(Int64Array::from(steps))),
        ("wall_time", nothing()),
        ("relative_time", nothing()),
        ("value", Arc::new(Float64Array::from(values))),
    ];
    let table = MemoryTable::new(RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, !matches!(name, "tag" | "value"))),
    )?);
    let columns = CurveColumns::Rows {
        run: None,
        tag: Some(0),
        step: 1,
        wall_time: Some(2),
        relative_time: Some(3),
        value: 4,
    };
    let node = Node::new("scalars", "tags").content(Content::Table(Arc::new(table)));
    Ok(node.presented(Presentation::Curves(columns)))
}

/// What a trainer's state holds.
fn state_in(task: &Task, path: &Path) -> Result<Json> {
    let source = Source::open(task, path)?;
    let len = source.len(task)?;
    limits::check(len, STATE, "the state of the trainer")?;
    let bytes = source.read(task, 0..len)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::malformed(format!("{TRAINER_STATE}: {error}")))
}

/// Numbers of a trainer's state: its step, its epoch.
fn numbers_in(task: &Task, path: &Path, names: &[&str]) -> Result<Vec<Option<f64>>> {
    let state = state_in(task, path).unless_cancelled()?.unwrap_or_default();
    Ok(names.iter().map(|name| state.get(name).and_then(Json::as_f64)).collect())
}

#[cfg(test)]
mod tests;
