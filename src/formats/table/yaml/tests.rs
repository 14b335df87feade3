use super::*;
use crate::data::format::Options;
use crate::data::open::{open_as, table_of};

fn opened(text: impl Into<Vec<u8>>) -> crate::data::open::Document {
    open_as(&Task::new(), &Source::memory("a.yaml", text.into()), &FORMAT, &Options::default()).unwrap()
}

fn at(document: &crate::data::open::Document, path: &str) -> Option<(String, String)> {
    let node = document.root.find(&Task::new(), path).unwrap()?;
    Some((node.word().to_owned(), node.value.clone().unwrap_or_default()))
}

#[test]
fn values_are_found_by_their_names() {
    let document =
        opened("train: [a.txt, b.txt]\nnames:\n  0: goose\n  1: duck\nlr: 1.0e-3\nnew: !thing {x: on}\n");
    let found = |path: &str| at(&document, path).map(|(word, value)| format!("{word} {value}"));
    assert_eq!(found("/train/1").as_deref(), Some("str b.txt"));
    assert_eq!(found("/names/1").as_deref(), Some("str duck"));
    assert_eq!(found("/lr").as_deref(), Some("float 0.001"));
    assert_eq!(found("/new/x").as_deref(), Some("bool true"));
    assert_eq!(found("/new").as_deref(), Some("!thing "));
    assert_eq!((found("/none"), found("/train/2")), (None, None));
}

#[test]
fn mappings_one_after_the_other_are_rows() {
    let document = opened("- {id: 1, name: goose, size: 2.5}\n- {id: 2, size: 3, tags: [a, b]}\n");
    let table = table_of(&document).unwrap();
    let columns: Vec<String> =
        table.described().into_iter().map(|(name, kind)| format!("{name} {kind}")).collect();
    assert_eq!(columns, ["id int64", "name string", "size double", "tags string"]);
    let batch = table.read(&Task::new(), 0..2, &[2, 3]).unwrap();
    let text = |column: usize, row| crate::data::cell::text(batch.column(column).as_ref(), row);
    assert_eq!(
        (text(0, 1).as_deref(), text(1, 1).as_deref(), text(1, 0)),
        (Some("3.0"), Some("[\"a\",\"b\"]"), None)
    );
}

#[test]
fn what_is_wrong_is_said_and_the_text_is_shown() {
    let document = opened("a: 1\nb: [1, 2\nc: 3\n");
    let problem = document.root.problem.as_ref().unwrap().message();
    assert!(problem.contains("line ") && problem.contains("column "), "{problem}");
    assert!(matches!(document.root.content, Some(Content::Text(_))));
    assert_eq!(at(&document, "/a").unwrap().1, "1");
}

#[test]
fn bombs_are_not_followed_and_other_encodings_are_read() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let before = n - 1;
        text.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{before}"); 9].join(", ")));
    }
    let document = opened(text);
    assert!(document.root.remarks.iter().any(|text| text.contains("aliases")));
    assert_eq!(at(&document, "/a8/0").unwrap().1, "the value of line 8");
    assert_eq!(at(&document, "/a0/8").unwrap().1, "x");
    let wide: Vec<u8> = "\u{feff}a: é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(at(&opened(wide), "/a").unwrap().1, "é");
    assert_eq!(opened("a: 1\n---\nb: 2\n").root.child_count(), Some(2));
}
