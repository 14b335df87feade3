//! Cards: a keyword, its value, and a comment in 80 characters of ASCII. Longer texts go on in `CONTINUE` cards, names that
//! are no keywords stand behind `HIERARCH`. FITS 4.0, section 4; <https://fits.gsfc.nasa.gov/registry/hierarch_keyword.html>.

use super::super::header::{BLOCK, Header};
use crate::bytes::error::Result;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell::float64;
use serde_json::Value as Json;

/// Bytes of a card.
const CARD: usize = 80;
/// Characters of a text that fit into one card.
const TEXT: usize = 68;

/// The cards of a header that is being made.
#[derive(Clone, Default)]
pub(super) struct Cards(Vec<[u8; CARD]>);

impl Cards {
    /// A card that describes the data.
    pub(super) fn say(&mut self, name: &str, value: impl Into<Json>, comment: &str) {
        self.attribute(name, &value.into(), comment);
    }

    /// A card of any name and value; nothing where the name cannot be one.
    pub(super) fn attribute(&mut self, name: &str, value: &Json, comment: &str) {
        if matches!(name, "COMMENT" | "HISTORY") && value.is_string() {
            let lines = value.as_str().unwrap_or_default();
            for line in lines.split('\n') {
                self.push(&format!("{name:<8}{}", ascii(line)));
            }
            return;
        }
        let Some(head) = head(name) else { return };
        match value {
            Json::Null => self.push(&head),
            Json::Bool(value) => self.number(&head, if *value { "T" } else { "F" }, comment),
            Json::Number(number) => {
                let is_whole = number.is_i64() || number.is_u64();
                let text = match number.as_f64().filter(|_| !is_whole) {
                    Some(value) => real(value),
                    None => number.to_string(),
                };
                self.number(&head, &text, comment);
            }
            Json::String(text) => self.text(&head, text, comment),
            nested => self.text(&head, &nested.to_string(), comment),
        }
    }

    fn push(&mut self, line: &str) {
        let mut card = [b' '; CARD];
        card.iter_mut().zip(line.bytes()).for_each(|(to, from)| *to = from);
        self.0.push(card);
    }

    fn number(&mut self, head: &str, text: &str, comment: &str) {
        // Fixed format, where there is room for it.
        let width = 30usize.saturating_sub(head.len());
        self.commented(format!("{head}{text:>width$}"), comment);
    }

    fn commented(&mut self, line: String, comment: &str) {
        let whole = format!("{line} / {comment}");
        self.push(if comment.is_empty() || whole.len() > CARD { &line } else { &whole });
    }

    fn text(&mut self, head: &str, text: &str, comment: &str) {
        // Blanks at the end mean nothing.
        let units: Vec<String> = ascii(text)
            .trim_end()
            .chars()
            .map(|c| if c == '\'' { "''".to_owned() } else { c.to_string() })
            .collect();
        let room = CARD.saturating_sub(head.len() + 2);
        let whole: String = units.concat();
        if whole.len() <= room.min(TEXT) {
            return self.commented(format!("{head}'{whole:<8}'"), comment);
        }
        // Each part but the last one ends with an ampersand; two quotes that are one stay together.
        let mut parts: Vec<String> = vec![String::new()];
        for unit in units {
            let most = if parts.len() == 1 { room.min(TEXT) } else { TEXT };
            match parts.last_mut() {
                Some(part) if part.len() + unit.len() < most => part.push_str(&unit),
                _ => parts.push(unit),
            }
        }
        let last = parts.len() - 1;
        for (n, part) in parts.iter().enumerate() {
            let start = if n == 0 { head } else { "CONTINUE  " };
            let end = if n == last { "" } else { "&" };
            self.push(&format!("{start}'{part}{end}'"));
        }
    }

    /// The header: all cards, the end, and blanks up to a whole block.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.0.concat();
        out.extend(format!("{:<80}", "END").into_bytes());
        out.resize(out.len().next_multiple_of(BLOCK as usize), b' ');
        out
    }

    /// What a reader makes of them.
    ///
    /// # Errors
    /// Those of the reader.
    pub(super) fn read(&self) -> Result<Header> {
        Header::read(&Task::new(), &Source::memory("header", self.bytes()), 0)
    }
}

/// What stands before the value; `None` for a name that FITS cannot have.
fn head(name: &str) -> Option<String> {
    let is_keyword = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 8 && name.chars().all(is_keyword) {
        return Some(format!("{name:<8}= "));
    }
    let plain = |c: char| (' '..='~').contains(&c) && c != '=';
    let fits = !name.is_empty() && name.len() <= 50 && name.chars().all(plain) && name.trim() == name;
    fits.then(|| format!("HIERARCH {name} = "))
}

/// A number with a point, and with a capital exponent.
fn real(value: f64) -> String {
    let text = float64(value).replace('e', "E");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

/// Text of the characters that FITS has: others are question marks.
pub(super) fn ascii(text: &str) -> String {
    text.chars().map(|c| if (' '..='~').contains(&c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(name: &str, value: &Json) -> Option<Json> {
        let mut cards = Cards::default();
        cards.say("SIMPLE", true, "");
        cards.attribute(name, value, "a comment");
        cards.read().unwrap().get(name).cloned()
    }

    #[test]
    fn values_of_every_kind() {
        for value in
            [json!(true), json!(-12), json!(0.1), json!(1e300), json!(-2.5e-7), json!(null), json!("")]
        {
            assert_eq!(read("KEY", &value), Some(value.clone()), "{value}");
        }
        assert_eq!(read("largest", &json!(i64::MIN)), Some(json!(i64::MIN)));
        assert_eq!(read("a list", &json!([1, 2])), Some(json!("[1,2]")));
        assert_eq!(read("TEXT", &json!("größe\n")), Some(json!("gr??e?")));
        assert_eq!(read("COMMENT", &json!("one\ntwo")), Some(json!("one\ntwo")));
        assert_eq!(read("é", &json!(1)), None);
    }

    proptest! {
        #[test]
        fn texts_of_any_length_are_read_back(name in "X[A-Z]{0,7}|[a-z.]{1,40}", text in "[ -~]{0,300}") {
            let wanted = text.trim_end();
            // What is only told by blanks at the end of a part is not told.
            prop_assert_eq!(read(&name, &json!(text)), Some(json!(wanted)));
        }
    }
}
