//! The tensors of a model in groups — by the modules that they belong to, by type, by file —, with sums of each group.

use super::{Parameters, Tensor};
use crate::data::stats::Moments;
use crate::data::stats::tensor::TensorStats;
use std::cmp::Ordering;
use std::collections::HashMap;

/// What makes tensors a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// The modules that they belong to: groups in groups.
    #[default]
    Module,
    /// The type of their elements.
    Dtype,
    /// The file that holds them.
    File,
}

/// Modules in modules; what lies deeper keeps the rest of its path as its name.
const DEPTH: usize = 32;

/// A group, or a tensor in one.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Of a group the last part of its path; of a tensor what its groups do not say.
    pub name: String,
    /// How many groups it lies in.
    pub depth: usize,
    /// Which of the tensors it is; `None` for a group.
    pub tensor: Option<usize>,
    /// Tensors at and below it.
    pub tensors: u64,
    /// Their elements.
    pub parameters: u64,
    /// Their bytes.
    pub bytes: u64,
    parent: Option<usize>,
    children: Vec<usize>,
}

/// What passes over the tensors of a group told, those that were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Tensors that were gone through.
    pub scanned: u64,
    /// Tensors that could not be read.
    pub failed: u64,
    /// Elements that are not a number.
    pub nan: u64,
    /// Infinite elements.
    pub infinite: u64,
    /// Elements that are zero.
    pub zeros: u64,
    /// The least finite element.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    moments: Moments,
}

impl Summary {
    /// What one pass told.
    fn of(stats: &TensorStats) -> Self {
        let finite = stats.count.saturating_sub(stats.nan + stats.infinite);
        let (mean, std) = (stats.mean.unwrap_or_default(), stats.std.unwrap_or_default());
        let count = finite as f64;
        Summary {
            scanned: 1,
            failed: 0,
            nan: stats.nan,
            infinite: stats.infinite,
            zeros: stats.zeros,
            min: stats.min,
            max: stats.max,
            moments: Moments { count: finite, mean, squares: std * std * count, sum: mean * count },
        }
    }

    fn merge(&mut self, other: &Summary) {
        self.scanned += other.scanned;
        self.failed += other.failed;
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.zeros += other.zeros;
        self.min = [self.min, other.min].into_iter().flatten().reduce(f64::min);
        self.max = [self.max, other.max].into_iter().flatten().reduce(f64::max);
        if other.moments.count > 0 {
            self.moments = self.moments.merge(other.moments);
        }
    }

    /// The mean of the finite elements.
    pub fn mean(&self) -> Option<f64> {
        self.moments.mean()
    }

    /// Their standard deviation (of the population).
    pub fn std(&self) -> Option<f64> {
        self.moments.std()
    }

    /// The square root of the sum of their squares.
    pub fn norm(&self) -> Option<f64> {
        let (n, mean) = (self.moments.count as f64, self.moments.mean);
        (self.moments.count > 0).then(|| (self.moments.squares + n * mean * mean).sqrt())
    }
}

/// Groups of tensors as a tree: every row after those of the groups that it lies in.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    rows: Vec<Row>,
    top: Vec<usize>,
}

impl Groups {
    /// Puts tensors into groups, in their order; `below` is the path of the node that they lie below, of which their names
    /// say nothing.
    pub fn new(tensors: &[Tensor], grouping: Grouping, below: &str) -> Self {
        let mut groups = Groups::default();
        let mut known: HashMap<(Option<usize>, String), usize> = HashMap::new();
        for (n, tensor) in tensors.iter().enumerate() {
            let (parts, name) = parts(tensor, grouping, below);
            let mut parent = None;
            for part in parts {
                let at =
                    *known.entry((parent, part.clone())).or_insert_with(|| groups.add(parent, part, None));
                parent = Some(at);
            }
            let at = groups.add(parent, name, Some(n));
            let (parameters, bytes) = (tensor.parameters(), tensor.bytes());
            let mut row = Some(at);
            while let Some(one) = row.and_then(|at| groups.rows.get_mut(at)) {
                one.tensors += 1;
                one.parameters = one.parameters.saturating_add(parameters);
                one.bytes = one.bytes.saturating_add(bytes);
                row = one.parent;
            }
        }
        match grouping {
            Grouping::Module => groups.without_chains(),
            Grouping::Dtype | Grouping::File => groups,
        }
    }

    /// Without groups that hold one thing only: that has their names before its own.
    fn without_chains(&self) -> Groups {
        let mut made = Groups::default();
        let mut waiting: Vec<(usize, Option<usize>)> =
            self.top.iter().rev().map(|row| (*row, None)).collect();
        while let Some((mut at, parent)) = waiting.pop() {
            let Some(mut row) = self.rows.get(at) else { continue };
            let mut name = row.name.clone();
            while let [only] = row.children[..]
                && let Some(inner) = self.rows.get(only)
            {
                name = format!("{name}.{}", inner.name);
                (at, row) = (only, inner);
            }
            let new = made.add(parent, name, row.tensor);
            if let Some(place) = made.rows.get_mut(new) {
                (place.tensors, place.parameters, place.bytes) = (row.tensors, row.parameters, row.bytes);
            }
            waiting.extend(self.children(Some(at)).iter().rev().map(|child| (*child, Some(new))));
        }
        made
    }

