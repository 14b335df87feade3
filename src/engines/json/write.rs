//! Writes JSON Lines, or a JSON document: one object a row, the columns as its members in their order; documents also
//! as pandas' other orients, and with indents. Compressed where that is asked for.
//! <https://jsonlines.org/>, <https://www.rfc-editor.org/rfc/rfc8259>,
//! <https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.to_json.html>

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::adapt::{TableView, is_json};
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::scan;
use crate::engines::delimited::output::{COMPRESS, LEVEL, Output, Packing};
use crate::engines::json::column_text::{Appended, ColumnText};
use crate::engines::json::value_text::{NotFinite, finite, holds, nan_patterns, plain, string, value};
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;

const NAN: OptionSpec = OptionSpec::new(
    "nan",
    "What stands for NaN and infinities: a text, null, or the words that Python writes",
)
.one_of("text", &["text", "null", "python"]);
const NULLS: OptionSpec =
    OptionSpec::new("nulls", "Whether null cells are written or their members left out")
        .one_of("write", &["write", "omit"]);
const ORIENT: OptionSpec = OptionSpec::new(
    "orient",
    "How the table is laid out, in the words of pandas: an object a row; an object a column with the rows by their \
     numbers; names and rows apart; rows alone",
)
.one_of("records", &["records", "columns", "split", "values"]);
const PRETTY: OptionSpec =
    OptionSpec::new("pretty", "Whether each member stands on a line of its own, indented")
        .one_of("no", &["no", "yes"]);

/// The writer of JSON Lines.
pub const WRITER: Writer = Writer {
    streams: true,
    options: &[NAN, NULLS, COMPRESS, LEVEL],
    ..Writer::new(&[Kind::Table], losses, write)
};
/// The writer of a document: one array of objects, a line each, if nothing else is asked for.
pub const ARRAY: Writer = Writer {
    options: &[NAN, NULLS, ORIENT, PRETTY, COMPRESS, LEVEL],
    write: WriteTo::File(write_document),
    ..WRITER
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let (mut losses, mut names) = (Vec::new(), HashSet::new());
    let null = options.get(NAN.name) == Some("null");
    for field in table.schema().fields() {
        let has = |test: &dyn Fn(&DataType) -> bool| holds(field.data_type(), test);
        if !names.insert(field.name()) {
            losses.push(
                loss(LossKind::Name, "two columns have this name; readers see the last one only")
                    .of(field.name()),
            );
        }
        if has(&|t| t.is_temporal()) {
            losses.push(note(LossKind::Type, "times are written as ISO 8601 text").of(field.name()).if_any());
        }
        if has(&|t| t.is_binary() || matches!(t, DataType::FixedSizeBinary(_))) {
            losses.push(note(LossKind::Type, "binary is written as hexadecimal text").of(field.name()));
        }
        if null && has(&|t| t.is_floating()) {
            losses.push(loss(LossKind::Nan, "NaN and infinities become null").of(field.name()).if_any());
        } else {
            losses.extend(nan_patterns(field.data_type()).map(|loss| loss.of(field.name())));
        }
        if has(&|t| matches!(t, DataType::Union(_, _))) {
            losses.push(
                note(LossKind::Type, "the union's members are written without saying which they are")
                    .of(field.name()),
            );
        }
    }
    if table.schema().fields().iter().any(|f| !matches!(f.data_type(), DataType::Utf8 | DataType::Boolean)) {
        let what = "JSON has numbers, texts and booleans only; a reader infers narrower types again";
        losses.push(note(LossKind::Type, what).if_any());
    }
    if table.schema().fields().iter().any(|field| !field.is_nullable()) {
        losses.push(note(LossKind::Null, "JSON does not say that a column has no nulls").if_any());
    }
    if options.get(ORIENT.name) == Some("values") {
        losses.push(loss(LossKind::Name, "the names of the columns are not written"));
    }
    if table.schema().fields().is_empty() {
        losses.push(note(LossKind::Name, "rows without columns are empty objects"));
    }
    if table.rows().exact() == Some(0) {
        losses.push(loss(LossKind::Name, "the names of the columns: JSON has none without rows"));
    }
    losses
}

/// How rows become JSON.
struct Rows {
    /// The names of members with what stands around them; of lists nothing.
    keys: Vec<Vec<u8>>,
    /// Which columns hold JSON.
    is_json: Vec<bool>,
    special: NotFinite,
    omit: bool,
    brackets: [u8; 2],
    /// How deep rows are indented, where they are.
    indent: Option<usize>,
}

