//! Drawings of made graphs.

use super::*;
use crate::data::content::graph::{Builder, Operation, Port};
use crate::data::format::WriteTo;

/// A convolution in a group, a control edge, and names that mean something to each language.
fn payload() -> Payload {
    let mut builder = Builder::new("a \"b\"");
    let [x, w, y, z] = ["x<&>", "w", "y", "z"].map(|name| builder.value(name).unwrap());
    builder.describe(w).unwrap().weight = Some("w".into());
    builder.input(x);
    builder.output(z);
    let control = Port { is_control: true, ..Port::of(y) };
    let long = format!("\"]<\u{1}{}", "n".repeat(1 << 20));
    let node = |group: &str, name: &str, operator: &str, inputs: Vec<Port>, output| Operation {
        group: group.into(),
        name: name.into(),
        operator: operator.into(),
        inputs,
        outputs: vec![Port::of(output)],
        ..Operation::default()
    };
    builder.node(node("block", &long, "Conv", vec![Port::of(x), Port::of(w)], y)).unwrap();
    builder.node(node("", "last", "Relu", vec![Port::of(x), control], z)).unwrap();
    Payload::plain(Data::Graph(Arc::new(builder.finish())))
}

fn drawn(format: &Format, options: &[(&str, &str)]) -> String {
    drawing(format, &payload(), options)
}

fn drawing(format: &Format, payload: &Payload, options: &[(&str, &str)]) -> String {
    let mut set = Options::default();
    options.iter().for_each(|(name, value)| set.set(name, *value));
    let mut out = std::io::Cursor::new(Vec::new());
    let WriteTo::File(write) = format.targets[0].writer.write else { panic!("a folder") };
    write(&Task::new(), payload, &set, &mut out).unwrap();
    let text = String::from_utf8(out.into_inner()).unwrap();
    assert!(text.len() < 20_000, "names are cut");
    assert!(!text.contains('\u{1}'));
    text
}

#[test]
fn svg_has_boxes_lines_and_escaped_names() {
    let text = drawn(&SVG, &[("open", "all")]);
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    assert!(text.contains("x&lt;&amp;&gt;") && text.contains("Conv") && !text.contains("<&"));
    // An input, two nodes, an output; the group is open.
    assert_eq!((text.matches("class=\"b\"").count(), text.matches("class=\"o\"").count()), (4, 1));
    assert_eq!((text.matches("class=\"e\"").count(), text.matches("class=\"e c\"").count()), (3, 1));
    let closed = drawn(&SVG, &[("open", "none"), ("theme", "dark")]);
    assert!(!closed.contains("Conv") && closed.contains("block") && closed.contains("#1c1f24"));
}

#[test]
fn dot_has_clusters() {
    let text = drawn(&DOT, &[("open", "all"), ("direction", "right")]);
    assert!(text.starts_with("digraph \"a \\\"b\\\"\" {\n  rankdir=LR;") && text.ends_with("}\n"));
    assert_eq!((text.matches("subgraph cluster_").count(), text.matches(" -> ").count()), (1, 4));
    assert_eq!(text.matches("style=dashed").count(), 1);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn mermaid_has_subgraphs_and_no_quotes_in_names() {
    let text = drawn(&MERMAID, &[("open", "all")]);
    assert!(text.starts_with("flowchart TD\n"));
    assert_eq!((text.matches("subgraph ").count(), text.matches("\n  end\n").count()), (1, 1));
    assert_eq!((text.matches(" -->").count(), text.matches(" -.->").count()), (3, 1));
    assert!(text.lines().all(|line| line.matches('"').count() % 2 == 0));
}

#[test]
fn what_is_not_drawn_is_said() {
    let losses = losses(&payload(), &Options::default());
    assert!(
        losses.iter().any(|loss| loss.what.contains("weights")) && losses.iter().all(|loss| !loss.serious)
    );
    assert!(losses.iter().any(|loss| loss.what.contains("open=all")));
}

#[test]
fn nodes_that_make_constants_are_drawn_where_all_is_open() {
    let mut builder = Builder::new("constants");
    let [x, w, t, y] = ["x", "w", "t", "y"].map(|name| builder.value(name).unwrap());
    builder.describe(w).unwrap().weight = Some("w".into());
    builder.input(x);
    builder.output(y);
    let node = |operator: &str, inputs: Vec<Port>, output| Operation {
        operator: operator.into(),
        inputs,
        outputs: vec![Port::of(output)],
        ..Operation::default()
    };
    builder.node(node("Transpose", vec![Port::of(w)], t)).unwrap();
    builder.node(node("MatMul", vec![Port::of(x), Port::of(t)], y)).unwrap();
    let payload = Payload::plain(Data::Graph(Arc::new(builder.finish())));
    let said = |open: &str| {
        let mut options = Options::default();
        options.set("open", open);
        losses(&payload, &options).iter().any(|loss| loss.what.contains("only make constants"))
    };
    assert!(said("first") && said("none") && !said("all"));
    let drawn = |open: &str| drawing(&SVG, &payload, &[("open", open)]).contains("Transpose");
    assert!(!drawn("first") && drawn("all"));
}
