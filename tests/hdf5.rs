//! HDF5 by our own reader against libhdf5, which writes the files and says what is in them: any shape, chunk,
//! type, filter and part. And damaged files, of which only an error may come.

use ::hdf5::filters::ScaleOffset;
use ::hdf5::plist::dataset_create::AllocTime;
use ::hdf5::types::VarLenUnicode;
use ::hdf5::{Extent, H5Type, Hyperslab, SimpleExtents, SliceOrIndex};
use gander::data::content::{Array, Content, array};
use gander::data::format::Options;
use gander::data::region::{Region, Span, pieces};
use gander::{Error, ErrorKind, Source, Task};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One dataset to be.
#[derive(Clone, Debug)]
struct Case {
    shape: Vec<usize>,
    /// The chunk's shape; empty for one piece.
    chunk: Vec<usize>,
    /// For each dimension: 0 as it is, 1 some more, 2 without an end.
    growth: Vec<u8>,
    kind: u8,
    filters: Vec<u8>,
    early: bool,
    fill: Option<u8>,
    /// How much of the first dimension is written, in quarters.
    written: usize,
    seed: u64,
    /// Start, count and step of parts, as shares of each dimension.
    parts: Vec<(u8, u8, u8)>,
}

fn case() -> impl Strategy<Value = Case> {
    let dims = prop::collection::vec((1usize..24, 1usize..12, 0u8..3), 0..4);
    let what = (0u8..8, prop::collection::vec(0u8..5, 0..3), any::<bool>(), any::<bool>());
    let rest = (
        prop::option::of(any::<u8>()),
        0usize..5,
        any::<u64>(),
        prop::collection::vec(any::<(u8, u8, u8)>(), 8),
    );
    (dims, what, rest).prop_map(
        |(dims, (kind, mut filters, chunked, early), (fill, written, seed, parts))| {
            filters.dedup();
            // libhdf5 itself cannot undo n-bit and scale-offset after others, and damages its memory trying.
            let mut first = true;
            filters.retain(|filter| std::mem::take(&mut first) || *filter < 3);
            let chunked = chunked || !filters.is_empty() || dims.iter().any(|d| d.2 > 0);
            let chunk = if chunked { dims.iter().map(|d| d.1.min(d.0)).collect() } else { Vec::new() };
            let growth = dims.iter().map(|d| d.2).collect();
            if dims.is_empty() {
                filters.clear();
            }
            Case {
                shape: dims.iter().map(|d| d.0).collect(),
                chunk,
                growth,
                kind,
                filters,
                early,
                fill,
                written,
                seed,
                parts,
            }
        },
    )
}

/// A number of its own for each place, with repetitions that compress.
fn number(seed: u64, n: usize) -> u64 {
    let mixed = (n as u64 / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed);
    (mixed >> 40) % if seed.is_multiple_of(2) { 7 } else { 1 << 20 }
}

