//! What lies in a group, as the conventions on groups ask for it.

use super::attribute;
use super::axes;
use super::book::Book;
use super::data;
use super::object::{Object, kind};
use crate::error::Result;
use crate::grouped::{Found, Members};
use crate::task::Task;
use std::sync::Arc;

/// A group by its address.
pub(super) struct GroupOf<'a> {
    /// The file.
    pub(super) book: &'a Arc<Book>,
    /// The address of its object header.
    pub(super) address: u64,
}

impl Members for GroupOf<'_> {
    fn find(&self, task: &Task, path: &str) -> Result<Option<Found>> {
        let Some(place) = self.book.follow(task, self.address, path)? else { return Ok(None) };
        let file = place.book.file();
        let object = Object::read(file, task, place.address)?;
        let (list, _) = attribute::all(file, task, &object)?;
        let names = place.book.names();
        let value = |a: attribute::Attribute| {
            let value = a.value(file, task, names.as_ref()).ok()?.0;
            Some((a.name, axes::single(&value)))
        };
        let attributes = list.into_iter().filter_map(value).collect();
        let array = match object.find(kind::LAYOUT) {
            Some(_) => {
                let dataset = object.dataset(file, task)?;
                Some(data::open(task, file, &dataset, names)?.array)
            }
            None => None,
        };
        Ok(Some(Found { attributes, array }))
    }
}
