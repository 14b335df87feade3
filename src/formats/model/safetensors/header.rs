//! The header: one JSON object. Each entry is judged on its own, so that a broken one leaves its
//! neighbours; a header that breaks off gives the entries before the break.

use super::types;
use super::{Entry, What};
use crate::bytes::display;
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::packed_bytes;
use safetensors::SafeTensorError;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::ops::Range;

/// The entry that is no tensor.
pub(super) const METADATA: &str = "__metadata__";
/// Dimensions of one tensor, as NumPy limits them.
const DIMENSIONS: usize = 64;

/// What a file's header says.
#[derive(Default)]
pub(super) struct Header {
    /// In the order of the file.
    pub(super) tensors: Vec<Entry>,
    pub(super) metadata: Vec<(String, Json)>,
    /// What is wrong with the file as a whole.
    pub(super) problems: Vec<Error>,
}

/// Reads a file's header and judges its entries.
///
/// # Errors
/// Where there is not one whole entry: no length, no object.
pub(super) fn read(task: &Task, source: &Source) -> Result<Header> {
    let first = source.read_up_to(task, 0, 8)?;
    let Some(length) = le::<u64>(&first, 0) else {
        let what = format!("header: its length takes 8 bytes, the file has {}", first.len());
        return Err(Error::malformed(what).at(0));
    };
    if let Some(len) = source.known_len()
        && length > len.saturating_sub(8)
    {
        let there = len.saturating_sub(8);
        let what =
            format!("header: it should have {length} bytes, {there} are there; the file may be cut off");
        return Err(Error::malformed(what).at(0));
    }
    let size = limits::check(length, limits::HEADER, "the safetensors header").map_err(|e| e.at(0))?;
    let text = source.read(task, 8..8 + size as u64)?;
    let mut raw = Vec::new();
    let broken = object(&text, &mut raw).err();
    if let Some(error) = &broken
        && raw.is_empty()
    {
        return Err(error.clone());
    }
    let mut parser = Parser {
        data: 8 + length,
        available: source.known_len().map(|len| len - length - 8),
        places: HashMap::new(),
        header: Header::default(),
    };
    parser.header.problems.extend(broken);
    for (n, (name, value)) in raw.into_iter().enumerate() {
        if n % 1024 == 0 {
            task.check()?;
        }
        let at = 8 + offset_in(&text, value.get());
        parser.entry(name, value.get(), at);
    }
    Ok(parser.finish())
}

/// Where `part` lies in `text`, whose slice it is.
fn offset_in(text: &[u8], part: &str) -> u64 {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize) as u64
}

/// The entries of the object, as far as it is whole; then the error.
fn object<'a>(text: &'a [u8], out: &mut Vec<(String, &'a RawValue)>) -> Result<()> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    Entries(out).deserialize(&mut parser).and_then(|()| parser.end()).map_err(|error| {
        let lines = text.split_inclusive(|&b| b == b'\n').take(error.line().saturating_sub(1));
        let before: usize = lines.map(<[u8]>::len).sum();
        let at = 8 + (before + error.column().saturating_sub(1)) as u64;
        Error::malformed(format!("header: {}", without_place(&error))).at(at)
    })
}

/// serde_json's sentence without its line and column, which say little in one long line.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}

/// Collects the members of an object in order, doubles included, whatever their values.
struct Entries<'o, 'a>(&'o mut Vec<(String, &'a RawValue)>);

impl<'a> DeserializeSeed<'a> for Entries<'_, 'a> {
    type Value = ();
    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Entries<'_, 'a> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object of tensors")
    }
    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value::<&RawValue>().map_err(|error| {
                // The name helps more than the place alone.
                A::Error::custom(format!("{name:?}: {error}"))
            })?;
            self.0.push((name, value));
        }
        Ok(())
    }
}

struct Parser {
    /// Where the tensors' bytes begin.
    data: u64,
    /// How many there are, where that is known.
    available: Option<u64>,
    /// Of each name, its index.
    places: HashMap<String, usize>,
    header: Header,
}

impl Parser {
    fn entry(&mut self, name: String, text: &str, at: u64) {
        if name == METADATA {
            return self.metadata(text, at);
        }
        let (what, problem) = match self.place(text) {
            Ok((what, problem)) => (what, problem.map(|p| p.at(at))),
            Err(error) => (What::Nothing, Some(error.at(at))),
        };
        let entry = Entry { name: name.clone(), what, problem };
        match self.places.get(&name).and_then(|&n| self.header.tensors.get_mut(n)) {
            Some(earlier) => {
                let what = format!("header: it has {name:?} twice; the last entry holds");
                self.header.problems.push(Error::malformed(what).at(at));
                *earlier = entry;
            }
            None => {
                self.places.insert(name, self.header.tensors.len());
                self.header.tensors.push(entry);
            }
        }
    }