impl Rows {
    /// Rows of a table as objects, or as lists.
    fn of(table: &dyn Table, options: &Options, are_objects: bool, indent: Option<usize>) -> Result<Self> {
        let special = match options.choice(&NAN)? {
            "null" => NotFinite::Null,
            "python" => NotFinite::Python,
            _ => NotFinite::Text,
        };
        let key = |name: &String| {
            let mut out = Vec::new();
            if are_objects {
                string(name, &mut out);
                out.push(b':');
            }
            out
        };
        let fields = table.schema().fields();
        Ok(Rows {
            keys: fields.iter().map(|field| key(field.name())).collect(),
            is_json: fields.iter().map(|field| is_json(field)).collect(),
            special,
            omit: are_objects && options.choice(&NULLS)? == "omit",
            brackets: if are_objects { *b"{}" } else { *b"[]" },
            indent,
        })
    }

    /// The rows of a batch, with `end` behind each but the last; and behind that too, if `ends_all`.
    fn text(&self, batch: &RecordBatch, end: &[u8], ends_all: bool) -> Vec<u8> {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let cells: Vec<ColumnText> = columns.iter().map(|column| ColumnText::new(column.as_ref())).collect();
        let width = 4 + self.keys.iter().map(|key| key.len() + 10).sum::<usize>();
        let mut out = Vec::with_capacity(batch.num_rows() * width);
        let mut compact = Vec::new();
        for row in 0..batch.num_rows() {
            match self.indent {
                None => self.row(&cells, row, &mut out),
                Some(depth) => {
                    compact.clear();
                    self.row(&cells, row, &mut compact);
                    indented(&compact, depth, &mut out);
                }
            }
            if ends_all || row + 1 < batch.num_rows() {
                out.extend_from_slice(end);
            }
        }
        out
    }

    fn row(&self, cells: &[ColumnText], row: usize, out: &mut Vec<u8>) {
        let [open, close] = self.brackets;
        out.push(open);
        let mut first = true;
        for ((column, key), is_json) in cells.iter().zip(&self.keys).zip(&self.is_json) {
            if self.omit && column.is_null(row) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            out.extend_from_slice(key);
            self.cell(column, row, *is_json, out);
        }
        out.push(close);
    }

    #[inline]
    fn cell(&self, column: &ColumnText, row: usize, is_json: bool, out: &mut Vec<u8>) {
        if column.is_null(row) {
            out.extend_from_slice(b"null");
            return;
        }
        if is_json && verbatim(column, row, out) {
            return;
        }
        if let Some(text) = column.text(row) {
            string(text, out);
            return;
        }
        let start = out.len();
        let is_time = matches!(column.array.data_type(), DataType::Date32 | DataType::Timestamp(_, _));
        if is_time {
            out.push(b'"');
        }
        match column.append(row, out) {
            Some(Appended::NotFinite) => finite(start, self.special, out),
            Some(Appended::Time) => out.push(b'"'),
            Some(Appended::Number | Appended::Bool) => {}
            None => {
                out.truncate(start);
                value(column.array, row, self.special, out);
            }
        }
    }
}

/// Appends compact JSON with a line for each member and element, `depth` levels deep.
fn indented(compact: &[u8], depth: usize, out: &mut Vec<u8>) {
    let mut depth = depth;
    let (mut quoted, mut escaped) = (false, false);
    let line = |depth: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    for (at, &byte) in compact.iter().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            out.push(byte);
            continue;
        }
        let next = compact.get(at + 1);
        let before = at.checked_sub(1).and_then(|at| compact.get(at));
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                depth += 1;
                if !matches!(next, Some(b'}' | b']')) {
                    line(depth, out);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if !matches!(before, Some(b'{' | b'[')) {
                    line(depth, out);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(depth, out);
            }
            b':' => out.extend_from_slice(b": "),
            // What stands in a cell as JSON may have some of its own.
            b' ' | b'\t' => {}
            _ => {
                quoted = byte == b'"';
                out.push(byte);
            }
        }
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let table = payload.table()?;
    let rows = Rows::of(table.as_ref(), options, true, None)?;
    let packing = Packing::of(options, sink)?;
    let mut out = Output::new(sink, packing);
    let lines = |batch: RecordBatch| packing.packed(rows.text(&batch, b"\n", true));
    scan(task, table.as_ref(), lines, |bytes| out.packed(&bytes))?;
    out.finish()
}

