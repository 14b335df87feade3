//! A cell as what it holds: the bytes of a file, the file that its text names, an array of its numbers.

use super::{Held, MediaColumn};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{FileBeneath, Source};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::array::Plain;
use crate::data::content::{Array, Content, Table};
use crate::data::dtype::DType;
use crate::data::format::{Formats, Options};
use crate::data::node::Node;
use ::arrow::array::{Array as Cells, ArrayRef, AsArray};
use ::arrow::datatypes::DataType;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;

/// What a cell holds.
#[derive(Clone)]
pub enum Payload {
    /// A file: its bytes under its name.
    File(Source),
    /// An array.
    Array(Arc<dyn Array>),
}

/// Where the files lie that the texts of a table may name: the folder of its own file. Nothing outside of it is opened.
#[derive(Clone)]
pub struct Place {
    source: Source,
    /// The folder of the table's file in an open folder.
    below: String,
    /// Where its format says that the files lie.
    folder: Option<PathBuf>,
}

impl Place {
    /// The place of the table at `path` of a document of these bytes.
    pub fn of(source: &Source, path: &str) -> Place {
        let path = path.trim_start_matches('/');
        let below = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        Place { source: source.clone(), below: below.to_owned(), folder: None }
    }

    /// With the folder that files of this node's table lie in, where its format knows one
    /// ([`Node::media_folder`](crate::data::node::Node::media_folder)).
    pub fn of_node(source: &Source, path: &str, node: &Node) -> Place {
        Place { folder: node.media_folder.clone(), ..Place::of(source, path) }
    }

    /// The file of this name; `None` where there is none, and for what lies elsewhere.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn open(&self, task: &Task, name: &str) -> Result<Option<Source>> {
        let Some(name) = self.inner(name) else { return Ok(None) };
        if let Some(folder) = &self.folder {
            let found = Source::open(task, folder).and_then(|folder| folder.child(task, &name));
            return Ok(found.unless_cancelled()?.ok().filter(|source| !source.is_folder()));
        }
        let opened = if self.source.is_folder() {
            let first = match self.below.as_str() {
                "" => Err(Error::io("")),
                below => self.source.child(task, &format!("{below}/{name}")).unless_cancelled()?,
            };
            match first {
                Ok(source) => Ok(source),
                Err(_) => self.source.child(task, &name).unless_cancelled()?,
            }
        } else {
            self.source.sibling(task, &name).unless_cancelled()?
        };
        Ok(opened.ok().filter(|source| !source.is_folder()))
    }

    /// The file of this name, to be read whole; `None` where [`open`](Place::open) is to be asked.
    pub fn beneath(&self, name: &str) -> Option<FileBeneath> {
        let name = self.inner(name)?;
        if let Some(folder) = &self.folder {
            return FileBeneath::open(folder, &name);
        }
        let path = self.source.path()?;
        if !self.source.is_folder() {
            return FileBeneath::open(path.parent()?, &name);
        }
        let first = match self.below.as_str() {
            "" => None,
            below => FileBeneath::open(path, &format!("{below}/{name}")),
        };
        first.or_else(|| FileBeneath::open(path, &name))
    }

    /// A name as one in the folder. URIs of other schemes and what lies outside is none.
    fn inner(&self, name: &str) -> Option<String> {
        let plain = !name.is_empty() && name.len() <= 4096 && !name.contains(['\n', '\0']);
        let name = name.strip_prefix("file://").unwrap_or(name);
        if !plain || name.contains("://") {
            return None;
        }
        let name = name.replace('\\', "/");
        let folder = self.source.path().map(|path| match self.source.is_folder() {
            true => path,
            false => path.parent().unwrap_or(path),
        });
        let absolute = name.starts_with('/').then(|| {
            let rest = std::path::Path::new(&name).strip_prefix(folder?).ok()?;
            Some(rest.to_string_lossy().into_owned())
        });
        match absolute {
            Some(inside) => inside,
            None => Some(name),
        }
    }
}

