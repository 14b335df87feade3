//! The keys of views that are no arrays and no grids: bytes, texts, galleries, graphs, records. Tables that the views obey
//! and the list under F1 shows.

use egui::{Key, Modifiers};

use crate::gui::ui::keys::Meaning;
use crate::gui::ui::{KeyLine, Keys};

const NONE: Modifiers = Modifiers::NONE;
const SHIFT: Modifiers = Modifiers::SHIFT;
const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };

/// To another byte, row or tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    RowStart,
    RowEnd,
    First,
    Last,
}

/// What a key means to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HexCommand {
    /// The cursor goes there; whether what it passes is selected.
    Step(Step, bool),
    SelectAll,
    Copy,
}

const fn byte(modifiers: Modifiers, key: Key, step: Step) -> Meaning<HexCommand> {
    (modifiers, key, HexCommand::Step(step, modifiers.shift))
}

/// The keys of bytes.
pub(crate) static HEX_KEYS: &[Keys<HexCommand>] = &[
    Keys {
        line: KeyLine::new("Arrows, Page Up, Page Down", "Move the cursor of bytes; with Shift select"),
        meanings: &[
            byte(NONE, Key::ArrowLeft, Step::Left),
            byte(NONE, Key::ArrowRight, Step::Right),
            byte(NONE, Key::ArrowUp, Step::Up),
            byte(NONE, Key::ArrowDown, Step::Down),
            byte(NONE, Key::PageUp, Step::PageUp),
            byte(NONE, Key::PageDown, Step::PageDown),
            byte(SHIFT, Key::ArrowLeft, Step::Left),
            byte(SHIFT, Key::ArrowRight, Step::Right),
            byte(SHIFT, Key::ArrowUp, Step::Up),
            byte(SHIFT, Key::ArrowDown, Step::Down),
            byte(SHIFT, Key::PageUp, Step::PageUp),
            byte(SHIFT, Key::PageDown, Step::PageDown),
        ],
    },
    Keys {
        line: KeyLine::new(
            "Home, End",
            "To the ends of the row of bytes; with Ctrl to the first, the last byte",
        ),
        meanings: &[
            byte(NONE, Key::Home, Step::RowStart),
            byte(NONE, Key::End, Step::RowEnd),
            byte(SHIFT, Key::Home, Step::RowStart),
            byte(SHIFT, Key::End, Step::RowEnd),
            byte(CTRL, Key::Home, Step::First),
            byte(CTRL, Key::End, Step::Last),
            byte(CTRL_SHIFT, Key::Home, Step::First),
            byte(CTRL_SHIFT, Key::End, Step::Last),
        ],
    },
    Keys::new(
        "Ctrl+A, Ctrl+C",
        "Select all bytes, copy what is selected",
        &[(CTRL, Key::A, HexCommand::SelectAll), (CTRL, Key::C, HexCommand::Copy)],
    ),
];

/// What a key means to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextCommand {
    Scroll(Step),
    SelectAll,
    Copy,
    /// Nothing is selected any more.
    Collapse,
}

/// The keys of texts.
pub(crate) static TEXT_KEYS: &[Keys<TextCommand>] = &[
    Keys::new(
        "Arrows, Page Up, Page Down, Space",
        "Scroll a text",
        &[
            (NONE, Key::ArrowLeft, TextCommand::Scroll(Step::Left)),
            (NONE, Key::ArrowRight, TextCommand::Scroll(Step::Right)),
            (NONE, Key::ArrowUp, TextCommand::Scroll(Step::Up)),
            (NONE, Key::ArrowDown, TextCommand::Scroll(Step::Down)),
            (NONE, Key::PageUp, TextCommand::Scroll(Step::PageUp)),
            (NONE, Key::PageDown, TextCommand::Scroll(Step::PageDown)),
            (SHIFT, Key::Space, TextCommand::Scroll(Step::PageUp)),
            (NONE, Key::Space, TextCommand::Scroll(Step::PageDown)),
        ],
    ),
    Keys::new(
        "Home, End",
        "To the beginning, the end of lines; with Ctrl of the text",
        &[
            (NONE, Key::Home, TextCommand::Scroll(Step::RowStart)),
            (NONE, Key::End, TextCommand::Scroll(Step::RowEnd)),
            (CTRL, Key::Home, TextCommand::Scroll(Step::First)),
            (CTRL, Key::End, TextCommand::Scroll(Step::Last)),
        ],
    ),
    Keys::new(
        "Ctrl+A, Ctrl+C, Esc",
        "Select all of a text, copy what is selected, select nothing",
        &[
            (CTRL, Key::A, TextCommand::SelectAll),
            (CTRL, Key::C, TextCommand::Copy),
            (NONE, Key::Escape, TextCommand::Collapse),
        ],
    ),
];

/// What a key means to a gallery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GalleryCommand {
    /// To another tile; whether those that are passed are selected.
    Step(Step, bool),
    Open,
    Flag,
    /// The next one of the same class.
    NextOfClass,
    SelectAll,
}

const fn tile(modifiers: Modifiers, key: Key, step: Step) -> Meaning<GalleryCommand> {
    (modifiers, key, GalleryCommand::Step(step, modifiers.shift))
}

