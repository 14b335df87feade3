//! The lines of the export dialogs.

use egui::{Align, ComboBox, Layout, RichText, ScrollArea, TextEdit, Ui, vec2};
use gander::bytes::display;
use gander::convert::{self, Item, Plan, Target as FileType};
use gander::data::format::{OptionSpec, Options, worded};

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Severity, Theme, size, space};

/// The width of the names at the left.
const NAMES: f32 = 108.0;
/// The height of the formats to choose from: four lines.
const FORMATS: f32 = 116.0;

/// A line with a name at its left.
pub(in super::super) fn row(ui: &mut Ui, name: &str, add: impl FnOnce(&mut Ui)) {
    named(ui, name, Layout::left_to_right(Align::Center), add);
}

/// Lines below each other with a name at their left.
pub(super) fn column(ui: &mut Ui, name: &str, add: impl FnOnce(&mut Ui)) {
    named(ui, name, Layout::top_down(Align::Min), add);
}

/// A name at the left, and beside it what has a layout of its own.
fn named(ui: &mut Ui, name: &str, layout: Layout, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        let (place, _) = ui.allocate_exact_size(vec2(NAMES, size::CONTROL), egui::Sense::hover());
        let theme = Theme::of(ui);
        let at = egui::pos2(place.left(), place.center().y);
        ui.painter().text(at, egui::Align2::LEFT_CENTER, name, theme::body_font(), theme.dim);
        let width = ui.available_width();
        ui.allocate_ui_with_layout(vec2(width, size::CONTROL), layout, |ui| {
            ui.set_max_width(width);
            add(ui);
        });
    });
}

/// The formats to choose from, of which a few lines are in sight at once; those of these ids come first.
pub(super) fn formats(
    ui: &mut Ui,
    types: &[&'static FileType],
    first: &[&str],
    mut add: impl FnMut(&mut Ui, &'static FileType),
) {
    named(ui, "Format", Layout::top_down(Align::Min), |ui| {
        let area = ScrollArea::vertical().id_salt("formats").max_height(FORMATS);
        // Beside a name there is the height of a line: what is asked for is taken all the same.
        let area = area.min_scrolled_height(FORMATS);
        area.auto_shrink([false, true]).show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                let is_first = |file_type: &&'static FileType| first.contains(&file_type.id);
                types.iter().copied().filter(is_first).for_each(|file_type| add(ui, file_type));
                types.iter().copied().filter(|t| !is_first(t)).for_each(|file_type| add(ui, file_type));
            });
        });
    });
}

/// A line of text that may be left empty.
pub(super) fn text(ui: &mut Ui, name: &str, hint: &str, value: &mut String) {
    row(ui, name, |ui| {
        let edit = TextEdit::singleline(value).hint_text(hint).font(theme::mono_font());
        let edit = ui.add(edit.desired_width(ui.available_width()).margin(egui::Margin::symmetric(8, 5)));
        edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, name));
    });
}

/// What may be set for a file type: these of its options, and those of how arrays get to it.
pub(super) fn options(
    ui: &mut Ui,
    file_type: &FileType,
    own: impl Iterator<Item = &'static OptionSpec>,
    options: &mut Options,
) {
    for spec in own.chain(file_type.array_options()) {
        let default = file_type.default_of(spec);
        let mut value = options.get(spec.name).unwrap_or(default).to_owned();
        let before = value.clone();
        row(ui, &label(spec.name), |ui| {
            if spec.values.is_empty() {
                let edit = TextEdit::singleline(&mut value).desired_width(120.0);
                let edit = ui.add(edit.margin(egui::Margin::symmetric(8, 5)));
                edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, spec.name));
            } else {
                ComboBox::from_id_salt(spec.name).selected_text(&value).width(120.0).show_ui(ui, |ui| {
                    for choice in spec.values {
                        ui.selectable_value(&mut value, (*choice).to_owned(), *choice);
                    }
                });
            }
            ui.add(egui::Label::new(theme::dim(Theme::of(ui), spec.help)).truncate())
                .on_hover_text(spec.help);
        });
        if value != before {
            if value == default {
                options.0.remove(spec.name);
            } else {
                options.set(spec.name, value)
            }
        }
    }
}

/// Whether numbers are written as they are shown or as they are stored, where that is not the same.
pub(super) fn values(ui: &mut Ui, file_type: &FileType, items: &[Item], options: &mut Options) {
    if !convert::is_choice(items, file_type) {
        return;
    }
    let spec = &convert::VALUES;
    let usual = if file_type.shows_values() { "shown" } else { "stored" };
    let before = options.get(spec.name).unwrap_or(usual).to_owned();
    let mut shown = before == "shown";
    row(ui, "Values", |ui| {
        let choices = [(true, "As shown"), (false, "As stored")];
        theme::segmented(ui, "Values", &mut shown, &choices);
        let words = match shown {
            true => "scaled and dated, missing ones empty",
            false => "the numbers in the file, before scale, offset and fill value",
        };
        ui.add(egui::Label::new(theme::dim(Theme::of(ui), words)).truncate()).on_hover_text(spec.help);
    });
    let chosen = if shown { "shown" } else { "stored" };
    if chosen != before {
        match chosen == usual {
            true => drop(options.0.remove(spec.name)),
            false => options.set(spec.name, chosen),
        }
    }
}

