//! What tables for people to read have in common: how many rows they may have, and what they do not keep.

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Table;
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, note};
use crate::engines::json::value_text::{holds, nan_patterns};
use arrow::datatypes::DataType;

/// How many rows a page may have.
pub(super) const MOST: OptionSpec = OptionSpec::new(
    "max_rows",
    "The most rows: a table with more of them stops the conversion, since programs that show pages hold all of it; 0: any number",
)
.default("10000");
/// What stands for null.
pub(super) const NULL: OptionSpec = OptionSpec::new("null", "What stands for a null cell");

/// Counts the rows of a table.
///
/// # Errors
/// `Unsupported` where there are more than the options want.
pub(super) fn count(task: &Task, table: &dyn Table, options: &Options, what: &str) -> Result<u64> {
    let most = options.number(&MOST, "it is no number of rows", |_: &u64| true)?;
    let rows = table.count(task)?;
    if most > 0 && rows > most {
        let (rows, most) = (display::plural(rows, "row"), display::count(most));
        let what = format!("{rows} as {what}: the limit is {most}; max_rows=0 lifts it");
        return Err(Error::unsupported(what));
    }
    Ok(rows)
}

/// Refuses tables without columns.
pub(super) fn check(payload: &Payload) -> Result<()> {
    let empty = payload.tables()?.into_iter().any(|(_, table)| table.schema().fields().is_empty());
    if empty { Err(Error::unsupported("the table has no columns")) } else { Ok(()) }
}

/// Whether values stand at the right.
pub(super) fn is_number(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::RunEndEncoded(_, values) => is_number(values.data_type()),
        other => other.is_numeric(),
    }
}

/// What such a page does not keep; `texts` is what happens to characters of texts.
pub(super) fn losses(payload: &Payload, options: &Options, what: &str, texts: &str) -> Vec<Loss> {
    let Ok(tables) = payload.tables() else { return Vec::new() };
    let mut losses = vec![note(LossKind::Type, format!("cells become texts: {what} has no types"))];
    losses.push(note(LossKind::Type, texts).if_any());
    if options.get(NULL.name).unwrap_or_default().is_empty() {
        losses.push(note(LossKind::Null, "a null and an empty text look the same").if_any());
    }
    for (path, table) in tables {
        for field in table.schema().fields() {
            losses.extend(nan_patterns(field.data_type()).map(|loss| loss.at(path).of(field.name())));
            if field.data_type().is_nested() && !matches!(field.data_type(), DataType::RunEndEncoded(_, _)) {
                losses.push(
                    note(LossKind::Nesting, "nested values are written as JSON").at(path).of(field.name()),
                );
            }
            if holds(field.data_type(), &|of| of.is_binary() || matches!(of, DataType::FixedSizeBinary(_))) {
                losses.push(
                    note(LossKind::Type, "binary is written as hexadecimal text").at(path).of(field.name()),
                );
            }
        }
    }
    losses
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use crate::data::format::{Data, WriteTo, Writer};
    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use std::sync::Arc;

    /// A column of these texts and one of their numbers.
    pub(in super::super) fn table(texts: &[String]) -> Payload {
        let t: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..texts.len() as i64));
        let batch = RecordBatch::try_from_iter([("t", t), ("n", n)]).unwrap();
        Payload::plain(Data::Table(Arc::new(MemoryTable::new(batch))))
    }

    pub(in super::super) fn written(
        writer: &Writer,
        payload: &Payload,
        set: &[(&str, &str)],
    ) -> Result<String> {
        let mut options = Options::default();
        set.iter().for_each(|(name, value)| options.set(name, *value));
        let WriteTo::File(write) = writer.write else { panic!("a folder") };
        let mut out = std::io::Cursor::new(Vec::new());
        write(&Task::new(), payload, &options, &mut out)?;
        Ok(String::from_utf8(out.into_inner()).unwrap())
    }
}
