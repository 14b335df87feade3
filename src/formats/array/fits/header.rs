//! Headers: cards of 80 characters in blocks of 2880 bytes, up to `END`.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::Value;
use serde_json::Value as Json;
use std::collections::HashMap;

/// Bytes of a block.
pub(super) const BLOCK: u64 = 2880;
/// Bytes of a card.
const CARD: usize = 80;

/// The cards of one header.
pub(super) struct Header {
    /// Keyword, value and comment, in the file's order.
    cards: Vec<(String, Json)>,
    /// The first card of each keyword.
    index: HashMap<String, usize>,
    /// Where the data begin.
    pub data: u64,
    pub remarks: Vec<String>,
}

impl Header {
    /// The header at `at`. Without an `END` the file is cut off.
    pub(super) fn read(task: &Task, source: &Source, at: u64) -> Result<Self> {
        let mut header = Header { cards: Vec::new(), index: HashMap::new(), data: 0, remarks: Vec::new() };
        let mut place = at;
        loop {
            task.check()?;
            limits::check(place - at, limits::HEADER, "the FITS header").map_err(|e| e.at(at))?;
            let block = source.read_up_to(task, place, BLOCK as usize)?;
            for card in block.chunks_exact(CARD) {
                if !header.card(card, place)? {
                    header.data = place + BLOCK;
                    header.index();
                    return Ok(header);
                }
            }
            if (block.len() as u64) < BLOCK {
                let what = "header: it has no END; the file may be cut off";
                return Err(Error::malformed(what).at(place + block.len() as u64));
            }
            place += BLOCK;
        }
    }

    fn index(&mut self) {
        for (n, (name, _)) in self.cards.iter().enumerate() {
            self.index.entry(name.clone()).or_insert(n);
        }
    }

    /// Takes a card; whether more follow.
    fn card(&mut self, card: &[u8], block: u64) -> Result<bool> {
        let Some((keyword, rest)) = card.split_at_checked(8) else { return Ok(true) };
        let keyword = text(keyword);
        if keyword.bytes().any(|b| !(b.is_ascii_alphanumeric() || b == b'-' || b == b'_')) {
            // Some writers use lower case, dots and worse; bytes that are no text at all are damage.
            if card.iter().any(|b| *b < 9 || *b > 0xfe) {
                return Err(Error::malformed("header: a card holds bytes that are no text").at(block));
            }
        }
        match (keyword.as_str(), rest) {
            ("END", _) => return Ok(false),
            ("CONTINUE", rest) => self.continued(&text(rest)),
            ("HIERARCH", rest) => {
                let rest = text(rest);
                if let Some((name, value)) = rest.split_once('=') {
                    self.cards.push((name.trim().to_owned(), self::value(value)));
                }
            }
            (name, [b'=', b' ', rest @ ..]) if !name.is_empty() => {
                self.cards.push((name.to_owned(), value(&text(rest))));
            }
            ("", rest) if text(rest).is_empty() => {}
            // COMMENT, HISTORY, blank ones, and whatever else has no value: lines of a text.
            (name, rest) => {
                let line = text(rest);
                let name = if name.is_empty() { "COMMENT" } else { name };
                match self.cards.iter_mut().find(|(other, _)| other == name) {
                    Some((_, Json::String(lines))) => {
                        lines.push('\n');
                        lines.push_str(&line);
                    }
                    _ => self.cards.push((name.to_owned(), Json::String(line))),
                }
            }
        }
        Ok(true)
    }

    /// A long text goes on where the part before ended with `&`.
    fn continued(&mut self, rest: &str) {
        let part = value(rest.trim_start_matches('=').trim_start());
        if let (Some((_, Json::String(whole))), Json::String(part)) = (self.cards.last_mut(), part)
            && whole.ends_with('&')
        {
            whole.pop();
            whole.push_str(&part);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.index.get(name).and_then(|n| self.cards.get(*n)).map(|(_, value)| value)
    }

    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Json::Number(number) => number.as_i64().or_else(|| {
                let number = number.as_f64()?;
                (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
            }),
            _ => None,
        }
    }

