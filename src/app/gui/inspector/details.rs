//! What is known without reading values: type, shape, storage, codecs, places in the file.

use std::sync::Arc;

use gander::bytes::display;
use gander::bytes::limits;
use gander::bytes::task::Task;
use gander::data::content::ColumnStatistics;
use gander::data::content::{Array, ArrayFacts, Content, Image, Kind, Table};
use gander::data::content::{ImageInfo, Layout};
use gander::data::node::{Node, Value};

use crate::gui::facts;
use crate::gui::views::{Subject, Target};

/// The name of the line with the count of rows.
pub(super) const ROWS: &str = "Rows";

/// What is known of a node or column.
pub(super) struct Known {
    /// Keeps the node, so that no other one gets its address.
    _node: Arc<Node>,
    /// Lines of the Details section.
    pub(super) lines: Vec<(String, String)>,
    /// The blocks in the file.
    pub(super) layout: Layout,
    /// The shape of a chunked array, and of one chunk.
    pub(super) chunks: Option<(Vec<u64>, Vec<u64>)>,
    /// What the file says of a column.
    pub(super) stored: Option<ColumnStatistics>,
    /// The metadata of a column.
    pub(super) field: Vec<(String, Value)>,
}

/// Gathers it.
pub(super) fn known(task: &Task, target: &Target, subject: &Subject) -> Known {
    let node = &target.node;
    let mut known = Known {
        _node: node.clone(),
        lines: Vec::new(),
        layout: Layout::default(),
        chunks: None,
        stored: None,
        field: Vec::new(),
    };
    match (&node.content, subject) {
        (Some(Content::Table(table)), Subject::Column(column)) => of_column(&mut known, &**table, *column),
        _ => of_node(&mut known, task, target),
    }
    known
}

fn of_column(known: &mut Known, table: &dyn Table, column: usize) {
    let schema = table.schema();
    let Some(field) = schema.fields().get(column) else { return };
    known.line("Column", field.name());
    known.line("Type", display::arrow_type(table.column_type(column)));
    known.line("Index", column.to_string());
    if !field.is_nullable() {
        known.line("Nulls", "not allowed");
    }
    let facts = table.facts();
    for (name, value) in facts.columns.get(column).into_iter().flatten() {
        known.line(&capital(name), value.as_str());
    }
    if facts.columns.get(column).is_none_or(Vec::is_empty) && !facts.codecs.is_empty() {
        known.line("Codec", facts.codecs.join(", "));
    }
    known.stored = table.statistics(column);
    known.layout = table.layout();
    known.field =
        field.metadata().iter().map(|(name, value)| (name.clone(), Value::Text(value.clone()))).collect();
    known.field.sort_by(|a, b| a.0.cmp(&b.0));
}

fn of_node(known: &mut Known, task: &Task, target: &Target) {
    let node = &target.node;
    known.line(&capital(node.label), node.name.as_str());
    if target.path.is_empty() {
        known.line("Format", target.document.format.name);
    } else if target.path != node.name {
        known.line("Path", target.path.as_str());
    }
    match &node.content {
        Some(Content::Table(table)) => of_table(known, &**table),
        Some(Content::Array(array)) => of_array(known, task, &**array),
        Some(Content::Image(image)) => of_image(known, &**image),
        Some(Content::Text(text)) => {
            known.line("Encoding", text.encoding());
            known.line("Lines", text.lines().to_string());
        }
        Some(Content::Graph(graph)) => {
            known.line("Nodes", display::count(graph.nodes().len() as u64));
            known.line("Operators", display::count(graph.operators().len() as u64));
            known.line("Inputs", display::count(graph.inputs.len() as u64));
            known.line("Outputs", display::count(graph.outputs.len() as u64));
        }
        Some(Content::Bytes(_)) => {}
        None => {}
    }
    if let Some(count) = node.child_count().filter(|count| *count > 0) {
        known.line("Children", display::count(count));
    }
    if node.kind() == Kind::Group || target.path.is_empty() || matches!(node.content, Some(Content::Bytes(_)))
    {
        let size = if target.path.is_empty() {
            target.document.source.known_len()
        } else {
            Some(facts::bytes(node))
        };
        if let Some(bytes) = size.filter(|bytes| *bytes > 0) {
            known.line("Size", size_words(bytes));
        }
    }
    if let Some(span) = &node.span {
        known.line("Offset", format!("0x{:x}", span.start));
        if !known.lines.iter().any(|(name, _)| name == "Stored") {
            known.line("Stored", size_words(span.end.saturating_sub(span.start)));
        }
    }
}

fn of_table(known: &mut Known, table: &dyn Table) {
    let facts = table.facts();
    known.line(ROWS, table.rows().to_string());
    known.line("Columns", display::count(table.schema().fields().len() as u64));
    if let Some(groups) = facts.row_groups {
        known.line("Row groups", display::count(groups));
    }
    if !facts.codecs.is_empty() {
        known.line("Codecs", facts.codecs.join(", "));
    }
    for (name, value) in &facts.details {
        known.line(&capital(name), value.as_str());
    }
    known.layout = table.layout();
}

