//! Objects whose members are columns: equally long arrays of scalars, or objects with the rows' numbers as
//! names (pandas' default). Small ones only, read at once.

use super::tables::{self, Found};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::{Columns, MemoryTable};
use crate::engines::json::record;
use crate::engines::json::shape::Shape;
use crate::engines::json::{Child, Document, Kind};
use arrow::array::{ArrayRef, StringArray};
use std::sync::Arc;

/// The table whose columns are these members, if they are columns.
pub(super) fn of(task: &Task, document: &Arc<Document>, members: &[Child]) -> Result<Option<Found>> {
    let kind = members.first().map(|child| child.kind);
    let alike = members.len() > 1 && members.iter().all(|child| Some(child.kind) == kind);
    if !alike || !kind.is_some_and(Kind::is_container) {
        return Ok(None);
    }
    let (mut columns, mut arrays): (Vec<_>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    let mut rows: Option<Vec<String>> = None;
    for child in members {
        let raw = document.source().read(task, child.span.clone())?;
        let Ok(text) = simdutf8::basic::from_utf8(&raw) else { return Ok(None) };
        let Some((numbers, values)) = column(text, child.kind) else { return Ok(None) };
        // The same rows in every column, else these are other things.
        if rows.as_ref().is_some_and(|known| *known != numbers) {
            return Ok(None);
        }
        rows = Some(numbers);
        let mut shape = Shape::default();
        values.iter().for_each(|raw| shape.see(raw, 0));
        columns.push(Columns::text(child.name.clone().unwrap_or_default(), shape.data_type()));
        arrays.push(Arc::new(values.iter().map(|raw| record::cell(raw)).collect::<StringArray>()));
    }
    let content = tables::content(MemoryTable::of(columns.into_iter().collect(), arrays)?);
    let remarks = vec!["the columns are the members of this object".to_owned()];
    Ok(Some(Found { content, remarks, met: Arc::default() }))
}

/// The names of the rows and the values of a column of scalars.
fn column(text: &str, kind: Kind) -> Option<(Vec<String>, Vec<&str>)> {
    let (numbers, values): (Vec<String>, Vec<&str>) = match kind {
        Kind::Array => {
            let values = record::elements(text)?;
            ((0..values.len()).map(|n| n.to_string()).collect(), values)
        }
        _ => {
            let fields = record::object(text)?;
            let is_number = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
            if !fields.iter().all(|(name, _)| is_number(name)) {
                return None;
            }
            fields.into_iter().map(|(name, raw)| (name.into_owned(), raw)).unzip()
        }
    };
    let scalar = |raw: &&str| !raw.starts_with(['{', '[']);
    (!values.is_empty() && values.iter().all(scalar)).then_some((numbers, values))
}
