//! JSON texts of single values, as they stand in cells: the fields of an object, the elements of an array, the text of
//! a value. Nothing is converted. <https://www.rfc-editor.org/rfc/rfc8259>

pub mod token;

use std::borrow::Cow;
use token::Word;

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Bool => "bool",
            Kind::Null => "null",
        }
    }

    /// Whether it has children.
    pub fn is_container(self) -> bool {
        matches!(self, Kind::Object | Kind::Array)
    }
}

/// A record.
pub enum Parsed<'a> {
    /// An object: names and values, in the file's order.
    Object(Fields<'a>),
    /// Any other value.
    Other(&'a str),
}

/// Names and the texts of values.
pub type Fields<'a> = Vec<(Cow<'a, str>, &'a str)>;

/// What is wrong with a record, and at which of its bytes.
type Fault = (usize, &'static str);

/// Parses a record. The error says what is wrong, and at which character.
pub fn parse(record: &[u8]) -> std::result::Result<Parsed<'_>, String> {
    let text = simdutf8::compat::from_utf8(record)
        .map_err(|error| format!("it is not UTF-8 at character {}", error.valid_up_to() + 1))?;
    let begin = blank(text.as_bytes(), 0);
    let rest = text.get(begin..).unwrap_or_default();
    let whole = |end: usize| match blank(rest.as_bytes(), end) {
        at if at < rest.len() => Err((at, "something stands behind the value")),
        _ => Ok(()),
    };
    let parsed = if rest.starts_with('{') {
        fields(rest).and_then(|(fields, end)| whole(end).map(|()| Parsed::Object(fields)))
    } else {
        let value = |end: usize| Parsed::Other(rest.get(..end).unwrap_or(rest));
        skip(rest.as_bytes(), 0).and_then(|end| whole(end).map(|()| value(end)))
    };
    parsed.map_err(|(at, what)| {
        let before = rest.get(..at).map_or(at, |text| text.chars().count());
        format!("{what} at character {}", before + 1)
    })
}

/// Where a member of an object lies in its text: the name without quotes, and the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Where the name begins, behind its quote, and where it ends.
    pub name: (usize, usize),
    /// Where the value begins and ends.
    pub value: (usize, usize),
}

/// Finds the members of the object that `record` is, and nothing else; `false` where it is none or something is wrong
/// with it, which [`parse`] says. The same as `parse`, without memory of its own.
pub fn members(record: &str, found: &mut Vec<Member>) -> bool {
    found.clear();
    let bytes = record.as_bytes();
    let mut at = blank(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return false;
    }
    at = blank(bytes, at + 1);
    while bytes.get(at) != Some(&b'}') {
        let begin = at + 1;
        let Some(len) = bytes.get(at..).filter(|rest| rest.first() == Some(&b'"')).and_then(token::string)
        else {
            return false;
        };
        let name = (begin, at + len - 1);
        let colon = blank(bytes, at + len);
        if bytes.get(colon) != Some(&b':') {
            return false;
        }
        at = blank(bytes, colon + 1);
        let Ok(end) = skip(bytes, at) else { return false };
        found.push(Member { name, value: (at, end) });
        at = blank(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = blank(bytes, at + 1),
            Some(b'}') => {}
            _ => return false,
        }
    }
    blank(bytes, at + 1) >= bytes.len()
}

/// The fields of an object; `None` if it is none.
pub fn object(text: &str) -> Option<Fields<'_>> {
    fields(text).ok().map(|(fields, _)| fields)
}

/// The elements of an array; `None` if it is none.
pub fn elements(text: &str) -> Option<Vec<&str>> {
    let bytes = text.as_bytes();
    let mut at = blank(bytes, 0);
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    let mut elements = Vec::new();
    at = blank(bytes, at + 1);
    while bytes.get(at) != Some(&b']') {
        let end = skip(bytes, at).ok()?;
        elements.push(text.get(at..end)?);
        at = blank(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = blank(bytes, at + 1);
        } else if bytes.get(at) != Some(&b']') {
            return None;
        }
    }
    Some(elements)
}

