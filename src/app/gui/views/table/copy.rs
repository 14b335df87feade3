//! Copies of cells as text: tab-separated, CSV, JSON, Markdown, a NumPy literal, a SQL condition.
//! Read and written by a job; a selection may be billions of cells, so it is counted first. Arrays and lists
//! of nodes write theirs with the same [`Out`].

use std::fmt::Write as _;
use std::ops::Range;

use arrow::array::Array;
use arrow::datatypes::DataType;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::cell;
use gander::data::content::Table;
use gander::data::dtype::{DType, TimeBase, TimeUnit};
use serde_json::Value as Json;

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
        let (cells, most) = (gander::bytes::display::count(cells), gander::bytes::display::count(CELLS));
        return Err(Error::limit(format!("{cells} cells to copy; at most {most}. Export them instead")));
    }
    task.set_total(rows);
    let schema = gander::data::content::table::project(table.schema(), &request.columns)?;
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
            let items: Vec<Item> = batch.columns().iter().map(|array| Item::of(&**array, row)).collect();
            out.row(&items);
            if out.text.len() > BYTES {
                return Err(Error::limit(format!("more than {BYTES} bytes to copy. Export them instead")));
            }
        }
        task.advance(end - at)?;
        at = end;
    }
    Ok(out.end())
}

/// What a value is, for the forms that tell numbers from texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::gui::views) enum Kind {
    Bool,
    /// An integer or a decimal.
    Number,
    Float,
    /// A moment, as NumPy reads it too.
    Date,
    /// A list or a record: its text is JSON.
    Nested,
    #[default]
    Text,
}

/// One value on its way to the clipboard.
#[derive(Clone, Debug, Default)]
pub(in crate::gui::views) struct Item {
    kind: Kind,
    /// `None` where it is missing.
    text: Option<String>,
    /// How Python writes it, where kind and text do not tell.
    python: Option<String>,
}

impl Item {
    pub(in crate::gui::views) fn new(kind: Kind, text: Option<String>) -> Self {
        Item { kind, text, python: None }
    }

    /// A cell of a table.
    fn of(array: &dyn Array, row: usize) -> Self {
        let kind = match array.data_type() {
            DataType::Boolean => Kind::Bool,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Kind::Float,
            kind if kind.is_numeric() => Kind::Number,
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) => Kind::Date,
            // What a union holds may be any text.
            DataType::Union(_, _) => Kind::Text,
            kind if kind.is_nested() => Kind::Nested,
            _ => Kind::Text,
        };
        Item::new(kind, cell::text(array, row))
    }

    /// An element of an array.
    pub(in crate::gui::views) fn element(dtype: &DType, bytes: &[u8]) -> Self {
        let (kind, python) = match dtype {
            DType::Bool => (Kind::Bool, None),
            DType::C64 => (Kind::Text, complex(&DType::F32, bytes)),
            DType::C128 => (Kind::Text, complex(&DType::F64, bytes)),
            // More digits than a float of Python has.
            DType::Long(_) => {
                (Kind::Float, Some(format!("np.longdouble({})", literal(&cell::element(dtype, bytes)))))
            }
            _ if dtype.is_float() => (Kind::Float, None),
            _ if dtype.is_real() => (Kind::Number, None),
            DType::DateTime(unit) => (Kind::Date, moment(dtype, unit, bytes)),
            DType::TimeDelta(unit) => (Kind::Text, counted("timedelta64", unit, bytes)),
            DType::Bytes(_) | DType::Void(_) => (Kind::Text, Some(bytes_literal(bytes))),
            DType::Struct(_) => (Kind::Nested, None),
            _ => (Kind::Text, None),
        };
        Item { kind, text: Some(cell::element(dtype, bytes)), python }
    }

    /// A field of an element that is an array itself.
    pub(in crate::gui::views) fn part(dtype: &DType, shape: &[u64], bytes: &[u8]) -> Self {
        let text = cell::nested(dtype, shape, bytes).map(|json| json.to_string());
        Item { kind: Kind::Nested, text, python: listed(dtype, shape, bytes) }
    }

    /// Numbers and truth values as JSON has them, all else as its text.
    fn json(&self) -> Json {
        let Some(text) = &self.text else { return Json::Null };
        match self.kind {
            Kind::Bool => Json::Bool(text == "true"),
            Kind::Number | Kind::Float | Kind::Nested => {
                serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone()))
            }
            Kind::Date | Kind::Text => Json::String(text.clone()),
        }
    }

    fn python(&self) -> String {
        let Some(text) = &self.text else {
            return if self.kind == Kind::Float { "np.nan".to_owned() } else { "None".to_owned() };
        };
        if let Some(python) = &self.python {
            return python.clone();
        }
        match self.kind {
            Kind::Bool => if text == "true" { "True" } else { "False" }.to_owned(),
            Kind::Number | Kind::Float => match text.as_str() {
                "nan" => "np.nan".to_owned(),
                "inf" => "np.inf".to_owned(),
                "-inf" => "-np.inf".to_owned(),
                _ => text.clone(),
            },
            Kind::Date => format!("np.datetime64({})", literal(text.trim_end_matches('Z'))),
            Kind::Nested | Kind::Text => literal(text),
        }
    }

    /// `"name" = value`, as SQL wants it.
    fn condition(&self, name: &str) -> String {
        let name = quoted(name);
        let Some(text) = &self.text else { return format!("{name} IS NULL") };
        let value = match self.kind {
            Kind::Bool => text.to_uppercase(),
            Kind::Number | Kind::Float if !matches!(text.as_str(), "nan" | "inf" | "-inf") => text.clone(),
            _ => format!("'{}'", text.replace('\'', "''")),
        };
        format!("{name} = {value}")
    }
}

