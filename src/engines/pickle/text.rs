//! Values as Python writes them: `{'a': [1, 2.5], 'b': None}`; a call as the call that it would be.

use super::machine::{Id, Object, Pickle, Value};
use crate::bytes::limits;
use std::fmt::Write;

/// How deep lists in lists are written.
const DEEP: usize = 64;
/// The longest text of one value, in bytes; a value may hold itself many times over.
const LONGEST: usize = 1 << 20;
/// Characters of the name of a module, and of what is in it, that are written.
const NAME: usize = 1000;
/// The most bytes that a date is packed into.
const PACKED: usize = 10;

/// Writes one value.
struct Writer<'a> {
    pickle: &'a Pickle,
    out: String,
    /// After so many bytes nothing more is begun.
    most: usize,
    /// Of a text within the value no more bytes are looked at.
    texts: usize,
    /// The values that are being written: one that holds itself is not written again.
    open: Vec<Id>,
}

impl Value {
    /// The name of its type, where that is one of Python's own.
    pub(super) fn builtin(&self) -> Option<&'static str> {
        let word = match self {
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Large(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "str",
            Value::Bytes(_) => "bytes",
            Value::ByteArray(_) => "bytearray",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::Set(_) => "set",
            Value::FrozenSet(_) => "frozenset",
            Value::Elsewhere(_, word) => word,
            Value::Global(_) | Value::Object(_) => return None,
            Value::Persistent(_) | Value::Extension(_) | Value::Opaque => return None,
        };
        Some(word)
    }
}

impl Pickle {
    /// A value for people: a text as it is, everything else as [`Pickle::repr`].
    pub fn show(&self, id: Id) -> String {
        self.text(id).map_or_else(|| self.repr(id), str::to_owned)
    }

    /// A value as Python writes it; a very long one ends in `…`.
    pub fn repr(&self, id: Id) -> String {
        self.written(id, LONGEST, usize::MAX)
    }

    /// The first `most` characters of [`Pickle::show`], and `…` where there are more. No more of the value is
    /// looked at than they need: a million keys may be one and the same long text.
    pub fn brief(&self, id: Id, most: usize) -> String {
        match self.text_start(id, most) {
            Some(text) => cut(text, most),
            None => cut(&self.written(id, enough(most), enough(most)), most),
        }
    }

    fn written(&self, id: Id, most: usize, texts: usize) -> String {
        let mut writer = Writer { pickle: self, out: String::new(), most, texts, open: Vec::new() };
        writer.value(id);
        writer.out
    }

    /// The text of a value that is one: all of it, or more than its first `most` characters.
    fn text_start(&self, id: Id, most: usize) -> Option<&str> {
        let Value::Text(piece) = self.value(id) else { return None };
        let bytes = self.bytes(*piece);
        let first = start(bytes, enough(most));
        match std::str::from_utf8(first) {
            Ok(text) => Some(text),
            // Its last character was cut.
            Err(error) if error.error_len().is_none() && first.len() < bytes.len() => {
                std::str::from_utf8(start(first, error.valid_up_to())).ok()
            }
            Err(_) => None,
        }
    }

    /// The name of a value's type: `dict`, `numpy.ndarray`, `collections.OrderedDict`.
    pub fn type_name(&self, id: Id) -> String {
        let value = self.value(id);
        let word = match value {
            Value::Global(_) => return self.callable(id),
            Value::Object(object) => return self.type_of(object),
            Value::Persistent(_) => "persistent",
            Value::Extension(_) => "extension",
            _ => value.builtin().unwrap_or("?"),
        };
        word.to_owned()
    }

    pub(super) fn type_of(&self, object: &Object) -> String {
        let made = || self.rebuilt(object).unwrap_or(object.class);
        self.callable(self.wrapped(object).unwrap_or_else(made))
    }

    /// The class of the array that a wrapper of joblib stands for.
    fn wrapped(&self, object: &Object) -> Option<Id> {
        let (module, name) = self.global(object.class)?;
        let wraps = module.contains("joblib.") && matches!(name, "NDArrayWrapper" | "NumpyArrayWrapper");
        self.entry(object.state.filter(|_| wraps)?, "subclass")
    }

    /// The name of what would be called.
    fn callable(&self, id: Id) -> String {
        match self.global(id) {
            Some(("builtins" | "__builtin__", name)) => cut(name, NAME),
            Some((module, name)) => format!("{}.{}", cut(module, NAME), cut(name, NAME)),
            None => "?".to_owned(),
        }
    }

    /// The bytes that Python 3 writes as a call of `_codecs.encode` in old protocols.
    pub fn encoded(&self, id: Id) -> Option<Vec<u8>> {
        self.encoded_start(id, usize::MAX)
    }

