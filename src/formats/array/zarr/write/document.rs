//! The documents of a hierarchy, in the words of either version.

use super::super::json::BASE64;
use super::super::{dtype, fill};
use super::Job;
use super::data_type::Stored;
use super::encode::Codecs;
use super::grid::Grid;
use super::options::{Settings, Version};
use crate::bytes::error::{Error, Result};
use crate::data::dtype::DType;
use crate::data::format::{Attributes, Files, Loss, LossKind, Payload, note};
use crate::engines::attributes::OF_ELEMENTS;
use base64::Engine;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// xarray's attribute with the names of an array's dimensions, in version 2.
pub(super) const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";
/// The attribute with the value that stands for *missing*.
const MISSING: &str = "_FillValue";

/// Writes all documents, and those of the whole once more in one.
///
/// # Errors
/// `Unsupported` for an array in an array and for two of one name; those of writing.
pub(super) fn put(
    payload: &Payload,
    jobs: &[Job<'_>],
    settings: &Settings,
    keys: &mut dyn Files,
) -> Result<()> {
    let groups = payload.groups(jobs.iter().map(|job| job.name))?;
    groups.iter().try_for_each(|name| super::check_name(name))?;
    let arrays = jobs.iter().map(|job| (job.name, &job.document));
    match settings.version {
        Version::V3 => {
            let mut all: BTreeMap<&str, Json> = arrays.map(|(name, json)| (name, json.clone())).collect();
            all.extend(groups.iter().map(|name| (*name, group(attributes_of(payload, name)))));
            let mut root = group(spelled(&payload.attributes, &DType::U8, Version::V3));
            let consolidated = json!({"kind": "inline", "must_understand": false, "metadata": all});
            insert(&mut root, "consolidated_metadata", consolidated);
            keys.put("zarr.json", &bytes_of(&root)?)?;
            all.iter().try_for_each(|(path, json)| keys.put(&format!("{path}/zarr.json"), &bytes_of(json)?))
        }
        Version::V2 => {
            let mut all: BTreeMap<String, Json> = BTreeMap::new();
            let mut add = |path: &str, document: Option<Json>, attributes: Map<String, Json>| {
                let apart = if path.is_empty() { "" } else { "/" };
                let (name, document) = match document {
                    Some(document) => (".zarray", document),
                    None => (".zgroup", json!({"zarr_format": 2})),
                };
                all.insert(format!("{path}{apart}{name}"), document);
                if !attributes.is_empty() {
                    all.insert(format!("{path}{apart}.zattrs"), Json::Object(attributes));
                }
            };
            add("", None, spelled(&payload.attributes, &DType::U8, Version::V2));
            groups.iter().for_each(|name| {
                let own = payload.parts.get(*name).cloned().unwrap_or_default();
                add(name, None, spelled(&own, &DType::U8, Version::V2));
            });
            jobs.iter().for_each(|job| add(job.name, Some(job.document.clone()), job.attributes.clone()));
            let whole = json!({"metadata": all, "zarr_consolidated_format": 1});
            keys.put(".zmetadata", &bytes_of(&whole)?)?;
            all.iter().try_for_each(|(path, json)| keys.put(path, &bytes_of(json)?))
        }
    }
}

/// The attributes of a group in version 3.
fn attributes_of(payload: &Payload, name: &str) -> Map<String, Json> {
    payload.parts.get(name).map(|own| spelled(own, &DType::U8, Version::V3)).unwrap_or_default()
}

/// Attributes of an array of `dtype` (or of a group, which is of none) as JSON.
pub(super) fn spelled(attributes: &Attributes, dtype: &DType, version: Version) -> Map<String, Json> {
    let mut out = Map::new();
    for (name, value) in &attributes.list {
        let exact = attributes.exact(name, value);
        // xarray keeps the value for *missing* of floats as the Base64 of a double, since JSON has no NaN.
        let missing = exact.as_f64().or_else(|| exact.as_str().and_then(|text| text.parse().ok()));
        let is_float = name == MISSING && dtype.is_float() && version == Version::V3;
        let json = match missing.filter(|_| is_float) {
            Some(missing) => Json::from(BASE64.encode(f64::to_le_bytes(missing))),
            None if is_of_floats(attributes, name, dtype) => in_words(exact),
            None => exact,
        };
        out.insert(name.clone(), json);
    }
    out
}

/// Whether an attribute's values are floats. That for *missing* goes another way.
fn is_of_floats(attributes: &Attributes, name: &str, dtype: &DType) -> bool {
    let of_elements = OF_ELEMENTS.contains(&name).then_some(dtype);
    name != MISSING && attributes.types.get(name).or(of_elements).is_some_and(DType::is_float)
}

/// NaN and infinities, for which JSON has no numbers, in the words that Zarr has for them in fill values.
fn in_words(json: Json) -> Json {
    match json {
        Json::String(text) => match text.parse::<f64>() {
            Ok(number) if number.is_nan() => Json::from("NaN"),
            Ok(f64::INFINITY) => Json::from("Infinity"),
            Ok(f64::NEG_INFINITY) => Json::from("-Infinity"),
            _ => Json::String(text),
        },
        Json::Array(list) => list.into_iter().map(in_words).collect(),
        other => other,
    }
}

/// What is said of the attributes of what is called `path`.
pub(super) fn losses(path: &str, attributes: &Attributes, dtype: &DType, losses: &mut Vec<Loss>) {
    fn has_word(json: &Json) -> bool {
        match json {
            Json::String(text) => text.parse::<f64>().is_ok_and(|number| !number.is_finite()),
            Json::Array(list) => list.iter().any(has_word),
            _ => false,
        }
    }
    for (name, value) in &attributes.list {
        if is_of_floats(attributes, name, dtype) && has_word(&attributes.exact(name, value)) {
            let what = "JSON has no NaN and no infinity: they become text";
            losses.push(note(LossKind::Attribute, what).at(path).of(name));
        }
    }
}

fn group(attributes: Map<String, Json>) -> Json {
    json!({"zarr_format": 3, "node_type": "group", "attributes": attributes})
}

pub(super) fn bytes_of(document: &Json) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(document).map_err(|e| Error::bug(format!("metadata that are no JSON: {e}")))
}

