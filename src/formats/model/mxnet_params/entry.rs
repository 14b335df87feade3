//! One array of the list: its header, and where its values lie.

use super::{Shared, sparse};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::engines::records::Window;
use std::ops::Range;
use std::sync::Arc;

/// The most dimensions of a shape.
const DIMENSIONS: u32 = 32;
/// The most parts of a sparse array besides its values.
const PARTS: usize = 2;

/// A place in the file.
pub(super) struct Cursor<'a> {
    window: Window<'a>,
    pub(super) at: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(window: Window<'a>, at: u64) -> Self {
        Cursor { window, at }
    }

    pub(super) fn task(&self) -> &'a Task {
        self.window.task
    }

    /// The next bytes, all of them.
    pub(super) fn take(&mut self, len: usize, what: &str) -> Result<Vec<u8>> {
        let bytes = self.window.get(self.at, len)?;
        if bytes.len() < len {
            return Err(Error::malformed(format!("{what}: the file ends inside of it; it may be cut off"))
                .at(self.at));
        }
        let bytes = bytes.to_vec();
        self.at += len as u64;
        Ok(bytes)
    }

    /// A word of 64 bits.
    pub(super) fn word(&mut self, what: &str) -> Result<u64> {
        Ok(le(&self.take(8, what)?, 0).unwrap_or(0))
    }

    fn short(&mut self, what: &str) -> Result<u32> {
        Ok(le(&self.take(4, what)?, 0).unwrap_or(0))
    }

    /// A shape of so many dimensions of 32 or 64 bits.
    fn sides(&mut self, count: u32, is_wide: bool) -> Result<Vec<u64>> {
        if count > DIMENSIONS {
            return Err(Error::malformed(format!("shape: it has {count} dimensions")).at(self.at));
        }
        let size = if is_wide { 8 } else { 4 };
        let bytes = self.take(count as usize * size, "shape")?;
        let side = |bytes: &[u8]| match is_wide {
            true => le::<i64>(bytes, 0).and_then(|side| u64::try_from(side).ok()),
            false => le::<u32>(bytes, 0).map(u64::from),
        };
        let sides: Option<Vec<u64>> = bytes.chunks_exact(size).map(side).collect();
        sides.ok_or_else(|| Error::malformed("shape: a side of it is below zero").at(self.at))
    }

    /// A shape with its count before it.
    fn shape(&mut self) -> Result<Vec<u64>> {
        let count = self.short("shape")?;
        self.sides(count, true)
    }
}

/// Values that lie together.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) dtype: DType,
    pub(super) shape: Vec<u64>,
    pub(super) span: Range<u64>,
}

/// How values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    Dense,
    RowSparse,
    Csr,
}

/// An array of the list.
pub(super) struct Entry {
    storage: Storage,
    shape: Vec<u64>,
    /// The device that it was on: its type (1 is the processor) and its number.
    pub(super) context: (u32, u32),
    /// The values; `None` for an array without.
    pub(super) data: Option<Part>,
    /// Indices of a sparse one: of rows; or where each row begins, and the columns.
    aux: Vec<Part>,
    /// Whether the file ends before its values do.
    pub(super) is_cut: bool,
}

/// The type of a number of MXNet's (`mshadow::TypeFlag`).
fn dtype(flag: u32) -> Result<DType> {
    Ok(match flag {
        0 => DType::F32,
        1 => DType::F64,
        2 => DType::F16,
        3 => DType::U8,
        4 => DType::I32,
        5 => DType::I8,
        6 => DType::I64,
        7 => DType::Bool,
        8 => DType::I16,
        9 => DType::U16,
        10 => DType::U32,
        11 => DType::U64,
        12 => DType::BF16,
        other => return Err(Error::unsupported(format!("elements of MXNet's type {other}"))),
    })
}

