//! Writes DOT: nodes, clusters and edges, for Graphviz to lay out.

use super::{ACCEPTS, DIRECTION, Drawing, OPEN, Step, losses};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::format::{Options, Payload, Sink, Writer};
use crate::data::graph::{Direction, Item};
use std::io::{BufWriter, Write};

/// The writer.
pub(super) const WRITER: Writer =
    Writer { options: &[OPEN, DIRECTION], streams: true, ..Writer::new(ACCEPTS, losses, write) };

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let drawing = Drawing::of(task, payload, options)?;
    let mut out = BufWriter::new(sink);
    let direction = if drawing.layout.direction == Direction::Right { "LR" } else { "TB" };
    writeln!(out, "digraph {} {{", quoted(&[&drawing.graph.name]))?;
    writeln!(out, "  rankdir={direction};")?;
    writeln!(
        out,
        "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fillcolor=\"#f7f8fa\"];"
    )?;
    writeln!(out, "  edge [fontname=\"Helvetica\", fontsize=10, color=\"#8b93a1\"];")?;
    drawing.walk(task, &mut |number, step| {
        let (Some(placed), Some(label)) = (drawing.layout.boxes.get(number), drawing.labels.get(number))
        else {
            return Ok(());
        };
        match step {
            Step::Box(depth) => {
                let text = quoted(&[&label.title, &label.detail]);
                let colour = label.kind.map_or_else(String::new, |kind| {
                    format!(", color=\"#{:06x}\", penwidth=2", kind.colour(false))
                });
                let shape = match placed.item {
                    Item::Node(_) => "",
                    Item::Group(_) => ", shape=box3d",
                    Item::Input(_) | Item::Output(_) => ", shape=oval",
                };
                writeln!(out, "{:1$}b{number} [label={text}{colour}{shape}];", "", depth * 2)?;
            }
            Step::Begin(depth) => {
                writeln!(out, "{:1$}subgraph cluster_{number} {{", "", depth * 2)?;
                let text = quoted(&[&label.title, &label.detail]);
                writeln!(
                    out,
                    "{:1$}label={text}; style=\"rounded,dashed\"; color=\"#8b93a1\";",
                    "",
                    depth * 2 + 2
                )?;
            }
            Step::End(depth) => writeln!(out, "{:1$}}}", "", depth * 2)?,
        }
        Ok(())
    })?;
    for edge in &drawing.layout.edges {
        task.check()?;
        let mut parts = Vec::new();
        let flows = drawing.flows(edge);
        if edge.is_control {
            parts.push("style=dashed".to_owned());
        } else if !flows.is_empty() {
            parts.push(format!("label={}", quoted(&[&flows])));
        }
        let parts = if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join(", ")) };
        writeln!(out, "  b{} -> b{}{parts};", edge.from, edge.to)?;
    }
    out.write_all(b"}\n")?;
    out.flush()?;
    Ok(())
}

/// Lines of text as a string of DOT: with quotes and backslashes escaped, and `\n` between the lines.
fn quoted(lines: &[&str]) -> String {
    let lines = lines.iter().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines
        .map(|line| {
            let clean = line.chars().map(|c| if c.is_control() { ' ' } else { c });
            clean.collect::<String>().replace('\\', "\\\\").replace('"', "\\\"")
        })
        .collect();
    format!("\"{}\"", lines.join("\\n"))
}
