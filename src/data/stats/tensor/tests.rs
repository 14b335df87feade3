use super::*;
use crate::bytes::source::Source;
use crate::data::content::array::Plain;
use proptest::prelude::*;

fn array(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Plain {
    Plain::new(Source::memory("x", bytes), 0, dtype, shape.to_vec()).unwrap()
}

fn of(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> TensorStats {
    tensor(&array(dtype, shape, bytes), &Task::new()).unwrap()
}

/// The elements of a type as it stores them.
fn stored(dtype: &DType, values: &[f32]) -> Vec<u8> {
    match dtype {
        DType::F16 => values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect(),
        DType::BF16 => values.iter().flat_map(|&v| half::bf16::from_f32(v).to_le_bytes()).collect(),
        DType::F64 => values.iter().flat_map(|&v| f64::from(v).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|&v| v.to_le_bytes()).collect(),
    }
}

/// The same by plain loops.
fn plainly(array: &dyn Array) -> TensorStats {
    let region = Region::all(array.shape());
    let bytes = crate::data::content::array::read(array, &Task::new(), &region).unwrap();
    let mut values = Vec::new();
    array.dtype().decode(&bytes, &mut values);
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let n = finite.len() as f64;
    let some = |value: f64| (!finite.is_empty()).then_some(value);
    let mean = finite.iter().sum::<f64>() / n;
    let (most, least) = float_range(array.dtype());
    let columns = array.shape()[1] as usize;
    let lines = |alive: Vec<bool>| {
        let dead: Vec<u64> = (0u64..).zip(alive).filter(|(_, alive)| !alive).map(|(n, _)| n).collect();
        ZeroLines { count: dead.len() as u64, first: dead.first().copied(), last: dead.last().copied() }
    };
    let rows = values.chunks(columns).map(|row| row.iter().any(|v| *v != 0.0)).collect();
    let column = |c: usize| values.iter().skip(c).step_by(columns).any(|v| *v != 0.0);
    TensorStats {
        count: values.len() as u64,
        nan: values.iter().filter(|v| v.is_nan()).count() as u64,
        infinite: values.iter().filter(|v| v.is_infinite()).count() as u64,
        zeros: values.iter().filter(|v| **v == 0.0).count() as u64,
        subnormal: values.iter().filter(|v| **v != 0.0 && v.abs() < least.unwrap()).count() as u64,
        saturated: values.iter().filter(|v| v.abs() == most.unwrap()).count() as u64,
        min: finite.iter().copied().reduce(f64::min),
        max: finite.iter().copied().reduce(f64::max),
        mean: some(mean),
        std: some((finite.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()),
        norm: some(finite.iter().map(|v| v * v).sum::<f64>().sqrt()),
        zero_rows: Some(lines(rows)),
        zero_columns: Some(lines((0..columns).map(column).collect())),
        ..TensorStats::default()
    }
}

fn agree(got: &TensorStats, wanted: &TensorStats) {
    let near = |a: Option<f64>, b: Option<f64>, what: &str| match (a, b) {
        (Some(a), Some(b)) => {
            assert!((a - b).abs() <= 1e-9 * wanted.norm.unwrap() + 1e-12, "{what}: {a} {b}")
        }
        (a, b) => assert_eq!(a, b, "{what}"),
    };
    near(got.mean, wanted.mean, "mean");
    near(got.std, wanted.std, "std");
    near(got.norm, wanted.norm, "norm");
    let counts = |s: &TensorStats| (s.count, s.nan, s.infinite, s.zeros, s.subnormal, s.saturated);
    assert_eq!(counts(got), counts(wanted));
    assert_eq!((got.min, got.max), (wanted.min, wanted.max));
    assert_eq!((got.zero_rows, got.zero_columns), (wanted.zero_rows, wanted.zero_columns));
}

/// Numbers like weights, with everything among them that is counted apart.
fn mixed(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f32 / (1u64 << 31) as f32 - 0.5
    };
    let specials =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::MAX, -f32::MAX, 1e-40, 65504.0, 1e-6];
    (0..count)
        .map(|n| match n % 97 {
            0 => specials[(n / 97) % specials.len()],
            _ => next() * 0.05,
        })
        .collect()
}

#[test]
fn as_plain_loops_would_over_pieces_and_cores() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        // Small ones keep their values, large ones are counted, in many pieces.
        for (rows, columns) in [(1, 1), (3, 5), (40, 130), (700, 1000), (5, 300_001)] {
            let mut values = mixed(rows * columns, 7);
            for row in [1usize, 2, 600].into_iter().filter(|row| *row < rows) {
                values[row * columns..][..columns].fill(-0.0);
            }
            for column in [2usize, 77].into_iter().filter(|column| *column < columns) {
                (0..rows).for_each(|row| values[row * columns + column] = 0.0);
            }
            let array = array(dtype.clone(), &[rows as u64, columns as u64], stored(&dtype, &values));
            let mut wanted = plainly(&array);
            if columns as u64 * dtype.size() > 1 << 24 {
                wanted.zero_columns = None;
            }
            agree(&tensor(&array, &Task::new()).unwrap(), &wanted);
        }
    }
}

