//! `gander`: arguments in, window or command out.

mod cli;
#[cfg(feature = "gui")]
mod gui;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Opens any machine-learning data or model file: browse it, check it, convert it.
#[derive(Parser)]
#[command(version, about, args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Files and folders to open in the window
    files: Vec<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// What is inside: nodes, kinds, types, shapes, attributes
    Tree(cli::tree::Args),
    /// Values: rows of a table, elements of an array, lines of a text, pixels
    Show(cli::show::Args),
    /// One full pass over the data: counts, extremes, sums, checksums
    Stats(cli::stats::Args),
    /// Writes content in another format: any nodes to any writer that accepts them
    Convert(cli::convert::Args),
    /// Every format: extensions, kinds read, kinds written
    Formats(cli::formats::Args),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Some(Command::Tree(args)) => cli::tree::run(&args),
        Some(Command::Show(args)) => cli::show::run(&args),
        Some(Command::Stats(args)) => cli::stats::run(&args),
        Some(Command::Convert(args)) => cli::convert::run(&args),
        Some(Command::Formats(args)) => cli::formats::run(&args),
        None => window(arguments.files),
    };
    result.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::from(1)
    })
}

#[cfg(feature = "gui")]
fn window(files: Vec<PathBuf>) -> anyhow::Result<ExitCode> {
    let _ = files;
    anyhow::bail!("gander: the window comes with the next commits; see gander --help for the commands")
}

#[cfg(not(feature = "gui"))]
fn window(_files: Vec<PathBuf>) -> anyhow::Result<ExitCode> {
    anyhow::bail!("gander: this build has no window (feature `gui`); see gander --help for the commands")
}
