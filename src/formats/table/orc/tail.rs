//! The end of a file: postscript and footer; and the footer of each stripe.
//!
//! Specification: <https://orc.apache.org/specification/ORCv1/#file-tail>; messages:
//! <https://github.com/apache/orc-format/blob/main/src/main/proto/orc/proto/orc_proto.proto>.

use super::stream::{Codec, Packing, Stream};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::protobuf::{Field, Part, Value};
use std::ops::Range;

/// The chunk that compressed data comes in where the postscript does not say it, in bytes.
const CHUNK: u64 = 256 << 10;

/// What postscript and footer say.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) packing: Packing,
    /// Numbers of the format's version: 0.11, 0.12, 1.9999.
    pub(super) version: Vec<u32>,
    pub(super) stripes: Vec<Stripe>,
    pub(super) types: Vec<Type>,
    /// User metadata, in file order.
    pub(super) metadata: Vec<(String, Vec<u8>)>,
    /// Of each type, by its number.
    pub(super) statistics: Vec<Statistics>,
    pub(super) row_index_stride: u64,
    pub(super) software: Option<String>,
    /// Whether some columns are encrypted.
    pub(super) encrypted: bool,
}

/// Where a stripe is, in bytes, and how many rows it has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stripe {
    pub(super) offset: u64,
    pub(super) index: u64,
    pub(super) data: u64,
    pub(super) footer: u64,
    pub(super) rows: u64,
}

/// A type as the footer lists it, in the order of a walk through the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Type {
    /// The number of its kind.
    pub(super) kind: u64,
    /// Numbers of the types below.
    pub(super) children: Vec<u32>,
    pub(super) names: Vec<String>,
    pub(super) precision: u32,
    pub(super) scale: u32,
}

/// Statistics of a column. What a writer left out is `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct Statistics {
    /// Values that are not null.
    pub(super) values: Option<u64>,
    pub(super) kind: Extremes,
}

/// The smallest and the largest value.
#[derive(Clone, Debug, Default)]
pub(super) enum Extremes {
    #[default]
    None,
    Int(Option<i64>, Option<i64>),
    Double(Option<f64>, Option<f64>),
    /// Texts, and whether they are the values themselves (else they are bounds).
    Text(Option<(String, bool)>, Option<(String, bool)>),
    Decimal(Option<String>, Option<String>),
    /// Days since 1970.
    Date(Option<i64>, Option<i64>),
    /// Milliseconds since 1970 in the writer's time zone, and the same in UTC.
    Timestamp {
        local: [Option<i64>; 2],
        utc: [Option<i64>; 2],
    },
}

/// What a stripe's footer says.
#[derive(Debug, Default)]
pub(super) struct StripeFooter {
    /// The file's bytes of each stream, with its kind and the number of its type.
    pub(super) streams: Vec<(StreamKind, u32, Range<u64>)>,
    pub(super) encodings: Vec<Encoding>,
    pub(super) zone: Option<String>,
}

/// What a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    Present,
    Data,
    Length,
    DictionaryData,
    Secondary,
    Encrypted,
    Other,
}

/// How a column's values are encoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encoding {
    /// Integers are in version 2 of the run length encoding.
    pub(super) v2: bool,
    pub(super) dictionary: bool,
    /// The dictionary's entries.
    pub(super) size: u32,
    /// Another one, of this number. Writers put any there for a column without streams.
    pub(super) unknown: Option<u64>,
}

