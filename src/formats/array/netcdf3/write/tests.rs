use super::*;
use crate::Document;
use crate::bytes::source::Source;
use crate::data::cell;
use crate::data::content::array::{Axis, Plain, read};
use crate::data::content::table::MemoryTable;
use crate::data::content::{Array, ArrayFacts, Content};
use crate::data::dtype::{TimeBase, TimeUnit};
use crate::data::format::Data;
use crate::data::region::Region;
use arrow::array::{ArrayRef, BooleanArray, Int16Array, RecordBatch, StringArray};
use proptest::prelude::*;
use serde_json::json;
use std::io::Cursor;
use std::sync::Arc;

type Arrays = Vec<(String, Arc<dyn Array>)>;

fn written(payload: &Payload, set: &[(&str, &str)]) -> Result<Document> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    let mut sink = Cursor::new(Vec::new());
    write(&Task::new(), payload, &options, &mut sink)?;
    let source = Source::memory("x.nc", sink.into_inner());
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default())?;
    assert!(
        document.root.problem.is_none() && document.root.remarks.is_empty(),
        "{:?}",
        document.root.remarks
    );
    Ok(document)
}

fn named(dtype: DType, shape: &[u64], axes: &[&str], bytes: Vec<u8>) -> Arc<dyn Array> {
    let axes = axes.iter().map(|name| Axis { name: (*name).to_owned(), ..Axis::default() }).collect();
    let plain = Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap();
    Arc::new(plain.with_facts(ArrayFacts { axes, ..ArrayFacts::default() }))
}

fn back(document: &Document, name: &str) -> Arc<dyn Array> {
    let node = document.root.find(&Task::new(), &format!("/{name}")).unwrap().unwrap();
    assert!(node.problem.is_none(), "{:?}", node.problem);
    match &node.content {
        Some(Content::Array(array)) => array.clone(),
        _ => panic!("no array"),
    }
}

fn numbers(array: &dyn Array) -> Vec<u64> {
    let mut out = Vec::new();
    array.dtype().decode(&read(array, &Task::new(), &Region::all(array.shape())).unwrap(), &mut out);
    out.iter().map(|n| if n.is_nan() { u64::MAX } else { n.to_bits() }).collect()
}

fn texts(array: &dyn Array) -> Vec<String> {
    let column = array.column(&Task::new(), &Region::all(array.shape())).unwrap();
    (0..column.len()).map(|row| cell::text(column.as_ref(), row).unwrap_or_default()).collect()
}

