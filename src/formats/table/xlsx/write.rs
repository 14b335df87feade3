//! Writes workbooks of SpreadsheetML (XLSX, ECMA-376 part 1, section 18): a sheet a table, its rows streamed into the
//! archive as they are read. Texts stand in their cells, so that nothing has to be gathered.
//!
//! What Excel has room for: <https://support.microsoft.com/office/1672b34d-7043-467e-8e27-269d656771c3>

mod cells;
mod parts;

use crate::bytes::archive::write::{archive, member};
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::TableView;
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::scan::scan;
use crate::engines::json::value_text::{holds, nan_patterns};
use crate::engines::samples::Numbered;
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use cells::{CellStyle, NotANumber};
use parts::Sheet;
use std::collections::HashSet;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

const SHEET: OptionSpec =
    OptionSpec::new("sheet", "The name of the sheet; several tables keep their own").default("Sheet1");
const HEADER: OptionSpec = OptionSpec::new("header", "Whether the first row has the names of the columns")
    .one_of("yes", &["yes", "no"]);
const FREEZE: OptionSpec =
    OptionSpec::new("freeze", "Whether the header stays in sight").one_of("yes", &["yes", "no"]);
const FILTER: OptionSpec =
    OptionSpec::new("autofilter", "Whether the header has buttons to filter and sort by")
        .one_of("no", &["no", "yes"]);
const NULL: OptionSpec = OptionSpec::new("null", "What stands for a null cell; nothing: an empty cell");
const NAN: OptionSpec = OptionSpec::new(
    "nan",
    "What stands for NaN and the infinities, which Excel lacks: their words as text, an empty cell, or an error value",
)
.one_of("text", &["text", "empty", "error"]);
const NUMBERS: OptionSpec = OptionSpec::new(
    "long_numbers",
    "Integers from 2^53 on and decimals of more than 15 digits, which Excel cannot hold: as text, or as the nearest number",
)
.one_of("text", &["text", "number"]);
const TEXTS: OptionSpec = OptionSpec::new(
    "long_texts",
    "Texts of more than the 32,767 characters of a cell: they stop the conversion, or are cut",
)
.one_of("refuse", &["refuse", "cut"]);
const SPLIT: OptionSpec =
    OptionSpec::new("split", "Whether rows beyond the 1,048,576 of a sheet go to further sheets")
        .one_of("no", &["no", "yes"]);

/// Rows of a sheet.
const ROWS: u64 = 1 << 20;
/// Columns of a sheet.
const COLUMNS: usize = 1 << 14;
/// Rows that tell how wide columns are.
const MEASURED: u64 = 100;

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    options: &[SHEET, HEADER, FREEZE, FILTER, NULL, NAN, NUMBERS, TEXTS, SPLIT],
    check: |payload| payload.tables()?.into_iter().try_for_each(|(_, table)| check(table.as_ref())),
    reading: |options| {
        let mut told = Options::default();
        told.set(super::HEADER.name, options.get(HEADER.name).unwrap_or(HEADER.default));
        told
    },
    ..Writer::new(&[Kind::Table], losses, write)
};

