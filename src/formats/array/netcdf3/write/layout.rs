//! Where everything lies, and the header that says so.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::dtype::{DType, swap_bytes};
use crate::engines::attributes::Encoded;
use crate::engines::netcdf::attributes::list;
use crate::engines::netcdf::types::Stored;
use crate::engines::netcdf::{Kept, Model, fill_attribute};
use serde_json::Value as Json;

/// The largest offset of CDF-1, and the largest variables of CDF-1 and CDF-2.
const OFFSET: u64 = i32::MAX as u64;
const VARIABLE: [u64; 2] = [i32::MAX as u64 - 3, u32::MAX as u64 - 3];

/// A dimension in the header.
struct Dimension {
    name: String,
    /// 0 is the record dimension.
    len: u64,
}

/// Where a variable lies.
pub(super) struct Place {
    /// The number of its type.
    kind: u32,
    /// Bytes of one of its numbers.
    pub(super) size: usize,
    /// Bytes of one element of the source: several numbers, or the characters of a text.
    pub(super) element: u64,
    /// Bytes of all of it, or of one record, without padding.
    pub(super) bytes: u64,
    /// The first of them.
    pub(super) begin: u64,
    pub(super) recorded: bool,
    dimensions: Vec<usize>,
}

/// Everything's place.
pub(super) struct Layout<'a> {
    model: &'a Model,
    version: u8,
    dimensions: Vec<Dimension>,
    pub(super) places: Vec<Place>,
    /// Where values begin.
    pub(super) first: u64,
    /// How many records there are.
    pub(super) records: u64,
    /// Where the first record begins, and the bytes of one.
    pub(super) record: (u64, u64),
    /// Bytes of the file.
    pub(super) total: u64,
}

fn padded(bytes: u64) -> Result<u64> {
    bytes.checked_next_multiple_of(4).ok_or_else(|| Error::limit("a variable beyond 64 bits"))
}

/// The number of a type in the header.
fn kind(dtype: &DType) -> u32 {
    match dtype {
        DType::I8 => 1,
        DType::I16 => 3,
        DType::I32 => 4,
        DType::F32 => 5,
        DType::F64 => 6,
        DType::U8 => 7,
        DType::U16 => 8,
        DType::U32 => 9,
        DType::I64 => 10,
        DType::U64 => 11,
        _ => CHAR,
    }
}

const CHAR: u32 = 2;

impl<'a> Layout<'a> {
    /// The layout of a model whose texts are so wide; of the version that was asked for, or the smallest that will do.
    pub(super) fn of(model: &'a Model, widths: &[u64], asked: Option<u8>) -> Result<Self> {
        let record = record(model)?;
        let named = model.dimensions.iter().enumerate();
        let dimensions = named.map(|(n, dimension)| Dimension {
            name: dimension.name.clone(),
            len: if Some(n) == record { 0 } else { dimension.len },
        });
        let mut layout = Layout {
            model,
            version: 5,
            dimensions: dimensions.collect(),
            places: Vec::new(),
            first: 0,
            records: record.and_then(|n| model.dimensions.get(n)).map_or(0, |dimension| dimension.len),
            record: (0, 0),
            total: 0,
        };
        for (kept, width) in model.variables.iter().zip(widths) {
            let place = layout.place(kept, *width, record)?;
            layout.places.push(place);
        }
        let is_wide = layout.places.iter().any(|place| place.kind > 6) || layout.has_wide_attributes();
        let versions: Vec<u8> = match asked {
            Some(version) => vec![version],
            None if is_wide => vec![5],
            None => vec![1, 2, 5],
        };
        for version in &versions {
            layout.version = *version;
            layout.arrange()?;
            if layout.fits() {
                return Ok(layout);
            }
        }
        Err(Error::unsupported(format!(
            "the values are too large for version {}; version=2 holds variables of 4 GB, version=5 any",
            layout.version
        )))
    }

    fn has_wide_attributes(&self) -> bool {
        let own = self.model.variables.iter().map(|kept| &kept.attributes);
        let mut all = own.chain([&self.model.attributes]).flatten();
        all.any(|(_, value)| matches!(value, Encoded::Numbers(dtype, ..) if kind(dtype) > 6))
    }

