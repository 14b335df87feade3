//! The settings as they take effect: what is changed shows at once, and a job writes it.

use egui::Context;
use gander::bytes::cache::DECODED;
use gander::jobs::Priority;

use super::App;
use crate::gui::dialogs::Dialog;
use crate::gui::settings::{SCALES, Settings, ThemeChoice};

impl App {
    /// Lets what was read from the file take effect.
    pub(super) fn start_settings(&mut self, ctx: &Context) {
        let usual = Settings::default();
        if (self.settings.scale - usual.scale).abs() > 0.001 {
            ctx.set_zoom_factor(self.settings.scale);
        }
        if self.settings.memory_bytes() != usual.memory_bytes() {
            self.allow_memory();
        }
        if let Some(first) = self.settings_problems.first() {
            let more = match self.settings_problems.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            self.say(ctx, format!("Settings, {first}{more}"));
        }
    }

    /// Takes changed settings.
    pub(super) fn set_settings(&mut self, ctx: &Context, settings: Settings) {
        let old = std::mem::replace(&mut self.settings, settings);
        if old.theme != self.settings.theme {
            self.show_theme(ctx, self.settings.theme);
        }
        if old.scale != self.settings.scale {
            ctx.set_zoom_factor(self.settings.scale);
        }
        if old.memory != self.settings.memory {
            self.allow_memory();
        }
        self.workspace.preferences = self.settings.preferences.clone();
        if self.shot.is_none() {
            self.settings_file.keep(&self.jobs, &self.settings);
        }
        ctx.request_repaint();
    }

    /// Opens their dialog.
    pub(super) fn open_settings(&mut self) {
        let path = self.settings_file.path().map(|path| path.display().to_string());
        let problems = self.settings_problems.clone();
        self.dialogs.open(Dialog::settings(self.settings.clone(), path, problems));
    }

    /// Chooses a theme and keeps it.
    pub(super) fn theme(&mut self, ctx: &Context, theme: ThemeChoice) {
        self.set_settings(ctx, Settings { theme, ..self.settings.clone() });
        // One that was asked for on the command line may be another one.
        self.show_theme(ctx, theme);
    }

    /// Shows everything at a scale and keeps it.
    pub(super) fn scale(&mut self, ctx: &Context, scale: f32) {
        let scale = scale.clamp(*SCALES.start(), *SCALES.end());
        self.set_settings(ctx, Settings { scale, ..self.settings.clone() });
    }

    pub(super) fn show_theme(&self, ctx: &Context, theme: ThemeChoice) {
        ctx.set_theme(match theme {
            ThemeChoice::System => egui::ThemePreference::System,
            ThemeChoice::Light => egui::ThemePreference::Light,
            ThemeChoice::Dark => egui::ThemePreference::Dark,
        });
    }

    /// What is beyond the new bound is dropped by a job, since that takes the locks of all caches.
    fn allow_memory(&self) {
        let most = self.settings.memory_bytes();
        self.jobs.run("", Priority::Background, move |_| {
            DECODED.allow(most);
            crate::isolation::make_room();
        });
    }
}
