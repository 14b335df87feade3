use super::*;
use crate::bytes::source::Source;
use crate::data::content::{Content, Table};
use crate::data::format::Options;
use proptest::prelude::*;

fn open_as(name: &str, text: impl Into<bytes::Bytes>) -> crate::Document {
    let source = Source::memory(name, text);
    crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap()
}

fn root(text: &str) -> Arc<Node> {
    let document = open_as("x.json", text.to_owned());
    assert_eq!(document.format.id, "json");
    document.root
}

fn table(node: &Node) -> Option<Arc<dyn Table>> {
    match &node.content {
        Some(Content::Table(table)) => Some(table.clone()),
        _ => None,
    }
}

fn columns(node: &Node) -> String {
    let Some(table) = table(node) else { return "none".to_owned() };
    let columns: Vec<String> =
        table.described().iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    columns.join(", ")
}

fn cells(node: &Node) -> String {
    let table = table(node).unwrap();
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..99, &all).unwrap();
    let cell = |row: usize, c: &arrow::array::ArrayRef| {
        crate::data::cell::text(c.as_ref(), row).unwrap_or("∅".into())
    };
    let row = |row| batch.columns().iter().map(|c| cell(row, c)).collect::<Vec<_>>().join("¦");
    (0..batch.num_rows()).map(row).collect::<Vec<_>>().join("⏎")
}

/// The tree as lines: name, label, value.
fn tree(node: &Arc<Node>) -> Vec<String> {
    let mut lines = Vec::new();
    crate::data::open::walk(&Task::new(), node, "", 8, &mut |node, path, _| {
        let value = node.value.as_ref().map_or(String::new(), |value| format!(" {value}"));
        let problem = node.problem.as_ref().map_or(String::new(), |problem| format!(" ✗ {problem}"));
        lines.push(format!("{path} {}{value}{problem}", node.label));
        Ok(true)
    })
    .unwrap();
    lines
}

#[test]
fn a_tree_of_values() {
    let lines =
        tree(&root("{\"a\": [1, 2.50], \"a/b\": {\"c\": \"x\\ny\"}, \"n\": null, \"t\": true, \"\": 1e999}"));
    let expected = [
        " object",
        "/a array",
        "/a/0 number 1",
        "/a/1 number 2.50",
        "/a/b object",
        "/a/b/c string x\ny",
        "/n null null",
        "/t bool true",
        "/ number 1e999",
    ];
    assert_eq!(lines, expected);
    assert_eq!(tree(&root("\"just text\"")), [" string just text"]);
    let found =
        |path: &str| root("{\"a/b\": [{\"c\": 7}], \"a\": {\"b\": 8}}").find(&Task::new(), path).unwrap();
    assert_eq!(found("/a/b/0/c").unwrap().value.as_deref(), Some("7"));
    assert!(found("/a/b/1").is_none() && found("/a/b/00").is_none());
}

#[test]
fn numbers_and_names_are_exact() {
    let lines = tree(&root("[[123456789012345678901234567890, -0, 1E400], {\"k\": 1, \"k\": 2}]"));
    assert_eq!(
        lines[2..5],
        ["/0/0 number 123456789012345678901234567890", "/0/1 number -0", "/0/2 number 1E400"]
    );
    assert_eq!(lines[6..], ["/1/k number 1", "/1/k number 2"]);
    assert!(root("{\"k\": 1, \"k\": 2}").remarks[0].contains("stands twice"));
}

#[test]
fn what_breaks_has_its_place_and_what_stands_before_is_shown() {
    let node = root("{\"a\": 1,\n \"b\": [1, 2 3], \"c\": 4}");
    let expected = "malformed JSON: ',' or ']' is expected, not '3', in line 2, column 13 (at byte 21)";
    assert_eq!(node.problem.as_ref().unwrap().to_string(), expected);
    let lines = tree(&node);
    assert_eq!(lines[1..5], ["/a number 1", "/b array", "/b/0 number 1", "/b/1 number 2"]);
    assert!(lines[5].starts_with("/b/✗ broken ✗ malformed JSON"), "{}", lines[5]);
    assert_eq!(lines[6], "/c number 4");
    assert!(
        root("[1,").problem.is_some() && root("nonsense").problem.is_some() && root(" ").problem.is_some()
    );
}

#[test]
fn what_is_often_added_is_remarked_upon() {
    let node = root("{\"a\": NaN, // why\n \"b\": [-Infinity,],}");
    assert!(node.problem.is_none());
    assert_eq!(
        node.remarks[0],
        "not standard JSON, but read: NaN or Infinity (2 times; first in line 1, column 7)"
    );
    assert_eq!(node.remarks.len(), 3);
}