/// The payload of a cell; `None` where there is nothing: null, an empty text, a file that is not there.
///
/// # Errors
/// `Cancelled`; `Malformed` for lists whose rows have several lengths; `Limit` for large ones.
pub fn payload(
    task: &Task,
    column: &MediaColumn,
    array: &dyn Cells,
    row: usize,
    place: &Place,
) -> Result<Option<Payload>> {
    if row >= array.len() || array.is_null(row) {
        return Ok(None);
    }
    let file = |name: &str, bytes: &[u8]| {
        let name = name.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or("value");
        Payload::File(Source::memory(name, Bytes::copy_from_slice(bytes)))
    };
    match &column.held {
        Held::Bytes => {
            let bytes = cell::binary(array, row).filter(|bytes| !bytes.is_empty());
            Ok(bytes.map(|bytes| file("value", bytes)))
        }
        Held::Struct { bytes, path } => {
            let Some(fields) = array.as_struct_opt() else { return Ok(None) };
            let field = |at: &Option<usize>| {
                fields.columns().get((*at)?).filter(|field| field.is_valid(row)).cloned()
            };
            let path = field(path).and_then(|path| cell::shown(path.as_ref(), row)).unwrap_or_default();
            let bytes = field(bytes);
            let bytes = bytes.as_ref().and_then(|bytes| cell::binary(bytes.as_ref(), row));
            match bytes.filter(|bytes| !bytes.is_empty()) {
                Some(bytes) => Ok(Some(file(&path, bytes))),
                None => Ok(place.open(task, &path)?.map(Payload::File)),
            }
        }
        Held::Path => {
            let Some(text) = cell::shown(array, row) else { return Ok(None) };
            Ok(place.open(task, &text)?.map(Payload::File))
        }
        Held::Elements => elements(array, row).map(|array| array.map(Payload::Array)),
    }
}

/// How deep lists of a type nest, and whether numbers are at the bottom.
pub fn nesting(kind: &DataType) -> (usize, bool) {
    let mut depth = 0;
    let mut kind = kind;
    loop {
        match kind {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                (depth, kind) = (depth + 1, item.data_type());
            }
            _ => return (depth, number(kind).is_some()),
        }
    }
}

fn number(kind: &DataType) -> Option<DType> {
    Some(match kind {
        DataType::Int8 => DType::I8,
        DataType::Int16 => DType::I16,
        DataType::Int32 => DType::I32,
        DataType::Int64 => DType::I64,
        DataType::UInt8 => DType::U8,
        DataType::UInt16 => DType::U16,
        DataType::UInt32 => DType::U32,
        DataType::UInt64 => DType::U64,
        DataType::Float16 => DType::F16,
        DataType::Float32 => DType::F32,
        DataType::Float64 => DType::F64,
        _ => return None,
    })
}

/// The items of a list; `None` for what is none.
fn items(array: &dyn Cells, row: usize) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::List(_) => Some(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(_, _) => Some(array.as_fixed_size_list().value(row)),
        _ => None,
    }
}

/// The lists of lists in a cell as an array.
fn elements(array: &dyn Cells, row: usize) -> Result<Option<Arc<dyn Array>>> {
    let (mut shape, mut flat) = (Vec::new(), Vec::new());
    let Some(all) = items(array, row) else { return Ok(None) };
    let Some(dtype) = leaf(all.data_type()).and_then(number) else { return Ok(None) };
    gather(&all, 0, &mut shape, &mut flat)?;
    let size = dtype.size();
    let expected = limits::check(limits::bytes(&shape, size)?, limits::CHUNK, "the array of a cell")?;
    if flat.len() != expected {
        return Err(Error::malformed("list: its parts have several lengths, so that it is no array"));
    }
    let source = Source::memory("value", flat);
    Ok(Some(Arc::new(Plain::new(source, 0, dtype, shape)?)))
}

