//! Every fixture × every writer that takes it: what was written is opened again and holds the same.
//!
//! Columns and arrays of which the plan names a loss are left out of the comparison, everything else is
//! compared: names, rows, every cell's exact text; types, shapes and every byte of arrays; samples of
//! pictures. That the files are right in other programs' eyes is `read_back.py`'s part.

use gander::adapt::{ArrayTable, ImageArray, Typed};
use gander::content::table::Table;
use gander::content::{Array, Content, array};
use gander::convert::{self, Consent, Item, Plan, Selection, TARGETS, Target};
use gander::dtype::DType;
use gander::format::Options;
use gander::region::Region;
use gander::{Document, Task, cell};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One column or array as texts; `None` is null.
type Cells = (String, Vec<Option<String>>);

/// Fixtures larger than this are left to other tests.
const LARGEST: u64 = 2 << 20;

fn fixtures() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let name = entry.file_name().to_string_lossy().into_owned();
            if meta.is_dir() && name != "malformed" {
                folders.push(path);
            } else if meta.is_file() && meta.len() <= LARGEST && !name.ends_with(".py") {
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
    let table: Arc<dyn Table> = match typed && Typed::applies(table.as_ref()) {
        true => {
            let first = Typed::new(table.clone(), &BTreeMap::new());
            first.try_all(&task).ok()?;
            Arc::new(Typed::new(table.clone(), &first.misfits()))
        }
        false => table.clone(),
    };
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let rows = table.count(&task).ok()?;
    let batch = table.read(&task, 0..rows, &columns).ok()?;
    let of = |(field, column): (&Arc<arrow::datatypes::Field>, &arrow::array::ArrayRef)| {
        (field.name().clone(), (0..batch.num_rows()).map(|row| cell::text(column.as_ref(), row)).collect())
    };
    Some(table.schema().fields().iter().zip(batch.columns()).map(of).collect())
}

fn bytes_of(array: &dyn Array) -> Option<Vec<u8>> {
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
        Content::Array(array) => array.clone(),
        Content::Image(image) => Arc::new(ImageArray::new(image.clone())),
        _ => return None,
    };
    let dtype = match array.dtype() {
        // NumPy's formats keep these as void of the same size.
        DType::BF16 => DType::Void(2),
        DType::Mini(_) => DType::Void(1),
        other => other.clone(),
    };
    Some((dtype, array.shape().to_vec(), bytes_of(array.as_ref())?))
}

fn opens_as(target: &Target, document: &Document) -> bool {
    match target.id {
        "tsv" => document.format.id == "csv",
        "arrow-stream" => document.format.id == "arrow",
        id => document.format.id == id,
    }
}

/// Compares what was written with what it was written from; the number of things compared.
fn compare(items: &[Item], plan: &Plan, target: &Target, back: &[Item], what: &str) -> usize {
    let lost: HashSet<&str> = plan.losses.iter().map(|loss| loss.subject.as_str()).collect();
    let texts = matches!(target.id, "csv" | "tsv");
    if back.iter().all(|item| matches!(item.content, Content::Table(_))) {
        let ([from], [to]) = (items, back) else { panic!("{what}: {} tables came back", back.len()) };
        let (Some(from), Some(to)) = (as_cells(from, !texts), as_cells(to, false)) else { return 0 };
        // Text formats infer types again; their cells as they stand are what counts.
        let names = |cells: &[Cells]| cells.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&to), names(&from), "{what}: names");
        for ((name, from), (_, to)) in from.iter().zip(&to) {
            if lost.contains(name.as_str()) && target.id != "tsv" && target.id != "csv" {
                continue;
            }
            let same = |(a, b): (&Option<String>, &Option<String>)| {
                a == b || texts && (a.as_deref().unwrap_or_default() == b.as_deref().unwrap_or_default())
            };
            let nested = |cell: &Option<String>| {
                cell.as_ref().is_some_and(|c| c.starts_with(['{', '[']) || c.starts_with("0x"))
            };
            assert_eq!(to.len(), from.len(), "{what}: rows of {name:?}");
            let wrong = from.iter().zip(to).position(|(a, b)| !same((a, b)) && !(texts && nested(a)));
            assert_eq!(wrong, None, "{what}: column {name:?}: {:?}", wrong.map(|row| (&from[row], &to[row])));
        }
        return from.len();
    }
    let mut compared = 0;
    for item in back {
        let Some((dtype, shape, bytes)) = as_bytes(&item.content) else { continue };
        let source =
            if items.len() == 1 { items.first() } else { items.iter().find(|i| i.name == item.name) };
        let source = source.unwrap_or_else(|| panic!("{what}: {:?} was not in the source", item.name));
        if let Some(from) = as_bytes(&source.content) {
            let grey = |shape: Vec<u64>| {
                if target.id == "png" && shape.last() == Some(&1) { shape[..2].to_vec() } else { shape }
            };
            if plan.is_lossy() && target.id == "png" {
                continue;
            }
            assert_eq!((&dtype, &shape), (&from.0, &grey(from.1)), "{what}: {:?}", item.name);
            assert!(bytes == from.2, "{what}: the bytes of {:?} differ", item.name);
            compared += 1;
        } else if let Content::Table(table) = &source.content {
            compared += compare_column(table, &item.name, &item.content, what);
        }
    }
    compared
}

