//! What can be written: `--list`, and the options of one target.

use gander::convert::{TARGETS, Target};
use gander::data::format::OptionSpec;
use serde_json::{Value as Json, json};
use std::process::ExitCode;

/// The width of help texts, in characters.
const WIDTH: usize = 100;

fn kinds(target: &Target) -> Vec<&'static str> {
    target.takes().iter().map(|kind| kind.word()).collect()
}

/// `--list`: which kinds each target takes, and its options.
pub(super) fn all(as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        super::super::print_json(&TARGETS.iter().copied().map(as_value).collect())?;
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
    let lines = super::super::aligned(&TARGETS.iter().copied().map(row).collect::<Vec<_>>());
    let mut text = String::new();
    for (target, line) in TARGETS.iter().zip(lines) {
        text.push_str(&format!("{line}\n"));
        for option in target.options().iter().chain(target.common()) {
            text.push_str(&format!(
                "    -o {}=…  {}{}{}\n",
                option.name,
                option.help,
                choices(option),
                default(target, option)
            ));
        }
    }
    super::super::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn choices(option: &OptionSpec) -> String {
    if option.values.is_empty() { String::new() } else { format!(" ({})", option.values.join(", ")) }
}

fn default(target: &Target, option: &OptionSpec) -> String {
    match target.default_of(option) {
        "" => String::new(),
        default => format!("; default {default}"),
    }
}

fn as_value(target: &Target) -> Json {
    let options: Vec<Json> = target
        .options()
        .iter()
        .chain(target.common())
        .map(|o| json!({ "name": o.name, "help": o.help, "values": o.values, "default": target.default_of(o) }))
        .collect();
    json!({
        "id": target.id, "name": target.name, "extensions": target.extensions, "takes": kinds(target),
        "several": target.writer.many, "streams": target.writer.streams, "options": options,
    })
}

/// `--to FORMAT --help`: all that can be set for it.
pub(super) fn one(target: &Target) -> String {
    let endings: Vec<String> = target.extensions.iter().map(|ending| format!(".{ending}")).collect();
    let several = if target.writer.many { "; several arrays in one file" } else { "" };
    let pipe = if target.writer.streams { "; also to a pipe (-)" } else { "" };
    let mut text = format!(
        "{} ({}), written from {}{several}{pipe}\n\n",
        target.name,
        endings.join(" "),
        kinds(target).join(", ")
    );
    for option in target.options().iter().chain(target.common()) {
        let name = option.name.replace('_', "-");
        let value = match option.values {
            [] => "VALUE".to_owned(),
            values => values.join("|"),
        };
        text.push_str(&format!("  --{name} <{value}>\n"));
        let default = match target.default_of(option) {
            "" => String::new(),
            default => format!(" [default: {default}]"),
        };
        for line in wrapped(&format!("{}{default}", option.help), WIDTH - 10) {
            text.push_str(&format!("          {line}\n"));
        }
    }
    text
}

/// A text in lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
