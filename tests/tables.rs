//! Several tables in one file, arrays as tables of a row an element, tables for other programs, reports.

use gander::Task;
use gander::convert::{self, Consent, Item, Selection, Target};
use gander::data::cell;
use gander::data::content::{Content, Table};
use gander::data::format::{Loss, LossKind, Options};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

fn fixture(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")).join(name)
}

fn opened(path: &Path, node: &str) -> Vec<Item> {
    let task = Task::new();
    let document = gander::open(&task, path, &Options::default()).unwrap();
    let found = document.root.find(&task, node).unwrap().unwrap();
    convert::gather(&task, &document.source, &found, node).unwrap()
}

fn planned(items: &[Item], id: &str, set: &[(&str, &str)]) -> Result<convert::Plan, gander::Error> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    convert::plan(items, Target::by_id(id).unwrap(), &options, &Selection::default())
}

/// Writes and opens again; what was said to be lost.
fn there_and_back(items: &[Item], id: &str, set: &[(&str, &str)], out: &Path) -> (Vec<Item>, Vec<Loss>) {
    let plan = planned(items, id, set).unwrap();
    plan.run(&Task::new(), out, Consent { overwrite: true, lose: true }).unwrap();
    (opened(out, ""), plan.losses)
}

fn table(item: &Item) -> &Arc<dyn Table> {
    let Content::Table(table) = &item.content else { panic!("{} is no table", item.name) };
    table
}

fn names(table: &dyn Table) -> Vec<String> {
    table.schema().fields().iter().map(|field| field.name().clone()).collect()
}

