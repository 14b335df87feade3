//! The dimensions of a file: variables share one where name and length are the same, as far as they see it from their
//! groups. Where names say nothing they are made up, one for each length.
//! <https://docs.unidata.ucar.edu/netcdf-c/current/group_dims.html>

use super::names::valid;
use std::collections::{BTreeMap, BTreeSet};

/// A dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The path of the group that it lies in; empty for the root.
    pub group: String,
    /// Its name.
    pub name: String,
    /// Its length.
    pub len: u64,
    /// Whether it can grow: one of length 0 must, and those that were named.
    pub unlimited: bool,
}

impl Dimension {
    /// Its path.
    pub fn path(&self) -> String {
        join(&self.group, &self.name)
    }
}

/// A name in a group.
pub fn join(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

/// What is asked for: the dimensions of a variable.
pub struct Wanted<'a> {
    /// The path of its group.
    pub group: &'a str,
    /// Its own name.
    pub name: &'a str,
    /// The lengths of its dimensions.
    pub shape: &'a [u64],
    /// Their names; empty for one without.
    pub axes: &'a [String],
}

/// All dimensions, as they come up.
#[derive(Default)]
pub struct Dimensions {
    /// In the order in which they came up.
    pub list: Vec<Dimension>,
    known: BTreeMap<(String, String), usize>,
    /// The names of groups in groups, which no dimension beside them can have.
    groups: BTreeSet<(String, String)>,
    /// The variables that are coordinates: group, name, length.
    homes: BTreeSet<(String, String, u64)>,
    /// The names of variables in the root.
    variables: BTreeSet<String>,
    unlimited: Vec<String>,
}

/// The dimensions of one variable, and which names became others.
#[derive(Clone, Debug, Default)]
pub struct Along {
    /// Their numbers.
    pub dimensions: Vec<usize>,
    /// Names that are other ones in the file.
    pub renamed: Vec<(String, String)>,
    /// Names that were made up.
    pub made_up: Vec<String>,
}

enum Place {
    Known(usize),
    In(String),
    Taken,
}

impl Dimensions {
    /// The dimensions of all variables.
    pub fn of(wanted: &[Wanted<'_>], groups: &BTreeSet<String>, unlimited: &[String]) -> (Self, Vec<Along>) {
        let mut all = Dimensions { unlimited: unlimited.to_vec(), ..Dimensions::default() };
        for path in groups {
            let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
            all.groups.insert((group.to_owned(), name.to_owned()));
        }
        let used: BTreeSet<(&str, u64)> = wanted
            .iter()
            .flat_map(|w| w.axes.iter().zip(w.shape).map(|(name, len)| (name.as_str(), *len)))
            .filter(|(name, _)| !name.is_empty())
            .collect();
        // A variable without names of dimensions is the coordinate of the one that is called as it.
        let is_coordinate = |w: &Wanted<'_>| match (w.shape, w.axes.first()) {
            ([len], Some(axis)) => axis == w.name || axis.is_empty() && used.contains(&(w.name, *len)),
            ([_, ..], Some(axis)) => axis == w.name,
            _ => false,
        };
        for w in wanted {
            if let (true, Some(len)) = (is_coordinate(w), w.shape.first()) {
                all.homes.insert((w.group.to_owned(), w.name.to_owned(), *len));
            }
            if w.group.is_empty() {
                all.variables.insert(w.name.to_owned());
            }
        }
        // Those further up first: what lies below them sees their dimensions.
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        let depth = |n: &usize| {
            wanted.get(*n).map_or(0, |w| if w.group.is_empty() { 0 } else { w.group.split('/').count() })
        };
        order.sort_by_key(depth);
        let mut along = vec![Along::default(); wanted.len()];
        let mut unnamed = Vec::new();
        for n in order {
            let (Some(w), Some(own)) = (wanted.get(n), along.get_mut(n)) else { continue };
            for (axis, len) in w.shape.iter().enumerate() {
                let name = match w.axes.get(axis).map(String::as_str) {
                    Some("") | None if axis == 0 && is_coordinate(w) => w.name,
                    Some("") | None => {
                        unnamed.push((n, own.dimensions.len()));
                        own.dimensions.push(usize::MAX);
                        continue;
                    }
                    Some(name) => name,
                };
                let (number, called) = all.named(w.group, name, *len);
                if called != name {
                    own.renamed.push((name.to_owned(), called));
                }
                own.dimensions.push(number);
            }
        }
        all.make_up(wanted, unnamed, &mut along);
        (all, along)
    }