    fn place(&mut self, kept: &Kept, width: u64, record: Option<usize>) -> Result<Place> {
        let mut dimensions = kept.dimensions.clone();
        let shape: Vec<u64> =
            dimensions.iter().filter_map(|n| self.model.dimensions.get(*n)).map(|d| d.len).collect();
        let recorded = record.is_some() && dimensions.first().copied() == record;
        if record.is_some_and(|record| dimensions.iter().skip(1).any(|n| *n == record)) {
            return Err(Error::unsupported(format!(
                "{:?}: the record dimension has to be the first one of a variable",
                kept.path
            )));
        }
        let (kind, size, element) = match &kept.stored {
            Stored::Number(number) => {
                let size = number.dtype.size();
                (kind(&number.dtype), size, size * number.inner.unwrap_or(1))
            }
            _ => {
                dimensions.push(self.text(width));
                (CHAR, 1, width)
            }
        };
        let elements = &shape.get(usize::from(recorded)..).unwrap_or_default();
        let inner = if let Stored::Number(number) = &kept.stored { number.inner } else { None };
        let elements =
            elements.len().checked_sub(usize::from(inner.is_some())).and_then(|end| elements.get(..end));
        let bytes = limits::bytes(elements.unwrap_or_default(), element)?;
        Ok(Place { kind, size: size as usize, element, bytes, begin: 0, recorded, dimensions })
    }

    /// The dimension of texts of this width.
    fn text(&mut self, width: u64) -> usize {
        let names =
            (1u64..).map(|n| if n == 1 { format!("string{width}") } else { format!("string{width}_{n}") });
        for name in names {
            match self.dimensions.iter().position(|dimension| dimension.name == name) {
                Some(known) if self.dimensions.get(known).is_some_and(|d| d.len == width) => return known,
                // A variable of this name would be taken for its coordinate.
                None if !self.model.variables.iter().any(|kept| kept.path == name) => {
                    self.dimensions.push(Dimension { name, len: width });
                    break;
                }
                _ => {}
            }
        }
        self.dimensions.len().saturating_sub(1)
    }

    /// Gives every variable its place behind the header.
    fn arrange(&mut self) -> Result<()> {
        let all = vec![true; self.places.len()];
        self.first = padded(self.header(&all).len() as u64)?;
        let recorded = self.places.iter().filter(|place| place.recorded).count();
        let add = |at: u64, bytes: u64| {
            at.checked_add(bytes).ok_or_else(|| Error::limit("a file of more than 64 bits of bytes"))
        };
        let mut at = self.first;
        for place in self.places.iter_mut().filter(|place| !place.recorded) {
            place.begin = at;
            at = add(at, padded(place.bytes)?)?;
        }
        let start = at;
        for place in self.places.iter_mut().filter(|place| place.recorded) {
            place.begin = at;
            // The records of the only variable that has any are not padded.
            at = add(at, if recorded == 1 { place.bytes } else { padded(place.bytes)? })?;
        }
        self.record = (start, at - start);
        let records = self.records.checked_mul(at - start);
        self.total = add(start, records.ok_or_else(|| Error::limit("records beyond 64 bits"))?)?;
        Ok(())
    }

    /// Whether the version has room for all offsets and sizes.
    fn fits(&self) -> bool {
        let most = match self.version {
            1 => VARIABLE[0],
            2 => VARIABLE[1],
            _ => return true,
        };
        let sides = self.dimensions.iter().all(|dimension| dimension.len <= OFFSET) && self.records <= OFFSET;
        let small = self.places.iter().all(|place| place.bytes <= most);
        sides && small && (self.version == 2 || self.places.iter().all(|place| place.begin <= OFFSET))
    }

