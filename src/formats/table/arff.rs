//! ARFF: Weka's tables as text. Attributes with their types, then a row a line, dense or sparse.
//! <https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/>
//!
//! Numbers are double precision, also integers that do not look like ones in the first rows. What a sparse row leaves out is
//! 0, or the first of the classes; texts and dates are null then. Relational attributes are shown as their text.

mod cells;
mod date;
mod header;
#[cfg(test)]
mod tests;

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Growth;
use crate::data::content::{Content, Kind as Contents};
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::records::container::{
    Builder, Columns, Container, Framed, Problems, Record, RecordTable,
};
use crate::engines::records::lines::Lines;
use crate::formats::ALL;
use arrow::array::{ArrayRef, Float64Builder, Int64Builder, StringBuilder, TimestampMillisecondBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use cells::{Cell, Row};
use header::{Header, Kind};
use std::collections::HashMap;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &["arff"],
    sniff: Some(sniff),
    reads: &[Contents::Table],
    ..Format::new("arff", "ARFF (Weka)", open)
};

/// Rows that are looked at for what the header does not say.
const SURVEYED: u64 = 256;
/// Classes that are listed beside a table.
const CLASSES: usize = 1_000;

/// The first line that is no comment names the relation.
fn sniff(head: &Head) -> Match {
    if head.is_folder || !head.is_text() {
        return Match::No;
    }
    let text = head.first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head.first);
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"%"));
    let begins = |line: &[u8]| line.get(..9).is_some_and(|word| word.eq_ignore_ascii_case(b"@relation"));
    match first {
        Some(line) if begins(line) => Match::Yes,
        // A longer description than a sniffer sees.
        None if head.has_extension(FORMAT.extensions) => Match::Yes,
        _ => Match::Maybe,
    }
}

/// Whether a line of data is no row.
fn is_none(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"%")
}

struct Attributes {
    schema: SchemaRef,
    kinds: Vec<Kind>,
    problems: Arc<Problems>,
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let mut header = Header::read(task, source)?;
    let rows = Arc::new(Framed::new(source.clone(), ALL, Lines { is_none }, header.end));
    rows.extend(task, SURVEYED, 2 * SURVEYED as usize)?;
    let records = rows.records(task, 0..rows.rows().known().min(SURVEYED))?;
    let (count, mut weights) = (header.attributes.len(), false);
    let mut fractions = vec![false; count];
    rows.read(task, &records, &mut |_, payload| {
        let text = String::from_utf8_lossy(payload?).into_owned();
        match cells::row(&text, count) {
            Ok(Row::Dense(all)) => {
                weights |= matches!(all.get(count), Some(Cell::Braced(_)));
                for (cell, fraction) in all.iter().zip(&mut fractions) {
                    *fraction |= cell.text().is_some_and(|text| integer(text).is_none());
                }
            }
            Ok(Row::Sparse(all, weight)) => {
                weights |= weight.is_some();
                for (index, cell) in all {
                    if let Some(fraction) = fractions.get_mut(index) {
                        *fraction |= cell.text().is_some_and(|text| integer(text).is_none());
                    }
                }
            }
            Err(_) => {}
        }
        Ok(())
    })?;
    for (attribute, fraction) in header.attributes.iter_mut().zip(fractions) {
        if attribute.kind == Kind::Integer && fraction {
            attribute.kind = Kind::Number;
        }
    }
    let mut node = Node::new(source.name(), "file").attribute("relation", header.relation.as_str());
    if !header.description.trim().is_empty() {
        node = node.attribute("description", header.description.trim());
    }
    for attribute in &header.attributes {
        if let Kind::Nominal(classes) = &attribute.kind {
            let listed: Vec<&str> = classes.iter().take(CLASSES).map(String::as_str).collect();
            node = node.attribute(format!("classes of {}", attribute.name), serde_json::Value::from(listed));
        }
    }
    let columns = Attributes::new(header, weights, rows.problems().clone());
    node.findings = Some(rows.problems().clone());
    Ok(node.content(Content::Table(Arc::new(RecordTable::new(rows, columns)))))
}

/// A whole number, also one that is written with a fraction of zeros.
fn integer(text: &str) -> Option<i64> {
    let exact = || {
        let number: f64 = text.parse().ok()?;
        (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
    };
    text.parse().ok().or_else(exact)
}

impl Attributes {
    fn new(header: Header, weights: bool, problems: Arc<Problems>) -> Attributes {
        let data_type = |kind: &Kind| match kind {
            Kind::Number => DataType::Float64,
            Kind::Integer => DataType::Int64,
            Kind::Date(Some(_)) => DataType::Timestamp(TimeUnit::Millisecond, None),
            _ => DataType::Utf8,
        };
        let mut fields: Vec<Field> = header
            .attributes
            .iter()
            .map(|attribute| Field::new(&attribute.name, data_type(&attribute.kind), true))
            .collect();
        if weights {
            fields.push(Field::new("weight", DataType::Float64, true));
        }
        let kinds = header.attributes.into_iter().map(|attribute| attribute.kind).collect();
        Attributes { schema: Arc::new(Schema::new(fields)), kinds, problems }
    }

    fn says(&self, record: &Record, what: &str) {
        let what = format!("ARFF: row {}: {what}", record.number);
        self.problems.add(Error::malformed(what).at(record.span.start));
    }
}

impl Columns for Attributes {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let made = |column: &usize| {
            let field = self.schema.fields().get(*column);
            let field = field.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
            let made = match field.data_type() {
                DataType::Float64 => Made::Number(Float64Builder::new()),
                DataType::Int64 => Made::Integer(Int64Builder::new()),
                DataType::Timestamp(..) => Made::Date(TimestampMillisecondBuilder::new()),
                _ => Made::Text(StringBuilder::new()),
            };
            Ok((*column, made))
        };
        let made = columns.iter().map(made).collect::<Result<_>>()?;
        Ok(Box::new(Rows { attributes: self, made, bytes: 0 }))
    }
}

