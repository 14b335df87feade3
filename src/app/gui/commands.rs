//! What the window can be asked to do.

use std::path::PathBuf;

use gander::format::Data;

use super::views::{Request, Target};

/// Something to be done after this frame, by whoever draws.
pub(crate) enum Action {
    /// Open files and folders.
    Open(Vec<PathBuf>),
    /// Show a node in a tab.
    Show(Target, Where),
    /// Pass this to the active view.
    Ask(Request),
    /// Put this text on the clipboard.
    Copy(String),
    /// Open the export dialog for this node, or for a part of it with words for what it is.
    Export(Target, Option<(String, Data)>),
    /// Say this at the bottom of the window for a while.
    Notice(String),
}

/// In which tab a node is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// The one preview tab (in italics), which the next preview replaces.
    Preview,
    /// A tab of its own that stays.
    Kept,
    /// A kept tab beside the active one.
    Side,
}