    /// A count or length, or its default.
    pub(super) fn count(&self, name: &str, default: u64) -> Result<u64> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => self.integer(name).and_then(|n| u64::try_from(n).ok()).ok_or_else(|| {
                Error::malformed(format!("header: {name} is {value}, not a length")).at(self.data)
            }),
        }
    }

    pub(super) fn float(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Json::Number(number) => number.as_f64(),
            Json::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Json::String(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some(&Json::Bool(true))
    }

    /// All cards as attributes.
    pub(super) fn attributes(&self) -> Vec<(String, Value)> {
        self.cards.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect()
    }
}

/// Text of a card, without the blanks at its end; Latin-1 where it is not ASCII.
pub(super) fn text(bytes: &[u8]) -> String {
    let text: String = bytes.iter().map(|&b| char::from(b)).collect();
    text.trim_end_matches([' ', '\0']).to_owned()
}

/// The value of what stands behind `=`, without its comment.
fn value(text: &str) -> Json {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('\'') {
        return Json::String(quoted(rest));
    }
    let text = text.split('/').next().unwrap_or_default().trim();
    match text {
        "" => return Json::Null,
        "T" => return Json::Bool(true),
        "F" => return Json::Bool(false),
        _ => {}
    }
    if let Ok(number) = text.trim_start_matches('+').parse::<i64>() {
        return number.into();
    }
    // Fortran writes the exponent of a double with a D.
    let plain = text.replace(['D', 'd'], "E");
    match plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
        Some(number) if plain.bytes().any(|b| b.is_ascii_digit()) => Json::Number(number),
        _ => text.into(),
    }
}

/// A text up to its closing quote; two quotes are one. Blanks at the end do not count.
fn quoted(rest: &str) -> String {
    let mut out = String::new();
    let mut characters = rest.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\'' && characters.next_if_eq(&'\'').is_none() {
            break;
        }
        out.push(character);
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(cards: &[&str]) -> Result<Header> {
        let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:80}").into_bytes()).collect();
        bytes.resize(bytes.len().next_multiple_of(BLOCK as usize), b' ');
        Header::read(&Task::new(), &Source::memory("a", bytes), 0)
    }

    #[test]
    fn values_of_every_kind() {
        let header = header(&[
            "SIMPLE  =                    T / it is",
            "NUMBER  =            -1.5D+300 / a double of Fortran",
            "COUNT   = +12/",
            "TEXT    = 'it''s /not/ a comment  ' / this is one",
            "EMPTY   = ''",
            "NOTHING =",
            "CMPLX   = (1.0, 2.0)",
            "LONG    = 'one &'",
            "CONTINUE  'two &' / comment",
            "CONTINUE  'three'",
            "HIERARCH ESO DET CHIP1 ID = 'ccd 1' / long name",
            "COMMENT first line",
            "COMMENT   second",
            "HISTORY = is no value",
            "END",
        ])
        .unwrap();
        assert!(header.is_true("SIMPLE"));
        assert_eq!((header.float("NUMBER"), header.integer("COUNT")), (Some(-1.5e300), Some(12)));
        assert_eq!(header.text("TEXT"), Some("it's /not/ a comment"));
        assert_eq!(header.text("LONG"), Some("one two three"));
        assert_eq!(header.text("ESO DET CHIP1 ID"), Some("ccd 1"));
        assert_eq!(header.text("COMMENT"), Some("first line\n  second"));
        assert_eq!((header.get("NOTHING"), header.text("CMPLX")), (Some(&Json::Null), Some("(1.0, 2.0)")));
        assert_eq!(header.data, BLOCK);
    }

    #[test]
    fn a_header_without_an_end_is_cut_off() {
        assert!(header(&["SIMPLE  =                    T"]).err().unwrap().message().contains("no END"));
    }
}