/// Makes the dataset.
fn made<T: H5Type + Copy>(
    file: &::hdf5::File,
    name: &str,
    case: &Case,
    of: impl Fn(u64) -> T,
    is_float: bool,
) -> ::hdf5::Result<()> {
    let side = |(len, growth): (&usize, &u8)| match growth {
        0 => Extent::fixed(*len),
        1 => Extent::new(*len, Some(len + 13)),
        _ => Extent::resizable(*len),
    };
    let extents = SimpleExtents::from_vec(case.shape.iter().zip(&case.growth).map(side).collect());
    let extents =
        if case.shape.is_empty() { ::hdf5::Extents::scalar() } else { ::hdf5::Extents::simple(extents) };
    let mut builder = file.new_dataset_builder().empty::<T>().shape(extents);
    builder = if case.chunk.is_empty() { builder.no_chunk() } else { builder.chunk(case.chunk.clone()) };
    for filter in &case.filters {
        builder = match filter {
            0 => builder.deflate(3),
            1 => builder.shuffle(),
            2 => builder.fletcher32(),
            3 => builder.nbit(),
            _ if is_float => builder.scale_offset(ScaleOffset::FloatDScale(2)),
            _ => builder.scale_offset(ScaleOffset::Integer(0)),
        };
    }
    if case.early {
        builder = builder.alloc_time(Some(AllocTime::Early));
    }
    if let Some(fill) = case.fill {
        builder = builder.fill_value(of(u64::from(fill)));
    }
    let dataset = builder.create(name)?;
    let count: usize = case.shape.iter().product();
    let values: Vec<T> = (0..count).map(|n| of(number(case.seed, n))).collect();
    let rows = case.shape.first().map_or(0, |len| len * case.written / 4);
    if case.written >= 4 || case.shape.is_empty() {
        dataset.write_raw(&values)?;
    } else if rows > 0 {
        let mut shape = case.shape.clone();
        shape[0] = rows;
        let some = values[..shape.iter().product()].to_vec();
        let part = ndarray::ArrayD::from_shape_vec(shape.clone(), some).unwrap();
        let whole = |len: &usize| SliceOrIndex::SliceCount { start: 0, step: 1, count: *len, block: 1 };
        let selection: Vec<SliceOrIndex> = shape.iter().map(whole).collect();
        dataset.write_slice(&part, Hyperslab::new(selection))?;
    }
    Ok(())
}

/// The bytes of a part of what libhdf5 said.
fn part<T: Copy>(truth: &[T], shape: &[usize], region: &Region, bytes: impl Fn(T) -> Vec<u8>) -> Vec<u8> {
    let mut places = vec![0usize];
    for (span, len) in region.0.iter().zip(shape) {
        let along = |at: &usize| {
            let at = *at;
            (0..span.count).map(move |n| at * len + span.index(n) as usize)
        };
        places = places.iter().flat_map(along).collect();
    }
    places.into_iter().flat_map(|at| bytes(truth[at])).collect()
}

fn regions(case: &Case) -> Vec<Region> {
    let shape: Vec<u64> = case.shape.iter().map(|n| *n as u64).collect();
    let mut all = vec![Region::all(&shape)];
    for n in 0..2 {
        let span = |(axis, &len): (usize, &u64)| {
            let (a, b, step) = case.parts[n * 4 + axis];
            let start = u64::from(a) % len;
            let step = 1 + u64::from(step) % 3;
            Span { start, count: (u64::from(b) % (len - start + 1)).div_ceil(step), step }
        };
        all.push(Region(shape.iter().enumerate().map(span).collect()));
    }
    all
}

fn array_at(task: &Task, path: &Path, name: &str) -> Arc<dyn Array> {
    let document = gander::open(task, path, &Options::default()).unwrap();
    let node = document.root.find(task, &format!("/{name}")).unwrap().expect("the dataset is there");
    match &node.content {
        Some(Content::Array(array)) => array.clone(),
        other => panic!("{name}: {:?} {:?}", other.as_ref().map(Content::kind), node.problem),
    }
}

fn compared<T: H5Type + Copy, const N: usize>(
    file: ::hdf5::File,
    path: &Path,
    case: &Case,
    (of, bytes): (impl Fn(u64) -> T, fn(T) -> [u8; N]),
    is_float: bool,
) -> Result<bool, TestCaseError> {
    // Not every filter takes every type and shape; those that libhdf5 refuses are no cases.
    if made(&file, "d", case, of, is_float).is_err() {
        return Ok(false);
    }
    drop(file);
    // From the disk, not from its cache: some filters change values, and some pairs of them cannot be undone.
    let opened = ::hdf5::File::with_options().with_fapl(|p| p.file_locking(false)).open(path);
    let read = opened.and_then(|file| file.dataset("d")?.read_raw::<T>());
    let Ok(truth) = read else { return Ok(false) };
    let task = Task::new();
    let array = array_at(&task, path, "d");
    let shape: Vec<u64> = case.shape.iter().map(|n| *n as u64).collect();
    prop_assert_eq!(array.shape(), &shape[..]);
    for region in regions(case) {
        let got = array::read(array.as_ref(), &task, &region);
        let got = got.map_err(|e| TestCaseError::fail(format!("{e} in {case:?}")))?;
        prop_assert!(
            got == part(&truth, &case.shape, &region, |v| bytes(v).to_vec()),
            "{region:?} of {case:?}"
        );
    }
    let blocks = array.layout(&task).unwrap().blocks;
    let chunks: usize = case.shape.iter().zip(&case.chunk).map(|(len, side)| len.div_ceil(*side)).product();
    prop_assert!(case.chunk.is_empty() || blocks.len() == chunks);
    Ok(true)
}

