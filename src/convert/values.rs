//! Values as they are shown or as they are stored. Numbers with a scale, an offset or a value for *missing*
//! stand for others; counts of time stand for dates. Tables get what they stand for, arrays what is stored together
//! with the attributes that say how to read it, unless somebody chose otherwise. Pictures get what is stored, and those of
//! whole numbers nothing else.

use super::{Item, Target};
use crate::bytes::error::{Error, Result};
use crate::data::adapt::{Interpreted, MappedArray, Retyped};
use crate::data::cell;
use crate::data::cf;
use crate::data::content::array::Scaling;
use crate::data::content::{Array, Content, Kind, Sample};
use crate::data::dtype::{DType, Fit};
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options};
use crate::data::format::{loss, note};
use crate::data::node::Value;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Which values of numbers with a scale are written, for every target.
pub const VALUES: OptionSpec = OptionSpec::new("values", "What is written of numbers with a scale, offset or fill value: what they stand for (shown) or what is stored; auto: shown in tables, stored in arrays; pictures hold whole numbers, which are the stored ones").one_of("auto", &["auto", "shown", "stored"]);

/// The type of the elements that are written, for every target that takes arrays.
pub const DTYPE: OptionSpec = OptionSpec::new("dtype", "The type of the numbers that are written: floats of other types are rounded to the nearest, of ties to the even one; keep: as they are").one_of("keep", &["keep", "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]);
/// Which arrays get that type.
pub const CAST: OptionSpec = OptionSpec::new(
    "cast",
    "Which arrays get another dtype: those of floats alone, or those of whole numbers too",
)
.one_of("floats", &["floats", "all"]);

/// The attributes that say what stored numbers stand for.
const PACKING: [&str; 8] = [
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "valid_min",
    "valid_max",
    "valid_range",
    "_Unsigned",
];
/// The attributes that are compared with elements.
const OF_ELEMENTS: [&str; 7] =
    ["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];
/// The attributes that say which time is counted.
const COUNTING: [&str; 2] = ["units", "calendar"];

/// Whether what is shown of any of these is not what is stored, and the target can hold either, so that there is a
/// choice.
pub fn is_choice(items: &[Item], target: &Target) -> bool {
    !target.is_picture() && items.iter().any(stands_for_others)
}

/// Whether what is shown of an item is not what is stored.
fn stands_for_others(item: &Item) -> bool {
    match &item.content {
        Content::Array(array) => Interpreted::nullable(array.clone()).is_some(),
        Content::Table(_) | Content::Image(_) | Content::Text(_) | Content::Graph(_) | Content::Bytes(_) => {
            false
        }
    }
}

impl Target {
    /// Whether values are written as they are shown where nobody chose.
    pub fn shows_values(&self) -> bool {
        !self.writer.accepts.contains(&Kind::Array) && !self.writer.accepts.contains(&Kind::Image)
    }

    /// Whether pictures are written whose samples cannot be the doubles that shown values are.
    fn is_picture(&self) -> bool {
        self.writer.accepts.contains(&Kind::Image) && !self.writer.pictures.samples.contains(&Sample::F64)
    }
}

/// Refuses shown values where a picture is written of numbers that stand for others.
pub(super) fn check(items: &[Item], target: &Target, options: &Options) -> Result<()> {
    let is_shown = options.get(VALUES.name) == Some("shown");
    match target.is_picture() && is_shown && items.iter().any(stands_for_others) {
        true => Err(Error::unsupported(format!(
            "{} holds whole numbers: of numbers with a scale the stored ones are written",
            target.name
        ))),
        false => Ok(()),
    }
}

/// Whether shown values are written.
fn is_shown(target: &Target, options: &Options) -> bool {
    match options.get(VALUES.name) {
        Some("shown") => true,
        Some("stored") => false,
        _ => target.shows_values(),
    }
}

/// The item with the values that are written; what that loses is added.
pub(super) fn chosen(item: &Item, target: &Target, options: &Options, losses: &mut Vec<Loss>) -> Item {
    let mut item = item.clone();
    let Content::Array(array) = &item.content else { return item };
    let mut array = array.clone();
    if let DType::Blocks(kind) = array.dtype()
        && !(asked(options).is_none() && (target.writer.blocks)(*kind, options) && has_blocks(array.as_ref()))
    {
        let dtype = array.dtype();
        let what = format!("{dtype} become float32, exactly; the blocks and their scales are not kept");
        losses.push(note(LossKind::Type, what).at(&item.name));
        array = Arc::new(Retyped::new(array, DType::F32));
        item.content = Content::Array(array.clone());
    }
    if target.writer.metadata == Metadata::Tree {
        unsigned(&mut item, array.dtype(), losses);
    }
    let is_table =
        target.writer.accepts.contains(&Kind::Table) && !target.writer.accepts.contains(&Kind::Array);
    let facts = array.facts();
    let scaling = facts.scaling.filter(|_| array.dtype().is_real());
    if is_shown(target, options) && is_table {
        let Some(shown) = Interpreted::nullable(array.clone()) else { return item };
        let (what, gone): (String, Vec<&str>) = match shown.dtype() {
            _ if scaling.is_none() => ("counts of time become times".to_owned(), COUNTING.to_vec()),
            dtype => {
                let times = facts.times.as_ref().is_some_and(|times| times.is_usual());
                let gone = PACKING.iter().chain(COUNTING.iter().filter(|_| times)).copied().collect();
                (
                    format!(
                        "{} become {dtype}: {}; null where missing",
                        array.dtype(),
                        words(scaling.as_ref())
                    ),
                    gone,
                )
            }
        };
        losses.push(note(LossKind::Scale, what).at(&item.name));
        if let Some(times) = facts
            .times
            .as_ref()
            .filter(|times| times.is_usual() && (times.is_fine() || array.dtype().is_float()))
        {
            let what = format!("digits of times below {} are not kept", times.resolution());
            losses.push(note(LossKind::Precision, what).at(&item.name).if_any());
        }
        item.attributes.remove(&gone);
        item.content = Content::Array(Arc::new(shown));
        return item;
    }
    let Some(scaling) = scaling else { return item };
    let is_picture = target.is_picture();
    if is_shown(target, options) && !is_picture {
        if let Some(shown) = Interpreted::floats(array.clone()) {
            let what =
                format!("{} become float64: {}; NaN where missing", array.dtype(), words(Some(&scaling)));
            losses.push(note(LossKind::Scale, what).at(&item.name));
            item.attributes.remove(&PACKING);
            item.content = Content::Array(Arc::new(shown));
        }
        return item;
    }
    match target.writer.metadata {
        Metadata::Tree => described(&mut item, array.as_ref(), &scaling, losses),
        // Which the writer says itself.
        Metadata::Header => {}
        _ => {
            let what = format!("stored numbers are written; they stand for {}", words(Some(&scaling)));
            // Who asked for stored numbers knows it.
            let asked = options.get(VALUES.name) == Some("stored");
            let made = if asked || is_picture {
                note(LossKind::Scale, what)
            } else {
                loss(LossKind::Scale, format!("{what} (values=shown writes that)"))
            };
            losses.push(made.at(&item.name));
        }
    }
    item
}

/// Whether the blocks of an array can be had as they are stored.
fn has_blocks(array: &dyn Array) -> bool {
    array.quantised().is_some_and(|quantised| quantised.blocks().is_some())
}

/// The type that was asked for.
fn asked(options: &Options) -> Option<DType> {
    DType::of_name(options.get(DTYPE.name)?)
}

impl Target {
    /// The options of the arrays that are written, which are the same for every target that takes such.
    pub fn array_options(&self) -> &'static [OptionSpec] {
        if self.writer.accepts.contains(&Kind::Array) { &[DTYPE, CAST] } else { &[] }
    }
}

/// The arrays of an item with elements of the type that was asked for; what that loses is added.
pub(super) fn cast(
    item: &mut Item,
    arrays: Vec<(String, Arc<dyn Array>)>,
    options: &Options,
    losses: &mut Vec<Loss>,
) -> Vec<(String, Arc<dyn Array>)> {
    let Some(to) = asked(options) else { return arrays };
    let all = options.get(CAST.name) == Some("all");
    let one = |(name, array): (String, Arc<dyn Array>)| {
        let from = array.dtype().clone();
        let (true, Some(fit)) = (from != to && (all || from.is_float()), from.fit(&to)) else {
            return (name, array);
        };
        let Some(cast) = MappedArray::cast(array.clone(), to.clone()) else { return (name, array) };
        losses.push(note(LossKind::Type, format!("{from} become {to}")).at(&name));
        let rounded = match fit {
            Fit::Exact => None,
            Fit::Rounded => Some("values are rounded to the digits that it has"),
            Fit::Cut if to.is_float() => {
                Some("values are rounded to the digits that it has; what is too large becomes infinite")
            }
            Fit::Cut => {
                Some("values are rounded to whole numbers; what is too large becomes the largest, NaN zero")
            }
        };
        let say = |what: &str| loss(LossKind::Precision, format!("{to}: {what}")).at(&name).if_any();
        losses.extend(rounded.map(say));
        if name == item.name {
            retyped(item, &from, &to);
        }
        (name, Arc::new(cast) as Arc<dyn Array>)
    };
    arrays.into_iter().map(one).collect()
}

/// Attributes that are compared with elements get the type of these.
fn retyped(item: &mut Item, from: &DType, to: &DType) {
    for (_, dtype) in item
        .attributes
        .types
        .iter_mut()
        .filter(|(name, dtype)| OF_ELEMENTS.contains(&name.as_str()) && *dtype == from)
    {
        *dtype = to.clone();
    }
}

/// Attributes have a sign even where `_Unsigned` takes it from the elements. Where the elements have a type
/// without a sign, their attributes are as they are, and nothing is left to be said.
fn unsigned(item: &mut Item, dtype: &DType, losses: &mut Vec<Loss>) {
    let is_unsigned = matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64);
    if !is_unsigned || item.attributes.get("_Unsigned").is_none() {
        return;
    }
    fn turned(json: &Json, dtype: &DType) -> Json {
        match json {
            Json::Array(items) => items.iter().map(|item| turned(item, dtype)).collect(),
            other => match (other.as_i64().filter(|n| *n < 0), dtype) {
                (Some(n), DType::U8) => json!(n as u8),
                (Some(n), DType::U16) => json!(n as u16),
                (Some(n), DType::U32) => json!(n as u32),
                (Some(n), _) => json!(n as u64),
                (None, _) => other.clone(),
            },
        }
    }
    item.attributes.remove(&["_Unsigned"]);
    for (name, value) in &mut item.attributes.list {
        if OF_ELEMENTS.contains(&name.as_str())
            && let Value::Json(json) = value
        {
            *value = Value::Json(turned(json, dtype));
            item.attributes.types.insert(name.clone(), dtype.clone());
        }
    }
    let what = format!("_Unsigned is not needed: the elements are {dtype}, and what is said of them too");
    losses.push(note(LossKind::Attribute, what).at(&item.name));
}

/// What a scaling does, in words.
fn words(scaling: Option<&Scaling>) -> String {
    let Some(scaling) = scaling else { return "what they stand for".to_owned() };
    let mut out = format!("stored × {} + {}", scaling.scale, scaling.offset);
    if !scaling.fill.is_empty() {
        let fill: Vec<String> = scaling.fill.iter().map(|fill| cell::float64(*fill)).collect();
        out += &format!(", {} is missing", fill.join(", "));
    }
    if let Some((low, high)) = scaling.valid {
        out += &format!(", outside of {low} to {high} missing");
    }
    out
}

/// Gives the item the attributes that say what its numbers stand for, where its own do not.
fn described(item: &mut Item, array: &dyn Array, scaling: &Scaling, losses: &mut Vec<Loss>) {
    if cf::scaling(&item.attributes.list, array.dtype()).as_ref() == Some(scaling) {
        return;
    }
    let what = format!("attributes are added that say what its numbers stand for: {}", words(Some(scaling)));
    losses.push(note(LossKind::Attribute, what).at(&item.name));
    item.attributes.remove(&PACKING);
    let mut say = |name: &str, value: serde_json::Value| {
        item.attributes.types.remove(name);
        item.attributes.list.push((name.to_owned(), Value::Json(value)));
    };
    if scaling.scale != 1.0 {
        say("scale_factor", json!(scaling.scale));
    }
    if scaling.offset != 0.0 {
        say("add_offset", json!(scaling.offset));
    }
    let number = |n: f64| match !array.dtype().is_float() && n.fract() == 0.0 && n.abs() < 9e15 {
        true => json!(n as i64),
        false => json!(n),
    };
    match scaling.fill.as_slice() {
        [] => {}
        [one] => say("_FillValue", number(*one)),
        [one, others @ ..] => {
            say("_FillValue", number(*one));
            say("missing_value", others.iter().map(|n| number(*n)).collect());
        }
    }
    if let Some((low, high)) = scaling.valid {
        if low.is_finite() {
            say("valid_min", number(low));
        }
        if high.is_finite() {
            say("valid_max", number(high));
        }
    }
}