    fn add(&mut self, parent: Option<usize>, name: String, tensor: Option<usize>) -> usize {
        let at = self.rows.len();
        let depth = match parent.and_then(|parent| self.rows.get_mut(parent)) {
            Some(parent) => {
                parent.children.push(at);
                parent.depth + 1
            }
            None => {
                self.top.push(at);
                0
            }
        };
        self.rows.push(Row {
            name,
            depth,
            tensor,
            tensors: 0,
            parameters: 0,
            bytes: 0,
            parent,
            children: Vec::new(),
        });
        at
    }

    /// All rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of a group by their numbers; of `None` those in no group.
    pub fn children(&self, row: Option<usize>) -> &[usize] {
        match row {
            Some(row) => self.rows.get(row).map_or(&[], |row| &row.children),
            None => &self.top,
        }
    }

    /// Of each row what is known from passes over its tensors now.
    pub fn summaries(&self, parameters: &Parameters) -> Vec<Summary> {
        let mut all: Vec<Summary> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            all.push(match row.tensor.and_then(|n| parameters.known(n)) {
                Some(Ok(stats)) => Summary::of(&stats),
                Some(Err(_)) => Summary { failed: 1, ..Summary::default() },
                None => Summary::default(),
            });
        }
        // Every row stands after its group.
        for at in (0..self.rows.len()).rev() {
            let Some(parent) = self.rows.get(at).and_then(|row| row.parent) else { continue };
            let (before, from) = all.split_at_mut(at);
            if let (Some(parent), Some(own)) = (before.get_mut(parent), from.first()) {
                parent.merge(own);
            }
        }
        all
    }

    /// The groups that stand open at first: from the top down, as many as show no more than `most` rows.
    pub fn opened(&self, most: usize) -> Vec<usize> {
        let mut open = Vec::new();
        let mut level: Vec<usize> = self.top.clone();
        let mut shown = level.len();
        loop {
            let below: usize = level.iter().map(|row| self.children(Some(*row)).len()).sum();
            if below == 0 || shown + below > most {
                return open;
            }
            shown += below;
            let groups = |row: &usize| !self.children(Some(*row)).is_empty();
            open.extend(level.iter().copied().filter(groups));
            level = level.iter().flat_map(|row| self.children(Some(*row))).copied().collect();
        }
    }

    /// The rows that are seen, from top to bottom: those whose groups are open and that have a tensor that is kept, each
    /// group's in the order of `compare`.
    pub fn arranged(
        &self,
        is_open: &dyn Fn(usize) -> bool,
        is_kept: &dyn Fn(usize) -> bool,
        compare: &dyn Fn(usize, usize) -> Ordering,
    ) -> Vec<usize> {
        let mut kept = vec![false; self.rows.len()];
        for (at, row) in self.rows.iter().enumerate().rev() {
            let own = row.tensor.is_some_and(is_kept);
            if let Some(place) = kept.get_mut(at) {
                *place |= own;
                if *place && let Some(parent) = row.parent.and_then(|parent| kept.get_mut(parent)) {
                    *parent = true;
                }
            }
        }
        let sorted = |rows: &[usize]| {
            let mut rows: Vec<usize> =
                rows.iter().copied().filter(|row| kept.get(*row) == Some(&true)).collect();
            rows.sort_by(|a, b| compare(*a, *b));
            // The last one is taken first.
            rows.reverse();
            rows
        };
        let (mut out, mut stack) = (Vec::new(), sorted(&self.top));
        while let Some(row) = stack.pop() {
            out.push(row);
            if is_open(row) {
                stack.extend(sorted(self.children(Some(row))));
            }
        }
        out
    }
}

