//! Models as graphs: the nodes of a tree, the neurons of a network, the segments of an ensemble, the equations of a regression,
//! the rules of a rule set, the characteristics of a scorecard, the variables of a Bayesian network. Fields of the mining schema
//! are handed in.

mod bayes;
mod network;
mod regression;
mod tree;

use super::{Document, nodes, texts};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Builder, Graph, Operation, Port, ValueId};
use crate::engines::xml::Element;
use std::collections::HashMap;
use std::sync::Arc;

/// Segments whose fields are looked up.
const CONNECTED: usize = 4_096;

/// Whether models of this name are drawn.
pub(super) fn is_drawn(name: &str) -> bool {
    [
        "BayesianNetworkModel",
        "GeneralRegressionModel",
        "MiningModel",
        "NeuralNetwork",
        "RegressionModel",
        "RuleSetModel",
        "Scorecard",
        "TreeModel",
    ]
    .contains(&name)
}

/// The graph of a model of the outline, and what is wrong with a part of it.
///
/// # Errors
/// What is wrong with it as a whole; `Cancelled`.
pub(super) fn graph(
    task: &Task,
    document: &Document,
    model: u32,
    path: &str,
) -> Result<(Graph, Option<Error>)> {
    let name = document.attribute(model, "modelName").unwrap_or_else(|| document.name(model));
    let mut made = GraphBuilder {
        builder: Builder::new(name),
        fields: HashMap::new(),
        active: Vec::new(),
        targets: Vec::new(),
    };
    made.builder.label_edges();
    made.schema(task, document, model)?;
    let mut problem = None;
    match document.name(model) {
        // A tree's edges are its predicates; fields and their transformations are not drawn.
        "TreeModel" => problem = tree::draw(task, document, model, &mut made)?,
        "NeuralNetwork" => network::draw(task, document, model, &mut made)?,
        "MiningModel" => ensemble(task, document, model, path, &mut made)?,
        "RegressionModel" => regression::draw(task, document, model, &mut made)?,
        "GeneralRegressionModel" => regression::draw_general(task, document, model, &mut made)?,
        "BayesianNetworkModel" => bayes::draw(task, document, model, &mut made)?,
        "RuleSetModel" => rules(task, document, model, &mut made)?,
        _ => scorecard(task, document, model, &mut made)?,
    }
    if document.name(model) != "TreeModel" {
        transformations(task, document, model, &mut made)?;
    }
    Ok((made.builder.finish(), problem))
}

/// The transformations that make the fields that a model takes: its own, and those of the document.
fn transformations(task: &Task, document: &Document, model: u32, made: &mut GraphBuilder) -> Result<()> {
    let mut known: HashMap<String, Element> = HashMap::new();
    for (holder, list) in [(0, "TransformationDictionary"), (model, "LocalTransformations")] {
        let Some(list) = document.child(holder, list) else { continue };
        let (list, _) = document.part(task, list)?;
        let fields = list.children.into_iter().filter(|field| field.local_name() == "DerivedField");
        known.extend(fields.filter_map(|field| Some((field.attribute("name")?.to_owned(), field))));
    }
    let mut left: Vec<String> =
        made.fields.keys().filter(|name| known.contains_key(*name)).cloned().collect();
    // Their order must not hang on that of a table of names.
    left.sort_unstable_by_key(|name| std::cmp::Reverse(made.fields.get(name).map(|id| id.index())));
    while let Some(name) = left.pop() {
        task.check()?;
        let Some(field) = known.remove(&name) else { continue };
        let mut inputs = Vec::new();
        for source in field.children.iter().flat_map(fields) {
            if source != name {
                inputs.push(Port::of(made.field(source)?));
                left.extend(known.contains_key(source).then(|| source.to_owned()));
            }
        }
        let mut about = about(&field.attributes, &["name"]);
        about.push(("expression".into(), Attribute::Text(texts::expression(&field))));
        let result = made.field(&name)?;
        if made.active.contains(&result) {
            continue;
        }
        made.node("DerivedField", &name, (inputs, Some(result)), about)?;
    }
    Ok(())
}

