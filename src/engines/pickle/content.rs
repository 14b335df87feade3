//! What of a value can be shown as more than a tree: arrays, tables, sparse matrices.

use super::machine::{Id, Pickle, Value};
use super::ndarray::{Found, Stored, TEXTS, texts};
use super::{pandas, sparse};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::ArrayTable;
use crate::data::chunked::{Chunked, Chunks};
use crate::data::content::array::Plain;
use crate::data::content::{Array, Content, Layout};
use crate::data::dtype::{DType, Variable};
use crate::data::node::Node;
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use bytes::Bytes;
use std::sync::Arc;

/// The content of a value, if it has one, and nodes of what belongs to it.
pub(super) fn of(pickle: &Arc<Pickle>, id: Id, name: &str) -> (Option<Result<Content>>, Vec<Node>) {
    if !matches!(pickle.value(id), Value::Object(_)) {
        return (None, Vec::new());
    }
    if let Some(found) = pickle.found(id) {
        let Some((mask, _)) = pickle.mask(id) else {
            return (Some(array(pickle, found, name).and_then(shown)), Vec::new());
        };
        // Elements under the mask are none of the array's, so it is shown by its parts.
        let mask = mask_of(pickle, &found, mask);
        let data = Node::new("data", "numpy.ndarray");
        let data = match array(pickle, found, "data").and_then(shown) {
            Ok(content) => data.content(content),
            Err(error) => data.problem(error),
        };
        return (None, std::iter::once(data).chain(mask).collect());
    }
    if let Some(table) = pandas::of(pickle, id) {
        return (Some(table.map(Content::Table)), Vec::new());
    }
    (sparse::of(pickle, id).map(|matrix| matrix.map(Content::Array)), Vec::new())
}

/// The array that a value is.
pub(super) fn array_of(pickle: &Arc<Pickle>, id: Id) -> Option<Result<Arc<dyn Array>>> {
    pickle.found(id).map(|found| array(pickle, found, ""))
}

fn array(pickle: &Arc<Pickle>, found: Found, name: &str) -> Result<Arc<dyn Array>> {
    match found.stored {
        Stored::Objects(list) => objects(pickle, found.shape, list),
        _ => Ok(Arc::new(found.plain(pickle, name)?)),
    }
}

/// Records in one dimension are rows.
fn shown(array: Arc<dyn Array>) -> Result<Content> {
    match (array.dtype(), array.shape()) {
        (DType::Struct(_), [_]) => Ok(Content::Table(Arc::new(ArrayTable::new("", array)?))),
        _ => Ok(Content::Array(array)),
    }
}

/// The mask of a masked array: a byte an element.
fn mask_of(pickle: &Pickle, found: &Found, mask: Id) -> Option<Node> {
    let bytes = pickle.data(mask)?;
    let node = Node::new("mask", "numpy.ndarray");
    Some(match Plain::new(Source::memory("mask", bytes), 0, DType::Bool, found.shape.clone()) {
        Ok(plain) => node.content(Content::Array(Arc::new(plain.fortran(found.fortran)))),
        Err(error) => node.problem(error),
    })
}

/// Elements that are objects, as texts.
fn objects(pickle: &Arc<Pickle>, shape: Vec<u64>, list: Id) -> Result<Arc<dyn Array>> {
    let count = limits::elements(&shape)?;
    let items = pickle.items_of(list).unwrap_or_default();
    if count != items.len() as u64 {
        let there = items.len();
        return Err(Error::malformed(format!("pickle: an array of {there} elements, its shape has {count}")));
    }
    let dtype = DType::Variable(Arc::new(Variable {
        word: "object".to_owned(),
        arrow: DataType::Utf8,
        reference: false,
    }));
    let chunk = shape.iter().map(|side| (*side).max(1)).collect();
    let objects = Objects { pickle: pickle.clone(), list };
    Ok(Arc::new(Chunked::new(dtype, shape, chunk, Vec::new(), Arc::new(objects))?))
}

/// All objects of an array as its one chunk.
struct Objects {
    pickle: Arc<Pickle>,
    list: Id,
}

impl Chunks for Objects {
    fn chunk(&self, _: &Task, _: &[u64]) -> Result<Option<Bytes>> {
        Err(Error::bug("bytes were asked of elements without a size"))
    }

    fn column(&self, task: &Task, _: &[u64]) -> Result<Option<ArrayRef>> {
        task.check()?;
        let items = self.pickle.items_of(self.list).unwrap_or_default();
        Ok(Some(Arc::new(texts(&self.pickle, items, TEXTS)?)))
    }

    fn layout(&self, _: &Task) -> Result<Layout> {
        Ok(Layout::default())
    }
}
