//! `gander convert`: any content to any writer that accepts it.

use super::{Stop, progress};
use gander::convert::{self, Consent, Item, Plan, Selection, TARGETS, Target};
use gander::data::adapt::ImageArray;
use gander::data::content::{Array, Content};
use gander::data::format::{Loss, Options, worded};
use gander::data::node::Node;
use gander::{Error, Task};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Arguments of `gander convert`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files or nodes (PATH#NODE), and at the end the file to write
    #[arg(required_unless_present = "list", num_args = 2.., value_names = ["PATH[#NODE]", "OUT"])]
    paths: Vec<String>,
    /// The format to write; without it the extension of OUT decides
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Write even if values get lost; the losses are printed
    #[arg(long)]
    allow_loss: bool,
    /// Replace OUT if it exists
    #[arg(long)]
    overwrite: bool,
    /// Add the rows to OUT, which is there already: all of them, or none
    #[arg(long, conflicts_with = "overwrite")]
    append: bool,
    /// Rows A..B of a table, 0-based, end excluded
    #[arg(long)]
    rows: Option<String>,
    /// Columns of a table, by name
    #[arg(long, value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// A slice of an array or picture as in NumPy: I,A..B,A..B..S
    #[arg(long, allow_hyphen_values = true)]
    slice: Option<String>,
    /// What is written of numbers with a scale, an offset or a fill value: what they stand for or what is
    /// stored. Without it tables hold what is shown, arrays what is stored; pictures always that
    #[arg(long, value_parser = ["shown", "stored"])]
    values: Option<String>,
    /// An option of the writer: name=value
    #[arg(short, long = "option", value_name = "NAME=VALUE")]
    option: Vec<String>,
    #[command(flatten)]
    opening: super::OpenArgs,
    /// Say what would be written and lost, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// List what can be written from what, with all options
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.list {
        return list(args.json);
    }
    let Some((out, sources)) = args.paths.split_last() else { return Ok(ExitCode::from(2)) };
    let (target, selection, options) = match request(args, out) {
        Ok(request) => request,
        Err(words) => return Ok(super::usage(words)),
    };
    let task = Task::new();
    // A source's name is in its own errors; what is left is about the target.
    let named = |error: Error| match sources {
        [one] => error.in_file(super::split_target(one).0.display()),
        _ => error,
    };
    let mut nodes = Vec::new();
    let planned = progress::with_progress(&task, || {
        let items = gather(&task, args, sources, &mut nodes)?;
        selection.slice.as_deref().map_or(Ok(()), |slice| fits(slice, &items)).map_err(Stop::Usage)?;
        Ok::<_, Stop>(convert::plan(&items, target, &options, &selection).map_err(named)?)
    });
    let plan = match planned {
        Ok(plan) => plan,
        Err(stop) => return stop.say(out, args.json),
    };
    if plan.is_lossy() && !args.allow_loss || args.dry_run {
        return report(&plan, out, args);
    }
    let consent = Consent { overwrite: args.overwrite, lose: args.allow_loss };
    let done = progress::with_progress(&task, || match args.append {
        true => plan.append(&task, Path::new(out), consent),
        false => plan.run(&task, Path::new(out), consent),
    });
    match done.map_err(named) {
        Err(error) => Stop::of(error, "-o", &options).say(out, args.json),
        Ok(done) => {
            let losses: Vec<&Loss> = plan.losses.iter().chain(&done.notes).collect();
            if args.json {
                super::print_json(&json!({
                    "path": out, "format": target.id, "bytes": done.bytes, "losses": losses_json(&losses),
                }))?;
            } else {
                worded(losses).iter().for_each(|loss| eprintln!("{out}: {loss}"));
            }
            let cut = nodes.iter().filter(|(node, path)| super::found(node, path)).count();
            Ok(ExitCode::from(u8::from(cut > 0)))
        }
    }
}

/// What the arguments ask for, as far as they tell it without a look at the sources.
fn request(args: &Args, out: &str) -> Result<(&'static Target, Selection, Options), String> {
    // What is added to says itself what it is.
    let there =
        args.append.then(|| gander::open(&Task::new(), Path::new(out), &Options::default()).ok()).flatten();
    let id = args.to.as_deref().or_else(|| there.as_ref().map(|document| document.format.id));
    let target = target(id, out)?;
    let mut options = Options::default();
    for item in &args.option {
        let (name, value) = super::named_value("-o", item)?;
        options.set(name, value);
    }
    if let Some(values) = &args.values {
        options.set(convert::VALUES.name, values.as_str());
    }
    target.check(&options).map_err(|error| format!("-o {}", super::words(&error)))?;
    let rows = args.rows.as_deref().map(super::range).transpose()?;
    args.slice.as_deref().map_or(Ok(()), super::is_slice)?;
    Ok((target, Selection { rows, columns: args.columns.clone(), slice: args.slice.clone() }, options))
}

