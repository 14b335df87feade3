//! What lies in a group, as the conventions on groups ask for it.

use super::attribute;
use super::axes;
use super::data;
use super::file_index::FileIndex;
use super::matlab;
use super::object::{Object, kind};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::grouped::{Found, Members};
use crate::data::node::Value;
use std::sync::Arc;

/// A group by its address.
pub(super) struct GroupOf<'a> {
    /// The file.
    pub(super) book: &'a Arc<FileIndex>,
    /// The address of its object header.
    pub(super) address: u64,
}

/// The attributes of an object that can be read; those with one value as that value.
///
/// # Errors
/// Only a cancellation.
pub(super) fn attributes(
    task: &Task,
    book: &Arc<FileIndex>,
    object: &Object,
) -> Result<Vec<(String, Value)>> {
    let file = book.file();
    let (list, _) = attribute::all(file, task, object)?;
    let names = book.names();
    let value = |a: attribute::Attribute| {
        let value = a.value(file, task, names.as_ref()).ok()?.0;
        Some((a.name, axes::single(&value)))
    };
    Ok(list.into_iter().filter_map(value).collect())
}

impl Members for GroupOf<'_> {
    fn find(&self, task: &Task, path: &str) -> Result<Option<Found>> {
        let Some(place) = self.book.follow(task, self.address, path)? else { return Ok(None) };
        let file = place.book.file();
        let object = Object::read(file, task, place.address)?;
        let attributes = attributes(task, &place.book, &object)?;
        let array = match object.find(kind::LAYOUT) {
            Some(_) => {
                let mut dataset = object.dataset(file, task)?;
                matlab::rename_parts(&mut dataset);
                Some(data::open(task, file, &dataset, place.book.names())?.array)
            }
            None => None,
        };
        Ok(Some(Found { attributes, array }))
    }
}
