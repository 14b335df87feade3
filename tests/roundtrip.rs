//! Every fixture × every writer that takes it: what was written is opened again and holds the same.
//!
//! Columns and arrays of which the plan names a loss are left out of the comparison, everything else is
//! compared: names, rows, every cell's exact text; types, shapes and every byte of arrays; samples of
//! pictures. That the files are right in other programs' eyes is `read_back.py`'s part.

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field};
use gander::convert::{self, Consent, Item, Plan, Selection, TARGETS, Target};
use gander::data::adapt::{ArrayTable, ImageArray, Typed, column_dtype};
use gander::data::cell;
use gander::data::content::table::{Columns, MemoryTable, Table};
use gander::data::content::{Array, Content, Kind, array};
use gander::data::dtype::DType;
use gander::data::format::{Loss, LossKind, Options};
use gander::data::region::Region;
use gander::{Document, Task};
use half::f16;
use rayon::prelude::*;
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One column or array as texts; `None` is null.
type Cells = (String, Vec<Option<String>>);

/// Fixtures larger than this are left to other tests.
const LARGEST: u64 = 2 << 20;

/// Whether a fixture is asked for: all are, but where `GANDER_ONLY` names some formats (`dicom,jp2`).
pub(crate) fn is_asked(path: &Path) -> bool {
    let only = std::env::var("GANDER_ONLY").unwrap_or_default();
    let is_in = |format: &str| path.components().any(|part| part.as_os_str() == format);
    only.is_empty() || only.split(',').any(is_in)
}

