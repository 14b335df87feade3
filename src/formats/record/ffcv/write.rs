//! Writes betons as FFCV's `DatasetWriter` does: a head, the fields, a row for each sample, pages of data, and the table of
//! allocations. Integers and truth values are in the rows, floats too; JPEG files are images, other bytes are bytes, arrays
//! of one shape are arrays, all else is JSON. Payloads are copied, never decoded.
//! <https://docs.ffcv.io/writing_datasets.html>; the layout is that of `writer.py`, `types.py` and `fields` in
//! <https://github.com/libffcv/ffcv>.

use super::header::{ALLOCATION, ARGUMENTS, DIMENSIONS, FIELD, HEAD, NAME, PAGE, VERSION};
use crate::bytes::cache::Reservation;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::format::{loss, note};
use crate::data::scan::{put, scan};
use crate::engines::json::value_text::{self, NotFinite};
use crate::engines::samples::classes::{self, CLASSES};
use crate::engines::samples::columns::flat;
use crate::engines::samples::{Column, FILES, Flat, Form, LABEL, Leaf, Numbered};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Float32Type, Float64Type, Int64Type};
use std::collections::HashSet;
use std::io::SeekFrom;
use std::sync::Arc;

const IMAGES: OptionSpec = OptionSpec::new(
    "images",
    "Whether JPEG files become images, which FFCV decodes, or stay bytes; auto: where the first values of a column are",
)
.one_of("auto", &["auto", "bytes"]);
const PAGE_SIZE: OptionSpec = OptionSpec::new(
    "page_size",
    "Bytes of a page, a power of two from 2097152 on; nothing in a sample is larger",
)
.default("8388608");

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[IMAGES, PAGE_SIZE, LABEL, CLASSES, FILES],
    check: |payload| check(payload, &Options::default()),
    ..Writer::new(&[Kind::Table], losses, write)
};

/// Rows whose bytes are looked at for what they are.
const LOOKED: u64 = 16;
/// The most samples whose allocations are kept until the end.
const ALLOCATIONS: u64 = 1 << 28;

/// What a column becomes.
#[derive(Clone, Debug, PartialEq)]
enum Made {
    Int,
    Float,
    Image,
    Bytes,
    Json,
    Array(&'static str, Vec<usize>),
}

impl Made {
    /// What it becomes as far as its type tells; `None` for what has no values.
    fn of(flat: &Flat) -> Option<Made> {
        Some(match Form::of(&flat.data_type) {
            Form::Single(Leaf::Null) => return None,
            Form::Single(Leaf::Bool | Leaf::Int) => Made::Int,
            Form::Single(Leaf::Float | Leaf::Double) => Made::Float,
            Form::Single(Leaf::Bytes) => Made::Bytes,
            Form::Fixed(shape, leaf) if shape.len() <= DIMENSIONS => match leaf {
                Leaf::Int => Made::Array("<i8", shape),
                Leaf::Uint => Made::Array("<u8", shape),
                Leaf::Float => Made::Array("<f4", shape),
                Leaf::Double => Made::Array("<f8", shape),
                Leaf::Bool => Made::Array("|b1", shape),
                _ => Made::Json,
            },
            _ => Made::Json,
        })
    }

