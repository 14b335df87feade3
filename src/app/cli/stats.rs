//! `gander stats`: one full pass over the data.

use super::report::{Form, ReportArgs, Rows};
use super::terminal::say;
use super::{json, progress};
use gander::bytes::display;
use gander::bytes::error::UnlessCancelled;
use gander::bytes::limits;
use gander::bytes::source::Source;
use gander::data::content::{Content, Image, Rect, Table, Text};
use gander::data::node::Node;
use gander::data::sound::Levels;
use gander::data::stats::{ArrayStats, Binning, ColumnStats, Distinct, Histogram, histograms, table_groups};
use gander::{Error, ErrorKind, Task};
use serde_json::{Map, Value as Json, json};
use sha2::Digest;
use std::process::ExitCode;
use std::sync::Arc;

/// Arguments of `gander stats`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file or folder, or one node of it: PATH#NODE
    pub(crate) target: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Add a histogram of so many bins to arrays and number columns
    #[arg(long, value_name = "BINS", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    histogram: Option<u32>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let task = Task::new();
    let (path, _) = super::split_target(&args.target);
    let path = path.display().to_string();
    let wanted = match args.report.wanted() {
        Ok(wanted) => wanted,
        Err(stop) => return stop.say(&path, args.json),
    };
    let (document, node, node_path) = match super::open(&task, &args.target, &args.opening) {
        Ok(opened) => opened,
        Err(stop) => return stop.say(&path, args.json),
    };
    if let (Some(problem), Some(Content::Bytes(_))) = (&node.problem, &node.content) {
        return super::failed(problem, &path, args.json);
    }
    if let Some(problem) = super::refused(&document).filter(|_| node_path.is_empty()) {
        return super::failed(problem, &path, args.json);
    }
    let bins = args.histogram.map(|bins| bins as usize);
    let style = match wanted.as_ref().map(|wanted| wanted.form) {
        Some(Form::Csv | Form::Html) => Style::Rows(Rows::new(&["path", "name", "kind", "column"])),
        Some(Form::Json) => Style::Json,
        None if args.json => Style::Json,
        None => Style::Text,
    };
    let mut report = Report::new(style, bins, &path);
    let walked = progress::with_progress(&task, || report.all(&task, &node, &node_path));
    if let Err(error) = walked {
        if report.is_empty() || error.is_cancelled() {
            return super::failed(&error, &path, args.json);
        }
        // What was found stands, and behind it that there is more.
        say!("{}", error.clone().in_file(&path));
        let kind = node.kind().word();
        let entry =
            json!({ "path": node_path, "name": node.name, "kind": kind, "error": json::error(&error) });
        report.add(&entry, None);
    }
    let text = report.text(&path, wanted.as_ref().map(|wanted| wanted.form));
    match wanted {
        None => super::print(&text)?,
        Some(wanted) => {
            if let Err(error) = wanted.write(&text) {
                return super::failed(&error, &path, args.json);
            }
        }
    }
    report.incomplete.say(&path);
    Ok(if report.broken || report.incomplete.count > 0 {
        ExitCode::from(1)
    } else {
        super::status(&document)
    })
}

/// How it is said.
enum Style {
    Text,
    Json,
    /// A row a node, or a column of a table.
    Rows(Rows),
}

/// What is said of all nodes, as text at once: its parts would take far more memory.
struct Report {
    style: Style,
    bins: Option<usize>,
    said: String,
    /// How many nodes.
    count: usize,
    /// Whether something could not be read.
    broken: bool,
    incomplete: IncompleteNodes,
}

/// Nodes whose statistics stand for less than there should be.
#[derive(Default)]
struct IncompleteNodes {
    count: usize,
    /// Why, for the first ones.
    problems: Vec<Error>,
}

/// Of how many nodes it is said why their statistics stand for less than there should be.
const SAID_PROBLEMS: usize = 100;

impl IncompleteNodes {
    fn add(&mut self, problem: Error, path: &str) {
        self.count += 1;
        if self.problems.len() < SAID_PROBLEMS {
            self.problems.push(problem.in_node(path));
        }
    }

