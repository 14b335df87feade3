//! Writes JSON Lines, or a JSON array: one object a row, the columns as its members in their order.
//! <https://jsonlines.org/>, <https://www.rfc-editor.org/rfc/rfc8259>

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::adapt::is_json;
use crate::data::content::Kind;
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, WriteTo, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::{put, scan};
use crate::engines::json::value_text::{NotFinite, holds, plain, string, text, value};
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use serde_json::value::RawValue;
use std::collections::HashSet;

const NAN: OptionSpec = OptionSpec::new(
    "nan",
    "What stands for NaN and infinities: a text, null, or the words that Python writes",
)
.one_of("text", &["text", "null", "python"]);
const NULLS: OptionSpec =
    OptionSpec::new("nulls", "Whether null cells are written or their members left out")
        .one_of("write", &["write", "omit"]);

/// The writer of JSON Lines.
pub const WRITER: Writer =
    Writer { streams: true, options: &[NAN, NULLS], ..Writer::new(&[Kind::Table], losses, write) };
/// The writer of one array of objects, a line each.
pub const ARRAY: Writer = Writer { write: WriteTo::File(write_array), ..WRITER };

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
    if table.schema().fields().is_empty() {
        losses.push(note(LossKind::Name, "rows without columns are empty objects"));
    }
    if table.rows().exact() == Some(0) {
        losses.push(loss(LossKind::Name, "the names of the columns: JSON has none without rows"));
    }
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    objects(task, payload, options, (b"", b"\n"), |bytes| put(sink, &bytes))
}

fn write_array(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let mut begun = false;
    objects(task, payload, options, (b",\n", b""), |mut bytes| {
        // Before the first one stands no comma.
        if let Some(comma) = bytes.first_mut().filter(|_| !std::mem::replace(&mut begun, true)) {
            *comma = b'[';
        }
        put(sink, &bytes)
    })?;
    put(sink, if begun { b"\n]\n" } else { b"[]\n" })
}

/// Hands over the rows as objects, some at a time, each between the two texts of `around`.
fn objects(
    task: &Task,
    payload: &Payload,
    options: &Options,
    around: (&[u8], &[u8]),
    each: impl FnMut(Vec<u8>) -> Result<()> + Send,
) -> Result<()> {
    let table = payload.table()?;
    let special = match options.choice(&NAN)? {
        "null" => NotFinite::Null,
        "python" => NotFinite::Python,
        _ => NotFinite::Text,
    };
    let omit = options.choice(&NULLS)? == "omit";
    let key = |name: &String| {
        let mut out = Vec::new();
        string(name, &mut out);
        out.push(b':');
        out
    };
    let keys: Vec<Vec<u8>> = table.schema().fields().iter().map(|field| key(field.name())).collect();
    let is_json: Vec<bool> = table.schema().fields().iter().map(|field| is_json(field)).collect();
    let rows = |batch: RecordBatch| -> Result<Vec<u8>> {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let mut out =
            Vec::with_capacity(batch.num_rows() * (4 + keys.iter().map(|k| k.len() + 8).sum::<usize>()));
        for row in 0..batch.num_rows() {
            out.extend_from_slice(around.0);
            out.push(b'{');
            let mut first = true;
            for ((column, key), is_json) in columns.iter().zip(&keys).zip(&is_json) {
                if omit && column.is_null(row) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                out.extend_from_slice(key);
                if !(*is_json && verbatim(column.as_ref(), row, &mut out)) {
                    value(column.as_ref(), row, special, &mut out);
                }
            }
            out.push(b'}');
            out.extend_from_slice(around.1);
        }
        Ok(out)
    };
    scan(task, table.as_ref(), rows, each).map(drop)
}

/// Appends a text that is JSON as it is, on one line; `false` where it is none.
fn verbatim(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> bool {
    let Some(text) = text(array, row).filter(|_| !array.is_null(row)) else { return false };
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
    fn nulls_can_be_left_out() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let mut options = Options::default();
        options.set("nulls", "omit");
        assert_eq!(written(vec![("a", column.clone()), ("b", column)], &options), "{\"a\":1,\"b\":1}\n{}\n");
    }
}