fn of_array(known: &mut Known, task: &Task, array: &dyn Array) {
    let facts = array.facts();
    known.line("dtype", facts.type_name(array.dtype()));
    known.line("Shape", display::shape(array.shape()));
    if let Ok(elements) = limits::elements(array.shape()) {
        known.line("Elements", display::count(elements));
        let bytes = u128::from(elements) * u128::from(array.dtype().bits()) / 8;
        // Elements without a size have no bytes of their own.
        let has_size = !array.dtype().is_variable();
        if has_size {
            known.line("Bytes", size_words(u64::try_from(bytes).unwrap_or(u64::MAX)));
        }
        let stored = facts.bytes_stored.filter(|stored| u128::from(*stored) != bytes && *stored > 0);
        if let Some(stored) = stored.filter(|_| has_size) {
            known
                .line("Stored", format!("{} ({:.1}×)", display::bytes(stored), bytes as f64 / stored as f64));
        }
    }
    if let Some(chunks) = &facts.chunks {
        known.line("Chunks", display::shape(chunks));
    }
    if !facts.codecs.is_empty() {
        known.line("Codecs", facts.codecs.join(", "));
    }
    if let Some(order) = facts.byte_order {
        known.line("Byte order", order);
    }
    meaning(known, &facts);
    for (name, value) in &facts.details {
        known.line(&capital(name), value.as_str());
    }
    known.chunks = facts.chunks.map(|chunks| (array.shape().to_vec(), chunks));
    match array.layout(task) {
        Ok(layout) => known.layout = layout,
        // Why there is no map of it.
        Err(error) if !error.is_cancelled() => known.line("Chunk map", error.message()),
        Err(_) => {}
    }
}

/// What indices and values stand for.
fn meaning(known: &mut Known, facts: &ArrayFacts) {
    if let Some(unit) = &facts.unit {
        known.line("Unit", unit.as_str());
    }
    let axes: Vec<String> = facts
        .axes
        .iter()
        .map(|axis| match (&axis.unit, axis.name.is_empty()) {
            (_, true) => "–".to_owned(),
            // Dates speak for themselves.
            (Some(unit), false) if axis.times.is_none() => format!("{} ({unit})", axis.name),
            _ => axis.name.clone(),
        })
        .collect();
    if axes.iter().any(|axis| axis != "–") {
        known.line("Dimensions", axes.join(" × "));
    }
    if let Some(scaling) = &facts.scaling {
        if (scaling.scale, scaling.offset) != (1.0, 0.0) {
            known.line("Scale, offset", format!("× {} + {}", scaling.scale, scaling.offset));
        }
        if !scaling.fill.is_empty() {
            let fill: Vec<String> = scaling.fill.iter().map(f64::to_string).collect();
            known.line("Missing value", fill.join(", "));
        }
    }
    if !facts.value_names.is_empty() {
        known.line("Named values", display::count(facts.value_names.len() as u64));
    }
}

fn of_image(known: &mut Known, image: &dyn Image) {
    let ImageInfo { width, height, channels, bits, sample, alpha, frames, levels, details, .. } =
        image.info();
    known.line("Size in pixels", format!("{width} × {height}"));
    known.line("Channels", format!("{channels}{}", if *alpha { ", the last is alpha" } else { "" }));
    known.line("Bits", format!("{bits}{}", if sample.is_float() { ", float" } else { "" }));
    if *frames > 1 {
        known.line("Frames", display::count(*frames));
    }
    if levels.len() > 1 {
        known.line("Levels", levels.len().to_string());
    }
    for (name, value) in details {
        known.line(&capital(name), value.as_str());
    }
}

/// Bytes with their exact number where it is rounded.
fn size_words(bytes: u64) -> String {
    if bytes < 1000 {
        return display::plural(bytes, "byte");
    }
    format!("{} ({})", display::bytes(bytes), display::count(bytes))
}

/// With a capital at the start; names of columns stay as they are.
fn capital(text: &str) -> String {
    if text.contains(['.', '_', '/']) {
        return text.to_owned();
    }
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

impl Known {
    fn line(&mut self, name: &str, value: impl Into<String>) {
        self.lines.push((name.to_owned(), value.into()));
    }
}

#[cfg(test)]
impl Known {
    /// Nothing but a grid of chunks.
    pub(super) fn of_layout(layout: Layout, shape: Vec<u64>, chunks: Vec<u64>) -> Self {
        let (lines, field) = (Vec::new(), Vec::new());
        let _node = Arc::new(Node::new("a", "array"));
        Known { _node, lines, layout, chunks: Some((shape, chunks)), stored: None, field }
    }
}
