//! The head of a beton: how many samples of which fields, and where each field of a sample lies in the table of them.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::numpy::literal::{Literal, Value};
use crate::data::dtype::numpy::{Described, describe};
use std::ops::Range;

/// Bytes of the head, and of the description of each field.
pub(super) const HEAD: u64 = 24;
pub(super) const FIELD: u64 = 1_041;
/// Where a field's arguments begin in it, and its name.
pub(super) const ARGUMENTS: usize = 17;
pub(super) const NAME: Range<usize> = 1..17;
/// The dimensions that a field's arguments have room for, and where the type of elements follows.
pub(super) const DIMENSIONS: usize = 32;
const TYPE: usize = DIMENSIONS * 8;
/// The version that is written.
pub(super) const VERSION: u16 = 2;
/// The least page.
pub(super) const PAGE: u32 = 1 << 21;
/// Bytes of an entry of the table of allocations.
pub(super) const ALLOCATION: u64 = 24;

/// What a field holds.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A number in the table of samples.
    Float,
    /// An integer there.
    Int,
    /// An image: as JPEG, or its samples.
    Image,
    /// Bytes of any length.
    Bytes,
    /// A JSON text, with a zero behind it.
    Json,
    /// Elements of one type and shape.
    Array(Described, Vec<u64>),
}

impl Kind {
    /// The word for it, as the library spells its class.
    pub(super) fn word(&self, type_id: u8) -> &'static str {
        match self {
            Kind::Float => "FloatField",
            Kind::Int => "IntField",
            Kind::Image => "RGBImageField",
            Kind::Bytes => "BytesField",
            Kind::Json => "JSONField",
            Kind::Array(..) if type_id == 6 => "TorchTensorField",
            Kind::Array(..) => "NDArrayField",
        }
    }

    /// Its bytes in a row, and what its place there is a multiple of: numbers are aligned, structures are packed.
    fn layout(&self) -> (u64, u64) {
        match self {
            Kind::Float | Kind::Int | Kind::Array(..) => (8, 8),
            Kind::Image => (13, 1),
            Kind::Bytes | Kind::Json => (16, 1),
        }
    }
}

/// A field.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Its name; up to 16 characters.
    pub(super) name: String,
    /// The number of its type.
    pub(super) type_id: u8,
    /// What it holds.
    pub(super) kind: Kind,
    /// Where it lies in a row.
    pub(super) at: usize,
}

/// The head.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// The size of a page.
    pub(super) page: u32,
    /// How many samples it says.
    pub(super) samples: u64,
    /// How many of them have a row in the file.
    pub(super) rows: u64,
    /// The fields.
    pub(super) fields: Vec<Field>,
    /// Where the rows begin, and how long each is.
    pub(super) start: u64,
    pub(super) row: u64,
    /// Where the table of allocations lies.
    pub(super) allocations: Range<u64>,
}

/// What the first bytes say: whether they are a head, if the name says so, and whether that is sure.
pub(super) fn looks(first: &[u8], len: Option<u64>) -> (bool, bool) {
    let numbers =
        || Some((le::<u16>(first, 0)?, le::<u16>(first, 2)?, le::<u32>(first, 4)?, le::<u64>(first, 16)?));
    let Some((version, fields, page, table)) = numbers() else { return (false, false) };
    let name = first.get(HEAD as usize + NAME.start..HEAD as usize + NAME.end).unwrap_or_default();
    let type_id = first.get(HEAD as usize).copied().unwrap_or(200);
    let mut letters = name.iter().skip_while(|byte| byte.is_ascii_graphic() || **byte == b' ');
    let is_name = name.first().is_some_and(|byte| *byte != 0) && letters.all(|byte| *byte == 0);
    let is_page = page.is_power_of_two() && page >= PAGE;
    let sure = fields > 0 && is_page && is_name && matches!(type_id, 0..=6 | 255);
    let fits = len.is_none_or(|len| table <= len) && table >= HEAD + u64::from(fields) * FIELD;
    (version == VERSION || sure, version == VERSION && sure && fits)
}

