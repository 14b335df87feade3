//! Names of variables and fields: a letter, then letters, digits and underscores, 63 at most, none of MATLAB's own words.
//! <https://www.mathworks.com/help/matlab/matlab_prog/variable-names.html>

use std::collections::HashSet;

/// The longest name (`namelengthmax`).
const LONGEST: usize = 63;
/// MATLAB's own words (`iskeyword`).
const WORDS: [&str; 20] = [
    "break",
    "case",
    "catch",
    "classdef",
    "continue",
    "else",
    "elseif",
    "end",
    "for",
    "function",
    "global",
    "if",
    "otherwise",
    "parfor",
    "persistent",
    "return",
    "spmd",
    "switch",
    "try",
    "while",
];

/// Names that MATLAB takes, each another one.
pub(super) fn valid<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    // Those that are good keep theirs, wherever they stand.
    let mut taken: HashSet<String> =
        names.clone().filter(|name| of(name) == *name).map(str::to_owned).collect();
    let mut seen = HashSet::new();
    let mut one = |name: &str| {
        let base = of(name);
        if base == name && seen.insert(base.clone()) {
            return base;
        }
        let mut found = base.clone();
        let mut n = 2u64;
        while !taken.insert(found.clone()) {
            let end = format!("_{n}");
            found = base.chars().take(LONGEST - end.len()).chain(end.chars()).collect();
            n += 1;
        }
        found
    };
    names.map(&mut one).collect()
}

/// The name that is nearest to one.
fn of(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut made: String = name.chars().map(letter).take(LONGEST).collect();
    if !made.starts_with(|c: char| c.is_ascii_alphabetic()) {
        made = format!("x{made}").chars().take(LONGEST).collect();
    }
    if WORDS.contains(&made.as_str()) {
        made.push('_');
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_matlabs_and_stay_apart() {
        let long = "a".repeat(70);
        let names = ["a.b", "a_b", "1st", "end", "größe", "", "a b", "a_b", "x_", &long, &long];
        let made = valid(names.into_iter());
        assert_eq!(
            made[..9],
            ["a_b_2", "a_b", "x1st", "end_", "gr__e", "x", "a_b_3", "a_b_4", "x_"],
            "{made:?}"
        );
        assert_eq!((made[9].len(), made[10].len()), (63, 63));
        assert!(made[10].ends_with("_2"));
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), made.len());
    }
}
