//! The layers of a net as a graph.

use super::Constant;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::graph::{
    Attribute, Builder, Dimension, Graph, Operation, Port, Value, ValueId, scope,
};
use crate::data::dtype::DType;
use crate::engines::xml::Element;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep nets may lie in layers.
const LEVELS: usize = 16;

/// A net that was read.
pub(super) struct Net {
    pub(super) graph: Graph,
    pub(super) constants: Vec<Constant>,
    pub(super) problem: Option<Error>,
}

/// Reads a net.
///
/// # Errors
/// `Limit`; `Cancelled`. What is wrong with a layer is the problem of what was read.
pub(super) fn net(task: &Task, net: &Element) -> Result<Net> {
    let mut read = Read { task, constants: Vec::new(), names: HashMap::new(), problem: None };
    let graph = read.net(net, "", 0)?;
    Ok(Net { graph, constants: read.constants, problem: read.problem })
}

struct Read<'a> {
    task: &'a Task,
    constants: Vec<Constant>,
    /// The names that constants have, and the last number that one of them was given.
    names: HashMap<String, u64>,
    problem: Option<Error>,
}

/// A port: the number of a layer, and its own.
type Key = (String, String);

/// What leads to the inputs of layers.
type Edges = HashMap<Key, Key>;

impl Read<'_> {
    fn wrong(&mut self, what: impl Into<String>) {
        self.problem.get_or_insert(Error::malformed(what));
    }

    /// A net, or the body of a layer.
    fn net(&mut self, net: &Element, within: &str, level: usize) -> Result<Graph> {
        let mut builder = Builder::new(net.attribute("name").unwrap_or_default());
        let mut values: HashMap<Key, ValueId> = HashMap::new();
        let layers: Vec<&Element> =
            net.child("layers").map_or(Vec::new(), |layers| layers.all("layer").collect());
        if layers.is_empty() {
            self.wrong("a net has no layers");
        }
        // What layers make is known before what they take: edges may lead anywhere.
        for layer in &layers {
            self.task.check()?;
            self.outputs(layer, within, &mut builder, &mut values)?;
        }
        let edges = self.edges(net);
        for layer in &layers {
            self.task.check()?;
            let of = |name: &str| layer.attribute(name).unwrap_or_default();
            match of("type") {
                "Const" => {}
                "Parameter" | "Input" => outputs_of(layer, &values).for_each(|id| builder.input(id)),
                "Result" => self
                    .inputs(layer, &edges, &values)
                    .into_iter()
                    .filter_map(|port| port.value)
                    .for_each(|id| builder.output(id)),
                _ => self.layer(layer, within, level, (&edges, &values), &mut builder)?,
            }
        }
        Ok(builder.finish())
    }

    fn edges(&mut self, net: &Element) -> Edges {
        let mut edges = Edges::new();
        for edge in net.child("edges").into_iter().flat_map(|edges| edges.all("edge")) {
            let of = |name: &str| edge.attribute(name).unwrap_or_default().to_owned();
            let (from, to) = ((of("from-layer"), of("from-port")), (of("to-layer"), of("to-port")));
            if edges.insert(to, from).is_some() {
                let what = format!(
                    "line {}: two edges lead to port {} of layer {}",
                    edge.line,
                    of("to-port"),
                    of("to-layer")
                );
                self.wrong(what);
            }
        }
        edges
    }

    /// Makes the values of the ports that a layer gives.
    fn outputs(
        &mut self,
        layer: &Element,
        within: &str,
        builder: &mut Builder,
        values: &mut HashMap<Key, ValueId>,
    ) -> Result<()> {
        let of = |name: &str| layer.attribute(name).unwrap_or_default();
        let ports: Vec<&Element> =
            layer.child("output").map_or(Vec::new(), |output| output.all("port").collect());
        for (n, port) in ports.iter().enumerate() {
            let named = port
                .attribute("names")
                .and_then(|names| names.split(',').next())
                .filter(|name| !name.is_empty());
            let own = if n == 0 { of("name").to_owned() } else { format!("{}:{n}", of("name")) };
            let mut value = Value { name: named.unwrap_or(&own).into(), ..Value::default() };
            let precision = port.attribute("precision").or_else(|| layer.attribute("precision"));
            let precision = precision.or_else(|| layer.child("data")?.attribute("element_type"));
            value.dtype = precision.map(|word| Arc::from(word_of(word)));
            value.shape = Some(port.all("dim").map(length).collect());
            let id = port.attribute("id").unwrap_or_default();
            if of("type") == "Const" {
                self.constant(layer, within, &mut value);
            }
            let key = (of("id").to_owned(), id.to_owned());
            let made = builder.unnamed(value)?;
            if values.insert(key, made).is_some() {
                self.wrong(format!(
                    "line {}: layer {} or its port {id} is there twice",
                    layer.line,
                    of("id")
                ));
            }
        }
        Ok(())
    }

    /// The array of a constant.
    fn constant(&mut self, layer: &Element, within: &str, value: &mut Value) {
        let Some(data) = layer.child("data") else {
            return self.wrong(format!("line {}: a constant says nothing of its values", layer.line));
        };
        let of = |name: &str| data.attribute(name).unwrap_or_default();
        let shape: Option<Vec<u64>> = of("shape")
            .split(',')
            .map(str::trim)
            .filter(|length| !length.is_empty())
            .map(|length| length.parse().ok())
            .collect();
        let (Some(shape), Ok(offset), Ok(size)) = (shape, of("offset").parse(), of("size").parse()) else {
            return self
                .wrong(format!("line {}: the shape or the place of a constant is no number", layer.line));
        };
        let word = word_of(of("element_type"));
        let name = self.unique(&format!("{within}{}", layer.attribute("name").unwrap_or_default()));
        value.dtype = Some(word.as_str().into());
        value.elements = limits::elements(&shape).ok();
        value.weight = Some(name.as_str().into());
        self.constants.push(Constant { name, dtype: dtype(&word), word, shape, offset, size });
    }

    /// A name that no constant has yet.
    fn unique(&mut self, name: &str) -> String {
        let mut own = name.to_owned();
        // Of very many constants of one name each begins where the one before it found a number.
        let mut again = self.names.get(name).copied().unwrap_or(1);
        while self.names.contains_key(&own) {
            again += 1;
            own = format!("{name} ({again})");
        }
        self.names.insert(name.to_owned(), again);
        self.names.entry(own.clone()).or_insert(1);
        own
    }

    /// What a layer takes, port by port.
    fn inputs(&mut self, layer: &Element, edges: &Edges, values: &HashMap<Key, ValueId>) -> Vec<Port> {
        let number = layer.attribute("id").unwrap_or_default();
        let ports = layer.child("input").into_iter().flat_map(|input| input.all("port"));
        let mut found = Vec::new();
        for port in ports {
            let id = port.attribute("id").unwrap_or_default();
            let from = edges.get(&(number.to_owned(), id.to_owned()));
            let value = from.and_then(|from| values.get(from)).copied();
            if from.is_some() && value.is_none() {
                self.wrong(format!("line {}: an edge to layer {number} begins at no port", layer.line));
            }
            found.push(Port { value, ..Port::default() });
        }
        found
    }

    fn layer(
        &mut self,
        layer: &Element,
        within: &str,
        level: usize,
        known: (&Edges, &HashMap<Key, ValueId>),
        builder: &mut Builder,
    ) -> Result<()> {
        let (edges, values) = known;
        let of = |name: &str| layer.attribute(name).unwrap_or_default();
        let (name, version) = (of("name"), of("version"));
        let mut inputs = self.inputs(layer, edges, values);
        for blob in layer.child("blobs").into_iter().flat_map(|blobs| &blobs.children) {
            if let Some(value) = self.blob(layer, blob, within) {
                inputs.push(Port { name: blob.name.as_str().into(), ..Port::of(builder.unnamed(value)?) });
            }
        }
        let mut attributes: Vec<(Arc<str>, Attribute)> = Vec::new();
        for (name, value) in layer.child("data").map_or(&[][..], |data| &data.attributes) {
            attributes.push((name.as_str().into(), typed(value)));
        }
        // The sets of OpenVINO's own operations are numbered; others are extensions.
        let is_own = version.is_empty() || version.starts_with("opset");
        if is_own && !version.is_empty() {
            attributes.push(("version".into(), Attribute::Text(version.to_owned())));
        }
        let mut subgraphs = Vec::new();
        for body in layer
            .children
            .iter()
            .filter(|child| ["body", "then_body", "else_body"].contains(&child.local_name()))
        {
            if level + 1 >= LEVELS {
                return Err(Error::limit(format!("nets more than {LEVELS} deep in layers")));
            }
            let inner = self.net(body, &format!("{within}{name}/"), level + 1)?;
            attributes.push((body.name.as_str().into(), Attribute::Graph(body.name.clone())));
            subgraphs.push((Arc::from(body.name.as_str()), Arc::new(inner)));
        }
        builder.node(Operation {
            name: name.into(),
            operator: of("type").into(),
            domain: if is_own { "" } else { version }.into(),
            group: scope(name).into(),
            inputs,
            outputs: outputs_of(layer, values).map(Port::of).collect(),
            attributes,
            subgraphs,
            ..Operation::default()
        })
    }

    /// A blob of a layer, as versions before 10 have them: its shape does not stand there.
    fn blob(&mut self, layer: &Element, blob: &Element, within: &str) -> Option<Value> {
        let of = |name: &str| blob.attribute(name);
        let (Some(offset), Some(size)) = (of("offset")?.parse().ok(), of("size")?.parse::<u64>().ok()) else {
            self.wrong(format!("line {}: the place of a blob is no number", blob.line));
            return None;
        };
        let word = word_of(of("precision").or_else(|| layer.attribute("precision")).unwrap_or("FP32"));
        let dtype = dtype(&word);
        let elements = dtype.as_ref().and_then(|dtype| size.checked_div(dtype.size())).unwrap_or(size);
        let name = layer.attribute("name").unwrap_or_default();
        let name = self.unique(&format!("{within}{name}.{}", blob.name));
        let value = Value {
            name: name.as_str().into(),
            dtype: Some(word.as_str().into()),
            shape: Some(vec![Dimension::Fixed(elements)]),
            weight: Some(name.as_str().into()),
            elements: Some(elements),
            ..Value::default()
        };
        self.constants.push(Constant { name, dtype, word, shape: vec![elements], offset, size });
        Some(value)
    }
}