    /// The number of its type, and its bytes in a row with what its place is a multiple of.
    fn layout(&self) -> (u8, usize, usize) {
        match self {
            Made::Float => (0, 8, 8),
            Made::Int => (1, 8, 8),
            Made::Image => (2, 13, 1),
            Made::Bytes => (3, 16, 1),
            Made::Array(..) => (4, 8, 8),
            Made::Json => (5, 16, 1),
        }
    }
}

/// A field of the beton.
struct Field {
    flat: Flat,
    name: String,
    made: Made,
    /// Where it lies in a row.
    at: usize,
}

/// The name of a field: 16 bytes have room.
fn name_of(name: &str) -> String {
    let mut end = name.len().min(NAME.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default().to_owned()
}

/// The fields of a table as far as its schema tells them.
fn fields(payload: &Payload) -> Result<Vec<Field>> {
    let mut names = HashSet::new();
    let mut all = Vec::new();
    for flat in flat(payload.table()?.schema(), '.') {
        let Some(made) = Made::of(&flat) else { continue };
        let name = name_of(&flat.name);
        if name.is_empty() || name.contains('\0') || !names.insert(name.clone()) {
            let what = format!(
                "the column {:?}: FFCV tells fields apart by the first 16 bytes of their names",
                flat.name
            );
            return Err(Error::unsupported(what));
        }
        all.push(Field { flat, name, made, at: 0 });
    }
    if all.is_empty() { Err(Error::unsupported("the table has no columns with values")) } else { Ok(all) }
}

fn check(payload: &Payload, options: &Options) -> Result<()> {
    fields(&classes::named(payload, options)?).map(drop)
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(payload) = classes::named(payload, options) else { return Vec::new() };
    let Ok(table) = payload.table() else { return Vec::new() };
    let mut losses = Vec::new();
    for flat in flat(table.schema(), '.') {
        let column = table.schema().fields().get(flat.column).map_or("", |field| field.name());
        let word = display::arrow_type(&flat.data_type);
        let mut say = |made: Loss| losses.push(made.of(column));
        if name_of(&flat.name) != column {
            say(note(LossKind::Name, format!("it becomes the field {}", name_of(&flat.name))));
        }
        match Made::of(&flat) {
            None => say(loss(LossKind::Type, "a column of nulls is left out")),
            Some(Made::Int) => {
                say(note(LossKind::Type, format!("{word} becomes int64")).if_any());
            }
            Some(Made::Float) => say(note(LossKind::Type, format!("{word} becomes float64")).if_any()),
            Some(Made::Bytes | Made::Image) => {
                say(note(LossKind::Type, "JPEG files become images, all else bytes").if_any());
            }
            Some(Made::Array(..)) => {
                say(note(LossKind::Type, format!("{word} becomes an array of elements of 4 or 8 bytes"))
                    .if_any());
            }
            Some(Made::Json) => {
                say(note(LossKind::Type, "its values become JSON").if_any());
                say(note(LossKind::Nesting, "its values become JSON").if_any());
            }
        }
    }
    losses.push(
        note(LossKind::Null, "null stops the conversion, but of texts and lists, which are JSON").if_any(),
    );
    losses
}

/// Sides of a JPEG image, which its frame header says.
/// <https://www.w3.org/Graphics/JPEG/itu-t81.pdf>, B.2.2
fn sides(jpeg: &[u8]) -> Option<(u16, u16)> {
    let mut at = 2;
    if !jpeg.starts_with(b"\xff\xd8") {
        return None;
    }
    loop {
        let [0xff, marker] = *jpeg.get(at..at + 2)? else { return None };
        let number = |at: usize| Some(u16::from_be_bytes([*jpeg.get(at)?, *jpeg.get(at + 1)?]));
        match marker {
            0xff => at += 1,
            0x01 | 0xd0..=0xd7 => at += 2,
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((number(at + 7)?, number(at + 5)?));
            }
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::from(number(at + 2)?),
        }
    }
}

/// Makes images of the columns whose first values are JPEG files, and finds where fields lie in a row; its length.
fn settle(task: &Task, table: &Arc<dyn Table>, options: &Options, fields: &mut [Field]) -> Result<usize> {
    let images = options.choice(&IMAGES)? == "auto";
    for field in fields.iter_mut().filter(|field| images && field.made == Made::Bytes) {
        let read = table.read(task, 0..table.rows().number().min(LOOKED), &[field.flat.column])?;
        let column = Column::new(&field.name, &field.flat.clone().at(0).cells(&read)?)?;
        let mut values = (0..read.num_rows()).filter_map(|row| column.bytes(row)).peekable();
        if values.peek().is_some() && values.all(|bytes| sides(bytes).is_some()) {
            field.made = Made::Image;
        }
    }
    let (mut at, mut aligned) = (0_usize, 1_usize);
    for field in fields {
        let (_, size, align) = field.made.layout();
        field.at = at.next_multiple_of(align);
        (at, aligned) = (field.at + size, aligned.max(align));
    }
    Ok(at.next_multiple_of(aligned))
}

/// The description of a field.
fn described(field: &Field) -> Vec<u8> {
    let mut out = vec![field.made.layout().0];
    out.extend(field.name.as_bytes());
    out.resize(ARGUMENTS, 0);
    if let Made::Array(word, shape) = &field.made {
        shape.iter().for_each(|side| out.extend((*side as u64).to_le_bytes()));
        out.resize(ARGUMENTS + DIMENSIONS * 8, 0);
        let word = format!("[[\"\", \"{word}\"]]");
        out.extend((word.len() as u64).to_le_bytes());
        out.extend(word.as_bytes());
    }
    out.resize(FIELD as usize, 0);
    out
}

/// Samples of a batch: their rows without places, and what is to be placed.
struct Samples {
    rows: Vec<u8>,
    /// For each piece: its sample in the batch, where its place stands in a row, where it ends in the data.
    pieces: Vec<(usize, usize, usize)>,
    data: Vec<u8>,
}

/// The cells of a field.
struct Cells<'a> {
    field: &'a Field,
    column: Column,
    raw: ArrayRef,
}

