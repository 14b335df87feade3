//! A parser for the Python literals of NPY headers: dict, list, tuple, str, int, bool, None. It
//! builds values and knows no names, operators or calls, so nothing in a header can run.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Byte offset in the file.
    pub at: u64,
    /// The value.
    pub value: Value,
}

/// A Python value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the words are Python's
pub enum Value {
    None,
    Bool(bool),
    Int(i128),
    Str(String),
    List(Vec<Literal>),
    Tuple(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

impl Value {
    /// What it is, in Python's words.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Str(_) => "a str",
            Value::List(_) => "a list",
            Value::Tuple(_) => "a tuple",
            Value::Dict(_) => "a dict",
        }
    }
}

/// Parses `text`, all of it; `base` is its offset in the file.
///
/// # Errors
/// `Malformed` for what is no literal, with its place.
pub fn parse(text: &str, base: u64) -> Result<Literal> {
    let mut parser = Parser { text, at: 0, base };
    let literal = parser.value(0)?;
    parser.space();
    match parser.peek() {
        None => Ok(literal),
        Some(char) => Err(parser.wrong(&format!("{char:?} after its end"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    base: u64,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\x0c']).len();
    }

    /// Takes `char`, after any space, if it is there.
    fn takes(&mut self, char: char) -> bool {
        self.space();
        let there = self.peek() == Some(char);
        if there {
            self.at += char.len_utf8();
        }
        there
    }

    fn wrong(&self, what: &str) -> Error {
        Error::malformed(format!("header: {what}")).at(self.base + self.at as u64)
    }

    fn expect(&mut self, char: char) -> Result<()> {
        if self.takes(char) {
            return Ok(());
        }
        Err(match self.peek() {
            Some(found) => self.wrong(&format!("{char:?} is expected, {found:?} is there")),
            None => self.wrong(&format!("it ends where {char:?} is expected")),
        })
    }

    fn value(&mut self, depth: usize) -> Result<Literal> {
        if depth > limits::DEPTH {
            let what = format!("header: it nests deeper than {} levels", limits::DEPTH);
            return Err(Error::limit(what).at(self.base + self.at as u64));
        }
        self.space();
        let at = self.base + self.at as u64;
        let value = match self.peek() {
            Some('{') => self.dict(depth)?,
            Some('[') => {
                self.at += 1;
                Value::List(self.items(']', depth)?.0)
            }
            Some('(') => {
                self.at += 1;
                let (mut items, comma) = self.items(')', depth)?;
                // Parentheses around one value and no comma are just parentheses.
                match (items.len(), comma) {
                    (1, false) => return items.pop().ok_or_else(|| self.wrong("a value is expected")),
                    _ => Value::Tuple(items),
                }
            }
            Some('\'' | '"') => self.string(false)?,
            Some('-' | '+' | '0'..='9') => self.number()?,
            Some(_) => self.word()?,
            None => return Err(self.wrong("it ends where a value is expected")),
        };
        Ok(Literal { at, value })
    }

    /// Values up to `close`, and whether the last one had a comma behind it.
    fn items(&mut self, close: char, depth: usize) -> Result<(Vec<Literal>, bool)> {
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.takes(close) {
            if !items.is_empty() && !comma {
                self.expect(',')?;
            }
            items.push(self.value(depth + 1)?);
            comma = self.takes(',');
            if !comma {
                self.expect(close)?;
                break;
            }
        }
        Ok((items, comma))
    }

    fn dict(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut entries = Vec::new();
        while !self.takes('}') {
            let key = self.value(depth + 1)?;
            self.expect(':')?;
            entries.push((key, self.value(depth + 1)?));
            if !self.takes(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(Value::Dict(entries))
    }

    /// `True`, `False`, `None`, or the prefix of a string (`u'…'` by Python 2).
    fn word(&mut self) -> Result<Value> {
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(len);
        let quoted = after.starts_with(['\'', '"']);
        let value = match word {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::None,
            "u" | "U" | "b" | "B" if quoted => {
                self.at += len;
                return self.string(false);
            }
            "r" | "R" if quoted => {
                self.at += len;
                return self.string(true);
            }
            "" => return Err(self.wrong(&format!("{:?} is no Python literal", self.peek().unwrap_or(' ')))),
            _ => {
                let shown: String = word.chars().take(40).collect();
                return Err(self.wrong(&format!("the name {shown:?} stands where only literals may")));
            }
        };
        self.at += len;
        Ok(value)
    }

    fn number(&mut self) -> Result<Value> {
        let rest = self.rest();
        let len = rest
            .char_indices()
            .find(|&(i, c)| !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || i == 0))
            .map_or(rest.len(), |(i, _)| i);
        let whole = rest.get(..len).unwrap_or_default();
        // Python 2 wrote long integers with an L.
        let digits = whole.trim_end_matches('L').trim_start_matches('+').replace('_', "");
        match digits.parse::<i128>() {
            Ok(number) => {
                self.at += len;
                Ok(Value::Int(number))
            }
            Err(_) => {
                let shown: String = whole.chars().take(40).collect();
                Err(self.wrong(&format!("{shown} is no integer of a usable size")))
            }
        }
    }

    fn string(&mut self, raw: bool) -> Result<Value> {
        let start = self.at;
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => {
                    self.at = start;
                    return Err(self.wrong("a string is not closed"));
                }
                char if char == quote => return Ok(Value::Str(text)),
                Some('\\') if !raw => self.escape(&mut text)?,
                Some(char) => text.push(char),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<()> {
        let digits = match self.next() {
            Some(char @ ('n' | 't' | 'r' | '0' | '\\' | '\'' | '"')) => {
                text.push(match char {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '0' => '\0',
                    same => same,
                });
                return Ok(());
            }
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => return Err(self.wrong("an unknown escape in a string")),
        };
        let code = self.rest().get(..digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        match code.and_then(char::from_u32) {
            Some(char) => {
                text.push(char);
                self.at += digits;
                Ok(())
            }
            None => Err(self.wrong("an escape in a string that is no character")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(literal: &Literal) -> String {
        let list = |items: &[Literal]| items.iter().map(shown).collect::<Vec<_>>().join(",");
        match &literal.value {
            Value::None => "None".into(),
            Value::Bool(v) => format!("{v}"),
            Value::Int(v) => format!("{v}"),
            Value::Str(v) => format!("{v:?}"),
            Value::List(v) => format!("[{}]", list(v)),
            Value::Tuple(v) => format!("({})", list(v)),
            Value::Dict(v) => v.iter().map(|(k, v)| format!("{}:{};", shown(k), shown(v))).collect(),
        }
    }

    #[test]
    fn literals_of_all_kinds() {
        let text = r#" {'a': [1, -2L,], "b": (1,), u'c': (3), 'd': ((),), 'e\x41\'': True, 'f': None} "#;
        let parsed = parse(text, 0).unwrap();
        assert_eq!(shown(&parsed), r#""a":[1,-2];"b":(1);"c":3;"d":(());"eA'":true;"f":None;"#);
    }

    #[test]
    fn code_is_refused_with_its_place() {
        let error = parse("{'shape': __import__('os')}", 10).unwrap_err();
        assert_eq!(error.offset(), Some(20));
        for text in ["[1 2]", "{1}", "(1", "'a", "1.5", "[1,,2]", "1 2", "'\\q'", "f('x')", "1+2", "9e9"] {
            assert!(parse(text, 0).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(parse(&"(".repeat(100_000), 0).is_err());
        assert!(parse(&("[".repeat(100) + &"]".repeat(100)), 0).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\](){}'\",:\\\\xu0-9 aTF.é-]{0,60}") {
            let _ = parse(&text, 0);
        }
    }
}
