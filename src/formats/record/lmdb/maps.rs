//! Entries whose values are maps of MessagePack as rows: the key, and a column for each name that the maps have in common.

use super::columns::EntryColumns;
use super::store::Store;
use super::values::Keys;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::engines::msgpack::ObjectColumns;
use crate::engines::records::container::{Builder, Columns, Container, Record};
use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema, SchemaRef};
use std::sync::Arc;

/// The columns.
pub(super) struct MapColumns {
    entries: EntryColumns,
    maps: ObjectColumns,
    schema: SchemaRef,
}

impl MapColumns {
    /// The columns of a database whose values are maps; `None` where these have too few names in common.
    ///
    /// # Errors
    /// As [`ObjectColumns::find`].
    pub(super) fn find(task: &Task, store: &Arc<Store>, keys: Keys) -> Result<Option<MapColumns>> {
        let container: Arc<dyn Container> = store.clone();
        let Some(maps) = ObjectColumns::find(task, &container, false)? else { return Ok(None) };
        let entries = EntryColumns::new(store, keys);
        let members = maps.schema().fields();
        let is_taken = |name: &str| members.iter().any(|field| field.name() == name);
        let name = if is_taken("key") { "__key__" } else { "key" };
        let key = entries.schema().fields().first().map(|key| Arc::new(Field::clone(key).with_name(name)));
        let fields: Vec<_> = key.into_iter().chain(members.iter().cloned()).collect();
        Ok(Some(MapColumns { entries, maps, schema: Arc::new(Schema::new(fields)) }))
    }
}

impl Columns for MapColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn wants_payloads(&self, columns: &[usize]) -> bool {
        columns.iter().any(|column| *column > 0)
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let is_key: Vec<bool> = columns.iter().map(|column| *column == 0).collect();
        let keys: Vec<usize> = columns.iter().copied().filter(|column| *column == 0).collect();
        let members: Vec<usize> = columns.iter().filter_map(|column| column.checked_sub(1)).collect();
        let maps = self.maps.builder(&members)?;
        Ok(Box::new(MapBuilder { keys: self.entries.builder(&keys)?, maps, is_key }))
    }
}

struct MapBuilder<'a> {
    keys: Box<dyn Builder + 'a>,
    maps: Box<dyn Builder + 'a>,
    /// Of each column that is made, whether it is that of keys.
    is_key: Vec<bool>,
}

impl Builder for MapBuilder<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        self.keys.add(record, None)?;
        self.maps.add(record, payload)
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let (mut keys, mut maps) = (self.keys.finish()?.into_iter(), self.maps.finish()?.into_iter());
        let next = |is_key: &bool| if *is_key { keys.next() } else { maps.next() };
        Ok(self.is_key.iter().filter_map(next).collect())
    }
}