#[test]
fn arrays_of_objects_are_tables() {
    let node = root("[{\"a\": 1, \"b\": \"x\"}, {\"b\": null, \"c\": [1, {}]}]");
    assert_eq!(columns(&node), "a: int64, b: string, c: list<item: string>");
    assert_eq!(cells(&node), "1¦x¦∅⏎∅¦∅¦[1, {}]");
    assert_eq!(columns(&root("[[1, 2.5], [3, \"x\"]]")), "column0: int64, column1: string");
    assert_eq!(columns(&root("[1, 2]")), "value: int64");
    assert_eq!(columns(&root("[{\"a\": 1}, 2]")), "none");
    assert_eq!(columns(&root("[]")), "none");
    let inner = root("{\"rows\": [{\"a\": 1}], \"few\": [1, 2]}");
    let below = |path: &str| inner.find(&Task::new(), path).unwrap().unwrap();
    assert_eq!((columns(&below("/rows")), columns(&below("/few"))), ("a: int64".into(), "none".into()));
    assert_eq!(below("/rows/0/a").value.as_deref(), Some("1"));
}

#[test]
fn usual_dresses_of_a_table() {
    let geo = "{\"type\": \"FeatureCollection\", \"features\": [{\"type\": \"Feature\", \"properties\": {\"name\": \"x\", \
        \"type\": 3}, \"geometry\": {\"type\": \"Point\", \"coordinates\": [1, 2]}}]}";
    assert!(
        columns(&root(geo))
            .starts_with("type: string, name: string, properties.type: int64, geometry: struct<")
    );
    assert!(cells(&root(geo)).starts_with("Feature¦x¦3¦{\"type\""));
    let split = root("{\"columns\": [\"a\", \"b\"], \"index\": [0, 1], \"data\": [[1, \"x\"], [2, null]]}");
    assert_eq!((columns(&split), cells(&split)), ("a: int64, b: string".into(), "1¦x⏎2¦∅".into()));
    let schema = root("{\"schema\": {\"fields\": []}, \"data\": [{\"a\": 1}]}");
    assert_eq!(columns(&schema), "a: int64");
    let vega = root("{\"data\": {\"values\": [{\"a\": 1}, {\"a\": 2}]}, \"mark\": \"bar\"}");
    assert_eq!(cells(&vega), "1⏎2");
    let vega = root(
        "{\"$schema\": \"https://vega.github.io/schema/vega/v5.json\", \"data\": [{\"name\": \"far\", \"url\": \"x.csv\"}, \
        {\"name\": \"t\", \"values\": [{\"a\": 7}]}], \"marks\": []}",
    );
    assert_eq!((cells(&vega), vega.remarks[0].contains("data/1/values")), ("7".into(), true));
    let altair = root(
        "{\"config\": {}, \"data\": {\"name\": \"data-2\"}, \"mark\": \"bar\", \
        \"datasets\": {\"data-1\": [{\"a\": 1}], \"data-2\": [{\"a\": 2}]}}",
    );
    assert_eq!((cells(&altair), altair.remarks[0].contains("datasets/data-2")), ("2".into(), true));
    assert_eq!(columns(&root("{\"data\": [{\"name\": \"t\", \"values\": [{\"a\": 7}]}]}")), "none");
    let coco = "{\"images\": [{\"id\": 7}], \"categories\": [], \"annotations\": \
        [{\"image_id\": 7, \"bbox\": [1, 2]}]}";
    assert_eq!(columns(&root(coco)), "image_id: int64, bbox: list<item: int64>");
    // Many images: what follows them is not looked for.
    let many = format!(
        "{{\"licenses\": [], \"images\": [{}{{}}]}}",
        "{\"id\": 1, \"file_name\": \"b\"},".repeat(90_000)
    );
    assert!(columns(&root(&many)).starts_with("id: int64, file_name: string"));
    let frame = root("{\"a\": {\"0\": 1, \"1\": 2}, \"b\": {\"0\": \"x\", \"1\": null}}");
    assert_eq!((columns(&frame), cells(&frame)), ("a: int64, b: string".into(), "1¦x⏎2¦∅".into()));
    assert_eq!(cells(&root("{\"a\": [1, 2], \"b\": [true, false]}")), "1¦true⏎2¦false");
    assert_eq!(columns(&root("{\"a\": [1, 2], \"b\": [true]}")), "none");
}

