//! What goes into a model and what comes out of it: names, types and shapes of features.
//! <https://apple.github.io/coremltools/mlmodel/Format/FeatureTypes.html>

use super::{json, schema};
use crate::bytes::error::Result;
use crate::data::content::graph::Dimension;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use serde_json::{Map, Value as Json};

/// A feature.
#[derive(Clone, Debug, Default)]
pub(super) struct Feature {
    pub(super) name: String,
    /// Its type, in the words of arrays where it is one.
    pub(super) dtype: Option<String>,
    pub(super) shape: Option<Vec<Dimension>>,
    /// All that the file says of it.
    pub(super) told: Map<String, Json>,
}

/// The word for the elements of a multi-array.
fn element(code: u64) -> String {
    match code {
        65_568 => "float32".to_owned(),
        65_600 => "float64".to_owned(),
        65_552 => "float16".to_owned(),
        131_104 => "int32".to_owned(),
        131_080 => "int8".to_owned(),
        other => format!("type {other}"),
    }
}

/// Numbers of a repeated field, packed or not, as signed ones.
fn integers(value: Wire, to: &mut Vec<i64>) -> Result<()> {
    match value {
        Wire::Bytes(part) => {
            for number in part.varints() {
                to.push(number?.cast_signed());
            }
        }
        single => to.push(single.uint().cast_signed()),
    }
    Ok(())
}

fn dimension(length: i64) -> Dimension {
    u64::try_from(length).map_or(Dimension::Open, Dimension::Fixed)
}

/// A `SizeRange`: at least, and at most; a limit below zero is none.
fn range(part: Part) -> Result<(i64, i64)> {
    let (mut low, mut high) = (0, 0);
    for field in part.fields() {
        match field? {
            Field { number: 1, value, .. } => low = value.uint().cast_signed(),
            Field { number: 2, value, .. } => high = value.uint().cast_signed(),
            _ => {}
        }
    }
    Ok((low, high))
}

fn ranged((low, high): (i64, i64)) -> Dimension {
    if low == high { dimension(low) } else { Dimension::Open }
}

/// An `ArrayFeatureType`: its elements and its shape, where a length that may differ is open.
fn array(part: Part) -> Result<(String, Option<Vec<Dimension>>)> {
    let (mut shape, mut code, mut flexible) = (Vec::new(), 0, None);
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        match number {
            1 => integers(value, &mut shape)?,
            2 => code = value.uint(),
            21 => flexible = Some(enumerated(value.part())?),
            31 => {
                let mut ranges = Vec::new();
                for field in value.fields() {
                    ranges.push(ranged(range(field?.value.part())?));
                }
                flexible = Some(ranges);
            }
            _ => {}
        }
    }
    let fixed: Vec<Dimension> = shape.into_iter().map(dimension).collect();
    let shape = flexible.filter(|shape| !shape.is_empty()).unwrap_or(fixed);
    Ok((element(code), (!shape.is_empty()).then_some(shape)))
}

/// What all shapes of a list have in common.
fn enumerated(part: Part) -> Result<Vec<Dimension>> {
    let mut common: Option<Vec<Dimension>> = None;
    for field in part.fields() {
        let mut shape = Vec::new();
        for field in field?.value.fields() {
            integers(field?.value, &mut shape)?;
        }
        let shape: Vec<Dimension> = shape.into_iter().map(dimension).collect();
        common = Some(match common {
            None => shape,
            Some(known) if known.len() == shape.len() => {
                let both = known.into_iter().zip(shape);
                both.map(|(a, b)| if a == b { a } else { Dimension::Open }).collect()
            }
            Some(_) => return Ok(Vec::new()),
        });
    }
    Ok(common.unwrap_or_default())
}

/// An `ImageFeatureType`: its colours, its height and width.
fn image(part: Part) -> Result<(String, Option<Vec<Dimension>>)> {
    let (mut width, mut height, mut colours) = (Dimension::Open, Dimension::Open, 0);
    let mut is_flexible = false;
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        match number {
            1 if !is_flexible => width = dimension(value.uint().cast_signed()),
            2 if !is_flexible => height = dimension(value.uint().cast_signed()),
            3 => colours = value.uint(),
            21 => (width, height, is_flexible) = (Dimension::Open, Dimension::Open, true),
            31 => {
                is_flexible = true;
                for field in value.fields() {
                    match field? {
                        Field { number: 1, value, .. } => width = ranged(range(value.part())?),
                        Field { number: 2, value, .. } => height = ranged(range(value.part())?),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let colours = schema::value_name("ImageFeatureType.ColorSpace", colours).to_lowercase();
    Ok((format!("image({colours})"), Some(vec![height, width])))
}

/// A `FeatureType`.
fn kind(part: Part, feature: &mut Feature) -> Result<()> {
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        let inner = |numbers: &[(u32, &str)]| -> Result<String> {
            for field in value.fields() {
                let field = field?;
                if let Some((_, word)) = numbers.iter().find(|(number, _)| *number == field.number) {
                    return Ok((*word).to_owned());
                }
            }
            Ok("unknown".to_owned())
        };
        match number {
            1 => feature.dtype = Some("int64".to_owned()),
            2 => feature.dtype = Some("float64".to_owned()),
            3 => feature.dtype = Some("str".to_owned()),
            4 => {
                let (dtype, shape) = image(value.part())?;
                (feature.dtype, feature.shape) = (Some(dtype), shape);
            }
            5 => {
                let (dtype, shape) = array(value.part())?;
                (feature.dtype, feature.shape) = (Some(dtype), shape);
            }
            6 => {
                feature.dtype = Some(format!("dictionary({}, float64)", inner(&[(1, "int64"), (2, "str")])?))
            }
            7 => feature.dtype = Some(format!("sequence({})", inner(&[(1, "int64"), (3, "str")])?)),
            8 => {
                for field in value.fields() {
                    let field = field?;
                    if field.number == 1 {
                        let (dtype, shape) = array(field.value.part())?;
                        (feature.dtype, feature.shape) = (Some(format!("state({dtype})")), shape);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A `FeatureDescription`.
///
/// # Errors
/// `Malformed`.
pub(super) fn parse(part: Part) -> Result<Feature> {
    let mut feature = Feature::default();
    if let Json::Object(told) = json::of(part, schema::message("FeatureDescription"))? {
        feature.told = told;
    }
    for field in part.fields() {
        match field? {
            Field { number: 1, value, .. } => feature.name = value.text(),
            Field { number: 3, value, .. } => kind(value.part(), &mut feature)?,
            _ => {}
        }
    }
    Ok(feature)
}
