//! What operators do: the documentation of ONNX's and TensorFlow's, as their own packages have it.
//! <https://onnx.ai/onnx/operators/>, <https://www.tensorflow.org/api_docs/python/tf/raw_ops>
//!
//! The tables are part of the program (`assets/operators`, with their licences) and are taken apart when somebody first
//! asks for one: some milliseconds, so views ask in a job. Operators of formats without a table have no documentation, and
//! none is lent from another format's operator of a similar name.

use crate::bytes::codec::lzma;
use crate::data::content::graph::Operation;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The documentation of an operator, in the words of who defines it.
#[derive(Clone, Debug, Deserialize)]
pub struct Documentation {
    /// Where it is defined; empty for `ai.onnx` and for TensorFlow.
    pub domain: String,
    /// Its name: `Conv`.
    pub name: String,
    /// The version of the domain (the opset) from which on what is said here holds; `None` where operators have none.
    pub since: Option<u64>,
    /// All versions of the domain that changed it.
    pub versions: Vec<u64>,
    /// The version of the domain that gave it up.
    pub deprecated: Option<u64>,
    /// What it does, in Markdown; may be empty.
    pub text: String,
    /// What it takes, in order.
    pub inputs: Vec<Parameter>,
    /// What it makes, in order.
    pub outputs: Vec<Parameter>,
    /// Its attributes.
    pub attributes: Vec<AttributeText>,
    /// The types that its inputs and outputs name.
    pub types: Vec<Types>,
}

/// An input or an output.
#[derive(Clone, Debug, Deserialize)]
pub struct Parameter {
    /// Its name: `X`.
    pub name: String,
    /// One of the operator's [`types`](Documentation::types) (`T`), or a type itself.
    #[serde(rename = "type")]
    pub kind: String,
    /// How often it is there.
    pub option: Presence,
    /// What it is, in Markdown; may be empty.
    pub text: String,
}

/// How often an input or an output is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Once.
    Single,
    /// Once or not at all.
    Optional,
    /// Any number of times.
    Variadic,
}

/// An attribute.
#[derive(Clone, Debug, Deserialize)]
pub struct AttributeText {
    /// Its name: `pads`.
    pub name: String,
    /// Its type, in the words of who defines it: `INTS`, `list(int)`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it must be there.
    pub required: bool,
    /// What it is where it is not there; `None` where nothing is said.
    pub default: Option<serde_json::Value>,
    /// What it is for, in Markdown; may be empty.
    pub text: String,
}

/// Types that something may have.
#[derive(Clone, Debug, Deserialize)]
pub struct Types {
    /// The name: `T`.
    pub name: String,
    /// The types: `tensor(float)`.
    pub allowed: Vec<String>,
    /// What they are for; may be empty.
    pub text: String,
}

impl Documentation {
    /// The first sentence of the text, on one line.
    pub fn summary(&self) -> String {
        let paragraph = self.text.split("\n\n").next().unwrap_or_default();
        let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.split_once(". ") {
            // "i.e. " and the like end no sentence.
            Some((first, rest)) if rest.starts_with(|c: char| c.is_uppercase() || c == '`') => {
                format!("{first}.")
            }
            _ => line,
        }
    }

    /// What an input is, by its place: the last one may be there any number of times.
    pub fn input(&self, place: usize) -> Option<&Parameter> {
        at(&self.inputs, place)
    }

    /// What an output is, by its place: as [`input`](Self::input).
    pub fn output(&self, place: usize) -> Option<&Parameter> {
        at(&self.outputs, place)
    }
}

fn at(list: &[Parameter], place: usize) -> Option<&Parameter> {
    list.get(place).or_else(|| list.last().filter(|last| last.option == Presence::Variadic))
}

/// A table, by the operators' domains and names.
type Table = HashMap<(String, String), Documentation>;

/// The table of the operators that the graphs of a format have, by the format's id.
fn table(format: &str) -> Option<&'static Table> {
    static ONNX: OnceLock<Table> = OnceLock::new();
    static TENSORFLOW: OnceLock<Table> = OnceLock::new();
    match format {
        "onnx" => Some(ONNX.get_or_init(|| unpacked(include_bytes!("../../assets/operators/onnx.json.xz")))),
        "tf_graphdef" | "tf_savedmodel" | "tf_checkpoint" => Some(
            TENSORFLOW.get_or_init(|| unpacked(include_bytes!("../../assets/operators/tensorflow.json.xz"))),
        ),
        _ => None,
    }
}

/// The most bytes of a table.
const MOST: usize = 8 << 20;

/// A table of the program itself; a test holds that it is whole.
fn unpacked(packed: &[u8]) -> Table {
    let text = lzma::xz(packed, MOST).unwrap_or_default();
    let operators: Vec<Documentation> = serde_json::from_slice(&text).unwrap_or_default();
    operators.into_iter().map(|own| ((own.domain.clone(), own.name.clone()), own)).collect()
}

/// The documentation of an operator among those of a format (by the format's id, as `onnx`). `ai.onnx` is ONNX's empty
/// domain.
pub fn documentation(format: &str, domain: &str, operator: &str) -> Option<&'static Documentation> {
    let domain = if format == "onnx" && domain == "ai.onnx" { "" } else { domain };
    table(format)?.get(&(domain.to_owned(), operator.to_owned()))
}

/// The documentation of what a node of a format's graph applies. A function of the model itself has none, whatever its name
/// is.
pub fn of_node(format: &str, node: &Operation) -> Option<&'static Documentation> {
    if node.function.is_some() { None } else { documentation(format, &node.domain, &node.operator) }
}

#[cfg(test)]
mod tests;
