//! The bar of a table whose format keeps the states that it had: a slider over them, when and by what each
//! was made. The rows of the old one stay until those of the new one are there.

use std::collections::HashMap;
use std::sync::Arc;

use egui::{Align, Label, Layout, Rect, RichText, Sense, Slider, Ui, UiBuilder, pos2, vec2};
use gander::bytes::display;
use gander::bytes::error::Error;
use gander::data::content::Content;
use gander::data::node::{Node, Version, Versions};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::{EARLIER, LATER, PATIENCE};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::views::Target;

/// So many are marked on the slider.
const TICKS: usize = 60;

/// The states of a table, and which of them is looked at.
pub(super) struct Bar {
    versions: Arc<dyn Versions>,
    /// The path of the table's own node.
    base: String,
    /// Where the slider stands.
    at: usize,
    /// Whose rows are shown.
    shown: usize,
    /// Whose node was handed out last.
    given: Option<usize>,
    found: Slot<usize, Arc<Node>>,
    about: Slot<usize, Version>,
    known: HashMap<usize, Arc<Version>>,
    /// Why the rows of the chosen one cannot be shown.
    failed: Option<String>,
    /// Reading takes long enough to say so.
    slow: bool,
}

impl Bar {
    /// The bar of a node that has more than one state.
    pub(super) fn of(target: &Target) -> Option<Bar> {
        let timeline = target.node.timeline.as_ref()?;
        let at = timeline.at.or(timeline.versions.current())?;
        let own = timeline.at.map_or("", |_| target.node.name.as_str());
        (timeline.versions.count() > 1).then(|| Bar {
            versions: timeline.versions.clone(),
            base: target.path.strip_suffix(own).unwrap_or(&target.path).to_owned(),
            at,
            shown: at,
            given: None,
            found: Slot::default(),
            about: Slot::default(),
            known: HashMap::new(),
            failed: None,
            slow: false,
        })
    }

    /// Goes to an earlier or a later one; false where there is none.
    pub(super) fn step(&mut self, by: i64) -> bool {
        let last = self.versions.count().saturating_sub(1);
        let before = self.at;
        self.at = before.saturating_add_signed(by as isize).min(last);
        self.at != before
    }

    /// Goes back to what is shown; whether something else was asked for.
    pub(super) fn give_up(&mut self) -> bool {
        let was = self.at != self.shown;
        (self.at, self.given) = (self.shown, None);
        self.found.cancel();
        was
    }

    /// The rows of this one are shown from now on; the path of its node.
    pub(super) fn showing(&mut self, n: usize) -> String {
        (self.shown, self.given) = (n, None);
        self.path(n)
    }

    /// The path of a node: the one that stands now is the table itself.
    fn path(&self, n: usize) -> String {
        if self.versions.current() == Some(n) {
            return self.base.clone();
        }
        format!("{}{}", self.base, self.versions.name(n))
    }

    /// Looks for the one that is asked for, once a frame; its node, once. The latest request wins.
    pub(super) fn take(&mut self, jobs: &Jobs, target: &Target) -> Option<(usize, Arc<Node>)> {
        self.slow = false;
        if self.at == self.shown {
            (self.given, self.failed) = (None, None);
            return None;
        }
        if self.given == Some(self.at) {
            return None;
        }
        let (at, path, root) = (self.at, self.path(self.at), target.document.root.clone());
        let words = self.name(at);
        let shown = self.found.get(jobs, &at, JobSpec::view(format!("looking into {words}")), move |task| {
            root.find(task, &path)?.ok_or_else(|| Error::malformed(format!("there is no {path:?} any more")))
        });
        self.slow = shown.pending.is_some_and(|since| since.elapsed() >= PATIENCE);
        if shown.pending.is_some() {
            self.failed = None;
        }
        if let Some(error) = &shown.error {
            self.failed = Some(error.message());
        }
        let node = shown.ready()?;
        if !matches!(node.content, Some(Content::Table(_))) {
            let problem = node.problem.as_ref().map(ToString::to_string);
            self.failed = Some(problem.unwrap_or_else(|| "it has no rows".to_owned()));
            return None;
        }
        (self.given, self.failed) = (Some(at), None);
        Some((at, (*node).clone()))
    }

    /// Asks what is known of the one that is chosen.
    fn learn(&mut self, jobs: &Jobs) -> Option<Arc<Version>> {
        if let Some(known) = self.known.get(&self.at) {
            return Some(known.clone());
        }
        let (versions, at) = (self.versions.clone(), self.at);
        let shown = self.about.get(jobs, &at, JobSpec::view(""), move |task| versions.about(task, at));
        let known = match (shown.ready(), shown.error) {
            (Some(known), _) => known,
            // That nothing is known of it is no loss; its rows say more.
            (None, Some(_)) => Arc::default(),
            (None, None) => return None,
        };
        self.known.insert(at, known.clone());
        Some(known)
    }

    /// Draws the bar at the top of `area`; what is left of it.
    pub(super) fn ui(&mut self, ui: &mut Ui, area: Rect, jobs: &Jobs) -> Rect {
        let theme = Theme::of(ui);
        let bar = Rect::from_min_size(area.min, vec2(area.width(), size::BAR.min(area.height())));
        ui.painter().rect_filled(bar, 0.0, theme.bg1);
        ui.painter().hline(bar.x_range(), bar.bottom() - 0.5, theme.hairline());
        let builder = UiBuilder::new()
            .max_rect(bar.shrink2(vec2(space::S3, 2.0)))
            .id_salt("versions")
            .layout(Layout::left_to_right(Align::Center));
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(bar);
        let about = self.learn(jobs);
        self.slider(&mut child);
        self.words(&mut child, about.as_deref());
        Rect::from_min_max(pos2(area.left(), bar.bottom()), area.max)
    }