/// The values that a layer gives.
fn outputs_of<'a>(
    layer: &'a Element,
    values: &'a HashMap<Key, ValueId>,
) -> impl Iterator<Item = ValueId> + 'a {
    let number = layer.attribute("id").unwrap_or_default();
    let ports = layer.child("output").into_iter().flat_map(|output| output.all("port"));
    ports.filter_map(move |port| {
        values.get(&(number.to_owned(), port.attribute("id").unwrap_or_default().to_owned())).copied()
    })
}

/// A length of a shape; one that is not fixed is -1 or a range.
fn length(dim: &Element) -> Dimension {
    let text = dim.text.trim();
    match text.parse() {
        Ok(length) => Dimension::Fixed(length),
        Err(_) if text.contains("..") => Dimension::Named(text.into()),
        Err(_) => Dimension::Open,
    }
}

/// The word for a type, in NumPy's words where it has one: `FP32` and `f32` are `float32`.
fn word_of(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let known = match word.as_str() {
        "f16" | "fp16" => "float16",
        "bf16" => "bfloat16",
        "f32" | "fp32" => "float32",
        "f64" | "fp64" => "float64",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" => "int64",
        "u8" => "uint8",
        "u16" => "uint16",
        "u32" => "uint32",
        "u64" => "uint64",
        "boolean" | "bool" => "bool",
        "f8e4m3" => "float8_e4m3fn",
        "f8e5m2" => "float8_e5m2",
        "f8e8m0" => "float8_e8m0fnu",
        "string" => "str",
        other => other,
    };
    known.to_owned()
}

/// The type of a word, where its values are whole bytes that are read as they are: texts and types below a byte are not.
fn dtype(word: &str) -> Option<DType> {
    DType::of_name(word).filter(|dtype| dtype.bits() >= 8)
}

/// `3`, `0.5`, `1, 1` as what they are.
fn typed(text: &str) -> Attribute {
    let whole = |text: &str| text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    if let Some(number) = whole(text) {
        return Attribute::Int(number);
    }
    if text.contains(',')
        && let Some(numbers) = text.split(',').map(|item| whole(item.trim())).collect::<Option<Vec<i64>>>()
    {
        return Attribute::Ints(numbers);
    }
    let is_number =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    match text.parse::<f64>() {
        Ok(number) if is_number && number.is_finite() => Attribute::Float(number),
        _ => Attribute::Text(text.to_owned()),
    }
}
