//! `gander`: arguments in, window or command out.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read their fixtures whole"))]

mod cli;
#[cfg(feature = "gui")]
mod gui;
mod isolation;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Opens any machine-learning data or model file: browse it, check it, convert it.
#[derive(Parser)]
#[command(version, about, args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    window: Window,
    /// Read each file in a process of its own: what a file does to its reader ends there. So the window does,
    /// unless its settings say otherwise, render, and every command that is given a folder of any files
    #[arg(long, global = true)]
    isolate: bool,
    /// Read files in this process, all of them
    #[arg(long, global = true, conflicts_with_all = ["isolate", "reads"])]
    no_isolate: bool,
    /// A folder that isolated readers may read beside that of their file, where a file names others
    #[arg(long, global = true, value_name = "FOLDER")]
    reads: Vec<PathBuf>,
    /// Files and folders to open in the window; FILE#NODE opens it at a node
    files: Vec<PathBuf>,
}

/// How the window starts.
#[derive(clap::Args)]
struct Window {
    /// Save a picture of the window as PNG once nothing moves any more, and close it
    #[arg(long, value_name = "OUT.png")]
    screenshot: Option<PathBuf>,
    /// The window's size in points
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    size: Option<(f32, f32)>,
    /// Light or dark colours, whatever the desktop says
    #[arg(long, value_name = "NAME", value_parser = ["system", "light", "dark"])]
    theme: Option<String>,
    /// Start without the tabs of the last session
    #[arg(long)]
    new: bool,
    /// What draws the window: glow (OpenGL) or wgpu (Vulkan, Metal, Direct3D)
    #[arg(long, value_name = "NAME")]
    renderer: Option<String>,
}

fn size(text: &str) -> Result<(f32, f32), String> {
    let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    sides.ok_or_else(|| "it is written as 1400x900".to_owned())
}

#[derive(Subcommand)]
enum Command {
    /// What is inside: nodes, kinds, types, shapes, attributes
    Tree(cli::tree::Args),
    /// Values: rows of a table, elements of an array, lines of a text, pixels
    Show(cli::show::Args),
    /// One full pass over the data: counts, extremes, sums, checksums
    Stats(cli::stats::Args),
    /// What is wrong with the tensors of a model: errors, warnings, notes
    Health(cli::health::Args),
    /// The view of a node as a picture, without a display; files are read as with --isolate
    Render(cli::render::Args),
    /// SQL over files: each is a table named after its stem
    Query(cli::query::Args),
    /// Writes content in another format: any nodes to any writer that accepts them
    Convert(cli::convert::Args),
    /// Every format: extensions, kinds read, kinds written
    Formats(cli::formats::Args),
}

fn main() -> ExitCode {
    if let Some(status) = isolation::work() {
        return status;
    }
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let isolated = taken_from_the_front(&mut words);
    let words = match words.iter().map(|word| word.clone().into_string()).collect::<Result<Vec<_>, _>>() {
        Ok(words) => match cli::convert::rewritten(words) {
            Ok(words) => words.into_iter().map(Into::into).collect(),
            Err(help) => {
                print!("{help}");
                return ExitCode::SUCCESS;
            }
        },
        // Names that are no UTF-8 are files, not options.
        Err(_) => words,
    };
    let mut arguments = Arguments::parse_from(words);
    match isolated {
        Some(true) if arguments.no_isolate => {
            return cli::usage("--isolate and --no-isolate exclude each other");
        }
        Some(true) => arguments.isolate = true,
        Some(false) => arguments.no_isolate = true,
        None => {}
    }
    isolate(&arguments);
    if arguments.command.is_none() {
        // A window stays open for days.
        gander::bytes::cache::keep_little();
    }
    let no_isolate = arguments.no_isolate;
    let result = match arguments.command {
        Some(Command::Tree(args)) => cli::guarded(|| cli::tree::run(&args)),
        Some(Command::Show(args)) => cli::guarded(|| cli::show::run(&args)),
        Some(Command::Stats(args)) => cli::guarded(|| cli::stats::run(&args)),
        Some(Command::Health(args)) => cli::guarded(|| cli::health::run(&args)),
        Some(Command::Render(args)) => cli::guarded(|| cli::render::run(&args, render)),
        Some(Command::Query(args)) => cli::guarded(|| cli::query::run(&args)),
        Some(Command::Convert(args)) => cli::guarded(|| cli::convert::run(&args)),
        Some(Command::Formats(args)) => cli::guarded(|| cli::formats::run(&args)),
        None => window(arguments.files, arguments.window, no_isolate),
    };
    result.unwrap_or_else(|error| {
        cli::terminal::say!("{error:#}");
        ExitCode::from(1)
    })
}

/// Whether `--isolate` or its contrary stands before the command, where it would be the window's own; it is taken away.
fn taken_from_the_front(words: &mut Vec<OsString>) -> Option<bool> {
    let asked = match words.get(1)? {
        word if word == isolation::ARGUMENT => true,
        word if word == isolation::NOT => false,
        _ => return None,
    };
    words.remove(1);
    Some(asked)
}

/// Begins to read files in processes of their own, where that was asked for or is usual for the command. There is one
/// thread yet.
fn isolate(arguments: &Arguments) {
    if arguments.no_isolate {
        return;
    }
    let asked = arguments.isolate || !arguments.reads.is_empty();
    let is_usual = match &arguments.command {
        // The window asks its settings first.
        None => false,
        Some(Command::Render(_)) => true,
        // Who names a folder of any files has not looked at each of them.
        Some(command) => {
            let paths = command.targets().iter().map(|target| cli::split_target(target).0);
            !asked && paths.into_iter().any(|path| path.is_dir() && isolation::is_of_any_files(&path))
        }
    };
    if asked || is_usual || arguments.command.is_none() {
        isolation::prepare();
    }
    if asked || is_usual {
        isolation::start(&arguments.reads);
    }
}

impl Command {
    /// What it reads, as it stands on the command line.
    fn targets(&self) -> &[String] {
        match self {
            Command::Tree(args) => &args.paths,
            Command::Show(args) => std::slice::from_ref(&args.target),
            Command::Stats(args) => std::slice::from_ref(&args.target),
            Command::Health(args) => std::slice::from_ref(&args.target),
            Command::Render(args) => std::slice::from_ref(&args.target),
            Command::Query(args) => &args.paths,
            // The last one is written.
            Command::Convert(args) => args.paths.split_last().map_or(&[], |(_, read)| read),
            Command::Formats(_) => &[],
        }
    }
}

#[cfg(feature = "gui")]
fn window(files: Vec<PathBuf>, window: Window, no_isolate: bool) -> anyhow::Result<ExitCode> {
    let renderer = window.renderer.as_deref().map(gui::Options::renderer).transpose()?;
    let Window { screenshot, size, theme, new, .. } = window;
    gui::run(files, gui::Options { renderer, screenshot, size, theme, new, no_isolate })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "gui")]
fn render(picture: &cli::render::Picture) -> anyhow::Result<()> {
    gui::render(picture)
}

#[cfg(not(feature = "gui"))]
fn render(_picture: &cli::render::Picture) -> anyhow::Result<()> {
    anyhow::bail!("gander render: this build has no views to draw (feature `gui`)")
}

#[cfg(not(feature = "gui"))]
fn window(_files: Vec<PathBuf>, _window: Window, _no_isolate: bool) -> anyhow::Result<ExitCode> {
    anyhow::bail!("gander: this build has no window (feature `gui`); see gander --help for the commands")
}
