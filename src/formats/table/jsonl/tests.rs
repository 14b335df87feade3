use super::*;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::format::Options;
use proptest::prelude::*;

fn open_text(name: &str, text: impl Into<bytes::Bytes>) -> (Node, Arc<dyn Table>) {
    let source = Source::memory(name, text);
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap();
    assert_eq!(document.format.id, "jsonl");
    let node = (*document.root).clone();
    let Some(Content::Table(table)) = node.content.clone() else { panic!("no table") };
    (node, table)
}

fn columns(table: &dyn Table) -> String {
    let columns: Vec<String> =
        table.described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    columns.join(", ")
}

fn cells(table: &dyn Table, rows: std::ops::Range<u64>) -> String {
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &all).unwrap();
    let row = |row: usize| {
        let cells = batch.columns().iter().map(|c| cell::text(c.as_ref(), row).unwrap_or("∅".into()));
        cells.collect::<Vec<_>>().join("¦")
    };
    (0..batch.num_rows()).map(row).collect::<Vec<_>>().join("⏎")
}

#[test]
fn rows_with_their_fields_where_they_belong() {
    let (node, table) = open_text(
        "x.jsonl",
        "{\"a\":1,\"b\":\"x\"}\r\n\n   \t\n{\"b\":null,\"c\":[1, {\"z\":2}]}\n{\"a\":9223372036854775807}",
    );
    assert_eq!(columns(table.as_ref()), "a: int64, b: string, c: list<item: string>");
    assert_eq!(cells(table.as_ref(), 0..9), "1¦x¦∅⏎∅¦∅¦[1, {\"z\":2}]⏎9223372036854775807¦∅¦∅");
    assert_eq!((table.rows(), node.remarks.len()), (crate::data::content::Rows::Exact(3), 0));
    assert_eq!(cells(table.as_ref(), 2..3), "9223372036854775807¦∅¦∅");
}

fn fixture(name: &str) -> (String, String, Node) {
    let path = format!("{}/fixtures/jsonl/{name}", env!("CARGO_MANIFEST_DIR"));
    let document = crate::formats::open(&Task::new(), path.as_ref(), &Options::default()).unwrap();
    assert_eq!(document.format.id, "jsonl", "{name}");
    let node = (*document.root).clone();
    let Some(Content::Table(table)) = node.content.clone() else { panic!("{name}: no table") };
    (columns(table.as_ref()), cells(table.as_ref(), 0..u64::MAX), node)
}

#[test]
fn the_same_rows_in_every_dress() {
    let (columns, cells, node) = fixture("objects.jsonl");
    let expected = "id: int64, name: string, price: double, wild: bool, tags: list<item: string>, \
        place: struct<city: string, lat: double>";
    assert_eq!((columns.as_str(), node.remarks.len()), (expected, 0));
    assert!(cells.contains("4¦two\nlines 東京¦1e+300¦∅¦∅¦{\"city\": \"Rom\", \"lat\": 41}"), "{cells}");
    for name in [
        "objects_crlf.jsonl",
        "objects_bom.jsonl",
        "no_final_newline.jsonl",
        "objects_named.json",
        "carriage_returns.jsonl",
    ] {
        let (c, r, _) = fixture(name);
        assert_eq!((c, r), (columns.clone(), cells.clone()), "{name}");
    }
    for name in ["objects_utf16.jsonl", "objects_utf32.jsonl"] {
        assert_eq!(fixture(name).1, fixture("objects.ndjson").1, "{name}");
    }
}