    /// Says it on stderr.
    fn say(&self, file: &str) {
        for problem in &self.problems {
            say!("{}", problem.clone().in_file(file));
        }
        match self.count - self.problems.len() {
            0 => {}
            1 => say!("{file}: of one more node only a part can be read"),
            more => {
                say!("{file}: of {} more nodes only a part can be read", display::count(more as u64))
            }
        }
    }
}

impl Report {
    fn new(style: Style, bins: Option<usize>, path: &str) -> Self {
        let said = match style {
            Style::Json => format!("{{\"path\":{},\"nodes\":[", json!(path)),
            Style::Text | Style::Rows(_) => String::new(),
        };
        Report { style, bins, said, count: 0, broken: false, incomplete: IncompleteNodes::default() }
    }

    /// Passes over a node, or over every data node below it.
    fn all(&mut self, task: &Task, node: &Arc<Node>, path: &str) -> Result<(), Error> {
        // A picture in several resolutions has their arrays below, as a group; a graph has its weights.
        let is_group =
            matches!(node.content, Some(Content::Image(_) | Content::Graph(_))) && node.has_children();
        let depth = if json::is_data(node) && !is_group { 0 } else { usize::MAX };
        gander::data::open::walk_all(task, node, path, depth, &mut |node, path, _| {
            if json::is_data(node) {
                task.set_message(path);
                let (entry, columns) = entry(task, node, path, self.bins)?;
                self.add(&entry, columns);
                // What was counted is not all that there should be.
                if let Some(problem) = node.problem_now().filter(|_| entry.get("error").is_none()) {
                    self.incomplete.add(problem, path);
                }
            } else if let Some(problem) = node.problem_now() {
                if problem.kind() == ErrorKind::Bug {
                    // What it would be is not known, but that it could not be read is.
                    let kind = node.kind().word();
                    let entry = json!({ "path": path, "name": node.name, "kind": kind, "error": json::error(&problem) });
                    self.add(&entry, None);
                } else {
                    // What is below it may not be all.
                    self.incomplete.add(problem, path);
                }
            }
            // A node's own statistics count all that is below it, those of a table its parts.
            let has_parts = node.children_are_parts && matches!(node.content, Some(Content::Table(_)));
            Ok(node.statistics.is_none() && !has_parts)
        })
    }

