//! The samples of a beton: where each field of each lies, as columns and as nodes.

use super::header::{ALLOCATION, Field, Header, Kind};
use crate::bytes::cache::Reservation;
use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ArrayImage, arrow_of, column};
use crate::data::content::array::Plain;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Array, Content, Rows, Table, TableFacts};
use crate::data::dtype::DType;
use crate::data::format::Options;
use crate::data::node::{Listing, Node, NodeStatistics, page_of};
use crate::engines::records::container::Problems;
use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanArray, Float64Array, Int64Array, RecordBatch, StringBuilder,
};
use arrow::datatypes::{DataType, Field as ArrowField, Schema, SchemaRef};
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Arrays of more elements are given as bytes: no cell is that long.
const ELEMENTS: u64 = 4_096;
/// The most allocations whose sizes are kept.
const KEPT: u64 = 1 << 26;
/// Allocations that are read at once.
const STEP: u64 = 1 << 16;
/// Bytes of samples in one step of a scan.
const SCANNED: u64 = 32 << 20;

/// An image in the table of samples.
const JPEG: u8 = 0;
const RAW: u8 = 1;

/// The file.
pub(super) struct Beton {
    pub(super) source: Source,
    pub(super) header: Header,
    pub(super) problems: Arc<Problems>,
    len: u64,
    sizes: Mutex<Option<Arc<Sizes>>>,
    schema: SchemaRef,
}

/// Where allocations begin and how long they are, in the order of their places.
struct Sizes {
    all: Vec<(u64, u64)>,
    _reservation: Reservation,
}

/// Where a field of a sample lies.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// In the row itself.
    Float(f64),
    Int(i64),
    /// Elsewhere in the file.
    At(Range<u64>),
    /// Samples of an image: its width and height.
    Pixels(Range<u64>, u16, u16),
}

impl Beton {
    /// The file with this head.
    pub(super) fn new(source: Source, header: Header, len: u64) -> Beton {
        let schema = Schema::new(header.fields.iter().map(arrow_field).collect::<Vec<_>>());
        let (problems, sizes) = (Arc::default(), Mutex::new(None));
        Beton { source, header, problems, len, sizes, schema: Arc::new(schema) }
    }

    /// The sizes of allocations by their places, read once.
    fn sizes(&self, task: &Task) -> Result<Arc<Sizes>> {
        let mut kept = self.sizes.lock();
        if let Some(sizes) = &*kept {
            return Ok(sizes.clone());
        }
        let table = &self.header.allocations;
        let count = limits::check((table.end - table.start) / ALLOCATION, KEPT, "the table of allocations")?;
        let reservation = Reservation::new(count * 16);
        let mut all = Vec::with_capacity(count);
        self.allocations(task, |_, place, size| {
            all.push((place, size));
            Ok(())
        })?;
        all.sort_unstable();
        let sizes = Arc::new(Sizes { all, _reservation: reservation });
        *kept = Some(sizes.clone());
        Ok(sizes)
    }

    /// Gives `each` the sample, the place and the size of all allocations, in the order of the table.
    fn allocations(&self, task: &Task, mut each: impl FnMut(u64, u64, u64) -> Result<()>) -> Result<()> {
        let table = self.header.allocations.clone();
        for start in (table.start..table.end).step_by((STEP * ALLOCATION) as usize) {
            task.check()?;
            let end = table.end.min(start + STEP * ALLOCATION);
            for entry in self.source.read(task, start..end)?.chunks_exact(ALLOCATION as usize) {
                let number = |n: usize| le::<u64>(entry, n * 8).unwrap_or(0);
                each(number(0), number(1), number(2))?;
            }
        }
        Ok(())
    }

    /// The rows of some samples.
    fn rows(&self, task: &Task, rows: Range<u64>) -> Result<Bytes> {
        let at = |n: u64| self.header.start + n * self.header.row;
        self.source.read(task, at(rows.start)..at(rows.end))
    }

