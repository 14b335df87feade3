//! Ctrl+P: files, nodes, columns and commands by a few letters of their name. `:123` goes to a row or an
//! element, `@` to a column, `>` lists the commands.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{
    Align2, Area, Context, FontId, Id, Key, Modal, Modifiers, Order, Rect, Role, Sense, TextEdit, Ui,
    WidgetInfo, pos2, vec2,
};
use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::{Content, Table};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::commands::{Action, COMMANDS, Command, CommandId, Label, Menu, Where};
use super::facts::{self, Sums};
use super::files::Files;
use super::icons::Icon;
use super::search::{self, Hits, Query, fuzzy};
use super::session::Recent;
use super::tabs::Tabs;
use super::theme::{self, Theme, size, space};
use super::ui::{List, elided};
use super::views::{Request, Target};

/// What was searched for, and a stamp of the files that were open.
type Wanted = (String, usize);

/// The state of the palette.
#[derive(Default)]
pub(crate) struct Palette {
    open: bool,
    text: String,
    place_cursor: bool,
    chosen: u64,
    list: List,
    found: Slot<Wanted, Hits>,
    sums: Sums,
    /// What was asked for when `lines` were made.
    made: Option<(String, usize, usize)>,
    lines: Arc<Vec<Line>>,
    /// The columns that fit, by the words and the table.
    columns: Slot<(String, usize), Vec<Line>>,
    searching: bool,
}

/// One line of the list.
#[derive(Clone)]
struct Line {
    icon: Icon,
    name: String,
    behind: String,
    right: String,
    pick: Pick,
    score: i32,
}

/// What choosing it does.
#[derive(Clone)]
enum Pick {
    Do(CommandId),
    Show(Target),
    File(u64),
    Recent(PathBuf),
    Column(usize),
    GoTo(String),
    Element(Vec<u64>),
    /// A command of the active view, by its place.
    View(usize),
}

/// How many lines show at once.
const SHOWN: usize = 12;
/// The width of the palette.
const WIDTH: f32 = 600.0;

impl Palette {
    /// Opens it with this text: empty, `>`, `@` or `:`.
    pub(crate) fn open(&mut self, text: &str) {
        self.open = true;
        text.clone_into(&mut self.text);
        self.place_cursor = true;
        self.chosen = 0;
        self.made = None;
        self.columns.clear();
        self.list.scroll_to(0);
    }

    /// Closes it.
    pub(crate) fn close(&mut self) {
        self.open = false;
    }

    /// Lets go of what it found: a file was closed.
    pub(crate) fn forget(&mut self) {
        self.lines = Arc::default();
        self.made = None;
        self.found.clear();
        self.sums.clear();
    }

    /// Whether it is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Draws it, if it is open.
    pub(crate) fn ui(
        &mut self,
        ctx: &Context,
        files: &Files,
        jobs: &Jobs,
        tabs: &Tabs,
        recent: &[Recent],
        actions: &mut Vec<Action>,
    ) {
        if !self.open {
            return;
        }
        let id = Id::unique("palette");
        let area = Area::new(id).order(Order::Foreground).anchor(Align2::CENTER_TOP, vec2(0.0, 40.0));
        let modal = Modal::new(id).area(area).backdrop_color(egui::Color32::from_black_alpha(60));
        let frame = egui::Frame::popup(&ctx.global_style()).inner_margin(egui::Margin::same(space::S2 as i8));
        let shown = modal.frame(frame).show(ctx, |ui| {
            ui.set_width(WIDTH.min(ctx.content_rect().width() - 60.0));
            self.field(ui);
            self.refresh(ui, files, jobs, tabs, recent);
            self.lines_ui(ui)
        });
        if shown.should_close() {
            self.open = false;
        }
        if let Some(pick) = shown.inner {
            self.open = false;
            actions.push(act(pick));
        }
        if !self.open {
            ctx.request_repaint();
        }
    }

