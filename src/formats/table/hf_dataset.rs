//! Data sets in folders as Hugging Face's `datasets` saves and reads them, all splits as one table:
//! - `save_to_disk`: `state.json`, `dataset_info.json` and Arrow streams; `dataset_dict.json` with a folder for each split;
//! - its cache of prepared data sets: `dataset_info.json` and `NAME-train.arrow`;
//! - a repository: `README.md` whose first lines (YAML) say `configs` and features, or files that are called after their
//!   splits (`data/train-00000-of-00002.parquet`).
//!
//! <https://huggingface.co/docs/datasets/process#save>, <https://huggingface.co/docs/hub/datasets-manual-configuration>,
//! <https://huggingface.co/docs/datasets/repository_structure>
//!
//! What columns stand for — images, sounds, classes, arrays — is in the schema of the files, or in `dataset_info.json`, or in
//! the README; views take it from there or from the attribute `huggingface` ([`features`](crate::data::media::features)).

mod card;
mod files;
#[cfg(test)]
mod tests;

use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening, Options};
use crate::data::node::Node;
use crate::data::open::table_of;
use crate::data::sniff::{Head, Match, has_extension};
use crate::engines::multifile::concat::{self, Part, Wanted};
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The descriptor.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table, Kind::Group],
    ..Format::new("hf_dataset", "Hugging Face dataset", open)
};

/// Files of tables.
const TABLES: &[&str] =
    &["parquet", "arrow", "jsonl", "csv", "tsv", "json", "jsonl.gz", "csv.gz", "json.gz", "jsonl.zst"];
/// The key that `datasets` keeps its features under.
const KEY: &str = "huggingface";
/// The most remarks about parts.
const REMARKS: usize = 20;

/// The files of one split.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Split {
    /// Its name; `None` where there is only one.
    name: Option<String>,
    /// Their paths in the folder.
    files: Vec<String>,
}

/// A configuration: what is one table.
#[derive(Clone, Debug, Default, PartialEq)]
struct Config {
    name: String,
    splits: Vec<Split>,
    /// Its features as `dataset_info.json` has them, where something says them.
    features: Option<Json>,
    /// Whether it is the one that is loaded where none is named.
    is_default: bool,
    /// What laid its files out like this.
    layout: Layout,
}

/// How files are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Layout {
    #[default]
    Repository,
    Saved,
    Cached,
}

impl Layout {
    fn word(self) -> &'static str {
        match self {
            Layout::Repository => "repository",
            Layout::Saved => "save_to_disk",
            Layout::Cached => "cache",
        }
    }
}

fn has(entries: &[Entry], name: &str) -> bool {
    entries.iter().any(|entry| entry.name == name && !entry.is_folder)
}

fn is_table(name: &str) -> bool {
    has_extension(name, TABLES)
}

fn sniff(head: &Head) -> Match {
    if !head.is_folder {
        return Match::No;
    }
    let entries = &head.entries;
    let saved =
        has(entries, "dataset_dict.json") || has(entries, "state.json") && has(entries, "dataset_info.json");
    let cached = has(entries, "dataset_info.json")
        && entries.iter().any(|entry| has_extension(&entry.name, &["arrow"]));
    // What the README says, `open` reads.
    let may_be = has(entries, "README.md")
        && entries
            .iter()
            .any(|entry| entry.is_folder && !entry.name.starts_with('.') || is_table(&entry.name));
    let sharded = entries.iter().any(|entry| entry.is_folder && entry.name == "data")
        && entries
            .iter()
            .all(|entry| entry.name.starts_with('.') || entry.is_folder || !is_table(&entry.name));
    if saved || cached || may_be || sharded { Match::Yes } else { Match::No }
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, source) = (opening.task, opening.source);
    let entries = &opening.head.entries;
    let mut configs = match saved(task, source, entries)? {
        Some(config) => vec![config],
        None => card::configs(task, source, entries)?.ok_or_else(|| Error::other_format(""))?,
    };
    configs.retain(|config| config.splits.iter().any(|split| !split.files.is_empty()));
    let first = configs.iter().position(|config| config.is_default).unwrap_or(0);
    if configs.is_empty() {
        return Err(Error::other_format(""));
    }
    let main = configs.remove(first);
    let (table, remarks) = table(task, source, &main)?;
    let mut root = described(source, &main, &table);
    root.remarks = remarks;
    let mut children: Vec<Node> = Vec::new();
    if main.splits.len() > 1 {
        children.extend(main.splits.iter().map(|split| split_node(source, &main, split)));
    }
    children.extend(configs.into_iter().map(|config| config_node(source, config)));
    let shown = entries.iter().filter(|entry| !entry.name.starts_with('.'));
    let shown =
        shown.filter(|entry| !children.iter().any(|child| child.name == entry.name)).collect::<Vec<_>>();
    children.extend(shown.into_iter().map(|entry| entry_node(source, entry)));
    root = root.content(Content::Table(table)).listed(children);
    Ok(root)
}

/// What is shown of a configuration beside its rows.
fn described(source: &Source, config: &Config, table: &Arc<dyn Table>) -> Node {
    let mut root = Node::new(source.name(), "dataset");
    let files = config.splits.iter().map(|split| split.files.len() as u64).sum();
    let splits: Vec<&str> = config.splits.iter().filter_map(|split| split.name.as_deref()).collect();
    root.reader.push(("layout".to_owned(), config.layout.word().into()));
    if !config.name.is_empty() {
        root.reader.push(("configuration".to_owned(), config.name.as_str().into()));
    }
    if !splits.is_empty() {
        root.reader.push(("splits".to_owned(), splits.join(", ").into()));
    }
    root.reader.push(("parts".to_owned(), display::plural(files, "file").into()));
    if let Some(features) = &config.features
        && !table.schema().metadata().contains_key(KEY)
    {
        root.attributes.push((KEY.to_owned(), json!({ "info": { "features": features } }).into()));
    }
    root
}

