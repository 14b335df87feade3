//! Records, sums and values as py-lmdb gives them; damaged stores and what is said of them.

use crate::bytes::source::{ReadAt, Source};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::{Content, Rows, Table};
use crate::data::format::Options;
use crate::data::node::Node;
use crate::{Result, open};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/lmdb").join(name)
}

fn opened(name: &str) -> Result<Arc<Node>> {
    let document = open(&Task::new(), &path(name), &Options::default())?;
    assert_eq!(document.format.id, "lmdb", "{name}");
    Ok(document.root)
}

fn node(name: &str, inner: &str) -> Arc<Node> {
    opened(name)
        .unwrap()
        .find(&Task::new(), inner)
        .unwrap()
        .unwrap_or_else(|| panic!("{name} has no {inner}"))
}

/// Records, their bytes, and the sum over keys and values.
fn sums(node: &Node) -> (u64, u64, u64) {
    let all = node.statistics.as_ref().unwrap().statistics(&Task::new()).unwrap();
    let of = |name: &str| all.iter().find(|(known, _)| *known == name).unwrap().1.as_u64().unwrap();
    (of("records"), of("bytes"), of("crc32"))
}

fn table(node: &Node) -> &Arc<dyn Table> {
    let Some(Content::Table(table)) = &node.content else { panic!("no table") };
    table
}