/// A graph that is being made.
struct GraphBuilder {
    builder: Builder,
    /// The fields that are known, by their names.
    fields: HashMap<String, ValueId>,
    /// Those that are handed in, in their order.
    active: Vec<ValueId>,
    /// The names of the fields that are predicted.
    targets: Vec<String>,
}

impl GraphBuilder {
    /// Hands in the active fields of the mining schema.
    fn schema(&mut self, task: &Task, document: &Document, model: u32) -> Result<()> {
        let types = document.types(task)?;
        let (active, targets) = schema(task, document, model)?;
        for field in active {
            let id = self.field(&field)?;
            if let Some(value) = self.builder.describe(id) {
                value.dtype = types.get(&field).map(|kind| Arc::from(kind.as_str()));
            }
            self.builder.input(id);
            self.active.push(id);
        }
        self.targets = targets;
        Ok(())
    }

    /// The value of a field.
    fn field(&mut self, name: &str) -> Result<ValueId> {
        if let Some(known) = self.fields.get(name) {
            return Ok(*known);
        }
        let id = self.builder.value(name)?;
        self.fields.insert(name.to_owned(), id);
        Ok(id)
    }

    /// What comes out under the name of the target.
    fn target(&mut self) -> Result<ValueId> {
        let name = self.targets.first().cloned().unwrap_or_else(|| "prediction".to_owned());
        // A field of this name may be handed in as well.
        let name = if self.fields.contains_key(&name) { format!("predicted {name}") } else { name };
        let id = self.builder.value(&name)?;
        self.builder.output(id);
        Ok(id)
    }

    /// A value between two nodes.
    fn between(&mut self, name: &str) -> Result<ValueId> {
        self.builder.unnamed(crate::data::content::graph::Value { name: name.into(), ..Default::default() })
    }

    /// A node that takes and makes these values.
    fn node(
        &mut self,
        operator: &str,
        name: &str,
        values: (Vec<Port>, Option<ValueId>),
        about: About,
    ) -> Result<()> {
        let (inputs, output) = values;
        self.builder.node(Operation {
            name: name.into(),
            operator: operator.into(),
            inputs,
            outputs: output.map(Port::of).into_iter().collect(),
            attributes: about,
            ..Operation::default()
        })
    }
}

/// Attributes of a node.
type About = Vec<(Arc<str>, Attribute)>;

/// Attributes of an element as those of a node; numbers as numbers.
fn about(attributes: &[(String, String)], without: &[&str]) -> About {
    let kept = attributes.iter().filter(|(name, _)| !without.contains(&name.as_str()));
    kept.map(|(name, value)| (name.as_str().into(), scalar(value))).collect()
}

