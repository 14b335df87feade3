//! The keys of the grid: one table that the grid obeys and the list under F1 shows.

use egui::{Event, Key, Modifiers};

use super::selection::Step;
use crate::gui::ui::keys::{self, KeyLine, Keys};

/// What a key means to the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Step(Step, bool),
    Activate,
    Copy {
        headers: bool,
    },
    SelectAll,
    SelectRow,
    SelectColumn,
    Collapse,
    Menu,
    /// The menu of the column's head.
    ColumnMenu,
    /// As a click on the column's head: one more sort key, or the only one.
    Sort {
        more: bool,
    },
    /// Wider or narrower, by steps.
    Resize(i8),
    /// As wide as its values, or all columns in sight.
    Fit {
        all: bool,
    },
    /// To the right or to the left.
    Move(i8),
    /// Frozen at the left, or free again.
    Freeze,
    Hide,
    ShowHidden,
}

const NONE: Modifiers = Modifiers::NONE;
const CTRL: Modifiers = Modifiers::COMMAND;
const SHIFT: Modifiers = Modifiers::SHIFT;
const ALT: Modifiers = Modifiers::ALT;
const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };
const ALT_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::ALT };

const fn step(modifiers: Modifiers, key: Key, step: Step) -> (Modifiers, Key, Command) {
    (modifiers, key, Command::Step(step, false))
}

/// The keys of every grid. Steps also go with Shift, which selects.
pub(crate) static KEYS: &[Keys<Command>] = &[
    Keys {
        line: KeyLine::new("Arrows, Page Up, Page Down", "Move the cursor; with Shift select"),
        meanings: &[
            step(NONE, Key::ArrowUp, Step::Up),
            step(NONE, Key::ArrowDown, Step::Down),
            step(NONE, Key::ArrowLeft, Step::Left),
            step(NONE, Key::ArrowRight, Step::Right),
            step(NONE, Key::PageUp, Step::PageUp),
            step(NONE, Key::PageDown, Step::PageDown),
        ],
    },
    Keys {
        line: KeyLine::new("Home, End, Ctrl+arrows", "To the ends of the row or column; with Shift select"),
        meanings: &[
            step(NONE, Key::Home, Step::FirstColumn),
            step(NONE, Key::End, Step::LastColumn),
            step(CTRL, Key::ArrowLeft, Step::FirstColumn),
            step(CTRL, Key::ArrowRight, Step::LastColumn),
            step(CTRL, Key::ArrowUp, Step::FirstRow),
            step(CTRL, Key::ArrowDown, Step::LastRow),
        ],
    },
    Keys {
        line: KeyLine::new("Ctrl+Home, Ctrl+End", "First and last cell; with Shift select"),
        meanings: &[step(CTRL, Key::Home, Step::FirstCell), step(CTRL, Key::End, Step::LastCell)],
    },
    Keys::new(
        "Shift+Space, Ctrl+Space, Ctrl+A",
        "Select the row, the column, everything",
        &[
            (SHIFT, Key::Space, Command::SelectRow),
            (CTRL, Key::Space, Command::SelectColumn),
            (CTRL, Key::A, Command::SelectAll),
        ],
    ),
    Keys::new(
        "Ctrl+C, Ctrl+Shift+C",
        "Copy the selection, with the names of the columns",
        &[
            (CTRL, Key::C, Command::Copy { headers: false }),
            (CTRL_SHIFT, Key::C, Command::Copy { headers: true }),
        ],
    ),
    Keys::new(
        "Enter, Space",
        "Show the cell in full",
        &[(NONE, Key::Enter, Command::Activate), (NONE, Key::Space, Command::Activate)],
    ),
    Keys::new(
        "Shift+F10, Alt+Down",
        "The menu of the cell, of the column",
        &[(SHIFT, Key::F10, Command::Menu), (ALT, Key::ArrowDown, Command::ColumnMenu)],
    ),
    Keys::new(
        "Alt+S, Alt+Shift+S",
        "Sort by the column: up, down, not; as one more key",
        &[(ALT, Key::S, Command::Sort { more: false }), (ALT_SHIFT, Key::S, Command::Sort { more: true })],
    ),
    Keys::new(
        "Alt+Right, Alt+Left",
        "Make the column wider, narrower",
        &[(ALT, Key::ArrowRight, Command::Resize(1)), (ALT, Key::ArrowLeft, Command::Resize(-1))],
    ),
    Keys::new(
        "Alt+A, Alt+Shift+A",
        "Fit the width of the column, of all in sight",
        &[(ALT, Key::A, Command::Fit { all: false }), (ALT_SHIFT, Key::A, Command::Fit { all: true })],
    ),
    Keys::new(
        "Alt+Shift+Right, Alt+Shift+Left",
        "Move the column to the right, to the left",
        &[(ALT_SHIFT, Key::ArrowRight, Command::Move(1)), (ALT_SHIFT, Key::ArrowLeft, Command::Move(-1))],
    ),
    Keys::new("Alt+Z", "Freeze the column at the left, or set it free", &[(ALT, Key::Z, Command::Freeze)]),
    Keys::new(
        "Alt+H, Alt+Shift+H",
        "Hide the column, show all that are hidden",
        &[(ALT, Key::H, Command::Hide), (ALT_SHIFT, Key::H, Command::ShowHidden)],
    ),
    Keys::new("Esc", "Select the cell alone", &[(NONE, Key::Escape, Command::Collapse)]),
];

impl Command {
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Copy => Some(Command::Copy { headers: false }),
            Event::Key { key, pressed: true, modifiers, .. } => Self::of_key(*key, *modifiers),
            _ => None,
        }
    }

    fn of_key(key: Key, modifiers: Modifiers) -> Option<Self> {
        if let Some(command) = keys::meaning(KEYS, key, modifiers) {
            return Some(command);
        }
        let plain = Modifiers { shift: false, ..modifiers };
        match keys::meaning(KEYS, key, plain) {
            Some(Command::Step(step, _)) if modifiers.shift => Some(Command::Step(step, true)),
            _ => None,
        }
    }
}