#[test]
fn a_notebook_is_its_cells() {
    let text = "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"code\", \"execution_count\": 2, \"source\": [\"a = 1\\n\", \
        \"b\"], \"outputs\": []}, {\"cell_type\": \"markdown\", \"source\": \"# T\"}]}";
    let node = root(text);
    let cell = node.find(&Task::new(), "/cells/0").unwrap().unwrap();
    let Some(Content::Text(source)) = &cell.content else { panic!() };
    assert_eq!(source.read(&Task::new(), 0..9).unwrap(), ["a = 1", "b"]);
    assert_eq!((cell.label, cell.attributes.len()), ("code", 1));
    assert!(node.find(&Task::new(), "/cells/0/outputs").unwrap().is_some());
    let Some(Content::Text(whole)) = &node.content else { panic!() };
    let lines = whole.read(&Task::new(), 0..9).unwrap();
    assert_eq!(lines[..6], ["# %%", "a = 1", "b", "", "# %% [markdown]", "# T"]);
}

#[test]
fn long_strings_are_cut_and_can_be_read() {
    let node = root(&format!("{{\"s\": \"{}\\u00e9\"}}", "line\\n".repeat(100_000)));
    let below = node.find(&Task::new(), "/s").unwrap().unwrap();
    assert!(below.value.as_ref().unwrap().ends_with("… (600 kB)"), "{:?}", below.value);
    let Some(Content::Text(text)) = &below.content else { panic!() };
    assert_eq!(text.count(&Task::new()).unwrap(), 100_001);
    assert_eq!(text.read(&Task::new(), 100_000..100_009).unwrap(), ["é"]);
}

#[test]
fn every_unicode_encoding() {
    let text = "{\"k\": \"naïve 😀\"}";
    let units = |bom: &[u8], big: bool| -> Vec<u8> {
        let all = text.encode_utf16().flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() });
        bom.iter().copied().chain(all).collect()
    };
    let wide = |big: bool| -> Vec<u8> {
        let unit = |c: char| if big { (c as u32).to_be_bytes() } else { (c as u32).to_le_bytes() };
        "\u{feff}".chars().chain(text.chars()).flat_map(unit).collect()
    };
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend(text.as_bytes());
    let ways = [
        marked,
        units(b"\xff\xfe", false),
        units(b"\xfe\xff", true),
        units(b"", false),
        wide(false),
        wide(true),
    ];
    for bytes in ways {
        let document = open_as("x.json", bytes.clone());
        assert_eq!(document.format.id, "json", "{bytes:?}");
        assert_eq!(tree(&document.root)[1], "/k string naïve 😀", "{bytes:?}");
        assert!(document.root.problem.is_none());
    }
}

#[test]
fn content_is_known_without_the_extension() {
    let id = |text: &str| open_as("x", text.to_owned()).format.id;
    assert_eq!(id("{\"a\": 1}\n"), "json");
    assert_eq!(id(" [1, 2, [3]]"), "json");
    assert_eq!(id("[section]\nkey = 1\n"), "text");
    assert_ne!(id("{ code }\n"), "json");
    let long = format!("[{}]", vec!["{\"a\": \"some text\"}"; 9_000].join(",\n"));
    assert_eq!(id(&long), "json");
}

#[test]
fn deep_nesting_takes_no_stack() {
    for text in ["[".repeat(1_000_000), "{\"a\":".repeat(200_000), "[".repeat(500_000) + &"]".repeat(500_000)]
    {
        let node = root(&text);
        assert!(tree(&node).len() > 8);
    }
}

proptest! {
    #[test]
    fn the_tree_is_what_serde_json_reads(json in value()) {
        let text = serde_json::to_string(&json).unwrap();
        let node = root(&text);
        prop_assert!(node.problem.is_none(), "{text}: {:?}", node.problem);
        prop_assert_eq!(read(&node), json);
    }
}

