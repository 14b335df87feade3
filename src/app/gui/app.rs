//! The window as a whole: its rooms, where they stand, and what holds them together. What a person asks
//! for in any room comes out as an [`Action`] and is done after the frame, in [`act`].

mod act;
mod bars;
mod native_dialogs;
mod opening;
mod render;
mod screenshot;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::PathBuf;

use egui::{CentralPanel, Context, Frame, Margin, Panel, Ui};
use gander::jobs::{Jobs, Priority};

use super::commands::{self, Action, CommandId};
use super::dialogs::Dialogs;
use super::drop::Drop;
use super::explorer::Explorer;
use super::exports::{Exports, Leave};
use super::files::{Files, Named};
use super::fonts::SystemFont;
use super::inspector::{About, Inspector};
use super::palette::Palette;
use super::session::Session;
use super::settings::{Problem, Settings, SettingsFile};
use super::status::StatusBar;
use super::tabs::Tabs;
use super::theme::{self, Theme, size};
use super::timings::Timings;
use super::views::sql::Statements;
use super::views::{Status, Workspace};
use super::{Launch, start};
use native_dialogs::NativeDialogs;
pub(crate) use render::render;
use screenshot::Screenshot;

/// The window.
pub(crate) struct App {
    jobs: Jobs,
    files: Files,
    explorer: Explorer,
    tabs: Tabs,
    /// How many tabs and files there were in the last frame.
    open: (usize, usize),
    inspector: Inspector,
    /// Whether it is about a node.
    inspects: bool,
    status_bar: StatusBar,
    status: Status,
    workspace: Workspace,
    palette: Palette,
    /// Whether keys mean the views: no dialog, palette or menu is open.
    keyed: bool,
    dialogs: Dialogs,
    exports: Exports,
    /// What becomes of exports when the window is closed.
    leave: Leave,
    drop: Drop,
    session: Session,
    settings: Settings,
    settings_file: SettingsFile,
    /// What of the file of the settings does not count.
    settings_problems: Vec<Problem>,
    actions: Vec<Action>,
    asked: NativeDialogs,
    shot: Option<Screenshot>,
    timings: Option<Timings>,
    /// Files that the user named: they go among the recent ones once they are open.
    fresh: HashSet<u64>,
    /// The inspector was asked for although the window is narrow.
    narrow_inspector: bool,
    /// The font for characters that the program's own do not have.
    system_font: SystemFont,
    /// Whether a process is ready for the next file.
    is_prepared: bool,
    /// The number of the tab and the subject that the explorer was last brought to.
    followed: Option<(u64, String)>,
    /// For how many more frames its row is looked for, while what is above it is being unfolded.
    reveal_frames: u8,
    title: String,
}

/// Below this width the inspector hides unless it is asked for.
const NARROW: f32 = 820.0;
/// What is left for a view beside the explorer, in points, where the window has as much.
const VIEW: f32 = 340.0;

/// Frames in which the explorer looks for the row of the active tab.
const REVEAL_FRAMES: u8 = 60;

/// How long a window that is closed waits for exports to remove what they had written.
const END: std::time::Duration = std::time::Duration::from_secs(5);

impl App {
    /// A window on what `launch` began to open.
    pub(crate) fn new(ctx: &Context, launch: Launch) -> Self {
        crate::isolation::never_wait_here();
        theme::apply(ctx);
        ctx.options_mut(|options| options.zoom_with_keyboard = false);
        launch.waker.set(ctx);
        let Launch { jobs, files, named, session, screenshot, theme: asked, settings, .. } = launch;
        let (settings_file, settings, settings_problems) = settings;
        let mut app = App {
            files,
            explorer: Explorer::default(),
            tabs: Tabs::default(),
            open: (0, 0),
            inspector: Inspector::default(),
            inspects: false,
            status_bar: StatusBar::default(),
            status: Status::default(),
            workspace: Workspace {
                statements: Statements::new(session.statements.clone()),
                preferences: settings.preferences.clone(),
                ..Workspace::default()
            },
            palette: Palette::default(),
            system_font: SystemFont::default(),
            is_prepared: false,
            keyed: true,
            dialogs: Dialogs::default(),
            exports: Exports::new(&jobs),
            leave: Leave::default(),
            drop: Drop::default(),
            actions: Vec::new(),
            asked: NativeDialogs::new(&jobs),
            shot: screenshot.map(Screenshot::new),
            timings: Timings::wanted(),
            fresh: named.iter().map(|named| named.file).collect(),
            narrow_inspector: false,
            followed: None,
            reveal_frames: 0,
            title: String::new(),
            jobs,
            session,
            settings,
            settings_file,
            settings_problems,
        };
        app.show_theme(ctx, asked.unwrap_or(app.settings.theme));
        app.start_settings(ctx);
        if named.is_empty() {
            app.restore();
        } else {
            app.show_named(&named);
        }
        app
    }

