//! Climate and forecast conventions that several formats share: what the attributes of a variable and the
//! variables beside it say of its values and axes. NetCDF files of every kind and Zarr stores of xarray
//! follow them. <https://cfconventions.org/cf-conventions/cf-conventions.html>, and for packed and missing
//! values <https://docs.unidata.ucar.edu/nug/current/attribute_conventions.html>.
//!
//! A reader of such a format calls [`describe`] for each variable and puts the answer into the facts of its
//! array ([`Described::add_to`]).

mod times;

pub use times::{Calendar, Times};

use crate::data::content::array::{Axis, Scaling};
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::node::Value;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::Value as Json;
use std::sync::Arc;

/// A variable, as its file gives it.
#[derive(Clone, Copy)]
pub struct Variable<'a> {
    /// Its name, without groups.
    pub name: &'a str,
    /// Its attributes. Numbers are JSON numbers, or texts that read as one; several are a JSON array.
    pub attributes: &'a [(String, Value)],
    /// The type of its elements.
    pub dtype: &'a DType,
    /// The name of each dimension, without groups; empty where they have none.
    pub dimensions: &'a [String],
    /// The length of each dimension.
    pub shape: &'a [u64],
}

/// Another variable that a convention refers to.
pub struct Found {
    /// Its attributes.
    pub attributes: Vec<(String, Value)>,
    /// Its values; characters joined to texts, so that there is one element for each index.
    pub array: Arc<dyn Array>,
}

/// What the conventions say of a variable.
#[derive(Clone, Debug, Default)]
pub struct Described {
    /// The unit of its values.
    pub unit: Option<String>,
    /// How its values are read where they count time from a date.
    pub times: Option<Times>,
    /// One for each dimension, or none.
    pub axes: Vec<Axis>,
    /// What stored values stand for, where that is another number.
    pub scaling: Option<Scaling>,
    /// The names of values (`flag_meanings`).
    pub value_names: Vec<(i64, String)>,
}

impl Described {
    /// Puts everything into the facts of an array.
    pub fn add_to(self, facts: &mut ArrayFacts) {
        facts.unit = self.unit;
        facts.times = self.times;
        facts.axes = self.axes;
        facts.scaling = self.scaling;
        facts.value_names = self.value_names;
    }
}

/// What there is to remark where [`stored_type`] is another one.
pub const UNSIGNED: &str = "_Unsigned says that its integers have no sign";

/// The type of a variable's elements. `_Unsigned` is how types without a sign are said where the file or the
/// library that wrote it has none.
pub fn stored_type(attributes: &[(String, Value)], dtype: &DType) -> DType {
    // Text in NetCDF, and in JSON sometimes what it says.
    let word = |(_, value): &(String, Value)| match value {
        Value::Json(Json::Bool(word)) => Some(word.to_string()),
        _ => text(attributes, "_Unsigned"),
    };
    let said = attributes.iter().find(|(name, _)| name == "_Unsigned").and_then(word);
    let unsigned = said.is_some_and(|word| word.eq_ignore_ascii_case("true"));
    match dtype {
        DType::I8 if unsigned => DType::U8,
        DType::I16 if unsigned => DType::U16,
        DType::I32 if unsigned => DType::U32,
        DType::I64 if unsigned => DType::U64,
        other => other.clone(),
    }
}

/// What the conventions say of `variable`. `lookup` gives the variable of a name as seen from it: in its own
/// group, else in those above; `None` where there is none. It is asked for each dimension and for the names
/// in `coordinates`.
pub fn describe(variable: Variable<'_>, lookup: &dyn Fn(&str) -> Option<Found>) -> Described {
    let attributes = variable.attributes;
    Described {
        unit: text(attributes, "units"),
        times: times(attributes),
        axes: axes(variable, lookup),
        scaling: scaling(attributes, variable.dtype),
        value_names: flags(attributes, variable.dtype),
    }
}

fn times(attributes: &[(String, Value)]) -> Option<Times> {
    Times::parse(&text(attributes, "units")?, &text(attributes, "calendar").unwrap_or_default())
}

