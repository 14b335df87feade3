use super::*;
use crate::Source;
use crate::data::cell;
use crate::data::content::array::{Plain, Scaling, read};
use crate::data::content::table::MemoryTable;
use crate::data::content::{Array, Content as Found, Table};
use crate::data::dtype::DType;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::array::testing::{array, node, texts};
use ::arrow::array::*;
use ::arrow::datatypes::{DataType, Float64Type, Int32Type};
use proptest::prelude::*;
use std::io::Cursor;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/fits/");

fn written(payload: &Payload, set: &[(&str, &str)]) -> Result<Document> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    (WRITER.check)(payload)?;
    let mut sink = Cursor::new(Vec::new());
    write(&Task::new(), payload, &options, &mut sink)?;
    let bytes = sink.into_inner();
    assert_eq!(bytes.len() % 2880, 0);
    let source = Source::memory("x.fits", bytes);
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default())?;
    assert_eq!(document.format.id, "fits");
    crate::data::open::walk(&Task::new(), &document.root, "", 4, &mut |node, _, _| {
        assert!(node.problem.is_none(), "{:?}", node.problem);
        assert!(node.remarks.iter().all(|remark| !remark.contains("SUM")), "{:?}", node.remarks);
        Ok(true)
    })?;
    Ok(document)
}

