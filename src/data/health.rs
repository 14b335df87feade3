//! What is wrong with the weights of a model: errors (elements that are no numbers, tensors that are cut off, overlap or
//! do not fit), warnings (what training or serving stumbles over) and notes (what somebody may want to know). One pass over
//! each tensor; a second one only where something was found, for its place.
//!
//! What counts as unusual stands in the constants below; a finding says its numbers, so that a person can judge.

mod configuration;
mod siblings;

use crate::bytes::display;
use crate::bytes::error::{Defect, Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::cell::float64;
use crate::data::content::Array;
use crate::data::dtype::DType;
use crate::data::node::Node;
use crate::data::parameters::{Misplaced, Parameters, Tensor, Tensors};
use crate::data::stats::tensor::{TensorStats, ZeroLines, first_element, float_range};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The model cannot be right.
    Error,
    /// It may behave badly.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The word in JSON and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// Declares the checks, each with its severity and its word in JSON.
macro_rules! checks {
    ($($(#[$doc:meta])* $check:ident = $severity:ident $word:literal,)*) => {
        /// What is looked for. The order is that of reports, among findings of one severity.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check {
            $($(#[$doc])* $check,)*
        }

        impl Check {
            /// All of them.
            pub const ALL: &[Check] = &[$(Check::$check),*];

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self {
                    $(Check::$check => Severity::$severity,)*
                }
            }

            /// The word in JSON.
            pub fn word(self) -> &'static str {
                match self {
                    $(Check::$check => $word,)*
                }
            }
        }
    };
}

checks! {
    /// Elements that are not a number.
    Nan = Error "nan",
    /// Infinite elements.
    Inf = Error "inf",
    /// A shape that is not what the model's configuration says.
    Shape = Error "shape",
    /// Tensors that share bytes which belong to one of them only.
    Overlap = Error "overlap",
    /// The file ends before the tensor does.
    Truncated = Error "truncated",
    /// Shards that are missing or disagree.
    Shards = Error "shards",
    /// A tensor that cannot be read for another reason.
    Unreadable = Error "unreadable",
    /// Elements at the largest magnitude of their type.
    Saturated = Warning "saturated",
    /// A share of elements that are subnormal.
    Denormal = Warning "denormal",
    /// Elements far away from all others.
    Outliers = Warning "outliers",
    /// Rows of zeros.
    DeadRows = Warning "dead_rows",
    /// Columns of zeros.
    DeadColumns = Warning "dead_columns",
    /// A norm far above that of the same tensor in other layers.
    Norm = Warning "norm",
    /// All elements are zero.
    Zero = Note "zero",
    /// All elements are one and the same number.
    Constant = Note "constant",
    /// The same elements as another tensor.
    Duplicate = Note "duplicate",
    /// The very bytes of another tensor.
    Tied = Note "tied",
    /// Floats of several types.
    Dtypes = Note "dtypes",
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What was looked for.
    pub check: Check,
    /// The path of the tensor, or of the node that has the problem.
    pub path: String,
    /// How many elements, rows or tensors.
    pub count: u64,
    /// The index of the first element, where it is about elements; of rows and columns the first of theirs.
    pub first: Option<Vec<u64>>,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
}

/// What is wrong with a model.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// How many tensors were looked at.
    pub arrays: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
}

impl Health {
    /// How many findings are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.check.severity() == severity).count()
    }
}

/// A distance from the median, in robust standard deviations, beyond which an element is an outlier.
const FAR: f64 = 60.0;
/// Tensors of fewer elements have no outliers.
const ENOUGH: u64 = 64;
/// The share of subnormal elements that is warned of: of half-precision floats, whose range is narrow, and of others.
const SUBNORMAL: (f64, f64) = (0.2, 0.01);
/// The share of saturated elements of floats of 8 bits and less, whose scale puts the largest there, that is warned of.
const SATURATED: f64 = 0.001;

/// Looks at the tensors of a table, each once; `node` is what they lie below.
///
/// # Errors
/// `Cancelled`. A tensor that cannot be read is a finding.
pub fn examine(task: &Task, node: &Node, parameters: &Parameters, problems: &[Misplaced]) -> Result<Health> {
    let tensors = parameters.tensors();
    let bytes = tensors.iter().fold(0u64, |sum, tensor| sum.saturating_add(tensor.bytes()));
    task.set_total(bytes);
    let each = |n: usize| {
        let Some(tensor) = tensors.get(n) else { return Ok((None, Vec::new())) };
        match parameters.stats(task, n).unless_cancelled()? {
            Ok(stats) => {
                let found = of_tensor(task, tensor, &stats)?;
                Ok((Some(stats), found))
            }
            Err(error) => Ok((None, vec![unreadable(&tensor.path, &error)])),
        }
    };
    let all: Vec<(Option<Arc<TensorStats>>, Vec<Finding>)> =
        (0..tensors.len()).into_par_iter().map(each).collect::<Result<_>>()?;
    let (stats, found): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let mut findings: Vec<Finding> = found.into_iter().flatten().collect();
    findings.extend(problems.iter().filter_map(of_problem));
    findings.extend(configuration::misfits(node, tensors));
    findings.extend(siblings::norms(tensors, &stats));
    findings.extend(same(tensors, &stats));
    findings.extend(types(tensors));
    // Of equally bad ones those with more elements; else as in the tree.
    findings
        .sort_by_key(|finding| (finding.check.severity(), finding.check, std::cmp::Reverse(finding.count)));
    Ok(Health { arrays: tensors.len() as u64, bytes, findings })
}

