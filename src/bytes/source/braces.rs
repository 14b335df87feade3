//! Names of several files in the notation of shells: `train-{000000..000123}.tar`, `{train,val}-{0..9}.tar`.
//! <https://www.gnu.org/software/bash/manual/html_node/Brace-Expansion.html>

/// The most names that one stands for.
const MOST: usize = 1 << 17;

/// The names that one with braces stands for, in order; `None` where it has none, or they are too many.
pub(super) fn expanded(name: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let (mut rest, mut any) = (name, false);
    while let Some((before, behind)) = rest.split_once('{') {
        let (inner, after) = behind.split_once('}')?;
        let choices = choices(inner)?;
        any = true;
        if names.len().checked_mul(choices.len()).is_none_or(|count| count > MOST) {
            return None;
        }
        let with = |known: &String| {
            choices.iter().map(|choice| format!("{known}{before}{choice}")).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(with).collect();
        rest = after;
    }
    for known in &mut names {
        known.push_str(rest);
    }
    any.then_some(names)
}

/// What stands between braces: numbers from one to another, with as many digits as the longer one is written with if one
/// begins with a zero; or texts with commas between them.
fn choices(inner: &str) -> Option<Vec<String>> {
    let Some((first, last)) = inner.split_once("..") else {
        let all: Vec<String> = inner.split(',').map(str::to_owned).collect();
        return (all.len() > 1 && !inner.contains(['{', '/'])).then_some(all);
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(first) || !is_number(last) {
        return None;
    }
    let padded = [first, last].iter().any(|text| text.len() > 1 && text.starts_with('0'));
    let width = if padded { first.len().max(last.len()) } else { 0 };
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let count = last.abs_diff(first);
    if count >= MOST as u64 {
        return None;
    }
    let number = |n: u64| format!("{n:0width$}");
    Some(if first <= last {
        (first..=last).map(number).collect()
    } else {
        (last..=first).rev().map(number).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_a_shell_makes() {
        let expanded = |name| expanded(name).unwrap_or_default().join(" ");
        assert_eq!(expanded("a-{008..011}.tar"), "a-008.tar a-009.tar a-010.tar a-011.tar");
        assert_eq!(expanded("a{8..11}"), "a8 a9 a10 a11");
        assert_eq!(expanded("{2..0}"), "2 1 0");
        assert_eq!(expanded("{08..1}"), "08 07 06 05 04 03 02 01");
        assert_eq!(expanded("{train,val}-{0..1}.tar"), "train-0.tar train-1.tar val-0.tar val-1.tar");
        for none in ["a.tar", "{}", "{a}", "{a..b}", "{1..", "{0..99999999}", "{0..9999}{0..9999}", "{..3}"] {
            assert_eq!(expanded(none), "", "{none}");
        }
    }
}
