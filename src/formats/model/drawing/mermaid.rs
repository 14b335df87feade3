//! Writes Mermaid: a flowchart with subgraphs, which Markdown viewers draw.

use super::{ACCEPTS, DIRECTION, Drawing, OPEN, Step, losses};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::format::{Options, Payload, Sink, Writer};
use crate::data::graph::{Direction, Item, Kind};
use std::io::{BufWriter, Write};

/// The writer.
pub(super) const WRITER: Writer =
    Writer { options: &[OPEN, DIRECTION], streams: true, ..Writer::new(ACCEPTS, losses, write) };

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let drawing = Drawing::of(task, payload, options)?;
    let mut out = BufWriter::new(sink);
    let direction = if drawing.layout.direction == Direction::Right { "LR" } else { "TD" };
    writeln!(out, "flowchart {direction}")?;
    drawing.walk(task, &mut |number, step| {
        let (Some(placed), Some(label)) = (drawing.layout.boxes.get(number), drawing.labels.get(number))
        else {
            return Ok(());
        };
        let text = quoted(&[&label.title, &label.detail]);
        match step {
            Step::Box(depth) => {
                let (left, right) = match placed.item {
                    Item::Node(_) => ("[", "]"),
                    Item::Group(_) => ("[[", "]]"),
                    Item::Input(_) | Item::Output(_) => ("([", "])"),
                };
                let class = label.kind.map_or_else(String::new, |kind| format!(":::{}", class(kind)));
                writeln!(out, "{:1$}b{number}{left}{text}{right}{class}", "", depth * 2)?;
            }
            Step::Begin(depth) => writeln!(out, "{:1$}subgraph b{number}[{text}]", "", depth * 2)?,
            Step::End(depth) => writeln!(out, "{:1$}end", "", depth * 2)?,
        }
        Ok(())
    })?;
    for edge in &drawing.layout.edges {
        task.check()?;
        let arrow = if edge.is_control { "-.->" } else { "-->" };
        let flows = drawing.flows(edge);
        let is_said = !edge.is_control && !flows.is_empty();
        let flows = if is_said { format!("|{}|", quoted(&[&flows])) } else { String::new() };
        writeln!(out, "  b{} {arrow}{flows} b{}", edge.from, edge.to)?;
    }
    for kind in Kind::ALL {
        writeln!(out, "  classDef {} stroke:#{:06x},stroke-width:2px", class(kind), kind.colour(false))?;
    }
    out.flush()?;
    Ok(())
}

/// The name of a kind's class.
fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Product => "product",
        Kind::Normalisation => "normalisation",
        Kind::Activation => "activation",
        Kind::Pooling => "pooling",
        Kind::Elementwise => "elementwise",
        Kind::Shape => "shape",
        Kind::Control => "control",
        Kind::Other => "other",
    }
}

/// Lines of text in quotes: what means something to Mermaid or HTML stands as its code.
fn quoted(lines: &[&str]) -> String {
    let mut out = String::from("\"");
    for (n, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
        if n > 0 {
            out.push_str("<br/>");
        }
        for c in line.chars() {
            match c {
                c if c.is_control() => out.push(' '),
                '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '*' | '_' => {
                    out.push_str(&format!("#{};", u32::from(c)))
                }
                c => out.push(c),
            }
        }
    }
    // A label that is empty is none to Mermaid.
    if out.len() == 1 {
        out.push(' ');
    }
    out.push('"');
    out
}
