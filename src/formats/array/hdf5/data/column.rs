//! Elements that hold places in global heaps — text and sequences of any length, references, records of
//! them — as Arrow columns.

use super::super::datatype::{Class, Datatype, Reference, Vlen};
use super::super::file::File;
use super::super::message::HeapId;
use super::bytes::{uint, uint_at};
use super::deliver::{Delivery, arrow_of, by_columns, text_end};
use super::{Names, selection};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::location::Location;
use arrow::array::{ArrayRef, FixedSizeListArray, ListArray, StringBuilder, StructArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use bytes::Bytes;
use std::sync::Arc;

/// How many elements are taken between two looks at whether to go on.
const STEP: usize = 4096;

/// What is needed to follow places.
pub(super) struct Places<'a> {
    pub(super) task: &'a Task,
    pub(super) file: &'a File,
    pub(super) names: &'a dyn Names,
}

impl Places<'_> {
    /// `count` stored elements of a type as a column of what [`arrow_of`] says.
    ///
    /// # Errors
    /// `Malformed` where an element's place cannot be read, `Limit` for more than [`limits::READ`].
    pub(super) fn column(&self, datatype: &Datatype, stored: &[u8], count: usize) -> Result<ArrayRef> {
        let size = limits::check(datatype.size, limits::CHUNK, "an element")?;
        if size.checked_mul(count).is_none_or(|bytes| bytes != stored.len()) {
            return Err(Error::malformed(format!(
                "data: {} bytes for {count} elements of {size}",
                stored.len()
            )));
        }
        match &datatype.class {
            Class::Vlen(vlen) if vlen.text.is_some() => self.texts(vlen, stored, size),
            Class::Vlen(vlen) => self.lists(vlen, stored, size),
            Class::Reference(kind) => self.references(*kind, stored, size),
            Class::String { padding, .. } => {
                let text = |e: &[u8]| lossy(e.get(..text_end(e, *padding)).unwrap_or_default());
                self.strings(stored, size, |element| Ok(Some(text(element))))
            }
            Class::Array { base, dims } => self.array(base, dims, stored, count),
            Class::Compound(members) if by_columns(datatype) => {
                let DataType::Struct(fields) = arrow_of(datatype, 0)? else {
                    return Err(Error::bug("a record that is none"));
                };
                let mut columns = Vec::with_capacity(members.len());
                for member in members.iter() {
                    let (from, len) = (member.offset as usize, member.datatype.size as usize);
                    let part = gather(stored, size, from, len)?;
                    columns.push(self.column(&member.datatype, &part, count)?);
                }
                Ok(Arc::new(StructArray::try_new_with_length(fields, columns, None, count)?))
            }
            _ => {
                let way = Delivery::new(datatype)?;
                let bytes = way.deliver(Bytes::copy_from_slice(stored))?;
                adapt::column(&way.dtype, &[], &bytes, count)
            }
        }
    }

    /// Elements of a fixed shape, as lists of lists.
    fn array(&self, base: &Datatype, dims: &[u64], stored: &[u8], count: usize) -> Result<ArrayRef> {
        let Some((&side, rest)) = dims.split_first() else { return self.column(base, stored, count) };
        let side = limits::check(side, limits::CHUNK, "a list")?;
        let inner_count = count.checked_mul(side).ok_or_else(|| Error::limit("lists of lists"))?;
        let inner = self.array(base, rest, stored, inner_count)?;
        let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
        let width = i32::try_from(side).map_err(|_| Error::limit(format!("lists of {side} elements")))?;
        Ok(Arc::new(FixedSizeListArray::try_new_with_length(field, width, inner, None, count)?))
    }

    /// One text an element.
    fn strings(
        &self,
        stored: &[u8],
        size: usize,
        mut text: impl FnMut(&[u8]) -> Result<Option<String>>,
    ) -> Result<ArrayRef> {
        let mut out = StringBuilder::with_capacity(stored.len() / size.max(1), 0);
        let mut total = 0u64;
        for (n, element) in stored.chunks_exact(size.max(1)).enumerate() {
            if n % STEP == 0 {
                self.task.check()?;
            }
            match text(element)? {
                Some(text) => {
                    total = total.saturating_add(text.len() as u64);
                    limits::check(total, (limits::READ).min(i32::MAX as u64), "texts of this part")?;
                    out.append_value(text);
                }
                None => out.append_null(),
            }
        }
        Ok(Arc::new(out.finish()))
    }

    fn texts(&self, vlen: &Vlen, stored: &[u8], size: usize) -> Result<ArrayRef> {
        let padding = vlen.text.map(|(padding, _)| padding);
        self.strings(stored, size, |element| {
            let bytes = self.sequence(element, 1)?;
            let end = match padding {
                Some(padding) => text_end(&bytes, padding),
                None => bytes.len(),
            };
            Ok(Some(lossy(bytes.get(..end).unwrap_or_default())))
        })
    }

    /// Sequences: the elements of all of them as one column, and where each begins.
    fn lists(&self, vlen: &Vlen, stored: &[u8], size: usize) -> Result<ArrayRef> {
        let base = limits::check(vlen.base.size, limits::CHUNK, "an element")?;
        let mut all = Vec::new();
        let mut lengths = Vec::with_capacity(stored.len() / size.max(1));
        for (n, element) in stored.chunks_exact(size.max(1)).enumerate() {
            if n % STEP == 0 {
                self.task.check()?;
            }
            let bytes = self.sequence(element, base)?;
            lengths.push(bytes.len() / base);
            limits::check((all.len() + bytes.len()) as u64, limits::READ, "sequences of this part")?;
            all.extend_from_slice(&bytes);
        }
        let count = all.len() / base;
        if count > i32::MAX as usize {
            return Err(Error::limit(format!("{count} elements in the sequences of this part")));
        }
        let inner = match count {
            0 => new_empty_array(&arrow_of(&vlen.base, 0)?),
            _ => self.column(&vlen.base, &all, count)?,
        };
        let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(lengths);
        Ok(Arc::new(ListArray::try_new(field, offsets, inner, None)?))
    }

    /// The bytes of one sequence: four bytes of length, then a place in a heap.
    fn sequence(&self, element: &[u8], base: usize) -> Result<Bytes> {
        let length = uint_at(element, 0, 4);
        if length == 0 {
            return Ok(Bytes::new());
        }
        let object = self.object(element.get(4..).unwrap_or_default())?;
        let need = length.saturating_mul(base as u64);
        if object.is_empty() && !is_place(element.get(4..).unwrap_or_default(), self.file) {
            return Ok(object);
        }
        match usize::try_from(need).ok().filter(|&need| need <= object.len()) {
            Some(need) => Ok(object.slice(..need)),
            None => Err(Error::malformed(format!(
                "HDF5 sequence: {length} elements of {base} bytes, its heap object has {} bytes",
                object.len()
            ))),
        }
    }

    /// The heap object that an address and an index name; empty where they name none.
    fn object(&self, id: &[u8]) -> Result<Bytes> {
        let so = self.file.offset_size();
        let address = Some(uint_at(id, 0, so)).filter(|_| is_place(id, self.file));
        let id = HeapId { address, index: uint_at(id, so, 4) as u32 };
        self.file.globals().object(self.file, self.task, id)
    }

    fn references(&self, kind: Reference, stored: &[u8], size: usize) -> Result<ArrayRef> {
        // A reference that cannot be read is shown as what it is and hides no others.
        self.strings(stored, size, |element| {
            let found = self.reference(kind, element).unless_cancelled()?;
            Ok(found.unwrap_or_else(|error| Some(format!("({})", error.message()))))
        })
    }

    fn reference(&self, kind: Reference, element: &[u8]) -> Result<Option<String>> {
        match kind {
            Reference::Object => Ok(self.path(uint_at(element, 0, self.file.offset_size()))),
            Reference::Region => {
                let object = self.object(element)?;
                if object.is_empty() { Ok(None) } else { self.region(&object) }
            }
            _ => self.standard(element),
        }
    }

    /// The path of the object at `address`, or the address where nothing is known of it.
    fn path(&self, address: u64) -> Option<String> {
        if address == 0 || super::bytes::is_undefined(self.file, address) {
            return None;
        }
        Some(self.names.path(self.task, address).unwrap_or_else(|| format!("object at {address:#x}")))
    }

    /// An object's address and a selection of it.
    fn region(&self, bytes: &[u8]) -> Result<Option<String>> {
        let so = self.file.offset_size();
        let Some(path) = self.path(uint_at(bytes, 0, so)) else { return Ok(None) };
        let rest = bytes.get(so..).unwrap_or_default();
        let mut cursor = self.file.cursor("region reference", 0, rest);
        let selection = selection::Selection::parse(&mut cursor)?;
        Ok(Some(format!("{path}{}", selection.text())))
    }

    /// References as HDF5 1.12 writes them: a kind, flags, then either an object's token (its length before
    /// it) or the length of what lies in a heap, and where.
    fn standard(&self, element: &[u8]) -> Result<Option<String>> {
        let (kind, flags) = (uint_at(element, 0, 1), uint_at(element, 1, 1));
        let rest = element.get(2..).unwrap_or_default();
        if element.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let outside = flags & 1 == 1;
        let body = match kind {
            2 if !outside => Bytes::copy_from_slice(rest),
            2..=4 => {
                let len = uint_at(rest, 0, 4) as usize;
                let object = self.object(rest.get(4..).unwrap_or_default())?;
                object.slice(..len.min(object.len()))
            }
            _ => return Err(Error::malformed(format!("reference: there is no kind {kind}"))),
        };
        let token = uint_at(&body, 0, 1) as usize;
        let address = uint(body.get(1..1 + token).unwrap_or_default());
        let Some(mut text) = self.path(address) else { return Ok(None) };
        let rest = body.get(1 + token..).unwrap_or_default();
        match kind {
            3 => {
                // Its length and the number of dimensions stand before the selection.
                let mut cursor = self.file.cursor("region reference", 0, rest.get(8..).unwrap_or_default());
                text.push_str(&selection::Selection::parse(&mut cursor)?.text());
            }
            4 => {
                let len = uint_at(rest, 0, 2) as usize;
                let name = rest.get(2..2 + len).unwrap_or_default();
                text.push('@');
                text.push_str(&lossy(name.split(|&byte| byte == 0).next().unwrap_or_default()));
            }
            _ => {}
        }
        if outside {
            text.push_str(" (in another file)");
        }
        Ok(Some(text))
    }
}

