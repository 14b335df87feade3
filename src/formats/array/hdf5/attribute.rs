//! Attributes: in the object header or, where there are many, in a fractal heap (sections IV.A.2.m and
//! IV.A.2.v). Their values become JSON: numbers as numbers, text as text, arrays as lists.

use super::btree2::BTree2;
use super::data::{self, Delivery, Names};
use super::datatype::{Class, Datatype};
use super::file::{Cursor, File};
use super::fractal::FractalHeap;
use super::links::Places;
use super::message::{Dataspace, Space, text};
use super::object::{Message, Object, kind};
use super::shared;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::dtype::DType;
use crate::data::location::Location;
use crate::data::node;
use crate::data::node::Value;
use crate::engines::attributes::OF_ELEMENTS;
use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use bytes::Bytes;
use serde_json::Value as Json;

/// The most attributes of one object that are read.
const MOST: usize = 10_000;
/// The most elements of one attribute that are shown.
const SHOWN: u64 = 4_096;

/// An attribute: a small dataset with a name.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub datatype: Datatype,
    /// Its shape.
    pub space: Dataspace,
    /// The elements as stored.
    pub data: Bytes,
    /// Where they stand in the file, if the message that holds them lies there as it is.
    pub at: u64,
}

/// Where the value of an attribute lies.
pub struct StoredAttribute {
    name: String,
    at: u64,
    data: Bytes,
    /// How its elements are stored.
    word: String,
}

/// The places of the attributes of an object.
pub struct AttributePlaces {
    /// The file.
    pub file: File,
    /// The attributes.
    pub list: Vec<StoredAttribute>,
}

impl node::Places for AttributePlaces {
    fn attribute(&self, task: &Task, name: &str) -> Result<Option<Location>> {
        let Some(found) = self.list.iter().find(|attribute| attribute.name == name) else { return Ok(None) };
        let end = found.at.saturating_add(found.data.len() as u64);
        // In a heap that is compressed they lie nowhere as they are.
        let there = self.file.source().read_up_to(task, found.at, found.data.len())?;
        let location = Location::new(self.file.source().clone(), found.at..end, "attribute message", name);
        let location = location.within(0..found.data.len() as u64).encoding(found.word.as_str());
        Ok((there == found.data && !found.data.is_empty()).then_some(location))
    }
}

/// The attributes of an object, in the order of creation where that is kept; else compact ones as they lie
/// in the header, dense ones by name. And what is wrong with those that are missing.
///
/// # Errors
/// Only a cancellation.
pub fn all(file: &File, task: &Task, object: &Object) -> Result<(Vec<Attribute>, Option<Error>)> {
    let mut list = List { file, task, found: Vec::new(), problem: None };
    let mut messages: Vec<&Message> = object.all(kind::ATTRIBUTE).collect();
    if messages.iter().all(|message| message.order.is_some()) {
        messages.sort_by_key(|message| message.order);
    }
    for message in messages {
        list.add(|| shared::resolve(file, task, message))?;
    }
    if let Some(info) = object.find(kind::ATTRIBUTE_INFO) {
        let dense = list.dense(info);
        list.note(dense)?;
    }
    Ok((list.found, list.problem))
}

/// Collects attributes.
struct List<'a> {
    file: &'a File,
    task: &'a Task,
    found: Vec<Attribute>,
    problem: Option<Error>,
}