/// A node as serde_json's value again.
fn read(node: &Arc<Node>) -> serde_json::Value {
    let children = || node.child_page(&Task::new(), 0..9_999).unwrap();
    match node.label {
        "object" => children().iter().map(|child| (child.name.clone(), read(child))).collect(),
        "array" => children().iter().map(read).collect(),
        "string" => node.value.clone().unwrap().into(),
        _ => serde_json::from_str(node.value.as_ref().unwrap()).unwrap(),
    }
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[ -~é😀\\\\\"]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map("[a-z\"/]{0,3}", inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn the_first_children_are_there_before_the_end_of_a_large_one() {
    let text = format!("{{\"a\": 1, \"big\": [{}8], \"z\": [2]}}", "1234567,".repeat(300_000));
    let (root, task) = (root(&text), Task::new());
    let names =
        |nodes: &[Arc<Node>]| nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>().join(" ");
    let (soon, whole) = root.children_soon(&task, 0..200).unwrap();
    assert_eq!((names(&soon), whole), ("a big".to_owned(), false));
    assert_eq!((soon[1].span.clone(), soon[1].child_count()), (None, None));
    let all = root.child_page(&task, 0..200).unwrap();
    assert_eq!(names(&all), "a big z");
    let crate::data::node::Children::Lazy(list) = &all[1].children else { panic!("no list") };
    list.measure(&task).unwrap();
    assert_eq!(all[1].child_count(), Some(300_001), "by the index");
    assert!((290_000..300_001).contains(&all[1].children_at_least()));
    let last = all[1].child_page(&task, 300_000..300_200).unwrap();
    assert_eq!((last.len(), last[0].value.as_deref()), (1, Some("8")));
    assert!(root.children_soon(&task, 0..200).unwrap().1, "the index knows the end now");
}

#[test]
fn a_break_in_a_large_list_is_a_row() {
    let text = format!("{{\"big\": [{}8 9, 1, {}1]}}", "1234567,".repeat(30_000), "1234567,".repeat(30_000));
    let (root, task) = (root(&text), Task::new());
    let big = root.child_page(&task, 0..1).unwrap()[0].clone();
    let page = big.child_page(&task, 29_999..30_005).unwrap();
    let shown: Vec<_> = page.iter().map(|node| node.value.clone().unwrap_or(node.name.clone())).collect();
    assert_eq!(shown, ["1234567", "8", "✗"]);
    assert_eq!(big.child_count(), Some(30_002));
}

/// A document of more than what is checked at once.
fn large(broken: bool) -> String {
    let item = |n: usize| format!("{{\"n\": {n}, \"text\": \"some words that take room\"}}");
    let items: Vec<String> = (0..200_000).map(item).collect();
    let text = format!("[{}]", items.join(",\n"));
    if !broken {
        return text;
    }
    text.replacen("},\n{\"n\": 150000", "}\n {\"n\": 150000", 1)
}

#[test]
fn faults_of_large_documents_are_told_when_they_are_met() {
    let task = Task::new();
    let node = root(&large(true));
    let table = table(&node).unwrap();
    assert!(node.problem_now().is_none(), "nothing was read");
    assert_eq!(table.count(&task).unwrap(), 150_000);
    let words = "malformed JSON: ',' or ']' is expected, not '{', in line 150001, column 2 (at byte ";
    let problem = node.problem_now().unwrap().to_string();
    assert!(problem.starts_with(words), "{problem}");
    let last = table.read(&task, 149_999..150_009, &[0]).unwrap();
    assert_eq!(
        (last.num_rows(), crate::data::cell::text(last.column(0).as_ref(), 0).unwrap()),
        (1, "149999".into())
    );
    // Below, the break is a child.
    let crate::data::node::Children::Lazy(list) = &node.children else { panic!("no list") };
    list.measure(&task).unwrap();
    assert_eq!(node.child_count(), Some(150_001));
    assert_eq!(node.child_page(&task, 150_000..150_009).unwrap()[0].name, "✗");
    let tail = root(&format!("{}\n x", large(false)));
    self::table(&tail).unwrap().count(&task).unwrap();
    let problem = tail.problem_now().unwrap().to_string();
    assert!(problem.contains("'x' stands behind the end, in line 200001, column 2"), "{problem}");
}

#[test]
fn the_statistics_of_a_large_document_tells_what_is_unusual_at_its_root() {
    let mut text = large(false).replacen("\"n\": 120000", "\"n\": NaN", 1);
    text = text.replacen("\"n\": 130000", "\"n\": 1, \"n\": 2", 1);
    let node = root(&text);
    assert!(node.remarks_now().is_empty());
    node.statistics.clone().unwrap().statistics(&Task::new()).unwrap();
    let said = node.remarks_now();
    assert_eq!(said[0], "not standard JSON, but read: NaN or Infinity (line 120001, column 7)");
    assert!(said[1].contains("stands twice"), "{said:?}");
    let broken = root(&text.replacen("\"n\": 140000,", "\"n\": 140000;", 1));
    assert!(broken.statistics.clone().unwrap().statistics(&Task::new()).is_err());
    assert!(broken.problem_now().unwrap().to_string().contains("in line 140001, column 7"));
}

#[test]
fn bad_elements_of_a_large_array_are_counted_as_they_are_read() {
    let node = root(&large(false).replacen("\"n\": 150000,", "\"n\": 150000;", 1));
    let table = table(&node).unwrap();
    table.count(&Task::new()).unwrap();
    assert!(node.remarks_now().is_empty());
    table.read(&Task::new(), 149_000..151_000, &[0]).unwrap();
    let said = node.remarks_now();
    assert!(said[0].starts_with("1 element met further on cannot be read as JSON"), "{said:?}");
}
