use super::*;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::format::Options;
use arrow::array::RecordBatch;
use proptest::prelude::*;

fn rows_of(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let cells = |row| batch.columns().iter().map(|c| cell::text(c.as_ref(), row)).collect();
    (0..batch.num_rows()).map(cells).collect()
}

fn open_with(name: &str, bytes: &[u8], set: &[(&str, &str)]) -> (Node, Arc<dyn Table>) {
    let source = Source::memory(name, bytes.to_vec());
    let mut options = Options::default();
    options.set("format", "csv");
    set.iter().for_each(|(name, value)| options.set(name, *value));
    let document = crate::formats::open_source(&Task::new(), &source, &options).unwrap();
    let node = (*document.root).clone();
    let Some(Content::Table(table)) = node.content.clone() else { panic!("no table") };
    (node, table)
}

/// Names and types, and the cells of all rows (`∅` for null), as one text.
fn fixture(name: &str) -> (String, String, Node) {
    let path = format!("{}/fixtures/csv/{name}", env!("CARGO_MANIFEST_DIR"));
    let document = crate::formats::open(&Task::new(), path.as_ref(), &Options::default()).unwrap();
    assert_eq!(document.format.id, "csv", "{name}");
    let node = (*document.root).clone();
    let Some(Content::Table(table)) = node.content.clone() else { panic!("{name}: no table") };
    let columns: Vec<String> =
        table.described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    let all: Vec<usize> = (0..columns.len()).collect();
    let batch = table.read(&Task::new(), 0..u64::MAX, &all).unwrap();
    assert_eq!(table.count(&Task::new()).unwrap(), batch.num_rows() as u64, "{name}");
    let row = |row: &Vec<Option<String>>| {
        row.iter().map(|c| c.clone().unwrap_or("∅".into())).collect::<Vec<_>>().join("¦")
    };
    (columns.join(", "), rows_of(&batch).iter().map(row).collect::<Vec<_>>().join("⏎"), node)
}

#[test]
fn the_same_table_in_every_dress() {
    let (columns, rows, _) = fixture("comma.csv");
    assert_eq!(columns, "id: int64, name: string, price: double, day: date32[day], note: string");
    assert!(rows.contains("2¦duck, small¦3.25¦2024-02-01¦says \"quack\"⏎3¦swan¦-0.75¦∅¦two\nlines⏎4¦∅¦1e3"));
    for name in [
        "semicolon.csv",
        "tab.tsv",
        "pipe.csv",
        "crlf.csv",
        "utf8_bom.csv",
        "utf16le_bom.csv",
        "utf16be_bom.csv",
        "utf32le_bom.csv",
        "utf32be_bom.csv",
        "utf32le.csv",
        "utf32be.csv",
    ] {
        let (other_columns, other_rows, _) = fixture(name);
        assert_eq!(other_columns, columns, "{name}");
        assert_eq!(other_rows, rows, "{name}");
    }
}

#[test]
fn line_ends_and_headers() {
    assert_eq!(fixture("carriage_returns.csv").1, "1¦x⏎2¦y⏎3¦z");
    assert_eq!(fixture("mixed_endings.csv").1, "1¦x⏎2¦y⏎3¦z");
    let (columns, rows, node) = fixture("carriage_returns_and_one_newline.csv");
    assert_eq!((columns.as_str(), rows.as_str()), ("a: int64, b: string", "1¦2⏎3¦4\r\n5⏎6¦7⏎8¦9"));
    assert!(node.reader.contains(&("line ends".to_owned(), "CR, LF".into())));
    assert_eq!(fixture("no_final_newline.csv").1, "1¦x⏎2¦y");
    assert_eq!(fixture("blank_lines.csv").1, "1¦x⏎2¦y⏎   ¦∅⏎3¦z");
    assert_eq!(fixture("header_only.csv").1, "");
    assert_eq!(fixture("header_empty_and_twice.csv").0, "a: int64, : int64, a: int64, : int64, b: int64");
    assert_eq!(fixture("no_header_text.csv").0, "column0: string, column1: int64, column2: date32[day]");
    assert_eq!(fixture("one_column_empty_cells.csv").1, "1⏎⏎3");
    assert_eq!(fixture("comments.csv").2.remarks, ["2 comment lines before the table skipped"]);
}

