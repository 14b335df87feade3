//! The command line: one file a command. What they print is fixed in the README and by tests.

pub(crate) mod convert;
pub(crate) mod formats;
pub(crate) mod health;
mod interrupt;
pub(crate) mod json;
mod progress;
pub(crate) mod query;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod terminal;
pub(crate) mod tree;

use gander::bytes::limits;
use gander::data::content::Content;
use gander::data::format::{Format, Options};
use gander::data::node::Node;
use gander::data::region::Region;
use gander::formats::FORMATS;
use gander::{Document, Error, Task};
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use terminal::say;

/// A table of not more files than this says its exact number of rows after the first of them are shown.
const LOOKED_AT: usize = 1_000;

/// Learns what the headers of all files say that are one table, before it is described.
fn look(task: &Task, node: &Node) -> Result<(), Error> {
    if let Some(findings) = &node.findings {
        findings.finish(task)?;
    }
    match &node.content {
        Some(Content::Table(table)) => table.read_headers(task, limits::LISTED as usize),
        _ => Ok(()),
    }
}

/// `PATH#NODE`, or a path whose name holds a `#` itself.
pub(crate) fn split_target(target: &str) -> (PathBuf, &str) {
    // The longest part before a `#` that exists as a file is the path.
    let cuts: Vec<usize> = target.match_indices('#').map(|(at, _)| at).collect();
    if !Path::new(target).exists()
        && let Some(&at) = cuts.iter().rev().find(|&&at| Path::new(&target[..at]).exists()).or(cuts.first())
    {
        return (PathBuf::from(&target[..at]), &target[at + 1..]);
    }
    (PathBuf::from(target), "")
}

/// Runs a command. Readers stand behind guards of their own; what is left is a mistake in the command itself, and
/// ends as an error, too.
pub(crate) fn guarded(command: impl FnOnce() -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    let mut done = None;
    gander::bytes::guard::guarded(|| {
        done = Some(command());
        Ok(())
    })?;
    done.unwrap_or(Ok(ExitCode::from(1)))
}

/// How files are opened: the same for every command.
#[derive(clap::Args, Default)]
pub(crate) struct OpenArgs {
    /// Open with an option of the format: name=value
    #[arg(long = "with", value_name = "NAME=VALUE")]
    with: Vec<String>,
    /// Open as elements without a header: dtype=f32,shape=480x640x3,order=C,offset=0,row-padding=0,byte-order=little.
    /// Sides stand slowest first, and one may be ?; what is left out is uint8, ?, C, 0, 0, little
    #[arg(long = "raw", value_name = "LAYOUT", num_args = 0..=1, default_missing_value = "")]
    raw: Option<String>,
}

impl OpenArgs {
    /// The options for the reader.
    ///
    /// # Errors
    /// What is not of the form name=value, which formats there are not, and words that no raw array knows.
    pub(crate) fn options(&self) -> Result<Options, String> {
        let mut options = Options::default();
        for item in &self.with {
            let (name, value) = named_value("--with", item)?;
            if name == "format" && gander::formats::by_id(value).is_none() {
                return Err(format!("--with {item}: there is no such format; `gander formats` lists them"));
            }
            options.set(name, value);
        }
        if let Some(layout) = &self.raw {
            options.set("format", gander::formats::array::raw::FORMAT.id);
            raw(layout, &mut options)?;
        }
        Ok(options)
    }

    /// The argument that sets most of the options.
    fn argument(&self) -> &'static str {
        if self.raw.is_some() { "--raw" } else { "--with" }
    }

    /// The first option that means nothing to the formats of a document, with those that do.
    fn unknown(&self, document: &Document) -> Option<String> {
        // What a file is packed in hands its options on to what is inside.
        let mut formats: Vec<&Format> = vec![document.format];
        formats.extend(document.root.formats.iter().copied());
        let known = |formats: &[&Format], name: &str| {
            formats.iter().any(|format| format.options.iter().any(|spec| spec.name == name))
        };
        for name in document.options.0.keys().filter(|name| *name != "format") {
            // A file that could not be read does not tell which options it would have.
            let unread = document.root.problem.is_some() && known(FORMATS, name);
            if unread || known(&formats, name) {
                continue;
            }
            let all = formats.iter().flat_map(|format| format.options).map(|spec| spec.name);
            let has: Vec<&str> = std::iter::once("format").chain(all).collect();
            return Some(format!(
                "{} {name}: {} has no option of this name; it has {}",
                self.argument(),
                document.format.name,
                has.join(", ")
            ));
        }
        None
    }
}