#[test]
fn every_fixture_opens() {
    assert_eq!(fixture("blank_lines.jsonl").1, "1⏎2⏎3");
    assert_eq!(fixture("ragged.jsonl").1, "1¦∅¦∅⏎∅¦x¦∅⏎2¦∅¦[1]⏎∅¦∅¦∅");
    assert_eq!(fixture("mixed_types.jsonl").0, "v: string");
    assert_eq!(fixture("scalars.jsonl").0, "value: double");
    assert_eq!(fixture("names.jsonl").1, "1¦2¦3¦4¦5");
    assert_eq!(fixture("same_name_twice.jsonl").1, "2");
    assert_eq!(
        fixture("large_integers.jsonl").1,
        "9007199254740993⏎9223372036854775807⏎18446744073709551615"
    );
    assert_eq!(fixture("malformed/not_utf8.jsonl").1, "x¦∅⏎∅¦{\"a\":\"\u{fffd}\u{fffd}\"}⏎z¦∅");
    assert_eq!(fixture("same_name_twice.jsonl").2.remarks.len(), 1);
    for name in ["strings.jsonl", "compact.jsonl", "arrays.jsonl", "malformed/lone_surrogate.jsonl"] {
        assert!(fixture(name).2.remarks.is_empty(), "{name}");
    }
    for name in ["broken_line", "cut", "deep", "words"] {
        assert!(!fixture(&format!("malformed/{name}.jsonl")).2.remarks.is_empty(), "{name}");
    }
}

#[test]
fn a_bad_line_is_shown_and_hides_nothing() {
    let (node, table) = open_text("x.jsonl", "{\"a\":1}\n{\"a\":\n{\"a\":3}\n[4]\n");
    assert_eq!(columns(table.as_ref()), "a: int64, …: string");
    assert_eq!(cells(table.as_ref(), 0..9), "1¦∅⏎∅¦{\"a\":⏎3¦∅⏎∅¦[4]");
    let expected = "1 line cannot be read as JSON; the first is line 2: the text ends where a value is expected at character 6";
    assert_eq!(node.remarks, [expected]);
}

#[test]
fn lines_of_other_values_are_one_column() {
    let (_, table) = open_text("x.ndjson", "[1,2]\n[3]\n");
    assert_eq!(columns(table.as_ref()), "value: list<item: int64>");
    assert_eq!(cells(table.as_ref(), 0..9), "[1,2]⏎[3]");
    let (_, table) = open_text("x.jsonl", "not json\n");
    assert_eq!(columns(table.as_ref()), "…: string");
}

#[test]
fn content_is_known_without_the_extension() {
    let id = |name: &str, text: &'static str| {
        let source = Source::memory(name, text.as_bytes());
        crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap().format.id
    };
    assert_eq!(id("x.json", "{\"a\":1}\n{\"a\":2}\n"), "jsonl");
    assert_eq!(id("x.json", "{\"a\":1}\n"), "json");
    assert_eq!(id("x.json", "{\n \"a\":1}\n"), "json");
}

#[test]
fn a_long_file_has_its_tail_and_its_late_fields() {
    let mut text = String::new();
    for i in 0..40_000 {
        let late = if i >= 39_990 { ",\"late\":[true]" } else { "" };
        text.push_str(&format!("{{\"id\":{i},\"name\":\"goose {i}\"{late}}}\n"));
    }
    let (_, table) = open_text("x.jsonl", text);
    assert_eq!(columns(table.as_ref()), "id: int64, name: string, late: list<item: bool>, …: string");
    assert!(
        matches!(table.rows(), crate::data::content::Rows::About { rows: 38_000..42_000, .. }),
        "{:?}",
        table.rows()
    );
    let (first, tail) = table.tail(&Task::new(), 2, &[0, 2]).unwrap();
    assert_eq!((first, tail.num_rows()), (None, 2));
    assert_eq!(cell::text(tail.column(0).as_ref(), 1).unwrap(), "39999");
    assert_eq!(cell::text(tail.column(1).as_ref(), 0).unwrap(), "[true]");
    assert_eq!(cells(table.as_ref(), 20_000..20_001), "20000¦goose 20000¦∅¦∅");
    assert_eq!(table.count(&Task::new()).unwrap(), 40_000);
    assert_eq!(cells(table.as_ref(), 39_999..40_005), "39999¦goose 39999¦[true]¦∅");
}

