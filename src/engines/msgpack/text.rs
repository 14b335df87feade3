//! Values as text: keys as names, scalars for people, anything as JSON.

use super::token::{Token, token};
use crate::bytes::error::Result;
use crate::data::cell;
use crate::engines::records::Window;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value as Json;
use std::ops::Range;

/// Bytes of a key that are read.
const KEY: u64 = 4 << 10;
/// The most values of one that is written as JSON, and how deep it may nest.
const VALUES: usize = 10_000;
const DEPTH: usize = 64;
/// How many keys a value may be within: a key that is no text is one of JSON, and each key around it escapes that once more,
/// which doubles its length.
const KEYS: usize = 4;

/// A key as a name: a text as it is, anything else as it is written.
///
/// # Errors
/// Those of reading.
pub fn key(window: &mut Window<'_>, span: Range<u64>) -> Result<String> {
    let len = (span.end - span.start).min(KEY) as usize;
    let bytes = window.get(span.start, len)?;
    let whole = bytes.len() as u64 == span.end - span.start;
    Ok(match token(bytes) {
        Ok((Token::Str(_) | Token::Bin(_), head)) => {
            let text = bytes.get(head..).unwrap_or_default();
            match std::str::from_utf8(text) {
                Ok(text) => text.to_owned(),
                Err(_) if whole => text.iter().fold("0x".to_owned(), |all, byte| format!("{all}{byte:02x}")),
                Err(_) => cell::hex(text),
            }
        }
        _ => match json(bytes) {
            Json::String(text) => text,
            other => other.to_string(),
        },
    })
}

/// A scalar's text; `None` for what is none.
pub fn scalar(found: Token, body: &[u8]) -> Option<String> {
    Some(match found {
        Token::Nil => "nil".to_owned(),
        Token::Bool(value) => value.to_string(),
        Token::Int(value) => value.to_string(),
        Token::Uint(value) => value.to_string(),
        Token::Float32(value) => cell::float32(value),
        Token::Float64(value) => cell::float64(value),
        Token::Str(_) => std::str::from_utf8(body).ok()?.to_owned(),
        Token::Bin(_) => cell::hex(body),
        Token::Ext(-1, _) => {
            stamp(body).map_or_else(|| cell::hex(body), |(seconds, nanos)| time(seconds, nanos))
        }
        Token::Ext(..) => cell::hex(body),
        Token::Array(_) | Token::Map(_) => return None,
    })
}

/// Seconds since 1970 and nanoseconds of a timestamp of 32, 64 or 96 bits.
pub fn stamp(body: &[u8]) -> Option<(i64, u32)> {
    use crate::bytes::numbers::be;
    let (seconds, nanos) = match body.len() {
        4 => (i64::from(be::<u32>(body, 0)?), 0),
        8 => {
            let both = be::<u64>(body, 0)?;
            ((both & 0x3_ffff_ffff) as i64, (both >> 34) as u32)
        }
        12 => (be::<i64>(body, 4)?, be::<u32>(body, 0)?),
        _ => return None,
    };
    (nanos < 1_000_000_000).then_some((seconds, nanos))
}

/// A time, ISO 8601; seconds where the calendar does not reach.
fn time(seconds: i64, nanos: u32) -> String {
    match DateTime::<Utc>::from_timestamp(seconds, nanos) {
        Some(time) => time.to_rfc3339_opts(SecondsFormat::AutoSi, false),
        None => format!("{seconds}.{nanos:09} s since 1970"),
    }
}

/// The value that `bytes` begin with, as JSON for people: `"…"` for one of many values, bytes cut.
pub fn json(bytes: &[u8]) -> Json {
    let mut reading = Reading { bytes, at: 0, left: VALUES, keys: KEYS, hex: cell::hex };
    reading.one(DEPTH).unwrap_or_else(|| Json::String("…".to_owned()))
}

