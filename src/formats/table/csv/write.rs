//! Writes delimited text: RFC 4180's quoting, UTF-8, cells as the exact texts of [`crate::data::cell`]; lists,
//! structs and maps as JSON. A null is an empty cell, an empty text is `""`.
//! <https://www.rfc-editor.org/rfc/rfc4180>

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Kind;
use crate::data::format::note;
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::{put, scan};
use crate::engines::json::value_text::{NotFinite, hex, holds, number, plain, text, value};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;

const DELIMITER: OptionSpec = OptionSpec::new("delimiter", "What stands between cells")
    .one_of("comma", &["comma", "tab", "semicolon", "pipe"]);
const HEADER: OptionSpec = OptionSpec::new("header", "Whether the first line has the names of the columns")
    .one_of("yes", &["yes", "no"]);
const QUOTE: OptionSpec =
    OptionSpec::new("quote", "Which cells stand in quotes").one_of("necessary", &["necessary", "all"]);
const NULL: OptionSpec = OptionSpec::new("null", "What stands for a null cell");
const LINES: OptionSpec = OptionSpec::new("line_end", "What ends a line").one_of("lf", &["lf", "crlf"]);

/// The writer.
pub const WRITER: Writer = Writer {
    texts: true,
    streams: true,
    options: &[DELIMITER, HEADER, QUOTE, NULL, LINES],
    ..Writer::new(&[Kind::Table], losses, write)
};

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    let fields = table.schema().fields();
    losses.push(note(LossKind::Type, "cells become text; a reader infers their types again").if_any());
    if fields.len() == 1 && options.get(NULL.name).unwrap_or_default().is_empty() {
        let what = "a null of the only column is written as empty text: a blank line would be no row";
        losses.push(note(LossKind::Null, what).if_any());
    }
    for field in fields {
        if field.data_type().is_nested() && !matches!(field.data_type(), DataType::RunEndEncoded(_, _)) {
            losses.push(note(LossKind::Nesting, "nested values are written as JSON").of(field.name()));
        }
        if holds(field.data_type(), &|t| t.is_binary() || matches!(t, DataType::FixedSizeBinary(_))) {
            losses.push(note(LossKind::Type, "binary is written as hexadecimal text").of(field.name()));
        }
    }
    if options.get(HEADER.name) == Some("no") {
        losses.push(note(LossKind::Name, "the names of the columns are not written"));
    }
    losses
}

/// How cells are written.
struct Style {
    delimiter: u8,
    quote_all: bool,
    null: String,
    end: &'static [u8],
    /// A line of one empty cell would be a blank line, which readers skip.
    lone: bool,
}

impl Style {
    fn of(options: &Options, columns: usize) -> Result<Self> {
        let null = options.get(NULL.name).unwrap_or(NULL.default).to_owned();
        let delimiter = match options.choice(&DELIMITER)? {
            "tab" => b'\t',
            "semicolon" => b';',
            "pipe" => b'|',
            _ => b',',
        };
        let style = Style {
            delimiter,
            quote_all: options.choice(&QUOTE)? == "all",
            null,
            end: if options.choice(&LINES)? == "crlf" { b"\r\n" } else { b"\n" },
            lone: columns == 1,
        };
        if style.must_quote(style.null.as_bytes()) && !style.null.is_empty() {
            return Err(Error::unsupported(format!("null={:?}: it would have to be quoted", style.null)));
        }
        Ok(style)
    }

    fn must_quote(&self, text: &[u8]) -> bool {
        let special = |b: &u8| matches!(*b, b'"' | b'\n' | b'\r') || *b == self.delimiter;
        // A `#` may be taken for a comment; spaces at the ends may be trimmed.
        let first = matches!(text.first(), None | Some(b'#' | b' ' | b'\t' | 0xef));
        self.quote_all || first || text.last() == Some(&b' ') || text.iter().any(special)
    }

    /// Appends a text, in quotes where they are needed.
    fn text(&self, text: &str, out: &mut Vec<u8>) {
        if !self.must_quote(text.as_bytes()) && text != self.null {
            out.extend_from_slice(text.as_bytes());
            return;
        }
        self.quoted(text, out);
    }

    /// Appends a text in quotes.
    fn quoted(&self, text: &str, out: &mut Vec<u8>) {
        out.push(b'"');
        for part in text.split_inclusive('"') {
            out.extend_from_slice(part.as_bytes());
            if part.ends_with('"') {
                out.push(b'"');
            }
        }
        out.push(b'"');
    }

    /// Appends one cell.
    fn cell(&self, array: &dyn Array, row: usize, out: &mut Vec<u8>) {
        if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
            out.extend_from_slice(if self.lone && self.null.is_empty() {
                b"\"\""
            } else {
                self.null.as_bytes()
            });
            return;
        }
        if let Some(text) = text(array, row) {
            return self.text(text, out);
        }
        if let Some(union) = array.as_union_opt() {
            return self.cell(union.value(row).as_ref(), 0, out);
        }
        if !self.quote_all && number(array, row, out) {
            return;
        }
        let mut other = Vec::new();
        if array.data_type().is_nested() {
            // In quotes also where JSON's commas are no delimiters: readers guess by them.
            value(array, row, NotFinite::Text, &mut other);
            return self.quoted(&String::from_utf8_lossy(&other), out);
        }
        if !number(array, row, &mut other) {
            match cell::binary(array, row) {
                Some(bytes) => hex(bytes, &mut other),
                None => other.extend(cell::text(array, row).unwrap_or_default().into_bytes()),
            }
        }
        self.text(&String::from_utf8_lossy(&other), out);
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let table = payload.table()?;
    let fields = table.schema().fields();
    if fields.is_empty() {
        return Err(Error::unsupported("a table without columns as delimited text"));
    }
    let style = Style::of(options, fields.len())?;
    if options.choice(&HEADER)? == "yes" {
        let mut head = Vec::new();
        for (n, field) in fields.iter().enumerate() {
            if n > 0 {
                head.push(style.delimiter);
            }
            style.text(field.name(), &mut head);
        }
        head.extend_from_slice(style.end);
        put(sink, &head)?;
    }
    let lines = |batch: RecordBatch| -> Result<Vec<u8>> {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let mut out = Vec::with_capacity(batch.num_rows() * columns.len() * 8);
        for row in 0..batch.num_rows() {
            for (n, column) in columns.iter().enumerate() {
                if n > 0 {
                    out.push(style.delimiter);
                }
                style.cell(column.as_ref(), row, &mut out);
            }
            out.extend_from_slice(style.end);
        }
        Ok(out)
    };
    scan(task, table.as_ref(), lines, |bytes| put(sink, &bytes)).map(drop)
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