/// A column that became an array of its own.
fn compare_column(table: &Arc<dyn Table>, name: &str, content: &Content, what: &str) -> usize {
    let Content::Array(array) = content else { return 0 };
    let Ok(back) = ArrayTable::new("x", array.clone()) else { return 0 };
    let back = cells_of(&(Arc::new(back) as Arc<dyn Table>), false).unwrap();
    let from = cells_of(table, true).unwrap();
    let Some((_, from)) = from.iter().find(|(column, _)| column == name) else { return 0 };
    let [(_, back)] = back.as_slice() else { return 0 };
    for (a, b) in from.iter().zip(back) {
        // Null cells were filled; dates have become moments, moments have lost their zone.
        let (Some(a), Some(b)) = (a, b) else { continue };
        let same = a == b || b.starts_with(a.as_str()) || a.ends_with("+00:00") || a.contains('T');
        assert!(same, "{what}: column {name:?}: {a} became {b}");
    }
    1
}

#[test]
fn every_fixture_by_every_writer_reads_back_equal() {
    let folder = tempfile::tempdir().unwrap();
    let task = Task::new();
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for path in fixtures() {
        let Some(document) = open(&path) else { continue };
        let Ok(items) = convert::gather(&task, &document.root, "") else { continue };
        if items.iter().any(|item| matches!(item.content, Content::Bytes(_) | Content::Text(_))) {
            continue;
        }
        for target in TARGETS.iter().filter(|target| target.id != "raw") {
            let Ok(plan) = convert::plan(&items, target, &Options::default(), &Selection::default()) else {
                continue;
            };
            let what = format!("{} as {}", path.display(), target.id);
            let out = folder.path().join(format!("out.{}", target.extensions[0]));
            let consent = Consent { overwrite: true, lose: true };
            if let Err(error) = plan.run(&task, &out, consent) {
                let expected =
                    error.kind() == gander::ErrorKind::Unsupported || document.root.problem.is_some();
                assert!(expected, "{what}: {error}");
                continue;
            }
            let back = open(&out).unwrap_or_else(|| panic!("{what}: it does not open"));
            if !opens_as(target, &back) {
                // Its reader is not here, or a text says too little to be told from plain text.
                continue;
            }
            let back = convert::gather(&task, &back.root, "").unwrap_or_else(|e| panic!("{what}: {e}"));
            *compared.entry(target.id).or_default() += compare(&items, &plan, target, &back, &what);
        }
    }
    for id in ["parquet", "npy", "npz", "png", "csv", "arrow", "safetensors"] {
        assert!(compared.get(id).is_some_and(|n| *n > 20), "{id}: too little was compared: {compared:?}");
    }
}

#[test]
fn raw_bytes_are_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let task = Task::new();
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/shape_3d_fortran_be.npy"));
    let document = open(path).unwrap();
    let items = convert::gather(&task, &document.root, "").unwrap();
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

#[test]
fn losses_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let task = Task::new();
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/str_U5.npy"));
    let other = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/npy/dtype_f4.npy"));
    let mut items = Vec::new();
    for path in [path, other] {
        items.extend(convert::gather(&task, &open(path).unwrap().root, "").unwrap());
    }
    let target = Target::by_id("safetensors").unwrap();
    let plan = convert::plan(&items, target, &Options::default(), &Selection::default()).unwrap();
    let out = folder.path().join("out.safetensors");
    let error = plan.run(&task, &out, Consent::default()).unwrap_err().to_string();
    assert!(error.contains("str_U5") && error.contains("left out"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    plan.run(&task, &out, Consent { lose: true, overwrite: false }).unwrap();
    let back = convert::gather(&task, &open(&out).unwrap().root, "").unwrap();
    assert_eq!(back.iter().map(|item| item.name.as_str()).collect::<Vec<_>>(), ["dtype_f4"]);
}

#[test]
fn a_late_cell_that_does_not_fit_keeps_the_column_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let task = Task::new();
    let source = folder.path().join("in.csv");
    let mut text = "n,f,late\n".to_owned();
    (0..20_000).for_each(|n| text.push_str(&format!("{n},{n}.5,{n}\n")));
    text.push_str("20000,1e3,1.5\n-1,,not a number\n");
    std::fs::write(&source, text).unwrap();
    let items = convert::gather(&task, &open(&source).unwrap().root, "").unwrap();
    let target = Target::by_id("parquet").unwrap();
    let plan = convert::plan(&items, target, &Options::default(), &Selection::default()).unwrap();
    let out = folder.path().join("out.parquet");
    let done = plan.run(&task, &out, Consent::default()).unwrap();
    assert_eq!(done.notes.len(), 1, "{:?}", done.notes);
    assert!(done.notes[0].subject == "late" && done.notes[0].what.contains("string"), "{:?}", done.notes);
    let back = open(&out).unwrap();
    let Some(Content::Table(table)) = &back.root.content else { panic!("no table") };
    let types: Vec<String> = table.schema().fields().iter().map(|f| f.data_type().to_string()).collect();
    assert_eq!(types, ["Int64", "Float64", "Utf8"]);
    let cells = cells_of(table, false).unwrap();
    assert_eq!(cells[2].1[20_000..], [Some("1.5".to_owned()), Some("not a number".to_owned())]);
    assert_eq!(cells[1].1[20_000..], [Some("1000.0".to_owned()), None]);
}