fn cells(table: &dyn Table) -> Vec<Vec<Option<String>>> {
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let rows = table.count(&Task::new()).unwrap();
    let batch = table.read(&Task::new(), 0..rows, &all).unwrap();
    let row = |row| batch.columns().iter().map(move |column| cell::text(column.as_ref(), row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

#[test]
fn several_tables_stay_several() {
    let folder = tempfile::tempdir().unwrap();
    let shop = opened(&fixture("sqlite/shop.sqlite"), "");
    assert!(shop.len() > 2);
    for (id, ending) in [("sqlite", "db"), ("xlsx", "xlsx")] {
        let out = folder.path().join(format!("shop.{ending}"));
        let (back, losses) = there_and_back(&shop, id, &[], &out);
        assert_eq!(back.len(), shop.len(), "{losses:?}");
        for (from, to) in shop.iter().zip(&back) {
            assert_eq!((&from.name, names(table(from).as_ref())), (&to.name, names(table(to).as_ref())));
            assert_eq!(cells(table(from).as_ref()).len(), cells(table(to).as_ref()).len(), "{}", from.name);
        }
        if id == "sqlite" {
            let (again, _) = there_and_back(&back, "xlsx", &[], &folder.path().join("again.xlsx"));
            assert_eq!(again.len(), shop.len());
        }
    }
    let refused = planned(&shop, "csv", &[]).err().unwrap().to_string();
    assert!(refused.contains("CSV holds one thing") && refused.contains("xlsx"), "{refused}");
}

#[test]
fn a_late_cell_makes_its_own_column_text_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    // Neither near its beginning nor near its end, of which types are inferred.
    let text = |late: &str| {
        let rows = |rows: std::ops::Range<u32>| rows.map(|n| format!("{n},{n}\n")).collect::<String>();
        format!("a,b\n{}1,{late}\n{}", rows(0..200_000), rows(0..200_000))
    };
    let mut items = Vec::new();
    for (name, last) in [("one", "2"), ("two", "late")] {
        let path = folder.path().join(format!("{name}.csv"));
        std::fs::write(&path, text(last)).unwrap();
        items.extend(opened(&path, ""));
    }
    let out = folder.path().join("both.sqlite");
    let plan = planned(&items, "sqlite", &[]).unwrap();
    let done = plan.run(&Task::new(), &out, Consent::default()).unwrap();
    assert_eq!(done.notes.len(), 1, "{:?}", done.notes);
    assert_eq!((done.notes[0].path.as_str(), done.notes[0].subject.as_str()), ("two", "b"));
    let back = opened(&out, "");
    let types = |item: &Item| table(item).described().into_iter().map(|(_, kind)| kind).collect::<Vec<_>>();
    assert_eq!(
        (types(&back[0]), types(&back[1])),
        (vec!["int64".into(); 2], vec!["int64".into(), "string".into()])
    );
    assert_eq!(cells(table(&back[1]).as_ref())[200_000], [Some("1".into()), Some("late".into())]);
}

#[test]
fn an_array_is_a_row_an_element_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let climate = fixture("showcase/climate.nc");
    let tas = opened(&climate, "/tas");
    let Content::Array(array) = &tas[0].content else { panic!("no array") };
    let (shape, facts) = (array.shape().to_vec(), array.facts());
    let count: u64 = shape.iter().product();
    for (id, ending) in [("parquet", "parquet"), ("csv", "csv"), ("msgpack", "msgpack"), ("sqlite", "db")] {
        let out = folder.path().join(format!("tas.{ending}"));
        let (back, losses) = there_and_back(&tas, id, &[("layout", "long")], &out);
        let back = table(&back[0]);
        assert_eq!(names(back.as_ref()), ["time", "lat", "lon", "tas"], "{id}");
        assert_eq!(back.count(&Task::new()).unwrap(), count, "{id}");
        assert!(
            !losses.iter().any(|loss| loss.what.contains("coordinates along its dimensions")),
            "{losses:?}"
        );
    }
    let (back, _) = there_and_back(&tas, "parquet", &[("layout", "long")], &folder.path().join("t.parquet"));
    let all = cells(table(&back[0]).as_ref());
    // The last element, and what its coordinates and its scale say of it.
    let last = all.last().unwrap();
    let coordinate = |axis: usize| {
        let values = facts.axes[axis].coordinate.clone().unwrap();
        let column = values.column(&Task::new(), &gander::data::region::Region::all(values.shape())).unwrap();
        (cell::text(column.as_ref(), 0), cell::text(column.as_ref(), column.len() - 1))
    };
    assert_eq!((&all[0][1], &last[1]), (&coordinate(1).0, &coordinate(1).1));
    assert_eq!((&all[0][2], &last[2]), (&coordinate(2).0, &coordinate(2).1));
    assert!(all[0][0].as_ref().unwrap().contains('T'), "{:?}", all[0]);
    let refused = planned(&tas, "parquet", &[]).err().unwrap().to_string();
    assert!(refused.contains("layout=long"), "{refused}");
    assert!(planned(&tas, "npy", &[("layout", "long")]).is_err());
    let people = opened(&fixture("showcase/people.csv"), "");
    let refused = planned(&people, "parquet", &[("layout", "long")]).err().unwrap().to_string();
    assert!(refused.contains("layout=long: it is for arrays"), "{refused}");
}

#[test]
fn arrays_along_the_same_dimensions_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let climate = opened(&fixture("showcase/climate.nc"), "");
    let along = |item: &Item| match &item.content {
        Content::Array(array) => array.facts().axes.iter().map(|axis| axis.name.clone()).collect(),
        _ => Vec::new(),
    };
    let full: Vec<Item> = climate.iter().filter(|item| along(item).len() == 3).cloned().collect();
    assert!(!full.is_empty());
    let scales = climate.iter().filter(|item| along(item).len() == 1).cloned();
    let all: Vec<Item> = full.iter().cloned().chain(scales).collect();
    let out = folder.path().join("all.parquet");
    let (back, losses) = there_and_back(&all, "parquet", &[("layout", "long")], &out);
    let expected: Vec<String> = ["time", "lat", "lon"]
        .map(str::to_owned)
        .into_iter()
        .chain(full.iter().map(|item| item.name.clone()))
        .collect();
    assert_eq!(names(table(&back[0]).as_ref()), expected);
    let said =
        |name: &str| losses.iter().any(|loss| loss.path == name && loss.what.contains("becomes the column"));
    assert!(said("lat") && said("time"), "{losses:?}");
    // Arrays of other shapes are other tables, where the target has room for several.
    let mixed = [full[0].clone(), opened(&fixture("npy/shape_2d.npy"), "").remove(0)];
    let refused = planned(&mixed, "parquet", &[("layout", "long")]).err().unwrap().to_string();
    assert!(refused.contains("different dimensions"), "{refused}");
    let (back, _) = there_and_back(&mixed, "xlsx", &[("layout", "long")], &folder.path().join("all.xlsx"));
    assert_eq!(back.len(), 2);
    assert_eq!(names(table(&back[1]).as_ref()), ["dim_0", "dim_1", "shape_2d"]);
}

