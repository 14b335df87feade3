//! What is odd about records, counted while they are read: each of them once, however often it is read.

use crate::bytes::display;
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// Places that are kept of each kind; beyond, there are "at least" so many.
const MOST: usize = 1 << 16;

/// Records that were met behind those that a sample told of.
#[derive(Default)]
pub struct LateFields {
    /// What stands before this byte is told by the sample.
    from: u64,
    /// Whether bytes are not those of the file.
    foreign: bool,
    bad: Mutex<Seen>,
    twice: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Where the records begin.
    places: BTreeSet<u64>,
    /// Of the first of them: where it begins, and what is odd.
    first: Option<(u64, String)>,
}

impl LateFields {
    /// Counts from the byte `from` on. `foreign`: places are not bytes of the file, and are not told.
    pub fn new(from: u64, foreign: bool) -> LateFields {
        LateFields { from, foreign, ..LateFields::default() }
    }

    /// The record at `place` is no JSON.
    pub fn bad(&self, place: u64, why: &str) {
        self.note(&self.bad, place, why);
    }

    /// A field of the record at `place` has the name of one before.
    pub fn twice(&self, place: u64, name: &str) {
        self.note(&self.twice, place, name);
    }

    fn note(&self, seen: &Mutex<Seen>, place: u64, what: &str) {
        if place < self.from {
            return;
        }
        let mut seen = seen.lock();
        let is_new = seen.places.len() < MOST && seen.places.insert(place);
        if is_new && seen.first.as_ref().is_none_or(|(first, _)| place < *first) {
            seen.first = Some((place, what.to_owned()));
        }
    }

    /// Sentences about them; `record` is the format's word for one.
    pub fn remarks(&self, record: &str) -> Vec<String> {
        let told = |seen: &Mutex<Seen>| {
            let seen = seen.lock();
            let (place, what) = seen.first.clone()?;
            let least = if seen.places.len() == MOST { "at least " } else { "" };
            let count = format!("{least}{}", display::plural(seen.places.len() as u64, record));
            let at = if self.foreign { String::new() } else { format!(" (at byte {place})") };
            Some((count, what, at))
        };
        let bad = told(&self.bad).map(|(count, why, at)| {
            format!("{count} met further on cannot be read as JSON and stand as text; the first: {why}{at}")
        });
        let twice = told(&self.twice).map(|(count, name, at)| {
            format!(
                "{count} met further on with a field that stands twice, of which the last counts; the first: {name:?}{at}"
            )
        });
        bad.into_iter().chain(twice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_counts_once_and_the_first_is_told() {
        let met = LateFields::new(100, false);
        for (place, why) in [(300, "b"), (200, "a"), (300, "b"), (50, "told already")] {
            met.bad(place, why);
        }
        let expected =
            "2 lines met further on cannot be read as JSON and stand as text; the first: a (at byte 200)";
        assert_eq!(met.remarks("line"), [expected]);
        (0..70_000).for_each(|place| met.twice(1_000 + place, "n"));
        assert!(met.remarks("row")[1].starts_with("at least 65,536 rows met further on with a field"));
    }
}