/// The groups that a tensor lies in, from the outermost, and its name in them.
fn parts(tensor: &Tensor, grouping: Grouping, below: &str) -> (Vec<String>, String) {
    let path = tensor.path.strip_prefix(below).unwrap_or(&tensor.path).trim_start_matches(['/', '.']);
    match grouping {
        Grouping::Module => {
            let mut parts: Vec<String> = path.splitn(DEPTH, ['.', '/']).map(str::to_owned).collect();
            let name = parts.pop().unwrap_or_default();
            (parts, name)
        }
        Grouping::Dtype => (vec![tensor.array.dtype().to_string()], path.to_owned()),
        Grouping::File => {
            let file =
                tensor.array.storage().map_or_else(String::new, |(source, _)| source.name().to_owned());
            (vec![file], path.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::bytes::task::Task;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;
    use crate::data::node::Node;
    use std::sync::Arc;

    fn tensor(path: &str, values: &[f32]) -> Tensor {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let plain = Plain::new(Source::memory("m", bytes), 0, DType::F32, vec![values.len() as u64]).unwrap();
        let node = Arc::new(Node::new(path, "tensor"));
        Tensor { path: path.to_owned(), array: Arc::new(plain), node }
    }

    fn model() -> Vec<Tensor> {
        vec![
            tensor("layers.0.w", &[1.0, 2.0]),
            tensor("layers.0.b", &[f32::NAN]),
            tensor("layers.10.w", &[0.0, 5.0, 9.0]),
            tensor("norm", &[4.0]),
        ]
    }

    fn names(groups: &Groups, rows: &[usize]) -> Vec<String> {
        rows.iter().map(|row| groups.rows()[*row].name.clone()).collect()
    }

    #[test]
    fn groups_sum_up_what_lies_in_them() {
        let tensors = model();
        let groups = Groups::new(&tensors, Grouping::Module, "");
        let layers = &groups.rows()[groups.children(None)[0]];
        assert_eq!(
            (layers.name.as_str(), layers.tensors, layers.parameters, layers.bytes),
            ("layers", 3, 6, 24)
        );
        let parameters = Parameters::new(tensors);
        assert_eq!(groups.summaries(&parameters)[0], Summary::default(), "nothing is known yet");
        for n in 0..4 {
            parameters.stats(&Task::new(), n).unwrap();
        }
        let all = groups.summaries(&parameters);
        let layers = &all[groups.children(None)[0]];
        assert_eq!((layers.scanned, layers.nan, layers.zeros), (3, 1, 1));
        assert_eq!((layers.min, layers.max), (Some(0.0), Some(9.0)));
        // Of 1, 2, 0, 5, 9.
        assert!((layers.mean().unwrap() - 3.4).abs() < 1e-12);
        assert!((layers.std().unwrap() - 10.64f64.sqrt()).abs() < 1e-12);
        assert!((layers.norm().unwrap() - 111f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn rows_are_folded_kept_and_sorted() {
        let groups = Groups::new(&model(), Grouping::Module, "");
        let same = |_: usize, _: usize| Ordering::Equal;
        let all = groups.arranged(&|_| true, &|_| true, &same);
        assert_eq!(names(&groups, &all), ["layers", "0", "w", "b", "10.w", "norm"]);
        assert_eq!(names(&groups, &groups.arranged(&|_| false, &|_| true, &same)), ["layers", "norm"]);
        assert_eq!(names(&groups, &groups.arranged(&|_| true, &|n| n == 2, &same)), ["layers", "10.w"]);
        let rows = groups.rows();
        let large = |a: usize, b: usize| rows[b].parameters.cmp(&rows[a].parameters);
        let sorted = groups.arranged(&|_| true, &|_| true, &large);
        assert_eq!(names(&groups, &sorted), ["layers", "0", "w", "b", "10.w", "norm"]);
        let small = |a: usize, b: usize| large(b, a);
        let sorted = groups.arranged(&|_| true, &|_| true, &small);
        assert_eq!(names(&groups, &sorted), ["norm", "layers", "0", "b", "w", "10.w"]);
        let inside = Groups::new(&model()[..2], Grouping::Module, "layers.0");
        assert_eq!(names(&inside, inside.children(None)), ["w", "b"]);
        assert_eq!(names(&groups, &groups.opened(4)), ["layers"]);
        assert_eq!(names(&groups, &groups.opened(7)), ["layers", "0"]);
    }

    #[test]
    fn weights_in_files_beside_those_of_a_model_are_not_its_own() {
        let leaf = |name: &str| {
            let Tensor { array, .. } = tensor(name, &[1.0, 2.0]);
            Node::new(name, "tensor").content(crate::data::content::Content::Array(array))
        };
        let mut file = Node::new("copy.npz", "file").listed(vec![leaf("a"), leaf("b")]);
        file.formats = vec![&crate::formats::FORMATS[0]];
        let names = |children: Vec<Node>| {
            let root = Arc::new(Node::new("m", "model").listed(children));
            let found = crate::data::parameters::Tensors::below(&Task::new(), &root, "").unwrap();
            found.all.iter().map(|tensor| tensor.path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(vec![leaf("x"), file.clone(), leaf("y")]), ["/x", "/y"]);
        assert_eq!(names(vec![file]), ["/copy.npz/a", "/copy.npz/b"]);
    }

    #[test]
    fn types_and_files_are_groups_too() {
        for (grouping, group) in [(Grouping::Dtype, "float32"), (Grouping::File, "m")] {
            let groups = Groups::new(&model(), grouping, "");
            assert_eq!(names(&groups, groups.children(None)), [group]);
            let inside = groups.children(Some(0));
            assert_eq!(names(&groups, inside)[0], "layers.0.w");
        }
    }

    #[test]
    fn a_path_of_very_many_parts_is_cut_into_few() {
        let deep = "a.".repeat(100_000);
        let groups = Groups::new(&[tensor(&deep, &[1.0])], Grouping::Module, "");
        assert_eq!(groups.rows().len(), 1, "it is one chain");
        assert_eq!(parts(&tensor(&deep, &[1.0]), Grouping::Module, "").0.len(), DEPTH - 1);
    }
}
