//! The variables of a NetCDF-4 group by their names. A variable that is called as a dimension but is no
//! coordinate of it (it has other dimensions) cannot be a link of that name, since the dimension's own dataset
//! is one already: the NetCDF library stores it with a prefix and shows it without.
//! <https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html#netcdf_4_spec>.

use super::axes::NO_VARIABLE;
use super::file_index::FileIndex;
use super::links::Links;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::cf;
use std::ops::Range;
use std::sync::Arc;

/// What such a variable's link begins with.
pub(super) const PREFIX: &str = "_nc4_non_coord_";
/// The most links of a group that are looked through for them.
const LOOKED_AT: u64 = 10_000;

/// The names of a group's variables where they are not those of its links.
#[derive(Default)]
pub(super) struct Variables {
    /// The names without prefix.
    names: Vec<Box<str>>,
    /// The places, in order, of the dimensions' own datasets among the links: they hold no values, and their
    /// names are the variables'.
    hidden: Vec<u64>,
}

impl Variables {
    /// Looks through the links of the group at `address`.
    ///
    /// # Errors
    /// Only a cancellation.
    pub(super) fn of(task: &Task, book: &Arc<FileIndex>, address: u64, links: &Links) -> Result<Self> {
        let mut found = Variables::default();
        if links.count().is_some_and(|count| count > LOOKED_AT) {
            return Ok(found);
        }
        let all = links.page(task, 0..LOOKED_AT).unless_cancelled()?.unwrap_or_default();
        for name in all.iter().filter_map(|link| link.name.strip_prefix(PREFIX)) {
            let Some(place) = all.iter().position(|link| *link.name == *name) else { continue };
            let is_bare = book.scale(task, address, name).is_some_and(|scale| {
                cf::text(&scale.attributes, "NAME").is_some_and(|told| told.starts_with(NO_VARIABLE))
            });
            task.check()?;
            if is_bare {
                found.names.push(name.into());
                found.hidden.push(place as u64);
            }
        }
        found.hidden.sort_unstable();
        Ok(found)
    }

    /// The name that a link is shown by.
    pub(super) fn shown<'a>(&self, link: &'a str) -> &'a str {
        match link.strip_prefix(PREFIX) {
            Some(name) if self.names.iter().any(|known| **known == *name) => name,
            _ => link,
        }
    }

    /// The link that is shown by a name.
    pub(super) fn link(&self, name: &str) -> String {
        match self.names.iter().any(|known| **known == *name) {
            true => format!("{PREFIX}{name}"),
            false => name.to_owned(),
        }
    }

    /// How many of so many links are shown.
    pub(super) fn count(&self, links: u64) -> u64 {
        links.saturating_sub(self.hidden.len() as u64)
    }

    /// The places among the links of those that are shown at `range`, as far as there are `links` of them.
    pub(super) fn places(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        let (mut start, mut end) = (range.start, range.end);
        for &hidden in &self.hidden {
            if hidden <= start {
                // One that lies before moves everything on.
                start = start.saturating_add(1);
                end = end.saturating_add(1);
            } else if hidden < end {
                parts.push(start..hidden);
                start = hidden.saturating_add(1);
                end = end.saturating_add(1);
            }
        }
        parts.push(start..end);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_leave_out_the_dimensions() {
        let variables = Variables { names: vec!["x".into()], hidden: vec![0, 1, 4, 9] };
        let flat = |range| variables.places(range).into_iter().flatten().collect::<Vec<u64>>();
        assert_eq!(flat(0..4), [2, 3, 5, 6]);
        assert_eq!((flat(0..1), flat(1..2), flat(2..3)), (vec![2], vec![3], vec![5]));
        assert_eq!(flat(3..7), [6, 7, 8, 10]);
        assert_eq!(variables.count(12), 8);
        assert_eq!(
            (variables.shown("_nc4_non_coord_x"), variables.shown("_nc4_non_coord_y")),
            ("x", "_nc4_non_coord_y")
        );
        assert_eq!(
            (variables.link("x"), variables.link("y")),
            ("_nc4_non_coord_x".to_owned(), "y".to_owned())
        );
        assert_eq!(Variables::default().places(5..9), std::slice::from_ref(&(5..9)));
    }
}
