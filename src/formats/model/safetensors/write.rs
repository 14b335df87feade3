//! Writes safetensors: the length of a JSON header, the header, the tensors one after the other.
//! <https://huggingface.co/docs/safetensors/index#format>

use super::header::METADATA;
use super::types;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::packed_bytes;
use crate::data::content::{Array, Kind};
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, loss, note};
use crate::data::names;
use crate::data::node::Value;
use crate::data::scan::{elements, put, put_elements};
use safetensors::tensor::TensorInfo;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

const SHARED: OptionSpec = OptionSpec::new(
    "shared",
    "Tensors that are the same bytes, as tied weights are: each is written, or the first alone and the names of the others go among the metadata",
)
.one_of("copy", &["copy", "drop"]);

/// The writer.
pub const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Texts,
    options: &[SHARED],
    streams: true,
    ..Writer::new(&[Kind::Array], losses, write)
};

/// The entry of the metadata that says whose tensors they are.
const FORMAT: &str = "format";

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    let mut say = |name: &str, what: String| losses.push(loss(LossKind::Type, what).at(name));
    for (name, array) in payload.arrays().unwrap_or_default() {
        let dtype = array.dtype();
        if types::theirs(dtype).is_none() {
            say(name, format!("safetensors has no {dtype}: it is left out"));
        } else if fits(array.as_ref()).is_err() {
            say(name, format!("{dtype} elements do not fill whole bytes: it is left out"));
        }
    }
    if let Some(framework) = framework(payload) {
        let what = format!("the key is added: {framework}, whose tensors these are");
        losses.push(note(LossKind::Metadata, what).of(FORMAT));
    }
    let (Ok(arrays), Ok(kept)) = (payload.arrays(), kept(payload, options)) else { return losses };
    for tensor in &kept {
        let (name, _) = arrays.get(tensor.number).map(|(name, array)| (name, array)).unzip();
        let Some(name) = name else { continue };
        let first = |first: usize| arrays.get(first).map(|(name, _)| name.as_str()).unwrap_or_default();
        match tensor.shares {
            Some(Shares::Same(other)) if tensor.is_dropped => {
                let what = format!(
                    "it is left out: it is the same tensor as {:?}, and the metadata say so",
                    first(other)
                );
                losses.push(note(LossKind::Name, what).at(name));
                continue;
            }
            Some(Shares::Same(other)) => {
                let what = format!("it is the same tensor as {:?}: it is written for itself", first(other));
                losses.push(note(LossKind::Metadata, what).at(name).if_any());
            }
            Some(Shares::Part(other)) => {
                let what = format!("it shares bytes with {:?}: they are written for each", first(other));
                losses.push(note(LossKind::Metadata, what).at(name).if_any());
            }
            None => {}
        }
        losses.extend(names::renamed(name, &tensor.name, "the names of tensors are different"));
    }
    losses
}

/// The framework that the metadata do not name yet.
fn framework(payload: &Payload) -> Option<&'static str> {
    payload.framework.filter(|_| payload.attributes.get(FORMAT).is_none())
}

/// What a tensor has in common with an earlier one, by its number.
#[derive(Clone, Copy)]
enum Shares {
    /// All of it: bytes, type, shape.
    Same(usize),
    /// Some bytes.
    Part(usize),
}

/// A tensor that the format can hold.
struct Kept {
    /// Which of the arrays it is.
    number: usize,
    name: String,
    shares: Option<Shares>,
    is_dropped: bool,
}

/// The tensors that the format can hold.
fn kept(payload: &Payload, options: &Options) -> Result<Vec<Kept>> {
    let drops = options.choice(&SHARED)? == "drop";
    let arrays = payload.arrays()?;
    let shared = shared(arrays);
    let mut kept = Vec::new();
    for (number, (_, array)) in arrays.iter().enumerate() {
        if types::theirs(array.dtype()).is_none() || fits(array.as_ref()).is_err() {
            continue;
        }
        let shares = shared.get(&number).copied();
        let is_dropped = drops && matches!(shares, Some(Shares::Same(_)));
        kept.push(Kept { number, name: String::new(), shares, is_dropped });
    }
    let name = |kept: &Kept| arrays.get(kept.number).map(|(name, _)| name.as_str()).unwrap_or_default();
    let settled =
        names::settled(kept.iter().filter(|kept| !kept.is_dropped).map(name), &[METADATA], |name, end| {
            format!("{name}{end}")
        });
    kept.iter_mut().filter(|kept| !kept.is_dropped).zip(settled).for_each(|(kept, name)| kept.name = name);
    Ok(kept)
}

