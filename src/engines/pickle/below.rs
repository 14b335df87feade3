//! What all pickles in a file would run, where they lie in it as files of their own: in an archive.

use super::names::Report;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::node::Node;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many nodes below `node` are looked into at most, and how deep.
const NODES: usize = 1_000;
const DEPTH: usize = 4;

/// What is said of the pickles below a node, together; `None` where none was found. What cannot be read is left out:
/// its own node says why.
///
/// # Errors
/// `Cancelled`.
pub fn below(task: &Task, node: &Arc<Node>) -> Result<Option<Report>> {
    let mut found: Option<Report> = None;
    let mut left = NODES;
    let mut waiting = VecDeque::from([(node.clone(), 0)]);
    while let Some((node, depth)) = waiting.pop_front() {
        let Ok(children) = node.child_page(task, 0..left as u64).unless_cancelled()? else { continue };
        for child in children {
            task.check()?;
            let Some(rest) = left.checked_sub(1) else { return Ok(found) };
            left = rest;
            let Ok(child) = child.resolved(task).unless_cancelled()? else { continue };
            if let Some(report) = &child.security {
                found.get_or_insert_default().merge(Report::clone(report));
            } else if depth + 1 < DEPTH && child.has_children() {
                waiting.push_back((child, depth + 1));
            } else if child.has_children() && !child.formats.is_empty() {
                let why = format!("files in files were looked into {DEPTH} deep; more lie below");
                found.get_or_insert_default().incomplete(Error::limit(why));
            }
        }
    }
    Ok(found)
}