fn plain(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Plain {
    Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap()
}

fn arrays(list: Vec<(&str, Plain)>) -> Payload {
    let list = list.into_iter().map(|(name, array)| (name.to_owned(), Arc::new(array) as Arc<dyn Array>));
    Payload::plain(Data::Arrays(list.collect()))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Payload {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    Payload::plain(Data::Table(Arc::new(MemoryTable::new(batch))))
}

fn cells(document: &Document, column: usize) -> Vec<Option<String>> {
    let nodes = document.root.child_page(&Task::new(), 0..9).unwrap();
    let found = nodes.iter().find_map(|node| match &node.content {
        Some(Found::Table(table)) => Some(table.clone()),
        _ => None,
    });
    let batch = found.unwrap().read(&Task::new(), 0..u64::MAX, &[column]).unwrap();
    (0..batch.num_rows()).map(|row| cell::text(batch.column(0).as_ref(), row)).collect()
}

fn some(list: &[&str]) -> Vec<Option<String>> {
    list.iter().map(|text| Some((*text).to_owned())).collect()
}

#[test]
fn one_array_leads_and_several_follow() {
    let one =
        written(&arrays(vec![("x", plain(DType::U16, &[2, 2], vec![1, 0, 2, 0, 255, 255, 0, 128]))]), &[]);
    assert_eq!(texts(&*array(&one.unwrap(), ""), ""), ["1", "2", "65535", "32768"]);
    let long = "a name that is longer than what fits into one card of a header, which is 68 characters long";
    let payload = arrays(vec![
        ("x", plain(DType::I8, &[2], vec![128, 127])),
        ("X", plain(DType::Bool, &[2], vec![0, 1])),
        (long, plain(DType::C64, &[1], [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat())),
        ("größe", plain(DType::F64, &[], 2.5f64.to_le_bytes().to_vec())),
        ("empty", plain(DType::F32, &[0, 3], vec![])),
    ]);
    let file = written(&payload, &[]).unwrap();
    assert_eq!(texts(&*array(&file, "/x"), ""), ["-128", "127"]);
    assert_eq!(texts(&*array(&file, "/X"), ""), ["0", "1"]);
    assert_eq!(texts(&*array(&file, &format!("/{long}")), ""), ["1.0", "2.0"]);
    assert_eq!(texts(&*array(&file, "/gr__e"), ""), ["2.5"]);
    assert_eq!(array(&file, "/empty").shape(), [0, 3]);
    let losses = losses(&payload, &Options::default());
    assert!(losses.iter().any(|loss| loss.path == "größe" && loss.kind == LossKind::Name), "{losses:?}");
    assert!(
        node(&file, "/X").attributes.iter().any(|(name, value)| name == "EXTVER" && value.to_string() == "2")
    );
}

#[test]
fn attributes_are_cards() {
    let long = "more than one card ".repeat(9);
    let list: Vec<(String, Value)> = vec![
        ("OBJECT".to_owned(), "M 31's".into()),
        ("units".to_owned(), "K".into()),
        ("COMMENT".to_owned(), "one\ntwo".into()),
        ("history of it".to_owned(), Value::Json(serde_json::json!([1, 2]))),
        ("LONG".to_owned(), long.trim_end().into()),
        ("NAXIS".to_owned(), Value::Json(7.into())),
        ("größe".to_owned(), "x".into()),
    ];
    let payload =
        Payload { attributes: list.into(), ..arrays(vec![("x", plain(DType::U8, &[2, 1], vec![1, 2]))]) };
    let file = written(&payload, &[]).unwrap();
    let attribute = |name: &str| {
        let found = file.root.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.to_string())
    };
    assert_eq!(attribute("OBJECT").as_deref(), Some("M 31's"));
    assert_eq!(attribute("units").as_deref(), Some("K"));
    assert_eq!(attribute("COMMENT").as_deref(), Some("one\ntwo"));
    assert_eq!(attribute("history of it").as_deref(), Some("[1,2]"));
    assert_eq!(attribute("LONG").as_deref(), Some(long.trim_end()));
    assert_eq!(attribute("NAXIS").as_deref(), Some("2"));
    let losses = losses(&payload, &Options::default());
    let told = |subject: &str| losses.iter().any(|loss| loss.subject == subject);
    assert!(told("history of it") && !told("OBJECT") && !told("LONG"), "{losses:?}");
    assert!(
        losses.iter().any(|loss| loss.kind == LossKind::Attribute && loss.what.contains("größe")),
        "{losses:?}"
    );
}

#[test]
fn images_of_fits_go_there_and_back() {
    for name in ["single.fits", "scaled.fits", "sky.fits"] {
        let file = crate::open(&Task::new(), &Path::new(FIXTURES).join(name), &Options::default()).unwrap();
        let from = array(&file, "");
        let payload = Payload {
            attributes: Attributes::of(&file.root),
            ..Payload::plain(Data::Arrays(vec![("x".to_owned(), from.clone())]))
        };
        let back = written(&payload, &[]).unwrap();
        let to = array(&back, "");
        let all = |array: &dyn Array| read(array, &Task::new(), &Region::all(array.shape())).unwrap();
        assert!(all(to.as_ref()) == all(from.as_ref()), "{name}");
        let facts = |array: &dyn Array| {
            let facts = array.facts();
            format!("{:?} {:?} {:?}", facts.axes, facts.scaling, facts.world)
        };
        assert_eq!(facts(to.as_ref()), facts(from.as_ref()), "{name}");
        let losses = losses(&payload, &Options::default());
        assert!(losses.iter().all(|loss| loss.kind == LossKind::Metadata), "{name}: {losses:?}");
    }
}

#[test]
fn scales_have_their_cards() {
    let scaling = Scaling { scale: 0.25, offset: -1.0, fill: vec![-9.0], valid: None };
    let facts = crate::data::content::ArrayFacts { scaling: Some(scaling.clone()), ..Default::default() };
    let of = |dtype: DType, bytes: Vec<u8>| {
        arrays(vec![("x", plain(dtype, &[2], bytes).with_facts(facts.clone()))])
    };
    let file = written(&of(DType::I16, vec![1, 0, 247, 255]), &[]).unwrap();
    assert_eq!(array(&file, "").facts().scaling, Some(scaling.clone()));
    // Beside a sign there is no place for it.
    let unsigned = of(DType::U16, vec![1, 0, 255, 255]);
    let file = written(&unsigned, &[]).unwrap();
    assert_eq!(
        (array(&file, "").dtype(), texts(&*array(&file, ""), "1")),
        (&DType::I32, vec!["65535".to_owned()])
    );
    assert_eq!(array(&file, "").facts().scaling, Some(scaling));
    assert!(losses(&unsigned, &Options::default()).iter().any(|loss| loss.kind == LossKind::Type));
}

#[test]
fn tables_have_columns_of_every_kind() {
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        vec![Some(vec![Some(1), None]), None, Some(vec![Some(5), Some(6)])],
        2,
    );
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(vec![
        Some(vec![Some(0.5)]),
        Some(vec![]),
        Some(vec![Some(1.0), Some(2.0), None]),
    ]);
    let long = "x".repeat(300);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("small", Arc::new(UInt8Array::from(vec![Some(0), None, Some(255)]))),
        ("signed", Arc::new(Int8Array::from(vec![-128, 0, 127]))),
        ("wide", Arc::new(UInt64Array::from(vec![Some(0), None, Some(u64::MAX)]))),
        ("least", Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MIN + 2)]))),
        ("float", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(-0.0)]))),
        ("text", Arc::new(StringArray::from(vec![Some("a"), None, Some("größe ")]))),
        ("long", Arc::new(StringArray::from(vec![Some("a"), Some(""), Some(long.as_str())]))),
        (
            "bytes",
            Arc::new(BinaryArray::from_vec(vec![b"\x01\x02".as_slice(), b"".as_slice(), b"\xff".as_slice()])),
        ),
        ("fixed", Arc::new(fixed)),
        ("list", Arc::new(lists)),
    ];
    for strings in ["auto", "fixed", "variable"] {
        let file = written(&table(columns.clone()), &[("strings", strings), ("name", "events")]).unwrap();
        assert!(node(&file, "/events").content.is_some());
        let column = |n: usize| cells(&file, n);
        assert_eq!(column(0), [Some("true".into()), None, Some("false".into())]);
        assert_eq!(column(1), [Some("0".into()), None, Some("255".into())]);
        assert_eq!(column(2), some(&["-128", "0", "127"]));
        assert_eq!(column(3), [Some("0".into()), None, Some(u64::MAX.to_string())]);
        assert_eq!(column(4), [Some(i64::MIN.to_string()), None, Some((i64::MIN + 2).to_string())]);
        assert_eq!(column(5), some(&["0.1", "nan", "-0.0"]));
        assert_eq!(column(6), some(&["a", "", "größe"]));
        assert_eq!(column(7), some(&["a", "", &long]));
        assert_eq!(column(8), some(&[r#"["1","2"]"#, "[]", r#"["255"]"#]));
        assert_eq!(column(9), some(&[r#"["1",null]"#, "[null,null]", r#"["5","6"]"#]));
        assert_eq!(column(10), some(&[r#"["0.5"]"#, "[]", r#"["1.0","2.0","nan"]"#]));
    }
}

#[test]
fn tables_of_fits_go_there_and_back() {
    let file =
        crate::open(&Task::new(), &Path::new(FIXTURES).join("tables.fits"), &Options::default()).unwrap();
    let binary = node(&file, "/BINARY");
    let Some(Found::Table(from)) = &binary.content else { panic!("no table") };
    let payload =
        Payload { attributes: Attributes::of(&binary), ..Payload::plain(Data::Table(from.clone())) };
    let back = written(&payload, &[]).unwrap();
    let to = node(&back, "/BINARY");
    let Some(Found::Table(table)) = &to.content else { panic!("no table") };
    for n in 0..from.schema().fields().len() {
        let all = |table: &dyn Table| {
            let batch = table.read(&Task::new(), 0..u64::MAX, &[n]).unwrap();
            (0..batch.num_rows()).map(|row| cell::text(batch.column(0).as_ref(), row)).collect::<Vec<_>>()
        };
        let name = from.schema().field(n).name().clone();
        assert_eq!(all(table.as_ref()), all(from.as_ref()), "{name}");
        // Lists of texts become their JSON.
        if name == "texts" {
            continue;
        }
        assert_eq!(table.schema().field(n).data_type(), from.schema().field(n).data_type(), "{name}");
    }
}

#[test]
fn records_and_texts_become_tables() {
    let texts = plain(DType::Bytes(3), &[2], b"ab\0cde".to_vec());
    let file = written(&arrays(vec![("t", texts), ("n", plain(DType::U8, &[1], vec![1]))]), &[]).unwrap();
    let Some(Found::Table(table)) = &node(&file, "/t").content else { panic!("no table") };
    assert_eq!((table.rows().number(), table.schema().fields().len()), (2, 1));
    assert!(matches!(table.schema().field(0).data_type(), DataType::List(_)), "{:?}", table.schema());
}

fn any_dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(vec![
        DType::U8,
        DType::I8,
        DType::I16,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F32,
        DType::F64,
    ])
}

proptest! {
    #[test]
    fn any_image_reads_back_equal(
        dtype in any_dtype(),
        shape in prop::collection::vec(1u64..9, 1..4),
        compression in prop::sample::select(vec!["none", "RICE_1", "GZIP_1", "GZIP_2"]),
        seed: u8,
    ) {
        let len = dtype.size() * shape.iter().product::<u64>();
        // Floats without payloads of NaN, which GZIP keeps too but JSON does not.
        let bytes: Vec<u8> = (0..len).map(|n| (n as u8).wrapping_mul(37).wrapping_add(seed) & 0x7f).collect();
        let payload = arrays(vec![("x", plain(dtype.clone(), &shape, bytes.clone()))]);
        let file = written(&payload, &[("compression", compression)]).unwrap();
        let back = array(&file, if compression == "none" { "" } else { "/x" });
        prop_assert_eq!((back.dtype(), back.shape()), (&dtype, shape.as_slice()));
        prop_assert_eq!(read(back.as_ref(), &Task::new(), &Region::all(&shape)).unwrap(), bytes);
    }
}

#[test]
fn tiles_of_any_shape_are_compressed() {
    let bytes: Vec<u8> = (0..60u32 * 70).flat_map(|n| ((n % 977) as i16).to_le_bytes()).collect();
    for (compression, tile) in
        [("RICE_1", "auto"), ("RICE_1", "7,9"), ("GZIP_2", "60,1"), ("GZIP_1", "100,100")]
    {
        let payload = arrays(vec![("x", plain(DType::I16, &[60, 70], bytes.clone()))]);
        let file = written(&payload, &[("compression", compression), ("tile", tile)]).unwrap();
        let back = array(&file, "/x");
        assert!(
            read(back.as_ref(), &Task::new(), &Region::all(&[60, 70])).unwrap() == bytes,
            "{compression} {tile}"
        );
    }
    let payload = arrays(vec![("x", plain(DType::I16, &[60, 70], bytes))]);
    assert!(written(&payload, &[("compression", "GZIP_1"), ("tile", "3")]).is_err());
}
