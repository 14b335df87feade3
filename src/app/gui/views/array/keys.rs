//! The keys of arrays and of their pictures and lines: tables that these obey and the list under F1 shows. The zooms are
//! those of [`canvas`](crate::gui::ui::canvas).

use egui::{Key, Modifiers};

use crate::gui::ui::Keys;

const NONE: Modifiers = Modifiers::NONE;
const SHIFT: Modifiers = Modifiers::SHIFT;
const CTRL: Modifiers = Modifiers::COMMAND;

/// What a key means to an array, however it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayCommand {
    /// So many slices on.
    Step(i64),
    Play,
    Transpose,
    /// The next NaN, or the one before.
    NextNan(bool),
}

/// The keys that go to the slices wherever the keyboard is in the view.
pub(crate) static SLICE_KEYS: &[Keys<ArrayCommand>] = &[Keys::new(
    "[ and ]",
    "The slice or frame before, after; with Shift ten of them",
    &[
        (NONE, Key::OpenBracket, ArrayCommand::Step(-1)),
        (NONE, Key::CloseBracket, ArrayCommand::Step(1)),
        (SHIFT, Key::OpenBracket, ArrayCommand::Step(-10)),
        (SHIFT, Key::CloseBracket, ArrayCommand::Step(10)),
        // With Shift most keyboards have braces there.
        (SHIFT, Key::OpenCurlyBracket, ArrayCommand::Step(-10)),
        (SHIFT, Key::CloseCurlyBracket, ArrayCommand::Step(10)),
    ],
)];

/// The keys of slices and of the frames of a picture while a picture or nothing has the keyboard: elsewhere they mean
/// something else.
pub(crate) static PLAY_KEYS: &[Keys<ArrayCommand>] = &[
    Keys::new(
        "Page Up, Page Down",
        "The slice or frame before, after",
        &[(NONE, Key::PageUp, ArrayCommand::Step(-1)), (NONE, Key::PageDown, ArrayCommand::Step(1))],
    ),
    Keys::new("Space", "Play the slices or frames, pause", &[(NONE, Key::Space, ArrayCommand::Play)]),
];

/// The keys of an array, in the same places.
pub(crate) static ARRAY_KEYS: &[Keys<ArrayCommand>] = &[
    Keys::new(
        "N, Shift+N",
        "The next NaN, the one before",
        &[(NONE, Key::N, ArrayCommand::NextNan(true)), (SHIFT, Key::N, ArrayCommand::NextNan(false))],
    ),
    Keys::new("T", "Swap rows and columns", &[(NONE, Key::T, ArrayCommand::Transpose)]),
];

/// What a key means to the framed element of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameCommand {
    /// So far to the right and down, as it is seen.
    Move([i64; 2]),
    /// To the beginning or the end of the row.
    RowEnd(bool),
    /// To the first or the last element of the picture.
    End(bool),
}

/// The keys of the framed element.
pub(crate) static FRAME_KEYS: &[Keys<FrameCommand>] = &[
    Keys::new(
        "Arrows",
        "Move the framed element; with Shift by ten",
        &[
            (NONE, Key::ArrowLeft, FrameCommand::Move([-1, 0])),
            (NONE, Key::ArrowRight, FrameCommand::Move([1, 0])),
            (NONE, Key::ArrowUp, FrameCommand::Move([0, -1])),
            (NONE, Key::ArrowDown, FrameCommand::Move([0, 1])),
            (SHIFT, Key::ArrowLeft, FrameCommand::Move([-10, 0])),
            (SHIFT, Key::ArrowRight, FrameCommand::Move([10, 0])),
            (SHIFT, Key::ArrowUp, FrameCommand::Move([0, -10])),
            (SHIFT, Key::ArrowDown, FrameCommand::Move([0, 10])),
        ],
    ),
    Keys::new(
        "Home, End",
        "To the ends of its row; with Ctrl to the first, the last element",
        &[
            (NONE, Key::Home, FrameCommand::RowEnd(false)),
            (NONE, Key::End, FrameCommand::RowEnd(true)),
            (CTRL, Key::Home, FrameCommand::End(false)),
            (CTRL, Key::End, FrameCommand::End(true)),
        ],
    ),
];

/// What a key means to lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineCommand {
    /// To the right or to the left.
    Move(i8),
    /// Closer or further away.
    Zoom(i8),
    Fit,
    /// The marked element.
    Mark(i8),
}

/// The keys of lines.
pub(crate) static LINE_KEYS: &[Keys<LineCommand>] = &[
    Keys::new(
        "Left, Right",
        "Move along lines; with Ctrl the marked element",
        &[
            (NONE, Key::ArrowLeft, LineCommand::Move(-1)),
            (NONE, Key::ArrowRight, LineCommand::Move(1)),
            (CTRL, Key::ArrowLeft, LineCommand::Mark(-1)),
            (CTRL, Key::ArrowRight, LineCommand::Mark(1)),
        ],
    ),
    Keys::new(
        "Plus, Minus, 0",
        "Zoom into lines, out of them; fit",
        &[
            (NONE, Key::Plus, LineCommand::Zoom(1)),
            (SHIFT, Key::Plus, LineCommand::Zoom(1)),
            (NONE, Key::Equals, LineCommand::Zoom(1)),
            (NONE, Key::Minus, LineCommand::Zoom(-1)),
            (NONE, Key::Num0, LineCommand::Fit),
        ],
    ),
];