/// Whether an array that becomes a table is a row an element.
pub(super) fn layout(ui: &mut Ui, file_type: &FileType, items: &[Item], options: &mut Options) {
    if !convert::has_layouts(items, file_type) {
        return;
    }
    let spec = &convert::LAYOUT;
    let before = options.get(spec.name) == Some("long");
    let mut long = before;
    row(ui, "Table", |ui| {
        theme::segmented(ui, "Table", &mut long, &[(false, "Wide"), (true, "Long")]);
        let words = match long {
            true => "a row an element, with its coordinates beside it",
            false => "rows and columns as they lie in the array",
        };
        ui.add(egui::Label::new(theme::dim(Theme::of(ui), words)).truncate()).on_hover_text(spec.help);
    });
    match (before, long) {
        (true, false) => drop(options.0.remove(spec.name)),
        (false, true) => options.set(spec.name, "long"),
        _ => {}
    }
}

/// An option's name as words.
fn label(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// How many lines of a result are listed.
const LISTED: usize = 500;

/// What the result will hold.
pub(super) fn outline(ui: &mut Ui, plan: &Plan) {
    ui.add_space(space::S2);
    let mut words = Vec::new();
    if let Some(rows) = plan.rows {
        words.push(format!("{rows} rows"));
    }
    words.push(display::plural(
        plan.outline.len() as u64,
        if plan.rows.is_some() { "column" } else { "part" },
    ));
    if let Some(bytes) = plan.bytes {
        words.push(format!("{} before compression", display::bytes(bytes)));
    }
    let note = words.join(" · ");
    theme::section_head(ui, "Result", Some((&note, Theme::of(ui).dim)));
    let theme = Theme::of(ui);
    let lines = plan.outline.len().min(LISTED);
    let height = (lines as f32 * 20.0).clamp(20.0, 120.0);
    ScrollArea::vertical().id_salt("outline").max_height(height).auto_shrink([false, false]).show_rows(
        ui,
        16.0,
        lines,
        |ui, range| {
            for (name, what) in &plan.outline[range] {
                ui.horizontal(|ui| {
                    ui.spacing_mut().interact_size.y = 16.0;
                    ui.set_height(16.0);
                    let half = ui.available_width() / 2.0;
                    ui.allocate_ui_with_layout(
                        vec2(half, 16.0),
                        Layout::left_to_right(Align::Center),
                        |ui| {
                            ui.set_width(half);
                            ui.add(egui::Label::new(name).truncate());
                        },
                    );
                    ui.add(egui::Label::new(theme::mono(what).color(theme.dim)).truncate());
                });
            }
        },
    );
}

/// What the result will not hold; scrolled to where `reveal` says so.
pub(super) fn losses(ui: &mut Ui, plan: &Plan, reveal: bool) {
    ui.add_space(space::S2);
    let theme = Theme::of(ui);
    if plan.losses.is_empty() {
        ui.horizontal(|ui| {
            ui.label(theme::icon(Icon::Good).color(theme.good));
            ui.label(
                RichText::new("Nothing is lost: names, types and values stay as they are").color(theme.good),
            );
        });
        return;
    }
    let mut told = worded(&plan.losses);
    let serious = told.iter().filter(|loss| loss.serious).count() as u64;
    let gone = told.iter().filter(|loss| !loss.kind.is_form()).count() as u64;
    let note = match (serious, gone) {
        (0, 0) => "only the outer form changes".to_owned(),
        (0, 1) => "values stay; 1 of them drops what is said of values".to_owned(),
        (0, gone) => format!("values stay; {} of them drop what is said of values", display::count(gone)),
        (1, _) => "1 of them changes or drops values".to_owned(),
        (serious, _) => format!("{} of them change or drop values", display::count(serious)),
    };
    let color = if serious > 0 { theme.bad } else { theme.warn };
    theme::section_head(ui, "What does not survive", Some((&note, color)));
    if reveal {
        ui.scroll_to_cursor(Some(egui::Align::Center));
    }
    let height = (told.len() as f32 * 20.0).clamp(20.0, 110.0);
    told.sort_by_key(|loss| !loss.serious);
    ScrollArea::vertical().id_salt("losses").max_height(height).auto_shrink([false, true]).show(ui, |ui| {
        for loss in told.into_iter().take(LISTED) {
            ui.horizontal_wrapped(|ui| {
                let color = if loss.serious { theme.bad } else { theme.warn };
                let glyph = if loss.serious { Icon::Problem } else { Icon::Warning };
                ui.label(theme::icon(glyph).color(color));
                ui.label(loss.to_string());
            });
        }
    });
}

/// Why it cannot be done.
pub(super) fn problem(ui: &mut Ui, title: &str, words: &str) {
    ui.add_space(space::S2);
    theme::problem_banner(ui, Severity::Problem, title, &[(words, None)]);
}