#[test]
fn records_of_one_and_two_dimensions_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    for (name, width) in [
        ("struct_simple", None),
        ("struct_nested", None),
        ("struct_subarray", None),
        ("struct_2d", Some("column0")),
    ] {
        let items = opened(&fixture(&format!("npy/{name}.npy")), "");
        let (fields, shape) = match &items[0].content {
            Content::Array(array) => (array.dtype().record().unwrap().fields.len(), array.shape().to_vec()),
            // Records in a row are shown as a table already.
            Content::Table(table) => {
                (table.schema().fields().len(), vec![table.count(&Task::new()).unwrap()])
            }
            _ => panic!("{name}"),
        };
        let mut read: Vec<Vec<Vec<Option<String>>>> = Vec::new();
        for id in ["parquet", "arrow", "csv"] {
            let (back, _) = there_and_back(&items, id, &[], &folder.path().join(format!("{name}.{id}")));
            let back = table(&back[0]);
            let columns = if shape.len() == 2 { shape[1] as usize } else { fields };
            assert_eq!(
                (names(back.as_ref()).len(), back.count(&Task::new()).unwrap()),
                (columns, shape[0]),
                "{name} as {id}"
            );
            assert!(width.is_none_or(|first| names(back.as_ref())[0] == first));
            read.push(cells(back.as_ref()));
        }
        assert_eq!(read[0], read[1], "{name}");
        for (a, b) in read[0].iter().flatten().zip(read[2].iter().flatten()) {
            assert!(a == b || super::roundtrip::same_json(a.as_deref(), b.as_deref()), "{name}: {a:?} {b:?}");
        }
        if shape.len() == 2 {
            let out = folder.path().join(format!("{name}-long.parquet"));
            let (back, _) = there_and_back(&items, "parquet", &[("layout", "long")], &out);
            assert_eq!(names(table(&back[0]).as_ref()).len(), 2 + fields, "{name}");
        }
    }
}

#[test]
fn what_a_table_for_people_loses_is_said() {
    let trips = opened(&fixture("showcase/trips.parquet"), "");
    for id in ["markdown", "html"] {
        let plan = planned(&trips, id, &[("max_rows", "0")]).unwrap();
        assert!(
            plan.losses.iter().any(|loss| loss.kind == LossKind::Type && !loss.serious),
            "{:?}",
            plan.losses
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let plan = planned(&trips, "sql", &[]).unwrap();
    let out = folder.path().join("trips.sql");
    plan.run(&Task::new(), &out, Consent { overwrite: false, lose: true }).unwrap();
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.starts_with("BEGIN;\nCREATE TABLE \"data\" (\n") && text.ends_with(";\nCOMMIT;\n"));
}

fn gander(args: &[&str]) -> (String, String, Option<i32>) {
    let out = Command::new(env!("CARGO_BIN_EXE_gander")).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&out.stdout), text(&out.stderr), out.status.code())
}

#[test]
fn reports_are_files_and_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (people, model) = (fixture("showcase/people.csv"), fixture("showcase/weights.safetensors"));
    let (people, model) = (people.display().to_string(), model.display().to_string());
    for (command, source) in [("stats", &people), ("stats", &model), ("health", &model)] {
        let (printed, _, status) = gander(&[command, source, "--json"]);
        for ending in ["json", "csv", "html"] {
            let (one, two) = (path(&format!("{command}1.{ending}")), path(&format!("{command}2.{ending}")));
            for out in [&one, &two] {
                let done = gander(&[command, source, "-o", out, "--overwrite"]);
                assert_eq!((done.0.as_str(), done.2), ("", status), "{done:?}");
            }
            let text = std::fs::read_to_string(&one).unwrap();
            assert_eq!(text, std::fs::read_to_string(&two).unwrap(), "{command}.{ending}");
            match ending {
                "json" => assert_eq!(text, printed),
                "csv" => assert!(text.lines().all(|line| line.contains(',')), "{text}"),
                _ => assert!(text.starts_with("<!DOCTYPE html>") && !text.contains("<script"), "{text}"),
            }
            let refused = gander(&[command, source, "-o", &one]);
            assert!(refused.2 == Some(1) && refused.1.contains("exists already"), "{refused:?}");
        }
        let wrong = gander(&[command, source, "-o", &path("x.txt")]);
        assert_eq!((wrong.2, wrong.1.contains("a report ends in")), (Some(2), true), "{wrong:?}");
    }
    let csv = std::fs::read_to_string(path("stats1.csv")).unwrap();
    assert!(csv.starts_with("path,name,kind,column,"), "{csv}");
}