fn check(case: &Case, folder: &Path) -> Result<bool, TestCaseError> {
    let path = folder.join(format!("{:?}.h5", std::thread::current().id()));
    let latest = !case.seed.is_multiple_of(3);
    // Without locks: programs that other tests start meanwhile inherit the open file, and its lock with it.
    let file = ::hdf5::File::with_options()
        .with_fapl(|p| if latest { p.libver_latest() } else { p.libver_earliest() }.file_locking(false))
        .create(&path)
        .unwrap();
    match case.kind {
        0 => compared(file, &path, case, (|n| n as i8, i8::to_le_bytes), false),
        1 => compared(file, &path, case, (|n| n as u16, u16::to_le_bytes), false),
        2 => compared(file, &path, case, (|n| n as i32 - 500, i32::to_le_bytes), false),
        3 => compared(file, &path, case, (|n| n.wrapping_mul(n), u64::to_le_bytes), false),
        4 => compared(file, &path, case, (|n| n as f32 / 8.0 - 3.0, f32::to_le_bytes), true),
        5 => compared(file, &path, case, (|n| n as f64 / 7.0, f64::to_le_bytes), true),
        6 => compared(file, &path, case, (|n| n as i64 - 5, i64::to_le_bytes), false),
        _ => compared(file, &path, case, (|n| n % 3 == 0, |b| [u8::from(b)]), false),
    }
}

#[test]
fn libhdf5_says_the_same() {
    const CASES: u32 = 2600;
    // The same cases in every run, so that a failure can be looked into; GANDER_SEED asks for others.
    let base: u8 = std::env::var("GANDER_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    let folder = tempfile::tempdir().unwrap();
    // Two threads, since libhdf5 has one lock and ours decodes on all cores anyway.
    let run = |n: u8| {
        let config =
            ProptestConfig { cases: CASES / 2, failure_persistence: None, ..ProptestConfig::default() };
        let counted = std::cell::Cell::new(0);
        let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[base.wrapping_add(n); 32]);
        let mut runner = TestRunner::new_with_rng(config, seed);
        let done = runner.run(&case(), |case| {
            counted.set(counted.get() + u32::from(check(&case, folder.path())?));
            Ok(())
        });
        done.map(|()| counted.get()).map_err(|e| e.to_string())
    };
    // Threads of their own: one of rayon's could take up the other half in the middle of a case.
    let halves = std::thread::scope(|scope| {
        let second = scope.spawn(|| run(1));
        [run(0), second.join().unwrap()]
    });
    let compared: u32 = halves.into_iter().map(|half| half.unwrap_or_else(|e| panic!("{e}"))).sum();
    assert!(compared >= 2000, "only {compared} of {CASES} cases were compared");
}

