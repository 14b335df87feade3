//! Files as they become ready, change or go away.

use egui::Context;

use super::App;
use crate::gui::files::State;
use crate::gui::target::{NodeRef, TabContent};

impl App {
    /// A tab for the root of a file, whatever its state.
    pub(super) fn show_file(&mut self, id: u64) {
        let Some(file) = self.files.get(id) else { return };
        self.tabs.show_later(TabContent::Node(NodeRef::new(id, "")), &file.name());
        if self.fresh.contains(&id) {
            self.begin(id);
        }
    }

    /// A tab for a node of a file, which is looked for once the file is there.
    pub(super) fn show_node(&mut self, id: u64, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.tabs.show_later(TabContent::Node(NodeRef::new(id, path)), name);
    }

    /// Lets the tab of a file that was just opened begin with the node that the file names for it.
    fn begin(&mut self, id: u64) {
        if let Some(State::Ready(document)) = self.files.get(id).map(|file| &file.state)
            && let Some(start) = &document.root.start
        {
            self.tabs.begin_at(id, start);
        }
    }

    /// A file was opened, or could not be.
    pub(super) fn file_changed_state(&mut self, id: u64) {
        let few = self.files.len() <= 8;
        let Some(file) = self.files.get(id) else { return };
        // Files that were dropped together and fit are looked at as the one table that they are.
        let joined = matches!(file.state, State::Ready(_)) && !file.parts.is_empty() && file.is_first();
        self.explorer.file_is_ready(file, few);
        if let State::Ready(document) = &file.state
            && self.fresh.remove(&id)
        {
            let bytes = if document.source.is_folder() { None } else { document.source.known_len() };
            self.session.remember(&file.path.clone(), bytes, document.format.name);
            self.begin(id);
        }
        if joined {
            self.show_file(id);
        }
        self.followed = None;
    }

    /// Closes a file and its tabs.
    pub(super) fn close_file(&mut self, ctx: &Context, id: u64) {
        self.tabs.close_file(id);
        self.explorer.file_is_closed(id);
        self.palette.forget();
        self.files.close(id);
        self.save_soon(ctx);
    }
}