/// A text, or the number that it is.
fn scalar(text: &str) -> Attribute {
    if let Ok(number) = text.parse::<i64>()
        && number.to_string() == text
    {
        return Attribute::Int(number);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    match text.parse::<f64>() {
        Ok(number) if is_number && number.is_finite() => Attribute::Float(number),
        _ => Attribute::Text(text.to_owned()),
    }
}

/// The fields that a model takes, and those that it predicts.
fn schema(task: &Task, document: &Document, model: u32) -> Result<(Vec<String>, Vec<String>)> {
    let Some(schema) = document.child(model, "MiningSchema") else { return Ok(Default::default()) };
    let (mut active, mut targets) = (Vec::new(), Vec::new());
    for field in document.rows(task, schema, "MiningField")? {
        let Some(name) = field.attribute("name") else { continue };
        match field.attribute("usageType").unwrap_or("active") {
            "active" => active.push(name.to_owned()),
            "target" | "predicted" => targets.push(name.to_owned()),
            _ => {}
        }
    }
    Ok((active, targets))
}

/// The names of the fields that a model gives.
fn results(task: &Task, document: &Document, model: u32) -> Result<Vec<String>> {
    let Some(output) = document.child(model, "Output") else { return Ok(Vec::new()) };
    let fields = document.rows(task, output, "OutputField")?;
    Ok(fields.iter().filter_map(|field| field.attribute("name").map(str::to_owned)).collect())
}

/// The segments in their order, and what makes one result of theirs.
fn ensemble(task: &Task, document: &Document, model: u32, path: &str, made: &mut GraphBuilder) -> Result<()> {
    let segmentation = document.child(model, "Segmentation");
    let method = segmentation.and_then(|number| document.attribute(number, "multipleModelMethod"));
    let method = method.unwrap_or("combination").to_owned();
    let segments = nodes::segments(document, model, path);
    let is_connected = segments.len() <= CONNECTED;
    let mut parts = Vec::new();
    for (n, (segment, path)) in segments.iter().enumerate() {
        task.check()?;
        let id = document.attribute(*segment, "id").map_or_else(|| (n + 1).to_string(), str::to_owned);
        let attributes = document.entry(*segment).map_or(&[][..], |entry| &entry.attributes);
        let mut about = about(attributes, &["id"]);
        if is_connected && let Some(predicate) = predicate_of(task, document, *segment)? {
            about.push(("predicate".into(), Attribute::Text(predicate)));
        }
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        let inner = nodes::model_in(document, *segment, path);
        let inner = inner.as_ref().map(|(number, path)| (*number, path.as_str()));
        if let Some((number, _)) = inner {
            let attributes = document.entry(number).map_or(&[][..], |entry| &entry.attributes);
            let own = self::about(attributes, &[]);
            about.extend(
                own.into_iter()
                    .filter(|(name, _)| ["functionName", "modelName", "algorithmName"].contains(&&**name)),
            );
        }
        if let Some((number, _)) = inner.filter(|_| is_connected) {
            for field in schema(task, document, number)?.0 {
                // Fields that nobody hands in are made by transformations.
                inputs.push(Port::of(made.field(&field)?));
            }
            for field in results(task, document, number)? {
                outputs.push(Port { name: "output".into(), ..Port::of(made.field(&field)?) });
            }
        }
        let result = made.between(&id)?;
        outputs.push(Port::of(result));
        parts.push(Port::of(result));
        made.builder.node(Operation {
            name: id.as_str().into(),
            operator: inner.map_or("Segment", |(number, _)| document.name(number)).into(),
            inputs,
            outputs,
            attributes: about,
            function: inner
                .filter(|(number, _)| is_drawn(document.name(*number)))
                .map(|(_, path)| path.into()),
            ..Operation::default()
        })?;
    }
    // A chain's last segment is its result.
    let parts = if method == "modelChain" { parts.split_off(parts.len().saturating_sub(1)) } else { parts };
    let target = made.target()?;
    made.node(&method, "", (parts, Some(target)), Vec::new())
}

/// The predicate of a segment.
fn predicate_of(task: &Task, document: &Document, segment: u32) -> Result<Option<String>> {
    let below = document.entry(segment).map_or(&[][..], |entry| &entry.below);
    let is_one = |number: &&u32| super::terms::is_predicate(document.name(**number));
    let Some(number) = below.iter().find(is_one) else { return Ok(None) };
    let (element, _) = document.part(task, *number)?;
    Ok(Some(texts::predicate(&element)))
}

/// The rules of a rule set in their order; those in a compound rule take its result.
fn rules(task: &Task, document: &Document, model: u32, made: &mut GraphBuilder) -> Result<()> {
    let Some(set) = document.child(model, "RuleSet") else { return Ok(()) };
    let mut results = Vec::new();
    for rule in document.rows(task, set, super::terms::MIXED)? {
        task.check()?;
        rule_below(&rule, None, made, &mut results)?;
    }
    let attributes = document.entry(set).map_or(&[][..], |entry| &entry.attributes);
    let mut about = about(attributes, &[]);
    let below = document.entry(set).map_or(&[][..], |entry| &entry.below);
    let methods = below.iter().filter(|below| document.name(**below) == "RuleSelectionMethod");
    let criteria = methods.filter_map(|method| document.attribute(*method, "criterion"));
    // The first of them is taken where nobody asks for another.
    let criteria = criteria.collect::<Vec<_>>().join(", ");
    about.push(("criterion".into(), Attribute::Text(criteria)));
    let target = made.target()?;
    made.node("RuleSet", "", (results, Some(target)), about)
}

/// A rule, which is named by its predicate, and those in it; its edge is named by its score. How deep they lie is bounded
/// where they are parsed.
fn rule_below(
    rule: &Element,
    above: Option<ValueId>,
    made: &mut GraphBuilder,
    results: &mut Vec<Port>,
) -> Result<()> {
    let mut about = about(&rule.attributes, &[]);
    let predicate = rule.children.iter().find(|child| super::terms::is_predicate(child.local_name()));
    let mut inputs: Vec<Port> = above.map(Port::of).into_iter().collect();
    let said = predicate.map(texts::predicate).unwrap_or_default();
    if let Some(predicate) = predicate {
        about.insert(0, ("predicate".into(), Attribute::Text(said.clone())));
        for field in fields(predicate) {
            inputs.push(Port::of(made.field(field)?));
        }
    }
    for part in rule.all("ScoreDistribution") {
        let value = part.attribute("value").unwrap_or_default();
        let count = part.attribute("recordCount").or_else(|| part.attribute("probability"));
        about.push((format!("records of {value}").into(), scalar(count.unwrap_or_default())));
    }
    let is_simple = rule.local_name() == "SimpleRule";
    let result = made.between(if is_simple { rule.attribute("score").unwrap_or_default() } else { "yes" })?;
    made.node(rule.local_name(), &texts::short(&said), (inputs, Some(result)), about)?;
    if is_simple {
        results.push(Port::of(result));
        return Ok(());
    }
    let inner =
        rule.children.iter().filter(|child| ["SimpleRule", "CompoundRule"].contains(&child.local_name()));
    for rule in inner {
        rule_below(rule, Some(result), made, results)?;
    }
    Ok(())
}

/// The fields that a predicate looks at, each once.
fn fields(predicate: &Element) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut left = vec![predicate];
    while let Some(element) = left.pop() {
        if let Some(field) = element.attribute("field").filter(|field| !found.contains(field)) {
            found.push(field);
        }
        left.extend(element.children.iter().rev());
    }
    found
}

