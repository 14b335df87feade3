//! The inspector: what is known of the node, or of the column, that is shown. Problems and remarks in
//! words on top; then Details, Statistics, Weights, Layout and Attributes.
//!
//! What costs no reading is still gathered by a job: a file may have thousands of row groups.

mod attributes;
mod details;
mod graph_part;
mod layout;
mod media;
mod numbers;
mod statistics;
mod stored;
mod weights;

use std::sync::Arc;

use egui::{Frame, Margin, ScrollArea, Sense, Ui};
use gander::bytes::display::harmless;
use gander::data::content::Content;
use gander::data::security::Verdict;
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::{Error, ErrorKind};

use super::commands::Action;
use super::security;
use super::target::StoredValue;
use super::theme::{self, Severity, Theme, size, space};
use super::ui::{key_value, rows};
use super::views::record::brief;
use super::views::{Mappings, Subject, Target};
use attributes::Attributes;
use details::Known;
use graph_part::GraphSections;
use layout::Map;
use media::MediaSections;
use statistics::Statistics;
use stored::Stored;
use weights::Weights;

/// What the inspector is about: file, node (by its address, which [`Known`] keeps alive), subject.
type Key = (u64, usize, Subject);

/// The state of the inspector.
#[derive(Default)]
pub(crate) struct Inspector {
    known: Slot<Key, Known>,
    statistics: Statistics,
    weights: Weights,
    media: MediaSections,
    map: Map,
    attributes: Attributes,
    graph: GraphSections,
    stored: Stored,
}

/// What it tells about.
pub(crate) struct About<'a> {
    /// The node.
    pub(crate) target: &'a Target,
    /// What of it.
    pub(crate) subject: &'a Subject,
    /// The value under the cursor.
    pub(crate) value: Option<&'a StoredValue>,
}

impl Inspector {
    /// Draws what is known of a view that is about no node.
    pub(crate) fn details_ui(ui: &mut Ui, lines: &[(&'static str, String)]) {
        section(ui, "Details", |ui| {
            theme::section_head(ui, "Details", None);
            ui.add_space(space::S2);
            for (name, value) in lines {
                key_value(ui, name, value);
            }
        });
    }

    /// Draws it into all that is left of `ui`.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        &About { target, subject, value }: &About<'_>,
        mappings: &Mappings,
        actions: &mut Vec<Action>,
    ) {
        let key: Key = (target.file, Arc::as_ptr(&target.node) as usize, subject.clone());
        if let Subject::Graph(place) = subject {
            ScrollArea::vertical().id_salt("inspector").auto_shrink(false).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                self.graph.ui(ui, jobs, &key, target, place, actions);
                if let Some((weight, known)) = self.graph.weight(jobs, target) {
                    let key: Key = (target.file, Arc::as_ptr(&weight.node) as usize, Subject::Node);
                    self.statistics.ui(ui, jobs, &key, &weight, &known);
                }
                self.graph.documentation(ui, actions);
            });
            return;
        }
        let (of, about) = (target.clone(), subject.clone());
        let shown = self.known.get(jobs, &key, JobSpec::view(""), move |task| {
            task.check()?;
            Ok(details::known(task, &of, &about))
        });
        ScrollArea::vertical().id_salt("inspector").auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            problems(ui, target);
            let Some(known) = shown.ready() else { return };
            section(ui, "Details", |ui| {
                theme::section_head(ui, "Details", None);
                ui.add_space(space::S2);
                const LINE: f32 = size::ROW - 2.0;
                rows::ui(ui, known.lines.len(), LINE, |ui, line| {
                    let Some((name, value)) = known.lines.get(line) else { return };
                    // The rows are counted while they are shown.
                    let counted = if name == details::ROWS { counted(target) } else { None };
                    key_value(ui, name, counted.as_deref().unwrap_or(value));
                });
                if *subject == Subject::Node {
                    let reader = &target.node.reader;
                    rows::ui(ui, reader.len(), LINE, |ui, line| {
                        let Some((name, value)) = reader.get(line) else { return };
                        key_value(ui, name, &brief(value));
                    });
                }
            });
            if *subject == Subject::Node
                && let Some(report) = target.node.security_now()
            {
                section(ui, "Security", |ui| security::section(ui, target.title(), &report, actions));
            }
            self.stored.ui(ui, jobs, target, value, actions);
            self.statistics.ui(ui, jobs, &key, target, &known);
            self.weights.ui(ui, jobs, &key, target, mappings);
            self.media.ui(ui, jobs, &key, target, actions);
            if known.layout.blocks.len() > 1 || known.layout.blocks.iter().any(|block| block.missing) {
                section(ui, "Layout", |ui| self.map.ui(ui, jobs, &key, &known, mappings));
            }
            if *subject == Subject::Node || !known.field.is_empty() {
                let list = match subject {
                    Subject::Node => attributes::List::Node(target.node.clone()),
                    Subject::Column(_) | Subject::Graph(_) => attributes::List::Column(known.clone()),
                };
                if !list.items().is_empty() {
                    section(ui, "Attributes", |ui| self.attributes.ui(ui, jobs, target, &list, actions));
                }
            }
        });
    }
}

/// How many rows are known now, where the node is a table.
fn counted(target: &Target) -> Option<String> {
    match &target.node.content {
        Some(Content::Table(table)) => Some(table.rows().to_string()),
        _ => None,
    }
}

/// What is wrong and what should be known, in words.
fn problems(ui: &mut Ui, target: &Target) {
    let node = &target.node;
    let is_dangerous = node.security_now().is_some_and(|report| report.verdict == Verdict::Dangerous);
    // That nothing of it is run the banner and the section on security say.
    let is_said = |problem: &Error| is_dangerous && problem.kind() == ErrorKind::Unsupported;
    if let Some(problem) = node.problem_now().filter(|problem| !is_said(problem)) {
        let words = problem.to_string();
        // What a pickle asks for is of any length, and has any letters.
        let words = if is_dangerous { harmless(&words, 300) } else { words };
        let title = match node.content.is_some() {
            true => "A part could not be read",
            false => "Could not be read",
        };
        theme::problem_banner(ui, Severity::Problem, title, &[(&words, None)]);
    }
    let of_file = target.path.is_empty().then_some(&target.document.remarks).into_iter().flatten();
    let said = node.remarks_now();
    let remarks: Vec<(&str, Option<&str>)> =
        of_file.chain(&said).map(|words| (words.as_str(), None)).collect();
    if !remarks.is_empty() {
        let title =
            if remarks.len() == 1 { "Remark".to_owned() } else { format!("{} remarks", remarks.len()) };
        theme::problem_banner(ui, Severity::Remark, &title, &remarks);
    }
}

/// A section with its margins, and a hairline below it.
fn section(ui: &mut Ui, name: &str, contents: impl FnOnce(&mut Ui)) {
    ui.push_id(name, |ui| {
        Frame::new().inner_margin(Margin::symmetric(space::S3 as i8, space::S3 as i8)).show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            contents(ui);
        });
    });
    let (line, _) = ui.allocate_exact_size(egui::vec2(ui.available_width(), 1.0), Sense::hover());
    ui.painter().hline(line.x_range(), line.center().y, Theme::of(ui).hairline());
}
