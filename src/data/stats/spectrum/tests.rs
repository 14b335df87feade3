use super::*;
use crate::bytes::error::ErrorKind;
use crate::bytes::source::Source;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use crate::data::plane::Mapping;

fn matrix(shape: [u64; 2], values: &[f32]) -> (Plain, Slice) {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let array = Plain::new(Source::memory("x", bytes), 0, DType::F32, shape.to_vec()).unwrap();
    (array, Mapping::new(&shape).slice(false))
}

fn of(shape: [u64; 2], values: &[f32]) -> Result<Spectrum> {
    let (array, slice) = matrix(shape, values);
    spectrum(&array, &Task::new(), &slice)
}

/// Whole numbers by a linear congruence; the first columns are larger than the others.
fn made() -> Vec<f32> {
    let mut state = 12345u64;
    let number = |n: usize| {
        state = (state * 1_103_515_245 + 12345) % (1 << 31);
        let value = (state >> 8) as i64 % 2001 - 1000;
        value as f32 * if n % 40 < 10 { (n % 40 + 1) as f32 } else { 1.0 }
    };
    (0..60 * 40).map(number).collect()
}

fn near(got: f64, wanted: f64, share: f64) {
    assert!((got - wanted).abs() <= share * wanted.abs(), "{got} is not {wanted}");
}

#[test]
fn a_matrix_is_told_as_numpy_tells_it() {
    // `numpy.linalg.svd` of the same matrix; the tail by weightwatcher's loop over all x_min.
    let got = of([60, 40], &made()).unwrap();
    assert_eq!((got.shape, got.values.len(), got.rank), ((60, 40), 40, 40));
    near(got.values[0], 49388.53815278389, 1e-12);
    near(got.values[1], 42200.46541832587, 1e-12);
    near(got.values[39], 1272.0551721659826, 1e-12);
    near(got.stable_rank.unwrap(), 3.358537326827449, 1e-12);
    near(got.effective_rank.unwrap(), 23.1193721283964, 1e-12);
    near(got.condition.unwrap(), 38.8257830583621, 1e-12);
    let tail = got.tail.unwrap();
    near(tail.alpha, 1.5623379143905372, 1e-10);
    near(tail.x_min, 10782070.218512492, 1e-10);
    near(tail.distance, 0.10601686631919327, 1e-10);
    near(tail.sigma, 0.10627187673286365, 1e-10);
    assert_eq!(tail.count, 28);
}

#[test]
fn the_gram_matrix_gives_the_same_values_of_either_orientation() {
    let values = made();
    let (array, slice) = matrix([60, 40], &values);
    let (exact, _) = dense(&array, &Task::new(), &slice).unwrap();
    let turned: Vec<f32> = (0..40 * 60).map(|n| values[n % 60 * 40 + n / 60]).collect();
    for (shape, values) in [([60, 40], values), ([40, 60], turned)] {
        let (array, slice) = matrix(shape, &values);
        let (got, floor) = gram(&array, &Task::new(), &slice).unwrap();
        assert_eq!(got.len(), 40);
        got.iter().zip(&exact).for_each(|(got, wanted)| near(*got, *wanted, 1e-10));
        assert!(floor < got[39]);
    }
}

#[test]
fn a_gram_matrix_of_several_bands_is_that_of_all_rows() {
    // Two orthogonal columns, so that their lengths are the singular values; one thousand and more rows a band.
    let rows = 2_000_000u64;
    let values: Vec<f32> = (0..rows * 2)
        .map(|n| {
            if n % 4 == 0 {
                3.0
            } else if n % 4 == 3 {
                4.0
            } else {
                0.0
            }
        })
        .collect();
    let got = of([rows, 2], &values).unwrap();
    near(got.values[0], 4.0 * 1e6f64.sqrt(), 1e-10);
    near(got.values[1], 3.0 * 1e6f64.sqrt(), 1e-10);
}

#[test]
fn known_matrices() {
    let mut identity = vec![0.0; 16 * 16];
    identity.iter_mut().step_by(17).for_each(|one| *one = 2.0);
    let got = of([16, 16], &identity).unwrap();
    near(got.stable_rank.unwrap(), 16.0, 1e-12);
    near(got.effective_rank.unwrap(), 16.0, 1e-12);
    near(got.condition.unwrap(), 1.0, 1e-12);
    let ones = of([20, 30], &[0.5; 600]).unwrap();
    near(ones.values[0], 0.5 * 600f64.sqrt(), 1e-12);
    near(ones.stable_rank.unwrap(), 1.0, 1e-12);
    assert_eq!((ones.rank, ones.condition, ones.tail), (1, None, None));
    let nothing = of([3, 2], &[0.0; 6]).unwrap();
    assert_eq!((nothing.values, nothing.rank, nothing.stable_rank), (vec![0.0; 2], 0, None));
}

#[test]
fn eigenvalues_of_a_power_law_have_its_exponent() {
    // Quantiles of p(λ) ∝ λ^−2.5 from 1 on.
    let values: Vec<f64> =
        (0..1000).map(|n| (1.0 - (f64::from(n) + 0.5) / 1000.0).powf(-1.0 / 1.5)).collect();
    let tail = power_law(&values, &Task::new()).unwrap().unwrap();
    near(tail.alpha, 2.5, 0.02);
    assert!(tail.count > 900 && tail.distance < 0.002, "{tail:?}");
}

#[test]
fn what_has_no_singular_values_says_why() {
    let error = of([2, 2], &[1.0, f32::NAN, 0.0, 1.0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("NaN at [0, 1]"), "{error}");
    let (array, slice) = matrix([2, 2], &[1.0; 4]);
    let large = Slice { spans: vec![crate::data::region::Span::all(SHORT + 1); 2], ..slice.clone() };
    assert_eq!(spectrum(&array, &Task::new(), &large).unwrap_err().kind(), ErrorKind::Limit);
    assert!(has_spectrum(32000, 4096) && !has_spectrum(8192, 8192) && !has_spectrum(0, 3));
    let task = Task::new();
    task.cancel();
    assert!(spectrum(&array, &task, &slice).unwrap_err().is_cancelled());
}
