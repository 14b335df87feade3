//! What lies over the window for a while: a path to open, the keys, a long text, an export. One at a time;
//! Esc and a click beside it close it.

mod about;
mod export;
mod keys;
mod path;
mod raw;
mod security;
mod settings;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Context, Id, Modal, Ui, vec2};
use gander::data::format::Options;
use gander::data::security::Report;
use gander::jobs::Jobs;

use super::commands::{Action, Label};
use super::exports::Exports;
use super::icons::Icon;
use super::settings::{Problem, Settings};
use super::target::ExportSource;
use super::theme::{self, Theme, space};

/// One of them.
pub(crate) enum Dialog {
    /// What Gander is.
    About,
    /// Every command with its keys.
    Keys(keys::Keys),
    /// A path that is typed.
    Path(path::OpenPath),
    /// What the elements of a file without a header are.
    Raw(Box<raw::OpenRaw>),
    /// A long text.
    Read(text::TextDialog),
    /// What loading something would run.
    Security(security::SecurityReport),
    /// What a person prefers.
    Settings(Box<settings::SettingsForm>),
    /// An export.
    Export(Box<export::Export>),
    /// The conversion of many files.
    Batch(Box<export::Batch>),
}

impl Dialog {
    /// Every command with its keys, those of the view that is shown among them.
    pub(crate) fn keys(of_view: Vec<&'static Label>) -> Self {
        Dialog::Keys(keys::Keys::new(of_view))
    }

    /// A path that is typed; `instead` of the desktop's dialog, which is not there.
    pub(crate) fn open_path(instead: bool) -> Self {
        Dialog::Path(path::OpenPath::new(instead))
    }

    /// What the elements of an open file are, beginning with what it is opened with now.
    pub(crate) fn raw(file: u64, path: PathBuf, now: &Options) -> Self {
        Dialog::Raw(Box::new(raw::OpenRaw::new(file, path, now)))
    }

    /// A long text in full.
    pub(crate) fn read(title: String, text: String) -> Self {
        Dialog::Read(text::TextDialog::new(title, text))
    }

    /// What loading something would run.
    pub(crate) fn security(name: String, report: Arc<Report>) -> Self {
        Dialog::Security(security::SecurityReport::new(name, report))
    }

    /// What a person prefers, the file that keeps it, and what of that does not count.
    pub(crate) fn settings(now: Settings, path: Option<String>, problems: Vec<Problem>) -> Self {
        Dialog::Settings(Box::new(settings::SettingsForm::new(now, path, problems)))
    }

    fn name(&self) -> &'static str {
        match self {
            Dialog::About => "about",
            Dialog::Keys(_) => "keys",
            Dialog::Path(_) => "open by path",
            Dialog::Raw(_) => "raw array",
            Dialog::Read(_) => "reader",
            Dialog::Security(_) => "security",
            Dialog::Settings(_) => "settings",
            Dialog::Export(_) => "export",
            Dialog::Batch(_) => "convert",
        }
    }
}

/// The dialog that is open, if one is.
#[derive(Default)]
pub(crate) struct Dialogs {
    open: Option<Dialog>,
}

impl Dialogs {
    /// Whether one is open: keys belong to it then.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Opens one in place of the one that is open.
    pub(crate) fn open(&mut self, dialog: Dialog) {
        self.open = Some(dialog);
    }

    /// Opens the export of a node, or of a part of it.
    pub(crate) fn export(&mut self, what: ExportSource) {
        self.open = Some(Dialog::Export(Box::new(export::Export::new(what))));
    }

    /// Opens the conversion of many files.
    pub(crate) fn convert(&mut self, files: Vec<PathBuf>) {
        self.open = export::Batch::new(files).map(|batch| Dialog::Batch(Box::new(batch)));
    }

    /// Takes a file or a folder to write to that was chosen in the desktop's dialog.
    pub(crate) fn place(&mut self, path: &Path) {
        match &mut self.open {
            Some(Dialog::Export(export)) => export.save_as(path),
            Some(Dialog::Batch(batch)) => batch.save_into(path),
            _ => {}
        }
    }

    /// Draws what is open.
    pub(crate) fn ui(&mut self, ctx: &Context, jobs: &Jobs, exports: &Exports, actions: &mut Vec<Action>) {
        let Some(dialog) = &mut self.open else { return };
        let frame = egui::Frame::popup(&ctx.global_style()).inner_margin(egui::Margin::same(space::S4 as i8));
        let modal = Modal::new(Id::unique(("dialog", dialog.name()))).frame(frame);
        let shown = modal.show(ctx, |ui| match dialog {
            Dialog::About => about::ui(ui),
            Dialog::Keys(keys) => keys.ui(ui),
            Dialog::Path(path) => path.ui(ui, jobs, actions),
            Dialog::Raw(raw) => raw.ui(ui, jobs, actions),
            Dialog::Read(reader) => reader.ui(ui, jobs, actions),
            Dialog::Security(report) => report.ui(ui, actions),
            Dialog::Settings(form) => form.ui(ui, actions),
            Dialog::Export(export) => export.ui(ui, jobs, exports, actions),
            Dialog::Batch(batch) => batch.ui(ui, jobs, exports, actions),
        });
        // Escape and clicks elsewhere are for a list that is open in it.
        let list = shown.any_popup_open;
        if shown.inner || (!list && shown.should_close()) {
            self.open = None;
            ctx.request_repaint();
        }
    }
}

/// The head of a dialog: its title and a cross; true if it is to be closed.
fn head(ui: &mut Ui, title: &str) -> bool {
    let theme = Theme::of(ui);
    let mut close = false;
    ui.horizontal(|ui| {
        let words = egui::RichText::new(title).heading().color(theme.text);
        ui.add(egui::Label::new(words).truncate());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            close = theme::icon_button(ui, Icon::Close, "Close").clicked();
        });
    });
    ui.add_space(space::S2);
    close
}

/// A size for a dialog that leaves room around it in a small window.
fn room(ui: &mut Ui, width: f32, height: f32) {
    let screen = ui.ctx().content_rect().size() - vec2(48.0, 64.0);
    ui.set_width(width.min(screen.x));
    ui.set_max_height(height.min(screen.y));
}

/// The height of the part of a dialog that scrolls: what a window leaves of which `taken` points are taken, by the dialog's
/// other parts and by what is around it.
fn height_left(ui: &Ui, taken: f32) -> f32 {
    const LEAST: f32 = 120.0;
    (ui.ctx().content_rect().height() - taken).max(LEAST)
}
