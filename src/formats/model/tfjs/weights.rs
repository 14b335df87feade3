//! The manifest of weights: groups of files, and the tensors that lie in each one after the other.
//! <https://github.com/tensorflow/tfjs/blob/master/tfjs-core/src/io/io_utils.ts>
//!
//! | stored | stands for |
//! |---|---|
//! | `uint8`, `uint16` with `scale` and `min` | `stored × scale + min`, rounded where the tensor is of integers |
//! | `float16` | the same number |
//! | `string` | for each text its length in four bytes, then its bytes |

use super::shards::Shards;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le_or_zero;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::MappedArray;
use crate::data::content::Content;
use crate::data::content::array::{Array, Plain, Scaling};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::engines::modules::{Leaf, Names};
use crate::engines::tensorflow::arrays::Strings;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// The most weights of a model, and texts of one.
const WEIGHTS: usize = 1 << 22;
const TEXTS: u64 = 1 << 20;
/// The most dimensions of a weight.
const DIMENSIONS: usize = 64;
/// The name of what is stored, below what it stands for.
const STORED: &str = "stored";

/// How values of a weight are stored.
#[derive(Clone, Debug, PartialEq)]
enum Coding {
    /// As they are.
    Plain(DType),
    /// As other numbers: their type, scale and offset.
    Quantised { stored: DType, scale: f64, min: f64, made: DType },
    /// As texts.
    Texts,
}

/// A weight as the manifest says.
#[derive(Clone)]
struct Spec {
    name: String,
    shape: Vec<u64>,
    coding: Coding,
    quantisation: Option<Json>,
}

impl Spec {
    fn parse(json: &Json) -> Result<Spec> {
        let name = json.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
        let wrong = |what: String| Error::malformed(format!("weight {name:?}: {what}"));
        let dtype = json.get("dtype").and_then(Json::as_str).unwrap_or_default();
        let sides = json.get("shape").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let shape: Option<Vec<u64>> = sides.iter().map(Json::as_u64).collect();
        let shape = shape.filter(|shape| shape.len() <= DIMENSIONS);
        let shape = shape.ok_or_else(|| wrong("its shape is none".to_owned()))?;
        let of = |word: &str| -> Result<DType> {
            let known = DType::of_name(word).filter(|dtype| !dtype.is_variable());
            known.ok_or_else(|| wrong(format!("the type {word:?} is not known")))
        };
        let quantisation = json.get("quantization").filter(|found| !found.is_null()).cloned();
        let coding = match &quantisation {
            _ if dtype == "string" => Coding::Texts,
            None => Coding::Plain(of(dtype)?),
            Some(said) => {
                let number = |name: &str, usual: f64| said.get(name).and_then(Json::as_f64).unwrap_or(usual);
                let stored = of(said.get("dtype").and_then(Json::as_str).unwrap_or_default())?;
                let made = of(dtype)?;
                Coding::Quantised { stored, scale: number("scale", 1.0), min: number("min", 0.0), made }
            }
        };
        Ok(Spec { name, shape, coding, quantisation })
    }

    /// Bytes of an element as it is stored; `None` of texts.
    fn width(&self) -> Option<u64> {
        match &self.coding {
            Coding::Plain(dtype) | Coding::Quantised { stored: dtype, .. } => Some(dtype.size()),
            Coding::Texts => None,
        }
    }
}

/// A weight and where it lies.
pub(super) struct Stored {
    spec: Arc<Spec>,
    /// Its own name, which no other weight has.
    name: String,
    model: Source,
    place: Result<(Shards, Range<u64>)>,
    /// Whether it is what is stored of a quantised one.
    is_stored: bool,
}

/// What a manifest says.
#[derive(Default)]
pub(super) struct Found {
    pub(super) weights: Vec<Stored>,
    pub(super) problems: Vec<Error>,
    pub(super) remarks: Vec<String>,
}

