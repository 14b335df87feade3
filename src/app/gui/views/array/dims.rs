//! The dimension mapper: the slice as NumPy writes it, which axes are rows and columns, and a slider
//! with play for each of the others.

use gander::data::axes::AxisCoordinates;
use gander::data::plane::{Mapping, Role};
use gander::jobs::{JobSpec, Jobs, Slot};
use std::sync::Arc;

use egui::{
    Align, DragValue, Label, Layout, Rect, RichText, ScrollArea, Sense, Slider, TextEdit, Ui, UiBuilder, vec2,
};

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::drop_down;

/// Steps of a playing slider, each second, when nothing else was chosen.
pub(crate) const RATE: f64 = 8.0;
/// What may be chosen. Slices that take longer to read come as fast as they can be read.
const RATES: [f64; 8] = [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
/// Sliders in sight at once; more scroll.
const ROWS: usize = 3;

/// What the mapper remembers between frames.
pub(crate) struct Dims {
    /// What the axes stand for.
    pub(crate) coordinates: Arc<AxisCoordinates>,
    /// What reads the coordinates of an axis.
    reading: Vec<(usize, Slot<(), ()>)>,
    /// The text as it is being typed.
    typed: Option<String>,
    /// Why the typed text does not do.
    wrong: Option<String>,
    /// The axis that plays, and when it moved last.
    playing: Option<(usize, f64)>,
    /// Steps of a playing slider each second.
    rate: f64,
    /// The axis that was moved last, which keys move too.
    active: Option<usize>,
}

impl Default for Dims {
    fn default() -> Self {
        Dims::new(AxisCoordinates::default())
    }
}

impl Dims {
    /// For axes that mean this.
    pub(crate) fn new(coordinates: AxisCoordinates) -> Self {
        let reading = coordinates.stored().map(|axis| (axis, Slot::default())).collect();
        let coordinates = Arc::new(coordinates);
        Dims { coordinates, reading, typed: None, wrong: None, playing: None, rate: RATE, active: None }
    }

    /// Asks for the coordinates.
    pub(crate) fn load(&self, jobs: &Jobs) {
        for (axis, slot) in &self.reading {
            let (axis, coordinates) = (*axis, self.coordinates.clone());
            slot.get(jobs, &(), JobSpec::view("coordinates"), move |task| coordinates.read(task, axis));
        }
    }

    /// Stops reading.
    pub(crate) fn stop(&self) {
        self.reading.iter().for_each(|(_, slot)| slot.cancel());
    }

    fn name(&self, axis: usize) -> String {
        self.coordinates.name(axis)
    }

    /// Steps each second, for the session.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Sets the steps each second.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.rate = rate.clamp(0.1, 60.0);
    }

    /// The axis that keys move: the one that was moved last, else the first with a slider.
    pub(crate) fn active(&self, mapping: &Mapping, image: bool) -> Option<usize> {
        let others = moving(mapping, image);
        self.active.filter(|axis| others.contains(axis)).or(others.first().copied())
    }

    /// Moves the active slider by so many steps, not beyond its ends.
    pub(crate) fn step(&mut self, mapping: &mut Mapping, image: bool, by: i64) {
        let Some(axis) = self.active(mapping, image) else { return };
        let (first, last) = mapping.reach(axis);
        let to = mapping.position(axis).saturating_add_signed(by).clamp(first, last);
        mapping.set_position(axis, to);
        self.active = Some(axis);
    }

    /// Starts or stops the active slider.
    pub(crate) fn toggle_play(&mut self, ui: &Ui, mapping: &Mapping, image: bool) {
        let now = ui.input(|input| input.time);
        self.playing = match self.playing {
            Some(_) => None,
            None => self.active(mapping, image).map(|axis| (axis, now)),
        };
    }

    /// The bar below the toolbar; `right` stands at its right end. True if the mapping changed.
    pub(crate) fn bar(
        &mut self,
        ui: &mut Ui,
        mapping: &mut Mapping,
        image: bool,
        right: impl FnOnce(&mut Ui),
    ) -> bool {
        let theme = Theme::of(ui);
        let area = ui.available_rect_before_wrap();
        let bar = Rect::from_min_size(area.min, vec2(area.width(), size::TOOLBAR));
        ui.allocate_rect(bar, Sense::hover());
        ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, theme.hairline());
        let inner = bar.shrink2(vec2(space::S3, 5.0));
        let builder = UiBuilder::new()
            .max_rect(inner)
            .id_salt("dims right")
            .layout(Layout::right_to_left(Align::Center));
        let mut child = ui.new_child(builder);
        right(&mut child);
        let mut left = inner;
        left.max.x = (child.min_rect().left() - space::S2).max(left.min.x);
        let builder =
            UiBuilder::new().max_rect(left).id_salt("dims").layout(Layout::left_to_right(Align::Center));
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(left.expand2(vec2(2.0, 5.0)));
        let before = mapping.clone();
        self.text(&mut child, mapping, image);
        if mapping.shape().len() >= 2 {
            let room = left.width() - self.names_width(mapping);
            self.axis_menu(&mut child, mapping, Role::Rows, room);
            self.axis_menu(&mut child, mapping, Role::Columns, room);
            if theme::icon_button(&mut child, Icon::Swap, "Swap rows and columns").clicked() {
                mapping.transpose();
            }
        }
        *mapping != before
    }

    /// `a[3, :, ::2]`, to be edited.
    fn text(&mut self, ui: &mut Ui, mapping: &mut Mapping, image: bool) {
        let theme = Theme::of(ui);
        if mapping.shape().is_empty() {
            ui.label(theme::mono("a[()]").color(theme.dim))
                .on_hover_text("A scalar: an array of one element");
            return;
        }
        let standing = format!("a[{}]", mapping.text(image));
        let mut text = self.typed.clone().unwrap_or_else(|| standing.clone());
        let advance = ui.fonts_mut(|fonts| fonts.glyph_width(&theme::mono_font(), '0'));
        let width = ((text.chars().count() as f32 + 1.5) * advance)
            .clamp(60.0, (ui.available_width() - 210.0).clamp(60.0, 320.0));
        let color = if self.wrong.is_some() { theme.bad } else { theme.accent };
        let edit = TextEdit::singleline(&mut text)
            .font(theme::mono_font())
            .text_color(color)
            .frame(egui::Frame::NONE)
            .margin(vec2(0.0, 4.0))
            .align(egui::Align2::LEFT_CENTER)
            .min_size(vec2(0.0, size::CONTROL))
            .desired_width(width);
        let response = ui.add(edit);
        response.widget_info(|| {
            let mut info = egui::WidgetInfo::text_edit(true, &standing, &standing, "");
            info.label = Some("Slice in NumPy notation".to_owned());
            info
        });
        if response.changed() {
            self.wrong = mapping.clone().parse(&text).err().map(|error| error.message());
            self.typed = Some(text.clone());
        }
        if response.lost_focus() {
            if self.typed.is_some() && self.wrong.is_none() && !ui.input(|i| i.key_pressed(egui::Key::Escape))
            {
                // What does not parse was shown in red; it is given up.
                let _ = mapping.parse(&text);
            }
            (self.typed, self.wrong) = (None, None);
        }
        let words = self.wrong.clone().unwrap_or_else(|| {
            "The slice as NumPy writes it: 3 is an index, : all, 2:10 a range, ::2 every other. Enter applies.".to_owned()
        });
        response.on_hover_text(words);
    }

    /// About how wide the bar is with the names and lengths of the axes in their menus.
    fn names_width(&self, mapping: &Mapping) -> f32 {
        let menu = |axis: usize| {
            let text = format!("{} · {}", self.name(axis), mapping.shape()[axis]);
            text.chars().count() as f32 * 7.2 + 38.0
        };
        let menus: f32 = [mapping.rows(), mapping.columns()].into_iter().flatten().map(menu).sum();
        menus + mapping.text(false).chars().count() as f32 * 8.0 + 84.0
    }

    /// `room` is what would be left beside names and lengths.
    fn axis_menu(&self, ui: &mut Ui, mapping: &mut Mapping, role: Role, room: f32) {
        let theme = Theme::of(ui);
        let (word, current) = match role {
            Role::Rows => ("rows", mapping.rows()),
            Role::Columns => ("columns", mapping.columns()),
        };
        if room > 110.0 {
            ui.add(Label::new(theme::dim(theme, word)));
        }
        let text = match current {
            Some(axis) => format!("{} · {}", self.name(axis), mapping.shape()[axis]),
            None => "none".to_owned(),
        };
        let text = if room > 0.0 {
            text
        } else {
            format!("{} {}", &word[..3], current.map_or("–".to_owned(), |a| a.to_string()))
        };
        drop_down(ui, &text, &format!("Axis of the {word}: {text}"), |ui| {
            for axis in 0..mapping.shape().len() {
                let text = format!("{} · {}", self.name(axis), mapping.shape()[axis]);
                if ui.selectable_label(current == Some(axis), text).clicked() {
                    mapping.assign(role, axis);
                    ui.close();
                }
            }
        });
    }

    /// The sliders at the bottom of the view: how high they are.
    pub(crate) fn sliders_height(mapping: &Mapping, image: bool) -> f32 {
        match moving(mapping, image).len().min(ROWS) {
            0 => 0.0,
            rows => rows as f32 * (size::CONTROL + space::S1) + 2.0 * space::S1,
        }
    }

    /// Draws the sliders into `rect`.
    pub(crate) fn sliders(&mut self, ui: &mut Ui, rect: Rect, mapping: &mut Mapping, image: bool) {
        let theme = Theme::of(ui);
        ui.painter().rect_filled(rect, 0.0, theme.bg1);
        ui.painter().hline(rect.x_range(), rect.top() + 0.5, theme.hairline());
        let others = moving(mapping, image);
        let builder =
            UiBuilder::new().max_rect(rect.shrink2(vec2(space::S3, space::S1 + 1.0))).id_salt("sliders");
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(rect);
        ScrollArea::vertical().id_salt("axes").auto_shrink(false).show(&mut child, |ui| {
            ui.spacing_mut().item_spacing.y = space::S1;
            let longest = others.iter().map(|&axis| self.name(axis).chars().count()).max().unwrap_or(0);
            let name_width = (longest as f32 * 7.0).clamp(44.0, 120.0);
            for &axis in &others {
                self.slider(ui, mapping, axis, name_width);
            }
        });
    }

    fn slider(&mut self, ui: &mut Ui, mapping: &mut Mapping, axis: usize, name_width: f32) {
        let theme = Theme::of(ui);
        let len = mapping.shape()[axis];
        let name = self.name(axis);
        let row = vec2(ui.available_width(), size::CONTROL);
        ui.allocate_ui_with_layout(row, Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_height(size::CONTROL);
            let label = Label::new(theme::dim(theme, &name)).truncate();
            ui.add_sized(vec2(name_width, size::CONTROL), label);
            let before = mapping.position(axis);
            let mut at = before;
            let playing = self.playing.is_some_and(|(playing, _)| playing == axis);
            let (glyph, words) = if playing { (Icon::Pause, "Pause") } else { (Icon::Play, "Play") };
            if theme::icon_button(ui, glyph, &format!("{words} {name}")).clicked() {
                let now = ui.input(|input| input.time);
                self.playing = (!playing).then_some((axis, now));
                self.active = Some(axis);
            }
            if playing {
                self.rate_menu(ui);
            }
            let (first, last) = mapping.reach(axis);
            let stands = self.coordinates.coordinate_with_unit(axis, at);
            let room = stands.as_ref().map_or(0.0, |_| (row.x * 0.26).clamp(60.0, 190.0));
            // Short rather than with the length out of sight.
            ui.spacing_mut().slider_width = (ui.available_width() - 150.0 - room).max(24.0);
            let slider = Slider::new(&mut at, first..=last).show_value(false).smart_aim(false);
            let response = ui.add_enabled(len > 1, slider);
            response.widget_info(|| egui::WidgetInfo::slider(len > 1, at as f64, format!("Index of {name}")));
            let drag =
                DragValue::new(&mut at).range(first..=last).speed((len as f64 / 400.0).clamp(0.05, 1000.0));
            let response = ui.add_enabled(len > 1, drag);
            let spoken = format!("Index of {name}, typed");
            response.widget_info(|| {
                let mut info = egui::WidgetInfo::drag_value(len > 1, at as f64);
                info.label = Some(spoken.clone());
                info
            });
            let of = match (first, last + 1 < len) {
                (0, false) => format!("/ {len}"),
                _ => format!("in {first}:{}", last + 1),
            };
            ui.label(RichText::new(of).font(theme::mono_font()).color(theme.dim));
            if let Some(stands) = stands {
                let label = ui.add(Label::new(theme::mono(&stands)).truncate());
                let spoken = format!("{name} {at}/{len}: {stands}");
                label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
                label.on_hover_text(&spoken);
            }
            if at != before {
                mapping.set_position(axis, at);
                self.active = Some(axis);
            }
        });
    }

    /// How fast a playing slider goes.
    fn rate_menu(&mut self, ui: &mut Ui) {
        let words = |rate: f64| format!("{}/s", gander::bytes::display::brief(rate));
        drop_down(ui, &words(self.rate), "Slices each second", |ui| {
            for rate in RATES {
                if ui.selectable_label(self.rate == rate, words(rate)).clicked() {
                    self.rate = rate;
                    ui.close();
                }
            }
        });
    }

    /// Moves the slider that plays, where it is time to and the slice where it stands is there (`ready`).
    /// Called when that was drawn: the next one is asked for in the same frame, by a second pass, so that
    /// there can be one in each frame.
    pub(crate) fn play(&mut self, ui: &Ui, mapping: &mut Mapping, image: bool, ready: bool) {
        let Some((axis, since)) = self.playing else { return };
        if !moving(mapping, image).contains(&axis) || mapping.shape()[axis] < 2 {
            self.playing = None;
            return;
        }
        let now = ui.input(|input| input.time);
        let pause = 1.0 / self.rate;
        let left = pause - (now - since);
        if left <= 0.0 && ready {
            let (next, (first, last)) = (mapping.position(axis) + 1, mapping.reach(axis));
            mapping.set_position(axis, if next > last { first } else { next });
            // What a frame comes late is made good, so that the pace is the one that was chosen.
            let late = (-left).min(pause);
            self.playing = Some((axis, now - late));
            ui.ctx().request_discard("the next slice is asked for");
        }
        // A slice that is awaited wakes the window itself.
        let wait = if ready { left.clamp(0.001, 1.0) } else { 0.1 };
        ui.ctx().request_repaint_after_secs(wait as f32);
    }
}

/// The axes that have a slider: those with more than one place to stand.
fn moving(mapping: &Mapping, image: bool) -> Vec<usize> {
    mapping.others(image).into_iter().filter(|&axis| mapping.shape()[axis] > 1).collect()
}