fn check(table: &dyn Table) -> Result<()> {
    match table.schema().fields().len() {
        0 => Err(Error::unsupported("a table without columns as a sheet")),
        count if count > COLUMNS => {
            let (count, most) = (display::count(count as u64), display::count(COLUMNS as u64));
            Err(Error::unsupported(format!("{count} columns: a sheet has {most} at most")))
        }
        _ => Ok(()),
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(tables) = payload.tables() else { return Vec::new() };
    let what = "a workbook has numbers, dates, truth values and texts only; a reader infers types again";
    let ends = "rows of nothing but nulls at the end are none to readers";
    let mut losses = vec![note(LossKind::Type, what).if_any(), note(LossKind::Null, ends).if_any()];
    if options.get(HEADER.name) == Some("no") {
        losses.push(note(LossKind::Name, "the names of the columns are not written"));
    }
    let wanted = options.get(SHEET.name).unwrap_or(SHEET.default);
    for ((path, table), name) in tables.iter().zip(names(&tables, wanted)) {
        let own = if path.is_empty() { wanted } else { *path };
        if name != own {
            let what = format!("the sheet is called {name}");
            losses.push(note(LossKind::Name, what).at(*path).called(name));
        }
        if let Some(rows) =
            table.rows().exact().filter(|rows| *rows >= ROWS && options.get(SPLIT.name) == Some("yes"))
        {
            let what = format!("its {} rows are put into several sheets", display::count(rows));
            losses.push(note(LossKind::Type, what).at(*path));
        }
        let mut of = of_table(table.schema().fields(), options);
        of.iter_mut().for_each(|loss| loss.path = (*path).to_owned());
        losses.extend(of);
    }
    losses
}

fn of_table(fields: &Fields, options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    let mut seen = HashSet::new();
    for field in fields {
        if !seen.insert(field.name()) || field.name().is_empty() {
            let what = "its name is none that tells it from others; programs may take the header for a row";
            losses.push(note(LossKind::Name, what).of(field.name()).if_any());
        }
        let first = losses.len();
        if !options.get(NULL.name).unwrap_or_default().is_empty() {
            losses.push(note(LossKind::Null, "nulls become texts").if_any());
        }
        of_field(field, options, &mut losses);
        losses.iter_mut().skip(first).for_each(|loss| loss.subject.clone_from(field.name()));
    }
    losses
}

/// What is lost of the values of a column.
fn of_field(field: &Field, options: &Options, losses: &mut Vec<Loss>) {
    let of = values_of(field.data_type());
    let is_binary = |of: &DataType| of.is_binary() || matches!(of, DataType::FixedSizeBinary(_));
    if holds(of, &is_binary) {
        losses.push(note(LossKind::Type, "binary is written as hexadecimal text"));
    }
    if of.is_nested() {
        losses.push(note(LossKind::Nesting, "nested values are written as JSON"));
    }
    if of.is_nested() || of.is_string() || is_binary(of) {
        losses.push(match options.get(TEXTS.name) {
            Some("cut") => loss(LossKind::Type, "texts are cut after 32,767 characters"),
            _ => note(LossKind::Type, "a text of more than 32,767 characters stops the conversion"),
        });
    }
    let long = |what: &str| match options.get(NUMBERS.name) {
        Some("number") => {
            loss(LossKind::Precision, format!("{what} become the nearest numbers that Excel has"))
        }
        _ => note(LossKind::Type, format!("{what} become texts")),
    };
    match of {
        DataType::Int64 | DataType::UInt64 => losses.push(long("numbers from 2^53 on")),
        of if of.is_decimal() => losses.push(long("numbers of more than 15 digits")),
        of if of.is_floating() => {
            losses.extend(nan_patterns(of));
            losses.push(match options.get(NAN.name) {
                Some("empty") => loss(LossKind::Nan, "NaN and infinities become empty cells"),
                Some("error") => note(LossKind::Nan, "NaN becomes the error #NUM!, infinities #DIV/0!"),
                _ => note(LossKind::Nan, "NaN and infinities become texts"),
            });
            losses.push(note(
                LossKind::Precision,
                "Excel takes a negative zero for zero, and numbers below 2.2e-308",
            ));
        }
        DataType::Date32 | DataType::Date64 => {
            losses.push(note(LossKind::Type, "dates before 1900 and after 9999 become texts"));
        }
        DataType::Timestamp(_, _) => {
            losses.push(note(LossKind::Type, "times before 1900 and after 9999 become texts"));
        }
        DataType::Interval(_) => losses.push(note(LossKind::Type, "intervals become texts")),
        _ => {}
    }
    if is_fine(of) {
        losses.push(note(LossKind::Precision, "digits of times below a millisecond are not kept"));
    }
    // All of these depend on values; the zone does not.
    losses.iter_mut().filter(|loss| is_by_value(loss)).for_each(|loss| loss.possible = true);
    if matches!(of, DataType::Timestamp(_, Some(_))) {
        losses.push(note(LossKind::Zone, "times are kept in UTC, without their zone"));
    }
}

fn is_by_value(loss: &Loss) -> bool {
    !matches!(loss.kind, LossKind::Zone | LossKind::Nesting)
}

/// Whether values have digits below a millisecond.
fn is_fine(of: &DataType) -> bool {
    use TimeUnit::{Microsecond, Nanosecond};
    matches!(
        of,
        DataType::Timestamp(Microsecond | Nanosecond, _)
            | DataType::Time64(_)
            | DataType::Duration(Microsecond | Nanosecond)
    )
}

/// The type of the values of dictionaries and runs.
fn values_of(of: &DataType) -> &DataType {
    match of {
        DataType::Dictionary(_, values) => values_of(values),
        DataType::RunEndEncoded(_, values) => values_of(values.data_type()),
        other => other,
    }
}

/// The names of the sheets: of at most 31 characters and without those that Excel refuses, each once also without
/// regard to its case.
fn names(tables: &[(&str, &Arc<dyn Table>)], wanted: &str) -> Vec<String> {
    let mut taken = HashSet::new();
    tables.iter().map(|(own, _)| unique(if own.is_empty() { wanted } else { own }, &mut taken)).collect()
}

/// A name for a sheet that is like `name` and not among those that are taken.
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    const LONGEST: usize = 31;
    let fits = |c: char| if c.is_control() || "[]:*?/\\".contains(c) { '_' } else { c };
    let cut = |name: &str, most: usize| -> String {
        let mut units = 0;
        let short = name.chars().take_while(|c| {
            units += c.len_utf16();
            units <= most
        });
        short.collect()
    };
    let clean: String = name.trim_start_matches('/').chars().map(fits).collect();
    let clean = clean.trim_matches('\'');
    // Excel keeps one name for itself.
    let clean = match clean {
        "" => "Sheet".to_owned(),
        name if name.eq_ignore_ascii_case("history") => format!("{name}_"),
        name => name.to_owned(),
    };
    for n in 1u64.. {
        let tail = if n == 1 { String::new() } else { format!(" ({n})") };
        let name = cut(&clean, LONGEST - tail.len()) + &tail;
        if taken.insert(name.to_lowercase()) {
            return name;
        }
    }
    clean
}

