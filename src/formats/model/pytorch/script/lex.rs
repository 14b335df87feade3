//! Tokens of the source that TorchScript is saved as: a subset of Python's, made when the parser asks for them.
//! <https://docs.python.org/3/reference/lexical_analysis.html>

use crate::bytes::error::{Error, Result};

/// How deep blocks may be indented in each other.
const BLOCKS: usize = 64;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name or a keyword.
    Name(&'a str),
    /// A number as it is written, without a sign.
    Number(&'a str),
    /// A text, its escapes resolved.
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of a line of code.
    Line,
    /// A block begins.
    Indent,
    /// A block ends.
    Dedent,
    /// The end of the source.
    End,
}

/// The signs, longer ones first.
const SIGNS: [&str; 44] = [
    "**=", "//=", ">>=", "<<=", "...", "->", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "@=",
    "&=", "|=", "^=", "**", "//", ">>", "<<", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+",
    "-", "*", "/", "%", "@", "<", ">", "&", "|",
];
const MORE_SIGNS: [&str; 2] = ["^", "~"];

/// Reads tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The line that it is in, from 1 on.
    pub(super) line: u32,
    /// Brackets that are open: lines go on in them.
    open: u32,
    /// The indents of the blocks that are open.
    indents: Vec<usize>,
    /// Blocks that end before the next token.
    closing: usize,
    begins_line: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, line: 1, open: 0, indents: Vec::new(), closing: 0, begins_line: true }
    }

    /// Something that is wrong at the place that was reached.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::malformed(format!("code: line {}: {what}", self.line))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Token<'a>> {
        if self.begins_line && self.open == 0 {
            self.begins_line = false;
            if let Some(token) = self.indent()? {
                return Ok(token);
            }
        }
        if self.closing > 0 {
            self.closing -= 1;
            return Ok(Token::Dedent);
        }
        self.skip_blanks();
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(self.end()) };
        match first {
            '\n' => {
                self.at += 1;
                self.line += 1;
                if self.open > 0 {
                    return self.next_in_brackets();
                }
                self.begins_line = true;
                Ok(Token::Line)
            }
            '"' | '\'' => self.string(false),
            '0'..='9' => Ok(self.number()),
            '.' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => Ok(self.number()),
            _ if first.is_alphabetic() || first == '_' => Ok(self.name()?),
            _ => self.sign(),
        }
    }

    /// Goes on behind the ends of lines within brackets.
    fn next_in_brackets(&mut self) -> Result<Token<'a>> {
        loop {
            self.skip_blanks();
            if !self.rest().starts_with('\n') {
                return self.next();
            }
            self.at += 1;
            self.line += 1;
        }
    }

    /// The end, after the end of its line and of all blocks.
    fn end(&mut self) -> Token<'a> {
        if !self.begins_line {
            self.begins_line = true;
            return Token::Line;
        }
        match self.indents.pop() {
            Some(_) => Token::Dedent,
            None => Token::End,
        }
    }

    /// Blanks, comments and lines that go on.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\u{c}']).len();
            self.at += blanks;
            let rest = self.rest();
            if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
                return;
            }
            match rest.strip_prefix('\\').map(|rest| rest.trim_start_matches('\r')) {
                Some(after) if after.starts_with('\n') => {
                    self.at += rest.len() - after.len() + 1;
                    self.line += 1;
                }
                _ => return,
            }
        }
    }

    /// The indent of a line that has code.
    fn indent(&mut self) -> Result<Option<Token<'a>>> {
        loop {
            let rest = self.rest();
            let code = rest.trim_start_matches([' ', '\t', '\r', '\u{c}']);
            let width = rest.len() - code.len();
            if code.is_empty() {
                self.at = self.text.len();
                self.begins_line = true;
                return Ok(None);
            }
            if code.starts_with('#') {
                self.at += width + code.find('\n').unwrap_or(code.len());
                continue;
            }
            if code.starts_with('\n') {
                self.at += width + 1;
                self.line += 1;
                continue;
            }
            self.at += width;
            let current = self.indents.last().copied().unwrap_or(0);
            if width > current {
                if self.indents.len() >= BLOCKS {
                    let what =
                        format!("code: line {}: blocks more than {BLOCKS} deep in each other", self.line);
                    return Err(Error::limit(what));
                }
                self.indents.push(width);
                return Ok(Some(Token::Indent));
            }
            while self.indents.last().is_some_and(|indent| *indent > width) {
                self.indents.pop();
                self.closing += 1;
            }
            return Ok(None);
        }
    }

    fn name(&mut self) -> Result<Token<'a>> {
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest.get(..len).unwrap_or_default();
        self.at += len;
        let quoted = self.rest().starts_with(['"', '\'']);
        match name {
            "r" | "R" | "b" | "B" | "u" | "U" if quoted => self.string(name.eq_ignore_ascii_case("r")),
            _ => Ok(Token::Name(name)),
        }
    }

    fn number(&mut self) -> Token<'a> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut len = 0;
        while let Some(byte) = bytes.get(len) {
            let before = len.checked_sub(1).and_then(|n| bytes.get(n));
            let is_sign = matches!(byte, b'+' | b'-')
                && matches!(before, Some(b'e' | b'E'))
                && !rest.starts_with("0x")
                && !rest.starts_with("0X");
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || is_sign) {
                break;
            }
            len += 1;
        }
        self.at += len;
        Token::Number(rest.get(..len).unwrap_or_default())
    }

    fn sign(&mut self) -> Result<Token<'a>> {
        let rest = self.rest();
        let found = SIGNS.iter().chain(&MORE_SIGNS).find(|sign| rest.starts_with(**sign));
        let Some(sign) = found else {
            let what = rest.chars().next().unwrap_or(' ');
            return Err(self.wrong(format!("a character that no code has: {what:?}")));
        };
        self.at += sign.len();
        match *sign {
            "(" | "[" | "{" => self.open = self.open.saturating_add(1),
            ")" | "]" | "}" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        Ok(Token::Sign(sign))
    }

    /// A text from its quote on.
    fn string(&mut self, is_raw: bool) -> Result<Token<'a>> {
        let rest = self.rest();
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        let triple = if quote == '"' { "\"\"\"" } else { "'''" };
        let end = if rest.starts_with(triple) { triple } else { triple.get(..1).unwrap_or_default() };
        let body = rest.get(end.len()..).unwrap_or_default();
        let mut text = Vec::new();
        let bytes = body.as_bytes();
        let mut n = 0;
        loop {
            let here = bytes.get(n..).unwrap_or_default();
            if here.starts_with(end.as_bytes()) {
                break;
            }
            match here.first() {
                None => return Err(self.wrong("a text without an end")),
                Some(b'\n') if end.len() == 1 => return Err(self.wrong("a text without an end")),
                Some(b'\\') if !is_raw => n += escape(here, &mut text),
                Some(byte) => {
                    if *byte == b'\n' {
                        self.line += 1;
                    }
                    text.push(*byte);
                    n += 1;
                }
            }
        }
        self.at += end.len() * 2 + n;
        Ok(Token::Text(String::from_utf8_lossy(&text).into_owned()))
    }
}

/// Resolves the escape that bytes begin with; how many bytes it has. TorchScript writes octal ones of three digits.
fn escape(bytes: &[u8], text: &mut Vec<u8>) -> usize {
    let simple = match bytes.get(1) {
        Some(b'n') => Some(b'\n'),
        Some(b't') => Some(b'\t'),
        Some(b'r') => Some(b'\r'),
        Some(b'a') => Some(7),
        Some(b'b') => Some(8),
        Some(b'f') => Some(12),
        Some(b'v') => Some(11),
        Some(b'\n') => return 2,
        Some(byte @ (b'\\' | b'"' | b'\'')) => Some(*byte),
        _ => None,
    };
    if let Some(byte) = simple {
        text.push(byte);
        return 2;
    }
    let digits = bytes.get(1..).unwrap_or_default();
    let octal = digits.iter().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
    if octal > 0 {
        let value = digits.iter().take(octal).fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
        text.push(value as u8);
        return 1 + octal;
    }
    if let Some([b'x', high, low]) = digits.first_chunk::<3>()
        && let (Some(high), Some(low)) = (char::from(*high).to_digit(16), char::from(*low).to_digit(16))
    {
        text.push((high * 16 + low) as u8);
        return 4;
    }
    text.push(b'\\');
    1
}