/// Where the sequence lies that a stored element is the place of, whose own elements have `base` bytes.
///
/// # Errors
/// `Malformed` where the heap cannot be read.
pub(super) fn sequence_place(
    task: &Task,
    file: &File,
    element: &[u8],
    base: u64,
) -> Result<Option<Location>> {
    let (need, id) = (uint_at(element, 0, 4).saturating_mul(base), element.get(4..).unwrap_or_default());
    let so = file.offset_size();
    let address = Some(uint_at(id, 0, so)).filter(|_| need > 0 && is_place(id, file));
    let index = uint_at(id, so, 4) as u32;
    let object = file.globals().place(file, task, HeapId { address, index })?;
    let fits = |object: &Location| need <= object.range.end.saturating_sub(object.range.start);
    Ok(object.filter(fits).map(|object| object.within(0..need)))
}

/// Whether an address and an index name anything.
fn is_place(id: &[u8], file: &File) -> bool {
    let address = uint_at(id, 0, file.offset_size());
    address != 0 && !super::bytes::is_undefined(file, address)
}

/// Text of the file; what is no UTF-8 is taken for Latin-1, which older writers mean by "ASCII".
fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// `len` bytes at `from` of every element of `size` bytes.
fn gather(stored: &[u8], size: usize, from: usize, len: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity((stored.len() / size.max(1)).saturating_mul(len).min(stored.len()));
    for element in stored.chunks_exact(size.max(1)) {
        let part = from.checked_add(len).and_then(|end| element.get(from..end));
        out.extend_from_slice(part.ok_or_else(|| Error::malformed("datatype: a member lies outside"))?);
    }
    Ok(out)
}
