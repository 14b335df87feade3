//! What the beginning of a text of JSON tells: whether it is one, and of an object the names of its first members.
//! <https://www.rfc-editor.org/rfc/rfc8259>

use crate::data::json::Kind;
use crate::data::json::token::{self, Word};

/// The beginning of an object or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Object or array.
    pub kind: Kind,
    /// The names of the members of the object at the top, as far as they are there.
    pub names: Vec<String>,
    /// How many values there are, the top included.
    pub values: usize,
    /// Whether the text ends with the value rather than within it.
    pub is_whole: bool,
}

/// What `bytes` begin with, white space aside: an object or an array that is right as far as it goes.
pub(super) fn beginning(bytes: &[u8]) -> Option<Beginning> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut scan = Scan { rest: bytes, open: Vec::new(), names: Vec::new(), values: 0 };
    scan.space();
    let kind = match scan.rest.first()? {
        b'{' => Kind::Object,
        b'[' => Kind::Array,
        _ => return None,
    };
    let mut end = scan.value();
    while end.is_ok() && !scan.open.is_empty() {
        end = scan.behind_value();
    }
    if end == Ok(()) {
        scan.space();
        end = if scan.rest.is_empty() { Ok(()) } else { Err(PrefixEnd::Wrong) };
    }
    let is_whole = match end {
        Ok(()) => true,
        Err(PrefixEnd::End) => false,
        Err(PrefixEnd::Wrong) => return None,
    };
    Some(Beginning { kind, names: scan.names, values: scan.values, is_whole })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrefixEnd {
    /// The bytes end here.
    End,
    /// This is no JSON.
    Wrong,
}

/// An object or array that is not closed yet.
struct Level {
    is_object: bool,
    is_empty: bool,
}

struct Scan<'a> {
    rest: &'a [u8],
    open: Vec<Level>,
    names: Vec<String>,
    values: usize,
}

impl<'a> Scan<'a> {
    fn space(&mut self) {
        self.skip(token::space(self.rest));
    }

    fn skip(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or_default();
    }

    fn next(&mut self) -> Result<u8, PrefixEnd> {
        self.space();
        self.rest.first().copied().ok_or(PrefixEnd::End)
    }

    /// What follows a value or an opening bracket, up to the next value.
    fn behind_value(&mut self) -> Result<(), PrefixEnd> {
        let mut byte = self.next()?;
        let Some(level) = self.open.last_mut() else { return Ok(()) };
        let (is_object, is_first) = (level.is_object, level.is_empty);
        level.is_empty = false;
        if byte == if is_object { b'}' } else { b']' } {
            self.skip(1);
            self.open.pop();
            return Ok(());
        }
        if !is_first {
            if byte != b',' {
                return Err(PrefixEnd::Wrong);
            }
            self.skip(1);
            byte = self.next()?;
        }
        if is_object {
            if byte != b'"' {
                return Err(PrefixEnd::Wrong);
            }
            let name = self.string()?;
            if self.open.len() == 1 {
                self.names.push(name);
            }
            if self.next()? != b':' {
                return Err(PrefixEnd::Wrong);
            }
            self.skip(1);
            self.next()?;
        }
        self.value()
    }

    fn value(&mut self) -> Result<(), PrefixEnd> {
        self.values += 1;
        match self.rest.first() {
            Some(&byte @ (b'{' | b'[')) => {
                self.skip(1);
                self.open.push(Level { is_object: byte == b'{', is_empty: true });
                Ok(())
            }
            Some(b'"') => self.string().map(drop),
            _ => {
                let len = token::word(self.rest);
                let word =
                    self.rest.get(..len).filter(|word| word.len() < self.rest.len()).ok_or(PrefixEnd::End)?;
                self.skip(len);
                match token::classify(word) {
                    Word::Plain(_) | Word::NotFinite => Ok(()),
                    Word::Odd | Word::No => Err(PrefixEnd::Wrong),
                }
            }
        }
    }

    /// The text of a string.
    fn string(&mut self) -> Result<String, PrefixEnd> {
        let len = token::string(self.rest);
        let raw = self.rest.get(1..len.map_or(self.rest.len(), |len| len - 1)).unwrap_or_default();
        let (text, fault) = token::unescape(raw);
        match (len, fault) {
            // The bytes may end within a character or an escape.
            (None, Some(fault)) if raw.len() - fault.at.min(raw.len()) > 6 => Err(PrefixEnd::Wrong),
            (None, _) => Err(PrefixEnd::End),
            (Some(_), Some(_)) => Err(PrefixEnd::Wrong),
            (Some(len), None) => {
                let text = text.into_owned();
                self.skip(len);
                Ok(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_json_is_told() {
        for text in [
            "",
            " ",
            "7",
            "\"a\"",
            "{a",
            "{1",
            "[1 2",
            "{\"a\" 1",
            "[1}",
            "{\"a\": 01,",
            "[x,",
            "{} {",
            "[\"\u{1}\",",
        ] {
            assert_eq!(beginning(text.as_bytes()), None, "{text}");
        }
        let object = beginning(b" {\"a\": {\"b\": [1, NaN]}, \"c\\n\": \"x").unwrap();
        assert_eq!((object.kind, object.values, object.is_whole), (Kind::Object, 6, false));
        assert_eq!(object.names, ["a", "c\n"]);
        assert!(beginning(b"[]\n").unwrap().is_whole);
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".{0,6}".prop_map(serde_json::Value::from)
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_beginning_of_a_document_is_one(value in value(), cut in any::<prop::sample::Index>(), pretty: bool) {
            prop_assume!(value.is_array() || value.is_object());
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let len = cut.index(text.len()) + 1;
            let found = beginning(&text.as_bytes()[..len]);
            prop_assert!(found.is_some(), "{}", &text);
            prop_assert_eq!(found.unwrap().is_whole, len == text.len());
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = beginning(&bytes);
            let _ = beginning(&[b"{\"", bytes.as_slice()].concat());
        }
    }
}
