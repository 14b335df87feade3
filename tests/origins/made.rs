//! Files that are made at random: NPY, Zarr, ZIP, JSON documents, texts of any length in HDF5.

use super::{PLACES, Seen, look, opened, rows};
use gander::data::format::Options;
use gander::{Document, Task};
use proptest::prelude::*;
use std::io::Write as _;
use std::path::Path;

/// What was found, nothing of it wrong.
fn sound(document: &Document, seed: u64) -> Seen {
    let seen = look(document, seed);
    assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
    seen
}

/// A file of NumPy of these 32-bit numbers.
fn npy(shape: &[usize], values: &[i32], big: bool, columns_first: bool) -> Vec<u8> {
    let sides: Vec<String> = shape.iter().map(|side| format!("{side},")).collect();
    let order = if columns_first { "True" } else { "False" };
    let mut header = format!(
        "{{'descr': '{}i4', 'fortran_order': {order}, 'shape': ({}), }}",
        if big { '>' } else { '<' },
        sides.join(" ")
    );
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(values.iter().flat_map(|n| if big { n.to_be_bytes() } else { n.to_le_bytes() }));
    bytes
}

/// The lengths of chunks along a side: one for all, or of several that fill it.
fn lengths(side: usize, chunk: usize, uneven: bool) -> Vec<usize> {
    if !uneven {
        return vec![chunk; side.div_ceil(chunk)];
    }
    let (mut left, mut next, mut all) = (side, 1, Vec::new());
    while left > 0 {
        let take = left.min(next);
        all.push(take);
        (left, next) = (left - take, next % chunk + 1);
    }
    all
}

/// A Zarr array of two sides in a folder: `a[i, j] = 7 i + 1000 j`, with the first chunk left out.
fn zarr(folder: &Path, shape: [usize; 2], chunk: [usize; 2], uneven: bool, gzip: bool, big: bool) {
    let sides = [0, 1].map(|n| lengths(shape[n], chunk[n], uneven));
    let grid = match uneven {
        true => {
            serde_json::json!({ "name": "rectilinear", "configuration": { "kind": "inline", "chunk_shapes": sides } })
        }
        false => serde_json::json!({ "name": "regular", "configuration": { "chunk_shape": chunk } }),
    };
    let endian = if big { "big" } else { "little" };
    let mut codecs = vec![serde_json::json!({ "name": "bytes", "configuration": { "endian": endian } })];
    if gzip {
        codecs.push(serde_json::json!({ "name": "gzip", "configuration": { "level": 1 } }));
    }
    let meta = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32", "chunk_grid": grid,
        "chunk_key_encoding": { "name": "default" }, "fill_value": -1, "codecs": codecs,
    });
    std::fs::write(folder.join("zarr.json"), meta.to_string()).unwrap();
    let mut first = 0;
    for (i, rows) in sides[0].iter().enumerate() {
        let mut second = 0;
        for (j, columns) in sides[1].iter().enumerate() {
            let value = |r: usize, c: usize| (7 * (first + r) + 1000 * (second + c)) as i32;
            let values = (0..*rows).flat_map(|r| (0..*columns).map(move |c| value(r, c)));
            let mut bytes: Vec<u8> =
                values.flat_map(|n| if big { n.to_be_bytes() } else { n.to_le_bytes() }).collect();
            if gzip {
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(&bytes).unwrap();
                bytes = packed.finish().unwrap();
            }
            if i + j > 0 {
                std::fs::create_dir_all(folder.join(format!("c/{i}"))).unwrap();
                std::fs::write(folder.join(format!("c/{i}/{j}")), bytes).unwrap();
            }
            second += columns;
        }
        first += rows;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn elements_of_any_numpy_file_lie_where_it_is_told(
        shape in prop::collection::vec(1usize..20, 1..4), big: bool, columns_first: bool, seed: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let count = shape.iter().product::<usize>();
        let values: Vec<i32> = (0..count as i32).map(|n| n * 7 - 3).collect();
        let bytes = npy(&shape, &values, big, columns_first);
        let seen = sound(&opened(folder.path(), "a.npy", &bytes), seed);
        let places = PLACES.min(count as u64);
        prop_assert_eq!((seen.compared, seen.plain, seen.back), (places, places, places));
        // The same as a member of an archive, packed or as it is.
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, method) in [("a.npy", zip::CompressionMethod::Stored), ("b.npy", zip::CompressionMethod::Deflated)] {
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            archive.start_file(name, options).unwrap();
            archive.write_all(&bytes).unwrap();
        }
        let bytes = archive.finish().unwrap().into_inner();
        let seen = sound(&opened(folder.path(), "z.zip", &bytes), seed);
        // Two members, and the elements of both.
        prop_assert_eq!(seen.compared, 2 * places + 2);
    }

    #[test]
    fn elements_of_any_zarr_array_lie_where_it_is_told(
        shape in (1usize..30, 1usize..30), chunk in (1usize..9, 1usize..9), uneven: bool, gzip: bool, big: bool, seed: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zarr");
        std::fs::create_dir(&path).unwrap();
        zarr(&path, [shape.0, shape.1], [chunk.0, chunk.1], uneven, gzip, big);
        let document = gander::open(&Task::new(), &path, &Options::default()).unwrap();
        let seen = sound(&document, seed);
        let places = PLACES.min((shape.0 * shape.1) as u64);
        prop_assert_eq!(seen.compared + seen.absent, places, "{:?}", seen);
        prop_assert_eq!(seen.back, seen.plain, "{:?}", seen);
        prop_assert!(!gzip || seen.plain == 0, "{:?}", seen);
    }

    #[test]
    fn cells_of_any_json_document_lie_where_it_is_told(rows in rows(), indent: bool, seed: u64) {
        let folder = tempfile::tempdir().unwrap();
        let list: Vec<_> = rows.iter().map(|(n, s)| serde_json::json!({ "n": n, "s": s })).collect();
        let text = if indent { serde_json::to_string_pretty(&list) } else { serde_json::to_string(&list) };
        let seen = sound(&opened(folder.path(), "t.json", text.unwrap().as_bytes()), seed);
        prop_assert_eq!(seen.compared, PLACES.min(rows.len() as u64 * 2), "{:?}", seen);
        prop_assert_eq!(seen.back, seen.plain, "{:?}", seen);
    }

    #[test]
    fn texts_of_any_length_lie_in_the_heap_where_it_is_told(
        texts in prop::collection::vec("[a-zäß ]{1,40}", 1..200), chunk in 1usize..50, gzip: bool, seed: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.h5");
        let file = ::hdf5::File::create(&path).unwrap();
        let values: Vec<::hdf5::types::VarLenUnicode> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let mut builder = file.new_dataset_builder();
        if chunk < 40 {
            builder = builder.chunk(chunk.min(texts.len()));
        }
        if gzip && chunk < 40 {
            builder = builder.deflate(3);
        }
        let dataset = builder.empty::<::hdf5::types::VarLenUnicode>().shape(texts.len()).create("x").unwrap();
        dataset.write_raw(&values).unwrap();
        drop((dataset, file));
        let document = gander::open(&Task::new(), &path, &Options::default()).unwrap();
        let seen = sound(&document, seed);
        prop_assert_eq!(seen.heaps, PLACES.min(texts.len() as u64), "{:?}", seen);
    }
}
