//! Repositories: the README, whose first lines are YAML between `---`, and files that are called after their splits.
//! <https://huggingface.co/docs/hub/datasets-cards>

use super::{Config, Split, files, has};
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::engines::yaml::Yaml;
use serde_json::{Map, Value as Json, json};

/// Bytes of a README that are looked at.
const README: usize = 4 << 20;
/// Values of its first lines that are taken.
const VALUES: usize = 200_000;
/// How deep features lie in each other.
const DEEP: usize = 32;

/// The configurations of a repository; `None` where nothing says that it is one.
pub(super) fn configs(task: &Task, source: &Source, entries: &[Entry]) -> Result<Option<Vec<Config>>> {
    let card = if has(entries, "README.md") { front(task, source)? } else { None };
    let said = |name: &str| card.as_ref().and_then(|card| card.get(name));
    let info = said("dataset_info");
    let all = |said: Option<&Json>| match said {
        Some(Json::Array(all)) => all.clone(),
        Some(one @ Json::Object(_)) => vec![one.clone()],
        _ => Vec::new(),
    };
    let infos = all(info);
    let features = |config: &str| {
        let name =
            |info: &Json| info.get("config_name").and_then(Json::as_str).unwrap_or("default").to_owned();
        let own = infos.iter().find(|info| name(info) == config);
        let own = own.or(infos.first().filter(|_| infos.len() == 1))?;
        own.get("features").map(|features| self::features(features, 0))
    };
    let listed = all(said("configs"));
    // Without a README only shards with their numbers tell; large trees of other files are not gone through for that.
    let sharded = |name: &str| files::sharded(name).is_some();
    if card.is_none() && !has_shards(task, source, &sharded)? {
        return Ok(None);
    }
    let files = files::below(task, source)?;
    let mut found = Vec::new();
    for config in &listed {
        let name = config.get("config_name").and_then(Json::as_str).unwrap_or("default");
        let folder = config.get("data_dir").and_then(Json::as_str);
        let splits = match config.get("data_files") {
            Some(said) => data_files(&files, said, folder),
            None => {
                let before =
                    folder.map(|folder| format!("{}/", folder.trim_matches('/'))).unwrap_or_default();
                let own: Vec<String> =
                    files.iter().filter(|file| file.starts_with(&before)).cloned().collect();
                files::by_name(&own)
            }
        };
        let is_default = config.get("default").and_then(Json::as_bool).unwrap_or(name == "default");
        found.push(Config {
            name: name.to_owned(),
            splits,
            features: features(name),
            is_default,
            ..Config::default()
        });
    }
    if listed.is_empty() {
        let own: Vec<String> = match infos.is_empty() {
            true => files.iter().filter(|file| sharded(file)).cloned().collect(),
            false => files,
        };
        let splits = files::by_name(&own);
        let features = features("default");
        found.push(Config { splits, features, is_default: true, ..Config::default() });
    }
    Ok(Some(found))
}

