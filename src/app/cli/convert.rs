//! `gander convert`: any content to any writer that accepts it: one file of everything that is named, a file each in a
//! folder, or a pipe.

mod arguments;
mod each;
mod list;
mod report;
mod request;
mod sources;

use super::{Stop, interrupt, progress};
use gander::convert::{self, Consent, Item, Plan};
use gander::data::adapt::ImageArray;
use gander::data::content::{Array, Content};
use gander::data::node::Node;
use gander::{Error, Task};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) use arguments::rewritten;
pub(crate) use report::losses_json;
use report::{Verdicts, Written, write};
use request::Request;
pub(crate) use request::target;
use sources::Input;

/// Arguments of `gander convert`. Options of the writer may stand as arguments of their own: --compression zstd.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files, folders, patterns or nodes (PATH#NODE), and at the end the file to write, or a folder for a file each; - reads
    /// from standard input or writes to standard output
    #[arg(required_unless_present_any = ["list", "recipe"], value_names = ["PATH[#NODE]", "OUT"])]
    pub(crate) paths: Vec<String>,
    /// The format to write; without it the extension of OUT decides. With --help: what can be set for it
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Write even if values get lost; the losses are printed
    #[arg(long)]
    allow_loss: bool,
    /// Replace OUT if it exists
    #[arg(long)]
    overwrite: bool,
    /// Read back what was written and compare every value; that is done anyway below 1 GB
    #[arg(long, overrides_with = "no_verify")]
    verify: bool,
    /// Do not read back what was written
    #[arg(long)]
    no_verify: bool,
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
    /// SQL over the sources, each a table named after its stem; its result is written
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// What is written of numbers with a scale, an offset or a fill value: what they stand for or what is
    /// stored. Without it tables hold what is shown, arrays what is stored; pictures always that
    #[arg(long, value_parser = ["shown", "stored"])]
    values: Option<String>,
    /// The type of the numbers in arrays: bf16, float16, f32, int8 and others. Floats alone, unless -o cast=all
    #[arg(long)]
    dtype: Option<String>,
    /// How the tensors of a GGUF file are quantised: q8_0, q4_0, q4_1, q5_0, q5_1
    #[arg(long)]
    quantize: Option<String>,
    /// An option of the writer: name=value
    #[arg(short, long = "option", value_name = "NAME=VALUE")]
    option: Vec<String>,
    /// Repeat the conversion that this file describes; what else is given here goes first
    #[arg(long, value_name = "FILE.toml")]
    recipe: Option<String>,
    /// Write as the preset of this name says
    #[arg(long, value_name = "NAME", conflicts_with = "recipe")]
    preset: Option<String>,
    /// Save this conversion as a recipe, and write nothing
    #[arg(long, value_name = "FILE.toml")]
    save_recipe: Option<String>,
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
        return list::all(args.json);
    }
    let task = Task::new();
    let request = match Request::of(&task, args) {
        Ok(request) => request,
        Err(stop) => return stop.say(args.recipe.as_deref().unwrap_or("gander convert"), args.json),
    };
    if let Some(path) = &args.save_recipe {
        return match request.recipe().save(Path::new(path), args.overwrite) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => super::failed(&error, path, false),
        };
    }
    convert::output::sweep();
    interrupt::stops(&task);
    let done = work(&task, &request);
    if task.is_cancelled() { Ok(interrupt::status()) } else { done }
}

fn work(task: &Task, request: &Request) -> anyhow::Result<ExitCode> {
    let inputs = match sources::expanded(task, request) {
        Ok(inputs) => inputs,
        Err(stop) => return stop.say(&request.out, request.json),
    };
    match request.is_folder {
        true => each::run(task, request, &inputs),
        false => together(task, request, &inputs),
    }
}

