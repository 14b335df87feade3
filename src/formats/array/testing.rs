//! What the tests of several formats look into a document with.

use crate::bytes::task::Task;
use crate::data::content::array::read;
use crate::data::content::{Array, Content};
use crate::data::node::Node;
use crate::data::open::Document;
use crate::data::region::Region;
use std::sync::Arc;

pub(super) fn node(document: &Document, path: &str) -> Arc<Node> {
    document.root.find(&Task::new(), path).unwrap().unwrap_or_else(|| panic!("{path}"))
}

pub(super) fn array(document: &Document, path: &str) -> Arc<dyn Array> {
    let node = node(document, path);
    let Some(Content::Array(array)) = &node.content else { panic!("{path}: {:?}", node.problem) };
    array.clone()
}

/// The elements of a slice, as texts.
pub(super) fn texts(array: &dyn Array, slice: &str) -> Vec<String> {
    let region = Region::parse(slice, array.shape()).unwrap().0;
    let bytes = read(array, &Task::new(), &region).unwrap();
    let size = array.dtype().size() as usize;
    bytes.chunks(size).map(|element| crate::data::cell::element(array.dtype(), element)).collect()
}
