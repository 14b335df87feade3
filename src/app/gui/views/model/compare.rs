//! Two tensors held against each other: one is remembered, of this model or of another, and a second one is compared with it.

use std::sync::Arc;

use egui::{Align, Layout, Ui};
use gander::bytes::display;
use gander::data::content::Array;
use gander::data::stats::difference::{Difference, difference};
use gander::jobs::{JobSpec, Jobs, Slot};

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};

/// A tensor that others are compared with.
#[derive(Clone)]
pub(crate) struct Reference {
    /// Its file and its path.
    pub(crate) name: String,
    /// Its elements.
    pub(crate) array: Arc<dyn Array>,
}

/// A comparison that is shown.
#[derive(Default)]
pub(super) struct Comparison {
    of: Option<[Reference; 2]>,
    /// Changes with what is compared.
    number: u64,
    found: Slot<u64, Difference>,
}

impl Comparison {
    /// Compares a tensor with another one.
    pub(super) fn begin(&mut self, one: Reference, other: Reference) {
        self.of = Some([one, other]);
        self.number += 1;
    }

    /// Draws what is known of it in one line.
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs) {
        let Some([one, other]) = self.of.clone() else { return };
        let title = format!("comparing {} with {}", one.name, other.name);
        let arrays = [one.array, other.array];
        let shown = self.found.get(jobs, &self.number, JobSpec::scan(title), move |task| {
            difference(task, arrays[0].as_ref(), arrays[1].as_ref())
        });
        let theme = Theme::of(ui);
        let words = match (shown.ready(), &shown.error) {
            (Some(found), _) => words(&found),
            (None, Some(error)) => error.to_string(),
            (None, None) => format!("comparing… {}", theme::percent(shown.progress())),
        };
        let mut closed = false;
        ui.horizontal(|ui| {
            ui.add_space(space::S3);
            ui.set_min_height(size::ROW);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                closed = theme::icon_button(ui, Icon::Close, "Close the comparison").clicked();
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let names = format!("{} against {}: ", one.name, other.name);
                    let line = egui::Label::new(theme::dim(theme, format!("{names}{words}"))).truncate();
                    ui.add(line).on_hover_text(format!("{}\nagainst {}\n{words}", one.name, other.name));
                });
            });
        });
        let line = ui.min_rect();
        ui.painter().hline(line.x_range(), line.bottom(), theme.hairline());
        if closed {
            self.of = None;
            self.found.cancel();
        }
    }
}

/// A difference in a line.
fn words(found: &Difference) -> String {
    if found.differing == 0 {
        return format!("all {} are equal", display::plural(found.count, "element"));
    }
    let mut words =
        vec![format!("{} of {} differ", display::count(found.differing), display::count(found.count))];
    if let Some(first) = &found.first {
        words.push(format!("first at {first:?}"));
    }
    if let Some((gap, at)) = &found.largest {
        words.push(format!("at most by {} at {at:?}", display::brief(*gap)));
    }
    let numbers = [("RMS", found.rms()), ("‖a−b‖/‖a‖", found.relative()), ("cosine", found.cosine())];
    for (name, value) in numbers {
        words.extend(value.map(|value| format!("{name} {}", display::brief(value))));
    }
    if found.not_finite > 0 {
        words.push(format!("{} not finite", display::count(found.not_finite)));
    }
    words.join(" · ")
}