/// A tensor that could not be read.
fn unreadable(path: &str, error: &Error) -> Finding {
    let check = error.defect().map_or(Check::Unreadable, check_of);
    Finding { check, path: path.to_owned(), count: 1, first: None, message: error.message() }
}

fn check_of(defect: Defect) -> Check {
    match defect {
        Defect::Truncated => Check::Truncated,
        Defect::Overlap => Check::Overlap,
        Defect::Shards => Check::Shards,
    }
}

/// A problem of a node that is about the places of values.
fn of_problem(problem: &Misplaced) -> Option<Finding> {
    let check = check_of(problem.error.defect()?);
    let (path, message) = (problem.path.clone(), problem.error.message());
    Some(Finding { check, path, count: 1, first: None, message })
}

/// What is wrong with one tensor.
fn of_tensor(task: &Task, tensor: &Tensor, stats: &TensorStats) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let finding =
        |check, count, first, message| Finding { check, path: tensor.path.clone(), count, first, message };
    let first = |wanted: &(dyn Fn(f64) -> bool + Sync)| first_element(&*tensor.array, task, false, wanted);
    if stats.nan > 0 {
        found.push(finding(
            Check::Nan,
            stats.nan,
            first(&|value: f64| value.is_nan())?.0,
            format!("{} NaN", display::count(stats.nan)),
        ));
    }
    if stats.infinite > 0 {
        let words = format!("{} infinite", display::count(stats.infinite));
        found.push(finding(Check::Inf, stats.infinite, first(&|value: f64| value.is_infinite())?.0, words));
    }
    if !tensor.array.dtype().is_float() {
        // Masks, indices and quantised integers are all of these as they should be.
        return Ok(found);
    }
    if stats.count > 0 && stats.zeros == stats.count {
        let words = format!("all {} are zero", display::plural(stats.count, "element"));
        found.push(finding(Check::Zero, stats.count, None, words));
        return Ok(found);
    }
    if let (true, Some(value)) = (stats.is_constant() && stats.count > 1, stats.min) {
        let words = format!("all {} are {}", display::plural(stats.count, "element"), float64(value));
        found.push(finding(Check::Constant, stats.count, None, words));
        return Ok(found);
    }
    if let Some(words) = saturated(tensor.array.dtype(), stats) {
        let most = float_range(tensor.array.dtype()).0;
        let place = first(&|value: f64| Some(value.abs()) == most)?.0;
        found.push(finding(Check::Saturated, stats.saturated, place, words));
    }
    if let Some(words) = subnormal(tensor.array.dtype(), stats) {
        let least = float_range(tensor.array.dtype()).1.unwrap_or_default();
        let place = first(&|value: f64| value != 0.0 && value.abs() < least)?.0;
        found.push(finding(Check::Denormal, stats.subnormal, place, words));
    }
    found.extend(outliers(task, tensor, stats)?);
    for (check, lines, word) in
        [(Check::DeadRows, stats.zero_rows, "row"), (Check::DeadColumns, stats.zero_columns, "column")]
    {
        let Some(lines) = lines.filter(|lines| lines.count > 0) else { continue };
        let place = lines.first.map(|n| index_of_line(&*tensor.array, check, n));
        found.push(finding(check, lines.count, place, dead(&lines, word)));
    }
    Ok(found)
}

/// The first element of a row or a column.
fn index_of_line(array: &dyn Array, check: Check, n: u64) -> Vec<u64> {
    let mut index = vec![0; array.shape().len()];
    if let Some(place) = index.get_mut(usize::from(check == Check::DeadColumns)) {
        *place = n;
    }
    index
}

/// `512 dead rows: 31,488 to 31,999`.
fn dead(lines: &ZeroLines, word: &str) -> String {
    let words = format!("{} of zeros", display::plural(lines.count, word));
    match (lines.first, lines.last) {
        (Some(first), Some(last)) if first == last => format!("{words}: {}", display::count(first)),
        (Some(first), Some(last)) if last - first + 1 == lines.count => {
            format!("{words}: {} to {}", display::count(first), display::count(last))
        }
        (Some(first), Some(last)) => {
            format!("{words}, between {} and {}", display::count(first), display::count(last))
        }
        _ => words,
    }
}

/// What is said of saturated elements, where they are too many.
fn saturated(dtype: &DType, stats: &TensorStats) -> Option<String> {
    let most = float_range(dtype).0?;
    let share = stats.saturated as f64 / stats.count.max(1) as f64;
    let scaled = matches!(dtype, DType::Mini(_));
    let many = if scaled { share > SATURATED && stats.saturated > 8 } else { stats.saturated > 0 };
    // Floats of four bits have few values, and the largest is one of them.
    let many = many && dtype.bits() >= 8;
    many.then(|| format!("{} at ±{}, the largest {dtype}", display::count(stats.saturated), float64(most)))
}