/// Dimensions by name; their coordinates are the variables of the same name, else the first of those in
/// `coordinates` that lies along the dimension alone.
fn axes(variable: Variable<'_>, lookup: &dyn Fn(&str) -> Option<Found>) -> Vec<Axis> {
    let (names, shape) = (variable.dimensions, variable.shape);
    if names.len() != shape.len() {
        return Vec::new();
    }
    let mut axes: Vec<Axis> = names.iter().map(|n| Axis { name: n.clone(), ..Axis::default() }).collect();
    for (axis, &len) in axes.iter_mut().zip(shape) {
        if axis.name.is_empty() {
            continue;
        }
        if axis.name == variable.name {
            // It is the coordinate itself.
            axis.unit = text(variable.attributes, "units");
            axis.times = times(variable.attributes);
        } else if let Some(found) = lookup(&axis.name)
            && found.array.shape() == [len]
        {
            fill(axis, found);
        }
    }
    let others = text(variable.attributes, "coordinates").unwrap_or_default();
    for name in others.split_whitespace().filter(|name| *name != variable.name) {
        let Some(found) = lookup(name) else { continue };
        let along: Option<String> = found.array.facts().axes.first().map(|axis| axis.name.clone());
        let free = axes.iter_mut().zip(shape).find(|(axis, _)| Some(&axis.name) == along.as_ref());
        if let Some((axis, &len)) = free
            && axis.coordinate.is_none()
            && axis.name != variable.name
            && found.array.shape() == [len]
        {
            fill(axis, found);
        }
    }
    axes
}

fn fill(axis: &mut Axis, found: Found) {
    axis.unit = text(&found.attributes, "units");
    axis.times = times(&found.attributes);
    axis.coordinate = Some(found.array);
}

/// `scale_factor`, `add_offset`, `_FillValue`, `missing_value`, `valid_min`, `valid_max`, `valid_range`.
/// `None` where stored values stand for themselves, and for what is no number.
pub fn scaling(attributes: &[(String, Value)], dtype: &DType) -> Option<Scaling> {
    if !dtype.is_real() || *dtype == DType::Bool {
        return None;
    }
    let one = |name: &str| numbers(attributes, name).first().copied().filter(|n| n.is_finite());
    let scale = one("scale_factor").filter(|scale| *scale != 0.0).unwrap_or(1.0);
    let offset = one("add_offset").unwrap_or(0.0);
    let mut fill: Vec<f64> = Vec::new();
    for value in ["_FillValue", "missing_value"].iter().flat_map(|name| numbers(attributes, name)) {
        let stored = as_stored(dtype, value);
        if !stored.is_nan() && !fill.contains(&stored) {
            fill.push(stored);
        }
    }
    let packed = scale != 1.0 || offset != 0.0;
    // Limits of a wider type than the packed values are limits of what those stand for.
    let limit = |(value, float): (f64, bool)| match packed && float && !dtype.is_float() {
        true => (value - offset) / scale,
        false => as_stored(dtype, value),
    };
    let bound = |name: &str, at: usize| typed(attributes, name).get(at).copied().map(limit);
    let low = bound("valid_range", 0).or(bound("valid_min", 0)).filter(|n| !n.is_nan());
    let high = bound("valid_range", 1).or(bound("valid_max", 0)).filter(|n| !n.is_nan());
    let valid = match (low, high) {
        (None, None) => None,
        (low, high) => {
            let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
            // A negative factor turns limits of unpacked values round.
            Some(if low <= high { (low, high) } else { (high, low) })
        }
    };
    let plain = !packed && fill.is_empty() && valid.is_none();
    (!plain).then_some(Scaling { scale, offset, fill, valid })
}

/// A number of an attribute as the value that an element of `dtype` has for it: rounded to narrow floats,
/// and negative ones as what they are unsigned.
fn as_stored(dtype: &DType, value: f64) -> f64 {
    match dtype {
        DType::F32 => f64::from(value as f32),
        DType::F16 => half::f16::from_f64(value).to_f64(),
        DType::BF16 => half::bf16::from_f64(value).to_f64(),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 if value < 0.0 => {
            value + 2f64.powi(dtype.bits() as i32)
        }
        _ => value,
    }
}