    /// Puts back the tabs and the unfolded nodes of the last session.
    fn restore(&mut self) {
        let (tabs, unfolded) = (self.session.tabs.clone(), self.session.unfolded.clone());
        let split = self.session.split.clone();
        for (path, _) in &unfolded {
            self.files.open(path);
        }
        let files = &mut self.files;
        self.tabs.restore(&tabs, split.as_ref(), |path| {
            (!path.as_os_str().is_empty()).then(|| files.open(path).0)
        });
        for (path, node) in unfolded {
            let (id, _) = self.files.open(&path);
            self.explorer.reopen(id, vec![node]);
        }
        self.files.poll(&self.jobs);
    }

    /// A tab for each node that was named, and for the first of the files; the explorer has the others.
    fn show_named(&mut self, named: &[Named]) {
        let nodes = named.iter().skip(1).filter(|named| named.node.is_some());
        for named in nodes.chain(named.first()) {
            match &named.node {
                Some(node) => self.show_node(named.file, node),
                None => self.show_file(named.file),
            }
        }
    }

    /// Takes what jobs, dialogs and the desktop have brought since the last frame.
    fn poll(&mut self, ctx: &Context) {
        for answer in self.asked.take() {
            self.answered(answer);
        }
        for id in self.files.poll(&self.jobs) {
            self.file_changed_state(id);
        }
        self.workspace.documents = self.files.iter().filter_map(|file| file.document().cloned()).collect();
        self.trim_soon();
        if let Some(words) = self.settings_file.take_failure() {
            self.say(ctx, words);
        }
        let dropped = self.drop.take(ctx);
        self.actions.extend(dropped);
        self.keep_title(ctx);
    }

    /// Tabs and files that are closed now had memory.
    fn trim_soon(&mut self) {
        let open = (self.tabs.len(), self.files.len());
        let before = std::mem::replace(&mut self.open, open);
        if open.0 < before.0 || open.1 < before.1 {
            self.jobs.freed();
        }
    }

    fn keys(&mut self, ctx: &Context) {
        if self.dialogs.is_open() || self.leave.is_open() {
            return;
        }
        let pressed = commands::pressed(ctx);
        if !pressed.is_empty() {
            // What they do is not done behind it; the palette's own open it anew.
            self.palette.close();
        }
        self.actions.extend(pressed.into_iter().map(Action::Do));
    }

    /// The rooms.
    fn rooms(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let bar = |fill| Frame::new().fill(fill);
        let width = ui.available_width();
        Panel::top("menu").exact_size(size::BAR).frame(bar(theme.bg0)).show(ui, |ui| self.menu_bar(ui));
        Panel::bottom("status")
            .exact_size(size::STATUS_BAR)
            .frame(bar(theme.bg0).inner_margin(Margin::symmetric(12, 0)))
            .show(ui, |ui| {
                self.status_bar.ui(ui, &self.jobs, &self.exports, &self.status, &mut self.actions);
            });
        self.status = Status::default();
        let empty = self.files.len() == 0;
        if self.session.explorer.0 && !empty {
            self.explorer_panel(ui, width);
        }
        let inspector = self.session.inspector.0 && (width >= NARROW || self.narrow_inspector);
        if inspector && !self.tabs.is_empty() {
            self.inspector_panel(ui, width);
        }
        self.end_inspection();
        CentralPanel::no_frame().frame(Frame::new().fill(theme.bg2)).show(ui, |ui| self.middle(ui));
    }

