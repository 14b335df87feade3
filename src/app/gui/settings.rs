//! What a person prefers: theme, scale, how numbers are written, memory, what a view begins with, colour maps. One TOML
//! file in the user's configuration folder. It is read once, before the window opens, and only what was changed in the
//! window is written into it, so that comments, the order of lines and keys of other versions stay.

mod file;
#[cfg(test)]
mod tests;

use gander::data::plane::color::ColorMap;

use super::number_format::NumberFormat;
pub(crate) use file::SettingsFile;

/// The least and the most of all scales that can be set.
pub(crate) const SCALES: std::ops::RangeInclusive<f32> = 0.5..=3.0;

/// The least and the most memory for decoded bytes, in gigabytes (10⁹ bytes).
pub(crate) const MEMORY: std::ops::RangeInclusive<f64> = 0.25..=1024.0;

/// The most digits behind the point that numbers can be rounded to.
pub(crate) const DIGITS: i64 = 17;

/// A choice that the file says by a word.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// All of them: the value, its word in the file, and what the window calls it.
    const ALL: &'static [(Self, &'static str, &'static str)];

    /// Its word in the file.
    fn id(self) -> &'static str {
        Self::ALL.iter().find(|(value, ..)| *value == self).map_or("", |(_, id, _)| id)
    }

    /// The one with this word.
    fn by_id(id: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word, _)| *word == id).map(|(value, ..)| *value)
    }
}

/// Which theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThemeChoice {
    /// As the desktop.
    #[default]
    System,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

impl Word for ThemeChoice {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (ThemeChoice::System, "system", "As the system"),
        (ThemeChoice::Light, "light", "Light"),
        (ThemeChoice::Dark, "dark", "Dark"),
    ];
}

/// How a table is shown at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TableStart {
    /// Many rows on a grid.
    #[default]
    Rows,
    /// One row as a form.
    Record,
    /// A line for each column.
    Summary,
    /// Rows as pictures, where they hold any.
    Gallery,
}

impl Word for TableStart {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (TableStart::Rows, "rows", "Rows"),
        (TableStart::Record, "record", "Record"),
        (TableStart::Summary, "summary", "Summary"),
        (TableStart::Gallery, "gallery", "Gallery"),
    ];
}

/// How an array is shown at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ArrayStart {
    /// As its shape and its axes suggest.
    #[default]
    Usual,
    /// Numbers on a grid.
    Numbers,
    /// Colours for numbers.
    Heat,
    /// A photograph.
    Image,
    /// Lines.
    Line,
    /// How often which values are.
    Histogram,
}

impl Word for ArrayStart {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (ArrayStart::Usual, "usual", "What suits it"),
        (ArrayStart::Numbers, "numbers", "Numbers"),
        (ArrayStart::Heat, "heat map", "Heat map"),
        (ArrayStart::Image, "image", "Image"),
        (ArrayStart::Line, "lines", "Lines"),
        (ArrayStart::Histogram, "histogram", "Histogram"),
    ];
}

/// How a model is shown at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ModelStart {
    /// As what it holds suggests.
    #[default]
    Usual,
    /// Its tensors.
    Parameters,
    /// What is wrong with them.
    Health,
    /// What lies in it.
    Contents,
}

impl Word for ModelStart {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (ModelStart::Usual, "usual", "What suits it"),
        (ModelStart::Parameters, "parameters", "Parameters"),
        (ModelStart::Health, "health", "Health"),
        (ModelStart::Contents, "contents", "Contents"),
    ];
}

/// How an image is shown at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ImageStart {
    /// The image itself.
    #[default]
    Image,
    /// How often which values are.
    Histogram,
}

impl Word for ImageStart {
    const ALL: &'static [(Self, &'static str, &'static str)] =
        &[(ImageStart::Image, "image", "Image"), (ImageStart::Histogram, "histogram", "Histogram")];
}

/// What views begin with where nobody chose something else in them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Preferences {
    /// How numbers of tables are written.
    pub(crate) numbers: NumberFormat,
    pub(crate) table: TableStart,
    pub(crate) array: ArrayStart,
    pub(crate) model: ModelStart,
    pub(crate) image: ImageStart,
    /// Colours of heat maps.
    pub(crate) sequential: ColorMap,
    /// Colours of heat maps with zero in the middle.
    pub(crate) diverging: ColorMap,
}

impl Default for Preferences {
    fn default() -> Self {
        Preferences {
            numbers: NumberFormat::Exact,
            table: TableStart::default(),
            array: ArrayStart::default(),
            model: ModelStart::default(),
            image: ImageStart::default(),
            sequential: ColorMap::default(),
            diverging: ColorMap::all().find(|map| map.diverges()).unwrap_or_default(),
        }
    }
}

/// All that can be set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) theme: ThemeChoice,
    /// The scale of everything, 1 for the desktop's own.
    pub(crate) scale: f32,
    /// Memory for decoded bytes, in gigabytes (10⁹ bytes).
    pub(crate) memory: f64,
    /// Whether each file is read in a process of its own, from the next start of the window on.
    pub(crate) isolate: bool,
    pub(crate) preferences: Preferences,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            theme: ThemeChoice::System,
            scale: 1.0,
            memory: 2.0,
            isolate: true,
            preferences: Preferences::default(),
        }
    }
}

impl Settings {
    /// [`Settings::memory`] in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        (self.memory * 1e9) as usize
    }
}

/// Something in the file that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The line, the first is 1.
    pub(crate) line: usize,
    pub(crate) words: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.words)
    }
}
