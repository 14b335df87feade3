//! Writes safetensors: the length of a JSON header, the header, the tensors one after the other.
//! <https://huggingface.co/docs/safetensors/index#format>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::packed_bytes;
use crate::data::content::{Array, Kind};
use crate::data::dtype::{DType, Mini};
use crate::data::format::loss;
use crate::data::format::{Loss, LossKind, Metadata, Options, Payload, Sink, Writer};
use crate::data::scan::{elements, put};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// The writer.
pub const WRITER: Writer = Writer {
    accepts: &[Kind::Array],
    many: true,
    metadata: Metadata::Texts,
    scales: false,
    texts: false,
    options: &[],
    losses,
    write,
};

/// The format's word for a type, if it has one.
fn word(dtype: &DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "BOOL",
        DType::I8 => "I8",
        DType::I16 => "I16",
        DType::I32 => "I32",
        DType::I64 => "I64",
        DType::U8 => "U8",
        DType::U16 => "U16",
        DType::U32 => "U32",
        DType::U64 => "U64",
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::C64 => "C64",
        DType::Mini(Mini::F8E4M3FN) => "F8_E4M3",
        DType::Mini(Mini::F8E5M2) => "F8_E5M2",
        DType::Mini(Mini::F8E8M0) => "F8_E8M0",
        DType::Mini(Mini::F8E4M3FNUZ) => "F8_E4M3FNUZ",
        DType::Mini(Mini::F8E5M2FNUZ) => "F8_E5M2FNUZ",
        DType::Mini(Mini::F6E2M3) => "F6_E2M3",
        DType::Mini(Mini::F6E3M2) => "F6_E3M2",
        DType::Mini(Mini::F4E2M1) => "F4",
        _ => return None,
    })
}

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (name, array) in payload.arrays().unwrap_or_default() {
        if word(array.dtype()).is_none() {
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

/// A tensor, its word, where it begins in the data and its bytes.
type Placed<'a> = (&'a str, &'a Arc<dyn Array>, &'static str, u64, u64);

/// The order of the tensors: as given where that keeps each aligned to its element, else the widest
/// elements first, as the reference implementation does.
fn place(payload: &Payload) -> Result<Vec<Placed<'_>>> {
    let mut placed: Vec<Placed> = Vec::new();
    for (name, array) in payload.arrays()? {
        if let (Some(word), Ok(bytes)) = (word(array.dtype()), fits(array.as_ref())) {
            placed.push((name, array, word, 0, bytes));
        }
    }
    if placed.is_empty() && !payload.arrays()?.is_empty() {
        return Err(Error::unsupported("none of the arrays has a type that safetensors has"));
    }
    let aligned = |placed: &[Placed]| {
        let mut at = 0u64;
        placed.iter().all(|(_, array, _, _, bytes)| {
            let fine = at.is_multiple_of(array.dtype().swap_unit().max(1) as u64);
            at = at.saturating_add(*bytes);
            fine
        })
    };
    if !aligned(&placed) {
        placed.sort_by_key(|(_, array, ..)| std::cmp::Reverse(array.dtype().bits()));
    }
    let mut at = 0u64;
    for (_, _, _, start, bytes) in &mut placed {
        *start = at;
        at = at.checked_add(*bytes).ok_or_else(|| Error::limit("the tensors overflow 64 bits"))?;
    }
    Ok(placed)
}

fn header(payload: &Payload, placed: &[Placed]) -> Result<Vec<u8>> {
    let mut header = Map::new();
    if !payload.attributes.list.is_empty() {
        let pairs = payload
            .attributes
            .list
            .iter()
            .map(|(name, value)| (name.clone(), Json::String(value.to_string())));
        header.insert("__metadata__".to_owned(), Json::Object(pairs.collect()));
    }
    for (name, array, word, start, bytes) in placed {
        let entry = json!({ "dtype": word, "shape": array.shape(), "data_offsets": [start, start + bytes] });
        if *name == "__metadata__" || header.insert((*name).to_owned(), entry).is_some() {
            return Err(Error::unsupported(format!("the name {name:?} is taken")));
        }
    }
    let mut text = Json::Object(header).to_string().into_bytes();
    let padding = text.len().next_multiple_of(8) - text.len();
    text.extend(std::iter::repeat_n(b' ', padding));
    limits::check(text.len() as u64, limits::HEADER, "the safetensors header")?;
    Ok(text)
}

fn write(task: &Task, payload: &Payload, _options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let placed = place(payload)?;
    let header = header(payload, &placed)?;
    task.set_total(placed.iter().map(|tensor| tensor.4).sum());
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
    use crate::data::format::Data;

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
        let header: Json = serde_json::from_slice(&out[8..8 + length]).unwrap();
        assert_eq!(length % 8, 0);
        assert_eq!(header["half"], json!({ "dtype": "BF16", "shape": [1], "data_offsets": [0, 2] }));
        assert_eq!(header["__metadata__"]["format"], "pt");
        assert_eq!(out[8 + length..], [0x80, 0x3f, 1, 0, 1, 0x21, 0x43]);
    }
}