/// Whether a slice fits all items that can be sliced.
fn fits(slice: &str, items: &[Item]) -> Result<(), String> {
    for item in items {
        match &item.content {
            Content::Array(array) => super::fits_slice(slice, array.shape())?,
            Content::Image(image) => super::fits_slice(slice, ImageArray::new(image.clone()).shape())?,
            Content::Table(_) | Content::Text(_) | Content::Bytes(_) => {}
        }
    }
    Ok(())
}

/// The target of this id, or else of the file's extension.
pub(crate) fn target(to: Option<&str>, out: &str) -> Result<&'static Target, String> {
    let ids = || TARGETS.iter().map(|t| t.id).collect::<Vec<_>>().join(", ");
    match to {
        Some(id) => Target::by_id(id)
            .ok_or_else(|| format!("--to {id}: there is no such writer; there are {}", ids())),
        None => Target::of_path(Path::new(out))
            .ok_or_else(|| format!("{out}: the extension does not say what to write; --to takes {}", ids())),
    }
}

/// Everything that the sources name, and their nodes with the paths of their files.
fn gather(
    task: &Task,
    args: &Args,
    sources: &[String],
    nodes: &mut Vec<(Arc<Node>, String)>,
) -> Result<Vec<Item>, Stop> {
    let mut items = Vec::new();
    for source in sources {
        let (path, _) = super::split_target(source);
        let (document, node, node_path) = super::open(task, source, &args.opening)?;
        items.extend(
            convert::gather(task, &document.source, &node, &node_path)
                .map_err(|e| e.in_file(path.display()))?,
        );
        nodes.push((node, path.display().to_string()));
    }
    Ok(items)
}

/// Prints what a conversion would write and lose. Status 1 if it is refused.
fn report(plan: &Plan, out: &str, args: &Args) -> anyhow::Result<ExitCode> {
    let refused = plan.is_lossy() && !args.allow_loss;
    let losses: Vec<&Loss> = plan.losses.iter().collect();
    if args.json {
        super::print_json(&json!({
            "path": out, "written": false, "refused": refused, "losses": losses_json(&losses),
            "outline": plan.outline.iter().map(|(name, word)| json!({ "name": name, "type": word })).collect::<Vec<_>>(),
        }))?;
    } else if args.dry_run {
        let mut text: String = plan.outline.iter().map(|(name, word)| format!("{name}  {word}\n")).collect();
        worded(&plan.losses).iter().for_each(|loss| text.push_str(&format!("! {loss}\n")));
        super::print(&text)?;
    }
    if refused {
        let serious = plan.losses.iter().filter(|loss| loss.serious);
        worded(serious).iter().for_each(|loss| eprintln!("{out}: would lose: {loss}"));
        eprintln!("{out}: nothing was written; --allow-loss writes it all the same");
    }
    Ok(ExitCode::from(u8::from(refused)))
}

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

/// `--list`: which kinds each target takes, and its options.
fn list(as_json: bool) -> anyhow::Result<ExitCode> {
    let kinds = |target: &Target| -> Vec<&str> { target.takes().iter().map(|kind| kind.word()).collect() };
    if as_json {
        let one = |target: &Target| {
            let options: Vec<Json> = target
                .options()
                .iter()
                .chain([&convert::VALUES])
                .map(|o| json!({ "name": o.name, "help": o.help, "values": o.values, "default": target.default_of(o) }))
                .collect();
            json!({
                "id": target.id, "name": target.name, "extensions": target.extensions, "takes": kinds(target),
                "several": target.writer.many, "options": options,
            })
        };
        super::print_json(&TARGETS.iter().copied().map(one).collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |target: &Target| {
        vec![
            target.id.to_owned(),
            target.name.to_owned(),
            target.extensions.join(" "),
            kinds(target).join(" "),
        ]
    };
    let lines = super::aligned(&TARGETS.iter().copied().map(row).collect::<Vec<_>>());
    let mut text = String::new();
    for (target, line) in TARGETS.iter().zip(lines) {
        text.push_str(&format!("{line}\n"));
        for option in target.options().iter().chain([&convert::VALUES]) {
            let values = if option.values.is_empty() {
                String::new()
            } else {
                format!(" ({})", option.values.join(", "))
            };
            let default = match target.default_of(option) {
                "" => String::new(),
                default => format!("; default {default}"),
            };
            text.push_str(&format!("    -o {}=…  {}{values}{default}\n", option.name, option.help));
        }
    }
    super::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
