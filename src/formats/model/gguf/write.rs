//! Writes GGUF, version 3, little-endian: keys with typed values, the tensors' names, shapes, types and places, then their
//! elements, each tensor at a multiple of the alignment.
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>
//!
//! Values that a GGUF file has are copied to the bit, and so are blocks. Which tensors are quantised is what
//! `convert_hf_to_gguf.py` does: those of two and more dimensions whose rows are whole blocks; other halves become float32.

mod values;

use super::header::ALIGNMENT;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind};
use crate::data::dtype::{Blocks, DType, Fit};
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::names;
use crate::data::quantised::{self, Encoder, StoredBlocks};
use crate::data::scan::{array_bytes, made_elements, put, put_elements};
use crate::engines::ggml::{Type, number_of};
use std::io::Write;
use std::sync::Arc;

const QUANTIZE: OptionSpec = OptionSpec::new(
    "quantize",
    "How tensors of two and more dimensions are quantised whose rows are whole blocks; other floats become float32",
)
.one_of("none", &["none", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1"]);
const ARCH: OptionSpec =
    OptionSpec::new("arch", "The architecture of the model (llama, qwen2), where the source does not say it");

/// The writer.
pub const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Values,
    blocks: |kind, options| {
        let asked = quantisation(options).ok().flatten().map(|(asked, _)| asked);
        number_of(&Type::Blocks(kind)).is_some() && asked.is_none_or(|asked| asked == kind)
    },
    options: &[QUANTIZE, ARCH],
    check,
    ..Writer::new(&[Kind::Array], losses, write)
};

/// The version that is written.
const VERSION: u32 = 3;
/// Dimensions of a tensor (`GGML_MAX_DIMS`).
const DIMENSIONS: usize = 4;
/// Bytes of a tensor's name: `GGML_MAX_NAME` counts the zero behind it.
const NAME: usize = 63;
/// The elements of a block of those that are made here.
const SIDE: usize = 32;
/// What the numbers of `general.file_type` are of those types.
const FILE_TYPES: [(Blocks, u32); 5] =
    [(Blocks::Q4_0, 2), (Blocks::Q4_1, 3), (Blocks::Q8_0, 7), (Blocks::Q5_0, 8), (Blocks::Q5_1, 9)];

/// The kind of blocks that was asked for, and what makes them.
fn quantisation(options: &Options) -> Result<Option<(Blocks, Encoder)>> {
    let asked = options.choice(&QUANTIZE)?;
    let known = FILE_TYPES.iter().map(|(kind, _)| *kind).find(|kind| kind.name() == asked);
    Ok(known.and_then(|kind| Some((kind, quantised::encoder(kind)?))))
}

/// How the elements of a tensor are written.
enum As {
    /// As they are delivered.
    Plain(DType),
    /// As numbers of another type.
    Cast(DType),
    /// Whole numbers that int64 has, if all fit.
    Checked,
    /// Blocks as they are stored.
    Stored(Blocks, StoredBlocks),
    /// Blocks that are made.
    Made(Blocks, Encoder),
}

impl As {
    fn of(array: &dyn Array, asked: Option<(Blocks, Encoder)>) -> Result<As> {
        let (dtype, shape) = (array.dtype(), array.shape());
        if shape.len() > DIMENSIONS {
            let sides = shape.len();
            return Err(Error::unsupported(format!(
                "it has {sides} dimensions, tensors of GGUF at most {DIMENSIONS}"
            )));
        }
        let stored = || array.quantised().and_then(|quantised| quantised.blocks());
        if let DType::Blocks(kind) = dtype
            && number_of(&Type::Blocks(*kind)).is_some()
            && asked.is_none_or(|(asked, _)| asked == *kind)
            && let Some(blocks) = stored()
        {
            return Ok(As::Stored(*kind, blocks));
        }
        let is_float = dtype.is_float() && dtype.is_real() && !matches!(dtype, DType::Long(_));
        if let Some((kind, encoder)) = asked.filter(|_| is_float) {
            let row = shape.last().copied().unwrap_or(1);
            return Ok(match shape.len() > 1 && row % kind.elements() as u64 == 0 {
                true => As::Made(kind, encoder),
                false if *dtype == DType::F32 || *dtype == DType::F64 => As::Plain(dtype.clone()),
                false => As::Cast(DType::F32),
            });
        }
        Ok(match dtype {
            _ if number_of(&Type::Plain(dtype.clone())).is_some() => As::Plain(dtype.clone()),
            DType::Bool => As::Cast(DType::I8),
            DType::U8 => As::Cast(DType::I16),
            DType::U16 => As::Cast(DType::I32),
            DType::U32 => As::Cast(DType::I64),
            DType::U64 => As::Checked,
            DType::Mini(_) | DType::Blocks(_) => As::Cast(DType::F32),
            _ => return Err(Error::unsupported(format!("GGUF has no {dtype}"))),
        })
    }

    /// The type in the file.
    fn kind(&self) -> Type {
        match self {
            As::Plain(dtype) | As::Cast(dtype) => Type::Plain(dtype.clone()),
            As::Checked => Type::Plain(DType::I64),
            As::Stored(kind, _) | As::Made(kind, _) => Type::Blocks(*kind),
        }
    }

    /// What is said of it.
    fn losses(&self, array: &dyn Array, asked: bool) -> Vec<Loss> {
        let from = array.dtype();
        match self {
            As::Plain(_) if asked && from.is_float() => {
                let what = format!("it stays {from}: its rows are no whole blocks, or it is one row");
                vec![note(LossKind::Type, what).if_any()]
            }
            As::Plain(_) | As::Stored(..) => Vec::new(),
            As::Cast(to) => {
                let mut losses = vec![note(LossKind::Type, format!("{from} become {to}, exactly"))];
                if from.fit(to) != Some(Fit::Exact) {
                    losses.push(loss(LossKind::Precision, format!("{from} are rounded to {to}")).if_any());
                }
                losses
            }
            As::Checked => {
                let what = "uint64 become int64; a value beyond that stops the conversion";
                vec![note(LossKind::Type, what)]
            }
            As::Made(kind, _) => {
                let (name, bits) = (kind.name(), kind.bytes() * 8 / kind.elements());
                let what =
                    format!("{from} become {name}: {bits} bits an element, with a scale for each {SIDE}");
                vec![note(LossKind::Type, what.clone()), loss(LossKind::Precision, what)]
            }
        }
    }
}

/// A tensor on its way.
struct Tensor<'a> {
    name: String,
    array: &'a Arc<dyn Array>,
    how: As,
}

