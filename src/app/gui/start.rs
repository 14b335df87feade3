//! The empty window: what can be dropped here, the buttons that open something, recent files.

use std::collections::HashSet;

use egui::{
    Align, Label, Layout, Margin, RichText, Role, ScrollArea, Sense, TextEdit, Ui, WidgetInfo, pos2, vec2,
};
use gander::bytes::display;
use gander::data::content::Kind;
use gander::data::format::Format;
use gander::formats::FORMATS;

use super::commands::{self, Action, CommandId};
use super::icons::Icon;
use super::session::{self, Recent};
use super::theme::{self, Theme, size, space};
use super::ui::elided;

/// The column in the middle of the window.
const WIDTH: f32 = 640.0;
/// The room of the names of kinds.
const NAME: f32 = 76.0;

/// Draws it.
pub(crate) fn ui(ui: &mut Ui, recent: &[Recent], actions: &mut Vec<Action>) {
    let area = ui.available_rect_before_wrap();
    let wanted = 460.0 + if recent.is_empty() { 0.0 } else { 40.0 + recent.len().min(8) as f32 * 28.0 };
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        let width = WIDTH.min(area.width() - 2.0 * space::S6);
        let left = ((area.width() - width) / 2.0).max(space::S6).floor();
        ui.add_space(((area.height() - wanted) * 0.42).max(space::S6).floor());
        ui.horizontal(|ui| {
            ui.add_space(left);
            ui.vertical(|ui| {
                ui.set_width(width);
                welcome(ui, actions);
                ui.add_space(space::S6);
                // Who was here before wants those; the long list is for who was not.
                if !recent.is_empty() {
                    recent_files(ui, recent, actions);
                    ui.add_space(space::S6);
                }
                kinds(ui);
                ui.add_space(space::S6);
            });
        });
    });
}

fn welcome(ui: &mut Ui, actions: &mut Vec<Action>) {
    let theme = Theme::of(ui);
    ui.horizontal(|ui| {
        ui.label(theme::icon(Icon::Drop).size(32.0).color(theme.accent));
        ui.add_space(space::S1);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.label(RichText::new("Drop files or folders here").heading());
            ui.label(theme::dim(
                theme,
                "Left half of the window: open. Right half: convert. Your files are never changed.",
            ));
        });
    });
    ui.add_space(space::S3);
    ui.horizontal_wrapped(|ui| {
        let keys = |id| commands::get(id).label.keys_text(ui.ctx());
        let (file, folder) = (keys(CommandId::OpenFile), keys(CommandId::OpenFolder));
        if theme::primary_button(ui, "Open file…").on_hover_text(file).clicked() {
            actions.push(Action::Do(CommandId::OpenFile));
        }
        if theme::button(ui, "Open folder…").on_hover_text(folder).clicked() {
            actions.push(Action::Do(CommandId::OpenFolder));
        }
        let tip = "Small files of each kind that come with Gander";
        if theme::button(ui, "Open samples").on_hover_text(tip).clicked() {
            actions.push(Action::Samples);
        }
    });
}

/// What can be opened, by kind; of what is looked for, each format with all its endings.
fn kinds(ui: &mut Ui) {
    let theme = Theme::of(ui);
    let id = ui.scope_id().with("formats");
    let mut words: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    ui.horizontal(|ui| {
        theme::section_head(ui, "What can be opened", None);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let field = TextEdit::singleline(&mut words).hint_text("Find a format").desired_width(160.0);
            let field = ui.add(field.margin(Margin::symmetric(8, 4)));
            field.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Find a format"));
        });
    });
    ui.add_space(space::S1);
    let wanted = words.trim().trim_start_matches(['*', '.']).to_lowercase();
    ui.data_mut(|data| data.insert_temp(id, words));
    if !wanted.is_empty() {
        found(ui, &wanted);
        return;
    }
    for line in Line::ALL {
        let (icon, name) = line.look();
        let names = names(line);
        if !names.is_empty() {
            group(ui, icon, name, |ui| {
                side_by_side(ui, &names);
            });
        }
    }
    group(ui, Icon::Binary, "Others", |ui| {
        ui.label(theme::dim(theme, "Anything else, as text or bytes"));
    });
}

/// A line of a list: an icon, a name, and what stands beside it, which may need several lines.
fn group(ui: &mut Ui, icon: Icon, name: &str, beside: impl FnOnce(&mut Ui)) {
    let theme = Theme::of(ui);
    ui.horizontal_top(|ui| {
        ui.label(theme::icon(icon).color(theme.dim));
        let (place, _) = ui.allocate_exact_size(vec2(NAME, 18.0), Sense::hover());
        let mut cell = ui.new_child(egui::UiBuilder::new().max_rect(place).id_salt(name));
        cell.add(Label::new(name).truncate());
        beside(ui);
    });
}

/// Names one after the other, on as many lines as they need.
fn side_by_side<T: AsRef<str>>(ui: &mut Ui, names: &[T]) {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    // Lines break behind the ordinary space alone: one of two would stand at the beginning of the next line.
    let words = theme::mono(names.join("\u{a0} ")).color(Theme::of(ui).dim);
    let label = ui.add(Label::new(words).wrap());
    label.widget_info(|| WidgetInfo::labeled(Role::Label, true, names.join("  ")));
}