fn split_node(source: &Source, config: &Config, split: &Split) -> Node {
    let only = Config { splits: vec![Split { name: None, ..split.clone() }], ..config.clone() };
    let (source, name) = (source.clone(), split.name.clone().unwrap_or_default());
    Node::deferred(name.clone(), "split", move |task| {
        let (table, remarks) = table(task, &source, &only)?;
        let node = described(&source, &only, &table).content(Content::Table(table));
        Ok(Node { name: name.clone(), label: "split", remarks, ..node })
    })
}

fn config_node(source: &Source, config: Config) -> Node {
    let (source, name) = (source.clone(), config.name.clone());
    Node::deferred(name.clone(), "configuration", move |task| {
        let (table, remarks) = table(task, &source, &config)?;
        let node = described(&source, &config, &table).content(Content::Table(table));
        Ok(Node { name: name.clone(), label: "configuration", remarks, ..node })
    })
}

fn entry_node(source: &Source, entry: &Entry) -> Node {
    let (source, name) = (source.clone(), entry.name.clone());
    let label = if entry.is_folder { "folder" } else { "file" };
    crate::formats::ALL
        .nested(entry.name.as_str(), label, Options::default(), move |task| source.child(task, &name))
}

/// The table of all splits of a configuration, and how its files differ.
fn table(task: &Task, source: &Source, config: &Config) -> Result<(Arc<dyn Table>, Vec<String>)> {
    let named = config.splits.iter().any(|split| split.name.is_some());
    let column: FieldRef = Arc::new(Field::new(split_column(task, source, config)?, DataType::Utf8, true));
    let mut parts = Vec::new();
    for split in &config.splits {
        for file in &split.files {
            let (root, path) = (source.clone(), file.clone());
            let open = move |task: &Task| -> Result<Arc<dyn Table>> {
                let file = root.child(task, &path)?;
                table_of(&crate::formats::ALL.open_source(task, &file, &Options::default())?)
            };
            let mut part = Part::new(file, source.size_of(file).unwrap_or(0), Box::new(open));
            if named {
                part.constants = vec![Arc::new(StringArray::from(vec![split.name.clone()])) as ArrayRef];
            }
            parts.push(part);
        }
    }
    let constants = if named { vec![column] } else { Vec::new() };
    let joined = concat::join(task, parts, constants, Wanted::Seen)?;
    let mut remarks = joined.differences;
    remarks.truncate(REMARKS);
    Ok((joined.table, remarks))
}

/// What the column of splits is called: another name where the files have such a column.
fn split_column(task: &Task, source: &Source, config: &Config) -> Result<&'static str> {
    let Some(first) = config.splits.iter().find_map(|split| split.files.first()) else { return Ok("split") };
    let opened = source
        .child(task, first)
        .and_then(|file| table_of(&crate::formats::ALL.open_source(task, &file, &Options::default())?));
    let taken = match opened.unless_cancelled()? {
        Ok(table) => table.schema().fields().iter().any(|field| field.name() == "split"),
        Err(_) => false,
    };
    Ok(if taken { "split_name" } else { "split" })
}

/// A JSON file of the folder; `None` where it is not there, or is no JSON.
fn read_json(task: &Task, folder: &Source, name: &str) -> Result<Option<Json>> {
    let Ok(file) = folder.child(task, name).unless_cancelled()? else { return Ok(None) };
    let len = file.len(task)?;
    limits::check(len, limits::HEADER, name)?;
    Ok(serde_json::from_slice(&file.read(task, 0..len)?).ok())
}

/// What `save_to_disk` wrote, or what lies in the cache.
fn saved(task: &Task, source: &Source, entries: &[Entry]) -> Result<Option<Config>> {
    let mut config = Config { is_default: true, layout: Layout::Saved, ..Config::default() };
    if has(entries, "dataset_dict.json") {
        let said = read_json(task, source, "dataset_dict.json")?.unwrap_or_default();
        let names =
            said.get("splits").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        for name in names.take(limits::LISTED as usize) {
            let Ok(folder) = source.child(task, name).unless_cancelled()? else { continue };
            let files = files::of_state(task, &folder, &format!("{name}/"))?;
            config.splits.push(Split { name: Some(name.to_owned()), files });
            if config.features.is_none() {
                config.features = features(task, &folder)?;
            }
        }
        return Ok(Some(config));
    }
    if !has(entries, "dataset_info.json") {
        return Ok(None);
    }
    config.features = features(task, source)?;
    if has(entries, "state.json") {
        config.splits.push(Split { name: None, files: files::of_state(task, source, "")? });
    } else {
        config.layout = Layout::Cached;
        let arrow = entries.iter().filter(|entry| has_extension(&entry.name, &["arrow"]));
        let names: Vec<String> =
            arrow.map(|entry| entry.name.clone()).filter(|name| !name.starts_with("cache-")).collect();
        config.splits = files::by_name(&names);
        if config.splits.is_empty() {
            config.splits.push(Split { name: None, files: names });
        }
    }
    Ok(Some(config))
}

fn features(task: &Task, folder: &Source) -> Result<Option<Json>> {
    let info = read_json(task, folder, "dataset_info.json")?;
    Ok(info
        .and_then(|mut info| info.get_mut("features").map(Json::take))
        .filter(|features| !features.is_null()))
}
