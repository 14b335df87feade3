//! What egui keeps of the widgets of a tab: offsets, cursors, what can be undone. It keeps that for as long as the program runs,
//! by ids that no other tab has, so that it is taken back here when the tab is gone.

use std::collections::{HashMap, HashSet};

use egui::util::id_type_map::RawKey;
use egui::{Context, FocusDirection, Id};

/// Which states there are, and which came with which tab.
#[derive(Default)]
pub(super) struct States {
    /// All of them, when they were looked at last.
    known: HashSet<RawKey>,
    /// Those that came while a tab was drawn, by its number.
    came: HashMap<u64, Vec<RawKey>>,
    /// Widgets of tabs that are gone may still be among those that can have the keyboard.
    stale: bool,
}

impl States {
    /// Draws the tab of this number.
    pub(super) fn of_tab<R>(&mut self, ctx: &Context, number: u64, draw: impl FnOnce() -> R) -> R {
        ctx.data(|data| {
            if data.len() != self.known.len() {
                self.known = data.temp_keys().collect();
            }
        });
        let drawn = draw();
        ctx.data(|data| {
            if data.len() != self.known.len() {
                let new: Vec<RawKey> = data.temp_keys().filter(|key| self.known.insert(*key)).collect();
                self.came.entry(number).or_default().extend(new);
            }
        });
        drawn
    }

    /// Takes back what came with tabs that are gone: all whose number is not said to be there.
    pub(super) fn keep_only(&mut self, ctx: &Context, is_there: impl Fn(u64) -> bool) {
        let gone: Vec<u64> = self.came.keys().copied().filter(|number| !is_there(*number)).collect();
        if gone.is_empty() {
            return;
        }
        ctx.data_mut(|data| {
            for key in gone.into_iter().filter_map(|number| self.came.remove(&number)).flatten() {
                data.remove_temp_raw(key);
                self.known.remove(&key);
            }
        });
        // Movements that are half done end at once.
        ctx.clear_animations();
        self.stale = true;
    }

    /// Lets egui forget the widgets of tabs that are gone, at the end of a frame. It remembers each that could have the
    /// keyboard until an arrow moves the focus from one to another: one that nobody draws asks for that. Nothing else gets
    /// the keyboard by it, and it is put off while something has it.
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

    /// Frees the keyboard of [`forget_widgets`](States::forget_widgets), before a frame is drawn.
    pub(super) fn free_keyboard(ctx: &Context) {
        ctx.memory_mut(|memory| memory.surrender_focus(nobody()));
    }
}

/// A widget that is never drawn.
fn nobody() -> Id {
    Id::unique("no widget")
}
