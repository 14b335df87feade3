//! The same tensor of other layers: what its name is but for numbers, with the same shape.

use super::{Check, Finding, rounded};
use crate::data::parameters::Tensor;
use crate::data::stats::tensor::TensorStats;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many are needed to tell what is usual.
const SIBLINGS: usize = 4;
/// So many times the median norm is too much.
const EXPLODED: f64 = 5.0;

/// Tensors whose norm is far above that of their siblings.
pub(super) fn norms(tensors: &[Tensor], stats: &[Option<Arc<TensorStats>>]) -> Vec<Finding> {
    let mut groups: BTreeMap<(String, &[u64]), Vec<(usize, f64)>> = BTreeMap::new();
    for (n, (tensor, stats)) in tensors.iter().zip(stats).enumerate() {
        let norm = stats.as_ref().and_then(|stats| stats.norm);
        if let Some(norm) = norm.filter(|_| tensor.array.dtype().is_float()) {
            groups.entry((pattern(&tensor.path), tensor.array.shape())).or_default().push((n, norm));
        }
    }
    groups
        .into_values()
        .filter(|group| group.len() >= SIBLINGS)
        .flat_map(|group| exploded(tensors, &group))
        .collect()
}

fn exploded(tensors: &[Tensor], group: &[(usize, f64)]) -> Vec<Finding> {
    let mut norms: Vec<f64> = group.iter().map(|(_, norm)| *norm).collect();
    norms.sort_by(f64::total_cmp);
    let median = norms.get(norms.len() / 2).copied().unwrap_or_default();
    let is_usual = |norm: f64| norm <= EXPLODED * median;
    let usual: Vec<f64> = norms.into_iter().filter(|norm| is_usual(*norm)).collect();
    let (Some(low), Some(high)) = (usual.first(), usual.last()) else { return Vec::new() };
    let finding = |(n, norm): &(usize, f64)| {
        let message = format!(
            "its norm, {}, is {:.1} times that of its siblings, {} to {}",
            rounded(*norm),
            norm / median,
            rounded(*low),
            rounded(*high)
        );
        let path = tensors.get(*n)?.path.clone();
        Some(Finding { check: Check::Norm, path, count: 1, first: None, message })
    };
    let far = group.iter().filter(|(_, norm)| median > 0.0 && !is_usual(*norm));
    far.filter_map(finding).collect()
}

/// A path with `*` for the numbers between its dots.
fn pattern(path: &str) -> String {
    let part = |part: &str| match part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
        true => "*".to_owned(),
        false => part.to_owned(),
    };
    path.split(['.', '/']).map(part).collect::<Vec<_>>().join(".")
}