/// Which arrays lie in bytes of earlier ones.
fn shared(arrays: &[(String, Arc<dyn Array>)]) -> HashMap<usize, Shares> {
    let mut places: Vec<(usize, Range<u64>, usize, bool)> = Vec::new();
    let mut bases: Vec<Source> = Vec::new();
    for (number, (_, array)) in arrays.iter().enumerate() {
        let verbatim = array.verbatim();
        let is_verbatim = verbatim.is_some();
        let Some((source, range)) = verbatim.or_else(|| array.storage()) else { continue };
        let (base, range) = source.base(range);
        if range.is_empty() {
            continue;
        }
        let known = bases.iter().rposition(|known| known.is(&base));
        let base = known.unwrap_or_else(|| {
            bases.push(base);
            bases.len() - 1
        });
        places.push((base, range, number, is_verbatim));
    }
    places.sort_by_key(|(base, range, number, _)| (*base, range.start, *number));
    let mut shared = HashMap::new();
    // What reaches farthest so far, and the last one that begins at a place.
    let mut far: Option<(usize, u64, usize)> = None;
    let mut firsts: HashMap<(usize, u64, u64), Vec<usize>> = HashMap::new();
    for (base, range, number, is_verbatim) in places {
        let same = firsts.entry((base, range.start, range.end)).or_default();
        let is_same = |other: &&usize| match (arrays.get(**other), arrays.get(number)) {
            (Some((_, a)), Some((_, b))) => a.dtype() == b.dtype() && a.shape() == b.shape(),
            _ => false,
        };
        let twin = same.iter().find(is_same).filter(|_| is_verbatim);
        let before = far.filter(|(other, end, _)| *other == base && *end > range.start);
        let shares = match (twin, before) {
            (Some(twin), _) => Some(Shares::Same(*twin)),
            (None, Some((_, _, first))) => Some(Shares::Part(first)),
            (None, None) => None,
        };
        if let Some(shares) = shares {
            shared.insert(number, shares);
        }
        if is_verbatim && twin.is_none() {
            same.push(number);
        }
        if far.is_none_or(|(other, end, _)| other != base || range.end > end) {
            far = Some((base, range.end, number));
        }
    }
    shared
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
type TensorEntry<'a> = (String, &'a Arc<dyn Array>, TensorInfo);

