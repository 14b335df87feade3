//! What follows the magic in each kind of file, and which kind a file is of.

use super::Entry;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::dtype::{Blocks, DType};
use crate::engines::ggml::{Cursor, Texts, Type, type_of};
use std::collections::HashSet;

pub(super) const GGML: &[u8; 4] = b"lmgg";
pub(super) const GGMF: &[u8; 4] = b"fmgg";
pub(super) const GGJT: &[u8; 4] = b"tjgg";
pub(super) const GGLA: &[u8; 4] = b"algg";

/// Dimensions of a tensor of ggml.
const DIMENSIONS: u32 = 4;
/// The longest name of a tensor, in bytes.
const NAME: u32 = 512;
/// Tensors of GGJT begin at multiples of it.
const ALIGNMENT: u64 = 32;

/// What a file holds.
pub(super) struct Model {
    /// Which kind of file it is.
    pub(super) variant: &'static str,
    pub(super) version: Option<u32>,
    pub(super) parameters: Vec<(&'static str, i32)>,
    pub(super) vocabulary: Option<Texts>,
    /// Whether each token has a score.
    pub(super) scored: bool,
    /// Filters of a spectrogram: where they are, and their shape.
    pub(super) filters: Option<(u64, Vec<u64>)>,
    pub(super) tensors: Vec<Entry>,
    pub(super) problem: Option<Error>,
}

/// How a vocabulary is stored.
#[derive(Clone, Copy, PartialEq)]
enum Words {
    /// There is none.
    None,
    /// As many texts as a parameter says.
    Bare,
    /// The same, each with a float32 behind it.
    Scored,
    /// A count, then so many texts.
    Counted,
}

/// What a kind of file has between the magic and the tensors.
#[derive(Clone, Copy)]
struct Layout {
    variant: &'static str,
    parameters: &'static [&'static str],
    words: Words,
    has_filters: bool,
    aligned: bool,
}

const LLAMA: &[&str] = &["n_vocab", "n_embd", "n_mult", "n_head", "n_layer", "n_rot", "ftype"];

/// The kinds of file without a version. Those whose vocabulary has a count come first: without it, the count reads as one
/// more parameter.
const UNVERSIONED: [Layout; 5] = [
    Layout {
        variant: "ggml, whisper.cpp",
        parameters: &[
            "n_vocab",
            "n_audio_ctx",
            "n_audio_state",
            "n_audio_head",
            "n_audio_layer",
            "n_text_ctx",
            "n_text_state",
            "n_text_head",
            "n_text_layer",
            "n_mels",
            "ftype",
        ],
        words: Words::Counted,
        has_filters: true,
        aligned: false,
    },
    Layout {
        variant: "ggml, GPT-2",
        parameters: &["n_vocab", "n_ctx", "n_embd", "n_head", "n_layer", "ftype"],
        words: Words::Counted,
        has_filters: false,
        aligned: false,
    },
    Layout {
        variant: "ggml, GPT-J",
        parameters: &["n_vocab", "n_ctx", "n_embd", "n_head", "n_layer", "n_rot", "ftype"],
        words: Words::Counted,
        has_filters: false,
        aligned: false,
    },
    Layout {
        variant: "ggml, LLaMA",
        parameters: LLAMA,
        words: Words::Bare,
        has_filters: false,
        aligned: false,
    },
    Layout {
        variant: "ggml, GPT-NeoX",
        parameters: &["n_vocab", "n_ctx", "n_embd", "n_head", "n_layer", "n_rot", "par_res", "ftype"],
        words: Words::Bare,
        has_filters: false,
        aligned: false,
    },
];

/// How blocks are laid out, which changed twice.
#[derive(Clone, Copy, PartialEq)]
enum Age {
    /// Neighbours in one byte, scales of `q4_0`, `q4_1` and `q8_0` as float32.
    Pairs,
    /// Those scales as float32.
    Wide,
    /// As in GGUF.
    Now,
}