    fn slider(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let last = self.versions.count().saturating_sub(1);
        ui.label(theme::icon(Icon::Recent).color(theme.dim));
        let back =
            ui.add_enabled_ui(self.at > 0, |ui| theme::icon_button(ui, EARLIER.icon, &EARLIER.tip(ui.ctx())));
        if back.inner.clicked() {
            self.step(-1);
        }
        ui.spacing_mut().slider_width = (ui.available_width() * 0.3).clamp(70.0, 300.0);
        let response = ui.add(Slider::new(&mut self.at, 0..=last).show_value(false).smart_aim(false));
        let spoken = format!("Version: {}", self.name(self.at));
        response.widget_info(|| egui::WidgetInfo::slider(true, self.at as f64, spoken.as_str()));
        ticks(ui, response.rect, last + 1, self.shown);
        response.on_hover_text("Slide, or use the arrow keys, to see the table as it was");
        let on =
            ui.add_enabled_ui(self.at < last, |ui| theme::icon_button(ui, LATER.icon, &LATER.tip(ui.ctx())));
        if on.inner.clicked() {
            self.step(1);
        }
        if let Some(current) = self.versions.current() {
            let hint = format!("Back to the table as it is now ({})", self.name(current));
            let now = ui.add_enabled_ui(self.at != current, |ui| theme::icon_button(ui, Icon::Last, &hint));
            if now.inner.clicked() {
                self.at = current;
            }
        }
    }

    /// The name of a state in words; of one with a long number its place.
    fn name(&self, n: usize) -> String {
        let name = self.versions.name(n);
        match name.split_once('=') {
            Some((kind, number)) if number.len() > 12 => {
                format!(
                    "{kind} {} of {}",
                    display::count(n as u64 + 1),
                    display::count(self.versions.count() as u64)
                )
            }
            _ => words(&name),
        }
    }

    fn words(&self, ui: &mut Ui, about: Option<&Version>) {
        let theme = Theme::of(ui);
        let name = theme::mono(self.name(self.at)).color(theme.text);
        // What stands behind it does not move while one slides.
        let longest = self.name(self.versions.count().saturating_sub(1)).chars().count();
        let letter = ui.fonts_mut(|fonts| fonts.glyph_width(&theme::mono_font(), '0'));
        let size = vec2((longest as f32 * letter).ceil() + 2.0, size::CONTROL);
        let label = ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_size(size);
            ui.label(name)
        });
        label.inner.on_hover_text(words(&self.versions.name(self.at)));
        if self.versions.current() == Some(self.at) {
            let newest = self.at + 1 == self.versions.count();
            let word = if newest { "newest" } else { "current" };
            ui.label(RichText::new(word).font(theme::small_font()).color(theme.good));
        }
        if let Some(why) = &self.failed {
            let shown = self.name(self.shown);
            ui.label(theme::icon(Icon::Problem).color(theme.bad));
            let words = format!("{why} (these are the rows of {shown})");
            let label = Label::new(RichText::new(&words).color(theme.bad)).truncate();
            ui.add(label).on_hover_text(words);
            return;
        }
        if self.slow {
            ui.label(RichText::new("reading…").font(theme::small_font()).color(theme.accent));
        }
        let Some(about) = about else { return };
        let mut parts: Vec<String> = about.operation.iter().cloned().collect();
        parts.extend(about.time.as_deref().map(moment));
        parts.extend(about.marks.iter().cloned());
        let line = parts.join(" · ");
        let label = ui.add(Label::new(theme::dim(theme, line.as_str())).truncate().sense(Sense::hover()));
        if !line.is_empty() {
            let details: Vec<String> =
                about.details.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            label.on_hover_ui(|ui| {
                ui.label(line.as_str());
                if !details.is_empty() {
                    ui.label(theme::mono(details.join("\n")));
                }
            });
        }
    }
}

/// A mark for each of a few, the one whose rows are shown in the accent colour.
fn ticks(ui: &Ui, rect: Rect, count: usize, shown: usize) {
    if !(2..=TICKS).contains(&count) {
        return;
    }
    let theme = Theme::of(ui);
    // The handle's middle goes from one of its radii to the other end without one.
    let rail = rect.x_range().shrink(rect.height() / 2.5);
    for n in 0..count {
        let x = egui::lerp(rail.min..=rail.max, n as f32 / (count - 1) as f32);
        let color = if n == shown { theme.accent } else { theme.faint };
        let y = rect.bottom() - 3.0;
        ui.painter().vline(x, y..=y + 3.0, egui::Stroke::new(1.0, color));
    }
}

/// `version=3` as words.
pub(super) fn words(name: &str) -> String {
    name.replacen('=', " ", 1)
}

/// `2024-01-31T12:00:00.123+00:00` as people write it.
fn moment(time: &str) -> String {
    let (date, clock) = time.split_once('T').unwrap_or((time, ""));
    let seconds: String = clock.chars().take_while(|c| c.is_ascii_digit() || *c == ':').collect();
    let zone = if clock.ends_with("+00:00") || clock.ends_with('Z') { " UTC" } else { "" };
    format!("{date} {seconds}{zone}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(moment("2024-01-31T12:00:00.123+00:00"), "2024-01-31 12:00:00 UTC");
        assert_eq!(moment("2024-01-31"), "2024-01-31");
    }
}
