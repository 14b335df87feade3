//! A folder of files that are parts of one table: Parquet, Arrow, CSV, JSON or JSON Lines files side by side, or in
//! folders that name the values of partition columns (`year=2024/month=1/part-0.parquet`, as Hive,
//! Spark and Arrow write them), or in folders that are levels (`2024/01/part-0.parquet`), all equally deep.
//!
//! Files that start with `.` or `_` are no parts (`_SUCCESS`, `_metadata`). The parts are joined by
//! [`crate::engines::multifile::concat`]; they stand as children too, also those whose schema does not fit. Partitioning:
//! <https://arrow.apache.org/docs/python/dataset.html#reading-partitioned-data>.

mod levels;

use crate::bytes::display;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::{Entry, Source};
use crate::bytes::task::Task;
use crate::data::content::{Content, Kind, Table};
use crate::data::format::{Format, Opening, OptionSpec, Options};
use crate::data::node::{Listing, Node, page_of};
use crate::data::open::{Document, table_of};
use crate::data::sniff::{Head, Match, has_extension};
use crate::engines::json::record::REST;
use crate::engines::multifile::concat::partition::{self, Keys};
use crate::engines::multifile::concat::partition::{LOGS, are_levels, is_hidden};
use crate::engines::multifile::concat::{self, Part, Wanted};
use crate::formats::open_source;
use arrow::datatypes::FieldRef;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Folders that are one table.
pub static FORMAT: Format = Format {
    extensions: &[],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    options: &[COLUMNS],
    ..Format::new("dataset", "Folder of table files", open)
};

/// Which columns the table has where files differ.
const COLUMNS: OptionSpec = OptionSpec::new("columns", "those of the first file or of all files, where they differ; auto: of all (of many files: of some that are \
           opened for it), but of the first one for Parquet files side by side, as other readers do").one_of("auto", &["auto", "first", "all"]);

/// A kind of parts.
struct Family {
    name: &'static str,
    extensions: &'static [&'static str],
    unlike: Unlike,
    /// Whether files side by side that differ have the columns of the first one, as other readers take them.
    columns_of_first: bool,
}

/// What it means that files side by side, in no partitions, differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unlike {
    /// They are parts whose schemas drifted apart.
    Drifted,
    /// Fields come and go from record to record: their columns are those of all.
    Merged,
    /// They may have nothing to do with each other: most of their columns are the same, or they are no table.
    Unrelated,
}

/// The kinds of parts, by their extensions.
static FAMILIES: [Family; 5] = [
    Family {
        name: "Parquet",
        extensions: &["parquet", "pq", "parq"],
        unlike: Unlike::Drifted,
        columns_of_first: true,
    },
    Family {
        name: "Arrow",
        extensions: &["arrow", "feather", "arrows", "ipc"],
        unlike: Unlike::Drifted,
        columns_of_first: false,
    },
    Family {
        name: "CSV",
        extensions: &["csv", "tsv", "csv.gz", "tsv.gz", "csv.zst", "csv.bz2", "csv.xz"],
        unlike: Unlike::Unrelated,
        columns_of_first: false,
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
        columns_of_first: false,
    },
    Family {
        name: "JSON",
        extensions: &["json", "geojson", "json.gz", "json.zst", "json.bz2", "json.xz"],
        unlike: Unlike::Merged,
        columns_of_first: false,
    },
];
/// How deep partitions nest.
const DEEP: usize = 16;
/// The most parts.
const PARTS: usize = 1_000_000;
/// The most remarks about single parts.
const REMARKS: usize = 20;
/// The most of what parts say of themselves.
const OWN: usize = 5;

/// What parts say of themselves, by their numbers, as long as it is asked for: those whose columns are not all of
/// what is in them, which no other part would tell.
type PartRemarks = Arc<Mutex<Option<BTreeMap<usize, Vec<String>>>>>;

/// The family of a file, by its name.
fn family(name: &str) -> Option<usize> {
    FAMILIES.iter().position(|family| has_extension(name, family.extensions))
}

