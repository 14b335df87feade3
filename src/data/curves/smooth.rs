//! Smoothing of curves as TensorBoard does it: an exponential moving average whose beginning is corrected for its zero.
//! <https://github.com/tensorflow/tensorboard/blob/master/tensorboard/components/vz_line_chart2/line-chart.ts>
//! (`resmoothDataset`).

/// The values smoothed by `weight` (0 for not at all, below 1; what is outside is taken for the nearest of these).
///
/// With `last₀ = 0`, of the nth finite value xₙ: `lastₙ = weight · lastₙ₋₁ + (1 − weight) · xₙ`, and what is given is
/// `lastₙ / (1 − weightⁿ)`, the average of all values so far, each `weight` times as heavy as the next. NaN and infinite
/// values stay as they are and count for nothing; where all values are the same, nothing is computed, so that they stay
/// exactly so.
pub fn smoothed(values: impl Iterator<Item = f64> + Clone, weight: f64) -> Vec<f64> {
    let weight = if weight.is_nan() { 0.0 } else { weight.clamp(0.0, 0.9999) };
    let first = values.clone().next().unwrap_or_default();
    if weight == 0.0 || values.clone().all(|value| value == first) {
        return values.collect();
    }
    let (mut last, mut left) = (0.0, 1.0);
    values
        .map(|value| {
            if !value.is_finite() {
                return value;
            }
            last = weight * last + (1.0 - weight) * value;
            left *= weight;
            last / (1.0 - left)
        })
        .collect()
}
