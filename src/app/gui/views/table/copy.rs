//! Copies of cells as text: tab-separated, CSV, JSON, Markdown, a NumPy literal, a SQL condition.
//! Read and written by a job; a selection may be billions of cells, so it is counted first.

use std::fmt::Write as _;
use std::ops::Range;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::DataType;
use gander::cell;
use gander::content::Table;
use gander::error::{Error, Result};
use gander::task::Task;

use crate::gui::grid::{CopyFormat, CopyRequest};

/// The most cells that are copied.
const CELLS: u64 = 2_000_000;
/// The most bytes of text.
const BYTES: usize = 256 << 20;
/// Rows that are read at a time.
const STEP: u64 = 4096;

/// The text of what was asked for.
///
/// # Errors
/// Where it is too much for a clipboard, or cannot be read.
pub(super) fn copy(table: &dyn Table, task: &Task, request: &CopyRequest) -> Result<String> {
    let rows = request.rows.end.saturating_sub(request.rows.start);
    let cells = rows.saturating_mul(request.columns.len() as u64);
    if cells > CELLS {
        let (cells, most) = (gander::display::count(cells), gander::display::count(CELLS));
        return Err(Error::limit(format!("{cells} cells to copy; at most {most}. Export them instead")));
    }
    task.expect(rows);
    let schema = gander::content::table::project(table.schema(), &request.columns)?;
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut out = Out::new(request, names);
    out.begin();
    let mut at = request.rows.start;
    while at < request.rows.end {
        let end = at.saturating_add(STEP).min(request.rows.end);
        let batch = table.read(task, at..end, &request.columns)?;
        if batch.num_rows() == 0 {
            break;
        }
        for row in 0..batch.num_rows() {
            out.row(&batch, row);
            if out.text.len() > BYTES {
                return Err(Error::limit(format!("more than {BYTES} bytes to copy. Export them instead")));
            }
        }
        task.advance(end - at)?;
        at = end;
    }
    Ok(out.end())
}

struct Out {
    format: CopyFormat,
    headers: bool,
    names: Vec<String>,
    rows: u64,
    text: String,
}

impl Out {
    fn new(request: &CopyRequest, names: Vec<String>) -> Self {
        Out { format: request.format, headers: request.headers, names, rows: 0, text: String::new() }
    }

    fn begin(&mut self) {
        match self.format {
            CopyFormat::Tsv if self.headers => {
                let line: Vec<String> = self.names.iter().map(|name| tsv(name)).collect();
                self.text = line.join("\t") + "\n";
            }
            CopyFormat::Csv => {
                let line: Vec<String> = self.names.iter().map(|name| csv(name)).collect();
                self.text = line.join(",") + "\n";
            }
            CopyFormat::Markdown => {
                let line: Vec<String> = self.names.iter().map(|name| markdown(name)).collect();
                let rule = vec!["---"; line.len()].join(" | ");
                self.text = format!("| {} |\n| {rule} |\n", line.join(" | "));
            }
            CopyFormat::Json => self.text.push('['),
            CopyFormat::NumPy => self.text.push_str("np.array(["),
            CopyFormat::Tsv | CopyFormat::SqlWhere => {}
        }
    }

    fn row(&mut self, batch: &RecordBatch, row: usize) {
        let text = |column: usize| cell::text(batch.column(column).as_ref(), row);
        let columns = 0..batch.num_columns();
        let join = |write: fn(&str) -> String, between: &str| {
            let cells: Vec<String> =
                columns.clone().map(|c| write(text(c).as_deref().unwrap_or(""))).collect();
            cells.join(between)
        };
        match self.format {
            CopyFormat::Tsv => self.text += &(join(tsv, "\t") + "\n"),
            CopyFormat::Csv => {
                // Without quotes a missing value; with them an empty text.
                let cells: Vec<String> =
                    columns.map(|c| text(c).map_or(String::new(), |t| csv(&t))).collect();
                self.text += &(cells.join(",") + "\n");
            }
            CopyFormat::Markdown => self.text += &format!("| {} |\n", join(markdown, " | ")),
            CopyFormat::Json => {
                let mut object = serde_json::Map::new();
                for column in columns {
                    object.insert(self.names[column].clone(), json(batch.column(column).as_ref(), row));
                }
                self.text += if self.rows == 0 { "\n  " } else { ",\n  " };
                self.text += &serde_json::Value::Object(object).to_string();
            }
            CopyFormat::NumPy => {
                let cells: Vec<String> = columns.map(|c| python(batch.column(c).as_ref(), row)).collect();
                self.text += if self.rows == 0 { "" } else { ",\n          " };
                self.text += &match cells.as_slice() {
                    [one] => one.clone(),
                    many => format!("[{}]", many.join(", ")),
                };
            }
            CopyFormat::SqlWhere => {
                let cells: Vec<String> =
                    columns.map(|c| condition(&self.names[c], batch.column(c).as_ref(), row)).collect();
                self.text += if self.rows == 0 { "" } else { "\n   OR " };
                self.text += &format!("({})", cells.join(" AND "));
            }
        }
        self.rows += 1;
    }