impl Age {
    fn type_of(self, number: u32) -> Result<Type> {
        let old = match (self, number) {
            (Age::Pairs, 2) => Blocks::Q4_0Pairs,
            (Age::Pairs, 3) => Blocks::Q4_1Pairs,
            (Age::Pairs, 4) => Blocks::Q4_2,
            (Age::Pairs, 5) => Blocks::Q4_3,
            (Age::Pairs, 6) => Blocks::Q5_0Pairs,
            (Age::Pairs, 7) => Blocks::Q5_1Pairs,
            (Age::Wide, 2) => Blocks::Q4_0Wide,
            (Age::Wide, 3) => Blocks::Q4_1Wide,
            (Age::Pairs | Age::Wide, 8) => Blocks::Q8_0Wide,
            _ => return type_of(number),
        };
        Ok(Type::Blocks(old))
    }
}

/// Reads all headers of a file.
///
/// # Errors
/// Where it is none of the kinds that are known, and for unknown versions.
pub(super) fn read(task: &Task, source: &Source) -> Result<Model> {
    let len = source.len(task)?;
    let mut cursor = Cursor::new(task, source, 0, false);
    let magic = cursor.take(4)?;
    let whole = |layout: Layout, version: Option<u32>, age: Option<Age>| {
        let at = if version.is_some() { 8 } else { 4 };
        let mut cursor = Cursor::new(task, source, at, false);
        layout.read(task, &mut cursor, source, len, version, age)
    };
    if magic.as_ref() == GGML {
        return unversioned(&whole);
    }
    let version: u32 = cursor.number()?;
    let unknown = |name: &str| Err(Error::unsupported(format!("{name} of version {version}")).at(4));
    let llama = Layout {
        variant: "GGMF",
        parameters: LLAMA,
        words: Words::Scored,
        has_filters: false,
        aligned: false,
    };
    match (magic.as_ref(), version) {
        (magic, 1) if magic == GGMF => whole(llama, Some(version), Some(Age::Pairs)),
        (magic, 1..=3) if magic == GGJT => {
            let ages = [Age::Pairs, Age::Wide, Age::Now];
            let age = ages.get(version as usize - 1).copied();
            whole(Layout { variant: "GGJT", aligned: true, ..llama }, Some(version), age)
        }
        (magic, 1) if magic == GGLA => {
            let (variant, parameters) = ("GGLA (LoRA)", &["r", "alpha"]);
            let layout = Layout { variant, parameters, words: Words::None, aligned: true, ..llama };
            whole(layout, Some(version), Some(Age::Now))
        }
        (magic, _) if magic == GGMF => unknown("GGMF"),
        (magic, _) if magic == GGJT => unknown("GGJT"),
        (magic, _) if magic == GGLA => unknown("GGLA"),
        _ => Err(Error::malformed("header: it begins as no file of ggml").at(0)),
    }
}

