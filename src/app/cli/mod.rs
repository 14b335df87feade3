//! The command line: one file a command. What they print is fixed in the README and by tests.

pub(crate) mod convert;
pub(crate) mod formats;
pub(crate) mod json;
pub(crate) mod query;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tree;

use gander::format::Options;
use gander::node::Node;
use gander::{Document, Error, Task};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

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
    /// `Unsupported` for what is not of the form name=value, and for words that no raw array knows.
    pub(crate) fn options(&self) -> Result<Options, Error> {
        let mut options = Options::default();
        for item in &self.with {
            let (name, value) = item.split_once('=').ok_or_else(|| {
                Error::unsupported(format!("--with {item}: it is not of the form name=value"))
            })?;
            options.set(name, value);
        }
        if let Some(layout) = &self.raw {
            options.set("format", gander::formats::array::raw::FORMAT.id);
            raw(layout, &mut options)?;
        }
        Ok(options)
    }
}

/// The layout of a raw array: `name=value` with commas between; a shape may have commas of its own.
fn raw(layout: &str, options: &mut Options) -> Result<(), Error> {
    let mut last = String::new();
    for item in layout.split(',').filter(|item| !item.trim().is_empty()) {
        let Some((name, value)) = item.split_once('=') else {
            match options.get(&last).map(|before| format!("{before},{item}")) {
                Some(longer) if last == "shape" => options.set(&last, longer),
                _ => {
                    return Err(Error::unsupported(format!(
                        "--raw {item}: it is not of the form name=value"
                    )));
                }
            }
            continue;
        };
        let name = name.trim();
        if !gander::formats::array::raw::OPTIONS.iter().any(|spec| spec.name == name) {
            let names: Vec<&str> =
                gander::formats::array::raw::OPTIONS.iter().map(|spec| spec.name).collect();
            return Err(Error::unsupported(format!("--raw {name}: it is one of {}", names.join(", "))));
        }
        options.set(name, value.trim());
        last = name.to_owned();
    }
    Ok(())
}

/// Opens the document and finds the node of `PATH#NODE`.
pub(crate) fn open(
    task: &Task,
    target: &str,
    opening: &OpenArgs,
) -> Result<(Document, Arc<Node>, String), Error> {
    let (path, node_path) = split_target(target);
    let named = |e: Error| e.in_file(path.display());
    let document = gander::open(task, &path, &opening.options().map_err(named)?).map_err(named)?;
    let node = document.root.find(task, node_path).map_err(named)?;
    let node = node.ok_or_else(|| named(Error::io(format!("there is no node {node_path:?} in it"))))?;
    Ok((document, node, node_path.to_owned()))
}

/// Why a document is an error for programs although the window shows something of it: a file that was
/// recognised and refused, with its bytes in sight, or a folder of files that nothing is known of.
pub(crate) fn refused(document: &Document) -> Option<&Error> {
    let root = &document.root;
    let bytes = matches!(root.content, Some(gander::content::Content::Bytes(_)));
    let unknown = root.content.is_none() && document.format.id == "folder";
    root.problem.as_ref().filter(|_| bytes || unknown)
}

/// Says an error on stderr, and with `--json` on stdout as well; the exit status of a failed read.
pub(crate) fn failed(error: &Error, path: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let error = error.clone().in_file(path);
    eprintln!("{error}");
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
        eprintln!(
            "{}: {remark}",
            document.source.path().unwrap_or(Path::new(document.source.name())).display()
        );
    }
    ExitCode::from(1)
}

/// Says on stderr what was found wrong with a node while its values were read; whether some of them are
/// missing for it.
pub(crate) fn found(node: &Node, path: &str) -> bool {
    let Some(findings) = &node.findings else { return false };
    for remark in findings.remarks() {
        eprintln!("{path}: {remark}");
    }
    let problem = findings.problem();
    if let Some(problem) = &problem {
        eprintln!("{}", problem.clone().in_file(path));
    }
    problem.is_some()
}

/// Prints JSON on one line; a closed pipe is no error.
pub(crate) fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&format!("{value}\n"))
}

/// Prints text; a closed pipe is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Result<Options, Error> {
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
}
