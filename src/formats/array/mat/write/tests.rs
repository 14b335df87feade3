use super::*;
use crate::Source;
use crate::bytes::error::ErrorKind;
use crate::data::content::array::{Plain, read};
use crate::data::content::{Array, Content};
use crate::data::dtype::{DType, Field, Mini, Record};
use crate::data::format::Data;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::array::testing::{array, node, texts};
use ::arrow::array::{ArrayRef, StringArray};
use proptest::prelude::*;
use std::io::Cursor;

fn plain(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Arc<dyn Array> {
    Arc::new(Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec()).unwrap())
}

fn numbers(shape: &[u64]) -> Arc<dyn Array> {
    let count: u64 = shape.iter().product();
    plain(DType::I32, shape, (0..count as i32).flat_map(i32::to_le_bytes).collect())
}

fn written(arrays: Vec<(&str, Arc<dyn Array>)>, set: &[(&str, &str)]) -> Result<Document> {
    let mut options = Options::default();
    set.iter().for_each(|(name, value)| options.set(name, *value));
    let arrays = arrays.into_iter().map(|(name, array)| (name.to_owned(), array)).collect();
    let payload = Payload::plain(Data::Arrays(arrays));
    check(&payload)?;
    let mut sink = Cursor::new(Vec::new());
    write(&Task::new(), &payload, &options, &mut sink)?;
    let source = Source::memory("x.mat", sink.into_inner());
    let document = crate::formats::open_source(&Task::new(), &source, &Options::default())?;
    assert_eq!(document.format.id, "mat");
    assert!(document.root.problem.is_none(), "{:?}", document.root.problem);
    Ok(document)
}

/// Texts of any length.
struct Words(Vec<Option<&'static str>>, Vec<u64>, DType);

impl Array for Words {
    fn dtype(&self) -> &DType {
        &self.2
    }
    fn shape(&self) -> &[u64] {
        &self.1
    }
    fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
        Err(Error::unsupported("no bytes"))
    }
    fn column(&self, _: &Task, region: &Region) -> Result<ArrayRef> {
        assert_eq!(*region, Region::all(&self.1));
        Ok(Arc::new(self.0.iter().copied().collect::<StringArray>()))
    }
}

