//! Values of the house that hold nothing which reads: types, regions, facts, layouts, statistics, errors.

use super::{In, Out, Wire, choice, put_text, record, text, wrong};
use crate::bytes::error::{Defect, Error, ErrorKind, Result};
use crate::bytes::limits;
use crate::data::axes::Heading;
use crate::data::cf::{Calendar, Times};
use crate::data::content::array::{Chapter, MissingRegion, Scaling, Sound, Stored};
use crate::data::content::text::Line;
use crate::data::content::{
    Block, ColumnStatistics, Layout, Pixels, Rect, RowRanges, Rows, Sample, TableFacts,
};
use crate::data::curves::histograms::HistogramColumns;
use crate::data::curves::{CurveColumns, Presentation};
use crate::data::dtype::{Blocks, DType, Field, Long, Mini, Record, TimeBase, TimeUnit, Variable};
use crate::data::format::{Format, Options};
use crate::data::location::{FieldPlace, Within};
use crate::data::node::{Value, Version};
use crate::data::quantised::{self, Code, Quant};
use crate::data::region::{Region, Span};
use crate::data::security::{Report, Verdict};
use crate::formats::FORMATS;
use bytes::Bytes;
use std::sync::Arc;

record!(Span { start, count, step });
record!(Rect { x, y, width, height });
record!(TableFacts { row_groups, codecs, details, columns });
record!(Sound { codec, rate, bits, full, chapters });
record!(Chapter { start, end, title });
record!(Scaling { scale, offset, fill, valid });
record!(Layout { unit, blocks, grid });
record!(Block { name, first, count, stored, raw, missing });
record!(quantised::Block { span, bytes, elements });
record!(Quant { level, scale, offset });
record!(Code { value, bits });
record!(FieldPlace { bytes, encoding });
record!(Within { bytes, bits });
record!(Line { text, left_out });
record!(Version { time, operation, marks, details });
record!(Report { globals, suspects, effects, calls, verdict, fault });
record!(MissingRegion { part, error });
record!(Stored { regions, element, row });
record!(ColumnStatistics { min, max, exact, nulls, distinct });
record!(RowRanges { rows, columns });
record!(TimeUnit { count, base });
record!(Times { unit, epoch, part, calendar, zone });
record!(HistogramColumns { step, left, right, count });

choice!(Verdict { 0 Safe; 1 Unusual; 2 Dangerous; });
choice!(Rows { 0 Exact(n); 1 AtLeast(n); 2 About { rows, known }; });
choice!(Sample {
    0 U8; 1 U16; 2 U32; 3 U64; 4 I8; 5 I16; 6 I32; 7 I64; 8 F16; 9 F32; 10 F64; 11 C64; 12 C128;
});
choice!(Calendar { 0 Standard; 1 Gregorian; 2 NoLeap; 3 AllLeap; 4 Days360; 5 Julian; });
choice!(Heading {
    0 Right; 1 Left; 2 Anterior; 3 Posterior; 4 Superior; 5 Inferior; 6 North; 7 South; 8 East; 9 West; 10 Up;
});
choice!(TimeBase {
    0 Generic; 1 Year; 2 Month; 3 Week; 4 Day; 5 Hour; 6 Minute; 7 Second; 8 Milli; 9 Micro; 10 Nano; 11 Pico;
    12 Femto; 13 Atto;
});
choice!(Presentation { 0 Curves(columns); 1 Histograms(columns); });
choice!(CurveColumns {
    0 Rows { run, tag, step, wall_time, relative_time, value };
    1 Columns { step, values };
});
choice!(Defect { 0 Truncated; 1 Overlap; 2 Shards; });
choice!(ErrorKind {
    0 Io; 1 Malformed; 2 Unsupported; 3 Limit; 4 OtherFormat; 5 Cancelled; 6 Bug; 7 Crashed; 8 Refused;
});

impl Wire for Region {
    fn put(&self, out: &mut Out<'_>) {
        self.0.put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Wire::read(from).map(Region)
    }
}

impl Wire for Options {
    fn put(&self, out: &mut Out<'_>) {
        self.0.put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Wire::read(from).map(Options)
    }
}

impl Wire for Bytes {
    fn put(&self, out: &mut Out<'_>) {
        super::put_count(self.len(), out);
        out.bytes.extend_from_slice(self);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Vec::<u8>::read(from).map(Bytes::from)
    }
}