/// The tensors that can be written, under the names that they get; the others with the reason.
fn tensors<'a>(
    payload: &'a Payload,
    options: &Options,
) -> Result<(Vec<(&'a str, Tensor<'a>)>, Vec<(&'a str, Error)>)> {
    let asked = quantisation(options)?;
    let (mut kept, mut others) = (Vec::new(), Vec::new());
    for (name, array) in payload.arrays()? {
        match As::of(array.as_ref(), asked) {
            Ok(how) => kept.push((name.as_str(), Tensor { name: String::new(), array, how })),
            Err(error) => others.push((name.as_str(), error)),
        }
    }
    let fit = |name: &str, ending: &str| names::cut(name, ending, NAME);
    let settled = names::settled(kept.iter().map(|(name, _)| *name), &[], fit);
    kept.iter_mut().zip(settled).for_each(|((_, tensor), name)| tensor.name = name);
    Ok((kept, others))
}

fn check(payload: &Payload) -> Result<()> {
    let (kept, mut others) = tensors(payload, &Options::default())?;
    match others.pop() {
        Some((_, error)) if kept.is_empty() => Err(error),
        _ => Ok(()),
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let Ok((kept, others)) = tensors(payload, options) else { return Vec::new() };
    let asked = quantisation(options).ok().flatten();
    let mut losses = Vec::new();
    for (name, error) in others {
        losses.push(loss(LossKind::Type, format!("{}: it is left out", error.what())).at(name));
    }
    for (name, tensor) in &kept {
        let array = tensor.array.as_ref();
        losses.extend(tensor.how.losses(array, asked.is_some()).into_iter().map(|loss| loss.at(*name)));
        let why = "names of tensors are different and have 63 bytes at most";
        // Where there is but one nobody looks for it by its name.
        let renamed = names::renamed(name, &tensor.name, why);
        losses.extend(renamed.map(|loss| if kept.len() == 1 { loss.if_any() } else { loss }));
        if array.shape().contains(&0) {
            let what = "it has no elements, which programs of ggml do not read";
            losses.push(note(LossKind::Type, what).at(*name).if_any());
        }
    }
    values::losses(&payload.attributes, &added(payload, options), &mut losses);
    losses
}

/// What the keys of the file have to say, whatever the attributes say.
fn added(payload: &Payload, options: &Options) -> values::Added {
    let asked = quantisation(options).ok().flatten();
    let arch = options.get(ARCH.name).filter(|arch| !arch.is_empty()).map(str::to_owned);
    let file_type = asked
        .and_then(|(kind, _)| FILE_TYPES.iter().find(|(known, _)| *known == kind).map(|(_, number)| *number));
    values::Added::new(&payload.attributes, arch, file_type)
}

/// A sink that counts its bytes.
struct Counted<'a> {
    sink: &'a mut dyn Sink,
    at: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.sink.flush()
    }
}