    /// Adds what is said of a node, and of the columns of a table behind it.
    fn add(&mut self, entry: &Json, columns: Option<TableColumns>) {
        self.broken |= entry.get("error").is_some();
        self.count += 1;
        match &mut self.style {
            Style::Json => {
                if self.count > 1 {
                    self.said.push(',');
                }
                add_json(&mut self.said, entry, columns);
            }
            Style::Text => {
                text(&mut self.said, entry);
                if let Some(columns) = columns {
                    columns.each(|object| column(&mut self.said, &object));
                }
            }
            Style::Rows(rows) => add_rows(rows, entry, columns),
        }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of it.
    fn text(&mut self, path: &str, form: Option<Form>) -> String {
        match &self.style {
            Style::Text => std::mem::take(&mut self.said),
            Style::Json => std::mem::take(&mut self.said) + "]}\n",
            Style::Rows(rows) if form == Some(Form::Html) => rows.html(&format!("Statistics of {path}"), &[]),
            Style::Rows(rows) => rows.csv(),
        }
    }
}

/// Adds the object of a node, with `columns` as its last member.
fn add_json(out: &mut String, entry: &Json, columns: Option<TableColumns>) {
    let object = entry.to_string();
    let Some(columns) = columns else { return out.push_str(&object) };
    out.push_str(object.strip_suffix('}').unwrap_or(&object));
    out.push_str(",\"columns\":[");
    let mut is_first = true;
    for objects in columns.0 {
        for object in objects.lines() {
            if !std::mem::take(&mut is_first) {
                out.push(',');
            }
            out.push_str(object);
        }
    }
    out.push_str("]}");
}

/// Adds what is said of a node: a row, and one for each column of a table.
fn add_rows(rows: &mut Rows, entry: &Json, columns: Option<TableColumns>) {
    let all = || entry.as_object().into_iter().flatten();
    // The class and the place of an error are for programs.
    let said = |(name, value): (&String, &'_ Json)| match name.as_str() {
        "error" => Some((name.clone(), value.get("message").cloned().unwrap_or_default())),
        _ => Some((name.clone(), value.clone())),
    };
    let own: Vec<(String, Json)> = all().filter_map(said).collect();
    rows.add(&own.iter().map(|(name, value)| (name.clone(), value)).collect::<Vec<_>>());
    let Some(columns) = columns else { return };
    columns.each(|column| {
        let same = ["path", "kind"].map(|name| (name.to_owned(), entry[name].clone()));
        let named = |(name, value): (&String, &Json)| match name.as_str() {
            "name" => Some(("column".to_owned(), value.clone())),
            _ => said((name, value)),
        };
        let own = column.as_object().into_iter().flatten().filter_map(named);
        let cells: Vec<(String, Json)> = same.into_iter().chain(own).collect();
        rows.add(&cells.iter().map(|(name, value)| (name.clone(), value)).collect::<Vec<_>>());
    });
}

/// What is said of a node, and the columns of a table.
fn entry(
    task: &Task,
    node: &Arc<Node>,
    path: &str,
    bins: Option<usize>,
) -> Result<(Json, Option<TableColumns>), Error> {
    let is_sound = node.content.as_ref().is_some_and(|content| json::sound(content).is_some());
    let is_video = node.content.as_ref().is_some_and(|content| json::video(content).is_some());
    let of_content = match (is_sound, is_video) {
        (true, _) => "audio",
        (_, true) => "video",
        _ => node.kind().word(),
    };
    let kind = node.statistics.as_ref().map_or(of_content, |own| own.kind());
    let facts = gander::bytes::guard::guarded(|| facts(task, node, bins));
    let mut object = json!({ "path": path, "name": node.name, "kind": kind });
    let mut columns = None;
    match facts.unless_cancelled()? {
        Ok((facts, of_table)) => {
            facts.into_iter().for_each(|(k, v)| object[k] = v);
            columns = of_table;
        }
        Err(error) => object["error"] = json::error(&error),
    }
    Ok((object, columns))
}

type Facts = (Map<String, Json>, Option<TableColumns>);

/// What a pass over a node tells: its own statistics, and those of its content.
fn facts(task: &Task, node: &Node, bins: Option<usize>) -> Result<Facts, Error> {
    let (mut facts, mut columns) = (Map::new(), None);
    if let Some(own) = &node.statistics {
        facts.extend(own.statistics(task)?.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let content = node.content.as_ref().map(|content| match content {
        Content::Array(array) => {
            let mut json = array_json(&gander::data::stats::array(array.as_ref(), task, bins)?);
            if let Some(Json::Object(said)) = json::sound(content) {
                let loudness = gander::data::stats::sound(array.as_ref(), task)?;
                said.into_iter().for_each(|(name, value)| json[name] = value);
                json["rms"] = float(loudness.rms);
                json["crc32_int32"] = json!(loudness.crc32);
                json["levels"] = levels_json(&Levels::measure(array.as_ref(), task)?);
            }
            Ok(json)
        }
        Content::Table(table) => {
            let (found, rows) = TableColumns::count(task, table.as_ref(), bins)?;
            columns = Some(found);
            Ok(json!({ "rows": rows }))
        }
        Content::Image(image) => match json::video(content) {
            Some(said) => video_json(task, image.as_ref(), said),
            None => image_json(task, image.as_ref()),
        },
        Content::Text(text) => text_json(task, text.as_ref()),
        Content::Graph(graph) => Ok(json::graph_facts(graph)),
        Content::Bytes(source) => bytes_json(task, source),
    });
    if let Some(Json::Object(of_content)) = content.transpose()? {
        facts.extend(of_content);
    }
    Ok((facts, columns))
}

/// How loud a sound is: loudness in LUFS, its range in LU, peaks as shares of full scale.
fn levels_json(levels: &Levels) -> Json {
    let channels = levels.peaks.iter().zip(&levels.rms).zip(&levels.offsets);
    let channels: Vec<Json> = channels
        .map(|((peak, rms), offset)| {
            json!({
                "peak": float(Some(f64::from(*peak))), "rms": float(Some(*rms)), "offset": float(Some(*offset)),
            })
        })
        .collect();
    json!({
        "loudness": float(levels.loudness), "range": float(levels.range),
        "momentary": float(levels.momentary), "true_peak": float(levels.true_peak),
        "clipped_frames": levels.clipped_frames, "silent_frames": levels.silent_frames, "channels": channels,
    })
}

/// A number's text as a JSON number where it is one, exactly; else as a string.
fn number(text: &str) -> Json {
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(number) => Json::Number(number),
        Err(_) => text.into(),
    }
}

fn float(value: Option<f64>) -> Json {
    value.map_or(Json::Null, |v| number(&gander::data::cell::float64(v)))
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
    if let Some(histogram) = &s.histogram {
        object["histogram"] = histogram_json(histogram);
    }
    object
}

fn histogram_json(histogram: &Histogram) -> Json {
    let edges: Vec<Json> = histogram.edges.iter().map(|&edge| float(Some(edge))).collect();
    json!({ "edges": edges, "counts": histogram.counts })
}

/// So many columns are values at once.
const TOGETHER: usize = 1 << 16;

/// What was counted of the columns of a table: lines of an object a column, as JSON, which take a tenth of the memory
/// that the values of a wide table would take.
#[derive(Default)]
struct TableColumns(Vec<String>);

impl TableColumns {
    /// Passes over a table, and gives its number of rows, too.
    fn count(task: &Task, table: &dyn Table, bins: Option<usize>) -> Result<(Self, u64), Error> {
        let fields = table.schema().fields();
        let columns: Vec<usize> = (0..fields.len()).collect();
        let mut names = fields.iter().map(|field| field.name().as_str());
        let mut found = TableColumns::default();
        let Some(bins) = bins else {
            let mut none = || None;
            let mut each = |group: Vec<_>| found.add(group.into_iter(), &mut names, &mut none);
            let rows = table_groups(table, task, &columns, &mut each)?;
            return Ok((found, rows));
        };
        let mut rows = None;
        for some in columns.chunks(TOGETHER) {
            let stats = gander::data::stats::table(table, task, some)?;
            let mut counted = histograms(table, task, some, &stats, Binning::Exactly(bins))?.into_iter();
            rows = Some(stats.rows);
            found.add(stats.columns.into_iter(), &mut names, &mut || counted.next().flatten());
        }
        let rows = rows.map_or_else(|| table.count(task), Ok)?;
        Ok((found, rows))
    }

    /// Adds columns with these names and, where they have any, histograms.
    fn add<'a>(
        &mut self,
        columns: impl Iterator<Item = Result<ColumnStats, Error>>,
        names: &mut impl Iterator<Item = &'a str>,
        histogram: &mut impl FnMut() -> Option<Result<Histogram, Error>>,
    ) {
        let mut out = String::new();
        for (column, name) in columns.zip(names) {
            let mut object = match column {
                Ok(column) => column_json(&column),
                Err(error) => json!({ "name": name, "error": json::error(&error) }),
            };
            match histogram() {
                Some(Ok(histogram)) => object["histogram"] = histogram_json(&histogram),
                Some(Err(error)) => object["error"] = json::error(&error),
                None => {}
            }
            out.push_str(&object.to_string());
            out.push('\n');
        }
        self.0.push(out);
    }

    /// Hands over each object.
    fn each(self, mut take: impl FnMut(Json)) {
        for objects in self.0 {
            objects.lines().filter_map(|object| serde_json::from_str(object).ok()).for_each(&mut take);
        }
    }
}

fn column_json(column: &ColumnStats) -> Json {
    let numeric = column.sum.is_some();
    let text = |text: &Option<String>| match text {
        Some(text) if numeric => number(text),
        Some(text) => text.as_str().into(),
        None => Json::Null,
    };
    let mut object = json!({
        "name": column.name, "nulls": column.nulls, "nan": column.nan, "inf": column.inf,
        "min": text(&column.min), "max": text(&column.max), "sum": float(column.sum), "mean": float(column.mean),
        "distinct": match column.distinct {
            Some(Distinct::Exactly(n)) => json!(n),
            Some(Distinct::AtLeast(n)) => json!({ "at_least": n }),
            Some(Distinct::About(n)) => json!({ "about": n }),
            None => Json::Null,
        },
    });
    if column.unfit > 0 {
        object["unfit"] = column.unfit.into();
    }
    object
}

fn image_json(task: &Task, image: &dyn Image) -> Result<Json, Error> {
    let info = image.info();
    let stats = gander::data::stats::image(image, task)?;
    let each = |number: fn(&gander::data::stats::ChannelStats) -> Option<f64>| -> Vec<Json> {
        stats.channels.iter().map(|channel| float(number(channel))).collect()
    };
    Ok(json!({
        "width": info.width, "height": info.height, "channels": info.channels, "bits": info.bits, "frames": info.frames,
        "crc32_rgb": stats.crc32_rgb, "crc32": stats.crc32,
        "min": each(|c| c.min), "max": each(|c| c.max), "mean": each(|c| c.mean),
    }))
}

/// What is known of a video without decoding it, and the mean of its first frame where frames can be decoded.
fn video_json(task: &Task, image: &dyn Image, mut said: Json) -> Result<Json, Error> {
    let info = image.info();
    if info.video.as_ref().is_none_or(|video| !video.can_decode) || info.frames == 0 {
        return Ok(said);
    }
    // What is known without decoding is said although a frame cannot be decoded.
    let first = match image.read(task, 0, 0, Rect::all(info.width, info.height)).unless_cancelled()? {
        Ok(first) => first.to_rgb8(),
        Err(error) => {
            said["decoding"] = json::error(&error);
            return Ok(said);
        }
    };
    let pixels = (first.len() / 3).max(1) as f64;
    let mean = |channel: usize| {
        first.iter().skip(channel).step_by(3).map(|byte| f64::from(*byte)).sum::<f64>() / pixels
    };
    said["mean_rgb_first"] = (0..3).map(|channel| float(Some(mean(channel)))).collect();
    Ok(said)
}

fn text_json(task: &Task, text: &dyn Text) -> Result<Json, Error> {
    let lines = text.count(task)?;
    let characters = text.characters(task)?;
    Ok(json!({ "lines": lines, "characters": characters, "encoding": text.encoding() }))
}

fn bytes_json(task: &Task, source: &Source) -> Result<Json, Error> {
    let len = source.len(task)?;
    task.set_total(len);
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
fn text(out: &mut String, node: &Json) {
    let title = node["path"].as_str().filter(|p| !p.is_empty()).or(node["name"].as_str()).unwrap_or_default();
    out.push_str(&format!("{title}  ({})\n", node["kind"].as_str().unwrap_or_default()));
    for (key, value) in node.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("path" | "name" | "kind", _) | (_, Json::Null) => {}
            ("error", error) => {
                out.push_str(&format!("  ✗ {}\n", error["message"].as_str().unwrap_or_default()))
            }
            (_, Json::String(text)) => out.push_str(&format!("  {key:<8} {text}\n")),
            (_, value) => out.push_str(&format!("  {key:<8} {value}\n")),
        }
    }
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
    if let Some(counts) = column["histogram"]["counts"].as_array() {
        let counts: Vec<String> = counts.iter().map(Json::to_string).collect();
        out.push_str(&format!("    histogram {}\n", counts.join(" ")));
    }
}