/// `flag_values` or `flag_masks` with `flag_meanings`.
fn flags(attributes: &[(String, Value)], dtype: &DType) -> Vec<(i64, String)> {
    let Some(meanings) = text(attributes, "flag_meanings") else { return Vec::new() };
    let mut values = numbers(attributes, "flag_values");
    if values.is_empty() {
        values = numbers(attributes, "flag_masks");
    }
    let stored = values.iter().map(|value| as_stored(dtype, *value) as i64);
    stored.zip(meanings.split_whitespace().map(str::to_owned)).collect()
}

/// The text of an attribute.
pub fn text(attributes: &[(String, Value)], name: &str) -> Option<String> {
    let (_, value) = attributes.iter().find(|(key, _)| key == name)?;
    match value {
        Value::Text(text) | Value::Json(Json::String(text)) => Some(text.trim().to_owned()),
        Value::Json(Json::Array(list)) => match list.as_slice() {
            [Json::String(text)] => Some(text.trim().to_owned()),
            _ => None,
        },
        Value::Json(_) => None,
    }
    .filter(|text| !text.is_empty())
}

/// The numbers of an attribute; none where it is missing or holds something else.
pub fn numbers(attributes: &[(String, Value)], name: &str) -> Vec<f64> {
    typed(attributes, name).into_iter().map(|(number, _)| number).collect()
}

/// The numbers of an attribute, and whether each is written as a float.
fn typed(attributes: &[(String, Value)], name: &str) -> Vec<(f64, bool)> {
    let Some((_, value)) = attributes.iter().find(|(key, _)| key == name) else { return Vec::new() };
    let one = |json: &Json| match json {
        Json::Number(number) => Some((number.as_f64()?, number.is_f64())),
        Json::String(text) => number(text),
        _ => None,
    };
    match value {
        Value::Text(text) => number(text).into_iter().collect(),
        Value::Json(Json::Array(list)) => list.iter().filter_map(one).collect(),
        Value::Json(json) => one(json).into_iter().collect(),
    }
}

