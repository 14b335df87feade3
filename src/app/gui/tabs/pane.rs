//! One tab: the node it shows, found by a job where it must be, and its view.

use std::sync::Arc;

use egui::Ui;
use gander::bytes::error::Error;
use gander::data::content::Content;
use gander::data::format::Data;
use gander::data::node::{Children, Node};
use gander::data::open::Document;
use gander::jobs::{Jobs, Slot};
use serde_json::Value;

use super::TabsCx;
use crate::gui::commands::Action;
use crate::gui::explorer::open_as;
use crate::gui::files::{Files, State};
use crate::gui::icons::Icon;
use crate::gui::session::Tab;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::views::{self, Request, Subject, Target, View, ViewCx};
use crate::gui::watch::Change;

/// One tab.
pub(crate) struct Pane {
    number: u64,
    file: u64,
    path: String,
    name: String,
    /// Whether the next preview replaces it.
    pub(crate) preview: bool,
    /// The node as it was clicked, perhaps not looked into.
    node: Option<Arc<Node>>,
    /// What the session or the view before a reload kept.
    kept: Value,
    found: Slot<usize, Arc<Node>>,
    shown: Option<(Target, Box<dyn View>)>,
    /// What its view is asked for once it is there.
    asked: Option<Request>,
    /// Whether its view is to take the keyboard.
    pub(super) grab: Grab,
}

/// How a tab that was chosen asks for the keyboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Grab {
    /// It has it, or does not ask.
    #[default]
    No,
    /// As soon as nothing else has it.
    IfFree,
    /// At once.
    Now,
}

/// What there is to draw.
enum Ready {
    Yes,
    Pending(String),
    Failed(Error),
}

impl Pane {
    /// A tab for a node that is there.
    pub(super) fn of(number: u64, target: Target, preview: bool) -> Self {
        Pane {
            number,
            file: target.file,
            path: target.path.clone(),
            name: target.tab_words(),
            preview,
            node: Some(target.node),
            kept: Value::Null,
            found: Slot::default(),
            shown: None,
            asked: None,
            grab: Grab::No,
        }
    }

    /// A tab for a node that must be found first.
    pub(super) fn later(number: u64, file: u64, tab: &Tab) -> Self {
        Pane {
            number,
            file,
            path: tab.node.clone(),
            name: tab.name.clone(),
            preview: tab.preview,
            node: None,
            kept: tab.view.clone(),
            found: Slot::default(),
            shown: None,
            asked: None,
            grab: Grab::No,
        }
    }

    pub(super) fn is_at(&self, file: u64, path: &str) -> bool {
        self.file == file && self.path == path
    }

    /// Whether nothing was shown in it so far, and nothing is kept of an earlier look.
    pub(super) fn is_waiting(&self) -> bool {
        self.shown.is_none() && self.kept.is_null()
    }

    /// Shows another node than the one that it was made for.
    pub(super) fn begin_at(&mut self, path: &str) {
        self.path = path.to_owned();
        self.name = path.rsplit('/').next().unwrap_or(path).to_owned();
    }

    pub(super) fn file(&self) -> u64 {
        self.file
    }

    /// The words on the tab.
    pub(super) fn title(&self) -> &str {
        &self.name
    }

    /// What it shows, once that is there.
    pub(crate) fn target(&self) -> Option<&Target> {
        self.shown.as_ref().map(|(target, _)| target)
    }

    /// The node's path in its file.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The number of the file it belongs to.
    pub(crate) fn file_number(&self) -> u64 {
        self.file
    }

    pub(super) fn subject(&self) -> Subject {
        self.shown.as_ref().map_or(Subject::Node, |(_, view)| view.subject())
    }

    pub(super) fn export(&self) -> Option<(String, Data)> {
        self.shown.as_ref().and_then(|(_, view)| view.export())
    }

    /// What a query of it begins with besides the table's name.
    pub(super) fn clauses(&self) -> String {
        self.shown.as_ref().and_then(|(_, view)| view.clauses()).unwrap_or_default()
    }

    /// Asks its view as soon as there is one. False where there is one already.
    pub(super) fn ask_later(&mut self, request: &Request) -> bool {
        let later = self.shown.is_none();
        if later {
            self.asked = Some(request.clone());
        }
        later
    }

    pub(super) fn with_view<T>(&mut self, act: impl FnOnce(&mut dyn View, &Target) -> T) -> Option<T> {
        self.shown.as_mut().map(|(target, view)| act(view.as_mut(), target))
    }

    /// How it is looked at.
    pub(super) fn state(&self) -> Value {
        self.shown.as_ref().map_or_else(|| self.kept.clone(), |(_, view)| view.keep())
    }

