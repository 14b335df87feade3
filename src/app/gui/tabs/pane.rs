//! One tab: what it shows, whose nodes are found by jobs where they must be, and its view.

use std::sync::Arc;

use egui::Ui;
use gander::bytes::error::Error;
use gander::bytes::source::Source;
use gander::bytes::task::Task;
use gander::data::content::Content;
use gander::data::format::Data;
use gander::data::media::payload;
use gander::data::node::{Children, Node};
use gander::data::open::Document;
use gander::data::security::Report;
use gander::jobs::{JobSpec, Jobs, Slot};
use serde_json::Value;

use super::capture::{Capture, Purpose};
use super::pixels::PixelsCopy;
use super::{TabsCx, banners};
use crate::gui::commands::{self, Action, CommandId, Label};
use crate::gui::explorer::open_as;
use crate::gui::files::{Files, State};
use crate::gui::icons::Icon;
use crate::gui::security::Danger;
use crate::gui::session::{KeptContent, Tab};
use crate::gui::settings::Preferences;
use crate::gui::target::{ExportSource, NodeRef, QueryStart, ShownExport, StoredValue, TabContent};
use crate::gui::texture::picture_of;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::svg;
use crate::gui::views::{self, Request, Subject, Target, View, ViewCx};

/// One tab.
pub(crate) struct Pane {
    number: u64,
    content: TabContent,
    /// The nodes that its content names.
    parts: Vec<Part>,
    name: String,
    /// Whether the next preview replaces it.
    pub(crate) preview: bool,
    /// What the session or the view before a reload kept.
    kept: Value,
    /// What a query begins with.
    start: QueryStart,
    shown: Option<Shown>,
    /// What its view is asked for once it is there.
    asked: Option<Request>,
    /// Whether its view is to take the keyboard.
    pub(super) focus_request: FocusRequest,
    /// What the pickles in its file would run.
    danger: Danger,
    /// The picture of it that is being taken.
    capture: Option<Capture>,
    /// Its picture that is being copied pixel by pixel.
    copying: Option<PixelsCopy>,
}

/// A node that a tab shows.
struct Part {
    /// The node as it was clicked, perhaps not looked into.
    node: Option<Arc<Node>>,
    found: Slot<usize, Place>,
}

/// A node, and its path as the tree has it.
type Place = (String, Arc<Node>);

/// A view, and the nodes that it was made for.
struct Shown {
    targets: Vec<Target>,
    view: Box<dyn View>,
}

/// How a tab that was chosen asks for the keyboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FocusRequest {
    /// It has it, or does not ask.
    #[default]
    No,
    /// As soon as nothing else has it.
    IfFree,
    /// At once.
    Now,
}

/// Why there is no view to draw.
enum NoView {
    /// A job is under way: what it does.
    Pending(String),
    /// What a file could not give.
    Failed(u64, Error),
}

impl Pane {
    fn new(number: u64, content: TabContent, name: String) -> Self {
        let parts = content.nodes().iter().map(|_| Part { node: None, found: Slot::default() }).collect();
        Pane {
            number,
            content,
            parts,
            name,
            preview: false,
            kept: Value::Null,
            start: QueryStart::Empty,
            shown: None,
            asked: None,
            focus_request: FocusRequest::No,
            danger: Danger::default(),
            capture: None,
            copying: None,
        }
    }

    /// Its number, which no other tab has or had.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A tab for a node that is there.
    pub(super) fn of(number: u64, target: Target, preview: bool) -> Self {
        let mut pane = Pane::new(number, TabContent::Node(target.place()), target.tab_words());
        pane.parts.iter_mut().for_each(|part| part.node = Some(target.node.clone()));
        Pane { preview, ..pane }
    }

    /// A tab whose nodes must be found first, under this name until they are there.
    pub(super) fn later(number: u64, content: TabContent, name: &str) -> Self {
        Pane::new(number, content, name.to_owned())
    }

    /// A tab of a session.
    pub(super) fn restored(number: u64, content: TabContent, tab: &Tab) -> Self {
        Pane { preview: tab.preview, kept: tab.view.clone(), ..Pane::later(number, content, &tab.name) }
    }

    /// A tab for a new query.
    pub(super) fn query(number: u64, query: u64, start: QueryStart) -> Self {
        Pane { start, ..Pane::new(number, TabContent::Query(query), format!("SQL {query}")) }
    }