    /// The header; `marked` says which variables have a value that stands for null.
    pub(super) fn header(&self, marked: &[bool]) -> Vec<u8> {
        let mut out = Bytes { out: b"CDF".to_vec(), version: self.version };
        out.out.push(self.version);
        out.number(self.records);
        out.list(10, self.dimensions.len());
        for dimension in &self.dimensions {
            out.name(&dimension.name);
            out.number(dimension.len);
        }
        out.attributes(&self.model.attributes.iter().collect::<Vec<_>>());
        out.list(11, self.places.len());
        for ((kept, place), marked) in self.model.variables.iter().zip(&self.places).zip(marked) {
            out.name(&kept.path);
            out.number(place.dimensions.len() as u64);
            place.dimensions.iter().for_each(|dimension| out.number(*dimension as u64));
            let fill = match &kept.stored {
                Stored::Number(number) if *marked && kept.source.nullable && !number.dtype.is_float() => {
                    Some(fill_attribute(&number.dtype))
                }
                _ => None,
            };
            let known = kept.attributes.iter().any(|(name, _)| name == "_FillValue");
            let all: Vec<&(String, Encoded)> =
                kept.attributes.iter().chain(fill.as_ref().filter(|_| !known)).collect();
            out.attributes(&all);
            out.out.extend(place.kind.to_be_bytes());
            let size = padded(place.bytes).unwrap_or(u64::MAX);
            out.number(if self.version == 5 { size } else { size.min(u32::MAX.into()) });
            match self.version {
                1 => out.out.extend((place.begin as u32).to_be_bytes()),
                _ => out.out.extend(place.begin.to_be_bytes()),
            }
        }
        out.out
    }
}

/// The dimension that counts records.
fn record(model: &Model) -> Result<Option<usize>> {
    let grows: Vec<usize> = (0..model.dimensions.len())
        .filter(|n| model.dimensions.get(*n).is_some_and(|d| d.unlimited))
        .collect();
    match grows.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        many => {
            let names: Vec<&str> =
                many.iter().filter_map(|n| model.dimensions.get(*n)).map(|d| d.name.as_str()).collect();
            Err(Error::unsupported(format!(
                "NetCDF classic has one dimension that can grow or has no length, not {}",
                names.join(" and ")
            )))
        }
    }
}

/// The bytes of a header.
struct Bytes {
    out: Vec<u8>,
    version: u8,
}

impl Bytes {
    /// A count or length: as wide as the version says.
    fn number(&mut self, number: u64) {
        match self.version {
            5 => self.out.extend(number.to_be_bytes()),
            _ => self.out.extend((number as u32).to_be_bytes()),
        }
    }

    /// The beginning of a list; zeros where there is none.
    fn list(&mut self, tag: u32, count: usize) {
        self.out.extend((if count == 0 { 0 } else { tag }).to_be_bytes());
        self.number(count as u64);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        self.out.resize(self.out.len() + bytes.len().wrapping_neg() % 4, 0);
    }

    fn name(&mut self, name: &str) {
        self.number(name.len() as u64);
        self.padded(name.as_bytes());
    }

    fn attributes(&mut self, all: &[&(String, Encoded)]) {
        self.list(12, all.len());
        for (name, value) in all {
            self.name(name);
            match value {
                Encoded::Numbers(dtype, bytes, _) if kind(dtype) != CHAR => {
                    let size = dtype.size().max(1) as usize;
                    let mut bytes = bytes.clone();
                    swap_bytes(&mut bytes, size);
                    self.value(kind(dtype), bytes.len() / size, &bytes);
                }
                Encoded::Numbers(dtype, bytes, _) => {
                    let text = Json::from(list(dtype, bytes)).to_string();
                    self.value(CHAR, text.len(), text.as_bytes());
                }
                Encoded::Text(text) => self.value(CHAR, text.len(), text.as_bytes()),
                Encoded::Texts(texts, _) => {
                    let text = texts.join(" ");
                    self.value(CHAR, text.len(), text.as_bytes());
                }
                Encoded::Nothing => self.value(CHAR, 0, &[]),
            }
        }
    }

    fn value(&mut self, kind: u32, count: usize, bytes: &[u8]) {
        self.out.extend(kind.to_be_bytes());
        self.number(count as u64);
        self.padded(bytes);
    }
}