/// Reads the end of a file of `len` bytes.
///
/// # Errors
/// `Malformed` where it is cut off, `Unsupported` for an unknown compression.
pub(super) fn read(task: &Task, source: &Source, len: u64) -> Result<Tail> {
    let short = || Error::malformed(format!("ORC: the file has {len} bytes, too few for a postscript"));
    let last = len.checked_sub(1).ok_or_else(short)?;
    let size = source.read(task, last..len)?.first().copied().map_or(0, u64::from);
    let start = last.checked_sub(size).filter(|_| size > 0).ok_or_else(short)?;
    let bytes = source.read(task, start..last)?;
    let mut tail = Tail::default();
    let (mut footer, mut compression, mut chunk) = (0, 0, CHUNK);
    each(Part::new(&bytes, start), |number, value| {
        match number {
            1 => footer = value.uint(),
            2 => compression = value.uint(),
            3 => chunk = value.uint(),
            4 => value.numbers(&mut tail.version)?,
            _ => {}
        }
        Ok(())
    })
    .map_err(|e| e.of("ORC postscript").at(start))?;
    tail.packing = Packing { codec: Codec::of(compression)?, chunk: chunk.min(limits::CHUNK) as usize };
    // The dialect of Meta has the number of its writer there: one, where ORC has two.
    if tail.version.len() == 1 {
        return Err(Error::unsupported("DWRF, a dialect of ORC"));
    }
    let at = start.checked_sub(footer).filter(|_| footer > 0).ok_or_else(|| {
        Error::malformed(format!("ORC: a footer of {footer} bytes does not fit a file of {len}")).at(start)
    })?;
    let bytes = Stream::new(task, source, tail.packing, at..start)
        .all(limits::HEADER, "the footer")
        .map_err(|e| e.of("ORC footer").at(at))?;
    each(Part::decoded(&bytes), |number, value| tail.field(number, value))
        .map_err(|e| e.of("ORC footer").at(at))?;
    for stripe in &tail.stripes {
        let parts = [stripe.index, stripe.data, stripe.footer];
        let end = parts.iter().try_fold(stripe.offset, |sum, part| sum.checked_add(*part));
        if end.is_none_or(|end| end > len) {
            let what = format!("ORC footer: the stripe at {} is not within the file", stripe.offset);
            return Err(Error::malformed(what).at(at));
        }
    }
    Ok(tail)
}

impl Tail {
    fn field(&mut self, number: u32, value: Value) -> Result<()> {
        match number {
            3 => self.stripes.push(stripe(value.part())?),
            4 => self.types.push(type_of(value.part())?),
            5 => {
                let (mut name, mut content) = (String::new(), Vec::new());
                each(value.part(), |number, value| {
                    match number {
                        1 => name = value.text(),
                        2 => content = value.part().bytes().to_vec(),
                        _ => {}
                    }
                    Ok(())
                })?;
                self.metadata.push((name, content));
            }
            7 => self.statistics.push(statistics(value.part())?),
            8 => self.row_index_stride = value.uint(),
            10 => self.encrypted = true,
            12 => self.software = Some(value.text()),
            _ => {}
        }
        Ok(())
    }

    /// The footer of a stripe.
    ///
    /// # Errors
    /// `Malformed` where it does not parse or its streams are not in the stripe.
    pub(super) fn stripe_footer(
        &self,
        task: &Task,
        source: &Source,
        stripe: &Stripe,
    ) -> Result<StripeFooter> {
        let at = stripe.offset + stripe.index + stripe.data;
        let bytes = Stream::new(task, source, self.packing, at..at + stripe.footer)
            .all(limits::HEADER, "the footer of a stripe")
            .map_err(|e| e.of("ORC stripe footer").at(at))?;
        let mut footer = StripeFooter::default();
        let mut start = stripe.offset;
        each(Part::decoded(&bytes), |number, value| {
            match number {
                1 => {
                    let (kind, column, len) = stream(value.part())?;
                    let end = start.checked_add(len).filter(|&end| end <= at);
                    let end = end.ok_or_else(|| Error::malformed("a stream is not within its stripe"))?;
                    footer.streams.push((kind, column, start..end));
                    start = end;
                }
                2 => footer.encodings.push(encoding(value.part())?),
                3 => footer.zone = Some(value.text()).filter(|zone| !zone.is_empty()),
                _ => {}
            }
            Ok(())
        })
        .map_err(|e| e.of("ORC stripe footer").at(at))?;
        Ok(footer)
    }
}

impl StripeFooter {
    /// The streams of values: not the presence, which is encoded in one way only, nor indexes.
    pub(super) fn data(&self) -> impl Iterator<Item = &(StreamKind, u32, Range<u64>)> {
        self.streams.iter().filter(|(kind, ..)| !matches!(kind, StreamKind::Present | StreamKind::Other))
    }