/// The formats that are called so, or whose files end so.
fn found(ui: &mut Ui, wanted: &str) {
    let theme = Theme::of(ui);
    let fits = |format: &&&Format| {
        let has = |text: &str| text.to_lowercase().contains(wanted);
        has(format.name) || has(format.id) || format.extensions.iter().any(|ending| has(ending))
    };
    let mut is_none = true;
    for format in FORMATS.iter().filter(|format| line_of(format).is_some()).filter(fits) {
        is_none = false;
        let icon = line_of(format).map_or(Icon::File, |line| line.look().0);
        ui.horizontal_top(|ui| {
            ui.label(theme::icon(icon).color(theme.dim));
            ui.label(format.name);
            let endings: Vec<String> = format.extensions.iter().map(|ending| format!(".{ending}")).collect();
            side_by_side(ui, &endings);
        });
    }
    if is_none {
        ui.label(theme::dim(theme, "No format is called so. What is not known opens as text or bytes."));
    }
}

/// What the lines are about. Bytes have one of their own, without names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Tables,
    Arrays,
    Models,
    Images,
    Video,
    Sound,
    Texts,
    Archives,
}

impl Line {
    const ALL: [Line; 8] = [
        Line::Tables,
        Line::Arrays,
        Line::Models,
        Line::Images,
        Line::Video,
        Line::Sound,
        Line::Texts,
        Line::Archives,
    ];

    fn look(self) -> (Icon, &'static str) {
        match self {
            Line::Tables => (Icon::Table, "Tables"),
            Line::Arrays => (Icon::Array, "Arrays"),
            Line::Models => (Icon::Tensor, "Models"),
            Line::Images => (Icon::Image, "Images"),
            Line::Video => (Icon::Play, "Video"),
            Line::Sound => (Icon::Histogram, "Sound"),
            Line::Texts => (Icon::Document, "Text"),
            Line::Archives => (Icon::Archive, "Archives"),
        }
    }
}

/// Where a format stands: by its first kind that is no group, but for models, sound and what is packed. Formats that
/// are recognised only have no place, nor has what fits any bytes.
fn line_of(format: &Format) -> Option<Line> {
    // Containers name no kind.
    let containers = ["gzip", "zstd", "bzip2", "xz", "lz4", "zlib", "zip", "tar"];
    let kind = format.reads.iter().find(|kind| !matches!(kind, Kind::Group | Kind::Bytes));
    let is_of = |word: &str| format.mime.iter().any(|mime| mime.starts_with(word));
    match kind.or(format.reads.first()) {
        _ if containers.contains(&format.id) => Some(Line::Archives),
        _ if format.holds_weights => Some(Line::Models),
        _ if is_of("audio/") => Some(Line::Sound),
        _ if is_of("video/") => Some(Line::Video),
        Some(Kind::Table) => Some(Line::Tables),
        Some(Kind::Array) => Some(Line::Arrays),
        Some(Kind::Image) => Some(Line::Images),
        Some(Kind::Text) => Some(Line::Texts),
        Some(Kind::Graph) => Some(Line::Models),
        Some(Kind::Group) => Some(Line::Archives),
        Some(Kind::Bytes) | None => None,
    }
}

/// The formats of a line: by their usual ending, and behind these by name where they are folders or have none.
fn names(line: Line) -> Vec<&'static str> {
    let formats = FORMATS.iter().filter(|format| line_of(format) == Some(line));
    let (files, others): (Vec<&Format>, Vec<&Format>) =
        formats.partition(|format| !format.extensions.is_empty());
    let endings = files.into_iter().filter_map(|format| format.extensions.first().copied());
    let mut seen = HashSet::new();
    endings.chain(others.into_iter().map(|format| format.name)).filter(|name| seen.insert(*name)).collect()
}

fn recent_files(ui: &mut Ui, recent: &[Recent], actions: &mut Vec<Action>) {
    theme::section_head(ui, "Recent", None);
    ui.add_space(space::S1);
    let now = session::now();
    for (index, recent) in recent.iter().take(8).enumerate() {
        row(ui, index, recent, now, actions);
    }
}

fn row(ui: &mut Ui, index: usize, recent: &Recent, now: u64, actions: &mut Vec<Action>) {
    let theme = Theme::of(ui);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), size::ROW), Sense::hover());
    let response = ui.interact(rect, ui.scope_id().with(("recent", index)), Sense::click());
    let name = recent.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    let hot = response.hovered() || response.has_focus();
    if hot {
        ui.painter().rect_filled(rect.expand2(vec2(space::S2, 0.0)), size::CORNER, theme.bg3);
    }
    let line = |text: String, font, color, width| elided(ui.painter(), &text, font, color, width);
    let middle = |galley: &egui::Galley| (rect.center().y - galley.size().y / 2.0).round();
    let when = line(session::ago(recent.when, now), theme::small_font(), theme.dim, 110.0);
    let bytes = recent.bytes.map_or_else(|| "folder".to_owned(), display::bytes);
    let bytes = line(bytes, theme::mono_small_font(), theme.dim, 80.0);
    let right = rect.right();
    let when_left = right - when.size().x;
    let bytes_left = right - 110.0 - bytes.size().x;
    let name_width = (rect.width() - 200.0) * 0.6;
    let name = line(name, theme::body_font(), theme.text, name_width);
    let folder = recent.path.parent().map_or_else(String::new, |folder| folder.display().to_string());
    let folder_left = rect.left() + name.size().x + space::S3;
    let folder = line(folder, theme::small_font(), theme.dim, right - 200.0 - folder_left);
    let y = [middle(&name), middle(&folder), middle(&bytes), middle(&when)];
    let painter = ui.painter();
    painter.galley(pos2(rect.left(), y[0]), name, theme.text);
    painter.galley(pos2(folder_left, y[1]), folder, theme.dim);
    painter.galley(pos2(bytes_left, y[2]), bytes, theme.dim);
    painter.galley(pos2(when_left, y[3]), when, theme.dim);
    let tip = format!("{}\n{}", recent.path.display(), recent.format);
    if response.on_hover_text(tip).clicked() {
        actions.push(Action::Open(vec![recent.path.clone()]));
    }
}
