//! Attributes as NetCDF has them: text, or numbers of one type in one dimension; NetCDF-4 has lists of texts too.
//! <https://docs.unidata.ucar.edu/nug/current/attribute_conventions.html>

use super::Version;
use super::names::{unique, valid};
use super::types::{Number, Stored};
use crate::data::dtype::DType;
use crate::data::format::{Attributes, Loss, LossKind, note};
use crate::data::node::Value;
use crate::engines::attributes::{Encoded, OF_ELEMENTS, encoded, numbers};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// What NetCDF-4's library keeps its own notes in.
const RESERVED: [&str; 9] = [
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
];

/// Attributes in the file, and what is lost of them; the losses name the attribute. `of` is the type of a variable's
/// elements, and how they are kept.
pub fn kept(
    attributes: &Attributes,
    of: Option<(&DType, &Stored)>,
    version: Version,
) -> (Vec<(String, Encoded)>, Vec<Loss>) {
    let stored = of.map(|(_, stored)| stored);
    let is_unsigned = of.is_some_and(|(dtype, _)| matches!(dtype, DType::U8 | DType::U16 | DType::U32));
    let (mut all, mut losses, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (name, value) in &attributes.list {
        let mut say = |what: String| losses.push(note(LossKind::Attribute, what).of(name));
        let of_elements = match stored {
            Some(Stored::Number(number)) => number.dtype.clone(),
            _ => DType::Void(1),
        };
        let found = encoded(attributes, name, value, &of_elements);
        if matches!((&found, value), (Encoded::Text(_), Value::Json(_))) {
            say("NetCDF has no type for it: its JSON is kept as text".to_owned());
        }
        let found = match stored {
            Some(stored) if name == "_FillValue" => missing(found, stored, is_unsigned),
            // Signed where the elements are, for want of types without.
            Some(Stored::Number(number))
                if is_unsigned && !version.is_wide() && OF_ELEMENTS.contains(&name.as_str()) =>
            {
                Some(of_type(found, number, is_unsigned))
            }
            _ => Some(found),
        };
        let Some(found) = found else {
            say("no element is it in the type of the file: it is left out".to_owned());
            continue;
        };
        let (found, what) = fitted(found, version);
        if let Some(what) = what {
            say(what.to_owned());
        }
        let mut new = valid(name);
        if version.has_groups() && RESERVED.contains(&new.as_str()) {
            new.push('_');
        }
        let new = unique(&mut taken, &new);
        if new != *name {
            say(format!("it is called {new} in the file"));
            losses.push(
                note(LossKind::Attribute, format!("the attribute {name} is called so in the file")).of(&new),
            );
        }
        all.push((new, found));
    }
    (all, losses)
}

/// The value that stands for what is missing has the type of the elements; `None` where it cannot.
fn missing(found: Encoded, stored: &Stored, is_unsigned: bool) -> Option<Encoded> {
    let Stored::Number(number) = stored else { return None };
    if let (Encoded::Text(text), DType::Bytes(1)) = (&found, &number.dtype) {
        return (text.len() == 1).then_some(found);
    }
    match of_type(found, number, is_unsigned) {
        Encoded::Numbers(dtype, bytes, shape)
            if dtype == number.dtype && bytes.len() as u64 == dtype.size() =>
        {
            Some(Encoded::Numbers(dtype, bytes, shape))
        }
        _ => None,
    }
}

/// Numbers that are compared with elements in the type of these, where they have it.
fn of_type(found: Encoded, number: &Number, is_unsigned: bool) -> Encoded {
    let Encoded::Numbers(dtype, bytes, shape) = &found else { return found };
    if *dtype == number.dtype {
        return found;
    }
    // Of types without a sign where the version has none: the same bits.
    let signed = |n: &Json| -> Option<i64> {
        let n = n.as_u64().filter(|_| is_unsigned)?;
        Some(match number.dtype {
            DType::I8 => i64::from(u8::try_from(n).ok()? as i8),
            DType::I16 => i64::from(u16::try_from(n).ok()? as i16),
            DType::I32 => i64::from(u32::try_from(n).ok()? as i32),
            _ => return None,
        })
    };
    let turned: Vec<Json> =
        list(dtype, bytes).into_iter().map(|n| signed(&n).map_or(n, Json::from)).collect();
    match numbers(&turned, &number.dtype) {
        Some(bytes) => Encoded::Numbers(number.dtype.clone(), bytes, shape.clone()),
        None => found,
    }
}

/// The elements of an attribute as JSON numbers, or texts for those that JSON has not.
pub fn list(dtype: &DType, bytes: &[u8]) -> Vec<Json> {
    let one = |element: &[u8]| {
        let text = crate::data::cell::element(dtype, element);
        text.parse::<serde_json::Number>().map_or_else(|_| Json::from(text), Json::Number)
    };
    bytes.chunks_exact(dtype.size().max(1) as usize).map(one).collect()
}

/// A value in what the version has, and what is said of it.
fn fitted(found: Encoded, version: Version) -> (Encoded, Option<&'static str>) {
    let json = |texts: &[String], shape: &[u64]| {
        nested(texts.iter().map(|text| Json::from(text.as_str())).collect(), shape).to_string()
    };
    match found {
        Encoded::Nothing if !version.has_strings() => {
            (Encoded::Text(String::new()), Some("it has no value: the text is empty"))
        }
        Encoded::Texts(texts, shape) if !version.has_strings() => match texts.as_slice() {
            [one] => (Encoded::Text(one.clone()), None),
            many => (
                Encoded::Text(json(many, &shape)),
                Some("NetCDF classic has no lists of texts: its JSON is kept"),
            ),
        },
        Encoded::Texts(texts, shape) if shape.len() > 1 => (
            Encoded::Text(json(&texts, &shape)),
            Some("NetCDF's attributes have one dimension: its JSON is kept"),
        ),
        Encoded::Numbers(DType::Bool, bytes, shape) => {
            let shape = shape.map(|shape| vec![shape.iter().product()]);
            (Encoded::Numbers(DType::I8, bytes, shape), Some("truth values become int8 of 0 and 1"))
        }
        Encoded::Numbers(dtype, bytes, Some(shape)) if shape.len() > 1 => {
            let text = nested(list(&dtype, &bytes), &shape).to_string();
            (Encoded::Text(text), Some("NetCDF's attributes have one dimension: its JSON is kept"))
        }
        Encoded::Numbers(dtype, bytes, shape) if !version.is_wide() => narrow(dtype, bytes, shape),
        other => (other, None),
    }
}

/// Numbers of types that only the later versions have, in one of the others that holds them.
fn narrow(dtype: DType, bytes: Vec<u8>, shape: Option<Vec<u64>>) -> (Encoded, Option<&'static str>) {
    if !matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::I64 | DType::U64) {
        return (Encoded::Numbers(dtype, bytes, shape), None);
    }
    let items = list(&dtype, &bytes);
    for narrower in [DType::I16, DType::I32].iter().filter(|other| other.size() >= 4 || dtype.size() < 4) {
        if let Some(bytes) = numbers(&items, narrower) {
            return (Encoded::Numbers(narrower.clone(), bytes, shape), None);
        }
    }
    let is_exact = |n: &Json| n.as_f64().is_some_and(|f| f.abs() < 9e15);
    match numbers(&items, &DType::F64).filter(|_| items.iter().all(is_exact)) {
        Some(bytes) => (Encoded::Numbers(DType::F64, bytes, shape), None),
        None => (
            Encoded::Text(Json::from(items).to_string()),
            Some("no type of the version holds it: it is kept as text"),
        ),
    }
}

