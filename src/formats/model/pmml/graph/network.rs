//! Neural networks: a node an input, a neuron or an output. <https://dmg.org/pmml/v4-4-1/NeuralNetwork.html>

use super::{GraphBuilder, about};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Operation, Port, ValueId};
use crate::engines::xml::Element;
use crate::formats::model::pmml::{Document, texts};
use std::collections::HashMap;

/// The most connections of a network that is drawn.
const CONNECTIONS: usize = 1 << 21;

/// Draws the network of a model of the outline.
///
/// # Errors
/// What is wrong with it; `Cancelled`.
pub(super) fn draw(task: &Task, document: &Document, model: u32, made: &mut GraphBuilder) -> Result<()> {
    let mut neurons: HashMap<String, ValueId> = HashMap::new();
    if let Some(inputs) = document.child(model, "NeuralInputs") {
        for input in document.rows(task, inputs, "NeuralInput")? {
            task.check()?;
            let mut ports = Vec::new();
            for field in fields(&input) {
                ports.push(Port::of(made.field(field)?));
            }
            let mut about = about(&input.attributes, &["id"]);
            about.extend(said(&input).map(|said| ("expression".into(), Attribute::Text(said))));
            let id = input.attribute("id").unwrap_or_default();
            let result = made.between(id)?;
            neurons.insert(id.to_owned(), result);
            made.node("NeuralInput", id, (ports, Some(result)), about)?;
        }
    }
    let mut connections = 0;
    let below = document.entry(model).map_or(&[][..], |entry| &entry.below);
    for (n, layer) in below.iter().filter(|below| document.name(**below) == "NeuralLayer").enumerate() {
        for neuron in document.rows(task, *layer, "Neuron")? {
            task.check()?;
            connections += neuron.children.len();
            if connections > CONNECTIONS {
                return Err(Error::limit(format!(
                    "a network of more than {CONNECTIONS} connections is not drawn"
                )));
            }
            let (mut inputs, mut weights) = (Vec::new(), Vec::new());
            for connection in neuron.all("Con") {
                let from = connection.attribute("from").unwrap_or_default();
                let value = match neurons.get(from) {
                    Some(known) => *known,
                    // It is not there: its place stays visible.
                    None => made.field(from)?,
                };
                inputs.push(Port::of(value));
                weights.push(
                    connection.attribute("weight").and_then(|weight| weight.parse().ok()).unwrap_or(f64::NAN),
                );
            }
            let id = neuron.attribute("id").unwrap_or_default();
            let mut about = about(&neuron.attributes, &["id"]);
            let own = document.entry(*layer).map_or(&[][..], |entry| &entry.attributes);
            let activation =
                own.iter().find(|(name, _)| name == "activationFunction").map(|(_, value)| value.as_str());
            let activation = activation.or_else(|| document.attribute(model, "activationFunction"));
            about.extend(
                activation.map(|name| ("activationFunction".into(), Attribute::Text(name.to_owned()))),
            );
            about.push(("weights".into(), Attribute::Floats(weights)));
            let result = made.between(id)?;
            neurons.insert(id.to_owned(), result);
            made.builder.node(Operation {
                name: id.into(),
                operator: "Neuron".into(),
                group: format!("layer {}", n + 1).into(),
                inputs,
                outputs: vec![Port::of(result)],
                attributes: about,
                ..Operation::default()
            })?;
        }
    }
    outputs(task, document, model, made, &neurons)
}

fn outputs(
    task: &Task,
    document: &Document,
    model: u32,
    made: &mut GraphBuilder,
    neurons: &HashMap<String, ValueId>,
) -> Result<()> {
    let Some(outputs) = document.child(model, "NeuralOutputs") else { return Ok(()) };
    for output in document.rows(task, outputs, "NeuralOutput")? {
        task.check()?;
        let from = output.attribute("outputNeuron").unwrap_or_default();
        let said = said(&output).unwrap_or_default();
        let result = made.between(if said.is_empty() { from } else { &said })?;
        made.builder.output(result);
        let inputs = neurons.get(from).copied().map(Port::of).into_iter().collect();
        made.node(
            "NeuralOutput",
            from,
            (inputs, Some(result)),
            vec![("expression".into(), Attribute::Text(said))],
        )?;
    }
    Ok(())
}

/// What the expression of an input or an output says.
fn said(element: &Element) -> Option<String> {
    element.child("DerivedField").map(texts::expression)
}

/// The fields that an expression takes, each once.
fn fields(element: &Element) -> Vec<&str> {
    super::fields(element)
}