/// The fields of the object that `text` begins with, and where it ends.
fn fields(text: &str) -> std::result::Result<(Fields<'_>, usize), Fault> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'{') {
        return Err((0, "an object is expected"));
    }
    let mut fields = Vec::new();
    let mut at = blank(bytes, 1);
    while bytes.get(at) != Some(&b'}') {
        let begin = at;
        at = name(bytes, at)?;
        let raw = bytes.get(begin..).unwrap_or_default();
        let quoted = raw.get(..token::string(raw).unwrap_or(0)).unwrap_or_default();
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        let end = skip(bytes, at)?;
        fields.push((token::unescape(inner).0, text.get(at..end).unwrap_or_default()));
        at = blank(bytes, end);
        match bytes.get(at) {
            Some(b',') => at = blank(bytes, at + 1),
            Some(b'}') => {}
            None => return Err((at, "the text ends inside an object")),
            Some(_) => return Err((at, "',' or '}' is expected")),
        }
    }
    Ok((fields, at + 1))
}

/// Behind a name, its colon and the white space there.
fn name(bytes: &[u8], at: usize) -> std::result::Result<usize, Fault> {
    if bytes.get(at) != Some(&b'"') {
        let ended = at >= bytes.len();
        return Err((
            at,
            if ended { "the text ends inside an object" } else { "a name in quotes is expected" },
        ));
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let len = token::string(rest).ok_or((at, "the text ends inside a string"))?;
    let colon = blank(bytes, at + len);
    match bytes.get(colon) {
        Some(b':') => Ok(blank(bytes, colon + 1)),
        _ => Err((colon, "':' is expected behind a name")),
    }
}

/// Behind the value at `at`, which is checked as a whole; however deep it nests, no stack is used.
fn skip(bytes: &[u8], mut at: usize) -> std::result::Result<usize, Fault> {
    let mut open: Vec<u8> = Vec::new();
    loop {
        at = blank(bytes, at);
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.first() {
            None => return Err((at, "the text ends where a value is expected")),
            Some(b'"') => at += token::string(rest).ok_or((at, "the text ends inside a string"))?,
            Some(&bracket @ (b'{' | b'[')) => {
                let closing = bracket + 2;
                at = blank(bytes, at + 1);
                if bytes.get(at) == Some(&closing) {
                    at += 1;
                } else {
                    open.push(closing);
                    if bracket == b'{' {
                        at = name(bytes, at)?;
                    }
                    continue;
                }
            }
            Some(b'-' | b'0'..=b'9') if let Some(len) = token::number(rest) => at += len,
            Some(_) => {
                let len = token::word(rest);
                match token::classify(rest.get(..len).unwrap_or_default()) {
                    Word::Plain(_) | Word::NotFinite => at += len,
                    Word::Odd => return Err((at, "this is no number of JSON")),
                    Word::No => return Err((at, "a value is expected")),
                }
            }
        }
        // Behind a value: containers that end here, up to a comma.
        loop {
            let Some(&closing) = open.last() else { return Ok(at) };
            at = blank(bytes, at);
            let comma = bytes.get(at) == Some(&b',');
            if comma {
                at = blank(bytes, at + 1);
            }
            match bytes.get(at) {
                Some(&byte) if byte == closing => {
                    at += 1;
                    open.pop();
                }
                Some(_) if comma => break,
                None => return Err((at, "the text ends inside a container")),
                Some(_) => return Err((at, "',' or a closing bracket is expected")),
            }
        }
        if open.last() == Some(&b'}') {
            at = name(bytes, at)?;
        }
    }
}

/// Behind white space and comments.
#[inline]
fn blank(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(byte) if !token::is_space(*byte) && *byte != b'/' => at,
        _ => blanks(bytes, at),
    }
}

fn blanks(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        at += token::space(rest);
        let rest = bytes.get(at..).unwrap_or_default();
        let comment = match rest {
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest).map(|n| n + 1),
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/").map(|n| n + 2),
            _ => return at,
        };
        match comment {
            Some(len) => at += len,
            None => return at,
        }
    }
}

/// A value as a cell: strings without quotes and escapes, everything else as it stands in the file;
/// `None` for null.
pub fn cell(raw: &str) -> Option<Cow<'_, str>> {
    if raw == "null" {
        return None;
    }
    match raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(inner) if memchr::memchr(b'\\', inner.as_bytes()).is_none() => Some(Cow::Borrowed(inner)),
        Some(inner) => Some(token::unescape(inner.as_bytes()).0),
        None => Some(Cow::Borrowed(raw)),
    }
}