#[test]
fn number_signs_of_headers_and_comments() {
    let (columns, rows, node) = fixture("number_sign_in_header.csv");
    assert_eq!(columns, "#: int64, Name: string, Type: string");
    assert_eq!((rows.as_str(), node.remarks.len()), ("1¦Bulbasaur¦Grass⏎2¦Ivysaur¦Grass", 0));
    let (columns, _, node) = fixture("comments_and_header.csv");
    assert_eq!(columns, "#chrom: string, start: int64, end: int64");
    assert_eq!(node.remarks, ["2 comment lines before the table skipped"]);
}

#[test]
fn delimiters_and_quotes_in_the_wild() {
    let of = |name: &str| {
        let (columns, rows, node) = fixture(name);
        (columns, rows.split('⏎').next().unwrap_or_default().to_owned(), node.remarks.len())
    };
    let expected = |columns: &str, first: &str| (columns.to_owned(), first.to_owned(), 0);
    assert_eq!(
        of("decimal_commas_everywhere.csv"),
        expected("Preis: string, Währung: string", "0,50¦€ 0,25")
    );
    assert_eq!(of("number_sign.csv").1, "Sevilla¦Écija¦CALLE¦MAYOR, 6¦41400¦954831228");
    let columns = "day: string, qty: int64, what it is: string, url: string";
    let first = "28/01/2018¦2¦Boots, for long ways¦https://www.example.com/1";
    assert_eq!(of("spaces_and_quotes.csv"), expected(columns, first));
    assert_eq!(
        of("spaces_before_quotes.csv"),
        expected("name: string, note: string, n: int64", "goose¦flies, swims\nand walks¦1")
    );
    assert_eq!(of("apostrophes.csv").1, "Hatch¦£ 2,00¦£ 100000,30");
    assert_eq!(of("space_after_comma.csv"), expected("a: int64,  b: int64,  c: string", "1¦ 2¦x, y"));
}

#[test]
fn ragged_rows_are_kept_and_counted() {
    let (columns, rows, node) = fixture("ragged.csv");
    assert_eq!(columns, "a: int64, b: int64, c: int64, column3: int64, column4: int64");
    assert_eq!(rows, "1¦2¦3¦∅¦∅⏎4¦5¦∅¦∅¦∅⏎6¦∅¦∅¦∅¦∅⏎7¦8¦9¦10¦∅⏎11¦12¦13¦14¦15⏎16¦17¦18¦∅¦∅");
    assert!(node.remarks[0].starts_with("ragged: 4 rows with another number of fields than 3 fields"));
}

#[test]
fn encodings_are_named_and_can_be_set() {
    let encoding =
        |node: &Node| node.reader.iter().find(|(k, _)| k == "encoding").map(|(_, v)| v.to_string()).unwrap();
    assert_eq!(encoding(&fixture("windows_1252.csv").2), "windows-1252");
    assert_eq!(encoding(&fixture("shift_jis.csv").2), "shift_jis");
    assert_eq!(encoding(&fixture("utf16le_bom.csv").2), "utf-16le, byte order mark");
    let (_, rows, _) = fixture("shift_jis.csv");
    assert!(rows.starts_with("山田太郎¦東京都"), "{rows}");
    let (node, table) = open_with("x.csv", b"a;b\n\xe9;1,5\n", &[("encoding", "latin1"), ("delimiter", ",")]);
    assert_eq!(encoding(&node), "windows-1252");
    assert_eq!(
        rows_of(&table.read(&Task::new(), 0..9, &[0, 1]).unwrap()),
        [[Some("é;1".into()), Some("5".into())]]
    );
}

