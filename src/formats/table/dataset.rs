//! A folder of files that are parts of one table: Parquet, Arrow, CSV, JSON or JSON Lines files side by side, or in
//! folders that name the values of partition columns (`year=2024/month=1/part-0.parquet`, as Hive,
//! Spark and Arrow write them).
//!
//! Files that start with `.` or `_` are no parts (`_SUCCESS`, `_metadata`). The parts are joined by
//! [`crate::concat`]; they stand as children too, also those whose schema does not fit. Partitioning:
//! <https://arrow.apache.org/docs/python/dataset.html#reading-partitioned-data>.

use crate::concat::{self, Part};
use crate::content::{Content, Kind, Table};
use crate::error::{Error, Result};
use crate::format::{Format, Opening, Options};
use crate::formats;
use crate::lake::unescaped;
use crate::limits;
use crate::node::{Listing, Node};
use crate::open::{nested, open_source, table_of};
use crate::sniff::{Head, Match, has_extension};
use crate::source::{Entry, Source};
use crate::task::Task;
use arrow::array::{ArrayRef, Int32Array, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Folders that are one table.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    ..Format::new("dataset", "Folder of table files", open)
};

/// A kind of parts.
struct Family {
    name: &'static str,
    extensions: &'static [&'static str],
    unlike: Unlike,
}

/// What it means that files side by side, in no partitions, differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unlike {
    /// They are parts whose schemas drifted apart.
    Drifted,
    /// Fields come and go from record to record: their columns are those of all.
    Merged,
    /// They have nothing to do with each other.
    Strange,
}

/// The kinds of parts, by their extensions.
const FAMILIES: [Family; 5] = [
    Family { name: "Parquet", extensions: &["parquet", "pq", "parq"], unlike: Unlike::Drifted },
    Family { name: "Arrow", extensions: &["arrow", "feather", "arrows", "ipc"], unlike: Unlike::Drifted },
    Family {
        name: "CSV",
        extensions: &["csv", "tsv", "csv.gz", "tsv.gz", "csv.zst", "csv.bz2", "csv.xz"],
        unlike: Unlike::Strange,
    },
    Family {
        name: "JSON Lines",
        extensions: &[
            "jsonl",
            "ndjson",
            "jsonlines",
            "jsonl.gz",
            "ndjson.gz",
            "jsonl.zst",
            "ndjson.zst",
            "jsonl.bz2",
            "jsonl.xz",
        ],
        unlike: Unlike::Merged,
    },
    Family {
        name: "JSON",
        extensions: &["json", "geojson", "json.gz", "json.zst", "json.bz2", "json.xz"],
        unlike: Unlike::Merged,
    },
];
/// What Hive writes for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";
/// Folders that belong to table formats with a log of their own.
const LOGS: [&str; 3] = ["_delta_log", ".hoodie", "metadata"];
/// How deep partitions nest.
const DEEP: usize = 16;
/// The most parts.
const PARTS: usize = 1_000_000;
/// The most remarks about single parts.
const REMARKS: usize = 20;

/// The family of a file, by its name.
fn family(name: &str) -> Option<usize> {
    FAMILIES.iter().position(|family| has_extension(name, family.extensions))
}

/// Whether a name is left out: hidden, or a file about the dataset.
fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

/// `key=value` of a folder's name, the value without its escapes; `None` as value is null.
fn partition(name: &str) -> Option<(&str, Option<String>)> {
    let (key, value) = name.split_once('=')?;
    (!key.is_empty()).then(|| (key, (value != NULL).then(|| unescaped(value))))
}

fn sniff(head: &Head) -> Match {
    if !head.is_folder || head.entries.iter().any(|e| e.is_folder && LOGS.contains(&e.name.as_str())) {
        return Match::No;
    }
    let shown = || head.entries.iter().filter(|e| !is_hidden(&e.name));
    let files: Vec<&Entry> = shown().filter(|e| !e.is_folder).collect();
    let folders: Vec<&Entry> = shown().filter(|e| e.is_folder).collect();
    let partitioned = !folders.is_empty() && folders.iter().all(|e| partition(&e.name).is_some());
    if partitioned && files.is_empty() {
        return Match::Yes;
    }
    let Some(kind) = files.first().and_then(|first| family(&first.name)) else { return Match::No };
    let one_kind = files.iter().all(|file| family(&file.name) == Some(kind));
    // A single file is a file in a folder, unless a writer of datasets left its marks.
    let marked =
        head.entries.iter().any(|e| matches!(e.name.as_str(), "_SUCCESS" | "_metadata" | "_common_metadata"));
    let several = files.len() > 1 || marked || partitioned;
    if one_kind && several && (folders.is_empty() || partitioned) { Match::Yes } else { Match::No }
}

