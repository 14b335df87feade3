//! Neural networks: layers as nodes of a graph, with their weights; the networks in branches and loops are their
//! bodies.
//! <https://apple.github.io/coremltools/mlmodel/Format/NeuralNetwork.html>

use super::features::Feature;
use super::schema::{self, Count, Field, Kind, Message};
use super::weights::{self, Weights};
use super::{Leaf, json};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::graph::{Attribute, Builder, Dimension, Graph, Operation, Port, scope};
use crate::engines::modules::Names;
use crate::engines::protobuf::{Field as WireField, Part, Value as Wire};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::sync::Arc;

/// How deep networks may lie in networks.
const DEPTH: usize = 16;
/// The most values of a list that is an attribute, and of messages that repeat.
const ITEMS: usize = 1_024;
/// The number of the field of layers.
pub(super) const LAYERS: u32 = 1;
/// The first number of the fields that say what kind of layer it is.
const FIRST_KIND: u32 = 100;

/// Makes the graph of a network.
pub(super) struct Network<'a> {
    pub(super) task: &'a Task,
    pub(super) source: &'a Source,
    /// What the paths of weights begin with.
    pub(super) prefix: &'a str,
    pub(super) leaves: Vec<Leaf>,
    pub(super) names: Names,
    /// The first thing that is wrong with a layer.
    pub(super) problem: Option<Error>,
}

/// What a layer says of itself.
#[derive(Default)]
struct Parameters<'a> {
    attributes: Vec<(Arc<str>, Attribute)>,
    weights: Vec<(String, Part<'a>)>,
    networks: Vec<(String, Part<'a>)>,
}

impl<'a> Parameters<'a> {
    fn say(&mut self, name: String, value: Attribute) {
        self.attributes.push((name.into(), value));
    }

    /// Adds the fields of a message, their names behind `prefix`.
    fn read(&mut self, part: Part<'a>, message: &'static Message, prefix: &str) -> Result<()> {
        let mut seen: Vec<(&'static Field, Vec<Wire<'a>>)> = Vec::new();
        for field in part.fields() {
            let WireField { number, value, .. } = field?;
            if let Some((_, values)) = seen.iter_mut().find(|(known, _)| known.number == number) {
                values.push(value);
            } else if let Some(field) = message.field(number) {
                seen.push((field, vec![value]));
            }
        }
        for (field, values) in seen {
            self.field(field, &values, &format!("{prefix}{}", field.name), prefix)?;
        }
        Ok(())
    }

    fn field(&mut self, field: &'static Field, values: &[Wire<'a>], name: &str, prefix: &str) -> Result<()> {
        let Some(last) = values.last().copied() else { return Ok(()) };
        match (field.count, field.kind) {
            (Count::One, Kind::Message(of)) => {
                if let Some(choice) = field.choice {
                    self.say(format!("{prefix}{choice}"), Attribute::Text(field.name.to_owned()));
                }
                self.message(of, last, name.to_owned())?;
            }
            (Count::Many, Kind::Message(of)) => {
                for (n, value) in values.iter().enumerate().take(ITEMS) {
                    self.message(of, *value, format!("{name}.{n}"))?;
                }
            }
            (Count::Map, Kind::Message(of)) => {
                let entry = schema::message(of);
                for value in values.iter().take(ITEMS) {
                    let told = json::of(value.part(), entry)?;
                    let key = told.get("key").and_then(Json::as_str).unwrap_or_default().to_owned();
                    let value = told.get("value").map(Json::to_string).unwrap_or_default();
                    self.say(format!("{name}.{key}"), Attribute::Text(value));
                }
            }
            (Count::One, kind) => {
                let attribute = match (kind, last) {
                    (Kind::Int, value) => Attribute::Int(value.uint().cast_signed()),
                    (Kind::Bool, value) => Attribute::Text((value.uint() != 0).to_string()),
                    (Kind::Float, Wire::Fixed32(bytes)) => {
                        Attribute::Float(json::shortest(f32::from_le_bytes(bytes)))
                    }
                    (Kind::Double, value) => Attribute::Float(value.double().unwrap_or(0.0)),
                    (Kind::Enum(of), value) => Attribute::Text(schema::value_name(of, value.uint())),
                    (Kind::Bytes, value) => Attribute::Text(format!("{} bytes", value.part().bytes().len())),
                    (_, value) => Attribute::Text(json::text(value)),
                };
                self.say(name.to_owned(), attribute);
            }
            (_, kind) => self.list(kind, values, name)?,
        }
        Ok(())
    }

    fn message(&mut self, of: &'static str, value: Wire<'a>, name: String) -> Result<()> {
        match of {
            "WeightParams" => self.weights.push((name, value.part())),
            "NeuralNetwork" => self.networks.push((name, value.part())),
            _ => self.read(value.part(), schema::message(of), &format!("{name}."))?,
        }
        Ok(())
    }

    /// A list of single values, cut where it is very long.
    fn list(&mut self, kind: Kind, values: &[Wire], name: &str) -> Result<()> {
        if matches!(kind, Kind::Text | Kind::Bytes) {
            let texts = values.iter().take(ITEMS).map(|value| json::text(*value)).collect();
            self.say(name.to_owned(), Attribute::Texts(texts));
            return Ok(());
        }
        let (mut ints, mut floats) = (Vec::new(), Vec::new());
        for value in values {
            let left = ITEMS.saturating_sub(ints.len() + floats.len());
            match (value, kind) {
                (Wire::Bytes(part), Kind::Float) => {
                    let chunks = part.bytes().as_chunks::<4>().0.iter().take(left);
                    floats.extend(chunks.map(|bytes| json::shortest(f32::from_le_bytes(*bytes))));
                }
                (Wire::Bytes(part), Kind::Double) => {
                    floats.extend(
                        part.bytes().as_chunks::<8>().0.iter().take(left).map(|b| f64::from_le_bytes(*b)),
                    );
                }
                (Wire::Fixed32(bytes), _) => floats.push(json::shortest(f32::from_le_bytes(*bytes))),
                (Wire::Fixed64(bytes), _) => floats.push(f64::from_le_bytes(*bytes)),
                (Wire::Bytes(part), _) => {
                    for number in part.varints().take(left) {
                        ints.push(number?.cast_signed());
                    }
                }
                (Wire::Varint(value), _) => ints.push(value.cast_signed()),
                _ => {}
            }
        }
        let attribute = match kind {
            Kind::Float | Kind::Double => Attribute::Floats(floats),
            Kind::Bool => Attribute::Texts(ints.iter().map(|value| (*value != 0).to_string()).collect()),
            Kind::Enum(of) => Attribute::Texts(
                ints.iter().map(|value| schema::value_name(of, value.cast_unsigned())).collect(),
            ),
            _ => Attribute::Ints(ints),
        };
        self.say(name.to_owned(), attribute);
        Ok(())
    }
}