fn fixtures() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let name = entry.file_name().to_string_lossy().into_owned();
            if meta.is_dir() && name != "malformed" {
                folders.push(path);
            } else if meta.is_file() && meta.len() <= LARGEST && !name.ends_with(".py") && is_asked(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn open(path: &Path) -> Option<Document> {
    gander::open(&Task::new(), path, &Options::default()).ok()
}

/// The cells of a table; text columns as the types that a typed writer gives them.
fn cells_of(table: &Arc<dyn Table>, typed: bool) -> Option<Vec<Cells>> {
    let task = Task::new();
    let table: Arc<dyn Table> = match typed && table.is_inferred() {
        true => {
            let first = Typed::strict(table.clone(), &BTreeMap::new());
            first.try_all(&task).ok()?;
            Arc::new(Typed::strict(table.clone(), &first.mismatches()))
        }
        false => table.clone(),
    };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let rows = table.count(&task).ok()?;
    let batch = table.read(&task, 0..rows, &columns).ok()?;
    let of = |(field, column): (&Arc<Field>, &ArrayRef)| {
        (field.name().clone(), (0..batch.num_rows()).map(|row| cell::text(column.as_ref(), row)).collect())
    };
    Some(table.schema().fields().iter().zip(batch.columns()).map(of).collect())
}

pub(crate) fn bytes_of(array: &dyn Array) -> Option<Vec<u8>> {
    array::read(array, &Task::new(), &Region::all(array.shape())).ok()
}

/// Content as columns of texts.
fn as_cells(item: &Item, typed: bool) -> Option<Vec<Cells>> {
    match &item.content {
        Content::Table(table) => cells_of(table, typed),
        Content::Array(array) => {
            let table: Arc<dyn Table> = Arc::new(ArrayTable::new(&item.name, array.clone()).ok()?);
            cells_of(&table, false)
        }
        _ => None,
    }
}

/// An array's bytes; a picture's samples.
fn as_bytes(content: &Content) -> Option<(DType, Vec<u64>, Vec<u8>)> {
    let array: Arc<dyn Array> = match content {
        Content::Array(array) if array.dtype().is_variable() => return None,
        Content::Array(array) => array.clone(),
        Content::Image(image) => Arc::new(ImageArray::new(image.clone())),
        _ => return None,
    };
    let dtype = match array.dtype() {
        // NumPy's formats keep these as void of the same size.
        DType::BF16 => DType::Void(2),
        DType::C32 => DType::Void(4),
        DType::Mini(_) => DType::Void(1),
        // Blocks are written as the values that they stand for.
        DType::Blocks(_) => DType::F32,
        other => other.clone(),
    };
    Some((dtype, array.shape().to_vec(), bytes_of(array.as_ref())?))
}

fn opens_as(target: &Target, document: &Document) -> bool {
    match target.id {
        "tsv" => document.format.id == "csv",
        "arrow-stream" => document.format.id == "arrow",
        "zarr-zip" => document.format.id == "zarr",
        "parquet-hf" => document.format.id == "parquet",
        "pgm" | "pam" | "pfm" => document.format.id == "ppm",
        id => document.format.id == id,
    }
}

/// What both sides hold, `None` where the source cannot be read in this way: then nothing is to be compared. What was
/// written from a source that can be read has to be readable too.
pub(crate) fn both<T>(from: Option<T>, to: Option<T>, name: &str) -> Result<Option<(T, T)>, String> {
    match (from, to) {
        (None, _) => Ok(None),
        (Some(from), Some(to)) => Ok(Some((from, to))),
        (Some(_), None) => Err(format!("what was written of {name:?} cannot be read")),
    }
}

/// The columns without the name of the file that they come from.
fn values(cells: Vec<Cells>) -> Vec<Vec<Option<String>>> {
    cells.into_iter().map(|(_, values)| values).collect()
}

/// Compares what was written with what it was written from; the number of things compared.
fn compare(items: &[Item], plan: &Plan, target: &Target, back: &[Item]) -> Result<usize, String> {
    if back.iter().all(|item| matches!(item.content, Content::Table(_))) {
        if let ([from], [to]) = (items, back) {
            return compare_tables(from, to, plan, target);
        }
        let mut compared = 0;
        for to in back {
            let from = items.iter().find(|from| called(plan, &from.name) == to.name);
            let from = from.ok_or_else(|| format!("the table {:?} was not in the source", to.name))?;
            compared += compare_tables(from, to, plan, target)?;
        }
        return Ok(compared);
    }
    if target.writer.accepts.contains(&Kind::Image) || target.writer.sounds {
        return super::media::compare(items, plan, target, back);
    }
    let mut compared = 0;
    for item in back {
        if target.writer.variable || target.id == "hdf5" {
            compared += compare_texts(items, plan, item, target.writer.variable)?;
        }
        let Some(to) = as_bytes(&item.content) else { continue };
        let is_it = |source: &&Item| items.len() == 1 || called(plan, &source.name) == item.name;
        let Some(source) = items.iter().find(is_it) else {
            // Columns of one table among several are called after both, if the file has a place for names.
            let named = plan.outline.first().filter(|_| !target.writer.many).map(|(name, _)| name.clone());
            if plan.is_lossy() && items.iter().any(|source| Some(&source.name) == named.as_ref()) {
                // What is left of a table of which columns were left out.
                continue;
            }
            let item = Item { name: named.unwrap_or_else(|| item.name.clone()), ..item.clone() };
            compared += compare_column_of_many(items, &item)?;
            continue;
        };
        match (as_bytes(&source.content), &source.content) {
            (Some(_), _) if plan.is_lossy() => {}
            (Some(from), _) => {
                if from.0.record().is_some() && target.writer.many && to.0 != from.0 {
                    // Records may lose the gaps between their fields.
                    let (from, to) = (as_cells(source, false), as_cells(item, false));
                    if from.is_none() || from.map(values) != to.map(values) {
                        return Err(format!("the records of {:?} differ", item.name));
                    }
                    compared += 1;
                    continue;
                }
                if (&to.0, &to.1) != (&from.0, &from.1) {
                    return Err(format!(
                        "{:?} is {} {:?}, not {} {:?}",
                        item.name, to.0, to.1, from.0, from.1
                    ));
                }
                if to.2 != from.2 {
                    return Err(format!("the bytes of {:?} differ", item.name));
                }
                compared += 1;
            }
            // Columns of one name, which verification tells apart.
            (None, _) if plan.losses.iter().any(|loss| loss.called.as_ref() == Some(&item.name)) => {}
            (None, Content::Table(table)) => compared += compare_column(table, &item.name, &item.content)?,
            _ => {}
        }
    }
    Ok(compared)
}

/// Targets with other types, shapes or names than arrays and tables have: verification compares what their values say, and
/// `losses.rs` whether what changes is told.
const BY_VALUE: [&str; 11] =
    ["mat", "mat73", "nifti", "fits", "netcdf3", "netcdf4", "n5", "gguf", "xlsx", "wav", "flac"];

/// Writers that have fewer types or names than arrays have: what is told of a variable is not compared.
pub(crate) const REPRESENTED: [&str; 3] = ["netcdf3", "netcdf4", "mat73"];

/// A name as such writers may spell it: other characters as underscores, groups before it.
pub(crate) fn respelled(name: &str) -> String {
    let letters: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let parts: Vec<&str> = letters.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_").trim_start_matches('x').to_owned()
}

/// What an array or table is called in the result.
fn called<'a>(plan: &'a Plan, name: &'a str) -> &'a str {
    let of = |loss: &&Loss| loss.path == name && loss.subject.is_empty() && loss.called.is_some();
    plan.losses.iter().find(of).and_then(|loss| loss.called.as_deref()).unwrap_or(name)
}

/// A column of one of several tables, and what it was written from.
fn compare_column_of_many(items: &[Item], to: &Item) -> Result<usize, String> {
    let found = items.iter().find_map(|source| match &source.content {
        Content::Table(table) => Some((table, to.name.strip_prefix(&source.name)?.strip_prefix(['.', '/'])?)),
        _ => None,
    });
    let (table, column) = found.ok_or_else(|| format!("{:?} was not in the source", to.name))?;
    compare_column(table, column, &to.content)
}

/// An array whose elements have no size, and what it was written from; of some targets nulls come back empty.
fn compare_texts(items: &[Item], plan: &Plan, to: &Item, empty: bool) -> Result<usize, String> {
    let Content::Array(array) = &to.content else { return Ok(0) };
    if !array.dtype().is_variable() || plan.is_lossy() {
        return Ok(0);
    }
    let named = items.iter().find(|source| items.len() == 1 || source.name == to.name);
    let source = match named.map(|item| &item.content) {
        Some(Content::Array(source)) => source,
        Some(Content::Table(table)) if empty => return compare_column(table, &to.name, &to.content),
        None if empty => return compare_column_of_many(items, to),
        _ => return Ok(0),
    };
    let texts = |array: &dyn Array| -> Option<Vec<Option<String>>> {
        let column = array.column(&Task::new(), &Region::all(array.shape())).ok()?;
        Some((0..column.len()).map(|row| cell::text(column.as_ref(), row)).collect())
    };
    let read = both(texts(source.as_ref()), texts(array.as_ref()), &to.name)?;
    let Some((from, to)) = read else { return Ok(0) };
    let is_empty = |a: &Option<String>, b: &Option<String>| empty && a.is_none() && b.as_deref() == Some("");
    let same = from.len() == to.len()
        && from.iter().zip(&to).all(|(a, b)| {
            let (from, to) = (a.as_deref(), b.as_deref());
            a == b || is_empty(a, b) || same_json(from, to) || same_bytes(from, to)
        });
    if same { Ok(1) } else { Err(format!("{from:?} became {to:?}")) }
}

/// Bytes as hexadecimal digits, of which the first are shown, and as the list of numbers that they are in HDF5.
fn same_bytes(a: Option<&str>, b: Option<&str>) -> bool {
    let Some((digits, list)) = a.and_then(|a| a.strip_prefix("0x")).zip(b) else { return false };
    let (digits, is_cut) = digits.strip_suffix("...").map_or((digits, false), |digits| (digits, true));
    let Ok(list) = serde_json::from_str::<Vec<String>>(list) else { return false };
    let bytes: String =
        list.iter().filter_map(|n| n.parse::<u8>().ok()).map(|n| format!("{n:02x}")).collect();
    if is_cut { bytes.starts_with(digits) } else { bytes == digits }
}

/// A table, or an array that became one.
fn compare_tables(from: &Item, to: &Item, plan: &Plan, target: &Target) -> Result<usize, String> {
    let lost: HashSet<&str> = plan.losses.iter().map(|loss| loss.subject.as_str()).collect();
    if SAMPLES.contains(&target.id) {
        return compare_samples(from, to, plan, target);
    }
    // Text formats have only texts: what is nested or binary is spelled in another way there.
    let texts = matches!(target.id, "csv" | "tsv");
    let read = both(as_cells(from, !texts), as_cells(to, false), &to.name)?;
    let Some((from, mut to)) = read else { return Ok(0) };
    // A reader of JSON has a last column for what comes up late; here nothing does.
    if matches!(target.id, "jsonl" | "json") && to.last().is_some_and(|(name, _)| name == "…") {
        let rest = to.pop().unwrap_or_default();
        if let Some(cell) = rest.1.iter().flatten().next().filter(|_| !plan.is_lossy()) {
            // Very wide rows: the reader shows the first columns apart and the others together.
            return if to.len() > 50 { Ok(0) } else { Err(format!("{cell} is in no column")) };
        }
    }
    let names = |cells: &[Cells]| cells.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if names(&from) != names(&to) {
        let told =
            |name: &str| plan.losses.iter().any(|loss| loss.subject == name && loss.kind == LossKind::Name);
        // Columns that the target calls otherwise are still there, at their places.
        let are_renamed =
            from.len() == to.len() && from.iter().zip(&to).all(|((a, _), (b, _))| a == b || told(a));
        if !are_renamed
            && lost.iter().any(|name| from.iter().filter(|(column, _)| column == name).count() > 1)
        {
            return Ok(0);
        }
        if !are_renamed {
            return Err(format!("columns {:?}, not {:?}", names(&to), names(&from)));
        }
    }
    let lost: HashSet<&str> = plan
        .losses
        .iter()
        .filter(|loss| loss.kind != LossKind::Name)
        .map(|loss| loss.subject.as_str())
        .collect();
    for ((name, from), (_, to)) in from.iter().zip(&to) {
        if lost.contains(name.as_str()) {
            continue;
        }
        if to.len() != from.len() {
            return Err(format!("{} rows, not {}", to.len(), from.len()));
        }
        for (row, (a, b)) in from.iter().zip(to).enumerate() {
            let empty = texts && a.as_deref().unwrap_or_default() == b.as_deref().unwrap_or_default();
            if a != b
                && !empty
                && !same_json(a.as_deref(), b.as_deref())
                && !same_day(a.as_deref(), b.as_deref())
            {
                return Err(format!("column {name:?}, row {row}: {b:?}, not {a:?}"));
            }
        }
    }
    Ok(from.len())
}

/// Writers of samples, whose files say less of columns than tables do: their order, and the types of those that hold
/// nothing, or hold text.
pub(crate) const SAMPLES: [&str; 6] = ["tfrecord", "webdataset", "recordio", "lmdb", "msgpack", "ffcv"];

/// A table and the samples that were made of it: rows, and the cells of columns of the same name but for those that
/// cannot be the same.
fn compare_samples(from: &Item, to: &Item, plan: &Plan, target: &Target) -> Result<usize, String> {
    let Some((from, to)) = both(as_cells(from, true), as_cells(to, false), &to.name)? else { return Ok(0) };
    let rows = |cells: &[Cells]| cells.first().map(|(_, cells)| cells.len());
    if !to.is_empty() && rows(&from) != rows(&to) {
        return Err(format!("{:?} rows, not {:?}", rows(&to), rows(&from)));
    }
    let is_reordered =
        plan.losses.iter().any(|loss| loss.kind == LossKind::Order && !loss.subject.is_empty());
    let are_records = target.id == "recordio";
    for (name, from) in from.iter().filter(|_| !is_reordered) {
        let told = || plan.losses.iter().filter(|loss| loss.subject == *name);
        // What is nested is shown as what it became; keys of records are numbers, others stand in a list.
        let is_other = told()
            .any(|loss| !loss.possible || matches!(loss.kind, LossKind::Zone | LossKind::Nesting))
            || are_records && (name == "key" || told().any(|loss| loss.kind == LossKind::Name))
            // Keys of bytes are no names of files.
            || target.id == "webdataset" && name == "key" && from.iter().flatten().any(|key| key.starts_with("0x"));
        let Some((_, to)) = to.iter().find(|(other, _)| other == name) else {
            let is_said = told().any(|loss| matches!(loss.kind, LossKind::Name | LossKind::Type));
            match is_said || from.iter().all(Option::is_none) {
                true => continue,
                false => return Err(format!("the column {name:?} is gone")),
            }
        };
        for (row, (a, b)) in from.iter().zip(to).enumerate().filter(|_| !is_other) {
            if !same_sample(a.as_deref(), b.as_deref()) {
                return Err(format!("column {name:?}, row {row}: {b:?}, not {a:?}"));
            }
        }
    }
    Ok(from.len())
}

/// Whether two cells are the same but for their types: numbers of fewer digits, truth values as numbers, texts as bytes.
fn same_sample(a: Option<&str>, b: Option<&str>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a == b || [a, b].contains(&Some("null")) };
    let number = |text: &str| match text {
        "true" => Some(1.0),
        "false" => Some(0.0),
        text => text.parse::<f64>().ok(),
    };
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let as_bytes = |text: &str, bytes: &str| {
        let Some(digits) = bytes.strip_prefix("0x") else { return false };
        match digits.strip_suffix("...") {
            Some(digits) => hex(text).starts_with(digits),
            None => hex(text) == digits,
        }
    };
    let numbers = number(a).zip(number(b));
    a == b
        || numbers.is_some_and(|(a, b)| a as f32 == b as f32 || a.is_nan() && b.is_nan())
        // The shortest text of a float16 is that of another float32.
        || numbers.is_some_and(|(x, y)| {
            f16::from_f64(x) == f16::from_f64(y) && cell::float16(f16::from_f64(x)) == a
        })
        || as_bytes(a, b)
        || as_bytes(b, a)
        // A file with its path is what it holds.
        || a.starts_with("{\"bytes\":\"") && b.starts_with("0x") && a.contains(b.trim_end_matches("..."))
        || format!("{a:?}") == b
        || same_json(Some(a), Some(b))
}

