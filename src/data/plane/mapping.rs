//! Which axes of an array are rows and columns of the picture, and where the others stand. Text in
//! NumPy's slice notation.

use super::slice::Slice;
use crate::bytes::error::Result;
use crate::data::axes::AxisKind;
use crate::data::region::{Region, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The mapping of the dimensions of one shape onto the screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mapping {
    shape: Vec<u64>,
    /// The part of each axis that shows while it is rows, columns or channels.
    spans: Vec<Span>,
    /// Where each axis stands while it is none of these.
    at: Vec<u64>,
    rows: Option<usize>,
    columns: Option<usize>,
    channels: Option<usize>,
}

/// What an axis is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Down the screen.
    Rows,
    /// Across the screen.
    Columns,
}

impl Mapping {
    /// The last two axes as rows and columns; of a picture with channels, its height and width.
    pub fn new(shape: &[u64]) -> Self {
        let channels = likely_channels(shape);
        let mut free = (0..shape.len()).rev().filter(|axis| Some(*axis) != channels);
        let columns = free.next();
        let rows = free.next();
        Mapping {
            shape: shape.to_vec(),
            spans: shape.iter().map(|&len| Span::all(len)).collect(),
            at: vec![0; shape.len()],
            rows,
            columns,
            channels,
        }
    }

    /// The plane that the kinds of the axes suggest: places before time and channels, x across and y down. Where
    /// they say nothing, that of [`Mapping::new`].
    pub fn meant(shape: &[u64], kinds: &[AxisKind]) -> Self {
        let mut mapping = Mapping::new(shape);
        let kind = |axis: usize| kinds.get(axis).copied().unwrap_or_default();
        // A few places or times are no colours.
        mapping.channels =
            mapping.channels.filter(|&axis| matches!(kind(axis), AxisKind::Channel | AxisKind::Other));
        let channels = mapping.channels;
        let free = || (0..shape.len()).filter(move |&axis| Some(axis) != channels);
        let only = |wanted: AxisKind| {
            let mut found = free().filter(|&axis| kind(axis) == wanted && shape.get(axis) > Some(&1));
            let first = found.next();
            first.filter(|_| found.next().is_none())
        };
        let places: Vec<usize> =
            [AxisKind::X, AxisKind::Y, AxisKind::Z].into_iter().filter_map(only).collect();
        let passes = |axis: &usize| matches!(kind(*axis), AxisKind::Time | AxisKind::Channel);
        let still: Vec<usize> = free().filter(|axis| !passes(axis)).collect();
        let all: Vec<usize> = free().collect();
        (mapping.rows, mapping.columns) = match (&places[..], &still[..], &all[..]) {
            (&[across, down, ..], _, _) => (Some(down), Some(across)),
            (_, &[.., down, across], _) | (_, _, &[.., down, across]) => (Some(down), Some(across)),
            (_, _, all) => (None, all.last().copied()),
        };
        mapping
    }

    /// Frames by one axis or several, then row, column, channel: the axes of an image.
    pub fn picture(shape: &[u64]) -> Self {
        let axis = |back: usize| shape.len().checked_sub(back);
        Mapping { rows: axis(3), columns: axis(2), channels: axis(1), ..Mapping::new(shape) }
    }

