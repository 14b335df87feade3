//! The window is to be closed while exports run: whether it waits for them, or cancels them, is asked.

use std::time::Duration;

use egui::{Context, Frame, Id, Key, Margin, Modal, Modifiers, Ui};
use gander::bytes::display;

use super::Exports;
use crate::gui::theme::{self, Theme, space};

/// What is to become of the exports, and of the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Leave {
    /// The window stays.
    #[default]
    Stay,
    /// That is being asked.
    Asks,
    /// It closes when these have ended, and none of them has failed.
    Waits(Vec<u64>),
    /// They are being cancelled; it closes then.
    Cancels,
}

/// What was answered.
enum Answer {
    Wait,
    Cancel,
    Stay,
}

impl Leave {
    /// Whether a window that is asked to close may do so at once. Else it asks.
    pub(crate) fn may_close(&mut self, exports: &Exports) -> bool {
        let busy = exports.is_busy();
        if busy && *self == Leave::Stay {
            *self = Leave::Asks;
        }
        !busy
    }

    /// Whether the question stands: keys belong to it then.
    pub(crate) fn is_open(&self) -> bool {
        *self != Leave::Stay
    }

    /// Draws the question, if it stands; true when the window is to be closed.
    pub(crate) fn ui(&mut self, ctx: &Context, exports: &Exports) -> bool {
        if *self == Leave::Stay {
            return false;
        }
        if !exports.is_busy() {
            return match std::mem::take(self) {
                Leave::Waits(ids) => {
                    !exports.list().iter().any(|entry| ids.contains(&entry.id) && entry.is_bad())
                }
                Leave::Cancels | Leave::Asks => true,
                Leave::Stay => false,
            };
        }
        ctx.request_repaint_after(Duration::from_millis(100));
        let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(space::S4 as i8));
        let modal = Modal::new(Id::unique("exports when the window closes")).frame(frame);
        let answer = modal.show(ctx, |ui| self.question(ui, exports)).inner;
        // A click beside it is no answer to a question like this; Escape is.
        let escape = ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
        match answer.or(escape.then_some(Answer::Stay)) {
            Some(Answer::Wait) => {
                let list = exports.list();
                let busy = list.iter().filter(|entry| !entry.state.has_ended());
                *self = Leave::Waits(busy.map(|entry| entry.id).collect());
            }
            Some(Answer::Cancel) => {
                exports.cancel_all();
                *self = Leave::Cancels;
            }
            Some(Answer::Stay) => *self = Leave::Stay,
            None => {}
        }
        false
    }

    fn question(&self, ui: &mut Ui, exports: &Exports) -> Option<Answer> {
        ui.set_width(440.0_f32.min(ui.ctx().content_rect().width() - 48.0));
        let theme = Theme::of(ui);
        let busy = exports.list().iter().filter(|entry| !entry.state.has_ended()).count() as u64;
        let what = display::plural(busy, "export");
        let (title, words) = match self {
            Leave::Waits(_) => (
                format!("Gander closes when {what} {} done", if busy == 1 { "is" } else { "are" }),
                "It stays open if one fails.",
            ),
            Leave::Cancels => (format!("Cancelling {what}…"), "What was written of them is removed."),
            Leave::Stay | Leave::Asks => (
                format!("{what} {} not done", if busy == 1 { "is" } else { "are" }),
                "Files that are not complete are removed if you cancel.",
            ),
        };
        ui.label(egui::RichText::new(title).heading().color(theme.text));
        ui.add_space(space::S2);
        if let Some(summary) = exports.summary() {
            super::rows::progress_bar(ui, theme, summary.fraction);
            ui.label(theme::dim(theme, summary.words));
        }
        ui.label(theme::dim(theme, words));
        ui.add_space(space::S3);
        let mut answer = None;
        ui.horizontal(|ui| {
            if *self == Leave::Asks && theme::primary_button(ui, "Close when done").clicked() {
                answer = Some(Answer::Wait);
            }
            if *self != Leave::Cancels && theme::button(ui, "Cancel exports and close").clicked() {
                answer = Some(Answer::Cancel);
            }
            if theme::button(ui, "Stay").clicked() {
                answer = Some(Answer::Stay);
            }
        });
        answer
    }
}
