//! What crosses the border between the two processes, as bytes: numbers little-endian, lengths before lists, a byte
//! before the parts of an enum. Both ends are the same binary, so there is no version.
//!
//! A type crosses when it is a [`Wire`]; records and enums are lines of [`record!`] and [`choice!`], which name every
//! field: a new field does not compile until it is there. What comes from the worker is read as hostile: lengths are
//! held against the bytes that are there, texts against UTF-8, trees against a depth, numbers that stand for one of
//! several things against these.

mod arrow;
mod data;
mod stats;
mod tree;

pub(super) use arrow::check_batch;
pub(super) use tree::{is_in_a_file, put_inferred, take_inferred};

use super::link::Adopter;
use super::objects::Keeper;
use crate::bytes::error::{Error, Result};
use crate::bytes::system;
use crate::data::content::Graph;
use ::arrow::buffer::Buffer;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// How deep what crosses may nest.
const DEPTH: u32 = 192;
/// The longest word that the format or the house has for something, in bytes.
const WORD: usize = 4 << 10;
/// All such words of all workers together, in bytes: they stay in memory.
const WORDS: usize = 4 << 20;

/// Bytes that are written.
pub(super) struct Out<'a> {
    /// What is there.
    pub(super) bytes: Vec<u8>,
    /// Keeps what stays in this process and is only named to the other.
    pub(super) keeper: Option<Keeper<'a>>,
    /// The first thing that could not be written.
    pub(super) fault: Option<Error>,
    /// How deep in trees this is.
    pub(super) level: u32,
    /// How deep in coordinates of coordinates.
    pub(super) coordinates: u32,
    /// Graphs that were sent.
    graphs: Vec<Arc<Graph>>,
}

impl<'a> Out<'a> {
    pub(super) fn new(keeper: Option<Keeper<'a>>) -> Self {
        Out { bytes: Vec::new(), keeper, fault: None, level: 0, coordinates: 0, graphs: Vec::new() }
    }

    /// The bytes of a value of which nothing stays here.
    pub(super) fn plain(value: &impl Wire) -> Vec<u8> {
        let mut out = Out::new(None);
        value.put(&mut out);
        out.bytes
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.fault.get_or_insert(error);
    }
}

/// Bytes that are read.
pub(super) struct In<'a> {
    rest: &'a [u8],
    depth: u32,
    /// The bytes that `rest` is the end of, where results may be views of them.
    whole: Option<Buffer>,
    /// Whoever asks for things that stay in the other process.
    pub(super) adopter: Option<&'a Adopter>,
    /// Graphs that were received.
    graphs: Vec<Arc<Graph>>,
}

impl<'a> In<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        In { rest: bytes, depth: 0, whole: None, adopter: None, graphs: Vec::new() }
    }

    /// Of a reply: with who asks for what stays in the other process.
    pub(super) fn reply(whole: &'a Buffer, skip: usize, adopter: &'a Adopter) -> Self {
        let rest = whole.as_slice().get(skip..).unwrap_or_default();
        In { rest, depth: 0, whole: Some(whole.clone()), adopter: Some(adopter), graphs: Vec::new() }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| wrong("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.take(1)?.first().copied().ok_or_else(|| wrong("it ends too early"))
    }

    /// A count of things that take a byte each at least.
    fn count(&mut self) -> Result<usize> {
        let count = u32::read(self)? as usize;
        if count > self.rest.len() { Err(wrong("it has fewer parts than it says")) } else { Ok(count) }
    }

    /// Reads what lies one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH {
            return Err(wrong("it nests too deep"));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// All that is left.
    pub(super) fn left(&self) -> &'a [u8] {
        self.rest
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(wrong("more follows than belongs to it")) }
    }
}

/// What is wrong with bytes from the other process.
pub(super) fn wrong(what: &str) -> Error {
    Error::crashed(format!("the reader's answer makes no sense: {what}"))
}