fn sniff(head: &Head) -> Match {
    if !head.is_folder || head.entries.iter().any(|e| e.is_folder && LOGS.contains(&e.name.as_str())) {
        return Match::No;
    }
    let shown = || head.entries.iter().filter(|e| !is_hidden(&e.name));
    let files: Vec<&Entry> = shown().filter(|e| !e.is_folder).collect();
    let folders: Vec<&Entry> = shown().filter(|e| e.is_folder).collect();
    let partitioned = !folders.is_empty() && folders.iter().all(|e| partition::of_folder(&e.name).is_some());
    if (partitioned && files.is_empty()) || are_levels(head) {
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
    keys: Keys,
}

fn open(opening: &Opening) -> Result<Node> {
    let (task, folder) = (opening.task, opening.source);
    let root = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.to_owned();
    let levels = are_levels(opening.head);
    let files = if levels { levels::files(task, folder, &opening.head.entries)? } else { listed(opening)? };
    let Some((kind, main)) = main_family(&files) else { return Err(Error::other_format("")) };
    let (mut parts, others): (Vec<File>, Vec<File>) =
        files.into_iter().partition(|f| family(&f.name) == Some(kind));
    let unlike = main.unlike;
    // Most folders of JSON are no tables: the first file tells before others are opened.
    if levels || unlike == Unlike::Merged {
        let Some(first) = table_at(task, &root, parts.first())? else { return Err(Error::other_format("")) };
        if levels {
            let last = table_at(task, &root, parts.last())?;
            if !last.is_some_and(|last| levels::are_alike(first.schema(), last.schema())) {
                return Err(Error::other_format(""));
            }
            levels::name(&mut parts, first.schema());
        }
    }
    let columns = partition::columns(parts.iter().map(|file| &file.keys));
    let said: PartRemarks = Arc::new(Mutex::new(Some(BTreeMap::new())));
    let made = parts.iter().enumerate().map(|(n, file)| part(&root, n, file, &columns, &said)).collect();
    let auto = match main.columns_of_first && columns.is_empty() {
        true => Wanted::First,
        false => Wanted::Seen,
    };
    let wanted = match opening.options.choice(&COLUMNS)? {
        "first" => Wanted::First,
        "all" => Wanted::All,
        _ => auto,
    };
    // Nothing of it opens: its files are shown, each with its own error.
    let Ok(joined) = concat::join(task, made, columns.clone(), wanted).unless_cancelled()? else {
        return Err(Error::other_format(""));
    };
    // Tables that have nothing to do with each other stay files in a folder.
    let strangers = joined.opened - joined.fitting;
    let too_strange = match unlike {
        _ if levels => !joined.differences.is_empty(),
        _ if !columns.is_empty() => false,
        Unlike::Drifted => false,
        Unlike::Merged => strangers > 0,
        Unlike::Unrelated => strangers > 0 || joined.scattered,
    };
    if strangers * 2 > joined.opened || too_strange {
        return Err(Error::other_format(""));
    }
    let mut node = described(task, folder, &root, &parts, main, &columns)?;
    let named = levels.then_some(columns.as_slice());
    let hides = joined.hides && wanted == Wanted::First;
    node.remarks = remarks(joined.differences, own_remarks(&said, &parts), hides, named);
    node.remarks.extend((joined.opened < parts.len()).then(|| sampled(joined.opened, parts.len())));
    let mut listed = parts;
    listed.extend(others);
    Ok(node.content(Content::Table(joined.table)).lazy(Files { root, files: listed }))
}

/// What is to be said: how parts differ, what they say of themselves, whether columns are not shown, which columns the folders are (`levels`).
fn remarks(
    differences: Vec<String>,
    own: Vec<String>,
    hides: bool,
    levels: Option<&[FieldRef]>,
) -> Vec<String> {
    let more = differences.len().saturating_sub(REMARKS);
    let mut remarks = differences;
    remarks.truncate(REMARKS);
    if more > 0 {
        remarks.push(format!("{more} more parts differ"));
    }
    if hides {
        remarks.push("with the option columns=all the table has the columns of all files".to_owned());
    }
    remarks.extend(own);
    if let Some(columns) = levels {
        let names: Vec<&str> = columns.iter().map(|c| c.name().as_str()).collect();
        remarks.push(format!("the folders of each file are columns: {}", names.join(", ")));
    }
    remarks
}

/// That not all files were opened.
fn sampled(opened: usize, files: usize) -> String {
    let (opened, files) = (display::count(opened as u64), display::count(files as u64));
    format!(
        "the columns are those of {opened} of the {files} files, the others are opened when their rows are read; with \
         the option columns=all the table has the columns of every file"
    )
}

/// What the parts that were opened say of themselves, the first of it; from now on it is not asked for.
fn own_remarks(said: &PartRemarks, parts: &[File]) -> Vec<String> {
    let said = said.lock().take().unwrap_or_default();
    let mut remarks = Vec::new();
    for (number, texts) in &said {
        let name = parts.get(*number).map_or("", |file| file.name.as_str());
        remarks.extend(texts.iter().map(|text| format!("{name}: {text}")));
    }
    let more = remarks.len().saturating_sub(OWN) as u64;
    remarks.truncate(OWN);
    if more > 0 {
        remarks.push(format!("{} on parts", display::plural(more, "more remark")));
    }
    remarks
}

/// The node without its table: what the first part says, and how many there are.
fn described(
    task: &Task,
    folder: &Source,
    root: &std::path::Path,
    parts: &[File],
    family: &Family,
    columns: &[FieldRef],
) -> Result<Node> {
    let mut node = Node::new(folder.name(), "dataset").parts();
    node.attributes = first_attributes(task, root, parts)?;
    node.reader.push(("parts".to_owned(), format!("{} {} files", parts.len(), family.name).into()));
    if !columns.is_empty() {
        let names: Vec<&str> = columns.iter().map(|c| c.name().as_str()).collect();
        node.reader.push(("partitioned by".to_owned(), names.join(", ").into()));
    }
    Ok(node)
}

/// The files of the folder and of its partitions.
fn listed(opening: &Opening) -> Result<Vec<File>> {
    let mut files = Vec::new();
    collect(opening.task, opening.source, &opening.head.entries, &mut Vec::new(), "", &mut files)?;
    Ok(files)
}

/// All files below, in natural order, with the partitions that they lie in.
fn collect(
    task: &Task,
    folder: &Source,
    entries: &[Entry],
    keys: &mut Keys,
    prefix: &str,
    files: &mut Vec<File>,
) -> Result<()> {
    for entry in entries.iter().filter(|e| !is_hidden(&e.name)) {
        task.check()?;
        let name = format!("{prefix}{}", entry.name);
        if !entry.is_folder {
            check_count(files)?;
            files.push(File { name, bytes: entry.bytes, keys: keys.clone() });
        } else if let Some((key, value)) = partition::of_folder(&entry.name)
            && keys.len() < DEEP
        {
            let path = folder.path().ok_or_else(|| Error::bug("a folder without a path"))?.join(&entry.name);
            let inner = Source::open(task, &path)?;
            keys.push((key, value));
            collect(task, &inner, &inner.entries(task)?, keys, &format!("{name}/"), files)?;
            keys.pop();
        }
    }
    Ok(())
}

/// The family that most files are of, with its place.
fn main_family(files: &[File]) -> Option<(usize, &'static Family)> {
    let mut counts = FAMILIES.each_ref().map(|_| 0usize);
    for place in files.iter().filter_map(|file| family(&file.name)) {
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    let (best, &count) = FAMILIES.iter().enumerate().zip(&counts).rev().max_by_key(|(_, count)| **count)?;
    (count > 0).then_some(best)
}

fn check_count(files: &[File]) -> Result<()> {
    match files.len() < PARTS {
        true => Ok(()),
        false => Err(Error::limit(format!("a dataset of more than {PARTS} files"))),
    }
}

fn part(
    root: &std::path::Path,
    number: usize,
    file: &File,
    columns: &[FieldRef],
    said: &PartRemarks,
) -> Part {
    let (path, said) = (root.join(&file.name), said.clone());
    let constants = partition::constants(&file.keys, columns);
    let open = move |task: &Task| -> Result<Arc<dyn Table>> {
        let document = document_at(task, &path)?;
        let table = table_of(&document)?;
        let remarks = &document.root.remarks;
        if !remarks.is_empty()
            && table.schema().index_of(REST).is_ok()
            && let Some(said) = &mut *said.lock()
        {
            said.insert(number, remarks.clone());
        }
        Ok(table)
    };
    Part { constants, ..Part::new(&file.name, file.bytes, Box::new(open)) }
}

fn document_at(task: &Task, path: &std::path::Path) -> Result<Document> {
    open_source(task, &Source::open(task, path)?, &Options::default())
}

/// A part, if it is a table.
fn table_at(task: &Task, root: &std::path::Path, part: Option<&File>) -> Result<Option<Arc<dyn Table>>> {
    let table = |file: &File| {
        let document = document_at(task, &root.join(&file.name))?;
        match document.root.media_folder {
            // Its rows name pictures, each in a folder of its own.
            Some(_) => Err(Error::unsupported("rows that name files")),
            None => table_of(&document),
        }
    };
    Ok(part.map(|part| table(part).unless_cancelled()).transpose()?.and_then(Result::ok))
}

/// What the first part that opens says about itself.
fn first_attributes(
    task: &Task,
    root: &std::path::Path,
    parts: &[File],
) -> Result<Vec<(String, crate::data::node::Value)>> {
    for file in parts.iter().take(10) {
        if let Ok(document) = document_at(task, &root.join(&file.name)).unless_cancelled()? {
            return Ok(document.root.attributes.clone());
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
        Arc::new(
            crate::formats::ALL
                .nested(file.name.as_str(), "part", Options::default(), make)
                .span(0..file.bytes),
        )
    }
}

impl Listing for Files {
    fn count(&self) -> Option<u64> {
        Some(self.files.len() as u64)
    }

    fn page(&self, task: &Task, range: Range<u64>) -> Result<Vec<Arc<Node>>> {
        page_of(task, range, self.count(), |n| Ok(self.files.get(n as usize).map(|file| self.node(file))))
    }

    fn find(&self, _task: &Task, name: &str) -> Result<Option<Arc<Node>>> {
        Ok(self.files.iter().find(|file| file.name == name).map(|file| self.node(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::Rows;
    use crate::engines::multifile::lake::unescaped;
    use arrow::datatypes::DataType;
    use std::path::Path;

    fn opened(name: &str) -> crate::data::open::Document {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/parquet")).join(name);
        crate::formats::open(&Task::new(), &path, &Options::default()).unwrap()
    }

    fn column(document: &crate::data::open::Document, name: &str) -> Vec<Option<String>> {
        let table = table_of(document).unwrap();
        let at = table.schema().index_of(name).unwrap();
        let total = table.count(&Task::new()).unwrap();
        let batch = table.read(&Task::new(), 0..total, &[at]).unwrap();
        (0..batch.num_rows()).map(|row| crate::data::cell::text(batch.column(0).as_ref(), row)).collect()
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
        let document = crate::formats::together(&task, &paths).unwrap();
        assert_eq!(document.root.name, "part-1.parquet and 1 more");
        let ids = column(&document, "id");
        assert_eq!((ids.len(), ids[0].as_deref(), ids[19].as_deref()), (20, Some("10"), Some("9")));
        let strangers = [at("parquet/parts/part-0.parquet"), at("parquet/embeddings.parquet")];
        let error = crate::formats::together(&task, &strangers).err().unwrap().to_string();
        assert!(error.contains("not one table"), "{error}");
        assert!(
            crate::formats::together(&task, &[at("npy/1d.npy"), at("parquet/parts/part-0.parquet")]).is_err()
        );
    }

    fn names(document: &crate::data::open::Document) -> Vec<String> {
        let table = table_of(document).unwrap();
        table.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[test]
    fn the_columns_of_all_files_are_shown_where_that_is_asked() {
        assert_eq!(names(&opened("parts_drift")), ["id", "a"]);
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/parquet/parts_drift"));
        let mut options = Options::default();
        options.set("columns", "all");
        let document = crate::formats::open(&Task::new(), path, &options).unwrap();
        assert_eq!(names(&document), ["id", "a", "b"]);
        let b = column(&document, "b");
        assert_eq!(b, [None, None, Some("0.5".to_owned()), None]);
        assert!(document.root.remarks.iter().all(|text| !text.contains("not shown")));
        options.set("columns", "some");
        assert!(crate::formats::open(&Task::new(), path, &options).is_err());
    }

    #[test]
    fn csv_files_that_gained_a_column_are_one_table() {
        let (_folder, document) = folder(&[("a.csv", "x,y\n1,2\n"), ("b.csv", "x,y,z\n3,4,5\n")]);
        assert_eq!(document.format.id, "dataset");
        assert_eq!(column(&document, "z"), [None, Some("5".to_owned())]);
        assert_eq!(document.root.remarks, ["schema differs: b.csv: z is additional"]);
        let strange = [("a.csv", "id,name\n1,x\n"), ("b.csv", "id,price\n1,2\n")];
        assert_eq!(folder(&strange).1.format.id, "folder");
    }

    #[test]
    fn partitions_have_the_columns_of_all_files_and_types() {
        let (_folder, document) = folder(&[
            ("day=2024-01-31/n=5000000000/a.csv", "x\n1\n"),
            ("day=2024-02-01/n=7/a.csv", "x,y\n2,3\n"),
        ]);
        let table = table_of(&document).unwrap();
        let of = |name: &str| table.schema().field_with_name(name).unwrap().data_type().clone();
        assert_eq!((of("day"), of("n")), (DataType::Date32, DataType::Int64));
        assert_eq!(column(&document, "day")[1].as_deref(), Some("2024-02-01"));
        assert_eq!(column(&document, "y"), [None, Some("3".to_owned())]);
    }

    #[test]
    fn folders_that_are_levels_are_columns() {
        let (_folder, document) = folder(&[
            ("2024/01/a.csv", "x,part_1\n1,p\n"),
            ("2024/02/b.csv", "x,part_1\n2,q\n"),
            ("2025/01/a.csv", "x,part_1\n3,r\n"),
        ]);
        assert_eq!(document.format.id, "dataset");
        assert_eq!(names(&document), ["x", "part_1", "folder_0", "folder_1"]);
        let years = column(&document, "folder_0").into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(years, ["2024", "2024", "2025"]);
        assert!(document.root.remarks.join("\n").contains("folder_0, folder_1"));
        assert!(document.root.find(&Task::new(), "/2024/02/b.csv").unwrap().is_some());
    }

    #[test]
    fn other_trees_of_folders_stay_folders() {
        let trees: [&[(&str, &str)]; 7] = [
            &[("a/1.csv", "x\n1\n"), ("b/c/2.csv", "x\n1\n")],
            &[("a/1.csv", "x\n1\n"), ("b/2.csv", "y\n1\n")],
            &[("a/1.csv", "x\n1\n"), ("b/2.jsonl", "{\"x\": 1}\n")],
            &[("a/1.csv", "x\n1\n"), ("b/2.csv", "x\n1\n"), ("b/readme.txt", "text")],
            &[("a/1.csv", "x\n1\n"), ("b/notes.bin", "\u{1}\u{2}")],
            &[("a/1.csv", "x\n1\n")],
            &[("a/1.csv", "x\n1\n"), ("b/.zarray", "{}"), ("c/1.csv", "x\n1\n")],
        ];
        for tree in trees {
            let (_folder, document) = folder(tree);
            assert_eq!((document.format.id, document.root.content.is_none()), ("folder", true), "{tree:?}");
        }
    }

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, crate::data::open::Document) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let document = crate::formats::open(&Task::new(), folder.path(), &Options::default()).unwrap();
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
        let table = table_of(&document).unwrap();
        let id = table.schema().index_of("id").unwrap();
        assert_eq!(table.inferred(id), Some(&DataType::Float64));
        let said = document.root.remarks.join("\n");
        assert_eq!(said, "schema differs: b.jsonl: more is additional");
    }

    #[test]
    fn fields_beyond_the_sample_of_a_file_are_in_the_column_of_another() {
        let line = |n: usize| match n {
            7_000 => "{\"id\": 7000, \"late\": \"x\", \"rare\": 1}\n".to_owned(),
            _ => format!("{{\"id\": {n}, \"text\": \"{:80}\"}}\n", "t"),
        };
        let long: String = (0..20_000).map(line).collect();
        let (_folder, document) =
            folder(&[("a.jsonl", &long), ("b.jsonl", "{\"id\": 1, \"text\": \"t\", \"late\": \"y\"}\n")]);
        assert_eq!(names(&document), ["id", "text", REST, "late"]);
        let late = column(&document, "late");
        assert_eq!(late.iter().flatten().count(), 2);
        assert_eq!((late[7_000].as_deref(), late[20_000].as_deref()), (Some("x"), Some("y")));
        assert_eq!(column(&document, REST)[7_000].as_deref(), Some("{\"rare\":1}"));
        let said = document.root.remarks.join("\n");
        assert!(said.contains("schema differs: b.jsonl: late is additional"), "{said}");
        assert!(said.contains("a.jsonl: the columns and their types are those of a sample"), "{said}");
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