/// The characteristics of a scorecard, whose partial scores are summed.
fn scorecard(task: &Task, document: &Document, model: u32, made: &mut GraphBuilder) -> Result<()> {
    let list = document.child(model, "Characteristics");
    let below = list.and_then(|list| document.entry(list)).map_or(&[][..], |entry| &entry.below);
    let mut results = Vec::new();
    for (n, number) in below.iter().filter(|below| document.name(**below) == "Characteristic").enumerate() {
        task.check()?;
        let attributes = document.entry(*number).map_or(&[][..], |entry| &entry.attributes);
        let name = document.attribute(*number, "name").map_or_else(|| (n + 1).to_string(), str::to_owned);
        let mut about = about(attributes, &["name"]);
        let (mut inputs, mut scores): (Vec<Port>, Vec<String>) = (Vec::new(), Vec::new());
        for row in document.rows(task, *number, "Attribute")? {
            let predicate = row.children.iter().find(|child| super::terms::is_predicate(child.local_name()));
            let said = predicate.map_or_else(String::new, texts::predicate);
            let computed = || {
                let inner = row.child("ComplexPartialScore")?;
                let inner =
                    inner.children.iter().find(|child| super::terms::is_expression(child.local_name()))?;
                Some(texts::expression(inner))
            };
            let score = row.attribute("partialScore").map(str::to_owned).or_else(computed);
            scores.push(format!("{said}: {}", score.unwrap_or_default()));
            for field in predicate.map_or(Vec::new(), fields) {
                let port = Port::of(made.field(field)?);
                if !inputs.iter().any(|known| known.value == port.value) {
                    inputs.push(port);
                }
            }
        }
        about.push(("scores".into(), Attribute::Texts(scores)));
        let result = made.between(&name)?;
        results.push(Port::of(result));
        made.node("Characteristic", &name, (inputs, Some(result)), about)?;
    }
    let attributes = document.entry(model).map_or(&[][..], |entry| &entry.attributes);
    let kept = ["initialScore", "useReasonCodes", "reasonCodeAlgorithm", "baselineScore", "baselineMethod"];
    let about = about(attributes, &[]).into_iter().filter(|(name, _)| kept.contains(&&**name)).collect();
    let target = made.target()?;
    made.node("sum", "", (results, Some(target)), about)
}