/// Whether files with numbers of shards lie in `data` or beside the README.
fn has_shards(task: &Task, source: &Source, sharded: &dyn Fn(&str) -> bool) -> Result<bool> {
    let data = source.child(task, "data").unless_cancelled()?;
    for folder in [data.ok(), Some(source.clone())].into_iter().flatten().filter(Source::is_folder) {
        let some = folder.some_entries(task, 64)?;
        if some.iter().any(|entry| super::is_table(&entry.name) && sharded(&entry.name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the first lines of the README say; `None` where they say nothing of a data set.
fn front(task: &Task, source: &Source) -> Result<Option<Json>> {
    let file = source.child(task, "README.md")?;
    let bytes = file.read_up_to(task, 0, README)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let Some(rest) = text.strip_prefix("---").filter(|rest| rest.starts_with(['\n', '\r'])) else {
        return Ok(None);
    };
    let Some((lines, _)) = rest.split_once("\n---") else { return Ok(None) };
    let (yaml, problem) = Yaml::load(task, lines)?;
    if problem.is_some() {
        return Ok(None);
    }
    let json = yaml.documents.first().and_then(|place| yaml.json(*place, VALUES));
    let words = ["configs", "dataset_info", "task_categories", "size_categories", "annotations_creators"];
    Ok(json.filter(|json| words.iter().any(|word| json.get(word).is_some())))
}

/// The splits of `data_files`: a path, several, or a list of splits with theirs.
fn data_files(files: &[String], said: &Json, folder: Option<&str>) -> Vec<Split> {
    let before = folder.map(|folder| format!("{}/", folder.trim_matches('/'))).unwrap_or_default();
    let paths = |said: &Json| -> Vec<String> {
        let all = match said {
            Json::String(one) => vec![one.clone()],
            Json::Array(all) => all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        all.iter().flat_map(|pattern| files::matching(files, &format!("{before}{pattern}"))).collect()
    };
    match said {
        Json::Array(all) if all.iter().any(Json::is_object) => {
            let split = |one: &Json| {
                let name = one.get("split").and_then(Json::as_str).unwrap_or("train").to_owned();
                Some(Split { name: Some(name), files: paths(one.get("path")?) })
            };
            all.iter().filter_map(split).collect()
        }
        Json::Object(all) => {
            all.iter().map(|(name, one)| Split { name: Some(name.clone()), files: paths(one) }).collect()
        }
        one => vec![Split { name: Some("train".to_owned()), files: paths(one) }],
    }
}

/// The features of a README as `dataset_info.json` writes them: a list of named ones becomes an object.
fn features(said: &Json, depth: usize) -> Json {
    let mut fields = Map::new();
    for one in said.as_array().into_iter().flatten() {
        let Some(name) = one.get("name").and_then(Json::as_str) else { continue };
        fields.insert(name.to_owned(), feature(one, depth + 1));
    }
    Json::Object(fields)
}

fn feature(said: &Json, depth: usize) -> Json {
    if depth > DEEP {
        return Json::Null;
    }
    if let Json::String(kind) = said {
        return plain(kind);
    }
    if let Some(list) = said.get("list").or_else(|| said.get("sequence")) {
        let items = match list {
            Json::Array(_) => features(list, depth + 1),
            other => feature(other, depth + 1),
        };
        return json!({ "_type": "List", "feature": items });
    }
    if let Some(inner) = said.get("struct") {
        return features(inner, depth + 1);
    }
    let kind = said.get("dtype").unwrap_or(said);
    match kind {
        Json::String(kind) => plain(kind),
        Json::Array(_) => features(kind, depth + 1),
        Json::Object(of) => {
            if let Some(names) = of.get("class_label").and_then(|label| label.get("names")) {
                return json!({ "_type": "ClassLabel", "names": class_names(names) });
            }
            let array = of.iter().find(|(name, _)| name.starts_with("array") && name.ends_with('d'));
            match array.and_then(|(name, array)| Some((name, array.get("shape")?))) {
                Some((name, shape)) => {
                    let dimensions: String = name.chars().filter(char::is_ascii_digit).collect();
                    json!({ "_type": format!("Array{dimensions}D"), "shape": shape })
                }
                None if of.contains_key("image") => json!({ "_type": "Image" }),
                None if of.contains_key("audio") => json!({ "_type": "Audio" }),
                None => json!({ "_type": "Value" }),
            }
        }
        _ => json!({ "_type": "Value" }),
    }
}

fn plain(kind: &str) -> Json {
    match kind {
        "image" => json!({ "_type": "Image" }),
        "audio" => json!({ "_type": "Audio" }),
        other => json!({ "_type": "Value", "dtype": other }),
    }
}

/// The names of classes: a list, or an object by number.
fn class_names(names: &Json) -> Vec<String> {
    let text = |name: &Json| name.as_str().map_or_else(|| name.to_string(), str::to_owned);
    match names {
        Json::Array(all) => all.iter().map(text).collect(),
        Json::Object(all) => {
            let mut numbered: Vec<(u64, String)> =
                all.iter().filter_map(|(n, name)| Some((n.parse().ok()?, text(name)))).collect();
            numbered.sort_unstable();
            numbered.into_iter().map(|(_, name)| name).collect()
        }
        _ => Vec::new(),
    }
}
