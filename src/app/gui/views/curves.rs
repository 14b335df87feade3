//! The view of a table that its reader calls more than rows ([`Presentation`]): curves over steps, or the histograms of
//! each step, beside the rows themselves.

mod heat;
mod legend;
mod page;
mod plot;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use egui::{Key, Ui};
use gander::data::content::Table;
use gander::data::curves::Presentation;
use gander::data::format::Data;
use gander::data::node::Node;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Request, Subject, Target, View, ViewCommand, ViewCx, labels, restored, run, saved, table};
use crate::gui::commands::{ALT, Label};
use crate::gui::icons::Icon;
use crate::gui::theme;
use crate::gui::ui::drop_down;
use heat::{Heat, HeatState};
use page::{Page, PageState};

/// The view of `table`, the content of `target`, which holds this.
pub(crate) fn make(target: &Target, table: &Arc<dyn Table>, presentation: &Presentation) -> Box<dyn View> {
    let shown = match presentation {
        Presentation::Curves(columns) => Shown::Curves(Box::new(Page::new(table.clone(), columns.clone()))),
        Presentation::Histograms(columns) => Shown::Histograms(Heat::new(table.clone(), columns.clone())),
    };
    Box::new(CurvesView { mode: Mode::default(), shown, rows: table::make(target, table) })
}

/// How it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// As pictures.
    #[default]
    Pictures,
    /// As rows.
    Table,
}

/// The pictures.
enum Shown {
    Curves(Box<Page>),
    Histograms(Heat),
}

/// Narrower bars have a menu for the ways to look at it.
const TIGHT: f32 = 560.0;

/// The state of the view.
struct CurvesView {
    mode: Mode,
    shown: Shown,
    /// The view of the rows.
    rows: Box<dyn View>,
}

/// What a session keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct CurvesState {
    mode: Mode,
    page: PageState,
    heat: HeatState,
    rows: Value,
}

const COMMANDS: &[ViewCommand<CurvesView>] = &[
    ViewCommand::new(Label::new("Show as pictures", Icon::LineChart).keys(ALT, Key::Num1), |view, _| {
        view.show_as(Mode::Pictures)
    }),
    ViewCommand::new(Label::new("Show as rows", Icon::Table).keys(ALT, Key::Num2), |view, _| {
        view.show_as(Mode::Table)
    }),
    ViewCommand::new(Label::new("Show all steps", Icon::Fit).keys(ALT, Key::Num0), |view, _| {
        match (&mut view.shown, view.mode) {
            (Shown::Curves(page), Mode::Pictures) => page.fit(),
            _ => return false,
        }
        true
    }),
];

impl CurvesView {
    fn show_as(&mut self, mode: Mode) -> bool {
        self.mode = mode;
        true
    }

    fn modes(&self) -> [(Mode, &'static str); 2] {
        let word = match self.shown {
            Shown::Curves(_) => "Curves",
            Shown::Histograms(_) => "Histograms",
        };
        [(Mode::Pictures, word), (Mode::Table, "Table")]
    }
}

impl View for CurvesView {
    fn toolbar(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let modes = self.modes();
        if ui.available_width() < TIGHT {
            let words = modes.iter().find(|(mode, _)| *mode == self.mode).map_or("", |(_, words)| words);
            drop_down(ui, words, "Pictures or rows", |ui| {
                for (mode, words) in modes {
                    if ui.selectable_label(mode == self.mode, words).clicked() {
                        self.mode = mode;
                        ui.close();
                    }
                }
            });
        } else {
            theme::segmented(ui, "Pictures or rows", &mut self.mode, &modes);
        }
        match (self.mode, &mut self.shown) {
            (Mode::Table, _) => self.rows.toolbar(ui, cx),
            (Mode::Pictures, Shown::Curves(page)) => page.toolbar(ui),
            (Mode::Pictures, Shown::Histograms(heat)) => heat.toolbar(ui),
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        match (self.mode, &mut self.shown) {
            (Mode::Table, _) => self.rows.ui(ui, cx),
            (Mode::Pictures, Shown::Curves(page)) => page.ui(ui, cx),
            (Mode::Pictures, Shown::Histograms(heat)) => heat.ui(ui, cx),
        }
    }

    fn commands(&self) -> Vec<&'static Label> {
        let mut all = labels(COMMANDS);
        if self.mode == Mode::Table {
            all.extend(self.rows.commands());
        }
        all
    }

    fn run(&mut self, at: usize, cx: &mut ViewCx<'_>) -> bool {
        match at.checked_sub(COMMANDS.len()) {
            Some(at) => self.rows.run(at, cx),
            None => run(COMMANDS, at, self, cx),
        }
    }

    fn takes_keys(&self, ui: &Ui) -> bool {
        match self.mode {
            Mode::Table => self.rows.takes_keys(ui),
            Mode::Pictures => !ui.ctx().text_edit_focused(),
        }
    }

    fn request(&mut self, request: &Request, cx: &mut ViewCx<'_>) -> bool {
        if let (Mode::Pictures, Shown::Curves(page), Request::Find) = (self.mode, &mut self.shown, request) {
            page.find();
            return true;
        }
        let done = self.rows.request(request, cx);
        if done {
            self.mode = Mode::Table;
        }
        done
    }

    fn stepped(&mut self) -> Option<(String, Arc<Node>)> {
        self.rows.stepped()
    }

    fn subject(&self) -> Subject {
        match self.mode {
            Mode::Table => self.rows.subject(),
            Mode::Pictures => Subject::Node,
        }
    }

    fn export(&self) -> Option<(String, Data)> {
        match self.mode {
            Mode::Table => self.rows.export(),
            Mode::Pictures => None,
        }
    }

    fn is_drawing(&self) -> bool {
        matches!((self.mode, &self.shown), (Mode::Pictures, Shown::Curves(_)))
    }

    fn clauses(&self) -> Option<String> {
        match self.mode {
            Mode::Table => self.rows.clauses(),
            Mode::Pictures => None,
        }
    }

    fn save(&self) -> Value {
        let (page, heat) = match &self.shown {
            Shown::Curves(page) => (page.state(), HeatState::default()),
            Shown::Histograms(heat) => (PageState::default(), heat.state()),
        };
        saved(&CurvesState { mode: self.mode, page, heat, rows: self.rows.save() })
    }

    fn restore(&mut self, kept: &Value) {
        let state: CurvesState = restored(kept);
        self.mode = state.mode;
        match &mut self.shown {
            Shown::Curves(page) => page.restore(state.page),
            Shown::Histograms(heat) => heat.restore(state.heat),
        }
        if !state.rows.is_null() {
            self.rows.restore(&state.rows);
        }
    }
}