/// The value that `bytes` begin with, whole, as JSON; bytes as hexadecimal digits. `None` where it nests too deep or ends
/// too early.
pub fn whole(bytes: &[u8]) -> Option<Json> {
    Reading { bytes, at: 0, left: usize::MAX, keys: KEYS, hex: all_hex }.one(DEPTH)
}

/// `0x` and the hexadecimal digits of all bytes.
fn all_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| DIGITS.get(usize::from(half & 15)).map_or('0', |digit| char::from(*digit));
    let mut out = String::with_capacity(2 + 2 * bytes.len());
    out.push_str("0x");
    for byte in bytes {
        out.push(digit(byte >> 4));
        out.push(digit(*byte));
    }
    out
}

/// Values that are read as JSON.
struct Reading<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many values more.
    left: usize,
    /// How many keys more around one.
    keys: usize,
    /// How bytes are written.
    hex: fn(&[u8]) -> String,
}

impl Reading<'_> {
    /// A key of a map as text.
    fn key(&mut self, deep: usize) -> Option<String> {
        self.keys = self.keys.checked_sub(1)?;
        let key = self.one(deep)?;
        self.keys += 1;
        Some(if let Json::String(text) = key { text } else { key.to_string() })
    }

    fn one(&mut self, deep: usize) -> Option<Json> {
        self.left = self.left.checked_sub(1)?;
        let deep = deep.checked_sub(1)?;
        let bytes = self.bytes;
        let (found, head) = token(bytes.get(self.at..)?).ok()?;
        let start = self.at + head;
        let end = start.checked_add(usize::try_from(found.body()).ok()?)?;
        let body = bytes.get(start..end)?;
        self.at = end;
        Some(match found {
            Token::Nil => Json::Null,
            Token::Bool(value) => value.into(),
            Token::Int(value) => value.into(),
            Token::Uint(value) => value.into(),
            Token::Float32(value) => number(cell::float32(value)),
            Token::Float64(value) => number(cell::float64(value)),
            Token::Array(count) => (0..count).map(|_| self.one(deep)).collect::<Option<Vec<Json>>>()?.into(),
            Token::Map(count) => {
                let mut map = serde_json::Map::new();
                for _ in 0..count {
                    let key = self.key(deep)?;
                    let value = self.one(deep)?;
                    map.insert(key, value);
                }
                map.into()
            }
            Token::Str(_) => match std::str::from_utf8(body) {
                Ok(text) => text.into(),
                // Bytes of the old format, which had no others.
                Err(_) => (self.hex)(body).into(),
            },
            Token::Ext(-1, _) => {
                stamp(body).map_or_else(|| (self.hex)(body), |(seconds, nanos)| time(seconds, nanos)).into()
            }
            Token::Bin(_) | Token::Ext(..) => (self.hex)(body).into(),
        })
    }
}

/// A float's text as a number of JSON, where JSON has one.
fn number(text: String) -> Json {
    match text.parse::<serde_json::Number>() {
        Ok(number) => Json::Number(number),
        Err(_) => Json::String(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_within_keys_end_where_escapes_would_grow_without_bounds() {
        // A map whose key is a map whose key is a map …, around nil; each value is 1.
        let nested = |depth: usize| [vec![0x81; depth], vec![0xc0], vec![1; depth]].concat();
        assert_eq!(whole(&nested(1)).unwrap().to_string(), r#"{"null":1}"#);
        assert_eq!(whole(&nested(2)).unwrap().to_string(), r#"{"{\"null\":1}":1}"#);
        assert!(whole(&nested(KEYS)).is_some());
        assert!(whole(&nested(KEYS + 1)).is_none());
        assert_eq!(json(&nested(DEPTH - 1)), Json::String("…".to_owned()));
        // Keys beside each other are not within each other.
        let beside = [&[0x80 | 6][..], &[0xc0, 1].repeat(6)].concat();
        assert!(whole(&beside).is_some());
    }
}
