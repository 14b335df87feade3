//! PMML, the Predictive Model Markup Language of the Data Mining Group: an XML document of data fields, transformations and
//! models — trees, regressions, networks, rules, ensembles of such — in all versions up to 4.4, with and without a namespace.
//! <https://dmg.org/pmml/v4-4-1/GeneralStructure.html>
//!
//! Opening walks over the document once and keeps where the elements of models, segments and lists lie and what attributes
//! they have; memory is for these alone, not for the nodes of trees and the rows of lists.
//!
//! | part | what it does |
//! |---|---|
//! | [`outline`] | that walk |
//! | [`skip`] | where elements end that it does not look into |
//! | [`terms`] | the elements of the specification: which are models, which are rows of which lists |
//! | [`nodes`] | what stands in the tree |
//! | [`rows`] | lists as tables, parsed piece by piece |
//! | [`elements`] | what is no list: a tree of elements, parsed when somebody looks into it |
//! | [`graph`] | models as graphs |
//! | [`texts`] | predicates and expressions as people write them |
//!
//! Documents in other encodings than UTF-8 are read up to 64 MiB.

mod elements;
mod graph;
mod nodes;
mod outline;
mod rows;
mod skip;
mod terms;
#[cfg(test)]
mod tests;
mod texts;

use crate::bytes::error::{Error, ErrorKind, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Format, Opening};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::encoding;
use crate::engines::xml::{self, Element, LONGEST};
use outline::{Entry, Outline};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &["pmml"],
    sniff: Some(sniff),
    reads: &[Kind::Graph, Kind::Table, Kind::Group],
    ..Format::new("pmml", "PMML model", open)
};

/// XML whose root element is PMML.
fn sniff(head: &Head) -> Match {
    if head.is_folder || !encoding::is_plausible(&head.first) {
        return Match::No;
    }
    match xml::root_name(&xml::decoded(&head.first)) {
        Some("PMML") => Match::Yes,
        // What comes before it may be longer than what is seen.
        None if head.has_extension(FORMAT.extensions) => Match::Yes,
        _ => Match::No,
    }
}

/// A text in UTF-8.
struct Text {
    source: Source,
    /// Where it begins, behind a mark.
    start: u64,
    /// Whether its bytes are those of the file.
    is_file: bool,
}

/// A document that was walked over.
struct Document {
    text: Text,
    outline: Outline,
    /// The types of data fields, once somebody asked for them.
    types: Mutex<Option<Arc<HashMap<String, String>>>>,
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let (charset, mark) = xml::encoding(&opening.head.first);
    let text = if charset == encoding_rs::UTF_8 {
        Text { source: source.clone(), start: mark as u64, is_file: true }
    } else {
        let len = source.len(task)?;
        if len > LONGEST {
            let what = format!("PMML in {} is read up to {LONGEST} bytes; this has {len}", charset.name());
            return Err(Error::unsupported(what));
        }
        let bytes = source.read(task, 0..len)?;
        let decoded = xml::decoded(&bytes).into_owned();
        Text { source: Source::memory(source.name(), decoded), start: 0, is_file: false }
    };
    let outline = outline::outline(task, &text)?;
    if outline.entries.is_empty() {
        return Err(outline.problem.unwrap_or_else(|| Error::malformed("XML: there is no element")));
    }
    let document = Arc::new(Document { text, outline, types: Mutex::new(None) });
    let mut root = nodes::root(task, &document)?;
    if charset != encoding_rs::UTF_8 {
        root = root.read_as("encoding", charset.name());
    }
    Ok(root)
}

impl Document {
    /// An element of the outline.
    fn entry(&self, number: u32) -> Option<&Entry> {
        self.outline.entries.get(number as usize)
    }

    /// The first element of this name in an element of the outline.
    fn child(&self, number: u32, name: &str) -> Option<u32> {
        self.entry(number)?.below.iter().copied().find(|below| self.name(*below) == name)
    }

    /// The name of an element of the outline.
    fn name(&self, number: u32) -> &str {
        self.entry(number).map_or("", |entry| entry.name.as_str())
    }

    /// An attribute of an element of the outline.
    fn attribute(&self, number: u32, name: &str) -> Option<&str> {
        let found = self.entry(number)?.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The element of a span, and what is wrong with it; a list's rows get one around them.
    fn parse(
        &self,
        task: &Task,
        span: Range<u64>,
        what: &str,
        is_list: bool,
    ) -> Result<(Element, Option<Error>)> {
        let len = limits::check(span.end.saturating_sub(span.start), LONGEST, what)?;
        let bytes = self.text.source.read_up_to(task, span.start, len)?;
        let doctype = &self.outline.doctype;
        let text = String::from_utf8_lossy(&bytes);
        let text = if is_list { format!("{doctype}<list>{text}</list>") } else { format!("{doctype}{text}") };
        let found = xml::parse(task, &text)?;
        let problem = found.problem.map(|problem| {
            // Its line is counted from the span, not from the file.
            let said = problem.what().trim_start_matches("XML: ");
            let said = said
                .split_once(": ")
                .filter(|(line, _)| line.starts_with("line "))
                .map_or(said, |(_, rest)| rest);
            let said = format!("{what}: {said}");
            let error =
                if problem.kind() == ErrorKind::Limit { Error::limit(said) } else { Error::malformed(said) };
            error.at(span.start)
        });
        Ok((found.root.unwrap_or_default(), problem))
    }

    /// An element of the outline that is a part, parsed.
    fn part(&self, task: &Task, number: u32) -> Result<(Element, Option<Error>)> {
        let entry = self.entry(number).ok_or_else(|| Error::bug("a part that is not there"))?;
        self.parse(task, entry.span.clone(), &entry.name, false)
    }

    /// The rows of the list of this name in an element of the outline, as elements; none where there is no such list. Of a
    /// very long list the first ones.
    fn rows(&self, task: &Task, number: u32, list: &str) -> Result<Vec<Element>> {
        /// Pieces that are taken.
        const MOST: usize = 64;
        let Some(list) = self.child(number, list) else { return Ok(Vec::new()) };
        let pieces =
            self.entry(list).and_then(|entry| entry.rows.as_ref()).map_or(0, |rows| rows.pieces.len());
        let mut all = Vec::new();
        for piece in 0..pieces.min(MOST) {
            task.check()?;
            all.append(&mut rows::elements(task, self, list, piece)?);
        }
        Ok(all)
    }

    /// The types of the data fields, in NumPy's words where it has one.
    fn types(&self, task: &Task) -> Result<Arc<HashMap<String, String>>> {
        if let Some(known) = &*self.types.lock() {
            return Ok(known.clone());
        }
        let fields = match self.child(0, "DataDictionary") {
            Some(dictionary) => self.rows(task, dictionary, "DataField")?,
            None => Vec::new(),
        };
        let kind = |field: &Element| {
            let kind = match field.attribute("dataType")? {
                "integer" => "int64",
                "float" => "float32",
                "double" => "float64",
                "boolean" => "bool",
                "string" => "str",
                other => other,
            };
            Some((field.attribute("name")?.to_owned(), kind.to_owned()))
        };
        let types = Arc::new(fields.iter().filter_map(kind).collect::<HashMap<_, _>>());
        *self.types.lock() = Some(types.clone());
        Ok(types)
    }
}
