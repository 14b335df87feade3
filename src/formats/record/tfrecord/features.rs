//! What a data set of TensorFlow Datasets says of itself: `dataset_info.json` its name, version and splits,
//! `features.json` the types of its fields, `NAME.labels.txt` the names of classes.
//! <https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/core/proto/dataset_info.proto>,
//! <https://github.com/tensorflow/datasets/blob/master/tensorflow_datasets/core/features/feature.proto>

use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::Node;
use crate::engines::examples::Hints;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashMap};

/// The largest of these files that is read.
const LARGEST: u64 = 16 << 20;
/// How deep features nest.
const DEPTH: usize = 16;
/// Names of classes that are shown beside the type of a feature.
const CLASSES: usize = 100;

/// The description of a data set; empty where there is none.
#[derive(Default)]
pub(super) struct Described {
    info: Map<String, Json>,
    /// The splits by name: how many rows each of their shards has.
    splits: BTreeMap<String, Vec<u64>>,
    /// Each field as its name in records, the word for its type, and the names of its classes.
    fields: Vec<Feature>,
}

struct Feature {
    name: String,
    /// The class of the feature: `Image`, `ClassLabel`, `Tensor`, `Text`.
    class: String,
    /// Its own parameters: a shape, a type of elements.
    about: Json,
    classes: Vec<String>,
}

fn document(task: &Task, folder: &Source, name: &str) -> Result<Option<Json>> {
    let text = text(task, folder, name)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// The text of a file of the folder, if it is there and not too long.
fn text(task: &Task, folder: &Source, name: &str) -> Result<Option<String>> {
    let read = || {
        let source = folder.child(task, name)?;
        let len = source.len(task)?;
        limits::check(len, LARGEST, name)?;
        source.read(task, 0..len)
    };
    Ok(read().unless_cancelled()?.ok().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
}

/// A number of JSON, which may be a text there.
fn number(json: &Json) -> Option<u64> {
    json.as_u64().or_else(|| json.as_str()?.parse().ok())
}

impl Described {
    /// Reads what there is.
    pub(super) fn read(task: &Task, folder: &Source) -> Result<Described> {
        let mut described = Described::default();
        if let Some(Json::Object(info)) = document(task, folder, "dataset_info.json")? {
            for split in info.get("splits").and_then(Json::as_array).into_iter().flatten() {
                let lengths = split.get("shardLengths").and_then(Json::as_array).into_iter().flatten();
                let lengths = lengths.filter_map(number).collect();
                if let Some(name) = split.get("name").and_then(Json::as_str) {
                    described.splits.insert(name.to_owned(), lengths);
                }
            }
            described.info = info;
        }
        if let Some(features) = document(task, folder, "features.json")? {
            described.feature(task, folder, "", &features, 0)?;
        }
        Ok(described)
    }

    /// Takes in a feature and those within.
    fn feature(&mut self, task: &Task, folder: &Source, name: &str, json: &Json, depth: usize) -> Result<()> {
        task.check()?;
        if depth > DEPTH {
            return Ok(());
        }
        let below = |inner: &str| if name.is_empty() { inner.to_owned() } else { format!("{name}/{inner}") };
        if let Some(inner) = json.pointer("/featuresDict/features").and_then(Json::as_object) {
            for (key, feature) in inner {
                self.feature(task, folder, &below(key), feature, depth + 1)?;
            }
            return Ok(());
        }
        if let Some(inner) = json.pointer("/sequence/feature") {
            return self.feature(task, folder, name, inner, depth + 1);
        }
        let said = |key: &str| json.get(key).and_then(Json::as_str);
        let class = said("pythonClassName").or_else(|| said("type")).unwrap_or_default();
        let class = class.rsplit('.').next().unwrap_or_default().to_owned();
        let mut classes = Vec::new();
        if class == "ClassLabel" {
            let file = format!("{}.labels.txt", name.replace('/', "-"));
            let names = text(task, folder, &file)?;
            classes = names.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
        }
        let words = ["image", "classLabel", "tensor", "text", "audio", "video", "boundingBox"];
        let about = words.iter().filter_map(|word| json.get(word)).find(|about| about.is_object());
        let about = about.cloned().unwrap_or(Json::Null);
        self.fields.push(Feature { name: name.to_owned(), class, about, classes });
        Ok(())
    }

    /// The split that shards of this name are of: `mnist-train` is `train`.
    pub(super) fn split<'a>(&self, name: &'a str) -> Option<&'a str> {
        let split = name.rsplit_once('-').map_or(name, |(_, split)| split);
        self.splits.contains_key(split).then_some(split)
    }

    /// How many rows each of the shards of this name has, where that is said of just so many.
    pub(super) fn rows(&self, name: &str, shards: usize) -> Option<Vec<u64>> {
        let lengths = self.splits.get(self.split(name)?)?;
        (lengths.len() == shards).then(|| lengths.clone())
    }

    /// What the columns are told of their features.
    pub(super) fn hints(&self) -> Hints {
        let is_bytes = |feature: &&Feature| {
            let is_text =
                matches!(feature.about.get("dtype").and_then(Json::as_str), None | Some("string" | "object"));
            match feature.class.as_str() {
                "Image" | "LabeledImage" | "Video" | "Audio" => true,
                "Tensor" => !is_text,
                _ => false,
            }
        };
        let bytes = self.fields.iter().filter(is_bytes).map(|feature| feature.name.clone()).collect();
        let mut features = Map::new();
        for feature in &self.fields {
            let said = match feature.class.as_str() {
                "ClassLabel" if !feature.classes.is_empty() => {
                    json!({ "_type": "ClassLabel", "names": feature.classes })
                }
                "Image" => json!({ "_type": "Image" }),
                "Audio" => json!({ "_type": "Audio" }),
                _ => continue,
            };
            features.insert(feature.name.clone(), said);
        }
        let mut metadata = HashMap::new();
        if !features.is_empty() {
            // The words that Hugging Face's data sets have for this in their schemas.
            metadata
                .insert("huggingface".to_owned(), json!({ "info": { "features": features } }).to_string());
        }
        Hints { bytes, metadata }
    }

    /// Tells the data set's own description at its node.
    pub(super) fn tell(&self, node: &mut Node) {
        for key in ["name", "version", "description", "citation", "configName"] {
            if let Some(text) = self.info.get(key).and_then(Json::as_str).filter(|text| !text.is_empty()) {
                node.attributes.push((key.to_owned(), text.into()));
            }
        }
        let mut features = Map::new();
        for feature in &self.fields {
            let mut said = Map::new();
            said.insert("type".to_owned(), feature.class.as_str().into());
            if let Json::Object(about) = &feature.about {
                said.extend(about.clone());
            }
            if !feature.classes.is_empty() {
                let shown: Vec<&str> = feature.classes.iter().take(CLASSES).map(String::as_str).collect();
                said.insert("names".to_owned(), json!(shown));
            }
            features.insert(feature.name.clone(), Json::Object(said));
        }
        if !features.is_empty() {
            node.attributes.push(("features".to_owned(), Json::Object(features).into()));
        }
    }
}