/// Values in C order as lists of lists.
fn nested(values: Vec<Json>, shape: &[u64]) -> Json {
    let [_, rest @ ..] = shape else { return values.into_iter().next().unwrap_or(Json::Null) };
    let each = rest.iter().product::<u64>().max(1) as usize;
    if rest.is_empty() {
        return Json::Array(values);
    }
    Json::Array(values.chunks(each).map(|part| nested(part.to_vec(), rest)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::node::Value;
    use serde_json::json;

    #[test]
    fn values_fit_the_version() {
        let attributes = Attributes::from(vec![
            ("n".to_owned(), Value::Json(json!(5))),
            ("list".to_owned(), Value::Json(json!(["a", "b"]))),
            ("grid".to_owned(), Value::Json(json!([[1, 2], [3, 4]]))),
            ("_FillValue".to_owned(), Value::Json(json!(255))),
            ("flag".to_owned(), Value::Json(json!(true))),
        ]);
        let stored = Stored::Number(Number {
            dtype: DType::I8,
            change: super::super::types::Change::Same,
            inner: None,
        });
        let (all, losses) = kept(&attributes, Some((&DType::U8, &stored)), Version::Classic(1));
        let find = |name: &str| all.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!(find("n"), Encoded::Numbers(DType::I32, 5i32.to_le_bytes().to_vec(), None));
        assert_eq!(find("list"), Encoded::Text("[\"a\",\"b\"]".to_owned()));
        assert_eq!(find("grid"), Encoded::Text("[[1,2],[3,4]]".to_owned()));
        assert_eq!(find("_FillValue"), Encoded::Numbers(DType::I8, vec![255], None));
        assert_eq!(losses.len(), 3, "{losses:?}");
        let (all, losses) = kept(&attributes, None, Version::Four);
        assert!(matches!(&all[1].1, Encoded::Texts(..)) && losses.len() == 2, "{losses:?}");
    }
}
