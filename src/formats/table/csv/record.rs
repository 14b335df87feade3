//! One record: its fields in the bytes, and their text (RFC 4180 and what is found in the wild).
//!
//! A quote opens only at a field's beginning, or behind a space there if the rules say so; elsewhere it is text. Text behind a closing quote
//! belongs to the field. LF, CR LF and CR end a record outside of quotes. This agrees, byte for byte, with
//! `lines::scan` of the same rules, which counts the records.

use crate::engines::delimited::Rules;
pub(super) use crate::engines::delimited::Step;
use memchr::{memchr, memchr3};
use std::borrow::Cow;

/// Where a field lies in the bytes, quotes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it begins with a quote that opens.
    pub(super) quoted: bool,
}

/// Splits the record at `at` into `fields`. `last` says that the file ends with these bytes.
pub(super) fn next(bytes: &[u8], at: usize, rules: &Rules, last: bool, fields: &mut Vec<Field>) -> Step {
    fields.clear();
    let blank = bytes.get(at..).unwrap_or_default().iter().position(|byte| !matches!(byte, b'\n' | b'\r'));
    let Some(begin) = blank.map(|blank| at + blank) else { return Step::End };
    let skip = |at: usize| {
        let delimiters = |rest: &[u8]| rest.iter().take_while(|byte| **byte == rules.delimiter).count();
        if rules.runs { at + bytes.get(at..).map_or(0, delimiters) } else { at }
    };
    let mut at = skip(begin);
    loop {
        // The space before a quote is no part of the field.
        let space = rules.padded && bytes.get(at) == Some(&b' ');
        let quoted = rules.quote.is_some() && bytes.get(at + usize::from(space)).copied() == rules.quote;
        at += usize::from(space && quoted);
        let start = at;
        if quoted {
            match close(bytes, at + 1, rules.quote.unwrap_or_default()) {
                Some(after) => at = after,
                None if last => {
                    fields.push(Field { start, end: bytes.len(), quoted });
                    return Step::Record(bytes.len());
                }
                None => return Step::Partial(begin),
            }
            if at == bytes.len() && !last {
                return Step::Partial(begin);
            }
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(found) = memchr3(rules.delimiter, b'\n', b'\r', rest).map(|i| at + i) else {
            if !last {
                return Step::Partial(begin);
            }
            fields.push(Field { start, end: bytes.len(), quoted });
            return Step::Record(bytes.len());
        };
        fields.push(Field { start, end: found, quoted });
        at = found + 1;
        let ends = |place: usize| matches!(bytes.get(place), Some(b'\n' | b'\r'));
        // The LF behind a CR is a blank line, which is skipped.
        if ends(found) {
            return Step::Record(at);
        }
        if rules.runs {
            at = skip(at);
            if ends(at) || last && at == bytes.len() {
                return Step::Record(at + usize::from(ends(at)));
            }
        }
    }
}

/// The place behind the quote that closes a field opened before `at`.
fn close(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        let found = at + memchr(quote, bytes.get(at..)?)?;
        if bytes.get(found + 1) != Some(&quote) {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// A field's bytes without the quotes around it, doubled ones made single.
pub(super) fn unquote<'a>(bytes: &'a [u8], field: &Field, quote: Option<u8>) -> Cow<'a, [u8]> {
    let raw = bytes.get(field.start..field.end).unwrap_or_default();
    let (Some(quote), true) = (quote, field.quoted) else { return Cow::Borrowed(raw) };
    let inner = raw.get(1..).unwrap_or_default();
    match memchr(quote, inner) {
        None => return Cow::Borrowed(inner),
        Some(closed) if closed + 1 == inner.len() => {
            return Cow::Borrowed(inner.get(..closed).unwrap_or_default());
        }
        Some(_) => {}
    }
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(found) = memchr(quote, rest) {
        text.extend_from_slice(rest.get(..found).unwrap_or_default());
        let doubled = rest.get(found + 1) == Some(&quote);
        rest = rest.get(found + 1 + usize::from(doubled)..).unwrap_or_default();
        if !doubled {
            break;
        }
        text.push(quote);
    }
    text.extend_from_slice(rest);
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::delimited::scan::Scan;
    use proptest::prelude::*;

    const RULES: Rules = Rules::CSV;

    fn all(bytes: &[u8]) -> Vec<Vec<String>> {
        split(bytes, &RULES)
    }

    fn split(bytes: &[u8], rules: &Rules) -> Vec<Vec<String>> {
        let (mut rows, mut at, mut fields) = (Vec::new(), 0, Vec::new());
        while let Step::Record(after) = next(bytes, at, rules, true, &mut fields) {
            let text = |f: &Field| String::from_utf8_lossy(&unquote(bytes, f, rules.quote)).into_owned();
            rows.push(fields.iter().map(text).collect());
            at = after;
        }
        rows
    }

    #[test]
    fn quotes_in_the_wild() {
        assert_eq!(all(b"\"say \"\"hi\"\"\",\"\"\"\"\n"), [["say \"hi\"", "\""]]);
        assert_eq!(all(b"5\" pipe,x\nab\"cd\"ef,y\n"), [["5\" pipe", "x"], ["ab\"cd\"ef", "y"]]);
        assert_eq!(all(b"\"x\"y,1\n\"p\" ,2"), [["xy", "1"], ["p ", "2"]]);
        assert_eq!(all(b"\n\r\n1,\r\n\n2,\"a\r\nb\"\r\n"), [["1", ""], ["2", "a\r\nb"]]);
        assert_eq!(all(b"1,\"open\n2,x"), [["1", "open\n2,x"]]);
        assert_eq!(
            all(b"1,2\r3,\"a\rb\"\r\r\n\n5,6\n\r7,8\r"),
            [["1", "2"], ["3", "a\rb"], ["5", "6"], ["7", "8"]]
        );
    }

    #[test]
    fn runs_of_delimiters() {
        let rules = Rules { delimiter: b' ', runs: true, ..RULES };
        let all = |bytes: &[u8]| split(bytes, &rules);
        assert_eq!(
            all(b"  1  a\n2 \"b  c\"   \n\n 3   d \r\n4 e  "),
            [["1", "a"], ["2", "b  c"], ["3", "d"], ["4", "e"]]
        );
        assert_eq!(all(b"a\n  \nb"), [["a"], [""], ["b"]]);
    }

    #[test]
    fn a_space_before_a_quote() {
        let rules = Rules { padded: true, ..RULES };
        let all = |bytes: &[u8]| split(bytes, &rules);
        assert_eq!(
            all(b"a, \"b, c\", d \n \"1\", 2,  \"3\"\n"),
            [["a", "b, c", " d "], ["1", " 2", "  \"3\""]]
        );
    }

    proptest! {
        #[test]
        fn the_scanner_counts_what_the_parser_splits_at_runs(text in prop::collection::vec(prop::sample::select(b"\"\"    \n\n\r  ab".to_vec()), 0..300), cut in 0usize..300) {
            let rules = Rules { delimiter: b' ', runs: true, ..RULES };
            let mut scan = Scan::start();
            scan.feed(&rules, &text);
            let counted = scan.ended + u64::from(scan.open_record(&rules));
            prop_assert_eq!(split(&text, &rules).len() as u64, counted);
            let (mut whole, mut part) = (Vec::new(), Vec::new());
            if let Step::Record(after) = next(&text[..cut.min(text.len())], 0, &rules, false, &mut part) {
                prop_assert_eq!(next(&text, 0, &rules, true, &mut whole), Step::Record(after));
                prop_assert_eq!(part, whole);
            }
        }

        #[test]
        fn the_scanner_counts_what_the_parser_splits(text in prop::collection::vec(prop::sample::select(b"\"\",,\n\n\r  ab".to_vec()), 0..300), padded: bool) {
            let rules = Rules { padded, ..RULES };
            let mut scan = Scan::start();
            scan.feed(&rules, &text);
            let counted = scan.ended + u64::from(scan.open_record(&rules));
            prop_assert_eq!(split(&text, &rules).len() as u64, counted);
        }

        #[test]
        fn cut_bytes_never_give_a_wrong_record(text in prop::collection::vec(prop::sample::select(b"\"\",,\n\n\rab".to_vec()), 0..100), cut in 0usize..100) {
            let (mut whole, mut part) = (Vec::new(), Vec::new());
            let cut = cut.min(text.len());
            if let Step::Record(after) = next(&text[..cut], 0, &RULES, false, &mut part) {
                prop_assert_eq!(next(&text, 0, &RULES, true, &mut whole), Step::Record(after));
                prop_assert_eq!(part, whole);
            }
        }
    }
}