    /// What it is about.
    pub(crate) fn content(&self) -> &TabContent {
        &self.content
    }

    /// The node that it shows, by its place; `None` where that is not one node.
    pub(super) fn node(&self) -> Option<&NodeRef> {
        match &self.content {
            TabContent::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Whether nothing was shown in it so far, and nothing is kept of an earlier look.
    pub(super) fn is_waiting(&self) -> bool {
        self.shown.is_none() && self.kept.is_null()
    }

    /// Whether its view is there.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Shows another node of the file than the one that it was made for.
    pub(super) fn begin_at(&mut self, path: &str) {
        if let TabContent::Node(node) = &mut self.content {
            node.path = path.to_owned();
            self.name = path.rsplit('/').next().unwrap_or(path).to_owned();
        }
    }

    /// The words on the tab.
    pub(super) fn title(&self) -> &str {
        &self.name
    }

    /// What it shows, once that is there and if it is one node.
    pub(crate) fn target(&self) -> Option<&Target> {
        match self.shown.as_ref()?.targets.as_slice() {
            [target] => Some(target),
            _ => None,
        }
    }

    /// The number of the file that it belongs to, if to one.
    pub(crate) fn file_number(&self) -> Option<u64> {
        self.node().map(|node| node.file)
    }

    pub(super) fn subject(&self) -> Subject {
        self.shown.as_ref().map_or(Subject::Node, |shown| shown.view.subject())
    }

    /// The value under the cursor of its view.
    pub(super) fn value(&self) -> Option<StoredValue> {
        self.shown.as_ref().and_then(|shown| shown.view.value())
    }

    /// What the inspector tells of a view that is about no node.
    pub(super) fn details(&self) -> Vec<(&'static str, String)> {
        self.shown.as_ref().map_or_else(Vec::new, |shown| shown.view.details())
    }

    /// What loading what it shows would run, and its name.
    pub(super) fn security(&self) -> Option<(String, Arc<Report>)> {
        self.danger.of(self.target()?)
    }

    /// Exports or copies its next frame with the drawing that it is; false where it is none.
    pub(super) fn capture(&mut self, purpose: Purpose) -> bool {
        let can = self.shown.as_ref().is_some_and(|shown| shown.view.is_drawing());
        self.capture = can.then(|| Capture::new(purpose));
        can
    }

    /// Copies the picture that it shows, one pixel an element; what is to be said where it is none.
    pub(super) fn copy_pixels(&mut self) -> Result<(), String> {
        let pictures = self.shown.as_ref().map_or_else(Vec::new, |shown| shown.view.pictures());
        let image = pictures.into_iter().find_map(|(_, data)| match data {
            Data::Image(image) => Some(image),
            _ => None,
        });
        let image = image.ok_or("This view shows no elements as pixels")?;
        self.copying = Some(PixelsCopy::new(image)?);
        Ok(())
    }

    /// What *Export…* would write; `None` where there is nothing yet.
    pub(super) fn export(&self) -> Option<ExportSource> {
        let shown = self.shown.as_ref()?;
        exported(&self.name, self.target(), shown.view.as_ref())
    }

    /// What a new query begins with while this is the active tab.
    pub(super) fn query_start(&self) -> QueryStart {
        let is_table = |target: &&Target| matches!(target.node.content, Some(Content::Table(_)));
        match (self.target().filter(is_table), &self.shown) {
            (Some(target), Some(shown)) => {
                QueryStart::Table(target.clone(), shown.view.clauses().unwrap_or_default())
            }
            _ => QueryStart::Empty,
        }
    }

    /// Asks its view as soon as there is one. False where there is one already.
    pub(super) fn ask_later(&mut self, request: &Request) -> bool {
        let later = self.shown.is_none();
        if later {
            self.asked = Some(request.clone());
        }
        later
    }

    /// Passes a request to its view; false where it means nothing there.
    pub(super) fn request(&mut self, request: &Request, cx: &mut TabsCx<'_>) -> bool {
        let Some(shown) = &mut self.shown else { return false };
        let (targets, view) = (&shown.targets, &mut shown.view);
        view.request(request, &mut view_cx(cx, targets, true, false))
    }

    /// The commands of its view.
    pub(super) fn commands(&self) -> Vec<&'static Label> {
        self.shown.as_ref().map_or_else(Vec::new, |shown| shown.view.commands())
    }

    /// Does one of them, by its place; false where it means nothing now.
    pub(super) fn run(&mut self, at: usize, cx: &mut TabsCx<'_>) -> bool {
        let Some(Shown { targets, view }) = &mut self.shown else { return false };
        view.run(at, &mut view_cx(cx, targets, true, false))
    }

    /// How it is looked at.
    pub(super) fn state(&self) -> Value {
        self.shown.as_ref().map_or_else(|| self.kept.clone(), |shown| shown.view.save())
    }

    /// It will be looked at like that.
    pub(super) fn with_state(mut self, kept: Option<Value>) -> Self {
        self.kept = kept.unwrap_or_default();
        self
    }

    /// What a session keeps of it; `None` for a node of files that are looked at as one.
    pub(super) fn keep(&self, files: &Files, group: usize, open: bool, active: bool) -> Option<Tab> {
        let content = match &self.content {
            TabContent::Node(node) => {
                let file = files.get(node.file).filter(|file| file.parts.is_empty())?;
                KeptContent::Node(file.path.clone(), node.path.clone())
            }
            TabContent::Query(number) => KeptContent::Query(*number),
            // What it is the place of is found in the node again.
            TabContent::Bytes(_) => return None,
            #[cfg(test)]
            TabContent::Comparison(_) => return None,
        };
        let (name, view) = (self.name.clone(), self.state());
        Some(Tab { content, name, preview: self.preview, group, open, active, view })
    }

    /// Finds its nodes and makes its view, if that is not done yet or a file was opened anew.
    fn prepare(&mut self, files: &Files, jobs: &Jobs, preferences: &Preferences) -> Result<(), NoView> {
        let mut documents = Vec::new();
        for node in self.content.nodes() {
            documents.push(document(files, node.file)?);
        }
        if let Some(shown) = self.shown.take() {
            let same =
                |(target, document): (&Target, &Arc<Document>)| Arc::ptr_eq(&target.document, document);
            if shown.targets.iter().zip(&documents).all(same) {
                self.shown = Some(shown);
                return Ok(());
            }
            // A file was opened anew: the same node again, looked at in the same way.
            self.kept = shown.view.save();
            self.parts.iter_mut().for_each(|part| part.node = None);
        }
        let mut targets = Vec::new();
        for ((place, part), document) in self.content.nodes().iter().zip(&self.parts).zip(documents) {
            let (path, node) = part.find(place, &document, jobs, &self.name)?;
            targets.push(Target { file: place.file, document, path, node });
        }
        let start = std::mem::replace(&mut self.start, QueryStart::Empty);
        let Some(mut view) = views::make(&self.content, &targets, start) else {
            return Err(NoView::Pending(self.name.clone()));
        };
        view.prefer(preferences);
        if !self.kept.is_null() {
            view.restore(&self.kept);
        }
        if let (TabContent::Node(_), [target]) = (&self.content, targets.as_slice()) {
            self.name = target.tab_words();
            self.content = TabContent::Node(target.place());
        }
        self.shown = Some(Shown { targets, view });
        Ok(())
    }

    /// Draws the view, or why there is none.
    pub(super) fn ui(&mut self, ui: &mut Ui, cx: &mut TabsCx<'_>, active: bool) {
        ui.painter().rect_filled(ui.max_rect(), 0.0, Theme::of(ui).bg2);
        match self.prepare(cx.files, cx.jobs, &cx.workspace.preferences) {
            Ok(()) => {}
            Err(NoView::Pending(words)) => {
                theme::pending(ui, ui.scope_id().with(("pending", self.number)), &words);
                return;
            }
            Err(NoView::Failed(file, error)) => {
                self.failed(ui, file, &error, cx);
                return;
            }
        }
        for node in self.content.nodes() {
            banners::of_file(ui, &self.name, node.file, cx.files, cx.actions);
        }
        if let Some(Shown { targets, .. }) = &self.shown
            && let [target] = targets.as_slice()
        {
            self.danger.banner(ui, cx.jobs, target, cx.actions);
        }
        let active = active && cx.keyed;
        let free = self.focus_request == FocusRequest::Now || ui.memory(|memory| memory.focused().is_none());
        let focus = active && free && std::mem::take(&mut self.focus_request) != FocusRequest::No;
        let Some(Shown { targets, view }) = &mut self.shown else { return };
        let mut cx = view_cx(cx, targets, active, focus);
        if let Some(done) = self.copying.as_ref().and_then(|copying| copying.step(ui.ctx(), cx.jobs)) {
            cx.actions.push(done);
            self.copying = None;
        }
        if let Some(request) = self.asked.take() {
            view.request(&request, &mut cx);
        }
        if active && view.takes_keys(ui) {
            let pressed = commands::pressed_of(ui.ctx(), &view.commands());
            cx.actions.extend(pressed.into_iter().map(Action::ViewCommand));
        }
        let name = &self.name;
        ui.push_id(self.number, |ui| {
            // The view begins right below the bar's line.
            let between = std::mem::replace(&mut ui.spacing_mut().item_spacing.y, 0.0);
            bar(ui, name, &mut cx, view.as_mut());
            ui.spacing_mut().item_spacing.y = between;
            let (layer, area) = (ui.layer_id(), ui.available_rect_before_wrap());
            let painted = |ctx: &egui::Context| {
                ctx.graphics(|layers| layers.get(layer).map_or(0, |list| list.all_entries().len()))
            };
            let before = painted(ui.ctx());
            view.ui(ui, &mut cx);
            let Some(capture) = &mut self.capture else { return };
            if capture.wants_svg() {
                let shapes = ui.ctx().graphics(|layers| {
                    let all = layers.get(layer).map(|list| list.all_entries());
                    all.into_iter().flatten().skip(before).cloned().collect::<Vec<_>>()
                });
                let svg = svg(&shapes, area, Theme::of(ui).bg2, &|id| picture_of(ui.ctx(), id));
                capture.take_svg(Source::memory(format!("{name}.svg"), svg.into_bytes()));
            }
            if capture.step(ui.ctx(), area) {
                let target = match targets.as_slice() {
                    [target] => Some(target),
                    _ => None,
                };
                cx.actions.extend(captured(ui.ctx(), capture, exported(name, target, view.as_ref())));
                self.capture = None;
            }
        });
        if let Some((path, node)) = view.stepped() {
            self.step_to(path, node);
        }
    }

    /// Its view shows another node of the same file from now on.
    fn step_to(&mut self, path: String, node: Arc<Node>) {
        let Some([target]) = self.shown.as_mut().map(|shown| shown.targets.as_mut_slice()) else { return };
        (target.path, target.node) = (path, node.clone());
        self.name = target.tab_words();
        self.content = TabContent::Node(target.place());
        self.parts = vec![Part { node: Some(node), found: Slot::default() }];
    }

    /// Says why there is nothing, and what can be done.
    fn failed(&self, ui: &mut Ui, file: u64, error: &Error, cx: &mut TabsCx<'_>) {
        let tried = cx.files.get(file).and_then(|file| file.tried());
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

impl Part {
    /// The node at `place` of this document, looked for by a job where that must be.
    fn find(
        &self,
        place: &NodeRef,
        document: &Arc<Document>,
        jobs: &Jobs,
        name: &str,
    ) -> Result<Place, NoView> {
        if let Some(node) = self.node.as_ref().filter(|node| !matches!(node.children, Children::Lazy(_))) {
            return Ok((place.path.clone(), node.clone()));
        }
        let key = Arc::as_ptr(document) as usize;
        let (document, path, node) = (document.clone(), place.path.clone(), self.node.clone());
        let title = format!("looking into {name}");
        let shown = self.found.get(jobs, &key, JobSpec::view(title), move |task| match node {
            Some(node) => Ok((path, node.resolved(task)?)),
            None => named(task, &document, &path),
        });
        match shown.answer() {
            Some(Ok(node)) => Ok((*node).clone()),
            Some(Err(error)) => Err(NoView::Failed(place.file, error)),
            None => Err(NoView::Pending(format!("Looking into {name}…"))),
        }
    }
}

/// The node at a path: one of the tree, or what a cell of a table holds. The separator before the first name may be left
/// out.
fn named(task: &Task, document: &Document, path: &str) -> gander::Result<Place> {
    let root = &document.root;
    if let Some(node) = root.find(task, path)? {
        let begins = path.is_empty() || path.starts_with(root.resolved(task)?.separator);
        let separator = if begins { "" } else { root.resolved(task)?.separator };
        return Ok((format!("{separator}{path}"), node));
    }
    let held = payload::at(task, gander::formats::ALL, &document.source, root, path)?;
    let held =
        held.ok_or_else(|| Error::malformed(format!("tree: there is no node {path:?} in this file")))?;
    Ok((path.to_owned(), held))
}

/// An open file's document, or why it is not there.
fn document(files: &Files, file: u64) -> Result<Arc<Document>, NoView> {
    let Some(open) = files.get(file) else {
        return Err(NoView::Failed(file, Error::io("its file was closed")));
    };
    match &open.state {
        State::Ready(document) => Ok(document.clone()),
        State::Opening => Err(NoView::Pending(format!("Opening {}…", open.name()))),
        State::Failed(error) => Err(NoView::Failed(file, error.clone())),
    }
}

/// What *Export…* of a view writes.
fn exported(name: &str, target: Option<&Target>, view: &dyn View) -> Option<ExportSource> {
    let part = view.export();
    if target.is_none() && part.is_none() {
        return None;
    }
    Some(ExportSource::Shown(Box::new(ShownExport {
        target: target.cloned(),
        name: name.to_owned(),
        repeat: part.as_ref().and_then(|_| view.repeat()),
        part,
        others: view.other_parts(),
        pictures: view.pictures(),
        pictures_first: false,
    })))
}

/// What becomes of a picture that was taken.
fn captured(ctx: &egui::Context, capture: &Capture, export: Option<ExportSource>) -> Option<Action> {
    if capture.purpose == Purpose::Copy {
        let Some(picture) = capture.seen() else {
            return Some(Action::Notice("This screen gives no pictures; export it instead".to_owned()));
        };
        let [width, height] = picture.size;
        ctx.copy_image(picture);
        return Some(Action::Notice(format!("Copied the picture, {width} × {height} pixels")));
    }
    let Some(ExportSource::Shown(mut shown)) = export else { return None };
    shown.pictures.splice(0..0, capture.pictures());
    shown.pictures_first = capture.purpose == Purpose::ExportPicture;
    Some(Action::Export(ExportSource::Shown(shown)))
}

/// What a view of these nodes sees of what the tabs see.
fn view_cx<'a>(cx: &'a mut TabsCx<'_>, targets: &'a [Target], active: bool, focus: bool) -> ViewCx<'a> {
    let target = match targets {
        [target] => Some(target),
        _ => None,
    };
    ViewCx {
        jobs: cx.jobs,
        target,
        status: cx.status,
        actions: cx.actions,
        workspace: cx.workspace,
        active,
        focus,
    }
}

/// Narrower bars leave the button for a query to the menu.
const WIDE: f32 = 560.0;
/// In even narrower ones the button for an export has no words.
const TIGHT: f32 = 400.0;

fn theme_icon(ui: &mut Ui, icon: Icon) {
    let color = Theme::of(ui).warn;
    ui.label(theme::icon(icon).size(28.0).color(color));
}

/// The bar above the view: its own controls at the left, *Export…* at the right.
fn bar(ui: &mut Ui, name: &str, cx: &mut ViewCx<'_>, view: &mut dyn View) {
    let theme = Theme::of(ui);
    let area = ui.available_rect_before_wrap();
    let bar = egui::Rect::from_min_size(area.min, egui::vec2(area.width(), size::TOOLBAR));
    ui.allocate_rect(bar, egui::Sense::hover());
    ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, theme.hairline());
    let inner = bar.shrink2(egui::vec2(space::S3, 5.0));
    let mut right = inner;
    let target = cx.target;
    let is_whole = |target: &Target| {
        let node = &target.node;
        node.content.is_some() || node.has_children() && node.label != "folder"
    };
    if target.is_some_and(is_whole) || view.has_part() {
        let builder = egui::UiBuilder::new()
            .max_rect(inner)
            .id_salt("export")
            .layout(egui::Layout::right_to_left(egui::Align::Center));
        let mut child = ui.new_child(builder);
        let export = match area.width() < TIGHT {
            true => theme::icon_button(&mut child, Icon::Export, "Export…"),
            false => theme::primary_button(&mut child, "Export…"),
        };
        if export.clicked() {
            // With the drawing that it is.
            match view.is_drawing() {
                true => cx.actions.push(Action::Do(CommandId::Export)),
                false => cx.actions.extend(exported(name, target, view).map(Action::Export)),
            }
        }
        if let Some(target) = target.filter(|target| matches!(target.node.content, Some(Content::Table(_))))
            && area.width() >= WIDE
            && theme::button(&mut child, "SQL").on_hover_text("Query it (Ctrl+Shift+Q)").clicked()
        {
            let clauses = view.clauses().unwrap_or_default();
            cx.actions.push(Action::Query(QueryStart::Table(target.clone(), clauses)));
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
