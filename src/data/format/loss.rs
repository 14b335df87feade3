//! Losses: what a conversion would not keep, and how it is told.

use crate::bytes::display;
use crate::data::content::ImageInfo;
use crate::data::content::image::orientation;
use std::collections::{HashMap, HashSet};

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
    /// What of the source cannot be read.
    Missing,
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
            LossKind::Missing => "missing",
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

impl Loss {
    /// The array and the subject, without what is said of them.
    fn place(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let apart = if self.path.is_empty() || self.subject.is_empty() { "" } else { ", " };
        write!(f, "{}{apart}{}", self.path, self.subject)
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Worded { first: self, others: Vec::new() }.fmt(f)
    }
}

/// The most places that a sentence names; of more it names this many less two.
const NAMED: usize = 8;

/// The same sentence about one place or several.
#[derive(Clone, Debug)]
pub struct Worded<'a> {
    first: &'a Loss,
    others: Vec<&'a Loss>,
}

impl std::ops::Deref for Worded<'_> {
    type Target = Loss;

    fn deref(&self) -> &Loss {
        self.first
    }
}

impl std::fmt::Display for Worded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.first.place(f)?;
        let count = self.others.len() + 1;
        let named = if count > NAMED { NAMED - 2 } else { count };
        for other in self.others.iter().take(named - 1) {
            f.write_str(", ")?;
            match self.first.subject.is_empty() {
                true => f.write_str(&other.path)?,
                false => f.write_str(&other.subject)?,
            }
        }
        if count > named {
            write!(f, " and {} more", display::count((count - named) as u64))?;
        }
        let colon = if self.first.path.is_empty() && self.first.subject.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.first.what)
    }
}

/// Losses for people: what is said of several columns, attributes or arrays in the same words stands once, with the names
/// of all or of the first of them; so does what is of several kinds.
pub fn worded<'a>(losses: impl IntoIterator<Item = &'a Loss>) -> Vec<Worded<'a>> {
    let mut all: Vec<Worded<'a>> = Vec::new();
    let (mut said, mut places) = (HashSet::new(), HashMap::new());
    for loss in losses {
        if !said.insert((&loss.path, &loss.subject, &loss.what, loss.serious)) {
            continue;
        }
        // Subjects of one array stand together, and so do arrays.
        let of = if loss.subject.is_empty() { None } else { Some(&loss.path) };
        let is_whole = loss.subject.is_empty() && loss.path.is_empty();
        let place = places.entry((of, is_whole, &loss.what, loss.serious)).or_insert(all.len());
        match all.get_mut(*place) {
            Some(worded) => worded.others.push(loss),
            None => all.push(Worded { first: loss, others: Vec::new() }),
        }
    }
    all
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_many_stands_once() {
        let json = || note(LossKind::Nesting, "it becomes JSON");
        let mut losses: Vec<Loss> = ["a", "b", "a"].map(|name| json().of(name)).to_vec();
        losses.push(loss(LossKind::Nan, "NaN becomes null").of("a"));
        losses.extend(["x", "y"].map(|name| json().at("t").of(name)));
        losses.extend(["t", "u"].map(|name| json().at(name)));
        losses.push(json());
        losses.extend((0..9).map(|n| note(LossKind::Type, "it is text").of(format!("c{n}"))));
        losses.push(Loss { kind: LossKind::Nan, ..json() });
        let told: Vec<String> = worded(&losses).iter().map(ToString::to_string).collect();
        let wanted = [
            "a, b: it becomes JSON",
            "a: NaN becomes null",
            "t, x, y: it becomes JSON",
            "t, u: it becomes JSON",
            "it becomes JSON",
            "c0, c1, c2, c3, c4, c5 and 3 more: it is text",
        ];
        assert_eq!(told, wanted);
        assert_eq!(losses.iter().map(Loss::to_string).collect::<Vec<_>>()[4], "t, x: it becomes JSON");
    }
}