    fn metadata(&mut self, text: &str, at: u64) {
        let wrong = |what: String| Error::malformed(format!("header: {METADATA} {what}")).at(at);
        match serde_json::from_str(text) {
            Ok(Json::Object(map)) => {
                if let Some((key, _)) = map.iter().find(|(_, value)| !value.is_string()) {
                    self.header.problems.push(wrong(format!("should hold texts, {key:?} is none")));
                }
                self.header.metadata.extend(map);
            }
            Ok(other) => {
                self.header.problems.push(wrong("is no object".to_owned()));
                self.header.metadata.push((METADATA.to_owned(), other));
            }
            Err(error) => self.header.problems.push(wrong(without_place(&error))),
        }
    }

    /// What an entry stands for, and what is wrong with it although it can be shown.
    fn place(&self, text: &str) -> Result<(What, Option<Error>)> {
        let wrong = |what: String| Error::malformed(format!("header entry: {what}"));
        let entry: Json = serde_json::from_str(text).map_err(|error| wrong(without_place(&error)))?;
        let part = |name: &str| entry.get(name).ok_or_else(|| wrong(format!("it has no {name}")));
        let spelled = part("dtype")?.as_str().ok_or_else(|| wrong("its dtype is no text".to_owned()))?;
        let shape = numbers(part("shape")?, "shape")?;
        if shape.len() > DIMENSIONS {
            let what = format!("a tensor of {} dimensions, the limit is {DIMENSIONS}", shape.len());
            return Err(Error::limit(what));
        }
        let [begin, end] = numbers(part("data_offsets")?, "data_offsets")?
            .try_into()
            .map_err(|_| wrong("its data_offsets are not two numbers".to_owned()))?;
        if begin > end {
            return Err(wrong(format!("its bytes end at {end} before they begin at {begin}")));
        }
        let span = self.span(begin, end)?;
        let Some(dtype) = types::named(spelled) else {
            let what = format!("tensors of the type {spelled:?}, whose bytes are shown");
            return Ok((What::Bytes { span }, Some(Error::unsupported(what))));
        };
        let elements = limits::elements(&shape)?;
        let bytes = packed_bytes(elements, &dtype)?;
        if bytes != end - begin {
            let what = format!("shape {shape:?} of {spelled} needs {bytes} bytes, it has {}", end - begin);
            return Err(wrong(what));
        }
        let whole = elements.checked_mul(dtype.bits()).is_some_and(|bits| bits % 8 == 0);
        let problem = (!whole).then(|| wrong(format!("shape {shape:?} of {spelled} ends within a byte")));
        Ok((What::Array { dtype, shape, span }, problem))
    }

    /// The place in the file of bytes that are counted from the end of the header.
    fn span(&self, begin: u64, end: u64) -> Result<Range<u64>> {
        if let Some(available) = self.available
            && end > available
        {
            let what = format!(
                "header entry: its bytes {begin} to {end} reach beyond the file, which has {available}; it may be cut off"
            );
            return Err(Error::malformed(what).with_defect(Defect::Truncated));
        }
        match (self.data.checked_add(begin), self.data.checked_add(end)) {
            (Some(begin), Some(end)) => Ok(begin..end),
            _ => Err(Error::malformed(format!("header entry: its end, {end}, overflows 64 bits"))),
        }
    }

    /// Judges how the tensors cover the file: as the reference implementation does; why they do not is then ours
    /// to say.
    fn finish(mut self) -> Header {
        let verdict = self.verdict();
        if !matches!(verdict, Some(Ok(()))) {
            self.explain();
        }
        if let (Some(Err(error)), true) = (verdict, self.header.problems.is_empty()) {
            self.header.problems.push(Error::malformed(format!("header: {error}")));
        }
        self.header
    }

