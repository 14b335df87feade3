//! The bytes of MessagePack: what a value begins with, and where it ends.

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::be;
use crate::engines::records::Window;

/// How deep values may nest.
pub const DEPTH: usize = 1_024;
/// Bytes that are gone over in one piece.
const PIECE: usize = 4 << 10;
/// The most bytes of a head: its type, a length, the type of an extension.
const HEAD: usize = 10;

/// What stands at the beginning of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token {
    /// Nothing.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer below zero, or one that was written as signed.
    Int(i64),
    /// Another integer.
    Uint(u64),
    /// A float of four bytes.
    Float32(f32),
    /// A float of eight bytes.
    Float64(f64),
    /// A text of so many bytes; in old files bytes too.
    Str(u64),
    /// So many bytes.
    Bin(u64),
    /// So many values.
    Array(u64),
    /// So many pairs of values.
    Map(u64),
    /// A type of the application, and so many bytes.
    Ext(i8, u64),
}

impl Token {
    /// Bytes that follow the head and are no values.
    pub fn body(self) -> u64 {
        match self {
            Token::Str(len) | Token::Bin(len) | Token::Ext(_, len) => len,
            _ => 0,
        }
    }

    /// Values that follow the head.
    pub fn values(self) -> u64 {
        match self {
            Token::Array(count) => count,
            Token::Map(count) => count.saturating_mul(2),
            _ => 0,
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Token::Nil => "nil",
            Token::Bool(_) => "boolean",
            Token::Int(_) | Token::Uint(_) => "integer",
            Token::Float32(_) => "float 32",
            Token::Float64(_) => "float 64",
            Token::Str(_) => "str",
            Token::Bin(_) => "bin",
            Token::Array(_) => "array",
            Token::Map(_) => "map",
            Token::Ext(-1, _) => "timestamp",
            Token::Ext(..) => "ext",
        }
    }
}

/// Why no value begins with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// They end within its head.
    Short,
    /// With this byte begins none.
    Byte,
}

/// What `bytes` begin with, and the length of that head.
#[inline]
pub fn token(bytes: &[u8]) -> Result<(Token, usize), Wrong> {
    let Some(&first) = bytes.first() else { return Err(Wrong::Short) };
    let fixed = match first {
        0x00..=0x7f => Token::Uint(u64::from(first)),
        0x80..=0x8f => Token::Map(u64::from(first & 15)),
        0x90..=0x9f => Token::Array(u64::from(first & 15)),
        0xa0..=0xbf => Token::Str(u64::from(first & 31)),
        0xc0 => Token::Nil,
        0xc1 => return Err(Wrong::Byte),
        0xc2 | 0xc3 => Token::Bool(first == 0xc3),
        0xe0..=0xff => Token::Int(i64::from(first.cast_signed())),
        _ => return longer(first, bytes).ok_or(Wrong::Short),
    };
    Ok((fixed, 1))
}

/// Heads of more than one byte.
fn longer(first: u8, bytes: &[u8]) -> Option<(Token, usize)> {
    let one = || be::<u8>(bytes, 1).map(u64::from);
    let two = || be::<u16>(bytes, 1).map(u64::from);
    let four = || be::<u32>(bytes, 1).map(u64::from);
    let kind = |at: usize| be::<u8>(bytes, at).map(u8::cast_signed);
    Some(match first {
        0xc4 => (Token::Bin(one()?), 2),
        0xc5 => (Token::Bin(two()?), 3),
        0xc6 => (Token::Bin(four()?), 5),
        0xc7 => (Token::Ext(kind(2)?, one()?), 3),
        0xc8 => (Token::Ext(kind(3)?, two()?), 4),
        0xc9 => (Token::Ext(kind(5)?, four()?), 6),
        0xca => (Token::Float32(be(bytes, 1)?), 5),
        0xcb => (Token::Float64(be(bytes, 1)?), 9),
        0xcc => (Token::Uint(one()?), 2),
        0xcd => (Token::Uint(two()?), 3),
        0xce => (Token::Uint(four()?), 5),
        0xcf => (Token::Uint(be(bytes, 1)?), 9),
        0xd0 => (Token::Int(i64::from(kind(1)?)), 2),
        0xd1 => (Token::Int(i64::from(be::<i16>(bytes, 1)?)), 3),
        0xd2 => (Token::Int(i64::from(be::<i32>(bytes, 1)?)), 5),
        0xd3 => (Token::Int(be(bytes, 1)?), 9),
        0xd4..=0xd8 => (Token::Ext(kind(1)?, 1 << (first - 0xd4)), 2),
        0xd9 => (Token::Str(one()?), 2),
        0xda => (Token::Str(two()?), 3),
        0xdb => (Token::Str(four()?), 5),
        0xdc => (Token::Array(two()?), 3),
        0xdd => (Token::Array(four()?), 5),
        0xde => (Token::Map(two()?), 3),
        0xdf => (Token::Map(four()?), 5),
        _ => return None,
    })
}