/// The two sides of `name=value`.
pub(crate) fn named_value<'a>(argument: &str, item: &'a str) -> Result<(&'a str, &'a str), String> {
    item.split_once('=').ok_or_else(|| format!("{argument} {item}: it is not of the form name=value"))
}

/// The layout of a raw array: `name=value` with commas between; a shape may have commas of its own.
fn raw(layout: &str, options: &mut Options) -> Result<(), String> {
    let mut last = String::new();
    for item in layout.split(',').filter(|item| !item.trim().is_empty()) {
        let Some((name, value)) = item.split_once('=') else {
            match options.get(&last).map(|before| format!("{before},{item}")) {
                Some(longer) if last == "shape" => options.set(&last, longer),
                _ => return Err(format!("--raw {item}: it is not of the form name=value")),
            }
            continue;
        };
        let name = name.trim();
        if !gander::formats::array::raw::OPTIONS.iter().any(|spec| spec.name == name) {
            let names: Vec<&str> =
                gander::formats::array::raw::OPTIONS.iter().map(|spec| spec.name).collect();
            return Err(format!("--raw {name}: it is one of {}", names.join(", ")));
        }
        options.set(name, value.trim());
        last = name.to_owned();
    }
    Ok(())
}

/// Rows A..B as they stand on the command line; either may be left out.
pub(crate) fn range(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("--rows {text}: it is not of the form A..B");
    let (start, end) = text.split_once("..").ok_or_else(wrong)?;
    let place =
        |t: &str, default: u64| if t.is_empty() { Ok(default) } else { t.parse().map_err(|_| wrong()) };
    Ok(place(start, 0)?..place(end, u64::MAX)?)
}

/// Whether a text is a slice of anything at all.
pub(crate) fn is_slice(text: &str) -> Result<(), String> {
    // Of so many so long sides every slice is one that is written rightly.
    let sides = vec![1u64 << 62; text.split(',').count()];
    match Region::parse(text, &sides) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("--slice {text}: it is not of the form I,A..B,A..B..S")),
    }
}

/// Whether a text is a slice of something of this shape.
pub(crate) fn fits_slice(text: &str, shape: &[u64]) -> Result<(), String> {
    Region::parse(text, shape).map(drop).map_err(|error| format!("--slice {text}: {}", words(&error)))
}

/// What stops a command.
#[derive(Debug)]
pub(crate) enum Stop {
    /// An argument is wrong, which and why.
    Usage(String),
    /// Something cannot be read or written.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

impl Stop {
    /// What an error stops: one that begins with an option that was set by `argument` blames its value.
    pub(crate) fn of(error: Error, argument: &str, options: &Options) -> Self {
        let words = words(&error);
        let blamed = |name: &String| words.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        match options.0.keys().any(blamed) {
            true => Stop::Usage(format!("{argument} {words}")),
            false => Stop::Failed(error),
        }
    }