/// The list of codecs of version 3, those of shards too.
pub(super) fn codecs(grid: &Grid, codecs: &Codecs, stored: &Stored) -> Vec<Json> {
    let codecs = codecs.of_v3(&stored.codec);
    match grid.is_sharded() {
        true => vec![json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": grid.chunk, "codecs": codecs, "index_codecs": index_codecs(), "index_location": "end"}})],
        false => codecs,
    }
}

/// What makes bytes of a shard's index.
fn index_codecs() -> Vec<Json> {
    vec![json!({"name": "bytes", "configuration": {"endian": "little"}}), json!({"name": "crc32c"})]
}

/// Sets an entry of a document, which is an object.
fn insert(document: &mut Json, name: &str, value: Json) {
    if let Some(entries) = document.as_object_mut() {
        entries.insert(name.to_owned(), value);
    }
}

impl Job<'_> {
    /// Fills in the document and the attributes.
    pub(super) fn describe(&mut self, own: &Attributes, version: Version) {
        let mut attributes = spelled(own, self.array.dtype(), version);
        let axes = self.array.facts().axes;
        let is_named = axes.len() == self.array.shape().len() && axes.iter().any(|a| !a.name.is_empty());
        let name = |name: &String| if name.is_empty() { Json::Null } else { Json::from(name.as_str()) };
        let names: Option<Json> = is_named.then(|| axes.iter().map(|axis| name(&axis.name)).collect());
        match version {
            Version::V3 => {
                self.document = self.of_v3(&attributes);
                if let Some(names) = names {
                    insert(&mut self.document, "dimension_names", names);
                }
            }
            Version::V2 => {
                // xarray opens what says its dimensions, also where there are none.
                let names = names.or_else(|| self.array.shape().is_empty().then(|| json!([])));
                if let Some(names) = names {
                    self.stored.fill = self.missing(&attributes);
                    self.stored.zeros_are_fill &= self.is_zero(&self.stored.fill);
                    attributes.insert(DIMENSIONS.to_owned(), names);
                }
                self.document = self.of_v2();
            }
        }
        self.attributes = attributes;
    }

    /// The fill value of an array that xarray reads: what it takes for *missing*, or none.
    fn missing(&self, attributes: &Map<String, Json>) -> Json {
        let value = match attributes.get(MISSING) {
            Some(Json::String(text)) => match text.to_ascii_lowercase().as_str() {
                "nan" => json!("NaN"),
                "inf" | "infinity" => json!("Infinity"),
                "-inf" | "-infinity" => json!("-Infinity"),
                _ => return Json::Null,
            },
            Some(Json::Array(one)) => one.first().filter(|_| one.len() == 1).cloned().unwrap_or(Json::Null),
            other => other.cloned().unwrap_or(Json::Null),
        };
        let fits = self.array.dtype().is_real() && (value.is_number() || value.is_string());
        if fits && self.element_of(&value).is_some() { value } else { Json::Null }
    }

    /// A fill value of version 2 as an element.
    fn element_of(&self, value: &Json) -> Option<Vec<u8>> {
        let element = dtype::of_v2(&self.stored.data_type).ok()?;
        fill::bytes(value, &element).ok()?
    }

    fn is_zero(&self, value: &Json) -> bool {
        !value.is_null() && self.element_of(value).is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0))
    }

    /// The `zarr.json` without the names of dimensions.
    fn of_v3(&self, attributes: &Map<String, Json>) -> Json {
        let (grid, codecs) = (&self.grid, codecs(&self.grid, &self.codecs, &self.stored));
        json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.array.shape(),
            "data_type": self.stored.data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid.shard}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": self.stored.fill,
            "codecs": codecs,
            "attributes": attributes,
            "storage_transformers": [],
        })
    }

    /// The `.zarray`.
    fn of_v2(&self) -> Json {
        let (filters, compressor) = self.codecs.of_v2();
        json!({
            "zarr_format": 2,
            "shape": self.array.shape(),
            "chunks": self.grid.chunk,
            "dtype": self.stored.data_type,
            "compressor": compressor,
            "fill_value": self.stored.fill,
            "order": "C",
            "filters": filters,
            "dimension_separator": ".",
        })
    }
}
