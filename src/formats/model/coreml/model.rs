//! `Model`: what it says of itself, and what it is: a pipeline of models, a network, a program, an ensemble of trees,
//! or parameters.
//! <https://apple.github.io/coremltools/mlmodel/Format/Model.html>

use super::blob::Blobs;
use super::features::{self, Feature};
use super::network::{self, Network};
use super::program::Function;
use super::schema::{self, Kind};
use super::value::Context;
use super::{Leaf, json, label, params};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Content;
use crate::data::content::graph::{Builder, Operation, Port};
use crate::data::node::{Node, Value};
use crate::engines::modules::{self, Names};
use crate::engines::protobuf::{Field, Part};
use crate::engines::tensorflow::messages::entry;
use serde_json::Value as Json;
use std::sync::Arc;

/// How deep pipelines may lie in pipelines.
const DEPTH: usize = 8;
/// The first number of the fields that say what a model is.
const FIRST_KIND: u32 = 200;
/// The groups of members, functions, other blocks of a function.
const MODELS: &str = "models";
const FUNCTIONS: &str = "functions";
const SPECIALISATIONS: &str = "block_specializations";

/// The bytes of a model and who reads them.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) task: &'a Task,
    pub(super) source: &'a Source,
}

/// What a `ModelDescription` says.
#[derive(Default)]
struct Description {
    attributes: Vec<(String, Value)>,
    inputs: Vec<Feature>,
    outputs: Vec<Feature>,
    function: String,
}

/// A model as it is read.
#[derive(Default)]
pub(super) struct Shown {
    attributes: Vec<(String, Value)>,
    inputs: Vec<Feature>,
    outputs: Vec<Feature>,
    /// The name of what it is.
    kind: &'static str,
    content: Option<Content>,
    leaves: Vec<Leaf>,
    after: Vec<Node>,
    problem: Option<Error>,
}

impl Shown {
    fn blame(&mut self, error: Error) {
        self.problem.get_or_insert(error);
    }

    /// The root of a document of it.
    pub(super) fn root(self, mut root: Node) -> Node {
        let after = self.fill(&mut root);
        modules::tree(root, self.leaves, after.into_iter().map(Arc::new).collect())
    }

    /// A node of it in another.
    fn node(self, name: &str, label: &'static str) -> Node {
        let mut node = Node::new(name, label);
        let after = self.fill(&mut node);
        modules::tree_by(node, self.leaves, after.into_iter().map(Arc::new).collect(), ".")
    }
}

impl Shown {
    fn fill(&self, node: &mut Node) -> Vec<Node> {
        node.attributes.extend(self.attributes.iter().cloned());
        node.content.clone_from(&self.content);
        node.problem = node.problem.take().or(self.problem.clone());
        self.after.clone()
    }
}

/// What a model says of itself.
fn described(part: Part) -> Result<Description> {
    let mut found = Description::default();
    let mut lists: [(&str, Vec<Json>); 4] =
        [("input", vec![]), ("output", vec![]), ("state", vec![]), ("trainingInput", vec![])];
    let mut functions = Vec::new();
    let mut rest = Vec::new();
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        let list = match number {
            1 => "input",
            10 => "output",
            13 => "state",
            50 => "trainingInput",
            11 | 12 | 21 => {
                let name = schema::message("ModelDescription").field(number).map_or("", |field| field.name);
                if number == 21 {
                    found.function = value.text();
                }
                rest.push((name.to_owned(), Value::from(value.text())));
                continue;
            }
            20 => {
                functions.push(json::of(value.part(), schema::message("FunctionDescription"))?);
                if found.function.is_empty() {
                    found.function = functions
                        .first()
                        .and_then(|first| first.get("name")?.as_str())
                        .unwrap_or_default()
                        .to_owned();
                }
                continue;
            }
            100 => {
                metadata(value.part(), &mut found.attributes)?;
                continue;
            }
            _ => continue,
        };
        let feature = features::parse(value.part())?;
        if let Some((_, told)) = lists.iter_mut().find(|(name, _)| *name == list) {
            told.push(Json::Object(feature.told.clone()));
        }
        match list {
            "input" => found.inputs.push(feature),
            "output" => found.outputs.push(feature),
            _ => {}
        }
    }
    for (name, told) in lists.into_iter().filter(|(_, told)| !told.is_empty()) {
        found.attributes.push((name.to_owned(), Json::Array(told).into()));
    }
    found.attributes.append(&mut rest);
    if !functions.is_empty() {
        found.attributes.push(("functions".to_owned(), Json::Array(functions).into()));
    }
    Ok(found)
}

/// `Metadata`: description, version, author, license, and what people added.
fn metadata(part: Part, to: &mut Vec<(String, Value)>) -> Result<()> {
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        let name = match number {
            1 => "shortDescription",
            2 => "versionString",
            3 => "author",
            4 => "license",
            100 => {
                let (key, value) = entry(value.part())?;
                to.push((key.text(), value.text().into()));
                continue;
            }
            _ => continue,
        };
        to.push((name.to_owned(), json::text(value).into()));
    }
    Ok(())
}

