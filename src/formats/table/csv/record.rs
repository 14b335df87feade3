//! One record: its fields in the bytes, and their text (RFC 4180 and what is found in the wild).
//!
//! A quote opens only at a field's beginning; elsewhere it is text. Text behind a closing quote
//! belongs to the field. This agrees, byte for byte, with `lines::scan`, which counts the records.

use crate::lines::Rules;
pub(super) use crate::lines::Step;
use memchr::{memchr, memchr2};
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
    let begin = match skip_blank(bytes, at, rules) {
        begin if begin >= bytes.len() => return Step::End,
        begin => begin,
    };
    let mut at = begin;
    loop {
        let start = at;
        let quoted = rules.quote.is_some() && bytes.get(at).copied() == rules.quote;
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
        let Some(found) = memchr2(rules.delimiter, rules.end, rest).map(|i| at + i) else {
            if !last {
                return Step::Partial(begin);
            }
            fields.push(Field { start, end: bytes.len(), quoted });
            return Step::Record(bytes.len());
        };
        if bytes.get(found) == Some(&rules.end) {
            let carriage = rules.end == b'\n' && found > start && bytes.get(found - 1) == Some(&b'\r');
            fields.push(Field { start, end: found - usize::from(carriage), quoted });
            return Step::Record(found + 1);
        }
        fields.push(Field { start, end: found, quoted });
        at = found + 1;
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

fn skip_blank(bytes: &[u8], mut at: usize, rules: &Rules) -> usize {
    loop {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(a), _) if *a == rules.end => at += 1,
            (Some(b'\r'), Some(b)) if *b == rules.end => at += 2,
            _ => return at,
        }
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
    use crate::lines::scan::Scan;
    use proptest::prelude::*;

    const RULES: Rules =
        Rules { end: b'\n', quote: Some(b'"'), delimiter: b',', blanks: false, spaces: false };

    fn all(bytes: &[u8]) -> Vec<Vec<String>> {
        let (mut rows, mut at, mut fields) = (Vec::new(), 0, Vec::new());
        while let Step::Record(after) = next(bytes, at, &RULES, true, &mut fields) {
            let text = |f: &Field| String::from_utf8_lossy(&unquote(bytes, f, RULES.quote)).into_owned();
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
    }

    proptest! {
        #[test]
        fn the_scanner_counts_what_the_parser_splits(text in prop::collection::vec(prop::sample::select(b"\"\",,\n\n\rab".to_vec()), 0..300)) {
            let mut scan = Scan::start(&RULES);
            scan.feed(&RULES, &text);
            let counted = scan.ended + u64::from(scan.open_record(&RULES));
            prop_assert_eq!(all(&text).len() as u64, counted);
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
