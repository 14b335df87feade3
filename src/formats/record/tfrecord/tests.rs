use crate::data::cell;
use crate::data::content::{Content, Rows};
use crate::data::format::Options;
use crate::data::open::{Document, table_of};
use crate::{Result, Task};
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tfrecord")).join(name)
}

fn with(name: &str, set: &[(&str, &str)]) -> Result<Document> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    crate::open(&Task::new(), &path(name), &options)
}

fn opened(name: &str) -> Document {
    with(name, &[]).unwrap()
}

/// All cells of a column as texts.
fn column(document: &Document, name: &str) -> Vec<Option<String>> {
    let table = table_of(document).unwrap();
    let at = table.schema().index_of(name).unwrap();
    let rows = table.count(&Task::new()).unwrap();
    let batch = table.read(&Task::new(), 0..rows, &[at]).unwrap();
    (0..batch.num_rows()).map(|row| cell::text(batch.column(0).as_ref(), row)).collect()
}

fn texts(document: &Document, name: &str) -> Vec<String> {
    column(document, name).into_iter().map(Option::unwrap_or_default).collect()
}

fn types(document: &Document) -> Vec<(String, String)> {
    table_of(document).unwrap().described()
}

#[test]
fn examples_are_a_table_of_their_features_however_they_are_compressed() {
    for name in ["examples.tfrecord", "examples_gzip.tfrecord.gz", "examples_zlib.tfrecord"] {
        let document = opened(name);
        let types = types(&document);
        let of = |name: &str| types.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!(
            (of("label"), of("name"), of("image/encoded")),
            ("int64".into(), "string".into(), "binary".into())
        );
        assert_eq!(
            (of("bbox"), of("words"), of("mask")),
            ("list<item: float>".into(), "list<item: string>".into(), "binary".into())
        );
        assert_eq!((of("unset"), of("optional"), types.len()), ("null".into(), "float".into(), 11));
        assert_eq!(column(&document, "label").len(), 12);
        assert_eq!(texts(&document, "name")[3], "Bild 3 ü");
        assert_eq!(texts(&document, "score")[..4], ["0.5", "nan", "inf", "1e-7"]);
        assert_eq!(texts(&document, "optional")[..5], ["0.0", "", "", "", "4.0"]);
        assert_eq!(texts(&document, "words")[..3], ["[]", "[\"one\"]", "[\"one\",\"zwölf\"]"]);
        let negative = "[\"-5\",\"9223372036854775807\",\"-9223372036854775808\"]";
        assert_eq!(texts(&document, "negative")[5], negative);
        assert!(document.root.problem_now().is_none());
    }
}

#[test]
fn payloads_open_as_what_they_are() {
    let task = Task::new();
    let root = opened("examples.tfrecord").root;
    let kind = |path: &str| root.find(&task, path).unwrap().unwrap().kind().word();
    assert_eq!((kind("/4/image/encoded"), kind("/4/bbox"), kind("/4/mask")), ("image", "array", "bytes"));
    let value = |path: &str| root.find(&task, path).unwrap().unwrap().value.clone();
    assert_eq!(value("/4/name").as_deref(), Some("Bild 4 ü"));
    assert_eq!((value("/4/label").as_deref(), value("/4/unset").as_deref()), (Some("1"), Some("unset")));
    let root = opened("texts.tfrecord").root;
    let kinds: Vec<&str> =
        (0..4).map(|n| root.find(&task, &format!("/{n}")).unwrap().unwrap().kind().word()).collect();
    assert_eq!((kinds[0], kinds[2], kinds[3]), ("text", "bytes", "image"));
    assert_eq!(root.find(&task, "/1").unwrap().unwrap().formats[0].id, "json");
    let root = opened("tensors.tfrecord").root;
    let array = |path: &str| match root.find(&task, path).unwrap().unwrap().content.clone() {
        Some(Content::Array(array)) => array,
        _ => panic!("{path} is no array"),
    };
    assert_eq!((array("/0").shape().to_vec(), array("/2").shape().to_vec()), (vec![2, 3], vec![4]));
}

