//! What is done when a person asks for it.

use egui::{Context, ViewportCommand};
use gander::data::format::Options;

use super::native_dialogs::{Answer, Choose};
use super::{App, NARROW};
use crate::gui::commands::{Action, CommandId, Where};
use crate::gui::dialogs::Dialog;
use crate::gui::settings::ThemeChoice;
use crate::gui::snippets;
use crate::gui::tabs::{Purpose, Tabs, TabsCx};
use crate::gui::target::TabContent;
use crate::gui::views::{Request, Target};

impl App {
    /// Does one thing.
    pub(super) fn act(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Do(id) => self.command(ctx, id),
            Action::Open(paths) => {
                self.open_all(&paths);
                self.save_soon(ctx);
            }
            Action::Samples => self.asked.samples(),
            Action::OpenFileDialog => self.asked.choose(Choose::Files),
            Action::ReloadAll => {
                let all: Vec<u64> = self.files.iter().map(|file| file.id).collect();
                all.into_iter().for_each(|id| self.files.reload(id, None));
                self.say(ctx, "Reloading all files");
            }
            Action::Reload(id) => self.reload(ctx, id),
            Action::AllowFolder(id, folder) => {
                crate::isolation::allow(&folder);
                self.reload(ctx, id);
            }
            Action::OpenAs(id, format) => {
                let mut options = Options::default();
                options.set("format", format);
                self.files.reload(id, Some(options));
            }
            Action::Reopen(id, options) => {
                self.files.reload(id, Some(options));
                self.save_soon(ctx);
            }
            Action::Close(id) => self.close_file(ctx, id),
            Action::ShowFile(id) => self.show_file(id),
            Action::Show(target, which) => self.tabs.show(target, which),
            Action::ShowBytes(of) => {
                let name = of.name();
                self.tabs.show_later(TabContent::Bytes(of), &name);
            }
            Action::Query(start) => self.tabs.show_query(start),
            Action::Reveal(path) => self.asked.reveal(&path),
            Action::Ask(request) => self.ask(ctx, &request),
            Action::ViewCommand(at) => self.view_command(ctx, at),
            Action::Copy(text) => self.copy(ctx, text),
            Action::Read(title, text) => self.dialogs.open(Dialog::read(title, text)),
            Action::Export(what) => self.dialogs.export(what),
            Action::Convert(paths) => self.dialogs.convert(paths),
            Action::AskSave(path) => self.asked.choose_place(Some(&path)),
            Action::SaveRecipe(recipe, path) => self.asked.save_recipe(*recipe, path),
            Action::AskFolder => self.asked.choose_place(None),
            Action::Security(name, report) => self.dialogs.open(Dialog::security(name, report)),
            Action::Settings(settings) => self.set_settings(ctx, *settings),
            Action::Notice(words) => self.say(ctx, words),
        }
    }

    fn copy(&mut self, ctx: &Context, text: String) {
        let first = text.lines().next().unwrap_or_default();
        let mut words: String = first.chars().take(60).collect();
        if words.len() < text.len() {
            words.push('…');
        }
        self.say(ctx, format!("Copied: {words}"));
        ctx.copy_text(text);
    }

    fn reload(&mut self, ctx: &Context, id: u64) {
        self.files.reload(id, None);
        if let Some(name) = self.files.get(id).map(|file| file.name()) {
            self.say(ctx, format!("Reloading {name}"));
        }
    }

    /// The tabs, and what they see; whether keys mean the views.
    pub(super) fn tabs_cx(&mut self, keyed: bool) -> (&mut Tabs, TabsCx<'_>) {
        let cx = TabsCx {
            files: &self.files,
            jobs: &self.jobs,
            actions: &mut self.actions,
            workspace: &mut self.workspace,
            status: &mut self.status,
            keyed,
        };
        (&mut self.tabs, cx)
    }

    /// Does a command of the active view and says so where it means nothing there.
    fn view_command(&mut self, ctx: &Context, at: usize) {
        let words = self.tabs.view_commands().get(at).map_or("", |label| label.words);
        let (tabs, mut cx) = self.tabs_cx(true);
        if !tabs.run(at, &mut cx) {
            self.say(ctx, format!("{words}: not here"));
        }
    }

    /// Passes a request to the active view and says so where it means nothing there.
    fn ask(&mut self, ctx: &Context, request: &Request) {
        let (tabs, mut cx) = self.tabs_cx(true);
        if !tabs.request(request, &mut cx) {
            let words = match request {
                Request::GoTo(text) => format!("There is no {text} in this view"),
                Request::Find => "There is nothing to search in this view".to_owned(),
                Request::Column(_) | Request::Element(_) => "This view has no such place".to_owned(),
                Request::Filter(..) => "Nothing can be filtered in this view".to_owned(),
            };
            self.say(ctx, words);
        }
    }

    /// What the desktop answered.
    pub(super) fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Chosen(paths) => self.actions.push(Action::Open(paths)),
            Answer::Sources(paths) => self.dialogs.convert(paths),
            Answer::Place(path) => self.dialogs.place(&path),
            Answer::NoPlace => self
                .actions
                .push(Action::Notice("This desktop offers no file dialog; type the path".to_owned())),
            Answer::NoDialog => self.dialogs.open(Dialog::open_path(true)),
            Answer::Said(words) | Answer::Failed(words) => self.actions.push(Action::Notice(words)),
        }
    }

    fn command(&mut self, ctx: &Context, id: CommandId) {
        if !self.can(id) {
            self.say(ctx, "Nothing is shown that this could be done with");
            return;
        }
        match id {
            CommandId::OpenFile => self.asked.choose(Choose::Files),
            CommandId::OpenFolder => self.asked.choose(Choose::Folders),
            CommandId::Convert => self.asked.choose(Choose::Sources),
            CommandId::OpenPath => self.dialogs.open(Dialog::open_path(false)),
            CommandId::OpenRaw => self.open_raw(),
            CommandId::Reload => self.on_file(ctx, |app, file| app.reload(ctx, file)),
            CommandId::Export if self.tabs.capture(Purpose::Export) => ctx.request_repaint(),
            CommandId::ExportPicture => self.capture(ctx, Purpose::ExportPicture),
            CommandId::CopyPicture => self.capture(ctx, Purpose::Copy),
            CommandId::CopyPixels => self.copy_pixels(ctx),
            CommandId::Export => match self.tabs.export() {
                Some(export) => self.actions.push(export),
                None => self.say(ctx, "There is nothing to export yet"),
            },
            CommandId::CloseTab => self.tabs.close_active(),
            CommandId::CloseFile => self.on_file(ctx, |app, file| app.close_file(ctx, file)),
            CommandId::CloseAll => {
                let all: Vec<u64> = self.files.iter().map(|file| file.id).collect();
                all.into_iter().for_each(|id| self.close_file(ctx, id));
            }
            CommandId::Quit => self.quit(ctx),
            CommandId::CopyPath => self.on_target(ctx, |app, target| app.copy(ctx, target.address())),
            CommandId::CopyPython => {
                self.on_target(ctx, |app, target| app.copy(ctx, snippets::python(&target)))
            }
            CommandId::CopyCommand => {
                self.on_target(ctx, |app, target| app.copy(ctx, snippets::command_line(&target)))
            }
            CommandId::Find => self.ask(ctx, &Request::Find),
            CommandId::FilterExplorer => {
                self.session.explorer.0 = true;
                self.explorer.focus_filter();
            }
            CommandId::GoToAnything => self.palette.open(""),
            CommandId::Commands => self.palette.open(">"),
            CommandId::GoTo => self.palette.open(":"),
            CommandId::Explorer => self.session.explorer.0 = !self.session.explorer.0,
            CommandId::Inspector => self.toggle_inspector(ctx),
            CommandId::NextTab => self.tabs.step(true),
            CommandId::PreviousTab => self.tabs.step(false),
            CommandId::KeepTab => self.tabs.keep_active(),
            CommandId::Split => self.on_target(ctx, |app, target| app.tabs.show(target, Where::Side)),
            CommandId::ZoomIn => self.zoom(ctx, 0.1),
            CommandId::ZoomOut => self.zoom(ctx, -0.1),
            CommandId::ZoomReset => self.scale(ctx, 1.0),
            CommandId::Settings => self.open_settings(),
            CommandId::FullScreen => {
                let full = ctx.input(|input| input.viewport().fullscreen.unwrap_or(false));
                ctx.send_viewport_cmd(ViewportCommand::Fullscreen(!full));
            }
            CommandId::ThemeSystem => self.theme(ctx, ThemeChoice::System),
            CommandId::ThemeLight => self.theme(ctx, ThemeChoice::Light),
            CommandId::ThemeDark => self.theme(ctx, ThemeChoice::Dark),
            CommandId::ThemeToggle => {
                let dark = ctx.theme() == egui::Theme::Dark;
                self.theme(ctx, if dark { ThemeChoice::Light } else { ThemeChoice::Dark });
            }
            CommandId::Sql => self.tabs.show_query(self.tabs.query_start()),
            CommandId::Security => match self.tabs.security() {
                Some((name, report)) => self.dialogs.open(Dialog::security(name, report)),
                None => self.say(ctx, "It holds no Python objects that loading would run code for"),
            },
            CommandId::CancelJobs => {
                self.exports.cancel_all();
                self.jobs.cancel_all();
            }
            CommandId::Keys => self.dialogs.open(Dialog::keys(self.tabs.view_commands())),
            CommandId::About => self.dialogs.open(Dialog::About),
        }
    }

    /// Copies what is shown with one pixel an element.
    fn copy_pixels(&mut self, ctx: &Context) {
        if let Err(words) = self.tabs.copy_pixels() {
            self.say(ctx, words);
        }
        ctx.request_repaint();
    }

    /// Takes a picture of what is shown.
    fn capture(&mut self, ctx: &Context, purpose: Purpose) {
        match self.tabs.capture(purpose) {
            true => ctx.request_repaint(),
            false => self.say(ctx, "This view is no picture and no plot"),
        }
    }

    /// Asks how the bytes of the file that is shown are laid out.
    fn open_raw(&mut self) {
        let file = self.tabs.active().and_then(|pane| self.files.get(pane.file_number()?));
        let Some(file) = file.filter(|file| file.parts.is_empty()) else { return };
        self.dialogs.open(Dialog::raw(file.id, file.path.clone(), &file.options));
    }

    /// Does something with the file that is shown.
    fn on_file(&mut self, ctx: &Context, does: impl FnOnce(&mut Self, u64)) {
        match self.tabs.active().and_then(|pane| pane.file_number()) {
            Some(file) => does(self, file),
            None => self.say(ctx, "This tab belongs to no file"),
        }
    }

    /// Does something with the node that is shown.
    fn on_target(&mut self, ctx: &Context, does: impl FnOnce(&mut Self, Target)) {
        match self.tabs.target().cloned() {
            Some(target) => does(self, target),
            None if self.tabs.active().is_some_and(|pane| pane.is_shown()) => {
                self.say(ctx, "This tab shows no single node of a file");
            }
            None => self.say(ctx, "It is not open yet"),
        }
    }

    /// Larger or smaller text, in tenths.
    fn zoom(&mut self, ctx: &Context, by: f32) {
        self.scale(ctx, ((self.settings.scale + by) * 10.0).round() / 10.0);
    }

    fn toggle_inspector(&mut self, ctx: &Context) {
        if ctx.content_rect().width() >= NARROW {
            self.session.inspector.0 = !self.session.inspector.0;
        } else {
            self.narrow_inspector = !(self.session.inspector.0 && self.narrow_inspector);
            self.session.inspector.0 = true;
        }
    }
}
