//! What egui keeps of the widgets of a tab: offsets, cursors, what can be undone. It keeps that for as long as the program runs,
//! by ids that no other tab has, so that it is taken back here when the tab is gone.

use std::collections::{HashMap, HashSet};

use egui::util::id_type_map::RawKey;
use egui::{Context, FocusDirection, Id};

/// Which states came with which tab.
#[derive(Default)]
pub(super) struct WidgetStates {
    /// The number of the tab that made a state last.
    made_by: HashMap<RawKey, u64>,
    /// Widgets of tabs that are gone may still be among those that can have the keyboard.
    stale: bool,
}

impl WidgetStates {
    /// Draws the tab of this number.
    pub(super) fn of_tab<R>(&mut self, ctx: &Context, number: u64, draw: impl FnOnce() -> R) -> R {
        let before: HashSet<RawKey> = ctx.data(|data| data.temp_keys().collect());
        let drawn = draw();
        ctx.data(|data| {
            let new = data.temp_keys().filter(|key| !before.contains(key));
            self.made_by.extend(new.map(|key| (key, number)));
        });
        drawn
    }

    /// Takes back the states of tabs that are gone: all whose number is not said to be there. To be called before anything
    /// of a frame is drawn, since what is drawn may ask for a state in the same frame.
    pub(super) fn keep_only(&mut self, ctx: &Context, is_there: impl Fn(u64) -> bool) {
        let gone: Vec<RawKey> =
            self.made_by.extract_if(|_, tab| !is_there(*tab)).map(|(key, _)| key).collect();
        if gone.is_empty() {
            return;
        }
        ctx.data_mut(|data| gone.into_iter().for_each(|key| drop(data.remove_temp_raw(key))));
        // Movements that are half done end at once.
        ctx.clear_animations();
        self.stale = true;
    }

    /// Lets egui forget the widgets of tabs that are gone, at the end of a frame. It remembers each that could have the
    /// keyboard until an arrow moves the focus from one to another: one that nobody draws asks for that. Nothing else gets
    /// the keyboard by it, and it is put off while something has it: those that are remembered are small.
    pub(super) fn forget_widgets(&mut self, ctx: &Context) {
        if self.stale && ctx.memory(|memory| memory.focused().is_none()) {
            ctx.memory_mut(|memory| {
                memory.request_focus(nobody());
                memory.move_focus(FocusDirection::Left);
            });
            self.stale = false;
            ctx.request_repaint();
        }
    }

    /// Frees the keyboard of [`forget_widgets`](WidgetStates::forget_widgets), before a frame is drawn.
    pub(super) fn free_keyboard(ctx: &Context) {
        ctx.memory_mut(|memory| memory.surrender_focus(nobody()));
    }
}

/// A widget that is never drawn.
fn nobody() -> Id {
    Id::unique("no widget")
}
