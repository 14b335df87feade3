//! ASCII tables: rows of characters, each column at its place (`TBCOLn`) in its form (`TFORMn`).

use super::header::{Header, text};
use super::rows::Stored;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Rows, Table, TableFacts};
use crate::data::node::Node;
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// A column of an ASCII table.
struct Column {
    name: String,
    form: String,
    kind: Kind,
    /// Where it begins in a row.
    start: usize,
    width: usize,
    null: Option<String>,
    scale: f64,
    zero: f64,
    unit: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Integer,
    Float,
}

struct Ascii {
    stored: Stored,
    columns: Vec<Column>,
}

/// Gives a node its table.
pub(super) fn fill(source: &Source, header: &Header, _bytes: u64, node: &mut Node) -> Result<()> {
    let (row, rows) = (header.count("NAXIS1", 0)?, header.count("NAXIS2", 0)?);
    let fields = header.count("TFIELDS", 0)?;
    if fields > 999 {
        return Err(
            Error::malformed(format!("header: TFIELDS is {fields}; there are at most 999")).at(header.data)
        );
    }
    limits::check(row, limits::CHUNK, "a row").map_err(|e| e.at(header.data))?;
    let columns: Vec<Column> = (1..=fields).map(|n| column(header, n, row)).collect::<Result<_>>()?;
    let fields = columns.iter().map(Column::field).collect();
    let (stored, problem) = Stored::new(source, header, (row, rows), fields);
    node.problem = problem;
    let table = Ascii { stored, columns };
    node.content = Some(Content::Table(Arc::new(table)));
    Ok(())
}

fn column(header: &Header, n: u64, row: u64) -> Result<Column> {
    let form = header.text(&format!("TFORM{n}")).unwrap_or_default().trim().to_owned();
    let wrong = |what: String| Error::malformed(format!("header: {what}")).at(header.data);
    let mut letters = form.chars();
    let kind = match letters.next().map(|c| c.to_ascii_uppercase()) {
        Some('A') => Kind::Text,
        Some('I') => Kind::Integer,
        Some('F' | 'E' | 'D') => Kind::Float,
        _ => return Err(wrong(format!("TFORM{n} is {form:?}"))),
    };
    let width = letters.as_str().split('.').next().unwrap_or_default();
    let width: usize = if width.is_empty() {
        1
    } else {
        width.parse().map_err(|_| wrong(format!("TFORM{n} is {form:?}")))?
    };
    let begin = header.count(&format!("TBCOL{n}"), 0)?;
    let start = usize::try_from(begin.saturating_sub(1)).unwrap_or(usize::MAX);
    if begin == 0 || start.saturating_add(width) as u64 > row {
        return Err(wrong(format!("TBCOL{n} is {begin}: column and form do not fit into a row of {row}")));
    }
    let number = |prefix: &str| header.float(&format!("{prefix}{n}")).filter(|v| v.is_finite());
    let name =
        header.text(&format!("TTYPE{n}")).map_or_else(|| format!("col{n}"), |name| name.trim().to_owned());
    Ok(Column {
        name,
        kind,
        start,
        width,
        null: header.text(&format!("TNULL{n}")).map(|null| null.trim().to_owned()),
        scale: number("TSCAL").unwrap_or(1.0),
        zero: number("TZERO").unwrap_or(0.0),
        unit: header.text(&format!("TUNIT{n}")).map(|unit| unit.trim().to_owned()),
        form,
    })
}

impl Column {
    fn is_scaled(&self) -> bool {
        self.scale != 1.0 || self.zero != 0.0
    }

    fn field(&self) -> Field {
        let data_type = match self.kind {
            Kind::Text => DataType::Utf8,
            Kind::Integer if !self.is_scaled() => DataType::Int64,
            _ => DataType::Float64,
        };
        Field::new(&self.name, data_type, true)
    }

    /// The cells of some rows.
    fn cells(&self, rows: &[u8], row: usize) -> ArrayRef {
        let cell = |bytes: &[u8]| {
            let cell = text(bytes.get(self.start..self.start + self.width).unwrap_or_default());
            let null = self.null.as_deref() == Some(cell.trim());
            if null { None } else { Some(cell) }
        };
        let cells = rows.chunks_exact(row.max(1)).map(cell);
        let float = |cell: String| {
            let value: f64 = cell.trim().replace(['D', 'd'], "E").parse().ok()?;
            Some(value * self.scale + self.zero)
        };
        match self.kind {
            Kind::Text => Arc::new(cells.collect::<StringArray>()),
            Kind::Integer if !self.is_scaled() => Arc::new(
                cells.map(|cell| cell?.trim().trim_start_matches('+').parse().ok()).collect::<Int64Array>(),
            ),
            _ => Arc::new(cells.map(|cell| float(cell?)).collect::<Float64Array>()),
        }
    }

    fn details(&self) -> Vec<(String, String)> {
        let mut lines = vec![("form".to_owned(), self.form.clone())];
        lines.extend(self.unit.clone().map(|unit| ("unit".to_owned(), unit)));
        lines
    }
}

impl Table for Ascii {
    fn schema(&self) -> &SchemaRef {
        &self.stored.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.stored.count)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let cells =
            |column: &Column, bytes: &[u8], _: usize| Ok(column.cells(bytes, self.stored.row as usize));
        self.stored.read(task, &rows, columns, &self.columns, cells)
    }

    fn facts(&self) -> TableFacts {
        TableFacts { columns: self.columns.iter().map(Column::details).collect(), ..TableFacts::default() }
    }
}