/// Reads a manifest: the weights with the files that they lie in.
///
/// # Errors
/// `Cancelled`, `Limit`.
pub(super) fn manifest(task: &Task, model: &Source, json: &Json) -> Result<Found> {
    let mut found = Found::default();
    let Some(groups) = json.as_array() else {
        found.problems.push(Error::malformed("the manifest of weights is no list"));
        return Ok(found);
    };
    let mut names = Names::default();
    for (n, group) in groups.iter().enumerate() {
        task.check()?;
        let list = |name: &str| group.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let paths = list("paths").iter().filter_map(Json::as_str).map(str::to_owned).collect::<Vec<_>>();
        let specs: Vec<Result<Spec>> = list("weights").iter().map(Spec::parse).collect();
        if found.weights.len() + specs.len() > WEIGHTS {
            return Err(Error::limit(format!("more than {WEIGHTS} weights")));
        }
        let needed = specs.iter().try_fold(0u64, |all, spec| {
            let spec = spec.as_ref().ok()?;
            all.checked_add(limits::bytes(&spec.shape, spec.width()?).ok()?)
        });
        let (shards, problems) = Shards::open(task, model, &paths, needed)?;
        found.problems.extend(problems);
        group_of(task, model, &shards, specs, &mut names, &mut found)?;
        if let Some(needed) = needed.filter(|needed| *needed < shards.len) {
            let spare = shards.len - needed;
            found.remarks.push(format!("group {n}: {spare} bytes of its files are no weights"));
        }
    }
    Ok(found)
}

/// The weights of a group, one after the other.
fn group_of(
    task: &Task,
    model: &Source,
    shards: &Shards,
    specs: Vec<Result<Spec>>,
    names: &mut Names,
    found: &mut Found,
) -> Result<()> {
    // Where the next one begins; why that is not known.
    let mut at: Result<u64> = Ok(0);
    for spec in specs {
        task.check()?;
        let spec = match spec {
            Ok(spec) => Arc::new(spec),
            Err(error) => {
                at = Err(Error::malformed(format!(
                    "it lies behind a weight of no known size: {}",
                    error.message()
                )));
                found.problems.push(error);
                continue;
            }
        };
        let span = at.clone().and_then(|start| Ok(start..end(task, model, shards, &spec, start)?));
        match &span {
            Err(error) if error.is_cancelled() => return Err(error.clone()),
            Err(error) => at = Err(error.clone()),
            Ok(span) => at = Ok(span.end),
        }
        let name = names.free(&spec.name);
        let place = span.map(|span| (shards.clone(), span));
        let stored = |name: String, is_stored: bool| Stored {
            spec: spec.clone(),
            name,
            model: model.clone(),
            place: place.clone(),
            is_stored,
        };
        if matches!(spec.coding, Coding::Quantised { .. }) {
            found.weights.push(stored(names.free(&format!("{name}/{STORED}")), true));
        }
        found.weights.push(stored(name, false));
    }
    Ok(())
}

/// Where a weight ends that begins at `start`. Of texts the lengths are read.
fn end(task: &Task, model: &Source, shards: &Shards, spec: &Spec, start: u64) -> Result<u64> {
    let far = || Error::malformed(format!("weight {:?}: its bytes overflow 64 bits", spec.name));
    if let Some(width) = spec.width() {
        return start.checked_add(limits::bytes(&spec.shape, width)?).ok_or_else(far);
    }
    let count = limits::elements(&spec.shape)?;
    if count > TEXTS {
        return Err(Error::limit(format!("weight {:?}: more than {TEXTS} texts", spec.name)));
    }
    let mut at = start;
    for _ in 0..count {
        task.check()?;
        let len = shards.part(model, "length", at..at.saturating_add(4))?.read(task, 0..4)?;
        at = at.saturating_add(4 + u64::from(le_or_zero::<u32>(&len, 0)));
    }
    Ok(at)
}

impl Stored {
    /// Its path in the document.
    pub(super) fn path(&self) -> Arc<str> {
        self.name.as_str().into()
    }

    /// Whether it is what is stored of a quantised one.
    pub(super) fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// How many elements it has.
    pub(super) fn elements(&self) -> u64 {
        limits::elements(&self.spec.shape).unwrap_or(0)
    }

    /// Its shape.
    pub(super) fn shape(&self) -> &[u64] {
        &self.spec.shape
    }

    /// The word for its type.
    pub(super) fn type_name(&self) -> String {
        match &self.spec.coding {
            Coding::Plain(dtype) | Coding::Quantised { made: dtype, .. } => dtype.to_string(),
            Coding::Texts => "str".to_owned(),
        }
    }