/// A complex number of Python; its parts may be no numbers, which `1+nanj` cannot say.
fn complex(part: &DType, bytes: &[u8]) -> Option<String> {
    let (real, imaginary) = bytes.split_at_checked(bytes.len() / 2)?;
    let (real, imaginary) = (Item::element(part, real).python(), Item::element(part, imaginary).python());
    Some(format!("complex({real}, {imaginary})"))
}

/// A moment as `np.datetime64` reads it: as text where that is a date, else as its count.
fn moment(dtype: &DType, unit: &TimeUnit, bytes: &[u8]) -> Option<String> {
    let text = cell::element(dtype, bytes);
    let year = text.chars().take_while(char::is_ascii_digit).count();
    let is_date = year == 4 && matches!(text.as_bytes().get(4), None | Some(b'-'));
    if is_date && unit.base != TimeBase::Generic {
        return Some(format!("np.datetime64({})", literal(&text)));
    }
    counted("datetime64", unit, bytes)
}

/// A count of a unit of time.
fn counted(word: &str, unit: &TimeUnit, bytes: &[u8]) -> Option<String> {
    let count = i64::from_le_bytes(bytes.try_into().ok()?);
    let step = match (unit.count, unit.base) {
        _ if count == i64::MIN => return Some(format!("np.{word}('NaT')")),
        (_, TimeBase::Generic) => String::new(),
        (1, base) => format!(", '{}'", base.word()),
        (many, base) => format!(", '{many}{}'", base.word()),
    };
    Some(format!("np.{word}({count}{step})"))
}

