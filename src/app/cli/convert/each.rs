//! A file each in a folder. What fails does not stop the rest.

use super::super::terminal::say;
use super::super::{Stop, progress, split_target};
use super::report::{self, write};
use super::request::Request;
use super::sources::Input;
use super::{Line, planned};
use gander::convert::batch::places;
use gander::data::format::worded;
use gander::{Error, Task};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Converts one after the other; status 1 if any of them fails.
pub(super) fn run(task: &Task, request: &Request, inputs: &[Input]) -> anyhow::Result<ExitCode> {
    let sources: Vec<(PathBuf, PathBuf)> =
        inputs.iter().map(|input| (file_of(input), input.below.clone())).collect();
    let places = places(Path::new(&request.out), &sources, request.target, |_| false);
    let mut lines = Vec::new();
    let mut cut = 0;
    for (input, place) in inputs.iter().zip(&places) {
        if task.is_cancelled() {
            break;
        }
        let mut nodes = Vec::new();
        let mut verdicts = report::Verdicts::default();
        let result =
            progress::with_progress(task, || one(task, request, input, place, &mut nodes, &mut verdicts));
        if !request.json {
            verdicts.say();
        }
        cut += nodes.iter().filter(|(node, path)| super::super::found(node, path)).count();
        let line = Line { source: &input.target, out: place.display().to_string(), result };
        if !request.json {
            say(&line, request);
        }
        lines.push(line);
    }
    if request.json {
        report::lines(&lines, request)?;
    }
    let is_bad = |line: &Line<'_>| match &line.result {
        Ok(written) => !written.is_equal(),
        Err(_) => true,
    };
    Ok(ExitCode::from(u8::from(cut > 0 || lines.iter().any(is_bad))))
}

/// What the file that a source becomes is called after: its file, or the node of it that was named.
fn file_of(input: &Input) -> PathBuf {
    let (path, node) = split_target(&input.target);
    let last = node.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match (last, &input.name) {
        ("", None) => path,
        ("", Some(name)) => PathBuf::from(name),
        // Dots are part of the names of tensors.
        (last, _) => path.with_file_name(format!("{last}.node")),
    }
}

fn one(
    task: &Task,
    request: &Request,
    input: &Input,
    place: &Path,
    nodes: &mut Vec<(std::sync::Arc<gander::data::node::Node>, String)>,
    verdicts: &mut report::Verdicts,
) -> Result<report::Written, Error> {
    let mut plan =
        planned(task, request, std::slice::from_ref(input), nodes, verdicts).map_err(|stop| match stop {
            Stop::Usage(words) => Error::unsupported(words),
            Stop::Failed(error) => error,
        })?;
    if !request.allow_loss {
        plan.look(task)?;
    }
    if plan.is_lossy() && !request.allow_loss && !request.dry_run {
        let serious = worded(plan.losses.iter().filter(|loss| loss.serious));
        let words: Vec<String> = serious.iter().map(ToString::to_string).collect();
        return Err(
            Error::unsupported(format!("values would be lost: {}", words.join("; "))).in_file(&input.target)
        );
    }
    if request.dry_run {
        return Ok(report::Written::planned(place, request, &plan));
    }
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write(task, &plan, place, request).map_err(|error| error.in_file(&input.target))
}

/// A line for people.
fn say(line: &Line<'_>, request: &Request) {
    match &line.result {
        Err(error) => say!("{error}"),
        Ok(written) => {
            let would = if request.dry_run { "would become " } else { "" };
            let text = format!("{} → {would}{}{}\n", line.source, line.out, written.words());
            let _ = super::super::print(&text);
            written.say();
        }
    }
}
