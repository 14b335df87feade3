//! Writes safetensors: the length of a JSON header, the header, the tensors one after the other.
//! <https://huggingface.co/docs/safetensors/index#format>

use super::header::METADATA;
use super::types;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::packed_bytes;
use crate::data::content::{Array, Kind};
use crate::data::format::loss;
use crate::data::format::{Loss, LossKind, Metadata, Options, Payload, Sink, Writer};
use crate::data::node::Value;
use crate::data::scan::{elements, put};
use safetensors::tensor::TensorInfo;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

/// The writer.
pub const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Texts,
    streams: true,
    ..Writer::new(&[Kind::Array], losses, write)
};

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (name, array) in payload.arrays().unwrap_or_default() {
        if types::theirs(array.dtype()).is_none() {
            losses.push(
                loss(LossKind::Type, format!("safetensors has no {}: it is left out", array.dtype()))
                    .at(name),
            );
        } else if fits(array.as_ref()).is_err() {
            losses.push(
                loss(
                    LossKind::Type,
                    format!("{} elements do not fill whole bytes: it is left out", array.dtype()),
                )
                .at(name),
            );
        }
    }
    losses
}

/// The bytes of a tensor in the file; an error where they are no whole ones.
fn fits(array: &dyn Array) -> Result<u64> {
    let elements = limits::elements(array.shape())?;
    match elements.checked_mul(array.dtype().bits()) {
        Some(bits) if bits % 8 == 0 => packed_bytes(elements, array.dtype()),
        _ => Err(Error::unsupported("elements that do not fill whole bytes")),
    }
}

/// A tensor: its name, itself, and its entry in the header.
type TensorEntry<'a> = (&'a str, &'a Arc<dyn Array>, TensorInfo);

/// The order of the tensors: as given where that keeps each aligned to its element, else the widest
/// elements first, as the reference implementation does.
fn place(payload: &Payload) -> Result<Vec<TensorEntry<'_>>> {
    let mut placed: Vec<TensorEntry> = Vec::new();
    for (name, array) in payload.arrays()? {
        if let (Some(dtype), Ok(bytes)) = (types::theirs(array.dtype()), fits(array.as_ref())) {
            let shape = array.shape().iter().map(|&side| side as usize).collect();
            placed.push((name, array, TensorInfo { dtype, shape, data_offsets: (0, bytes as usize) }));
        }
    }
    if placed.is_empty() && !payload.arrays()?.is_empty() {
        return Err(Error::unsupported("none of the arrays has a type that safetensors has"));
    }
    let aligned = |placed: &[TensorEntry]| {
        let mut at = 0usize;
        placed.iter().all(|(_, array, info)| {
            let fine = at.is_multiple_of(array.dtype().swap_unit().max(1));
            at = at.saturating_add(info.data_offsets.1);
            fine
        })
    };
    if !aligned(&placed) {
        placed.sort_by_key(|(_, array, _)| std::cmp::Reverse(array.dtype().bits()));
    }
    let mut at = 0usize;
    for (_, _, info) in &mut placed {
        let end = at.checked_add(info.data_offsets.1);
        info.data_offsets = (at, end.ok_or_else(|| Error::limit("the tensors overflow 64 bits"))?);
        at = info.data_offsets.1;
    }
    Ok(placed)
}

/// The header: attributes in their order, then the tensors.
#[derive(Serialize)]
struct Header {
    #[serde(rename = "__metadata__", skip_serializing_if = "Map::is_empty")]
    attributes: Map<String, Json>,
    #[serde(flatten)]
    tensors: safetensors::tensor::Metadata,
}

fn header(payload: &Payload, placed: &[TensorEntry]) -> Result<Vec<u8>> {
    let mut taken = HashSet::from([METADATA]);
    if let Some((name, ..)) = placed.iter().find(|(name, ..)| !taken.insert(name)) {
        return Err(Error::unsupported(format!("the name {name:?} is taken")));
    }
    let text = |(name, value): &(String, Value)| (name.clone(), Json::String(value.to_string()));
    let attributes = payload.attributes.list.iter().map(text).collect();
    let tensors = placed.iter().map(|(name, _, info)| ((*name).to_owned(), info.clone())).collect();
    let wrong = |error: &dyn Display| Error::bug(format!("a safetensors header: {error}"));
    let tensors = safetensors::tensor::Metadata::new(None, tensors).map_err(|e| wrong(&e))?;
    let mut text = serde_json::to_vec(&Header { attributes, tensors }).map_err(|e| wrong(&e))?;
    text.resize(text.len().next_multiple_of(8), b' ');
    limits::check(text.len() as u64, limits::HEADER, "the safetensors header")?;
    Ok(text)
}

