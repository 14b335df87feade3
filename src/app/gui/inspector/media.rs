//! The sections of tables with pictures, sounds or arrays: how many records each class has, as bars that filter; and what a
//! pass over all payloads finds.

use std::collections::HashMap;
use std::sync::Arc;

use egui::{Align2, Rect, Sense, Ui, WidgetInfo, pos2, vec2};
use egui_plot::{Plot, PlotPoints, Points};
use gander::bytes::display;
use gander::data::content::{Content, Table};
use gander::data::media::{self, Media, MediaColumn, Place};
use gander::data::stats::media::{Classes, Structure, classes, structure};
use gander::jobs::{JobSpec, Jobs, Slot};
use gander::query::{Condition, Test};

use super::Key;
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, body_font, mono_small_font, size, space};
use crate::gui::ui::{key_value, paint_elided};
use crate::gui::views::array::plotting;
use crate::gui::views::{Request, Subject, Target};

/// Classes of so many records are counted without being asked; of more a sample is.
const ROWS: u64 = 300_000;
/// Records of a sample.
const SAMPLE: u64 = 20_000;
/// Classes that are listed at first, and at most.
const FEW: usize = 12;
const MOST: usize = 300;
/// Results that are kept.
const KEPT: usize = 64;

/// What a table has of media, and where its files lie.
struct Found {
    media: Media,
    place: Place,
    column: MediaColumn,
}

/// The state of the sections.
#[derive(Default)]
pub(super) struct MediaSections {
    found: Slot<(u64, usize), Option<Found>>,
    classes: Slot<(u64, usize, bool), Classes>,
    /// All classes are to be counted, of this node.
    all: Option<(u64, usize)>,
    /// More of them are listed.
    long: bool,
    passes: HashMap<(u64, usize), Slot<(), Structure>>,
}

