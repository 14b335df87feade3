//! Arrays as images: the pixels in a type that FITS has, big-endian, and the cards that say what they are.

use super::super::image::turn_sign;
use super::cards::{Cards, ascii};
use super::unit::Data;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{MappedArray, PartsArray};
use crate::data::content::array::{Axis, Scaling};
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::{DType, swap_bytes};
use crate::data::format::{Attributes, Loss, LossKind, loss, note};
use crate::data::scan::elements;
use crate::engines::widen::{widen, widened};
use serde_json::Value as Json;
use std::sync::Arc;

/// The types of images: BITPIX, the type, and the offset that makes integers those of the other sign.
const TYPES: [(i64, DType, Option<&str>); 10] = [
    (8, DType::U8, None),
    (8, DType::I8, Some("-128")),
    (16, DType::I16, None),
    (16, DType::U16, Some("32768")),
    (32, DType::I32, None),
    (32, DType::U32, Some("2147483648")),
    (64, DType::I64, None),
    (64, DType::U64, Some("9223372036854775808")),
    (-32, DType::F32, None),
    (-64, DType::F64, None),
];

/// An array as an image.
pub(super) struct Pixels {
    /// Of one of the types.
    pub array: Arc<dyn Array>,
    pub bits: i64,
    /// The offset that turns the sign, as it is written.
    zero: Option<&'static str>,
    scaling: Option<Scaling>,
    blank: Option<i64>,
    /// What is known of the array as it came.
    facts: ArrayFacts,
    pub losses: Vec<Loss>,
}

/// A type that holds the integers of one that is stored with an offset, so that a scale has room beside it.
fn signed(dtype: &DType) -> Option<DType> {
    Some(match dtype {
        DType::I8 => DType::I16,
        DType::U16 => DType::I32,
        DType::U32 => DType::I64,
        _ => return None,
    })
}

/// Elements as others, by their values.
fn as_type(array: Arc<dyn Array>, to: DType) -> Arc<dyn Array> {
    let (from, wide) = (array.dtype().clone(), to.clone());
    Arc::new(MappedArray::new(array, to, |_| {}).converted(move |raw, out| {
        let mut values = Vec::with_capacity(raw.len() / from.size().max(1) as usize);
        from.decode(raw, &mut values);
        wide.encode(&values, out);
        Ok(())
    }))
}

impl Pixels {
    /// The image that an array becomes; `None` where its elements are no numbers.
    ///
    /// # Errors
    /// `Unsupported` for more dimensions than FITS has.
    pub(super) fn plan(array: &Arc<dyn Array>) -> Result<Option<Pixels>> {
        let facts = array.facts();
        let mut losses = Vec::new();
        let has: Vec<DType> =
            TYPES.iter().map(|(_, dtype, _)| dtype.clone()).chain([DType::C64, DType::C128]).collect();
        let mut pixels: Arc<dyn Array> = match array.dtype() {
            DType::Void(size) if *size > 0 => {
                losses.push(note(LossKind::Type, "its opaque bytes become uint8 along a last dimension"));
                Arc::new(PartsArray::all(array.clone(), DType::U8))
            }
            dtype => {
                let Some((to, lost)) = widened(dtype, &has) else { return Ok(None) };
                losses.extend(lost);
                widen(array.clone(), &to)
            }
        };
        if pixels.dtype().is_complex() {
            let what = "real and imaginary parts become the two elements of a last dimension, COMPLEX";
            losses.push(note(LossKind::Type, what));
            let part = if *pixels.dtype() == DType::C64 { DType::F32 } else { DType::F64 };
            pixels = Arc::new(PartsArray::all(pixels, part));
        }
        let mut scaling = facts.scaling.clone().filter(|_| array.dtype().is_real());
        if let Some(found) = scaling.as_mut() {
            let offset = TYPES.iter().any(|(_, dtype, zero)| dtype == pixels.dtype() && zero.is_some());
            match signed(pixels.dtype()) {
                Some(wide) => {
                    let what =
                        format!("{} becomes {wide}: a scale has no place beside its sign", pixels.dtype());
                    losses.push(note(LossKind::Type, what));
                    pixels = as_type(pixels, wide);
                }
                None if offset => {
                    let what = "FITS has no place for a scale beside uint64: stored numbers are written";
                    losses.push(loss(LossKind::Scale, what));
                    *found = Scaling { scale: 1.0, offset: 0.0, fill: Vec::new(), valid: None };
                }
                None => {}
            }
        }
        let blank = scaling.as_ref().and_then(|scaling| blank(scaling, pixels.dtype(), &mut losses));
        if pixels.shape().is_empty() {
            losses.push(note(LossKind::Type, "a single value becomes an image of one pixel"));
        }
        if pixels.shape().len() > 999 {
            return Err(Error::unsupported(format!(
                "{} dimensions: FITS has at most 999",
                pixels.shape().len()
            )));
        }
        let known =
            TYPES.iter().find(|(_, dtype, _)| dtype == pixels.dtype()).map(|(bits, _, zero)| (*bits, *zero));
        let Some((bits, zero)) = known else { return Ok(None) };
        Ok(Some(Pixels { array: pixels, bits, zero, scaling, blank, facts, losses }))
    }

    /// The lengths of the axes, the slowest first.
    pub(super) fn shape(&self) -> Vec<u64> {
        if self.array.shape().is_empty() { vec![1] } else { self.array.shape().to_vec() }
    }

