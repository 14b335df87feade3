//! `gander query`: SQL over files; each file is a table named after its stem.

use super::terminal::{self, say};
use super::{convert, interrupt, json, progress, show};
use gander::convert::{Consent, Item, Selection};
use gander::data::cell;
use gander::data::content::{Content, Table};
use gander::data::format::{Loss, Options, worded};
use gander::data::node::Node;
use gander::query::{Engine, Failure, QueryResult, Settings, stem, table_name};
use gander::{Error, Task};
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of `gander query`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The statement: SELECT, WITH, VALUES, EXPLAIN, DESCRIBE or SHOW TABLES; files may be named in quotes
    sql: String,
    /// Files, folders or nodes (PATH#NODE); each is a table named after its stem
    pub(crate) paths: Vec<String>,
    /// Write the result to this file, in the format of its extension
    #[arg(short, long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// The format to write; without it the extension of OUT decides
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Replace OUT if it exists
    #[arg(long)]
    overwrite: bool,
    /// Write even if values get lost; the losses are printed
    #[arg(long)]
    allow_loss: bool,
    /// Rows A..B of the result to print; all as JSON, else the first 20
    #[arg(long)]
    rows: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the plan with its timing after the result, on stderr
    #[arg(long)]
    plan: bool,
    /// Megabytes of memory for sorting, joining and grouping; beyond it temporary files are used
    #[arg(long, value_name = "MB")]
    memory: Option<usize>,
    /// How many threads work
    #[arg(long)]
    threads: Option<usize>,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// Rows printed as text when none are asked for.
const ROWS: u64 = 20;
/// How long an interrupted query may take to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Rows of JSON read at once.
const STEP: u64 = 8_192;
/// Bytes of JSON that are kept before they are printed.
const BUFFERED: usize = 1 << 16;

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let rows = match args.rows.as_deref().map(super::range).transpose() {
        Ok(rows) => rows,
        Err(words) => return Ok(super::usage(words)),
    };
    let task = Task::new();
    interrupt::stops(&task);
    let done = work(args, &task, rows);
    if task.is_cancelled() {
        // Temporary files go with the last step that works, or now.
        gander::query::settled(PATIENCE);
        gander::query::remove_spilled();
        return Ok(interrupt::status());
    }
    done
}

/// Runs the statement, and prints or writes the result.
fn work(args: &Args, task: &Task, rows: Option<Range<u64>>) -> anyhow::Result<ExitCode> {
    let engine = Engine::new(settings(args), Vec::new());
    let mut nodes = Vec::new();
    for target in &args.paths {
        let path = super::split_target(target).0.display().to_string();
        match add(task, &engine, target, &args.opening) {
            Ok(node) => nodes.push((node, path)),
            Err(stop) => return stop.say(&path, args.json),
        }
    }
    let answer = match progress::with_progress(task, || engine.run(task, &args.sql, |_| {})) {
        Ok(answer) => answer,
        Err(failure) => return refused(args, &failure),
    };
    let done = match &args.out {
        Some(out) => write(args, task, &answer, out),
        None => print(args, task, &answer, rows),
    };
    if args.plan {
        let (planning, first) = answer.timing();
        let first = first.map_or(String::new(), |t| format!(", first rows after {:.3} s", t.as_secs_f64()));
        say!(
            "{}planned in {:.3} s{first}, done in {:.3} s",
            answer.plan(),
            planning.as_secs_f64(),
            answer.elapsed().as_secs_f64()
        );
    }
    let named = engine.named_nodes().into_iter().map(|(path, node)| (node, path));
    let cut = nodes.into_iter().chain(named).filter(|(node, path)| super::wrong(node, path)).count();
    if cut > 0 { done.map(|_| ExitCode::from(1)) } else { done }
}

/// The result of a statement over files as something to convert.
///
/// # Errors
/// Files that cannot be read; a mistake in the statement as wrong usage.
pub(crate) fn result_of<'a>(
    task: &Task,
    sql: &str,
    targets: impl Iterator<Item = &'a str>,
    opening: &super::OpenArgs,
) -> Result<Item, super::Stop> {
    let engine = Engine::new(Settings::default(), Vec::new());
    let mut nodes = Vec::new();
    for target in targets {
        let path = super::split_target(target).0.display().to_string();
        nodes.push((path, add(task, &engine, target, opening)?));
    }
    let answer = engine.run(task, sql, |_| {}).map_err(|failure| match failure {
        Failure::Sql(mistake) => super::Stop::Usage(format!("SQL: {mistake}")),
        Failure::Run(error) => super::Stop::Failed(error),
    })?;
    nodes.extend(engine.named_nodes());
    let problem = nodes.iter().find_map(|(path, node)| Some(node.problem_now()?.in_file(path)));
    let table: Arc<dyn Table> = answer;
    Ok(Item { problem, ..Item::new("query", Content::Table(table), Default::default()) })
}

fn settings(args: &Args) -> Settings {
    let mut settings = Settings::default();
    if let Some(megabytes) = args.memory {
        settings.memory = megabytes.max(16) << 20;
    }
    if let Some(threads) = args.threads {
        settings.threads = threads.clamp(1, 256);
    }
    settings
}