    /// It will be looked at like that.
    pub(super) fn with_state(mut self, kept: Option<Value>) -> Self {
        self.kept = kept.unwrap_or_default();
        self
    }

    pub(super) fn keep(&self, files: &Files, group: usize, open: bool, active: bool) -> Option<Tab> {
        let file = files.get(self.file).filter(|file| file.parts.is_empty())?;
        Some(Tab {
            path: file.path.clone(),
            node: self.path.clone(),
            name: self.name.clone(),
            preview: self.preview,
            group,
            open,
            active,
            view: self.state(),
        })
    }

    /// Finds the node and makes its view, if that is not done yet or the file was opened anew.
    fn prepare(&mut self, files: &Files, jobs: &Jobs) -> Ready {
        let Some(file) = files.get(self.file) else {
            return Ready::Failed(Error::io("its file was closed"));
        };
        let document = match &file.state {
            State::Ready(document) => document.clone(),
            State::Opening => return Ready::Pending(format!("Opening {}…", file.name())),
            State::Failed(error) => return Ready::Failed(error.clone()),
        };
        if let Some((target, view)) = &self.shown {
            if Arc::ptr_eq(&target.document, &document) {
                return Ready::Yes;
            }
            // The file was opened anew: the same node again, looked at in the same way.
            self.kept = view.keep();
            if !self.path.starts_with(views::sql::PATH) {
                self.node = None;
            }
        }
        // A query is no node of its file; it is what the session kept of it.
        if self.node.is_none() {
            self.node = views::sql::kept_node(&self.path);
        }
        let node = match &self.node {
            Some(node) if !matches!(node.children, Children::Lazy(_)) => node.clone(),
            _ => match self.find(&document, jobs) {
                Ok(Some(node)) => node,
                Ok(None) => return Ready::Pending(format!("Looking into {}…", self.name)),
                Err(error) => return Ready::Failed(error),
            },
        };
        let target = Target { file: self.file, document, path: self.path.clone(), node };
        let mut view = views::make(&target);
        if !self.kept.is_null() {
            view.restore(&self.kept);
        }
        self.name = target.tab_words();
        self.shown = Some((target, view));
        Ready::Yes
    }

