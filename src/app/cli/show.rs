//! `gander show`: values — rows of a table, elements of an array, lines of a text, pixels.

use super::{json, progress};
use arrow::array::RecordBatch;
use gander::content::{Array, Content, Image, Pixels, Rect, Rows, Table, Text};
use gander::node::Node;
use gander::region::Region;
use gander::source::Source;
use gander::{Error, Task, cell, display, limits};
use serde_json::{Value as Json, json};
use std::ops::Range;
use std::process::ExitCode;

/// Arguments of `gander show`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file, or one node of it: PATH#NODE
    target: String,
    /// Rows A..B, 0-based, end excluded; -5.. counts from the end
    #[arg(long, allow_hyphen_values = true)]
    rows: Option<String>,
    /// Columns, by name
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// A slice as in NumPy: I,A..B,A..B..S
    #[arg(long, allow_hyphen_values = true)]
    slice: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    opening: super::OpenArgs,
}

/// Rows and lines printed when none are asked for.
const ROWS: u64 = 20;
/// Elements of an array printed as text.
const ELEMENTS: u64 = 1_000;

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let slice = args.slice.as_deref();
    let rows = match (wanted(args.rows.as_deref()), slice.map_or(Ok(()), super::is_slice)) {
        (Ok(rows), Ok(())) => rows,
        (Err(words), _) | (_, Err(words)) => return Ok(super::usage(words)),
    };
    let task = Task::new();
    let (path, _) = super::split_target(&args.target);
    let path = path.display().to_string();
    let (document, node) = match super::open(&task, &args.target, &args.opening) {
        Ok((document, node, _)) => (document, node),
        Err(stop) => return stop.say(&path, args.json),
    };
    if let Some(slice) = slice
        && let Err(words) = fits(slice, &node)
    {
        return Ok(super::usage(words));
    }
    let mut notes = Vec::new();
    let printed = progress::with_progress(&task, || {
        gander::open::guarded(|| values(&task, args, rows, &node, &mut notes))
    });
    notes.iter().for_each(|note| eprintln!("{note}"));
    match printed {
        Ok(printed) => {
            super::print(&printed)?;
            let cut = super::found(&node, &path);
            let status = super::status(&document);
            Ok(if cut { ExitCode::from(1) } else { status })
        }
        Err(error) => super::failed(&error, &path, args.json),
    }
}

/// Whether a slice fits what a node holds, where it is of it.
fn fits(slice: &str, node: &Node) -> Result<(), String> {
    match &node.content {
        Some(Content::Array(array)) => super::fits_slice(slice, array.shape()),
        Some(Content::Image(image)) => {
            let info = image.info();
            super::fits_slice(slice, &[info.height, info.width])
        }
        _ => Ok(()),
    }
}

/// The values of a node as they are printed. What could not be read of them is added to `notes`.
fn values(
    task: &Task,
    args: &Args,
    rows: Wanted,
    node: &Node,
    notes: &mut Vec<String>,
) -> Result<String, Error> {
    match &node.content {
        Some(Content::Table(t)) => table(task, args, rows, t.as_ref(), notes),
        Some(Content::Array(a)) => array(task, args, a.as_ref()),
        Some(Content::Text(t)) => lines(task, args, rows, t),
        Some(Content::Image(i)) => pixels(task, args, i.as_ref()),
        Some(Content::Bytes(s)) => bytes(task, args, rows, s),
        None => match (&node.problem, &node.value) {
            (_, Some(value)) if args.json => Ok(format!("{}\n", json!({ "value": value }))),
            (_, Some(value)) => Ok(format!("{value}\n")),
            (Some(problem), None) => Err(problem.clone()),
            (None, None) => Err(Error::unsupported(
                "this node is a group without values; `gander tree` lists what is in it",
            )),
        },
    }
}

/// What rows are asked for.
enum Wanted {
    Range(Range<u64>),
    Last(u64),
}

fn wanted(rows: Option<&str>) -> Result<Wanted, String> {
    let Some(text) = rows else { return Ok(Wanted::Range(0..ROWS)) };
    let wrong = || format!("--rows {text}: it is not of the form A..B, A.., ..B or -N..");
    match text.strip_prefix('-') {
        None => super::range(text).map(Wanted::Range).map_err(|_| wrong()),
        Some(last) => {
            let last = last.strip_suffix("..").ok_or_else(wrong)?;
            last.parse().map(Wanted::Last).map_err(|_| wrong())
        }
    }
}