    /// The same: all of them, or more than the first `most`.
    pub(super) fn encoded_start(&self, id: Id, most: usize) -> Option<Vec<u8>> {
        let Value::Object(object) = self.value(id) else { return None };
        let Value::Tuple(items) = self.value(object.arguments) else { return None };
        if self.is(object.class, &["builtins", "__builtin__"], "bytes") && items.is_empty() {
            return Some(Vec::new());
        }
        let ([text, codec], true) = (items.as_slice(), self.is(object.class, &["_codecs"], "encode")) else {
            return None;
        };
        if !matches!(self.text_start(*codec, 16)?, "latin1" | "latin-1" | "iso-8859-1") {
            return None;
        }
        self.text_start(*text, most)?.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
    }
}

impl Writer<'_> {
    fn value(&mut self, id: Id) {
        if self.out.len() > self.most {
            if !self.out.ends_with('…') {
                self.out.push('…');
            }
            return;
        }
        let pickle = self.pickle;
        match pickle.value(id) {
            Value::None => self.out.push_str("None"),
            Value::Bool(true) => self.out.push_str("True"),
            Value::Bool(false) => self.out.push_str("False"),
            Value::Int(number) => drop(write!(self.out, "{number}")),
            Value::Large(piece) => {
                self.out.push_str(&String::from_utf8_lossy(start(pickle.bytes(*piece), self.texts)));
            }
            Value::Float(number) => float(&mut self.out, *number),
            Value::Text(piece) => {
                quote(&mut self.out, &String::from_utf8_lossy(start(pickle.bytes(*piece), self.texts)));
            }
            Value::Bytes(piece) => quote_bytes(&mut self.out, pickle.bytes(*piece), self.most),
            Value::ByteArray(piece) => {
                self.out.push_str("bytearray(");
                quote_bytes(&mut self.out, pickle.bytes(*piece), self.most);
                self.out.push(')');
            }
            Value::Global(_) => {
                let name = pickle.callable(id);
                let _ = write!(self.out, "<{name}>");
            }
            Value::Extension(code) => drop(write!(self.out, "<extension {code}>")),
            Value::Elsewhere(..) => self.out.push('…'),
            Value::Opaque => self.out.push('?'),
            nested => self.nested(id, nested),
        }
    }

    /// What holds others: not within itself, and not too deep.
    fn nested(&mut self, id: Id, value: &Value) {
        if self.open.len() >= DEEP || self.open.contains(&id) {
            self.out.push('…');
            return;
        }
        self.open.push(id);
        match value {
            Value::List(items) => self.items("[", items, "]"),
            Value::Tuple(items) if items.len() == 1 => self.items("(", items, ",)"),
            Value::Tuple(items) => self.items("(", items, ")"),
            Value::Set(items) if items.is_empty() => self.out.push_str("set()"),
            Value::Set(items) => self.items("{", items, "}"),
            Value::FrozenSet(items) => self.items("frozenset({", items, "})"),
            Value::Dict(entries) => self.entries(entries),
            Value::Persistent(inner) => {
                self.out.push_str("<persistent ");
                self.value(*inner);
                self.out.push('>');
            }
            Value::Object(object) => self.object(id, object),
            _ => {}
        }
        self.open.pop();
    }

    fn items(&mut self, open: &str, items: &[Id], close: &str) {
        self.out.push_str(open);
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                self.out.push_str(", ");
            }
            if self.out.len() > self.most {
                self.out.push('…');
                break;
            }
            self.value(*item);
        }
        self.out.push_str(close);
    }

    fn entries(&mut self, entries: &[(Id, Id)]) {
        self.out.push('{');
        for (n, (key, value)) in entries.iter().enumerate() {
            if n > 0 {
                self.out.push_str(", ");
            }
            if self.out.len() > self.most {
                self.out.push('…');
                break;
            }
            self.value(*key);
            self.out.push_str(": ");
            self.value(*value);
        }
        self.out.push('}');
    }

    /// Complex numbers as Python writes them; whether it is one.
    fn number(&mut self, object: &Object) -> bool {
        let pickle = self.pickle;
        let Some([real, imaginary]) = pickle.tuple(object.arguments) else { return false };
        let (Value::Float(real), Value::Float(imaginary)) = (pickle.value(*real), pickle.value(*imaginary))
        else {
            return false;
        };
        if !pickle.is(object.class, &["builtins", "__builtin__"], "complex") {
            return false;
        }
        let mut parts = [String::new(), String::new()];
        for (part, number) in parts.iter_mut().zip([real, imaginary]) {
            float(part, *number);
        }
        let [real_text, imaginary_text] =
            parts.map(|part| part.strip_suffix(".0").unwrap_or(&part).to_owned());
        let sign = if imaginary_text.starts_with('-') { "" } else { "+" };
        let _ = match *real == 0.0 && real.is_sign_positive() {
            true => write!(self.out, "{imaginary_text}j"),
            false => write!(self.out, "({real_text}{sign}{imaginary_text}j)"),
        };
        true
    }

    /// The call that would make an object, and what it would be filled with.
    fn object(&mut self, id: Id, object: &Object) {
        if let Some(bytes) = self.pickle.encoded_start(id, self.most) {
            return quote_bytes(&mut self.out, &bytes, self.most);
        }
        if let Some(text) = date(self.pickle, object) {
            return self.out.push_str(&text);
        }
        if self.number(object) {
            return;
        }
        let name = self.pickle.type_name(id);
        self.out.push_str(&name);
        let rebuilt = name != self.pickle.callable(object.class);
        match self.pickle.value(object.arguments) {
            // What a rebuilt object is called with says nothing.
            Value::Tuple(_) if rebuilt => self.out.push_str("(…)"),
            Value::Tuple(items) => self.items("(", items, ")"),
            _ => self.out.push_str("(…)"),
        }
        if !object.items.is_empty() {
            self.items("[", &object.items, "]");
        }
        if !object.pairs.is_empty() {
            self.entries(&object.pairs);
        }
        if let Some(state) = object.state.filter(|_| !rebuilt) {
            self.out.push('{');
            self.value(state);
            self.out.push('}');
        }
    }
}

