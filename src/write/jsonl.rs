//! Writes JSON Lines: one object a row, the columns as its members in their order.
//! <https://jsonlines.org/>

use super::json::{NotFinite, holds, plain, string, value};
use super::{loss, note, put, scan, without_attributes};
use crate::content::Kind;
use crate::error::Result;
use crate::format::{Loss, OptionSpec, Options, Payload, Sink, Writer};
use crate::task::Task;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use std::collections::HashSet;

const NAN: OptionSpec = OptionSpec {
    name: "nan",
    help: "What stands for NaN and infinities: a text, null, or the words that Python writes",
    values: &["text", "null", "python"],
    default: "text",
};
const NULLS: OptionSpec = OptionSpec {
    name: "nulls",
    help: "Whether null cells are written or their members left out",
    values: &["write", "omit"],
    default: "write",
};

/// The writer.
pub const WRITER: Writer =
    Writer { accepts: &[Kind::Table], many: false, texts: false, options: &[NAN, NULLS], losses, write };

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let (mut losses, mut names) = (Vec::new(), HashSet::new());
    let null = options.get(NAN.name) == Some("null");
    for field in table.schema().fields() {
        let has = |test: &dyn Fn(&DataType) -> bool| holds(field.data_type(), test);
        if !names.insert(field.name()) {
            losses.push(loss(field.name(), "two columns have this name; readers see the last one only"));
        }
        if has(&|t| t.is_temporal()) {
            losses.push(note(field.name(), "times are written as ISO 8601 text"));
        }
        if has(&|t| t.is_binary() || matches!(t, DataType::FixedSizeBinary(_))) {
            losses.push(note(field.name(), "binary is written as hexadecimal text"));
        }
        if null && has(&|t| t.is_floating()) {
            losses.push(loss(field.name(), "NaN and infinities, where there are any, become null"));
        }
        if has(&|t| matches!(t, DataType::Union(_, _))) {
            losses.push(note(field.name(), "the union's members are written without saying which they are"));
        }
    }
    if table.schema().fields().iter().any(|f| !matches!(f.data_type(), DataType::Utf8 | DataType::Boolean)) {
        losses.push(note(
            "",
            "JSON has numbers, texts and booleans only; a reader infers narrower types again",
        ));
    }
    if table.rows().exact() == Some(0) {
        losses.push(loss("", "the names of the columns: JSON Lines has none without rows"));
    }
    without_attributes(payload, &mut losses);
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
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
    let lines = |batch: RecordBatch| -> Result<Vec<u8>> {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let mut out =
            Vec::with_capacity(batch.num_rows() * (2 + keys.iter().map(|k| k.len() + 8).sum::<usize>()));
        for row in 0..batch.num_rows() {
            out.push(b'{');
            let mut first = true;
            for (column, key) in columns.iter().zip(&keys) {
                if omit && column.is_null(row) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                out.extend_from_slice(key);
                value(column.as_ref(), row, special, &mut out);
            }
            out.extend(b"}\n");
        }
        Ok(out)
    };
    scan(task, table.as_ref(), lines, |bytes| put(sink, &bytes)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::table::MemoryTable;
    use crate::format::Data;
    use arrow::array::{Float64Array, Int64Array, StringArray};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn written(columns: Vec<(&str, ArrayRef)>, options: &Options) -> String {
        let table = MemoryTable::new(
            RecordBatch::try_from_iter_with_nullable(
                columns.into_iter().map(|(name, array)| (name, array, true)),
            )
            .unwrap(),
        );
        let payload = Payload { data: Data::Table(Arc::new(table)), attributes: vec![] };
        let mut out = std::io::Cursor::new(Vec::new());
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
    fn nulls_can_be_left_out() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let mut options = Options::default();
        options.set("nulls", "omit");
        assert_eq!(written(vec![("a", column.clone()), ("b", column)], &options), "{\"a\":1,\"b\":1}\n{}\n");
    }
}
