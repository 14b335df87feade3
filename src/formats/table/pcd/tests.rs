use super::*;
use crate::bytes::error::ErrorKind;
use crate::data::cell;
use crate::data::content::Rows;
use crate::data::format::Options;
use proptest::prelude::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/pcd/");

fn opened(name: &str) -> Result<Node> {
    let path = format!("{FIXTURES}{name}.pcd");
    let document = crate::open(&Task::new(), path.as_ref(), &Options::default())?;
    assert_eq!(document.format.id, "pcd", "{name}");
    Ok((*document.root).clone())
}

fn opened_bytes(bytes: Vec<u8>) -> Result<Node> {
    let source = Source::memory("x.pcd", bytes);
    let options = Options(std::iter::once(("format".to_owned(), "pcd".to_owned())).collect());
    let document = crate::formats::open_source(&Task::new(), &source, &options)?;
    Ok((*document.root).clone())
}

fn table(node: &Node) -> Arc<dyn Table> {
    match &node.content {
        Some(Content::Table(table)) => table.clone(),
        _ => panic!("no table: {:?}", node.problem),
    }
}

fn columns(node: &Node) -> String {
    let described = table(node).described();
    let columns: Vec<String> = described.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    columns.join(", ")
}

fn cells(node: &Node, rows: std::ops::Range<u64>) -> Result<Vec<String>> {
    let table = table(node);
    let all: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(&Task::new(), rows, &all)?;
    let text = |row: usize| {
        let cells = batch.columns().iter().map(|c| cell::text(c.as_ref(), row).unwrap_or("∅".into()));
        cells.collect::<Vec<_>>().join(" ")
    };
    Ok((0..batch.num_rows()).map(text).collect())
}

fn all(name: &str) -> Vec<String> {
    let node = opened(name).unwrap();
    assert!(node.problem.is_none(), "{name}: {:?}", node.problem);
    cells(&node, 0..u64::MAX).unwrap()
}

#[test]
fn the_same_points_in_every_dress() {
    let points = all("binary");
    assert_eq!((points.len(), points[0].as_str()), (20, "0.31224993 0.0 0.95"));
    for name in ["ascii", "binary_compressed", "no_count_no_viewpoint"] {
        assert_eq!(all(name), points, "{name}");
    }
    assert_eq!(all("fields_compressed"), all("fields_binary"));
    assert_eq!(all("ascii_nan"), all("organised_6x4"));
    assert_eq!(all("ascii_nan")[5], "nan nan nan");
    assert_eq!(all("no_points"), [""; 0]);
}

#[test]
fn rows_are_read_by_range() {
    for name in ["ascii", "binary", "binary_compressed"] {
        let node = opened(name).unwrap();
        assert_eq!(table(&node).rows(), Rows::Exact(20), "{name}");
        assert_eq!(cells(&node, 7..9).unwrap(), all(name)[7..9], "{name}");
        assert_eq!(cells(&node, 19..30).unwrap(), all(name)[19..], "{name}");
        let (first, batch) = table(&node).tail(&Task::new(), 2, &[2, 0]).unwrap();
        assert_eq!((first, batch.num_rows(), batch.schema().field(0).name().as_str()), (Some(18), 2, "z"));
    }
}

