//! The keys of the grid: one table that the grid obeys and the list under F1 shows.

use egui::{Event, Key, Modifiers};

use super::selection::Step;
use crate::gui::ui::KeyLine;

/// What a key means to the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
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

/// Keys that belong together, what each of them means, and both in words. Steps also go with Shift, which selects.
struct GridKeys {
    line: KeyLine,
    meanings: &'static [(Modifiers, Key, Command)],
}

const fn step(modifiers: Modifiers, key: Key, step: Step) -> (Modifiers, Key, Command) {
    (modifiers, key, Command::Step(step, false))
}

static KEYS: &[GridKeys] = &[
    GridKeys {
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
    GridKeys {
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
    GridKeys {
        line: KeyLine::new("Ctrl+Home, Ctrl+End", "First and last cell; with Shift select"),
        meanings: &[step(CTRL, Key::Home, Step::FirstCell), step(CTRL, Key::End, Step::LastCell)],
    },
    GridKeys {
        line: KeyLine::new("Shift+Space, Ctrl+Space, Ctrl+A", "Select the row, the column, everything"),
        meanings: &[
            (SHIFT, Key::Space, Command::SelectRow),
            (CTRL, Key::Space, Command::SelectColumn),
            (CTRL, Key::A, Command::SelectAll),
        ],
    },
    GridKeys {
        line: KeyLine::new("Ctrl+C, Ctrl+Shift+C", "Copy the selection, with the names of the columns"),
        meanings: &[
            (CTRL, Key::C, Command::Copy { headers: false }),
            (CTRL_SHIFT, Key::C, Command::Copy { headers: true }),
        ],
    },
    GridKeys {
        line: KeyLine::new("Enter, Space", "Show the cell in full"),
        meanings: &[(NONE, Key::Enter, Command::Activate), (NONE, Key::Space, Command::Activate)],
    },
    GridKeys {
        line: KeyLine::new("Shift+F10, Alt+Down", "The menu of the cell, of the column"),
        meanings: &[(SHIFT, Key::F10, Command::Menu), (ALT, Key::ArrowDown, Command::ColumnMenu)],
    },
    GridKeys {
        line: KeyLine::new("Alt+S, Alt+Shift+S", "Sort by the column: up, down, not; as one more key"),
        meanings: &[
            (ALT, Key::S, Command::Sort { more: false }),
            (ALT_SHIFT, Key::S, Command::Sort { more: true }),
        ],
    },
    GridKeys {
        line: KeyLine::new("Alt+Right, Alt+Left", "Make the column wider, narrower"),
        meanings: &[(ALT, Key::ArrowRight, Command::Resize(1)), (ALT, Key::ArrowLeft, Command::Resize(-1))],
    },
    GridKeys {
        line: KeyLine::new("Alt+A, Alt+Shift+A", "Fit the width of the column, of all in sight"),
        meanings: &[
            (ALT, Key::A, Command::Fit { all: false }),
            (ALT_SHIFT, Key::A, Command::Fit { all: true }),
        ],
    },
    GridKeys {
        line: KeyLine::new("Alt+Shift+Right, Alt+Shift+Left", "Move the column to the right, to the left"),
        meanings: &[
            (ALT_SHIFT, Key::ArrowRight, Command::Move(1)),
            (ALT_SHIFT, Key::ArrowLeft, Command::Move(-1)),
        ],
    },
    GridKeys {
        line: KeyLine::new("Alt+Z", "Freeze the column at the left, or set it free"),
        meanings: &[(ALT, Key::Z, Command::Freeze)],
    },
    GridKeys {
        line: KeyLine::new("Alt+H, Alt+Shift+H", "Hide the column, show all that are hidden"),
        meanings: &[(ALT, Key::H, Command::Hide), (ALT_SHIFT, Key::H, Command::ShowHidden)],
    },
    GridKeys {
        line: KeyLine::new("Esc", "Select the cell alone"),
        meanings: &[(NONE, Key::Escape, Command::Collapse)],
    },
];

/// The keys of every grid in words.
pub(crate) fn lines() -> Vec<&'static KeyLine> {
    KEYS.iter().map(|keys| &keys.line).collect()
}

/// Every key of the grid.
#[cfg(test)]
pub(crate) fn shortcuts() -> Vec<egui::KeyboardShortcut> {
    let all = KEYS.iter().flat_map(|keys| keys.meanings);
    all.map(|(modifiers, key, _)| egui::KeyboardShortcut::new(*modifiers, *key)).collect()
}

impl Command {
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Copy => Some(Command::Copy { headers: false }),
            Event::Key { key, pressed: true, modifiers, .. } => Self::of_key(*key, *modifiers),
            _ => None,
        }
    }

    fn of_key(key: Key, modifiers: Modifiers) -> Option<Self> {
        let all = || KEYS.iter().flat_map(|keys| keys.meanings).filter(move |(_, of, _)| *of == key);
        let is = |wanted: Modifiers, given: Modifiers| {
            (wanted.command, wanted.shift, wanted.alt) == (given.command, given.shift, given.alt)
        };
        if let Some((_, _, command)) = all().find(|(wanted, ..)| is(*wanted, modifiers)) {
            return Some(*command);
        }
        let plain = Modifiers { shift: false, ..modifiers };
        all().find_map(|(wanted, _, command)| match command {
            Command::Step(step, _) if modifiers.shift && is(*wanted, plain) => {
                Some(Command::Step(*step, true))
            }
            _ => None,
        })
    }
}
