//! The keys of the explorer: one table for the tree and for the rows that its filter leaves.

use egui::{Key, Modifiers};

use crate::gui::ui::Keys;

/// What a key means to the explorer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Step(Step),
    Unfold,
    Fold,
    /// The tab of the row stays.
    Keep,
    Menu,
    Copy,
}

/// To another row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

impl Step {
    /// The row that it leads to from `row`, where `page` rows are in sight and `last` is the last one.
    pub(super) fn from(self, row: u64, page: u64, last: u64) -> u64 {
        let to = match self {
            Step::Up => row.saturating_sub(1),
            Step::Down => row.saturating_add(1),
            Step::PageUp => row.saturating_sub(page),
            Step::PageDown => row.saturating_add(page),
            Step::First => 0,
            Step::Last => last,
        };
        to.min(last)
    }
}

const NONE: Modifiers = Modifiers::NONE;

/// The keys of the explorer's rows.
pub(crate) static KEYS: &[Keys<Command>] = &[
    Keys::new(
        "Up, Down, Page Up, Page Down, Home, End",
        "Go through the rows and preview them",
        &[
            (NONE, Key::ArrowUp, Command::Step(Step::Up)),
            (NONE, Key::ArrowDown, Command::Step(Step::Down)),
            (NONE, Key::PageUp, Command::Step(Step::PageUp)),
            (NONE, Key::PageDown, Command::Step(Step::PageDown)),
            (NONE, Key::Home, Command::Step(Step::First)),
            (NONE, Key::End, Command::Step(Step::Last)),
        ],
    ),
    Keys::new(
        "Right, Left",
        "Unfold, fold or go up",
        &[(NONE, Key::ArrowRight, Command::Unfold), (NONE, Key::ArrowLeft, Command::Fold)],
    ),
    Keys::new("Enter", "Keep the tab", &[(NONE, Key::Enter, Command::Keep)]),
    Keys::new(
        "Shift+F10, Menu",
        "The menu of the row",
        &[(Modifiers::SHIFT, Key::F10, Command::Menu), (NONE, Key::Menu, Command::Menu)],
    ),
    Keys::new("Ctrl+C", "Copy the path of the row", &[(Modifiers::COMMAND, Key::C, Command::Copy)]),
];

/// What a key means to the field of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterCommand {
    ToRows,
    Clear,
}

/// The keys of the field above the rows.
pub(crate) static FILTER_KEYS: &[Keys<FilterCommand>] = &[
    Keys::new(
        "Down, Enter",
        "In the filter: to the rows that it leaves",
        &[(NONE, Key::ArrowDown, FilterCommand::ToRows), (NONE, Key::Enter, FilterCommand::ToRows)],
    ),
    Keys::new("Esc", "In the filter: clear it", &[(NONE, Key::Escape, FilterCommand::Clear)]),
];