    /// The cards of the axes; the names begin with `prefix`.
    pub(super) fn put_sides(&self, prefix: &str, cards: &mut Cards) {
        let shape = self.shape();
        cards.say(prefix, shape.len() as u64, "number of axes");
        for (n, side) in shape.iter().rev().enumerate() {
            cards.say(&format!("{prefix}{}", n + 1), *side, "");
        }
    }

    /// The cards of what stored values mean, and of what the axes are where the attributes say nothing of them.
    pub(super) fn put_meaning(&self, attributes: &Attributes, cards: &mut Cards) {
        let number = |text: &str| serde_json::from_str::<Json>(text).unwrap_or(Json::Null);
        if let Some(zero) = self.zero {
            cards.say("BSCALE", 1, "");
            cards.say("BZERO", number(zero), "integers of the other sign");
        } else if let Some(scaling) = self.scaling.as_ref().filter(|scaling| !scaling.is_identity()) {
            cards.say("BSCALE", scaling.scale, "physical = BZERO + BSCALE * stored");
            cards.say("BZERO", scaling.offset, "");
        }
        if let Some(blank) = self.blank {
            cards.say("BLANK", blank, "stored value that means nothing");
        }
        if let (Some(unit), None) = (&self.facts.unit, attributes.get("BUNIT")) {
            cards.say("BUNIT", ascii(unit), "");
        }
        let shape = self.shape();
        if !has_world(attributes) || is_cut(attributes, &shape) {
            self.put_axes(shape.len(), cards);
        }
    }

    /// Names, units and coordinates of the axes.
    fn put_axes(&self, rank: usize, cards: &mut Cards) {
        let mut axes = self.facts.axes.clone();
        if self.array.shape().len() == axes.len() + 1 && rank == axes.len() + 1 {
            axes.push(Axis { name: "COMPLEX".to_owned(), regular: Some((1.0, 1.0)), ..Axis::default() });
        }
        if axes.len() != rank {
            return;
        }
        for (n, axis) in axes.iter().rev().enumerate() {
            let n = n + 1;
            if !axis.name.is_empty() {
                cards.say(&format!("CTYPE{n}"), ascii(&axis.name), "");
            }
            if let Some(unit) = &axis.unit {
                cards.say(&format!("CUNIT{n}"), ascii(unit), "");
            }
            if let Some((start, step)) = axis.regular.filter(|(a, b)| a.is_finite() && b.is_finite()) {
                cards.say(&format!("CRPIX{n}"), 1.0, "");
                cards.say(&format!("CRVAL{n}"), start, "");
                cards.say(&format!("CDELT{n}"), step, "");
            }
        }
    }

    /// Whether integers are stored with the other sign.
    fn is_turned(&self) -> bool {
        self.zero.is_some()
    }

    /// Elements as they are stored, little-endian still.
    pub(super) fn stored(&self, bytes: &mut [u8]) {
        if self.is_turned() {
            turn_sign(bytes, self.size());
        }
    }

    /// Bytes of a pixel.
    pub(super) fn size(&self) -> usize {
        self.array.dtype().size() as usize
    }

    /// Writes all pixels.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub(super) fn put(&self, task: &Task, data: &mut Data<'_>) -> Result<()> {
        let size = self.size();
        let mut stored = Vec::new();
        elements(task, self.array.as_ref(), &mut |bytes| {
            stored.clear();
            stored.extend_from_slice(bytes);
            self.stored(&mut stored);
            swap_bytes(&mut stored, size);
            data.put(&stored)
        })
    }
}

/// The stored integer that means *missing*; what of the others is lost.
fn blank(scaling: &Scaling, dtype: &DType, losses: &mut Vec<Loss>) -> Option<i64> {
    if scaling.valid.is_some() {
        let what = "FITS does not say which values are valid: those outside are written as all others";
        losses.push(loss(LossKind::Scale, what));
    }
    let (first, others) = scaling.fill.split_first()?;
    let whole = !dtype.is_float() && first.fract() == 0.0 && first.abs() < 9e15;
    if !whole {
        let what = "missing floats are NaN in FITS: the value that means it is written as all others";
        losses.push(loss(LossKind::Scale, what));
        return None;
    }
    if !others.is_empty() {
        let what = format!("FITS has one value for missing: only {first} is marked as such");
        losses.push(loss(LossKind::Scale, what));
    }
    Some(*first as i64)
}

/// The keywords of world coordinates, which end with the numbers of axes.
const WORLD: [&str; 12] =
    ["CTYPE", "CUNIT", "CRVAL", "CRPIX", "CDELT", "CROTA", "CD", "PC", "PV", "PS", "CNAME", "WCSAXES"];

/// Whether a keyword is one of world coordinates.
pub(super) fn is_world(name: &str) -> bool {
    WORLD.iter().any(|prefix| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '_'))
    }) && name.len() <= 8
        && (name.ends_with(|c: char| c.is_ascii_digit()) || name == "WCSAXES")
}

/// Whether attributes say what the axes are.
fn has_world(attributes: &Attributes) -> bool {
    attributes.list.iter().any(|(name, _)| is_world(name))
}

/// Whether the attributes are those of an image of other sides, of which this is a part.
pub(super) fn is_cut(attributes: &Attributes, shape: &[u64]) -> bool {
    let side = |n: usize| {
        let value = attributes.get(&format!("NAXIS{n}"))?;
        crate::engines::headers::json(value).as_u64()
    };
    let count = attributes.get("NAXIS").and_then(|value| crate::engines::headers::json(value).as_u64());
    count.is_some_and(|count| {
        count != shape.len() as u64
            || shape.iter().rev().enumerate().any(|(n, len)| side(n + 1) != Some(*len))
    })
}
