//! Texts of values: where they end, of which kind they are, and strings without their escapes. Numbers are
//! never converted: their text is their value.

use super::Kind;
use std::borrow::Cow;

/// Whether a byte is white space.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The length of the white space that `bytes` begin with.
pub fn space(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| !is_space(b)).unwrap_or(bytes.len())
}

/// The length of the string that `bytes` begin with, quotes included; `None` if it does not end in them.
pub fn string(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        let found = at + quote_or_escape(bytes.get(at..)?)?;
        if bytes.get(found) == Some(&b'"') {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// Where the first quote or backslash is. Most strings are short: eight bytes at a time find those sooner than a search
/// that has to be set up.
#[inline]
fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The high bit of the lowest byte that is zero, and of none below it.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let (words, _) = bytes.as_chunks::<8>();
    for (n, word) in words.iter().take(4).enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ (ONES * b'"' as u64)) | zeros(word ^ (ONES * b'\\' as u64));
        if found != 0 {
            return Some(n * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let seen = words.len().min(4) * 8;
    Some(seen + memchr::memchr2(b'"', b'\\', bytes.get(seen..)?)?)
}

/// The length of the number of the grammar that `bytes` begin with, where something follows that ends it; `None` for what
/// is to be looked at as a word.
#[inline]
pub fn number(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let mut at = from;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let whole = usize::from(bytes.first() == Some(&b'-'));
    let mut at = digits(whole);
    if at == whole || at > whole + 1 && bytes.get(whole) == Some(&b'0') {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = digits(fraction);
        if at == fraction {
            return None;
        }
    }
    matches!(bytes.get(at), Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')).then_some(at)
}

/// The length of a value without quotes or brackets: up to the next byte that ends one.
pub fn word(bytes: &[u8]) -> usize {
    let ends = |b: &u8| is_space(*b) || matches!(b, b',' | b':' | b'"' | b'[' | b']' | b'{' | b'}' | b'/');
    bytes.iter().position(ends).unwrap_or(bytes.len())
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A value of the grammar.
    Plain(Kind),
    /// `NaN`, `Infinity` or `-Infinity`: numbers of Python and JavaScript.
    NotFinite,
    /// Something like a number that the grammar does not have: `+1`, `.5`, `1.`, `007`, `0x1F`.
    Odd,
    /// No value.
    No,
}

/// Which word it is.
pub fn classify(text: &[u8]) -> Word {
    match text {
        b"true" | b"false" => Word::Plain(Kind::Bool),
        b"null" => Word::Plain(Kind::Null),
        b"NaN" | b"Infinity" | b"-Infinity" => Word::NotFinite,
        _ if is_number(text) => Word::Plain(Kind::Number),
        [b'+' | b'-' | b'.', b'0'..=b'9' | b'.', ..] | [b'0'..=b'9', ..] => Word::Odd,
        _ => Word::No,
    }
}

/// Whether the text is a number of the grammar.
fn is_number(text: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest.first() == Some(&b'0') {
        return false;
    }
    let mut rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', rest @ ..] => rest,
            _ => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// What is wrong in a string, and at which of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In words.
    pub what: &'static str,
    /// Bytes behind the opening quote.
    pub at: usize,
}

/// A string's text without quotes (`raw` is what stands between them) and the first thing that is wrong in it.
/// What is no character becomes U+FFFD; half a surrogate pair stays as it is escaped, which is no fault.
pub fn unescape(raw: &[u8]) -> (Cow<'_, str>, Option<Fault>) {
    let mut fault = raw
        .iter()
        .position(|&b| b < 0x20)
        .map(|at| Fault { what: "a control character stands in a string", at });
    let text = match simdutf8::compat::from_utf8(raw) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            let at = error.valid_up_to();
            note(&mut fault, "a string is not UTF-8", at);
            String::from_utf8_lossy(raw)
        }
    };
    if !text.contains('\\') {
        return (text, fault);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (character, taken) = escaped(escape);
        match character {
            Some(character) => out.push(character),
            None => {
                out.push_str(escape.get(..taken).unwrap_or(escape));
                if taken < 6 {
                    note(&mut fault, "an unknown escape stands in a string", text.len() - escape.len());
                }
            }
        }
        rest = escape.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    (Cow::Owned(out), fault)
}

fn note(fault: &mut Option<Fault>, what: &'static str, at: usize) {
    if fault.is_none_or(|known| at < known.at) {
        *fault = Some(Fault { what, at });
    }
}

/// The character that an escape stands for and the escape's length: 6 without a character is half a pair.
fn escaped(text: &str) -> (Option<char>, usize) {
    let second = text.chars().nth(1);
    let plain = match second {
        Some(c @ ('"' | '\\' | '/')) => c,
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => {
            let Some(unit) = unit(text) else { return (None, 2) };
            if let Some(character) = char::from_u32(unit) {
                return (Some(character), 6);
            }
            let low = text.get(6..).filter(|_| unit < 0xdc00).and_then(unit_of_pair);
            return match low {
                Some(low) => (char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)), 12),
                None => (None, 6),
            };
        }
        // The end, or a character of several bytes.
        other => return (None, 1 + other.map_or(0, char::len_utf8)),
    };
    (Some(plain), 2)
}

fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|b| b.is_ascii_hexdigit()) { u32::from_str_radix(digits, 16).ok() } else { None }
}

fn unit_of_pair(text: &str) -> Option<u32> {
    unit(text).filter(|low| (0xdc00..0xe000).contains(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_the_grammar_and_beyond() {
        for good in ["0", "-0", "12", "1.5", "1e9", "1E+9", "0.5e-3", "123456789012345678901234567890"] {
            assert_eq!(classify(good.as_bytes()), Word::Plain(Kind::Number), "{good}");
        }
        for odd in ["01", "+1", ".5", "1.", "1e", "1.e3", "0x1F", "-.5", "1_000", "-01", "0e+", "1a"] {
            assert_eq!(classify(odd.as_bytes()), Word::Odd, "{odd}");
        }
        for none in ["", "-", "nul", "True", "nan", "abc", "'x'", "+", "é"] {
            assert_eq!(classify(none.as_bytes()), Word::No, "{none}");
        }
        assert_eq!(classify(b"-Infinity"), Word::NotFinite);
    }

    #[test]
    fn strings_lose_their_escapes_and_nothing_else() {
        let of = |raw: &str| unescape(raw.as_bytes()).0.into_owned();
        assert_eq!(of(r#"a\"\\\/\n\u00e9\ud83d\ude00b"#), "a\"\\/\né😀b");
        assert_eq!(of(r"\ud800x \udc00 \ud83d\u0041"), r"\ud800x \udc00 \ud83dA");
        assert_eq!(unescape(br"\ud800").1, None);
        assert_eq!(unescape(br"ok\x").1, Some(Fault { what: "an unknown escape stands in a string", at: 2 }));
        assert_eq!(unescape(br"\u12"), (r"\u12".into(), unescape(br"\u12").1));
        assert_eq!(unescape(b"a\x01\xff").1.unwrap().at, 1);
        assert_eq!(unescape(b"\xff\xfe").0, "\u{fffd}\u{fffd}");
        assert_eq!((string(br#""a\"b" "#), string(br#""a\""#)), (Some(6), None));
    }

    proptest! {
        #[test]
        fn strings_read_as_serde_json_reads_them(text in any::<String>()) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(string(written.as_bytes()), Some(written.len()));
            prop_assert_eq!(&unescape(&written.as_bytes()[1..written.len() - 1]).0, &text);
        }

        #[test]
        fn numbers_are_those_of_serde_json(text in "-?[0-9.eE+-]{1,8}") {
            let serde = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            prop_assert_eq!(classify(text.as_bytes()) == Word::Plain(Kind::Number), serde);
            let quick = number(format!("{text},").as_bytes());
            prop_assert!(quick.is_none_or(|len| serde && len == text.len()));
            prop_assert!(quick.is_some() || !serde || text.contains(['e', 'E']));
        }

        #[test]
        fn any_bytes_are_some_text(raw in any::<Vec<u8>>()) {
            let _ = (unescape(&raw), string(&raw), classify(&raw));
        }
    }
}
