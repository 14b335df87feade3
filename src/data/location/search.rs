//! The node of a document that a byte belongs to.

use super::{BytePlace, Location, Owner};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::node::{Children, Node};
use std::sync::Arc;

/// The most nodes that are asked.
const ASKED: u64 = 100_000;

/// What a byte of a document belongs to.
pub struct Found {
    /// The path of the node.
    pub path: String,
    /// The node, resolved.
    pub node: Arc<Node>,
    /// What of its table or array; `None` where only the node is known, or it has no such content.
    pub owner: Option<Owner>,
    /// Where the node as a whole lies, where the byte is of no table or array.
    pub whole: Option<Location>,
}

/// The node at or below `root` that a byte belongs to: the first table or array that says so, else the member of an
/// archive. `None` where it is of the layout between them, or too many nodes would have to be asked.
///
/// # Errors
/// Only that the work was cancelled: of what cannot be read nothing is told.
pub fn find(task: &Task, root: &Arc<Node>, byte: &BytePlace) -> Result<Option<Found>> {
    Search { task, byte, left: ASKED }.at(root, "", 0)
}

/// What of the table or array of a node a byte is of: for whoever asks for one byte after the other. `None` where it is
/// none of its bytes, or the node has no such content.
///
/// # Errors
/// Only that the work was cancelled: of what cannot be read nothing is told.
pub fn find_in(task: &Task, path: &str, node: &Arc<Node>, byte: &BytePlace) -> Result<Option<Found>> {
    let owner = owner(task, node, byte)?;
    Ok(owner.map(|owner| Found {
        path: path.to_owned(),
        node: node.clone(),
        owner: Some(owner),
        whole: None,
    }))
}

/// What a node's own content says of a byte.
fn owner(task: &Task, node: &Node, byte: &BytePlace) -> Result<Option<Owner>> {
    let owner = match &node.content {
        Some(Content::Table(table)) => table.owner(task, byte),
        Some(Content::Array(array)) => array.owner(task, byte),
        _ => Ok(None),
    };
    Ok(owner.unless_cancelled()?.ok().flatten())
}

struct Search<'a> {
    task: &'a Task,
    byte: &'a BytePlace,
    left: u64,
}

impl Search<'_> {
    fn at(&mut self, node: &Arc<Node>, path: &str, level: usize) -> Result<Option<Found>> {
        self.task.check()?;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || level > limits::DEPTH {
            return Ok(None);
        }
        let Ok(node) = node.resolved(self.task).unless_cancelled()? else { return Ok(None) };
        if let Some(owner) = owner(self.task, &node, self.byte)? {
            return Ok(Some(Found { path: path.to_owned(), node, owner: Some(owner), whole: None }));
        }
        if let Some(places) = &node.places
            && let Ok(Some((name, whole))) = places.owner(self.task, self.byte).unless_cancelled()?
        {
            return self.member(&node, path, &name, whole, level);
        }
        if matches!(node.children, Children::None) || node.children_are_parts {
            return Ok(None);
        }
        self.below(&node, path, level)
    }

    /// The member `name` of an archive, or what in it the byte belongs to.
    fn member(
        &mut self,
        node: &Arc<Node>,
        path: &str,
        name: &str,
        whole: Location,
        level: usize,
    ) -> Result<Option<Found>> {
        let below = format!("{}{name}", node.separator);
        let Ok(Some(child)) = node.find(self.task, &below).unless_cancelled()? else { return Ok(None) };
        let path = format!("{path}{below}");
        if let Some(found) = self.at(&child, &path, level + 1)? {
            return Ok(Some(found));
        }
        Ok(Some(Found { path, node: child, owner: None, whole: Some(whole) }))
    }

    fn below(&mut self, node: &Arc<Node>, path: &str, level: usize) -> Result<Option<Found>> {
        let mut start = 0u64;
        loop {
            let Ok(page) = node.child_page(self.task, start..start + limits::LISTED).unless_cancelled()?
            else {
                return Ok(None);
            };
            start += page.len() as u64;
            let whole = page.is_empty() || node.child_count().is_some_and(|count| start >= count);
            for child in page {
                // What is made of others has no bytes of its own.
                if child.derived {
                    continue;
                }
                if let Some(found) = self.at(&child, &node.child_path(path, &child), level + 1)? {
                    return Ok(Some(found));
                }
                if self.left == 0 {
                    return Ok(None);
                }
            }
            if whole {
                return Ok(None);
            }
        }
    }
}
