//! What the grid asks of the data behind it. A model answers at once from memory; what is not
//! there yet is [`CellKind::Pending`], and [`GridModel::want`] says what to fetch.

use std::borrow::Cow;
use std::ops::Range;

use gander::bytes::display;
use gander::convert::copy::CopyFormat;

/// How many rows there are, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GridRows {
    /// Counted.
    Exact(u64),
    /// So many have been seen; there may be more.
    AtLeast(u64),
    /// Estimated.
    About(u64),
}

impl GridRows {
    /// The number of rows the grid can scroll over.
    pub(crate) fn count(self) -> u64 {
        match self {
            GridRows::Exact(count) | GridRows::AtLeast(count) | GridRows::About(count) => count,
        }
    }

    /// In words, with the sign of its certainty: `20,000`, `≥ 20,000`, `≈ 20,000`.
    pub(crate) fn words(self) -> String {
        let sign = match self {
            GridRows::Exact(_) => "",
            GridRows::AtLeast(_) => "≥ ",
            GridRows::About(_) => "≈ ",
        };
        format!("{sign}{}", display::count(self.count()))
    }

    /// The noun after the number.
    pub(crate) fn noun(self) -> &'static str {
        if self == GridRows::Exact(1) { "row" } else { "rows" }
    }

    /// What to say where none is there: that is certain only when they were counted.
    pub(crate) fn none(self) -> &'static str {
        if matches!(self, GridRows::Exact(_)) { "No rows" } else { "No rows yet" }
    }
}

/// The side on which the values of a column stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Side {
    /// Text.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// How a column takes part in the order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SortMark {
    /// Largest first.
    pub(crate) descending: bool,
    /// 1 for the first key; shown only if there are several.
    pub(crate) rank: usize,
}

/// What stands at the head of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnHead<'a> {
    /// The column's name.
    pub(crate) name: Cow<'a, str>,
    /// Its type in the format's own words, such as `decimal(8,2)`.
    pub(crate) type_text: Cow<'a, str>,
    /// The side of its values.
    pub(crate) side: Side,
    /// How wide its values are likely to be, in characters.
    pub(crate) width: Option<f32>,
    /// How wide the longest one that is known is, in characters: it is shown in full while there is room.
    pub(crate) full_width: Option<f32>,
    /// Something to know about it, shown as a mark with a tool tip.
    pub(crate) remark: Option<Cow<'a, str>>,
    /// Its part in the sort order.
    pub(crate) sort: Option<SortMark>,
}

/// What a cell holds; decides its colour, font and how it is read out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// An integer, float or decimal.
    Number,
    /// Text.
    #[default]
    Text,
    /// True or false.
    Bool,
    /// Missing.
    Null,
    /// Not a number, or an infinity.
    Nan,
    /// A date, time, duration or time stamp.
    Time,
    /// Bytes.
    Binary,
    /// A list, struct or map, as text.
    Nested,
    /// Not in memory yet.
    Pending,
    /// Could not be read; the message says why.
    Failed(String),
}

/// The content of one cell, ready to draw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell<'a> {
    /// The text, whole or at least its beginning; the grid draws the first 300 characters.
    pub(crate) text: Cow<'a, str>,
    /// What it holds.
    pub(crate) kind: CellKind,
    /// What is drawn beside the text.
    pub(crate) decoration: Option<Decoration>,
    /// How many digits further right the values of the column reach, so that their points stand below each other.
    pub(crate) pad: u8,
    /// The parts of the drawn text that are marked, in bytes.
    pub(crate) marked: Vec<Range<usize>>,
}

/// What a cell shows beside its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decoration {
    /// The cell stands in a tree: how many levels down, and of a group whether it is open.
    Level {
        /// Levels above it.
        depth: usize,
        /// `None` for what is no group.
        open: Option<bool>,
    },
    /// A bar before the text: a part of one.
    Share(f32),
    /// Bars of these heights instead of the text.
    Distribution(Vec<f32>),
    /// The text in the colour of problems.
    Alarm,
    /// A picture before the text, where rows are tall enough.
    Picture {
        /// The whole of it, on the graphics card.
        texture: egui::TextureId,
        /// Its width for its height.
        proportion: f32,
    },
}

impl<'a> Cell<'a> {
    /// A cell of a kind.
    pub(crate) fn new(kind: CellKind, text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: text.into(), kind, ..Self::default() }
    }

    /// A cell whose value is not in memory yet.
    pub(crate) fn pending() -> Self {
        Self { kind: CellKind::Pending, ..Self::default() }
    }

    /// A cell that could not be read.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { kind: CellKind::Failed(message.into()), ..Self::default() }
    }

    /// A missing value.
    pub(crate) fn null() -> Self {
        Self::new(CellKind::Null, "null")
    }

    /// With something drawn beside its text.
    pub(crate) fn with(mut self, decoration: Decoration) -> Self {
        self.decoration = Some(decoration);
        self
    }
}

/// The data behind a grid.
pub(crate) trait GridModel {
    /// How many rows there are.
    fn rows(&self) -> GridRows;

    /// How many columns there are; may be hundreds of thousands.
    fn columns(&self) -> usize;

    /// The head of a column.
    fn column(&self, index: usize) -> ColumnHead<'_>;

    /// A cell.
    fn cell(&self, row: u64, column: usize) -> Cell<'_>;

    /// Called once a frame with the rows in sight (and a page on either side) and the columns in
    /// sight (and a few on either side, in the order shown), so that the owner fetches them.
    fn want(&mut self, rows: Range<u64>, columns: &[usize]);

    /// What stands before a row; its number if nothing else is said.
    fn row_label(&self, row: u64) -> Cow<'_, str> {
        Cow::Owned(display::count(row))
    }

    /// How many characters a label may have, where neither the first nor the last row tells.
    fn widest_label(&self) -> usize {
        0
    }

    /// What stands over the row labels.
    fn row_head(&self) -> &str {
        "row"
    }

    /// What to say when there are no rows.
    fn empty(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.rows().none())
    }

    /// What can be done where there are no rows, as the words of a button.
    fn empty_offer(&self) -> Option<&str> {
        None
    }

    /// The width, in characters, of columns that suggest none, and of all columns when there are
    /// too many to ask each.
    fn default_width(&self) -> f32 {
        12.0
    }

    /// The forms in which its cells can be copied.
    fn copy_formats(&self) -> &[CopyFormat] {
        &CopyFormat::ALL
    }

    /// Draws into the lower part of a column's head ([`super::Grid::header_extra`] points high): a mini
    /// histogram, top values, the share of nulls. Widgets placed here get clicks before the head does.
    fn header_ui(&mut self, ui: &mut egui::Ui, column: usize) {
        let _ = (ui, column);
    }

    /// Adds rows on top of the context menu of a column's head (sort, filter, statistics).
    fn header_menu(&mut self, ui: &mut egui::Ui, column: usize) {
        let _ = (ui, column);
    }

    /// Adds rows on top of the context menu of a cell (filter by this value).
    fn cell_menu(&mut self, ui: &mut egui::Ui, row: u64, column: usize) {
        let _ = (ui, row, column);
    }
}
