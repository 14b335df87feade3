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
                let kinds =
                    |kinds: &[gander::content::Kind]| kinds.iter().map(|k| k.word()).collect::<Vec<_>>();
                json!({
                    "id": f.id, "name": f.name, "extensions": f.extensions, "reads": kinds(f.reads),
                    "writes": f.writer.as_ref().map_or(vec![], |w| kinds(w.accepts)),
                })
            })
            .collect();
        super::print_json(&Value::Array(all))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{:<14}{:<34}{:<28}{:<24}writes\n", "id", "name", "extensions", "reads");
    for f in FORMATS {
        let words =
            |kinds: &[gander::content::Kind]| kinds.iter().map(|k| k.word()).collect::<Vec<_>>().join(" ");
        let writes = f.writer.as_ref().map_or(String::new(), |w| words(w.accepts));
        text.push_str(&format!(
            "{:<14}{:<34}{:<28}{:<24}{writes}\n",
            f.id,
            f.name,
            f.extensions.join(" "),
            words(f.reads)
        ));
    }
    super::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