/// Bytes of Python, without the zeros that pad them.
fn bytes_literal(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let mut out = String::from("b'");
    for &byte in &bytes[..end] {
        match byte {
            b'\'' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('\'');
    out
}

/// Elements as nested lists of Python.
fn listed(dtype: &DType, shape: &[u64], bytes: &[u8]) -> Option<String> {
    let Some((&len, rest)) = shape.split_first() else { return Some(Item::element(dtype, bytes).python()) };
    let size = bytes.len().checked_div(usize::try_from(len).ok()?).filter(|size| *size > 0)?;
    let parts: Option<Vec<String>> = bytes.chunks_exact(size).map(|part| listed(dtype, rest, part)).collect();
    Some(format!("[{}]", parts?.join(", ")))
}

/// The type of a NumPy array with such elements, as Python names it; `None` where NumPy finds it itself.
pub(in crate::gui::views) fn numpy_dtype(dtype: &DType) -> Option<String> {
    Some(match dtype {
        DType::BF16 | DType::Mini(_) => format!("ml_dtypes.{dtype}"),
        DType::Long(_) => "np.longdouble".to_owned(),
        DType::Str(n) => format!("'U{}'", (*n).max(1)),
        DType::Bytes(n) => format!("'S{}'", (*n).max(1)),
        DType::Void(n) => format!("'V{}'", (*n).max(1)),
        DType::Struct(_) | DType::Variable(_) => return None,
        other => format!("'{other}'"),
    })
}

/// The type of an array of records with these fields (name, type, shape); `None` where one has none.
pub(in crate::gui::views) fn numpy_record(fields: &[(&str, &DType, &[u64])]) -> Option<String> {
    let field = |(name, dtype, shape): &(&str, &DType, &[u64])| {
        let sides: String = shape.iter().map(|side| format!("{side}, ")).collect();
        let shape = if shape.is_empty() { String::new() } else { format!(", ({sides})") };
        Some(format!("({}, {}{shape})", literal(name), numpy_dtype(dtype)?))
    };
    let fields: Option<Vec<String>> = fields.iter().map(field).collect();
    Some(format!("[{}]", fields?.join(", ")))
}

/// Rows on their way into a text.
pub(in crate::gui::views) struct Out {
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

impl Out {
    pub(in crate::gui::views) fn new(request: &CopyRequest, names: Vec<String>) -> Self {
        Out {
            format: request.format,
            headers: request.headers,
            names,
            numbered: false,
            records: false,
            dtype: None,
            rows: 0,
            text: String::new(),
        }
    }

    /// The rows are those of an array whose columns are elements of this type of NumPy.
    pub(in crate::gui::views) fn of_elements(mut self, dtype: Option<String>) -> Self {
        (self.numbered, self.dtype) = (true, dtype);
        self
    }

    /// The rows are records of this type of NumPy.
    pub(in crate::gui::views) fn of_records(mut self, dtype: Option<String>) -> Self {
        (self.records, self.dtype) = (dtype.is_some(), dtype);
        self
    }

    /// Writes what stands before the rows.
    pub(in crate::gui::views) fn begin(&mut self) {
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
    pub(in crate::gui::views) fn row(&mut self, items: &[Item]) {
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

    fn json_row(&mut self, items: &[Item]) {
        let flat = self.numbered && self.is_flat();
        self.text += match (flat, self.rows) {
            (true, 0) => "",
            (true, _) => ", ",
            (false, 0) => "\n  ",
            (false, _) => ",\n  ",
        };
        let value = match (self.numbered, items) {
            (true, [one]) => one.json(),
            (true, many) => Json::Array(many.iter().map(Item::json).collect()),
            (false, _) => {
                let named = self.names.iter().zip(items);
                Json::Object(named.map(|(name, item)| (name.clone(), item.json())).collect())
            }
        };
        self.text += &value.to_string();
    }

    fn numpy_row(&mut self, items: &[Item]) {
        let cells: Vec<String> = items.iter().map(Item::python).collect();
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
    pub(in crate::gui::views) fn end(mut self) -> String {
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

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn markdown(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
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

/// How many cells a range is, in words.
pub(super) fn words(rows: &Range<u64>, columns: usize) -> String {
    let rows = rows.end.saturating_sub(rows.start);
    if columns == 1 {
        return gander::bytes::display::plural(rows, "cell");
    }
    format!(
        "{} × {}",
        gander::bytes::display::plural(rows, "row"),
        gander::bytes::display::plural(columns as u64, "column")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use gander::data::content::table::MemoryTable;

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
    fn elements_are_python_that_runs() {
        let python = |dtype: DType, bytes: &[u8]| Item::element(&dtype, bytes).python();
        assert_eq!(python(DType::Bool, &[1]), "True");
        assert_eq!(python(DType::F32, &f32::NAN.to_le_bytes()), "np.nan");
        assert_eq!(python(DType::F64, &f64::NEG_INFINITY.to_le_bytes()), "-np.inf");
        let parts = [1.5f32, f32::INFINITY].map(f32::to_le_bytes).concat();
        assert_eq!(python(DType::C64, &parts), "complex(1.5, np.inf)");
        let day = TimeUnit { count: 1, base: TimeBase::Day };
        assert_eq!(python(DType::DateTime(day), &1i64.to_le_bytes()), "np.datetime64('1970-01-02')");
        assert_eq!(python(DType::DateTime(day), &i64::MIN.to_le_bytes()), "np.datetime64('NaT')");
        assert_eq!(
            python(DType::DateTime(day), &i64::MAX.to_le_bytes()),
            format!("np.datetime64({}, 'D')", i64::MAX)
        );
        let steps = TimeUnit { count: 25, base: TimeBase::Second };
        assert_eq!(python(DType::TimeDelta(steps), &3i64.to_le_bytes()), "np.timedelta64(3, '25s')");
        assert_eq!(python(DType::Bytes(4), b"a'\xff\0"), "b'a\\'\\xff'");
        assert_eq!(Item::part(&DType::U8, &[2, 1], &[3, 4]).python(), "[[3], [4]]");
    }

    #[test]
    fn columns_of_an_array_are_lists() {
        let written = |format, names: &[&str], rows: &[&[u8]], dtype: DType| {
            let request = CopyRequest {
                rows: 0..rows.len() as u64,
                columns: (0..names.len()).collect(),
                headers: true,
                format,
            };
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let mut out = Out::new(&request, names).of_elements(numpy_dtype(&dtype));
            out.begin();
            for row in rows {
                let items: Vec<Item> = row.iter().map(|byte| Item::element(&dtype, &[*byte])).collect();
                out.row(&items);
            }
            out.end()
        };
        let one: [&[u8]; 3] = [&[1], &[2], &[3]];
        assert_eq!(
            written(CopyFormat::NumPy, &["value"], &one, DType::U8),
            "np.array([1, 2, 3], dtype='uint8')"
        );
        assert_eq!(written(CopyFormat::Json, &["value"], &one, DType::U8), "[1, 2, 3]\n");
        let two: [&[u8]; 2] = [&[0, 1], &[1, 0]];
        assert_eq!(
            written(CopyFormat::NumPy, &["0", "1"], &two, DType::Bool),
            "np.array([[False, True],\n          [True, False]], dtype='bool')"
        );
        assert_eq!(
            written(CopyFormat::Json, &["0", "1"], &two, DType::Bool),
            "[\n  [false,true],\n  [true,false]\n]\n"
        );
        let record = numpy_record(&[("x", &DType::F32, &[]), ("y", &DType::BF16, &[3])]);
        assert_eq!(record.as_deref(), Some("[('x', 'float32'), ('y', ml_dtypes.bfloat16, (3, ))]"));
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
