//! The explorer: every open file as a lazy tree, with a filter above it.

pub(crate) mod keys;
mod row;
mod tree;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use egui::{EventFilter, Ui};
use gander::bytes::error::Error;
use gander::bytes::limits;
use gander::data::content::Content;
use gander::data::node::Node;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::commands::{Action, Where};
use super::facts::Sums;
use super::files::{File, Files, State};
use super::icons::Icon;
use super::search::{self, Found, Hits, Query};
use super::theme::{self, Theme, size, space};
use super::ui::{List, keys as key_tables};
use super::views::Target;
use keys::{Command, FILTER_KEYS, FilterCommand, KEYS};
use row::Drawn;
pub(crate) use row::open_as;
use tree::{Branch, Child, Row, Trail};

/// Which row is selected: a file and the child numbers from its root.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: u64,
    trail: Vec<u64>,
}

/// The state of the explorer.
#[derive(Default)]
pub(crate) struct Explorer {
    roots: HashMap<u64, Branch>,
    reopen: HashMap<u64, HashSet<String>>,
    list: List,
    selected: Option<Place>,
    filter: String,
    /// The selected row among those that the filter left.
    hit: u64,
    search: Slot<(String, Vec<u64>, usize), Hits>,
    focus_filter: bool,
    /// The rows get the keyboard in this frame.
    focus_list: bool,
    /// The menu of the selected row was asked for by a key; and it was opened by one.
    menu_asked: bool,
    menu_by_key: bool,
    sums: Sums,
}

/// What one row is about, filtered or not.
struct About {
    file: u64,
    path: String,
    node: Option<Arc<Node>>,
}

/// What a person did with a row.
enum RowAction {
    Select(Where),
    Toggle,
}

impl Explorer {
    /// Puts the cursor into the filter.
    pub(crate) fn focus_filter(&mut self) {
        self.focus_filter = true;
    }

    /// Opens the root of a file, and what was open in it before.
    pub(crate) fn file_is_ready(&mut self, file: &File, unfold: bool) {
        let Some(document) = file.document() else { return };
        let mut open = Vec::new();
        if let Some(old) = self.roots.get(&file.id) {
            old.open_paths(&mut open);
        }
        let mut root = Branch::new(document.root.clone(), String::new());
        // Rows are looked at in the tab: as a list of their numbers they would push everything else away.
        let is_records = match &document.root.content {
            Some(Content::Table(table)) if !document.source.is_folder() => {
                let rows = table.rows().exact();
                document.root.child_count().is_none_or(|count| rows.is_none_or(|rows| rows == count))
            }
            _ => false,
        };
        let unfold = unfold && !is_records;
        root.open = (unfold || open.iter().any(String::is_empty)) && root.node.has_children();
        self.roots.insert(file.id, root);
        self.reopen.entry(file.id).or_default().extend(open);
        self.sums.clear();
    }

    /// Forgets a file.
    pub(crate) fn file_is_closed(&mut self, file: u64) {
        self.roots.remove(&file);
        self.reopen.remove(&file);
        self.sums.clear();
        // What was found holds on to its files.
        self.search.clear();
        if self.selected.as_ref().is_some_and(|place| place.file == file) {
            self.selected = None;
        }
    }

