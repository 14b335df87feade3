//! Writes delimited text: RFC 4180's quoting by default, any delimiter, quote and encoding by option, compressed where
//! that is asked for; cells as the exact texts of [`crate::data::cell`]; lists, structs and maps as JSON. A null is an
//! empty cell, an empty text is `""`. <https://www.rfc-editor.org/rfc/rfc4180>

mod style;

use super::dialect;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::scan;
use crate::engines::delimited::output::{
    COMPRESS, Characters, ENCODING, LEVEL, Output, Packing, UNENCODABLE, Unwritable,
};
use crate::engines::json::column_text::ColumnText;
use crate::engines::json::value_text::{holds, nan_patterns, plain};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Fields};
use style::Style;

const DELIMITER: OptionSpec = OptionSpec::new(
    "delimiter",
    "What stands between cells: comma, tab, semicolon, pipe, space, or any one character",
)
.default("comma");
const HEADER: OptionSpec = OptionSpec::new("header", "Whether the first line has the names of the columns")
    .one_of("yes", &["yes", "no"]);
const QUOTE: OptionSpec = OptionSpec::new(
    "quote",
    "Which cells stand in quotes: those that need it, all, all but numbers and truth values, none",
)
.one_of("necessary", &["necessary", "all", "texts", "none"]);
const QUOTE_CHAR: OptionSpec = OptionSpec::new("quote_char", "The quote, one character").default("\"");
const ESCAPE: OptionSpec = OptionSpec::new(
    "escape",
    "What stands before a quote in a cell, one character or backslash; without it quotes are doubled",
);
const NULL: OptionSpec = OptionSpec::new("null", "What stands for a null cell");
const LINES: OptionSpec = OptionSpec::new("line_end", "What ends a line").one_of("lf", &["lf", "crlf", "cr"]);
const DECIMAL: OptionSpec = OptionSpec::new("decimal", "What stands before the fraction of a number")
    .one_of("point", &["point", "comma"]);

/// The writer.
pub const WRITER: Writer = Writer {
    texts: true,
    streams: true,
    options: &[
        DELIMITER,
        HEADER,
        QUOTE,
        QUOTE_CHAR,
        ESCAPE,
        NULL,
        LINES,
        DECIMAL,
        ENCODING,
        UNENCODABLE,
        COMPRESS,
        LEVEL,
    ],
    reading,
    ..Writer::new(&[Kind::Table], losses, write)
};

/// The dialect, which a reader would otherwise guess from the text.
fn reading(options: &Options) -> Options {
    let set = |spec: &OptionSpec| options.get(spec.name).unwrap_or(spec.default).to_owned();
    let mut told = Options::default();
    told.set(dialect::DELIMITER.name, set(&DELIMITER));
    told.set(dialect::HEADER.name, set(&HEADER));
    let quote = if set(&QUOTE) == "none" { "none".to_owned() } else { set(&QUOTE_CHAR) };
    told.set(dialect::QUOTE.name, quote);
    // A mark at the beginning says it for itself, and is no part of the first cell.
    if Characters::of(options).is_ok_and(|characters| characters.mark().is_empty()) {
        told.set(dialect::ENCODING.name, set(&ENCODING));
    }
    told
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    let fields = table.schema().fields();
    losses.push(note(LossKind::Type, "cells become text; a reader infers their types again").if_any());
    let quotes_none = options.get(QUOTE.name) == Some("none");
    if fields.len() == 1 && options.get(NULL.name).unwrap_or_default().is_empty() {
        losses.push(match quotes_none {
            true => {
                loss(LossKind::Null, "a null of the only column is a blank line, which readers skip").if_any()
            }
            false => {
                let what = "a null of the only column is written as empty text: a blank line would be no row";
                note(LossKind::Null, what).if_any()
            }
        });
    }
    if quotes_none {
        let what = "without quotes a text that is written like a null is read as null";
        losses.push(loss(LossKind::Null, what).if_any());
    }
    for field in fields {
        losses.extend(nan_patterns(field.data_type()).map(|loss| loss.of(field.name())));
        if field.data_type().is_nested() && !matches!(field.data_type(), DataType::RunEndEncoded(_, _)) {
            losses.push(note(LossKind::Nesting, "nested values are written as JSON").of(field.name()));
        }
        if holds(field.data_type(), &|t| t.is_binary() || matches!(t, DataType::FixedSizeBinary(_))) {
            losses.push(note(LossKind::Type, "binary is written as hexadecimal text").of(field.name()));
        }
        let is_fraction = field.data_type().is_floating() || field.data_type().is_decimal();
        if options.get(DECIMAL.name) == Some("comma") && is_fraction {
            let what = "its numbers have a comma for their point; a reader has to be told";
            losses.push(note(LossKind::Type, what).of(field.name()));
        }
    }
    if !options.get(NULL.name).unwrap_or_default().is_empty() {
        let what = "nulls are written as a text of their own; a reader has to be told";
        losses.extend(fields.iter().map(|field| note(LossKind::Null, what).of(field.name()).if_any()));
    }
    if options.get(ESCAPE.name).is_some_and(|escape| !escape.is_empty()) {
        let what = "quotes in cells are escaped, not doubled; a reader has to be told";
        losses.extend(fields.iter().map(|field| note(LossKind::Type, what).of(field.name()).if_any()));
    }
    if options.get(HEADER.name) == Some("no") {
        losses.push(note(LossKind::Name, "the names of the columns are not written"));
    }
    losses.extend(unencodable(options));
    losses
}

