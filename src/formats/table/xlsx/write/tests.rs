use super::*;
use crate::data::cell;
use crate::data::content::Content;
use crate::data::content::table::MemoryTable;
use crate::data::format::Data;
use arrow::array::*;
use proptest::prelude::*;
use std::io::Cursor;

fn memory(columns: Vec<(&str, ArrayRef)>) -> Arc<dyn Table> {
    Arc::new(MemoryTable::new(RecordBatch::try_from_iter(columns).unwrap()))
}

fn written(data: Data, set: &[(&str, &str)]) -> Result<Vec<u8>> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    let mut out = Cursor::new(Vec::new());
    write(&Task::new(), &Payload::plain(data), &options, &mut out)?;
    Ok(out.into_inner())
}

/// The sheets of a workbook: name, names of columns, cells.
fn sheets(bytes: &[u8]) -> Vec<(String, Vec<String>, Vec<Vec<Option<String>>>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.xlsx");
    std::fs::write(&path, bytes).unwrap();
    let task = Task::new();
    let document = crate::formats::open(&task, &path, &Options::default()).unwrap();
    assert_eq!(document.format.id, "xlsx");
    let items = crate::convert::gather(&task, &document.source, &document.root, "").unwrap();
    let sheet = |item: crate::convert::Item| {
        let Content::Table(table) = &item.content else { panic!("no table") };
        let names: Vec<String> = table.schema().fields().iter().map(|f| f.name().clone()).collect();
        let all: Vec<usize> = (0..names.len()).collect();
        let batch = table.read(&task, 0..u64::MAX, &all).unwrap();
        let row = |row| batch.columns().iter().map(move |c| cell::text(c.as_ref(), row)).collect();
        (item.name, names, (0..batch.num_rows()).map(row).collect())
    };
    items.into_iter().map(sheet).collect()
}

proptest! {
    #[test]
    fn any_row_reads_back(
        rows in prop::collection::vec((prop::option::of("[ a<&_x0041_\n\r\u{1}\\PC]{0,7}"), prop::option::of(any::<i64>()), prop::num::f64::NORMAL, any::<bool>(), -25_567i32..2_932_896), 1..20),
    ) {
        let texts: ArrayRef = Arc::new(rows.iter().map(|r| r.0.clone()).collect::<StringArray>());
        let whole: ArrayRef = Arc::new(rows.iter().map(|r| r.1).collect::<Int64Array>());
        let floats: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.2)));
        let bools: ArrayRef = Arc::new(rows.iter().map(|r| Some(r.3)).collect::<BooleanArray>());
        let days: ArrayRef = Arc::new(Date32Array::from_iter_values(rows.iter().map(|r| r.4)));
        let table = memory(vec![("t", texts), ("i", whole), ("f", floats), ("b", bools), ("d", days.clone())]);
        let back = sheets(&written(Data::Table(table), &[]).unwrap());
        prop_assert_eq!(&back[0].1, &["t", "i", "f", "b", "d"]);
        prop_assert_eq!(back[0].2.len(), rows.len());
        for (n, (row, (text, whole, float, flag, _))) in back[0].2.iter().zip(&rows).enumerate() {
            prop_assert_eq!(&row[0], text);
            prop_assert_eq!(&row[1], &whole.map(|n| n.to_string()));
            prop_assert_eq!(row[2].as_ref().unwrap().parse::<f64>().unwrap(), *float);
            prop_assert_eq!(&row[3], &Some(flag.to_string()));
            prop_assert_eq!(&row[4], &cell::text(days.as_ref(), n));
        }
    }
}

#[test]
fn times_keep_milliseconds_and_moments_beyond_the_calendar_are_texts() {
    let stamps = TimestampMicrosecondArray::from(vec![1_706_745_600_123_456, -1, 253_402_300_799_999_000]);
    let clocks = Time32MillisecondArray::from(vec![0, 86_399_999, 43_200_000]);
    let spans = DurationSecondArray::from(vec![-90, 90_000, 1]);
    let table = memory(vec![("s", Arc::new(stamps)), ("c", Arc::new(clocks)), ("d", Arc::new(spans))]);
    let back = sheets(&written(Data::Table(table), &[]).unwrap());
    let cells: Vec<Vec<&str>> =
        back[0].2.iter().map(|row| row.iter().map(|c| c.as_deref().unwrap()).collect()).collect();
    assert_eq!(cells[0], ["2024-02-01T00:00:00.123", "00:00:00", "-90s"]);
    assert_eq!(cells[1], ["1969-12-31T23:59:59.999", "23:59:59.999", "90000s"]);
    assert_eq!(cells[2], ["9999-12-31T23:59:59.999", "12:00:00", "1s"]);
    let old = memory(vec![("d", Arc::new(Date32Array::from(vec![-25_568, 0, 2_932_897])))]);
    let back = sheets(&written(Data::Table(old), &[]).unwrap());
    let cells: Vec<_> = back[0].2.iter().map(|row| row[0].clone().unwrap()).collect();
    assert_eq!(cells, ["1899-12-31", "1970-01-01T00:00:00", "+10000-01-01"]);
}

