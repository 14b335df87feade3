//! The icons of the window: glyphs of Phosphor (regular), <https://phosphoricons.com>.
//!
//! Each is written as its name in the Phosphor style sheet and the code point found there;
//! `assets/make_fonts.py` checks them and cuts the font to exactly these. An icon that nothing draws is taken out.

/// Writes the enum and its tables from one list, so that they cannot disagree.
macro_rules! icons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $glyph:literal,)*) => {
        /// A named glyph. Draw it with [`super::theme::icon`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Icon {
            $(
                $(#[$doc])*
                #[doc = concat!("\n\n`", $name, "` in the Phosphor style sheet.")]
                $variant,
            )*
        }

        impl Icon {
            /// Every icon, in the order of the list.
            #[cfg(test)]
            pub(crate) const ALL: &[Icon] = &[$(Icon::$variant,)*];

            /// The code point in the icon font.
            pub(crate) const fn glyph(self) -> char {
                match self { $(Icon::$variant => $glyph,)* }
            }
        }
    };
}

icons! {
    /// A table.
    Table = "table" '\u{e476}',
    /// An array.
    Array = "grid-nine" '\u{ec8c}',
    /// A one-dimensional array.
    Vector = "dots-six-vertical" '\u{eae2}',
    /// A single value.
    Scalar = "number-square-one" '\u{e36c}',
    /// A tensor of a model.
    Tensor = "cube" '\u{e1da}',
    /// A volume.
    Volume = "cube-focus" '\u{ed0a}',
    /// An image.
    Image = "image" '\u{e2ca}',
    /// A text column.
    TextColumn = "text-t" '\u{e48a}',
    /// A text document.
    Document = "file-text" '\u{e23a}',
    /// A JSON value.
    Json = "brackets-curly" '\u{e860}',
    /// A list.
    List = "brackets-square" '\u{e85e}',
    /// Source code.
    Code = "file-code" '\u{e914}',
    /// A folder.
    Folder = "folder" '\u{e24a}',
    /// An open folder.
    FolderOpen = "folder-open" '\u{e256}',
    /// A file.
    File = "file" '\u{e230}',
    /// A file that could not be read.
    FileBroken = "file-x" '\u{e23c}',
    /// An archive.
    Archive = "file-zip" '\u{e958}',
    /// A database.
    Database = "database" '\u{e1de}',
    /// A group.
    Group = "circles-three" '\u{e192}',
    /// Rows.
    Rows = "rows" '\u{e5a2}',
    /// Columns.
    Columns = "columns" '\u{e546}',
    /// One record as a form.
    Form = "note" '\u{e348}',
    /// A number.
    Hash = "hash" '\u{e2a2}',
    /// Bytes.
    Binary = "binary" '\u{ee60}',
    /// An attribute.
    Tag = "tag" '\u{e478}',
    /// A function.
    Function = "function" '\u{ebe4}',
    /// A date or time.
    Calendar = "calendar-blank" '\u{e10a}',
    /// A truth value.
    Toggle = "toggle-left" '\u{e674}',
    /// Close.
    Close = "x" '\u{e4f6}',
    /// Done.
    Check = "check" '\u{e182}',
    /// Add.
    Plus = "plus" '\u{e3d4}',
    /// Search.
    Search = "magnifying-glass" '\u{e30c}',
    /// Zoom in.
    ZoomIn = "magnifying-glass-plus" '\u{e310}',
    /// Zoom out.
    ZoomOut = "magnifying-glass-minus" '\u{e30e}',
    /// Fit to the window.
    Fit = "arrows-out" '\u{e0a2}',
    /// Filter.
    Filter = "funnel" '\u{e266}',
    /// Up.
    ArrowUp = "arrow-up" '\u{e08e}',
    /// Down.
    ArrowDown = "arrow-down" '\u{e03e}',
    /// Up.
    CaretUp = "caret-up" '\u{e13c}',
    /// Open.
    CaretDown = "caret-down" '\u{e136}',
    /// Previous.
    CaretLeft = "caret-left" '\u{e138}',
    /// Closed.
    CaretRight = "caret-right" '\u{e13a}',
    /// Last.
    Last = "caret-double-right" '\u{e12a}',
    /// Reload.
    Reload = "arrow-clockwise" '\u{e036}',
    /// Undo, rotate left.
    Undo = "arrow-counter-clockwise" '\u{e038}',
    /// Shown.
    Eye = "eye" '\u{e220}',
    /// Hidden.
    EyeSlash = "eye-slash" '\u{e224}',
    /// Frozen or kept.
    Pin = "push-pin" '\u{e3e2}',
    /// Not frozen.
    Unpin = "push-pin-slash" '\u{e3e4}',
    /// Copy.
    Copy = "copy" '\u{e1ca}',
    /// Clipboard.
    Clipboard = "clipboard" '\u{e196}',
    /// Export.
    Export = "export" '\u{eaf0}',
    /// Drop here.
    Drop = "tray-arrow-down" '\u{e010}',
    /// Open elsewhere.
    OpenOutside = "arrow-square-out" '\u{e5de}',
    /// A remark.
    Warning = "warning" '\u{e4e0}',
    /// A problem.
    Problem = "warning-circle" '\u{e4e2}',
    /// Information.
    Info = "info" '\u{e2ce}',
    /// Failed.
    Error = "x-circle" '\u{e4f8}',
    /// Good.
    Good = "check-circle" '\u{e184}',
    /// Cancel.
    Stop = "prohibit" '\u{e3de}',
    /// Waiting.
    Hourglass = "hourglass" '\u{e2b2}',
    /// Recent.
    Recent = "clock-counter-clockwise" '\u{e1a0}',
    /// Play.
    Play = "play" '\u{e3d0}',
    /// Pause.
    Pause = "pause" '\u{e39e}',
    /// Light theme.
    Sun = "sun" '\u{e472}',
    /// Dark theme.
    Moon = "moon" '\u{e330}',
    /// Theme.
    Contrast = "circle-half" '\u{e18c}',
    /// Options.
    Sliders = "sliders-horizontal" '\u{e434}',
    /// More.
    More = "dots-three" '\u{e1fe}',
    /// Side panel.
    Sidebar = "sidebar-simple" '\u{ec24}',
    /// Split to the side.
    SplitRight = "square-split-horizontal" '\u{e870}',
    /// Command.
    Command = "command" '\u{e1c4}',
    /// Keys.
    Keyboard = "keyboard" '\u{e2d8}',
    /// Command line.
    Terminal = "terminal" '\u{e47e}',
    /// Query.
    Query = "code" '\u{e1bc}',
    /// Histogram.
    Histogram = "chart-bar" '\u{e150}',
    /// Line chart.
    LineChart = "chart-line" '\u{e154}',
    /// Statistics.
    Statistics = "sigma" '\u{eab8}',
    /// Go to.
    Target = "target" '\u{e47c}',
    /// Measure.
    Ruler = "ruler" '\u{e6b8}',
    /// Flip left to right.
    FlipHorizontal = "flip-horizontal" '\u{ed6a}',
    /// Flip top to bottom.
    FlipVertical = "flip-vertical" '\u{ed6c}',
    /// Wrap text.
    Wrap = "text-align-left" '\u{e484}',
    /// Swap.
    Swap = "swap" '\u{e83c}',
    /// A format.
    Puzzle = "puzzle-piece" '\u{e596}',
    /// A module.
    Module = "squares-four" '\u{e464}',
}

impl std::fmt::Display for Icon {
    /// The glyph itself: the icon font is a fallback of every family, so that an icon may
    /// stand in the middle of a text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.glyph())
    }
}