/// Whether a target's files can be opened as what they are: some are written here and read elsewhere.
pub(crate) fn is_read(target: &Target) -> bool {
    match target.id {
        "webdataset" => gander::formats::by_id("webdataset").is_some(),
        // Bytes and drawings of others, pictures of tables, folders of files; AV1 is not decoded.
        "image-folder" | "npy-folder" | "png-folder" | "tiff-folder" | "avif" | "raw" | "svg" | "dot"
        | "mermaid" => false,
        // For other programs: here they are texts.
        "sql" | "markdown" | "html" => false,
        _ => true,
    }
}

/// Whether two texts are nested JSON of the same texts, numbers spelled as numbers or as texts.
pub(crate) fn same_json(a: Option<&str>, b: Option<&str>) -> bool {
    fn texts(json: Json) -> Json {
        match json {
            Json::Number(number) => Json::String(number.to_string().replace("e+", "e")),
            Json::Bool(bool) => Json::String(bool.to_string()),
            Json::Array(items) => Json::Array(items.into_iter().map(texts).collect()),
            Json::Object(members) => Json::Object(members.into_iter().map(|(k, v)| (k, texts(v))).collect()),
            other => other,
        }
    }
    let nested = |text: Option<&str>| {
        let json: Json = serde_json::from_str(text?).ok()?;
        (json.is_array() || json.is_object()).then(|| texts(json))
    };
    nested(a).is_some_and(|a| Some(a) == nested(b))
}

