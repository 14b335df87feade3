//! The icons of the window: glyphs of Phosphor (regular), <https://phosphoricons.com>.
//!
//! Each is written as its name in the Phosphor style sheet and the code point found there;
//! `assets/make_fonts.py` checks them and cuts the font to exactly these.

/// Writes the enum and its tables from one list, so that they cannot disagree.
macro_rules! icons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $glyph:literal,)*) => {
        /// A named glyph. Draw it with [`super::theme::icon`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Icon {
            $($(#[$doc])* $variant,)*
        }

        impl Icon {
            /// Every icon, in the order of the list.
            pub(crate) const ALL: &[Icon] = &[$(Icon::$variant,)*];

            /// The code point in the icon font.
            pub(crate) const fn glyph(self) -> char {
                match self { $(Icon::$variant => $glyph,)* }
            }

            /// The name in the Phosphor style sheet.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Icon::$variant => $name,)* }
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
    /// A set of images.
    Images = "images" '\u{e836}',
    /// Sound.
    Audio = "waveform" '\u{e802}',
    /// Video.
    Video = "film-strip" '\u{e792}',
    /// A video source.
    VideoCamera = "video-camera" '\u{e4da}',
    /// Music.
    Music = "music-notes" '\u{e340}',
    /// Text.
    Text = "text-aa" '\u{e6ee}',
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
    /// Delimited text.
    Csv = "file-csv" '\u{eb1c}',
    /// A graph.
    Graph = "graph" '\u{eb58}',
    /// A tree.
    Tree = "tree-structure" '\u{e67c}',
    /// A folder.
    Folder = "folder" '\u{e24a}',
    /// An open folder.
    FolderOpen = "folder-open" '\u{e256}',
    /// Add a folder.
    FolderPlus = "folder-plus" '\u{e258}',
    /// A file.
    File = "file" '\u{e230}',
    /// A new or added file.
    FilePlus = "file-plus" '\u{e236}',
    /// Several files.
    Files = "files" '\u{e710}',
    /// A file that could not be read.
    FileBroken = "file-x" '\u{e23c}',
    /// An archive.
    Archive = "file-zip" '\u{e958}',
    /// A package.
    Package = "package" '\u{e390}',
    /// A database.
    Database = "database" '\u{e1de}',
    /// A set of shards or partitions.
    Dataset = "stack" '\u{e466}',
    /// A group.
    Group = "circles-three" '\u{e192}',
    /// Rows.
    Rows = "rows" '\u{e5a2}',
    /// Columns.
    Columns = "columns" '\u{e546}',
    /// Records.
    Records = "list-bullets" '\u{e2f2}',
    /// One record as a form.
    Form = "note" '\u{e348}',
    /// A number.
    Hash = "hash" '\u{e2a2}',
    /// Bytes.
    Binary = "binary" '\u{ee60}',
    /// A key.
    Key = "key" '\u{e2d6}',
    /// An attribute.
    Tag = "tag" '\u{e478}',
    /// A function.
    Function = "function" '\u{ebe4}',
    /// A date or time.
    Calendar = "calendar-blank" '\u{e10a}',
    /// A truth value.
    Toggle = "toggle-left" '\u{e674}',
    /// A link.
    Link = "link" '\u{e2e2}',
    /// Unknown kind.
    Unknown = "question" '\u{e3e8}',
    /// A processor.
    Cpu = "cpu" '\u{e610}',
    /// Memory.
    Memory = "memory" '\u{e9c4}',
    /// A disk.
    Disk = "hard-drive" '\u{e29e}',
    /// Remote storage.
    Cloud = "cloud" '\u{e1aa}',
    /// Close.
    Close = "x" '\u{e4f6}',
    /// Done.
    Check = "check" '\u{e182}',
    /// Add.
    Plus = "plus" '\u{e3d4}',
    /// Remove.
    Minus = "minus" '\u{e32a}',
    /// Search.
    Search = "magnifying-glass" '\u{e30c}',
    /// Zoom in.
    ZoomIn = "magnifying-glass-plus" '\u{e310}',
    /// Zoom out.
    ZoomOut = "magnifying-glass-minus" '\u{e30e}',
    /// Fit to the window.
    Fit = "arrows-out" '\u{e0a2}',
    /// Shrink.
    Shrink = "arrows-in" '\u{e09a}',
    /// Filter.
    Filter = "funnel" '\u{e266}',
    /// Clear the filter.
    FilterClear = "funnel-x" '\u{e26c}',
    /// Sort ascending.
    SortAscending = "sort-ascending" '\u{e444}',
    /// Sort descending.
    SortDescending = "sort-descending" '\u{e446}',
    /// Up.
    ArrowUp = "arrow-up" '\u{e08e}',
    /// Down.
    ArrowDown = "arrow-down" '\u{e03e}',
    /// Left.
    ArrowLeft = "arrow-left" '\u{e058}',
    /// Right.
    ArrowRight = "arrow-right" '\u{e06c}',
    /// Up.
    CaretUp = "caret-up" '\u{e13c}',
    /// Open.
    CaretDown = "caret-down" '\u{e136}',
    /// Previous.
    CaretLeft = "caret-left" '\u{e138}',
    /// Closed.
    CaretRight = "caret-right" '\u{e13a}',
    /// First.
    First = "caret-double-left" '\u{e128}',
    /// Last.
    Last = "caret-double-right" '\u{e12a}',
    /// Reload.
    Reload = "arrow-clockwise" '\u{e036}',
    /// Undo, rotate left.
    Undo = "arrow-counter-clockwise" '\u{e038}',
    /// Refresh.
    Refresh = "arrows-clockwise" '\u{e094}',
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
    /// Save.
    Download = "download-simple" '\u{e20c}',
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
    /// Working.
    Spinner = "spinner-gap" '\u{e66c}',
    /// Recent.
    Recent = "clock-counter-clockwise" '\u{e1a0}',
    /// Time.
    Clock = "clock" '\u{e19a}',
    /// Play.
    Play = "play" '\u{e3d0}',
    /// Pause.
    Pause = "pause" '\u{e39e}',
    /// Previous frame.
    StepBack = "skip-back" '\u{e5a4}',
    /// Next frame.
    StepForward = "skip-forward" '\u{e5a6}',
    /// Sound on.
    Speaker = "speaker-high" '\u{e44a}',
    /// Sound off.
    Mute = "speaker-slash" '\u{e45a}',
    /// Light theme.
    Sun = "sun" '\u{e472}',
    /// Dark theme.
    Moon = "moon" '\u{e330}',
    /// Theme.
    Contrast = "circle-half" '\u{e18c}',
    /// Settings.
    Gear = "gear" '\u{e270}',
    /// Options.
    Sliders = "sliders-horizontal" '\u{e434}',
    /// More.
    More = "dots-three" '\u{e1fe}',
    /// More.
    MoreVertical = "dots-three-vertical" '\u{e208}',
    /// Side panel.
    Sidebar = "sidebar-simple" '\u{ec24}',
    /// Split to the side.
    SplitRight = "square-split-horizontal" '\u{e870}',
    /// Split below.
    SplitDown = "square-split-vertical" '\u{e874}',
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
    /// Bars.
    BarChart = "chart-bar-horizontal" '\u{e152}',
    /// Line chart.
    LineChart = "chart-line" '\u{e154}',
    /// Health.
    Health = "heartbeat" '\u{e2ac}',
    /// Statistics.
    Statistics = "sigma" '\u{eab8}',
    /// Colour map.
    Palette = "palette" '\u{e6c8}',
    /// Pick a value.
    Eyedropper = "eyedropper" '\u{e568}',
    /// Crop.
    Crop = "crop" '\u{e1d4}',
    /// Cross-hairs.
    Crosshair = "crosshair" '\u{e1d6}',
    /// Pan.
    Hand = "hand" '\u{e298}',
    /// Go to.
    Target = "target" '\u{e47c}',
    /// Measure.
    Ruler = "ruler" '\u{e6b8}',
    /// Flip left to right.
    FlipHorizontal = "flip-horizontal" '\u{ed6a}',
    /// Flip top to bottom.
    FlipVertical = "flip-vertical" '\u{ed6c}',
    /// Layout map.
    Map = "map-trifold" '\u{e31a}',
    /// Layers.
    Layers = "stack-simple" '\u{e468}',
    /// Wrap text.
    Wrap = "text-align-left" '\u{e484}',
    /// Swap.
    Swap = "swap" '\u{e83c}',
    /// Shuffle.
    Shuffle = "shuffle" '\u{e422}',
    /// Bookmark.
    Bookmark = "bookmark" '\u{e0e8}',
    /// Read only.
    Lock = "lock" '\u{e2fa}',
    /// A format.
    Puzzle = "puzzle-piece" '\u{e596}',
    /// A hint.
    Idea = "lightbulb" '\u{e2dc}',
    /// Start.
    Home = "house" '\u{e2c2}',
    /// Edit.
    Pencil = "pencil-simple" '\u{e3b4}',
    /// Remove.
    Trash = "trash" '\u{e4a6}',
    /// A mark.
    Dot = "dot-outline" '\u{ece0}',
    /// A model.
    Model = "brain" '\u{e74e}',
    /// A module.
    Module = "squares-four" '\u{e464}',
    /// Compare.
    Scales = "scales" '\u{e750}',
}

impl std::fmt::Display for Icon {
    /// The glyph itself: the icon font is a fallback of every family, so that an icon may
    /// stand in the middle of a text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.glyph())
    }
}