    /// Where a field lies that a row says.
    fn place(&self, task: &Task, field: &Field, row: &[u8]) -> Result<Place> {
        let number = |at: usize| le::<u64>(row, field.at + at).unwrap_or(0);
        let side = |at: usize| le::<u16>(row, field.at + at).unwrap_or(0);
        let within = |start: u64, size: u64| {
            let end = start.checked_add(size).filter(|end| *end <= self.len);
            let what = || {
                Error::malformed(format!("FFCV: {size} bytes of {:?} lie outside of the file", field.name))
            };
            end.map(|end| start..end).ok_or_else(what)
        };
        Ok(match &field.kind {
            Kind::Float => Place::Float(f64::from_bits(number(0))),
            Kind::Int => Place::Int(number(0).cast_signed()),
            Kind::Bytes | Kind::Json => Place::At(within(number(0), number(8))?),
            Kind::Array(described, shape) => {
                Place::At(within(number(0), limits::bytes(shape, described.dtype.size())?)?)
            }
            Kind::Image => {
                let (width, height, start) = (side(1), side(3), number(5));
                match row.get(field.at).copied() {
                    Some(RAW) => {
                        let size = u64::from(width) * u64::from(height) * 3;
                        Place::Pixels(within(start, size)?, width, height)
                    }
                    Some(JPEG) => {
                        let sizes = self.sizes(task)?;
                        let n = sizes.all.partition_point(|(place, _)| *place < start);
                        let found = sizes.all.get(n).filter(|(place, _)| *place == start);
                        let what = || {
                            Error::malformed(format!(
                                "FFCV: no allocation says how long an image at {start} is"
                            ))
                        };
                        Place::At(within(start, found.ok_or_else(what)?.1)?)
                    }
                    mode => {
                        let mode = mode.unwrap_or(0);
                        return Err(Error::malformed(format!("FFCV: an image of the unknown mode {mode}")));
                    }
                }
            }
        })
    }

    /// One column of some rows.
    fn column(&self, task: &Task, field: &Field, rows: &[u8], first: u64) -> Result<ArrayRef> {
        let each = rows.chunks_exact(self.header.row.max(1) as usize).enumerate();
        let placed = |(n, row): (usize, &[u8])| match self.place(task, field, row).unless_cancelled()? {
            Ok(place) => Ok(Some(place)),
            Err(error) => {
                let number = first + n as u64;
                let at = self.header.start + number * self.header.row + field.at as u64;
                self.problems.add(error.of(&format!("sample {number}")).at(at));
                Ok(None)
            }
        };
        let places: Vec<Option<Place>> = each.map(placed).collect::<Result<_>>()?;
        let size = |place: &Option<Place>| match place {
            Some(Place::At(span) | Place::Pixels(span, ..)) => span.end - span.start,
            _ => 0,
        };
        let total = places.iter().map(size).fold(0_u64, u64::saturating_add);
        limits::check(total, limits::CHUNK, "a column")?;
        Ok(match &field.kind {
            Kind::Float => Arc::new(
                places
                    .iter()
                    .map(|place| match place {
                        Some(Place::Float(value)) => Some(*value),
                        _ => None,
                    })
                    .collect::<Float64Array>(),
            ),
            Kind::Int => Arc::new(
                places
                    .iter()
                    .map(|place| match place {
                        Some(Place::Int(value)) => Some(*value),
                        _ => None,
                    })
                    .collect::<Int64Array>(),
            ),
            Kind::Json => self.texts(task, field, &places, first)?,
            Kind::Array(described, shape) if is_listed(described.dtype.clone(), shape) => {
                let size = limits::bytes(shape, described.dtype.size())? as usize;
                let mut bytes = limits::buffer(size as u64 * places.len() as u64, "a column")?;
                for (place, out) in places.iter().zip(bytes.chunks_exact_mut(size.max(1))) {
                    if let Some(Place::At(span)) = place {
                        self.source.read_into(task, span.start, out)?;
                    }
                }
                described.order.to_little(&described.dtype, &mut bytes)?;
                let made = column(&described.dtype, shape, &bytes, places.len())?;
                let missing: BooleanArray = places.iter().map(|place| Some(place.is_none())).collect();
                arrow::compute::nullif(&made, &missing)?
            }
            Kind::Bytes | Kind::Array(..) | Kind::Image => {
                let mut all = BinaryBuilder::new();
                for place in &places {
                    match place {
                        Some(Place::At(span)) => all.append_value(self.source.read(task, span.clone())?),
                        Some(Place::Pixels(span, width, height)) => {
                            let pixels = self.source.read(task, span.clone())?;
                            all.append_value([netpbm(*width, *height).as_bytes(), &pixels].concat());
                        }
                        _ => all.append_null(),
                    }
                }
                Arc::new(all.finish())
            }
        })
    }