    fn find(&self, document: &Arc<Document>, jobs: &Jobs) -> Result<Option<Arc<Node>>, Error> {
        let key = Arc::as_ptr(document) as usize;
        let (document, path, node) = (document.clone(), self.path.clone(), self.node.clone());
        let title = format!("looking into {}", self.name);
        let shown = self.found.get(jobs, &key, &title, move |task| match node {
            Some(node) => node.resolved(task),
            None => document.root.find(task, &path)?.ok_or_else(|| {
                Error::malformed(format!("tree: there is no node {path:?} in this file any more"))
            }),
        });
        match (shown.ready(), shown.error) {
            (Some(node), _) => Ok(Some((*node).clone())),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    /// Draws the tab.
    pub(super) fn ui(&mut self, ui: &mut Ui, cx: &mut TabsCx<'_>, active: bool) {
        let theme = Theme::of(ui);
        ui.painter().rect_filled(ui.max_rect(), 0.0, theme.bg2);
        match self.prepare(cx.files, cx.jobs) {
            Ready::Yes => {}
            Ready::Pending(words) => {
                theme::pending(ui, ui.scope_id().with(("pending", self.number)), &words);
                return;
            }
            Ready::Failed(error) => {
                let tried = cx.files.get(self.file).and_then(|file| file.tried());
                self.failed(ui, &error, tried, cx);
                return;
            }
        }
        if let Some(change) = cx.files.get(self.file).and_then(|file| file.change) {
            changed(ui, &self.name, self.file, change, cx.actions);
        }
        let active = active && cx.keyed;
        let free = self.grab == Grab::Now || ui.memory(|memory| memory.focused().is_none());
        let focus = active && free && std::mem::take(&mut self.grab) != Grab::No;
        let Some((target, view)) = &mut self.shown else { return };
        let mut cx = ViewCx {
            jobs: cx.jobs,
            target,
            status: cx.status,
            actions: cx.actions,
            mappings: cx.mappings,
            active,
            focus,
        };
        if let Some(request) = self.asked.take() {
            view.request(&request, &mut cx);
        }
        ui.push_id(self.number, |ui| {
            // The view begins right below the bar's line.
            let between = std::mem::replace(&mut ui.spacing_mut().item_spacing.y, 0.0);
            bar(ui, &mut cx, view.as_mut());
            ui.spacing_mut().item_spacing.y = between;
            view.ui(ui, &mut cx);
        });
        if let Some((path, node)) = view.stepped() {
            (target.path, target.node) = (path, node.clone());
            (self.path, self.node) = (target.path.clone(), Some(node));
            self.name = target.tab_words();
            self.found = Slot::default();
        }
    }

    /// Says why there is nothing, and what can be done.
    fn failed(&self, ui: &mut Ui, error: &Error, tried: Option<String>, cx: &mut TabsCx<'_>) {
        let height = ui.available_height();
        ui.vertical_centered(|ui| {
            ui.add_space((height / 2.0 - 110.0).max(space::S6));
            ui.set_max_width((ui.available_width() - 2.0 * space::S6).min(620.0));
            theme_icon(ui, Icon::FileBroken);
            ui.label(egui::RichText::new(format!("{} could not be read", self.name)).heading());
            ui.add_space(space::S1);
            ui.add(egui::Label::new(error.to_string()).selectable(true).wrap());
            if let Some(tried) = tried {
                ui.add_space(space::S1);
                ui.label(theme::dim(Theme::of(ui), tried));
            }
            ui.add_space(space::S3);
            let file = self.file;
            ui.horizontal_wrapped(|ui| {
                let wide = 448.0;
                ui.add_space(((ui.available_width() - wide) / 2.0).max(0.0));
                if theme::primary_button(ui, "Try again").clicked() {
                    cx.actions.push(Action::Reload(file));
                }
                if theme::button(ui, "Show its bytes").clicked() {
                    cx.actions.push(Action::OpenAs(file, "bytes"));
                }
                open_as(ui, file, cx.actions);
                if theme::button(ui, "Copy the message").clicked() {
                    cx.actions.push(Action::Copy(error.to_string()));
                }
            });
        });
    }
}

/// Says that somebody else changed the file, and offers to open it anew.
fn changed(ui: &mut Ui, name: &str, file: u64, change: Change, actions: &mut Vec<Action>) {
    let theme = Theme::of(ui);
    let frame = egui::Frame::new().fill(theme.tint(theme.warn)).inner_margin(egui::Margin::symmetric(12, 4));
    frame.show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.set_min_width(ui.available_width());
            ui.label(theme::icon(Icon::Warning).color(theme.warn));
            let words = match change {
                Change::Changed => {
                    "has changed on disk since it was opened. What is shown may be old or broken."
                }
                Change::Gone => "is not there any more. What is in memory can still be looked at.",
            };
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if change == Change::Changed && theme::button(ui, "Reload").on_hover_text("F5").clicked() {
                    actions.push(Action::Reload(file));
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.add(egui::Label::new(format!("{name} {words}")).truncate());
                });
            });
        });
    });
}

/// Narrower bars leave the button for a query to the menu.
const WIDE: f32 = 560.0;

fn theme_icon(ui: &mut Ui, icon: Icon) {
    let color = Theme::of(ui).warn;
    ui.label(theme::icon(icon).size(28.0).color(color));
}

/// The bar above the view: its own controls at the left, *Export…* at the right.
fn bar(ui: &mut Ui, cx: &mut ViewCx<'_>, view: &mut dyn View) {
    let theme = Theme::of(ui);
    let area = ui.available_rect_before_wrap();
    let bar = egui::Rect::from_min_size(area.min, egui::vec2(area.width(), size::TOOLBAR));
    ui.allocate_rect(bar, egui::Sense::hover());
    ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, theme.hairline());
    let inner = bar.shrink2(egui::vec2(space::S3, 5.0));
    let mut right = inner;
    let below = cx.target.node.has_children() && cx.target.node.label != "folder";
    if cx.target.node.content.is_some() || below || view.has_part() {
        let builder = egui::UiBuilder::new()
            .max_rect(inner)
            .id_salt("export")
            .layout(egui::Layout::right_to_left(egui::Align::Center));
        let mut child = ui.new_child(builder);
        if theme::primary_button(&mut child, "Export…").clicked() {
            cx.actions.push(Action::Export(cx.target.clone(), view.export()));
        }
        let is_table = matches!(cx.target.node.content, Some(Content::Table(_)));
        if is_table
            && area.width() >= WIDE
            && theme::button(&mut child, "SQL").on_hover_text("Query it (Ctrl+Shift+Q)").clicked()
        {
            cx.actions.push(Action::Query(cx.target.clone(), view.clauses().unwrap_or_default()));
        }
        right.max.x = child.min_rect().left() - space::S2;
    }
    let builder = egui::UiBuilder::new()
        .max_rect(right)
        .id_salt("toolbar")
        .layout(egui::Layout::left_to_right(egui::Align::Center));
    let mut child = ui.new_child(builder);
    child.shrink_clip_rect(right.expand2(egui::vec2(2.0, 5.0)));
    view.toolbar(&mut child, cx);
}