#[test]
fn fields_have_types_counts_and_padding() {
    let node = opened("fields_compressed").unwrap();
    let expected = "x: float, y: float, z: float, rgb: float, intensity: uint16, label: int32, time: double, \
        normal: fixed_size_list<item: float>[3]";
    assert_eq!(columns(&node), expected);
    assert!(
        all("fields_binary")[1].ends_with(r#" 100 -5 0.125 ["3.0","4.0","5.0"]"#),
        "{:?}",
        all("fields_binary")[1]
    );
    let padded = "VERSION 0.7\r\nFIELDS x _ y\r\nSIZE 1 1 2\r\nTYPE U U I\r\nCOUNT 1 3 1\r\nPOINTS 2\r\n";
    let data = [1, 0, 0, 0, 2, 0, 3, 0, 0, 0, 4, 0];
    let binary = opened_bytes([padded.as_bytes(), b"DATA binary\r\n", &data].concat()).unwrap();
    assert_eq!((columns(&binary).as_str(), binary.remarks.len()), ("x: uint8, y: int16", 1));
    assert_eq!(cells(&binary, 0..9).unwrap(), ["1 2", "3 4"]);
    let lines = b"DATA ascii\r\n1 0 0 0 2\r\n\r\n3 0 0 0 4\r\n";
    let ascii = opened_bytes([padded.as_bytes(), lines].concat()).unwrap();
    assert_eq!(cells(&ascii, 0..9).unwrap(), ["1 2", "3 4"]);
    // Compressed with the padding and without it.
    for planes in [vec![1u8, 3, 0, 0, 0, 0, 0, 0, 2, 0, 4, 0], vec![1, 3, 2, 0, 4, 0]] {
        let raw = planes.len() as u8;
        let head = [raw + 1, 0, 0, 0, raw, 0, 0, 0, raw - 1];
        let bytes = [padded.as_bytes(), b"DATA binary_compressed\r\n", &head, &planes].concat();
        assert_eq!(cells(&opened_bytes(bytes).unwrap(), 0..9).unwrap(), ["1 2", "3 4"]);
    }
}

#[test]
fn what_the_header_says_are_attributes() {
    let node = opened("organised_6x4").unwrap();
    let text: Vec<String> = node.attributes.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let expected = "VERSION .7, WIDTH 6, HEIGHT 4, VIEWPOINT 0 0 0 1 0 0 0, POINTS 24, DATA binary";
    assert_eq!(text.join(", "), expected);
}

#[test]
fn old_headers_mean_floats() {
    let node = opened_bytes(b"COLUMNS x y\nPOINTS 1\nDATA ascii\n1.5 -inf\n".to_vec()).unwrap();
    assert_eq!(cells(&node, 0..9).unwrap(), ["1.5 -inf"]);
}

#[test]
fn damage_is_named_with_its_place() {
    let said = |name: &str| match opened(&format!("malformed/{name}")) {
        Err(error) => error,
        Ok(node) => node.problem.clone().unwrap_or_else(|| cells(&node, 0..u64::MAX).unwrap_err()),
    };
    for (name, what) in [
        ("cut_in_header", "header: it has no DATA line"),
        ("no_data_line", "no DATA line came before"),
        ("sizes_missing", "SIZE: it has 2 values for 3 fields"),
        ("type_unknown", "field \"y\" is of TYPE Q and SIZE 4"),
        ("size_3", "field \"y\" is of TYPE F and SIZE 3"),
        ("points_negative", "\"-20\" is no count"),
        ("points_huge", "20 are shown"),
        ("points_not_width_x_height", "63 points, POINTS says 20"),
        ("cut_in_data", "the first 15 are shown"),
        ("cut_in_compressed", "30 of their compressed bytes are missing"),
        ("uncompressed_length_huge", "they decompress to 4294967280 bytes, 20 of 12 bytes"),
        ("ascii_words", "POINTS says 20, 3 lines are there"),
    ] {
        let error = said(name);
        assert!(error.message().contains(what), "{name}: {error}");
        assert!(error.kind() == ErrorKind::Malformed && error.offset().is_some(), "{name}: {error}");
    }
    assert_eq!(said("count_huge").kind(), ErrorKind::Limit);
}

#[test]
fn what_is_there_is_shown() {
    assert_eq!(cells(&opened("malformed/cut_in_data").unwrap(), 0..99).unwrap(), all("binary")[..15]);
    let cut = opened("malformed/cut_in_compressed").unwrap();
    let read =
        crate::data::content::table::read_each(&*table(&cut), &Task::new(), 0..20, &[0, 1, 2]).unwrap();
    assert_eq!(read.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
    let words = opened("malformed/ascii_words").unwrap();
    assert_eq!(cells(&words, 0..1).unwrap(), ["1.0 2.0 3.0"]);
    let error = cells(&words, 1..2).unwrap_err();
    let offset = std::fs::read(format!("{FIXTURES}malformed/ascii_words.pcd")).unwrap();
    let offset = offset.windows(4).position(|w| w == b"four").unwrap() as u64;
    assert_eq!(
        (error.offset(), error.message().contains("\"four\" in field \"x\"")),
        (Some(offset), true),
        "{error}"
    );
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(at in 0usize..700, value: u8, cut in 0usize..300) {
        for name in ["fields_binary", "fields_compressed", "ascii", "binary_compressed"] {
            let mut bytes = std::fs::read(format!("{FIXTURES}{name}.pcd")).unwrap();
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
            bytes.truncate(bytes.len() - cut);
            match opened_bytes(bytes) {
                Ok(node) => prop_assert!(!cells(&node, 0..40).is_err_and(|e| e.kind() == ErrorKind::Bug)),
                Err(error) => prop_assert!(error.kind() != ErrorKind::Bug, "{error}"),
            }
        }
    }
}