#[test]
fn options_say_what_stands_for_what_excel_lacks() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(f64::INFINITY), None]));
    let long: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 1 << 53, 7]));
    let cents: ArrayRef = Arc::new(
        Decimal128Array::from(vec![1_234_567_890_123_456_789, 150, -5])
            .with_precision_and_scale(20, 2)
            .unwrap(),
    );
    let table = memory(vec![("f", floats), ("u", long), ("d", cents)]);
    let cells = |set: &[(&str, &str)]| {
        let back = sheets(&written(Data::Table(table.clone()), set).unwrap()).remove(0);
        back.2
            .into_iter()
            .map(|row| row.into_iter().map(|c| c.unwrap_or("∅".into())).collect::<Vec<_>>().join("¦"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        cells(&[("null", "NA")]),
        ["nan¦18446744073709551615¦12345678901234567.89", "inf¦9007199254740992¦1.5", "NA¦7¦-0.05"]
    );
    let other = [("nan", "error"), ("long_numbers", "number")];
    assert_eq!(
        cells(&other),
        [
            "#NUM!¦1.8446744073709552e19¦1.2345678901234568e16",
            "#DIV/0!¦9007199254740992.0¦1.5",
            "∅¦7.0¦-0.05"
        ]
    );
    assert_eq!(cells(&[("nan", "empty")])[1], "∅¦9007199254740992¦1.5");
    let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(32_768)]));
    let table = memory(vec![("t", long)]);
    let error = written(Data::Table(table.clone()), &[]).unwrap_err().to_string();
    assert!(error.contains("32,768 characters") && error.contains("column \"t\", row 2"), "{error}");
    let back = sheets(&written(Data::Table(table), &[("long_texts", "cut")]).unwrap());
    assert_eq!(back[0].2[0][0].as_ref().unwrap().len(), 32_767);
}

#[test]
fn tables_without_rows_have_a_header_and_names_are_made_to_fit() {
    let none: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let some: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let tables = vec![
        ("/a/b".to_owned(), memory(vec![("n", none)])),
        ("A_B".to_owned(), memory(vec![("n", some.clone())])),
        ("History".to_owned(), memory(vec![("x", some.clone())])),
        (format!("{}😀", "n".repeat(30)), memory(vec![("x", some)])),
    ];
    let bytes = written(Data::Tables(tables), &[("autofilter", "yes")]).unwrap();
    let back = sheets(&bytes);
    let names: Vec<&str> = back.iter().map(|sheet| sheet.0.as_str()).collect();
    assert_eq!(names, ["a_b", "A_B (2)", "History_", &"n".repeat(30)]);
    assert_eq!((back[0].1.clone(), back[0].2.len(), back[1].2.len()), (vec!["n".to_owned()], 0, 1));
}

#[test]
fn more_rows_than_a_sheet_has_want_to_be_split() {
    let rows = (1 << 20) + 4;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let table = memory(vec![("n", numbers)]);
    let error = written(Data::Table(table.clone()), &[]).unwrap_err().to_string();
    assert!(error.contains("1,048,580 rows") && error.contains("split=yes"), "{error}");
    let mut options = Options::default();
    options.set("split", "yes");
    options.set("sheet", "s");
    let parts = plan(&Task::new(), &Payload::plain(Data::Table(table)), &options, true).unwrap();
    let parts: Vec<_> = parts.into_iter().map(|part| (part.sheet.name, part.rows, part.sheet.rows)).collect();
    assert_eq!(
        parts,
        [("s".to_owned(), 0..(1 << 20) - 1, 1 << 20), ("s (2)".to_owned(), (1 << 20) - 1..(1 << 20) + 4, 6)]
    );
}

#[test]
fn a_cancelled_task_ends_it() {
    let task = Task::new();
    task.cancel();
    let table = memory(vec![("n", Arc::new(Int64Array::from(vec![1])))]);
    let out =
        write(&task, &Payload::plain(Data::Table(table)), &Options::default(), &mut Cursor::new(Vec::new()));
    assert!(out.unwrap_err().is_cancelled());
}
