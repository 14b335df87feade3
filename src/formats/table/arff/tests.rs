use super::*;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Rows as Count, Table};
use crate::data::format::Options;
use crate::data::open::Document;
use proptest::prelude::*;
use std::path::Path;

fn fixture(name: &str) -> Document {
    let path = format!("{}/fixtures/arff/{name}", env!("CARGO_MANIFEST_DIR"));
    crate::open(&Task::new(), Path::new(&path), &Options::default()).unwrap()
}

fn opened(text: &str) -> Document {
    let source = Source::memory("x.arff", text.as_bytes().to_vec());
    crate::formats::open_source(&Task::new(), &source, &Options::default()).unwrap()
}

fn table(document: &Document) -> Arc<dyn Table> {
    assert_eq!(document.format.id, "arff");
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
fn every_type_is_read() {
    let document = fixture("types.arff");
    let table = table(&document);
    assert_eq!(table.described()[0], ("number".to_owned(), "double".to_owned()));
    let types: Vec<String> = table.described().into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(types[1..5], ["int64", "string", "string", "timestamp[ms]"]);
    let rows = rows(&*table);
    assert_eq!(rows[0], ["1.5", "3", "it's", "big cat", "2001-04-03T12:12:12", "1.0"]);
    assert_eq!(rows[1][..4], ["-", "-", "-", "-"]);
    assert_eq!(rows[2][2], "a, \"b\"\n");
    assert_eq!(rows[2][5], "0.5");
    assert_eq!(document.root.attributes[0].1.to_string(), "types of all kinds");
}

#[test]
fn what_sparse_rows_leave_out_is_zero() {
    let rows = rows(&*table(&fixture("sparse.arff")));
    assert_eq!(rows, [["0.0", "7", "no", "-"], ["2.5", "0", "yes", "some text"], ["0.0", "0", "no", "-"],]);
}

#[test]
fn comments_and_blank_lines_are_no_rows() {
    let table = table(&opened("% all\n@RELATION r\n@attribute a numeric\n@Data\n1\n\n% between\n2 \r\n\n3"));
    assert_eq!(table.rows(), Count::Exact(3));
    assert_eq!(rows(&*table), [["1.0"], ["2.0"], ["3.0"]]);
}

#[test]
fn wrong_rows_are_said_and_the_others_are_there() {
    let document =
        opened("@relation r\n@attribute a numeric\n@attribute b {x, y}\n@data\n1,x\n2\nz,y\n3,'x\n4,w\n5,y");
    let found = rows(&*table(&document));
    assert_eq!(found, [["1.0", "x"], ["2.0", "-"], ["-", "y"], ["-", "-"], ["4.0", "w"], ["5.0", "y"]]);
    let findings = document.root.findings.as_ref().unwrap();
    assert_eq!(
        findings.problem().unwrap().message(),
        "malformed ARFF: row 1: it has 1 values for 2 attributes (at byte 63)"
    );
    assert_eq!(findings.remarks().len(), 3);
}

#[test]
fn headers_that_cannot_be_read_say_where() {
    for text in [
        "@relation r\n@attribute a numeric\n",
        "@relation r\n@data\n1",
        "@relation r\n@attribute a nothing\n@data\n1",
        "@relation r\n@attribute a {x\n@data\nx",
        "@relation r\n@attribute 'a numeric\n@data\n1",
        "@relation r\nnonsense\n@data\n1",
    ] {
        let source = Source::memory("x.arff", text.as_bytes().to_vec());
        let error = crate::formats::open_source(&Task::new(), &source, &Options::default()).err().unwrap();
        assert!(error.offset().is_some(), "{text}: {error}");
    }
}

#[test]
fn relational_attributes_are_one_column() {
    let text = "@relation r\n@attribute id {a,b}\n@attribute bag relational\n  @attribute x numeric\n  @attribute y numeric\n@end bag\n@attribute class {0,1}\n@data\na,'1,2\\n3,4',0\n";
    let table = table(&opened(text));
    assert_eq!(rows(&*table), [["a", "1,2\n3,4", "0"]]);
}

proptest! {
    #[test]
    fn numbers_and_texts_come_back(all in prop::collection::vec((any::<f64>(), "[a-z '\"\\\\,%{}?]{0,8}"), 0..40)) {
        let mut text = "@relation r\n@attribute a real\n@attribute b string\n@data\n".to_owned();
        for (number, word) in &all {
            let escaped = word.replace('\\', "\\\\").replace('\'', "\\'");
            text.push_str(&format!("{number},'{escaped}'\n"));
        }
        let rows = rows(&*table(&opened(&text)));
        prop_assert_eq!(rows.len(), all.len());
        for (row, (number, word)) in rows.iter().zip(&all) {
            prop_assert_eq!(&row[1], word);
            prop_assert!(row[0].parse::<f64>().unwrap() == *number || number.is_nan());
        }
    }

    #[test]
    fn no_text_makes_it_panic(lines in prop::collection::vec("[-@a-z0-9 ,.{}'\"\\\\?%:]{0,40}", 0..12)) {
        let text = format!("@relation r\n@attribute a numeric\n@attribute b {{x,'y z'}}\n@data\n{}", lines.join("\n"));
        let document = opened(&text);
        prop_assert!(rows(&*table(&document)).len() <= lines.len());
    }
}