impl Cells<'_> {
    /// Puts the cell of a sample into its row, or among what is to be placed.
    fn add(
        &self,
        n: usize,
        number: u64,
        row: &mut [u8],
        to: (&mut Vec<(usize, usize, usize)>, &mut Vec<u8>),
    ) -> Result<()> {
        let (pieces, data) = to;
        let at = self.field.at;
        let mut set = |at: usize, bytes: &[u8]| {
            for (to, from) in row.iter_mut().skip(at).zip(bytes) {
                *to = *from;
            }
        };
        let name = &self.field.name;
        let null =
            || Error::unsupported(format!("row {number}: {name:?} is null, which a beton does not have"));
        if self.field.made == Made::Json {
            let start = data.len();
            value_text::value(self.raw.as_ref(), n, NotFinite::Text, data);
            data.push(0);
            set(at + 8, &((data.len() - start) as u64).to_le_bytes());
            pieces.push((n, at, data.len()));
            return Ok(());
        }
        let range = self.column.range(n).ok_or_else(null)?;
        let values = &self.column.values;
        match (&self.field.made, self.column.form.leaf()) {
            (Made::Int, Leaf::Bool) => {
                set(at, &i64::from(values.as_boolean().value(range.start)).to_le_bytes())
            }
            (Made::Int, _) => set(at, &values.as_primitive::<Int64Type>().value(range.start).to_le_bytes()),
            (Made::Float, Leaf::Float) => {
                set(at, &f64::from(values.as_primitive::<Float32Type>().value(range.start)).to_le_bytes());
            }
            (Made::Float, _) => {
                set(at, &values.as_primitive::<Float64Type>().value(range.start).to_le_bytes())
            }
            (Made::Array(..), _) => {
                self.column.elements(range, data);
                pieces.push((n, at, data.len()));
            }
            (made, _) => {
                let bytes = self.column.bytes(n).unwrap_or_default();
                if *made == Made::Image {
                    let what = || {
                        Error::unsupported(format!(
                            "row {number}: {name:?} is no JPEG file as those before (images=bytes keeps all as bytes)"
                        ))
                    };
                    let (width, height) = sides(bytes).ok_or_else(what)?;
                    set(at + 1, &width.to_le_bytes());
                    set(at + 3, &height.to_le_bytes());
                } else {
                    set(at + 8, &(bytes.len() as u64).to_le_bytes());
                }
                data.extend_from_slice(bytes);
                pieces.push((n, if *made == Made::Image { at + 5 } else { at }, data.len()));
            }
        }
        Ok(())
    }
}

fn samples(fields: &[Field], row: usize, batch: &RecordBatch) -> Result<Samples> {
    let numbers =
        batch.columns().last().and_then(|column| column.as_primitive_opt::<arrow::datatypes::UInt64Type>());
    fn of<'a>(field: &'a Field, batch: &RecordBatch) -> Result<Cells<'a>> {
        let Field { flat, made, name, .. } = field;
        let raw = flat.cells(batch)?;
        let column = if *made == Made::Json { Column::texts(&raw) } else { Column::new(name, &raw)? };
        Ok(Cells { field, column, raw })
    }
    let cells: Vec<Cells> = fields.iter().map(|field| of(field, batch)).collect::<Result<_>>()?;
    let mut made = Samples { rows: vec![0; row * batch.num_rows()], pieces: Vec::new(), data: Vec::new() };
    for (n, bytes) in made.rows.chunks_exact_mut(row.max(1)).enumerate() {
        let number = numbers.filter(|numbers| n < numbers.len()).map_or(0, |numbers| numbers.value(n));
        for cells in &cells {
            cells.add(n, number, bytes, (&mut made.pieces, &mut made.data))?;
        }
    }
    Ok(made)
}