fn table(
    task: &Task,
    args: &Args,
    rows: Wanted,
    table: &dyn Table,
    notes: &mut Vec<String>,
) -> Result<String, Error> {
    let schema = table.schema();
    let mut columns: Vec<usize> = (0..schema.fields().len()).collect();
    if !args.columns.is_empty() {
        columns = Vec::new();
        for name in &args.columns {
            let index = schema.fields().iter().position(|f| f.name() == name);
            columns.push(index.ok_or_else(|| Error::io(format!("there is no column {name:?}")))?);
        }
    }
    let (first, batch) = match rows {
        Wanted::Last(count) => table.tail(task, count, &columns)?,
        Wanted::Range(rows) => {
            // Rows behind the known ones of an estimated count would only be near ones.
            if let Rows::About { known, .. } = table.rows()
                && rows.start > known
            {
                table.count(task)?;
            }
            (Some(rows.start), read_partly(table, task, rows, &columns, notes)?)
        }
    };
    if args.json {
        let cells =
            |row: usize| -> Json { batch.columns().iter().map(|c| cell::text(c.as_ref(), row)).collect() };
        let names: Vec<&str> = columns.iter().map(|&c| schema.field(c).name().as_str()).collect();
        let rows: Vec<Json> = (0..batch.num_rows()).map(cells).collect();
        let object =
            json!({ "columns": names, "first_row": first, "rows": rows, "total": table.rows().exact(), });
        return Ok(format!("{object}\n"));
    }
    Ok(aligned(table, &columns, first, &batch))
}

/// A batch in which a column that cannot be read is null, with a word about it among the notes.
fn read_partly(
    table: &dyn Table,
    task: &Task,
    rows: Range<u64>,
    columns: &[usize],
    notes: &mut Vec<String>,
) -> Result<RecordBatch, Error> {
    let first_error = match table.read(task, rows.clone(), columns) {
        Ok(batch) => return Ok(batch),
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => error,
    };
    let each = gander::content::table::read_each(table, task, rows, columns)?;
    let Some(len) = each.iter().find_map(|c| c.as_ref().ok().map(|c| c.len())) else {
        return Err(first_error);
    };
    let schema = gander::content::table::project(table.schema(), columns)?;
    let mut arrays = Vec::with_capacity(each.len());
    let mut fields = Vec::with_capacity(each.len());
    for (result, field) in each.into_iter().zip(schema.fields()) {
        fields.push(field.as_ref().clone().with_nullable(true));
        arrays.push(result.unwrap_or_else(|error| {
            notes.push(format!("column {}: {}", field.name(), error.message()));
            arrow::array::new_null_array(field.data_type(), len)
        }));
    }
    Ok(RecordBatch::try_new(std::sync::Arc::new(arrow::datatypes::Schema::new(fields)), arrays)?)
}