/// All sources in one file, or to standard output.
fn together(task: &Task, request: &Request, inputs: &[Input]) -> anyhow::Result<ExitCode> {
    let out = request.out.as_str();
    let (mut nodes, mut verdicts) = (Vec::new(), Verdicts::default());
    let planned = progress::with_progress(task, || planned(task, request, inputs, &mut nodes, &mut verdicts));
    if !request.json {
        verdicts.say();
    }
    let mut plan = match planned {
        Ok(plan) => plan,
        Err(stop) => return stop.say(out, request.json),
    };
    if !request.allow_loss
        && let Err(error) = progress::with_progress(task, || plan.look(task))
    {
        return Stop::Failed(error).say(out, request.json);
    }
    if plan.is_lossy() && !request.allow_loss || request.dry_run {
        return report::not_written(&plan, &verdicts, out, request);
    }
    if out == "-" {
        return to_standard_output(task, request, &plan);
    }
    let written = progress::with_progress(task, || write(task, &plan, Path::new(out), request));
    // A source's name is in its own errors; what is left is about the target.
    match written.map_err(|error| named(inputs, error)) {
        Err(error) => Stop::of(error, "-o", &request.options).say(out, request.json),
        Ok(written) => {
            let is_equal = written.is_equal();
            report::written(&[written], &verdicts, request)?;
            let cut = nodes.iter().filter(|(node, path)| super::found(node, path)).count();
            Ok(ExitCode::from(u8::from(cut > 0 || !is_equal)))
        }
    }
}

fn named(inputs: &[Input], error: Error) -> Error {
    match inputs {
        [one] => error.in_file(super::split_target(&one.target).0.display()),
        _ => error,
    }
}

/// The plan for these sources.
fn planned(
    task: &Task,
    request: &Request,
    inputs: &[Input],
    nodes: &mut Vec<(Arc<Node>, String)>,
    verdicts: &mut Verdicts,
) -> Result<Plan, Stop> {
    let items = gather(task, request, inputs, nodes, verdicts)?;
    request.selection.slice.as_deref().map_or(Ok(()), |slice| fits(slice, &items)).map_err(Stop::Usage)?;
    let plan = convert::plan(&items, request.target, &request.options, &request.selection);
    plan.map_err(|error| Stop::of(named(inputs, error), "-o", &request.options))
}

fn to_standard_output(task: &Task, request: &Request, plan: &Plan) -> anyhow::Result<ExitCode> {
    let consent = Consent { overwrite: false, lose: request.allow_loss };
    let mut pipe = sources::Pipe::new(std::io::stdout());
    match plan.stream(task, &mut pipe, consent).and_then(|done| Ok(pipe.flush().map(|()| done)?)) {
        Ok(done) => {
            report::said("-", plan, &done);
            Ok(ExitCode::SUCCESS)
        }
        // Whoever reads has seen enough.
        Err(_) if pipe.is_closed() => Ok(ExitCode::SUCCESS),
        Err(error) => super::failed(&error, "-", false),
    }
}

/// Whether a slice fits all items that can be sliced.
fn fits(slice: &str, items: &[Item]) -> Result<(), String> {
    for item in items {
        match &item.content {
            Content::Array(array) => super::fits_slice(slice, array.shape())?,
            Content::Image(image) => super::fits_slice(slice, ImageArray::new(image.clone()).shape())?,
            Content::Table(_) | Content::Text(_) | Content::Graph(_) | Content::Bytes(_) => {}
        }
    }
    Ok(())
}

/// Everything that the sources name, and their nodes with the paths of their files.
fn gather(
    task: &Task,
    request: &Request,
    inputs: &[Input],
    nodes: &mut Vec<(Arc<Node>, String)>,
    verdicts: &mut Verdicts,
) -> Result<Vec<Item>, Stop> {
    if let Some(sql) = &request.query {
        return Ok(vec![super::query::result_of(
            task,
            sql,
            inputs.iter().map(|i| i.target.as_str()),
            &request.opening,
        )?]);
    }
    let mut items = Vec::new();
    for input in inputs {
        let (path, _) = super::split_target(&input.target);
        let (document, node, node_path) = super::open(task, &input.target, &request.opening)?;
        let found = convert::gather(task, &document.source, &node, &node_path);
        let found = found.map_err(|e| e.in_file(path.display()))?;
        items.extend(found.into_iter().map(|item| match &input.name {
            // What came through a pipe has no name of its own.
            Some(name) if node_path.is_empty() && node.content.is_some() => {
                Item { name: name.clone(), ..item }
            }
            _ => item,
        }));
        verdicts.0.extend(document.root.security.clone().map(|report| (path.display().to_string(), report)));
        nodes.push((node, path.display().to_string()));
    }
    Ok(items)
}

/// What was written of a source, and to where: for reports of several.
struct Line<'a> {
    source: &'a str,
    out: String,
    result: Result<Written, Error>,
}