    /// Where a column's stream is, if it has one.
    pub(super) fn stream(&self, kind: StreamKind, column: u32) -> Option<Range<u64>> {
        self.streams.iter().find(|(k, c, _)| *k == kind && *c == column).map(|(_, _, range)| range.clone())
    }
}

/// Calls `take` with number and value of every field of a message.
fn each<'a>(message: Part<'a>, mut take: impl FnMut(u32, Value<'a>) -> Result<()>) -> Result<()> {
    message.fields().try_for_each(|field| field.and_then(|Field { number, value, .. }| take(number, value)))
}

/// The first fields of a message, by their numbers from 1 on.
fn first<'a, T, const N: usize>(message: Part<'a>, of: fn(Value<'a>) -> T) -> Result<[Option<T>; N]> {
    let mut out = [const { None }; N];
    each(message, |number, value| {
        if let Some(slot) = number.checked_sub(1).and_then(|n| out.get_mut(n as usize)) {
            *slot = Some(of(value));
        }
        Ok(())
    })?;
    Ok(out)
}

fn stripe(part: Part) -> Result<Stripe> {
    let [offset, index, data, footer, rows] = first(part, Value::uint)?.map(Option::unwrap_or_default);
    Ok(Stripe { offset, index, data, footer, rows })
}

fn type_of(part: Part) -> Result<Type> {
    let mut out = Type::default();
    each(part, |number, value| {
        match number {
            1 => out.kind = value.uint(),
            2 => value.numbers(&mut out.children)?,
            3 => out.names.push(value.text()),
            5 => out.precision = value.small()?,
            6 => out.scale = value.small()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(out)
}

fn stream(part: Part) -> Result<(StreamKind, u32, u64)> {
    let [kind, column, len] = first(part, Value::uint)?.map(Option::unwrap_or_default);
    let kind = match kind {
        0 => StreamKind::Present,
        1 => StreamKind::Data,
        2 => StreamKind::Length,
        3 => StreamKind::DictionaryData,
        5 => StreamKind::Secondary,
        9 | 10 => StreamKind::Encrypted,
        _ => StreamKind::Other,
    };
    Ok((kind, Value::Varint(column).small()?, len))
}

fn encoding(part: Part) -> Result<Encoding> {
    let mut out = Encoding::default();
    each(part, |number, value| {
        match (number, value.uint()) {
            (1, kind @ 0..=3) => (out.v2, out.dictionary) = (kind >= 2, kind % 2 == 1),
            (1, other) => out.unknown = Some(other),
            (2, _) => out.size = value.small()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(out)
}

fn statistics(part: Part) -> Result<Statistics> {
    let mut out = Statistics::default();
    each(part, |number, value| {
        match number {
            1 => out.values = Some(value.uint()),
            2 | 7 => {
                let [min, max] = first(value.part(), Value::zigzag)?;
                out.kind = if number == 2 { Extremes::Int(min, max) } else { Extremes::Date(min, max) };
            }
            3 => {
                let [min, max] = first(value.part(), Value::double)?.map(Option::flatten);
                out.kind = Extremes::Double(min, max);
            }
            4 => out.kind = texts(value.part())?,
            6 => {
                let [min, max] = first(value.part(), Value::text)?;
                out.kind = Extremes::Decimal(min, max);
            }
            9 => {
                let [min, max, utc_min, utc_max] = first(value.part(), Value::zigzag)?;
                out.kind = Extremes::Timestamp { local: [min, max], utc: [utc_min, utc_max] };
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(out)
}

fn texts(part: Part) -> Result<Extremes> {
    // Between the values and their bounds stands the sum of lengths.
    let [min, max, _, low, high] = first(part, Value::text)?;
    let either = |exact: Option<String>, bound: Option<String>| {
        exact.map(|text| (text, true)).or(bound.map(|text| (text, false)))
    };
    Ok(Extremes::Text(either(min, low), either(max, high)))
}