/// A file with a little of everything, in the oldest or the newest form.
fn sample(folder: &Path, latest: bool) -> Vec<u8> {
    #[derive(H5Type, Clone, Copy)]
    #[repr(C)]
    struct Record {
        id: i32,
        value: f64,
    }
    let path = folder.join(format!("sample-{latest}.h5"));
    let file = ::hdf5::File::with_options()
        .with_fapl(|p| if latest { p.libver_latest() } else { p.libver_earliest() })
        .create(&path)
        .unwrap();
    let values: Vec<i32> = (0..600).collect();
    let plain = file.new_dataset::<i32>().shape([20, 30]).create("plain").unwrap();
    plain.write_raw(&values).unwrap();
    let chunked = file.new_dataset::<i32>().shape([20, 30]).chunk([7, 8]);
    chunked.shuffle().deflate(4).fletcher32().create("group/zipped").unwrap().write_raw(&values).unwrap();
    for (name, first, second) in [("a", false, true), ("b", true, false), ("c", true, true)] {
        let side = |len: usize, grows: bool| if grows { Extent::resizable(len) } else { Extent::fixed(len) };
        let extents = SimpleExtents::from_vec(vec![side(20, first), side(30, second)]);
        let grown = file.new_dataset::<i32>().shape(extents).chunk([3, 8]).shuffle();
        grown.create(name).unwrap().write_raw(&values).unwrap();
    }
    let scaled = file.new_dataset::<i32>().shape([20, 30]).chunk([10, 10]);
    scaled
        .clone()
        .scale_offset(ScaleOffset::Integer(0))
        .create("scaled")
        .unwrap()
        .write_raw(&values)
        .unwrap();
    scaled.nbit().create("group/inner/nbit").unwrap().write_raw(&values).unwrap();
    let records: Vec<Record> = (0..50).map(|n| Record { id: n, value: f64::from(n) / 3.0 }).collect();
    file.new_dataset::<Record>()
        .shape([50])
        .chunk([20])
        .create("records")
        .unwrap()
        .write_raw(&records)
        .unwrap();
    let texts: Vec<VarLenUnicode> = (0..40).map(|n| format!("text {n}").parse().unwrap()).collect();
    let dataset = file.new_dataset::<VarLenUnicode>().shape([40]).chunk([16]).create("texts").unwrap();
    dataset.write_raw(&texts).unwrap();
    file.new_attr::<f64>().shape([3]).create("numbers").unwrap().write_raw(&[1.0, 2.0, 3.0]).unwrap();
    drop((plain, dataset, file));
    std::fs::read(path).unwrap()
}

/// Reads a bounded part of everything; a broken promise of our own code is what must not come.
fn read_all(bytes: Vec<u8>) -> Result<(), Error> {
    let task = Task::new();
    let document =
        gander::formats::open_source(&task, &Source::memory("damaged.h5", bytes), &Options::default())?;
    let bug = |error: Error| if error.kind() == ErrorKind::Bug { Err(error) } else { Ok(()) };
    gander::data::open::walk(&task, &document.root, "", 8, &mut |node, _, _| {
        let read = gander::bytes::guard::guarded(|| {
            match &node.content {
                Some(Content::Array(array)) => {
                    for region in pieces(array.shape(), 5_000).take(2) {
                        drop(array.column(&task, &region)?);
                    }
                    drop(array.layout(&task)?);
                }
                Some(Content::Table(table)) => {
                    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
                    drop(table.read(&task, 0..100, &columns)?);
                }
                _ => {}
            }
            Ok(())
        });
        read.or_else(bug)?;
        Ok(true)
    })
}

#[test]
fn damaged_files_end_in_errors_soon() {
    let folder = tempfile::tempdir().unwrap();
    let samples = [sample(folder.path(), false), sample(folder.path(), true)];
    for sample in &samples {
        read_all(sample.clone()).unwrap();
    }
    (0..3_000u64).into_par_iter().for_each(|seed| {
        let mut state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
        let mut next = |most: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % most.max(1)
        };
        let mut bytes = samples[next(2)].clone();
        for _ in 0..=next(6) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] ^= 1 << next(8),
                1 => bytes[at] = 0xff,
                2 => bytes[at..].iter_mut().take(next(9)).for_each(|byte| *byte = 0xff),
                _ => bytes[at] = next(256) as u8,
            }
        }
        if next(8) == 0 {
            bytes.truncate(next(bytes.len()));
        }
        let began = Instant::now();
        let done = gander::bytes::guard::guarded(|| read_all(bytes));
        if let Err(error) = done {
            assert_ne!(error.kind(), ErrorKind::Bug, "seed {seed}: {error}");
        }
        assert!(began.elapsed() < Duration::from_secs(10), "seed {seed} took {:?}", began.elapsed());
    });
}