enum Made {
    Number(Float64Builder),
    Integer(Int64Builder),
    Text(StringBuilder),
    Date(TimestampMillisecondBuilder),
}

impl Made {
    fn null(&mut self) {
        match self {
            Made::Number(made) => made.append_null(),
            Made::Integer(made) => made.append_null(),
            Made::Text(made) => made.append_null(),
            Made::Date(made) => made.append_null(),
        }
    }

    /// Adds a value; `false` where it does not fit.
    fn value(&mut self, kind: Option<&Kind>, text: &str) -> bool {
        match self {
            Made::Number(made) => {
                let number: Option<f64> = text.trim().parse().ok();
                made.append_option(number);
                number.is_some()
            }
            Made::Integer(made) => {
                let number = integer(text.trim());
                made.append_option(number);
                number.is_some()
            }
            Made::Date(made) => {
                let pattern = match kind {
                    Some(Kind::Date(pattern)) => pattern.as_ref(),
                    _ => None,
                };
                let time = pattern.and_then(|pattern| pattern.read(text));
                made.append_option(time);
                time.is_some()
            }
            // Classes that are not declared are shown, and said.
            Made::Text(made) => {
                made.append_value(text);
                !matches!(kind, Some(Kind::Nominal(classes)) if !classes.iter().any(|class| class == text))
            }
        }
    }
}

struct Rows<'a> {
    attributes: &'a Attributes,
    made: Vec<(usize, Made)>,
    bytes: u64,
}

/// The values of a row.
enum Values<'a> {
    Dense(Vec<Cell<'a>>),
    Sparse(HashMap<usize, Cell<'a>>),
}

impl Rows<'_> {
    /// The values of a row and its weight; what is wrong with it is said.
    fn values<'t>(&self, record: &Record, text: &'t str) -> (Values<'t>, Option<String>) {
        let count = self.attributes.kinds.len();
        match cells::row(text, count) {
            Ok(Row::Dense(all)) => {
                let weight = match all.get(count) {
                    Some(Cell::Braced(weight)) if all.len() == count + 1 => Some((*weight).to_owned()),
                    None if all.len() == count => None,
                    _ => {
                        let what = format!("it has {} values for {count} attributes", all.len());
                        self.attributes.says(record, &what);
                        None
                    }
                };
                (Values::Dense(all), weight)
            }
            Ok(Row::Sparse(all, weight)) => {
                (Values::Sparse(all.into_iter().collect()), weight.map(str::to_owned))
            }
            Err(what) => {
                self.attributes.says(record, what);
                (Values::Dense(Vec::new()), None)
            }
        }
    }
}

/// Adds what a sparse row leaves out.
fn left_out(made: &mut Made, kind: Option<&Kind>) {
    let text = match kind {
        Some(Kind::Number | Kind::Integer) => Some("0"),
        Some(Kind::Nominal(classes)) => classes.first().map(String::as_str),
        _ => None,
    };
    match text {
        Some(text) => drop(made.value(kind, text)),
        None => made.null(),
    }
}

impl Builder for Rows<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        // A sparse row of few bytes has as many cells as there are attributes.
        self.bytes = self.bytes.saturating_add(record.len).saturating_add(8 * self.made.len() as u64);
        limits::check(self.bytes, limits::CHUNK, "these rows")?;
        let Some(text) = payload.map(String::from_utf8_lossy) else {
            self.made.iter_mut().for_each(|(_, made)| made.null());
            return Ok(());
        };
        let (values, weight) = self.values(record, &text);
        let attributes = self.attributes;
        for (column, made) in &mut self.made {
            let Some(kind) = attributes.kinds.get(*column) else {
                // Rows without a weight count once.
                made.value(None, weight.as_deref().unwrap_or("1"));
                continue;
            };
            let cell = match &values {
                Values::Dense(all) => all.get(*column),
                Values::Sparse(all) => match all.get(column) {
                    Some(cell) => Some(cell),
                    None => {
                        left_out(made, Some(kind));
                        continue;
                    }
                },
            };
            let Some(text) = cell.and_then(Cell::text) else {
                made.null();
                continue;
            };
            if !made.value(Some(kind), text) {
                let name = attributes.schema.fields().get(*column).map_or("", |field| field.name());
                attributes.says(record, &format!("{text:?} is no value of attribute {name:?}"));
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let array = |(_, made): (usize, Made)| -> ArrayRef {
            match made {
                Made::Number(mut made) => Arc::new(made.finish()),
                Made::Integer(mut made) => Arc::new(made.finish()),
                Made::Text(mut made) => Arc::new(made.finish()),
                Made::Date(mut made) => Arc::new(made.finish()),
            }
        };
        Ok(self.made.into_iter().map(array).collect())
    }
}