fn words(list: &[Option<&'static str>], shape: &[u64]) -> Arc<dyn Array> {
    Arc::new(Words(list.to_vec(), shape.to_vec(), DType::text()))
}

#[test]
fn shapes_have_two_dimensions_at_least() {
    for (oned, wanted) in [("row", [1, 3]), ("column", [3, 1])] {
        let file = written(
            vec![("one", numbers(&[3])), ("none", numbers(&[])), ("three", numbers(&[2, 3, 4]))],
            &[("oned", oned)],
        )
        .unwrap();
        assert_eq!(array(&file, "one").shape(), wanted);
        assert_eq!(array(&file, "none").shape(), [1, 1]);
        assert_eq!(texts(&*array(&file, "three"), "1, 2, ::3"), ["20", "23"]);
        assert_eq!(texts(&*array(&file, "one"), ""), ["0", "1", "2"]);
    }
}

#[test]
fn complex_numbers_are_two_parts_and_truth_values_stay() {
    let floats: Vec<u8> = (0..12).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let halves: Vec<u8> = [1.0f32, -2.5].iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect();
    for compression in ["zlib", "none"] {
        let file = written(
            vec![
                ("c", plain(DType::C64, &[2, 3], floats.clone())),
                ("b", plain(DType::Bool, &[1, 2], vec![1, 0])),
                ("h", plain(DType::F16, &[2], halves.clone())),
                ("m", plain(DType::Mini(Mini::F8E4M3FN), &[1], vec![0x38])),
            ],
            &[("compression", compression)],
        )
        .unwrap();
        assert_eq!(texts(&*array(&file, "c"), "1, :"), ["6.0+7.0j", "8.0+9.0j", "10.0+11.0j"]);
        assert_eq!(
            (array(&file, "b").dtype(), texts(&*array(&file, "b"), "")[0].as_str()),
            (&DType::Bool, "true")
        );
        assert_eq!(texts(&*array(&file, "h"), ""), ["1.0", "-2.5"]);
        assert_eq!(texts(&*array(&file, "m"), ""), ["1.0"]);
    }
}

#[test]
fn texts_are_cells_or_rows_of_characters() {
    let fixed = |list: &[&str], width: usize| -> Vec<u8> {
        let padded = |text: &&str| {
            let mut all: Vec<char> = text.chars().collect();
            all.resize(width, '\0');
            all
        };
        list.iter().flat_map(padded).flat_map(|c| u32::from(c).to_le_bytes()).collect()
    };
    let list = [Some("one"), None, Some("Größe 🪿"), Some("")];
    let file = written(
        vec![
            ("fixed", plain(DType::Str(3), &[2, 2], fixed(&["a", "bc", "東", "def"], 3))),
            ("wide", plain(DType::Str(2), &[2], fixed(&["🪿", "x"], 2))),
            ("bytes", plain(DType::Bytes(2), &[], b"hi".to_vec())),
            ("cells", words(&list, &[2, 2])),
        ],
        &[],
    )
    .unwrap();
    assert_eq!(texts(&*array(&file, "fixed"), ""), ["a  ", "bc ", "東  ", "def"]);
    assert_eq!(texts(&*array(&file, "wide"), ""), ["🪿 ", "x "]);
    assert_eq!(texts(&*array(&file, "bytes"), ""), ["hi"]);
    // Cells are counted by columns.
    assert_eq!(texts(&*array(&file, "cells{1,2}"), "").len(), 0);
    assert_eq!(texts(&*array(&file, "cells{2,1}"), ""), ["Größe 🪿"]);
    assert_eq!(texts(&*array(&file, "cells{1,1}"), ""), ["one"]);
    let short = [Some("ab"), Some("c")];
    let file = written(vec![("t", words(&short, &[2]))], &[("texts", "char")]).unwrap();
    assert_eq!(texts(&*array(&file, "t"), ""), ["ab", "c "]);
    let bytes = fixed(&["a", "bcd"], 3);
    let file = written(vec![("t", plain(DType::Str(3), &[2], bytes))], &[("texts", "cell")]).unwrap();
    assert_eq!(texts(&*array(&file, "t{1}"), ""), ["a"]);
}

#[test]
fn records_are_structs_of_arrays() {
    let field = |name: &str, dtype, shape: &[u64], offset| Field {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
        offset,
    };
    let long = "a_name_that_is_longer_than_thirty_one_characters";
    let fields = vec![field("a b", DType::U8, &[], 0), field(long, DType::U8, &[2], 1)];
    let dtype = DType::Struct(Arc::new(Record { fields, size: 3 }));
    let file = written(vec![("r", plain(dtype, &[2], vec![1, 2, 3, 4, 5, 6]))], &[]).unwrap();
    assert_eq!(texts(&*array(&file, "r.a_b"), ""), ["1", "4"]);
    assert_eq!(array(&file, &format!("r.{long}")).shape(), [2, 2]);
    assert_eq!(texts(&*array(&file, &format!("r.{long}")), ":, 1"), ["3", "6"]);
}

#[test]
fn names_are_made_valid_and_told() {
    let arrays: Vec<(String, Arc<dyn Array>)> =
        [("layer.0/w", numbers(&[1, 1])), ("ok", numbers(&[1, 1]))].map(|(n, a)| (n.to_owned(), a)).to_vec();
    let losses = losses(&Payload::plain(Data::Arrays(arrays.clone())), &Options::default());
    assert_eq!(losses.len(), 1);
    assert!(losses[0].what.ends_with("layer_0_w") && losses[0].path == "layer.0/w", "{losses:?}");
    let named: Vec<(&str, Arc<dyn Array>)> = arrays.iter().map(|(n, a)| (n.as_str(), a.clone())).collect();
    let file = written(named, &[]).unwrap();
    assert!(node(&file, "layer_0_w").content.is_some() && node(&file, "ok").content.is_some());
}

#[test]
fn two_gigabytes_are_refused_with_what_has_no_such_limit() {
    struct Huge([u64; 2]);
    impl Array for Huge {
        fn dtype(&self) -> &DType {
            &DType::F64
        }
        fn shape(&self) -> &[u64] {
            &self.0
        }
        fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
            Err(Error::bug("read"))
        }
    }
    let huge: Arc<dyn Array> = Arc::new(Huge([1 << 14, 1 << 14]));
    let error = written(vec![("huge", huge)], &[]).err().unwrap();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("MATLAB 7.3"), "{error}");
}

proptest! {
    #[test]
    fn any_numbers_read_back_equal(
        dtype in prop::sample::select(vec![
            DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64,
            DType::F32, DType::F64, DType::C64, DType::C128,
        ]),
        shape in prop::collection::vec(0u64..5, 2..5),
        packed: bool,
        seed: u8,
    ) {
        let len = dtype.size() * shape.iter().product::<u64>();
        let byte = |n: u64| (n as u8).wrapping_mul(31).wrapping_add(seed) & if dtype == DType::Bool { 1 } else { 0x7f };
        let bytes: Vec<u8> = (0..len).map(byte).collect();
        let source = plain(dtype.clone(), &shape, bytes.clone());
        let file = written(vec![("x", source)], &[("compression", if packed { "zlib" } else { "none" })]).unwrap();
        let back = match &node(&file, "x").content {
            Some(Content::Array(array)) => array.clone(),
            _ => panic!("no array"),
        };
        prop_assert_eq!((back.dtype(), back.shape()), (&dtype, shape.as_slice()));
        prop_assert_eq!(read(back.as_ref(), &Task::new(), &Region::all(&shape)).unwrap(), bytes);
    }
}
