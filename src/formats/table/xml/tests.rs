use super::*;
use crate::data::format::Options;
use crate::data::open::{open_as, table_of};

fn opened(bytes: impl Into<Vec<u8>>) -> crate::data::open::Document {
    open_as(&Task::new(), &Source::memory("a.xml", bytes.into()), &FORMAT, &Options::default()).unwrap()
}

const ROWS: &str = "<?xml version='1.0'?>\n<all when='now'>\n<row id='1'><name>goose</name><size unit='kg'>2.5</size></row>\n\
                    <!-- <row/> --><row id='2'><name>d&amp;<![CDATA[<uck>]]></name><tag>a</tag><tag>b</tag></row>\n</all>";

fn cells(table: &dyn crate::data::content::Table) -> Vec<String> {
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..9, &all).unwrap();
    let cell = |row: usize| {
        let text = |c: &arrow::array::ArrayRef| {
            crate::data::cell::text(c.as_ref(), row).unwrap_or_else(|| "-".to_owned())
        };
        batch.columns().iter().map(text).collect::<Vec<_>>().join(" ")
    };
    (0..batch.num_rows()).map(cell).collect()
}

#[test]
fn elements_are_nodes_and_rows() {
    let document = opened(ROWS);
    let at = |path: &str| document.root.find(&Task::new(), path).unwrap();
    assert_eq!(at("/row[2]/name").unwrap().value.as_deref(), Some("d&<uck>"));
    assert_eq!(at("/row[2]/tag[2]").unwrap().value.as_deref(), Some("b"));
    assert_eq!(at("/row[1]").unwrap().attributes[0].0, "id");
    assert!(at("/row[3]").is_none());
    assert_eq!(document.root.attributes[0], ("when".to_owned(), "now".into()));
    let table = table_of(&document).unwrap();
    assert_eq!(table.described()[0], ("id".to_owned(), "int64".to_owned()));
    let expected = ["1 goose {\"@unit\":\"kg\",\"#text\":\"2.5\"} -", "2 d&<uck> - [\"a\",\"b\"]"];
    assert_eq!(cells(table.as_ref()), expected);
}

#[test]
fn long_documents_are_the_same_element_by_element() {
    let source = Source::memory("a.xml", ROWS.as_bytes().to_vec());
    let node = Arc::new(records::open(&Task::new(), &source).unwrap());
    let Some(Content::Table(table)) = &node.content else { panic!("no table") };
    assert_eq!(table.count(&Task::new()).unwrap(), 2);
    assert_eq!(cells(table.as_ref()), cells(table_of(&opened(ROWS)).unwrap().as_ref()));
    let found = node.find(&Task::new(), "/row[2]/tag[1]").unwrap().unwrap();
    assert_eq!(found.value.as_deref(), Some("a"));
    let wide: Vec<u8> = format!("\u{feff}{}", ROWS.replace("goose", "gänse"))
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let node = records::open(&Task::new(), &Source::memory("a.xml", wide)).unwrap();
    let Some(Content::Table(table)) = &node.content else { panic!("no table") };
    assert!(cells(table.as_ref())[0].contains("gänse"));
    let cut = Source::memory("a.xml", ROWS.as_bytes()[..ROWS.len() - 40].to_vec());
    let node = records::open(&Task::new(), &cut).unwrap();
    assert!(node.problem_now().unwrap().message().contains("ends within"));
    assert_eq!(node.child_page(&Task::new(), 0..9).unwrap().len(), 1);
}

#[test]
fn what_is_wrong_is_said_and_the_text_is_shown() {
    let document = opened("<a>\n<b>1</b>\n<c></d>\n</a>");
    let problem = document.root.problem.as_ref().unwrap().message();
    assert!(problem.contains("line 3, column"), "{problem}");
    assert!(matches!(document.root.content, Some(Content::Text(_))));
    assert_eq!(document.root.find(&Task::new(), "/b").unwrap().unwrap().value.as_deref(), Some("1"));
    let bomb = "<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '&x;&x;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>&z;&f;</a>";
    let document = opened(bomb);
    assert_eq!(document.root.value.as_deref(), Some("&z;&f;"));
    assert_eq!(document.root.remarks.len(), 1);
}
