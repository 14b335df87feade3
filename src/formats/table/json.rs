//! JSON documents of any size (<https://www.rfc-editor.org/rfc/rfc8259>): a tree whose containers are listed
//! when somebody looks into them. An array of objects is a table as well; so is what usually holds one:
//! GeoJSON's features, COCO's annotations, pandas' orients, the values in a Vega specification. A Jupyter
//! notebook is the text of its cells as well.
//!
//! Opening reads the beginning; a document of up to 8 MiB is also checked as a whole, so that what is wrong
//! with it stands at its root. In larger ones the index finds what breaks the nesting, lost commas before
//! containers and what stands behind the end, rows tell what is wrong with them when they are read, and the
//! statistics find everything: all that is told at the root as soon as it is known.

mod columns;
mod node;
mod notebook;
mod tables;

use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::Kind as Content;
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::{Head, Match};
use crate::engines::delimited::encoding;
use crate::engines::json::{Document, Walk, check};
use std::sync::{Arc, OnceLock};

/// The descriptor.
pub static FORMAT: Format = Format {
    targets: &[Target::new(
        "json",
        "JSON",
        &["json", "json.gz", "json.zst"],
        &crate::engines::json::write::ARRAY,
    )],
    extensions: &["json", "geojson", "topojson", "ipynb", "jsonc", "har"],
    mime: &["application/json", "application/geo+json"],
    sniff: Some(sniff),
    reads: &[Content::Group, Content::Table, Content::Text],
    ..Format::new("json", "JSON", open)
};

/// A document up to this many bytes is checked at once.
const CHECKED: u64 = 8 << 20;

fn sniff(head: &Head) -> Match {
    if head.is_folder || head.first.is_empty() {
        return Match::No;
    }
    if !encoding::is_plausible(&head.first) {
        return Match::No;
    }
    if head.has_extension(FORMAT.extensions) {
        return Match::Yes;
    }
    let is_whole = head.len == Some(head.first.len() as u64);
    let is_json = head.json().is_some_and(|json| if is_whole { json.is_whole } else { json.values > 2 });
    if is_json { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let document = Arc::new(Document::new(task, source)?);
    let (mut problem, mut remarks, whole) = (None, Vec::new(), OnceLock::new());
    if source.known_len().is_some_and(|len| len <= CHECKED) {
        let summary = check::check(task, &document, document.start())?;
        remarks = unusual(task, &document, &summary);
        problem = summary.problem;
        whole.get_or_init(|| (problem.clone(), Vec::new()));
    }
    let broken = |error| (Node::new(source.name(), "nothing").problem(error), Arc::default());
    let (mut root, met) = match Walk::value_at(task, &document, document.start()).unless_cancelled()? {
        Ok(Some(value)) => node::root(task, &document, value)?,
        Ok(None) => broken(Error::malformed("JSON: there is no value")),
        Err(error) => broken(error),
    };
    if problem.is_some() {
        root.problem = problem;
    }
    remarks.append(&mut root.remarks);
    root.remarks = remarks;
    if let Some(encoding) = document.encoding() {
        root.reader.insert(0, ("encoding".to_owned(), encoding.into()));
    }
    let told = Arc::new(node::DocumentFacts { document: document.clone(), range: 0..u64::MAX, met, whole });
    let statistics = node::Whole { start: document.start(), document, told: Some(told.clone()) };
    Ok(root.statistics(statistics).findings(told))
}

/// Sentences about what other readers refuse.
fn unusual(task: &Task, document: &Document, summary: &check::Summary) -> Vec<String> {
    let mut remarks = Vec::new();
    for unusual in &summary.unusual {
        let place = match document.place(task, unusual.at) {
            Ok(place) => format!("line {}, column {}", place.line, place.column),
            Err(_) => format!("byte {}", unusual.at),
        };
        let times = if unusual.count > 1 {
            format!(" ({} times; first in {place})", display::count(unusual.count))
        } else {
            format!(" ({place})")
        };
        remarks.push(format!("not standard JSON, but read: {}{times}", unusual.what));
    }
    if summary.replaced > 0 {
        let members = display::plural(summary.replaced, "member");
        remarks.push(format!("{members} with a name that stands twice in its object; all are shown"));
    }
    remarks
}

#[cfg(test)]
mod tests;