/// A type whose values cross the border.
pub(super) trait Wire: Sized {
    fn put(&self, out: &mut Out<'_>);
    fn read(from: &mut In<'_>) -> Result<Self>;

    /// Several of them, without how many.
    fn put_all(list: &[Self], out: &mut Out<'_>) {
        list.iter().for_each(|item| item.put(out));
    }

    fn read_all(count: usize, from: &mut In<'_>) -> Result<Vec<Self>> {
        let mut all = Vec::with_capacity(count.min(1 << 16));
        for _ in 0..count {
            all.push(Self::read(from)?);
        }
        Ok(all)
    }
}

/// Structs, field by field.
macro_rules! record {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::worker::wire::Wire for $type {
            fn put(&self, out: &mut $crate::worker::wire::Out<'_>) {
                $($crate::worker::wire::Wire::put(&self.$field, out);)*
            }

            fn read(from: &mut $crate::worker::wire::In<'_>) -> $crate::bytes::error::Result<Self> {
                Ok(Self { $($field: $crate::worker::wire::Wire::read(from)?),* })
            }
        }
    };
}

/// Enums, variant by variant.
macro_rules! choice {
    ($type:ty { $($tag:literal $variant:ident $( ( $($item:ident),+ ) )? $( { $($name:ident),+ } )? ;)+ }) => {
        impl $crate::worker::wire::Wire for $type {
            fn put(&self, out: &mut $crate::worker::wire::Out<'_>) {
                match self {
                    $(Self::$variant $( ( $($item),+ ) )? $( { $($name),+ } )? => {
                        out.bytes.push($tag);
                        $($($crate::worker::wire::Wire::put($item, out);)+)?
                        $($($crate::worker::wire::Wire::put($name, out);)+)?
                    })+
                }
            }

            fn read(from: &mut $crate::worker::wire::In<'_>) -> $crate::bytes::error::Result<Self> {
                Ok(match from.byte()? {
                    $($tag => {
                        $($(let $item = $crate::worker::wire::Wire::read(from)?;)+)?
                        $($(let $name = $crate::worker::wire::Wire::read(from)?;)+)?
                        Self::$variant $( ( $($item),+ ) )? $( { $($name),+ } )?
                    })+
                    _ => return Err($crate::worker::wire::wrong("one of several things that it is not")),
                })
            }
        }
    };
}

pub(super) use {choice, record};

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            fn put(&self, out: &mut Out<'_>) {
                out.bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut In<'_>) -> Result<Self> {
                let bytes = from.take(size_of::<$number>())?;
                bytes.try_into().map(<$number>::from_le_bytes).map_err(|_| wrong("it ends too early"))
            }
        }
    )*};
}

numbers!(u16, u32, u64, u128, i32, i64, i128, f32, f64);

impl Wire for u8 {
    fn put(&self, out: &mut Out<'_>) {
        out.bytes.push(*self);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        from.byte()
    }

    fn put_all(list: &[Self], out: &mut Out<'_>) {
        out.bytes.extend_from_slice(list);
    }

    fn read_all(count: usize, from: &mut In<'_>) -> Result<Vec<Self>> {
        from.take(count).map(<[u8]>::to_vec)
    }
}

impl Wire for usize {
    fn put(&self, out: &mut Out<'_>) {
        (*self as u64).put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        usize::try_from(u64::read(from)?).map_err(|_| wrong("a number is too large"))
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Out<'_>) {
        out.bytes.push(u8::from(*self));
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(wrong("neither yes nor no")),
        }
    }
}

impl Wire for char {
    fn put(&self, out: &mut Out<'_>) {
        u32::from(*self).put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        char::from_u32(u32::read(from)?).ok_or_else(|| wrong("a character that there is not"))
    }
}

