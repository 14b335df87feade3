use crate::Task;
use crate::data::cell;
use crate::data::format::Options;
use crate::data::open::{Document, table_of};
use std::path::Path;

fn opened(name: &str) -> Document {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recordio")).join(name);
    crate::open(&Task::new(), &path, &Options::default()).unwrap()
}

/// All cells of a column as texts.
fn texts(document: &Document, name: &str) -> Vec<String> {
    let table = table_of(document).unwrap();
    let at = table.schema().index_of(name).unwrap();
    let rows = table.count(&Task::new()).unwrap();
    let batch = table.read(&Task::new(), 0..rows, &[at]).unwrap();
    (0..batch.num_rows()).map(|row| cell::text(batch.column(0).as_ref(), row).unwrap_or_default()).collect()
}

fn columns(document: &Document) -> Vec<String> {
    let described = table_of(document).unwrap().described();
    described.into_iter().map(|(name, kind)| format!("{name}: {kind}")).collect()
}

#[test]
fn headers_are_columns_and_payloads_open() {
    let document = opened("images.rec");
    let wanted = [
        "key: string",
        "flag: uint32",
        "label: float",
        "id: uint64",
        "id2: uint64",
        "file: string",
        "payload: binary",
    ];
    assert_eq!(columns(&document), wanted);
    assert_eq!(texts(&document, "label"), ["0.0", "1.0", "2.0", "0.0"]);
    assert_eq!(texts(&document, "file")[1], "class1/picture 1.png");
    assert_eq!(texts(&document, "key"), ["0", "1", "2", "3"]);
    let task = Task::new();
    assert_eq!(document.root.find(&task, "/2/payload").unwrap().unwrap().kind().word(), "image");
    let labels = opened("labels.rec");
    assert_eq!(texts(&labels, "label")[2], "[\"2.0\",\"0.5\",\"1.5\"]");
    assert_eq!(
        (texts(&labels, "id"), texts(&labels, "id2")[0].as_str()),
        (vec!["0".into(), "3".into(), "6".into()], "7")
    );
    assert_eq!(texts(&labels, "key"), ["0", "3", "6"]);
    // Pictures with the magic number in them lie in pieces.
    let split = opened("split.rec");
    for n in 0..4 {
        assert_eq!(split.root.find(&task, &format!("/{n}/payload")).unwrap().unwrap().kind().word(), "image");
    }
    assert!(split.root.problem_now().is_none());
}

#[test]
fn labels_of_detection_are_classes_and_boxes() {
    let document = opened("detection.rec");
    assert_eq!(texts(&document, "objects.class"), ["[]", "[\"1.0\"]", "[\"1.0\",\"1.0\"]"]);
    assert_eq!(texts(&document, "objects.bbox")[1], "[[\"0.1\",\"0.2\",\"0.5\",\"0.6\"]]");
}

#[test]
fn raw_records_are_bytes() {
    let document = opened("raw.rec");
    assert_eq!(columns(&document), ["record: uint64", "bytes: uint64", "payload: binary"]);
    assert_eq!(texts(&document, "bytes"), ["3", "4", "0", "4", "10", "6", "12", "8"]);
    assert_eq!(texts(&document, "payload")[4], "0x616263640a23d7ce6566");
    let magic = "0a23d7ce".repeat(3);
    assert_eq!(texts(&document, "payload")[6], format!("0x{magic}"));
    assert_eq!(document.root.find(&Task::new(), "/7").unwrap().unwrap().formats[0].id, "json");
}

#[test]
fn messages_of_sagemaker_are_typed() {
    let dense = opened("dense.rec");
    assert_eq!(columns(&dense), ["features: list<item: float>", "label: float"]);
    assert_eq!(
        texts(&dense, "features"),
        ["[\"1.5\",\"0.0\",\"0.0\"]", "[\"0.0\",\"0.0\",\"-2.5\"]", "[\"0.0\",\"0.0\",\"0.0\"]"]
    );
    assert_eq!(texts(&dense, "label"), ["0.0", "1.0", "2.0"]);
    assert_eq!(columns(&opened("dense_float64.rec")), ["features: list<item: double>"]);
    let sparse = opened("sparse.rec");
    assert_eq!(texts(&sparse, "features")[1], "{\"keys\":[\"2\"],\"values\":[\"-2\"],\"shape\":[\"3\"]}");
    assert_eq!(texts(&sparse, "features")[2], "{\"keys\":[],\"values\":[],\"shape\":[\"3\"]}");
    assert_eq!(texts(&sparse, "label"), ["7", "8", "9"]);
    let named = opened("named.rec");
    let wanted =
        ["features.image: binary", "features.size: list<item: int32>", "uid: string", "metadata: string"];
    assert_eq!(columns(&named), wanted);
    assert_eq!(
        (texts(&named, "uid"), texts(&named, "features.size")),
        (vec!["u1".into()], vec!["[\"8\",\"-12\"]".into()])
    );
    let image = named.root.find(&Task::new(), "/0/features/image/0").unwrap().unwrap();
    assert_eq!(image.kind().word(), "image");
}

#[test]
fn damage_is_said_and_the_rest_is_read() {
    let said = |name: &str| {
        let document = opened(&format!("malformed/{name}.rec"));
        let rows = table_of(&document).unwrap().count(&Task::new()).unwrap();
        (rows, document.root.problem_now().map_or_else(String::new, |error| error.message()))
    };
    let (rows, problem) = said("magic_of_the_second");
    assert!(rows == 3 && problem.contains("no record begins here"), "{rows} {problem}");
    let (rows, problem) = said("magic_of_the_first");
    assert!(rows == 3 && problem.contains("at byte 0"), "{rows} {problem}");
    let (rows, problem) = said("cut_in_a_record");
    assert!(rows == 2 && problem.contains("cut off"), "{rows} {problem}");
    let (rows, problem) = said("index");
    assert!(rows == 8 && problem.contains("index.idx: 2 lines"), "{rows} {problem}");
    for name in ["huge", "middle_first", "never_ends", "head_only", "half_a_head", "unknown_part"] {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recordio/malformed")).join(name);
        let error =
            crate::open(&Task::new(), &path.with_extension("rec"), &Options::default()).err().unwrap();
        assert!(error.message().contains("RecordIO"), "{error}");
    }
}
