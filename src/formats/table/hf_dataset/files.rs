//! Which files belong to which split.

use super::{Split, is_table, read_json};
use crate::bytes::display::natural_order;
use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use serde_json::Value as Json;

/// The most files.
const FILES: usize = 100_000;
/// How deep folders are gone into.
const DEEP: usize = 6;

/// The words that splits are told by in names of files and folders, and the split that they mean.
/// <https://huggingface.co/docs/datasets/repository_structure#split-keywords>
const WORDS: [(&str, &str); 10] = [
    ("train", "train"),
    ("training", "train"),
    ("validation", "validation"),
    ("valid", "validation"),
    ("val", "validation"),
    ("dev", "validation"),
    ("test", "test"),
    ("testing", "test"),
    ("eval", "test"),
    ("evaluation", "test"),
];

/// The files that `state.json` names, else those that are called as they are.
pub(super) fn of_state(task: &Task, folder: &Source, before: &str) -> Result<Vec<String>> {
    let state = read_json(task, folder, "state.json")?;
    let named = state.as_ref().and_then(|state| state.get("_data_files")?.as_array());
    let named: Vec<String> = named
        .into_iter()
        .flatten()
        .filter_map(|file| Some(format!("{before}{}", file.get("filename").and_then(Json::as_str)?)))
        .take(FILES)
        .collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let mut found: Vec<String> =
        folder.some_entries(task, FILES)?.into_iter().map(|entry| entry.name).collect();
    found.retain(|name| name.ends_with(".arrow") && !name.starts_with("cache-"));
    found.sort_by(|a, b| natural_order(a, b));
    Ok(found.into_iter().map(|name| format!("{before}{name}")).collect())
}

/// `NAME-SPLIT-00000-of-00002.EXT` or `SPLIT-00000-of-00002.EXT`: the split.
pub(super) fn sharded(name: &str) -> Option<String> {
    let file = name.rsplit('/').next()?;
    let (before, total) = file.split_once("-of-")?;
    let (split, number) = before.rsplit_once('-')?;
    let digits = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let total: String = total.chars().take_while(char::is_ascii_digit).collect();
    (digits(number) && digits(&total) && !split.is_empty()).then(|| split.to_owned())
}

/// The split that a name tells by a usual word.
pub(super) fn split_of(path: &str) -> Option<&'static str> {
    let parts = path.rsplit('/').take(2).flat_map(|part| part.split(['.', '_', '-', ' ']));
    let mut words = parts.map(str::to_lowercase);
    words.find_map(|word| WORDS.iter().find(|(known, _)| *known == word).map(|(_, split)| *split))
}

/// The splits of files that are called after them.
pub(super) fn by_name(names: &[String]) -> Vec<Split> {
    let mut splits: Vec<Split> = Vec::new();
    for file in names {
        let sharded = sharded(file);
        let word = split_of(file).map(str::to_owned);
        // `NAME-train.arrow`, and shards with whatever name stands before their numbers.
        let own = sharded.as_deref().and_then(|name| name.rsplit('-').next());
        // `validation_matched` is a split beside `validation_mismatched`.
        let own = own.filter(|name| name.contains('_') && split_of(name).is_some()).map(str::to_owned);
        let Some(name) = own.or(word).or(sharded) else { continue };
        match splits.iter_mut().find(|split| split.name.as_deref() == Some(&name)) {
            Some(split) => split.files.push(file.clone()),
            None => splits.push(Split { name: Some(name), files: vec![file.clone()] }),
        }
    }
    // As people and programs list them.
    let place = |split: &Split| {
        let name = split.name.as_deref().unwrap_or_default();
        ["train", "validation", "test"].iter().position(|known| *known == name).unwrap_or(3)
    };
    splits.sort_by_key(place);
    splits
}

/// The files of tables below a folder, in natural order, as far as a bounded look finds them.
pub(super) fn below(task: &Task, folder: &Source) -> Result<Vec<String>> {
    let mut found = Vec::new();
    gather(task, folder, "", 0, &mut found)?;
    Ok(found)
}

fn gather(task: &Task, folder: &Source, before: &str, depth: usize, found: &mut Vec<String>) -> Result<()> {
    let Ok(mut entries) = folder.some_entries(task, FILES).unless_cancelled()? else { return Ok(()) };
    entries.retain(|entry| !entry.name.starts_with(['.', '_']));
    entries.sort_by(|a, b| natural_order(&a.name, &b.name));
    for entry in entries {
        if found.len() >= FILES {
            break;
        }
        let path = format!("{before}{}", entry.name);
        if !entry.is_folder {
            found.extend(Some(path).filter(|path| is_table(path)));
        } else if depth < DEEP
            && let Ok(inner) = folder.child(task, &entry.name).unless_cancelled()?
        {
            gather(task, &inner, &format!("{path}/"), depth + 1, found)?;
        }
    }
    Ok(())
}

/// Those of `files` that a pattern names: `*` within a part of a path, `**` over several.
pub(super) fn matching(files: &[String], pattern: &str) -> Vec<String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let Ok(pattern) = glob::Pattern::new(pattern) else { return Vec::new() };
    let options = glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    files.iter().filter(|file| pattern.matches_with(file, options)).cloned().collect()
}