/// What becomes of characters that the encoding has not.
fn unencodable(options: &Options) -> Option<Loss> {
    let characters = Characters::of(options).ok().filter(|characters| !characters.has_all())?;
    let name = characters.name();
    Some(match options.get(UNENCODABLE.name) {
        Some("replace") => {
            loss(LossKind::Type, format!("characters that {name} does not have become ?")).if_any()
        }
        _ => {
            let what = format!("a character that {name} does not have stops the conversion");
            note(LossKind::Type, what).if_any()
        }
    })
}

/// How rows become bytes.
struct Lines<'a> {
    style: Style,
    characters: Characters,
    replace: bool,
    packing: Packing,
    fields: &'a Fields,
}

impl Lines<'_> {
    /// The line of names, with what stands before it.
    fn head(&self, with_names: bool) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        for (n, field) in self.fields.iter().enumerate().filter(|_| with_names) {
            if n > 0 {
                head.extend_from_slice(&self.style.delimiter);
            }
            let written = self.style.text(field.name(), &mut head);
            written.map_err(|why| Error::unsupported(format!("the name {:?}: {why}", field.name())))?;
        }
        if with_names {
            head.extend_from_slice(self.style.end);
        }
        let mut out = self.characters.mark().to_vec();
        let encoded = self.characters.encoded(head, self.replace);
        out.extend(encoded.map_err(|c| Error::unsupported(format!("the names: {}", self.lacks(c))))?);
        Ok(out)
    }

    fn lacks(&self, character: char) -> String {
        format!("{} does not have the character {character:?}", self.characters.name())
    }

    /// The rows of a batch as they are written.
    fn rows(&self, batch: &RecordBatch) -> Result<Result<Vec<u8>, Unwritable>> {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let cells: Vec<ColumnText> = columns.iter().map(|column| ColumnText::new(column.as_ref())).collect();
        let mut out = Vec::with_capacity(batch.num_rows() * cells.len() * 10);
        for row in 0..batch.num_rows() {
            for (n, column) in cells.iter().enumerate() {
                if n > 0 {
                    out.extend_from_slice(&self.style.delimiter);
                }
                if let Err(why) = self.style.cell(column, row, &mut out) {
                    return Ok(Err(self.unwritable(row, n, why.to_owned())));
                }
            }
            out.extend_from_slice(self.style.end);
        }
        match self.characters.encoded(out, self.replace) {
            Ok(bytes) => Ok(Ok(self.packing.packed(bytes)?)),
            Err(character) => Ok(Err(self.find(&cells, batch.num_rows(), character))),
        }
    }

    /// The first cell that has a character which cannot be written.
    fn find(&self, cells: &[ColumnText], rows: usize, character: char) -> Unwritable {
        for row in 0..rows {
            for (n, column) in cells.iter().enumerate() {
                let mut out = Vec::new();
                let _ = self.style.cell(column, row, &mut out);
                if let Err(character) = self.characters.encoded(out, false) {
                    return self.unwritable(row, n, self.lacks(character));
                }
            }
        }
        self.unwritable(0, 0, self.lacks(character))
    }

    fn unwritable(&self, row: usize, column: usize, why: String) -> Unwritable {
        let column = self.fields.get(column).map_or(String::new(), |field| field.name().clone());
        Unwritable { row, column, why }
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let table = payload.table()?;
    let fields = table.schema().fields();
    if fields.is_empty() {
        return Err(Error::unsupported("a table without columns as delimited text"));
    }
    let lines = Lines {
        style: Style::of(options, fields.len())?,
        characters: Characters::of(options)?,
        replace: options.choice(&UNENCODABLE)? == "replace",
        packing: Packing::of(options, sink)?,
        fields,
    };
    let mut out = Output::new(sink, lines.packing);
    out.text(&lines.head(options.choice(&HEADER)? == "yes")?)?;
    let mut first = 0;
    let rows = |batch: RecordBatch| Ok((batch.num_rows() as u64, lines.rows(&batch)?));
    scan(task, table.as_ref(), rows, |(rows, bytes)| {
        out.packed(&bytes.map_err(|cell| cell.error(first))?)?;
        first += rows;
        Ok(())
    })?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use crate::data::format::Data;
    use arrow::array::StringArray;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn written(columns: &[Vec<Option<String>>], options: &[(&str, &str)]) -> String {
        let arrays = columns.iter().enumerate().map(|(n, cells)| {
            let array: ArrayRef = Arc::new(cells.iter().cloned().collect::<StringArray>());
            (format!("c{n}"), array, true)
        });
        let table = MemoryTable::new(RecordBatch::try_from_iter_with_nullable(arrays).unwrap());
        let payload = Payload::plain(Data::Table(Arc::new(table)));
        let mut set = Options::default();
        options.iter().for_each(|(name, value)| set.set(name, *value));
        let mut out = std::io::Cursor::new(Vec::new());
        write(&Task::new(), &payload, &set, &mut out).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    /// RFC 4180, read by a machine of its own: rows of cells; `None` for an empty cell without quotes.
    fn parsed(text: &str, delimiter: char) -> Vec<Vec<Option<String>>> {
        let (mut rows, mut row, mut cell, mut quoted) = (vec![], vec![], String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if cell.is_empty() && !quoted => {
                    quoted = true;
                    while let Some(c) = chars.next() {
                        if c != '"' {
                            cell.push(c);
                        } else if chars.peek() == Some(&'"') {
                            cell.push('"');
                            chars.next();
                        } else {
                            break;
                        }
                    }
                }
                c if c == delimiter || c == '\n' => {
                    let full = std::mem::take(&mut cell);
                    row.push(Some(full).filter(|full| quoted || !full.is_empty()));
                    quoted = false;
                    if c == '\n' {
                        rows.push(std::mem::take(&mut row));
                    }
                }
                c => cell.push(c),
            }
        }
        rows
    }

    proptest! {
        #[test]
        fn any_text_reads_back(
            rows in prop::collection::vec(prop::collection::vec(prop::option::of("[a,;\"\n\r# \\PC]{0,5}"), 3..4), 1..12), tab: bool,
        ) {
            let columns: Vec<Vec<Option<String>>> =
                (0..3).map(|c| rows.iter().map(|row| row[c].clone()).collect()).collect();
            let (name, delimiter) = if tab { ("tab", '\t') } else { ("comma", ',') };
            let read = parsed(&written(&columns, &[("delimiter", name)]), delimiter);
            prop_assert_eq!(&read[1..], rows.as_slice());
        }
    }

    #[test]
    fn nulls_and_empty_texts_differ_and_no_line_is_blank() {
        let cells = |cells: &[Option<&str>]| cells.iter().map(|c| c.map(str::to_owned)).collect::<Vec<_>>();
        let two = [cells(&[None, Some("")]), cells(&[Some("a"), None])];
        assert_eq!(written(&two, &[]), "c0,c1\n,a\n\"\",\n");
        assert_eq!(written(&two, &[("null", "NA"), ("header", "no")]), "NA,a\n\"\",NA\n");
        assert_eq!(written(&two[..1], &[("line_end", "crlf")]), "c0\r\n\"\"\r\n\"\"\r\n");
        assert_eq!(written(&[cells(&[Some("NA")])], &[("null", "NA")]), "c0\n\"NA\"\n");
    }
}
