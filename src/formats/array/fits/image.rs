//! Images, and the records of random groups.

use super::header::Header;
use super::{sky, wcs};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::adapt::MappedArray;
use crate::data::content::array::{Plain, Scaling};
use crate::data::content::{Array, ArrayFacts, Content};
use crate::data::dtype::{DType, Field, Record};
use crate::data::node::Node;
use std::sync::Arc;

/// How stored pixels are to be understood.
pub(super) struct Pixels {
    /// As they are stored.
    pub stored: DType,
    /// As they are given: integers with the offset of their kind are of the other sign.
    pub dtype: DType,
    pub scaling: Option<Scaling>,
}

impl Pixels {
    /// From BITPIX, BSCALE, BZERO and BLANK; in the header of a compressed image with a Z before them.
    pub(super) fn new(header: &Header, bits: &str, blank: &str) -> Result<Self> {
        let stored = match header.integer(bits) {
            Some(8) => DType::U8,
            Some(16) => DType::I16,
            Some(32) => DType::I32,
            Some(64) => DType::I64,
            Some(-32) => DType::F32,
            Some(-64) => DType::F64,
            other => {
                let what =
                    format!("header: {bits} is {}", other.map_or("missing".to_owned(), |n| n.to_string()));
                return Err(Error::malformed(what).at(header.data));
            }
        };
        let scale = header.float("BSCALE").filter(|s| s.is_finite() && *s != 0.0).unwrap_or(1.0);
        let offset = header.float("BZERO").filter(|n| n.is_finite()).unwrap_or(0.0);
        let missing = header.float(blank).filter(|_| !stored.is_float());
        if let (true, Some(dtype)) = (scale == 1.0 && missing.is_none(), other_sign(&stored, offset)) {
            return Ok(Pixels { stored, dtype, scaling: None });
        }
        let plain = scale == 1.0 && offset == 0.0 && missing.is_none();
        let fill = missing.into_iter().collect();
        let scaling = (!plain).then_some(Scaling { scale, offset, fill, valid: None });
        Ok(Pixels { dtype: stored.clone(), stored, scaling })
    }
}

/// The type of the other sign, where the offset is the one that turns it.
pub(super) fn other_sign(stored: &DType, offset: f64) -> Option<DType> {
    match (stored, offset) {
        (DType::U8, -128.0) => Some(DType::I8),
        (DType::I16, 32_768.0) => Some(DType::U16),
        (DType::I32, 2_147_483_648.0) => Some(DType::U32),
        (DType::I64, 9_223_372_036_854_775_808.0) => Some(DType::U64),
        _ => None,
    }
}

/// Turns little-endian integers of `size` bytes to those of the other sign: the highest bit.
pub(super) fn turn_sign(bytes: &mut [u8], size: usize) {
    bytes.iter_mut().skip(size.saturating_sub(1)).step_by(size.max(1)).for_each(|byte| *byte ^= 0x80);
}

/// The lengths of the axes, the slowest first.
pub(super) fn shape(header: &Header, prefix: &str) -> Result<Vec<u64>> {
    let axes = header.count(prefix, 0)?;
    if axes > 999 {
        return Err(Error::malformed(format!("header: {prefix} is {axes}")).at(header.data));
    }
    (1..=axes).rev().map(|n| header.count(&format!("{prefix}{n}"), 0)).collect()
}

/// What is known of an image from its header.
pub(super) fn facts(header: &Header, count: usize, scaling: Option<Scaling>) -> ArrayFacts {
    let unit = header.text("BUNIT").map(|unit| unit.trim().to_owned());
    let (axes, world) = (wcs::axes(header, count), sky::world(header, count));
    ArrayFacts { unit, axes, world, scaling, ..ArrayFacts::default() }
}