/// The type, the names and lengths of dimensions, and what the values are made of.
type Spec = (DType, Vec<(&'static str, u64)>, u64);

fn specs() -> impl Strategy<Value = Vec<Spec>> {
    let types = prop_oneof![
        Just(DType::I8),
        Just(DType::I16),
        Just(DType::I32),
        Just(DType::F32),
        Just(DType::F64),
        Just(DType::U8),
        Just(DType::U16),
        Just(DType::U32),
        Just(DType::I64),
        Just(DType::U64),
        Just(DType::F16),
        Just(DType::BF16),
        Just(DType::Bool),
    ];
    let axis = (prop_oneof![Just(""), Just("x"), Just("y"), Just("t")], 0u64..5);
    prop::collection::vec((types, prop::collection::vec(axis, 0..4), any::<u64>()), 1..5)
}

fn arrays(specs: &[Spec]) -> Arrays {
    let make = |(n, (dtype, axes, seed)): (usize, &Spec)| {
        let shape: Vec<u64> = axes.iter().map(|(_, len)| *len).collect();
        let count = shape.iter().product::<u64>() * dtype.size();
        let mixed = |n: u64| ((n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(*seed)) >> 40) as u8;
        let bit = |n: u64| if *dtype == DType::Bool { mixed(n) & 1 } else { mixed(n) };
        let names: Vec<&str> = axes.iter().map(|(name, _)| *name).collect();
        // The first is called as a dimension may be.
        let name = if n == 0 { "x".to_owned() } else { format!("v{n}") };
        (name, named(dtype.clone(), &shape, &names, (0..count).map(bit).collect()))
    };
    specs.iter().enumerate().map(make).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_written_reads_back(specs in specs(), version in 0usize..4, unlimited in any::<bool>()) {
        let set = [("version", ["auto", "1", "2", "5"][version]), ("unlimited", if unlimited { "t" } else { "" })];
        let arrays = arrays(&specs);
        let payload = Payload::plain(Data::Arrays(arrays.clone()));
        match written(&payload, &set) {
            Err(error) => prop_assert_eq!(error.kind(), crate::ErrorKind::Unsupported),
            Ok(document) => {
                for (name, from) in &arrays {
                    if from.shape().get(1..).unwrap_or_default().contains(&0) {
                        continue;
                    }
                    let to = back(&document, name);
                    prop_assert_eq!(to.shape(), from.shape());
                    prop_assert_eq!(numbers(to.as_ref()), numbers(from.as_ref()));
                }
            }
        }
    }
}

#[test]
fn the_smallest_version_is_taken() {
    let version = |dtype: DType, set: &[(&str, &str)]| -> String {
        let bytes = vec![1; 4 * dtype.size() as usize];
        let payload = Payload::plain(Data::Arrays(vec![("a".to_owned(), named(dtype, &[4], &["x"], bytes))]));
        let document = written(&payload, set).unwrap();
        document.root.reader.iter().find(|(name, _)| name == "file format").unwrap().1.to_string()
    };
    assert!(version(DType::F32, &[]).starts_with("CDF-1"));
    assert!(version(DType::U8, &[]).starts_with("CDF-5") && version(DType::I64, &[]).starts_with("CDF-5"));
    assert!(version(DType::U16, &[("version", "2")]).starts_with("CDF-2"));
}

#[test]
fn groups_texts_times_and_records() {
    let text = named(
        DType::Str(3),
        &[2],
        &["n"],
        "abcé\0\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
    );
    let time = DType::DateTime(TimeUnit { count: 1, base: TimeBase::Second });
    let time = named(time, &[2], &["t"], [5i64, i64::MIN].iter().flat_map(|n| n.to_le_bytes()).collect());
    let complex =
        named(DType::C64, &[1], &["n"], [1f32, -2.0].iter().flat_map(|n| n.to_le_bytes()).collect());
    let names = ["g/words", "t", "g/z"].map(str::to_owned);
    let arrays: Arrays = names.into_iter().zip([text, time, complex]).collect();
    let mut payload = Payload::plain(Data::Arrays(arrays));
    payload.parts.insert("g".to_owned(), vec![("note".to_owned(), "n".into())].into());
    payload.parts.insert("t".to_owned(), vec![("scale".to_owned(), json!(7).into())].into());
    let document = written(&payload, &[("unlimited", "t")]).unwrap();
    assert_eq!(texts(back(&document, "g__words").as_ref()), ["abc", "é"]);
    let times = back(&document, "t");
    assert_eq!(
        (times.dtype(), times.facts().unit.as_deref()),
        (&DType::I64, Some("seconds since 1970-01-01"))
    );
    assert_eq!(back(&document, "g__z").shape(), [1, 2]);
    let attributes = &document.root.attributes;
    assert!(
        attributes.iter().any(|(name, value)| name == "g__note" && value.to_string() == "n"),
        "{attributes:?}"
    );
    let said = losses(&payload, &Options::default());
    assert!(said.iter().any(|loss| loss.kind == LossKind::Name && loss.path == "g/words"), "{said:?}");
}

#[test]
fn columns_lie_along_rows_and_nulls_have_a_value() {
    let n: ArrayRef = Arc::new(Int16Array::from(vec![Some(1), None, Some(3)]));
    let s: ArrayRef = Arc::new(StringArray::from(vec!["a", "", "long text"]));
    let b: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let batch = RecordBatch::try_from_iter([("n", n), ("s s", s), ("b", b)]).unwrap();
    let payload = Payload::plain(Data::Table(Arc::new(MemoryTable::new(batch))));
    for unlimited in ["", "row"] {
        let document = written(&payload, &[("unlimited", unlimited)]).unwrap();
        let n = back(&document, "n");
        assert_eq!(n.facts().scaling.unwrap().fill, [-32_767.0]);
        assert_eq!(texts(n.as_ref()), ["1", "-32767", "3"]);
        assert_eq!(texts(back(&document, "s s").as_ref()), ["a", "", "long text"]);
        let b = back(&document, "b");
        assert_eq!((b.shape(), b.facts().axes[0].name.as_str()), (&[3u64][..], "row"));
        let node = document.root.find(&Task::new(), "/b").unwrap().unwrap();
        assert!(node.attributes.iter().all(|(name, _)| name != "_FillValue"));
    }
}