/// The keys of galleries.
pub(crate) static GALLERY_KEYS: &[Keys<GalleryCommand>] = &[
    Keys {
        line: KeyLine::new(
            "Arrows, Page Up, Page Down, Home, End",
            "Go from tile to tile; with Shift select",
        ),
        meanings: &[
            tile(NONE, Key::ArrowLeft, Step::Left),
            tile(NONE, Key::ArrowRight, Step::Right),
            tile(NONE, Key::ArrowUp, Step::Up),
            tile(NONE, Key::ArrowDown, Step::Down),
            tile(NONE, Key::PageUp, Step::PageUp),
            tile(NONE, Key::PageDown, Step::PageDown),
            tile(NONE, Key::Home, Step::First),
            tile(NONE, Key::End, Step::Last),
            tile(SHIFT, Key::ArrowLeft, Step::Left),
            tile(SHIFT, Key::ArrowRight, Step::Right),
            tile(SHIFT, Key::ArrowUp, Step::Up),
            tile(SHIFT, Key::ArrowDown, Step::Down),
            tile(SHIFT, Key::PageUp, Step::PageUp),
            tile(SHIFT, Key::PageDown, Step::PageDown),
            tile(SHIFT, Key::Home, Step::First),
            tile(SHIFT, Key::End, Step::Last),
        ],
    },
    Keys::new("Enter", "Show the record of the tile", &[(NONE, Key::Enter, GalleryCommand::Open)]),
    Keys::new("F", "Flag what is selected, or take the flag off", &[(NONE, Key::F, GalleryCommand::Flag)]),
    Keys::new("N", "The next tile of the same class", &[(NONE, Key::N, GalleryCommand::NextOfClass)]),
    Keys::new("Ctrl+A", "Select all tiles", &[(CTRL, Key::A, GalleryCommand::SelectAll)]),
];

/// The key that selects the tile alone, while several are.
pub(crate) static GALLERY_COLLAPSE: &[Keys<()>] =
    &[Keys::new("Esc", "Select the tile alone", &[(NONE, Key::Escape, ())])];

/// What a key means to a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphCommand {
    /// Up, down, left or right.
    Step(Step),
    Open,
    LetGo,
    /// The group around it closes.
    CloseAround,
    Zoom(Option<bool>),
}

/// The keys of graphs.
pub(crate) static GRAPH_KEYS: &[Keys<GraphCommand>] = &[
    Keys::new(
        "Arrows",
        "Up and down along the edges of a graph, left and right beside",
        &[
            (NONE, Key::ArrowUp, GraphCommand::Step(Step::Up)),
            (NONE, Key::ArrowDown, GraphCommand::Step(Step::Down)),
            (NONE, Key::ArrowLeft, GraphCommand::Step(Step::Left)),
            (NONE, Key::ArrowRight, GraphCommand::Step(Step::Right)),
        ],
    ),
    Keys::new(
        "Enter, Space",
        "Open the group that is selected",
        &[(NONE, Key::Enter, GraphCommand::Open), (NONE, Key::Space, GraphCommand::Open)],
    ),
    Keys::new("Backspace", "Close the group around it", &[(NONE, Key::Backspace, GraphCommand::CloseAround)]),
    Keys::new("Esc", "Let go of what is selected", &[(NONE, Key::Escape, GraphCommand::LetGo)]),
    Keys::new(
        "Plus, Minus, 0",
        "Zoom into a graph, out of it; all in sight",
        &[
            (NONE, Key::Plus, GraphCommand::Zoom(Some(true))),
            (SHIFT, Key::Plus, GraphCommand::Zoom(Some(true))),
            (NONE, Key::Equals, GraphCommand::Zoom(Some(true))),
            (NONE, Key::Minus, GraphCommand::Zoom(Some(false))),
            (NONE, Key::Num0, GraphCommand::Zoom(None)),
        ],
    ),
];

/// What a key means to one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordCommand {
    NextColumn,
    PreviousColumn,
    NextRow,
    PreviousRow,
    Inspect,
}

/// The keys of a record.
pub(crate) static RECORD_KEYS: &[Keys<RecordCommand>] = &[
    Keys::new(
        "Up, Down",
        "Through the columns of a record",
        &[
            (NONE, Key::ArrowUp, RecordCommand::PreviousColumn),
            (NONE, Key::ArrowDown, RecordCommand::NextColumn),
        ],
    ),
    Keys::new(
        "Left, Right, Page Up, Page Down",
        "To the record before, after",
        &[
            (NONE, Key::ArrowLeft, RecordCommand::PreviousRow),
            (NONE, Key::ArrowRight, RecordCommand::NextRow),
            (NONE, Key::PageUp, RecordCommand::PreviousRow),
            (NONE, Key::PageDown, RecordCommand::NextRow),
        ],
    ),
    Keys::new(
        "Enter, Space",
        "Show the value in full",
        &[(NONE, Key::Enter, RecordCommand::Inspect), (NONE, Key::Space, RecordCommand::Inspect)],
    ),
];

/// What a key means to a sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SoundCommand {
    Play,
    /// To a chapter before or behind this one.
    Chapter(i64),
}

/// The keys of a sound, while its pictures or nothing has the keyboard.
pub(crate) static SOUND_KEYS: &[Keys<SoundCommand>] = &[
    Keys::new(
        "Space",
        "Play the selection, or all from the cursor on; stop",
        &[(NONE, Key::Space, SoundCommand::Play)],
    ),
    Keys::new(
        "[ and ]",
        "The chapter before, after",
        &[
            (NONE, Key::OpenBracket, SoundCommand::Chapter(-1)),
            (NONE, Key::CloseBracket, SoundCommand::Chapter(1)),
        ],
    ),
];

/// The keys of everything that is found, wherever the keyboard is in a view: whether it is the next place.
pub(crate) static FOUND_KEYS: &[Keys<bool>] = &[Keys::new(
    "F3, Shift+F3",
    "The next place that was found, the one before",
    &[(NONE, Key::F3, true), (SHIFT, Key::F3, false)],
)];