    /// Gives the dimensions without a name one, shared by those of the same length.
    fn make_up(&mut self, wanted: &[Wanted<'_>], unnamed: Vec<(usize, usize)>, along: &mut [Along]) {
        let mut made: BTreeMap<(u64, usize), usize> = BTreeMap::new();
        let mut seen: BTreeMap<(usize, u64), usize> = BTreeMap::new();
        for (n, axis) in unnamed {
            let len = wanted.get(n).and_then(|w| w.shape.get(axis)).copied().unwrap_or(0);
            // Two dimensions of one variable are never the same.
            let nth = seen.entry((n, len)).or_default();
            let key = (len, *nth);
            *nth += 1;
            let number = match made.get(&key) {
                Some(number) => *number,
                None => {
                    let name = (0u64..).map(|n| format!("dim_{n}")).find(|name| self.is_free(name));
                    let number = self.add("", &name.unwrap_or_default(), len);
                    made.insert(key, number);
                    number
                }
            };
            let name = self.list.get(number).map(|d| d.name.clone()).unwrap_or_default();
            if let Some(own) = along.get_mut(n) {
                own.made_up.push(name);
                if let Some(place) = own.dimensions.get_mut(axis) {
                    *place = number;
                }
            }
        }
    }

    fn is_free(&self, name: &str) -> bool {
        let key = (String::new(), name.to_owned());
        !self.known.contains_key(&key) && !self.groups.contains(&key) && !self.variables.contains(name)
    }

    /// The dimension of a name as seen from a group, and what it is called: the nearest of this length, else a new one.
    pub fn named(&mut self, group: &str, name: &str, len: u64) -> (usize, String) {
        let valid = valid(name);
        let mut called = valid.clone();
        for n in 2u64.. {
            match self.place(group, &called, len) {
                Place::Known(number) => return (number, called),
                Place::In(home) => return (self.add(&home, &called, len), called),
                Place::Taken => called = format!("{valid}_{n}"),
            }
        }
        (usize::MAX, called)
    }

    fn place(&self, group: &str, name: &str, len: u64) -> Place {
        let mut at = group;
        loop {
            let key = (at.to_owned(), name.to_owned());
            match self.known.get(&key).and_then(|number| Some((*number, self.list.get(*number)?.len))) {
                Some((number, known)) if known == len => return Place::Known(number),
                // In a group below it another one hides it.
                Some(_) if at != group => return Place::In(group.to_owned()),
                Some(_) => return Place::Taken,
                None if self.groups.contains(&key) && at == group => return Place::Taken,
                None if self.homes.contains(&(key.0, key.1, len)) => return Place::In(at.to_owned()),
                None if at.is_empty() => {
                    let root = (String::new(), name.to_owned());
                    // For all groups to share, where nothing else is called so.
                    let is_free = !self.groups.contains(&root) && !self.variables.contains(name);
                    return Place::In(if is_free { String::new() } else { group.to_owned() });
                }
                None => at = at.rsplit_once('/').map_or("", |(above, _)| above),
            }
        }
    }

    fn add(&mut self, group: &str, name: &str, len: u64) -> usize {
        let unlimited = len == 0 || self.unlimited.iter().any(|known| known == name);
        let number = self.list.len();
        self.list.push(Dimension { group: group.to_owned(), name: name.to_owned(), len, unlimited });
        self.known.insert((group.to_owned(), name.to_owned()), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(wanted: &[(&str, &[u64], &[&str])], groups: &[&str]) -> Vec<Vec<String>> {
        let axes: Vec<Vec<String>> =
            wanted.iter().map(|w| w.2.iter().map(|a| (*a).to_owned()).collect()).collect();
        let wanted: Vec<Wanted<'_>> = wanted
            .iter()
            .zip(&axes)
            .map(|(&(path, shape, _), axes)| {
                let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
                Wanted { group, name, shape, axes }
            })
            .collect();
        let groups = groups.iter().map(|g| (*g).to_owned()).collect();
        let (all, along) = Dimensions::of(&wanted, &groups, &[]);
        along.iter().map(|a| a.dimensions.iter().map(|n| all.list[*n].path()).collect()).collect()
    }

    #[test]
    fn dimensions_are_shared_as_groups_see_them() {
        let got = along(
            &[
                ("g/a", &[2, 3], &["y", "x"]),
                ("x", &[3], &[""]),
                ("b", &[4, 3], &["y", "x"]),
                ("g/c", &[5], &["x"]),
                ("d", &[5, 4], &["x", ""]),
                ("e", &[4, 4], &["", ""]),
            ],
            &["g"],
        );
        let wanted = [
            vec!["g/y", "x"],
            vec!["x"],
            vec!["y", "x"],
            vec!["g/x"],
            vec!["x_2", "dim_0"],
            vec!["dim_0", "dim_1"],
        ];
        assert_eq!(got, wanted);
    }

    #[test]
    fn coordinates_keep_their_dimension_beside_them() {
        let got = along(
            &[("g/t", &[2], &["t"]), ("g/v", &[2], &["t"]), ("h/v", &[2], &["t"]), ("h", &[1], &["g"])],
            &["g"],
        );
        assert_eq!(got, [vec!["g/t"], vec!["g/t"], vec!["t"], vec!["g_2"]]);
    }
}