    fn field(&mut self, ui: &mut Ui) {
        let last = (self.lines.len() as u64).saturating_sub(1);
        let chosen = ui.input_mut(|input| {
            let mut pressed = |key| input.consume_key(Modifiers::NONE, key);
            let steps = [
                (Key::ArrowUp, self.chosen.saturating_sub(1)),
                (Key::ArrowDown, self.chosen + 1),
                (Key::PageUp, self.chosen.saturating_sub(SHOWN as u64)),
                (Key::PageDown, self.chosen + SHOWN as u64),
            ];
            steps.into_iter().find_map(|(key, to)| pressed(key).then_some(to.min(last)))
        });
        if let Some(chosen) = chosen {
            self.chosen = chosen;
            self.list.reveal(chosen);
        }
        let edit = TextEdit::singleline(&mut self.text)
            .hint_text("A file, a node, a column; > command, @ column, : row")
            .desired_width(f32::INFINITY)
            .lock_focus(true)
            .margin(egui::Margin::symmetric(8, 6));
        let mut output = edit.show(ui);
        let response = &output.response.response;
        response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Go to anything"));
        if !response.has_focus() {
            // Once: each time it would break off what an input method composes.
            response.request_focus();
        }
        if response.changed() {
            self.chosen = 0;
            self.list.scroll_to(0);
        }
        if std::mem::take(&mut self.place_cursor) {
            let end = egui::text::CCursor::new(self.text.chars().count());
            output.state.cursor.set_char_range(Some(egui::text::CCursorRange::one(end)));
            output.state.store(ui.ctx(), output.response.response.id);
        }
        ui.add_space(space::S1);
    }

    /// Makes the lines anew if what they depend on has changed.
    fn refresh(&mut self, ui: &Ui, files: &Files, jobs: &Jobs, tabs: &Tabs, recent: &[Recent]) {
        let text = self.text.trim_start().to_owned();
        let documents: Vec<_> =
            files.iter().filter_map(|file| Some((file.id, file.document()?.clone()))).collect();
        let state =
            documents.iter().map(|(_, d)| Arc::as_ptr(d) as usize).fold(files.len(), usize::wrapping_add);
        let query = Query::parse(&text);
        let special = text.starts_with(['>', '@', ':']);
        let mut hits = None;
        self.searching = false;
        if !special && !query.is_empty() {
            let wanted = query.clone();
            let shown = self.found.get(jobs, &(text.clone(), state), JobSpec::view(""), move |task| {
                search::find(task, &documents, &wanted)
            });
            self.searching = !shown.fresh;
            hits = shown.value;
        }
        let of_columns =
            text.strip_prefix('@').or(Some(text.as_str()).filter(|text| !special && !text.is_empty()));
        let columns = of_columns.and_then(|words| self.columns(jobs, words.trim(), tabs.target()));
        let address = |lines: &Arc<Vec<Line>>| Arc::as_ptr(lines) as usize;
        let stamp = hits.as_ref().map_or(0, |hits| Arc::as_ptr(hits) as usize);
        let stamp = stamp.wrapping_add(columns.as_ref().map_or(0, address));
        let made = Some((text.clone(), state, stamp));
        if self.made == made {
            return;
        }
        self.lines = if let Some(rest) = text.strip_prefix('>') {
            Arc::new(commands(ui.ctx(), rest.trim(), tabs))
        } else if text.starts_with('@') {
            columns.unwrap_or_default()
        } else if let Some(rest) = text.strip_prefix(':') {
            Arc::new(go_to(rest.trim(), tabs.target()))
        } else {
            let columns = columns.unwrap_or_default();
            Arc::new(self.anything(ui, jobs, &text, hits.as_deref(), &columns, files, tabs, recent))
        };
        self.made = made;
        self.chosen = self.chosen.min((self.lines.len() as u64).saturating_sub(1));
    }

    /// The columns of what is shown that fit, as far as they are there: of many a job makes the lines.
    fn columns(&mut self, jobs: &Jobs, words: &str, target: Option<&Target>) -> Option<Arc<Vec<Line>>> {
        let Some(Content::Table(table)) = target.and_then(|target| target.node.content.as_ref()) else {
            return None;
        };
        let key = (words.to_lowercase(), Arc::as_ptr(table).cast::<()>() as usize);
        let (source, wanted) = (table.clone(), key.0.clone());
        let shown =
            self.columns.get(jobs, &key, JobSpec::view(""), move |task| columns(task, &wanted, &*source));
        self.searching |= shown.runs();
        // Those of the words before stay until then.
        shown.value
    }

