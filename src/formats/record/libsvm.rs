//! LIBSVM's and SVMlight's rows of sparse features: `label index:value …`, a line each, with a query's number for
//! rankings (`qid:3`), several labels (`1,3`) and comments behind `#`.
//! <https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/>, <https://www.cs.cornell.edu/people/tj/svm_light/>
//!
//! Indices count from 0 or from 1, which nothing says; they are shown as they stand. Names say little either: a text is one
//! where all of its first lines are such rows.

mod line;
#[cfg(test)]
mod tests;

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Growth;
use crate::data::content::{Content, Kind};
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::records::container::{
    Builder, Columns, Container, Framed, Problems, Record, RecordTable,
};
use crate::engines::records::lines::Lines;
use crate::formats::ALL;
use arrow::array::{ArrayRef, Float64Builder, Int64Builder, ListBuilder, StringBuilder, UInt64Builder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use line::Line;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    growth: Growth::Appended,
    extensions: &["libsvm", "svmlight", "svm"],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    ..Format::new("libsvm", "LIBSVM rows", open)
};

/// Rows that are looked at for the columns.
const SURVEYED: u64 = 1_024;
/// Lines of the beginning that are looked at to tell the format.
const LINES: usize = 64;
/// Names of texts that are something else by their names.
const OTHERS: &[&str] =
    &["csv", "tsv", "json", "jsonl", "md", "html", "xml", "yaml", "yml", "log", "arff", "srt", "py"];

fn sniff(head: &Head) -> Match {
    if head.is_folder || !head.is_text() {
        return Match::No;
    }
    let is_named = head.has_extension(FORMAT.extensions);
    let is_whole = head.len == Some(head.first.len() as u64);
    let mut lines: Vec<&[u8]> = head.first.split(|byte| *byte == b'\n').collect();
    // The last one may be cut off, and one that fills the head is.
    if !is_whole && lines.len() > 1 {
        lines.pop();
    }
    let (mut rows, mut features, mut wrong) = (0, 0, 0);
    for text in lines.iter().filter(|line| !line::is_none(line)).take(LINES) {
        let line = Line::read(text);
        rows += 1;
        features += line.indices.len();
        wrong += usize::from(line.wrong.is_some() && is_whole | (lines.len() > 1));
    }
    match (rows, is_named) {
        (0, _) => Match::No,
        (_, true) if features > 0 || wrong == 0 => Match::Yes,
        // Times of day look like single features.
        (_, false) if wrong == 0 && features > rows && !head.has_extension(OTHERS) => Match::Yes,
        _ => Match::No,
    }
}

/// What the columns are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Label,
    Labels,
    Query,
    Indices,
    Values,
    Comment,
}

/// What the first rows tell.
#[derive(Default)]
struct Survey {
    several: bool,
    queries: bool,
    comments: bool,
    lowest: Option<u64>,
    highest: Option<u64>,
}

struct Features {
    schema: SchemaRef,
    of: Vec<Column>,
    problems: Arc<Problems>,
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    // A byte order mark is no part of the first label.
    let start = if opening.head.first.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let rows = Arc::new(Framed::new(source.clone(), ALL, Lines { is_none: line::is_none }, start));
    rows.extend(task, SURVEYED, 2 * SURVEYED as usize)?;
    let records = rows.records(task, 0..rows.rows().known().min(SURVEYED))?;
    let mut survey = Survey::default();
    rows.read(task, &records, &mut |_, payload| {
        let line = Line::read(payload?);
        survey.several |= line.labels.len() > 1;
        survey.queries |= line.query.is_some();
        survey.comments |= line.comment.is_some_and(|text| !text.is_empty());
        survey.lowest = survey.lowest.into_iter().chain(line.indices.first().copied()).min();
        survey.highest = survey.highest.into_iter().chain(line.indices.last().copied()).max();
        Ok(())
    })?;
    let mut node = Node::new(source.name(), "file");
    if let (Some(lowest), Some(highest)) = (survey.lowest, survey.highest) {
        let all = if records.len() as u64 == rows.rows().number() { "" } else { " in the first rows" };
        let range = format!("{} to {}{all}", display::count(lowest), display::count(highest));
        node = node.read_as("features", range);
    }
    let columns = Features::new(&survey, rows.problems().clone());
    node.findings = Some(rows.problems().clone());
    Ok(node.content(Content::Table(Arc::new(RecordTable::new(rows, columns)))))
}