/// The cells of some rows.
fn cells(node: &Node, rows: std::ops::Range<u64>) -> Vec<Vec<Option<String>>> {
    let table = table(node);
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &columns).unwrap();
    let row = |row| batch.columns().iter().map(|column| cell::text(column.as_ref(), row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

fn texts(cells: &[Vec<Option<String>>]) -> Vec<Vec<&str>> {
    cells.iter().map(|row| row.iter().map(|cell| cell.as_deref().unwrap_or("-")).collect()).collect()
}

#[test]
fn all_entries_are_those_of_the_library() {
    let facts = [
        ("named", "bytes", 200, 200, 3567731556),
        ("named", "counts", 25, 200, 127047915),
        ("named", "fixed", 120, 12000, 1640582002),
        ("named", "integers", 30, 350, 565442365),
        ("named", "plain", 40, 310, 1464294008),
        ("named", "reverse", 12, 66, 1395945603),
        ("named", "several", 20, 200, 2870161680),
        ("version3_named.lmdb", "bytes", 200, 200, 3567731556),
        ("version3_named.lmdb", "counts", 25, 200, 127047915),
        ("version3_named.lmdb", "fixed", 120, 12000, 1640582002),
        ("version3_named.lmdb", "integers", 30, 350, 565442365),
        ("version3_named.lmdb", "plain", 40, 310, 1464294008),
        ("version3_named.lmdb", "reverse", 12, 66, 1395945603),
        ("version3_named.lmdb", "several", 20, 200, 2870161680),
        ("many.lmdb", "", 100, 6840, 2897227949),
        ("large.lmdb", "", 4, 21425, 2095717746),
        ("empty.mdb", "", 0, 0, 0),
        ("datum", "", 10, 720, 3121191399),
        ("datum_mixed.lmdb", "", 2, 181, 1216263391),
        ("samples.lmdb", "", 13, 849, 32536935),
        ("files.lmdb", "", 6, 353, 2792775643),
        ("version3.lmdb", "", 100, 6840, 2897227949),
        ("version3_large.lmdb", "", 4, 21425, 2095717746),
        ("64_bit_little.mdb", "", 17, 886, 1517087286),
        // The same entries on other machines.
        ("64_bit_big.mdb", "", 17, 886, 1517087286),
        ("32_bit_little.mdb", "", 17, 886, 1517087286),
        ("32_bit_big.mdb", "", 17, 886, 1517087286),
        ("page_16k.mdb", "", 17, 886, 1517087286),
        ("mixed.lmdb", "inner", 1, 4, 3011083467),
    ];
    for (name, inner, records, bytes, crc32) in facts {
        let node = node(name, inner);
        assert_eq!(sums(&node), (records, bytes, crc32), "{name} {inner}");
        assert!(node.problem_now().is_none(), "{name} {inner}: {:?}", node.problem_now());
        if name != "samples.lmdb" {
            assert_eq!(table(&node).rows(), Rows::Exact(records), "{name}");
        }
    }
}

#[test]
fn keys_and_values_have_their_types() {
    let integers = node("named", "integers");
    assert_eq!(texts(&cells(&integers, 28..40)), [["784", "square of 28"], ["841", "square of 29"]]);
    assert_eq!(integers.find(&Task::new(), "/49").unwrap().unwrap().kind().word(), "text");
    let counts = node("named", "counts");
    assert_eq!(texts(&cells(&counts, 23..25)), [["only", "23"], ["only", "24"]]);
    assert_eq!(counts.find(&Task::new(), "/only (7)").unwrap().unwrap().name, "only (7)");
    let fixed = node("named", "fixed");
    let last = cells(&fixed, 107..109);
    assert_eq!([last[0][0].as_deref(), last[1][0].as_deref()], [Some("one"), Some("other")]);
    assert!(last[0][1].as_ref().unwrap().starts_with("0x0000007700000077"), "{last:?}");
    let keys = node("files.lmdb", "");
    assert_eq!(cells(&keys, 0..1)[0][0].as_deref(), Some("0x00ff"));
    let names = ["0x00ff", "array.npy", "image.png", "object", "packed", "pickled"];
    let formats = names.map(|name| {
        let node = keys.find(&Task::new(), &format!("/{name}")).unwrap().unwrap();
        node.formats.first().map_or("", |format| format.id)
    });
    assert_eq!(formats[1..], ["npy", "png", "json", "msgpack", "pickle"]);
}

#[test]
fn messages_of_caffe_have_columns_and_pictures() {
    let datum = node("datum", "");
    let names: Vec<&str> =
        table(&datum).schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["key", "channels", "height", "width", "data", "label", "float_data", "encoded"]);
    let row = &cells(&datum, 9..10)[0];
    assert_eq!(
        (row[0].as_deref(), row[1].as_deref(), row[5].as_deref()),
        (Some("00000009"), Some("3"), Some("9"))
    );
    let Some(Content::Image(image)) = &datum.find(&Task::new(), "/00000004").unwrap().unwrap().content else {
        panic!("no picture")
    };
    assert_eq!((image.info().width, image.info().height, image.info().channels), (5, 4, 3));
    let pixels = image.read(&Task::new(), 0, 0, crate::data::content::Rect::all(5, 4)).unwrap();
    let planes = datum.find(&Task::new(), "/00000004/data").unwrap().unwrap();
    let Some(Content::Array(planes)) = &planes.content else { panic!("no array") };
    let all = crate::data::region::Region::all(planes.shape());
    let planes = crate::data::content::array::read(planes.as_ref(), &Task::new(), &all).unwrap();
    // The last plane is red.
    assert_eq!(pixels.data[..3], [planes[40], planes[20], planes[0]]);
    let mixed = node("datum_mixed.lmdb", "");
    let kinds =
        ["0", "1"].map(|name| mixed.find(&Task::new(), &format!("/{name}")).unwrap().unwrap().kind().word());
    assert_eq!(kinds, ["image", "array"]);
}

#[test]
fn numbered_keys_are_samples() {
    let samples = node("samples.lmdb", "");
    let names: Vec<&str> =
        table(&samples).schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["number", "image", "label"]);
    let rows = cells(&samples, 0..10);
    assert_eq!(rows.len(), 6);
    assert_eq!((rows[5][0].as_deref(), rows[5][2].as_deref()), (Some("6"), Some("wörd 6")));
    assert!(rows[5][1].as_ref().unwrap().starts_with("0x89504e47"));
}

/// The last entries are found from the end, those in the middle by what was counted.
#[test]
fn rows_are_the_same_from_wherever_they_are_read() {
    for name in ["many.lmdb", "version3.lmdb", "64_bit_big.mdb"] {
        let whole = cells(&node(name, ""), 0..1000);
        for start in (0..whole.len()).rev() {
            // Opened anew, nothing is known yet.
            let store = node(name, "");
            let part = cells(&store, start as u64..start as u64 + 2);
            assert_eq!(part[..], whole[start..whole.len().min(start + 2)], "{name} {start}");
            let key = whole[start][0].as_deref().unwrap();
            assert_eq!(store.find(&Task::new(), &format!("/{key}")).unwrap().unwrap().name, key);
        }
    }
}