#[test]
fn types_widen_by_places_all_over_the_file_and_bad_lines_are_counted_as_they_are_met() {
    let mut lines: Vec<String> = (0..60_000).map(|i| format!("{{\"id\":{i},\"n\":{i}}}")).collect();
    // Somewhere in the middle, as a quarter of the file, and where no sample looks.
    lines.iter_mut().skip(29_000).take(20_000).for_each(|line| *line = line.replace("\"n\":", "\"n\":0.5"));
    lines[30_000] = "{\"id\":".to_owned();
    lines[25_001] = "nonsense".to_owned();
    lines[30_002] = "{\"id\":1,\"id\":2}".to_owned();
    let place: usize = lines[..25_001].iter().map(|line| line.len() + 1).sum();
    let (node, table) = open_text("x.jsonl", lines.join("\n"));
    assert_eq!(columns(table.as_ref()), "id: int64, n: double, …: string");
    assert!(node.remarks[0].starts_with("the columns and their types are those of a sample of "));
    assert_eq!(node.remarks.len(), 1);
    table.count(&Task::new()).unwrap();
    let all = |columns: &[usize]| table.read(&Task::new(), 0..u64::MAX, columns).unwrap().num_rows();
    // However often.
    assert_eq!((all(&[0]), all(&[0, 1])), (60_000, 60_000));
    let said = node.remarks_now();
    let bad = format!(
        "2 lines met further on cannot be read as JSON and stand as text; the first: a value is expected at character 1 (at byte {place})"
    );
    assert_eq!(said[1], bad);
    assert!(said[2].starts_with("1 line met further on with a field that stands twice"), "{said:?}");
    assert!(node.problem_now().is_none());
}

#[test]
fn a_field_that_stands_twice_is_remarked_upon() {
    let (node, table) = open_text("x.jsonl", "{\"a\":1}\n{\"a\":2,\"b\":0,\"a\":3}\n");
    assert_eq!(cells(table.as_ref(), 0..9), "1¦∅⏎3¦0");
    let expected = "1 line with a field that stands twice, of which the last counts; the first: \"a\"";
    assert_eq!(node.remarks_now(), [expected]);
}

proptest! {
    #[test]
    fn lines_are_found_whatever_stands_between(
        parts in prop::collection::vec(prop::sample::select(vec!["{\"a\":1}", "{\"a\":2}", "x", " ", "\n", "\n", "\r\n"]), 1..60),
    ) {
        let text = format!("{{\"a\":0}}\n{}", parts.concat());
        let (_, table) = open_text("x.jsonl", text.clone());
        let lines: Vec<&str> = text.split('\n').filter(|l| !is_blank(l.as_bytes())).collect();
        prop_assert_eq!(table.rows().exact(), Some(lines.len() as u64));
        for (i, text) in lines.iter().enumerate() {
            let expected = match text.trim_end_matches('\r').trim() {
                "{\"a\":1}" => Some("1"),
                "{\"a\":2}" => Some("2"),
                _ => None,
            };
            let row = cells(table.as_ref(), i as u64..i as u64 + 1);
            if let Some(expected) = expected {
                prop_assert_eq!(row.split('¦').next(), Some(expected));
            }
        }
    }
}

#[test]
fn a_carriage_return_ends_lines_where_values_do() {
    let (columns, cells, node) = fixture("carriage_returns_and_one_newline.ndjson");
    assert_eq!((columns.as_str(), cells.as_str(), node.remarks.len()), ("a: int64", "1⏎2⏎3⏎4", 0));
    let (columns, cells, node) = fixture("carriage_returns_within.jsonl");
    assert_eq!(columns, "a: int64, b: list<item: string>");
    assert_eq!((cells.as_str(), node.remarks.len()), ("1¦[\r]⏎2¦∅", 0));
    // By what stands in it, without a name.
    let (_, table) = open_text("unnamed", "{\"a\":1}\r{\"a\":2}\r");
    assert_eq!(self::cells(table.as_ref(), 0..9), "1⏎2");
    let long: String = (0..100_000).map(|i| format!("{{\"a\":{i}}}\r")).collect();
    let (_, table) = open_text("x.ndjson", long);
    assert_eq!(table.count(&Task::new()).unwrap(), 100_000);
    let tail = table.tail(&Task::new(), 2, &[0]).unwrap().1;
    assert_eq!(cell::text(tail.column(0), 1), Some("99999".into()));
}