/// Days that became times are their midnights.
fn same_day(day: Option<&str>, time: Option<&str>) -> bool {
    day.zip(time).is_some_and(|(day, time)| time.strip_prefix(day) == Some("T00:00:00"))
}

/// Columns that became an array: one of its own, or all that an array can hold together.
fn compare_column(table: &Arc<dyn Table>, name: &str, content: &Content) -> Result<usize, String> {
    let Content::Array(array) = content else { return Err(format!("{name:?} is no array")) };
    // One dimension as a row of two.
    let rows = table.count(&Task::new()).unwrap_or_default();
    let is_row = array.shape().len() == 2 && array.shape() == [1, rows] && rows != 1;
    let row = gander::data::adapt::ArrayView::parse(array.clone(), "0").ok().filter(|_| is_row);
    let array = &row.map_or_else(|| array.clone(), |row| Arc::new(row) as Arc<dyn Array>);
    let back = match ArrayTable::new("x", array.clone()) {
        Ok(table) => cells_of(&(Arc::new(table) as Arc<dyn Table>), false),
        // More dimensions than a table has.
        Err(_) => Some(vec![(name.to_owned(), rows_of_elements(array.as_ref()))]),
    };
    let (Some(mut back), Some(from)) = (back, cells_of(table, true)) else {
        return Err(format!("{name:?} cannot be read"));
    };
    if let Some((_, from)) = from.iter().find(|(column, _)| column == name) {
        if array.shape().contains(&0) {
            // Lists of nothing.
            let rows = array.shape().first().copied() == Some(from.len() as u64);
            return if rows { Ok(1) } else { Err(format!("{name:?} has shape {:?}", array.shape())) };
        }
        // The elements of lists stand side by side.
        let back = if back.len() == 1 { back.remove(0).1 } else { rows_of(&back) };
        return compare_cells(name, from, &back).map(|()| 1);
    }
    let fits = |column: &usize| column_dtype(table.column_type(*column)).is_some();
    let kept: Vec<&Cells> = (0..from.len()).filter(fits).filter_map(|column| from.get(column)).collect();
    if kept.len() == 1 && back.len() > 1 {
        return compare_cells(name, &kept[0].1, &rows_of(&back)).map(|()| 1);
    }
    if kept.len() != back.len() {
        return Err(format!("{name:?} has {} columns, not {}", back.len(), kept.len()));
    }
    for ((column, from), (_, back)) in kept.iter().zip(&back) {
        compare_cells(column, from, back)?;
    }
    Ok(kept.len())
}