fn leaf(kind: &DataType) -> Option<&DataType> {
    let mut kind = kind;
    for _ in 0..limits::DEPTH {
        match kind {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                kind = item.data_type();
            }
            other => return Some(other),
        }
    }
    None
}

/// Appends the numbers of a list, and notes how long it is at its depth.
fn gather(list: &ArrayRef, depth: usize, shape: &mut Vec<u64>, flat: &mut Vec<u8>) -> Result<()> {
    match shape.get(depth) {
        None => shape.push(list.len() as u64),
        Some(known) if *known == list.len() as u64 => {}
        Some(_) => {
            return Err(Error::malformed("list: its parts have several lengths, so that it is no array"));
        }
    }
    if let Some(width) = list.data_type().primitive_width() {
        if list.null_count() > 0 {
            return Err(Error::malformed("list: a number in it is null, so that it is no array"));
        }
        let data = list.to_data();
        let start = data.offset().saturating_mul(width);
        let end = start.saturating_add(list.len().saturating_mul(width));
        let bytes = data.buffers().first().and_then(|buffer| buffer.get(start..end));
        flat.extend_from_slice(bytes.ok_or_else(|| Error::malformed("list: its numbers end too early"))?);
        return Ok(());
    }
    for row in 0..list.len() {
        let part = items(list.as_ref(), row).filter(|_| list.is_valid(row));
        let part =
            part.ok_or_else(|| Error::malformed("list: a part of it is null, so that it is no array"))?;
        gather(&part, depth + 1, shape, flat)?;
    }
    Ok(())
}

/// The node of a cell: what it holds, opened as what it is. `None` for a cell that holds nothing of that sort.
///
/// # Errors
/// Those of reading the table; what the payload says is wrong with it is the node's problem.
pub fn node(
    task: &Task,
    formats: Formats,
    table: &dyn Table,
    (row, column): (u64, usize),
    place: &Place,
) -> Result<Option<Node>> {
    let Some(field) = table.schema().fields().get(column) else { return Ok(None) };
    let Some(held) = super::held(field, None) else { return Ok(None) };
    let held = MediaColumn { column, kind: super::MediaKind::Image, held };
    let batch = table.read(task, row..row.saturating_add(1), &[column])?;
    let Some(array) = batch.columns().first().filter(|array| !array.is_empty()) else { return Ok(None) };
    let name = cell_name(row, field.name());
    Ok(match payload(task, &held, array.as_ref(), 0, place)? {
        None => None,
        Some(Payload::File(source)) => {
            Some(formats.nested_now(task, &name, "value", &source, &Options::default())?)
        }
        Some(Payload::Array(array)) => Some(Node::new(name, "value").content(Content::Array(array))),
    })
}

/// What a cell is called below its table: `[17].image`.
pub fn cell_name(row: u64, column: &str) -> String {
    format!("[{row}].{column}")
}

/// The node of the cell that a path names, made of that of its table and [`cell_name`]; `None` where it names none.
///
/// # Errors
/// As [`node`].
pub fn at(
    task: &Task,
    formats: Formats,
    source: &Source,
    root: &Arc<Node>,
    path: &str,
) -> Result<Option<Arc<Node>>> {
    // A column's name may hold brackets itself.
    for (open, _) in path.match_indices('[') {
        let (Some(above), Some(rest)) = (path.get(..open), path.get(open + 1..)) else { continue };
        let Some((row, column)) = rest.split_once("].") else { continue };
        let Ok(row) = row.parse::<u64>() else { continue };
        let Some(table) = root.find(task, above)? else { continue };
        let place = Place::of_node(source, above, &table);
        let Some(Content::Table(table)) = &table.content else { continue };
        let Some(column) = table.schema().fields().iter().position(|field| field.name() == column) else {
            continue;
        };
        let found = node(task, formats, table.as_ref(), (row, column), &place)?;
        return Ok(found.map(Arc::new));
    }
    Ok(None)
}