    /// Says it; the exit status. `path` is the file that it is about where the error does not know.
    pub(crate) fn say(&self, path: &str, as_json: bool) -> anyhow::Result<ExitCode> {
        match self {
            Stop::Usage(words) => Ok(usage(words)),
            Stop::Failed(error) => failed(error, path, as_json),
        }
    }
}

/// An error about an argument: its sentence without the class, which is about files.
pub(crate) fn words(error: &Error) -> String {
    let message = error.message();
    message.strip_prefix("unsupported: ").map_or(message.clone(), str::to_owned)
}

/// Says what is wrong with the arguments; the exit status of wrong usage.
pub(crate) fn usage(words: impl Display) -> ExitCode {
    say!("{words}");
    ExitCode::from(2)
}

/// Opens the document and finds the node of `PATH#NODE`.
pub(crate) fn open(
    task: &Task,
    target: &str,
    opening: &OpenArgs,
) -> Result<(Document, Arc<Node>, String), Stop> {
    let (path, node_path) = split_target(target);
    let named = |e: Error| e.in_file(path.display());
    let options = opening.options().map_err(Stop::Usage)?;
    let stopped = |e: Error| Stop::of(named(e), opening.argument(), &options);
    let document = gander::open(task, &path, &options).map_err(stopped)?;
    if let Some(words) = opening.unknown(&document) {
        return Err(Stop::Usage(words));
    }
    // What is packed in another file says only as a problem that it cannot be read so.
    if let Some(problem) = &document.root.problem
        && let Stop::Usage(words) = stopped(problem.clone())
    {
        return Err(Stop::Usage(words));
    }
    let node = match document.root.find(task, node_path).map_err(named)? {
        Some(node) => Some(node),
        // What a cell of a table holds or names: `#[17].image`.
        None => {
            let (source, root) = (&document.source, &document.root);
            gander::data::media::payload::at(task, gander::formats::ALL, source, root, node_path)
                .map_err(named)?
        }
    };
    let node = node.ok_or_else(|| named(Error::io(format!("there is no node {node_path:?} in it"))))?;
    Ok((document, node, node_path.to_owned()))
}

/// Why a document is an error for programs although the window shows something of it: a file that was
/// recognised and refused, with its bytes in sight, or a folder of files that nothing is known of.
pub(crate) fn refused(document: &Document) -> Option<&Error> {
    let root = &document.root;
    let bytes = matches!(root.content, Some(Content::Bytes(_)));
    let unknown = root.content.is_none() && document.format.id == "folder";
    root.problem.as_ref().filter(|_| bytes || unknown)
}

/// Says an error on stderr, and with `--json` on stdout as well; the exit status of a failed read.
pub(crate) fn failed(error: &Error, path: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let error = error.clone().in_file(path);
    say!("{error}");
    if as_json {
        print_json(&serde_json::json!({ "path": path, "error": json::error(&error) }))?;
    }
    Ok(ExitCode::from(1))
}

/// Says the document's remarks on stderr; a broken promise of the name makes the status 1.
pub(crate) fn status(document: &Document) -> ExitCode {
    if !document.broken_promise {
        return ExitCode::SUCCESS;
    }
    for remark in &document.remarks {
        say!("{}: {remark}", document.source.path().unwrap_or(Path::new(document.source.name())).display());
    }
    ExitCode::from(1)
}

/// Rows of cells as lines: each column is as wide as its longest cell, with two spaces between them.
pub(crate) fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|i| width(i).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Says on stderr what is wrong with a node whose values were read all the same, known before or found meanwhile; whether
/// some of them are missing for it.
pub(crate) fn wrong(node: &Node, path: &str) -> bool {
    if let Some(problem) = &node.problem {
        say!("{}", problem.clone().in_file(path));
    }
    found(node, path) || node.problem.is_some()
}

/// Says on stderr what was found wrong with a node while its values were read; whether some of them are
/// missing for it.
pub(crate) fn found(node: &Node, path: &str) -> bool {
    let Some(findings) = &node.findings else { return false };
    for remark in findings.remarks() {
        say!("{path}: {remark}");
    }
    let problem = findings.problem();
    if let Some(problem) = &problem {
        say!("{}", problem.clone().in_file(path));
    }
    problem.is_some()
}

/// Prints JSON on one line; a closed pipe is no error.
pub(crate) fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&format!("{value}\n"))
}

/// Prints text; a closed pipe is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match terminal::print(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Result<Options, String> {
        OpenArgs { with: Vec::new(), raw: Some(text.to_owned()) }.options()
    }

    #[test]
    fn raw_layouts() {
        let options = layout("dtype=f32,shape=480,640,3,order=F").unwrap();
        assert_eq!((options.get("format"), options.get("shape")), (Some("raw"), Some("480,640,3")));
        assert_eq!((options.get("dtype"), options.get("order")), (Some("f32"), Some("F")));
        assert_eq!(layout("").unwrap().get("format"), Some("raw"));
        assert!(layout("480x640").is_err() && layout("type=f32").is_err());
    }

    #[test]
    fn slices_are_told_from_other_words() {
        for right in ["", "3", "-1", "0,1..3", "..., ::2", "[1:2, -5..]", "1,"] {
            assert_eq!(is_slice(right), Ok(()), "{right}");
        }
        for wrong in ["foo", "1..2..0", "1,,2", "1;2", "a..b"] {
            assert!(is_slice(wrong).is_err(), "{wrong}");
        }
        let error = fits_slice("9", &[4]).unwrap_err();
        assert!(error.starts_with("--slice 9: ") && !error.contains("unsupported"), "{error}");
    }

    #[test]
    fn columns_never_touch() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let lines = aligned(&[row(["a", "é", "x"]), row(["longest", "b", ""]), row(["c", "wide", "y"])]);
        assert_eq!(lines, ["a        é     x", "longest  b", "c        wide  y"]);
    }
}
