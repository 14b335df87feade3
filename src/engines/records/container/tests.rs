use super::*;
use crate::data::content::Table;
use crate::data::node::{Findings, Listing, NodeStatistics};
use crate::engines::records::tfrecord::{TfRecords, masked};
use crate::formats::ALL;
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use proptest::prelude::*;

/// A file as TensorFlow writes it.
fn written(records: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for bytes in records {
        let len = (bytes.len() as u64).to_le_bytes();
        out.extend(len);
        out.extend(masked(&len).to_le_bytes());
        out.extend(bytes);
        out.extend(masked(bytes).to_le_bytes());
    }
    out
}

fn container(bytes: Vec<u8>) -> Arc<Framed<TfRecords>> {
    Arc::new(Framed::new(Source::memory("a", bytes), ALL, TfRecords, 0))
}

fn sums(statistics: &dyn NodeStatistics) -> (u64, u64, u64) {
    let all = statistics.statistics(&Task::new()).unwrap();
    let of = |name: &str| all.iter().find(|(known, _)| *known == name).unwrap().1.as_u64().unwrap();
    (of("records"), of("bytes"), of("crc32"))
}

proptest! {
    /// The table, the children and the statistics tell the same as what was written.
    #[test]
    fn all_that_is_written_is_told(
        all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..80), start in 0u64..90, count in 0u64..90,
    ) {
        let container = container(written(&all));
        let task = Task::new();
        let table = RecordTable::new(container.clone(), PlainColumns::new(false));
        let batch = table.read(&task, start..start + count, &[2, 0]).unwrap();
        let wanted: Vec<&Vec<u8>> = all.iter().skip(start as usize).take(count as usize).collect();
        let payloads = batch.column(0).as_binary::<i32>();
        prop_assert!(payloads.iter().map(Option::unwrap).eq(wanted.iter().map(|bytes| bytes.as_slice())));
        let numbers = batch.column(1).as_primitive::<UInt64Type>();
        prop_assert!(numbers.values().iter().copied().eq((start..start + count).take(wanted.len())));
        prop_assert_eq!(table.count(&task).unwrap(), all.len() as u64);
        prop_assert_eq!(table.rows(), Rows::Exact(all.len() as u64));
        let crc32 = crc32fast::hash(&all.concat());
        let bytes: usize = all.iter().map(Vec::len).sum();
        prop_assert_eq!(sums(&Payloads(container.clone())), (all.len() as u64, bytes as u64, u64::from(crc32)));
        let list = RecordList(container);
        prop_assert_eq!(list.count(), Some(all.len() as u64));
        let names: Vec<String> = list.page(&task, start..start + count).unwrap().iter().map(|n| n.name.clone()).collect();
        let wanted = (start..start + count).take_while(|n| *n < all.len() as u64).map(|n| n.to_string());
        prop_assert_eq!(names, wanted.collect::<Vec<_>>());
    }
}

#[test]
fn a_broken_record_is_null_and_said_once() {
    let mut bytes = written(&[b"first".to_vec(), b"second".to_vec(), b"third".to_vec()]);
    bytes[21 + 12] ^= 1;
    let container = container(bytes);
    let table = RecordTable::new(container.clone(), PlainColumns::new(false));
    for _ in 0..2 {
        let batch = table.read(&Task::new(), 0..10, &[1, 2]).unwrap();
        let payloads = batch.column(1).as_binary::<i32>();
        let wanted = [Some(&b"first"[..]), None, Some(&b"third"[..])];
        assert_eq!(payloads.iter().collect::<Vec<_>>(), wanted);
        assert_eq!(batch.column(0).as_primitive::<UInt64Type>().values(), &[5, 6, 5]);
    }
    assert_eq!(sums(&Payloads(container.clone())), (2, 10, u64::from(crc32fast::hash(b"firstthird"))));
    assert_eq!(container.problems().problem().unwrap().offset(), Some(33));
    assert!(container.problems().remarks().is_empty());
}

#[test]
fn records_open_as_what_they_are() {
    let png = include_bytes!("../../../../fixtures/png/animated.png").to_vec();
    let container = container(written(&[br#"{"a": [1, 2]}"#.to_vec(), png, Vec::new()]));
    let task = Task::new();
    let root = Arc::new(node(Node::new("a", "file"), &container));
    assert_eq!(root.child_count(), None);
    let kinds = ["0", "1", "2"].map(|name| root.find(&task, name).unwrap().unwrap().kind().word());
    assert_eq!(&kinds[1..], ["image", "bytes"]);
    assert_eq!(root.find(&task, "0").unwrap().unwrap().formats[0].id, "json");
    assert!(root.find(&task, "3").unwrap().is_none() && root.find(&task, "01").unwrap().is_none());
    assert_eq!(root.child_count(), Some(3));
}

#[test]
fn keys_are_names() {
    assert_eq!((key_text(b"image-1"), key_text(b"\x00\x01")), ("image-1".to_owned(), "0x0001".to_owned()));
    assert_eq!((key_text("gr\u{fc}n".as_bytes()), key_text(b"")), ("gr\u{fc}n".to_owned(), "0x".to_owned()));
}