impl List<'_> {
    /// Keeps the first failure that is no cancellation.
    fn note(&mut self, result: Result<()>) -> Result<()> {
        if let Err(error) = result.unless_cancelled()? {
            self.problem.get_or_insert(error);
        }
        Ok(())
    }

    /// Adds one attribute message; a broken one is noted.
    fn add(&mut self, read: impl FnOnce() -> Result<(u64, Bytes)>) -> Result<()> {
        let parsed = read().and_then(|(address, bytes)| {
            if self.found.len() >= MOST {
                return Err(Error::limit(format!("an object with over {MOST} attributes")));
            }
            Attribute::parse(self.file, self.task, &mut self.file.cursor("attribute", address, &bytes))
        });
        let result = parsed.map(|attribute| self.found.push(attribute));
        self.note(result)
    }

    fn dense(&mut self, info: &Message) -> Result<()> {
        let Some(places) = Places::parse(self.file, info, "attribute info", 2)? else { return Ok(()) };
        let heap = FractalHeap::read(self.file, self.task, places.heap)?;
        let names = BTree2::read(self.file, self.task, places.names)?;
        // Both indexes start with the heap id and flags; only the order of their records differs.
        let orders = places.orders.and_then(|address| BTree2::read(self.file, self.task, address).ok());
        let (index, by_name) = match orders {
            Some(orders) => (orders, false),
            None => (names, true),
        };
        let first = self.found.len();
        let (file, task) = (self.file, self.task);
        index.each(task, 0, &mut |record| {
            let (id, flags) = (record.get(..8).unwrap_or_default(), record.get(8).copied().unwrap_or(0));
            self.add(|| match flags & 2 > 0 {
                true => file.shared_messages(task)?.message(task, kind::ATTRIBUTE, id),
                false => heap.object(task, id),
            })?;
            Ok(self.found.len() < MOST)
        })?;
        if by_name && let Some(added) = self.found.get_mut(first..) {
            added.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(())
    }
}

impl Attribute {
    /// Parses an attribute message of versions 1 to 3.
    fn parse(file: &File, task: &Task, cursor: &mut Cursor<'_>) -> Result<Self> {
        let version = cursor.u8()?;
        if !(1..=3).contains(&version) {
            return Err(super::message::unknown("attribute", version, cursor));
        }
        let flags = if version == 1 { cursor.u8().map(|_| 0)? } else { cursor.u8()? };
        let sizes = [cursor.u16()?, cursor.u16()?, cursor.u16()?].map(usize::from);
        if version == 3 {
            cursor.skip(1)?;
        }
        let mut part = |size: usize| {
            let place = cursor.place();
            let bytes = cursor.bytes(size)?;
            if version == 1 && !size.is_multiple_of(8) {
                cursor.skip(8 - size % 8)?;
            }
            Ok::<_, Error>((place, bytes))
        };
        let (_, name) = part(sizes[0])?;
        let name = text(name);
        let named = |error: Error| prefixed(&name, error);
        let datatype = part(sizes[1])?;
        let space = part(sizes[2])?;
        let inner = |(place, bytes): (u64, &[u8]), kind: u16, is_shared: bool| {
            let address = place.saturating_sub(file.superblock().base);
            let flags = if is_shared { 2 } else { 0 };
            let data = Bytes::copy_from_slice(bytes);
            shared::resolve(file, task, &Message { kind, flags, order: None, address, data })
        };
        let (at, bytes) = inner(datatype, kind::DATATYPE, flags & 1 > 0).map_err(named)?;
        let datatype = Datatype::parse(&mut file.cursor("datatype", at, &bytes)).map_err(named)?;
        let (at, bytes) = inner(space, kind::DATASPACE, flags & 2 > 0).map_err(named)?;
        let space = Dataspace::parse(&mut file.cursor("dataspace", at, &bytes)).map_err(named)?;
        let at = cursor.place();
        let data = Bytes::copy_from_slice(cursor.rest());
        Ok(Attribute { name, datatype, space, data, at })
    }

