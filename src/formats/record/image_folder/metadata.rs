//! What a table beside the pictures says of them.

use super::layout::Layout;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ColumnMap, MappedTable};
use crate::data::cell;
use crate::data::content::Table;
use crate::data::format::Options;
use crate::data::open::table_of;
use crate::engines::multifile::concat::{self, Part, Wanted};
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;

/// The names of such files.
const NAMES: [&str; 3] = ["metadata.csv", "metadata.jsonl", "metadata.parquet"];

pub(super) fn is_metadata(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The path of the file in a folder of the data set.
pub(super) fn beside(task: &Task, root: &Source, folder: &str) -> Result<Option<String>> {
    task.check()?;
    let before = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let there = |name: &str| root.size_of(&format!("{before}{name}")).is_ok();
    Ok(NAMES.iter().find(|name| there(name)).map(|name| format!("{before}{name}")))
}

/// The table of all of them, with the paths of the pictures in the data set's folder; `None` where there is none.
pub(super) fn table(task: &Task, root: &Source, layout: &Layout) -> Result<Option<Arc<dyn Table>>> {
    let split = Arc::new(Field::new("split", DataType::Utf8, true));
    let constants = if layout.has_splits() { vec![split] } else { Vec::new() };
    let mut parts = Vec::new();
    for place in &layout.roots {
        let Some(path) = beside(task, root, &place.path)? else { return Ok(None) };
        if !matches!(open(task, root, &path, &place.path).unless_cancelled()?, Ok(Some(_))) {
            return Ok(None);
        }
        let (source, folder, file) = (root.clone(), place.path.clone(), path.clone());
        let open = move |task: &Task| -> Result<Arc<dyn Table>> {
            let table = open(task, &source, &file, &folder)?;
            table.ok_or_else(|| {
                crate::bytes::error::Error::malformed("metadata: there is no column file_name")
            })
        };
        let mut part = Part::new(path, 0, Box::new(open));
        if !constants.is_empty() {
            part.constants = vec![Arc::new(StringArray::from(vec![place.split.clone()])) as ArrayRef];
        }
        parts.push(part);
    }
    if parts.is_empty() {
        return Ok(None);
    }
    let joined = concat::join(task, parts, constants, Wanted::All).unless_cancelled()?;
    Ok(joined.ok().map(|joined| joined.table))
}

/// A table of metadata; `None` where it names no files.
fn open(task: &Task, root: &Source, path: &str, folder: &str) -> Result<Option<Arc<dyn Table>>> {
    let source = root.child(task, path)?;
    let document = crate::formats::ALL.open_source(task, &source, &Options::default())?;
    let table = table_of(&document)?;
    let schema = table.schema().clone();
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let exact = names().position(|name| name == "file_name");
    let Some(column) = exact.or_else(|| names().position(|name| name.ends_with("_file_name"))) else {
        return Ok(None);
    };
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let renamed = |(n, field): (usize, &Arc<Field>)| match n == column {
        // `file_name` is `image`, `mask_file_name` is `mask`.
        true => {
            let name = field.name().strip_suffix("_file_name").unwrap_or("image").to_owned();
            let name = if names().any(|known| known == name) { field.name().clone() } else { name };
            Arc::new(Field::new(name, DataType::Utf8, true))
        }
        false => field.clone(),
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().enumerate().map(renamed).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    Ok(Some(Arc::new(MappedTable::new(table, schema, Prefixed { column, prefix }))))
}

/// Paths with what stands before them.
struct Prefixed {
    column: usize,
    prefix: String,
}

impl ColumnMap for Prefixed {
    fn changes(&self, column: usize) -> bool {
        column == self.column
    }

    fn map(&self, cells: &ArrayRef, _column: usize, _field: &Field) -> Result<ArrayRef> {
        let path = |row| cell::shown(cells.as_ref(), row).map(|name| format!("{}{name}", self.prefix));
        Ok(Arc::new((0..cells.len()).map(path).collect::<StringArray>()))
    }
}