    fn end(mut self) -> String {
        match self.format {
            CopyFormat::Json => self.text += "\n]\n",
            CopyFormat::NumPy => self.text += "])",
            CopyFormat::SqlWhere => self.text = format!("WHERE {}", self.text),
            // One cell is pasted as it is, without a line end.
            CopyFormat::Tsv if self.rows == 1 && !self.headers => {
                self.text.pop();
            }
            CopyFormat::Tsv | CopyFormat::Csv | CopyFormat::Markdown => {}
        }
        self.text
    }
}

fn tsv(text: &str) -> String {
    if text.contains(['\t', '\n', '\r', '"']) { quoted(text) } else { text.to_owned() }
}

fn csv(text: &str) -> String {
    let needs = text.is_empty() || text.contains([',', '"', '\n', '\r']) || text.trim() != text;
    if needs { quoted(text) } else { text.to_owned() }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn markdown(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}

/// Numbers and truth values as JSON has them, all else as its text.
fn json(array: &dyn Array, row: usize) -> serde_json::Value {
    let Some(text) = cell::text(array, row) else { return serde_json::Value::Null };
    match array.data_type() {
        DataType::Boolean => serde_json::Value::Bool(text == "true"),
        kind if kind.is_numeric() => serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)),
        kind if kind.is_nested() => cell::json(array, row),
        _ => serde_json::Value::String(text),
    }
}

fn python(array: &dyn Array, row: usize) -> String {
    let Some(text) = cell::text(array, row) else {
        return if is_float(array.data_type()) { "np.nan".to_owned() } else { "None".to_owned() };
    };
    match array.data_type() {
        DataType::Boolean => if text == "true" { "True" } else { "False" }.to_owned(),
        kind if kind.is_numeric() => match text.as_str() {
            "nan" => "np.nan".to_owned(),
            "inf" => "np.inf".to_owned(),
            "-inf" => "-np.inf".to_owned(),
            _ => text,
        },
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) => {
            format!("np.datetime64({})", literal(text.trim_end_matches('Z')))
        }
        _ => literal(&text),
    }
}

fn is_float(kind: &DataType) -> bool {
    matches!(kind, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

/// A string literal of Python.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// `"name" = value`, as SQL wants it.
fn condition(name: &str, array: &dyn Array, row: usize) -> String {
    let name = quoted(name);
    let Some(text) = cell::text(array, row) else { return format!("{name} IS NULL") };
    let value = match array.data_type() {
        DataType::Boolean => text.to_uppercase(),
        kind if kind.is_numeric() && !matches!(text.as_str(), "nan" | "inf" | "-inf") => text,
        _ => format!("'{}'", text.replace('\'', "''")),
    };
    format!("{name} = {value}")
}

/// How many cells a range is, in words.
pub(super) fn words(rows: &Range<u64>, columns: usize) -> String {
    let rows = rows.end.saturating_sub(rows.start);
    if columns == 1 {
        return gander::display::plural(rows, "cell");
    }
    format!(
        "{} × {}",
        gander::display::plural(rows, "row"),
        gander::display::plural(columns as u64, "column")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, StringArray};
    use gander::content::table::MemoryTable;

    use super::*;

    fn copied(format: CopyFormat, headers: bool) -> String {
        let batch = RecordBatch::try_from_iter([
            ("x", Arc::new(Float64Array::from(vec![Some(1.5), None])) as ArrayRef),
            ("a|b", Arc::new(StringArray::from(vec![Some("it's, \"so\""), Some("")]))),
        ])
        .unwrap();
        let request = CopyRequest { rows: 0..2, columns: vec![0, 1], headers, format };
        copy(&MemoryTable::new(batch), &Task::new(), &request).unwrap()
    }

    #[test]
    fn every_form_quotes_as_its_readers_expect() {
        assert_eq!(copied(CopyFormat::Tsv, true), "x\ta|b\n1.5\t\"it's, \"\"so\"\"\"\n\t\n");
        assert_eq!(copied(CopyFormat::Csv, true), "x,a|b\n1.5,\"it's, \"\"so\"\"\"\n,\"\"\n");
        assert_eq!(
            copied(CopyFormat::Markdown, true),
            "| x | a\\|b |\n| --- | --- |\n| 1.5 | it's, \"so\" |\n|  |  |\n"
        );
        let json: serde_json::Value = serde_json::from_str(&copied(CopyFormat::Json, true)).unwrap();
        assert_eq!(json[0]["x"].to_string(), "1.5");
        assert!(json[1]["x"].is_null());
        assert_eq!(
            copied(CopyFormat::NumPy, false),
            "np.array([[1.5, 'it\\'s, \"so\"'],\n          [np.nan, '']])"
        );
        let sql = copied(CopyFormat::SqlWhere, false);
        assert_eq!(
            sql,
            "WHERE (\"x\" = 1.5 AND \"a|b\" = 'it''s, \"so\"')\n   OR (\"x\" IS NULL AND \"a|b\" = '')"
        );
    }

    #[test]
    fn more_than_a_clipboard_takes_is_refused_before_reading() {
        let batch =
            RecordBatch::try_from_iter([("x", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)]).unwrap();
        let request =
            CopyRequest { rows: 0..u64::MAX, columns: vec![0], headers: false, format: CopyFormat::Tsv };
        assert!(copy(&MemoryTable::new(batch), &Task::new(), &request).is_err());
    }
}