/// More bytes than `most` characters have, whatever these are.
fn enough(most: usize) -> usize {
    most.saturating_add(1).saturating_mul(4)
}

/// The first bytes, at most so many.
fn start(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(..most).unwrap_or(bytes)
}

/// The first `most` characters, and `…` where there are more.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The bytes that a date or time is packed into, and its zone.
fn packed(pickle: &Pickle, object: &Object) -> Option<(Vec<u8>, Option<Id>)> {
    let items = pickle.tuple(object.arguments)?;
    let (first, zone) = match items {
        [first] => (*first, None),
        [first, zone] => (*first, Some(*zone)),
        _ => return None,
    };
    let bytes = match pickle.value(first) {
        Value::Bytes(piece) | Value::Text(piece) => start(pickle.bytes(*piece), PACKED).to_vec(),
        _ => pickle.encoded_start(first, PACKED)?,
    };
    Some((bytes, zone.filter(|zone| !matches!(pickle.value(*zone), Value::None))))
}

/// Dates and times of the standard library, which are packed into bytes.
pub(super) fn date(pickle: &Pickle, object: &Object) -> Option<String> {
    let is_date = pickle.is(object.class, &["datetime"], "date");
    if !is_date && !pickle.is(object.class, &["datetime"], "datetime") {
        return None;
    }
    let (bytes, zone) = packed(pickle, object)?;
    if is_date {
        let [high, low, month, day] = *bytes.first_chunk()?;
        return Some(format!("{:04}-{:02}-{day:02}", u16::from_be_bytes([high, low]), month & 0x7f));
    }
    let [high, low, month, day, hour, minute, second, a, b, c] = *bytes.first_chunk()?;
    let (year, micro) = (u16::from_be_bytes([high, low]), u32::from_be_bytes([0, a, b, c]));
    let mut text = format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", month & 0x7f);
    if micro > 0 {
        let _ = write!(text, ".{micro:06}");
    }
    text.push_str(&zone.map_or_else(String::new, |zone| offset(pickle, zone)));
    Some(text)
}

/// A time of the day.
pub(super) fn clock(pickle: &Pickle, object: &Object) -> Option<String> {
    let (bytes, zone) = packed(pickle, object)?;
    let [hour, minute, second, a, b, c] = *bytes.first_chunk()?;
    let mut text = format!("{:02}:{minute:02}:{second:02}", hour & 0x7f);
    let micro = u32::from_be_bytes([0, a, b, c]);
    if micro > 0 {
        let _ = write!(text, ".{micro:06}");
    }
    text.push_str(&zone.map_or_else(String::new, |zone| offset(pickle, zone)));
    Some(text)
}

/// A time zone behind a time: `+02:00`, or its name in brackets.
fn offset(pickle: &Pickle, zone: Id) -> String {
    let Value::Object(object) = pickle.value(zone) else { return String::new() };
    let first = pickle.tuple(object.arguments).and_then(|arguments| arguments.first().copied());
    match first {
        Some(first) if pickle.text(first).is_some() => format!(" {}", pickle.brief(first, NAME)),
        Some(first) => super::stdlib::zone(pickle, first).unwrap_or_default(),
        None => " UTC".to_owned(),
    }
}