impl Entry {
    /// The array at the cursor, which is moved behind it.
    ///
    /// # Errors
    /// What breaks its header.
    pub(super) fn read(cursor: &mut Cursor) -> Result<Entry> {
        let mark = cursor.short("array")?;
        let mut entry = Entry {
            storage: Storage::Dense,
            shape: Vec::new(),
            context: (1, 0),
            data: None,
            aux: Vec::new(),
            is_cut: false,
        };
        let (mut stored, mut parts) = (None, 0);
        // Whether a shape without sides is that of a scalar.
        let has_scalars = mark == 0xf993_faca;
        match mark {
            0xf993_fac9 | 0xf993_faca => {
                (entry.storage, parts) = match cursor.short("array")? {
                    0 => (Storage::Dense, 0),
                    1 => (Storage::RowSparse, 1),
                    2 => (Storage::Csr, PARTS),
                    other => {
                        return Err(
                            Error::malformed(format!("array: its storage is of type {other}")).at(cursor.at)
                        );
                    }
                };
                if parts > 0 {
                    stored = Some(cursor.shape()?);
                }
                let count = cursor.short("shape")?;
                if has_scalars && count == u32::MAX {
                    return Ok(entry);
                }
                entry.shape = cursor.sides(count, true)?;
            }
            0xf993_fac8 => entry.shape = cursor.shape()?,
            count => entry.shape = cursor.sides(count, false)?,
        }
        if entry.shape.is_empty() && !has_scalars {
            return Ok(entry);
        }
        entry.context = (cursor.short("device")?, cursor.short("device")?);
        let kind = dtype(cursor.short("type")?)?;
        let mut aux = Vec::new();
        for _ in 0..parts {
            let kind = dtype(cursor.short("type")?)?;
            aux.push((kind, cursor.shape()?));
        }
        let shape = stored.unwrap_or_else(|| entry.shape.clone());
        entry.data = Some(entry.part(cursor, kind, shape)?);
        for (kind, shape) in aux {
            let part = entry.part(cursor, kind, shape)?;
            entry.aux.push(part);
        }
        Ok(entry)
    }

    /// Values at the cursor, which is moved behind them or, where they are cut off, to the end of the file.
    fn part(&mut self, cursor: &mut Cursor, dtype: DType, shape: Vec<u64>) -> Result<Part> {
        let start = cursor.at;
        let bytes = limits::bytes(&shape, dtype.size())?;
        let end = start
            .checked_add(bytes)
            .ok_or_else(|| Error::malformed("array: it is beyond 64 bits").at(start))?;
        let known = cursor.window.known_len();
        self.is_cut |= known.is_some_and(|len| end > len);
        cursor.at = known.map_or(end, |len| end.min(len));
        Ok(Part { dtype, shape, span: start..cursor.at })
    }

    /// What it was stored as, in MXNet's words.
    pub(super) fn storage(&self) -> &'static str {
        match self.storage {
            Storage::Dense => "default",
            Storage::RowSparse => "row_sparse",
            Storage::Csr => "csr",
        }
    }

    /// The device that it was on: `gpu(0)`.
    pub(super) fn device(&self) -> String {
        let (kind, number) = self.context;
        let word = match kind {
            1 => "cpu",
            2 => "gpu",
            3 => "cpu_pinned",
            5 => "cpu_shared",
            _ => "device",
        };
        format!("{word}({number})")
    }

    /// Why not all of its values are there.
    pub(super) fn problem(&self) -> Option<Error> {
        let cut = || Error::malformed("array: the file ends inside of it; it may be cut off");
        self.is_cut.then(cut)
    }

    /// The array, and of a sparse one the nodes of its parts; `None` where it has no values.
    pub(super) fn content(&self, source: &Source) -> Result<Option<(Content, Vec<Node>)>> {
        let Some(data) = &self.data else { return Ok(None) };
        let plain = |part: &Part| -> Result<Shared> {
            let (plain, _) = Plain::within(
                source.clone(),
                part.span.start,
                part.dtype.clone(),
                part.shape.clone(),
                false,
            )?;
            Ok(Arc::new(plain))
        };
        let values = plain(data)?;
        if self.storage == Storage::Dense {
            return Ok(Some((Content::Array(values), Vec::new())));
        }
        let aux: Vec<Shared> = self.aux.iter().map(plain).collect::<Result<_>>()?;
        let mut parts = vec![("data", values.clone())];
        let whole = match (self.storage, aux.as_slice()) {
            (Storage::RowSparse, [rows]) => {
                parts.push(("indices", rows.clone()));
                sparse::rows(self.shape.clone(), values, rows.clone())?
            }
            (_, [starts, columns]) => {
                parts.extend([("indptr", starts.clone()), ("indices", columns.clone())]);
                sparse::csr(&self.shape, values, columns.clone(), starts.clone())?
            }
            _ => return Err(Error::malformed("sparse array: its indices are not there")),
        };
        let node = |(name, array): (&str, Shared)| Node::new(name, "part").content(Content::Array(array));
        Ok(Some((Content::Array(whole), parts.into_iter().map(node).collect())))
    }
}
