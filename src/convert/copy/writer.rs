//! Rows of cells as text, in any of the forms.

use super::value::{CopyValue, quoted};
use super::{CopyFormat, CopyRequest};
use serde_json::Value as Json;

/// Writes rows of cells as text.
pub struct CopyWriter {
    format: CopyFormat,
    headers: bool,
    names: Vec<String>,
    /// Whether the names of the columns are mere numbers, so that rows are lists.
    numbered: bool,
    /// Whether the rows are records for NumPy too.
    records: bool,
    /// The type of a NumPy array.
    dtype: Option<String>,
    rows: u64,
    text: String,
}

impl CopyWriter {
    /// Rows of cells with these names of columns.
    pub fn new(request: &CopyRequest, names: Vec<String>) -> Self {
        let mut writer = CopyWriter {
            format: request.format,
            headers: request.headers,
            names,
            numbered: false,
            records: false,
            dtype: None,
            rows: 0,
            text: String::new(),
        };
        writer.begin();
        writer
    }

    /// Bytes of text so far.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The rows are those of an array whose columns are elements of this type of NumPy.
    pub(super) fn of_elements(mut self, dtype: Option<String>) -> Self {
        (self.numbered, self.dtype) = (true, dtype);
        self
    }

    /// The rows are records of this type of NumPy.
    pub(super) fn of_records(mut self, dtype: Option<String>) -> Self {
        (self.records, self.dtype) = (dtype.is_some(), dtype);
        self
    }

    /// Writes what stands before the rows.
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

    /// Writes a row: an item a column.
    pub fn row(&mut self, items: &[CopyValue]) {
        let join = |write: fn(&str) -> String, between: &str| {
            let cells: Vec<String> =
                items.iter().map(|item| write(item.text.as_deref().unwrap_or(""))).collect();
            cells.join(between)
        };
        match self.format {
            CopyFormat::Tsv => self.text += &(join(tsv, "\t") + "\n"),
            CopyFormat::Csv => {
                // Without quotes a missing value; with them an empty text.
                let cells: Vec<String> =
                    items.iter().map(|item| item.text.as_deref().map_or(String::new(), csv)).collect();
                self.text += &(cells.join(",") + "\n");
            }
            CopyFormat::Markdown => self.text += &format!("| {} |\n", join(markdown, " | ")),
            CopyFormat::Json => self.json_row(items),
            CopyFormat::NumPy => self.numpy_row(items),
            CopyFormat::SqlWhere => {
                let named = items.iter().zip(&self.names);
                let cells: Vec<String> = named.map(|(item, name)| item.condition(name)).collect();
                self.text += if self.rows == 0 { "" } else { "\n   OR " };
                self.text += &format!("({})", cells.join(" AND "));
            }
        }
        self.rows += 1;
    }

    /// Whether what is written is a list of values and none of rows.
    fn is_flat(&self) -> bool {
        self.names.len() == 1 && !self.records
    }

    fn json_row(&mut self, items: &[CopyValue]) {
        let flat = self.numbered && self.is_flat();
        self.text += match (flat, self.rows) {
            (true, 0) => "",
            (true, _) => ", ",
            (false, 0) => "\n  ",
            (false, _) => ",\n  ",
        };
        let value = match (self.numbered, items) {
            (true, [one]) => one.json(),
            (true, many) => Json::Array(many.iter().map(CopyValue::json).collect()),
            (false, _) => {
                let named = self.names.iter().zip(items);
                Json::Object(named.map(|(name, item)| (name.clone(), item.json())).collect())
            }
        };
        self.text += &value.to_string();
    }

    fn numpy_row(&mut self, items: &[CopyValue]) {
        let cells: Vec<String> = items.iter().map(CopyValue::python).collect();
        self.text += match (self.is_flat(), self.rows) {
            (_, 0) => "",
            (true, _) => ", ",
            (false, _) => ",\n          ",
        };
        self.text += &match cells.as_slice() {
            [one] if self.records => format!("({one},)"),
            many if self.records => format!("({})", many.join(", ")),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
    }

    /// The text.
    pub fn end(mut self) -> String {
        match self.format {
            CopyFormat::Json if self.numbered && self.is_flat() => self.text += "]\n",
            CopyFormat::Json => self.text += "\n]\n",
            CopyFormat::NumPy => {
                let dtype = self.dtype.map_or(String::new(), |dtype| format!(", dtype={dtype}"));
                self.text += &format!("]{dtype})");
            }
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

fn markdown(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}