/// The tensors in their order: as given where that keeps each aligned to its element, else the widest
/// elements first, as the reference implementation does.
fn place<'a>(payload: &'a Payload, kept: &[Kept]) -> Result<Vec<TensorEntry<'a>>> {
    let mut placed: Vec<TensorEntry> = Vec::new();
    let arrays = payload.arrays()?;
    for tensor in kept.iter().filter(|tensor| !tensor.is_dropped) {
        let Some((_, array)) = arrays.get(tensor.number) else { continue };
        if let (Some(dtype), Ok(bytes)) = (types::theirs(array.dtype()), fits(array.as_ref())) {
            let shape = array.shape().iter().map(|&side| side as usize).collect();
            let info = TensorInfo { dtype, shape, data_offsets: (0, bytes as usize) };
            placed.push((tensor.name.clone(), array, info));
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

fn header(payload: &Payload, kept: &[Kept], placed: &[TensorEntry]) -> Result<Vec<u8>> {
    let text = |(name, value): &(String, Value)| (name.clone(), Json::String(value.to_string()));
    let mut attributes: Map<String, Json> = payload.attributes.list.iter().map(text).collect();
    if let Some(framework) = framework(payload) {
        attributes.insert(FORMAT.to_owned(), Json::from(framework));
    }
    // As the reference implementation says of what it leaves out.
    let arrays = payload.arrays()?;
    for tensor in kept.iter().filter(|tensor| tensor.is_dropped) {
        if let Some(Shares::Same(first)) = tensor.shares
            && let Some((name, _)) = arrays.get(tensor.number)
            && let Some(first) = kept.iter().find(|kept| kept.number == first)
        {
            attributes.insert(name.clone(), Json::from(first.name.as_str()));
        }
    }
    let tensors = placed.iter().map(|(name, _, info)| (name.clone(), info.clone())).collect();
    let wrong = |error: &dyn Display| Error::bug(format!("a safetensors header: {error}"));
    let tensors = safetensors::tensor::Metadata::new(None, tensors).map_err(|e| wrong(&e))?;
    let mut text = serde_json::to_vec(&Header { attributes, tensors }).map_err(|e| wrong(&e))?;
    text.resize(text.len().next_multiple_of(8), b' ');
    limits::check(text.len() as u64, limits::HEADER, "the safetensors header")?;
    Ok(text)
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let kept = kept(payload, options)?;
    let placed = place(payload, &kept)?;
    let header = header(payload, &kept, &placed)?;
    task.set_total(placed.last().map_or(0, |(_, _, info)| info.data_offsets.1 as u64));
    sink.expect(placed.last().map_or(0, |(_, _, info)| info.data_offsets.1 as u64))?;
    put(sink, &(header.len() as u64).to_le_bytes())?;
    put(sink, &header)?;
    for (name, array, ..) in placed {
        task.set_message(name);
        let bits = array.dtype().bits();
        if bits >= 8 {
            put_elements(task, array.as_ref(), sink)?;
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

    fn written(payload: &Payload, options: &[(&str, &str)]) -> Vec<u8> {
        let mut set = Options::default();
        options.iter().for_each(|(name, value)| set.set(name, *value));
        let mut out = std::io::Cursor::new(Vec::new());
        write(&Task::new(), payload, &set, &mut out).unwrap();
        out.into_inner()
    }

    #[test]
    fn names_that_are_taken_are_others_and_said() {
        let arrays = ["a", "a", METADATA].map(|name| (name.to_owned(), plain(DType::U8, &[1], &[7])));
        let payload = Payload::plain(Data::Arrays(arrays.to_vec()));
        let out = written(&payload, &[]);
        let read = safetensors::SafeTensors::deserialize(&out).unwrap();
        let mut names = read.names();
        names.sort_unstable();
        assert_eq!(names, ["__metadata___2", "a", "a_2"]);
        let said = losses(&payload, &Options::default());
        assert_eq!(said.iter().filter(|loss| loss.kind == LossKind::Name).count(), 2, "{said:?}");
    }

    #[test]
    fn tensors_of_the_same_bytes_are_written_twice_or_named() {
        let source = Source::memory("s", (0..32).collect::<Vec<u8>>());
        let slice = |from: u64, dtype: DType, shape: &[u64]| -> Arc<dyn Array> {
            Arc::new(Plain::new(source.clone(), from, dtype, shape.to_vec()).unwrap())
        };
        let turned = Plain::new(source.clone(), 0, DType::U8, vec![4, 4]).unwrap().fortran(true);
        let arrays = vec![
            ("embed".to_owned(), slice(0, DType::U8, &[4, 4])),
            ("head".to_owned(), slice(0, DType::U8, &[4, 4])),
            ("turned".to_owned(), Arc::new(turned) as Arc<dyn Array>),
            ("row".to_owned(), slice(4, DType::U8, &[4])),
            ("other".to_owned(), slice(16, DType::U8, &[4])),
        ];
        let payload = Payload { framework: Some("pt"), ..Payload::plain(Data::Arrays(arrays)) };
        let whole = written(&payload, &[]);
        let read = safetensors::SafeTensors::deserialize(&whole).unwrap();
        assert_eq!((read.len(), read.tensor("head").unwrap().data()), (5, &(0..16).collect::<Vec<u8>>()[..]));
        let said = |options: &Options| {
            let kind = |loss: Loss| (loss.path, loss.kind.word(), loss.serious);
            losses(&payload, options).into_iter().map(kind).collect::<Vec<_>>()
        };
        let path = |path: &str, kind: &'static str| (path.to_owned(), kind, false);
        let metadata = |name: &str| path(name, "metadata");
        assert_eq!(
            said(&Options::default()),
            [metadata(""), metadata("head"), metadata("turned"), metadata("row")]
        );
        let out = written(&payload, &[("shared", "drop")]);
        let read = safetensors::SafeTensors::deserialize(&out).unwrap();
        assert_eq!((read.len(), read.tensor("head").is_err(), out.len() < whole.len()), (4, true, true));
        let (_, header) = safetensors::SafeTensors::read_metadata(&out).unwrap();
        let metadata = header.metadata().clone().unwrap();
        assert_eq!((metadata["head"].as_str(), metadata["format"].as_str()), ("embed", "pt"));
        let mut drop = Options::default();
        drop.set("shared", "drop");
        assert!(said(&drop).contains(&path("head", "name")));
    }
}
