use super::*;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Content;
use crate::data::format::Options;

fn fixture(name: &str) -> Result<Arc<Node>> {
    let path = format!("{}/fixtures/xlsx/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::formats::open(&Task::new(), path.as_ref(), &Options::default()).map(|document| document.root)
}

fn sheet(root: &Arc<Node>, name: &str) -> Arc<Node> {
    root.find(&Task::new(), &format!("/{name}")).unwrap().unwrap()
}

fn shown(node: &Node) -> (String, String) {
    let Some(Content::Table(table)) = &node.content else { return ("none".to_owned(), String::new()) };
    let columns: Vec<String> =
        table.described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    let all: Vec<usize> = (0..columns.len()).collect();
    let batch = table.read(&Task::new(), 0..99, &all).unwrap();
    let cell = |row, c: &arrow::array::ArrayRef| cell::text(c.as_ref(), row).unwrap_or("∅".into());
    let row = |row| batch.columns().iter().map(|c| cell(row, c)).collect::<Vec<_>>().join("¦");
    (columns.join(", "), (0..batch.num_rows()).map(row).collect::<Vec<_>>().join("⏎"))
}

#[test]
fn sheets_are_tables_with_types() {
    let root = fixture("birds.xlsx").unwrap();
    let (columns, cells) = shown(&sheet(&root, "birds"));
    let expected =
        "id: int64, weight: double, name: string, wild: bool, day: date32[day], moment: timestamp[us]";
    assert_eq!(columns, expected);
    assert_eq!(root.start.as_deref(), Some("/birds"), "its rows are what one sees first");
    assert!(cells.starts_with("1¦0.25¦goose 1 é¦false¦2024-03-01¦2024-02-29T01:00:00⏎"), "{cells}");
    let plain = sheet(&root, "no header");
    assert_eq!(shown(&plain), ("column0: int64, column1: string".into(), "1¦x⏎2¦∅⏎∅¦z".into()));
    let overview = sheet(&root, "Übersicht");
    let (columns, cells) = shown(&overview);
    assert_eq!(columns, "name: string, sum: double");
    assert!(cells.contains("none¦#N/A"), "{cells}");
    assert!(overview.remarks.iter().any(|r| r.contains("merged")), "{:?}", overview.remarks);
    assert!(overview.remarks.iter().any(|r| r.contains("1 formula without a stored result")));
    assert!(sheet(&root, "empty").content.is_none());
    assert_eq!(sheet(&root, "hidden").reader[0].0, "hidden");
}

#[test]
fn other_formats_hold_the_same() {
    let expected = shown(&sheet(&fixture("birds.xlsx").unwrap(), "birds")).1;
    let expected: Vec<&str> = expected.split('⏎').map(|row| row.rsplit_once('¦').unwrap().0).collect();
    for name in ["birds.xls", "birds.ods"] {
        let (columns, cells) = shown(&sheet(&fixture(name).unwrap(), "birds"));
        assert_eq!(
            columns, "id: int64, weight: double, name: string, wild: bool, day: date32[day]",
            "{name}"
        );
        assert_eq!(cells, expected.join("⏎"), "{name}");
    }
}

#[test]
fn hostile_and_broken_workbooks_end_in_sentences() {
    let far = fixture("malformed/far_cell.xlsx").unwrap();
    let far = sheet(&far, "birds");
    let Some(Content::Table(table)) = &far.content else { panic!() };
    assert_eq!(table.schema().field(0).name(), "id");
    assert!(far.remarks.iter().any(|remark| remark.contains("left out")), "{:?}", far.remarks);
    let repeated = sheet(&fixture("malformed/repeated.ods").unwrap(), "birds");
    assert_eq!(repeated.problem.as_ref().unwrap().kind(), crate::bytes::error::ErrorKind::Limit);
    let broken = fixture("malformed/broken_sheet.xlsx").unwrap();
    let birds = sheet(&broken, "birds");
    assert!(birds.problem.is_some() && birds.content.is_some());
    assert!(sheet(&broken, "no header").content.is_some());
    for name in ["cut.xlsx", "header.xls", "no_workbook.xlsx"] {
        let opened = fixture(&format!("malformed/{name}"));
        let empty = opened.as_ref().is_ok_and(|root| root.child_count() == Some(0));
        assert!(
            empty || opened.is_err_and(|error| error.kind() == crate::bytes::error::ErrorKind::Malformed),
            "{name}"
        );
    }
}

#[test]
fn packages_are_read_however_their_parts_are_named_and_encoded() {
    let expected = fixture("formats.xlsx").unwrap();
    for name in ["backslashes", "elsewhere", "rootless", "utf16", "macro_sheet", "dimension"] {
        let book = fixture(&format!("{name}.xlsx")).unwrap();
        for part in ["formats", "beyond"] {
            assert_eq!(shown(&sheet(&book, part)), shown(&sheet(&expected, part)), "{name} {part}");
        }
    }
    let listed = fixture("macro_sheet.xlsx").unwrap().child_page(&Task::new(), 0..9).unwrap();
    assert_eq!(listed.iter().map(|node| node.label).collect::<Vec<_>>(), ["macro sheet", "sheet"]);
    let birds = |name: &str| shown(&sheet(&fixture(name).unwrap(), "birds"));
    assert_eq!(birds("spaced.ods"), birds("birds.ods"));
    assert_eq!(birds("circle.xls"), birds("birds.xls"));
    assert!(birds("two_bytes.xls").0.starts_with("id: int64, wei: double, nm: string, wild: bool"));
}

#[test]
fn numbers_are_what_their_formats_say() {
    let book = fixture("formats.xlsx").unwrap();
    let (columns, cells) = shown(&sheet(&book, "formats"));
    let expected = "condition: int64, date if large: date32[day], literal: double, escaped: int64, colour: date32[day], \
                    elapsed: duration[ms], clock: time64[us], minutes: duration[ms], star: int64, unquoted: double";
    assert_eq!(columns, expected);
    assert!(cells.starts_with("5¦2024-01-31¦2.5¦3¦2024-01-31¦388800s¦18:00:00¦43200s¦7¦1.25⏎"), "{cells}");
    // What is beyond the calendar is shown as its number.
    let expected = "2024-01-31T00:00:00¦129600s⏎2958466¦3477600s⏎-1¦86.4s⏎1e300¦43200s";
    assert_eq!(shown(&sheet(&book, "beyond")).1, expected);
    let (columns, cells) = shown(&sheet(&fixture("spans.ods").unwrap(), "spans"));
    assert_eq!(columns, "span: duration[ms], clock: time64[us]");
    assert_eq!(cells, "178200s¦08:05:00⏎1s¦23:59:59");
}

/// An archive of these members as they are.
fn archive(members: &[(String, String)]) -> Vec<u8> {
    let (mut all, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in members {
        let (place, len) = (all.len() as u32, (data.len() as u32).to_le_bytes());
        let crc = crc32fast::hash(data.as_bytes()).to_le_bytes();
        // Versions, flags, method, time and date, then sizes.
        let about = [&[0; 8][..], &crc, &len, &len, &(name.len() as u16).to_le_bytes(), &[0; 2]].concat();
        all.extend([b"PK\x03\x04\x14\0", &about[..], name.as_bytes(), data.as_bytes()].concat());
        let rest = [&[0; 10][..], &place.to_le_bytes(), name.as_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\0\x14\0", &about[..], &rest].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let (len, place) = ((directory.len() as u32).to_le_bytes(), (all.len() as u32).to_le_bytes());
    [&all[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &len, &place, &[0; 2]].concat()
}

/// A workbook of so many sheets that no relationship leads to: their parts are told by their types.
fn unrelated(sheets: usize) -> Vec<u8> {
    let typed = |part: &str, of: &str| {
        let of = format!("application/vnd.openxmlformats-officedocument.spreadsheetml.{of}+xml");
        format!("<Override PartName='/xl/{part}' ContentType='{of}'/>")
    };
    let types: String = (1..=sheets).map(|n| typed(&format!("worksheets/s{n}.xml"), "worksheet")).collect();
    let listed: String = (1..=sheets).map(|n| format!("<sheet name='s{n}' sheetId='{n}'/>")).collect();
    let mut members = vec![
        ("[Content_Types].xml".into(), format!("<Types>{}{types}</Types>", typed("w.xml", "sheet.main"))),
        ("xl/w.xml".into(), format!("<workbook><sheets>{listed}</sheets></workbook>")),
    ];
    let cell = |n| format!("<worksheet><sheetData><row><c><v>{n}</v></c></row></sheetData></worksheet>");
    members.extend((1..=sheets).map(|n| (format!("xl/worksheets/s{n}.xml"), cell(n))));
    archive(&members)
}

#[test]
fn many_sheets_without_relationships_are_found_at_once() {
    let task = Task::new();
    let source = crate::bytes::source::Source::memory("sheets.xlsx", unrelated(4_000));
    let begin = std::time::Instant::now();
    let root = crate::formats::open_source(&task, &source, &Options::default()).unwrap().root;
    // Each sheet was a search through all of them: half a minute.
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
    assert_eq!(root.child_count(), Some(4_000));
    for name in ["s1", "s10", "s3999"] {
        assert_eq!(shown(&sheet(&root, name)).1, name[1..]);
    }
    let parts = book::SharedWorkbook::open(&task, &source, Framing::Package, None).unwrap();
    assert_eq!(parts.sheets().len(), 4_000);
    task.cancel();
    assert!(
        book::SharedWorkbook::open(&task, &source, Framing::Package, None)
            .is_err_and(|error| error.is_cancelled())
    );
}

#[test]
fn far_cells_are_shown_or_told() {
    let book = |cells: &str| {
        let part = format!("<worksheet><sheetData>{cells}</sheetData></worksheet>");
        let types = "<Types><Override PartName='/xl/w.xml' ContentType='application/vnd.openxmlformats-\
            officedocument.spreadsheetml.sheet.main+xml'/><Override PartName='/xl/s.xml' ContentType='application/\
            vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml'/></Types>";
        let bytes = archive(&[
            ("[Content_Types].xml".into(), types.into()),
            ("xl/w.xml".into(), "<workbook><sheets><sheet name='s'/></sheets></workbook>".into()),
            ("xl/s.xml".into(), part),
        ]);
        let source = crate::bytes::source::Source::memory("far.xlsx", bytes);
        crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap().root
    };
    let cell = |place: &str| format!("<row><c r='{place}'><v>1</v></c></row>");
    let rows = |node: &Node| match &node.content {
        Some(Content::Table(table)) => (table.count(&Task::new()).unwrap(), table.schema().fields().len()),
        _ => (0, 0),
    };
    let rows_far = sheet(&book(&(cell("A1") + &cell("A1100002") + &cell("A1200000"))), "s");
    assert_eq!((rows(&rows_far), rows_far.remarks.len()), ((1_200_000, 1), 0));
    let column_far = sheet(&book(&(cell("A1") + &cell("BZZZZ1"))), "s");
    assert_eq!(rows(&column_far), (1, 1));
    assert!(column_far.remarks[0].contains("1 cell far off"), "{:?}", column_far.remarks);
}