    fn texts(&self, task: &Task, field: &Field, places: &[Option<Place>], first: u64) -> Result<ArrayRef> {
        let mut texts = StringBuilder::new();
        for (number, place) in (first..).zip(places) {
            let Some(Place::At(span)) = place else {
                texts.append_null();
                continue;
            };
            let bytes = self.source.read(task, span.clone())?;
            match std::str::from_utf8(bytes.strip_suffix(b"\0").unwrap_or(&bytes)) {
                // Texts stand without their quotes; what else JSON has is shown as it is written.
                Ok(text) if text.starts_with('"') => match serde_json::from_str::<String>(text) {
                    Ok(text) => texts.append_value(text),
                    Err(_) => texts.append_value(text),
                },
                Ok("null") => texts.append_null(),
                Ok(text) => texts.append_value(text),
                Err(_) => {
                    let what = format!("FFCV: sample {number}: {:?} is no text", field.name);
                    self.problems.add(Error::malformed(what).at(span.start));
                    texts.append_null();
                }
            }
        }
        Ok(Arc::new(texts.finish()))
    }

    /// A field of a sample as a node.
    fn node(&self, task: &Task, field: &Field, row: &[u8]) -> Result<Node> {
        let named = |label| Node::new(&field.name, label);
        let word = field.kind.word(field.type_id);
        let member = |span: &Range<u64>| self.source.member(&field.name, span.clone());
        let node = match self.place(task, field, row)? {
            Place::Float(value) => named(word).value(crate::data::cell::float64(value)),
            Place::Int(value) => named(word).value(value.to_string()),
            Place::Pixels(span, width, height) => {
                let shape = vec![u64::from(height), u64::from(width), 3];
                let plain = Plain::new(self.source.clone(), span.start, DType::U8, shape)?;
                let image = ArrayImage::new(Arc::new(plain))?;
                named(word).content(Content::Image(Arc::new(image))).span(span)
            }
            Place::At(span) => match &field.kind {
                Kind::Array(described, shape) => {
                    let plain =
                        Plain::new(self.source.clone(), span.start, described.dtype.clone(), shape.clone())?;
                    let array: Arc<dyn Array> = Arc::new(plain.byte_order(described.order.clone()));
                    named(word).content(Content::Array(array)).span(span)
                }
                Kind::Json => {
                    let bytes =
                        self.source.read_up_to(task, span.end.saturating_sub(1).max(span.start), 1)?;
                    let end =
                        if bytes.first() == Some(&0) && !span.is_empty() { span.end - 1 } else { span.end };
                    let text = member(&(span.start..end))?;
                    crate::formats::ALL.nested_now(task, &field.name, word, &text, &Options::default())?
                }
                _ if span.is_empty() => named(word).content(Content::Bytes(member(&span)?)),
                _ => crate::formats::ALL.nested_now(
                    task,
                    &field.name,
                    word,
                    &member(&span)?,
                    &Options::default(),
                )?,
            },
        };
        Ok(node)
    }

    /// A sample as a node, with its fields below.
    fn sample(&self, task: &Task, number: u64) -> Result<Node> {
        let row = self.rows(task, number..number + 1)?;
        let field = |field: &Field| match self.node(task, field, &row).unless_cancelled()? {
            Ok(node) => Ok(node),
            Err(error) => Ok(Node::new(&field.name, field.kind.word(field.type_id)).problem(error)),
        };
        let fields = self.header.fields.iter().map(field).collect::<Result<Vec<_>>>()?;
        Ok(Node::new(number.to_string(), "sample").listed(fields))
    }
}

/// What pixels become a file with: the head of a Netpbm picture, so that a cell holds a picture whatever its mode.
fn netpbm(width: u16, height: u16) -> String {
    format!("P6\n{width} {height}\n255\n")
}