fn write(task: &Task, payload: &Payload, _options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let placed = place(payload)?;
    let header = header(payload, &placed)?;
    task.set_total(placed.last().map_or(0, |(_, _, info)| info.data_offsets.1 as u64));
    put(sink, &(header.len() as u64).to_le_bytes())?;
    put(sink, &header)?;
    for (name, array, ..) in placed {
        task.set_message(name.to_owned());
        let bits = array.dtype().bits();
        if bits >= 8 {
            elements(task, array.as_ref(), &mut |bytes| put(sink, bytes))?;
            continue;
        }
        let mut packer = Packer { bits, held: 0, filled: 0 };
        elements(task, array.as_ref(), &mut |bytes| put(sink, &packer.pack(bytes)))?;
    }
    Ok(())
}

/// Packs elements of under 8 bits, from the low bits upwards.
struct Packer {
    bits: u64,
    held: u32,
    filled: u64,
}

impl Packer {
    fn pack(&mut self, elements: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(elements.len());
        let mask = (1u32 << self.bits) - 1;
        for &element in elements {
            self.held |= (u32::from(element) & mask) << self.filled;
            self.filled += self.bits;
            if self.filled >= 8 {
                out.push(self.held as u8);
                self.held >>= 8;
                self.filled -= 8;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::{DType, Mini};
    use crate::data::format::Data;
    use safetensors::Dtype;
    use serde_json::json;

    fn plain(dtype: DType, shape: &[u64], bytes: &[u8]) -> Arc<dyn Array> {
        Arc::new(Plain::new(Source::memory("t", bytes.to_vec()), 0, dtype, shape.to_vec()).unwrap())
    }

    #[test]
    fn packed_and_odd_tensors_keep_their_bytes_and_alignment() {
        let arrays = vec![
            ("b".to_owned(), plain(DType::Bool, &[3], &[1, 0, 1])),
            ("half".to_owned(), plain(DType::BF16, &[1], &[0x80, 0x3f])),
            ("four".to_owned(), plain(DType::Mini(Mini::F4E2M1), &[2, 2], &[0x21, 0x43])),
            ("text".to_owned(), plain(DType::Str(1), &[1], &[65, 0, 0, 0])),
        ];
        let attributes = vec![("format".to_owned(), "pt".into())].into();
        let payload = Payload { attributes, ..Payload::plain(Data::Arrays(arrays)) };
        let lost = losses(&payload, &Options::default());
        assert_eq!(lost.iter().map(|l| (l.path.as_str(), l.serious)).collect::<Vec<_>>(), [("text", true)]);
        let mut out = std::io::Cursor::new(Vec::new());
        write(&Task::new(), &payload, &Options::default(), &mut out).unwrap();
        let out = out.into_inner();
        let length = u64::from_le_bytes(out[..8].try_into().unwrap()) as usize;
        assert_eq!(length % 8, 0);
        // The reference implementation reads it.
        let read = safetensors::SafeTensors::deserialize(&out).unwrap();
        let half = read.tensor("half").unwrap();
        assert_eq!((half.dtype(), half.shape(), half.data()), (Dtype::BF16, &[1][..], &[0x80, 0x3f][..]));
        assert_eq!(read.tensor("four").unwrap().data(), [0x21, 0x43]);
        assert_eq!(read.len(), 3);
        let header: Json = serde_json::from_slice(&out[8..8 + length]).unwrap();
        assert_eq!(header["half"], json!({ "dtype": "BF16", "shape": [1], "data_offsets": [0, 2] }));
        assert_eq!(header["__metadata__"]["format"], "pt");
        assert_eq!(out[8 + length..], [0x80, 0x3f, 1, 0, 1, 0x21, 0x43]);
    }

    #[test]
    fn names_that_are_taken_are_refused() {
        let tensor = || plain(DType::U8, &[1], &[7]);
        for names in [["a", "a"], ["b", METADATA]] {
            let arrays = names.map(|name| (name.to_owned(), tensor())).to_vec();
            let mut out = std::io::Cursor::new(Vec::new());
            let payload = Payload::plain(Data::Arrays(arrays));
            let error = write(&Task::new(), &payload, &Options::default(), &mut out).unwrap_err();
            assert!(error.message().contains("is taken"), "{error}");
        }
    }
}
