//! Losses: what a conversion would not keep, and how it is told.

use crate::data::content::ImageInfo;
use crate::data::content::image::orientation;
use std::collections::HashSet;

/// One thing that a conversion would not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What kind of thing.
    pub kind: LossKind,
    /// The array, table or group among several; empty for the whole and for the only one.
    pub path: String,
    /// The column or attribute; empty where it concerns all of them.
    pub subject: String,
    /// What it is called in the result, where that is known and not what it was called: as a reader of the result
    /// names it, with the groups above it.
    pub called: Option<String>,
    /// What happens to it, as a sentence without a full stop.
    pub what: String,
    /// Whether values or their meaning change or vanish (refused without consent).
    pub serious: bool,
    /// Whether it depends on values, which a plan does not read, or on the program that reads the result: what
    /// is named may not come true.
    pub possible: bool,
}

/// What a loss is of, as `convert --json` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LossKind {
    /// Values become those of another type, or are left out since there is no type for them.
    Type,
    /// Nulls.
    Null,
    /// NaN and infinities.
    Nan,
    /// The zone of times.
    Zone,
    /// Digits.
    Precision,
    /// Lists and structs become something else.
    Nesting,
    /// Attributes of an array or a column.
    Attribute,
    /// Names of columns, dimensions, arrays, values.
    Name,
    /// The order of rows, columns or arrays.
    Order,
    /// How an array is divided into chunks.
    Chunks,
    /// Metadata of the whole.
    Metadata,
    /// What stored numbers stand for; the coordinates of dimensions.
    Scale,
}

impl LossKind {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            LossKind::Type => "type",
            LossKind::Null => "null",
            LossKind::Nan => "nan",
            LossKind::Zone => "zone",
            LossKind::Precision => "precision",
            LossKind::Nesting => "nesting",
            LossKind::Attribute => "attribute",
            LossKind::Name => "name",
            LossKind::Order => "order",
            LossKind::Chunks => "chunks",
            LossKind::Metadata => "metadata",
            LossKind::Scale => "scale",
        }
    }

    /// Whether all that is known stays, in another form.
    pub fn is_form(self) -> bool {
        matches!(self, LossKind::Type | LossKind::Nesting | LossKind::Order | LossKind::Chunks)
    }
}

impl Loss {
    /// The column, attribute or array that it names, if it is of one alone.
    pub fn of(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Of the array, table or group at `path`.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Of something that is called so in the result.
    pub fn called(mut self, name: impl Into<String>) -> Self {
        self.called = Some(name.into());
        self
    }

    /// Only where there are such values.
    pub fn if_any(mut self) -> Self {
        self.possible = true;
        self
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.path.is_empty(), self.subject.is_empty()) {
            (true, true) => f.write_str(&self.what),
            (true, false) => write!(f, "{}: {}", self.subject, self.what),
            (false, true) => write!(f, "{}: {}", self.path, self.what),
            (false, false) => write!(f, "{}, {}: {}", self.path, self.subject, self.what),
        }
    }
}

/// Losses for people: those that say the same of the same place stand once, though they are of several kinds.
pub fn worded<'a>(losses: impl IntoIterator<Item = &'a Loss>) -> Vec<&'a Loss> {
    let mut said = HashSet::new();
    losses.into_iter().filter(|loss| said.insert((loss.to_string(), loss.serious))).collect()
}

/// A loss that leaves values and their meaning as they are.
pub fn note(kind: LossKind, what: impl Into<String>) -> Loss {
    let (path, subject) = Default::default();
    Loss { kind, path, subject, called: None, what: what.into(), serious: false, possible: false }
}

/// What is lost of a picture that is to be turned before it is shown.
pub fn unturned(info: &ImageInfo) -> Option<Loss> {
    let value = orientation(info.orientation.filter(|value| *value != 1)?);
    let what = format!("the orientation ({value}) is not kept: viewers will not turn the picture");
    Some(loss(LossKind::Metadata, what))
}

/// A loss of values or of their meaning.
pub fn loss(kind: LossKind, what: impl Into<String>) -> Loss {
    Loss { serious: true, ..note(kind, what) }
}