impl Reader<'_> {
    /// Reads a model. The paths of what lies below it begin with `prefix`.
    ///
    /// # Errors
    /// `Cancelled`, `Limit`; what is malformed is the model's problem.
    pub(super) fn model(&self, part: Part, prefix: &str, depth: usize) -> Result<Shown> {
        let mut shown = Shown::default();
        let (mut description, mut kind) = (Description::default(), None);
        for field in part.fields() {
            let Field { number, value, .. } = match field {
                Ok(field) => field,
                Err(error) => {
                    shown.blame(error);
                    break;
                }
            };
            match number {
                1 => shown
                    .attributes
                    .push(("specificationVersion".to_owned(), Json::from(value.uint()).into())),
                2 => match described(value.part()) {
                    Ok(found) => description = found,
                    Err(error) => shown.blame(error.of("description")),
                },
                10 if value.uint() != 0 => {
                    shown.attributes.push(("isUpdatable".to_owned(), Json::from(true).into()));
                }
                FIRST_KIND.. => kind = Some((number, value.part())),
                _ => {}
            }
        }
        let known = kind.and_then(|(number, part)| {
            let field = schema::message("Model").field(number)?;
            let Kind::Message(of) = field.kind else { return None };
            Some((field.name, of, part))
        });
        if let Some((name, ..)) = known {
            shown.kind = name;
            shown.attributes.push(("type".to_owned(), name.into()));
        }
        shown.attributes.append(&mut description.attributes);
        (shown.inputs, shown.outputs) = (description.inputs, description.outputs);
        match (known, kind) {
            (Some((name, of, part)), _) => {
                let read = self.kind(&mut shown, (name, of), part, (prefix, &description.function), depth);
                if let Err(error) = read.unless_cancelled()? {
                    shown.blame(error);
                }
            }
            (None, Some((number, _))) => {
                shown.blame(Error::unsupported(format!("a model of the type {number}")));
            }
            (None, None) => shown.blame(Error::malformed("a model that does not say what it is")),
        }
        Ok(shown)
    }

    fn kind(
        &self,
        shown: &mut Shown,
        (name, of): (&str, &'static str),
        part: Part,
        (prefix, function): (&str, &str),
        depth: usize,
    ) -> Result<()> {
        match name {
            "pipeline" | "pipelineClassifier" | "pipelineRegressor" => {
                let inner = match name {
                    "pipeline" => Some(part),
                    _ => {
                        let first = part.fields().map_while(Result::ok).find(|field| field.number == 1);
                        first.map(|field| field.value.part())
                    }
                };
                inner.map_or(Ok(()), |part| self.pipeline(shown, part, prefix, depth))
            }
            "neuralNetwork" | "neuralNetworkClassifier" | "neuralNetworkRegressor" => {
                self.network(shown, of, part, prefix)
            }
            "mlProgram" => self.program(shown, part, prefix, function),
            _ => {
                let mut holder = Node::new("", label::GROUP);
                let filled =
                    params::fill(self.source, &mut holder, &mut shown.after, part, schema::message(of), &[]);
                shown.attributes.append(&mut holder.attributes);
                filled
            }
        }
    }

    /// A pipeline: its members are nodes of a graph, and models of the tree.
    fn pipeline(&self, shown: &mut Shown, part: Part, prefix: &str, depth: usize) -> Result<()> {
        if depth >= DEPTH {
            return Err(Error::limit(format!("pipelines more than {DEPTH} deep in pipelines")));
        }
        let (mut models, mut names) = (Vec::new(), Vec::new());
        for field in part.fields() {
            match field? {
                Field { number: 1, value, .. } => models.push(value.part()),
                Field { number: 2, value, .. } => names.push(value.text()),
                _ => {}
            }
        }
        let mut builder = Builder::new("");
        ends(&mut builder, &shown.inputs, &shown.outputs)?;
        let (mut members, mut free) = (Vec::new(), Names::default());
        for (n, part) in models.into_iter().enumerate() {
            self.task.check()?;
            let own = names.get(n).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| n.to_string());
            let name = free.free(&own);
            let path = format!("{prefix}{MODELS}/{name}");
            let member = self.model(part, &format!("{path}/"), depth + 1)?;
            let mut operation = Operation {
                name: name.as_str().into(),
                operator: if member.kind.is_empty() { "model".into() } else { member.kind.into() },
                ..Operation::default()
            };
            if matches!(member.content, Some(Content::Graph(_))) {
                operation.function = Some(path.into());
            }
            for (features, ports) in
                [(&member.inputs, &mut operation.inputs), (&member.outputs, &mut operation.outputs)]
            {
                for feature in features {
                    let id = described_value(&mut builder, feature)?;
                    ports.push(Port { name: feature.name.as_str().into(), ..Port::of(id) });
                }
            }
            builder.node(operation)?;
            members.push(member.node(&name, label::MODEL));
        }
        shown.content = Some(Content::Graph(Arc::new(builder.finish())));
        shown.after.push(Node::new(MODELS, label::GROUP).listed(members));
        Ok(())
    }

    /// A neural network: a graph with its weights, then what else it says.
    fn network(&self, shown: &mut Shown, of: &'static str, part: Part, prefix: &str) -> Result<()> {
        let mut network = Network {
            task: self.task,
            source: self.source,
            prefix,
            leaves: Vec::new(),
            names: Names::default(),
            problem: None,
        };
        let graph = network.graph("", part, Some((shown.inputs.as_slice(), shown.outputs.as_slice())), 0)?;
        shown.content = Some(Content::Graph(Arc::new(graph)));
        shown.leaves = network.leaves;
        if let Some(error) = network.problem {
            shown.blame(error);
        }
        let mut holder = Node::new("", label::GROUP);
        let skip = [network::LAYERS];
        let filled =
            params::fill(self.source, &mut holder, &mut shown.after, part, schema::message(of), &skip);
        shown.attributes.append(&mut holder.attributes);
        filled
    }

    /// An ML program: the function that is run by default is the root's graph, others stand below.
    fn program(&self, shown: &mut Shown, part: Part, prefix: &str, default: &str) -> Result<()> {
        let context = Context { source: self.source.clone(), blobs: Blobs::new(self.source.clone()) };
        let context = Arc::new(context);
        let mut functions = Vec::new();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => shown.attributes.push(("version".to_owned(), Json::from(value.uint()).into())),
                2 => {
                    let (key, function) = entry(value.part())?;
                    functions.push((key.text(), function.part()));
                }
                3 => shown.attributes.push(("docString".to_owned(), value.text().into())),
                4 => {
                    let (key, value) = entry(value.part())?;
                    let value = super::value::Constant::parse(value.part())?;
                    if let Some(value) = value.setting(self.task, self.source)? {
                        shown.attributes.push((key.text(), value.to_string().into()));
                    }
                }
                _ => {}
            }
        }
        functions.sort_by(|(a, _), (b, _)| a.cmp(b));
        let chosen =
            [default, "main"].into_iter().find_map(|name| functions.iter().position(|(own, _)| own == name));
        let chosen = chosen.or((!functions.is_empty()).then_some(0));
        let Some(chosen) = chosen else { return Err(Error::malformed("a program without functions")) };
        let mut others = Vec::new();
        for (n, (name, part)) in functions.into_iter().enumerate() {
            let is_main = n == chosen;
            let at = if is_main { prefix.to_owned() } else { format!("{prefix}{FUNCTIONS}/{name}/") };
            let mut function = Function::new(self.task, context.clone(), &at);
            let graph = function.graph(&name, part)?;
            let mut own = Shown { content: Some(Content::Graph(Arc::new(graph))), ..Shown::default() };
            own.after.extend(function.group());
            let special = std::mem::take(&mut function.others).into_iter().map(|(name, graph)| {
                Node::new(name, label::FUNCTION).content(Content::Graph(Arc::new(graph)))
            });
            let special: Vec<Node> = special.collect();
            if !special.is_empty() {
                own.after.push(Node::new(SPECIALISATIONS, label::GROUP).listed(special));
            }
            own.leaves = function.leaves;
            own.problem = function.problem;
            own.attributes =
                function.attributes.into_iter().map(|(name, value)| (name, value.into())).collect();
            if is_main {
                shown.attributes.append(&mut own.attributes);
                (shown.content, shown.leaves) = (own.content, own.leaves);
                shown.after.append(&mut own.after);
                if let Some(error) = own.problem {
                    shown.blame(error);
                }
            } else {
                others.push(own.node(&name, label::FUNCTION));
            }
        }
        if !others.is_empty() {
            shown.after.push(Node::new(FUNCTIONS, label::GROUP).listed(others));
        }
        Ok(())
    }
}

/// The value of a feature, with what is known of it.
fn described_value(builder: &mut Builder, feature: &Feature) -> Result<crate::data::content::graph::ValueId> {
    let id = builder.value(&feature.name)?;
    if let Some(value) = builder.describe(id) {
        value.dtype = value.dtype.take().or_else(|| feature.dtype.as_deref().map(Into::into));
        value.shape = value.shape.take().or_else(|| feature.shape.clone());
    }
    Ok(id)
}

/// What goes into a graph and comes out of it.
fn ends(builder: &mut Builder, inputs: &[Feature], outputs: &[Feature]) -> Result<()> {
    for feature in inputs {
        let id = described_value(builder, feature)?;
        builder.input(id);
    }
    for feature in outputs {
        let id = described_value(builder, feature)?;
        builder.output(id);
    }
    Ok(())
}