/// A layer while it is read.
#[derive(Default)]
struct Layer {
    operation: Operation,
    takes: Vec<String>,
    makes: Vec<String>,
    /// The shapes of what it takes and makes.
    taken: Vec<Vec<Dimension>>,
    made: Vec<Vec<Dimension>>,
}

impl Network<'_> {
    /// The graph of a network. What goes in and comes out is said by the model, for networks in layers by nobody.
    ///
    /// # Errors
    /// `Cancelled`, `Limit`.
    pub(super) fn graph(
        &mut self,
        name: &str,
        part: Part,
        ends: Option<(&[Feature], &[Feature])>,
        depth: usize,
    ) -> Result<Graph> {
        if depth > DEPTH {
            return Err(Error::limit(format!("networks more than {DEPTH} deep in networks")));
        }
        let mut builder = Builder::new(name);
        let mut taken: Vec<String> = Vec::new();
        let mut made: HashSet<String> = HashSet::new();
        for (features, is_input) in ends.map(|(i, o)| [(i, true), (o, false)]).into_iter().flatten() {
            for feature in features {
                let id = builder.value(&feature.name)?;
                if let Some(value) = builder.describe(id) {
                    value.dtype = feature.dtype.as_deref().map(Into::into);
                    value.shape.clone_from(&feature.shape);
                }
                if is_input { builder.input(id) } else { builder.output(id) }
            }
        }
        for (n, field) in part.fields().enumerate() {
            if n % 64 == 0 {
                self.task.check()?;
            }
            let WireField { number, value, .. } = match field {
                Ok(field) => field,
                Err(error) => {
                    self.problem.get_or_insert(error);
                    break;
                }
            };
            if number != LAYERS {
                continue;
            }
            let mut layer = Layer::default();
            let read = self.layer(value.part(), &mut builder, &mut layer, n, depth).unless_cancelled()?;
            if let Err(error) = read {
                self.problem.get_or_insert(error.of(&format!("layer {n}")));
            }
            taken.extend(layer.takes.into_iter().filter(|name| !made.contains(name)));
            made.extend(layer.makes);
            builder.node(layer.operation)?;
        }
        if ends.is_none() {
            let mut known = HashSet::new();
            for name in taken.into_iter().filter(|name| known.insert(name.clone())) {
                let id = builder.value(&name)?;
                builder.input(id);
            }
        }
        Ok(builder.finish())
    }

    fn layer(
        &mut self,
        part: Part,
        builder: &mut Builder,
        layer: &mut Layer,
        n: usize,
        depth: usize,
    ) -> Result<()> {
        let message = schema::message("NeuralNetworkLayer");
        let mut kind = None;
        let operation = &mut layer.operation;
        for field in part.fields() {
            let WireField { number, value, .. } = field?;
            match number {
                1 => operation.name = value.text().into(),
                2 => {
                    operation.inputs.push(Port::of(builder.value(&value.text())?));
                    layer.takes.push(value.text());
                }
                3 => {
                    operation.outputs.push(Port::of(builder.value(&value.text())?));
                    layer.makes.push(value.text());
                }
                4 => layer.taken.push(tensor(value.part())?),
                5 => layer.made.push(tensor(value.part())?),
                10 if value.uint() != 0 => {
                    operation.attributes.push(("isUpdatable".into(), Attribute::Text("true".to_owned())));
                }
                FIRST_KIND.. => kind = Some((number, value.part())),
                _ => {}
            }
        }
        operation.group = scope(&operation.name).into();
        for (ports, shapes) in [(&operation.inputs, &layer.taken), (&operation.outputs, &layer.made)] {
            for (port, shape) in ports.iter().zip(shapes) {
                if let Some(value) = port.value.and_then(|id| builder.describe(id))
                    && value.shape.is_none()
                {
                    value.shape = Some(shape.clone());
                }
            }
        }
        let Some((number, part)) = kind else {
            operation.operator = "unknown".into();
            return Ok(());
        };
        let Some(field) = message.field(number) else {
            operation.operator = format!("layer {number}").into();
            return Ok(());
        };
        operation.operator = field.name.into();
        let Kind::Message(of) = field.kind else { return Ok(()) };
        let mut parameters = Parameters::default();
        let read = parameters.read(part, schema::message(of), "");
        let own = if operation.name.is_empty() {
            format!("{} {n}", field.name)
        } else {
            operation.name.to_string()
        };
        for (name, part) in std::mem::take(&mut parameters.weights) {
            self.weights(part, (field.name, &own, &name), &parameters.attributes, builder, operation)?;
        }
        for (name, part) in std::mem::take(&mut parameters.networks) {
            let graph = self.graph(&format!("{own}.{name}"), part, None, depth + 1)?;
            let nodes = crate::bytes::display::plural(graph.nodes().len() as u64, "layer");
            parameters.say(name.clone(), Attribute::Graph(format!("network of {nodes}")));
            operation.subgraphs.push((name.into(), Arc::new(graph)));
        }
        operation.attributes.append(&mut parameters.attributes);
        read
    }

    fn weights(
        &mut self,
        part: Part,
        (layer, own, name): (&str, &str, &str),
        attributes: &[(Arc<str>, Attribute)],
        builder: &mut Builder,
        operation: &mut Operation,
    ) -> Result<()> {
        let (shape, axis) = weights::shape(layer, name, attributes);
        let found = Weights::parse(part, shape, axis)?;
        if found.is_empty() {
            return Ok(());
        }
        let leaf = self.names.free(&format!("{own}.{name}"));
        let path: Arc<str> = format!("{}{leaf}", self.prefix).into();
        // Names of weights are none of the names of values.
        let id = builder.unnamed(crate::data::content::graph::Value {
            name: leaf.as_str().into(),
            ..Default::default()
        })?;
        if let Some(value) = builder.describe(id) {
            found.describe(value, path);
        }
        operation.inputs.push(Port { name: name.into(), ..Port::of(id) });
        found.leaves(&leaf, self.source, &mut self.leaves);
        Ok(())
    }
}

/// A `Tensor`: the shape of a value.
fn tensor(part: Part) -> Result<Vec<Dimension>> {
    let mut shape = Vec::new();
    for field in part.fields() {
        let WireField { number, value, .. } = field?;
        let mut push = |length: u64| {
            let length = length.cast_signed();
            shape.push(u64::try_from(length).map_or(Dimension::Open, Dimension::Fixed));
        };
        match (number, value) {
            (2, Wire::Bytes(part)) => {
                for length in part.varints().take(ITEMS) {
                    push(length?);
                }
            }
            (2, Wire::Varint(length)) => push(length),
            _ => {}
        }
    }
    Ok(shape)
}
