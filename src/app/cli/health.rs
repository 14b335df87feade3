//! `gander health`: what is wrong with the tensors of a model.

use super::progress;
use super::report::{Form, ReportArgs, Rows, Wanted};
use gander::Task;
use gander::bytes::display;
use gander::data::health::{self, Finding, Health, Severity};
use serde_json::{Value as Json, json};
use std::process::ExitCode;

/// Arguments of `gander health`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file or folder, or one node of it: PATH#NODE
    pub(crate) target: String,
    /// The least severity that sets exit status 1
    #[arg(long, value_enum, default_value = "error", value_name = "SEVERITY")]
    fail_on: FailOn,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// What sets the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    Error,
    Warning,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let task = Task::new();
    let (path, _) = super::split_target(&args.target);
    let path = path.display().to_string();
    let report = match args.report.wanted() {
        Ok(report) => report,
        Err(stop) => return stop.say(&path, args.json),
    };
    let (document, node, node_path) = match super::open(&task, &args.target, &args.opening) {
        Ok(opened) => opened,
        Err(stop) => return stop.say(&path, args.json),
    };
    if let Some(problem) = super::refused(&document).filter(|_| node_path.is_empty()) {
        return super::failed(problem, &path, args.json);
    }
    let health = match progress::with_progress(&task, || health::of_node(&task, &node, &node_path)) {
        Ok(health) => health,
        Err(error) => return super::failed(&error, &path, args.json),
    };
    match (&report, args.json) {
        (Some(report), _) => {
            if let Err(error) = write(report, &path, &health) {
                return super::failed(&error, &path, args.json);
            }
        }
        (None, true) => super::print(&format!("{}\n", as_json(&path, &health)))?,
        (None, false) => super::print(&as_text(&health))?,
    }
    let worst = match args.fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
    };
    let failed = health.findings.iter().any(|finding| finding.check.severity() <= worst);
    Ok(ExitCode::from(u8::from(failed)))
}

fn as_json(path: &str, health: &Health) -> Json {
    let finding = |finding: &Finding| {
        json!({
            "severity": finding.check.severity().word(),
            "kind": finding.check.word(),
            "path": finding.path,
            "count": finding.count,
            "first": finding.first,
            "message": finding.message,
        })
    };
    json!({
        "path": path,
        "arrays": health.arrays,
        "bytes": health.bytes,
        "findings": health.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

/// Writes the findings as a report.
fn write(report: &Wanted<'_>, path: &str, health: &Health) -> Result<(), gander::Error> {
    const COLUMNS: [&str; 6] = ["severity", "kind", "path", "count", "first", "message"];
    let json = as_json(path, health);
    let mut rows = Rows::new(&COLUMNS);
    for finding in json["findings"].as_array().into_iter().flatten() {
        rows.add(&COLUMNS.map(|name| (name.to_owned(), &finding[name])));
    }
    let text = match report.form {
        Form::Json => format!("{json}\n"),
        Form::Csv => rows.csv(),
        Form::Html => rows.html(&format!("Health of {path}"), &[summary(health)]),
    };
    report.write(&text)
}

/// How much was found in how much.
fn summary(health: &Health) -> String {
    let words = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")]
        .map(|(severity, word)| display::plural(health.count(severity) as u64, word));
    let tensors = display::plural(health.arrays, "tensor");
    format!("{} in {tensors}, {}", words.join(", "), display::bytes(health.bytes))
}

fn as_text(health: &Health) -> String {
    let mut out = String::new();
    for finding in &health.findings {
        let first = finding.first.as_ref().map(|index| format!(", first at {index:?}")).unwrap_or_default();
        let path = if finding.path.is_empty() { "all tensors" } else { &finding.path };
        let severity = finding.check.severity().word();
        out.push_str(&format!("{severity:<8} {path}: {}{first}\n", finding.message));
    }
    out.push_str(&format!("{}\n", summary(health)));
    out
}
