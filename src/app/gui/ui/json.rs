//! JSON as the text that it is: its members by their places, level by level, so that a value of many megabytes is never
//! made into a tree; and the same text indented, as people read it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gander::bytes::error::Result;
use gander::bytes::task::Task;
use memchr::memchr2;
use serde::de::IgnoredAny;
use serde_json::Value;

/// So many rows of a tree are unfolded at first.
pub(crate) const FIRST: usize = 60;
/// Bytes between two looks at whether a job is still wanted.
const STEP: usize = 1 << 20;

/// Indented text may be so many times as long as what is indented.
const GROWTH: usize = 8;

/// A value in its container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where its name stands, with the quotes; empty in lists.
    pub(crate) name: Range<usize>,
    /// Where it stands itself.
    pub(crate) value: Range<usize>,
    /// How many members it has.
    pub(crate) members: usize,
}

/// The members of containers, by the places where these begin.
pub(crate) type Levels = HashMap<usize, Arc<Vec<Part>>>;

/// A JSON document: its text, which is well-formed, and the levels that a tree of it shows at first.
#[derive(Debug)]
pub(crate) struct Json {
    /// The text.
    pub(crate) text: Arc<str>,
    /// The outermost value.
    pub(crate) root: Part,
    /// The members of what is unfolded at first.
    pub(crate) first: Levels,
}

impl Json {
    /// The document in `text`, if that is a list or an object; else `None`. Made by a job: it reads all of the text.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn new(task: &Task, text: Arc<str>) -> Result<Option<Self>> {
        if !begins(&text) || serde_json::from_str::<IgnoredAny>(&text).is_err() {
            return Ok(None);
        }
        let start = text.len() - text.trim_start().len();
        let end = text.trim_end().len();
        let members = count(Some(task), &text, start..end)?;
        let root = Part { name: 0..0, value: start..end, members };
        let mut json = Json { text, root, first: Levels::new() };
        json.unfold(task)?;
        Ok(Some(json))
    }

    /// The document of a value that a reader parsed.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn of(task: &Task, value: &Value) -> Result<Option<Self>> {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        Json::new(task, text.into())
    }

    /// Looks at the levels that fit on a page, from the top.
    fn unfold(&mut self, task: &Task) -> Result<()> {
        let mut shown = 1;
        let mut level = vec![self.root.clone()];
        while !level.is_empty() {
            let mut next = Vec::new();
            for part in level {
                let is_root = part.value == self.root.value;
                if part.members == 0 || (shown + part.members > FIRST && !is_root) {
                    continue;
                }
                shown += part.members;
                let parts = parts(Some(task), &self.text, part.value.clone())?;
                if shown <= FIRST {
                    next.extend(parts.iter().filter(|part| part.members > 0).cloned());
                }
                self.first.insert(part.value.start, Arc::new(parts));
            }
            level = if shown > FIRST { Vec::new() } else { next };
        }
        Ok(())
    }
}

/// Whether a text begins like a list or an object.
pub(crate) fn begins(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Whether a job is still wanted; what is short is done without one.
fn check(task: Option<&Task>) -> Result<()> {
    task.map_or(Ok(()), Task::check)
}

/// Behind the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

fn count(task: Option<&Task>, text: &str, container: Range<usize>) -> Result<usize> {
    let mut members = 0;
    walk(task, text, container, |_| members += 1)?;
    Ok(members)
}

/// The members of the list or object at a place.
///
/// # Errors
/// `Cancelled`.
pub(crate) fn parts(task: Option<&Task>, text: &str, container: Range<usize>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    walk(task, text, container, |part| parts.push(part))?;
    Ok(parts)
}

/// Hands on the members of the well-formed list or object at a place, one by one.
fn walk(task: Option<&Task>, text: &str, container: Range<usize>, mut each: impl FnMut(Part)) -> Result<()> {
    let bytes = text.as_bytes().get(..container.end).unwrap_or_default();
    let mut at = container.start + 1;
    let mut looked = at;
    let mut depth = 1usize;
    // The member that is being passed: its name, its beginning, its end, the commas in it, whether there is anything.
    let (mut name, mut start, mut end, mut commas, mut filled) = (0..0, None, at, 0, false);
    while let Some(&byte) = bytes.get(at) {
        if at - looked >= STEP {
            check(task)?;
            looked = at;
        }
        let mut next = at + 1;
        match byte {
            b' ' | b'\n' | b'\t' | b'\r' => {}
            b',' if depth == 1 => {
                let members = if filled { commas + 1 } else { 0 };
                let value = start.take().unwrap_or(end)..end;
                each(Part { name: std::mem::take(&mut name), value, members });
                (commas, filled) = (0, false);
            }
            b',' => commas += usize::from(depth == 2),
            b':' if depth == 1 => name = start.take().unwrap_or(end)..end,
            b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
                if depth == 1 {
                    end = next;
                }
            }
            other => {
                if other == b'"' {
                    next = string_end(bytes, at);
                }
                if depth == 1 {
                    start.get_or_insert(at);
                    end = next;
                }
                filled |= depth == 2;
                depth += usize::from(matches!(other, b'[' | b'{'));
            }
        }
        at = next;
    }
    if let Some(start) = start {
        each(Part { name, value: start..end, members: if filled { commas + 1 } else { 0 } });
    }
    Ok(())
}