/// A file of the dataset.
#[derive(Clone)]
struct File {
    /// Its path below the folder.
    name: String,
    bytes: u64,
    /// The values of the partition columns that its folders name.
    keys: Vec<(String, Option<String>)>,
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let root = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.to_owned();
    let mut files = Vec::new();
    collect(task, folder, &opening.head.entries, &mut Vec::new(), "", &mut files)?;
    let Some(kind) = main_family(&files) else { return plain(opening) };
    let (parts, others): (Vec<File>, Vec<File>) =
        files.into_iter().partition(|f| family(&f.name) == Some(kind));
    let columns = partition_columns(&parts);
    let unlike = FAMILIES[kind].unlike;
    // Most folders of JSON are no tables: the first file tells before a thousand are opened.
    if unlike == Unlike::Merged && !first_is_table(task, &root, &parts)? {
        return plain(opening);
    }
    let made = parts.iter().map(|file| part(&root, file, &columns)).collect();
    let union = unlike == Unlike::Merged;
    let joined = match concat::join(task, made, columns.clone(), union) {
        Ok(joined) => joined,
        Err(error) if error.is_cancelled() => return Err(error),
        // Nothing of it opens: its files are shown, each with its own error.
        Err(_) => return plain(opening),
    };
    // Tables that have nothing to do with each other stay files in a folder.
    let strangers = joined.opened - joined.fitting;
    let too_strange = match unlike {
        _ if !columns.is_empty() => false,
        Unlike::Drifted => false,
        Unlike::Merged => strangers > 0,
        Unlike::Strange => !joined.differences.is_empty(),
    };
    if strangers * 2 > joined.opened || too_strange {
        return plain(opening);
    }
    let mut node = Node::new(folder.name(), "dataset");
    node.attributes = first_attributes(task, &root, &parts)?;
    node.attributes
        .insert(0, ("parts".to_owned(), format!("{} {} files", parts.len(), FAMILIES[kind].name).into()));
    if !columns.is_empty() {
        let names: Vec<&str> = columns.iter().map(|c| c.name().as_str()).collect();
        node.attributes.insert(1, ("partitioned by".to_owned(), names.join(", ").into()));
    }
    let more = joined.differences.len().saturating_sub(REMARKS);
    node.remarks = joined.differences;
    node.remarks.truncate(REMARKS);
    if more > 0 {
        node.remarks.push(format!("{more} more parts differ"));
    }
    let mut listed = parts;
    listed.extend(others);
    Ok(node.content(Content::Table(joined.table)).lazy(Files { root, files: listed }))
}

/// The folder as any other.
fn plain(opening: &Opening) -> Result<Node> {
    let folder = formats::by_id("folder").ok_or_else(|| Error::bug("there is no format for folders"))?;
    (folder.open)(opening)
}

/// All files below, in natural order, with the partitions that they lie in.
fn collect(
    task: &Task,
    folder: &Source,
    entries: &[Entry],
    keys: &mut Vec<(String, Option<String>)>,
    prefix: &str,
    files: &mut Vec<File>,
) -> Result<()> {
    for entry in entries.iter().filter(|e| !is_hidden(&e.name)) {
        task.check()?;
        let name = format!("{prefix}{}", entry.name);
        if !entry.is_folder {
            if files.len() >= PARTS {
                return Err(Error::limit(format!("a dataset of more than {PARTS} files")));
            }
            files.push(File { name, bytes: entry.bytes, keys: keys.clone() });
        } else if let Some((key, value)) = partition(&entry.name)
            && keys.len() < DEEP
        {
            let path = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.join(&entry.name);
            let inner = Source::open(task, &path)?;
            keys.push((key.to_owned(), value));
            collect(task, &inner, &inner.entries(task)?, keys, &format!("{name}/"), files)?;
            keys.pop();
        }
    }
    Ok(())
}

/// The family that most files are of.
fn main_family(files: &[File]) -> Option<usize> {
    let mut counts = [0usize; FAMILIES.len()];
    files.iter().filter_map(|file| family(&file.name)).for_each(|n| counts[n] += 1);
    let (best, &count) = counts.iter().enumerate().rev().max_by_key(|(_, count)| **count)?;
    (count > 0).then_some(best)
}