    /// What the inspector asked for ends with the tab that it was about.
    fn end_inspection(&mut self) {
        let inspects = self.tabs.target().is_some();
        if std::mem::replace(&mut self.inspects, inspects) && !inspects {
            self.inspector = Inspector::default();
        }
    }

    fn explorer_panel(&mut self, ui: &mut Ui, width: f32) {
        let theme = Theme::of(ui);
        // In a narrow window the bar of a view comes first: its buttons have no other place.
        let most = (width * 0.45).min(width - VIEW).max(160.0);
        let panel = Panel::left("explorer")
            .resizable(true)
            .default_size(self.session.explorer.1.min(most))
            .size_range(150.0..=most)
            .frame(Frame::new().fill(theme.bg0));
        let shown = panel.show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            self.explorer.ui(ui, &mut self.files, &self.jobs, &mut self.actions);
        });
        self.session.explorer.1 = shown.response.rect.width();
    }

    fn inspector_panel(&mut self, ui: &mut Ui, width: f32) {
        let theme = Theme::of(ui);
        let most = (width * 0.45).max(200.0);
        let panel = Panel::right("inspector")
            .resizable(true)
            .default_size(self.session.inspector.1.min(most))
            .size_range(200.0..=most)
            .frame(Frame::new().fill(theme.bg1));
        let (target, subject) = (self.tabs.target().cloned(), self.tabs.subject());
        let value = self.tabs.value();
        let shown = panel.show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            let (jobs, actions) = (&self.jobs, &mut self.actions);
            match &target {
                Some(target) => {
                    let about = About { target, subject: &subject, value: value.as_ref() };
                    self.inspector.ui(ui, jobs, &about, &self.workspace.mappings, actions);
                }
                None => Inspector::details_ui(ui, &self.tabs.details()),
            }
        });
        self.session.inspector.1 = shown.response.rect.width();
    }

    fn middle(&mut self, ui: &mut Ui) {
        if !self.tabs.is_empty() {
            let (tabs, cx) = self.tabs_cx(self.keyed);
            tabs.ui(ui, cx);
        } else if self.files.len() == 0 {
            start::ui(ui, &self.session.recent, &mut self.actions);
        } else {
            let words = "Click a name in the explorer to look at it; a double click keeps its tab.";
            theme::empty_state(ui, super::icons::Icon::Table, "Nothing is shown", words);
        }
    }

    /// The selected row of the explorer follows the active tab.
    fn follow(&mut self) {
        let Some(target) = self.tabs.target().cloned() else { return };
        let now = (target.file, target.path.clone());
        if self.followed.as_ref() != Some(&now) {
            self.followed = Some(now);
            self.reveal_frames = REVEAL_FRAMES;
        }
        if self.reveal_frames > 0 {
            self.reveal_frames =
                if self.explorer.show(&self.files, &self.jobs, &target) { 0 } else { self.reveal_frames - 1 };
        }
    }

    fn keep_title(&mut self, ctx: &Context) {
        let file = self.tabs.active().and_then(|pane| self.files.get(pane.file_number()?));
        let title = file.map_or_else(|| "Gander".to_owned(), |file| format!("{} — Gander", file.name()));
        if title != self.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    /// Everything the session keeps, as of now.
    fn kept(&mut self, ctx: &Context) -> Session {
        (self.session.tabs, self.session.split) = self.tabs.keep(&self.files);
        self.session.raw = self.files.told();
        self.session.statements = self.workspace.statements.list().to_vec();
        self.session.unfolded = self
            .files
            .iter()
            .flat_map(|file| {
                let paths = self.explorer.open_paths(file.id);
                paths.into_iter().map(|path| (file.path.clone(), path))
            })
            .take(2_000)
            .collect();
        let size = ctx.input(|input| input.viewport().inner_rect.map(|rect| rect.size()));
        if let Some(size) = size.filter(|size| size.x >= 320.0) {
            let zoom = ctx.zoom_factor();
            self.session.window = Some((size.x * zoom, size.y * zoom));
        }
        self.session.clone()
    }

    /// Writes the session by a job.
    fn save_soon(&mut self, ctx: &Context) {
        if self.shot.is_some() {
            return;
        }
        let session = self.kept(ctx);
        // A folder that cannot be written costs the next start its tabs, nothing else.
        self.jobs.run("", gander::jobs::Priority::Background, move |_| drop(session.save()));
    }

    /// Lays the first frame out again where there is a view: the values that it asked for while the rest was
    /// laid out are most often there by now, and nothing was drawn yet that could flash. Once, since eframe
    /// takes a wake-up that comes in the first of three layouts for outdated.
    fn once_more(&self, ctx: &Context) {
        let first = ctx.cumulative_frame_nr() == 0 && ctx.current_pass_index() == 0;
        if first && self.tabs.active().is_some() {
            ctx.request_discard("the values of the first view");
        }
    }

    /// Makes a process ready for the next file, once the first view has what it shows: both would take longer together.
    fn prepare_next_reader(&mut self, frame: u64) {
        let is_waiting = || self.jobs.list().iter().any(|job| job.priority == Priority::View);
        if !self.is_prepared && frame > 0 && !is_waiting() {
            self.is_prepared = true;
            crate::isolation::prepare_next();
        }
    }

    fn say(&mut self, ctx: &Context, words: impl Into<String>) {
        let now = ctx.input(|input| input.time);
        self.status_bar.notice(words.into(), now);
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.frame(ui);
        self.prepare_next_reader(ui.ctx().cumulative_frame_nr());
        // What is drawn depends on the system from here on.
        let ctx = ui.ctx().clone();
        if let Some(words) = self.system_font.step(&ctx, &self.jobs) {
            self.say(&ctx, words);
        }
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        if self.shot.is_none() {
            // The last chance: the window is gone, so that waiting here holds up nobody.
            let _ = self.session.save();
            self.settings_file.keep_now(&self.settings);
        }
        self.exports.end_all(END);
    }
}

