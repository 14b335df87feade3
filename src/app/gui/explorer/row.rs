//! One row of the explorer, and its context menu.

use egui::{Color32, FontId, Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use gander::data::content::Kind;
use gander::data::security::Verdict;
use gander::formats::FORMATS;
use gander::jobs::Jobs;

use super::tree::{Child, Row};
use super::{About, RowAction};
use crate::gui::commands::{Action, Where};
use crate::gui::facts::{self, Sums};
use crate::gui::files::{File, Files};
use crate::gui::icons::Icon;
use crate::gui::node_menu::{self, item};
use crate::gui::search::Found;
use crate::gui::target::Target;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::elided;
use crate::gui::watch::Change;

/// Characters of a name that are laid out, and of a path in a tool tip: either may be of any length.
const NAME: usize = 300;
const TIP: usize = 2_000;

/// The beginning of a text, with a sign where it goes on.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// What a row shows.
pub(super) struct Drawn {
    /// What it is the row of, whatever is known of that.
    key: egui::IdSalt,
    depth: usize,
    name: String,
    /// A path that stands faintly behind the name.
    behind: String,
    facts: String,
    icon: Option<Icon>,
    caret: Option<bool>,
    /// Whether there may be carets above and below it.
    is_of_tree: bool,
    problem: Option<String>,
    tip: String,
    pending: bool,
    /// The facts are a remark.
    warn: bool,
    /// To load it where it was written for could do anything.
    danger: bool,
}

/// What a row says after it was drawn.
pub(super) struct RowResponse {
    pub(super) row: Response,
    pub(super) did: Option<RowAction>,
}

/// The room of a caret and of an icon, in points.
const CARET: f32 = 16.0;
const ICON: f32 = 20.0;

impl Drawn {
    /// A row of the tree.
    pub(super) fn of(row: &Row, file: Option<&File>, sums: &mut Sums, jobs: &Jobs) -> Self {
        let depth = row.trail.len();
        let root = file.filter(|_| depth == 0);
        let mut drawn = Drawn {
            key: egui::IdSalt::new((file.map(|file| file.id), &row.trail)),
            depth,
            name: root.map_or_else(String::new, File::name),
            behind: String::new(),
            facts: String::new(),
            icon: None,
            caret: None,
            is_of_tree: true,
            problem: None,
            tip: root.map_or_else(String::new, |file| file.path.display().to_string()),
            pending: false,
            warn: false,
            danger: false,
        };
        match &row.child {
            Child::Node(node) => drawn.take_node(node, row, root, sums, jobs),
            Child::Pending => {
                drawn.pending = true;
                if root.is_none() {
                    drawn.name = "Reading…".to_owned();
                }
                drawn.icon = Some(Icon::Hourglass);
            }
            Child::Failed(error) => {
                if root.is_none() {
                    drawn.name = "Could not be read".to_owned();
                }
                drawn.icon = Some(Icon::Warning);
                drawn.problem = Some(error.to_string());
                drawn.facts = facts::first_words(&error.message());
            }
        }
        drawn
    }

    fn take_node(
        &mut self,
        node: &gander::data::node::Node,
        row: &Row,
        root: Option<&File>,
        sums: &mut Sums,
        jobs: &Jobs,
    ) {
        if root.is_none() {
            self.name =
                if node.name.is_empty() { "(no name)".to_owned() } else { beginning(&node.name, NAME) };
            self.tip = beginning(&row.path, TIP);
        }
        self.facts = facts::short(node, sums, jobs);
        self.caret = node.has_children().then_some(row.open);
        let source = root.and_then(File::document).map(|document| &document.source);
        if let Some(source) = source.filter(|_| node.content.is_none() && node.problem.is_none()) {
            if let Some(bytes) = source.known_len() {
                self.facts = gander::bytes::display::bytes(bytes);
            } else if source.is_folder() {
                self.name.push('/');
            }
        }
        match root.and_then(|file| file.change) {
            Some(Change::Changed) => self.change("changed on disk"),
            Some(Change::Gone) => self.change("not there any more"),
            Some(Change::Grown) | None => {}
        }
        self.icon = Some(facts::icon(node));
        if let Some(problem) = node.problem_now() {
            self.problem = Some(problem.to_string());
            self.icon = Some(Icon::Warning);
        }
        if node.security_now().is_some_and(|report| report.verdict == Verdict::Dangerous) {
            self.danger = true;
            self.icon = Some(Icon::Problem);
        }
        for remark in node.remarks_now() {
            self.tip.push_str(&format!("\n{remark}"));
        }
        self.tip = format!("{}\n{}", self.tip, node.word());
    }

    /// Says that somebody else changed the file.
    fn change(&mut self, words: &str) {
        words.clone_into(&mut self.facts);
        self.warn = true;
        self.tip.push_str(&format!("\n{words} since it was opened; F5 opens it anew"));
    }

    /// A row of what the filter found.
    pub(super) fn found(found: &Found, sums: &mut Sums, jobs: &Jobs) -> Self {
        let node = &found.node;
        let above = found.path.strip_suffix(node.name.as_str()).unwrap_or("");
        let above = above.trim_end_matches(['.', '/']);
        Drawn {
            key: egui::IdSalt::new((found.file, &found.path)),
            depth: 0,
            name: beginning(&node.name, NAME),
            behind: beginning(above, NAME),
            facts: facts::short(node, sums, jobs),
            icon: Some(facts::icon(node)),
            caret: None,
            is_of_tree: false,
            problem: node.problem_now().map(|problem| problem.to_string()),
            tip: beginning(&found.path, TIP),
            pending: false,
            warn: false,
            danger: node.security_now().is_some_and(|report| report.verdict == Verdict::Dangerous),
        }
    }

    /// Draws the row and takes its clicks.
    pub(super) fn ui(self, ui: &mut Ui, rect: Rect, selected: bool) -> RowResponse {
        let theme = Theme::of(ui);
        let response = ui.interact(rect, ui.scope_id().with(self.key), Sense::CLICK);
        // Many have the same name in a model: what was found says where it lies.
        let place = if self.behind.is_empty() { String::new() } else { format!(" in {}", self.behind) };
        let spoken = match &self.problem {
            Some(problem) => format!("{}{place} {problem}", self.name),
            None => format!("{}{place} {}", self.name, self.facts),
        };
        response.widget_info(|| WidgetInfo::selected(Role::TreeItem, true, selected, spoken.trim()));
        if selected {
            ui.painter().rect_filled(rect, 0.0, theme.selection);
        } else if response.hovered() {
            ui.painter().rect_filled(rect, 0.0, theme.bg3);
        }
        let did = self.caret_and_clicks(ui, rect, &response);
        self.paint(ui, rect, selected, theme);
        let tip = match &self.problem {
            Some(problem) => format!("{problem}\n{}", self.tip),
            None => self.tip,
        };
        let response = response.on_hover_ui(|ui| {
            ui.label(tip.trim());
        });
        RowResponse { row: response, did }
    }

    fn left(&self) -> f32 {
        space::S2 + self.depth as f32 * size::TREE_INDENT
    }

    fn caret_and_clicks(&self, ui: &Ui, rect: Rect, response: &Response) -> Option<RowAction> {
        if self.pending && self.depth > 0 {
            return None;
        }
        if response.double_clicked() {
            return Some(RowAction::Select(Where::Kept));
        }
        if !response.clicked() {
            return None;
        }
        let at = ui.input(|input| input.pointer.interact_pos());
        let on_caret = at.is_some_and(|at| at.x < rect.left() + self.left() + CARET);
        match self.caret {
            Some(_) if on_caret => Some(RowAction::Toggle),
            _ => Some(RowAction::Select(Where::Preview)),
        }
    }

    fn paint(&self, ui: &Ui, rect: Rect, selected: bool, theme: &Theme) {
        let mut x = rect.left() + self.left();
        let painter = ui.painter();
        let icon = |x: f32, icon: Icon, color: Color32, points: f32| {
            let font = FontId::new(points, theme::icon_family());
            painter.text(pos2(x + 7.0, rect.center().y), egui::Align2::CENTER_CENTER, icon, font, color);
        };
        if let Some(open) = self.caret {
            icon(x, if open { Icon::CaretDown } else { Icon::CaretRight }, theme.dim, 11.0);
        }
        // Whether or not there is a caret, so that the names of one level stand below each other.
        if self.is_of_tree {
            x += CARET;
        }
        if let Some(shown) = self.icon {
            let color = match (self.danger, self.problem.is_some()) {
                (true, _) => theme.bad,
                (false, true) => theme.warn,
                (false, false) => theme.dim,
            };
            icon(x, shown, color, 14.0);
        }
        x += ICON;
        let line =
            |text: &str, font: FontId, color: Color32, width: f32| elided(painter, text, font, color, width);
        let room = rect.right() - x - space::S2 - 2.0;
        let facts_color = if self.warn {
            theme.warn
        } else if selected {
            theme.text
        } else {
            theme.faint
        };
        let name_width = painter.layout_no_wrap(self.name.clone(), theme::body_font(), theme.text).size().x;
        // The name comes first; the facts get what is left, at least two fifths. A message is no fact: it may be long.
        let least = if self.warn { 0.2 } else { 0.4 };
        let facts_room = (room - name_width - space::S3).max(room * least);
        let facts = line(&self.facts, theme::mono_small_font(), facts_color, facts_room);
        let facts_width = if self.facts.is_empty() { 0.0 } else { facts.size().x + space::S2 };
        let color = if self.pending { theme.dim } else { theme.text };
        let name = line(&self.name, theme::body_font(), color, room - facts_width);
        let middle = |height: f32| (rect.center().y - height / 2.0).round();
        painter.galley(pos2(x, middle(name.size().y)), name.clone(), color);
        let rest = room - facts_width - name.size().x - space::S2;
        if !self.behind.is_empty() && rest > 30.0 {
            let behind = line(&self.behind, theme::small_font(), theme.dim, rest);
            painter.galley(pos2(x + name.size().x + space::S2, middle(behind.size().y)), behind, theme.dim);
        }
        let at = vec2(rect.right() - space::S2 - 2.0 - facts.size().x, middle(facts.size().y));
        painter.galley(at.to_pos2(), facts, facts_color);
    }
}

/// The context menu of a row.
pub(super) fn menu(ui: &mut Ui, about: &About, files: &Files, actions: &mut Vec<Action>) {
    let Some(file) = files.get(about.file) else { return };
    ui.spacing_mut().button_padding.x = space::S2;
    let target = file.document().cloned().zip(about.node.clone()).map(|(document, node)| Target {
        file: about.file,
        document,
        path: about.path.clone(),
        node,
    });
    if let Some(target) = target {
        node_menu::ui(ui, &target, actions);
        ui.separator();
    } else if item(ui, Icon::Copy, "Copy path") {
        actions.push(Action::Copy(file.path.display().to_string()));
    }
    if item(ui, Icon::FolderOpen, "Reveal in the file manager") {
        actions.push(Action::Reveal(file.path.clone()));
    }
    if about.path.is_empty() {
        open_as(ui, file.id, actions);
    }
    if item(ui, Icon::Reload, "Reload the file") {
        actions.push(Action::Reload(file.id));
    }
    if item(ui, Icon::Close, "Close the file") {
        actions.push(Action::Close(file.id));
    }
}

/// The formats as which a file can be opened by force.
pub(crate) fn open_as(ui: &mut Ui, file: u64, actions: &mut Vec<Action>) {
    let words = "Open as…";
    let shown = ui.menu_button(theme::icon_text(Icon::Puzzle, words), |ui| {
        egui::ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
            for format in FORMATS.iter().filter(|format| format.reads != [Kind::Group]) {
                if ui.button(format.name).clicked() {
                    actions.push(Action::OpenAs(file, format.id));
                    ui.close();
                }
            }
        });
    });
    shown.response.widget_info(|| WidgetInfo::labeled(Role::Button, true, words));
}