/// What stands at each place of the first dimension, as one list.
fn rows_of_elements(array: &dyn Array) -> Vec<Option<String>> {
    let column = array.column(&Task::new(), &Region::all(array.shape())).unwrap();
    let cells: Vec<String> = (0..column.len()).map(|n| cell::text(column.as_ref(), n).unwrap()).collect();
    let each = array.shape().iter().skip(1).product::<u64>().max(1) as usize;
    cells.chunks(each).map(|row| Some(format!("[{}]", row.join(", ")))).collect()
}

/// Cells side by side as one list each row.
fn rows_of(columns: &[Cells]) -> Vec<Option<String>> {
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    let cell = |cells: &[Option<String>], row: usize| cells[row].clone().unwrap_or_else(|| "null".to_owned());
    let row = |row| columns.iter().map(|(_, cells)| cell(cells, row)).collect::<Vec<_>>().join(", ");
    (0..rows).map(|n| Some(format!("[{}]", row(n)))).collect()
}

/// The cells of a column and what became of them. Null cells were filled; days have become moments; moments have lost
/// their zone.
fn compare_cells(name: &str, from: &[Option<String>], back: &[Option<String>]) -> Result<(), String> {
    /// The numbers in a text, whatever lists they stand in.
    fn numbers(text: &str) -> Option<Vec<String>> {
        fn gather(json: &Json, out: &mut Vec<String>) {
            match json {
                Json::Array(items) => items.iter().for_each(|item| gather(item, out)),
                Json::String(text) => out.push(text.parse::<f64>().map_or(text.clone(), |n| n.to_string())),
                Json::Number(number) => out.push(number.as_f64().map_or(String::new(), |n| n.to_string())),
                other => out.push(other.to_string()),
            }
        }
        let json: Json = serde_json::from_str(text).ok().filter(Json::is_array)?;
        let mut out = Vec::new();
        gather(&json, &mut out);
        Some(out)
    }
    if from.len() != back.len() {
        return Err(format!("column {name:?} has {} rows, not {}", back.len(), from.len()));
    }
    for (row, (a, b)) in from.iter().zip(back).enumerate() {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let is_same_list = || numbers(a).is_some_and(|list| Some(list) == numbers(b));
        if a != b && !b.starts_with(a.as_str()) && !a.contains('+') && !is_same_list() {
            return Err(format!("column {name:?}, row {row}: {b}, not {a}"));
        }
    }
    Ok(())
}