    fn array(&self) -> Result<Arc<dyn Array>> {
        let (shards, span) = self.place.clone()?;
        let bytes = shards.part(&self.model, &self.name, span)?;
        let plain = |dtype: &DType| -> Result<Arc<dyn Array>> {
            Ok(Arc::new(Plain::new(bytes.clone(), 0, dtype.clone(), self.spec.shape.clone())?))
        };
        match &self.spec.coding {
            Coding::Plain(dtype) => plain(dtype),
            Coding::Quantised { stored, .. } if self.is_stored => plain(stored),
            Coding::Quantised { stored, scale, min, made } => {
                stands(plain(stored)?, *scale, *min, made, &self.spec.name)
            }
            Coding::Texts => Err(Error::bug("texts are read elsewhere")),
        }
    }

    /// Texts, which are read when somebody looks.
    fn texts(&self, task: &Task) -> Result<Strings> {
        let (shards, span) = self.place.clone()?;
        let bytes = shards.part(&self.model, &self.name, span)?;
        let len = bytes.len(task)?;
        limits::check(len, limits::HEADER, "texts")?;
        let bytes = bytes.read(task, 0..len)?;
        let mut rest: &[u8] = &bytes;
        let mut texts = Vec::new();
        while !rest.is_empty() {
            let len = le_or_zero::<u32>(rest, 0) as usize;
            let text = rest.get(4..).and_then(|rest| rest.split_at_checked(len));
            let (text, after) = text.ok_or_else(|| Error::malformed("a text is cut off"))?;
            texts.push(text.to_vec());
            rest = after;
        }
        Strings::new(texts, self.spec.shape.clone())
    }
}

/// The numbers that stored ones stand for, as the library makes them: in float64, then in the type of the tensor.
fn stands(stored: Arc<dyn Array>, scale: f64, min: f64, made: &DType, name: &str) -> Result<Arc<dyn Array>> {
    if stored.dtype().is_float() {
        let from = stored.dtype().clone();
        let cast = MappedArray::cast(stored, made.clone());
        let wrong = || Error::malformed(format!("weight {name:?}: {from} for {made}"));
        return Ok(Arc::new(cast.ok_or_else(wrong)?));
    }
    if made.is_float() {
        let scaling = Scaling { scale, offset: min, fill: Vec::new(), valid: None };
        return Ok(Arc::new(MappedArray::scaled(stored, scaling, made.clone())));
    }
    if *made != DType::I32 {
        return Err(Error::malformed(format!("weight {name:?}: quantised numbers of the type {made}")));
    }
    let from = stored.dtype().clone();
    let change = |facts: &mut crate::data::content::array::ArrayFacts| facts.bytes_stored = None;
    let mapped = MappedArray::new(stored, made.clone(), change).converted(move |raw, out| {
        let mut values = Vec::new();
        from.decode(raw, &mut values);
        // Halves go up, as JavaScript rounds.
        values.iter_mut().for_each(|value| *value = (*value * scale + min + 0.5).floor());
        DType::I32.encode(&values, out);
        Ok(())
    });
    Ok(Arc::new(mapped))
}

impl Leaf for Stored {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        let mut node = Node::new(name, if self.is_stored { STORED } else { "weight" });
        if let Some(said) = self.spec.quantisation.as_ref().filter(|_| !self.is_stored) {
            node.derived = true;
            node = node.attribute("quantization", said.clone());
        }
        if self.spec.coding == Coding::Texts {
            let (this, own) = (self.again(), name.to_owned());
            return node.deferred_leaf(move |task| {
                let node = Node::new(own.as_str(), "weight");
                Ok(match this.texts(task) {
                    Ok(texts) => node.content(Content::Array(Arc::new(texts))),
                    Err(error) if error.is_cancelled() => return Err(error),
                    Err(error) => node.problem(error),
                })
            });
        }
        match self.array() {
            Ok(array) => node.content(Content::Array(array)),
            Err(error) => node.problem(error),
        }
    }
}

impl Stored {
    fn again(&self) -> Stored {
        Stored {
            spec: self.spec.clone(),
            name: self.name.clone(),
            model: self.model.clone(),
            place: self.place.clone(),
            is_stored: self.is_stored,
        }
    }
}
