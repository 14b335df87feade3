//! The opcodes and their arguments. Numbers that cannot be read become opaque: an argument that Python would
//! perhaps understand must not hide what follows it.

use crate::bytes::numbers::{Number, le, le_unsigned};

/// A part of the pickle: where it starts and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// One step of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    Mark,
    Stop,
    Pop,
    PopMark,
    Dup,
    None,
    Bool(bool),
    Int(i64),
    /// Digits, perhaps with an `L`.
    Digits(Span),
    /// Two's complement, little-endian.
    Long(Span),
    Float(f64),
    /// UTF-8.
    Text(Span),
    /// A line with `\u` escapes.
    Escaped(Span),
    /// A quoted line as Python writes strings.
    Quoted(Span),
    /// A string of Python 2: text or bytes.
    OldText(Span),
    Bytes(Span),
    ByteArray(Span),
    EmptyList,
    EmptyTuple,
    EmptyDict,
    EmptySet,
    /// Of everything since the mark.
    List,
    Tuple,
    Dict,
    FrozenSet,
    /// Of the last one, two or three.
    TupleOf(u8),
    Append,
    Appends,
    AddItems,
    SetItem,
    SetItems,
    /// Module and name, a line each.
    Global(Span, Span),
    StackGlobal,
    Inst(Span, Span),
    Obj,
    Reduce,
    NewObj,
    NewObjEx,
    Build,
    Get(u64),
    Put(u64),
    Memoize,
    Persistent(Span),
    PersistentOnStack,
    Extension(u32),
    NextBuffer,
    /// A number or text that is no such; something is pushed.
    Opaque,
    /// A frame of so many bytes begins behind it.
    Frame(u64),
    /// Nothing that changes the stack: protocol, a buffer made read-only.
    Nothing,
}

/// Why the walk over the opcodes ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The bytes end, or an argument is longer than they are.
    Cut,
    /// No opcode has this number.
    Unknown(u8),
}

/// The bytes and how far they were read.
pub(super) struct Opcodes<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Opcodes<'_> {
    /// The next step.
    pub(super) fn next(&mut self) -> Result<Op, End> {
        let opcode = self.number::<u8>()?;
        Ok(match opcode {
            b'(' => Op::Mark,
            b'.' => Op::Stop,
            b'0' => Op::Pop,
            b'1' => Op::PopMark,
            b'2' => Op::Dup,
            b'N' => Op::None,
            0x88 => Op::Bool(true),
            0x89 => Op::Bool(false),
            b']' => Op::EmptyList,
            b')' => Op::EmptyTuple,
            b'}' => Op::EmptyDict,
            0x8f => Op::EmptySet,
            b'l' => Op::List,
            b't' => Op::Tuple,
            b'd' => Op::Dict,
            0x91 => Op::FrozenSet,
            0x85..=0x87 => Op::TupleOf(opcode - 0x84),
            b'a' => Op::Append,
            b'e' => Op::Appends,
            0x90 => Op::AddItems,
            b's' => Op::SetItem,
            b'u' => Op::SetItems,
            b'c' => Op::Global(self.line()?, self.line()?),
            b'i' => Op::Inst(self.line()?, self.line()?),
            0x93 => Op::StackGlobal,
            b'o' => Op::Obj,
            b'R' => Op::Reduce,
            0x81 => Op::NewObj,
            0x92 => Op::NewObjEx,
            b'b' => Op::Build,
            0x94 => Op::Memoize,
            b'P' => Op::Persistent(self.line()?),
            b'Q' => Op::PersistentOnStack,
            0x97 => Op::NextBuffer,
            0x98 => Op::Nothing,
            0x80 => {
                self.number::<u8>()?;
                Op::Nothing
            }
            0x95 => Op::Frame(self.number::<u64>()?),
            _ => self.with_argument(opcode)?,
        })
    }

    /// Numbers, texts and bytes, and places in the memo.
    fn with_argument(&mut self, opcode: u8) -> Result<Op, End> {
        Ok(match opcode {
            b'I' => self.line().map(|line| self.integer(line))?,
            b'L' => self.line().map(|line| self.long_digits(line))?,
            b'J' => Op::Int(self.number::<i32>()?.into()),
            b'K' => Op::Int(self.number::<u8>()?.into()),
            b'M' => Op::Int(self.number::<u16>()?.into()),
            b'F' => {
                let line = self.line()?;
                float(line.of(self.bytes)).map_or(Op::Opaque, Op::Float)
            }
            b'G' => Op::Float(f64::from_bits(self.number::<u64>()?.swap_bytes())),
            0x8a => Op::Long(self.counted(1)?),
            0x8b => Op::Long(self.counted(4)?),
            b'V' => Op::Escaped(self.line()?),
            b'S' => Op::Quoted(self.line()?),
            0x8c => Op::Text(self.counted(1)?),
            b'X' => Op::Text(self.counted(4)?),
            0x8d => Op::Text(self.counted(8)?),
            b'U' => Op::OldText(self.counted(1)?),
            b'T' => Op::OldText(self.counted(4)?),
            b'C' => Op::Bytes(self.counted(1)?),
            b'B' => Op::Bytes(self.counted(4)?),
            0x8e => Op::Bytes(self.counted(8)?),
            0x96 => Op::ByteArray(self.counted(8)?),
            b'h' => Op::Get(self.number::<u8>()?.into()),
            b'j' => Op::Get(self.number::<u32>()?.into()),
            b'g' => self.line().map(|line| self.place(line).map_or(Op::Opaque, Op::Get))?,
            b'q' => Op::Put(self.number::<u8>()?.into()),
            b'r' => Op::Put(self.number::<u32>()?.into()),
            b'p' => self.line().map(|line| self.place(line).map_or(Op::Nothing, Op::Put))?,
            0x82 => Op::Extension(self.number::<u8>()?.into()),
            0x83 => Op::Extension(self.number::<u16>()?.into()),
            0x84 => Op::Extension(self.number::<u32>()?),
            other => return Err(End::Unknown(other)),
        })
    }

    /// `I`: booleans are spelled with two digits.
    fn integer(&self, line: Span) -> Op {
        match line.of(self.bytes) {
            b"00" => Op::Bool(false),
            b"01" => Op::Bool(true),
            text => match int(text, true) {
                Some(number) => Op::Int(number),
                None if digits(text) => Op::Digits(line),
                None => Op::Opaque,
            },
        }
    }

    /// `L`: digits, and mostly an `L` behind them.
    fn long_digits(&self, line: Span) -> Op {
        let text = line.of(self.bytes);
        let number = text.strip_suffix(b"L").unwrap_or(text);
        match int(number, true) {
            Some(number) => Op::Int(number),
            None if digits(number) => Op::Digits(line),
            None => Op::Opaque,
        }
    }

    fn place(&self, line: Span) -> Option<u64> {
        int(line.of(self.bytes), false).and_then(|place| u64::try_from(place).ok())
    }

    fn number<N: Number>(&mut self) -> Result<N, End> {
        let number = le(self.bytes, self.at).ok_or(End::Cut)?;
        self.at += size_of::<N>();
        Ok(number)
    }

    /// As many bytes as a number of `width` bytes before them says.
    fn counted(&mut self, width: usize) -> Result<Span, End> {
        let count = self.bytes.get(self.at..self.at + width).map(le_unsigned).ok_or(End::Cut)?;
        let start = self.at + width;
        let end = usize::try_from(count).ok().and_then(|count| start.checked_add(count));
        let end = end.filter(|&end| end <= self.bytes.len()).ok_or(End::Cut)?;
        self.at = end;
        Ok(Span { start: start as u64, end: end as u64 })
    }

    /// Up to the end of the line, without it.
    fn line(&mut self) -> Result<Span, End> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = memchr::memchr(b'\n', rest).ok_or(End::Cut)?;
        let start = self.at;
        self.at += len + 1;
        Ok(Span { start: start as u64, end: (start + len) as u64 })
    }
}

