//! What the byte under the cursor belongs to: asked of the file's own layout, by a job.

use std::sync::Arc;

use egui::{Role, Ui, WidgetInfo};
use gander::bytes::source::Source;
use gander::data::content::Content;
use gander::data::location::{self, BytePlace, Found};
use gander::jobs::{JobSpec, Slot};

use super::super::{Request, Target, ViewCx};
use crate::gui::commands::{Action, Where};
use crate::gui::theme::{self, Theme, space};

/// What is known of the byte under the cursor.
#[derive(Default)]
pub(super) struct Belongs {
    slot: Slot<u64, Option<Told>>,
    /// The node that the last byte belonged to: most often the next one does, too.
    last: Option<Target>,
}

/// What it belongs to, and the way there.
pub(super) struct Told {
    /// `row 3, column price`
    pub(super) words: String,
    /// The unit, and the path of the node.
    about: Vec<String>,
    target: Target,
    request: Option<Request>,
}

impl Told {
    fn of(found: Found, like: &Target) -> Self {
        let target = Target { path: found.path, node: found.node, ..like.clone() };
        let (mut words, mut request) = (target.title().to_owned(), None);
        let mut about = Vec::new();
        if let Some(owner) = &found.owner {
            let first = if owner.exact { "" } else { "from " };
            if let Some(element) = &owner.element {
                words = format!("{first}element {element:?}");
                request = Some(Request::Element(element.clone()));
            }
            if let (Some((row, column)), Some(Content::Table(table))) = (owner.cell, &target.node.content) {
                let name = column
                    .and_then(|column| table.schema().fields().get(column))
                    .map(|field| field.name().clone());
                words = match &name {
                    Some(name) => format!("{first}row {row}, column {name}"),
                    None => format!("{first}row {row}"),
                };
                request = Some(Request::GoTo(name.map_or(row.to_string(), |name| format!("{row}, {name}"))));
            }
        }
        if let Some(unit) = found.owner.as_ref().map(|owner| &owner.unit).or(found.whole.as_ref()) {
            about.push(format!("{} {}", unit.unit, unit.name).trim_end().to_owned());
            about.extend((!unit.codecs.is_empty()).then(|| unit.codecs.join(", ")));
        }
        if !target.path.is_empty() {
            about.push(target.path.clone());
        }
        Told { words, about, target, request }
    }
}

impl Belongs {
    /// Asks for the byte; what is known of it, or of the last one that was asked for.
    pub(super) fn get(&mut self, cx: &ViewCx<'_>, source: &Source, byte: u64) -> Option<Arc<Option<Told>>> {
        let target = cx.target?;
        // A file of bytes alone has no layout.
        if matches!(target.document.root.content, Some(Content::Bytes(_))) {
            return None;
        }
        let (source, like) = (source.clone(), target.clone());
        let last = self.last.clone().filter(|last| Arc::ptr_eq(&last.document, &like.document));
        let shown =
            self.slot.get(cx.jobs, &byte, JobSpec::view("asking what a byte belongs to"), move |task| {
                let byte = BytePlace::new(&source, byte);
                let near = match &last {
                    Some(last) => location::find_in(task, &last.path, &last.node, &byte)?,
                    None => None,
                };
                let found = match near {
                    Some(found) => Some(found),
                    None => location::find(task, &like.document.root, &byte)?,
                };
                Ok(found.map(|found| Told::of(found, &like)))
            });
        let told = shown.ready();
        if let Some(told) = told.as_deref().and_then(Option::as_ref) {
            self.last = Some(told.target.clone());
        }
        told
    }
}

/// Draws it, with the way back.
pub(super) fn ui(ui: &mut Ui, told: &Told, actions: &mut Vec<Action>) {
    let theme = Theme::of(ui);
    theme::section_head(ui, "Belongs to", None);
    ui.horizontal_wrapped(|ui| {
        let link = ui.link(&told.words);
        link.widget_info(|| WidgetInfo::labeled(Role::Link, true, &told.words));
        if link.clicked() {
            actions.push(Action::Show(told.target.clone(), Where::Kept));
            actions.extend(told.request.clone().map(Action::Ask));
        }
        for line in &told.about {
            ui.add(egui::Label::new(theme::dim(theme, line)).truncate());
        }
    });
    ui.add_space(space::S3);
}