#[test]
fn damage_is_named_and_its_neighbours_are_there() {
    let says = |name: &str| {
        let root = opened(&format!("malformed/{name}"));
        let error = match &root {
            Ok(root) => {
                if root.content.is_some() {
                    let rows = table(root).rows().number();
                    drop(table(root).read(&Task::new(), 0..rows.min(1_000), &[0, 1]));
                }
                root.problem_now()
            }
            Err(error) => Some(error.clone()),
        };
        error.map_or_else(String::new, |error| error.message())
    };
    assert!(says("magic_newer.mdb").contains("transaction 1 is shown"), "{}", says("magic_newer.mdb"));
    assert!(
        says("root_beyond.mdb").contains("its root is page 1099511627776"),
        "{}",
        says("root_beyond.mdb")
    );
    assert!(
        says("entries_lie.mdb").contains("says that it has 99 entries, 17 are there"),
        "{}",
        says("entries_lie.mdb")
    );
    assert!(says("entries_2_60.mdb").contains("entries in 6144 bytes"), "{}", says("entries_2_60.mdb"));
    assert!(says("circle.mdb").contains("branches lead further down"), "{}", says("circle.mdb"));
    let again = says("leaf_again_and_again.mdb");
    assert!(again.contains("refer to each other"), "{again}");
    assert!(says("slots_beyond.mdb").contains("do not fit"), "{}", says("slots_beyond.mdb"));
    let rows = cells(&node("malformed/slots_beyond.mdb", ""), 0..100);
    assert_eq!((rows.len(), rows[0][0].as_deref()), (9, Some("0008")));
}

/// A file that another program writes to.
struct Written {
    before: Vec<u8>,
    after: Vec<u8>,
    /// So many reads see what was there before.
    reads: Arc<AtomicUsize>,
}

impl ReadAt for Written {
    fn known_len(&self) -> Option<u64> {
        Some(self.before.len() as u64)
    }

    fn len(&self, _: &Task) -> Result<u64> {
        Ok(self.before.len() as u64)
    }

    fn read_at(&self, _: &Task, offset: u64, out: &mut [u8]) -> Result<usize> {
        let left = self.reads.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(1)));
        let bytes = if left.unwrap() > 0 { &self.before } else { &self.after };
        let rest = &bytes[(offset as usize).min(bytes.len())..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// Wherever the other program's transaction falls: all is of one transaction, or it is said.
#[test]
fn a_store_that_is_written_to_is_not_mixed() {
    let before = std::fs::read(path("64_bit_little.mdb")).unwrap();
    let mut after = before.clone();
    // The other meta page becomes the newer one, and a page that it does not use is written to.
    let meta = before[1024..2048].to_vec();
    after[..1024].copy_from_slice(&meta);
    after[16 + 24 + 96 + 8..][..8].copy_from_slice(&3u64.to_le_bytes());
    after[2048 + 20..3072].fill(0xff);
    let (mut whole, mut refused) = (0, 0);
    for reads in 0..120 {
        let left = Arc::new(AtomicUsize::new(reads));
        let bytes = Written { before: before.clone(), after: after.clone(), reads: left.clone() };
        let source = Source::memory("a.mdb", Vec::new()).stream("a.mdb", Arc::new(bytes)).unwrap();
        let opened = crate::formats::open_source(&Task::new(), &source, &Options::default());
        let table = opened.map(|document| table(&document.root).clone());
        let read = table.and_then(|table| table.read(&Task::new(), 0..17, &[0, 1]));
        match read {
            Ok(batch) if left.load(Relaxed) > 0 => {
                assert_eq!(cell::text(batch.column(1), 0).as_deref(), Some("0x76616c75652030"), "{reads}");
                whole += 1;
            }
            Ok(_) => {}
            Err(error) => {
                assert!(error.message().contains("another program"), "{reads}: {error}");
                refused += 1;
            }
        }
    }
    assert!(whole > 5 && refused > 5, "{whole} {refused}");
}

#[test]
fn a_database_in_itself_ends() {
    let mut at = opened("malformed/database_in_itself.mdb").unwrap();
    let mut depth = 0;
    while let Some(next) = at.child_page(&Task::new(), 0..1).unwrap().first() {
        at = next.resolved(&Task::new()).unwrap();
        depth += 1;
        assert!(depth < 20);
    }
    assert!(at.problem.as_ref().unwrap().message().contains("deep"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever stands in a store, what is read of it is bounded.
    #[test]
    fn any_damage_ends(places in prop::collection::vec((0usize..6144, any::<u8>()), 1..12), big in any::<bool>()) {
        let name = if big { "64_bit_big.mdb" } else { "64_bit_little.mdb" };
        let mut bytes = std::fs::read(path(name)).unwrap();
        places.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        let source = Source::memory(name, bytes);
        if let Ok(document) = crate::formats::open_source(&Task::new(), &source, &Options::default()) {
            if let Some(Content::Table(table)) = &document.root.content {
                let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
                drop(table.read(&Task::new(), 0..200, &columns));
            }
            drop(document.root.child_page(&Task::new(), 0..100));
        }
    }
}