    #[allow(clippy::too_many_arguments, reason = "everything that can be gone to")]
    fn anything(
        &mut self,
        ui: &Ui,
        jobs: &Jobs,
        text: &str,
        hits: Option<&Hits>,
        columns: &[Line],
        files: &Files,
        tabs: &Tabs,
        recent: &[Recent],
    ) -> Vec<Line> {
        let mut lines = Vec::new();
        let wanted = text.trim().to_lowercase();
        for file in files.iter() {
            if let Some(score) = score(&wanted, &file.name()) {
                let behind = file.path.parent().map_or_else(String::new, |path| path.display().to_string());
                let facts =
                    file.document().map_or_else(String::new, |d| facts::short(&d.root, &mut self.sums, jobs));
                let pick = Pick::File(file.id);
                let score = score + 80;
                let icon = file.document().map_or(Icon::File, |document| facts::icon(&document.root));
                lines.push(Line { icon, name: file.name(), behind, right: facts, pick, score });
            }
        }
        for found in hits.map_or(&[][..], |hits| &hits.list).iter().filter(|found| !found.path.is_empty()) {
            let target = Target {
                file: found.file,
                document: found.document.clone(),
                path: found.path.clone(),
                node: found.node.clone(),
            };
            let score = found.score;
            lines.push(Line {
                icon: facts::icon(&found.node),
                name: found.path.clone(),
                behind: found.document.source.name().to_owned(),
                right: facts::short(&found.node, &mut self.sums, jobs),
                pick: Pick::Show(target),
                score,
            });
        }
        if !wanted.is_empty() {
            lines.extend(columns.iter().take(50).cloned());
            let few = commands(ui.ctx(), &wanted, tabs).into_iter().filter(|line| line.score > 100);
            lines.extend(few.map(|line| Line { score: line.score - 60, ..line }));
        }
        let is_open = |path: &PathBuf| files.iter().any(|file| file.path == *path);
        for recent in recent.iter().filter(|recent| !is_open(&recent.path)) {
            let name =
                recent.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            if let Some(score) = score(&wanted, &name) {
                let behind = recent.path.parent().map_or_else(String::new, |path| path.display().to_string());
                let right = recent.bytes.map_or_else(String::new, display::bytes);
                let pick = Pick::Recent(recent.path.clone());
                lines.push(Line { icon: Icon::Recent, name, behind, right, pick, score: score - 100 });
            }
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.score));
        lines
    }

    fn lines_ui(&mut self, ui: &mut Ui) -> Option<Pick> {
        let theme = Theme::of(ui);
        let room = ((ui.ctx().content_rect().height() - 150.0) / size::ROW).floor().max(3.0);
        let height = (SHOWN as f32).min(room) * size::ROW;
        let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        if self.lines.is_empty() {
            let words = match (self.searching, self.text.starts_with(':')) {
                (true, _) => "Searching…",
                (false, true) => "Type a row (123), an index (3, 17) or a byte (0x1f40)",
                (false, false) => "Nothing fits",
            };
            let at = pos2(area.left() + space::S2, area.top() + size::ROW / 2.0);
            ui.painter().text(at, Align2::LEFT_CENTER, words, theme::body_font(), theme.dim);
        }
        let mut child = ui.new_child(egui::UiBuilder::new().max_rect(area).id_salt("lines"));
        let (lines, chosen) = (&self.lines, self.chosen);
        let mut clicked = None;
        self.list.ui(&mut child, "Results", lines.len() as u64, size::ROW, |ui, rect, index| {
            let Some(line) = lines.get(index as usize) else { return };
            if line.ui(ui, rect, index, index == chosen) {
                clicked = Some(index);
            }
        });
        let enter = ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
        let index = clicked.or_else(|| enter.then_some(self.chosen))?;
        self.lines.get(index as usize).map(|line| line.pick.clone())
    }
}

impl Line {
    fn ui(&self, ui: &Ui, rect: Rect, index: u64, chosen: bool) -> bool {
        let theme = Theme::of(ui);
        let response = ui.interact(rect, ui.scope_id().with(("line", index)), Sense::click());
        response.widget_info(|| WidgetInfo::selected(Role::ListBoxOption, true, chosen, &self.name));
        if chosen || response.hovered() {
            let fill = if chosen { theme.selection } else { theme.bg3 };
            ui.painter().rect_filled(rect, size::CORNER, fill);
        }
        let painter = ui.painter();
        let cut = |text: &str, font, color, width| elided(painter, text, font, color, width);
        let y = |galley: &egui::Galley| (rect.center().y - galley.size().y / 2.0).round();
        let font = FontId::new(14.0, theme::icon_family());
        let icon_at = pos2(rect.left() + space::S2 + 7.0, rect.center().y);
        painter.text(icon_at, Align2::CENTER_CENTER, self.icon, font, theme.dim);
        let left = rect.left() + space::S2 + 22.0;
        let behind_color = if chosen { theme.text } else { theme.dim };
        let right = cut(&self.right, theme::mono_small_font(), behind_color, rect.width() * 0.4);
        let right_at = rect.right() - space::S2 - right.size().x;
        let name = cut(&self.name, theme::body_font(), theme.text, right_at - left - space::S3);
        let behind_at = left + name.size().x + space::S2;
        let rest = right_at - space::S3 - behind_at;
        painter.galley(pos2(left, y(&name)), name, theme.text);
        if rest > 24.0 && !self.behind.is_empty() {
            let behind = cut(&self.behind, theme::small_font(), behind_color, rest);
            painter.galley(pos2(behind_at, y(&behind)), behind, behind_color);
        }
        painter.galley(pos2(right_at, y(&right)), right, behind_color);
        response.clicked()
    }
}