    /// Where its elements lie, for who may ask.
    pub fn stored(&self) -> StoredAttribute {
        let bytes = self.space.elements().ok().and_then(|count| count.checked_mul(self.datatype.size));
        let len = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0).min(self.data.len());
        let word = Delivery::new(&self.datatype).map_or_else(|_| String::new(), |way| way.word());
        StoredAttribute { name: self.name.clone(), at: self.at, data: self.data.slice(..len), word }
    }

    /// The type of its elements, where they are numbers.
    pub fn dtype(&self) -> Option<DType> {
        let way =
            Delivery::new(&self.datatype).ok().filter(|way| way.dims.is_empty() && way.names.is_empty())?;
        Some(way.dtype).filter(|dtype| dtype.is_real() && *dtype != DType::Bool)
    }

    /// Its value, and whether not all of it is in there.
    ///
    /// # Errors
    /// Where the elements are not there, or lie at places that cannot be read.
    pub fn value(&self, file: &File, task: &Task, names: &dyn Names) -> Result<(Value, bool)> {
        if self.space.kind == Space::Null {
            return Ok((Value::Json(Json::Null), false));
        }
        let count = self.space.elements()?;
        let shown = count.min(SHOWN);
        let bytes = limits::bytes(&[shown], self.datatype.size)?;
        let stored = usize::try_from(bytes).ok().and_then(|bytes| self.data.get(..bytes));
        let stored = stored.ok_or_else(|| {
            let there = self.data.len();
            Error::malformed(format!(
                "HDF5 attribute {:?}: {count} elements of {} bytes, {there} bytes are there",
                self.name, self.datatype.size
            ))
        })?;
        let rows = limits::check(shown, SHOWN, "an attribute")?;
        let way = Delivery::new(&self.datatype)?;
        if way.dtype.is_complex() && way.dims.is_empty() {
            let bytes = way.deliver(Bytes::copy_from_slice(stored))?;
            let text = |bytes| Json::String(cell::element(&way.dtype, bytes));
            let mut values = bytes.chunks_exact(way.dtype.size() as usize).map(text);
            return Ok((self.shaped(&mut values, shown == count), shown < count));
        }
        let column = data::column(task, file, names, &self.datatype, stored, rows);
        let column = column.map_err(|error| prefixed(&self.name, error))?;
        // What is compared with stored elements is a number like those, whatever it is called.
        let is_named =
            matches!(self.datatype.class, Class::Enum(_)) && !OF_ELEMENTS.contains(&self.name.as_str());
        let words = if is_named { way.names } else { Vec::new() };
        let mut values = (0..column.len()).map(|row| named(json(column.as_ref(), row), &words));
        Ok((self.shaped(&mut values, shown == count), shown < count))
    }

    /// The elements in the attribute's shape; in one list where some are left out.
    fn shaped(&self, values: &mut dyn Iterator<Item = Json>, whole: bool) -> Value {
        match self.space.dims.as_slice() {
            [] => values.next().unwrap_or(Json::Null),
            dims if whole => nest(values, dims),
            _ => Json::Array(values.collect()),
        }
        .into()
    }
}

/// An error with the attribute's name.
fn prefixed(name: &str, error: Error) -> Error {
    error.in_node(&format!("@{name}"))
}

/// The name of an enumeration's value.
fn named(value: Json, words: &[(i64, String)]) -> Json {
    let word = value.as_i64().and_then(|n| words.iter().find(|(value, _)| *value == n));
    word.map_or(value, |(_, word)| Json::String(word.clone()))
}

/// Values in C order as lists of lists.
fn nest(values: &mut dyn Iterator<Item = Json>, dims: &[u64]) -> Json {
    let Some((side, rest)) = dims.split_first() else { return values.next().unwrap_or(Json::Null) };
    // The product of all sides was checked to be small, unless one of them is zero.
    let side = if rest.contains(&0) { 0 } else { (*side).min(SHOWN) };
    Json::Array((0..side).map(|_| nest(values, rest)).collect())
}

/// A cell as JSON: numbers as numbers, bytes as text where they are text.
fn json(array: &dyn Array, row: usize) -> Json {
    if row >= array.len() || array.is_null(row) {
        return Json::Null;
    }
    let items = |values: arrow::array::ArrayRef| {
        Json::Array((0..values.len()).map(|row| json(values.as_ref(), row)).collect())
    };
    match array.data_type() {
        DataType::Boolean => Json::Bool(array.as_boolean().value(row)),
        DataType::List(_) => items(array.as_list::<i32>().value(row)),
        DataType::FixedSizeList(_, _) => items(array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let named = fields.iter().zip(columns).map(|(f, c)| (f.name().clone(), json(c.as_ref(), row)));
            Json::Object(named.collect())
        }
        kind if kind.is_numeric() => {
            let text = cell::text(array, row).unwrap_or_default();
            match serde_json::from_str::<serde_json::Number>(&text) {
                Ok(number) => Json::Number(number),
                Err(_) => Json::String(text),
            }
        }
        _ => match cell::binary(array, row).map(std::str::from_utf8) {
            Some(Ok(text)) if !text.chars().any(|c| c.is_control() && c != '\0') => {
                Json::String(text.trim_end_matches('\0').to_owned())
            }
            _ => cell::json(array, row),
        },
    }
}