/// What is said of subnormal elements, where they are too many.
fn subnormal(dtype: &DType, stats: &TensorStats) -> Option<String> {
    let share = stats.subnormal as f64 / stats.count.saturating_sub(stats.zeros).max(1) as f64;
    let limit = if *dtype == DType::F16 { SUBNORMAL.0 } else { SUBNORMAL.1 };
    (share > limit).then(|| {
        format!("{:.1} % of the elements that are not zero are subnormal, with fewer digits", share * 100.0)
    })
}

/// Elements that are far away from all others.
fn outliers(task: &Task, tensor: &Tensor, stats: &TensorStats) -> Result<Option<Finding>> {
    let Some((distribution, min, max)) = stats
        .distribution
        .as_ref()
        .zip(stats.min.zip(stats.max))
        .map(|(distribution, (min, max))| (distribution, min, max))
        .filter(|_| stats.count >= ENOUGH)
    else {
        return Ok(None);
    };
    let Some(spread) = distribution.quantiles.spread() else { return Ok(None) };
    let (median, far) = (distribution.quantiles.median, FAR * spread);
    let most = (max - median).max(median - min);
    if most <= far {
        return Ok(None);
    }
    let (first, count) =
        first_element(&*tensor.array, task, true, |value| value.is_finite() && (value - median).abs() > far)?;
    let words = format!(
        "{} beyond {FAR:.0} robust standard deviations, up to {:.0}: {} where most are within ±{}",
        display::plural(count, "element"),
        most / spread,
        rounded(if max - median >= median - min { max } else { min }),
        rounded(3.0 * spread)
    );
    Ok(Some(Finding { check: Check::Outliers, path: tensor.path.clone(), count, first, message: words }))
}

/// A number in few digits, for people.
pub(crate) fn rounded(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e5 => format!("{:.*}", (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize, value),
        _ => format!("{value:.2e}"),
    }
}

/// Tensors with the same elements, and those that are the same bytes.
fn same(tensors: &[Tensor], stats: &[Option<Arc<TensorStats>>]) -> Vec<Finding> {
    let mut groups: HashMap<(String, &[u64], u128), Vec<usize>> = HashMap::new();
    for (n, (tensor, stats)) in tensors.iter().zip(stats).enumerate() {
        let Some(stats) = stats else { continue };
        // What is all zero or one everywhere is equal by its nature.
        if stats.count > 1 && !stats.is_constant() && tensor.array.dtype().is_float() {
            let key = (tensor.array.dtype().to_string(), tensor.array.shape(), stats.hash);
            groups.entry(key).or_default().push(n);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    groups.iter().filter_map(|group| equal(tensors, group)).collect()
}

/// What is said of tensors with the same elements.
fn equal(tensors: &[Tensor], group: &[usize]) -> Option<Finding> {
    let place = |n: &usize| {
        let (source, range) = tensors.get(*n)?.array.storage()?;
        Some((source.name().to_owned(), range))
    };
    let (first, rest) = group.split_first()?;
    let tied = place(first).is_some() && rest.iter().all(|n| place(n) == place(first));
    let names: Vec<&str> = rest.iter().take(3).filter_map(|n| Some(tensors.get(*n)?.path.as_str())).collect();
    let more = if rest.len() > names.len() {
        format!(" and {} more", rest.len() - names.len())
    } else {
        String::new()
    };
    let how = if tied { "is stored once, with" } else { "has the same elements as" };
    Some(Finding {
        check: if tied { Check::Tied } else { Check::Duplicate },
        path: tensors.get(*first)?.path.clone(),
        count: group.len() as u64,
        first: None,
        message: format!("{how} {}{more}", names.join(", ")),
    })
}

/// Floats of several types in one model.
fn types(tensors: &[Tensor]) -> Option<Finding> {
    let mut counts: Vec<(String, u64)> = Vec::new();
    for tensor in tensors.iter().filter(|tensor| tensor.array.dtype().is_float()) {
        let name = tensor.array.dtype().to_string();
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let fewer: u64 = counts.get(1..)?.iter().map(|(_, count)| count).sum();
    let words: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} {}", display::plural(*count, "tensor"))).collect();
    (fewer > 0).then(|| Finding {
        check: Check::Dtypes,
        path: String::new(),
        count: fewer,
        first: None,
        message: words.join(", "),
    })
}

/// The health of all tensors at and below a node, whose own path is `path`.
///
/// # Errors
/// Those of reading the tree; `Cancelled`.
pub fn of_node(task: &Task, node: &Arc<Node>, path: &str) -> Result<Health> {
    let found = Tensors::below(task, node, path)?;
    examine(task, node, &Parameters::new(found.all), &found.problems)
}

#[cfg(test)]
mod tests;