impl Wire for serde_json::Value {
    fn put(&self, out: &mut Out<'_>) {
        put_text(&self.to_string(), out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        // The parser has a limit of depth of its own.
        serde_json::from_str(text(from)?).map_err(|_| wrong("metadata that is no JSON"))
    }
}

choice!(Value { 0 Text(text); 1 Json(json); });

impl Wire for Error {
    fn put(&self, out: &mut Out<'_>) {
        self.kind().put(out);
        self.defect().put(out);
        put_text(self.what(), out);
        self.offset().put(out);
        self.node().map(str::to_owned).put(out);
        self.file().map(str::to_owned).put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (kind, defect) = (ErrorKind::read(from)?, Option::<Defect>::read(from)?);
        let mut error = Error::of_kind(kind, text(from)?);
        let (at, node, file) =
            (Option::<u64>::read(from)?, Option::<String>::read(from)?, Option::<String>::read(from)?);
        if let Some(defect) = defect {
            error = error.with_defect(defect);
        }
        if let Some(at) = at {
            error = error.at(at);
        }
        if let Some(node) = node {
            error = error.in_node(&node);
        }
        if let Some(file) = file {
            error = error.in_file(file);
        }
        Ok(error)
    }
}

/// A format by its place in the list.
impl Wire for &'static Format {
    fn put(&self, out: &mut Out<'_>) {
        let at = FORMATS.iter().position(|format| std::ptr::eq(*format, *self));
        match at.and_then(|at| u16::try_from(at).ok()) {
            Some(at) => at.put(out),
            None => out.fail(Error::bug(format!("{} is in no list", self.name))),
        }
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let at = usize::from(u16::read(from)?);
        FORMATS.get(at).copied().ok_or_else(|| wrong("a format that there is not"))
    }
}

/// One of a list that both processes have.
fn of_list<T: Copy>(list: impl IntoIterator<Item = T>, from: &mut In<'_>) -> Result<T> {
    let at = usize::from(from.byte()?);
    list.into_iter().nth(at).ok_or_else(|| wrong("a type that there is not"))
}

/// The place of a value in such a list.
fn in_list<T: PartialEq>(list: impl IntoIterator<Item = T>, value: &T, out: &mut Out<'_>) {
    let at = list.into_iter().position(|item| item == *value);
    match at.and_then(|at| u8::try_from(at).ok()) {
        Some(at) => out.bytes.push(at),
        None => out.fail(Error::bug("a type that is in no list")),
    }
}

impl Wire for Blocks {
    fn put(&self, out: &mut Out<'_>) {
        in_list(Blocks::ALL.iter().map(|line| line.0), self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        of_list(Blocks::ALL.iter().map(|line| line.0), from)
    }
}

impl Wire for Mini {
    fn put(&self, out: &mut Out<'_>) {
        in_list(Mini::ALL, self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        of_list(Mini::ALL, from)
    }
}

impl Wire for Long {
    fn put(&self, out: &mut Out<'_>) {
        out.bytes.push(match self {
            Long::Quad => 0,
            Long::X87(bytes) => *bytes as u8,
        });
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        match from.byte()? {
            0 => Ok(Long::Quad),
            bytes @ (10 | 12 | 16) => Ok(Long::X87(u32::from(bytes))),
            _ => Err(wrong("a type that there is not")),
        }
    }
}

choice!(DType {
    0 Bool; 1 I8; 2 I16; 3 I32; 4 I64; 5 U8; 6 U16; 7 U32; 8 U64; 9 F16; 10 BF16; 11 F32; 12 F64;
    13 Mini(kind); 14 Long(kind); 15 C32; 16 Blocks(kind); 17 C64; 18 C128; 19 Bytes(size); 20 Str(size);
    21 Void(size); 22 DateTime(unit); 23 TimeDelta(unit); 24 Struct(record); 25 Variable(variable);
});

record!(Field { name, dtype, shape, offset });
record!(Variable { word, arrow, reference });

impl Wire for Record {
    fn put(&self, out: &mut Out<'_>) {
        self.fields.put(out);
        self.size.put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (fields, size) = (Vec::<Field>::read(from)?, u64::read(from)?);
        let inside = |field: &Field| {
            field
                .bytes()
                .ok()
                .and_then(|bytes| field.offset.checked_add(bytes))
                .is_some_and(|end| end <= size)
        };
        if size > limits::CHUNK || !fields.iter().all(inside) {
            return Err(wrong("a field that lies outside of its record"));
        }
        Ok(Record { fields, size })
    }
}

impl Wire for Pixels {
    fn put(&self, out: &mut Out<'_>) {
        (self.width, self.height).put(out);
        (self.channels, self.sample, self.alpha).put(out);
        self.data.put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (width, height) = Wire::read(from)?;
        let (channels, sample, alpha): (u32, Sample, bool) = Wire::read(from)?;
        let data = Vec::<u8>::read(from)?;
        let bytes = limits::bytes(&[width, height, u64::from(channels)], sample.size() as u64)?;
        if bytes != data.len() as u64 {
            return Err(wrong("pixels of another number than the picture has"));
        }
        Ok(Pixels { width, height, channels, sample, alpha, data })
    }
}

impl Wire for ::arrow::datatypes::DataType {
    fn put(&self, out: &mut Out<'_>) {
        super::arrow::put_type(self, out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        super::arrow::take_type(from)
    }
}

impl Wire for ::arrow::array::UInt64Array {
    fn put(&self, out: &mut Out<'_>) {
        (Arc::new(self.clone()) as ::arrow::array::ArrayRef).put(out);
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        use ::arrow::array::AsArray;
        let array = ::arrow::array::ArrayRef::read(from)?;
        array.as_primitive_opt().cloned().ok_or_else(|| wrong("counts that are no numbers"))
    }
}
