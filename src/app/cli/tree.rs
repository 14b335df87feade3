//! `gander tree`: what is inside.

use super::{json, progress};
use gander::bytes::display;
use gander::bytes::error::UnlessCancelled;
use gander::bytes::limits;
use gander::data::content::Content;
use gander::data::node::{Children, Node};
use gander::{Document, Error, Task};
use std::process::ExitCode;
use std::sync::Arc;

/// Arguments of `gander tree`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files and folders
    #[arg(required = true)]
    pub(crate) paths: Vec<String>,
    /// How many levels down
    #[arg(long, default_value_t = 16)]
    depth: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut worst = ExitCode::SUCCESS;
    for path in &args.paths {
        let status = one(args, path)?;
        if status != ExitCode::SUCCESS {
            worst = status;
        }
    }
    Ok(worst)
}

fn one(args: &Args, path: &str) -> anyhow::Result<ExitCode> {
    let task = Task::new();
    let (mut document, node) = match super::open(&task, path, &args.opening) {
        Ok((document, node, _)) => (document, node),
        Err(stop) => return stop.say(path, args.json),
    };
    document.root = node;
    let printed = progress::with_progress(&task, || match args.json {
        true => json::document(&task, &document, path, args.depth).map(|json| format!("{json}\n")),
        false => text(&task, &document, args.depth),
    });
    let printed = match printed {
        Ok(printed) => printed,
        Err(error) => return super::failed(&error, path, args.json),
    };
    if let Some(problem) = super::refused(&document) {
        return super::failed(problem, path, args.json);
    }
    super::print(&printed)?;
    Ok(super::status(&document))
}

/// The tree for people: one line a node, indented.
fn text(task: &Task, document: &Document, depth: usize) -> Result<String, Error> {
    let size = document.source.known_len().map_or(String::new(), |n| format!(", {}", display::bytes(n)));
    let mut out = format!("{} — {}{size}\n", document.source.name(), document.format.name);
    for remark in &document.remarks {
        out.push_str(&format!("  ! {remark}\n"));
    }
    let known = document.root.problem_now();
    branch(task, &document.root, 0, depth, &mut out)?;
    // What came up on the way.
    if let (None, Some(problem)) = (known, document.root.problem_now()) {
        out.push_str(&format!("  ✗ {}\n", problem.message()));
    }
    Ok(out)
}

/// A node and what is below it, `depth` levels down, with a word where there is more than is printed.
fn branch(task: &Task, node: &Arc<Node>, level: usize, depth: usize, out: &mut String) -> Result<(), Error> {
    task.check()?;
    // Whoever waits sees which one it is.
    task.set_message(node.name.as_str());
    super::look(task, node)?;
    line(out, node, level);
    if matches!(node.children, Children::None) {
        return Ok(());
    }
    let (shown, more) = if level < depth {
        // One more is asked for, which tells whether there are more.
        let page = node.child_page(task, 0..limits::PRINTED + 1)?;
        for child in page.iter().take(limits::PRINTED as usize) {
            branch(task, &child.resolved(task)?, level + 1, depth, out)?;
        }
        (limits::PRINTED, page.len() as u64 > limits::PRINTED)
    } else {
        (0, any_below(task, node)?)
    };
    if more {
        let rest = node.child_count().map(|count| count.saturating_sub(shown)).filter(|rest| *rest > 0);
        let rest = rest.map_or("more".to_owned(), |rest| format!("{} more", display::count(rest)));
        out.push_str(&format!("{}… and {rest}\n", "  ".repeat(level + 1)));
    }
    Ok(())
}

/// Whether there is anything below a node whose children nobody asked for: they may as well be unreadable.
fn any_below(task: &Task, node: &Node) -> Result<bool, Error> {
    if let Some(count) = node.child_count() {
        return Ok(count > 0);
    }
    let soon = node.children_soon(task, 0..1).unless_cancelled()?;
    Ok(soon.is_ok_and(|(children, whole)| !children.is_empty() || !whole))
}

fn line(out: &mut String, node: &Node, level: usize) {
    let indent = "  ".repeat(level);
    if level > 0 {
        out.push_str(&format!("{indent}{}  {}\n", node.name, summary(node)));
    } else if node.content.is_some() || node.value.is_some() {
        out.push_str(&format!("  {}\n", summary(node)));
    }
    for (name, value) in node.shown_attributes() {
        let value = value.to_string();
        let shown: String = value.chars().take(100).collect();
        let cut = if shown.len() < value.len() {
            format!(" … ({} characters)", display::count(value.chars().count() as u64))
        } else {
            String::new()
        };
        out.push_str(&format!("{indent}  @{name} = {}{cut}\n", shown.replace('\n', " ")));
    }
    if let Some(Content::Table(table)) = &node.content {
        for (name, kind) in table.described() {
            out.push_str(&format!("{indent}    {name}: {kind}\n"));
        }
    }
    if let Some(problem) = node.problem_now() {
        out.push_str(&format!("{indent}  ✗ {}\n", problem.message()));
    }
    for remark in node.remarks_now() {
        out.push_str(&format!("{indent}  ! {remark}\n"));
    }
}

/// What a node is, in a few words.
fn summary(node: &Node) -> String {
    match &node.content {
        None => match &node.value {
            Some(value) => format!("{} {}", node.word(), value.replace('\n', "⏎")),
            None => node.word().to_owned(),
        },
        Some(Content::Table(table)) => format!("table {} × {}", table.rows(), table.schema().fields().len()),
        Some(Content::Array(array)) => {
            let facts = array.facts();
            let array = format!("{} {}", facts.type_name(array.dtype()), display::shape(array.shape()));
            match facts.sound {
                Some(sound) => format!("audio {array}, {}, {} Hz", sound.codec, sound.rate),
                None => array,
            }
        }
        Some(Content::Image(image)) => {
            let info = image.info();
            format!("image {}×{}, {} × {} bit", info.width, info.height, info.channels, info.bits)
        }
        Some(Content::Text(text)) => format!("text, {}", text.encoding()),
        Some(Content::Graph(graph)) => {
            format!("graph of {}", display::plural(graph.nodes().len() as u64, "node"))
        }
        Some(Content::Bytes(source)) => {
            format!("bytes, {}", source.known_len().map_or("?".into(), display::bytes))
        }
    }
}
