//! The tables of a model: where its buffers lie, what its operators and subgraphs are called, its weights by name.

use super::operators;
use super::tensor::{Tensor, Weight};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::node::Node;
use crate::engines::flatbuffer::{Table, Vector};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Where the values of a tensor lie.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// In the file.
    Here(Range<u64>),
    /// In another file, under this number.
    External(u32),
}

/// What is wrong with a part of the file. The first is said as the problem of its node, the others as remarks.
#[derive(Default)]
pub(super) struct Problems {
    list: Vec<Error>,
    more: u64,
}

/// So many problems are told one by one.
const TOLD: usize = 20;

impl Problems {
    pub(super) fn add(&mut self, problem: Error) {
        if self.list.len() < TOLD { self.list.push(problem) } else { self.more += 1 }
    }

    /// Adds those of a part.
    pub(super) fn join(&mut self, others: Problems) {
        others.list.into_iter().for_each(|problem| self.add(problem));
        self.more += others.more;
    }

    /// What was read, or what is there without it, and the problem kept.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(super) fn keep<T: Default>(&mut self, what: &str, read: Result<T>) -> Result<T> {
        Ok(read.unless_cancelled()?.unwrap_or_else(|error| {
            self.add(error.of(what));
            T::default()
        }))
    }

    /// Says them of a node.
    pub(super) fn tell(self, node: &mut Node) {
        for problem in self.list {
            match &node.problem {
                None => node.problem = Some(problem),
                Some(_) => node.remarks.push(problem.message()),
            }
        }
        if self.more > 0 {
            node.remarks
                .push(format!("{} more of the like", crate::bytes::display::plural(self.more, "problem")));
        }
    }
}

/// An operator as operator codes name it.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub(super) name: Arc<str>,
    pub(super) is_custom: bool,
    pub(super) version: i32,
}

impl Code {
    fn read(table: &Table) -> Result<Code> {
        // Numbers that a byte could not hold stand in a field of their own; the old one says 127 then.
        let code = i32::from(table.number::<i8>(0, 0)?).max(table.number(3, 0)?);
        let is_custom = code == operators::CUSTOM;
        let own = if is_custom { table.text(1)? } else { None };
        let name = own.filter(|name| !name.is_empty()).map(Arc::from);
        let built_in = || operators::name(code).map_or_else(|| format!("BUILTIN_{code}").into(), Arc::from);
        Ok(Code { name: name.unwrap_or_else(built_in), is_custom, version: table.number(2, 1)? })
    }
}

/// A subgraph: its table, and what of it is read first.
pub(super) struct Subgraph<'a> {
    pub(super) table: Option<Table<'a>>,
    /// Its name in the file.
    pub(super) name: String,
    pub(super) tensors: Vec<Arc<Tensor>>,
    /// By tensor: the weight that it is.
    pub(super) weights: Vec<Option<usize>>,
    pub(super) problems: Problems,
}

/// A model.
pub(super) struct Model<'a> {
    pub(super) task: &'a Task,
    pub(super) source: &'a Source,
    pub(super) table: Table<'a>,
    pub(super) codes: Vec<Code>,
    pub(super) subgraphs: Vec<Subgraph<'a>>,
    pub(super) weights: Vec<Weight>,
    buffers: Vector<'a>,
    len: Option<u64>,
    /// What the places in other files are called, by their numbers.
    externals: HashMap<u32, String>,
    pub(super) problems: Problems,
}

/// The tables of a vector, with the problem of each.
pub(super) fn each<'a, T: Default>(
    task: &Task,
    problems: &mut Problems,
    what: &str,
    tables: Vector<'a>,
    read: impl Fn(&Table<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for n in 0..tables.len() {
        if n % 1024 == 0 {
            task.check()?;
        }
        let one = tables.table(n).and_then(|table| read(&table)).unless_cancelled()?;
        match one {
            Ok(one) => all.push(one),
            Err(error) => {
                let is_limit = error.kind() == crate::bytes::error::ErrorKind::Limit;
                problems.add(error.of(&format!("{what} {n}")));
                if is_limit {
                    break;
                }
                all.push(T::default());
            }
        }
    }
    Ok(all)
}