/// Plain digits, of any number.
fn digits(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A number as Python's `int` reads it: with space around it, a sign, single underscores between digits, where `based`
/// with `0x`, `0o` or `0b` before it; up to a zero byte, where C's strings end.
/// <https://docs.python.org/3/library/functions.html#int>
fn int(text: &[u8], based: bool) -> Option<i64> {
    let text = trimmed(text);
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (radix, text) = match text {
        [b'0', b'x' | b'X', rest @ ..] if based => (16, rest.strip_prefix(b"_").unwrap_or(rest)),
        [b'0', b'o' | b'O', rest @ ..] if based => (8, rest.strip_prefix(b"_").unwrap_or(rest)),
        [b'0', b'b' | b'B', rest @ ..] if based => (2, rest.strip_prefix(b"_").unwrap_or(rest)),
        rest => (10, rest),
    };
    if !is_joined(text) {
        return None;
    }
    let mut number = 0i64;
    for digit in text.iter().filter(|byte| **byte != b'_') {
        let digit = i64::from(char::from(*digit).to_digit(radix)?);
        let scaled = number.checked_mul(radix.into())?;
        number = if negative { scaled.checked_sub(digit)? } else { scaled.checked_add(digit)? };
    }
    Some(number)
}

/// A line without the space around it, and without what C's strings do not have: what follows a zero byte.
fn trimmed(text: &[u8]) -> &[u8] {
    let mut text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0x0b | 0x1c..=0x1f);
    while let [first, rest @ ..] = text
        && is_space(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(last)
    {
        text = rest;
    }
    text
}

/// Whether underscores stand only between other characters, one at a time.
fn is_joined(text: &[u8]) -> bool {
    !text.is_empty() && text.split(|byte| *byte == b'_').all(|part| !part.is_empty())
}

/// A number as Python's `float` reads it, up to a zero byte.
fn float(text: &[u8]) -> Option<f64> {
    let text = trimmed(text);
    let plain: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'_').collect();
    std::str::from_utf8(&plain).ok().filter(|_| is_joined(text))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_python_reads_them() {
        let values: [(&[u8], Option<i64>); 15] = [
            (b"12", Some(12)),
            (b" +12 ", Some(12)),
            (b"-1_000", Some(-1000)),
            (b"0x1F", Some(31)),
            (b"0b_10", Some(2)),
            (b"0o7", Some(7)),
            (b"1\0junk", Some(1)),
            (b"\x0b7\x0c", Some(7)),
            (b"-9223372036854775808", Some(i64::MIN)),
            (b"9223372036854775808", None),
            (b"1__0", None),
            (b"_1", None),
            (b"1_", None),
            (b"", None),
            (b"0x", None),
        ];
        for (text, value) in values {
            assert_eq!(int(text, true), value, "{text:?}");
        }
        assert_eq!(int(b"0x10", false), None);
        assert_eq!(float(b"1_0.5"), Some(10.5));
        assert_eq!(float(b" 2.5\0"), Some(2.5));
    }
}
