//! Names as NetCDF has them: a letter, digit, underscore or any character beyond ASCII first; then anything but `/` and
//! control characters, and no space at the end.
//! <https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html#grammar_name>

use std::collections::BTreeSet;

/// The most bytes of a name (`NC_MAX_NAME`), with room for what tells two apart.
const LONGEST: usize = 240;

/// A name that is valid, and the same where it was.
pub fn valid(name: &str) -> String {
    let replaced = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c });
    let mut out: String = replaced.collect();
    let end = (0..=LONGEST.min(out.len())).rev().find(|end| out.is_char_boundary(*end)).unwrap_or(0);
    out.truncate(end);
    if out.ends_with(' ') {
        out = out.trim_end_matches(' ').to_owned();
    }
    match out.chars().next() {
        Some(first) if first.is_ascii() && !first.is_ascii_alphanumeric() && first != '_' => {
            format!("_{out}")
        }
        Some(_) => out,
        None => "_".to_owned(),
    }
}

/// The name, or it with the first number behind it under which nothing is known yet; it is known from now on.
pub fn unique(taken: &mut BTreeSet<String>, name: &str) -> String {
    let numbered = (2u64..).map(|n| format!("{name}_{n}"));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    all.find(|name| taken.insert(name.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_valid_and_told_apart() {
        for (name, wanted) in [
            ("a b", "a b"),
            ("9", "9"),
            (".x", "_.x"),
            ("a/b\n", "a_b_"),
            ("", "_"),
            ("x ", "x"),
            ("é", "é"),
            ("-", "_-"),
        ] {
            assert_eq!(valid(name), wanted);
        }
        assert_eq!(valid(&"é".repeat(200)).len(), 240);
        let mut taken = BTreeSet::new();
        let names = ["a", "a", "a_2", "a"].map(|name| unique(&mut taken, name));
        assert_eq!(names, ["a", "a_2", "a_2_2", "a_3"]);
    }
}
