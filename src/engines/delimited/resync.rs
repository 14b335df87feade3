//! Where a record begins, found from any place in a file without reading what stands before it.
//!
//! Two scans begin with different beliefs, outside and inside of quotes; from where they agree every
//! record end is certain, whatever stood before. Where they never do, the end of the file decides
//! (quotes are closed there) or, in its middle, how well the records fit the table.

use super::scan::{Pair, Rules, State};

/// A place where a record begins (blank lines aside).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Its offset in the bytes.
    pub at: usize,
    /// Whether it is certain, for a file whose quotes are closed.
    pub sure: bool,
}

/// The first record begin behind the first bytes of `bytes`, a piece of a file from anywhere in it.
/// `at_end` says that the file ends with it; `fit` judges the records from an offset on (0 to 1).
pub fn first(rules: &Rules, bytes: &[u8], at_end: bool, fit: &dyn Fn(usize) -> f64) -> Option<Begin> {
    let Some(quote) = rules.quote else {
        let at = rules.ends.find(bytes)? + 1;
        return Some(Begin { at, sure: true });
    };
    // Right behind a quote a third state would be possible.
    let start = 1 + bytes.iter().skip(1).position(|&byte| byte != quote)?;
    let before = [*bytes.get(start - 1)?, *bytes.get(start)?];
    let mut pair = Pair::after(rules, before);
    let (mut out, mut within) = (None, None);
    let mut agreed = false;
    for (i, &byte) in bytes.iter().enumerate().skip(start + 1) {
        let ended = (pair.out.ended, pair.within.ended);
        pair.out.step(rules, byte);
        pair.within.step(rules, byte);
        agreed = agreed || pair.out.state == pair.within.state;
        if agreed && pair.out.ended > ended.0 {
            return Some(Begin { at: i + 1, sure: true });
        }
        if pair.out.ended > ended.0 {
            out.get_or_insert(i + 1);
        }
        if pair.within.ended > ended.1 {
            within.get_or_insert(i + 1);
        }
    }
    if agreed {
        // Certain, but behind all that is here.
        return undecided(out, within, fit);
    }
    let closed = |state: State| state != State::In;
    match (at_end, closed(pair.out.state), closed(pair.within.state)) {
        (true, true, false) => out.map(|at| Begin { at, sure: true }),
        (true, false, true) => within.map(|at| Begin { at, sure: true }),
        _ => undecided(out, within, fit),
    }
}

/// Outside of quotes unless the records fit better the other way.
fn undecided(out: Option<usize>, within: Option<usize>, fit: &dyn Fn(usize) -> f64) -> Option<Begin> {
    let at = match (out, within) {
        (Some(out), Some(within)) if fit(within) > fit(out) => within,
        (Some(out), _) => out,
        (None, within) => within?,
    };
    Some(Begin { at, sure: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules::CSV;

    fn begin(text: &str, at_end: bool) -> Option<(&str, bool)> {
        let found = first(&RULES, text.as_bytes(), at_end, &|_| 0.5)?;
        Some((&text[found.at..], found.sure))
    }

    #[test]
    fn quotes_make_it_certain() {
        assert_eq!(begin("b\nc\",2\n\"x\ny\",3\n4,5\n", false), Some(("\"x\ny\",3\n4,5\n", true)));
        assert_eq!(begin("b,1\n2,\"q\"\n4,5\n", false), Some(("4,5\n", true)));
    }

    #[test]
    fn the_end_of_the_file_decides_where_there_are_no_quotes() {
        assert_eq!(begin("b,1\n2,3\n4,5\n", true), Some(("2,3\n4,5\n", true)));
        assert_eq!(begin("b,1\n2,3\n4,5\n", false), Some(("2,3\n4,5\n", false)));
        assert_eq!(begin("b,1", true), None);
    }
}
