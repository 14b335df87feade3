//! Tables and matrices that lie in groups of arrays, one array a part: AnnData's data frames and sparse
//! matrices, pandas' data frames in HDF5. Conventions on top of any format with groups; the arrays stay in the
//! tree as they are.
//! <https://anndata.readthedocs.io/en/latest/fileformat-prose.html>

mod frame;
mod sparse;
#[cfg(test)]
mod tests;

pub use sparse::{by_columns, compressed};

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::cf;
use crate::data::content::{Array, Content};
use crate::data::node::{Node, Value};
use std::sync::Arc;

/// An array or a group with its attributes.
pub struct Found {
    /// Its attributes; those with one value as that value.
    pub attributes: Vec<(String, Value)>,
    /// The array; `None` for a group.
    pub array: Option<Arc<dyn Array>>,
}

/// A group, whatever format it is of.
pub trait Members {
    /// What lies at a path from the group on (`categories`, `kind/codes`, `/from/the/root`); `None` where there
    /// is nothing.
    ///
    /// # Errors
    /// As the format demands.
    fn find(&self, task: &Task, path: &str) -> Result<Option<Found>>;
}

/// AnnData's words for what a group or an array is.
const ENCODINGS: [&str; 15] = [
    "anndata",
    "dataframe",
    "csr_matrix",
    "csc_matrix",
    "categorical",
    "array",
    "string-array",
    "dict",
    "raw",
    "string",
    "numeric-scalar",
    "nullable-integer",
    "nullable-boolean",
    "nullable-string-array",
    "rec-array",
];

/// The convention's word for a node with these attributes.
pub fn label(attributes: &[(String, Value)]) -> Option<&'static str> {
    let encoding = cf::text(attributes, "encoding-type")?;
    ENCODINGS.into_iter().find(|known| *known == encoding)
}

/// What a group with these attributes is as a whole, if a convention says so: a table or a matrix; and what
/// there is to remark.
///
/// # Errors
/// Where it says that it is one and its parts cannot be found.
pub fn content(
    task: &Task,
    members: &dyn Members,
    attributes: &[(String, Value)],
) -> Result<Option<(Content, Vec<String>)>> {
    if let Some(table) = frame::of(task, members, attributes)? {
        return Ok(Some((Content::Table(Arc::new(table.0)), table.1)));
    }
    let matrix = sparse::of(task, members, attributes)?;
    Ok(matrix.map(|matrix| (Content::Array(Arc::new(matrix)), Vec::new())))
}

/// Gives a group's node what [`content`] finds; what is wrong with that is the node's problem.
///
/// # Errors
/// A cancellation only.
pub fn complete(task: &Task, members: &dyn Members, node: &mut Node) -> Result<()> {
    match content(task, members, &node.attributes).unless_cancelled()? {
        Ok(Some((content, remarks))) => {
            node.content.get_or_insert(content);
            node.remarks.extend(remarks);
        }
        Ok(None) => {}
        Err(error) => drop(node.problem.get_or_insert(error)),
    }
    Ok(())
}

/// The array at a path of a group.
fn array(task: &Task, members: &dyn Members, what: &str, path: &str) -> Result<Arc<dyn Array>> {
    let found = members.find(task, path)?.and_then(|found| found.array);
    found.ok_or_else(|| Error::malformed(format!("{what}: it has no array {path:?}")))
}
