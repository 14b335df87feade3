//! What a conversion says when it is done, or would be: for people on stderr, for programs as JSON.

use super::super::terminal::say;
use super::Line;
use super::request::Request;
use gander::bytes::display;
use gander::convert::{Check, Done, Plan, VERIFIED};
use gander::data::format::{Loss, worded};
use gander::data::security::Report;
use gander::{Error, Task};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// What loading the sources with Python would run, where they are pickles: said first.
#[derive(Default)]
pub(super) struct Verdicts(pub(super) Vec<(String, Arc<Report>)>);

impl Verdicts {
    /// A line each on stderr.
    pub(super) fn say(&self) {
        for (path, report) in &self.0 {
            let calls = match report.calls.first() {
                Some(call) => format!("; loading it would call {}", display::harmless(call, 200)),
                None => String::new(),
            };
            say!("{path}: {}: {}{calls}", report.verdict.word(), report.verdict.title());
        }
    }

    /// The worst one; null where there is no pickle.
    pub(super) fn json(&self) -> Json {
        self.0.iter().map(|(_, report)| report.verdict).max().map_or(Json::Null, |worst| worst.word().into())
    }
}

/// A file that was written.
pub(super) struct Written {
    path: String,
    format: &'static str,
    bytes: u64,
    losses: Vec<Loss>,
    /// What was found when it was read back, if it was and could be.
    check: Option<Check>,
    /// Whether it was only planned.
    planned: bool,
}

impl Written {
    pub(super) fn planned(path: &Path, request: &Request, plan: &Plan) -> Self {
        Written {
            path: path.display().to_string(),
            format: request.target.id,
            bytes: 0,
            losses: plan.losses.clone(),
            check: None,
            planned: true,
        }
    }

    /// Whether nothing was found that differs and was not reported.
    pub(super) fn is_equal(&self) -> bool {
        self.check.as_ref().is_none_or(Check::is_equal)
    }

    /// Size and check, for the end of a line.
    pub(super) fn words(&self) -> String {
        let size = if self.planned { String::new() } else { format!("  {}", display::bytes(self.bytes)) };
        match &self.check {
            Some(check) if check.is_equal() => format!("{size}, verified"),
            Some(_) => format!("{size}, differs"),
            None => size,
        }
    }

    /// Losses, and what differs, on stderr.
    pub(super) fn say(&self) {
        worded(&self.losses).iter().for_each(|loss| say!("{}: {loss}", self.path));
        if let Some(check) = self.check.as_ref().filter(|check| !check.is_equal()) {
            say!("{}: what was written is not what was read: {}", self.path, check.words());
        }
    }

    fn json(&self) -> Json {
        let check = self.check.as_ref().map(|check| {
            json!({
                "parts": check.parts, "values": check.values, "changed": check.changed, "differing": check.differing,
            })
        });
        json!({
            "path": self.path, "format": self.format, "bytes": self.bytes,
            "verified": self.check.as_ref().map(Check::is_equal), "check": check,
        })
    }
}

/// Runs a plan, and reads back what it wrote where that is wanted.
///
/// # Errors
/// Those of [`Plan::run`] and [`Plan::verify`].
pub(super) fn write(task: &Task, plan: &Plan, path: &Path, request: &Request) -> Result<Written, Error> {
    let done = match request.append {
        true => plan.append(task, path, request.consent())?,
        false => plan.run(task, path, request.consent())?,
    };
    // What was there before is not what was read.
    let check = match !request.append && request.verify.unwrap_or(done.bytes <= VERIFIED) {
        true => plan.verify(task, path, &done)?,
        false => None,
    };
    let losses = plan.losses.iter().chain(&done.notes).cloned().collect();
    let (bytes, format) = (done.bytes, request.target.id);
    Ok(Written { path: path.display().to_string(), format, bytes, losses, check, planned: false })
}

/// Says what was written to one file.
pub(super) fn written(all: &[Written], verdicts: &Verdicts, request: &Request) -> anyhow::Result<()> {
    if request.json {
        let losses: Vec<&Loss> = all.iter().flat_map(|one| &one.losses).collect();
        let written: Vec<Json> = all.iter().map(Written::json).collect();
        return super::super::print_json(&json!({
            "written": written, "losses": losses_json(&losses), "verdict": verdicts.json(),
        }));
    }
    for one in all {
        one.say();
        if let (Some(true), Some(check)) = (request.verify, &one.check) {
            say!("{}: read back: {}", one.path, check.words());
        } else if request.verify == Some(true) {
            say!("{}: nothing gives back what was written, so it could not be compared", one.path);
        }
    }
    Ok(())
}

/// The same of many files as JSON.
pub(super) fn lines(lines: &[Line<'_>], request: &Request) -> anyhow::Result<()> {
    let (mut written, mut losses, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        match &line.result {
            Err(error) => failed.push(
                json!({ "source": line.source, "path": line.out, "error": super::super::json::error(error) }),
            ),
            Ok(one) => {
                let mut json = one.json();
                if let Some(entries) = json.as_object_mut() {
                    entries.insert("source".to_owned(), Json::from(line.source));
                }
                if !request.dry_run {
                    written.push(json);
                }
                if let Json::Array(own) = losses_json(&one.losses.iter().collect::<Vec<_>>()) {
                    losses.extend(own.into_iter().map(|mut loss| {
                        if let Some(entries) = loss.as_object_mut() {
                            entries.insert("source".to_owned(), Json::from(line.source));
                        }
                        loss
                    }));
                }
            }
        }
    }
    super::super::print_json(&json!({ "written": written, "losses": losses, "failed": failed }))
}

/// Says on stderr what a plan lost on its way to a pipe.
pub(super) fn said(out: &str, plan: &Plan, done: &Done) {
    worded(plan.losses.iter().chain(&done.notes)).iter().for_each(|loss| say!("{out}: {loss}"));
}

/// Prints what a conversion would write and lose. Status 1 if it is refused.
pub(super) fn not_written(
    plan: &Plan,
    verdicts: &Verdicts,
    out: &str,
    request: &Request,
) -> anyhow::Result<ExitCode> {
    let refused = plan.is_lossy() && !request.allow_loss;
    let losses: Vec<&Loss> = plan.losses.iter().collect();
    if request.json {
        super::super::print_json(&json!({
            "path": out, "format": request.target.id, "written": [], "refused": refused, "losses": losses_json(&losses),
            "verdict": verdicts.json(),
            "outline": plan.outline.iter().map(|(name, word)| json!({ "name": name, "type": word })).collect::<Vec<_>>(),
        }))?;
    } else if request.dry_run {
        let mut text: String = plan.outline.iter().map(|(name, word)| format!("{name}  {word}\n")).collect();
        worded(&plan.losses).iter().for_each(|loss| text.push_str(&format!("! {loss}\n")));
        super::super::print(&text)?;
    }
    if refused {
        let serious = plan.losses.iter().filter(|loss| loss.serious);
        worded(serious).iter().for_each(|loss| say!("{out}: would lose: {loss}"));
        say!("{out}: nothing was written; --allow-loss writes it all the same");
    }
    Ok(ExitCode::from(u8::from(refused)))
}

/// Losses as JSON.
pub(crate) fn losses_json(losses: &[&Loss]) -> Json {
    let one = |loss: &&Loss| {
        json!({
            "path": if loss.path.is_empty() { String::new() } else { format!("#{}", loss.path) },
            "subject": loss.subject, "kind": loss.kind.word(), "serious": loss.serious,
            "possible": loss.possible, "message": loss.what, "what": loss.what,
        })
    };
    Json::Array(losses.iter().map(one).collect())
}