impl Features {
    fn new(survey: &Survey, problems: Arc<Problems>) -> Features {
        let list = |data_type| DataType::List(Arc::new(Field::new("item", data_type, true)));
        let mut all = vec![match survey.several {
            true => (Column::Labels, Field::new("labels", list(DataType::Float64), true)),
            false => (Column::Label, Field::new("label", DataType::Float64, true)),
        }];
        if survey.queries {
            all.push((Column::Query, Field::new("qid", DataType::Int64, true)));
        }
        all.push((Column::Indices, Field::new("indices", list(DataType::UInt64), true)));
        all.push((Column::Values, Field::new("values", list(DataType::Float64), true)));
        if survey.comments {
            all.push((Column::Comment, Field::new("comment", DataType::Utf8, true)));
        }
        let (of, fields): (Vec<Column>, Vec<Field>) = all.into_iter().unzip();
        Features { schema: Arc::new(Schema::new(fields)), of, problems }
    }
}

impl Columns for Features {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn builder(&self, columns: &[usize]) -> Result<Box<dyn Builder + '_>> {
        let made = |column: &usize| {
            let none = || Error::bug(format!("column {column} was asked for"));
            Ok(match self.of.get(*column).ok_or_else(none)? {
                Column::Label => Made::Label(Float64Builder::new()),
                Column::Labels => Made::Labels(ListBuilder::new(Float64Builder::new())),
                Column::Query => Made::Query(Int64Builder::new()),
                Column::Indices => Made::Indices(ListBuilder::new(UInt64Builder::new())),
                Column::Values => Made::Values(ListBuilder::new(Float64Builder::new())),
                Column::Comment => Made::Comment(StringBuilder::new()),
            })
        };
        let made = columns.iter().map(made).collect::<Result<_>>()?;
        Ok(Box::new(Rows {
            problems: &self.problems,
            made,
            several: self.of.contains(&Column::Labels),
            whole: columns.len() >= self.of.len(),
            bytes: 0,
        }))
    }
}

enum Made {
    Label(Float64Builder),
    Labels(ListBuilder<Float64Builder>),
    Query(Int64Builder),
    Indices(ListBuilder<UInt64Builder>),
    Values(ListBuilder<Float64Builder>),
    Comment(StringBuilder),
}

struct Rows<'a> {
    problems: &'a Problems,
    made: Vec<Made>,
    several: bool,
    /// Whether all columns are made.
    whole: bool,
    bytes: u64,
}

impl Builder for Rows<'_> {
    fn add(&mut self, record: &Record, payload: Option<&[u8]>) -> Result<()> {
        self.bytes = self.bytes.saturating_add(record.len.saturating_mul(4));
        limits::check(self.bytes, limits::CHUNK, "the features of these rows")?;
        let line = payload.map(Line::read);
        let wrong = line.as_ref().and_then(|line| line.wrong);
        let label = line.as_ref().filter(|line| line.labels.len() < 2).and_then(|line| line.labels.first());
        let many = !self.several && line.as_ref().is_some_and(|line| line.labels.len() > 1);
        if let Some(wrong) = wrong.or(many.then_some("it has several labels, unlike the first rows")) {
            let what = format!("LIBSVM: row {}: {wrong}", record.number);
            self.problems.add(Error::malformed(what).at(record.span.start));
        }
        if let Some(line) = &line {
            let lacks = |is: fn(&Made) -> bool| !self.made.iter().any(is);
            // Where columns are chosen, others of them are not missing.
            if self.whole && line.query.is_some() && lacks(|made| matches!(made, Made::Query(_))) {
                self.problems.remark("the first rows have no qid; those of later rows are in no column");
            }
            if self.whole && line.comment.is_some() && lacks(|made| matches!(made, Made::Comment(_))) {
                self.problems.remark("the first rows have no comments; those of later rows are in no column");
            }
        }
        for made in &mut self.made {
            match (made, &line) {
                (Made::Label(labels), _) => labels.append_option(label.copied()),
                (Made::Labels(lists), Some(line)) => {
                    lists.append_value(line.labels.iter().copied().map(Some))
                }
                (Made::Query(numbers), line) => {
                    numbers.append_option(line.as_ref().and_then(|line| line.query))
                }
                (Made::Indices(lists), Some(line)) => {
                    lists.append_value(line.indices.iter().copied().map(Some))
                }
                (Made::Values(lists), Some(line)) => {
                    lists.append_value(line.values.iter().copied().map(Some))
                }
                (Made::Comment(texts), line) => {
                    texts.append_option(line.as_ref().and_then(|line| line.comment))
                }
                (Made::Indices(lists), None) => lists.append_null(),
                (Made::Labels(lists) | Made::Values(lists), None) => lists.append_null(),
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<ArrayRef>> {
        let array = |made: Made| -> ArrayRef {
            match made {
                Made::Label(mut made) => Arc::new(made.finish()),
                Made::Query(mut made) => Arc::new(made.finish()),
                Made::Indices(mut made) => Arc::new(made.finish()),
                Made::Labels(mut made) | Made::Values(mut made) => Arc::new(made.finish()),
                Made::Comment(mut made) => Arc::new(made.finish()),
            }
        };
        Ok(self.made.into_iter().map(array).collect())
    }
}