impl Header {
    /// Reads the head and the fields.
    ///
    /// # Errors
    /// `Malformed` where they make no sense; `Unsupported` for other versions and fields of the writer's own.
    pub(super) fn read(task: &Task, source: &Source) -> Result<Header> {
        let len = source.len(task)?;
        let wrong = |what: String, at: u64| Error::malformed(format!("FFCV: {what}")).at(at);
        let head = source.read(task, 0..HEAD)?;
        let number = |at: usize| le::<u64>(&head, at).unwrap_or(0);
        let version = le::<u16>(&head, 0).unwrap_or(0);
        if version != VERSION {
            return Err(Error::unsupported(format!("FFCV: version {version} of the format")));
        }
        let count = u64::from(le::<u16>(&head, 2).unwrap_or(0));
        let page = le::<u32>(&head, 4).unwrap_or(0);
        if count == 0 || page == 0 {
            return Err(wrong(format!("{count} fields, pages of {page} bytes"), 2));
        }
        let start = HEAD + count * FIELD;
        if start > len {
            return Err(wrong(format!("{count} fields need {start} bytes, the file has {len}"), 2));
        }
        let described = source.read(task, HEAD..start)?;
        let (mut fields, mut at, mut aligned) = (Vec::new(), 0_u64, 1_u64);
        for (n, bytes) in described.chunks_exact(FIELD as usize).enumerate() {
            let place = HEAD + n as u64 * FIELD;
            let (name, kind, type_id) = field(bytes, place)?;
            let (size, align) = kind.layout();
            at = at.next_multiple_of(align);
            fields.push(Field { name, type_id, kind, at: at as usize });
            (at, aligned) = (at + size, aligned.max(align));
        }
        let row = at.next_multiple_of(aligned);
        let (samples, table) = (number(8), number(16));
        let there = (len - start) / row;
        let allocations = match (len.saturating_sub(table)) / ALLOCATION {
            0 => len..len,
            entries => table..table + entries * ALLOCATION,
        };
        Ok(Header { page, samples, rows: samples.min(there), fields, start, row, allocations })
    }

    /// What is wrong where not all samples have a row, or no table says how long images are.
    pub(super) fn problem(&self, len: u64) -> Option<Error> {
        if self.rows < self.samples {
            let (samples, rows) = (self.samples, self.rows);
            let what = format!("FFCV: {samples} samples, rows of {rows} are there; the file may be cut off");
            return Some(Error::malformed(what).at(8));
        }
        let needs = self.fields.iter().any(|field| !matches!(field.kind, Kind::Float | Kind::Int));
        if needs && self.samples > 0 && self.allocations.is_empty() {
            let what =
                format!("FFCV: the table of allocations is not in the {len} bytes; the file may be cut off");
            return Some(Error::malformed(what).at(16));
        }
        None
    }
}

/// A field's name, what it holds and the number of its type.
fn field(bytes: &[u8], place: u64) -> Result<(String, Kind, u8)> {
    let name = bytes.get(NAME).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    let type_id = bytes.first().copied().unwrap_or(255);
    let arguments = bytes.get(ARGUMENTS..).unwrap_or_default();
    let kind = match type_id {
        0 => Kind::Float,
        1 => Kind::Int,
        2 => Kind::Image,
        3 => Kind::Bytes,
        4 | 6 => array(arguments).map_err(|error| error.of(&format!("field {name:?}")).at(place))?,
        5 => Kind::Json,
        255 => {
            let what =
                format!("FFCV: field {name:?} is of a type of the writer's own, whose size is not said");
            return Err(Error::unsupported(what).at(place));
        }
        other => {
            return Err(
                Error::malformed(format!("FFCV: field {name:?} is of the unknown type {other}")).at(place)
            );
        }
    };
    Ok((name, kind, type_id))
}

/// Shape and type of elements.
fn array(arguments: &[u8]) -> Result<Kind> {
    let mut shape: Vec<u64> = (0..DIMENSIONS).map(|n| le::<u64>(arguments, n * 8).unwrap_or(0)).collect();
    while shape.last() == Some(&0) {
        shape.pop();
    }
    let length = le::<u64>(arguments, TYPE).unwrap_or(0);
    let length = usize::try_from(length).ok().and_then(|length| length.checked_add(TYPE + 8));
    let text = length.and_then(|end| arguments.get(TYPE + 8..end));
    let unknown = || Error::malformed("FFCV: the type of its elements is cut off or none");
    let described: serde_json::Value =
        serde_json::from_slice(text.ok_or_else(unknown)?).map_err(|_| unknown())?;
    if described.as_array().is_some_and(|fields| fields.len() > 1) {
        return Err(Error::unsupported("FFCV: elements of several fields"));
    }
    let word = described.pointer("/0/1").and_then(|word| word.as_str()).ok_or_else(unknown)?;
    let described = describe(&Literal { at: 0, value: Value::Str(word.to_owned()) })?;
    if described.object {
        return Err(Error::unsupported("FFCV: elements that are Python objects"));
    }
    limits::check(limits::bytes(&shape, described.dtype.size())?, limits::CHUNK, "an array")?;
    Ok(Kind::Array(described, shape))
}