fn write_document(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let table = payload.table()?;
    let packing = Packing::of(options, sink)?;
    let mut out = Output::new(sink, packing);
    let is_pretty = options.choice(&PRETTY)? == "yes";
    match options.choice(&ORIENT)? {
        "columns" => columns(task, table, options, is_pretty, &mut out)?,
        "split" => {
            let mut names = b"[".to_vec();
            for (n, field) in table.schema().fields().iter().enumerate() {
                if n > 0 {
                    names.push(b',');
                }
                string(field.name(), &mut names);
            }
            names.push(b']');
            let head = if is_pretty { "{\n  \"columns\": " } else { "{\"columns\":" };
            let mut head = head.as_bytes().to_vec();
            match is_pretty {
                true => indented(&names, 1, &mut head),
                false => head.extend_from_slice(&names),
            }
            head.extend_from_slice(if is_pretty { b",\n  \"data\": " } else { b",\"data\":" });
            out.text(&head)?;
            list(task, table, options, (false, is_pretty.then_some(2)), packing, &mut out)?;
            out.text(if is_pretty { b"\n}\n" } else { b"}\n" })?;
        }
        orient => {
            let form = (orient == "records", is_pretty.then_some(1));
            list(task, table, options, form, packing, &mut out)?;
            out.text(b"\n")?;
        }
    }
    out.finish()
}

/// Writes a list of the rows, as objects or lists, and how deep they are indented.
fn list(
    task: &Task,
    table: &Arc<dyn Table>,
    options: &Options,
    (are_objects, indent): (bool, Option<usize>),
    packing: Packing,
    out: &mut Output,
) -> Result<()> {
    let rows = Rows::of(table.as_ref(), options, are_objects, indent)?;
    let spaces = |depth: usize| " ".repeat(2 * depth);
    let before = indent.map_or(String::new(), spaces);
    let between = format!(",\n{before}");
    let first = format!("[\n{before}");
    let mut is_begun = false;
    let make = |batch: RecordBatch| {
        let text = rows.text(&batch, between.as_bytes(), false);
        Ok((batch.num_rows(), packing.packed(text)?))
    };
    scan(task, table.as_ref(), make, |(count, bytes)| {
        if count == 0 {
            return Ok(());
        }
        let is_first = !std::mem::replace(&mut is_begun, true);
        out.text(if is_first { first.as_bytes() } else { between.as_bytes() })?;
        out.packed(&bytes)
    })?;
    let end = indent.map_or(String::new(), |depth| spaces(depth.saturating_sub(1)));
    out.text(if is_begun { format!("\n{end}]") } else { "[]".to_owned() }.as_bytes())
}

/// Writes an object a column, whose members are the cells by the numbers of their rows: one pass over the table for each
/// column, so that no more than a step of it is in memory.
fn columns(
    task: &Task,
    table: &Arc<dyn Table>,
    options: &Options,
    is_pretty: bool,
    out: &mut Output,
) -> Result<()> {
    let (line, indent, apart) = if is_pretty { ("\n", "  ", ": ") } else { ("", "", ":") };
    let mut head = "{".to_owned();
    for (n, field) in table.schema().fields().iter().enumerate() {
        let mut name = Vec::new();
        string(field.name(), &mut name);
        let name = String::from_utf8_lossy(&name);
        out.text(format!("{head}{line}{indent}{name}{apart}{{").as_bytes())?;
        head = ",".to_owned();
        let column: Arc<dyn Table> = Arc::new(TableView::new(table.clone(), 0..u64::MAX, vec![n])?);
        let rows = Rows::of(column.as_ref(), options, false, None)?;
        let is_json = is_json(field);
        let cells = |batch: RecordBatch| {
            let array = plain(batch.column(0));
            let (column, mut text, mut ends) = (ColumnText::new(array.as_ref()), Vec::new(), Vec::new());
            for row in 0..array.len() {
                rows.cell(&column, row, is_json, &mut text);
                ends.push(text.len());
            }
            Ok((text, ends))
        };
        let mut row = 0u64;
        scan(task, column.as_ref(), cells, |(text, ends)| {
            let mut piece = Vec::with_capacity(text.len() + ends.len() * 12);
            let mut start = 0;
            for end in ends {
                let comma = if row > 0 { "," } else { "" };
                piece.extend_from_slice(format!("{comma}{line}{indent}{indent}\"{row}\"{apart}").as_bytes());
                let cell = text.get(start..end).unwrap_or_default();
                match is_pretty {
                    true => indented(cell, 2, &mut piece),
                    false => piece.extend_from_slice(cell),
                }
                (start, row) = (end, row + 1);
            }
            out.text(&piece)
        })?;
        out.text(if row > 0 { format!("{line}{indent}}}") } else { "}".to_owned() }.as_bytes())?;
    }
    let open = if table.schema().fields().is_empty() { "{" } else { line };
    out.text(format!("{open}}}\n").as_bytes())
}

