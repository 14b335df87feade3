//! What is written into the box of an item, and about how large that is.

use super::kinds::{Kind, kind};
use super::layout::Item;
use super::outline::{Group, Outline};
use crate::data::content::graph::{Attribute, Graph, Operation, Value, scope};

/// The most characters of a line; what is longer is cut.
pub const LONGEST: usize = 40;

/// What is written into a box.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The first line: the operator, the group's name.
    pub title: String,
    /// The second line: `conv1 · 1×1 · 32.8 k`; empty where there is nothing to say.
    pub detail: String,
    /// The kind of operator, for its colour; `None` for groups, inputs and outputs.
    pub kind: Option<Kind>,
}

/// What is written into the box of an item.
pub fn label(graph: &Graph, outline: &Outline, item: Item) -> Label {
    match item {
        Item::Node(number) => {
            graph.nodes().get(number as usize).map_or_else(Label::default, |n| of_node(graph, n))
        }
        Item::Group(id) => outline.group(id).map_or_else(Label::default, of_group),
        Item::Input(value) => {
            graph.value(value).map_or_else(Label::default, |value| of_value(value, "input"))
        }
        Item::Output(value) => {
            graph.value(value).map_or_else(Label::default, |value| of_value(value, "output"))
        }
    }
}

fn of_node(graph: &Graph, node: &Operation) -> Label {
    let parameters = graph.parameters(node);
    let size = kernel(node).or_else(|| weight(graph, node));
    let parameters = (parameters > 0).then(|| short(parameters));
    let parts = [Some(own_name(node).to_owned()), size, parameters];
    Label { title: cut(&node.operator), detail: joined(parts), kind: Some(kind(&node.operator)) }
}

/// The name of a node inside of its group; empty where it is no more than its operator and a number.
fn own_name(node: &Operation) -> &str {
    let name = node.name.trim_matches('/');
    let inside = name.strip_prefix(node.group.as_ref()).map_or(name, |rest| rest.trim_start_matches('/'));
    let is_operator =
        inside.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_') == node.operator.as_ref();
    if !is_operator {
        return inside;
    }
    // `/layer2/0/conv1/Conv` is best known as `conv1`.
    let group = if node.group.is_empty() { scope(&node.name) } else { node.group.as_ref() };
    group.rsplit('/').next().unwrap_or_default()
}

/// The size of a convolution's or pool's window: `3×3 s2`.
fn kernel(node: &Operation) -> Option<String> {
    let ints = |wanted: &[&str]| {
        node.attributes.iter().find_map(|(name, value)| match value {
            Attribute::Ints(ints) if wanted.contains(&name.as_ref()) => Some(ints.as_slice()),
            _ => None,
        })
    };
    let lengths = ints(&["kernel_shape", "kernel", "kernel_size", "pool_size"])?;
    let mut text = times(lengths.iter().take(8).map(ToString::to_string));
    let strides = ints(&["strides", "stride"]).unwrap_or_default();
    if let Some(stride) = strides.first().filter(|stride| **stride != 1)
        && strides.iter().all(|other| other == stride)
    {
        text.push_str(&format!(" s{stride}"));
    }
    Some(text)
}

/// The shape of the first weight: `128×256`.
fn weight(graph: &Graph, node: &Operation) -> Option<String> {
    let mut values = node.inputs.iter().filter_map(|port| graph.value(port.value?));
    let weight = values.find(|value| value.weight.is_some())?;
    let shape = weight.shape.as_ref().filter(|shape| !shape.is_empty())?;
    Some(times(shape.iter().take(8).map(ToString::to_string)))
}

fn of_group(group: &Group) -> Label {
    let nodes = match group.nodes_below {
        1 => "1 node".to_owned(),
        more => format!("{} nodes", short(more)),
    };
    let parameters =
        (group.parameters_below > 0).then(|| format!("{} parameters", short(group.parameters_below)));
    Label { title: cut(&group.name), detail: joined([Some(nodes), parameters]), kind: None }
}

fn of_value(value: &Value, role: &str) -> Label {
    let dtype = value.dtype.as_deref().map(cut);
    let parts = [Some(role.to_owned()), dtype, value.shape_text()];
    Label { title: cut(&value.name), detail: joined(parts), kind: None }
}

fn times(lengths: impl Iterator<Item = String>) -> String {
    lengths.collect::<Vec<_>>().join("×")
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let parts: Vec<String> = parts.iter().map(|part| cut(part)).collect();
    parts.join(" · ")
}

/// A name in one line of at most [`LONGEST`] characters: from a long one the middle is left out, and characters that
/// would end the line are spaces.
pub fn cut(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut all = text.chars();
    let start: Vec<char> = all.by_ref().take(LONGEST).map(clean).collect();
    if all.next().is_none() {
        return start.into_iter().collect();
    }
    let half = LONGEST / 2;
    let end: Vec<char> = text.chars().rev().take(half - 1).map(clean).collect();
    let start = start.into_iter().take(half);
    start.chain(std::iter::once('…')).chain(end.into_iter().rev()).collect()
}

/// A count in few characters: `950`, `32.8 k`, `7.1 M`.
pub fn short(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["", " k", " M", " G", " T", " P"] {
        if value < 999.5 || unit == " P" {
            let is_whole = unit.is_empty() || value >= 100.0;
            return if is_whole { format!("{value:.0}{unit}") } else { format!("{value:.1}{unit}") };
        }
        value /= 1000.0;
    }
    count.to_string()
}

/// About how large the box of an item is where no font is at hand (in points, for a title of 13 and a detail of 11).
pub fn measure(label: &Label) -> [f32; 2] {
    let width = |text: &str, each: f32| {
        text.chars().map(|c| if c.is_ascii() { each } else { each * 1.4 }).sum::<f32>()
    };
    let width = width(&label.title, 7.8).max(width(&label.detail, 6.7));
    let height = if label.detail.is_empty() { 32.0 } else { 48.0 };
    [(width + 24.0).max(72.0).ceil(), height]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        let expected = [(0, "0"), (999, "999"), (1000, "1.0 k"), (32_768, "32.8 k"), (131_072, "131 k")];
        for (count, text) in expected {
            assert_eq!(short(count), text);
        }
        assert_eq!((short(7_098_368), short(999_999)), ("7.1 M".to_owned(), "1.0 M".to_owned()));
    }

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(cut("a\nb"), "a b");
        let long = format!("{}end", "x".repeat(1 << 20));
        let cut = cut(&long);
        assert_eq!(cut.chars().count(), LONGEST);
        assert!(cut.ends_with("end") && cut.contains('…'));
    }
}