fn act(pick: Pick) -> Action {
    match pick {
        Pick::Do(id) => Action::Do(id),
        Pick::View(at) => Action::ViewCommand(at),
        Pick::Show(target) => Action::Show(target, Where::Kept),
        Pick::File(id) => Action::ShowFile(id),
        Pick::Recent(path) => Action::Open(vec![path]),
        Pick::Column(column) => Action::Ask(Request::Column(column)),
        Pick::Element(index) => Action::Ask(Request::Element(index)),
        Pick::GoTo(text) => Action::Ask(Request::GoTo(text)),
    }
}

/// How well every word of `wanted` fits into `text`.
fn score(wanted: &str, text: &str) -> Option<i32> {
    wanted.split_whitespace().try_fold(0, |sum, word| fuzzy(word, text).map(|score| sum + score))
}

fn commands(ctx: &Context, wanted: &str, tabs: &Tabs) -> Vec<Line> {
    let wanted = wanted.to_lowercase();
    // What a view does can be asked for with the format's name: "csv options".
    let format = tabs.target().and_then(Target::reader).map_or("", |format| format.name);
    let line = |label: &Label, menu: Menu, pick: Pick, score: i32| Line {
        icon: label.icon,
        name: label.words.to_owned(),
        behind: menu.word().to_owned(),
        right: label.keys_text(ctx),
        pick,
        score,
    };
    let can = |command: &&Command| !command.needs_tab || !tabs.is_empty();
    let own = COMMANDS.iter().filter(can);
    let own = own.filter_map(|command| {
        let score = score(&wanted, command.label.words)?;
        Some(line(&command.label, command.menu, Pick::Do(command.id), score))
    });
    let views = tabs.view_commands().into_iter().enumerate();
    let views = views.filter_map(|(at, label)| {
        let with_format = || score(&wanted, &format!("{format} {}", label.words));
        let score = score(&wanted, label.words).or_else(with_format)?;
        Some(line(label, Menu::Data, Pick::View(at), score))
    });
    let mut lines: Vec<Line> = own.chain(views).collect();
    if !wanted.is_empty() {
        lines.sort_by_key(|line| std::cmp::Reverse(line.score));
    }
    lines
}

/// The columns of a table whose names fit, the best first.
fn columns(task: &Task, wanted: &str, table: &dyn Table) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (index, field) in table.schema().fields().iter().enumerate() {
        task.check()?;
        let Some(score) = score(wanted, field.name()) else { continue };
        lines.push(Line {
            icon: Icon::Columns,
            name: field.name().clone(),
            behind: format!("column {index}"),
            right: display::short_arrow_type(table.column_type(index), 60),
            pick: Pick::Column(index),
            score,
        });
    }
    if !wanted.is_empty() {
        lines.sort_by_key(|line| std::cmp::Reverse(line.score));
    }
    Ok(lines)
}

fn go_to(text: &str, target: Option<&Target>) -> Vec<Line> {
    let Some(target) = target.filter(|_| !text.is_empty()) else { return Vec::new() };
    let place = match &target.node.content {
        Some(Content::Table(_)) => "row",
        Some(Content::Text(_)) => "line",
        Some(Content::Bytes(_)) => "byte",
        Some(Content::Graph(_)) => "node",
        Some(Content::Array(_) | Content::Image(_)) | None => "element",
    };
    // A whole index of an array needs no notation; everything else is for the view to read.
    let index: Option<Vec<u64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let pick = match (&target.node.content, index) {
        (Some(Content::Array(array)), Some(index)) if index.len() == array.shape().len() => {
            Pick::Element(index)
        }
        _ => Pick::GoTo(text.to_owned()),
    };
    vec![Line {
        icon: Icon::Target,
        name: format!("Go to {place} {text}"),
        behind: target.title().to_owned(),
        right: String::new(),
        pick,
        score: 0,
    }]
}