/// The pages of data: nothing in them lies on two.
struct Pages {
    size: u64,
    /// Where the next piece may lie.
    at: u64,
    /// Sample, place and size of each piece.
    allocations: Vec<[u64; 3]>,
}

impl Pages {
    /// Writes a piece of a sample; its place.
    fn add(&mut self, sample: u64, bytes: &[u8], sink: &mut dyn Sink) -> Result<u64> {
        let len = bytes.len() as u64;
        if len > self.size {
            let (len, size) = (display::bytes(len), display::bytes(self.size));
            let what = format!("sample {sample} has a value of {len}, and pages have {size}: set page_size");
            return Err(Error::unsupported(what));
        }
        let end = self.at.next_multiple_of(self.size);
        if self.at + len > end {
            fill(sink, end - self.at)?;
            self.at = end;
        }
        let place = self.at;
        put(sink, bytes)?;
        self.at += len;
        if len > 0 {
            limits::check(self.allocations.len() as u64, ALLOCATIONS, "the table of allocations")?;
            self.allocations.push([sample, place, len]);
        }
        Ok(place)
    }
}

fn fill(sink: &mut dyn Sink, mut count: u64) -> Result<()> {
    let zeros = [0_u8; 1 << 16];
    while count > 0 {
        let some = count.min(zeros.len() as u64);
        put(sink, zeros.get(..some as usize).unwrap_or_default())?;
        count -= some;
    }
    Ok(())
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let payload = classes::named(payload, options)?;
    let table = payload.table()?.clone();
    let page = options.number(&PAGE_SIZE, "it is no power of two from 2097152 on", |n: &u32| {
        n.is_power_of_two() && *n >= PAGE
    })?;
    let page = u64::from(page);
    let mut fields = fields(&payload)?;
    let row = settle(task, &table, options, &mut fields)?;
    let rows = table.count(task)?;
    let start = HEAD + fields.len() as u64 * FIELD;
    let end = rows.checked_mul(row as u64).and_then(|bytes| bytes.checked_add(start));
    let end = end.ok_or_else(|| Error::limit("the rows of the samples"))?;
    put(sink, &vec![0; HEAD as usize])?;
    for field in &fields {
        put(sink, &described(field))?;
    }
    let first = end.next_multiple_of(page);
    fill(sink, first - start)?;
    let mut pages = Pages { size: page, at: first, allocations: Vec::new() };
    let mut reserved = Reservation::new(0);
    let mut sample = 0_u64;
    scan(
        task,
        &Numbered::new(table, 0),
        |batch| samples(&fields, row, &batch),
        |mut made| {
            let mut from = 0;
            for (n, at, to) in made.pieces {
                let place =
                    pages.add(sample + n as u64, made.data.get(from..to).unwrap_or_default(), sink)?;
                from = to;
                for (byte, own) in made.rows.iter_mut().skip(n * row + at).zip(place.to_le_bytes()) {
                    *byte = own;
                }
            }
            reserved.set(pages.allocations.len() * 24);
            sink.seek(SeekFrom::Start(start + sample * row as u64))?;
            put(sink, &made.rows)?;
            sink.seek(SeekFrom::Start(pages.at))?;
            sample += (made.rows.len() / row.max(1)) as u64;
            Ok(())
        },
    )?;
    // The last page is whole, as the library reads it.
    let end = pages.at.next_multiple_of(page);
    fill(sink, end - pages.at)?;
    for allocations in pages.allocations.chunks(4_096) {
        task.check()?;
        let bytes: Vec<u8> = allocations.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
        debug_assert_eq!(bytes.len() as u64, allocations.len() as u64 * ALLOCATION);
        put(sink, &bytes)?;
    }
    let mut head = VERSION.to_le_bytes().to_vec();
    head.extend((fields.len() as u16).to_le_bytes());
    head.extend((page as u32).to_le_bytes());
    head.extend(rows.to_le_bytes());
    head.extend(end.to_le_bytes());
    sink.seek(SeekFrom::Start(0))?;
    put(sink, &head)?;
    sink.seek(SeekFrom::End(0))?;
    Ok(())
}