/// The beginning of a string in quotes, without them and its escapes, of at most `most` characters.
pub(crate) fn string(quoted: &str, most: usize) -> String {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let whole = inner.strip_suffix('"').unwrap_or(inner);
    // An escape has at most twelve bytes: a pair of surrogates.
    let enough = whole.floor_char_boundary(most.saturating_mul(12).min(whole.len()));
    let head = whole.get(..enough).unwrap_or_default();
    // A cut may have gone through an escape.
    let most_back = if enough < whole.len() { head.len().min(12) } else { 0 };
    let decoded = (0..=most_back).find_map(|back| {
        let head = head.get(..head.len() - back)?;
        serde_json::from_str::<String>(&format!("\"{head}\"")).ok()
    });
    let decoded = decoded.unwrap_or_else(|| head.to_owned());
    decoded.chars().take(most).collect()
}

/// A value as it is copied: a string without quotes and escapes, all else indented.
///
/// # Errors
/// `Cancelled`.
pub(crate) fn plain(task: Option<&Task>, value: &str) -> Result<String> {
    match value.starts_with('"') {
        true => Ok(serde_json::from_str(value).unwrap_or_else(|_| value.to_owned())),
        false => indented(task, value),
    }
}

/// Well-formed JSON with each member on a line of its own; characters in strings without needless escapes. Text that
/// would become many times as long, since it is nested deeply, stays as it is.
///
/// # Errors
/// `Cancelled`.
pub(crate) fn indented(task: Option<&Task>, text: &str) -> Result<String> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let (mut at, mut depth, mut looked) = (0, 0usize, 0);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    while let Some(&byte) = bytes.get(at) {
        if at - looked >= STEP {
            check(task)?;
            looked = at;
        }
        if out.len() > text.len().saturating_mul(GROWTH).saturating_add(STEP) {
            return Ok(text.to_owned());
        }
        let mut next = at + 1;
        match byte {
            b' ' | b'\n' | b'\t' | b'\r' => {}
            b'[' | b'{' => {
                out.push(char::from(byte));
                let blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
                let inside = bytes.get(next..).unwrap_or_default();
                let filled = inside.iter().find(|byte| !blank(byte));
                if let Some(end @ (b']' | b'}')) = filled {
                    out.push(char::from(*end));
                    next += inside.iter().take_while(|byte| blank(byte)).count() + 1;
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(char::from(byte));
            }
            b',' => {
                out.push(',');
                line(&mut out, depth);
            }
            b':' => out.push_str(": "),
            b'"' => {
                next = string_end(bytes, at);
                out.push_str(&unescaped(text.get(at..next).unwrap_or_default()));
            }
            _ => {
                next += bytes.get(next..).unwrap_or_default().iter().take_while(|b| is_word(**b)).count();
                out.push_str(text.get(at..next).unwrap_or_default());
            }
        }
        at = next;
    }
    Ok(out)
}

/// Whether a byte goes on a number, `true`, `false` or `null`.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// A string in quotes with the escapes that it needs.
fn unescaped(quoted: &str) -> Cow<'_, str> {
    if !quoted.contains('\\') {
        return quoted.into();
    }
    let decoded = serde_json::from_str::<String>(quoted);
    let written = decoded.and_then(|text| serde_json::to_string(&text));
    written.map_or(quoted.into(), Cow::Owned)
}

/// The beginning of a value on one line: long lists and objects by their number of members, all else by its first
/// `most` characters. Costs no more however large the value is.
pub(crate) fn brief(value: &Value, most: usize) -> String {
    match value {
        Value::Array(list) if list.len() > 12 => {
            format!("[{} items]", gander::bytes::display::count(list.len() as u64))
        }
        Value::Object(map) if map.len() > 6 => {
            format!("{{{} fields}}", gander::bytes::display::count(map.len() as u64))
        }
        other => {
            let mut out = String::new();
            write_brief(other, most, &mut out);
            out.chars().take(most).collect()
        }
    }
}

