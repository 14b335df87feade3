use super::*;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Table;
use crate::data::node::Findings;
use crate::engines::records::container::{Container, Framed, RecordTable};
use crate::engines::records::tfrecord::{TfRecords, masked};
use crate::{Source, formats::ALL};
use proptest::prelude::*;
use std::sync::Arc;

/// A feature to be written.
#[derive(Clone, Debug, PartialEq)]
enum TestFeature {
    Unset,
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Bytes(Vec<Vec<u8>>),
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn field(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    varint(number << 3 | 2, out);
    varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn feature(made: &TestFeature, packed: bool) -> Vec<u8> {
    let (mut list, mut out) = (Vec::new(), Vec::new());
    let number = match made {
        TestFeature::Unset => return out,
        TestFeature::Bytes(values) => {
            values.iter().for_each(|value| field(1, value, &mut list));
            1
        }
        TestFeature::Float(values) if packed => {
            field(1, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(), &mut list);
            2
        }
        TestFeature::Float(values) => {
            for value in values {
                list.push(0x0d);
                list.extend(value.to_le_bytes());
            }
            2
        }
        TestFeature::Int64(values) => {
            let mut all = Vec::new();
            for value in values {
                if !packed {
                    list.push(0x08);
                }
                varint(*value as u64, if packed { &mut all } else { &mut list });
            }
            if packed {
                field(1, &all, &mut list);
            }
            3
        }
    };
    field(number, &list, &mut out);
    out
}

fn example(features: &[(&str, TestFeature)]) -> Vec<u8> {
    let mut map = Vec::new();
    for (n, (name, made)) in features.iter().enumerate() {
        let mut entry = Vec::new();
        field(1, name.as_bytes(), &mut entry);
        field(2, &feature(made, n % 2 == 0), &mut entry);
        field(1, &entry, &mut map);
    }
    let mut out = Vec::new();
    field(1, &map, &mut out);
    out
}

/// A table of records with the columns that some of them tell.
fn table(records: &[Vec<u8>], surveyed: usize) -> (RecordTable<Framed<TfRecords>, ExampleColumns>, Survey) {
    let mut bytes = Vec::new();
    for record in records {
        let len = (record.len() as u64).to_le_bytes();
        bytes.extend(len);
        bytes.extend(masked(&len).to_le_bytes());
        bytes.extend(record);
        bytes.extend(masked(record).to_le_bytes());
    }
    let container = Arc::new(Framed::new(Source::memory("a", bytes), ALL, TfRecords, 0));
    let mut survey = Survey::default();
    records.iter().take(surveyed).for_each(|record| survey.add(record));
    let problems = container.problems().clone();
    let columns = ExampleColumns::new(&survey, surveyed >= records.len(), &Hints::default(), problems);
    (RecordTable::new(container, columns), survey)
}

/// All cells as texts, by column.
fn cells(table: &dyn Table) -> Vec<(String, Vec<Option<String>>)> {
    let fields = table.schema().fields().clone();
    let all: Vec<usize> = (0..fields.len()).collect();
    let batch = table.read(&Task::new(), 0..1000, &all).unwrap();
    let texts =
        |n: usize| (0..batch.num_rows()).map(|row| cell::text(batch.column(n).as_ref(), row)).collect();
    fields.iter().enumerate().map(|(n, field)| (field.name().clone(), texts(n))).collect()
}

fn types(table: &dyn Table) -> Vec<String> {
    let fields = table.schema().fields().iter();
    fields.map(|field| crate::bytes::display::arrow_type(field.data_type())).collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
}

#[test]
fn features_are_columns_of_the_types_that_all_records_have() {
    let int = |values: &[i64]| TestFeature::Int64(values.to_vec());
    let texts =
        |values: &[&str]| TestFeature::Bytes(values.iter().map(|text| text.as_bytes().to_vec()).collect());
    let records = [
        example(&[
            ("z", int(&[5])),
            ("list", int(&[1, -2])),
            ("text", texts(&["a"])),
            ("zeros", TestFeature::Bytes(vec![vec![0, 0]])),
            ("unset", TestFeature::Unset),
            ("mixed", int(&[7])),
        ]),
        example(&[
            ("list", int(&[])),
            ("text", texts(&["ü"])),
            ("zeros", TestFeature::Bytes(vec![b"ab".to_vec()])),
            ("mixed", TestFeature::Float(vec![0.5, f32::NAN])),
        ]),
    ];
    let (table, survey) = table(&records, 2);
    assert_eq!(survey.message(), Some(Message::Example));
    assert!(!table.columns().has_rest());
    let wanted = [
        ("list", some(&["[\"1\",\"-2\"]", "[]"])),
        (
            "mixed",
            some(&["{\"int64List\":{\"value\":[\"7\"]}}", "{\"floatList\":{\"value\":[0.5,\"NaN\"]}}"]),
        ),
        ("text", some(&["a", "ü"])),
        ("unset", some(&["", ""])),
        // Bytes that are UTF-8 by chance are no text.
        ("zeros", some(&["0x0000", "0x6162"])),
        ("z", some(&["5", ""])),
    ];
    let mut wanted: Vec<(String, Vec<Option<String>>)> =
        wanted.into_iter().map(|(name, cells)| (name.to_owned(), cells)).collect();
    let mut got = cells(&table);
    got.sort();
    wanted.sort();
    assert_eq!(got, wanted);
}

/// What a sample did not tell is never lost, and never looks like something else.
#[test]
fn what_comes_late_stands_in_the_rest() {
    let one = |label: TestFeature, text: &[u8]| {
        example(&[("label", label), ("text", TestFeature::Bytes(vec![text.to_vec()]))])
    };
    let records = [
        one(TestFeature::Int64(vec![1]), b"a"),
        one(TestFeature::Int64(vec![2, 3]), b"b"),
        one(TestFeature::Float(vec![0.25]), b"\xff\x00"),
        example(&[("other", TestFeature::Int64(vec![9]))]),
        one(TestFeature::Unset, b"c"),
    ];
    let (table, _) = table(&records, 1);
    assert_eq!(types(&table), ["int64", "string", "string"]);
    let got = cells(&table);
    assert_eq!(got[0], ("label".to_owned(), some(&["1", "", "", "", ""])));
    assert_eq!(got[1], ("text".to_owned(), some(&["a", "b", "", "", "c"])));
    let rest = [
        "",
        "{\"label\":{\"int64List\":{\"value\":[\"2\",\"3\"]}}}",
        "{\"label\":{\"floatList\":{\"value\":[0.25]}},\"text\":{\"bytesList\":{\"value\":[\"/wA=\"]}}}",
        "{\"other\":{\"int64List\":{\"value\":[\"9\"]}}}",
        "",
    ];
    assert_eq!(got[2], (REST.to_owned(), some(&rest)));
    // The same where the other columns are not asked for.
    let batch = table.read(&Task::new(), 0..9, &[2]).unwrap();
    let alone: Vec<_> = (0..5).map(|row| cell::text(batch.column(0).as_ref(), row)).collect();
    assert_eq!(alone, some(&rest));
    assert!(table.columns().problems.remarks()[0].contains("columns=all"));
}

#[test]
fn the_last_one_of_a_name_counts_and_broken_records_are_null() {
    let mut twice = example(&[("a", TestFeature::Int64(vec![1]))]);
    twice.extend(example(&[("a", TestFeature::Int64(vec![2]))]));
    // Floats that end in the middle of one.
    let mut broken = Vec::new();
    field(1, b"\x0a\x0e\x0a\x01a\x12\x09\x12\x07\x0a\x05abcde", &mut broken);
    let records = [twice, broken, example(&[("a", TestFeature::Int64(vec![3]))])];
    let (table, _) = table(&records, 1);
    assert_eq!(cells(&table)[0].1, some(&["2", "", "3"]));
    let problem = table.columns().problems.problem().unwrap();
    assert!(problem.message().contains("record 1"), "{problem}");
}

#[test]
fn what_is_no_example_is_not_taken_for_one() {
    for bytes in
        [&b"hello world"[..], b"", b"\x08\x01", b"\x0a\x03abc", b"\x0a\x05\x0a\x03\x08\x01\x00", &[0; 40]]
    {
        let mut survey = Survey::default();
        survey.add(bytes);
        assert_eq!(survey.message(), None, "{bytes:?}");
    }
}

fn made() -> impl Strategy<Value = TestFeature> {
    prop_oneof![
        Just(TestFeature::Unset),
        prop::collection::vec(any::<i64>(), 0..4).prop_map(TestFeature::Int64),
        prop::collection::vec(-1e6f32..1e6, 0..4).prop_map(TestFeature::Float),
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..4).prop_map(TestFeature::Bytes),
    ]
}

/// A cell that a feature must be shown as: as a single value or a list, whichever the column has.
fn shown(made: &TestFeature) -> Vec<String> {
    match made {
        TestFeature::Unset => Vec::new(),
        TestFeature::Int64(values) => values.iter().map(i64::to_string).collect(),
        TestFeature::Float(values) => values.iter().map(|value| cell::float32(*value)).collect(),
        TestFeature::Bytes(values) => values.iter().map(|value| cell::hex(value)).collect(),
    }
}

proptest! {
    /// Whatever the sample: each feature is either in its column, as it is, or in the rest.
    #[test]
    fn nothing_is_lost_and_nothing_is_changed(
        records in prop::collection::vec(prop::collection::vec((0usize..4, made()), 0..4), 1..8), surveyed in 1usize..8,
    ) {
        let names = ["a", "b", "c", "d"];
        let named: Vec<Vec<(&str, TestFeature)>> = records.iter().map(|features| {
            let mut features: Vec<_> = features.iter().map(|(n, made)| (names[*n], made.clone())).collect();
            features.sort_by_key(|(name, _)| *name);
            features.dedup_by_key(|(name, _)| *name);
            features
        }).collect();
        let bytes: Vec<Vec<u8>> = named.iter().map(|features| example(features)).collect();
        let (table, _) = table(&bytes, surveyed);
        let got = cells(&table);
        let of = |name: &str, row: usize| got.iter().find(|(known, _)| known == name).and_then(|(_, cells)| cells[row].clone());
        for (row, features) in named.iter().enumerate() {
            let rest = of(REST, row).unwrap_or_default();
            for (name, made) in features {
                let is_in_rest = rest.contains(&format!("\"{name}\":"));
                let cell = of(name, row);
                if is_in_rest {
                    prop_assert_eq!(&cell, &None);
                    continue;
                }
                let texts = shown(made);
                match (made, cell) {
                    (TestFeature::Unset, None) => {}
                    // A column of several kinds has each feature as protobuf's JSON.
                    (_, Some(cell)) if cell.starts_with("{\"") && cell.contains("List\":") => {}
                    (TestFeature::Bytes(values), Some(cell)) => {
                        // As text or in hexadecimal, alone or in a list.
                        let plain: Vec<String> = values.iter().map(|v| String::from_utf8_lossy(v).into_owned()).collect();
                        let list = |texts: &[String]| serde_json::to_string(texts).unwrap();
                        let all = [list(&texts), list(&plain), texts.concat(), plain.concat()];
                        prop_assert!(all.contains(&cell), "{} {:?}", cell, all);
                    }
                    (_, cell) => {
                        let list = serde_json::to_string(&texts).unwrap();
                        let cell = cell.unwrap_or_default();
                        prop_assert!(cell == list || texts.len() == 1 && cell == texts[0], "{} {:?}", cell, texts);
                    }
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut framed = Vec::new();
        field(1, &bytes, &mut framed);
        let good = example(&[("a", TestFeature::Int64(vec![1]))]);
        cells(&table(&[good, bytes, framed], 3).0);
    }
}
