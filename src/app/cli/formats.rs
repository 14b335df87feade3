//! `gander formats`: every format.

use gander::formats::FORMATS;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Arguments of `gander formats`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.json {
        let all: Vec<Value> = FORMATS
            .iter()
            .map(|f| {
                let kinds = |kinds: &[gander::data::content::Kind]| {
                    kinds.iter().map(|k| k.word()).collect::<Vec<_>>()
                };
                json!({
                    "id": f.id, "name": f.name, "extensions": f.extensions, "reads": kinds(f.reads),
                    "writes": f.targets.first().map_or(vec![], |target| kinds(target.writer.accepts)),
                })
            })
            .collect();
        super::print_json(&Value::Array(all))?;
        return Ok(ExitCode::SUCCESS);
    }
    // The endings stand last: some formats have many.
    let mut rows = vec![["id", "name", "reads", "writes", "extensions"].map(str::to_owned).to_vec()];
    for f in FORMATS {
        let words = |kinds: &[gander::data::content::Kind]| {
            kinds.iter().map(|k| k.word()).collect::<Vec<_>>().join(" ")
        };
        let writes = f.targets.first().map_or(String::new(), |target| words(target.writer.accepts));
        rows.push(vec![f.id.to_owned(), f.name.to_owned(), words(f.reads), writes, f.extensions.join(" ")]);
    }
    super::print(&(super::aligned(&rows).join("\n") + "\n"))?;
    Ok(ExitCode::SUCCESS)
}