impl MediaSections {
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        key: &Key,
        target: &Target,
        actions: &mut Vec<Action>,
    ) {
        let (Some(Content::Table(table)), Subject::Node) = (&target.node.content, &key.2) else { return };
        let in_folder = target.document.source.path().is_some();
        if !media::may_hold(table.as_ref(), in_folder) {
            return;
        }
        let node = (key.0, key.1);
        let (of, about) = (table.clone(), target.clone());
        let shown = self.found.get(jobs, &node, JobSpec::view("looking for media"), move |task| {
            let place = Place::of_node(&about.document.source, &about.path, &about.node);
            let attributes = &about.node.attributes;
            let media = media::find(task, gander::formats::ALL, of.as_ref(), attributes, &place)?;
            let column = media.seen().next().cloned();
            Ok(column.map(|column| Found { media, place, column }))
        });
        let Some(found) = shown.ready() else { return };
        if found.is_none() {
            return;
        }
        self.classes(ui, jobs, node, table, &found, actions);
        self.structure(ui, jobs, node, table, &found, actions);
    }

    fn classes(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        node: (u64, usize),
        table: &Arc<dyn Table>,
        found: &Arc<Option<Found>>,
        actions: &mut Vec<Action>,
    ) {
        let Some(label) = found.as_ref().as_ref().and_then(|found| found.media.labels.first().cloned())
        else {
            return;
        };
        let little = table.rows().exact().is_some_and(|rows| rows <= ROWS);
        let all = little || self.all == Some(node);
        let (of, asked) = (table.clone(), label.clone());
        let shown =
            self.classes.get(jobs, &(node.0, node.1, all), JobSpec::scan("counting classes"), move |task| {
                let rows = if all { None } else { Some(of.sample(task, SAMPLE)?) };
                classes(task, of.as_ref(), &asked, rows)
            });
        super::section(ui, "Classes", |ui| {
            let theme = Theme::of(ui);
            let Some(counted) = shown.ready() else {
                theme::section_head(ui, "Classes", None);
                let words = match &shown.error {
                    Some(error) => error.to_string(),
                    None => format!("counting{}", theme::percent(shown.progress())),
                };
                ui.add(egui::Label::new(theme::dim(theme, words)).wrap());
                return;
            };
            let different = display::count(counted.counts.len() as u64);
            let note = if counted.exact { different.clone() } else { format!("{different} · sampled") };
            let color = if counted.exact { theme.good } else { theme.warn };
            theme::section_head(ui, "Classes", Some((note.as_str(), color)));
            ui.add_space(space::S2);
            let names = gander::query::column_names(table.schema());
            let name = names.get(label.column).cloned().unwrap_or_default();
            let listed = if self.long { MOST } else { FEW };
            let most = counted.counts.first().map_or(1, |(_, _, count)| *count).max(1);
            for (text, class, count) in counted.counts.iter().take(listed) {
                if let Some(more) = bar(ui, class, *count, *count as f32 / most as f32) {
                    let test = text.as_ref().map_or(Test::Null, |text| Test::Equals(text.clone()));
                    actions.push(Action::Ask(Request::Filter(Condition::new(name.clone(), test), more)));
                }
            }
            let left = counted.counts.len().saturating_sub(listed);
            if left > 0 {
                let words = format!("and {} more", display::count(left as u64));
                match self.long {
                    true => drop(ui.label(theme::dim(theme, words))),
                    false => self.long = ui.link(words).clicked(),
                }
            }
            if !counted.exact && theme::button(ui, "Count all records").clicked() {
                self.all = Some(node);
            }
        });
    }

    fn structure(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        node: (u64, usize),
        table: &Arc<dyn Table>,
        found: &Arc<Option<Found>>,
        actions: &mut Vec<Action>,
    ) {
        super::section(ui, "Structure", |ui| {
            let theme = Theme::of(ui);
            let shown = self.passes.get(&node).map(|slot| slot.peek(&()));
            let result = shown.as_ref().and_then(|shown| shown.ready());
            let note = result.as_ref().map(|_| ("exact", theme.good));
            theme::section_head(ui, "Structure", note);
            ui.add_space(space::S2);
            if let Some(result) = result {
                lines(ui, &result, actions);
                scatter(ui, &result);
                return;
            }
            let error = shown.as_ref().and_then(|shown| shown.error.clone());
            if let Some(shown) = shown.filter(|shown| shown.runs()) {
                ui.horizontal(|ui| {
                    ui.label(theme::dim(theme, format!("decoding{}", theme::percent(shown.progress()))));
                    if theme::icon_button(ui, Icon::Close, "Stop checking").clicked()
                        && let Some(slot) = self.passes.get(&node)
                    {
                        slot.cancel();
                    }
                });
                return;
            }
            if let Some(error) = error {
                ui.add(egui::Label::new(theme::dim(theme, error.to_string())).wrap());
            }
            let words =
                "Decodes the payload of every record: which cannot be, which are there twice, their sizes";
            if theme::button(ui, "Check all records").on_hover_text(words).clicked() {
                self.start(jobs, node, table, found);
            }
        });
    }

    fn start(&mut self, jobs: &Jobs, node: (u64, usize), table: &Arc<dyn Table>, found: &Arc<Option<Found>>) {
        if self.passes.len() >= KEPT {
            self.passes.retain(|_, slot| slot.is_busy());
        }
        let (of, found, slot) = (table.clone(), found.clone(), Slot::default());
        slot.get(jobs, &(), JobSpec::scan("checking records"), move |task| match found.as_ref() {
            Some(Found { media, place, column }) => {
                structure(task, gander::formats::ALL, of.as_ref(), media, column, place)
            }
            None => Ok(Structure::default()),
        });
        self.passes.insert(node, slot);
    }
}

