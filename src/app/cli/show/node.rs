//! `gander show --node N`: one node of a graph, with what its operator does.

use super::Out;
use gander::bytes::display;
use gander::data::adapt::graph_cost;
use gander::data::content::Graph;
use gander::data::content::graph::{Operation, Port};
use gander::engines::operators::{self, Documentation, Parameter, Presence};
use serde_json::{Value as Json, json};

/// The node of a number or a name. A name that several nodes have is the first one's.
fn found<'a>(graph: &'a Graph, wanted: &str) -> Option<(usize, &'a Operation)> {
    let by_number = wanted.parse().ok().and_then(|number: usize| Some((number, graph.nodes().get(number)?)));
    by_number.or_else(|| graph.nodes().iter().enumerate().find(|(_, node)| &*node.name == wanted))
}

/// Prints a node of a graph that a format (by its id) reads.
///
/// # Errors
/// What is to be said where there is no such node.
pub(super) fn show(
    graph: &Graph,
    format: &str,
    wanted: &str,
    as_json: bool,
    out: &mut Out,
) -> Result<(), String> {
    let (number, node) = found(graph, wanted).ok_or_else(|| {
        let count = display::plural(graph.nodes().len() as u64, "node");
        format!("--node {wanted}: the graph has {count} and none of this number or name")
    })?;
    let macs = graph_cost::macs(graph);
    let own = macs.nodes.get(number).copied().flatten();
    let documentation = operators::of_node(format, node);
    if as_json {
        let mut whole = crate::cli::json::graph_node(graph, node, own);
        if let Some(object) = whole.as_object_mut() {
            object.insert("node".to_owned(), number.into());
            object.insert("documentation".to_owned(), documentation.map_or(Json::Null, said));
        }
        out.put(&format!("{whole}\n"));
        return Ok(());
    }
    let mut text = format!("{number}  {}  {}\n", node.operator, node.name);
    let each = if macs.is_per_sample { " per sample" } else { "" };
    let facts = [
        ("domain", node.domain.to_string()),
        ("group", node.group.to_string()),
        ("parameters", counted(Some(graph.parameters(node)), "")),
        ("multiply-accumulates", counted(own, each)),
    ];
    for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
        text.push_str(&format!("  {name}: {fact}\n"));
    }
    ports(&mut text, graph, ("inputs", &node.inputs), &|place| documentation?.input(place));
    ports(&mut text, graph, ("outputs", &node.outputs), &|place| documentation?.output(place));
    attributes(&mut text, node, documentation);
    if let Some(documentation) = documentation {
        told(&mut text, documentation);
    }
    out.put(&text);
    Ok(())
}

/// A number that is not zero.
fn counted(number: Option<u64>, unit: &str) -> String {
    number
        .filter(|number| *number > 0)
        .map_or_else(String::new, |number| format!("{}{unit}", display::count(number)))
}

/// The text of an operator, behind the version that it holds from.
fn told(text: &mut String, documentation: &Documentation) {
    text.push_str(&format!("\n  {}", documentation.name));
    if let Some(since) = documentation.since {
        text.push_str(&format!(", as of version {since} of its domain"));
    }
    if let Some(version) = documentation.deprecated {
        text.push_str(&format!(", given up in {version}"));
    }
    text.push('\n');
    for line in documentation.text.lines() {
        text.push_str(format!("  {line}").trim_end());
        text.push('\n');
    }
}

/// What goes in or comes out, with what it is.
fn ports<'a>(
    text: &mut String,
    graph: &Graph,
    (title, ports): (&str, &[Port]),
    of: &dyn Fn(usize) -> Option<&'a Parameter>,
) {
    if ports.is_empty() {
        return;
    }
    text.push_str(&format!("  {title}:\n"));
    for (place, port) in ports.iter().enumerate() {
        let parameter = of(place).filter(|_| !port.is_control);
        let name = match (port.name.as_ref(), parameter) {
            ("", Some(parameter)) => parameter.name.as_str(),
            (name, _) => name,
        };
        let value = port.value.and_then(|value| graph.value(value));
        let shown = value.map_or_else(
            || "none".to_owned(),
            |value| {
                let shape = value.shape_text().unwrap_or_default();
                format!("{}  {} {shape}", value.name, value.dtype.as_deref().unwrap_or_default())
            },
        );
        let kind = if port.is_control { "after " } else { "" };
        text.push_str(format!("    {kind}{name}: {shown}").trim_end());
        text.push('\n');
        if let Some(parameter) = parameter.filter(|parameter| !parameter.text.is_empty()) {
            text.push_str(&format!("      {}\n", on_a_line(&parameter.text)));
        }
    }
}

/// The attributes that are set, then those that are left at what they are by default.
fn attributes(text: &mut String, node: &Operation, documentation: Option<&Documentation>) {
    let known = documentation.map_or(&[][..], |own| own.attributes.as_slice());
    let line = |text: &mut String, name: &str, value: &str, words: Option<&str>| {
        text.push_str(&format!("    {name} = {value}\n"));
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            text.push_str(&format!("      {}\n", on_a_line(words)));
        }
    };
    let is_set = |name: &str| node.attributes.iter().any(|(own, _)| &**own == name);
    if !node.attributes.is_empty() {
        text.push_str("  attributes:\n");
    }
    for (name, value) in &node.attributes {
        let words = known.iter().find(|own| own.name == **name).map(|own| own.text.as_str());
        line(text, name, &value.to_string(), words);
    }
    let mut left = known.iter().filter(|own| own.default.is_some() && !is_set(&own.name)).peekable();
    if left.peek().is_some() {
        text.push_str("  attributes by default:\n");
    }
    for own in left {
        let default = own.default.as_ref().map(ToString::to_string).unwrap_or_default();
        line(text, &own.name, &default, Some(&own.text));
    }
}

fn on_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The documentation as JSON.
fn said(own: &Documentation) -> Json {
    let option = |option: Presence| match option {
        Presence::Single => "single",
        Presence::Optional => "optional",
        Presence::Variadic => "variadic",
    };
    let ports = |list: &[Parameter]| -> Json {
        let one = |own: &Parameter| json!({ "name": own.name, "type": own.kind, "option": option(own.option), "text": own.text });
        list.iter().map(one).collect()
    };
    let attributes: Json = own
        .attributes
        .iter()
        .map(|own| json!({ "name": own.name, "type": own.kind, "required": own.required, "default": own.default, "text": own.text }))
        .collect();
    let types: Json = own
        .types
        .iter()
        .map(|own| json!({ "name": own.name, "allowed": own.allowed, "text": own.text }))
        .collect();
    json!({
        "domain": own.domain, "name": own.name, "since": own.since, "deprecated": own.deprecated, "text": own.text,
        "inputs": ports(&own.inputs), "outputs": ports(&own.outputs), "attributes": attributes, "types": types,
    })
}