/// Writes a value until there are `most` characters; of a string no more than that is looked at.
fn write_brief(value: &Value, most: usize, out: &mut String) {
    // A character has at most four bytes.
    let full = |out: &String| out.len() >= most.saturating_mul(4);
    let quoted = |text: &str| Value::from(text.chars().take(most).collect::<String>()).to_string();
    match value {
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Array(list) => {
            out.push('[');
            for (n, item) in list.iter().enumerate() {
                if full(out) {
                    break;
                }
                out.push_str(if n > 0 { "," } else { "" });
                write_brief(item, most, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (n, (name, item)) in map.iter().enumerate() {
                if full(out) {
                    break;
                }
                out.push_str(if n > 0 { "," } else { "" });
                out.push_str(&quoted(name));
                out.push(':');
                write_brief(item, most, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(&str, &str, usize)> {
        let parts = parts(None, text, 0..text.len()).unwrap();
        let of = |part: Part| (&text[part.name], &text[part.value], part.members);
        parts.into_iter().map(of).collect()
    }

    #[test]
    fn members_are_found_by_their_places() {
        let text = r#"{"a\"}": [1, {"b": [2, 3]}, "x,y"] , "c":{}, "d" : -1.5e3,"e":"]","a":null}"#;
        let wanted = [
            (r#""a\"}""#, r#"[1, {"b": [2, 3]}, "x,y"]"#, 3),
            (r#""c""#, "{}", 0),
            (r#""d""#, "-1.5e3", 0),
            (r#""e""#, r#""]""#, 0),
            (r#""a""#, "null", 0),
        ];
        assert_eq!(texts(text), wanted);
        assert_eq!(
            texts("[[], [[]], [ ] ,[{}, 1]]").iter().map(|part| part.2).collect::<Vec<_>>(),
            [0, 1, 0, 2]
        );
        assert_eq!((texts("[]"), texts("{ }")), (Vec::new(), Vec::new()));
    }

    #[test]
    fn only_what_is_well_formed_is_a_document() {
        let new = |text: &str| Json::new(&Task::new(), text.into()).unwrap();
        assert!(new("{\"a\": [1, 2}").is_none() && new("12").is_none() && new("[1] x").is_none());
        let json = new(" {\"a\": [1, 2]}\n").unwrap();
        assert_eq!((json.root.value.clone(), json.root.members), (1..14, 1));
        assert_eq!(json.first.len(), 2, "both levels fit on a page");
        let long = new(&format!("{{\"ids\": [{}0], \"n\": 1}}", "0,".repeat(5000))).unwrap();
        assert_eq!(long.first.len(), 1, "a long list starts folded");
        assert_eq!(long.first[&0][0].members, 5001);
    }

    #[test]
    fn indented_text_is_what_a_parser_would_write() {
        let text = r#"{"a":[1,-2.50,{"b":{}, "c":[ ]}],"\u00e4\n":"x\/y\ud83d\ude00", "t" : [true,null] }"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(indented(None, text).unwrap(), serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn the_beginning_of_a_string_is_cut_between_characters() {
        assert_eq!(string(r#""a\n\u00e4""#, 10), "a\nä");
        let long = format!("\"{}\"", "\\ud83d\\ude00".repeat(50));
        assert_eq!(string(&long, 7), "😀".repeat(7));
        assert_eq!(string(&format!("\"{}\"", "ä".repeat(5000)), 400), "ä".repeat(400));
        assert_eq!(string(r#""\ud800x""#, 10), r"\ud800x", "half of a pair stays as it is written");
    }

    #[test]
    fn the_beginning_of_a_value_costs_no_more_than_it_is_long() {
        let value = serde_json::json!({"a": ["x".repeat(2_000_000), vec![7; 1_000_000]], "b": 1});
        assert_eq!(brief(&value, 300), format!("{{\"a\":[\"{}", "x".repeat(293)));
        let mut out = String::new();
        write_brief(&value, 300, &mut out);
        assert!(out.len() <= 4 * 300 + 8, "{} bytes were written", out.len());
        assert_eq!(brief(&serde_json::json!({"a": 1}), 300), "{\"a\":1}");
        assert_eq!(brief(&serde_json::json!(vec![0; 20_000]), 300), "[20,000 items]");
    }
}
