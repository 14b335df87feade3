mod pair;

use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::source::Source;
use crate::data::content::Array;
use crate::data::content::array::read;
use crate::data::format::Data;
use crate::data::open::Document;
use crate::data::region::Region;
use crate::formats::array::testing::{array, texts};
use crate::formats::open_source;
use proptest::prelude::*;
use std::io::Write as _;
use std::path::Path;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/idx/");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FIXTURES}{name}")).unwrap()
}

fn opened(name: &str) -> Result<Document> {
    crate::open(&Task::new(), Path::new(&format!("{FIXTURES}{name}")), &Options::default())
}

fn in_memory(name: &str, bytes: &[u8]) -> Document {
    open_source(&Task::new(), &Source::memory(name, bytes.to_vec()), &Options::default()).unwrap()
}

/// Each type as make.py made it, from the numbers -7 to 16.
#[test]
fn every_type_has_its_values() {
    let all = |file: &str| {
        let array = array(&opened(file).unwrap(), "");
        assert_eq!(array.shape(), [2, 3, 4], "{file}");
        (array.dtype().to_string(), texts(&*array, ":"))
    };
    let of = |value: &dyn Fn(i64) -> String| (-7..17).map(value).collect::<Vec<String>>();
    assert_eq!(all("u1.idx"), ("uint8".to_owned(), of(&|n| n.rem_euclid(256).to_string())));
    assert_eq!(all("i1.idx"), ("int8".to_owned(), of(&|n| n.to_string())));
    assert_eq!(all("i2.idx"), ("int16".to_owned(), of(&|n| (n * 999).to_string())));
    assert_eq!(all("unnamed").1, all("i2.idx").1);
    assert_eq!(all("unnamed.gz").1, all("i2.idx").1);
    assert_eq!(all("i4.idx"), ("int32".to_owned(), of(&|n| (n * 99_999_999).to_string())));
    let float = |n: i64| crate::data::cell::float64(n as f64 * 1.1);
    assert_eq!(all("f8.idx"), ("float64".to_owned(), of(&float)));
    let (dtype, values) = all("f4.idx");
    let values: Vec<f32> = values.iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(
        (dtype.as_str(), values),
        ("float32", (-7..17).map(|n| (f64::from(n) * 1.1) as f32).collect())
    );
    let special = array(&opened("special.idx").unwrap(), "");
    assert_eq!(texts(&*special, ":"), ["nan", "inf", "-inf", "-0.0", "5e-324"]);
}

#[test]
fn pictures_labels_and_many_dimensions_have_their_shapes() {
    let shape = |name: &str| array(&opened(name).unwrap(), "").shape().to_vec();
    assert_eq!(shape("train-images-idx3-ubyte"), [10, 28, 28]);
    assert_eq!(shape("train-images-idx3-ubyte.gz"), [10, 28, 28]);
    assert_eq!(shape("t10k-labels-idx1-ubyte"), [10]);
    assert_eq!(shape("empty.idx3-ubyte"), [0, 28, 28]);
    assert_eq!(shape("sixteen_dimensions.idx"), [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1, 1]);
    let labels = array(&opened("labels.idx2-int").unwrap(), "");
    assert_eq!(texts(&*labels, "1"), ["-4", "-3", "-2", "-1", "0", "1", "2", "3"]);
    // What the second picture holds is the first one, moved by three.
    let pictures = array(&opened("train-images-idx3-ubyte").unwrap(), "");
    assert_eq!(texts(&*pictures, "1,5,3:"), texts(&*pictures, "0,5,:25"));
}

#[test]
fn a_name_or_the_exact_length_tells_and_the_zeros_alone_do_not() {
    let whole = fixture("i2.idx");
    let format = |name: &str, bytes: &[u8]| in_memory(name, bytes).format.id;
    for name in ["a", "a.bin", "a.txt"] {
        assert_eq!(format(name, &whole), "idx", "{name}");
        assert_ne!(format(name, &whole[..63]), "idx", "{name}");
        assert_ne!(format(name, &[&whole[..], b"."].concat()), "idx", "{name}");
    }
    for name in ["a.idx", "a.IDX3-short", "a-idx3-short", "a_idx12-short", "dir/train-idx3-x"] {
        assert_eq!(format(name, &whole[..63]), "idx", "{name}");
    }
    for name in ["idx", "aidx", "a.idx-", "a.idx3", "a.idx3ubyte", "idx3-short"] {
        assert_ne!(format(name, &whole[..63]), "idx", "{name}");
    }
    // The index of a RecordIO file, and one of something else.
    assert_eq!(format("images.idx", b"0\t0\n1\t484\n2\t1000\n"), "text");
    assert_ne!(format("pack.idx", b"\xfftOc\0\0\0\x02\0\0\0\0"), "idx");
}

/// A stream that is not decompressed to its end when it is opened has no length yet.
#[test]
fn a_large_compressed_file_is_recognised_by_its_header() {
    let mut seed = 1u64;
    let mut bytes = header(&DType::U8, &[100, 256, 256]).unwrap();
    bytes.extend((0..100 * 256 * 256).map(|_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    }));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let document = in_memory("a.gz", &gzip.finish().unwrap());
    let array = array(&document, "");
    assert!(document.root.formats.iter().any(|format| format.id == "idx"));
    let last = Region::parse("99,255", array.shape()).unwrap().0;
    assert_eq!(read(&*array, &Task::new(), &last).unwrap(), bytes[bytes.len() - 256..]);
}

