//! Jupyter notebooks (<https://nbformat.readthedocs.io/en/latest/format_description.html>): as a whole the text
//! of its cells, each below a line `# %%` as editors know it; in the tree each cell is a text, with its outputs
//! below.

use super::node::{self, Below};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::node::{Listing, Node};
use crate::engines::delimited::PlainText;
use crate::engines::json::record::{self, Parsed};
use crate::engines::json::{Child, Document, Kind, Walk};
use std::ops::Range;
use std::sync::Arc;

/// Members of the root that are looked at.
const MEMBERS: usize = 16;

/// Whether the object at `start` is a notebook. The cells usually come first and may be long, so only the
/// members that are found in the beginning tell.
pub(super) fn is_one(task: &Task, document: &Arc<Document>, start: u64) -> Result<bool> {
    let named = document.source().name().to_lowercase().ends_with(".ipynb");
    let mut walk = Walk::new(task, document, start, 0)?.nearby();
    let (mut cells, mut version) = (false, false);
    for _ in 0..MEMBERS {
        match walk.next().unless_cancelled()? {
            Ok(Some(child)) => {
                cells |= child.name.as_deref() == Some("cells") && child.kind == Kind::Array;
                version |= child.name.as_deref() == Some("nbformat");
                if cells && (version || named) {
                    return Ok(true);
                }
            }
            Ok(None) | Err(_) => break,
        }
    }
    Ok(false)
}

/// The cells one after the other as a text, made when it is looked at.
pub(super) fn whole(document: &Arc<Document>, start: u64) -> Result<Content> {
    let notebook = document.clone();
    let text = node::made(document.source(), "cells", move |task| text(task, &notebook, start))?;
    Ok(Content::Text(Arc::new(PlainText::new(text, encoding_rs::UTF_8))))
}

fn text(task: &Task, document: &Arc<Document>, start: u64) -> Result<String> {
    let mut members = Walk::new(task, document, start, 0)?;
    let list = loop {
        match members.next()? {
            Some(child) if child.name.as_deref() == Some("cells") => break child,
            Some(_) => {}
            None => return Ok(String::new()),
        }
    };
    let mut cells = Walk::new(task, document, list.span.start, 0)?;
    let mut out = String::new();
    // A broken notebook ends with the last cell that can be read.
    while let Ok(Some(child)) = cells.next() {
        task.check()?;
        let len = child.span.end - child.span.start;
        if limits::check(len, limits::HEADER, "a cell").is_err() {
            out.push_str("# %% [too long to be shown here]\n\n");
            continue;
        }
        let raw = document.source().read(task, child.span)?;
        let Some(cell) = Cell::of(&raw) else { continue };
        let kind = if cell.kind == "code" { String::new() } else { format!(" [{}]", cell.kind) };
        out.push_str(&format!("# %%{kind}\n{}\n\n", cell.source.trim_end()));
        limits::check(out.len() as u64, limits::CHUNK, "the text of a notebook")?;
    }
    task.check()?;
    Ok(out)
}

/// What is shown of a cell.
struct Cell {
    kind: &'static str,
    count: Option<String>,
    source: String,
}

impl Cell {
    fn of(raw: &[u8]) -> Option<Cell> {
        let Ok(Parsed::Object(fields)) = record::parse(raw) else { return None };
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw);
        let kind = match field("cell_type") {
            Some("\"code\"") => "code",
            Some("\"markdown\"") => "markdown",
            Some("\"raw\"") => "raw",
            _ => "cell",
        };
        let count = field("execution_count").filter(|raw| *raw != "null").map(str::to_owned);
        // Older notebooks call it `input`.
        let source = field("source").or(field("input")).map(joined).unwrap_or_default();
        Some(Cell { kind, count, source })
    }
}

/// The node of the list of cells.
pub(super) fn cells(_task: &Task, document: &Arc<Document>, child: Child) -> Node {
    let start = child.span.start;
    Node::new("cells", "cells").span(child.span).lazy(Cells { document: document.clone(), start })
}

struct Cells {
    document: Arc<Document>,
    start: u64,
}

impl Listing for Cells {
    fn count(&self) -> Option<u64> {
        None
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        let mut walk = Walk::new(task, &self.document, self.start, range.start)?;
        let mut nodes = Vec::new();
        while walk.position() < range.end {
            let Some(child) = walk.next()? else { break };
            if child.index >= range.start {
                nodes.push(Arc::new(self.cell(task, &child)?));
            }
        }
        Ok(nodes)
    }
}

impl Cells {
    fn cell(&self, task: &Task, child: &Child) -> Result<Node> {
        let below = Below::new(self.document.clone(), child.span.start, child.kind);
        let mut node = Node::new(child.index.to_string(), "cell").span(child.span.clone());
        if child.kind.is_container() {
            node = node.lazy(below);
        }
        let len = child.span.end - child.span.start;
        if limits::check(len, limits::HEADER, "a cell").is_err() {
            return Ok(node);
        }
        let raw = self.document.source().read(task, child.span.clone())?;
        let Some(cell) = Cell::of(&raw) else { return Ok(node) };
        node.label = cell.kind;
        if let Some(count) = cell.count {
            node = node.attribute("execution_count", count);
        }
        let source = Source::memory("source", cell.source.into_bytes());
        Ok(node.content(Content::Text(Arc::new(PlainText::new(source, encoding_rs::UTF_8)))))
    }
}

/// A text that is a string or a list of strings.
fn joined(raw: &str) -> String {
    match record::elements(raw) {
        Some(parts) => parts.into_iter().filter_map(record::cell).collect(),
        None => record::cell(raw).unwrap_or_default().into_owned(),
    }
}
