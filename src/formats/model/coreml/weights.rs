//! `WeightParams`: the weights of a layer of a neural network: floats of 32 or 16 bits, or integers of few bits with
//! a scale and a bias or a table. The shape is said by the layer, not by the weights.
//! <https://apple.github.io/coremltools/mlmodel/Format/NeuralNetwork.html>

use super::numbers::Numbers;
use super::packed::Packed;
use super::schema::Kind;
use super::stand::{Rule, Stands};
use super::{Leaf, label};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::content::Array;
use crate::data::content::Content;
use crate::data::content::array::Plain;
use crate::data::content::graph::{Attribute, Dimension, Value};
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use std::ops::Range;
use std::sync::Arc;

/// How quantised weights are stored.
#[derive(Clone)]
struct Quantisation {
    bits: u64,
    scale: Numbers,
    bias: Numbers,
    table: Numbers,
    is_linear: bool,
}

impl Quantisation {
    fn parse(part: Part) -> Result<Quantisation> {
        let floats = || Numbers::of(Kind::Float);
        let mut found =
            Quantisation { bits: 0, scale: floats(), bias: floats(), table: floats(), is_linear: false };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            found.is_linear |= number == 101;
            let inner = value.part();
            match number {
                1 => found.bits = value.uint(),
                101 | 102 => {
                    for field in inner.fields() {
                        let Field { number: which, value, .. } = field?;
                        match (number, which) {
                            (101, 1) => found.scale.push(value),
                            (101, 2) => found.bias.push(value),
                            (102, 1) => found.table.push(value),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The weights of one field of a layer.
#[derive(Clone)]
pub(super) struct Weights {
    floats: Numbers,
    halves: Option<Range<u64>>,
    /// Integers without a sign, several in a byte.
    raw: Option<Range<u64>>,
    /// Integers of eight bits with a sign.
    signed: Option<Range<u64>>,
    quantisation: Option<Quantisation>,
    is_updatable: bool,
    shape: Vec<u64>,
    /// The axis whose places have a scale each.
    axis: usize,
    remark: Option<String>,
}

fn length(span: &Range<u64>) -> u64 {
    span.end.saturating_sub(span.start)
}

impl Weights {
    /// Reads the fields. `shape` is what the layer says of it, `axis` the axis of its scales.
    ///
    /// # Errors
    /// `Malformed`.
    pub(super) fn parse(part: Part, shape: Option<Vec<u64>>, axis: usize) -> Result<Weights> {
        let mut found = Weights {
            floats: Numbers::of(Kind::Float),
            halves: None,
            raw: None,
            signed: None,
            quantisation: None,
            is_updatable: false,
            shape: Vec::new(),
            axis,
            remark: None,
        };
        let span = |part: Part| (!part.bytes().is_empty()).then(|| part.span());
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => found.floats.push(value),
                (2, Wire::Bytes(part)) => found.halves = span(part),
                (30, Wire::Bytes(part)) => found.raw = span(part),
                (31, Wire::Bytes(part)) => found.signed = span(part),
                (40, value) => found.quantisation = Some(Quantisation::parse(value.part())?),
                (50, value) => found.is_updatable = value.uint() != 0,
                _ => {}
            }
        }
        found.shaped(shape);
        Ok(found)
    }

    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.floats.count == 0 && self.halves.is_none() && self.raw.is_none() && self.signed.is_none()
    }

    /// Takes the shape that the layer says if as many are stored; else they are a list.
    fn shaped(&mut self, said: Option<Vec<u64>>) {
        let wanted = said.as_ref().and_then(|shape| limits::elements(shape).ok());
        let stored = match (&self.raw, &self.signed, &self.halves) {
            (Some(raw), ..) => {
                let bits = self.quantisation.as_ref().map_or(8, |quantisation| quantisation.bits.clamp(1, 8));
                let bytes = |n: u64| (u128::from(n) * u128::from(bits)).div_ceil(8);
                match wanted {
                    Some(wanted) if bytes(wanted) == u128::from(length(raw)) => wanted,
                    _ => length(raw).saturating_mul(8) / bits,
                }
            }
            (_, Some(signed), _) => length(signed),
            (.., Some(halves)) => length(halves) / 2,
            _ => self.floats.count,
        };
        match said {
            Some(shape) if wanted == Some(stored) => self.shape = shape,
            said => {
                if let Some(shape) = said {
                    let what = format!("the layer says the shape {shape:?}, {stored} values are stored");
                    self.remark = Some(what);
                }
                self.shape = vec![stored];
                self.axis = 0;
            }
        }
    }

    /// What a graph says of it.
    pub(super) fn describe(&self, value: &mut Value, path: Arc<str>) {
        let is_half = self.halves.is_some() && self.raw.is_none() && self.signed.is_none();
        let dtype = if is_half { DType::F16 } else { DType::F32 };
        value.dtype = Some(dtype.to_string().into());
        value.shape = Some(self.shape.iter().map(|side| Dimension::Fixed(*side)).collect());
        value.elements = limits::elements(&self.shape).ok();
        value.weight = Some(path);
    }

    /// The integers that are stored, in a shape.
    fn stored(&self, source: &Source, shape: Vec<u64>) -> Result<Arc<dyn Array>> {
        if let Some(signed) = &self.signed {
            return Ok(Arc::new(Plain::cut(source.member("weights", signed.clone())?, 0, DType::I8, shape)?));
        }
        let raw = self.raw.clone().ok_or_else(|| Error::bug("weights that are not quantised"))?;
        let member = source.member("weights", raw)?;
        let bits = self.quantisation.as_ref().map_or(8, |quantisation| quantisation.bits);
        if bits == 8 {
            return Ok(Arc::new(Plain::cut(member, 0, DType::U8, shape)?));
        }
        let bits = u32::try_from(bits).unwrap_or(u32::MAX);
        Ok(Arc::new(Packed::new(member, shape, bits, DType::U8, true, None)?))
    }

    /// What the weights are.
    fn array(&self, source: &Source) -> Result<Arc<dyn Array>> {
        if self.raw.is_some() || self.signed.is_some() {
            return self.stands(source);
        }
        if let Some(halves) = &self.halves {
            let member = source.member("weights", halves.clone())?;
            return Ok(Arc::new(Plain::cut(member, 0, DType::F16, self.shape.clone())?));
        }
        self.floats.array(source, self.shape.clone(), None)
    }

    fn stands(&self, source: &Source) -> Result<Arc<dyn Array>> {
        let Some(quantisation) = &self.quantisation else {
            // A layer of another program's own: bytes that nothing is said of.
            return self.stored(source, self.shape.clone());
        };
        let flat = self.stored(source, vec![limits::elements(&self.shape)?])?;
        let all = |numbers: &Numbers| numbers.array(source, vec![numbers.count], None);
        let mut blocks = vec![1; self.shape.len()];
        let rule = if quantisation.is_linear {
            let count = quantisation.scale.count;
            if count > 1
                && let Some(side) = blocks.get_mut(self.axis)
            {
                *side = count;
            }
            let offset = (quantisation.bias.count > 0).then(|| all(&quantisation.bias)).transpose()?;
            Rule::Linear { scale: all(&quantisation.scale)?, zero: None, offset }
        } else {
            Rule::Table(all(&quantisation.table)?)
        };
        let bits = if self.signed.is_some() { 8 } else { quantisation.bits as u32 };
        let kind = if quantisation.is_linear { "linear" } else { "table" };
        let details = vec![("quantisation".to_owned(), format!("{kind}, {bits} bits"))];
        Ok(Arc::new(Stands::array(flat, self.shape.clone(), rule, blocks, bits, details)?))
    }

    /// The leaves of a document for it: what it is, and where that is made of others, those.
    pub(super) fn leaves(self, name: &str, source: &Source, to: &mut Vec<Leaf>) {
        let is_quantised = (self.raw.is_some() || self.signed.is_some()) && self.quantisation.is_some();
        let this = Arc::new(self);
        let leaf = |name: String, make: fn(&Weights, &Source) -> Result<Arc<dyn Array>>, is_whole: bool| {
            let (weights, source) = (this.clone(), source.clone());
            let made = move |name: &str| {
                let mut node = Node::new(name, if is_whole { label::WEIGHT } else { label::STORED });
                node.derived = is_whole && is_quantised;
                if is_whole {
                    node.remarks.extend(weights.remark.clone());
                    if weights.is_updatable {
                        node = node.attribute("isUpdatable", true.to_string());
                    }
                    node.span = weights.floats.span().or_else(|| weights.halves.clone());
                }
                match make(&weights, &source) {
                    Ok(array) => node.content(Content::Array(array)),
                    Err(error) => node.problem(error),
                }
            };
            Leaf::new(name, made)
        };
        to.push(leaf(name.to_owned(), Weights::array, true));
        if !is_quantised {
            return;
        }
        to.push(leaf(
            format!("{name}.stored"),
            |weights, source| weights.stored(source, weights.shape.clone()),
            false,
        ));
        type Pick = (&'static str, fn(&Quantisation) -> &Numbers);
        let parts: [Pick; 3] = [
            ("scale", |quantisation| &quantisation.scale),
            ("bias", |quantisation| &quantisation.bias),
            ("table", |quantisation| &quantisation.table),
        ];
        for (part, pick) in parts {
            let numbers = this.quantisation.as_ref().map(pick).filter(|numbers| numbers.count > 0).cloned();
            let Some(numbers) = numbers else { continue };
            let source = source.clone();
            to.push(Leaf::new(format!("{name}.{part}"), move |name| {
                let node = Node::new(name, label::STORED);
                match numbers.array(&source, vec![numbers.count], None) {
                    Ok(array) => node.content(Content::Array(array)),
                    Err(error) => node.problem(error),
                }
            }));
        }
    }
}

/// What a layer says of itself.
struct LayerAttributes<'a>(&'a [(Arc<str>, Attribute)]);

impl LayerAttributes<'_> {
    fn find(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    fn one(&self, name: &str) -> Option<u64> {
        if let Attribute::Int(value) = self.find(name)? { u64::try_from(*value).ok() } else { None }
    }

    fn both(&self, first: &str, second: &str) -> Option<Vec<u64>> {
        Some(vec![self.one(first)?, self.one(second)?])
    }

    fn list(&self, name: &str) -> Option<Vec<u64>> {
        let Attribute::Ints(values) = self.find(name)? else { return None };
        values.iter().map(|n| u64::try_from(*n).ok()).collect()
    }

    fn is(&self, name: &str) -> bool {
        matches!(self.find(name), Some(Attribute::Text(text)) if text == "true")
    }

    /// Of a deconvolution the input's channels come first, and each group has its own outputs.
    fn convolution(&self) -> Option<Vec<u64>> {
        let kernel = self.list("kernelSize").unwrap_or_else(|| vec![3, 3]);
        let (out, within) = (self.one("outputChannels")?, self.one("kernelChannels")?);
        let groups = self.one("nGroups").unwrap_or(1).max(1);
        let lead = if self.is("isDeconvolution") { vec![within, out / groups] } else { vec![out, within] };
        Some([lead, kernel].concat())
    }

    fn convolution3d(&self) -> Option<Vec<u64>> {
        let side = |name: &str| self.one(name).unwrap_or(3);
        let kernel = vec![side("kernelDepth"), side("kernelHeight"), side("kernelWidth")];
        let groups = self.one("nGroups").unwrap_or(1).max(1);
        let (out, within) = (self.one("outputChannels")?, self.one("inputChannels")?);
        let lead = match self.is("isDeconvolution") {
            true => vec![within, out / groups],
            false => vec![out, within / groups],
        };
        Some([lead, kernel].concat())
    }

    /// Gates of recurrent layers: vectors are lists anyway.
    fn recurrent(&self, field: &str) -> Option<Vec<u64>> {
        let field = field.to_ascii_lowercase();
        if field.ends_with("recursionmatrix") {
            return self.both("outputVectorSize", "outputVectorSize");
        }
        field.ends_with("weightmatrix").then(|| self.both("outputVectorSize", "inputVectorSize")).flatten()
    }
}

/// The shape of the weights in a field of a layer, by what the layer says of itself, and the axis that its scales
/// belong to.
pub(super) fn shape(
    layer: &str,
    field: &str,
    attributes: &[(Arc<str>, Attribute)],
) -> (Option<Vec<u64>>, usize) {
    let said = LayerAttributes(attributes);
    let last = field.rsplit('.').next().unwrap_or(field);
    let shape = match (layer, last) {
        ("convolution", "weights") => said.convolution(),
        ("convolution3d", "weights") => said.convolution3d(),
        ("innerProduct", "weights") => said.both("outputChannels", "inputChannels"),
        ("embedding", "weights") => said.both("outputChannels", "inputDim"),
        ("embeddingND", "weights") => said.both("embeddingSize", "vocabSize"),
        ("batchedMatmul", "weights") => {
            said.both("weightMatrixFirstDimension", "weightMatrixSecondDimension")
        }
        ("bias", "bias") | ("loadConstant" | "loadConstantND", "data") => said.list("shape"),
        ("scale", "scale") => said.list("shapeScale"),
        ("scale", "bias") => said.list("shapeBias"),
        ("layerNormalization", "gamma" | "beta") => said.list("normalizedShape"),
        ("simpleRecurrent" | "gru" | "uniDirectionalLSTM" | "biDirectionalLSTM", last) => {
            said.recurrent(last)
        }
        _ => None,
    };
    let axis = match (layer, last) {
        ("convolution" | "convolution3d", "weights") if said.is("isDeconvolution") => 1,
        ("batchedMatmul", "weights") => 1,
        _ => 0,
    };
    (shape.filter(|shape| !shape.is_empty()), axis)
}
