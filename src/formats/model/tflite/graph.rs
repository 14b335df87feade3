//! Subgraphs as graphs: tensors as values, operators as nodes, the subgraphs that operators run as their bodies.

use super::attributes::{OperatorOptions, not_there};
use super::model::{Model, Problems, Subgraph, each, unique};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::content::graph::{Attribute, Builder, Graph, Operation, Port, Value, ValueId, scope};
use crate::engines::flatbuffer::Table;
use std::collections::HashMap;
use std::sync::Arc;

/// The group that subgraphs but the first are children of.
pub(super) const SUBGRAPHS: &str = "subgraphs";
/// The most nodes of a graph, those of its bodies and of theirs counted where they are run.
const NODES: u64 = 1 << 22;

/// A graph that was made.
#[derive(Clone, Default)]
struct BuiltGraph {
    graph: Arc<Graph>,
    /// Its nodes, with those of its bodies.
    nodes: u64,
}

/// How far a subgraph is.
#[derive(Clone)]
enum State {
    Unseen,
    /// It is being made: whoever meets it again is inside of it.
    Open,
    Built(BuiltGraph),
}

/// Makes the graphs of a model, each before those that run it.
pub(super) struct Graphs<'a> {
    model: &'a Model<'a>,
    states: Vec<State>,
    /// The names of the nodes of the document, by subgraph.
    pub(super) names: Vec<String>,
    /// Whether tensors tell that their ranks are known.
    ranked: bool,
    /// By subgraph.
    pub(super) problems: Vec<Problems>,
}

impl<'a> Graphs<'a> {
    pub(super) fn new(model: &'a Model<'a>, problems: Vec<Problems>) -> Self {
        let mut known = HashMap::new();
        let name = |(n, own): (usize, &str)| {
            let own = if own.is_empty() { format!("subgraph {n}") } else { own.to_owned() };
            if n == 0 { own } else { unique(&mut known, own) }
        };
        let names =
            model.subgraphs.iter().map(|subgraph| subgraph.name.as_str()).enumerate().map(name).collect();
        let mut tensors = model.subgraphs.iter().flat_map(|subgraph| &subgraph.tensors);
        let ranked = tensors.any(|tensor| tensor.has_rank());
        Graphs { model, states: vec![State::Unseen; model.subgraphs.len()], names, ranked, problems }
    }

    /// The graph of a subgraph.
    ///
    /// # Errors
    /// `Cancelled`, and where there are too many values or nodes.
    pub(super) fn graph(&mut self, number: usize) -> Result<Arc<Graph>> {
        Ok(self.made(number, 0)?.graph)
    }

    /// Where a subgraph stands in the document; the first one is the document's own.
    fn path(&self, number: usize) -> String {
        let name = self.names.get(number).map_or("", String::as_str);
        if number == 0 { name.to_owned() } else { format!("{SUBGRAPHS}/{name}") }
    }

    fn made(&mut self, number: usize, depth: usize) -> Result<BuiltGraph> {
        if let Some(State::Built(made)) = self.states.get(number) {
            return Ok(made.clone());
        }
        if let Some(state) = self.states.get_mut(number) {
            *state = State::Open;
        }
        let mut problems = self.problems.get_mut(number).map(std::mem::take).unwrap_or_default();
        let made = self.make(number, depth, &mut problems)?;
        if let Some(place) = self.problems.get_mut(number) {
            *place = problems;
        }
        if let Some(state) = self.states.get_mut(number) {
            *state = State::Built(made.clone());
        }
        Ok(made)
    }

    fn make(&mut self, number: usize, depth: usize, problems: &mut Problems) -> Result<BuiltGraph> {
        let model = self.model;
        let Some(subgraph) = model.subgraphs.get(number) else { return Ok(BuiltGraph::default()) };
        let Some(table) = subgraph.table else { return Ok(BuiltGraph::default()) };
        let mut builder = Builder::new(subgraph.name.clone());
        let ids = self.values(subgraph, &mut builder)?;
        for (slot, what) in [(1, "inputs"), (2, "outputs")] {
            let listed: Vec<i32> = problems.keep(what, table.numbers(slot))?;
            for index in listed {
                match known(&ids, index) {
                    Ok(id) if slot == 1 => builder.input(id),
                    Ok(id) => builder.output(id),
                    Err(error) => problems.add(error.of(what)),
                }
            }
        }
        let operators = problems.keep("operators", table.tables(3).map(Some))?;
        let read = |table: &Table<'a>| Ok(Some(*table));
        let tables = match operators {
            Some(operators) => each(model.task, problems, "operator", operators, read)?,
            None => Vec::new(),
        };
        let mut nodes = tables.len() as u64;
        for (n, table) in tables.into_iter().enumerate() {
            if n % 1024 == 0 {
                model.task.check()?;
            }
            // One that cannot be read keeps its place.
            let Some(table) = table else {
                builder.node(Operation { operator: "?".into(), ..Operation::default() })?;
                continue;
            };
            let (mut node, bodies) = self.operation(&table, (subgraph, &ids), n, problems)?;
            for (name, body) in bodies {
                match self.body(body, depth, &mut nodes)? {
                    Ok((path, graph)) => {
                        node.attributes.push((name.clone(), Attribute::Graph(path)));
                        node.subgraphs.extend(graph.map(|graph| (name, graph)));
                    }
                    Err(error) => problems.add(error.of(&format!("operator {n}: {name}"))),
                }
            }
            builder.node(node)?;
        }
        Ok(BuiltGraph { graph: Arc::new(builder.finish()), nodes })
    }

