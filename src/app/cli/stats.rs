//! `gander stats`: one full pass over the data.

use super::json;
use gander::content::{Content, Image, Table, Text};
use gander::node::Node;
use gander::source::Source;
use gander::stats::{ArrayStats, Distinct};
use gander::{Error, Task, limits};
use serde_json::{Map, Value as Json, json};
use sha2::Digest;
use std::process::ExitCode;
use std::sync::Arc;

/// Arguments of `gander stats`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file or folder, or one node of it: PATH#NODE
    target: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Add a histogram of so many bins
    #[arg(long, value_name = "BINS")]
    histogram: Option<usize>,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let task = Task::new();
    let (path, _) = super::split_target(&args.target);
    let path = path.display().to_string();
    let result = super::open(&task, &args.target, &args.opening);
    let (document, node, node_path) = match result {
        Ok(opened) => opened,
        Err(error) => return super::failed(&error, &path, args.json),
    };
    if let (Some(problem), Some(Content::Bytes(_))) = (&node.problem, &node.content) {
        return super::failed(problem, &path, args.json);
    }
    if let Some(problem) = super::refused(&document).filter(|_| node_path.is_empty()) {
        return super::failed(problem, &path, args.json);
    }
    let mut nodes = Vec::new();
    let mut broken = false;
    // A picture in several resolutions has their arrays below, as a group.
    let pyramid = matches!(node.content, Some(Content::Image(_))) && node.has_children();
    let depth = if json::is_data(&node) && !pyramid { 0 } else { usize::MAX };
    let walked = gander::open::walk(&task, &node, &node_path, depth, &mut |node, path, _| {
        if json::is_data(node) {
            let entry = entry(&task, node, path, args.histogram)?;
            broken |= entry.get("error").is_some();
            nodes.push(entry);
        }
        Ok(true)
    });
    if let Err(error) = walked {
        return super::failed(&error, &path, args.json);
    }
    let whole = json!({ "path": path, "nodes": nodes });
    if args.json {
        super::print_json(&whole)?
    } else {
        super::print(&text(&whole))?
    }
    Ok(if broken { ExitCode::from(1) } else { super::status(&document) })
}

fn entry(task: &Task, node: &Arc<Node>, path: &str, bins: Option<usize>) -> Result<Json, Error> {
    let kind = node.survey.as_ref().map_or(node.kind().word(), |survey| survey.kind());
    let facts = gander::open::guarded(|| facts(task, node, bins));
    let mut object = json!({ "path": path, "name": node.name, "kind": kind });
    match facts {
        Ok(facts) => facts.into_iter().for_each(|(k, v)| object[k] = v),
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => object["error"] = json::error(&error),
    }
    Ok(object)
}