/// Makes a file, or the node of it that is named, a table.
fn add(
    task: &Task,
    engine: &Engine,
    target: &str,
    opening: &super::OpenArgs,
) -> Result<Arc<Node>, super::Stop> {
    let (document, node, path) = super::open(task, target, opening)?;
    if path.is_empty() {
        engine.add_document(task, &document)?;
        return Ok(node);
    }
    match &node.content {
        Some(Content::Table(table)) => {
            engine.add_table(&table_name(document.source.name(), &path), table.clone());
            Ok(node)
        }
        _ => Err(Error::unsupported(format!("{path} is no table")).into()),
    }
}

/// A mistake in the statement is wrong usage; what could not be read is a failed read.
fn refused(args: &Args, failure: &Failure) -> anyhow::Result<ExitCode> {
    match failure {
        Failure::Sql(mistake) => {
            say!("SQL: {mistake}");
            if args.json {
                let place = mistake.place.as_ref();
                super::print_json(&json!({ "sql": args.sql, "error": {
                    "kind": "unsupported", "message": mistake.message, "at": place.map(|p| p.bytes.start),
                    "line": place.map(|p| p.line), "column": place.map(|p| p.column),
                } }))?;
            }
            Ok(ExitCode::from(2))
        }
        Failure::Run(error) => {
            say!("{error}");
            if args.json {
                super::print_json(&json!({ "sql": args.sql, "error": json::error(error) }))?;
            }
            Ok(ExitCode::from(1))
        }
    }
}

/// Writes the result as `gander convert` writes a table.
fn write(args: &Args, task: &Task, answer: &Arc<QueryResult>, out: &Path) -> anyhow::Result<ExitCode> {
    let name = out.display().to_string();
    let target = match convert::target(args.to.as_deref(), &name) {
        Ok(target) => target,
        Err(words) => return Ok(super::usage(words)),
    };
    let table: Arc<dyn Table> = answer.clone();
    let item = Item::new(stem(&name), Content::Table(table), Default::default());
    let mut plan = match gander::convert::plan(&[item], target, &Options::default(), &Selection::default()) {
        Ok(plan) => plan,
        Err(error) => return super::failed(&error, &name, args.json),
    };
    if !args.allow_loss
        && let Err(error) = progress::with_progress(task, || plan.look(task))
    {
        return super::failed(&error, &name, args.json);
    }
    if plan.is_lossy() && !args.allow_loss {
        let serious = worded(plan.losses.iter().filter(|loss| loss.serious));
        serious.iter().for_each(|loss| say!("{name}: would lose: {loss}"));
        say!("{name}: nothing was written; --allow-loss writes it all the same");
        return Ok(ExitCode::from(1));
    }
    let consent = Consent { overwrite: args.overwrite, lose: args.allow_loss };
    match progress::with_progress(task, || plan.run(task, out, consent)) {
        Err(error) => super::failed(&error, &name, args.json),
        Ok(done) => {
            let losses: Vec<&Loss> = plan.losses.iter().chain(&done.notes).collect();
            if args.json {
                super::print_json(&json!({
                    "path": name, "format": target.id, "bytes": done.bytes, "rows": answer.rows().exact(),
                    "losses": convert::losses_json(&losses),
                }))?;
            } else {
                losses.iter().for_each(|loss| say!("{name}: {loss}"));
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print(
    args: &Args,
    task: &Task,
    answer: &Arc<QueryResult>,
    rows: Option<Range<u64>>,
) -> anyhow::Result<ExitCode> {
    let columns: Vec<usize> = (0..answer.schema().fields().len()).collect();
    if args.json {
        let printed = print_json(task, answer, &columns, rows.unwrap_or(0..u64::MAX));
        return match printed {
            Err(error) if is_closed(&error) => Ok(ExitCode::SUCCESS),
            other => other.map(|()| ExitCode::SUCCESS),
        };
    }
    let rows = rows.unwrap_or(0..ROWS);
    let batch = answer.read(task, rows.clone(), &columns)?;
    super::print(&show::aligned(answer.as_ref(), &columns, Some(rows.start), &batch))?;
    Ok(ExitCode::SUCCESS)
}

fn is_closed(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// As `gander show --json`, a step of rows at a time.
fn print_json(task: &Task, answer: &QueryResult, columns: &[usize], rows: Range<u64>) -> anyhow::Result<()> {
    let names: Vec<&str> = answer.schema().fields().iter().map(|f| f.name().as_str()).collect();
    let total = answer.rows().number();
    let end = rows.end.min(total);
    let mut out = format!("{{\"columns\":{},\"first_row\":{},\"rows\":[", json!(names), rows.start);
    let mut at = rows.start;
    while at < end {
        let batch = answer.read(task, at..(at + STEP).min(end), columns)?;
        for row in 0..batch.num_rows() {
            let comma = if row == 0 && at == rows.start { "" } else { "," };
            let cells: serde_json::Value =
                batch.columns().iter().map(|column| cell::text(column.as_ref(), row)).collect();
            out.push_str(&format!("{comma}{cells}"));
            if out.len() >= BUFFERED {
                terminal::print(std::mem::take(&mut out).as_bytes())?;
            }
        }
        at += STEP;
    }
    Ok(terminal::print(format!("{out}],\"total\":{total}}}\n").as_bytes())?)
}