#[test]
fn sequences_are_lists_of_lists() {
    let document = opened("sequences.tfrecord");
    let wanted = [
        ("id", "string"),
        ("labels", "list<item: int64>"),
        ("audio", "list<item: list<item: float>>"),
        ("rgb", "list<item: list<item: binary>>"),
    ];
    assert_eq!(types(&document), wanted.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    assert_eq!(texts(&document, "audio")[0], "");
    assert_eq!(texts(&document, "audio")[3], "[[\"3.5\",\"0.0\"],[\"3.5\",\"1.0\"],null]");
    assert_eq!(texts(&document, "rgb")[1], "[[\"0x0100ff\"]]");
    assert_eq!(texts(&document, "labels")[2], "[\"0\",\"1\"]");
}

#[test]
fn messages_of_a_type_that_is_named_are_typed() {
    for schema in ["person.proto", "person.desc"] {
        let document = with("people.tfrecord", &[("proto", schema), ("message", "Person")]).unwrap();
        let types = types(&document);
        let of = |name: &str| types.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!((of("name"), of("id"), of("mood")), ("string".into(), "int64".into(), "string".into()));
        assert_eq!(of("address"), "struct<street: string, number: uint32>");
        assert_eq!((of("phone"), of("scores")), ("uint64".into(), "list<item: int32>".into()));
        assert_eq!(texts(&document, "name"), ["Ada", ""]);
        assert_eq!(texts(&document, "id"), ["4611686018427387904", "0"]);
        // What says whether it is set is null where it is not; a number that has no name is a number.
        assert_eq!(
            (texts(&document, "height"), texts(&document, "mood")),
            (vec!["1.5".into(), "".into()], vec!["GOOD".into(), "7".into()])
        );
        assert_eq!(texts(&document, "address")[0], "{\"street\":\"Main\",\"number\":\"0\"}");
        assert_eq!(texts(&document, "phone"), ["", "18446744073709551615"]);
        assert_eq!(texts(&document, "scores")[0], "[\"-1\",\"2\",\"-300\"]");
        assert_eq!(texts(&document, "friend")[0], "{\"name\":\"Bob\"}");
        assert_eq!(texts(&document, "since")[0], "{\"seconds\":\"1700000000\",\"nanos\":\"0\"}");
        let task = Task::new();
        let value = |path: &str| document.root.find(&task, path).unwrap().unwrap();
        assert_eq!(value("/0/address/street").value.as_deref(), Some("Main"));
        assert_eq!(value("/0/picture").kind().word(), "image");
        assert_eq!(value("/0/weights/b").value.as_deref(), Some("-1.0"));
    }
    let several = with("people.tfrecord", &[("proto", "person.proto"), ("message", "Nobody")]).err().unwrap();
    assert!(several.message().contains("people.Person"), "{several}");
    assert!(with("people.tfrecord", &[("proto", "no.proto")]).is_err());
    let wrong = with("examples.tfrecord", &[("proto", "examples.tfrecord")]).err().unwrap();
    assert!(wrong.message().contains("descriptor set"), "{wrong}");
}

#[test]
fn without_a_schema_a_message_is_a_tree_of_fields() {
    let root = opened("people.tfrecord").root;
    let value = |path: &str| root.find(&Task::new(), path).unwrap().unwrap().value.clone();
    assert_eq!(value("/0/1").as_deref(), Some("Ada"));
    assert_eq!(value("/0/5/1").as_deref(), Some("Main"));
    assert_eq!(root.find(&Task::new(), "/0/8").unwrap().unwrap().kind().word(), "image");
}

#[test]
fn broken_records_are_named_and_passed_by() {
    let said = |name: &str| {
        let document = opened(&format!("malformed/{name}.tfrecord"));
        let rows = column(&document, &types(&document)[0].0).len();
        (rows, document.root.problem_now().map_or_else(String::new, |error| error.message()))
    };
    let (rows, problem) = said("record_checksum");
    assert!(rows == 12 && problem.contains("checksum of a record is wrong"), "{rows} {problem}");
    let (rows, problem) = said("second_length");
    assert!(rows == 11 && problem.contains("checksum of a record's length"), "{rows} {problem}");
    let (rows, problem) = said("length_checksum");
    assert!(rows == 11 && problem.contains("at byte 0"), "{rows} {problem}");
    let (rows, problem) = said("cut_in_a_record");
    assert!(rows > 2 && problem.contains("cut off"), "{rows} {problem}");
    let (rows, problem) = said("packed_floats_cut");
    assert!(rows == 3 && problem.contains("record 1"), "{rows} {problem}");
    for name in ["length_huge", "length_all_bits", "head_only", "half_a_head"] {
        let error = with(&format!("malformed/{name}.tfrecord"), &[]).err().unwrap();
        assert!(error.message().contains("TFRecord"), "{error}");
    }
}

#[test]
fn an_empty_file_has_no_records() {
    let document = opened("empty.tfrecord");
    assert_eq!(table_of(&document).unwrap().rows(), Rows::Exact(0));
    let statistics = document.root.statistics.as_ref().unwrap().statistics(&Task::new()).unwrap();
    assert_eq!(statistics[0], ("records", 0.into()));
}

/// Shards in a folder, as TensorFlow Datasets writes them.
#[test]
fn shards_are_one_table_for_each_split() {
    let folder = tempfile::tempdir().unwrap();
    let (three, twelve) = (path("train-00000-of-00001"), path("examples.tfrecord"));
    let copy = |from: &Path, name: &str| std::fs::copy(from, folder.path().join(name)).unwrap();
    copy(&three, "birds-train.tfrecord-00000-of-00002");
    copy(&twelve, "birds-train.tfrecord-00001-of-00002");
    let open = || crate::open(&Task::new(), folder.path(), &Options::default()).unwrap();
    let document = open();
    assert_eq!(document.format.id, "tfrecord_set");
    assert_eq!(column(&document, "label").len(), 15);
    copy(&three, "birds-test.tfrecord-00002-of-00003");
    std::fs::write(
        folder.path().join("dataset_info.json"),
        r#"{"name": "birds", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": ["3", "12"]}]}"#,
    )
    .unwrap();
    let features = r#"{"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict", "featuresDict": {"features": {
        "label": {"pythonClassName": "tensorflow_datasets.core.features.class_label_feature.ClassLabel", "classLabel": {"numClasses": "3"}},
        "name": {"pythonClassName": "tensorflow_datasets.core.features.tensor_feature.Tensor", "tensor": {"shape": {}, "dtype": "string"}}}}}"#;
    std::fs::write(folder.path().join("features.json"), features).unwrap();
    std::fs::write(folder.path().join("label.labels.txt"), "duck\ngoose\nswan\n").unwrap();
    let document = open();
    let task = Task::new();
    let train = document.root.find(&task, "/train").unwrap().unwrap();
    let Some(Content::Table(table)) = &train.content else { panic!() };
    assert_eq!(table.rows(), Rows::Exact(15));
    let schema = table.schema();
    assert!(schema.metadata()["huggingface"].contains("goose"));
    assert_eq!(schema.field_with_name("name").unwrap().data_type(), &arrow::datatypes::DataType::Utf8);
    let test = document.root.find(&task, "/birds-test").unwrap().unwrap();
    assert!(test.problem.as_ref().unwrap().message().contains("missing: 0, 1"), "{:?}", test.problem);
    assert!(document.root.find(&task, "/label.labels.txt").unwrap().is_some());
    let shown = document.root.attributes.iter().find(|(name, _)| name == "features").unwrap().1.to_string();
    assert!(shown.contains("ClassLabel") && shown.contains("duck"), "{shown}");
}

