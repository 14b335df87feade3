//! What the library `datasets` says of the columns of Parquet and Arrow files: JSON in the schema's metadata under the
//! key `huggingface`. <https://huggingface.co/docs/datasets/about_dataset_features>,
//! <https://github.com/huggingface/datasets/blob/main/src/datasets/features/features.py>

use crate::bytes::limits;
use crate::data::node::Value;
use arrow::datatypes::{Field, SchemaRef};
use serde_json::Value as Json;
use std::sync::Arc;

/// What a column, or a field in it, stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Feature {
    /// A picture: a struct of bytes and path.
    Image,
    /// A recording, held in the same way.
    Audio,
    /// The number of a class; their names from 0 on.
    ClassLabel(Arc<[String]>),
    /// An array of this shape; `None` for sides that differ.
    Array(Vec<Option<u64>>),
    /// A struct.
    Fields(Vec<(String, Feature)>),
    /// A list.
    List(Box<Feature>),
    /// Anything else.
    Other,
}

/// The key in the metadata.
const KEY: &str = "huggingface";

/// Metadata of a field whose values are texts or numbers of classes: the names of all classes, in the order of their
/// numbers, as a list of JSON.
const CLASSES: &str = "classes";

/// The field with the names of all classes.
pub fn with_classes(field: Field, names: &[String]) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(CLASSES.to_owned(), Json::from(names).to_string());
    field.with_metadata(metadata)
}

/// The names of all classes, where the field says them.
pub fn classes_of(field: &Field) -> Option<Arc<[String]>> {
    serde_json::from_str::<Vec<String>>(field.metadata().get(CLASSES)?).ok().map(Arc::from)
}

/// What is said of the columns, in the metadata of the schema or among the attributes of the table's node.
pub fn of(schema: &SchemaRef, attributes: &[(String, Value)]) -> Vec<(String, Feature)> {
    let stated = schema.metadata().get(KEY).and_then(|text| serde_json::from_str(text).ok());
    let attribute = || match &attributes.iter().find(|(name, _)| name == KEY)?.1 {
        Value::Text(text) => serde_json::from_str(text).ok(),
        Value::Json(json) => Some(json.clone()),
    };
    let json: Option<Json> = stated.or_else(attribute);
    let features = json.as_ref().and_then(|json| json.get("info")?.get("features"));
    match features.map(|features| feature(features, 0)) {
        Some(Feature::Fields(fields)) => fields,
        _ => Vec::new(),
    }
}

/// The feature of this name.
pub fn named<'a>(features: &'a [(String, Feature)], name: &str) -> Option<&'a Feature> {
    features.iter().find(|(known, _)| known == name).map(|(_, feature)| feature)
}

impl Feature {
    /// The field of this name, also of what lists hold.
    pub fn field(&self, name: &str) -> Option<&Feature> {
        match self {
            Feature::Fields(fields) => named(fields, name),
            Feature::List(items) => items.field(name),
            _ => None,
        }
    }

    /// The names of classes, also of what lists hold.
    pub fn names(&self) -> Option<&Arc<[String]>> {
        match self {
            Feature::ClassLabel(names) => Some(names),
            Feature::List(items) => items.names(),
            _ => None,
        }
    }
}

fn feature(json: &Json, depth: usize) -> Feature {
    if depth > limits::DEPTH {
        return Feature::Other;
    }
    let list = |items: Option<&Json>| {
        Feature::List(Box::new(items.map_or(Feature::Other, |items| feature(items, depth + 1))))
    };
    match json {
        Json::Array(items) => list(items.first()),
        Json::Object(fields) => match fields.get("_type").and_then(Json::as_str) {
            Some("Image") => Feature::Image,
            Some("Audio") => Feature::Audio,
            Some("ClassLabel") => {
                let names = fields.get("names").and_then(Json::as_array).into_iter().flatten();
                Feature::ClassLabel(names.map(|name| name.as_str().unwrap_or_default().to_owned()).collect())
            }
            Some("Array2D" | "Array3D" | "Array4D" | "Array5D") => {
                let shape = fields.get("shape").and_then(Json::as_array).into_iter().flatten();
                Feature::Array(shape.map(Json::as_u64).collect())
            }
            Some("Sequence" | "List" | "LargeList") => list(fields.get("feature")),
            Some(_) => Feature::Other,
            None => {
                let fields = fields.iter().map(|(name, json)| (name.clone(), feature(json, depth + 1)));
                Feature::Fields(fields.collect())
            }
        },
        _ => Feature::Other,
    }
}