/// The kind of file without a version whose tensors are there, or most of them.
fn unversioned(whole: &dyn Fn(Layout, Option<u32>, Option<Age>) -> Result<Model>) -> Result<Model> {
    let mut best: Option<Model> = None;
    let mut first = None;
    for layout in UNVERSIONED {
        let age = (layout.variant == "ggml, LLaMA").then_some(Age::Pairs);
        match whole(layout, None, age).unless_cancelled()? {
            Ok(model) if model.problem.is_none() && !model.tensors.is_empty() => return Ok(model),
            Ok(model) => {
                if best.as_ref().is_none_or(|best| best.tensors.len() < model.tensors.len()) {
                    best = Some(model);
                }
            }
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    match (best, first) {
        (Some(model), _) if !model.tensors.is_empty() => Ok(model),
        (Some(Model { problem: Some(_), .. }), _) | (_, Some(_)) => {
            let what = "a file of ggml whose parameters and vocabulary are of no kind of model that is known";
            Err(Error::unsupported(what).at(4))
        }
        (Some(model), None) => Ok(model),
        (None, None) => Err(Error::bug("no kind of file was tried")),
    }
}

impl Layout {
    fn read(
        self,
        task: &Task,
        cursor: &mut Cursor,
        source: &Source,
        len: u64,
        version: Option<u32>,
        age: Option<Age>,
    ) -> Result<Model> {
        let mut model = Model {
            variant: self.variant,
            version,
            parameters: Vec::new(),
            vocabulary: None,
            scored: self.words == Words::Scored,
            filters: None,
            tensors: Vec::new(),
            problem: None,
        };
        for &name in self.parameters {
            let value: i32 = cursor.number()?;
            // Rates and ranks may be anything; sizes are never negative.
            if value < 0 && name.starts_with("n_") {
                return Err(Error::malformed(format!("header: {name} is {value}")).at(cursor.at() - 4));
            }
            model.parameters.push((name, value));
        }
        if self.has_filters {
            model.filters = Some(filters(cursor)?);
        }
        let count = match self.words {
            Words::None => None,
            Words::Counted => Some(u64::from(cursor.number::<u32>()?)),
            Words::Bare | Words::Scored => model.parameter("n_vocab"),
        };
        if let Some(count) = count {
            let trailer = if model.scored { 4 } else { 0 };
            model.vocabulary = Some(Texts::skip(cursor, source, count, 4, trailer)?);
        }
        // Newer files say in thousands how their blocks are laid out.
        let age = age.unwrap_or(match model.parameter("ftype").unwrap_or(0) / 1000 {
            0 => Age::Pairs,
            1 => Age::Wide,
            _ => Age::Now,
        });
        let mut names = HashSet::new();
        while cursor.at() < len {
            task.check()?;
            match self.tensor(cursor, len, age).unless_cancelled()? {
                Ok(entry) if names.insert(entry.name.clone()) => {
                    if entry.span.end > len {
                        let what =
                            format!("the file ends within the tensor {:?}; it may be cut off", entry.name);
                        model.problem.get_or_insert(Error::malformed(what).at(len));
                    }
                    model.tensors.push(entry);
                }
                Ok(entry) => {
                    let what = format!("the tensor {:?} is there twice; the first one holds", entry.name);
                    model.problem.get_or_insert(Error::malformed(what).at(entry.span.start));
                }
                Err(error) => {
                    model.problem = Some(error);
                    break;
                }
            }
        }
        Ok(model)
    }

    /// A tensor's header; the cursor is behind its elements then.
    fn tensor(self, cursor: &mut Cursor, len: u64, age: Age) -> Result<Entry> {
        let at = cursor.at();
        let (dimensions, name, number): (u32, u32, u32) =
            (cursor.number()?, cursor.number()?, cursor.number()?);
        if !(1..=DIMENSIONS).contains(&dimensions) || name > NAME {
            let what =
                format!("tensor: {dimensions} dimensions and a name of {name} bytes: here begins none");
            return Err(Error::malformed(what).at(at));
        }
        let sides: Result<Vec<u64>> = (0..dimensions).map(|_| cursor.length(4)).collect();
        let shape: Vec<u64> = sides?.into_iter().rev().collect();
        let name = cursor.take(u64::from(name))?;
        let name = std::str::from_utf8(&name)
            .map_err(|_| Error::malformed("tensor: its name is no text: here begins none").at(at))?
            .to_owned();
        let kind = age.type_of(number)?;
        let bytes = kind.bytes(&shape).map_err(|error| error.at(at))?;
        let start = match self.aligned {
            true => cursor.at().checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX),
            false => cursor.at(),
        };
        let end = start.checked_add(bytes).filter(|end| *end <= len || start < len);
        let Some(end) = end else {
            let what = format!("tensor {name:?}: its {bytes} bytes are not there; the file may be cut off");
            return Err(Error::malformed(what).at(at));
        };
        cursor.go(end);
        Ok(Entry { name, shape, kind, span: start..end })
    }
}

/// The filters of a spectrogram: rows of float32.
fn filters(cursor: &mut Cursor) -> Result<(u64, Vec<u64>)> {
    let shape = vec![cursor.length(4)?, cursor.length(4)?];
    let bytes = Type::Plain(DType::F32).bytes(&shape)?;
    let at = cursor.at();
    cursor.fit(bytes, 1, "bytes of filters")?;
    cursor.go(at + bytes);
    Ok((at, shape))
}

impl Model {
    /// A parameter that is not negative.
    fn parameter(&self, name: &str) -> Option<u64> {
        let found = self.parameters.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, value)| u64::try_from(*value).ok())
    }
}