#[test]
fn zero_lines_among_few_zeros() {
    let (rows, columns) = (600usize, 900usize);
    for dtype in [DType::BF16, DType::F32] {
        for (dead_row, dead_column, almost) in [(None, None, 100), (Some(599), None, 0), (None, Some(3), 899)]
        {
            let mut values = vec![0.5f32; rows * columns];
            if let Some(row) = dead_row {
                values[row * columns..][..columns].fill(0.0);
            }
            if let Some(column) = dead_column {
                (0..rows).for_each(|row| values[row * columns + column] = -0.0);
            }
            // A column of zeros but for its first and its last row.
            (1..rows - 1).for_each(|row| values[row * columns + almost] = 0.0);
            let array = array(dtype.clone(), &[rows as u64, columns as u64], stored(&dtype, &values));
            agree(&tensor(&array, &Task::new()).unwrap(), &plainly(&array));
        }
    }
}

#[test]
fn quantiles_of_narrow_floats_are_exact_and_of_wide_ones_near() {
    let mut values: Vec<f32> = (0..200_000).map(|n| ((n * 7919) % 200_000) as f32 / 1000.0 - 100.0).collect();
    let narrow = of(DType::BF16, &[200_000], stored(&DType::BF16, &values)).distribution.unwrap();
    let wide = of(DType::F32, &[200_000], stored(&DType::F32, &values)).distribution.unwrap();
    values.sort_by(f32::total_cmp);
    for (share, exact, near) in [
        (0.25, narrow.quantiles.q25, wide.quantiles.q25),
        (0.99, narrow.quantiles.q99, wide.quantiles.q99),
        (0.001, narrow.quantiles.q001, wide.quantiles.q001),
    ] {
        let value = values[(share * values.len() as f64).ceil() as usize - 1];
        assert_eq!(exact as f32, half::bf16::from_f32(value).to_f32());
        assert!((near as f32 - value).abs() <= value.abs() / 128.0, "{share}: {near} {value}");
    }
    assert_eq!(narrow.bins.iter().sum::<u64>(), 200_000);
    assert_eq!(narrow.bins.len(), tally::BINS);
}

#[test]
fn the_hash_is_of_the_elements() {
    let values = mixed(50_000, 3);
    let bytes = stored(&DType::F32, &values);
    let first = of(DType::F32, &[500, 100], bytes.clone());
    assert_eq!(first.hash, of(DType::F32, &[500, 100], bytes.clone()).hash);
    let mut other = bytes;
    other[199_999] ^= 1;
    assert_ne!(first.hash, of(DType::F32, &[500, 100], other).hash);
}

#[test]
fn an_element_is_found_by_its_index() {
    let mut values = vec![0.5f32; 3 * 700 * 1000];
    values[1_234_567] = f32::NAN;
    values[1_900_000] = f32::NAN;
    let array = array(DType::F32, &[3, 700, 1000], stored(&DType::F32, &values));
    let task = Task::new();
    let found = first_element(&array, &task, true, f64::is_nan).unwrap();
    assert_eq!(found, (Some(vec![1, 534, 567]), 2));
    assert_eq!(first_element(&array, &task, false, |value| value > 1.0).unwrap(), (None, 0));
}

#[test]
fn floats_of_eight_bits_and_complex_ones() {
    let e4m3 = DType::Mini(crate::data::dtype::Mini::F8E4M3FN);
    let stats = of(e4m3, &[2, 3], vec![0x7f, 0xff, 0x7e, 0x00, 0x80, 0x00]);
    assert_eq!((stats.nan, stats.saturated, stats.zeros), (2, 1, 3));
    assert_eq!((stats.min, stats.max), (Some(0.0), Some(448.0)));
    assert_eq!(stats.zero_rows, Some(ZeroLines { count: 1, first: Some(1), last: Some(1) }));
    let parts = [0.0f32, -0.0, 1.0, f32::NAN];
    let complex = of(DType::C64, &[2, 1], stored(&DType::F32, &parts));
    assert_eq!((complex.nan, complex.zeros, complex.zero_rows.unwrap().count), (1, 2, 1));
    let halves = of(DType::C32, &[2, 1], stored(&DType::F16, &parts));
    assert_eq!((halves.nan, halves.zeros, halves.max), (1, 2, Some(1.0)));
}

#[test]
fn texts_are_no_weights() {
    assert!(tensor(&array(DType::Str(2), &[1], vec![0; 8]), &Task::new()).is_err());
}

proptest! {
    #[test]
    fn small_tensors_as_plain_loops_would(
        values in prop::collection::vec(prop_oneof![4 => -2.0f32..2.0, 1 => Just(0.0f32), 1 => Just(f32::NAN),
            1 => Just(f32::INFINITY), 1 => Just(1e-39f32)], 1..60),
        columns in 1usize..8,
        narrow: bool,
    ) {
        let rows = values.len().div_ceil(columns);
        let mut values = values;
        values.resize(rows * columns, 0.0);
        let dtype = if narrow { DType::BF16 } else { DType::F32 };
        let array = array(dtype.clone(), &[rows as u64, columns as u64], stored(&dtype, &values));
        agree(&tensor(&array, &Task::new()).unwrap(), &plainly(&array));
    }
}

#[test]
fn very_many_rows_of_nothing_are_gone_through_at_once() {
    for shape in [&[1 << 60, 0][..], &[0, 1 << 60], &[3, 0, 1 << 60], &[0]] {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64, DType::I64] {
            let empty = array(dtype.clone(), shape, Vec::new());
            let stats = tensor(&empty, &Task::new()).unwrap();
            assert_eq!((stats.count, stats.min, stats.distribution), (0, None, None), "{shape:?} {dtype}");
            let stats = crate::data::stats::readable(&empty, &Task::new(), Some(8)).unwrap();
            assert_eq!((stats.count, stats.min), (0, None), "{shape:?} {dtype}");
        }
    }
}