    /// The open paths of a file, for the session.
    pub(crate) fn open_paths(&self, file: u64) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(root) = self.roots.get(&file) {
            root.open_paths(&mut out);
        }
        out
    }

    /// Opens these paths as soon as they come in sight.
    pub(crate) fn reopen(&mut self, file: u64, paths: Vec<String>) {
        self.reopen.entry(file).or_default().extend(paths);
    }

    /// Selects the row of a node that is shown in a tab. What is above it and not in memory is unfolded
    /// by the next frames; false until the row is there.
    pub(crate) fn show(&mut self, files: &Files, jobs: &Jobs, target: &Target) -> bool {
        let Some(root) = self.roots.get_mut(&target.file) else { return false };
        let trail = match root.trail_to(&target.path, jobs) {
            Trail::There(trail) => trail,
            Trail::Waits => return false,
            Trail::Unknown => {
                // A hostile name may have any number of parts.
                let ends = target.path.match_indices(['.', '/']).take(limits::DEPTH);
                let parts = ends.map(|(at, _)| target.path[..at].to_owned());
                self.reopen.entry(target.file).or_default().extend(parts);
                return false;
            }
        };
        let place = Place { file: target.file, trail };
        if self.selected.as_ref() != Some(&place) {
            self.selected = Some(place);
            if let Some(row) = self.row_of_selected(files) {
                self.list.reveal(row);
            }
        }
        true
    }

    /// Draws the explorer.
    pub(crate) fn ui(&mut self, ui: &mut Ui, files: &mut Files, jobs: &Jobs, actions: &mut Vec<Action>) {
        self.head(ui, actions);
        ui.add_space(space::S1);
        self.filter_box(ui);
        ui.add_space(space::S2);
        if files.len() == 0 {
            ui.add_space(space::S2);
            ui.horizontal(|ui| {
                ui.add_space(space::S3);
                ui.label(theme::dim(Theme::of(ui), "No file is open."));
            });
            return;
        }
        let query = Query::parse(&self.filter);
        if query.is_empty() {
            self.tree(ui, files, jobs, actions)
        } else {
            self.hits(ui, &query, files, jobs, actions)
        }
    }

    fn head(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ui.horizontal(|ui| {
            ui.set_height(size::BAR - 4.0);
            ui.add_space(space::S3);
            ui.label(theme::heading(Theme::of(ui), "Explorer"));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = 0.0;
                ui.add_space(space::S1);
                if theme::icon_button(ui, Icon::Reload, "Reload all files").clicked() {
                    actions.push(Action::ReloadAll);
                }
                if theme::icon_button(ui, Icon::Plus, "Open a file").clicked() {
                    actions.push(Action::OpenFileDialog);
                }
            });
        });
    }

    fn filter_box(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.add_space(space::S2 + 2.0);
            let width = ui.available_width() - space::S2 - 2.0;
            let edit = egui::TextEdit::singleline(&mut self.filter)
                .hint_text("Filter by name, dtype:, shape:, kind:")
                .desired_width(width)
                .margin(egui::Margin::symmetric(8, 5));
            let response = ui.add(edit);
            response.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Filter the explorer")
            });
            if std::mem::take(&mut self.focus_filter) {
                response.request_focus();
            }
            if response.changed() {
                self.hit = 0;
            }
            // The field gives the focus up itself on Esc and Enter.
            let keyed = response.has_focus() || response.lost_focus();
            for command in key_tables::pressed(ui, FILTER_KEYS).into_iter().filter(|_| keyed) {
                match command {
                    FilterCommand::Clear => self.filter.clear(),
                    FilterCommand::ToRows => self.focus_list = true,
                }
            }
        });
    }

    fn rows(&self, files: &Files) -> u64 {
        files.iter().map(|file| self.roots.get(&file.id).map_or(1, Branch::rows)).sum()
    }

    fn row_of_selected(&self, files: &Files) -> Option<u64> {
        let place = self.selected.as_ref()?;
        let mut before = 0;
        for file in files.iter() {
            let root = self.roots.get(&file.id);
            if file.id == place.file {
                return root.map_or(Some(before), |root| root.row_of(&place.trail).map(|row| before + row));
            }
            before += root.map_or(1, Branch::rows);
        }
        None
    }

    /// The rows in `wanted`, with the number of their file.
    fn gather(&mut self, files: &Files, jobs: &Jobs, wanted: &std::ops::Range<u64>) -> Vec<(u64, Row)> {
        let mut out = Vec::new();
        let mut at = 0;
        for file in files.iter() {
            let rows = self.roots.get(&file.id).map_or(1, Branch::rows);
            if at < wanted.end && at + rows > wanted.start {
                if let Some(root) = self.roots.get_mut(&file.id) {
                    let reopen = self.reopen.entry(file.id).or_default();
                    let mut rows = Vec::new();
                    root.visit(at, wanted, &mut Vec::new(), jobs, reopen, &mut rows);
                    out.extend(rows.into_iter().map(|row| (file.id, row)));
                } else {
                    let child = match &file.state {
                        State::Failed(error) => Child::Failed(error.clone()),
                        _ => Child::Pending,
                    };
                    let row = Row { index: at, trail: Vec::new(), path: String::new(), child, open: false };
                    out.push((file.id, row));
                }
            }
            at += rows;
        }
        out
    }

    fn tree(&mut self, ui: &mut Ui, files: &mut Files, jobs: &Jobs, actions: &mut Vec<Action>) {
        let count = self.rows(files);
        let first = self.list.top();
        let sight = (ui.available_height() / size::ROW).ceil() as u64 + 2;
        let gathered = self.gather(files, jobs, &(first.saturating_sub(sight)..first + 2 * sight));
        let mut did = None;
        let mut list = std::mem::take(&mut self.list);
        let menu_asked = std::mem::take(&mut self.menu_asked);
        let shown = list.ui(ui, "Open files", count, size::ROW, |ui, rect, index| {
            let Some((file, row)) = gathered.iter().find(|(_, row)| row.index == index) else { return };
            let place = Place { file: *file, trail: row.trail.clone() };
            let drawn = Drawn::of(row, files.get(*file), &mut self.sums, jobs);
            let response = drawn.ui(ui, rect, self.selected.as_ref() == Some(&place));
            if let Some(done) = response.did {
                did = Some((place.clone(), done));
            }
            if response.row.secondary_clicked() {
                (self.selected, self.menu_by_key) = (Some(place.clone()), false);
            }
            let about = about(*file, row);
            let selected = self.selected.as_ref() == Some(&place);
            self.row_menu(ui, &response.row, menu_asked && selected, selected, |ui| {
                row::menu(ui, &about, files, actions)
            });
        });
        self.list = list;
        if std::mem::take(&mut self.focus_list) {
            shown.response.request_focus();
        }
        if let Some((place, did)) = did {
            shown.response.request_focus();
            self.act(place, did, files, jobs, actions);
        }
        if shown.response.has_focus() {
            let filter =
                EventFilter { horizontal_arrows: true, vertical_arrows: true, escape: false, tab: false };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(shown.response.id, filter));
            self.keys(ui, shown.page, files, jobs, actions);
        }
    }

    /// The selected row: its file and the child numbers that lead to it.
    #[cfg(test)]
    pub(crate) fn selected(&self) -> Option<(u64, Vec<u64>)> {
        self.selected.as_ref().map(|place| (place.file, place.trail.clone()))
    }

    /// The menu of a row; with `asked` it opens now. Opened by a key there is no pointer to stand at.
    fn row_menu(
        &self,
        ui: &Ui,
        row: &egui::Response,
        asked: bool,
        selected: bool,
        lines: impl FnOnce(&mut Ui),
    ) {
        let menu = egui::Popup::context_menu(row);
        let menu = if self.menu_by_key && selected { menu.anchor(row.rect) } else { menu };
        if asked {
            egui::Popup::open_id(ui.ctx(), menu.get_id());
        }
        menu.accessible_name("Menu of the row").show(lines);
    }

    /// What keys do in the rows that the filter leaves: the row to be shown, and where.
    fn hits_keys(
        &mut self,
        ui: &Ui,
        page: u64,
        hits: &Hits,
        actions: &mut Vec<Action>,
    ) -> Option<(u64, Where)> {
        let last = (hits.list.len() as u64).saturating_sub(1);
        let mut chosen = None;
        for command in key_tables::pressed(ui, KEYS) {
            match command {
                Command::Step(step) => {
                    self.hit = step.from(self.hit, page, last);
                    chosen = Some((self.hit, Where::Preview));
                }
                Command::Keep => chosen = Some((self.hit, Where::Kept)),
                Command::Menu => {
                    (self.menu_asked, self.menu_by_key) = (true, true);
                    ui.ctx().request_repaint();
                }
                Command::Copy => {
                    let found = hits.list.get(self.hit as usize);
                    actions.extend(found.map(|found| Action::Copy(target_of(found).address())));
                }
                // It is a flat list.
                Command::Unfold | Command::Fold => {}
            }
        }
        chosen
    }

    fn act(&mut self, place: Place, did: RowAction, files: &Files, jobs: &Jobs, actions: &mut Vec<Action>) {
        match did {
            RowAction::Toggle => self.toggle(&place, None, jobs),
            RowAction::Select(which) => {
                self.selected = Some(place.clone());
                self.open(&place, which, files, jobs, actions);
            }
        }
    }

    fn branch(&mut self, place: &Place, jobs: &Jobs) -> Option<&mut Branch> {
        self.roots.get_mut(&place.file)?.descend(&place.trail, jobs)
    }

    /// Opens or closes a row, or puts it into a given state.
    fn toggle(&mut self, place: &Place, to: Option<bool>, jobs: &Jobs) {
        if let Some(branch) = self.branch(place, jobs) {
            branch.open = to.unwrap_or(!branch.open) && branch.node.has_children();
            if branch.open {
                branch.look(jobs);
            }
        }
    }

    fn open(&mut self, place: &Place, which: Where, files: &Files, jobs: &Jobs, actions: &mut Vec<Action>) {
        let Some(file) = files.get(place.file) else { return };
        let Some(document) = file.document().cloned() else {
            actions.push(Action::ShowFile(file.id));
            return;
        };
        if let Some(branch) = self.branch(place, jobs) {
            branch.look(jobs);
            let (path, node) = (branch.path.clone(), branch.node.clone());
            actions.push(Action::Show(Target { file: place.file, document, path, node }, which));
        }
    }

    fn keys(&mut self, ui: &Ui, page: u64, files: &Files, jobs: &Jobs, actions: &mut Vec<Action>) {
        for command in key_tables::pressed(ui, KEYS) {
            self.command(ui, command, page, files, jobs, actions);
        }
    }

    fn command(
        &mut self,
        ui: &Ui,
        command: Command,
        page: u64,
        files: &Files,
        jobs: &Jobs,
        actions: &mut Vec<Action>,
    ) {
        let Some(place) = self.selected.clone() else {
            if matches!(command, Command::Step(_)) {
                self.move_to(0, files, jobs, actions);
            }
            return;
        };
        let row = self.row_of_selected(files).unwrap_or(0);
        let last = self.rows(files).saturating_sub(1);
        let open = self.branch(&place, jobs).is_some_and(|branch| branch.open);
        match command {
            Command::Step(step) => self.move_to(step.from(row, page, last), files, jobs, actions),
            Command::Keep => self.open(&place, Where::Kept, files, jobs, actions),
            Command::Menu => {
                // Drawn where the row is, with the next frame.
                (self.menu_asked, self.menu_by_key) = (true, true);
                ui.ctx().request_repaint();
            }
            Command::Copy => self.copy_address(&place, files, actions, jobs),
            Command::Unfold if open => self.move_to((row + 1).min(last), files, jobs, actions),
            Command::Unfold => self.toggle(&place, Some(true), jobs),
            Command::Fold if open => self.toggle(&place, Some(false), jobs),
            Command::Fold if !place.trail.is_empty() => {
                let mut up = place;
                up.trail.pop();
                self.selected = Some(up);
                if let Some(row) = self.row_of_selected(files) {
                    self.list.reveal(row);
                }
            }
            Command::Fold => {}
        }
    }

    fn copy_address(&mut self, place: &Place, files: &Files, actions: &mut Vec<Action>, jobs: &Jobs) {
        let Some(file) = files.get(place.file) else { return };
        let path = self.branch(place, jobs).map_or(String::new(), |branch| branch.path.clone());
        let file = file.path.display();
        actions.push(Action::Copy(if path.is_empty() { file.to_string() } else { format!("{file}#{path}") }));
    }

    fn move_to(&mut self, row: u64, files: &Files, jobs: &Jobs, actions: &mut Vec<Action>) {
        let found = self.gather(files, jobs, &(row..row + 1)).into_iter().find(|(_, r)| r.index == row);
        let Some((file, row)) = found else { return };
        let place = Place { file, trail: row.trail };
        self.selected = Some(place.clone());
        self.list.reveal(row.index);
        self.open(&place, Where::Preview, files, jobs, actions);
    }

    /// Why there are no hits.
    fn search_failed(&self, ui: &mut Ui, error: &Error) {
        if !error.is_cancelled() {
            ui.label(egui::RichText::new(error.to_string()).color(Theme::of(ui).bad));
        } else if theme::cancelled_line(ui) {
            self.search.clear();
        }
    }

    /// The words above the hits.
    fn hits_words(hits: &Hits) -> String {
        match (hits.list.len(), hits.cut) {
            (0, false) => "Nothing fits.".to_owned(),
            (0, true) => "Nothing fits in what was looked through; there is more.".to_owned(),
            (n, true) => format!("the first {n} that fit"),
            (1, false) => "1 fits".to_owned(),
            (n, false) => format!("{n} fit"),
        }
    }

    /// The rows that the filter leaves, as a flat list with paths.
    fn hits(
        &mut self,
        ui: &mut Ui,
        query: &Query,
        files: &mut Files,
        jobs: &Jobs,
        actions: &mut Vec<Action>,
    ) {
        let documents: Vec<_> =
            files.iter().filter_map(|file| Some((file.id, file.document()?.clone()))).collect();
        let stamps = documents.iter().map(|(id, _)| *id).collect();
        let state = documents.iter().map(|(_, d)| Arc::as_ptr(d) as usize).fold(0, usize::wrapping_add);
        let (wanted, key) = (query.clone(), (self.filter.clone(), stamps, state));
        let shown = self
            .search
            .get(jobs, &key, JobSpec::scan("searching"), move |task| search::find(task, &documents, &wanted));
        if let Some(error) = &shown.error {
            self.search_failed(ui, error);
            return;
        }
        let Some(hits) = shown.value else {
            theme::pending(ui, ui.scope_id().with("searching"), "Searching…");
            return;
        };
        ui.horizontal(|ui| {
            ui.add_space(space::S3);
            ui.label(theme::dim(Theme::of(ui), Self::hits_words(&hits)));
        });
        let mut list = std::mem::take(&mut self.list);
        let mut chosen = None;
        let menu_asked = std::mem::take(&mut self.menu_asked);
        let shown = list.ui(ui, "Found", hits.list.len() as u64, size::ROW, |ui, rect, index| {
            let Some(found) = hits.list.get(index as usize) else { return };
            let drawn = Drawn::found(found, &mut self.sums, jobs);
            let response = drawn.ui(ui, rect, self.hit == index);
            if let Some(RowAction::Select(which)) = response.did {
                chosen = Some((index, which));
            }
            let about = About { file: found.file, path: found.path.clone(), node: Some(found.node.clone()) };
            if response.row.secondary_clicked() {
                (self.hit, self.menu_by_key) = (index, false);
            }
            let selected = self.hit == index;
            self.row_menu(ui, &response.row, menu_asked && selected, selected, |ui| {
                row::menu(ui, &about, files, actions)
            });
        });
        if std::mem::take(&mut self.focus_list) {
            shown.response.request_focus();
            chosen = (!hits.list.is_empty()).then_some((self.hit, Where::Preview));
        }
        if let Some((index, _)) = &chosen {
            self.hit = *index;
            shown.response.request_focus();
        } else if shown.response.has_focus() {
            let filter = EventFilter { vertical_arrows: true, ..Default::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(shown.response.id, filter));
            chosen = self.hits_keys(ui, shown.page, &hits, actions);
            if let Some((to, Where::Preview)) = chosen {
                list.reveal(to);
            }
        }
        self.list = list;
        if let Some((index, which)) = chosen
            && let Some(found) = hits.list.get(index as usize)
        {
            actions.push(Action::Show(target_of(found), which));
        }
    }
}

/// What a node that was found is shown as.
fn target_of(found: &Found) -> Target {
    let Found { file, document, path, node, .. } = found.clone();
    Target { file, document, path, node }
}

fn about(file: u64, row: &Row) -> About {
    let node = match &row.child {
        Child::Node(node) => Some(node.clone()),
        _ => None,
    };
    About { file, path: row.path.clone(), node }
}