impl Counted<'_> {
    /// Fills up to the next multiple of `alignment`.
    fn align(&mut self, alignment: u64) -> Result<()> {
        let left = self.at.next_multiple_of(alignment) - self.at;
        std::io::copy(&mut std::io::Read::take(std::io::repeat(0), left), self)?;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.write_all(&(text.len() as u64).to_le_bytes())?;
        Ok(self.write_all(text.as_bytes())?)
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let (tensors, _) = tensors(payload, options)?;
    let added = added(payload, options);
    let alignment = added.alignment;
    let mut total = 0u64;
    for (_, tensor) in &tensors {
        total = total.saturating_add(match &tensor.how {
            As::Stored(_, blocks) => blocks.span.end - blocks.span.start,
            _ => array_bytes(tensor.array.as_ref())?,
        });
    }
    task.set_total(total);
    let sizes = tensors.iter().map(|(_, tensor)| tensor.how.kind().bytes(tensor.array.shape()));
    sink.expect(sizes.collect::<Result<Vec<_>>>()?.into_iter().fold(0, u64::saturating_add))?;
    let mut out = Counted { sink, at: 0 };
    out.write_all(super::MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&(tensors.len() as u64).to_le_bytes())?;
    values::write(task, &payload.attributes, &added, &mut out)?;
    let mut offset = 0u64;
    for (_, tensor) in &tensors {
        let (kind, shape) = (tensor.how.kind(), tensor.array.shape());
        out.text(&tensor.name)?;
        out.write_all(&(shape.len() as u32).to_le_bytes())?;
        for side in shape.iter().rev() {
            out.write_all(&side.to_le_bytes())?;
        }
        let number = number_of(&kind).ok_or_else(|| Error::bug("a type that ggml has not"))?;
        out.write_all(&number.to_le_bytes())?;
        out.write_all(&offset.to_le_bytes())?;
        let end =
            offset.checked_add(kind.bytes(shape)?).and_then(|end| end.checked_next_multiple_of(alignment));
        offset = end.ok_or_else(|| Error::limit("the tensors overflow 64 bits"))?;
    }
    for (_, tensor) in &tensors {
        out.align(alignment)?;
        task.set_message(tensor.name.clone());
        let bytes = tensor.how.kind().bytes(tensor.array.shape())?;
        elements(task, tensor, out.sink)?;
        out.at = out.at.saturating_add(bytes);
    }
    // The last tensor is filled up too, as ggml checks the size of the whole.
    out.align(alignment)
}

/// Writes the elements of a tensor.
fn elements(task: &Task, tensor: &Tensor, sink: &mut dyn Sink) -> Result<()> {
    let array = tensor.array.as_ref();
    let put = |bytes: Vec<u8>| put(sink, &bytes);
    match &tensor.how {
        As::Plain(_) => put_elements(task, array, sink),
        As::Cast(to) => {
            let from = array.dtype();
            let make = |raw: Vec<u8>| {
                let elements = raw.len() / from.size().max(1) as usize;
                let mut out = limits::zeroed(elements * to.size() as usize, "a part of the array")?;
                match from.cast(to, &raw, &mut out) {
                    true => Ok(out),
                    false => Err(Error::bug(format!("{from} as {to}"))),
                }
            };
            made_elements(task, array, 1, make, put)
        }
        As::Checked => {
            let make =
                |raw: Vec<u8>| match raw.as_chunks::<8>().0.iter().find(|b| i64::from_le_bytes(**b) < 0) {
                    None => Ok(raw),
                    Some(beyond) => {
                        let value = u64::from_le_bytes(*beyond);
                        Err(Error::unsupported(format!("{}: the value {value} is beyond int64", tensor.name)))
                    }
                };
            made_elements(task, array, 1, make, put)
        }
        As::Stored(kind, blocks) => stored(task, *kind, blocks, sink),
        As::Made(kind, encoder) => {
            let from = array.dtype();
            let make = |raw: Vec<u8>| made(from, &raw, *kind, *encoder);
            made_elements(task, array, SIDE as u64, make, put)
        }
    }
}

/// Elements as blocks.
fn made(from: &DType, raw: &[u8], kind: Blocks, encoder: Encoder) -> Result<Vec<u8>> {
    /// Elements that are made to float32 at a time.
    const STEP: usize = 32 * SIDE;
    let size = from.size().max(1) as usize;
    let mut out = Vec::with_capacity(raw.len() / size / SIDE * kind.bytes());
    let mut floats = [0u8; STEP * 4];
    for raw in raw.chunks(STEP * size) {
        let floats = floats.get_mut(..raw.len() / size * 4).unwrap_or_default();
        if !from.cast(&DType::F32, raw, floats) {
            return Err(Error::bug(format!("{from} as float32")));
        }
        for block in floats.as_chunks::<4>().0.as_chunks::<SIDE>().0 {
            encoder(&block.map(f32::from_le_bytes), &mut out);
        }
    }
    Ok(out)
}

/// Blocks as they are stored, with their numbers little-endian.
fn stored(task: &Task, kind: Blocks, blocks: &StoredBlocks, sink: &mut dyn Sink) -> Result<()> {
    /// Bytes that are read at once, at most.
    const PIECE: u64 = 4 << 20;
    let StoredBlocks { source, span, big } = blocks;
    if !big || kind.numbers().is_empty() {
        return sink.copy(task, source, span.clone());
    }
    let step = (PIECE / kind.bytes() as u64).max(1) * kind.bytes() as u64;
    let mut buffer = Vec::new();
    let mut at = span.start;
    while at < span.end {
        let piece = step.min(span.end - at);
        buffer.resize(piece as usize, 0);
        source.read_into(task, at, &mut buffer)?;
        quantised::turn(kind, &mut buffer);
        put(sink, &buffer)?;
        at += piece;
        task.advance(piece)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