/// Whether an array is given as lists of numbers.
fn is_listed(dtype: DType, shape: &[u64]) -> bool {
    arrow_of(&dtype).is_some() && limits::elements(shape).is_ok_and(|count| count > 0 && count <= ELEMENTS)
}

fn arrow_field(field: &Field) -> ArrowField {
    let data_type = match &field.kind {
        Kind::Float => DataType::Float64,
        Kind::Int => DataType::Int64,
        Kind::Json => DataType::Utf8,
        Kind::Array(described, shape) if is_listed(described.dtype.clone(), shape) => {
            let inner = arrow_of(&described.dtype).map_or(DataType::Null, |(inner, _)| inner);
            shape.iter().rev().fold(inner, |inner, side| {
                DataType::FixedSizeList(Arc::new(ArrowField::new("item", inner, true)), *side as i32)
            })
        }
        Kind::Image | Kind::Bytes | Kind::Array(..) => DataType::Binary,
    };
    ArrowField::new(&field.name, data_type, true)
}

/// The samples as rows.
pub(super) struct SampleTable(pub(super) Arc<Beton>);

impl Table for SampleTable {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.0.header.rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let beton = &self.0;
        let rows = cut(&rows, beton.header.rows);
        let bytes = beton.rows(task, rows.clone())?;
        let made = |n: &usize| {
            let field = beton.header.fields.get(*n);
            let field = field.ok_or_else(|| Error::bug(format!("column {n} was asked for")))?;
            beton.column(task, field, &bytes, rows.start)
        };
        let made = columns.iter().map(made).collect::<Result<Vec<_>>>()?;
        batch(&beton.schema, columns, made, (rows.end - rows.start) as usize)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        (SCANNED / (self.0.len / self.0.header.rows.max(1)).max(1)).clamp(1, 1 << 16)
    }

    fn facts(&self) -> TableFacts {
        let mut facts = TableFacts::default();
        facts.details.push(("page size".to_owned(), display::bytes(u64::from(self.0.header.page))));
        let of = |field: &Field| {
            let mut lines = vec![("field".to_owned(), field.kind.word(field.type_id).to_owned())];
            if matches!(field.kind, Kind::Image) {
                lines.push((
                    "raw pixels".to_owned(),
                    "as PPM: with a line for their size before them".to_owned(),
                ));
            }
            lines
        };
        facts.columns = self.0.header.fields.iter().map(of).collect();
        facts
    }
}

/// The samples as children.
pub(super) struct Below(pub(super) Arc<Beton>);

impl Below {
    fn child(&self, number: u64) -> Arc<Node> {
        let beton = self.0.clone();
        Arc::new(Node::deferred(number.to_string(), "sample", move |task| beton.sample(task, number)))
    }
}

impl Listing for Below {
    fn count(&self) -> Option<u64> {
        Some(self.0.header.rows)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| Ok(Some(self.child(n))))
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        let number = name.parse::<u64>().ok().filter(|n| n.to_string() == name && *n < self.0.header.rows);
        Ok(number.map(|number| self.child(number)))
    }
}

/// All allocations, in the order of their table.
pub(super) struct Statistics(pub(super) Arc<Beton>);

impl NodeStatistics for Statistics {
    fn kind(&self) -> &'static str {
        "records"
    }

    fn statistics(&self, task: &Task) -> Result<Vec<(&'static str, serde_json::Value)>> {
        let (mut bytes, mut crc32) = (0_u64, crc32fast::Hasher::new());
        let table = &self.0.header.allocations;
        task.set_total((table.end - table.start) / ALLOCATION);
        self.0.allocations(task, |sample, place, size| {
            task.advance(1)?;
            let read = limits::check(size, limits::CHUNK, "an allocation")
                .and_then(|_| self.0.source.read(task, place..place.saturating_add(size)));
            match read.unless_cancelled()? {
                Ok(read) => {
                    crc32.update(&read);
                    bytes = bytes.saturating_add(size);
                }
                Err(error) => self.0.problems.add(error.of(&format!("sample {sample}"))),
            }
            Ok(())
        })?;
        let records = self.0.header.rows;
        Ok(vec![("records", records.into()), ("bytes", bytes.into()), ("crc32", crc32.finalize().into())])
    }
}