    /// What the reference implementation says of the entries in the order of their bytes; `None` where it cannot be
    /// asked, since an entry is not whole or of a type that it has not.
    fn verdict(&self) -> Option<Result<(), SafeTensorError>> {
        let number = |n: u64| usize::try_from(n).ok();
        let info = |tensor: &Entry| {
            let What::Array { dtype, shape, span } = &tensor.what else { return None };
            let data_offsets = (number(span.start - self.data)?, number(span.end - self.data)?);
            let shape = shape.iter().map(|&side| number(side)).collect::<Option<_>>()?;
            Some((tensor.name.clone(), TensorInfo { dtype: types::theirs(dtype)?, shape, data_offsets }))
        };
        let mut entries: Vec<_> = self.header.tensors.iter().map(info).collect::<Option<_>>()?;
        entries.sort_by_key(|(_, info)| info.data_offsets);
        Some(Metadata::new(None, entries).and_then(|all| match self.available {
            Some(there) if all.data_len() as u64 != there => Err(SafeTensorError::MetadataIncompleteBuffer),
            _ => Ok(()),
        }))
    }

    /// Finds tensors that share bytes, and bytes that belong to none.
    fn explain(&mut self) {
        let tensors = &self.header.tensors;
        let mut spans: Vec<(Range<u64>, usize)> = Vec::with_capacity(tensors.len());
        let mut unknown = 0;
        for (n, tensor) in tensors.iter().enumerate() {
            match &tensor.what {
                What::Array { span, .. } | What::Bytes { span } => spans.push((span.clone(), n)),
                What::Nothing => unknown += 1,
            }
        }
        spans.sort_by_key(|(span, n)| (span.start, span.end, *n));
        let mut gaps = Vec::new();
        let (mut end, mut last) = (self.data, None);
        let mut overlaps = Vec::new();
        for (span, n) in &spans {
            if span.start < end && span.start < span.end {
                overlaps.extend(last.map(|last| (last, *n)));
            } else if span.start > end {
                gaps.push(end..span.start);
            }
            if span.end >= end {
                (end, last) = (span.end, Some(*n));
            }
        }
        if let Some(available) = self.available
            && self.data + available > end
        {
            gaps.push(end..self.data + available);
        }
        self.overlaps(&overlaps);
        let broken = self.header.tensors.iter().filter(|tensor| tensor.problem.is_some()).count() as u64;
        if let Some(first) = self.header.tensors.iter().find_map(|tensor| tensor.problem.as_ref())
            && overlaps.is_empty()
        {
            let (what, at) = (first.what(), first.offset().unwrap_or(0));
            let count = display::plural(broken, "tensor");
            let what = format!("header: {count} with problems; the first: {what}");
            self.header.problems.push(Error::malformed(what).at(at));
        }
        // Where an entry's place is not known, a gap is likely its own.
        if let (Some(gap), 0) = (gaps.first(), unknown) {
            let bytes = display::plural(gap.end - gap.start, "byte");
            let more =
                if gaps.len() > 1 { format!(", and {} more gaps", gaps.len() - 1) } else { String::new() };
            let what = format!("file: {bytes} at {} belong to no tensor{more}", gap.start);
            self.header.problems.push(Error::malformed(what).at(gap.start));
        }
    }

    /// Names tensors that share bytes.
    fn overlaps(&mut self, pairs: &[(usize, usize)]) {
        let name =
            |header: &Header, n: usize| header.tensors.get(n).map(|t| t.name.clone()).unwrap_or_default();
        for &(first, second) in pairs {
            let (a, b) = (name(&self.header, first), name(&self.header, second));
            for (n, other) in [(first, &b), (second, &a)] {
                if let Some(tensor) = self.header.tensors.get_mut(n) {
                    let what = format!("header entry: its bytes overlap those of {other:?}");
                    tensor.problem.get_or_insert_with(|| Error::malformed(what).with_defect(Defect::Overlap));
                }
            }
        }
        if let Some(&(first, second)) = pairs.first() {
            let (a, b) = (name(&self.header, first), name(&self.header, second));
            let count = pairs.len();
            let more = if count > 1 { format!(", and {} more pairs", count - 1) } else { String::new() };
            let what = format!("header: the tensors {a:?} and {b:?} overlap{more}");
            self.header.problems.push(Error::malformed(what));
        }
    }
}

/// A list of numbers that are not negative.
fn numbers(json: &Json, name: &str) -> Result<Vec<u64>> {
    let wrong = |what: String| Error::malformed(format!("header entry: its {name} {what}"));
    let list = json.as_array().ok_or_else(|| wrong("is no list".to_owned()))?;
    let number = |item: &Json| {
        let what = match item {
            Json::Number(n) if n.to_string().starts_with('-') => format!("is negative ({n})"),
            Json::Number(n) => format!("has {n}, which is no whole number of 64 bits"),
            _ => "has what is no number".to_owned(),
        };
        item.as_u64().ok_or_else(|| wrong(what))
    };
    list.iter().map(number).collect()
}