/// The partition columns: 32-bit integers where all values are, else text.
fn partition_columns(files: &[File]) -> Vec<FieldRef> {
    let mut columns: Vec<(String, bool)> = Vec::new();
    for (key, value) in files.iter().flat_map(|file| &file.keys) {
        let fits = value.as_ref().is_none_or(|value| value.parse::<i32>().is_ok());
        match columns.iter_mut().find(|(name, _)| name == key) {
            Some((_, numbers)) => *numbers &= fits,
            None => columns.push((key.clone(), fits)),
        }
    }
    let has_value = |key: &String| files.iter().flat_map(|f| &f.keys).any(|(k, v)| k == key && v.is_some());
    let field = |(name, numbers): (String, bool)| {
        let dtype = if numbers && has_value(&name) { DataType::Int32 } else { DataType::Utf8 };
        Arc::new(Field::new(name, dtype, true))
    };
    columns.into_iter().map(field).collect()
}

fn part(root: &std::path::Path, file: &File, columns: &[FieldRef]) -> Part {
    let path = root.join(&file.name);
    let constant = |column: &FieldRef| -> ArrayRef {
        let value =
            file.keys.iter().find(|(key, _)| key == column.name()).and_then(|(_, value)| value.clone());
        match column.data_type() {
            DataType::Int32 => Arc::new(Int32Array::from(vec![value.and_then(|v| v.parse::<i32>().ok())])),
            _ => Arc::new(StringArray::from(vec![value])),
        }
    };
    let constants = columns.iter().map(constant).collect();
    Part { constants, ..Part::new(&file.name, file.bytes, Box::new(move |task| table_in(task, &path))) }
}

fn table_in(task: &Task, path: &std::path::Path) -> Result<Arc<dyn Table>> {
    table_of(&open_source(task, &Source::open(task, path)?, &Options::default())?)
}

/// Whether the first part that opens is a table.
fn first_is_table(task: &Task, root: &std::path::Path, parts: &[File]) -> Result<bool> {
    match parts.first().map(|file| table_in(task, &root.join(&file.name))) {
        Some(Err(error)) if error.is_cancelled() => Err(error),
        first => Ok(first.is_some_and(|table| table.is_ok())),
    }
}

/// What the first part that opens says about itself.
fn first_attributes(
    task: &Task,
    root: &std::path::Path,
    parts: &[File],
) -> Result<Vec<(String, crate::node::Value)>> {
    for file in parts.iter().take(10) {
        let opened = Source::open(task, &root.join(&file.name))
            .and_then(|s| open_source(task, &s, &Options::default()));
        match opened {
            Ok(document) => return Ok(document.root.attributes.clone()),
            Err(error) if error.is_cancelled() => return Err(error),
            Err(_) => {}
        }
    }
    Ok(Vec::new())
}

/// The files as children, each opened when somebody looks into it.
struct Files {
    root: PathBuf,
    files: Vec<File>,
}

impl Files {
    fn node(&self, file: &File) -> Arc<Node> {
        let path = self.root.join(&file.name);
        let make = move |task: &Task| Source::open(task, &path);
        Arc::new(nested(file.name.as_str(), "part", make).span(0..file.bytes))
    }
}

