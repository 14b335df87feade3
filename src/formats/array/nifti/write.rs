//! Writes NIfTI-1 and NIfTI-2 in one file: header, no extensions, the values with the first index fastest; plain or
//! compressed with gzip. <https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h>,
//! <https://nifti.nimh.nih.gov/pub/dist/doc/nifti2.h>.
//!
//! What a header said when it was read — place in space, units, scale, descriptions — is written again; what of the
//! attributes it has no place for is found out by reading the header that will be written.

mod fields;
mod space;

use super::header::Header;
use crate::bytes::codec::deflating::{Deflating, Wrapper};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::column_order::elements_by_columns;
use crate::data::content::{Array, Kind};
use crate::data::dtype::{DType, Long};
use crate::data::format::{
    Attributes, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, loss, note,
};
use crate::data::node::Node;
use crate::data::scan::{array_bytes, put};
use crate::engines::headers::{attribute_losses, axis_losses, kept, names};
use crate::engines::widen::{widen, widened};
use fields::Fields;
use std::sync::Arc;

const COMPRESS: OptionSpec =
    OptionSpec::new("compress", "Whether the file is compressed with gzip; auto: where its name ends in .gz")
        .one_of("auto", &["auto", "gzip", "none"]);
const LEVEL: OptionSpec = OptionSpec::new("level", "How hard gzip tries: 1 is fast, 9 is small")
    .one_of("6", &["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
const VERSION: OptionSpec =
    OptionSpec::new("version", "The version of NIfTI; auto: 1, and 2 where a dimension is longer than 32767")
        .one_of("auto", &["auto", "1", "2"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    metadata: Metadata::Header,
    options: &[COMPRESS, LEVEL, VERSION],
    check: |payload| prepared(payload.array()?).map(drop),
    ..Writer::new(&[Kind::Array], losses, write)
};

/// The longest side of NIfTI-1.
const SHORT: u64 = i16::MAX as u64;

/// Types with their codes. Long doubles are x87's, in 16 bytes.
const TYPES: [(i16, DType); 13] = [
    (2, DType::U8),
    (4, DType::I16),
    (8, DType::I32),
    (16, DType::F32),
    (32, DType::C64),
    (64, DType::F64),
    (256, DType::I8),
    (512, DType::U16),
    (768, DType::U32),
    (1024, DType::I64),
    (1280, DType::U64),
    (1536, DType::Long(Long::X87(16))),
    (1792, DType::C128),
];

/// Values as they are written.
struct Prepared {
    /// Of a type that NIfTI has.
    array: Arc<dyn Array>,
    code: i16,
    losses: Vec<Loss>,
}

/// An array as NIfTI holds it.
///
/// # Errors
/// `Unsupported` for types and shapes that it has not.
fn prepared(array: &Arc<dyn Array>) -> Result<Prepared> {
    let shape = array.shape();
    if shape.len() > 7 {
        return Err(Error::unsupported(format!("{} dimensions: NIfTI has at most 7", shape.len())));
    }
    if shape.contains(&0) {
        return Err(Error::unsupported("NIfTI has no arrays without values"));
    }
    let mut losses = Vec::new();
    if shape.is_empty() {
        losses.push(note(LossKind::Type, "a single value becomes an array of one"));
    }
    let record = |names: &[&str], dtype: &DType| *array.dtype() == super::record(names, dtype.clone());
    let long = DType::Long(Long::X87(16));
    for (code, names, dtype) in [
        (128, &["R", "G", "B"][..], &DType::U8),
        (2304, &["R", "G", "B", "A"][..], &DType::U8),
        (2048, &["real", "imaginary"][..], &long),
    ] {
        if record(names, dtype) {
            return Ok(Prepared { array: array.clone(), code, losses });
        }
    }
    let has = TYPES.map(|(_, dtype)| dtype);
    let Some((to, lost)) = widened(array.dtype(), &has) else {
        return Err(Error::unsupported(format!("NIfTI has no {}", array.dtype())));
    };
    losses.extend(lost);
    let code = TYPES.iter().find(|(_, dtype)| *dtype == to).map(|(code, _)| *code);
    let code = code.ok_or_else(|| Error::bug(format!("{to} has no code")))?;
    Ok(Prepared { array: widen(array.clone(), &to), code, losses })
}

/// The header of these values.
fn header(payload: &Payload, prepared: &Prepared, options: &Options) -> Result<Vec<u8>> {
    let long = prepared.array.shape().iter().any(|side| *side > SHORT);
    let is_second = match options.choice(&VERSION)? {
        "2" => true,
        "1" if long => {
            let what = format!("version=1: a dimension is longer than {SHORT}; version 2 has such");
            return Err(Error::unsupported(what));
        }
        _ => long,
    };
    let fields = Fields::new(&attributes(payload), prepared.array.as_ref(), prepared.code)?;
    Ok(if is_second { fields.second() } else { fields.first() })
}

/// All that is said of the volume: of itself, then of what it lies in.
fn attributes(payload: &Payload) -> Attributes {
    let mut all = payload.attributes.clone();
    for part in payload.parts.values() {
        all.join(part.clone());
    }
    all
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok(array) = payload.array() else { return Vec::new() };
    let Ok(prepared) = prepared(array) else { return Vec::new() };
    let read = header(payload, &prepared, options).and_then(|bytes| Header::parse(&bytes));
    let mut losses = prepared.losses;
    let Ok(read) = read else { return losses };
    let attributes = attributes(payload);
    let mut node = Node::new("", "volume");
    super::describe(&read, &mut node);
    let kept = kept(&attributes, &node.attributes);
    attribute_losses(&kept, "NIfTI", "", &mut losses);
    if !kept.new.is_empty() {
        let what = format!("the header says where voxels lie and what they are ({})", names(&kept.new));
        losses.push(note(LossKind::Metadata, what));
    }
    axis_losses(&array.facts(), array.shape().len(), &super::axes(&read), "", &mut losses);
    losses.extend(scale_losses(array.as_ref(), &read));
    losses
}

/// What of the scale of the values does not stay.
fn scale_losses(array: &dyn Array, read: &Header) -> Vec<Loss> {
    let Some(from) = array.facts().scaling.filter(|_| array.dtype().is_real()) else { return Vec::new() };
    let mut losses = Vec::new();
    if !from.fill.is_empty() || from.valid.is_some() {
        let what = "NIfTI does not say which values are missing: they are written as all others";
        losses.push(loss(LossKind::Scale, what));
    }
    let exact = super::scaling(read).is_some_and(|to| (to.scale, to.offset) == (from.scale, from.offset));
    if !exact && !from.is_identity() {
        losses.push(note(LossKind::Scale, "scale and offset are rounded to float32").if_any());
    }
    losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let prepared = prepared(payload.array()?)?;
    let head = header(payload, &prepared, options)?;
    let is_packed = match options.choice(&COMPRESS)? {
        "gzip" => true,
        "none" => false,
        _ => sink.name().is_some_and(|name| name.to_ascii_lowercase().ends_with(".gz")),
    };
    let array = prepared.array.as_ref();
    task.set_total(array_bytes(array)?);
    if !is_packed {
        put(sink, &head)?;
        return elements_by_columns(task, array, &mut |bytes| put(sink, bytes));
    }
    let level = options.choice(&LEVEL)?.parse().unwrap_or(6);
    let mut stream = Deflating::new(sink, Wrapper::Gzip, level)?;
    stream.put(&head)?;
    elements_by_columns(task, array, &mut |bytes| stream.put(bytes))?;
    stream.finish().map(drop)
}

#[cfg(test)]
mod tests;