#[test]
fn damage_is_named_and_what_is_there_is_shown() {
    let said = |name: &str| match opened(&format!("malformed/{name}")) {
        Ok(document) => {
            let problem = document.root.problem.iter().map(Error::message);
            problem
                .chain(document.root.remarks.clone())
                .chain(document.remarks)
                .collect::<Vec<_>>()
                .join("; ")
        }
        Err(error) => error.message(),
    };
    let cut = "needs 7840 bytes, 2452 are there; the file may be cut off";
    for (name, words) in [
        ("cut_in_values-idx3-ubyte", cut),
        ("no_values-idx3-ubyte", "needs 7840 bytes, 0 are there"),
        ("too_long-idx1-ubyte", "4 bytes follow the array at byte 18"),
        ("cut_in_sides-idx3-ubyte", "it ends within the lengths of 3 dimensions"),
        ("magic_only-idx3-ubyte", "it ends within the lengths of 3 dimensions"),
        ("overflow.idx3-ubyte", "its product overflows 64 bits"),
        ("overflow_by_header.idx", "its bytes overflow 64 bits"),
        ("huge.idx3-ubyte", "elements of uint8 overflow 64 bits"),
        ("type.idx3-ubyte", "the content is not IDX"),
        ("rank_0.idx3-ubyte", "it has no dimensions"),
        ("cut_gzip-idx3-ubyte.gz", "gzip"),
    ] {
        assert!(said(name).contains(words), "{name}: {}", said(name));
    }
    let document = opened("malformed/cut_in_values-idx3-ubyte").unwrap();
    let array = array(&document, "");
    assert_eq!(array.shape(), [3, 28, 28]);
    let all = read(&*array, &Task::new(), &Region::all(array.shape())).unwrap();
    assert_eq!(all, fixture("train-images-idx3-ubyte")[16..16 + 3 * 784]);
    // A type that there is not is named where somebody says that it is IDX.
    let mut forced = Options::default();
    forced.set("format", "idx");
    let source = Source::memory("a", fixture("malformed/type.idx3-ubyte"));
    let error = open_source(&Task::new(), &source, &forced).err().unwrap();
    assert!(error.message().contains("there is no type 0x0a"), "{error}");
}

fn written(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Result<Vec<u8>> {
    let plain = Plain::new(Source::memory("a", bytes), 0, dtype, shape.to_vec())?;
    let arrays: Vec<(String, Arc<dyn Array>)> = vec![("a".to_owned(), Arc::new(plain))];
    let mut out = std::io::Cursor::new(Vec::new());
    super::write(&Task::new(), &Payload::plain(Data::Arrays(arrays)), &Options::default(), &mut out)?;
    Ok(out.into_inner())
}

#[test]
fn what_idx_has_not_is_refused_in_words() {
    let refused = |dtype: DType, shape: &[u64]| {
        let error = header(&dtype, shape).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        error.message()
    };
    assert!(refused(DType::I64, &[1]).contains("IDX has no int64; it has uint8, int8, int16"));
    assert!(refused(DType::Bool, &[1]).contains("IDX has no bool"));
    assert!(refused(DType::U8, &[]).contains("an array of 0 dimensions"));
    assert!(refused(DType::U8, &[1; 256]).contains("an array of 256 dimensions"));
    assert!(refused(DType::U8, &[1 << 32, 0]).contains("a side of 4294967296"));
    // Said when a conversion is planned, not in the middle of it.
    let target = crate::convert::Target::by_id("idx").unwrap();
    let plan = |array: Plain| {
        let items = [crate::convert::Item::new("a", Content::Array(Arc::new(array)), Default::default())];
        crate::convert::plan(&items, target, &Options::default(), &Default::default()).map(drop)
    };
    let of = |dtype: DType| Plain::new(Source::memory("a", vec![0; 8]), 0, dtype, vec![1]).unwrap();
    assert!(plan(of(DType::F64)).is_ok());
    assert!(plan(of(DType::I64)).err().unwrap().message().contains("IDX has no int64"));
}

proptest! {
    #[test]
    fn any_array_reads_back_equal(
        kind in 0usize..TYPES.len(), shape in prop::collection::vec(0u64..4, 1..6), ones in 0usize..250, seed: u8,
    ) {
        let dtype = TYPES[kind].1.clone();
        let shape: Vec<u64> = shape.into_iter().chain(std::iter::repeat_n(1, ones)).collect();
        let len = shape.iter().product::<u64>() * dtype.size();
        let bytes: Vec<u8> = (0..len).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed)).collect();
        let document = in_memory("a", &written(dtype.clone(), &shape, bytes.clone()).unwrap());
        prop_assert_eq!(document.format.id, "idx");
        let back = array(&document, "");
        prop_assert_eq!((back.dtype(), back.shape()), (&dtype, shape.as_slice()));
        prop_assert_eq!(read(&*back, &Task::new(), &Region::all(&shape)).unwrap(), bytes);
    }
}

/// What is read and written again is the same file, byte by byte: those of idx2numpy.
#[test]
fn files_are_written_as_they_were() {
    for name in
        ["train-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "labels.idx2-int", "f8.idx", "special.idx"]
    {
        let array = array(&opened(name).unwrap(), "");
        let bytes = read(&*array, &Task::new(), &Region::all(array.shape())).unwrap();
        assert_eq!(written(array.dtype().clone(), array.shape(), bytes).unwrap(), fixture(name), "{name}");
    }
}