impl Wire for () {
    fn put(&self, _out: &mut Out<'_>) {}

    fn read(_from: &mut In<'_>) -> Result<Self> {
        Ok(())
    }
}

fn put_count(count: usize, out: &mut Out<'_>) {
    match u32::try_from(count) {
        Ok(count) => count.put(out),
        Err(_) => out.fail(Error::limit("an answer with more than 4 billion parts")),
    }
}

impl Wire for String {
    fn put(&self, out: &mut Out<'_>) {
        put_text(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        text(from).map(str::to_owned)
    }
}

fn put_text(text: &str, out: &mut Out<'_>) {
    put_count(text.len(), out);
    out.bytes.extend_from_slice(text.as_bytes());
}

fn text<'a>(from: &mut In<'a>) -> Result<&'a str> {
    let count = from.count()?;
    std::str::from_utf8(from.take(count)?).map_err(|_| wrong("a text is no UTF-8"))
}

impl Wire for Arc<str> {
    fn put(&self, out: &mut Out<'_>) {
        put_text(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        text(from).map(Arc::from)
    }
}

/// The house's words: each is kept once, for as long as the process lives.
impl Wire for &'static str {
    fn put(&self, out: &mut Out<'_>) {
        put_text(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        static KNOWN: parking_lot::Mutex<(Option<HashSet<&'static str>>, usize)> =
            parking_lot::Mutex::new((None, 0));
        let word = text(from)?;
        let (known, bytes) = &mut *KNOWN.lock();
        let known = known.get_or_insert_default();
        if let Some(word) = known.get(word) {
            return Ok(word);
        }
        if word.len() > WORD || *bytes + word.len() > WORDS {
            return Err(wrong("it has too many words of its own"));
        }
        *bytes += word.len();
        let word: &'static str = Box::leak(word.to_owned().into_boxed_str());
        known.insert(word);
        Ok(word)
    }
}

impl Wire for PathBuf {
    fn put(&self, out: &mut Out<'_>) {
        let bytes = system::name_bytes(self.as_os_str());
        put_count(bytes.len(), out);
        out.bytes.extend_from_slice(bytes);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let count = from.count()?;
        Ok(system::name_of(from.take(count)?.to_vec()).into())
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Out<'_>) {
        put_count(self.len(), out);
        T::put_all(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let count = from.count()?;
        from.deeper(|from| T::read_all(count, from))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Out<'_>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Wire> Wire for Result<T> {
    fn put(&self, out: &mut Out<'_>) {
        self.is_ok().put(out);
        match self {
            Ok(value) => value.put(out),
            Err(error) => error.put(out),
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(match bool::read(from)? {
            true => Ok(T::read(from)?),
            false => Err(Error::read(from)?),
        })
    }
}

impl<T: Wire> Wire for Arc<[T]> {
    fn put(&self, out: &mut Out<'_>) {
        put_count(self.len(), out);
        T::put_all(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Vec::read(from).map(Into::into)
    }
}

/// What somebody else has too is sent once more.
impl<T: Wire> Wire for Arc<T> {
    fn put(&self, out: &mut Out<'_>) {
        T::put(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        from.deeper(T::read).map(Arc::new)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Out<'_>) {
        T::put(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        from.deeper(T::read).map(Box::new)
    }
}

impl<T: Wire> Wire for Range<T> {
    fn put(&self, out: &mut Out<'_>) {
        self.start.put(out);
        self.end.put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(T::read(from)?..T::read(from)?)
    }
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    fn put(&self, out: &mut Out<'_>) {
        T::put_all(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        T::read_all(N, from)?.try_into().map_err(|_| wrong("it ends too early"))
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, out: &mut Out<'_>) {
        put_count(self.len(), out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let count = from.count()?;
        (0..count).map(|_| Ok((K::read(from)?, V::read(from)?))).collect()
    }
}

impl<K: Wire + Ord> Wire for BTreeSet<K> {
    fn put(&self, out: &mut Out<'_>) {
        put_count(self.len(), out);
        self.iter().for_each(|key| key.put(out));
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let count = from.count()?;
        (0..count).map(|_| K::read(from)).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),+);)+) => {$(
        impl<$($name: Wire),+> Wire for ($($name,)+) {
            fn put(&self, out: &mut Out<'_>) {
                $(self.$at.put(out);)+
            }

            fn read(from: &mut In<'_>) -> Result<Self> {
                Ok(($($name::read(from)?,)+))
            }
        }
    )+};
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}
