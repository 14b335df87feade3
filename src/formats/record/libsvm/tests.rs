use super::*;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Rows as Count, Table};
use crate::data::format::Options;
use crate::data::open::Document;
use proptest::prelude::*;
use std::path::Path;

fn fixture(name: &str) -> Document {
    let path = format!("{}/fixtures/libsvm/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn opened(name: &str, text: &str) -> Document {
    let source = Source::memory(name, text.as_bytes().to_vec());
    crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap()
}

fn table(document: &Document) -> Arc<dyn Table> {
    assert_eq!(document.format.id, "libsvm");
    crate::data::open::table_of(document).unwrap()
}

/// All cells as texts, by row; `-` for null.
fn rows(table: &dyn Table) -> Vec<Vec<String>> {
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), 0..u64::MAX, &all).unwrap();
    let cell =
        |column: &ArrayRef, row| crate::data::cell::shown(column, row).unwrap_or_else(|| "-".to_owned());
    (0..batch.num_rows())
        .map(|row| batch.columns().iter().map(|column| cell(column, row)).collect())
        .collect()
}

#[test]
fn rows_are_those_of_scikit_learn() {
    let table = table(&fixture("rows.libsvm"));
    let names: Vec<String> = table.described().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        (names, table.rows()),
        (vec!["label".to_owned(), "indices".to_owned(), "values".to_owned()], Count::Exact(6))
    );
    let rows = rows(&*table);
    assert_eq!(rows[0], ["-1.0", "[1,3]", "[0.5,-2.0]"]);
    assert_eq!(rows[2], ["-1.0", "[]", "[]"]);
}

#[test]
fn queries_labels_and_comments_are_columns() {
    let ranking = table(&fixture("ranking.txt"));
    let names: Vec<String> = ranking.described().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["label", "qid", "indices", "values", "comment"]);
    assert_eq!(rows(&*ranking)[3], ["0.0", "2", "[1,2]", "[0.25,4.0]", "document d3"]);
    let several = table(&fixture("several.svm"));
    let labels: Vec<String> = rows(&*several).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(labels, ["[1.0,3.0]", "[2.0]", "[]"]);
}

#[test]
fn other_texts_are_not_taken_for_rows() {
    for text in
        ["1 2 3\n4 5 6\n", "12 10:30\n13 11:45\n", "1,2,3\n4,5,6\n", "1 1:2 x\n2 1:2 y\n", "a: 1\nb: 2\n"]
    {
        assert_ne!(opened("x.txt", text).format.id, "libsvm", "{text}");
    }
    assert_eq!(opened("a9a", "-1 3:1 11:1\n+1 5:1 7:1\n").format.id, "libsvm");
}

#[test]
fn wrong_lines_are_said_and_the_others_are_there() {
    let document = opened("x.svm", "1 1:1 2:2\n2 1:1 b:2\nx 1:1\n3 2:1 1:5\n4 1:1 2:2\n");
    let found = rows(&*table(&document));
    let labels: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(labels, ["1.0", "2.0", "-", "3.0", "4.0"]);
    assert_eq!(found[3][1], "[2,1]");
    let findings = document.root.findings.as_ref().unwrap();
    assert_eq!((findings.problem().unwrap().offset(), findings.remarks().len()), (Some(10), 2));
}

#[test]
fn large_texts_are_indexed_in_pieces() {
    let row = |n: u64| {
        format!(
            "{} {}:1 {}:0.5{}\n",
            n % 7,
            n % 100 + 1,
            n + 200,
            if n.is_multiple_of(50) { "\n# none\n" } else { "" }
        )
    };
    let text: String = (0..1_600_000).map(row).collect();
    let document = opened("x.svm", &text);
    let table = table(&document);
    assert_eq!(table.count(&Task::new()).unwrap(), 1_600_000);
    for n in [0_u64, 65_537, 1_000_000, 1_599_999] {
        let batch = table.read(&Task::new(), n..n + 1, &[1]).unwrap();
        let shown = crate::data::cell::shown(batch.column(0), 0).unwrap();
        assert_eq!(shown, format!("[{},{}]", n % 100 + 1, n + 200));
    }
}

proptest! {
    #[test]
    fn all_that_is_written_is_told(all in prop::collection::vec((any::<i16>(), prop::collection::btree_map(0u64..1 << 40, any::<f64>(), 0..6)), 1..40)) {
        let mut text = String::new();
        for (label, features) in &all {
            text.push_str(&label.to_string());
            for (index, value) in features {
                text.push_str(&format!(" {index}:{value:e}"));
            }
            text.push('\n');
        }
        let document = opened("x.svm", &text);
        let rows = rows(&*table(&document));
        prop_assert_eq!(rows.len(), all.len());
        for (row, (label, features)) in rows.iter().zip(&all) {
            prop_assert_eq!(&row[0], &format!("{label}.0"));
            let indices: Vec<String> = features.keys().map(u64::to_string).collect();
            prop_assert_eq!(&row[1], &format!("[{}]", indices.join(",")));
        }
    }

    #[test]
    fn no_text_makes_it_panic(lines in prop::collection::vec("[-+0-9:.,e# qid]{0,30}", 0..12)) {
        let source = Source::memory("x.svm", format!("1 1:1 2:2\n{}", lines.join("\n")).into_bytes());
        if let Ok(document) = crate::formats::open_source(&Task::new(), &source, &Options::default())
            && let Ok(table) = crate::data::open::table_of(&document)
        {
            prop_assert!(table.count(&Task::new()).unwrap() <= 1 + lines.len() as u64);
            let _ = rows(&*table);
        }
    }
}