impl Listing for Files {
    fn count(&self) -> Option<u64> {
        Some(self.files.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        task.check()?;
        let len = self.files.len() as u64;
        let start = range.start.min(len);
        let end = range.end.min(start.saturating_add(limits::LISTED)).min(len).max(start);
        Ok(self
            .files
            .get(start as usize..end as usize)
            .unwrap_or_default()
            .iter()
            .map(|f| self.node(f))
            .collect())
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(self.files.iter().find(|file| file.name == name).map(|file| self.node(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Rows;
    use std::path::Path;

    fn opened(name: &str) -> crate::open::Document {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/parquet")).join(name);
        crate::open::open(&Task::new(), &path, &Options::default()).unwrap()
    }

    fn column(document: &crate::open::Document, name: &str) -> Vec<Option<String>> {
        let table = table_of(document).unwrap();
        let at = table.schema().index_of(name).unwrap();
        let total = table.count(&Task::new()).unwrap();
        let batch = table.read(&Task::new(), 0..total, &[at]).unwrap();
        (0..batch.num_rows()).map(|row| crate::cell::text(batch.column(0).as_ref(), row)).collect()
    }

    #[test]
    fn hive_partitions_are_columns() {
        let document = opened("hive");
        assert_eq!(document.format.id, "dataset");
        let table = table_of(&document).unwrap();
        assert_eq!(table.schema().field_with_name("year").unwrap().data_type(), &DataType::Int32);
        let years = column(&document, "year");
        assert_eq!(years.first().unwrap().as_deref(), Some("2023"));
        assert_eq!(years.last().unwrap().as_deref(), Some("2024"));
        assert_eq!(document.root.child_count(), Some(4));
        let path = "/year=2024/month=1/part-0.parquet";
        let part = document.root.find(&Task::new(), path).unwrap().unwrap();
        assert!(matches!(part.content, Some(Content::Table(_))));
    }

    #[test]
    fn escapes_and_nulls_in_partitions() {
        let mut cities = column(&opened("hive_escaped"), "city");
        cities.dedup();
        assert_eq!(cities.len(), 3);
        assert!(cities.contains(&Some("São Paulo/SP".to_owned())) && cities.contains(&None), "{cities:?}");
        assert_eq!(unescaped("50%25%2"), "50%%2");
    }

    #[test]
    fn parts_side_by_side_and_their_marks() {
        for name in ["parts", "with_metadata_files"] {
            let document = opened(name);
            assert_eq!(document.format.id, "dataset", "{name}");
            assert_eq!(document.root.child_count(), Some(2), "{name}");
            assert!(document.root.remarks.is_empty(), "{name}: {:?}", document.root.remarks);
        }
        assert_eq!(table_of(&opened("parts")).unwrap().rows(), Rows::Exact(20));
    }

    #[test]
    fn drift_is_said_and_read() {
        let document = opened("parts_drift");
        assert_eq!(column(&document, "id"), ["1", "2", "3", "4"].map(|n| Some(n.to_owned())));
        let said = document.root.remarks.join("\n");
        assert!(said.contains("schema differs: part-1.parquet: id is int64 instead of int32"), "{said}");
        assert!(said.contains("b is additional"), "{said}");
    }

    #[test]
    fn files_dropped_together_are_one_table() {
        let at = |name: &str| Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")).join(name);
        let task = Task::new();
        let paths = ["part-1", "part-0"].map(|n| at(&format!("parquet/parts/{n}.parquet")));
        let document = crate::open::together(&task, &paths).unwrap();
        assert_eq!(document.root.name, "part-1.parquet and 1 more");
        let ids = column(&document, "id");
        assert_eq!((ids.len(), ids[0].as_deref(), ids[19].as_deref()), (20, Some("10"), Some("9")));
        let strangers = [at("parquet/parts/part-0.parquet"), at("parquet/embeddings.parquet")];
        let error = crate::open::together(&task, &strangers).err().unwrap().to_string();
        assert!(error.contains("not one table"), "{error}");
        assert!(
            crate::open::together(&task, &[at("npy/1d.npy"), at("parquet/parts/part-0.parquet")]).is_err()
        );
    }

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, crate::open::Document) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let document = crate::open::open(&Task::new(), folder.path(), &Options::default()).unwrap();
        (folder, document)
    }

    #[test]
    fn json_lines_are_merged_with_a_report() {
        let (_folder, document) = folder(&[
            ("a.jsonl", "{\"id\": 1, \"text\": \"x\"}\n{\"id\": 2, \"text\": \"y\"}\n"),
            ("b.jsonl", "{\"id\": 3.5, \"text\": \"z\", \"more\": [1]}\n"),
        ]);
        assert_eq!(document.format.id, "dataset");
        let texts = |name| column(&document, name).into_iter().map(|cell| cell.unwrap_or_default());
        assert_eq!(texts("id").collect::<Vec<_>>(), ["1", "2", "3.5"]);
        assert_eq!(texts("more").collect::<Vec<_>>(), ["", "", "[1]"]);
        let schema = table_of(&document).unwrap().schema().clone();
        let id = schema.field_with_name("id").unwrap();
        assert_eq!(id.metadata().get("inferred").map(String::as_str), Some("double"));
        let said = document.root.remarks.join("\n");
        assert_eq!(said, "schema differs: b.jsonl: more is additional");
    }

    #[test]
    fn arrays_of_objects_in_partitions_are_one_table() {
        let (_folder, document) = folder(&[
            ("split=test/0.json", "[{\"a\": 1}]"),
            ("split=train/0.json", "[{\"a\": 2}, {\"a\": 3}]"),
        ]);
        let cells = |name| column(&document, name).into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(
            (cells("a").join(" "), cells("split").join(" ")),
            ("1 2 3".into(), "test train train".into())
        );
    }

    #[test]
    fn other_json_files_stay_files() {
        let (_folder, document) = folder(&[("config.json", "{\"a\": 1}"), ("rows.json", "[{\"a\": 2}]")]);
        assert!(document.root.content.is_none());
        let (_folder, document) = folder(&[("a.json", "[{\"a\": 1}]"), ("z.json", "{\"a\": {\"b\": 2}}")]);
        assert!(document.root.content.is_none());
        assert_eq!((document.format.id, document.root.child_count()), ("folder", Some(2)));
    }

    #[test]
    fn unrelated_files_stay_files() {
        let document = opened("malformed");
        assert!(document.root.content.is_none());
        assert!(document.root.child_count().unwrap() > 5);
    }
}