/// A class as a bar; a click on it asks for its records, besides others with Control or Shift.
fn bar(ui: &mut Ui, class: &str, count: u64, part: f32) -> Option<bool> {
    let theme = Theme::of(ui);
    let (place, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), size::ROW - 3.0), Sense::click());
    let number = display::count(count);
    response.widget_info(|| {
        WidgetInfo::labeled(egui::Role::Button, true, format!("Only class {class}: {number}"))
    });
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(place.expand2(vec2(space::S1, 0.0)), size::CORNER, theme.bg3);
    }
    let names = place.width() * 0.36;
    let figures = 64.0;
    let (left, middle) = (place.left(), place.center().y);
    paint_elided(
        ui.painter(),
        pos2(left, middle),
        Align2::LEFT_CENTER,
        class,
        body_font(),
        theme.text,
        names - space::S2,
    );
    let room = (place.width() - names - figures).max(8.0);
    let bar = Rect::from_min_size(pos2(left + names, middle - 5.0), vec2((room * part).max(1.0), 10.0));
    ui.painter().rect_filled(bar, 2.0, theme.accent.gamma_multiply(0.85));
    let at = pos2(bar.right() + space::S2, middle);
    paint_elided(ui.painter(), at, Align2::LEFT_CENTER, &number, mono_small_font(), theme.dim, figures);
    let more = ui.input(|input| input.modifiers.command || input.modifiers.shift);
    let clicked = response.clicked();
    response.on_hover_text(format!("Show the records of {class} alone"));
    clicked.then_some(more)
}

/// What was found, with links to the first of each.
fn lines(ui: &mut Ui, found: &Structure, actions: &mut Vec<Action>) {
    let theme = Theme::of(ui);
    let of = |count: u64| format!("{} of {}", display::count(count), display::count(found.rows));
    let mut go = |ui: &mut Ui, row: u64, words: String| {
        if ui.link(words).on_hover_text("Go to this record").clicked() {
            actions.push(Action::Ask(Request::GoTo(row.to_string())));
        }
    };
    key_value(ui, "undecodable", &of(found.undecodable));
    if let Some((row, why)) = &found.first_undecodable {
        go(ui, *row, format!("first: record {}", display::count(*row)));
        ui.add(egui::Label::new(egui::RichText::new(why).color(theme.bad).font(theme::small_font())).wrap());
    }
    if found.absent > 0 {
        key_value(ui, "without payload", &of(found.absent));
    }
    key_value(ui, "duplicates", &of(found.duplicates));
    if let Some((row, same)) = found.first_duplicate {
        go(ui, row, format!("first: {} is equal to {}", display::count(row), display::count(same)));
    }
    let sides = found.sizes.iter().flat_map(|((width, height), _)| [*width, *height]);
    if let (Some(least), Some(most)) = (sides.clone().min(), sides.max()) {
        let words = match found.sizes.as_slice() {
            [((width, height), _)] => format!("all {width}×{height}"),
            _ => format!("{} … {} px", display::count(least), display::count(most)),
        };
        key_value(ui, "sizes", &words);
    }
    key_value(ui, "bytes", &display::bytes(found.bytes));
    for (kind, count) in found.kinds.iter().filter(|(kind, _)| !kind.is_empty()).take(6) {
        key_value(ui, kind, &display::count(*count));
    }
    for (column, count) in found.missing.iter().take(20) {
        let share = *count as f64 / found.rows.max(1) as f64 * 100.0;
        key_value(ui, &format!("without {column}"), &format!("{share:.1} %"));
    }
    if found.is_cut {
        ui.label(theme::dim(theme, "So many different ones that not all were compared"));
    }
}

/// Widths and heights of pictures.
fn scatter(ui: &mut Ui, found: &Structure) {
    /// More points are no more to see.
    const POINTS: usize = 4_000;
    if found.sizes.len() < 2 {
        return;
    }
    let theme = Theme::of(ui);
    ui.add_space(space::S2);
    let every = found.sizes.len().div_ceil(POINTS);
    let points: Vec<[f64; 2]> = found
        .sizes
        .iter()
        .step_by(every)
        .map(|((width, height), _)| [*width as f64, *height as f64])
        .collect();
    let words = |value: f64| display::short_number(value);
    let plot = plotting::calm(Plot::new("sizes").height(150.0).allow_drag(false), theme, words, words);
    let shown = plot.include_x(0.0).include_y(0.0).show(ui, |plot| {
        let color = theme.accent.gamma_multiply(0.7);
        plot.points(Points::new("sizes", PlotPoints::from(points)).color(color).radius(2.0));
    });
    let count = display::count(found.sizes.len() as u64);
    shown.response.widget_info(|| {
        WidgetInfo::labeled(
            egui::Role::Image,
            true,
            format!("Widths and heights of pictures, {count} different"),
        )
    });
    ui.label(theme::dim(theme, "width → height ↑, in pixels"));
}
