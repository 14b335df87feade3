//! Bayesian networks: a node a variable, which takes those that it depends on.
//! <https://dmg.org/pmml/v4-4-1/BayesianNetwork.html>

use super::{GraphBuilder, about};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Port, ValueId};
use crate::engines::xml::Element;
use crate::formats::model::pmml::{Document, terms};
use std::collections::HashMap;

/// Draws the network of a model of the outline.
pub(super) fn draw(task: &Task, document: &Document, model: u32, made: &mut GraphBuilder) -> Result<()> {
    // A variable is a field as well, but what stands for it here is its distribution.
    let mut variables: HashMap<String, ValueId> = HashMap::new();
    let Some(nodes) = document.child(model, "BayesianNetworkNodes") else { return Ok(()) };
    for node in document.rows(task, nodes, terms::MIXED)? {
        task.check()?;
        let name = node.attribute("name").unwrap_or_default();
        let mut inputs = Vec::new();
        for parent in parents(&node) {
            inputs.push(Port::of(variable(parent, made, &mut variables)?));
        }
        let mut about = about(&node.attributes, &["name"]);
        let probability = |row: &Element| {
            let of = |name: &str| row.attribute(name).unwrap_or_default().to_owned();
            format!("{}: {}", of("value"), of("probability"))
        };
        let values: Vec<String> = node.all("ValueProbability").map(probability).collect();
        if !values.is_empty() {
            about.push(("probabilities".into(), Attribute::Texts(values)));
        }
        let conditions = node.all("DiscreteConditionalProbability").count()
            + node.all("ContinuousConditionalProbability").count();
        if conditions > 0 {
            about.push(("conditional probabilities".into(), Attribute::Int(conditions as i64)));
        }
        let result = variable(name, made, &mut variables)?;
        made.node(node.local_name(), name, (inputs, Some(result)), about)?;
    }
    Ok(())
}

fn variable(name: &str, made: &mut GraphBuilder, known: &mut HashMap<String, ValueId>) -> Result<ValueId> {
    if let Some(known) = known.get(name) {
        return Ok(*known);
    }
    let value = made.between(name)?;
    known.insert(name.to_owned(), value);
    Ok(value)
}

/// The variables that one depends on, each once.
fn parents(node: &Element) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let conditions =
        node.children.iter().filter(|child| child.local_name().ends_with("ConditionalProbability"));
    for parent in conditions.flat_map(|condition| condition.all("ParentValue")) {
        if let Some(name) = parent.attribute("parent").filter(|name| !found.contains(name)) {
            found.push(name);
        }
    }
    found
}