/// What is written into one sheet.
struct Part {
    table: Arc<dyn Table>,
    rows: Range<u64>,
    sheet: Sheet,
}

/// The sheets, with the rows of each.
fn plan(task: &Task, payload: &Payload, options: &Options, header: bool) -> Result<Vec<Part>> {
    let tables = payload.tables()?;
    let split = options.choice(&SPLIT)? == "yes";
    let most = ROWS - u64::from(header);
    let names = names(&tables, options.get(SHEET.name).unwrap_or(SHEET.default));
    let mut taken: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let mut parts = Vec::new();
    for ((_, table), name) in tables.into_iter().zip(names) {
        let total = table.count(task)?;
        if total > most && !split {
            let (total, most) = (display::count(total), display::count(most));
            let what = format!(
                "{name}: {total} rows, and a sheet has {most} with its header; split=yes puts the others into further sheets"
            );
            return Err(Error::unsupported(what));
        }
        let widths = cells::widths(task, table.as_ref(), header, MEASURED.min(total))?;
        let mut start = 0u64;
        loop {
            let rows = start..total.min(start.saturating_add(most));
            start = rows.end;
            let name = if rows.start == 0 { name.clone() } else { unique(&name, &mut taken) };
            let count = rows.end - rows.start + u64::from(header);
            let sheet = Sheet { name, rows: count, widths: widths.clone() };
            parts.push(Part { table: table.clone(), rows, sheet });
            if start >= total {
                break;
            }
        }
    }
    Ok(parts)
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let is = |spec: &OptionSpec| options.choice(spec).map(|value| value == "yes");
    let (header, freeze, filter) = (is(&HEADER)?, is(&FREEZE)?, is(&FILTER)?);
    let style = CellStyle {
        null: options.get(NULL.name).unwrap_or_default().to_owned(),
        nan: match options.choice(&NAN)? {
            "empty" => NotANumber::Empty,
            "error" => NotANumber::Error,
            _ => NotANumber::Text,
        },
        numbers: options.choice(&NUMBERS)? == "number",
        cut: options.choice(&TEXTS)? == "cut",
    };
    let parts = plan(task, payload, options, header)?;
    let look = parts::Look { freeze: freeze && header, filter: filter && header };
    let sheets: Vec<&Sheet> = parts.iter().map(|part| &part.sheet).collect();
    let package = parts::package(&sheets, look);
    archive(sink, |zip| {
        for (name, bytes) in &package {
            member(zip, name, true)?;
            zip.write_all(bytes.as_bytes())?;
        }
        for (n, part) in parts.iter().enumerate() {
            if parts.len() > 1 {
                task.set_message(part.sheet.name.clone());
            }
            member(zip, &format!("xl/worksheets/sheet{}.xml", n + 1), true)?;
            zip.write_all(parts::begin(&part.sheet, look, n == 0).as_bytes())?;
            let columns = cells::Columns::of(part.table.as_ref(), &style);
            if header {
                zip.write_all(&columns.header()?)?;
            }
            let all = (0..part.table.schema().fields().len()).collect();
            let view: Arc<dyn Table> = Arc::new(TableView::new(part.table.clone(), part.rows.clone(), all)?);
            let numbered = Numbered::new(view, 1 + u64::from(header));
            scan(task, &numbered, |batch| columns.rows(&batch), |bytes| Ok(zip.write_all(&bytes)?))?;
            zip.write_all(parts::end(&part.sheet, look).as_bytes())?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