    /// Adds the tensors of a subgraph, each under its number.
    fn values(&self, subgraph: &Subgraph, builder: &mut Builder) -> Result<Vec<ValueId>> {
        let mut ids = Vec::with_capacity(subgraph.tensors.len());
        for (tensor, weight) in subgraph.tensors.iter().zip(&subgraph.weights) {
            let mut value = Value::default();
            tensor.describe(&mut value, self.ranked && weight.is_none());
            if let Some(weight) = weight.and_then(|weight| self.model.weights.get(weight)) {
                value.weight = Some(weight.name.as_str().into());
                value.elements = weight.elements();
            }
            ids.push(builder.unnamed(value)?);
        }
        Ok(ids)
    }

    /// The path and, where it can be had, the graph of a subgraph that an operator runs.
    fn body(
        &mut self,
        number: i64,
        depth: usize,
        nodes: &mut u64,
    ) -> Result<Result<(String, Option<Arc<Graph>>)>> {
        let count = self.states.len();
        let Some(index) = usize::try_from(number).ok().filter(|index| *index < count) else {
            return Ok(Err(not_there("subgraph", number, count)));
        };
        let path = self.path(index);
        if let Some(State::Open) = self.states.get(index) {
            return Ok(Err(Error::malformed(format!("the subgraph {path:?} runs itself"))));
        }
        if depth >= limits::DEPTH {
            return Ok(Err(Error::limit(format!(
                "subgraphs more than {} deep in each other",
                limits::DEPTH
            ))));
        }
        let made = self.made(index, depth + 1)?;
        let all = nodes.saturating_add(made.nodes);
        if all > NODES {
            // The path stays: it is the drawing of all of them in each other that would be too much.
            return Ok(Ok((path, None)));
        }
        *nodes = all;
        Ok(Ok((path, Some(made.graph))))
    }

    /// An operator as a node, and the subgraphs that it runs.
    fn operation(
        &self,
        table: &Table,
        (subgraph, ids): (&Subgraph, &[ValueId]),
        n: usize,
        problems: &mut Problems,
    ) -> Result<(Operation, Vec<(Arc<str>, i64)>)> {
        let model = self.model;
        let mut node = Operation { operator: "?".into(), ..Operation::default() };
        let mut said = OperatorOptions::default();
        let what = format!("operator {n}");
        let index: u32 = problems.keep(&what, table.number(0, 0))?;
        match model.codes.get(index as usize) {
            Some(code) => {
                if !code.name.is_empty() {
                    node.operator = code.name.clone();
                }
                node.domain = if code.is_custom { "custom".into() } else { "".into() };
                said.say("operator_version", Attribute::Int(code.version.into()));
            }
            None => problems.add(not_there("operator code", index.into(), model.codes.len()).of(&what)),
        }
        for (slot, side) in [(1, "inputs"), (2, "outputs")] {
            let listed: Vec<i32> = problems.keep(&what, table.numbers(slot))?;
            let mut ports = Vec::with_capacity(listed.len());
            for index in listed {
                // An optional one that is not there.
                if index == -1 {
                    ports.push(Port::default());
                    continue;
                }
                let id = known(ids, index).map(Some);
                let value = problems.keep(&format!("{what}: {side}"), id)?;
                ports.push(Port { value, ..Port::default() });
            }
            if slot == 1 { node.inputs = ports } else { node.outputs = ports }
        }
        problems.keep(&what, said.read(model, table))?;
        problems.keep(&what, self.inner(table, ids, &mut said))?;
        let first = node.outputs.first().and_then(|port| port.value);
        // Values have the numbers of their tensors.
        let tensor = first.and_then(|id| subgraph.tensors.get(id.index()));
        node.group = tensor.map_or("", |tensor| group(&tensor.name)).into();
        node.attributes = said.attributes;
        Ok((node, said.bodies))
    }

    /// The tensors that an operator changes or keeps to itself.
    fn inner(&self, table: &Table, ids: &[ValueId], said: &mut OperatorOptions) -> Result<()> {
        let changed: Vec<u8> = table.numbers(7)?;
        if changed.iter().any(|flag| *flag != 0) {
            let places = changed.iter().enumerate().filter(|(_, flag)| **flag != 0);
            said.say("mutating_variable_inputs", Attribute::Ints(places.map(|(n, _)| n as i64).collect()));
        }
        let kept: Vec<i32> = table.numbers(8)?;
        if !kept.is_empty() {
            kept.iter().try_for_each(|index| known(ids, *index).map(drop))?;
            said.say("intermediates", Attribute::Ints(kept.into_iter().map(i64::from).collect()));
        }
        Ok(())
    }
}

/// The value of a tensor.
fn known(ids: &[ValueId], index: i32) -> Result<ValueId> {
    let id = usize::try_from(index).ok().and_then(|index| ids.get(index));
    id.copied().ok_or_else(|| not_there("tensor", index.into(), ids.len()))
}

/// The scope of what fused operators are called: names of all of them, the first one counts.
pub(super) fn group(name: &str) -> &str {
    scope(name.split(';').next().unwrap_or(name))
}
