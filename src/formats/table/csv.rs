//! CSV and its cousins: tables as text, with any delimiter, quote, line end and encoding (RFC 4180,
//! <https://www.rfc-editor.org/rfc/rfc4180>, and what is found in the wild).
//!
//! Opening reads samples — the beginning and a few places further on — and tells from them the
//! encoding, the dialect ([`dialect`]), the columns and the types that their cells fit ([`sample`]).
//! Cells stay text: the guess stands in the field's metadata, so that a cell that does not fit keeps
//! its value. Rows are found through the sparse index of [`crate::engines::delimited`] ([`table`]).

mod delimiter;
mod dialect;
mod record;
mod sample;
mod table;
mod values;
pub mod write;

use crate::bytes::display;
use crate::bytes::error::Result;
use crate::bytes::source::Growth;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::encoding;
use dialect::Dialect;
use sample::Sample;
use std::sync::Arc;
use table::CsvTable;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    targets: &[
        Target::new("csv", "CSV", &["csv", "csv.gz", "csv.zst"], &write::WRITER),
        Target {
            presets: &[("delimiter", "tab")],
            ..Target::new("tsv", "TSV", &["tsv", "tab", "tsv.gz", "tsv.zst"], &write::WRITER)
        },
    ],
    extensions: &["csv", "tsv", "tab", "psv"],
    mime: &["text/csv", "text/tab-separated-values"],
    sniff: Some(sniff),
    takes_any: true,
    reads: &[Kind::Table],
    options: &[
        dialect::DELIMITER,
        dialect::QUOTE,
        dialect::HEADER,
        dialect::ENCODING,
        dialect::SKIP,
        dialect::COMMENT,
        values::DECIMAL,
        values::THOUSANDS,
        values::NULLS,
        values::TYPES,
    ],
    ..Format::new("csv", "CSV", open)
};

/// Extensions of files that are often tables and often something else.
const OPEN_NAMES: [&str; 5] = ["txt", "data", "dat", "asc", "text"];
/// Rows that a table under another name must have to be taken for one.
const STRICT_ROWS: usize = 5;

fn sniff(head: &Head) -> Match {
    if head.is_folder || head.first.is_empty() {
        return Match::No;
    }
    if head.has_extension(FORMAT.extensions) {
        return if encoding::is_plausible(&head.first) { Match::Yes } else { Match::No };
    }
    let open_name = !head.name.contains('.') || head.has_extension(&OPEN_NAMES) || head.has_binary_name();
    if open_name && head.is_text() && is_strict_table(head) { Match::Yes } else { Match::No }
}

/// Whether the text is a table beyond doubt: all rows have the same number of fields, a column of
/// numbers among them.
fn is_strict_table(head: &Head) -> bool {
    let whole = head.len == Some(head.first.len() as u64);
    let options = crate::data::format::Options::default();
    let Ok(dialect) = dialect::detect(&head.first, whole, false, encoding_rs::UTF_8, &options) else {
        return false;
    };
    let body = head.first.get(dialect.skip..).unwrap_or_default();
    let shape = delimiter::Shape::of(body, &dialect.rules, whole);
    shape.fields > 1
        && shape.share == 1.0
        && shape.rows >= STRICT_ROWS
        && delimiter::is_usual(dialect.rules.delimiter)
        && delimiter::has_numbers(body, &dialect.rules, whole)
}

fn open(opening: &Opening) -> Result<Node> {
    let sample = Sample::take(opening)?;
    let table = table::of(&sample);
    if sample.whole {
        table.count(opening.task)?;
    }
    let mut node = Node::new(opening.source.name(), "table");
    node.reader = attributes(&sample.dialect, &sample.encoding_name, sample.mark);
    let said = [values::DECIMAL, values::THOUSANDS, values::NULLS, values::TYPES];
    node.reader.extend(said.iter().filter_map(|option| {
        let value = opening.options.get(option.name).filter(|value| *value != option.default)?;
        Some((option.name.to_owned(), value.to_owned().into()))
    }));
    node.remarks = remarks(&sample, &table);
    Ok(node.content(Content::Table(Arc::new(table))))
}

/// What was detected or set, for the inspector.
fn attributes(dialect: &Dialect, encoding: &str, mark: bool) -> Vec<(String, crate::data::node::Value)> {
    let marked = if mark { format!("{encoding}, byte order mark") } else { encoding.to_owned() };
    let ends = if dialect.ends.is_empty() { "LF".to_owned() } else { dialect.ends.join(", ") };
    let quote = dialect.rules.quote.map_or("none".to_owned(), dialect::byte_name);
    let header = if dialect.header { "yes" } else { "no" };
    let list = [
        ("delimiter", dialect::byte_name(dialect.rules.delimiter)),
        ("quote", quote),
        ("header", header.to_owned()),
        ("encoding", marked),
        ("line ends", ends),
    ];
    // In the words of CSVW's dialect and of spreadsheets.
    let rules = &dialect.rules;
    let flags = [("skip initial space", rules.padded), ("merge delimiters", rules.runs)];
    let flags = flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| (name, "yes".to_owned()));
    let skipped = (dialect.skipped > 0).then(|| (dialect::SKIP.name, dialect.skipped.to_string()));
    let flags = flags.chain(skipped);
    list.into_iter().chain(flags).map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn remarks(sample: &Sample, table: &CsvTable) -> Vec<String> {
    let mut remarks = Vec::new();
    if sample.dialect.skipped > 0 {
        remarks.push(format!("{} skipped", display::plural(sample.dialect.skipped as u64, "line")));
    }
    if sample.dialect.comments > 0 {
        let lines = display::plural(sample.dialect.comments as u64, "comment line");
        remarks.push(format!("{lines} before the table skipped"));
    }
    if sample.ragged > 0 {
        let rows = display::plural(sample.ragged, "row");
        let among = if sample.whole {
            String::new()
        } else {
            format!(" of {} that were looked at", display::count(sample.rows))
        };
        let usual = display::plural(sample.usual as u64, "field");
        remarks.push(format!(
            "ragged: {rows}{among} with another number of fields than {usual}; missing cells are null, further ones have columns of their own"
        ));
    }
    if table.pages().is_unclosed() {
        remarks
            .push("a quote is still open at the end of the file; quote=none reads quotes as text".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests;
