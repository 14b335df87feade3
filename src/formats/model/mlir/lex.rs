//! Tokens of MLIR's text. <https://mlir.llvm.org/docs/LangRef/#common-syntax>

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `%0`, `%5#1`.
    Value,
    /// `@main`, `@"name"`.
    Symbol,
    /// `^bb0`.
    Block,
    /// `#loc1`, `#stablehlo`: an attribute or its name.
    Hash,
    /// `!quant`: a type or its name.
    Type,
    /// `stablehlo.add`, `dense`, `i32`.
    Word,
    /// A number.
    Number,
    /// A text in quotes.
    Text,
    /// `->`.
    Arrow,
    /// One of `()[]{}<>=,:*?-+/|` and other signs.
    Sign(u8),
    /// The end.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Whether it is the first one of its line.
    pub(super) begins_line: bool,
    /// Where it begins.
    pub(super) at: usize,
}

impl Token<'_> {
    pub(super) fn is(&self, sign: u8) -> bool {
        self.kind == Kind::Sign(sign)
    }
}

/// Reads tokens.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    pub(super) source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Lexer { source, at: 0 }
    }

    /// The line of a place, from 1 on.
    pub(super) fn line(&self, at: usize) -> usize {
        self.source.as_bytes().get(..at).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    /// Skips blanks and comments; whether a line began meanwhile.
    fn skip(&mut self) -> bool {
        let mut begins_line = self.at == 0;
        loop {
            let rest = self.rest();
            let code = rest.trim_start();
            let blanks = rest.get(..rest.len() - code.len()).unwrap_or_default();
            begins_line |= blanks.contains('\n');
            self.at += blanks.len();
            if !code.starts_with("//") {
                return begins_line;
            }
            self.at += code.find('\n').unwrap_or(code.len());
        }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Token<'a> {
        let begins_line = self.skip();
        let rest = self.rest();
        let at = self.at;
        let bytes = rest.as_bytes();
        let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
        let name = |from: usize, more: &[char]| {
            let body = rest.get(from..).unwrap_or_default();
            from + body.find(|c: char| !in_name(c) && !more.contains(&c)).unwrap_or(body.len())
        };
        let (kind, len) = match bytes.first() {
            None => (Kind::End, 0),
            Some(b'%') => (Kind::Value, name(1, &['#', '-'])),
            Some(b'^') => (Kind::Block, name(1, &['-'])),
            Some(b'@') if bytes.get(1) == Some(&b'"') => {
                (Kind::Symbol, 1 + quoted(bytes.get(1..).unwrap_or_default()))
            }
            Some(b'@') => (Kind::Symbol, name(1, &['-'])),
            Some(b'#') => (Kind::Hash, name(1, &[])),
            Some(b'!') => (Kind::Type, name(1, &[])),
            Some(b'"') => (Kind::Text, quoted(bytes)),
            Some(b'-') if bytes.get(1) == Some(&b'>') => (Kind::Arrow, 2),
            Some(b'-') if bytes.get(1).is_some_and(u8::is_ascii_digit) => (Kind::Number, number(bytes)),
            Some(byte) if byte.is_ascii_digit() => (Kind::Number, number(bytes)),
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => (Kind::Word, name(0, &[])),
            Some(byte) if byte.is_ascii() => (Kind::Sign(*byte), 1),
            Some(_) => (Kind::Sign(b'?'), rest.chars().next().map_or(1, char::len_utf8)),
        };
        self.at += len;
        Token { kind, text: rest.get(..len).unwrap_or_default(), begins_line, at }
    }
}

/// The length of a text with its quotes.
fn quoted(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The length of a number; of a shape (`3x8xf32`) that of its first part.
fn number(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        let exponent = matches!(byte, b'+' | b'-') && matches!(bytes.get(at - 1), Some(b'e' | b'E'));
        // `0x` begins a number, elsewhere an `x` stands between lengths: all of `3x8xf32` is one token.
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || exponent) {
            break;
        }
        at += 1;
    }
    at
}
