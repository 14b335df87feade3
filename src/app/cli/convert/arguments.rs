//! Options of writers as arguments of their own: `--row-group-rows 1000` is `-o row_group_rows=1000`, where the target has
//! such an option; and `--to parquet --help` tells what there is.

use super::{Args, list};
use clap::Args as _;
use gander::convert::{TARGETS, Target};
use std::collections::HashSet;
use std::path::Path;

/// The arguments of the program with those that are options of a writer as `-o name=value`. `Err` is the text of a help
/// that was asked for.
pub(crate) fn rewritten(arguments: Vec<String>) -> Result<Vec<String>, String> {
    if arguments.get(1).map(String::as_str) != Some("convert") {
        return Ok(arguments);
    }
    let command = Args::augment_args(clap::Command::new("convert"));
    let known: HashSet<String> =
        command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned).collect();
    let target = target(&arguments);
    if let Some(target) = target.filter(|_| has_to(&arguments))
        && arguments.iter().any(|argument| argument == "--help" || argument == "-h")
    {
        return Err(list::one(target));
    }
    let mut out = Vec::with_capacity(arguments.len());
    let mut left = arguments.into_iter().peekable();
    while let Some(argument) = left.next() {
        if argument == "--" {
            out.push(argument);
            out.extend(left);
            break;
        }
        let Some(rest) = argument.strip_prefix("--") else {
            out.push(argument);
            continue;
        };
        let (name, value) =
            rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value.to_owned())));
        let option = name.replace('-', "_");
        if known.contains(name) || !is_option(target, &option) {
            out.push(argument);
            continue;
        }
        let value = value
            .or_else(|| left.next_if(|next| !next.starts_with("--")))
            .unwrap_or_else(|| "yes".to_owned());
        out.extend(["-o".to_owned(), format!("{option}={value}")]);
    }
    Ok(out)
}

fn has_to(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == "--to" || argument.starts_with("--to="))
}

/// The target that the arguments name: by `--to`, else by the last of them that is none.
fn target(arguments: &[String]) -> Option<&'static Target> {
    let after = |(n, argument): (usize, &String)| match argument.strip_prefix("--to") {
        Some("") => arguments.get(n + 1).cloned(),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    };
    match arguments.iter().enumerate().find_map(after) {
        Some(id) => Target::by_id(&id),
        None => arguments
            .iter()
            .rev()
            .filter(|argument| !argument.starts_with('-'))
            .find_map(|argument| Target::of_path(Path::new(argument))),
    }
}

/// Whether the target has an option of this name, or any has where it is not known.
fn is_option(target: Option<&'static Target>, name: &str) -> bool {
    let has = |target: &Target| target.options().iter().any(|spec| spec.name == name);
    match target {
        Some(target) => has(target),
        None => TARGETS.iter().any(|target| has(target)),
    }
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    fn of(line: &str) -> Result<String, String> {
        let words = line.split(' ').map(str::to_owned).collect();
        rewritten(words).map(|words| words.join(" "))
    }

    #[test]
    fn options_of_the_target_become_pairs() {
        let same = |line: &str| assert_eq!(of(line).as_deref(), Ok(line));
        same("gander show a.csv --rows 0..3");
        same("gander convert a.csv a.parquet --overwrite --json");
        same("gander convert a.csv a.parquet --quux 3");
        same("gander convert a.csv -- --compression zstd");
        assert_eq!(
            of("gander convert a.csv a.parquet --compression gzip --row-group-rows=10 --overwrite").unwrap(),
            "gander convert a.csv a.parquet -o compression=gzip -o row_group_rows=10 --overwrite"
        );
        assert_eq!(
            of("gander convert --to parquet --level 3 a.csv out/").unwrap(),
            "gander convert --to parquet -o level=3 a.csv out/"
        );
        assert_eq!(
            of("gander convert a.csv a.parquet --dictionary --overwrite").unwrap(),
            "gander convert a.csv a.parquet -o dictionary=yes --overwrite"
        );
    }

    #[test]
    fn help_for_a_target_lists_its_options() {
        let help = of("gander convert --to parquet --help").unwrap_err();
        assert!(help.contains("--compression") && help.contains("--row-group-rows"), "{help}");
        assert!(of("gander convert --help").is_ok());
    }
}