/// The shortest text that reads back, with a point or an exponent as Python has it.
fn float(out: &mut String, number: f64) {
    let text = match number {
        n if n.is_nan() => "nan".to_owned(),
        n if n.is_infinite() => if n > 0.0 { "inf" } else { "-inf" }.to_owned(),
        n if n != 0.0 && (n.abs() >= 1e16 || n.abs() < 1e-4) => {
            let text = format!("{n:e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        n => format!("{n:?}"),
    };
    out.push_str(&text);
}

/// A text in quotes: those that need the fewest escapes.
fn quote(out: &mut String, text: &str) {
    let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(mark);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == mark => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(mark);
}

/// The first `most` bytes in quotes.
fn quote_bytes(out: &mut String, bytes: &[u8], most: usize) {
    let first = start(bytes, most);
    let mark = if first.contains(&b'\'') && !first.contains(&b'"') { '"' } else { '\'' };
    out.push('b');
    out.push(mark);
    for &b in first {
        match b {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            b if char::from(b) == mark => {
                out.push('\\');
                out.push(mark);
            }
            32..=126 => out.push(char::from(b)),
            b => drop(write!(out, "\\x{b:02x}")),
        }
    }
    if bytes.len() > first.len() {
        out.push('…');
    }
    out.push(mark);
}

/// A line of `UNICODE`: `\uXXXX` and `\UXXXXXXXX` are escapes, other bytes are Latin-1.
pub(super) fn unescape_unicode(line: &[u8]) -> String {
    let mut units: Vec<u16> = Vec::with_capacity(line.len());
    let mut at = 0;
    while let Some(&b) = line.get(at) {
        let width = match line.get(at..at + 2) {
            Some(b"\\u") => 4,
            Some(b"\\U") => 8,
            _ => 0,
        };
        let digits = line.get(at + 2..at + 2 + width).and_then(|d| std::str::from_utf8(d).ok());
        let escaped = digits.filter(|_| width > 0).and_then(|d| u32::from_str_radix(d, 16).ok());
        match escaped {
            // Characters beyond the first plane may stand as two escapes.
            Some(code) => {
                match (u16::try_from(code), char::from_u32(code)) {
                    (Ok(unit), _) => units.push(unit),
                    (_, Some(c)) => units.extend(c.encode_utf16(&mut [0; 2]).iter()),
                    _ => units.push(0xfffd),
                }
                at += 2 + width;
            }
            None => {
                units.push(u16::from(b));
                at += 1;
            }
        }
    }
    String::from_utf16_lossy(&units)
}

/// A quoted string of `STRING` with its escapes undone; without quotes the line as it is.
pub fn unquote(line: &[u8]) -> Vec<u8> {
    let inner = match line {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        other => other,
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    while let Some(b) = rest.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        match rest.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(b'v') => out.push(11),
            Some(b'x') => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let code = std::str::from_utf8(&digits).ok().and_then(|d| u8::from_str_radix(d, 16).ok());
                out.push(code.unwrap_or(b'?'));
            }
            Some(first @ b'0'..=b'7') => {
                let mut code = u32::from(first - b'0');
                for _ in 0..2 {
                    let mut ahead = rest.clone();
                    let Some(digit @ b'0'..=b'7') = ahead.next() else { break };
                    code = code * 8 + u32::from(digit - b'0');
                    rest = ahead;
                }
                out.push(code as u8);
            }
            Some(other) => {
                if !matches!(other, b'\\' | b'\'' | b'"') {
                    out.push(b'\\');
                }
                out.push(other);
            }
            None => out.push(b'\\'),
        }
    }
    out
}

/// Digits of a two's complement number of any length, little-endian; a very long one in hexadecimal.
pub(super) fn decimal(bytes: &[u8]) -> String {
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for b in &mut magnitude {
            let (next, over) = (!*b).overflowing_add(u8::from(carry));
            (*b, carry) = (next, over);
        }
    }
    let sign = if negative { "-" } else { "" };
    if magnitude.len() > limits::DEPTH * 8 {
        let digits: String = magnitude.iter().rev().map(|b| format!("{b:02x}")).collect();
        return format!("{sign}0x{digits}");
    }
    let mut groups: Vec<u32> = Vec::new();
    while magnitude.iter().any(|&b| b != 0) {
        // Nine digits at a time.
        let mut rest = 0u64;
        for b in magnitude.iter_mut().rev() {
            let value = rest << 8 | u64::from(*b);
            *b = (value / 1_000_000_000) as u8;
            rest = value % 1_000_000_000;
        }
        groups.push(rest as u32);
        while magnitude.last() == Some(&0) {
            magnitude.pop();
        }
    }
    let mut out = sign.to_owned();
    let mut first = true;
    for group in groups.iter().rev() {
        let _ = if first { write!(out, "{group}") } else { write!(out, "{group:09}") };
        first = false;
    }
    if first {
        out.push('0');
    }
    out
}