/// What a pass over a node tells: its own survey, its content's statistics.
fn facts(task: &Task, node: &Node, bins: Option<usize>) -> Result<Map<String, Json>, Error> {
    let mut facts = Map::new();
    if let Some(survey) = &node.survey {
        facts.extend(survey.survey(task)?.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let content = node.content.as_ref().map(|content| match content {
        Content::Array(array) => gander::stats::array(array.as_ref(), task, bins).map(|s| array_json(&s)),
        Content::Table(table) => table_json(task, table.as_ref()),
        Content::Image(image) => image_json(task, image.as_ref()),
        Content::Text(text) => text_json(task, text),
        Content::Bytes(source) => bytes_json(task, source),
    });
    if let Some(Json::Object(of_content)) = content.transpose()? {
        facts.extend(of_content);
    }
    Ok(facts)
}

/// A number's text as a JSON number where it is one, exactly; else as a string.
fn number(text: &str) -> Json {
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(number) => Json::Number(number),
        Err(_) => text.into(),
    }
}

fn float(value: Option<f64>) -> Json {
    value.map_or(Json::Null, |v| number(&gander::cell::float64(v)))
}

fn array_json(s: &ArrayStats) -> Json {
    let text = |t: &Option<String>| t.as_deref().map_or(Json::Null, number);
    let mut object = json!({
        "count": s.count, "nan": s.nan, "inf": s.inf, "zeros": s.zeros, "min": text(&s.min), "max": text(&s.max),
        "mean": float(s.mean), "std": float(s.std), "sum": float(s.sum), "crc32": s.crc32,
    });
    if let Some((real, imaginary)) = s.complex_sum {
        object["sum_real"] = float(Some(real));
        object["sum_imag"] = float(Some(imaginary));
    }
    if let Some(scaled) = &s.scaled {
        object["scaled"] = json!({
            "missing": scaled.missing, "min": float(scaled.min), "max": float(scaled.max),
            "mean": float(scaled.mean), "sum": float(scaled.sum),
        });
    }
    if let Some(h) = &s.histogram {
        let edges: Vec<Json> = h.edges.iter().map(|&e| float(Some(e))).collect();
        object["histogram"] = json!({ "edges": edges, "counts": h.counts });
    }
    object
}

fn table_json(task: &Task, table: &dyn Table) -> Result<Json, Error> {
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let stats = gander::stats::table(table, task, &columns)?;
    let column = |(i, c): (usize, &Result<gander::stats::ColumnStats, Error>)| match c {
        Ok(c) => {
            let numeric = c.sum.is_some();
            let text = |t: &Option<String>| match t {
                Some(t) if numeric => number(t),
                Some(t) => t.as_str().into(),
                None => Json::Null,
            };
            let mut object = json!({
                "name": c.name, "nulls": c.nulls, "nan": c.nan, "inf": c.inf, "min": text(&c.min), "max": text(&c.max),
                "sum": float(c.sum), "mean": float(c.mean),
                "distinct": match c.distinct {
                    Some(Distinct::Exactly(n)) => json!(n),
                    Some(Distinct::AtLeast(n)) => json!({ "at_least": n }),
                    None => Json::Null,
                },
            });
            if c.unfit > 0 {
                object["unfit"] = c.unfit.into();
            }
            object
        }
        Err(error) => json!({ "name": table.schema().field(i).name(), "error": json::error(error) }),
    };
    let list: Vec<Json> = stats.columns.iter().enumerate().map(column).collect();
    Ok(json!({ "rows": stats.rows, "columns": list }))
}

fn image_json(task: &Task, image: &dyn Image) -> Result<Json, Error> {
    let info = image.info();
    let stats = gander::stats::image(image, task)?;
    let each = |number: fn(&gander::stats::ChannelStats) -> Option<f64>| -> Vec<Json> {
        stats.channels.iter().map(|channel| float(number(channel))).collect()
    };
    Ok(json!({
        "width": info.width, "height": info.height, "channels": info.channels, "bits": info.bits, "frames": info.frames,
        "crc32_rgb": stats.crc32_rgb, "crc32": stats.crc32,
        "min": each(|c| c.min), "max": each(|c| c.max), "mean": each(|c| c.mean),
    }))
}

fn text_json(task: &Task, text: &Text) -> Result<Json, Error> {
    let lines = text.count(task)?;
    let characters = text.characters(task)?;
    Ok(json!({ "lines": lines, "characters": characters, "encoding": text.encoding() }))
}

fn bytes_json(task: &Task, source: &Source) -> Result<Json, Error> {
    let len = source.len(task)?;
    task.expect(len);
    let (mut crc, mut sha) = (crc32fast::Hasher::new(), sha2::Sha256::new());
    let mut buffer = limits::buffer(1 << 20, "a read")?;
    let mut at = 0;
    while at < len {
        let n = (len - at).min(buffer.len() as u64) as usize;
        source.read_into(task, at, &mut buffer[..n])?;
        crc.update(&buffer[..n]);
        sha.update(&buffer[..n]);
        at += n as u64;
        task.advance(n as u64)?;
    }
    let hex: String = sha.finalize().iter().map(|b| format!("{b:02x}")).collect();
    Ok(json!({ "length": len, "crc32": crc.finalize(), "sha256": hex }))
}

/// For people: one block a node.
fn text(whole: &Json) -> String {
    let mut out = String::new();
    for node in whole["nodes"].as_array().into_iter().flatten() {
        let title =
            node["path"].as_str().filter(|p| !p.is_empty()).or(node["name"].as_str()).unwrap_or_default();
        out.push_str(&format!("{title}  ({})\n", node["kind"].as_str().unwrap_or_default()));
        for (key, value) in node.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("path" | "name" | "kind", _) | (_, Json::Null) => {}
                ("columns", Json::Array(columns)) => columns.iter().for_each(|c| column(&mut out, c)),
                ("error", error) => {
                    out.push_str(&format!("  ✗ {}\n", error["message"].as_str().unwrap_or_default()))
                }
                (_, Json::String(text)) => out.push_str(&format!("  {key:<8} {text}\n")),
                (_, value) => out.push_str(&format!("  {key:<8} {value}\n")),
            }
        }
    }
    out
}

fn column(out: &mut String, column: &Json) {
    out.push_str(&format!("  {:<24}", column["name"].as_str().unwrap_or_default()));
    for key in ["nulls", "nan", "inf", "min", "max", "mean", "distinct", "unfit"] {
        match &column[key] {
            Json::Null => {}
            Json::Number(n) if matches!(key, "nan" | "inf") && n.as_u64() == Some(0) => {}
            Json::String(text) => out.push_str(&format!("  {key} {text}")),
            Json::Object(bound) => out.push_str(&format!("  {key} ≥ {}", bound["at_least"])),
            value => out.push_str(&format!("  {key} {value}")),
        }
    }
    if let Some(message) = column["error"]["message"].as_str() {
        out.push_str(&format!("  ✗ {message}"));
    }
    out.push('\n');
}
