//! Jupyter notebooks (<https://nbformat.readthedocs.io/en/latest/format_description.html>): each cell is a
//! text, with its outputs below.

use super::node::Below;
use crate::content::{Content, Text};
use crate::error::Result;
use crate::json::record::{self, Parsed};
use crate::json::{Child, Document, Kind, Walk};
use crate::limits;
use crate::node::{Listing, Node};
use crate::source::Source;
use crate::task::Task;
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
        match walk.next() {
            Ok(Some(child)) => {
                cells |= child.name.as_deref() == Some("cells") && child.kind == Kind::Array;
                version |= child.name.as_deref() == Some("nbformat");
                if cells && (version || named) {
                    return Ok(true);
                }
            }
            Err(error) if error.is_cancelled() => return Err(error),
            Ok(None) | Err(_) => break,
        }
    }
    Ok(false)
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
        let Ok(Parsed::Object(fields)) = record::parse(&raw) else { return Ok(node) };
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw);
        node.label = match field("cell_type") {
            Some("\"code\"") => "code",
            Some("\"markdown\"") => "markdown",
            Some("\"raw\"") => "raw",
            _ => "cell",
        };
        if let Some(count) = field("execution_count").filter(|raw| *raw != "null") {
            node = node.attribute("execution_count", count);
        }
        let source = field("source").map(joined).unwrap_or_default();
        let source = Source::memory("source", source.into_bytes());
        Ok(node.content(Content::Text(Arc::new(Text::new(source, encoding_rs::UTF_8)))))
    }
}

/// A text that is a string or a list of strings.
fn joined(raw: &str) -> String {
    match record::elements(raw) {
        Some(parts) => parts.into_iter().filter_map(record::cell).collect(),
        None => record::cell(raw).unwrap_or_default().into_owned(),
    }
}