impl<'a> Model<'a> {
    /// Reads what is needed to make the tree.
    ///
    /// # Errors
    /// `Malformed` where the root's lists cannot be found; `Cancelled`.
    pub(super) fn read(task: &'a Task, source: &'a Source, table: Table<'a>) -> Result<Model<'a>> {
        let mut problems = Problems::default();
        let mut list = |slot: usize, what: &str| {
            table.tables(slot).unwrap_or_else(|error| {
                problems.add(error.of(what));
                table.nothing()
            })
        };
        let (codes, graphs, buffers) = (list(1, "operator codes"), list(2, "subgraphs"), list(4, "buffers"));
        let codes = each(task, &mut problems, "operator code", codes, Code::read)?;
        let len = source.known_len();
        let mut model = Model {
            task,
            source,
            table,
            codes,
            subgraphs: Vec::new(),
            weights: Vec::new(),
            buffers,
            len,
            externals: HashMap::new(),
            problems,
        };
        model.externals()?;
        for n in 0..graphs.len() {
            let subgraph = model.subgraph(graphs.table(n)).unless_cancelled()?;
            match subgraph {
                Ok(subgraph) => model.subgraphs.push(subgraph),
                Err(error) => {
                    model.problems.add(error.of(&format!("subgraph {n}")));
                    model.subgraphs.push(Subgraph::nothing());
                }
            }
        }
        model.name_weights()?;
        Ok(model)
    }

    fn subgraph(&self, table: Result<Table<'a>>) -> Result<Subgraph<'a>> {
        let table = table?;
        let mut problems = Problems::default();
        let tensors = table.tables(0)?;
        let read = |table: &Table<'a>| Tensor::read(table).map(Arc::new);
        let tensors = each(self.task, &mut problems, "tensor", tensors, read)?;
        for (n, tensor) in tensors.iter().enumerate() {
            if let Some(problem) = &tensor.problem {
                problems.add(problem.clone().of(&format!("tensor {n}")));
            }
        }
        let name = problems.keep("name", table.text(4))?.unwrap_or_default();
        let weights = vec![None; tensors.len()];
        Ok(Subgraph { table: Some(table), name, tensors, weights, problems })
    }

    fn externals(&mut self) -> Result<()> {
        let mut problems = std::mem::take(&mut self.problems);
        let groups = problems.keep("external buffer groups", self.table.tables(8).map(Some))?;
        let read = |table: &Table| table.text(0);
        let groups = match groups {
            Some(groups) => each(self.task, &mut problems, "external buffer group", groups, read)?,
            None => Vec::new(),
        };
        if let Some(buffers) = problems.keep("external buffers", self.table.tables(9).map(Some))? {
            let read = |table: &Table| {
                let group =
                    groups.get(table.number::<u32>(1, 0)? as usize).cloned().flatten().unwrap_or_default();
                let (at, len): (u64, u64) = (table.number(2, 0)?, table.number(3, 0)?);
                let packing = table.text(4)?.filter(|text| !text.is_empty());
                let packing = packing.map_or(String::new(), |text| format!(", packed as {text:?}"));
                let text = format!("{len} bytes at byte {at} of the external buffers {group:?}{packing}");
                Ok((table.number::<u32>(0, 0)?, text))
            };
            self.externals =
                each(self.task, &mut problems, "external buffer", buffers, read)?.into_iter().collect();
        }
        self.problems = problems;
        Ok(())
    }

    /// Where a buffer lies; `None` for one that is empty.
    pub(super) fn buffer(&self, index: u64) -> Result<Option<Place>> {
        let number = usize::try_from(index).ok().filter(|index| *index < self.buffers.len());
        let number = number.ok_or_else(|| {
            Error::malformed(format!("buffer {index} is not there: the file has {}", self.buffers.len()))
        })?;
        let table = self.buffers.table(number)?;
        if let Some(data) = table.vector(0, 1)?
            && !data.is_empty()
        {
            return Ok(Some(Place::Here(data.span())));
        }
        let (at, size): (u64, u64) = (table.number(1, 0)?, table.number(2, 0)?);
        if at <= 1 || size == 0 {
            return Ok(None);
        }
        let end = at.checked_add(size).filter(|end| self.len.is_none_or(|len| *end <= len));
        let end = end.ok_or_else(|| {
            let what = format!(
                "buffer {index}: its {size} bytes at byte {at} reach beyond the file, which may be cut off"
            );
            Error::malformed(what).at(table.at())
        })?;
        Ok(Some(Place::Here(at..end)))
    }

    /// Gives each tensor with values a name of its own; one that several subgraphs share is one.
    fn name_weights(&mut self) -> Result<()> {
        let mut subgraphs = std::mem::take(&mut self.subgraphs);
        let (mut known, mut shared) = (HashMap::new(), HashMap::new());
        for subgraph in &mut subgraphs {
            self.task.check()?;
            for (n, (tensor, weight)) in subgraph.tensors.iter().zip(&mut subgraph.weights).enumerate() {
                let Some(place) = tensor.place(self) else { continue };
                let key = tensor.key();
                if let Some(same) = shared.get(&key) {
                    *weight = Some(*same);
                    continue;
                }
                let own = if tensor.name.is_empty() { format!("tensor {n}") } else { tensor.name.clone() };
                let name = unique(&mut known, own);
                let external = match &place {
                    Ok(Place::External(number)) => {
                        let what = self.externals.get(number).cloned();
                        let what = what
                            .unwrap_or_else(|| format!("the external buffer {number}, which is not listed"));
                        Some(format!("its values are not in this file: {what}"))
                    }
                    _ => None,
                };
                let source = self.source.clone();
                *weight = Some(self.weights.len());
                self.weights.push(Weight { name, tensor: tensor.clone(), place, source, external });
            }
            // By the names that were there before: two of one subgraph are two.
            for (tensor, weight) in subgraph.tensors.iter().zip(&subgraph.weights) {
                if let Some(weight) = weight {
                    shared.entry(tensor.key()).or_insert(*weight);
                }
            }
        }
        self.subgraphs = subgraphs;
        Ok(())
    }
}

impl Subgraph<'_> {
    fn nothing() -> Self {
        let (name, tensors, weights) = (String::new(), Vec::new(), Vec::new());
        Subgraph { table: None, name, tensors, weights, problems: Problems::default() }
    }
}

/// A name that none has yet: `own`, or with a number.
pub(super) fn unique(known: &mut HashMap<String, u64>, own: String) -> String {
    let Some(mut n) = known.get(&own).copied() else {
        known.insert(own.clone(), 1);
        return own;
    };
    loop {
        n += 1;
        let name = format!("{own} ({n})");
        if !known.contains_key(&name) {
            known.insert(name.clone(), 1);
            known.insert(own, n);
            return name;
        }
    }
}
