//! The lists of a document as tables: attributes and parts of the elements are columns. Rows are parsed piece by piece when
//! somebody looks at them.

use super::Document;
use super::outline::{Origin, Piece, Rows as List};
use super::terms;
use super::texts;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::table::{Columns, cut, stacked};
use crate::data::content::{Rows, Table};
use crate::engines::xml::Element;
use arrow::array::{ArrayRef, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of parsed pieces that are kept.
const PARSED: usize = 8 << 20;

/// A list as a table.
pub(super) struct RowTable {
    document: Arc<Document>,
    /// The number of the list in the outline.
    list: u32,
    columns: Columns,
    parsed: Cache<usize, Arc<Vec<ArrayRef>>>,
}

impl RowTable {
    /// The table of a list of the outline. Reads nothing.
    pub(super) fn new(document: &Arc<Document>, list: u32) -> Option<Self> {
        let rows = document.entry(list)?.rows.as_ref()?;
        let is_taken =
            |name: &str| rows.columns.iter().any(|column| column.origin == Origin::Parts(name.to_owned()));
        let columns = rows.columns.iter().map(|column| {
            let name = match &column.origin {
                Origin::Element => "element".to_owned(),
                Origin::Attribute(name) if is_taken(name) || name == "element" => format!("@{name}"),
                Origin::Attribute(name) | Origin::Parts(name) => name.clone(),
                Origin::Text => "#text".to_owned(),
            };
            Columns::text(name, column.guess.data_type())
        });
        let columns = columns.collect();
        Some(RowTable { document: document.clone(), list, columns, parsed: Cache::new(PARSED) })
    }

    fn rows(&self) -> Result<&List> {
        let entry = self.document.entry(self.list).and_then(|entry| entry.rows.as_ref());
        entry.ok_or_else(|| Error::bug("a list of the outline is none"))
    }

    /// All columns of a piece.
    fn piece(&self, task: &Task, number: usize) -> Result<Arc<Vec<ArrayRef>>> {
        if let Some(known) = self.parsed.get(&number) {
            return Ok(known);
        }
        let rows = self.rows()?;
        let piece = rows.pieces.get(number).ok_or_else(|| Error::bug("a piece that is not there"))?;
        let elements = elements(task, &self.document, self.list, number)?;
        let columns: Vec<ArrayRef> = rows
            .columns
            .iter()
            .map(|column| -> ArrayRef {
                let mut made = StringBuilder::new();
                elements.iter().for_each(|element| made.append_option(cell(element, &column.origin)));
                Arc::new(made.finish())
            })
            .collect();
        let columns = Arc::new(columns);
        let bytes = (piece.span.end - piece.span.start) as usize;
        self.parsed.put(number, columns.clone(), bytes);
        Ok(columns)
    }
}

/// The elements of a piece of a list.
///
/// # Errors
/// What is wrong with it.
pub(super) fn elements(task: &Task, document: &Document, list: u32, number: usize) -> Result<Vec<Element>> {
    let entry = document.entry(list).ok_or_else(|| Error::bug("a list that is not there"))?;
    let rows = entry.rows.as_ref().ok_or_else(|| Error::bug("a list without rows"))?;
    let Some(Piece { first, span }) = rows.pieces.get(number) else { return Ok(Vec::new()) };
    let end = rows.pieces.get(number + 1).map_or(rows.count, |next| next.first);
    let expected = end.saturating_sub(*first) as usize;
    let (element, problem) = document.parse(task, span.clone(), &entry.name, true)?;
    let found: Vec<Element> = element.children.into_iter().filter(|row| is_row(&entry.name, row)).collect();
    match problem {
        Some(problem) => Err(problem),
        None if found.len() != expected => {
            let what = format!("{}: {} rows are there, {expected} were counted", entry.name, found.len());
            Err(Error::malformed(what).at(span.start))
        }
        None => Ok(found),
    }
}

/// Whether an element between the rows of a list is one of them.
fn is_row(list: &str, element: &Element) -> bool {
    list == terms::MIXED && terms::is_mixed_row(element.local_name()) || list == element.local_name()
}

fn cell(element: &Element, origin: &Origin) -> Option<String> {
    match origin {
        Origin::Element => Some(element.local_name().to_owned()),
        Origin::Attribute(name) => element.attribute(name).map(str::to_owned),
        Origin::Text => Some(element.text.trim().to_owned()).filter(|text| !text.is_empty()),
        Origin::Parts(name) => {
            let is_its = |part: &&Element| terms::column(element.local_name(), part.local_name()) == *name;
            texts::cell(&element.children.iter().filter(is_its).collect::<Vec<_>>())
        }
    }
}

impl Table for RowTable {
    fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(RowTable::rows(self).map_or(0, |rows| rows.count))
    }

    fn inferred(&self, column: usize) -> Option<&DataType> {
        self.columns.inferred(column)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let list = RowTable::rows(self)?;
        let rows = cut(&rows, list.count);
        let mut number = list.pieces.partition_point(|piece| piece.first <= rows.start).saturating_sub(1);
        let mut at = rows.start;
        let mut parts: Vec<Vec<ArrayRef>> = Vec::new();
        while at < rows.end {
            task.check()?;
            let Some(piece) = list.pieces.get(number) else { break };
            let end = list.pieces.get(number + 1).map_or(list.count, |next| next.first).min(rows.end);
            if end > at {
                let whole = self.piece(task, number)?;
                let from = (at - piece.first) as usize;
                let part = columns.iter().filter_map(|column| whole.get(*column));
                parts.push(part.map(|column| column.slice(from, (end - at) as usize)).collect());
            }
            (at, number) = (end, number + 1);
        }
        stacked(&self.columns.schema, columns, &parts, (rows.end - rows.start) as usize)
    }
}
