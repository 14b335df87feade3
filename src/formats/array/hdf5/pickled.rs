//! Attributes that hold Python objects: PyTables pickles what HDF5 has no type for.
//! <https://www.pytables.org/usersguide/libref/declarative_classes.html#the-attributeset-class>

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::node::Node;
use crate::data::security::Report;
use crate::engines::pickle::{self, Pickle};
use bytes::Bytes;
use std::sync::Arc;

/// Characters of an object that are shown.
const SHOWN: usize = 1000;

/// Adds to a node what an attribute with these bytes is, where they are a pickle, and what that would import.
///
/// # Errors
/// A cancellation only.
pub(super) fn note(task: &Task, name: &str, data: &Bytes, node: &mut Node) -> Result<()> {
    let marked = data.first() == Some(&0x80) || data.contains(&b'\n');
    if !marked || !pickle::beginning(data, Some(data.len() as u64), data.last().copied()).sure {
        return Ok(());
    }
    let object = Pickle::read(task, data, 0)?;
    let Some(root) = object.root() else { return Ok(()) };
    let found = pickle::examine(task, data)?;
    if let Some(problem) = found.problem(&format!("attribute {name}")) {
        node.problem.get_or_insert(problem);
    }
    node.reader.push((format!("{name} (pickled)"), object.brief(root, SHOWN).into()));
    let mut report = node.security.as_deref().cloned().unwrap_or_else(Report::default);
    report.merge(found);
    node.security = Some(Arc::new(report));
    Ok(())
}
