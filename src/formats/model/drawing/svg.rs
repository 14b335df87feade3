//! Writes SVG: boxes, lines and texts, in the colours of Gander's window.

use super::{DIRECTION, Drawing, OPEN, losses};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::format::{Data, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::graph::{Item, PlacedEdge, PlacedItem};
use crate::data::scan::put;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};

const THEME: OptionSpec = OptionSpec::new("theme", "The colours: on white or on a dark ground")
    .one_of("light", &["light", "dark"])
    .of_kinds(&[Kind::Graph]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    options: &[OPEN, DIRECTION, THEME],
    streams: true,
    check: is_drawing,
    ..Writer::new(&[Kind::Graph, Kind::Bytes], losses, write)
};

/// Graphs, and drawings of plots, whose bytes are SVG already.
fn is_drawing(payload: &Payload) -> Result<()> {
    match &payload.data {
        Data::Graph(_) => Ok(()),
        Data::Bytes(source) if source.name().ends_with(".svg") => Ok(()),
        _ => Err(Error::unsupported("SVG holds drawings of graphs and plots, and this is none")),
    }
}

/// Writes the bytes of a drawing as they are.
fn copy(task: &Task, source: &Source, sink: &mut dyn Sink) -> Result<()> {
    /// Bytes copied at once.
    const PIECE: usize = 4 << 20;
    let mut at = 0;
    loop {
        let part = source.read_up_to(task, at, PIECE)?;
        if part.is_empty() {
            return Ok(());
        }
        put(sink, &part)?;
        at += part.len() as u64;
        task.advance(part.len() as u64)?;
    }
}

/// Colours of a theme, as 0xRRGGBB.
struct Theme {
    is_dark: bool,
    ground: u32,
    fill: u32,
    line: u32,
    edge: u32,
    text: u32,
    dim: u32,
    /// The head of inputs and outputs.
    end: u32,
}

const LIGHT: Theme = Theme {
    is_dark: false,
    ground: 0xff_ffff,
    fill: 0xf7_f8fa,
    line: 0xc4_cad4,
    edge: 0x8b_93a1,
    text: 0x23_272e,
    dim: 0x62_6b7a,
    end: 0x23_864c,
};

const DARK: Theme = Theme {
    is_dark: true,
    ground: 0x1c_1f24,
    fill: 0x2c_313a,
    line: 0x4a_5160,
    edge: 0x7a_8290,
    text: 0xd7_dae0,
    dim: 0x9b_a3b0,
    end: 0x6c_c08b,
};

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    if let Data::Bytes(source) = &payload.data {
        return copy(task, source, sink);
    }
    let drawing = Drawing::of(task, payload, options)?;
    let theme = if options.choice(&THEME)? == "dark" { &DARK } else { &LIGHT };
    let mut out = BufWriter::new(sink);
    let [width, height] = drawing.layout.size.map(|length| length.max(1.0));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    )?;
    let Theme { ground, fill, line, edge, text, dim, .. } = theme;
    write!(
        out,
        "<style>\n\
         text {{ font-family: Inter, 'Helvetica Neue', Arial, sans-serif; fill: #{text:06x}; }}\n\
         .t {{ font-size: 13px; font-weight: 600; }}\n\
         .d {{ font-size: 11px; fill: #{dim:06x}; font-family: 'JetBrains Mono', Menlo, Consolas, monospace; }}\n\
         .b {{ fill: #{fill:06x}; stroke: #{line:06x}; }}\n\
         .o {{ fill: #{text:06x}; fill-opacity: 0.03; stroke: #{line:06x}; stroke-dasharray: 4 3; }}\n\
         .e {{ fill: none; stroke: #{edge:06x}; stroke-width: 1.3; marker-end: url(#a); }}\n\
         .c {{ stroke-dasharray: 3 3; }}\n\
         </style>\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#{edge:06x}\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#{ground:06x}\"/>\n"
    )?;
    let all = || drawing.layout.boxes.iter().zip(&drawing.labels);
    for (placed, label) in all().filter(|(placed, _)| placed.is_open) {
        task.check()?;
        out.write_all(open_box(placed, &label.title, &label.detail).as_bytes())?;
    }
    for edge in &drawing.layout.edges {
        task.check()?;
        out.write_all(line_of(&drawing, edge).as_bytes())?;
    }
    for (placed, label) in all().filter(|(placed, _)| !placed.is_open) {
        task.check()?;
        let colour = match (label.kind, placed.item) {
            (Some(kind), _) => kind.colour(theme.is_dark),
            (None, Item::Group(_)) => theme.dim,
            (None, _) => theme.end,
        };
        out.write_all(closed_box(&drawing, placed, [&label.title, &label.detail], colour).as_bytes())?;
    }
    out.write_all(b"</svg>\n")?;
    out.flush()?;
    Ok(())
}

fn open_box(placed: &PlacedItem, title: &str, detail: &str) -> String {
    let rect = placed.rect;
    let (x, y) = (rect.x + 10.0, rect.y + 20.0);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<rect class=\"o\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>\
         <text class=\"d\" x=\"{x:.1}\" y=\"{y:.1}\"><tspan class=\"t\">{}</tspan>  {}</text>",
        rect.x,
        rect.y,
        rect.width,
        rect.height,
        escaped(title),
        escaped(detail)
    );
    out
}

fn closed_box(drawing: &Drawing, placed: &PlacedItem, texts: [&str; 2], colour: u32) -> String {
    let rect = placed.rect;
    let [title, detail] = texts.map(escaped);
    let mut out = String::new();
    let (x, y) = (rect.x + 10.0, rect.y + 20.0);
    let mark = if matches!(placed.item, Item::Group(_)) { " ▸" } else { "" };
    let _ = write!(
        out,
        "<g>{}<rect class=\"b\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\"/>\
         <rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"4\" rx=\"2\" fill=\"#{colour:06x}\"/>\
         <text class=\"t\" x=\"{x:.1}\" y=\"{y:.1}\">{title}{mark}</text>",
        full_name(drawing, placed.item),
        rect.x,
        rect.y,
        rect.width,
        rect.height,
        rect.x,
        rect.y,
        rect.width,
    );
    if !detail.is_empty() {
        let _ = write!(out, "<text class=\"d\" x=\"{x:.1}\" y=\"{:.1}\">{detail}</text>", y + 17.0);
    }
    out.push_str("</g>\n");
    out
}

/// The whole name of a node as what is shown when the pointer rests on it.
fn full_name(drawing: &Drawing, item: Item) -> String {
    /// Characters of a name at most.
    const MOST: usize = 1000;
    let Item::Node(number) = item else { return String::new() };
    let Some(node) = drawing.graph.nodes().get(number as usize) else { return String::new() };
    let name: String = node.name.chars().take(MOST).collect();
    format!("<title>{}</title>", escaped(&name))
}

fn line_of(drawing: &Drawing, edge: &PlacedEdge) -> String {
    let curve = edge.curve(drawing.layout.direction);
    let mut out = String::from("<path class=\"e");
    out.push_str(if edge.is_control { " c\" d=\"" } else { "\" d=\"" });
    for (n, [x, y]) in curve.iter().enumerate() {
        let command = match n {
            0 => "M",
            n if n % 3 == 1 => "C",
            _ => " ",
        };
        let _ = write!(out, "{command}{x:.1} {y:.1}");
    }
    let _ = writeln!(out, "\"><title>{}</title></path>", escaped(&drawing.flows(edge)));
    out
}

/// Text as XML has it, without the characters that it has not.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
