//! Names that a target can have: cut, with other letters, and no two alike.

use crate::data::format::{Loss, LossKind, note};
use std::collections::HashSet;

/// The names that things get in a target, in their order, no two alike. `fit` gives the name that the target can have
/// for one, with an ending behind it, which is empty at first. Those that need no other name keep theirs.
pub fn settled<'a>(
    names: impl IntoIterator<Item = &'a str>,
    taken: &[&str],
    fit: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut used: HashSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    let mut settled: Vec<Option<String>> = Vec::with_capacity(names.len());
    for name in &names {
        let keeps = fit(name, "") == *name && used.insert((*name).to_owned());
        settled.push(keeps.then(|| (*name).to_owned()));
    }
    let mut find = |name: &str| {
        let mut made = fit(name, "");
        let mut number = 2u64;
        while !used.insert(made.clone()) {
            made = fit(name, &format!("_{number}"));
            number += 1;
        }
        made
    };
    settled.into_iter().zip(names).map(|(known, name)| known.unwrap_or_else(|| find(name))).collect()
}

/// What is said of a name that is another one in the target.
pub fn renamed(name: &str, new: &str, why: &str) -> Option<Loss> {
    let what = || format!("it is called {new:?}: {why}");
    (name != new).then(|| note(LossKind::Name, what()).at(name).called(new))
}

/// A name of at most so many bytes, with an ending: of a longer one the middle is left out.
pub fn cut(name: &str, ending: &str, most: usize) -> String {
    const GAP: &str = "..";
    if name.len() + ending.len() <= most {
        return format!("{name}{ending}");
    }
    let room = most.saturating_sub(GAP.len() + ending.len());
    let first = name.floor_char_boundary(room / 2);
    let last = name.ceil_char_boundary(name.len().saturating_sub(room - first));
    let (first, last) = (name.get(..first), name.get(last..));
    format!("{}{GAP}{}{ending}", first.unwrap_or_default(), last.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_fit_are_kept_and_others_are_told_apart() {
        let fit = |name: &str, ending: &str| format!("{}{ending}", name.replace('/', "_"));
        let made = settled(["a/b", "a_b", "a_b", "x", "meta"], &["meta"], fit);
        assert_eq!(made, ["a_b_2", "a_b", "a_b_3", "x", "meta_2"]);
        assert_eq!(renamed("a/b", "a_b_2", "why").unwrap().kind, LossKind::Name);
        assert!(renamed("x", "x", "why").is_none());
        assert_eq!(cut("abcdefghijkl", "", 8), "abc..jkl");
        assert_eq!(cut("abcdefghijkl", "_2", 8), "ab..kl_2");
    }

    proptest! {
        #[test]
        fn cut_names_are_short_and_differ(names in prop::collection::vec("[aü€]{0,30}", 1..40)) {
            let fit = |name: &str, ending: &str| cut(name, ending, 15);
            let made = settled(names.iter().map(String::as_str), &[], fit);
            prop_assert_eq!(made.iter().collect::<HashSet<_>>().len(), made.len());
            prop_assert!(made.iter().all(|name| name.len() <= 15));
        }
    }
}
