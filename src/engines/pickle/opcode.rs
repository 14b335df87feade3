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
            b'L' => Op::Digits(self.line()?),
            b'J' => Op::Int(self.number::<i32>()?.into()),
            b'K' => Op::Int(self.number::<u8>()?.into()),
            b'M' => Op::Int(self.number::<u16>()?.into()),
            b'F' => {
                let line = self.line()?;
                let number =
                    std::str::from_utf8(line.of(self.bytes)).ok().and_then(|t| t.trim().parse().ok());
                number.map_or(Op::Opaque, Op::Float)
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
            text => {
                let number = std::str::from_utf8(text).ok().and_then(|t| t.trim().parse().ok());
                number.map_or(Op::Digits(line), Op::Int)
            }
        }
    }

    fn place(&self, line: Span) -> Option<u64> {
        std::str::from_utf8(line.of(self.bytes)).ok()?.trim().parse().ok()
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