/// A number that stands as text: in digits, or as xarray writes fill values into Zarr's JSON (the base64 of
/// a little-endian double).
fn number(text: &str) -> Option<(f64, bool)> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return Some((number, !text.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'+')));
    }
    let bytes = BASE64_STANDARD.decode(Some(text).filter(|text| text.len() == 12)?).ok()?;
    let bytes = bytes.try_into().ok()?;
    Some((f64::from_le_bytes(bytes), true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use serde_json::json;

    fn attributes(json: Json) -> Vec<(String, Value)> {
        let Json::Object(map) = json else { panic!("an object") };
        map.into_iter().map(|(name, value)| (name, value.into())).collect()
    }

    #[test]
    fn packed_values_and_missing_ones() {
        let packed = attributes(json!({
            "scale_factor": 0.01, "add_offset": [273.15], "_FillValue": -32767, "missing_value": [-32767, "-1"],
            "valid_range": [-30000, 30000],
        }));
        let scaling = scaling(&packed, &DType::I16).unwrap();
        assert_eq!((scaling.scale, scaling.offset), (0.01, 273.15));
        assert_eq!(scaling.fill, [-32767.0, -1.0]);
        assert_eq!(scaling.valid, Some((-30000.0, 30000.0)));
        assert!(scaling.apply(-32767.0).is_nan() && scaling.apply(30001.0).is_nan());
        assert_eq!(scaling.apply(100.0), 100.0 * 0.01 + 273.15);
    }

    #[test]
    fn attributes_are_compared_in_the_type_of_the_elements() {
        let narrow = attributes(json!({ "_FillValue": 9.96921e36 }));
        let fill = scaling(&narrow, &DType::F32).unwrap().fill;
        assert_eq!(fill, [f64::from(9.96921e36f32)]);
        let negative = attributes(json!({ "_FillValue": -1 }));
        assert_eq!(scaling(&negative, &DType::U8).unwrap().fill, [255.0]);
        // A float limit of packed integers is one of what they stand for; a negative factor turns them.
        let wide = attributes(json!({ "scale_factor": -0.5, "valid_min": -10.0, "valid_max": 10.0 }));
        assert_eq!(scaling(&wide, &DType::I16).unwrap().valid, Some((-20.0, 20.0)));
        let xarray = attributes(json!({ "_FillValue": "AAAAAAAAWUA=" }));
        assert_eq!(scaling(&xarray, &DType::F64).unwrap().fill, [100.0]);
        let nan = attributes(json!({ "_FillValue": "AAAAAAAA+H8=" }));
        assert_eq!(scaling(&nan, &DType::F64), None);
        assert_eq!(scaling(&attributes(json!({ "units": "K", "scale_factor": 0 })), &DType::F64), None);
        assert_eq!(scaling(&packed_text(), &DType::Bytes(1)), None);
    }

    fn packed_text() -> Vec<(String, Value)> {
        attributes(json!({ "_FillValue": "0", "scale_factor": 2 }))
    }

    #[test]
    fn flags_have_names() {
        let flags = attributes(json!({ "flag_values": [0, 1, 2], "flag_meanings": "sea land  ice" }));
        let names: Vec<(i64, String)> =
            [(0, "sea"), (1, "land"), (2, "ice")].map(|(n, s)| (n, s.to_owned())).to_vec();
        assert_eq!(super::flags(&flags, &DType::I8), names);
        // Attributes have a sign even where _Unsigned takes it from the elements.
        let high = attributes(
            json!({ "flag_values": [1, -1], "flag_meanings": "clear cloud", "_Unsigned": "true" }),
        );
        let dtype = stored_type(&high, &DType::I8);
        assert_eq!(dtype, DType::U8);
        assert_eq!(super::flags(&high, &dtype)[1], (255, "cloud".to_owned()));
        assert_eq!(stored_type(&flags, &DType::I16), DType::I16);
        assert_eq!(stored_type(&high, &DType::F32), DType::F32);
    }

    #[test]
    fn dimensions_have_their_coordinates() {
        let dimensions = ["time".to_owned(), "station".to_owned(), "level".to_owned()];
        let lookup = |name: &str| {
            let (along, len, units) = match name {
                "time" => ("time", 4, "days since 2000-01-01"),
                "name" => ("station", 3, ""),
                "level" => ("level", 9, "hPa"),
                _ => return None,
            };
            let plain =
                Plain::new(Source::memory("a", vec![0; len]), 0, DType::U8, vec![len as u64]).unwrap();
            let mut facts = ArrayFacts::default();
            facts.axes.push(Axis { name: along.to_owned(), ..Axis::default() });
            let attributes = attributes(json!({ "units": units, "calendar": "noleap" }));
            Some(Found { attributes, array: Arc::new(plain.with_facts(facts)) })
        };
        let of = attributes(json!({ "units": "K", "coordinates": "nothing name" }));
        let variable = Variable {
            name: "t",
            attributes: &of,
            dtype: &DType::F32,
            dimensions: &dimensions,
            shape: &[4, 3, 5],
        };
        let described = describe(variable, &lookup);
        assert_eq!(described.unit.as_deref(), Some("K"));
        let [time, station, level] = described.axes.as_slice() else { panic!("{:?}", described.axes) };
        assert_eq!(time.times.as_ref().unwrap().text(59.0).unwrap(), "2000-03-01");
        assert!(time.coordinate.is_some() && station.coordinate.is_some());
        // Of another length than the dimension.
        assert!(level.coordinate.is_none());
        let itself = describe(
            Variable {
                name: "time",
                attributes: &attributes(json!({ "units": "days since 2000-01-01" })),
                dimensions: &dimensions[..1],
                shape: &[4],
                ..variable
            },
            &lookup,
        );
        assert!(itself.times.is_some() && itself.axes[0].coordinate.is_none());
    }
}