    /// The axis of the rows.
    pub fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// The axis of the columns.
    pub fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// The axis of the channels, in the image mode.
    pub fn channels(&self) -> Option<usize> {
        self.channels
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Where an axis stands that is neither rows nor columns.
    pub fn position(&self, axis: usize) -> u64 {
        self.at.get(axis).copied().unwrap_or(0)
    }

    /// Sets where an axis stands; beyond the end is the end.
    pub fn set_position(&mut self, axis: usize, to: u64) {
        if let (Some(at), Some(&len)) = (self.at.get_mut(axis), self.shape.get(axis)) {
            *at = to.min(len.saturating_sub(1));
        }
    }

    /// The first and the last place of an axis that stands still: of the range that was typed for it while it
    /// stands in it, else of all.
    pub fn reach(&self, axis: usize) -> (u64, u64) {
        let last = self.shape.get(axis).map_or(0, |len| len.saturating_sub(1));
        let at = self.position(axis);
        let range = self.spans.get(axis).filter(|span| at >= span.start && at < span.end());
        range.map_or((0, last), |span| (span.start, span.end() - 1))
    }

    /// Gives an axis a role; the axis that had it takes the other one's place.
    pub fn assign(&mut self, role: Role, axis: usize) {
        let (mine, other) = match role {
            Role::Rows => (&mut self.rows, &mut self.columns),
            Role::Columns => (&mut self.columns, &mut self.rows),
        };
        if *other == Some(axis) {
            *other = *mine;
        }
        *mine = Some(axis);
        if self.channels == Some(axis) {
            self.channels = None;
        }
    }

    /// Rows become columns and columns rows.
    pub fn transpose(&mut self) {
        std::mem::swap(&mut self.rows, &mut self.columns);
    }

    /// Sets the axis of the channels; rows and columns move out of its way.
    pub fn set_channels(&mut self, axis: Option<usize>) {
        self.channels = axis;
        let taken = |other: Option<usize>| other.is_some() && other == axis;
        if taken(self.rows) || taken(self.columns) {
            let mut free = (0..self.shape.len()).rev().filter(|other| Some(*other) != axis);
            self.columns = free.next();
            self.rows = free.next();
        }
    }

    /// The axes that stand still, in order: those that have a slider.
    pub fn others(&self, image: bool) -> Vec<usize> {
        let shown = |axis: usize| {
            let axis = Some(axis);
            axis == self.rows || axis == self.columns || (image && axis == self.channels)
        };
        (0..self.shape.len()).filter(|&axis| !shown(axis)).collect()
    }

    /// What is on the screen; with the channels only in the image mode.
    pub fn slice(&self, image: bool) -> Slice {
        let mut spans: Vec<Span> = self.at.iter().map(|&at| Span::range(at, 1)).collect();
        let channels = self.channels.filter(|_| image);
        for axis in [self.rows, self.columns, channels].into_iter().flatten() {
            if let (Some(span), Some(&whole)) = (spans.get_mut(axis), self.spans.get(axis)) {
                *span = whole;
            }
        }
        // An axis of length zero has no place to stand; nothing is shown then.
        for (span, &len) in spans.iter_mut().zip(&self.shape) {
            if len == 0 {
                *span = Span::all(0);
            }
        }
        Slice { spans, rows: self.rows, columns: self.columns, channels }
    }

    /// `3, :, ::2`, as between NumPy's brackets.
    pub fn text(&self, image: bool) -> String {
        let still: BTreeSet<usize> = self.others(image).into_iter().collect();
        let single: Vec<bool> = (0..self.shape.len()).map(|axis| still.contains(&axis)).collect();
        Region(self.slice(image).spans).text(&self.shape, &single)
    }

    /// Takes NumPy's notation, with or without `a[…]`. Rows and columns stay where they are if they
    /// still have a range; else the last two ranges take their places.
    pub fn parse(&mut self, text: &str) -> Result<()> {
        let inner = text.trim();
        let inner = inner.find('[').and_then(|at| inner.get(at..)).unwrap_or(inner);
        let (region, single) = Region::parse(inner, &self.shape)?;
        let ranged = |axis: usize| !single.get(axis).copied().unwrap_or(true);
        for (axis, span) in region.0.iter().enumerate() {
            let moved = span.start != self.position(axis);
            if let (Some(shown), Some(&len)) = (self.spans.get_mut(axis), self.shape.get(axis)) {
                if ranged(axis) {
                    *shown = *span;
                } else if moved {
                    // Another place than where it stands: a range that was typed before holds no more.
                    *shown = Span::all(len);
                }
            }
            if !ranged(axis) || span.start > 0 || self.position(axis) >= span.end() {
                self.set_position(axis, span.start);
            }
        }
        let keeps = |axis: Option<usize>| axis.is_some_and(ranged);
        let channels = self.channels.filter(|&axis| ranged(axis));
        let mut free: Vec<usize> =
            (0..self.shape.len()).filter(|&axis| ranged(axis) && Some(axis) != channels).collect();
        if free.len() < 2 && channels.is_some() {
            free = (0..self.shape.len()).filter(|&axis| ranged(axis)).collect();
        }
        let both = keeps(self.rows) && keeps(self.columns);
        if !both {
            self.columns = free.pop();
            self.rows = free.pop();
        }
        let taken = [self.rows, self.columns];
        self.channels = channels.filter(|axis| !taken.contains(&Some(*axis)));
        Ok(())
    }

    /// Stands so that the element at this full index is shown, and gives its row and column.
    pub fn reveal(&mut self, index: &[u64], image: bool) -> Option<[u64; 2]> {
        if index.len() != self.shape.len() || index.iter().zip(&self.shape).any(|(at, len)| at >= len) {
            return None;
        }
        for axis in self.others(image) {
            self.set_position(axis, *index.get(axis)?);
        }
        let mut place = |axis: Option<usize>| {
            let Some(axis) = axis else { return Some(0) };
            let (span, &at) = (self.spans.get_mut(axis)?, index.get(axis)?);
            let inside = at >= span.start && at < span.end() && (at - span.start).is_multiple_of(span.step);
            if !inside {
                *span = Span::all(*self.shape.get(axis)?);
            }
            Some((at - span.start) / span.step)
        };
        let row = place(self.rows)?;
        let column = place(self.columns)?;
        Some([row, column])
    }

    /// This one, read from outside, if it is sound and fits this shape.
    pub fn checked(self, shape: &[u64]) -> Option<Self> {
        let roles = [self.rows, self.columns, self.channels];
        let roles: Vec<usize> = roles.into_iter().flatten().collect();
        let distinct: BTreeSet<usize> = roles.iter().copied().collect();
        let fits = distinct.len() == roles.len()
            && roles.iter().all(|axis| *axis < shape.len())
            && self.shape == shape
            && self.at.len() == shape.len()
            && self.at.iter().zip(shape).all(|(at, len)| at < len || *at == 0)
            && Region(self.spans.clone()).check(shape).is_ok();
        fits.then_some(self)
    }
}

/// The axis that looks like the channels of a picture: one to four long, first or last of three axes
/// of which the other two are clearly longer.
fn likely_channels(shape: &[u64]) -> Option<usize> {
    let n = shape.len();
    let [.., first, second, last] = shape else { return None };
    let few = |len: u64| len == 3 || len == 4;
    if few(*last) && *first >= 6 && *second >= 6 {
        return Some(n - 1);
    }
    ((few(*first) || (*first == 1 && n > 3)) && *second >= 6 && *last >= 6).then_some(n - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_in_and_comes_out() {
        let mut mapping = Mapping::new(&[5, 6, 7]);
        assert_eq!(mapping.text(false), "0, :, :");
        mapping.parse("a[3, :, ::2]").unwrap();
        assert_eq!(
            (mapping.text(false).as_str(), mapping.rows(), mapping.columns()),
            ("3, :, ::2", Some(1), Some(2))
        );
        // A cut along one axis: no rows.
        mapping.parse("[:, 2, 4]").unwrap();
        assert_eq!(
            (mapping.rows(), mapping.columns(), mapping.text(false).as_str()),
            (None, Some(0), ":, 2, 4")
        );
        mapping.parse("1, 2, 3").unwrap();
        assert_eq!((mapping.rows(), mapping.columns()), (None, None));
        // With three ranges the last two show and the first stands at its start.
        mapping.parse("2:, :, :").unwrap();
        assert_eq!(mapping.text(false), "2, :, :");
        assert!(mapping.parse("9, :, :").is_err());
        assert_eq!(mapping.text(false), "2, :, :");
        // Its range is the reach of its slider, until it is sent elsewhere.
        assert_eq!(mapping.reach(0), (2, 4));
        mapping.parse("1:3, :, :").unwrap();
        assert_eq!((mapping.text(false).as_str(), mapping.reach(0)), ("1, :, :", (1, 2)));
        mapping.parse("1, :, 2:").unwrap();
        assert_eq!(mapping.reach(0), (1, 2));
        mapping.parse("4, :, :").unwrap();
        assert_eq!(mapping.reach(0), (0, 4));
        mapping.parse("1:3, :, :").unwrap();
        mapping.set_position(0, 4);
        assert_eq!(mapping.reach(0), (0, 4));
        mapping.parse(":3, :, :").unwrap();
        assert_eq!((mapping.position(0), mapping.reach(0)), (0, (0, 2)));
        mapping.parse("2:, :, :").unwrap();
    }

    #[test]
    fn roles_swap_and_channels_are_seen() {
        let mut mapping = Mapping::new(&[10, 32, 32, 3]);
        assert_eq!((mapping.rows(), mapping.columns(), mapping.channels()), (Some(1), Some(2), Some(3)));
        assert_eq!((mapping.others(true), mapping.others(false)), (vec![0], vec![0, 3]));
        mapping.assign(Role::Rows, 2);
        assert_eq!((mapping.rows(), mapping.columns()), (Some(2), Some(1)));
        mapping.assign(Role::Columns, 3);
        assert_eq!((mapping.columns(), mapping.channels()), (Some(3), None));
        assert_eq!(likely_channels(&[3, 224, 224]), Some(0));
        assert_eq!(likely_channels(&[60000, 28, 28]), None);
        assert_eq!(likely_channels(&[4, 4096]), None);
    }

    #[test]
    fn the_first_plane_goes_through_places() {
        let plane = |shape: &[u64], kinds: &[AxisKind]| {
            let mapping = Mapping::meant(shape, kinds);
            (mapping.rows(), mapping.columns(), mapping.channels())
        };
        let (x, y, z, t, c, other) =
            (AxisKind::X, AxisKind::Y, AxisKind::Z, AxisKind::Time, AxisKind::Channel, AxisKind::Other);
        // A scanner's volume, with and without time; few slices or times are no colours.
        assert_eq!(plane(&[64, 60, 30], &[x, y, z]), (Some(1), Some(0), None));
        assert_eq!(plane(&[64, 60, 30, 200], &[x, y, z, t]), (Some(1), Some(0), None));
        assert_eq!(plane(&[64, 60, 30, 3], &[x, y, z, t]), (Some(1), Some(0), None));
        // A section: one of the three is a single place.
        assert_eq!(plane(&[64, 1, 30], &[x, y, z]), (Some(2), Some(0), None));
        // Climate, and the same turned round.
        assert_eq!(plane(&[12, 17, 64, 128], &[t, z, y, x]), (Some(2), Some(3), None));
        assert_eq!(plane(&[64, 128, 12], &[y, x, t]), (Some(0), Some(1), None));
        assert_eq!(plane(&[12, 17, 64], &[t, z, y]), (Some(1), Some(2), None));
        // Places without directions stay before what passes; two axes in all stay as they are.
        assert_eq!(plane(&[9, 8, 100], &[other, other, t]), (Some(0), Some(1), None));
        assert_eq!(plane(&[50, 100], &[other, t]), (Some(0), Some(1), None));
        assert_eq!(plane(&[50, 100], &[x, t]), (Some(0), Some(1), None));
        // Channels that are called so are colours.
        assert_eq!(plane(&[3, 40, 50], &[c, y, x]), (Some(1), Some(2), Some(0)));
        for shape in [&[][..], &[5], &[5, 6], &[5, 6, 7], &[10, 32, 32, 3], &[1, 3, 20, 20]] {
            assert_eq!(Mapping::meant(shape, &[]), Mapping::new(shape), "{shape:?}");
        }
    }

    #[test]
    fn a_session_brings_it_back_and_nonsense_does_not() {
        let mut mapping = Mapping::new(&[5, 6, 7]);
        mapping.parse("3, 1:4, ::2").unwrap();
        let kept = serde_json::to_value(&mapping).unwrap();
        let restored =
            |shape: &[u64]| serde_json::from_value::<Mapping>(kept.clone()).unwrap().checked(shape);
        assert_eq!(restored(&[5, 6, 7]), Some(mapping.clone()));
        assert_eq!((restored(&[5, 6]), restored(&[5, 6, 2])), (None, None));
        let mut wrong = mapping.clone();
        wrong.rows = Some(7);
        assert_eq!(wrong.checked(&[5, 6, 7]), None);
    }

    #[test]
    fn an_element_is_brought_into_the_slice() {
        let mut mapping = Mapping::new(&[5, 6, 7]);
        mapping.parse("0, 2:4, ::2").unwrap();
        assert_eq!(mapping.reveal(&[4, 3, 2], false), Some([1, 1]));
        assert_eq!(mapping.reveal(&[4, 0, 3], false), Some([0, 3]));
        assert_eq!(mapping.text(false), "4, :, :");
        assert_eq!(mapping.reveal(&[5, 0, 0], false), None);
    }
}