/// For people: columns aligned, numbers to the right, long cells cut with `…`.
pub(crate) fn aligned(
    table: &dyn Table,
    columns: &[usize],
    first: Option<u64>,
    batch: &RecordBatch,
) -> String {
    const WIDEST: usize = 40;
    let cut = |text: String| match text.chars().count() {
        n if n > WIDEST => text.chars().take(WIDEST - 1).chain(['…']).collect(),
        _ => text.replace('\n', "⏎"),
    };
    let label = |row: usize| first.map_or("?".to_owned(), |f| display::count(f + row as u64));
    let mut grid: Vec<Vec<String>> = vec![(0..batch.num_rows()).map(label).collect()];
    let mut heads = vec![(String::new(), true)];
    for (&index, column) in columns.iter().zip(batch.columns()) {
        let field = table.schema().field(index);
        let text = |row| cut(cell::text(column.as_ref(), row).unwrap_or_else(|| "∅".to_owned()));
        grid.push((0..batch.num_rows()).map(text).collect());
        let kind = gander::lines::types::inferred(field);
        let numeric = kind.as_ref().unwrap_or(column.data_type()).is_numeric();
        heads.push((cut(field.name().clone()), numeric));
    }
    let width = |i: usize| grid[i].iter().chain([&heads[i].0]).map(|t| t.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..grid.len()).map(width).collect();
    let mut out = String::new();
    let mut line = |texts: &mut dyn Iterator<Item = &String>| {
        for (i, text) in texts.enumerate() {
            let pad = " ".repeat(widths[i].saturating_sub(text.chars().count()));
            out.push_str(&if heads[i].1 { format!("{pad}{text}  ") } else { format!("{text}{pad}  ") });
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    line(&mut heads.iter().map(|h| &h.0));
    for row in 0..batch.num_rows() {
        line(&mut grid.iter().map(|column| &column[row]));
    }
    out.push_str(&format!("{} of {} rows\n", display::count(batch.num_rows() as u64), table.rows()));
    out
}

fn array(task: &Task, args: &Args, array: &dyn Array) -> Result<String, Error> {
    let shape = array.shape();
    let (mut region, single) = Region::parse(args.slice.as_deref().unwrap_or(""), shape)?;
    let mut cut = String::new();
    if args.slice.is_none() && !args.json {
        // A large array is shown by its corner, and the last line says so.
        while region.elements()? > ELEMENTS {
            let Some(longest) = region.0.iter_mut().max_by_key(|span| span.count) else { break };
            longest.count = longest.count.div_ceil(2);
            cut = format!("cut; the shape is {}; ask for more by --slice\n", display::shape(shape));
        }
    }
    let kept: Vec<u64> =
        region.0.iter().zip(&single).filter(|(_, one)| !**one).map(|(span, _)| span.count).collect();
    // Elements without bytes may be any number: they are not listed.
    let no_bytes = array.dtype().size() == 0 && !array.dtype().is_variable();
    let nothing = region.elements()? == 0 || no_bytes;
    if nothing && !args.json {
        return Ok(format!("no elements; the shape is {}\n", display::shape(shape)));
    }
    // Without elements the outer sides may still be huge: their empty lists are left out then.
    let lists = kept.iter().fold(1u64, |product, &side| product.saturating_mul(side.max(1)));
    let values = if nothing && lists > ELEMENTS {
        json!([])
    } else if array.dtype().is_variable() {
        cell::nested_column(&array.column(task, &region)?, &kept)
    } else {
        let data = gander::content::array::read(array, task, &region)?;
        cell::nested(array.dtype(), &kept, &data).unwrap_or(Json::Null)
    };
    if !args.json {
        return Ok(format!("{}\n{cut}", rows_of(&values, 0)));
    }
    let object = json!({
        "dtype": json::dtype(array.dtype()), "shape": kept, "slice": region.text(shape, &single), "values": values,
    });
    Ok(format!("{object}\n"))
}

/// Nested lists, one innermost list a line.
fn rows_of(values: &Json, level: usize) -> String {
    match values {
        Json::Array(items) if items.iter().any(Json::is_array) => {
            let inner: Vec<String> = items.iter().map(|item| rows_of(item, level + 1)).collect();
            format!("[{}]", inner.join(&format!("\n{}", " ".repeat(level + 1))))
        }
        Json::Array(items) => {
            let inner: Vec<String> = items.iter().map(|item| rows_of(item, level)).collect();
            format!("[{}]", inner.join(" "))
        }
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn lines(task: &Task, args: &Args, rows: Wanted, text: &Text) -> Result<String, Error> {
    let range = match rows {
        Wanted::Range(range) => range,
        Wanted::Last(count) => {
            let total = text.count(task)?;
            total.saturating_sub(count)..total
        }
    };
    let first = range.start;
    let lines = text.read(task, range)?;
    if args.json {
        return Ok(format!("{}\n", json!({ "first_line": first, "lines": lines })));
    }
    let mut out = lines.join("\n") + "\n";
    let total = text.lines();
    if total.exact() != Some(first + lines.len() as u64) && args.rows.is_none() {
        out.push_str(&format!("… {} of {total} lines; ask for more by --rows\n", lines.len()));
    }
    Ok(out)
}

fn pixels(task: &Task, args: &Args, image: &dyn Image) -> Result<String, Error> {
    let info = image.info();
    let (region, _) = Region::parse(args.slice.as_deref().unwrap_or(""), &[info.height, info.width])?;
    let (y, x) = (region.0[0], region.0[1]);
    let rect = Rect { x: x.start, y: y.start, width: x.count, height: y.count };
    let pixels = image.read(task, 0, 0, rect)?;
    let Pixels { width, height, channels, .. } = pixels;
    limits::check(width * height * u64::from(channels), 16 << 20, "the printed pixels")?;
    let dtype = pixels.sample.dtype();
    let shape = [height, width, u64::from(channels)];
    let values = cell::nested(&dtype, &shape, &pixels.data).unwrap_or(Json::Null);
    if args.json {
        let slice = region.text(&[info.height, info.width], &[false, false]);
        return Ok(format!(
            "{}\n",
            json!({ "dtype": dtype.to_string(), "shape": shape, "slice": slice, "values": values })
        ));
    }
    if args.slice.is_none() {
        return Ok(format!(
            "image {width}×{height}, {channels} channels of {dtype}; --slice Y,X prints pixels\n"
        ));
    }
    Ok(format!("{}\n", rows_of(&values, 0)))
}

/// A hex dump of 16 bytes a line.
fn bytes(task: &Task, args: &Args, rows: Wanted, source: &Source) -> Result<String, Error> {
    let len = source.len(task)?;
    let range = match rows {
        Wanted::Range(lines) => {
            lines.start.saturating_mul(16).min(len)..lines.end.saturating_mul(16).min(len)
        }
        Wanted::Last(count) => (len.div_ceil(16).saturating_sub(count) * 16)..len,
    };
    let data = source.read(task, range.clone())?;
    let mut lines = Vec::new();
    for (n, row) in data.chunks(16).enumerate() {
        let hex: Vec<String> = row.iter().map(|b| format!("{b:02x}")).collect();
        let ascii: String =
            row.iter().map(|&b| if (32..127).contains(&b) { b as char } else { '·' }).collect();
        lines.push(format!("{:08x}  {:<47}  {ascii}", range.start + 16 * n as u64, hex.join(" ")));
    }
    if args.json {
        return Ok(format!("{}\n", json!({ "first_line": range.start / 16, "lines": lines, "length": len })));
    }
    let rest = len.saturating_sub(range.end);
    if rest > 0 {
        lines.push(format!("… {} more bytes; ask for them by --rows (16 bytes a row)", display::count(rest)));
    }
    Ok(lines.join("\n") + "\n")
}