#[test]
fn every_fixture_opens() {
    let folder = format!("{}/fixtures/csv", env!("CARGO_MANIFEST_DIR"));
    for part in ["", "malformed/"] {
        for entry in std::fs::read_dir(format!("{folder}/{part}")).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with("sv") {
                fixture(&format!("{part}{name}"));
            }
        }
    }
}

fn written(rows: &[Vec<String>]) -> Vec<u8> {
    let cell = |text: &String| {
        let plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r', '#']);
        if plain { text.clone() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
    };
    let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().map(line).collect::<String>().into_bytes()
}

fn tables() -> impl Strategy<Value = Vec<Vec<String>>> {
    let cell = prop::collection::vec(prop::sample::select(vec!["a", "é", ",", "\"", "\n", "1", " "]), 0..6);
    (1usize..4).prop_flat_map(move |width| {
        let cell = cell.clone().prop_map(|parts| parts.concat());
        prop::collection::vec(prop::collection::vec(cell, width), 1..40)
    })
}

/// A source whose bytes are made on demand, of a length that is not known before.
struct Drip(Vec<u8>);

impl crate::bytes::source::ReadAt for Drip {
    fn known_len(&self) -> Option<u64> {
        None
    }

    fn len(&self, _task: &Task) -> Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, _task: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

const SET: [(&str, &str); 3] = [("delimiter", ","), ("quote", "\""), ("header", "no")];

proptest! {
    #[test]
    fn what_was_written_is_read(rows in tables(), from in 0u64..40, most in 0u64..40) {
        let bytes = written(&rows);
        let mut options = Options::default();
        SET.iter().chain(&[("format", "csv"), ("encoding", "utf-8")]).for_each(|(k, v)| options.set(k, *v));
        let memory = Source::memory("x.csv", bytes.clone());
        let stream = memory.stream("x.csv", Arc::new(Drip(bytes))).unwrap();
        let columns: Vec<usize> = (0..rows[0].len()).collect();
        let expected: Vec<Vec<Option<String>>> = rows.iter().map(|r| r.iter().cloned().map(Some).collect()).collect();
        for source in [memory, stream] {
            let document = crate::formats::open_source(&Task::new(), &source, &options).unwrap();
            let Some(Content::Table(table)) = &document.root.content else { panic!() };
            let end = (from + most).min(expected.len() as u64);
            let part = &expected[from.min(end) as usize..end as usize];
            prop_assert_eq!(&rows_of(&table.read(&Task::new(), from..from + most, &columns).unwrap()), part);
        }
    }

    #[test]
    fn the_tail_is_the_true_tail(rows in tables(), cut in 0usize..200, count in 1u64..6) {
        // As the table reads it: from a place in the middle, certain or not at all.
        let bytes = written(&rows);
        let rules = crate::engines::delimited::Rules { ends: crate::engines::delimited::Ends::Any, quote: Some(b'"'), delimiter: b',', padded: false, runs: false, blanks: false, spaces: false };
        let cut = cut.min(bytes.len() - 1);
        let found = crate::engines::delimited::resync::first(&rules, &bytes[cut..], true, &|_| 0.0);
        if let Some(begin) = found.filter(|begin| begin.sure) {
            let mut begins = vec![];
            let (mut at, mut fields) = (0, vec![]);
            while let record::Step::Record(after) = record::next(&bytes, at, &rules, true, &mut fields) {
                begins.push(at);
                at = after;
            }
            begins.push(bytes.len());
            prop_assert!(begins.contains(&(cut + begin.at)), "{} in {:?}", cut + begin.at, begins);
        }
        let set = SET.map(|(k, v)| (k, v));
        let (_, table) = open_with("x.csv", &bytes, &set);
        let columns: Vec<usize> = (0..rows[0].len()).collect();
        let (_, tail) = table.tail(&Task::new(), count, &columns).unwrap();
        let first = rows.len().saturating_sub(count as usize);
        let expected: Vec<Vec<Option<String>>> = rows[first..].iter().map(|r| r.iter().cloned().map(Some).collect()).collect();
        prop_assert_eq!(rows_of(&tail), expected);
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_table_or_an_error(bytes in prop::collection::vec(any::<u8>(), 1..200), text in "[\\PC\n\r\t,;\"#]{1,200}") {
        for bytes in [bytes, text.into_bytes()] {
            let mut options = Options::default();
            options.set("format", "csv");
            let source = Source::memory("x.csv", bytes);
            let document = crate::formats::open_source(&Task::new(), &source, &options).unwrap();
            let Some(Content::Table(table)) = &document.root.content else { panic!() };
            let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
            let batch = table.read(&Task::new(), 0..u64::MAX, &columns).unwrap();
            prop_assert_eq!(table.rows().exact(), Some(batch.num_rows() as u64));
        }
    }
}

#[test]
fn a_long_table_has_its_tail_before_it_is_counted() {
    let mut rows = vec![vec!["id".to_owned(), "text".to_owned()]];
    for i in 0..40_000 {
        let text = if i % 50 == 0 { format!("a \"{i}\"\n,b\n") } else { format!("row {i}") };
        rows.push(vec![i.to_string(), text]);
    }
    let (_, table) = open_with("x.csv", &written(&rows), &[]);
    let crate::data::content::Rows::About { rows: about, .. } = table.rows() else {
        panic!("{:?}", table.rows())
    };
    assert!((38_000..42_000).contains(&about), "{about}");
    for count in [1, 3, 60, 1_000] {
        let (first, tail) = table.tail(&Task::new(), count, &[0, 1]).unwrap();
        assert_eq!(first, None);
        let got: Vec<Vec<String>> =
            rows_of(&tail).into_iter().map(|r| r.into_iter().flatten().collect()).collect();
        assert_eq!(got, rows[rows.len() - count as usize..]);
    }
    assert_eq!(table.count(&Task::new()).unwrap(), 40_000);
    let many = rows_of(&table.read(&Task::new(), 10_000..30_001, &[0]).unwrap());
    assert_eq!(many.len(), 20_001);
    assert!(many.iter().zip(10_000..).all(|(row, i)| row[0] == Some(i.to_string())));
    assert_eq!(table.read(&Task::new(), 0..u64::MAX, &[]).unwrap().num_rows(), 40_000);
    for row in [0u64, 49, 50, 20_000, 39_999] {
        let got = rows_of(&table.read(&Task::new(), row..row + 1, &[1]).unwrap());
        assert_eq!(got, [[Some(rows[row as usize + 1][1].clone())]]);
    }
}

/// A table and the text of it in some dialect.
#[derive(Clone, Debug)]
struct Dressed {
    rows: Vec<Vec<String>>,
    delimiter: char,
    text: String,
}

/// Columns of words, numbers, decimal commas, dates and quoted texts, with a header of words.
fn dressed() -> impl Strategy<Value = Dressed> {
    let delimiter = prop::sample::select(vec![',', ';', '\t', '|', '#', '^', '~']);
    let end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let kinds = prop::collection::vec(0usize..6, 2..7);
    let numbers = prop::collection::vec(prop::collection::vec(0u32..100_000, 7), 4..30);
    (delimiter, end, kinds, numbers, any::<bool>()).prop_map(|(delimiter, end, kinds, numbers, all)| {
        let words = ["goose", "grey duck", "Köln", "swan 2", "d'Or", "x-ray"];
        let cell = |kind: usize, n: u32| match kind {
            0 => n.to_string(),
            1 => format!("{}.{}", n / 100, n % 100),
            2 => format!("{},{}", n / 100, n % 100),
            3 => format!("{}-{:02}-{:02}", 1990 + n % 40, n % 12 + 1, n % 28 + 1),
            4 => words[n as usize % words.len()].to_owned(),
            _ => format!("{}; {}\n, \"{n}\"", words[n as usize % words.len()], words[n as usize % 5]),
        };
        let header =
            kinds.iter().enumerate().map(|(i, kind)| format!("{} {i}{kind}", words[i % 2])).collect();
        let body = numbers.iter().map(|row| kinds.iter().zip(row).map(|(kind, n)| cell(*kind, *n)).collect());
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(body).collect();
        let written = |text: &String| match all || text.contains([delimiter, '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.clone(),
        };
        let line = |row: &Vec<String>| {
            row.iter().map(written).collect::<Vec<_>>().join(&delimiter.to_string()) + end
        };
        let text = rows.iter().map(line).collect();
        Dressed { rows, delimiter, text }
    })
}

proptest! {
    #[test]
    fn a_table_is_found_again_in_any_dialect(dressed in dressed()) {
        let (node, table) = open_with("x.csv", dressed.text.as_bytes(), &[("header", "no"), ("encoding", "utf-8")]);
        let delimiter = dialect::byte_name(dressed.delimiter as u8);
        prop_assert!(node.reader.contains(&("delimiter".to_owned(), delimiter.into())), "{:?}", node.reader);
        let columns: Vec<usize> = (0..dressed.rows[0].len()).collect();
        let rows: Vec<Vec<Option<String>>> = dressed.rows.iter().map(|r| r.iter().cloned().map(Some).collect()).collect();
        prop_assert_eq!(rows_of(&table.read(&Task::new(), 0..u64::MAX, &columns).unwrap()), rows);
    }
}

#[test]
fn cells_mean_what_was_said_of_them() {
    let text = b"Report;May\nid;price;day;ok\n007;1.234,5;2024-01-31;NA\n8;-;?;yes\n009;0,25;2024-02-01;no\n";
    let set = [
        ("skip", "1"),
        ("decimal", "comma"),
        ("thousands", "point"),
        ("nulls", "NA, ?, -"),
        ("types", "id=text, ok=text"),
    ];
    let (node, table) = open_with("t.csv", text, &set);
    let columns: Vec<String> =
        table.described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    assert_eq!(columns.join(", "), "id: string, price: double, day: date32[day], ok: string");
    let batch = table.read(&Task::new(), 0..9, &[0, 1, 2, 3]).unwrap();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows_of(&batch),
        [
            vec![some("007"), some("1234.5"), some("2024-01-31"), None],
            vec![some("8"), None, None, some("yes")],
            vec![some("009"), some("0.25"), some("2024-02-01"), some("no")],
        ]
    );
    assert!(node.remarks.iter().any(|remark| remark == "1 line skipped"), "{:?}", node.remarks);
    assert!(node.reader.iter().any(|(name, value)| name == "nulls" && value.to_string() == "NA, ?, -"));
    // Of UTF-16 too, and a column that is not there is said.
    let wide: Vec<u8> = String::from_utf8_lossy(text).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (_, wide) = open_with("t.csv", &wide, &[set.as_slice(), &[("encoding", "utf-16le")]].concat());
    assert_eq!(rows_of(&wide.read(&Task::new(), 0..9, &[0, 1, 2, 3]).unwrap()), rows_of(&batch));
    let mut options = Options::default();
    [("format", "csv"), ("types", "gone=int")].iter().for_each(|(name, value)| options.set(name, *value));
    let source = Source::memory("t.csv", text.to_vec());
    let error = crate::formats::open_source(&Task::new(), &source, &options).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("there is no column \"gone\""), "{error}");
}

#[test]
fn steps_of_wide_tables_have_few_rows() {
    let names: Vec<String> = (0..100_000).map(|n| format!("c{n}")).collect();
    let text = format!("{}\n{}", names.join(","), "1\n".repeat(3_000));
    let (_, table) = open_with("t.csv", text.as_bytes(), &[("delimiter", ","), ("header", "yes")]);
    assert_eq!((table.schema().fields().len(), table.count(&Task::new()).unwrap()), (100_000, 3_000));
    assert_eq!(table.scan_step(0), (1 << 23) / 100_000);
}
