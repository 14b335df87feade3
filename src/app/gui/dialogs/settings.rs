//! The settings: what is changed shows at once and is kept in the file that is named at the bottom.

use egui::{ComboBox, Slider, Ui};
use gander::data::plane::color::ColorMap;

use super::export::row;
use super::{head, height_left, room};
use crate::gui::commands::Action;
use crate::gui::number_format::NumberFormat;
use crate::gui::settings::{MEMORY, Problem, SCALES, Settings, Word};
use crate::gui::theme::{self, Severity, Theme, space};
use crate::gui::ui::spin_button;
use crate::isolation;

/// The width of what is chosen from a list.
const CHOICE: f32 = 200.0;

/// The state of the dialog.
pub(crate) struct SettingsForm {
    now: Settings,
    /// A scale that is being chosen: it counts when the slider is let go of, which else would move below the pointer.
    scale: f32,
    path: Option<String>,
    problems: Vec<Problem>,
}

impl SettingsForm {
    pub(super) fn new(now: Settings, path: Option<String>, problems: Vec<Problem>) -> Self {
        SettingsForm { scale: now.scale, now, path, problems }
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) -> bool {
        room(ui, 560.0, 620.0);
        let close = head(ui, "Settings");
        let before = self.now.clone();
        let height = height_left(ui, 170.0);
        egui::ScrollArea::vertical().max_height(height).auto_shrink([false, true]).show(ui, |ui| {
            self.problems(ui);
            self.look(ui);
            theme::section_head(ui, "Views begin as", None);
            let preferences = &mut self.now.preferences;
            words(ui, "Tables", &mut preferences.table);
            words(ui, "Arrays", &mut preferences.array);
            words(ui, "Models", &mut preferences.model);
            words(ui, "Images", &mut preferences.image);
            ui.add_space(space::S3);
            theme::section_head(ui, "Colours of heat maps", None);
            map(ui, "Sequential", false, &mut preferences.sequential);
            map(ui, "About zero", true, &mut preferences.diverging);
            ui.add_space(space::S3);
            self.foot(ui);
        });
        if self.now != before {
            actions.push(Action::Settings(Box::new(self.now.clone())));
        }
        close
    }

    /// What of the file does not count.
    fn problems(&self, ui: &mut Ui) {
        if self.problems.is_empty() {
            return;
        }
        let words: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        let lines: Vec<(&str, Option<&str>)> = words.iter().map(|words| (words.as_str(), None)).collect();
        let title = "Some of the file did not count when the window opened";
        theme::problem_banner(ui, Severity::Problem, title, &lines);
        ui.add_space(space::S2);
    }

    fn look(&mut self, ui: &mut Ui) {
        theme::section_head(ui, "Look", None);
        row(ui, "Theme", |ui| {
            let all: Vec<_> = Word::ALL.iter().map(|(value, _, words)| (*value, *words)).collect();
            theme::segmented(ui, "Theme", &mut self.now.theme, &all);
        });
        row(ui, "Scale", |ui| {
            let slider = Slider::new(&mut self.scale, SCALES).step_by(0.05).fixed_decimals(2);
            let slider = slider
                .custom_formatter(|scale, _| format!("{:.0} %", scale * 100.0))
                .custom_parser(|text| Some(text.trim_end_matches(['%', ' ']).parse::<f64>().ok()? / 100.0));
            let response = ui.add(slider);
            response.widget_info(|| egui::WidgetInfo::slider(true, self.scale.into(), "Scale"));
            if self.scale != self.now.scale && !response.dragged() {
                self.now.scale = self.scale.clamp(*SCALES.start(), *SCALES.end());
            }
        });
        ui.add_space(space::S3);
        theme::section_head(ui, "Values", None);
        row(ui, "Numbers", |ui| {
            let numbers = &mut self.now.preferences.numbers;
            let shown = ComboBox::from_id_salt("numbers").selected_text(numbers.words()).width(CHOICE);
            let shown = shown.show_ui(ui, |ui| {
                for format in NumberFormat::ALL {
                    ui.selectable_value(numbers, format, format.words());
                }
            });
            named(&shown.response, "Numbers", &numbers.words());
            remark(ui, "in tables, unless a column differs");
        });
        row(ui, "Memory", |ui| {
            let value = egui::DragValue::new(&mut self.now.memory).range(MEMORY).speed(0.05).suffix(" GB");
            spin_button(ui, "Memory, in GB", value.max_decimals(2));
            remark(ui, "for what was read and decoded");
        });
        self.readers(ui);
        ui.add_space(space::S3);
    }

    /// Where files are read.
    fn readers(&mut self, ui: &mut Ui) {
        row(ui, "Readers", |ui| {
            ui.checkbox(&mut self.now.isolate, "Read each file in a process of its own").on_hover_text(
                "What a file does to its reader ends there; it costs some milliseconds a file",
            );
            if self.now.isolate != isolation::is_on() {
                remark(ui, "from the next start on");
            }
        });
    }

    /// Where it is kept.
    fn foot(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        match &self.path {
            Some(path) => {
                ui.label(theme::dim(theme, "Kept in this file, with the comments that you write into it:"));
                let text = theme::mono(path).color(theme.dim);
                ui.add(egui::Label::new(text).truncate()).on_hover_text(path);
            }
            None => drop(ui.label(theme::dim(theme, "There is no folder to keep them in."))),
        }
        ui.add_space(space::S2);
        if theme::button(ui, "Reset to defaults").clicked() {
            self.now = Settings::default();
            self.scale = self.now.scale;
        }
    }
}

/// A few words behind a choice: cut where there is no room, since a dialog that is wider than the window loses its edges.
fn remark(ui: &mut Ui, words: &str) {
    ui.add(egui::Label::new(theme::dim(Theme::of(ui), words)).truncate());
}

/// A choice by words.
fn words<T: Word>(ui: &mut Ui, name: &str, value: &mut T) {
    let text = T::ALL.iter().find(|(one, ..)| one == value).map_or("", |(_, _, words)| *words);
    row(ui, name, |ui| {
        let shown = ComboBox::from_id_salt(name).selected_text(text).width(CHOICE).show_ui(ui, |ui| {
            for (one, _, words) in T::ALL {
                ui.selectable_value(value, *one, *words);
            }
        });
        named(&shown.response, name, text);
    });
}

/// A choice of a colour map of one kind.
fn map(ui: &mut Ui, name: &str, diverges: bool, value: &mut ColorMap) {
    let text = value.name();
    row(ui, name, |ui| {
        let shown = ComboBox::from_id_salt(name).selected_text(text).width(CHOICE).show_ui(ui, |ui| {
            for map in ColorMap::all().filter(|map| map.diverges() == diverges) {
                ui.selectable_value(value, map, map.name());
            }
        });
        named(&shown.response, name, text);
    });
}

/// What a screen reader says of a list to choose from.
fn named(response: &egui::Response, name: &str, value: &str) {
    response
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, format!("{name}: {value}")));
}