/// That a file ends at `at`, inside a value.
pub fn ends(at: u64) -> Error {
    Error::malformed("MessagePack: the file ends inside a value; it may be cut off").at(at)
}

/// What begins at `at`, and where its head ends. What it says to follow may be there.
///
/// # Errors
/// `Malformed` where no value begins, or the file is too short for it; those of reading.
pub fn read(window: &mut Window<'_>, at: u64) -> Result<(Token, u64)> {
    let known = window.known_len();
    let (token, head) = token(window.get(at, HEAD)?).map_err(|wrong| unlike(wrong, at))?;
    let body = at + head as u64;
    check(token, body, known)?;
    Ok((token, body))
}

fn unlike(wrong: Wrong, at: u64) -> Error {
    match wrong {
        Wrong::Short => ends(at),
        Wrong::Byte => Error::malformed("MessagePack: no value begins with the byte 0xc1").at(at),
    }
}

/// Whether what a head says can follow it.
#[inline]
fn check(token: Token, body: u64, len: Option<u64>) -> Result<()> {
    let Some(left) = len.map(|len| len.saturating_sub(body)) else { return Ok(()) };
    if token.body() > left || token.values() > left {
        let (word, count) = (token.word(), token.body().max(token.values()));
        let what = format!("MessagePack: {word} of {count} bytes or values, of which {left} can be there");
        return Err(Error::malformed(format!("{what}; the file may be cut off")).at(body));
    }
    Ok(())
}

/// Where the value at `at` ends; `None` after `budget` values, of which those that were passed are taken off. However
/// deep it nests, no stack is used.
///
/// # Errors
/// What breaks the value; `Limit` where it nests too deep; `Cancelled`.
pub fn skip(window: &mut Window<'_>, mut at: u64, budget: &mut u64) -> Result<Option<u64>> {
    let len = window.known_len();
    let task = window.task;
    // Values that are still to come in each open container.
    let mut open: Vec<u64> = vec![1];
    while !open.is_empty() {
        task.check()?;
        let most = len.map_or(PIECE, |len| len.saturating_sub(at).min(PIECE as u64) as usize);
        let piece = window.get(at, most)?;
        let mut here = 0;
        while let Some(left) = open.last_mut() {
            let Some(rest) = left.checked_sub(1) else {
                open.pop();
                continue;
            };
            let bytes = piece.get(here..).unwrap_or_default();
            let (found, head) = match token(bytes) {
                Ok(found) => found,
                Err(Wrong::Short) if here > 0 => break,
                Err(wrong) => return Err(unlike(wrong, at + here as u64)),
            };
            *left = rest;
            *budget = budget.saturating_sub(1);
            let body = at + (here + head) as u64;
            if found.body() > 0 || found.values() > 0 {
                check(found, body, len)?;
            }
            if found.values() > 0 {
                if open.len() >= DEPTH {
                    return Err(Error::limit(format!("MessagePack that nests {DEPTH} deep")).at(body));
                }
                open.push(found.values());
            }
            match usize::try_from(found.body()).ok().and_then(|body| (here + head).checked_add(body)) {
                Some(next) if next <= piece.len() => here = next,
                _ => {
                    // Behind the piece.
                    at = body.checked_add(found.body()).ok_or_else(|| ends(body))?;
                    here = usize::MAX;
                    break;
                }
            }
        }
        if here != usize::MAX {
            at += here as u64;
        }
        if *budget == 0 && !open.is_empty() {
            return Ok(None);
        }
    }
    // The length of what is decompressed may be known only now.
    if len.is_none() && at > 0 && window.get(at - 1, 1)?.is_empty() {
        return Err(ends(at));
    }
    Ok(Some(at))
}

/// Where the value at `at` ends.
///
/// # Errors
/// As [`skip`]'s.
pub fn skip_all(window: &mut Window<'_>, at: u64) -> Result<u64> {
    let mut all = u64::MAX;
    Ok(skip(window, at, &mut all)?.unwrap_or(at))
}

/// Where the value ends that `bytes` begin with.
pub fn end(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut open) = (at, vec![1_u64]);
    while let Some(left) = open.last_mut() {
        let Some(rest) = left.checked_sub(1) else {
            open.pop();
            continue;
        };
        *left = rest;
        let (found, head) = token(bytes.get(at..)?).ok()?;
        at = at.checked_add(head)?.checked_add(usize::try_from(found.body()).ok()?)?;
        if at > bytes.len() || open.len() > DEPTH {
            return None;
        }
        if found.values() > 0 {
            open.push(found.values());
        }
    }
    Some(at)
}