/// Gives an image its array. One that is cut off is shown as far as it is there.
pub(super) fn fill(source: &Source, header: &Header, bytes: u64, node: &mut Node) -> Result<()> {
    let mut shape = shape(header, "NAXIS")?;
    if shape.is_empty() {
        return Ok(());
    }
    let pixels = Pixels::new(header, "BITPIX", "BLANK")?;
    if let Some(len) = source.known_len()
        && header.data.checked_add(bytes).is_none_or(|end| end > len)
    {
        let there = len.saturating_sub(header.data);
        let what = format!("image: it needs {bytes} bytes, {there} are there; the file may be cut off");
        let error = Error::malformed(what).at(header.data);
        let Some((first, inner)) = shape.split_first_mut() else { return Err(error) };
        let row = limits::bytes(inner, pixels.stored.size())?;
        *first = there.checked_div(row).unwrap_or(0).min(*first);
        if *first == 0 {
            return Err(error);
        }
        node.problem = Some(error);
    }
    let facts = facts(header, shape.len(), pixels.scaling);
    let plain = Plain::new(source.clone(), header.data, pixels.stored.clone(), shape)?;
    let plain = plain.with_facts(facts).big_endian(true);
    node.content = Some(Content::Array(if pixels.dtype == pixels.stored {
        Arc::new(plain)
    } else {
        Arc::new(turned(plain, pixels.dtype))
    }));
    Ok(())
}

/// Integers that are stored with the other sign.
fn turned(plain: Plain, dtype: DType) -> MappedArray {
    let stored = ("stored as".to_owned(), format!("{} with an offset", plain.dtype()));
    let size = dtype.size() as usize;
    MappedArray::new(Arc::new(plain), dtype, |facts| facts.details.push(stored)).converted(move |raw, out| {
        out.copy_from_slice(raw);
        turn_sign(out, size);
        Ok(())
    })
}

/// Data that nothing else is known of.
pub(super) fn bytes(source: &Source, header: &Header, bytes: u64, node: &mut Node) -> Result<()> {
    let end = header.data.saturating_add(bytes);
    let end = source.known_len().map_or(end, |len| end.min(len));
    if end > header.data {
        node.content = Some(Content::Bytes(source.member(node.name.clone(), header.data..end)?));
    }
    Ok(())
}

/// Random groups: records of some parameters and an array each.
pub(super) fn groups(source: &Source, header: &Header, node: &mut Node) -> Result<()> {
    let stored = Pixels::new(header, "BITPIX", "BLANK")?.stored;
    let size = stored.size();
    let (parameters, count) = (header.count("PCOUNT", 0)?, header.count("GCOUNT", 1)?);
    let mut sides = shape(header, "NAXIS")?;
    sides.pop();
    let mut record = Record { fields: Vec::new(), size: 0 };
    limits::check(parameters, 10_000, "the parameters of a group").map_err(|e| e.at(header.data))?;
    for n in 1..=parameters {
        let name =
            header.text(&format!("PTYPE{n}")).map_or_else(|| format!("PTYPE{n}"), |t| t.trim().to_owned());
        record.fields.push(Field { name, dtype: stored.clone(), shape: Vec::new(), offset: record.size });
        record.size += size;
    }
    let data = limits::bytes(&sides, size).map_err(|e| e.at(header.data))?;
    record.fields.push(Field { name: "DATA".to_owned(), dtype: stored, shape: sides, offset: record.size });
    record.size = limits::check(record.size.saturating_add(data), limits::CHUNK, "a group")? as u64;
    let there = source.known_len().map(|len| len.saturating_sub(header.data) / record.size.max(1));
    let shown = there.map_or(count, |there| there.min(count));
    if shown < count {
        let what = format!("groups: {shown} of {count} are there; the file may be cut off");
        node.problem = Some(Error::malformed(what).at(header.data));
    }
    let dtype = DType::Struct(Arc::new(record));
    let plain = Plain::new(source.clone(), header.data, dtype, vec![shown])?.big_endian(true);
    node.content = Some(Content::Array(Arc::new(plain)));
    node.remarks
        .push("values are as they are stored: PSCAL, PZERO, BSCALE and BZERO are not applied".to_owned());
    Ok(())
}