/// Whether there is not a value in it.
fn is_empty(item: &Item) -> bool {
    match &item.content {
        Content::Table(table) => {
            table.schema().fields().is_empty() || table.count(&Task::new()).is_ok_and(|rows| rows == 0)
        }
        Content::Array(array) => array.shape().contains(&0),
        _ => false,
    }
}

/// Writes one fixture by one writer and reads it back: how much was compared, or what is wrong.
fn there_and_back(items: &[Item], target: &'static Target, out: &Path) -> Result<usize, String> {
    let task = Task::new();
    // What is shown instead of what is stored is `losses.rs`' part.
    let mut stored = Options::default();
    stored.set(convert::VALUES.name, "stored");
    let Ok(plan) = convert::plan(items, target, &stored, &Selection::default()) else {
        return Ok(0);
    };
    let done = match plan.run(&task, out, Consent { overwrite: true, lose: true }) {
        Ok(done) => done,
        Err(error) => {
            let readable = |item: &Item| as_cells(item, false).is_some() || as_bytes(&item.content).is_some();
            let expected = error.kind() == gander::ErrorKind::Unsupported || !items.iter().all(readable);
            return if expected { Ok(0) } else { Err(error.to_string()) };
        }
    };
    if std::fs::metadata(out).map_err(|e| e.to_string())?.len() == 0 {
        // No rows as JSON Lines.
        return if items.iter().all(is_empty) { Ok(0) } else { Err("an empty file was written".to_owned()) };
    }
    match plan.verify(&task, out, &done) {
        Ok(Some(check)) if !check.is_equal() => return Err(format!("it is not verified: {}", check.words())),
        Ok(Some(check)) if BY_VALUE.contains(&target.id) => {
            return Ok(check.parts as usize + check.changed.len());
        }
        Ok(None) if BY_VALUE.contains(&target.id) => return Ok(0),
        Ok(_) => {}
        Err(error) => return Err(format!("it cannot be verified: {error}")),
    }
    let mut reading = Options::default();
    if target.id == "tsv" {
        // Lists have more commas than a table has tabs: that is the reader's guess, not the writer's matter.
        reading.set("delimiter", "tab");
    }
    let mut back = gander::open(&task, out, &reading).map_err(|e| e.to_string())?;
    if !opens_as(target, &back) {
        let found = back.format.id;
        // A text may say too little to be told from another, and few samples from other archives.
        if !["csv", "tsv", "json", "jsonl", "webdataset"].contains(&target.id) {
            return Err(format!("it opens as {found}"));
        }
        let rows = |item: &Item| as_cells(item, true).and_then(|cells| Some(cells.first()?.1.len()));
        if target.id == "webdataset" && items.iter().all(|item| is_empty(item) || rows(item) == Some(0)) {
            return Ok(0);
        }
        reading.set("format", if target.id == "tsv" { "csv" } else { target.id });
        back = gander::open(&task, out, &reading).map_err(|e| format!("it opens as {found}; {e}"))?;
    }
    // The only map is an object, no row.
    if target.id == "msgpack" && !matches!(back.root.content, Some(Content::Table(_))) {
        let rows = |item: &Item| match &item.content {
            Content::Graph(graph) => Some(graph.nodes().len()),
            _ => as_cells(item, true).and_then(|cells| Some(cells.first()?.1.len())),
        };
        return if items.iter().all(|item| rows(item) == Some(1)) {
            Ok(0)
        } else {
            Err("it is no table".to_owned())
        };
    }
    let back = match convert::gather(&task, &back.source, &back.root, "") {
        // An array of nothing, or of objects without members, is no table.
        Err(_) if target.id == "json" && items.iter().all(is_empty) => return Ok(0),
        back => back.map_err(|e| e.to_string())?,
    };
    compare(items, &plan, target, &back)
}