/// Appends a text that is JSON as it is, on one line; `false` where it is none.
fn verbatim(column: &ColumnText, row: usize, out: &mut Vec<u8>) -> bool {
    let Some(text) = column.text(row).filter(|_| !column.is_null(row)) else { return false };
    if serde_json::from_str::<&RawValue>(text).is_err() {
        return false;
    }
    // Line ends in JSON are only white space.
    out.extend(text.trim().bytes().map(|b| if matches!(b, b'\n' | b'\r') { b' ' } else { b }));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use crate::data::format::Data;
    use arrow::array::{Float64Array, Int64Array, StringArray};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn written(columns: Vec<(&str, ArrayRef)>, options: &Options) -> String {
        written_by(&WRITER, columns, options)
    }

    fn written_by(writer: &Writer, columns: Vec<(&str, ArrayRef)>, options: &Options) -> String {
        let table = MemoryTable::new(
            RecordBatch::try_from_iter_with_nullable(
                columns.into_iter().map(|(name, array)| (name, array, true)),
            )
            .unwrap(),
        );
        let payload = Payload::plain(Data::Table(Arc::new(table)));
        let mut out = std::io::Cursor::new(Vec::new());
        let WriteTo::File(write) = writer.write else { panic!() };
        write(&Task::new(), &payload, options, &mut out).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    proptest! {
        #[test]
        fn every_line_is_json_with_the_same_values(
            rows in prop::collection::vec((any::<Option<String>>(), any::<Option<i64>>(), any::<Option<f64>>()), 0..20),
        ) {
            let text: ArrayRef = Arc::new(rows.iter().map(|row| row.0.clone()).collect::<StringArray>());
            let int: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
            let float: ArrayRef = Arc::new(rows.iter().map(|row| row.2).collect::<Float64Array>());
            let out = written(vec![("t \"x\"", text), ("i", int), ("f", float)], &Options::default());
            let lines: Vec<&str> = out.split_terminator('\n').collect();
            prop_assert_eq!(lines.len(), rows.len());
            for (line, (text, int, float)) in lines.iter().zip(&rows) {
                let json: serde_json::Value = serde_json::from_str(line).unwrap();
                prop_assert_eq!(json["t \"x\""].as_str(), text.as_deref());
                prop_assert_eq!(json["i"].as_i64(), *int);
                match float {
                    Some(value) if value.is_finite() => prop_assert_eq!(json["f"].as_f64(), Some(*value)),
                    Some(value) => prop_assert_eq!(json["f"].as_str().unwrap().parse::<f64>().unwrap().is_nan(), value.is_nan()),
                    None => prop_assert!(json["f"].is_null()),
                }
            }
        }
    }

    #[test]
    fn an_array_of_objects_is_one_value() {
        // More rows than one step of the scan takes.
        for count in [0i64, 1, 2, 10_000] {
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
            let text = written_by(&ARRAY, vec![("n", numbers)], &Options::default());
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            let rows = json.as_array().unwrap();
            assert_eq!(rows.len() as i64, count);
            assert!(rows.iter().zip(0..).all(|(row, n)| row["n"].as_i64() == Some(n)));
            assert!(
                text.ends_with("]\n") && text.lines().count() as i64 == if count > 0 { count + 2 } else { 1 },
                "{count}"
            );
        }
    }

    #[test]
    fn orients_are_those_of_pandas_and_indents_change_nothing() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x: \"[1,2]\"", "\\"]));
        let of = |orient: &str, pretty: &str| {
            let mut options = Options::default();
            options.set("orient", orient);
            options.set("pretty", pretty);
            written_by(&ARRAY, vec![("a", numbers.clone()), ("t", texts.clone())], &options)
        };
        let x = r#""x: \"[1,2]\"""#;
        assert_eq!(
            of("columns", "no"),
            format!("{{\"a\":{{\"0\":1,\"1\":null}},\"t\":{{\"0\":{x},\"1\":\"\\\\\"}}}}\n")
        );
        assert_eq!(
            of("split", "no"),
            format!("{{\"columns\":[\"a\",\"t\"],\"data\":[\n[1,{x}],\n[null,\"\\\\\"]\n]}}\n")
        );
        assert_eq!(of("values", "no"), format!("[\n[1,{x}],\n[null,\"\\\\\"]\n]\n"));
        for orient in ["records", "columns", "split", "values"] {
            let parsed = |pretty| serde_json::from_str::<serde_json::Value>(&of(orient, pretty)).unwrap();
            assert_eq!(parsed("no"), parsed("yes"), "{orient}");
            assert!(of(orient, "yes").lines().count() > of(orient, "no").lines().count());
        }
        assert!(of("records", "yes").starts_with("[\n  {\n    \"a\": 1,\n"), "{}", of("records", "yes"));
    }

    #[test]
    fn nulls_can_be_left_out() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let mut options = Options::default();
        options.set("nulls", "omit");
        assert_eq!(written(vec![("a", column.clone()), ("b", column)], &options), "{\"a\":1,\"b\":1}\n{}\n");
    }
}