impl App {
    /// One frame of everything.
    fn frame(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.tabs.begin_frame(&ctx);
        self.poll(&ctx);
        self.keys(&ctx);
        let over = self.dialogs.is_open() || self.palette.is_open() || self.leave.is_open();
        self.keyed = !over && !egui::Popup::is_any_open(&ctx) && !theme::is_form_open(&ctx);
        self.rooms(ui);
        self.follow();
        self.palette.ui(&ctx, &self.files, &self.jobs, &self.tabs, &self.session.recent, &mut self.actions);
        self.dialogs.ui(&ctx, &self.jobs, &self.exports, &mut self.actions);
        if self.leave.ui(&ctx, &self.exports) {
            self.quit(&ctx);
        }
        if over && !self.dialogs.is_open() && !self.palette.is_open() && !self.leave.is_open() {
            self.tabs.offer_focus();
        }
        self.drop.ui(&ctx);
        // What is done may ask for more to be done.
        while !self.actions.is_empty() {
            for action in std::mem::take(&mut self.actions) {
                self.act(&ctx, action);
            }
            ctx.request_repaint();
        }
        if ctx.input(|input| input.viewport().close_requested()) {
            self.kept(&ctx);
            if !self.leave.may_close(&self.exports) {
                ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
                ctx.request_repaint();
            }
        }
        self.once_more(&ctx);
        self.tabs.end_frame(&ctx);
        if let Some(timings) = self.timings.as_mut().filter(|_| !ctx.will_discard()) {
            timings.step(&self.jobs, self.tabs.active().is_some_and(|pane| pane.is_shown()));
        }
        if let Some(shot) = &mut self.shot {
            shot.step(&ctx, &self.jobs);
        }
    }

    /// Asks for the close of the window, with the session kept.
    fn quit(&mut self, ctx: &Context) {
        self.kept(ctx);
        ctx.send_viewport_cmd(egui::ViewportCommand::Close);
    }

    /// Whether a command makes sense now.
    fn can(&self, id: CommandId) -> bool {
        !commands::get(id).needs_tab || !self.tabs.is_empty()
    }

    fn open_all(&mut self, paths: &[PathBuf]) {
        let named = self.files.open_named(paths);
        self.fresh.extend(named.iter().filter(|named| named.is_new).map(|named| named.file));
        self.files.poll(&self.jobs);
        self.show_named(&named);
    }
}