#[test]
fn every_fixture_by_every_writer_reads_back_equal() {
    let folder = tempfile::tempdir().unwrap();
    let results: Vec<(&str, String, Result<usize, String>)> = fixtures()
        .par_iter()
        .enumerate()
        .filter_map(|(n, path)| {
            let document = open(path)?;
            let items = convert::gather(&Task::new(), &document.source, &document.root, "").ok()?;
            // Files that are put in are another test's part.
            let items: Vec<Item> = items.into_iter().map(|item| Item { files: None, ..item }).collect();
            let opaque = |item: &Item| matches!(item.content, Content::Bytes(_) | Content::Text(_));
            let is_compared = |target: &&&'static Target| is_read(target);
            let targets = TARGETS.iter().filter(is_compared).filter(|_| !items.iter().any(opaque));
            let each = targets.map(|target| {
                let out = folder.path().join(format!("{n}.{}", target.extensions[0]));
                let result = there_and_back(&items, target, &out);
                let _ = if out.is_dir() { std::fs::remove_dir_all(&out) } else { std::fs::remove_file(&out) };
                (target.id, path.display().to_string(), result)
            });
            Some(each.collect::<Vec<_>>())
        })
        .flatten()
        .collect();
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (id, path, result) in results {
        match result {
            Ok(count) => *compared.entry(id).or_default() += count,
            Err(difference) => wrong.push(format!("{path} as {id}: {difference}")),
        }
    }
    assert!(wrong.is_empty(), "{} pairs differ:\n{}", wrong.len(), wrong.join("\n"));
    for target in TARGETS.iter().filter(|target| is_read(target)) {
        let id = target.id;
        assert!(compared.get(id).is_some_and(|n| *n > 20), "{id}: too little was compared: {compared:?}");
    }
}