/// A label that is two numbers, far from all records that a sample looks at.
#[test]
fn what_the_sample_did_not_tell_is_in_the_rest_or_in_the_columns_of_all() {
    use crate::engines::records::tfrecord::masked;
    let one = |n: u8| [b"\x0a\x10\x0a\x0e\x0a\x05label\x12\x05\x1a\x03\x0a\x01", &[n][..]].concat();
    let two = b"\x0a\x11\x0a\x0f\x0a\x05label\x12\x06\x1a\x04\x0a\x02\x07\x08".to_vec();
    let mut file = Vec::new();
    for n in 0..60_000_u32 {
        let record = if n == 20_000 { two.clone() } else { one((n % 100) as u8) };
        let len = (record.len() as u64).to_le_bytes();
        file.extend(len);
        file.extend(masked(&len).to_le_bytes());
        file.extend(&record);
        file.extend(masked(&record).to_le_bytes());
    }
    let source = crate::Source::memory("labels.tfrecord", file);
    let task = Task::new();
    let open = |all: &str| {
        let mut options = Options::default();
        options.set("columns", all);
        crate::formats::open_source(&task, &source, &options).unwrap()
    };
    let sampled = open("sample");
    assert_eq!(
        types(&sampled),
        [("label", "int64"), ("…", "string")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    let label = column(&sampled, "label");
    assert_eq!((label.len(), label[19_999].as_deref(), &label[20_000]), (60_000, Some("99"), &None));
    assert_eq!(texts(&sampled, "…")[20_000], "{\"label\":{\"int64List\":{\"value\":[\"7\",\"8\"]}}}");
    assert!(sampled.root.remarks_now().iter().any(|remark| remark.contains("columns=all")));
    let all = open("all");
    assert_eq!(types(&all), [("label".to_owned(), "list<item: int64>".to_owned())]);
    assert_eq!(texts(&all, "label")[19_999..20_001], ["[\"99\"]", "[\"7\",\"8\"]"]);
}