#[test]
fn raw_bytes_are_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let task = Task::new();
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/shape_3d_fortran_be.npy"));
    let document = open(path).unwrap();
    let items = convert::gather(&task, &document.source, &document.root, "").unwrap();
    let out = folder.path().join("out.bin");
    let plan =
        convert::plan(&items, Target::by_id("raw").unwrap(), &Options::default(), &Selection::default());
    let plan = plan.unwrap();
    let done = plan.run(&task, &out, Consent::default()).unwrap();
    let Content::Array(array) = &items[0].content else { panic!("no array") };
    let bytes = std::fs::read(&out).unwrap();
    assert_eq!(bytes, bytes_of(array.as_ref()).unwrap());
    assert_eq!((done.bytes, plan.bytes), (bytes.len() as u64, Some(bytes.len() as u64)));
    assert!(plan.run(&task, &out, Consent::default()).unwrap_err().to_string().contains("exists"));
    assert!(plan.run(&task, path, Consent { overwrite: true, lose: true }).is_err());
}

/// Everything in a file.
fn whole(path: &Path) -> Vec<Item> {
    let document = open(path).unwrap();
    convert::gather(&Task::new(), &document.source, &document.root, "").unwrap()
}

#[test]
fn losses_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let task = Task::new();
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/str_U5.npy"));
    let other = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/dtype_f4.npy"));
    let mut items = Vec::new();
    for path in [path, other] {
        items.extend(whole(path));
    }
    let target = Target::by_id("safetensors").unwrap();
    let plan = convert::plan(&items, target, &Options::default(), &Selection::default()).unwrap();
    let out = folder.path().join("out.safetensors");
    let error = plan.run(&task, &out, Consent::default()).unwrap_err().to_string();
    assert!(error.contains("str_U5") && error.contains("left out"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    plan.run(&task, &out, Consent { lose: true, overwrite: false }).unwrap();
    let back = whole(&out);
    assert_eq!(back.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["dtype_f4"]);
}

#[test]
fn a_late_cell_that_does_not_fit_keeps_the_column_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let task = Task::new();
    let typed: Columns =
        ["n", "f", "late"].map(|name| Columns::text(name, DataType::Int64)).into_iter().collect();
    let column = |last: [&str; 2]| -> ArrayRef {
        let all = (0..20_000).map(|n| n.to_string()).chain(last.map(str::to_owned));
        Arc::new(all.map(Some).collect::<StringArray>())
    };
    let columns = vec![column(["20000", "-1"]), column(["1e3", ""]), column(["1.5", "not a number"])];
    let content = Content::Table(Arc::new(MemoryTable::of(typed, columns).unwrap()));
    let items = vec![Item::new("in", content, Default::default())];
    let target = Target::by_id("parquet").unwrap();
    let plan = convert::plan(&items, target, &Options::default(), &Selection::default()).unwrap();
    let out = folder.path().join("out.parquet");
    let done = plan.run(&task, &out, Consent::default()).unwrap();
    assert_eq!(done.notes.len(), 2, "{:?}", done.notes);
    assert!(done.notes[0].subject == "f" && done.notes[0].what.contains("double"), "{:?}", done.notes);
    assert!(done.notes[1].subject == "late" && done.notes[1].what.contains("string"), "{:?}", done.notes);
    let back = open(&out).unwrap();
    let Some(Content::Table(table)) = &back.root.content else { panic!("no table") };
    let types: Vec<String> = table.schema().fields().iter().map(|f| f.data_type().to_string()).collect();
    assert_eq!(types, ["Int64", "Float64", "Utf8"]);
    let cells = cells_of(table, false).unwrap();
    assert_eq!(cells[2].1[20_000..], [Some("1.5".to_owned()), Some("not a number".to_owned())]);
    assert_eq!(cells[1].1[20_000..], [Some("1000.0".to_owned()), None]);
}
